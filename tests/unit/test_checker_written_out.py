"""What reductions say of random terms, asked of iterations written out: periods of loops, and equal tasks.

What is compared here is read from the nodes alone, not from the terms that the reductions go by: one that they forget
is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any, Literal

import pytest

from soundline.impl.spork.checker.planning import plan as p
from soundline.impl.spork.checker.reducing.periods import with_periods
from soundline.impl.spork.checker.reducing.symmetry import with_classes
from soundline.spec.dtypes import float32
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Const, Name
from soundline.spec.spork.language.statements import Assign
from soundline.spec.spork.library.memories import CudaSmemLinear
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.timelines import IO_RAM, InstrTl, sync_tl
from soundline.spec.spork.synchronization.visibility import Kind

SEEDS = 120
STATEMENT = Assign(Name("x"), Const(0))
COMPARISONS = (Op.CmpLt, Op.CmpLe, Op.CmpGt, Op.CmpGe, Op.CmpEq, Op.CmpNe)

# Writing out ------------------------------------------------------------------------------------------------------


IN_PYTHON = {
    **dict(zip(COMPARISONS, ("<", "<=", ">", ">=", "==", "!="), strict=True)),
    Op.Add: "+",
    Op.Sub: "-",
    Op.Mul: "*",
    Op.Idiv: "//",
    Op.Mod: "%",
    Op.And: "&",
    Op.Or: "|",
}


def text(term: p.Term) -> str:
    """A term in Python; what is divided by here is positive."""
    match term:
        case p.Var(number):
            return f"v[{number}]"
        case p.Applied(Op.Not, (x,)):
            return f"(not {text(x)})"
        case p.Applied(Op.Max, (x, y)):
            return f"max({text(x)}, {text(y)})"
        case p.Applied(Op.Where, (x, y, z)):
            return f"({text(y)} if {text(x)} else {text(z)})"
        case p.Applied(op, (x, y)):
            return f"({text(x)} {IN_PYTHON[op]} {text(y)})"
        case p.Applied(Op.Neg, (x,)):
            return f"(-{text(x)})"
    return str(term)


@cache
def compiled(term: p.Term) -> Callable[[Mapping[int, int]], int]:
    found: Callable[[Mapping[int, int]], int] = eval(f"lambda v: int({text(term)})")
    return found


def value(term: p.Term, at: Mapping[int, int]) -> int:
    """A term where the iterators have these values."""
    return term if isinstance(term, int) else compiled(term)(at)


def done(node: p.Node, at: Mapping[int, int]) -> Iterator[tuple[Any, ...]]:
    """What a node does there, as numbers."""
    match node:
        case p.Block(nodes):
            for part in nodes:
                yield from done(part, at)
        case p.If(condition, body, orelse):
            yield from done(body if value(condition, at) else orelse, at)
        case p.For():
            for k in range(value(node.lo, at), value(node.hi, at)):
                yield from done(node.body, {**at, node.var.number: k})
        case p.Action(place, touches, trailing):
            firsts = [value(region.first, at) for touch in touches for region in touch.regions]
            queues = [tuple(value(x, at) for x in queue.at) for queue in trailing]
            yield place.path, shift(place.threads, at), *firsts, *(shift(t.by, at) for t in touches), *queues
        case p.Await(place, queue):
            yield place.path, shift(place.threads, at), *(value(x, at) for x in queue.at)
        case p.Check(place, condition):
            yield place.path, value(condition, at)
        case p.Alloc(place, number) | p.Free(place, number):
            yield place.path, number, shift(place.threads, at)
        case p.BarrierAlloc(place, number):
            yield place.path, number, "barriers"
        case _:
            raise AssertionError(node)


def shift(threads: p.Threads | None, at: Mapping[int, int]) -> Any:
    return None if threads is None else (threads.intervals, value(threads.shift, at))


# Drawing ----------------------------------------------------------------------------------------------------------


class Drawing:
    """Random bodies, whose terms often have a rest, a comparison or a quotient by which they repeat."""

    def __init__(self, seed: int) -> None:
        self.random = Random(f"terms {seed}")
        self.vars = 0
        self.position = 0

    def var(self) -> p.Var:
        self.vars += 1
        return p.Var(self.vars - 1, f"v{self.vars - 1}")

    def sum(self, known: list[p.Var], depth: int = 2) -> p.Term:
        """A sum of iterators, with other numbers of control among them."""
        random = self.random
        found: p.Term = random.randint(-6, 6)
        for _ in range(random.randint(1, 3)):
            part: p.Term = (
                random.choice(known) if random.random() < 0.8 or depth <= 0 else self.number(known, depth)
            )
            factor = random.choice((1, 1, 1, 2, 3, -1, -2, 4))
            found = p.Applied(
                random.choice((Op.Add, Op.Add, Op.Sub)), (found, p.Applied(Op.Mul, (part, factor)))
            )
        return found

    def number(self, known: list[p.Var], depth: int = 2) -> p.Term:
        """A number that repeats, more often than not."""
        random = self.random
        draw = random.random()
        if draw < 0.55:
            return p.Applied(Op.Mod, (self.sum(known, depth - 1), random.choice((1, 2, 3, 4, 6))))
        if draw < 0.7:
            return p.Applied(Op.Idiv, (self.sum(known, depth - 1), random.choice((2, 3, 5, 7))))
        if draw < 0.78 and depth > 0:
            return p.Applied(Op.Max, (self.number(known, depth - 1), random.randint(-3, 9)))
        if draw < 0.88 and depth > 0:
            chosen = self.number(known, depth - 1), self.number(known, depth - 1)
            return p.Applied(Op.Where, (self.condition(known, depth - 1), *chosen))
        if draw < 0.94:
            return random.randint(0, 9)
        return self.sum(known, 0)

    def condition(self, known: list[p.Var], depth: int = 2) -> p.Term:
        """A comparison, or some of them."""
        random = self.random
        draw = random.random()
        if draw < 0.15 and depth > 0:
            operands = self.condition(known, depth - 1), self.condition(known, depth - 1)
            return p.Applied(random.choice((Op.And, Op.Or)), operands)
        if draw < 0.2 and depth > 0:
            return p.Applied(Op.Not, (self.condition(known, depth - 1),))
        one = self.sum(known, depth - 1) if random.random() < 0.75 else self.number(known, depth - 1)
        other: p.Term = (
            random.randint(-9, 40) if random.random() < 0.8 else self.number(known, max(depth - 1, 0))
        )
        return p.Applied(random.choice(COMPARISONS), (one, other) if random.random() < 0.8 else (other, one))

    def placed(self, known: list[p.Var]) -> p.Placed:
        self.position += 1
        moves = bool(known) and self.random.random() < 0.2
        who = p.Threads(((0, 32),), self.number(known) if moves else 0)
        return p.Placed((0, self.position), STATEMENT, who, InstrTl.cuda_in_order)

    def node(self, known: list[p.Var], depth: int, arrays: int = 0) -> p.Node:
        """A node in the loops of these iterators."""
        random = self.random
        draw = random.random()
        if draw < 0.3 and depth > 0:
            body = self.block(known, depth - 1, arrays)
            orelse = self.block(known, depth - 1, arrays) if random.random() < 0.3 else p.Block()
            return p.If(self.condition(known), body, orelse)
        if draw < 0.5 and depth > 0:
            var, lo, hi = self.var(), random.randint(-2, 2), random.randint(2, 5)
            last = hi if random.random() < 0.75 else p.Applied(Op.Max, (self.number(known, 1), 1))
            if not isinstance(last, int):
                last = p.Applied(Op.Mod, (last, 5))
            kind: Literal["seq", "threads"] = "seq" if random.random() < 0.7 else "threads"
            return p.For(
                self.placed(known), kind, var, lo, last, self.block([*known, var], depth - 1, arrays)
            )
        if draw < 0.6:
            queue = p.Queue(0, (self.number(known),))
            return p.Await(self.placed(known), queue, sync_tl("cuda_in_order"), ~0, BarrierType.CudaMbarrier)
        if draw < 0.65:
            return p.Check(self.placed(known), self.condition(known))
        by = p.Threads(((0, 1),), self.number(known)) if random.random() < 0.2 else None
        touch = p.Touch("x", Kind.write, IO_RAM, (p.Region(arrays, self.number(known)),), by=by)
        trailing = (p.Queue(0, (self.number(known),)),) if random.random() < 0.2 else ()
        return p.Action(self.placed(known), (touch,), trailing, 1)

    def block(self, known: list[p.Var], depth: int, arrays: int = 0) -> p.Block:
        return p.Block(tuple(self.node(known, depth, arrays) for _ in range(self.random.randint(1, 2))))


# Periods ----------------------------------------------------------------------------------------------------------


def wrong_periods(node: p.Node, at: Mapping[int, int]) -> Iterator[tuple[p.For, Any]]:
    """Loops of which a period is said that is none, with the iterators around."""
    match node:
        case p.Block(nodes):
            for part in nodes:
                yield from wrong_periods(part, at)
        case p.If(_, body, orelse):
            yield from wrong_periods(body, at)
            yield from wrong_periods(orelse, at)
        case p.For():
            lo, hi = value(node.lo, at), value(node.hi, at)
            own = [list(done(node.body, {**at, node.var.number: k})) for k in range(lo, hi)]
            if node.period is not None:
                ends = sorted({lo, hi, *(c for c in (value(c, at) for c in node.cuts) if lo < c < hi)})
                for begin, end in pairwise(ends):
                    for k in range(begin, end - node.period):
                        if own[k - lo] != own[k + node.period - lo]:
                            yield node, (dict(at), k)
            for k in range(lo, hi):
                yield from wrong_periods(node.body, {**at, node.var.number: k})


def with_period(drawing: Drawing) -> p.Node:
    """A loop with a body, perhaps in another loop, with what is said of them."""
    outer, inner = drawing.var(), drawing.var()
    random = drawing.random
    lo = random.randint(-3, 3)
    hi: p.Term = lo + random.randint(12, 40)
    if random.random() < 0.4:
        hi = p.Applied(Op.Add, (hi, outer))
    loop = p.For(drawing.placed([outer]), "seq", inner, lo, hi, drawing.block([outer, inner], 2))
    whole = p.For(drawing.placed([]), "seq", outer, 0, random.randint(1, 7), p.Block((loop,)))
    return with_periods(p.Block((whole,)), ())


def test_iterations_between_cuts_repeat() -> None:
    found = 0
    for seed in range(SEEDS):
        root = with_period(Drawing(seed))
        wrong = next(wrong_periods(root, {}), None)
        assert wrong is None, (seed, wrong)
        found += any(isinstance(n, p.For) and n.period is not None for n in p.nodes(root))
    assert found > SEEDS // 8


def test_cuts_are_where_comparisons_turn() -> None:
    """A condition in an inner loop, which turns at some iterations of the outer one."""
    for seed in range(2 * SEEDS):
        drawing = Drawing(seed)
        random = drawing.random
        outer, k, i = (drawing.var() for _ in range(3))
        sums: list[p.Term] = [
            p.Applied(Op.Mul, (x, random.choice((-3, -2, -1, 1, 2, 4)))) for x in (k, i, outer)
        ]
        one = p.Applied(Op.Add, (sums[0], sums[1] if random.random() < 0.8 else random.randint(-9, 9)))
        other = p.Applied(Op.Add, (sums[2], random.randint(-60, 60)))
        condition = p.Applied(random.choice(COMPARISONS), random.choice(((one, other), (other, one))))
        if random.random() < 0.2:
            condition = p.Applied(Op.CmpEq, (p.Applied(Op.Idiv, (sums[0], random.randint(4, 19))), 1))
        check = p.Check(drawing.placed([]), condition)
        lo = random.randint(-4, 9)
        kind: Literal["seq", "threads"] = random.choice(("seq", "threads"))
        inner = p.For(drawing.placed([]), kind, i, lo, lo + random.randint(1, 6), p.Block((check,)))
        loop = p.For(drawing.placed([]), "seq", k, random.randint(-5, 3), 24, p.Block((inner,)))
        root = with_periods(p.Block((p.For(drawing.placed([]), "seq", outer, -1, 2, p.Block((loop,))),)), ())
        assert next(wrong_periods(root, {}), None) is None, seed
        assert any(isinstance(n, p.For) and n.var == k and n.period == 1 for n in p.nodes(root)), seed


# Tasks ------------------------------------------------------------------------------------------------------------


def compared(drawing: Drawing, known: list[p.Var]) -> p.Block:
    """A condition that some tasks meet always, some never and some at times, in two inner loops."""
    random, nodes = drawing.random, []
    factors = [random.choice((-3, -2, -1, 0, 1, 2)) for _ in range(4)]
    op, number, sides = random.choice(COMPARISONS), random.randint(-9, 9), random.choice((1, -1))
    for _ in range(2):
        i, lo = drawing.var(), random.randint(-4, 4)
        sums: list[p.Term] = [p.Applied(Op.Mul, (x, f)) for x, f in zip((*known, i), factors, strict=True)]
        one = p.Applied(Op.Add, (sums[1], p.Applied(Op.Add, (sums[2], sums[3]))))
        condition = p.Applied(op, (one, p.Applied(Op.Add, (sums[0], number)))[::sides])
        check = p.If(condition, p.Block((p.Check(drawing.placed([]), 1),)), p.Block())
        nodes.append(p.For(drawing.placed([]), "seq", i, lo, lo + random.randint(1, 4), p.Block((check,))))
    return p.Block(tuple(nodes))


def tasks_of(drawing: Drawing, compares: bool) -> tuple[p.Block, p.For]:
    """A launch of some tasks with an array and barriers of their own, in a loop of the CPU, and the nest."""
    random = drawing.random
    step, m, n = drawing.var(), drawing.var(), drawing.var()
    body = compared(drawing, [step, m, n]) if compares else drawing.block([step, m, n], 2)
    place = p.Placed((0, 0), STATEMENT, None, InstrTl.cuda_in_order)
    begun = p.BarrierAlloc(place, 0), p.Alloc(place, 0)
    bound: p.Term = random.randint(1, 6) if random.random() < 0.7 else p.Applied(Op.Add, (m, 1))
    inner = p.For(place, "tasks", n, 0, bound, p.Block((*begun, *body.nodes, p.Free(place, 0))), is_task=True)
    nest = p.For(place, "tasks", m, random.randint(-1, 1), random.randint(2, 6), p.Block((inner,)))
    launch = p.Launch(place, 64, 1, 4, p.Block((nest,)))
    return p.Block((p.For(place, "seq", step, 0, 2, p.Block((launch,))),)), nest


def written(nest: p.For, at: Mapping[int, int]) -> dict[tuple[int, ...], list[Any]]:
    """What each task of a nest of two loops does, in the order of the program."""
    inner = nest.body.nodes[0]
    assert isinstance(inner, p.For)
    found: dict[tuple[int, ...], list[Any]] = {}
    for m in range(value(nest.lo, at), value(nest.hi, at)):
        own = {**at, nest.var.number: m}
        for n in range(value(inner.lo, own), value(inner.hi, own)):
            found[m, n] = list(done(inner.body, {**own, inner.var.number: n}))
    return found


@pytest.mark.parametrize("compares", [False, True])
def test_a_task_stands_for_equal_ones_behind_it(compares: bool) -> None:
    reduced = 0
    for seed in range(SEEDS):
        root, nest = tasks_of(Drawing(seed), compares)
        array = p.Array(0, "x", float32, (64,), CudaSmemLinear, (p.Threads(((0, 64),)),), IO_RAM)
        told = [n for n in p.nodes(with_classes(root, (array,))) if isinstance(n, p.Tasks)]
        if not told:
            continue
        alike: Any = {}
        steps = [written(nest, {0: k}) for k in range(2)]
        for at in steps[0]:
            alike.setdefault(repr([step[at] for step in steps]), []).append(at)
        counts = dict.fromkeys(alike, 0)
        first = {at: key for key, group in alike.items() for at in group}
        for at, count in told[0].chosen:
            counts[first[at]] += count
        assert counts == {key: len(group) for key, group in alike.items()}, seed
        assert {group[0] for group in alike.values()} <= {at for at, _ in told[0].chosen}, seed
        assert [at for at, _ in told[0].chosen] == sorted(at for at, _ in told[0].chosen), seed
        reduced += len(told[0].chosen) < len(first)
    assert reduced > SEEDS // 8


@pytest.mark.parametrize("shared", ["array", "barriers"])
def test_tasks_that_share_something_are_all_run(shared: str) -> None:
    place = p.Placed((0, 0), STATEMENT, None, InstrTl.cuda_in_order)
    touch = p.Touch("x", Kind.write, IO_RAM, (p.Region(0, 0),))
    uses = p.Action(place, (touch,), (p.Queue(0, ()),), 1)
    own = {"array": (p.BarrierAlloc(place, 0),), "barriers": (p.Alloc(place, 0),)}[shared]
    both = p.BarrierAlloc(place, 0), p.Alloc(place, 0)
    array = p.Array(0, "x", float32, (64,), CudaSmemLinear, (p.Threads(((0, 64),)),), IO_RAM)
    for begun, alone in ((own, False), (both, True)):
        nest = p.For(place, "tasks", p.Var(0, "t"), 0, 9, p.Block((*begun, uses)), is_task=True)
        root = with_classes(p.Block((p.Launch(place, 64, 1, 4, p.Block((nest,))),)), (array,))
        told = [n.chosen for n in p.nodes(root) if isinstance(n, p.Tasks)]
        assert told == ([(((0,), 9),)] if alone else [])
