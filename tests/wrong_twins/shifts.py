"""Wrong twins of ``impl/rules/scalars/shifts.py``."""

from soundline.verify import *


@rule(dtypes=[index])
def shl_zero_wrong(x: Value):
    """Another count."""
    return x << 1, x


@rule(dtypes=[int8])
def shr_zero_wrong(x: Value):
    """Another count."""
    return x >> 1, x


@rule(dtypes=[int8])
def zero_shl_wrong(x: Value):
    """Another constant."""
    return 1 << x, 0


@rule(dtypes=[int8])
def zero_shr_wrong(x: Value):
    """Another constant: a negative number keeps its sign bits."""
    return -1 >> x, 0


@rule(dtypes=[int8])
def shl_to_mul_wrong(x: Value, c: Const):
    """Another constant."""
    return x << c, x * (2 << c)


@rule(dtypes=[int8])
def shr_to_idiv_wrong(x: Value, c: Const):
    """Without the condition: the divisor wraps to the least value."""
    return x >> c, x // (1 << c)


@rule(dtypes=[int8])
def and_of_shl_wrong(x: Value, y: Value, z: Value):
    """Another op on the right."""
    return (x << z) & (y << z), (x | y) << z


@rule(dtypes=[int8])
def or_of_shl_wrong(x: Value, y: Value, z: Value):
    """The shift forgotten."""
    return (x << z) | (y << z), x | (y << z)
