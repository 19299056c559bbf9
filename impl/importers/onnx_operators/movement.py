"""
Movement operators
==================

Elements put elsewhere: shapes, orders, slices, borders.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from soundline.impl.importers.reading.node import (
    Arrays,
    Node,
    Refusal,
    along,
    axis_in,
    filled,
    joined,
    number_line,
    operator,
    selected,
    stored,
)
from soundline.impl.tensors.methods.windows import padded
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import bool_


@operator("Reshape")
def reshape(node: Node) -> Tensor:
    """The same elements in another shape: a 0 keeps a size, one -1 is what is left."""
    x = node[0]
    if node.opset < 5:
        node.ignore("consumed_inputs")
        wanted = node.integers("shape") or []
    else:
        wanted = node.values(1)
    if not node.flag("allowzero", False):
        if any(s == 0 and k >= x.ndim for k, s in enumerate(wanted)):
            raise Refusal(f"a 0 in the shape {wanted} has no size to keep")
        wanted = [x.shape[k] if s == 0 else s for k, s in enumerate(wanted)]
    return x.reshape(wanted)


@operator("Flatten")
def flatten(node: Node) -> Tensor:
    """Two axes: those before one, and the rest."""
    x = node[0]
    axis = node.integer("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


@operator("Transpose")
def transpose(node: Node) -> Tensor:
    """The axes in another order; reversed where none is given."""
    order = node.integers("perm")
    return node[0].T if order is None else node[0].permute(order)


@operator("Squeeze")
def squeeze(node: Node) -> Tensor:
    """Axes of size 1 removed."""
    x, axes = node[0], node.listed("axes", 1, since=13)
    gone = [k for k, s in enumerate(x.shape) if s == 1] if axes is None else [a % x.ndim for a in axes]
    if any(x.shape[a] != 1 for a in gone):
        raise Refusal(f"the axes {gone} of the shape {x.shape} are not all of size 1")
    return x.reshape(tuple(s for k, s in enumerate(x.shape) if k not in gone))


@operator("Unsqueeze")
def unsqueeze(node: Node) -> Tensor:
    """Axes of size 1 added."""
    x, axes = node[0], node.listed("axes", 1, since=13)
    if axes is None:
        raise Refusal("the axes are missing")
    rank = x.ndim + len(axes)
    added = {a % rank for a in axes}
    sizes = iter(x.shape)
    return x.reshape(tuple(1 if k in added else next(sizes) for k in range(rank)))


@operator("Expand")
def expand(node: Node) -> Tensor:
    """Repeated along axes of size 1, in both directions as operands of an addition are."""
    x = node[0]
    try:
        shape = np.broadcast_shapes(x.shape, tuple(node.values(1)))
    except ValueError as error:
        raise Refusal(str(error)) from None
    return x.expand(shape)


@operator("Tile")
def tile(node: Node) -> Tensor:
    """Whole copies side by side."""
    return tiled(node[0], node.values(1))


def tiled(x: Tensor, counts: list[int]) -> Tensor:
    """As many copies of x along each axis."""
    pairs = [v for n, s in zip(counts, x.shape, strict=True) for v in (n, s)]
    apart = x.reshape(tuple(v for s in x.shape for v in (1, s)))
    return apart.expand(pairs).reshape(tuple(n * s for n, s in zip(counts, x.shape, strict=True)))


@operator("Concat")
def concat(node: Node) -> Tensor:
    """Tensors one after another."""
    parts = node.all()
    axis = node.integer("axis", 1 if node.opset < 4 else None)
    return joined(parts, axis_in(node, axis, parts[0].ndim))


@operator("Split")
def split(node: Node) -> list[Tensor]:
    """Consecutive parts of an axis: of given sizes, or as equal as can be, the last one smaller."""
    x = node[0]
    axis = axis_in(node, node.integer("axis", 0), x.ndim)
    given = node.listed("split", 1, since=13)
    count = node.integer("num_outputs", len(node.wanted)) if node.opset >= 18 else len(node.wanted)
    size = x.shape[axis]
    if given is None:
        part = -(-size // count)
        given = [max(0, min(part, size - k * part)) for k in range(count)]
    ends = np.cumsum([0, *given]).tolist()
    return [_part(x, axis, a, b) for a, b in itertools.pairwise(ends)]


def _part(x: Tensor, axis: int, start: int, stop: int) -> Tensor:
    return x.shrink([(start, stop) if k == axis else (0, s) for k, s in enumerate(x.shape)])


@operator("Slice")
def slice_(node: Node) -> Tensor:
    """A range of each axis, with a step that may be negative."""
    x = node[0]
    if node.opset < 10:
        starts, ends = node.integers("starts") or [], node.integers("ends") or []
        axes, steps = node.integers("axes"), None
    else:
        starts, ends = node.values(1), node.values(2)
        axes = None if node.get(3) is None else node.values(3)
        steps = None if node.get(4) is None else node.values(4)
    chosen = [slice(None)] * x.ndim
    for k, axis in enumerate(axes if axes is not None else range(len(starts))):
        step = 1 if steps is None else steps[k]
        chosen[axis % x.ndim] = _as_slice(starts[k], ends[k], step, x.shape[axis % x.ndim])
    return x[tuple(chosen)]


def _as_slice(start: int, end: int, step: int, size: int) -> slice:
    """ONNX's range as Python's: an end below -size means before the first element."""
    if step < 0 and end < -size:
        return slice(start, None, step)
    return slice(start, end, step)


# Borders ----------------------------------------------------------------------------------------------------------


@operator("Pad")
def pad(node: Node) -> Tensor:
    """A border of one value, of the edge, of the mirror image, or of copies; negative widths cut."""
    x, mode = node[0], node.text("mode", "constant")
    if node.opset < 11:
        widths = node.integers("pads") or node.integers("paddings") or []
        node.ignore("pads", "paddings")
        value: Tensor | float = node.number("value", 0.0)
        axes = None
    else:
        widths = node.values(1)
        given = node.get(2)
        value = 0 if given is None else given.reshape(())
        axes = None if node.get(3) is None else node.values(3)
    pairs = _pairs(widths, axes, x.ndim)
    if mode == "constant":
        return padded(x, pairs, False if x.dtype is bool_ and not isinstance(value, Tensor) else value)
    for axis, (before, after) in enumerate(pairs):
        x = _extended(x, axis, before, after, mode)
    return x


def _pairs(widths: list[int], axes: list[int] | None, rank: int) -> list[tuple[int, int]]:
    named = [a % rank for a in axes] if axes is not None else list(range(rank))
    half = len(widths) // 2
    if half != len(named):
        raise Refusal(f"{len(widths)} widths for {len(named)} axes")
    found = [(0, 0)] * rank
    for k, axis in enumerate(named):
        found[axis] = (widths[k], widths[half + k])
    return found


def _extended(x: Tensor, axis: int, before: int, after: int, mode: str) -> Tensor:
    """An axis continued on both sides by elements of its own."""
    size = x.shape[axis]
    places = np.arange(-before, size + after)
    if mode == "edge":
        places = places.clip(0, size - 1)
    elif mode == "reflect":
        period = max(2 * (size - 1), 1)
        places = places % period
        places = np.where(places >= size, period - places, places)
    elif mode == "wrap":
        places = places % size
    else:
        raise Refusal(f"the mode {mode!r} is not supported")
    return taken(x, places, axis)


def taken(x: Tensor, places: Arrays, axis: int) -> Tensor:
    """The elements at known places of an axis, as runs of neighbours."""
    runs: list[Tensor] = []
    rows = [int(p) for p in places]
    k = 0
    while k < len(rows):
        end = k + 1
        step = rows[end] - rows[k] if end < len(rows) else 1
        step = step if step in (1, -1) else 1
        while end < len(rows) and rows[end] == rows[end - 1] + step:
            end += 1
        low, high = min(rows[k], rows[end - 1]), max(rows[k], rows[end - 1])
        run = _part(x, axis, low, high + 1)
        runs.append(run.flip(axis) if step < 0 and end - k > 1 else run)
        k = end
    if not runs:
        return _part(x, axis, 0, 0)
    return joined(runs, axis)


# Rearrangements ---------------------------------------------------------------------------------------------------


@operator("DepthToSpace")
def depth_to_space(node: Node) -> Tensor:
    """Channels laid out as blocks of an image."""
    x, size, mode = node[0], node.integer("blocksize"), node.text("mode", "DCR")
    n, c, *space = x.shape
    blocks = [size] * len(space)
    rest = c // size ** len(space)
    rank = len(space)
    if mode == "DCR":
        apart = x.reshape(n, *blocks, rest, *space)
        block_axes, channel = list(range(1, rank + 1)), rank + 1
    elif mode == "CRD":
        apart = x.reshape(n, rest, *blocks, *space)
        block_axes, channel = list(range(2, rank + 2)), 1
    else:
        raise Refusal(f"the mode {mode!r} is not supported")
    pairs = [a for k in range(rank) for a in (rank + 2 + k, block_axes[k])]
    return apart.permute(0, channel, *pairs).reshape(n, rest, *(s * size for s in space))


@operator("SpaceToDepth")
def space_to_depth(node: Node) -> Tensor:
    """Blocks of an image laid out as channels."""
    x, size, mode = node[0], node.integer("blocksize"), node.text("mode", "DCR")
    n, c, *space = x.shape
    rank = len(space)
    apart = x.reshape(n, c, *(v for s in space for v in (s // size, size)))
    blocks, places = [3 + 2 * k for k in range(rank)], [2 + 2 * k for k in range(rank)]
    order = [0, *blocks, 1, *places] if mode == "DCR" else [0, 1, *blocks, *places]
    return apart.permute(order).reshape(n, c * size**rank, *(s // size for s in space))


@operator("Trilu")
def trilu(node: Node) -> Tensor:
    """The triangle of each matrix on one side of a diagonal; zeros elsewhere."""
    x = node[0]
    k = 0 if node.get(1) is None else int(node.value(1).reshape(()))
    rows, columns = np.indices(x.shape[-2:])
    kept = columns - rows >= k if node.flag("upper", True) else columns - rows <= k
    return stored(kept).where(x, filled(0, x.shape, x.dtype))


@operator("ReverseSequence")
def reverse_sequence(node: Node) -> Tensor:
    """The first elements of each sequence reversed, as many as its length says."""
    x, lengths = node[0], node[1]
    time, batch = node.integer("time_axis", 0), node.integer("batch_axis", 1)
    size, rank = x.shape[time], x.ndim
    here = along(number_line(size), time, rank)
    length = along(lengths, batch, rank)
    source = (here < length).where(length - here - 1, here)
    return picked(x, source.expand(tuple(_only(x, time, batch))), time)


def _only(x: Tensor, *axes: int) -> list[int]:
    return [s if k in axes else 1 for k, s in enumerate(x.shape)]


def picked(x: Tensor, places: Tensor, axis: int) -> Tensor:
    """The element at a place of an axis for each place of the result; zero where there is none.

    `places` has the rank of x; its size along the axis is the result's.
    """
    rank = x.ndim
    mask = places.unsqueeze(axis + 1) == along(number_line(x.shape[axis], places.dtype), axis + 1, rank + 1)
    return selected(mask, x.unsqueeze(axis), axis + 1)


@operator("CenterCropPad")
def center_crop_pad(node: Node) -> Tensor:
    """Cut or filled up with zeros around the middle, to given sizes."""
    x, sizes = node[0], node.values(1)
    axes = node.integers("axes")
    named = [a % x.ndim for a in axes] if axes is not None else list(range(x.ndim))
    widths = [(0, 0)] * x.ndim
    for axis, size in zip(named, sizes, strict=True):
        more = size - x.shape[axis]
        widths[axis] = (more // 2, more - more // 2) if more >= 0 else (-(-more // 2), more + -more // 2)
    return padded(x, widths, 0 if x.dtype is not bool_ else False)
