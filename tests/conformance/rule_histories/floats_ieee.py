"""Floats as they are: the rewrites that hold bit for bit, and those that every fast-math flag was made for."""

from __future__ import annotations

import math

from soundline.verify import (
    Const,
    Value,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    given,
    maximum,
    mulacc,
    uint16,
    uint32,
    where,
)

from .form import Histories, absolute

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous

FLOATS = (float16, float32, float64, bfloat16, float8_e4m3fn, float8_e5m2)
WITH_INFINITY = (float16, float32, float64, bfloat16, float8_e5m2)


# Identities -------------------------------------------------------------------------------------------------------


@right(dtypes=FLOATS)
def times_one(x: Value):
    """Alive2 #916: a solver once timed out on it."""
    return x * 1.0, x


@right(dtypes=FLOATS)
def plus_negative_zero(x: Value):
    """LLVM, InstSimplify."""
    return x + -0.0, x


@right(dtypes=FLOATS)
def minus_zero(x: Value):
    """LLVM, InstSimplify."""
    return x - 0.0, x


@wrong(dtypes=FLOATS)
def plus_zero(x: Value):
    """LLVM, InstSimplify: needs nsz."""
    return x + 0.0, x


@wrong(dtypes=FLOATS)
def minus_negative_zero(x: Value):
    """LLVM, InstSimplify: needs nsz."""
    return x - -0.0, x


@right(dtypes=FLOATS)
def divided_by_one(x: Value):
    """LLVM, InstSimplify."""
    return x / 1.0, x


@right(dtypes=FLOATS)
def times_minus_one(x: Value):
    """LLVM, InstCombine."""
    return x * -1.0, -x


@right(dtypes=FLOATS)
def negative_zero_minus(x: Value):
    """LLVM had no fneg for years."""
    return -0.0 - x, -x


@wrong(dtypes=FLOATS)
def zero_minus(x: Value):
    """LLVM, fsub 0.0, X is no negation."""
    return 0.0 - x, -x


@right(dtypes=FLOATS)
def sum_with_negated(x: Value, y: Value):
    """LLVM, InstCombine."""
    return x + -y, x - y


@right(dtypes=FLOATS)
def commuted(x: Value, y: Value, z: Value):
    """IEEE 754: sums and products commute."""
    return (x + y) * z, z * (y + x)


@wrong(dtypes=FLOATS)
def reassociated_sum(x: Value, y: Value, z: Value):
    """Every textbook."""
    return (x + y) + z, x + (y + z)


@wrong(dtypes=FLOATS)
def reassociated_product(x: Value, y: Value, z: Value):
    """Every textbook."""
    return (x * y) * z, x * (y * z)


@wrong(dtypes=FLOATS)
def distributed(x: Value, y: Value, z: Value):
    """Every textbook."""
    return x * (y + z), x * y + x * z


@wrong(dtypes=FLOATS)
def sum_undone(x: Value, y: Value):
    """Kahan's compensation, optimised away."""
    return (x + y) - y, x


@wrong(dtypes=FLOATS)
def product_undone(x: Value, y: Value):
    """XLA: (x * y) / y."""
    given(y != 0)
    return (x * y) / y, x


# Signs ------------------------------------------------------------------------------------------------------------


@right(dtypes=FLOATS)
def sign_out_of_a_product(x: Value, y: Value):
    """LLVM, InstCombine."""
    return -x * y, -(x * y)


@right(dtypes=FLOATS)
def two_signs_of_a_product(x: Value, y: Value):
    """LLVM, InstCombine."""
    return -x * -y, x * y


@right(dtypes=FLOATS)
def sign_out_of_a_quotient(x: Value, y: Value):
    """LLVM, InstCombine."""
    return x / -y, -(x / y)


@right(dtypes=FLOATS)
def two_signs_of_a_quotient(x: Value, y: Value):
    """LLVM, InstCombine; a float64 quotient never bit-blasted."""
    return (-x) / (-y), x / y


@wrong(dtypes=FLOATS)
def sign_of_a_difference(x: Value, y: Value):
    """LLVM, InstCombine: needs nsz."""
    return -(x - y), y - x


@wrong(dtypes=FLOATS)
def sign_of_a_sum(x: Value, y: Value):
    """LLVM, InstCombine: needs nsz."""
    return -(x + y), -x - y


@right(dtypes=FLOATS)
def sign_of_a_sum_of_negatives(x: Value, y: Value):
    """Rounding to nearest has no preferred sign."""
    given(x > 0, y > 0)
    return -x + -y, -(x + y)


@right(dtypes=FLOATS)
def sign_of_a_root(x: Value):
    """A negative number has no root."""
    given(x > 0)
    return (-x).sqrt(), (-x).sqrt() * -1.0


@right(dtypes=FLOATS)
def sign_of_a_truncation(x: Value):
    """LLVM, InstCombine: trunc is odd."""
    return (-x).trunc(), -(x.trunc())


@right(dtypes=FLOATS)
def truncated_twice(x: Value):
    """LLVM, InstSimplify."""
    return x.trunc().trunc(), x.trunc()


@right(dtypes=FLOATS)
def square_of_the_negative(x: Value):
    """LLVM, InstCombine."""
    return -x * -x, x * x


@wrong(dtypes=FLOATS)
def square_is_natural(x: Value):
    """NaN."""
    return x * x >= 0, x * 0 == x * 0


@right(dtypes=FLOATS)
def square_of_a_number_is_natural(x: Value):
    """LLVM, cannotBeNegative."""
    given(x == x, x * x == x * x)
    return x * x >= 0, x == x


# Cancellation -----------------------------------------------------------------------------------------------------


@wrong(dtypes=FLOATS)
def difference_with_itself(x: Value):
    """XLA: A - A needs fast math."""
    return x - x, 0.0 * (x == x).cast(x.dtype)


@right(dtypes=WITH_INFINITY)
def difference_with_finite_itself(x: Value):
    """XLA: A - A of what is finite."""
    given(x < math.inf, x > -math.inf)
    return x - x, 0.0


@wrong(dtypes=FLOATS)
def quotient_with_itself(x: Value):
    """XLA: A / A."""
    given(x != 0)
    return x / x, 1.0


@right(dtypes=WITH_INFINITY)
def quotient_with_finite_itself(x: Value):
    """XLA: A / A of what is finite and not zero; float64 included."""
    given(x != 0, x < math.inf, x > -math.inf)
    return x / x, 1.0


@wrong(dtypes=FLOATS)
def times_zero(x: Value):
    """XLA: A * 0 needs fast math."""
    return x * 0.0, 0.0


@right(dtypes=WITH_INFINITY)
def positive_times_zero(x: Value):
    """LLVM, InstSimplify with known signs."""
    given(x > 0, x < math.inf)
    return x * 0.0, 0.0


@right(dtypes=FLOATS)
def zero_over_positive(x: Value):
    """LLVM, InstSimplify with known signs."""
    given(x > 0)
    return 0.0 / x, 0.0


@right(dtypes=FLOATS)
def infinity_of_a_zero(x: Value):
    """IEEE 754: division by zero, exactly; NaN where there is no infinity."""
    given(x == 1)
    return x / 0.0, x * (x * 0.0).recip()


# Small factors ----------------------------------------------------------------------------------------------------


@right(dtypes=FLOATS)
def twice_is_a_sum(x: Value):
    """LLVM, InstCombine."""
    return x * 2.0, x + x


@right(dtypes=FLOATS)
def thrice_is_a_sum(x: Value):
    """GCC: x + x is exact, so one rounding is left."""
    return x * 3.0, x + x + x


@right(dtypes=FLOATS)
def four_times_is_a_sum(x: Value):
    """GCC: both sums are exact."""
    return x * 4.0, (x + x) + (x + x)


@wrong(dtypes=[float16, float32, float64, bfloat16])
def six_times_is_a_chain(x: Value):
    """GCC: chains of sums round more than once from six on."""
    return x * 6.0, x + x + x + x + x + x


@wrong(dtypes=FLOATS)
def seven_times_is_a_difference(x: Value):
    """Strength reduction of integers: 8x overflows first."""
    return x * 7.0, x * 8.0 - x


@right(dtypes=FLOATS)
def half_by_division(x: Value):
    """LLVM, InstCombine: exact reciprocals."""
    return x / 2.0, x * 0.5


@right(dtypes=FLOATS)
def eighth_by_division(x: Value):
    """LLVM, InstCombine: exact reciprocals."""
    return x / 8.0, x * 0.125


@right(dtypes=FLOATS)
def division_by_a_half(x: Value):
    """LLVM, InstCombine: exact reciprocals; a true float64 quotient."""
    return x / 0.5, x * 2.0


@wrong(dtypes=FLOATS)
def third_by_division(x: Value):
    """LLVM, InstCombine: needs arcp."""
    return x / 3.0, x * (1 / 3)


@wrong(dtypes=FLOATS)
def tenth_by_division(x: Value):
    """LLVM, InstCombine: needs arcp."""
    return x / 10.0, x * 0.1


@right(dtypes=[float16])
def division_by_any_power_of_two(x: Value, c: Const):
    """LLVM, InstCombine: the reciprocal of a power of two is exact where it is normal."""
    bits = c.bitcast(uint16)
    given((bits & 0x03FF) == 0, (bits & 0x7FFF) >= 0x0400, (bits & 0x7FFF) <= 0x7400)
    return x / c, x * c.recip()


@right(dtypes=[float32])
def division_by_any_power_of_two_in_float32(x: Value, c: Const):
    """LLVM, InstCombine: the reciprocal of a power of two is exact where it is normal."""
    bits = c.bitcast(uint32)
    given((bits & 0x007FFFFF) == 0, (bits & 0x7FFFFFFF) >= 0x00800000, (bits & 0x7FFFFFFF) <= 0x7E800000)
    return x / c, x * c.recip()


@wrong(dtypes=[float16])
def division_by_a_subnormal_power_of_two(x: Value, c: Const):
    """LLVM, InstCombine: a reciprocal that overflows."""
    given(c > 0, c < 0.0001)
    return x / c, x * c.recip()


@wrong(dtypes=FLOATS)
def halved_and_doubled(x: Value):
    """Subnormals lose a bit."""
    return (x * 0.5) * 2.0, x


@wrong(dtypes=FLOATS)
def doubled_and_halved(x: Value):
    """Large numbers overflow."""
    return (x * 2.0) * 0.5, x


@right(dtypes=FLOATS)
def doubled_and_halved_in_range(x: Value):
    """Powers of two are exact in between."""
    given(x >= 1, x <= 16)
    return (x * 2.0) * 0.5, x


@wrong(dtypes=FLOATS)
def factors_merge(x: Value):
    """XLA: (x * c1) * c2."""
    return (x * 3.0) * 5.0, x * 15.0


@wrong(dtypes=FLOATS)
def divisors_merge(x: Value, y: Value, z: Value):
    """XLA: (x / y) / z."""
    return (x / y) / z, x / (y * z)


@wrong(dtypes=FLOATS)
def scale_taken_out(x: Value, y: Value):
    """Scaling by 2 after the product: overflow comes first."""
    return (x * 2.0) * y, (x * y) * 2.0


# Reciprocals and roots --------------------------------------------------------------------------------------------


@right(dtypes=FLOATS)
def reciprocal_is_a_quotient(x: Value):
    """Both are rounded once."""
    return 1.0 / x, x.recip()


@wrong(dtypes=FLOATS)
def reciprocal_twice(x: Value):
    """Rounded twice."""
    return x.recip().recip(), x


@wrong(dtypes=FLOATS)
def quotient_by_reciprocal(x: Value, y: Value):
    """LLVM, InstCombine: needs arcp."""
    return x / y, x * y.recip()


@wrong(dtypes=FLOATS)
def root_of_a_square(x: Value):
    """XLA #42732: the square overflows."""
    given(x >= 0)
    return (x * x).sqrt(), x


@right(dtypes=FLOATS)
def root_of_a_square_in_range(x: Value):
    """In radix two the root of a rounded square is exact."""
    given(x >= 1, x <= 16)
    return (x * x).sqrt(), x


@wrong(dtypes=FLOATS)
def square_of_a_root(x: Value):
    """The other way it is not."""
    given(x >= 0)
    return x.sqrt() * x.sqrt(), x


@wrong(dtypes=FLOATS)
def quotient_by_a_root(x: Value):
    """XLA #40844: A / sqrt(B) as a product."""
    given(x > 0)
    return x / x.sqrt(), x.sqrt()


@right(dtypes=FLOATS)
def root_of_zero_keeps_its_sign(x: Value):
    """IEEE 754."""
    given(x == 0)
    return x.sqrt(), x


@wrong(dtypes=[float16, float32, float64, bfloat16])
def product_of_exponentials(x: Value, y: Value):
    """TensorFlow #123169: NaN became 1."""
    return x.exp2() * y.exp2(), (x + y).exp2()


@wrong(dtypes=[float16, float32, float64, bfloat16])
def logarithm_of_an_exponential(x: Value):
    """XLA #42732, #48186: the exponential overflows."""
    return x.exp2().log2(), x


@right(dtypes=[float16, float32, float64, bfloat16])
def exponentials_commute(x: Value, y: Value):
    """Whatever the functions are."""
    return x.exp2() * y.log2(), y.log2() * x.exp2()


@right(dtypes=FLOATS)
def multiply_and_add(x: Value, y: Value, z: Value):
    """Two roundings are two roundings."""
    return mulacc(x, y, z), x * y + z


@right(dtypes=FLOATS)
def multiply_and_add_negative_zero(x: Value, y: Value):
    """LLVM, fma with -0.0."""
    return mulacc(x, y, -0.0), x * y


@wrong(dtypes=FLOATS)
def multiply_and_add_zero(x: Value, y: Value):
    """LLVM, fma with 0.0."""
    return mulacc(x, y, 0.0), x * y


# Exact sums -------------------------------------------------------------------------------------------------------


@right(dtypes=[float16, float32, float8_e5m2, float8_e4m3fn])
def sterbenz(x: Value, y: Value):
    """Sterbenz: a difference of near numbers is exact, so adding it back is."""
    given(y > 0, y <= x, x * 0.5 <= y, x < 100)
    return (x - y) + y, x


@wrong(dtypes=[float16, float32, float8_e5m2, float8_e4m3fn])
def sterbenz_too_far(x: Value, y: Value):
    """Sterbenz, with numbers too far apart."""
    given(y > 0, y <= x, x * 0.25 <= y, x < 100)
    return (x - y) + y, x


@right(dtypes=[float16, bfloat16, float8_e5m2])
def sums_are_monotone(x: Value, y: Value, z: Value):
    """Rounding is monotone."""
    given(x <= y, z > -math.inf, z < math.inf)
    return x + z <= y + z, x == x


@right(dtypes=[float32, float64])
def wide_sums_are_monotone(x: Value, y: Value, z: Value):
    """Rounding is monotone."""
    given(x <= y, z > -math.inf, z < math.inf)
    return x + z <= y + z, x == x


@wrong(dtypes=WITH_INFINITY)
def sums_are_monotone_at_infinity(x: Value, y: Value, z: Value):
    """Infinities of two signs."""
    given(x <= y, z == z)
    return x + z <= y + z, x == x


@wrong(dtypes=FLOATS)
def sums_are_strictly_monotone(x: Value, y: Value):
    """Absorption."""
    given(x < y)
    return x + 1.0 < y + 1.0, x == x


@right(dtypes=[float16, float32, float64, bfloat16])
def products_are_monotone(x: Value, y: Value):
    """Rounding is monotone."""
    given(x <= y)
    return x * 3.0 <= y * 3.0, x == x


@right(dtypes=[float32, float64])
def quotients_are_monotone(x: Value, y: Value):
    """Rounding is monotone."""
    given(x <= y)
    return x / 3.0 <= y / 3.0, x == x


# Comparisons, maxima and special values -----------------------------------------------------------------------------


@right(dtypes=WITH_INFINITY)
def below_infinity(x: Value):
    """LLVM, InstCombine: fcmp with infinity."""
    return (x < math.inf) | (x == math.inf), x == x


@wrong(dtypes=FLOATS)
def everything_is_ordered(x: Value):
    """NaN."""
    return (x > 0) | (x <= 0), x.cast(bool_) | ~x.cast(bool_)


@right(dtypes=FLOATS)
def nan_replaced_by_nan(x: Value):
    """All NaNs are one value."""
    return where(x == x, x, math.nan), x


@right(dtypes=FLOATS)
def maximum_with_nan(x: Value):
    """IEEE 754-2019, maximum."""
    return maximum(x, math.nan), x + math.nan


@wrong(dtypes=FLOATS)
def maximum_ignores_nan(x: Value):
    """IEEE 754-2008, maxNum."""
    return maximum(x, math.nan), x


@right(dtypes=WITH_INFINITY)
def maximum_with_least(x: Value):
    """The identity of a maximum."""
    return maximum(x, -math.inf), x


@wrong(dtypes=FLOATS)
def maximum_with_zero_keeps_sign(x: Value):
    """-0.0 and 0."""
    given(x >= 0)
    return maximum(x, 0.0), x


@right(dtypes=FLOATS)
def zero_compares_equal(x: Value):
    """Two zeros are equal."""
    return x == 0.0, x == -0.0


@wrong(dtypes=FLOATS)
def zero_replaces_zero(x: Value):
    """LLVM, GVN: equal is not the same."""
    return where(x == 0.0, 0.0, x), x


@wrong(dtypes=FLOATS, but=[float8_e4m3fn])
def reciprocals_of_equals(x: Value, y: Value):
    """Equal numbers have unequal reciprocals."""
    given(x == y)
    return x.recip(), y.recip()


@right(dtypes=FLOATS)
def reciprocals_of_equal_numbers(x: Value, y: Value):
    """Except for zeros."""
    given(x == y, x != 0)
    return x.recip(), y.recip()


@vacuous(dtypes=FLOATS)
def square_below_zero(x: Value):
    """No float has a negative square."""
    given(x * x < 0)
    return x.sqrt(), x


@vacuous(dtypes=FLOATS)
def root_of_a_negative(x: Value):
    """NaN is not above anything."""
    given(x < 0, x.sqrt() > 0)
    return x + 1.0, x


@vacuous(dtypes=FLOATS)
def magnitude_below_zero(x: Value):
    """No maximum of a number and its negative is negative."""
    given(maximum(x, -x) < 0)
    return absolute(x), x


@vacuous(dtypes=FLOATS)
def beyond_infinity(x: Value):
    """Nothing is."""
    given(x > math.inf)
    return x - x, x
