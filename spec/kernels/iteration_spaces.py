"""
Kernels
=======

A kernel is a Sink of nests: a Store, or a Group of them, under the Ends of the Ranges around it; its values reduce over
the Ranges of their Reduces. These Ranges are its *axes*, and each has an AxisType: how its iterations are to run. The
iterations of LOOP, REDUCE, UPCAST and UNROLL axes are ordered, those of the others are not (U-26), so that a type is a
promise about dependences before it is a choice of machinery.

The axes of a kernel are listed in one order, by which OptOps name them: those of the nests, outermost first, then
those of the Reduces, an outer Reduce before the ones inside it. A Range that is closed by an End is an *output axis*,
one that is closed by a Reduce is a *reduce axis*. Several nests, or several Reduces, may close one Range: what is done
to the axis is done in all of them.

A Reduce over GROUP_REDUCE axes reduces what each member of the group has reduced before: it is a Reduce of its own
around the Reduce over the other axes, so that the order in which elements are joined is seen in the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from soundline.spec.arrays.arrays import Array
from soundline.spec.errors import ScheduleError
from soundline.spec.evaluate import execute
from soundline.spec.kernels.dependences import Vector, carried, directions
from soundline.spec.ops.axes import ORDERED
from soundline.spec.ops.node import AxisType, Op, RangeArg, UOp, rebuilt, toposort
from soundline.spec.ops.places import base_of
from soundline.spec.ops.sizes import as_node

if TYPE_CHECKING:
    from soundline.spec.kernels.opt import OptOp

# Axis types -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AxisRow:
    """The row of an AxisType in the source's table, and what U-50 adds to it."""

    type: AxisType
    semantics: str
    split_from: tuple[AxisType, ...] = ()
    decided_from: tuple[AxisType, ...] = ()
    """Axes that U-50 lets it be split from besides."""
    direction: tuple[str, ...] = ()
    """Where the new axis may stand: ``inner``, the fast half of the old axis, or ``outer``, the slow half."""
    closed_by: tuple[Op, ...] = (Op.End,)
    """What may close a Range of the type: an End, a Reduce, or either."""

    @property
    def letter(self) -> str:
        """The source's letter."""
        return self.type.value

    @property
    def ordered(self) -> bool:
        """Whether its iterations run one after the other, ascending (U-26)."""
        return self.type in ORDERED


_G, _L, _R = AxisType.GLOBAL, AxisType.LOOP, AxisType.REDUCE

AXES: dict[AxisType, AxisRow] = {
    row.type: row
    for row in (
        AxisRow(_G, "GPU global workgroup dimension."),
        AxisRow(AxisType.LOCAL, "Workgroup local dimension (shared memory).", (_G, _L), direction=("inner",)),
        AxisRow(AxisType.WARP, "Warp-level lanes for tensor cores; created by TC."),
        AxisRow(AxisType.THREAD, "CPU thread parallelism.", (_G,), (_L,), ("outer",)),
        AxisRow(
            _L,
            "Generic sequential loop (initial state).",
            decided_from=(_G, _L),
            direction=("inner", "outer"),
        ),
        AxisRow(
            _R, "Reduction axis.", decided_from=(_R,), direction=("inner", "outer"), closed_by=(Op.Reduce,)
        ),
        AxisRow(
            AxisType.GROUP_REDUCE,
            "Shared-memory group reduction.",
            (_R,),
            direction=("inner", "outer"),
            closed_by=(Op.End, Op.Reduce),
        ),
        AxisRow(
            AxisType.UPCAST,
            "Register-level vectorization.",
            (_G, AxisType.LOCAL, _L),
            direction=("inner",),
            closed_by=(Op.End, Op.Reduce),
        ),
        AxisRow(
            AxisType.UNROLL,
            "Fully unrolled loop.",
            (_R, AxisType.GROUP_REDUCE),
            direction=("inner",),
            closed_by=(Op.Reduce,),
        ),
    )
}
"""The source's table of axis types, with the additions of U-50."""

KERNEL_CONSTRAINTS: dict[str, str] = {
    "kernel-c1": "it is a Sink without Specials: its axes are Ranges",
    "kernel-c2": "its effects are Stores and AtomicAdds, alone or in Groups, under the Ends of their Ranges",
    "kernel-c3": "the bound of every Range is a number, or in a running reduction i + 1 for a serial axis i around it, "
    "or in a reduction that may not be needed a choice between a number and 0",
    "kernel-c4": "a Range is closed by Ends, or by Reduces, as its AxisType admits",
    "kernel-c5": "memory is read by Loads",
}
"""What a kernel must be, by id."""

_EFFECTS = (Op.Store, Op.AtomicAdd)

WORKGROUP_DEVICES = frozenset({"CUDA"})
"""The devices that have workgroups, by the name before a colon."""


# The kernel -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kernel:
    """A scheduled program; raises `ScheduleError` where the node is not a kernel (``kernel-c1`` …).

    OptOps call its methods for whatever needs a traversal of the graph, so that a compiler may memoize the results.
    """

    sink: UOp
    opts: tuple[OptOp, ...] = ()
    """The OptOps that were applied, in order."""

    def __post_init__(self) -> None:
        for rule, problem in problems(self.sink):
            raise ScheduleError("Kernel", rule, given=problem, wants=KERNEL_CONSTRAINTS[rule])

    @property
    def axes(self) -> tuple[UOp, ...]:
        """The Ranges, in the order in which OptOps count them."""
        return axes(self.sink)

    @property
    def nests(self) -> Sequence[tuple[tuple[UOp, ...], UOp]]:
        """Every perfect nest: its Ranges, outermost first, and what they repeat."""
        return nests(self.sink)

    def directions(self, body: UOp, ranges: Sequence[UOp]) -> frozenset[Vector] | None:
        """The direction vectors of the iterations of a nest that meet; None where they are not known."""
        return directions(body, ranges)

    def carried_by(self, axis: UOp) -> bool | None:
        """Whether an output axis carries a dependence in some nest; None where it is not known."""
        found = [
            carried(body, ranges, ranges.index(axis), self.directions)
            for ranges, body in self.nests
            if axis in ranges
        ]
        return True if True in found else None if None in found else False

    def fresh_axes(self, *new: tuple[int, AxisType]) -> list[UOp]:
        """Ranges of sizes and types that the kernel does not have."""
        return fresh_axes(self.sink, *new)

    @property
    def letters(self) -> str:
        """The AxisTypes of the axes, as the source's letters."""
        return "".join(r.arg.type.value for r in self.axes)

    @property
    def locals(self) -> bool:
        """Whether it may use what a workgroup shares: not after Nolocals."""
        return not any(opt.op == "Nolocals" for opt in self.opts)

    def after(self, opt: OptOp, sink: UOp) -> Self:
        """The kernel that an OptOp has made of this one."""
        return replace(self, sink=sink, opts=(*self.opts, opt))


def nests(sink: UOp) -> list[tuple[tuple[UOp, ...], UOp]]:
    """Every perfect nest: its Ranges, outermost first, and what they repeat.

    A Group inside begins nests of its own. The effects of the Sink come first, then those that values come after.
    """
    found: list[tuple[tuple[UOp, ...], UOp]] = []
    ends: set[UOp] = set()

    def add(effect: UOp) -> None:
        ranges = []
        while effect.op is Op.End:
            ends.add(effect)
            ranges.append(effect.src[1])
            effect = effect.src[0]
        found.append((tuple(ranges), effect))
        for member in effect.src if effect.op is Op.Group else ():
            add(member)

    for effect in sink.src:
        add(effect)
    for node in reversed(list(toposort(sink))):
        if node.op is Op.End and node not in ends:
            add(node)
    return found


def axes(sink: UOp) -> tuple[UOp, ...]:
    """The Ranges of a kernel: those of the nests, outermost first, then those of the Reduces, outer ones first."""
    found = dict.fromkeys(r for ranges, _ in nests(sink) for r in ranges)
    for node in reversed(list(toposort(sink))):
        if node.op is Op.Reduce:
            found |= dict.fromkeys(node.src[1:])
    return tuple(found)


def problems(sink: UOp) -> list[tuple[str, str]]:
    """Which constraints of a kernel a node breaks, and how: pairs of id and text."""
    nodes = list(toposort(sink))
    specials = sum(n.op is Op.Special for n in nodes)
    if sink.op is not Op.Sink or specials:
        return [("kernel-c1", f"a {sink.op.name} with {specials} Specials")]
    found = []
    for _, body in nests(sink):
        if body.op not in (*_EFFECTS, Op.Group):
            found.append(("kernel-c2", f"the effect {body!r}"))
    closers: dict[UOp, list[Op]] = {}
    for node in nodes:
        if node.op in (Op.End, Op.Reduce):
            for r in node.src[1:]:
                closers.setdefault(r, []).append(node.op)
        if (
            node.op is Op.Range
            and node.src[0].op is not Op.Const
            and not (is_running(node) or is_optional(node))
        ):
            found.append(("kernel-c3", f"the bound {node.src[0]!r}"))
        found += [("kernel-c5", f"{node.op.name} of {s!r}") for s in node.src if _reads_place(node, s)]
    for r, ops in closers.items():
        if not set(ops) <= set(AXES[r.arg.type].closed_by) or len(set(ops)) > 1:
            names = ", ".join(op.name for op in ops)
            found.append(("kernel-c4", f"a {r.arg.type.name} Range that is closed by {names}"))
    return found


def is_running(axis: UOp) -> bool:
    """Whether an axis reduces one element more in each iteration of a serial axis."""
    bound = axis.src[0]
    if axis.arg.type is not AxisType.REDUCE or bound.op is not Op.Add:
        return False
    serial, one = bound.src
    return serial.op is Op.Range and serial.arg.type is AxisType.LOOP and one is as_node(1)


def is_optional(axis: UOp) -> bool:
    """Whether an axis reduces all of its elements or none, depending on a condition."""
    bound = axis.src[0]
    if axis.arg.type is not AxisType.REDUCE or bound.op is not Op.Where:
        return False
    _, *counts = bound.src
    return all(c.op is Op.Const for c in counts) and as_node(0) in counts


def _reads_place(node: UOp, source: UOp) -> bool:
    """Whether a node uses the elements of a Buffer, without a Load."""
    if source.shape is None or base_of(source).op is not Op.Buffer:
        return False
    names = (Op.Load, *_EFFECTS, Op.After, Op.Index, Op.Reshape, Op.Shrink, Op.Slice, Op.Bitcast)
    return node.op not in names or source is not node.src[0]


# Rebuilding -------------------------------------------------------------------------------------------------------


def size_of(axis: UOp) -> int:
    """The number of iterations of an axis."""
    return int(axis.src[0].arg.value)


def fresh_axes(sink: UOp, *new: tuple[int, AxisType]) -> list[UOp]:
    """Ranges of sizes and types that a kernel does not have."""
    free = 1 + max((n.arg.id for n in toposort(sink) if n.op is Op.Range), default=-1)
    return [UOp(Op.Range, (as_node(n),), RangeArg(k, kind)) for k, (n, kind) in enumerate(new, free)]


def replace_axis(sink: UOp, axis: UOp, value: UOp, ranges: tuple[UOp, ...]) -> UOp:
    """The kernel with `value` for an axis, and what closed the axis closing `ranges`, outermost first."""

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node is axis:
            return value
        if node.op is Op.End and node.src[1] is axis:
            body = src[0]
            for r in reversed(ranges):
                body = Op.End(body, r)
            return body
        if node.op is Op.Reduce and axis in node.src[1:]:
            at = node.src.index(axis)
            return UOp(Op.Reduce, (*src[:at], *ranges, *src[at + 1 :]), node.arg)
        return None

    return rebuilt(sink, change)


def own_storage(sink: UOp) -> list[UOp]:
    """The Buffers that iterations may have copies of: LOCAL and REG ones."""
    return [n for n in toposort(sink) if n.op is Op.Buffer and n.arg.addrspace != "GLOBAL"]


# Parallel axes ----------------------------------------------------------------------------------------------------


def globalized(kernel: Kernel) -> Kernel:
    """The kernel with its LOOP axes that carry no dependence made GLOBAL, where its device has workgroups.

    Optimize does this before any OptOp (U-50). An axis stays as it is where this cannot be decided, or where the size
    of another axis depends on it. So do all axes of a kernel that has storage of its own.
    """
    device = kernel.sink.device
    if not isinstance(device, str) or device.split(":")[0] not in WORKGROUP_DEVICES:
        return kernel
    if own_storage(kernel.sink):
        return kernel
    sink = kernel.sink
    serial = {n for axis in kernel.axes for n in toposort(axis.src[0])}
    for axis in kernel.axes:
        if axis.arg.type is AxisType.LOOP and axis not in serial and kernel.carried_by(axis) is False:
            parallel = UOp(Op.Range, axis.src, RangeArg(axis.arg.id, AxisType.GLOBAL))
            sink = replace_axis(sink, axis, parallel, (parallel,))
    return replace(kernel, sink=sink)


# Meaning ----------------------------------------------------------------------------------------------------------


def run(kernel: Kernel, buffers: Mapping[int, Any] | None = None) -> dict[int, Array]:
    """What the GLOBAL Buffers hold after the kernel, by slot.

    U-26 is checked on the way: iterations of unordered axes that touch what another writes are an `EvaluationError`,
    workgroups have LOCAL storage of their own, and threads have registers. Where the groups of a kernel meet (U-51) is
    stated in `spec.kernels.groups`.
    """
    held = execute(kernel.sink, buffers=buffers)
    shared = {n.arg.slot for n in toposort(kernel.sink) if n.op is Op.Buffer and n.arg.addrspace == "GLOBAL"}
    return {slot: array for slot, array in held.items() if slot in shared}
