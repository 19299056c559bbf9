struct cuda_threads_cxx_device0_Args {
    float *x;
};

// with CudaDeviceFunction(blockDim=256):   cuda_threads_cxx.py:3
struct cuda_threads_cxx_device0 {
    using Args = cuda_threads_cxx_device0_Args;

    struct SyncState {
        // No mbarriers: nothing is counted.
    };

    static __device__ __forceinline__ void task(Args const &args, SyncState &sync, int task) {
        float *const x = args.x;
        // for m in cuda_threads(0, 8, unit=16 * cuda_thread):   cuda_threads_cxx.py:5
        if (const int m = threadIdx.x / 16; m < 8) {
            // for n in cuda_threads(0, 16, unit=cuda_thread):   cuda_threads_cxx.py:6
            {
                const int n = threadIdx.x % 16;
                // x[m, n] = 0.0   cuda_threads_cxx.py:7
                x[m * 16 + n] = 0.0f;
            }
        }
    }

    static __host__ __device__ __forceinline__ int64_t tasks(Args const &args) {
        return int64_t(1);
    }

    static __device__ __forceinline__ void main_loop(Args const &args) {
        SyncState sync;
        for (int64_t task_number = blockIdx.x, task_count = tasks(args); task_number < task_count; task_number += gridDim.x) {
            // for task in cuda_tasks(0, 1):   cuda_threads_cxx.py:4
            const int task = int(task_number);
            cuda_threads_cxx_device0::task(args, sync, task);
            // The next task uses the same shared memory and the same mbarriers.
            ptx::barrier_cta_sync(0);
        }
    }
};

extern "C" __global__ void __launch_bounds__(256, 1) cuda_threads_cxx_device0(const __grid_constant__ cuda_threads_cxx_device0_Args args) {
    cuda_threads_cxx_device0::main_loop(args);
}
