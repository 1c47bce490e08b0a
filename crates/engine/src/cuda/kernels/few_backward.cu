// The scan backward with few centroids (few.cuh).

// A unit's kept step.
struct Kept {
    float4 y;
    float c_prev;
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

// What a step reads of global memory is asked for BACK steps before, and put into a ring of shared
// memory: a step takes less time than memory does, and registers that wait would hold up others.
#define BACK 4
#define SLOTS 4

static_assert(BACK <= SLOTS && (SLOTS & (SLOTS - 1)) == 0, "a slot is free again, and found by a mask");

// A slot of the ring: a thread's own; and for each warp α and what the step read (a
// token, or WIDTH numbers). When a step ends, what the next needs has come, and α of the one after it.
struct Slot {
    float4 y[THREADS];
    float c_prev[THREADS];
    __align__(16) float alpha[THREADS / WARP][KP], read[THREADS / WARP][4];
};
__device__ __forceinline__ unsigned slot_of(int t) { return (t & (SLOTS - 1)) * sizeof(Slot); }

// One row's way back.
struct Backward {
    const Few &p;
    const Weights &weights;
    const Press &press;
    Exchange<THREADS / WARP> &exchange;
    Sums &sums;
    unsigned first;
    int length, row, j;
    // Where a thread's own places in the ring are; where the step to be asked for lies in memory.
    unsigned ys, cs, alphas, reads;
    const float4 *gates;
    const float *cells, *alpha_from, *vectors;
    const unsigned *places;
    // α of this step and the one before, one a lane.
    float here, before;
    Kept kept;
    // Of this step: what was kept of c, tanh(c), h, u and h of the step before (GRU).
    float c, tanh_c, h, u, h_prev;
    // The gradients: of c, from outside, and a unit's part of those of α.
    float dc;
    Outer out;
    float v[KP];

    // Begins to ask with a step.
    __device__ __forceinline__ void ask_from(int t) {
        long long n = (long long)first + t;
        gates = p.gates + n * PAD + j, cells = p.cells + (n - 1) * PAD + j;
        alpha_from = p.scan.alpha + n * K + min(j % WARP, K - 1);
        vectors = p.vectors + n * WIDTH + min(j % WARP, WIDTH - 1), places = p.scan.places + n;
    }

    // Asks for a step, the one before that asked for last; before the first, all is zero.
    __device__ __forceinline__ void ask_step(int t) {
        int lane = j % WARP;
        unsigned slot = slot_of(t);
        copy_four(ys + slot, gates, t >= 0);
        if (CELL == LSTM) copy_one(cs + slot, cells, t > 0);
        if (lane < KP) copy_one(alphas + slot + lane * 4, alpha_from, t >= 0 && lane < K);
        if (INPUT == FEW_TOKENS && lane == 0) copy_one(reads + slot, places, t >= 0);
        if (INPUT == VECTORS && lane < WIDTH) copy_one(reads + slot + lane * 4, vectors, t >= 0);
        end_group();
        gates -= PAD, cells -= PAD, alpha_from -= K, vectors -= WIDTH, places -= 1;
    }

    // What came of α of a step: one a lane, and all in every thread.
    __device__ __forceinline__ float alpha_of(int t, float (&alpha)[KP]) const {
        unsigned at = alphas + slot_of(t);
#pragma unroll
        for (int i = 0; i < KP && i < (K + 3) / 4 * 4; i += 4) {
            float4 four = four_from_shared(at + i * sizeof(float));
            alpha[i] = four.x, alpha[i + 1] = four.y, alpha[i + 2] = four.z, alpha[i + 3] = four.w;
        }
        return from_shared(at + j % KP * sizeof(float));
    }

    // What came of what was kept of a step.
    __device__ __forceinline__ void kept_of(int t) {
        kept.y = four_from_shared(ys + slot_of(t));
        if (CELL == LSTM) kept.c_prev = from_shared(cs + slot_of(t));
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

    // At step t, the last.
    __device__ __forceinline__ void begin(float (&alpha)[KP], float (&alpha_prev)[KP], int t) {
        // What was asked for at the end of the row before has come, and every warp is done with it.
        wait_groups<0>();
        __syncthreads();
        ask_from(t);
#pragma unroll
        for (int i = 0; i < BACK; i++) ask_step(t - i);
        // Asked for are BACK steps; the first two are needed.
        wait_groups<BACK - 2>();
        __syncwarp();
        here = alpha_of(t, alpha), before = alpha_of(t - 1, alpha_prev);
        kept_of(t);
        c = CELL == LSTM ? p.cells[(unsigned long long)(first + t) * PAD + j] : 0.0f;
        look(alpha, alpha_prev);
#pragma unroll
        for (int i = 0; i < KP; i++) v[i] = 0.0f;
        out = outer(p, weights, first, t, length, row, alpha, u, press.commitment, sums.committed);
        dc = outer_c(p, first, t, length, row);
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
        float4 four = four_from_shared(reads + slot_of(t));
        float x[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int e = 0; e < WIDTH; e++)
#pragma unroll
            for (int b = 0; b < NI; b++) sums.w[b][e] = fmaf(dx[b], x[e], sums.w[b][e]);
#elif INPUT == FEW_TOKENS
        unsigned token = __float_as_uint(from_shared(reads + slot_of(t)));
        unsigned into = (unsigned)__cvta_generic_to_shared(&dynamic[j]) + token * THREADS * 16;
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

    // One step, from its α and that of the step before; leaves the α of two steps before in the place
    // of its own. Before the first step α is zero, and what is made of it reaches nothing.
    __device__ __forceinline__ void step(float (&alpha)[KP], float (&alpha_prev)[KP], int t) {
        float pressed = 0.0f;
        if (ENTROPY) {
            float log_alpha = here > 0.0f ? __logf(here) : 0.0f;
            float disorder = warp_sum(j % WARP < K ? -here * log_alpha : 0.0f);
            sums.disordered += disorder;
            pressed = press.entropy * here * (log_alpha + disorder);
        }
        // dz = α∘(dα − ⟨α, dα⟩)/τ; every thread makes the inner product itself, and what du
        // needs of it is a multiple of h. What the entropy adds has sum 0.
        float d_alpha = exchange.block_sums(v), dz[KP], da[4], dx[NI];
        exchange.spread(ENTROPY ? fmaf(here, d_alpha, -pressed) : here * d_alpha, dz);
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
        c = kept.c_prev, here = before;
        // Asked for are the BACK − 1 steps before this one; the first two are needed.
        wait_groups<BACK - 3>();
        __syncwarp();
        kept_of(t - 1);
        before = alpha_of(t - 2, alpha);
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
        // In the place of this step.
        ask_step(t - BACK);
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1) few_backward(Few p) {
    __shared__ Exchange<THREADS / WARP>::Room exchange_room;
    Exchange<THREADS / WARP> exchange(exchange_room);
    int j = threadIdx.x;
    Weights weights;
    weights.load(p, j);
    Press press = *p.scan.press;
    __shared__ Slot ring[SLOTS];
    unsigned ys = (unsigned)__cvta_generic_to_shared(&ring[0].y[j]);
    unsigned cs = (unsigned)__cvta_generic_to_shared(&ring[0].c_prev[j]);
    unsigned alphas = (unsigned)__cvta_generic_to_shared(&ring[0].alpha[j / WARP][0]);
    unsigned reads = (unsigned)__cvta_generic_to_shared(&ring[0].read[j / WARP][0]);
    Sums of = {};
    if (INPUT == FEW_TOKENS)
        for (int token = 0; token < p.tokens; token++)
            dynamic[token * THREADS + j] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int at = blockIdx.x; at < p.scan.rows; at += gridDim.x) {
        long long first;
        int length, row;
        find_row(p.scan, at, first, length, row);
        if (!CUTS && length == 0) continue;
        Backward way = {p, weights, press, exchange, of, (unsigned)first, length, row, j,
                        ys, cs, alphas, reads};
        float even[KP], odd[KP];
        int t = length - 1;
        if (!CUTS || length > 0) way.begin(even, odd, t);
        // No chunk but the first begins before step 1.
        auto beginning = [&](int chunk) { return CUTS && chunk > 0 ? (int)p.chunks.times[chunk] : 1; };
        int chunks = CUTS ? p.chunks.count : 1, from = beginning(chunks - 1), before;
        for (int chunk = chunks; chunk-- > 0; from = before) {
            // Asked for before it is needed.
            before = beginning(chunk - 1);
            for (; t >= from; t -= 2) {
                way.step(even, odd, t);
                way.step(odd, even, t - 1);
            }
            if (CUTS && chunk > 0) arrive(p.chunks.through + chunk);
        }
        if (t == 0) way.step(even, odd, t);
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
