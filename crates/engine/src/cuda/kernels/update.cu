// Update rules: optimiser.rs, on the device.

// parts[block] = sum of the squares of the block's share of x.
extern "C" __global__ void __launch_bounds__(THREADS)
    square_parts(const float4 *x, const float *tail, int fours, int tail_count, double *parts) {
    __shared__ double scratch[WARP];
    double sum = 0.0;
    auto square = [](float x) { return (double)x * (double)x; };
#pragma unroll 4
    for (int j = blockIdx.x * THREADS + threadIdx.x; j < fours; j += gridDim.x * THREADS) {
        float4 four = x[j];
        sum += (square(four.x) + square(four.y)) + (square(four.z) + square(four.w));
    }
    if (blockIdx.x == 0 && threadIdx.x < tail_count) sum += square(tail[threadIdx.x]);
    sum = block_sum(sum, scratch);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

// What may change with every update.
struct UpdateRates {
    double clip;
    float l2, rate, correction1, correction2;
    // The factor of every parameter by weight decay.
    float shrink;
};

struct UpdateArgs {
    float *params, *moments;
    const float *gradient;
    // Values that must be finite; the first is the squared gradient norm, written by block 0.
    double *report;
    // Parts of the squared norm.
    const double *squares;
    const UpdateRates *rates;
    int report_len, parts, count, rule;
    float decay1, gain1, decay2, gain2, epsilon;
    int centred;
};

#define RMSPROP 0
#define ADAM 1
#define ADADELTA 2

// Square root within two units in the last place, like the quotients here: enough for updates, and fast
// enough to be limited by memory. (A quotient by more than 2^126 is zero.)
__device__ __forceinline__ float sqrt_approx(float x) {
    float y;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Updates one parameter and its moments.
__device__ __forceinline__ void update_one(const UpdateArgs &u, const UpdateRates &r, float scale,
                                           float gradient, float &p, float &first, float &second,
                                           float &mean) {
    float g = gradient * scale + r.l2 * p;
    p *= r.shrink;
    if (u.rule == RMSPROP) {
        first = u.decay1 * first + u.gain1 * g * g;
        float variance = first;
        if (u.centred) {
            mean = u.decay1 * mean + u.gain1 * g;
            variance = fmaxf(variance - mean * mean, 0.0f);
        }
        second = u.decay2 * second + __fdividef(g, sqrt_approx(variance + u.epsilon));
        p -= r.rate * second;
    } else if (u.rule == ADAM) {
        first = u.decay1 * first + u.gain1 * g;
        second = u.decay2 * second + u.gain2 * g * g;
        p -= __fdividef(r.rate * (first * r.correction1),
                        sqrt_approx(second * r.correction2) + u.epsilon);
    } else {
        first = u.decay1 * first + u.gain1 * g * g;
        float step = sqrt_approx(__fdividef(second + u.epsilon, first + u.epsilon)) * g;
        second = u.decay1 * second + u.gain1 * step * step;
        p -= r.rate * step;
    }
}

// The squared gradient norm: every block adds the same parts in the same order.
__device__ __forceinline__ double squared_norm(const UpdateArgs &u) {
    __shared__ double scratch[WARP], norm;
    double sum = 0.0;
    for (int i = threadIdx.x; i < u.parts; i += THREADS) sum += u.squares[i];
    sum = block_sum(sum, scratch);
    if (threadIdx.x == 0) {
        norm = sum;
        if (blockIdx.x == 0) u.report[0] = sum;
    }
    __syncthreads();
    return norm;
}

// Four neighbours of a vector of `count` numbers, in one access if consecutive vectors are aligned to
// 16 bytes.
struct Vec4 {
    float x[4];
    __device__ __forceinline__ Vec4() : x{} {}
    __device__ __forceinline__ Vec4(const float *from, int j, int count) {
        if (count % 4 == 0) {
            float4 four = *(const float4 *)(from + j);
            x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
            return;
        }
#pragma unroll
        for (int i = 0; i < 4; i++) x[i] = from[min(j + i, count - 1)];
    }
    __device__ __forceinline__ void store(float *to, int j, int count) const {
        if (count % 4 == 0) {
            *(float4 *)(to + j) = make_float4(x[0], x[1], x[2], x[3]);
            return;
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (j + i < count) to[j + i] = x[i];
    }
};

// Four parameters, their gradients and moments.
struct ParamVec {
    Vec4 g, p, first, second, mean;
    // Loads nothing beyond the last parameter.
    __device__ __forceinline__ void load(const UpdateArgs &u, int j) {
        if (j >= u.count) return;
        g = Vec4(u.gradient, j, u.count), p = Vec4(u.params, j, u.count);
        first = Vec4(u.moments, j, u.count), second = Vec4(u.moments + u.count, j, u.count);
        if (u.rule == RMSPROP && u.centred) mean = Vec4(u.moments + 2 * u.count, j, u.count);
    }
    __device__ __forceinline__ void store(const UpdateArgs &u, int j) const {
        p.store(u.params, j, u.count), first.store(u.moments, j, u.count);
        second.store(u.moments + u.count, j, u.count);
        if (u.rule == RMSPROP && u.centred) mean.store(u.moments + 2 * u.count, j, u.count);
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 4) update(UpdateArgs u) {
    int j = 4 * (blockIdx.x * THREADS + threadIdx.x), apart = 4 * gridDim.x * THREADS;
    // Loaded while the norm is computed; then the next ones while these are updated.
    ParamVec now;
    now.load(u, j);
    double squared = squared_norm(u);
    bool finite = isfinite(squared);
    for (int i = 1; i < u.report_len; i++) finite = finite && isfinite(u.report[i]);
    if (!finite) return;
    UpdateRates r = *u.rates;
    double norm = sqrt(squared);
    float scale = (float)(norm > r.clip ? r.clip / norm : 1.0);
    for (; j < u.count; j += apart) {
        ParamVec next;
        next.load(u, j + apart);
#pragma unroll
        for (int i = 0; i < 4; i++)
            update_one(u, r, scale, now.g.x[i], now.p.x[i], now.first.x[i], now.second.x[i],
                       now.mean.x[i]);
        now.store(u, j);
        now = next;
    }
}

// Copies a batch from the staging buffer, or the report to the host.
extern "C" __global__ void __launch_bounds__(THREADS)
    copy_words(unsigned *to, const unsigned *from, unsigned long long count) {
    for (unsigned long long i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS)
        to[i] = from[i];
}
