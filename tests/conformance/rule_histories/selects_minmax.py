"""Choices, minima, maxima and clamps: Halide's towers, LLVM's selects, XLA's relus."""

from __future__ import annotations

from soundline.verify import (
    Bool,
    Const,
    Value,
    bfloat16,
    fits,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    given,
    index,
    int8,
    int32,
    maximum,
    uint8,
    uint64,
    where,
)

from .form import Histories, absolute, minimum

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous

SOME = (index, int8, int32, uint8, uint64)
SIGNED = (index, int8, int32)
FLOATS = (float16, float32, float64, bfloat16, float8_e4m3fn, float8_e5m2)
ANY = (*SOME, *FLOATS)


# Choices ----------------------------------------------------------------------------------------------------------


@right()
def choice_between_equals(c: Bool, x: Value):
    """Every compiler."""
    return where(c, x, x), x


@right()
def choice_inside_the_chosen(c: Bool, x: Value, y: Value, z: Value):
    """LLVM, InstCombine."""
    return where(c, where(c, x, y), z), where(c, x, z)


@right()
def choice_inside_the_other(c: Bool, x: Value, y: Value, z: Value):
    """LLVM, InstCombine."""
    return where(c, x, where(c, y, z)), where(c, x, z)


@wrong(dtypes=ANY)
def choice_inside_mistaken(c: Bool, x: Value, y: Value, z: Value):
    """LLVM, InstCombine with the other arm."""
    return where(c, x, where(c, y, z)), where(c, x, y)


@right(dtypes=ANY)
def choices_joined_by_and(a: Bool, b: Bool, x: Value, y: Value):
    """tinygrad's gates, by fact: nested validity is one validity."""
    return where(a, where(b, x, y), y), where(a & b, x, y)


@wrong(dtypes=ANY)
def choices_joined_by_or(a: Bool, b: Bool, x: Value, y: Value):
    """And for or."""
    return where(a, where(b, x, y), y), where(a | b, x, y)


@right(dtypes=ANY)
def alternatives_joined_by_or(a: Bool, b: Bool, x: Value, y: Value):
    """LLVM, SimplifyCFG."""
    return where(a, x, where(b, x, y)), where(a | b, x, y)


@right(dtypes=ANY)
def choices_exchanged(a: Bool, b: Bool, x: Value, y: Value, z: Value, w: Value):
    """Two conditions in either order."""
    return where(a, where(b, x, y), where(b, z, w)), where(b, where(a, x, z), where(a, y, w))


@right(dtypes=ANY)
def sum_of_choices(c: Bool, x: Value, y: Value, z: Value, w: Value):
    """LLVM, InstCombine."""
    return where(c, x, y) + where(c, z, w), where(c, x + z, y + w)


@wrong(dtypes=ANY)
def sum_of_opposite_choices(c: Bool, x: Value, y: Value, z: Value, w: Value):
    """LLVM, InstCombine with one condition negated."""
    return where(c, x, y) + where(~c, z, w), where(c, x + z, y + w)


@right(dtypes=SOME)
def chosen_or_zero(c: Bool, x: Value):
    """Predication by a product."""
    return where(c, x, 0), x * c.cast(x.dtype)


@wrong(dtypes=FLOATS)
def chosen_or_zero_of_floats(c: Bool, x: Value):
    """Masking by a product lets NaN through: attention with -inf."""
    return where(c, x, 0.0), x * c.cast(x.dtype)


@right(dtypes=SOME)
def equal_arms(x: Value, y: Value):
    """LLVM, InstCombine."""
    return where(x == y, x, y), y


@wrong(dtypes=FLOATS)
def equal_arms_of_floats(x: Value, y: Value):
    """LLVM: two zeros are equal and not the same."""
    return where(x == y, x, y), y


@right(dtypes=SOME)
def guarded_product(x: Value, y: Value):
    """LLVM #113423's shape, on integers."""
    return where(x == 0, 0, x * y), x * y


@wrong(dtypes=FLOATS)
def guarded_float_product(x: Value, y: Value):
    """0 times NaN."""
    return where(x == 0, 0.0, x * y), x * y


@right(dtypes=SOME)
def guarded_division(x: Value, y: Value):
    """Totality makes the guard needless."""
    return where(y == 0, 0, x // y), x // y


@right(dtypes=SOME)
def known_order_inside(x: Value, y: Value, a: Value, b: Value, c: Value):
    """Conditions that decide each other."""
    return where(x < y, where(y < x, a, b), c), where(x < y, b, c)


@right(dtypes=FLOATS)
def known_float_order_inside(x: Value, y: Value, a: Value):
    """Conditions that decide each other, on floats."""
    return where(x < y, where(y < x, a, x), y), where(x < y, x, y)


@wrong(dtypes=FLOATS)
def unknown_float_order_inside(x: Value, y: Value, a: Value):
    """Not less does not mean greater or equal."""
    return where(x < y, x, where(x >= y, y, a)), where(x < y, x, y)


# Minima and maxima ------------------------------------------------------------------------------------------------


@right(dtypes=ANY)
def maximum_twice(x: Value, y: Value):
    """Idempotent, NaN included."""
    return maximum(maximum(x, y), y), maximum(x, y)


@right(dtypes=ANY)
def maximum_regrouped(x: Value, y: Value, z: Value):
    """IEEE 754-2019 made it associative."""
    return maximum(maximum(x, y), z), maximum(x, maximum(y, z))


@right(dtypes=SOME)
def maximum_by_choice(x: Value, y: Value):
    """LLVM, InstCombine: smax."""
    return where(x < y, y, x), maximum(x, y)


@wrong(dtypes=FLOATS)
def float_maximum_by_choice(x: Value, y: Value):
    """NaN and zeros of two signs."""
    return where(x < y, y, x), maximum(x, y)


@right(dtypes=SOME)
def absorption(x: Value, y: Value):
    """Halide, Simplify_Max."""
    return maximum(x, minimum(x, y)), x


@wrong(dtypes=FLOATS)
def float_absorption(x: Value, y: Value):
    """A NaN stays in a maximum."""
    return maximum(x, -maximum(-x, -y)), x


@right(dtypes=SOME)
def maximum_over_minimum(x: Value, y: Value, z: Value):
    """Halide, Simplify_Max: a lattice that is distributive."""
    return maximum(minimum(x, y), z), minimum(maximum(x, z), maximum(y, z))


@wrong(dtypes=SOME)
def maximum_over_minimum_mistaken(x: Value, y: Value, z: Value):
    """Halide, Simplify_Max with a minimum left over."""
    return maximum(minimum(x, y), z), minimum(maximum(x, z), y)


@right(dtypes=SOME)
def clamp_in_either_order(x: Value, lo: Const, hi: Const):
    """Halide, clamp."""
    given(lo <= hi)
    return minimum(maximum(x, lo), hi), maximum(minimum(x, hi), lo)


@wrong(dtypes=SOME)
def clamp_of_reversed_bounds(x: Value, lo: Const, hi: Const):
    """Halide, clamp with bounds in no order."""
    return minimum(maximum(x, lo), hi), maximum(minimum(x, hi), lo)


@right(dtypes=SOME)
def clamp_twice(x: Value, lo: Const, hi: Const):
    """Halide, clamp."""
    once = minimum(maximum(x, lo), hi)
    given(lo <= hi)
    return minimum(maximum(once, lo), hi), once


@right(dtypes=SOME)
def clamps_merge(x: Value, a: Const, b: Const, c: Const, d: Const):
    """Halide, clamp of clamp: ranges that overlap."""
    given(a <= c, c <= b, b <= d)
    return minimum(maximum(minimum(maximum(x, a), b), c), d), minimum(maximum(x, c), b)


@wrong(dtypes=SOME)
def clamps_merge_apart(x: Value, a: Const, b: Const, c: Const, d: Const):
    """Halide, clamp of clamp: ranges that may lie apart."""
    given(a <= b, c <= d)
    return minimum(maximum(minimum(maximum(x, a), b), c), d), minimum(maximum(x, c), b)


@right(dtypes=SOME)
def relu_of_six_twice(x: Value):
    """XLA: relu6 of relu."""
    return minimum(maximum(maximum(x, 0), 0), 6), minimum(maximum(x, 0), 6)


@right(dtypes=SIGNED)
def common_summand(x: Value, y: Value, z: Value):
    """Halide, Simplify_Max."""
    given(fits(x + z), fits(y + z))
    return maximum(x + z, y + z), maximum(x, y) + z


@wrong(dtypes=SOME, but=[index])
def wrapped_common_summand(x: Value, y: Value, z: Value):
    """Halide, Simplify_Max in narrow types."""
    return maximum(x + z, y + z), maximum(x, y) + z


@wrong(dtypes=FLOATS)
def common_float_summand(x: Value, y: Value, z: Value):
    """Infinities of two signs."""
    return maximum(x + z, y + z), maximum(x, y) + z


@right(dtypes=SOME)
def common_factor(x: Value, y: Value, c: Const):
    """Halide, Simplify_Max."""
    given(c >= 0, fits(x * c), fits(y * c))
    return maximum(x * c, y * c), maximum(x, y) * c


@wrong(dtypes=SIGNED)
def common_factor_of_any_sign(x: Value, y: Value, c: Const):
    """Halide, Simplify_Max without the sign."""
    given(fits(x * c), fits(y * c))
    return maximum(x * c, y * c), maximum(x, y) * c


@right(dtypes=[float16, bfloat16])
def common_positive_float_factor(x: Value, y: Value):
    """Scaling before a maximum: softmax of logits over a temperature."""
    return maximum(x * 0.5, y * 0.5), maximum(x, y) * 0.5


@right(dtypes=[float32, float64])
def common_positive_factor_of_wide_floats(x: Value, y: Value):
    """Rounding is monotone, so any positive factor does."""
    return maximum(x * 0.3, y * 0.3), maximum(x, y) * 0.3


@wrong(dtypes=[float16, float32, float64])
def common_negative_float_factor(x: Value, y: Value):
    """The same with a sign."""
    return maximum(x * -0.5, y * -0.5), maximum(x, y) * -0.5


@right(dtypes=[index])
def negated_minimum(x: Value, y: Value):
    """Halide, Simplify_Sub."""
    return -minimum(-x, -y), maximum(x, y)


@wrong(dtypes=[int8, int32])
def wrapped_negated_minimum(x: Value, y: Value):
    """The least value."""
    return -minimum(-x, -y), maximum(x, y)


@right(dtypes=ANY)
def sum_of_both(x: Value, y: Value):
    """LLVM, InstCombine: max + min."""
    return maximum(x, y) + minimum(x, y), x + y


@wrong(dtypes=FLOATS)
def product_of_both_floats(x: Value, y: Value):
    """max · min, where a zero changes its sign."""
    return maximum(x, y) * minimum(x, y), x * y


@right(dtypes=SOME)
def product_of_both(x: Value, y: Value):
    """max · min of integers."""
    return maximum(x, y) * minimum(x, y), x * y


@right(dtypes=[index, int8, int32])
def median_in_any_order(x: Value, y: Value, z: Value):
    """A median of three."""

    def median(a, b, c):
        return maximum(minimum(a, b), minimum(maximum(a, b), c))

    return median(x, y, z), median(z, x, y)


@wrong(dtypes=[index, int8, int32])
def median_that_is_none(x: Value, y: Value, z: Value):
    """A median of three with one comparison too few."""

    def median(a, b, c):
        return maximum(minimum(a, b), minimum(b, c))

    return median(x, y, z), median(z, x, y)


@right(dtypes=[index])
def difference_of_maxima(x: Value, y: Value, z: Value):
    """Halide, Simplify_Sub: max(x, y) - max(x, z) lies between two differences."""
    return maximum(x, y) - maximum(x, z) <= maximum(y - z, 0), x == x


# Magnitudes -------------------------------------------------------------------------------------------------------


@right(dtypes=SIGNED)
def magnitude_of_the_negative(x: Value):
    """LLVM, abs; even of the least value."""
    return absolute(-x), absolute(x)


@right(dtypes=SIGNED)
def magnitude_twice(x: Value):
    """LLVM, abs; even of the least value."""
    return absolute(absolute(x)), absolute(x)


@right(dtypes=SIGNED)
def magnitude_by_maximum(x: Value):
    """LLVM, InstCombine: smax(x, -x)."""
    return maximum(x, -x), absolute(x)


@wrong(dtypes=SIGNED, but=[index])
def magnitude_is_natural(x: Value):
    """LLVM, abs: the least value has none."""
    return absolute(x) >= 0, x == x


@right(dtypes=[index])
def magnitude_of_a_product(x: Value, y: Value):
    """Halide, Simplify: abs."""
    return absolute(x) * absolute(y), absolute(x * y)


@right(dtypes=[int8, int32])
def wrapped_magnitudes_multiply(x: Value, y: Value):
    """LLVM, InstCombine: abs(x) * abs(x) wraps as x * x does."""
    return absolute(x) * absolute(x), x * x


@wrong(dtypes=[int8, int32])
def magnitude_of_a_wrapped_product(x: Value, y: Value):
    """Halide, Simplify: abs in narrow types."""
    return absolute(x) * absolute(y), absolute(x * y)


@right(dtypes=[index])
def triangle(x: Value, y: Value):
    """The triangle inequality."""
    return absolute(x + y) <= absolute(x) + absolute(y), x == x


@wrong(dtypes=[index])
def triangle_reversed(x: Value, y: Value):
    """The triangle inequality, the wrong way round."""
    return absolute(x + y) >= absolute(x) + absolute(y), x == x


@right(dtypes=FLOATS)
def float_magnitude_by_maximum(x: Value):
    """NaN and both zeros included."""
    return maximum(x, -x), maximum(-x, x)


@wrong(dtypes=FLOATS)
def float_magnitude_by_choice(x: Value):
    """LLVM #113989, #57357: -0.0 is not less than 0."""
    return absolute(x), maximum(x, -x)


@wrong(dtypes=FLOATS)
def strictness_of_a_zero(x: Value):
    """LLVM #57357."""
    return where(x < 0, -0.0, x), where(x <= 0, -0.0, x)


@right(dtypes=FLOATS, licences="no_signed_zero")
def strictness_of_an_unsigned_zero(x: Value):
    """LLVM #57357, #141017: right under nsz."""
    return where(x < 0, -0.0, x), where(x <= 0, -0.0, x)


@wrong(dtypes=[float32])
def choice_before_widening(x: Value):
    """LLVM #157254."""
    return where(x < 0, 0.0, x.cast(float64)), where(x <= 0, 0.0, x).cast(float64)


@right(dtypes=[float32])
def choice_before_exact_widening(x: Value):
    """LLVM #157254, with the comparison left as it was."""
    return where(x < 0, 0.0, x.cast(float64)), where(x < 0, 0.0, x).cast(float64)


# Relus ------------------------------------------------------------------------------------------------------------


@right(dtypes=SOME)
def relu_by_choice(x: Value):
    """XLA, on integers."""
    return where(x > 0, x, 0), maximum(x, 0)


@wrong(dtypes=FLOATS)
def float_relu_by_choice(x: Value):
    """XLA: a choice drops NaN."""
    return where(x > 0, x, 0.0), maximum(x, 0.0)


@right(dtypes=FLOATS, licences="no_nan")
def float_relu_by_choice_without_nan(x: Value):
    """XLA under fast math: max(-0, 0) is 0 as well."""
    return maximum(x, 0.0), where(x > 0, x, 0.0)


@right(dtypes=[index])
def relus_of_two_signs(x: Value):
    """CReLU."""
    return maximum(x, 0) - maximum(-x, 0), x


@wrong(dtypes=FLOATS)
def relus_of_two_signs_of_floats(x: Value):
    """CReLU loses the sign of zero."""
    return maximum(x, 0.0) - maximum(-x, 0.0), x


@right(dtypes=FLOATS, licences="no_signed_zero")
def relus_of_two_signs_of_unsigned_zeros(x: Value):
    """CReLU under nsz."""
    return maximum(x, 0.0) - maximum(-x, 0.0), x


@vacuous(dtypes=SOME)
def clamp_of_nothing(x: Value, lo: Const, hi: Const):
    """Bounds that no number lies between."""
    given(lo > hi, x >= lo, x <= hi)
    return minimum(maximum(x, lo), hi), x


@vacuous()
def same_choice(c: Bool, x: Value, y: Value):
    """A typing slip."""
    return where(c, x, y), where(c, x, y)


@vacuous(dtypes=SOME)
def maximum_below(x: Value, y: Value):
    """A maximum is not below its operand."""
    given(maximum(x, y) < x)
    return x + y, x
