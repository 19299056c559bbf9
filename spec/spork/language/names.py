"""
Names and dtypes of a program
=============================

What every name in a program stands for, and the dtype of every expression. A literal takes the dtype that its
surroundings want; sizes and indices are integers of no width, and bools made of them are conditions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from soundline.spec.dtypes import DType, bool_, index
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.conditions import is_identifier, refusal
from soundline.spec.spork.language.expressions import (
    COMPARISONS,
    FUNCTIONS,
    Apply,
    Binary,
    Cast,
    Const,
    Expr,
    Index,
    Name,
    Span,
    Unary,
    number,
)
from soundline.spec.spork.language.nodes import SPELLING, Node
from soundline.spec.spork.language.types import Control, Data, Type


@dataclass(frozen=True, slots=True)
class DataName:
    """A name of data: its dtype and number of dimensions."""

    dtype: DType
    rank: int


@dataclass(frozen=True, slots=True)
class Barriers:
    """A name of barriers, with the number of its dimensions where that is declared."""

    rank: int | None


Binding = Control | DataName | Barriers
Scope = Mapping[str, Binding]
"""What the names in scope stand for."""


@dataclass(frozen=True, slots=True)
class Typed:
    """The dtype of a value, and whether it is made of sizes, indices and numbers alone."""

    dtype: DType | type[int] | type[float]
    """`int` or `float` for literals, which take the dtype of what they meet."""
    control: bool


def bound_by(type_: Type) -> Binding:
    """What the name of an argument stands for."""
    return DataName(type_.dtype, len(type_.sizes)) if isinstance(type_, Data) else type_


def check_name(name: str, scope: Scope, at: Node) -> None:
    """A name can be bound here."""
    if not is_identifier(name):
        raise refusal("prog-identifier", at, f"{name!r}")
    if name in scope:
        raise refusal("prog-fresh", at, f"{name!r} a second time")


def look_up(name: str, scope: Scope, at: Node) -> Binding:
    """What a name stands for."""
    if name not in scope:
        raise refusal("prog-bound", at, f"{name!r}")
    return scope[name]


def array(place: Name | Index, scope: Scope) -> DataName:
    """The array that is indexed here, with the right number of indices."""
    found = look_up(place.name, scope, place)
    if not isinstance(found, DataName):
        what = "a barrier" if isinstance(found, Barriers) else f"the {found.name} {place.name}"
        raise refusal("prog-kind", place, what)
    if isinstance(place, Index):
        if len(place.indices) != found.rank or not place.indices:
            raise refusal("prog-rank", place, f"{len(place.indices)} for {found.rank} dimensions")
        for i in place.indices:
            check_index(i, scope)
    return found


def check_index(expression: Expr | Span, scope: Scope) -> None:
    """An index, or both ends of an interval."""
    if isinstance(expression, Span):
        for end in (expression.lo, expression.hi):
            if end is not None:
                check_integer(end, scope)
    else:
        check_integer(expression, scope)


def check_integer(expression: Expr, scope: Scope) -> None:
    """An integer that is made of sizes, indices and numbers."""
    found = typed(expression, scope)
    if not found.control or found.dtype not in (index, int):
        raise refusal("prog-index", expression, _shown(found))


def check_size(expression: Expr, scope: Scope) -> None:
    """A size of an array."""
    check_integer(expression, scope)
    known = number(expression)
    if known is not None and known < 0:
        raise refusal("prog-index", expression, f"the size {known}")


def check_condition(expression: Expr, scope: Scope) -> None:
    """A bool that is made of sizes, indices and numbers."""
    found = typed(expression, scope)
    if not found.control or found.dtype is not bool_:
        raise refusal("prog-condition", expression, _shown(found))


def scalar_place(place: Name | Index, scope: Scope) -> DType:
    """The dtype of an element that is written or read."""
    found = array(place, scope)
    if isinstance(place, Index) and place.is_window:
        raise refusal("prog-window", place, "a window as a scalar")
    if isinstance(place, Name) and found.rank:
        raise refusal("prog-window", place, f"all of {place.name} as a scalar")
    return found.dtype


def check_written(place: Name | Index, value: Expr, scope: Scope, *, adds: bool = False) -> None:
    """What is written has the dtype of its place; what is added to can be added to."""
    dtype = scalar_place(place, scope)
    if adds:
        _check_taken(Op.Add, Typed(dtype, False), place)
    found = typed(value, scope)
    if not _fits(found, dtype):
        raise refusal("prog-dtype", value, f"{_shown(found)} for {dtype.name}", _cast_hint(dtype))


def typed(expression: Expr, scope: Scope) -> Typed:
    """The dtype of an expression; raises `ProgramError` where it has none."""
    match expression:
        case Const(value):
            return _literal(expression, value)
        case Name(name):
            found = look_up(name, scope, expression)
            if isinstance(found, Control):
                return Typed(bool_ if found.name == "bool" else index, True)
            return Typed(scalar_place(expression, scope), False)
        case Index():
            return Typed(scalar_place(expression, scope), False)
        case Cast(dtype, operand):
            typed(operand, scope)
            return Typed(dtype, False)
        case Unary(op, operand):
            own = typed(operand, scope)
            _check_taken(op, own, expression)
            return own
        case Binary(op, left, right):
            both = _met(expression, typed(left, scope), typed(right, scope))
            _check_taken(op, both, expression)
            return Typed(bool_, both.control) if op in COMPARISONS else both
        case Apply():
            return _applied(expression, scope)


def _literal(at: Const, value: bool | int | float) -> Typed:
    if isinstance(value, bool):
        return Typed(bool_, True)
    if not math.isfinite(value) or math.copysign(1.0, value) < 0:
        raise refusal("prog-literal", at, repr(value))
    return Typed(type(value), True)


def _applied(call: Apply, scope: Scope) -> Typed:
    wanted = dict(FUNCTIONS.values())
    if wanted.get(call.op) != len(call.operands):
        raise refusal("prog-syntax", call, f"{call.op.name} of {len(call.operands)}")
    found = [typed(operand, scope) for operand in call.operands]
    choice = found.pop(0) if call.op is Op.Where else None
    if choice is not None and choice.dtype is not bool_:
        raise refusal("prog-dtype", call, f"a choice by {_shown(choice)}")
    both = found[0]
    for other in found[1:]:
        both = _met(call, both, other)
    _check_taken(call.op, both, call)
    return Typed(both.dtype, both.control and (choice is None or choice.control))


def _met(at: Expr, a: Typed, b: Typed) -> Typed:
    """The dtype that two operands have together."""
    control = a.control and b.control
    if a.dtype == b.dtype:
        return Typed(a.dtype, control)
    if isinstance(a.dtype, type) and isinstance(b.dtype, type):
        return Typed(float, control)
    for literal, other in ((a, b), (b, a)):
        if isinstance(literal.dtype, type) and isinstance(other.dtype, DType) and _fits(literal, other.dtype):
            return Typed(other.dtype, control)
    hint = "cast the index" if index in (a.dtype, b.dtype) else None
    raise refusal("prog-dtype", at, f"{_shown(a)} and {_shown(b)}", hint)


def _fits(value: Typed, dtype: DType) -> bool:
    """Whether a value can have a dtype without a cast; an index has no width, and so needs one."""
    if value.dtype is int:
        return dtype is not bool_
    if value.dtype is float:
        return dtype.is_float
    return value.dtype is dtype


def _check_taken(op: Op, operands: Typed, at: Expr) -> None:
    dtype = operands.dtype
    whole = dtype in (int, index) or (isinstance(dtype, DType) and dtype.is_int)
    real = dtype is float or (isinstance(dtype, DType) and dtype.is_float)
    match op:
        case Op.Not:
            taken = dtype is bool_
        case Op.And | Op.Or | Op.Xor:
            taken = dtype is bool_ or (isinstance(dtype, DType) and dtype.is_int)
        case Op.Shl | Op.Shr:
            taken = isinstance(dtype, DType) and dtype.is_int
        case Op.Idiv | Op.Mod:
            taken = whole
        case Op.Neg | Op.Add | Op.Sub | Op.Mul | Op.Max:
            taken = whole or real
        case Op.Where | Op.CmpEq | Op.CmpNe:
            taken = True
        case _ if op in COMPARISONS:
            taken = whole or real
        case _:
            taken = real
    if not taken:
        raise refusal("prog-dtype", at, f"{op.name} of {_shown(operands)}")


def _shown(value: Typed) -> str:
    if isinstance(value.dtype, type):
        return f"a literal {value.dtype.__name__}"
    if value.dtype is index or (value.control and value.dtype is bool_):
        return f"control of type {value.dtype.name}"
    return f"data of type {value.dtype.name}"


def _cast_hint(dtype: DType) -> str:
    return f"cast it: {SPELLING.get(dtype, dtype.name)}(...)"
