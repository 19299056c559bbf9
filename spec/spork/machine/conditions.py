"""
What a run must satisfy
=======================

The conditions that depend on the sizes and on the iteration, by id, and the error that names the one that is broken.
All else that is asked of a program is known before it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from soundline.spec.errors import ProgramError
from soundline.spec.spork.language.nodes import Node

RUN_CONSTRAINTS: Final[dict[str, str]] = {
    "seq-argument": "the arguments of a call match the declared types and sizes",
    "seq-assert": "the assertions of a proc hold",
    "seq-bounds": "an index is at least 0 and less than the size of its dimension, and a window lies within it",
    "seq-overlap": "memory that an instruction writes through one operand is not accessed through another",
    "seq-size": "no size is negative",
    "seq-uninitialized": "an element is written before it is read; allocated storage has no contents (S-09)",
}
"""What is asked of a run at given sizes, by id."""

Iteration = Sequence[tuple[str, int]]
"""The iterators around a statement and their values, outermost first."""


def failed(
    rule: str, wants: str, at: Node | None, given: str, iteration: Iteration = (), *, hint: str | None = None
) -> ProgramError:
    """The error that a condition does not hold at a place, in an iteration."""
    where = ", ".join(f"{name} = {value}" for name, value in iteration)
    message = f"{wants}; got: {given}{f' where {where}' if where else ''}"
    position = at.position if at is not None else None
    if position is None:
        return ProgramError(message, rule=rule, hint=hint)
    return ProgramError(
        message,
        rule=rule,
        file=position.file,
        line=position.line,
        column=position.column,
        excerpt=position.text,
        hint=hint,
    )


def run_failed(
    rule: str, at: Node | None, given: str, iteration: Iteration = (), *, hint: str | None = None
) -> ProgramError:
    """The error that a condition of `RUN_CONSTRAINTS` does not hold."""
    return failed(rule, RUN_CONSTRAINTS[rule], at, given, iteration, hint=hint)
