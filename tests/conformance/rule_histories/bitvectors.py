"""Bit tricks: Hacker's Delight, GCC's match.pd, LLVM's InstCombine, Cranelift's rules."""

from __future__ import annotations

from soundline.verify import (
    Bool,
    Const,
    Value,
    cdiv,
    cmod,
    fits,
    given,
    int8,
    int32,
    int64,
    maximum,
    uint8,
    uint16,
    uint32,
    uint64,
    where,
)

from .form import Histories, absolute

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous

WORDS = (int8, int32, uint8, uint64)
SIGNED = (int8, int32, int64)
UNSIGNED = (uint8, uint32, uint64)


# Identities -------------------------------------------------------------------------------------------------------


@right(dtypes=WORDS)
def xor_from_or_and_and(x: Value, y: Value):
    """Hacker's Delight, 2-2."""
    return (x | y) - (x & y), x ^ y


@right(dtypes=WORDS)
def sum_from_xor_and_carry(x: Value, y: Value):
    """Hacker's Delight, 2-2."""
    return (x ^ y) + ((x & y) << 1), x + y


@right(dtypes=WORDS)
def sum_from_or_and_and(x: Value, y: Value):
    """Hacker's Delight, 2-2."""
    return (x | y) + (x & y), x + y


@right(dtypes=WORDS)
def difference_from_xor_and_borrow(x: Value, y: Value):
    """Hacker's Delight, 2-2."""
    return (x ^ y) - (((x ^ y) & y) << 1), x - y


@wrong(dtypes=WORDS)
def sum_without_carry(x: Value, y: Value):
    """A half adder."""
    return x ^ y, x + y


@right(dtypes=SIGNED)
def negative_from_complement(x: Value):
    """Hacker's Delight, 2-1."""
    return (x ^ -1) + 1, -x


@right(dtypes=SIGNED)
def complement_of_a_difference(x: Value, y: Value):
    """GCC, match.pd: ~(~x - y)."""
    return ((x ^ -1) - y) ^ -1, x + y


@right(dtypes=SIGNED)
def difference_of_complements(x: Value, y: Value):
    """GCC, match.pd: ~x - ~y."""
    return (x ^ -1) - (y ^ -1), y - x


@wrong(dtypes=SIGNED)
def sum_of_complements(x: Value, y: Value):
    """GCC, match.pd, misread."""
    return (x ^ -1) + (y ^ -1), (x + y) ^ -1


@right(dtypes=SIGNED)
def de_morgan(x: Value, y: Value):
    """Every compiler."""
    return (x & y) ^ -1, (x ^ -1) | (y ^ -1)


@right(dtypes=WORDS)
def absorption(x: Value, y: Value):
    """Cranelift, bitops.isle."""
    return x & (x | y), x


@right(dtypes=WORDS)
def distribution(x: Value, y: Value, z: Value):
    """GCC, match.pd: (x & y) | (x & z)."""
    return (x & y) | (x & z), x & (y | z)


@wrong(dtypes=WORDS)
def distribution_the_wrong_way(x: Value, y: Value, z: Value):
    """And over or, and or over and, confused."""
    return (x | y) & z, x | (y & z)


@right(dtypes=WORDS)
def xor_of_or_and_and(x: Value, y: Value):
    """GCC, match.pd: (x | y) ^ (x & y)."""
    return (x | y) ^ (x & y), x ^ y


@right(dtypes=SIGNED)
def masked_xor(x: Value, y: Value):
    """GCC, match.pd: (x ^ y) & y."""
    return (x ^ y) & y, (x ^ -1) & y


@right(dtypes=WORDS)
def or_minus(x: Value, y: Value):
    """Hacker's Delight, 2-2."""
    return (x | y) - y, x ^ (x & y)


@right(dtypes=WORDS)
def exchanged_by_xor(x: Value, y: Value):
    """The exchange without a third register."""
    return (x ^ y) ^ x, y


@right(dtypes=SIGNED)
def merged_bits(x: Value, y: Value, m: Value):
    """Bit Twiddling Hacks: merging under a mask."""
    return x ^ ((x ^ y) & m), (x & (m ^ -1)) | (y & m)


@wrong(dtypes=SIGNED)
def merged_bits_of_the_other(x: Value, y: Value, m: Value):
    """The mask the wrong way round."""
    return x ^ ((x ^ y) & m), (x & m) | (y & (m ^ -1))


@right(dtypes=WORDS)
def disjoint_sum_is_or(x: Value, y: Value):
    """LLVM, `or disjoint`."""
    given((x & y) == 0)
    return x + y, x | y


@right(dtypes=WORDS)
def disjoint_sum_is_xor(x: Value, y: Value):
    """LLVM, InstCombine."""
    given((x & y) == 0)
    return x + y, x ^ y


@right(dtypes=WORDS)
def difference_of_a_subset(x: Value, y: Value):
    """LLVM, InstCombine: sub to xor."""
    given((x & y) == y)
    return x - y, x ^ y


@wrong(dtypes=WORDS)
def difference_of_a_superset(x: Value, y: Value):
    """LLVM, InstCombine: the subset the wrong way round."""
    given((x & y) == x)
    return x - y, x ^ y


@right(dtypes=WORDS)
def equality_by_xor(x: Value, y: Value):
    """Every compiler."""
    return (x ^ y) == 0, x == y


@right(dtypes=WORDS)
def both_are_zero(x: Value, y: Value):
    """LLVM, InstCombine."""
    return (x | y) == 0, (x == 0) & (y == 0)


@wrong(dtypes=WORDS)
def one_is_zero(x: Value, y: Value):
    """LLVM, InstCombine, with And for Or."""
    return (x & y) == 0, (x == 0) | (y == 0)


@right(dtypes=WORDS)
def subset_both_ways(x: Value, y: Value):
    """Sets of flags."""
    return (x & y) == x, (x | y) == y


@right(dtypes=UNSIGNED)
def and_is_smaller(x: Value, y: Value):
    """LLVM, InstSimplify."""
    return (x & y) <= x, x == x


# The lowest bit ---------------------------------------------------------------------------------------------------


@right(dtypes=WORDS)
def lowest_bit(x: Value):
    """Hacker's Delight, 2-1."""
    return x & -x, x - (x & (x - 1))


@right(dtypes=WORDS)
def lowest_bit_off(x: Value):
    """Hacker's Delight, 2-1."""
    return x & (x - 1), x ^ (x & -x)


@wrong(dtypes=WORDS)
def lowest_bit_of_the_complement(x: Value):
    """Hacker's Delight, 2-1, with one sign lost."""
    return x & (x - 1), x & -x


@right(dtypes=SIGNED)
def trailing_zeros_as_ones(x: Value):
    """Hacker's Delight, 2-1."""
    return (x ^ -1) & (x - 1), (x & -x) - 1


@right(dtypes=WORDS)
def trailing_zeros_and_lowest_bit(x: Value):
    """Hacker's Delight, 2-1."""
    return x ^ (x - 1), (x & -x) | ((x & -x) - 1)


@right(dtypes=WORDS)
def power_of_two_or_zero(x: Value):
    """Bit Twiddling Hacks; for zero as well."""
    return (x & (x - 1)) == 0, (x & -x) == x


@wrong(dtypes=UNSIGNED)
def power_of_two(x: Value):
    """Bit Twiddling Hacks: zero is no power of two."""
    return (x & (x - 1)) == 0, (x != 0) & ((x & -x) == x)


# Masks of powers of two -------------------------------------------------------------------------------------------


@right(dtypes=[int8, int32, int64, uint8, uint32, uint64])
def remainder_by_a_power(x: Value, c: Const):
    """Every compiler; the floor needs no sign of x."""
    given(c > 0, (c & (c - 1)) == 0)
    return x % c, x & (c - 1)


@right(dtypes=UNSIGNED)
def remainder_by_a_power_or_zero(x: Value, c: Const):
    """x % 0 is x here, and so is the mask."""
    given((c & (c - 1)) == 0)
    return x % c, x & (c - 1)


@wrong(dtypes=SIGNED)
def remainder_by_the_least(x: Value, c: Const):
    """The least value passes the test too."""
    given((c & (c - 1)) == 0)
    return x % c, x & (c - 1)


@wrong(dtypes=SIGNED)
def truncated_remainder_by_a_power(x: Value, c: Const):
    """LLVM, InstCombine: srem by a power of two is no mask."""
    given(c > 0, (c & (c - 1)) == 0)
    return cmod(x, c), x & (c - 1)


@right(dtypes=[int32])
def truncated_remainder_by_a_power_is_zero(x: Value, c: Const):
    """LLVM, InstCombine: but its being zero is."""
    given(c > 0, (c & (c - 1)) == 0)
    return cmod(x, c) == 0, (x & (c - 1)) == 0


@wrong(dtypes=WORDS)
def remainder_by_any_number(x: Value, c: Const):
    """The mask without the power of two."""
    given(c > 0)
    return x % c, x & (c - 1)


@right(dtypes=[int8, int32, uint32])
def align_down_by_mask(x: Value, c: Const):
    """Allocators."""
    given(c > 0, (c & (c - 1)) == 0)
    return x & -c, x - x % c


@right(dtypes=[int8, int32, uint32])
def align_up_by_mask(x: Value, c: Const):
    """Allocators."""
    given(c > 0, (c & (c - 1)) == 0, fits(x + (c - 1)))
    return (x + (c - 1)) & -c, ((x + (c - 1)) // c) * c


@right(dtypes=[int32])
def align_up_to_eight(x: Value):
    """Allocators; even where the sum wraps."""
    return (x + 7) & -8, ((x + 7) // 8) * 8


@right(dtypes=[uint8, uint32])
def multiple_of_a_power_is_masked(x: Value, c: Const):
    """LLVM, known bits."""
    given((c & (c - 1)) == 0, c != 0, x % c == 0)
    return x & -c, x


@right(dtypes=[int32])
def division_by_a_shifted_one(x: Value, k: Value):
    """LLVM, InstCombine: udiv by a power of two."""
    given(k >= 0, k < 31)
    return x // (1 << k), x >> k


@wrong(dtypes=[int32])
def division_by_the_shifted_sign(x: Value, k: Value):
    """LLVM #89516's cause: 1 << 31 is negative."""
    given(k >= 0, k < 32)
    return x // (1 << k), x >> k


@right(dtypes=[uint32])
def unsigned_division_by_a_shifted_one(x: Value, k: Value):
    """LLVM, InstCombine: udiv by a power of two."""
    given(k < 32)
    return x // (1 << k), x >> k


@right(dtypes=[int32])
def remainder_by_a_shifted_one(x: Value, k: Value):
    """LLVM, InstCombine."""
    given(k >= 0, k < 31)
    return x % (1 << k), x & ((1 << k) - 1)


# Signs ------------------------------------------------------------------------------------------------------------


@right(dtypes=[int32])
def magnitude_by_sign_mask(x: Value):
    """Hacker's Delight, 2-4."""
    return (x ^ (x >> 31)) - (x >> 31), absolute(x)


@wrong(dtypes=[int32])
def magnitude_by_sign_mask_added(x: Value):
    """Hacker's Delight, 2-4, with the wrong sign."""
    return (x ^ (x >> 31)) + (x >> 31), absolute(x)


@right(dtypes=SIGNED)
def signs_differ(x: Value, y: Value):
    """Bit Twiddling Hacks."""
    return (x ^ y) < 0, (x < 0) != (y < 0)


@wrong(dtypes=SIGNED)
def signs_differ_by_product(x: Value, y: Value):
    """The test of school."""
    return x * y < 0, (x < 0) != (y < 0)


@right(dtypes=[int32])
def sign_as_a_number(x: Value):
    """Hacker's Delight, 2-7; the negative shifted as unsigned."""
    return (x >> 31) | ((-x).bitcast(uint32) >> 31).bitcast(int32), where(x < 0, -1, where(x > 0, 1, 0))


@right(dtypes=[int32])
def minimum_without_a_branch(x: Value, y: Value):
    """Bit Twiddling Hacks."""
    return y ^ ((x ^ y) & -((x < y).cast(int32))), where(x < y, x, y)


@wrong(dtypes=[int32])
def minimum_by_difference(x: Value, y: Value):
    """Bit Twiddling Hacks: right only where x - y does not wrap."""
    return y + ((x - y) & ((x - y) >> 31)), where(x < y, x, y)


@right(dtypes=[int32])
def minimum_by_difference_that_fits(x: Value, y: Value):
    """Bit Twiddling Hacks."""
    given(fits(x - y))
    return y + ((x - y) & ((x - y) >> 31)), where(x < y, x, y)


@right(dtypes=[int32])
def sign_extended_byte_by_shifts(x: Value):
    """Every compiler."""
    return (x << 24) >> 24, x.cast(int8).cast(int32)


@right(dtypes=[int32])
def sign_extended_byte_by_xor(x: Value):
    """Hacker's Delight, 2-5."""
    return ((x & 255) ^ 128) - 128, x.cast(int8).cast(int32)


@wrong(dtypes=[uint32])
def sign_extended_byte_of_unsigned(x: Value):
    """Shifts of an unsigned type extend with zeros."""
    return (x << 24) >> 24, x.cast(int8).cast(uint32)


@right(dtypes=[int32])
def zero_extended_byte(x: Value):
    """Every compiler."""
    return x & 255, x.cast(uint8).cast(int32)


@right(dtypes=[int32])
def unsigned_comparison_by_flipped_signs(x: Value, y: Value):
    """Hacker's Delight, 2-12."""
    flip = -2147483648
    return (x ^ flip) < (y ^ flip), x.bitcast(uint32) < y.bitcast(uint32)


# Overflow ---------------------------------------------------------------------------------------------------------


@right(dtypes=[int32])
def signed_sum_overflows(x: Value, y: Value):
    """Hacker's Delight, 2-13."""
    s = x + y
    return ((x ^ s) & (y ^ s)) < 0, x.cast(int64) + y.cast(int64) != s.cast(int64)


@wrong(dtypes=[int32])
def signed_sum_overflows_by_inputs(x: Value, y: Value):
    """Hacker's Delight, 2-13, miscopied."""
    s = x + y
    return ((x ^ s) & (x ^ y)) < 0, x.cast(int64) + y.cast(int64) != s.cast(int64)


@right(dtypes=[int32])
def signed_difference_overflows(x: Value, y: Value):
    """Hacker's Delight, 2-13."""
    d = x - y
    return ((x ^ y) & (x ^ d)) < 0, x.cast(int64) - y.cast(int64) != d.cast(int64)


@right(dtypes=[uint32])
def unsigned_sum_overflows(x: Value, y: Value):
    """LLVM, InstCombine: uadd.with.overflow."""
    return x + y < x, x.cast(uint64) + y.cast(uint64) > 0xFFFFFFFF


@wrong(dtypes=[int8, int32])
def signed_sum_overflows_as_unsigned(x: Value, y: Value):
    """A security bug of its own: the test of unsigned types."""
    given(y > 0)
    return x + y < x, x == y - 1


@right(dtypes=[uint8, uint32])
def unsigned_product_overflows(x: Value, y: Value):
    """LLVM #45297: the test by division."""
    given(y != 0)
    wide = uint64
    return (x * y) // y != x, x.cast(wide) * y.cast(wide) != (x * y).cast(wide)


@right(dtypes=[uint32])
def unsigned_product_overflows_by_quotient(x: Value, y: Value):
    """LLVM #45297: umul.with.overflow."""
    given(x != 0)
    return 0xFFFFFFFF // x < y, x.cast(uint64) * y.cast(uint64) > 0xFFFFFFFF


@wrong(dtypes=[int8, int32])
def signed_product_overflows(x: Value, y: Value):
    """The least value by -1 passes the test by division."""
    given(y != 0)
    return cdiv(x * y, y) != x, x.cast(int64) * y.cast(int64) != (x * y).cast(int64)


@right(dtypes=[uint8])
def saturating_sum(x: Value, y: Value):
    """LLVM, uadd.sat."""
    wide = x.cast(uint16) + y.cast(uint16)
    return where(x + y < x, 255, x + y), where(wide < 255, wide, 255).cast(uint8)


@right(dtypes=[uint32])
def saturating_sum_by_mask(x: Value, y: Value):
    """Saturation without a branch."""
    s = x + y
    return s | -((s < x).cast(uint32)), where(x > y ^ 0xFFFFFFFF, 0xFFFFFFFF, s)


@right(dtypes=[uint8, uint32])
def saturating_difference(x: Value, y: Value):
    """LLVM, usub.sat."""
    return where(x > y, x - y, 0), maximum(x, y) - y


@wrong(dtypes=[uint8, uint32])
def saturating_difference_after_the_fact(x: Value, y: Value):
    """Clamping what has wrapped already."""
    return maximum(x - y, 0), maximum(x, y) - y


@right(dtypes=[int32])
def saturating_signed_sum(x: Value, y: Value):
    """LLVM, sadd.sat."""
    s = x + y
    overflow = ((x ^ s) & (y ^ s)) < 0
    wide = x.cast(int64) + y.cast(int64)
    clamped = where(wide > 2147483647, 2147483647, where(wide < -2147483648, -2147483648, wide))
    return where(overflow, (x >> 31) ^ 2147483647, s), clamped.cast(int32)


# Averages ---------------------------------------------------------------------------------------------------------


@right(dtypes=[uint8, uint32, int32])
def average_without_overflow(x: Value, y: Value):
    """Hacker's Delight, 2-5."""
    s = x.cast(int64) + y.cast(int64)
    return (x & y) + ((x ^ y) >> 1), (s >> 1).cast(x.dtype)


@right(dtypes=[uint8, uint32])
def average_rounded_up(x: Value, y: Value):
    """Hacker's Delight, 2-5."""
    s = x.cast(uint64) + y.cast(uint64) + 1
    return (x | y) - ((x ^ y) >> 1), (s >> 1).cast(x.dtype)


@wrong(dtypes=[uint8, uint32, int32])
def average_with_overflow(x: Value, y: Value):
    """Binary search, for twenty years."""
    s = x.cast(int64) + y.cast(int64)
    return (x + y) >> 1, (s >> 1).cast(x.dtype)


@right(dtypes=[int8, int32])
def average_of_an_ordered_pair(x: Value, y: Value):
    """Binary search, repaired."""
    given(x >= 0, x <= y)
    return x + ((y - x) >> 1), (x & y) + ((x ^ y) >> 1)


# Counting and moving ----------------------------------------------------------------------------------------------


@right(dtypes=[uint32])
def bytes_reversed_twice(x: Value):
    """LLVM, bswap of bswap."""

    def reverse(v):
        return (v << 24) | ((v & 0xFF00) << 8) | ((v >> 8) & 0xFF00) | (v >> 24)

    return reverse(reverse(x)), x


@wrong(dtypes=[uint32])
def bytes_reversed_with_a_short_mask(x: Value):
    """A mask of one byte too far."""

    def reverse(v):
        return (v << 24) | ((v & 0xFF0000) << 8) | ((v >> 8) & 0xFF00) | (v >> 24)

    return reverse(reverse(x)), x


@right(dtypes=[uint8])
def bits_counted_in_parallel(x: Value):
    """Hacker's Delight, 5-1."""
    a = x - ((x >> 1) & 0x55)
    b = (a & 0x33) + ((a >> 2) & 0x33)
    one_by_one = (x & 1) + ((x >> 1) & 1) + ((x >> 2) & 1) + ((x >> 3) & 1)
    one_by_one = one_by_one + ((x >> 4) & 1) + ((x >> 5) & 1) + ((x >> 6) & 1) + (x >> 7)
    return (b + (b >> 4)) & 0x0F, one_by_one


@right(dtypes=[uint32])
def bits_counted_in_words(x: Value):
    """Hacker's Delight, 5-1: the first step two ways."""
    return x - ((x >> 1) & 0x55555555), (x & 0x55555555) + ((x >> 1) & 0x55555555)


@right(dtypes=[uint32])
def parity_by_folding(x: Value):
    """Hacker's Delight, 5-2: parity of a sum of bits."""
    y = x ^ (x >> 1)
    return (y ^ (y >> 2)) & 1, (x ^ (x >> 1) ^ (x >> 2) ^ (x >> 3)) & 1


@right(dtypes=[uint32])
def rounding_up_to_a_power_is_a_power(x: Value):
    """Hacker's Delight, 3-2."""
    v = x - 1
    for step in (1, 2, 4, 8, 16):
        v = v | (v >> step)
    return ((v + 1) & v) == 0, x == x


@right(dtypes=[uint8, uint32])
def gray_code_of_neighbours(x: Value):
    """Hacker's Delight, 13-1: one bit changes."""
    d = (x ^ (x >> 1)) ^ ((x + 1) ^ ((x + 1) >> 1))
    return (d & (d - 1)) == 0, x == x


# Products ---------------------------------------------------------------------------------------------------------


@right(dtypes=[int32, uint64])
def product_by_an_odd_constant_is_injective(x: Value, y: Value):
    """LLVM, InstCombine: icmp of two products."""
    return x * 3 == y * 3, x == y


@wrong(dtypes=[int32, uint64])
def product_by_an_even_constant_is_injective(x: Value, y: Value):
    """LLVM, InstCombine without the parity."""
    return x * 6 == y * 6, x == y


@right(dtypes=[int8, uint8, int32, uint64])
def product_by_any_odd_constant_is_injective(x: Value, y: Value, c: Const):
    """LLVM, InstCombine: for every odd constant."""
    given((c & 1) == 1)
    return x * c == y * c, x == y


@right(dtypes=[uint32])
def inverse_of_three(x: Value):
    """Hacker's Delight, 10-16."""
    return (x * 3) * 0xAAAAAAAB, x


@right(dtypes=[uint8, uint32])
def newton_doubles_the_bits_of_an_inverse(x: Value):
    """Hacker's Delight, 10-16: x is its own inverse in three bits."""
    given((x & 1) == 1)
    return (x * x) & 7, x * 0 + 1


@right(dtypes=[uint8, int8, uint32])
def product_of_powers_is_a_power(x: Value, y: Value):
    """LLVM, isKnownToBeAPowerOfTwo, or zero."""
    given((x & (x - 1)) == 0, (y & (y - 1)) == 0)
    return ((x * y) & (x * y - 1)) == 0, x == x


@right(dtypes=[int32])
def product_by_minus_a_bit(x: Value, c: Bool):
    """LLVM, InstCombine: mul by a bit."""
    return x * c.cast(int32), x & -(c.cast(int32))


# Nothing said -----------------------------------------------------------------------------------------------------


@vacuous(dtypes=WORDS)
def disjoint_from_itself(x: Value):
    """A mask that is no part of itself."""
    given(x != 0, (x & x) == 0)
    return x + x, x | x


@vacuous(dtypes=[uint8, uint32])
def two_powers_between_neighbours(x: Value, c: Const):
    """No power of two lies strictly between c and 2c."""
    given(c > 0, (c & (c - 1)) == 0, c < 64, x > c, x < 2 * c, (x & (x - 1)) == 0)
    return x % c, x & (c - 1)


@vacuous(dtypes=UNSIGNED)
def unsigned_below_zero(x: Value):
    """A condition that a port from signed types left over."""
    given(x < 0)
    return x >> 1, x // 2
