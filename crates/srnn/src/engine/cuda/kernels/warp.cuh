// Sums and maxima over a warp; every lane gets the result. The order is fixed.

#define WARP 32
#define ALL_LANES 0xffffffffu
// NVRTC has no math.h.
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

__device__ __forceinline__ float warp_sum(float x) {
    for (int o = WARP / 2; o > 0; o /= 2) x += __shfl_xor_sync(ALL_LANES, x, o);
    return x;
}

__device__ __forceinline__ double warp_sum(double x) {
    for (int o = WARP / 2; o > 0; o /= 2) x += __shfl_xor_sync(ALL_LANES, x, o);
    return x;
}

__device__ __forceinline__ float warp_max(float x) {
    for (int o = WARP / 2; o > 0; o /= 2) x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, o));
    return x;
}

// The sum over a block, known to thread 0; `room` has a number a warp.
__device__ __forceinline__ double block_sum(double x, double *room) {
    x = warp_sum(x);
    __syncthreads();
    if (threadIdx.x % WARP == 0) room[threadIdx.x / WARP] = x;
    __syncthreads();
    double sum = 0.0;
    if (threadIdx.x == 0)
        for (int w = 0; w < (blockDim.x + WARP - 1) / WARP; w++) sum += room[w];
    return sum;
}
