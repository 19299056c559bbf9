"""
Movement
========

Views, indexing and reinterpretation of arrays. A movement op computes nothing. For every position of its result it
names the position of its source that is read there, and it says what stands where that position lies outside of the
source.

Each op is stated once, as a `Law` over any numbers and conditions; an `Algebra` says what these are. The statement has
four readings. On integers it is the value of the op: that is the second half of this chapter. On index expressions it
is how the op is lowered (`impl.lower.graphs.views`, and `impl.lower.symbolic_rangeify` where sizes are not known). On
polynomials it is what is proved of the op (`verify.smt.elements.movement`). On names it is the formula on the op's page
in the documentation.

Two parts of the court say what the ops do in their own words, as second opinions of these statements:
`verify.engine.elements`, which moves elements with numpy, and the argument that a few ranks stand for every rank
(`verify.smt.ranks.counts`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from soundline.spec.arrays.arrays import (
    INVALID,
    Array,
    Cell,
    Invalid,
    Position,
    positions,
    same_cell,
)
from soundline.spec.dtypes import DType, from_bits, to_bits, zero_of
from soundline.spec.ops.node import Op

Shape = tuple[int, ...]


# What the laws are stated over ------------------------------------------------------------------------------------


class Number(Protocol):
    """What positions, sizes and offsets are made of: it can be added, subtracted and multiplied."""

    def __add__(self, other: Any, /) -> Any: ...

    def __sub__(self, other: Any, /) -> Any: ...

    def __mul__(self, other: Any, /) -> Any: ...


N = TypeVar("N", bound=Number)
C = TypeVar("C")
S = TypeVar("S")
"""A size; a shape is known before anything is computed with its sizes."""

Axes = Sequence[int]
"""Some axes of a shape."""


class Algebra(Protocol[N, C]):
    """What numbers and conditions are."""

    def number(self, value: int) -> N:
        """A number that is known."""

    def same(self, a: N, b: N) -> bool:
        """Whether two numbers are seen to be equal."""

    def equal(self, a: N, b: N) -> C:
        """The condition a = b."""

    def inside(self, i: N, size: N) -> C:
        """The condition 0 ≤ i < size."""

    def every(self, conditions: Iterable[C]) -> C:
        """All of the conditions."""

    def one_of(self, *cases: tuple[C, N]) -> N:
        """The number of a case whose condition holds. One of them holds, and those that hold have the same number."""

    def groups(self, old: tuple[N, ...], new: tuple[N, ...]) -> Iterable[tuple[Axes, Axes]]:
        """The axes of two shapes, cut into groups that hold equally many elements; all of them may be one group."""

    def digits(self, number: N, sizes: tuple[N, ...]) -> Sequence[N]:
        """The position with a row-major number in a shape; there is one."""


@dataclass(frozen=True, slots=True)
class Given(Generic[S]):
    """What a movement op is given, besides the elements."""

    shapes: tuple[tuple[S, ...], ...]
    """The shapes of the sources that hold elements, and of the indices of an Index."""
    arg: Any = None
    numbers: tuple[tuple[S, ...], ...] = ()
    """What the further sources hold: a shape, or an offset and a shape; of an Index one number for each index."""

    @property
    def shape(self) -> tuple[S, ...]:
        """The shape of the first source."""
        return self.shapes[0]


def flat(number: Callable[[int], N], position: Sequence[N], shape: Sequence[N]) -> N:
    """The row-major number of a position."""
    total = number(0)
    for i, size in zip(position, shape, strict=True):
        total = total * size + i
    return total


def digits(number: Any, sizes: Sequence[Any]) -> tuple[Any, ...]:
    """The position with a row-major number in a shape: what each size leaves of it, from the last to the first."""
    found = []
    for size in reversed(sizes[1:]):
        found.append(number % size)
        number = number // size
    return (*(number for _ in sizes[:1]), *reversed(found))


# The laws ---------------------------------------------------------------------------------------------------------


class _ShapeLaw(Protocol):
    """The shape of the result."""

    def __call__(self, given: Given[S], /) -> tuple[S, ...]: ...


class _IndexLaw(Protocol):
    """The position of the source that is read for a position of the result."""

    def __call__(self, a: Algebra[N, C], given: Given[N], at: tuple[N, ...], /) -> tuple[N, ...]: ...


class _InsideLaw(Protocol):
    """Whether the position of the source that is to be read lies in it."""

    def __call__(self, a: Algebra[N, C], given: Given[N], index: tuple[N, ...], /) -> C: ...


def _always(a: Algebra[N, C], given: Given[N], index: tuple[N, ...]) -> C:
    """The constraints of the op see to it."""
    return a.every(())


@dataclass(frozen=True, slots=True)
class Law:
    """One movement op."""

    shape: _ShapeLaw
    index: _IndexLaw
    inside: _InsideLaw = _always
    outside: Callable[[DType], Cell] = lambda dtype: INVALID
    """What stands where a position of the source does not lie in it."""


def _own_shape(given: Given[S]) -> tuple[S, ...]:
    return given.shape


def _new_shape(given: Given[S]) -> tuple[S, ...]:
    """The last source is the shape of the result."""
    return given.numbers[-1]


def _permuted_shape(given: Given[S]) -> tuple[S, ...]:
    """Axis k of the result is axis π[k] of the source."""
    return tuple(given.shape[axis] for axis in given.arg)


def _permuted(a: Algebra[N, C], given: Given[N], at: tuple[N, ...]) -> tuple[N, ...]:
    """Axis π[k] of the source is axis k of the result."""
    return tuple(at[given.arg.index(axis)] for axis in range(len(at)))


def _flipped(a: Algebra[N, C], given: Given[N], at: tuple[N, ...]) -> tuple[N, ...]:
    """Index i of a flagged axis reads size-1-i."""
    rows = zip(at, given.shape, given.arg, strict=True)
    return tuple(size - 1 - i if flagged else i for i, size, flagged in rows)


def _reshaped(a: Algebra[N, C], given: Given[N], at: tuple[N, ...]) -> tuple[N, ...]:
    """The element with the same row-major number."""
    old, new = given.shape, _new_shape(given)
    found: dict[int, N] = {}
    for theirs, ours in a.groups(old, new):
        number = flat(a.number, [at[k] for k in ours], [new[k] for k in ours])
        found.update(zip(theirs, a.digits(number, tuple(old[k] for k in theirs)), strict=True))
    return tuple(found[k] for k in range(len(old)))


def _expanded(a: Algebra[N, C], given: Given[N], at: tuple[N, ...]) -> tuple[N, ...]:
    """An axis of size 1 is read at index 0 throughout, an axis that keeps its size as it is."""
    rows, one, zero = zip(at, given.shape, _new_shape(given), strict=True), a.number(1), a.number(0)
    return tuple(a.one_of((a.equal(size, one), zero), (a.equal(size, new), i)) for i, size, new in rows)


def _padded(a: Algebra[N, C], given: Given[N], at: tuple[N, ...]) -> tuple[N, ...]:
    """The source stands at the offset."""
    return tuple(i - o for i, o in zip(at, given.numbers[0], strict=True))


def _in_padded(a: Algebra[N, C], given: Given[N], index: tuple[N, ...]) -> C:
    """Inside on every axis; an axis that keeps its size is not padded."""
    rows = zip(index, given.shape, _new_shape(given), strict=True)
    return a.every(a.inside(i, size) for i, size, new in rows if not a.same(size, new))


def _shrunk(a: Algebra[N, C], given: Given[N], at: tuple[N, ...]) -> tuple[N, ...]:
    """The result is the part of the source at the offset."""
    return tuple(i + o for i, o in zip(at, given.numbers[0], strict=True))


def _indexed_shape(given: Given[S]) -> tuple[S, ...]:
    """Each index stands for one axis, from the left (U-24)."""
    source, *indices = given.shapes
    return (*(size for shape in indices for size in shape), *source[len(indices) :])


def index_parts(given: Given[S], at: tuple[N, ...]) -> Iterator[tuple[N, ...]]:
    """The position at which each index of an Index is read: a part of the position of the result."""
    for shape in given.shapes[1:]:
        yield at[: len(shape)]
        at = at[len(shape) :]


def _indexed(a: Algebra[N, C], given: Given[N], at: tuple[N, ...]) -> tuple[N, ...]:
    """What the indices hold, then what is left of the position."""
    read = sum(map(len, given.shapes[1:]))
    return (*(i for (i,) in given.numbers), *at[read:])


def _in_indexed(a: Algebra[N, C], given: Given[N], index: tuple[N, ...]) -> C:
    """Inside on every axis that is indexed."""
    rows = zip(index, given.shape, given.numbers, strict=False)
    return a.every(a.inside(i, size) for i, size, _ in rows)


def _stacked_shape(given: Given[S]) -> tuple[S, ...]:
    """As many as there are sources, then their shape; the empty Stack has no elements (U-22)."""
    return (cast("S", len(given.shapes)), *(given.shape if given.shapes else ()))


def _stacked(a: Algebra[N, C], given: Given[N], at: tuple[N, ...]) -> tuple[N, ...]:
    """The first index says which source is read, the rest where."""
    return at[1:]


MOVES: Final[Mapping[Op, Law]] = {
    Op.Permute: Law(_permuted_shape, _permuted),
    Op.Flip: Law(_own_shape, _flipped),
    Op.Reshape: Law(_new_shape, _reshaped),
    Op.Expand: Law(_new_shape, _expanded),
    Op.Pad: Law(_new_shape, _padded, _in_padded, zero_of),
    Op.Shrink: Law(_new_shape, _shrunk),
}
"""The ops of one source whose source position depends on nothing but sizes, offsets and the arg."""

LAWS: Final[Mapping[Op, Law]] = {
    **MOVES,
    Op.Index: Law(_indexed_shape, _indexed, _in_indexed),
    Op.Stack: Law(_stacked_shape, _stacked),
}
"""Of an Index, the numbers are what the indices hold for a position; of a Stack, the first index names the source."""


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


def _read(law: Law, source: Array, given: Given[int], p: Position) -> Cell:
    """The element of the result at a position."""
    index = law.index(INTEGERS, given, p)
    return source.at(index) if law.inside(INTEGERS, given, index) else law.outside(source.dtype)


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
