"""
Mutants that nothing can notice
===============================

Survivors that were studied and found to be the same program, or a program whose difference no test should fix. Each
entry says why. It names the module and the line before and after the change, so that it lapses when the line changes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Judged:
    """A judgement: this change of this line is nothing that a test should notice."""

    path: str
    before: str
    after: str
    why: str


JUDGED: tuple[Judged, ...] = ()


def judgement(path: str, before: str, after: str) -> str | None:
    """Why a surviving mutant is no fault of the tests, if that was found."""
    for entry in JUDGED:
        if (entry.path, entry.before, entry.after) == (path, before, after):
            return entry.why
    return None
