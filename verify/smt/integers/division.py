"""
Lemmas of division
==================

Ground instances of laws that hold for all integers, for the quotients that occur in an obligation. Z3 alone rarely
finds that ⌊(x·c)/c⌋ is x, or that a quotient of a quotient is one quotient; with the right instances it is immediate.

======  ================================================================================================
U       b > 0 and k·b ≤ a < k·b + b  ⇒  a div b = k (and the mirror image for b < 0)
S       b ≠ 0 and a = y + k·b  ⇒  a div b = y div b + k and a mod b = y mod b
R       b > 0 and a + y = b - 1 + k·b  ⇒  a div b = k - y div b and a mod b = b - 1 - y mod b
M       0 ≤ r < d and b > 0  ⇒  0 ≤ r·b and (r + 1)·b ≤ d·b; and a = q·b, or a = q·b + r, times another factor
F       f ≠ 0  ⇒  f·a div f·b = a div b and f·a mod f·b = f·(a mod b)
N       f ≠ 0 and b > 0  ⇒  a div f·b = (a div f) div b and a mod f·b = f·((a div f) mod b) + a mod f
O       b > 0  ⇒  either q ≥ p and q·b ≥ p·b, or q < p and q·b ≤ p·b - b, for quotients q and p by b
T       a div b and its remainder, from the quotient of the magnitudes, by the signs of a and b
C       a = y + k·b  ⇒  a mod b = y mod b, with y and k found by `congruences`
B       b ≠ 0  ⇒  a div -b = -(a div b) if nothing is left over, else -(a div b) - 1 and a mod -b = a mod b - b
======  ================================================================================================

Candidates for k are 0, quotients by the same divisor and their differences, and what dividing a by b as polynomials
gives. Instances are never quantified, and they are added in a fixed order. Where a condition says that b divides a, a
is written as a multiple of b before any of this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

import z3

from soundline.verify.smt.integers.congruences import congruent
from soundline.verify.smt.integers.divisibility import name_of, polynomial
from soundline.verify.smt.integers.polynomials import Poly, divide
from soundline.verify.smt.integers.residue_classes import Integers
from soundline.verify.smt.integers.terms import Quotient

MOST_QUOTIENTS = 8
"""Beyond so many quotients, instances over pairs are left out: they would outweigh what they decide."""


MOST_READINGS = 6
"""So many ways to write one dividend are tried."""


class Lemmas:
    """The instances for the quotients of one translation."""

    def __init__(self, algebra: Integers) -> None:
        self.algebra = algebra
        self.atoms: dict[str, Any] = {}
        self._written: list[str] = []
        """The atoms that are being written as multiples: two of them may divide each other."""
        self._found: dict[str, list[Poly]] = {}
        """What quotients come to if what is left over is small, or whatever it is; by their names."""

    def instances(self, *, many: bool) -> Iterator[Any]:
        """The likely ones; with `many`, more candidates and R."""
        given = list(self.algebra.quotients)
        for quotient in given:
            yield from self._by_factors(quotient, many=many)
            yield from self._by_polynomials(quotient, given)
            yield from congruent(self, quotient, given)
        everything = list(self.algebra.quotients)
        for quotient in everything:
            yield unique(quotient, self.algebra.int(0))
        for t in self.algebra.truncated.found:
            floors = [q for q in everything if z3.eq(q.a, t.a) and z3.eq(q.b, t.b)]
            yield from truncation(floors, t.sizes)
            if name_of(t.r) in self.atoms:
                yield t.a == t.q * t.b + t.r
        if len(everything) > MOST_QUOTIENTS:
            return
        for one, other in permutations(everything, 2):
            yield unique(one, other.q)
            if z3.eq(one.a, other.a) and self._are_opposite(one.b, other.b):
                yield opposite(one, other)
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
                self._found.setdefault(str(quotient.q), [k])
                yield shifted(quotient, zero, zero, self.term(k), zero)
                continue
            y = self.algebra.divide(self.term(rest), quotient.b)
            self._found.setdefault(str(quotient.q), [k, k + self.poly(y.q)])
            yield shifted(quotient, y.q, y.r, self.term(k), y.a)

    def _by_factors(self, quotient: Quotient, *, many: bool) -> Iterator[Any]:
        """F for a factor of both; with `many`, N for each factor of the divisor."""
        a, b = self.poly(quotient.a), self.poly(quotient.b)
        if len(b.terms) != 1 or not a.terms:
            return
        (monomial, n), *_ = b.terms.items()
        for atom in sorted(set(monomial)):
            f, inner = self.atoms[atom], self.term(b.split(atom)[0])
            if all(atom in m for m in a.terms):
                small = self.algebra.divide(self.term(a.split(atom)[0]), inner)
                yield common(quotient, f, small)
            elif many and (len(monomial) > 1 or n != 1):
                outer = self.algebra.divide(quotient.a, f)
                yield nested(quotient, f, outer, self.algebra.divide(outer.q, inner))

    def _readings(self, a: Poly, quotient: Quotient, given: list[Quotient]) -> list[Poly]:
        """The dividend, and again with its atoms written by what another quotient says of them.

        A variable that is divided elsewhere is q·b + r there, and a remainder r is a - q·b.
        """
        found = [a]
        for reading in found:
            for atom, whole in self._equations(quotient, given):
                if len(found) < MOST_READINGS and atom in reading.atoms:
                    again = reading.substituted({atom: whole})
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
            for whole in self._found.get(str(other.q), ()):
                yield q.key, whole
        for t in self.algebra.truncated.found:
            if not z3.eq(t.r, t.sizes.r):
                yield self.poly(t.r).key, self.poly(t.a) - self.poly(t.q) * self.poly(t.b)

    def _products(self, one: Quotient, other: Quotient) -> Iterator[Any]:
        """M for one remainder and another divisor; and where one divides what the other gives, their product."""
        for factor in (other.b, other.q):
            if z3.is_int_value(factor):
                continue
            premises = z3.And(one.b > 0, factor > 0)
            yield z3.Implies(premises, z3.And(one.r * factor >= 0, (one.r + 1) * factor <= one.b * factor))
        if z3.eq(one.a, other.q):
            yield other.b * one.a == other.b * one.b * one.q + other.b * one.r
        if z3.eq(one.a, other.b) and any(one is known for known in self.algebra.exact):
            yield other.q * one.a == other.q * one.q * one.b

    def _of_same_divisor(self, one: Quotient, other: Quotient, *, many: bool) -> Iterator[Any]:
        """S and R between two quotients by one divisor."""
        if not z3.eq(one.b, other.b) or one.a.get_id() > other.a.get_id():
            return
        zero = self.algebra.int(0)
        yield shifted(one, other.q, other.r, zero, other.a)
        if not z3.is_int_value(one.b):
            yield ordered(one, other)
        if many:
            yield reflected(one, other, zero)
            for k in (self.algebra.int(1), one.q, other.q, one.q - other.q):
                yield shifted(one, other.q, other.r, k, other.a)
                yield reflected(one, other, k)

    def _are_opposite(self, b: Any, other: Any) -> bool:
        """Whether a divisor is another one or its negation, as the magnitude of that is."""
        ways = other.children()[1:] if z3.is_app_of(other, z3.Z3_OP_ITE) else [other]
        p, others = self.poly(b), [self.poly(w) for w in ways]
        return -p in others and all(w in (p, -p) for w in others)

    # terms and polynomials ----------------------------------------------------------------------------------------

    def poly(self, term: Any) -> Poly:
        """An Int term as a polynomial over its parts that are no sums or products."""
        return polynomial(term, self.atoms, self._multiple)

    def _multiple(self, name: str) -> Poly | None:
        """What an atom is that a condition says to be a multiple of something."""
        for quotient in self.algebra.exact:
            if name_of(quotient.a) == name and name not in self._written:
                self._written.append(name)
                whole = self.poly(quotient.q) * self.poly(quotient.b)
                self._written.pop()
                return whole
        return None

    def term(self, poly: Poly) -> Any:
        """A polynomial as an Int term."""
        return poly.z3(self.atoms.__getitem__, self.algebra.int)


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


def ordered(one: Quotient, other: Quotient) -> Any:
    """O: multiples of a positive divisor are in the order of their factors, and a whole divisor apart."""
    b, q, p = one.b, one.q, other.q
    above, below = z3.And(q >= p, q * b >= p * b), z3.And(q < p, q * b <= p * b - b)
    return z3.Implies(b > 0, z3.Or(above, below))


def truncation(floors: Sequence[Quotient], sizes: Quotient) -> Iterator[Any]:
    """T: a floor quotient, by the signs of what is divided, from the quotient of the magnitudes."""
    q, r = sizes.q, sizes.r
    for floor in floors:
        a, b = floor.a, floor.b
        exact = z3.And(r == 0, floor.q == -q, floor.r == 0)
        above = z3.And(r != 0, floor.q == -q - 1, floor.r == b - r)
        below = z3.And(r != 0, floor.q == -q - 1, floor.r == b + r)
        yield z3.Implies(z3.And(a >= 0, b > 0), z3.And(floor.q == q, floor.r == r))
        yield z3.Implies(z3.And(a <= 0, b < 0), z3.And(floor.q == q, floor.r == -r))
        yield z3.Implies(z3.And(a < 0, b > 0), z3.Or(exact, above))
        yield z3.Implies(z3.And(a > 0, b < 0), z3.Or(exact, below))


def opposite(one: Quotient, other: Quotient) -> Any:
    """B: what dividing by the negated divisor gives."""
    b, q, r = one.b, one.q, one.r
    exact = z3.And(r == 0, other.q == -q, other.r == 0)
    apart = z3.And(r != 0, other.q == -q - 1, other.r == r + other.b)
    return z3.Implies(z3.And(b != 0, other.b == -b), z3.Or(exact, apart))


def common(quotient: Quotient, f: Any, small: Quotient) -> Any:
    """F: a factor of dividend and divisor leaves the quotient, and stays in the remainder."""
    return z3.Implies(f != 0, z3.And(quotient.q == small.q, quotient.r == f * small.r))


def nested(quotient: Quotient, f: Any, outer: Quotient, inner: Quotient) -> Any:
    """N: dividing by a product is dividing twice, if the second divisor is positive."""
    same = z3.And(quotient.q == inner.q, quotient.r == f * inner.r + outer.r)
    return z3.Implies(z3.And(f != 0, inner.b > 0), same)
