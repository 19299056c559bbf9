// A handwritten program that launches a kernel of its own and then a generated one.
#include <cstdio>
#include <vector>

#include "polish.cuh"

#include <cuda_runtime.h>

struct Ramp {
    float *x;
    int n;
};

// Fills x with numbers from -4 to 4.
__global__ void ramp(Ramp const to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < to.n) to.x[i] = 8.0f * i / to.n - 4.0f;
}

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t error = (call);                                                                                    \
        if (error != cudaSuccess) {                                                                                    \
            std::printf("%s: %s\n", #call, cudaGetErrorString(error));                                                 \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

int main() {
    int n = 1000;
    float *x = nullptr, *y = nullptr;
    cudaStream_t stream = nullptr;
    CHECK(cudaMalloc(reinterpret_cast<void **>(&x), n * sizeof(float)));
    CHECK(cudaMalloc(reinterpret_cast<void **>(&y), n * sizeof(float)));

    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((n + 127) / 128);
    config.blockDim = dim3(128);
    config.stream = stream;
    CHECK(cudaLaunchKernelEx(&config, ramp, Ramp{x, n}));

    polish_device0_Args args = {};
    args.n = n;
    args.x = x;
    args.y = y;
    CHECK(polish_device0_launch(args, stream));

    std::vector<float> given(n), made(n);
    CHECK(cudaMemcpyAsync(given.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(made.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));

    int wrong = 0;
    for (int i = 0; i < n; i++) {
        float twice = 2.0f * given[i];
        wrong += made[i] != twice / (1.0f + (twice < 0.0f ? -twice : twice));
    }
    std::printf("%d of %d values are wrong\n", wrong, n);
    return wrong != 0;
}
