// Sums that several lanes share: those of a unit (Gather), and those that are broadcast to all blocks
// of a cluster (BroadcastSum).

// Neighbouring numbers of one row would fall into one bank, so they are rotated further.
__device__ __forceinline__ constexpr int bank_rotation(int i) {
    return K > 0 && R <= 4 ? i * R / WARP % R : 0;
}

// Index of row r of a number: in a vector that broadcast sums read, in one that units gather from, and
// among broadcast sums.
__device__ __forceinline__ int rotated_index(int e, int r) { return e * R + (r ^ e / PAIR % R); }
__device__ __forceinline__ int gather_index(int i, int r) {
    return i * R + (r ^ i / PAIR % R ^ bank_rotation(i));
}
__device__ __forceinline__ int broadcast_index(int i, int r) {
    return i * R + (r ^ i % Q % R ^ bank_rotation(i));
}

// Loads the R rows of PAIR numbers.
__device__ __forceinline__ void load_rows(const float *x, float v[PAIR * R]) {
#pragma unroll
    for (int q = 0; q < PAIR * R; q += 4) {
        float4 four = *(const float4 *)(x + q);
        v[q] = four.x, v[q + 1] = four.y, v[q + 2] = four.z, v[q + 3] = four.w;
    }
}

// The weights of a lane: N groups of M, REGISTERS of them in registers and the others in shared memory,
// interleaved over threads. The two kinds alternate, so that loads complete while products with
// registers are computed.
template <int N, int REGISTERS, int M> struct SplitWeights {
    float in_registers[REGISTERS > 0 ? REGISTERS : 1][M];
    const float *in_shared;
    __device__ __forceinline__ static constexpr int shared_floats() {
        return (N - REGISTERS) * THREADS * M;
    }
    // Number of the first q groups that are in shared memory, and the index of the e-th group there.
    __device__ __forceinline__ static constexpr int output_grad(int q) {
        return q * (N - REGISTERS) / N;
    }
    __device__ __forceinline__ static constexpr int shared_to_all(int e) {
        return CEIL((e + 1) * N, N - REGISTERS) - 1;
    }
    // Groups of four are contiguous, those of neighbouring threads adjacent.
    __device__ __forceinline__ static int shared_index(int m) {
        return M % 4 == 0 ? (m / 4 * THREADS + threadIdx.x) * 4 + m % 4 : threadIdx.x * M + m;
    }
    // Fills in the weights of(q, m).
    template <typename F> __device__ __forceinline__ void fill(float *shared, F of) {
        in_shared = shared + threadIdx.x * (M % 4 == 0 ? 4 : M);
#pragma unroll
        for (int q = 0; q < N; q++)
            if (output_grad(q + 1) == output_grad(q))
#pragma unroll
                for (int m = 0; m < M; m++) in_registers[q - output_grad(q)][m] = of(q, m);
        if constexpr (REGISTERS < N)
            for (int e = 0; e < N - REGISTERS; e++)
                for (int m = 0; m < M; m++)
                    shared[e * THREADS * M + shared_index(m)] = of(shared_to_all(e), m);
    }
    __device__ __forceinline__ void get(int q, float w[M]) const {
        if (output_grad(q + 1) == output_grad(q)) {
#pragma unroll
            for (int m = 0; m < M; m++) w[m] = in_registers[q - output_grad(q)][m];
            return;
        }
        const float *at = in_shared + output_grad(q) * THREADS * M;
        if (M % 4 == 0) {
#pragma unroll
            for (int m = 0; m < M; m += 4) {
                float4 four = *(const float4 *)(at + m * THREADS);
                w[m] = four.x, w[(m + 1) % M] = four.y, w[(m + 2) % M] = four.z,
                w[(m + 3) % M] = four.w;
            }
        } else {
#pragma unroll
            for (int m = 0; m < M; m++) w[m] = at[m];
        }
    }
};

// Lanes that share the sums of UNITS neighbouring units, GATHER_LANES each. A lane uses what it loads
// for all of these units; then sums are exchanged until each lane has those of its own unit.
template <int UNITS> struct Gather {
    static constexpr int LANES = GATHER_LANES * UNITS, N = PARTS(CARRIED, LANES);
    // The q-th number and the a-th unit of this lane.
    __device__ __forceinline__ static int number(int q) {
        return (q / PAIR * LANES + threadIdx.x % LANES) * PAIR + q % PAIR;
    }
    __device__ __forceinline__ static int unit(int a) {
        return threadIdx.x / LANES * UNITS + (a ^ threadIdx.x % LANES / GATHER_LANES);
    }

    // sum[m] = Σ_i w[.][m] x[i] of this lane's unit and row. Weights are those of its units in turn; x
    // is [N * LANES][R].
    template <int REGISTERS, int M>
    __device__ __forceinline__ static void add(const SplitWeights<N, REGISTERS, UNITS * M> &weights,
                                               const float *x, float sum[M]) {
        float s[UNITS * M][R] = {}, v[PAIR * R], w[UNITS * M];
#pragma unroll
        for (int q = 0; q < N; q++) {
            if (q % PAIR == 0) load_rows(x + number(q) * R, v);
            weights.get(q, w);
#pragma unroll
            for (int r = 0; r < R; r++)
#pragma unroll
                for (int m = 0; m < UNITS * M; m++)
                    s[m][r] = fmaf(w[m], v[q % PAIR * R + (r ^ bank_rotation(q / PAIR * LANES * PAIR))],
                                   s[m][r]);
        }
#pragma unroll
        for (int h = UNITS * M / 2; h >= M; h /= 2)
#pragma unroll
            for (int m = 0; m < h; m++)
#pragma unroll
                for (int r = 0; r < R; r++)
                    s[m][r] += __shfl_xor_sync(ALL_LANES, s[m + h][r], h / M * GATHER_LANES);
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
            for (int o = R; o < GATHER_LANES; o *= 2) s[m][0] += __shfl_xor_sync(ALL_LANES, s[m][0], o);
            sum[m] = s[m][0];
        }
    }
};

// The sum of all numbers of this lane's row; x is [N][R]. The order, and so the result, is the same in
// every warp of the cluster.
template <int N> __device__ __forceinline__ float row_sum(const float *x) {
    const int pairs = N / PAIR;
    int lane = threadIdx.x % WARP, mine = lane ^ bank_rotation(lane * PAIR);
    float s[R] = {}, v[PAIR * R];
#pragma unroll
    for (int n = 0; n < pairs; n += WARP)
        if (n + mine < pairs) {
            load_rows(x + (n + mine) * PAIR * R, v);
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

// Forces a value to be computed here, neither earlier nor after a branch, where its operands would cost
// registers and time.
__device__ __forceinline__ void compute_here(float &x) { asm volatile("" : "+f"(x)); }
__device__ __forceinline__ void compute_here(int &x) { asm volatile("" : "+r"(x)); }

// The part of a lane in Q broadcast sums that LANES lanes share. Lanes that share different sums but
// load the same numbers are neighbours, so that their loads coalesce.
template <int LANES> struct BroadcastSum {
    static constexpr int APART = WARP / LANES;
    int first, p, index;
    __device__ __forceinline__ BroadcastSum() {
        first = (threadIdx.x / WARP * APART + threadIdx.x % APART) * Q, p = threadIdx.x % WARP / APART;
        index = first + p % Q;
    }
    // The q-th number that this lane adds, and its m-th sum.
    __device__ __forceinline__ int of(int q) const {
        return (q / PAIR * LANES + (p ^ bank_rotation(first))) * PAIR + q % PAIR;
    }
    __device__ __forceinline__ int sum(int m) const { return first + (m ^ p % Q); }

    // s[m][.] += Σ_e w[.][m] x[e]; x is [N * LANES][R].
    template <typename W, int N>
    __device__ __forceinline__ void add(const W &weights, const float *x, float s[Q][R]) const {
        float v[PAIR * R], w[Q];
#pragma unroll
        for (int q = 0; q < N; q++) {
            if (q % PAIR == 0) load_rows(x + of(q) * R, v);
            weights.get(q, w);
#pragma unroll
            for (int r = 0; r < R; r++)
#pragma unroll
                for (int m = 0; m < Q; m++)
                    s[m][r] = fmaf(w[m], v[q % PAIR * R + (r ^ q / PAIR * LANES % R)], s[m][r]);
        }
    }
    // Leaves sum `index` in s[0]: row r in element r ^ p ^ bank_rotation(first).
    __device__ __forceinline__ void reduce(float s[Q][R]) const {
#pragma unroll
        for (int h = Q / 2; h > 0; h /= 2)
#pragma unroll
            for (int m = 0; m < h; m++)
#pragma unroll
                for (int r = 0; r < R; r++)
                    s[m][r] += __shfl_xor_sync(ALL_LANES, s[m + h][r ^ h % R], h * APART);
#pragma unroll
        for (int o = Q; o < LANES; o *= 2) {
            float from_lane[R];
#pragma unroll
            for (int r = 0; r < R; r++)
                from_lane[r] = __shfl_xor_sync(ALL_LANES, s[0][r ^ o % R], o * APART);
#pragma unroll
            for (int r = 0; r < R; r++) s[0][r] += from_lane[r];
        }
    }
    // Sends the rows of sum `index` to block `to`, to the same address as `here`.
    __device__ __forceinline__ void send_to(const float s[R], unsigned here, unsigned barrier,
                                            unsigned to) const {
        unsigned there = address_in_block(here, to), barrier_there = address_in_block(barrier, to);
        int swapped = p & (R - 1) & ~(Q - 1);
#pragma unroll
        for (int q = 0; q < R; q += VECTOR) send_async(there + 4 * (q ^ swapped), s + q, barrier_there);
    }
    // Sends to all blocks; lanes with the same sum share the blocks.
    __device__ __forceinline__ void send_to_all(const float s[R], unsigned here,
                                                unsigned barrier) const {
        for (int to = p / Q; to < C; to += LANES / Q) send_to(s, here, barrier, to);
    }
};
