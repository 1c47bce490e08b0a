// Large products on the tensor cores, which see the first eleven bits of a number. What they do not
// see is a number of its own, and of the four products of both parts the smallest, low times low, is
// left out: what is lost is about what a float loses by rounding.

#define DEEP 32
#define STAGES 3
#define TENSOR_THREADS 256
// Warps lie in a block's tile so many down and across.
#define WARPS_DOWN 2
#define WARPS_ACROSS 4

// Four pieces of 8 rows of 16 bytes each, a row at the address of a lane: lane 4 g + t gets number t of
// row g of each.
__device__ __forceinline__ void four_pieces(unsigned into[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(into[0]), "=r"(into[1]), "=r"(into[2]), "=r"(into[3]) : "r"(at) : "memory");
}

// One operand's piece of a stage in shared memory: x is its row m or its column n. Lines are
// contiguous as they are in memory, and padded such that what a warp reads at a time lies in different
// banks; or, where the tensor cores read shared memory themselves, they are not padded, and the fours
// of a line change places (SWIZZLED).
template <int TILE, bool ALONG_K, bool SWIZZLED = false> struct Piece {
    static const int LINE = ALONG_K ? DEEP : TILE, LINES = ALONG_K ? TILE : DEEP;
    static const int PITCH = LINE + (SWIZZLED ? 0 : ALONG_K ? 4 : 8), SIZE = LINES * PITCH;
    // A thread copies every so-many-th line, four numbers of each.
    static const int ACROSS = LINE / 4, APART = TENSOR_THREADS / ACROSS, EACH = LINES / APART;

    const float *from;
    const unsigned *rows;
    unsigned stride;
    int x0, x_end, k_end, line, first;
    // Whether fours are copied at once: they begin at multiples of 16 bytes, and those that go beyond
    // the end do so along m or n, where nobody reads what is made of them.
    bool fours;
    // The lines that this thread copies next.
    unsigned next[EACH];

    // WIDE: every line begins at a multiple of 16 bytes.
    __device__ __forceinline__ Piece(const float *from, const unsigned *rows, long long stride, bool wide,
                                     int x0, int x_end, int k_end)
        : from(from), rows(rows), stride(4 * (unsigned)stride), x0(x0), x_end(x_end), k_end(k_end),
          line(threadIdx.x / ACROSS), first(threadIdx.x % ACROSS * 4),
          fours(wide && (!ALONG_K || k_end % 4 == 0)) {
        if (ALONG_K) find(x0, x_end);
    }

    __device__ __forceinline__ void find(int begin, int end) {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            int at = begin + line + i * APART;
            next[i] = at >= end ? NO_ROW : rows ? rows[at] : at;
        }
    }

    // Finds the lines of the stage from k0 on. Where they are listed that takes a while: it is done a
    // stage ahead.
    __device__ __forceinline__ void look(int k0) {
        if (!ALONG_K) find(k0, k_end);
    }

    // Asks for the stage from k0 on, which was looked for; what lies beyond the ends, and rows that are
    // none, is zero.
    __device__ __forceinline__ void fetch(unsigned to, int k0) const {
        int at = (ALONG_K ? k0 : x0) + first, inside = (ALONG_K ? k_end : x_end) - at;
        // A thread's lines are all alike in this.
        to += 4 * (line * PITCH + (SWIZZLED ? first ^ line % 8 * 4 : first));
        const char *source = (const char *)(from + at);
#pragma unroll
        for (int i = 0; i < EACH && fours; i++)
            copy_four(to + 4 * i * APART * PITCH, source + (unsigned long long)next[i] * stride,
                      inside > 0 && next[i] != NO_ROW);
        if (fours) return;
        // Few operands are so: what the others need stays small.
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll 1
            for (int e = 0; e < 4; e++)
                copy_one(to + 4 * (i * APART * PITCH + e), source + (unsigned long long)next[i] * stride + 4 * e,
                         e < inside && next[i] != NO_ROW);
    }
};

// What is left of a number beside its first eleven bits, which are all that the tensor cores see.
__device__ __forceinline__ unsigned rest(unsigned x) {
    return __float_as_uint(__uint_as_float(x) - __uint_as_float(x & 0xffffe000u));
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
    static const int MI = TM / WARPS_DOWN / 16, NI = 4;
    static_assert(TN == WARPS_ACROSS * 8 * NI, "a warp's columns are four tiles");
    static const int STAGE = A::SIZE + B::SIZE, C_PITCH = TN + 8;

    // What a lane needs of eight columns of A, of 16 rows; of eight rows of B, of all of a warp's
    // columns. Where the lines of A go along m they are read by twos: rows g and g + 8 of the tensor
    // cores' tile are neighbours then.
    __device__ __forceinline__ static void take_a(unsigned a[4], const float *piece, int m, int k) {
        int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
        if (A_K) {
            const float *at = piece + (m + lane % 16) * A::PITCH + k + lane / 16 * 4;
            four_pieces(a, (unsigned)__cvta_generic_to_shared(at));
            return;
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float2 two = *(const float2 *)(piece + (k + t + 4 * h) * A::PITCH + m + 2 * g);
            a[2 * h] = __float_as_uint(two.x), a[2 * h + 1] = __float_as_uint(two.y);
        }
    }
    __device__ __forceinline__ static void take_b(unsigned b[NI][2], const float *piece, int n, int k) {
        int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
        if (B_K) {
            int row = n + lane % 8 + lane / 16 * 8, column = k + lane / 8 % 2 * 4;
            unsigned at = (unsigned)__cvta_generic_to_shared(piece + row * B::PITCH + column);
#pragma unroll
            for (int j = 0; j < NI; j += 2) four_pieces(b[j], at + 4 * 8 * j * B::PITCH);
            return;
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const float *line = piece + (k + t + 4 * h) * B::PITCH + n + g;
#pragma unroll
            for (int j = 0; j < NI; j++) b[j][h] = __float_as_uint(line[8 * j]);
        }
    }

    // Adds a stage's products to the sums of a warp's first N tiles of 16 rows; the others are empty.
    // They are added to each other in the tensor cores, which cut off what they cannot hold: so few of
    // them that it does not add up.
    template <int N>
    __device__ __forceinline__ static void some(float sum[MI][NI][4], const float *a, const float *b,
                                                int m, int n) {
        float part[N][NI][4] = {};
        // A short loop stays where instructions are fetched fast.
#pragma unroll 2
        for (int k = 0; k < DEEP; k += 8) {
            unsigned high[N][4], low[N][4], b_high[NI][2], b_low[NI][2];
            take_b(b_high, b, n, k);
#pragma unroll
            for (int i = 0; i < N; i++) take_a(high[i], a, m + 16 * i, k);
#pragma unroll
            for (int i = 0; i < N; i++)
#pragma unroll
                for (int h = 0; h < 4; h++) low[i][h] = rest(high[i][h]);
#pragma unroll
            for (int i = 0; i < N; i++)
#pragma unroll
                for (int j = 0; j < NI; j++) multiply(part[i][j], low[i], b_high[j]);
#pragma unroll
            for (int j = 0; j < NI; j++)
#pragma unroll
                for (int h = 0; h < 2; h++) b_low[j][h] = rest(b_high[j][h]);
#pragma unroll
            for (int i = 0; i < N; i++)
#pragma unroll
                for (int j = 0; j < NI; j++) multiply(part[i][j], high[i], b_low[j]);
#pragma unroll
            for (int i = 0; i < N; i++)
#pragma unroll
                for (int j = 0; j < NI; j++) multiply(part[i][j], high[i], b_high[j]);
        }
#pragma unroll
        for (int i = 0; i < N; i++)
#pragma unroll
            for (int j = 0; j < NI; j++)
#pragma unroll
                for (int h = 0; h < 4; h++) sum[i][j][h] += part[i][j][h];
    }

    // The same for `tiles` tiles; N at most.
    template <int N>
    __device__ __forceinline__ static void several(int tiles, float sum[MI][NI][4], const float *a,
                                                   const float *b, int m, int n) {
        if (tiles >= N) return some<N>(sum, a, b, m, n);
        if constexpr (N > 1) several<N - 1>(tiles, sum, a, b, m, n);
    }

    __device__ __forceinline__ static void product(const Product &p, float *room) {
        int m0 = blockIdx.y * TM, n0 = blockIdx.x * TN;
        int warp = threadIdx.x / WARP;
        int m = warp / WARPS_ACROSS * (TM / WARPS_DOWN), n = warp % WARPS_ACROSS * (TN / WARPS_ACROSS);
        int tiles = (p.m - m0 - m + 15) / 16;
        int per = ((p.k + p.splits - 1) / p.splits + DEEP - 1) / DEEP * DEEP;
        int k_first = min(blockIdx.z * per, p.k), k_end = min(p.k, k_first + per);
        int stages = (k_end - k_first + DEEP - 1) / DEEP;
        unsigned rooms = (unsigned)__cvta_generic_to_shared(room);
        A a(p.a, p.a_rows, A_K ? p.a_m : p.a_k, p.a_wide, m0, p.m, k_end);
        B b(p.b, p.b_rows, B_K ? p.b_n : p.b_k, p.b_wide, n0, p.n, k_end);
        a.look(k_first), b.look(k_first);
        auto fetch = [&](int s) {
            unsigned to = rooms + 4 * (s % STAGES * STAGE);
            int k0 = k_first + s * DEEP;
            if (s < stages) {
                a.fetch(to, k0), b.fetch(to + 4 * A::SIZE, k0);
                a.look(k0 + DEEP), b.look(k0 + DEEP);
            }
            end_group();
        };
        float sum[MI][NI][4] = {};
        for (int s = 0; s < STAGES - 1; s++) fetch(s);
        for (int s = 0; s < stages; s++) {
            wait_groups<STAGES - 2>();
            __syncthreads();
            fetch(s + STAGES - 1);
            const float *piece = room + s % STAGES * STAGE;
            several<MI>(tiles, sum, piece, piece + A::SIZE, m, n);
        }
        leave(p, room, sum, m0, n0, m, n);
    }

    // The sums go through shared memory: a warp then leaves whole rows, by a short loop.
    __device__ __forceinline__ static void leave(const Product &p, float *room, float sum[MI][NI][4],
                                                 int m0, int n0, int m, int n) {
        static_assert(TM * C_PITCH <= STAGES * STAGE, "a tile of C fits where the stages were");
        int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
        wait_groups<0>();
        __syncthreads();
#pragma unroll
        for (int i = 0; i < MI; i++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                float *row = room + (m + 16 * i + (A_K ? g + 8 * h : 2 * g + h)) * C_PITCH + n;
#pragma unroll
                for (int j = 0; j < NI; j++)
                    *(float2 *)(row + 8 * j + 2 * t) = make_float2(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
            }
        __syncthreads();
        leave_rows(p, room, m0, n0);
    }

    // Leaves a tile of C that lies in shared memory: a thread four columns of every so-many-th row.
    __device__ __forceinline__ static void leave_rows(const Product &p, const float *room, int m0, int n0) {
        const int ACROSS = TN / 4, APART = TENSOR_THREADS / ACROSS;
        int column = threadIdx.x % ACROSS * 4, n = n0 + column;
        Fours fours(p, n);
        if (fours.are_whole) {
            // Rows do not wait for each other.
#pragma unroll 4
            for (int row = threadIdx.x / ACROSS; row < TM; row += APART)
                fours.leave(p, m0 + row, n, four_at(room + row * C_PITCH + column));
            return;
        }
#pragma unroll 1
        for (int row = threadIdx.x / ACROSS; row < TM; row += APART)
            leave_four(p, m0 + row, n, four_at(room + row * C_PITCH + column));
    }
};

extern __shared__ __align__(16) float large_room[];

// By the rows of a tile, and by whether A and B are contiguous along k. Of the large tiles a
// multiprocessor has registers for one.
#define LARGE(name, rows, a_k, b_k)                                                                    \
    extern "C" __global__ void __launch_bounds__(TENSOR_THREADS, rows == 128 ? 1 : 2) name(Product p) { \
        Large<rows, 128, a_k, b_k>::product(p, large_room);                                            \
    }
LARGE(large_128_mn, 128, false, false)
LARGE(large_128_kn, 128, true, false)
LARGE(large_128_kk, 128, true, true)
LARGE(large_64_mn, 64, false, false)
LARGE(large_64_kn, 64, true, false)
LARGE(large_64_kk, 64, true, true)
