// Layers with many centroids, and plain ones of many units: a cluster of C blocks carries R rows, a
// block has U of the units for all of them, its weights in registers, the rest of them in its shared
// memory, each used for every row. What is carried (α, or h of a plain cell) is the same in every
// block: sums over units, or the units themselves, are written into each other's shared memory,
// where a barrier counts their bytes. Compiled for each layer: D, K (0: plain), CELL (LSTM or
// GRU_AFTER), HARD, PEEPHOLE, END; INPUT, WIDTH; ENTROPY, PRESSES; C, R, THREADS; how many lanes share
// a sum: GATHER of those that go into a unit, SCORERS and BACKERS of those that go to all blocks,
// forward and backward; and how many of its weights a lane holds: GATHERED_HELD, BACKED_HELD.
//
// Vectors are kept with the R rows side by side, so that one read feeds all rows. Rows are permuted
// (`place`) so that lanes that share a sum hold its rows in the order in which a butterfly leaves
// each of them its own, without choosing registers at run time.

#define U ((D + C - 1) / C)
#define NB (CELL == LSTM || K > 0 ? 4 : 3)
#define NI (CELL == LSTM ? 4 : 3)
#define CEIL(n, m) (((n) + (m) - 1) / (m))

// Numbers that are read at a time: 16 bytes of their rows, at least.
#define PAIR (R < 4 ? 4 / R : 1)
#define PARTS(n, lanes) (CEIL(n, PAIR * (lanes)) * PAIR)
// Numbers carried, and a lane's part of them.
#define CARRIED (K > 0 ? K : C * U)
#define PART PARTS(CARRIED, GATHER)
// Sums that a lane makes at a time for all blocks, and all of them.
#define Q 4
#define SPREAD (CEIL(CARRIED, Q) * Q)
// Parts of what these are sums of: of units forward, of their blocks backward.
#define SCORED PARTS(U, SCORERS)
#define BACKED PARTS(NB * U, BACKERS)
#define PULLED PARTS(U, BACKERS)
// Numbers that a block is sent by another at a step, forward and backward.
#define SENT_ON (K > 0 ? SPREAD : U)
#define EACH_LANE CEIL(K, WARP)
#define VECTOR (R < 4 ? R : 4)

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

// Neighbouring numbers of one row would meet in a bank; those so far apart are turned once more.
__device__ __forceinline__ constexpr int turn(int i) { return K > 0 && R <= 4 ? i * R / WARP % R : 0; }

// Where row r of a number lies among its R: of a vector that sums for all blocks are made of, of one
// that a unit gathers, and of sums for all blocks.
__device__ __forceinline__ int place(int e, int r) { return e * R + (r ^ e / PAIR % R); }
__device__ __forceinline__ int gathered_place(int i, int r) { return i * R + (r ^ i / PAIR % R ^ turn(i)); }
__device__ __forceinline__ int spread_place(int i, int r) { return i * R + (r ^ i % Q % R ^ turn(i)); }

__device__ __forceinline__ unsigned rank_in_cluster() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ unsigned shared_address(const void *here) {
    return (unsigned)__cvta_generic_to_shared(here);
}

// The address of the same place in another block's shared memory.
__device__ __forceinline__ unsigned at_block(unsigned here, unsigned rank) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
    return there;
}

// All blocks of the cluster meet.
__device__ __forceinline__ void meet() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Writes VECTOR numbers into a block's shared memory, and tells the barrier there.
__device__ __forceinline__ void send(unsigned there, const float *x, unsigned barrier) {
    if (VECTOR == 4)
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];"
                     ::"r"(there), "f"(x[0]), "f"(x[1]), "f"(x[2 % VECTOR]), "f"(x[3 % VECTOR]), "r"(barrier) : "memory");
    else
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];"
                     ::"r"(there), "f"(x[0]), "f"(x[1]), "r"(barrier) : "memory");
}

// Exchanges between the blocks of a cluster: one a step, into two buffers in turn. A block sends for
// the next but one only when all have sent for the next, hence have read this one.
struct Exchange {
    unsigned barriers, bytes, step;
    __device__ __forceinline__ Exchange(unsigned long long *room, unsigned expected) {
        barriers = shared_address(room), bytes = expected, step = 0;
        if (threadIdx.x == 0) {
            for (int b = 0; b < 2; b++)
                asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers + 8 * b) : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            arm(0);
            arm(1);
        }
        meet();
    }
    __device__ __forceinline__ int buffer() const { return step & 1; }
    __device__ __forceinline__ unsigned barrier() const { return barriers + 8 * (step & 1); }
    __device__ __forceinline__ void arm(int b) const {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     ::"r"(barriers + 8 * b), "r"(bytes) : "memory");
    }
    // Waits for what all blocks send at this step. Thread 0 is always among those who wait.
    __device__ __forceinline__ void wait() const {
        unsigned done = 0;
        while (!done)
            asm volatile("{ .reg .pred p;\n"
                         "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                         "selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(barrier()), "r"(step >> 1 & 1) : "memory");
        if (threadIdx.x == 0) arm(buffer());
    }
};

// The R rows of PAIR numbers.
__device__ __forceinline__ void load(const float *x, float v[PAIR * R]) {
#pragma unroll
    for (int q = 0; q < PAIR * R; q += 4) {
        float4 four = *(const float4 *)(x + q);
        v[q] = four.x, v[q + 1] = four.y, v[q + 2] = four.z, v[q + 3] = four.w;
    }
}

// A lane's weights: N of M each, the first HELD of them in registers, the others in shared memory,
// where those of all threads lie side by side.
template <int N, int HELD, int M> struct Weights {
    float held[HELD > 0 ? HELD : 1][M];
    const float *others;
    __device__ __forceinline__ static constexpr int room() { return (N - HELD) * THREADS * M; }
    // `of(q, m)` makes them.
    template <typename F> __device__ __forceinline__ void fill(float *room, F of) {
        others = room + threadIdx.x * M;
#pragma unroll
        for (int q = 0; q < HELD; q++)
#pragma unroll
            for (int m = 0; m < M; m++) held[q][m] = of(q, m);
        for (int q = HELD; q < N; q++)
            for (int m = 0; m < M; m++) room[((q - HELD) * THREADS + threadIdx.x) * M + m] = of(q, m);
    }
    __device__ __forceinline__ void get(int q, float w[M]) const {
        if (q < HELD) {
#pragma unroll
            for (int m = 0; m < M; m++) w[m] = held[q < HELD ? q : 0][m];
            return;
        }
        const float *at = others + (q - HELD) * THREADS * M;
        if (M == 4) {
            float4 four = *(const float4 *)at;
            w[0] = four.x, w[1 % M] = four.y, w[2 % M] = four.z, w[3 % M] = four.w;
        } else if (M == 2) {
            float2 two = *(const float2 *)at;
            w[0] = two.x, w[1 % M] = two.y;
        } else {
#pragma unroll
            for (int m = 0; m < M; m++) w[m] = at[m];
        }
    }
};

// The number that lane p of those that share a unit's sums has as its q-th.
__device__ __forceinline__ int gathered(int q) {
    return (q / PAIR * GATHER + threadIdx.x % GATHER) * PAIR + q % PAIR;
}

// sum[m] = Σ_i w[.][m] x[i] of this lane's row; x is [PART * GATHER][R].
template <int HELD, int M>
__device__ __forceinline__ void gather(const Weights<PART, HELD, M> &weights, const float *x, float sum[M]) {
    float s[M][R] = {}, v[PAIR * R], w[M];
#pragma unroll
    for (int q = 0; q < PART; q++) {
        if (q % PAIR == 0) load(x + gathered(q) * R, v);
        weights.get(q, w);
#pragma unroll
        for (int r = 0; r < R; r++)
#pragma unroll
            for (int m = 0; m < M; m++)
                s[m][r] = fmaf(w[m], v[q % PAIR * R + (r ^ turn(q / PAIR * GATHER * PAIR))], s[m][r]);
    }
    // Number r of lane p is of row r ^ p.
#pragma unroll
    for (int h = R / 2; h > 0; h /= 2)
#pragma unroll
        for (int r = 0; r < h; r++)
#pragma unroll
            for (int m = 0; m < M; m++) s[m][r] += __shfl_xor_sync(ALL_LANES, s[m][r + h], h);
#pragma unroll
    for (int m = 0; m < M; m++) {
#pragma unroll
        for (int o = R; o < GATHER; o *= 2) s[m][0] += __shfl_xor_sync(ALL_LANES, s[m][0], o);
        sum[m] = s[m][0];
    }
}

// What a lane of LANES that share Q sums for all blocks has of them.
template <int LANES> struct Spread {
    int first, p, index;
    __device__ __forceinline__ Spread() {
        first = threadIdx.x / LANES * Q, p = threadIdx.x % LANES;
        index = first + p % Q;
    }
    // The number that it adds as its q-th, and its m-th sum.
    __device__ __forceinline__ int of(int q) const {
        return (q / PAIR * LANES + (p ^ turn(first))) * PAIR + q % PAIR;
    }
    __device__ __forceinline__ int sum(int m) const { return first + (m ^ p % Q); }

    // s[m][.] += Σ_e w[.][m] x[e]; x is [N * LANES][R].
    template <typename W, int N>
    __device__ __forceinline__ void add(const W &weights, const float *x, float s[Q][R]) const {
        float v[PAIR * R], w[Q];
#pragma unroll
        for (int q = 0; q < N; q++) {
            if (q % PAIR == 0) load(x + of(q) * R, v);
            weights.get(q, w);
#pragma unroll
            for (int r = 0; r < R; r++)
#pragma unroll
                for (int m = 0; m < Q; m++)
                    s[m][r] = fmaf(w[m], v[q % PAIR * R + (r ^ q / PAIR * LANES % R)], s[m][r]);
        }
    }
    // Leaves sum `index` in s[0]: of row r in number r ^ p ^ turn(first).
    __device__ __forceinline__ void reduce(float s[Q][R]) const {
#pragma unroll
        for (int h = Q / 2; h > 0; h /= 2)
#pragma unroll
            for (int m = 0; m < h; m++)
#pragma unroll
                for (int r = 0; r < R; r++) s[m][r] += __shfl_xor_sync(ALL_LANES, s[m + h][r ^ h % R], h);
#pragma unroll
        for (int o = Q; o < LANES; o *= 2) {
            float other[R];
#pragma unroll
            for (int r = 0; r < R; r++) other[r] = __shfl_xor_sync(ALL_LANES, s[0][r ^ o % R], o);
#pragma unroll
            for (int r = 0; r < R; r++) s[0][r] += other[r];
        }
    }
    // Sends the rows of sum `index` to a block that has room for them at `here`.
    __device__ __forceinline__ void give(const float s[R], unsigned here, unsigned barrier, unsigned to) const {
        unsigned there = at_block(here, to), tell = at_block(barrier, to);
        int swapped = p & (R - 1) & ~(Q - 1);
#pragma unroll
        for (int q = 0; q < R; q += VECTOR) send(there + 4 * (q ^ swapped), s + q, tell);
    }
    // To all blocks; lanes that have the same sum share them.
    __device__ __forceinline__ void give_all(const float s[R], unsigned here, unsigned barrier) const {
        for (int to = p / Q; to < C; to += LANES / Q) give(s, here, barrier, to);
    }
};

// The rows that a cluster carries together, and what a thread that makes a unit of one of them
// knows: of the lanes that share a unit's sums, the first R make a row each.
struct Group {
    int longest, length, row, r, j, unit;
    long long first;
    bool makes;
    __device__ __forceinline__ Group(const Scan &p, int group, unsigned rank) {
        int lane = threadIdx.x % GATHER, skip;
        long long start;
        find_row(p, group * R, start, longest, skip);
        r = lane % R, j = threadIdx.x / GATHER, unit = rank * U + j;
        find_row(p, group * R + r, first, length, row);
        makes = j < U && unit < D && lane < R;
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
    __device__ __forceinline__ bool chooses() const { return K > 0 && r < R; }
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

// The largest of a warp's numbers, NaN where there is a NaN that no smaller number hides: the bits of
// numbers are in their order, those of negative ones backwards.
__device__ __forceinline__ float warp_top(float x) {
    int bits = __float_as_int(x), top;
    bits ^= bits >> 31 & 0x7fffffff;
    asm("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(top) : "r"(bits));
    return __int_as_float(top ^ (top >> 31 & 0x7fffffff));
}

typedef Weights<PART, GATHERED_HELD, NB> Gathering;
typedef Weights<BACKED, BACKED_HELD, Q> Backing;

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

extern __shared__ __align__(16) char dynamic_room[];

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
#endif
        }
    }
    meet();
}

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
    float d_bias[4] = {}, d_candidate = 0.0f, d_peephole[3] = {};
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
        for (int e = id; e < (int)(sizeof(room.da) + sizeof(room.pull)) / 4; e += THREADS) room.da[e] = 0.0f;
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
#endif
            if (g.makes && t < g.length) {
                long long n = g.first + t;
                bool moves = !(END && t + 1 == g.length);
                const float *dh_out = outside(p.scan, p.scan.dh_out, g.first, t, g.length, g.row);
                const float *du_out = outside(p.scan, p.scan.du_out, g.first, t, g.length, g.row);
                float du = du_out ? du_out[g.unit] : 0.0f;
                if (dh_out && (K == 0 || !moves)) du += dh_out[g.unit];
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
                for (int b = 0; b < NB; b++) room.da[place(b * U + g.j, g.r)] = a[b];
#pragma unroll
                for (int b = 0; b < NB; b++)
                    if (CELL != LSTM) p.scan.da_state[(n * NB + b) * D + g.unit] = a[b];
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
            if (K > 0 && p.scan.dh_out && g.makes) room.pull[place(g.j, g.r)] = pull_of(t - 1);
            fetch(t - 1);
            __syncthreads();
            if (t > 0) send_back(t - 1);
        }
    }
    meet();
    // Sums of the rows of each unit, in order.
    float *sums_of = (float *)dynamic_room;
    float mine[SUMS] = {d_bias[0], d_bias[1], d_bias[2], d_bias[3],
                        d_candidate, d_peephole[0], d_peephole[1], d_peephole[2]};
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
