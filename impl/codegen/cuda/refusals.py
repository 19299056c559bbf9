"""
What cannot be generated
========================

The error of a program that is right and has no text in CUDA: because the architecture lacks an instruction, shared
memory is too small, or a value has no type.
"""

from __future__ import annotations

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


def refused(statement: Node, section: str, wants: str, given: str, hint: str | None = None) -> CompileError:
    """The error of a statement for which there is no CUDA."""
    message = f"{statement_text(statement)}: expected {wants}; got: {given} ({SECTIONS[section]})"
    return CompileError(message, where="CUDA", hint=hint)
