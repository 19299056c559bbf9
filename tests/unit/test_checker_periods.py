"""Repetitions, tasks and conditions in the engine of the fast checker, with plans made by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from soundline.impl.spork.checker.engine import Engine, TasksDiffer
from soundline.impl.spork.checker.planning import plan as p
from soundline.spec.dtypes import float32, index
from soundline.spec.errors import OutOfMemoryError
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Const, Name
from soundline.spec.spork.language.statements import Assign
from soundline.spec.spork.library.memories import CudaGmemLinear, CudaSmemLinear
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.timelines import CP_RAM, CPU, IO_RAM, T2S_RAM, InstrTl, sync_tl
from soundline.spec.spork.synchronization.visibility import Kind
from soundline.spec.values.elementwise import ELEMENTWISE

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
        second = sync_tl(
            self.random.choice(("cuda_in_order", "Sm80_generic", "cuda_generic_and_async_proxy"))
        )
        lag = self.random.choice((~0, ~1, ~2, 0, 1))
        return p.Await(place, queue, second, lag, kind)

    def body(self) -> tuple[p.Node, ...]:
        found = [self.node() for _ in range(self.random.randrange(2, 9))]
        return tuple(
            p.If(p.Applied(Op.CmpLt, (K, 7)), p.Block((n,)), p.Block()) if self.random.random() < 0.15 else n
            for n in found
        )

    def plan(self, period: int | None, count: int, outer: int = 0) -> p.Plan:
        """A loop, or several times the same one in a loop whose iterations are all alike."""
        loop = p.For(self.placed(0, 64), "seq", K, 0, count, p.Block(self.body()), False, period, (7,))
        if outer:
            body = p.Block((loop, *(self.node() for _ in range(self.random.randrange(2)))))
            every = None if period is None else 1
            loop = p.For(self.placed(0, 64), "seq", p.Var(2, "j"), 0, outer, body, False, every)
        memory = CudaSmemLinear
        array = p.Array(0, "x", float32, (8 * RING + 8,), memory, (p.Threads(((0, 64),)),), IO_RAM)
        barriers = tuple(
            p.Barriers(k, f"bar{k}", BarrierType.CudaMbarrier, self.random.choice((None, 1, 2, 3)))
            for k in range(2)
        )
        place = self.placed(0, 64)
        last = self.node()
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
        return p.Plan(None, {}, p.Block((launch,)), (array,), barriers, 3)  # type: ignore[arg-type]


def summary(engine: Engine) -> tuple[Any, ...]:
    """What a run gives, but for when it was, which repetitions that are not run change."""
    out = engine.run()
    return out.events, out.accesses, [replace(s, later=replace(s.later, event=0)) for s in out.sightings]


@pytest.mark.parametrize("outer", [0, 30])
def test_repetitions_that_are_counted_are_those_that_would_be_run(outer: int) -> None:
    skipped = hazards = 0
    for seed in range(300):
        count = Random(seed).choice((20, 41, 90, 200) if not outer else (5, 9, 40))
        whole, periodic = (Engine(Ring(seed).plan(period, count, outer)) for period in (None, RING))
        expected = summary(whole)
        assert summary(periodic) == expected, seed
        skipped += periodic.statistics["skipped"] > 0
        hazards += bool(expected[2])
    assert skipped > 60
    assert hazards > 60


def test_traces_skip_what_the_run_skipped() -> None:
    """The second pass meets each hazard at the same event as the first, whatever was counted in between."""
    count = 0
    for seed in range(120):
        engine = Engine(Ring(seed).plan(RING, 90, seed % 3))
        sightings = [s for s in engine.run().sightings if s.array is not None]
        skipped = engine.statistics["skipped"]
        for s, trace in zip(sightings, engine.traces(sightings) if sightings else [], strict=True):
            assert trace.events[-1].at == s.later, seed
            assert trace.events[-1].touches or s.rule.startswith("mach-free")
            count += skipped > 0
    assert count > 20


# Control ----------------------------------------------------------------------------------------------------------

CPU_PLACE = p.Placed((0,), STATEMENT, None, InstrTl.cpu_in_order)


def on_device(nodes: tuple[p.Node, ...], size: int = 64, count: int = 1) -> p.Plan:
    """A plan whose only task, or each of them, has these nodes, and an array of global memory."""
    array = p.Array(0, "x", float32, (size,), CudaGmemLinear, (None,), CPU)
    task = p.For(replace(CPU_PLACE, path=(1, 0)), "tasks", p.Var(1, "t"), 0, count, p.Block(nodes), True)
    launch = p.Launch(replace(CPU_PLACE, path=(1,)), 64, 1, 4, p.Block((task,)))
    barriers = (p.Barriers(0, "bar", BarrierType.CudaMbarrier, 1),)
    return p.Plan(None, {}, p.Block((p.Alloc(CPU_PLACE, 0), launch)), (array,), barriers, 3)  # type: ignore[arg-type]


def write(path: int, first: p.Term, count: int = 1) -> p.Action:
    """A write by thread 0."""
    place = p.Placed((1, 0, path), STATEMENT, p.Threads(((0, 1),)), InstrTl.cuda_in_order)
    return p.Action(
        place, (p.Touch("x", Kind.write, IO_RAM, (p.Region(0, first, ((count, 1),)),)),), (), count
    )


def await_nothing(path: int) -> tuple[p.Node, ...]:
    """An await that never returns."""
    place = p.Placed((1, 0, path), STATEMENT, p.Threads(((0, 1),)), InstrTl.cuda_in_order)
    second = sync_tl("cuda_in_order")
    return p.BarrierAlloc(place, 0), p.Await(place, p.Queue(0, ()), second, ~0, BarrierType.CudaMbarrier)


def test_equal_tasks_are_run_once_and_counted() -> None:
    """Writes of all tasks to one cell: the first is a hazard to each of the others, in every class."""
    body = p.Block((write(0, p.Var(1, "t")), write(1, 40)))
    plain = Engine(on_device(body.nodes, count=6)).run()
    nest = p.Tasks(CPU_PLACE, (p.Var(1, "t"),), (((0,), 1), ((1,), 5)), body)
    plan = on_device(body.nodes)
    launch = plan.root.nodes[1]
    assert isinstance(launch, p.Launch)
    root = p.Block((plan.root.nodes[0], replace(launch, body=p.Block((nest,)))))
    few = Engine(replace(plan, root=root)).run()
    assert (few.events, few.accesses) == (plain.events, plain.accesses) == (27, 12)
    assert [s.count for s in few.sightings] == [s.count for s in plain.sightings] == [5]


def test_a_stop_among_equal_tasks_is_told() -> None:
    plan = on_device(())
    launch = plan.root.nodes[1]
    assert isinstance(launch, p.Launch)
    body = p.Block((p.If(p.Applied(Op.CmpEq, (p.Var(1, "t"), 1)), p.Block(await_nothing(0)), p.Block()),))
    for counts, fits in (((1, 1), True), ((2, 1), False)):
        chosen = tuple(((k,), count) for k, count in enumerate(counts))
        nest = p.Tasks(CPU_PLACE, (p.Var(1, "t"),), chosen, body)
        engine = Engine(
            replace(plan, root=p.Block((plan.root.nodes[0], replace(launch, body=p.Block((nest,))))))
        )
        if fits:
            out = engine.run()
            assert (out.events, out.sightings[0].given) == (7, "an await of arrive 0, of 0")
        else:
            with pytest.raises(TasksDiffer):
                engine.run()


def test_conditions_end_a_run_where_they_do_not_hold() -> None:
    k, place = p.Var(2, "k"), p.Placed((1, 0, 5), STATEMENT, p.Threads(((0, 1),)), InstrTl.cuda_in_order)
    rows = (p.Region(0, p.Applied(Op.Mul, (k, 4)), ((2, 8), (2, 1))),)
    cases: list[tuple[p.Node, int | None]] = [
        (p.Check(place, p.Applied(Op.CmpLt, (k, 3))), 3),
        (p.Check(place, p.Applied(Op.CmpLt, (k, 30))), None),
        (p.Apart(place, rows, (p.Region(0, 20, ((2, 1),)),)), 3),
        (p.Apart(place, rows, (p.Region(0, 14, ((2, 1),)),)), None),
        (p.Apart(place, rows, (p.Region(0, 0, ((0, 1),)),)), None),
    ]
    for node, stop in cases:
        loop = p.For(place, "seq", k, 0, 6, p.Block((node, write(0, k))))
        out = Engine(on_device((loop,))).run()
        assert (out.refused.values[2] if out.refused else None) == stop, node
        assert out.accesses == (6 if stop is None else stop)


def test_terms_are_those_of_the_law() -> None:
    """Each op on small numbers: where the law of ``index`` has another value, a check would end the run."""
    ops: dict[Op, int] = dict.fromkeys(
        (Op.Add, Op.Sub, Op.Mul, Op.Idiv, Op.Mod, Op.Max, Op.Xor, Op.Or, Op.And), 2
    ) | dict.fromkeys((Op.CmpLt, Op.CmpLe, Op.CmpGt, Op.CmpGe, Op.CmpEq, Op.CmpNe), 2)
    k = p.Var(2, "k")
    place = p.Placed((1, 0, 5), STATEMENT, p.Threads(((0, 1),)), InstrTl.cuda_in_order)
    checks: list[p.Node] = []
    for op, x, y in itertools.product(ops, range(-5, 6), range(-4, 5)):
        value = int(ELEMENTWISE[op](index, x, y))
        shown = p.Applied(op, (p.Applied(Op.Add, (k, x)), y))
        checks.append(p.Check(place, p.Applied(Op.CmpEq, (shown, value))))
    checks.append(
        p.Check(place, p.Applied(Op.CmpEq, (p.Applied(Op.Where, (p.Applied(Op.Not, (k,)), 3, 4)), 3)))
    )
    checks.append(
        p.Check(place, p.Applied(Op.CmpEq, (p.Applied(Op.Shr, (p.Applied(Op.Sub, (k, 9)), 1)), -5)))
    )
    checks.append(
        p.Check(place, p.Applied(Op.CmpEq, (p.Applied(Op.Shl, (p.Applied(Op.Sub, (k, 9)), 3)), -72)))
    )
    out = Engine(on_device((p.For(place, "seq", k, 0, 1, p.Block(tuple(checks))),))).run()
    assert out.refused is None


def test_a_plan_that_has_no_place_in_memory_is_refused_with_its_largest_array() -> None:
    with pytest.raises(OutOfMemoryError, match="x, of 1000000 elements"):
        Engine(on_device((write(0, 0),), 1000000), budget=1 << 20).run()
    small = Engine(on_device((write(0, 0),), 1000), budget=1 << 24)
    assert small.run().accesses == 1


def test_records_that_have_no_place_end_a_run() -> None:
    """Each cell is read by another choice of statements, so that no two histories are equal."""
    k, nodes = p.Var(2, "k"), []
    for n in range(13):
        place = p.Placed((1, 0, n), STATEMENT, p.Threads(((0, 1),)), InstrTl.cuda_in_order)
        touch = p.Touch("x", Kind.read, IO_RAM, (p.Region(0, k),))
        chosen = p.Applied(Op.And, (p.Applied(Op.Shr, (k, n)), 1))
        nodes.append(p.If(chosen, p.Block((p.Action(place, (touch,), (), 1),)), p.Block()))
    plan = on_device((p.For(CPU_PLACE, "seq", k, 0, 1 << 13, p.Block(tuple(nodes))),), 1 << 13)
    assert Engine(plan, budget=16 << 20).run().accesses == 13 << 12
    with pytest.raises(OutOfMemoryError, match="records of accesses"):
        Engine(plan, budget=2 << 20).run()


def test_progress_is_told_and_may_end_a_run() -> None:
    """It is asked every so often; what it raises ends the run and comes out of it."""
    k = p.Var(2, "k")
    plan = on_device(
        (p.For(CPU_PLACE, "seq", k, 0, 1 << 40, p.Block((write(0, p.Applied(Op.Mod, (k, 7))),))),)
    )
    told: list[tuple[int, float]] = []

    def progress(events: int, fraction: float) -> None:
        told.append((events, fraction))
        if len(told) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Engine(plan, progress=progress).run()
    assert len(told) == 2
    assert 0 < told[0][0] < told[1][0]
    assert 0 < told[0][1] < told[1][1] < 1
