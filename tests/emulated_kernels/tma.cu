// Copies of boxes between global and shared memory, and bulk copies.
#include "launching.cuh"

#include <cuda.h>

struct BoxArgs {
    int without, columns, rows, swizzle;
    soundline::tensor_map x, y;
    float const *flat;
    float *sums;
};

// y is x, box by box of 32 columns (8, 16 or 32 with a swizzle) and 8 rows: loaded, doubled by threads, stored. Boxes at
// the edges reach beyond; sums are of what was loaded.
extern "C" __global__ void boxes(const __grid_constant__ BoxArgs args) {
    int const without = args.without, width = args.swizzle ? args.swizzle / 4 : 32, i = threadIdx.x;
    uint64_t *const full = barrier_number(0);
    float *const held = reinterpret_cast<float *>(soundline_dynamic_shared() + 1024);
    int const bytes = width * 8 * 4;
    if (i == 0) {
        ptx::mbarrier_init_shared_b64(full, 1);
        if (without != 1) ptx::fence_mbarrier_init_release_cluster();
    }
    __syncthreads();
    float sum = 0;
    unsigned parity = 0;
    for (int row = 0; row < args.rows; row += 8)
        for (int column = 0; column < args.columns; column += width) {
            if (i == 0) {
                ptx::mbarrier_arrive_expect_tx_shared_b64(full, without == 2 ? bytes - 16 : without == 3 ? bytes + 16 : bytes);
                ptx::cp_async_bulk_tensor_2d_shared_cluster_global(held, &args.x, full, column, without == 4 ? row + 8 : row);
            }
            if (without != 5) wait_for(full, parity);
            parity ^= 1;
            for (int k = i; k < width * 8; k += 32) {
                uint32_t at = k * 4;
                int const swizzle = without == 6 ? args.swizzle / 2 : args.swizzle;
                if (swizzle == 128) at ^= at >> 3 & 0x70;
                if (swizzle == 64) at ^= at >> 3 & 0x30;
                if (swizzle == 32) at ^= at >> 3 & 0x10;
                float *const place = held + at / 4;
                sum += float(k % width + 1) * *place;
                *place = 2 * *place + float(k % width);
            }
            if (without != 7) ptx::fence_proxy_async();
            if (without != 8) __syncthreads();
            if (i == 0) {
                ptx::cp_async_bulk_tensor_2d_global_shared_cta(&args.y, column, row, held);
                if (without != 9) ptx::cp_async_bulk_commit_group();
                if (without != 10) ptx::cp_async_bulk_wait_group<0>();
            }
            if (without != 11) __syncthreads();
        }
    args.sums[i] = sum;
}

static int encode(soundline::tensor_map *to, float const *at, int columns, int rows, int width, int swizzle) {
    cuuint64_t const sizes[] = {cuuint64_t(columns), cuuint64_t(rows)}, strides[] = {cuuint64_t(columns) * 4};
    cuuint32_t const box[] = {cuuint32_t(width), 8}, steps[] = {1, 1};
    CUtensorMapSwizzle const mode = swizzle == 128 ? CU_TENSOR_MAP_SWIZZLE_128B
                                    : swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                    : swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                    : CU_TENSOR_MAP_SWIZZLE_NONE;
    return cuTensorMapEncodeTiled(reinterpret_cast<CUtensorMap *>(to), CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2,
                                  const_cast<float *>(at), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, mode,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
extern "C" int run_boxes(int64_t without, int64_t columns, int64_t rows, int64_t swizzle, float const *x, float *y, float *sums) {
    int const width = swizzle ? int(swizzle) / 4 : 32;
    float *on_device, *from_device;
    size_t const bytes = columns * rows * 4;
    cudaMalloc(&on_device, bytes);
    cudaMalloc(&from_device, bytes);
    cudaMemcpy(on_device, x, bytes, cudaMemcpyHostToDevice);
    BoxArgs args = {int(without), int(columns), int(rows), int(swizzle), {}, {}, x, sums};
    int code = encode(&args.x, on_device, int(columns), int(rows), width, int(swizzle));
    if (!code) code = encode(&args.y, from_device, int(columns), int(rows), width, int(swizzle));
    if (!code) code = launched(boxes, args, 1, 32, 5120);
    cudaMemcpy(y, from_device, bytes, cudaMemcpyDeviceToHost);
    return code;
}

// 64 numbers in and out without a map, and added to a box.
struct FlatArgs {
    int without;
    float const *x;
    float *y;
    soundline::tensor_map sums;
};
extern "C" __global__ void flat(const __grid_constant__ FlatArgs args) {
    uint64_t *const full = barrier_number(0);
    float *const held = reinterpret_cast<float *>(soundline_dynamic_shared() + 128);
    if (threadIdx.x == 0) {
        ptx::mbarrier_init_shared_b64(full, 1);
        ptx::fence_proxy_async();
        ptx::mbarrier_arrive_expect_tx_shared_b64(full, 256);
        ptx::cp_async_bulk_shared_cluster_global(held, args.x, args.without == 1 ? 250 : 256, full);
    }
    __syncthreads();
    wait_for(full, 0);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk_global_shared_cta(args.y, held, 256);
        ptx::cp_reduce_async_bulk_tensor_1d_global_shared_cta_add(&args.sums, 0, held);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group<0>();
    }
}
extern "C" int run_flat(int64_t without, float const *x, float *y, float *sums) {
    float *device[3];
    for (float *&each : device) cudaMalloc(&each, 256);
    cudaMemcpy(device[0], x, 256, cudaMemcpyHostToDevice);
    cudaMemcpy(device[2], sums, 256, cudaMemcpyHostToDevice);
    FlatArgs args = {int(without), device[0], device[1], {}};
    cuuint64_t const sizes[] = {64};
    cuuint32_t const box[] = {64}, steps[] = {1};
    cuTensorMapEncodeTiled(reinterpret_cast<CUtensorMap *>(&args.sums), CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 1, device[2], sizes,
                           nullptr, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                           CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    int const code = launched(flat, args, 1, 32, 512);
    cudaMemcpy(y, device[1], 256, cudaMemcpyDeviceToHost);
    cudaMemcpy(sums, device[2], 256, cudaMemcpyDeviceToHost);
    return code;
}

// Threads write an array, which is then loaded as a box; and copies of a thread that reads beyond an array.
struct StagedArgs {
    int without;
    float *x, *y;
    soundline::tensor_map map;
};
extern "C" __global__ void staged(const __grid_constant__ StagedArgs args) {
    int const without = args.without, i = threadIdx.x;
    uint64_t *const full = barrier_number(0);
    float *const held = reinterpret_cast<float *>(soundline_dynamic_shared() + 128);
    if (i == 0) {
        ptx::mbarrier_init_shared_b64(full, without == 3 ? 65 : 1);
        ptx::fence_mbarrier_init_release_cluster();
    }
    args.x[i] += 1;
    if (without != 1) ptx::fence_proxy_async();
    if (without != 2) __syncthreads();
    if (i == 0) {
        ptx::mbarrier_arrive_expect_tx_shared_b64(full, 256);
        ptx::cp_async_bulk_tensor_1d_shared_cluster_global(held, &args.map, full, 0);
    }
    if (without == 3) {
        ptx::cp_async_ca_shared_global<4>(held + 64 + i, args.x + 1024);
        ptx::cp_async_mbarrier_arrive_noinc_shared_b64(full);
    }
    wait_for(full, 0);
    args.y[i] = held[i];
}
extern "C" int run_staged(int64_t without, float const *x, float *y) {
    float *device;
    cudaMalloc(&device, 256);
    cudaMemcpy(device, x, 256, cudaMemcpyHostToDevice);
    StagedArgs args = {int(without), device, y, {}};
    cuuint64_t const sizes[] = {without == 4 ? 65u : 64u};
    cuuint32_t const box[] = {64}, steps[] = {1};
    int const code = cuTensorMapEncodeTiled(reinterpret_cast<CUtensorMap *>(&args.map), CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 1,
                                            device, sizes, nullptr, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                            CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return code ? code : launched(staged, args, 1, 64, 1024);
}
