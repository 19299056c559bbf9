// Blocks of a cluster: their barrier, mbarriers of each other, and copies to several of them.
#include "launching.cuh"

#include <cuda.h>

struct ClusterArgs {
    int without;
    soundline::tensor_map x;
    float *y;
};

// Two blocks each load half of 64 numbers into both of them; then both have all, and tell each other when they are read.
extern "C" __global__ void shared_out(const __grid_constant__ ClusterArgs args) {
    int const without = args.without, i = threadIdx.x, rank = int(ptx::cluster_ctarank());
    uint64_t *const full = barrier_number(0), *const read = barrier_number(1);
    float *const held = reinterpret_cast<float *>(soundline_dynamic_shared() + 128);
    if (i == 0) {
        ptx::mbarrier_init_shared_b64(full, 1);
        ptx::mbarrier_init_shared_b64(read, 2);
        if (without != 1) ptx::fence_mbarrier_init_release_cluster();
    }
    if (without != 2) {
        ptx::barrier_cluster_arrive();
        ptx::barrier_cluster_wait();
    }
    for (int round = 0; round < 2; ++round) {
        if (i == 0) {
            if (round && without != 3) wait_for(read, 0);
            ptx::mbarrier_arrive_expect_tx_shared_b64(full, without == 4 ? 128 : 256);
            uint16_t const to = without == 5 ? uint16_t(1 << rank) : 3;
            ptx::cp_async_bulk_tensor_1d_shared_cluster_global_multicast_cluster(held + 32 * rank, &args.x, full, to,
                                                                                64 * round + 32 * rank);
        }
        wait_for(full, unsigned(round));
        args.y[128 * rank + 64 * round + i] = held[i];
        args.y[128 * rank + 64 * round + 32 + i] = held[32 + i];
        __syncwarp();
        if (i < 2 && without != 6)
            ptx::mbarrier_arrive_release_cluster_shared_cluster_b64(read, unsigned(without == 7 ? rank : without == 8 ? i + 1 : i));
    }
    if (without != 9) {
        ptx::barrier_cluster_arrive();
        if (without == 10) ptx::barrier_cluster_arrive();
        ptx::barrier_cluster_wait();
    }
    if (without == 11) ptx::barrier_cluster_wait();
}
extern "C" int run_shared_out(int64_t without, float const *x, float *y) {
    float *device;
    cudaMalloc(&device, 512);
    cudaMemcpy(device, x, 512, cudaMemcpyHostToDevice);
    ClusterArgs args = {int(without), {}, y};
    cuuint64_t const sizes[] = {128};
    cuuint32_t const box[] = {32}, steps[] = {1};
    cuTensorMapEncodeTiled(reinterpret_cast<CUtensorMap *>(&args.x), CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 1, device, sizes, nullptr,
                           box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                           CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return launched(shared_out, args, 2, 32, 512, 2);
}
