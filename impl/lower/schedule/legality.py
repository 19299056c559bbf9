"""
Steps on a CPU
==============

What a CPU cannot do, although the law lets it be done: the conditions of `CPU`. They are asked of every OptOp after the
law's own, whether heuristics, a search or a user chose it.
"""

from __future__ import annotations

import math
from typing import Final

from soundline.impl.lower.graphs.views import trip_count
from soundline.spec.errors import ScheduleError
from soundline.spec.kernels.iteration_spaces import Kernel, own_storage
from soundline.spec.kernels.opt import OptOp
from soundline.spec.kernels.optops import OPTOPS
from soundline.spec.kernels.schema import Refusal
from soundline.spec.ops.schema import Constraint
from soundline.spec.uop import AxisType, Op, UOp, toposort

LANE_TYPES: Final = (AxisType.UPCAST, AxisType.UNROLL, AxisType.GROUP_REDUCE)
"""The axes whose iterations a core computes at once."""
MOST_LANES: Final = 4096
"""More lanes than this are no code that a compiler should see."""

CPU: Final = tuple(
    Constraint(f"opt-cpu-c{k}", text)
    for k, text in enumerate(
        (
            "a CPU has no workgroups and no tensor cores: no LOCAL or WARP axis, no TC",
            "lanes are computed at once: an axis that is split into UPCAST carries no dependence",
            "a reduction is unrolled whole: the factor of UNROLL is the size of the only axis of its Reduce",
            "the axis that is split into THREAD, with `top`, is the outermost loop of its nests",
            f"a nest has at most {MOST_LANES} lanes",
            "the storage that a kernel has of its own is not split over",
        ),
        1,
    )
)
"""What a CPU asks of a step besides, by id."""


def require_possible(kernel: Kernel, step: OptOp) -> None:
    """Raise a `ScheduleError` where a CPU cannot do an OptOp that the law lets be done to a kernel."""
    if step.op == "TC":
        raise _refusal(kernel, step, 1, "TC")
    if step.op != "Split":
        return
    axis, (factor, target, *top) = kernel.axes[step.axis], step.arg
    if target in (AxisType.LOCAL, AxisType.WARP):
        raise _refusal(kernel, step, 1, target.name, axis)
    if own_storage(kernel.sink):
        raise _refusal(kernel, step, 6, "a kernel with storage of its own", axis)
    if target is AxisType.UPCAST and kernel.carried_by(axis) is not False:
        raise _refusal(kernel, step, 2, "a dependence, or what may be one", axis)
    if target is AxisType.UNROLL:
        reductions = [n for n in toposort(kernel.sink) if n.op is Op.Reduce and axis in n.src[1:]]
        if factor != trip_count(axis) or any(len(f.src) > 2 for f in reductions):
            raise _refusal(kernel, step, 3, f"the factor {factor}", axis)
    around = [ranges for ranges, _ in kernel.nests if axis in ranges]
    if target is AxisType.THREAD and not (any(top) and all(_loops(ranges)[0] is axis for ranges in around)):
        raise _refusal(kernel, step, 4, "an inner axis", axis)
    if target in LANE_TYPES:
        lanes = max(_lanes_with(kernel, axis)) * factor
        if lanes > MOST_LANES:
            raise _refusal(kernel, step, 5, f"{lanes} lanes", axis)


def _refusal(
    kernel: Kernel, step: OptOp, condition: int, given: str, axis: UOp | None = None
) -> ScheduleError:
    of = CPU[condition - 1]
    named = None if axis is None else Refusal(kernel, step, OPTOPS).named(axis)
    return ScheduleError(str(step), of.id, given=given, wants=of.text, axis=named)


def _loops(ranges: tuple[UOp, ...]) -> list[UOp]:
    return [r for r in ranges if r.arg.type not in LANE_TYPES]


def _lanes_with(kernel: Kernel, axis: UOp) -> list[int]:
    """The lanes that each nest has which depends on an axis; what it comes after has lanes of its own."""
    found = []
    for ranges, body in kernel.nests:
        inside = {*ranges, *_ranges_inside(body)}
        if axis in inside:
            found.append(math.prod(trip_count(r) for r in inside if r.arg.type in LANE_TYPES))
    return found


def _ranges_inside(body: UOp) -> set[UOp]:
    met, stack = {body}, [body]
    while stack:
        node = stack.pop()
        new = set(node.src[:1] if node.op is Op.After else node.src) - met
        met |= new
        stack += new
    return {n for n in met if n.op is Op.Range}
