"""
Windows
=======

Borders and windows for convolutions and poolings: the windows of a tensor become separate axes, by movement ops alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from soundline.impl.tensors.core.values import Operand, Values, as_graph
from soundline.impl.tensors.methods.movement import Movement
from soundline.spec.dtypes import bool_
from soundline.spec.uop import broadcast_to, const

T = TypeVar("T", bound=Movement)


@dataclass(frozen=True, slots=True)
class Window:
    """How windows lie along one axis."""

    kernel: int
    stride: int
    dilation: int
    before: int
    """Border before the axis."""
    after: int
    """Border after it, as the attributes say."""
    count: int
    """The number of windows."""

    @property
    def extent(self) -> int:
        """How many elements a window spans."""
        return (self.kernel - 1) * self.dilation + 1

    def overhang(self, size: int) -> int:
        """How far the last window reaches beyond the axis and its border."""
        return max(0, (self.count - 1) * self.stride + self.extent - (self.before + size + self.after))


def padded(x: T, widths: Sequence[tuple[int, int]], value: Operand) -> T:
    """x with a border of one value; a negative width cuts."""
    cut = [(max(-a, 0), s - max(-b, 0)) for (a, b), s in zip(widths, x.shape, strict=True)]
    if any((a, b) != (0, s) for (a, b), s in zip(cut, x.shape, strict=True)):
        x = x.shrink(cut)
    border = [(max(a, 0), max(b, 0)) for a, b in widths]
    if not any(a or b for a, b in border):
        return x
    if isinstance(value, bool | int | float) and value == 0 and math.copysign(1.0, float(value)) > 0:
        return x.pad(border)
    inside = x.of(broadcast_to(const(True, bool_), x.shape)).pad(border)
    outside = value if isinstance(value, Values) else x.of(as_graph(value, x.dtype))
    return inside.where(x.pad(border), outside)


def bordered(x: T, windows: Sequence[Window], value: bool | int | float) -> T:
    """x with its border, and as much more as the last windows reach."""
    space = x.shape[-len(windows) :]
    widths = [(w.before, w.after + w.overhang(s)) for w, s in zip(windows, space, strict=True)]
    return padded(x, [(0, 0)] * (x.ndim - len(windows)) + widths, value)


def unfolded(x: T, windows: Sequence[Window]) -> T:
    """Of a bordered x[…, S…], the windows [… , N…, K…]: element (n, k) of an axis is x[n·stride + k·dilation]."""
    rank = len(windows)
    lead = x.ndim - rank
    for k, w in enumerate(windows):
        x = _unfolded_axis(x, lead + 2 * k, w)
    numbers, offsets = range(lead, x.ndim, 2), range(lead + 1, x.ndim, 2)
    return x.permute(*range(lead), *numbers, *offsets)


def _unfolded_axis(x: T, axis: int, w: Window) -> T:
    """One axis of size S as two axes (N, K).

    Repeated end to end and cut into rows of S + dilation elements, row k begins at element k·dilation.
    """
    size = max(x.shape[axis], w.count * w.stride - w.dilation)
    x = padded(x, _at(x, axis, (0, size - x.shape[axis])), 0)
    row = size + w.dilation
    copies = -(-w.kernel * row // size)
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    x = x.reshape(*before, 1, size, *after).expand(*before, copies, size, *after)
    x = x.reshape(*before, copies * size, *after)
    x = _cut(x, axis, w.kernel * row).reshape(*before, w.kernel, row, *after)
    x = _cut(x, axis + 1, w.count * w.stride).reshape(*before, w.kernel, w.count, w.stride, *after)
    x = _cut(x, axis + 2, 1).reshape(*before, w.kernel, w.count, *after)
    return x.transpose(axis, axis + 1)


def _at(x: T, axis: int, pair: tuple[int, int]) -> list[tuple[int, int]]:
    return [pair if k == axis else (0, 0) for k in range(x.ndim)]


def _cut(x: T, axis: int, stop: int) -> T:
    return x.shrink([(0, stop) if k == axis else (0, s) for k, s in enumerate(x.shape)])


def spread(x: T, steps: Sequence[int]) -> T:
    """x with step - 1 zeros between neighbours of its last axes."""
    lead = x.ndim - len(steps)
    for k, step in enumerate(steps):
        axis, size = lead + k, x.shape[lead + k]
        if step == 1 or size == 0:
            continue
        shape = x.shape
        x = padded(x.unsqueeze(axis + 1), _at(x.unsqueeze(axis + 1), axis + 1, (0, step - 1)), 0)
        x = x.reshape(*shape[:axis], size * step, *shape[axis + 1 :])
        x = _cut(x, axis, (size - 1) * step + 1)
    return x
