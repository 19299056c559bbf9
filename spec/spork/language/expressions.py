"""
Expressions of programs
=======================

Scalars, elements and windows. An expression is *control* where it is made of sizes, indices and numbers: bounds,
indices and conditions are such, so that a run of a program is known from its sizes. All else is data.

Operators have the names of the ops whose meaning they have: on data ``a * b`` is `Op.Mul` of the dtype of its operands,
on control it is that of the integers, with ``//`` and ``%`` of the law.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass

from soundline.spec.dtypes import DType
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.nodes import Node, Ref


@dataclass(frozen=True, slots=True, eq=False)
class Const(Node):
    """A number as it is written: ``1``, ``1.0`` and ``True`` are three. Its dtype is that of its surroundings."""

    value: bool | int | float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash(repr(self.value))


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A control variable, a scalar, or all of an array where a window may stand."""

    name: str


@dataclass(frozen=True, slots=True)
class Span(Node):
    """``lo:hi`` among indices; without an end it goes to the end of the dimension."""

    lo: Expr | None = None
    hi: Expr | None = None


@dataclass(frozen=True, slots=True)
class Index(Node):
    """An element of an array, or with intervals among the indices a window of it."""

    name: str
    indices: tuple[Expr | Span, ...]

    @property
    def is_window(self) -> bool:
        """Whether an interval is among the indices."""
        return any(isinstance(i, Span) for i in self.indices)


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``-a`` or ``not a``."""

    op: Op
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """An operator between two operands."""

    op: Op
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """A value in another dtype, spelled as a call: ``f32(x)``."""

    dtype: DType
    operand: Expr


@dataclass(frozen=True, slots=True)
class Apply(Node):
    """A function of scalars, spelled as a call: ``sqrt(x)``, ``select(c, a, b)``."""

    op: Op
    operands: tuple[Expr, ...]


Expr = Const | Name | Index | Unary | Binary | Cast | Apply

UNARY: Mapping[str, Op] = {"-": Op.Neg, "not": Op.Not}
"""The operators of one operand."""

BINARY: Mapping[str, Op] = {
    "+": Op.Add,
    "-": Op.Sub,
    "*": Op.Mul,
    "/": Op.Div,
    "//": Op.Idiv,
    "%": Op.Mod,
    "<<": Op.Shl,
    ">>": Op.Shr,
    "&": Op.And,
    "|": Op.Or,
    "^": Op.Xor,
    "and": Op.And,
    "or": Op.Or,
    "<": Op.CmpLt,
    "<=": Op.CmpLe,
    ">": Op.CmpGt,
    ">=": Op.CmpGe,
    "==": Op.CmpEq,
    "!=": Op.CmpNe,
}
"""The operators of two operands. ``and`` and ``&`` are one op."""

FUNCTIONS: Mapping[str, tuple[Op, int]] = {
    "max": (Op.Max, 2),
    "sqrt": (Op.Sqrt, 1),
    "recip": (Op.Recip, 1),
    "exp2": (Op.Exp2, 1),
    "log2": (Op.Log2, 1),
    "sin": (Op.Sin, 1),
    "trunc": (Op.Trunc, 1),
    "pow": (Op.Pow, 2),
    "fma": (Op.Mulacc, 3),
    "select": (Op.Where, 3),
}
"""The functions of scalars, and how many operands each takes."""

COMPARISONS = frozenset({Op.CmpLt, Op.CmpLe, Op.CmpGt, Op.CmpGe, Op.CmpEq, Op.CmpNe})
"""The operators whose value is a bool whatever their operands are."""

_NUMBERS: Mapping[Op, Callable[[int, int], int]] = {
    Op.Add: operator.add,
    Op.Sub: operator.sub,
    Op.Mul: operator.mul,
    Op.Idiv: operator.floordiv,
    Op.Mod: operator.mod,
}


def number(expression: Expr) -> int | None:
    """The integer that an expression of integers is, if no variable is in it and it divides by no zero.

    >>> number(Binary(Op.Idiv, Const(96), Const(16)))
    6
    """
    match expression:
        case Const(value) if type(value) is int:
            return value
        case Unary(Op.Neg, operand):
            inner = number(operand)
            return None if inner is None else -inner
        case Binary(op, left, right) if op in _NUMBERS:
            a, b = number(left), number(right)
            if a is None or b is None or (b == 0 and op in (Op.Idiv, Op.Mod)):
                return None
            return _NUMBERS[op](a, b)
    return None


def walk(node: object) -> Iterator[Node]:
    """A node and every node inside it, parents first; what a reference stands for is not inside it."""
    if isinstance(node, Node):
        yield node
    if isinstance(node, tuple):
        for part in node:
            yield from walk(part)
    elif is_dataclass(node) and not isinstance(node, type | Ref):
        for part in fields(node):
            yield from walk(getattr(node, part.name))
