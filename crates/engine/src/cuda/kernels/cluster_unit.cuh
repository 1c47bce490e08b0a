// The backward scan of cluster.cuh: the per-unit part.

// Gradients of a step of a unit: of its pre-activations, and of the input's part where that differs.
struct Gradients {
    float a[4], dx[3];
};

// Computes the gradients of a step from those of u and c.
#if CELL == LSTM
struct Slopes {
    LstmSlopes of;
    __device__ __forceinline__ void prepare(float4 gates, float c, float c_prev, float,
                                            const float p[3], float saturation, float writing) {
        Lstm s = {gates.x, gates.y, gates.z, gates.w, c, 0.0f};
        of = lstm_slopes(HARD_GATES, s, p, c_prev, saturation, writing);
    }
    __device__ __forceinline__ float back(float du, float dc, float, float, Gradients &grads) const {
        return of.back(GATE_PENALTY, du, dc, grads.a);
    }
};
#else
struct Slopes {
    Gru of;
    float h;
    __device__ __forceinline__ void prepare(float4 gates, float, float, float h_prev, const float[3],
                                            float, float) {
        of = {gates.x, gates.y, gates.z, gates.w, 0.0f};
        h = h_prev;
    }
    __device__ __forceinline__ float back(float du, float, float saturation, float writing,
                                          Gradients &grads) const {
        gru_backward(HARD_GATES, of, h, saturation, writing, du, grads.dx, grads.a);
        return 0.0f;
    }
};
#endif

// The saved values of a step of a unit and its output gradients. They are loaded a step before they are
// used.
struct SavedStep {
    float4 gates;
    float c, c_prev, h_prev, u, read, du_out, dh_out, dc_out;
    __device__ __forceinline__ void prefetch(const ClusterArgs &p, const RowGroup &g, int t) {
        u = 0.0f, du_out = 0.0f, dh_out = 0.0f, dc_out = 0.0f;
        if (!g.active || t < 0 || t >= g.length) return;
        long long at = (g.first + t) * D + g.unit;
        gates = p.gates[at];
        if (COMMITMENT) u = p.scan.u[at];
        if (SUMS_INPUT_WEIGHTS) read = p.vectors[g.first + t];
        if (CELL == LSTM) {
            c = t + 1 < g.length ? c_prev : p.scan.c[at];
            c_prev = t > 0 ? p.scan.c[at - D] : 0.0f;
        } else {
            h_prev = p.scan.gru_state[at];
        }
        if (!p.scan.out_every_step && t + 1 < g.length) return;
        int row = g.row;
        compute_here(row);
        const float *dh = output_grad(p.scan, p.scan.dh_out, g.first, t, g.length, row);
        const float *du = output_grad(p.scan, p.scan.du_out, g.first, t, g.length, row);
        const float *dc = output_grad(p.scan, p.scan.dc_out, g.first, t, g.length, row);
        bool moves = (K > 0 || MIXED > 0) && !(END && t + 1 == g.length);
        if (du) du_out = du[g.unit];
        if (dh && !moves) dh_out = dh[g.unit];
        if (MIXED > 0 && dh && moves) dh_out = (1.0f - p.scan.coefficients->lambda) * dh[g.unit];
        if (dc) dc_out = dc[g.unit];
    }
};

// The output gradient of h at step t. At a step without a transition it belongs to u, and this is zero.
__device__ __forceinline__ float dh_from_output(const ClusterArgs &p, const RowGroup &g, int t) {
    bool moves = !(END && t + 1 == g.length);
    if (!g.active || t < 0 || t >= g.length || !moves) return 0.0f;
    int row = g.row;
    compute_here(row);
    const float *out = output_grad(p.scan, p.scan.dh_out, g.first, t, g.length, row);
    return out ? out[g.unit] : 0.0f;
}

// Sums over the steps of a unit.
struct UnitSums {
    float bias[4], candidate, peephole[3], w[4];
    double commitment_sum, entropy_sum, saturation_sum, writing_sum;
    __device__ __forceinline__ void add(const Gradients &grads, float c, float c_prev, float read) {
#pragma unroll
        for (int b = 0; b < NI; b++) {
            float in = CELL == LSTM ? grads.a[b] : grads.dx[b % 3];
            bias[b] += in;
            if (SUMS_INPUT_WEIGHTS) w[b] = fmaf(in, read, w[b]);
        }
        if (CELL == LSTM) {
            peephole[0] = fmaf(grads.a[0], c_prev, peephole[0]);
            peephole[1] = fmaf(grads.a[1], c_prev, peephole[1]);
            peephole[2] = fmaf(grads.a[3], c, peephole[2]);
        } else {
            candidate += grads.a[2];
        }
    }
    __device__ __forceinline__ void add_gate_terms(float4 gates) {
        float gap = unsaturated(gates.x) + unsaturated(gates.y) + unsaturated_candidate(gates.z);
        saturation_sum += CELL == LSTM ? gap + unsaturated(gates.w) : gap;
        writing_sum += CELL == LSTM ? gates.x : 1.0f - gates.y;
    }
    // Stores the sums over the rows of each unit, added in order.
    __device__ __forceinline__ void store(const ClusterArgs &p, const RowGroup &g, unsigned rank) {
        float *by_row = (float *)dynamic_shared;
        float mine[SUMS] = {bias[0],     bias[1],     bias[2], bias[3], candidate, peephole[0],
                            peephole[1], peephole[2], w[0],    w[1],    w[2],      w[3]};
        if (g.j < U && threadIdx.x % GATHER_LANES < R)
#pragma unroll
            for (int b = 0; b < SUMS; b++) by_row[(b * U + g.j) * R + g.r] = mine[b];
        __syncthreads();
        for (int e = threadIdx.x; e < SUMS * U; e += THREADS) {
            int unit = rank * U + e % U;
            if (unit >= D) continue;
            float sum = 0.0f;
            for (int r = 0; r < R; r++) sum += by_row[e * R + r];
            p.scan.sums[((long long)(blockIdx.x / C) * SUMS + e / U) * D + unit] = sum;
        }
        __shared__ double scratch[WARP];
        double commitment = COMMITMENT ? block_sum(commitment_sum, scratch) : 0.0;
        double loss_terms[LOSS_TERMS] = {commitment, block_sum(entropy_sum, scratch),
                                         block_sum(saturation_sum, scratch),
                                         block_sum(writing_sum, scratch)};
#pragma unroll
        for (int m = 0; m < LOSS_TERMS; m++)
            if (threadIdx.x == 0) p.scan.loss_terms[blockIdx.x * LOSS_TERMS + m] = loss_terms[m];
    }
};

// Stores the gradients of step t of a unit.
__device__ __forceinline__ void store_step(const ClusterArgs &p, const RowGroup &g, int t,
                                           const Gradients &grads) {
    if (!g.active || t >= g.length) return;
    long long n = g.first + t;
#pragma unroll
    for (int b = 0; b < MB; b++)
        if (CELL != LSTM) p.scan.da_state[(n * MB + b) * D + g.unit] = grads.a[b];
#pragma unroll
    for (int b = 0; b < NI; b++)
        p.scan.da_in[(n * NI + b) * D + g.unit] = CELL == LSTM ? grads.a[b] : grads.dx[b % 3];
    if (MIXED == 0 && p.scan.d_mixture) p.scan.d_mixture[n * D + g.unit] = dh_from_output(p, g, t);
}
