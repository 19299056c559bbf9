struct simple_dist_device0_Args {
    float *x;
};

// with CudaDeviceFunction(blockDim=512):   simple_dist.py:3
struct simple_dist_device0 {
    using Args = simple_dist_device0_Args;

    struct SyncState {
        // No mbarriers: nothing is counted.
    };

    static __device__ __forceinline__ void task(Args const &args, SyncState &sync, int task) {
        float *const x = args.x;
        // vals: f32[16, 32, 8, 4] @ CudaRmem   simple_dist.py:5
        float vals[8 * 4];
        // for m in cuda_threads(0, 16, unit=32 * cuda_thread):   simple_dist.py:6
        {
            const int m = threadIdx.x / 32;
            // for n in cuda_threads(0, 32, unit=cuda_thread):   simple_dist.py:7
            {
                const int n = threadIdx.x % 32;
                // for i in seq(0, 8):   simple_dist.py:8
                #pragma unroll
                for (int i = 0; i < 8; ++i) {
                    // for j in seq(0, 4):   simple_dist.py:9
                    #pragma unroll
                    for (int j = 0; j < 4; ++j) {
                        // vals[m, n, i, j] = x[m, n, i, j]   simple_dist.py:10
                        vals[i * 4 + j] = x[m * 1024 + n * 32 + i * 4 + j];
                    }
                }
            }
        }
        // for m in cuda_threads(0, 16, unit=32 * cuda_thread):   simple_dist.py:11
        {
            const int m = threadIdx.x / 32;
            // for n in cuda_threads(0, 32, unit=cuda_thread):   simple_dist.py:12
            {
                const int n = threadIdx.x % 32;
                // for i in seq(0, 8):   simple_dist.py:13
                #pragma unroll
                for (int i = 0; i < 8; ++i) {
                    // for j in seq(0, 4):   simple_dist.py:14
                    #pragma unroll
                    for (int j = 0; j < 4; ++j) {
                        // x[m, n, i, j] = vals[m, n, 7 - i, j]   simple_dist.py:15
                        x[m * 1024 + n * 32 + i * 4 + j] = vals[(7 - i) * 4 + j];
                    }
                }
            }
        }
    }

    static __host__ __device__ __forceinline__ int64_t tasks(Args const &args) {
        return int64_t(1);
    }

    static __device__ __forceinline__ void main_loop(Args const &args) {
        SyncState sync;
        for (int64_t task_number = blockIdx.x, task_count = tasks(args); task_number < task_count; task_number += gridDim.x) {
            // for task in cuda_tasks(0, 1):   simple_dist.py:4
            const int task = int(task_number);
            simple_dist_device0::task(args, sync, task);
            // The next task uses the same shared memory and the same mbarriers.
            ptx::barrier_cta_sync(0);
        }
    }
};

extern "C" __global__ void __launch_bounds__(512, 1) simple_dist_device0(const __grid_constant__ simple_dist_device0_Args args) {
    simple_dist_device0::main_loop(args);
}
