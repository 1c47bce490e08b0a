// Dropout masks: the function of ../../dropout.rs, computed where it is needed.

struct DropoutMask {
    unsigned long long seed;
    // An index is dropped if its random number of 32 bits is below.
    unsigned threshold;
    // The factor of the indices that are kept.
    float kept;
};

__device__ __forceinline__ float dropout_factor(const DropoutMask *mask, unsigned long long index) {
    unsigned long long x = mask->seed + index * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return (unsigned)((x ^ (x >> 31)) >> 32) < mask->threshold ? 0.0f : mask->kept;
}

// Multiplies rows of numbers by their factors: a block per row. `rows` lists the rows, with NO_ROW for
// none; null means all.
extern "C" __global__ void drop_out(const float *from, float *to, const unsigned *rows, int width,
                                    const DropoutMask *mask) {
    unsigned row = rows ? rows[blockIdx.x] : blockIdx.x;
    if (row == NO_ROW) return;
    long long first = (long long)row * width;
    for (int j = threadIdx.x; j < width; j += blockDim.x)
        to[first + j] = from[first + j] * dropout_factor(mask, first + j);
}
