// Layers with many centroids, and plain ones of many units: a cluster of C blocks carries C rows, a
// block has U of the units for all of them, its weights in registers, each used for every row. What
// is carried (α, or h of a plain cell) is the same in every block: sums over units, or the units
// themselves, are exchanged through each other's shared memory, with one barrier of the cluster a
// step. Compiled for each layer: D, K (0: plain), CELL (LSTM or GRU_AFTER), HARD, PEEPHOLE, END;
// INPUT, WIDTH; ENTROPY, PRESSES; C, THREADS, SPLIT (threads that share the sums of a unit), SHARE
// and SCORERS (threads that share sums of the backward product and of the scores, powers of two).
//
// A thread makes several sums from the numbers it reads: reading shared memory is what bounds a step.

#define R C
#define U ((D + C - 1) / C)
#define NB (CELL == LSTM || K > 0 ? 4 : 3)
#define NI (CELL == LSTM ? 4 : 3)
#define FOURS(n) (((n) + 3) / 4 * 4)

// Numbers carried, a thread's part of them, and all parts.
#define CARRIED (K > 0 ? K : C * U)
#define PART FOURS((CARRIED + SPLIT - 1) / SPLIT)
#define CARRY (PART * SPLIT)
// Sums that a thread makes at a time of the backward product and of the scores: those whose numbers
// are so far apart; and its part of the units' blocks, or of the units. A space keeps the parts of
// neighbouring threads in different banks.
#define MANY 4
#define APART ((CARRIED + MANY - 1) / MANY)
#define BACK FOURS((NB * U + SHARE - 1) / SHARE)
#define BACK_ROW (SHARE * (BACK + 4))
#define SCORED FOURS((U + SCORERS - 1) / SCORERS)
#define SCORED_ROW (SCORERS * (SCORED + 4))
#define KP FOURS(K > 0 ? K : 1)
#define EACH_LANE ((K + WARP - 1) / WARP)
// Groups of threads that share du.
#define GROUPS (THREADS / U)

#define ROWS 0
#define VECTORS 2
#define LISTED_ROWS 3

#define AT_LAST 1
#define ALWAYS 2

struct Cluster {
    Scan scan;
    // VECTORS: [N][WIDTH], W [NI * D][WIDTH], bias [NI * D] or null.
    const float *vectors, *w, *bias;
    // Kept for backward: [N][D].
    float4 *gates;
    // α of the last step of each row [B][K], where h is read there.
    float *alpha_last;
    int keep_h;
};

__device__ __forceinline__ unsigned rank_in_cluster() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// The address of a number in another block's shared memory.
__device__ __forceinline__ unsigned at_block(const float *here, unsigned rank) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(here)), "r"(rank));
    return there;
}

__device__ __forceinline__ void send(unsigned there, float x) {
    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there), "f"(x) : "memory");
}

__device__ __forceinline__ void meet() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Sums over so many neighbouring lanes.
template <int LANES> __device__ __forceinline__ float neighbours_sum(float x) {
#pragma unroll
    for (int o = LANES / 2; o > 0; o /= 2) x += __shfl_xor_sync(ALL_LANES, x, o);
    return x;
}

// sums[m][r] = weights[m] · x[r], for the R rows of x, `stride` apart.
template <int M, int N>
__device__ __forceinline__ void products(const float w[M][N], const float *x, int stride, float sums[M][R]) {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int r = 0; r < R; r++) sums[m][r] = 0.0f;
#pragma unroll
    for (int i = 0; i < N; i += 4)
#pragma unroll
        for (int r = 0; r < R; r++) {
            float4 four = *(const float4 *)(x + r * stride + i);
#pragma unroll
            for (int m = 0; m < M; m++) {
                sums[m][r] = fmaf(w[m][i], four.x, sums[m][r]);
                sums[m][r] = fmaf(w[m][i + 1], four.y, sums[m][r]);
                sums[m][r] = fmaf(w[m][i + 2], four.z, sums[m][r]);
                sums[m][r] = fmaf(w[m][i + 3], four.w, sums[m][r]);
            }
        }
}

// The rows that a cluster carries together, and what a thread that makes a unit of one of them
// knows: thread id makes unit id / R of row id % R.
struct Group {
    int longest, length, row, r, j, unit;
    long long first;
    bool makes;
    __device__ __forceinline__ Group(const Scan &p, int group, unsigned rank) {
        int id = threadIdx.x, skip;
        long long start;
        find_row(p, group * R, start, longest, skip);
        r = id % R, j = id / R, unit = rank * U + j;
        find_row(p, group * R + r, first, length, row);
        makes = j < U && unit < D;
    }
};

// The row that a warp chooses for: the first warps have one each.
struct Chooser {
    long long first;
    int length, row, r;
    __device__ __forceinline__ Chooser(const Scan &p, int group) {
        r = threadIdx.x / WARP;
        length = 0;
        if (r < R) find_row(p, group * R + r, first, length, row);
    }
};

// What the input feeds into a unit's blocks.
struct Fed {
#if INPUT == VECTORS
    float w[NI][WIDTH], bias[NI];
#endif
    float x[NI];
    __device__ __forceinline__ void load(const Cluster &p, int unit, bool makes) {
#if INPUT == VECTORS
        for (int b = 0; b < NI; b++) {
            bias[b] = p.bias && makes ? p.bias[b * D + unit] : 0.0f;
            for (int e = 0; e < WIDTH; e++) w[b][e] = makes ? p.w[(b * D + unit) * WIDTH + e] : 0.0f;
        }
#endif
    }
    __device__ __forceinline__ void fetch(const Cluster &p, const Group &g, int t) {
        if (!g.makes || t >= g.length) return;
        long long n = g.first + t;
#if INPUT == VECTORS
#pragma unroll
        for (int b = 0; b < NI; b++) x[b] = bias[b];
#pragma unroll
        for (int e = 0; e < WIDTH; e++) {
            float in = p.vectors[n * WIDTH + e];
#pragma unroll
            for (int b = 0; b < NI; b++) x[b] = fmaf(w[b][e], in, x[b]);
        }
#else
        long long place = INPUT == LISTED_ROWS ? (long long)p.scan.places[n] : n;
#pragma unroll
        for (int b = 0; b < NI; b++) x[b] = p.scan.x[(place * NI + b) * D + g.unit];
#endif
    }
};

struct ForwardRoom {
    __align__(16) float carried[2][R][CARRY];
    __align__(16) float blocks[SPLIT][NB * U][R];
    __align__(16) float units[R][SCORED_ROW];
    float scores[2][C][R][KP];
};

// α of a row, from the parts of its scores: a warp's work.
__device__ __forceinline__ void choose(const Cluster &p, ForwardRoom &room, int now,
                                       const Chooser &chooser, int t, unsigned rank, float inv_tau) {
    int lane = threadIdx.x % WARP, length = chooser.length, r = chooser.r;
    if (t >= length) return;
    long long n = chooser.first + t;
    float e[EACH_LANE + 1], top = -INFINITY, sum = 0.0f;
#pragma unroll
    for (int q = 0; q < EACH_LANE; q++) {
        int i = lane + q * WARP;
        e[q] = -INFINITY;
        if (i < K) {
            float z = 0.0f;
#pragma unroll
            for (int c = 0; c < C; c++) z += room.scores[now][c][r][i];
            e[q] = z * inv_tau;
        }
        top = fmaxf(top, e[q]);
    }
    top = warp_max(top);
#pragma unroll
    for (int q = 0; q < EACH_LANE; q++) {
        e[q] = __expf(e[q] - top);
        sum += e[q];
    }
    float inv = END && t + 1 == length ? 0.0f : __fdividef(1.0f, warp_sum(sum));
#pragma unroll
    for (int q = 0; q < EACH_LANE; q++) {
        int i = lane + q * WARP;
        if (i >= K) continue;
        float alpha = e[q] * inv;
        room.carried[now ^ 1][r][i] = alpha;
        if (rank == 0) {
            p.scan.alpha[n * K + i] = alpha;
            if (p.scan.carry_in) {
                if (t == 0) p.scan.carry_in[n * K + i] = 0.0f;
                if (t + 1 < length) p.scan.carry_in[(n + 1) * K + i] = alpha;
            }
        }
    }
}

extern __shared__ __align__(16) char dynamic_room[];

extern "C" __global__ void __cluster_dims__(C, 1, 1) __launch_bounds__(THREADS, 1)
    cluster_forward(Cluster p) {
    ForwardRoom &room = *(ForwardRoom *)dynamic_room;
    int id = threadIdx.x, clusters = gridDim.x / C;
    unsigned rank = rank_in_cluster();
    // This thread's sums of the product: part `part` of all blocks of a unit.
    int part = id / U;
    bool sums = part < SPLIT;
    float w[NB][PART];
#pragma unroll
    for (int b = 0; b < NB; b++)
#pragma unroll
        for (int i = 0; i < PART; i++) {
            int carried = part * PART + i, unit = rank * U + id % U;
            bool there = sums && unit < D && carried < (K > 0 ? K : D);
            w[b][i] = there ? p.scan.m[((long long)carried * NB + b) * D + unit] : 0.0f;
        }
#if K > 0
    int centroid = id / SCORERS, scorer = id % SCORERS;
    float s[MANY][SCORED], inv_tau = p.scan.press->inv_tau;
#pragma unroll
    for (int m = 0; m < MANY; m++)
#pragma unroll
        for (int q = 0; q < SCORED; q++) {
            int i = centroid + m * APART, j = scorer * SCORED + q, unit = rank * U + j;
            bool there = centroid < APART && i < K && j < U && unit < D;
            s[m][q] = there ? p.scan.s[i * D + unit] : 0.0f;
        }
#endif
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
        __syncthreads();
        for (int e = id; e < 2 * R * CARRY; e += THREADS) ((float *)room.carried)[e] = 0.0f;
        for (int e = id; e < R * SCORED_ROW; e += THREADS) ((float *)room.units)[e] = 0.0f;
        fed.fetch(p, g, 0);
        meet();
        int now = 0;
        for (int t = 0; t < g.longest; t++, now ^= 1) {
            if (sums) {
                float sum[NB][R];
                products<NB, PART>(w, &room.carried[now][0][part * PART], CARRY, sum);
#pragma unroll
                for (int b = 0; b < NB; b++)
#pragma unroll
                    for (int r = 0; r < R; r++) room.blocks[part][b * U + id % U][r] = sum[b][r];
            }
            __syncthreads();
            if (g.makes && t < g.length) {
                long long n = g.first + t, at = n * D + g.unit;
                float a[4] = {};
#pragma unroll
                for (int b = 0; b < NB; b++)
#pragma unroll
                    for (int q = 0; q < SPLIT; q++) a[b] += room.blocks[q][b * U + g.j][g.r];
                float4 kept;
                float u;
                if (K == 0 && p.scan.carry_in) p.scan.carry_in[at] = h;
                if (CELL == LSTM) {
#pragma unroll
                    for (int b = 0; b < 4; b++) a[b] += fed.x[b % NI];
                    Lstm s = lstm(HARD, a, peephole, c);
                    c = s.c, u = s.u;
                    kept = make_float4(s.i, s.f, s.g, s.o);
                    p.scan.c[at] = c;
                } else {
                    if (K == 0) a[3] = h;
                    Gru s = gru(HARD, fed.x, a, q_bias);
                    u = s.u;
                    kept = make_float4(s.r, s.z, s.n, s.q);
                    p.scan.extra[at] = a[3];
                }
                if (p.gates) p.gates[at] = kept;
                p.scan.u[at] = u;
                if (K > 0) {
                    room.units[g.r][g.j / SCORED * (SCORED + 4) + g.j % SCORED] = u;
                } else {
                    h = u;
                    if (p.scan.h) p.scan.h[at] = u;
#pragma unroll
                    for (int to = 0; to < C; to++)
                        send(at_block(&room.carried[now ^ 1][g.r][g.unit], to), u);
                }
            }
            fed.fetch(p, g, t + 1);
#if K > 0
            __syncthreads();
            float score[MANY][R];
            products<MANY, SCORED>(s, &room.units[0][scorer * (SCORED + 4)], SCORED_ROW, score);
#pragma unroll
            for (int m = 0; m < MANY; m++)
#pragma unroll
                for (int r = 0; r < R; r++) score[m][r] = neighbours_sum<SCORERS>(score[m][r]);
            for (int to = scorer; to < C; to += SCORERS)
#pragma unroll
                for (int m = 0; m < MANY; m++) {
                    int i = centroid + m * APART;
                    if (centroid >= APART || i >= K) continue;
                    unsigned there = at_block(&room.scores[now][rank][0][i], to);
#pragma unroll
                    for (int r = 0; r < R; r++) send(there + r * KP * 4, score[m][r]);
                }
#endif
            meet();
#if K > 0
            if (chooser.r < R) choose(p, room, now, chooser, t, rank, inv_tau);
            __syncthreads();
            bool last = t + 1 == g.length;
            if (g.makes && t < g.length && (p.keep_h == ALWAYS || (p.keep_h && last))) {
                float mixture = END && last ? p.scan.u[(g.first + t) * D + g.unit] : 0.0f;
                for (int i = 0; i < K; i++)
                    mixture = fmaf(room.carried[now ^ 1][g.r][i], p.scan.s[i * D + g.unit], mixture);
                p.scan.h[(g.first + t) * D + g.unit] = mixture;
            }
#endif
        }
    }
}

struct BackwardRoom {
    // What the blocks of the cluster send: parts of the gradient of what was carried.
    float sent[2][C][R][K > 0 ? KP : U];
    __align__(16) float da[R][BACK_ROW];
    float pull[R][U];
    __align__(16) float dz[KP][R];
    float du[K > 0 ? GROUPS : 1][U][R];
    float s[K > 0 ? K : 1][U + 1];
};

// dz of a row, from the parts of dα: a warp's work.
__device__ __forceinline__ void choose_back(const Cluster &p, BackwardRoom &room, int now,
                                            const Chooser &chooser, int t, unsigned rank,
                                            const Press &press, float alpha[EACH_LANE + 1],
                                            double &disordered) {
    int lane = threadIdx.x % WARP, length = chooser.length, r = chooser.r;
    long long first = chooser.first;
    float d_alpha[EACH_LANE + 1], mean = 0.0f, disorder = 0.0f;
    bool here = t < length;
#pragma unroll
    for (int q = 0; q < EACH_LANE; q++) {
        int i = lane + q * WARP;
        d_alpha[q] = 0.0f;
        if (here && i < K)
#pragma unroll
            for (int c = 0; c < C; c++) d_alpha[q] += room.sent[now][c][r][i];
        mean = fmaf(alpha[q], d_alpha[q], mean);
        if (ENTROPY && alpha[q] > 0.0f) disorder = fmaf(-alpha[q], __logf(alpha[q]), disorder);
    }
    mean = warp_sum(mean);
    if (ENTROPY) {
        disorder = warp_sum(disorder);
        if (lane == 0 && rank == 0) disordered += disorder;
    }
#pragma unroll
    for (int q = 0; q < EACH_LANE; q++) {
        int i = lane + q * WARP;
        if (i >= K) continue;
        float slope = alpha[q] * (d_alpha[q] - mean);
        if (ENTROPY && alpha[q] > 0.0f)
            slope = fmaf(-press.entropy * alpha[q], __logf(alpha[q]) + disorder, slope);
        slope *= press.inv_tau;
        room.dz[i][r] = slope;
        if (rank == 0 && here) {
            p.scan.d_scores[(first + t) * K + i] = slope;
            if (p.alpha_last && t + 1 == length) p.alpha_last[chooser.row * K + i] = alpha[q];
        }
    }
    // That of the step before is on its way while this step goes on.
#pragma unroll
    for (int q = 0; q < EACH_LANE; q++) {
        int i = lane + q * WARP;
        alpha[q] = t > 0 && t <= length && i < K ? p.scan.alpha[(first + t - 1) * K + i] : 0.0f;
    }
}

extern "C" __global__ void __cluster_dims__(C, 1, 1) __launch_bounds__(THREADS, 1)
    cluster_backward(Cluster p) {
    BackwardRoom &room = *(BackwardRoom *)dynamic_room;
    int id = threadIdx.x, clusters = gridDim.x / C;
    unsigned rank = rank_in_cluster();
    // This thread's parts of the gradients of some of the carried numbers.
    int carried = id / SHARE, share = id % SHARE;
    bool sums = carried < APART;
    float w[MANY][BACK];
#pragma unroll
    for (int m = 0; m < MANY; m++)
#pragma unroll
        for (int q = 0; q < BACK; q++) {
            int i = carried + m * APART, e = share * BACK + q, unit = rank * U + e % U;
            bool there = sums && e < NB * U && unit < D && i < (K > 0 ? K : D);
            w[m][q] = there ? p.scan.m[((long long)i * NB + e / U) * D + unit] : 0.0f;
        }
#if K > 0
    for (int e = id; e < K * U; e += THREADS) {
        int unit = rank * U + e % U;
        room.s[e / U][e % U] = unit < D ? p.scan.s[e / U * D + unit] : 0.0f;
    }
#endif
    Press press = *p.scan.press;
    float saturation = PRESSES ? press.saturation : 0.0f, writing = PRESSES ? press.writing : 0.0f;
    float d_bias[4] = {}, d_candidate = 0.0f, d_peephole[3] = {};
    double disordered = 0.0, unsaturation = 0.0, written = 0.0;
    Group g(p.scan, 0, rank);
    float peephole[3] = {};
    if (PEEPHOLE && g.makes)
        for (int b = 0; b < 3; b++) peephole[b] = p.scan.peephole[b * D + g.unit];
    for (int group = blockIdx.x / C; group * R < p.scan.rows; group += clusters) {
        g = Group(p.scan, group, rank);
        for (int e = id; e < (int)(sizeof(room.sent) + sizeof(room.da) + sizeof(room.pull)) / 4; e += THREADS)
            ((float *)&room)[e] = 0.0f;
        float dc = 0.0f, through = 0.0f;
        float4 kept = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        float c = 0.0f, c_prev = 0.0f, before = 0.0f;
        auto fetch = [&](int t) {
            if (!g.makes || t < 0 || t >= g.length) return;
            long long at = (g.first + t) * D + g.unit;
            kept = p.gates[at];
            if (CELL == LSTM) {
                c = p.scan.c[at];
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
        bool pulled = K > 0 && p.scan.dh_out;
        Chooser chooser(p.scan, group);
        float alpha[EACH_LANE + 1];
#pragma unroll
        for (int q = 0; q < EACH_LANE; q++) {
            int i = id % WARP + q * WARP, t = g.longest - 1;
            bool there = chooser.r < R && t < chooser.length && i < K;
            alpha[q] = there ? p.scan.alpha[(chooser.first + t) * K + i] : 0.0f;
        }
        auto send_back = [&](int next) {
            float sum[MANY][R];
            products<MANY, BACK>(w, &room.da[0][share * (BACK + 4)], BACK_ROW, sum);
#if K > 0
            if (pulled && sums)
                for (int j = share; j < U; j += SHARE)
#pragma unroll
                    for (int m = 0; m < MANY; m++) {
                        float s = carried + m * APART < K ? room.s[carried + m * APART][j] : 0.0f;
#pragma unroll
                        for (int r = 0; r < R; r++) sum[m][r] = fmaf(room.pull[r][j], s, sum[m][r]);
                    }
#endif
#pragma unroll
            for (int m = 0; m < MANY; m++)
#pragma unroll
                for (int r = 0; r < R; r++) sum[m][r] = neighbours_sum<SHARE>(sum[m][r]);
            if (!sums) return;
#pragma unroll
            for (int m = 0; m < MANY; m++) {
                int i = carried + m * APART;
                if (i >= CARRIED) continue;
#if K > 0
                for (int to = share; to < C; to += SHARE) {
                    unsigned there = at_block(&room.sent[next][rank][0][i], to);
#pragma unroll
                    for (int r = 0; r < R; r++) send(there + r * KP * 4, sum[m][r]);
                }
#else
                if (share != m % SHARE) continue;
                unsigned there = at_block(&room.sent[next][rank][0][i % U], i / U);
#pragma unroll
                for (int r = 0; r < R; r++) send(there + r * U * 4, sum[m][r]);
#endif
            }
        };
        fetch(g.longest - 1);
        meet();
        if (g.makes) room.pull[g.r][g.j] = pull_of(g.longest - 1);
        __syncthreads();
        int now = 0;
        if (pulled) send_back(now);
        meet();
        for (int t = g.longest - 1; t >= 0; t--, now ^= 1) {
#if K > 0
            if (chooser.r < R)
                choose_back(p, room, now, chooser, t, rank, press, alpha, disordered);
            __syncthreads();
            {
                int from = id / U, j = id % U;
                float sum[R] = {};
                if (from < GROUPS) {
                    for (int i = from; i < K; i += GROUPS)
#pragma unroll
                        for (int r = 0; r < R; r++) sum[r] = fmaf(room.dz[i][r], room.s[i][j], sum[r]);
#pragma unroll
                    for (int r = 0; r < R; r++) room.du[from][j][r] = sum[r];
                }
            }
            __syncthreads();
#endif
            if (g.makes && t < g.length) {
                long long n = g.first + t;
                bool moves = !(END && t + 1 == g.length);
                const float *dh_out = outside(p.scan, p.scan.dh_out, g.first, t, g.length, g.row);
                const float *du_out = outside(p.scan, p.scan.du_out, g.first, t, g.length, g.row);
                float du = du_out ? du_out[g.unit] : 0.0f;
                if (dh_out && (K == 0 || !moves)) du += dh_out[g.unit];
                if (K > 0) {
#pragma unroll
                    for (int q = 0; q < GROUPS; q++) du += room.du[K > 0 ? q : 0][g.j][g.r];
                } else {
#pragma unroll
                    for (int from = 0; from < C; from++) du += room.sent[now][from][g.r][K > 0 ? 0 : g.j];
                    du += through;
                }
                float a[4], dx[3];
                if (CELL == LSTM) {
                    const float *dc_out = outside(p.scan, p.scan.dc_out, g.first, t, g.length, g.row);
                    if (dc_out) dc += dc_out[g.unit];
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
                for (int b = 0; b < NB; b++) {
                    int e = b * U + g.j;
                    room.da[g.r][e / BACK * (BACK + 4) + e % BACK] = a[b];
                    if (CELL != LSTM) p.scan.da_state[(n * NB + b) * D + g.unit] = a[b];
                }
#pragma unroll
                for (int b = 0; b < NI; b++) {
                    float in = CELL == LSTM ? a[b] : dx[b % 3];
                    d_bias[b] += in;
                    p.scan.da_in[(n * NI + b) * D + g.unit] = in;
                }
                if (PRESSES) {
                    float far = unsaturated(kept.x) + unsaturated(kept.y) + unsaturated_candidate(kept.z);
                    unsaturation += CELL == LSTM ? far + unsaturated(kept.w) : far;
                    written += CELL == LSTM ? kept.x : 1.0f - kept.y;
                }
                if (p.scan.d_mixture) p.scan.d_mixture[n * D + g.unit] = pull_of(t);
            }
            if (pulled && g.makes) room.pull[g.r][g.j] = pull_of(t - 1);
            fetch(t - 1);
            __syncthreads();
            if (t > 0) send_back(now ^ 1);
            meet();
        }
    }
    // Sums of the rows of each unit, in order.
    float *sums_of = (float *)dynamic_room;
    float mine[SUMS] = {d_bias[0], d_bias[1], d_bias[2], d_bias[3],
                        d_candidate, d_peephole[0], d_peephole[1], d_peephole[2]};
    __syncthreads();
    if (g.j < U)
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
