// soundline_ptx.cuh: the emulated twin of the header of PTX.
//
// Each function has the name, the parameters and the meaning of the one in the header that GPUs are given; the last
// parameter is the line of the caller, which reports name.
#pragma once

#include <stdint.h>
#include <string.h>

#include "interface.h"

#ifndef __device__
#define __device__
#endif
#define SOUNDLINE_TWIN inline
#define SOUNDLINE_LINE int line = __builtin_LINE()

namespace soundline {
struct tensor_map;
}

SOUNDLINE_TWIN unsigned char *soundline_dynamic_shared() { return soundline_emulator::dynamic_shared(); }

namespace ptx {

namespace emulator = soundline_emulator;

// Blocks and clusters ----------------------------------------------------------------------------------------------

SOUNDLINE_TWIN uint32_t cvta_to_shared_u32(void const *at, SOUNDLINE_LINE) {
    return emulator::shared_address(at, line);
}
SOUNDLINE_TWIN uint64_t cvta_to_global_u64(void const *at) { return reinterpret_cast<uintptr_t>(at); }
SOUNDLINE_TWIN uint32_t mapa_shared_cluster_u32(void const *at, uint32_t cta, SOUNDLINE_LINE) {
    return emulator::cluster_address(at, cta, line);
}
// Registers are memory that the compiler knows others to reach; nothing more is needed.
template <int COUNT>
SOUNDLINE_TWIN void fence_registers(float (&)[COUNT]) {
    asm volatile("" ::: "memory");
}
template <int TILES, int COUNT>
SOUNDLINE_TWIN void fence_registers(float (&)[TILES][COUNT]) {
    asm volatile("" ::: "memory");
}
SOUNDLINE_TWIN uint32_t cluster_ctarank() { return emulator::cluster_rank(); }
SOUNDLINE_TWIN void barrier_cta_sync(int id, int threads = 0, SOUNDLINE_LINE) {
    emulator::block_barrier(id, threads, line);
}
SOUNDLINE_TWIN void barrier_cluster_arrive(SOUNDLINE_LINE) { emulator::cluster_barrier_arrive(line); }
SOUNDLINE_TWIN void barrier_cluster_wait(SOUNDLINE_LINE) { emulator::cluster_barrier_wait(line); }
SOUNDLINE_TWIN void fence_proxy_async(SOUNDLINE_LINE) { emulator::proxy_fence(line); }
SOUNDLINE_TWIN void fence_mbarrier_init_release_cluster(SOUNDLINE_LINE) { emulator::mbarrier_init_fence(line); }
SOUNDLINE_TWIN bool elect_sync(SOUNDLINE_LINE) { return emulator::elect(line); }
template <int R>
SOUNDLINE_TWIN void setmaxnreg_inc_sync_aligned_u32(SOUNDLINE_LINE) {
    static_assert(R >= 24 && R <= 256 && R % 8 == 0, "setmaxnreg takes a multiple of 8 from 24 to 256");
    emulator::set_registers(R, true, line);
}
template <int R>
SOUNDLINE_TWIN void setmaxnreg_dec_sync_aligned_u32(SOUNDLINE_LINE) {
    static_assert(R >= 24 && R <= 256 && R % 8 == 0, "setmaxnreg takes a multiple of 8 from 24 to 256");
    emulator::set_registers(R, false, line);
}

// cp.async ---------------------------------------------------------------------------------------------------------

template <int BYTES>
SOUNDLINE_TWIN void cp_async_ca_shared_global(void *dst, void const *src, SOUNDLINE_LINE) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
    emulator::copy_async(dst, src, BYTES, line);
}
SOUNDLINE_TWIN void cp_async_cg_shared_global(void *dst, void const *src, SOUNDLINE_LINE) {
    emulator::copy_async(dst, src, 16, line);
}
SOUNDLINE_TWIN void cp_async_commit_group(SOUNDLINE_LINE) { emulator::copy_commit(line); }
template <int N>
SOUNDLINE_TWIN void cp_async_wait_group(SOUNDLINE_LINE) {
    emulator::copy_wait(N, line);
}
SOUNDLINE_TWIN void cp_async_wait_all(SOUNDLINE_LINE) { emulator::copy_wait(-1, line); }
SOUNDLINE_TWIN void cp_async_mbarrier_arrive_noinc_shared_b64(uint64_t *bar, SOUNDLINE_LINE) {
    emulator::copy_arrive(bar, line);
}

// mbarriers --------------------------------------------------------------------------------------------------------

SOUNDLINE_TWIN void mbarrier_init_shared_b64(uint64_t *bar, uint32_t count, SOUNDLINE_LINE) {
    emulator::mbarrier_init(bar, count, line);
}
SOUNDLINE_TWIN void mbarrier_inval_shared_b64(uint64_t *bar, SOUNDLINE_LINE) { emulator::mbarrier_inval(bar, line); }
SOUNDLINE_TWIN void mbarrier_arrive_shared_b64(uint64_t *bar, SOUNDLINE_LINE) {
    emulator::mbarrier_arrive(bar, -1, -1, line);
}
SOUNDLINE_TWIN void mbarrier_arrive_release_cluster_shared_cluster_b64(uint64_t *bar, uint32_t cta, SOUNDLINE_LINE) {
    emulator::mbarrier_arrive(bar, int(cta), -1, line);
}
SOUNDLINE_TWIN void mbarrier_arrive_expect_tx_shared_b64(uint64_t *bar, uint32_t bytes, SOUNDLINE_LINE) {
    emulator::mbarrier_arrive(bar, -1, bytes, line);
}
SOUNDLINE_TWIN void mbarrier_arrive_expect_tx_release_cluster_shared_cluster_b64(uint64_t *bar, uint32_t cta,
                                                                                uint32_t bytes, SOUNDLINE_LINE) {
    emulator::mbarrier_arrive(bar, int(cta), bytes, line);
}
SOUNDLINE_TWIN bool mbarrier_try_wait_parity_shared_b64(uint64_t *bar, uint32_t parity, SOUNDLINE_LINE) {
    return emulator::mbarrier_wait(bar, parity, line);
}
SOUNDLINE_TWIN bool mbarrier_try_wait_parity_acquire_cluster_shared_b64(uint64_t *bar, uint32_t parity,
                                                                       SOUNDLINE_LINE) {
    return emulator::mbarrier_wait(bar, parity, line);
}
SOUNDLINE_TWIN bool mbarrier_test_wait_parity_shared_b64(uint64_t *bar, uint32_t parity, SOUNDLINE_LINE) {
    return emulator::mbarrier_wait(bar, parity, line);
}

// Bulk copies ------------------------------------------------------------------------------------------------------

SOUNDLINE_TWIN void cp_async_bulk_shared_cluster_global(void *dst, void const *src, uint32_t bytes, uint64_t *bar,
                                                       SOUNDLINE_LINE) {
    emulator::bulk_load(dst, src, bytes, bar, line);
}
SOUNDLINE_TWIN void cp_async_bulk_global_shared_cta(void *dst, void const *src, uint32_t bytes, SOUNDLINE_LINE) {
    emulator::bulk_store(dst, src, bytes, line);
}
SOUNDLINE_TWIN void cp_async_bulk_commit_group(SOUNDLINE_LINE) { emulator::bulk_commit(line); }
template <int N>
SOUNDLINE_TWIN void cp_async_bulk_wait_group(SOUNDLINE_LINE) {
    emulator::bulk_wait(N, line);
}

// Tensor copies: one set of functions for each rank.
#define SOUNDLINE_TENSOR_COPIES(RANK, PARAMETERS, STARTS)                                                              \
    SOUNDLINE_TWIN void cp_async_bulk_tensor_##RANK##d_shared_cluster_global(                                          \
        void *dst, soundline::tensor_map const *map, uint64_t *bar, PARAMETERS, SOUNDLINE_LINE) {                      \
        int const starts[] = {STARTS};                                                                                 \
        emulator::tensor_load(RANK, dst, map, bar, starts, -1, line);                                                  \
    }                                                                                                                  \
    SOUNDLINE_TWIN void cp_async_bulk_tensor_##RANK##d_shared_cluster_global_multicast_cluster(                        \
        void *dst, soundline::tensor_map const *map, uint64_t *bar, uint16_t ctas, PARAMETERS, SOUNDLINE_LINE) {       \
        int const starts[] = {STARTS};                                                                                 \
        emulator::tensor_load(RANK, dst, map, bar, starts, ctas, line);                                                \
    }                                                                                                                  \
    SOUNDLINE_TWIN void cp_async_bulk_tensor_##RANK##d_global_shared_cta(                                              \
        soundline::tensor_map const *map, PARAMETERS, void const *src, SOUNDLINE_LINE) {                               \
        int const starts[] = {STARTS};                                                                                 \
        emulator::tensor_store(RANK, map, starts, src, false, line);                                                   \
    }                                                                                                                  \
    SOUNDLINE_TWIN void cp_reduce_async_bulk_tensor_##RANK##d_global_shared_cta_add(                                   \
        soundline::tensor_map const *map, PARAMETERS, void const *src, SOUNDLINE_LINE) {                               \
        int const starts[] = {STARTS};                                                                                 \
        emulator::tensor_store(RANK, map, starts, src, true, line);                                                    \
    }
#define SOUNDLINE_LIST(...) __VA_ARGS__
SOUNDLINE_TENSOR_COPIES(1, int c0, c0)
SOUNDLINE_TENSOR_COPIES(2, SOUNDLINE_LIST(int c0, int c1), SOUNDLINE_LIST(c0, c1))
SOUNDLINE_TENSOR_COPIES(3, SOUNDLINE_LIST(int c0, int c1, int c2), SOUNDLINE_LIST(c0, c1, c2))
SOUNDLINE_TENSOR_COPIES(4, SOUNDLINE_LIST(int c0, int c1, int c2, int c3), SOUNDLINE_LIST(c0, c1, c2, c3))
SOUNDLINE_TENSOR_COPIES(5, SOUNDLINE_LIST(int c0, int c1, int c2, int c3, int c4),
                        SOUNDLINE_LIST(c0, c1, c2, c3, c4))
#undef SOUNDLINE_LIST
#undef SOUNDLINE_TENSOR_COPIES

// Warps ------------------------------------------------------------------------------------------------------------

#define SOUNDLINE_LOAD_MATRICES(COUNT)                                                                                 \
    SOUNDLINE_TWIN void ldmatrix_sync_aligned_m8n8_x##COUNT##_shared_b16(uint32_t (&r)[COUNT], void const *row,        \
                                                                        SOUNDLINE_LINE) {                             \
        emulator::load_matrices(COUNT, false, r, row, line);                                                           \
    }                                                                                                                  \
    SOUNDLINE_TWIN void ldmatrix_sync_aligned_m8n8_x##COUNT##_trans_shared_b16(uint32_t (&r)[COUNT], void const *row,  \
                                                                              SOUNDLINE_LINE) {                       \
        emulator::load_matrices(COUNT, true, r, row, line);                                                            \
    }
SOUNDLINE_LOAD_MATRICES(1)
SOUNDLINE_LOAD_MATRICES(2)
SOUNDLINE_LOAD_MATRICES(4)
#undef SOUNDLINE_LOAD_MATRICES

#define SOUNDLINE_MULTIPLY(K, KIND, TYPE, A, B)                                                                        \
    SOUNDLINE_TWIN void mma_sync_aligned_m16n8k##K##_row_col_f32_##KIND##_##KIND##_f32(                                \
        float (&d)[4], uint32_t const (&a)[A], uint32_t const (&b)[B], SOUNDLINE_LINE) {                               \
        emulator::multiply(emulator::TYPE, K, d, a, b, line);                                                          \
    }
SOUNDLINE_MULTIPLY(4, tf32, TF32, 2, 1)
SOUNDLINE_MULTIPLY(8, tf32, TF32, 4, 2)
SOUNDLINE_MULTIPLY(8, f16, F16, 2, 1)
SOUNDLINE_MULTIPLY(16, f16, F16, 4, 2)
SOUNDLINE_MULTIPLY(8, bf16, BF16, 2, 1)
SOUNDLINE_MULTIPLY(16, bf16, BF16, 4, 2)
#undef SOUNDLINE_MULTIPLY

SOUNDLINE_TWIN uint32_t shfl_sync_idx_b32(uint32_t mask, uint32_t value, uint32_t lane, SOUNDLINE_LINE) {
    return emulator::shuffle(emulator::IDX, mask, value, lane, line);
}
SOUNDLINE_TWIN uint32_t shfl_sync_bfly_b32(uint32_t mask, uint32_t value, uint32_t lane, SOUNDLINE_LINE) {
    return emulator::shuffle(emulator::BFLY, mask, value, lane, line);
}
SOUNDLINE_TWIN uint32_t shfl_sync_up_b32(uint32_t mask, uint32_t value, uint32_t lane, SOUNDLINE_LINE) {
    return emulator::shuffle(emulator::UP, mask, value, lane, line);
}
SOUNDLINE_TWIN uint32_t shfl_sync_down_b32(uint32_t mask, uint32_t value, uint32_t lane, SOUNDLINE_LINE) {
    return emulator::shuffle(emulator::DOWN, mask, value, lane, line);
}

// wgmma ------------------------------------------------------------------------------------------------------------

SOUNDLINE_TWIN void wgmma_fence_sync_aligned(SOUNDLINE_LINE) { emulator::wgmma_fence(line); }
SOUNDLINE_TWIN void wgmma_commit_group_sync_aligned(SOUNDLINE_LINE) { emulator::wgmma_commit(line); }
template <int N>
SOUNDLINE_TWIN void wgmma_wait_group_sync_aligned(SOUNDLINE_LINE) {
    emulator::wgmma_wait(N, line);
}
template <int N>
SOUNDLINE_TWIN void wgmma_mma_async_sync_aligned_m64k8_f32_tf32_tf32(float (&d)[N / 2], uint64_t a, uint64_t b,
                                                                    int scale_d, SOUNDLINE_LINE) {
    static_assert(N >= 8 && N <= 256 && N % 8 == 0, "N is a multiple of 8 from 8 to 256");
    emulator::wgmma_multiply({emulator::TF32, N, false, scale_d, d, nullptr, a, b}, line);
}
template <int N>
SOUNDLINE_TWIN void wgmma_mma_async_sync_aligned_m64k8_f32_tf32_tf32(float (&d)[N / 2], uint32_t const (&a)[4],
                                                                    uint64_t b, int scale_d, SOUNDLINE_LINE) {
    static_assert(N >= 8 && N <= 256 && N % 8 == 0, "N is a multiple of 8 from 8 to 256");
    emulator::wgmma_multiply({emulator::TF32, N, false, scale_d, d, a, 0, b}, line);
}
#define SOUNDLINE_WGMMA(KIND, TYPE)                                                                                    \
    template <int N, int TRANS_B>                                                                                      \
    SOUNDLINE_TWIN void wgmma_mma_async_sync_aligned_m64k16_f32_##KIND##_##KIND(                                       \
        float (&d)[N / 2], uint64_t a, uint64_t b, int scale_d, SOUNDLINE_LINE) {                                      \
        static_assert(N >= 8 && N <= 256 && N % 8 == 0, "N is a multiple of 8 from 8 to 256");                         \
        emulator::wgmma_multiply({emulator::TYPE, N, TRANS_B != 0, scale_d, d, nullptr, a, b}, line);                  \
    }                                                                                                                  \
    template <int N, int TRANS_B>                                                                                      \
    SOUNDLINE_TWIN void wgmma_mma_async_sync_aligned_m64k16_f32_##KIND##_##KIND(                                       \
        float (&d)[N / 2], uint32_t const (&a)[4], uint64_t b, int scale_d, SOUNDLINE_LINE) {                          \
        static_assert(N >= 8 && N <= 256 && N % 8 == 0, "N is a multiple of 8 from 8 to 256");                         \
        emulator::wgmma_multiply({emulator::TYPE, N, TRANS_B != 0, scale_d, d, a, 0, b}, line);                        \
    }
SOUNDLINE_WGMMA(f16, F16)
SOUNDLINE_WGMMA(bf16, BF16)
#undef SOUNDLINE_WGMMA

// Conversions and atomic operations ----------------------------------------------------------------------------------

SOUNDLINE_TWIN uint16_t cvt_rn_f16_f32(float x) { return emulator::f16_of(x); }
SOUNDLINE_TWIN float cvt_f32_f16(uint16_t x) { return emulator::of_f16(x); }
SOUNDLINE_TWIN uint16_t cvt_rn_bf16_f32(float x) { return emulator::bf16_of(x); }
SOUNDLINE_TWIN uint32_t cvt_rn_f16x2_f32(float upper, float lower) {
    return uint32_t(emulator::f16_of(upper)) << 16 | emulator::f16_of(lower);
}
SOUNDLINE_TWIN uint32_t cvt_rn_bf16x2_f32(float upper, float lower) {
    return uint32_t(emulator::bf16_of(upper)) << 16 | emulator::bf16_of(lower);
}
SOUNDLINE_TWIN float max_NaN_f32(float a, float b) {
    if (a != a || b != b) return a + b;
    return a > b ? a : a < b ? b : a == 0 ? a + b : a;
}
// The hardware is within 2 units in the last place of this.
SOUNDLINE_TWIN float ex2_approx_f32(float exponent) { return __builtin_exp2f(exponent); }

// All threads take turns on one processor, so that every operation is atomic.
#define SOUNDLINE_ADD(NAME, T)                                                                                         \
    SOUNDLINE_TWIN void red_global_add_##NAME(T *at, T value) { *at = T(*at + value); }                                \
    SOUNDLINE_TWIN void red_shared_add_##NAME(T *at, T value) { *at = T(*at + value); }
SOUNDLINE_ADD(f32, float)
SOUNDLINE_ADD(f64, double)
SOUNDLINE_ADD(u32, uint32_t)
SOUNDLINE_ADD(u64, uint64_t)
#undef SOUNDLINE_ADD
SOUNDLINE_TWIN void red_global_add_s32(int32_t *at, int32_t value) { *at = int32_t(uint32_t(*at) + uint32_t(value)); }
SOUNDLINE_TWIN void red_shared_add_s32(int32_t *at, int32_t value) { *at = int32_t(uint32_t(*at) + uint32_t(value)); }

// The 16 bits of a T are those of a float of its format.
#define SOUNDLINE_ADD_HALF(NAME, FROM, TO)                                                                             \
    template <class T>                                                                                                 \
    SOUNDLINE_TWIN void red_global_add_##NAME(T *at, T value) {                                                        \
        static_assert(sizeof(T) == 2, "a float of 16 bits");                                                           \
        uint16_t sum, addend;                                                                                          \
        memcpy(&sum, at, 2);                                                                                           \
        memcpy(&addend, &value, 2);                                                                                    \
        sum = TO(FROM(sum) + FROM(addend));                                                                            \
        memcpy(static_cast<void *>(at), &sum, 2);                                                                      \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    SOUNDLINE_TWIN void red_shared_add_##NAME(T *at, T value) {                                                        \
        red_global_add_##NAME(at, value);                                                                              \
    }
SOUNDLINE_TWIN float of_bf16(uint16_t x) {
    uint32_t const bits = uint32_t(x) << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
SOUNDLINE_ADD_HALF(f16, cvt_f32_f16, cvt_rn_f16_f32)
SOUNDLINE_ADD_HALF(bf16, of_bf16, cvt_rn_bf16_f32)
#undef SOUNDLINE_ADD_HALF

}  // namespace ptx

#undef SOUNDLINE_TWIN
#undef SOUNDLINE_LINE
