// Cells without centroids and with few units. A block carries one row after another; a thread holds a
// row (backward: a column) of R in registers. Compiled for each layer with the macros D, CELL (LSTM or
// GRU_AFTER), HARD_GATES, PEEPHOLE.

#define NB (CELL == LSTM ? 4 : 3)
#define DP ((D + 3) / 4 * 4)
#define THREADS ((NB * D + WARP - 1) / WARP * WARP)

// The thread's weights times a vector in shared memory, padded with zeros.
__device__ __forceinline__ float dot(const float w[DP], const float *x) {
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

extern "C" __global__ void __launch_bounds__(THREADS, 1) vanilla_forward(ScanArgs p) {
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
        float c = 0.0f, h_own = 0.0f;
        // The row of x of step t.
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
            float sum = dot(w, h);
            // A GRU's reset gate acts between the two parts of its candidate.
            bool recurrent_alone = CELL != LSTM && id >= 2 * D;
            if (id < NB * D) blocks[id] = recurrent_alone ? sum : sum + now;
            __syncthreads();
            float candidate = now;
            if (CELL != LSTM) {
                // The threads of the first gate block compute the units; other threads hold the input's
                // part of the candidate.
                candidate =
                    id < D ? p.x[(p.places ? (long long)p.places[n] : n) * NB * D + 2 * D + j] : 0.0f;
            }
            if (id < D) {
                if (p.carry_in) p.carry_in[n * ROUND_UP_4(D) + j] = h_own;
                float4 saved;
                if (CELL == LSTM) {
                    float a[4];
#pragma unroll
                    for (int b = 0; b < 4; b++) a[b] = blocks[b * D + j];
                    Lstm s = lstm(HARD_GATES, a, peephole, c);
                    c = s.c, h_own = s.u;
                    saved = make_float4(s.i, s.f, s.g, s.o);
                    p.c[n * D + j] = c;
                } else {
                    float in[3] = {0.0f, 0.0f, candidate};
                    float a[4] = {blocks[j], blocks[D + j], blocks[2 * D + j], h_own};
                    Gru s = gru(HARD_GATES, in, a, q_bias);
                    p.gru_state[n * D + j] = h_own;
                    h_own = s.u;
                    saved = make_float4(s.r, s.z, s.n, s.q);
                }
                h[j] = h_own;
                ((float4 *)p.gates)[n * D + j] = saved;
                p.u[n * D + j] = h_own;
                if (p.h) p.h[n * D + j] = h_own;
            }
            __syncthreads();
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) vanilla_backward(ScanArgs p) {
    __shared__ __align__(16) float da[NB][DP];
    __shared__ float parts[NB * D];
    int id = threadIdx.x, block = id / D, j = id % D;
    float w[DP];
    // Column j of the gate block's part of R.
#pragma unroll
    for (int i = 0; i < DP; i++)
        w[i] = i < D && id < NB * D ? p.m[(long long)j * NB * D + block * D + i] : 0.0f;
    float peephole[3] = {}, d_peephole[3] = {}, d_bias[4] = {}, d_candidate = 0.0f;
    if (PEEPHOLE && id < D)
        for (int b = 0; b < 3; b++) peephole[b] = p.peephole[b * D + j];
    for (int e = id; e < NB * DP; e += THREADS) ((float *)da)[e] = 0.0f;
    LayerCoefficients coefficients = *p.coefficients;
    float saturation = p.gate_penalty ? coefficients.saturation : 0.0f,
          writing = p.gate_penalty ? coefficients.writing : 0.0f;
    double saturation_sum = 0.0, writing_sum = 0.0;
    for (int at = blockIdx.x; at < p.rows; at += gridDim.x) {
        long long first;
        int length, row;
        find_row(p, at, first, length, row);
        float dc = 0.0f, dh_direct = 0.0f;
        for (int t = length - 1; t >= 0; t--) {
            long long n = first + t;
            float4 saved = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            float du = 0.0f, c = 0.0f, c_prev = 0.0f, h_prev = 0.0f;
            if (id < D) {
                saved = ((const float4 *)p.gates)[n * D + j];
                if (CELL == LSTM) {
                    c = p.c[n * D + j];
                    c_prev = t > 0 ? p.c[(n - 1) * D + j] : 0.0f;
                    const float *dc_out = output_grad(p, p.dc_out, first, t, length, row);
                    if (dc_out) dc += dc_out[j];
                } else {
                    h_prev = p.gru_state[n * D + j];
                }
                const float *dh_out = output_grad(p, p.dh_out, first, t, length, row);
                const float *du_out = output_grad(p, p.du_out, first, t, length, row);
                du = (dh_out ? dh_out[j] : 0.0f) + (du_out ? du_out[j] : 0.0f);
            }
            if (t + 1 < length) {
                float sum = dot(w, da[id < NB * D ? block : 0]);
                if (id < NB * D) parts[id] = sum;
            }
            __syncthreads();
            if (id < D) {
                if (t + 1 < length) {
#pragma unroll
                    for (int b = 0; b < NB; b++) du += parts[b * D + j];
                    du += dh_direct;
                }
                float a[4], dx[3];
                if (CELL == LSTM) {
                    Lstm s = {saved.x, saved.y, saved.z, saved.w, c, 0.0f};
                    dc = lstm_backward(HARD_GATES, s, peephole, c_prev, saturation, writing, du, dc, a);
                    d_peephole[0] = fmaf(a[0], c_prev, d_peephole[0]);
                    d_peephole[1] = fmaf(a[1], c_prev, d_peephole[1]);
                    d_peephole[2] = fmaf(a[3], c, d_peephole[2]);
                } else {
                    Gru s = {saved.x, saved.y, saved.z, saved.w, 0.0f};
                    gru_backward(HARD_GATES, s, h_prev, saturation, writing, du, dx, a);
                    dh_direct = a[3];
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
                if (p.gate_penalty) {
                    float gap =
                        unsaturated(saved.x) + unsaturated(saved.y) + unsaturated_candidate(saved.z);
                    saturation_sum += CELL == LSTM ? gap + unsaturated(saved.w) : gap;
                    writing_sum += CELL == LSTM ? saved.x : 1.0f - saved.y;
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
    __shared__ double scratch[WARP];
    double *loss_terms = p.loss_terms + blockIdx.x * LOSS_TERMS;
    saturation_sum = block_sum(saturation_sum, scratch), writing_sum = block_sum(writing_sum, scratch);
    if (id == 0)
        loss_terms[0] = loss_terms[1] = 0.0, loss_terms[2] = saturation_sum,
        loss_terms[3] = writing_sum;
}
