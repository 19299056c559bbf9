"""
The abstract machine
====================

`check` runs a program at given sizes on the abstract machine: the events of the run (`unfolding`) go through the
machine one after another (`transitions`), and what it finds is the verdict. A program without hazards has the same
meaning in the sequential and in the parallel reading. This claim is itself tested (S-10).

All hazards are collected. Those between the same two statements with the same id are one finding, which is the first
of them and says how many there are. Findings are in the order of the run. The first hazard may cause later ones,
because the run continues as if the access had been allowed; only an await that never returns ends it.

The run is made twice if there are findings. The first run records only the statement of each access. The second run
looks only at the locations of the findings, and records everything there (`spec.spork.diagnosis.causes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from soundline.spec.spork.diagnosis.causes import concerning
from soundline.spec.spork.diagnosis.findings import Found, of_cell, of_queue
from soundline.spec.spork.diagnosis.reports import Finding, Redundant
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.machine.events import Action, Cell, Event
from soundline.spec.spork.machine.transitions import Machine
from soundline.spec.spork.machine.unfolding import unfold
from soundline.spec.spork.synchronization.barriers import QueueId
from soundline.spec.spork.synchronization.visibility import Hazard, Policy, Where


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of the machine on a run."""

    findings: tuple[Finding, ...]
    events: int
    """The number of events of the run, up to an await that never returns if there is one."""
    accesses: int
    """The number of accesses to elements."""
    policy: Policy
    redundant: tuple[Redundant, ...] = ()
    """The synchronizations without which there is no hazard either, where somebody asked for them."""

    @property
    def ok(self) -> bool:
        """Whether there is no hazard."""
        return not self.findings

    def text(self, shown: Callable[[str], str] = str) -> str:
        """The verdict for a terminal."""
        events = "1 event" if self.events == 1 else f"{self.events} events"
        accesses = "1 access" if self.accesses == 1 else f"{self.accesses} accesses"
        run = f"{events}, {accesses}, policy {self.policy}"
        if self.ok:
            notes = (f"note: {note.report(shown)}" for note in self.redundant)
            return "\n\n".join([f"no hazards ({run})", *notes])
        count = "1 hazard" if len(self.findings) == 1 else f"{len(self.findings)} hazards"
        return "\n\n".join([*(finding.text(shown) for finding in self.findings), f"{count} ({run})"])

    def to_json(self) -> dict[str, Any]:
        """The verdict as a JSON object."""
        return {
            "verdict": "no hazards" if self.ok else "hazards",
            "policy": str(self.policy),
            "events": self.events,
            "accesses": self.accesses,
            "hazards": [finding.to_json() for finding in self.findings],
        }


def check(proc: Proc, sizes: Mapping[str, int | bool], *, policy: Policy = Policy.temporal) -> Verdict:
    """The verdict on a program at given sizes.

    Raises `SoundlineError` where the program breaks a static law, or the sizes do not fit it.
    """
    return judge(tuple(unfold(proc, sizes)), policy)


Key = tuple[str, Where, Where | None]
"""The key under which hazards are one finding: the id, the statement, and the earlier statement where there is one."""


@dataclass(slots=True)
class Sighting:
    """The first of the hazards of a finding, and how many there are."""

    hazard: Hazard
    number: int
    """The number of its event."""
    count: int = 0


def judge(events: Sequence[Event], policy: Policy = Policy.temporal) -> Verdict:
    """The verdict on a run."""
    machine = Machine(policy, forgets=True)
    sightings: dict[Key, Sighting] = {}
    accesses, number = 0, -1
    for number, event in enumerate(events):
        hazards = machine.step(event, event.place.path)
        for key, hazard in dict.fromkeys((_key(h), _located(h)) for h in hazards):
            sightings.setdefault(key, Sighting(hazard, number)).count += 1
        if isinstance(event, Action):
            accesses += sum(len(touch.elements) for touch in event.touches)
        if machine.stuck:
            break
    findings = tuple(_finding(events, Found(k[0], s.count, k[2]), s, policy) for k, s in sightings.items())
    return Verdict(findings, number + 1, accesses, policy)


def _key(hazard: Hazard) -> Key:
    return hazard.id, hazard.where, hazard.record.where if hazard.record is not None else None


def _located(hazard: Hazard) -> Hazard:
    """The hazard without the record, so that all records of one statement give one hazard."""
    return Hazard(hazard.id, hazard.location, hazard.where, given=hazard.given)


def _finding(events: Sequence[Event], found: Found, sighting: Sighting, policy: Policy) -> Finding:
    """Everything about a sighting, from the second run."""
    location = sighting.hazard.location
    if isinstance(location, QueueId):
        run = list(enumerate(events[: sighting.number + 1]))
        return of_queue(found, run, location, sighting.hazard.given)
    assert isinstance(location, Cell)
    return of_cell(found, concerning(events, location, sighting.number), location, policy)
