"""
Actions of a plan
=================

An assignment, a reduction or an instruction as an action whose windows are terms: what it touches by name
(`spec.spork.machine.values.Recorder`), and how (`direct_touches`, `instruction_touches`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from soundline.impl.spork.checker.planning.arguments import Given, Names, NeedsNumber, grouped
from soundline.impl.spork.checker.planning.collectives import Uneven, intervals, owner_of, part
from soundline.impl.spork.checker.planning.footprints import Numbers, Use, boxes, footprint
from soundline.impl.spork.checker.planning.plan import (
    Action,
    Apart,
    Block,
    Node,
    Placed,
    Queue,
    Region,
    Term,
    Threads,
    Touch,
)
from soundline.impl.spork.checker.planning.plan import If as Choice
from soundline.impl.spork.checker.planning.terms import Known, applied, as_number, variables
from soundline.impl.spork.checker.planning.windows import View, are_apart
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.statements import Assign, Call, Reduce
from soundline.spec.spork.language.types import Data
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.static.calls import given_to
from soundline.spec.spork.synchronization.fences import WARP
from soundline.spec.spork.synchronization.timelines import CPU, InstrTl, pair
from soundline.spec.spork.synchronization.visibility import Kind

Elements = tuple[View, ...]
"""Single elements, each a view without dimensions."""
Using = tuple[str, Kind, Elements]
"""What an action uses under one name in one way."""


def statement_nodes(statement: Assign | Reduce, names: Names, place: Placed) -> Iterator[Node]:
    """An assignment or a reduction of the program itself."""
    target = names.window(statement.place)
    uses = [(name, Kind.read, views) for name, views in grouped(names.loads(statement.value))]
    uses.append((statement.place.name, Kind.write, (target,)))
    yield from names.checks(place)
    yield _distinct(uses, place, names.known)


def _distinct(
    uses: Sequence[Using], place: Placed, known: Known, apart: frozenset[frozenset[View]] = frozenset()
) -> Node:
    """An action whose uses have each element once: where two of one name may be the same, a choice. The pairs that are
    `apart` differ.
    """
    for at, (name, kind, views) in enumerate(uses):
        for one, other in combinations(views, 2):
            both = frozenset({one, other})
            if both in apart or are_apart(one, other, known):
                continue
            fewer = [*uses[:at], (name, kind, tuple(v for v in views if v is not other)), *uses[at + 1 :]]
            same = applied(Op.CmpEq, one.first, other.first)
            if isinstance(same, int) or known.holds(same):
                return _distinct(fewer, place, known, apart)
            equal = _distinct(fewer, place, known.where(same), apart)
            differ = _distinct(uses, place, known.where(same, holds=False), apart | {both})
            return Choice(same, Block((equal,)), Block((differ,)))
    touches = tuple(_directly(*use, place) for use in uses)
    return Action(place, touches, (), sum(len(t.regions) for t in touches))


def _directly(name: str, kind: Kind, views: Elements, place: Placed) -> Touch:
    """A touch by the program itself (`spec.spork.machine.values.direct_touches`)."""
    memory = views[0].memory
    how = CPU if place.instr_tl is InstrTl.cpu_in_order else pair(place.instr_tl, memory.usage)
    return Touch(name, kind, how, tuple(v.region((), ()) for v in views), convergent=memory.convergent)


# Instructions -----------------------------------------------------------------------------------------------------


def instruction_nodes(
    call: Call, instruction: Instruction, names: Names, place: Placed, trailing: tuple[Queue, ...]
) -> Iterator[Node]:
    """An instruction: its body is one action."""
    numbers = names.numbers_given_to(call)
    inner = Names(dict(numbers), names.known, names.origins, names.pending)
    data: dict[str, View | Given] = {}
    for argument, value in given_to(call):
        if isinstance(argument.type, Data):
            data[argument.name] = inner.bound[argument.name] = names.data(value, argument.type, inner)
    for condition in instruction.preconditions:
        names.must(inner.control(condition))
    memories = {name: view.memory for name, view in data.items() if isinstance(view, View)}
    if instruction.disagreement(memories, dict(numbers)) is not None:
        names.must(0)
    if any(isinstance(condition, int) for condition in names.pending):
        yield from names.checks(place)
        return
    shapes = tuple((n, v.sizes if isinstance(v, View) else None) for n, v in data.items())
    found = footprint(instruction, tuple(numbers.items()), shapes)
    if not found.inside:
        names.must(0)
    yield from names.checks(place)
    yield from _all_apart(found.uses, data, names, place)
    touches = [t for use in found.uses for t in _touches(use, data, instruction, names)]
    accesses = sum(r.elements for t in touches for r in t.regions)
    yield Action(place, tuple(touches), trailing, accesses)


def _all_apart(
    uses: Sequence[Use], data: Mapping[str, View | Given], names: Names, place: Placed
) -> Iterator[Node]:
    """What an instruction writes through one operand overlaps no other (``seq-overlap``)."""
    for use in uses:
        for other in uses:
            if use.kind is Kind.read or other.operand == use.operand:
                continue
            if other.kind is not Kind.read and other.operand < use.operand:
                continue  # asked the other way round
            for one in _views(data[use.operand]):
                for beside in _views(data[other.operand]):
                    if not are_apart(one, beside, names.known):
                        yield Apart(place, _regions(use, one), _regions(other, beside))


def _views(given: View | Given) -> Elements:
    return given.loads if isinstance(given, Given) else (given,)


def _regions(use: Use, view: View, elements: Numbers | None = None) -> tuple[Region, ...]:
    if use.elements is None:
        return (view.region((), ()),)
    chosen = use.elements if elements is None else elements
    return tuple(view.region(at, counts) for at, counts in boxes(chosen))


def _touches(
    use: Use, data: Mapping[str, View | Given], instruction: Instruction, names: Names
) -> Iterator[Touch]:
    """The touches of one use (`spec.spork.machine.values.instruction_touches`)."""
    given = data[use.operand]
    operand = instruction.operand(use.operand)
    if isinstance(given, Given):
        for _, views in grouped([(use.operand, load) for load in given.loads]):
            _all_different(views, names)
            regions = tuple(v.region((), ()) for v in views)
            yield _touch(use, operand, instruction, views[0].memory, regions)
        return
    touch = _touch(use, operand, instruction, given.memory, ())
    try:
        if operand.unit is not None:
            yield from _by_owner(touch, use, given, names)
        elif instruction.instr_tl is InstrTl.wgmma_async and not touch.convergent:
            yield from _by_warps(touch, use, given, data, names)
        else:
            yield replace(touch, regions=_regions(use, given))
    except Uneven as uneven:
        raise NeedsNumber(uneven.iterators) from None


def _all_different(views: Sequence[View], names: Names) -> None:
    """Loads of one value are different elements, or the iterators that they depend on become numbers."""
    for one, other in combinations(views, 2):
        number = as_number(applied(Op.Sub, one.first, other.first))
        if one.array is other.array and number is None and not are_apart(one, other, names.known):
            raise NeedsNumber({v.number for e in views for v in variables(e.first)})


def _touch(
    use: Use, operand: Operand, instruction: Instruction, memory: Memory, regions: tuple[Region, ...]
) -> Touch:
    convergent = memory.convergent if operand.convergent is None else operand.convergent
    how = instruction.pair(use.operand, memory)
    return Touch(use.operand, use.kind, how, regions, operand.out_of_order, convergent, operand.extended)


# Who uses and owns elements ---------------------------------------------------------------------------------------


def _parts(view: View, elements: Numbers) -> list[tuple[Term, Numbers]]:
    """Of each dimension of the array the base of a view, and what each element adds to it."""
    found: list[tuple[Term, Numbers]] = []
    column = 0
    for base, size in view.parts:
        if size is None:
            found.append((base, np.zeros(len(elements), np.int64)))
        else:
            found.append((base, elements[:, column]))
            column += 1
    return found


def _owners(view: View, elements: Numbers, names: Names) -> tuple[Numbers, list[Threads | None]]:
    """Who has each element in registers, as a number among those that there are (`unfolding._held`)."""
    if view.memory.space != "registers":
        return np.zeros(len(elements), np.int64), [None]
    origin = names.origins[view.array.number]
    own = 0 if origin is None or isinstance(origin, Threads) else len(origin[2].distributed)
    parts = _parts(view, elements)
    columns = [more for _, more in parts[:own]]
    memory, rows = view.array.memory, None
    if memory.warp_rows is not None:
        rank = max((len(tile) for tile in memory.tiles), default=1)
        base, more = parts[len(parts) - rank]
        rows = (names.number(base) + more) // memory.warp_rows
        columns.append(rows)
    if not columns:
        return np.zeros(len(elements), np.int64), [owner_of(origin, view.array.shape, [b for b, _ in parts])]
    keys, which = _distinct_rows(columns)
    found: list[Threads | None] = []
    for key in keys:
        at = [applied(Op.Add, b, int(k)) for (b, _), k in zip(parts[:own], key[:own], strict=True)]
        at += [b for b, _ in parts[own:]]
        owner = owner_of(origin, view.array.shape, at)
        found.append(owner if rows is None or owner is None else part(owner, int(key[-1]), WARP))
    return which, found


def _distinct_rows(columns: Sequence[Numbers]) -> tuple[list[tuple[int, ...]], Numbers]:
    """The rows of some columns of small numbers, each once, and which of them each row is."""
    extents = [int(c.max(initial=0)) + 1 for c in columns]
    codes = np.ravel_multi_index(tuple(columns), extents)
    there = np.flatnonzero(np.bincount(codes))
    numbers = np.zeros(int(np.prod(extents)), np.int64)
    numbers[there] = np.arange(len(there))
    rows = zip(*(k.tolist() for k in np.unravel_index(there, extents)), strict=True)
    return [tuple(row) for row in rows], numbers[codes]


def _by_owner(touch: Touch, use: Use, view: View, names: Names) -> Iterator[Touch]:
    """A touch of the registers of several collectives, each of which accesses its own."""
    assert use.elements is not None
    which, owners = _owners(view, use.elements, names)
    for number in dict.fromkeys(which.tolist()):
        mine = use.elements[which == number]
        yield replace(touch, regions=_regions(use, view, mine), seen_by=owners[number])


def _by_warps(
    touch: Touch, use: Use, view: View, data: Mapping[str, View | Given], names: Names
) -> Iterator[Touch]:
    """A touch of shared memory by wgmma: each element by the warps whose rows of the result need it (S-15)."""
    assert use.elements is not None
    users = np.zeros(len(use.elements), np.uint64)
    owners: list[Threads | None] = []
    for target, which, indices in use.users:
        written = data[target]
        assert isinstance(written, View)
        own, found = _owners(written, indices, names)
        bits = np.array([np.uint64(1) << np.uint64(len(owners) + k) for k in range(len(found))], np.uint64)
        assert len(owners) + len(found) <= 64, "a wgmma is of four warps"
        np.bitwise_or.at(users, which, bits[own])
        owners += found
    for mask in dict.fromkeys(users.tolist()):
        who = [o for k, o in enumerate(owners) if mask >> k & 1 and o is not None]
        yield replace(touch, regions=_regions(use, view, use.elements[users == mask]), by=_union(who))


def _union(owners: Sequence[Threads]) -> Threads | None:
    """All of some collectives, which move alike."""
    if not owners:
        return None
    shifts = {o.shift for o in owners}
    if len(shifts) > 1:
        raise NeedsNumber({v.number for shift in shifts for v in variables(shift)})
    numbers = {n for o in owners for lo, hi in o.intervals for n in range(lo, hi)}
    return Threads(intervals(numbers), owners[0].shift)
