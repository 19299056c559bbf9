"""Reduced plans: what is left out, and that nothing else comes of them."""

from __future__ import annotations

import itertools
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from random import Random
from runpy import run_path
from typing import Any

import numpy as np
import pytest

from soundline.impl.spork.checker.engine import Engine, TasksDiffer
from soundline.impl.spork.checker.planning import plan as p
from soundline.impl.spork.checker.planning.programs import plan_of
from soundline.impl.spork.checker.planning.terms import Known
from soundline.impl.spork.checker.reducing.periods import with_periods
from soundline.impl.spork.checker.reducing.plans import reduced
from soundline.impl.spork.checker.reducing.ranges import Around, met_once, narrowed, never_meet, spread
from soundline.impl.spork.checker.reducing.symmetry import with_classes
from soundline.impl.spork.checker.reducing.values import value
from soundline.spec.dtypes import float32, index
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Const, Name
from soundline.spec.spork.language.statements import Assign
from soundline.spec.spork.library.memories import CudaGmemLinear, CudaRmem, CudaSmemLinear, Memory
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.timelines import (
    CP_RAM,
    CPU,
    IO_RAM,
    IO_RMEM,
    InstrTl,
    Pair,
    sync_tl,
)
from soundline.spec.spork.synchronization.visibility import Kind
from soundline.spec.values.elementwise import ELEMENTWISE

STATEMENT = Assign(Name("x"), Const(0))
WARPS = 2
"""How many warps of 4 threads a task of these plans has; its threads are not those of a real warp."""


def op(name: str, *operands: p.Term) -> p.Term:
    return p.Applied(Op[name], operands)


def times(factor: int, term: p.Term) -> p.Term:
    return op("Mul", factor, term)


def plus(*terms: p.Term) -> p.Term:
    found = terms[0]
    for term in terms[1:]:
        found = op("Add", found, term)
    return found


def mod(term: p.Term, by: int) -> p.Term:
    return op("Mod", term, by)


def placed(position: int, who: p.Threads | None = None) -> p.Placed:
    instr_tl = InstrTl.cpu_in_order if who is None else InstrTl.cuda_in_order
    return p.Placed((1, 0, position), STATEMENT, who, instr_tl)


def threads(lo: int, hi: int, shift: p.Term = 0) -> p.Threads:
    return p.Threads(((lo, hi),), shift)


T, X, J, K = (p.Var(k, name) for k, name in enumerate("tijk"))


def touch(
    array: int, kind: Kind, first: p.Term, *dims: tuple[int, int], pair: Pair = IO_RAM, **how: Any
) -> p.Touch:
    return p.Touch("x", kind, pair, (p.Region(array, first, dims),), **how)


def action(position: int, who: p.Threads, *touches: p.Touch, trailing: tuple[p.Queue, ...] = ()) -> p.Action:
    count = sum(r.elements for t in touches for r in t.regions)
    return p.Action(placed(position, who), touches, trailing, count)


def loop(var: p.Var, lo: p.Term, hi: p.Term, *body: p.Node, kind: Any = "seq") -> p.For:
    return p.For(placed(90 + var.number), kind, var, lo, hi, p.Block(body))


def when(condition: p.Term, *body: p.Node) -> p.If:
    return p.If(condition, p.Block(body), p.Block())


G, S, R, W = range(4)
"""The arrays of these plans: of global memory, shared memory, registers of one thread each, and of one warp each."""


def arrays() -> tuple[p.Array, ...]:
    def array(
        number: int, size: int, memory: Memory, owners: tuple[p.Threads | None, ...], freeing: Pair
    ) -> p.Array:
        return p.Array(number, "GSRW"[number], float32, (size,), memory, owners, freeing)

    each = tuple(threads(k, k + 1) for k in range(4 * WARPS))
    warps = tuple(threads(4 * k, 4 * k + 4) for k in range(WARPS))
    return (
        array(G, 4096, CudaGmemLinear, (None,), CPU),
        array(S, 256, CudaSmemLinear, (threads(0, 4 * WARPS),), IO_RAM),
        array(R, 8 * 4 * WARPS, CudaRmem, each, IO_RMEM),
        array(W, 16 * WARPS, CudaRmem, warps, IO_RMEM),
    )


ARRAYS = arrays()


def plan(*body: p.Node, tasks: int = 4, count: int = 4) -> p.Plan:
    """A launch whose tasks have these nodes, and all arrays."""
    every = placed(50, threads(0, 4 * WARPS))
    own = (S, R, W)
    inner = p.Block(
        (
            *(p.Alloc(every, n) for n in own),
            p.BarrierAlloc(every, 0),
            *body,
            p.BarrierFree(every, 0),
            *(p.Free(every, n) for n in reversed(own)),
        )
    )
    nest = p.For(placed(51), "tasks", T, 0, tasks, inner, True)
    launch = p.Launch(placed(52), 4 * WARPS, 1, 4, p.Block((nest,)))
    barriers = (p.Barriers(0, "bar", BarrierType.CudaMbarrier, 2),)
    root = p.Block((p.Alloc(placed(53), G), launch))
    return p.Plan(None, {}, root, ARRAYS, barriers, count)  # type: ignore[arg-type]


def kept(of: p.Plan) -> set[int]:
    """The arrays that a plan touches."""
    found = [n for n in p.nodes(of.root) if isinstance(n, p.Action)]
    return {r.array for a in found for t in a.touches for r in t.regions}


def iterators(root: p.Block) -> list[tuple[p.Node, tuple[p.Var, ...]]]:
    """All nodes with the iterators around them, by their numbers."""
    found: list[tuple[p.Node, tuple[p.Var, ...]]] = []

    def add(node: p.Node, around: tuple[p.Var, ...]) -> None:
        found.append((node, around))
        match node:
            case p.Block(inner):
                for part in inner:
                    add(part, around)
            case p.If(_, body, orelse):
                add(body, around)
                add(orelse, around)
            case p.For(var=var, body=body):
                add(body, (*around, var))
            case p.Tasks(vars=own, body=body):
                add(body, (*around, *own))
            case p.Launch(body=body):
                add(body, around)

    add(root, ())
    return found


def summary(of: p.Plan) -> tuple[Any, ...]:
    """What comes of a plan, by statements and the iterators around them."""
    out = Engine(of).run()
    nodes = iterators(of.root)

    def where(at: p.At) -> Any:
        node, around = nodes[at.node]
        assert not isinstance(node, p.Block | p.If | p.Counted)
        return node.place.path, [(v.name, at.values[v.number]) for v in around]

    sightings = [
        (s.rule, where(s.later), s.earlier, s.count, s.array, s.element, s.queue, s.given)
        for s in out.sightings
    ]
    return out.events, out.accesses, sightings, out.refused and where(out.refused)


# What is left out -------------------------------------------------------------------------------------------------

LANE = plus(X, times(4, J))
"""A thread by its number in the warp, and the warp."""


def of_threads(*body: p.Node) -> p.Node:
    """What all threads do, each for itself."""
    return loop(J, 0, WARPS, loop(X, 0, 4, *body, kind="threads"), kind="threads")


def test_registers_of_a_thread_in_order_are_left_out() -> None:
    one = threads(0, 1, LANE)
    own = touch(R, Kind.write, plus(times(8, LANE), mod(K, 8)), pair=IO_RMEM, convergent=True)
    left = plan(of_threads(loop(K, 0, 9, action(0, one, own))))
    assert kept(reduced(left)) == set()
    assert summary(reduced(left)) == summary(left)
    assert not any(isinstance(n, p.Alloc) and n.array == R for n in p.nodes(reduced(left).root))


@pytest.mark.parametrize(
    "other",
    [
        action(0, threads(0, 1, LANE), touch(R, Kind.write, times(8, mod(plus(LANE, 1), 8)), pair=IO_RMEM)),
        action(0, threads(0, 1, LANE), touch(R, Kind.write, times(8, LANE), (9, 1), pair=IO_RMEM)),
        action(0, threads(0, 1, LANE), touch(R, Kind.write, times(8, LANE), pair=IO_RAM)),
        action(0, threads(0, 1, LANE), touch(R, Kind.write, times(8, LANE), pair=IO_RMEM, out_of_order=True)),
        action(
            0,
            threads(0, 1, LANE),
            touch(R, Kind.write, times(8, LANE), pair=IO_RMEM),
            trailing=(p.Queue(0, ()),),
        ),
        action(0, threads(0, 2, LANE), touch(R, Kind.write, times(8, LANE), pair=IO_RMEM)),
        action(0, threads(0, 1), touch(R, Kind.write, times(8, LANE), pair=IO_RMEM, convergent=True)),
        action(
            0,
            threads(0, 1, LANE),
            touch(R, Kind.write, times(8, LANE), pair=IO_RMEM, convergent=True, seen_by=threads(1, 2, LANE)),
        ),
        action(
            0,
            threads(0, 4, times(4, J)),
            touch(W, Kind.write, times(16, J), pair=IO_RMEM, convergent=True, by=threads(0, 3, times(4, J))),
        ),
        action(0, threads(0, 4, times(4, J)), touch(W, Kind.write, times(16, J), pair=IO_RMEM)),
    ],
)
def test_registers_that_others_may_not_see_are_kept(other: p.Action) -> None:
    right = [
        action(
            1,
            threads(0, 1, LANE),
            touch(R, Kind.write, times(8, LANE), pair=IO_RMEM, convergent=True),
        ),
        action(
            2,
            threads(0, 4, times(4, J)),
            touch(W, Kind.write, times(16, J), (16, 1), pair=IO_RMEM, convergent=True),
        ),
    ]
    asked = other.touches[0].regions[0].array
    assert kept(reduced(plan(of_threads(*right)))) == set()
    wrong = plan(of_threads(*right, other))
    assert kept(reduced(wrong)) == {asked}


def test_registers_of_others_that_a_warp_uses_together_are_left_out() -> None:
    """A shuffle: the warp acts convergently, and of each register only its owner has to see what was before."""
    shuffle = action(
        0,
        threads(0, 4, times(4, J)),
        *(
            touch(
                R,
                kind,
                times(8, plus(times(4, J), lane)),
                pair=IO_RMEM,
                convergent=True,
                seen_by=threads(lane, lane + 1, times(4, J)),
            )
            for kind in (Kind.read, Kind.write)
            for lane in range(4)
        ),
    )
    assert kept(reduced(plan(of_threads(shuffle)))) == set()
    wrong = replace(shuffle, touches=tuple(replace(t, seen_by=None) for t in shuffle.touches))
    assert kept(reduced(plan(of_threads(wrong)))) == {R}


ROW = plus(times(64, T), times(8, J), times(2, X))
"""Two elements of each thread of each task."""


@pytest.mark.parametrize(
    ("found", "body"),
    [
        (set(), [touch(G, Kind.read, 0, (64, 1))]),
        (set(), [touch(G, Kind.write, ROW, (2, 1))]),
        (set(), [touch(G, Kind.atomic, 0, (64, 1))]),
        (set(), [touch(G, Kind.write, ROW), touch(G, Kind.read, ROW)]),
        ({G}, [touch(G, Kind.write, ROW, (3, 1))]),
        ({G}, [touch(G, Kind.write, plus(ROW, mod(T, 2)), (2, 1))]),
        ({G}, [touch(G, Kind.write, plus(times(8, J), times(2, X)))]),
        ({G}, [touch(G, Kind.write, plus(times(64, T), times(2, X)))]),
        ({G}, [touch(G, Kind.atomic, 0), touch(G, Kind.read, 0)]),
    ],
)
def test_memory_of_all_tasks_is_kept_where_elements_may_meet(found: set[int], body: list[p.Touch]) -> None:
    one = plan(of_threads(action(0, threads(0, 1, LANE), *body)))
    assert kept(reduced(one)) == found
    assert summary(reduced(one)) == summary(one)


def test_two_statements_may_not_meet() -> None:
    for distance, found in ((1, set[int]()), (2, {G}), (256, set()), (3, set()), (8, {G})):
        body = [
            action(k, threads(0, 1, LANE), touch(G, Kind.write, plus(ROW, k * distance))) for k in range(2)
        ]
        one = plan(of_threads(*body))
        assert kept(reduced(one)) == found, distance
        assert summary(reduced(one)) == summary(one)


def test_elements_of_regions_are_found_to_meet_where_they_do() -> None:
    """Against all elements, of random regions: what is claimed is true, and often something is."""
    random, claims = Random(1), [0, 0]
    for _ in range(600):
        ranges = {v: (a := random.randrange(-2, 3), a + random.randrange(1, 4)) for v in range(3)}
        around = Around(Known(ranges), (0, 1, 2))
        values = [range(a, b + 1) for a, b in ranges.values()]

        def region() -> p.Region:
            factors = [random.choice((0, 1, 2, 4, 5, 8, 20, -4, 40)) for _ in range(3)]
            terms = [times(f, v) for f, v in zip(factors, (T, X, J), strict=True) if f]
            first = plus(random.randrange(100), *terms)
            dims = [(random.randrange(1, 4), random.choice((1, 2, 8, -1))) for _ in range(2)]
            return p.Region(G, first, tuple(dims[: random.randrange(3)]))

        def elements(of: p.Region, at: tuple[int, ...]) -> set[int]:
            first = int(value(of.first, {v: np.array(x) for v, x in zip((T, X, J), at, strict=True)}))
            steps = itertools.product(*(range(n) for n, _ in of.dims))
            return {first + sum(i * s for i, (_, s) in zip(step, of.dims, strict=True)) for step in steps}

        pair = region(), region()
        spreads = [spread(r, around) for r in pair]
        first, second = spreads
        assert first is not None
        assert second is not None
        one, other = ([elements(r, at) for at in itertools.product(*values)] for r in pair)
        if met_once(first):
            assert sum(map(len, one)) == len(set().union(*one))
            claims[0] += 1
        if never_meet(first, second):
            assert set().union(*one).isdisjoint(set().union(*other))
            claims[1] += 1
    assert min(claims) > 50, claims


def test_intervals_are_narrowed_by_conditions() -> None:
    known = Known({0: (0, 9)})
    for number, least, most in ((3, 3, 9), (-1, 0, 9)):
        assert narrowed(known.where(op("CmpGe", T, number))).ranges[0] == (least, most)
    assert narrowed(known.where(op("CmpLt", times(2, T), 7))).ranges[0] == (0, 3)
    assert narrowed(known.where(op("CmpGt", times(3, T), 7))).ranges[0] == (3, 9)
    assert narrowed(known.where(op("CmpEq", T, 4))).ranges[0] == (4, 4)


def test_threads_of_the_cpu_keep_what_they_share() -> None:
    """A thread of the CPU sees what it did itself, and children of a par loop do not see each other."""

    def write(position: int, first: p.Term) -> p.Action:
        own = touch(G, Kind.write, first, pair=CPU)
        return p.Action(p.Placed((position,), STATEMENT, None, InstrTl.cpu_in_order), (own,), (), 1)

    array = replace(ARRAYS[G], number=1)
    alloc = p.Alloc(p.Placed((0,), STATEMENT, None, InstrTl.cpu_in_order), G)
    inner = replace(alloc, array=1)
    own_write = replace(write(3, 0), touches=(touch(1, Kind.write, 0, pair=CPU),))
    cases: list[tuple[set[int], tuple[p.Node, ...]]] = [
        (set(), (loop(T, 0, 3, write(1, 0)), write(2, 0))),
        ({G}, (loop(T, 0, 3, write(1, 0), kind="par"),)),
        ({G}, (write(2, 0), loop(T, 0, 3, write(1, T), kind="par"))),
        (set(), (loop(T, 0, 3, inner, own_write, own_write, p.Free(inner.place, 1), kind="par"),)),
    ]
    for found, body in cases:
        root = p.Block((alloc, *body))
        one = p.Plan(None, {}, root, (ARRAYS[G], array), (), 1)  # type: ignore[arg-type]
        assert kept(reduced(one)) == found, body
        assert summary(reduced(one)) == summary(one)


def test_copies_that_arrive_are_kept_without_what_they_touch() -> None:
    """A copy whose windows are left out still arrives, and an await without it would never return."""
    place = placed(2, threads(0, 1))
    copy = action(1, threads(0, 1), touch(G, Kind.read, 0), trailing=(p.Queue(0, ()),))
    arrive = p.Arrive(place, sync_tl("cuda_in_order"), (p.Queue(0, ()),), BarrierType.CudaMbarrier)
    wait = p.Await(place, p.Queue(0, ()), sync_tl("cuda_in_order"), ~0, BarrierType.CudaMbarrier)
    found = reduced(plan(copy, arrive, wait))
    [left] = [n for n in p.nodes(found.root) if isinstance(n, p.Action)]
    assert (left.touches, left.trailing, left.accesses) == ((), copy.trailing, 1)


def test_shared_memory_falls_back_where_it_did() -> None:
    """Two blocks have the same bytes, one after the other: the second meets what the first left there."""
    every = placed(40, threads(0, 4 * WARPS))
    blocks = tuple(
        p.Block(
            (
                p.Alloc(every, number),
                action(number, threads(who, who + 1), touch(number, Kind.write, 0)),
                p.Free(every, number),
            )
        )
        for number, who in ((4, 0), (5, 1))
    )
    whole = plan(*blocks)
    one = replace(whole, arrays=(*ARRAYS, *(replace(ARRAYS[S], number=n) for n in (4, 5))))
    assert ("mach-write-waw", 5) in [(s[0], s[4]) for s in summary(one)[2]]
    assert summary(reduced(one)) == summary(one)


# Equal tasks ------------------------------------------------------------------------------------------------------


def guarded(condition: p.Term) -> p.Node:
    """Every thread writes to shared memory, where a condition holds."""
    return of_threads(when(condition, action(0, threads(0, 1, LANE), touch(S, Kind.write, mod(LANE, 3)))))


@pytest.mark.parametrize(
    ("condition", "counts"),
    [
        (op("CmpLt", plus(times(8, T), LANE), 20), [2, 1, 3]),
        (op("CmpLt", plus(times(8, T), LANE), 24), [3, 3]),
        (op("CmpEq", mod(T, 3), 1), [4, 2]),
        (op("CmpEq", mod(plus(T, times(3, X)), 3), 1), [2, 2, 2]),
        (op("And", op("CmpLt", plus(T, times(0, X)), 4), op("CmpGe", plus(times(9, T), X), 9)), [1, 3, 2]),
        (op("CmpGt", plus(times(8, T), LANE), 23), [3, 3]),
        (op("CmpLe", plus(times(8, T), LANE), 24), [3, 1, 2]),
        (op("CmpLt", plus(times(2, T), LANE), 9), [1, 1, 1, 1, 1, 1]),
        (op("CmpNe", plus(times(8, T), LANE), 19), [5, 1]),
        (op("CmpLt", LANE, 3), [6]),
        (op("And", op("CmpLt", T, 4), op("CmpGe", T, 1)), [3, 3]),
        (op("CmpLt", op("Idiv", plus(T, LANE), 4), 2), [1, 1, 1, 1, 1, 1]),
    ],
)
def test_equal_tasks_are_classes(condition: p.Term, counts: list[int]) -> None:
    one = plan(guarded(condition), tasks=6)
    found = [n for n in p.nodes(reduced(one).root) if isinstance(n, p.Tasks)]
    assert [n for _, n in found[0].chosen] == counts
    assert summary(reduced(one)) == summary(one)


def test_tasks_are_no_classes_by_numbers_that_have_no_place_in_64_bits() -> None:
    """The law has 2^64 where 64 bits have 0."""
    one = plan(guarded(op("CmpEq", mod(times(2**62, T), 3), 1)), tasks=6)
    assert not any(isinstance(n, p.Tasks) for n in p.nodes(reduced(one).root))
    small = plan(guarded(op("CmpEq", mod(times(2**40, T), 3), 1)), tasks=6)
    assert any(isinstance(n, p.Tasks) for n in p.nodes(reduced(small).root))


def test_tasks_that_share_memory_are_all_run() -> None:
    shared = action(1, threads(0, 1, LANE), touch(G, Kind.write, LANE))
    one = plan(of_threads(shared))
    assert not any(isinstance(n, p.Tasks) for n in p.nodes(reduced(one).root))
    assert summary(reduced(one)) == summary(one)


def test_tasks_of_which_nothing_is_kept_are_counted() -> None:
    body = loop(X, 0, 3, action(0, threads(0, 1), touch(G, Kind.read, X)))
    nest = replace(loop(T, 0, 5, body, kind="tasks"), is_task=True)
    launch = p.Launch(placed(52), 4 * WARPS, 1, 4, p.Block((nest,)))
    one = p.Plan(None, {}, p.Block((p.Alloc(placed(53), G), launch)), ARRAYS, (), 4)  # type: ignore[arg-type]
    found = reduced(one)
    assert found.root.nodes == (p.Counted(1, 0), replace(launch, body=p.Block((p.Counted(25, 15),))))
    assert summary(found) == summary(one)


# Periods ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("term", "period", "cuts"),
    [
        (mod(K, 4), 4, set()),
        (mod(plus(times(6, K), X), 4), 2, set()),
        (plus(mod(K, 4), times(8, mod(plus(K, T), 3))), 12, set()),
        (op("CmpLt", K, 7), 1, {6, 7, 8}),
        (op("CmpLt", times(-2, K), -7), 1, {4, 5}),
        (op("CmpEq", mod(K, 4), 1), 4, set()),
        (op("Idiv", K, 9), 1, {9, 18}),
        (op("Mod", op("Idiv", K, 9), 2), 1, {9, 18}),
        (op("Idiv", times(-1, K), 9), 1, {1, 10, 19}),
        (op("Idiv", plus(K, X), 9), None, set()),
        (op("CmpLt", K, plus(6, X)), 1, {6, 7, 8, 9, 10}),
        (K, None, set()),
        (plus(K, mod(K, 2)), None, set()),
        (op("Mod", K, plus(X, 1)), None, set()),
        (op("Mul", K, mod(K, 2)), None, set()),
        (op("CmpLt", times(100, K), times(400, X)), 1, None),
    ],
)
def test_terms_have_periods(term: p.Term, period: int | None, cuts: set[int] | None) -> None:
    node = action(0, threads(0, 1, LANE), touch(S, Kind.write, op("Where", term, term, 1)))
    for kind in ("threads", "seq"):
        one = plan(loop(K, 0, 27, loop(J, 0, WARPS, loop(X, 0, 4, node, kind=kind), kind=kind)))
        root = with_periods(one.root, one.arrays)
        [found] = [n for n in p.nodes(root) if isinstance(n, p.For) and n.var == K]
        assert found.period == period
        if cuts is not None and period is not None:
            assert cuts >= set(found.cuts)
            assert holds(found, {T: 1}) > 0 or period > 8


def number(term: p.Term, at: dict[p.Var, int]) -> int:
    """The value of a term by the law."""
    match term:
        case p.Var():
            return at[term]
        case p.Applied(of, operands):
            return int(ELEMENTWISE[of](index, *(number(x, at) for x in operands)))
        case _:
            return int(term)


def holds(node: p.For, around: dict[p.Var, int] | None = None) -> int:
    """Check what a loop says of its period, by all values of all terms; gives how many pairs there were."""
    at = around or {}
    lo, hi = number(node.lo, at), number(node.hi, at)
    cuts = sorted({lo, hi, *(c for t in node.cuts if lo < (c := number(t, at)) < hi)})
    pairs = 0
    for begin, end in itertools.pairwise(cuts):
        for i in range(begin, end - (node.period or hi)):
            later = {**at, node.var: i + (node.period or 0)}
            assert unrolled(node.body, {**at, node.var: i}) == unrolled(node.body, later)
            pairs += 1
    return pairs


def told(of: Any, at: dict[p.Var, int]) -> Any:
    """All that is said in a node, with the values of its terms; not what is below it, nor how it is run."""
    match of:
        case p.Var() | p.Applied():
            return number(of, at)
        case p.Block() | Assign():
            return None
        case p.Alloc(array=array) | p.Free(array=array):
            return told((of.place, ARRAYS[array].owners), at)
        case tuple():
            return [told(part, at) for part in of]
        case p.For(var=var):
            at = {**at, var: 0}
            return told((of.place, of.lo, of.hi), at)
    if is_dataclass(of):
        return [told(getattr(of, f.name), at) for f in fields(of)]
    return of


def unrolled(block: p.Block, at: dict[p.Var, int]) -> list[Any]:
    """What is reached in an iteration, with the values of all terms."""
    found: list[Any] = []
    for place, node in enumerate(block.nodes):
        found.append((place, told(node, at)))
        match node:
            case p.If(condition, body, orelse):
                found += unrolled(body if number(condition, at) else orelse, at)
            case p.For(var=var, lo=lo, hi=hi, body=body):
                for i in range(number(lo, at), number(hi, at)):
                    found += unrolled(body, {**at, var: i})
    return found


@pytest.mark.parametrize("way", ["threads", "by", "seen_by", "queue", "trailing", "array"])
def test_all_that_moves_is_asked_for_its_period(way: str) -> None:
    """Threads, queues and windows that move with the iterator; under ``mod`` they have its period."""
    for term, period in ((K, None), (mod(K, 3), 3)):
        who, moved = threads(0, 1), threads(0, 1, term)
        one = touch(S, Kind.read, 0)
        queue = p.Queue(0, (term,))
        ways: dict[str, p.Node] = {
            "threads": action(0, moved, one),
            "by": action(0, who, replace(one, by=moved)),
            "seen_by": action(0, who, replace(one, seen_by=moved)),
            "queue": p.Arrive(placed(0, who), sync_tl("cuda_in_order"), (queue,), BarrierType.CudaMbarrier),
            "trailing": action(0, who, one, trailing=(queue,)),
            "array": p.Block((p.Alloc(placed(0, who), 0), p.Free(placed(0, who), 0))),
        }
        node = ways[way]
        owned = (replace(ARRAYS[R], number=0, owners=(moved,)),)
        body = p.Block((loop(T, 0, 4, loop(K, 0, 27, node)),))
        [found] = [n for n in p.nodes(with_periods(body, owned)) if isinstance(n, p.For) and n.var == K]
        assert found.period == period
        nest = replace(loop(K, 0, 6, node), kind="tasks", is_task=True)
        own = (p.Alloc(placed(1, who), S), p.BarrierAlloc(placed(1, who), 0))
        nest = replace(nest, body=p.Block((*own, node)))
        launch = p.Launch(placed(2), 4, 1, 4, p.Block((nest,)))
        many = (*owned, *ARRAYS[1:])
        [tasks] = [n for n in p.nodes(with_classes(p.Block((launch,)), many)) if isinstance(n, p.Tasks)]
        assert len(tasks.chosen) == (period or 6)


class Soup:
    """Random plans with loops, conditions, threads, barriers and all kinds of memory."""

    def __init__(self, seed: int) -> None:
        self.random = Random(f"reducing {seed}")
        self.position = 0
        self.vars = 1

    def term(self, scope: tuple[p.Var, ...], depth: int = 2) -> p.Term:
        """A number."""
        draw = self.random.random()
        if not scope or draw < 0.1:
            return self.random.randrange(6)
        if draw < 0.4 or not depth:
            return self.random.choice(scope)
        x, y = self.term(scope, depth - 1), self.term(scope, depth - 1)
        if draw < 0.6:
            return plus(x, y)
        if draw < 0.7:
            return times(self.random.choice((-1, 2, 3)), x)
        if draw < 0.9:
            return mod(x, self.random.choice((2, 3, 4)))
        return op("Idiv", x, self.random.choice((2, 5)))

    def condition(self, scope: tuple[p.Var, ...]) -> p.Term:
        name = self.random.choice(("CmpLt", "CmpLe", "CmpGt", "CmpGe", "CmpEq", "CmpNe"))
        found = op(name, self.term(scope), self.random.choice((self.random.randrange(12), self.term(scope))))
        if self.random.random() < 0.2:
            return op(self.random.choice(("And", "Or")), found, self.condition(scope))
        return found

    def body(self, scope: tuple[p.Var, ...], depth: int) -> tuple[p.Node, ...]:
        return tuple(self.node(scope, depth) for _ in range(self.random.randrange(1, 4)))

    def node(self, scope: tuple[p.Var, ...], depth: int) -> p.Node:
        draw = self.random.random()
        self.position += 1
        if depth and draw < 0.5:
            var = p.Var(self.vars, f"v{self.vars}")
            self.vars += 1
            lo, hi = 0, self.random.choice((2, 3, 5, 13))
            if self.random.random() < 0.2 and scope:
                lo, hi = 0, plus(mod(self.random.choice(scope), 3), 1)  # type: ignore[assignment]
            return p.For(
                placed(self.position), "seq", var, lo, hi, p.Block(self.body((*scope, var), depth - 1))
            )
        if depth and draw < 0.65:
            orelse = self.body(scope, depth - 1) if self.random.random() < 0.3 else ()
            return p.If(self.condition(scope), p.Block(self.body(scope, depth - 1)), p.Block(orelse))
        if draw < 0.75:
            return self.synchronization(scope)
        return self.act(scope)

    def who(self, scope: tuple[p.Var, ...]) -> p.Threads:
        low, high = self.random.choice(((0, 1), (0, 1), (1, 3), (0, 4)))
        return threads(low, high, self.random.choice((0, 1, 4, mod(self.term(scope), 4))))

    def synchronization(self, scope: tuple[p.Var, ...]) -> p.Node:
        everyone = self.random.choice((threads(0, 4 * WARPS), self.who(scope)))
        place, draw = placed(self.position, everyone), self.random.random()
        sides = [sync_tl(self.random.choice(("cuda_in_order", "Sm80_generic"))) for _ in range(2)]
        queue = p.Queue(0, (mod(self.term(scope), 2),), self.random.random() < 0.3)
        if draw < 0.5:
            return p.Fence(place, *sides)
        if draw < 0.8:
            return p.Arrive(place, sides[0], (queue,), BarrierType.CudaMbarrier)
        lag = self.random.choice((~0, ~1, 1, 2))
        return p.Await(place, queue, sides[1], lag, BarrierType.CudaMbarrier)

    def act(self, scope: tuple[p.Var, ...]) -> p.Node:
        kind = self.random.choice((Kind.read, Kind.write, Kind.write))
        draw = self.random.random()
        if draw < 0.3:
            lane = self.random.choice((0, 1, 5, *(mod(v, 4) for v in scope)))
            owner = plus(lane, self.random.choice((0, 0, 0, 0, 1)))
            first = plus(times(8, lane), mod(self.term(scope), 8))
            own = touch(R, kind, first, pair=IO_RMEM, convergent=self.random.random() < 0.7)
            return action(self.position, threads(0, 1, owner), own)
        if draw < 0.5:
            every = plus(2000, *(times(f, v) for v, f in zip(scope, (128, 1, 20, 5), strict=False)))
            first = self.random.choice((every, every, self.random.randrange(8)))
            return action(self.position, self.who(scope), touch(G, kind, first, (2, 1)))
        first = self.random.choice((mod(self.term(scope), 8), times(4, mod(self.term(scope), 8)), 3))
        pair = self.random.choice((IO_RAM, IO_RAM, CP_RAM))
        own = touch(S, kind, first, (4, 1), pair=pair, out_of_order=pair == CP_RAM)
        return action(self.position, self.who(scope), own)

    def plan(self) -> p.Plan:
        body = self.body((T,), 4)
        return plan(*body, tasks=self.random.choice((1, 2, 5)), count=self.vars)


def test_reduced_plans_have_the_same_outcome() -> None:
    fewer = hazards = tasks = periods = 0
    for seed in range(90):
        one = Soup(seed).plan()
        expected = summary(one)
        for steps in ({}, {"tasks": False}, {"periods": False}, {"touches": False}):
            other = reduced(one, **steps)
            try:
                assert summary(other) == expected, (seed, steps)
            except TasksDiffer:
                assert "tasks" not in steps
        found = reduced(one)
        fewer += kept(found) < kept(one)
        hazards += bool(expected[2])
        tasks += any(isinstance(n, p.Tasks) for n in p.nodes(found.root))
        periods += any(isinstance(n, p.For) and n.period is not None for n in p.nodes(found.root))
    assert min(fewer, hazards, tasks, periods) > 10, (fewer, hazards, tasks, periods)


def test_iterations_that_are_said_to_repeat_do() -> None:
    pairs = 0
    for seed in range(500, 560):
        one = Soup(seed).plan()
        root = with_periods(one.root, one.arrays)
        for node, around in iterators(root):
            if isinstance(node, p.For) and node.period is not None:
                random = Random(seed)
                for _ in range(2):
                    pairs += holds(node, {v: random.randrange(2) for v in around})
    assert pairs > 100, pairs


def test_tasks_that_are_said_to_be_equal_are() -> None:
    classes = 0
    for seed in range(800, 860):
        soup = Soup(seed)
        one = plan(*soup.body((T,), 4), tasks=9, count=soup.vars)
        whole = with_classes(reduced(one, tasks=False, periods=False).root, one.arrays)
        for node in p.nodes(whole):
            if isinstance(node, p.Tasks) and len(node.chosen) > 1:
                done = [unrolled(node.body, {T: t}) for t in range(9)]
                counts = [(done[first], n) for (first,), n in node.chosen]
                for what in done:
                    assert sum(n for of, n in counts if of == what) == done.count(what)
                classes += 1
    assert classes > 5, classes


# Programs ---------------------------------------------------------------------------------------------------------

EXAMPLES = Path(__file__).parents[2] / "examples" / "spork"


@pytest.mark.parametrize(
    ("path", "name", "sizes"),
    [
        ("cp_async_groups.py", "double", {"n": 40}),
        ("gemm_sm80_ring.py", "gemm", {"M": 32, "N": 32, "K": 56}),
        ("gemm_sm90_ring.py", "gemm", {"M": 64, "N": 32, "K": 96}),
        ("split_k_atomics.py", "split_k", {"M": 8, "N": 8, "K": 12}),
        ("flagships/gemm_sm90_bf16.py", "small", {"M": 64, "N": 64, "K": 160, "WM": 1, "WN": 1}),
    ],
)
def test_programs_without_one_synchronization_have_the_same_outcome(
    path: str, name: str, sizes: dict[str, int]
) -> None:
    """Each fence, arrive and await is taken from the plan in turn: hazards are those of the whole plan."""
    whole = plan_of(run_path(str(EXAMPLES / path))[name], sizes)
    synchronizations = [n for n in p.nodes(whole.root) if isinstance(n, p.Fence | p.Arrive | p.Await)]
    hazards = 0
    for left in (None, *synchronizations[:12]):
        one = replace(whole, root=without(whole.root, left))
        expected = summary(one)
        assert summary(reduced(one)) == expected
        hazards += bool(expected[2])
    assert hazards >= len(synchronizations[:12]) - 1


def without(node: Any, left: p.Node | None) -> Any:
    """A node without one below it."""
    match node:
        case p.Block(inner):
            return p.Block(tuple(without(n, left) for n in inner if n is not left))
        case p.If(condition, body, orelse):
            return p.If(condition, without(body, left), without(orelse, left))
        case p.For() | p.Launch():
            return replace(node, body=without(node.body, left))
    return node


def test_a_real_program_is_one_task_of_a_few_iterations() -> None:
    gemm = run_path(str(EXAMPLES / "flagships" / "gemm_sm80_tf32.py"))["gemm"]
    engines = []
    for factor in (1, 8):
        sizes = {"M": 768 * factor, "N": 1024 * factor, "K": 1024 * factor}
        found = reduced(plan_of(gemm, sizes))
        assert {found.arrays[a].name for a in kept(found)} == {"A_smem", "B_smem"}
        [tasks] = [n for n in p.nodes(found.root) if isinstance(n, p.Tasks)]
        assert [n for _, n in tasks.chosen] == [16 * factor * factor]
        assert [n.period for n in p.nodes(tasks.body) if isinstance(n, p.For) and n.period] == [2]
        engine = Engine(found)
        assert not engine.run().sightings
        engines.append(engine.statistics["ran"])
    assert engines[0] == engines[1] < 20000
