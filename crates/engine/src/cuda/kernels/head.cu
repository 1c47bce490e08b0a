// The classifier: features, logits, and the cross-entropy.

#define IGNORE 0xffffffffu
// Sums per read-out: weighted loss, correct, counted.
#define READOUT_SUMS 3

// What may change with every update: the divisor of the summed loss, and the margin that is subtracted
// from a target's logit.
struct LossScale {
    double total;
    float margin;
};

// A team replaces a row of logits by their gradients and writes weighted loss, whether the prediction
// is correct, and whether it counts.
template <int SIZE>
__device__ __forceinline__ void cross_entropy_row(float *row, unsigned target,
                                                  const float *class_weights, const LossScale *scale,
                                                  int classes, double *readout_sums) {
    typedef Team<SIZE> Row;
    int lane = Row::lane();
    if (target == IGNORE) {
        for (int c = lane; c < classes; c += SIZE) row[c] = 0.0f;
        if (lane < READOUT_SUMS) readout_sums[lane] = 0.0;
        return;
    }
    // Loaded first, so that the sums below do not wait for it.
    float class_weight = class_weights ? class_weights[target] : 1.0f, margin = scale->margin;
    double weight = (double)class_weight / scale->total;
    // The first maximum, as in the reference.
    float best = -INFINITY;
    int at = classes;
#pragma unroll 4
    for (int c = lane; c < classes; c += SIZE)
        if (row[c] > best) best = row[c], at = c;
    float top = Row::largest(best);
    int own_best = Row::least(best == top ? at : classes);
    if (lane == 0) row[target] -= margin;
    Row::sync();
    float shifted = -INFINITY;
#pragma unroll 4
    for (int c = lane; c < classes; c += SIZE) shifted = fmaxf(shifted, row[c]);
    top = Row::largest(shifted);
    // Exponentials in float, sums in double.
    double sum = 0.0;
#pragma unroll 4
    for (int c = lane; c < classes; c += SIZE) sum += (double)expf(row[c] - top);
    sum = Row::sum(sum);
    double loss = log(sum) + top - row[target], weight_of_exp = weight / sum;
    Row::sync();
#pragma unroll 4
    for (int c = lane; c < classes; c += SIZE) {
        float p = (float)(weight_of_exp * (double)expf(row[c] - top));
        row[c] = p - (c == target ? (float)weight : 0.0f);
    }
    if (lane == 0)
        readout_sums[0] = weight * loss, readout_sums[1] = own_best == target, readout_sums[2] = 1.0;
}

// One block per read-out.
// PERF: with a warp per read-out, 33,278 classes and 1,280 read-outs took 733 us on an H200.
#define CROSS_ENTROPY_THREADS 512
extern "C" __global__ void __launch_bounds__(CROSS_ENTROPY_THREADS)
    cross_entropy(float *logits, const unsigned *targets, const float *class_weights,
                  const LossScale *scale, int classes, double *readout_sums) {
    long long q = blockIdx.x;
    cross_entropy_row<CROSS_ENTROPY_THREADS>(logits + q * classes, targets[q], class_weights, scale,
                                             classes, readout_sums + q * READOUT_SUMS);
}

// Gathers h, u, c (null where not read) into features [readouts][parts * d]. `last`: reads the last
// step of each row, and zeros for an empty row. A null mask drops nothing.
extern "C" __global__ void read_out(const float *h, const float *u, const float *c,
                                    const unsigned *offsets, const DropoutMask *mask, int last,
                                    int d, int features, float *into) {
    int q = blockIdx.x;
    long long n = last ? (long long)offsets[q + 1] - 1 : q;
    bool empty = last && offsets[q + 1] == offsets[q];
    int first = 0;
    const float *parts[3] = {h, u, c};
    for (int part = 0; part < 3; part++) {
        if (!parts[part]) continue;
        for (int j = threadIdx.x; j < d; j += blockDim.x) {
            long long at = (long long)q * features + first + j;
            float x = empty ? 0.0f : parts[part][n * d + j];
            into[at] = mask ? x * dropout_factor(mask, at) : x;
        }
        first += d;
    }
}

// Few classes: a warp computes features, logits and gradients of one read-out after another.
#define READOUT_WARPS 8
struct ClassifyArgs {
    const float *h, *u, *c, *v, *bias, *class_weights;
    const unsigned *offsets, *targets;
    const LossScale *scale;
    // Null where nothing is dropped.
    const DropoutMask *mask;
    // [readouts][features], [readouts][classes], [readouts][features], [readouts][READOUT_SUMS].
    // Without gradients, `readout_sums` is null.
    float *features_of, *logits, *d_features;
    double *readout_sums;
    int readouts, last, d, features, classes;
};

extern __shared__ float classify_shared[];

extern "C" __global__ void __launch_bounds__(READOUT_WARPS *WARP) classify(ClassifyArgs p) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, size = p.classes * p.features;
    float *v = classify_shared, *x = v + size + warp * (p.features + p.classes);
    float *logits = x + p.features;
    // The step and the target of a read-out, loaded while the weights are.
    int q = blockIdx.x * READOUT_WARPS + warp;
    unsigned begin = 0, end = 0, target = IGNORE;
    auto load_readout = [&]() {
        if (q >= p.readouts) return;
        if (p.last) begin = p.offsets[q], end = p.offsets[q + 1];
        if (p.readout_sums) target = p.targets[q];
    };
    load_readout();
    for (int e = threadIdx.x; e < size; e += blockDim.x) v[e] = p.v[e];
    __syncthreads();
    for (; q < p.readouts; q += gridDim.x * READOUT_WARPS, load_readout()) {
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
        long long first_feature = (long long)q * p.features;
        for (int j = lane; p.readout_sums && j < p.features; j += WARP) {
            if (p.mask) x[j] *= dropout_factor(p.mask, first_feature + j);
            p.features_of[first_feature + j] = x[j];
        }
        __syncwarp();
        for (int c = 0; c < p.classes; c++) {
            float sum = 0.0f;
            for (int j = lane; j < p.features; j += WARP) sum = fmaf(x[j], v[c * p.features + j], sum);
            sum = warp_sum(sum);
            if (lane == 0) logits[c] = sum + p.bias[c];
        }
        __syncwarp();
        if (p.readout_sums)
            cross_entropy_row<WARP>(logits, target, p.class_weights, p.scale, p.classes,
                                    p.readout_sums + q * READOUT_SUMS);
        __syncwarp();
        for (int c = lane; c < p.classes; c += WARP) p.logits[(long long)q * p.classes + c] = logits[c];
        for (int j = lane; p.readout_sums && j < p.features; j += WARP) {
            float sum = 0.0f;
            for (int c = 0; c < p.classes; c++) sum = fmaf(logits[c], v[c * p.features + j], sum);
            if (p.mask) sum *= dropout_factor(p.mask, first_feature + j);
            p.d_features[first_feature + j] = sum;
        }
        __syncwarp();
    }
}

// The gradients of the classifier from those of few logits: a block per class and 32 features. The bias
// is one more feature, always 1.
extern "C" __global__ void __launch_bounds__(256)
    classify_backward(const float *features_of, const float *d_logits, int readouts, int classes,
                      int features, float *d_v, float *d_bias) {
    __shared__ float scratch[256 / WARP][WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, c = blockIdx.y;
    int j = blockIdx.x * WARP + lane;
    float sum = 0.0f;
    if (j <= features)
#pragma unroll 4
        for (int q = warp; q < readouts; q += 256 / WARP) {
            float x = j < features ? features_of[(long long)q * features + j] : 1.0f;
            sum = fmaf(d_logits[(long long)q * classes + c], x, sum);
        }
    scratch[warp][lane] = sum;
    __syncthreads();
    if (warp > 0 || j > features) return;
    for (int w = 1; w < 256 / WARP; w++) sum += scratch[w][lane];
    float *into = j < features ? d_v + (long long)c * features + j : d_bias + c;
    *into += sum;
}
