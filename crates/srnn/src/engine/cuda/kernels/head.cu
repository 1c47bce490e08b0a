// The classifier: what it reads, and the cross-entropy of what it says.

// Gathers h, u, c (null where not read) into features [readouts][parts * d]. `last` reads the last
// step of each row, and zeros where a row is empty.
extern "C" __global__ void read_out(const float *h, const float *u, const float *c,
                                    const unsigned *offsets, int last, int d, int features,
                                    float *into) {
    int q = blockIdx.x;
    long long n = last ? (long long)offsets[q + 1] - 1 : q;
    bool empty = last && offsets[q + 1] == offsets[q];
    int first = 0;
    const float *parts[3] = {h, u, c};
    for (int part = 0; part < 3; part++) {
        if (!parts[part]) continue;
        for (int j = threadIdx.x; j < d; j += blockDim.x)
            into[(long long)q * features + first + j] = empty ? 0.0f : parts[part][n * d + j];
        first += d;
    }
}

#define IGNORE 0xffffffffu

// What may change with every update: what the sum of losses is divided by, and what a target's
// logit is put behind by.
struct Margin {
    double total;
    float margin;
};

// One warp a read-out: turns logits into their gradients, and says[q] = weighted loss, whether it
// is right, whether it counts.
extern "C" __global__ void cross_entropy(float *logits, const unsigned *targets,
                                         const float *class_weights, const Margin *margin,
                                         int readouts, int classes, double *says) {
    int q = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
    if (q >= readouts) return;
    float *row = logits + (long long)q * classes;
    unsigned target = targets[q];
    if (target == IGNORE) {
        for (int c = lane; c < classes; c += WARP) row[c] = 0.0f;
        if (lane == 0) says[q * 3] = says[q * 3 + 1] = says[q * 3 + 2] = 0.0;
        return;
    }
    // The first of the largest, as the reference counts it.
    float best = -INFINITY;
    int at = classes;
    for (int c = lane; c < classes; c += WARP)
        if (row[c] > best) best = row[c], at = c;
    float top = warp_max(best);
    int mine = best == top ? at : classes;
    for (int o = WARP / 2; o > 0; o /= 2) mine = min(mine, __shfl_xor_sync(ALL_LANES, mine, o));
    __syncwarp();
    if (lane == 0) row[target] -= margin->margin;
    __syncwarp();
    float shifted = -INFINITY;
    for (int c = lane; c < classes; c += WARP) shifted = fmaxf(shifted, row[c]);
    top = warp_max(shifted);
    double sum = 0.0;
    for (int c = lane; c < classes; c += WARP) sum += exp((double)(row[c] - top));
    sum = warp_sum(sum);
    double weight = (class_weights ? (double)class_weights[target] : 1.0) / margin->total;
    double loss = log(sum) + top - row[target];
    __syncwarp();
    for (int c = lane; c < classes; c += WARP) {
        double p = exp((double)(row[c] - top)) / sum;
        row[c] = (float)(weight * p) - (c == target ? (float)weight : 0.0f);
    }
    if (lane == 0) {
        says[q * 3] = weight * loss;
        says[q * 3 + 1] = mine == target;
        says[q * 3 + 2] = 1.0;
    }
}
