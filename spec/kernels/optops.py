"""
OptOps
======

An optimization is a triple (op, axis, arg): a function from a kernel to a kernel with the same meaning (U-50). `apply`
does one, `schedule` does several, from left to right; each refuses with a `ScheduleError` that names the condition
where it would change the meaning, or where the licence for what it changes is not granted.

*Split* puts a new axis of k iterations into an old one of n. Inside of it, the old index is ``outer·k + inner`` and the
new axis is ``inner``; with `top` the new axis is outside, and the old index is ``new·(n/k) + old``. Either way the two
run through the old index in ascending order, so that a split alone changes no order. What may change is the type of the
new axis: unordered iterations may not depend on each other, and the members of a group reduced apart.

*Swap* exchanges two axes of one nest or of one Reduce. *Nolocals* takes the workgroup away. `spec.kernels.padto` states
*Padto*, and `spec.kernels.tc` states *TC*.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from soundline.spec.kernels import padto, tc
from soundline.spec.kernels.dependences import reverses
from soundline.spec.kernels.iteration_spaces import AXES, Kernel, own_storage, replace_axis, size_of
from soundline.spec.kernels.opt import OptOp
from soundline.spec.kernels.schema import OptEntry, Refusal, opt_entry
from soundline.spec.ops.axes import THREADS, is_private
from soundline.spec.ops.node import AxisType, Op, RangeArg, ReduceArg, UOp, rebuilt, toposort
from soundline.spec.ops.sizes import as_node

__all__ = ["OPTOPS", "OptEntry", "OptOp", "apply", "require_licence", "schedule"]

K = TypeVar("K", bound=Kernel)

OPTOPS: dict[str, OptEntry] = {
    entry.op: entry
    for entry in (
        opt_entry(
            "Split",
            axis="any",
            arg="(factor k, target, top?)",
            semantics="Split axis n by k into (n/k, k), or (k, n/k) if top. The new sub-axis gets the target AxisType.",
            constraints=(
                "the factor is a number ≥ 1 that divides the size of the axis",
                "the target is split from the AxisType of the axis",
                "the new axis stands inside or outside as the target's direction says",
                "an ordered axis that is split into unordered iterations carries no dependence",
                "on a float Add or Mul, GROUP_REDUCE needs the licence reassociate",
                "after Nolocals no axis of a workgroup is made",
                "storage of the kernel's own has as many copies before and after",
            ),
            licences=("reassociate",),
        ),
        opt_entry(
            "Padto",
            axis="any",
            arg="multiple m",
            semantics="Pad axis to next multiple of m with validity masks: a reduction sees its identity, after the "
            "elementwise operations of its body; what is outside is neither loaded nor stored.",
            constraints=(
                "the multiple is a number ≥ 1",
                "the axis is not the lanes of a warp",
                "every effect under the axis is a Store, which has a gate",
                "the reduction has an identity in its dtype",
                "the size of the axis is a number",
            ),
        ),
        opt_entry(
            "Swap",
            axis="axis i",
            arg="axis j",
            semantics="Swap two axes i ↔ j.",
            constraints=(
                "both axes have one AxisType",
                "both axes belong to one nest or to one Reduce",
                "the order of two iterations that meet is not reversed, and is known",
                "on a float Add or Mul, the axes of a Reduce need the licence reassociate",
            ),
            licences=("reassociate",),
        ),
        opt_entry(
            "Nolocals",
            axis="none",
            arg="none",
            semantics="Disable local memory; no workgroup dims emitted. LOCAL axes become GLOBAL ones.",
            constraints=(
                "the kernel uses nothing that a workgroup shares: no LOCAL Buffer, group, warp or Barrier",
            ),
        ),
        opt_entry(
            "TC",
            axis="(n, m, k): the output axes and the reduce axis",
            arg="the name of a tensor core",
            semantics="Apply tensor core Wmma: split reduce/output axes into WARP, UPCAST, and UNROLL dims.",
            constraints=(
                "it is the first optimization, and so the only TC",
                "the axes are two output axes of one nest and an axis of a Reduce with Add inside of it",
                "the reduction is of a product of two operands of the core's input dtype in its accumulator dtype",
                "one operand does not depend on n, the other not on m",
                "the core's dims divide the sizes of the axes",
                "the output axes carry no dependence",
                "the core is one that is known",
                "on floats it needs the licence tensor_core, and where inputs lose bits the licence tf32",
            ),
            licences=("tensor_core", "tf32"),
        ),
    )
}
"""The entry of every OptOp, by name."""


def apply(kernel: K, opt: OptOp, licences: Collection[str] = ()) -> K:
    """The kernel that an OptOp makes; raises `ScheduleError` where it does not apply."""
    refusal = Refusal(kernel, opt, OPTOPS)
    if opt.op not in OPTOPS:
        raise refusal.unknown()
    return kernel.after(opt, _APPLY[opt.op](kernel, opt, refusal, licences))


def schedule(kernel: K, opts: Sequence[OptOp], licences: Collection[str] = ()) -> K:
    """The kernel that OptOps make, the first applied first."""
    for opt in opts:
        kernel = apply(kernel, opt, licences)
    return kernel


# Split ------------------------------------------------------------------------------------------------------------


def _split(kernel: Kernel, opt: OptOp, refusal: Refusal, licences: Collection[str]) -> UOp:
    axis = refusal.axis(opt.axis)
    factor, target, top = _split_arg(opt.arg, refusal)
    count = refusal.size(axis, 1)
    if type(factor) is not int or factor < 1 or count % factor:
        hint = (
            f"Padto the axis to a multiple of {factor} first" if type(factor) is int and factor > 1 else None
        )
        raise refusal.of(1, f"the factor {factor!r} for {count} iterations", axis, hint)
    row = AXES[target]
    if axis.arg.type not in (*row.split_from, *row.decided_from):
        raise refusal.of(2, f"{target.name} from {axis.arg.type.name}", axis, _sources_hint(target))
    if ("outer" if top else "inner") not in row.direction:
        raise refusal.of(3, f"{target.name} with top={top}", axis, f"{target.name} is {row.direction[0]}")
    if not kernel.locals and target in THREADS:
        raise refusal.of(6, target.name, axis)
    _check_order(kernel, axis, target, refusal)
    rest, new = kernel.fresh_axes((count // factor, axis.arg.type), (factor, target))
    outer, inner = (new, rest) if top else (rest, new)
    value = Op.Add(Op.Mul(outer, as_node(size_of(inner))), inner)
    if target is AxisType.GROUP_REDUCE:
        require_licence(kernel.sink, axis, 5, refusal, licences)
        return _grouped(kernel.sink, axis, value, rest, new)
    return replace_axis(kernel.sink, axis, value, (outer, inner))


def _split_arg(arg: Any, refusal: Refusal) -> tuple[Any, AxisType, bool]:
    """(factor, target) or (factor, target, top)."""
    if isinstance(arg, tuple) and len(arg) in (2, 3) and isinstance(arg[1], AxisType):
        top = arg[2] if len(arg) == 3 else False
        if isinstance(top, bool):
            return arg[0], arg[1], top
    raise refusal.malformed()


def _sources_hint(target: AxisType) -> str:
    row = AXES[target]
    sources = [t.name for t in (*row.split_from, *row.decided_from)]
    return (
        f"{target.name} is split from {' or '.join(sources)}" if sources else f"Split makes no {target.name}"
    )


def _check_order(kernel: Kernel, axis: UOp, target: AxisType, refusal: Refusal) -> None:
    """The conditions on a change of type: iterations that lose their order, storage that other iterations would use."""
    for storage in own_storage(kernel.sink):
        space: str = storage.arg.addrspace
        if is_private(space, axis.arg.type) != is_private(space, target):
            what = f"a {space} Buffer, {axis.arg.type.name} into {target.name}"
            raise refusal.of(7, what, axis)
    if AXES[target].ordered or not AXES[axis.arg.type].ordered or target is AxisType.GROUP_REDUCE:
        return
    carried = kernel.carried_by(axis)
    if carried is not False:
        known = "carries a dependence" if carried else "may carry a dependence"
        raise refusal.of(4, f"an axis that {known}", axis)


def require_licence(
    sink: UOp, axis: UOp, condition: int, refusal: Refusal, licences: Collection[str]
) -> None:
    """Floats that are added or multiplied in another order need `reassociate` (U-09, U-50)."""
    for reduction in toposort(sink):
        if reduction.op is Op.Reduce and axis in reduction.src[1:]:
            changes = reduction.dtype.is_float and reduction.arg.op is not Op.Max
            if changes and "reassociate" not in licences:
                given = f"a {reduction.dtype} {reduction.arg.op.name} without it"
                raise refusal.of(condition, given, axis, "grant the licence reassociate")


def _grouped(sink: UOp, axis: UOp, value: UOp, rest: UOp, group: UOp) -> UOp:
    """The Reduces over an axis as a reduction of what each member of a group has reduced."""

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node is axis:
            return value
        if node.op is Op.Reduce and axis in node.src[1:]:
            own = tuple(rest if r is axis else r for r in node.src[1:])
            groups = tuple(r for r in own if r.arg.type is AxisType.GROUP_REDUCE)
            reduced = UOp(Op.Reduce, (src[0], *(r for r in own if r not in groups)), node.arg)
            return UOp(Op.Reduce, (reduced, *groups, group), ReduceArg(node.arg.op))
        return None

    return rebuilt(sink, change)


# Swap -------------------------------------------------------------------------------------------------------------


def _swap(kernel: Kernel, opt: OptOp, refusal: Refusal, licences: Collection[str]) -> UOp:
    first, last = sorted((refusal.axis(opt.axis), refusal.axis(opt.arg)), key=kernel.axes.index)
    if first.arg.type is not last.arg.type:
        raise refusal.of(1, f"{first.arg.type.name} and {last.arg.type.name}", first)
    if first is last:
        return kernel.sink
    around = [(ranges, body) for ranges, body in kernel.nests if {first, last} & set(ranges)]
    if around and all({first, last} <= set(ranges) for ranges, _ in around):
        for ranges, body in around:
            _check_swap(kernel, ranges, body, (first, last), refusal)
        return _renested(kernel.sink, first, last)
    reductions = [n for n in toposort(kernel.sink) if n.op is Op.Reduce and {first, last} & set(n.src[1:])]
    if not reductions or not all({first, last} <= set(reduction.src[1:]) for reduction in reductions):
        raise refusal.of(2, "axes of different nests or Reduces", first)
    require_licence(kernel.sink, first, 4, refusal, licences)

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node in reductions:
            return UOp(node.op, (src[0], *_exchanged(node.src[1:], first, last)), node.arg)
        return None

    return rebuilt(kernel.sink, change)


def _exchanged(ranges: Sequence[UOp], a: UOp, b: UOp) -> tuple[UOp, ...]:
    return tuple(b if r is a else a if r is b else r for r in ranges)


def _check_swap(
    kernel: Kernel, ranges: Sequence[UOp], body: UOp, swapped: tuple[UOp, UOp], refusal: Refusal
) -> None:
    first, last = swapped
    if not AXES[first.arg.type].ordered:
        return
    order = [ranges.index(r) for r in _exchanged(ranges, first, last)]
    reversed_ = reverses(kernel.directions(body, ranges), order)
    if reversed_ is not False:
        known = "would be reversed" if reversed_ else "may be reversed"
        raise refusal.of(3, f"a dependence that {known}", first)


def _renested(sink: UOp, first: UOp, last: UOp) -> UOp:
    """The kernel with two axes of its nests exchanged."""

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node.op is Op.End:
            return Op.End(src[0], *_exchanged(node.src[1:], first, last))
        return None

    return rebuilt(sink, change)


# Nolocals ---------------------------------------------------------------------------------------------------------


def _nolocals(kernel: Kernel, opt: OptOp, refusal: Refusal, licences: Collection[str]) -> UOp:
    if opt.axis is not None or opt.arg is not None:
        raise refusal.malformed()
    for node in toposort(kernel.sink):
        local = node.op is Op.Buffer and node.arg.addrspace == "LOCAL"
        group = node.op is Op.Range and node.arg.type in (AxisType.GROUP_REDUCE, AxisType.WARP)
        if local or group or node.op in (Op.Barrier, Op.Wmma):
            raise refusal.of(1, f"{node!r}")
    sink = kernel.sink
    for axis in kernel.axes:
        if axis.arg.type is AxisType.LOCAL:
            apart = UOp(Op.Range, axis.src, RangeArg(axis.arg.id, AxisType.GLOBAL))
            sink = replace_axis(sink, axis, apart, (apart,))
    return sink


_APPLY: dict[str, Callable[[Kernel, OptOp, Refusal, Collection[str]], UOp]] = {
    "Split": _split,
    "Padto": padto.padded,
    "Swap": _swap,
    "Nolocals": _nolocals,
    "TC": tc.with_tensor_core,
}
