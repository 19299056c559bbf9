"""
The library of instructions
===========================

The instructions that programs may name without an import. Each is an `Instruction`, as a reader's own are, and belongs
to a family, a class; the law knows none of them by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from soundline.spec import (
    instructions_copies,
    instructions_sm80,
    instructions_sm90,
    instructions_tma,
    instructions_warps,
)
from soundline.spec.instruction_schema import Instruction

CHAPTERS: Final[Mapping[str, tuple[Instruction, ...]]] = {
    "Copies and atomic additions": instructions_copies.INSTRUCTIONS,
    "Registers of a warp": instructions_warps.INSTRUCTIONS,
    "Tensor cores of Sm80": instructions_sm80.INSTRUCTIONS,
    "TMA": instructions_tma.INSTRUCTIONS,
    "Tensor cores of Sm90": instructions_sm90.INSTRUCTIONS,
}
"""The instructions by what they are for."""

STANDARD: Final[Mapping[str, Instruction]] = {
    instruction.name: instruction for chapter in CHAPTERS.values() for instruction in chapter
}
"""The instructions by name."""
