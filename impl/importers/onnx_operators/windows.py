"""
Windows
=======

What convolutions and poolings share: the windows of a tensor as axes of their own, by movement ops alone, and the
borders and sizes that the attributes describe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from soundline.impl.importers.node import Node, Refusal, padded
from soundline.impl.tensor import Tensor


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


def windows_of(node: Node, space: Sequence[int], kernel: Sequence[int]) -> list[Window]:
    """The windows that the attributes of a node describe, axis by axis."""
    rank = len(space)
    strides = node.integers("strides") or [1] * rank
    dilations = node.integers("dilations") or [1] * rank
    pads = node.integers("pads") or [0] * (2 * rank)
    auto = node.text("auto_pad", "NOTSET")
    up = node.flag("ceil_mode", False)
    found = []
    for k in range(rank):
        extent = (kernel[k] - 1) * dilations[k] + 1
        before, after = pads[k], pads[rank + k]
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            count = -(-space[k] // strides[k])
            border = max(0, (count - 1) * strides[k] + extent - space[k])
            before = border // 2 if auto == "SAME_UPPER" else border - border // 2
            after = border - before
        elif auto == "VALID":
            before = after = 0
        elif auto != "NOTSET":
            raise Refusal(f"the border {auto!r} is none")
        room = space[k] + before + after - extent
        count = (-(-room // strides[k]) if up else room // strides[k]) + 1
        if up and (count - 1) * strides[k] >= space[k] + before:
            count -= 1  # a window that begins in the border after the axis is none
        found.append(Window(kernel[k], strides[k], dilations[k], before, after, max(count, 0)))
    return found


def bordered(x: Tensor, windows: Sequence[Window], value: bool | int | float) -> Tensor:
    """x with its border, and as much more as the last windows reach."""
    space = x.shape[-len(windows) :]
    widths = [(w.before, w.after + w.overhang(s)) for w, s in zip(windows, space, strict=True)]
    return padded(x, [(0, 0)] * (x.ndim - len(windows)) + widths, value)


def unfolded(x: Tensor, windows: Sequence[Window]) -> Tensor:
    """Of a bordered x[…, S…], the windows [… , N…, K…]: element (n, k) of an axis is x[n·stride + k·dilation]."""
    rank = len(windows)
    lead = x.ndim - rank
    for k, w in enumerate(windows):
        x = _unfolded_axis(x, lead + 2 * k, w)
    numbers, offsets = range(lead, x.ndim, 2), range(lead + 1, x.ndim, 2)
    return x.permute(*range(lead), *numbers, *offsets)


def _unfolded_axis(x: Tensor, axis: int, w: Window) -> Tensor:
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


def _at(x: Tensor, axis: int, pair: tuple[int, int]) -> list[tuple[int, int]]:
    return [pair if k == axis else (0, 0) for k in range(x.ndim)]


def _cut(x: Tensor, axis: int, stop: int) -> Tensor:
    return x.shrink([(0, stop) if k == axis else (0, s) for k, s in enumerate(x.shape)])


def spread(x: Tensor, steps: Sequence[int]) -> Tensor:
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
