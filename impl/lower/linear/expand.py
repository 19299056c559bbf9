"""
Expand
======

Expand the parallel ranges into shape.

Input: a Linear of Sinks of scalars, some of whose Ranges are lanes: UPCAST, UNROLL or GROUP_REDUCE. Output: the same
without them. A nest that had L of them, and the reductions in it, computes on values with L axes, one for each in nest
order: an axis has size 1 where a value does not depend on its Range. A value that depends on none keeps the shape
``()``. A reduction over lanes becomes a Reduce over that axis, after the Reduce over its other ranges.

*Invariant*: the values of all stores are unchanged, bit for bit: the lanes of a value are what the iterations were.
For a reduction that holds because a Reduce over lanes has no other ranges, or is of an operator whose order is free.
"""

from __future__ import annotations

import math

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.rebuilding import rebuilt, under
from soundline.impl.lower.linear.linearize import nest_of
from soundline.impl.lower.linear.loop_nests import rowwise
from soundline.spec.uop import AxisType, Op, ReduceArg, UOp, reshape
from soundline.spec.uop import expand as expanded

Shape = tuple[int, ...]

_LANES = (AxisType.UPCAST, AxisType.UNROLL, AxisType.GROUP_REDUCE)


def expand(kernels: UOp) -> UOp:
    """Expand the parallel ranges of every kernel."""
    return Op.Linear(
        *(
            Op.Sink(*(new for nest in k.src for new in rowwise(nest, lambda part: [_Lanes(part).effect()])))
            for k in kernels.src
        )
    )


def is_lane(node: UOp) -> bool:
    """Whether a node is a Range that is to become an axis."""
    return node.op is Op.Range and node.arg.type in _LANES


class _Lanes:
    """One nest, and the axes that its parallel ranges become."""

    def __init__(self, nest: UOp) -> None:
        self.nest = nest
        self.ranges, self.body = nest_of(nest)
        outer = [r for r in self.ranges if is_lane(r)]
        inner = [n for n in under(self.body) if is_lane(n) and n not in outer]
        self.lanes = [*outer, *inner]

    def effect(self) -> UOp:
        """The nest without its parallel ranges."""
        if not self.lanes:
            return self.nest
        effect = rebuilt(self.body, self.expanded)
        for r in reversed(self.ranges):
            if not is_lane(r):
                effect = Op.End(effect, r)
        return effect

    def expanded(self, node: UOp, sources: tuple[UOp, ...]) -> UOp:
        """The lanes of a node."""
        if is_lane(node):
            return self.numbers(node)
        src = list(sources)
        if node.op is Op.Reduce:
            return self.reduced(node, src[0])
        if node.op is Op.Index:
            return Op.Index(src[0], self.flat(src[1]))
        if node.op is Op.Load:
            return self.loaded(src)
        if node.op is Op.Store:
            return self.stored(node, src)
        if node.op is Op.Range or not src:
            return node
        if node.op is Op.Group:
            return Op.Group(*src)
        return UOp(node.op, tuple(self.together(src)), node.arg)

    def numbers(self, lane: UOp) -> UOp:
        """0, 1, … along the axis of a range."""
        size = int(lane.src[0].arg.value)
        shape = tuple(size if r is lane else 1 for r in self.lanes)
        return reshape(Op.Stack(*map(arithmetic.number, range(size))), shape)

    def together(self, values: list[UOp], at_least: Shape = ()) -> list[UOp]:
        """Values brought to one shape, which is `at_least` a given one."""
        shapes = [_shape(v) for v in values if v.shape] + ([at_least] if at_least else [])
        if not shapes:
            return values
        common = tuple(max(sizes) for sizes in zip(*shapes, strict=True))
        return [_broadcast(v, common) for v in values]

    def flat(self, value: UOp) -> UOp:
        """A value with axes as one axis, as an Index takes it; a scalar stays."""
        return reshape(value, (math.prod(_shape(value)),)) if value.shape else value

    def axes_of(self, place: UOp) -> Shape:
        """The shape that an index had before it became one axis; () of a scalar."""
        at = place.src[1]
        return _shape(at.src[0]) if at.shape else ()

    def loaded(self, src: list[UOp]) -> UOp:
        """The elements at an index for each lane; a gate may depend on more lanes than the index does."""
        place, *rest = src
        axes = self.axes_of(place)
        if rest:
            at = place.src[1].src[0] if axes else place.src[1]
            at, *rest = self.together([at, *rest])
            place, axes = Op.Index(place.src[0], self.flat(at)), _shape(at)
        found = UOp(Op.Load, (place, *(self.flat(r) for r in rest)))
        return reshape(found, axes) if axes else found

    def stored(self, node: UOp, src: list[UOp]) -> UOp:
        """A write of every lane; the place tells the lanes apart, so it has all of them."""
        place, *rest = src
        axes = self.axes_of(place)
        return UOp(Op.Store, (place, *(self.flat(r) for r in self.together(rest, axes))), node.arg)

    def reduced(self, node: UOp, body: UOp) -> UOp:
        """A reduction: over its other ranges in every lane, then over the axes of its parallel ranges."""
        own = [self.lanes.index(r) for r in node.src[1:] if is_lane(r)]
        rest = [r for r in node.src[1:] if not is_lane(r)]
        if own:
            needed = tuple(int(r.src[0].arg.value) if k in own else 1 for k, r in enumerate(self.lanes))
            (body,) = self.together([body], needed)
        total = Op.Reduce(body, *rest, arg=node.arg) if rest else body
        if not own:
            return total
        total = Op.Reduce(total, arg=ReduceArg(node.arg.op, tuple(own)))
        return reshape(total, ()) if math.prod(_shape(total)) == 1 else total


def _shape(value: UOp) -> Shape:
    assert value.shape is not None
    return tuple(s for s in value.shape if isinstance(s, int))


def _broadcast(value: UOp, shape: Shape) -> UOp:
    if value.shape == shape:
        return value
    if not value.shape:
        value = reshape(value, (1,) * len(shape))
    return value if value.shape == shape else expanded(value, shape)
