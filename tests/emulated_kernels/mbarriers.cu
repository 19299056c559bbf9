// Barriers that lie in memory.
#include "launching.cuh"

struct RingArgs {
    int without;
    float const *x;
    float *y;
};

// Warp 0 hands eight numbers for each lane to warp 1, one after another, through a ring of two.
extern "C" __global__ void hand_over(const __grid_constant__ RingArgs args) {
    int const without = args.without, lane = threadIdx.x % 32;
    uint64_t *const full = barrier_number(0), *const empty = barrier_number(2);
    float *const held = reinterpret_cast<float *>(soundline_dynamic_shared() + 128);
    if (threadIdx.x == 0) {
        for (int k = 0; k < 2; ++k) {
            if (without != 1) ptx::mbarrier_init_shared_b64(full + k, without == 2 ? 2 : 1);
            if (without == 3) ptx::mbarrier_init_shared_b64(full + k, 1);
            ptx::mbarrier_init_shared_b64(empty + k, 1);
        }
    }
    if (without != 4) __syncthreads();
    if (threadIdx.x < 32) {
        for (int i = 0; i < 8; ++i) {
            if (without != 5) wait_for(empty + i % 2, (without == 6 ? 0 : 1) ^ (i / 2 & 1));
            held[i % 2 * 32 + lane] = args.x[i * 32 + lane];
            if (without != 7) __syncwarp();
            if (lane == 0 && without != 8) ptx::mbarrier_arrive_shared_b64(full + i % 2);
            if (lane == 0 && without == 9) ptx::mbarrier_arrive_shared_b64(full + i % 2);
        }
    } else {
        for (int i = 0; i < 8; ++i) {
            if (without != 10) wait_for(full + i % 2, (without == 11 ? 1 : 0) ^ (i / 2 & 1));
            args.y[i * 32 + lane] = 2 * held[i % 2 * 32 + lane];
            if (without != 12) __syncwarp();
            if (lane == 0) ptx::mbarrier_arrive_shared_b64(empty + i % 2);
        }
    }
    __syncthreads();
    if (without == 13) held[-32] = 1;
    if (threadIdx.x == 0) {
        for (int k = 0; k < 4; ++k) ptx::mbarrier_inval_shared_b64(full + k);
        if (without == 14) ptx::mbarrier_arrive_shared_b64(full);
    }
}
extern "C" int run_hand_over(int64_t without, float const *x, float *y) {
    return launched(hand_over, {int(without), x, y}, 1, 64, 1024);
}

// The copies of 32 threads are waited for by others.
extern "C" __global__ void copied(const __grid_constant__ RingArgs args) {
    int const without = args.without, i = threadIdx.x % 32;
    uint64_t *const full = barrier_number(0);
    float *const held = reinterpret_cast<float *>(soundline_dynamic_shared() + 128);
    if (threadIdx.x == 0) ptx::mbarrier_init_shared_b64(full, without == 1 ? 31 : without == 2 ? 33 : 32);
    __syncthreads();
    if (threadIdx.x < 32) {
        ptx::cp_async_ca_shared_global<4>(held + i, args.x + i);
        if (without == 3)
            ptx::mbarrier_arrive_shared_b64(full);
        else
            ptx::cp_async_mbarrier_arrive_noinc_shared_b64(full);
        if (without == 3) ptx::cp_async_wait_all();
    } else {
        wait_for(full, 0);
        args.y[i] = held[31 - i];
    }
}
extern "C" int run_copied(int64_t without, float const *x, float *y) {
    return launched(copied, {int(without), x, y}, 1, 64, 512);
}
