"""The engine of the fast checker, against the literal machine, without plans of programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from trials.checker.engines import fast, literal
from trials.checker.random_events import random_events
from trials.checker.written_out import Writer
from trials.machine.generator import drawn

from soundline.impl.spork.checker.engine import Engine
from soundline.spec.errors import SoundlineError
from soundline.spec.spork.diagnosis.causes import concerning, replayed
from soundline.spec.spork.machine.events import Event
from soundline.spec.spork.machine.unfolding import unfold
from soundline.spec.spork.synchronization.visibility import Policy


def programs(seeds: range) -> list[tuple[int, Any, tuple[Event, ...]]]:
    """The programs of some seeds that have a run, with their events."""
    found = []
    for seed in seeds:
        try:
            proc = drawn(seed).proc
            found.append((seed, proc, tuple(unfold(proc, {}))))
        except SoundlineError:
            continue
    return found


@pytest.mark.parametrize("policy", list(Policy))
def test_runs_are_those_of_the_literal_machine(policy: Policy) -> None:
    hazards = 0
    for seed, proc, events in programs(range(60)):
        writer = Writer(events)
        plan = writer.plan(proc, {})
        expected = literal(events, policy)
        assert fast(writer, plan, policy) == expected, seed
        hazards += len(expected[2])
    assert hazards > 50


@pytest.mark.parametrize("policy", list(Policy))
def test_runs_that_no_program_has_are_those_of_the_literal_machine(policy: Policy) -> None:
    for seed in range(6 * (policy is Policy.strict), 6 + 6 * (policy is Policy.strict)):
        events = random_events(seed)
        writer = Writer(events)
        expected = literal(events, policy)
        assert fast(writer, writer.plan(None, {}), policy) == expected, seed
        assert len(expected[2]) > 10


def test_traces_have_all_that_concerns_a_cell() -> None:
    """Replayed alone, a trace has the hazard with the same records: sets, threads, events."""
    count = 0
    for seed, proc, events in programs(range(200, 240)):
        plan = Writer(events).plan(proc, {})
        engine = Engine(plan)
        sightings = [s for s in engine.run().sightings if s.array is not None]
        cells = {(k[0], k[1], k[2]): at for k, _, _, at, _ in literal(events, Policy.temporal)[2]}
        for s, trace in zip(sightings, engine.traces(sightings) if sightings else [], strict=True):
            cell = cells[s.rule, events[s.later.event].place.path, s.earlier]
            before = sorted({t.at.event for each in trace.last.values() for t in each})
            run = [(n, events[n]) for n in (*before, *(t.at.event for t in trace.events))]
            whole = concerning(events, cell, s.later.event)
            assert _records(replayed(run, cell, Policy.temporal)) == _records(
                replayed(whole, cell, Policy.temporal)
            ), seed
            assert len(run) <= len(whole)
            count += 1
    assert count > 25


def _records(hazards: Sequence[Any]) -> set[Any]:
    return {
        (h.id, h.threads, h.record.where, h.record.async_set, h.record.sync_set) for h in hazards if h.record
    }
