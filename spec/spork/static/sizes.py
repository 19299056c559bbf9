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
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Apply, Binary, Const, Expr, Name, Unary
from soundline.spec.spork.language.text import expression as text_of

Polynomial = dict[tuple[str, ...], int]
"""The factor of each product of terms; terms are named by their texts."""

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


def polynomial(expression: Expr) -> Polynomial:
    """An integer of control as a polynomial."""
    match expression:
        case Const(value):
            return {(): int(value)} if value else {}
        case Unary(Op.Neg, operand):
            return {term: -factor for term, factor in polynomial(operand).items()}
        case Binary(Op.Add, left, right):
            return _sum(polynomial(left), polynomial(right), 1)
        case Binary(Op.Sub, left, right):
            return _sum(polynomial(left), polynomial(right), -1)
        case Binary(Op.Mul, left, right):
            return _product(polynomial(left), polynomial(right))
        case Binary(op, left, right) | Apply(op, (left, right)):
            return _term(expression, op, left, right)
        case _:
            return {(text_of(expression),): 1}


def _term(expression: Expr, op: Op, left: Expr, right: Expr) -> Polynomial:
    """A quotient or the like: a number where both sides are, else a term of its own."""
    a, b = value(left), value(right)
    if a is None or b is None or op not in _WHOLE or (b == 0 and op is not Op.Max):
        return {(text_of(expression),): 1}
    found = _WHOLE[op](a, b)
    return {(): found} if found else {}


def _sum(left: Polynomial, right: Polynomial, sign: int) -> Polynomial:
    found = Counter(left)
    for term, factor in right.items():
        found[term] += sign * factor
    return {term: factor for term, factor in found.items() if factor}


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    found: Counter[tuple[str, ...]] = Counter()
    for one, factor in left.items():
        for other, by in right.items():
            found[tuple(sorted((*one, *other)))] += factor * by
    return {term: factor for term, factor in found.items() if factor}


def value(expression: Expr) -> int | None:
    """The integer that an expression is whatever its names stand for, if there is one."""
    found = polynomial(expression)
    return found.get((), 0) if set(found) <= {()} else None


def difference(left: Expr, right: Expr) -> int | None:
    """By how much one expression is greater than another whatever their names stand for, if that is one number."""
    return value(Binary(Op.Sub, left, right))


def decided(condition: Expr) -> bool | None:
    """Whether a condition holds whatever its names stand for; None where that depends on them, or is not seen."""
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
