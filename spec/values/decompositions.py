"""
Decompositions
==============

The decomposed ops as programs over the primitive ones. The semantics column is the law, and a decomposition is a
rewrite (U-08): most are exact, and the op table names the licence of each that is not.

`Exp2`, `Log2`, `Sin` and `Pow` are different: their law is the real function within a stated error, and the exact
profile needs one result, bit for bit. It is the result of a program, whose steps are all correctly rounded (U-11). The
chapter `accuracy` states how far the programs are from the real functions. `Threefry` is a function of bits, and its
program is the law.
"""

from __future__ import annotations

from collections.abc import Callable

from soundline.spec.dtypes import DType
from soundline.spec.ops.elementwise.functions import LN2
from soundline.spec.ops.node import Op
from soundline.spec.uop import UOp
from soundline.spec.values.exponentials import EXP2, LOG2, exp2, log2
from soundline.spec.values.power import POW, power
from soundline.spec.values.sine import SIN, sin
from soundline.spec.values.steps import add, either, less, like, mul, unequal
from soundline.spec.values.threefry import THREEFRY, threefry

__all__ = [
    "DECOMPOSITIONS",
    "EXACT",
    "EXP2",
    "LN2",
    "LOG2",
    "OF_THE_SOURCE",
    "POW",
    "PROGRAMS",
    "SIN",
    "THREEFRY",
    "at_least",
    "at_least_without_nan",
    "equality",
    "exp2",
    "like",
    "log2",
    "negation",
    "not_true",
    "power",
    "power_by_logarithm",
    "quotient_by_reciprocal",
    "root_by_logarithm",
    "sin",
    "threefry",
]


def negation(x: UOp) -> UOp:
    """-x as x · (-1); on an unsigned dtype -1 is the greatest value."""
    return mul(x, -1)


def not_true(p: UOp) -> UOp:
    """¬p as p ≠ True."""
    return unequal(p, True)


def equality(a: UOp, b: UOp) -> UOp:
    """[a = b] as ¬[a ≠ b]."""
    return not_true(unequal(a, b))


def at_least(a: UOp, b: UOp) -> UOp:
    """[a ≥ b] as [b < a] or [a = b], which is false on NaN (U-07)."""
    return either(less(b, a), UOp(Op.CmpEq, (a, b)))


def at_least_without_nan(a: UOp, b: UOp) -> UOp:
    """[a ≥ b] as ¬[a < b]: the source's form, true on NaN."""
    return not_true(less(a, b))


def quotient_by_reciprocal(a: UOp, b: UOp) -> UOp:
    """a/b as a · (1/b), two roundings."""
    return mul(a, UOp(Op.Recip, (b,)))


def root_by_logarithm(x: UOp) -> UOp:
    """√x as 2^(½·log₂ x), over the reals only (U-08)."""
    return UOp(Op.Exp2, (mul(0.5, UOp(Op.Log2, (x,))),))


def power_by_logarithm(a: UOp, b: UOp) -> UOp:
    """a^b as 2^(log₂ a · b), over the positive reals only (U-08)."""
    return UOp(Op.Exp2, (mul(UOp(Op.Log2, (a,)), b),))


DECOMPOSITIONS: dict[Op, Callable[..., UOp]] = {
    Op.Neg: negation,
    Op.Sub: lambda a, b: add(a, UOp(Op.Neg, (b,))),
    Op.Div: quotient_by_reciprocal,
    Op.CmpGt: lambda a, b: less(b, a),
    Op.CmpGe: at_least,
    Op.CmpLe: lambda a, b: at_least(b, a),
    Op.CmpEq: equality,
    Op.Not: not_true,
    Op.Exp2: exp2,
    Op.Log2: log2,
    Op.Sin: sin,
    Op.Sqrt: root_by_logarithm,
    Op.Pow: power,
    Op.Mulacc: lambda a, b, c: add(mul(a, b), c),
    Op.Threefry: threefry,
}
"""The decomposition of every decomposed op; those of Div and Sqrt hold under their licences only."""

EXACT = tuple(op for op in DECOMPOSITIONS if op not in (Op.Div, Op.Sqrt))
"""The ops whose decomposition gives the same bits and needs no licence."""

OF_THE_SOURCE: dict[Op, Callable[..., UOp]] = {
    Op.CmpGe: at_least_without_nan,
    Op.CmpLe: lambda a, b: at_least_without_nan(b, a),
    Op.Div: quotient_by_reciprocal,
    Op.Sqrt: root_by_logarithm,
    Op.Pow: power_by_logarithm,
}
"""The source's decompositions that differ from the meaning of their op (U-07, U-08)."""

PROGRAMS: dict[Op, dict[DType, UOp]] = {
    Op.Exp2: EXP2,
    Op.Log2: LOG2,
    Op.Sin: SIN,
    Op.Pow: POW,
    Op.Threefry: THREEFRY,
}
"""The ops whose value is that of a scalar program, and their programs by dtype."""
