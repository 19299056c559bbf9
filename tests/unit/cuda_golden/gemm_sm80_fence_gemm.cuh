struct gemm_device0_Args {
    int M;
    int N;
    int K;
    float const *A;
    float const *B;
    float *C;
};

// with CudaDeviceFunction(blockDim=64):   gemm_sm80_fence.py:40
struct gemm_device0 {
    using Args = gemm_device0_Args;

    struct SyncState {
        // No mbarriers: nothing is counted.
    };

    static __device__ __forceinline__ void task(Args const &args, SyncState &sync, int m1, int n1) {
        const int N = args.N;
        const int K = args.K;
        float const *const A = args.A;
        float const *const B = args.B;
        float *const C = args.C;
        // A_smem: f32[2, 32, 8] @ CudaSmemLinear   gemm_sm80_fence.py:43
        float *const A_smem = reinterpret_cast<float *>(soundline_dynamic_shared());
        // B_smem: f32[2, 8, 32] @ CudaSmemLinear   gemm_sm80_fence.py:44
        float *const B_smem = reinterpret_cast<float *>(soundline_dynamic_shared() + 2048);
        // D_rmem: f32[32 // 16, 32 // 32, 16 // 16, 32 // 8, 16, 8] @ Sm80_RmemMatrixD   gemm_sm80_fence.py:45
        float D_rmem[1 * 1 * 4][4];
        // for mw in cuda_threads(0, 32 // 16, unit=1 * cuda_warp):   gemm_sm80_fence.py:46
        {
            // for nw in cuda_threads(0, 32 // 32, unit=cuda_warp):   gemm_sm80_fence.py:47
            {
                const int nw = 0;
                // for i in seq(0, 16 // 16):   gemm_sm80_fence.py:48
                #pragma unroll
                for (int i = 0; i < 1; ++i) {
                    // for j in seq(0, 32 // 8):   gemm_sm80_fence.py:49
                    #pragma unroll
                    for (int j = 0; j < 4; ++j) {
                        // Sm80_mma_zero_d_tf32(D_rmem[mw, nw, i, j, :, :])   gemm_sm80_fence.py:50
                        soundline::mma_zero_d(D_rmem[nw * 4 + i * 4 + j]);
                    }
                }
            }
        }
        // for k1 in seq(0, K // 8 + 1):   gemm_sm80_fence.py:51
        for (int k1 = 0; k1 < (K >> 3) + 1; ++k1) {
            // if k1 < K // 8:   gemm_sm80_fence.py:52
            if (k1 < K >> 3) {
                // with CudaAsync(Sm80_cp_async):   gemm_sm80_fence.py:53
                {
                    // for r in seq(0, 32 // 32):   gemm_sm80_fence.py:54
                    for (int r = 0; r < 1; ++r) {
                        // for m in cuda_threads(0, 32, unit=2 * cuda_thread):   gemm_sm80_fence.py:55
                        {
                            const int m = threadIdx.x / 2;
                            // for k in cuda_threads(0, 8 // 4, unit=cuda_thread):   gemm_sm80_fence.py:56
                            {
                                const int k = threadIdx.x % 2;
                                // Sm80_cp_async_f32(A_smem[k1 % 2, 32 * r + m, 4 * k:4 * k + 4], A[32 * m1 + 32 * r + m, 8 * k1 + 4 * k:8 * k1 + 4 * k + 4], size=4)   gemm_sm80_fence.py:57
                                ptx::cp_async_cg_shared_global(A_smem + (k1 & 1) * 256 + (32 * r + m) * 8 + 4 * k, A + int64_t(32 * m1 + 32 * r + m) * K + (8 * k1 + 4 * k));
                            }
                        }
                    }
                    // for r in seq(0, 8 // 8):   gemm_sm80_fence.py:65
                    for (int r = 0; r < 1; ++r) {
                        // for k in cuda_threads(0, 8, unit=8 * cuda_thread):   gemm_sm80_fence.py:66
                        {
                            const int k = threadIdx.x / 8;
                            // for n in cuda_threads(0, 32 // 4, unit=cuda_thread):   gemm_sm80_fence.py:67
                            {
                                const int n = threadIdx.x % 8;
                                // Sm80_cp_async_f32(B_smem[k1 % 2, 8 * r + k, 4 * n:4 * n + 4], B[8 * k1 + 8 * r + k, 32 * n1 + 4 * n:32 * n1 + 4 * n + 4], size=4)   gemm_sm80_fence.py:68
                                ptx::cp_async_cg_shared_global(B_smem + (k1 & 1) * 256 + (8 * r + k) * 32 + 4 * n, B + int64_t(8 * k1 + 8 * r + k) * N + (32 * n1 + 4 * n));
                            }
                        }
                    }
                }
            }
            // if k1 > 0:   gemm_sm80_fence.py:76
            if (k1 > 0) {
                // for mw in cuda_threads(0, 32 // 16, unit=1 * cuda_warp):   gemm_sm80_fence.py:77
                {
                    const int mw = threadIdx.x / 32;
                    // for nw in cuda_threads(0, 32 // 32, unit=cuda_warp):   gemm_sm80_fence.py:78
                    {
                        const int nw = 0;
                        // B_rmem: f32[8 // 8, 32 // 8, 8, 8] @ Sm80_RmemMatrixB   gemm_sm80_fence.py:79
                        uint32_t B_rmem[1 * 4][2];
                        // for k in seq(0, 8 // 8):   gemm_sm80_fence.py:80
                        #pragma unroll
                        for (int k = 0; k < 1; ++k) {
                            // for j in seq(0, 32 // 8):   gemm_sm80_fence.py:81
                            #pragma unroll
                            for (int j = 0; j < 4; ++j) {
                                // Sm80_mma_load_b_tf32(B_rmem[k, j, :, :], B_smem[1 - k1 % 2, 8 * k:8 * k + 8, 32 * nw + 8 * j:32 * nw + 8 * j + 8], K=8)   gemm_sm80_fence.py:82
                                soundline::mma_load_b(B_rmem[k * 4 + j], soundline::window<0, 32>(B_smem + (1 - (k1 & 1)) * 256 + 8 * k * 32 + 32 * nw + 8 * j, 32, 1));
                            }
                        }
                        // for i in seq(0, 16 // 16):   gemm_sm80_fence.py:91
                        #pragma unroll
                        for (int i = 0; i < 1; ++i) {
                            // A_rmem: f32[8 // 8, 16, 8] @ Sm80_RmemMatrixA   gemm_sm80_fence.py:92
                            uint32_t A_rmem[1][4];
                            // for k in seq(0, 8 // 8):   gemm_sm80_fence.py:93
                            #pragma unroll
                            for (int k = 0; k < 1; ++k) {
                                // Sm80_mma_load_a_tf32(A_rmem[k, :, :], A_smem[1 - k1 % 2, 16 * mw + 16 * i:16 * mw + 16 * i + 16, 8 * k:8 * k + 8], K=8)   gemm_sm80_fence.py:94
                                soundline::mma_load_a(A_rmem[k], soundline::window<0, 32>(A_smem + (1 - (k1 & 1)) * 256 + (16 * mw + 16 * i) * 8 + 8 * k, 8, 1));
                            }
                            // for k in seq(0, 8 // 8):   gemm_sm80_fence.py:103
                            #pragma unroll
                            for (int k = 0; k < 1; ++k) {
                                // for j in seq(0, 32 // 8):   gemm_sm80_fence.py:104
                                #pragma unroll
                                for (int j = 0; j < 4; ++j) {
                                    // Sm80_mma_tf32(D_rmem[mw, nw, i, j, :, :], A_rmem[k, :, :], B_rmem[k, j, :, :], K=8)   gemm_sm80_fence.py:105
                                    ptx::mma_sync_aligned_m16n8k8_row_col_f32_tf32_tf32_f32(D_rmem[nw * 4 + i * 4 + j], A_rmem[k], B_rmem[k * 4 + j]);
                                }
                            }
                        }
                    }
                }
            }
            // Fence(Sm80_generic, Sm80_generic)   gemm_sm80_fence.py:111
            ptx::cp_async_wait_all();
            ptx::barrier_cta_sync(0);
        }
        // for mw in cuda_threads(0, 32 // 16, unit=1 * cuda_warp):   gemm_sm80_fence.py:112
        {
            const int mw = threadIdx.x / 32;
            // for nw in cuda_threads(0, 32 // 32, unit=cuda_warp):   gemm_sm80_fence.py:113
            {
                const int nw = 0;
                // for i in seq(0, 16 // 16):   gemm_sm80_fence.py:114
                #pragma unroll
                for (int i = 0; i < 1; ++i) {
                    // for j in seq(0, 32 // 8):   gemm_sm80_fence.py:115
                    #pragma unroll
                    for (int j = 0; j < 4; ++j) {
                        // Sm80_mma_store_d_tf32(C[32 * m1 + 16 * mw + 16 * i:32 * m1 + 16 * mw + 16 * i + 16, 32 * n1 + 32 * nw + 8 * j:32 * n1 + 32 * nw + 8 * j + 8], D_rmem[mw, nw, i, j, :, :])   gemm_sm80_fence.py:116
                        soundline::mma_store_d(soundline::window<0, 16>(C + int64_t(32 * m1 + 16 * mw + 16 * i) * N + (32 * n1 + 32 * nw + 8 * j), N, 1), D_rmem[nw * 4 + i * 4 + j]);
                    }
                }
            }
        }
    }

    static __host__ __device__ __forceinline__ int64_t tasks(Args const &args) {
        const int M = args.M;
        const int N = args.N;
        return int64_t(M >> 5) * int64_t(N >> 5);
    }

    static __device__ __forceinline__ void main_loop(Args const &args) {
        const int N = args.N;
        SyncState sync;
        for (int64_t task_number = blockIdx.x, task_count = tasks(args); task_number < task_count; task_number += gridDim.x) {
            // for m1 in cuda_tasks(0, M // 32):   gemm_sm80_fence.py:41
            const int m1 = int(task_number / (N >> 5));
            // for n1 in cuda_tasks(0, N // 32):   gemm_sm80_fence.py:42
            const int n1 = int(task_number % (N >> 5));
            gemm_device0::task(args, sync, m1, n1);
            // The next task uses the same shared memory and the same mbarriers.
            ptx::barrier_cta_sync(0);
        }
    }
};

extern "C" __global__ void __launch_bounds__(64, 1) gemm_device0(const __grid_constant__ gemm_device0_Args args) {
    gemm_device0::main_loop(args);
}
