"""
Facts about two rounded operations
==================================

What is known of two sums, products, quotients or roots from how their operands compare: order, commutation, negation,
and a sum that the next one undoes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import z3

from soundline.spec.dtypes import DType
from soundline.spec.ops.node import Op

if TYPE_CHECKING:
    from soundline.verify.smt.values.rounded import RoundedArithmetic

Operation = tuple[Any, Any, Any]
"""Two operands and a result."""


def of_sums(a: RoundedArithmetic, one: Operation, other: Operation) -> Iterator[Any]:
    """Order, commutation and negation."""
    (x, y, r), (u, v, s) = one, other
    for p, q in ((u, v), (v, u)):
        yield z3.Implies(z3.And(a.numbers(r, s), a.le(x, p), a.le(y, q)), a.le(r, s))
        yield z3.Implies(z3.And(a.numbers(r, s), a.le(p, x), a.le(q, y)), a.le(s, r))
        yield z3.Implies(z3.And(a.same(x, p), a.same(y, q)), a.same(r, s))
        opposite = z3.Or(a.same(s, a.negated(r)), z3.And(a.zero(r), a.zero(s)))
        yield z3.Implies(z3.And(a.same(p, a.negated(x)), a.same(q, a.negated(y))), opposite)


def undone(a: RoundedArithmetic, dtype: DType, one: Operation, other: Operation) -> Iterator[Any]:
    """(x + y) - y = x where x and -y are so near to each other that their sum is exact."""
    (x, y, r), (u, v, s) = one, other
    for p, q in ((u, v), (v, u)):
        if z3.eq(p, r):
            for kept, gone in ((x, y), (y, x)):
                if z3.eq(q, a.negated(gone)):
                    yield z3.Implies(
                        z3.And(a.sum_is_exact(dtype, x, y), z3.Not(a.zero(kept))), a.same(s, kept)
                    )


def of_products(a: RoundedArithmetic, one: Operation, other: Operation) -> Iterator[Any]:
    """Order of magnitudes, and commutation; signs are known already."""
    (x, y, r), (u, v, s) = one, other
    for p, q in ((u, v), (v, u)):
        yield _by_size(a, (x, p), (y, q), (r, s))
        yield _by_size(a, (p, x), (q, y), (s, r))
        yield z3.Implies(z3.And(a.same(x, p), a.same(y, q)), a.same(r, s))


def _by_size(
    a: RoundedArithmetic, first: tuple[Any, Any], second: tuple[Any, Any], results: tuple[Any, Any]
) -> Any:
    """|x| ≤ |u| and |y| ≤ |v| ⇒ |r| ≤ |s|, where both are numbers."""
    smaller = [a.le(a.size(x), a.size(u)) for x, u in (first, second)]
    return z3.Implies(z3.And(a.numbers(*results), *smaller), a.le(a.size(results[0]), a.size(results[1])))


def of_quotients(a: RoundedArithmetic, one: Operation, other: Operation) -> Iterator[Any]:
    """Order of magnitudes: a quotient grows with its dividend and falls with its divisor."""
    (x, y, r), (u, v, s) = one, other
    yield _by_size(a, (x, u), (v, y), (r, s))
    yield _by_size(a, (u, x), (y, v), (s, r))


def of_roots(a: RoundedArithmetic, one: Operation, other: Operation) -> Iterator[Any]:
    """Order."""
    (x, _, r), (u, _, s) = one, other
    yield z3.Implies(z3.And(a.numbers(r, s), a.le(x, u)), a.le(r, s))
    yield z3.Implies(z3.And(a.numbers(r, s), a.le(u, x)), a.le(s, r))


PAIRS: dict[Op, Callable[[RoundedArithmetic, Operation, Operation], Iterator[Any]]] = {
    Op.Add: of_sums,
    Op.Mul: of_products,
    Op.Div: of_quotients,
    Op.Sqrt: of_roots,
}
"""The facts about two operations of one kind."""
