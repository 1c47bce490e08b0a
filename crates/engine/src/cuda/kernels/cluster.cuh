// Layers with many centroids, and plain ones of many units: a cluster of C blocks carries R rows, a
// block has U of the units for all of them, its weights in registers, the rest of them in its shared
// memory, each used for every row. What is carried (α, or h of a plain cell) is the same in every
// block: sums over units, or the units themselves, are written into each other's shared memory,
// where a barrier counts their bytes. Compiled for each layer: D, K (0: plain), CELL (LSTM or
// GRU_AFTER), HARD, PEEPHOLE, END; INPUT, WIDTH; ENTROPY, PRESSES; C, R, THREADS; how many lanes share
// a sum: GATHER of those that go into a unit, SCORERS and BACKERS of Q each that go to all blocks,
// forward and backward; and how many of its weights a lane holds: GATHERED_HELD, BACKED_HELD.
//
// Vectors are kept with the R rows side by side, so that one read feeds all rows. Rows are permuted
// (`place`) so that lanes that share a sum hold its rows in the order in which a butterfly leaves
// each of them its own, without choosing registers at run time.

#define U ((D + C - 1) / C)
#define NB (CELL == LSTM || K > 0 ? 4 : 3)
#define NI (CELL == LSTM ? 4 : 3)
#define CEIL(n, m) (((n) + (m) - 1) / (m))

// Numbers that are read at a time: 16 bytes of their rows, at least.
#define PAIR (R < 4 ? 4 / R : 1)
#define PARTS(n, lanes) (CEIL(n, PAIR * (lanes)) * PAIR)
// Numbers carried, and those of a vector that lanes gather from, forward and backward.
#define CARRIED (K > 0 ? K : C * U)
#define GATHERED (PARTS(CARRIED, GATHER) * GATHER)
#define PULLING (K > 0 && R <= 4 ? WARP / 4 / GATHER : 1)
#define PULLED (PARTS(CARRIED, GATHER * PULLING) * GATHER * PULLING)
// All sums that lanes make for all blocks, each Q at a time.
#define SPREAD (CEIL(CARRIED, Q) * Q)
// Parts of what these are sums of: of units forward, of their blocks backward.
#define SCORED PARTS(U, SCORERS)
#define BACKED PARTS(NB * U, BACKERS)
#define OUTER PARTS(U, BACKERS)
// Numbers that a block is sent by another at a step, forward and backward.
#define SENT_ON (K > 0 ? SPREAD : U)
// Warps that choose for a row, and numbers that each of their lanes has.
#define ROW_WARPS (THREADS / WARP / R < CEIL(K, WARP) ? THREADS / WARP / R : CEIL(K, WARP))
#define EACH_LANE CEIL(K, WARP * (K > 0 ? ROW_WARPS : 1))
#define VECTOR (R < 4 ? R : 4)

#define ROWS 0
#define VECTORS 2
#define LISTED_ROWS 3

// Whether backward makes the gradient of W besides: where the input is one number.
#define WEIGHS_INPUT (INPUT == VECTORS && WIDTH == 1)

#define AT_LAST 1
#define ALWAYS 2

struct Cluster {
    Scan scan;
    // VECTORS: [N][WIDTH], W [NI * D][WIDTH], bias [NI * D] or null.
    const float *vectors, *w, *bias;
    // Kept for backward: [N][D].
    float4 *gates;
    // α of the last step of each row [B][K], where h is read there.
    float *alpha_last;
    int keep_h;
};

// The rows that a cluster carries together, and what a thread that makes a unit of one of them
// knows: of the lanes that share a unit's sums, the first R make a row each.
struct Group {
    int longest, length, row, r, j, unit;
    long long first;
    bool makes;
    __device__ __forceinline__ Group(const Scan &p, int group, unsigned rank) {
        int lane = threadIdx.x % GATHER, skip;
        long long start;
        find_row(p, group * R, start, longest, skip);
        r = lane % R, j = threadIdx.x / GATHER, unit = rank * U + j;
        find_row(p, group * R + r, first, length, row);
        makes = j < U && unit < D && lane < R;
    }
};

// The row that a warp chooses for, and which of the numbers: the first warps have one row each, so
// have the next ones, which go on where those end.
struct Chooser {
    long long first;
    int length, row, r, part;
    __device__ __forceinline__ Chooser(const Scan &p, int group) {
        r = threadIdx.x / WARP % R, part = threadIdx.x / WARP / R;
        first = 0, length = 0, row = 0;
        if (chooses()) find_row(p, group * R + r, first, length, row);
    }
    __device__ __forceinline__ bool chooses() const { return K > 0 && part < ROW_WARPS; }
    // The q-th number of this lane.
    __device__ __forceinline__ int index(int q) const {
        return threadIdx.x % WARP + WARP * (part + ROW_WARPS * q);
    }
};

// What the input feeds into a unit's blocks. It is asked for a step before it is taken: who used
// at once what comes from afar would wait for it.
struct Fed {
#if INPUT == VECTORS
    float w[NI][WIDTH], bias[NI], ahead[WIDTH];
#else
    float ahead[NI];
#endif
    unsigned place;
    float x[NI];
    __device__ __forceinline__ Fed(const Cluster &p, const Group &g) {
        place = INPUT == LISTED_ROWS && g.makes && g.length > 0 ? p.scan.places[g.first] : 0;
#if INPUT == VECTORS
        for (int e = 0; e < WIDTH; e++) ahead[e] = 0.0f;
        for (int b = 0; b < NI; b++) {
            bias[b] = p.bias && g.makes ? p.bias[b * D + g.unit] : 0.0f;
            for (int e = 0; e < WIDTH; e++) w[b][e] = g.makes ? p.w[(b * D + g.unit) * WIDTH + e] : 0.0f;
        }
#else
        for (int b = 0; b < NI; b++) ahead[b] = 0.0f;
#endif
    }
    // Asks for the input of step t: all steps in turn.
    __device__ __forceinline__ void ask(const Cluster &p, const Group &g, int t) {
        if (!g.makes || t >= g.length) return;
        long long n = g.first + t;
#if INPUT == VECTORS
#pragma unroll
        for (int e = 0; e < WIDTH; e++) ahead[e] = p.vectors[n * WIDTH + e];
#else
        long long at = INPUT == LISTED_ROWS ? (long long)place : n;
#pragma unroll
        for (int b = 0; b < NI; b++) ahead[b] = p.scan.x[(at * NI + b) * D + g.unit];
        if (INPUT == LISTED_ROWS && t + 1 < g.length) place = p.scan.places[n + 1];
#endif
    }
    // Makes x of what was asked for last.
    __device__ __forceinline__ void take() {
#if INPUT == VECTORS
#pragma unroll
        for (int b = 0; b < NI; b++) {
            x[b] = bias[b];
#pragma unroll
            for (int e = 0; e < WIDTH; e++) x[b] = fmaf(w[b][e], ahead[e], x[b]);
        }
#else
#pragma unroll
        for (int b = 0; b < NI; b++) x[b] = ahead[b];
#endif
    }
};

extern __shared__ __align__(16) char dynamic_room[];
