// Blocks of a cluster that write into each other's shared memory.

__device__ __forceinline__ unsigned rank_in_cluster() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ unsigned shared_address(const void *here) {
    return (unsigned)__cvta_generic_to_shared(here);
}

// The address of the same place in another block's shared memory.
__device__ __forceinline__ unsigned at_block(unsigned here, unsigned rank) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
    return there;
}

// All blocks of the cluster meet.
__device__ __forceinline__ void meet() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Writes VECTOR numbers into a block's shared memory, and tells the barrier there.
__device__ __forceinline__ void send(unsigned there, const float *x, unsigned barrier) {
    if (VECTOR == 4)
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];"
                     ::"r"(there), "f"(x[0]), "f"(x[1]), "f"(x[2 % VECTOR]), "f"(x[3 % VECTOR]), "r"(barrier) : "memory");
    else
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];"
                     ::"r"(there), "f"(x[0]), "f"(x[1]), "r"(barrier) : "memory");
}

// Exchanges between the blocks of a cluster: one a step, into two buffers in turn. A block sends for
// the next but one only when all have sent for the next, hence have read this one.
struct Exchange {
    unsigned barriers, bytes, step;
    __device__ __forceinline__ Exchange(unsigned long long *room, unsigned expected) {
        barriers = shared_address(room), bytes = expected, step = 0;
        if (threadIdx.x == 0) {
            for (int b = 0; b < 2; b++)
                asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers + 8 * b) : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        }
        // What one thread makes is made by its warp as a whole, and a checker of races takes it for
        // another lane's: it sees no order with what thread 0 does next unless the lanes meet.
        __syncwarp();
        if (threadIdx.x == 0) arm(0), arm(1);
        meet();
    }
    __device__ __forceinline__ int buffer() const { return step & 1; }
    __device__ __forceinline__ unsigned barrier() const { return barriers + 8 * (step & 1); }
    __device__ __forceinline__ void arm(int b) const {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     ::"r"(barriers + 8 * b), "r"(bytes) : "memory");
    }
    // Waits for what all blocks send at this step. Thread 0 is always among those who wait.
    __device__ __forceinline__ void wait() const {
        unsigned done = 0;
        while (!done)
            asm volatile("{ .reg .pred p;\n"
                         "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                         "selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(barrier()), "r"(step >> 1 & 1) : "memory");
        if (threadIdx.x == 0) arm(buffer());
    }
};
