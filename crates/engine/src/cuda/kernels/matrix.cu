// Products and sums of matrices, in a fixed order: no number is added by an atomic.

// In a list of rows: none. It is read as zeros, and nothing is written to it.
#define NO_ROW 0xffffffffu

// What is added to the columns of C before `columns`: a matrix, or a row to all rows where `row` is 0.
struct Addend {
    const float *at;
    long long row, columns;
};

// C[m,n] (+)= addends + sum over k of A(m,k) B(k,n). A, B and C have strides of their own; rows of A
// (by m), of B (by k) and of C (by m) may be looked up in a list.
struct Product {
    const float *a, *b;
    float *c;
    Addend add[2];
    const unsigned *a_rows, *b_rows, *c_rows;
    long long a_m, a_k, b_k, b_n, c_m;
    int m, n, k;
    // The sum over k is cut into so many parts; where it is more than one, they are added up later.
    int splits;
    int accumulate;
    // Whether the lines that are contiguous begin at multiples of 16 bytes.
    int a_wide, b_wide;
};

// Where C(m,n) is in a matrix at `c`, or nothing.
__device__ __forceinline__ float *place_of(const Product &p, float *c, int m, int n) {
    if (m >= p.m || n >= p.n) return nullptr;
    unsigned row = p.c_rows ? p.c_rows[m] : m;
    return row == NO_ROW ? nullptr : c + row * p.c_m + n;
}

__device__ __forceinline__ float placed(const Product &p, int m, int n, float before, float value) {
#pragma unroll
    for (int i = 0; i < 2; i++)
        if (p.add[i].at && n < p.add[i].columns) value += p.add[i].at[m * p.add[i].row + n];
    return p.accumulate ? before + value : value;
}

__device__ __forceinline__ void place(const Product &p, float *c, int m, int n, float value) {
    float *at = place_of(p, c, m, n);
    if (at) *at = placed(p, m, n, p.accumulate ? *at : 0.0f, value);
}

// Two neighbours, at once where they may be.
__device__ __forceinline__ void place_two(const Product &p, float *c, int m, int n, float2 two) {
    float *at = place_of(p, c, m, n);
    if (!at) return;
    if (n + 1 < p.n && ((unsigned long long)at & 7) == 0) {
        float2 before = p.accumulate ? *(float2 *)at : make_float2(0.0f, 0.0f);
        *(float2 *)at = make_float2(placed(p, m, n, before.x, two.x), placed(p, m, n + 1, before.y, two.y));
        return;
    }
    place(p, c, m, n, two.x);
    place(p, c, m, n + 1, two.y);
}

// A block's part of C(m,n), in [splits][m][n]; C itself where there is one part.
__device__ __forceinline__ void leave(const Product &p, int m, int n, float value) {
    if (p.splits == 1) return place(p, p.c, m, n, value);
    if (m < p.m && n < p.n) p.c[((long long)blockIdx.z * p.m + m) * p.n + n] = value;
}

__device__ __forceinline__ void leave_two(const Product &p, int m, int n, float2 two) {
    if (p.splits == 1) return place_two(p, p.c, m, n, two);
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

__device__ __forceinline__ float4 four_at(const float *at) { return *(const float4 *)at; }
__device__ __forceinline__ bool by_fours(const void *at) { return ((unsigned long long)at & 15) == 0; }

// Four neighbours, at once where they may be.
__device__ __forceinline__ void place_four(const Product &p, float *c, int m, int n, float4 x) {
    float *at = place_of(p, c, m, n);
    if (!at) return;
    bool whole = n + 3 < p.n && by_fours(at);
#pragma unroll
    for (int i = 0; i < 2; i++)
        if (p.add[i].at)
            whole = whole && n + 3 < p.add[i].columns && by_fours(p.add[i].at + m * p.add[i].row + n);
    if (!whole) {
        place_two(p, c, m, n, make_float2(x.x, x.y));
        place_two(p, c, m, n + 2, make_float2(x.z, x.w));
        return;
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
        if (p.add[i].at) add(x, four_at(p.add[i].at + m * p.add[i].row + n));
    if (p.accumulate) add(x, four_at(at));
    *(float4 *)at = x;
}

__device__ __forceinline__ void leave_four(const Product &p, int m, int n, float4 x) {
    if (p.splits == 1) return place_four(p, p.c, m, n, x);
    if (m < p.m && n < p.n && p.n % 4 == 0) {
        *(float4 *)(p.c + ((long long)blockIdx.z * p.m + m) * p.n + n) = x;
        return;
    }
    leave_two(p, m, n, make_float2(x.x, x.y));
    leave_two(p, m, n + 2, make_float2(x.z, x.w));
}

// Four columns of C that are left together in every row, with what is added to all rows.
struct Fours {
    float4 addends[2];
    bool are_whole;

    __device__ __forceinline__ Fours(const Product &p, int n) {
        are_whole = n + 3 < p.n && by_fours(p.c) && (p.splits > 1 ? p.n : p.c_m) % 4 == 0;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const Addend &row = p.add[i];
            bool adds = p.splits == 1 && row.at;
            addends[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (!adds) continue;
            are_whole = are_whole && row.row == 0 && n + 3 < row.columns && by_fours(row.at + n);
            if (are_whole) addends[i] = four_at(row.at + n);
        }
    }

    __device__ __forceinline__ void leave(const Product &p, int m, int n, float4 x) const {
        bool parts = p.splits > 1;
        float *part = p.c + ((long long)blockIdx.z * p.m + m) * p.n + n;
        float *at = parts ? m < p.m ? part : nullptr : place_of(p, p.c, m, n);
        if (!at) return;
        add(x, addends[0]), add(x, addends[1]);
        if (!parts && p.accumulate) add(x, four_at(at));
        *(float4 *)at = x;
    }
};

#define THREADS 256

// Numbers of a DEPTH x TILE tile that a thread carries from memory to shared memory. Consecutive
// threads go along the axis that is contiguous in memory.
template <int TILE, int DEPTH> struct Carried {
    static const int EACH = TILE * DEPTH / THREADS;
    float values[EACH];

    __device__ __forceinline__ static void place(int e, bool along_k, int &x, int &k) {
        x = along_k ? e / DEPTH : e % TILE;
        k = along_k ? e % DEPTH : e / TILE;
    }

    __device__ __forceinline__ void load(const float *from, const unsigned *rows, bool rows_are_x,
                                         long long by_x, long long by_k, int x0, int x_end, int k0,
                                         int k_end) {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            int x, k;
            place(threadIdx.x + i * THREADS, by_k == 1, x, k);
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

    template <int PITCH> __device__ __forceinline__ void store(float (*tile)[PITCH], bool along_k) const {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            int x, k;
            place(threadIdx.x + i * THREADS, along_k, x, k);
            tile[k][x] = values[i];
        }
    }
};

// A block makes a 128 x 128 piece of C, a thread EACH x EACH numbers of it, in steps of DEPTH; the
// next step's numbers are on their way while this one's are multiplied.
extern "C" __global__ void __launch_bounds__(THREADS) product_128(Product p) {
    const int TILE = 128, DEPTH = 16, EACH = TILE / 16;
    __shared__ __align__(16) float a[DEPTH][TILE + 4], b[DEPTH][TILE + 4];
    int m0 = blockIdx.y * TILE, n0 = blockIdx.x * TILE;
    int per = (p.k + p.splits - 1) / p.splits;
    int k_first = blockIdx.z * per, k_end = min(p.k, k_first + per);
    // A thread's rows and columns: fours of neighbours, 64 apart, so that the threads of a quarter of
    // a warp read different banks.
    const int RUN = 4;
    int tm = threadIdx.x / 16 * RUN, tn = threadIdx.x % 16 * RUN;
    auto apart = [&](int i) { return i / RUN * 16 * RUN + i % RUN; };
    float sum[EACH][EACH] = {};
    Carried<TILE, DEPTH> next_a, next_b;
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
            for (int i = 0; i < EACH; i++) x[i] = a[k][tm + apart(i)], y[i] = b[k][tn + apart(i)];
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
        for (int j = 0; j < EACH; j++) leave(p, m0 + tm + apart(i), n0 + tn + apart(j), sum[i][j]);
}

// Few columns of B, N at most: A is read once, along its contiguous m, EACH rows of C a thread, so
// many lines at a time that memory is kept busy.
#define AT_ONCE 8
template <int EACH, int N> __device__ __forceinline__ void thin_product(const Product &p) {
    int m = (blockIdx.y * THREADS + threadIdx.x) * EACH, per = (p.k + p.splits - 1) / p.splits;
    int k_first = min(blockIdx.z * per, p.k), k_end = m < p.m ? min(p.k, k_first + per) : 0;
    float sum[EACH][N] = {};
    for (int k0 = k_first; k0 < k_end; k0 += AT_ONCE) {
        float x[AT_ONCE][EACH];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            // Lines beyond the end are the last one, and count nothing.
            const float *from = p.a + min(k0 + i, k_end - 1) * p.a_k + m;
            if constexpr (EACH == 4) {
                float4 four = *(const float4 *)from;
                x[i][0] = four.x, x[i][1] = four.y, x[i][2] = four.z, x[i][3] = four.w;
            } else {
                x[i][0] = *from;
            }
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
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
        for (int n = 0; n < N; n++) leave(p, m + e, n, sum[e][n]);
}

extern "C" __global__ void __launch_bounds__(THREADS) thin_1(Product p) { thin_product<4, 1>(p); }
extern "C" __global__ void __launch_bounds__(THREADS) thin_4(Product p) { thin_product<4, 4>(p); }
extern "C" __global__ void __launch_bounds__(THREADS) thin_16(Product p) { thin_product<4, 16>(p); }
// For rows that do not begin at multiples of 16 bytes.
extern "C" __global__ void __launch_bounds__(THREADS) thin_any(Product p) { thin_product<1, 16>(p); }

// Adds the parts of a product into C. Of few numbers a warp's lanes take a column each, the warps of a
// block every eighth part, in order; then the warps' sums are added in order. Of many a thread takes
// some, four at a time where it can.
#define MANY_NUMBERS 65536
extern "C" __global__ void __launch_bounds__(THREADS, 8) sum_parts(Product p, float *c) {
    __shared__ float room[THREADS / WARP][WARP];
    const float *parts = p.c;
    int splits = p.splits;
    long long size = (long long)p.m * p.n;
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    auto finish = [&](long long at, float sum) { place(p, c, at / p.n, at % p.n, sum); };
    if (size >= MANY_NUMBERS && p.n % 4 == 0) {
        for (int at = blockIdx.x * THREADS + threadIdx.x; at < size / 4; at += gridDim.x * THREADS) {
            float4 sum = {};
#pragma unroll 4
            for (int s = 0; s < splits; s++) add(sum, ((const float4 *)(parts + s * size))[at]);
            int m = at / (p.n / 4), n = at % (p.n / 4) * 4;
            place_four(p, c, m, n, sum);
        }
        return;
    }
    if (splits < THREADS / WARP) {
        for (long long at = blockIdx.x * (long long)THREADS + threadIdx.x; at < size;
             at += (long long)gridDim.x * THREADS) {
            float sum = 0.0f;
            for (int s = 0; s < splits; s++) sum += parts[s * size + at];
            finish(at, sum);
        }
        return;
    }
    for (long long first = blockIdx.x * (long long)WARP; first < size;
         first += (long long)gridDim.x * WARP) {
        long long at = first + lane;
        float sum = 0.0f;
        if (at < size)
#pragma unroll 4
            for (int s = warp; s < splits; s += THREADS / WARP) sum += parts[s * size + at];
        room[warp][lane] = sum;
        __syncthreads();
        if (warp == 0 && at < size) {
            for (int w = 1; w < THREADS / WARP; w++) sum += room[w][lane];
            finish(at, sum);
        }
        __syncthreads();
    }
}

// Sums of rows that share a token: parts[split][token][:] = sum over the split's part of the
// token's steps, `steps[first[token]..first[token+1]]`, of rows[step][:].
template <typename T>
__device__ __forceinline__ void sum_of_steps(const T *rows, const unsigned *steps, int from, int to,
                                             int width, T *into) {
    for (int j = blockIdx.z * blockDim.x + threadIdx.x; j < width; j += gridDim.z * blockDim.x) {
        T sum = {};
#pragma unroll 4
        for (int at = from; at < to; at++) add(sum, rows[(long long)steps[at] * width + j]);
        into[j] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 8) sum_by_token(const float *rows, const unsigned *steps,
                                        const unsigned *first, int tokens, int width,
                                        float *parts) {
    int token = blockIdx.x, split = blockIdx.y, splits = gridDim.y;
    int begin = first[token], count = first[token + 1] - begin;
    int per = (count + splits - 1) / splits;
    int from = begin + min(count, split * per), to = begin + min(count, split * per + per);
    float *into = parts + ((long long)split * tokens + token) * width;
    // Four at a time where rows begin at multiples of 16 bytes.
    if (width % 4 == 0)
        sum_of_steps((const float4 *)rows, steps, from, to, width / 4, (float4 *)into);
    else
        sum_of_steps(rows, steps, from, to, width, into);
}

// parts[split][j] = sum over the split's part of the rows of rows[:][j].
extern "C" __global__ void sum_rows(const float *rows, int count, int width, float *parts) {
    int split = blockIdx.y, per = (count + gridDim.y - 1) / gridDim.y;
    int from = min(count, split * per), to = min(count, split * per + per);
    for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < width; j += gridDim.x * blockDim.x) {
        float sum = 0.0f;
        for (int row = from; row < to; row++) sum += rows[(long long)row * width + j];
        parts[(long long)split * width + j] = sum;
    }
}

// into[s][j] = sum over every so-many-th row, from s on, of rows[:][j], in double precision; a block
// for each of them.
extern "C" __global__ void sum_columns(const double *rows, int count, int width, double *into) {
    __shared__ double room[WARP];
    int j = blockIdx.x, s = blockIdx.y;
    double sum = 0.0;
    for (int row = s + threadIdx.x * gridDim.y; row < count; row += blockDim.x * gridDim.y)
        sum += rows[(long long)row * width + j];
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) into[s * width + j] = sum;
}

// to[col][row] = from[row][col].
extern "C" __global__ void transpose(const float *from, int rows, int cols, float *to,
                                     long long to_stride) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y0 = blockIdx.y * 32;
    for (int y = threadIdx.y; y < 32; y += blockDim.y)
        if (x < cols && y0 + y < rows) tile[y][threadIdx.x] = from[(long long)(y0 + y) * cols + x];
    __syncthreads();
    int row = y0 + threadIdx.x, col0 = blockIdx.x * 32;
    for (int y = threadIdx.y; y < 32; y += blockDim.y)
        if (row < rows && col0 + y < cols) to[(col0 + y) * to_stride + row] = tile[threadIdx.x][y];
}

// Euclidean scores: parts[split][i][:] = sum over steps of slope[n][i] (u[n][:] - s[i][:]).
extern "C" __global__ void pull_centroids(const float *slopes, const float *u, const float *s,
                                          int count, int k, int d, float *parts) {
    int i = blockIdx.x, split = blockIdx.y, per = (count + gridDim.y - 1) / gridDim.y;
    int from = min(count, split * per), to = min(count, split * per + per);
    for (int j = threadIdx.x; j < d; j += blockDim.x) {
        float sum = 0.0f, centre = s[i * d + j];
        for (int n = from; n < to; n++)
            sum = fmaf(slopes[(long long)n * BY_FOURS(k) + i], u[(long long)n * d + j] - centre, sum);
        parts[((long long)split * k + i) * d + j] = sum;
    }
}
