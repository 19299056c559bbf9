"""
Symbolic numbers
================

The laws of intervals are Python functions with branches. Here they run as they are, the very functions of the law, on
numbers that stand for any number: arithmetic builds terms, and a branch is taken both ways where both ways are
possible. Each way through a function is a *path*: the conditions under which it is taken, and what is returned.

A product and a floor quotient of two symbolic numbers are uninterpreted, and what is known of them are instances of
lemmas that are obligations of their own. So every question to the solver is linear, and each answer is quick and
definite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import z3

from soundline.spec.ops.bounds import Bounds
from soundline.verify.smt.goals.solving import Budget, limited


class TooManyPaths(Exception):
    """A function has more ways through it than are followed."""


MOST_PATHS = 4096


@dataclass(eq=False)
class Truth:
    """A condition; Python asks it for True or False, and the answer is a choice of the path."""

    term: Any
    paths: Paths

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return self.paths.choose(self.term)

    def __eq__(self, other: object) -> bool:
        return bool(self) == bool(other)


def _infinite(x: Any) -> bool:
    return isinstance(x, float) and math.isinf(x)


class Number:
    """Any integer. With an infinite end of ``index`` it can be compared, and nothing else."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, term: Any, paths: Paths) -> None:
        self.term = term
        self.paths = paths

    def _of(self, term: Any) -> Number:
        return Number(z3.simplify(term), self.paths)

    def _compared(self, other: Any, relation: Callable[[Any, Any], Any], with_infinity: bool) -> Any:
        if _infinite(other):
            return with_infinity
        return Truth(relation(self.term, term_of(other)), self.paths)

    def __add__(self, other: Any) -> Number:
        return self._of(self.term + term_of(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Number:
        return self._of(self.term - term_of(other))

    def __rsub__(self, other: Any) -> Number:
        return self._of(term_of(other) - self.term)

    def __neg__(self) -> Number:
        return self._of(-self.term)

    def __mul__(self, other: Any) -> Number:
        return self.paths.product(self.term, term_of(other))

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Number:
        return self.paths.quotient(self.term, term_of(other))

    def __rfloordiv__(self, other: Any) -> Number:
        return self.paths.quotient(term_of(other), self.term)

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, lambda a, b: a < b, bool(_infinite(other) and other > 0))

    def __le__(self, other: Any) -> Any:
        return self._compared(other, lambda a, b: a <= b, bool(_infinite(other) and other > 0))

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, lambda a, b: a > b, bool(_infinite(other) and other < 0))

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, lambda a, b: a >= b, bool(_infinite(other) and other < 0))

    def __eq__(self, other: Any) -> Any:
        return self._compared(other, lambda a, b: a == b, False)

    def __ne__(self, other: Any) -> Any:
        return self._compared(other, lambda a, b: a != b, True)


def term_of(x: Any) -> Any:
    """The Z3 term of a symbolic number, condition or Python integer."""
    if isinstance(x, Number):
        return x.term
    if isinstance(x, Truth):
        return z3.If(x.term, 1, 0)
    if isinstance(x, (bool, int)):
        return z3.IntVal(int(x))
    raise TypeError(f"{x!r} is not an integer")


@dataclass(frozen=True, slots=True)
class Path:
    """One way through a function."""

    conditions: tuple[Any, ...]
    result: Any


PRODUCT = z3.Function("product", z3.IntSort(), z3.IntSort(), z3.IntSort())
QUOTIENT = z3.Function("quotient", z3.IntSort(), z3.IntSort(), z3.IntSort())


class Paths:
    """All ways through a function, given premises on its symbolic arguments."""

    def __init__(self, premises: list[Any], budget: Budget) -> None:
        self.premises = premises
        self.budget = budget
        self.products: dict[Any, tuple[Any, Any]] = {}
        self.quotients: dict[Any, tuple[Any, Any]] = {}
        self._solver: Any = None
        self._said = (-1, -1, -1)
        self._prefix: list[bool] = []
        self._taken: list[Any] = []
        self._at = 0
        self._pending: list[list[bool]] = []

    def run(self, function: Callable[[], Any]) -> Iterator[Path]:
        """Each way through `function`, which must do the same whenever the same choices are made."""
        self._pending = [[]]
        count = 0
        while self._pending:
            self._prefix, self._taken, self._at = self._pending.pop(), [], 0
            result = function()
            count += 1
            if count > MOST_PATHS:
                raise TooManyPaths(f"more than {MOST_PATHS} paths through a function")
            yield Path(tuple(self._taken), result)

    def choose(self, term: Any) -> bool:
        """The truth of a condition on this path."""
        simple = z3.simplify(term)
        if z3.is_true(simple) or z3.is_false(simple):
            return bool(z3.is_true(simple))
        if self._at < len(self._prefix):
            chosen = self._prefix[self._at]
        else:
            chosen = self._first_choice(simple)
        self._at += 1
        self._taken.append(simple if chosen else z3.Not(simple))
        return chosen

    def _first_choice(self, term: Any) -> bool:
        so_far = list(self._prefix)
        if not self._possible(term):
            self._prefix.append(False)
        else:
            if self._possible(z3.Not(term)):
                self._pending.append([*so_far, False])
            self._prefix.append(True)
        return self._prefix[-1]

    def _possible(self, term: Any) -> bool:
        return self.status([*self._taken, term]) != "unsat"

    def status(self, conditions: list[Any]) -> str:
        """Whether conditions can hold together with the premises: ``sat``, ``unsat`` or ``unknown``."""
        solver = self._prepared()
        solver.push()
        solver.add(*conditions)
        answer = str(solver.check())
        solver.pop()
        return answer

    def _prepared(self) -> Any:
        """A solver that knows the premises and the lemmas, made anew when terms came in that they speak of."""
        known = (len(self.premises), len(self.products), len(self.quotients))
        if known != self._said:
            self._solver, self._said = limited(z3.SimpleSolver(), self.budget), known
            self._solver.add(*self.premises, *self.lemmas())
        return self._solver

    def product(self, a: Any, b: Any) -> Number:
        """a · b."""
        if z3.is_int_value(a) or z3.is_int_value(b):
            return Number(z3.simplify(a * b), self)
        term = PRODUCT(a, b)
        self.products[term.get_id()] = (a, b)
        return Number(term, self)

    def quotient(self, a: Any, b: Any) -> Number:
        """⌊a/b⌋."""
        term = QUOTIENT(a, b)
        self.quotients[term.get_id()] = (a, b)
        return Number(term, self)

    def lemmas(self) -> list[Any]:
        """What is known of the products and quotients that stand in the terms so far."""
        return [*_of_products(list(self.products.values())), *_of_quotients(list(self.quotients.values()))]


# Lemmas -----------------------------------------------------------------------------------------------------------


def monotone_product(p: Any, q: Any, a: Any, c: Any, b: Any) -> Any:
    """Of p = a·b and q = c·b: in the order of a and c where b ≥ 0, in the other where b ≤ 0."""
    return z3.And(z3.Implies(z3.And(a <= c, b >= 0), p <= q), z3.Implies(z3.And(a <= c, b <= 0), p >= q))


def monotone_dividend(p: Any, q: Any, a: Any, c: Any, b: Any) -> Any:
    """Of p = ⌊a/b⌋ and q = ⌊c/b⌋: in the order of a and c where b > 0, in the other where b < 0."""
    return z3.And(z3.Implies(z3.And(a <= c, b > 0), p <= q), z3.Implies(z3.And(a <= c, b < 0), p >= q))


def monotone_divisor(p: Any, q: Any, a: Any, b: Any, d: Any) -> Any:
    """Of p = ⌊a/b⌋ and q = ⌊a/d⌋, b ≤ d of one sign: p ≥ q where a ≥ 0, p ≤ q where a ≤ 0."""
    alike = z3.And(b <= d, z3.Or(b > 0, d < 0))
    return z3.And(z3.Implies(z3.And(alike, a >= 0), p >= q), z3.Implies(z3.And(alike, a <= 0), p <= q))


def floor_quotient(p: Any, a: Any, b: Any, back: Any) -> Any:
    """Of p = ⌊a/b⌋ and back = p·b: what the remainder is, the sign of p, and p itself where it is near 0."""
    rest = a - back
    return z3.And(
        z3.Implies(b > 0, z3.And(rest >= 0, rest <= b - 1)),
        z3.Implies(b < 0, z3.And(rest <= 0, rest >= b + 1)),
        z3.Implies(z3.And(a >= 0, a < b), p == 0),
        z3.Implies(z3.And(a <= 0, a > b), p == 0),
        z3.Implies(p == 0, back == 0),
        z3.Implies(z3.Or(z3.And(a >= 0, b > 0), z3.And(a <= 0, b < 0)), p >= 0),
        z3.Implies(z3.And(a < 0, b > 0), p <= -1),
        z3.Implies(z3.And(a > 0, b < 0), p <= -1),
        z3.Implies(z3.And(a < 0, a >= -b), p == -1),
        z3.Implies(z3.And(a > 0, a <= -b), p == -1),
    )


def _of_products(pairs: list[tuple[Any, Any]]) -> Iterator[Any]:
    """Monotone in each factor, between any two factors that occur, 0 among them."""
    if not pairs:
        return
    zero = z3.IntVal(0)
    left = _distinct([a for a, _ in pairs])
    right = _distinct([b for _, b in pairs])
    for a in left:
        yield PRODUCT(a, zero) == 0
    for b in right:
        yield PRODUCT(zero, b) == 0
    left, right = [*left, zero], [*right, zero]
    for b in right:
        yield from (
            monotone_product(PRODUCT(a, b), PRODUCT(c, b), a, c, b) for a in left for c in left if a is not c
        )
    for a in left:
        yield from (
            monotone_product(PRODUCT(a, b), PRODUCT(a, d), b, d, a)
            for b in right
            for d in right
            if b is not d
        )


def _of_quotients(pairs: list[tuple[Any, Any]]) -> Iterator[Any]:
    """Monotone in dividend and divisor, between any two that occur, and the remainder of each."""
    left = _distinct([a for a, _ in pairs])
    right = _distinct([b for _, b in pairs])
    for b in right:
        for a in left:
            yield floor_quotient(QUOTIENT(a, b), a, b, PRODUCT(b, QUOTIENT(a, b)))
            yield from (
                monotone_dividend(QUOTIENT(a, b), QUOTIENT(c, b), a, c, b) for c in left if c is not a
            )
            yield from (
                monotone_divisor(QUOTIENT(a, b), QUOTIENT(a, d), a, b, d) for d in right if d is not b
            )


def _distinct(terms: list[Any]) -> list[Any]:
    found: dict[int, Any] = {}
    for term in terms:
        found.setdefault(term.get_id(), term)
    return list(found.values())


def between(lo: Any, hi: Any) -> Bounds:
    """Bounds whose ends are symbolic: rows ask of an end only what a number can do."""
    return Bounds(lo, hi)
