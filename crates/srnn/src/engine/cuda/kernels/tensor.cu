// Large products on the tensor cores, which see the first eleven bits of a number. What they do not
// see is a number of its own, and of the four products of both parts the smallest, low times low, is
// left out: what is lost is about what a float loses by rounding.

#define DEEP 32
#define STAGES 3
#define TENSOR_THREADS 256
// Warps lie in a block's tile so many down and across.
#define WARPS_DOWN 2
#define WARPS_ACROSS 4

// One operand's piece of a stage in shared memory: x is its row m or its column n. Lines are
// contiguous as they are in memory, and padded such that the 4 x 8 numbers a warp reads at a time lie
// in different banks.
template <int TILE, bool ALONG_K> struct Piece {
    static const int LINE = ALONG_K ? DEEP : TILE, LINES = ALONG_K ? TILE : DEEP;
    static const int PITCH = LINE + (ALONG_K ? 4 : 8), SIZE = LINES * PITCH;

    __device__ __forceinline__ static int at(int x, int k) {
        return ALONG_K ? x * PITCH + k : k * PITCH + x;
    }

    // Asks for the four numbers of a piece that begins at (x0, k0); what lies beyond the ends, and
    // rows that are none, is zero. WIDE: every line begins at a multiple of 16 bytes.
    template <bool WIDE>
    __device__ __forceinline__ static void fetch_four(unsigned to, const float *from,
                                                      const unsigned *rows, long long stride, int x0,
                                                      int x_end, int k0, int k_end, int four) {
        int line_end = ALONG_K ? x_end : k_end, end = ALONG_K ? k_end : x_end;
        int line = four / (LINE / 4), first = four % (LINE / 4) * 4;
        int at_line = (ALONG_K ? x0 : k0) + line, at = (ALONG_K ? k0 : x0) + first;
        int inside = at_line < line_end ? min(max(end - at, 0), 4) : 0;
        unsigned row = at_line;
        if (rows && inside > 0) {
            row = rows[at_line];
            if (row == NO_ROW) inside = 0;
        }
        const float *source = inside > 0 ? from + row * stride + at : from;
        unsigned into = to + 4 * (line * PITCH + first);
        if constexpr (WIDE) {
            copy_four(into, source, 4 * inside);
        } else {
            for (int e = 0; e < 4; e++)
                copy_one(into + 4 * e, e < inside ? source + e : from, e < inside ? 4 : 0);
        }
    }

    // The whole piece.
    __device__ __forceinline__ static void fetch(unsigned to, const float *from, const unsigned *rows,
                                                 long long stride, bool wide, int x0, int x_end,
                                                 int k0, int k_end) {
        const int EACH = LINES * LINE / 4 / TENSOR_THREADS;
        if (wide) {
#pragma unroll
            for (int i = 0; i < EACH; i++)
                fetch_four<true>(to, from, rows, stride, x0, x_end, k0, k_end,
                                 threadIdx.x + i * TENSOR_THREADS);
            return;
        }
        // Few operands are so: what the others need stays small.
#pragma unroll 1
        for (int i = 0; i < EACH; i++)
            fetch_four<false>(to, from, rows, stride, x0, x_end, k0, k_end,
                              threadIdx.x + i * TENSOR_THREADS);
    }
};

// What is left of a number beside its first eleven bits, which are all that the tensor cores see.
__device__ __forceinline__ unsigned rest(float x) {
    return __float_as_uint(x - __uint_as_float(__float_as_uint(x) & 0xffffe000u));
}

// d += a b: 16 x 8 sums of 8 products. Lane 4 g + t has of a (g, t), (g + 8, t), (g, t + 4) and
// (g + 8, t + 4); of b (t, g) and (t + 4, g); of d (g, 2 t), (g, 2 t + 1) and the same of g + 8.
__device__ __forceinline__ void multiply(float d[4], const unsigned a[4], const unsigned b[2]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%10, %11, %12, %13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(d[0]), "f"(d[1]),
          "f"(d[2]), "f"(d[3]));
}

// A block makes a TM x TN piece of C, a warp MI x NI tiles of 16 x 8 of it, in stages of DEEP; the
// next stages are on their way while one is multiplied.
template <int TM, int TN, bool A_K, bool B_K> struct Large {
    typedef Piece<TM, A_K> A;
    typedef Piece<TN, B_K> B;
    static const int MI = TM / WARPS_DOWN / 16, NI = TN / WARPS_ACROSS / 8;
    static const int STAGE = A::SIZE + B::SIZE;
    // More at a time where a warp has few tiles, and registers for it.
    static const int EIGHTS = MI > 2 ? 1 : 2;

    // Adds EIGHTS times eight products to every sum. They are added to each other in the tensor cores,
    // which cut off what they cannot hold: so few of them that it does not add up.
    __device__ __forceinline__ static void some(float sum[MI][NI][4], const float *a, const float *b,
                                                int m, int rows, int n, int k) {
        int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
        unsigned b_high[EIGHTS][NI][2], b_low[EIGHTS][NI][2];
#pragma unroll
        for (int s = 0; s < EIGHTS; s++)
#pragma unroll
            for (int j = 0; j < NI; j++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    float x = b[B::at(n + 8 * j + g, k + 8 * s + t + 4 * h)];
                    b_high[s][j][h] = __float_as_uint(x), b_low[s][j][h] = rest(x);
                }
#pragma unroll
        for (int i = 0; i < MI; i++) {
            if (m + 16 * i >= rows) break;
            unsigned high[EIGHTS][4], low[EIGHTS][4];
#pragma unroll
            for (int s = 0; s < EIGHTS; s++)
#pragma unroll
                for (int h = 0; h < 4; h++) {
                    float x = a[A::at(m + 16 * i + g + h % 2 * 8, k + 8 * s + t + h / 2 * 4)];
                    high[s][h] = __float_as_uint(x), low[s][h] = rest(x);
                }
            float part[NI][4] = {};
#pragma unroll
            for (int s = 0; s < EIGHTS; s++) {
#pragma unroll
                for (int j = 0; j < NI; j++) multiply(part[j], low[s], b_high[s][j]);
#pragma unroll
                for (int j = 0; j < NI; j++) multiply(part[j], high[s], b_low[s][j]);
#pragma unroll
                for (int j = 0; j < NI; j++) multiply(part[j], high[s], b_high[s][j]);
            }
#pragma unroll
            for (int j = 0; j < NI; j++)
#pragma unroll
                for (int h = 0; h < 4; h++) sum[i][j][h] += part[j][h];
        }
    }

    __device__ __forceinline__ static void product(const Product &p, float *room) {
        int m0 = blockIdx.y * TM, n0 = blockIdx.x * TN;
        int warp = threadIdx.x / WARP;
        int m = warp / WARPS_ACROSS * (TM / WARPS_DOWN), n = warp % WARPS_ACROSS * (TN / WARPS_ACROSS);
        int per = ((p.k + p.splits - 1) / p.splits + DEEP - 1) / DEEP * DEEP;
        int k_first = min(blockIdx.z * per, p.k), k_end = min(p.k, k_first + per);
        int stages = (k_end - k_first + DEEP - 1) / DEEP;
        unsigned rooms = (unsigned)__cvta_generic_to_shared(room);
        auto fetch = [&](int s) {
            unsigned to = rooms + 4 * (s % STAGES * STAGE);
            int k0 = k_first + s * DEEP;
            if (s < stages) {
                A::fetch(to, p.a, p.a_rows, A_K ? p.a_m : p.a_k, p.a_wide, m0, p.m, k0, k_end);
                B::fetch(to + 4 * A::SIZE, p.b, p.b_rows, B_K ? p.b_n : p.b_k, p.b_wide, n0, p.n, k0,
                         k_end);
            }
            end_group();
        };
        float sum[MI][NI][4] = {};
        for (int s = 0; s < STAGES - 1; s++) fetch(s);
        for (int s = 0; s < stages; s++) {
            wait_groups<STAGES - 2>();
            __syncthreads();
            fetch(s + STAGES - 1);
            const float *a = room + s % STAGES * STAGE, *b = a + A::SIZE;
            // A short loop stays where instructions are fetched fast.
#pragma unroll 1
            for (int k = 0; k < DEEP; k += 8 * EIGHTS) some(sum, a, b, m, p.m - m0, n, k);
        }
        leave(p, room, sum, m, n);
    }

    // The sums go through shared memory: a warp then leaves whole rows, by a short loop.
    __device__ __forceinline__ static void leave(const Product &p, float *room, float sum[MI][NI][4],
                                                 int m, int n) {
        const int PITCH = TN + 8;
        static_assert(TM * PITCH <= STAGES * STAGE, "a tile of C fits where the stages were");
        int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
        wait_groups<0>();
        __syncthreads();
#pragma unroll
        for (int i = 0; i < MI; i++)
#pragma unroll
            for (int h = 0; h < 2; h++)
#pragma unroll
                for (int j = 0; j < NI; j++)
                    *(float2 *)(room + (m + 16 * i + g + 8 * h) * PITCH + n + 8 * j + 2 * t) =
                        make_float2(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
        __syncthreads();
#pragma unroll 1
        for (int e = threadIdx.x; e < TM * TN / 4; e += TENSOR_THREADS) {
            int row = e / (TN / 4), column = e % (TN / 4) * 4;
            float4 four = *(const float4 *)(room + row * PITCH + column);
            int at_m = blockIdx.y * TM + row, at_n = blockIdx.x * TN + column;
            leave_two(p, at_m, at_n, make_float2(four.x, four.y));
            leave_two(p, at_m, at_n + 2, make_float2(four.z, four.w));
        }
    }
};

extern __shared__ __align__(16) float large_room[];

// By the rows of a tile, and by whether A and B are contiguous along k.
#define LARGE(name, rows, a_k, b_k)                                                                    \
    extern "C" __global__ void __launch_bounds__(TENSOR_THREADS, 2) name(Product p) {                  \
        Large<rows, 128, a_k, b_k>::product(p, large_room);                                            \
    }
LARGE(large_128_mn, 128, false, false)
LARGE(large_128_kn, 128, true, false)
LARGE(large_128_kk, 128, true, true)
LARGE(large_64_mn, 64, false, false)
LARGE(large_64_kn, 64, true, false)
LARGE(large_64_kk, 64, true, true)
