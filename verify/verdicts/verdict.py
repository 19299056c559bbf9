"""
Verdicts
========

The verdict on a rule: one result per layer, each with what was covered, and for a refuted rule the smallest
counterexample that was found, already replayed through the specification's evaluator.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal

Verdict = Literal["proved", "refuted", "unknown", "vacuous"]
Confirmation = Literal["confirmed", "not run", "disagrees"]
Answer = Literal["agrees", "contradicts", "open"]

EVALUATOR, COMPILED = "the evaluator", "compiled C"
"""Who replays a counterexample."""

INTERNAL = "internal: "
"""How the detail of a result begins, or goes on, where a part of the prover contradicts another."""


@dataclass(frozen=True, slots=True)
class Difference:
    """An element in which two sides differ: where it stands (``()`` for a scalar), and what each side has there."""

    position: tuple[int, ...]
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of computing both sides once more, by the evaluator or by compiled C.

    ``disagrees`` is a mistake of soundline, not of the rule: `detail` says what was expected and what came.
    """

    by: str
    result: Confirmation
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A counterexample as a program: both sides in the textual form, and the inputs by the slots of their Params.

    An input is (slot, dtype, shape, bit patterns of the elements). A side that has no value is an empty text.
    """

    left: str
    right: str
    inputs: tuple[tuple[int, str, tuple[int, ...], tuple[int, ...]], ...] = ()


_TEST_NAME = re.compile(r"^def test_\w+_is_wrong\(", re.MULTILINE)


def identifier(name: str) -> str:
    """A name as Python may have it."""
    return re.sub(r"\W+", "_", name)


def name_of_test(rule: str) -> str:
    """The name of the test that shows a rule of this id to be wrong."""
    return f"test_{identifier(rule)}_is_wrong"


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Inputs on which the two sides differ, and what the evaluator says of each side.

    `bindings` are (variable, text) pairs in the order in which the rule declares them; `left` and `right` are the
    evaluated sides, or what is wrong with a side that has no value; `test` is a paste-ready test. `differences` are the
    first elements that differ, of `differing` in all; `steps` are (expression, value) pairs, the inner ones first.
    """

    instance: str
    bindings: tuple[tuple[str, str], ...]
    left: str
    right: str
    test: str
    note: str = ""
    differences: tuple[Difference, ...] = ()
    differing: int = 0
    steps: tuple[tuple[str, str], ...] = ()
    replays: tuple[Replay, ...] = ()
    case: Case | None = None

    def named(self, rule: str) -> Counterexample:
        """The same for an equal rule of another id, after which the test is named."""
        return replace(self, test=_TEST_NAME.sub(f"def {name_of_test(rule)}(", self.test, count=1))


@dataclass(frozen=True, slots=True)
class Opinion:
    """A second opinion on a layer's verdict, by other programs than those that reached it.

    ``open`` is no answer, and `detail` says why there is none. ``contradicts`` is a mistake of soundline, or of the
    other program, and never a verdict.
    """

    by: str
    answer: Answer
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LayerResult:
    """The verdict at one layer, for example ``bit-precise int8``, and what it covers."""

    layer: str
    verdict: Verdict
    covered: str
    counterexample: Counterexample | None = None
    detail: str = ""
    """For unknown: the sub-goal that resisted. For vacuous: why nothing was shown."""
    holds_when: tuple[str, ...] = ()
    """For refuted: what must not overflow so that the layer holds, which is then proved."""
    opinions: tuple[Opinion, ...] = ()
    """What others say, where they were asked."""
    bug: str = ""
    """What shows that soundline itself is wrong here: two of its parts contradict each other."""

    @property
    def bugs(self) -> tuple[str, ...]:
        """Where soundline contradicts itself about this layer."""
        replays = () if self.counterexample is None else self.counterexample.replays
        internal = self.detail.partition(INTERNAL)[2]
        return (
            *((internal,) if internal else ()),
            *((self.bug,) if self.bug else ()),
            *(f"{r.by} disagrees: {r.detail}" for r in replays if r.result == "disagrees"),
            *(
                f"{o.by} contradicts the verdict {self.verdict}: {o.detail}"
                for o in self.opinions
                if o.answer == "contradicts"
            ),
        )

    @property
    def settled(self) -> Verdict:
        """The verdict; unknown where soundline contradicts itself, so that no one relies on either side."""
        return "unknown" if self.bugs else self.verdict


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
        found = {layer.settled for layer in self.layers}
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
    def bugs(self) -> tuple[str, ...]:
        """Where soundline contradicts itself about the rule, each with its layer."""
        return tuple(f"{x.layer}: {bug}" for x in self.layers for bug in x.bugs)

    @property
    def covered(self) -> str:
        """What all layers cover, in one line."""
        return "; ".join(f"{x.layer}: {x.covered}" for x in self.layers if x.covered)
