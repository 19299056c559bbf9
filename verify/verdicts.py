"""
Verdicts
========

What the court says of a rule: one result per layer, each with what was covered, and for a refuted rule the smallest
counterexample that was found, already replayed through the specification's evaluator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["proved", "refuted", "unknown", "vacuous"]


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Inputs on which the two sides differ, and what the evaluator says of each side.

    `bindings` are (variable, text) pairs in the order in which the rule declares them; `left` and `right` are the
    evaluated sides, or what is wrong with a side that has no value; `test` is a paste-ready test.
    """

    instance: str
    bindings: tuple[tuple[str, str], ...]
    left: str
    right: str
    test: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class LayerResult:
    """The verdict at one layer, for example ``bit-precise int8``, and what it covers."""

    layer: str
    verdict: Verdict
    covered: str
    counterexample: Counterexample | None = None
    detail: str = ""
    """For unknown: the sub-goal that resisted. For vacuous: why nothing was shown."""


@dataclass(frozen=True, slots=True)
class RuleReport:
    """All that is known of one rule."""

    id: str
    file: str
    line: int
    statement: str
    layers: tuple[LayerResult, ...] = field(default_factory=tuple)
    cached: bool = False

    @property
    def verdict(self) -> Verdict:
        """Refuted if any layer is, proved if every layer is, else vacuous or unknown."""
        found = {layer.verdict for layer in self.layers}
        if "refuted" in found:
            return "refuted"
        if found == {"proved"}:
            return "proved"
        return "vacuous" if "unknown" not in found else "unknown"

    @property
    def counterexample(self) -> Counterexample | None:
        """The first counterexample; layers are ordered simplest first."""
        return next((x.counterexample for x in self.layers if x.counterexample is not None), None)

    @property
    def covered(self) -> str:
        """What all layers cover, in one line."""
        return "; ".join(f"{x.layer}: {x.covered}" for x in self.layers if x.covered)
