"""
Certificates
============

What stands behind a compiled program: which rules rewrote it and what is proved of them, which obligations were
discharged and how, under which licences it was built, and what was checked by sampling only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from soundline.impl import evidence
from soundline.impl.lower.obligations import Obligation

SAMPLED = (
    "the lowering stages keep the value of the program: compared with the evaluator on random programs by the tests",
    "the C text, and what the C compiler makes of it: compared with the evaluator, bit for bit, by the same tests",
)
"""What no proof covers; the same for every program that is compiled through C."""


@dataclass(frozen=True, slots=True)
class AppliedRule:
    """A rule of the library that rewrote the program, how often, and what the court says of it."""

    id: str
    count: int
    ruling: evidence.Ruling


@dataclass(frozen=True, slots=True)
class Certificate:
    """The evidence for one compiled program."""

    profile: str
    licences: tuple[str, ...]
    rules: tuple[AppliedRule, ...]
    obligations: tuple[Obligation, ...]
    sampled: tuple[str, ...] = SAMPLED

    @property
    def proved(self) -> bool:
        """Whether every rule that was applied is proved."""
        return all(r.ruling.verdict == "proved" for r in self.rules)

    def __str__(self) -> str:
        return "\n".join(
            [
                f"profile {self.profile}, licences: {', '.join(self.licences) or 'none'}",
                *_section("rules applied", [f"{r.id} × {r.count}: {r.ruling.verdict}" for r in self.rules]),
                *_section("obligations, all discharged", [str(o) for o in self.obligations]),
                *_section("sampled only", list(self.sampled)),
            ]
        )


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines or ["none"])]


def certified(
    profile: str,
    licences: Sequence[str],
    applied: Mapping[str, int],
    discharged: Sequence[Obligation],
) -> Certificate:
    """The certificate of a program; the rulings are what the court says now."""
    rules = tuple(AppliedRule(r, n, evidence.ruling(r)) for r, n in sorted(applied.items()))
    return Certificate(profile, tuple(licences), rules, tuple(discharged))
