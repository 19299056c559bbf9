struct async_block_device0_Args {
    float alpha;
    float const *x;
    float *y;
};

// with CudaDeviceFunction(blockDim=256):   async_block.py:3
struct async_block_device0 {
    using Args = async_block_device0_Args;

    struct SyncState {
        // No mbarriers: nothing is counted.
    };

    static __device__ __forceinline__ void task(Args const &args, SyncState &sync, int task) {
        float const *const x = args.x;
        float *const y = args.y;
        // first: f32[64] @ CudaSmemLinear   async_block.py:5
        float *const first = reinterpret_cast<float *>(soundline_dynamic_shared());
        // second: f32[64] @ CudaSmemLinear   async_block.py:6
        float *const second = reinterpret_cast<float *>(soundline_dynamic_shared() + 256);
        // for tid in cuda_threads(0, 16, unit=cuda_thread):   async_block.py:7
        if (const int tid = threadIdx.x; tid < 16) {
            // for i in seq(0, 4):   async_block.py:8
            for (int i = 0; i < 4; ++i) {
                // first[4 * tid + i] = alpha   async_block.py:9
                first[4 * tid + i] = args.alpha;
            }
            // with CudaAsync(Sm80_cp_async):   async_block.py:10
            {
                // Sm80_cp_async_f32(second[4 * tid:4 * tid + 4], x[4 * tid:4 * tid + 4], size=4)   async_block.py:11
                ptx::cp_async_cg_shared_global(second + 4 * tid, x + 4 * tid);
            }
        }
        // Fence(Sm80_generic, cuda_in_order)   async_block.py:12
        ptx::cp_async_wait_all();
        ptx::barrier_cta_sync(0);
        // for tid in cuda_threads(0, 64, unit=cuda_thread):   async_block.py:13
        if (const int tid = threadIdx.x; tid < 64) {
            // y[tid] = first[63 - tid] * second[tid]   async_block.py:14
            y[tid] = first[63 - tid] * second[tid];
        }
        // Fence(cuda_in_order, cuda_in_order)   async_block.py:15
        ptx::barrier_cta_sync(0);
    }

    static __host__ __device__ __forceinline__ int64_t tasks(Args const &args) {
        return int64_t(1);
    }

    static __device__ __forceinline__ void main_loop(Args const &args) {
        SyncState sync;
        for (int64_t task_number = blockIdx.x, task_count = tasks(args); task_number < task_count; task_number += gridDim.x) {
            // for task in cuda_tasks(0, 1):   async_block.py:4
            const int task = int(task_number);
            async_block_device0::task(args, sync, task);
            // The fence at the end of the task orders the next one: barrier.cta.sync.
        }
    }
};

extern "C" __global__ void __launch_bounds__(256, 1) async_block_device0(const __grid_constant__ async_block_device0_Args args) {
    async_block_device0::main_loop(args);
}
