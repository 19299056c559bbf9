"""
Certificates
============

What stands behind a compiled program: which rules rewrote it and what is proved of them, which obligations were
discharged and how, under which licences it was built, and what was checked by sampling only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from types import MappingProxyType
from typing import Any

from soundline.impl import evidence
from soundline.impl.lower.approximate import BOUND
from soundline.impl.lower.obligations import Obligation

SAMPLED = (
    "the lowering stages keep the value of the program: compared with the evaluator on random programs by the tests",
    "the C text, and what the C compiler makes of it: compared with the evaluator, bit for bit, by the same tests",
)
"""What no proof covers; the same for every program that is compiled through C."""
MEASURED = {"approx": f"the error of e^x of float32 under approx: at most {BOUND} ulp, measured"}
"""What a licence adds to that."""


@dataclass(frozen=True, slots=True)
class AppliedRule:
    """A rule of the library that rewrote the program, how often, and what the court says of it."""

    id: str
    count: int
    ruling: evidence.Ruling
    procedural: bool = False
    """Whether it is a procedure, whose ruling is about its applications here and not about all that it may do."""

    def __str__(self) -> str:
        checked = ", procedural, checked at each application" if self.procedural else ""
        return f"{self.id} × {self.count}: {self.ruling.verdict}{checked}"


@dataclass(frozen=True, slots=True)
class Certificate:
    """The evidence for one compiled program."""

    profile: str
    licences: tuple[str, ...]
    rules: tuple[AppliedRule, ...]
    obligations: tuple[Obligation, ...]
    sampled: tuple[str, ...] = SAMPLED
    promised: tuple[str, ...] = ()
    """How near the results are to what, by the law."""
    trusted: tuple[str, ...] = ()
    """The custom functions that it calls, which nobody has looked into."""
    called: tuple[tuple[str, Certificate], ...] = ()
    """The compiled programs that it calls, by name, with their certificates."""

    @property
    def proved(self) -> bool:
        """Whether every rule that was applied is proved."""
        own = all(r.ruling.verdict == "proved" for r in self.rules)
        return own and all(certificate.proved for _, certificate in self.called)

    def __str__(self) -> str:
        return "\n".join(
            [
                f"profile {self.profile}, licences: {', '.join(self.licences) or 'none'}",
                *(_section("promised of the results", list(self.promised)) if self.promised else []),
                *_section("rules applied", [str(r) for r in self.rules]),
                *_section("obligations, all discharged", [str(o) for o in self.obligations]),
                *_section("sampled only", list(self.sampled)),
                *(_section("taken on trust: custom functions", list(self.trusted)) if self.trusted else []),
                *(f"calls {name}:\n{certificate}" for name, certificate in self.called),
            ]
        )

    def _repr_html_(self) -> str:
        """A table of the rules with their verdicts, and the rest as text; a notebook shows it."""
        rows = "".join(
            f"<tr><td><code>{escape(r.id)}</code></td><td>{r.count}</td><td>{escape(r.ruling.verdict)}</td></tr>"
            for r in self.rules
        )
        head = "<tr><th>rule</th><th>applied</th><th>verdict</th></tr>"
        return (
            f"<p>profile {escape(self.profile)}, licences: {escape(', '.join(self.licences) or 'none')}</p>"
            f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
            f"<details><summary>all of it</summary><pre>{escape(str(self))}</pre></details>"
        )

    def __rich_repr__(self) -> Iterator[Any]:
        """The fields that rich shows."""
        yield "profile", self.profile
        yield "licences", list(self.licences)
        yield "rules", {r.id: f"{r.count} × {r.ruling.verdict}" for r in self.rules}
        yield "obligations", len(self.obligations)
        yield "proved", self.proved


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines or ["none"])]


def certified(
    profile: str,
    licences: Sequence[str],
    applied: Mapping[str, int],
    discharged: Sequence[Obligation],
    validated: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> Certificate:
    """The certificate of a program; the rulings of rules are what the court says now, those of procedures what it said.

    `validated` has for each procedure the rulings of its applications.
    """
    rules = tuple(_applied(r, n, validated) for r, n in sorted(applied.items()))
    sampled = (*SAMPLED, *(MEASURED[name] for name in licences if name in MEASURED))
    return Certificate(profile, tuple(licences), rules, tuple(discharged), sampled)


def _applied(name: str, count: int, validated: Mapping[str, Collection[str]]) -> AppliedRule:
    if name not in validated:
        return AppliedRule(name, count, evidence.ruling(name))
    proved = set(validated[name]) == {"proved"}
    ruling = evidence.Ruling("proved" if proved else evidence.NOT_CHECKED)
    return AppliedRule(name, count, ruling, procedural=True)
