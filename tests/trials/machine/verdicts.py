"""
What the machine says of a small program
========================================

Its hazards, without the reports that a user gets: those cost a second run and more.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from soundline.spec.errors import SoundlineError
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.machine.algebras import Tokens
from soundline.spec.spork.machine.events import Event
from soundline.spec.spork.machine.transitions import Machine
from soundline.spec.spork.machine.unfolding import unfold
from soundline.spec.spork.readings.sequential import reduction
from soundline.spec.spork.synchronization.visibility import Hazard, Policy


class NoRun(StrEnum):
    """Why a program has nothing to judge."""

    unlawful = "against the static law"
    meaningless = "without a sequential reading"


def lawful(proc: Proc) -> tuple[Event, ...] | NoRun:
    """The events of a program that means something; else what is wrong with it."""
    try:
        events = tuple(unfold(proc, {}))
        tokens = Tokens()
        reduction(events, tokens, lambda buffer: [tokens.unknown(str(e)) for e in buffer.elements])
    except SoundlineError as error:
        return NoRun.meaningless if str(error.rule).startswith("seq-") else NoRun.unlawful
    return events


def hazards(events: Iterable[Event], policy: Policy = Policy.temporal) -> tuple[Hazard, ...]:
    """What the abstract machine finds."""
    machine = Machine(policy, forgets=True)
    found: list[Hazard] = []
    for event in events:
        found += machine.step(event, event.place.path)
        if machine.stuck:
            break
    return tuple(found)


def accepts(proc: Proc) -> bool:
    """Whether a program means something, and the machine accepts it."""
    events = lawful(proc)
    return not isinstance(events, NoRun) and not hazards(events)
