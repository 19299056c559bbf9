"""
The score of the tests
======================

The share of mutants that were noticed, for each target and in total. Mutants that nothing can notice count neither for
nor against; a target whose tests fail without a mutant fails the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from trials.mutation.campaign import Tally
from trials.mutation.judged import judgement
from trials.mutation.outcomes import Outcome

SCHEMA = 1
FEW = 20
"""Below so many mutants the share of those that were noticed is chance."""


@dataclass(frozen=True, slots=True)
class Score:
    """The counts of some mutants, and the share that was noticed."""

    possible: int
    tried: int
    killed: int
    timeout: int
    survived: int
    excused: int
    """Judged to be no fault of the tests, or, of a rule, another true rule."""

    @property
    def share(self) -> float | None:
        """Noticed among those that could be noticed; None where there was none."""
        counted = self.killed + self.timeout + self.survived
        return (self.killed + self.timeout) / counted if counted else None

    @property
    def percent(self) -> str:
        """The share for people."""
        return "—" if self.share is None else f"{100 * self.share:.1f} %"

    def as_json(self) -> dict[str, Any]:
        """The counts and the share."""
        share = None if self.share is None else round(self.share, 4)
        return {name: getattr(self, name) for name in _COUNTS} | {"score": share}


_COUNTS = ("possible", "tried", "killed", "timeout", "survived", "excused")


def survivors(tally: Tally) -> list[Outcome]:
    """The mutants that nothing noticed and nobody excused, by line."""
    alive = [o for o in tally.outcomes if o.status == "survived" and not excuse(tally.path, o)]
    return sorted(alive, key=lambda o: (o.line, o.after))


def excuse(path: str, outcome: Outcome) -> str | None:
    """Why a mutant that was not noticed is no fault of the tests, if it is none."""
    if outcome.status == "true":
        return outcome.killer
    return judgement(path, outcome.before, outcome.after) if outcome.status == "survived" else None


def score_of(*tallies: Tally) -> Score:
    """The score of some targets together."""
    outcomes = [(t, o) for t in tallies for o in t.outcomes]
    excused = sum(excuse(t.path, o) is not None for t, o in outcomes)
    survived = sum(len(survivors(t)) for t in tallies)
    killed, timeout = (sum(t.count(s) for t in tallies) for s in ("killed", "timeout"))
    possible = sum(t.possible for t in tallies)
    return Score(possible, len(outcomes), killed, timeout, survived, excused)


def succeeds(tallies: list[Tally], threshold: float) -> bool:
    """Whether enough mutants were noticed, and every target could be measured. A handful shows nothing either way."""
    found = score_of(*tallies)
    if any(t.broken for t in tallies) or found.share is None:
        return False
    return found.share >= threshold or found.tried < min(FEW, found.possible)


def as_json(tallies: list[Tally], *, threshold: float, command: str, seed: int) -> dict[str, Any]:
    """The result as it is kept: without dates, so that it changes only with what it tells."""
    measured = [t for t in tallies if t.outcomes or t.broken]
    return {
        "schema": SCHEMA,
        "command": command,
        "seed": seed,
        "threshold": threshold,
        "total": score_of(*tallies).as_json(),
        "targets": {
            t.path: score_of(t).as_json() | ({"broken": t.broken} if t.broken else {}) for t in measured
        },
        "survivors": [
            {"file": t.path, "line": o.line, "before": o.before, "after": o.after}
            for t in tallies
            for o in survivors(t)
        ],
    }


def show(tallies: list[Tally], console: Console, *, threshold: float) -> None:
    """The survivors as differences, then a table, then one line."""
    for tally in tallies:
        for outcome in survivors(tally):
            show_survivor(tally, outcome, console)
    table = Table(
        "target",
        *("mutants", "tried", "killed", "timed out", "survived", "excused", "score"),
        box=SIMPLE_HEAD,
    )
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    for tally in tallies:
        score = score_of(tally)
        numbers = (score.possible, score.tried, score.killed, score.timeout, score.survived, score.excused)
        table.add_row(tally.path, *map(str, numbers), "broken" if tally.broken else score.percent)
    console.print(table)
    for tally in tallies:
        if tally.broken:
            console.print(Text(f"{tally.path}: {tally.broken}", style="bold red"), soft_wrap=True)
    total = score_of(*tallies)
    line = f"{total.percent} of {total.tried - total.excused} mutants noticed, {100 * threshold:.0f} % are asked for"
    console.print(Text(line, style="bold"), soft_wrap=True)


def show_survivor(tally: Tally, outcome: Outcome, console: Console) -> None:
    """Where a mutant stands, what was changed, and for a rule what the prover said."""
    console.print(Text(f"{tally.path}:{outcome.line}: not noticed", style="bold"), soft_wrap=True)
    console.print(Text(f"  - {outcome.before}", style="red"), soft_wrap=True)
    console.print(Text(f"  + {outcome.after}", style="green"), soft_wrap=True)
    if outcome.killer:
        console.print(Text(f"  {outcome.killer}", style="dim"), soft_wrap=True)
