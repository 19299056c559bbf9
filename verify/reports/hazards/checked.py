"""
What became of a program
========================

A program that was checked has a verdict of the abstract machine, or was refused before that. Here it becomes text and
JSON. The names in the JSON stay; a version that means something else by one of them has another number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from soundline.spec.abstract_machine import Verdict
from soundline.spec.errors import SoundlineError
from soundline.spec.spork.diagnosis.reports import Redundant
from soundline.verify.files.problems import displayed

SCHEMA: Final = 1
"""The version of the JSON."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of one proc."""

    name: str
    sizes: Mapping[str, int | bool]
    result: Verdict | SoundlineError
    redundant: tuple[Redundant, ...] = ()
    """Synchronizations that can be removed, if it was asked."""

    @property
    def ok(self) -> bool:
        """Whether there is nothing to find."""
        return isinstance(self.result, Verdict) and self.result.ok

    @property
    def title(self) -> str:
        """The proc with its sizes."""
        return f"{self.name}({', '.join(f'{name}={value}' for name, value in self.sizes.items())})"

    def text(self) -> str:
        """The report for a terminal."""
        said = self.result.text(displayed) if isinstance(self.result, Verdict) else error_text(self.result)
        notes = [f"note: {note.report(displayed)}" for note in self.redundant]
        return "\n\n".join([f"{self.title}: {said}", *notes])

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        told = {"schema": SCHEMA, "proc": self.name, "sizes": dict(self.sizes)}
        if isinstance(self.result, Verdict):
            said = {**self.result.to_json(), "errors": []}
        else:
            said = {"verdict": "refused", "errors": [error_json(self.result)], "hazards": []}
        return {**told, **said, "redundant": [note.to_json() for note in self.redundant]}


def report_json(checked: Sequence[Checked], machine: str) -> dict[str, Any]:
    """The report on one program; on several, what became of all, and a report on each."""
    if len(checked) == 1:
        return {**checked[0].to_json(), "machine": machine}
    refused = any(not isinstance(c.result, Verdict) for c in checked)
    worst = "refused" if refused else "no hazards" if all(c.ok for c in checked) else "hazards"
    programs = [{**c.to_json(), "machine": machine} for c in checked]
    return {"schema": SCHEMA, "verdict": worst, "programs": programs}


def error_text(error: SoundlineError) -> str:
    """An error as people read it: the file relative to where they are."""
    file = getattr(error, "file", None)
    return str(error).replace(file, displayed(file)) if file else str(error)


def error_json(error: SoundlineError) -> dict[str, Any]:
    """An error as a JSON object."""
    return {
        "id": error.rule,
        "message": error.message,
        "file": getattr(error, "file", None),
        "line": getattr(error, "line", None),
        "column": getattr(error, "column", None),
        "hint": error.hint,
    }
