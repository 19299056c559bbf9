"""
What names stand for in a run
=============================

When a program runs at given sizes, a name stands for a number of control, for a view of data, or for barriers. A
*view* is what a window is: of each dimension of the array that was allocated it has one index or an interval. It keeps
to the array, so that an element is the same under every name, and the indices that say which shard is meant are never
lost.

Control is computed here, by the laws of the ops on ``index``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

from soundline.spec.dtypes import DType, index
from soundline.spec.spork.language.expressions import Apply, Binary, Const, Expr, Index, Name, Span, Unary
from soundline.spec.spork.language.names import Barriers, Binding, DataName
from soundline.spec.spork.language.nodes import Node
from soundline.spec.spork.language.statements import BarrierAt
from soundline.spec.spork.language.text import expression as text_of
from soundline.spec.spork.language.types import Control
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.machine.conditions import run_failed
from soundline.spec.spork.machine.events import Element, Value
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.values.elementwise import ELEMENTWISE


class Dimension(NamedTuple):
    """A dimension of a view."""

    size: int
    stride: int
    """By how many elements of the array two neighbours are apart."""


@dataclass(frozen=True, slots=True)
class View:
    """All of an array, or a window of it."""

    elements: tuple[Element, ...]
    """Those of the array, in row-major order."""
    first: int
    """The number of the first element of the view among them."""
    dims: tuple[Dimension, ...]
    dtype: DType
    memory: Memory

    @property
    def sizes(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return tuple(dim.size for dim in self.dims)

    def narrowed(self, by: Sequence[int | range]) -> View:
        """The view with an index or an interval for each of its dimensions."""
        first, dims = self.first, []
        for part, dim in zip(by, self.dims, strict=True):
            first += dim.stride * (part.start if isinstance(part, range) else part)
            if isinstance(part, range):
                dims.append(Dimension(len(part), dim.stride))
        return replace(self, first=first, dims=tuple(dims))

    def lying_in(self, memory: Memory) -> View:
        """The same elements, as another memory sees them."""
        return replace(self, memory=memory)


def whole(elements: tuple[Element, ...], shape: Sequence[int], dtype: DType, memory: Memory) -> View:
    """The view of all of an array."""
    dims = tuple(Dimension(size, prod(shape[k + 1 :])) for k, size in enumerate(shape))
    return View(elements, 0, dims, dtype, memory)


@dataclass(frozen=True, slots=True)
class Given:
    """A value that a scalar argument was given; it is read wherever the argument is."""

    value: Value
    loads: tuple[tuple[Memory, Element], ...]
    """The elements in it, and the memories that they are read from."""


@dataclass(frozen=True, slots=True)
class BarrierArray:
    """The queues under one name, while they live."""

    id: Hashable
    """`QueueId.barrier` of its queues."""
    name: str
    type: BarrierType
    sizes: tuple[int, ...] | None
    """None where only its uses say what it has."""


Bound = bool | int | View | Given | BarrierArray


def binding(bound: Bound) -> Binding:
    """What a name stands for, as the chapter on names and dtypes has it."""
    match bound:
        case View():
            return DataName(bound.dtype, len(bound.sizes))
        case Given():
            return DataName(bound.value.dtype, 0)
        case BarrierArray():
            return Barriers(None)
        case _:
            return Control("bool" if isinstance(bound, bool) else "index")


@dataclass(slots=True)
class Names:
    """The names in scope at a statement, and the iteration in which it runs."""

    bound: dict[str, Bound]
    iteration: tuple[tuple[str, int], ...] = ()

    def looped(self, iterator: str, value: int) -> Names:
        """The names in one iteration of a loop."""
        return Names({**self.bound, iterator: value}, (*self.iteration, (iterator, value)))

    def bindings(self) -> Mapping[str, Binding]:
        """What all names stand for."""
        return {name: binding(bound) for name, bound in self.bound.items()}

    def control(self, expression: Expr) -> Any:
        """The integer or bool that an expression of control is."""
        match expression:
            case Name(name):
                return self.bound[name]
            case Const(value):
                return value
            case Binary(op, left, right):
                return ELEMENTWISE[op](index, self.control(left), self.control(right))
            case Unary(op, operand):
                return ELEMENTWISE[op](index, self.control(operand))
            case Apply(op, operands):
                return ELEMENTWISE[op](index, *(self.control(o) for o in operands))
        raise AssertionError("program_laws lets nothing else be control")

    def size(self, expression: Expr) -> int:
        """A size, which is not negative."""
        value: int = self.control(expression)
        if value < 0:
            raise run_failed("seq-size", expression, f"{text_of(expression)} = {value}", self.iteration)
        return value

    def view(self, name: str) -> View:
        """The view that a name stands for."""
        found = self.bound[name]
        assert isinstance(found, View)
        return found

    def element(self, place: Name | Index) -> Element:
        """The element that a place stands for."""
        view = self.view(place.name)
        number = view.first
        if isinstance(place, Index):
            for i, (size, stride) in zip(place.indices, view.dims, strict=True):
                number += stride * self._index(place, i, size)
        return view.elements[number]

    def window(self, place: Name | Index) -> View:
        """The view that a window stands for, or all of an array, or an element of it."""
        view = self.view(place.name)
        if isinstance(place, Name):
            return view
        indices = zip(place.indices, view.sizes, strict=True)
        return view.narrowed([self._interval(place, i, n) for i, n in indices])

    def barrier(self, barrier: BarrierAt) -> tuple[BarrierArray, tuple[int | None, ...]]:
        """The array of barriers, and its indices, with None for a colon."""
        found = self.bound[barrier.name]
        assert isinstance(found, BarrierArray)
        sizes: Sequence[int | None] = found.sizes or [None] * len(barrier.indices)
        at: list[int | None] = []
        for i, size in zip(barrier.indices, sizes, strict=True):
            at.append(None if isinstance(i, Span) else self._index(barrier, i, size))
        return found, tuple(at)

    def _interval(self, place: Index, i: Expr | Span, size: int) -> int | range:
        if not isinstance(i, Span):
            return self._index(place, i, size)
        lo = 0 if i.lo is None else self.control(i.lo)
        hi = size if i.hi is None else self.control(i.hi)
        if not 0 <= lo <= hi <= size:
            raise self._outside(place, i, f"{lo}:{hi} of {size}")
        return range(lo, hi)

    def _index(self, place: Index | BarrierAt, i: Expr | Span, size: int | None) -> int:
        assert not isinstance(i, Span)
        value: int = self.control(i)
        if size is not None and not 0 <= value < size:
            raise self._outside(place, i, f"{text_of(i)} = {value} of {size}")
        return value

    def _outside(self, place: Index | BarrierAt, at: Node, given: str) -> Exception:
        return run_failed(
            "seq-bounds", at if at.position else place, f"{place.name}: {given}", self.iteration
        )
