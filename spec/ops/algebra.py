"""
What movement is stated over
============================

A movement op computes nothing. For every position of its result it names the position of its source that is read there,
and it says what stands where that position lies outside of the source. Each op is stated once, as a `Movement` over any
numbers and conditions; an `Algebra` says what these are.

The statement has four readings. On integers it is the value of the op (`spec.arrays.movement`). On index expressions it
is how the op is lowered, whether sizes are known or not (`impl.lower.graphs.views`). On polynomials it is what is
proved of the op (`verify.smt.elements.movement`). On names it is the formula on the op's page in the documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from soundline.spec.dtypes import DType, Element


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


# The form of a law ------------------------------------------------------------------------------------------------


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
class Movement:
    """One movement op."""

    shape: _ShapeLaw
    index: _IndexLaw
    inside: _InsideLaw = _always
    fill: Callable[[DType], Element] | None = None
    """What stands where a position of the source does not lie in it; None for an invalid element."""


def index_parts(given: Given[S], at: tuple[N, ...]) -> Iterator[tuple[N, ...]]:
    """The position at which each index of an Index is read: a part of the position of the result."""
    for shape in given.shapes[1:]:
        yield at[: len(shape)]
        at = at[len(shape) :]
