"""
Functions of numbers
====================

Powers, logarithms, sines and roots, and a function of bits that makes random numbers. All but the root are given bit
for bit by a program (U-11): their values are those of `spec.values.decompositions`. The formulas of the adjoints are
programs over the ops themselves, rounded at every step; those of `Exp2`, `Log2` and `Pow` hold ln 2 as the nearest
number of the dtype.
"""

from __future__ import annotations

import math
from fractions import Fraction

from soundline.spec.dtypes import DType, largest_finite, round_to, uint64
from soundline.spec.ops.adjoints import WHOLE, Parts, Passes, dropped, filled, zeros
from soundline.spec.ops.bounds import Bounds, infinite, of_sources
from soundline.spec.ops.elementwise.families import FLOAT, IEEE_FLOAT, binary, dtype_is, unary
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.schema import Law

LN2 = Fraction("0.69314718055994530941723212145817656807550013436025525412068")


def _ln2(x: UOp) -> UOp:
    return filled(x, round_to(x.dtype, LN2))


# Exponentials -----------------------------------------------------------------------------------------------------


def _to_exponent(node: UOp, g: UOp) -> Parts:
    return (Op.Mul(g, Op.Mul(node, _ln2(node))),)


def _to_argument_of_logarithm(node: UOp, g: UOp) -> Parts:
    x = node.src[0]
    inside = Op.Div(g, Op.Mul(x, _ln2(x)))
    return (Op.Where(Op.CmpLt(x, zeros(x)), filled(x, math.nan), inside),)


EXP2 = unary(
    Op.Exp2,
    "2^x within a stated number of ulp; exact at integers, ±∞ and NaN",
    IEEE_FLOAT,
    bounds=Law("[0, ∞]", of_sources(lambda a, dtype: Bounds(0.0, dtype.max, a.maybe_nan))),
    decomposition="split into integer and fraction, polynomial, scale by a power of two (chapter exponentials)",
    adjoint=Passes("to x: g·(2^x·ln 2)", _to_exponent),
    example=">>> scalar(Op.Exp2, float32, 3.0)\n8.0",
    decisions=("U-11",),
)

LOG2 = unary(
    Op.Log2,
    "log₂ x within a stated number of ulp; exact at powers of two; -∞ at ±0, NaN below 0",
    IEEE_FLOAT,
    decomposition="extract the exponent, polynomial on the significand (chapter exponentials)",
    adjoint=Passes("to x: g/(x·ln 2); NaN below 0", _to_argument_of_logarithm),
    example=">>> scalar(Op.Log2, float32, 8.0)\n3.0",
    decisions=("U-11",),
)

# Sine -------------------------------------------------------------------------------------------------------------


def cosine(x: UOp) -> UOp:
    """cos x in terms of Sin.

    It is sin 2x / (2·sin x), and 1 - 2·sin²(x/2) where x² < ½. If Sin is within e ulp, and p is the number of
    significant bits, the relative error is below (4e + 1)·2^-p, or 7·2^-p. The sine of x + π/2 would lose what the sum
    rounds off: all of it for a large x. Where 2x may overflow the second form is used too; there the error is below
    (8e + 4)·2^-p, but absolute.
    """
    sine, half = Op.Sin(x), Op.Sin(Op.Mul(x, filled(x, 0.5)))
    square = Op.Mul(half, half)
    by_half = Op.Sub(filled(x, 1.0), Op.Add(square, square))
    by_double = Op.Div(Op.Sin(Op.Add(x, x)), Op.Add(sine, sine))
    small = Op.CmpLt(Op.Mul(x, x), filled(x, 0.5))
    huge = Op.CmpLt(filled(x, largest_finite(x.dtype) / 2), Op.Max(x, Op.Neg(x)))
    return Op.Where(Op.Or(small, huge), by_half, by_double)


def _to_angle(node: UOp, g: UOp) -> Parts:
    return (Op.Mul(g, cosine(node.src[0])),)


SIN = unary(
    Op.Sin,
    "sin x within a stated number of ulp; ±0 at ±0, NaN at ±∞",
    IEEE_FLOAT,
    bounds=Law(
        "[-1, 1]; NaN where an end is infinite",
        of_sources(lambda a, dtype: Bounds(-1.0, 1.0, a.maybe_nan or infinite(a))),
    ),
    decomposition="reduce the argument by the bits of 1/(2π), polynomial of sine or cosine (chapter sine)",
    adjoint=Passes(
        "to x: g·cos x, with cos x = sin 2x / (2·sin x), or 1 - 2·sin²(x/2) where x² < ½", _to_angle
    ),
    example=">>> scalar(Op.Sin, float64, 1e22)\n-0.8522008497671888",
    decisions=("U-11",),
)

# Roots and powers -------------------------------------------------------------------------------------------------


def _bounds_of_root(a: Bounds, dtype: DType) -> Bounds:
    if a.lo < 0:
        return Bounds(-0.0, dtype.max, True)
    return Bounds(round_to(dtype, math.sqrt(a.lo)), round_to(dtype, math.sqrt(a.hi)), a.maybe_nan)


def sqrt(dtype: DType, x: float) -> float:
    """√x, correctly rounded; √-0 is -0."""
    return round_to(dtype, math.sqrt(x)) if x >= 0.0 else math.nan


def _to_square(node: UOp, g: UOp) -> Parts:
    return (Op.Div(g, Op.Add(node, node)),)


def _to_base_and_exponent(node: UOp, g: UOp) -> Parts:
    """b receives nothing where a = 0 ≤ b: 0^b does not change there, though log 0 is infinite."""
    a, b = node.src
    slope = Op.Mul(b, Op.Pow(a, Op.Sub(b, filled(b, 1.0))))
    to_a = Op.Mul(g, dropped(Op.CmpEq(b, zeros(b)), slope))
    still = Op.And(Op.CmpEq(a, zeros(a)), Op.CmpLe(zeros(b), b))
    growth = Op.Mul(node, Op.Mul(Op.Log2(a), _ln2(a)))
    return to_a, Op.Mul(g, dropped(still, growth))


SQRT = unary(
    Op.Sqrt,
    "√x, correctly rounded; √-0 = -0; NaN below 0",
    FLOAT,
    bounds=Law(
        "[√a, √A] for a ≥ 0, else [-0, the greatest of the dtype] or NaN", of_sources(_bounds_of_root)
    ),
    scalar=sqrt,
    decomposition="Exp2(Mul(0.5, Log2(x))), over the reals only",
    licences=("approx",),
    adjoint=Passes("to x: g/(2·√x)", _to_square),
    example=">>> scalar(Op.Sqrt, float32, 9.0)\n3.0",
    decisions=("U-05", "U-08"),
)

POW = binary(
    Op.Pow,
    "a^b within a stated number of ulp, with the special cases of IEEE 754-2019: 1 at a = 1 and at b = 0, else NaN "
    "where either is NaN; for a < 0 finite, NaN where b is finite and no integer; at a = ±0 or ±∞ or b = ±∞ the "
    "limit ∞ or 0, and 1 at a = -1. A negative a, -0 included, gives a negative result at odd b",
    IEEE_FLOAT,
    decomposition="Exp2(Mul(Log2(a), b)), over the positive reals only; 2^(b·log₂ |a|) with special cases "
    "(chapter power) always",
    licences=("approx",),
    adjoint=Passes(
        "to a: g·(b·a^(b-1)), and 0 where b = 0. To b: g·(a^b·ln a), 0 where a = 0 ≤ b, NaN where a < 0",
        _to_base_and_exponent,
    ),
    example=">>> scalar(Op.Pow, float32, -2.0, 3.0)\n-8.0",
    decisions=("U-08", "U-11"),
)

# Random bits ------------------------------------------------------------------------------------------------------

THREEFRY = binary(
    Op.Threefry,
    "Threefry-2x32-20 of counter a under key b, low word first",
    dtype_is("the dtype is uint64", lambda d: d is uint64),
    decomposition="five groups of four add-rotate-xor rounds with key injection (chapter threefry)",
    adjoint=WHOLE,
    example=">>> hex(scalar(Op.Threefry, uint64, 0, 0))\n'0x99ba4efe6b200159'",
    decisions=("U-12",),
)
