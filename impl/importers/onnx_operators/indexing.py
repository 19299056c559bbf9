"""
Indexing
========

Gathers and scatters by comparison: an element is chosen where a position equals an index, as the law of `gather` has it
(U-30), so that infinities and NaN elsewhere in the table do no harm. Negative indices count from the end. Of several
updates of one place without a reduction the standard leaves the result open; here the last one wins.
"""

from __future__ import annotations

import math

import numpy as np

from soundline.impl.analysis.sums import reduced
from soundline.impl.importers.onnx_operators.movement import taken
from soundline.impl.importers.reading.node import (
    Node,
    Refusal,
    along,
    axis_in,
    filled,
    number_line,
    operator,
    selected,
    stored,
    value_of,
)
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import bool_, int64
from soundline.spec.uop import Op


def _from_front(indices: Tensor, size: int) -> Tensor:
    wide = indices.cast(int64)
    return (wide < 0).where(wide + size, wide)


@operator("Gather")
def gather(node: Node) -> Tensor:
    """Slices of an axis at given indices, whose axes take the place of that axis."""
    x, indices = node[0], node[1]
    axis = axis_in(node, node.integer("axis", 0), x.ndim)
    size = x.shape[axis]
    rows = x.reshape(math.prod(x.shape[:axis]), 1, size, math.prod(x.shape[axis + 1 :]))
    places = _from_front(indices, size).reshape(1, indices.size, 1, 1)
    found = selected(places == number_line(size).reshape(1, 1, size, 1), rows, 2)
    return found.reshape(*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])


@operator("GatherElements")
def gather_elements(node: Node) -> Tensor:
    """The element at an index along one axis, and at the index's own place along the others."""
    x, indices = node[0], node[1]
    axis = axis_in(node, node.integer("axis", 0), x.ndim)
    size = x.shape[axis]
    near = x.shrink([(0, size if k == axis else n) for k, n in enumerate(indices.shape)])
    places = _from_front(indices, size).unsqueeze(axis + 1)
    mask = places == along(number_line(size), axis + 1, x.ndim + 1)
    return selected(mask, near.unsqueeze(axis), axis + 1)


@operator("GatherND")
def gather_nd(node: Node) -> Tensor:
    """Slices at given index vectors, after axes that both have in common."""
    x, indices = node[0], node[1]
    batch = node.integer("batch_dims", 0)
    depth = indices.shape[-1]
    common = x.shape[:batch]
    count = math.prod(common)
    inner = x.shape[batch : batch + depth]
    rest = x.shape[batch + depth :]
    table = x.reshape(count, 1, math.prod(inner), math.prod(rest))
    queries = math.prod(indices.shape[batch:-1])
    flat = _flat_places(indices, inner).reshape(count, queries, 1, 1)
    found = selected(flat == number_line(math.prod(inner)).reshape(1, 1, math.prod(inner), 1), table, 2)
    return found.reshape(*indices.shape[:-1], *rest)


def _flat_places(indices: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Index vectors, the last axis, as places in a flat table of these sizes."""
    limits = stored(np.array(sizes, np.int64))
    wide = indices.cast(int64)
    front = (wide < 0).where(wide + limits, wide)
    steps = np.array([math.prod(sizes[k + 1 :]) for k in range(len(sizes))], np.int64)
    return (front * stored(steps)).sum(-1)


# Scatter ----------------------------------------------------------------------------------------------------------

_JOINS = {"add": Op.Add, "mul": Op.Mul, "max": Op.Max, "min": Op.Max}


def _joined(x: Tensor, mask: Tensor, updates: Tensor, axis: int, reduction: str) -> Tensor:
    """x with the updates along one more axis put in where the mask holds."""
    if reduction == "none":
        size = mask.shape[axis]
        number = along(number_line(size), axis, mask.ndim)
        last = mask.where(number, -1).max(axis, keepdim=True)
        hit = (number == last) & (last >= 0)
        return (last >= 0).squeeze(axis).where(selected(hit, updates, axis), x)
    if reduction not in _JOINS:
        raise Refusal(f"the reduction {reduction!r} is not supported")
    turned = reduction == "min"
    base, values = (_turned(x), _turned(updates)) if turned else (x, updates)
    dtype = x.dtype
    if reduction == "add":
        nothing = filled(-0.0 if dtype.is_float else 0, (), dtype)
    else:
        nothing = filled(1 if reduction == "mul" else dtype.min, (), dtype)
    shape = np.broadcast_shapes(mask.shape, values.shape)
    rows = mask.where(values, nothing).expand(shape)
    total = Tensor.of(reduced(rows.uop, _JOINS[reduction], [axis])).squeeze(axis)
    joined = {"add": base + total, "mul": base * total}.get(reduction, base.maximum(total))
    return _turned(joined) if turned else joined


def _turned(x: Tensor) -> Tensor:
    return -x if x.dtype.is_float else ~x


@operator("ScatterElements", "Scatter")
def scatter_elements(node: Node) -> Tensor:
    """Updates put at an index along one axis, and at their own place along the others."""
    x, indices, updates = node[0], node[1], node[2]
    axis = axis_in(node, node.integer("axis", 0), x.ndim)
    reduction = node.text("reduction", "none")
    size = x.shape[axis]
    places = _from_front(indices, size)
    widths = [
        (0, 0 if k == axis else s - n) for k, (s, n) in enumerate(zip(x.shape, indices.shape, strict=True))
    ]
    inside = filled(True, indices.shape, bool_).pad(widths)
    mask = places.pad(widths).unsqueeze(axis) == along(number_line(size), axis, x.ndim + 1)
    mask = mask & inside.unsqueeze(axis)
    return _joined(x, mask, updates.pad(widths).unsqueeze(axis), axis + 1, reduction)


@operator("ScatterND")
def scatter_nd(node: Node) -> Tensor:
    """Slices put at index vectors."""
    x, indices, updates = node[0], node[1], node[2]
    reduction = node.text("reduction", "none")
    depth = indices.shape[-1]
    inner, rest = x.shape[:depth], x.shape[depth:]
    table = x.reshape(math.prod(inner), math.prod(rest))
    queries = math.prod(indices.shape[:-1])
    flat = _flat_places(indices, inner).reshape(1, queries, 1)
    mask = flat == number_line(math.prod(inner)).reshape(math.prod(inner), 1, 1)
    return _joined(table, mask, updates.reshape(1, queries, math.prod(rest)), 1, reduction).reshape(x.shape)


@operator("TensorScatter")
def tensor_scatter(node: Node) -> Tensor:
    """Consecutive elements of a cache replaced, from a start that each batch has."""
    cache, update, starts = node[0], node[1], node.get(2)
    axis, mode = axis_in(node, node.integer("axis", -2), cache.ndim), node.text("mode", "linear")
    size, count = cache.shape[axis], update.shape[axis]
    start = filled(0, (cache.shape[0],), int64) if starts is None else starts.cast(int64)
    places = along(start, 0, cache.ndim + 1) + along(number_line(count), axis + 1, cache.ndim + 1)
    if mode == "circular":
        places = places % size
    elif mode != "linear":
        raise Refusal(f"the mode {mode!r} is not supported")
    mask = places == along(number_line(size), axis, cache.ndim + 1)
    return _joined(cache, mask, update.unsqueeze(axis), axis + 1, "none")


# Choices ----------------------------------------------------------------------------------------------------------


@operator("OneHot")
def one_hot(node: Node) -> Tensor:
    """An axis with one value at the index and another elsewhere; an index outside marks nothing."""
    indices, values = node[0], node[2]
    depth = int(node.value(1).reshape(-1)[0])
    axis = node.integer("axis", -1) % (indices.ndim + 1)
    wide = indices.cast(int64)
    inside = (wide >= -depth) & (wide < depth)
    places = (wide < 0).where(wide + depth, wide)
    mask = places.unsqueeze(axis) == along(number_line(depth), axis, indices.ndim + 1)
    low, high = values[0], values[1]
    return (mask & inside.unsqueeze(axis)).where(high, low)


@operator("Compress")
def compress(node: Node) -> Tensor:
    """The slices of an axis, or the elements of the flat tensor, for which a known condition holds."""
    x, chosen = node[0], value_of(node[1])
    axis = node.attribute("axis")
    if axis is None:
        x, axis = x.reshape(-1), 0
    return taken(x, np.flatnonzero(chosen), int(axis) % x.ndim)


@operator("NonZero")
def non_zero(node: Node) -> Tensor:
    """The places of the elements of a constant that are not 0."""
    return stored(np.array(np.nonzero(node.value(0)), np.int64))
