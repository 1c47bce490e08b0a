// The classifier: what it reads, and the cross-entropy of what it says.

#define IGNORE 0xffffffffu
// Numbers said of a read-out.
#define SAYS 3

// What may change with every update: what the sum of losses is divided by, and what a target's
// logit is put behind by.
struct Margin {
    double total;
    float margin;
};

// A warp makes gradients of a row of logits, and says of it: weighted loss, whether it is right,
// whether it counts.
__device__ __forceinline__ void learn_row(float *row, unsigned target, const float *class_weights,
                                          const Margin *margin, int classes, double *says) {
    int lane = threadIdx.x % WARP;
    if (target == IGNORE) {
        for (int c = lane; c < classes; c += WARP) row[c] = 0.0f;
        if (lane < SAYS) says[lane] = 0.0;
        return;
    }
    // Asked for first: the sums below need not wait for it.
    float class_weight = class_weights ? class_weights[target] : 1.0f, behind = margin->margin;
    double weight = (double)class_weight / margin->total;
    // The first of the largest, as the reference counts it.
    float best = -INFINITY;
    int at = classes;
    for (int c = lane; c < classes; c += WARP)
        if (row[c] > best) best = row[c], at = c;
    float top = warp_max(best);
    int mine = best == top ? at : classes;
    for (int o = WARP / 2; o > 0; o /= 2) mine = min(mine, __shfl_xor_sync(ALL_LANES, mine, o));
    if (lane == 0) row[target] -= behind;
    __syncwarp();
    float shifted = -INFINITY;
    for (int c = lane; c < classes; c += WARP) shifted = fmaxf(shifted, row[c]);
    top = warp_max(shifted);
    // Exponentials of floats, sums of doubles.
    double sum = 0.0;
    for (int c = lane; c < classes; c += WARP) sum += (double)expf(row[c] - top);
    sum = warp_sum(sum);
    double loss = log(sum) + top - row[target];
    __syncwarp();
    for (int c = lane; c < classes; c += WARP) {
        double p = (double)expf(row[c] - top) / sum;
        row[c] = (float)(weight * p) - (c == target ? (float)weight : 0.0f);
    }
    if (lane == 0) says[0] = weight * loss, says[1] = mine == target, says[2] = 1.0;
}

// One warp a read-out.
extern "C" __global__ void cross_entropy(float *logits, const unsigned *targets,
                                         const float *class_weights, const Margin *margin,
                                         int readouts, int classes, double *says) {
    int q = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (q >= readouts) return;
    learn_row(logits + (long long)q * classes, targets[q], class_weights, margin, classes,
              says + q * SAYS);
}

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

// Few classes: a warp reads, says and learns one read-out after another.
#define READERS 8
struct Classify {
    const float *h, *u, *c, *v, *bias, *class_weights;
    const unsigned *offsets, *targets;
    const Margin *margin;
    // [readouts][features], [readouts][classes], [readouts][features], [readouts][SAYS]. Where
    // there is nothing to learn, `says` is null.
    float *features_of, *logits, *d_features;
    double *says;
    int readouts, last, d, features, classes;
};

extern __shared__ float classify_room[];

extern "C" __global__ void __launch_bounds__(READERS * WARP) classify(Classify p) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, size = p.classes * p.features;
    float *v = classify_room, *x = v + size + warp * (p.features + p.classes);
    float *logits = x + p.features;
    // Where a read-out is, and its target: on their way while the weights are.
    int q = blockIdx.x * READERS + warp;
    unsigned begin = 0, end = 0, target = IGNORE;
    auto look = [&]() {
        if (q >= p.readouts) return;
        if (p.last) begin = p.offsets[q], end = p.offsets[q + 1];
        if (p.says) target = p.targets[q];
    };
    look();
    for (int e = threadIdx.x; e < size; e += blockDim.x) v[e] = p.v[e];
    __syncthreads();
    for (; q < p.readouts; q += gridDim.x * READERS, look()) {
        long long n = p.last ? (long long)end - 1 : q;
        bool empty = p.last && end == begin;
        const float *parts[3] = {p.h, p.u, p.c};
        int first = 0;
#pragma unroll
        for (int part = 0; part < 3; part++) {
            if (!parts[part]) continue;
            for (int j = lane; j < p.d; j += WARP)
                x[first + j] = empty ? 0.0f : parts[part][n * p.d + j];
            first += p.d;
        }
        __syncwarp();
        for (int j = lane; p.says && j < p.features; j += WARP)
            p.features_of[(long long)q * p.features + j] = x[j];
        for (int c = 0; c < p.classes; c++) {
            float sum = 0.0f;
            for (int j = lane; j < p.features; j += WARP) sum = fmaf(x[j], v[c * p.features + j], sum);
            sum = warp_sum(sum);
            if (lane == 0) logits[c] = sum + p.bias[c];
        }
        __syncwarp();
        if (p.says)
            learn_row(logits, target, p.class_weights, p.margin, p.classes, p.says + q * SAYS);
        __syncwarp();
        for (int c = lane; c < p.classes; c += WARP) p.logits[(long long)q * p.classes + c] = logits[c];
        for (int j = lane; p.says && j < p.features; j += WARP) {
            float sum = 0.0f;
            for (int c = 0; c < p.classes; c++) sum = fmaf(logits[c], v[c * p.features + j], sum);
            p.d_features[(long long)q * p.features + j] = sum;
        }
        __syncwarp();
    }
}

// The gradients of the classifier from those of few logits: a block a class and 32 features. The
// bias is one more feature, always 1.
extern "C" __global__ void __launch_bounds__(256)
    classify_back(const float *features_of, const float *d_logits, int readouts, int classes,
                  int features, float *d_v, float *d_bias) {
    __shared__ float room[256 / WARP][WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, c = blockIdx.y;
    int j = blockIdx.x * WARP + lane;
    float sum = 0.0f;
    if (j <= features)
#pragma unroll 4
        for (int q = warp; q < readouts; q += 256 / WARP) {
            float x = j < features ? features_of[(long long)q * features + j] : 1.0f;
            sum = fmaf(d_logits[(long long)q * classes + c], x, sum);
        }
    room[warp][lane] = sum;
    __syncthreads();
    if (warp > 0 || j > features) return;
    for (int w = 1; w < 256 / WARP; w++) sum += room[w][lane];
    float *into = j < features ? d_v + (long long)c * features + j : d_bias + c;
    *into += sum;
}
