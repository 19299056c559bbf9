"""Casts and bitcasts: round trips, double rounding, saturation, sign bits."""

import math

from soundline.verify import (
    Bool,
    DTypeVar,
    Interval,
    Value,
    bfloat16,
    bits_at_most,
    bool_,
    cmod,
    fits,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    given,
    index,
    int8,
    int16,
    int32,
    int64,
    ints,
    lossless,
    maximum,
    uint8,
    uint16,
    uint32,
    uint64,
    where,
)

from .form import Histories

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous

FLOATS = (float16, float32, float64, bfloat16, float8_e4m3fn, float8_e5m2)


# Integers ---------------------------------------------------------------------------------------------------------


@right(dtypes=[index], s=ints, t=ints)
def round_trip_through_wider(x: Value["s"], s: DTypeVar, t: DTypeVar):  # noqa: F821
    """XLA: convert of convert."""
    given(lossless(s, t))
    return x.cast(t).cast(s), x


@right(
    dtypes=[index], s=(int8, int32, uint8, uint32), t=(int8, int16, uint32, int64), u=(int8, uint16, int32)
)
def two_truncations(x: Value["s"], s: DTypeVar, t: DTypeVar, u: DTypeVar):  # noqa: F821
    """LLVM, InstCombine: trunc of a cast."""
    given(bits_at_most(u, t))
    return x.cast(t).cast(u), x.cast(u)


@wrong(dtypes=[int32])
def through_a_narrower_type(x: Value):
    """XLA: convert of convert without a look at the middle."""
    return x.cast(int8).cast(int64), x.cast(int64)


@wrong(dtypes=[int8])
def sign_lost_on_the_way(x: Value):
    """LLVM: zext of a value that was signed."""
    return x.cast(uint8).cast(int32), x.cast(int32)


@right(dtypes=[int8])
def sign_kept_on_the_way(x: Value):
    """LLVM: sext, then as unsigned."""
    return x.cast(int32).cast(uint32), x.cast(uint32)


@right(dtypes=[int32])
def sum_narrowed(x: Value, y: Value):
    """LLVM, trunc of add."""
    return (x + y).cast(int8), x.cast(int8) + y.cast(int8)


@right(dtypes=[int32])
def product_narrowed(x: Value, y: Value):
    """LLVM, trunc of mul."""
    return (x * y).cast(int8), x.cast(int8) * y.cast(int8)


@wrong(dtypes=[int32])
def quotient_narrowed(x: Value, y: Value):
    """LLVM, trunc of udiv."""
    given(y > 0)
    return (x // y).cast(int8), x.cast(int8) // y.cast(int8)


@wrong(dtypes=[int32])
def maximum_narrowed(x: Value, y: Value):
    """XLA: a maximum is no sum."""
    return maximum(x, y).cast(int8), maximum(x.cast(int8), y.cast(int8))


@right(dtypes=[int8, uint8])
def quotient_in_a_wider_type(x: Value, y: Value):
    """C's promotions; the least value by -1 wraps on both sides."""
    return (x.cast(int32) // y.cast(int32)).cast(x.dtype), x // y


@right(dtypes=[int8])
def remainder_in_a_wider_type(x: Value, y: Value):
    """C's promotions."""
    return cmod(x.cast(int32), y.cast(int32)).cast(int8), cmod(x, y)


@right(dtypes=[int32])
def comparison_widened(x: Value, y: Value):
    """LLVM: icmp of two sexts."""
    return x.cast(int64) < y.cast(int64), x < y


@wrong(dtypes=[int32])
def comparison_as_unsigned(x: Value, y: Value):
    """C: comparing signed with unsigned."""
    return x.cast(uint32) < y.cast(uint32), x < y


@wrong(dtypes=[uint8])
def sum_widened(x: Value, y: Value):
    """LLVM: zext of add without nuw."""
    return (x + y).cast(int32), x.cast(int32) + y.cast(int32)


@right(dtypes=[uint8])
def sum_that_fits_widened(x: Value, y: Value):
    """LLVM: zext of add nuw."""
    given(fits(x + y))
    return (x + y).cast(int32), x.cast(int32) + y.cast(int32)


# Bools and indices ------------------------------------------------------------------------------------------------


@right(dtypes=[int8, int32, uint64])
def truth_of_a_number(x: Value):
    """Every compiler."""
    return x.cast(bool_), x != 0


@wrong(dtypes=[int32])
def truth_of_a_low_byte(x: Value):
    """A bool read from a byte."""
    return x.cast(int8).cast(bool_), x.cast(bool_)


@right(dtypes=FLOATS)
def truth_of_a_float(x: Value):
    """NaN is true."""
    return x.cast(bool_), ~(x == 0)


@wrong(dtypes=FLOATS)
def truth_of_a_float_by_order(x: Value):
    """NaN is neither less nor greater."""
    return x.cast(bool_), (x < 0) | (x > 0)


@wrong(dtypes=FLOATS)
def truth_of_a_truncated_float(x: Value):
    """XLA: predicates by way of integers."""
    return x.cast(int32).cast(bool_), x.cast(bool_)


@right()
def number_of_a_bool(c: Bool):
    """Every compiler."""
    return c.cast(int32).cast(bool_), c


@right(dtypes=[int32])
def sum_as_index(x: Value, y: Value):
    """Index arithmetic lowered to words."""
    return (x.cast(index) + y.cast(index)).cast(int32), x + y


@wrong(dtypes=[int32])
def wrapped_sum_as_index(x: Value, y: Value):
    """Index arithmetic raised from words."""
    return (x + y).cast(index), x.cast(index) + y.cast(index)


@right(dtypes=[int32])
def fitting_sum_as_index(x: Value, y: Value):
    """Index arithmetic raised from words that do not wrap."""
    given(fits(x + y))
    return (x + y).cast(index), x.cast(index) + y.cast(index)


@right(dtypes=[int32])
def remainder_as_index(x: Value, y: Value):
    """A remainder never wraps."""
    return (x % y).cast(index), x.cast(index) % y.cast(index)


@wrong(dtypes=[int32])
def quotient_as_index(x: Value, y: Value):
    """A quotient does, once."""
    return (x // y).cast(index), x.cast(index) // y.cast(index)


@wrong(dtypes=[index])
def index_in_a_word(x: Value):
    """Indices of large tensors in 32 bits."""
    return x.cast(int32).cast(index), x


@right(dtypes=[index])
def small_index_in_a_word(x: Interval):
    """Indices whose bounds fit."""
    given(x.lo >= -2147483648, x.hi <= 2147483647)
    return x.cast(int32).cast(index), x


# Integers and floats ----------------------------------------------------------------------------------------------


@right(dtypes=[index], s=ints, t=FLOATS)
def integer_through_exact_float(x: Value["s"], s: DTypeVar, t: DTypeVar):  # noqa: F821
    """LLVM, InstCombine: fptosi of sitofp."""
    given(lossless(s, t))
    return x.cast(t).cast(s), x


@wrong(dtypes=[int32])
def word_through_float32(x: Value):
    """LLVM, InstCombine: 2^24 + 1."""
    return x.cast(float32).cast(int32), x


@wrong(dtypes=[int64])
def long_through_float64(x: Value):
    """JavaScript: 2^53 + 1."""
    return x.cast(float64).cast(int64), x


@right(dtypes=[int32])
def bounded_word_through_float32(x: Value):
    """LLVM, InstCombine, up to 2^24."""
    given(x >= -16777216, x <= 16777216)
    return x.cast(float32).cast(int32), x


@wrong(dtypes=[int32])
def word_through_float32_one_too_many(x: Value):
    """LLVM, InstCombine, one beyond 2^24."""
    given(x >= -16777216, x <= 16777217)
    return x.cast(float32).cast(int32), x


@right(dtypes=[int64])
def bounded_long_through_float64(x: Value):
    """JavaScript, up to 2^53."""
    given(x >= -9007199254740992, x <= 9007199254740992)
    return x.cast(float64).cast(int64), x


@wrong(dtypes=[int64])
def long_through_float64_one_too_many(x: Value):
    """JavaScript, one beyond 2^53."""
    given(x >= 0, x <= 9007199254740993)
    return x.cast(float64).cast(int64), x


@right(dtypes=[int32])
def bounded_word_through_bfloat16(x: Value):
    """Labels stored as bfloat16, up to 256."""
    given(x >= 0, x <= 256)
    return x.cast(bfloat16).cast(int32), x


@wrong(dtypes=[int32])
def word_through_bfloat16_one_too_many(x: Value):
    """Labels stored as bfloat16."""
    given(x >= 0, x <= 257)
    return x.cast(bfloat16).cast(int32), x


@right(dtypes=[int32])
def order_of_converted_words(x: Value, y: Value):
    """Rounding is monotone."""
    given(x <= y)
    return x.cast(float32) <= y.cast(float32), x == x


@wrong(dtypes=[int32])
def strict_order_of_converted_words(x: Value, y: Value):
    """Rounding is not strictly so."""
    given(x < y)
    return x.cast(float32) < y.cast(float32), x == x


@right(dtypes=[int32])
def sign_of_a_converted_word(x: Value):
    """LLVM, InstCombine: fcmp of sitofp with 0."""
    return x.cast(float32) < 0, x < 0


@right(dtypes=[int16])
def sum_of_converted_shorts(x: Value, y: Value):
    """LLVM, InstCombine: fadd of two exact sitofps."""
    return x.cast(float32) + y.cast(float32), (x.cast(int32) + y.cast(int32)).cast(float32)


@wrong(dtypes=[int32])
def sum_of_converted_words(x: Value, y: Value):
    """The same where the conversions round."""
    return x.cast(float32) + y.cast(float32), (x.cast(int64) + y.cast(int64)).cast(float32)


@right(dtypes=[float32])
def truncation_before_conversion(x: Value):
    """Both truncate; NaN is 0 either way."""
    return x.trunc().cast(int32), x.cast(int32)


@right(dtypes=[float32])
def truncation_by_conversion(x: Value):
    """Numbers that an int32 holds, and no zero with a sign."""
    given(x >= 1, x <= 1000000)
    return x.cast(int32).cast(float32), x.trunc()


@wrong(dtypes=[float32])
def truncation_by_conversion_of_anything(x: Value):
    """Saturation."""
    given(x >= 0)
    return x.cast(int32).cast(float32), x.trunc()


@wrong(dtypes=[float32])
def truncation_by_conversion_of_small(x: Value):
    """-0.5 truncates to -0.0."""
    given(x > -1, x < 1)
    return x.cast(int32).cast(float32), x.trunc()


@wrong(dtypes=[float32])
def saturation_in_two_steps(x: Value):
    """XLA: saturating and then wrapping."""
    return x.cast(int32).cast(int8), x.cast(int8)


@right(dtypes=[float32])
def saturation_by_clamp(x: Value):
    """Clamped in the wide type first."""
    wide = x.cast(int32)
    low = maximum(wide, wide * 0 - 128)
    return where(low < 127, low, 127).cast(int8), x.cast(int8)


@right(dtypes=[float32, float16])
def unsigned_conversion_of_negatives(x: Value):
    """Negative numbers saturate to 0, and NaN is 0."""
    return maximum(x, 0.0).cast(uint8), x.cast(uint8)


@right(dtypes=[float32])
def whole_floats_do_not_change(x: Value):
    """Every float from 2^23 on is whole."""
    given(x >= 8388608)
    return x.trunc(), x


@wrong(dtypes=[float32])
def half_floats_change(x: Value):
    """From 2^22 on there are halves."""
    given(x >= 4194304)
    return x.trunc(), x


# Floats -----------------------------------------------------------------------------------------------------------


@right(dtypes=[index], s=FLOATS, t=FLOATS)
def float_through_wider(x: Value["s"], s: DTypeVar, t: DTypeVar):  # noqa: F821
    """XLA: convert of convert."""
    given(lossless(s, t))
    return x.cast(t).cast(s), x


@wrong(dtypes=[float32])
def float_through_half(x: Value):
    """XLA: convert of convert without a look at the middle."""
    return x.cast(float16).cast(float32), x


@wrong(dtypes=[float16])
def half_through_bfloat16(x: Value):
    """As many bits, other ones."""
    return x.cast(bfloat16).cast(float16), x


@wrong(dtypes=[float64])
def rounded_twice(x: Value):
    """Double rounding: float64 by way of float32."""
    return x.cast(float32).cast(float16), x.cast(float16)


@right(dtypes=[float32])
def widened_then_rounded_once(x: Value):
    """An exact step first does no harm."""
    return x.cast(float64).cast(float16), x.cast(float16)


@right(dtypes=[float16, bfloat16, float8_e5m2, float8_e4m3fn])
def sum_in_float32(x: Value, y: Value):
    """Figueroa: double rounding of a sum is innocuous from 2p + 2 bits on."""
    return (x.cast(float32) + y.cast(float32)).cast(x.dtype), x + y


@right(dtypes=[float16, bfloat16, float8_e5m2, float8_e4m3fn])
def product_in_float32(x: Value, y: Value):
    """Figueroa: products too."""
    return (x.cast(float32) * y.cast(float32)).cast(x.dtype), x * y


@right(dtypes=[float16, bfloat16])
def quotient_in_float32(x: Value, y: Value):
    """Figueroa: quotients too."""
    return (x.cast(float32) / y.cast(float32)).cast(x.dtype), x / y


@right(dtypes=[float16, bfloat16])
def root_in_float32(x: Value):
    """Figueroa: square roots too."""
    return x.cast(float32).sqrt().cast(x.dtype), x.sqrt()


@right(dtypes=[float32])
def sum_in_float64(x: Value, y: Value):
    """C's FLT_EVAL_METHOD 1, harmless for one operation."""
    return (x.cast(float64) + y.cast(float64)).cast(float32), x + y


@right(dtypes=[float32])
def product_in_float64(x: Value, y: Value):
    """C's FLT_EVAL_METHOD 1, harmless for one operation."""
    return (x.cast(float64) * y.cast(float64)).cast(float32), x * y


@right(dtypes=[float32])
def quotient_in_float64(x: Value, y: Value):
    """C's FLT_EVAL_METHOD 1, harmless for one operation."""
    return (x.cast(float64) / y.cast(float64)).cast(float32), x / y


@wrong(dtypes=[float32])
def two_operations_in_float64(x: Value, y: Value, z: Value):
    """C's FLT_EVAL_METHOD 1: two operations are another matter."""
    return (x.cast(float64) + y.cast(float64) + z.cast(float64)).cast(float32), x + y + z


@wrong(dtypes=[float16, bfloat16])
def multiply_and_add_in_float32(x: Value, y: Value, z: Value):
    """Accumulating in a wider type."""
    return (x.cast(float32) * y.cast(float32) + z.cast(float32)).cast(x.dtype), x * y + z


@wrong(dtypes=[float16])
def sum_in_bfloat16(x: Value, y: Value):
    """Fewer bits than the operands have."""
    return (x.cast(bfloat16) + y.cast(bfloat16)).cast(float16), x + y


@right(dtypes=[float16, bfloat16, float32])
def maximum_in_float64(x: Value, y: Value):
    """Exact operations may be widened."""
    return maximum(x.cast(float64), y.cast(float64)).cast(x.dtype), maximum(x, y)


@right(dtypes=[float16, bfloat16, float32])
def comparison_in_float64(x: Value, y: Value):
    """LLVM: fcmp of two fpexts."""
    return x.cast(float64) < y.cast(float64), x < y


@wrong(dtypes=[float32])
def comparison_in_half(x: Value, y: Value):
    """LLVM: fcmp of two fptruncs."""
    return x.cast(float16) < y.cast(float16), x < y


@right(dtypes=[float32])
def order_survives_rounding(x: Value, y: Value):
    """Rounding is monotone."""
    given(x <= y)
    return x.cast(float16) <= y.cast(float16), x == x


# Bits -------------------------------------------------------------------------------------------------------------


@right(dtypes=[float16, bfloat16])
def half_bits_and_back(x: Value):
    """NaN is one value here."""
    return x.bitcast(uint16).bitcast(x.dtype), x


@right(dtypes=[float32])
def float_bits_and_back(x: Value):
    """NaN is one value here."""
    return x.bitcast(int32).bitcast(float32), x


@right(dtypes=[float8_e4m3fn, float8_e5m2])
def byte_bits_and_back(x: Value):
    """NaN is one value here."""
    return x.bitcast(uint8).bitcast(x.dtype), x


@wrong(dtypes=[int32])
def word_bits_and_back(x: Value):
    """A NaN's payload is not kept."""
    return x.bitcast(float32).bitcast(int32), x


@right(dtypes=[int32])
def unsigned_bits_and_back(x: Value):
    """LLVM, bitcast of bitcast."""
    return x.bitcast(uint32).bitcast(int32), x


@right(dtypes=[float32])
def negation_by_bits(x: Value):
    """LLVM, InstCombine: fneg as xor."""
    return (x.bitcast(uint32) ^ 0x80000000).bitcast(float32), -x


@right(dtypes=[float64])
def long_negation_by_bits(x: Value):
    """LLVM, InstCombine: fneg as xor."""
    return (x.bitcast(uint64) ^ 0x8000000000000000).bitcast(float64), -x


@wrong(dtypes=[float32])
def negation_of_bits(x: Value):
    """LLVM: the bits of a negated NaN."""
    return x.bitcast(uint32) ^ 0x80000000, (-x).bitcast(uint32)


@right(dtypes=[float32])
def magnitude_by_bits(x: Value):
    """LLVM, InstCombine: fabs as and."""
    return (x.bitcast(uint32) & 0x7FFFFFFF).bitcast(float32), maximum(x, -x)


@right(dtypes=[float16])
def half_magnitude_by_bits(x: Value):
    """LLVM, InstCombine: fabs as and."""
    return (x.bitcast(uint16) & 0x7FFF).bitcast(float16), maximum(x, -x)


@wrong(dtypes=[float32])
def sign_by_bits(x: Value):
    """-0.0 has a sign and is not less than 0."""
    return x.bitcast(int32) < 0, x < 0


@right(dtypes=[float32])
def infinity_by_bits(x: Value):
    """Every library of mathematics."""
    return (x.bitcast(uint32) & 0x7FFFFFFF) == 0x7F800000, (x == math.inf) | (x == -math.inf)


@right(dtypes=[float32])
def order_by_bits(x: Value, y: Value):
    """Radix sort of positive floats."""
    given(x > 0, y > 0)
    return x.bitcast(int32) < y.bitcast(int32), x < y


@wrong(dtypes=[float32])
def order_by_bits_of_naturals(x: Value, y: Value):
    """Radix sort: -0.0 is not below 0."""
    given(x >= 0, y >= 0)
    return x.bitcast(int32) < y.bitcast(int32), x < y


@right(dtypes=[float32])
def doubled_by_exponent(x: Value):
    """ldexp on normal numbers."""
    given(x >= 1, x <= 1000000)
    return (x.bitcast(int32) + 8388608).bitcast(float32), x * 2


@wrong(dtypes=[float32])
def doubled_by_exponent_of_subnormals(x: Value):
    """ldexp on subnormal ones."""
    given(x > 0, x <= 1000000)
    return (x.bitcast(int32) + 8388608).bitcast(float32), x * 2


@right(dtypes=[float32])
def next_float_by_bits(x: Value):
    """nextafter."""
    given(x > 0, x < math.inf)
    return (x.bitcast(int32) + 1).bitcast(float32) > x, x == x


@vacuous(dtypes=[int32])
def narrowed_beyond_its_range(x: Value):
    """No int8 is above 127."""
    given(x.cast(int8).cast(int32) > 127)
    return x.cast(int8), x.cast(int8) + 0


@vacuous(dtypes=[float32])
def converted_beyond_saturation(x: Value):
    """A conversion saturates."""
    given(x.cast(int8).cast(int32) > 127)
    return x.cast(int32), x.cast(int32) + 0


@vacuous(dtypes=[int32])
def nothing_lossless(x: Value):
    """A typing slip: both sides are one term."""
    return x.cast(int8), x.cast(int8)
