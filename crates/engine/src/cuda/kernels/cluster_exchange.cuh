// Communication between the blocks of a cluster through distributed shared memory.

__device__ __forceinline__ unsigned rank_in_cluster() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ unsigned shared_address(const void *here) {
    return (unsigned)__cvta_generic_to_shared(here);
}

// The address of the same variable in another block's shared memory.
__device__ __forceinline__ unsigned address_in_block(unsigned here, unsigned rank) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
    return there;
}

// Barrier of all threads of the cluster.
__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Writes VECTOR numbers into a block's shared memory and reports their bytes to its barrier.
__device__ __forceinline__ void send_async(unsigned there, const float *x, unsigned barrier) {
    if (VECTOR == 4)
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, "
                     "%3, %4}, [%5];" ::"r"(there),
                     "f"(x[0]), "f"(x[1]), "f"(x[2 % VECTOR]), "f"(x[3 % VECTOR]), "r"(barrier)
                     : "memory");
    else
        asm volatile(
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::
                "r"(there),
            "f"(x[0]), "f"(x[1]), "r"(barrier)
            : "memory");
}

// One exchange per step, into two buffers in turn. A block sends for step t + 2 only after all blocks
// have sent for step t + 1, hence have read step t.
struct ClusterExchange {
    unsigned barriers, bytes, step;
    __device__ __forceinline__ ClusterExchange(unsigned long long *shared, unsigned expected) {
        barriers = shared_address(shared), bytes = expected, step = 0;
        if (threadIdx.x == 0) {
            for (int b = 0; b < 2; b++)
                asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers + 8 * b)
                             : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        }
        // The initialisation is performed by the whole warp, and a race checker attributes it to
        // another lane. Without this barrier it sees no order with what thread 0 does next.
        __syncwarp();
        if (threadIdx.x == 0) arm(0), arm(1);
        cluster_sync();
    }
    __device__ __forceinline__ int buffer() const { return step & 1; }
    __device__ __forceinline__ unsigned barrier() const { return barriers + 8 * (step & 1); }
    __device__ __forceinline__ void arm(int b) const {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barriers + 8 * b),
                     "r"(bytes)
                     : "memory");
    }
    // Waits for the data of all blocks at this step. Thread 0 must be among the waiting threads.
    __device__ __forceinline__ void wait() const {
        unsigned done = 0;
        while (!done)
            asm volatile("{ .reg .pred p;\n"
                         "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                         "selp.u32 %0, 1, 0, p; }"
                         : "=r"(done)
                         : "r"(barrier()), "r"(step >> 1 & 1)
                         : "memory");
        if (threadIdx.x == 0) arm(buffer());
    }
};
