"""
Where atoms come from
=====================

A quotient, a digit of a flat position or an element that stands in a polynomial is an *atom* there: a name. To put an
index in the place of another, an atom that depends on it has to be made anew. Its origin says what it depends on, and
how it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from soundline.verify.smt.elements.elements import Element
from soundline.verify.smt.integers.formulas import Formula
from soundline.verify.smt.integers.polynomials import Poly

Path = frozenset[Formula]
"""The conditions under which a position is looked at: for example, that it lies outside the padding."""


class Change(Protocol):
    """Atoms replaced by polynomials, in whatever contains them."""

    def poly(self, old: Poly, path: Path) -> Poly:
        """A polynomial with the atoms replaced."""

    def element(self, old: Element, path: Path) -> Element:
        """An element with the atoms replaced."""


@dataclass(frozen=True)
class Origin:
    """The atoms that one depends on, and how it is made again when they are replaced, along a path."""

    atoms: frozenset[str]
    again: Callable[[Change, Path], Poly]


def made_of(parts: tuple[Poly, ...], again: Callable[..., Poly]) -> Origin:
    """The origin of an atom that `again` makes of polynomials and a path."""
    atoms = frozenset(a for p in parts for a in p.atoms)
    return Origin(atoms, lambda change, path: again(*(change.poly(p, path) for p in parts), path))
