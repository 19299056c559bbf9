"""
Lemmas of division
==================

Ground instances of laws that hold for all integers, for the quotients that occur in an obligation. Z3 alone rarely
finds that ⌊(x·c)/c⌋ is x, or that a quotient of a quotient is one quotient; with the right instances it is immediate.

======  ================================================================================================
U       b > 0 and k·b ≤ a < k·b + b  ⇒  a div b = k (and the mirror image for b < 0)
S       b ≠ 0 and a = y + k·b  ⇒  a div b = y div b + k and a mod b = y mod b
R       b > 0 and a + y = b - 1 + k·b  ⇒  a div b = k - y div b and a mod b = b - 1 - y mod b
M       0 ≤ r < d and b > 0  ⇒  0 ≤ r·b and (r + 1)·b ≤ d·b
======  ================================================================================================

Candidates for k are 0, quotients by the same divisor and their differences, and what dividing a by b as polynomials
gives. Instances are never quantified, and they are added in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import z3

from soundline.verify.smt.integers import Integers, Quotient
from soundline.verify.smt.polynomials import Poly, divide

MOST_QUOTIENTS = 8
"""Beyond so many quotients, instances over pairs are left out: they would outweigh what they decide."""


MOST_READINGS = 6
"""So many ways to write one dividend are tried."""


class Lemmas:
    """The instances for the quotients of one translation."""

    def __init__(self, algebra: Integers) -> None:
        self.algebra = algebra
        self.atoms: dict[str, Any] = {}

    def instances(self, *, many: bool) -> Iterator[Any]:
        """The likely ones; with `many`, more candidates and R."""
        given = list(self.algebra.quotients)
        for quotient in given:
            yield from self._by_polynomials(quotient, given)
        everything = list(self.algebra.quotients)
        for quotient in everything:
            yield unique(quotient, self.algebra.int(0))
        if len(everything) > MOST_QUOTIENTS:
            return
        for one, other in permutations(everything, 2):
            yield unique(one, other.q)
            yield from self._products(one, other)
            yield from self._of_same_divisor(one, other, many=many)

    # candidates ---------------------------------------------------------------------------------------------------

    def _by_polynomials(self, quotient: Quotient, given: list[Quotient]) -> Iterator[Any]:
        """S for a = y + k·b with k and y from the division of polynomials, where it divides anything out."""
        a, b = self.poly(quotient.a), self.poly(quotient.b)
        for dividend in self._readings(a, quotient, given):
            k, rest = divide(dividend, b)
            if not k.terms or not b.terms:
                continue
            if not rest.terms:
                zero = self.algebra.int(0)
                yield shifted(quotient, zero, zero, self.term(k), zero)
                continue
            y = self.algebra.divide(self.term(rest), quotient.b)
            yield shifted(quotient, y.q, y.r, self.term(k), y.a)

    def _readings(self, a: Poly, quotient: Quotient, given: list[Quotient]) -> list[Poly]:
        """The dividend, and again with its atoms written by what another quotient says of them.

        A variable that is divided elsewhere is q·b + r there, and a remainder r is a - q·b.
        """
        found = [a]
        for reading in found:
            for atom, whole in self._equations(quotient, given):
                if len(found) < MOST_READINGS and atom in reading.atoms:
                    again = substituted(reading, atom, whole)
                    if again not in found:
                        found.append(again)
        return found

    def _equations(self, quotient: Quotient, given: list[Quotient]) -> Iterator[tuple[str, Poly]]:
        """Atoms and the polynomials that they equal, by the other quotients."""
        for other in given:
            if other is quotient:
                continue
            a, b, q, r = (self.poly(t) for t in (other.a, other.b, other.q, other.r))
            if len(a.atoms) == 1 and a.key in a.atoms:
                yield a.key, q * b + r
            yield r.key, a - q * b

    def _products(self, one: Quotient, other: Quotient) -> Iterator[Any]:
        """M for one remainder and another divisor; and where one divides what the other gives, their product."""
        for factor in (other.b, other.q):
            if z3.is_int_value(factor):
                continue
            premises = z3.And(one.b > 0, factor > 0)
            yield z3.Implies(premises, z3.And(one.r * factor >= 0, (one.r + 1) * factor <= one.b * factor))
        if z3.eq(one.a, other.q):
            yield other.b * one.a == other.b * one.b * one.q + other.b * one.r

    def _of_same_divisor(self, one: Quotient, other: Quotient, *, many: bool) -> Iterator[Any]:
        """S and R between two quotients by one divisor."""
        if not z3.eq(one.b, other.b) or one.a.get_id() > other.a.get_id():
            return
        zero = self.algebra.int(0)
        yield shifted(one, other.q, other.r, zero, other.a)
        if many:
            yield reflected(one, other, zero)
            for k in (self.algebra.int(1), one.q, other.q, one.q - other.q):
                yield shifted(one, other.q, other.r, k, other.a)
                yield reflected(one, other, k)

    # terms and polynomials ----------------------------------------------------------------------------------------

    def poly(self, term: Any) -> Poly:
        """An Int term as a polynomial over its parts that are no sums or products."""
        if z3.is_int_value(term):
            return Poly.of(int(term.as_long()))
        if z3.is_add(term) or z3.is_mul(term) or z3.is_sub(term) or term.decl().kind() == z3.Z3_OP_UMINUS:
            parts = [self.poly(child) for child in term.children()]
            return _joined(term, parts)
        name = str(term) if z3.is_const(term) else f"#{term.get_id()}"
        self.atoms[name] = term
        return Poly.of(name)

    def term(self, poly: Poly) -> Any:
        """A polynomial as an Int term."""
        return poly.z3(self.atoms.__getitem__, self.algebra.int)


def _joined(term: Any, parts: list[Poly]) -> Poly:
    if term.decl().kind() == z3.Z3_OP_UMINUS:
        return -parts[0]
    total = parts[0]
    for part in parts[1:]:
        total = total * part if z3.is_mul(term) else total - part if z3.is_sub(term) else total + part
    return total


def substituted(poly: Poly, atom: str, by: Poly) -> Poly:
    """The polynomial with a polynomial in place of an atom."""
    total = Poly({})
    for monomial, n in poly.terms.items():
        product = Poly({tuple(m for m in monomial if m != atom): n})
        for _ in range(monomial.count(atom)):
            product = product * by
        total = total + product
    return total


# The laws ---------------------------------------------------------------------------------------------------------


def unique(quotient: Quotient, k: Any) -> Any:
    """U: a quotient is the only k that leaves a remainder between 0 and the divisor."""
    a, b = quotient.a, quotient.b
    above = z3.And(b > 0, k * b <= a, a < k * b + b)
    below = z3.And(b < 0, k * b >= a, a > k * b + b)
    return z3.Implies(z3.Or(above, below), quotient.q == k)


def shifted(quotient: Quotient, y_q: Any, y_r: Any, k: Any, y: Any) -> Any:
    """S: adding a multiple of the divisor moves the quotient and keeps the remainder."""
    premise = z3.And(quotient.b != 0, quotient.a == y + k * quotient.b)
    return z3.Implies(premise, z3.And(quotient.q == y_q + k, quotient.r == y_r))


def reflected(one: Quotient, other: Quotient, k: Any) -> Any:
    """R: two numbers whose sum is one less than a multiple of the divisor have mirrored remainders."""
    b = one.b
    premise = z3.And(b > 0, one.a + other.a == b - 1 + k * b)
    return z3.Implies(premise, z3.And(one.q == k - other.q, one.r == b - 1 - other.r))
