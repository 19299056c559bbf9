"""
Vectors
=======

The last part of instruction selection: what is computed in lanes becomes vectors, as wide as the machine's registers,
so that the compiler can keep each of them in one. The lanes of a value are cut into *parts*: every position on the
other axes by itself, and the last axis into vectors; what a load finds side by side is one vector, and what is the same
for all lanes of a vector is one scalar that is repeated. A bool in a vector is a mask as wide as what was compared.

*Invariant*: every element of a part is what the lane was, so the values of all stores are unchanged, bit for bit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.costs import ELEMENTWISE
from soundline.impl.lower.graphs.loops import closed
from soundline.impl.lower.graphs.rebuilding import under
from soundline.impl.lower.graphs.views import shape_of
from soundline.impl.lower.linear.linearize import nest_of
from soundline.impl.lower.schedule.target import this_machine
from soundline.impl.lower.schedule.vector_types import computes, neighbours, repeated, vector_of
from soundline.spec.dtypes import DType, bool_, index
from soundline.spec.ops.places import base_of
from soundline.spec.uop import Op, UOp, buffer, reshape, substitute

Shape = tuple[int, ...]
Place = tuple[int, ...]
"""Where a part begins: a position on every axis."""


class _Unsuitable(Exception):
    """Something in the nest has no vectors."""


@dataclass(frozen=True, slots=True)
class Affine:
    """An index in lanes: a scalar, and a step for each axis."""

    base: UOp
    steps: Shape

    def at(self, place: Place) -> UOp:
        """The scalar at a position."""
        return arithmetic.add(
            self.base, arithmetic.number(sum(s * p for s, p in zip(self.steps, place, strict=True)))
        )


def widths(size: int, dtype: DType) -> Iterator[int]:
    """How an axis is cut: the widest vectors that fit, then narrower ones."""
    width = this_machine().vector // dtype.itemsize
    while size:
        while width > size:
            width //= 2
        yield width
        size -= width


def cuts(size: int, dtype: DType, *, again: bool = False) -> list[tuple[int, int]]:
    """Where the vectors of an axis begin, and how wide they are. Where elements may be computed again, all are as wide
    as the first, and the last one ends with the axis: what is the same for all lanes is then repeated once.
    """
    found = list(widths(size, dtype))
    if again and found:
        width = found[0]
        return [(min(start, size - width), width) for start in range(0, size, width)]
    starts = [sum(found[:k]) for k in range(len(found))]
    return list(zip(starts, found, strict=True))


def parts_of(size: int, dtype: DType) -> int:
    """How many vectors an axis of lanes takes."""
    return len(cuts(size, dtype, again=True))


def vectorized(nest: UOp, slots: Iterator[int], licences: Collection[str] = ()) -> UOp:
    """The nest with its reductions in lanes as reductions of vectors, where all that they compute has vectors.

    Where what is stored is more than that, the sums are put side by side in a register of the kernel, and what is made
    of them stays in lanes. Lanes whose order is free are reduced as vectors, half by half.
    """
    ranges, body = nest_of(nest)
    reductions = [n for n in under(body) if n.op is Op.Reduce and n.shape]
    ranks = [len(shape_of(n)) for n in reductions or _stored_lanes(body)]
    if not ranks:
        return nest
    cutting = _Cutting(max(ranks))
    with suppress(_Unsuitable):
        return closed(cutting.effect(body), ranges)
    joined: dict[UOp, UOp] = {}
    for reduction in reductions:
        if reduction.arg.axes and order_is_free(reduction, licences):
            with suppress(_Unsuitable):
                joined[reduction] = cutting.halved(reduction, slots, ranges)
    if joined:
        return vectorized(closed(substitute(body, joined), ranges), slots, licences)
    for reduction in reductions:
        with suppress(_Unsuitable):
            joined[reduction] = cutting.joined(reduction, next(slots), ranges)
    return closed(substitute(body, joined), ranges) if joined else nest


def _stored_lanes(body: UOp) -> Iterator[UOp]:
    """What stores write in lanes, before it became one axis."""
    for node in under(body):
        if node.op is Op.Store and node.src[1].shape:
            value = node.src[1]
            yield value.src[0] if value.op is Op.Reshape and value.src[0].shape else value


class _Cutting:
    """The parts of the values of one nest, computed once each."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.parts: dict[tuple[UOp, Place, int], UOp] = {}
        self.indices: dict[UOp, Affine] = {}

    def effect(self, body: UOp) -> UOp:
        """The stores of all parts."""
        if body.op is Op.Group:
            return Op.Group(*(s for e in body.src for s in self.effect(e).src))
        if body.op is not Op.Store or len(body.src) > 2:
            raise _Unsuitable
        place, value = body.src
        if value.dtype is bool_:
            raise _Unsuitable  # a mask is not a byte for each lane
        axes = self.axes(value)
        at = self.affine(place.src[1])
        again = base_of(place) not in {base_of(n.src[0]) for n in under(value) if n.op is Op.Load}
        return Op.Group(*self.stores(place.src[0], at, value, self.places(axes, value.dtype, again=again)))

    def stores(self, storage: UOp, at: Affine, value: UOp, places: list[tuple[Place, int]]) -> list[UOp]:
        """A store of each part; one that writes again what the part before has written comes after it."""
        found: list[UOp] = []
        end: Place = ()
        for place, width in places:
            over = (
                Op.After(storage, found[-1]) if found and place[:-1] == end[:-1] and place < end else storage
            )
            found.append(Op.Store(self.memory(over, at, place, width), self.part(value, place, width)))
            end = (*place[:-1], place[-1] + width)
        return found

    def joined(self, reduction: UOp, slot: int, ranges: Sequence[UOp]) -> UOp:
        """A reduction whose parts are stored side by side in a register, and read from there in lanes."""
        axes = shape_of(reduction)
        register = buffer(slot, math.prod(axes), reduction.dtype, addrspace="REG")
        around = [
            r for r in ranges if r in arithmetic.ranges_of(reduction)
        ]  # what it does not depend on is inside
        anew = Op.After(register, *around) if around else register
        steps = tuple(math.prod(axes[k + 1 :]) for k in range(len(axes)))
        at = Affine(arithmetic.number(0), steps)
        stores = self.stores(anew, at, reduction, self.places(axes, reduction.dtype, again=True))
        return reshape(Op.Load(Op.After(register, *stores)), axes)

    def halved(self, reduction: UOp, slots: Iterator[int], ranges: Sequence[UOp]) -> UOp:
        """A reduction of lanes in any order: vectors are joined, then halves of the last one, down to one lane."""
        lanes = reduction.src[0]
        axes = shape_of(lanes)
        if math.prod(axes) != axes[-1] or len(self.axes(lanes)) - 1 not in reduction.arg.axes:
            raise _Unsuitable
        waiting: dict[int, list[UOp]] = {}
        for place, width in self.places(axes, reduction.dtype):
            waiting.setdefault(width, []).append(self.part(lanes, place, width))
        around = [r for r in ranges if r in arithmetic.ranges_of(reduction)]
        while max(waiting) > 1 or len(waiting[1]) > 1:
            width = max(waiting)
            total = _in_pairs(reduction.arg.op, waiting.pop(width))
            if width == 1:
                waiting[1] = [total]
                continue
            half = width // 2
            register = buffer(next(slots), width, reduction.dtype, addrspace="REG")
            anew = Op.After(register, *around) if around else register
            done = Op.After(register, Op.Store(neighbours(anew, arithmetic.number(0), width), total))
            waiting.setdefault(half, []).extend(
                Op.Load(neighbours(done, arithmetic.number(at), half)) for at in (0, half)
            )
        return reshape(waiting[1][0], shape_of(reduction))

    def places(self, axes: Shape, dtype: DType, *, again: bool = False) -> list[tuple[Place, int]]:
        """Where the parts of a value begin, and how wide they are; with `again` an element may be in two."""
        outer = itertools.product(*(range(n) for n in axes[:-1]))
        last = cuts(axes[-1], dtype, again=again)
        found = [((*o, start), width) for o in outer for start, width in last]
        if len(found) >= this_machine().registers:
            raise _Unsuitable
        return found

    def axes(self, value: UOp) -> Shape:
        """The axes of a value, also of one that is flat for a place in memory."""
        shape = shape_of(value)
        if len(shape) == self.rank:
            return shape
        if value.op is Op.Reshape and len(shape) == 1:
            return self.axes(value.src[0])
        if value.op is Op.Load:
            return self.axes(value.src[0].src[1])
        raise _Unsuitable

    def part(self, value: UOp, place: Place, width: int) -> UOp:
        """The elements of a value from a place on, `width` of them along the last axis."""
        if not value.shape:
            return repeated(value, width)
        stack = [(value, place, width)]
        while stack:
            key = stack[-1]
            waiting = [n for n in self._needed(*key) if n[0].shape and n not in self.parts]
            if key not in self.parts and waiting:
                stack += waiting
            else:
                stack.pop()
                if key not in self.parts:
                    self.parts[key] = self._part(*key)
        return self.parts[value, place, width]

    def _needed(self, value: UOp, place: Place, width: int) -> list[tuple[UOp, Place, int]]:
        """The parts of which a part is made."""
        if value.op is Op.Expand:
            return [self._before_expand(value, place, width)]
        if value.op is Op.Reshape:
            return [(value.src[0], place if value.src[0].shape else (), width)]
        if value.op is Op.Reduce and not value.arg.axes:
            return [(value.src[0], place, width)]
        return [(s, place, width) for s in value.src] if self._is_computed(value, width) else []

    def _is_computed(self, value: UOp, width: int) -> bool:
        """Whether a part is what its op makes of the parts of its sources; of one lane every op does."""
        return computes(value) or (width == 1 and value.op in ELEMENTWISE and value.dtype is not index)

    def _before_expand(self, value: UOp, place: Place, width: int) -> tuple[UOp, Place, int]:
        own = shape_of(value.src[0])
        within = tuple(0 if n == 1 else p for n, p in zip(own, place, strict=True))
        return value.src[0], within, 1 if own[-1] == 1 and shape_of(value)[-1] != 1 else width

    def _part(self, value: UOp, place: Place, width: int) -> UOp:
        if value.op is Op.Expand:
            source, within, narrow = self._before_expand(value, place, width)
            inner = self.part(source, within, narrow)
            return repeated(inner, width) if narrow != width else inner
        if value.op is Op.Reshape:
            inner = value.src[0]
            return self.part(inner, place if inner.shape else (), width)
        made = self._made(value, place, width)
        if width > 1 and vector_of(made) is None:
            raise _Unsuitable
        return made

    def _made(self, value: UOp, place: Place, width: int) -> UOp:
        if value.op is Op.Load and len(value.src) == 1 and value.dtype is not bool_:
            at = value.src[0]
            return self.read(at.src[0], self.affine(at.src[1]), place, width)
        if value.op is Op.Reduce and not value.arg.axes and value.arg.op in (Op.Add, Op.Mul, Op.Max):
            body, *ranges = value.src
            return Op.Reduce(self.part(body, place, width), *ranges, arg=value.arg)
        if self._is_computed(value, width):
            return UOp(value.op, tuple(self.part(s, place, width) for s in value.src), value.arg)
        raise _Unsuitable

    def read(self, storage: UOp, at: Affine, place: Place, width: int) -> UOp:
        """A load of neighbours, or of one element for all."""
        if at.steps[-1] == 0 and width > 1:
            return repeated(Op.Load(Op.Index(storage, at.at(place))), width)
        return Op.Load(self.memory(storage, at, place, width))

    def memory(self, storage: UOp, at: Affine, place: Place, width: int) -> UOp:
        """The places of a part in memory."""
        first = at.at(place)
        if width > 1 and at.steps[-1] != 1:
            raise _Unsuitable
        return neighbours(storage, first, width)

    # indices ------------------------------------------------------------------------------------------------------

    def affine(self, at: UOp) -> Affine:
        """An index as a scalar and steps; raises where it is no such sum."""
        if at not in self.indices:
            self.indices[at] = self._affine(at)
        return self.indices[at]

    def _affine(self, at: UOp) -> Affine:
        if not at.shape:
            return Affine(at, (0,) * self.rank)
        if at.op is Op.Expand:
            return self.affine(at.src[0])
        if at.op is Op.Reshape and at.src[0].op is Op.Stack:
            return Affine(arithmetic.number(0), tuple(int(n > 1) for n in shape_of(at)))
        if at.op is Op.Reshape:
            return self.affine(at.src[0])
        if at.op is Op.Add:
            a, b = map(self.affine, at.src)
            if len(a.steps) != len(b.steps):
                raise _Unsuitable
            return Affine(
                arithmetic.add(a.base, b.base), tuple(x + y for x, y in zip(a.steps, b.steps, strict=True))
            )
        if at.op is Op.Mul:
            a, b = map(self.affine, at.src)
            if any(a.steps):
                a, b = b, a
            if any(a.steps) or (any(b.steps) and a.base.op is not Op.Const):
                raise _Unsuitable
            steps = (s * int(a.base.arg.value) if s else 0 for s in b.steps)
            return Affine(arithmetic.mul(b.base, a.base), tuple(steps))
        raise _Unsuitable


def steps_of(at: UOp, rank: int) -> tuple[int, ...] | None:
    """How far an index in lanes goes along each axis; None where it is no such sum."""
    with suppress(_Unsuitable):
        return _Cutting(rank).affine(at).steps
    return None


def width_of(dtype: DType) -> int:
    """How many lanes the widest vector has."""
    return this_machine().vector // dtype.itemsize


def order_is_free(reduction: UOp, licences: Collection[str]) -> bool:
    """Whether any order of a reduction gives the same bits, or the licence to change it is granted (U-10, U-50)."""
    return reduction.arg.op is Op.Max or not reduction.dtype.is_float or "reassociate" in licences


def _in_pairs(op: Op, values: list[UOp]) -> UOp:
    while len(values) > 1:
        rest = values[len(values) // 2 * 2 :]
        values = [UOp(op, pair) for pair in zip(values[::2], values[1::2], strict=False)] + rest
    return values[0]
