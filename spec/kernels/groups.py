"""
Groups in shared memory
=======================

What a Reduce over GROUP_REDUCE axes is on a machine: every member of the group stores what it has reduced to a LOCAL
Buffer, the members meet at a Barrier, and the contents of the Buffer are then reduced in the order of the members.
`with_local_buffers` rewrites a kernel to this form, with the same value bit for bit; the stage Optimize may do so.

In the meaning of a Sink an End is complete when all its iterations are complete. On a machine the iterations of a
LOCAL, WARP or GROUP_REDUCE axis are threads, and no thread knows how far the others have come. What threads have stored
to a LOCAL Buffer may only be read after a Barrier (U-51). `unsynchronized` finds the reads without one. A Linear needs
no such condition: there `workgroups` runs the threads from Barrier to Barrier, and refuses what meets in between.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from soundline.spec.kernels.iteration_spaces import Kernel, fresh_axes, size_of
from soundline.spec.kernels.warps import total
from soundline.spec.ops import bodies
from soundline.spec.ops.axes import is_thread_axis
from soundline.spec.ops.node import AxisType, BufferArg, Op, UOp, substitute, toposort
from soundline.spec.ops.places import base_of
from soundline.spec.ops.sizes import as_node


def is_grouped(node: UOp) -> bool:
    """Whether a node reduces what the members of a group have reduced."""
    return node.op is Op.Reduce and any(r.arg.type is AxisType.GROUP_REDUCE for r in node.src[1:])


def with_local_buffers(kernel: Kernel) -> UOp:
    """The Sink of a kernel whose groups store what they reduce to LOCAL Buffers."""
    sink = kernel.sink
    while True:
        reduction = next((n for n in toposort(sink) if is_grouped(n)), None)
        if reduction is None:
            return sink
        sink = substitute(sink, {reduction: _shared(sink, reduction)})


def _shared(sink: UOp, reduction: UOp) -> UOp:
    """A Reduce over a group as a LOCAL Buffer, a Barrier, and a Reduce in the order of the members."""
    value, members = reduction.src[0], reduction.src[1:]
    around = sorted(
        (r for r in bodies.free_ranges(reduction) if is_thread_axis(r)), key=lambda r: int(r.arg.id)
    )
    count = math.prod(size_of(r) for r in (*around, *members))
    local = UOp(Op.Buffer, (), BufferArg(_next_slot(sink), count, reduction.dtype, _device(sink), "LOCAL"))
    put: UOp = Op.Store(Op.Index(local, _position([*around, *members])), value)
    for member in reversed(members):
        put = Op.End(put, member)
    readers = fresh_axes(sink, *((size_of(r), AxisType.REDUCE) for r in members))
    held = Op.After(local, Op.Barrier(put))
    read = Op.Load(Op.Index(held, _position([*around, *readers])))
    return UOp(Op.Reduce, (read, *readers), reduction.arg)


def _position(ranges: Sequence[UOp]) -> UOp:
    """The row-major number of an iteration."""
    found = ranges[0]
    for r in ranges[1:]:
        found = total([Op.Mul(found, as_node(size_of(r))), r])
    return found


def _next_slot(sink: UOp) -> int:
    return 1 + max((n.arg.slot for n in toposort(sink) if n.op is Op.Buffer), default=-1)


def _device(sink: UOp) -> str:
    return sink.device if isinstance(sink.device, str) else "CPU"


def unsynchronized(sink: UOp) -> list[UOp]:
    """The reads of LOCAL Buffers after what threads have stored, without a Barrier after the threads."""
    return [
        node
        for node in toposort(sink)
        if node.op is Op.After
        and base_of(node).op is Op.Buffer
        and base_of(node).arg.addrspace == "LOCAL"
        and any(_ends_threads(dep) for dep in node.src[1:])
    ]


def _ends_threads(effect: UOp) -> bool:
    """Whether an effect comes after all threads of an axis only because a loop over them is closed."""
    if effect.op is Op.End:
        return is_thread_axis(effect.src[1]) or _ends_threads(effect.src[0])
    return effect.op is Op.Group and any(_ends_threads(member) for member in effect.src)
