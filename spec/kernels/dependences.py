"""
Dependences between iterations
==============================

Two iterations of a nest *meet* where one writes a place that the other reads or writes. What may be done to the order
of a nest depends on where its iterations meet, told by *direction vectors*: for each axis whether the later of two
iterations that meet has a greater (1), an equal (0) or a smaller (-1) value on it.

`directions` finds them exactly in three cases: all accesses of a place have one index that tells iterations apart; or
each iteration accesses only a block of its own; or the iterations are few enough to be listed and no address depends on
memory. In all other cases they are unknown. An unknown dependence is never treated as independence. A Param in an index
is one number for all iterations. So is an axis around the nest, and every value that is made of these and of memory
that the nest does not write.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from soundline.spec.arrays.arrays import INVALID
from soundline.spec.evaluate import LAWS
from soundline.spec.evaluation.frames import Frame, Program
from soundline.spec.evaluation.memory import Bytes
from soundline.spec.ops import bodies
from soundline.spec.ops.node import Op, UOp, toposort
from soundline.spec.ops.places import base_of
from soundline.spec.ops.sizes import polynomial

Vector = tuple[int, ...]
"""A sign for each axis of a nest, outermost first; the first that is not 0 is 1."""

LIMIT = 4096
"""The most iterations that are listed."""


@dataclass(frozen=True, slots=True)
class Touch:
    """An access of a Buffer or Param in a nest: the index, and the gate under which it happens."""

    base: UOp
    index: UOp | None
    """None where the place is no single element at an index."""
    gate: UOp | None
    writes: bool
    atomic: bool
    """An AtomicAdd of integers: two of them meet without harm in any order."""


def touches(body: UOp, nest: Sequence[UOp] = ()) -> list[Touch]:
    """Every access of memory in the body of a nest.

    An effect that the body comes after, and that depends on no axis of the nest, has happened before the nest starts.
    """
    found = []
    for node in _repeated(body, nest) if nest else toposort(body):
        if node.op is Op.Load and base_of(node.src[0]).op in (Op.Buffer, Op.Param):
            gate = node.src[2] if len(node.src) > 2 else None
            found.append(_touch(node.src[0], gate, writes=False, atomic=False))
        elif node.op is Op.Store:
            found.append(
                _touch(node.src[0], node.src[2] if len(node.src) > 2 else None, writes=True, atomic=False)
            )
        elif node.op is Op.AtomicAdd:
            found.append(_touch(node.src[0], None, writes=True, atomic=not node.src[1].dtype.is_float))
    return found


def _repeated(body: UOp, nest: Sequence[UOp]) -> list[UOp]:
    """The nodes of a body, sources first, without the effects that have happened before its nest starts."""

    def below(node: UOp) -> tuple[UOp, ...]:
        if node.op is not Op.After:
            return node.src
        return (node.src[0], *(e for e in node.src[1:] if not bodies.free_ranges(e).isdisjoint(nest)))

    return list(toposort(body, below=below))


def _touch(place: UOp, gate: UOp | None, *, writes: bool, atomic: bool) -> Touch:
    under = place.src[0] if place.op is Op.Index else place
    while under.op is Op.After:
        under = under.src[0]
    single = place.op is Op.Index and len(place.src) == 2 and place.src[1].shape == ()
    known = single and under.op in (Op.Buffer, Op.Param)
    return Touch(base_of(place), place.src[1] if known else None, gate, writes, atomic)


def directions(body: UOp, nest: Sequence[UOp], private: Collection[str] = ()) -> frozenset[Vector] | None:
    """The direction vectors of iterations of `nest` that meet; None where they are not known.

    `nest` are Ranges from one of the kernel inward; axes inside of them belong to the body. In the `private` address
    spaces every iteration has storage of its own, where none meet.
    """
    found: set[Vector] = set()
    by_base: dict[UOp, list[Touch]] = {}
    for touch in touches(body, nest):
        if touch.base.op is not Op.Buffer or touch.base.arg.addrspace not in private:
            by_base.setdefault(touch.base, []).append(touch)
    around = {r for r in bodies.free_ranges(body) if r.op is Op.Range and r not in nest}
    fixed = _Fixed(around, {base for base, group in by_base.items() if any(t.writes for t in group)})
    for group in by_base.values():
        if any(t.writes for t in group) and not all(t.atomic for t in group):
            meeting = _told_apart(group, nest, fixed)
            if meeting is None:
                meeting = blocks = _in_blocks(group, nest)
                if blocks is None or blocks:
                    listed = _listed(group, nest)
                    meeting = blocks if listed is None else listed
            if meeting is None:
                return None
            found |= meeting
    return frozenset(found)


Directions = Callable[[UOp, Sequence[UOp]], frozenset[Vector] | None]
"""What knows the direction vectors of the iterations of a nest."""


def carries(found: frozenset[Vector] | None, at: int) -> bool | None:
    """Whether axis `at` carries a dependence: iterations meet that agree on the axes around it, and not on it."""
    if found is None:
        return None
    return any(not any(v[:at]) and v[at] for v in found)


def carried(body: UOp, nest: Sequence[UOp], at: int, known: Directions = directions) -> bool | None:
    """Whether axis `at` of a nest carries a dependence; None where it is not known. Iterations that agree on the axes
    around it are those of a nest inside of these.
    """
    for r in reversed(nest[at + 1 :]):
        body = Op.End(body, r)
    found = carries(known(body, nest[: at + 1]), at)
    return carries(known(body, nest[at : at + 1]), 0) if found is None and at else found


def reverses(found: frozenset[Vector] | None, order: Sequence[int]) -> bool | None:
    """Whether running the axes in another order reverses the order of two iterations that meet."""
    if found is None:
        return None
    return any(tuple(v[k] for k in order) < (0,) * len(order) for v in found)


# One index that tells iterations apart ----------------------------------------------------------------------------


def _count(axis: UOp) -> int | None:
    return int(axis.src[0].arg.value) if axis.src[0].op is Op.Const else None


@dataclass(frozen=True, slots=True)
class _Fixed:
    """What is one number for all iterations of a nest."""

    around: Collection[UOp]
    written: Collection[UOp]

    def holds(self, term: tuple[UOp, ...]) -> bool:
        """Whether a term of an index is: it depends on no axis but those around the nest, and on nothing written."""
        inside = [n for factor in term for n in toposort(factor) if n not in self.around]
        return not any(n.op in (Op.Range, Op.Special) or n in self.written for n in inside)


def _told_apart(group: Sequence[Touch], nest: Sequence[UOp], fixed: _Fixed) -> set[Vector] | None:
    """The vectors of iterations that agree on every axis of the one index, whose strides are a mixed radix."""
    if len({t.index for t in group}) > 1 or group[0].index is None:
        return None
    strides: list[tuple[int, UOp]] = []
    for term, factor in polynomial(group[0].index).terms.items():
        if fixed.holds(term):
            continue
        if len(term) > 1 or term[0].op is not Op.Range:
            return None
        strides.append((abs(factor), term[0]))
    return _apart(strides, 0, nest)


def _apart(strides: Sequence[tuple[int, UOp]], span: int, nest: Sequence[UOp]) -> set[Vector] | None:
    """The vectors of iterations that agree on every axis with a stride, where each stride is longer than what the
    shorter ones and `span` elements around a place reach; None where one is not. How far the longest reaches does not
    matter.
    """
    for k, (stride, r) in enumerate(sorted(strides, key=lambda s: s[0]), 1):
        count = _count(r)
        if (count is None and k < len(strides)) or (stride <= span and count not in (0, 1)):
            return None
        span += stride * max((count or 1) - 1, 0)
    told = {r for _, r in strides}
    signs = [(0,) if r in told or _count(r) in (0, 1) else (-1, 0, 1) for r in nest]
    return {v for v in itertools.product(*signs) if v > (0,) * len(v)}


# Blocks -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Block:
    """The places that an iteration accesses at one index: from `first` to `last`, beside what the axes of the nest and
    what is fixed make of it.
    """

    moved_by: dict[tuple[UOp, ...], int]
    first: int
    last: int


def _in_blocks(group: Sequence[Touch], nest: Sequence[UOp]) -> set[Vector] | None:
    """The vectors of iterations that agree on every axis that moves the block in which all accesses of one lie."""
    blocks = [_block(touch, nest) for touch in group]
    known = [b for b in blocks if b is not None]
    if len(known) < len(blocks) or any(b.moved_by != known[0].moved_by for b in known):
        return None
    width = max(b.last for b in known) - min(b.first for b in known)
    moving = [(abs(factor), r) for (r,), factor in known[0].moved_by.items() if r.op is Op.Range]
    return _apart(moving, width, nest)


def _block(touch: Touch, nest: Sequence[UOp]) -> _Block | None:
    """The block of an access; None where its index is no sum of axes, each times a number."""
    if touch.index is None:
        return None
    moved_by: dict[tuple[UOp, ...], int] = {}
    inside: dict[UOp, int] = {}
    constant = 0
    for term, factor in polynomial(touch.index).terms.items():
        if not term:
            constant += factor
        elif len(term) > 1:
            return None
        elif term[0].op is Op.Param or term[0] in nest:
            moved_by[term] = factor
        elif term[0].op is Op.Range and _count(term[0]) is not None:
            inside[term[0]] = factor
        else:
            return None
    asked = _asked_by(touch.gate, nest)
    chosen = [
        sum(inside.get(r, 0) * v for r, v in zip(asked, values, strict=True))
        for values in _open(touch, asked)
    ]
    free = [factor * max((_count(r) or 1) - 1, 0) for r, factor in inside.items() if r not in asked]
    first = constant + min(chosen, default=0) + sum(min(0, reach) for reach in free)
    last = constant + max(chosen, default=0) + sum(max(0, reach) for reach in free)
    return _Block(moved_by, first, last)


def _asked_by(gate: UOp | None, nest: Sequence[UOp]) -> tuple[UOp, ...]:
    """The axes inside the nest on which alone a gate depends; none where it depends on more, or they are too many to
    list.
    """
    if gate is None or any(n.op in (Op.Load, Op.Buffer, Op.Param) for n in bodies.own_nodes(gate)):
        return ()
    program = Program(LAWS, {}, {}, {})
    program.learn(gate)
    axes = tuple(program.free[gate])
    counts = [_count(r) if r.op is Op.Range and r not in nest else None for r in axes]
    if None in counts or math.prod(c for c in counts if c is not None) > LIMIT:
        return ()
    return axes


def _open(touch: Touch, axes: Sequence[UOp]) -> list[Vector]:
    """The iterations of some axes in which the gate of an access is open; the one of no axes, if none are given."""
    if touch.gate is None or not axes:
        return [()]
    program = Program(LAWS, {}, {}, {})
    program.learn(touch.gate)
    return [
        values
        for values, frame in _iterations(Frame(program, Bytes()), axes)
        if frame.value(touch.gate).elements[0] not in (False, INVALID)
    ]


# Few iterations ---------------------------------------------------------------------------------------------------


def _listed(group: Sequence[Touch], nest: Sequence[UOp]) -> set[Vector] | None:
    """The vectors of all pairs of iterations that meet, by listing them."""
    at: dict[object, set[tuple[Vector, bool, bool]]] = {}
    for touch in group:
        visits = _visits(touch, nest)
        if visits is None:
            return None
        for address, iteration in visits:
            at.setdefault(address, set()).add((iteration, touch.writes, touch.atomic))
    found: set[Vector] = set()
    for meeting in at.values():
        for (v, v_writes, v_atomic), (w, w_writes, w_atomic) in itertools.combinations(meeting, 2):
            if v != w and (v_writes or w_writes) and not (v_atomic and w_atomic):
                first, last = min(v, w), max(v, w)
                found.add(tuple((b > a) - (b < a) for a, b in zip(first, last, strict=True)))
    return found


def _visits(touch: Touch, nest: Sequence[UOp]) -> list[tuple[object, Vector]] | None:
    """The address that each iteration of the nest touches; None where they are too many, or depend on memory."""
    if touch.index is None:
        return None
    asked = [touch.index] if touch.gate is None else [touch.index, touch.gate]
    program = Program(LAWS, {}, {}, {})
    program.learn(*asked)
    if any(n.op in (Op.Load, Op.Buffer, Op.Param) for a in asked for n in bodies.own_nodes(a)):
        return None
    free = frozenset[UOp]().union(*(program.free[a] for a in asked))
    axes = [*nest, *(r for r in free if r not in nest)]
    total = 1
    for axis in axes:
        count = _count(axis)
        if count is None or axis.op is not Op.Range:
            return None
        total *= count
    if total > LIMIT:
        return None
    return [
        (frame.value(touch.index).elements[0], values[: len(nest)])
        for values, frame in _iterations(Frame(program, Bytes()), axes)
        if touch.gate is None or frame.value(touch.gate).elements[0] not in (False, INVALID)
    ]


def _iterations(frame: Frame, axes: Sequence[UOp], values: Vector = ()) -> Iterator[tuple[Vector, Frame]]:
    if not axes:
        yield values, frame
        return
    for at in range(int(axes[0].src[0].arg.value)):
        yield from _iterations(frame.iteration(axes[0], at), axes[1:], (*values, at))
