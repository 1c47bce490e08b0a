// `cluster.cuh`, backward.

typedef Weights<BACKED, BACKED_HELD, Q> Backing;

struct BackwardRoom {
    // What the blocks of the cluster send: parts of the gradient of what was carried.
    __align__(16) float sent[2][C][SENT_ON * R];
    __align__(16) float dz[K > 0 ? PART * GATHER * R : 4];
    __align__(16) float da[BACKED * BACKERS * R];
    __align__(16) float pull[K > 0 ? PULLED * BACKERS * R : 4];
    __align__(16) float weights[Backing::room() + 4];
    unsigned long long barriers[2];
};

// dz of a row, from the parts of dα: a warp's work.
__device__ __forceinline__ void choose_back(BackwardRoom &room, int now, bool here, int r,
                                            const Press &press, const float alpha[EACH_LANE + 1],
                                            float slope[EACH_LANE + 1], float &disorder) {
    int lane = threadIdx.x % WARP;
    float d_alpha[EACH_LANE + 1], mean = 0.0f;
    disorder = 0.0f;
#pragma unroll
    for (int q = 0; q < EACH_LANE; q++) {
        int i = lane + q * WARP;
        d_alpha[q] = 0.0f;
        if (here && i < K)
#pragma unroll
            for (int c = 0; c < C; c++) d_alpha[q] += room.sent[now][c][spread_place(i, r)];
        mean = fmaf(alpha[q], d_alpha[q], mean);
        if (ENTROPY && alpha[q] > 0.0f) disorder = fmaf(-alpha[q], __logf(alpha[q]), disorder);
    }
    mean = warp_sum(mean);
    if (ENTROPY) disorder = warp_sum(disorder);
#pragma unroll
    for (int q = 0; q < EACH_LANE; q++) {
        int i = lane + q * WARP;
        slope[q] = alpha[q] * (d_alpha[q] - mean);
        if (ENTROPY && alpha[q] > 0.0f)
            slope[q] = fmaf(-press.entropy * alpha[q], __logf(alpha[q]) + disorder, slope[q]);
        slope[q] *= press.inv_tau;
        if (i < K) room.dz[gathered_place(i, r)] = slope[q];
    }
}

extern "C" __global__ void __cluster_dims__(C, 1, 1) __launch_bounds__(THREADS, 1)
    cluster_backward(Cluster p) {
    BackwardRoom &room = *(BackwardRoom *)dynamic_room;
    int id = threadIdx.x, clusters = gridDim.x / C;
    unsigned rank = rank_in_cluster();
    // This thread's parts of the gradients of some of the carried numbers.
    Spread<BACKERS> spread;
    Backing back;
    back.fill(room.weights, [&](int q, int m) {
        int i = spread.sum(m), e = spread.of(q), unit = rank * U + e % U;
        bool there = e < NB * U && unit < D && i < (K > 0 ? K : D);
        return there ? p.scan.m[((long long)i * NB + e / U) * D + unit] : 0.0f;
    });
#if K > 0
    Weights<PART, PART, 1> centroids;
    centroids.fill(nullptr, [&](int q, int) {
        int i = gathered(q), unit = rank * U + id / GATHER;
        return i < K && id / GATHER < U && unit < D ? p.scan.s[i * D + unit] : 0.0f;
    });
#endif
    Press press = *p.scan.press;
    float saturation = PRESSES ? press.saturation : 0.0f, writing = PRESSES ? press.writing : 0.0f;
    float d_bias[4] = {}, d_candidate = 0.0f, d_peephole[3] = {}, d_w[4] = {}, read = 0.0f;
    double disordered = 0.0, unsaturation = 0.0, written = 0.0;
    Group g(p.scan, 0, rank);
    float peephole[3] = {};
    if (PEEPHOLE && g.makes)
        for (int b = 0; b < 3; b++) peephole[b] = p.scan.peephole[b * D + g.unit];
    for (int e = id; e < (int)sizeof(room.dz) / 4; e += THREADS) room.dz[e] = 0.0f;
    Exchange exchange(room.barriers, C * SENT_ON * R * 4);
    for (int group = blockIdx.x / C; group * R < p.scan.rows; group += clusters) {
        g = Group(p.scan, group, rank);
        float dc = 0.0f, through = 0.0f;
        float4 kept = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        float c = 0.0f, c_prev = 0.0f, before = 0.0f;
        auto fetch = [&](int t) {
            if (!g.makes || t < 0 || t >= g.length) return;
            long long at = (g.first + t) * D + g.unit;
            kept = p.gates[at];
            if (WEIGHS_INPUT) read = p.vectors[g.first + t];
            if (CELL == LSTM) {
                c = t + 1 < g.length ? c_prev : p.scan.c[at];
                c_prev = t > 0 ? p.scan.c[at - D] : 0.0f;
            } else {
                before = p.scan.extra[at];
            }
        };
        // What reaches h of step t from outside; at a step that takes no stochastic one it goes to u.
        auto pull_of = [&](int t) {
            bool moves = !(END && t + 1 == g.length);
            if (!g.makes || t < 0 || t >= g.length || !moves) return 0.0f;
            const float *out = outside(p.scan, p.scan.dh_out, g.first, t, g.length, g.row);
            return out ? out[g.unit] : 0.0f;
        };
        Chooser chooser(p.scan, group);
        float alpha[EACH_LANE + 1];
        auto fetch_alpha = [&](int t) {
#pragma unroll
            for (int q = 0; q < EACH_LANE; q++) {
                int i = id % WARP + q * WARP;
                bool there = chooser.chooses() && t >= 0 && t < chooser.length && i < K;
                alpha[q] = there ? p.scan.alpha[(chooser.first + t) * K + i] : 0.0f;
            }
        };
        // Sends the gradient of what step t carries on.
        auto send_back = [&](int t) {
            float sum[Q][R] = {};
            if (spread.first < SPREAD) spread.add<Backing, BACKED>(back, room.da, sum);
#if K > 0
            // Every warp has lanes of all rows.
            bool ends = __any_sync(ALL_LANES, t + 1 == g.length);
            if (p.scan.dh_out && (p.scan.out_every || ends))
#pragma unroll
                for (int q = 0; q < PULLED; q++) {
                    int j = spread.of(q), unit = rank * U + j;
                    float v[PAIR * R];
                    load(room.pull + (j - q % PAIR) * R, v);
#pragma unroll
                    for (int m = 0; m < Q; m++) {
                        int i = spread.sum(m);
                        float s = i < K && j < U && unit < D ? p.scan.s[i * D + unit] : 0.0f;
#pragma unroll
                        for (int r = 0; r < R; r++)
                            sum[m][r] = fmaf(s, v[q % PAIR * R + (r ^ q / PAIR * BACKERS % R)], sum[m][r]);
                    }
                }
#endif
            spread.reduce(sum);
            if (spread.index >= CARRIED && (K == 0 || spread.index >= SPREAD)) return;
#if K > 0
            unsigned here = shared_address(&room.sent[exchange.buffer()][rank][spread.index * R]);
            spread.give_all(sum[0], here, exchange.barrier());
#else
            unsigned here = shared_address(&room.sent[exchange.buffer()][rank][spread.index % U * R]);
            if (spread.p < Q) spread.give(sum[0], here, exchange.barrier(), spread.index / U);
#endif
        };
        // The rows before have left sums of their own.
        __syncthreads();
        for (int e = id; e < (int)sizeof(room.da) / 4; e += THREADS) room.da[e] = 0.0f;
        for (int e = id; e < (int)sizeof(room.pull) / 4; e += THREADS) room.pull[e] = 0.0f;
        __syncthreads();
        fetch(g.longest - 1);
        fetch_alpha(g.longest - 1);
        if (K > 0 && g.makes) room.pull[place(g.j, g.r)] = pull_of(g.longest - 1);
        __syncthreads();
        if (g.longest > 0) send_back(g.longest - 1);
        for (int t = g.longest - 1; t >= 0; t--) {
            int now = exchange.buffer();
            float from_states[1] = {};
#if K > 0
            float slope[EACH_LANE + 1], disorder;
            bool here = t < chooser.length;
            if (chooser.chooses()) {
                if (here) exchange.wait();
                choose_back(room, now, here, chooser.r, press, alpha, slope, disorder);
            }
            exchange.step++;
            __syncthreads();
            if (chooser.chooses() && here && chooser.r % C == rank) {
                if (ENTROPY && id % WARP == 0) disordered += disorder;
#pragma unroll
                for (int q = 0; q < EACH_LANE; q++) {
                    int i = id % WARP + q * WARP;
                    if (i >= K) continue;
                    p.scan.d_scores[(chooser.first + t) * K + i] = slope[q];
                    if (p.alpha_last && t + 1 == chooser.length) p.alpha_last[chooser.row * K + i] = alpha[q];
                }
            }
            fetch_alpha(t - 1);
            gather(centroids, room.dz, from_states);
#else
            exchange.wait();
            exchange.step++;
            // The barrier counts what is sent to this block: its own warps may still be making sums
            // for others.
            __syncthreads();
#endif
            if (g.makes && t < g.length) {
                long long n = g.first + t;
                bool moves = !(END && t + 1 == g.length);
                float du = 0.0f;
                if (p.scan.out_every || t + 1 == g.length) {
                    const float *dh_out = outside(p.scan, p.scan.dh_out, g.first, t, g.length, g.row);
                    const float *du_out = outside(p.scan, p.scan.du_out, g.first, t, g.length, g.row);
                    const float *dc_out = outside(p.scan, p.scan.dc_out, g.first, t, g.length, g.row);
                    if (du_out) du = du_out[g.unit];
                    if (dh_out && (K == 0 || !moves)) du += dh_out[g.unit];
                    if (dc_out) dc += dc_out[g.unit];
                }
                if (K > 0) {
                    du += from_states[0];
                } else {
#pragma unroll
                    for (int from = 0; from < C; from++)
                        du += room.sent[now][from][K > 0 ? 0 : g.j * R + (g.r ^ g.unit % Q % R)];
                    du += through;
                }
                float a[4], dx[3];
                if (CELL == LSTM) {
                    Lstm s = {kept.x, kept.y, kept.z, kept.w, c, 0.0f};
                    dc = lstm_back(HARD, s, peephole, c_prev, saturation, writing, du, dc, a);
                    d_peephole[0] = fmaf(a[0], c_prev, d_peephole[0]);
                    d_peephole[1] = fmaf(a[1], c_prev, d_peephole[1]);
                    d_peephole[2] = fmaf(a[3], c, d_peephole[2]);
                } else {
                    Gru s = {kept.x, kept.y, kept.z, kept.w, 0.0f};
                    gru_back(HARD, s, before, saturation, writing, du, dx, a);
                    through = a[3];
                    d_candidate += a[2];
                }
#pragma unroll
                for (int b = 0; b < NB; b++) room.da[place(b * U + g.j, g.r)] = a[b];
#pragma unroll
                for (int b = 0; b < NB; b++)
                    if (CELL != LSTM) p.scan.da_state[(n * NB + b) * D + g.unit] = a[b];
#pragma unroll
                for (int b = 0; b < NI; b++) {
                    float in = CELL == LSTM ? a[b] : dx[b % 3];
                    d_bias[b] += in;
                    if (WEIGHS_INPUT) d_w[b] = fmaf(in, read, d_w[b]);
                    p.scan.da_in[(n * NI + b) * D + g.unit] = in;
                }
                if (PRESSES) {
                    float far = unsaturated(kept.x) + unsaturated(kept.y) + unsaturated_candidate(kept.z);
                    unsaturation += CELL == LSTM ? far + unsaturated(kept.w) : far;
                    written += CELL == LSTM ? kept.x : 1.0f - kept.y;
                }
                if (p.scan.d_mixture) p.scan.d_mixture[n * D + g.unit] = pull_of(t);
            }
            // What pulled at a last step is taken away at the step before it.
            bool changes = p.scan.out_every || t == g.length || t + 1 == g.length;
            if (K > 0 && p.scan.dh_out && g.makes && changes) room.pull[place(g.j, g.r)] = pull_of(t - 1);
            fetch(t - 1);
            __syncthreads();
            if (t > 0) send_back(t - 1);
        }
    }
    meet();
    // Sums of the rows of each unit, in order.
    float *sums_of = (float *)dynamic_room;
    float mine[SUMS] = {d_bias[0], d_bias[1], d_bias[2], d_bias[3],
                        d_candidate, d_peephole[0], d_peephole[1], d_peephole[2],
                        d_w[0], d_w[1], d_w[2], d_w[3]};
    if (g.j < U && id % GATHER < R)
#pragma unroll
        for (int b = 0; b < SUMS; b++) sums_of[(b * U + g.j) * R + g.r] = mine[b];
    __syncthreads();
    for (int e = id; e < SUMS * U; e += THREADS) {
        int unit = rank * U + e % U;
        if (unit >= D) continue;
        float sum = 0.0f;
        for (int r = 0; r < R; r++) sum += sums_of[e * R + r];
        p.scan.sums[((long long)(blockIdx.x / C) * SUMS + e / U) * D + unit] = sum;
    }
    __shared__ double doubles[WARP];
    double measured[MEASURED] = {0.0, block_sum(disordered, doubles), block_sum(unsaturation, doubles),
                                 block_sum(written, doubles)};
#pragma unroll
    for (int m = 0; m < MEASURED; m++)
        if (id == 0) p.scan.measured[blockIdx.x * MEASURED + m] = measured[m];
}
