"""
Polynomials over sizes and indices
==================================

Sizes, offsets and index expressions as integer polynomials in a normal form, so that most equations between indices
are decided by comparing two tuples. What is not a sum or a product (a quotient, a maximum, a digit of a flat position)
is an *atom*, a name whose definition is kept elsewhere.

Known equations rewrite their greatest monomial, in the graded order of monomials, by the rest. That order is well
founded and respects products, so rewriting ends; two polynomials with one normal form are equal wherever the equations
hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from soundline.spec.ops.polynomials import Polynomial

Monomial = tuple[str, ...]
"""The atoms of a product, sorted; the empty product is 1."""


def _order(monomial: Monomial) -> tuple[int, Monomial]:
    """Degree first. A monomial order: inserting one atom into two sorted tuples keeps their order."""
    return len(monomial), monomial


def _monomial(monomial: Monomial, n: int) -> str:
    return "·".join([*([str(n)] if n != 1 or not monomial else []), *monomial])


class Poly(Polynomial[str]):
    """A polynomial over names, its greatest monomial first; equal polynomials are equal objects of one key."""

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms = {m: terms[m] for m in sorted(terms, key=_order, reverse=True) if terms[m]}

    @cached_property
    def key(self) -> str:
        """The polynomial written out; the identity of a polynomial."""
        text = "".join(f" {'-' if n < 0 else '+'} {_monomial(m, abs(n))}" for m, n in self.terms.items())
        return ("-" if text.startswith(" - ") else "") + text[3:] if text else "0"

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(self.terms.items()))

    def __repr__(self) -> str:
        return self.key

    @property
    def linear(self) -> bool:
        """Whether no monomial is a product of atoms."""
        return all(len(m) <= 1 for m in self.terms)

    def lead(self) -> tuple[Monomial, int]:
        """The greatest monomial and its coefficient; not for zero."""
        return next(iter(self.terms.items()))

    def value(self, of: Mapping[str, int]) -> int:
        """The value where every atom has the value that `of` gives it."""
        total = 0
        for monomial, n in self.terms.items():
            for atom in monomial:
                n *= of[atom]
            total += n
        return total

    def z3(self, atom: Any, number: Any) -> Any:
        """The polynomial as a Z3 term: `atom` makes the term of a name, `number` that of an int."""
        total = None
        for monomial, n in self.terms.items():
            term = number(n) if n != 1 or not monomial else None
            for name in monomial:
                term = atom(name) if term is None else term * atom(name)
            total = term if total is None else total + term
        return number(0) if total is None else total


ZERO = Poly({})
ONE = Poly({(): 1})


def product(factors: Iterable[Poly]) -> Poly:
    """The product; 1 for none."""
    total = ONE
    for factor in factors:
        total = total * factor
    return total


def divide(dividend: Poly, divisor: Poly) -> tuple[Poly, Poly]:
    """A quotient q and remainder r with dividend = q·divisor + r, by long division in the order of monomials.

    No sign or size is promised for r: which quotient is the one of ⌊⌋ is for the caller to prove.
    """
    if not divisor.terms:
        return ZERO, dividend
    lead, n = divisor.lead()
    quotient, remainder, rest = ZERO, ZERO, dividend
    while rest.terms:
        monomial, m = rest.lead()
        cofactor = _without(monomial, lead)
        step = Poly({cofactor: m // n}) if cofactor is not None else ZERO
        if step.terms:
            quotient = quotient + step
            rest = rest - step * divisor
        if rest.terms.get(monomial):
            kept = Poly({monomial: rest.terms[monomial]})
            remainder, rest = remainder + kept, rest - kept
    return quotient, remainder


class Equations:
    """Polynomials known to be zero, as rewrites of their greatest monomial."""

    def __init__(self) -> None:
        self.rules: dict[Monomial, Poly] = {}
        self._known: dict[Poly, Poly] = {}

    def add(self, zero: Poly) -> None:
        """Learn that a polynomial is zero. One whose greatest monomial has a coefficient other than ±1 is of no use."""
        pending = [zero]
        while pending:
            poly = self.reduce(pending.pop())
            if not poly.terms or abs(poly.lead()[1]) != 1 or poly.constant is not None:
                continue
            lead, sign = poly.lead()
            rest = Poly({m: -sign * n for m, n in poly.terms.items() if m != lead})
            outdone = [m for m in self.rules if _without(m, lead) is not None]
            pending.extend(Poly({old: 1}) - self.rules.pop(old) for old in outdone)
            self.rules[lead] = rest
            self._known.clear()

    def reduce(self, poly: Poly) -> Poly:
        """The normal form of a polynomial."""
        if not self.rules:
            return poly
        if poly not in self._known:
            self._known[poly] = self._reduced(poly)
        return self._known[poly]

    def _reduced(self, poly: Poly) -> Poly:
        done = ZERO
        while poly.terms:
            monomial, n = poly.lead()
            head = Poly({monomial: n})
            poly = poly - head
            for lead, rest in self.rules.items():
                cofactor = _without(monomial, lead)
                if cofactor is not None:
                    poly = poly + rest * Poly({cofactor: n})
                    break
            else:
                done = done + head
        return done


def _without(monomial: Monomial, factor: Monomial) -> Monomial | None:
    """The monomial divided by another; None where it is not divisible."""
    rest = list(monomial)
    for atom in factor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)
