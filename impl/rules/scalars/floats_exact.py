"""
Exact float rules
=================

What holds bit for bit in IEEE arithmetic, with NaN, infinities, both zeros, subnormals and overflow. Regrouping sums or
products is not among it, nor x · 0, nor x - x; those need a licence, or are wrong.
"""

from soundline.spec.dtypes import float8_e5m2, floats, ieee_floats, index, int8, int16, ints, uint8, uint16
from soundline.spec.rules.language import Sides, maximum, mulacc, rule
from soundline.spec.rules.terms import DTypeVar, Value


@rule(dtypes=floats)
def add_negative_zero(x: Value) -> Sides:
    """-0.0 is the zero of float addition: what a sum is padded with (U-10)."""
    return x + -0.0, x


@rule(dtypes=floats)
def float_add_same(x: Value) -> Sides:
    """Doubling is exact, so a sum with itself is a product; one form for both."""
    return x + x, x * 2


@rule(dtypes=floats)
def div_two(x: Value) -> Sides:
    """Division by 2 is a product by 0.5, rounded alike even where it underflows."""
    return x / 2, x * 0.5


@rule(dtypes=floats)
def div_four(x: Value) -> Sides:
    """Division by 4 is a product by 0.25."""
    return x / 4, x * 0.25


@rule(dtypes=ieee_floats)
def div_1024(x: Value) -> Sides:
    """A mean over 1024 elements, a common size: a product by an exact reciprocal."""
    return x / 1024, x * 0.0009765625


@rule(dtypes=floats)
def div_minus_one(x: Value) -> Sides:
    """Division by -1 changes the sign."""
    return x / -1, -x


@rule(dtypes=floats)
def one_div(x: Value) -> Sides:
    """A reciprocal, written as a quotient: the same rounding."""
    return 1 / x, x.recip()


@rule(dtypes=floats)
def mul_neg(x: Value, y: Value) -> Sides:
    """A sign comes out of a product, where it may meet another."""
    return -x * y, -(x * y)


@rule(dtypes=floats)
def recip_neg(x: Value) -> Sides:
    """A sign comes out of a reciprocal, where it may meet another."""
    return (-x).recip(), -x.recip()


@rule(dtypes=floats)
def trunc_trunc(x: Value) -> Sides:
    """What is whole stays as it is."""
    return x.trunc().trunc(), x.trunc()


@rule(dtypes=floats)
def trunc_neg(x: Value) -> Sides:
    """Truncation is symmetric about zero."""
    return (-x).trunc(), -x.trunc()


@rule(dtypes=[int8, int16, uint8, uint16], s=ieee_floats)
def trunc_of_int(x: Value, s: DTypeVar) -> Sides:
    """An integer that became a float is whole, rounded or not, and ∞ stays ∞."""
    return x.cast(s).trunc(), x.cast(s)


@rule(dtypes=[*ieee_floats, float8_e5m2])
def max_least(x: Value) -> Sides:
    """Nothing is below -∞: where a running maximum starts."""
    return maximum(x, float("-inf")), x


@rule(dtypes=[index, *ints, *floats])
def mulacc_is_mul_add(x: Value, y: Value, z: Value) -> Sides:
    """Mulacc rounds twice, so it is nothing but its parts; fusing them needs the licence ``contract``."""
    return mulacc(x, y, z), x * y + z


@rule(dtypes=floats)
def ne_zero_of_neg(x: Value) -> Sides:
    """A sign does not matter to a test for zero."""
    return -x != 0, x != 0
