// The backward scan of small_k.cuh.

// The saved values of a unit at one step.
struct SavedStep {
    float4 y;
    float c_prev;
};

// Output gradients of h and u at one step; known before the step's turn.
struct OutputGrad {
    float dh, du;
};

__device__ __forceinline__ OutputGrad output_grads_of(const SmallKArgs &p, const UnitWeights &weights,
                                                      unsigned first, int t, int length, int row,
                                                      const float alpha[KP], float u, float commitment,
                                                      double &commitment_sum) {
    int j = threadIdx.x;
    bool last = t + 1 == length, moves = !(END && last);
    float dh = 0.0f, du = 0.0f;
    if (p.scan.out_every_step || last) {
        const float *dh_out = output_grad(p.scan, p.scan.dh_out, first, t, length, row);
        const float *du_out = output_grad(p.scan, p.scan.du_out, first, t, length, row);
        if (dh_out && j < D) dh = dh_out[j];
        if (du_out && j < D) du = du_out[j];
    }
    if (!moves) return {0.0f, du + dh};
    if (COMMITMENT) {
        float gap = u - mixture(weights, alpha);
        if (j < D) commitment_sum += (double)gap * gap;
        dh = fmaf(-2.0f * commitment, gap, dh);
        du = fmaf(2.0f * commitment, gap, du);
    }
    return {dh, du};
}

// The output gradient of c at one step.
__device__ __forceinline__ float output_grad_c(const SmallKArgs &p, unsigned first, int t, int length,
                                               int row) {
    const float *dc_out = output_grad(p.scan, p.scan.dc_out, first, t, length, row);
    return CELL == LSTM && dc_out && threadIdx.x < D ? dc_out[threadIdx.x] : 0.0f;
}

extern __shared__ float4 dynamic[];

// Sums over steps of a unit.
struct Sums {
    float m[4][K], s[K], bias[NI], candidate, peephole[3];
#if INPUT == INPUT_VECTORS
    float w[NI][WIDTH];
#endif
    double commitment_sum, entropy_sum, saturation_sum, writing_sum;
};

// Global memory is prefetched PREFETCH_BACK steps ahead into a ring in shared memory: a step is shorter
// than the memory latency, and pending registers would hold up others.
#define PREFETCH_BACK 4
#define SLOTS 4

static_assert(PREFETCH_BACK <= SLOTS && (SLOTS & (SLOTS - 1)) == 0,
              "a slot is free again, and found by a mask");

// A slot of the ring: saved values per thread; α and the input (a token, or WIDTH numbers) per warp.
// When a step ends, the values of the next step and α of the one after it have arrived.
struct Slot {
    float4 y[THREADS];
    float c_prev[THREADS];
    __align__(16) float alpha[THREADS / WARP][KP], input[THREADS / WARP][4];
};
__device__ __forceinline__ unsigned slot_of(int t) { return (t & (SLOTS - 1)) * sizeof(Slot); }

// The backward scan of one row.
struct BackwardRow {
    const SmallKArgs &p;
    const UnitWeights &weights;
    const LayerCoefficients &coefficients;
    BlockExchange<THREADS / WARP> &exchange;
    Sums &sums;
    unsigned first;
    int length, row, j;
    // Addresses of this thread's values in the ring, and of the step to be prefetched in global memory.
    unsigned gates_at, cells_at, alphas_at, inputs_at;
    const float4 *gates;
    const float *cells, *alpha_source, *vectors;
    const unsigned *places;
    // α of this step and of the previous one in time, one centroid per lane.
    float alpha_lane, alpha_lane_prev;
    SavedStep saved;
    // Of this step: c, tanh(c), h, u; and h of the previous step in time (GRU).
    float c, tanh_c, h, u, h_prev;
    // Gradients: of c, of the outputs, and this unit's part of those of α.
    float dc;
    OutputGrad out;
    float v[KP];

    // Sets the prefetch pointers to step t.
    __device__ __forceinline__ void prefetch_from(int t) {
        long long n = (long long)first + t;
        gates = p.gates + n * PAD + j, cells = p.cells + (n - 1) * PAD + j;
        alpha_source = p.scan.alpha + n * K + min(j % WARP, K - 1);
        vectors = p.vectors + n * WIDTH + min(j % WARP, WIDTH - 1), places = p.scan.places + n;
    }

    // Prefetches step t, which precedes the last prefetched step; zeros before the first step.
    __device__ __forceinline__ void prefetch_step(int t) {
        int lane = j % WARP;
        unsigned slot = slot_of(t);
        copy_async_16(gates_at + slot, gates, t >= 0);
        if (CELL == LSTM) copy_async_4(cells_at + slot, cells, t > 0);
        if (lane < KP) copy_async_4(alphas_at + slot + lane * 4, alpha_source, t >= 0 && lane < K);
        if (INPUT == INPUT_FEW_TOKENS && lane == 0) copy_async_4(inputs_at + slot, places, t >= 0);
        if (INPUT == INPUT_VECTORS && lane < WIDTH)
            copy_async_4(inputs_at + slot + lane * 4, vectors, t >= 0);
        commit_copies();
        gates -= PAD, cells -= PAD, alpha_source -= K, vectors -= WIDTH, places -= 1;
    }

    // α of a step from the ring: all centroids in every thread; returns this lane's.
    __device__ __forceinline__ float load_alpha(int t, float (&alpha)[KP]) const {
        unsigned at = alphas_at + slot_of(t);
#pragma unroll
        for (int i = 0; i < KP && i < (K + 3) / 4 * 4; i += 4) {
            float4 four = load_shared_4(at + i * sizeof(float));
            alpha[i] = four.x, alpha[i + 1] = four.y, alpha[i + 2] = four.z, alpha[i + 3] = four.w;
        }
        return load_shared(at + j % KP * sizeof(float));
    }

    // Saved values of a step from the ring.
    __device__ __forceinline__ void load_saved(int t) {
        saved.y = load_shared_4(gates_at + slot_of(t));
        if (CELL == LSTM) saved.c_prev = load_shared(cells_at + slot_of(t));
    }

    // Recomputes h, u and related values from α, the previous α and the saved step.
    __device__ __forceinline__ void recompute_state(const float (&alpha)[KP],
                                                    const float (&alpha_prev)[KP]) {
        h = mixture(weights, alpha);
        if (CELL == LSTM) {
            tanh_c = tanh_of(c);
            u = saved.y.w * tanh_c;
        } else {
            h_prev = mixture(weights, alpha_prev);
            u = fmaf(saved.y.y, h_prev, (1.0f - saved.y.y) * saved.y.z);
        }
    }

    // Adds the output gradient of h to the gradients of α and S.
    __device__ __forceinline__ void add_dh(const float (&alpha)[KP]) {
#pragma unroll
        for (int i = 0; i < K; i++) {
            v[i] = fmaf(out.dh, weights.s[i], v[i]);
            sums.s[i] = fmaf(alpha[i], out.dh, sums.s[i]);
        }
    }

    // Starts at step t, the last.
    __device__ __forceinline__ void start(float (&alpha)[KP], float (&alpha_prev)[KP], int t) {
        // Prefetches of the previous row must be complete, and unused by every warp.
        wait_copies<0>();
        __syncthreads();
        prefetch_from(t);
#pragma unroll
        for (int i = 0; i < PREFETCH_BACK; i++) prefetch_step(t - i);
        // Of the PREFETCH_BACK pending steps, the first two are needed.
        wait_copies<PREFETCH_BACK - 2>();
        __syncwarp();
        alpha_lane = load_alpha(t, alpha), alpha_lane_prev = load_alpha(t - 1, alpha_prev);
        load_saved(t);
        c = CELL == LSTM ? p.cells[(unsigned long long)(first + t) * PAD + j] : 0.0f;
        recompute_state(alpha, alpha_prev);
#pragma unroll
        for (int i = 0; i < KP; i++) v[i] = 0.0f;
        out = output_grads_of(p, weights, first, t, length, row, alpha, u, coefficients.commitment,
                              sums.commitment_sum);
        dc = output_grad_c(p, first, t, length, row);
        add_dh(alpha);
    }

    // Gradients of the pre-activations from those of the cell's output (dx: the input's).
    __device__ __forceinline__ void cell(float du, float da[4], float dx[NI]) {
        float saturation = GATE_PENALTY ? coefficients.saturation : 0.0f,
              writing = GATE_PENALTY ? coefficients.writing : 0.0f;
        if (CELL == LSTM) {
            Lstm s = {saved.y.x, saved.y.y, saved.y.z, saved.y.w, c, u};
            dc = lstm_backward_from(HARD_GATES, s, tanh_c, weights.peephole, saved.c_prev, saturation,
                                    writing, du, dc, da);
#pragma unroll
            for (int b = 0; b < NI; b++) dx[b] = da[b % 4];
            if (PEEPHOLE) {
                sums.peephole[0] = fmaf(da[0], saved.c_prev, sums.peephole[0]);
                sums.peephole[1] = fmaf(da[1], saved.c_prev, sums.peephole[1]);
                sums.peephole[2] = fmaf(da[3], c, sums.peephole[2]);
            }
        } else {
            Gru s = {saved.y.x, saved.y.y, saved.y.z, saved.y.w, 0.0f};
            gru_backward(HARD_GATES, s, h_prev, saturation, writing, du, dx, da);
            sums.candidate += da[2];
        }
        if (GATE_PENALTY && j < D) {
            float gap =
                unsaturated(saved.y.x) + unsaturated(saved.y.y) + unsaturated_candidate(saved.y.z);
            sums.saturation_sum += CELL == LSTM ? gap + unsaturated(saved.y.w) : gap;
            sums.writing_sum += CELL == LSTM ? saved.y.x : 1.0f - saved.y.y;
        }
    }

    // Sums or stores the gradients of the input.
    __device__ __forceinline__ void add_input_grads(int t, const float dx[NI]) {
#pragma unroll
        for (int b = 0; b < NI; b++) sums.bias[b] += dx[b];
#if INPUT == INPUT_VECTORS
        float4 four = load_shared_4(inputs_at + slot_of(t));
        float x[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int e = 0; e < WIDTH; e++)
#pragma unroll
            for (int b = 0; b < NI; b++) sums.w[b][e] = fmaf(dx[b], x[e], sums.w[b][e]);
#elif INPUT == INPUT_FEW_TOKENS
        unsigned token = __float_as_uint(load_shared(inputs_at + slot_of(t)));
        unsigned into = (unsigned)__cvta_generic_to_shared(&dynamic[j]) + token * THREADS * 16;
        float4 sum = load_shared_4(into);
        sum.x += dx[0], sum.y += dx[1], sum.z += dx[2];
        if (NI == 4) sum.w += dx[NI - 1];
        store_shared_4(into, sum);
#else
        float *into = p.scan.da_in + (unsigned long long)(first + t) * (NI * D) + j;
        if (j < D)
#pragma unroll
            for (int b = 0; b < NI; b++) into[b * D] = dx[b];
#endif
    }

    // One backward step. Reads α of steps t and t−1, then overwrites α of t with α of t−2. Before
    // the first step α is zero, and results are unused.
    __device__ __forceinline__ void step(float (&alpha)[KP], float (&alpha_prev)[KP], int t) {
        float entropy_grad = 0.0f;
        if (ENTROPY) {
            float log_alpha = alpha_lane > 0.0f ? __logf(alpha_lane) : 0.0f;
            float entropy = warp_sum(j % WARP < K ? -alpha_lane * log_alpha : 0.0f);
            sums.entropy_sum += entropy;
            entropy_grad = coefficients.entropy * alpha_lane * (log_alpha + entropy);
        }
        // dz = α∘(dα − ⟨α, dα⟩)/τ. Every thread computes the inner product; its contribution to du is a
        // multiple of h. The entropy term sums to 0.
        float d_alpha = exchange.block_sums(v), dz[KP], da[4], dx[NI];
        exchange.broadcast(ENTROPY ? fmaf(alpha_lane, d_alpha, -entropy_grad) : alpha_lane * d_alpha,
                           dz);
        float mean = tree_sum(dz);
        cell(fmaf(coefficients.inv_tau, fmaf(-mean, h, mixture(weights, dz)), out.du), da, dx);
#pragma unroll
        for (int i = 0; i < KP; i++) {
            v[i] = i < K ? da[0] * weights.m[0][i % K] : 0.0f;
#pragma unroll
            for (int b = 1; b < 4; b++)
                if (i < K) v[i] = fmaf(da[b], weights.m[b][i % K], v[i]);
        }
        float u_scaled = u * coefficients.inv_tau, u_mean = -mean * u_scaled;
#pragma unroll
        for (int i = 0; i < K; i++)
            sums.s[i] = fmaf(dz[i], u_scaled, fmaf(alpha[i], u_mean, sums.s[i]));
        add_input_grads(t, dx);
        // Moves to the previous step: its gates and output gradients.
        c = saved.c_prev, alpha_lane = alpha_lane_prev;
        // Of the PREFETCH_BACK − 1 pending steps, the first two are needed.
        wait_copies<PREFETCH_BACK - 3>();
        __syncwarp();
        load_saved(t - 1);
        alpha_lane_prev = load_alpha(t - 2, alpha);
        recompute_state(alpha_prev, alpha);
        out = {0.0f, 0.0f};
        if (OUTPUT_GRADS && t > 0) {
            out = output_grads_of(p, weights, first, t - 1, length, row, alpha_prev, u,
                                  coefficients.commitment, sums.commitment_sum);
            dc += output_grad_c(p, first, t - 1, length, row);
            add_dh(alpha_prev);
        }
#pragma unroll
        for (int i = 0; i < K; i++)
#pragma unroll
            for (int b = 0; b < 4; b++) sums.m[b][i] = fmaf(alpha_prev[i], da[b], sums.m[b][i]);
        // Into the slot of this step.
        prefetch_step(t - PREFETCH_BACK);
    }
};

// Stores the sums of unit j of this block.
__device__ __forceinline__ void store_sums(const SmallKArgs &p, const Sums &of, int j) {
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
#if INPUT == INPUT_VECTORS
#pragma unroll
    for (int e = 0; e < WIDTH; e++)
#pragma unroll
        for (int b = 0; b < NI; b++) p.d_x[((block * WIDTH + e) * NI + b) * D + j] = of.w[b][e];
#endif
    if (INPUT == INPUT_FEW_TOKENS)
        for (int token = 0; token < p.tokens; token++) {
            float4 sum = dynamic[token * THREADS + j];
            float *into = p.d_x + (block * p.tokens + token) * NI * D + j;
            into[0] = sum.x, into[D] = sum.y, into[2 * D] = sum.z;
            if (NI == 4) into[(NI - 1) * D] = sum.w;
        }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) small_k_backward(SmallKArgs p) {
    __shared__ BlockExchange<THREADS / WARP>::Shared exchange_shared;
    BlockExchange<THREADS / WARP> exchange(exchange_shared);
    int j = threadIdx.x;
    UnitWeights weights;
    weights.load(p, j);
    LayerCoefficients coefficients = *p.scan.coefficients;
    __shared__ Slot ring[SLOTS];
    unsigned gates_at = (unsigned)__cvta_generic_to_shared(&ring[0].y[j]);
    unsigned cells_at = (unsigned)__cvta_generic_to_shared(&ring[0].c_prev[j]);
    unsigned alphas_at = (unsigned)__cvta_generic_to_shared(&ring[0].alpha[j / WARP][0]);
    unsigned inputs_at = (unsigned)__cvta_generic_to_shared(&ring[0].input[j / WARP][0]);
    Sums of = {};
    if (INPUT == INPUT_FEW_TOKENS)
        for (int token = 0; token < p.tokens; token++)
            dynamic[token * THREADS + j] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int at = blockIdx.x; at < p.scan.rows; at += gridDim.x) {
        long long first;
        int length, row;
        find_row(p.scan, at, first, length, row);
        if (!CHUNKED && length == 0) continue;
        BackwardRow row_scan = {
            p,   weights, coefficients, exchange, of,        (unsigned)first, length,
            row, j,       gates_at,     cells_at, alphas_at, inputs_at};
        float even[KP], odd[KP];
        int t = length - 1;
        if (!CHUNKED || length > 0) row_scan.start(even, odd, t);
        // Only the first chunk starts before step 1.
        auto chunk_start = [&](int chunk) {
            return CHUNKED && chunk > 0 ? (int)p.chunks.start_times[chunk] : 1;
        };
        int chunks = CHUNKED ? p.chunks.count : 1, from = chunk_start(chunks - 1), next;
        for (int chunk = chunks; chunk-- > 0; from = next) {
            // Loaded before it is needed.
            next = chunk_start(chunk - 1);
            for (; t >= from; t -= 2) {
                row_scan.step(even, odd, t);
                row_scan.step(odd, even, t - 1);
            }
            if (CHUNKED && chunk > 0) count_arrival(p.chunks.rows_passed + chunk);
        }
        if (t == 0) row_scan.step(even, odd, t);
    }
    if (j < D) store_sums(p, of, j);
    __shared__ double scratch[WARP];
    // Every thread has the entropy of a step.
    double loss_terms[LOSS_TERMS] = {
        block_sum(of.commitment_sum, scratch), j == 0 ? of.entropy_sum : 0.0,
        block_sum(of.saturation_sum, scratch), block_sum(of.writing_sum, scratch)};
#pragma unroll
    for (int m = 0; m < LOSS_TERMS; m++)
        if (j == 0) p.scan.loss_terms[blockIdx.x * LOSS_TERMS + m] = loss_terms[m];
}
