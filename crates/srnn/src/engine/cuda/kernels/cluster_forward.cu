// `cluster.cuh`, forward.

// The largest of a warp's numbers, NaN where there is a NaN that no smaller number hides: the bits of
// numbers are in their order, those of negative ones backwards.
__device__ __forceinline__ float warp_top(float x) {
    int bits = __float_as_int(x), top;
    bits ^= bits >> 31 & 0x7fffffff;
    asm("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(top) : "r"(bits));
    return __int_as_float(top ^ (top >> 31 & 0x7fffffff));
}

typedef Weights<PART, GATHERED_HELD, NB> Gathering;

struct ForwardRoom {
    __align__(16) float carried[K > 0 ? 1 : 2][PART * GATHER * R];
    __align__(16) float units[SCORED * SCORERS * R];
    __align__(16) float scores[K > 0 ? 2 : 1][K > 0 ? C : 1][K > 0 ? SPREAD * R : 4];
    __align__(16) float weights[Gathering::room() + 4];
    unsigned long long barriers[2];
};

// α of a row, from the parts of its scores: a warp's work.
__device__ __forceinline__ void choose(ForwardRoom &room, int now, bool moves, int r, float inv_tau,
                                       float alpha[EACH_LANE + 1]) {
    int lane = threadIdx.x % WARP;
    float top = -INFINITY, sum = 0.0f;
#pragma unroll
    for (int q = 0; q < EACH_LANE; q++) {
        int i = lane + q * WARP;
        alpha[q] = -INFINITY;
        if (i < K) {
            float z = 0.0f;
#pragma unroll
            for (int c = 0; c < C; c++) z += room.scores[now][c][spread_place(i, r)];
            alpha[q] = z * inv_tau;
        }
        top = fmaxf(top, alpha[q]);
    }
    top = warp_top(top);
#pragma unroll
    for (int q = 0; q < EACH_LANE; q++) {
        alpha[q] = __expf(alpha[q] - top);
        sum += alpha[q];
    }
    float inv = moves ? __fdividef(1.0f, warp_sum(sum)) : 0.0f;
#pragma unroll
    for (int q = 0; q < EACH_LANE; q++) {
        int i = lane + q * WARP;
        alpha[q] *= inv;
        if (i < K) room.carried[0][gathered_place(i, r)] = alpha[q];
    }
}

// Leaves α of a step for others; each block has one of the rows to write.
__device__ __forceinline__ void keep_alpha(const Cluster &p, const Chooser &chooser, int t,
                                           const float alpha[EACH_LANE + 1]) {
    long long n = chooser.first + t;
#pragma unroll
    for (int q = 0; q < EACH_LANE; q++) {
        int i = threadIdx.x % WARP + q * WARP;
        if (i >= K) continue;
        p.scan.alpha[n * K + i] = alpha[q];
        if (p.scan.carry_in) {
            if (t == 0) p.scan.carry_in[n * K + i] = 0.0f;
            if (t + 1 < chooser.length) p.scan.carry_in[(n + 1) * K + i] = alpha[q];
        }
    }
}

extern "C" __global__ void __cluster_dims__(C, 1, 1) __launch_bounds__(THREADS, 1)
    cluster_forward(Cluster p) {
    ForwardRoom &room = *(ForwardRoom *)dynamic_room;
    int id = threadIdx.x, clusters = gridDim.x / C;
    unsigned rank = rank_in_cluster();
    Gathering into_units;
    into_units.fill(room.weights, [&](int q, int b) {
        int i = gathered(q), unit = rank * U + id / GATHER;
        bool there = id / GATHER < U && unit < D && i < (K > 0 ? K : D);
        return there ? p.scan.m[((long long)i * NB + b) * D + unit] : 0.0f;
    });
#if K > 0
    Spread<SCORERS> spread;
    Weights<SCORED, SCORED, Q> centroids;
    float inv_tau = p.scan.press->inv_tau;
    centroids.fill(nullptr, [&](int q, int m) {
        int i = spread.sum(m), j = spread.of(q), unit = rank * U + j;
        return i < K && j < U && unit < D ? p.scan.s[i * D + unit] : 0.0f;
    });
#endif
    for (int e = id; e < SCORED * SCORERS * R; e += THREADS) room.units[e] = 0.0f;
    Exchange exchange(room.barriers, C * SENT_ON * R * 4);
    for (int group = blockIdx.x / C; group * R < p.scan.rows; group += clusters) {
        Group g(p.scan, group, rank);
        Chooser chooser(p.scan, group);
        Fed fed;
        fed.load(p, g.unit, g.makes);
        float peephole[3] = {}, q_bias = 0.0f, c = 0.0f, h = 0.0f;
        if (PEEPHOLE && g.makes)
            for (int b = 0; b < 3; b++) peephole[b] = p.scan.peephole[b * D + g.unit];
        if (p.scan.q_bias && g.makes) q_bias = p.scan.q_bias[g.unit];
        // Others may still be making h of the last step of the rows before, from what was carried.
        // A plain cell's next numbers come from other blocks, which must know that there is room.
        __syncthreads();
        for (int e = id; e < (int)sizeof(room.carried) / 4; e += THREADS) ((float *)room.carried)[e] = 0.0f;
        fed.fetch(p, g, 0);
        if (K > 0) __syncthreads();
        else meet();
        for (int t = 0; t < g.longest; t++, exchange.step++) {
            float a[4] = {};
            gather(into_units, room.carried[K > 0 ? 0 : exchange.buffer() ^ 1], a);
            if (g.makes && t < g.length) {
                long long n = g.first + t, at = n * D + g.unit;
                float4 kept;
                float u;
                if (K == 0 && p.scan.carry_in) p.scan.carry_in[at] = h;
                if (CELL == LSTM) {
#pragma unroll
                    for (int b = 0; b < 4; b++) a[b] += fed.x[b % NI];
                    Lstm s = lstm(HARD, a, peephole, c);
                    c = s.c, u = s.u;
                    kept = make_float4(s.i, s.f, s.g, s.o);
                } else {
                    if (K == 0) a[3] = h;
                    Gru s = gru(HARD, fed.x, a, q_bias);
                    u = s.u;
                    kept = make_float4(s.r, s.z, s.n, s.q);
                }
                room.units[K > 0 ? place(g.j, g.r) : g.j * R + (g.r ^ g.unit / PAIR % R)] = u;
                h = u;
                if (CELL == LSTM) p.scan.c[at] = c;
                else p.scan.extra[at] = a[3];
                if (p.gates) p.gates[at] = kept;
                p.scan.u[at] = u;
                if (K == 0 && p.scan.h) p.scan.h[at] = u;
            }
            fed.fetch(p, g, t + 1);
            __syncthreads();
#if K > 0
            float score[Q][R] = {}, alpha[EACH_LANE + 1];
            if (spread.first < SPREAD) spread.add<Weights<SCORED, SCORED, Q>, SCORED>(centroids, room.units, score);
            spread.reduce(score);
            if (spread.index < SPREAD) {
                unsigned here = shared_address(&room.scores[exchange.buffer()][rank][spread.index * R]);
                spread.give_all(score[0], here, exchange.barrier());
            }
            bool chooses = chooser.chooses() && t < chooser.length, last = t + 1 == chooser.length;
            if (chooses) {
                exchange.wait();
                choose(room, exchange.buffer(), !(END && last), chooser.r, inv_tau, alpha);
            }
            __syncthreads();
            if (chooses && chooser.r % C == rank) keep_alpha(p, chooser, t, alpha);
            last = t + 1 == g.length;
            if (g.makes && t < g.length && (p.keep_h == ALWAYS || (p.keep_h && last))) {
                float mixture = END && last ? h : 0.0f;
                for (int i = 0; i < K; i++)
                    mixture = fmaf(room.carried[0][gathered_place(i, g.r)], p.scan.s[i * D + g.unit], mixture);
                p.scan.h[(g.first + t) * D + g.unit] = mixture;
            }
#else
            for (int e = id; e < C * U * R / VECTOR; e += THREADS) {
                int to = e / (U * R / VECTOR), at = e % (U * R / VECTOR) * VECTOR;
                unsigned here = shared_address(&room.carried[exchange.buffer()][rank * U * R + at]);
                send(at_block(here, to), room.units + at, at_block(exchange.barrier(), to));
            }
            exchange.wait();
            // The barrier counts what is sent to this block: its own warps may still be sending.
            __syncthreads();
#endif
        }
    }
    meet();
}
