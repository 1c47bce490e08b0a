// What every scan kernel is given: one layer, the rows of a batch, what is kept of each step.

#define LSTM 0
#define GRU_AFTER 1
#define GRU_BEFORE 2

#define MIXTURE 0
#define SAMPLE 1
#define ARGMAX 2

// What may change with every update. Weights of terms are per step, and per unit where they act
// on units.
struct Press {
    float lambda, inv_tau, commitment, entropy, saturation, writing;
};

// Sums over steps, a row of d numbers each: biases of the input's blocks, the candidate's recurrent
// bias, peepholes; and W, where the input is one number and the kernel says that it weighs it.
#define SUM_BIAS 0
#define SUM_CANDIDATE 4
#define SUM_PEEPHOLE 5
#define SUM_INPUT 8
#define SUMS 12

// Sums over steps and units.
#define MEASURED 4

// Numbers of a row that begins at a multiple of 16 bytes: products read it by fours.
#define BY_FOURS(count) (((count) + 3) / 4 * 4)

// Chunks of times, at most.
#define CHUNKS 8

// How a scan is cut: the rows of x that chunk i reads first begin at first[i], and it begins at times[i].
// What others make, or wait for, is counted: tiles of those rows, of which each chunk has so many, and rows
// of the batch that backward has carried through a chunk. All counts are zero before and after.
struct Chunks {
    int count, first[CHUNKS + 1], tiles[CHUNKS];
    const unsigned *times;
    // Null where all rows of x are there.
    unsigned *made;
    unsigned *through;
};

// Counts one more, as a block: what it has written is seen by whoever sees the count.
__device__ __forceinline__ void arrive(unsigned *arrived) {
    __syncthreads();
    if (threadIdx.x > 0) return;
    __threadfence();
    atomicAdd(arrived, 1u);
}

// Waits, as a thread, until so many have arrived.
__device__ __forceinline__ void await_arrivals(const unsigned *arrived, unsigned all) {
    unsigned count = 0;
    while (count < all) asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(count) : "l"(arrived) : "memory");
}

struct Scan {
    // The layer: `ns` blocks are fed by the carried vector of n numbers, `ni` by the input.
    int cell, hard, euclidean, low_rank, d, k, n, ns, ni;
    // The rows, the longest first; `end` skips the stochastic step of each last step.
    int rows, end, transition;
    // Which terms of the loss there are.
    int commits, weighs_entropy, presses;
    const unsigned *offsets, *order;
    const Press *press;
    // A row of x [.][ni * d] for every step; null places: the step itself.
    const float *x;
    const unsigned *places;
    // [n][ns * d], [d][d], [d], [3][d], [k][d]; null where there is none.
    const float *m, *candidate, *q_bias, *peephole, *s;
    // A number in [0, 1) for every step, where transitions are sampled.
    const float *draws;
    // Kept of every step: [BY_FOURS(n)], [4 * d], [d], [d], [d], [k], [d].
    float *carry_in, *gates, *extra, *c, *u, *alpha, *h;
    // Gradients from outside, of `out_stride` numbers a read-out: for every step, or for the last
    // step of each row. Null where there is none.
    const float *dh_out, *du_out, *dc_out;
    long long out_stride;
    int out_every;
    // Gradients of every step: [ni * d], [ns * d] (null where they are the same), [BY_FOURS(k)], [d].
    float *da_in, *da_state, *d_scores, *d_mixture;
    // [blocks][SUMS][d], [blocks][MEASURED].
    float *sums;
    double *measured;
};

// Where a block's row lies, and how long it is; rows that are not there have length 0.
__device__ __forceinline__ void find_row(const Scan &p, int at, long long &first, int &length,
                                         int &row) {
    first = 0, length = 0, row = 0;
    if (at < p.rows) {
        row = p.order[at];
        first = p.offsets[row];
        length = p.offsets[row + 1] - p.offsets[row];
    }
}

// The gradients' row for step t of a row, or null.
__device__ __forceinline__ const float *outside(const Scan &p, const float *of, long long first,
                                                int t, int length, int row) {
    if (!of) return nullptr;
    if (p.out_every) return of + (first + t) * p.out_stride;
    return t + 1 == length ? of + row * p.out_stride : nullptr;
}
