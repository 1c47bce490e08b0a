// `cluster.cuh`, backward: what a thread that makes a unit knows of its steps.

// Gradients of a step of a unit: of its blocks' sums, and of what the input feeds, where it differs.
struct Gradients {
    float a[4], dx[3];
};

// What makes gradients of a step out of those of u and c.
#if CELL == LSTM
struct Slopes {
    LstmSlopes of;
    __device__ __forceinline__ void prepare(float4 gates, float c, float c_prev, float, const float p[3],
                                            float saturation, float writing) {
        Lstm s = {gates.x, gates.y, gates.z, gates.w, c, 0.0f};
        of = lstm_slopes(HARD, s, p, c_prev, saturation, writing);
    }
    __device__ __forceinline__ float back(float du, float dc, float, float, Gradients &made) const {
        return of.back(PRESSES, du, dc, made.a);
    }
};
#else
struct Slopes {
    Gru of;
    float h;
    __device__ __forceinline__ void prepare(float4 gates, float, float, float before, const float[3], float, float) {
        of = {gates.x, gates.y, gates.z, gates.w, 0.0f};
        h = before;
    }
    __device__ __forceinline__ float back(float du, float, float saturation, float writing, Gradients &made) const {
        gru_back(HARD, of, h, saturation, writing, du, made.dx, made.a);
        return 0.0f;
    }
};
#endif

// What forward kept of a step of a unit, and gradients that reach it from outside. It is asked for a
// step before it is used.
struct Step {
    float4 gates;
    float c, c_prev, before, read, du_out, dh_out, dc_out;
    __device__ __forceinline__ void ask(const Cluster &p, const Group &g, int t) {
        du_out = 0.0f, dh_out = 0.0f, dc_out = 0.0f;
        if (!g.makes || t < 0 || t >= g.length) return;
        long long at = (g.first + t) * D + g.unit;
        gates = p.gates[at];
        if (WEIGHS_INPUT) read = p.vectors[g.first + t];
        if (CELL == LSTM) {
            c = t + 1 < g.length ? c_prev : p.scan.c[at];
            c_prev = t > 0 ? p.scan.c[at - D] : 0.0f;
        } else {
            before = p.scan.extra[at];
        }
        if (!p.scan.out_every && t + 1 < g.length) return;
        int row = g.row;
        made_here(row);
        const float *dh = outside(p.scan, p.scan.dh_out, g.first, t, g.length, row);
        const float *du = outside(p.scan, p.scan.du_out, g.first, t, g.length, row);
        const float *dc = outside(p.scan, p.scan.dc_out, g.first, t, g.length, row);
        bool moves = K > 0 && !(END && t + 1 == g.length);
        if (du) du_out = du[g.unit];
        if (dh && !moves) dh_out = dh[g.unit];
        if (dc) dc_out = dc[g.unit];
    }
};

// What reaches h of step t from outside; at a step that takes no stochastic one it goes to u.
__device__ __forceinline__ float outer_of(const Cluster &p, const Group &g, int t) {
    bool moves = !(END && t + 1 == g.length);
    if (!g.makes || t < 0 || t >= g.length || !moves) return 0.0f;
    int row = g.row;
    made_here(row);
    const float *out = outside(p.scan, p.scan.dh_out, g.first, t, g.length, row);
    return out ? out[g.unit] : 0.0f;
}

// Sums over the steps of a unit.
struct Sums {
    float bias[4], candidate, peephole[3], w[4];
    double disordered, unsaturation, written;
    __device__ __forceinline__ void add(const Gradients &made, float c, float c_prev, float read) {
#pragma unroll
        for (int b = 0; b < NI; b++) {
            float in = CELL == LSTM ? made.a[b] : made.dx[b % 3];
            bias[b] += in;
            if (WEIGHS_INPUT) w[b] = fmaf(in, read, w[b]);
        }
        if (CELL == LSTM) {
            peephole[0] = fmaf(made.a[0], c_prev, peephole[0]);
            peephole[1] = fmaf(made.a[1], c_prev, peephole[1]);
            peephole[2] = fmaf(made.a[3], c, peephole[2]);
        } else {
            candidate += made.a[2];
        }
    }
    __device__ __forceinline__ void add_pressed(float4 gates) {
        float far = unsaturated(gates.x) + unsaturated(gates.y) + unsaturated_candidate(gates.z);
        unsaturation += CELL == LSTM ? far + unsaturated(gates.w) : far;
        written += CELL == LSTM ? gates.x : 1.0f - gates.y;
    }
    // Leaves the sums of the rows of each unit, added in order.
    __device__ __forceinline__ void keep(const Cluster &p, const Group &g, unsigned rank) {
        float *sums_of = (float *)dynamic_room;
        float mine[SUMS] = {bias[0], bias[1], bias[2], bias[3], candidate, peephole[0], peephole[1],
                            peephole[2], w[0], w[1], w[2], w[3]};
        if (g.j < U && threadIdx.x % GATHER < R)
#pragma unroll
            for (int b = 0; b < SUMS; b++) sums_of[(b * U + g.j) * R + g.r] = mine[b];
        __syncthreads();
        for (int e = threadIdx.x; e < SUMS * U; e += THREADS) {
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
            if (threadIdx.x == 0) p.scan.measured[blockIdx.x * MEASURED + m] = measured[m];
    }
};

// Leaves the gradients of step t of a unit.
__device__ __forceinline__ void keep_step(const Cluster &p, const Group &g, int t, const Gradients &made) {
    if (!g.makes || t >= g.length) return;
    long long n = g.first + t;
#pragma unroll
    for (int b = 0; b < NB; b++)
        if (CELL != LSTM) p.scan.da_state[(n * NB + b) * D + g.unit] = made.a[b];
#pragma unroll
    for (int b = 0; b < NI; b++)
        p.scan.da_in[(n * NI + b) * D + g.unit] = CELL == LSTM ? made.a[b] : made.dx[b % 3];
    if (p.scan.d_mixture) p.scan.d_mixture[n * D + g.unit] = outer_of(p, g, t);
}
