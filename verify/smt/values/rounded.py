"""
Rounded arithmetic, as facts about it see it
============================================

The words in which facts about rounded operations are stated; `rounding.Rounded` gives them their meaning.
"""

from __future__ import annotations

from typing import Any, Protocol

from soundline.spec.dtypes import DType
from soundline.spec.ops.node import Op


class RoundedArithmetic(Protocol):
    """The algebra of rounded arithmetic (`rounding.Rounded`), as facts about it see it."""

    ctx: Any

    def nan(self, x: Any) -> Any:
        """That this is NaN."""

    def number(self, dtype: DType, value: float) -> Any:
        """A literal."""

    def infinite(self, x: Any) -> Any:
        """That this is an infinity."""

    def le(self, x: Any, y: Any) -> Any:
        """x ≤ y; False where either is NaN."""

    def minus(self, x: Any) -> Any:
        """That this has its sign bit set, and is no NaN."""

    def negated(self, x: Any) -> Any:
        """-x."""

    def same(self, x: Any, y: Any) -> Any:
        """The same float."""

    def zero(self, x: Any) -> Any:
        """That this is a zero."""

    def size(self, x: Any) -> Any:
        """|x|."""

    def numbers(self, *floats: Any) -> Any:
        """That none of these is NaN."""

    def apply(self, op: Op, dtype: DType, x: Any, y: Any) -> Any:
        """The unknown result of a sum, product, quotient or root, with the facts about it."""

    def sum_is_exact(self, dtype: DType, x: Any, y: Any) -> Any:
        """That x + y is exact: of two signs, and neither more than twice the other, or both tiny."""
