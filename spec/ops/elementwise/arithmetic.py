"""
Arithmetic
==========

Sums, products, negation and quotients of floats. Integers wrap (U-02), floats round once (U-05).
"""

from __future__ import annotations

import math
from typing import Any

from soundline.spec.dtypes import DType, Element, bool_, round_to
from soundline.spec.ops import bounds
from soundline.spec.ops.adjoints import Parts, Passes, routes
from soundline.spec.ops.bounds import Bounds, infinite, of_sources
from soundline.spec.ops.elementwise.families import (
    FLOAT,
    NUMBER,
    NUMBER_OR_BOOL,
    ROUNDED,
    A,
    B,
    C,
    binary,
    held,
    unary,
)
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.schema import Law

# Bounds -----------------------------------------------------------------------------------------------------------


def _plus(x: Element, y: Element) -> Element:
    """x + y; of an infinite end of index and an integer, which may be beyond any float, the infinite end."""
    if isinstance(x, float) == isinstance(y, float):
        return x + y
    return x if isinstance(x, float) else y


def _times(x: Element, y: Element, dtype: DType) -> Element:
    """x·y; on index an infinite end times zero is zero, and times any other number infinite."""
    if isinstance(x, float) == isinstance(y, float):
        return x * y
    if x == 0 or y == 0:
        return 0
    return math.inf if (x > 0) == (y > 0) else -math.inf


def bounds_of_sum(a: Bounds, b: Bounds, dtype: DType) -> Bounds:
    """[a+b, A+B]; NaN where infinities of both signs may meet."""
    clash = dtype.is_float and (
        (a.hi == math.inf and b.lo == -math.inf) or (a.lo == -math.inf and b.hi == math.inf)
    )
    ends = [_plus(a.lo, b.lo), _plus(a.hi, b.hi)]
    return bounds.spans(ends, dtype, nan=a.maybe_nan or b.maybe_nan or clash)


def bounds_of_product(a: Bounds, b: Bounds, dtype: DType) -> Bounds:
    """The products of the ends; NaN where zero may meet an infinity."""
    if dtype is bool_:
        return Bounds(bool(a.lo and b.lo), bool(a.hi and b.hi))
    zero_times_infinity = dtype.is_float and (
        (infinite(a) and b.lo <= 0 <= b.hi) or (infinite(b) and a.lo <= 0 <= a.hi)
    )
    corners = [_times(x, y, dtype) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return bounds.spans(corners, dtype, nan=a.maybe_nan or b.maybe_nan or zero_times_infinity)


def _negated(a: Bounds) -> Bounds:
    return Bounds(-a.hi, -a.lo, a.maybe_nan)


# Values -----------------------------------------------------------------------------------------------------------


def add(dtype: DType, a: Any, b: Any) -> Element:
    """a + b."""
    return held(dtype, a + b)


def mul(dtype: DType, a: Any, b: Any) -> Element:
    """a · b; of bools, and."""
    return (a and b) if dtype is bool_ else held(dtype, a * b)


def mulacc(dtype: DType, a: Any, b: Any, c: Any) -> Element:
    """a · b + c in two roundings (U-09)."""
    return add(dtype, mul(dtype, a, b), c)


def div(dtype: DType, a: float, b: float) -> float:
    """a / b, correctly rounded; a/±0 is an infinity, 0/0 is NaN."""
    if b != 0.0:
        return round_to(dtype, a / b)
    if a == 0.0 or math.isnan(a):
        return math.nan
    return round_to(dtype, math.copysign(math.inf, a) * math.copysign(1.0, b))


# Adjoints ---------------------------------------------------------------------------------------------------------


def _to_factors(node: UOp, g: UOp) -> Parts:
    a, b = node.src
    return Op.Mul(g, b), Op.Mul(g, a)


def _to_mulacc(node: UOp, g: UOp) -> Parts:
    a, b, _ = node.src
    return Op.Mul(g, b), Op.Mul(g, a), g


def _to_quotient(node: UOp, g: UOp) -> Parts:
    to_a = Op.Div(g, node.src[1])
    return to_a, Op.Neg(Op.Mul(to_a, node))


def _to_reciprocal(node: UOp, g: UOp) -> Parts:
    return (Op.Neg(Op.Mul(Op.Mul(g, node), node)),)


# Entries ----------------------------------------------------------------------------------------------------------

ADD = binary(
    Op.Add,
    "a + b; integers wrap, floats round once",
    NUMBER,
    bounds=Law(f"[a+b, A+B] where it fits the dtype, else dtype range; {ROUNDED}", of_sources(bounds_of_sum)),
    scalar=add,
    adjoint=routes("to a: g. To b: g", lambda node, g: (g, g)),
    example=">>> scalar(Op.Add, int8, 127, 1)\n-128",
    decisions=("U-02", "U-05", "U-14", "U-40", "U-43"),
)

MUL = binary(
    Op.Mul,
    "a · b; integers wrap, floats round once; and of bools",
    NUMBER_OR_BOOL,
    bounds=Law(
        f"[min, max] of the products of the ends where it fits the dtype, else dtype range; {ROUNDED}",
        of_sources(bounds_of_product),
    ),
    scalar=mul,
    adjoint=Passes("to a: g·b. To b: g·a", _to_factors),
    example=">>> scalar(Op.Mul, float32, 0.0, -1.0)\n-0.0",
    decisions=("U-02", "U-05", "U-14", "U-40", "U-43"),
)

NEG = unary(
    Op.Neg,
    "-x; integers wrap, and the sign bit of a float is reversed",
    NUMBER,
    bounds=Law(
        "[-A, -a] where it fits the dtype, else dtype range",
        of_sources(lambda a, dtype: bounds.spans([-a.lo, -a.hi], dtype, nan=a.maybe_nan)),
    ),
    scalar=lambda dtype, x: held(dtype, -x),
    decomposition="Mul(a, -1)",
    adjoint=Passes("to x: -g", lambda node, g: (Op.Neg(g),), scales=False),
    example=">>> scalar(Op.Neg, uint8, 1)\n255",
    decisions=("U-02", "U-40"),
)

SUB = binary(
    Op.Sub,
    "a - b; integers wrap, floats round once",
    NUMBER,
    bounds=Law(
        f"[a-B, A-b] where it fits the dtype, else dtype range; {ROUNDED}",
        of_sources(lambda a, b, dtype: bounds_of_sum(a, _negated(b), dtype)),
    ),
    scalar=lambda dtype, a, b: held(dtype, a - b),
    decomposition="Add(a, Neg(b))",
    adjoint=Passes("to a: g. To b: -g", lambda node, g: (g, Op.Neg(g)), scales=False),
    example=">>> scalar(Op.Sub, uint8, 0, 1)\n255",
    decisions=("U-02", "U-40", "U-43"),
)

MULACC = binary(
    Op.Mulacc,
    "a · b + c in two roundings; integers wrap",
    NUMBER,
    sources=(A, B, C),
    bounds=Law(
        "of Add(Mul(a, b), c)",
        of_sources(lambda a, b, c, dtype: bounds_of_sum(bounds_of_product(a, b, dtype), c, dtype)),
    ),
    scalar=mulacc,
    decomposition="Add(Mul(a, b), c)",
    adjoint=Passes("to a: g·b. To b: g·a. To c: g", _to_mulacc),
    example=">>> scalar(Op.Mulacc, int32, 2, 3, 4)\n10",
    decisions=("U-09",),
)

RECIP = unary(
    Op.Recip,
    "1/x, correctly rounded; 1/±0 is ±∞, which in E4M3FN is NaN",
    FLOAT,
    scalar=lambda dtype, x: div(dtype, 1.0, x),
    adjoint=Passes("to x: -g·r·r, r being the value", _to_reciprocal),
    example=">>> scalar(Op.Recip, float32, 4.0)\n0.25",
    decisions=("U-05",),
)

DIV = binary(
    Op.Div,
    "a / b, correctly rounded",
    FLOAT,
    scalar=div,
    decomposition="Mul(a, Recip(b))",
    licences=("reciprocal",),
    adjoint=Passes("to a: g/b. To b: -(g/b)·q, q being the value", _to_quotient),
    example=">>> scalar(Op.Div, float32, 5.0, 3.0) == scalar(Op.Mul, float32, 5.0, scalar(Op.Recip, float32, 3.0))\n"
    "False",
    decisions=("U-05", "U-08"),
)
