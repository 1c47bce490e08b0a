// The mixture h = λ·αS + (1 - λ)·u in the kernels of cluster.cuh, for few centroids at λ < 1. The carried
// vector is u. The pre-activations are (1 - λ)·uRᵀ + λ·αG with G = S·Rᵀ, whose rows follow those of Rᵀ in
// M. Every block has all of u, so each computes all scores and α by itself, and the blocks exchange no
// more than without centroids. Backward, each sends its part of the gradients of α.

#if MIXED > 0
#define WARPS (THREADS / WARP)
// Lanes per row for the softmax, and centroids per lane.
#define ROW_LANES (WARP / R)
#define LANE_CENTROIDS CEIL(MIXED, ROW_LANES)

// Centroids per warp, where warps take turns, and the m-th of this warp. Beyond the last, it is the last.
#define WARP_CENTROIDS CEIL(MIXED, WARPS)
__device__ __forceinline__ int warp_centroid(int m) {
    return min((int)threadIdx.x / WARP + WARPS * m, MIXED - 1);
}

// s[m] += Σ_e w[i][e] x[e] over COUNT numbers, for the centroids i of this warp and, before
// `sum_over_lanes`, this lane's part; x is [.][R], in the order of rotated_index.
template <int COUNT, int WIDTH_OF_W>
__device__ __forceinline__ void add_products(const float (*w)[WIDTH_OF_W], const float *x,
                                             float s[WARP_CENTROIDS][R]) {
    float v[PAIR * R];
#pragma unroll
    for (int from = 0; from < COUNT; from += WARP * PAIR) {
        int e = from + threadIdx.x % WARP * PAIR;
        if (e >= COUNT) continue;
        load_rows(x + e * R, v);
#pragma unroll
        for (int m = 0; m < WARP_CENTROIDS; m++)
#pragma unroll
            for (int q = 0; q < PAIR * R; q++)
                s[m][q % R] = fmaf(w[warp_centroid(m)][e + q / R], v[q], s[m][q % R]);
    }
}

// Leaves the sums over all lanes of the row `lane % R` in s[.][0].
__device__ __forceinline__ void sum_over_lanes(float s[WARP_CENTROIDS][R]) {
    // Number r of lane p is of row r ^ p.
#pragma unroll
    for (int h = R / 2; h > 0; h /= 2)
#pragma unroll
        for (int r = 0; r < h; r++)
#pragma unroll
            for (int m = 0; m < WARP_CENTROIDS; m++)
                s[m][r] += __shfl_xor_sync(ALL_LANES, s[m][r + h], h);
#pragma unroll
    for (int o = R; o < WARP; o *= 2)
#pragma unroll
        for (int m = 0; m < WARP_CENTROIDS; m++) s[m][0] += __shfl_xor_sync(ALL_LANES, s[m][0], o);
}

// Sums and maxima over the lanes that share a row.
__device__ __forceinline__ float row_lanes_sum(float x) {
#pragma unroll
    for (int o = R; o < WARP; o *= 2) x += __shfl_xor_sync(ALL_LANES, x, o);
    return x;
}
__device__ __forceinline__ float row_lanes_max(float x) {
#pragma unroll
    for (int o = R; o < WARP; o *= 2) x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, o));
    return x;
}

// The row of this lane in the softmax, and its q-th centroid. The row is that of RowGroup.
__device__ __forceinline__ int lane_row() { return threadIdx.x % R; }
__device__ __forceinline__ int lane_centroid(int q) { return threadIdx.x % WARP / R + ROW_LANES * q; }

#define PADDED_UNITS (CEIL(C * U, PAIR) * PAIR)

struct ForwardMixture {
    // The centroids, scaled so that scores are exponents of two; this block's columns of G.
    __align__(16) float centroids[MIXED][PADDED_UNITS];
    __align__(16) float4 g[MIXED][U];
    float scores[MIXED * R];
    // Every warp has its own copy, so that no barrier is needed.
    float alpha[WARPS][MIXED * R];

    __device__ __forceinline__ const float *alpha_of_warp() const { return alpha[threadIdx.x / WARP]; }
    __device__ __forceinline__ void load(const ClusterArgs &p, unsigned rank) {
        float scale = p.scan.coefficients->inv_tau * 1.44269504f;
        for (int e = threadIdx.x; e < MIXED * PADDED_UNITS; e += THREADS) {
            int i = e / PADDED_UNITS, unit = e % PADDED_UNITS;
            centroids[i][unit] = unit < D ? p.scan.s[i * D + unit] * scale : 0.0f;
        }
        for (int e = threadIdx.x; e < MIXED * U * 4; e += THREADS) {
            int i = e / (4 * U), j = e / 4 % U, b = e % 4, unit = rank * U + j;
            ((float *)g)[e] = unit < D ? p.scan.m[((long long)(D + i) * MB + b) * D + unit] : 0.0f;
        }
    }
    // Scores of the states u.
    __device__ __forceinline__ void compute_scores(const float *u) {
        float s[WARP_CENTROIDS][R] = {};
        add_products<C * U>(centroids, u, s);
        sum_over_lanes(s);
#pragma unroll
        for (int m = 0; m < WARP_CENTROIDS; m++)
            if (threadIdx.x % WARP < R) scores[warp_centroid(m) * R + lane_row()] = s[m][0];
    }
    // α of the step before, for the warp; `a` are those of this lane.
    __device__ __forceinline__ void compute_alpha(float a[LANE_CENTROIDS]) {
        float top = -INFINITY, sum = 0.0f;
#pragma unroll
        for (int q = 0; q < LANE_CENTROIDS; q++) {
            int i = lane_centroid(q);
            a[q] = i < MIXED ? scores[i * R + lane_row()] : -INFINITY;
            top = fmaxf(top, a[q]);
        }
        top = row_lanes_max(top);
#pragma unroll
        for (int q = 0; q < LANE_CENTROIDS; q++) sum += a[q] = exp2_approx(a[q] - top);
        float inv = reciprocal_approx(row_lanes_sum(sum));
#pragma unroll
        for (int q = 0; q < LANE_CENTROIDS; q++) {
            int i = lane_centroid(q);
            a[q] *= inv;
            if (i < MIXED) alpha[threadIdx.x / WARP][i * R + lane_row()] = a[q];
        }
        __syncwarp();
    }
    // Stores α of step t - 1 for the backward scan; each block stores some of the rows.
    __device__ __forceinline__ void store(const ClusterArgs &p, const RowGroup &g, int t, float lambda,
                                          unsigned rank, const float a[LANE_CENTROIDS]) const {
        if (threadIdx.x >= WARP || lane_row() % C != rank) return;
        bool zero = t == 0 || (END && t == g.length);
#pragma unroll
        for (int q = 0; q < LANE_CENTROIDS; q++) {
            int i = lane_centroid(q);
            if (i >= MIXED) continue;
            float x = zero ? 0.0f : a[q];
            if (t > 0 && t <= g.length) p.scan.alpha[(g.first + t - 1) * MIXED + i] = x;
            if (p.scan.carry_in && t < g.length)
                p.scan.carry_in[(g.first + t) * CARRY_WIDTH + D + i] = lambda * x;
        }
    }
    // αG of this thread's unit and row.
    __device__ __forceinline__ void add(const RowGroup &row, float sum[4]) const {
        const float *a = alpha_of_warp() + row.r;
        int j = min(row.j, U - 1);
        sum[0] = sum[1] = sum[2] = sum[3] = 0.0f;
#pragma unroll
        for (int i = 0; i < MIXED; i++) {
            float4 w = g[i][j];
            float x = a[i * R];
            sum[0] = fmaf(x, w.x, sum[0]), sum[1] = fmaf(x, w.y, sum[1]);
            sum[2] = fmaf(x, w.z, sum[2]), sum[3] = fmaf(x, w.w, sum[3]);
        }
    }
};

#define STATE_GRADS (CEIL(MB *U, PAIR) * PAIR)
#define OWN_UNITS (CEIL(U, PAIR) * PAIR)

// The backward pass of a row's mixture. `gap` is u - αS, with a commitment loss.
struct BackwardMixture {
    // λG and S of this block's units.
    __align__(16) float g[MIXED][STATE_GRADS];
    __align__(16) float centroids[MIXED][OWN_UNITS];
    // The gradient of αS that does not come from the step after, [.][R].
    __align__(16) float outer[OWN_UNITS * R];
    __align__(16) float sums[MIXED * R];
    // By warp: gradients of the scores, and α of the step before.
    float d_scores[WARPS][MIXED * R], alpha[COMMITMENT ? WARPS : 1][MIXED * R];

    __device__ __forceinline__ void load(const ClusterArgs &p, unsigned rank) {
        for (int e = threadIdx.x; e < MIXED * STATE_GRADS; e += THREADS) {
            int i = e / STATE_GRADS, b = e % STATE_GRADS / U, unit = rank * U + e % STATE_GRADS % U;
            bool there = b < MB && unit < D;
            float x = there ? p.scan.m[((long long)(D + i) * MB + b) * D + unit] : 0.0f;
            g[i][e % STATE_GRADS] = p.scan.coefficients->lambda * x;
        }
        for (int e = threadIdx.x; e < MIXED * OWN_UNITS; e += THREADS) {
            int i = e / OWN_UNITS, j = e % OWN_UNITS, unit = rank * U + j;
            centroids[i][j] = j < U && unit < D ? p.scan.s[i * D + unit] : 0.0f;
        }
        for (int e = threadIdx.x; e < OWN_UNITS * R; e += THREADS) outer[e] = 0.0f;
    }
    // Sends this block's part of the gradients of α to the same place of all blocks. `has_outer`:
    // whether `outer` has numbers other than zero.
    __device__ __forceinline__ void send(const float *da, bool has_outer, const float *here,
                                         const ClusterExchange &exchange) {
        float s[WARP_CENTROIDS][R] = {};
        add_products<MB * U>(g, da, s);
        if (has_outer) add_products<U>(centroids, outer, s);
        sum_over_lanes(s);
#pragma unroll
        for (int m = 0; m < WARP_CENTROIDS; m++)
            if (threadIdx.x % WARP < R) sums[warp_centroid(m) * R + lane_row()] = s[m][0];
        __syncwarp();
        // A lane sends one vector of one centroid to one block.
        const int vectors = R / VECTOR;
#pragma unroll
        for (int m = 0; m < WARP_CENTROIDS; m++) {
            int lane = threadIdx.x % WARP, to = lane / vectors, at = lane % vectors * VECTOR;
            int i = threadIdx.x / WARP + WARPS * m;
            if (to < C && i < MIXED)
                send_async(address_in_block(shared_address(here + i * R + at), to), sums + i * R + at,
                           address_in_block(exchange.barrier(), to));
        }
    }
};

// The softmax of a lane's row: α of the step that is computed, and α that is loaded for the step before.
struct MixedSoftmax {
    float alpha[LANE_CENTROIDS], loaded[LANE_CENTROIDS];
    // Starts loading α of step t.
    __device__ __forceinline__ void prefetch(const ClusterArgs &p, const RowGroup &g, int t) {
#pragma unroll
        for (int q = 0; q < LANE_CENTROIDS; q++) {
            bool there = t >= 0 && t < g.length && lane_centroid(q) < MIXED;
            loaded[q] = there ? p.scan.alpha[(g.first + t) * MIXED + lane_centroid(q)] : 0.0f;
        }
    }
    // Moves to the step that was loaded, and publishes its α to the warp.
    __device__ __forceinline__ void advance(BackwardMixture &shared) {
#pragma unroll
        for (int q = 0; q < LANE_CENTROIDS; q++) {
            alpha[q] = loaded[q];
            if (COMMITMENT && lane_centroid(q) < MIXED)
                shared.alpha[threadIdx.x / WARP][lane_centroid(q) * R + lane_row()] = alpha[q];
        }
        __syncwarp();
    }
    // The gradients of the scores, from the parts of all blocks, for the warp; `slope` are those of this
    // lane. `sent` is the first block's part, and the others are `stride` apart. Returns the entropy.
    __device__ __forceinline__ float back(BackwardMixture &shared, const float *sent, int stride,
                                          const LayerCoefficients &by, float slope[LANE_CENTROIDS]) {
        float mean = 0.0f, entropy = 0.0f;
#pragma unroll
        for (int q = 0; q < LANE_CENTROIDS; q++) {
            slope[q] = 0.0f;
            int i = lane_centroid(q);
            if (i >= MIXED) continue;
#pragma unroll
            for (int c = 0; c < C; c++) slope[q] += sent[c * stride + i * R + lane_row()];
            mean = fmaf(alpha[q], slope[q], mean);
            if (ENTROPY && alpha[q] > 0.0f) entropy = fmaf(-alpha[q], __logf(alpha[q]), entropy);
        }
        mean = row_lanes_sum(mean);
        if (ENTROPY) entropy = row_lanes_sum(entropy);
#pragma unroll
        for (int q = 0; q < LANE_CENTROIDS; q++) {
            int i = lane_centroid(q);
            slope[q] = alpha[q] * (slope[q] - mean);
            if (ENTROPY && alpha[q] > 0.0f)
                slope[q] = fmaf(-by.entropy * alpha[q], __logf(alpha[q]) + entropy, slope[q]);
            slope[q] *= by.inv_tau;
            if (i < MIXED) shared.d_scores[threadIdx.x / WARP][i * R + lane_row()] = slope[q];
        }
        __syncwarp();
        return entropy;
    }
    // Stores the gradients of the scores of step t, and α where h is read.
    __device__ __forceinline__ static void store(const ClusterArgs &p, const RowGroup &g, int t,
                                                 float lambda, const float slope[LANE_CENTROIDS],
                                                 const float alpha[LANE_CENTROIDS]) {
        if (t >= g.length) return;
#pragma unroll
        for (int q = 0; q < LANE_CENTROIDS; q++) {
            int i = lane_centroid(q);
            if (i >= MIXED) continue;
            p.scan.d_scores[(g.first + t) * ROUND_UP_4(MIXED) + i] = slope[q];
            if (p.alpha_last && t + 1 == g.length) p.alpha_last[g.row * MIXED + i] = lambda * alpha[q];
        }
    }
};

// Σ_i x[i] S[i] of this thread's unit and row; x is [MIXED][R].
__device__ __forceinline__ float centroid_sum(const BackwardMixture &shared, const float *x,
                                              const RowGroup &g) {
    float sum = 0.0f;
    int j = min(g.j, U - 1);
#pragma unroll
    for (int i = 0; i < MIXED; i++) sum = fmaf(x[i * R + g.r], shared.centroids[i][j], sum);
    return sum;
}
#endif
