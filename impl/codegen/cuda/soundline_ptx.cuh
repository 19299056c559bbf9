// Instructions of PTX as functions
// ================================
//
// Inline PTX stands here and nowhere else. A function has the name of its instruction, with dots and colons as `_`, and
// its operands in the order of PTX, but for an mbarrier of another CTA, which is given by the address of one's own and
// the rank of the CTA. Nothing is included, so that NVRTC takes this file as it is.
//
// The compiler does not see what an instruction does to memory. So an instruction that reads or writes memory, waits or
// orders is `volatile` and clobbers memory: nothing is moved across it. `wgmma` names its accumulators as what it reads
// and writes, but goes on after the statement; `fence_registers` keeps the compiler from moving uses of them to before
// the wait.
//
// What an architecture lacks is not declared for it.

#pragma once

#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
#else
#include <stdint.h>
#endif

namespace soundline {
struct tensor_map;
}

#define SOUNDLINE_FUNCTION __device__ __forceinline__
#define SOUNDLINE_OPEN(...) __VA_ARGS__

// The dynamic shared memory of the block.
SOUNDLINE_FUNCTION unsigned char *soundline_dynamic_shared() {
    extern __shared__ __align__(1024) unsigned char soundline_shared_memory[];
    return soundline_shared_memory;
}

namespace ptx {

// Addresses -----------------------------------------------------------------------------------------------------------

// Instructions take addresses of shared memory as 32 bits, and those of global memory as 64.
SOUNDLINE_FUNCTION uint32_t cvta_to_shared_u32(void const *address) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(address));
}

SOUNDLINE_FUNCTION uint64_t cvta_to_global_u64(void const *address) {
    return __cvta_generic_to_global(address);
}

// Registers -----------------------------------------------------------------------------------------------------------

// Whatever is done to these registers before stays before, and what is done after stays after.
template <int COUNT> SOUNDLINE_FUNCTION void fence_registers(float (&d)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
        asm volatile("" : "+f"(d[i])::"memory");
}
template <int TILES, int COUNT> SOUNDLINE_FUNCTION void fence_registers(float (&d)[TILES][COUNT]) {
#pragma unroll
    for (int i = 0; i < TILES; ++i) fence_registers(d[i]);
}

SOUNDLINE_FUNCTION uint16_t cvt_rn_f16_f32(float value) {
    uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

SOUNDLINE_FUNCTION float cvt_f32_f16(uint16_t bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

SOUNDLINE_FUNCTION uint16_t cvt_rn_bf16_f32(float value) {
    uint16_t bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

// The first operand goes to the upper half of the word.
SOUNDLINE_FUNCTION uint32_t cvt_rn_f16x2_f32(float upper, float lower) {
    uint32_t bits;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(upper), "f"(lower));
    return bits;
}

SOUNDLINE_FUNCTION uint32_t cvt_rn_bf16x2_f32(float upper, float lower) {
    uint32_t bits;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(upper), "f"(lower));
    return bits;
}

SOUNDLINE_FUNCTION float max_NaN_f32(float a, float b) {
    float value;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(value) : "f"(a), "f"(b));
    return value;
}

SOUNDLINE_FUNCTION float ex2_approx_f32(float exponent) {
    float value;
    asm("ex2.approx.f32 %0, %1;" : "=f"(value) : "f"(exponent));
    return value;
}

// The last operand has the lanes in which the sources are sought: for `up` none is below 0, else none above 31.
#define SOUNDLINE_SHUFFLE(MODE, LANES)                                                                                 \
    SOUNDLINE_FUNCTION uint32_t shfl_sync_##MODE##_b32(uint32_t mask, uint32_t value, uint32_t lane) {                 \
        uint32_t taken;                                                                                                \
        asm volatile("shfl.sync." #MODE ".b32 %0, %1, %2, " #LANES ", %3;"                                             \
                     : "=r"(taken)                                                                                     \
                     : "r"(value), "r"(lane), "r"(mask));                                                              \
        return taken;                                                                                                  \
    }
SOUNDLINE_SHUFFLE(idx, 0x1f)
SOUNDLINE_SHUFFLE(bfly, 0x1f)
SOUNDLINE_SHUFFLE(up, 0)
SOUNDLINE_SHUFFLE(down, 0x1f)
#undef SOUNDLINE_SHUFFLE

// Atomic additions ----------------------------------------------------------------------------------------------------

#define SOUNDLINE_ADD(NAME, TYPE, T, REGISTER)                                                                         \
    SOUNDLINE_FUNCTION void red_global_add_##NAME(T *at, T value) {                                                    \
        asm volatile("red.global.add." TYPE " [%0], %1;" ::"l"(cvta_to_global_u64(at)), REGISTER(value) : "memory");   \
    }                                                                                                                  \
    SOUNDLINE_FUNCTION void red_shared_add_##NAME(T *at, T value) {                                                    \
        asm volatile("red.shared.add." TYPE " [%0], %1;" ::"r"(cvta_to_shared_u32(at)), REGISTER(value) : "memory");   \
    }
SOUNDLINE_ADD(f32, "f32", float, "f")
SOUNDLINE_ADD(f64, "f64", double, "d")
SOUNDLINE_ADD(s32, "s32", int32_t, "r")
SOUNDLINE_ADD(u32, "u32", uint32_t, "r")
SOUNDLINE_ADD(u64, "u64", uint64_t, "l")
SOUNDLINE_ADD(f16, "noftz.f16", uint16_t, "h")
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
SOUNDLINE_ADD(bf16, "noftz.bf16", uint16_t, "h")
#endif
#undef SOUNDLINE_ADD

// Barriers of a CTA ---------------------------------------------------------------------------------------------------

SOUNDLINE_FUNCTION void barrier_cta_sync(int id) { asm volatile("barrier.cta.sync %0;" ::"r"(id) : "memory"); }

SOUNDLINE_FUNCTION void barrier_cta_sync(int id, int threads) {
    asm volatile("barrier.cta.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Copies that a thread does not wait for ------------------------------------------------------------------------------

template <int BYTES> SOUNDLINE_FUNCTION void cp_async_ca_shared_global(void *dst, void const *src) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async.ca copies 4, 8 or 16 bytes");
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(cvta_to_shared_u32(dst)),
                 "l"(cvta_to_global_u64(src)), "n"(BYTES)
                 : "memory");
}

SOUNDLINE_FUNCTION void cp_async_cg_shared_global(void *dst, void const *src) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(cvta_to_shared_u32(dst)),
                 "l"(cvta_to_global_u64(src))
                 : "memory");
}

SOUNDLINE_FUNCTION void cp_async_commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int N> SOUNDLINE_FUNCTION void cp_async_wait_group() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

SOUNDLINE_FUNCTION void cp_async_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Mbarriers -----------------------------------------------------------------------------------------------------------

SOUNDLINE_FUNCTION void mbarrier_init_shared_b64(uint64_t *bar, uint32_t count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(cvta_to_shared_u32(bar)), "r"(count) : "memory");
}

SOUNDLINE_FUNCTION void mbarrier_inval_shared_b64(uint64_t *bar) {
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(cvta_to_shared_u32(bar)) : "memory");
}

SOUNDLINE_FUNCTION void mbarrier_arrive_shared_b64(uint64_t *bar) {
    asm volatile("{\n"
                 ".reg .b64 state;\n"
                 "mbarrier.arrive.shared.b64 state, [%0];\n"
                 "}" ::"r"(cvta_to_shared_u32(bar))
                 : "memory");
}

SOUNDLINE_FUNCTION void cp_async_mbarrier_arrive_noinc_shared_b64(uint64_t *bar) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(cvta_to_shared_u32(bar)) : "memory");
}

// Whether the phase of this parity is complete.
#define SOUNDLINE_WAIT(NAME, INSTRUCTION)                                                                              \
    SOUNDLINE_FUNCTION bool NAME(uint64_t *bar, uint32_t parity) {                                                     \
        uint32_t complete;                                                                                             \
        asm volatile("{\n"                                                                                             \
                     ".reg .pred complete;\n" INSTRUCTION " complete, [%1], %2;\n"                                     \
                     "selp.u32 %0, 1, 0, complete;\n"                                                                  \
                     "}"                                                                                               \
                     : "=r"(complete)                                                                                  \
                     : "r"(cvta_to_shared_u32(bar)), "r"(parity)                                                       \
                     : "memory");                                                                                      \
        return complete != 0;                                                                                          \
    }
SOUNDLINE_WAIT(mbarrier_test_wait_parity_shared_b64, "mbarrier.test_wait.parity.shared.b64")
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
SOUNDLINE_WAIT(mbarrier_try_wait_parity_shared_b64, "mbarrier.try_wait.parity.shared.b64")
// The same, where threads of other CTAs arrive: what came before their arrivals is seen as well.
SOUNDLINE_WAIT(mbarrier_try_wait_parity_acquire_cluster_shared_b64,
               "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64")
#endif
#undef SOUNDLINE_WAIT

// Fragments of a warp -------------------------------------------------------------------------------------------------

#define SOUNDLINE_LDMATRIX(NAME, COUNT, INSTRUCTION, TEXT, ROW, ...)                                                   \
    SOUNDLINE_FUNCTION void NAME(uint32_t (&r)[COUNT], void const *row) {                                              \
        asm volatile(INSTRUCTION " {" TEXT "}, [" ROW "];"                                                             \
                     : __VA_ARGS__                                                                                     \
                     : "r"(cvta_to_shared_u32(row))                                                                    \
                     : "memory");                                                                                      \
    }
#define SOUNDLINE_LDMATRICES(COUNT, ...)                                                                               \
    SOUNDLINE_LDMATRIX(ldmatrix_sync_aligned_m8n8_x##COUNT##_shared_b16, COUNT,                                        \
                       "ldmatrix.sync.aligned.m8n8.x" #COUNT ".shared.b16", __VA_ARGS__)                               \
    SOUNDLINE_LDMATRIX(ldmatrix_sync_aligned_m8n8_x##COUNT##_trans_shared_b16, COUNT,                                  \
                       "ldmatrix.sync.aligned.m8n8.x" #COUNT ".trans.shared.b16", __VA_ARGS__)
SOUNDLINE_LDMATRICES(1, "%0", "%1", "=r"(r[0]))
SOUNDLINE_LDMATRICES(2, "%0, %1", "%2", "=r"(r[0]), "=r"(r[1]))
SOUNDLINE_LDMATRICES(4, "%0, %1, %2, %3", "%4", "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]))
#undef SOUNDLINE_LDMATRICES
#undef SOUNDLINE_LDMATRIX

// D gains A times B. By the number of registers that A and B have:
#define SOUNDLINE_MMA_2_1(NAME, INSTRUCTION)                                                                           \
    SOUNDLINE_FUNCTION void NAME(float (&d)[4], uint32_t const (&a)[2], uint32_t const (&b)[1]) {                      \
        asm volatile(INSTRUCTION " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"                                \
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                                               \
    }
#define SOUNDLINE_MMA_4_2(NAME, INSTRUCTION)                                                                           \
    SOUNDLINE_FUNCTION void NAME(float (&d)[4], uint32_t const (&a)[4], uint32_t const (&b)[2]) {                      \
        asm volatile(INSTRUCTION " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                    \
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                              \
    }
SOUNDLINE_MMA_2_1(mma_sync_aligned_m16n8k4_row_col_f32_tf32_tf32_f32,
                  "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32")
SOUNDLINE_MMA_4_2(mma_sync_aligned_m16n8k8_row_col_f32_tf32_tf32_f32,
                  "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
SOUNDLINE_MMA_2_1(mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32,
                  "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
SOUNDLINE_MMA_4_2(mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32,
                  "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
SOUNDLINE_MMA_2_1(mma_sync_aligned_m16n8k8_row_col_f32_bf16_bf16_f32,
                  "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32")
SOUNDLINE_MMA_4_2(mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32,
                  "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
#undef SOUNDLINE_MMA_2_1
#undef SOUNDLINE_MMA_4_2

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// Clusters, proxies, and one lane for a warp --------------------------------------------------------------------------

SOUNDLINE_FUNCTION uint32_t cluster_ctarank() {
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

SOUNDLINE_FUNCTION void barrier_cluster_arrive() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }

SOUNDLINE_FUNCTION void barrier_cluster_wait() { asm volatile("barrier.cluster.wait;" ::: "memory"); }

SOUNDLINE_FUNCTION void fence_proxy_async() { asm volatile("fence.proxy.async;" ::: "memory"); }

SOUNDLINE_FUNCTION void fence_mbarrier_init_release_cluster() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Whether this lane is the one that is elected of its warp, all of which is here.
SOUNDLINE_FUNCTION bool elect_sync() {
    uint32_t elected;
    asm volatile("{\n"
                 ".reg .pred elected;\n"
                 "elect.sync _|elected, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, elected;\n"
                 "}"
                 : "=r"(elected));
    return elected != 0;
}

// Mbarriers of other CTAs: the one that lies where `bar` lies, in the CTA of this rank --------------------------------

SOUNDLINE_FUNCTION uint32_t mapa_shared_cluster_u32(void const *address, uint32_t cta) {
    uint32_t there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(cvta_to_shared_u32(address)), "r"(cta));
    return there;
}

SOUNDLINE_FUNCTION void mbarrier_arrive_release_cluster_shared_cluster_b64(uint64_t *bar, uint32_t cta) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                     mapa_shared_cluster_u32(bar, cta))
                 : "memory");
}

SOUNDLINE_FUNCTION void mbarrier_arrive_expect_tx_shared_b64(uint64_t *bar, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(cvta_to_shared_u32(bar)), "r"(bytes)
                 : "memory");
}

SOUNDLINE_FUNCTION void mbarrier_arrive_expect_tx_release_cluster_shared_cluster_b64(uint64_t *bar, uint32_t cta,
                                                                                   uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(
                     mapa_shared_cluster_u32(bar, cta)),
                 "r"(bytes)
                 : "memory");
}

// TMA: boxes of one to five dimensions. Coordinates begin with that of the innermost one ------------------------------

// The texts of the coordinates, where two, three or four operands stand before them.
#define SOUNDLINE_TENSOR(RANK, PARAMETERS, OPERANDS, AFTER_2, AFTER_3, AFTER_4)                                        \
    SOUNDLINE_FUNCTION void cp_async_bulk_tensor_##RANK##d_shared_cluster_global(                                      \
        void *dst, soundline::tensor_map const *map, uint64_t *bar, SOUNDLINE_OPEN PARAMETERS) {                       \
        asm volatile("cp.async.bulk.tensor." #RANK "d.shared::cluster.global.mbarrier::complete_tx::bytes"             \
                     " [%0], [%1, {" AFTER_3 "}], [%2];" ::"r"(cvta_to_shared_u32(dst)),                               \
                     "l"(map), "r"(cvta_to_shared_u32(bar)), SOUNDLINE_OPEN OPERANDS                                   \
                     : "memory");                                                                                      \
    }                                                                                                                  \
    SOUNDLINE_FUNCTION void cp_async_bulk_tensor_##RANK##d_shared_cluster_global_multicast_cluster(                    \
        void *dst, soundline::tensor_map const *map, uint64_t *bar, uint16_t ctas, SOUNDLINE_OPEN PARAMETERS) {        \
        asm volatile("cp.async.bulk.tensor." #RANK "d.shared::cluster.global.mbarrier::complete_tx::bytes"             \
                     ".multicast::cluster [%0], [%1, {" AFTER_4 "}], [%2], %3;" ::"r"(cvta_to_shared_u32(dst)),        \
                     "l"(map), "r"(cvta_to_shared_u32(bar)), "h"(ctas), SOUNDLINE_OPEN OPERANDS                        \
                     : "memory");                                                                                      \
    }                                                                                                                  \
    SOUNDLINE_FUNCTION void cp_async_bulk_tensor_##RANK##d_global_shared_cta(                                          \
        soundline::tensor_map const *map, SOUNDLINE_OPEN PARAMETERS, void const *src) {                                \
        asm volatile("cp.async.bulk.tensor." #RANK "d.global.shared::cta.bulk_group [%0, {" AFTER_2 "}], [%1];" ::"l"( \
                         map),                                                                                         \
                     "r"(cvta_to_shared_u32(src)), SOUNDLINE_OPEN OPERANDS                                             \
                     : "memory");                                                                                      \
    }                                                                                                                  \
    SOUNDLINE_FUNCTION void cp_reduce_async_bulk_tensor_##RANK##d_global_shared_cta_add(                               \
        soundline::tensor_map const *map, SOUNDLINE_OPEN PARAMETERS, void const *src) {                                \
        asm volatile("cp.reduce.async.bulk.tensor." #RANK                                                              \
                     "d.global.shared::cta.add.bulk_group [%0, {" AFTER_2 "}], [%1];" ::"l"(map),                      \
                     "r"(cvta_to_shared_u32(src)), SOUNDLINE_OPEN OPERANDS                                             \
                     : "memory");                                                                                      \
    }
SOUNDLINE_TENSOR(1, (int c0), ("r"(c0)), "%2", "%3", "%4")
SOUNDLINE_TENSOR(2, (int c0, int c1), ("r"(c0), "r"(c1)), "%2, %3", "%3, %4", "%4, %5")
SOUNDLINE_TENSOR(3, (int c0, int c1, int c2), ("r"(c0), "r"(c1), "r"(c2)), "%2, %3, %4", "%3, %4, %5", "%4, %5, %6")
SOUNDLINE_TENSOR(4, (int c0, int c1, int c2, int c3), ("r"(c0), "r"(c1), "r"(c2), "r"(c3)), "%2, %3, %4, %5",
                 "%3, %4, %5, %6", "%4, %5, %6, %7")
SOUNDLINE_TENSOR(5, (int c0, int c1, int c2, int c3, int c4), ("r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)),
                 "%2, %3, %4, %5, %6", "%3, %4, %5, %6, %7", "%4, %5, %6, %7, %8")
#undef SOUNDLINE_TENSOR

SOUNDLINE_FUNCTION void cp_async_bulk_shared_cluster_global(void *dst, void const *src, uint32_t bytes,
                                                            uint64_t *bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     cvta_to_shared_u32(dst)),
                 "l"(cvta_to_global_u64(src)), "r"(bytes), "r"(cvta_to_shared_u32(bar))
                 : "memory");
}

SOUNDLINE_FUNCTION void cp_async_bulk_global_shared_cta(void *dst, void const *src, uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(cvta_to_global_u64(dst)),
                 "r"(cvta_to_shared_u32(src)), "r"(bytes)
                 : "memory");
}

SOUNDLINE_FUNCTION void cp_async_bulk_commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

template <int N> SOUNDLINE_FUNCTION void cp_async_bulk_wait_group() {
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}

#endif // sm_90

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Registers of a warpgroup --------------------------------------------------------------------------------------------

template <int REGISTERS> SOUNDLINE_FUNCTION void setmaxnreg_inc_sync_aligned_u32() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

template <int REGISTERS> SOUNDLINE_FUNCTION void setmaxnreg_dec_sync_aligned_u32() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

// Products of a warpgroup ---------------------------------------------------------------------------------------------

SOUNDLINE_FUNCTION void wgmma_fence_sync_aligned() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

SOUNDLINE_FUNCTION void wgmma_commit_group_sync_aligned() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int N> SOUNDLINE_FUNCTION void wgmma_wait_group_sync_aligned() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// `wgmma.mma_async`: D, 64 rows by N, gains A times B; where `scale_d` is 0 it becomes their product. A is given by the
// descriptor of its shared memory or by its four registers, B by its descriptor; D has N / 2 registers in each thread.
// For every N there are the text of D, its operands, and the numbers of the operands that follow them.
#define SOUNDLINE_D(I) "+f"(d[I]), "+f"(d[I + 1]), "+f"(d[I + 2]), "+f"(d[I + 3])
#define SOUNDLINE_TEXT_8 "%0, %1, %2, %3"
#define SOUNDLINE_TEXT_16 SOUNDLINE_TEXT_8 ", %4, %5, %6, %7"
#define SOUNDLINE_TEXT_24 SOUNDLINE_TEXT_16 ", %8, %9, %10, %11"
#define SOUNDLINE_TEXT_32 SOUNDLINE_TEXT_24 ", %12, %13, %14, %15"
#define SOUNDLINE_TEXT_40 SOUNDLINE_TEXT_32 ", %16, %17, %18, %19"
#define SOUNDLINE_TEXT_48 SOUNDLINE_TEXT_40 ", %20, %21, %22, %23"
#define SOUNDLINE_TEXT_56 SOUNDLINE_TEXT_48 ", %24, %25, %26, %27"
#define SOUNDLINE_TEXT_64 SOUNDLINE_TEXT_56 ", %28, %29, %30, %31"
#define SOUNDLINE_TEXT_72 SOUNDLINE_TEXT_64 ", %32, %33, %34, %35"
#define SOUNDLINE_TEXT_80 SOUNDLINE_TEXT_72 ", %36, %37, %38, %39"
#define SOUNDLINE_TEXT_88 SOUNDLINE_TEXT_80 ", %40, %41, %42, %43"
#define SOUNDLINE_TEXT_96 SOUNDLINE_TEXT_88 ", %44, %45, %46, %47"
#define SOUNDLINE_TEXT_104 SOUNDLINE_TEXT_96 ", %48, %49, %50, %51"
#define SOUNDLINE_TEXT_112 SOUNDLINE_TEXT_104 ", %52, %53, %54, %55"
#define SOUNDLINE_TEXT_120 SOUNDLINE_TEXT_112 ", %56, %57, %58, %59"
#define SOUNDLINE_TEXT_128 SOUNDLINE_TEXT_120 ", %60, %61, %62, %63"
#define SOUNDLINE_TEXT_136 SOUNDLINE_TEXT_128 ", %64, %65, %66, %67"
#define SOUNDLINE_TEXT_144 SOUNDLINE_TEXT_136 ", %68, %69, %70, %71"
#define SOUNDLINE_TEXT_152 SOUNDLINE_TEXT_144 ", %72, %73, %74, %75"
#define SOUNDLINE_TEXT_160 SOUNDLINE_TEXT_152 ", %76, %77, %78, %79"
#define SOUNDLINE_TEXT_168 SOUNDLINE_TEXT_160 ", %80, %81, %82, %83"
#define SOUNDLINE_TEXT_176 SOUNDLINE_TEXT_168 ", %84, %85, %86, %87"
#define SOUNDLINE_TEXT_184 SOUNDLINE_TEXT_176 ", %88, %89, %90, %91"
#define SOUNDLINE_TEXT_192 SOUNDLINE_TEXT_184 ", %92, %93, %94, %95"
#define SOUNDLINE_TEXT_200 SOUNDLINE_TEXT_192 ", %96, %97, %98, %99"
#define SOUNDLINE_TEXT_208 SOUNDLINE_TEXT_200 ", %100, %101, %102, %103"
#define SOUNDLINE_TEXT_216 SOUNDLINE_TEXT_208 ", %104, %105, %106, %107"
#define SOUNDLINE_TEXT_224 SOUNDLINE_TEXT_216 ", %108, %109, %110, %111"
#define SOUNDLINE_TEXT_232 SOUNDLINE_TEXT_224 ", %112, %113, %114, %115"
#define SOUNDLINE_TEXT_240 SOUNDLINE_TEXT_232 ", %116, %117, %118, %119"
#define SOUNDLINE_TEXT_248 SOUNDLINE_TEXT_240 ", %120, %121, %122, %123"
#define SOUNDLINE_TEXT_256 SOUNDLINE_TEXT_248 ", %124, %125, %126, %127"
#define SOUNDLINE_D_8 SOUNDLINE_D(0)
#define SOUNDLINE_D_16 SOUNDLINE_D_8, SOUNDLINE_D(4)
#define SOUNDLINE_D_24 SOUNDLINE_D_16, SOUNDLINE_D(8)
#define SOUNDLINE_D_32 SOUNDLINE_D_24, SOUNDLINE_D(12)
#define SOUNDLINE_D_40 SOUNDLINE_D_32, SOUNDLINE_D(16)
#define SOUNDLINE_D_48 SOUNDLINE_D_40, SOUNDLINE_D(20)
#define SOUNDLINE_D_56 SOUNDLINE_D_48, SOUNDLINE_D(24)
#define SOUNDLINE_D_64 SOUNDLINE_D_56, SOUNDLINE_D(28)
#define SOUNDLINE_D_72 SOUNDLINE_D_64, SOUNDLINE_D(32)
#define SOUNDLINE_D_80 SOUNDLINE_D_72, SOUNDLINE_D(36)
#define SOUNDLINE_D_88 SOUNDLINE_D_80, SOUNDLINE_D(40)
#define SOUNDLINE_D_96 SOUNDLINE_D_88, SOUNDLINE_D(44)
#define SOUNDLINE_D_104 SOUNDLINE_D_96, SOUNDLINE_D(48)
#define SOUNDLINE_D_112 SOUNDLINE_D_104, SOUNDLINE_D(52)
#define SOUNDLINE_D_120 SOUNDLINE_D_112, SOUNDLINE_D(56)
#define SOUNDLINE_D_128 SOUNDLINE_D_120, SOUNDLINE_D(60)
#define SOUNDLINE_D_136 SOUNDLINE_D_128, SOUNDLINE_D(64)
#define SOUNDLINE_D_144 SOUNDLINE_D_136, SOUNDLINE_D(68)
#define SOUNDLINE_D_152 SOUNDLINE_D_144, SOUNDLINE_D(72)
#define SOUNDLINE_D_160 SOUNDLINE_D_152, SOUNDLINE_D(76)
#define SOUNDLINE_D_168 SOUNDLINE_D_160, SOUNDLINE_D(80)
#define SOUNDLINE_D_176 SOUNDLINE_D_168, SOUNDLINE_D(84)
#define SOUNDLINE_D_184 SOUNDLINE_D_176, SOUNDLINE_D(88)
#define SOUNDLINE_D_192 SOUNDLINE_D_184, SOUNDLINE_D(92)
#define SOUNDLINE_D_200 SOUNDLINE_D_192, SOUNDLINE_D(96)
#define SOUNDLINE_D_208 SOUNDLINE_D_200, SOUNDLINE_D(100)
#define SOUNDLINE_D_216 SOUNDLINE_D_208, SOUNDLINE_D(104)
#define SOUNDLINE_D_224 SOUNDLINE_D_216, SOUNDLINE_D(108)
#define SOUNDLINE_D_232 SOUNDLINE_D_224, SOUNDLINE_D(112)
#define SOUNDLINE_D_240 SOUNDLINE_D_232, SOUNDLINE_D(116)
#define SOUNDLINE_D_248 SOUNDLINE_D_240, SOUNDLINE_D(120)
#define SOUNDLINE_D_256 SOUNDLINE_D_248, SOUNDLINE_D(124)
#define SOUNDLINE_EACH_N(CASE, KIND)                                                                                   \
    CASE(KIND, 8, 4, 5, 6, 7, 8, 9, 10) CASE(KIND, 16, 8, 9, 10, 11, 12, 13, 14)                                       \
    CASE(KIND, 24, 12, 13, 14, 15, 16, 17, 18) CASE(KIND, 32, 16, 17, 18, 19, 20, 21, 22)                              \
    CASE(KIND, 40, 20, 21, 22, 23, 24, 25, 26) CASE(KIND, 48, 24, 25, 26, 27, 28, 29, 30)                              \
    CASE(KIND, 56, 28, 29, 30, 31, 32, 33, 34) CASE(KIND, 64, 32, 33, 34, 35, 36, 37, 38)                              \
    CASE(KIND, 72, 36, 37, 38, 39, 40, 41, 42) CASE(KIND, 80, 40, 41, 42, 43, 44, 45, 46)                              \
    CASE(KIND, 88, 44, 45, 46, 47, 48, 49, 50) CASE(KIND, 96, 48, 49, 50, 51, 52, 53, 54)                              \
    CASE(KIND, 104, 52, 53, 54, 55, 56, 57, 58) CASE(KIND, 112, 56, 57, 58, 59, 60, 61, 62)                            \
    CASE(KIND, 120, 60, 61, 62, 63, 64, 65, 66) CASE(KIND, 128, 64, 65, 66, 67, 68, 69, 70)                            \
    CASE(KIND, 136, 68, 69, 70, 71, 72, 73, 74) CASE(KIND, 144, 72, 73, 74, 75, 76, 77, 78)                            \
    CASE(KIND, 152, 76, 77, 78, 79, 80, 81, 82) CASE(KIND, 160, 80, 81, 82, 83, 84, 85, 86)                            \
    CASE(KIND, 168, 84, 85, 86, 87, 88, 89, 90) CASE(KIND, 176, 88, 89, 90, 91, 92, 93, 94)                            \
    CASE(KIND, 184, 92, 93, 94, 95, 96, 97, 98) CASE(KIND, 192, 96, 97, 98, 99, 100, 101, 102)                         \
    CASE(KIND, 200, 100, 101, 102, 103, 104, 105, 106) CASE(KIND, 208, 104, 105, 106, 107, 108, 109, 110)              \
    CASE(KIND, 216, 108, 109, 110, 111, 112, 113, 114) CASE(KIND, 224, 112, 113, 114, 115, 116, 117, 118)              \
    CASE(KIND, 232, 116, 117, 118, 119, 120, 121, 122) CASE(KIND, 240, 120, 121, 122, 123, 124, 125, 126)              \
    CASE(KIND, 248, 124, 125, 126, 127, 128, 129, 130) CASE(KIND, 256, 128, 129, 130, 131, 132, 133, 134)

#define SOUNDLINE_PRODUCT(SHAPE, KIND, D, A, B, SCALE_D, IMMEDIATES)                                                   \
    "{\n"                                                                                                              \
    ".reg .pred adds;\n"                                                                                               \
    "setp.ne.b32 adds, " SCALE_D ", 0;\n"                                                                              \
    "wgmma.mma_async.sync.aligned." SHAPE ".f32." KIND "." KIND " {" D "}, " A ", " B ", adds, " IMMEDIATES ";\n"      \
    "}"

// After D: a, b, scale_d and, for 16 bits, whether B is transposed. A never is.
#define SOUNDLINE_SHARED_32(KIND, WIDTH, P0, P1, P2, P3, P4, P5, P6)                                                   \
    if constexpr (N == WIDTH)                                                                                          \
        asm volatile(SOUNDLINE_PRODUCT("m64n" #WIDTH "k8", KIND, SOUNDLINE_TEXT_##WIDTH, "%" #P0, "%" #P1, "%" #P2,    \
                                       "1, 1")                                                                         \
                     : SOUNDLINE_D_##WIDTH                                                                             \
                     : "l"(a), "l"(b), "r"(scale_d));
#define SOUNDLINE_SHARED_16(KIND, WIDTH, P0, P1, P2, P3, P4, P5, P6)                                                   \
    if constexpr (N == WIDTH)                                                                                          \
        asm volatile(SOUNDLINE_PRODUCT("m64n" #WIDTH "k16", KIND, SOUNDLINE_TEXT_##WIDTH, "%" #P0, "%" #P1, "%" #P2,   \
                                       "1, 1, 0, %" #P3)                                                               \
                     : SOUNDLINE_D_##WIDTH                                                                             \
                     : "l"(a), "l"(b), "r"(scale_d), "n"(TRANS_B));
#define SOUNDLINE_REGISTERS_32(KIND, WIDTH, P0, P1, P2, P3, P4, P5, P6)                                                \
    if constexpr (N == WIDTH)                                                                                          \
        asm volatile(SOUNDLINE_PRODUCT("m64n" #WIDTH "k8", KIND, SOUNDLINE_TEXT_##WIDTH,                               \
                                       "{%" #P0 ", %" #P1 ", %" #P2 ", %" #P3 "}", "%" #P4, "%" #P5, "1, 1")           \
                     : SOUNDLINE_D_##WIDTH                                                                             \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(scale_d));
#define SOUNDLINE_REGISTERS_16(KIND, WIDTH, P0, P1, P2, P3, P4, P5, P6)                                                \
    if constexpr (N == WIDTH)                                                                                          \
        asm volatile(SOUNDLINE_PRODUCT("m64n" #WIDTH "k16", KIND, SOUNDLINE_TEXT_##WIDTH,                              \
                                       "{%" #P0 ", %" #P1 ", %" #P2 ", %" #P3 "}", "%" #P4, "%" #P5, "1, 1, %" #P6)    \
                     : SOUNDLINE_D_##WIDTH                                                                             \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(scale_d), "n"(TRANS_B));

#define SOUNDLINE_WGMMA(NAME, KIND, TEMPLATE, SHARED, REGISTERS)                                                       \
    template <SOUNDLINE_OPEN TEMPLATE>                                                                                 \
    SOUNDLINE_FUNCTION void NAME(float (&d)[N / 2], uint64_t a, uint64_t b, int scale_d) {                             \
        static_assert(N % 8 == 0 && 8 <= N && N <= 256, "N is a multiple of 8, at most 256");                          \
        SOUNDLINE_EACH_N(SHARED, KIND)                                                                                 \
    }                                                                                                                  \
    template <SOUNDLINE_OPEN TEMPLATE>                                                                                 \
    SOUNDLINE_FUNCTION void NAME(float (&d)[N / 2], uint32_t const (&a)[4], uint64_t b, int scale_d) {                 \
        static_assert(N % 8 == 0 && 8 <= N && N <= 256, "N is a multiple of 8, at most 256");                          \
        SOUNDLINE_EACH_N(REGISTERS, KIND)                                                                              \
    }
SOUNDLINE_WGMMA(wgmma_mma_async_sync_aligned_m64k8_f32_tf32_tf32, "tf32", (int N), SOUNDLINE_SHARED_32,
                SOUNDLINE_REGISTERS_32)
SOUNDLINE_WGMMA(wgmma_mma_async_sync_aligned_m64k16_f32_f16_f16, "f16", (int N, int TRANS_B), SOUNDLINE_SHARED_16,
                SOUNDLINE_REGISTERS_16)
SOUNDLINE_WGMMA(wgmma_mma_async_sync_aligned_m64k16_f32_bf16_bf16, "bf16", (int N, int TRANS_B), SOUNDLINE_SHARED_16,
                SOUNDLINE_REGISTERS_16)
#undef SOUNDLINE_WGMMA

#endif // sm_90a

} // namespace ptx
