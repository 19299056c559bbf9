// What the CUDA of a Spork program is written with, beside the instructions of PTX: integers by floor division, the
// half-precision types and every cast of the language, windows of memory that may be swizzled, the fragments of tensor
// cores, and the descriptors of wgmma. Everything here is plain C++; inline PTX stands in soundline_ptx.cuh alone.
//
// The sections that are cited are those of the PTX ISA, version 9.0.
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
typedef unsigned long uintptr_t;
#else
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#endif

// The CTAs of a cluster: a kernel says them itself where the driver launches it, and cudaLaunchKernelEx elsewhere.
#ifdef __CUDACC_RTC__
#define SOUNDLINE_CLUSTER(ctas) __cluster_dims__(ctas, 1, 1)
#else
#define SOUNDLINE_CLUSTER(ctas)
#endif

namespace soundline {
// A CUtensorMap: a view of global memory that the CPU has encoded for TMA.
struct alignas(64) tensor_map {
    unsigned char bytes[128];
};
} // namespace soundline

#include "soundline_ptx.cuh"

#define SOUNDLINE_DEVICE static __device__ __forceinline__
#define SOUNDLINE_ANYWHERE static __host__ __device__ __forceinline__ // a launch computes with it as well
#define SOUNDLINE_MEMBER __device__ __forceinline__

namespace soundline {

// Integers ----------------------------------------------------------------------------------------------------------

// Floor division; a quotient by 0 is 0, and one that does not fit wraps.
template <typename A, typename B> SOUNDLINE_ANYWHERE auto floor_div(A a, B b) -> decltype(a + b) {
    using T = decltype(a + b);
    T const x = T(a), y = T(b);
    if (y == T(0)) return T(0);
    if (T(-1) < T(0) && y == T(-1)) return T(uint64_t(0) - uint64_t(x));
    T const quotient = x / y;
    return x % y != T(0) && (x < T(0)) != (y < T(0)) ? quotient - T(1) : quotient;
}

// The remainder of floor division, with the sign of the divisor; by 0 it is the dividend.
template <typename A, typename B> SOUNDLINE_ANYWHERE auto floor_mod(A a, B b) -> decltype(a + b) {
    using T = decltype(a + b);
    T const x = T(a), y = T(b);
    if (y == T(0)) return x;
    if (T(-1) < T(0) && y == T(-1)) return T(0);
    T const remainder = x % y;
    return remainder != T(0) && (remainder < T(0)) != (y < T(0)) ? remainder + y : remainder;
}

// Bits --------------------------------------------------------------------------------------------------------------

// The same bits as another type of the same size.
template <typename To, typename From> SOUNDLINE_DEVICE To bit_cast(From value) {
    static_assert(sizeof(To) == sizeof(From), "bits of the same size");
    union Both {
        From from;
        To to;
        SOUNDLINE_MEMBER Both() {}
    } both;
    both.from = value;
    return both.to;
}

// Half precision ----------------------------------------------------------------------------------------------------

// Numbers of 16 bits compute in float and round to nearest even: float has more than twice their digits and two more,
// so that a sum, a difference, a product or a quotient that is rounded twice is rounded correctly.
struct bf16 {
    uint16_t bits;
    bf16() = default;
    explicit SOUNDLINE_MEMBER bf16(float value) : bits(ptx::cvt_rn_bf16_f32(value)) {}
    explicit SOUNDLINE_MEMBER operator float() const { return bit_cast<float>(uint32_t(bits) << 16); }
};

struct f16 {
    uint16_t bits;
    f16() = default;
    explicit SOUNDLINE_MEMBER f16(float value) : bits(ptx::cvt_rn_f16_f32(value)) {}
    explicit SOUNDLINE_MEMBER operator float() const { return ptx::cvt_f32_f16(bits); }
};

#define SOUNDLINE_OPERATOR(HALF, SIGN)                                                                               \
    SOUNDLINE_DEVICE HALF operator SIGN(HALF a, HALF b) { return HALF(float(a) SIGN float(b)); }
#define SOUNDLINE_COMPARISON(HALF, SIGN)                                                                             \
    SOUNDLINE_DEVICE bool operator SIGN(HALF a, HALF b) { return float(a) SIGN float(b); }
#define SOUNDLINE_HALF(HALF)                                                                                         \
    SOUNDLINE_OPERATOR(HALF, +)                                                                                      \
    SOUNDLINE_OPERATOR(HALF, -)                                                                                      \
    SOUNDLINE_OPERATOR(HALF, *)                                                                                      \
    SOUNDLINE_OPERATOR(HALF, /)                                                                                      \
    SOUNDLINE_COMPARISON(HALF, <)                                                                                    \
    SOUNDLINE_COMPARISON(HALF, <=)                                                                                   \
    SOUNDLINE_COMPARISON(HALF, >)                                                                                    \
    SOUNDLINE_COMPARISON(HALF, >=)                                                                                   \
    SOUNDLINE_COMPARISON(HALF, ==)                                                                                   \
    SOUNDLINE_COMPARISON(HALF, !=)                                                                                   \
    SOUNDLINE_DEVICE HALF operator-(HALF a) {                                                                        \
        a.bits ^= 0x8000;                                                                                            \
        return a;                                                                                                    \
    }
SOUNDLINE_HALF(bf16)
SOUNDLINE_HALF(f16)
#undef SOUNDLINE_HALF
#undef SOUNDLINE_COMPARISON
#undef SOUNDLINE_OPERATOR

// Casts -------------------------------------------------------------------------------------------------------------

template <typename T> struct kind {
    enum : bool { is_half = false, is_float = false };
};
template <> struct kind<bf16> {
    enum : bool { is_half = true, is_float = true };
};
template <> struct kind<f16> {
    enum : bool { is_half = true, is_float = true };
};
template <> struct kind<float> {
    enum : bool { is_half = false, is_float = true };
};
template <> struct kind<double> {
    enum : bool { is_half = false, is_float = true };
};
template <typename A, typename B> struct same {
    enum : bool { value = false };
};
template <typename A> struct same<A, A> {
    enum : bool { value = true };
};

// Rounded to odd: toward zero, and where that is not exact to the neighbour whose last bit is 1. What is rounded to odd
// and then to nearest, with at least two digits fewer, is rounded to nearest once.
SOUNDLINE_DEVICE float to_odd(double value) {
    float const near = float(value);
    double const back = double(near);
    if (back == value || value != value) return near;
    uint32_t bits = bit_cast<uint32_t>(near);
    if ((value < 0 ? -back : back) > (value < 0 ? -value : value)) bits -= 1;
    return bit_cast<float>(bits | 1);
}

template <typename Integer> SOUNDLINE_DEVICE double integer_to_odd(Integer value) {
    bool const negative = value < Integer(0);
    uint64_t const magnitude = negative ? uint64_t(0) - uint64_t(value) : uint64_t(value);
    double found = double(magnitude);
    if (magnitude >> 53 != 0) found = double(magnitude >> 11 | uint64_t((magnitude & 2047) != 0)) * 2048.0;
    return negative ? -found : found;
}

// A float truncated and clamped into an integer type; NaN is 0.
template <typename To, typename From> SOUNDLINE_DEVICE To saturated(From value) {
    constexpr bool is_signed = To(-1) < To(0);
    constexpr int digits = int(8 * sizeof(To)) - int(is_signed);
    constexpr uint64_t most = ~uint64_t(0) >> (64 - digits);
    From const above = From(uint64_t(1) << (digits - 1)) * From(2); // a power of two, so that it is exact
    if (value != value) return To(0);
    if (value >= above) return To(most);
    if (value <= (is_signed ? -above : From(-1))) return is_signed ? To(~most) : To(0);
    return To(value);
}

// The cast of the language: integers wrap, an integer or a float becomes the nearest float in one rounding, a float is
// truncated and saturates as an integer, and a bool is whether a value is not 0, NaN included.
template <typename To, typename From> SOUNDLINE_DEVICE To cast(From value) {
    if constexpr (same<To, From>::value) {
        return value;
    } else if constexpr (kind<From>::is_half) {
        return cast<To>(float(value));
    } else if constexpr (same<To, bool>::value) {
        return value != From(0);
    } else if constexpr (kind<To>::is_half) {
        if constexpr (same<From, float>::value) return To(value);
        else if constexpr (same<From, double>::value) return To(to_odd(value));
        else return To(to_odd(integer_to_odd(value)));
    } else if constexpr (kind<From>::is_float && !kind<To>::is_float) {
        return saturated<To>(value);
    } else {
        return To(value);
    }
}

// Arithmetic --------------------------------------------------------------------------------------------------------

template <typename T> SOUNDLINE_DEVICE T add(T a, T b) { return a + b; }
// Integers wrap.
SOUNDLINE_DEVICE int32_t add(int32_t a, int32_t b) { return int32_t(uint32_t(a) + uint32_t(b)); }

// The maximum of IEEE 754-2019: NaN if either is NaN, and +0 is greater than -0.
template <typename T> SOUNDLINE_DEVICE T maximum(T a, T b) {
    if constexpr (kind<T>::is_float) {
        if (a != a || b != b) return a + b;
        if (a == b) return a == T(0.0f) ? a + b : a;
    }
    return a < b ? b : a;
}

SOUNDLINE_DEVICE float maximum(float a, float b) { return ptx::max_NaN_f32(a, b); }

// a · b + c in one rounding: only where a licence to contract was given.
SOUNDLINE_DEVICE float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
SOUNDLINE_DEVICE double fma(double a, double b, double c) { return ::fma(a, b, c); }
template <typename Half> SOUNDLINE_DEVICE Half fma(Half a, Half b, Half c) {
    return Half(::fmaf(float(a), float(b), float(c)));
}

// Swizzled shared memory --------------------------------------------------------------------------------------------

// The pieces of 16 bytes in rows of 32, 64 or 128 bytes are permuted (section 5.5.7, "Swizzling Modes"): the bits of
// the address that number a piece in its row change with those that number the row. 0 leaves the address as it is. The
// difference is added to the pointer, so that a compiler still sees that it points to shared memory.
template <int BYTES, typename T> SOUNDLINE_DEVICE T *swizzle(T *address) {
    static_assert(BYTES == 0 || BYTES == 32 || BYTES == 64 || BYTES == 128, "a swizzle has 32, 64 or 128 bytes");
    if constexpr (BYTES == 0) {
        return address;
    } else {
        uintptr_t const linear = reinterpret_cast<uintptr_t>(address);
        uintptr_t const rows = uintptr_t(BYTES / 16 - 1) << 7;
        int64_t const moved = int64_t((linear ^ ((linear & rows) >> 3)) - linear);
        return address + moved / int64_t(sizeof(T));
    }
}

// Windows of memory -------------------------------------------------------------------------------------------------

// A few elements that are loaded and stored at once.
template <typename T, int COUNT> struct alignas(sizeof(T) * COUNT) vector {
    T at[COUNT];
};

// Whether an address is a multiple of some bytes; known where it is a multiple of ALIGNMENT, and otherwise asked.
template <int BYTES, int ALIGNMENT, typename T> SOUNDLINE_DEVICE bool is_aligned(T *address) {
    if constexpr (BYTES <= int(sizeof(T)) || (ALIGNMENT > 0 && ALIGNMENT % BYTES == 0)) return true;
    else return reinterpret_cast<uintptr_t>(address) % BYTES == 0;
}

// Elements of memory, `step` elements apart.
template <typename T, int SWIZZLE, int ALIGNMENT> struct line {
    T *first;
    int64_t step;
    SOUNDLINE_MEMBER T *at(int i) const { return swizzle<SWIZZLE>(first + i * step); }
    // Whether BYTES from the first element on are one aligned piece.
    template <int BYTES> SOUNDLINE_MEMBER bool is_piece() const {
        return step == 1 && is_aligned<BYTES, ALIGNMENT>(first);
    }
};

// Elements in the registers of a thread, `step` elements apart.
template <typename T> struct register_line {
    T *first;
    int64_t step;
};

// Elements of memory in rows and columns. ALIGNMENT is that of every row, or of every column where these are neighbours.
template <typename T, int SWIZZLE, int ALIGNMENT> struct matrix {
    T *first;
    int64_t row_step, column_step;
    SOUNDLINE_MEMBER T *at(int row, int column) const {
        return swizzle<SWIZZLE>(first + row * row_step + column * column_step);
    }
    // Whether neighbours in a row, from an even column on, are aligned pairs.
    SOUNDLINE_MEMBER bool has_pairs() const {
        return column_step == 1 && are_pairs(row_step);
    }
    // The same for neighbours in a column.
    SOUNDLINE_MEMBER bool has_column_pairs() const {
        return row_step == 1 && are_pairs(column_step);
    }
    SOUNDLINE_MEMBER bool are_pairs(int64_t step) const {
        constexpr int bytes = 2 * int(sizeof(T));
        if constexpr (ALIGNMENT > 0 && ALIGNMENT % bytes == 0) return true;
        else return step % 2 == 0 && is_aligned<bytes, 0>(first);
    }
};

template <int SWIZZLE = 0, int ALIGNMENT = 0, typename T>
SOUNDLINE_DEVICE line<T, SWIZZLE, ALIGNMENT> window(T *first, int64_t step) {
    return {first, step};
}

template <int SWIZZLE = 0, int ALIGNMENT = 0, typename T>
SOUNDLINE_DEVICE matrix<T, SWIZZLE, ALIGNMENT> window(T *first, int64_t row_step, int64_t column_step) {
    return {first, row_step, column_step};
}

template <typename T> SOUNDLINE_DEVICE register_line<T> registers(T *first, int64_t step) { return {first, step}; }

// Copies of a thread ------------------------------------------------------------------------------------------------

// A type without const: what is read is held in variables.
template <typename T> struct plain {
    using type = T;
};
template <typename T> struct plain<T const> {
    using type = T;
};

template <int COUNT, typename T, int SWIZZLE, int ALIGNMENT>
SOUNDLINE_DEVICE auto load(line<T, SWIZZLE, ALIGNMENT> from) {
    using Value = typename plain<T>::type;
    vector<Value, COUNT> value;
    if (from.template is_piece<COUNT * int(sizeof(T))>()) {
        value = *reinterpret_cast<vector<Value, COUNT> const *>(from.at(0));
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) value.at[i] = *from.at(i);
    }
    return value;
}

template <int COUNT, typename T> SOUNDLINE_DEVICE auto load(register_line<T> from) {
    using Value = typename plain<T>::type;
    vector<Value, COUNT> value;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) value.at[i] = from.first[i * from.step];
    return value;
}

template <typename T, int COUNT, int SWIZZLE, int ALIGNMENT>
SOUNDLINE_DEVICE void store(line<T, SWIZZLE, ALIGNMENT> to, vector<T, COUNT> const &value) {
    if (to.template is_piece<COUNT * int(sizeof(T))>()) {
        *reinterpret_cast<vector<T, COUNT> *>(to.at(0)) = value;
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) *to.at(i) = value.at[i];
    }
}

template <typename T, int COUNT>
SOUNDLINE_DEVICE void store(register_line<T> to, vector<T, COUNT> const &value) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) to.first[i * to.step] = value.at[i];
}

// COUNT elements, in one load and one store where they are aligned pieces, else one by one.
template <int COUNT, typename To, typename From> SOUNDLINE_DEVICE void copy(To to, From from) {
    store(to, load<COUNT>(from));
}

// cp.async asks of both addresses that they are multiples of the bytes that it copies (section 9.7.9.25.3.1). Where they
// are not, the elements are copied by smaller copies, or by ordinary ones, which are complete before they have to be.
template <int COUNT, typename T, int TO_SWIZZLE, int TO_ALIGNMENT, typename From, int SWIZZLE, int ALIGNMENT>
SOUNDLINE_DEVICE void cp_async(line<T, TO_SWIZZLE, TO_ALIGNMENT> to, line<From, SWIZZLE, ALIGNMENT> from) {
    constexpr int bytes = COUNT * int(sizeof(T));
    if (to.template is_piece<bytes>() && from.template is_piece<bytes>()) {
        if constexpr (bytes == 16) ptx::cp_async_cg_shared_global(to.at(0), from.at(0));
        else ptx::cp_async_ca_shared_global<bytes>(to.at(0), from.at(0));
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            if constexpr (sizeof(T) >= 4) ptx::cp_async_ca_shared_global<int(sizeof(T))>(to.at(i), from.at(i));
            else *to.at(i) = *from.at(i);
        }
    }
}

// Registers of a warp -----------------------------------------------------------------------------------------------

enum : uint32_t { ALL_LANES = 0xffffffffu };

SOUNDLINE_DEVICE int lane() { return int(threadIdx.x % 32); }
// The number of a warp in its warpgroup.
SOUNDLINE_DEVICE int warp_in_group() { return int(threadIdx.x / 32 % 4); }

template <typename T> SOUNDLINE_DEVICE T from_lane_xor(T value, int mask) {
    return bit_cast<T>(ptx::shfl_sync_bfly_b32(ALL_LANES, bit_cast<uint32_t>(value), uint32_t(mask)));
}

// Five butterfly shuffles, by 16, 8, 4, 2 and 1: the order of the law, in which every lane computes the same.
template <typename T> SOUNDLINE_DEVICE T warp_sum(T value) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) value = add(value, from_lane_xor(value, mask));
    return value;
}
template <typename T> SOUNDLINE_DEVICE T warp_max(T value) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) value = maximum(value, from_lane_xor(value, mask));
    return value;
}

// Fragments of mma.sync ---------------------------------------------------------------------------------------------

// Section 9.7.14.5, "Matrix multiply-accumulate operation using mma instruction". A word of a fragment holds one
// element of 32 bits, or two of 16 whose second is in the next column of A, or in the next row of B.
//
//     A, 16 by K:   row lane / 4 + 8 * (word % 2),   column of the word (lane % 4) + 4 * (word / 2)
//     B, K by 8:    row of the word (lane % 4) + 4 * word,   column lane / 4
//     D, 16 by 8:   row lane / 4 + 8 * (e / 2),   column 2 * (lane % 4) + e % 2
SOUNDLINE_DEVICE int fragment_a_row(int lane, int word) { return lane / 4 + 8 * (word % 2); }
template <typename T> SOUNDLINE_DEVICE int fragment_a_column(int lane, int word) {
    return (lane % 4 + 4 * (word / 2)) * int(4 / sizeof(T));
}
template <typename T> SOUNDLINE_DEVICE int fragment_b_row(int lane, int word) {
    return (lane % 4 + 4 * word) * int(4 / sizeof(T));
}
SOUNDLINE_DEVICE int fragment_b_column(int lane) { return lane / 4; }
SOUNDLINE_DEVICE int fragment_d_row(int lane, int e) { return lane / 4 + 8 * (e / 2 % 2); }
SOUNDLINE_DEVICE int fragment_d_column(int lane, int e) { return 8 * (e / 4) + 2 * (lane % 4) + e % 2; }

// Two elements of 16 bits as a word, the first in its low half.
template <typename T> SOUNDLINE_DEVICE uint32_t packed(T low, T high) {
    return uint32_t(low.bits) | uint32_t(high.bits) << 16;
}
// The same of two neighbours in memory, which are an aligned pair.
template <typename T> SOUNDLINE_DEVICE uint32_t packed(T *pair) {
    vector<typename plain<T>::type, 2> const both =
        *reinterpret_cast<vector<typename plain<T>::type, 2> const *>(pair);
    return packed(both.at[0], both.at[1]);
}

// The word that begins at an element and goes on in its row.
template <typename T, int SWIZZLE, int ALIGNMENT>
SOUNDLINE_DEVICE uint32_t word_in_row(matrix<T, SWIZZLE, ALIGNMENT> const &from, int row, int column) {
    if constexpr (sizeof(T) == 4) {
        return bit_cast<uint32_t>(*from.at(row, column));
    } else {
        if (from.has_pairs()) return packed(from.at(row, column));
        return packed(*from.at(row, column), *from.at(row, column + 1));
    }
}

// The word that begins at an element and goes on in its column.
template <typename T, int SWIZZLE, int ALIGNMENT>
SOUNDLINE_DEVICE uint32_t word_in_column(matrix<T, SWIZZLE, ALIGNMENT> const &from, int row, int column) {
    if constexpr (sizeof(T) == 4) {
        return bit_cast<uint32_t>(*from.at(row, column));
    } else {
        if (from.has_column_pairs()) return packed(from.at(row, column));
        return packed(*from.at(row, column), *from.at(row + 1, column));
    }
}

template <int WORDS, typename T, int SWIZZLE, int ALIGNMENT>
SOUNDLINE_DEVICE void mma_load_a(uint32_t (&a)[WORDS], matrix<T, SWIZZLE, ALIGNMENT> from) {
#pragma unroll
    for (int w = 0; w < WORDS; ++w)
        a[w] = word_in_row(from, fragment_a_row(lane(), w), fragment_a_column<T>(lane(), w));
}

template <int WORDS, typename T, int SWIZZLE, int ALIGNMENT>
SOUNDLINE_DEVICE void mma_load_b(uint32_t (&b)[WORDS], matrix<T, SWIZZLE, ALIGNMENT> from) {
#pragma unroll
    for (int w = 0; w < WORDS; ++w)
        b[w] = word_in_column(from, fragment_b_row<T>(lane(), w), fragment_b_column(lane()));
}

SOUNDLINE_DEVICE void mma_zero_d(float (&d)[4]) {
#pragma unroll
    for (int e = 0; e < 4; ++e) d[e] = 0.0f;
}

template <typename T, int SWIZZLE, int ALIGNMENT>
SOUNDLINE_DEVICE void mma_load_d(float (&d)[4], matrix<T, SWIZZLE, ALIGNMENT> from) {
#pragma unroll
    for (int e = 0; e < 4; ++e) d[e] = *from.at(fragment_d_row(lane(), e), fragment_d_column(lane(), e));
}

// Two neighbours in a row of an accumulator.
template <int SWIZZLE, int ALIGNMENT>
SOUNDLINE_DEVICE void store_pair(
    matrix<float, SWIZZLE, ALIGNMENT> const &to, int row, int column, float first, float second) {
    if (to.has_pairs()) {
        *reinterpret_cast<vector<float, 2> *>(to.at(row, column)) = vector<float, 2>{{first, second}};
    } else {
        *to.at(row, column) = first;
        *to.at(row, column + 1) = second;
    }
}

template <int SWIZZLE, int ALIGNMENT>
SOUNDLINE_DEVICE void mma_store_d(matrix<float, SWIZZLE, ALIGNMENT> to, float const (&d)[4]) {
#pragma unroll
    for (int e = 0; e < 4; e += 2)
        store_pair(to, fragment_d_row(lane(), e), fragment_d_column(lane(), e), d[e], d[e + 1]);
}

// Rows for ldmatrix -------------------------------------------------------------------------------------------------

// Section 9.7.14.5.15, "Warp-level matrix load instruction: ldmatrix": lane l gives the address of row l % 8 of matrix
// l / 8. Lanes beyond the last matrix give an address that is not used. The COUNT matrices of 8 by 8 elements follow
// each other down the rows of the source and then across, or first across.
template <int COUNT, typename T, int SWIZZLE, int ALIGNMENT>
SOUNDLINE_DEVICE T const *ldmatrix_row_down(matrix<T, SWIZZLE, ALIGNMENT> from) {
    int const l = lane() % (8 * COUNT);
    return from.at(l % 16, 8 * (l / 16));
}

template <int COUNT, typename T, int SWIZZLE, int ALIGNMENT>
SOUNDLINE_DEVICE T const *ldmatrix_row_across(matrix<T, SWIZZLE, ALIGNMENT> from) {
    int const l = lane() % (8 * COUNT);
    return from.at(l % 8 + 8 * (l / 16), 8 * (l / 8 % 2));
}

// Fragments and descriptors of wgmma --------------------------------------------------------------------------------

// Section 9.7.15.5.1.1, "Register Fragments": each warp of the warpgroup has 16 rows, in which its lanes hold what they
// hold of a matrix of mma.sync; an accumulator of N columns is N / 8 accumulators of 8 side by side.
template <typename T, int SWIZZLE, int ALIGNMENT>
SOUNDLINE_DEVICE void wgmma_load_a(uint32_t (&a)[4], matrix<T, SWIZZLE, ALIGNMENT> from) {
#pragma unroll
    for (int w = 0; w < 4; ++w)
        a[w] = word_in_row(
            from, 16 * warp_in_group() + fragment_a_row(lane(), w), fragment_a_column<T>(lane(), w));
}

// An accumulator to which nothing was added yet holds zeros, whatever is in its registers.
template <int WORDS, int SWIZZLE, int ALIGNMENT>
SOUNDLINE_DEVICE void wgmma_write_d(
    matrix<float, SWIZZLE, ALIGNMENT> to, float const (&d)[WORDS], int accumulates) {
#pragma unroll
    for (int e = 0; e < WORDS; e += 2)
        store_pair(
            to,
            16 * warp_in_group() + fragment_d_row(lane(), e),
            fragment_d_column(lane(), e),
            accumulates ? d[e] : 0.0f,
            accumulates ? d[e + 1] : 0.0f);
}

// Two neighbours of an accumulator, rounded to the two halves of a word.
template <typename T> struct rounded;
template <> struct rounded<f16> {
    static SOUNDLINE_MEMBER uint32_t pair(float first, float second) {
        return ptx::cvt_rn_f16x2_f32(second, first);
    }
};
template <> struct rounded<bf16> {
    static SOUNDLINE_MEMBER uint32_t pair(float first, float second) {
        return ptx::cvt_rn_bf16x2_f32(second, first);
    }
};

template <typename T, int SWIZZLE, int ALIGNMENT>
SOUNDLINE_DEVICE void store_rounded_pair(
    matrix<T, SWIZZLE, ALIGNMENT> const &to, int row, int column, float first, float second) {
    if constexpr (sizeof(T) == 4) {
        store_pair(to, row, column, first, second);
    } else if (to.has_pairs()) {
        *reinterpret_cast<uint32_t *>(to.at(row, column)) = rounded<T>::pair(first, second);
    } else {
        *to.at(row, column) = T(first);
        *to.at(row, column + 1) = T(second);
    }
}

// An element of an accumulator, which is 0 where nothing was added to it yet.
SOUNDLINE_DEVICE float sum_of(float element, int accumulates) { return accumulates ? element : 0.0f; }

// COLUMNS of an accumulator from `first` on, which are 4 words for every 8.
template <int COLUMNS, int WORDS, typename T, int SWIZZLE, int ALIGNMENT>
SOUNDLINE_DEVICE void wgmma_write_columns(
    matrix<T, SWIZZLE, ALIGNMENT> to, float const (&d)[WORDS], int accumulates, int first) {
#pragma unroll
    for (int e = 0; e < COLUMNS / 2; e += 2)
        store_rounded_pair(
            to,
            16 * warp_in_group() + fragment_d_row(lane(), e),
            fragment_d_column(lane(), e),
            sum_of(d[first / 2 + e], accumulates),
            sum_of(d[first / 2 + e + 1], accumulates));
}

// Rows of an accumulator --------------------------------------------------------------------------------------------

// Element e of an accumulator is in row lane / 4, or where e / 2 is odd in the row 8 below: that is which of the two
// values of rows it goes with.
template <int WORDS>
SOUNDLINE_DEVICE void rows_max(float (&rows)[2], float const (&d)[WORDS], int accumulates) {
#pragma unroll
    for (int e = 0; e < WORDS; ++e) rows[e / 2 % 2] = maximum(rows[e / 2 % 2], sum_of(d[e], accumulates));
}
template <int WORDS>
SOUNDLINE_DEVICE void rows_add(float (&rows)[2], float const (&d)[WORDS], int accumulates) {
#pragma unroll
    for (int e = 0; e < WORDS; ++e) rows[e / 2 % 2] = rows[e / 2 % 2] + sum_of(d[e], accumulates);
}

// The four lanes of a row: two butterfly shuffles, by 1 and 2.
SOUNDLINE_DEVICE float quad_max(float value) {
    value = maximum(value, from_lane_xor(value, 1));
    return maximum(value, from_lane_xor(value, 2));
}
SOUNDLINE_DEVICE float quad_sum(float value) {
    value = value + from_lane_xor(value, 1);
    return value + from_lane_xor(value, 2);
}

template <int WORDS>
SOUNDLINE_DEVICE void multiply_by_rows(float (&d)[WORDS], float const (&rows)[2], int accumulates) {
#pragma unroll
    for (int e = 0; e < WORDS; ++e) d[e] = sum_of(d[e], accumulates) * rows[e / 2 % 2];
}
template <int WORDS>
SOUNDLINE_DEVICE void exp2_by_rows(float (&d)[WORDS], float const (&rows)[2], float scale, int accumulates) {
#pragma unroll
    for (int e = 0; e < WORDS; ++e)
        d[e] = ptx::ex2_approx_f32((sum_of(d[e], accumulates) - rows[e / 2 % 2]) * scale);
}

// Columns 16 * BLOCK to 16 * BLOCK + 15 of an accumulator as a left operand: what a lane has of the one it has of the
// other, in the same order.
template <typename T, int BLOCK, int WORDS>
SOUNDLINE_DEVICE void wgmma_a_from_d(uint32_t (&a)[4], float const (&d)[WORDS], int accumulates) {
#pragma unroll
    for (int w = 0; w < 4; ++w)
        a[w] = rounded<T>::pair(
            sum_of(d[8 * BLOCK + 2 * w], accumulates), sum_of(d[8 * BLOCK + 2 * w + 1], accumulates));
}

// Section 9.7.15.5.1.2.2, "Matrix Descriptor Format": bits 0-13 the start address, 16-29 the leading dimension byte
// offset, 32-45 the stride dimension byte offset, each (x & 0x3FFFF) >> 4; 49-51 the base offset; 62-63 the swizzle:
// 1 for 128 bytes, 2 for 64, 3 for 32. The base offset is 0, because the pattern of a swizzled array begins at a
// multiple of its size: 8 rows, which are 1024, 512 or 256 bytes.
template <int SWIZZLE>
SOUNDLINE_DEVICE uint64_t smem_descriptor(void const *address, uint32_t leading_bytes, uint32_t stride_bytes) {
    static_assert(SWIZZLE == 0 || SWIZZLE == 32 || SWIZZLE == 64 || SWIZZLE == 128, "no swizzle of wgmma");
    constexpr uint64_t mode = SWIZZLE == 128 ? 1 : SWIZZLE == 64 ? 2 : SWIZZLE == 32 ? 3 : 0;
    uint64_t const start = (ptx::cvta_to_shared_u32(address) & 0x3FFFF) >> 4;
    uint64_t const leading = (leading_bytes & 0x3FFFF) >> 4;
    uint64_t const stride = (stride_bytes & 0x3FFFF) >> 4;
    return start | leading << 16 | stride << 32 | mode << 62;
}

} // namespace soundline
