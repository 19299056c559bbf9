// soundline_cuda_runtime.cuh: a `struct soundline_device` over the CUDA runtime API, for handwritten .cu files.
//
//     soundline::cuda_runtime runtime;                      // on the current device, in the default stream
//     int code = gemm(runtime.device(), M, N, K, A, B, C);
//     if (code != SOUNDLINE_OK) std::puts(soundline::cuda_runtime::message(code));
//
// The kernels have to be linked to the program, and the file of the CPU part compiled with -DSOUNDLINE_LINKED. Codes are
// those of cudaError_t where the runtime gave one.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include "soundline_host.h"

namespace soundline {

class cuda_runtime {
  public:
    explicit cuda_runtime(cudaStream_t stream = nullptr) : stream_(stream) {
        table_.state = this;
        table_.allocate = allocate;
        table_.release = release;
        table_.copy = copy;
        table_.copy_rows = copy_rows;
        table_.tensor_map = tensor_map;
        table_.launch = launch;
    }
    cuda_runtime(cuda_runtime const &) = delete;
    cuda_runtime &operator=(cuda_runtime const &) = delete;

    soundline_device const *device() const { return &table_; }

    // What a code says that a compiled proc has returned.
    static char const *message(int code) {
        switch (code) {
        case SOUNDLINE_TOO_LARGE: return "a control value does not fit in 32 bits";
        case SOUNDLINE_ASSERTION: return "an assertion of the program is false";
        case SOUNDLINE_OUT_OF_MEMORY: return "the host is out of memory";
        case SOUNDLINE_NEGATIVE_SIZE: return "a size is negative";
        case SOUNDLINE_GAPS: return "a window with gaps is given where a kernel or a tensor map takes none";
        case SOUNDLINE_MISALIGNED: return "an array in global memory does not begin at a multiple of 16 bytes";
        default: return cudaGetErrorString(static_cast<cudaError_t>(code));
        }
    }

  private:
    static cudaStream_t stream_of(void *state) { return static_cast<cuda_runtime *>(state)->stream_; }

    static int allocate(void *state, void **to, size_t bytes) {
        return cudaMallocAsync(to, bytes ? bytes : 1, stream_of(state));
    }

    static int release(void *state, void *at) { return cudaFreeAsync(at, stream_of(state)); }

    static int copy(void *state, void *to, void const *from, size_t bytes, int kind) {
        return finished(state, cudaMemcpyAsync(to, from, bytes, direction(kind), stream_of(state)));
    }

    static int copy_rows(void *state, void *to, size_t to_pitch, void const *from, size_t from_pitch, size_t width,
                         size_t rows, int kind) {
        if (width == 0 || rows == 0) return cudaSuccess;
        if (rows == 1) return copy(state, to, from, width, kind); // what the pitches are is nothing then
        return finished(state, cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, direction(kind),
                                                 stream_of(state)));
    }

    // A copy ends when the host's bytes are read or written.
    static int finished(void *state, cudaError_t error) {
        return error != cudaSuccess ? error : cudaStreamSynchronize(stream_of(state));
    }

    static cudaMemcpyKind direction(int kind) {
        return kind == SOUNDLINE_HOST_TO_DEVICE ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    }

    using Encode = CUresult (*)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, cuuint64_t const *,
                                cuuint64_t const *, cuuint32_t const *, cuuint32_t const *, CUtensorMapInterleave,
                                CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

    // The function of the driver, so that libcuda need not be linked.
    static int encoder(Encode *found) {
        void *entry = nullptr;
        cudaDriverEntryPointQueryResult answer = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
        cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000,
                                                             cudaEnableDefault, &answer);
#else
        cudaError_t error = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &entry, cudaEnableDefault, &answer);
#endif
        if (error != cudaSuccess) return error;
        if (answer != cudaDriverEntryPointSuccess) return cudaErrorNotSupported;
        *found = reinterpret_cast<Encode>(entry);
        return cudaSuccess;
    }

    static int tensor_map(void *, void *map, int type, unsigned rank, void *address, uint64_t const *sizes,
                          uint64_t const *strides_bytes, uint32_t const *box, int swizzle) {
        static Encode encode = nullptr;
        if (encode == nullptr) {
            int code = encoder(&encode);
            if (code != cudaSuccess) return code;
        }
        cuuint64_t extents[5], strides[5];
        cuuint32_t boxes[5], steps[5];
        for (unsigned k = 0; k < rank; k++) {
            extents[k] = sizes[k];
            boxes[k] = box[k];
            steps[k] = 1;
            if (k + 1 < rank) strides[k] = strides_bytes[k];
        }
        CUtensorMapSwizzle pattern = swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                     : swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                     : CU_TENSOR_MAP_SWIZZLE_NONE;
        CUresult result = encode(static_cast<CUtensorMap *>(map), static_cast<CUtensorMapDataType>(type), rank, address,
                                 extents, strides, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, pattern,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
        return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
    }

    static int launch(void *state, soundline_launch const *wanted) {
        if (wanted->function == nullptr) return cudaErrorInvalidDeviceFunction; // compile with -DSOUNDLINE_LINKED
        int ordinal = 0, multiprocessors = 0;
        cudaError_t error = cudaGetDevice(&ordinal);
        if (error != cudaSuccess) return error;
        error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, ordinal);
        if (error != cudaSuccess) return error;
        if (wanted->shared_bytes) {
            error = cudaFuncSetAttribute(wanted->function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(wanted->shared_bytes));
            if (error != cudaSuccess) return error;
        }
        cudaLaunchAttribute cluster = {};
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim.x = wanted->cluster_dim;
        cluster.val.clusterDim.y = 1;
        cluster.val.clusterDim.z = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(static_cast<unsigned>(soundline_grid(wanted, multiprocessors)));
        config.blockDim = dim3(wanted->block_dim);
        config.dynamicSmemBytes = wanted->shared_bytes;
        config.stream = stream_of(state);
        config.attrs = &cluster;
        config.numAttrs = wanted->cluster_dim > 1 ? 1 : 0; // a cluster of one block is slower than none
        void *arguments[] = {const_cast<void *>(wanted->args)};
        return cudaLaunchKernelExC(&config, wanted->function, arguments);
    }

    cudaStream_t stream_;
    soundline_device table_ = {};
};

} // namespace soundline
