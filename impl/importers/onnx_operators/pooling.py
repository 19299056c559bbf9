"""
Pooling
=======

Folds of every window of a tensor.
"""

from __future__ import annotations

import math

import numpy as np

from soundline.impl.analysis.sums import reduced
from soundline.impl.arrays.promotion import accumulated
from soundline.impl.importers.onnx_operators.windows import windows_of
from soundline.impl.importers.reading.node import (
    Arrays,
    Node,
    Refusal,
    along,
    filled,
    number_line,
    operator,
    selected,
    stored,
)
from soundline.impl.tensors.methods.windows import Window, bordered, unfolded
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import int64
from soundline.spec.uop import Op


def _pooled(node: Node, border: bool | int | float, x: Tensor) -> tuple[Tensor, list[Window]]:
    """The windows of x, whose axes come last."""
    kernel = node.integers("kernel_shape")
    if kernel is None:
        raise Refusal("the attribute kernel_shape is missing")
    windows = windows_of(node, x.shape[2:], kernel)
    return unfolded(bordered(x, windows, border), windows), windows


def _inside(windows: list[Window]) -> list[int]:
    """The axes of the windows' elements, counted from the end."""
    return list(range(-len(windows), 0))


def _flat(views: Tensor, rank: int) -> Tensor:
    kept = views.shape[: views.ndim - rank]
    return views.reshape(*kept, math.prod(views.shape[views.ndim - rank :]))


@operator("MaxPool")
def max_pool(node: Node) -> list[Tensor | None]:
    """The greatest element of each window, and where in the whole tensor it is."""
    x = node[0]
    views, windows = _pooled(node, x.dtype.min, x)
    columns_first = node.flag("storage_order", False)
    greatest = views.max(_inside(windows))
    if not node.wants(1):
        return [greatest, None]
    places = _places(x, windows, columns_first)
    seen = stored(places >= 0)
    hit = (_flat(views, len(windows)) == greatest.unsqueeze(-1)) & seen
    first = hit.where(stored(places), np.iinfo(np.int64).max).min(-1)
    offsets = number_line(x.shape[0] * x.shape[1]) * math.prod(x.shape[2:])
    return [greatest, first + offsets.reshape(x.shape[0], x.shape[1], *([1] * len(windows)))]


def _places(x: Tensor, windows: list[Window], columns_first: bool) -> Arrays:
    """The place in its image of every element of every window; -1 in the border."""
    space = x.shape[2:]
    rank = len(windows)
    order = tuple(reversed(range(rank))) if columns_first else tuple(range(rank))
    weights = [0] * rank
    step = 1
    for k in reversed(order):
        weights[k] = step
        step *= space[k]
    total: Arrays = np.zeros((1,) * (2 * rank), np.int64)
    inside: Arrays = np.ones((1,) * (2 * rank), np.bool_)
    for k, w in enumerate(windows):
        row = np.arange(w.count)[:, None] * w.stride + np.arange(w.kernel) * w.dilation - w.before
        shape = [1] * (2 * rank)
        shape[k], shape[rank + k] = w.count, w.kernel
        total = total + row.reshape(shape) * weights[k]
        inside = inside & ((row >= 0) & (row < space[k])).reshape(shape)
    places = np.where(inside, total, -1)
    return places.reshape(*places.shape[:rank], -1)


@operator("AveragePool")
def average_pool(node: Node) -> Tensor:
    """The mean of each window; the border counts only if the node says so."""
    x = node[0]
    with_border = node.flag("count_include_pad", False)
    views, windows = _pooled(node, 0.0, x.cast(accumulated(x.dtype)))
    counts = _counts(x.shape[2:], windows, with_border)
    total = Tensor.of(reduced(views.uop, Op.Add, range(views.ndim - len(windows), views.ndim)))
    return (total.reshape(views.shape[: -len(windows)]) / stored(counts, views.dtype)).cast(x.dtype)


def _counts(space: tuple[int, ...], windows: list[Window], with_border: bool) -> Arrays:
    """How many elements of each window count."""
    total: Arrays = np.ones((), np.int64)
    for w, size in zip(windows, space, strict=True):
        row = np.arange(w.count)[:, None] * w.stride + np.arange(w.kernel) * w.dilation - w.before
        low, high = (-w.before, size + w.after) if with_border else (0, size)
        total = total[..., None] * ((row >= low) & (row < high)).sum(-1)
    return total


@operator("LpPool")
def lp_pool(node: Node) -> Tensor:
    """The p-norm of each window."""
    x = node[0]
    p = node.integer("p", 2)
    views, windows = _pooled(node, 0.0, abs(x.cast(accumulated(x.dtype))))
    return p_norm(views, p, _inside(windows), keepdim=False).cast(x.dtype)


def p_norm(x: Tensor, p: int, axes: list[int], *, keepdim: bool) -> Tensor:
    """(Σ |x|^p)^(1/p)."""
    if p == 1:
        return abs(x).sum(axes, keepdim)
    if p == 2:
        return (x * x).sum(axes, keepdim).sqrt()
    total = math.prod([abs(x)] * (p - 1), start=abs(x)).sum(axes, keepdim)
    root = filled(1.0 / p, total.shape, total.dtype)
    return Tensor.of(Op.Pow(total.uop, root.uop))


@operator("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
def global_pool(node: Node) -> Tensor:
    """One window: all of each image."""
    x = node[0]
    axes = list(range(2, x.ndim))
    if node.op_type == "GlobalMaxPool":
        return x.max(axes, keepdim=True)
    if node.op_type == "GlobalAveragePool":
        return x.mean(axes, keepdim=True)
    return p_norm(x.cast(accumulated(x.dtype)), node.integer("p", 2), axes, keepdim=True).cast(x.dtype)


@operator("MaxUnpool")
def max_unpool(node: Node) -> Tensor:
    """Elements put where a MaxPool took them from; zeros elsewhere."""
    x, places = node[0], node[1]
    kernel = node.integers("kernel_shape") or []
    rank = len(kernel)
    strides, pads = node.integers("strides") or [1] * rank, node.integers("pads") or [0] * (2 * rank)
    natural = [(x.shape[2 + k] - 1) * strides[k] + kernel[k] - pads[k] - pads[rank + k] for k in range(rank)]
    shape = [*x.shape[:2], *natural]
    wanted = node.values(2) if node.get(2) is not None else shape
    total = math.prod(shape)
    hits = along(number_line(total, int64), 0, 2) == places.reshape(1, places.size)
    flat = selected(hits, x.reshape(1, x.size), 1) + 0.0
    full = flat.reshape(shape)
    return full.pad([(0, w - s) for w, s in zip(wanted, full.shape, strict=True)])


@operator("LRN")
def local_response_normalization(node: Node) -> Tensor:
    """x over (bias + alpha/size · Σ x²)^beta, summed over neighbouring channels."""
    x, size = node[0], node.integer("size")
    alpha, beta, bias = node.number("alpha", 1e-4), node.number("beta", 0.75), node.number("bias", 1.0)
    home = accumulated(x.dtype)
    real = x.cast(home)
    channels_last = real.permute(0, *range(2, x.ndim), 1)
    window = Window(size, 1, 1, (size - 1) // 2, size // 2, x.shape[1])
    views = unfolded(bordered(channels_last * channels_last, [window], 0), [window])
    total = views.sum(-1).permute(0, x.ndim - 1, *range(1, x.ndim - 1))
    base = total * (alpha / size) + bias
    return (real / Tensor.of(Op.Pow(base.uop, filled(beta, base.shape, home).uop))).cast(x.dtype)
