// Generic kernels: a block carries R rows through the whole sequence. Sizes are run-time arguments;
// small_k.cuh and cluster.cuh have faster kernels for most layers.

// a[r][b] = sum over i of v[r][i] m[i][b][j].
template <int R, int NS>
__device__ __forceinline__ void recurrent_blocks(const float *v, int n, const float *m, int d, int j,
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
    __device__ Rows(const ScanArgs &p) {
        for (int r = 0; r < R; r++) find_row(p, blockIdx.x * R + r, first[r], length[r], row[r]);
    }
    __device__ bool has(int r, int t) const { return t < length[r]; }
    __device__ bool stochastic(const ScanArgs &p, int r, int t) const {
        return has(r, t) && p.k > 0 && !(p.end && t + 1 == length[r]);
    }
};

__device__ __forceinline__ const float *input_row(const ScanArgs &p, long long n) {
    return p.x + (p.places ? (long long)p.places[n] : n) * p.ni * p.d;
}

__device__ __forceinline__ void store_gates(const ScanArgs &p, long long n, int j, float a, float b,
                                            float c, float d) {
    float *to = p.gates + n * 4 * p.d + j;
    to[0] = a, to[p.d] = b, to[2 * p.d] = c, to[3 * p.d] = d;
}

__device__ __forceinline__ void peepholes(const ScanArgs &p, int j, float w[3]) {
    for (int b = 0; b < 3; b++) w[b] = p.peephole ? p.peephole[b * p.d + j] : 0.0f;
}

// The cells of all units: from the carried vectors v to u (and c), all in shared memory.
template <int R>
__device__ void cells(const ScanArgs &p, const Rows<R> &rows, int t, const float *v, float *c, float *u,
                      float *rh) {
    int d = p.d;
    for (int j = threadIdx.x; j < d; j += blockDim.x) {
        float a[R][4] = {};
        if (p.ns == 4)
            recurrent_blocks<R, 4>(v, p.n, p.m, d, j, a);
        else if (p.ns == 3)
            recurrent_blocks<R, 3>(v, p.n, p.m, d, j, a);
        else
            recurrent_blocks<R, 2>(v, p.n, p.m, d, j, a);
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
                store_gates(p, n, j, s.i, s.f, s.g, s.o);
            } else {
                if (p.cell == GRU_BEFORE) {
                    float reset = gate(p.hard, x[0] + a[r][0]), z = gate(p.hard, x[d] + a[r][1]);
                    rh[r * d + j] = reset * v[r * d + j];
                    store_gates(p, n, j, reset, z, 0.0f, 0.0f);
                    p.gru_state[n * d + j] = rh[r * d + j];
                    continue;
                }
                float in[3] = {x[0], x[d], x[2 * d]};
                if (!p.low_rank) a[r][3] = v[r * d + j];
                Gru s = gru(p.hard, in, a[r], p.q_bias ? p.q_bias[j] : 0.0f);
                u[r * d + j] = s.u;
                p.gru_state[n * d + j] = a[r][3];
                store_gates(p, n, j, s.r, s.z, s.n, s.q);
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
            float *saved = p.gates + n * 4 * d + j;
            float z = saved[d], candidate = tanh_of(a[r] + input_row(p, n)[2 * d + j]);
            saved[2 * d] = candidate;
            u[r * d + j] = fmaf(z, v[r * d + j], (1.0f - z) * candidate);
        }
    }
}

// The centroid of a hard transition: the first maximum of α, or the one at which the running sum passes
// the draw.
__device__ int pick_centroid(const ScanArgs &p, const float *alpha, long long n) {
    int best = 0;
    if (p.transition == ARGMAX) {
        for (int i = 1; i < p.k; i++)
            if (alpha[i] > alpha[best]) best = i;
        return best;
    }
    float sum = 0.0f, draw = p.draws[n];
    for (int i = 0; i < p.k; i++) {
        sum += alpha[i];
        if (draw < sum) return i;
    }
    return p.k - 1;
}

// α of every row from u, both in shared memory. Rows without a transition at this step get α = 0.
template <int R>
__device__ void transition_probabilities(const ScanArgs &p, const Rows<R> &rows, int t, const float *u,
                                         float *alpha) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    float inv_tau = p.coefficients->inv_tau;
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
        float *a = alpha + r * p.k, highest = -INFINITY, sum = 0.0f;
        bool transitions = rows.stochastic(p, r, t);
        for (int i = lane; i < p.k; i += WARP) highest = fmaxf(highest, a[i]);
        highest = warp_max(highest);
        for (int i = lane; i < p.k; i += WARP) sum += expf(a[i] - highest);
        sum = warp_sum(sum);
        for (int i = lane; i < p.k; i += WARP) {
            a[i] = transitions ? expf(a[i] - highest) / sum : 0.0f;
            p.alpha[(rows.first[r] + t) * p.k + i] = a[i];
        }
        __syncwarp();
        if (transitions && p.transition != MIXTURE) {
            int j = pick_centroid(p, a, rows.first[r] + t);
            __syncwarp();
            for (int i = lane; i < p.k; i += WARP) a[i] = i == j ? 1.0f : 0.0f;
        }
    }
}

// h and the carried vector, from u and α.
template <int R>
__device__ void mix_centroids(const ScanArgs &p, const Rows<R> &rows, int t, const float *u,
                              const float *alpha, float *v) {
    float lambda = p.transition == MIXTURE ? p.coefficients->lambda : 1.0f;
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

// Loads the state before the first step, if it is given: the direct form carries h.
template <int R>
__device__ void load_first(const ScanArgs &p, const Rows<R> &rows, float *v, float *c) {
    for (int at = threadIdx.x; at < R * p.d; at += blockDim.x) {
        int r = at / p.d;
        long long from = (long long)rows.row[r] * p.d + at % p.d;
        if (!rows.has(r, 0)) continue;
        if (p.h_first) v[at] = p.h_first[from];
        if (p.c_first) c[at] = p.c_first[from];
    }
}

template <int R> __device__ void scan_forward(const ScanArgs &p, float *shared) {
    Rows<R> rows(p);
    int d = p.d, n = p.n;
    float *v = shared, *u = v + R * n, *c = u + R * d, *rh = c + R * d, *alpha = rh + R * d;
    for (int at = threadIdx.x; at < R * (n + 3 * d + p.k); at += blockDim.x) shared[at] = 0.0f;
    __syncthreads();
    if (p.h_first) {
        load_first<R>(p, rows, v, c);
        __syncthreads();
    }
    for (int t = 0; t < rows.length[0]; t++) {
        if (p.carry_in)
            for (int at = threadIdx.x; at < R * n; at += blockDim.x)
                if (rows.has(at / n, t))
                    p.carry_in[(rows.first[at / n] + t) * ROUND_UP_4(n) + at % n] = v[at];
        cells<R>(p, rows, t, v, c, u, rh);
        __syncthreads();
        for (int at = threadIdx.x; at < R * d; at += blockDim.x)
            if (rows.has(at / d, t)) p.u[(rows.first[at / d] + t) * d + at % d] = u[at];
        if (p.k > 0) transition_probabilities<R>(p, rows, t, u, alpha);
        __syncthreads();
        mix_centroids<R>(p, rows, t, u, alpha, v);
        __syncthreads();
    }
}

extern __shared__ float shared[];
extern "C" __global__ void __launch_bounds__(512) generic_forward_1(ScanArgs p) {
    scan_forward<1>(p, shared);
}
extern "C" __global__ void __launch_bounds__(512) generic_forward_4(ScanArgs p) {
    scan_forward<4>(p, shared);
}
