// The backward scan of cluster.cuh. dz = α ∘ (dα - ⟨α, dα⟩) / τ and du = dz·S, but no thread waits for
// the sum ⟨α, dα⟩. Units gather p = α ∘ (dα - dα of the likeliest centroid), whose sum is known
// together with Σ p S, and du = (Σ p S - Σ p · αS) / τ. αS is computed while data are in transit. (With
// dα itself, large numbers would cancel where α is sharp.)

typedef SplitWeights<BACK_PARTS, BACK_REGISTERS, Q> BackWeights;

// Numbers of da: those that the carried gradients need, and those that the gradients of α need.
#define CARRIED_GRADS (BACK_PARTS * BACK_LANES)
#define DA_NUMBERS (MIXED > 0 && MB *U + PAIR > CARRIED_GRADS ? MB * U + PAIR : CARRIED_GRADS)

struct BackwardShared {
    // Received from the blocks of the cluster: partial gradients of the carried vector, and of α where
    // that is carried beside it.
    __align__(16) float sent[2][C][SENT_BACK * R];
    __align__(16) float pulls[K > 0 ? GATHERED_BACK * R : 4];
    __align__(16) float alpha[K > 0 ? GATHERED_BACK * R : 4];
    __align__(16) float da[DA_NUMBERS * R];
    __align__(16) float output_grads[K > 0 ? OUTPUT_PARTS * BACK_LANES * R : 4];
    __align__(16) float weights[BackWeights::shared_floats() + 4];
#if MIXED > 0
    BackwardMixture mixture;
#endif
    unsigned long long barriers[2];

    // Rows that have not started, and padding, are zero.
    __device__ __forceinline__ void clear() {
        for (int e = threadIdx.x; e < (int)sizeof(da) / 4; e += THREADS) da[e] = 0.0f;
        for (int e = threadIdx.x; e < (int)sizeof(output_grads) / 4; e += THREADS)
            output_grads[e] = 0.0f;
        for (int e = threadIdx.x; e < (int)sizeof(pulls) / 4; e += THREADS)
            pulls[e] = 0.0f, alpha[e] = 0.0f;
    }
};

#if K > 0
// The softmax backward state of a row: α of this step and of the previous one, the prefetched α before
// that, p, and where dα of the likeliest centroid is found.
struct SoftmaxBackward {
    float alpha[PER_LANE], alpha_prev[PER_LANE], prefetched[PER_LANE], pull[PER_LANE], row_entropy;
    int likeliest;
    // Starts loading α of step t.
    __device__ __forceinline__ void prefetch(const ClusterArgs &p, const SoftmaxWarp &softmax_warp,
                                             int t) {
#pragma unroll
        for (int q = 0; q < PER_LANE; q++) {
            int i = softmax_warp.index(q);
            bool there = t >= 0 && t < softmax_warp.length && i < K;
            prefetched[q] = there ? p.scan.alpha[(softmax_warp.first + t) * K + i] : 0.0f;
        }
    }
    // Publishes the loaded α to all warps.
    __device__ __forceinline__ void publish(BackwardShared &shared, const SoftmaxWarp &softmax_warp) {
#pragma unroll
        for (int q = 0; q < PER_LANE; q++) {
            int i = softmax_warp.index(q);
            alpha_prev[q] = prefetched[q];
            if (i < K) shared.alpha[gather_index(i, softmax_warp.r)] = alpha_prev[q];
        }
    }
    // Moves to the step that was published.
    __device__ __forceinline__ void advance(const BackwardShared &shared,
                                            const SoftmaxWarp &softmax_warp) {
        const int low = all_ones_mask(K - 1);
        int best = 0;
        float sum = 0.0f;
#pragma unroll
        for (int q = 0; q < CEIL(K, WARP); q++) {
            int i = threadIdx.x % WARP + q * WARP;
            if (i >= K) continue;
            float a = shared.alpha[gather_index(i, softmax_warp.r)];
            // Positive floats are ordered like their bits; the lowest bits, which do not matter, hold
            // the index.
            best = max(best, __float_as_int(a) & ~low | i);
            if (ENTROPY && a > 0.0f) sum = fmaf(-a, __logf(a), sum);
        }
        likeliest = broadcast_index(warp_max_int(best) & low, softmax_warp.r);
        row_entropy = ENTROPY ? warp_sum(sum) : 0.0f;
#pragma unroll
        for (int q = 0; q < PER_LANE; q++) alpha[q] = alpha_prev[q];
    }
    // The smallest all-ones bit mask that is at least n.
    __device__ __forceinline__ static constexpr int all_ones_mask(int n) {
        int bits = 1;
        while (bits < n) bits = 2 * bits + 1;
        return bits;
    }
    __device__ __forceinline__ static float sum_of_blocks(const BackwardShared &shared, int now,
                                                          int at) {
        float d = shared.sent[now][0][at];
#pragma unroll
        for (int c = 1; c < C; c++) d += shared.sent[now][c][at];
        return d;
    }
    // Computes p from the partial dα of all blocks.
    __device__ __forceinline__ void compute(BackwardShared &shared, int now,
                                            const SoftmaxWarp &softmax_warp, float entropy) {
        float best = sum_of_blocks(shared, now, likeliest);
#pragma unroll
        for (int q = 0; q < PER_LANE; q++) {
            int i = softmax_warp.index(q);
            if (i >= K) continue;
            pull[q] =
                alpha[q] * (sum_of_blocks(shared, now, broadcast_index(i, softmax_warp.r)) - best);
            if (ENTROPY && alpha[q] > 0.0f)
                pull[q] = fmaf(-entropy * alpha[q], __logf(alpha[q]) + row_entropy, pull[q]);
            shared.pulls[gather_index(i, softmax_warp.r)] = pull[q];
        }
    }
    // Stores dz of step t, and α where h is read.
    __device__ __forceinline__ void store(const ClusterArgs &p, const SoftmaxWarp &softmax_warp, int t,
                                          float mean, float inv_tau) const {
#pragma unroll
        for (int q = 0; q < PER_LANE; q++) {
            int i = softmax_warp.index(q);
            if (i >= K) continue;
            p.scan.d_scores[(softmax_warp.first + t) * ROUND_UP_4(K) + i] =
                fmaf(-mean, alpha[q], pull[q]) * inv_tau;
            if (p.alpha_last && t + 1 == softmax_warp.length)
                p.alpha_last[softmax_warp.row * K + i] = alpha[q];
        }
    }
};
#endif

// sum[.] += Σ output_grads · S, at steps where h is read.
__device__ __forceinline__ void add_output_grads(const ClusterArgs &p, const BackwardShared &shared,
                                                 BroadcastSum<BACK_LANES> broadcast, int rank,
                                                 float sum[Q][R]) {
    compute_here(broadcast.first), compute_here(broadcast.p), compute_here(rank);
#pragma unroll
    for (int q = 0; q < OUTPUT_PARTS; q++) {
        int j = broadcast.of(q), unit = rank * U + j;
        float v[PAIR * R];
        load_rows(shared.output_grads + (j - q % PAIR) * R, v);
#pragma unroll
        for (int m = 0; m < Q; m++) {
            int i = broadcast.sum(m);
            float s = i < K && j < U && unit < D ? p.scan.s[i * D + unit] : 0.0f;
#pragma unroll
            for (int r = 0; r < R; r++)
                sum[m][r] = fmaf(s, v[q % PAIR * R + (r ^ q / PAIR * BACK_LANES % R)], sum[m][r]);
        }
    }
}

// Loads this thread's part of M.
__device__ __forceinline__ void load_back_weights(const ClusterArgs &p, BackwardShared &shared,
                                                  unsigned rank,
                                                  const BroadcastSum<BACK_LANES> &broadcast,
                                                  BackWeights &back) {
    back.fill(shared.weights, [&](int q, int m) {
        int i = broadcast.sum(m), e = broadcast.of(q), unit = rank * U + e % U;
        bool there = e < NB * U && unit < D && i < (K > 0 ? K : D);
        return there ? p.scan.m[((long long)i * MB + e / U) * D + unit] : 0.0f;
    });
}

#if K > 0
typedef Gather<UNITS_PER_GATHER> BackGather;
typedef SplitWeights<BackGather::N, BackGather::N, UNITS_PER_GATHER> BackCentroids;

// Loads this thread's part of the centroids, divided by τ.
__device__ __forceinline__ void load_back_centroids(const ClusterArgs &p, unsigned rank, float inv_tau,
                                                    BackCentroids &centroids) {
    centroids.fill(nullptr, [&](int q, int a) {
        int i = BackGather::number(q), j = BackGather::unit(a), unit = rank * U + j;
        return i < K && j < U && unit < D ? p.scan.s[i * D + unit] * inv_tau : 0.0f;
    });
}
#endif

extern "C" __global__ void __cluster_dims__(C, 1, 1) __launch_bounds__(THREADS, 1)
    cluster_backward(ClusterArgs p) {
    BackwardShared &shared = *(BackwardShared *)dynamic_shared;
    [[maybe_unused]] int id = threadIdx.x;
    int clusters = gridDim.x / C;
    unsigned rank = rank_in_cluster();
    LayerCoefficients coefficients = *p.scan.coefficients;
    // This thread's part of the gradients of some of the carried numbers.
    BroadcastSum<BACK_LANES> broadcast;
    BackWeights back;
    load_back_weights(p, shared, rank, broadcast, back);
#if K > 0
    BackCentroids centroids;
    load_back_centroids(p, rank, coefficients.inv_tau, centroids);
#endif
    float saturation = GATE_PENALTY ? coefficients.saturation : 0.0f,
          writing = GATE_PENALTY ? coefficients.writing : 0.0f;
#if MIXED > 0
    shared.mixture.load(p, rank);
    float lambda = coefficients.lambda;
#endif
    UnitSums sums = {};
    RowGroup g(p.scan, 0, rank);
    float peephole[3] = {};
    load_peepholes(p.scan, g, peephole);
    ClusterExchange exchange(shared.barriers, C * SENT_BACK * R * 4);
    for (int group = blockIdx.x / C; group * R < p.scan.rows; group += clusters) {
        g = RowGroup(p.scan, group, rank);
        float dc = 0.0f, dh_direct = 0.0f;
        SavedStep step = {};
        Slopes slopes = {};
        float c = 0.0f, c_prev = 0.0f, read = 0.0f, du_out = 0.0f, dc_out = 0.0f;
        // Moves to step t, which is loaded, and starts loading step t - 1.
        auto advance = [&](int t) {
            bool alive = g.active && t < g.length;
            slopes = Slopes{};
            if (alive) {
                slopes.prepare(step.gates, step.c, step.c_prev, step.h_prev, peephole, saturation,
                               writing);
                if (GATE_PENALTY) sums.add_gate_terms(step.gates);
            }
            c = step.c, c_prev = step.c_prev, read = step.read;
            du_out = step.du_out + step.dh_out, dc_out = step.dc_out;
            step.prefetch(p, g, t - 1);
        };
        // Sends the gradient of the vector that step t carries on.
        auto send_carried_grads = [&](int t) {
#if MIXED > 0
            // Every warp has lanes of all rows.
            bool ends = __any_sync(ALL_LANES, t + 1 == g.length);
            bool has_outer = COMMITMENT || (p.scan.dh_out && (p.scan.out_every_step || ends));
            shared.mixture.send(shared.da, has_outer, &shared.sent[exchange.buffer()][rank][U * R],
                                exchange);
#endif
            float sum[Q][R] = {};
            if (broadcast.first < BROADCAST)
                broadcast.add<BackWeights, BACK_PARTS>(back, shared.da, sum);
#if K > 0
            // Every warp has lanes of all rows.
            bool ends = __any_sync(ALL_LANES, t + 1 == g.length);
            if (p.scan.dh_out && (p.scan.out_every_step || ends))
                add_output_grads(p, shared, broadcast, rank, sum);
#endif
            broadcast.reduce(sum);
            if (broadcast.index >= CARRIED && (K == 0 || broadcast.index >= BROADCAST)) return;
#if K > 0
            unsigned here = shared_address(&shared.sent[exchange.buffer()][rank][broadcast.index * R]);
            broadcast.send_to_all(sum[0], here, exchange.barrier());
#else
            unsigned here =
                shared_address(&shared.sent[exchange.buffer()][rank][broadcast.index % U * R]);
            if (broadcast.p < Q)
                broadcast.send_to(sum[0], here, exchange.barrier(), broadcast.index / U);
#endif
        };
        // The previous rows are done.
        __syncthreads();
        shared.clear();
        __syncthreads();
        step.prefetch(p, g, g.longest - 1);
        if (K > 0 && g.active)
            shared.output_grads[rotated_index(g.j, g.r)] = dh_from_output(p, g, g.longest - 1);
#if K > 0
        float mixture[1] = {};
        SoftmaxWarp softmax_warp(p.scan, group);
        SoftmaxBackward softmax = {};
        bool stores = softmax_warp.active() && softmax_warp.r % C == rank;
        if (softmax_warp.active()) {
            softmax.prefetch(p, softmax_warp, g.longest - 1);
            softmax.publish(shared, softmax_warp);
            softmax.prefetch(p, softmax_warp, g.longest - 2);
        }
#endif
#if MIXED > 0
        MixedSoftmax softmax = {};
        bool stores = threadIdx.x < WARP && lane_row() % C == rank;
        // The loss that holds u near αS, and the gradient of αS that is known before step t is.
        float gap = 0.0f;
        auto set_outer = [&](int t, float u) {
            bool moves = g.active && t < g.length && !(END && t + 1 == g.length);
            gap = 0.0f;
            if (COMMITMENT && moves)
                gap = u - centroid_sum(shared.mixture, shared.mixture.alpha[threadIdx.x / WARP], g);
            if (COMMITMENT) sums.commitment_sum += (double)gap * gap;
            float outer = lambda * dh_from_output(p, g, t) - 2.0f * coefficients.commitment * gap;
            if (!g.active) return;
            shared.mixture.outer[rotated_index(g.j, g.r)] = outer;
            if (p.scan.d_mixture && t < g.length) p.scan.d_mixture[(g.first + t) * D + g.unit] = outer;
        };
        softmax.prefetch(p, g, g.longest - 1);
        softmax.advance(shared.mixture);
        softmax.prefetch(p, g, g.longest - 2);
        if (g.longest > 0) set_outer(g.longest - 1, step.u);
#endif
        __syncthreads();
        if (g.longest > 0) send_carried_grads(g.longest - 1);
        for (int t = g.longest - 1; t >= 0; t--) {
            // Overlaps with the transfer.
            advance(t);
#if K > 0
            BackGather::add<BackGather::N, 1>(centroids, shared.alpha, mixture);
            if (softmax_warp.active()) softmax.advance(shared, softmax_warp);
#endif
            int now = exchange.buffer();
#if K > 0
            bool here = softmax_warp.active() && t < softmax_warp.length;
            if (here) {
                exchange.wait();
                softmax.compute(shared, now, softmax_warp, coefficients.entropy);
            }
#else
            // The barrier counts only data sent to this block: its own warps may still compute sums for
            // others.
            exchange.wait();
#endif
            exchange.step++;
            __syncthreads();
            float du = du_out;
#if K > 0
            if (softmax_warp.active()) {
                softmax.publish(shared, softmax_warp);
                softmax.prefetch(p, softmax_warp, t - 2);
            }
            float from_states[1], mean = row_sum<GATHERED_BACK>(shared.pulls);
            BackGather::add<BackGather::N, 1>(centroids, shared.pulls, from_states);
            du += fmaf(-mean, mixture[0], from_states[0]);
#else
            float from_next = dh_direct;
            // Threads without a unit would read what others are writing.
            if (g.active)
#pragma unroll
                for (int from = 0; from < C; from++)
                    from_next += shared.sent[now][from][g.j * R + (g.r ^ g.unit % Q % R)];
#if MIXED > 0
            from_next *= 1.0f - lambda;
#endif
            du += from_next;
#endif
#if MIXED > 0
            float slope[LANE_CENTROIDS], alpha[LANE_CENTROIDS];
            float entropy = softmax.back(shared.mixture, &shared.sent[now][0][U * R], SENT_BACK * R,
                                         coefficients, slope);
            if (ENTROPY && stores && threadIdx.x < R && t < g.length) sums.entropy_sum += entropy;
#pragma unroll
            for (int q = 0; q < LANE_CENTROIDS; q++) alpha[q] = softmax.alpha[q];
            du += centroid_sum(shared.mixture, shared.mixture.d_scores[threadIdx.x / WARP], g);
            if (COMMITMENT) du = fmaf(2.0f * coefficients.commitment, gap, du);
            softmax.advance(shared.mixture);
            softmax.prefetch(p, g, t - 2);
#endif
            // Rows that have not started have zero slopes.
            Gradients grads;
            dc = slopes.back(du, dc + dc_out, saturation, writing, grads);
            dh_direct = CELL == LSTM ? 0.0f : grads.a[3];
            if (g.active)
#pragma unroll
                for (int b = 0; b < MB; b++) shared.da[rotated_index(b * U + g.j, g.r)] = grads.a[b];
#if MIXED > 0
            // The output gradient of a last step is removed at the step before it.
            bool changes = p.scan.out_every_step || t == g.length || t + 1 == g.length;
            if (t > 0 && (COMMITMENT || (p.scan.dh_out && changes))) set_outer(t - 1, step.u);
#endif
#if K > 0
            // The output gradient of a last step is removed at the step before it.
            bool changes = p.scan.out_every_step || t == g.length || t + 1 == g.length;
            if (p.scan.dh_out && g.active && changes)
                shared.output_grads[rotated_index(g.j, g.r)] = dh_from_output(p, g, t - 1);
#endif
            __syncthreads();
            if (t > 0) send_carried_grads(t - 1);
            sums.add(grads, c, c_prev, read);
            store_step(p, g, t, grads);
#if MIXED > 0
            if (stores) MixedSoftmax::store(p, g, t, lambda, slope, alpha);
#endif
#if K > 0
            float of_row = __shfl_sync(ALL_LANES, mean, softmax_warp.r);
            if (stores && here) {
                softmax.store(p, softmax_warp, t, of_row, coefficients.inv_tau);
                if (ENTROPY && softmax_warp.warp == 0 && id % WARP == 0)
                    sums.entropy_sum += softmax.row_entropy;
            }
#endif
        }
    }
    cluster_sync();
    sums.store(p, g, rank);
}
