// The forward scan of small_k.cuh.

// The input of a step, prefetched PREFETCH steps ahead: a step is shorter than the memory latency.
#if INPUT == INPUT_VECTORS
#define PREFETCH 2
struct InputVector {
    float x[WIDTH];
    __device__ __forceinline__ void fetch(const SmallKArgs &p, unsigned place) {
        const float *row = p.vectors + (unsigned long long)place * WIDTH;
#pragma unroll
        for (int e = 0; e < WIDTH; e++) x[e] = row[e];
    }
    // The input's part of gate block b.
    __device__ __forceinline__ float block(const UnitWeights &weights, int b) const {
        float sum = weights.bias[b];
#pragma unroll
        for (int e = 0; e < WIDTH; e++) sum = fmaf(weights.w[b][e], x[e], sum);
        return sum;
    }
};
#else
// Rows of x are prefetched into a ring in shared memory. (A wait for one prefetched register also waits
// for those requested last: that took a fifth of the time.)
#define PREFETCH 4
struct Ring {
    static const int ROW = NI * D, BLOCK_THREADS = THREADS_OF(UNITS);
    struct Shared {
        __align__(16) float x[PREFETCH][(ROW + 3) / 4 * 4];
    };
    unsigned at;

    __device__ __forceinline__ Ring(Shared &shared) : at((unsigned)__cvta_generic_to_shared(&shared)) {}
    __device__ __forceinline__ unsigned slot(int t) const {
        return at + t % PREFETCH * sizeof(Shared) / PREFETCH;
    }

    // Starts the copy of the row of step t. No thread may still read the row of step t - PREFETCH.
    __device__ __forceinline__ void prefetch(const SmallKArgs &p, int t, unsigned place) const {
        const float *row = p.scan.x + (unsigned long long)place * ROW;
        // Rows are aligned to 16 bytes, or to 4.
        const int PER_COPY = ROW % 4 == 0 ? 4 : 1;
#pragma unroll
        for (int i = 0; i < (ROW / PER_COPY + BLOCK_THREADS - 1) / BLOCK_THREADS; i++) {
            int from = (threadIdx.x + i * BLOCK_THREADS) * PER_COPY;
            if (from >= ROW) continue;
            if (PER_COPY == 4)
                copy_async_16(slot(t) + from * 4, row + from, true);
            else
                copy_async_4(slot(t) + from * 4, row + from, true);
        }
        commit_copies();
    }

    // A thread without a unit reads the row of another: its weights are zero.
    __device__ __forceinline__ float block(int t, int j, int b) const {
        return load_shared(slot(t) + (b * D + min(j, D - 1)) * 4);
    }
};
#endif

// The forward scan of one row. Exponentials are relative to a reference that persists from step to
// step. It is updated only where their sum leaves the safe range, so the largest score is off the
// critical path.
struct ForwardRow {
    static const int BLOCK_THREADS = THREADS_OF(UNITS);
    const SmallKArgs &p;
    const UnitWeights (&weights)[UNITS];
    BlockExchange<BLOCK_THREADS / WARP> &exchange;
    // log2(e) / τ.
    float scale;
    unsigned first;
    int length, j;
    // Unnormalised α and the reciprocal of its sum: the division is off the critical path.
    float e[KP], inv_sum, reference, c[UNITS], u[UNITS];
    float4 *gates;
    float *cells, *alpha;

    // The row of the input of a step.
    __device__ __forceinline__ unsigned place_of(int t) const {
        unsigned n = first + min(t, length - 1);
        return INPUT_LISTED ? p.scan.places[n] : n;
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
        for (int b = 0; b < 4; b++) a[b] = fmaf(a[b], inv_sum, CELL == LSTM ? in[b % NI] : 0.0f);
        float4 saved;
        if (CELL == LSTM) {
            Lstm s = lstm(HARD_GATES, a, weights[w].peephole, c[w]);
            c[w] = s.c, u[w] = s.u;
            saved = make_float4(s.i, s.f, s.g, s.o);
        } else {
            Gru s = gru(HARD_GATES, in, a, weights[w].q_bias);
            u[w] = s.u;
            saved = make_float4(s.r, s.z, s.n, s.q);
        }
        if (p.gates) {
            gates[w * BLOCK_THREADS] = saved;
            if (CELL == LSTM) cells[w * BLOCK_THREADS] = c[w];
        }
    }

    __device__ __forceinline__ void transition() {
        float z[KP];
#pragma unroll
        for (int i = 0; i < KP; i++) {
            z[i] = i < K ? u[0] * weights[0].s[i % K] : 0.0f;
#pragma unroll
            for (int w = 1; w < UNITS; w++)
                if (i < K) z[i] = fmaf(u[w], weights[w].s[i % K], z[i]);
        }
        float score = exchange.block_sums(z) * scale, own_power = exp2_approx(score - reference);
        exchange.broadcast(own_power, e);
        float sum = tree_sum(e);
        // Within 2^±60, underflowing terms are negligible. Every thread of the row has the same sum;
        // the vote lets the compiler see that. NaN stays NaN.
        if (__builtin_expect(__any_sync(ALL_LANES, !(sum > 1e-18f && sum < 1e18f)), 0)) {
            reference = warp_max_redux(j % KP < K ? score : -INFINITY);
            own_power = exp2_approx(score - reference);
            exchange.broadcast(own_power, e);
            sum = tree_sum(e);
        }
        inv_sum = reciprocal_approx(sum);
        if (j < K) *alpha = own_power * inv_sum;
    }

    // Stores the outputs of a step; the end token's step makes no transition.
    __device__ __forceinline__ void store(unsigned n, bool last) {
        bool moves = !(END && last);
        if (!moves && j < K) alpha[0] = 0.0f;
#pragma unroll
        for (int w = 0; w < UNITS; w++) {
            int unit = j + w * BLOCK_THREADS;
            unsigned long long at = (unsigned long long)n * D + unit;
            if (unit >= D) continue;
            float h = mixture(weights[w], e) * inv_sum;
            if (p.store_h == STORE_ALL || (p.store_h && last)) p.scan.h[at] = moves ? h : u[w];
            if (p.store_u == STORE_ALL || (p.store_u && last)) p.scan.u[at] = u[w];
            if (CELL == LSTM && (p.store_c == STORE_ALL || (p.store_c && last))) p.scan.c[at] = c[w];
        }
    }

    __device__ __forceinline__ void finish_step(int t) {
        if (EVERY_STEP) store(first + t, t + 1 == length);
        gates += PAD, cells += PAD, alpha += K;
    }

#if INPUT == INPUT_VECTORS
    __device__ __forceinline__ void step(int t, InputVector &input) {
        float in[UNITS][NI];
#pragma unroll
        for (int w = 0; w < UNITS; w++)
#pragma unroll
            for (int b = 0; b < NI; b++) in[w][b] = input.block(weights[w], b);
        input.fetch(p, place_of(t + PREFETCH));
#pragma unroll
        for (int w = 0; w < UNITS; w++) cell(w, in[w]);
        transition();
        finish_step(t);
    }

    __device__ __forceinline__ void run() {
        // Even and odd steps have their own registers: a copy would wait for the pending load.
        InputVector even, odd;
        even.fetch(p, place_of(0)), odd.fetch(p, place_of(1));
        int t = 0;
        for (; t + 1 < length; t += 2) {
            step(t, even);
            step(t + 1, odd);
        }
        if (t < length) step(t, even);
    }
#else
    // `place` is the row that is prefetched next; on return, the row that is prefetched two steps
    // later.
    __device__ __forceinline__ void step(int t, const Ring &ring, unsigned &place) {
#pragma unroll
        for (int w = 0; w < UNITS; w++) {
            float in[NI];
#pragma unroll
            for (int b = 0; b < NI; b++) in[b] = ring.block(t, j + w * BLOCK_THREADS, b);
            cell(w, in);
        }
        // Waits for this thread's part of the next step's row; the barrier in `transition` covers the
        // other threads.
        wait_copies<PREFETCH - 2>();
        transition();
        ring.prefetch(p, t + PREFETCH, place);
        place = place_of(t + PREFETCH + 2);
        finish_step(t);
    }

    // Waits until the rows of x of chunks [chunk, end) are computed.
    __device__ __forceinline__ void wait_for_rows(int chunk, int end) const {
        if (j == 0)
            for (; chunk < end; chunk++)
                spin_until(p.chunks.tiles_ready + chunk, p.chunks.tiles[chunk]);
        __syncthreads();
    }

    // Counts batch rows that are done; the last one resets the counters to zero.
    __device__ __forceinline__ void release_counters() const {
        if (j >= p.chunks.count) return;
        unsigned *made = p.chunks.tiles_ready + j;
        if (atomicAdd(made, 1u) + 1 == p.chunks.tiles[j] + p.scan.rows) *made = 0;
    }

    __device__ __forceinline__ void run(const Ring &ring) {
        bool must_wait = CHUNKED && p.chunks.tiles_ready, started = false;
        int t = 0, chunks = must_wait ? p.chunks.count : 1;
        unsigned even = 0, odd = 0;
        // A wait takes as long as two steps, so each wait covers twice as many chunks.
        for (int chunk = 0, end; chunk < chunks; chunk = end) {
            end = min(2 * chunk + 1, chunks);
            // Steps before `until` prefetch no row of a later chunk.
            int until = end < chunks ? min(length, (int)p.chunks.start_times[end] - PREFETCH) : length;
            if (must_wait) wait_for_rows(chunk, end);
            if (until < 0 || length == 0) continue;
            if (!started) {
                // Prefetches of the previous row must be complete.
                wait_copies<0>();
                __syncthreads();
#pragma unroll
                for (int t = 0; t < PREFETCH; t++) ring.prefetch(p, t, place_of(t));
                even = place_of(PREFETCH), odd = place_of(PREFETCH + 1);
                wait_copies<PREFETCH - 1>();
                __syncthreads();
                started = true;
            }
            for (; t + 1 < until; t += 2) {
                step(t, ring, even);
                step(t + 1, ring, odd);
            }
        }
        if (t < length) step(t, ring, even);
        if (must_wait) release_counters();
    }
#endif
};

extern "C" __global__ void __launch_bounds__(THREADS_OF(UNITS), 1) small_k_forward(SmallKArgs p) {
    const int threads = THREADS_OF(UNITS);
    __shared__ BlockExchange<threads / WARP>::Shared shared;
    BlockExchange<threads / WARP> exchange(shared);
#if INPUT != INPUT_VECTORS
    __shared__ Ring::Shared ring_shared;
    Ring ring(ring_shared);
#endif
    int j = threadIdx.x;
    UnitWeights weights[UNITS];
#pragma unroll
    for (int w = 0; w < UNITS; w++) weights[w].load(p, j + w * threads);
    float scale = p.scan.coefficients->inv_tau * 1.44269504f;
    for (int at = blockIdx.x; at < p.scan.rows; at += gridDim.x) {
        long long first;
        int length, row;
        find_row(p.scan, at, first, length, row);
        if (!CHUNKED && length == 0) continue;
        ForwardRow row_scan = {p, weights, exchange, scale, (unsigned)first, length, j};
        row_scan.gates = p.gates + first * PAD + j, row_scan.cells = p.cells + first * PAD + j;
        row_scan.alpha = p.scan.alpha + first * K + j;
#if INPUT == INPUT_VECTORS
        row_scan.run();
#else
        row_scan.run(ring);
#endif
        if (length == 0) continue;
        row_scan.alpha -= K;
        if (!EVERY_STEP) row_scan.store(row_scan.first + length - 1, true);
    }
}
