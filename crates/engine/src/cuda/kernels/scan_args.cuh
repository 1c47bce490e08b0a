// Arguments of all scan kernels: one layer, the rows of a batch, the saved steps.

#define LSTM 0
#define GRU_AFTER 1
#define GRU_BEFORE 2

#define MIXTURE 0
#define SAMPLE 1
#define ARGMAX 2

// What may change with every update. Weights of loss terms are per step, and per unit where they act on
// units.
struct LayerCoefficients {
    float lambda, inv_tau, commitment, entropy, saturation, writing;
};

// Rows of d sums over steps: biases of the input's blocks, the candidate's recurrent bias, peepholes;
// and W, where the input is one number and the kernel sums its gradient.
#define SUM_BIAS 0
#define SUM_CANDIDATE 4
#define SUM_PEEPHOLE 5
#define SUM_INPUT 8
#define SUMS 12

// Sums over steps and units: commitment, entropy, saturation, writing.
#define LOSS_TERMS 4

// `count` rounded up, so that rows are aligned to 16 bytes.
#define ROUND_UP_4(count) (((count) + 3) / 4 * 4)

// Largest number of chunks.
#define MAX_CHUNKS 8

// The chunks of a scan. Rows of x that chunk i is the first to read start at first[i]; its steps start
// at start_times[i]. tiles_ready counts computed tiles of x per chunk, of which there are tiles[i].
// rows_passed counts batch rows that the backward scan has carried through a chunk. All counters are
// zero before and after.
struct ChunkArgs {
    int count, first[MAX_CHUNKS + 1], tiles[MAX_CHUNKS];
    const unsigned *start_times;
    // Null if all rows of x are computed before the scan.
    unsigned *tiles_ready;
    unsigned *rows_passed;
};

// Increments a counter once per block. A thread that reads the new count also sees the block's
// writes.
__device__ __forceinline__ void count_arrival(unsigned *counter) {
    __syncthreads();
    if (threadIdx.x > 0) return;
    __threadfence();
    atomicAdd(counter, 1u);
}

// Spins in one thread until the counter reaches `target`.
__device__ __forceinline__ void spin_until(const unsigned *counter, unsigned target) {
    unsigned count = 0;
    while (count < target)
        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(count) : "l"(counter) : "memory");
}

struct ScanArgs {
    // The layer: `ns` gate blocks get the carried vector of n numbers, `ni` blocks get the input.
    int cell, hard, euclidean, low_rank, d, k, n, ns, ni;
    // The rows, longest first. `end`: the last step of a row makes no transition.
    int rows, end, transition;
    // Which loss terms are active.
    int has_commitment, has_entropy, gate_penalty;
    const unsigned *offsets, *order;
    const LayerCoefficients *coefficients;
    // Rows of x [.][ni * d], one per step; if places is not null, step n reads row places[n].
    const float *x;
    const unsigned *places;
    // [n][ns * d], [d][d], [d], [3][d], [k][d]; null where absent.
    const float *m, *candidate, *q_bias, *peephole, *s;
    // The state before the first step, per row: [rows][d] each. Null: zeros.
    const float *h_first, *c_first;
    // A draw from [0, 1) per step, for sampled transitions.
    const float *draws;
    // Saved per step: [ROUND_UP_4(n)], [4 * d], [d], [d], [d], [k], [d].
    float *carry_in, *gates, *gru_state, *c, *u, *alpha, *h;
    // Gradients of the outputs, `out_stride` numbers apart: per step, or for the last step of each row.
    // Null where absent.
    const float *dh_out, *du_out, *dc_out;
    long long out_stride;
    int out_every_step;
    // Gradients per step: [ni * d], [ns * d] (null if they are the same), [ROUND_UP_4(k)], [d].
    float *da_in, *da_state, *d_scores, *d_mixture;
    // [blocks][SUMS][d], [blocks][MEASURED].
    float *sums;
    double *loss_terms;
};

// First step, length and number of the row at position `at`; length 0 beyond the last row.
__device__ __forceinline__ void find_row(const ScanArgs &p, int at, long long &first, int &length,
                                         int &row) {
    first = 0, length = 0, row = 0;
    if (at < p.rows) {
        row = p.order[at];
        first = p.offsets[row];
        length = p.offsets[row + 1] - p.offsets[row];
    }
}

// The output gradient of step t of a row, or null.
__device__ __forceinline__ const float *output_grad(const ScanArgs &p, const float *of, long long first,
                                                    int t, int length, int row) {
    if (!of) return nullptr;
    if (p.out_every_step) return of + (first + t) * p.out_stride;
    return t + 1 == length ? of + row * p.out_stride : nullptr;
}
