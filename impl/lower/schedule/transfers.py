"""
Transfers
=========

How elements go between memory and the kernel, where that is more than a load or a store of each.

A result that is larger than a cache, and that the program does not read again, goes *past* the caches: otherwise every
line of it would first be read, and push out what is still of use. A row that a kernel reads a second time comes from
the nearest cache, and leaves memory idle: with it, the same place of the next row is fetched *ahead*.

A store of two axes of lanes that only moves elements, and reads neighbours along the one axis where it writes
neighbours along the other, is *transposed* by square blocks in registers. Every other store of lanes goes last along
the axis on which what it writes lies side by side.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from soundline.impl.lower.graphs.loops import stride
from soundline.impl.lower.graphs.views import shape_of
from soundline.impl.lower.linear.linearize import is_global
from soundline.impl.lower.schedule.vector_types import first_of
from soundline.impl.lower.schedule.vectors import steps_of, width_of
from soundline.spec.dtypes import bool_
from soundline.spec.uop import Op, UOp, toposort

LARGE = 1 << 25
"""From so many bytes on, a result goes past the caches."""
LONG = 1 << 10
"""From so many bytes on, the next row is too far away for a processor to fetch it by itself."""
NEAR = 1 << 17
"""Up to so many bytes, the next row finds room in a near cache."""


def past(program: UOp) -> frozenset[UOp]:
    """The Buffers that a Linear of Linears writes past the caches."""
    steps = [step for kernel in program.src for step in kernel.src]
    written = {storage_of(s.src[0]) for s in steps if s.op is Op.Store}
    large = {
        b for b in written if b.op is Op.Buffer and is_global(b) and b.arg.size * b.dtype.itemsize >= LARGE
    }
    if not large:
        return frozenset()
    return frozenset(large - {storage_of(n.src[0]) for n in toposort(*steps) if n.op is Op.Load})


def storage_of(place: UOp) -> UOp:
    """The Buffer or Slice that a place lies in."""
    while place.op in (Op.Index, Op.After, Op.Reshape):
        place = place.src[0]
    return place


def ahead(kernel: UOp, vectors: Container[UOp]) -> dict[UOp, int]:
    """The loads with which a place of the next row is fetched, and how many bytes further that is."""
    found: dict[UOp, int] = {}
    opened: list[UOp] = []
    visits = 0  # loops inside the outermost one that were opened
    first: dict[UOp, int] = {}
    second: dict[UOp, int] = {}
    written = {storage_of(s.src[0]) for s in kernel.src if s.op is Op.Store}
    for step in kernel.src:
        if step.op is Op.Range:
            opened.append(step)
            visits += len(opened) == 2
        elif step.op is Op.End:
            opened.pop()
        elif step.op is Op.Load and len(opened) > 1 and step in vectors and step.src[0].op is Op.Index:
            storage, at = storage_of(step.src[0]), first_of(step.src[0].src[1])
            row = stride(at, opened[0]) if at is not None else None
            if row is None or storage in written or not LONG <= row * step.dtype.itemsize <= NEAR:
                continue
            if first.setdefault(storage, visits) != visits and second.setdefault(storage, visits) == visits:
                found[step] = row * step.dtype.itemsize
    return found


@dataclass(frozen=True, slots=True)
class Transposed:
    """What such a store does: `rows` of `columns` neighbours each are read, and become columns."""

    read: UOp
    """The place of the first element that is read, with lanes."""
    written: UOp
    rows: int
    columns: int
    apart: int
    """How many elements lie between the first ones of two rows that are read."""
    apart_written: int
    lane: str
    width: int
    """The vector whose lanes are a row of a block."""


def transposed(store: UOp) -> Transposed | None:
    """The transposition that a store of lanes is; None of any other."""
    if len(store.src) > 2 or store.src[0].op is not Op.Index:
        return None
    load = store.src[1]
    while load.op is Op.Reshape:
        load = load.src[0]
    if load.op is not Op.Load or len(load.src) > 1 or load.src[0].op is not Op.Index or load.dtype is bool_:
        return None
    places = [store.src[0].src[1], load.src[0].src[1]]
    if storage_of(store.src[0]) is storage_of(load.src[0]) or any(not at.shape for at in places):
        return None
    written, read = map(_unflattened, places)
    axes = [a for a, n in enumerate(shape_of(written)) if n > 1]
    steps = [steps_of(at, len(shape_of(written))) for at in (written, read)]
    if len(axes) != 2 or None in steps or len(shape_of(read)) != len(shape_of(written)):
        return None
    return _along(load, (written, read), axes, steps)


def _along(
    load: UOp, places: tuple[UOp, UOp], axes: list[int], steps: list[tuple[int, ...] | None]
) -> Transposed | None:
    width = width_of(load.dtype)
    to, of = steps
    sizes = shape_of(places[0])
    for rows, columns in (axes, axes[::-1]):
        fits = sizes[rows] % width == sizes[columns] % width == 0 and load.dtype.itemsize in (4, 8)
        if to and of and fits and (to[rows], of[columns]) == (1, 1) and of[rows] > 1 and to[columns] > 1:
            lane = f"u{8 * load.dtype.itemsize}"
            written, read = places
            return Transposed(read, written, sizes[rows], sizes[columns], of[rows], to[columns], lane, width)
    return None


def beside(store: UOp) -> tuple[int, ...]:
    """The axes of lanes along which what a store writes lies side by side."""
    at = _unflattened(store.src[0].src[1]) if store.src[0].op is Op.Index else None
    steps = steps_of(at, len(shape_of(at))) if at is not None and at.shape else None
    return tuple(k for k, step in enumerate(steps or ()) if step == 1)


def _unflattened(at: UOp) -> UOp:
    """An index as it was before it became one axis."""
    return at.src[0] if at.op is Op.Reshape and at.src[0].shape else at
