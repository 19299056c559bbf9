"""
The judge
=========

What becomes of one program before the court (S-10). The machine accepts it: then every interleaving of the parallel
reading has to end in the sequential result, and none may wait for ever. The machine refuses it: then a wrong
interleaving is looked for, which shows that the hazard is one; where there is none, the reason is noted.

An interleaving is wrong where it ends in another result, reads what nobody wrote, or does not end.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from soundline.spec.spork.machine.events import Action, Event
from soundline.spec.spork.readings.parallel import Exploration, outcomes, sample
from soundline.spec.spork.synchronization.visibility import Hazard, Kind
from trials.ledger import Entry
from trials.machine.generator import Drawn
from trials.machine.reasons import IN_ORDER, reason
from trials.machine.verdicts import NoRun, hazards, lawful

RUNS, SAMPLED, CROSSED = 600, 150, 4
"""How many interleavings are tried one after another, how many at random where these were not all, and how many at
random to see whether "all" was right.
"""


class Outcome(StrEnum):
    """What becomes of a program."""

    right = "accepted, and right in every interleaving"
    wrong = "refused, and wrong in some interleaving"
    unobserved = "refused, though no interleaving is wrong"
    disagreement = "accepted, though some interleaving is wrong"
    refused = "refused, though correct by construction"
    unlawful = NoRun.unlawful.value
    meaningless = NoRun.meaningless.value


JUDGED = frozenset(Outcome) - {Outcome.unlawful, Outcome.meaningless}
"""The outcomes of programs that the machine had to decide."""
BAD = frozenset({Outcome.disagreement, Outcome.refused})
"""The outcomes that must not be."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found of a program."""

    entry: Entry
    hazards: tuple[Hazard, ...] = ()
    exploration: Exploration | None = None

    @property
    def outcome(self) -> Outcome:
        """What becomes of it."""
        return Outcome[self.entry.outcome]

    @property
    def schedule(self) -> str:
        """A wrong interleaving to read."""
        if self.exploration is None or not self.exploration.wrong:
            return ""
        wrong = self.exploration.wrong[0]
        differs = [
            f"{name} is {found}, not {expected}"
            for (name, expected), (_, found) in zip(self.exploration.expected, wrong.result, strict=True)
            if expected != found
        ]
        junk = ["reads what nobody wrote"] if wrong.junk else []
        ends = [*(f"waits for ever: {who}" for who in wrong.deadlock), *differs, *junk]
        return "\n".join([str(wrong.witness), *(ends or ["ends in other values, deeper than is told"])])


def interleavings(
    events: Sequence[Event], seed: int = 0, runs: int = RUNS, sampled: int = SAMPLED
) -> Exploration:
    """All interleavings where they are few, else some; none after the first wrong one."""
    found = outcomes(events, limit=runs, stop=True)
    if found.wrong:
        return found
    drawn = sample(events, seed, CROSSED if found.complete else sampled, stop=True)
    if found.complete and not drawn.wrong:
        return found
    every = dict.fromkeys((*found.outcomes, *drawn.outcomes))
    return Exploration(found.expected, tuple(every), found.schedules + drawn.schedules, False)


def judge(drawn: Drawn, *, runs: int = RUNS, sampled: int = SAMPLED) -> Judgement:
    """What becomes of a program."""
    began = time.process_time()
    events = lawful(drawn.proc)
    if isinstance(events, NoRun):
        return Judgement(Entry(drawn.seed, drawn.kind, drawn.changes, events.name))
    found = hazards(events)
    explored = interleavings(events, drawn.seed, runs, sampled)
    ids = tuple(sorted({h.id for h in found}))
    outcome = _outcome(drawn, bool(found), bool(explored.wrong))
    entry = Entry(
        drawn.seed,
        drawn.kind,
        drawn.changes,
        outcome.name,
        ids,
        reason(events, found, complete=explored.complete) if outcome is Outcome.unobserved else "",
        communicates(events),
        explored.complete,
        explored.schedules,
        shown(found) if found and explored.wrong else (),
        round(1000 * (time.process_time() - began)),
    )
    return Judgement(entry, found, explored)


def _outcome(drawn: Drawn, hazardous: bool, wrong: bool) -> Outcome:
    if not hazardous:
        return Outcome.disagreement if wrong else Outcome.right
    if drawn.correct:
        return Outcome.refused
    return Outcome.wrong if wrong else Outcome.unobserved


def shown(found: Sequence[Hazard]) -> tuple[str, ...]:
    """The hazard that a wrong interleaving shows: that of a program with one alone, or an end of storage or of a
    barrier that comes first, for what uses the bytes or the barrier again then has hazards as well.
    """
    first = found[0].id
    leads = first.startswith("mach-free") or first == "mach-barrier-unequal"
    return (first,) if leads or len({h.id for h in found}) == 1 else ()


def communicates(events: Iterable[Event]) -> bool:
    """Whether two threads communicate through an asynchronous operation: both use a cell, one of them writes it, and
    one of them uses it asynchronously.
    """
    uses: dict[object, set[tuple[object, bool, bool]]] = {}
    for event in events:
        if isinstance(event, Action):
            late = event.place.instr_tl not in IN_ORDER
            for touch in event.touches:
                for cell in (c for e in touch.elements for c in e.cells):
                    for thread in touch.threads(event.place):
                        uses.setdefault(cell, set()).add((thread, touch.kind is not Kind.read, late))
    return any(_meets(found) for found in uses.values())


def _meets(uses: set[tuple[object, bool, bool]]) -> bool:
    return any(a[0] != b[0] and (a[1] or b[1]) and (a[2] or b[2]) for a in uses for b in uses if a is not b)
