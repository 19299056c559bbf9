"""Values with known bounds: TVM's const_int_bound, Halide's bounds inference, LLVM's ranges."""

from __future__ import annotations

import math

from soundline.verify import (
    Const,
    Interval,
    Size,
    Value,
    cdiv,
    fits,
    float8_e5m2,
    float16,
    float32,
    float64,
    floats,
    given,
    index,
    int8,
    int32,
    maximum,
    uint32,
    uint64,
    where,
)

from .form import Histories, absolute

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous

SOME = (index, int8, int32, uint64)
SIGNED = (index, int8, int32)
WITH_INFINITY = (float16, float32, float64, float8_e5m2)


@right(dtypes=SOME)
def quotient_is_known(x: Interval, c: Const):
    """TVM, rewrite_simplify: both ends have one quotient."""
    given(c > 0, x.lo // c == x.hi // c)
    return x // c, x.lo // c


@wrong(dtypes=SOME)
def quotient_of_a_short_interval(x: Interval, c: Const):
    """A short interval may lie across a multiple."""
    given(c > 0, fits(x.hi - x.lo), x.hi - x.lo < c)
    return x // c, x.lo // c


@right(dtypes=SOME)
def remainder_is_a_difference(x: Interval, c: Const):
    """TVM, rewrite_simplify."""
    given(c > 0, x.lo // c == x.hi // c)
    return x % c, x - (x.lo // c) * c


@right(dtypes=SOME)
def less_everywhere(x: Interval, y: Interval):
    """LLVM, ConstantRange."""
    given(x.hi < y.lo)
    return x < y, x == x


@wrong(dtypes=SOME)
def less_where_ends_meet(x: Interval, y: Interval):
    """LLVM, ConstantRange, off by one."""
    given(x.hi <= y.lo)
    return x < y, x == x


@right(dtypes=SOME)
def less_nowhere(x: Interval, y: Interval):
    """LLVM, ConstantRange."""
    given(x.lo >= y.hi)
    return x < y, x != x


@right(dtypes=SOME)
def greater_of_two(x: Interval, y: Interval):
    """Halide, Simplify_Max."""
    given(x.lo >= y.hi)
    return maximum(x, y), x


@wrong(dtypes=SOME)
def greater_end_of_two(x: Interval, y: Interval):
    """Halide, Simplify_Max with the wrong end."""
    given(x.hi >= y.hi)
    return maximum(x, y), x


@right(dtypes=SOME)
def clamp_falls_away(x: Interval, lo: Const, hi: Const):
    """Halide, Simplify: clamps that bounds make needless."""
    given(x.lo >= lo, x.hi <= hi)
    clamped = maximum(x, lo)
    return where(clamped < hi, clamped, hi), x


@wrong(dtypes=SOME)
def clamp_falls_away_one_sided(x: Interval, lo: Const, hi: Const):
    """One end was not looked at."""
    given(x.lo >= lo, lo <= hi)
    clamped = maximum(x, lo)
    return where(clamped < hi, clamped, hi), x


@right(dtypes=SOME)
def product_of_naturals(x: Interval, y: Interval, c: Const):
    """TVM, const_int_bound of Mul."""
    given(x.lo >= 0, y.lo >= 0, fits(x.hi * y.hi), x.hi * y.hi < c)
    return x * y < c, x == x


@wrong(dtypes=SIGNED)
def product_of_anything(x: Interval, y: Interval, c: Const):
    """TVM, const_int_bound of Mul: two negative ends."""
    given(fits(x * y), fits(x.hi * y.hi), x.hi * y.hi < c)
    return x * y < c, x == x


@right(dtypes=[index])
def product_by_four_corners(x: Interval, y: Interval, c: Const):
    """Interval arithmetic."""
    given(x.lo * y.lo <= c, x.lo * y.hi <= c, x.hi * y.lo <= c, x.hi * y.hi <= c)
    return x * y <= c, x == x


@right(dtypes=SOME)
def sum_is_bounded(x: Interval, y: Interval, c: Const):
    """LLVM, ConstantRange."""
    given(fits(x.hi + y.hi), fits(x.lo + y.lo), x.hi + y.hi < c)
    return x + y < c, x == x


@wrong(dtypes=SOME, but=[index])
def wrapped_sum_is_bounded(x: Interval, y: Interval, c: Const):
    """LLVM, ConstantRange of a sum that wraps below."""
    given(x.hi + y.hi < c)
    return x + y < c, x == x


@right(dtypes=SIGNED)
def difference_is_bounded(x: Interval, y: Interval):
    """Interval arithmetic."""
    given(fits(x.hi - y.lo), fits(x.lo - y.hi))
    return x - y <= x.hi - y.lo, x == x


@wrong(dtypes=SIGNED)
def difference_is_bounded_by_upper_ends(x: Interval, y: Interval):
    """Interval arithmetic, as it is first written."""
    given(fits(x.hi - y.lo), fits(x.lo - y.hi))
    return x - y <= x.hi - y.hi, x == x


@right(dtypes=SIGNED)
def magnitude_of_a_natural(x: Interval):
    """Halide, Simplify: abs."""
    given(x.lo >= 0)
    return absolute(x), x


@right(dtypes=SIGNED)
def magnitude_of_a_negative(x: Interval):
    """Halide, Simplify: abs."""
    given(x.hi <= 0)
    return absolute(x), -x


@right(dtypes=SOME)
def single_value(x: Interval):
    """LLVM: a range of one element is a constant."""
    given(x.lo == x.hi)
    return x, x.lo


@right(dtypes=SOME)
def small_remainder(x: Interval, c: Const):
    """TVM, rewrite_simplify."""
    given(x.lo >= 0, x.hi < c)
    return x % c, x


@right(dtypes=SIGNED)
def negative_window(x: Interval, c: Const):
    """TVM, rewrite_simplify."""
    given(c > 0, x.lo >= -c, x.hi < 0)
    return x % c, x + c


@right(dtypes=SOME)
def next_window(x: Interval, c: Const):
    """TVM, rewrite_simplify."""
    given(c > 0, x.lo >= c, fits(2 * c), x.hi < 2 * c)
    return x % c, x - c


@wrong(dtypes=SOME)
def next_window_and_its_end(x: Interval, c: Const):
    """Off by one."""
    given(c > 0, x.lo >= c, fits(2 * c), x.hi <= 2 * c)
    return x % c, x - c


@right(dtypes=[index, int32])
def flattened_quotient(x: Value, y: Interval, c: Const):
    """TVM, iter_affine_map."""
    given(c > 0, y.lo >= 0, y.hi < c, fits(x * c + y))
    return (x * c + y) // c, x


@wrong(dtypes=[index, int32])
def flattened_quotient_with_padding(x: Value, y: Interval, c: Const):
    """An index that begins at -1."""
    given(c > 0, y.lo >= -1, y.hi < c, fits(x * c + y))
    return (x * c + y) // c, x


@right(dtypes=[int32])
def narrowing_keeps_small_values(x: Interval):
    """XLA, narrowing of types."""
    given(x.lo >= -128, x.hi <= 127)
    return x.cast(int8).cast(int32), x


@wrong(dtypes=[int32])
def narrowing_keeps_one_too_many(x: Interval):
    """Off by one."""
    given(x.lo >= -128, x.hi <= 128)
    return x.cast(int8).cast(int32), x


@right(dtypes=[int32])
def signed_compares_as_unsigned(x: Interval, y: Interval):
    """LLVM, CorrelatedValuePropagation."""
    given(x.lo >= 0, y.lo >= 0)
    return x.bitcast(uint32) < y.bitcast(uint32), x < y


@wrong(dtypes=[int32])
def signed_compares_as_unsigned_half_known(x: Interval, y: Value):
    """One side may be negative."""
    given(x.lo >= 0)
    return x.bitcast(uint32) < y.bitcast(uint32), x < y


@right(dtypes=[int32])
def division_becomes_a_shift(x: Interval):
    """LLVM, CorrelatedValuePropagation: sdiv to udiv."""
    given(x.lo >= 0)
    return cdiv(x, 8), x >> 3


@right(dtypes=[int32])
def mask_falls_away(x: Interval):
    """LLVM, demanded bits."""
    given(x.lo >= 0, x.hi <= 255)
    return x & 255, x


@wrong(dtypes=[int32])
def mask_falls_away_too_early(x: Interval):
    """LLVM, demanded bits, off by one."""
    given(x.lo >= 0, x.hi <= 256)
    return x & 255, x


@right(dtypes=[int32])
def carry_free_sum_is_or(x: Interval, y: Interval):
    """LLVM: add of values without common bits."""
    given(x.lo >= 0, x.hi < 16, y.lo >= 0, y.hi < 8)
    return x * 16 + y, (x << 4) | y


@wrong(dtypes=[int32])
def carrying_sum_is_or(x: Interval, y: Interval):
    """The fields overlap."""
    given(x.lo >= 0, x.hi < 16, y.lo >= 0, y.hi < 32)
    return x * 16 + y, (x << 4) | y


@right(dtypes=SIGNED)
def sum_of_naturals_grows(x: Interval, y: Interval):
    """No wrap, from the upper ends."""
    given(x.lo >= 0, y.lo >= 0, fits(x.hi + y.hi))
    return x + y >= x, x == x


@right(dtypes=[index])
def window_of_a_convolution(i: Interval, k: Interval, n: Size):
    """Bounds of a padded access."""
    given(i.lo >= 0, i.hi < n, k.lo >= 0, k.hi < 3)
    return (i + k - 1 >= -1) & (i + k - 1 <= n), i == i


# Floats -----------------------------------------------------------------------------------------------------------


@right(dtypes=floats)
def positive_relu(x: Interval):
    """XLA: the bound excludes NaN and zero."""
    given(x.lo > 0)
    return maximum(x, 0.0), x


@wrong(dtypes=floats)
def natural_relu(x: Interval):
    """-0.0 is not less than 0."""
    given(x.lo >= 0)
    return maximum(x, 0.0), x


@right(dtypes=floats)
def ordered_floats(x: Interval, y: Interval):
    """XLA: comparisons that bounds decide."""
    given(x.hi < y.lo)
    return x < y, y > x


@right(dtypes=floats)
def decided_comparison(x: Interval, c: Const):
    """An interval holds no NaN."""
    given(x.hi <= c)
    return (x <= c) | (c < x), c == c


@right(dtypes=WITH_INFINITY)
def finite_minus_itself(x: Interval):
    """LLVM, isKnownNeverInfinity."""
    given(x.hi < math.inf, x.lo > -math.inf)
    return x - x, 0.0


@wrong(dtypes=WITH_INFINITY)
def number_minus_itself(x: Interval):
    """An infinity is no NaN, but minus itself it is."""
    given(x.lo <= x.hi)
    return x - x, 0.0


@right(dtypes=WITH_INFINITY)
def positive_times_zero(x: Interval):
    """LLVM, InstSimplify with known signs."""
    given(x.lo > 0, x.hi < math.inf)
    return x * 0.0, 0.0


@wrong(dtypes=WITH_INFINITY)
def natural_times_zero(x: Interval):
    """-0.0 times 0 is -0.0."""
    given(x.lo >= 0, x.hi < math.inf)
    return x * 0.0, 0.0


@right(dtypes=floats)
def root_is_a_number(x: Interval):
    """LLVM, cannotBeNegative."""
    given(x.lo >= 0)
    return x.sqrt() >= 0, x == x


@wrong(dtypes=floats)
def root_is_always_a_number(x: Interval):
    """A negative number has none."""
    given(x.lo <= 1)
    return x.sqrt() >= 0, x == x


@vacuous(dtypes=SOME)
def empty_interval(x: Interval):
    """Bounds the wrong way round."""
    given(x.lo > x.hi)
    return x + 1, x


@vacuous(dtypes=SOME)
def interval_between_nothing(x: Interval, c: Const):
    """Above its upper end."""
    given(x.hi < c, c < x.lo)
    return x % c, x


@vacuous(dtypes=floats)
def empty_float_interval(x: Interval, c: Const):
    """Above its upper end."""
    given(x.hi < c, x.lo > c)
    return x + c, x
