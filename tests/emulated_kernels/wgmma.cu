// Products of warpgroups, whose operands lie where descriptors say.
#include "launching.cuh"

struct ProductArgs {
    int without, swizzle, transposed;
    uint16_t const *a, *b;  // bf16: A 64 by 64, B 64 by 64 (N by K, or K by N where it is transposed)
    float *d;               // 64 by 64
};

template <int SWIZZLE, int TRANSPOSED>
__device__ __forceinline__ void product(ProductArgs const &args) {
    constexpr int N = 64, K = 64, WIDTH = SWIZZLE ? SWIZZLE : 16;
    int const without = args.without, i = threadIdx.x;
    unsigned char *const a = soundline_dynamic_shared(), *const b = a + 8192;
    // Columns of WIDTH bytes, one after another, each of 64 rows; chunks of 16 bytes are moved by the swizzle.
    auto const place = [](int row, int byte) {
        uint32_t at = byte / WIDTH * 64 * WIDTH + row * WIDTH + byte % WIDTH;
        if (SWIZZLE == 128) at ^= at >> 3 & 0x70;
        if (SWIZZLE == 64) at ^= at >> 3 & 0x30;
        if (SWIZZLE == 32) at ^= at >> 3 & 0x10;
        return at;
    };
    for (int k = i; k < 64 * 64; k += 128) {
        *reinterpret_cast<uint16_t *>(a + place(k / 64, k % 64 * 2)) = args.a[k];
        *reinterpret_cast<uint16_t *>(b + place(k / 64, k % 64 * 2)) = args.b[k];
    }
    if (without != 1) ptx::fence_proxy_async();
    if (without != 2) __syncthreads();
    float d[N / 2];
    for (int k = 0; k < N / 2; ++k) d[k] = 1;
    if (without != 3) ptx::wgmma_fence_sync_aligned();
    if (without == 4) d[3] = 2;
    auto const descriptor = [&](unsigned char *from, unsigned leading, unsigned stride, int mode) {
        return uint64_t(ptx::cvta_to_shared_u32(from) >> 4) | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 |
               uint64_t(mode == 128 ? 1 : mode == 64 ? 2 : mode == 32 ? 3 : 0) << 62;
    };
    constexpr unsigned COLUMN = 64 * WIDTH;  // bytes from one column to the next
    for (int step = 0; step < K / 16; ++step) {
        int const mode = without == 5 ? (SWIZZLE == 128 ? 64 : 128) : SWIZZLE;
        uint64_t const left = descriptor(a + step * 32 / WIDTH * COLUMN + step * 32 % WIDTH, COLUMN,
                                         without == 6 ? 4 * WIDTH : 8 * WIDTH, mode);
        uint64_t right;
        if (!TRANSPOSED)
            right = descriptor(b + step * 32 / WIDTH * COLUMN + step * 32 % WIDTH, without == 7 ? 0 : COLUMN, 8 * WIDTH, SWIZZLE);
        else if (SWIZZLE)
            right = descriptor(b + step * 16 * WIDTH, without == 7 ? 0 : COLUMN, 8 * WIDTH, SWIZZLE);
        else
            right = descriptor(b + step * 16 * WIDTH, 8 * WIDTH, without == 7 ? 0 : COLUMN, SWIZZLE);
        ptx::wgmma_mma_async_sync_aligned_m64k16_f32_bf16_bf16<N, TRANSPOSED>(d, left, right, without == 8 || step > 0);
        if (without == 9) d[0] += 1;
    }
    if (without != 10) ptx::wgmma_commit_group_sync_aligned();
    if (without == 11 || without == 14) {
        for (int k = 0; k < 8; ++k) reinterpret_cast<uint16_t *>(b)[k] = 0x4120;
        if (without == 14) ptx::fence_proxy_async();
    }
    if (without == 12)
        ptx::wgmma_wait_group_sync_aligned<1>();
    else if (without != 13)
        ptx::wgmma_wait_group_sync_aligned<0>();
    int const warp = i / 32, group = i % 32 / 4, number = i % 4;
    for (int k = 0; k < N / 2; ++k)
        args.d[(16 * warp + group + 8 * (k / 2 % 2)) * N + k / 4 * 8 + number * 2 + k % 2] = d[k];
    ptx::wgmma_wait_group_sync_aligned<0>();
}
extern "C" __global__ void products(const __grid_constant__ ProductArgs args) {
    switch (args.swizzle + args.transposed) {
        case 0: return product<0, 0>(args);
        case 1: return product<0, 1>(args);
        case 32: return product<32, 0>(args);
        case 33: return product<32, 1>(args);
        case 64: return product<64, 0>(args);
        case 65: return product<64, 1>(args);
        case 128: return product<128, 0>(args);
        case 129: return product<128, 1>(args);
    }
}
extern "C" int run_products(int64_t without, int64_t swizzle, int64_t transposed, uint16_t const *a, uint16_t const *b, float *d) {
    return launched(products, {int(without), int(swizzle), int(transposed), a, b, d}, 1, 128, 16384);
}

// tf32, 64 by 16 by 8: A in registers, or in shared memory.
struct WordArgs {
    int without, in_registers;
    float const *a, *b;
    float *d;
};
extern "C" __global__ void words(const __grid_constant__ WordArgs args) {
    int const i = threadIdx.x, warp = i / 32, group = i % 32 / 4, number = i % 4;
    float *const a = reinterpret_cast<float *>(soundline_dynamic_shared()), *const b = a + 512;
    // Without a swizzle: core matrices of 8 rows of 4 words; those of a row of them lie 128 bytes apart.
    auto const place = [](int row, int k) { return row / 8 * 64 + k / 4 * 32 + row % 8 * 4 + k % 4; };
    for (int k = i; k < 512; k += 128) a[place(k / 8, k % 8)] = args.a[k];
    b[place(i / 8, i % 8)] = args.b[i];
    ptx::fence_proxy_async();
    __syncthreads();
    float d[8] = {};
    uint32_t left[4];
    auto const load = [&] {
        for (int k = 0; k < 4; ++k)
            left[k] = __float_as_uint(args.a[(16 * warp + group + 8 * (k % 2)) * 8 + number + 4 * (k / 2)]);
    };
    if (args.without != 1) load();
    ptx::wgmma_fence_sync_aligned();
    if (args.without == 1) load();
    auto const descriptor = [](float *from) {
        return uint64_t(ptx::cvta_to_shared_u32(from) >> 4) | uint64_t(128 >> 4) << 16 | uint64_t(256 >> 4) << 32;
    };
    if (args.in_registers)
        ptx::wgmma_mma_async_sync_aligned_m64k8_f32_tf32_tf32<16>(d, left, descriptor(b), 1);
    else
        ptx::wgmma_mma_async_sync_aligned_m64k8_f32_tf32_tf32<16>(d, descriptor(a), descriptor(args.without == 2 && warp == 3 ? a : b), 1);
    ptx::wgmma_commit_group_sync_aligned();
    ptx::wgmma_wait_group_sync_aligned<0>();
    for (int k = 0; k < 8; ++k)
        args.d[(16 * warp + group + 8 * (k / 2 % 2)) * 16 + k / 4 * 8 + number * 2 + k % 2] = d[k];
}
extern "C" int run_words(int64_t without, int64_t in_registers, float const *a, float const *b, float *d) {
    return launched(words, {int(without), int(in_registers), a, b, d}, 1, 128, 4096);
}
