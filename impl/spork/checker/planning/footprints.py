"""
Footprints of instructions
==========================

Which elements of which operand the body of an instruction touches, relative to what the operand is given, in the order
of first use (`spec.spork.machine.values.Recorder`). The body is not executed: of each access those iterators are
written out that its index depends on, which leaves the order of first uses what it is, for the others are at their
first value then. That is asked once for an instruction and its numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundline.spec.dtypes import index
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Apply, Binary, Const, Expr, Index, Name, Unary, walk
from soundline.spec.spork.language.statements import Assign, For, If, Reduce, Statement
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.synchronization.visibility import Kind
from soundline.spec.values.elementwise import ELEMENTWISE

Numbers = NDArray[np.int64]
Control = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of the body around an access: its iterator and its bounds."""

    iterator: str
    lo: Expr
    hi: Expr


@dataclass(frozen=True, slots=True)
class Access:
    """A place where the body touches an argument."""

    operand: str
    kind: Kind
    indices: tuple[Expr, ...] | None
    """None for a scalar that is given as a value."""
    around: tuple[Loop | tuple[Expr, bool], ...]
    """Loops and conditions, outermost first; a condition holds or does not."""
    time: tuple[int | str, ...]
    """When it is: positions of statements, branches and iterators in turn, and the place in the last statement."""
    target: tuple[str, tuple[Expr, ...]] | None = None
    """Of a load, what is computed of it: the argument that is written, and its index."""


@dataclass(frozen=True, slots=True)
class Use:
    """What is touched of one operand in one way: indices of its view, a row for each element, in order of first use."""

    operand: str
    kind: Kind
    elements: Numbers | None
    """None for a scalar that is given as a value."""
    users: tuple[tuple[str, Numbers, Numbers], ...] = ()
    """Of reads: what is computed of which element. An operand, the number of an element here for each time that it is
    read, and the index there of what is written.
    """


@dataclass(frozen=True, slots=True)
class Footprint:
    """What an instruction touches: reads, then writes."""

    uses: tuple[Use, ...]
    inside: bool
    """Whether every index is within the sizes of its operand."""


@dataclass(slots=True)
class _Found:
    """The elements of one use while they are gathered."""

    elements: list[Numbers] = field(default_factory=list)
    times: list[Numbers] = field(default_factory=list)
    loads: list[tuple[Access, dict[str, Numbers]]] = field(default_factory=list)


@lru_cache(maxsize=512)
def footprint(
    instruction: Instruction, numbers: Control, sizes: tuple[tuple[str, tuple[int, ...] | None], ...]
) -> Footprint:
    """The footprint where the arguments of control are these numbers, and the operands have these sizes; None for a
    scalar that is given as a value.
    """
    own, shapes = dict(numbers), dict(sizes)
    found: dict[tuple[str, Kind], list[tuple[Access, dict[str, Numbers], int]]] = {}
    inside = True
    for access in _accesses(instruction, own):
        points, count = _points(access, own)
        if not count:
            continue
        found.setdefault((access.operand, access.kind), []).append((access, points, count))
        if access.indices is not None:
            inside &= _within(_indices(access.indices, points, own, count), shapes[access.operand] or ())
    ordered = sorted(found.items(), key=lambda item: min(_first_time(*a) for a in item[1]))
    uses = [_use(*key, told, own, shapes[key[0]]) for key, told in ordered] if inside else []
    reads = [u for u in uses if u.kind is Kind.read]
    return Footprint((*reads, *(u for u in uses if u.kind is not Kind.read)), inside)


# The body ---------------------------------------------------------------------------------------------------------


def _accesses(instruction: Instruction, own: Mapping[str, int]) -> Iterator[Access]:
    data = frozenset(instruction.data)
    atomic = frozenset(name for name in data if instruction.operand(name).atomic)
    yield from _of_block(instruction.body, (), (), data, atomic, own)


def _of_block(
    body: Sequence[Statement],
    around: tuple[Loop | tuple[Expr, bool], ...],
    time: tuple[int | str, ...],
    data: frozenset[str],
    atomic: frozenset[str],
    own: Mapping[str, int],
) -> Iterator[Access]:
    for position, statement in enumerate(body):
        here = (*time, position)
        match statement:
            case Assign() | Reduce():
                yield from _of_statement(statement, around, here, data, atomic)
            case For(iterator=iterator, lo=lo, hi=hi, body=inner):
                yield from _of_block(
                    inner, (*around, Loop(iterator, lo, hi)), (*here, iterator), data, atomic, own
                )
            case If(condition, inner, orelse):
                yield from _of_block(inner, (*around, (condition, True)), (*here, 0), data, atomic, own)
                yield from _of_block(orelse, (*around, (condition, False)), (*here, 1), data, atomic, own)


def _of_statement(
    statement: Assign | Reduce,
    around: tuple[Loop | tuple[Expr, bool], ...],
    time: tuple[int | str, ...],
    data: frozenset[str],
    atomic: frozenset[str],
) -> Iterator[Access]:
    place = statement.place
    target = place.name, place.indices if isinstance(place, Index) else ()
    indexed = {id(i) for n in walk(statement.value) if isinstance(n, Index) for i in walk(n.indices)}
    loads = [n for n in walk(statement.value) if isinstance(n, Name | Index) and n.name in data]
    loads = [n for n in loads if id(n) not in indexed]
    for number, load in enumerate(loads):
        where = load.indices if isinstance(load, Index) else ()
        yield Access(
            load.name, Kind.read, _plain(where), around, (*time, number), (target[0], _plain(target[1]))
        )
    reduces = isinstance(statement, Reduce) and place.name in atomic
    kind = Kind.atomic if reduces else Kind.write
    yield Access(place.name, kind, _plain(target[1]), around, (*time, len(loads)))


def _plain(indices: Sequence[Any]) -> tuple[Expr, ...]:
    """Indices of an element, among which no interval is."""
    return tuple(indices)


# Points -----------------------------------------------------------------------------------------------------------


def _points(access: Access, own: Mapping[str, int]) -> tuple[dict[str, Numbers], int]:
    """Values of the iterators of an access at its points, in the order of the run; those that it does not depend on are
    at their first value only.
    """
    needed = _needed(access)
    points: dict[str, Numbers] = {}
    count = 1
    for around in access.around:
        if isinstance(around, Loop):
            lo = _value(around.lo, points, own, count)
            hi = _value(around.hi, points, own, count)
            trips = np.maximum(hi - lo, 0)
            if around.iterator not in needed:
                trips = np.minimum(trips, 1)
            which = np.repeat(np.arange(count), trips)
            starts = np.cumsum(trips) - trips
            points = {name: values[which] for name, values in points.items()}
            points[around.iterator] = lo[which] + np.arange(len(which)) - starts[which]
        else:
            condition, holds = around
            kept = np.flatnonzero((_value(condition, points, own, count) != 0) == holds)
            points = {name: values[kept] for name, values in points.items()}
            which = kept
        count = len(which)
    return points, count


def _needed(access: Access) -> set[str]:
    """The iterators that an access depends on: by its index, or by bounds and conditions around it."""
    asked: list[object] = [access.indices or ()]
    for around in access.around:
        asked += [around.lo, around.hi] if isinstance(around, Loop) else [around[0]]
    return {n.name for part in asked for n in walk(part) if isinstance(n, Name)}


def _value(expression: Expr, points: Mapping[str, Numbers], own: Mapping[str, int], count: int) -> Numbers:
    """The numbers of an expression of control at all points."""
    match expression:
        case Name(name):
            return points[name] if name in points else np.full(count, own[name], np.int64)
        case Const(value):
            return np.full(count, int(value), np.int64)
        case Unary(op, operand):
            return _op(op, (_value(operand, points, own, count),))
        case Binary(op, left, right):
            return _op(op, (_value(left, points, own, count), _value(right, points, own, count)))
        case Apply(op, operands):
            return _op(op, tuple(_value(o, points, own, count) for o in operands))
    raise AssertionError("the static law lets nothing else be control")


_QUICK: Mapping[Op, Any] = {Op.Add: np.add, Op.Sub: np.subtract, Op.Mul: np.multiply, Op.Neg: np.negative}


def _op(op: Op, operands: tuple[Numbers, ...]) -> Numbers:
    if op in _QUICK:
        found: Numbers = _QUICK[op](*operands)
        return found
    columns, back = np.unique(np.stack(operands), axis=1, return_inverse=True)
    values = [int(ELEMENTWISE[op](index, *map(int, column))) for column in columns.T]
    made: Numbers = np.array(values, np.int64)[back.reshape(-1)] if values else np.zeros(0, np.int64)
    return made


def _indices(
    indices: Sequence[Expr], points: Mapping[str, Numbers], own: Mapping[str, int], count: int
) -> Numbers:
    """The index of each point, a row for each."""
    if not indices:
        return np.zeros((count, 0), np.int64)
    return np.stack([_value(i, points, own, count) for i in indices], axis=1)


def _within(indices: Numbers, shape: Sequence[int]) -> bool:
    return bool(np.all(indices >= 0) and np.all(indices < np.array(shape, np.int64)))


# Uses -------------------------------------------------------------------------------------------------------------


def _times(access: Access, points: Mapping[str, Numbers], count: int, width: int) -> Numbers:
    """When an access is at each point: rows compare as moments do."""
    columns = [points[t] if isinstance(t, str) else np.full(count, t, np.int64) for t in access.time]
    columns += [np.full(count, -1, np.int64)] * (width - len(columns))
    return np.stack(columns, axis=1)


def _first_time(access: Access, points: Mapping[str, Numbers], count: int) -> tuple[int, ...]:
    return tuple(int(t) for t in _times(access, points, count, len(access.time))[0])


def _use(
    operand: str,
    kind: Kind,
    told: Sequence[tuple[Access, dict[str, Numbers], int]],
    own: Mapping[str, int],
    shape: tuple[int, ...] | None,
) -> Use:
    """The elements of one operand that are touched in one way."""
    if shape is None:
        return Use(operand, kind, None)
    rows = [_indices(a.indices or (), points, own, count) for a, points, count in told]
    every = np.concatenate(rows)
    codes = _codes(every, shape)
    if len(told) > 1:
        width = max(len(a.time) for a, _, _ in told)
        times = np.concatenate([_times(a, points, count, width) for a, points, count in told])
        order = np.lexsort(times.T[::-1])
        every, codes = every[order], codes[order]
    _, first = np.unique(codes, return_index=True) if not _ascending(codes) else (None, None)
    elements = every if first is None else every[np.sort(first)]
    users = _users(told, own, shape, elements) if kind is Kind.read else ()
    return Use(operand, kind, elements, users)


def _ascending(codes: Numbers) -> bool:
    return bool(np.all(codes[1:] > codes[:-1]))


def _codes(indices: Numbers, shape: Sequence[int]) -> Numbers:
    """The number of each index in row-major order."""
    code = np.zeros(len(indices), np.int64)
    for k, size in enumerate(shape):
        code = code * size + indices[:, k]
    return code


def _users(
    told: Sequence[tuple[Access, dict[str, Numbers], int]],
    own: Mapping[str, int],
    shape: Sequence[int],
    elements: Numbers,
) -> tuple[tuple[str, Numbers, Numbers], ...]:
    """What is computed of each element: of every load, the elements beside the indices that are written."""
    codes = _codes(elements, shape)
    order = np.argsort(codes, kind="stable")
    found = []
    for access, _, _ in told:
        assert access.target is not None
        name, target = access.target
        both = Access(
            access.operand, access.kind, (*(access.indices or ()), *target), access.around, access.time
        )
        points, count = _points(both, own)
        read = _codes(_indices(access.indices or (), points, own, count), shape)
        which = order[np.searchsorted(codes[order], read)]
        found.append((name, which, _indices(target, points, own, count)))
    return tuple(found)


# Boxes ------------------------------------------------------------------------------------------------------------

Box = tuple[tuple[int, ...], tuple[int, ...]]
"""Where a box begins, and how many there are along each dimension."""


def boxes(elements: Numbers) -> tuple[Box, ...]:
    """Indices as boxes, each in row-major order, one after another in the order of the indices."""
    count, rank = elements.shape
    if not count:
        return ()
    low, high = (
        elements.min(axis=0) if rank else np.zeros(0, int),
        elements.max(axis=0) if rank else np.zeros(0, int),
    )
    sizes = high - low + 1
    if count == int(np.prod(sizes)):
        grid = np.stack(np.unravel_index(np.arange(count), tuple(sizes)), axis=1) if rank else elements
        if np.array_equal(grid + low, elements):
            return ((tuple(map(int, low)), tuple(map(int, sizes))),)
    cuts = np.flatnonzero(np.any(elements[1:, :1] != elements[:-1, :1], axis=1)) + 1
    if rank > 1 and len(cuts):
        return tuple(_merged([(int(p[0, 0]), boxes(p[:, 1:])) for p in np.split(elements, cuts)]))
    if rank > 1:
        return tuple(((int(elements[0, 0]), *a), (1, *n)) for a, n in boxes(elements[:, 1:]))
    steps = np.flatnonzero(elements[1:, 0] != elements[:-1, 0] + 1) + 1
    return tuple(((int(p[0, 0]),), (len(p),)) for p in np.split(elements, steps))


def _merged(parts: Sequence[tuple[int, tuple[Box, ...]]]) -> Iterator[Box]:
    """Neighbouring rows with the same single box become one box."""
    k = 0
    while k < len(parts):
        at, inner = parts[k]
        end = k + 1
        if len(inner) == 1:
            while end < len(parts) and parts[end] == (at + end - k, inner):
                end += 1
        for begin, sizes in inner:
            yield (at, *begin), (end - k, *sizes)
        k = end
