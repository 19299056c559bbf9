"""
Cases
=====

A rule on its way through a campaign: what its file says of it, which of its layers are decided, and what they cost.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from soundline.verify.files.finding import RuleFile
from soundline.verify.files.problems import Problem, displayed
from soundline.verify.verdicts.metering import LayerCost
from soundline.verify.verdicts.verdict import LayerResult, RuleReport

INTERRUPTED = "interrupted"
NO_INSTANCE = "no dtype admits the rule and its conditions"


@dataclass(eq=False)
class Reading:
    """A file on its way: its place among the files, the statements to leave out, and the digest of its text."""

    file: RuleFile
    place: int
    skip: tuple[int, ...] = ()
    digest: str = ""
    helpers: tuple[str, ...] = ()
    """The files beside it that it imports."""

    def request(self, do: str) -> dict[str, Any]:
        """What a worker is asked to do with the file."""
        return {"do": do, "file": self.file.path, "module": self.file.module, "skip": list(self.skip)}


@dataclass(eq=False)
class Case:
    """A rule on its way. A layer's result is None where the rule turned out to have no instance."""

    reading: Reading
    said: dict[str, Any]
    """Its description by the worker that read it."""
    results: dict[int, LayerResult | None] = field(default_factory=dict)
    problem: Problem | None = None
    fresh: int = 0
    """How many layers the cache did not know."""
    seconds: float = 0.0
    costs: list[LayerCost] = field(default_factory=list)
    """What the layers took that were judged in this run."""

    @property
    def id(self) -> str:
        """The rule's id."""
        return str(self.said["id"])

    @property
    def order(self) -> tuple[int, int]:
        """Its place in the final report."""
        return self.reading.place, self.said["ordinal"]

    @property
    def layers(self) -> list[tuple[str, str]]:
        """Its layers, each with the dtype that stands for it."""
        return [(name, dtype) for name, dtype in self.said["layers"]]

    @property
    def complete(self) -> bool:
        """Whether every layer is decided."""
        return len(self.results) == len(self.layers)

    def report(self) -> RuleReport:
        """The verdicts so far; a layer without instances is none."""
        found = [self.results[n] for n in range(len(self.layers)) if n in self.results]
        layers = tuple(x for x in found if x is not None)
        if self.complete and not layers:
            layers = (LayerResult("instances", "vacuous", "", detail=NO_INSTANCE),)
        missing = [name for n, (name, _) in enumerate(self.layers) if n not in self.results]
        layers += tuple(LayerResult(name, "unknown", "", detail=INTERRUPTED) for name in missing)
        return RuleReport(
            id=self.id,
            file=displayed(self.said["file"]),
            line=self.said["line"],
            statement=self.said["statement"],
            layers=layers,
            cached=self.complete and not self.fresh,
        )


def duplicates(cases: Sequence[Case]) -> list[tuple[Case, Problem]]:
    """The cases whose id an earlier one has, each with the problem that names both places."""
    first: dict[str, Case] = {}
    found = []
    for case in sorted(cases, key=lambda c: c.order):
        other = first.setdefault(case.id, case)
        if other is not case:
            place = f"{displayed(other.said['file'])}:{other.said['line']}"
            message = f"the rule id {case.id} is used twice: here and at {place}"
            hint = "rename one, or give it an id: @rule(id=…)"
            found.append(
                (case, Problem("duplicate", case.said["file"], case.said["line"], message, hint, case.id))
            )
    return found


def no_rules(file: str, imported: int, procedures: int) -> Problem:
    """The problem of a file that states no rule: it may import some, or declare procedures alone."""
    if procedures:
        hint = "soundline verify --engine with this file checks each application of them"
        return Problem("no-rules", file, None, "states no rule; it declares procedures", hint)
    if imported:
        hint = "verify the files that declare them"
        return Problem("no-rules", file, None, "states no rule itself; it imports some", hint)
    hint = "a rule is a function decorated with @rule that returns left, right"
    return Problem("no-rules", file, None, "states no rule", hint)


def matches(name: str, filters: Sequence[str]) -> bool:
    """Whether an id passes: any filter that is part of it, or any glob that it fits.

    >>> matches("pad_of_flip", ["flip"]), matches("pad_of_flip", ["flip*"]), matches("pad_of_flip", [])
    (True, False, True)
    """
    return not filters or any(
        fnmatch.fnmatchcase(name, f) if any(c in f for c in "*?[") else f in name for f in filters
    )
