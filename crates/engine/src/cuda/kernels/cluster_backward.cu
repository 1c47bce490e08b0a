// `cluster.cuh`, backward. dz = α ∘ (dα - ⟨α, dα⟩) / τ and du = dz·S, but nobody waits for the sum
// ⟨α, dα⟩: what is gathered is p = α ∘ (dα - dα of the likeliest centroid), whose sum is known when
// Σ p S is, and du = (Σ p S - Σ p · αS) / τ. αS is made while numbers are on their way. (With dα
// itself the difference would be of large numbers where α is sharp.)

typedef Weights<BACKED, BACKED_HELD, Q> Backing;

struct BackwardRoom {
    // What the blocks of the cluster send: parts of the gradient of what was carried.
    __align__(16) float sent[2][C][SENT_ON * R];
    __align__(16) float pulls[K > 0 ? PULLED * R : 4];
    __align__(16) float alpha[K > 0 ? PULLED * R : 4];
    __align__(16) float da[BACKED * BACKERS * R];
    __align__(16) float outer[K > 0 ? OUTER * BACKERS * R : 4];
    __align__(16) float weights[Backing::room() + 4];
    unsigned long long barriers[2];

    // Rows that have not begun are zero, and so is what is beyond the last number.
    __device__ __forceinline__ void clear() {
        for (int e = threadIdx.x; e < (int)sizeof(da) / 4; e += THREADS) da[e] = 0.0f;
        for (int e = threadIdx.x; e < (int)sizeof(outer) / 4; e += THREADS) outer[e] = 0.0f;
        for (int e = threadIdx.x; e < (int)sizeof(pulls) / 4; e += THREADS) pulls[e] = 0.0f, alpha[e] = 0.0f;
    }
};

#if K > 0
// What a warp that chooses knows of its row: α of a step and of the one before, what is asked for of
// the one before that, p, and where dα of the likeliest centroid is found.
struct Pull {
    float alpha[EACH_LANE], before[EACH_LANE], ahead[EACH_LANE], pull[EACH_LANE], disorder;
    int likeliest;
    // Asks for α of step t.
    __device__ __forceinline__ void ask(const Cluster &p, const Chooser &chooser, int t) {
#pragma unroll
        for (int q = 0; q < EACH_LANE; q++) {
            int i = chooser.index(q);
            bool there = t >= 0 && t < chooser.length && i < K;
            ahead[q] = there ? p.scan.alpha[(chooser.first + t) * K + i] : 0.0f;
        }
    }
    // Shows what was asked for to all warps.
    __device__ __forceinline__ void show(BackwardRoom &room, const Chooser &chooser) {
#pragma unroll
        for (int q = 0; q < EACH_LANE; q++) {
            int i = chooser.index(q);
            before[q] = ahead[q];
            if (i < K) room.alpha[gathered_place(i, chooser.r)] = before[q];
        }
    }
    // Goes on to the step that was shown.
    __device__ __forceinline__ void next(const BackwardRoom &room, const Chooser &chooser) {
        const int low = ones(K - 1);
        int best = 0;
        float sum = 0.0f;
#pragma unroll
        for (int q = 0; q < CEIL(K, WARP); q++) {
            int i = threadIdx.x % WARP + q * WARP;
            if (i >= K) continue;
            float a = room.alpha[gathered_place(i, chooser.r)];
            // The order of positive numbers is that of their bits; the lowest ones do not matter.
            best = max(best, __float_as_int(a) & ~low | i);
            if (ENTROPY && a > 0.0f) sum = fmaf(-a, __logf(a), sum);
        }
        likeliest = spread_place(warp_most(best) & low, chooser.r);
        disorder = ENTROPY ? warp_sum(sum) : 0.0f;
#pragma unroll
        for (int q = 0; q < EACH_LANE; q++) alpha[q] = before[q];
    }
    // The smallest number of nothing but ones that is not below n.
    __device__ __forceinline__ static constexpr int ones(int n) {
        int bits = 1;
        while (bits < n) bits = 2 * bits + 1;
        return bits;
    }
    __device__ __forceinline__ static float part(const BackwardRoom &room, int now, int at) {
        float d = room.sent[now][0][at];
#pragma unroll
        for (int c = 1; c < C; c++) d += room.sent[now][c][at];
        return d;
    }
    // p, from the parts of dα.
    __device__ __forceinline__ void take(BackwardRoom &room, int now, const Chooser &chooser, float entropy) {
        float best = part(room, now, likeliest);
#pragma unroll
        for (int q = 0; q < EACH_LANE; q++) {
            int i = chooser.index(q);
            if (i >= K) continue;
            pull[q] = alpha[q] * (part(room, now, spread_place(i, chooser.r)) - best);
            if (ENTROPY && alpha[q] > 0.0f)
                pull[q] = fmaf(-entropy * alpha[q], __logf(alpha[q]) + disorder, pull[q]);
            room.pulls[gathered_place(i, chooser.r)] = pull[q];
        }
    }
    // Leaves dz of step t, and α where h is read.
    __device__ __forceinline__ void keep(const Cluster &p, const Chooser &chooser, int t, float mean,
                                         float inv_tau) const {
#pragma unroll
        for (int q = 0; q < EACH_LANE; q++) {
            int i = chooser.index(q);
            if (i >= K) continue;
            p.scan.d_scores[(chooser.first + t) * BY_FOURS(K) + i] =
                fmaf(-mean, alpha[q], pull[q]) * inv_tau;
            if (p.alpha_last && t + 1 == chooser.length) p.alpha_last[chooser.row * K + i] = alpha[q];
        }
    }
};
#endif

// sum[.] += Σ outer S: what outside reads of h, at the steps where it reads.
__device__ __forceinline__ void add_outer(const Cluster &p, const BackwardRoom &room,
                                          Spread<BACKERS> spread, int rank, float sum[Q][R]) {
    made_here(spread.first), made_here(spread.p), made_here(rank);
#pragma unroll
    for (int q = 0; q < OUTER; q++) {
        int j = spread.of(q), unit = rank * U + j;
        float v[PAIR * R];
        load(room.outer + (j - q % PAIR) * R, v);
#pragma unroll
        for (int m = 0; m < Q; m++) {
            int i = spread.sum(m);
            float s = i < K && j < U && unit < D ? p.scan.s[i * D + unit] : 0.0f;
#pragma unroll
            for (int r = 0; r < R; r++)
                sum[m][r] = fmaf(s, v[q % PAIR * R + (r ^ q / PAIR * BACKERS % R)], sum[m][r]);
        }
    }
}

extern "C" __global__ void __cluster_dims__(C, 1, 1) __launch_bounds__(THREADS, 1)
    cluster_backward(Cluster p) {
    BackwardRoom &room = *(BackwardRoom *)dynamic_room;
    int id = threadIdx.x, clusters = gridDim.x / C;
    unsigned rank = rank_in_cluster();
    Press press = *p.scan.press;
    // This thread's parts of the gradients of some of the carried numbers.
    Spread<BACKERS> spread;
    Backing back;
    back.fill(room.weights, [&](int q, int m) {
        int i = spread.sum(m), e = spread.of(q), unit = rank * U + e % U;
        bool there = e < NB * U && unit < D && i < (K > 0 ? K : D);
        return there ? p.scan.m[((long long)i * NB + e / U) * D + unit] : 0.0f;
    });
#if K > 0
    typedef Gather<PULLING> Pulling;
    Weights<Pulling::N, Pulling::N, PULLING> centroids;
    centroids.fill(nullptr, [&](int q, int a) {
        int i = Pulling::number(q), j = Pulling::unit(a), unit = rank * U + j;
        return i < K && j < U && unit < D ? p.scan.s[i * D + unit] * press.inv_tau : 0.0f;
    });
#endif
    float saturation = PRESSES ? press.saturation : 0.0f, writing = PRESSES ? press.writing : 0.0f;
    Sums sums = {};
    Group g(p.scan, 0, rank);
    float peephole[3] = {};
    if (PEEPHOLE && g.makes)
        for (int b = 0; b < 3; b++) peephole[b] = p.scan.peephole[b * D + g.unit];
    Exchange exchange(room.barriers, C * SENT_ON * R * 4);
    for (int group = blockIdx.x / C; group * R < p.scan.rows; group += clusters) {
        g = Group(p.scan, group, rank);
        float dc = 0.0f, through = 0.0f, mixture[1] = {};
        Step step = {};
        Slopes slopes = {};
        float c = 0.0f, c_prev = 0.0f, read = 0.0f, du_out = 0.0f, dc_out = 0.0f;
        // Goes on to the step that was asked for, which is step t, and asks for the one before.
        auto next = [&](int t) {
            bool alive = g.makes && t < g.length;
            slopes = Slopes{};
            if (alive) {
                slopes.prepare(step.gates, step.c, step.c_prev, step.before, peephole, saturation, writing);
                if (PRESSES) sums.add_pressed(step.gates);
            }
            c = step.c, c_prev = step.c_prev, read = step.read;
            du_out = step.du_out + step.dh_out, dc_out = step.dc_out;
            step.ask(p, g, t - 1);
        };
        // Sends the gradient of what step t carries on.
        auto send_back = [&](int t) {
            float sum[Q][R] = {};
            if (spread.first < SPREAD) spread.add<Backing, BACKED>(back, room.da, sum);
#if K > 0
            // Every warp has lanes of all rows.
            bool ends = __any_sync(ALL_LANES, t + 1 == g.length);
            if (p.scan.dh_out && (p.scan.out_every || ends)) add_outer(p, room, spread, rank, sum);
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
        room.clear();
        __syncthreads();
        step.ask(p, g, g.longest - 1);
        if (K > 0 && g.makes) room.outer[place(g.j, g.r)] = outer_of(p, g, g.longest - 1);
#if K > 0
        Chooser chooser(p.scan, group);
        Pull choice = {};
        bool keeps = chooser.chooses() && chooser.r % C == rank;
        if (chooser.chooses()) {
            choice.ask(p, chooser, g.longest - 1);
            choice.show(room, chooser);
            choice.ask(p, chooser, g.longest - 2);
        }
#endif
        __syncthreads();
        if (g.longest > 0) send_back(g.longest - 1);
        for (int t = g.longest - 1; t >= 0; t--) {
            // While numbers are on their way.
            next(t);
#if K > 0
            Pulling::add<Pulling::N, 1>(centroids, room.alpha, mixture);
            if (chooser.chooses()) choice.next(room, chooser);
#endif
            int now = exchange.buffer();
#if K > 0
            bool here = chooser.chooses() && t < chooser.length;
            if (here) {
                exchange.wait();
                choice.take(room, now, chooser, press.entropy);
            }
#else
            // The barrier counts what is sent to this block: its own warps may still be making sums
            // for others.
            exchange.wait();
#endif
            exchange.step++;
            __syncthreads();
            float du = du_out;
#if K > 0
            if (chooser.chooses()) {
                choice.show(room, chooser);
                choice.ask(p, chooser, t - 2);
            }
            float from_states[1], mean = row_sum<PULLED>(room.pulls);
            Pulling::add<Pulling::N, 1>(centroids, room.pulls, from_states);
            du += fmaf(-mean, mixture[0], from_states[0]);
#else
            // Threads beyond the units would read where others are writing.
            if (g.makes)
#pragma unroll
                for (int from = 0; from < C; from++) du += room.sent[now][from][g.j * R + (g.r ^ g.unit % Q % R)];
            du += through;
#endif
            // Rows that have not begun have slopes of zero.
            Gradients made;
            dc = slopes.back(du, dc + dc_out, saturation, writing, made);
            through = CELL == LSTM ? 0.0f : made.a[3];
            if (g.makes)
#pragma unroll
                for (int b = 0; b < NB; b++) room.da[place(b * U + g.j, g.r)] = made.a[b];
            // What reached a last step is taken away at the step before it.
            bool changes = p.scan.out_every || t == g.length || t + 1 == g.length;
            if (K > 0 && p.scan.dh_out && g.makes && changes) room.outer[place(g.j, g.r)] = outer_of(p, g, t - 1);
            __syncthreads();
            if (t > 0) send_back(t - 1);
            sums.add(made, c, c_prev, read);
            keep_step(p, g, t, made);
#if K > 0
            float of_row = __shfl_sync(ALL_LANES, mean, chooser.r);
            if (keeps && here) {
                choice.keep(p, chooser, t, of_row, press.inv_tau);
                if (ENTROPY && chooser.part == 0 && id % WARP == 0) sums.disordered += choice.disorder;
            }
#endif
        }
    }
    meet();
    sums.keep(p, g, rank);
}
