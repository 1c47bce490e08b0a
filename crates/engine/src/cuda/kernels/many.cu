// Several small products in one launch, and several sums of what blocks have left.

#define EDGE 32
#define PART 64
#define JOBS 8

// Blocks from first[i] on work at product i: a block makes a part of a tile of EDGE x EDGE.
struct Jobs {
    Product of[JOBS];
    int first[JOBS];
    // [blocks][EDGE][EDGE], [blocks]; the second is zero before and after.
    float *parts;
    unsigned *arrived;
};

// Whether this block is the last of those that make parts of a tile. What the others have left is
// seen by it.
__device__ __forceinline__ bool is_last(unsigned *arrived, int parts) {
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

// Waits until so many have arrived, whose number is zero again afterwards.
extern "C" __global__ void await_all(unsigned *arrived, unsigned all) {
    await_arrivals(arrived, all);
    *arrived = 0;
}

extern "C" __global__ void __launch_bounds__(THREADS) products(const __grid_constant__ Jobs jobs) {
    __shared__ __align__(8) float a[PART][EDGE + 2], b[PART][EDGE + 2];
    int job = 0;
#pragma unroll
    for (int i = 1; i < JOBS; i++)
        if (blockIdx.x >= jobs.first[i]) job = i;
    const Product &p = jobs.of[job];
    int local = blockIdx.x - jobs.first[job], across = (p.n + EDGE - 1) / EDGE;
    int part = local % p.splits, tile = local / p.splits;
    int m0 = tile / across * EDGE, n0 = tile % across * EDGE;
    int per = ((p.k + p.splits - 1) / p.splits + PART - 1) / PART * PART;
    int k_first = min(part * per, p.k), k_end = min(p.k, k_first + per);
    int tm = threadIdx.x / 16 * 2, tn = threadIdx.x % 16 * 2;
    float sum[2][2] = {};
    Carried<EDGE, PART> next_a, next_b;
    next_a.load(p.a, p.a_rows, true, p.a_m, p.a_k, m0, p.m, k_first, k_end);
    next_b.load(p.b, p.b_rows, false, p.b_n, p.b_k, n0, p.n, k_first, k_end);
    for (int k0 = k_first; k0 < k_end; k0 += PART) {
        next_a.store(a, p.a_k == 1);
        next_b.store(b, p.b_k == 1);
        __syncthreads();
        if (k0 + PART < k_end) {
            next_a.load(p.a, p.a_rows, true, p.a_m, p.a_k, m0, p.m, k0 + PART, k_end);
            next_b.load(p.b, p.b_rows, false, p.b_n, p.b_k, n0, p.n, k0 + PART, k_end);
        }
#pragma unroll 16
        for (int k = 0; k < PART; k++) {
            float2 x = *(float2 *)&a[k][tm], y = *(float2 *)&b[k][tn];
            sum[0][0] = fmaf(x.x, y.x, sum[0][0]), sum[0][1] = fmaf(x.x, y.y, sum[0][1]);
            sum[1][0] = fmaf(x.y, y.x, sum[1][0]), sum[1][1] = fmaf(x.y, y.y, sum[1][1]);
        }
        __syncthreads();
    }
    if (p.splits > 1) {
        // Parts lie in the order of their blocks; the last block to arrive adds them up in that order,
        // whichever it is.
        float *parts = jobs.parts + (long long)(blockIdx.x - part) * EDGE * EDGE + tm * EDGE + tn;
#pragma unroll
        for (int i = 0; i < 2; i++)
            *(float2 *)(parts + part * EDGE * EDGE + i * EDGE) = make_float2(sum[i][0], sum[i][1]);
        if (!is_last(jobs.arrived + blockIdx.x - part, p.splits)) return;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            sum[i][0] = sum[i][1] = 0.0f;
#pragma unroll 4
            for (int s = 0; s < p.splits; s++) {
                float2 two = __ldcg((const float2 *)(parts + s * EDGE * EDGE + i * EDGE));
                sum[i][0] += two.x, sum[i][1] += two.y;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
        place_two(p, p.c, m0 + tm + i, n0 + tn, make_float2(sum[i][0], sum[i][1]));
}

// The sum of what so many blocks have left: `size` numbers each, `apart` from each other, in rows of
// `columns` numbers, `from_row` apart; to one place or two.
struct Sum {
    const void *parts;
    long long apart, from_row;
    void *to;
    float *also;
    long long to_row, to_column;
    int count, columns, size, doubles, accumulate;
    // The first block that works at it.
    int first;
};

struct Sums {
    Sum of[JOBS];
};

// A block sums WARP numbers: its warps take every eighth part, in order; then their sums are added in
// order.
template <typename T> __device__ __forceinline__ T sum_of_blocks(const Sum &p, int at) {
    __shared__ T room[THREADS / WARP][WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const T *from = (const T *)p.parts + at / p.columns * p.from_row + at % p.columns;
    T sum = 0;
    if (at < p.size)
#pragma unroll 8
        for (int i = warp; i < p.count; i += THREADS / WARP) sum += from[i * p.apart];
    room[warp][lane] = sum;
    __syncthreads();
    for (int w = 1; warp == 0 && w < THREADS / WARP; w++) sum += room[w][lane];
    return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS) sums(const __grid_constant__ Sums sums) {
    int job = 0;
#pragma unroll
    for (int i = 1; i < JOBS; i++)
        if (blockIdx.x >= sums.of[i].first) job = i;
    const Sum &p = sums.of[job];
    int at = (blockIdx.x - p.first) * WARP + threadIdx.x % WARP;
    if (p.doubles) {
        double sum = sum_of_blocks<double>(p, at);
        if (threadIdx.x < WARP && at < p.size) ((double *)p.to)[at] = sum;
        return;
    }
    float sum = sum_of_blocks<float>(p, at);
    if (threadIdx.x >= WARP || at >= p.size) return;
    long long into = at / p.columns * p.to_row + at % p.columns * p.to_column;
    float *to = (float *)p.to + into;
    *to = p.accumulate ? *to + sum : sum;
    if (p.also) p.also[into] = p.accumulate ? p.also[into] + sum : sum;
}
