struct sync_warp_cta_device0_Args {
    float *y;
};

// with CudaDeviceFunction(blockDim=128):   sync_warp_cta.py:3
struct sync_warp_cta_device0 {
    using Args = sync_warp_cta_device0_Args;

    struct SyncState {
        // No mbarriers: nothing is counted.
    };

    static __device__ __forceinline__ void task(Args const &args, SyncState &sync, int task) {
        float *const y = args.y;
        // smem: f32[4] @ CudaSmemLinear   sync_warp_cta.py:5
        float *const smem = reinterpret_cast<float *>(soundline_dynamic_shared());
        // for w in cuda_threads(0, 4, unit=cuda_warp):   sync_warp_cta.py:6
        {
            const int w = threadIdx.x / 32;
            // for lane in cuda_threads(0, 1, unit=cuda_thread):   sync_warp_cta.py:7
            if (const int lane = threadIdx.x % 32; lane < 1) {
                // smem[w] = 1.0   sync_warp_cta.py:8
                smem[w] = 1.0f;
            }
            // Fence(cuda_in_order, cuda_in_order)   sync_warp_cta.py:9
            __syncwarp();
        }
        // Fence(cuda_in_order, cuda_in_order)   sync_warp_cta.py:10
        ptx::barrier_cta_sync(0);
        // for t in cuda_threads(0, 4, unit=cuda_thread):   sync_warp_cta.py:11
        if (const int t = threadIdx.x; t < 4) {
            // y[t] = smem[3 - t]   sync_warp_cta.py:12
            y[t] = smem[3 - t];
        }
        // Fence(cuda_in_order, cuda_in_order)   sync_warp_cta.py:13
        ptx::barrier_cta_sync(0);
    }

    static __host__ __device__ __forceinline__ int64_t tasks(Args const &args) {
        return int64_t(1);
    }

    static __device__ __forceinline__ void main_loop(Args const &args) {
        SyncState sync;
        for (int64_t task_number = blockIdx.x, task_count = tasks(args); task_number < task_count; task_number += gridDim.x) {
            // for task in cuda_tasks(0, 1):   sync_warp_cta.py:4
            const int task = int(task_number);
            sync_warp_cta_device0::task(args, sync, task);
            // The fence at the end of the task orders the next one: barrier.cta.sync.
        }
    }
};

extern "C" __global__ void __launch_bounds__(128, 1) sync_warp_cta_device0(const __grid_constant__ sync_warp_cta_device0_Args args) {
    sync_warp_cta_device0::main_loop(args);
}
