"""
Movement
========

Views, indexing and reinterpretation of arrays. Each op says, for every position of its result, which position of its
source is read there; nothing is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from soundline.spec.dtypes import DType, Element, bool_, from_bits, to_bits
from soundline.spec.values.arrays import (
    INVALID,
    Array,
    Cell,
    Invalid,
    Position,
    positions,
    same_cell,
)

Shape = tuple[int, ...]


def _gather(source: Array, shape: Shape, origin: Callable[[Position], Position]) -> Array:
    """The array of `shape` whose element at p is the source's at origin(p)."""
    return Array(source.dtype, shape, tuple(source.at(origin(p)) for p in positions(shape)))


def permute(source: Array, order: Sequence[int]) -> Array:
    """Axis k of the result is axis order[k] of the source."""
    axis_of = {axis: k for k, axis in enumerate(order)}
    shape = tuple(source.shape[axis] for axis in order)
    return _gather(source, shape, lambda p: tuple(p[axis_of[axis]] for axis in range(len(p))))


def flip(source: Array, flags: Sequence[bool]) -> Array:
    """Index i of a flagged axis reads size-1-i."""

    def origin(p: Position) -> Position:
        return tuple(
            size - 1 - i if flagged else i for i, size, flagged in zip(p, source.shape, flags, strict=True)
        )

    return _gather(source, source.shape, origin)


def reshape(source: Array, shape: Shape) -> Array:
    """The same elements in the same row-major order."""
    return Array(source.dtype, shape, source.elements)


def expand(source: Array, shape: Shape) -> Array:
    """Axes of size 1 are read at index 0 throughout."""
    return _gather(
        source,
        shape,
        lambda p: tuple(0 if size == 1 else i for i, size in zip(p, source.shape, strict=True)),
    )


def zero_of(dtype: DType) -> Element:
    """What Pad fills with (U-14)."""
    if dtype is bool_:
        return False
    return 0.0 if dtype.is_float else 0


def pad(source: Array, offset: Sequence[int], shape: Shape) -> Array:
    """The source at `offset`, zero elsewhere."""

    def element(p: Position) -> Cell:
        origin = tuple(i - o for i, o in zip(p, offset, strict=True))
        inside = all(0 <= i < size for i, size in zip(origin, source.shape, strict=True))
        return source.at(origin) if inside else zero_of(source.dtype)

    return Array(source.dtype, shape, tuple(element(p) for p in positions(shape)))


def shrink(source: Array, offset: Sequence[int], shape: Shape) -> Array:
    """The part of the source of this shape at `offset`."""
    return _gather(source, shape, lambda p: tuple(i + o for i, o in zip(p, offset, strict=True)))


def indexed(source: Array, indices: Sequence[Array]) -> Array:
    """Index the axes from the left, each on its own (U-24); outside the axis, or at an invalid index, reads ⊥."""
    kept = source.shape[len(indices) :]
    shape = tuple(size for i in indices for size in i.shape) + kept

    def element(p: Position) -> Cell:
        origin: list[Cell] = []
        for i in indices:
            taken, p = p[: len(i.shape)], p[len(i.shape) :]
            origin.append(i.at(taken))
        inside = [
            int(i)
            for i, size in zip(origin, source.shape, strict=False)
            if not isinstance(i, Invalid) and 0 <= i < size
        ]
        return source.at((*inside, *p)) if len(inside) == len(indices) else INVALID

    return Array(source.dtype, shape, tuple(element(p) for p in positions(shape)))


def stack(sources: Sequence[Array], dtype: DType) -> Array:
    """The sources along a new leading axis."""
    inner = sources[0].shape if sources else ()
    elements = tuple(e for s in sources for e in s.elements)
    return Array(dtype, (len(sources), *inner), elements)


def replicated(source: Array, axes: Sequence[int]) -> Array:
    """Slice 0 along the axes; ⊥ where the slices differ (U-28)."""
    shape = tuple(1 if k in axes else size for k, size in enumerate(source.shape))
    along = tuple(size if k in axes else 1 for k, size in enumerate(source.shape))

    def element(p: Position) -> Cell:
        copies = [source.at(tuple(i + j for i, j in zip(p, q, strict=True))) for q in positions(along)]
        equal = all(same_cell(source.dtype, c, copies[0]) for c in copies)
        return copies[0] if equal else INVALID

    return Array(source.dtype, shape, tuple(element(p) for p in positions(shape)))


def stored_bytes(source: Array) -> list[int | Invalid]:
    """The bytes of an array, little endian."""
    width = source.dtype.itemsize
    found: list[int | Invalid] = []
    for cell in source.elements:
        if isinstance(cell, Invalid):
            found += [INVALID] * width
        else:
            found += to_bits(source.dtype, cell).to_bytes(width, "little")
    return found


def from_stored_bytes(stored: Sequence[int | Invalid], dtype: DType) -> tuple[Cell, ...]:
    """The elements that bytes store; an element with an invalid byte is ⊥."""
    width = dtype.itemsize
    return tuple(element_of_bytes(stored[k : k + width], dtype) for k in range(0, len(stored), width))


def element_of_bytes(stored: Sequence[int | Invalid], dtype: DType) -> Cell:
    """The element that the bytes of one item store, little endian."""
    valid = [b for b in stored if not isinstance(b, Invalid)]
    return from_bits(dtype, int.from_bytes(bytes(valid), "little")) if len(valid) == len(stored) else INVALID


def bitcast(source: Array, dtype: DType) -> Array:
    """The same bytes read as another dtype; the last axis scales (U-23)."""
    shape = source.shape
    if source.dtype.itemsize != dtype.itemsize:
        shape = (*shape[:-1], shape[-1] * source.dtype.itemsize // dtype.itemsize)
    return Array(dtype, shape, from_stored_bytes(stored_bytes(source), dtype))


def sliced(source: Array, offset: int, size: int, dtype: DType) -> Array:
    """`size` elements of `dtype` from the byte where element `offset` begins; outside the source, ⊥ (U-23)."""
    stored = stored_bytes(source)
    start = offset * source.dtype.itemsize
    window = range(start, start + size * dtype.itemsize)
    taken = [stored[b] if 0 <= b < len(stored) else INVALID for b in window]
    return Array(dtype, (size,), from_stored_bytes(taken, dtype))
