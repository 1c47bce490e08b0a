// Layers with many centroids, and plain ones of many units: a cluster of C blocks carries R rows, a
// block has U of the units for all of them, its weights in registers, the rest of them in its shared
// memory, each used for every row. What is carried (α, or h of a plain cell) is the same in every
// block: sums over units, or the units themselves, are written into each other's shared memory,
// where a barrier counts their bytes. Compiled for each layer: D, K (0: plain), CELL (LSTM or
// GRU_AFTER), HARD, PEEPHOLE, END; INPUT, WIDTH; ENTROPY, PRESSES; C, R, THREADS; how many lanes share
// a sum: GATHER of those that go into a unit, SCORERS and BACKERS of those that go to all blocks,
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
// Numbers carried, and a lane's part of them.
#define CARRIED (K > 0 ? K : C * U)
#define PART PARTS(CARRIED, GATHER)
// Sums that a lane makes at a time for all blocks, and all of them.
#define Q 4
#define SPREAD (CEIL(CARRIED, Q) * Q)
// Parts of what these are sums of: of units forward, of their blocks backward.
#define SCORED PARTS(U, SCORERS)
#define BACKED PARTS(NB * U, BACKERS)
#define PULLED PARTS(U, BACKERS)
// Numbers that a block is sent by another at a step, forward and backward.
#define SENT_ON (K > 0 ? SPREAD : U)
#define EACH_LANE CEIL(K, WARP)
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

// The row that a warp chooses for: the first warps have one each.
struct Chooser {
    long long first;
    int length, row, r;
    __device__ __forceinline__ Chooser(const Scan &p, int group) {
        r = threadIdx.x / WARP;
        length = 0;
        if (r < R) find_row(p, group * R + r, first, length, row);
    }
    __device__ __forceinline__ bool chooses() const { return K > 0 && r < R; }
};

// What the input feeds into a unit's blocks.
struct Fed {
#if INPUT == VECTORS
    float w[NI][WIDTH], bias[NI];
#endif
    float x[NI];
    __device__ __forceinline__ void load(const Cluster &p, int unit, bool makes) {
#if INPUT == VECTORS
        for (int b = 0; b < NI; b++) {
            bias[b] = p.bias && makes ? p.bias[b * D + unit] : 0.0f;
            for (int e = 0; e < WIDTH; e++) w[b][e] = makes ? p.w[(b * D + unit) * WIDTH + e] : 0.0f;
        }
#endif
    }
    __device__ __forceinline__ void fetch(const Cluster &p, const Group &g, int t) {
        if (!g.makes || t >= g.length) return;
        long long n = g.first + t;
#if INPUT == VECTORS
#pragma unroll
        for (int b = 0; b < NI; b++) x[b] = bias[b];
#pragma unroll
        for (int e = 0; e < WIDTH; e++) {
            float in = p.vectors[n * WIDTH + e];
#pragma unroll
            for (int b = 0; b < NI; b++) x[b] = fmaf(w[b][e], in, x[b]);
        }
#else
        long long place = INPUT == LISTED_ROWS ? (long long)p.scan.places[n] : n;
#pragma unroll
        for (int b = 0; b < NI; b++) x[b] = p.scan.x[(place * NI + b) * D + g.unit];
#endif
    }
};

extern __shared__ __align__(16) char dynamic_room[];
