// The scan forward with few centroids (few.cuh).

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
    // Where a thread's own places in the rings are: of its units' input, and of where that is.
    unsigned inputs, places;
    // α times its sum, and one over that: the division is off the way from step to step.
    float e[KP], inv, reference, c[UNITS], u[UNITS];
    float4 *gates;
    float *cells, *alpha;

    // Asks for where the input of a step is: long enough before that itself is asked for.
    __device__ __forceinline__ void ask_place(int t) {
        if (LISTED) ask(places + t % PLACES * (THREADS_HERE * 4), p.scan.places + first + min(t, length - 1));
    }

    // Asks for the input of a step.
    __device__ __forceinline__ void ask_input(int t) {
        unsigned place = first + min(t, length - 1);
        if (LISTED) place = __float_as_uint(from_shared(places + t % PLACES * (THREADS_HERE * 4)));
#pragma unroll
        for (int w = 0; w < UNITS; w++) {
            unsigned to = inputs + (t % SLOTS * PAD + w * THREADS_HERE) * 16;
#if INPUT == VECTORS
#pragma unroll
            for (int e = 0; e < WIDTH; e++)
                ask(to + 4 * e, p.vectors + (unsigned long long)place * WIDTH + e);
#else
            // A thread without a unit reads another's: its weights are zero.
            const float *row = p.scan.x + (unsigned long long)place * (NI * D);
#pragma unroll
            for (int b = 0; b < NI; b++) ask(to + 4 * b, row + b * D + min(j + w * THREADS_HERE, D - 1));
#endif
        }
    }

    // The input's part of a unit's blocks.
    __device__ __forceinline__ void input(int w, int t, float in[NI]) {
        float4 four = four_from_shared(inputs + (t % SLOTS * PAD + w * THREADS_HERE) * 16);
        float x[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int b = 0; b < NI; b++) {
#if INPUT == VECTORS
            in[b] = weights[w].bias[b];
#pragma unroll
            for (int e = 0; e < WIDTH; e++) in[b] = fmaf(weights[w].w[b][e], x[e], in[b]);
#else
            in[b] = x[b];
#endif
        }
    }

    __device__ __forceinline__ void begin() {
        // What was asked for at the end of the row before must not come later than this.
        awaited<0>();
#pragma unroll
        for (int t = 0; t <= 2 * AHEAD; t++) ask_place(t);
        committed();
        awaited<0>();
#pragma unroll
        for (int t = 0; t < AHEAD; t++) ask_input(t), committed();
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

    __device__ __forceinline__ void step(int t) {
        ask_input(t + AHEAD), ask_place(t + 2 * AHEAD + 1), committed();
        awaited<AHEAD>();
#pragma unroll
        for (int w = 0; w < UNITS; w++) {
            float in[NI];
            input(w, t, in);
            cell(w, in);
        }
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
    __shared__ float4 input_ring[SLOTS][PAD];
    __shared__ unsigned place_ring[LISTED ? PLACES : 1][threads];
    unsigned inputs = (unsigned)__cvta_generic_to_shared(&input_ring[0][j]);
    unsigned places = (unsigned)__cvta_generic_to_shared(&place_ring[0][j]);
    float scale = p.scan.press->inv_tau * 1.44269504f;
    for (int at = blockIdx.x; at < p.scan.rows; at += gridDim.x) {
        long long first;
        int length, row;
        find_row(p.scan, at, first, length, row);
        if (length == 0) continue;
        Forward way = {p, weights, exchange, scale, (unsigned)first, length, j, inputs, places};
        way.gates = p.gates + first * PAD + j, way.cells = p.cells + first * PAD + j;
        way.alpha = p.scan.alpha + first * K + j;
        way.begin();
#pragma unroll 4
        for (int t = 0; t < length; t++) way.step(t);
        way.alpha -= K;
        if (!EVERY) way.keep(way.first + length - 1, true);
    }
}
