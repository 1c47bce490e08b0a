// Matrix products, with sums in a fixed order and without float atomics.

// Marks a missing row in a row list: it reads as zeros and is not written.
#define NO_ROW 0xffffffffu

// Added to the first `columns` columns of C: a matrix, or one row for all rows if `row` is 0.
struct Addend {
    const float *at;
    long long row, columns;
};

// C[m,n] (+)= addends + sum over k of A(m,k) B(k,n), with arbitrary strides. Rows of A (by m), of B (by
// k) and of C (by m) may be mapped by a list.
struct ProductArgs {
    const float *a, *b;
    float *c;
    Addend add[2];
    const unsigned *a_rows, *b_rows, *c_rows;
    long long a_m, a_k, b_k, b_n, c_m;
    int m, n, k;
    // The sum over k is cut into this many parts; if more than one, they are added up later.
    int splits;
    int accumulate;
    // Whether the contiguous lines are aligned to 16 bytes.
    int a_aligned, b_aligned;
};

// The address of C(m,n) in a matrix at `c`, or null.
__device__ __forceinline__ float *c_element(const ProductArgs &p, float *c, int m, int n) {
    if (m >= p.m || n >= p.n) return nullptr;
    unsigned row = p.c_rows ? p.c_rows[m] : m;
    return row == NO_ROW ? nullptr : c + row * p.c_m + n;
}

__device__ __forceinline__ float with_addends(const ProductArgs &p, int m, int n, float before,
                                              float value) {
#pragma unroll
    for (int i = 0; i < 2; i++)
        if (p.add[i].at && n < p.add[i].columns) value += p.add[i].at[m * p.add[i].row + n];
    return p.accumulate ? before + value : value;
}

__device__ __forceinline__ void store(const ProductArgs &p, float *c, int m, int n, float value) {
    float *at = c_element(p, c, m, n);
    if (at) *at = with_addends(p, m, n, p.accumulate ? *at : 0.0f, value);
}

// Two neighbours, in one store if aligned.
__device__ __forceinline__ void store_2(const ProductArgs &p, float *c, int m, int n, float2 two) {
    float *at = c_element(p, c, m, n);
    if (!at) return;
    if (n + 1 < p.n && ((unsigned long long)at & 7) == 0) {
        float2 before = p.accumulate ? *(float2 *)at : make_float2(0.0f, 0.0f);
        *(float2 *)at = make_float2(with_addends(p, m, n, before.x, two.x),
                                    with_addends(p, m, n + 1, before.y, two.y));
        return;
    }
    store(p, c, m, n, two.x);
    store(p, c, m, n + 1, two.y);
}

// Stores a block's part of C(m,n) in [splits][m][n], or C itself if there is one part.
__device__ __forceinline__ void store_part(const ProductArgs &p, int m, int n, float value) {
    if (p.splits == 1) return store(p, p.c, m, n, value);
    if (m < p.m && n < p.n) p.c[((long long)blockIdx.z * p.m + m) * p.n + n] = value;
}

__device__ __forceinline__ void store_part_2(const ProductArgs &p, int m, int n, float2 two) {
    if (p.splits == 1) return store_2(p, p.c, m, n, two);
    if (m >= p.m || n >= p.n) return;
    float *at = p.c + ((long long)blockIdx.z * p.m + m) * p.n + n;
    if (p.n % 2 == 0) {
        *(float2 *)at = two;
        return;
    }
    at[0] = two.x;
    if (n + 1 < p.n) at[1] = two.y;
}

__device__ __forceinline__ void add(float &x, float y) { x += y; }
__device__ __forceinline__ void add(float4 &x, float4 y) {
    x.x += y.x, x.y += y.y, x.z += y.z, x.w += y.w;
}

__device__ __forceinline__ float4 load_4(const float *at) { return *(const float4 *)at; }
__device__ __forceinline__ bool is_aligned_16(const void *at) {
    return ((unsigned long long)at & 15) == 0;
}

// Four neighbours, in one store if aligned.
__device__ __forceinline__ void store_4(const ProductArgs &p, float *c, int m, int n, float4 x) {
    float *at = c_element(p, c, m, n);
    if (!at) return;
    bool aligned = n + 3 < p.n && is_aligned_16(at);
#pragma unroll
    for (int i = 0; i < 2; i++)
        if (p.add[i].at)
            aligned = aligned && n + 3 < p.add[i].columns &&
                      is_aligned_16(p.add[i].at + m * p.add[i].row + n);
    if (!aligned) {
        store_2(p, c, m, n, make_float2(x.x, x.y));
        store_2(p, c, m, n + 2, make_float2(x.z, x.w));
        return;
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
        if (p.add[i].at) add(x, load_4(p.add[i].at + m * p.add[i].row + n));
    if (p.accumulate) add(x, load_4(at));
    *(float4 *)at = x;
}

__device__ __forceinline__ void store_part_4(const ProductArgs &p, int m, int n, float4 x) {
    if (p.splits == 1) return store_4(p, p.c, m, n, x);
    if (m < p.m && n < p.n && p.n % 4 == 0) {
        *(float4 *)(p.c + ((long long)blockIdx.z * p.m + m) * p.n + n) = x;
        return;
    }
    store_part_2(p, m, n, make_float2(x.x, x.y));
    store_part_2(p, m, n + 2, make_float2(x.z, x.w));
}

// Four columns of C that are stored together in every row, with the addends of all rows.
struct AlignedColumns {
    float4 addends[2];
    bool usable;

    __device__ __forceinline__ AlignedColumns(const ProductArgs &p, int n) {
        usable = n + 3 < p.n && is_aligned_16(p.c) && (p.splits > 1 ? p.n : p.c_m) % 4 == 0;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const Addend &row = p.add[i];
            bool adds = p.splits == 1 && row.at;
            addends[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (!adds) continue;
            usable = usable && row.row == 0 && n + 3 < row.columns && is_aligned_16(row.at + n);
            if (usable) addends[i] = load_4(row.at + n);
        }
    }

    __device__ __forceinline__ void store_part(const ProductArgs &p, int m, int n, float4 x) const {
        bool parts = p.splits > 1;
        float *part = p.c + ((long long)blockIdx.z * p.m + m) * p.n + n;
        float *at = parts ? m < p.m ? part : nullptr : c_element(p, p.c, m, n);
        if (!at) return;
        add(x, addends[0]), add(x, addends[1]);
        if (!parts && p.accumulate) add(x, load_4(at));
        *(float4 *)at = x;
    }
};

#define THREADS 256

// The elements of a DEPTH x TILE tile that a thread moves from global to shared memory. Consecutive
// threads follow the contiguous axis.
template <int TILE, int DEPTH> struct TileLoader {
    static const int EACH = TILE * DEPTH / THREADS;
    float values[EACH];

    __device__ __forceinline__ static void position(int e, bool along_k, int &x, int &k) {
        x = along_k ? e / DEPTH : e % TILE;
        k = along_k ? e % DEPTH : e / TILE;
    }

    __device__ __forceinline__ void load(const float *from, const unsigned *rows, bool rows_are_x,
                                         long long by_x, long long by_k, int x0, int x_end, int k0,
                                         int k_end) {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            int x, k;
            position(threadIdx.x + i * THREADS, by_k == 1, x, k);
            long long at_x = x0 + x, at_k = k0 + k;
            bool inside = at_x < x_end && at_k < k_end;
            if (rows && inside) {
                unsigned row = rows[rows_are_x ? at_x : at_k];
                (rows_are_x ? at_x : at_k) = row;
                inside = row != NO_ROW;
            }
            values[i] = inside ? from[at_x * by_x + at_k * by_k] : 0.0f;
        }
    }

    template <int PITCH>
    __device__ __forceinline__ void store(float (*tile)[PITCH], bool along_k) const {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            int x, k;
            position(threadIdx.x + i * THREADS, along_k, x, k);
            tile[k][x] = values[i];
        }
    }
};

// A block computes a 128 x 128 tile of C, a thread EACH x EACH elements of it, in steps of DEPTH. The
// next step is loaded while this one is multiplied.
extern "C" __global__ void __launch_bounds__(THREADS) tiled_product(ProductArgs p) {
    const int TILE = 128, DEPTH = 16, EACH = TILE / 16;
    __shared__ __align__(16) float a[DEPTH][TILE + 4], b[DEPTH][TILE + 4];
    int m0 = blockIdx.y * TILE, n0 = blockIdx.x * TILE;
    int per = (p.k + p.splits - 1) / p.splits;
    int k_first = blockIdx.z * per, k_end = min(p.k, k_first + per);
    // A thread's rows and columns: runs of four, 64 apart, so that a quarter warp reads different
    // banks.
    const int RUN = 4;
    int tm = threadIdx.x / 16 * RUN, tn = threadIdx.x % 16 * RUN;
    auto offset = [&](int i) { return i / RUN * 16 * RUN + i % RUN; };
    float sum[EACH][EACH] = {};
    TileLoader<TILE, DEPTH> next_a, next_b;
    next_a.load(p.a, p.a_rows, true, p.a_m, p.a_k, m0, p.m, k_first, k_end);
    next_b.load(p.b, p.b_rows, false, p.b_n, p.b_k, n0, p.n, k_first, k_end);
    for (int k0 = k_first; k0 < k_end; k0 += DEPTH) {
        next_a.store(a, p.a_k == 1);
        next_b.store(b, p.b_k == 1);
        __syncthreads();
        next_a.load(p.a, p.a_rows, true, p.a_m, p.a_k, m0, p.m, k0 + DEPTH, k_end);
        next_b.load(p.b, p.b_rows, false, p.b_n, p.b_k, n0, p.n, k0 + DEPTH, k_end);
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            float x[EACH], y[EACH];
#pragma unroll
            for (int i = 0; i < EACH; i++) x[i] = a[k][tm + offset(i)], y[i] = b[k][tn + offset(i)];
#pragma unroll
            for (int i = 0; i < EACH; i++)
#pragma unroll
                for (int j = 0; j < EACH; j++) sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++)
            store_part(p, m0 + tm + offset(i), n0 + tn + offset(j), sum[i][j]);
}

// Thin products: B has at most N columns. A is read once along its contiguous m, EACH rows of C per
// thread, with LINES_IN_FLIGHT lines in flight to saturate memory.
#define LINES_IN_FLIGHT 8
template <int EACH, int N> __device__ __forceinline__ void thin_product(const ProductArgs &p) {
    int m = (blockIdx.y * THREADS + threadIdx.x) * EACH, per = (p.k + p.splits - 1) / p.splits;
    int k_first = min(blockIdx.z * per, p.k), k_end = m < p.m ? min(p.k, k_first + per) : 0;
    float sum[EACH][N] = {};
    for (int k0 = k_first; k0 < k_end; k0 += LINES_IN_FLIGHT) {
        float x[LINES_IN_FLIGHT][EACH];
#pragma unroll
        for (int i = 0; i < LINES_IN_FLIGHT; i++) {
            // Lines beyond the end repeat the last one, with weight zero.
            const float *from = p.a + min(k0 + i, k_end - 1) * p.a_k + m;
            if constexpr (EACH == 4) {
                float4 four = *(const float4 *)from;
                x[i][0] = four.x, x[i][1] = four.y, x[i][2] = four.z, x[i][3] = four.w;
            } else {
                x[i][0] = *from;
            }
        }
#pragma unroll
        for (int i = 0; i < LINES_IN_FLIGHT; i++) {
            int k = min(k0 + i, k_end - 1);
#pragma unroll
            for (int n = 0; n < N; n++) {
                float y = n < p.n && k0 + i < k_end ? p.b[k * p.b_k + n * p.b_n] : 0.0f;
#pragma unroll
                for (int e = 0; e < EACH; e++) sum[e][n] = fmaf(x[i][e], y, sum[e][n]);
            }
        }
    }
#pragma unroll
    for (int e = 0; e < EACH; e++)
#pragma unroll
        for (int n = 0; n < N; n++) store_part(p, m + e, n, sum[e][n]);
}

extern "C" __global__ void __launch_bounds__(THREADS) thin_1(ProductArgs p) { thin_product<4, 1>(p); }
extern "C" __global__ void __launch_bounds__(THREADS) thin_4(ProductArgs p) { thin_product<4, 4>(p); }
extern "C" __global__ void __launch_bounds__(THREADS) thin_16(ProductArgs p) { thin_product<4, 16>(p); }
// For rows that are not aligned to 16 bytes.
extern "C" __global__ void __launch_bounds__(THREADS) thin_unaligned(ProductArgs p) {
    thin_product<1, 16>(p);
}
