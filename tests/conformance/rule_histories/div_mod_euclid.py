"""Euclidean division, as Halide once had it everywhere."""

from __future__ import annotations

from soundline.verify import (
    Const,
    Value,
    cdiv,
    cmod,
    ediv,
    emod,
    fits,
    given,
    index,
    int8,
    int32,
    uint8,
    where,
)

from .form import Histories, absolute

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous

SIGNED = (index, int8, int32)


@right(dtypes=SIGNED)
def parts_make_the_whole(x: Value, c: Value):
    """Boute, The Euclidean definition of div and mod."""
    return ediv(x, c) * c + emod(x, c), x


@right(dtypes=SIGNED)
def remainder_is_natural(x: Value, c: Value):
    """Boute; the least value may be the divisor."""
    given(c != 0)
    return emod(x, c) >= 0, x == x


@right(dtypes=[index])
def remainder_is_smaller(x: Value, c: Value):
    """Boute."""
    given(c != 0)
    return emod(x, c) < absolute(c), c == c


@wrong(dtypes=SIGNED)
def remainder_is_below_the_divisor(x: Value, c: Value):
    """Bounds that forget a negative divisor."""
    given(c != 0)
    return emod(x, c) < c, c == c


@right(dtypes=[index])
def remainder_ignores_the_divisors_sign(x: Value, c: Value):
    """Halide, Simplify_Mod."""
    return emod(x, -c), emod(x, c)


@right(dtypes=[index])
def quotient_changes_with_the_divisors_sign(x: Value, c: Value):
    """Halide, Simplify_Div."""
    return ediv(x, -c), -ediv(x, c)


@wrong(dtypes=SIGNED)
def quotient_changes_with_the_dividends_sign(x: Value, c: Value):
    """The rule of C."""
    return ediv(-x, c), -ediv(x, c)


@right(dtypes=[index, int8, int32, uint8])
def floor_of_positive_divisor(x: Value, c: Value):
    """Halide has both for positive divisors."""
    given(c > 0)
    return ediv(x, c), x // c


@wrong(dtypes=SIGNED)
def floor_of_any_divisor(x: Value, c: Value):
    """Halide, porting rules to a floor."""
    given(c != 0)
    return ediv(x, c), x // c


@right(dtypes=[index])
def remainder_by_magnitude(x: Value, c: Value):
    """Boute."""
    return emod(x, c), x % absolute(c)


@right(dtypes=SIGNED)
def from_truncated_quotient(x: Value, c: Value):
    """Lowering to C."""
    given(c != 0)
    return cdiv(x, c) - where(cmod(x, c) < 0, where(c > 0, 1, -1), 0), ediv(x, c)


@wrong(dtypes=SIGNED)
def from_truncated_quotient_by_zero(x: Value, c: Value):
    """Lowering to C where the divisor may be 0."""
    return cdiv(x, c) - where(cmod(x, c) < 0, where(c > 0, 1, -1), 0), ediv(x, c)


@right(dtypes=SIGNED)
def from_truncated_remainder(x: Value, c: Value):
    """Lowering to C; the least divisor included."""
    given(c != 0)
    r = cmod(x, c)
    return where(r < 0, where(c > 0, r + c, r - c), r), emod(x, c)


@right(dtypes=[index, int8])
def truncated_for_naturals(x: Value, c: Value):
    """Halide on unsigned types."""
    given(x >= 0)
    return ediv(x, c), cdiv(x, c)


@right(dtypes=[index])
def quotient_of_quotient(x: Value, a: Const, b: Const):
    """Halide, Simplify_Div: the second divisor may have any sign."""
    given(a > 0)
    return ediv(ediv(x, a), b), ediv(x, a * b)


@wrong(dtypes=[index])
def quotient_of_quotient_by_a_negative(x: Value, a: Const, b: Const):
    """Halide, Simplify_Div: the first one may not."""
    given(b > 0)
    return ediv(ediv(x, a), b), ediv(x, a * b)


@wrong(dtypes=[index])
def negative_gcd(x: Value):
    """Halide #2949: (-3x) / 6 became x / -2."""
    return ediv(x * -3, 6), ediv(x, x * 0 - 2)


@right(dtypes=[index])
def positive_gcd(x: Value, c: Const, d: Const):
    """Halide #2949, with what its fix demands."""
    given(c > 0, d != 0)
    return ediv(x * c, d * c), ediv(x, d)


@wrong(dtypes=[index])
def any_gcd(x: Value, c: Const, d: Const):
    """Halide #2949 in general."""
    given(c != 0, d != 0)
    return ediv(x * c, d * c), ediv(x, d)


@right(dtypes=[index])
def common_factor_of_remainder(x: Value, y: Value, c: Const):
    """Halide, Simplify_Mod."""
    given(c > 0)
    return emod(x * c, y * c), emod(x, y) * c


@wrong(dtypes=[index])
def negative_factor_of_remainder(x: Value, y: Value, c: Const):
    """Halide, Simplify_Mod without the sign."""
    given(y != 0)
    return emod(x * c, y * c), emod(x, y) * c


@right(dtypes=[index])
def multiple_leaves_the_quotient(x: Value, y: Value, c: Const):
    """Halide, Simplify_Div."""
    given(c != 0)
    return ediv(x + y * c, c), ediv(x, c) + y


@right(dtypes=[index])
def multiple_leaves_the_remainder(x: Value, y: Value, c: Const):
    """Halide, Simplify_Mod."""
    return emod(x + y * c, c), emod(x, c)


@right(dtypes=SIGNED)
def remainder_twice(x: Value, c: Value):
    """Halide, Simplify_Mod."""
    return emod(emod(x, c), c), emod(x, c)


@right(dtypes=SIGNED)
def remainder_by_a_multiple_first(x: Value, c: Const, d: Const):
    """Halide, Simplify_Mod, with divisors of any sign, and 0: x mod 0 is x."""
    given(fits(c * d))
    return emod(emod(x, c * d), c), emod(x, c)


@right(dtypes=[index])
def remainder_by_a_multiple_of_three_factors(x: Value, c: Const, d: Const, e: Const):
    """The same, where what is left divides in another order."""
    return emod(emod(x, c * d * e), e * c), emod(x, c * e)


@right(dtypes=[index])
def remainder_by_a_multiple_that_a_condition_names(x: Value, c: Const, d: Const):
    """The same."""
    given(d % c == 0)
    return emod(emod(x, d), c), emod(x, c)


@wrong(dtypes=SIGNED)
def remainder_by_a_divisor_first(x: Value, c: Const, d: Const):
    """The same the wrong way around."""
    return emod(emod(x, c), c * d), emod(x, c * d)


@wrong(dtypes=SIGNED)
def remainder_by_a_sum_first(x: Value, c: Const, d: Const):
    """A sum in place of a product."""
    given(c != 0, d != 0, fits(c + d))
    return emod(emod(x, c + d), c), emod(x, c)


@wrong(dtypes=[int8, int32])
def remainder_by_a_wrapped_multiple_first(x: Value, c: Const, d: Const):
    """The product of the divisors wraps."""
    given(c != 0, d != 0)
    return emod(emod(x, c * d), c), emod(x, c)


@right(dtypes=SIGNED)
def product_of_remainders(x: Value, y: Value, c: Const):
    """Modular arithmetic: factors may be reduced first, by a divisor of any sign."""
    given(fits(x * y), fits(emod(x, c) * emod(y, c)))
    return emod(emod(x, c) * emod(y, c), c), emod(x * y, c)


@right(dtypes=[index])
def sum_of_remainders(x: Value, y: Value, c: Const):
    """The same of terms."""
    return emod(emod(x, c) - emod(y, c), c), emod(x - y, c)


@right(dtypes=[index])
def polynomial_of_remainders(x: Value, y: Value, c: Const):
    """The same of polynomials."""
    return emod(emod(x, c) ** 2 - emod(y, c) ** 2, c), emod((x - y) * (x + y), c)


@right(dtypes=SIGNED)
def remainders_of_other_conventions_first(x: Value, c: Value):
    """All three remainders are congruent."""
    return emod(cmod(x, c), c), cmod(emod(x, c), c)


@right(dtypes=[index])
def remainder_taken_off(x: Value, c: Const):
    """Boute: what is left divides exactly."""
    return ediv(x - emod(x, c), c), ediv(x, c)


@wrong(dtypes=[index])
def product_of_remainders_not_reduced(x: Value, y: Value, c: Const):
    """The last remainder is forgotten."""
    given(c != 0)
    return emod(x, c) * emod(y, c), emod(x * y, c)


@wrong(dtypes=[index])
def product_of_remainders_by_two_divisors(x: Value, y: Value, c: Const, d: Const):
    """Two divisors."""
    given(c != 0, d != 0)
    return emod(emod(x, c) * emod(y, d), c), emod(x * y, c)


@wrong(dtypes=[int8])
def product_of_remainders_that_wraps(x: Value, y: Value, c: Const):
    """Modulo 2^w and modulo c at once."""
    given(c != 0)
    return emod(emod(x, c) * emod(y, c), c), emod(x * y, c)


@right(dtypes=[int32])
def remainder_by_a_power_of_two(x: Value):
    """Halide lowers it so."""
    return emod(x, 8), x & 7


@wrong(dtypes=[index])
def quotient_is_monotone(x: Value, y: Value, c: Const):
    """Monotone only for positive divisors."""
    given(x <= y)
    return ediv(x, c) <= ediv(y, c), x == x


@vacuous(dtypes=SIGNED)
def negative_remainder(x: Value, c: Value):
    """What the name promises never to be."""
    given(c != 0, emod(x, c) < 0)
    return ediv(x, c), x
