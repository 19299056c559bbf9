// Barriers of blocks and warps, and groups of asynchronous copies.
#include "launching.cuh"

struct BlockArgs {
    int without;
    float const *x;
    float *y;
};

// y is x from behind.
extern "C" __global__ void reverse(const __grid_constant__ BlockArgs args) {
    float *const held = reinterpret_cast<float *>(soundline_dynamic_shared());
    int const i = threadIdx.x;
    held[i] = args.x[i];
    if (args.without == 2 && i >= 64) return;
    if (args.without != 1) __syncthreads();
    args.y[i] = held[127 - i];
}
extern "C" int run_reverse(int64_t without, float const *x, float *y) {
    return launched(reverse, {int(without), x, y}, 1, 128, 512);
}

// Each pair of warps reverses its own 64 numbers, with a barrier of its own.
extern "C" __global__ void pairs(const __grid_constant__ BlockArgs args) {
    float *const held = reinterpret_cast<float *>(soundline_dynamic_shared());
    int const i = threadIdx.x, pair = i / 64;
    held[i] = args.x[i];
    int const threads = args.without == 1 && i / 32 == 1 ? 128 : 64;
    if (args.without == 2)
        ptx::barrier_cta_sync(1, 96);
    else if (args.without == 3)
        ptx::barrier_cta_sync(1 + pair, 40);
    else if (args.without == 4)
        ptx::barrier_cta_sync(16, 64);
    else
        ptx::barrier_cta_sync(1 + pair, threads);
    args.y[i] = held[64 * pair + 63 - i % 64];
}
extern "C" int run_pairs(int64_t without, float const *x, float *y) {
    return launched(pairs, {int(without), x, y}, 1, 128, 512);
}

// Within a warp.
extern "C" __global__ void lanes(const __grid_constant__ BlockArgs args) {
    float *const held = reinterpret_cast<float *>(soundline_dynamic_shared());
    int const i = threadIdx.x;
    held[i] = args.x[i];
    if (args.without != 1) __syncwarp();
    float const other = held[i ^ 31];
    unsigned const bits = __float_as_uint(other);
    unsigned taken = bits;
    if (args.without != 2 || i % 32 != 7) taken = ptx::shfl_sync_bfly_b32(0xffffffff, bits, 1);
    args.y[i] = __uint_as_float(taken);
}
extern "C" int run_lanes(int64_t without, float const *x, float *y) {
    return launched(lanes, {int(without), x, y}, 1, 64, 256);
}

// Two groups of copies; the older one is used while the younger is on its way.
extern "C" __global__ void groups(const __grid_constant__ BlockArgs args) {
    float *const held = reinterpret_cast<float *>(soundline_dynamic_shared());
    int const i = threadIdx.x;
    for (int k = 0; k < 2; ++k) {
        ptx::cp_async_cg_shared_global(held + 128 * k + 4 * i, args.x + 128 * k + 4 * i);
        if (args.without != 1) ptx::cp_async_commit_group();
    }
    float sum = 0;
    if (args.without == 2) {
        ptx::cp_async_wait_group<2>();
    } else {
        ptx::cp_async_wait_group<1>();
    }
    if (args.without != 3) __syncthreads();
    for (int k = 0; k < 4; ++k) sum += held[4 * (31 - i) + k];
    ptx::cp_async_wait_all();
    __syncthreads();
    for (int k = 0; k < 4; ++k) sum += held[128 + 4 * (31 - i) + k];
    if (args.without == 4) ptx::cp_async_ca_shared_global<4>(held, args.x);
    args.y[i] = sum;
}
extern "C" int run_groups(int64_t without, float const *x, float *y) {
    return launched(groups, {int(without), x, y}, 1, 32, 1024);
}

__attribute__((noinline)) float much_stack(int i) {
    char volatile large[200000];
    large[i] = 1;
    return large[i];
}

// What it does to memory or arithmetic is not allowed.
extern "C" __global__ void faults(const __grid_constant__ BlockArgs args) {
    int const i = threadIdx.x;
    __syncthreads();
    float value = args.x[i];
    if (args.without == 1 && i == 5) value = args.x[64];
    if (args.without == 2 && i == 5) soundline_dynamic_shared()[1024] = 1;
    int volatile divisor = args.without == 3 && i == 5 ? 0 : 1;
    value += float(int(value) / divisor) - float(int(value));
    if (args.without == 4 && i == 5) ptx::cp_async_cg_shared_global(soundline_dynamic_shared() + 4, args.x);
    if (args.without == 5 && i == 5) ptx::cp_async_cg_shared_global(soundline_dynamic_shared() + 512, args.x);
    if (args.without == 6 && i == 5) value += much_stack(i);
    args.y[i] = value;
}
extern "C" int run_faults(int64_t without, float const *x, float *y) {
    float *on_device, *from_device;
    cudaMalloc(&on_device, 128);
    cudaMalloc(&from_device, 128);
    cudaMemcpy(on_device, x, 128, cudaMemcpyHostToDevice);
    int const code = launched(faults, {int(without), on_device, from_device}, 1, 32, 512);
    cudaMemcpy(y, from_device, 128, cudaMemcpyDeviceToHost);
    cudaFree(on_device);
    cudaFree(from_device);
    return code;
}

// Each block writes where it is in the grid; blocks are two-dimensional, and there are two parameters.
extern "C" __global__ void places(int *y, int scale) {
    int const thread = threadIdx.y * blockDim.x + threadIdx.x;
    y[blockIdx.x * blockDim.x * blockDim.y + thread] = scale * int(gridDim.x) + thread;
}
extern "C" int run_places(int *y) {
    cudaLaunchConfig_t config = {};
    config.gridDim = 3;
    config.blockDim = dim3(8, 4);
    return cudaLaunchKernelEx(&config, places, y, 100);
}

// Two warpgroups divide the registers of the block.
extern "C" __global__ void registers(const __grid_constant__ BlockArgs args) {
    int const i = threadIdx.x;
    if (i < 128) {
        if (args.without == 3 && i < 32)
            ptx::setmaxnreg_dec_sync_aligned_u32<24>();
        else if (args.without != 1)
            ptx::setmaxnreg_dec_sync_aligned_u32<40>();
    } else if (args.without == 2) {
        ptx::setmaxnreg_inc_sync_aligned_u32<240>();
    } else {
        ptx::setmaxnreg_inc_sync_aligned_u32<232>();
    }
    args.y[i] = args.x[i];
}
extern "C" int run_registers(int64_t without, float const *x, float *y) {
    return launched(registers, {int(without), x, y}, 1, 384, 0);
}
