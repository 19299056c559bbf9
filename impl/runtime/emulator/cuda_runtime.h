// cuda_runtime.h: the part of CUDA's runtime and of its C++ that emitted and handwritten programs use.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "soundline_emulator.h"

#define SOUNDLINE_EMULATED 1
#define __global__
#undef __device__
#define __device__
#define __host__
#define __constant__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)

using soundline_emulator::blockDim;
using soundline_emulator::blockIdx;
using soundline_emulator::gridDim;
using soundline_emulator::threadIdx;

inline void __syncthreads(int line = __builtin_LINE()) { soundline_emulator::block_barrier(0, 0, line); }
inline void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE()) {
    soundline_emulator::warp_barrier(mask, line);
}
inline void __threadfence() {}
inline void __threadfence_block() {}

// Arithmetic that rounds once; the program is compiled without contraction.
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
template <class To, class From>
inline To soundline_bits_as(From x) {
    To y;
    memcpy(&y, &x, sizeof y);
    return y;
}
inline unsigned __float_as_uint(float x) { return soundline_bits_as<unsigned>(x); }
inline int __float_as_int(float x) { return soundline_bits_as<int>(x); }
inline float __uint_as_float(unsigned x) { return soundline_bits_as<float>(x); }
inline float __int_as_float(int x) { return soundline_bits_as<float>(x); }
inline long long __double_as_longlong(double x) { return soundline_bits_as<long long>(x); }
inline double __longlong_as_double(long long x) { return soundline_bits_as<double>(x); }
template <class T>
inline T min(T x, T y) {
    return y < x ? y : x;
}
template <class T>
inline T max(T x, T y) {
    return x < y ? y : x;
}
template <class T>
inline T atomicAdd(T *at, T value) {
    T const old = *at;
    *at = T(old + value);
    return old;
}

// The runtime --------------------------------------------------------------------------------------------------------

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorLaunchFailure = 719,
    cudaErrorNotSupported = 801
};
typedef struct soundline_emulated_stream *cudaStream_t;
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice,
                      cudaMemcpyDefault };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
                         cudaFuncAttributePreferredSharedMemoryCarveout = 9,
                         cudaFuncAttributeNonPortableClusterSizeAllowed = 14 };
enum cudaDeviceAttr { cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrWarpSize = 10, cudaDevAttrMultiProcessorCount = 16,
                      cudaDevAttrComputeCapabilityMajor = 75, cudaDevAttrComputeCapabilityMinor = 76,
                      cudaDevAttrMaxSharedMemoryPerBlockOptin = 97 };
enum cudaLaunchAttributeID { cudaLaunchAttributeIgnore = 0, cudaLaunchAttributeClusterDimension = 4 };
union cudaLaunchAttributeValue {
    struct { unsigned x, y, z; } clusterDim;
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};

namespace soundline_emulator {

// The parameters of a kernel, one after another, as a list whose first element is called with those before it.
template <class... A>
struct Parameters {
    template <class F, class... B>
    static void call(F function, Parameters const &, B const &...before) {
        function(before...);
    }
};
template <class A, class... Rest>
struct Parameters<A, Rest...> {
    A first;
    Parameters<Rest...> rest;
    template <class F, class... B>
    static void call(F function, Parameters const &all, B const &...before) {
        Parameters<Rest...>::call(function, all.rest, before..., all.first);
    }
};
template <class... A>
void invoke_all(void const *function, void const *args) {
    Parameters<A...>::call(reinterpret_cast<void (*)(A...)>(const_cast<void *>(function)),
                           *static_cast<Parameters<A...> const *>(args));
}
template <class T>
struct Same {
    using type = T;
};
inline Parameters<> parameters() { return {}; }
template <class A, class... Rest>
Parameters<A, Rest...> parameters(A const &first, Rest const &...rest) {
    return {first, parameters(rest...)};
}

}  // namespace soundline_emulator

inline unsigned soundline_cluster_of(cudaLaunchConfig_t const *config) {
    for (unsigned i = 0; i < config->numAttrs; ++i)
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension) return config->attrs[i].val.clusterDim.x;
    return 1;
}
template <class... A>
inline cudaError_t cudaLaunchKernelEx(cudaLaunchConfig_t const *config, void (*kernel)(A...),
                                      typename soundline_emulator::Same<A>::type... args) {
    soundline_emulator::Parameters<A...> const all = soundline_emulator::parameters(args...);
    return cudaError_t(soundline_emulator::launch({"kernel", &soundline_emulator::invoke_all<A...>,
                                                   reinterpret_cast<void const *>(kernel), &all, config->gridDim,
                                                   config->blockDim, soundline_cluster_of(config),
                                                   config->dynamicSmemBytes}));
}

// A kernel of one parameter, by its address.
inline cudaError_t cudaLaunchKernelExC(cudaLaunchConfig_t const *config, void const *kernel, void **args) {
    return cudaError_t(soundline_emulator::launch_registered(kernel, args[0], config->gridDim, config->blockDim,
                                                             soundline_cluster_of(config), config->dynamicSmemBytes));
}
inline cudaError_t cudaFuncSetAttribute(void const *, cudaFuncAttribute, int) { return cudaSuccess; }
template <class F>
inline cudaError_t cudaFuncSetAttribute(F *, cudaFuncAttribute, int) {
    return cudaSuccess;
}
template <class T>
inline cudaError_t cudaMalloc(T **to, size_t bytes) {
    void *at = nullptr;
    cudaError_t const error = cudaError_t(soundline_emulator::allocate(&at, bytes));
    *to = static_cast<T *>(at);
    return error;
}
inline cudaError_t cudaFree(void *at) { return cudaError_t(soundline_emulator::release(at)); }
template <class T>
inline cudaError_t cudaMallocAsync(T **to, size_t bytes, cudaStream_t) {
    return cudaMalloc(to, bytes);
}
inline cudaError_t cudaFreeAsync(void *at, cudaStream_t) { return cudaFree(at); }
inline cudaError_t cudaMemcpy(void *to, void const *from, size_t bytes, cudaMemcpyKind) {
    if (bytes) memcpy(to, from, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void *to, void const *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t = 0) {
    return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, void const *from, size_t from_pitch, size_t width,
                                     size_t rows, cudaMemcpyKind kind, cudaStream_t = 0) {
    for (size_t row = 0; row < rows; ++row)
        cudaMemcpy(static_cast<char *>(to) + row * to_pitch, static_cast<char const *>(from) + row * from_pitch, width,
                   kind);
    return cudaSuccess;
}
inline cudaError_t cudaMemset(void *at, int value, size_t bytes) {
    memset(at, value, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    *stream = nullptr;
    return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cudaError_t(soundline_emulator::attribute(0)); }
inline cudaError_t cudaGetLastError() { return cudaError_t(soundline_emulator::attribute(0)); }
inline cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int) {
    *value = soundline_emulator::attribute(which);
    return cudaSuccess;
}
inline char const *cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaSuccess: return "no error";
        case cudaErrorInvalidValue: return "invalid argument";
        case cudaErrorMemoryAllocation: return "out of memory";
        case cudaErrorInvalidDeviceFunction: return "invalid device function";
        case cudaErrorNotSupported: return "operation not supported";
        case cudaErrorLaunchFailure: return "unspecified launch failure";
    }
    return "unrecognized error code";
}
inline char const *cudaGetErrorName(cudaError_t error) { return cudaGetErrorString(error); }

// Functions of the driver, which has one of those that are asked for.
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess = 0, cudaDriverEntryPointSymbolNotFound = 1 };
constexpr unsigned long long cudaEnableDefault = 0;
#define CUDART_VERSION 13000
