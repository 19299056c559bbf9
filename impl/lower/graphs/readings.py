"""
Readings
========

What an element of a node is computed from: for a node at a view, the sources and the views at which they are read. Here
stand the ops that read more than one element of a source, or another one than movement says, and what is read from
storage.
"""

from __future__ import annotations

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.costs import line_of
from soundline.impl.lower.graphs.scalars import zero
from soundline.impl.lower.graphs.views import View, stacked, terms
from soundline.spec.dtypes import DType
from soundline.spec.uop import Op, Shape, UOp

Reading = tuple[UOp, View]
"""A node, and the view at which it is read."""


def loaded(storage: UOp, view: View, shape: Shape | None) -> UOp:
    """The element of a row-major buffer at a view; zero where its gate is closed."""
    place = Op.Index(storage, arithmetic.flatten(view.coordinates, terms(shape)))
    return Op.Load(place) if view.gate is None else Op.Load(place, zero(storage.dtype), view.gate)


def in_dtype(dtype: DType, value: UOp) -> UOp:
    """A value in a dtype, cast if it has another."""
    return value if value.dtype is dtype else Op.Cast(value, arg=dtype)


def stack_sources(node: UOp, view: View) -> list[Reading]:
    """What an element of a Stack reads: one source where the position is known, else an element of each."""
    first, rest = view.coordinates[0], view.at(stacked(view.coordinates))
    if first.op is Op.Const:
        return [(node.src[first.arg.value], rest)]
    return [(s, rest) for s in node.src]


def on_a_line(node: UOp, position: UOp) -> UOp | None:
    """The element of a line at a position, computed from it; no element needs more than the dtype."""
    line = line_of(node)
    if line is None:
        return None
    place = arithmetic.add(arithmetic.mul(position, arithmetic.number(line[1])), arithmetic.number(line[0]))
    return in_dtype(node.dtype, place)


def bitcast_views(node: UOp, view: View) -> list[View]:
    """What an element of a Bitcast reads: itself, several narrower elements, or one wider one."""
    old, new = node.src[0].dtype.itemsize, node.dtype.itemsize
    if old == new:
        return [view]
    *outer, last = view.coordinates
    if old > new:
        return [view.at([*outer, arithmetic.div(last, old // new)])]
    k = new // old
    first = arithmetic.mul(last, arithmetic.number(k))
    return [view.at([*outer, arithmetic.add(first, arithmetic.number(part))]) for part in range(k)]


def part_of_bitcast(node: UOp, view: View) -> UOp:
    """Which part of the wider element a Bitcast to a narrower dtype takes."""
    return arithmetic.mod(view.coordinates[-1], node.src[0].dtype.itemsize // node.dtype.itemsize)
