struct my_warp_config_device0_Args {
    float const *x;
    float *y;
    float *z;
};

// with CudaDeviceFunction(warp_config=[CudaWarpConfig("producer", 1, setmaxnreg_dec=40), CudaWarpConfig("unused", 3, setmaxnreg_dec=40), CudaWarpConfig("consumer", 8, setmaxnreg_inc=232)]):   my_warp_config.py:3
struct my_warp_config_device0 {
    using Args = my_warp_config_device0_Args;

    struct SyncState {
        // No mbarriers: nothing is counted.
    };

    static __device__ __forceinline__ void task_producer(Args const &args, SyncState &sync, int task) {
        float const *const x = args.x;
        // data: f32[256] @ CudaSmemLinear   my_warp_config.py:5
        float *const data = reinterpret_cast<float *>(soundline_dynamic_shared());
        // with CudaWarps(name="producer"):   my_warp_config.py:6
        {
            // for lane in cuda_threads(0, 32, unit=cuda_thread):   my_warp_config.py:7
            {
                const int lane = threadIdx.x;
                // for i in seq(0, 8):   my_warp_config.py:8
                for (int i = 0; i < 8; ++i) {
                    // data[8 * lane + i] = x[8 * lane + i]   my_warp_config.py:9
                    data[8 * lane + i] = x[8 * lane + i];
                }
            }
        }
        // Fence(cuda_in_order, cuda_in_order)   my_warp_config.py:10
        ptx::barrier_cta_sync(0);
        // with CudaWarps(name="consumer"):   my_warp_config.py:11: other warps
        // Fence(cuda_in_order, cuda_in_order)   my_warp_config.py:18
        ptx::barrier_cta_sync(0);
    }

    static __device__ __forceinline__ void task_unused(Args const &args, SyncState &sync, int task) {
        // data: f32[256] @ CudaSmemLinear   my_warp_config.py:5
        // with CudaWarps(name="producer"):   my_warp_config.py:6: other warps
        // Fence(cuda_in_order, cuda_in_order)   my_warp_config.py:10
        ptx::barrier_cta_sync(0);
        // with CudaWarps(name="consumer"):   my_warp_config.py:11: other warps
        // Fence(cuda_in_order, cuda_in_order)   my_warp_config.py:18
        ptx::barrier_cta_sync(0);
    }

    static __device__ __forceinline__ void task_consumer(Args const &args, SyncState &sync, int task) {
        float *const y = args.y;
        float *const z = args.z;
        // data: f32[256] @ CudaSmemLinear   my_warp_config.py:5
        float *const data = reinterpret_cast<float *>(soundline_dynamic_shared());
        // with CudaWarps(name="producer"):   my_warp_config.py:6: other warps
        // Fence(cuda_in_order, cuda_in_order)   my_warp_config.py:10
        ptx::barrier_cta_sync(0);
        // with CudaWarps(name="consumer"):   my_warp_config.py:11
        {
            // for tid in cuda_threads(0, 256, unit=cuda_thread):   my_warp_config.py:12
            {
                const int tid = threadIdx.x - 128;
                // y[tid] = data[255 - tid]   my_warp_config.py:13
                y[tid] = data[255 - tid];
            }
            // with CudaWarps(2, 4):   my_warp_config.py:14
            if (threadIdx.x - 128 >= 64 && threadIdx.x - 128 < 128) {
                // for lane in cuda_threads(0, 20, unit=3 * cuda_thread):   my_warp_config.py:15
                if (const int lane = ((threadIdx.x - 128) - 64) / 3; lane < 20) {
                    // for sub in cuda_threads(0, 3, unit=cuda_thread):   my_warp_config.py:16
                    {
                        const int sub = ((threadIdx.x - 128) - 64) % 3;
                        // z[3 * lane + sub] = data[3 * sub + lane]   my_warp_config.py:17
                        z[3 * lane + sub] = data[3 * sub + lane];
                    }
                }
            }
        }
        // Fence(cuda_in_order, cuda_in_order)   my_warp_config.py:18
        ptx::barrier_cta_sync(0);
    }

    static __host__ __device__ __forceinline__ int64_t tasks(Args const &args) {
        return int64_t(1);
    }

    static __device__ __forceinline__ void main_loop(Args const &args) {
        SyncState sync;
        if (threadIdx.x < 32) {
            ptx::setmaxnreg_dec_sync_aligned_u32<40>();
            for (int64_t task_number = blockIdx.x, task_count = tasks(args); task_number < task_count; task_number += gridDim.x) {
                // for task in cuda_tasks(0, 1):   my_warp_config.py:4
                const int task = int(task_number);
                my_warp_config_device0::task_producer(args, sync, task);
                // The fence at the end of the task orders the next one: barrier.cta.sync.
            }
        }
        else if (threadIdx.x < 128) {
            ptx::setmaxnreg_dec_sync_aligned_u32<40>();
            for (int64_t task_number = blockIdx.x, task_count = tasks(args); task_number < task_count; task_number += gridDim.x) {
                // for task in cuda_tasks(0, 1):   my_warp_config.py:4
                const int task = int(task_number);
                my_warp_config_device0::task_unused(args, sync, task);
                // The fence at the end of the task orders the next one: barrier.cta.sync.
            }
        }
        else {
            ptx::setmaxnreg_inc_sync_aligned_u32<232>();
            for (int64_t task_number = blockIdx.x, task_count = tasks(args); task_number < task_count; task_number += gridDim.x) {
                // for task in cuda_tasks(0, 1):   my_warp_config.py:4
                const int task = int(task_number);
                my_warp_config_device0::task_consumer(args, sync, task);
                // The fence at the end of the task orders the next one: barrier.cta.sync.
            }
        }
    }
};

extern "C" __global__ void __launch_bounds__(384, 1) my_warp_config_device0(const __grid_constant__ my_warp_config_device0_Args args) {
    my_warp_config_device0::main_loop(args);
}
