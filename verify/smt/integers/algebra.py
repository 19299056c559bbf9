"""
The algebra of integers, as its parts see it
============================================

Powers, truncating division, bits and laws each know one part of the translation to Ints. They reach the rest through
this interface; `residue_classes.Integers` is the algebra itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from soundline.spec.ops.node import UOp
from soundline.verify.smt.goals.obligations import Obligation
from soundline.verify.smt.integers.terms import Quotient, Truncated


class Truncating(Protocol):
    """The truncating quotients of a translation (`truncation.Truncations`)."""

    found: list[Truncated]
    """The quotients of operands that are not both natural."""

    def __call__(self, a: Any, b: Any) -> tuple[Any, Any]:
        """The quotient rounded toward zero, and its remainder, which has the sign of a."""

    def is_natural(self, x: Any) -> None:
        """Take note that an Int is never negative where the premises hold."""


class IntegerAlgebra(Protocol):
    """A translation to Ints in progress."""

    obligation: Obligation
    ctx: Any
    spurious: bool
    facts: list[Any]
    exact: list[Quotient]
    """The quotients whose remainder the hypotheses say to be 0."""
    wrapped: list[tuple[Any, Any]]
    """The Ints that were brought into the range of a dtype, each after what it was before."""
    divisible: frozenset[UOp]
    """The remainders that the hypotheses say to be 0."""
    powers: frozenset[UOp]
    """The nodes that the hypotheses say to be powers of two."""
    without_common_bits: frozenset[UOp]
    """The conjunctions of bits that the hypotheses say to be 0."""

    @property
    def two_to(self) -> Callable[[UOp], Any]:
        """2 to a count, where that is not negative; else any number."""

    @property
    def truncated(self) -> Truncating:
        """The truncating quotients."""

    def int(self, value: int) -> Any:
        """A number."""

    def fresh(self, stem: str) -> Any:
        """A fresh Int."""

    def residue(self, node: UOp) -> Any:
        """Some Int congruent to a whole node that is already translated; a Bool as it is."""

    def value(self, node: UOp) -> Any:
        """The element of a node that is already translated."""

    def term(self, node: UOp) -> Any:
        """The translation of a node, made where it does not exist yet."""

    def found(self, node: UOp) -> Any:
        """The translation of a node that is already translated: a residue or a Bool."""

    def choice(self, p: Any, a: Any, b: Any) -> Any:
        """a where p, else b."""

    def divide(self, a: Any, b: Any) -> Quotient:
        """The floor quotient and remainder of two Ints."""

    def divide_exactly(self, a: Any, b: Any, q: Any = None) -> Quotient:
        """The quotient of two Ints of which the second divides the first; no fact of its own says so."""

    def least(self, node: UOp) -> Any:
        """A number that a node is at least, as the hypotheses say it in so many words."""
