struct gemm_device0_Args {
    int M;
    int N;
    int K;
    float *C;
    soundline::tensor_map A_map;
    soundline::tensor_map B_map;
};

// with CudaDeviceFunction(warp_config=[CudaWarpConfig("producer", 1, setmaxnreg_dec=40), CudaWarpConfig("unused", 3, setmaxnreg_dec=40), CudaWarpConfig("consumer", 4, setmaxnreg_inc=232)]):   gemm_sm90_ring.py:54
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

        // ring: barrier @ CudaMbarrier   gemm_sm90_ring.py:59
        // Forward: 2 in a ring, mbarriers 0 to 1; 1 warp.
        Turn<2> ring_arrives;
        Turn<2> ring_awaits;
        uint32_t ring_bytes = 0;
        // Reverse: 2 in a ring, mbarriers 2 to 3; 4 warps.
        Turn<2> ring_reverse_arrives;
        Turn<2, 2> ring_reverse_awaits;
    };

    static __device__ __forceinline__ void task_producer(Args const &args, SyncState &sync, int m) {
        const int N = args.N;
        const int K = args.K;
        // A_smem: f32[2, 64, 8] @ Sm90_SmemSwizzled(32)   gemm_sm90_ring.py:56
        float *const A_smem = reinterpret_cast<float *>(soundline_dynamic_shared() + 256);
        // B_smem: f32[2, 8, 8] @ Sm90_SmemSwizzled(32)   gemm_sm90_ring.py:57
        float *const B_smem = reinterpret_cast<float *>(soundline_dynamic_shared() + 4352);
        // D: f32[1, 64, 8] @ Sm90_RmemMatrixD   gemm_sm90_ring.py:58
        // ring: barrier @ CudaMbarrier   gemm_sm90_ring.py:59
        // group: barrier[1] @ CudaCommitGroup   gemm_sm90_ring.py:60
        // for n in seq(0, N // 8):   gemm_sm90_ring.py:61
        for (int n = 0; n < N >> 3; ++n) {
            // for k in seq(0, K // 8):   gemm_sm90_ring.py:62
            for (int k = 0; k < K >> 3; ++k) {
                // a = A_smem[(n * (K // 8) + k) % 2, :, :]   gemm_sm90_ring.py:63
                auto *const a = A_smem + ((n * (K >> 3) + k) & 1) * 512;
                // b = B_smem[(n * (K // 8) + k) % 2, :, :]   gemm_sm90_ring.py:64
                auto *const b = B_smem + ((n * (K >> 3) + k) & 1) * 64;
                // with CudaWarps(name="producer"):   gemm_sm90_ring.py:65
                {
                    // a_tile = A_map[64 * m:64 * m + 64, 8 * k:8 * k + 8]   gemm_sm90_ring.py:66
                    // b_tile = B_map[8 * n:8 * n + 8, 8 * k:8 * k + 8]   gemm_sm90_ring.py:67
                    // ReverseAwait(ring, tma_to_smem_async, ~2)   gemm_sm90_ring.py:68
                    if (sync.ring_reverse_awaits.is_due()) {
                        while (!ptx::mbarrier_try_wait_parity_shared_b64(SyncState::mbarrier(2 + sync.ring_reverse_awaits.slot), sync.ring_reverse_awaits.parity)) {}
                        sync.ring_reverse_awaits.next();
                        ptx::fence_proxy_async();
                    }
                    // with CudaAsync(tma_to_smem_async):   gemm_sm90_ring.py:69
                    {
                        sync.ring_bytes = 0;
                        // Sm90_copy_tensor_to_smem_2d_f32(a, a_tile, n0=64, n1=8) >> ring   gemm_sm90_ring.py:70
                        sync.ring_bytes += 2048;
                        if (ptx::elect_sync()) ptx::cp_async_bulk_tensor_2d_shared_cluster_global(a, &args.A_map, SyncState::mbarrier(sync.ring_arrives.slot), 8 * k, 64 * m);
                        // Sm90_copy_tensor_to_smem_2d_f32(b, b_tile, n0=8, n1=8) >> ring   gemm_sm90_ring.py:71
                        sync.ring_bytes += 256;
                        if (ptx::elect_sync()) ptx::cp_async_bulk_tensor_2d_shared_cluster_global(b, &args.B_map, SyncState::mbarrier(sync.ring_arrives.slot), 8 * k, 8 * n);
                        // Arrive(tma_to_smem_async, 1) >> ring   gemm_sm90_ring.py:72
                        __syncwarp();
                        if (ptx::elect_sync()) ptx::mbarrier_arrive_expect_tx_shared_b64(SyncState::mbarrier(sync.ring_arrives.slot), sync.ring_bytes);
                        sync.ring_arrives.next();
                    }
                }
                // with CudaWarps(name="consumer"):   gemm_sm90_ring.py:73: other warps
            }
            // with CudaWarps(name="consumer"):   gemm_sm90_ring.py:90: other warps
        }
        // Fence(cuda_in_order, cuda_in_order)   gemm_sm90_ring.py:97
        ptx::barrier_cta_sync(0);
    }

    static __device__ __forceinline__ void task_unused(Args const &args, SyncState &sync, int m) {
        const int N = args.N;
        const int K = args.K;
        // A_smem: f32[2, 64, 8] @ Sm90_SmemSwizzled(32)   gemm_sm90_ring.py:56
        // B_smem: f32[2, 8, 8] @ Sm90_SmemSwizzled(32)   gemm_sm90_ring.py:57
        // D: f32[1, 64, 8] @ Sm90_RmemMatrixD   gemm_sm90_ring.py:58
        // ring: barrier @ CudaMbarrier   gemm_sm90_ring.py:59
        // group: barrier[1] @ CudaCommitGroup   gemm_sm90_ring.py:60
        // for n in seq(0, N // 8):   gemm_sm90_ring.py:61
        for (int n = 0; n < N >> 3; ++n) {
            // for k in seq(0, K // 8):   gemm_sm90_ring.py:62
            for (int k = 0; k < K >> 3; ++k) {
                // a = A_smem[(n * (K // 8) + k) % 2, :, :]   gemm_sm90_ring.py:63
                // b = B_smem[(n * (K // 8) + k) % 2, :, :]   gemm_sm90_ring.py:64
                // with CudaWarps(name="producer"):   gemm_sm90_ring.py:65: other warps
                // with CudaWarps(name="consumer"):   gemm_sm90_ring.py:73: other warps
            }
            // with CudaWarps(name="consumer"):   gemm_sm90_ring.py:90: other warps
        }
        // Fence(cuda_in_order, cuda_in_order)   gemm_sm90_ring.py:97
        ptx::barrier_cta_sync(0);
    }

    static __device__ __forceinline__ void task_consumer(Args const &args, SyncState &sync, int m) {
        const int N = args.N;
        const int K = args.K;
        float *const C = args.C;
        // A_smem: f32[2, 64, 8] @ Sm90_SmemSwizzled(32)   gemm_sm90_ring.py:56
        float *const A_smem = reinterpret_cast<float *>(soundline_dynamic_shared() + 256);
        // B_smem: f32[2, 8, 8] @ Sm90_SmemSwizzled(32)   gemm_sm90_ring.py:57
        float *const B_smem = reinterpret_cast<float *>(soundline_dynamic_shared() + 4352);
        // D: f32[1, 64, 8] @ Sm90_RmemMatrixD   gemm_sm90_ring.py:58
        float D[1][4];
        int D_holds_sum[1] = {};
        // ring: barrier @ CudaMbarrier   gemm_sm90_ring.py:59
        // group: barrier[1] @ CudaCommitGroup   gemm_sm90_ring.py:60
        // for n in seq(0, N // 8):   gemm_sm90_ring.py:61
        for (int n = 0; n < N >> 3; ++n) {
            // for k in seq(0, K // 8):   gemm_sm90_ring.py:62
            for (int k = 0; k < K >> 3; ++k) {
                // a = A_smem[(n * (K // 8) + k) % 2, :, :]   gemm_sm90_ring.py:63
                auto *const a = A_smem + ((n * (K >> 3) + k) & 1) * 512;
                // b = B_smem[(n * (K // 8) + k) % 2, :, :]   gemm_sm90_ring.py:64
                auto *const b = B_smem + ((n * (K >> 3) + k) & 1) * 64;
                // with CudaWarps(name="producer"):   gemm_sm90_ring.py:65: other warps
                // with CudaWarps(name="consumer"):   gemm_sm90_ring.py:73
                {
                    // Await(ring, cuda_generic_and_async_proxy, ~0)   gemm_sm90_ring.py:74
                    while (!ptx::mbarrier_try_wait_parity_shared_b64(SyncState::mbarrier(sync.ring_awaits.slot), sync.ring_awaits.parity)) {}
                    sync.ring_awaits.next();
                    // for wg in cuda_threads(0, 1, unit=cuda_warpgroup):   gemm_sm90_ring.py:75
                    {
                        const int wg = 0;
                        // with CudaAsync(wgmma_async):   gemm_sm90_ring.py:76
                        {
                            // Fence(wgmma_fence_1, wgmma_fence_2)   gemm_sm90_ring.py:77
                            ptx::wgmma_fence_sync_aligned();
                            // if k == 0:   gemm_sm90_ring.py:78
                            if (k == 0) {
                                // Sm90_zero_scale_d_f32(D[wg, :, :], N=8)   gemm_sm90_ring.py:79
                                D_holds_sum[wg] = 0;
                            }
                            // for i in seq(0, 8 // 8):   gemm_sm90_ring.py:80
                            #pragma unroll
                            for (int i = 0; i < 1; ++i) {
                                // Sm90_mma_async_tf32(D[wg, :, :], a[64 * wg:64 * wg + 64, 8 * i:8 * i + 8], b[:, 8 * i:8 * i + 8], N=8)   gemm_sm90_ring.py:81
                                ptx::wgmma_mma_async_sync_aligned_m64k8_f32_tf32_tf32<8>(D[wg], soundline::smem_descriptor<32>(a + 64 * wg * 8 + 8 * i, 16, 256), soundline::smem_descriptor<32>(b + 8 * i, 16, 256), D_holds_sum[wg]);
                                D_holds_sum[wg] = 1;
                            }
                            // Arrive(wgmma_async, 1) >> group[wg]   gemm_sm90_ring.py:87
                            ptx::wgmma_commit_group_sync_aligned();
                        }
                        // Await(group[wg], cuda_in_order, 0)   gemm_sm90_ring.py:88
                        ptx::wgmma_wait_group_sync_aligned<0>();
                        ptx::fence_registers(D);
                    }
                    // ReverseArrive(cuda_in_order, 1) >> ring   gemm_sm90_ring.py:89
                    __syncwarp();
                    if (ptx::elect_sync()) ptx::mbarrier_arrive_shared_b64(SyncState::mbarrier(2 + sync.ring_reverse_arrives.slot));
                    sync.ring_reverse_arrives.next();
                }
            }
            // with CudaWarps(name="consumer"):   gemm_sm90_ring.py:90
            {
                // for wg in cuda_threads(0, 1, unit=cuda_warpgroup):   gemm_sm90_ring.py:91
                {
                    const int wg = 0;
                    // Sm90_mma_write_d_row_major_f32(C[64 * m + 64 * wg:64 * m + 64 * wg + 64, 8 * n:8 * n + 8], D[wg, :, :], N=8)   gemm_sm90_ring.py:92
                    soundline::wgmma_write_d(soundline::window<0, 16>(C + int64_t(64 * m + 64 * wg) * N + 8 * n, N, 1), D[wg], D_holds_sum[wg]);
                }
            }
        }
        // Fence(cuda_in_order, cuda_in_order)   gemm_sm90_ring.py:97
        ptx::barrier_cta_sync(0);
    }

    static __host__ __device__ __forceinline__ int64_t tasks(Args const &args) {
        const int M = args.M;
        return int64_t(M >> 6);
    }

    static __device__ __forceinline__ void main_loop(Args const &args) {
        SyncState sync;
        if (threadIdx.x == 0) {
            for (int k = 0; k < 2; ++k) ptx::mbarrier_init_shared_b64(SyncState::mbarrier(k), 1);
            for (int k = 2; k < 4; ++k) ptx::mbarrier_init_shared_b64(SyncState::mbarrier(k), 4);
            ptx::fence_proxy_async();
        }
        ptx::barrier_cta_sync(0);
        if (threadIdx.x < 32) {
            ptx::setmaxnreg_dec_sync_aligned_u32<40>();
            for (int64_t task_number = blockIdx.x, task_count = tasks(args); task_number < task_count; task_number += gridDim.x) {
                // for m in cuda_tasks(0, M // 64):   gemm_sm90_ring.py:55
                const int m = int(task_number);
                gemm_device0::task_producer(args, sync, m);
                // The next task uses the same shared memory and the same mbarriers.
                ptx::fence_proxy_async();
                sync.ring_reverse_awaits.restart();
            }
        }
        else if (threadIdx.x < 128) {
            ptx::setmaxnreg_dec_sync_aligned_u32<40>();
            for (int64_t task_number = blockIdx.x, task_count = tasks(args); task_number < task_count; task_number += gridDim.x) {
                // for m in cuda_tasks(0, M // 64):   gemm_sm90_ring.py:55
                const int m = int(task_number);
                gemm_device0::task_unused(args, sync, m);
                // The next task uses the same shared memory and the same mbarriers.
                ptx::fence_proxy_async();
                sync.ring_reverse_awaits.restart();
            }
        }
        else {
            ptx::setmaxnreg_inc_sync_aligned_u32<232>();
            for (int64_t task_number = blockIdx.x, task_count = tasks(args); task_number < task_count; task_number += gridDim.x) {
                // for m in cuda_tasks(0, M // 64):   gemm_sm90_ring.py:55
                const int m = int(task_number);
                gemm_device0::task_consumer(args, sync, m);
                // The next task uses the same shared memory and the same mbarriers.
                ptx::fence_proxy_async();
                sync.ring_reverse_awaits.restart();
            }
        }
        ptx::barrier_cta_sync(0);
        if (threadIdx.x == 0) {
            for (int k = 0; k < 2; ++k) ptx::mbarrier_inval_shared_b64(SyncState::mbarrier(k));
            for (int k = 2; k < 4; ++k) ptx::mbarrier_inval_shared_b64(SyncState::mbarrier(k));
        }
    }
};

extern "C" __global__ void __launch_bounds__(256, 1) gemm_device0(const __grid_constant__ gemm_device0_Args args) {
    gemm_device0::main_loop(args);
}
