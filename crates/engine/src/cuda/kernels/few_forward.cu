// The scan forward with few centroids (few.cuh).

// What a step reads of its input, asked for some steps ahead: a step takes less time than memory does.
#if INPUT == VECTORS
#define ASKED 2
struct Read {
    float x[WIDTH];
    __device__ __forceinline__ void fetch(const Few &p, unsigned place) {
        const float *row = p.vectors + (unsigned long long)place * WIDTH;
#pragma unroll
        for (int e = 0; e < WIDTH; e++) x[e] = row[e];
    }
    // The input's part of block b.
    __device__ __forceinline__ float block(const Weights &weights, int b) const {
        float sum = weights.bias[b];
#pragma unroll
        for (int e = 0; e < WIDTH; e++) sum = fmaf(weights.w[b][e], x[e], sum);
        return sum;
    }
};
#else
// Rows of x go through a ring of shared memory. (Registers that wait for memory are waited for together
// with those that were asked for last: that took a fifth of the time.)
#define ASKED 4
struct Ring {
    static const int ROW = NI * D, THREADS_HERE = THREADS_OF(UNITS);
    struct Room {
        __align__(16) float x[ASKED][(ROW + 3) / 4 * 4];
    };
    unsigned at;

    __device__ __forceinline__ Ring(Room &room) : at((unsigned)__cvta_generic_to_shared(&room)) {}
    __device__ __forceinline__ unsigned slot(int t) const { return at + t % ASKED * sizeof(Room) / ASKED; }

    // Asks for the row of step t, when nobody reads that of step t - ASKED any more.
    __device__ __forceinline__ void ask(const Few &p, int t, unsigned place) const {
        const float *row = p.scan.x + (unsigned long long)place * ROW;
        // Rows begin at multiples of 16 bytes, or of 4.
        const int EACH = ROW % 4 == 0 ? 4 : 1;
#pragma unroll
        for (int i = 0; i < (ROW / EACH + THREADS_HERE - 1) / THREADS_HERE; i++) {
            int from = (threadIdx.x + i * THREADS_HERE) * EACH;
            if (from >= ROW) continue;
            if (EACH == 4) copy_four(slot(t) + from * 4, row + from, true);
            else copy_one(slot(t) + from * 4, row + from, true);
        }
        end_group();
    }

    // A thread without a unit reads another's: its weights are zero.
    __device__ __forceinline__ float block(int t, int j, int b) const {
        return from_shared(slot(t) + (b * D + min(j, D - 1)) * 4);
    }
};
#endif

// One row's way forward. Exponentials are taken against a reference that is kept from step to step, and
// found anew only where their sum would leave what numbers can hold: the largest score is not on
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

    // Where the input of a step is.
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
        exchange.spread(mine, e);
        float sum = all_of(e);
        // Within 2^±60, what is too small for a float is nothing beside the sum. Every thread of the row
        // has the same sum: the vote tells the compiler so. What is no number stays none.
        if (__builtin_expect(__any_sync(ALL_LANES, !(sum > 1e-18f && sum < 1e18f)), 0)) {
            reference = warp_top(j % KP < K ? score : -INFINITY);
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

    __device__ __forceinline__ void left(int t) {
        if (EVERY) keep(first + t, t + 1 == length);
        gates += PAD, cells += PAD, alpha += K;
    }

#if INPUT == VECTORS
    __device__ __forceinline__ void step(int t, Read &read) {
        float in[UNITS][NI];
#pragma unroll
        for (int w = 0; w < UNITS; w++)
#pragma unroll
            for (int b = 0; b < NI; b++) in[w][b] = read.block(weights[w], b);
        read.fetch(p, place_of(t + ASKED));
#pragma unroll
        for (int w = 0; w < UNITS; w++) cell(w, in[w]);
        choose();
        left(t);
    }

    __device__ __forceinline__ void go() {
        // Registers of their own for even and odd steps: a copy would wait for what is on its way.
        Read even, odd;
        even.fetch(p, place_of(0)), odd.fetch(p, place_of(1));
        int t = 0;
        for (; t + 1 < length; t += 2) {
            step(t, even);
            step(t + 1, odd);
        }
        if (t < length) step(t, even);
    }
#else
    // `place` is where the step is that is asked for next; then, where that is that is asked for two steps
    // later.
    __device__ __forceinline__ void step(int t, const Ring &ring, unsigned &place) {
#pragma unroll
        for (int w = 0; w < UNITS; w++) {
            float in[NI];
#pragma unroll
            for (int b = 0; b < NI; b++) in[b] = ring.block(t, j + w * THREADS_HERE, b);
            cell(w, in);
        }
        // The next step's row has come: for this thread's part of it before a barrier, for all after it.
        wait_groups<ASKED - 2>();
        choose();
        ring.ask(p, t + ASKED, place);
        place = place_of(t + ASKED + 2);
        left(t);
    }

    // Waits until the rows of x are there that some chunks read.
    __device__ __forceinline__ void await_rows(int chunk, int end) const {
        if (j == 0)
            for (; chunk < end; chunk++) await_arrivals(p.chunks.made + chunk, p.chunks.tiles[chunk]);
        __syncthreads();
    }

    // All rows of the batch have waited for every chunk when the last of them leaves its count at zero.
    __device__ __forceinline__ void depart() const {
        if (j >= p.chunks.count) return;
        unsigned *made = p.chunks.made + j;
        if (atomicAdd(made, 1u) + 1 == p.chunks.tiles[j] + p.scan.rows) *made = 0;
    }

    __device__ __forceinline__ void go(const Ring &ring) {
        bool waits = CUTS && p.chunks.made, begun = false;
        int t = 0, chunks = waits ? p.chunks.count : 1;
        unsigned even = 0, odd = 0;
        // To wait takes as long as two steps do: each time it is for twice as many chunks.
        for (int chunk = 0, end; chunk < chunks; chunk = end) {
            end = min(2 * chunk + 1, chunks);
            // Steps before this one ask for no row of a later chunk.
            int until = end < chunks ? min(length, (int)p.chunks.times[end] - ASKED) : length;
            if (waits) await_rows(chunk, end);
            if (until < 0 || length == 0) continue;
            if (!begun) {
                // What the row before has asked for has come.
                wait_groups<0>();
                __syncthreads();
#pragma unroll
                for (int t = 0; t < ASKED; t++) ring.ask(p, t, place_of(t));
                even = place_of(ASKED), odd = place_of(ASKED + 1);
                wait_groups<ASKED - 1>();
                __syncthreads();
                begun = true;
            }
            for (; t + 1 < until; t += 2) {
                step(t, ring, even);
                step(t + 1, ring, odd);
            }
        }
        if (t < length) step(t, ring, even);
        if (waits) depart();
    }
#endif
};

extern "C" __global__ void __launch_bounds__(THREADS_OF(UNITS), 1) few_forward(Few p) {
    const int threads = THREADS_OF(UNITS);
    __shared__ Exchange<threads / WARP>::Room room;
    Exchange<threads / WARP> exchange(room);
#if INPUT != VECTORS
    __shared__ Ring::Room ring_room;
    Ring ring(ring_room);
#endif
    int j = threadIdx.x;
    Weights weights[UNITS];
#pragma unroll
    for (int w = 0; w < UNITS; w++) weights[w].load(p, j + w * threads);
    float scale = p.scan.press->inv_tau * 1.44269504f;
    for (int at = blockIdx.x; at < p.scan.rows; at += gridDim.x) {
        long long first;
        int length, row;
        find_row(p.scan, at, first, length, row);
        if (!CUTS && length == 0) continue;
        Forward way = {p, weights, exchange, scale, (unsigned)first, length, j};
        way.gates = p.gates + first * PAD + j, way.cells = p.cells + first * PAD + j;
        way.alpha = p.scan.alpha + first * K + j;
#if INPUT == VECTORS
        way.go();
#else
        way.go(ring);
#endif
        if (length == 0) continue;
        way.alpha -= K;
        if (!EVERY) way.keep(way.first + length - 1, true);
    }
}
