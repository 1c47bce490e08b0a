// The forward scan of cluster.cuh. With centroids, the carried vector is not α but powers of two that
// are proportional to it. The sum of the powers is available when a unit's sums are complete, and is
// divided by there. So no thread waits for the normalisation.

typedef SplitWeights<Gather<1>::N, GATHER_REGISTERS, NB> GatherWeights;

struct ForwardShared {
    __align__(16) float carried[K > 0 ? 1 : 2][GATHERED * R];
    __align__(16) float units[SCORE_PARTS * SCORE_LANES * R];
    __align__(16) float scores[K > 0 ? 2 : 1][K > 0 ? C : 1][K > 0 ? BROADCAST * R : 4];
    __align__(16) float weights[GatherWeights::shared_floats() + 4];
#if MIXED > 0
    ForwardMixture mixture;
#endif
    unsigned long long barriers[2];
};

#if K > 0
// Range of sums of powers that need no rescaling: far from underflow and overflow.
#define LEAST_SUM 8.67361738e-19f
#define LARGEST_SUM 1.15292150e18f

// The softmax state of a row: its powers of two, and the score whose power is 1.
struct SoftmaxState {
    float power[PER_LANE], reference;
    __device__ __forceinline__ static float score(const ForwardShared &shared, int now, int i, int r) {
        float z = shared.scores[now][0][broadcast_index(i, r)];
#pragma unroll
        for (int c = 1; c < C; c++) z += shared.scores[now][c][broadcast_index(i, r)];
        return z;
    }
    // Computes the powers from the partial scores of all blocks.
    __device__ __forceinline__ void update(ForwardShared &shared, int now,
                                           const SoftmaxWarp &softmax_warp) {
#pragma unroll
        for (int q = 0; q < PER_LANE; q++) {
            int i = softmax_warp.index(q);
            if (i >= K) continue;
            power[q] = exp2_approx(score(shared, now, i, softmax_warp.r) - reference);
            shared.carried[0][gather_index(i, softmax_warp.r)] = power[q];
        }
    }
    // The same, with the largest score as the new reference.
    __device__ __forceinline__ void rescale(ForwardShared &shared, int now,
                                            const SoftmaxWarp &softmax_warp) {
        float top = -INFINITY;
        for (int i = threadIdx.x % WARP; i < K; i += WARP)
            top = fmaxf(top, score(shared, now, i, softmax_warp.r));
        reference = warp_max_redux(top);
        update(shared, now, softmax_warp);
    }
    // Stores α of a step; each block stores some of the rows.
    __device__ __forceinline__ void store(const ClusterArgs &p, const SoftmaxWarp &softmax_warp, int t,
                                          float inv) const {
        long long n = softmax_warp.first + t;
#pragma unroll
        for (int q = 0; q < PER_LANE; q++) {
            int i = softmax_warp.index(q);
            if (i >= K) continue;
            float alpha = power[q] * inv;
            p.scan.alpha[n * K + i] = alpha;
            if (p.scan.carry_in) {
                if (t == 0) p.scan.carry_in[n * ROUND_UP_4(K) + i] = 0.0f;
                if (t + 1 < softmax_warp.length) p.scan.carry_in[(n + 1) * ROUND_UP_4(K) + i] = alpha;
            }
        }
    }
};

// Whether the powers that step t reads need a new reference.
__device__ __forceinline__ bool needs_rescale(const RowGroup &g, int t, float sum) {
    return t > 0 && t <= g.length && !(sum >= LEAST_SUM && sum <= LARGEST_SUM);
}

// Recomputes the powers of such rows. Every warp of the cluster has all sums, hence gets here.
__device__ __forceinline__ void rescale_rows(ForwardShared &shared, int now, SoftmaxWarp softmax_warp,
                                             SoftmaxState &softmax, bool rescales) {
    bool mine = __shfl_sync(ALL_LANES, rescales, softmax_warp.r);
    // Rare: addresses for it are not computed ahead.
    compute_here(now), compute_here(softmax_warp.r);
    __syncthreads();
    if (softmax_warp.active() && mine) softmax.rescale(shared, now, softmax_warp);
    __syncthreads();
}

// A unit's recurrent sums of the powers that step t reads; returns the reciprocal of the powers' sum.
__device__ __forceinline__ float gather_powers(ForwardShared &shared, int buffer,
                                               const GatherWeights &gather_weights, const RowGroup &g,
                                               int t, const SoftmaxWarp &softmax_warp,
                                               SoftmaxState &softmax, float a[4]) {
    float inv;
#pragma unroll 1
    for (int attempt = 0;; attempt++) {
        float sum = row_sum<GATHERED>(shared.carried[0]);
        inv = t > 0 ? reciprocal_approx(sum) : 0.0f;
        Gather<1>::add<GATHER_REGISTERS, NB>(gather_weights, shared.carried[0], a);
        compute_here(inv), compute_here(a[0]), compute_here(a[1]), compute_here(a[2]),
            compute_here(a[3]);
        bool rescales = needs_rescale(g, t, sum);
        if (!__any_sync(ALL_LANES, rescales) || attempt > 0) return inv;
        rescale_rows(shared, buffer, softmax_warp, softmax, rescales);
    }
}

// Stores h of step t - 1, from the carried powers.
__device__ __forceinline__ void store_mixture(const ClusterArgs &p, const ForwardShared &shared,
                                              const RowGroup &g, int t, float u, float inv) {
    bool last = t == g.length;
    if (!g.active || t == 0 || t > g.length || !(p.store_h == STORE_ALL || last)) return;
    float mixture = 0.0f;
#pragma unroll 1
    for (int i = 0; i < K; i++)
        mixture = fmaf(shared.carried[0][gather_index(i, g.r)], p.scan.s[i * D + g.unit], mixture);
    p.scan.h[(g.first + t - 1) * D + g.unit] = END && last ? u : mixture * inv;
}
#endif

#if K == 0
// Sends this block's units to all blocks.
__device__ __forceinline__ void send_units(ForwardShared &shared, const ClusterExchange &exchange,
                                           unsigned rank) {
    for (int e = threadIdx.x; e < C * U * R / VECTOR; e += THREADS) {
        int to = e / (U * R / VECTOR), at = e % (U * R / VECTOR) * VECTOR;
        unsigned here = shared_address(&shared.carried[exchange.buffer()][rank * U * R + at]);
        send_async(address_in_block(here, to), shared.units + at,
                   address_in_block(exchange.barrier(), to));
    }
}
#endif

// The results of a step of a unit.
struct UnitStep {
    float4 gates;
    float c, u, h;
    __device__ __forceinline__ void store(const ClusterArgs &p, const RowGroup &g, int t,
                                          float h_prev) const {
        if (!g.active || t >= g.length) return;
        long long at = (g.first + t) * D + g.unit;
        if (CELL == LSTM)
            p.scan.c[at] = c;
        else
            p.scan.gru_state[at] = h;
        if (p.gates) p.gates[at] = gates;
        p.scan.u[at] = u;
        if (K > 0) return;
        if (p.scan.carry_in) p.scan.carry_in[(g.first + t) * CARRY_WIDTH + g.unit] = h_prev;
        if (MIXED == 0 && p.scan.h) p.scan.h[at] = u;
    }
};

// A step of a unit; `a` is the recurrent part of the pre-activations.
__device__ __forceinline__ UnitStep unit_step(const UnitInput &input, float a[4],
                                              const float peephole[3], float q_bias, float c_prev,
                                              float h_prev) {
    UnitStep step = {};
    if (CELL == LSTM) {
        Lstm s = lstm(HARD_GATES, a, peephole, c_prev);
        step.gates = make_float4(s.i, s.f, s.g, s.o);
        step.c = s.c, step.u = s.u;
    } else {
        step.h = K > 0 ? a[3] : h_prev;
        a[3] = step.h;
        Gru s = gru(HARD_GATES, input.x, a, q_bias);
        step.gates = make_float4(s.r, s.z, s.n, s.q);
        step.u = s.u;
    }
    return step;
}

#if MIXED > 0
// Stores h of step t - 1.
__device__ __forceinline__ void store_mixed(const ClusterArgs &p, const ForwardShared &shared,
                                            const RowGroup &g, int t, float u, float lambda) {
    bool last = t == g.length;
    if (!g.active || t == 0 || t > g.length || !(p.store_h == STORE_ALL || last)) return;
    const float *alpha = shared.mixture.alpha_of_warp();
    float mixture = 0.0f;
#pragma unroll 1
    for (int i = 0; i < MIXED; i++) mixture = fmaf(alpha[i * R + g.r], p.scan.s[i * D + g.unit], mixture);
    float h = END && last ? u : fmaf(lambda, mixture, (1.0f - lambda) * u);
    p.scan.h[(g.first + t - 1) * D + g.unit] = h;
}
#endif

// Loads the recurrent weights of this thread's unit.
__device__ __forceinline__ void load_gather_weights(const ClusterArgs &p, ForwardShared &shared,
                                                    unsigned rank, GatherWeights &weights) {
    int id = threadIdx.x;
    // The vector is u, of which h has the part 1 - λ.
    float scale = MIXED > 0 ? 1.0f - p.scan.coefficients->lambda : 1.0f;
    weights.fill(shared.weights, [&](int q, int b) {
        int i = Gather<1>::number(q), unit = rank * U + id / GATHER_LANES;
        bool there = id / GATHER_LANES < U && unit < D && i < (K > 0 ? K : D);
        return there ? scale * p.scan.m[((long long)i * MB + b) * D + unit] : 0.0f;
    });
}

#if K > 0
typedef SplitWeights<SCORE_PARTS, SCORE_PARTS, Q> ScoreWeights;

// Loads this thread's part of the centroids, scaled so that scores are exponents of two.
__device__ __forceinline__ void load_score_weights(const ClusterArgs &p, unsigned rank,
                                                   const BroadcastSum<SCORE_LANES> &broadcast,
                                                   ScoreWeights &centroids) {
    float scale = p.scan.coefficients->inv_tau * 1.44269504f;
    centroids.fill(nullptr, [&](int q, int m) {
        int i = broadcast.sum(m), j = broadcast.of(q), unit = rank * U + j;
        return i < K && j < U && unit < D ? p.scan.s[i * D + unit] * scale : 0.0f;
    });
}
#endif

extern "C" __global__ void __cluster_dims__(C, 1, 1) __launch_bounds__(THREADS, 1)
    cluster_forward(ClusterArgs p) {
    ForwardShared &shared = *(ForwardShared *)dynamic_shared;
    int id = threadIdx.x, clusters = gridDim.x / C;
    unsigned rank = rank_in_cluster();
    GatherWeights gather_weights;
    load_gather_weights(p, shared, rank, gather_weights);
#if K > 0
    BroadcastSum<SCORE_LANES> broadcast;
    ScoreWeights centroids;
    load_score_weights(p, rank, broadcast, centroids);
#endif
#if MIXED > 0
    float lambda = p.scan.coefficients->lambda;
    shared.mixture.load(p, rank);
#endif
    for (int e = id; e < SCORE_PARTS * SCORE_LANES * R; e += THREADS) shared.units[e] = 0.0f;
    ClusterExchange exchange(shared.barriers, C * SENT * R * 4);
    for (int group = blockIdx.x / C; group * R < p.scan.rows; group += clusters) {
        RowGroup g(p.scan, group, rank);
        SoftmaxWarp softmax_warp(p.scan, group);
        UnitInput input(p, g);
        float peephole[3] = {}, q_bias = 0.0f, c = 0.0f, h = 0.0f;
        load_peepholes(p.scan, g, peephole);
        if (p.scan.q_bias && g.active) q_bias = p.scan.q_bias[g.unit];
        // Other threads may still read the carried vector for h of the last step of the previous rows.
        // Without centroids other blocks write the carried vector, so they must know that it is free.
        __syncthreads();
        for (int e = id; e < (int)sizeof(shared.carried) / 4; e += THREADS)
            ((float *)shared.carried)[e] = 0.0f;
        input.prefetch(p, g, 0);
        input.advance();
        input.prefetch(p, g, 1);
        if (K > 0)
            __syncthreads();
        else
            cluster_sync();
#if K > 0
        SoftmaxState softmax = {};
        bool stores = softmax_warp.active() && softmax_warp.r % C == rank;
        // Stores α of step t - 1.
        auto store_alpha = [&](int t, float inv) {
            float of_row = __shfl_sync(ALL_LANES, inv, softmax_warp.r);
            if (stores && t > 0 && t <= softmax_warp.length)
                softmax.store(p, softmax_warp, t - 1, END && t == softmax_warp.length ? 0.0f : of_row);
        };
#endif
        for (int t = 0; t < g.longest; t++, exchange.step++) {
            float a[4] = {};
#if K > 0
            float inv = gather_powers(shared, exchange.buffer() ^ 1, gather_weights, g, t, softmax_warp,
                                      softmax, a);
#pragma unroll
            for (int b = 0; b < 4; b++)
                a[b] = CELL == LSTM ? fmaf(a[b], inv, input.x[b % NI]) : a[b] * inv;
#else
#if MIXED > 0
            shared.mixture.compute_scores(shared.carried[exchange.buffer() ^ 1]);
#endif
            Gather<1>::add<GATHER_REGISTERS, NB>(gather_weights, shared.carried[exchange.buffer() ^ 1],
                                                 a);
#if MIXED > 0
            float u_prev = h, carried_u = (1.0f - lambda) * u_prev, in_h[4];
            __syncthreads();
            float alpha[LANE_CENTROIDS];
            shared.mixture.compute_alpha(alpha);
            shared.mixture.add(g, in_h);
            if (p.store_h) store_mixed(p, shared, g, t, u_prev, lambda);
            h = t > 0 ? fmaf(1.0f - lambda, u_prev, lambda * in_h[3]) : 0.0f;
#pragma unroll
            for (int b = 0; b < NB; b++) a[b] = t > 0 ? fmaf(lambda, in_h[b], a[b]) : 0.0f;
#endif
#pragma unroll
            for (int b = 0; b < 4; b++) a[b] += CELL == LSTM ? input.x[b % NI] : 0.0f;
#endif
            // Rows that have ended continue; their results are ignored.
            UnitStep step = unit_step(input, a, peephole, q_bias, c, h);
            if (g.active)
                shared.units[K > 0 ? rotated_index(g.j, g.r) : g.j * R + (g.r ^ g.unit / PAIR % R)] =
                    step.u;
#if K > 0
            if (p.store_h) store_mixture(p, shared, g, t, h, inv);
#endif
            __syncthreads();
            // The work after the sends overlaps with the transfer.
#if K > 0
            float score[Q][R] = {};
            if (broadcast.first < BROADCAST)
                broadcast.add<ScoreWeights, SCORE_PARTS>(centroids, shared.units, score);
            broadcast.reduce(score);
            if (broadcast.index < BROADCAST) {
                unsigned here =
                    shared_address(&shared.scores[exchange.buffer()][rank][broadcast.index * R]);
                broadcast.send_to_all(score[0], here, exchange.barrier());
            }
            store_alpha(t, inv);
#else
            send_units(shared, exchange, rank);
#endif
#if MIXED > 0
            shared.mixture.store(p, g, t, lambda, rank, alpha);
#endif
#if MIXED > 0
            step.store(p, g, t, carried_u);
#else
            step.store(p, g, t, h);
#endif
            c = step.c, h = step.u;
            input.advance();
            input.prefetch(p, g, t + 2);
#if K > 0
            if (softmax_warp.active() && t < softmax_warp.length) {
                exchange.wait();
                softmax.update(shared, exchange.buffer(), softmax_warp);
            }
#else
            // The barrier counts only data sent to this block: its own warps may still be sending.
            exchange.wait();
#endif
            __syncthreads();
        }
#if K > 0
        float sum = row_sum<GATHERED>(shared.carried[0]);
        bool rescales = needs_rescale(g, g.longest, sum);
        if (__any_sync(ALL_LANES, rescales)) {
            rescale_rows(shared, exchange.buffer() ^ 1, softmax_warp, softmax, rescales);
            sum = row_sum<GATHERED>(shared.carried[0]);
        }
        float inv = reciprocal_approx(sum);
        if (p.store_h) store_mixture(p, shared, g, g.longest, h, inv);
        store_alpha(g.longest, inv);
#elif MIXED > 0
        shared.mixture.compute_scores(shared.carried[exchange.buffer() ^ 1]);
        __syncthreads();
        float alpha[LANE_CENTROIDS];
        shared.mixture.compute_alpha(alpha);
        shared.mixture.store(p, g, g.longest, lambda, rank, alpha);
        if (p.store_h) store_mixed(p, shared, g, g.longest, h, lambda);
#endif
    }
    cluster_sync();
}
