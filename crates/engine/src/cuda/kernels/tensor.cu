// Large products on the tensor cores, which use the first eleven bits of a mantissa. Each number is
// split into a high and a low part, and low times low is dropped: the error is about the rounding error
// of a float.

#define STAGE_K 32
#define STAGES 3
#define TENSOR_THREADS 256
// Warps of a block, by rows and columns of its tile.
#define WARPS_DOWN 2
#define WARPS_ACROSS 4

// Loads four 8 x 16-byte matrices, a row at each lane's address: lane 4 g + t gets element t of row g
// of each.
__device__ __forceinline__ void ldmatrix_x4(unsigned into[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(into[0]), "=r"(into[1]), "=r"(into[2]), "=r"(into[3])
                 : "r"(at)
                 : "memory");
}

// One operand's stage in shared memory; x is its row m or its column n. Lines are contiguous as in
// global memory, and padded so that a warp's loads hit different banks. If SWIZZLED, for tensor cores
// that read shared memory themselves, lines are unpadded and their 16-byte units permuted.
template <int TILE, bool ALONG_K, bool SWIZZLED = false> struct StagedOperand {
    static const int LINE = ALONG_K ? STAGE_K : TILE, LINES = ALONG_K ? TILE : STAGE_K;
    static const int PITCH = LINE + (SWIZZLED ? 0 : ALONG_K ? 4 : 8), SIZE = LINES * PITCH;
    // A thread copies four numbers of every LINES_APART-th line.
    static const int ACROSS = LINE / 4, LINES_APART = TENSOR_THREADS / ACROSS,
                     EACH = LINES / LINES_APART;

    const float *from;
    const unsigned *rows;
    unsigned stride;
    int x0, x_end, k_end, line, first;
    // Whether 16 bytes are copied at once: lines are aligned, and overruns happen only along m or n,
    // where their results are unused.
    bool copies_16;
    // The lines that this thread copies next.
    unsigned next[EACH];

    // `aligned`: every line is aligned to 16 bytes.
    __device__ __forceinline__ StagedOperand(const float *from, const unsigned *rows, long long stride,
                                             bool aligned, int x0, int x_end, int k_end)
        : from(from), rows(rows), stride(4 * (unsigned)stride), x0(x0), x_end(x_end), k_end(k_end),
          line(threadIdx.x / ACROSS), first(threadIdx.x % ACROSS * 4),
          copies_16(aligned && (!ALONG_K || k_end % 4 == 0)) {
        if (ALONG_K) find(x0, x_end);
    }

    __device__ __forceinline__ void find(int begin, int end) {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            int at = begin + line + i * LINES_APART;
            next[i] = at >= end ? NO_ROW : rows ? rows[at] : at;
        }
    }

    // Finds the lines of the stage from k0 on. Row lists take a while, so this is done a stage ahead.
    __device__ __forceinline__ void locate(int k0) {
        if (!ALONG_K) find(k0, k_end);
    }

    // Starts the copy of the located stage from k0 on. Elements beyond the ends and missing rows are
    // zero.
    __device__ __forceinline__ void fetch(unsigned to, int k0) const {
        int at = (ALONG_K ? k0 : x0) + first, inside = (ALONG_K ? k_end : x_end) - at;
        // The swizzle is the same for all lines of a thread.
        to += 4 * (line * PITCH + (SWIZZLED ? first ^ line % 8 * 4 : first));
        const char *source = (const char *)(from + at);
#pragma unroll
        for (int i = 0; i < EACH && copies_16; i++)
            copy_async_16(to + 4 * i * LINES_APART * PITCH,
                          source + (unsigned long long)next[i] * stride,
                          inside > 0 && next[i] != NO_ROW);
        if (copies_16) return;
        // Rare: kept small for the sake of the common case.
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll 1
            for (int e = 0; e < 4; e++)
                copy_async_4(to + 4 * (i * LINES_APART * PITCH + e),
                             source + (unsigned long long)next[i] * stride + 4 * e,
                             e < inside && next[i] != NO_ROW);
    }
};

// The part of a number beyond its first eleven mantissa bits.
__device__ __forceinline__ unsigned low_part(unsigned x) {
    return __float_as_uint(__uint_as_float(x) - __uint_as_float(x & 0xffffe000u));
}

// d += a b: 16 x 8 sums of 8 products. Lane 4 g + t holds of a (g, t), (g + 8, t), (g, t + 4) and (g +
// 8, t + 4); of b (t, g) and (t + 4, g); of d (g, 2 t), (g, 2 t + 1) and the same for g + 8.
__device__ __forceinline__ void mma_16x8x8(float d[4], const unsigned a[4], const unsigned b[2]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%10, %11, %12, %13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(d[0]), "f"(d[1]),
          "f"(d[2]), "f"(d[3]));
}

// A block computes a TM x TN tile of C, a warp MI x NI tiles of 16 x 8 of it, in stages of STAGE_K. The
// next stages are loaded while one is multiplied.
template <int TM, int TN, bool A_K, bool B_K> struct TensorTile {
    typedef StagedOperand<TM, A_K> A;
    typedef StagedOperand<TN, B_K> B;
    static const int MI = TM / WARPS_DOWN / 16, NI = 4;
    static_assert(TN == WARPS_ACROSS * 8 * NI, "a warp's columns are four tiles");
    static const int STAGE = A::SIZE + B::SIZE, C_PITCH = TN + 8;

    // A lane's elements of eight columns of A for 16 rows, and of eight rows of B for all columns of a
    // warp. If A is contiguous along m, it is loaded in pairs: rows g and g + 8 of the tensor core tile
    // are then neighbours.
    __device__ __forceinline__ static void take_a(unsigned a[4], const float *stage, int m, int k) {
        int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
        if (A_K) {
            const float *at = stage + (m + lane % 16) * A::PITCH + k + lane / 16 * 4;
            ldmatrix_x4(a, (unsigned)__cvta_generic_to_shared(at));
            return;
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float2 two = *(const float2 *)(stage + (k + t + 4 * h) * A::PITCH + m + 2 * g);
            a[2 * h] = __float_as_uint(two.x), a[2 * h + 1] = __float_as_uint(two.y);
        }
    }
    __device__ __forceinline__ static void take_b(unsigned b[NI][2], const float *stage, int n, int k) {
        int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
        if (B_K) {
            int row = n + lane % 8 + lane / 16 * 8, column = k + lane / 8 % 2 * 4;
            unsigned at = (unsigned)__cvta_generic_to_shared(stage + row * B::PITCH + column);
#pragma unroll
            for (int j = 0; j < NI; j += 2) ldmatrix_x4(b[j], at + 4 * 8 * j * B::PITCH);
            return;
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const float *line = stage + (k + t + 4 * h) * B::PITCH + n + g;
#pragma unroll
            for (int j = 0; j < NI; j++) b[j][h] = __float_as_uint(line[8 * j]);
        }
    }

    // Adds a stage's products to the sums of a warp's first N tiles of 16 rows; the others are empty.
    // The tensor cores truncate their sums, so only few products are added inside them.
    template <int N>
    __device__ __forceinline__ static void multiply_tiles(float sum[MI][NI][4], const float *a,
                                                          const float *b, int m, int n) {
        float part[N][NI][4] = {};
        // A short loop stays in the instruction cache.
#pragma unroll 2
        for (int k = 0; k < STAGE_K; k += 8) {
            unsigned high[N][4], low[N][4], b_high[NI][2], b_low[NI][2];
            take_b(b_high, b, n, k);
#pragma unroll
            for (int i = 0; i < N; i++) take_a(high[i], a, m + 16 * i, k);
#pragma unroll
            for (int i = 0; i < N; i++)
#pragma unroll
                for (int h = 0; h < 4; h++) low[i][h] = low_part(high[i][h]);
#pragma unroll
            for (int i = 0; i < N; i++)
#pragma unroll
                for (int j = 0; j < NI; j++) mma_16x8x8(part[i][j], low[i], b_high[j]);
#pragma unroll
            for (int j = 0; j < NI; j++)
#pragma unroll
                for (int h = 0; h < 2; h++) b_low[j][h] = low_part(b_high[j][h]);
#pragma unroll
            for (int i = 0; i < N; i++)
#pragma unroll
                for (int j = 0; j < NI; j++) mma_16x8x8(part[i][j], high[i], b_low[j]);
#pragma unroll
            for (int i = 0; i < N; i++)
#pragma unroll
                for (int j = 0; j < NI; j++) mma_16x8x8(part[i][j], high[i], b_high[j]);
        }
#pragma unroll
        for (int i = 0; i < N; i++)
#pragma unroll
            for (int j = 0; j < NI; j++)
#pragma unroll
                for (int h = 0; h < 4; h++) sum[i][j][h] += part[i][j][h];
    }

    // The same for `tiles` tiles, at most N.
    template <int N>
    __device__ __forceinline__ static void
    multiply_up_to(int tiles, float sum[MI][NI][4], const float *a, const float *b, int m, int n) {
        if (tiles >= N) return multiply_tiles<N>(sum, a, b, m, n);
        if constexpr (N > 1) multiply_up_to<N - 1>(tiles, sum, a, b, m, n);
    }

    __device__ __forceinline__ static void product(const ProductArgs &p, float *shared) {
        int m0 = blockIdx.y * TM, n0 = blockIdx.x * TN;
        int warp = threadIdx.x / WARP;
        int m = warp / WARPS_ACROSS * (TM / WARPS_DOWN), n = warp % WARPS_ACROSS * (TN / WARPS_ACROSS);
        int tiles = (p.m - m0 - m + 15) / 16;
        int per = ((p.k + p.splits - 1) / p.splits + STAGE_K - 1) / STAGE_K * STAGE_K;
        int k_first = min(blockIdx.z * per, p.k), k_end = min(p.k, k_first + per);
        int stages = (k_end - k_first + STAGE_K - 1) / STAGE_K;
        unsigned stages_at = (unsigned)__cvta_generic_to_shared(shared);
        A a(p.a, p.a_rows, A_K ? p.a_m : p.a_k, p.a_aligned, m0, p.m, k_end);
        B b(p.b, p.b_rows, B_K ? p.b_n : p.b_k, p.b_aligned, n0, p.n, k_end);
        a.locate(k_first), b.locate(k_first);
        auto fetch = [&](int s) {
            unsigned to = stages_at + 4 * (s % STAGES * STAGE);
            int k0 = k_first + s * STAGE_K;
            if (s < stages) {
                a.fetch(to, k0), b.fetch(to + 4 * A::SIZE, k0);
                a.locate(k0 + STAGE_K), b.locate(k0 + STAGE_K);
            }
            commit_copies();
        };
        float sum[MI][NI][4] = {};
        for (int s = 0; s < STAGES - 1; s++) fetch(s);
        for (int s = 0; s < stages; s++) {
            wait_copies<STAGES - 2>();
            __syncthreads();
            fetch(s + STAGES - 1);
            const float *stage = shared + s % STAGES * STAGE;
            multiply_up_to<MI>(tiles, sum, stage, stage + A::SIZE, m, n);
        }
        store_tile(p, shared, sum, m0, n0, m, n);
    }

    // Stores the tile through shared memory: then a warp writes whole rows, in a short loop.
    __device__ __forceinline__ static void store_tile(const ProductArgs &p, float *shared,
                                                      float sum[MI][NI][4], int m0, int n0, int m,
                                                      int n) {
        static_assert(TM * C_PITCH <= STAGES * STAGE, "a tile of C fits where the stages were");
        int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
        wait_copies<0>();
        __syncthreads();
#pragma unroll
        for (int i = 0; i < MI; i++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                float *row = shared + (m + 16 * i + (A_K ? g + 8 * h : 2 * g + h)) * C_PITCH + n;
#pragma unroll
                for (int j = 0; j < NI; j++)
                    *(float2 *)(row + 8 * j + 2 * t) =
                        make_float2(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
            }
        __syncthreads();
        store_rows(p, shared, m0, n0);
    }

    // Stores a tile of C from shared memory: a thread has four columns of every apart-th row.
    __device__ __forceinline__ static void store_rows(const ProductArgs &p, const float *shared, int m0,
                                                      int n0) {
        const int ACROSS = TN / 4, LINES_APART = TENSOR_THREADS / ACROSS;
        int column = threadIdx.x % ACROSS * 4, n = n0 + column;
        AlignedColumns columns(p, n);
        if (columns.usable) {
            // Stores of different rows overlap.
#pragma unroll 4
            for (int row = threadIdx.x / ACROSS; row < TM; row += LINES_APART)
                columns.store_part(p, m0 + row, n, load_4(shared + row * C_PITCH + column));
            return;
        }
#pragma unroll 1
        for (int row = threadIdx.x / ACROSS; row < TM; row += LINES_APART)
            store_part_4(p, m0 + row, n, load_4(shared + row * C_PITCH + column));
    }
};

extern __shared__ __align__(16) float tensor_shared[];

// By rows of a tile, and by whether A and B are contiguous along k. A multiprocessor has registers for
// one large tile.
#define TENSOR_KERNEL(name, rows, a_k, b_k)                                                            \
    extern "C" __global__ void __launch_bounds__(TENSOR_THREADS, rows == 128 ? 1 : 2)                  \
        name(ProductArgs p) {                                                                          \
        TensorTile<rows, 128, a_k, b_k>::product(p, tensor_shared);                                    \
    }
TENSOR_KERNEL(tensor_128_mn, 128, false, false)
TENSOR_KERNEL(tensor_128_kn, 128, true, false)
TENSOR_KERNEL(tensor_128_kk, 128, true, true)
TENSOR_KERNEL(tensor_64_mn, 64, false, false)
TENSOR_KERNEL(tensor_64_kn, 64, true, false)
TENSOR_KERNEL(tensor_64_kk, 64, true, true)
