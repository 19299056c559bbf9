"""
Shifts
======

A count is read as unsigned, and a count of the width or more leaves nothing, or the sign (U-04); so shifts by constants
are products and floor quotients, and the rules of products apply to them.
"""

from soundline.spec.dtypes import index, int8, int16, int32, ints, uint8, uint16, uint32
from soundline.spec.rules.language import Sides, given, rule
from soundline.spec.rules.terms import Const, Value


@rule(dtypes=[index, *ints])
def shl_zero(x: Value) -> Sides:
    """A shift by nothing."""
    return x << 0, x


@rule(dtypes=[index, *ints])
def shr_zero(x: Value) -> Sides:
    """A shift by nothing."""
    return x >> 0, x


@rule(dtypes=ints)
def zero_shl(x: Value) -> Sides:
    """Zero has no bits to move."""
    return 0 << x, 0


@rule(dtypes=ints)
def zero_shr(x: Value) -> Sides:
    """Zero has no bits to move."""
    return 0 >> x, 0


@rule(dtypes=ints)
def shl_to_mul(x: Value, c: Const) -> Sides:
    """A shift is a product, which the rules of linear index arithmetic understand; wrapping agrees."""
    return x << c, x * (1 << c)


@rule(dtypes=[int8, int16, int32, uint8, uint16, uint32])
def shr_to_idiv(x: Value, c: Const) -> Sides:
    """A shift to the right rounds down, as floor division does; the divisor must not have become negative or 0."""
    given((1 << c) > 0)
    return x >> c, x // (1 << c)


@rule(dtypes=ints)
def and_of_shl(x: Value, y: Value, z: Value) -> Sides:
    """Masks that are shifted alike are shifted once."""
    return (x << z) & (y << z), (x & y) << z


@rule(dtypes=ints)
def or_of_shl(x: Value, y: Value, z: Value) -> Sides:
    """Fields that are packed at one place are joined first."""
    return (x << z) | (y << z), (x | y) << z
