"""
Sampling
========

Values of an image at coordinates that are computed, and images put together from their windows. Of the places of each
axis those that a coordinate uses are chosen by comparison; the others take nothing, so that infinities and NaN
elsewhere do no harm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from soundline.impl.analysis.sums import reduced
from soundline.impl.arrays.promotion import accumulated
from soundline.impl.importers.reading.node import Node, Refusal, filled, number_line, operator, stored
from soundline.impl.tensors.numerics import special
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import bool_, int64
from soundline.spec.uop import Op

_MODES = {
    "bilinear": "linear",
    "linear": "linear",
    "nearest": "nearest",
    "bicubic": "cubic",
    "cubic": "cubic",
}
_CUBIC = -0.75


@dataclass(frozen=True, slots=True)
class Border:
    """Where one axis ends, and what lies beyond."""

    size: int
    low: float
    high: float
    mode: str

    def coordinate(self, x: Tensor) -> Tensor:
        """A coordinate beyond the border, brought inside."""
        if self.mode == "zeros":
            return x
        outside = (x < self.low) | (x > self.high)
        if self.mode == "border":
            return outside.where(x.maximum(0.0).minimum(self.size - 1.0), x)
        return outside.where(self.reflected(x), x)

    def reflected(self, x: Tensor) -> Tensor:
        """x mirrored at both ends until it is inside."""
        length = self.high - self.low
        if length == 0.0:
            return special.constant(x, self.low)
        away = abs(x - self.low)
        count = special.floor(away / length)
        rest = away - count * length
        even = special.floor(count * 0.5) * 2.0 == count
        return even.where(rest + self.low, self.high - rest)

    def place(self, x: Tensor) -> Tensor:
        """A whole number as a place of the axis; -1 where there is none."""
        if self.mode == "border":
            x = x.maximum(0.0).minimum(self.size - 1.0)
        elif self.mode == "reflection":
            outside = (x < self.low) | (x > self.high)
            x = outside.where(self.reflected(x), x)
        inside = (x >= 0.0) & (x <= self.size - 1.0)
        return inside.where(x, -1.0).cast(int64)


def _taps(x: Tensor, mode: str) -> list[tuple[Tensor, Tensor]]:
    """The whole numbers that a coordinate is interpolated from, and their weights."""
    if mode == "nearest":
        return [(special.round_half_even(x), special.constant(x, 1.0))]
    first = special.floor(x)
    t = x - first
    if mode == "linear":
        return [(first, 1.0 - t), (first + 1.0, t)]
    return [(first + float(k), _cubic(abs(t - float(k)), abs(k - 0.5) > 1)) for k in range(-1, 3)]


def _cubic(d: Tensor, far: bool) -> Tensor:
    """The weight at a distance of Keys' cubic convolution."""
    a = _CUBIC
    if far:
        return special.polynomial(d, [-4 * a, 8 * a, -5 * a, a])
    return special.polynomial(d, [1.0, 0.0, -(a + 3), a + 2])


@operator("GridSample")
def grid_sample(node: Node) -> Tensor:
    """The values of an image at coordinates from -1 to 1, the last of which is along the last axis."""
    x, grid = node[0], node[1]
    mode = _MODES.get(node.text("mode", "linear"))
    beyond = node.text("padding_mode", "zeros")
    if mode is None or beyond not in ("zeros", "border", "reflection"):
        raise Refusal(f"the mode {mode!r} with the border {beyond!r}")
    corners = node.flag("align_corners", False)
    home = accumulated(x.dtype)
    batch, channels, *space = x.shape
    points = math.prod(grid.shape[1:-1])
    flat = grid.cast(home).reshape(batch, points, len(space))
    result = x.cast(home).reshape(batch, 1, channels, *space).expand(batch, points, channels, *space)
    for k in reversed(range(len(space))):
        size = space[k]
        n = flat[:, :, len(space) - 1 - k]
        border = Border(size, 0.0 if corners else -0.5, size - (1.0 if corners else 0.5), beyond)
        at = (n + 1.0) * 0.5 * (size - 1.0) if corners else ((n + 1.0) * float(size) - 1.0) * 0.5
        result = _contracted(result, *_row(border, at, mode))
    return result.permute(0, 2, 1).reshape(batch, channels, *grid.shape[1:-1]).cast(x.dtype)


def _row(border: Border, x: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    """For each coordinate [N, P] which places of the axis are used, and their weights [N, P, S]."""
    rounded = special.round_half_even(x) if mode == "nearest" else x
    line = number_line(border.size)
    used = filled(False, (*x.shape, border.size), bool_)
    weights = filled(0.0, (*x.shape, border.size), x.dtype)
    for whole, weight in _taps(border.coordinate(rounded), mode):
        hit = border.place(whole).unsqueeze(-1) == line
        used = used | hit
        weights = weights + hit.where(weight.unsqueeze(-1), 0.0)
    return used, weights


def _contracted(x: Tensor, used: Tensor, weights: Tensor) -> Tensor:
    """x[N, P, …, S] summed over S with weights [N, P, S]."""
    shape = (*x.shape[:2], *([1] * (x.ndim - 3)), x.shape[-1])
    terms = used.reshape(shape).where(x * weights.reshape(shape), -0.0)
    total = Tensor.of(reduced(terms.uop, Op.Add, [x.ndim - 1]))
    return total.squeeze(-1) + 0.0


@operator("Col2Im")
def columns_to_image(node: Node) -> Tensor:
    """An image as the sum of its windows, each put back where it was taken from."""
    x, image, block = node[0], node.values(1), node.values(2)
    rank = len(image)
    dilations, strides = node.integers("dilations") or [1] * rank, node.integers("strides") or [1] * rank
    pads = node.integers("pads") or [0] * (2 * rank)
    counts = [
        (image[k] + pads[k] + pads[rank + k] - (block[k] - 1) * dilations[k] - 1) // strides[k] + 1
        for k in range(rank)
    ]
    channels = x.shape[1] // math.prod(block)
    x = x.reshape(x.shape[0], channels, *block, *counts)
    for k in range(rank):
        kernel_axis, count_axis = 2, 2 + rank - k
        rest = [a for a in range(x.ndim) if a not in (kernel_axis, count_axis)]
        last = x.permute(*rest, kernel_axis, count_axis)
        places = np.arange(block[k])[:, None] * dilations[k] + np.arange(counts[k]) * strides[k] - pads[k]
        mask = stored(np.arange(image[k])[:, None, None] == places)
        nothing = -0.0 if x.dtype.is_float else 0
        terms = mask.where(last.unsqueeze(last.ndim - 2), Tensor(nothing, x.dtype))
        total = Tensor.of(reduced(terms.uop, Op.Add, [terms.ndim - 2, terms.ndim - 1]))
        x = total.reshape(total.shape[:-2])
    return x + 0.0 if x.dtype.is_float else x
