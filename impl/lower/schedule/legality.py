"""
Lawful steps
============

Whether a step of a schedule may be done: the law's conditions for its own OptOps, those of `schedule.EXTENSIONS` for
the others, and what a CPU cannot do (`CPU`). A refusal is a `ScheduleError` with the id of the condition. It is asked
of every step, whether heuristics, a search or a user chose it.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final, Protocol

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.loops import closed, walked_as_one
from soundline.impl.lower.graphs.views import trip_count
from soundline.impl.lower.linear.linearize import nest_of
from soundline.impl.lower.schedule.schedules import EXTENSIONS, STEPS
from soundline.spec.errors import ScheduleError
from soundline.spec.kernels.dependences import directions
from soundline.spec.kernels.iteration_spaces import Kernel, axes, carried_by, nests
from soundline.spec.kernels.opt import OptOp
from soundline.spec.kernels.optops import OPTOPS
from soundline.spec.kernels.optops import apply as apply_law
from soundline.spec.kernels.padto import zero
from soundline.spec.ops.places import base_of
from soundline.spec.ops.schema import Constraint
from soundline.spec.uop import AxisType, Op, UOp, buffer, substitute, toposort

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


class Schedule(Protocol):
    """A kernel under scheduling (`applying.Scheduling`)."""

    checked: bool
    """Whether each step is held to the law before it is done."""

    @property
    def axes(self) -> tuple[UOp, ...]:
        """The axes, as the law counts them."""

    bare: UOp
    """The kernel without packing, or one in its place, which the law judges (`lawful.judged_as`)."""
    licences: Collection[str]
    sink: UOp
    steps: list[OptOp]


def require_lawful(kernel: Schedule, step: OptOp) -> None:
    """Raise a `ScheduleError` where a step may not be done to a kernel; nothing where none is to be checked."""
    if not kernel.checked:
        return
    if step.op not in STEPS:
        raise ScheduleError(str(step), "U-50", given=step.op, wants=f"one of {', '.join(STEPS)}")
    if step.op in OPTOPS:
        _require_of_the_law(kernel, step)
        _require_of_the_cpu(kernel, step)
    else:
        _CHECKS[step.op](kernel, step)


def refused(
    kernel: Schedule, step: OptOp, condition: int, given: str, axis: UOp | None = None
) -> ScheduleError:
    """The refusal of one of the extensions."""
    return _refusal(kernel, step, EXTENSIONS[step.op].constraints[condition - 1], given, axis)


def _refusal(
    kernel: Schedule, step: OptOp, of: Constraint, given: str, axis: UOp | None = None
) -> ScheduleError:
    named = (
        None if axis is None else f"axis {kernel.axes.index(axis)} ({axis.arg.type.value}{trip_count(axis)})"
    )
    return ScheduleError(str(step), of.id, given=given, wants=of.text, axis=named)


def judged_as(sink: UOp) -> UOp:
    """What the law is asked about: where no two iterations of a kernel meet, a kernel with the same axes and reductions
    that
    stores each iteration to a place of its own, and loads nothing. No step makes iterations meet that did not, and of
    such a kernel that is soon seen.
    """
    plain = all(n.op is not Op.After for n in toposort(sink))
    known = all(n.src[0].op is Op.Const for n in toposort(sink) if n.op is Op.Range)
    if not plain or not known or any(directions(body, ranges) != frozenset() for ranges, body in nests(sink)):
        return sink
    loads: dict[UOp, UOp] = {n: zero(n.dtype) for n in toposort(sink) if n.op is Op.Load}
    return Op.Sink(*(_apart(nest, k, loads) for k, nest in enumerate(sink.src)))


def _apart(nest: UOp, slot: int, loads: dict[UOp, UOp]) -> UOp:
    ranges, body = nest_of(nest)
    sizes = [trip_count(r) for r in ranges]
    stores = []
    for store in body.src if body.op is Op.Group else (body,):
        place = buffer(slot, math.prod(sizes), store.src[1].dtype)
        stores.append(
            Op.Store(Op.Index(place, arithmetic.flatten(ranges, sizes)), substitute(store.src[1], loads))
        )
    return closed(stores[0] if len(stores) == 1 else Op.Group(*stores), ranges)


# The law's steps --------------------------------------------------------------------------------------------------


def _require_of_the_law(kernel: Schedule, step: OptOp) -> None:
    """What the law says of the step to the kernel without packing; its positions are those of the kernel."""
    found, judged = kernel.axes, kernel.bare
    positions = [p for p in (step.axis, step.arg if step.op == "Swap" else None) if type(p) is int]
    named = [found[p] for p in positions if 0 <= p < len(found)]
    if any(r not in axes(judged) for r in named):
        judged = _copy_with(kernel.sink, named[0])
    own = axes(judged)
    if len(named) < len(positions) or any(r not in own for r in named):
        apply_law(Kernel(Op.Sink()), step, kernel.licences)  # refuses the form
    done = tuple(s for s in kernel.steps if s.op in OPTOPS)
    at = [own.index(r) for r in named]
    axis = at[0] if at and step.op != "TC" else step.axis
    arg = at[1] if step.op == "Swap" and len(at) == 2 else step.arg
    apply_law(Kernel(judged, done), OptOp(step.op, axis, arg), kernel.licences)


def _copy_with(sink: UOp, axis: UOp) -> UOp:
    """The nest that packs over an axis, as a kernel."""
    for node in toposort(sink):
        if node.op is Op.After:
            for nest in node.src[1:]:
                if nest.op is Op.End and axis in nest_of(nest)[0]:
                    return Op.Sink(nest)
    return sink


def _require_of_the_cpu(kernel: Schedule, step: OptOp) -> None:
    if step.op == "TC":
        raise _refusal(kernel, step, CPU[0], "TC")
    if step.op != "Split":
        return
    axis, (factor, target, *top) = kernel.axes[step.axis], step.arg
    if target in (AxisType.LOCAL, AxisType.WARP):
        raise _refusal(kernel, step, CPU[0], target.name, axis)
    if _has_own_storage(kernel):
        raise _refusal(kernel, step, CPU[5], "a kernel with storage of its own", axis)
    if target is AxisType.UPCAST and axis in axes(kernel.bare) and carried_by(kernel.bare, axis) is not False:
        raise _refusal(kernel, step, CPU[1], "a dependence, or what may be one", axis)
    if target is AxisType.UNROLL:
        reductions = [n for n in toposort(kernel.sink) if n.op is Op.Reduce and axis in n.src[1:]]
        if factor != trip_count(axis) or any(len(f.src) > 2 for f in reductions):
            raise _refusal(kernel, step, CPU[2], f"the factor {factor}", axis)
    around = [ranges for ranges, _ in nests(kernel.sink) if axis in ranges]
    if target is AxisType.THREAD and (
        not any(top) or any(_loops(ranges)[0] is not axis for ranges in around)
    ):
        raise _refusal(kernel, step, CPU[3], "an inner axis", axis)
    if target in LANE_TYPES:
        lanes = max(_lanes_with(kernel.bare, axis)) * factor
        if lanes > MOST_LANES:
            raise _refusal(kernel, step, CPU[4], f"{lanes} lanes", axis)


def _has_own_storage(kernel: Schedule) -> bool:
    """Whether the kernel has storage that its loops do not share. Rows outlive the loops of their parts."""
    return any(n.op is Op.Buffer and n.arg.addrspace != "GLOBAL" for n in toposort(kernel.bare))


def _loops(ranges: tuple[UOp, ...]) -> list[UOp]:
    return [r for r in ranges if r.arg.type not in LANE_TYPES]


def _lanes_with(sink: UOp, axis: UOp) -> list[int]:
    """The lanes that each nest has which depends on an axis."""
    found = []
    for nest in sink.src:
        inside = [n for n in toposort(nest) if n.op is Op.Range]
        if axis in inside:
            found.append(math.prod(trip_count(r) for r in inside if r.arg.type in LANE_TYPES))
    return found or [1]


# The extensions ---------------------------------------------------------------------------------------------------


def _axis(kernel: Schedule, step: OptOp, position: object) -> UOp:
    if type(position) is not int or not 0 <= position < len(kernel.axes):
        entry = STEPS[step.op]
        wants = f"axis: {entry.axis}; arg: {entry.arg}"
        given = f"axis {step.axis!r}, arg {step.arg!r}"
        raise ScheduleError(str(step), entry.form, given=given, wants=wants)
    return kernel.axes[position]


def _number(kernel: Schedule, step: OptOp) -> int:
    if type(step.arg) is not int:
        _axis(kernel, step, None)
    return int(step.arg)


def _check_cut(kernel: Schedule, step: OptOp) -> None:
    axis, at = _axis(kernel, step, step.axis), _number(kernel, step)
    if not 0 < at < trip_count(axis):
        raise refused(kernel, step, 1, f"{at} of {trip_count(axis)}", axis)
    if axis.arg.type is AxisType.REDUCE:
        _check_order(kernel, step, axis)
        return
    own = [nest_of(nest)[0] for nest in kernel.sink.src]
    inner = sum(axis in ranges for ranges, _ in nests(kernel.sink)) - sum(axis in ranges for ranges in own)
    if axis.arg.type is not AxisType.LOOP or inner:
        raise refused(kernel, step, 2, f"a {axis.arg.type.name} axis of {inner} inner nests", axis)
    if _has_own_storage(kernel):
        raise refused(kernel, step, 2, "a kernel with storage of its own", axis)
    for ranges in own:
        if axis in ranges:
            for r in ranges:
                if carried_by(kernel.bare, r) is not False:
                    raise refused(kernel, step, 3, "a dependence, or what may be one", r)


def _check_order(kernel: Schedule, step: OptOp, axis: UOp) -> None:
    for reduction in toposort(kernel.sink):
        if reduction.op is Op.Reduce and axis in reduction.src[1:]:
            changes = reduction.dtype.is_float and reduction.arg.op is not Op.Max
            if changes and "reassociate" not in kernel.licences:
                raise refused(
                    kernel, step, 4, f"a {reduction.dtype} {reduction.arg.op.name} without it", axis
                )


def _check_merge(kernel: Schedule, step: OptOp) -> None:
    outer, inner = (_axis(kernel, step, p) for p in (step.axis, step.arg))
    around = [ranges for ranges, _ in nests(kernel.sink) if {outer, inner} & set(ranges)]
    kinds = {outer.arg.type, inner.arg.type}
    if (
        kinds != {AxisType.LOOP}
        or not around
        or any(
            outer not in ranges or ranges[ranges.index(outer) + 1 : ranges.index(outer) + 2] != (inner,)
            for ranges in around
        )
    ):
        raise refused(kernel, step, 1, f"axes {step.axis} and {step.arg}", outer)
    if not walked_as_one(kernel.sink, outer, inner):
        raise refused(kernel, step, 2, "another index", outer)


def _check_pack(kernel: Schedule, step: OptOp) -> None:
    lanes, slot = _axis(kernel, step, step.axis), _number(kernel, step)
    if lanes.arg.type is not AxisType.UPCAST:
        raise refused(kernel, step, 1, lanes.arg.type.name, lanes)
    for node in toposort(kernel.sink):
        if node.op in (Op.Store, Op.AtomicAdd) and base_of(node.src[0]).arg.slot == slot:
            raise refused(kernel, step, 3, f"a {node.op.name} to slot {slot}", lanes)


_CHECKS = {"Cut": _check_cut, "Merge": _check_merge, "Pack": _check_pack}
