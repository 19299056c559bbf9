"""
Polynomials
===========

Sizes, indices and integers of control are compared as polynomials: sums of products of *atoms*, each product with a
whole factor. An atom is what the reader of an expression does not take apart, given by a name or a node. Expressions
with one polynomial are equal whatever their atoms stand for.

>>> n, m = Polynomial.of("n"), Polynomial.of("m")
>>> (n + m) * (n - m) == n * n - m * m
True
>>> (n * 2 + 3 - n * 2).constant
3
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Self, TypeVar

Atom = TypeVar("Atom")


class Polynomial(Generic[Atom]):
    """A sum of products of atoms; the atoms of a product are sorted, and the empty product is 1."""

    def __init__(self, terms: Mapping[tuple[Atom, ...], int]) -> None:
        self.terms = {atoms: n for atoms, n in terms.items() if n}
        """The factor of each product; none is 0."""

    @classmethod
    def of(cls, value: int | Atom) -> Self:
        """A number, or an atom."""
        return cls({(): value} if isinstance(value, int) else {(value,): 1})

    @staticmethod
    def in_order(atoms: tuple[Any, ...]) -> tuple[Any, ...]:
        """The atoms of a product in the one order in which they are written."""
        return tuple(sorted(atoms))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.terms})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __add__(self, other: Self | int) -> Self:
        return self._plus(other, 1)

    def __sub__(self, other: Self | int) -> Self:
        return self._plus(other, -1)

    def _plus(self, other: Self | int, sign: int) -> Self:
        total = dict(self.terms)
        for atoms, n in self._terms_of(other).items():
            total[atoms] = total.get(atoms, 0) + sign * n
        return type(self)(total)

    def __neg__(self) -> Self:
        return self * -1

    def __mul__(self, other: Self | int) -> Self:
        total: dict[tuple[Atom, ...], int] = {}
        for a, m in self.terms.items():
            for b, n in self._terms_of(other).items():
                joined = self.in_order(a + b)
                total[joined] = total.get(joined, 0) + m * n
        return type(self)(total)

    @staticmethod
    def _terms_of(value: Polynomial[Atom] | int) -> Mapping[tuple[Atom, ...], int]:
        return value.terms if isinstance(value, Polynomial) else {(): value}

    @property
    def constant(self) -> int | None:
        """The number that this polynomial is; None where it depends on its atoms."""
        return None if any(self.terms) else self.terms.get((), 0)

    @property
    def atoms(self) -> set[Atom]:
        """The atoms that occur."""
        return {atom for atoms in self.terms for atom in atoms}

    def split(self, atom: Atom) -> tuple[Self, Self]:
        """The f and r with f · atom + r for this polynomial; the atom does not occur in r, and in f if it is squared.

        >>> f, r = (Polynomial.of("n") * Polynomial.of("m") + 2).split("n")
        >>> f.terms, r.terms
        ({('m',): 1}, {(): 2})
        """
        factor, rest = {}, {}
        for atoms, n in self.terms.items():
            if atom in atoms:
                at = atoms.index(atom)
                factor[atoms[:at] + atoms[at + 1 :]] = n
            else:
                rest[atoms] = n
        return type(self)(factor), type(self)(rest)

    def substituted(self, values: Mapping[Atom, Self]) -> Self:
        """The polynomial with polynomials in the places of atoms.

        >>> n = Polynomial.of("n")
        >>> (n * n).substituted({"n": n + 1}).terms
        {('n', 'n'): 1, ('n',): 2, (): 1}
        """
        total = type(self)({})
        for atoms, n in self.terms.items():
            part = type(self)({tuple(a for a in atoms if a not in values): n})
            for atom in atoms:
                if atom in values:
                    part = part * values[atom]
            total = total + part
        return total
