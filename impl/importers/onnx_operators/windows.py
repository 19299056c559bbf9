"""
Windows
=======

The windows that the attributes of a node describe. What is done with them is told by `tensors.windows`.
"""

from __future__ import annotations

from collections.abc import Sequence

from soundline.impl.importers.reading.node import Node, Refusal
from soundline.impl.tensors.methods.windows import Window


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
            raise Refusal(f"the border {auto!r} is not supported")
        room = space[k] + before + after - extent
        count = (-(-room // strides[k]) if up else room // strides[k]) + 1
        if up and (count - 1) * strides[k] >= space[k] + before:
            count -= 1  # a window that begins in the border after the axis is none
        found.append(Window(kernel[k], strides[k], dilations[k], before, after, max(count, 0)))
    return found
