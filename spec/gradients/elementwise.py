"""
Adjoints of elementwise ops
===========================

What the sources of an elementwise op receive from the adjoint ``g`` of its value. The formulas are programs over the
ops themselves, rounded at every step; those of `Exp2`, `Log2` and `Pow` hold ln 2 as the nearest number of the dtype.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from soundline.spec.dtypes import bool_, largest_finite, round_to
from soundline.spec.gradients.schema import Passes, always, dropped, filled, guarded, kept, routes, zeros
from soundline.spec.ops.node import Op, UOp
from soundline.spec.values.decompositions import LN2

Parts = Sequence[UOp | None]


def _ln2(x: UOp) -> UOp:
    return filled(x, round_to(x.dtype, LN2))


# Arithmetic -------------------------------------------------------------------------------------------------------


def _mul(node: UOp, g: UOp) -> Parts:
    a, b = node.src
    return Op.Mul(g, b), Op.Mul(g, a)


def _mulacc(node: UOp, g: UOp) -> Parts:
    a, b, _ = node.src
    return Op.Mul(g, b), Op.Mul(g, a), g


def _recip(node: UOp, g: UOp) -> Parts:
    return (Op.Neg(Op.Mul(Op.Mul(g, node), node)),)


def _div(node: UOp, g: UOp) -> Parts:
    to_a = Op.Div(g, node.src[1])
    return to_a, Op.Neg(Op.Mul(to_a, node))


def _sqrt(node: UOp, g: UOp) -> Parts:
    return (Op.Div(g, Op.Add(node, node)),)


# Selection --------------------------------------------------------------------------------------------------------


def _max(node: UOp, g: UOp) -> Parts:
    a, b = node.src
    below, above = Op.CmpLt(a, b), Op.CmpLt(b, a)
    half = g if g.dtype is bool_ else Op.Mul(g, filled(g, 0.5))
    return Op.Where(below, zeros(g), Op.Where(above, g, half)), Op.Where(
        above, zeros(g), Op.Where(below, g, half)
    )


def _where(node: UOp, g: UOp) -> Parts:
    return None, kept(node.src[0], g), dropped(node.src[0], g)


def _cast(node: UOp, g: UOp) -> Parts:
    source = node.src[0].dtype
    return (Op.Cast(g, arg=source) if source.is_float and node.dtype.is_float else None,)


# Transcendental functions -----------------------------------------------------------------------------------------


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


def _sin(node: UOp, g: UOp) -> Parts:
    return (Op.Mul(g, cosine(node.src[0])),)


def _exp2(node: UOp, g: UOp) -> Parts:
    return (Op.Mul(g, Op.Mul(node, _ln2(node))),)


def _log2(node: UOp, g: UOp) -> Parts:
    x = node.src[0]
    inside = Op.Div(g, Op.Mul(x, _ln2(x)))
    return (Op.Where(Op.CmpLt(x, zeros(x)), filled(x, math.nan), inside),)


def _pow(node: UOp, g: UOp) -> Parts:
    """To b nothing passes where a = 0 ≤ b: 0^b does not change there, though log 0 is infinite."""
    a, b = node.src
    slope = Op.Mul(b, Op.Pow(a, Op.Sub(b, filled(b, 1.0))))
    to_a = Op.Mul(g, dropped(Op.CmpEq(b, zeros(b)), slope))
    still = Op.And(Op.CmpEq(a, zeros(a)), Op.CmpLe(zeros(b), b))
    growth = Op.Mul(node, Op.Mul(Op.Log2(a), _ln2(a)))
    return to_a, Op.Mul(g, dropped(still, growth))


ELEMENTWISE: dict[Op, Passes] = {
    Op.Recip: Passes("to x: -g·r·r, r being the value", _recip),
    Op.Cast: Passes("between floats, to x: g cast back, as if nothing were rounded", _cast, scales=False),
    Op.Add: routes("to a: g. To b: g", lambda node, g: (g, g)),
    Op.Mul: Passes("to a: g·b. To b: g·a", _mul),
    Op.Max: Passes(
        "to the greater operand: g. To the other: 0. To equal operands, and if either is NaN: ½·g each",
        _max,
        guarded(_max),
        always,
    ),
    Op.Where: Passes(
        "to a: g where p, else 0. To b: 0 where p, else g. To p: nothing", _where, guarded(_where), always
    ),
    Op.Neg: Passes("to x: -g", lambda node, g: (Op.Neg(g),), scales=False),
    Op.Sub: Passes("to a: g. To b: -g", lambda node, g: (g, Op.Neg(g)), scales=False),
    Op.Div: Passes("to a: g/b. To b: -(g/b)·q, q being the value", _div),
    Op.Exp2: Passes("to x: g·(2^x·ln 2)", _exp2),
    Op.Log2: Passes("to x: g/(x·ln 2); NaN below 0", _log2),
    Op.Sin: Passes("to x: g·cos x, with cos x = sin 2x / (2·sin x), or 1 - 2·sin²(x/2) where x² < ½", _sin),
    Op.Sqrt: Passes("to x: g/(2·√x)", _sqrt),
    Op.Pow: Passes(
        "to a: g·(b·a^(b-1)), and 0 where b = 0. To b: g·(a^b·ln a), 0 where a = 0 ≤ b, NaN where a < 0",
        _pow,
    ),
    Op.Mulacc: Passes("to a: g·b. To b: g·a. To c: g", _mulacc),
}
"""The adjoint of every differentiable elementwise op."""
