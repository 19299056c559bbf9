"""
Powers of two with unknown exponents
====================================

What an index is multiplied by where it is shifted by an unknown number of places. The premises say of some numbers that
they are not negative: of every count on the left side, and of what the conditions compare. A count that is a sum of
such numbers is shifted by one after the other, since 2^(c + d) = 2^c · 2^d where c ≥ 0 and d ≥ 0; so products, and the
lemmas of division, see the factors. Of a count that is no such sum a fresh Int stands for the power.

Nothing here is said of a power with a negative exponent: its Int is any number. Of the others it is said that 2^0 is 1,
2^e is even and 2^e > e where e > 0, and that a greater exponent gives at least twice the power. That it is a power of
two is not said, so that a model may have one that is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import z3

from soundline.spec.dtypes import index
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.sizes import conjuncts, polynomial
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly

if TYPE_CHECKING:
    from soundline.verify.smt.integers.algebra import IntegerAlgebra

MOST_PARTS = 4
"""The most numbers that are taken from an exponent."""


class Powers:
    """The powers of two of one translation."""

    def __init__(self, algebra: IntegerAlgebra) -> None:
        self.algebra = algebra
        self._atoms: dict[str, UOp] = {}
        self._bases: dict[Poly, tuple[Any, Any]] = {}
        """The exponents that are no sums, each as an Int, and its power."""
        self._naturals: list[Poly] | None = None

    def __call__(self, count: UOp) -> Any:
        """2 to the count, where that is not negative; else any number."""
        self.algebra.spurious = True
        if self._naturals is None:
            self._naturals = list(dict.fromkeys(self._said_to_be_natural()))
        parts, more = self._parts(self._poly(count), ())
        power = self.algebra.int(1 << more)
        for part in parts:
            power = power * self._power(part)
        return power

    def known(self) -> Iterator[tuple[Any, Any]]:
        """Each exponent for which an Int stands, and that."""
        yield from self._bases.values()

    def _said_to_be_natural(self) -> Iterator[Poly]:
        """The differences that the hypotheses say to be 0 or more."""
        for condition in conjuncts(*self.algebra.obligation.hypotheses):
            if condition.op not in _ORDERED or condition.src[0].dtype is not index:
                continue
            low, high = condition.src if condition.op in (Op.CmpLe, Op.CmpLt) else condition.src[::-1]
            gap = self._poly(high) - self._poly(low)
            if gap.constant is None:
                yield gap - ONE if condition.op in (Op.CmpLt, Op.CmpGt) else gap

    def _parts(self, exponent: Poly, within: tuple[Poly, ...]) -> tuple[list[Poly], int]:
        """Numbers that are not negative, or the exponent alone, and a constant of which it is the sum."""
        if exponent.constant is not None and exponent.constant >= 0:
            return [], exponent.constant
        for natural in self._naturals or ():
            rest = exponent - natural
            if natural in within or natural == exponent or len(within) >= MOST_PARTS:
                continue
            if self._is_sum(rest, (*within, exponent)):
                first, one = self._parts(natural, (*within, exponent))
                second, other = self._parts(rest, (*within, exponent))
                return sorted((*first, *second), key=lambda p: p.key), one + other
        return [exponent], 0

    def _is_sum(self, exponent: Poly, within: tuple[Poly, ...]) -> bool:
        """Whether an exponent is a sum of numbers that are not negative."""
        if exponent.constant is not None:
            return exponent.constant >= 0
        if len(within) > MOST_PARTS:
            return False
        naturals = [n for n in self._naturals or () if n not in within]
        return any(n == exponent or self._is_sum(exponent - n, (*within, exponent)) for n in naturals)

    def _power(self, exponent: Poly) -> Any:
        """The Int for a power, with what is known of it and of the others."""
        if exponent not in self._bases:
            e, p, half = self._int(exponent), self.algebra.fresh("power"), self.algebra.fresh("half")
            self.algebra.facts += [
                z3.Implies(e == 0, p == 1),
                z3.Implies(e >= 1, z3.And(p == 2 * half, p > e)),
            ]
            for other, q in self._bases.values():
                for a, b, x, y in ((e, other, p, q), (other, e, q, p)):
                    self.algebra.facts.append(z3.Implies(z3.And(a >= 0, a < b), 2 * x <= y))
                self.algebra.facts.append(z3.Implies(e == other, p == q))
            self._bases[exponent] = e, p
        return self._bases[exponent][1]

    # exponents as polynomials -------------------------------------------------------------------------------------

    def _poly(self, node: UOp) -> Poly:
        total = ZERO
        for monomial, n in polynomial(node).terms.items():
            total = total + Poly({tuple(sorted(map(self._name, monomial))): n})
        return total

    def _name(self, node: UOp) -> str:
        name = next((name for name, known in self._atoms.items() if known is node), None)
        if name is None:
            name = f"e{len(self._atoms)}"
            self._atoms[name] = node
        return name

    def _int(self, exponent: Poly) -> Any:
        for name in exponent.atoms:
            self.algebra.term(self._atoms[name])
        return exponent.z3(lambda name: self.algebra.value(self._atoms[name]), self.algebra.int)


_ORDERED = (Op.CmpLe, Op.CmpLt, Op.CmpGe, Op.CmpGt)
