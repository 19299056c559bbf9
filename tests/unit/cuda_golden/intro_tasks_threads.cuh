struct intro_tasks_threads_device0_Args {
    int n;
    float *X;
    float const *Y;
};

// with CudaDeviceFunction(blockDim=128):   intro_tasks_threads.py:4
struct intro_tasks_threads_device0 {
    using Args = intro_tasks_threads_device0_Args;

    struct SyncState {
        // No mbarriers: nothing is counted.
    };

    static __device__ __forceinline__ void task(Args const &args, SyncState &sync, int chunk) {
        float *const X = args.X;
        float const *const Y = args.Y;
        // for tid in cuda_threads(0, 128, unit=cuda_thread):   intro_tasks_threads.py:6
        {
            const int tid = threadIdx.x;
            // X[128 * chunk + tid] += Y[128 * chunk + tid]   intro_tasks_threads.py:7
            X[128 * chunk + tid] += Y[128 * chunk + tid];
        }
    }

    static __host__ __device__ __forceinline__ int64_t tasks(Args const &args) {
        const int n = args.n;
        return int64_t(n >> 7);
    }

    static __device__ __forceinline__ void main_loop(Args const &args) {
        SyncState sync;
        for (int64_t task_number = blockIdx.x, task_count = tasks(args); task_number < task_count; task_number += gridDim.x) {
            // for chunk in cuda_tasks(0, n // 128):   intro_tasks_threads.py:5
            const int chunk = int(task_number);
            intro_tasks_threads_device0::task(args, sync, chunk);
            // The next task uses the same shared memory and the same mbarriers.
            ptx::barrier_cta_sync(0);
        }
    }
};

extern "C" __global__ void __launch_bounds__(128, 1) intro_tasks_threads_device0(const __grid_constant__ intro_tasks_threads_device0_Args args) {
    intro_tasks_threads_device0::main_loop(args);
}
