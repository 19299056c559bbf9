"""
What names of data stand for
============================

Before a program runs, a name of data stands for a *window* of something that was declared: an argument, or storage
that is allocated. All of it is a window as well. A window of a window is expressed by the indices of what was declared,
so that the indices which say whose shard is meant are never lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from soundline.spec.dtypes import DType
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Binary, Const, Expr, Index, Name, Span
from soundline.spec.spork.language.text import expression as text_of
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.static.sizes import value
from soundline.spec.spork.threads.tilings import Tiling

Path = tuple[int, ...]
"""Which statement of a program: positions from the top of the proc down."""


@dataclass(frozen=True, slots=True)
class Declared:
    """An argument, or storage where it is allocated."""

    name: str
    dtype: DType
    sizes: tuple[Expr, ...]
    memory: Memory
    path: Path | None = None
    """The statement that allocates it; None for an argument."""
    allocation: Tiling | None = None
    """The threads that allocate it; None on the CPU."""

    @property
    def whole(self) -> Window:
        """All of it."""
        return Window(self, tuple(Span() for _ in self.sizes), self.memory)


@dataclass(frozen=True, slots=True)
class Window:
    """An index or an interval for each dimension of what was declared."""

    of: Declared
    indices: tuple[Expr | Span, ...]
    memory: Memory
    """That of the storage, or the one that made the window."""

    def at(self, place: Name | Index) -> Window:
        """The element or window that indices name in it."""
        if isinstance(place, Name):
            return self
        given = iter(place.indices)
        found = tuple(_within(i, next(given)) if isinstance(i, Span) else i for i in self.indices)
        return Window(self.of, found, self.memory)

    @property
    def sizes(self) -> tuple[Expr, ...]:
        """The size of each of its dimensions."""
        return tuple(_size(s) for s in self._spans())

    @property
    def texts(self) -> tuple[str, ...]:
        """The indices as they are written."""
        return tuple(text_of(i) if not isinstance(i, Span) else ":" for i in self.indices)

    def covers(self, dimension: int) -> bool:
        """Whether the interval of a dimension is all of it."""
        index, size = self.indices[dimension], self.of.sizes[dimension]
        if not isinstance(index, Span):
            return False
        begins = index.lo is None or value(index.lo) == 0
        return begins and (index.hi is None or value(Binary(Op.Sub, index.hi, size)) == 0)

    def _spans(self) -> Iterator[_Interval]:
        for index, size in zip(self.indices, self.of.sizes, strict=True):
            if isinstance(index, Span):
                yield _Interval(index.lo, size if index.hi is None else index.hi)


class _Interval(NamedTuple):
    lo: Expr | None
    hi: Expr


def _size(interval: _Interval) -> Expr:
    return interval.hi if interval.lo is None else Binary(Op.Sub, interval.hi, interval.lo)


def _within(interval: Span, index: Expr | Span) -> Expr | Span:
    """An index of a window as one of what the window is of."""
    if not isinstance(index, Span):
        return _moved(interval.lo, index)
    lo = interval.lo if index.lo is None else _moved(interval.lo, index.lo)
    return Span(lo, interval.hi if index.hi is None else _moved(interval.lo, index.hi))


def _moved(by: Expr | None, index: Expr) -> Expr:
    return index if by is None or by == Const(0) else Binary(Op.Add, by, index)


def constants(sizes: Sequence[Expr]) -> tuple[int | None, ...]:
    """The sizes that are numbers."""
    return tuple(value(size) for size in sizes)
