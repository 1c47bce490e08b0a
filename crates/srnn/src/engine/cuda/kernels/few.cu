// Layers in the low-rank form with few centroids: a block carries one row after another through
// the whole sequence, a thread a unit, its weights in registers, one barrier a step. Compiled for
// each layer: D, K, CELL, HARD, PEEPHOLE, END; INPUT (how the input is read), WIDTH; COMMITS,
// ENTROPY, PRESSES (the terms there are).

// Units of a thread: forward has the registers for two, and fewer warps wait for each other then.
#define UNITS (D > 128 ? 2 : 1)
#define THREADS_OF(units) (((D + units - 1) / units + WARP - 1) / WARP * WARP)
#define THREADS THREADS_OF(1)
// What is kept for backward has room for every thread: none needs to ask whether it has a unit.
#define PAD (UNITS * THREADS_OF(UNITS))

// Centroids, padded to lanes of a warp.
#if K <= 8
#define KP 8
#elif K <= 16
#define KP 16
#else
#define KP 32
#endif
#define LANES_EACH (WARP / KP)

// When something is kept.
#define AT_LAST 1
#define ALWAYS 2

// Inputs: rows of x, listed where they are those of tokens; rows of x of so few tokens that their
// gradients are summed in shared memory; vectors of WIDTH numbers, multiplied here.
#define ROWS 0
#define FEW_TOKENS 1
#define VECTORS 2
#define LISTED_ROWS 3
#define LISTED (INPUT == FEW_TOKENS || INPUT == LISTED_ROWS)

#define NI (CELL == LSTM ? 4 : 3)

struct Few {
    Scan scan;
    // VECTORS: [N][WIDTH], W [NI * D][WIDTH], bias [NI * D] or null.
    const float *vectors, *w, *bias;
    // Kept for backward: [N][PAD] each; the second for an LSTM.
    float4 *gates;
    float *cells;
    // Sums of each block: [K][4 * D], [K][D], [tokens or WIDTH][NI * D].
    float *d_m, *d_s, *d_x;
    int tokens, keep_h, keep_u, keep_c;
};

// Lanes whose number differs in one bit exchange halves of their numbers, and add. Halves beyond the
// last centroid are empty: there a plain sum does.
template <int HALF> __device__ __forceinline__ void fold(float v[KP], int lane) {
    const int bit = HALF * LANES_EACH;
    bool high = lane & bit;
#pragma unroll
    for (int i = 0; i < HALF; i++) {
        float low = v[i], up = v[i + HALF];
        bool empty = HALF == KP / 2 && i + HALF >= K;
        float send = empty ? low : high ? low : up, keep = empty ? low : high ? up : low;
        v[i] = keep + __shfl_xor_sync(ALL_LANES, send, bit);
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

// Shared memory by its own addresses: a pointer is turned into one anew at every use.
__device__ __forceinline__ float from_shared(unsigned at) {
    float x;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(at) : "memory");
    return x;
}
__device__ __forceinline__ float4 four_from_shared(unsigned at) {
    float4 x;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "r"(at) : "memory");
    return x;
}
__device__ __forceinline__ void to_shared(unsigned at, float x) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(x) : "memory");
}
__device__ __forceinline__ void four_to_shared(unsigned at, float4 x) {
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at), "f"(x.x), "f"(x.y), "f"(x.z),
                 "f"(x.w) : "memory");
}

// How the threads of a block of so many warps exchange numbers.
template <int WARPS> struct Exchange {
    struct Room {
        // Sums of each warp, for this step and the one before.
        float parts[2][WARPS][KP];
        // A copy for each warp, so that no warp waits for another.
        __align__(16) float lanes[2][WARPS][KP];
    };
    unsigned part, parts, lanes, flip;
    int lane;
    bool writes;

    __device__ __forceinline__ Exchange(Room &room) {
        int warp = threadIdx.x / WARP;
        lane = threadIdx.x % WARP;
        writes = lane % LANES_EACH == 0;
        part = (unsigned)__cvta_generic_to_shared(&room.parts[0][warp][lane / LANES_EACH]);
        parts = (unsigned)__cvta_generic_to_shared(&room.parts[0][0][lane % KP]);
        lanes = (unsigned)__cvta_generic_to_shared(&room.lanes[0][warp][0]);
        flip = 0;
    }

    // The block's sums, one a lane (number lane % KP): one barrier.
    __device__ __forceinline__ float block_sums(float v[KP]) {
        float mine = transposed_sums(v, lane), sums[2] = {};
        if (writes) to_shared(part + flip, mine);
        __syncthreads();
#pragma unroll
        for (int w = 0; w < WARPS; w++)
            sums[w % 2] += from_shared(parts + flip + w * KP * sizeof(float));
        flip ^= WARPS * KP * sizeof(float);
        return sums[0] + sums[1];
    }

    // From a number a lane to all of them in every thread.
    __device__ __forceinline__ void spread(int which, float x, float v[KP]) {
        unsigned at = lanes + which * WARPS * KP * sizeof(float);
        __syncwarp();
        if (lane < KP) to_shared(at + lane * sizeof(float), x);
        __syncwarp();
#pragma unroll
        for (int i = 0; i < KP && i < (K + 3) / 4 * 4; i += 4) {
            float4 four = four_from_shared(at + i * sizeof(float));
            v[i] = four.x, v[i + 1] = four.y, v[i + 2] = four.z, v[i + 3] = four.w;
        }
    }
};

// Their sum, as a tree.
__device__ __forceinline__ float all_of(const float v[KP]) {
    float sums[4] = {};
#pragma unroll
    for (int i = 0; i < K; i++) sums[i % 4] += v[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// A unit's parameters; zero where there is no unit.
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
    float h[2] = {};
#pragma unroll
    for (int i = 0; i < K; i++) h[i % 2] = fmaf(alpha[i], weights.s[i], h[i % 2]);
    return h[0] + h[1];
}

// What a step reads, on its way two steps ahead; where it is, three steps ahead.
struct Read {
#if INPUT == VECTORS
    float x[WIDTH];
#else
    float x[NI];
#endif
    __device__ __forceinline__ void fetch(const Few &p, long long place, int j) {
#if INPUT == VECTORS
#pragma unroll
        for (int e = 0; e < WIDTH; e++) x[e] = p.vectors[place * WIDTH + e];
#else
        // A thread without a unit reads another's: its weights are zero.
        const float *row = p.scan.x + place * NI * D + min(j, D - 1);
#pragma unroll
        for (int b = 0; b < NI; b++) x[b] = row[b * D];
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
    __shared__ Exchange<threads / WARP>::Room room;
    Exchange<threads / WARP> exchange(room);
    int j = threadIdx.x;
    Weights weights[UNITS];
#pragma unroll
    for (int w = 0; w < UNITS; w++) weights[w].load(p, j + w * threads);
    float inv_tau = p.scan.press->inv_tau;
    bool centroid = j % KP < K, always = p.keep_h == ALWAYS || p.keep_u == ALWAYS || p.keep_c == ALWAYS;
    for (int at = blockIdx.x; at < p.scan.rows; at += gridDim.x) {
        long long first;
        int length, row;
        find_row(p.scan, at, first, length, row);
        if (length == 0) continue;
        // α times its sum, and one over that: the division is off the way from step to step.
        float e[KP] = {}, inv = 0.0f, c[UNITS] = {};
        auto place_of = [&](int t) {
            long long n = first + min(t, length - 1);
            return LISTED ? (long long)p.scan.places[n] : n;
        };
        // A step takes less time than memory does: what a step reads is asked for two steps before it.
        long long place = place_of(2);
        Read even[UNITS], odd[UNITS];
#pragma unroll
        for (int w = 0; w < UNITS; w++) {
            even[w].fetch(p, place_of(0), j + w * threads);
            odd[w].fetch(p, place_of(1), j + w * threads);
        }
        float4 *gates = p.gates + first * PAD + j;
        float *cells = p.cells + first * PAD + j, *alpha = p.scan.alpha + first * K + j;
        auto step = [&](int t, Read (&read)[UNITS]) {
            float u[UNITS], z[KP];
#pragma unroll
            for (int w = 0; w < UNITS; w++) {
                float a[4] = {}, in[NI];
#pragma unroll
                for (int b = 0; b < NI; b++) in[b] = read[w].block(weights[w], b);
                read[w].fetch(p, place, j + w * threads);
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
                if (p.gates) {
                    gates[w * threads] = kept;
                    if (CELL == LSTM) cells[w * threads] = c[w];
                }
            }
            place = place_of(t + 3);
#pragma unroll
            for (int i = 0; i < KP; i++) {
                z[i] = i < K ? u[0] * weights[0].s[i % K] : 0.0f;
#pragma unroll
                for (int w = 1; w < UNITS; w++)
                    if (i < K) z[i] = fmaf(u[w], weights[w].s[i % K], z[i]);
            }
            float score = exchange.block_sums(z) * inv_tau;
            if (!centroid) score = -INFINITY;
            float mine = __expf(score - lanes_max(score));
            exchange.spread(0, mine, e);
            bool last = t + 1 == length, moves = !(END && last);
            inv = moves ? quotient_of_one(all_of(e)) : 0.0f;
            if (j < K) *alpha = mine * inv;
            if (always || last) {
                long long n = first + t;
#pragma unroll
                for (int w = 0; w < UNITS; w++) {
                    int unit = j + w * threads;
                    if (unit >= D) continue;
                    float h = mixture(weights[w], e) * inv;
                    if (p.keep_h == ALWAYS || (p.keep_h && last)) p.scan.h[n * D + unit] = moves ? h : u[w];
                    if (p.keep_u == ALWAYS || (p.keep_u && last)) p.scan.u[n * D + unit] = u[w];
                    if (CELL == LSTM && (p.keep_c == ALWAYS || (p.keep_c && last))) p.scan.c[n * D + unit] = c[w];
                }
            }
            gates += PAD, cells += PAD, alpha += K;
        };
        for (int t = 0; t < length; t += 2) {
            step(t, even);
            if (t + 1 < length) step(t + 1, odd);
        }
    }
}

// A unit's kept step.
struct Kept {
    float4 y;
    float c_prev;
    __device__ __forceinline__ void fetch(const Few &p, long long first, int t) {
        if (t < 0) return;
        long long at = (first + t) * PAD + threadIdx.x;
        y = p.gates[at];
        if (CELL == LSTM) c_prev = t > 0 ? p.cells[at - PAD] : 0.0f;
    }
    // u: LSTM o tanh(c), GRU (1 − z) n + z h.
    __device__ __forceinline__ float u(float c, float h) const {
        if (CELL == LSTM) return y.w * tanh_of(c);
        return fmaf(y.y, h, (1.0f - y.y) * y.z);
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
    bool last = t + 1 == length, moves = !(END && last);
    float dh = 0.0f, own = 0.0f;
    if (p.scan.out_every || last) {
        const float *dh_out = outside(p.scan, p.scan.dh_out, first, t, length, row);
        const float *du_out = outside(p.scan, p.scan.du_out, first, t, length, row);
        if (dh_out && j < D) dh = dh_out[j];
        if (du_out && j < D) own = du_out[j];
    }
    if (!moves) return {0.0f, own + dh};
    if (COMMITS) {
        float gap = u - mixture(weights, alpha);
        if (j < D) committed += (double)gap * gap;
        dh = fmaf(-2.0f * commitment, gap, dh);
        own = fmaf(2.0f * commitment, gap, own);
    }
    return {dh, own};
}

extern __shared__ float4 dynamic[];

extern "C" __global__ void __launch_bounds__(THREADS, 1) few_backward(Few p) {
    __shared__ Exchange<THREADS / WARP>::Room exchange_room;
    Exchange<THREADS / WARP> exchange(exchange_room);
    int j = threadIdx.x, lane = j % WARP;
    Weights weights;
    weights.load(p, j);
    Press press = *p.scan.press;
    float saturation = PRESSES ? press.saturation : 0.0f, writing = PRESSES ? press.writing : 0.0f;
    float d_m[4][K] = {}, d_s[K] = {}, d_bias[NI] = {}, d_candidate = 0.0f, d_peephole[3] = {};
#if INPUT == VECTORS
    float d_w[NI][WIDTH] = {};
#endif
    double committed = 0.0, disordered = 0.0, unsaturation = 0.0, written = 0.0;
    unsigned d_tokens = (unsigned)__cvta_generic_to_shared(&dynamic[j]);
    if (INPUT == FEW_TOKENS)
        for (int token = 0; token < p.tokens; token++)
            dynamic[token * THREADS + j] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    bool centroid = j % KP < K;
    for (int at = blockIdx.x; at < p.scan.rows; at += gridDim.x) {
        long long first;
        int length, row;
        find_row(p.scan, at, first, length, row);
        if (length == 0) continue;
        // α of a step, one a lane; that of the step before is on its way.
        const float *alphas = p.scan.alpha + first * K + j % KP;
        auto alpha_at = [&](int t) { return t >= 0 && centroid ? alphas[(long long)t * K] : 0.0f; };
        float here = alpha_at(length - 1), before = alpha_at(length - 2);
        float even[KP], odd[KP];
        exchange.spread(1, here, even);
        exchange.spread(1, before, odd);
        Kept kept, even_soon = {}, odd_soon = {};
        kept.fetch(p, first, length - 1);
        even_soon.fetch(p, first, length - 2);
        float dc = 0.0f, c = CELL == LSTM ? p.cells[(first + length - 1) * PAD + j] : 0.0f;
        float h = mixture(weights, even), h_prev = CELL == LSTM ? 0.0f : mixture(weights, odd);
        float u = kept.u(c, h_prev);
        Outer out = outer(p, weights, first, length - 1, length, row, even, u, press.commitment, committed);
        float v[KP];
#pragma unroll
        for (int i = 0; i < KP; i++) v[i] = i < K ? out.pull * weights.s[i % K] : 0.0f;
        // Whether anything reaches steps before the last from outside.
        bool quiet = !COMMITS && !p.scan.out_every;
        // One step, from its α, that of the step before and what was kept of that; leaves the α of
        // two steps before in the place of its own, and asks for what was kept of those.
        auto step = [&](float(&alpha)[KP], float(&alpha_prev)[KP], Kept &soon, Kept &later_on, int t) {
            long long n = first + t;
            later_on.fetch(p, first, t - 2);
            float later = alpha_at(t - 2);
            unsigned token = INPUT == FEW_TOKENS ? p.scan.places[n] : 0;
#if INPUT == VECTORS
            float x[WIDTH];
#pragma unroll
            for (int e = 0; e < WIDTH; e++) x[e] = p.vectors[n * WIDTH + e];
#endif
            // Everything that needs no sum of this step stands before the barrier.
            if (COMMITS || (p.scan.dh_out && (p.scan.out_every || t + 1 == length)))
#pragma unroll
                for (int i = 0; i < K; i++) d_s[i] = fmaf(alpha[i], out.pull, d_s[i]);
            float pressed = 0.0f;
            if (ENTROPY) {
                float log_alpha = here > 0.0f ? __logf(here) : 0.0f;
                float disorder = warp_sum(lane < KP ? -here * log_alpha : 0.0f);
                disordered += disorder;
                pressed = press.entropy * here * (log_alpha + disorder);
            }
            // dz = α∘(dα − ⟨α, dα⟩)/τ; every thread makes the inner product itself, and what du
            // needs of it is a multiple of h. What the entropy adds has sum 0.
            float d_alpha = exchange.block_sums(v), dz[KP];
            exchange.spread(0, fmaf(here, d_alpha, -pressed), dz);
            float mean = all_of(dz);
            float du = fmaf(press.inv_tau, fmaf(-mean, h, mixture(weights, dz)), out.own);
            float da[4], dx[NI];
            if (CELL == LSTM) {
                Lstm s = {kept.y.x, kept.y.y, kept.y.z, kept.y.w, c, 0.0f};
                if (p.scan.dc_out && (p.scan.out_every || t + 1 == length)) {
                    const float *dc_out = outside(p.scan, p.scan.dc_out, first, t, length, row);
                    if (dc_out && j < D) dc += dc_out[j];
                }
                dc = lstm_back(HARD, s, weights.peephole, kept.c_prev, saturation, writing, du, dc, da);
#pragma unroll
                for (int b = 0; b < NI; b++) dx[b] = da[b % 4];
                if (PEEPHOLE) {
                    d_peephole[0] = fmaf(da[0], kept.c_prev, d_peephole[0]);
                    d_peephole[1] = fmaf(da[1], kept.c_prev, d_peephole[1]);
                    d_peephole[2] = fmaf(da[3], c, d_peephole[2]);
                }
            } else {
                Gru s = {kept.y.x, kept.y.y, kept.y.z, kept.y.w, 0.0f};
                gru_back(HARD, s, h_prev, saturation, writing, du, dx, da);
                d_candidate += da[2];
            }
            float along = u * press.inv_tau, against = -mean * along;
#pragma unroll
            for (int i = 0; i < K; i++) d_s[i] = fmaf(dz[i], along, fmaf(alpha[i], against, d_s[i]));
            if (PRESSES && j < D) {
                float far = unsaturated(kept.y.x) + unsaturated(kept.y.y) + unsaturated_candidate(kept.y.z);
                unsaturation += CELL == LSTM ? far + unsaturated(kept.y.w) : far;
                written += CELL == LSTM ? kept.y.x : 1.0f - kept.y.y;
            }
            // The step before: its gates, and what reaches it from outside.
            if (t > 0) {
                c = kept.c_prev;
                kept = soon;
                here = before, before = later;
                exchange.spread(1, before, alpha);
                h = mixture(weights, alpha_prev);
                if (CELL != LSTM) h_prev = mixture(weights, alpha);
                u = kept.u(c, h_prev);
#pragma unroll
                for (int i = 0; i < KP; i++) {
                    v[i] = i < K ? da[0] * weights.m[0][i % K] : 0.0f;
#pragma unroll
                    for (int b = 1; b < 4; b++)
                        if (i < K) v[i] = fmaf(da[b], weights.m[b][i % K], v[i]);
                }
                out = {0.0f, 0.0f};
                if (!quiet) {
                    out = outer(p, weights, first, t - 1, length, row, alpha_prev, u,
                                press.commitment, committed);
#pragma unroll
                    for (int i = 0; i < K; i++) v[i] = fmaf(out.pull, weights.s[i], v[i]);
                }
#pragma unroll
                for (int i = 0; i < K; i++)
#pragma unroll
                    for (int b = 0; b < 4; b++) d_m[b][i] = fmaf(alpha_prev[i], da[b], d_m[b][i]);
            }
#pragma unroll
            for (int b = 0; b < NI; b++) d_bias[b] += dx[b];
#if INPUT == VECTORS
#pragma unroll
            for (int e = 0; e < WIDTH; e++)
#pragma unroll
                for (int b = 0; b < NI; b++) d_w[b][e] = fmaf(dx[b], x[e], d_w[b][e]);
#endif
            if (INPUT == FEW_TOKENS) {
                unsigned into = d_tokens + token * THREADS * 16;
                float4 sum = four_from_shared(into);
                sum.x += dx[0], sum.y += dx[1], sum.z += dx[2];
                if (NI == 4) sum.w += dx[NI - 1];
                four_to_shared(into, sum);
            }
            if ((INPUT == ROWS || INPUT == LISTED_ROWS) && j < D)
#pragma unroll
                for (int b = 0; b < NI; b++) p.scan.da_in[(n * NI + b) * D + j] = dx[b];
        };
        int t = length - 1;
        for (; t > 0; t -= 2) {
            step(even, odd, even_soon, odd_soon, t);
            step(odd, even, odd_soon, even_soon, t - 1);
        }
        if (t == 0) step(even, odd, even_soon, odd_soon, 0);
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
                float4 sum = dynamic[token * THREADS + j];
                float *into = p.d_x + (block * p.tokens + token) * NI * D + j;
                into[0] = sum.x, into[D] = sum.y, into[2 * D] = sum.z;
                if (NI == 4) into[(NI - 1) * D] = sum.w;
            }
    }
    __shared__ double room[WARP];
    // The disorder of a step is known to every thread of it.
    double measured[MEASURED] = {block_sum(committed, room), j == 0 ? disordered : 0.0,
                                 block_sum(unsaturation, room), block_sum(written, room)};
#pragma unroll
    for (int m = 0; m < MEASURED; m++)
        if (j == 0) p.scan.measured[blockIdx.x * MEASURED + m] = measured[m];
}
