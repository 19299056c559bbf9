"""
What the court has found so far
===============================

Totals over the entries of the ledger: how many programs of which kind, how many hazardous, how many in which threads
communicate asynchronously, which hazards were shown to be hazards, and how many refusals showed nothing, with reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from soundline.spec.spork.synchronization.barriers import COUNTER_CONSTRAINTS
from soundline.spec.spork.synchronization.visibility import HAZARDS
from trials.ledger import Entry
from trials.machine.judge import BAD, JUDGED, Outcome

SCHEMA = 1
CLASSES = (*HAZARDS, *COUNTER_CONSTRAINTS)
"""The ids of the hazards."""
BY_SCOPE = frozenset(
    ("mach-use-before-alloc", "mach-use-after-free", "mach-alloc-live", "mach-free-dead", "mach-free-owner")
)
"""The hazards that no well-formed program has, for names are in scope exactly while their storage lives."""


@dataclass(slots=True)
class Totals:
    """Sums over entries."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    """By hazard, the programs that have it."""
    witnessed: Counter[str] = field(default_factory=Counter)
    """By hazard, the programs that an interleaving gets wrong and that have no other; see `machine_judge.shown`."""
    reasons: Counter[str] = field(default_factory=Counter)
    communicating: int = 0
    exhausted: int = 0
    schedules: int = 0
    milliseconds: int = 0
    bad: list[int] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        """One more program."""
        outcome = Outcome[entry.outcome]
        self.outcomes[outcome] += 1
        if outcome not in JUDGED:
            return
        self.kinds[entry.kind] += 1
        self.refused.update(entry.ids)
        self.witnessed.update(entry.witnessed)
        self.communicating += entry.communicates
        self.exhausted += entry.exhaustive or outcome is Outcome.wrong
        self.schedules += entry.schedules
        self.milliseconds += entry.milliseconds
        if entry.reason:
            self.reasons[entry.reason] += 1
        if outcome in BAD:
            self.bad.append(entry.seed)

    @property
    def judged(self) -> int:
        """The programs that the machine had to decide."""
        return sum(n for o, n in self.outcomes.items() if o in JUDGED)

    @property
    def hazardous(self) -> int:
        """Those that it refuses."""
        return self.judged - self.outcomes[Outcome.right] - self.outcomes[Outcome.disagreement]

    def share(self, count: int) -> float:
        """A count in relation to all."""
        return round(count / self.judged, 4) if self.judged else 0.0

    def as_json(self) -> dict[str, Any]:
        """The totals as groups of a JSON object."""
        refusals = self.outcomes[Outcome.wrong] + self.outcomes[Outcome.unobserved]
        return {
            "programs": {
                "judged": self.judged,
                "accepted": self.outcomes[Outcome.right] + self.outcomes[Outcome.disagreement],
                "refused": self.hazardous,
                "accepted_though_wrong": self.outcomes[Outcome.disagreement],
                "refused_though_correct_by_construction": self.outcomes[Outcome.refused],
                "hazardous_share": self.share(self.hazardous),
                "communicating_asynchronously_share": self.share(self.communicating),
                "settled_share": self.share(self.exhausted),
                "interleavings": self.schedules,
                "seconds": round(self.milliseconds / 1000),
                "left_out_against_the_static_law": self.outcomes[Outcome.unlawful],
                "left_out_without_a_sequential_reading": self.outcomes[Outcome.meaningless],
                "unobservable_share_of_refusals": round(self.outcomes[Outcome.unobserved] / refusals, 4)
                if refusals
                else 0.0,
            },
            "hazards": {
                name: {"refused": self.refused[name], "shown_wrong": self.witnessed[name]}
                for name in CLASSES
                if name not in BY_SCOPE
            },
            "refusals_that_show_nothing": dict(self.reasons.most_common()),
            "kinds_of_programs": dict(sorted(self.kinds.items())),
        }


def totals(entries: Iterable[Entry]) -> Totals:
    """The sums over some entries."""
    found = Totals()
    for entry in entries:
        found.add(entry)
    return found


def show(found: Totals, console: Console) -> None:
    """Print the totals."""
    table = Table(box=None, pad_edge=False)
    table.add_column("what became of them")
    table.add_column("programs", justify="right")
    for outcome in Outcome:
        if found.outcomes[outcome]:
            table.add_row(str(outcome), f"{found.outcomes[outcome]:,}")
    console.print(table)
    table = Table(box=None, pad_edge=False)
    for name in ("hazard", "refused", "shown wrong"):
        table.add_column(name, justify="left" if name == "hazard" else "right")
    for name in CLASSES:
        if name not in BY_SCOPE:
            table.add_row(name, f"{found.refused[name]:,}", f"{found.witnessed[name]:,}")
    console.print(table)
    for reason, count in found.reasons.most_common():
        console.print(f"{count:>6,} {reason}", highlight=False)
    console.print(
        f"{found.judged:,} programs judged, {100 * found.share(found.hazardous):.0f} % hazardous, in "
        f"{100 * found.share(found.communicating):.0f} % threads communicate asynchronously; {found.schedules:,} "
        f"interleavings; {len(found.bad)} disagreements",
        highlight=False,
        soft_wrap=True,
    )
