"""The engine of the fast checker, against the literal machine, without plans of programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from soundline.spec.spork.synchronization.timelines import (
    CP_RAM,
    IO_RAM,
    T2G_RAM,
    WG_A,
    WG_D,
    InstrTl,
    sync_tl,
)
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
    for seed in range(100 * (policy is Policy.strict), 60 + 100 * (policy is Policy.strict)):
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


TASK = (0, 0)
THREAD = frozenset({Thread(TASK, 0)})
QUEUES = tuple(QueueId((name, 0)) for name in ("one", "other"))
GROUP, RING = BarrierType.CudaCommitGroup, BarrierType.CudaMbarrier


def place(number: int, threads: frozenset[Thread] = THREAD) -> e.Place:
    """Where a statement stands."""
    return e.Place(STATEMENT, (number,), (), threads, InstrTl.cuda_in_order)


def hazards_of(
    rule: str, middle: Callable[[tuple[e.Element, ...]], Sequence[Event]], kind: BarrierType
) -> int:
    """How many findings of a rule there are, where a task of one thread does this; both machines have to agree."""
    soup = Soup(Random(0), task=TASK)
    buffer = soup.allocate(CudaRmem, THREAD, size=2)
    allocated = soup.events.pop()
    cpu = frozenset({CPU_THREAD})
    barriers = [e.BarrierAllocated(place(n), q.barrier, f"bar{n}", kind) for n, q in enumerate(QUEUES)]
    events = (
        *(e.Launched(place(20, cpu), 0, 64, 1), e.TaskBegan(place(21), TASK), *barriers, allocated),
        *middle(buffer.elements),
        *(e.Freed(allocated.place, buffer), e.TaskEnded(place(21), TASK), e.Ended(place(20, cpu), 0)),
    )
    writer = Writer(events)
    expected = literal(events, Policy.temporal)
    assert fast(writer, writer.plan(None, {}), Policy.temporal) == expected
    return sum(found[0][0] == rule for found in expected[2])


def test_an_await_that_waits_for_less_than_the_one_before_releases_less() -> None:
    """The stamp of the second group lies below the first bound, and not below the second one."""
    commit = e.Arrived(place(5), sync_tl("Sm80_cp_async"), QUEUES[:1], GROUP)
    nothing = e.Awaited(place(6), QUEUES[0], sync_tl("cuda_temporal"), 0, GROUP)
    one = e.Awaited(place(7), QUEUES[0], sync_tl("Sm80_generic"), 1, GROUP)

    def run(awaits: Sequence[Event]) -> int:
        def middle(cells: tuple[e.Element, ...]) -> Sequence[Event]:
            write = e.Action(place(4), (e.Touch("x", Kind.write, CP_RAM, cells, out_of_order=True),), ())
            read = e.Action(place(8), (e.Touch("x", Kind.read, IO_RAM, cells),), ())
            return commit, write, commit, *awaits, read

        return hazards_of("mach-read-raw", middle, GROUP)

    assert run([nothing, one]) == 1
    assert run([replace(one, n=0)]) == 0


@pytest.mark.parametrize(
    ("queues", "lag", "found"),
    [((0, 1), 0, 1), ((0, 0), 1, 1), ((0, 0), 0, 0), ((1, 1), 0, 0), ((1, 0), 0, 1)],
)
def test_a_read_is_not_released_with_another_of_its_statement(
    queues: tuple[int, int], lag: int, found: int
) -> None:
    """Two reads of one statement, each with the stamp of its own arrive; one await, of the last one's queue."""

    def middle(cells: tuple[e.Element, ...]) -> Sequence[Event]:
        events: list[Event] = []
        for q in queues:
            touch = e.Touch("x", Kind.read, T2G_RAM, cells, out_of_order=True)
            events.append(e.Action(place(4), (touch,), (), (QUEUES[q],)))
            events.append(e.Arrived(place(5), sync_tl("tma_to_gmem_async"), (QUEUES[q],), RING))
        last = e.Awaited(place(6), QUEUES[queues[1]], sync_tl("cuda_in_order"), lag, RING)
        return *events, last, e.Action(place(7), (e.Touch("x", Kind.write, IO_RAM, cells),), ())

    assert hazards_of("mach-write-war", middle, RING) == found


@pytest.mark.parametrize("flags", [(True, False), (False, True), (True, True), (False, False)])
def test_an_access_under_way_is_not_hidden_by_a_complete_one_of_its_statement(
    flags: tuple[bool, bool],
) -> None:
    def middle(cells: tuple[e.Element, ...]) -> Sequence[Event]:
        reads = [e.Action(place(4), (e.Touch("x", Kind.read, IO_RAM, cells, late),), ()) for late in flags]
        return *reads, e.Action(place(7), (e.Touch("x", Kind.write, IO_RAM, cells),), ())

    assert hazards_of("mach-write-war", middle, GROUP) == any(flags)


def test_a_synchronization_changes_a_history_once() -> None:
    """After the second fence the record of the first cell is as that of the other one was before it, which this fence
    changes again: to it, and not to the first, it gives wgmma's other role.
    """
    fence = e.Fenced(place(5), sync_tl("wgmma_async"), sync_tl("wgmma_fence_1"))

    def middle(cells: tuple[e.Element, ...]) -> Sequence[Event]:
        writes = [e.Action(place(4), (e.Touch("x", Kind.write, WG_D, (cells[k],)),), ()) for k in (1, 0)]
        reads = [e.Action(place(7 + k), (e.Touch("x", Kind.read, WG_A, (cells[k],)),), ()) for k in (0, 1)]
        return writes[0], fence, writes[1], fence, *reads

    assert hazards_of("mach-read-raw", middle, GROUP) == 1
