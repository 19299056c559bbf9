"""Shifts by constants and variables: counts at and beyond the width are where histories differ."""

from __future__ import annotations

from soundline.verify import (
    Const,
    Value,
    cdiv,
    claim,
    fits,
    given,
    index,
    int8,
    int32,
    int64,
    uint8,
    uint32,
    uint64,
    where,
)

from .form import Histories

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous

WORDS = (int8, int32, uint8, uint64)
SIGNED = (int8, int32, int64)
UNSIGNED = (uint8, uint32, uint64)


@right(dtypes=WORDS)
def double_by_shift(x: Value):
    """Every compiler."""
    return x << 1, x + x


@right(dtypes=WORDS)
def product_by_shifted_one(x: Value, k: Value):
    """LLVM, InstCombine; at every count."""
    return x * ((x * 0 + 1) << k), x << k


@right(dtypes=WORDS)
def nine_times(x: Value):
    """Strength reduction."""
    return x * 9, (x << 3) + x


@right(dtypes=WORDS)
def seven_times(x: Value):
    """Strength reduction."""
    return x * 7, (x << 3) - x


@wrong(dtypes=WORDS)
def six_times(x: Value):
    """Strength reduction, badly done."""
    return x * 6, (x << 3) - x


@right(dtypes=[index])
def index_shifts(x: Value):
    """Shifts of indices are products and quotients."""
    return ((x << 3) + 5) >> 3, x


@right(dtypes=[index, int8, int32])
def floor_by_shift(x: Value):
    """The floor is the arithmetic shift."""
    return x // 8, x >> 3


@right(dtypes=WORDS)
def shift_by_nothing(x: Value):
    """Every compiler."""
    return (x << 0) >> 0, x


@right(dtypes=[int32, uint32])
def shift_of_shift_right(x: Value, a: Value, b: Value):
    """LLVM, InstCombine: counts that are below the width."""
    given(a >= 0, a < 32, b >= 0, b < 32)
    return (x >> a) >> b, x >> (a + b)


@wrong(dtypes=[int8, uint8, int32, uint32])
def shift_of_shift_right_by_anything(x: Value, a: Value, b: Value):
    """LLVM, InstCombine: the sum of the counts wraps."""
    return (x >> a) >> b, x >> (a + b)


@right(dtypes=[int32, uint32])
def shift_of_shift_left(x: Value, a: Value, b: Value):
    """LLVM, InstCombine."""
    given(a >= 0, a < 32, b >= 0, b < 32)
    return (x << a) << b, x << (a + b)


@right(dtypes=[uint32])
def shift_left_then_right(x: Value, c: Value):
    """LLVM, InstCombine: a mask of low bits."""
    return (x << c) >> c, x & (0xFFFFFFFF >> c)


@wrong(dtypes=[int32])
def signed_shift_left_then_right(x: Value, c: Value):
    """LLVM, InstCombine: shl and ashr extend a sign."""
    given(c >= 0, c < 32)
    return (x << c) >> c, x & (2147483647 >> c)


@right(dtypes=[uint32])
def shift_right_then_left(x: Value, c: Value):
    """LLVM, InstCombine: a mask of high bits."""
    return (x >> c) << c, x & (0xFFFFFFFF << c)


@right(dtypes=WORDS)
def low_bits_cleared(x: Value, c: Value):
    """LLVM, InstCombine, for every count."""
    return (x >> c) << c, x & -((x * 0 + 1) << c)


@right(dtypes=WORDS)
def shift_that_loses_nothing(x: Value, c: Value):
    """LLVM, nsw and nuw of shl."""
    given(fits(x << c))
    return (x << c) >> c, x


@wrong(dtypes=WORDS)
def shift_that_loses_bits(x: Value, c: Value):
    """LLVM, shl without its flags."""
    return (x << c) >> c, x


@right(dtypes=WORDS)
def zero_after_a_shift_that_fits(x: Value, c: Value):
    """LLVM, InstCombine: icmp eq (shl nsw X, C), 0."""
    given(fits(x << c))
    return (x << c) == 0, x == 0


@wrong(dtypes=WORDS)
def zero_after_a_shift(x: Value, c: Value):
    """LLVM, InstCombine without nsw."""
    return (x << c) == 0, x == 0


@right(dtypes=[uint32])
def shorter_shift_right(x: Value, a: Value, b: Value):
    """LLVM, InstCombine: shl then lshr by less."""
    given(b <= a, a < 32)
    return (x << a) >> b, (x << (a - b)) & (0xFFFFFFFF >> b)


@wrong(dtypes=[uint32])
def shorter_shift_right_without_mask(x: Value, a: Value, b: Value):
    """LLVM, InstCombine: the mask forgotten."""
    given(b <= a, a < 32)
    return (x << a) >> b, x << (a - b)


@right(dtypes=[int32])
def arithmetic_is_logical_for_naturals(x: Value, c: Value):
    """LLVM, InstCombine: ashr to lshr."""
    given(x >= 0)
    return x >> c, (x.bitcast(uint32) >> c.bitcast(uint32)).bitcast(int32)


@wrong(dtypes=[int32])
def arithmetic_is_logical(x: Value, c: Value):
    """LLVM, InstCombine: ashr to lshr of anything."""
    return x >> c, (x.bitcast(uint32) >> c.bitcast(uint32)).bitcast(int32)


@right(dtypes=[int32])
def arithmetic_from_logical(x: Value, c: Value):
    """Hacker's Delight, 2-7."""
    given(c >= 0, c < 32)
    sign = (c * 0 - 2147483648).bitcast(uint32) >> c.bitcast(uint32)
    logical = x.bitcast(uint32) >> c.bitcast(uint32)
    return x >> c, ((logical ^ sign) - sign).bitcast(int32)


@right(dtypes=[int32])
def sign_fill(x: Value, c: Value):
    """Counts at the width and beyond it."""
    given(c >= 31)
    return x >> c, where(x < 0, -1, 0)


@wrong(dtypes=[int32])
def sign_fill_too_early(x: Value, c: Value):
    """One less."""
    given(c >= 30)
    return x >> c, where(x < 0, -1, 0)


@right(dtypes=[int32])
def nothing_left(x: Value, c: Value):
    """Counts at the width; a negative count is a large one."""
    given((c >= 32) | (c < 0))
    return x << c, x * 0


@wrong(dtypes=[int32])
def masked_count(x: Value, c: Value):
    """x86 takes a count modulo the width."""
    return x << c, x << (c & 31)


@right(dtypes=[int32])
def masked_count_in_range(x: Value, c: Value):
    """Counts for which hardware and law agree."""
    given(c >= 0, c < 32)
    return x << c, x << (c & 31)


@right(dtypes=WORDS)
def shift_over_and(x: Value, y: Value, c: Value):
    """Cranelift, shifts.isle."""
    return (x & y) << c, (x << c) & (y << c)


@right(dtypes=WORDS)
def shift_over_xor(x: Value, y: Value, c: Value):
    """Cranelift, shifts.isle."""
    return (x ^ y) >> c, (x >> c) ^ (y >> c)


@right(dtypes=WORDS)
def left_shift_over_sum(x: Value, y: Value, c: Value):
    """LLVM, InstCombine: wrapping keeps it."""
    return (x + y) << c, (x << c) + (y << c)


@wrong(dtypes=WORDS)
def right_shift_over_sum(x: Value, y: Value, c: Value):
    """A carry from below."""
    return (x + y) >> c, (x >> c) + (y >> c)


@right(dtypes=SIGNED)
def shift_of_complement(x: Value, c: Value):
    """LLVM, InstCombine: ashr of a not."""
    return (x ^ -1) >> c, (x >> c) ^ -1


@wrong(dtypes=[uint8])
def unsigned_shift_of_complement(x: Value, c: Value):
    """LLVM, InstCombine: lshr of a not."""
    return (x ^ 255) >> c, (x >> c) ^ 255


@right(dtypes=WORDS)
def shift_is_monotone(x: Value, y: Value, c: Value):
    """LLVM, InstCombine."""
    given(x <= y)
    return (x >> c) <= (y >> c), x == x


@wrong(dtypes=WORDS)
def left_shift_is_monotone(x: Value, y: Value, c: Value):
    """LLVM, InstCombine without nsw."""
    given(x <= y)
    return (x << c) <= (y << c), x == x


# Bit tests --------------------------------------------------------------------------------------------------------


@right(dtypes=[uint32])
def bit_test(x: Value, c: Value):
    """LLVM #47012: at every count, of unsigned types."""
    return ((x >> c) & 1) != 0, (x & (1 << c)) != 0


@wrong(dtypes=[int8, int32])
def signed_bit_test(x: Value, c: Value):
    """LLVM #47012: the count must be below the width."""
    return ((x >> c) & 1) != 0, (x & ((x * 0 + 1) << c)) != 0


@right(dtypes=[int32])
def signed_bit_test_in_range(x: Value, c: Value):
    """LLVM #47012, with its condition."""
    given(c >= 0, c < 32)
    return ((x >> c) & 1) != 0, (x & (1 << c)) != 0


@right(dtypes=[uint8])
def sign_of_a_count(x: Value):
    """LLVM #72927: a count taken for signed does no harm where its sign bit is beyond the width."""
    one = x.cast(uint64) * 0 + 1
    return one << x.cast(uint64), one << x.bitcast(int8).cast(int64).bitcast(uint64)


@wrong(dtypes=[uint8])
def sign_of_a_narrow_count(x: Value):
    """LLVM #72927, scaled down: with five bits of count the sign matters."""
    one = x.cast(uint64) * 0 + 1
    return one << (x & 31).cast(uint64), one << ((x << 3).bitcast(int8) >> 3).cast(int64).bitcast(uint64)


@wrong(dtypes=[uint32])
def field_moved_by_a_rotation(x: Value):
    """LLVM #55201: an insertion of bits became a rotation."""
    rotated = (x >> 27) | (x << 5)
    return ((x | 1) << 5) | ((x >> 27) & 1), rotated | 32


@right(dtypes=[uint32])
def field_moved(x: Value):
    """LLVM #55201, with the bits masked that the rotation brought in."""
    rotated = (x >> 27) | (x << 5)
    return ((x | 1) << 5) | ((x >> 27) & 1), (rotated & 0xFFFFFFE1) | 32


# Rotations --------------------------------------------------------------------------------------------------------


@right(dtypes=[uint32])
def rotation_and_back(x: Value, k: Value):
    """Every library of cryptography."""
    given(k > 0, k < 32)
    there = (x << k) | (x >> (32 - k))
    return (there >> k) | (there << (32 - k)), x


@wrong(dtypes=[int32])
def signed_rotation_and_back(x: Value, k: Value):
    """Rotating a signed type."""
    given(k > 0, k < 32)
    there = (x << k) | (x >> (32 - k))
    return (there >> k) | (there << (32 - k)), x


@right(dtypes=[uint32])
def rotation_by_masked_counts(x: Value, k: Value):
    """Rotations that need no test of zero."""
    given(k < 32)
    return (x << (k & 31)) | (x >> ((0 - k) & 31)), (x << k) | (x >> (32 - k))


@wrong(dtypes=[uint32])
def rotation_by_unmasked_counts(x: Value, k: Value):
    """LLVM #63064: a test of zero is no test of the width."""
    return where(k == 0, x, (x << k) | (x >> (32 - k))), (x << (k & 31)) | (x >> ((0 - k) & 31))


@right(dtypes=[uint32])
def rotations_add(x: Value):
    """LLVM, fshl of fshl."""
    once = (x << 5) | (x >> 27)
    return (once << 7) | (once >> 25), (x << 12) | (x >> 20)


@right(dtypes=[uint32])
def rotation_by_sum(x: Value, k: Value):
    """A rotation has no bits in common with itself."""
    given(k > 0, k < 32)
    return (x << k) + (x >> (32 - k)), (x << k) | (x >> (32 - k))


# Widths -----------------------------------------------------------------------------------------------------------


@wrong(dtypes=[uint32])
def address_of_a_shifted_index(x: Value):
    """Wasmtime, CVE-2023-26489: the shift moved out of its 32 bits."""
    return (x << 3).cast(uint64), x.cast(uint64) << 3


@right(dtypes=[uint32])
def address_of_a_shifted_index_that_fits(x: Value):
    """Wasmtime, CVE-2023-26489, where nothing is shifted out."""
    given(fits(x << 3))
    return (x << 3).cast(uint64), x.cast(uint64) << 3


@right(dtypes=[uint32])
def address_of_a_masked_index(x: Value):
    """Wasmtime, CVE-2023-26489, repaired by a mask."""
    return (x << 3).cast(uint64), (x.cast(uint64) << 3) & 0xFFFFFFFF


@right(dtypes=[int32])
def narrowed_left_shift(x: Value):
    """LLVM, trunc of shl."""
    return (x << 3).cast(int8), x.cast(int8) << 3


@wrong(dtypes=[int32])
def narrowed_right_shift(x: Value):
    """LLVM, trunc of lshr."""
    return (x >> 3).cast(int8), x.cast(int8) >> 3


@wrong(dtypes=[uint8])
def widened_left_shift(x: Value):
    """Cranelift #3906's kind: bits above a narrow value."""
    return (x.cast(uint32) << 4).cast(uint64), (x << 4).cast(uint64)


# Of the mathematical integers, by a count that is not known ---------------------------------------------------------


@right(dtypes=[index])
def index_shifted_up_and_down(x: Value, c: Const):
    """Halide: nothing is lost, whatever the count."""
    return (x << c) >> c, x


@right(dtypes=[index])
def index_shifted_twice(x: Value, c: Const, d: Const):
    """LLVM, InstCombine: counts are added, and no sum of them is too great."""
    return (x << c) << d, x << (c + d)


@right(dtypes=[index])
def index_shifted_down_twice(x: Value, c: Const, d: Const):
    """The same downwards, of negative numbers too."""
    return (x >> c) >> d, x >> (c + d)


@right(dtypes=[index])
def index_shifted_up_further_than_down(x: Value, c: Const, d: Const):
    """LLVM, InstCombine: the difference of the counts."""
    given(d <= c)
    return (x << c) >> d, x << (c - d)


@right(dtypes=[index])
def index_shifted_down_further_than_up(x: Value, c: Const, d: Const):
    """The same the other way."""
    given(c <= d)
    return (x << c) >> d, x >> (d - c)


@right(dtypes=[index])
def index_shift_as_a_product(x: Value, c: Const):
    """Every compiler that multiplies by powers of two."""
    return x << c, x * (1 << c)


@right(dtypes=[index])
def index_shift_as_a_quotient(x: Value, c: Const):
    """A floor, as an arithmetic shift rounds."""
    return x >> c, x // (1 << c)


@right(dtypes=[index])
def index_low_bits_cleared(x: Value, c: Const):
    """Hacker's Delight: rounding down to a multiple of a power of two."""
    return (x >> c) << c, x - x % (1 << c)


@right(dtypes=[index])
def index_field_above_another(x: Value, y: Value, c: Const):
    """Addresses put together of a page and an offset."""
    given(y >= 0, y < (1 << c))
    return ((x << c) + y) >> c, x


@right(dtypes=[index])
def index_shifts_of_a_sum(x: Value, y: Value, c: Const):
    """A common factor."""
    return (x << c) - (y << c), (x - y) << c


@right(dtypes=[index])
def index_shifts_compared(x: Value, y: Value, c: Const):
    """Powers of two are positive."""
    return (x << c) < (y << c), x < y


@right(dtypes=[index])
def power_of_two_is_greater_than_its_exponent(c: Const):
    """Used to bound logarithms."""
    given(c >= 0)
    return claim((1 << c) > c)


@wrong(dtypes=[index])
def index_shifted_down_and_up(x: Value, c: Const):
    """The low bits are gone."""
    return (x >> c) << c, x


@wrong(dtypes=[index])
def index_shifted_by_the_product(x: Value, c: Const, d: Const):
    """Counts multiplied."""
    return (x << c) << d, x << (c * d)


@wrong(dtypes=[index])
def index_shifted_by_a_negative_difference(x: Value, c: Const, d: Const):
    """Nothing is shifted by a negative count."""
    return (x << c) >> d, x << (c - d)


@wrong(dtypes=[index])
def index_shifted_where_nothing_was(x: Value, c: Const):
    """The other way around, where nothing says that the count is not negative."""
    return x, (x << c) >> c


@wrong(dtypes=[index])
def index_shift_as_a_truncated_quotient(x: Value, c: Const):
    """C rounds toward zero."""
    return x >> c, cdiv(x, 1 << c)


@wrong(dtypes=[index])
def index_shifts_of_a_rounded_sum(x: Value, y: Value, c: Const):
    """Carries are lost."""
    return (x >> c) + (y >> c), (x + y) >> c


@vacuous(dtypes=[index])
def index_shifted_by_negative_counts(x: Value, c: Const):
    """No left side has a value."""
    given(c < 0)
    return x << c, x


@vacuous(dtypes=WORDS)
def count_in_and_out_of_range(x: Value, c: Value):
    """Two conditions on a count."""
    given(c >= 8, c < 8)
    return x << c, x * 0


@vacuous(dtypes=[uint32])
def high_bit_after_a_shift(x: Value, c: Value):
    """A logical shift clears the highest bit."""
    given(c > 0, (x >> c) >= 0x80000000)
    return x >> c, x
