"""
Steps of a CPU
==============

The steps of a schedule that a CPU needs and the source's table does not have: *Cut* does some iterations of an axis
apart, *Merge* makes one loop of two, *Pack* copies what a tile reads. Each is stated as the law states its own OptOps,
with numbered conditions, and applied in the same way (`extended`). None changes the value of a kernel in a bit without
a licence.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Sequence
from typing import Final

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.loops import closed, walked_as_one
from soundline.impl.lower.graphs.rebuilding import rebuilt, under
from soundline.impl.lower.graphs.views import trip_count
from soundline.impl.lower.linear.linearize import nest_of
from soundline.impl.lower.schedule.kernels import CpuKernel
from soundline.spec.kernels.iteration_spaces import own_storage
from soundline.spec.kernels.opt import OptOp
from soundline.spec.kernels.optops import require_licence
from soundline.spec.kernels.schema import OptEntry, Refusal, opt_entry
from soundline.spec.ops.places import base_of
from soundline.spec.uop import AxisType, Op, UOp, over, substitute

EXTENSIONS: Final[dict[str, OptEntry]] = {
    entry.op: entry
    for entry in (
        opt_entry(
            "Cut",
            axis="any",
            arg="iteration k",
            semantics="Do the iterations of an axis from k on apart: of an output axis in a copy of each of its nests "
            "that comes after it and has axes of its own; of a reduce axis in a reduction of their own.",
            constraints=(
                "the iteration is inside the axis: neither its first nor beyond its last",
                "the axis is LOOP or REDUCE, and its nests are effects of the kernel itself",
                "the nests carry no dependence",
                "on a float Add or Mul, the axis of a Reduce needs the licence reassociate",
                "the sizes of the axis, and of the others of its nests, are numbers",
            ),
            licences=("reassociate",),
        ),
        opt_entry(
            "Merge",
            axis="a loop",
            arg="the loop directly inside of it",
            semantics="Make one loop of two that every index of the kernel walks as one.",
            constraints=(
                "both are LOOP axes, and one stands directly inside of the other",
                "every index that depends on them has the stride of the inner one times its size for the outer one",
            ),
        ),
        opt_entry(
            "Pack",
            axis="lanes: an UPCAST axis",
            arg="the slot of a Buffer",
            semantics="Copy what the reductions in these lanes load from the Buffer, before the nest, into storage of "
            "the kernel's own, in the order in which they read it: loops outside, then the reduction's, then lanes. "
            "The gate of a load is decided while copying.",
            constraints=(
                "the axis is UPCAST",
                "a reduction loads from the Buffer, at places that depend on the lanes and on all that is reduced",
                "the kernel does not store to the Buffer",
            ),
        ),
    )
}
"""The steps that are not the law's, by name; each leaves the value of the kernel as it is, bit for bit."""


def extended(kernel: CpuKernel, step: OptOp, licences: Collection[str]) -> CpuKernel:
    """The kernel that one of these steps makes; raises `ScheduleError` where it does not apply."""
    return kernel.after(step, _APPLY[step.op](kernel, step, Refusal(kernel, step, EXTENSIONS), licences))


def _number(step: OptOp, refusal: Refusal) -> int:
    if type(step.arg) is not int:
        raise refusal.malformed()
    return step.arg


# Cut --------------------------------------------------------------------------------------------------------------


def _cut(kernel: CpuKernel, step: OptOp, refusal: Refusal, licences: Collection[str]) -> UOp:
    axis, at = refusal.axis(step.axis), _number(step, refusal)
    count = refusal.size(axis, 5)
    if not 0 < at < count:
        raise refusal.of(1, f"{at} of {count}", axis)
    if axis.arg.type is AxisType.REDUCE:
        require_licence(kernel.sink, axis, 4, refusal, licences)
        first, rest = kernel.fresh_axes((at, AxisType.REDUCE), (count - at, AxisType.REDUCE))
        return _cut_reductions(kernel.sink, axis, first, rest, Op.Add(rest, arithmetic.number(at)))
    _check_cut(kernel, axis, refusal)
    others = _other_ranges(kernel.sink, axis)
    first, rest, *fresh = kernel.fresh_axes(
        *((size, axis.arg.type) for size in (at, count - at)),
        *((refusal.size(r, 5), r.arg.type) for r in others),
    )
    own = dict(zip(others, fresh, strict=True))
    return _cut_nests(kernel.sink, axis, first, rest, {**own, axis: Op.Add(rest, arithmetic.number(at))})


def _check_cut(kernel: CpuKernel, axis: UOp, refusal: Refusal) -> None:
    own = [ranges for ranges, _ in map(nest_of, kernel.sink.src) if axis in ranges]
    inner = sum(axis in ranges for ranges, _ in kernel.nests) - len(own)
    if axis.arg.type is not AxisType.LOOP or inner:
        raise refusal.of(2, f"a {axis.arg.type.name} axis of {inner} inner nests", axis)
    if own_storage(kernel.sink):
        raise refusal.of(2, "a kernel with storage of its own", axis)
    for r in dict.fromkeys(r for ranges in own for r in ranges):
        if kernel.carried_by(r) is not False:
            raise refusal.of(3, "a dependence, or what may be one", r)


def _other_ranges(sink: UOp, axis: UOp) -> list[UOp]:
    """The other Ranges of the nests that have an axis, and of their reductions; not those of what packs for them."""
    with_it = [nest for nest in sink.src if axis in nest_of(nest)[0]]
    found = {r for nest in with_it for r in nest_of(nest)[0]}
    found |= {r for nest in with_it for n in under(nest) if n.op is Op.Reduce for r in n.src[1:]}
    return sorted(found - {axis}, key=lambda r: int(r.arg.id))


def _cut_nests(sink: UOp, axis: UOp, first: UOp, rest: UOp, own: dict[UOp, UOp]) -> UOp:
    """The nests of an axis twice: over its first iterations, and over the rest, with axes of their own."""
    effects: list[UOp] = []
    for nest in sink.src:
        ranges, body = nest_of(nest)
        if axis not in ranges:
            effects.append(nest)
            continue
        effects.append(closed(substitute(body, {axis: first}), [first if r is axis else r for r in ranges]))
        ends = [rest if r is axis else own[r] for r in ranges]
        effects.append(closed(substitute(body, own), ends))
    return Op.Sink(*effects)


def _cut_reductions(sink: UOp, axis: UOp, first: UOp, rest: UOp, shifted: UOp) -> UOp:
    """The reductions over an axis as two, joined by their operation."""

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node.op is not Op.Reduce or axis not in node.src[1:]:
            return None
        before, after = substitute(over(node, src), {axis: first}), substitute(src[0], {axis: shifted})
        ranges = (rest if r is axis else r for r in node.src[1:])
        return UOp(node.arg.op, (before, UOp(Op.Reduce, (after, *ranges), node.arg)))

    return rebuilt(sink, change)


# Merge ------------------------------------------------------------------------------------------------------------


def _merge(kernel: CpuKernel, step: OptOp, refusal: Refusal, licences: Collection[str]) -> UOp:
    outer, inner = refusal.axis(step.axis), refusal.axis(step.arg)
    around = [ranges for ranges, _ in kernel.nests if outer in ranges or inner in ranges]
    loops = outer.arg.type is inner.arg.type is AxisType.LOOP
    if not (loops and around and all((outer, inner) in itertools.pairwise(ranges) for ranges in around)):
        raise refusal.of(1, f"axes {step.axis} and {step.arg}", outer)
    if not walked_as_one(kernel.sink, outer, inner):
        raise refusal.of(2, "another index", outer)
    (whole,) = kernel.fresh_axes((trip_count(outer) * trip_count(inner), AxisType.LOOP))
    new = {outer: arithmetic.number(0), inner: whole}

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        return src[0] if node.op is Op.End and node.src[1] is outer else new.get(node)

    return rebuilt(kernel.sink, change)


# Pack -------------------------------------------------------------------------------------------------------------


def _pack(kernel: CpuKernel, step: OptOp, refusal: Refusal, licences: Collection[str]) -> UOp:
    lanes, slot = refusal.axis(step.axis), _number(step, refusal)
    if lanes.arg.type is not AxisType.UPCAST:
        raise refusal.of(1, lanes.arg.type.name, lanes)
    for node in under(kernel.sink):
        if node.op in (Op.Store, Op.AtomicAdd) and base_of(node.src[0]).arg.slot == slot:
            raise refusal.of(3, f"a {node.op.name} to slot {slot}", lanes)
    packed: dict[UOp, UOp] = {}
    for nest in kernel.sink.src:
        ranges, body = nest_of(nest)
        if lanes in ranges:
            for load, reduced in packable(body, lanes, slot):
                packed[load] = _copied(kernel, load, ranges, reduced)
    if not packed:
        raise refusal.of(2, f"no such load from slot {slot}", lanes)
    return substitute(kernel.sink, packed)


def _copied(kernel: CpuKernel, load: UOp, ranges: Sequence[UOp], reduced: Sequence[UOp]) -> UOp:
    """A load from storage in which what it depends on stands in the order in which it is read."""
    inside = [r for r in ranges if r.arg.type is AxisType.UPCAST]
    order = [r for r in ranges if r not in inside] + [*reduced, *inside]
    order = [r for r in order if r in arithmetic.ranges_of(load)]
    sizes = [trip_count(r) for r in order]
    storage = kernel.fresh_buffer(math.prod(sizes), load.dtype)
    kinds = (r.arg.type if r in inside else AxisType.LOOP for r in order)
    own = dict(zip(order, kernel.fresh_axes(*zip(sizes, kinds, strict=True)), strict=True))
    at = arithmetic.flatten(order, sizes)
    copy = Op.Store(Op.Index(storage, substitute(at, own)), substitute(load, own))
    nest = closed(copy, [own[r] for r in order])
    return Op.Load(Op.Index(Op.After(storage, nest), at))


def packable(body: UOp, lanes: UOp, slot: int | None = None) -> list[tuple[UOp, tuple[UOp, ...]]]:
    """The loads that the reductions in some lanes make, at places that depend on the lanes and on all that is reduced,
    and what is reduced; those from one Buffer alone, if a slot is given.
    """
    around = arithmetic.ranges_of(body)  # not those of a reduction around or inside
    found: dict[UOp, tuple[UOp, ...]] = {}
    for reduction, all_reduced in reductions_inside(body).items():
        for load in under(reduction.src[0]):
            if load.op is Op.Load and load.src[0].op is Op.Index and load.src[0].src[0].op is Op.Buffer:
                mine = slot is None or load.src[0].src[0].arg.slot == slot
                for reduced in dict.fromkeys((reduction.src[1:], all_reduced)):
                    known = all(r.src[0].op is Op.Const for r in reduced)
                    if (
                        mine
                        and known
                        and {lanes, *reduced} <= arithmetic.ranges_of(load) <= {*around, *reduced}
                    ):
                        found[load] = reduced
    return list(found.items())


def reductions_inside(body: UOp) -> dict[UOp, tuple[UOp, ...]]:
    """The reductions in a body, and the ranges that each reduces together with those around it, the outermost first."""
    reductions = [n for n in under(body) if n.op is Op.Reduce and len(n.src) > 1]
    found = {f: f.src[1:] for f in reductions}
    for outer in reversed(reductions) if len(reductions) > 1 else ():
        inside = set(under(outer.src[0]))
        found |= {f: (*found[outer], *f.src[1:]) for f in reductions if f in inside}
    return found


_APPLY: Final[dict[str, Callable[[CpuKernel, OptOp, Refusal, Collection[str]], UOp]]] = {
    "Cut": _cut,
    "Merge": _merge,
    "Pack": _pack,
}
