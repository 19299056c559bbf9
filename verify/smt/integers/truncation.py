"""
Truncating division
===================

A quotient that is rounded toward zero has the magnitude of the floor quotient of the magnitudes, and so has its
remainder: ``abs(a cdiv b) = abs(a) div abs(b)`` and ``abs(a cmod b) = abs(a) mod abs(b)``; the signs are those of a·b
and of a. So an Int is held as a magnitude and a sign, of which 0 may have either, and what is divided again is a floor
quotient of what was divided before: the lemmas of floor division apply to nested truncating ones. A number that is
known to be non-negative is its own magnitude.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import z3

from soundline.verify.smt.integers.algebra import IntegerAlgebra
from soundline.verify.smt.integers.terms import Quotient, Truncated


@dataclass(frozen=True, slots=True)
class Signed:
    """An Int as -size where `below` holds, else as size; `below` is None where it never does."""

    term: Any
    size: Any
    below: Any


class Truncations:
    """The truncating quotients of one translation."""

    def __init__(self, algebra: IntegerAlgebra) -> None:
        self.algebra = algebra
        self.found: list[Truncated] = []
        """The quotients of operands that are not both natural."""
        self._signed: dict[int, Signed] = {}
        """By the id of an Int, which is kept, so that its id stays its own."""
        self._results: dict[tuple[int, int], tuple[Any, Any]] = {}

    def is_natural(self, x: Any) -> None:
        """Take note that an Int is never negative where the premises hold."""
        self._signed[x.get_id()] = Signed(x, x, None)

    def is_exact(self, quotient: Quotient) -> None:
        """Take note of a quotient that leaves no remainder where the premises hold: rounding makes no difference."""
        self._results[quotient.a.get_id(), quotient.b.get_id()] = quotient.q, quotient.r

    def signed(self, x: Any) -> Signed:
        """An Int by its magnitude and sign."""
        if x.get_id() in self._signed:
            return self._signed[x.get_id()]
        if z3.is_int_value(x):
            n = x.as_long()
            return Signed(x, z3.IntVal(abs(n), x.ctx), z3.BoolVal(True, x.ctx) if n < 0 else None)
        if z3.is_mul(x):
            return self._product(x)
        return Signed(x, z3.If(x < 0, -x, x), x < 0)

    def _product(self, x: Any) -> Signed:
        """|a·b| = |a|·|b|, and below 0 where one of them is and the other is not."""
        factors = [self.signed(factor) for factor in x.children()]
        size, signs = factors[0].size, [f.below for f in factors if f.below is not None]
        for factor in factors[1:]:
            size = size * factor.size
        found = Signed(x, size, _odd(signs))
        self._signed[x.get_id()] = found
        if found.below is not None:
            self.algebra.facts.append(x == z3.If(found.below, -size, size))
        return found

    def __call__(self, a: Any, b: Any) -> tuple[Any, Any]:
        """The quotient rounded toward zero, and its remainder, which has the sign of a."""
        key = a.get_id(), b.get_id()
        if key not in self._results:
            self._results[key] = self._divided(a, b)
        return self._results[key]

    def _divided(self, a: Any, b: Any) -> tuple[Any, Any]:
        for known in list(self.algebra.exact):
            self._exact_magnitude(known, (a, b))
        over, by = self.signed(a), self.signed(b)
        sizes = self.algebra.divide(over.size, by.size)
        signs = [s.below for s in (over, by) if s.below is not None]
        q, r = self._with_sign(sizes.q, _odd(signs)), self._with_sign(sizes.r, over.below)
        if signs:
            self.found.append(Truncated(a, b, q, r, sizes))
        return q, r

    def _with_sign(self, size: Any, below: Any) -> Any:
        term = size if below is None else z3.If(below, -size, size)
        self.is_natural(size)
        self._signed[term.get_id()] = Signed(term, size, below)
        return term

    def _exact_magnitude(self, known: Quotient, operands: tuple[Any, Any]) -> None:
        """Of a = q·b also |a| = |q|·|b|, where a or a multiple of it is divided, or divides."""
        a, b, q = (self.signed(x) for x in (known.a, known.b, known.q))
        factors = [f for x in operands for f in (x, *(x.children() if z3.is_mul(x) else ()))]
        if a.below is not None and any(z3.eq(known.a, f) for f in factors):
            self.algebra.divide_exactly(a.size, b.size, q.size)


def _odd(signs: list[Any]) -> Any:
    """Whether an odd number of factors is negative; None where there are no signs."""
    if len(signs) < 2:
        return signs[0] if signs else None
    return z3.Xor(signs[0], _odd(signs[1:]))
