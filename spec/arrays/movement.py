"""
Movement
========

The laws of movement read on integers: the values of views, of indexing and of the reinterpretation of bytes. Where each
element comes from stands with each op (`spec.ops.movement`), over any numbers (`spec.ops.algebra`).

Two parts of the verifier state independently what the ops do, as second opinions on these laws:
`verify.engine.elements`, which moves elements with numpy, and the argument that a few ranks stand for every rank
(`verify.smt.ranks.counts`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeVar

from soundline.spec.arrays.arrays import (
    INVALID,
    Array,
    Cell,
    Invalid,
    Position,
    positions,
    same_cell,
)
from soundline.spec.dtypes import DType, from_bits, to_bits
from soundline.spec.ops.algebra import Axes, Given, Movement, digits, flat, index_parts
from soundline.spec.ops.node import Op
from soundline.spec.ops.table.entries import TABLE

__all__ = [
    "INTEGERS",
    "LAWS",
    "MOVES",
    "Axes",
    "Given",
    "bitcast",
    "digits",
    "element_of_bytes",
    "flat",
    "from_stored_bytes",
    "groups",
    "index_parts",
    "indexed",
    "moved",
    "replicated",
    "sliced",
    "stack",
    "stored_bytes",
]

Shape = tuple[int, ...]
S = TypeVar("S")

LAWS: Final[Mapping[Op, Movement]] = {op: e.movement for op, e in TABLE.items() if e.movement is not None}
"""Where the elements of an op come from. Of an Index, the numbers are what the indices hold for a position; of a Stack,
the first index names the source."""

MOVES: Final[Mapping[Op, Movement]] = {op: law for op, law in LAWS.items() if op not in (Op.Index, Op.Stack)}
"""The ops of one source whose source position depends on nothing but sizes, offsets and the arg."""


# Groups of axes ---------------------------------------------------------------------------------------------------


def groups(
    old: Sequence[S],
    new: Sequence[S],
    one: S,
    times: Callable[[S, S], S],
    key: Callable[[S], Hashable],
) -> Iterator[tuple[Axes, Axes]]:
    """The axes of two shapes of equally many elements, cut into small groups that hold equally many.

    So a Reshape may be read group by group. An axis of size 1 is a group by itself: its only index is 0. Two sizes are
    taken for equal where their keys are. Cuts are found from the right, and what is left over is cut from the left. A
    cut is right because a row-major number is high · B + low with low < B in one way only, where B > 0 is the product
    of the sizes to the right of the cut.
    """
    ours, theirs = ([k for k, size in enumerate(sizes) if key(size) != key(one)] for sizes in (old, new))
    yield from (((k,), ()) for k in range(len(old)) if k not in ours)
    yield from (((), (k,)) for k in range(len(new)) if k not in theirs)

    def cuts(a: Sequence[int], b: Sequence[int]) -> Iterator[tuple[int, int]]:
        """How many axes of both have been passed where their products are equal."""
        passed = {key(total): k for k, total in enumerate(_products([new[k] for k in b], one, times), 1)}
        for k, total in enumerate(_products([old[k] for k in a], one, times), 1):
            if key(total) in passed:
                yield k, passed[key(total)]

    ends = [(len(ours), len(theirs))]
    for i, k in cuts(ours[::-1], theirs[::-1]):
        cut = len(ours) - i, len(theirs) - k
        if cut[0] < ends[-1][0] and cut[1] < ends[-1][1]:
            ends.append(cut)
    first, (last_old, last_new) = (0, 0), ends[-1]
    for cut in cuts(ours[:last_old], theirs[:last_new]):
        if first[0] < cut[0] < last_old and first[1] < cut[1] < last_new:
            ends.append(cut)
            first = cut
    for (i, k), (j, m) in pairwise(sorted({(0, 0), *ends})):
        yield ours[i:j], theirs[k:m]


def _products(sizes: Iterable[S], one: S, times: Callable[[S, S], S]) -> Iterator[S]:
    """The products of the first sizes, of the first two, and so on."""
    total = one
    for size in sizes:
        total = times(total, size)
        yield total


# On integers: the value of the ops --------------------------------------------------------------------------------


class _Integers:
    """The algebra of numbers that are known."""

    def number(self, value: int) -> int:
        return value

    def same(self, a: int, b: int) -> bool:
        return a == b

    equal = same

    def inside(self, i: int, size: int) -> bool:
        return 0 <= i < size

    def every(self, conditions: Iterable[bool]) -> bool:
        return all(conditions)

    def one_of(self, *cases: tuple[bool, int]) -> int:
        return next(number for condition, number in cases if condition)

    def groups(self, old: Shape, new: Shape) -> Iterable[tuple[Axes, Axes]]:
        return ((range(len(old)), range(len(new))),)

    def digits(self, number: int, sizes: Shape) -> tuple[int, ...]:
        return digits(number, sizes)


INTEGERS: Final = _Integers()


def _read(law: Movement, source: Array, given: Given[int], p: Position) -> Cell:
    """The element of the result at a position."""
    index = law.index(INTEGERS, given, p)
    if law.inside(INTEGERS, given, index):
        return source.at(index)
    return INVALID if law.fill is None else law.fill(source.dtype)


def moved(op: Op, source: Array, *numbers: Shape, arg: Any = None) -> Array:
    """The value of an op of `MOVES`; the numbers are the new shape, or an offset and the new shape."""
    law, given = MOVES[op], Given((source.shape,), arg, numbers)
    shape = law.shape(given)
    return Array(source.dtype, shape, tuple(_read(law, source, given, p) for p in positions(shape)))


def indexed(source: Array, indices: Sequence[Array]) -> Array:
    """The value of an Index; an index that is itself ⊥ reads ⊥."""
    law, shapes = LAWS[Op.Index], (source.shape, *(i.shape for i in indices))

    def element(p: Position) -> Cell:
        read = [i.at(part) for i, part in zip(indices, index_parts(Given(shapes), p), strict=True)]
        known = tuple((int(i),) for i in read if not isinstance(i, Invalid))
        return _read(law, source, Given(shapes, numbers=known), p) if len(known) == len(read) else INVALID

    shape = law.shape(Given(shapes))
    return Array(source.dtype, shape, tuple(element(p) for p in positions(shape)))


def stack(sources: Sequence[Array], dtype: DType) -> Array:
    """The value of a Stack."""
    law, given = LAWS[Op.Stack], Given(tuple(s.shape for s in sources))
    shape = law.shape(given)
    return Array(dtype, shape, tuple(_read(law, sources[p[0]], given, p) for p in positions(shape)))


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
