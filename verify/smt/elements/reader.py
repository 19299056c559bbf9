"""
The reader of expressions, as its laws see it
=============================================

The laws of movement, bits, numbers and reductions say what one op denotes. They reach the elements of its operands
through this interface; `denotation.Denotation` is the reader itself.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from soundline.spec.dtypes import DType
from soundline.spec.ops.node import Op, Size, UOp
from soundline.verify.smt.elements.elements import Element
from soundline.verify.smt.elements.indexing import Index, Path, Space
from soundline.verify.smt.integers.formulas import Formula
from soundline.verify.smt.integers.polynomials import Poly

Made = Callable[[tuple[Element, ...], Path], Element]
"""Makes an element of operands along a path."""


class Reader(Protocol):
    """Reads expressions as elements (`denotation.Denotation`)."""

    space: Space
    by_law: bool
    """Whether what a dtype is was made use of, so that the elements mean nothing at another dtype."""
    quotients: dict[str, tuple[Poly, Poly]]
    """The operands of the quotients that stand as atoms, rounded down."""
    maxima: dict[str, tuple[Poly, Poly]]
    """The operands of the maxima that stand as atoms."""
    powers: dict[str, Poly]
    """The exponents of the powers of two that stand as atoms."""
    ranges: dict[UOp, Poly]
    """What stands for the Ranges of these reductions."""

    def size(self, size: Size) -> Poly:
        """A size as a polynomial."""

    def shape(self, node: UOp) -> Index:
        """The shape of a value, in normal form."""

    def named(self, source: UOp) -> Index:
        """The sizes or offsets that a shape source holds, in normal form."""

    def number(self, element: Element) -> Poly:
        """An element of dtype ``index`` as a polynomial; a choice becomes an atom that the space knows about."""

    def element(self, node: UOp, at: Index, path: Path) -> Element:
        """The element of a value at a position that lies in its shape along the path."""

    def guarded(self, condition: Formula, path: Path) -> tuple[Formula, Path]:
        """What is left of a condition where the path is known, and the path along which it holds."""

    def strict(
        self,
        dtype: DType,
        operands: tuple[Element, ...],
        path: Path,
        made: Made,
    ) -> Element:
        """What is made of operands where all of them are valid; else ⊥."""

    def operation(self, op: Op, dtype: DType, operands: tuple[Element, ...]) -> Element:
        """An op on elements; one that is computed by its scalar law shows the dtype."""

    def bind(self, number: int, size: Poly, path: Path) -> tuple[Poly, Path]:
        """An index of the reduction that is entered, from 0 to `size`, and the path inside; an axis of size 1 needs
        none.
        """

    def reduced(
        self, op: Op, dtype: DType, indices: Index, sizes: Index, body: Element, path: Path
    ) -> Element:
        """The reduction of a body over the indices that were bound."""

    def inside_reduction(self) -> AbstractContextManager[None]:
        """Read what is reduced; its Ranges have no meaning outside."""
