// Layers in the low-rank form with few centroids (small k). A block carries one row after another
// through the whole sequence. A thread has one unit, with its weights in registers; there is one
// barrier per step. Compiled for each layer with the macros D, K, CELL, HARD_GATES, PEEPHOLE, END;
// INPUT (how the input is read), WIDTH; COMMITMENT, ENTROPY, GATE_PENALTY (active loss terms);
// EVERY_STEP (whether outputs of every step are stored, or only of the last).

// Units per thread: the forward kernel has registers for two, and then fewer warps wait for each other.
#define UNITS (D > 128 ? 2 : 1)
#define THREADS_OF(units) (((D + units - 1) / units + WARP - 1) / WARP * WARP)
#define THREADS THREADS_OF(1)
// Saved steps are padded to all threads, so no thread has to check whether it has a unit.
#define PAD (UNITS * THREADS_OF(UNITS))

// Centroids, padded to a number of lanes.
#if K <= 8
#define KP 8
#elif K <= 16
#define KP 16
#else
#define KP 32
#endif
#define LANES_EACH (WARP / KP)

// When an output is stored.
#define STORE_LAST 1
#define STORE_ALL 2

// Input modes: rows of x per step; rows of x of so few tokens that their gradients are summed in shared
// memory; vectors of WIDTH numbers, multiplied by W here; rows of x per token.
#define INPUT_ROWS 0
#define INPUT_FEW_TOKENS 1
#define INPUT_VECTORS 2
#define INPUT_TOKEN_ROWS 3
#define INPUT_LISTED (INPUT == INPUT_FEW_TOKENS || INPUT == INPUT_TOKEN_ROWS)

#define NI (CELL == LSTM ? 4 : 3)

struct SmallKArgs {
    ScanArgs scan;
    // VECTORS: [N][WIDTH], W [NI * D][WIDTH], bias [NI * D] or null.
    const float *vectors, *w, *bias;
    // Saved for backward: [N][PAD] each; `cells` for an LSTM.
    float4 *gates;
    float *cells;
    // Sums of each block: [K][4 * D], [K][D], [tokens or WIDTH][NI * D].
    float *d_m, *d_s, *d_x;
    ChunkArgs chunks;
    int tokens, store_h, store_u, store_c;
};

// Scans are chunked where there are many tokens.
#define CHUNKED (INPUT == INPUT_TOKEN_ROWS)

// Whether output gradients may reach steps before the last.
#define OUTPUT_GRADS (EVERY_STEP || COMMITMENT)

// One stage of a transposing butterfly: lanes that differ in one bit exchange halves of their values
// and add. Halves beyond the last centroid are empty; there a plain sum suffices.
template <int HALF> __device__ __forceinline__ void butterfly_sum(float v[KP], int lane) {
    const int bit = HALF * LANES_EACH;
    bool high = lane & bit;
#pragma unroll
    for (int i = 0; i < HALF; i++) {
        float low = v[i], up = v[i + HALF];
        bool empty = HALF == KP / 2 && i + HALF >= K;
        float send = empty ? low : high ? low : up, keep = empty ? low : high ? up : low;
        v[i] = keep + __shfl_xor_sync(ALL_LANES, send, bit);
    }
    if constexpr (HALF > 1) butterfly_sum<HALF / 2>(v, lane);
}

// Access by shared-memory addresses: a generic pointer would be converted at every use.
__device__ __forceinline__ float load_shared(unsigned at) {
    float x;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(at) : "memory");
    return x;
}
__device__ __forceinline__ float4 load_shared_4(unsigned at) {
    float4 x;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                 : "r"(at)
                 : "memory");
    return x;
}
__device__ __forceinline__ void store_shared(unsigned at, float x) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(x) : "memory");
}
__device__ __forceinline__ void store_shared_4(unsigned at, float4 x) {
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at), "f"(x.x), "f"(x.y), "f"(x.z),
                 "f"(x.w)
                 : "memory");
}

// Exchange of values between the threads of a block of WARPS warps.
template <int WARPS> struct BlockExchange {
    // Partial sums per centroid, one per warp and lane group, padded to whole float4s. A row is an odd
    // number of float4s, so that lanes that read different rows hit different banks.
    static const int PARTS = WARPS * LANES_EACH, FOURS = (PARTS + 3) / 4, ROW = 4 * (FOURS | 1);
    struct Shared {
        // Partial sums of this step and of the previous one.
        __align__(16) float parts[2][KP][ROW];
        // One copy per warp, so that no warp waits for another.
        __align__(16) float lanes[WARPS][KP];
    };
    static const unsigned FLIP = KP * ROW * sizeof(float);
    unsigned part, parts, lanes, flip;
    int lane;

    __device__ __forceinline__ BlockExchange(Shared &shared) {
        int warp = threadIdx.x / WARP;
        lane = threadIdx.x % WARP;
        for (int i = threadIdx.x; i < 2 * KP * ROW; i += WARPS * WARP) shared.parts[0][0][i] = 0.0f;
        __syncthreads();
        part = (unsigned)__cvta_generic_to_shared(
            &shared.parts[0][lane / LANES_EACH][warp * LANES_EACH + lane % LANES_EACH]);
        parts = (unsigned)__cvta_generic_to_shared(&shared.parts[0][lane % KP][0]);
        lanes = (unsigned)__cvta_generic_to_shared(&shared.lanes[warp][0]);
        flip = 0;
    }

    // Sums over the block, one per lane (centroid lane % KP), with one barrier.
    __device__ __forceinline__ float block_sums(float v[KP]) {
        butterfly_sum<KP / 2>(v, lane);
        store_shared(part + flip, v[0]);
        __syncthreads();
        float4 sum = load_shared_4(parts + flip);
#pragma unroll
        for (int i = 1; i < FOURS; i++) {
            float4 more = load_shared_4(parts + flip + i * 16);
            sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
        }
        flip ^= FLIP;
        return (sum.x + sum.y) + (sum.z + sum.w);
    }

    // Gives every thread the values of all lanes (centroid lane % KP). Lanes with the same value write
    // to the same address: selecting one would need a branch.
    __device__ __forceinline__ void broadcast(float x, float v[KP]) {
        __syncwarp();
        store_shared(lanes + lane % KP * sizeof(float), x);
        __syncwarp();
#pragma unroll
        for (int i = 0; i < KP && i < (K + 3) / 4 * 4; i += 4) {
            float4 four = load_shared_4(lanes + i * sizeof(float));
            v[i] = four.x, v[i + 1] = four.y, v[i + 2] = four.z, v[i + 3] = four.w;
        }
    }
};

// The sum over the centroids, as a tree.
__device__ __forceinline__ float tree_sum(const float v[KP]) {
    float sums[4] = {v[0], K > 1 ? v[1] : 0.0f, K > 2 ? v[2] : 0.0f, K > 3 ? v[3] : 0.0f};
#pragma unroll
    for (int i = 4; i < K; i++) sums[i % 4] += v[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The parameters of a unit; zero for threads without a unit.
struct UnitWeights {
    float m[4][K], s[K], peephole[3], q_bias;
#if INPUT == INPUT_VECTORS
    float w[NI][WIDTH], bias[NI];
#endif
    __device__ __forceinline__ void load(const SmallKArgs &p, int j) {
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
#if INPUT == INPUT_VECTORS
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
__device__ __forceinline__ float mixture(const UnitWeights &weights, const float alpha[KP]) {
    float h[2] = {};
#pragma unroll
    for (int i = 0; i < K; i++) h[i % 2] = fmaf(alpha[i], weights.s[i], h[i % 2]);
    return h[0] + h[1];
}
