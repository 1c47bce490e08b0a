// Update rules: train/optimiser.rs, on the device.

// parts[block] = sum of the squares of the block's share of x.
extern "C" __global__ void __launch_bounds__(THREADS)
    square_parts(const float4 *x, const float *rest, int fours, int left, double *parts) {
    __shared__ double room[WARP];
    double sum = 0.0;
    auto square = [](float x) { return (double)x * (double)x; };
#pragma unroll 4
    for (int j = blockIdx.x * THREADS + threadIdx.x; j < fours; j += gridDim.x * THREADS) {
        float4 four = x[j];
        sum += (square(four.x) + square(four.y)) + (square(four.z) + square(four.w));
    }
    if (blockIdx.x == 0 && threadIdx.x < left) sum += square(rest[threadIdx.x]);
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

// What may change with every update.
struct Rates {
    double clip;
    float l2, rate, fix1, fix2;
};

struct Update {
    float *params, *moments;
    const float *gradient;
    // All that must be finite; the first is the square of the gradient's norm, left by block 0.
    double *report;
    // Parts of it.
    const double *squares;
    const Rates *rates;
    int reported, parts, count, rule;
    float keep1, take1, keep2, take2, epsilon;
    int centred;
};

#define RMSPROP 0
#define ADAM 1
#define ADADELTA 2

// Within two units of the last place, as quotients here are: no update needs more, and memory waits for
// nothing then. (A quotient by more than 2^126 is zero.)
__device__ __forceinline__ float root(float x) {
    float y;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// One parameter and what is remembered of its gradients.
__device__ __forceinline__ void update_one(const Update &u, const Rates &r, float scale, float gradient,
                                           float &p, float &first, float &second, float &mean) {
    float g = gradient * scale + r.l2 * p;
    if (u.rule == RMSPROP) {
        first = u.keep1 * first + u.take1 * g * g;
        float variance = first;
        if (u.centred) {
            mean = u.keep1 * mean + u.take1 * g;
            variance = fmaxf(variance - mean * mean, 0.0f);
        }
        second = u.keep2 * second + __fdividef(g, root(variance + u.epsilon));
        p -= r.rate * second;
    } else if (u.rule == ADAM) {
        first = u.keep1 * first + u.take1 * g;
        second = u.keep2 * second + u.take2 * g * g;
        p -= __fdividef(r.rate * (first * r.fix1), root(second * r.fix2) + u.epsilon);
    } else {
        first = u.keep1 * first + u.take1 * g * g;
        float step = root(__fdividef(second + u.epsilon, first + u.epsilon)) * g;
        second = u.keep1 * second + u.take1 * step * step;
        p -= r.rate * step;
    }
}

// The square of the gradient's norm: every block adds the same parts in the same order.
__device__ __forceinline__ double squared_norm(const Update &u) {
    __shared__ double room[WARP], norm;
    double sum = 0.0;
    for (int i = threadIdx.x; i < u.parts; i += THREADS) sum += u.squares[i];
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) {
        norm = sum;
        if (blockIdx.x == 0) u.report[0] = sum;
    }
    __syncthreads();
    return norm;
}

// Four neighbours of a vector of `count` numbers; at once where vectors that follow each other begin at
// multiples of 16 bytes.
struct Four {
    float x[4];
    __device__ __forceinline__ Four() : x{} {}
    __device__ __forceinline__ Four(const float *from, int j, int count) {
        if (count % 4 == 0) {
            float4 four = *(const float4 *)(from + j);
            x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
            return;
        }
#pragma unroll
        for (int i = 0; i < 4; i++) x[i] = from[min(j + i, count - 1)];
    }
    __device__ __forceinline__ void leave(float *to, int j, int count) const {
        if (count % 4 == 0) {
            *(float4 *)(to + j) = make_float4(x[0], x[1], x[2], x[3]);
            return;
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (j + i < count) to[j + i] = x[i];
    }
};

// Four parameters, their gradients and what is remembered of those.
struct Held {
    Four g, p, first, second, mean;
    // Nothing beyond the last.
    __device__ __forceinline__ void load(const Update &u, int j) {
        if (j >= u.count) return;
        g = Four(u.gradient, j, u.count), p = Four(u.params, j, u.count);
        first = Four(u.moments, j, u.count), second = Four(u.moments + u.count, j, u.count);
        if (u.rule == RMSPROP && u.centred) mean = Four(u.moments + 2 * u.count, j, u.count);
    }
    __device__ __forceinline__ void leave(const Update &u, int j) const {
        p.leave(u.params, j, u.count), first.leave(u.moments, j, u.count);
        second.leave(u.moments + u.count, j, u.count);
        if (u.rule == RMSPROP && u.centred) mean.leave(u.moments + 2 * u.count, j, u.count);
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 4) update(Update u) {
    int j = 4 * (blockIdx.x * THREADS + threadIdx.x), apart = 4 * gridDim.x * THREADS;
    // On their way while the norm is found, and then while others are updated.
    Held held;
    held.load(u, j);
    double squared = squared_norm(u);
    bool finite = isfinite(squared);
    for (int i = 1; i < u.reported; i++) finite = finite && isfinite(u.report[i]);
    if (!finite) return;
    Rates r = *u.rates;
    double norm = sqrt(squared);
    float scale = (float)(norm > r.clip ? r.clip / norm : 1.0);
    for (; j < u.count; j += apart) {
        Held next;
        next.load(u, j + apart);
#pragma unroll
        for (int i = 0; i < 4; i++)
            update_one(u, r, scale, held.g.x[i], held.p.x[i], held.first.x[i], held.second.x[i], held.mean.x[i]);
        held.leave(u, j);
        held = next;
    }
}

// What a batch brings from where it waited, or what is reported to the host.
extern "C" __global__ void __launch_bounds__(THREADS)
    copy_words(unsigned *to, const unsigned *from, unsigned long long count) {
    for (unsigned long long i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS)
        to[i] = from[i];
}
