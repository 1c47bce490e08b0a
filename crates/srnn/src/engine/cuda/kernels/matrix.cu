// Products and sums of matrices, in a fixed order: no atomics.

// C[m,n] += sum over k of A(m,k) B(k,n). A, B and C have strides of their own; rows of A (by m),
// of B (by k) and of C (by m) may be looked up in a list.
struct Product {
    const float *a, *b;
    float *c;
    const float *bias;
    const unsigned *a_rows, *b_rows, *c_rows;
    long long a_m, a_k, b_k, b_n, c_m;
    int m, n, k;
    // The sum over k is cut into so many parts; where it is more than one, C is [splits][m][n].
    int splits;
    int accumulate;
};

#define TILE 64
#define DEPTH 16
#define THREADS 256

// Loads a DEPTH x TILE tile. Consecutive threads go along the axis that is contiguous in memory.
__device__ __forceinline__ void load_tile(float tile[DEPTH][TILE + 1], const float *from,
                                          const unsigned *rows, long long by_x, long long by_k,
                                          int x0, int x_end, int k0, int k_end, bool rows_are_x) {
    for (int e = threadIdx.x; e < TILE * DEPTH; e += THREADS) {
        int x, k;
        if (by_k == 1) {
            k = e % DEPTH;
            x = e / DEPTH;
        } else {
            x = e % TILE;
            k = e / TILE;
        }
        float value = 0.0f;
        if (x0 + x < x_end && k0 + k < k_end) {
            long long at_x = x0 + x, at_k = k0 + k;
            if (rows && rows_are_x) at_x = rows[at_x];
            if (rows && !rows_are_x) at_k = rows[at_k];
            value = from[at_x * by_x + at_k * by_k];
        }
        tile[k][x] = value;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) product(Product p) {
    __shared__ float a[DEPTH][TILE + 1], b[DEPTH][TILE + 1];
    int m0 = blockIdx.y * TILE, n0 = blockIdx.x * TILE;
    int per = (p.k + p.splits - 1) / p.splits;
    int k_first = blockIdx.z * per, k_end = min(p.k, k_first + per);
    int tm = threadIdx.x / 16 * 4, tn = threadIdx.x % 16 * 4;
    float sum[4][4] = {};
    for (int k0 = k_first; k0 < k_end; k0 += DEPTH) {
        load_tile(a, p.a, p.a_rows, p.a_m, p.a_k, m0, p.m, k0, k_end, true);
        load_tile(b, p.b, p.b_rows, p.b_n, p.b_k, n0, p.n, k0, k_end, false);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            float x[4], y[4];
            for (int i = 0; i < 4; i++) x[i] = a[k][tm + i];
            for (int j = 0; j < 4; j++) y[j] = b[k][tn + j];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            int m = m0 + tm + i, n = n0 + tn + j;
            if (m >= p.m || n >= p.n) continue;
            float value = sum[i][j];
            if (p.splits > 1) {
                p.c[((long long)blockIdx.z * p.m + m) * p.n + n] = value;
                continue;
            }
            if (p.bias) value += p.bias[n];
            float *c = p.c + (p.c_rows ? p.c_rows[m] : m) * p.c_m + n;
            *c = p.accumulate ? *c + value : value;
        }
}

// Adds parts [splits][m][n], in order, to rows of C.
extern "C" __global__ void sum_parts(const float *parts, int splits, int m, int n, float *c,
                                     const unsigned *c_rows, long long c_m, int accumulate) {
    long long size = (long long)m * n;
    for (long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x; at < size;
         at += (long long)gridDim.x * blockDim.x) {
        float sum = 0.0f;
#pragma unroll 8
        for (int s = 0; s < splits; s++) sum += parts[s * size + at];
        long long row = at / n;
        float *into = c + (c_rows ? c_rows[row] : row) * c_m + at % n;
        *into = accumulate ? *into + sum : sum;
    }
}

// Sums of rows that share a token: parts[split][token][:] = sum over the split's part of the
// token's steps, `steps[first[token]..first[token+1]]`, of rows[step][:].
extern "C" __global__ void sum_by_token(const float *rows, const unsigned *steps,
                                        const unsigned *first, int tokens, int width,
                                        float *parts) {
    int token = blockIdx.x, split = blockIdx.y, splits = gridDim.y;
    int begin = first[token], count = first[token + 1] - begin;
    int per = (count + splits - 1) / splits;
    int from = begin + min(count, split * per), to = begin + min(count, split * per + per);
    float *into = parts + ((long long)split * tokens + token) * width;
    for (int j = blockIdx.z * blockDim.x + threadIdx.x; j < width; j += gridDim.z * blockDim.x) {
        float sum = 0.0f;
        for (int at = from; at < to; at++) sum += rows[(long long)steps[at] * width + j];
        into[j] = sum;
    }
}

// parts[split][j] = sum over the split's part of the rows of rows[:][j].
extern "C" __global__ void sum_rows(const float *rows, int count, int width, float *parts) {
    int split = blockIdx.y, per = (count + gridDim.y - 1) / gridDim.y;
    int from = min(count, split * per), to = min(count, split * per + per);
    for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < width; j += gridDim.x * blockDim.x) {
        float sum = 0.0f;
        for (int row = from; row < to; row++) sum += rows[(long long)row * width + j];
        parts[(long long)split * width + j] = sum;
    }
}

// into[j] = sum over rows of rows[:][j], in double precision; one block a column.
extern "C" __global__ void sum_columns(const double *rows, int count, int width, double *into) {
    __shared__ double room[WARP];
    int j = blockIdx.x;
    double sum = 0.0;
    for (int row = threadIdx.x; row < count; row += blockDim.x)
        sum += rows[(long long)row * width + j];
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) into[j] = sum;
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

// to[row][0..cols] (+)= from[row][0..cols], each with its stride.
extern "C" __global__ void copy_block(const float *from, long long from_stride, float *to,
                                      long long to_stride, int rows, int cols, int accumulate) {
    long long size = (long long)rows * cols;
    for (long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x; at < size;
         at += (long long)gridDim.x * blockDim.x) {
        long long row = at / cols, col = at % cols;
        float *into = to + row * to_stride + col;
        float value = from[row * from_stride + col];
        *into = accumulate ? *into + value : value;
    }
}

// The biases that act on the input's blocks: b_ih + b_hh, but for the candidate of a GRU whose
// recurrent bias stays inside r∘(·).
extern "C" __global__ void input_bias(const float *b_ih, const float *b_hh, int d, int blocks,
                                      int candidate_apart, float *bias) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= blocks * d) return;
    bool apart = candidate_apart && j >= 2 * d;
    bias[j] = b_ih[j] + (apart ? 0.0f : b_hh[j]);
}

// Euclidean scores: parts[split][i][:] = sum over steps of slope[n][i] (u[n][:] - s[i][:]).
extern "C" __global__ void pull_centroids(const float *slopes, const float *u, const float *s,
                                          int count, int k, int d, float *parts) {
    int i = blockIdx.x, split = blockIdx.y, per = (count + gridDim.y - 1) / gridDim.y;
    int from = min(count, split * per), to = min(count, split * per + per);
    for (int j = threadIdx.x; j < d; j += blockDim.x) {
        float sum = 0.0f, centre = s[i * d + j];
        for (int n = from; n < to; n++)
            sum = fmaf(slopes[(long long)n * k + i], u[(long long)n * d + j] - centre, sum);
        parts[((long long)split * k + i) * d + j] = sum;
    }
}
