"""
Congruent dividends
===================

The lemma C of division: what is divided may be replaced by whatever is congruent to it modulo the divisor.

    a = y + k·b  ⇒  a mod b = y mod b, also where b is 0; and a div b = y div b + k where b ≠ 0

Where b is 0, a is y, and so the remainders agree: x mod 0 is x (U-03). The equation a = y + k·b is not a premise that
a solver has to find: y and k are computed together by steps that keep it, whatever the signs, so that the conclusion
holds of all integers.

*   A remainder r of x by m·b is x - q·(m·b), as every division states, floor or truncating, by whatever divisor.
*   A choice between u and v, congruent to one y as y + m·b and y + n·b, is y plus the choice between m and n times b.
    The Euclidean remainder is of this form: a floor remainder, or that less the divisor.
*   A number that was brought into the range of a dtype is what it was before, where that did not wrap: for this the
    conclusion has a premise.
*   A multiple of b, as polynomials divide, is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import z3

from soundline.verify.smt.integers.algebra import IntegerAlgebra
from soundline.verify.smt.integers.divisibility import name_of
from soundline.verify.smt.integers.polynomials import Poly, divide
from soundline.verify.smt.integers.terms import Quotient

MOST_STEPS = 24
"""The most atoms of one dividend that are replaced."""

_DIVISOR = "the divisor"
"""Stands for b while multiples of it are collected; no Int has this name."""


class Terms(Protocol):
    """Terms as polynomials and back (`division.Lemmas`)."""

    atoms: dict[str, Any]
    """The parts that are no sums or products, by name."""

    @property
    def algebra(self) -> IntegerAlgebra:
        """The algebra that the terms are of."""

    def poly(self, term: Any) -> Poly:
        """An Int term as a polynomial over its parts that are no sums or products."""

    def term(self, poly: Poly) -> Any:
        """A polynomial as an Int term."""


class Congruence:
    """What is congruent modulo one divisor, by the quotients of one translation."""

    def __init__(self, lemmas: Terms, divisor: Any, given: Sequence[Quotient]) -> None:
        self.lemmas, self.divisor = lemmas, lemmas.poly(divisor)
        self.replaced = 0
        """How many atoms were replaced so far."""
        self.premises: list[Any] = []
        """That what was brought into the range of a dtype, and replaced by what it was before, did not wrap."""
        self._remainders = dict(self._dividends(given))

    def _dividends(self, given: Sequence[Quotient]) -> Iterator[tuple[str, Poly]]:
        """The remainders by multiples of the divisor, by their names, as x - q·m times the divisor."""
        truncated = [(t.a, t.b, t.q, t.r) for t in self.lemmas.algebra.truncated.found]
        for a, b, q, r in (*((x.a, x.b, x.q, x.r) for x in given), *truncated) if self.divisor.terms else ():
            m, rest = divide(self.lemmas.poly(b), self.divisor)
            if not rest.terms and not z3.is_int_value(r):
                yield name_of(r), self.lemmas.poly(a) - self.lemmas.poly(q) * m * Poly.of(_DIVISOR)

    def reduce(self, whole: Poly) -> tuple[Poly, Poly]:
        """The y and k of which a polynomial is y + k times the divisor."""
        multiples, rest = self._divided(whole)
        while self.replaced < MOST_STEPS:
            found = next(((a, e) for a in sorted(rest.atoms) if (e := self._equal(a)) is not None), None)
            if found is None:
                break
            self.replaced += 1
            again, k = self._collected(rest.substituted(dict([found])))
            more, rest = self._divided(again)
            multiples = multiples + k + more
        return rest, multiples

    def _divided(self, poly: Poly) -> tuple[Poly, Poly]:
        return divide(poly, self.divisor)

    def _equal(self, atom: str) -> Poly | None:
        """What an atom is, with multiples of the divisor in it; None where it is no remainder and no such choice."""
        if atom in self._remainders:
            return self._remainders[atom]
        term = self.lemmas.atoms[atom]
        for before, wrapped in self.lemmas.algebra.wrapped:
            if z3.eq(wrapped, term):
                self.premises.append(before == wrapped)
                return self.lemmas.poly(before)
        if not z3.is_app_of(term, z3.Z3_OP_ITE):
            return None
        condition, *ways = term.children()
        (y, m), (other, n) = (self.reduce(self.lemmas.poly(way)) for way in ways)
        if y != other:
            return None
        chosen = self.lemmas.poly(z3.If(condition, self.lemmas.term(m), self.lemmas.term(n)))
        return y + chosen * Poly.of(_DIVISOR)

    def _collected(self, poly: Poly) -> tuple[Poly, Poly]:
        """The polynomial without the multiples of the divisor that are marked, and those, divided by it once."""
        multiples, kept = poly.split(_DIVISOR)
        return kept, multiples.substituted({_DIVISOR: self.divisor})


def congruent(lemmas: Terms, quotient: Quotient, given: Sequence[Quotient]) -> Iterator[Any]:
    """C for the dividend of a quotient, where replacing remainders and choices in it comes to anything."""
    steps = Congruence(lemmas, quotient.b, [q for q in given if q is not quotient])
    rest, k = steps.reduce(lemmas.poly(quotient.a))
    if not steps.replaced:
        return
    small = _quotient(lemmas, rest, quotient, given)
    same = quotient.r == small.r
    yield z3.Implies(z3.And(*steps.premises), same) if steps.premises else same
    yield z3.Implies(z3.And(*steps.premises, quotient.b != 0), quotient.q == small.q + lemmas.term(k))


def _quotient(lemmas: Terms, rest: Poly, by: Quotient, given: Sequence[Quotient]) -> Quotient:
    """The quotient of what is left over by the same divisor: one that occurs, if any does."""
    for one in given:
        if z3.eq(one.b, by.b) and lemmas.poly(one.a) == rest:
            return one
    return lemmas.algebra.divide(lemmas.term(rest), by.b)
