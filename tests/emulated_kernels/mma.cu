// Products of fragments in registers.
#include "launching.cuh"

struct FragmentArgs {
    int kind, lacking;
    uint32_t const *a, *b;
    float *d;
};

// One product of a warp; operands and accumulators are the fragments of the lanes, one after another.
template <int A, int B>
__device__ __forceinline__ void product(FragmentArgs const &args,
                                        void (*multiply)(float (&)[4], uint32_t const (&)[A], uint32_t const (&)[B], int)) {
    uint32_t a[A], b[B];
    float d[4];
    int const lane = threadIdx.x;
    for (int i = 0; i < A; ++i) a[i] = args.a[lane * A + i];
    for (int i = 0; i < B; ++i) b[i] = args.b[lane * B + i];
    for (int i = 0; i < 4; ++i) d[i] = args.d[lane * 4 + i];
    if (args.lacking && lane == 9) return;
    multiply(d, a, b, __builtin_LINE());
    for (int i = 0; i < 4; ++i) args.d[lane * 4 + i] = d[i];
}
extern "C" __global__ void fragments(const __grid_constant__ FragmentArgs args) {
    switch (args.kind) {
        case 0: return product<2, 1>(args, ptx::mma_sync_aligned_m16n8k4_row_col_f32_tf32_tf32_f32);
        case 1: return product<4, 2>(args, ptx::mma_sync_aligned_m16n8k8_row_col_f32_tf32_tf32_f32);
        case 2: return product<2, 1>(args, ptx::mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32);
        case 3: return product<4, 2>(args, ptx::mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32);
        case 4: return product<2, 1>(args, ptx::mma_sync_aligned_m16n8k8_row_col_f32_bf16_bf16_f32);
        case 5: return product<4, 2>(args, ptx::mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32);
    }
}
extern "C" int run_fragments(int64_t kind, int64_t lacking, uint32_t const *a, uint32_t const *b, float *d) {
    return launched(fragments, {int(kind), int(lacking), a, b, d}, 1, 32, 0);
}

// Four matrices of 8 by 8 through ldmatrix.
struct MatrixArgs {
    int transposed;
    uint16_t const *x;
    uint32_t *y;
};
extern "C" __global__ void matrices(const __grid_constant__ MatrixArgs args) {
    uint16_t *const held = reinterpret_cast<uint16_t *>(soundline_dynamic_shared());
    int const lane = threadIdx.x;
    for (int i = 0; i < 8; ++i) held[lane * 8 + i] = args.x[lane * 8 + i];
    __syncwarp();
    uint32_t r[4];
    if (args.transposed)
        ptx::ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(r, held + lane * 8);
    else
        ptx::ldmatrix_sync_aligned_m8n8_x4_shared_b16(r, held + lane * 8);
    for (int i = 0; i < 4; ++i) args.y[lane * 4 + i] = r[i];
}
extern "C" int run_matrices(int64_t transposed, uint16_t const *x, uint32_t *y) {
    return launched(matrices, {int(transposed), x, y}, 1, 32, 512);
}

// C = A B in tf32: tiles of 64 by 64 by 32, copies two ahead, 256 threads.
struct GemmArgs {
    int without, n;
    float const *a, *b;
    float *c;
};
extern "C" __global__ void __launch_bounds__(256, 1) gemm(const __grid_constant__ GemmArgs args) {
    constexpr int TILE = 64, DEPTH = 32, PAD = 4;
    constexpr int A_PITCH = DEPTH + PAD, B_PITCH = TILE + PAD;
    float *const shared = reinterpret_cast<float *>(soundline_dynamic_shared());
    int const n = args.n, tiles = n / TILE, row0 = blockIdx.x / tiles * TILE, column0 = blockIdx.x % tiles * TILE;
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, number = lane % 4;
    auto const a_at = [&](int slot) { return shared + slot * (TILE * A_PITCH + DEPTH * B_PITCH); };
    auto const b_at = [&](int slot) { return a_at(slot) + TILE * A_PITCH; };
    auto const fetch = [&](int k) {
        for (int i = threadIdx.x; i < TILE * DEPTH / 4; i += 256) {
            int const row = i / (DEPTH / 4), column = i % (DEPTH / 4) * 4;
            ptx::cp_async_cg_shared_global(a_at(k % 2) + row * A_PITCH + column, args.a + (row0 + row) * n + k * DEPTH + column);
        }
        for (int i = threadIdx.x; i < TILE * DEPTH / 4; i += 256) {
            int const row = i / (TILE / 4), column = i % (TILE / 4) * 4;
            ptx::cp_async_cg_shared_global(b_at(k % 2) + row * B_PITCH + column, args.b + (k * DEPTH + row) * n + column0 + column);
        }
        ptx::cp_async_commit_group();
    };
    float d[4][4] = {};
    fetch(0);
    for (int k = 0; k < n / DEPTH; ++k) {
        if (k + 1 < n / DEPTH) fetch(k + 1);
        if (k + 1 < n / DEPTH && args.without != 1)
            ptx::cp_async_wait_group<1>();
        else if (args.without != 1)
            ptx::cp_async_wait_all();
        if (args.without != 2) __syncthreads();
        int const row = warp / 2 * 16, column = warp % 2 * 32;
        for (int step = 0; step < DEPTH / 8; ++step) {
            uint32_t a[4];
            for (int i = 0; i < 4; ++i)
                a[i] = __float_as_uint(a_at(k % 2)[(row + group + 8 * (i % 2)) * A_PITCH + step * 8 + number + 4 * (i / 2)]);
            for (int j = 0; j < 4; ++j) {
                uint32_t b[2];
                for (int i = 0; i < 2; ++i)
                    b[i] = __float_as_uint(b_at(k % 2)[(step * 8 + number + 4 * i) * B_PITCH + column + 8 * j + group]);
                ptx::mma_sync_aligned_m16n8k8_row_col_f32_tf32_tf32_f32(d[j], a, b);
            }
        }
        if (args.without != 3) __syncthreads();
    }
    ptx::cp_async_wait_all();
    for (int j = 0; j < 4; ++j)
        for (int i = 0; i < 4; ++i)
            args.c[(row0 + warp / 2 * 16 + group + 8 * (i / 2)) * n + column0 + warp % 2 * 32 + 8 * j + number * 2 + i % 2] = d[j][i];
}
extern "C" int run_gemm(int64_t without, int64_t n, float const *a, float const *b, float *c) {
    return launched(gemm, {int(without), int(n), a, b, c}, unsigned(n / 64 * (n / 64)), 256, 35840);
}
