"""
Graph rewriting by tinygrad
===========================

The patterns of tinygrad that say what the rules of `rewriting` say. This module needs tinygrad.
"""

from __future__ import annotations

from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat, graph_rewrite

from rows.rewriting import Program

_COMMUTATIVE = ("ADD", "MUL", "MAX", "AND", "OR", "XOR")
_OPERATIONS = (*_COMMUTATIVE, "SUB", "NEG")


def op(name: str, *src: Any) -> Any:
    """A pattern; of a commutative op, in both orders."""
    return UPat(Ops[name], src=list(src) if name in _COMMUTATIVE else tuple(src))


def number(value: int) -> Any:
    """The pattern of a number."""
    return UPat.const(value, dtypes.int)


def neg(p: Any) -> Any:
    """The pattern of a negation."""
    return op("NEG", p)


def keep(x: Any) -> Any:
    """The operand alone."""
    return x


x, y = UPat.var("x"), UPat.var("y")
MATCHER = PatternMatcher(
    [
        (op("ADD", x, number(0)), keep),
        (op("SUB", x, number(0)), keep),
        (op("SUB", number(0), x), lambda x: UOp(Ops.NEG, x.dtype, (x,))),
        (op("MUL", x, number(1)), keep),
        (op("MUL", x, number(-1)), lambda x: UOp(Ops.NEG, x.dtype, (x,))),
        (op("OR", x, number(0)), keep),
        (op("AND", x, number(-1)), keep),
        (op("XOR", x, number(0)), keep),
        (neg(neg(x)), keep),
        (op("ADD", x, neg(y)), lambda x, y: UOp(Ops.SUB, x.dtype, (x, y))),
        (op("SUB", x, neg(y)), lambda x, y: UOp(Ops.ADD, x.dtype, (x, y))),
        (neg(op("SUB", x, y)), lambda x, y: UOp(Ops.SUB, x.dtype, (y, x))),
        (op("MUL", neg(x), neg(y)), lambda x, y: UOp(Ops.MUL, x.dtype, (x, y))),
        (op("AND", x, x), keep),
        (op("OR", x, x), keep),
        (op("MAX", x, x), keep),
        (op("SUB", op("ADD", x, y), y), lambda x, y: x),
        (op("ADD", op("SUB", x, y), y), lambda x, y: x),
        (op("CDIV", x, number(1)), keep),
        (op("CMOD", x, number(1)), lambda x: x.const_like(0)),
        (op("MUL", x, number(0)), lambda x: x.const_like(0)),
        (op("AND", x, number(0)), lambda x: x.const_like(0)),
        (op("OR", x, number(-1)), lambda x: x.const_like(-1)),
        (op("XOR", x, x), lambda x: x.const_like(0)),
        (op("SUB", x, x), lambda x: x.const_like(0)),
        (op("AND", x, op("OR", x, y)), lambda x, y: x),
        (op("OR", x, op("AND", x, y)), lambda x, y: x),
        (op("MAX", x, op("MAX", x, y)), lambda x, y: UOp(Ops.MAX, x.dtype, (x, y))),
        (op("CMOD", x, x), lambda x: x.const_like(0)),
        (op("CDIV", x, number(0)), lambda x: x.const_like(0)),
    ]
)


def graph(drawn: Program) -> Any:
    """The graph as tinygrad's UOps."""
    made: list[Any] = []
    for name, a, b in drawn:
        if name == "leaf":
            made.append(UOp.variable(f"x{a}", -(2**31), 2**31 - 1, dtypes.int))
        elif name == "const":
            made.append(made[0].const_like(a))
        else:
            made.append(UOp(Ops[name.upper()], dtypes.int, tuple(made[k] for k in (a, b) if k is not None)))
    return UOp(Ops.SINK, dtypes.void, tuple(made))


def rewritten(given: Any) -> Any:
    """The graph in normal form."""
    return graph_rewrite(given, MATCHER)


def size(given: Any) -> int:
    """How many operations a graph has."""
    return sum(n.op.name in _OPERATIONS for n in given.toposort())
