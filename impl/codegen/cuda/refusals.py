"""
What cannot be generated
========================

The error of a program that is right and has no text in CUDA: because the architecture lacks an instruction, shared
memory is too small, or a value has no type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from soundline.impl.codegen.cuda.writing import statement_text
from soundline.spec.errors import CompileError
from soundline.spec.spork.language.nodes import Node

SECTIONS = {
    "arch": "From Spork to CUDA, architectures",
    "shared": "From Spork to CUDA, shared memory",
    "tile": "From Spork to CUDA, registers",
    "instruction": "From Spork to CUDA, instructions",
    "type": "From Spork to CUDA, values",
}
"""Where the documentation says what is wanted."""

CONDITIONS: Final[Mapping[str, str]] = {
    "cuda-instruction": "what an instruction is given has a form that the hardware takes: sizes, strides, alignment, "
    "swizzles and registers",
    "cuda-memory": "data in registers are elements of a thread, or tiles that the threads of a warp or warpgroup share "
    "in whole registers",
    "cuda-template": "the text of an instruction of a user names, in braces, what a call gives",
}
"""What must hold of instructions and memories so that there is CUDA for them, by the ids that errors have."""


def refused(statement: Node, section: str, wants: str, given: str, hint: str | None = None) -> CompileError:
    """The error of a statement for which there is no CUDA."""
    message = f"{statement_text(statement)}: expected {wants}; got: {given} ({SECTIONS[section]})"
    return CompileError(message, where="CUDA", hint=hint)
