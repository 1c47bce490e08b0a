// Layers in the low-rank form with few centroids: a block carries one row after another through
// the whole sequence, a thread a unit, its weights in registers, one barrier a step. Compiled for
// each layer: D, K, CELL, HARD, PEEPHOLE, END; INPUT (how the input is read), WIDTH; COMMITS,
// ENTROPY, PRESSES (the terms there are).

// Units of a thread: forward has the registers for two, and fewer warps wait for each other then.
#define UNITS (D > 128 ? 2 : 1)
#define THREADS_OF(units) (((D + units - 1) / units + WARP - 1) / WARP * WARP)
#define THREADS THREADS_OF(1)

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

// The largest of a warp's numbers, by the order of their bits.
__device__ __forceinline__ float lanes_max(float x) {
    int bits = __float_as_int(x);
    bits = __reduce_max_sync(ALL_LANES, bits ^ (bits >> 31 & 0x7fffffff));
    return __int_as_float(bits ^ (bits >> 31 & 0x7fffffff));
}

// What is shared by the threads of a block of so many warps.
template <int WARPS> struct Shared {
    // Sums of each warp, for this step and the one before.
    float parts[2][WARPS][KP];
    // A copy for each warp, so that no warp waits for another.
    __align__(16) float lanes[2][WARPS][KP];
};

// The block's sums, one a lane (number lane % KP): one barrier.
template <int WARPS>
__device__ __forceinline__ float block_sums(Shared<WARPS> &shared, int flip, float v[KP]) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    float sum = transposed_sums(v, lane);
    if (lane % LANES_EACH == 0) shared.parts[flip][warp][lane / LANES_EACH] = sum;
    __syncthreads();
    float low = 0.0f, up = 0.0f;
#pragma unroll
    for (int w = 0; w < WARPS; w += 2) {
        low += shared.parts[flip][w][lane % KP];
        if (w + 1 < WARPS) up += shared.parts[flip][w + 1][lane % KP];
    }
    return low + up;
}

// From a number a lane to all of them in every thread.
template <int WARPS>
__device__ __forceinline__ void spread(Shared<WARPS> &shared, int which, float x, float v[KP]) {
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

// Their sum, as a tree.
__device__ __forceinline__ float all_of(const float v[KP]) {
    float sums[4] = {};
#pragma unroll
    for (int i = 0; i < K; i++) sums[i % 4] += v[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// A unit's parameters.
struct Weights {
    float m[4][K], s[K], peephole[3], q_bias;
#if INPUT == VECTORS
    float w[NI][WIDTH], bias[NI];
#endif
    __device__ __forceinline__ void load(const Few &p, int j) {
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

// αS of a unit.
__device__ __forceinline__ float mixture(const Weights &weights, const float alpha[KP]) {
    float h = 0.0f;
#pragma unroll
    for (int i = 0; i < K; i++) h = fmaf(alpha[i], weights.s[i], h);
    return h;
}

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

extern "C" __global__ void __launch_bounds__(THREADS_OF(UNITS), 1) few_forward(Few p) {
    const int threads = THREADS_OF(UNITS);
    __shared__ Shared<threads / WARP> shared;
    int lane = threadIdx.x % WARP, unit[UNITS];
    Weights weights[UNITS];
#pragma unroll
    for (int w = 0; w < UNITS; w++) {
        unit[w] = threadIdx.x + w * threads;
        weights[w].load(p, unit[w]);
    }
    float inv_tau = p.scan.press->inv_tau;
    int flip = 0;
    for (int at = blockIdx.x; at < p.scan.rows; at += gridDim.x) {
        long long first;
        int length, row;
        find_row(p.scan, at, first, length, row);
        // α times its sum, and one over that: the division is off the way from step to step.
        float e[KP] = {}, inv = 0.0f, c[UNITS] = {};
        Read read[UNITS];
#pragma unroll
        for (int w = 0; w < UNITS; w++)
            if (length > 0) read[w].fetch(p, first, unit[w]);
        for (int t = 0; t < length; t++, flip ^= 1) {
            long long n = first + t;
            bool last = t + 1 == length, moves = !(END && last);
            float u[UNITS], z[KP];
#pragma unroll
            for (int w = 0; w < UNITS; w++) {
                float a[4] = {}, in[NI];
#pragma unroll
                for (int b = 0; b < NI; b++) in[b] = read[w].block(weights[w], b);
                if (!last) read[w].fetch(p, n + 1, unit[w]);
#pragma unroll
                for (int i = 0; i < K; i++)
#pragma unroll
                    for (int b = 0; b < 4; b++) a[b] = fmaf(e[i], weights[w].m[b][i], a[b]);
#pragma unroll
                for (int b = 0; b < 4; b++) a[b] = fmaf(a[b], inv, CELL == LSTM ? in[b % NI] : 0.0f);
                float4 kept;
                if (CELL == LSTM) {
                    Lstm s = lstm(HARD, a, weights[w].peephole, c[w]);
                    c[w] = s.c, u[w] = s.u;
                    kept = make_float4(s.i, s.f, s.g, s.o);
                } else {
                    Gru s = gru(HARD, in, a, weights[w].q_bias);
                    u[w] = s.u;
                    kept = make_float4(s.r, s.z, s.n, s.q);
                }
                if (unit[w] < D) {
                    long long place = n * D + unit[w];
                    if (p.scan.gates) ((float4 *)p.scan.gates)[place] = kept;
                    if (CELL == LSTM && p.scan.c) p.scan.c[place] = c[w];
                    if (p.keep_u == ALWAYS || (p.keep_u == AT_LAST && last)) p.scan.u[place] = u[w];
                }
            }
#pragma unroll
            for (int i = 0; i < KP; i++) {
                z[i] = i < K ? u[0] * weights[0].s[i % K] : 0.0f;
#pragma unroll
                for (int w = 1; w < UNITS; w++)
                    if (i < K) z[i] = fmaf(u[w], weights[w].s[i % K], z[i]);
            }
            float score = block_sums(shared, flip, z) * inv_tau;
            if (lane % KP >= K) score = -INFINITY;
            float mine = __expf(score - lanes_max(score));
            spread(shared, 0, mine, e);
            inv = moves ? __fdividef(1.0f, all_of(e)) : 0.0f;
            if (threadIdx.x < K) p.scan.alpha[n * K + threadIdx.x] = mine * inv;
            if (p.keep_h == ALWAYS || (p.keep_h == AT_LAST && last))
#pragma unroll
                for (int w = 0; w < UNITS; w++) {
                    float h = mixture(weights[w], e) * inv;
                    if (unit[w] < D) p.scan.h[n * D + unit[w]] = moves ? h : u[w];
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

extern __shared__ float4 dynamic[];

extern "C" __global__ void __launch_bounds__(THREADS, 1) few_backward(Few p) {
    __shared__ Shared<THREADS / WARP> shared;
    __shared__ Ahead ahead;
    int j = threadIdx.x, lane = j % WARP;
    Weights weights;
    weights.load(p, j);
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
            float pressed = 0.0f, h = mixture(weights, alpha);
            if (ENTROPY) {
                float log_alpha = here > 0.0f ? __logf(here) : 0.0f;
                float disorder = warp_sum(lane < KP ? -here * log_alpha : 0.0f);
                if (j == 0 && moves) measured[1] += disorder;
                pressed = press.entropy * here * (log_alpha + disorder);
            }
            // dz = α∘(dα − ⟨α, dα⟩)/τ; every thread makes the inner product itself, and what du
            // needs of it is a multiple of h. What the entropy adds has sum 0.
            float d_alpha = block_sums(shared, flip, v), dz[KP];
            spread(shared, 0, fmaf(here, d_alpha, -pressed), dz);
            float mean = all_of(dz);
            float du = fmaf(press.inv_tau, fmaf(-mean, h, mixture(weights, dz)), out.own);
            float along = u * press.inv_tau, against = -mean * along;
#pragma unroll
            for (int i = 0; i < K; i++) d_s[i] = fmaf(dz[i], along, fmaf(alpha[i], against, d_s[i]));
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
