// A warpgroup on the CPU, for tests of what single instructions become: threads run one after the other, and in passes.
// What a collective function gives is known one pass after all threads have told what they give to it.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define __device__
#define __host__
#define __forceinline__ inline

struct Index {
    unsigned x, y, z;
};
inline Index threadIdx;

namespace soundline {
struct tensor_map;
}

namespace warps {
constexpr int CALLS = 8, THREADS = 128;
inline uint64_t given[CALLS][THREADS];
inline uint32_t words[THREADS];
inline int calls, pass;
inline unsigned vectors, scalars; // how cp.async copied

// What the thread tells to its next collective function; whether what the others told is known.
inline int tell(uint64_t value, bool &known) {
    given[calls][threadIdx.x] = value;
    known = pass > calls;
    return calls++;
}
template <typename F> void run(int threads, F f) {
    for (pass = 0; pass <= CALLS; ++pass)
        for (threadIdx.x = 0; threadIdx.x < unsigned(threads); ++threadIdx.x) {
            calls = 0;
            f();
        }
}
inline uint64_t of_lane(int call, unsigned lane) { return given[call][threadIdx.x / 32 * 32 + lane]; }
} // namespace warps

namespace ptx {
inline uint32_t cvta_to_shared_u32(void const *at) { return uint32_t(reinterpret_cast<uintptr_t>(at)); }

inline uint16_t cvt_rn_f16_f32(float value) {
    _Float16 const half = _Float16(value);
    uint16_t bits;
    memcpy(&bits, &half, 2);
    return bits;
}
inline float cvt_f32_f16(uint16_t bits) {
    _Float16 half;
    memcpy(&half, &bits, 2);
    return float(half);
}
inline uint16_t cvt_rn_bf16_f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if (value != value) return 0x7fff;
    return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline uint32_t cvt_rn_f16x2_f32(float upper, float lower) {
    return uint32_t(cvt_rn_f16_f32(upper)) << 16 | cvt_rn_f16_f32(lower);
}
inline uint32_t cvt_rn_bf16x2_f32(float upper, float lower) {
    return uint32_t(cvt_rn_bf16_f32(upper)) << 16 | cvt_rn_bf16_f32(lower);
}
inline float max_NaN_f32(float a, float b) {
    if (a != a || b != b) return a + b;
    return a > b ? a : a < b ? b : a == 0 ? a + b : a;
}
inline float ex2_approx_f32(float exponent) { return __builtin_exp2f(exponent); }

inline uint32_t cvt_rn_f16x2_f32(float high, float low) {
    return uint32_t(cvt_rn_f16_f32(high)) << 16 | cvt_rn_f16_f32(low);
}
inline uint32_t cvt_rn_bf16x2_f32(float high, float low) {
    return uint32_t(cvt_rn_bf16_f32(high)) << 16 | cvt_rn_bf16_f32(low);
}
inline float ex2_approx_f32(float value) { return exp2f(value); }
// PTX ISA, "max": with .NaN a NaN where an operand is; +0.0 is greater than -0.0.
inline float max_NaN_f32(float a, float b) {
    if (a != a || b != b) return NAN;
    if (a == b) return signbit(a) ? b : a;
    return a < b ? b : a;
}

inline uint32_t moved(uint32_t value, uint32_t lane) {
    bool known;
    int const call = warps::tell(value, known);
    return known ? uint32_t(warps::of_lane(call, lane)) : value;
}
inline uint32_t own() { return threadIdx.x % 32; }
inline uint32_t shfl_sync_idx_b32(uint32_t, uint32_t value, uint32_t lane) { return moved(value, lane); }
inline uint32_t shfl_sync_bfly_b32(uint32_t, uint32_t value, uint32_t mask) { return moved(value, own() ^ mask); }
inline uint32_t shfl_sync_up_b32(uint32_t, uint32_t value, uint32_t delta) {
    return moved(value, own() >= delta ? own() - delta : own());
}
inline uint32_t shfl_sync_down_b32(uint32_t, uint32_t value, uint32_t delta) {
    return moved(value, own() + delta < 32 ? own() + delta : own());
}

// PTX ISA, "ldmatrix": row r of matrix m is at the address of lane 8 m + r; a lane takes two elements of row lane / 4,
// or transposed of column lane / 4.
template <int COUNT> void matrices(uint32_t (&to)[COUNT], void const *row, bool turned) {
    bool known;
    int const call = warps::tell(reinterpret_cast<uint64_t>(row), known);
    for (int m = 0; m < COUNT; ++m) {
        to[m] = 0;
        for (int e = 0; known && e < 2; ++e) {
            unsigned const line = turned ? 2 * (own() % 4) + e : own() / 4;
            unsigned const column = turned ? own() / 4 : 2 * (own() % 4) + e;
            to[m] |= uint32_t(reinterpret_cast<uint16_t const *>(warps::of_lane(call, 8 * m + line))[column]) << 16 * e;
        }
    }
}
#define MATRICES(COUNT)                                                                                                \
    inline void ldmatrix_sync_aligned_m8n8_x##COUNT##_shared_b16(uint32_t (&to)[COUNT], void const *row) {             \
        matrices<COUNT>(to, row, false);                                                                               \
    }                                                                                                                  \
    inline void ldmatrix_sync_aligned_m8n8_x##COUNT##_trans_shared_b16(uint32_t (&to)[COUNT], void const *row) {       \
        matrices<COUNT>(to, row, true);                                                                                \
    }
MATRICES(1)
MATRICES(2)
MATRICES(4)

template <int BYTES> void cp_async_ca_shared_global(void *to, void const *from) {
    memcpy(to, from, BYTES);
    ++(BYTES == 4 ? warps::scalars : warps::vectors);
}
inline void cp_async_cg_shared_global(void *to, void const *from) {
    memcpy(to, from, 16);
    ++warps::vectors;
}
} // namespace ptx
