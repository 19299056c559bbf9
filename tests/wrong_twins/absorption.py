"""Wrong twins of ``impl/rules/scalars/absorption.py``."""

from soundline.verify import *


@rule(dtypes=[float32])
def mul_zero_wrong(x: Value):
    """Widened to a float: ∞ · 0 is NaN, and -1 · 0 is -0.0."""
    return x * 0, 0


@rule(dtypes=[int8])
def and_zero_wrong(x: Value):
    """Another constant."""
    return x & 1, 0


@rule(dtypes=[int8])
def or_ones_wrong(x: Value):
    """Another constant."""
    return x | 1, 1


@rule(dtypes=[bool_])
def or_true_wrong(x: Value):
    """Another constant."""
    return x | False, True


@rule(dtypes=[int8])
def xor_self_wrong(x: Value):
    """Or in place of exclusive or."""
    return x | x, 0


@rule(dtypes=[float32])
def sub_self_wrong(x: Value):
    """Widened to a float: ∞ - ∞ is NaN."""
    return x - x, 0


@rule(dtypes=[index])
def mod_self_wrong(x: Value):
    """The divisor of the other sign, and another constant."""
    return x % -x, 1


@rule(dtypes=[index])
def idiv_self_wrong(x: Value):
    """Without the condition: 0 div 0 is 0."""
    return x // x, 1


@rule(dtypes=[index])
def zero_idiv_wrong(x: Value):
    """Another constant: -1 div 2 is -1."""
    return -1 // x, 0


@rule(dtypes=[int8])
def zero_mod_wrong(x: Value):
    """Another constant."""
    return 1 % x, 0


@rule(dtypes=[int32])
def idiv_zero_wrong(x: Value):
    """Another convention: a quotient by zero that keeps the dividend."""
    return x // 0, x


@rule(dtypes=[int32])
def mod_zero_wrong(x: Value):
    """Another convention: a remainder by zero that is zero."""
    return x % 0, 0


@rule(dtypes=[int8])
def and_or_absorb_wrong(x: Value, y: Value):
    """The other operand remains."""
    return x & (x | y), y


@rule(dtypes=[int8])
def or_and_absorb_wrong(x: Value, y: Value):
    """The other operand remains."""
    return x | (x & y), y


@rule(dtypes=[float32])
def max_max_absorb_wrong(x: Value, y: Value):
    """The wrong bound remains."""
    return maximum(x, maximum(x, y)), x
