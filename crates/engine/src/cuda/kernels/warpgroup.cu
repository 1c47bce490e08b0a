// Large products on the tensor cores of GPUs whose warps multiply by fours (compute capability 9.0): one
// factor comes from registers, the other from shared memory, in lines along k. Otherwise as in tensor.cu.

#define EIGHT(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
                 "+f"(d[i + 6]), "+f"(d[i + 7])
#define THIRTY_TWO(i) EIGHT(i), EIGHT(i + 8), EIGHT(i + 16), EIGHT(i + 24)

// 128 or 64 columns of 64 rows times eight rows: what `multiply` does for a tile, for four warps and
// sixteen or eight tiles each.
__device__ __forceinline__ void multiply_wide(float (&d)[64], const unsigned a[4], unsigned long long b,
                                              int adds) {
    asm volatile(
        "{\n.reg .pred adds;\nsetp.ne.b32 adds, %69, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "{%64, %65, %66, %67}, %68, adds, 1, 1;\n}"
        : THIRTY_TWO(0), THIRTY_TWO(32)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
__device__ __forceinline__ void multiply_wide(float (&d)[32], const unsigned a[4], unsigned long long b,
                                              int adds) {
    asm volatile(
        "{\n.reg .pred adds;\nsetp.ne.b32 adds, %37, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "{%32, %33, %34, %35}, %36, adds, 1, 1;\n}"
        : THIRTY_TWO(0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
// Before the first of several products, and after registers were written; after the last; until all are
// done.
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void end_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void await_products(float (&d)[64]) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" : THIRTY_TWO(0), THIRTY_TWO(32) : : "memory");
}
__device__ __forceinline__ void await_products(float (&d)[32]) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" : THIRTY_TWO(0) : : "memory");
}
// What threads have written to shared memory is seen by the tensor cores, after a barrier.
__device__ __forceinline__ void show_to_tensor_cores() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The product Cᵀ = Bᵀ Aᵀ.
__device__ __forceinline__ Product turned(const Product &p) {
    Product t = p;
    t.a = p.b, t.a_rows = p.b_rows, t.a_m = p.b_n, t.a_k = p.b_k, t.a_wide = p.b_wide, t.m = p.n;
    t.b = p.a, t.b_rows = p.a_rows, t.b_n = p.a_m, t.b_k = p.a_k, t.b_wide = p.a_wide, t.n = p.m;
    return t;
}

// A block makes a 128 x TN piece of C, four warps half of its rows; or, TURNED, of Cᵀ: where C has few
// rows, that splits fewer numbers for as many products.
template <bool A_K, bool B_K, int TN, bool TURNED> struct Wide {
    static const int TM = 128, STEPS = DEEP / 8, EACH = TN / 2;
    typedef Piece<TM, A_K> A;
    typedef Piece<TN, B_K, B_K> B;
    typedef Large<TM, 128, A_K, false> Takes;
    typedef Large<TURNED ? TN : TM, 128, A_K, B_K> Leaves;
    // B in lines along k, as the tensor cores read it: its numbers and what is left of them, of this
    // stage and the one before. The numbers are where they came, if their lines go along k.
    static const int LINES = TN * DEEP, SPLIT = B_K ? LINES : 2 * LINES;
    static const int PIECES = 2 * SPLIT;
    // Stages that are asked for before one is multiplied; a place is free when nobody reads it any more.
    static const int AHEAD = 3, PLACES = B_K ? AHEAD + 1 : AHEAD;
    // Whether there are registers for what the next products need of A, while these are made.
    static const bool ROOMY = TN == 128;

    // Where a piece is, for the tensor cores: lines of 128 bytes whose sixteens have changed places, eight
    // of them after 1024 bytes.
    __device__ __forceinline__ static unsigned long long described(const float *piece) {
        unsigned long long at = (unsigned)__cvta_generic_to_shared(piece);
        return (at & 0x3ffff) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
    }

    __device__ __forceinline__ static float4 rest_of(float4 x) {
        auto of = [](float x) { return __uint_as_float(rest(__float_as_uint(x))); };
        return make_float4(of(x.x), of(x.y), of(x.z), of(x.w));
    }

    // Until here nobody else may have these registers.
    __device__ __forceinline__ static void hold(unsigned (&registers)[STEPS][4]) {
#pragma unroll
        for (int k = 0; k < STEPS; k++)
#pragma unroll
            for (int h = 0; h < 4; h++) asm volatile("" : "+r"(registers[k][h]));
    }

    // Makes the pieces that the tensor cores read.
    __device__ __forceinline__ static void split(const float *b, float *into) {
#pragma unroll
        for (int i = 0; i < LINES / 4 / TENSOR_THREADS; i++) {
            if (B_K) {
                int at = 4 * (threadIdx.x + i * TENSOR_THREADS);
                *(float4 *)(into + at) = rest_of(*(const float4 *)(b + at));
                continue;
            }
            int n = threadIdx.x % TN, four = threadIdx.x / TN + i * (TENSOR_THREADS / TN);
            const float *from = b + 4 * four * B::PITCH + n;
            float4 x = make_float4(from[0], from[B::PITCH], from[2 * B::PITCH], from[3 * B::PITCH]);
            float *to = into + n * DEEP + (four ^ n % 8) * 4;
            *(float4 *)to = x;
            *(float4 *)(to + LINES) = rest_of(x);
        }
    }

    // The piece from row m0 and column n0 on.
    __device__ __forceinline__ static void product(const Product &asked, float *room, int m0, int n0) {
        const Product &p = TURNED ? turned(asked) : asked;
        int m = threadIdx.x / WARP * 16;
        int per = ((p.k + p.splits - 1) / p.splits + DEEP - 1) / DEEP * DEEP;
        int k_first = min(blockIdx.z * per, p.k), k_end = min(p.k, k_first + per);
        int stages = (k_end - k_first + DEEP - 1) / DEEP;
        // Swizzled pieces first: they begin at multiples of 1024 bytes.
        float *b_room = room + PIECES, *a_room = b_room + PLACES * B::SIZE;
        unsigned to_a = (unsigned)__cvta_generic_to_shared(a_room);
        unsigned to_b = (unsigned)__cvta_generic_to_shared(b_room);
        A a(p.a, p.a_rows, A_K ? p.a_m : p.a_k, p.a_wide, m0, p.m, k_end);
        B b(p.b, p.b_rows, B_K ? p.b_n : p.b_k, p.b_wide, n0, p.n, k_end);
        a.look(k_first), b.look(k_first);
        auto fetch = [&](int s) {
            int k0 = k_first + s * DEEP;
            if (s < stages) {
                a.fetch(to_a + 4 * (s % PLACES * A::SIZE), k0), b.fetch(to_b + 4 * (s % PLACES * B::SIZE), k0);
                a.look(k0 + DEEP), b.look(k0 + DEEP);
            }
            end_group();
        };
        auto take = [&](int s, unsigned into[STEPS][4]) {
#pragma unroll
            for (int k = 0; k < STEPS; k++)
                Takes::take_a(into[k], a_room + s % PLACES * A::SIZE, m, 8 * k);
        };
        float sum[EACH] = {};
        unsigned high[STEPS][4] = {};
        for (int s = 0; s < AHEAD; s++) fetch(s);
        wait_groups<AHEAD - 1>();
        __syncthreads();
        if (stages > 0) split(b_room, room), take(0, high);
#pragma unroll 1
        for (int s = 0; s < stages; s++) {
            // Of all threads: the next stage has come, this one's pieces are made, and the products of the
            // one before.
            show_to_tensor_cores();
            wait_groups<AHEAD - 2>();
            __syncthreads();
            const float *pieces = room + s % 2 * SPLIT;
            unsigned long long b_high = described(B_K ? b_room + s % PLACES * B::SIZE : pieces);
            unsigned long long b_low = described(B_K ? pieces : pieces + LINES);
            unsigned low[STEPS][4], next[STEPS][4];
#pragma unroll
            for (int k = 0; k < STEPS; k++)
#pragma unroll
                for (int h = 0; h < 4; h++) low[k][h] = rest(high[k][h]);
            float part[EACH];
            begin_products();
#pragma unroll
            for (int k = 0; k < STEPS; k++) {
                // Eight numbers are 32 bytes further on.
                multiply_wide(part, low[k], b_high + 2 * k, k > 0);
                multiply_wide(part, high[k], b_low + 2 * k, 1);
                multiply_wide(part, high[k], b_high + 2 * k, 1);
            }
            end_products();
            // Beside them.
            fetch(s + AHEAD);
            bool more = s + 1 < stages;
            if (more) split(b_room + (s + 1) % PLACES * B::SIZE, room + (s + 1) % 2 * SPLIT);
            if (ROOMY && more) take(s + 1, next);
            await_products(part);
            // Registers that products read are not written before.
            hold(high), hold(low);
            if (!ROOMY && more) take(s + 1, high);
#pragma unroll
            for (int i = 0; i < EACH; i++) sum[i] += part[i];
#pragma unroll
            for (int k = 0; k < STEPS && ROOMY; k++)
#pragma unroll
                for (int h = 0; h < 4; h++) high[k][h] = next[k][h];
        }
        leave(asked, room, sum, m0, n0, m);
    }

    __device__ __forceinline__ static void leave(const Product &p, float *room, const float (&sum)[EACH], int m0,
                                                 int n0, int m) {
        static_assert(TURNED || TN == 128, "a piece of C has 128 columns");
        int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
        wait_groups<0>();
        __syncthreads();
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int first = m + (A_K ? g + 8 * h : 2 * g + h);
#pragma unroll
            for (int j = 0; j < TN / 8; j++) {
                float x = sum[4 * j + 2 * h], y = sum[4 * j + 2 * h + 1];
                float *at = room + (TURNED ? (8 * j + 2 * t) * Leaves::C_PITCH + first
                                           : first * Leaves::C_PITCH + 8 * j + 2 * t);
                if (TURNED)
                    at[0] = x, at[Leaves::C_PITCH] = y;
                else
                    *(float2 *)at = make_float2(x, y);
            }
        }
        __syncthreads();
        Leaves::leave_rows(p, room, TURNED ? n0 : m0, TURNED ? m0 : n0);
    }
};

extern __shared__ __align__(1024) float wide_room[];

// By whether A and B are contiguous along k. Of those with few rows there is room for two.
#define WIDE(name, a_k, b_k)                                                                           \
    extern "C" __global__ void __launch_bounds__(TENSOR_THREADS, 1) name(Product p) {                  \
        Wide<a_k, b_k, 128, false>::product(p, wide_room, blockIdx.y * 128, blockIdx.x * 128);         \
    }
WIDE(wide_mn, false, false)
WIDE(wide_kn, true, false)
WIDE(wide_kk, true, true)
extern "C" __global__ void __launch_bounds__(TENSOR_THREADS, 2) turned_mn(Product p) {
    Wide<false, false, 64, true>::product(p, wide_room, blockIdx.x * 128, blockIdx.y * 64);
}

// All rows of C, in the order of their chunks: a block makes one piece after another, and counts it. The
// first row of a piece says which chunk it is of.
extern "C" __global__ void __launch_bounds__(TENSOR_THREADS, 1) wide_in_chunks(Product p, Chunks chunks) {
    int across = (p.n + 127) / 128, tiles = (p.m + 127) / 128 * across, chunk = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int m0 = tile / across * 128;
        Wide<true, true, 128, false>::product(p, wide_room, m0, tile % across * 128);
        while (chunk + 1 < chunks.count && m0 >= chunks.first[chunk + 1]) chunk++;
        arrive(chunks.made + chunk);
    }
}
