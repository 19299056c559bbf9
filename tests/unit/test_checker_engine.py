"""The engine of the fast checker, against the literal machine and against itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from trials.checker.written_out import Writer
from trials.machine.generator import drawn

from soundline.impl.spork.checker import plan as p
from soundline.impl.spork.checker.engine import Engine
from soundline.spec import abstract_machine
from soundline.spec.dtypes import float32
from soundline.spec.errors import OutOfMemoryError, SoundlineError
from soundline.spec.ops.node import Op
from soundline.spec.spork.diagnosis.causes import concerning, replayed
from soundline.spec.spork.language.expressions import Const
from soundline.spec.spork.language.statements import Assign
from soundline.spec.spork.language.expressions import Name
from soundline.spec.spork.library.memories import CudaSmemLinear
from soundline.spec.spork.machine.events import Action, Event
from soundline.spec.spork.machine.transitions import Machine
from soundline.spec.spork.machine.unfolding import unfold
from soundline.spec.spork.synchronization.barriers import BarrierType, QueueId
from soundline.spec.spork.synchronization.timelines import CP_RAM, IO_RAM, T2S_RAM, InstrTl, sync_tl
from soundline.spec.spork.synchronization.visibility import Kind, Policy

# Against the literal machine --------------------------------------------------------------------------------------


def literal(events: Sequence[Event], policy: Policy) -> tuple[Any, ...]:
    """Events and accesses, then each finding with its count, first event, first cell and text, as `judge` has them."""
    machine = Machine(policy, forgets=True)
    sightings: dict[Any, Any] = {}
    accesses, number = 0, -1
    for number, event in enumerate(events):
        hazards = machine.step(event, event.place.path)
        for key, hazard in dict.fromkeys((abstract_machine._key(h), abstract_machine._located(h)) for h in hazards):
            sightings.setdefault(key, [0, number, hazard.location, hazard.given])[0] += 1
        if isinstance(event, Action):
            accesses += sum(len(touch.elements) for touch in event.touches)
        if machine.stuck:
            break
    return number + 1, accesses, [(key, *found) for key, found in sightings.items()]


def fast(writer: Writer, plan: p.Plan, policy: Policy) -> tuple[Any, ...]:
    """The same of the engine."""
    out = Engine(plan, policy).run()
    places = [getattr(node, "place", None) for node in p.nodes(plan.root)]
    barriers = {made.number: name for name, made in writer.barriers.items()}
    found = []
    for s in out.sightings:
        if s.array is not None:
            cells = writer.elements[s.array][s.element].cells
            location: Any = cells[s.cell % (1 << 40) % len(cells)]
        else:
            assert s.queue is not None
            location = QueueId(barriers[s.queue[0]], *s.queue[1:])
        key = s.rule, places[s.later.node].path, s.earlier
        found.append((key, s.count, s.later.event, location, s.given))
    return out.events, out.accesses, found


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
    for seed, proc, events in programs(range(120)):
        writer = Writer(events)
        plan = writer.plan(proc, {})
        expected = literal(events, policy)
        assert fast(writer, plan, policy) == expected, seed
        hazards += len(expected[2])
    assert hazards > 100


def test_traces_have_all_that_concerns_a_cell() -> None:
    """Replayed alone, a trace has the hazard with the same records: sets, threads, events."""
    count = 0
    for seed, proc, events in programs(range(200, 260)):
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
    assert count > 40


def _records(hazards: Sequence[Any]) -> set[Any]:
    return {
        (h.id, h.threads, h.record.where, h.record.async_set, h.record.sync_set) for h in hazards if h.record
    }


# Periods ----------------------------------------------------------------------------------------------------------

K = p.Var(0, "k")
STATEMENT = Assign(Name("x"), Const(0))
RING = 3


def modulo(of: p.Term, by: int) -> p.Term:
    """A term under ``mod``."""
    return p.Applied(Op.Mod, (of, by))


class Ring:
    """Random bodies of a loop over slots of a ring, with barriers that are right or wrong."""

    def __init__(self, seed: int) -> None:
        self.random = Random(f"ring {seed}")
        self.position = 0

    def placed(self, lo: int, hi: int) -> p.Placed:
        self.position += 1
        who = p.Threads(((lo, hi),))
        return p.Placed((0, 0, self.position), STATEMENT, who, InstrTl.cuda_in_order)

    def slot(self) -> p.Term:
        return modulo(p.Applied(Op.Add, (K, self.random.randrange(3))), RING)

    def touch(self, kind: Kind) -> p.Touch:
        pair = self.random.choice((IO_RAM, IO_RAM, CP_RAM, T2S_RAM))
        first: p.Term = p.Applied(Op.Mul, (self.slot(), 8))
        if self.random.random() < 0.2:
            first = 8 * RING
        region = p.Region(0, first, ((self.random.choice((1, 4, 8)), 1),))
        return p.Touch("x", kind, pair, (region,), self.random.random() < 0.3, self.random.random() < 0.5)

    def queue(self, reverse: bool = False) -> p.Queue:
        at = (modulo(K, RING),) if self.random.random() < 0.7 else (0,)
        return p.Queue(self.random.randrange(2), at, reverse)

    def node(self) -> p.Node:
        threads = self.random.choice(((0, 32), (0, 64), (32, 64), (5, 6), (0, 1)))
        place = self.placed(*threads)
        draw = self.random.random()
        if draw < 0.4:
            kinds = self.random.choice(((Kind.read,), (Kind.write,), (Kind.read, Kind.write), (Kind.atomic,)))
            trailing = (self.queue(),) if self.random.random() < 0.2 else ()
            return p.Action(place, tuple(map(self.touch, kinds)), trailing, len(kinds))
        if draw < 0.55:
            sides = ("cuda_in_order", "Sm80_generic", "cuda_generic_and_async_proxy", "cuda_temporal")
            return p.Fence(place, *(sync_tl(self.random.choice(sides)) for _ in range(2)))
        reverse = self.random.random() < 0.3
        queue, kind = self.queue(reverse), BarrierType.CudaMbarrier
        if draw < 0.75:
            first = self.random.choice(("cuda_in_order", "Sm80_cp_async", "tma_to_smem_async"))
            return p.Arrive(place, sync_tl(first), (queue,), kind)
        second = sync_tl(self.random.choice(("cuda_in_order", "Sm80_generic", "cuda_generic_and_async_proxy")))
        lag = self.random.choice((~0, ~1, ~2, 0, 1))
        return p.Await(place, queue, second, lag, kind)

    def body(self) -> tuple[p.Node, ...]:
        found = [self.node() for _ in range(self.random.randrange(2, 9))]
        return tuple(
            p.If(p.Applied(Op.CmpLt, (K, 7)), p.Block((n,)), p.Block()) if self.random.random() < 0.15 else n
            for n in found
        )

    def plan(self, period: int | None, count: int) -> p.Plan:
        loop = p.For(self.placed(0, 64), "seq", K, 0, count, p.Block(self.body()), False, period, (7,))
        memory = CudaSmemLinear
        array = p.Array(0, "x", float32, (8 * RING + 8,), memory, (p.Threads(((0, 64),)),), IO_RAM)
        barriers = tuple(
            p.Barriers(k, f"bar{k}", BarrierType.CudaMbarrier, self.random.choice((None, 1, 2, 3))) for k in range(2)
        )
        place, after = self.placed(0, 64), self.placed(0, 64)
        last = replace(self.node(), place=after)
        around = p.Block(
            (
                *(p.BarrierAlloc(place, k) for k in range(2)),
                p.Alloc(place, 0),
                loop,
                last,
                p.Free(place, 0),
                *(p.BarrierFree(place, k) for k in (1, 0)),
            )
        )
        task = p.For(replace(place, threads=None), "tasks", p.Var(1, "t"), 0, 2, around, True)
        launch = p.Launch(replace(place, threads=None), 64, 1, 4, p.Block((task,)))
        return p.Plan(None, {}, p.Block((launch,)), (array,), barriers, 2)  # type: ignore[arg-type]


def summary(engine: Engine) -> tuple[Any, ...]:
    """What a run gives, but for when it was, which repetitions that are not run change."""
    out = engine.run()
    return out.events, out.accesses, [replace(s, later=replace(s.later, event=0)) for s in out.sightings]


def test_repetitions_that_are_counted_are_those_that_would_be_run() -> None:
    skipped = hazards = 0
    for seed in range(400):
        count = Random(seed).choice((20, 41, 90, 200))
        whole, periodic = (Engine(Ring(seed).plan(period, count)) for period in (None, RING))
        expected = summary(whole)
        assert summary(periodic) == expected, seed
        skipped += periodic.statistics["skipped"] > 0
        hazards += bool(expected[2])
    assert skipped > 80
    assert hazards > 80
