// The scan forward with few centroids (few.cuh).

// What a step reads of its input: asked for two steps ahead, a step takes less time than memory
// does; where that is, four steps ahead.
struct Read {
#if INPUT == VECTORS
    float x[WIDTH];
#else
    float x[NI];
#endif
    // Returns where it reads.
    __device__ __forceinline__ const float *fetch(const Few &p, unsigned place, int j) {
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
        return row;
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

// One row's way forward, or a part of it: steps are counted from where that begins.
// Exponentials are taken against a reference that is kept from step to step,
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
    bool ends;
    // α times its sum, and one over that: the division is off the way from step to step.
    float e[KP], inv, reference, c[UNITS], u[UNITS];
    float4 *gates;
    float *cells, *alpha;

    // Where the input of a step is, asked for when `after` is known: an address, whose first bit is 0.
    __device__ __forceinline__ unsigned place_of(int t, const float *after = nullptr) const {
        unsigned n = first + min(t, length - 1);
        return LISTED ? p.scan.places[n + ((unsigned long long)after >> 63)] : n;
    }

    // Goes on after the step before the first.
    __device__ __forceinline__ void resume() {
        inv = 1.0f;
#pragma unroll
        for (int i = 0; i < K; i++) e[i] = p.scan.alpha[(first - 1ull) * K + i];
#pragma unroll
        for (int w = 0; w < UNITS; w++) c[w] = CELL == LSTM ? (cells - PAD)[w * THREADS_HERE] : 0.0f;
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
        exchange.spread(mine, e);
        float sum = all_of(e);
        // Within 2^±60, what is too small for a float is nothing beside the sum. Every thread of the row
        // has the same sum: the vote tells the compiler so. What is no number stays none.
        if (__builtin_expect(__any_sync(ALL_LANES, !(sum > 1e-18f && sum < 1e18f)), 0)) {
            reference = lanes_max(j % KP < K ? score : -INFINITY);
            mine = exp2f_quick(score - reference);
            exchange.spread(mine, e);
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
        const float *row;
#pragma unroll
        for (int w = 0; w < UNITS; w++) {
            float in[NI];
#pragma unroll
            for (int b = 0; b < NI; b++) in[b] = read[w].block(weights[w], b);
            cell(w, in);
            row = read[w].fetch(p, place, j + w * THREADS_HERE);
        }
        // PERF: only after the place has been used, so that the next can have its register: a copy waited
        // for memory, 130 cycles a step of 1,040.
        place = place_of(t + 4, row);
        choose();
        if (EVERY) keep(first + t, (!CUTS || ends) && t + 1 == length);
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
        int length, row, from, to;
        find_row(p.scan, at, first, length, row);
        find_times(p, length, from, to);
        if (from >= to) continue;
        bool ends = to == length;
        first += from, length = to - from;
        Forward way = {p, weights, exchange, scale, (unsigned)first, length, j, ends};
        way.gates = p.gates + first * PAD + j, way.cells = p.cells + first * PAD + j;
        way.alpha = p.scan.alpha + first * K + j;
        if (CUTS && from > 0) way.resume();
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
        if (!EVERY && (!CUTS || ends)) way.keep(way.first + length - 1, true);
    }
}
