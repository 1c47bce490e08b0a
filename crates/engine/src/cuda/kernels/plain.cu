// Plain cells of few units: a block carries one row after another, a thread holds a row (backward:
// a column) of R in registers. Compiled for each layer: D, CELL (LSTM or GRU_AFTER), HARD, PEEPHOLE.

#define NB (CELL == LSTM ? 4 : 3)
#define DP ((D + 3) / 4 * 4)
#define THREADS ((NB * D + WARP - 1) / WARP * WARP)

// The thread's sum of weights times a vector in shared memory, padded with zeros.
__device__ __forceinline__ float product_with(const float w[DP], const float *x) {
    float sums[4] = {};
#pragma unroll
    for (int i = 0; i < DP; i += 4) {
        float4 four = *(const float4 *)(x + i);
        sums[0] = fmaf(w[i], four.x, sums[0]);
        sums[1] = fmaf(w[i + 1], four.y, sums[1]);
        sums[2] = fmaf(w[i + 2], four.z, sums[2]);
        sums[3] = fmaf(w[i + 3], four.w, sums[3]);
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) plain_forward(Scan p) {
    __shared__ __align__(16) float h[DP], blocks[NB * D];
    int id = threadIdx.x, j = id % D;
    float w[DP];
    // m [D][NB * D]: the transpose of R.
#pragma unroll
    for (int i = 0; i < DP; i++) w[i] = i < D && id < NB * D ? p.m[i * NB * D + id] : 0.0f;
    float peephole[3] = {}, q_bias = 0.0f;
    if (id < D) {
        if (PEEPHOLE)
            for (int b = 0; b < 3; b++) peephole[b] = p.peephole[b * D + j];
        if (p.q_bias) q_bias = p.q_bias[j];
    }
    for (int at = blockIdx.x; at < p.rows; at += gridDim.x) {
        long long first;
        int length, row;
        find_row(p, at, first, length, row);
        __syncthreads();
        if (id < DP) h[id] = 0.0f;
        float c = 0.0f, own = 0.0f;
        // The place of the next step's row of x, and of the one after it.
        auto place_of = [&](int t) {
            long long n = first + min(t, length - 1);
            return p.places ? (long long)p.places[n] : n;
        };
        auto x_of = [&](long long place) { return id < NB * D ? p.x[place * NB * D + id] : 0.0f; };
        long long place = length > 0 ? place_of(1) : 0;
        float x = length > 0 ? x_of(place_of(0)) : 0.0f;
        __syncthreads();
        for (int t = 0; t < length; t++) {
            long long n = first + t;
            float now = x;
            x = x_of(place);
            place = place_of(t + 2);
            float sum = product_with(w, h);
            // A GRU's reset gate acts between the two parts of its candidate.
            bool apart = CELL != LSTM && id >= 2 * D;
            if (id < NB * D) blocks[id] = apart ? sum : sum + now;
            __syncthreads();
            float candidate = now;
            if (CELL != LSTM) {
                // The threads of the first block make the units; what the input feeds into the
                // candidate is with others.
                candidate = id < D ? p.x[(p.places ? (long long)p.places[n] : n) * NB * D + 2 * D + j] : 0.0f;
            }
            if (id < D) {
                if (p.carry_in) p.carry_in[n * BY_FOURS(D) + j] = own;
                float4 kept;
                if (CELL == LSTM) {
                    float a[4];
#pragma unroll
                    for (int b = 0; b < 4; b++) a[b] = blocks[b * D + j];
                    Lstm s = lstm(HARD, a, peephole, c);
                    c = s.c, own = s.u;
                    kept = make_float4(s.i, s.f, s.g, s.o);
                    p.c[n * D + j] = c;
                } else {
                    float in[3] = {0.0f, 0.0f, candidate};
                    float a[4] = {blocks[j], blocks[D + j], blocks[2 * D + j], own};
                    Gru s = gru(HARD, in, a, q_bias);
                    p.extra[n * D + j] = own;
                    own = s.u;
                    kept = make_float4(s.r, s.z, s.n, s.q);
                }
                h[j] = own;
                ((float4 *)p.gates)[n * D + j] = kept;
                p.u[n * D + j] = own;
                if (p.h) p.h[n * D + j] = own;
            }
            __syncthreads();
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) plain_backward(Scan p) {
    __shared__ __align__(16) float da[NB][DP];
    __shared__ float parts[NB * D];
    int id = threadIdx.x, block = id / D, j = id % D;
    float w[DP];
    // Column j of the block's part of R.
#pragma unroll
    for (int i = 0; i < DP; i++)
        w[i] = i < D && id < NB * D ? p.m[(long long)j * NB * D + block * D + i] : 0.0f;
    float peephole[3] = {}, d_peephole[3] = {}, d_bias[4] = {}, d_candidate = 0.0f;
    if (PEEPHOLE && id < D)
        for (int b = 0; b < 3; b++) peephole[b] = p.peephole[b * D + j];
    for (int e = id; e < NB * DP; e += THREADS) ((float *)da)[e] = 0.0f;
    Press press = *p.press;
    float saturation = p.presses ? press.saturation : 0.0f, writing = p.presses ? press.writing : 0.0f;
    double unsaturation = 0.0, written = 0.0;
    for (int at = blockIdx.x; at < p.rows; at += gridDim.x) {
        long long first;
        int length, row;
        find_row(p, at, first, length, row);
        float dc = 0.0f, through = 0.0f;
        for (int t = length - 1; t >= 0; t--) {
            long long n = first + t;
            float4 kept = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            float du = 0.0f, c = 0.0f, c_prev = 0.0f, before = 0.0f;
            if (id < D) {
                kept = ((const float4 *)p.gates)[n * D + j];
                if (CELL == LSTM) {
                    c = p.c[n * D + j];
                    c_prev = t > 0 ? p.c[(n - 1) * D + j] : 0.0f;
                    const float *dc_out = outside(p, p.dc_out, first, t, length, row);
                    if (dc_out) dc += dc_out[j];
                } else {
                    before = p.extra[n * D + j];
                }
                const float *dh_out = outside(p, p.dh_out, first, t, length, row);
                const float *du_out = outside(p, p.du_out, first, t, length, row);
                du = (dh_out ? dh_out[j] : 0.0f) + (du_out ? du_out[j] : 0.0f);
            }
            if (t + 1 < length) {
                float sum = product_with(w, da[id < NB * D ? block : 0]);
                if (id < NB * D) parts[id] = sum;
            }
            __syncthreads();
            if (id < D) {
                if (t + 1 < length) {
#pragma unroll
                    for (int b = 0; b < NB; b++) du += parts[b * D + j];
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
                for (int b = 0; b < NB; b++) {
                    float in = CELL == LSTM ? a[b] : dx[b % 3];
                    da[b][j] = a[b];
                    d_bias[b] += in;
                    p.da_in[(n * NB + b) * D + j] = in;
                    if (CELL != LSTM) p.da_state[(n * NB + b) * D + j] = a[b];
                }
                if (p.presses) {
                    float far = unsaturated(kept.x) + unsaturated(kept.y) + unsaturated_candidate(kept.z);
                    unsaturation += CELL == LSTM ? far + unsaturated(kept.w) : far;
                    written += CELL == LSTM ? kept.x : 1.0f - kept.y;
                }
            }
            __syncthreads();
        }
    }
    if (id < D) {
        float *sums = p.sums + (long long)blockIdx.x * SUMS * D + j;
#pragma unroll
        for (int b = 0; b < 4; b++) sums[(SUM_BIAS + b) * D] = d_bias[b];
        sums[SUM_CANDIDATE * D] = d_candidate;
#pragma unroll
        for (int b = 0; b < 3; b++) sums[(SUM_PEEPHOLE + b) * D] = d_peephole[b];
    }
    __shared__ double room[WARP];
    double *measured = p.measured + blockIdx.x * MEASURED;
    unsaturation = block_sum(unsaturation, room), written = block_sum(written, room);
    if (id == 0) measured[0] = measured[1] = 0.0, measured[2] = unsaturation, measured[3] = written;
}
