// Layers with many centroids, layers without centroids (K = 0) and with many units, and layers with few
// centroids at λ < 1 (K = 0 and MIXED centroids). A cluster of C blocks carries R rows; a block has U of the units for all of them. Its weights are in registers and,
// where these do not suffice, in shared memory; each is used for every row. The carried vector (α, or h
// without centroids) is replicated in every block. Sums over units, or the units themselves, are
// written into each other's shared memory, where a barrier counts their bytes.
//
// Compiled for each layer with the macros D, K, MIXED, CELL (LSTM or GRU_AFTER), HARD_GATES, PEEPHOLE,
// END; INPUT, WIDTH; COMMITMENT, ENTROPY, GATE_PENALTY; C, R, THREADS. GATHER_LANES lanes share the sums of a unit.
// SCORE_LANES (forward) and BACK_LANES (backward) lanes share Q sums that are broadcast to all blocks.
// GATHER_REGISTERS and BACK_REGISTERS are the weights that a lane holds in registers.
//
// Vectors are stored with their R rows side by side, so that one load serves all rows. Rows are
// permuted (`rotated_index`) such that a butterfly leaves each of the lanes that share a sum with its
// own row, without indexing registers at run time.

#define U ((D + C - 1) / C)
#define NB (CELL == LSTM || K > 0 ? 4 : 3)
// Gate blocks in a row of M.
#define MB (CELL == LSTM || K > 0 || MIXED > 0 ? 4 : 3)
#define NI (CELL == LSTM ? 4 : 3)
#define CEIL(n, m) (((n) + (m) - 1) / (m))

// Numbers per load: at least 16 bytes with their rows.
#define PAIR (R < 4 ? 4 / R : 1)
#define PARTS(n, lanes) (CEIL(n, PAIR * (lanes)) * PAIR)
// Carried numbers; padded lengths of the vectors that lanes gather from, forward and backward.
#define CARRIED (K > 0 ? K : C * U)
#define GATHERED (PARTS(CARRIED, GATHER_LANES) * GATHER_LANES)
#define UNITS_PER_GATHER (K > 0 && R <= 4 ? WARP / 4 / GATHER_LANES : 1)
#define GATHERED_BACK                                                                                  \
    (PARTS(CARRIED, GATHER_LANES * UNITS_PER_GATHER) * GATHER_LANES * UNITS_PER_GATHER)
// Number of broadcast sums, a multiple of Q.
#define BROADCAST (CEIL(CARRIED, Q) * Q)
// Terms per lane of broadcast sums: units forward, gate blocks of units backward, output gradients.
#define SCORE_PARTS PARTS(U, SCORE_LANES)
#define BACK_PARTS PARTS(NB *U, BACK_LANES)
#define OUTPUT_PARTS PARTS(U, BACK_LANES)
// Numbers that a block sends to another at a step, forward and backward.
#define SENT (K > 0 ? BROADCAST : U)
#define SENT_BACK (SENT + MIXED)
// Numbers per step in carry_in.
#define CARRY_WIDTH ROUND_UP_4(K > 0 ? K : D + MIXED)
// Warps per row for the softmax, and centroids per lane of them.
#define WARPS_PER_ROW (THREADS / WARP / R < CEIL(K, WARP) ? THREADS / WARP / R : CEIL(K, WARP))
#define PER_LANE CEIL(K, WARP *(K > 0 ? WARPS_PER_ROW : 1))
#define VECTOR (R < 4 ? R : 4)

#define INPUT_ROWS 0
#define INPUT_VECTORS 2
#define INPUT_TOKEN_ROWS 3

// Whether the backward scan also sums the gradient of W: where the input is one number.
#define SUMS_INPUT_WEIGHTS (INPUT == INPUT_VECTORS && WIDTH == 1)

#define STORE_LAST 1
#define STORE_ALL 2

struct ClusterArgs {
    ScanArgs scan;
    // VECTORS: [N][WIDTH], W [NI * D][WIDTH], bias [NI * D] or null.
    const float *vectors, *w, *bias;
    // Saved for backward: [N][D].
    float4 *gates;
    // α of the last step of each row [B][K], where h is read there.
    float *alpha_last;
    int store_h;
};

// The rows that a cluster carries together, and the unit and row of this thread: of the lanes that
// share a unit's sums, the first R compute one row each.
struct RowGroup {
    int longest, length, row, r, j, unit;
    long long first;
    bool active;
    __device__ __forceinline__ RowGroup(const ScanArgs &p, int group, unsigned rank) {
        int lane = threadIdx.x % GATHER_LANES, skip;
        long long start;
        find_row(p, group * R, start, longest, skip);
        r = lane % R, j = threadIdx.x / GATHER_LANES, unit = rank * U + j;
        find_row(p, group * R + r, first, length, row);
        active = j < U && unit < D && lane < R;
    }
};

// The softmax row of a warp, and its share of the centroids: the first R warps have one row each, the
// next R warps continue with the next centroids.
struct SoftmaxWarp {
    long long first;
    int length, row, r, warp;
    __device__ __forceinline__ SoftmaxWarp(const ScanArgs &p, int group) {
        r = threadIdx.x / WARP % R, warp = threadIdx.x / WARP / R;
        first = 0, length = 0, row = 0;
        if (active()) find_row(p, group * R + r, first, length, row);
    }
    __device__ __forceinline__ bool active() const { return K > 0 && warp < WARPS_PER_ROW; }
    // The q-th centroid of this lane.
    __device__ __forceinline__ int index(int q) const {
        return threadIdx.x % WARP + WARP * (warp + WARPS_PER_ROW * q);
    }
};

// The input's part of a unit's gate blocks. It is loaded a step before it is used, because of the
// memory latency.
struct UnitInput {
#if INPUT == INPUT_VECTORS
    float w[NI][WIDTH], bias[NI], prefetched[WIDTH];
#else
    float prefetched[NI];
#endif
    unsigned x_row;
    float x[NI];
    __device__ __forceinline__ UnitInput(const ClusterArgs &p, const RowGroup &g) {
        x_row = INPUT == INPUT_TOKEN_ROWS && g.active && g.length > 0 ? p.scan.places[g.first] : 0;
#if INPUT == INPUT_VECTORS
        for (int e = 0; e < WIDTH; e++) prefetched[e] = 0.0f;
        for (int b = 0; b < NI; b++) {
            bias[b] = p.bias && g.active ? p.bias[b * D + g.unit] : 0.0f;
            for (int e = 0; e < WIDTH; e++)
                w[b][e] = g.active ? p.w[(b * D + g.unit) * WIDTH + e] : 0.0f;
        }
#else
        for (int b = 0; b < NI; b++) prefetched[b] = 0.0f;
#endif
    }
    // Starts loading the input of step t; called for all steps in turn.
    __device__ __forceinline__ void prefetch(const ClusterArgs &p, const RowGroup &g, int t) {
        if (!g.active || t >= g.length) return;
        long long n = g.first + t;
#if INPUT == INPUT_VECTORS
#pragma unroll
        for (int e = 0; e < WIDTH; e++) prefetched[e] = p.vectors[n * WIDTH + e];
#else
        long long at = INPUT == INPUT_TOKEN_ROWS ? (long long)x_row : n;
#pragma unroll
        for (int b = 0; b < NI; b++) prefetched[b] = p.scan.x[(at * NI + b) * D + g.unit];
        if (INPUT == INPUT_TOKEN_ROWS && t + 1 < g.length) x_row = p.scan.places[n + 1];
#endif
    }
    // Computes x from the last loaded input.
    __device__ __forceinline__ void advance() {
#if INPUT == INPUT_VECTORS
#pragma unroll
        for (int b = 0; b < NI; b++) {
            x[b] = bias[b];
#pragma unroll
            for (int e = 0; e < WIDTH; e++) x[b] = fmaf(w[b][e], prefetched[e], x[b]);
        }
#else
#pragma unroll
        for (int b = 0; b < NI; b++) x[b] = prefetched[b];
#endif
    }
};

// The peephole weights of this thread's unit, if it has any.
__device__ __forceinline__ void load_peepholes(const ScanArgs &p, const RowGroup &g,
                                               float peephole[3]) {
    if (PEEPHOLE && g.active)
        for (int b = 0; b < 3; b++) peephole[b] = p.peephole[b * D + g.unit];
}

extern __shared__ __align__(16) char dynamic_shared[];
