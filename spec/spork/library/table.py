"""
The library of instructions
===========================

The instructions that programs may name without an import. Each is an `Instruction`, as a reader's own are, and belongs
to a family, a class; the law knows none of them by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from soundline.spec.spork.library import approximate, copies, rows, sm80, sm90, tma, warps
from soundline.spec.spork.library.schema import Instruction

CHAPTERS: Final[Mapping[str, tuple[Instruction, ...]]] = {
    "Copies and atomic additions": copies.INSTRUCTIONS,
    "Registers of a warp": warps.INSTRUCTIONS,
    "Approximate functions": approximate.INSTRUCTIONS,
    "Tensor cores of Sm80": sm80.INSTRUCTIONS,
    "TMA": tma.INSTRUCTIONS,
    "Tensor cores of Sm90": sm90.INSTRUCTIONS,
    "Rows of an accumulator": rows.INSTRUCTIONS,
}
"""The instructions by what they are for."""

STANDARD: Final[Mapping[str, Instruction]] = {
    instruction.name: instruction for chapter in CHAPTERS.values() for instruction in chapter
}
"""The instructions by name."""
