"""
Rows
====

Kernels that go through the same rows, each of which reads of the ones before it only what they made of that row, become
one kernel: a loop over the rows, and in it the kernels one after the other. What they hand on is then a row, not a
matrix, and lies in storage of the kernel's own, where a core finds it in its nearest caches. A softmax, a layer norm
and whatever else has this shape goes through memory once.

A reduction that is the same in all of a row becomes a part of its own (`loop_nests`) as well, so that what is computed
for every element of the row has no reduction in it. Each part is scheduled separately, with the loops over rows as
parameters.

While it is scheduled, a kernel has storage for all rows (`with_all_rows`): so no row waits for another one, and the
law lets them be dealt out. Storage for one row is what comes last (`with_one_row`).

*Invariant*: every part runs in every row after those whose results it reads, so no value changes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from soundline.impl.analysis import arithmetic
from soundline.impl.logs import logger
from soundline.impl.lower.graphs.loops import closed, stride
from soundline.impl.lower.graphs.obligations import assuming
from soundline.impl.lower.graphs.rebuilding import rebuilt, under
from soundline.impl.lower.graphs.views import trip_count
from soundline.impl.lower.linear.linearize import nest_of
from soundline.impl.lower.linear.loop_nests import assembled, is_row
from soundline.impl.lower.schedule import tiles
from soundline.impl.lower.schedule.applying import Scheduling, without_single
from soundline.impl.lower.schedule.heuristics import deal, nests_of
from soundline.impl.lower.schedule.schedules import Scheduled
from soundline.spec.dtypes import index
from soundline.spec.errors import ScheduleError
from soundline.spec.kernels.opt import OptOp
from soundline.spec.kernels.schema import axis_text
from soundline.spec.ops.places import base_of
from soundline.spec.uop import Op, UOp, buffer, param, substitute

HELD = 1 << 17
"""So many bytes of rows stay in the nearest caches of a core, and on the stack of a thread."""
LEAST = 64
"""A loop that does less than this in each row is better off with loops over all rows."""


# Which kernels share rows -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Member:
    """A kernel: its number, its loops, its store, and what it reads."""

    number: int
    ranges: list[UOp]
    store: UOp
    places: dict[UOp, UOp | None] = field(init=False)
    """The places that it reads, and the gate under which it does."""

    def __post_init__(self) -> None:
        loads = [n for n in under(self.store) if n.op is Op.Load]
        self.places = {n.src[0]: n.src[2] if len(n.src) > 2 else None for n in loads}
        self.places |= {n.src[0]: None for n in loads if len(n.src) == 1}

    @property
    def storage(self) -> UOp:
        """What it stores to."""
        return self.store.src[0].src[0]

    def work(self, rows: int) -> int:
        """How much it does in a row."""
        inside = [math.prod(map(trip_count, n.src[1:])) for n in under(self.store) if n.op is Op.Reduce]
        return math.prod(map(trip_count, self.ranges[rows:])) * max(inside, default=1)

    def goes_by_rows(self, rows: int) -> bool:
        """Whether rows lie apart in memory, and nothing big is used in all of them, as in a matrix product."""
        outer, inner = self.ranges[:rows], self.ranges[rows:]
        for place in (*self.places, self.store.src[0]):
            at = place.src[1]
            within = [s for r in arithmetic.ranges_of(at) - set(outer) if (s := stride(at, r)) is not None]
            across = [s for r in outer if (s := stride(at, r))]
            if within and across and min(map(abs, across)) < min(map(abs, within)):
                return False
        reductions = [n for n in under(self.store) if n.op is Op.Reduce]
        within_rows = [f for f in reductions if not arithmetic.ranges_of(f).isdisjoint(inner)]
        return all(set(outer) <= arithmetic.ranges_of(p.src[1]) for f in within_rows for p in _read_by(f))


def _read_by(root: UOp) -> Iterator[UOp]:
    return (n.src[0] for n in under(root) if n.op is Op.Load)


@dataclass(slots=True)
class _Rows:
    """Kernels that go through the same rows; at first one."""

    members: list[_Member]
    depth: int
    """How many of their loops are the loops over rows."""

    def joined(self, new: _Member) -> _Rows | None:
        """These kernels and one that reads what they store, with the most loops over rows that all can share."""
        first = self.members[0].ranges
        for depth in range(min(self.depth, len(new.ranges)), 0, -1):
            counts = [trip_count(r) for r in first[:depth]]
            if counts == [trip_count(r) for r in new.ranges[:depth]]:
                found = _Rows([*self.members, new], depth)
                if found.is_worth_it() and found.hands_on_rows(new):
                    return found
        return None

    def is_worth_it(self) -> bool:
        """Whether there is enough to do in a row, and it is near."""
        work = max(m.work(self.depth) for m in self.members)
        held = sum(self.row(m.storage) * m.storage.dtype.itemsize for m in self.members[:-1])
        return work >= LEAST and held <= HELD and all(m.goes_by_rows(self.depth) for m in self.members)

    def row(self, storage: UOp) -> int:
        """How many elements of a storage belong to a row."""
        return int(storage.arg.size) // math.prod(trip_count(r) for r in self.members[0].ranges[: self.depth])

    def hands_on_rows(self, new: _Member) -> bool:
        """Whether a kernel reads of what the others store only what is of the same row."""
        made = {m.storage: m for m in self.members[:-1]}
        return all(
            self.within(m.store.src[0], m) is not None
            for m in self.members[:-1]
            if any(p.src[0] is m.storage for p in new.places)
        ) and all(self.within(p, new) is not None for p in new.places if p.src[0] in made)

    def within(self, place: UOp, member: _Member) -> UOp | None:
        """The index inside of its row of a place; None where it may be in another one."""
        storage, at = place.src
        row = self.row(storage)
        outer = member.ranges[: self.depth]
        if row * math.prod(map(trip_count, outer)) != storage.arg.size:
            return None
        size = row
        for r in reversed(outer):
            if stride(at, r) != size:
                return None
            size *= trip_count(r)
        rest = substitute(at, {r: arithmetic.number(0) for r in outer})
        gate = member.places.get(place)
        known = arithmetic.bounds(rest if gate is None else assuming(gate, rest))
        return rest if known is not None and known.lo >= 0 and known.hi < row else None


def _member(number: int, kernel: UOp) -> _Member | None:
    """A kernel of one Store under loops; None of any other."""
    if len(kernel.src) != 1:
        return None
    ranges, store = nest_of(kernel.src[0])
    plain = store.op is Op.Store and len(store.src) == 2
    if not plain or any(p.op is not Op.Index or p.src[0].op is not Op.Buffer for p in _read_by(store)):
        return None
    return _Member(number, ranges, store)


@dataclass(slots=True)
class Group:
    """Kernels that may become one, by their numbers, and the Buffers that no one else knows."""

    numbers: list[int]
    rows: _Rows | None = None
    own: set[UOp] = field(default_factory=set)


def grouped(kernels: Sequence[UOp], given: Collection[int], temporaries: int | None) -> list[Group]:
    """The kernels in an order in which they may run, those that share rows together.

    Those with `given` schedules stay apart; Buffers from slot `temporaries` on are no one's but the kernels'.
    """
    if temporaries is None:
        return [Group([k]) for k in range(len(kernels))]
    groups: list[Group] = []
    maker: dict[UOp, int] = {}  # which group stores to a Buffer
    for k, kernel in enumerate(kernels):
        member = None if k in given else _member(k, kernel)
        at = max((maker[b] for b in under(kernel) if b in maker), default=-1)
        rows = groups[at].rows if at >= 0 and member is not None else None
        joined = rows.joined(member) if rows is not None and member is not None else None
        if joined is not None:
            groups[at].rows = joined
            groups[at].numbers.append(k)
        else:
            at = len(groups)
            groups.append(Group([k], None if member is None else _Rows([member], len(member.ranges))))
        maker |= dict.fromkeys(_buffers(kernel, Op.Store), at)
    readers: dict[UOp, set[int]] = {}
    for at, group in enumerate(groups):
        for b in (b for k in group.numbers for b in _buffers(kernels[k], Op.Load)):
            readers.setdefault(b, set()).add(at)
    for b, who in readers.items():
        if len(who) == 1 and who == {maker.get(b)} and b.arg.slot >= temporaries:
            groups[who.pop()].own.add(b)
    return groups


def _buffers(kernel: UOp, op: Op) -> set[UOp]:
    """What a kernel loads from, or stores to."""
    places = (n.src[0] for n in under(kernel) if n.op is op)
    return {p.src[0] for p in places if p.op is Op.Index and p.src[0].op is Op.Buffer}


# One kernel -------------------------------------------------------------------------------------------------------


def in_rows(
    group: Group,
    slots: Iterator[int],
    prepared: Callable[[UOp], Sequence[UOp]],
    scheduling: Callable[[Sequence[UOp]], Scheduling],
) -> tuple[UOp, list[Scheduled]] | None:
    """The kernel of a group, and what was done to each of its parts; None where its kernels stay apart, as they do
    where a step of a part is not lawful.

    `prepared` is a part before its schedule, which `scheduling` begins.
    """
    rows = group.rows
    if rows is not None and len(rows.members) == 1:
        depth = _depth_of_reductions(rows.members[0])
        rows = _Rows(rows.members, depth) if depth else None
    if rows is None:
        return None
    try:
        return _scheduled_rows(rows, group.own, slots, prepared, scheduling)
    except ScheduleError as refusal:
        logger("optimize").warning("a schedule of rows is not lawful: %s", refusal)
        return None


def _scheduled_rows(
    rows: _Rows,
    own: set[UOp],
    slots: Iterator[int],
    prepared: Callable[[UOp], Sequence[UOp]],
    scheduling: Callable[[Sequence[UOp]], Scheduling],
) -> tuple[UOp, list[Scheduled]] | None:
    loops = rows.members[0].ranges[: rows.depth]
    known = {r: param(k, index, bounds=(0, trip_count(r) - 1)) for k, r in enumerate(loops)}
    back = {p: r for r, p in known.items()}
    parts: list[UOp] = []
    told: list[Scheduled] = []
    for member, nests in _parts(rows, own, slots):
        steps, axes = list[OptOp](), list[str]()
        for nest in nests:
            ready = Op.Sink(*prepared(substitute(nest, known)))
            made = nests_of(scheduling(with_all_rows(ready, known).src), tiles.this_machine())
            if made.packing():
                return None
            steps += made.steps
            axes += list(map(axis_text, made.axes))
            parts += [substitute(without_single(n), back) for n in with_one_row(made.sink, ready).src]
        text = " ".join([*map(axis_text, loops), *axes])
        told.append(Scheduled(member.number, text, tuple(steps), "heuristics, by rows", int(not told)))
    sink = Op.Sink(assembled(loops, parts))
    whole = scheduling(with_all_rows(sink, {r: r for r in loops}).src)
    deal(whole, sink.src[0])
    told[0] = replace(told[0], beside=(whole.steps,))
    return Op.Sink(*map(without_single, with_one_row(whole.sink, sink).src)), told


def with_all_rows(sink: UOp, rows: Mapping[UOp, UOp]) -> UOp:
    """A kernel with storage for all rows where it has storage for one, which it writes and reads in every row; `rows`
    are the loops over rows, and their indices in the kernel.
    """
    sizes = [trip_count(r) for r in rows]
    row = arithmetic.flatten(rows.values(), sizes)

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node.op is Op.Buffer and is_row(node):
            return buffer(node.arg.slot, node.arg.size * math.prod(sizes), node.dtype)
        if node.op is Op.Index and is_row(base_of(node.src[0])):
            first = Op.Mul(row, arithmetic.number(base_of(node.src[0]).arg.size))
            return Op.Index(src[0], Op.Add(first, src[1]))
        return None

    return rebuilt(sink, change)


def with_one_row(sink: UOp, before: UOp) -> UOp:
    """A scheduled kernel with storage for one row, as it was before `with_all_rows`."""
    rows = {n.arg.slot: n for n in under(before) if is_row(n)}
    one = {n: rows[n.arg.slot] for n in under(sink) if n.op is Op.Buffer and n.arg.slot in rows}

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node.op is Op.Index and base_of(node.src[0]) in one:
            return Op.Index(src[0], src[1].src[1])  # without the first element of the row
        return one.get(node)

    return rebuilt(sink, change)


def _parts(rows: _Rows, own: set[UOp], slots: Iterator[int]) -> Iterator[tuple[_Member, list[UOp]]]:
    """The parts of each member, in the loops over rows of the first; what is the group's own is a row."""
    loops = rows.members[0].ranges[: rows.depth]
    held = {
        m.storage: buffer(next(slots), rows.row(m.storage), m.storage.dtype, addrspace="REG")
        for m in rows.members
        if m.storage in own
    }
    for member in rows.members:
        shared = dict(zip(member.ranges[: rows.depth], loops, strict=True))
        places: dict[UOp, UOp] = {}
        for place in (*member.places, member.store.src[0]):
            if place.src[0] in held:
                rest = rows.within(place, member)
                assert rest is not None
                places[place] = Op.Index(held[place.src[0]], rest)
        store = substitute(substitute(member.store, places), shared)
        yield member, list(with_scalars_apart(store, loops, member.ranges[rows.depth :], slots))


def _depth_of_reductions(member: _Member) -> int:
    """How many loops the reductions need that the loops inside of these do not change; 0 where there are none."""
    deepest = 0
    for reduction in (n for n in under(member.store) if n.op is Op.Reduce):
        depth = max(
            (k for k, r in enumerate(member.ranges, 1) if r in arithmetic.ranges_of(reduction)), default=0
        )
        free = arithmetic.ranges_of(reduction) <= set(member.ranges)
        if free and depth < len(member.ranges):
            deepest = max(deepest, depth)
    worth = deepest and member.work(deepest) >= LEAST and member.goes_by_rows(deepest)
    return deepest if worth else 0


def with_scalars_apart(
    store: UOp, rows: Sequence[UOp], ranges: Sequence[UOp], slots: Iterator[int]
) -> Iterator[UOp]:
    """Parts for the reductions that the loops of a part do not change, and the part that reads what they found."""
    found: dict[UOp, UOp] = {}
    for node in _unchanged_reductions(store, frozenset(rows)) if ranges else ():
        storage = buffer(next(slots), 1, node.dtype, addrspace="REG")
        place = Op.Index(storage, arithmetic.number(0))
        yield Op.Store(place, substitute(node, found))
        found[node] = Op.Load(place)
    yield closed(substitute(store, found), ranges)


def _unchanged_reductions(store: UOp, rows: frozenset[UOp]) -> list[UOp]:
    """What is made of reductions and is the same in all of a row: as much at a time as can be, no reduction twice."""
    reduced: set[UOp] = set()  # what has a reduction in it
    for node in under(store):
        if node.op is Op.Reduce or not reduced.isdisjoint(node.src):
            reduced.add(node)
    wanted: dict[UOp, None] = {}
    stack = [store]
    while stack:
        node = stack.pop()
        if node in reduced and node not in wanted:
            value = node.shape is not None and node.dtype is not index
            if value and arithmetic.ranges_of(node) <= rows:
                wanted[node] = None
            else:
                stack.extend(node.src)
    inside = Counter(n for w in wanted for n in under(w) if n.op is Op.Reduce)
    wanted |= {n: None for n, count in inside.items() if count > 1 and arithmetic.ranges_of(n) <= rows}
    return [n for n in under(store) if n in wanted]
