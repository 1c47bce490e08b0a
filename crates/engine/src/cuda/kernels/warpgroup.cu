// Large products by warpgroups (wgmma, compute capability 9.0). One factor comes from registers, the
// other from shared memory, in lines along k. Otherwise as in tensor.cu.

#define EIGHT(i)                                                                                       \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]),        \
        "+f"(d[i + 6]), "+f"(d[i + 7])
#define THIRTY_TWO(i) EIGHT(i), EIGHT(i + 8), EIGHT(i + 16), EIGHT(i + 24)

// 64 rows times 128 or 64 columns, for eight terms: `mma_16x8x8` for four warps and sixteen or eight
// tiles each.
__device__ __forceinline__ void wgmma(float (&d)[64], const unsigned a[4], unsigned long long b,
                                      int adds) {
    asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "{%64, %65, %66, %67}, %68, adds, 1, 1;\n}"
                 : THIRTY_TWO(0), THIRTY_TWO(32)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
__device__ __forceinline__ void wgmma(float (&d)[32], const unsigned a[4], unsigned long long b,
                                      int adds) {
    asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "{%32, %33, %34, %35}, %36, adds, 1, 1;\n}"
                 : THIRTY_TWO(0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
// wgmma_fence: before the first product and after writes to its registers. wgmma_commit: after the
// last. wgmma_wait: until all are done.
__device__ __forceinline__ void wgmma_fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_wait(float (&d)[64]) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" : THIRTY_TWO(0), THIRTY_TWO(32) : : "memory");
}
__device__ __forceinline__ void wgmma_wait(float (&d)[32]) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" : THIRTY_TWO(0) : : "memory");
}
// Makes writes to shared memory visible to the tensor cores, after a barrier.
__device__ __forceinline__ void fence_async_proxy() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The product Cᵀ = Bᵀ Aᵀ.
__device__ __forceinline__ ProductArgs transposed(const ProductArgs &p) {
    ProductArgs t = p;
    t.a = p.b, t.a_rows = p.b_rows, t.a_m = p.b_n, t.a_k = p.b_k, t.a_aligned = p.b_aligned, t.m = p.n;
    t.b = p.a, t.b_rows = p.a_rows, t.b_n = p.a_m, t.b_k = p.a_k, t.b_aligned = p.a_aligned, t.n = p.m;
    return t;
}

// A block computes a 128 x TN tile of C, a warpgroup half of its rows. TRANSPOSED: of Cᵀ. If C has few
// rows, that splits fewer numbers for as many products.
template <bool A_K, bool B_K, int TN, bool TRANSPOSED> struct WarpgroupTile {
    static const int TM = 128, STEPS = STAGE_K / 8, EACH = TN / 2;
    typedef StagedOperand<TM, A_K> A;
    typedef StagedOperand<TN, B_K, B_K> B;
    typedef TensorTile<TM, 128, A_K, false> ALoader;
    typedef TensorTile<TRANSPOSED ? TN : TM, 128, A_K, B_K> CStore;
    // B in lines along k, as the tensor cores read it: high and low parts of this stage and the
    // previous one. If B is contiguous along k, the high parts are read where they were copied to.
    static const int LINES = TN * STAGE_K, SPLIT = B_K ? LINES : 2 * LINES;
    static const int PIECES = 2 * SPLIT;
    // Stages in flight before one is multiplied; a slot is free when no thread reads it.
    static const int IN_FLIGHT = 3, SLOTS = B_K ? IN_FLIGHT + 1 : IN_FLIGHT;
    // Whether registers suffice to load A of the next stage during this one's products.
    static const bool PREFETCH_A = TN == 128;

    // The matrix descriptor of a stage: 128-byte swizzled lines, groups of eight lines 1024 bytes
    // apart.
    __device__ __forceinline__ static unsigned long long descriptor(const float *stage) {
        unsigned long long at = (unsigned)__cvta_generic_to_shared(stage);
        return (at & 0x3ffff) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
    }

    __device__ __forceinline__ static float4 low_parts(float4 x) {
        auto of = [](float x) { return __uint_as_float(low_part(__float_as_uint(x))); };
        return make_float4(of(x.x), of(x.y), of(x.z), of(x.w));
    }

    // Keeps the compiler from reusing these registers before this point.
    __device__ __forceinline__ static void keep_alive(unsigned (&registers)[STEPS][4]) {
#pragma unroll
        for (int k = 0; k < STEPS; k++)
#pragma unroll
            for (int h = 0; h < 4; h++) asm volatile("" : "+r"(registers[k][h]));
    }

    // Writes the parts of B that the tensor cores read.
    __device__ __forceinline__ static void split_b(const float *b, float *into) {
#pragma unroll
        for (int i = 0; i < LINES / 4 / TENSOR_THREADS; i++) {
            if (B_K) {
                int at = 4 * (threadIdx.x + i * TENSOR_THREADS);
                *(float4 *)(into + at) = low_parts(*(const float4 *)(b + at));
                continue;
            }
            int n = threadIdx.x % TN, four = threadIdx.x / TN + i * (TENSOR_THREADS / TN);
            const float *from = b + 4 * four * B::PITCH + n;
            float4 x = make_float4(from[0], from[B::PITCH], from[2 * B::PITCH], from[3 * B::PITCH]);
            float *to = into + n * STAGE_K + (four ^ n % 8) * 4;
            *(float4 *)to = x;
            *(float4 *)(to + LINES) = low_parts(x);
        }
    }

    // The tile from row m0 and column n0 on.
    __device__ __forceinline__ static void product(const ProductArgs &requested, float *shared, int m0,
                                                   int n0) {
        const ProductArgs &p = TRANSPOSED ? transposed(requested) : requested;
        int m = threadIdx.x / WARP * 16;
        int per = ((p.k + p.splits - 1) / p.splits + STAGE_K - 1) / STAGE_K * STAGE_K;
        int k_first = min(blockIdx.z * per, p.k), k_end = min(p.k, k_first + per);
        int stages = (k_end - k_first + STAGE_K - 1) / STAGE_K;
        // Swizzled parts first: they are aligned to 1024 bytes.
        float *b_buffer = shared + PIECES, *a_buffer = b_buffer + SLOTS * B::SIZE;
        unsigned to_a = (unsigned)__cvta_generic_to_shared(a_buffer);
        unsigned to_b = (unsigned)__cvta_generic_to_shared(b_buffer);
        A a(p.a, p.a_rows, A_K ? p.a_m : p.a_k, p.a_aligned, m0, p.m, k_end);
        B b(p.b, p.b_rows, B_K ? p.b_n : p.b_k, p.b_aligned, n0, p.n, k_end);
        a.locate(k_first), b.locate(k_first);
        auto fetch = [&](int s) {
            int k0 = k_first + s * STAGE_K;
            if (s < stages) {
                a.fetch(to_a + 4 * (s % SLOTS * A::SIZE), k0),
                    b.fetch(to_b + 4 * (s % SLOTS * B::SIZE), k0);
                a.locate(k0 + STAGE_K), b.locate(k0 + STAGE_K);
            }
            commit_copies();
        };
        auto load_a = [&](int s, unsigned into[STEPS][4]) {
#pragma unroll
            for (int k = 0; k < STEPS; k++)
                ALoader::take_a(into[k], a_buffer + s % SLOTS * A::SIZE, m, 8 * k);
        };
        float sum[EACH] = {};
        unsigned high[STEPS][4] = {};
        for (int s = 0; s < IN_FLIGHT; s++) fetch(s);
        wait_copies<IN_FLIGHT - 1>();
        __syncthreads();
        if (stages > 0) split_b(b_buffer, shared), load_a(0, high);
#pragma unroll 1
        for (int s = 0; s < stages; s++) {
            // For all threads: the next stage has arrived, the parts of this one are written, and the
            // previous products are done.
            fence_async_proxy();
            wait_copies<IN_FLIGHT - 2>();
            __syncthreads();
            const float *b_parts = shared + s % 2 * SPLIT;
            unsigned long long b_high = descriptor(B_K ? b_buffer + s % SLOTS * B::SIZE : b_parts);
            unsigned long long b_low = descriptor(B_K ? b_parts : b_parts + LINES);
            unsigned low[STEPS][4], next[STEPS][4];
#pragma unroll
            for (int k = 0; k < STEPS; k++)
#pragma unroll
                for (int h = 0; h < 4; h++) low[k][h] = low_part(high[k][h]);
            float part[EACH];
            wgmma_fence();
#pragma unroll
            for (int k = 0; k < STEPS; k++) {
                // Eight numbers are 32 bytes: 2 units of the descriptor.
                wgmma(part, low[k], b_high + 2 * k, k > 0);
                wgmma(part, high[k], b_low + 2 * k, 1);
                wgmma(part, high[k], b_high + 2 * k, 1);
            }
            wgmma_commit();
            // Overlaps with the products.
            fetch(s + IN_FLIGHT);
            bool more = s + 1 < stages;
            if (more) split_b(b_buffer + (s + 1) % SLOTS * B::SIZE, shared + (s + 1) % 2 * SPLIT);
            if (PREFETCH_A && more) load_a(s + 1, next);
            wgmma_wait(part);
            // Registers that products read must not be written earlier.
            keep_alive(high), keep_alive(low);
            if (!PREFETCH_A && more) load_a(s + 1, high);
#pragma unroll
            for (int i = 0; i < EACH; i++) sum[i] += part[i];
#pragma unroll
            for (int k = 0; k < STEPS && PREFETCH_A; k++)
#pragma unroll
                for (int h = 0; h < 4; h++) high[k][h] = next[k][h];
        }
        store_tile(requested, shared, sum, m0, n0, m);
    }

    __device__ __forceinline__ static void store_tile(const ProductArgs &p, float *shared,
                                                      const float (&sum)[EACH], int m0, int n0, int m) {
        static_assert(TRANSPOSED || TN == 128, "a piece of C has 128 columns");
        int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
        wait_copies<0>();
        __syncthreads();
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int first = m + (A_K ? g + 8 * h : 2 * g + h);
#pragma unroll
            for (int j = 0; j < TN / 8; j++) {
                float x = sum[4 * j + 2 * h], y = sum[4 * j + 2 * h + 1];
                float *at = shared + (TRANSPOSED ? (8 * j + 2 * t) * CStore::C_PITCH + first
                                                 : first * CStore::C_PITCH + 8 * j + 2 * t);
                if (TRANSPOSED)
                    at[0] = x, at[CStore::C_PITCH] = y;
                else
                    *(float2 *)at = make_float2(x, y);
            }
        }
        __syncthreads();
        CStore::store_rows(p, shared, TRANSPOSED ? n0 : m0, TRANSPOSED ? m0 : n0);
    }
};

extern __shared__ __align__(1024) float warpgroup_shared[];

// By whether A and B are contiguous along k. Two blocks of the transposed kernel fit on a
// multiprocessor.
#define WARPGROUP_KERNEL(name, a_k, b_k)                                                               \
    extern "C" __global__ void __launch_bounds__(TENSOR_THREADS, 1) name(ProductArgs p) {              \
        WarpgroupTile<a_k, b_k, 128, false>::product(p, warpgroup_shared, blockIdx.y * 128,            \
                                                     blockIdx.x * 128);                                \
    }
WARPGROUP_KERNEL(warpgroup_mn, false, false)
WARPGROUP_KERNEL(warpgroup_kn, true, false)
WARPGROUP_KERNEL(warpgroup_kk, true, true)
extern "C" __global__ void __launch_bounds__(TENSOR_THREADS, 2) warpgroup_transposed_mn(ProductArgs p) {
    WarpgroupTile<false, false, 64, true>::product(p, warpgroup_shared, blockIdx.x * 128,
                                                   blockIdx.y * 64);
}

// All rows of C in the order of chunks: a block computes one tile after another and counts it. The
// first row of a tile determines its chunk.
extern "C" __global__ void __launch_bounds__(TENSOR_THREADS, 1)
    warpgroup_in_chunks(ProductArgs p, ChunkArgs chunks) {
    int across = (p.n + 127) / 128, tiles = (p.m + 127) / 128 * across, chunk = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int m0 = tile / across * 128;
        WarpgroupTile<true, true, 128, false>::product(p, warpgroup_shared, m0, tile % across * 128);
        while (chunk + 1 < chunks.count && m0 >= chunks.first[chunk + 1]) chunk++;
        count_arrival(chunks.tiles_ready + chunk);
    }
}
