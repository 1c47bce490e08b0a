// Layers in the low-rank form with few centroids: a block carries one row after another through
// the whole sequence, a thread a unit, its weights in registers, one barrier a step. Compiled for
// each layer: D, K, CELL, HARD, PEEPHOLE, END; INPUT (how the input is read), WIDTH; COMMITS,
// ENTROPY, PRESSES (the terms there are).

#define THREADS ((D + WARP - 1) / WARP * WARP)
#define WARPS (THREADS / WARP)

// Centroids, padded to lanes of a warp.
#if K <= 8
#define KP 8
#else
#define KP 16
#endif
#define LANES_EACH (WARP / KP)

// When something is kept.
#define AT_LAST 1
#define ALWAYS 2

// Inputs: rows of x; rows of x of so few tokens that their gradients are summed in shared memory;
// vectors of WIDTH numbers, multiplied here.
#define ROWS 0
#define FEW_TOKENS 1
#define VECTORS 2

#define NI (CELL == LSTM ? 4 : 3)

struct Few {
    Scan scan;
    // VECTORS: [N][WIDTH], W [NI * D][WIDTH], bias [NI * D] or null.
    const float *vectors, *w, *bias;
    // Sums of each block: [K][4 * D], [K][D], [tokens or WIDTH][NI * D].
    float *d_m, *d_s, *d_x;
    int tokens, keep_h, keep_u;
};

// Lanes whose number differs in one bit exchange halves of their numbers, and add.
template <int HALF> __device__ __forceinline__ void fold(float v[KP], int lane) {
    const int bit = HALF * LANES_EACH;
    bool high = lane & bit;
#pragma unroll
    for (int i = 0; i < HALF; i++) {
        float low = v[i], up = v[i + HALF];
        v[i] = (high ? up : low) + __shfl_xor_sync(ALL_LANES, high ? low : up, bit);
    }
    if constexpr (HALF > 1) fold<HALF / 2>(v, lane);
}

// From a number a lane for each of KP sums to the sum over the warp that belongs to this lane:
// sum number lane / LANES_EACH.
__device__ __forceinline__ float transposed_sums(float v[KP], int lane) {
    fold<KP / 2>(v, lane);
#pragma unroll
    for (int o = LANES_EACH / 2; o >= 1; o /= 2) v[0] += __shfl_xor_sync(ALL_LANES, v[0], o);
    return v[0];
}

// Sums and maxima over the KP lanes that hold a centroid each.
__device__ __forceinline__ float lanes_sum(float x) {
#pragma unroll
    for (int o = KP / 2; o > 0; o /= 2) x += __shfl_xor_sync(ALL_LANES, x, o);
    return x;
}

__device__ __forceinline__ float lanes_max(float x) {
#pragma unroll
    for (int o = KP / 2; o > 0; o /= 2) x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, o));
    return x;
}

// What is shared by the threads of a block.
struct Shared {
    // Sums of each warp, for this step and the one before.
    float parts[2][WARPS][KP];
    // A copy for each warp, so that no warp waits for another.
    __align__(16) float lanes[2][WARPS][KP];
};

// The block's sums, one a lane (number lane % KP): one barrier.
__device__ __forceinline__ float block_sums(Shared &shared, int flip, float v[KP]) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    float sum = transposed_sums(v, lane);
    if (lane % LANES_EACH == 0) shared.parts[flip][warp][lane / LANES_EACH] = sum;
    __syncthreads();
    sum = 0.0f;
#pragma unroll
    for (int w = 0; w < WARPS; w++) sum += shared.parts[flip][w][lane % KP];
    return sum;
}

// From a number a lane to all of them in every thread.
__device__ __forceinline__ void spread(Shared &shared, int which, float x, float v[KP]) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    __syncwarp();
    if (lane < KP) shared.lanes[which][warp][lane] = x;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < KP; i += 4) {
        float4 four = *(const float4 *)&shared.lanes[which][warp][i];
        v[i] = four.x, v[i + 1] = four.y, v[i + 2] = four.z, v[i + 3] = four.w;
    }
}

// A unit's parameters.
struct Weights {
    float m[4][K], s[K], peephole[3], q_bias;
#if INPUT == VECTORS
    float w[NI][WIDTH], bias[NI];
#endif
    __device__ __forceinline__ Weights(const Few &p, int j) {
        bool unit = j < D;
#pragma unroll
        for (int i = 0; i < K; i++) {
#pragma unroll
            for (int b = 0; b < 4; b++) m[b][i] = unit ? p.scan.m[(i * 4 + b) * D + j] : 0.0f;
            s[i] = unit ? p.scan.s[i * D + j] : 0.0f;
        }
#pragma unroll
        for (int b = 0; b < 3; b++) peephole[b] = PEEPHOLE && unit ? p.scan.peephole[b * D + j] : 0.0f;
        q_bias = p.scan.q_bias && unit ? p.scan.q_bias[j] : 0.0f;
#if INPUT == VECTORS
#pragma unroll
        for (int b = 0; b < NI; b++) {
            bias[b] = p.bias && unit ? p.bias[b * D + j] : 0.0f;
#pragma unroll
            for (int e = 0; e < WIDTH; e++) w[b][e] = unit ? p.w[(b * D + j) * WIDTH + e] : 0.0f;
        }
#endif
    }
};

// What a step reads, fetched a step ahead.
struct Read {
#if INPUT == VECTORS
    float x[WIDTH];
#else
    float x[NI];
#endif
    __device__ __forceinline__ void fetch(const Few &p, long long n, int j) {
#if INPUT == VECTORS
#pragma unroll
        for (int e = 0; e < WIDTH; e++) x[e] = p.vectors[n * WIDTH + e];
#else
        const float *row = p.scan.x + (p.scan.places ? (long long)p.scan.places[n] : n) * NI * D + j;
#pragma unroll
        for (int b = 0; b < NI; b++) x[b] = j < D ? row[b * D] : 0.0f;
#endif
    }
    // The input's part of block b.
    __device__ __forceinline__ float block(const Weights &weights, int b) const {
#if INPUT == VECTORS
        float sum = weights.bias[b];
#pragma unroll
        for (int e = 0; e < WIDTH; e++) sum = fmaf(weights.w[b][e], x[e], sum);
        return sum;
#else
        return x[b];
#endif
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1) few_forward(Few p) {
    __shared__ Shared shared;
    int j = threadIdx.x, lane = j % WARP;
    Weights weights(p, j);
    float inv_tau = p.scan.press->inv_tau;
    int flip = 0;
    for (int at = blockIdx.x; at < p.scan.rows; at += gridDim.x) {
        long long first;
        int length, row;
        find_row(p.scan, at, first, length, row);
        float alpha[KP] = {}, c = 0.0f;
        Read read;
        if (length > 0) read.fetch(p, first, j);
        for (int t = 0; t < length; t++, flip ^= 1) {
            long long n = first + t;
            float a[4], in[NI];
#pragma unroll
            for (int b = 0; b < NI; b++) in[b] = read.block(weights, b);
#pragma unroll
            for (int b = 0; b < 4; b++) a[b] = CELL == LSTM ? in[b % NI] : 0.0f;
            if (t + 1 < length) read.fetch(p, n + 1, j);
#pragma unroll
            for (int i = 0; i < K; i++)
#pragma unroll
                for (int b = 0; b < 4; b++) a[b] = fmaf(alpha[i], weights.m[b][i], a[b]);
            float u;
            float4 kept;
            if (CELL == LSTM) {
                Lstm s = lstm(HARD, a, weights.peephole, c);
                c = s.c, u = s.u;
                kept = make_float4(s.i, s.f, s.g, s.o);
            } else {
                Gru s = gru(HARD, in, a, weights.q_bias);
                u = s.u;
                kept = make_float4(s.r, s.z, s.n, s.q);
            }
            bool last = t + 1 == length, moves = !(END && last);
            float z[KP];
#pragma unroll
            for (int i = 0; i < KP; i++) z[i] = i < K ? u * weights.s[i % K] : 0.0f;
            if (j < D) {
                if (p.scan.gates) ((float4 *)p.scan.gates)[n * D + j] = kept;
                if (CELL == LSTM && p.scan.c) p.scan.c[n * D + j] = c;
                if (p.keep_u == ALWAYS || (p.keep_u == AT_LAST && last)) p.scan.u[n * D + j] = u;
            }
            float score = block_sums(shared, flip, z) * inv_tau;
            if (lane % KP >= K) score = -INFINITY;
            float e = __expf(score - lanes_max(score));
            float mine = moves ? __fdividef(e, lanes_sum(e)) : 0.0f;
            if (j < K) p.scan.alpha[n * K + j] = mine;
            spread(shared, 0, mine, alpha);
            if (p.keep_h == ALWAYS || (p.keep_h == AT_LAST && last)) {
                float h = moves ? 0.0f : u;
#pragma unroll
                for (int i = 0; i < K; i++) h = fmaf(alpha[i], weights.s[i], h);
                if (j < D) p.scan.h[n * D + j] = h;
            }
        }
    }
}

// Gates and c of steps to come, on their way into shared memory.
#define AHEAD 4
struct Ahead {
    float4 gates[AHEAD][THREADS];
    float c[AHEAD][THREADS];
};

__device__ __forceinline__ void copy_later(void *to, const void *from, int bytes) {
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
    if (bytes == 16) asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from));
    else asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from));
}

// Asks for the gates of step t, and c of the step before it; a thread reads only what it asked for.
__device__ __forceinline__ void ask(const Few &p, Ahead &ahead, long long first, int t) {
    int j = threadIdx.x;
    if (t >= 0 && j < D) {
        long long n = first + t;
        copy_later(&ahead.gates[t % AHEAD][j], (const float4 *)p.scan.gates + n * D + j, 16);
        if (CELL == LSTM && t > 0) copy_later(&ahead.c[t % AHEAD][j], p.scan.c + (n - 1) * D + j, 4);
    }
    asm volatile("cp.async.commit_group;");
}

// A unit's kept step.
struct Kept {
    float y[4], c_prev;
    __device__ __forceinline__ void take(const Ahead &ahead, int t) {
        int j = threadIdx.x;
        float4 four = j < D ? ahead.gates[t % AHEAD][j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        y[0] = four.x, y[1] = four.y, y[2] = four.z, y[3] = four.w;
        c_prev = CELL == LSTM && t > 0 && j < D ? ahead.c[t % AHEAD][j] : 0.0f;
    }
};

// What reaches h and u of a step from outside the recurrence; known before the step's turn.
struct Outer {
    float pull, own;
};

__device__ __forceinline__ Outer outer(const Few &p, const Weights &weights, long long first, int t,
                                       int length, int row, const float alpha[KP], float u,
                                       float commitment, double &committed) {
    int j = threadIdx.x;
    bool unit = j < D, moves = !(END && t + 1 == length);
    float dh = 0.0f, own = 0.0f;
    const float *dh_out = outside(p.scan, p.scan.dh_out, first, t, length, row);
    const float *du_out = outside(p.scan, p.scan.du_out, first, t, length, row);
    if (dh_out && unit) dh = dh_out[j];
    if (du_out && unit) own = du_out[j];
    if (!moves) return {0.0f, own + dh};
    if (COMMITS) {
        float gap = u;
#pragma unroll
        for (int i = 0; i < K; i++) gap = fmaf(-alpha[i], weights.s[i], gap);
        if (unit) committed += (double)gap * gap;
        dh = fmaf(-2.0f * commitment, gap, dh);
        own = fmaf(2.0f * commitment, gap, own);
    }
    return {dh, own};
}

// u of a kept step: LSTM o tanh(c), GRU (1 − z) n + z h.
__device__ __forceinline__ float u_of(const Kept &kept, float c, float h) {
    if (CELL == LSTM) return kept.y[3] * tanh_of(c);
    return fmaf(kept.y[1], h, (1.0f - kept.y[1]) * kept.y[2]);
}

__device__ __forceinline__ float mixture(const Weights &weights, const float alpha[KP]) {
    float h = 0.0f;
#pragma unroll
    for (int i = 0; i < K; i++) h = fmaf(alpha[i], weights.s[i], h);
    return h;
}

extern __shared__ float4 dynamic[];

extern "C" __global__ void __launch_bounds__(THREADS, 1) few_backward(Few p) {
    __shared__ Shared shared;
    __shared__ Ahead ahead;
    int j = threadIdx.x, lane = j % WARP;
    Weights weights(p, j);
    Press press = *p.scan.press;
    float saturation = PRESSES ? press.saturation : 0.0f, writing = PRESSES ? press.writing : 0.0f;
    float d_m[4][K] = {}, d_s[K] = {}, d_bias[NI] = {}, d_candidate = 0.0f, d_peephole[3] = {};
#if INPUT == VECTORS
    float d_w[NI][WIDTH] = {};
#endif
    double measured[MEASURED] = {};
    if (INPUT == FEW_TOKENS && j < D)
        for (int token = 0; token < p.tokens; token++)
            dynamic[token * D + j] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    int flip = 0;
    for (int at = blockIdx.x; at < p.scan.rows; at += gridDim.x) {
        long long first;
        int length, row;
        find_row(p.scan, at, first, length, row);
        if (length == 0) continue;
        for (int back = 1; back < AHEAD; back++) ask(p, ahead, first, length - back);
        // α of a step, one a lane; that of the step before is on its way.
        auto alpha_at = [&](int t) {
            return t >= 0 && lane % KP < K ? p.scan.alpha[(first + t) * K + lane % KP] : 0.0f;
        };
        float here = alpha_at(length - 1), before = alpha_at(length - 2);
        float alpha[KP];
        spread(shared, 1, here, alpha);
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 2));
        Kept kept;
        kept.take(ahead, length - 1);
        float dc = 0.0f, c = CELL == LSTM && j < D ? p.scan.c[(first + length - 1) * D + j] : 0.0f;
        float alpha_prev[KP];
        spread(shared, 1, before, alpha_prev);
        float h_prev = CELL == LSTM ? 0.0f : mixture(weights, alpha_prev);
        float u = u_of(kept, c, h_prev);
        Outer out = outer(p, weights, first, length - 1, length, row, alpha, u, press.commitment,
                          measured[0]);
        float v[KP];
#pragma unroll
        for (int i = 0; i < KP; i++) v[i] = i < K ? out.pull * weights.s[i % K] : 0.0f;
        for (int t = length - 1; t >= 0; t--, flip ^= 1) {
            long long n = first + t;
            bool moves = !(END && t + 1 == length);
            ask(p, ahead, first, t - AHEAD + 1);
            float later = alpha_at(t - 2);
            int token = INPUT == FEW_TOKENS ? p.scan.places[n] : 0;
#if INPUT == VECTORS
            float x[WIDTH];
#pragma unroll
            for (int e = 0; e < WIDTH; e++) x[e] = p.vectors[n * WIDTH + e];
#endif
            // Everything that needs no sum of this step stands before the barrier.
            if (COMMITS || (p.scan.dh_out && (p.scan.out_every || t + 1 == length)))
#pragma unroll
                for (int i = 0; i < K; i++) d_s[i] = fmaf(alpha[i], out.pull, d_s[i]);
            float disorder = 0.0f, log_alpha = 0.0f;
            if (ENTROPY) {
                log_alpha = here > 0.0f ? __logf(here) : 0.0f;
                disorder = lanes_sum(-here * log_alpha);
                if (j == 0 && moves) measured[1] += disorder;
            }
            float d_alpha = block_sums(shared, flip, v);
            float mean = lanes_sum(here * d_alpha);
            float slope = here * (d_alpha - mean);
            if (ENTROPY) slope = fmaf(-press.entropy * here, log_alpha + disorder, slope);
            float dz[KP];
            spread(shared, 0, moves ? slope * press.inv_tau : 0.0f, dz);
            float du = out.own;
#pragma unroll
            for (int i = 0; i < K; i++) du = fmaf(dz[i], weights.s[i], du);
#pragma unroll
            for (int i = 0; i < K; i++) d_s[i] = fmaf(dz[i], u, d_s[i]);
            float da[4], dx[NI];
            if (CELL == LSTM) {
                Lstm s = {kept.y[0], kept.y[1], kept.y[2], kept.y[3], c, 0.0f};
                const float *dc_out = outside(p.scan, p.scan.dc_out, first, t, length, row);
                if (dc_out && j < D) dc += dc_out[j];
                dc = lstm_back(HARD, s, weights.peephole, kept.c_prev, saturation, writing, du, dc, da);
#pragma unroll
                for (int b = 0; b < NI; b++) dx[b] = da[b % 4];
                d_peephole[0] = fmaf(da[0], kept.c_prev, d_peephole[0]);
                d_peephole[1] = fmaf(da[1], kept.c_prev, d_peephole[1]);
                d_peephole[2] = fmaf(da[3], c, d_peephole[2]);
            } else {
                Gru s = {kept.y[0], kept.y[1], kept.y[2], kept.y[3], 0.0f};
                gru_back(HARD, s, h_prev, saturation, writing, du, dx, da);
                d_candidate += da[2];
            }
            if (PRESSES && j < D) {
                float far = unsaturated_candidate(kept.y[2]);
                for (int b = 0; b < NI; b++)
                    if (b != 2) far += unsaturated(kept.y[b]);
                measured[2] += far;
                measured[3] += CELL == LSTM ? kept.y[0] : 1.0f - kept.y[1];
            }
            // The step before: its gates, and what reaches it from outside.
            if (t > 0) {
                asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 2));
                c = kept.c_prev;
                kept.take(ahead, t - 1);
                here = before, before = later;
                float alpha_before[KP];
                if (CELL != LSTM) {
                    spread(shared, 1, before, alpha_before);
                    h_prev = mixture(weights, alpha_before);
                }
                u = u_of(kept, c, h_prev);
                out = outer(p, weights, first, t - 1, length, row, alpha_prev, u, press.commitment,
                            measured[0]);
#pragma unroll
                for (int i = 0; i < KP; i++) {
                    v[i] = i < K ? out.pull * weights.s[i % K] : 0.0f;
#pragma unroll
                    for (int b = 0; b < 4; b++)
                        if (i < K) v[i] = fmaf(da[b], weights.m[b][i % K], v[i]);
                }
#pragma unroll
                for (int i = 0; i < K; i++)
#pragma unroll
                    for (int b = 0; b < 4; b++) d_m[b][i] = fmaf(alpha_prev[i], da[b], d_m[b][i]);
#pragma unroll
                for (int i = 0; i < KP; i++) alpha[i] = alpha_prev[i];
                if (CELL == LSTM) spread(shared, 1, before, alpha_prev);
                else
#pragma unroll
                    for (int i = 0; i < KP; i++) alpha_prev[i] = alpha_before[i];
            }
#pragma unroll
            for (int b = 0; b < NI; b++) d_bias[b] += dx[b];
#if INPUT == VECTORS
#pragma unroll
            for (int e = 0; e < WIDTH; e++)
#pragma unroll
                for (int b = 0; b < NI; b++) d_w[b][e] = fmaf(dx[b], x[e], d_w[b][e]);
#endif
            if (INPUT == FEW_TOKENS && j < D) {
                float4 *into = &dynamic[token * D + j], sum = *into;
                sum.x += dx[0], sum.y += dx[1], sum.z += dx[2];
                if (NI == 4) sum.w += dx[NI - 1];
                *into = sum;
            }
            if (INPUT == ROWS && j < D)
#pragma unroll
                for (int b = 0; b < NI; b++) p.scan.da_in[(n * NI + b) * D + j] = dx[b];
        }
        asm volatile("cp.async.wait_all;");
    }
    if (j < D) {
        long long block = blockIdx.x;
#pragma unroll
        for (int i = 0; i < K; i++) {
#pragma unroll
            for (int b = 0; b < 4; b++) p.d_m[((block * K + i) * 4 + b) * D + j] = d_m[b][i];
            p.d_s[(block * K + i) * D + j] = d_s[i];
        }
        float *sums = p.scan.sums + block * SUMS * D + j;
#pragma unroll
        for (int b = 0; b < 4; b++) sums[(SUM_BIAS + b) * D] = b < NI ? d_bias[b % NI] : 0.0f;
        sums[SUM_CANDIDATE * D] = d_candidate;
#pragma unroll
        for (int b = 0; b < 3; b++) sums[(SUM_PEEPHOLE + b) * D] = d_peephole[b];
#if INPUT == VECTORS
#pragma unroll
        for (int e = 0; e < WIDTH; e++)
#pragma unroll
            for (int b = 0; b < NI; b++) p.d_x[((block * WIDTH + e) * NI + b) * D + j] = d_w[b][e];
#endif
        if (INPUT == FEW_TOKENS)
            for (int token = 0; token < p.tokens; token++) {
                float4 sum = dynamic[token * D + j];
                float *into = p.d_x + (block * p.tokens + token) * NI * D + j;
                into[0] = sum.x, into[D] = sum.y, into[2 * D] = sum.z;
                if (NI == 4) into[(NI - 1) * D] = sum.w;
            }
    }
    __shared__ double room[WARP];
#pragma unroll
    for (int m = 0; m < MEASURED; m++) {
        double sum = block_sum(measured[m], room);
        if (j == 0) p.scan.measured[blockIdx.x * MEASURED + m] = sum;
    }
}
