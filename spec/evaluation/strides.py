"""
Strides
=======

A Pad or a Shrink of the rule language may have a stride along each axis: the distance from one element to the next
where they are placed, or the length of a step where some are kept. There is no op for strides. A reshape gives the
positions between two elements an axis of their own; that axis is filled with zeros by a Pad, or cut off by a Shrink.
"""

from __future__ import annotations

from typing import Any

from soundline.spec.dtypes import index
from soundline.spec.errors import RuleError
from soundline.spec.ops.node import Op, Shape, Size, UOp
from soundline.spec.ops.sizes import add, as_node, as_size, multiply
from soundline.spec.values.elementwise import scalar


def of_sizes(op: Op, x: Size, y: Size) -> Size:
    """An op on sizes: a number of numbers."""
    if isinstance(x, int) and isinstance(y, int):
        return int(scalar(op, index, x, y))
    return as_size(UOp(op, (as_node(x), as_node(y))))


def strided_steps(op: Op, own: Shape, offset: Shape, shape: Shape, stride: Shape) -> list[tuple[Any, ...]]:
    """A Pad or a Shrink with a stride, of what has these sizes, as movement ops and their shapes and offsets.

    Along each axis the elements of the smaller one are the first of every `stride` of the greater one. To spread, each
    element gets an axis of its own, with zeros behind it; to gather, what lies between is cut off.
    """
    few = own if op is Op.Pad else shape
    if not len(own) == len(stride) == len(offset) == len(shape):
        raise RuleError(f"a stride of {len(stride)} axes meets a shape of {len(own)}")
    pairs = tuple(e for n, k in zip(few, stride, strict=True) for e in (n, k))
    firsts = tuple(e for n in few for e in (n, 1))
    whole = tuple(multiply(n, k) for n, k in zip(few, stride, strict=True))
    start, starts = (0,) * len(few), (0,) * len(pairs)
    if op is Op.Pad:
        reach = (add(n, add(1, multiply(k, -1))) for n, k in zip(whole, stride, strict=True))
        room = tuple(of_sizes(Op.Max, n, 0) for n in reach)
        spread = [(Op.Reshape, firsts), (Op.Pad, starts, pairs), (Op.Reshape, whole)]
        return [*spread, (Op.Shrink, start, room), (Op.Pad, offset, shape)]
    longer = tuple(add(n, add(k, -1)) for n, k in zip(own, stride, strict=True))
    kept = [(Op.Pad, start, longer), (Op.Shrink, offset, whole)]
    return [*kept, (Op.Reshape, pairs), (Op.Shrink, starts, firsts), (Op.Reshape, shape)]
