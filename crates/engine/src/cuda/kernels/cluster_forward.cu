// `cluster.cuh`, forward. What is carried of a row with centroids is not α but powers of two that α
// is a multiple of: their sum is known, and divided by, when a unit's sums are made. So nobody waits
// for it.

typedef Weights<Gather<1>::N, GATHERED_HELD, NB> Gathering;

struct ForwardRoom {
    __align__(16) float carried[K > 0 ? 1 : 2][GATHERED * R];
    __align__(16) float units[SCORED * SCORERS * R];
    __align__(16) float scores[K > 0 ? 2 : 1][K > 0 ? C : 1][K > 0 ? SPREAD * R : 4];
    __align__(16) float weights[Gathering::room() + 4];
    unsigned long long barriers[2];
};

#if K > 0
// Sums of powers that are divided by as they are: far from where numbers end.
#define LEAST_SUM 8.67361738e-19f
#define LARGEST_SUM 1.15292150e18f

// What a warp that chooses knows of its row: its powers of two, and the score whose power is 1.
struct Choice {
    float power[EACH_LANE], reference;
    __device__ __forceinline__ static float score(const ForwardRoom &room, int now, int i, int r) {
        float z = room.scores[now][0][spread_place(i, r)];
#pragma unroll
        for (int c = 1; c < C; c++) z += room.scores[now][c][spread_place(i, r)];
        return z;
    }
    // From the parts of the scores.
    __device__ __forceinline__ void take(ForwardRoom &room, int now, const Chooser &chooser) {
#pragma unroll
        for (int q = 0; q < EACH_LANE; q++) {
            int i = chooser.index(q);
            if (i >= K) continue;
            power[q] = exp2f_quick(score(room, now, i, chooser.r) - reference);
            room.carried[0][gathered_place(i, chooser.r)] = power[q];
        }
    }
    // The same, with the largest score as reference.
    __device__ __forceinline__ void take_anew(ForwardRoom &room, int now, const Chooser &chooser) {
        float top = -INFINITY;
        for (int i = threadIdx.x % WARP; i < K; i += WARP) top = fmaxf(top, score(room, now, i, chooser.r));
        reference = warp_top(top);
        take(room, now, chooser);
    }
    // Leaves α of a step for others; each block has some of the rows to write.
    __device__ __forceinline__ void keep(const Cluster &p, const Chooser &chooser, int t, float inv) const {
        long long n = chooser.first + t;
#pragma unroll
        for (int q = 0; q < EACH_LANE; q++) {
            int i = chooser.index(q);
            if (i >= K) continue;
            float alpha = power[q] * inv;
            p.scan.alpha[n * K + i] = alpha;
            if (p.scan.carry_in) {
                if (t == 0) p.scan.carry_in[n * BY_FOURS(K) + i] = 0.0f;
                if (t + 1 < chooser.length) p.scan.carry_in[(n + 1) * BY_FOURS(K) + i] = alpha;
            }
        }
    }
};

// Whether the powers of a row that step t reads have to be made anew.
__device__ __forceinline__ bool strange(const Group &g, int t, float sum) {
    return t > 0 && t <= g.length && !(sum >= LEAST_SUM && sum <= LARGEST_SUM);
}

// Makes the powers of such rows anew. Every warp of the cluster knows all sums, hence comes here.
__device__ __forceinline__ void mend(ForwardRoom &room, int now, Chooser chooser, Choice &choice,
                                     bool is_strange) {
    bool mine = __shfl_sync(ALL_LANES, is_strange, chooser.r);
    // This is rare, and no address is to be made for it elsewhere.
    made_here(now), made_here(chooser.r);
    __syncthreads();
    if (chooser.chooses() && mine) choice.take_anew(room, now, chooser);
    __syncthreads();
}

// What the powers that step t reads feed into a unit, and what α is of them, which is returned.
__device__ __forceinline__ float gather_powers(ForwardRoom &room, int before, const Gathering &into_units,
                                               const Group &g, int t, const Chooser &chooser,
                                               Choice &choice, float a[4]) {
    float inv;
#pragma unroll 1
    for (int tries = 0;; tries++) {
        float sum = row_sum<GATHERED>(room.carried[0]);
        inv = t > 0 ? quotient_of_one(sum) : 0.0f;
        Gather<1>::add<GATHERED_HELD, NB>(into_units, room.carried[0], a);
        made_here(inv), made_here(a[0]), made_here(a[1]), made_here(a[2]), made_here(a[3]);
        bool is_strange = strange(g, t, sum);
        if (!__any_sync(ALL_LANES, is_strange) || tries > 0) return inv;
        mend(room, before, chooser, choice, is_strange);
    }
}

// h of step t - 1, from what was carried on.
__device__ __forceinline__ void keep_mixture(const Cluster &p, const ForwardRoom &room, const Group &g,
                                             int t, float u, float inv) {
    bool last = t == g.length;
    if (!g.makes || t == 0 || t > g.length || !(p.keep_h == ALWAYS || last)) return;
    float mixture = 0.0f;
#pragma unroll 1
    for (int i = 0; i < K; i++)
        mixture = fmaf(room.carried[0][gathered_place(i, g.r)], p.scan.s[i * D + g.unit], mixture);
    p.scan.h[(g.first + t - 1) * D + g.unit] = END && last ? u : mixture * inv;
}
#endif

#if K == 0
// Sends this block's units to all blocks.
__device__ __forceinline__ void send_units(ForwardRoom &room, const Exchange &exchange, unsigned rank) {
    for (int e = threadIdx.x; e < C * U * R / VECTOR; e += THREADS) {
        int to = e / (U * R / VECTOR), at = e % (U * R / VECTOR) * VECTOR;
        unsigned here = shared_address(&room.carried[exchange.buffer()][rank * U * R + at]);
        send(at_block(here, to), room.units + at, at_block(exchange.barrier(), to));
    }
}
#endif

// What is left of a step of a unit.
struct Made {
    float4 gates;
    float c, u, h;
    __device__ __forceinline__ void keep(const Cluster &p, const Group &g, int t, float h_prev) const {
        if (!g.makes || t >= g.length) return;
        long long at = (g.first + t) * D + g.unit;
        if (CELL == LSTM) p.scan.c[at] = c;
        else p.scan.extra[at] = h;
        if (p.gates) p.gates[at] = gates;
        p.scan.u[at] = u;
        if (K > 0) return;
        if (p.scan.carry_in) p.scan.carry_in[(g.first + t) * BY_FOURS(D) + g.unit] = h_prev;
        if (p.scan.h) p.scan.h[at] = u;
    }
};

// A step of a unit: `a` is what the carried vector feeds.
__device__ __forceinline__ Made make(const Fed &fed, float a[4], const float peephole[3], float q_bias,
                                     float c_prev, float h_prev) {
    Made made = {};
    if (CELL == LSTM) {
        Lstm s = lstm(HARD, a, peephole, c_prev);
        made.gates = make_float4(s.i, s.f, s.g, s.o);
        made.c = s.c, made.u = s.u;
    } else {
        made.h = K > 0 ? a[3] : h_prev;
        a[3] = made.h;
        Gru s = gru(HARD, fed.x, a, q_bias);
        made.gates = make_float4(s.r, s.z, s.n, s.q);
        made.u = s.u;
    }
    return made;
}

extern "C" __global__ void __cluster_dims__(C, 1, 1) __launch_bounds__(THREADS, 1)
    cluster_forward(Cluster p) {
    ForwardRoom &room = *(ForwardRoom *)dynamic_room;
    int id = threadIdx.x, clusters = gridDim.x / C;
    unsigned rank = rank_in_cluster();
    Gathering into_units;
    into_units.fill(room.weights, [&](int q, int b) {
        int i = Gather<1>::number(q), unit = rank * U + id / GATHER;
        bool there = id / GATHER < U && unit < D && i < (K > 0 ? K : D);
        return there ? p.scan.m[((long long)i * NB + b) * D + unit] : 0.0f;
    });
#if K > 0
    Spread<SCORERS> spread;
    Weights<SCORED, SCORED, Q> centroids;
    // Scores are exponents of two.
    float scale = p.scan.press->inv_tau * 1.44269504f;
    centroids.fill(nullptr, [&](int q, int m) {
        int i = spread.sum(m), j = spread.of(q), unit = rank * U + j;
        return i < K && j < U && unit < D ? p.scan.s[i * D + unit] * scale : 0.0f;
    });
#endif
    for (int e = id; e < SCORED * SCORERS * R; e += THREADS) room.units[e] = 0.0f;
    Exchange exchange(room.barriers, C * SENT_ON * R * 4);
    for (int group = blockIdx.x / C; group * R < p.scan.rows; group += clusters) {
        Group g(p.scan, group, rank);
        Chooser chooser(p.scan, group);
        Fed fed(p, g);
        float peephole[3] = {}, q_bias = 0.0f, c = 0.0f, h = 0.0f;
        if (PEEPHOLE && g.makes)
            for (int b = 0; b < 3; b++) peephole[b] = p.scan.peephole[b * D + g.unit];
        if (p.scan.q_bias && g.makes) q_bias = p.scan.q_bias[g.unit];
        // Others may still be making h of the last step of the rows before, from what was carried.
        // A plain cell's next numbers come from other blocks, which must know that there is room.
        __syncthreads();
        for (int e = id; e < (int)sizeof(room.carried) / 4; e += THREADS) ((float *)room.carried)[e] = 0.0f;
        fed.ask(p, g, 0);
        fed.take();
        fed.ask(p, g, 1);
        if (K > 0) __syncthreads();
        else meet();
#if K > 0
        Choice choice = {};
        bool keeps = chooser.chooses() && chooser.r % C == rank;
        // Leaves α of step t - 1.
        auto keep_alpha = [&](int t, float inv) {
            float of_row = __shfl_sync(ALL_LANES, inv, chooser.r);
            if (keeps && t > 0 && t <= chooser.length)
                choice.keep(p, chooser, t - 1, END && t == chooser.length ? 0.0f : of_row);
        };
#endif
        for (int t = 0; t < g.longest; t++, exchange.step++) {
            float a[4] = {};
#if K > 0
            float inv = gather_powers(room, exchange.buffer() ^ 1, into_units, g, t, chooser, choice, a);
#pragma unroll
            for (int b = 0; b < 4; b++) a[b] = CELL == LSTM ? fmaf(a[b], inv, fed.x[b % NI]) : a[b] * inv;
#else
            Gather<1>::add<GATHERED_HELD, NB>(into_units, room.carried[exchange.buffer() ^ 1], a);
#pragma unroll
            for (int b = 0; b < 4; b++) a[b] += CELL == LSTM ? fed.x[b % NI] : 0.0f;
#endif
            // Rows that have ended go on, and nobody looks at them.
            Made made = make(fed, a, peephole, q_bias, c, h);
            if (g.makes) room.units[K > 0 ? place(g.j, g.r) : g.j * R + (g.r ^ g.unit / PAIR % R)] = made.u;
#if K > 0
            if (p.keep_h) keep_mixture(p, room, g, t, h, inv);
#endif
            __syncthreads();
            // What follows the sending is done while it is on its way.
#if K > 0
            float score[Q][R] = {};
            if (spread.first < SPREAD) spread.add<Weights<SCORED, SCORED, Q>, SCORED>(centroids, room.units, score);
            spread.reduce(score);
            if (spread.index < SPREAD) {
                unsigned here = shared_address(&room.scores[exchange.buffer()][rank][spread.index * R]);
                spread.give_all(score[0], here, exchange.barrier());
            }
            keep_alpha(t, inv);
#else
            send_units(room, exchange, rank);
#endif
            made.keep(p, g, t, h);
            c = made.c, h = made.u;
            fed.take();
            fed.ask(p, g, t + 2);
#if K > 0
            if (chooser.chooses() && t < chooser.length) {
                exchange.wait();
                choice.take(room, exchange.buffer(), chooser);
            }
#else
            // The barrier counts what is sent to this block: its own warps may still be sending.
            exchange.wait();
#endif
            __syncthreads();
        }
#if K > 0
        float sum = row_sum<GATHERED>(room.carried[0]);
        bool is_strange = strange(g, g.longest, sum);
        if (__any_sync(ALL_LANES, is_strange)) {
            mend(room, exchange.buffer() ^ 1, chooser, choice, is_strange);
            sum = row_sum<GATHERED>(room.carried[0]);
        }
        float inv = quotient_of_one(sum);
        if (p.keep_h) keep_mixture(p, room, g, g.longest, h, inv);
        keep_alpha(g.longest, inv);
#endif
    }
    meet();
}
