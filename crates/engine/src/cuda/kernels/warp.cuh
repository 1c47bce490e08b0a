// Sums and maxima over a warp, in a fixed order; every lane gets the result. Asynchronous copies to
// shared memory.

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

__device__ __forceinline__ int warp_max_int(int x) {
    int result;
    asm("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(x));
    return result;
}

// The maximum over a warp, by integer reduction. The bits of floats are ordered like integers, those of
// negative floats in reverse. A NaN with the sign bit clear is the largest.
__device__ __forceinline__ float warp_max_redux(float x) {
    int bits = __float_as_int(x);
    bits ^= bits >> 31 & 0x7fffffff;
    int max_bits = warp_max_int(bits);
    return __int_as_float(max_bits ^ (max_bits >> 31 & 0x7fffffff));
}

// Threads that share a row: a warp, or a whole block. Reductions have a fixed order, and every thread
// gets the result.
template <int SIZE> struct Team {
    __device__ __forceinline__ static int lane() { return threadIdx.x % SIZE; }
    __device__ __forceinline__ static void sync() {
        if (SIZE == WARP)
            __syncwarp();
        else
            __syncthreads();
    }
    template <typename T, typename F> __device__ __forceinline__ static T all(T x, F combine) {
        for (int o = WARP / 2; o > 0; o /= 2) x = combine(x, __shfl_xor_sync(ALL_LANES, x, o));
        if constexpr (SIZE > WARP) {
            __shared__ T parts[SIZE / WARP];
            __syncthreads();
            if (threadIdx.x % WARP == 0) parts[threadIdx.x / WARP] = x;
            __syncthreads();
            x = parts[0];
            for (int w = 1; w < SIZE / WARP; w++) x = combine(x, parts[w]);
        }
        return x;
    }
    template <typename T> __device__ __forceinline__ static T sum(T x) {
        return all(x, [](T a, T b) { return a + b; });
    }
    __device__ __forceinline__ static float largest(float x) {
        return all(x, [](float a, float b) { return fmaxf(a, b); });
    }
    __device__ __forceinline__ static int least(int x) {
        return all(x, [](int a, int b) { return min(a, b); });
    }
};

// The sum over a block, returned to thread 0. `scratch` has one element per warp.
__device__ __forceinline__ double block_sum(double x, double *scratch) {
    x = warp_sum(x);
    __syncthreads();
    if (threadIdx.x % WARP == 0) scratch[threadIdx.x / WARP] = x;
    __syncthreads();
    double sum = 0.0;
    if (threadIdx.x == 0)
        for (int w = 0; w < (blockDim.x + WARP - 1) / WARP; w++) sum += scratch[w];
    return sum;
}

// Start a copy of 16 or 4 bytes from global to shared memory; if not `valid`, zeros are written
// instead. (A run-time byte count would take twenty instructions.)
__device__ __forceinline__ void copy_async_16(unsigned to, const void *from, bool valid) {
    asm volatile("{\n.reg .pred none;\nsetp.eq.b32 none, %2, 0;\n"
                 "cp.async.cg.shared.global [%0], [%1], 16, none;\n}" ::"r"(to),
                 "l"(from), "r"((int)valid)
                 : "memory");
}
__device__ __forceinline__ void copy_async_4(unsigned to, const void *from, bool valid) {
    asm volatile("{\n.reg .pred none;\nsetp.eq.b32 none, %2, 0;\n"
                 "cp.async.ca.shared.global [%0], [%1], 4, none;\n}" ::"r"(to),
                 "l"(from), "r"((int)valid)
                 : "memory");
}
// commit_copies ends a group of copies; wait_copies waits for all groups but the last PENDING.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int PENDING> __device__ __forceinline__ void wait_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
