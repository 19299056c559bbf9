"""
What a campaign reports
=======================

The result of a campaign as data, the same for every format, and the interface by which a campaign is watched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from soundline.verify.advice.results import Advice
from soundline.verify.files.problems import Problem
from soundline.verify.verdicts.metering import LayerCost
from soundline.verify.verdicts.verdict import RuleReport

ALL_GOOD, FINDINGS, BAD_INPUT, ONLY_UNKNOWN, OUR_BUG, INTERRUPTED = 0, 1, 2, 3, 4, 130
"""The exit codes."""


@dataclass(frozen=True, slots=True)
class Report:
    """All that a campaign found, rules and mistakes in the order of their files and lines."""

    rules: tuple[RuleReport, ...]
    problems: tuple[Problem, ...]
    seconds: float
    interrupted: bool = False
    advice: Advice | None = None
    """What is advised about the rules, where it was asked for."""
    costs: tuple[LayerCost, ...] = ()
    """What the layers took that were judged in this run, and not found in the cache."""
    procedures: tuple[str, ...] = ()
    """The procedures beside the rules, of which nothing is proved here."""

    def count(self, verdict: str) -> int:
        """How many rules have this verdict."""
        return sum(r.verdict == verdict for r in self.rules)

    @property
    def cached(self) -> int:
        """How many rules came whole from the cache."""
        return sum(r.cached for r in self.rules)

    @property
    def bugs(self) -> int:
        """About how many rules soundline contradicts itself."""
        return sum(bool(r.bugs) for r in self.rules)

    @property
    def opinions(self) -> dict[str, dict[str, int]]:
        """Whoever was asked for an opinion: on how many layers they agree, contradict, and have no answer."""
        found: dict[str, dict[str, int]] = {}
        for opinion in (o for r in self.rules for x in r.layers for o in x.opinions):
            said = found.setdefault(opinion.by, {"agrees": 0, "contradicts": 0, "open": 0})
            said[opinion.answer] += 1
        return found

    @property
    def exit_code(self) -> int:
        """A bug of ours weighs most, then bad input, because the run is then incomplete; unknown weighs least."""
        if self.interrupted:
            return INTERRUPTED
        if self.bugs:
            return OUR_BUG
        if self.problems:
            return BAD_INPUT
        if self.count("refuted") or self.count("vacuous"):
            return FINDINGS
        return ONLY_UNKNOWN if self.count("unknown") else ALL_GOOD


class Listener(Protocol):
    """Hears of a campaign while it runs."""

    def expects(self, rules: Sequence[str]) -> None:
        """These rules are known by now."""

    def decided(self, report: RuleReport, seconds: float) -> None:
        """A rule has its verdict, after so much work."""

    def met(self, problem: Problem) -> None:
        """Something is wrong with the input."""

    def printed(self, file: str, text: str) -> None:
        """A rule file printed this while it was read."""

    def works_on(self, rules: Sequence[str]) -> None:
        """These rules are being solved now."""


class Silence:
    """A listener that does not care."""

    def expects(self, rules: Sequence[str]) -> None:
        """Nothing."""

    def decided(self, report: RuleReport, seconds: float) -> None:
        """Nothing."""

    def met(self, problem: Problem) -> None:
        """Nothing."""

    def printed(self, file: str, text: str) -> None:
        """Nothing."""

    def works_on(self, rules: Sequence[str]) -> None:
        """Nothing."""
