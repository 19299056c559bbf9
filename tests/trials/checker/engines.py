"""
The engine and the literal machine
==================================

What both say of one run, in one form: events and accesses, then each finding with its count, the number of its first
event, its first location and its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from soundline.impl.spork.checker.engine import Engine
from soundline.impl.spork.checker.planning import plan as p
from soundline.spec import abstract_machine
from soundline.spec.spork.machine.events import Action, Event
from soundline.spec.spork.machine.transitions import Machine
from soundline.spec.spork.synchronization.barriers import QueueId
from soundline.spec.spork.synchronization.visibility import Policy
from trials.checker.written_out import Writer


def literal(events: Sequence[Event], policy: Policy) -> tuple[Any, ...]:
    """Events and accesses, then each finding with its count, first event, first cell and text, as `judge` has them."""
    machine = Machine(policy, forgets=True)
    sightings: dict[Any, Any] = {}
    accesses, number = 0, -1
    for number, event in enumerate(events):
        hazards = machine.step(event, event.place.path)
        for key, hazard in dict.fromkeys(
            (abstract_machine._key(h), abstract_machine._located(h)) for h in hazards
        ):
            sightings.setdefault(key, [0, number, hazard.location, hazard.given])[0] += 1
        if isinstance(event, Action):
            accesses += sum(len(touch.elements) for touch in event.touches)
        if machine.stuck:
            break
    return number + 1, accesses, [(key, *found) for key, found in sightings.items()]


def fast(writer: Writer, plan: p.Plan, policy: Policy) -> tuple[Any, ...]:
    """The same of the engine."""
    out = Engine(plan, policy).run()
    nodes = list(p.nodes(plan.root))
    barriers = {made.number: name for name, made in writer.barriers.items()}
    found = []
    for s in out.sightings:
        if s.array is not None:
            cells = writer.elements[s.array][s.element].cells
            location: Any = cells[s.cell % (1 << 40) % len(cells)]
        else:
            assert s.queue is not None
            location = QueueId(barriers[s.queue[0]], *s.queue[1:])
        place: p.Placed = nodes[s.later.node].place  # type: ignore[union-attr]
        key = s.rule, place.path, s.earlier
        found.append((key, s.count, s.later.event, location, s.given))
    return out.events, out.accesses, found
