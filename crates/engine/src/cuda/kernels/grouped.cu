// Several small products in one launch, and several sums over the results of blocks.

#define GROUP_TILE 32
#define GROUP_K 64
#define MAX_GROUP 8

// Blocks from first[i] on compute product i; a block computes one part of a tile of GROUP_TILE x
// GROUP_TILE.
struct GroupedProducts {
    ProductArgs of[MAX_GROUP];
    int first[MAX_GROUP];
    // [blocks][GROUP_TILE][GROUP_TILE], [blocks]; the counters are zero before and after.
    float *parts;
    unsigned *arrived;
};

// Whether this block is the last of the blocks of a tile; if so, it sees the parts of the others.
__device__ __forceinline__ bool is_last_block(unsigned *arrived, int parts) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(arrived, 1u) == parts - 1;
        if (last) *arrived = 0;
    }
    __syncthreads();
    __threadfence();
    return last;
}

// Waits until the counter reaches `all` and resets it.
extern "C" __global__ void wait_for_count(unsigned *arrived, unsigned all) {
    spin_until(arrived, all);
    *arrived = 0;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    grouped_products(const __grid_constant__ GroupedProducts group) {
    __shared__ __align__(8) float a[GROUP_K][GROUP_TILE + 2], b[GROUP_K][GROUP_TILE + 2];
    int job = 0;
#pragma unroll
    for (int i = 1; i < MAX_GROUP; i++)
        if (blockIdx.x >= group.first[i]) job = i;
    const ProductArgs &p = group.of[job];
    int local = blockIdx.x - group.first[job], across = (p.n + GROUP_TILE - 1) / GROUP_TILE;
    int part = local % p.splits, tile = local / p.splits;
    int m0 = tile / across * GROUP_TILE, n0 = tile % across * GROUP_TILE;
    int per = ((p.k + p.splits - 1) / p.splits + GROUP_K - 1) / GROUP_K * GROUP_K;
    int k_first = min(part * per, p.k), k_end = min(p.k, k_first + per);
    int tm = threadIdx.x / 16 * 2, tn = threadIdx.x % 16 * 2;
    float sum[2][2] = {};
    TileLoader<GROUP_TILE, GROUP_K> next_a, next_b;
    next_a.load(p.a, p.a_rows, true, p.a_m, p.a_k, m0, p.m, k_first, k_end);
    next_b.load(p.b, p.b_rows, false, p.b_n, p.b_k, n0, p.n, k_first, k_end);
    for (int k0 = k_first; k0 < k_end; k0 += GROUP_K) {
        next_a.store(a, p.a_k == 1);
        next_b.store(b, p.b_k == 1);
        __syncthreads();
        if (k0 + GROUP_K < k_end) {
            next_a.load(p.a, p.a_rows, true, p.a_m, p.a_k, m0, p.m, k0 + GROUP_K, k_end);
            next_b.load(p.b, p.b_rows, false, p.b_n, p.b_k, n0, p.n, k0 + GROUP_K, k_end);
        }
#pragma unroll 16
        for (int k = 0; k < GROUP_K; k++) {
            float2 x = *(float2 *)&a[k][tm], y = *(float2 *)&b[k][tn];
            sum[0][0] = fmaf(x.x, y.x, sum[0][0]), sum[0][1] = fmaf(x.x, y.y, sum[0][1]);
            sum[1][0] = fmaf(x.y, y.x, sum[1][0]), sum[1][1] = fmaf(x.y, y.y, sum[1][1]);
        }
        __syncthreads();
    }
    if (p.splits > 1) {
        // Parts are stored in block order; the last block to arrive adds them in that order.
        float *parts = group.parts + (long long)(blockIdx.x - part) * GROUP_TILE * GROUP_TILE +
                       tm * GROUP_TILE + tn;
#pragma unroll
        for (int i = 0; i < 2; i++)
            *(float2 *)(parts + part * GROUP_TILE * GROUP_TILE + i * GROUP_TILE) =
                make_float2(sum[i][0], sum[i][1]);
        if (!is_last_block(group.arrived + blockIdx.x - part, p.splits)) return;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            sum[i][0] = sum[i][1] = 0.0f;
#pragma unroll 4
            for (int s = 0; s < p.splits; s++) {
                float2 two =
                    __ldcg((const float2 *)(parts + s * GROUP_TILE * GROUP_TILE + i * GROUP_TILE));
                sum[i][0] += two.x, sum[i][1] += two.y;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
        store_2(p, p.c, m0 + tm + i, n0 + tn, make_float2(sum[i][0], sum[i][1]));
}

// The sum over the results of `count` blocks: `size` numbers each, `block_stride` apart, in rows of
// `columns` numbers, `row_stride` apart; written to one address or two.
struct SumOverBlocks {
    const void *parts;
    long long block_stride, row_stride;
    void *to;
    float *also_to;
    long long to_row, to_column;
    int count, columns, size, is_double, accumulate;
    // The first block that computes it.
    int first;
};

struct GroupedSums {
    SumOverBlocks of[MAX_GROUP];
};

// A block computes WARP sums: its warps add every eighth part, in order; then the warps' sums are added
// in order.
template <typename T> __device__ __forceinline__ T sum_over_blocks(const SumOverBlocks &p, int at) {
    __shared__ T scratch[THREADS / WARP][WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const T *from = (const T *)p.parts + at / p.columns * p.row_stride + at % p.columns;
    T sum = 0;
    if (at < p.size)
#pragma unroll 8
        for (int i = warp; i < p.count; i += THREADS / WARP) sum += from[i * p.block_stride];
    scratch[warp][lane] = sum;
    __syncthreads();
    for (int w = 1; warp == 0 && w < THREADS / WARP; w++) sum += scratch[w][lane];
    return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    grouped_sums(const __grid_constant__ GroupedSums grouped_sums) {
    int job = 0;
#pragma unroll
    for (int i = 1; i < MAX_GROUP; i++)
        if (blockIdx.x >= grouped_sums.of[i].first) job = i;
    const SumOverBlocks &p = grouped_sums.of[job];
    int at = (blockIdx.x - p.first) * WARP + threadIdx.x % WARP;
    if (p.is_double) {
        double sum = sum_over_blocks<double>(p, at);
        if (threadIdx.x < WARP && at < p.size) ((double *)p.to)[at] = sum;
        return;
    }
    float sum = sum_over_blocks<float>(p, at);
    if (threadIdx.x >= WARP || at >= p.size) return;
    long long into = at / p.columns * p.to_row + at % p.columns * p.to_column;
    float *to = (float *)p.to + into;
    *to = p.accumulate ? *to + sum : sum;
    if (p.also_to) p.also_to[into] = p.accumulate ? p.also_to[into] + sum : sum;
}
