// Sums that lanes share: those that go into a unit, and those that go to all blocks of a cluster.

// Neighbouring numbers of one row would meet in a bank; those so far apart are turned once more.
__device__ __forceinline__ constexpr int turn(int i) { return K > 0 && R <= 4 ? i * R / WARP % R : 0; }

// Where row r of a number lies among its R: of a vector that sums for all blocks are made of, of one
// that a unit gathers, and of sums for all blocks.
__device__ __forceinline__ int place(int e, int r) { return e * R + (r ^ e / PAIR % R); }
__device__ __forceinline__ int gathered_place(int i, int r) { return i * R + (r ^ i / PAIR % R ^ turn(i)); }
__device__ __forceinline__ int spread_place(int i, int r) { return i * R + (r ^ i % Q % R ^ turn(i)); }

// The R rows of PAIR numbers.
__device__ __forceinline__ void load(const float *x, float v[PAIR * R]) {
#pragma unroll
    for (int q = 0; q < PAIR * R; q += 4) {
        float4 four = *(const float4 *)(x + q);
        v[q] = four.x, v[q + 1] = four.y, v[q + 2] = four.z, v[q + 3] = four.w;
    }
}

// A lane's weights: N of M each, HELD of them in registers, the others in shared memory, where those
// of all threads lie side by side. They alternate, so that what is read from there has arrived when
// products with what is held are made.
template <int N, int HELD, int M> struct Weights {
    float held[HELD > 0 ? HELD : 1][M];
    const float *others;
    __device__ __forceinline__ static constexpr int room() { return (N - HELD) * THREADS * M; }
    // How many of the first q are in shared memory, and which of all is the e-th there.
    __device__ __forceinline__ static constexpr int outside(int q) { return q * (N - HELD) / N; }
    __device__ __forceinline__ static constexpr int other(int e) { return CEIL((e + 1) * N, N - HELD) - 1; }
    // Four lie together, those of neighbouring threads beside them.
    __device__ __forceinline__ static int place(int m) {
        return M % 4 == 0 ? (m / 4 * THREADS + threadIdx.x) * 4 + m % 4 : threadIdx.x * M + m;
    }
    // `of(q, m)` makes them.
    template <typename F> __device__ __forceinline__ void fill(float *room, F of) {
        others = room + threadIdx.x * (M % 4 == 0 ? 4 : M);
#pragma unroll
        for (int q = 0; q < N; q++)
            if (outside(q + 1) == outside(q))
#pragma unroll
                for (int m = 0; m < M; m++) held[q - outside(q)][m] = of(q, m);
        if constexpr (HELD < N)
            for (int e = 0; e < N - HELD; e++)
                for (int m = 0; m < M; m++) room[e * THREADS * M + place(m)] = of(other(e), m);
    }
    __device__ __forceinline__ void get(int q, float w[M]) const {
        if (outside(q + 1) == outside(q)) {
#pragma unroll
            for (int m = 0; m < M; m++) w[m] = held[q - outside(q)][m];
            return;
        }
        const float *at = others + outside(q) * THREADS * M;
        if (M % 4 == 0) {
#pragma unroll
            for (int m = 0; m < M; m += 4) {
                float4 four = *(const float4 *)(at + m * THREADS);
                w[m] = four.x, w[(m + 1) % M] = four.y, w[(m + 2) % M] = four.z, w[(m + 3) % M] = four.w;
            }
        } else {
#pragma unroll
            for (int m = 0; m < M; m++) w[m] = at[m];
        }
    }
};

// Lanes that share the sums of UNITS neighbouring units: GATHER for each. What a lane reads it uses
// for all of them, and sums are exchanged until each has those of its own unit.
template <int UNITS> struct Gather {
    static constexpr int LANES = GATHER * UNITS, N = PARTS(CARRIED, LANES);
    // Its q-th number, and its a-th unit.
    __device__ __forceinline__ static int number(int q) {
        return (q / PAIR * LANES + threadIdx.x % LANES) * PAIR + q % PAIR;
    }
    __device__ __forceinline__ static int unit(int a) {
        return threadIdx.x / LANES * UNITS + (a ^ threadIdx.x % LANES / GATHER);
    }

    // sum[m] = Σ_i w[.][m] x[i] of this lane's unit and row, weights being those of its units in
    // turn; x is [N * LANES][R].
    template <int HELD, int M>
    __device__ __forceinline__ static void add(const Weights<N, HELD, UNITS * M> &weights, const float *x, float sum[M]) {
        float s[UNITS * M][R] = {}, v[PAIR * R], w[UNITS * M];
#pragma unroll
        for (int q = 0; q < N; q++) {
            if (q % PAIR == 0) load(x + number(q) * R, v);
            weights.get(q, w);
#pragma unroll
            for (int r = 0; r < R; r++)
#pragma unroll
                for (int m = 0; m < UNITS * M; m++)
                    s[m][r] = fmaf(w[m], v[q % PAIR * R + (r ^ turn(q / PAIR * LANES * PAIR))], s[m][r]);
        }
#pragma unroll
        for (int h = UNITS * M / 2; h >= M; h /= 2)
#pragma unroll
            for (int m = 0; m < h; m++)
#pragma unroll
                for (int r = 0; r < R; r++) s[m][r] += __shfl_xor_sync(ALL_LANES, s[m + h][r], h / M * GATHER);
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
};

// The sum of all numbers of this lane's row; x is [N][R]. The order is the same in every warp of the
// cluster, and so is the sum.
template <int N> __device__ __forceinline__ float row_sum(const float *x) {
    const int pairs = N / PAIR;
    int lane = threadIdx.x % WARP, mine = lane ^ turn(lane * PAIR);
    float s[R] = {}, v[PAIR * R];
#pragma unroll
    for (int n = 0; n < pairs; n += WARP)
        if (n + mine < pairs) {
            load(x + (n + mine) * PAIR * R, v);
#pragma unroll
            for (int e = 0; e < PAIR * R; e++) s[e % R] += v[e];
        }
    // Number r of lane p is of row r ^ p.
#pragma unroll
    for (int h = R / 2; h > 0; h /= 2)
#pragma unroll
        for (int r = 0; r < h; r++) s[r] += __shfl_xor_sync(ALL_LANES, s[r + h], h);
#pragma unroll
    for (int o = R; o < WARP; o *= 2) s[0] += __shfl_xor_sync(ALL_LANES, s[0], o);
    return s[0];
}

// A number that is to be made here, neither before nor beyond a branch, where what it is made of
// would take registers and time.
__device__ __forceinline__ void made_here(float &x) { asm volatile("" : "+f"(x)); }
__device__ __forceinline__ void made_here(int &x) { asm volatile("" : "+r"(x)); }

// What a lane of LANES that share Q sums for all blocks has of them. Lanes that share others, but
// read the same, are neighbours: such reads are one.
template <int LANES> struct Spread {
    static constexpr int APART = WARP / LANES;
    int first, p, index;
    __device__ __forceinline__ Spread() {
        first = (threadIdx.x / WARP * APART + threadIdx.x % APART) * Q, p = threadIdx.x % WARP / APART;
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
                for (int r = 0; r < R; r++) s[m][r] += __shfl_xor_sync(ALL_LANES, s[m + h][r ^ h % R], h * APART);
#pragma unroll
        for (int o = Q; o < LANES; o *= 2) {
            float other[R];
#pragma unroll
            for (int r = 0; r < R; r++) other[r] = __shfl_xor_sync(ALL_LANES, s[0][r ^ o % R], o * APART);
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
