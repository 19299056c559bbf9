"""
A kernel being written
======================

What the parts of the renderer, which know vectors and lanes, ask of the kernel that is written: the names and texts of
its values, and a place for its lines.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from soundline.impl.codegen.c.expressions import Expressions
from soundline.impl.lower.linear.linearize import is_global
from soundline.impl.lower.schedule.forms import Forms
from soundline.spec.ops.node import Op, UOp


class Kernel(Protocol):
    """A kernel under rendering (`renderer.Rendering`)."""

    c: Expressions
    """The C of its scalars, and what of the helpers it asks for."""
    depth: int
    lines: list[str]
    texts: dict[UOp, str]
    lanes: set[int]
    """The axes over which a loop is open."""
    axes: dict[UOp, frozenset[int]]
    """The axes on which values are known to depend."""
    forms: Forms
    """In which form values are held and moved."""
    fenced: bool
    """Whether it writes past the caches."""
    uses: Counter[UOp]

    def operand(self, node: UOp) -> str:
        """An operand: a constant or what an earlier instruction computed."""

    def line(self, text: str) -> None:
        """Add a line at the present depth."""

    def storage_name(self, place: UOp) -> str:
        """The C name of the storage of a place."""

    def named(self, node: UOp) -> str:
        """A fresh variable for a value."""

    def value(self, node: UOp) -> None:
        """Give a value a name, or keep its text where it is short and used once."""


def is_register(storage: UOp) -> bool:
    """Whether storage belongs to one kernel."""
    return storage.op is Op.Buffer and not is_global(storage)
