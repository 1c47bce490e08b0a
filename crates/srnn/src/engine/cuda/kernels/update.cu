// Update rules: train/optimiser.rs, on the device.

// parts[block] = sum of the squares of the block's share of x.
extern "C" __global__ void square_parts(const float *x, int count, double *parts) {
    __shared__ double room[WARP];
    double sum = 0.0;
    for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < count; j += gridDim.x * blockDim.x)
        sum += (double)x[j] * (double)x[j];
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
    // All that must be finite; the first is the square of the gradient's norm.
    const double *report;
    const Rates *rates;
    int reported, count, rule;
    float keep1, take1, keep2, take2, epsilon;
    int centred;
};

#define RMSPROP 0
#define ADAM 1
#define ADADELTA 2

extern "C" __global__ void update(Update u) {
    for (int i = 0; i < u.reported; i++)
        if (!isfinite(u.report[i])) return;
    Rates r = *u.rates;
    double norm = sqrt(u.report[0]);
    float scale = (float)(norm > r.clip ? r.clip / norm : 1.0);
    for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < u.count; j += gridDim.x * blockDim.x) {
        float p = u.params[j], g = u.gradient[j] * scale + r.l2 * p;
        float *first = u.moments + j, *second = first + u.count;
        if (u.rule == RMSPROP) {
            *first = u.keep1 * *first + u.take1 * g * g;
            float variance = *first;
            if (u.centred) {
                float *mean = second + u.count;
                *mean = u.keep1 * *mean + u.take1 * g;
                variance = fmaxf(variance - *mean * *mean, 0.0f);
            }
            *second = u.keep2 * *second + g / sqrtf(variance + u.epsilon);
            p -= r.rate * *second;
        } else if (u.rule == ADAM) {
            *first = u.keep1 * *first + u.take1 * g;
            *second = u.keep2 * *second + u.take2 * g * g;
            p -= r.rate * (*first * r.fix1) / (sqrtf(*second * r.fix2) + u.epsilon);
        } else {
            *first = u.keep1 * *first + u.take1 * g * g;
            float step = sqrtf((*second + u.epsilon) / (*first + u.epsilon)) * g;
            *second = u.keep1 * *second + u.take1 * step * step;
            p -= r.rate * step;
        }
        u.params[j] = p;
    }
}
