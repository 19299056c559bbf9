"""
Terms of integers
=================

The representations of a whole number in the algebra of integers: a residue, and a quotient with its remainder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import z3


@dataclass(frozen=True, slots=True)
class Residue:
    """An Int term and whether it is the element itself, not just congruent to it."""

    term: Any
    exact: bool


@dataclass(frozen=True, slots=True)
class Quotient:
    """a = q·b + r, the floor division."""

    a: Any
    b: Any
    q: Any
    r: Any


@dataclass(frozen=True, slots=True)
class Truncated:
    """a = q·b + r, rounded toward zero, and the floor quotient of the magnitudes."""

    a: Any
    b: Any
    q: Any
    r: Any
    sizes: Quotient


def number_of(term: Any) -> int | None:
    """The number that an Int term is."""
    return int(term.as_long()) if z3.is_int_value(term) else None
