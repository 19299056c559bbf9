"""
Axes
====

What the kind of a loop says about its iterations (U-26, U-51): whether they run in order, whether they are the threads
of one workgroup, and which storage each of them has for itself.
"""

from __future__ import annotations

from soundline.spec.ops.node import AxisType, Op, UOp

ORDERED = (AxisType.LOOP, AxisType.REDUCE, AxisType.UNROLL, AxisType.UPCAST)
"""The axes whose iterations run one after the other, in ascending order."""

THREADS = (AxisType.LOCAL, AxisType.WARP, AxisType.GROUP_REDUCE)
"""The axes whose iterations are threads of one workgroup: they share LOCAL storage and meet at Barriers."""


def axis_type(loop: UOp) -> AxisType:
    """The kind of a Range, from its arg. A Special is GLOBAL where it counts workgroups, and LOCAL where it counts
    threads.
    """
    if loop.op is Op.Range:
        kind: AxisType = loop.arg.type
        return kind
    return AxisType.GLOBAL if loop.arg.startswith("g") else AxisType.LOCAL


def is_thread_axis(loop: UOp) -> bool:
    """Whether the iterations of a loop are threads of one workgroup."""
    return axis_type(loop) in THREADS


def is_private(addrspace: str, axis: AxisType) -> bool:
    """Whether each iteration of an axis has its own copy of a storage.

    REG storage belongs to one iteration of any unordered axis, LOCAL storage to one workgroup.
    """
    if axis in ORDERED:
        return False
    return addrspace == "REG" or (addrspace == "LOCAL" and axis not in THREADS)
