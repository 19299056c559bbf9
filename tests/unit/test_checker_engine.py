"""The engine of the fast checker, against the literal machine, without plans of programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from trials.checker.engines import fast, literal
from trials.checker.random_events import STATEMENT, Soup, random_events
from trials.checker.written_out import Writer
from trials.machine.generator import drawn

from soundline.impl.spork.checker.engine import Engine
from soundline.spec.errors import SoundlineError
from soundline.spec.spork.diagnosis.causes import concerning, replayed
from soundline.spec.spork.library.memories import CudaRmem
from soundline.spec.spork.machine import events as e
from soundline.spec.spork.machine.events import Event
from soundline.spec.spork.machine.unfolding import unfold
from soundline.spec.spork.synchronization.barriers import BarrierType, QueueId
from soundline.spec.spork.synchronization.timelines import CP_RAM, IO_RAM, InstrTl, sync_tl
from soundline.spec.spork.synchronization.visibility import CPU_THREAD, Kind, Policy, Thread


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
    for seed in range(100 * (policy is Policy.strict), 80 + 100 * (policy is Policy.strict)):
        events = random_events(seed)
        writer = Writer(events)
        expected = literal(events, policy)
        assert fast(writer, writer.plan(None, {}), policy) == expected, seed
        assert expected[2]


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


def test_an_await_that_waits_for_less_than_the_one_before_releases_less() -> None:
    """The stamp of the second group lies below the first bound, and not below the second one."""
    soup = Soup(Random(0))
    soup.task = (0, 0)
    thread = frozenset({Thread(soup.task, 0)})
    cpu = frozenset({CPU_THREAD})
    buffer = soup.allocate(CudaRmem, thread)
    allocated = soup.events.pop()
    queue, kind = QueueId(("bar", 0)), BarrierType.CudaCommitGroup
    place = [e.Place(STATEMENT, (n,), (), thread, InstrTl.cuda_in_order) for n in range(12)]
    touch = e.Touch("x", Kind.write, CP_RAM, buffer.elements[:1], out_of_order=True)
    commit = [e.Arrived(place[n], sync_tl("Sm80_cp_async"), (queue,), kind) for n in (3, 5)]
    awaits = [
        e.Awaited(place[6], queue, sync_tl("cuda_temporal"), 0, kind),
        e.Awaited(place[7], queue, sync_tl("Sm80_generic"), 1, kind),
    ]
    read = e.Action(place[8], (e.Touch("x", Kind.read, IO_RAM, buffer.elements[:1]),), ())
    for order, hazards in ((awaits, 1), ([replace(a, n=a.n - 1) for a in awaits[1:]], 0)):
        events = (
            e.Launched(replace(place[0], threads=cpu), 0, 64, 1),
            e.TaskBegan(place[0], soup.task),
            e.BarrierAllocated(place[1], queue.barrier, "bar", kind),
            allocated,
            commit[0],
            e.Action(place[4], (touch,), ()),
            commit[1],
            *order,
            read,
            e.Freed(allocated.place, buffer),
        )
        events = (*events, e.TaskEnded(place[0], soup.task), e.Ended(replace(place[0], threads=cpu), 0))
        writer = Writer(events)
        expected = literal(events, Policy.temporal)
        assert fast(writer, writer.plan(None, {}), Policy.temporal) == expected
        assert sum(found[0][0] == "mach-read-raw" for found in expected[2]) == hazards
