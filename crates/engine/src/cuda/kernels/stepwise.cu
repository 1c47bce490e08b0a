// Step kernels: a launch computes one product of one step for all rows of an LSTM layer in the direct
// form. A scan that keeps a row in one block reads R and S once per step and block; these kernels
// spread their columns over the whole GPU.

#define STEP_ROWS 32
#define STEP_COLUMNS 16
#define STEP_THREADS (STEP_ROWS * STEP_COLUMNS)
// Groups of threads share the depth of a product, in chunks of STEP_DEPTH.
#define STEP_GROUPS 4
#define STEP_DEPTH 32
#define GROUP_THREADS (STEP_THREADS / STEP_GROUPS)
#define GROUP_WARPS (GROUP_THREADS / WARP)
// Sums over the rows of a tile: four biases, three peepholes.
#define STEP_SUMS 7

// A step of a scan. dv and dc are the gradients of h and c from the step after, [rows][d].
struct StepArgs {
    ScanArgs scan;
    float *dv, *dc;
    int t;
};

struct StepTile {
    float a[STEP_ROWS][STEP_DEPTH + 4], b[STEP_COLUMNS][STEP_DEPTH + 4];
};

// The tiles of a product, then its results.
union alignas(16) StepShared {
    StepTile tiles[STEP_GROUPS];
    float parts[STEP_GROUPS][STEP_ROWS][STEP_COLUMNS];
    float sums[STEP_SUMS][STEP_ROWS][STEP_COLUMNS];
};

// The rows of a tile at step t: number of the step (-1 if the row has none), row, and whether the
// step is the row's last.
struct StepRows {
    long long step[STEP_ROWS];
    int row[STEP_ROWS], last[STEP_ROWS];

    __device__ void load(const ScanArgs &p, int t) {
        if (threadIdx.x < STEP_ROWS) {
            long long first;
            int length, r = threadIdx.x;
            find_row(p, blockIdx.y * STEP_ROWS + r, first, length, row[r]);
            step[r] = t < length ? first + t : -1;
            last[r] = t + 1 == length;
        }
        __syncthreads();
    }
    __device__ bool has(int r) const { return step[r] >= 0; }
    __device__ bool stochastic(const ScanArgs &p, int r) const {
        return has(r) && p.k > 0 && !(p.end && last[r]);
    }
};

// B[column][k] of a product: rows of a matrix are columns of the product, or rows are its depth.
struct ByColumn {
    enum { transposed = 0 };
    const float *at;
    long long width;
    int columns;
    __device__ float operator()(int column, int k) const {
        return column < columns ? at[column * width + k] : 0.0f;
    }
};
struct ByDepth {
    enum { transposed = 1 };
    const float *at;
    long long width;
    int columns;
    __device__ float operator()(int column, int k) const {
        return column < columns ? at[k * width + column] : 0.0f;
    }
};
// Of Rᵀ [i][4 d]: four gates of four units.
struct GateColumns {
    enum { transposed = 1 };
    const float *at;
    int d, first;
    __device__ float operator()(int column, int k) const {
        int unit = first + column % 4;
        return unit < d ? at[(long long)k * 4 * d + column / 4 * d + unit] : 0.0f;
    }
};

// The element of A·B for this thread's row and column of the tile. `first` is the tile's first column.
template <class A, class B>
__device__ float step_product(const A &a, const B &b, int first, int depth, StepShared &shared) {
    int group = threadIdx.x / GROUP_THREADS, t = threadIdx.x % GROUP_THREADS;
    int lane = t % WARP, warp = t / WARP, column = t % 8, row = t / 8;
    const int rows = STEP_ROWS / GROUP_WARPS, columns = STEP_COLUMNS / GROUP_WARPS;
    StepTile &tile = shared.tiles[group];
    float sum[2][2] = {}, next_a[rows], next_b[columns];
    auto load = [&](int chunk) {
        int from = chunk * STEP_DEPTH, k = from + lane;
#pragma unroll
        for (int i = 0; i < rows; i++) next_a[i] = k < depth ? a(warp + GROUP_WARPS * i, k) : 0.0f;
#pragma unroll
        for (int i = 0; i < columns; i++) {
            int at = t + GROUP_THREADS * i;
            int deep = B::transposed ? from + at / STEP_COLUMNS : k;
            int c = B::transposed ? at % STEP_COLUMNS : warp + GROUP_WARPS * i;
            next_b[i] = deep < depth ? b(first + c, deep) : 0.0f;
        }
    };
    load(group);
    for (int chunk = group; chunk * STEP_DEPTH < depth; chunk += STEP_GROUPS) {
#pragma unroll
        for (int i = 0; i < rows; i++) tile.a[warp + GROUP_WARPS * i][lane] = next_a[i];
#pragma unroll
        for (int i = 0; i < columns; i++) {
            int at = t + GROUP_THREADS * i;
            if (B::transposed)
                tile.b[at % STEP_COLUMNS][at / STEP_COLUMNS] = next_b[i];
            else
                tile.b[warp + GROUP_WARPS * i][lane] = next_b[i];
        }
        asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(GROUP_THREADS) : "memory");
        load(chunk + STEP_GROUPS);
#pragma unroll
        for (int k = 0; k < STEP_DEPTH; k += 4) {
            float4 x[2], y[2];
            for (int i = 0; i < 2; i++) {
                x[i] = *(const float4 *)&tile.a[row + 16 * i][k];
                y[i] = *(const float4 *)&tile.b[column + 8 * i][k];
            }
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++) {
                    sum[i][j] = fmaf(x[i].x, y[j].x, sum[i][j]);
                    sum[i][j] = fmaf(x[i].y, y[j].y, sum[i][j]);
                    sum[i][j] = fmaf(x[i].z, y[j].z, sum[i][j]);
                    sum[i][j] = fmaf(x[i].w, y[j].w, sum[i][j]);
                }
        }
        asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(GROUP_THREADS) : "memory");
    }
    __syncthreads();
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) shared.parts[group][row + 16 * i][column + 8 * j] = sum[i][j];
    __syncthreads();
    int r = threadIdx.x / STEP_COLUMNS, c = threadIdx.x % STEP_COLUMNS;
    float all = 0.0f;
    for (int g = 0; g < STEP_GROUPS; g++) all += shared.parts[g][r][c];
    __syncthreads();
    return all;
}

// Stores h of a step, and as what the next step carries.
__device__ __forceinline__ void store_hidden(const ScanArgs &p, const StepRows &rows, int r, int j,
                                             float h) {
    p.h[rows.step[r] * p.d + j] = h;
    if (!rows.last[r]) p.carry_in[(rows.step[r] + 1) * ROUND_UP_4(p.d) + j] = h;
}

// What the first step of each row carries. A block per row.
extern "C" __global__ void step_first(StepArgs s) {
    const ScanArgs &p = s.scan;
    long long first;
    int length, row;
    find_row(p, blockIdx.x, first, length, row);
    for (int j = threadIdx.x; length > 0 && j < p.d; j += blockDim.x)
        p.carry_in[first * ROUND_UP_4(p.d) + j] =
            p.h_first ? p.h_first[(long long)row * p.d + j] : 0.0f;
}

// Gates, c and u; without centroids h, too. A tile has the gates of four units.
extern "C" __global__ void __launch_bounds__(STEP_THREADS) step_cell_forward(StepArgs s) {
    __shared__ StepShared shared;
    __shared__ StepRows rows;
    const ScanArgs &p = s.scan;
    rows.load(p, s.t);
    auto carried = [&](int r, int k) {
        return rows.has(r) ? p.carry_in[rows.step[r] * ROUND_UP_4(p.d) + k] : 0.0f;
    };
    GateColumns weights = {p.m, p.d, (int)blockIdx.x * 4};
    float a = step_product(carried, weights, 0, p.d, shared);
    int r = threadIdx.x / STEP_COLUMNS, c = threadIdx.x % STEP_COLUMNS;
    shared.parts[0][r][c] = a;
    __syncthreads();
    int j = blockIdx.x * 4 + c;
    if (c >= 4 || j >= p.d || !rows.has(r)) return;
    long long n = rows.step[r];
    const float *x = input_row(p, n) + j;
    float all[4], w[3], c_prev = 0.0f;
    for (int b = 0; b < 4; b++) all[b] = shared.parts[0][r][4 * b + c] + x[b * p.d];
    peepholes(p, j, w);
    if (s.t > 0)
        c_prev = p.c[(n - 1) * p.d + j];
    else if (p.c_first)
        c_prev = p.c_first[(long long)rows.row[r] * p.d + j];
    Lstm cell = lstm(p.hard, all, w, c_prev);
    p.c[n * p.d + j] = cell.c;
    p.u[n * p.d + j] = cell.u;
    store_gates(p, n, j, cell.i, cell.f, cell.g, cell.o);
    if (p.k == 0) store_hidden(p, rows, r, j, cell.u);
}

// The scores u·S/τ, stored as α.
extern "C" __global__ void __launch_bounds__(STEP_THREADS) step_scores(StepArgs s) {
    __shared__ StepShared shared;
    __shared__ StepRows rows;
    const ScanArgs &p = s.scan;
    rows.load(p, s.t);
    auto u = [&](int r, int k) { return rows.has(r) ? p.u[rows.step[r] * p.d + k] : 0.0f; };
    ByColumn centroids = {p.s, p.d, p.k};
    int first = blockIdx.x * STEP_COLUMNS;
    float score = step_product(u, centroids, first, p.d, shared);
    int r = threadIdx.x / STEP_COLUMNS, i = first + threadIdx.x % STEP_COLUMNS;
    if (i < p.k && rows.has(r)) p.alpha[rows.step[r] * p.k + i] = score * p.coefficients->inv_tau;
}

// The row of a kernel with one block per row: number of its step, or -1; whether it is stochastic.
__device__ __forceinline__ long long block_row(const StepArgs &s, bool &stochastic) {
    long long first;
    int length, row;
    find_row(s.scan, blockIdx.x, first, length, row);
    stochastic = s.t < length && !(s.scan.end && s.t + 1 == length);
    return s.t < length ? first + s.t : -1;
}

// Threads of those kernels.
#define SOFTMAX_THREADS 256
typedef Team<SOFTMAX_THREADS> SoftmaxRow;

// α from the scores.
extern "C" __global__ void __launch_bounds__(SOFTMAX_THREADS) step_softmax(StepArgs s) {
    const ScanArgs &p = s.scan;
    bool stochastic;
    long long n = block_row(s, stochastic);
    if (n < 0) return;
    int lane = SoftmaxRow::lane();
    float *a = p.alpha + n * p.k, highest = -INFINITY, sum = 0.0f;
    for (int i = lane; i < p.k; i += SOFTMAX_THREADS) highest = fmaxf(highest, a[i]);
    highest = SoftmaxRow::largest(highest);
    for (int i = lane; i < p.k; i += SOFTMAX_THREADS) sum += expf(a[i] - highest);
    sum = SoftmaxRow::sum(sum);
    for (int i = lane; i < p.k; i += SOFTMAX_THREADS)
        a[i] = stochastic ? expf(a[i] - highest) / sum : 0.0f;
}

// h from α and u.
extern "C" __global__ void __launch_bounds__(STEP_THREADS) step_mix(StepArgs s) {
    __shared__ StepShared shared;
    __shared__ StepRows rows;
    const ScanArgs &p = s.scan;
    rows.load(p, s.t);
    auto alpha = [&](int r, int k) { return rows.has(r) ? p.alpha[rows.step[r] * p.k + k] : 0.0f; };
    ByDepth centroids = {p.s, p.d, p.d};
    int first = blockIdx.x * STEP_COLUMNS;
    float mixture = step_product(alpha, centroids, first, p.k, shared), lambda = p.coefficients->lambda;
    int r = threadIdx.x / STEP_COLUMNS, j = first + threadIdx.x % STEP_COLUMNS;
    if (j >= p.d || !rows.has(r)) return;
    float h = p.u[rows.step[r] * p.d + j];
    if (rows.stochastic(p, r)) h = fmaf(lambda, mixture, (1.0f - lambda) * h);
    store_hidden(p, rows, r, j, h);
}

// The gradient of h of a step: from the step after, and from outside.
__device__ __forceinline__ float hidden_gradient(const StepArgs &s, const StepRows &rows, int r, int j) {
    const ScanArgs &p = s.scan;
    int at = blockIdx.y * STEP_ROWS + r;
    const float *out =
        output_grad(p, p.dh_out, rows.step[r] - s.t, s.t, rows.last[r] ? s.t + 1 : s.t + 2, rows.row[r]);
    float dh = out ? out[j] : 0.0f;
    return rows.last[r] ? dh : dh + s.dv[(long long)at * p.d + j];
}

// The gradients of α, stored as those of the scores; and of αS.
extern "C" __global__ void __launch_bounds__(STEP_THREADS) step_alpha_backward(StepArgs s) {
    __shared__ StepShared shared;
    __shared__ StepRows rows;
    const ScanArgs &p = s.scan;
    rows.load(p, s.t);
    float lambda = p.coefficients->lambda;
    auto pull = [&](int r, int j) {
        return rows.stochastic(p, r) ? lambda * hidden_gradient(s, rows, r, j) : 0.0f;
    };
    if (blockIdx.x == 0)
        for (int at = threadIdx.x; at < STEP_ROWS * p.d; at += STEP_THREADS)
            if (rows.has(at / p.d))
                p.d_mixture[rows.step[at / p.d] * p.d + at % p.d] = pull(at / p.d, at % p.d);
    ByColumn centroids = {p.s, p.d, p.k};
    int first = blockIdx.x * STEP_COLUMNS;
    float d_alpha = step_product(pull, centroids, first, p.d, shared);
    int r = threadIdx.x / STEP_COLUMNS, i = first + threadIdx.x % STEP_COLUMNS;
    if (i < p.k && rows.has(r)) p.d_scores[rows.step[r] * ROUND_UP_4(p.k) + i] = d_alpha;
}

// The gradients of the scores from those of α.
extern "C" __global__ void __launch_bounds__(SOFTMAX_THREADS) step_softmax_backward(StepArgs s) {
    const ScanArgs &p = s.scan;
    bool stochastic;
    long long n = block_row(s, stochastic);
    if (n < 0) return;
    const float *a = p.alpha + n * p.k;
    float *dz = p.d_scores + n * ROUND_UP_4(p.k), mean = 0.0f, inv_tau = p.coefficients->inv_tau;
    for (int i = SoftmaxRow::lane(); i < p.k; i += SOFTMAX_THREADS) mean = fmaf(a[i], dz[i], mean);
    mean = SoftmaxRow::sum(mean);
    for (int i = SoftmaxRow::lane(); i < p.k; i += SOFTMAX_THREADS)
        dz[i] = stochastic ? a[i] * (dz[i] - mean) * inv_tau : 0.0f;
}

// The gradients of the gates, from those of the scores and of what reads this step; sums over rows.
extern "C" __global__ void __launch_bounds__(STEP_THREADS) step_cell_backward(StepArgs s) {
    __shared__ StepShared shared;
    __shared__ StepRows rows;
    const ScanArgs &p = s.scan;
    rows.load(p, s.t);
    auto d_scores = [&](int r, int k) {
        return rows.has(r) ? p.d_scores[rows.step[r] * ROUND_UP_4(p.k) + k] : 0.0f;
    };
    ByDepth centroids = {p.s, p.d, p.d};
    int first = blockIdx.x * STEP_COLUMNS, d = p.d;
    float du = step_product(d_scores, centroids, first, p.k, shared);
    int r = threadIdx.x / STEP_COLUMNS, column = threadIdx.x % STEP_COLUMNS, j = first + column;
    float a[4] = {}, c = 0.0f, c_prev = 0.0f;
    if (j < d && rows.has(r)) {
        long long n = rows.step[r], at = (long long)(blockIdx.y * STEP_ROWS + r) * d + j;
        long long start = n - s.t;
        int length = rows.last[r] ? s.t + 1 : s.t + 2;
        const float *du_out = output_grad(p, p.du_out, start, s.t, length, rows.row[r]);
        const float *dc_out = output_grad(p, p.dc_out, start, s.t, length, rows.row[r]);
        float dh = hidden_gradient(s, rows, r, j);
        du += rows.stochastic(p, r) ? (1.0f - p.coefficients->lambda) * dh : dh;
        if (du_out) du += du_out[j];
        float dc = (rows.last[r] ? 0.0f : s.dc[at]) + (dc_out ? dc_out[j] : 0.0f), w[3];
        const float *y = p.gates + n * 4 * d + j;
        c = p.c[n * d + j];
        if (s.t > 0)
            c_prev = p.c[(n - 1) * d + j];
        else if (p.c_first)
            c_prev = p.c_first[(long long)rows.row[r] * d + j];
        Lstm cell = {y[0], y[d], y[2 * d], y[3 * d], c, 0.0f};
        peepholes(p, j, w);
        s.dc[at] = lstm_backward(p.hard, cell, w, c_prev, 0.0f, 0.0f, du, dc, a);
        for (int b = 0; b < 4; b++) p.da_in[n * 4 * d + b * d + j] = a[b];
    }
    for (int b = 0; b < 4; b++) shared.sums[b][r][column] = a[b];
    shared.sums[4][r][column] = a[0] * c_prev;
    shared.sums[5][r][column] = a[1] * c_prev;
    shared.sums[6][r][column] = a[3] * c;
    __syncthreads();
    int sum = threadIdx.x / STEP_COLUMNS;
    if (sum >= STEP_SUMS || j >= d) return;
    float total = 0.0f;
    for (int row = 0; row < STEP_ROWS; row++) total += shared.sums[sum][row][column];
    int into = sum < 4 ? SUM_BIAS + sum : SUM_PEEPHOLE + sum - 4;
    p.sums[((long long)blockIdx.y * SUMS + into) * d + j] += total;
}

// The gradient of what the step carried.
extern "C" __global__ void __launch_bounds__(STEP_THREADS) step_carry_backward(StepArgs s) {
    __shared__ StepShared shared;
    __shared__ StepRows rows;
    const ScanArgs &p = s.scan;
    rows.load(p, s.t);
    auto da = [&](int r, int k) {
        return rows.has(r) ? p.da_in[rows.step[r] * 4 * p.d + k] : 0.0f;
    };
    ByColumn weights = {p.m, 4 * p.d, p.d};
    int first = blockIdx.x * STEP_COLUMNS;
    float dv = step_product(da, weights, first, 4 * p.d, shared);
    int r = threadIdx.x / STEP_COLUMNS, j = first + threadIdx.x % STEP_COLUMNS;
    if (j < p.d && rows.has(r)) s.dv[(long long)(blockIdx.y * STEP_ROWS + r) * p.d + j] = dv;
}
