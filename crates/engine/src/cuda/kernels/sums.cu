// Sums over rows, in a fixed order; and a transposition.

// Adds the parts of a product into C. For few elements, the lanes of a warp take one column each and
// the warps of a block every eighth part, in order; then the warps' sums are added in order. For many
// elements, a thread adds all parts, four elements at a time if aligned.
#define MANY_ELEMENTS 65536
extern "C" __global__ void __launch_bounds__(THREADS, 8) sum_parts(ProductArgs p, float *c) {
    __shared__ float scratch[THREADS / WARP][WARP];
    const float *parts = p.c;
    int splits = p.splits;
    long long size = (long long)p.m * p.n;
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    auto finish = [&](long long at, float sum) { store(p, c, at / p.n, at % p.n, sum); };
    if (size >= MANY_ELEMENTS && p.n % 4 == 0) {
        for (int at = blockIdx.x * THREADS + threadIdx.x; at < size / 4; at += gridDim.x * THREADS) {
            float4 sum = {};
#pragma unroll 4
            for (int s = 0; s < splits; s++) add(sum, ((const float4 *)(parts + s * size))[at]);
            int m = at / (p.n / 4), n = at % (p.n / 4) * 4;
            store_4(p, c, m, n, sum);
        }
        return;
    }
    if (splits < THREADS / WARP) {
        for (long long at = blockIdx.x * (long long)THREADS + threadIdx.x; at < size;
             at += (long long)gridDim.x * THREADS) {
            float sum = 0.0f;
            for (int s = 0; s < splits; s++) sum += parts[s * size + at];
            finish(at, sum);
        }
        return;
    }
    for (long long first = blockIdx.x * (long long)WARP; first < size;
         first += (long long)gridDim.x * WARP) {
        long long at = first + lane;
        float sum = 0.0f;
        if (at < size)
#pragma unroll 4
            for (int s = warp; s < splits; s += THREADS / WARP) sum += parts[s * size + at];
        scratch[warp][lane] = sum;
        __syncthreads();
        if (warp == 0 && at < size) {
            for (int w = 1; w < THREADS / WARP; w++) sum += scratch[w][lane];
            finish(at, sum);
        }
        __syncthreads();
    }
}

// Sums of rows by token: parts[split][token][:] = sum over the split's share of
// steps[first[token]..first[token+1]] of rows[step][:].
template <typename T>
__device__ __forceinline__ void sum_over_steps(const T *rows, const unsigned *steps, int from, int to,
                                               int width, T *into) {
    for (int j = blockIdx.z * blockDim.x + threadIdx.x; j < width; j += gridDim.z * blockDim.x) {
        T sum = {};
#pragma unroll 4
        for (int at = from; at < to; at++) add(sum, rows[(long long)steps[at] * width + j]);
        into[j] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 8)
    sum_by_token(const float *rows, const unsigned *steps, const unsigned *first, int tokens, int width,
                 float *parts) {
    int token = blockIdx.x, split = blockIdx.y, splits = gridDim.y;
    int begin = first[token], count = first[token + 1] - begin;
    int per = (count + splits - 1) / splits;
    int from = begin + min(count, split * per), to = begin + min(count, split * per + per);
    float *into = parts + ((long long)split * tokens + token) * width;
    // Four at a time where rows are aligned to 16 bytes.
    if (width % 4 == 0)
        sum_over_steps((const float4 *)rows, steps, from, to, width / 4, (float4 *)into);
    else
        sum_over_steps(rows, steps, from, to, width, into);
}

// parts[split][j] = sum over the split's share of the rows of rows[:][j].
extern "C" __global__ void sum_rows(const float *rows, int count, int width, float *parts) {
    int split = blockIdx.y, per = (count + gridDim.y - 1) / gridDim.y;
    int from = min(count, split * per), to = min(count, split * per + per);
    for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < width; j += gridDim.x * blockDim.x) {
        float sum = 0.0f;
        for (int row = from; row < to; row++) sum += rows[(long long)row * width + j];
        parts[(long long)split * width + j] = sum;
    }
}

// into[s][j] = sum over rows s, s + gridDim.y, … of rows[:][j], in double precision; one block each.
extern "C" __global__ void sum_columns(const double *rows, int count, int width, double *into) {
    __shared__ double scratch[WARP];
    int j = blockIdx.x, s = blockIdx.y;
    double sum = 0.0;
    for (int row = s + threadIdx.x * gridDim.y; row < count; row += blockDim.x * gridDim.y)
        sum += rows[(long long)row * width + j];
    sum = block_sum(sum, scratch);
    if (threadIdx.x == 0) into[s * width + j] = sum;
}

// to[col][row] = from[row][col].
extern "C" __global__ void transpose(const float *from, int rows, int cols, float *to,
                                     long long to_stride) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y0 = blockIdx.y * 32;
    for (int y = threadIdx.y; y < 32; y += blockDim.y)
        if (x < cols && y0 + y < rows) tile[y][threadIdx.x] = from[(long long)(y0 + y) * cols + x];
    __syncthreads();
    int row = y0 + threadIdx.x, col0 = blockIdx.x * 32;
    for (int y = threadIdx.y; y < 32; y += blockDim.y)
        if (row < rows && col0 + y < cols) to[(col0 + y) * to_stride + row] = tile[threadIdx.x][y];
}

// Euclidean scores: parts[split][i][:] = sum over steps of slope[n][i] (u[n][:] - s[i][:]).
extern "C" __global__ void euclidean_centroid_grads(const float *slopes, const float *u, const float *s,
                                                    int count, int k, int d, float *parts) {
    int i = blockIdx.x, split = blockIdx.y, per = (count + gridDim.y - 1) / gridDim.y;
    int from = min(count, split * per), to = min(count, split * per + per);
    for (int j = threadIdx.x; j < d; j += blockDim.x) {
        float sum = 0.0f, centre = s[i * d + j];
        for (int n = from; n < to; n++)
            sum = fmaf(slopes[(long long)n * ROUND_UP_4(k) + i], u[(long long)n * d + j] - centre, sum);
        parts[((long long)split * k + i) * d + j] = sum;
    }
}
