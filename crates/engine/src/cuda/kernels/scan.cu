// Any layer: a block carries R rows through the whole sequence. Sizes are those of the call; what
// is fast for few centroids is in few.cuh.

// a[r][b] = sum over i of v[r][i] m[i][b][j].
template <int R, int NS>
__device__ __forceinline__ void blocks_of(const float *v, int n, const float *m, int d, int j,
                                          float a[R][4]) {
    for (int i = 0; i < n; i++) {
        float w[NS];
        for (int b = 0; b < NS; b++) w[b] = m[(i * NS + b) * d + j];
        for (int r = 0; r < R; r++) {
            float x = v[r * n + i];
            for (int b = 0; b < NS; b++) a[r][b] = fmaf(x, w[b], a[r][b]);
        }
    }
}

template <int R> struct Rows {
    long long first[R];
    int length[R], row[R];
    __device__ Rows(const Scan &p) {
        for (int r = 0; r < R; r++) find_row(p, blockIdx.x * R + r, first[r], length[r], row[r]);
    }
    __device__ bool has(int r, int t) const { return t < length[r]; }
    __device__ bool stochastic(const Scan &p, int r, int t) const {
        return has(r, t) && p.k > 0 && !(p.end && t + 1 == length[r]);
    }
};

__device__ __forceinline__ const float *input_row(const Scan &p, long long n) {
    return p.x + (p.places ? (long long)p.places[n] : n) * p.ni * p.d;
}

__device__ __forceinline__ void keep_gates(const Scan &p, long long n, int j, float a, float b,
                                           float c, float d) {
    float *to = p.gates + n * 4 * p.d + j;
    to[0] = a, to[p.d] = b, to[2 * p.d] = c, to[3 * p.d] = d;
}

__device__ __forceinline__ void peepholes(const Scan &p, int j, float w[3]) {
    for (int b = 0; b < 3; b++) w[b] = p.peephole ? p.peephole[b * p.d + j] : 0.0f;
}

// Cells of all units: from the carried vectors v to u (and c), both shared.
template <int R>
__device__ void cells(const Scan &p, const Rows<R> &rows, int t, const float *v, float *c, float *u,
                      float *rh) {
    int d = p.d;
    for (int j = threadIdx.x; j < d; j += blockDim.x) {
        float a[R][4] = {};
        if (p.ns == 4) blocks_of<R, 4>(v, p.n, p.m, d, j, a);
        else if (p.ns == 3) blocks_of<R, 3>(v, p.n, p.m, d, j, a);
        else blocks_of<R, 2>(v, p.n, p.m, d, j, a);
        for (int r = 0; r < R; r++) {
            if (!rows.has(r, t)) continue;
            long long n = rows.first[r] + t;
            const float *x = input_row(p, n) + j;
            if (p.cell == LSTM) {
                for (int b = 0; b < 4; b++) a[r][b] += x[b * d];
                float w[3];
                peepholes(p, j, w);
                Lstm s = lstm(p.hard, a[r], w, c[r * d + j]);
                c[r * d + j] = s.c;
                u[r * d + j] = s.u;
                p.c[n * d + j] = s.c;
                keep_gates(p, n, j, s.i, s.f, s.g, s.o);
            } else {
                if (p.cell == GRU_BEFORE) {
                    float reset = gate(p.hard, x[0] + a[r][0]), z = gate(p.hard, x[d] + a[r][1]);
                    rh[r * d + j] = reset * v[r * d + j];
                    keep_gates(p, n, j, reset, z, 0.0f, 0.0f);
                    p.extra[n * d + j] = rh[r * d + j];
                    continue;
                }
                float in[3] = {x[0], x[d], x[2 * d]};
                if (!p.low_rank) a[r][3] = v[r * d + j];
                Gru s = gru(p.hard, in, a[r], p.q_bias ? p.q_bias[j] : 0.0f);
                u[r * d + j] = s.u;
                p.extra[n * d + j] = a[r][3];
                keep_gates(p, n, j, s.r, s.z, s.n, s.q);
            }
        }
    }
    if (p.cell != GRU_BEFORE) return;
    __syncthreads();
    for (int j = threadIdx.x; j < d; j += blockDim.x) {
        float a[R] = {};
        for (int i = 0; i < d; i++) {
            float w = p.candidate[i * d + j];
            for (int r = 0; r < R; r++) a[r] = fmaf(rh[r * d + i], w, a[r]);
        }
        for (int r = 0; r < R; r++) {
            if (!rows.has(r, t)) continue;
            long long n = rows.first[r] + t;
            float *kept = p.gates + n * 4 * d + j;
            float z = kept[d], candidate = tanh_of(a[r] + input_row(p, n)[2 * d + j]);
            kept[2 * d] = candidate;
            u[r * d + j] = fmaf(z, v[r * d + j], (1.0f - z) * candidate);
        }
    }
}

// The first of the largest, or where the running sum passes the draw.
__device__ int chosen(const Scan &p, const float *alpha, long long n) {
    int best = 0;
    if (p.transition == ARGMAX) {
        for (int i = 1; i < p.k; i++)
            if (alpha[i] > alpha[best]) best = i;
        return best;
    }
    float sum = 0.0f, unit = p.draws[n];
    for (int i = 0; i < p.k; i++) {
        sum += alpha[i];
        if (unit < sum) return i;
    }
    return p.k - 1;
}

// α of every row, from u; both shared. Rows that skip the step have α = 0.
template <int R>
__device__ void probabilities(const Scan &p, const Rows<R> &rows, int t, const float *u,
                              float *alpha) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    float inv_tau = p.press->inv_tau;
    for (int at = warp; at < R * p.k; at += warps) {
        int r = at / p.k, i = at % p.k;
        const float *s = p.s + i * p.d, *from = u + r * p.d;
        float sum = 0.0f;
        for (int j = lane; j < p.d; j += WARP) {
            float gap = from[j] - s[j];
            sum = p.euclidean ? fmaf(gap, gap, sum) : fmaf(from[j], s[j], sum);
        }
        sum = warp_sum(sum);
        if (lane == 0) alpha[at] = (p.euclidean ? -sqrtf(sum) : sum) * inv_tau;
    }
    __syncthreads();
    for (int r = warp; r < R; r += warps) {
        if (!rows.has(r, t)) continue;
        float *a = alpha + r * p.k, top = -INFINITY, sum = 0.0f;
        bool moves = rows.stochastic(p, r, t);
        for (int i = lane; i < p.k; i += WARP) top = fmaxf(top, a[i]);
        top = warp_max(top);
        for (int i = lane; i < p.k; i += WARP) sum += expf(a[i] - top);
        sum = warp_sum(sum);
        for (int i = lane; i < p.k; i += WARP) {
            a[i] = moves ? expf(a[i] - top) / sum : 0.0f;
            p.alpha[(rows.first[r] + t) * p.k + i] = a[i];
        }
        __syncwarp();
        if (moves && p.transition != MIXTURE) {
            int j = chosen(p, a, rows.first[r] + t);
            __syncwarp();
            for (int i = lane; i < p.k; i += WARP) a[i] = i == j ? 1.0f : 0.0f;
        }
    }
}

// h and what is carried, from u and the weights of the centroids.
template <int R>
__device__ void move(const Scan &p, const Rows<R> &rows, int t, const float *u, const float *alpha,
                     float *v) {
    float lambda = p.transition == MIXTURE ? p.press->lambda : 1.0f;
    if (p.low_rank)
        for (int at = threadIdx.x; at < R * p.k; at += blockDim.x) v[at] = alpha[at];
    if (p.low_rank && !p.h) return;
    for (int j = threadIdx.x; j < p.d; j += blockDim.x) {
        float mixture[R] = {};
        for (int i = 0; i < p.k; i++) {
            float s = p.s[i * p.d + j];
            for (int r = 0; r < R; r++) mixture[r] = fmaf(alpha[r * p.k + i], s, mixture[r]);
        }
        for (int r = 0; r < R; r++) {
            if (!rows.has(r, t)) continue;
            float own = u[r * p.d + j], h = own;
            if (rows.stochastic(p, r, t)) h = fmaf(lambda, mixture[r], (1.0f - lambda) * own);
            if (!p.low_rank) v[r * p.d + j] = h;
            if (p.h) p.h[(rows.first[r] + t) * p.d + j] = h;
        }
    }
}

template <int R> __device__ void forward(const Scan &p, float *shared) {
    Rows<R> rows(p);
    int d = p.d, n = p.n;
    float *v = shared, *u = v + R * n, *c = u + R * d, *rh = c + R * d, *alpha = rh + R * d;
    for (int at = threadIdx.x; at < R * (n + 3 * d + p.k); at += blockDim.x) shared[at] = 0.0f;
    __syncthreads();
    for (int t = 0; t < rows.length[0]; t++) {
        if (p.carry_in)
            for (int at = threadIdx.x; at < R * n; at += blockDim.x)
                if (rows.has(at / n, t)) p.carry_in[(rows.first[at / n] + t) * BY_FOURS(n) + at % n] = v[at];
        cells<R>(p, rows, t, v, c, u, rh);
        __syncthreads();
        for (int at = threadIdx.x; at < R * d; at += blockDim.x)
            if (rows.has(at / d, t)) p.u[(rows.first[at / d] + t) * d + at % d] = u[at];
        if (p.k > 0) probabilities<R>(p, rows, t, u, alpha);
        __syncthreads();
        move<R>(p, rows, t, u, alpha, v);
        __syncthreads();
    }
}

// The adjoint of the stochastic step up to the scores. On return `du` holds what reaches u but for
// the scores' part, `scores` their gradients (Euclidean: the slopes along u − s).
template <int R>
__device__ void moves_back(const Scan &p, const Rows<R> &rows, int t, const float *dv,
                           const float *through, float *mixture, float *du, float *scores,
                           float *alpha, float *lengths, double &committed, double &disorder) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP, d = p.d;
    Press press = *p.press;
    bool pulled = !p.low_rank || p.dh_out || p.commits;
    for (int at = threadIdx.x; at < R * p.k; at += blockDim.x)
        if (rows.has(at / p.k, t)) alpha[at] = p.alpha[(rows.first[at / p.k] + t) * p.k + at % p.k];
    __syncthreads();
    for (int j = threadIdx.x; j < d; j += blockDim.x)
        for (int r = 0; r < R; r++) {
            if (!rows.has(r, t)) continue;
            long long n = rows.first[r] + t;
            const float *dh_out = outside(p, p.dh_out, rows.first[r], t, rows.length[r], rows.row[r]);
            const float *du_out = outside(p, p.du_out, rows.first[r], t, rows.length[r], rows.row[r]);
            float dh = (dh_out ? dh_out[j] : 0.0f) + (p.low_rank ? 0.0f : dv[r * d + j] + through[r * d + j]);
            float own = du_out ? du_out[j] : 0.0f, pull = 0.0f;
            if (rows.stochastic(p, r, t)) {
                own = fmaf(1.0f - press.lambda, dh, own);
                pull = press.lambda * dh;
                if (p.commits) {
                    float gap = p.u[n * d + j];
                    for (int i = 0; i < p.k; i++) gap = fmaf(-alpha[r * p.k + i], p.s[i * d + j], gap);
                    committed += (double)gap * gap;
                    pull = fmaf(-2.0f * press.commitment, gap, pull);
                    own = fmaf(2.0f * press.commitment, gap, own);
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
        if (pulled)
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
        bool moves = rows.stochastic(p, r, t);
        float *dz = scores + r * p.k, *a = alpha + r * p.k, mean = 0.0f, entropy = 0.0f;
        for (int i = lane; i < p.k; i += WARP) {
            if (moves) mean = fmaf(a[i], dz[i], mean);
            if (p.weighs_entropy && a[i] > 0.0f) entropy = fmaf(-a[i], logf(a[i]), entropy);
        }
        mean = warp_sum(mean), entropy = warp_sum(entropy);
        if (lane == 0 && moves) disorder += entropy;
        for (int i = lane; i < p.k; i += WARP) {
            float slope = 0.0f;
            if (moves) {
                slope = a[i] * (dz[i] - mean);
                if (p.weighs_entropy && a[i] > 0.0f)
                    slope = fmaf(-press.entropy * a[i], logf(a[i]) + entropy, slope);
                slope *= press.inv_tau;
                if (p.euclidean) slope = lengths[r * p.k + i] > 0.0f ? slope / lengths[r * p.k + i] : 0.0f;
            }
            dz[i] = slope;
            p.d_scores[(rows.first[r] + t) * BY_FOURS(p.k) + i] = slope;
        }
    }
}

// du of a unit, complete.
__device__ __forceinline__ float reached(const Scan &p, const float *scores, float u, float du, int j) {
    for (int i = 0; i < p.k; i++) {
        float s = p.s[i * p.d + j];
        du = p.euclidean ? fmaf(-scores[i], u - s, du) : fmaf(scores[i], s, du);
    }
    return du;
}

__device__ __forceinline__ void measure(const float y[4], int gates, float written, double &unsaturation,
                                        double &writing) {
    float sum = unsaturated_candidate(y[2]);
    for (int b = 0; b < gates; b++)
        if (b != 2) sum += unsaturated(y[b]);
    unsaturation += sum;
    writing += written;
}

template <int R> __device__ void backward(const Scan &p, float *shared) {
    Rows<R> rows(p);
    int d = p.d, n = p.n, k = p.k, lane = threadIdx.x % WARP;
    int warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    float *dv = shared, *through = dv + R * n, *dc = through + R * d, *du = dc + R * d;
    float *mixture = du + R * d, *da = mixture + R * d, *scores = da + R * p.ns * d;
    float *alpha = scores + R * k, *lengths = alpha + R * k, *sums = lengths + R * k;
    int size = R * (n + (4 + p.ns) * d + 3 * k) + SUMS * d;
    for (int at = threadIdx.x; at < size; at += blockDim.x) shared[at] = 0.0f;
    __syncthreads();
    Press press = *p.press;
    float saturation = p.presses ? press.saturation : 0.0f, writes = p.presses ? press.writing : 0.0f;
    double measured[MEASURED] = {};
    for (int t = rows.length[0] - 1; t >= 0; t--) {
        moves_back<R>(p, rows, t, dv, through, mixture, du, scores, alpha, lengths, measured[0],
                      measured[1]);
        __syncthreads();
        if (p.cell == GRU_BEFORE) {
            // The candidate first: what its reset gate multiplied needs a product of its own.
            for (int j = threadIdx.x; j < d; j += blockDim.x)
                for (int r = 0; r < R; r++) {
                    if (!rows.has(r, t)) continue;
                    long long at = rows.first[r] + t;
                    const float *y = p.gates + at * 4 * d + j;
                    float full = reached(p, scores + r * k, p.u[at * d + j], du[r * d + j], j);
                    du[r * d + j] = full;
                    mixture[r * d + j] = candidate_back(saturation, y[2 * d], full * (1.0f - y[d]));
                }
            __syncthreads();
            for (int i = warp; i < d; i += warps)
                for (int r = 0; r < R; r++) {
                    float sum = 0.0f;
                    for (int j = lane; j < d; j += WARP)
                        sum = fmaf(mixture[r * d + j], p.candidate[i * d + j], sum);
                    sum = warp_sum(sum);
                    if (lane == 0) through[r * d + i] = sum;
                }
            __syncthreads();
        }
        for (int j = threadIdx.x; j < d; j += blockDim.x)
            for (int r = 0; r < R; r++) {
                if (!rows.has(r, t)) continue;
                long long at = rows.first[r] + t;
                const float *y = p.gates + at * 4 * d + j;
                float kept[4] = {y[0], y[d], y[2 * d], y[3 * d]}, a[4], *state = da + r * p.ns * d + j;
                float *in = p.da_in + at * p.ni * d + j;
                if (p.cell == LSTM) {
                    const float *dc_out = outside(p, p.dc_out, rows.first[r], t, rows.length[r], rows.row[r]);
                    float full = reached(p, scores + r * k, p.u[at * d + j], du[r * d + j], j), w[3];
                    float c = p.c[at * d + j], c_prev = t > 0 ? p.c[(at - 1) * d + j] : 0.0f;
                    Lstm s = {kept[0], kept[1], kept[2], kept[3], c, 0.0f};
                    peepholes(p, j, w);
                    dc[r * d + j] = lstm_back(p.hard, s, w, c_prev, saturation, writes, full,
                                              dc[r * d + j] + (dc_out ? dc_out[j] : 0.0f), a);
                    for (int b = 0; b < 4; b++) {
                        state[b * d] = in[b * d] = a[b];
                        sums[(SUM_BIAS + b) * d + j] += a[b];
                    }
                    sums[SUM_PEEPHOLE * d + j] += a[0] * c_prev;
                    sums[(SUM_PEEPHOLE + 1) * d + j] += a[1] * c_prev;
                    sums[(SUM_PEEPHOLE + 2) * d + j] += a[3] * c;
                    if (p.presses) measure(kept, 4, kept[0], measured[2], measured[3]);
                    continue;
                }
                float before = p.cell == GRU_BEFORE ? p.carry_in[at * BY_FOURS(n) + j] : p.extra[at * d + j];
                float full = du[r * d + j], back[4] = {};
                if (p.cell == GRU_BEFORE) {
                    float drh = through[r * d + j];
                    a[2] = mixture[r * d + j];
                    a[0] = gate_back(p.hard, saturation, kept[0], drh * before);
                    a[1] = gate_back(p.hard, saturation, kept[1], fmaf(full, before - kept[2], -writes));
                    back[0] = a[0], back[1] = a[1];
                    through[r * d + j] = fmaf(full, kept[1], drh * kept[0]);
                } else {
                    full = reached(p, scores + r * k, p.u[at * d + j], full, j);
                    Gru s = {kept[0], kept[1], kept[2], kept[3], 0.0f};
                    gru_back(p.hard, s, before, saturation, writes, full, a, back);
                    sums[SUM_CANDIDATE * d + j] += back[2];
                    through[r * d + j] = p.low_rank ? 0.0f : back[3];
                }
                for (int b = 0; b < p.ns; b++) state[b * d] = back[b];
                for (int b = 0; b < 3; b++) {
                    in[b * d] = a[b];
                    sums[(SUM_BIAS + b) * d + j] += a[b];
                }
                if (p.da_state)
                    for (int b = 0; b < p.ns; b++) p.da_state[at * p.ns * d + b * d + j] = state[b * d];
                if (p.presses) measure(kept, 2, 1.0f - kept[1], measured[2], measured[3]);
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
    __shared__ double room[WARP];
    for (int m = 0; m < MEASURED; m++) {
        double sum = block_sum(measured[m], room);
        if (threadIdx.x == 0) p.measured[blockIdx.x * MEASURED + m] = sum;
    }
}

extern __shared__ float shared[];
extern "C" __global__ void __launch_bounds__(512) forward_1(Scan p) { forward<1>(p, shared); }
extern "C" __global__ void __launch_bounds__(512) forward_4(Scan p) { forward<4>(p, shared); }
extern "C" __global__ void __launch_bounds__(512) backward_1(Scan p) { backward<1>(p, shared); }
extern "C" __global__ void __launch_bounds__(512) backward_4(Scan p) { backward<4>(p, shared); }
