// Sums and maxima over a warp; every lane gets the result. The order is fixed. And copies that go on
// beside the work.

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

__device__ __forceinline__ int warp_most(int x) {
    int most;
    asm("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(most) : "r"(x));
    return most;
}

// The largest of a warp's numbers, NaN where there is a NaN that no smaller number hides: the bits of
// numbers are in their order, those of negative ones backwards.
__device__ __forceinline__ float warp_top(float x) {
    int bits = __float_as_int(x);
    bits ^= bits >> 31 & 0x7fffffff;
    int top = warp_most(bits);
    return __int_as_float(top ^ (top >> 31 & 0x7fffffff));
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

// Copies from memory to shared memory that nobody waits for yet: sixteen bytes or four, or as many zeros.
// (Bytes that are counted at run time would take twenty instructions.)
__device__ __forceinline__ void copy_four(unsigned to, const void *from, bool some) {
    asm volatile("{\n.reg .pred none;\nsetp.eq.b32 none, %2, 0;\n"
                 "cp.async.cg.shared.global [%0], [%1], 16, none;\n}" ::"r"(to), "l"(from), "r"((int)some)
                 : "memory");
}
__device__ __forceinline__ void copy_one(unsigned to, const void *from, bool some) {
    asm volatile("{\n.reg .pred none;\nsetp.eq.b32 none, %2, 0;\n"
                 "cp.async.ca.shared.global [%0], [%1], 4, none;\n}" ::"r"(to), "l"(from), "r"((int)some)
                 : "memory");
}
// Ends a group of copies; waits for all groups but the last so many.
__device__ __forceinline__ void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int BUT> __device__ __forceinline__ void wait_groups() {
    asm volatile("cp.async.wait_group %0;" ::"n"(BUT) : "memory");
}
