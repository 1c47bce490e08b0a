// Layers in the low-rank form with few centroids: a block carries one row after another through
// the whole sequence, a thread a unit, its weights in registers, one barrier a step. Compiled for
// each layer: D, K, CELL, HARD, PEEPHOLE, END; INPUT (how the input is read), WIDTH; COMMITS,
// ENTROPY, PRESSES (the terms there are); EVERY (whether others read every step, or the last alone).

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

// Whether something from outside may reach steps before the last.
#define OUTSIDE (EVERY || COMMITS)

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
    // Lanes of every warp that hold a part of the same sum, padded to whole fours; and a row of
    // them, an odd number of fours, so that lanes that read different rows do not wait for each other.
    static const int PARTS = WARPS * LANES_EACH, FOURS = (PARTS + 3) / 4, ROW = 4 * (FOURS | 1);
    struct Room {
        // Parts of the sums, for this step and the one before.
        __align__(16) float parts[2][KP][ROW];
        // A copy for each warp, so that no warp waits for another.
        __align__(16) float lanes[2][WARPS][KP];
    };
    static const unsigned FLIP = KP * ROW * sizeof(float);
    unsigned part, parts, lanes, flip;
    int lane;

    __device__ __forceinline__ Exchange(Room &room) {
        int warp = threadIdx.x / WARP;
        lane = threadIdx.x % WARP;
        for (int i = threadIdx.x; i < 2 * KP * ROW; i += WARPS * WARP) room.parts[0][0][i] = 0.0f;
        __syncthreads();
        part = (unsigned)__cvta_generic_to_shared(
            &room.parts[0][lane / LANES_EACH][warp * LANES_EACH + lane % LANES_EACH]);
        parts = (unsigned)__cvta_generic_to_shared(&room.parts[0][lane % KP][0]);
        lanes = (unsigned)__cvta_generic_to_shared(&room.lanes[0][warp][0]);
        flip = 0;
    }

    // The block's sums, one a lane (number lane % KP): one barrier.
    __device__ __forceinline__ float block_sums(float v[KP]) {
        fold<KP / 2>(v, lane);
        to_shared(part + flip, v[0]);
        __syncthreads();
        float4 sum = four_from_shared(parts + flip);
#pragma unroll
        for (int i = 1; i < FOURS; i++) {
            float4 more = four_from_shared(parts + flip + i * 16);
            sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
        }
        flip ^= FLIP;
        return (sum.x + sum.y) + (sum.z + sum.w);
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
    float sums[4] = {v[0], K > 1 ? v[1] : 0.0f, K > 2 ? v[2] : 0.0f, K > 3 ? v[3] : 0.0f};
#pragma unroll
    for (int i = 4; i < K; i++) sums[i % 4] += v[i];
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

// What a step reads of its input: asked for two steps ahead, a step takes less time than memory
// does; where that is, four steps ahead.
struct Read {
#if INPUT == VECTORS
    float x[WIDTH];
#else
    float x[NI];
#endif
    __device__ __forceinline__ void fetch(const Few &p, unsigned place, int j) {
#if INPUT == VECTORS
        const float *row = p.vectors + (unsigned long long)place * WIDTH;
#pragma unroll
        for (int e = 0; e < WIDTH; e++) x[e] = row[e];
#else
        // A thread without a unit reads another's: its weights are zero.
        const float *row = p.scan.x + (unsigned long long)place * (NI * D) + min(j, D - 1);
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

// One row's way forward. Exponentials are taken against a reference that is kept from step to step,
// and found anew only where their sum would leave what numbers can hold: the largest score is not on
// the way from step to step.
struct Forward {
    static const int THREADS_HERE = THREADS_OF(UNITS);
    const Few &p;
    const Weights (&weights)[UNITS];
    Exchange<THREADS_HERE / WARP> &exchange;
    // log2(e) / τ.
    float scale;
    unsigned first;
    int length, j;
    // α times its sum, and one over that: the division is off the way from step to step.
    float e[KP], inv, reference, c[UNITS], u[UNITS];
    float4 *gates;
    float *cells, *alpha;

    __device__ __forceinline__ unsigned place_of(int t) const {
        unsigned n = first + min(t, length - 1);
        return LISTED ? p.scan.places[n] : n;
    }

    __device__ __forceinline__ void cell(int w, const float in[NI]) {
        float a[4];
#pragma unroll
        for (int b = 0; b < 4; b++) a[b] = e[0] * weights[w].m[b][0];
#pragma unroll
        for (int i = 1; i < K; i++)
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
            gates[w * THREADS_HERE] = kept;
            if (CELL == LSTM) cells[w * THREADS_HERE] = c[w];
        }
    }

    __device__ __forceinline__ void choose() {
        float z[KP];
#pragma unroll
        for (int i = 0; i < KP; i++) {
            z[i] = i < K ? u[0] * weights[0].s[i % K] : 0.0f;
#pragma unroll
            for (int w = 1; w < UNITS; w++)
                if (i < K) z[i] = fmaf(u[w], weights[w].s[i % K], z[i]);
        }
        float score = exchange.block_sums(z) * scale, mine = exp2f_quick(score - reference);
        exchange.spread(0, mine, e);
        float sum = all_of(e);
        // Every thread of the row has the same sum: the vote tells the compiler so. What is no number
        // stays none.
        if (__builtin_expect(__any_sync(ALL_LANES, !(sum > 1e-18f && sum < 1e18f)), 0)) {
            reference = lanes_max(j % KP < K ? score : -INFINITY);
            mine = exp2f_quick(score - reference);
            exchange.spread(0, mine, e);
            sum = all_of(e);
        }
        inv = quotient_of_one(sum);
        if (j < K) *alpha = mine * inv;
    }

    // What others read of a step; the end token's step is not followed by a transition.
    __device__ __forceinline__ void keep(unsigned n, bool last) {
        bool moves = !(END && last);
        if (!moves && j < K) alpha[0] = 0.0f;
#pragma unroll
        for (int w = 0; w < UNITS; w++) {
            int unit = j + w * THREADS_HERE;
            unsigned long long at = (unsigned long long)n * D + unit;
            if (unit >= D) continue;
            float h = mixture(weights[w], e) * inv;
            if (p.keep_h == ALWAYS || (p.keep_h && last)) p.scan.h[at] = moves ? h : u[w];
            if (p.keep_u == ALWAYS || (p.keep_u && last)) p.scan.u[at] = u[w];
            if (CELL == LSTM && (p.keep_c == ALWAYS || (p.keep_c && last))) p.scan.c[at] = c[w];
        }
    }

    __device__ __forceinline__ void step(int t, Read (&read)[UNITS], unsigned &place) {
#pragma unroll
        for (int w = 0; w < UNITS; w++) {
            float in[NI];
#pragma unroll
            for (int b = 0; b < NI; b++) in[b] = read[w].block(weights[w], b);
            read[w].fetch(p, place, j + w * THREADS_HERE);
            cell(w, in);
        }
        place = place_of(t + 4);
        choose();
        if (EVERY) keep(first + t, t + 1 == length);
        gates += PAD, cells += PAD, alpha += K;
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
    float scale = p.scan.press->inv_tau * 1.44269504f;
    for (int at = blockIdx.x; at < p.scan.rows; at += gridDim.x) {
        long long first;
        int length, row;
        find_row(p.scan, at, first, length, row);
        if (length == 0) continue;
        Forward way = {p, weights, exchange, scale, (unsigned)first, length, j};
        way.gates = p.gates + first * PAD + j, way.cells = p.cells + first * PAD + j;
        way.alpha = p.scan.alpha + first * K + j;
        // Registers of their own for even and odd steps: a copy would wait for what is on its way.
        Read even[UNITS], odd[UNITS];
#pragma unroll
        for (int w = 0; w < UNITS; w++) {
            even[w].fetch(p, way.place_of(0), j + w * threads);
            odd[w].fetch(p, way.place_of(1), j + w * threads);
        }
        unsigned even_place = way.place_of(2), odd_place = way.place_of(3);
        int t = 0;
        for (; t + 1 < length; t += 2) {
            way.step(t, even, even_place);
            way.step(t + 1, odd, odd_place);
        }
        if (t < length) way.step(t, even, even_place);
        way.alpha -= K;
        if (!EVERY) way.keep(way.first + length - 1, true);
    }
}

// A unit's kept step, and what it read: asked for two steps ahead.
struct Kept {
    float4 y;
    float c_prev;
#if INPUT == FEW_TOKENS
    unsigned token;
#elif INPUT == VECTORS
    float x[WIDTH];
#endif
    // Steps before the first are the first one again, which nobody looks at.
    __device__ __forceinline__ void fetch(const Few &p, unsigned first, int t) {
        t = max(t, 0);
        y = p.gates[(unsigned long long)(first + t) * PAD + threadIdx.x];
        if (CELL == LSTM)
            c_prev = p.cells[(unsigned long long)(first + max(t - 1, 0)) * PAD + threadIdx.x];
#if INPUT == FEW_TOKENS
        token = p.scan.places[first + t];
#elif INPUT == VECTORS
#pragma unroll
        for (int e = 0; e < WIDTH; e++) x[e] = p.vectors[(unsigned long long)(first + t) * WIDTH + e];
#endif
    }
};

// What reaches h and u of a step from outside the recurrence; known before the step's turn.
struct Outer {
    float pull, own;
};

__device__ __forceinline__ Outer outer(const Few &p, const Weights &weights, unsigned first, int t,
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

// What reaches c of a step from outside.
__device__ __forceinline__ float outer_c(const Few &p, unsigned first, int t, int length, int row) {
    const float *dc_out = outside(p.scan, p.scan.dc_out, first, t, length, row);
    return CELL == LSTM && dc_out && threadIdx.x < D ? dc_out[threadIdx.x] : 0.0f;
}

extern __shared__ float4 dynamic[];

// Sums of a unit over steps.
struct Sums {
    float m[4][K], s[K], bias[NI], candidate, peephole[3];
#if INPUT == VECTORS
    float w[NI][WIDTH];
#endif
    double committed, disordered, unsaturation, written;
};

// One row's way back. Of two steps, α in every thread (`even` and `odd`) and what was kept of them
// have registers of their own; a copy would wait for what is on its way.
struct Backward {
    const Few &p;
    const Weights &weights;
    const Press &press;
    Exchange<THREADS / WARP> &exchange;
    Sums &sums;
    unsigned first;
    int length, row, j;
    // α of this step and the one before, one a lane.
    float here, before;
    Kept kept;
    // Of this step: what was kept of c, tanh(c), h, u and h of the step before (GRU).
    float c, tanh_c, h, u, h_prev;
    // The gradients: of c, from outside, and a unit's part of those of α.
    float dc;
    Outer out;
    float v[KP];

    // α of a step, one a lane.
    __device__ __forceinline__ float alpha_at(int t) const {
        int i = j % KP;
        if (t < 0 || i >= K) return 0.0f;
        return p.scan.alpha[(unsigned long long)(first + t) * K + i];
    }

    // What follows from α, that of the step before and what was kept of a step.
    __device__ __forceinline__ void look(const float (&alpha)[KP], const float (&alpha_prev)[KP]) {
        h = mixture(weights, alpha);
        if (CELL == LSTM) {
            tanh_c = tanh_of(c);
            u = kept.y.w * tanh_c;
        } else {
            h_prev = mixture(weights, alpha_prev);
            u = fmaf(kept.y.y, h_prev, (1.0f - kept.y.y) * kept.y.z);
        }
    }

    // The part of the gradients of α that comes through h.
    __device__ __forceinline__ void pulled(const float (&alpha)[KP]) {
#pragma unroll
        for (int i = 0; i < K; i++) {
            v[i] = fmaf(out.pull, weights.s[i], v[i]);
            sums.s[i] = fmaf(alpha[i], out.pull, sums.s[i]);
        }
    }

    __device__ __forceinline__ void begin(float (&alpha)[KP], float (&alpha_prev)[KP]) {
        here = alpha_at(length - 1), before = alpha_at(length - 2);
        exchange.spread(1, here, alpha);
        exchange.spread(1, before, alpha_prev);
        kept.fetch(p, first, length - 1);
        if (length == 1) kept.c_prev = 0.0f;
        c = CELL == LSTM ? p.cells[(unsigned long long)(first + length - 1) * PAD + j] : 0.0f;
        look(alpha, alpha_prev);
        out = outer(p, weights, first, length - 1, length, row, alpha, u, press.commitment, sums.committed);
        dc = outer_c(p, first, length - 1, length, row);
#pragma unroll
        for (int i = 0; i < KP; i++) v[i] = 0.0f;
        pulled(alpha);
    }

    // From the gradients of the cell's output to those of its pre-activations (dx: the input's).
    __device__ __forceinline__ void cell(float du, float da[4], float dx[NI]) {
        float saturation = PRESSES ? press.saturation : 0.0f, writing = PRESSES ? press.writing : 0.0f;
        if (CELL == LSTM) {
            Lstm s = {kept.y.x, kept.y.y, kept.y.z, kept.y.w, c, u};
            dc = lstm_back_from(HARD, s, tanh_c, weights.peephole, kept.c_prev, saturation, writing, du, dc, da);
#pragma unroll
            for (int b = 0; b < NI; b++) dx[b] = da[b % 4];
            if (PEEPHOLE) {
                sums.peephole[0] = fmaf(da[0], kept.c_prev, sums.peephole[0]);
                sums.peephole[1] = fmaf(da[1], kept.c_prev, sums.peephole[1]);
                sums.peephole[2] = fmaf(da[3], c, sums.peephole[2]);
            }
        } else {
            Gru s = {kept.y.x, kept.y.y, kept.y.z, kept.y.w, 0.0f};
            gru_back(HARD, s, h_prev, saturation, writing, du, dx, da);
            sums.candidate += da[2];
        }
        if (PRESSES && j < D) {
            float far = unsaturated(kept.y.x) + unsaturated(kept.y.y) + unsaturated_candidate(kept.y.z);
            sums.unsaturation += CELL == LSTM ? far + unsaturated(kept.y.w) : far;
            sums.written += CELL == LSTM ? kept.y.x : 1.0f - kept.y.y;
        }
    }

    // The gradients of the input, summed or left.
    __device__ __forceinline__ void weigh(int t, const float dx[NI]) {
#pragma unroll
        for (int b = 0; b < NI; b++) sums.bias[b] += dx[b];
#if INPUT == VECTORS
#pragma unroll
        for (int e = 0; e < WIDTH; e++)
#pragma unroll
            for (int b = 0; b < NI; b++) sums.w[b][e] = fmaf(dx[b], kept.x[e], sums.w[b][e]);
#elif INPUT == FEW_TOKENS
        unsigned into = (unsigned)__cvta_generic_to_shared(&dynamic[j]) + kept.token * THREADS * 16;
        float4 sum = four_from_shared(into);
        sum.x += dx[0], sum.y += dx[1], sum.z += dx[2];
        if (NI == 4) sum.w += dx[NI - 1];
        four_to_shared(into, sum);
#else
        float *into = p.scan.da_in + (unsigned long long)(first + t) * (NI * D) + j;
        if (j < D)
#pragma unroll
            for (int b = 0; b < NI; b++) into[b * D] = dx[b];
#endif
    }

    // One step, from its α, that of the step before and what was kept of that; leaves the α of two
    // steps before in the place of its own. `ready` is that α, one a lane; asked for now are the one
    // before it, and what was kept of two steps before. Before the first step α is zero, and what
    // is made of it reaches nothing.
    __device__ __forceinline__ void step(float (&alpha)[KP], float (&alpha_prev)[KP], const Kept &soon,
                                         Kept &later, float &ready, float &asked, int t) {
        later.fetch(p, first, t - 2);
        asked = alpha_at(t - 3);
        float pressed = 0.0f;
        if (ENTROPY) {
            float log_alpha = here > 0.0f ? __logf(here) : 0.0f;
            float disorder = warp_sum(j % WARP < KP ? -here * log_alpha : 0.0f);
            sums.disordered += disorder;
            pressed = press.entropy * here * (log_alpha + disorder);
        }
        // dz = α∘(dα − ⟨α, dα⟩)/τ; every thread makes the inner product itself, and what du
        // needs of it is a multiple of h. What the entropy adds has sum 0.
        float d_alpha = exchange.block_sums(v), dz[KP], da[4], dx[NI];
        exchange.spread(0, ENTROPY ? fmaf(here, d_alpha, -pressed) : here * d_alpha, dz);
        float mean = all_of(dz);
        cell(fmaf(press.inv_tau, fmaf(-mean, h, mixture(weights, dz)), out.own), da, dx);
#pragma unroll
        for (int i = 0; i < KP; i++) {
            v[i] = i < K ? da[0] * weights.m[0][i % K] : 0.0f;
#pragma unroll
            for (int b = 1; b < 4; b++)
                if (i < K) v[i] = fmaf(da[b], weights.m[b][i % K], v[i]);
        }
        float along = u * press.inv_tau, against = -mean * along;
#pragma unroll
        for (int i = 0; i < K; i++)
            sums.s[i] = fmaf(dz[i], along, fmaf(alpha[i], against, sums.s[i]));
        weigh(t, dx);
        // The step before: its gates, and what reaches it from outside.
        c = kept.c_prev, kept = soon;
        if (t == 1) kept.c_prev = 0.0f;
        here = before, before = ready;
        exchange.spread(1, ready, alpha);
        look(alpha_prev, alpha);
        out = {0.0f, 0.0f};
        if (OUTSIDE && t > 0) {
            out = outer(p, weights, first, t - 1, length, row, alpha_prev, u, press.commitment, sums.committed);
            dc += outer_c(p, first, t - 1, length, row);
            pulled(alpha_prev);
        }
#pragma unroll
        for (int i = 0; i < K; i++)
#pragma unroll
            for (int b = 0; b < 4; b++) sums.m[b][i] = fmaf(alpha_prev[i], da[b], sums.m[b][i]);
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1) few_backward(Few p) {
    __shared__ Exchange<THREADS / WARP>::Room exchange_room;
    Exchange<THREADS / WARP> exchange(exchange_room);
    int j = threadIdx.x;
    Weights weights;
    weights.load(p, j);
    Press press = *p.scan.press;
    Sums of = {};
    if (INPUT == FEW_TOKENS)
        for (int token = 0; token < p.tokens; token++)
            dynamic[token * THREADS + j] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int at = blockIdx.x; at < p.scan.rows; at += gridDim.x) {
        long long first;
        int length, row;
        find_row(p.scan, at, first, length, row);
        if (length == 0) continue;
        Backward way = {p, weights, press, exchange, of, (unsigned)first, length, row, j};
        int t = length - 1;
        float even[KP], odd[KP], even_ready = way.alpha_at(t - 2), odd_ready;
        Kept even_soon, odd_soon;
        even_soon.fetch(p, way.first, t - 1);
        way.begin(even, odd);
        for (; t > 0; t -= 2) {
            way.step(even, odd, even_soon, odd_soon, even_ready, odd_ready, t);
            way.step(odd, even, odd_soon, even_soon, odd_ready, even_ready, t - 1);
        }
        if (t == 0) way.step(even, odd, even_soon, odd_soon, even_ready, odd_ready, 0);
    }
    if (j < D) {
        long long block = blockIdx.x;
#pragma unroll
        for (int i = 0; i < K; i++) {
#pragma unroll
            for (int b = 0; b < 4; b++) p.d_m[((block * K + i) * 4 + b) * D + j] = of.m[b][i];
            p.d_s[(block * K + i) * D + j] = of.s[i];
        }
        float *sums = p.scan.sums + block * SUMS * D + j;
#pragma unroll
        for (int b = 0; b < 4; b++) sums[(SUM_BIAS + b) * D] = b < NI ? of.bias[b % NI] : 0.0f;
        sums[SUM_CANDIDATE * D] = of.candidate;
#pragma unroll
        for (int b = 0; b < 3; b++) sums[(SUM_PEEPHOLE + b) * D] = of.peephole[b];
#if INPUT == VECTORS
#pragma unroll
        for (int e = 0; e < WIDTH; e++)
#pragma unroll
            for (int b = 0; b < NI; b++) p.d_x[((block * WIDTH + e) * NI + b) * D + j] = of.w[b][e];
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
    double measured[MEASURED] = {block_sum(of.committed, room), j == 0 ? of.disordered : 0.0,
                                 block_sum(of.unsaturation, room), block_sum(of.written, room)};
#pragma unroll
    for (int m = 0; m < MEASURED; m++)
        if (j == 0) p.scan.measured[blockIdx.x * MEASURED + m] = measured[m];
}
