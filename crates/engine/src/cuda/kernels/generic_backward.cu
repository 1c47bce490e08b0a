// The backward scan of the generic kernels (generic_forward.cu).

// The backward pass of the transition up to the scores. On return `du` holds the gradient of u without
// the scores' part, `scores` the gradients of the scores (Euclidean: slopes along u − s).
template <int R>
__device__ void transition_backward(const ScanArgs &p, const Rows<R> &rows, int t, const float *dv,
                                    const float *dh_direct, float *mixture, float *du, float *scores,
                                    float *alpha, float *lengths, double &commitment_sum,
                                    double &entropy_sum) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP, d = p.d;
    LayerCoefficients coefficients = *p.coefficients;
    bool mixture_used = !p.low_rank || p.dh_out || p.has_commitment;
    for (int at = threadIdx.x; at < R * p.k; at += blockDim.x)
        if (rows.has(at / p.k, t)) alpha[at] = p.alpha[(rows.first[at / p.k] + t) * p.k + at % p.k];
    __syncthreads();
    for (int j = threadIdx.x; j < d; j += blockDim.x)
        for (int r = 0; r < R; r++) {
            if (!rows.has(r, t)) continue;
            long long n = rows.first[r] + t;
            const float *dh_out =
                output_grad(p, p.dh_out, rows.first[r], t, rows.length[r], rows.row[r]);
            const float *du_out =
                output_grad(p, p.du_out, rows.first[r], t, rows.length[r], rows.row[r]);
            float dh = (dh_out ? dh_out[j] : 0.0f) +
                       (p.low_rank ? 0.0f : dv[r * d + j] + dh_direct[r * d + j]);
            float own = du_out ? du_out[j] : 0.0f, pull = 0.0f;
            if (rows.stochastic(p, r, t)) {
                own = fmaf(1.0f - coefficients.lambda, dh, own);
                pull = coefficients.lambda * dh;
                if (p.has_commitment) {
                    float gap = p.u[n * d + j];
                    for (int i = 0; i < p.k; i++) gap = fmaf(-alpha[r * p.k + i], p.s[i * d + j], gap);
                    commitment_sum += (double)gap * gap;
                    pull = fmaf(-2.0f * coefficients.commitment, gap, pull);
                    own = fmaf(2.0f * coefficients.commitment, gap, own);
                }
            } else {
                own += dh;
            }
            du[r * d + j] = own;
            mixture[r * d + j] = pull;
            if (p.d_mixture) p.d_mixture[n * d + j] = pull;
        }
    if (p.k == 0) return;
    __syncthreads();
    for (int at = warp; at < R * p.k; at += warps) {
        int r = at / p.k, i = at % p.k;
        if (!rows.stochastic(p, r, t)) continue;
        const float *s = p.s + i * d, *u = p.u + (rows.first[r] + t) * d;
        float sum = 0.0f, square = 0.0f;
        if (mixture_used)
            for (int j = lane; j < d; j += WARP) sum = fmaf(mixture[r * d + j], s[j], sum);
        if (p.euclidean)
            for (int j = lane; j < d; j += WARP) square = fmaf(u[j] - s[j], u[j] - s[j], square);
        sum = warp_sum(sum), square = warp_sum(square);
        if (lane == 0) {
            scores[at] = sum + (p.low_rank ? dv[at] : 0.0f);
            lengths[at] = sqrtf(square);
        }
    }
    __syncthreads();
    for (int r = warp; r < R; r += warps) {
        if (!rows.has(r, t)) continue;
        bool transitions = rows.stochastic(p, r, t);
        float *dz = scores + r * p.k, *a = alpha + r * p.k, mean = 0.0f, entropy = 0.0f;
        for (int i = lane; i < p.k; i += WARP) {
            if (transitions) mean = fmaf(a[i], dz[i], mean);
            if (p.has_entropy && a[i] > 0.0f) entropy = fmaf(-a[i], logf(a[i]), entropy);
        }
        mean = warp_sum(mean), entropy = warp_sum(entropy);
        if (lane == 0 && transitions) entropy_sum += entropy;
        for (int i = lane; i < p.k; i += WARP) {
            float slope = 0.0f;
            if (transitions) {
                slope = a[i] * (dz[i] - mean);
                if (p.has_entropy && a[i] > 0.0f)
                    slope = fmaf(-coefficients.entropy * a[i], logf(a[i]) + entropy, slope);
                slope *= coefficients.inv_tau;
                if (p.euclidean)
                    slope = lengths[r * p.k + i] > 0.0f ? slope / lengths[r * p.k + i] : 0.0f;
            }
            dz[i] = slope;
            p.d_scores[(rows.first[r] + t) * ROUND_UP_4(p.k) + i] = slope;
        }
    }
}

// The complete gradient of u of a unit: `du` plus the scores' part.
__device__ __forceinline__ float complete_du(const ScanArgs &p, const float *scores, float u, float du,
                                             int j) {
    for (int i = 0; i < p.k; i++) {
        float s = p.s[i * p.d + j];
        du = p.euclidean ? fmaf(-scores[i], u - s, du) : fmaf(scores[i], s, du);
    }
    return du;
}

__device__ __forceinline__ void add_gate_terms(const float y[4], int gates, float written,
                                               double &saturation_sum, double &writing) {
    float sum = unsaturated_candidate(y[2]);
    for (int b = 0; b < gates; b++)
        if (b != 2) sum += unsaturated(y[b]);
    saturation_sum += sum;
    writing += written;
}

template <int R> __device__ void scan_backward(const ScanArgs &p, float *shared) {
    Rows<R> rows(p);
    int d = p.d, n = p.n, k = p.k, lane = threadIdx.x % WARP;
    int warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    float *dv = shared, *dh_direct = dv + R * n, *dc = dh_direct + R * d, *du = dc + R * d;
    float *mixture = du + R * d, *da = mixture + R * d, *scores = da + R * p.ns * d;
    float *alpha = scores + R * k, *lengths = alpha + R * k, *sums = lengths + R * k;
    int size = R * (n + (4 + p.ns) * d + 3 * k) + SUMS * d;
    for (int at = threadIdx.x; at < size; at += blockDim.x) shared[at] = 0.0f;
    __syncthreads();
    LayerCoefficients coefficients = *p.coefficients;
    float saturation = p.gate_penalty ? coefficients.saturation : 0.0f,
          writes = p.gate_penalty ? coefficients.writing : 0.0f;
    double loss_terms[LOSS_TERMS] = {};
    for (int t = rows.length[0] - 1; t >= 0; t--) {
        transition_backward<R>(p, rows, t, dv, dh_direct, mixture, du, scores, alpha, lengths,
                               loss_terms[0], loss_terms[1]);
        __syncthreads();
        if (p.cell == GRU_BEFORE) {
            // The candidate first: the reset gate inside it needs a matrix product of its own.
            for (int j = threadIdx.x; j < d; j += blockDim.x)
                for (int r = 0; r < R; r++) {
                    if (!rows.has(r, t)) continue;
                    long long at = rows.first[r] + t;
                    const float *y = p.gates + at * 4 * d + j;
                    float full = complete_du(p, scores + r * k, p.u[at * d + j], du[r * d + j], j);
                    du[r * d + j] = full;
                    mixture[r * d + j] = candidate_backward(saturation, y[2 * d], full * (1.0f - y[d]));
                }
            __syncthreads();
            for (int i = warp; i < d; i += warps)
                for (int r = 0; r < R; r++) {
                    float sum = 0.0f;
                    for (int j = lane; j < d; j += WARP)
                        sum = fmaf(mixture[r * d + j], p.candidate[i * d + j], sum);
                    sum = warp_sum(sum);
                    if (lane == 0) dh_direct[r * d + i] = sum;
                }
            __syncthreads();
        }
        for (int j = threadIdx.x; j < d; j += blockDim.x)
            for (int r = 0; r < R; r++) {
                if (!rows.has(r, t)) continue;
                long long at = rows.first[r] + t;
                const float *y = p.gates + at * 4 * d + j;
                float saved[4] = {y[0], y[d], y[2 * d], y[3 * d]}, a[4], *state = da + r * p.ns * d + j;
                float *in = p.da_in + at * p.ni * d + j;
                if (p.cell == LSTM) {
                    const float *dc_out =
                        output_grad(p, p.dc_out, rows.first[r], t, rows.length[r], rows.row[r]);
                    float full = complete_du(p, scores + r * k, p.u[at * d + j], du[r * d + j], j),
                          w[3];
                    float c = p.c[at * d + j], c_prev = 0.0f;
                    if (t > 0)
                        c_prev = p.c[(at - 1) * d + j];
                    else if (p.c_first)
                        c_prev = p.c_first[(long long)rows.row[r] * d + j];
                    Lstm s = {saved[0], saved[1], saved[2], saved[3], c, 0.0f};
                    peepholes(p, j, w);
                    dc[r * d + j] = lstm_backward(p.hard, s, w, c_prev, saturation, writes, full,
                                                  dc[r * d + j] + (dc_out ? dc_out[j] : 0.0f), a);
                    for (int b = 0; b < 4; b++) {
                        state[b * d] = in[b * d] = a[b];
                        sums[(SUM_BIAS + b) * d + j] += a[b];
                    }
                    sums[SUM_PEEPHOLE * d + j] += a[0] * c_prev;
                    sums[(SUM_PEEPHOLE + 1) * d + j] += a[1] * c_prev;
                    sums[(SUM_PEEPHOLE + 2) * d + j] += a[3] * c;
                    if (p.gate_penalty)
                        add_gate_terms(saved, 4, saved[0], loss_terms[2], loss_terms[3]);
                    continue;
                }
                float h_prev =
                    p.cell == GRU_BEFORE ? p.carry_in[at * ROUND_UP_4(n) + j] : p.gru_state[at * d + j];
                float full = du[r * d + j], back[4] = {};
                if (p.cell == GRU_BEFORE) {
                    float drh = dh_direct[r * d + j];
                    a[2] = mixture[r * d + j];
                    a[0] = gate_backward(p.hard, saturation, saved[0], drh * h_prev);
                    a[1] = gate_backward(p.hard, saturation, saved[1],
                                         fmaf(full, h_prev - saved[2], -writes));
                    back[0] = a[0], back[1] = a[1];
                    dh_direct[r * d + j] = fmaf(full, saved[1], drh * saved[0]);
                } else {
                    full = complete_du(p, scores + r * k, p.u[at * d + j], full, j);
                    Gru s = {saved[0], saved[1], saved[2], saved[3], 0.0f};
                    gru_backward(p.hard, s, h_prev, saturation, writes, full, a, back);
                    sums[SUM_CANDIDATE * d + j] += back[2];
                    dh_direct[r * d + j] = p.low_rank ? 0.0f : back[3];
                }
                for (int b = 0; b < p.ns; b++) state[b * d] = back[b];
                for (int b = 0; b < 3; b++) {
                    in[b * d] = a[b];
                    sums[(SUM_BIAS + b) * d + j] += a[b];
                }
                if (p.da_state)
                    for (int b = 0; b < p.ns; b++) p.da_state[at * p.ns * d + b * d + j] = state[b * d];
                if (p.gate_penalty)
                    add_gate_terms(saved, 2, 1.0f - saved[1], loss_terms[2], loss_terms[3]);
            }
        __syncthreads();
        for (int i = warp; i < n; i += warps) {
            float sum[R] = {};
            for (int j = lane; j < p.ns * d; j += WARP) {
                float w = p.m[(long long)i * p.ns * d + j];
                for (int r = 0; r < R; r++) sum[r] = fmaf(da[r * p.ns * d + j], w, sum[r]);
            }
            for (int r = 0; r < R; r++) {
                float all = warp_sum(sum[r]);
                if (lane == 0) dv[r * n + i] = all;
            }
        }
        __syncthreads();
    }
    for (int at = threadIdx.x; at < SUMS * d; at += blockDim.x)
        p.sums[(long long)blockIdx.x * SUMS * d + at] = sums[at];
    __shared__ double scratch[WARP];
    for (int m = 0; m < LOSS_TERMS; m++) {
        double sum = block_sum(loss_terms[m], scratch);
        if (threadIdx.x == 0) p.loss_terms[blockIdx.x * LOSS_TERMS + m] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(512) generic_backward_1(ScanArgs p) {
    scan_backward<1>(p, shared);
}
extern "C" __global__ void __launch_bounds__(512) generic_backward_4(ScanArgs p) {
    scan_backward<4>(p, shared);
}
