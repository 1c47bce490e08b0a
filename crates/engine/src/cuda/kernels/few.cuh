// Layers in the low-rank form with few centroids: a block carries one row after another through
// the whole sequence, a thread a unit, its weights in registers, one barrier a step. Compiled for
// each layer: D, K, CELL, HARD, PEEPHOLE, END; INPUT (how the input is read), WIDTH; COMMITS,
// ENTROPY, PRESSES (the terms there are); EVERY (whether others read every step, or the last alone).

// Units of a thread: forward has the registers for two, and fewer warps wait for each other then.
#define UNITS (D > 128 ? 2 : 1)
#define THREADS_OF(units) (((D + units - 1) / units + WARP - 1) / WARP * WARP)
#define THREADS THREADS_OF(1)
// What is kept for backward has room for every thread: none needs to ask whether it has a unit.
#define PAD (UNITS * THREADS_OF(UNITS))

// Centroids, padded to lanes of a warp.
#if K <= 8
#define KP 8
#elif K <= 16
#define KP 16
#else
#define KP 32
#endif
#define LANES_EACH (WARP / KP)

// When something is kept.
#define AT_LAST 1
#define ALWAYS 2

// Inputs: rows of x, listed where they are those of tokens; rows of x of so few tokens that their
// gradients are summed in shared memory; vectors of WIDTH numbers, multiplied here.
#define ROWS 0
#define FEW_TOKENS 1
#define VECTORS 2
#define LISTED_ROWS 3
#define LISTED (INPUT == FEW_TOKENS || INPUT == LISTED_ROWS)

#define NI (CELL == LSTM ? 4 : 3)

struct Few {
    Scan scan;
    // VECTORS: [N][WIDTH], W [NI * D][WIDTH], bias [NI * D] or null.
    const float *vectors, *w, *bias;
    // Kept for backward: [N][PAD] each; the second for an LSTM.
    float4 *gates;
    float *cells;
    // Sums of each block: [K][4 * D], [K][D], [tokens or WIDTH][NI * D].
    float *d_m, *d_s, *d_x;
    Chunks chunks;
    int tokens, keep_h, keep_u, keep_c;
};

// Times are cut where there are many tokens.
#define CUTS (INPUT == LISTED_ROWS)

// Whether something from outside may reach steps before the last.
#define OUTSIDE (EVERY || COMMITS)

// Lanes whose number differs in one bit exchange halves of their numbers, and add. Halves beyond the
// last centroid are empty: there a plain sum does.
template <int HALF> __device__ __forceinline__ void fold(float v[KP], int lane) {
    const int bit = HALF * LANES_EACH;
    bool high = lane & bit;
#pragma unroll
    for (int i = 0; i < HALF; i++) {
        float low = v[i], up = v[i + HALF];
        bool empty = HALF == KP / 2 && i + HALF >= K;
        float send = empty ? low : high ? low : up, keep = empty ? low : high ? up : low;
        v[i] = keep + __shfl_xor_sync(ALL_LANES, send, bit);
    }
    if constexpr (HALF > 1) fold<HALF / 2>(v, lane);
}

// Shared memory by its own addresses: a pointer is turned into one anew at every use.
__device__ __forceinline__ float from_shared(unsigned at) {
    float x;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(at) : "memory");
    return x;
}
__device__ __forceinline__ float4 four_from_shared(unsigned at) {
    float4 x;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "r"(at) : "memory");
    return x;
}
__device__ __forceinline__ void to_shared(unsigned at, float x) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(x) : "memory");
}
__device__ __forceinline__ void four_to_shared(unsigned at, float4 x) {
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at), "f"(x.x), "f"(x.y), "f"(x.z),
                 "f"(x.w) : "memory");
}

// How the threads of a block of so many warps exchange numbers.
template <int WARPS> struct Exchange {
    // Lanes of every warp that hold a part of the same sum, padded to whole fours; and a row of
    // them, an odd number of fours, so that lanes that read different rows do not wait for each other.
    static const int PARTS = WARPS * LANES_EACH, FOURS = (PARTS + 3) / 4, ROW = 4 * (FOURS | 1);
    struct Room {
        // Parts of the sums, for this step and the one before.
        __align__(16) float parts[2][KP][ROW];
        // A copy for each warp, so that no warp waits for another.
        __align__(16) float lanes[WARPS][KP];
    };
    static const unsigned FLIP = KP * ROW * sizeof(float);
    unsigned part, parts, lanes, flip;
    int lane;

    __device__ __forceinline__ Exchange(Room &room) {
        int warp = threadIdx.x / WARP;
        lane = threadIdx.x % WARP;
        for (int i = threadIdx.x; i < 2 * KP * ROW; i += WARPS * WARP) room.parts[0][0][i] = 0.0f;
        __syncthreads();
        part = (unsigned)__cvta_generic_to_shared(
            &room.parts[0][lane / LANES_EACH][warp * LANES_EACH + lane % LANES_EACH]);
        parts = (unsigned)__cvta_generic_to_shared(&room.parts[0][lane % KP][0]);
        lanes = (unsigned)__cvta_generic_to_shared(&room.lanes[warp][0]);
        flip = 0;
    }

    // The block's sums, one a lane (number lane % KP): one barrier.
    __device__ __forceinline__ float block_sums(float v[KP]) {
        fold<KP / 2>(v, lane);
        to_shared(part + flip, v[0]);
        __syncthreads();
        float4 sum = four_from_shared(parts + flip);
#pragma unroll
        for (int i = 1; i < FOURS; i++) {
            float4 more = four_from_shared(parts + flip + i * 16);
            sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
        }
        flip ^= FLIP;
        return (sum.x + sum.y) + (sum.z + sum.w);
    }

    // From a number a lane (number lane % KP) to all of them in every thread. Lanes that have the same
    // number write it to the same place: to choose one would be a branch.
    __device__ __forceinline__ void spread(float x, float v[KP]) {
        __syncwarp();
        to_shared(lanes + lane % KP * sizeof(float), x);
        __syncwarp();
#pragma unroll
        for (int i = 0; i < KP && i < (K + 3) / 4 * 4; i += 4) {
            float4 four = four_from_shared(lanes + i * sizeof(float));
            v[i] = four.x, v[i + 1] = four.y, v[i + 2] = four.z, v[i + 3] = four.w;
        }
    }
};

// Their sum, as a tree.
__device__ __forceinline__ float all_of(const float v[KP]) {
    float sums[4] = {v[0], K > 1 ? v[1] : 0.0f, K > 2 ? v[2] : 0.0f, K > 3 ? v[3] : 0.0f};
#pragma unroll
    for (int i = 4; i < K; i++) sums[i % 4] += v[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// A unit's parameters; zero where there is no unit.
struct Weights {
    float m[4][K], s[K], peephole[3], q_bias;
#if INPUT == VECTORS
    float w[NI][WIDTH], bias[NI];
#endif
    __device__ __forceinline__ void load(const Few &p, int j) {
        bool unit = j < D;
#pragma unroll
        for (int i = 0; i < K; i++) {
#pragma unroll
            for (int b = 0; b < 4; b++) m[b][i] = unit ? p.scan.m[(i * 4 + b) * D + j] : 0.0f;
            s[i] = unit ? p.scan.s[i * D + j] : 0.0f;
        }
#pragma unroll
        for (int b = 0; b < 3; b++) peephole[b] = PEEPHOLE && unit ? p.scan.peephole[b * D + j] : 0.0f;
        q_bias = p.scan.q_bias && unit ? p.scan.q_bias[j] : 0.0f;
#if INPUT == VECTORS
#pragma unroll
        for (int b = 0; b < NI; b++) {
            bias[b] = p.bias && unit ? p.bias[b * D + j] : 0.0f;
#pragma unroll
            for (int e = 0; e < WIDTH; e++) w[b][e] = unit ? p.w[(b * D + j) * WIDTH + e] : 0.0f;
        }
#endif
    }
};

// αS of a unit.
__device__ __forceinline__ float mixture(const Weights &weights, const float alpha[KP]) {
    float h[2] = {};
#pragma unroll
    for (int i = 0; i < K; i++) h[i % 2] = fmaf(alpha[i], weights.s[i], h[i % 2]);
    return h[0] + h[1];
}
