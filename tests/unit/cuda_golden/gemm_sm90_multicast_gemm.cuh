struct gemm_device0_Args {
    int M;
    int N;
    int K;
    float *C;
    soundline::tensor_map A_map;
    soundline::tensor_map B_map;
};

// with CudaDeviceFunction(warp_config=[CudaWarpConfig("producer", 1, setmaxnreg_dec=40), CudaWarpConfig("unused", 3, setmaxnreg_dec=40), CudaWarpConfig("consumer", 4, setmaxnreg_inc=232)], clusterDim=2):   gemm_sm90_multicast.py:49
struct gemm_device0 {
    using Args = gemm_device0_Args;

    struct SyncState {
        static __device__ __forceinline__ uint64_t *mbarrier(int k) {
            return reinterpret_cast<uint64_t *>(soundline_dynamic_shared()) + k;
        }
        // Which mbarrier of a ring is the next, and the parity of its phase; the first LAG awaits are not due.
        template <int DEPTH, int LAG = 0> struct Turn {
            int slot = 0;
            uint32_t parity = 0;
            int early = LAG;
            __device__ __forceinline__ bool is_due() {
                if (early == 0) return true;
                --early;
                return false;
            }
            __device__ __forceinline__ void next() {
                if (++slot < DEPTH) return;
                slot = 0;
                parity ^= 1;
            }
            __device__ __forceinline__ void restart() {
                for (; early < LAG; ++early) next();
            }
        };

        // ring: barrier[2] @ CudaMbarrier   gemm_sm90_multicast.py:55
        // Forward: 2 in a ring, mbarriers 0 to 1; 1 warp of 2 CTAs.
        Turn<2> ring_arrives;
        Turn<2> ring_awaits;
        uint32_t ring_bytes = 0;
        uint32_t ring_bytes_all_cta = 0;
        // Reverse: 2 in a ring, mbarriers 2 to 3; 4 warps of 2 CTAs.
        Turn<2> ring_reverse_arrives;
        Turn<2, 2> ring_reverse_awaits;
    };

    static __device__ __forceinline__ void task_producer(Args const &args, SyncState &sync, int m, int n) {
        const int K = args.K;
        // A_smem: f32[2, 2, 64, 8] @ Sm90_SmemSwizzled(32)   gemm_sm90_multicast.py:52
        float *const A_smem = reinterpret_cast<float *>(soundline_dynamic_shared() + 256);
        // B_smem: f32[2, 2, 8, 8] @ Sm90_SmemSwizzled(32)   gemm_sm90_multicast.py:53
        float *const B_smem = reinterpret_cast<float *>(soundline_dynamic_shared() + 4352);
        // D: f32[2, 1, 64, 8] @ Sm90_RmemMatrixD   gemm_sm90_multicast.py:54
        // ring: barrier[2] @ CudaMbarrier   gemm_sm90_multicast.py:55
        // group: barrier[2, 1] @ CudaCommitGroup   gemm_sm90_multicast.py:56
        // for k in seq(0, K // 8):   gemm_sm90_multicast.py:57
        for (int k = 0; k < K >> 3; ++k) {
            // for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):   gemm_sm90_multicast.py:58
            {
                const int cta = blockIdx.x % 2;
                // with CudaWarps(name="producer"):   gemm_sm90_multicast.py:59
                {
                    // a = A_smem[cta, k % 2, :, :]   gemm_sm90_multicast.py:60
                    auto *const a = A_smem + (k & 1) * 512;
                    // a_tile = A_map[64 * (2 * m + cta):64 * (2 * m + cta) + 64, 8 * k:8 * k + 8]   gemm_sm90_multicast.py:61
                    // b_tile = B_map[8 * n + 4 * cta:8 * n + 4 * cta + 4, 8 * k:8 * k + 8]   gemm_sm90_multicast.py:64
                    // ReverseAwait(ring[cta], tma_to_smem_async, ~2)   gemm_sm90_multicast.py:67
                    if (sync.ring_reverse_awaits.is_due()) {
                        while (!ptx::mbarrier_try_wait_parity_acquire_cluster_shared_b64(SyncState::mbarrier(2 + sync.ring_reverse_awaits.slot), sync.ring_reverse_awaits.parity)) {}
                        sync.ring_reverse_awaits.next();
                        ptx::fence_proxy_async();
                    }
                    // with CudaAsync(tma_to_smem_async):   gemm_sm90_multicast.py:68
                    {
                        sync.ring_bytes = 0;
                        sync.ring_bytes_all_cta = 0;
                        // Sm90_copy_tensor_to_smem_2d_f32(a, a_tile, n0=64, n1=8) >> ring[cta]   gemm_sm90_multicast.py:69
                        sync.ring_bytes += 2048;
                        if (ptx::elect_sync()) ptx::cp_async_bulk_tensor_2d_shared_cluster_global(a, &args.A_map, SyncState::mbarrier(sync.ring_arrives.slot), 8 * k, 64 * (2 * m + cta));
                        // Sm90_multicast_tensor_to_smem_2d_f32(B_smem[:, k % 2, 4 * cta:4 * cta + 4, :], b_tile, ctas=2, n0=4, n1=8) >> ring[cta] >> ring[:]   gemm_sm90_multicast.py:70
                        sync.ring_bytes_all_cta += 128;
                        if (ptx::elect_sync()) ptx::cp_async_bulk_tensor_2d_shared_cluster_global_multicast_cluster(B_smem + (k & 1) * 64 + 4 * cta * 8, &args.B_map, SyncState::mbarrier(sync.ring_arrives.slot), uint16_t(0x3), 8 * k, 8 * n + 4 * cta);
                        // Arrive(tma_to_smem_async, 1) >> ring[cta] >> ring[:]   gemm_sm90_multicast.py:77
                        __syncwarp();
                        if (const uint32_t target_cta = threadIdx.x % 32; 0x3 >> target_cta & 1) {
                            ptx::mbarrier_arrive_expect_tx_release_cluster_shared_cluster_b64(SyncState::mbarrier(sync.ring_arrives.slot), target_cta, (target_cta == ptx::cluster_ctarank() ? sync.ring_bytes : 0) + sync.ring_bytes_all_cta);
                        }
                        sync.ring_arrives.next();
                    }
                }
            }
            // for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):   gemm_sm90_multicast.py:78: other warps
        }
        // for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):   gemm_sm90_multicast.py:96: other warps
        // Fence(cuda_in_order, cuda_in_order)   gemm_sm90_multicast.py:107
        ptx::barrier_cluster_arrive();
        ptx::barrier_cluster_wait();
    }

    static __device__ __forceinline__ void task_unused(Args const &args, SyncState &sync, int m, int n) {
        // A_smem: f32[2, 2, 64, 8] @ Sm90_SmemSwizzled(32)   gemm_sm90_multicast.py:52
        // B_smem: f32[2, 2, 8, 8] @ Sm90_SmemSwizzled(32)   gemm_sm90_multicast.py:53
        // D: f32[2, 1, 64, 8] @ Sm90_RmemMatrixD   gemm_sm90_multicast.py:54
        // ring: barrier[2] @ CudaMbarrier   gemm_sm90_multicast.py:55
        // group: barrier[2, 1] @ CudaCommitGroup   gemm_sm90_multicast.py:56
        // for k in seq(0, K // 8):   gemm_sm90_multicast.py:57: other warps
        // for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):   gemm_sm90_multicast.py:96: other warps
        // Fence(cuda_in_order, cuda_in_order)   gemm_sm90_multicast.py:107
        ptx::barrier_cluster_arrive();
        ptx::barrier_cluster_wait();
    }

    static __device__ __forceinline__ void task_consumer(Args const &args, SyncState &sync, int m, int n) {
        const int N = args.N;
        const int K = args.K;
        float *const C = args.C;
        // A_smem: f32[2, 2, 64, 8] @ Sm90_SmemSwizzled(32)   gemm_sm90_multicast.py:52
        float *const A_smem = reinterpret_cast<float *>(soundline_dynamic_shared() + 256);
        // B_smem: f32[2, 2, 8, 8] @ Sm90_SmemSwizzled(32)   gemm_sm90_multicast.py:53
        float *const B_smem = reinterpret_cast<float *>(soundline_dynamic_shared() + 4352);
        // D: f32[2, 1, 64, 8] @ Sm90_RmemMatrixD   gemm_sm90_multicast.py:54
        float D[1][4];
        int D_holds_sum[1] = {};
        // ring: barrier[2] @ CudaMbarrier   gemm_sm90_multicast.py:55
        // group: barrier[2, 1] @ CudaCommitGroup   gemm_sm90_multicast.py:56
        // for k in seq(0, K // 8):   gemm_sm90_multicast.py:57
        for (int k = 0; k < K >> 3; ++k) {
            // for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):   gemm_sm90_multicast.py:58: other warps
            // for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):   gemm_sm90_multicast.py:78
            {
                // with CudaWarps(name="consumer"):   gemm_sm90_multicast.py:79
                {
                    // Await(ring[cta], cuda_generic_and_async_proxy, ~0)   gemm_sm90_multicast.py:80
                    while (!ptx::mbarrier_try_wait_parity_acquire_cluster_shared_b64(SyncState::mbarrier(sync.ring_awaits.slot), sync.ring_awaits.parity)) {}
                    sync.ring_awaits.next();
                    // for wg in cuda_threads(0, 1, unit=cuda_warpgroup):   gemm_sm90_multicast.py:81
                    {
                        const int wg = 0;
                        // with CudaAsync(wgmma_async):   gemm_sm90_multicast.py:82
                        {
                            // Fence(wgmma_fence_1, wgmma_fence_2)   gemm_sm90_multicast.py:83
                            ptx::wgmma_fence_sync_aligned();
                            // if k == 0:   gemm_sm90_multicast.py:84
                            if (k == 0) {
                                // Sm90_zero_scale_d_f32(D[cta, wg, :, :], N=8)   gemm_sm90_multicast.py:85
                                D_holds_sum[wg] = 0;
                            }
                            // for i in seq(0, 8 // 8):   gemm_sm90_multicast.py:86
                            #pragma unroll
                            for (int i = 0; i < 1; ++i) {
                                // Sm90_mma_async_tf32(D[cta, wg, :, :], A_smem[cta, k % 2, 64 * wg:64 * wg + 64, 8 * i:8 * i + 8], B_smem[cta, k % 2, :, 8 * i:8 * i + 8], N=8)   gemm_sm90_multicast.py:87
                                ptx::wgmma_mma_async_sync_aligned_m64k8_f32_tf32_tf32<8>(D[wg], soundline::smem_descriptor<32>(A_smem + (k & 1) * 512 + 64 * wg * 8 + 8 * i, 16, 256), soundline::smem_descriptor<32>(B_smem + (k & 1) * 64 + 8 * i, 16, 256), D_holds_sum[wg]);
                                D_holds_sum[wg] = 1;
                            }
                            // Arrive(wgmma_async, 1) >> group[cta, wg]   gemm_sm90_multicast.py:93
                            ptx::wgmma_commit_group_sync_aligned();
                        }
                        // Await(group[cta, wg], cuda_in_order, 0)   gemm_sm90_multicast.py:94
                        ptx::wgmma_wait_group_sync_aligned<0>();
                        ptx::fence_registers(D);
                    }
                    // ReverseArrive(cuda_in_order, 1) >> ring[cta] >> ring[:]   gemm_sm90_multicast.py:95
                    __syncwarp();
                    if (const uint32_t target_cta = threadIdx.x % 32; 0x3 >> target_cta & 1) {
                        ptx::mbarrier_arrive_release_cluster_shared_cluster_b64(SyncState::mbarrier(2 + sync.ring_reverse_arrives.slot), target_cta);
                    }
                    sync.ring_reverse_arrives.next();
                }
            }
        }
        // for cta in cuda_threads(0, 2, unit=cuda_cta_in_cluster):   gemm_sm90_multicast.py:96
        {
            const int cta = blockIdx.x % 2;
            // with CudaWarps(name="consumer"):   gemm_sm90_multicast.py:97
            {
                // for wg in cuda_threads(0, 1, unit=cuda_warpgroup):   gemm_sm90_multicast.py:98
                {
                    const int wg = 0;
                    // Sm90_mma_write_d_row_major_f32(C[64 * (2 * m + cta) + 64 * wg:64 * (2 * m + cta) + 64 * wg + 64, 8 * n:8 * n + 8], D[cta, wg, :, :], N=8)   gemm_sm90_multicast.py:99
                    soundline::wgmma_write_d(soundline::window<0, 16>(C + int64_t(64 * (2 * m + cta) + 64 * wg) * N + 8 * n, N, 1), D[wg], D_holds_sum[wg]);
                }
            }
        }
        // Fence(cuda_in_order, cuda_in_order)   gemm_sm90_multicast.py:107
        ptx::barrier_cluster_arrive();
        ptx::barrier_cluster_wait();
    }

    static __host__ __device__ __forceinline__ int64_t tasks(Args const &args) {
        const int M = args.M;
        const int N = args.N;
        return int64_t(M >> 7) * int64_t(N >> 3);
    }

    static __device__ __forceinline__ void main_loop(Args const &args) {
        const int N = args.N;
        SyncState sync;
        if (threadIdx.x == 0) {
            for (int k = 0; k < 2; ++k) ptx::mbarrier_init_shared_b64(SyncState::mbarrier(k), 2);
            for (int k = 2; k < 4; ++k) ptx::mbarrier_init_shared_b64(SyncState::mbarrier(k), 8);
            ptx::fence_mbarrier_init_release_cluster();
            ptx::fence_proxy_async();
        }
        ptx::barrier_cluster_arrive();
        ptx::barrier_cluster_wait();
        if (threadIdx.x < 32) {
            ptx::setmaxnreg_dec_sync_aligned_u32<40>();
            for (int64_t task_number = blockIdx.x / 2, task_count = tasks(args); task_number < task_count; task_number += gridDim.x / 2) {
                // for m in cuda_tasks(0, M // (2 * 64)):   gemm_sm90_multicast.py:50
                const int m = int(task_number / (N >> 3));
                // for n in cuda_tasks(0, N // 8):   gemm_sm90_multicast.py:51
                const int n = int(task_number % (N >> 3));
                gemm_device0::task_producer(args, sync, m, n);
                // The next task uses the same shared memory and the same mbarriers.
                ptx::fence_proxy_async();
                sync.ring_reverse_awaits.restart();
            }
        }
        else if (threadIdx.x < 128) {
            ptx::setmaxnreg_dec_sync_aligned_u32<40>();
            for (int64_t task_number = blockIdx.x / 2, task_count = tasks(args); task_number < task_count; task_number += gridDim.x / 2) {
                // for m in cuda_tasks(0, M // (2 * 64)):   gemm_sm90_multicast.py:50
                const int m = int(task_number / (N >> 3));
                // for n in cuda_tasks(0, N // 8):   gemm_sm90_multicast.py:51
                const int n = int(task_number % (N >> 3));
                gemm_device0::task_unused(args, sync, m, n);
                // The next task uses the same shared memory and the same mbarriers.
                ptx::fence_proxy_async();
                sync.ring_reverse_awaits.restart();
            }
        }
        else {
            ptx::setmaxnreg_inc_sync_aligned_u32<232>();
            for (int64_t task_number = blockIdx.x / 2, task_count = tasks(args); task_number < task_count; task_number += gridDim.x / 2) {
                // for m in cuda_tasks(0, M // (2 * 64)):   gemm_sm90_multicast.py:50
                const int m = int(task_number / (N >> 3));
                // for n in cuda_tasks(0, N // 8):   gemm_sm90_multicast.py:51
                const int n = int(task_number % (N >> 3));
                gemm_device0::task_consumer(args, sync, m, n);
                // The next task uses the same shared memory and the same mbarriers.
                ptx::fence_proxy_async();
                sync.ring_reverse_awaits.restart();
            }
        }
        ptx::barrier_cluster_arrive();
        ptx::barrier_cluster_wait();
        if (threadIdx.x == 0) {
            for (int k = 0; k < 2; ++k) ptx::mbarrier_inval_shared_b64(SyncState::mbarrier(k));
            for (int k = 2; k < 4; ++k) ptx::mbarrier_inval_shared_b64(SyncState::mbarrier(k));
        }
    }
};

extern "C" __global__ void __launch_bounds__(256, 1) SOUNDLINE_CLUSTER(2) gemm_device0(const __grid_constant__ gemm_device0_Args args) {
    gemm_device0::main_loop(args);
}
