"""
Elementary functions
====================

``exp`` and ``log`` as programs over ``Exp2`` and ``Log2``. The factor that changes the base is not a float, so it is
carried in two parts, and so is the product with it: without that, the result would lose digits in proportion to its
exponent (U-08). float32 and float64 compute in themselves; narrower floats in float32, rounded once.
"""

from __future__ import annotations

import math
from fractions import Fraction

from soundline.spec.dtypes import DType, float32, float64, round_to
from soundline.spec.uop import Op, UOp, broadcast_to, const
from soundline.spec.values.decompositions import LN2

_LARGEST_ARGUMENT = {float32: 256.0, float64: 2048.0}
"""Beyond this, exp is 0 or infinity with a wide margin; inside, no product below overflows."""


def like(x: UOp, value: float | Fraction) -> UOp:
    """A number of the shape and dtype of x."""
    assert x.shape is not None
    return broadcast_to(const(round_to(x.dtype, value), x.dtype), x.shape)


def _halves(x: UOp) -> tuple[UOp, UOp]:
    """x as a sum of two numbers with half its significant bits each, so that products of halves are exact."""
    scaled = Op.Mul(x, like(x, 2.0 ** ((x.dtype.mantissa_bits + 2) // 2) + 1.0))
    high = Op.Sub(scaled, Op.Sub(scaled, x))
    return high, Op.Sub(x, high)


def _constant_halves(dtype: DType, value: Fraction) -> tuple[float, float]:
    """A real number as a float of half the significant bits, and the float nearest to the rest."""
    bits = (dtype.mantissa_bits + 1) // 2
    scale = Fraction(2) ** (bits - 1 - math.floor(math.log2(value)))
    high = Fraction(round(value * scale)) / scale
    return float(high), round_to(dtype, value - high)


def _product_in_two_parts(x: UOp, factor: Fraction) -> tuple[UOp, UOp]:
    """x · factor as an exact leading product and a small rest."""
    x_high, x_low = _halves(x)
    c_high, c_low = _constant_halves(x.dtype, factor)
    lead = Op.Mul(x_high, like(x, c_high))
    rest = Op.Add(Op.Mul(x_low, like(x, c_high)), Op.Mul(x, like(x, c_low)))
    return lead, rest


def _clamped(x: UOp, bound: float) -> UOp:
    """x kept in [-bound, bound]; NaN passes."""
    x = Op.Where(Op.CmpLt(x, like(x, -bound)), like(x, -bound), x)
    return Op.Where(Op.CmpLt(like(x, bound), x), like(x, bound), x)


def exp(x: UOp) -> UOp:
    """e^x = 2^s · (1 + t·ln 2), where s + t = x · log₂ e and t is what s lost in rounding."""
    home = float64 if x.dtype is float64 else float32
    if x.dtype is not home:
        return Op.Cast(exp(Op.Cast(x, arg=home)), arg=x.dtype)
    lead, rest = _product_in_two_parts(_clamped(x, _LARGEST_ARGUMENT[home]), 1 / LN2)
    s = Op.Add(lead, rest)
    t = Op.Add(Op.Sub(lead, s), rest)
    power = Op.Exp2(s)
    corrected = Op.Add(power, Op.Mul(power, Op.Mul(t, like(x, LN2))))
    return Op.Where(Op.CmpEq(power, like(x, math.inf)), power, corrected)


def log(x: UOp) -> UOp:
    """ln x = log₂ x · ln 2; the infinities and NaN of log₂ pass."""
    home = float64 if x.dtype is float64 else float32
    if x.dtype is not home:
        return Op.Cast(log(Op.Cast(x, arg=home)), arg=x.dtype)
    logarithm = Op.Log2(x)
    lead, rest = _product_in_two_parts(logarithm, LN2)
    finite = Op.CmpLt(Op.Max(logarithm, Op.Neg(logarithm)), like(x, math.inf))
    return Op.Where(finite, Op.Add(lead, rest), logarithm)
