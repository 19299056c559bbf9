// How the tests' kernels are launched. `without` is what a twin lacks; a right kernel lacks nothing, 0.
#pragma once

#include "soundline_device.cuh"
#include "soundline_host.h"

template <class Args>
int launched(void (*kernel)(Args), Args args, unsigned blocks, unsigned threads, unsigned shared, unsigned cluster = 1) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {cluster, 1, 1};
    config.attrs = &attribute;
    config.numAttrs = cluster > 1;
    return cudaLaunchKernelEx(&config, kernel, args);
}

__device__ __forceinline__ uint64_t *barrier_number(int k) {
    return reinterpret_cast<uint64_t *>(soundline_dynamic_shared()) + k;
}
__device__ __forceinline__ void wait_for(uint64_t *bar, unsigned parity, int line = __builtin_LINE()) {
    while (!ptx::mbarrier_try_wait_parity_shared_b64(bar, parity, line)) {}
}
