"""
Sizes before they are known
===========================

An integer of control as a polynomial over whatever is not a sum, a difference or a product: so ``16 * i + 16 - 16 * i``
is 16 whatever i is. A condition is true, false, or not decided before the sizes are known.

>>> from soundline.spec.spork.language.expressions import Binary, Const, Name
>>> from soundline.spec.ops.node import Op
>>> i = Binary(Op.Mul, Const(16), Name("i"))
>>> difference(Binary(Op.Add, i, Const(4)), i)
4
>>> decided(Binary(Op.CmpLt, i, Binary(Op.Add, i, Const(1)))), decided(Binary(Op.CmpLt, i, Const(9)))
(True, None)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Final

from soundline.spec.ops.node import Op
from soundline.spec.ops.polynomials import Polynomial
from soundline.spec.spork.language.expressions import Apply, Binary, Const, Expr, Name, Unary
from soundline.spec.spork.language.text import expression as text_of

_COMPARED: Final[Mapping[Op, Callable[[int, int], bool]]] = {
    Op.CmpLt: operator.lt,
    Op.CmpLe: operator.le,
    Op.CmpGt: operator.gt,
    Op.CmpGe: operator.ge,
    Op.CmpEq: operator.eq,
    Op.CmpNe: operator.ne,
}
_WHOLE: Final[Mapping[Op, Callable[[int, int], int]]] = {
    Op.Idiv: operator.floordiv,
    Op.Mod: operator.mod,
    Op.Max: max,
}


def substituted(expression: Expr, values: Mapping[str, Expr]) -> Expr:
    """An expression of control with others for its names."""
    match expression:
        case Name(name):
            return values.get(name, expression)
        case Unary(op, operand):
            return Unary(op, substituted(operand, values), position=expression.position)
        case Binary(op, left, right):
            sides = substituted(left, values), substituted(right, values)
            return Binary(op, *sides, position=expression.position)
        case Apply(op, operands):
            given = tuple(substituted(o, values) for o in operands)
            return Apply(op, given, position=expression.position)
        case _:
            return expression


def polynomial(expression: Expr) -> Polynomial[str]:
    """An integer of control as a polynomial, whose atoms are named by their texts."""
    match expression:
        case Const(value):
            return Polynomial.of(int(value))
        case Unary(Op.Neg, operand):
            return -polynomial(operand)
        case Binary(Op.Add, left, right):
            return polynomial(left) + polynomial(right)
        case Binary(Op.Sub, left, right):
            return polynomial(left) - polynomial(right)
        case Binary(Op.Mul, left, right):
            return polynomial(left) * polynomial(right)
        case Binary(op, left, right) | Apply(op, (left, right)):
            return _term(expression, op, left, right)
        case _:
            return Polynomial.of(text_of(expression))


def _term(expression: Expr, op: Op, left: Expr, right: Expr) -> Polynomial[str]:
    """A quotient or the like: a number where both sides are, else a term of its own."""
    a, b = value(left), value(right)
    if a is None or b is None or op not in _WHOLE or (b == 0 and op is not Op.Max):
        return Polynomial.of(text_of(expression))
    return Polynomial.of(_WHOLE[op](a, b))


def value(expression: Expr) -> int | None:
    """The integer that an expression is whatever its names stand for, if there is one."""
    return polynomial(expression).constant


def difference(left: Expr, right: Expr) -> int | None:
    """By how much one expression is greater than another whatever their names stand for, if that is one number."""
    return value(Binary(Op.Sub, left, right))


def decided(condition: Expr) -> bool | None:
    """Whether a condition holds whatever its names stand for; None where that depends on them, or cannot be decided."""
    match condition:
        case Const(value=known) if isinstance(known, bool):
            return known
        case Unary(Op.Not, operand):
            inner = decided(operand)
            return None if inner is None else not inner
        case Binary(op, left, right) if op in _COMPARED:
            by = difference(left, right)
            return None if by is None else _COMPARED[op](by, 0)
        case Binary(Op.And | Op.Or as op, left, right):
            sides, settles = {decided(left), decided(right)}, op is Op.Or
            if settles in sides:
                return settles
            return None if None in sides else not settles
        case _:
            return None
