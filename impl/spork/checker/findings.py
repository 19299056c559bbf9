"""
Findings
========

What the sightings of the engine are, said as the abstract machine says it. Each is looked at again, at its cell alone:
the engine traces the events that concern it, `replaying` makes them events of the law, and the law says which record is
not seen, which synchronization almost orders the two accesses, and what would (`spec.spork.diagnosis.findings`).

What the second look takes depends on how many events concern one cell, not on the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from soundline.impl.spork.checker.engine import Engine
from soundline.impl.spork.checker.planning.plan import Plan, Sighting, Trace
from soundline.impl.spork.checker.replaying import CELL, Replayer
from soundline.spec.spork.diagnosis.findings import Found, of_cell, of_queue
from soundline.spec.spork.diagnosis.reports import Finding


@dataclass(slots=True)
class Findings:
    """Makes findings of what an engine has seen."""

    engine: Engine
    whole: Plan
    """The plan before it was reduced."""
    replayer: Replayer = field(init=False)

    def __post_init__(self) -> None:
        self.replayer = Replayer(self.engine.plan, self.whole)

    def of(self, sightings: Sequence[Sighting]) -> tuple[Finding, ...]:
        """The findings, in the same order."""
        traces = self.engine.traces(sightings) if sightings else []
        made = (self.of_cell if s.queue is None else self.of_queue for s in sightings)
        return tuple(make(s, trace) for make, s, trace in zip(made, sightings, traces, strict=True))

    def of_cell(self, sighting: Sighting, trace: Trace) -> Finding:
        """A finding at a cell."""
        assert sighting.array is not None
        run = self.replayer.run(trace, (sighting.array, sighting.element))
        found = Found(sighting.rule, sighting.count, sighting.earlier)
        return of_cell(found, run, CELL, self.engine.policy)

    def of_queue(self, sighting: Sighting, trace: Trace) -> Finding:
        """A finding of the counters of a queue. Of a long run it has the last events there."""
        assert sighting.queue is not None
        last = replace(trace, last={sighting.queue: trace.last.get(sighting.queue, ())})
        run = self.replayer.run(last)
        name = self.replayer.queue_of(sighting.queue, sighting.later.values)
        return of_queue(Found(sighting.rule, sighting.count), run, name, sighting.given)
