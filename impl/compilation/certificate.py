"""
Certificates
============

What a compiled program rests on, step by step (`derivation`): which steps are proved, checked for this program, sampled
by tests, or trusted; which conditions were checked and how; and under which licences the program was built. A program
is *proved* only if all of its steps are proved or checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from soundline.impl.compilation.derivation import CERTAIN, SAMPLED, AppliedRule, Derived
from soundline.impl.lower.graphs.obligations import Obligation

__all__ = ["AppliedRule", "Certificate", "Derived"]


@dataclass(frozen=True, slots=True)
class Certificate:
    """The evidence for one compiled program."""

    profile: str
    licences: tuple[str, ...]
    rules: tuple[AppliedRule, ...]
    obligations: tuple[Obligation, ...]
    steps: tuple[Derived, ...]
    """Every step of the compilation, in order, and what it rests on."""
    promised: tuple[str, ...] = ()
    """Guaranteed bounds of the error of the results, and relative to what."""
    trusted: tuple[str, ...] = ()
    """The custom functions that it calls; these are not checked."""
    called: tuple[tuple[str, Certificate], ...] = ()
    """The compiled programs that it calls, by name, with their certificates."""

    @property
    def proved(self) -> bool:
        """Whether every step is proved or was checked for this program, in called programs too.

        Some passes of lowering are only sampled, so no compiled program is proved as a whole today.
        """
        own = all(s.status in CERTAIN for s in self.steps)
        return own and not self.trusted and all(certificate.proved for _, certificate in self.called)

    @property
    def rules_proved(self) -> bool:
        """Whether every applied rule and every application of a procedure is proved."""
        own = all(r.ruling.verdict == "proved" for r in self.rules)
        return own and all(certificate.rules_proved for _, certificate in self.called)

    @property
    def sampled(self) -> tuple[str, ...]:
        """The steps that are only sampled."""
        return tuple(f"{s.stage}: {s.what}" for s in self.steps if s.status == SAMPLED)

    @property
    def counts(self) -> dict[str, int]:
        """How many steps are proved, checked, sampled and trusted; and of other verdicts, if there are any."""
        found = Counter(s.status for s in self.steps)
        return {
            status: found.pop(status, 0) for status in ("proved", "checked", "sampled", "trusted")
        } | found

    def __str__(self) -> str:
        return "\n".join(
            [
                f"profile {self.profile}, licences: {', '.join(self.licences) or 'none'}",
                f"proved as a whole: {'yes' if self.proved else 'no'} ({self._counted()})",
                *(_section("promised of the results", list(self.promised)) if self.promised else []),
                *_section("steps, in order", [str(s) for s in self.steps]),
                *_section("rules applied", [str(r) for r in self.rules]),
                *_section("obligations, all discharged", [str(o) for o in self.obligations]),
                *(_section("taken on trust: custom functions", list(self.trusted)) if self.trusted else []),
                *(f"calls {name}:\n{certificate}" for name, certificate in self.called),
            ]
        )

    def _counted(self) -> str:
        steps = "steps" if len(self.steps) != 1 else "step"
        told = ", ".join(f"{count} {status}" for status, count in self.counts.items() if count)
        return f"of {len(self.steps)} {steps} {told}"

    def _repr_html_(self) -> str:
        """A table of the steps, and the rest as text; a notebook shows it."""
        rows = "".join(
            f"<tr><td>{escape(s.stage)}</td><td>{escape(s.what)}</td><td>{escape(s.status)}</td></tr>"
            for s in self.steps
        )
        head = "<tr><th>stage</th><th>step</th><th>status</th></tr>"
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
        yield "steps", self.counts
        yield "proved", self.proved


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines or ["none"])]
