"""
Reductions
==========

Folds over axes. The axes are an attribute in older versions of the operator set and an operand in newer ones; none
means all, or with `noop_with_empty_axes` that nothing is reduced.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from soundline.impl.arrays.promotion import accumulated
from soundline.impl.importers.reading.node import Node, along, axis_in, number_line, operator, selected
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import int64

Fold = Callable[[Tensor, list[int]], Tensor]
"""A reduction that keeps its axes with size 1."""


def _sum(x: Tensor, axes: list[int]) -> Tensor:
    return x.sum(axes, keepdim=True).cast(x.dtype)


def _log_sum_exp(x: Tensor, axes: list[int]) -> Tensor:
    """The logarithm of Σ e^x, from the differences to the greatest element."""
    greatest = x.max(axes, keepdim=True)
    shift = (abs(greatest) < math.inf).where(greatest, 0.0)
    return (x - shift).exp().sum(axes, keepdim=True).log() + shift


def _mean(x: Tensor, axes: list[int]) -> Tensor:
    if x.dtype.is_float:
        return x.mean(axes, keepdim=True)
    return _sum(x, axes) // math.prod(x.shape[a] for a in axes)


def _wide(fold: Fold) -> Fold:
    """A fold whose steps are computed in float32 where the dtype is narrower."""
    return lambda x, axes: fold(x.cast(accumulated(x.dtype)), axes).cast(x.dtype)


_FOLDS: dict[str, tuple[Fold, int]] = {
    "ReduceSum": (_sum, 13),
    "ReduceMean": (_mean, 18),
    "ReduceMax": (lambda x, axes: x.max(axes, keepdim=True), 18),
    "ReduceMin": (lambda x, axes: x.min(axes, keepdim=True), 18),
    "ReduceProd": (lambda x, axes: x.prod(axes, keepdim=True).cast(x.dtype), 18),
    "ReduceL1": (lambda x, axes: _sum(abs(x), axes), 18),
    "ReduceL2": (_wide(lambda x, axes: _sum(x * x, axes).sqrt().cast(x.dtype)), 18),
    "ReduceLogSum": (_wide(lambda x, axes: _sum(x, axes).log().cast(x.dtype)), 18),
    "ReduceLogSumExp": (_wide(lambda x, axes: _log_sum_exp(x, axes).cast(x.dtype)), 18),
    "ReduceSumSquare": (_wide(lambda x, axes: _sum(x * x, axes)), 18),
}
"""Each reduction, and the version from which its axes are an operand."""


def _translation(fold: Fold, since: int) -> Callable[[Node], Tensor]:
    def reduce(node: Node) -> Tensor:
        x = node[0]
        given = node.listed("axes", 1, since)
        keep = node.flag("keepdims", True)
        nothing = node.flag("noop_with_empty_axes", False)
        if nothing and not given:
            return fold(x, [])
        axes = [a % max(x.ndim, 1) for a in given] if given else list(range(x.ndim))
        result = fold(x, axes)
        return result if keep else _dropped(result, axes)

    return reduce


def _dropped(x: Tensor, axes: list[int]) -> Tensor:
    return x.reshape(tuple(s for k, s in enumerate(x.shape) if k not in axes))


FAMILY = tuple(operator(name)(_translation(fold, since)) for name, (fold, since) in _FOLDS.items())


def position_of_greatest(x: Tensor, axis: int, *, last: bool) -> Tensor:
    """Where the greatest element of an axis is, which stays with size 1: the first such place, or the last."""
    size = x.shape[axis]
    places = along(number_line(size), axis, x.ndim)
    hit = x == x.max(axis, keepdim=True)
    if last:
        return hit.where(places, -1).max(axis, keepdim=True)
    return hit.where(places, size).min(axis, keepdim=True)


@operator("ArgMax", "ArgMin")
def position(node: Node) -> Tensor:
    """Where the greatest or least element is."""
    x = node[0]
    axis = axis_in(node, node.integer("axis", 0), x.ndim)
    last = node.flag("select_last_index", False)
    ordered = x if node.op_type == "ArgMax" else _reversed_order(x)
    place = position_of_greatest(ordered, axis, last=last)
    return place if node.flag("keepdims", True) else place.squeeze(axis)


def _reversed_order(x: Tensor) -> Tensor:
    return -x if x.dtype.is_float else ~x


@operator("TopK")
def top_k(node: Node) -> list[Tensor]:
    """The k greatest or least elements of an axis in order, and where they are; of equals the first comes first.

    An element's rank is the number of elements that come before it.
    """
    x = node[0]
    axis = axis_in(node, node.integer("axis", -1), x.ndim)
    k = node.integer("k") if node.opset < 10 else int(node.value(1).reshape(()))
    largest = node.flag("largest", True)
    node.ignore("sorted")  # sorted is one of the orders that unsorted admits
    size = x.shape[axis]
    mine, other = x.unsqueeze(axis + 1), x.unsqueeze(axis)
    places = number_line(size)
    before = along(places, axis + 1, x.ndim + 1) < along(places, axis, x.ndim + 1)
    ahead = (other > mine) if largest else (other < mine)
    rank = (ahead | ((other == mine) & before)).cast(int64).sum(axis + 1)
    wanted = along(number_line(k), axis, x.ndim + 1) == rank.unsqueeze(axis)
    values = selected(wanted, x.unsqueeze(axis), axis + 1)
    indices = selected(wanted, along(places, axis + 1, x.ndim + 1), axis + 1)
    return [values, indices]
