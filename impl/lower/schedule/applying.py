"""
Applying schedules
==================

Carry out the steps of a schedule, one after the other, whoever chose them: this is the one code path for heuristics,
search and users, and every step is first held to the law (`lawful`). Split, Swap and Padto do to a kernel what the
law's functions do, up to the numbers of the Ranges.

On a CPU the types of axes are: THREAD is dealt out to cores, UPCAST, UNROLL and GROUP_REDUCE are lanes that are
computed at once (the sums of UNROLL are joined in their order, those of a group have reduced apart), the others are
loops.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.loops import closed
from soundline.impl.lower.graphs.rebuilding import under
from soundline.impl.lower.graphs.views import trip_count
from soundline.impl.lower.linear.linearize import nest_of
from soundline.impl.lower.schedule.legality import judged_as, refused, require_lawful
from soundline.impl.lower.schedule.schedules import Schedule
from soundline.spec.errors import ScheduleError
from soundline.spec.kernels import iteration_spaces
from soundline.spec.kernels.opt import OptOp
from soundline.spec.kernels.padto import neutral, zero
from soundline.spec.uop import AxisType, Op, ReduceArg, UOp, buffer, loop, substitute, toposort

GROUP = AxisType.GROUP_REDUCE


@dataclass(slots=True)
class Scheduling:
    """A kernel under scheduling. Each method is a step: it changes the kernel, and is recorded."""

    sink: UOp
    numbers: Iterator[int]
    slots: Iterator[int]
    licences: Collection[str] = ()
    checked: bool = True
    """Whether each step is held to the law before it is done."""
    judged: UOp | None = None
    """What the law is asked about in place of the kernel, if it is not the kernel itself."""
    steps: list[OptOp] = field(default_factory=list)
    bare: UOp = field(init=False)
    """The kernel without packing, or one in its place, which the law judges (`lawful.judged_as`)."""

    def __post_init__(self) -> None:
        self.bare = judged_as(self.judged or self.sink) if self.checked else self.sink

    def copy(self) -> Scheduling:
        """The same kernel, to go another way."""
        other = copy.copy(self)
        other.steps = list(self.steps)
        return other

    # what there is ------------------------------------------------------------------------------------------------

    @property
    def axes(self) -> tuple[UOp, ...]:
        """The axes, as the law counts them."""
        return _axes_of(self.sink)

    def nest(self, at: int) -> tuple[list[UOp], UOp]:
        """The Ranges and the body of a nest, by its place among the effects."""
        return nest_of(self.sink.src[at])

    def packing(self) -> list[UOp]:
        """The nests that pack."""
        return list(_copies(self.sink)[0])

    def fresh(self, size: int, kind: AxisType) -> UOp:
        """A Range that no kernel has."""
        return loop(size, next(self.numbers), kind)

    def apply(self, step: OptOp) -> Any:
        """Do one step by its record; the axes that it makes. Raises `ScheduleError` where it does not apply."""
        require_lawful(self, step)
        at = self.axes
        made: Any = None
        match step.op:
            case "Split":
                factor, target, *top = step.arg
                made = self._split(at[step.axis], factor, target, any(top))
            case "Swap":
                self._swap(at[step.axis], at[step.arg])
            case "Padto":
                made = self._padto(at[step.axis], step.arg)
            case "Cut":
                made = self._cut(at[step.axis], step.arg)
            case "Merge":
                made = self._merge(at[step.axis], at[step.arg])
            case "Pack":
                self._pack(step, at[step.axis])
            case "Nolocals":
                self._nolocals()
            case _:
                raise ScheduleError(str(step), "U-50", given=step.op, wants="a step that a CPU can do")
        self.steps.append(step)
        return made

    # the steps, by their axes -----------------------------------------------------------------------------------

    def split(self, axis: UOp, factor: int, target: AxisType, top: bool = False) -> tuple[UOp, UOp]:
        """An axis as two; what is left of the old one, and the new one."""
        arg = (factor, target, True) if top else (factor, target)
        return self.apply(OptOp("Split", self.axes.index(axis), arg))  # type: ignore[no-any-return]

    def swap(self, first: UOp, last: UOp) -> None:
        """Exchange two axes of one nest or of one Reduce."""
        self.apply(OptOp("Swap", self.axes.index(first), self.axes.index(last)))

    def cut(self, axis: UOp, at: int) -> UOp:
        """The iterations from `at` on apart; the axis of those before."""
        return self.apply(OptOp("Cut", self.axes.index(axis), at))  # type: ignore[no-any-return]

    def merge(self, outer: UOp, inner: UOp) -> UOp:
        """One loop for two that every index walks as one."""
        return self.apply(OptOp("Merge", self.axes.index(outer), self.axes.index(inner)))  # type: ignore[no-any-return]

    def pack(self, lanes: UOp, slot: int) -> None:
        """What reductions in these lanes load from a Buffer, copied before the nest that reads it."""
        self.apply(OptOp("Pack", self.axes.index(lanes), slot))

    # what each step does ----------------------------------------------------------------------------------------

    def _change(self, change: Callable[[UOp], UOp]) -> None:
        same = self.bare is self.sink or not self.checked
        self.sink = change(self.sink)
        self.bare = self.sink if same else change(self.bare)

    def _split(self, axis: UOp, factor: int, target: AxisType, top: bool) -> tuple[UOp, UOp]:
        rest = self.fresh(trip_count(axis) // factor, axis.arg.type)
        new = self.fresh(factor, target)
        outer, inner = (new, rest) if top else (rest, new)
        value = Op.Add(Op.Mul(outer, arithmetic.number(trip_count(inner))), inner)
        if target is GROUP:
            self._change(lambda sink: _grouped(sink, axis, value, rest, new))
        else:
            self._change(lambda sink: _with_axis(sink, axis, value, (outer, inner)))
        return rest, new

    def _swap(self, first: UOp, last: UOp) -> None:
        other = {first: last, last: first}

        def made(node: UOp, src: tuple[UOp, ...]) -> UOp:
            if node.op in (Op.End, Op.Reduce) and any(r in other for r in node.src[1:]):
                src = (src[0], *(other.get(r, r) for r in node.src[1:]))
            return _over(node, src)

        self._change(lambda sink: _rebuilt(sink, made))

    def _nolocals(self) -> None:
        for axis in self.axes:
            if axis.arg.type is AxisType.LOCAL:
                apart = self.fresh(trip_count(axis), AxisType.GLOBAL)
                self._change(functools.partial(_with_axis, axis=axis, value=apart, ranges=(apart,)))

    def _padto(self, axis: UOp, multiple: int) -> UOp:
        size = -(-trip_count(axis) // multiple) * multiple
        if size == trip_count(axis):
            return axis
        longer = self.fresh(size, axis.arg.type)
        self._change(lambda sink: _padded(sink, axis, longer))
        return longer

    def _cut(self, axis: UOp, at: int) -> UOp:
        first = self.fresh(at, axis.arg.type)
        rest = self.fresh(trip_count(axis) - at, axis.arg.type)
        shifted = Op.Add(rest, arithmetic.number(at))
        if axis.arg.type is AxisType.REDUCE:
            self._change(lambda sink: _cut_reductions(sink, axis, first, rest, shifted))
        else:
            own: dict[UOp, UOp] = {axis: shifted}
            for r in _ranges_of_nests(self.sink, axis):
                own.setdefault(r, self.fresh(trip_count(r), r.arg.type))
            self._change(lambda sink: _cut_nests(sink, axis, first, rest, own))
        return first

    def _merge(self, outer: UOp, inner: UOp) -> UOp:
        whole = self.fresh(trip_count(outer) * trip_count(inner), AxisType.LOOP)

        def made(node: UOp, src: tuple[UOp, ...]) -> UOp:
            if node is outer:
                return arithmetic.number(0)
            if node is inner:
                return whole
            if node.op is Op.End and node.src[1] is outer:
                return src[0]
            return _over(node, src)

        self._change(lambda sink: _rebuilt(sink, made))
        return whole

    def _pack(self, step: OptOp, lanes: UOp) -> None:
        slot = step.arg
        packed: dict[UOp, UOp] = {}
        for nest in self.sink.src:
            ranges, body = nest_of(nest)
            if lanes in ranges:
                for load, reduced in packable(body, lanes, slot):
                    packed[load] = self._copied(load, ranges, reduced)
        if not packed:
            raise refused(self, step, 2, f"no such load from slot {slot}", lanes)
        before = self.bare
        self.sink = substitute(self.sink, packed)
        self.bare = before if self.checked else self.sink

    def _copied(self, load: UOp, ranges: Sequence[UOp], reduced: Sequence[UOp]) -> UOp:
        """A load from storage in which what it depends on stands in the order in which it is read."""
        inside = [r for r in ranges if r.arg.type is AxisType.UPCAST]
        order = [r for r in ranges if r not in inside] + [*reduced, *inside]
        order = [r for r in order if r in arithmetic.ranges_of(load)]
        sizes = [trip_count(r) for r in order]
        storage = buffer(next(self.slots), math.prod(sizes), load.dtype)
        own = {r: self.fresh(trip_count(r), _of_a_copy(r)) for r in order}
        at = arithmetic.flatten(order, sizes)
        copy = Op.Store(Op.Index(storage, substitute(at, own)), substitute(load, own))
        nest = closed(copy, [own[r] for r in order])
        return Op.Load(Op.Index(Op.After(storage, nest), at))


@functools.lru_cache(maxsize=16)
def _axes_of(sink: UOp) -> tuple[UOp, ...]:
    return iteration_spaces.axes(sink)


def scheduled(kernel: Scheduling, steps: Schedule) -> Scheduling:
    """A kernel after the steps of a schedule."""
    for step in steps:
        kernel.apply(step)
    return kernel


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
                    if mine and {lanes, *reduced} <= arithmetic.ranges_of(load) <= {*around, *reduced}:
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


def launched(sink: UOp) -> list[UOp]:
    """A scheduled kernel as the kernels that run one after the other: what packs, each nest that is dealt out to cores
    by itself, and the rest. Axes of one iteration are gone.
    """
    copies, plain = _copies(sink)
    nests = [without_single(substitute(n, plain)) for n in (*copies, *sink.src)]
    apart = [n for k, n in enumerate(nests) if k < len(copies) or _is_dealt_out(n)]
    rest = [n for k, n in enumerate(nests) if k >= len(copies) and not _is_dealt_out(n)]
    return [*(Op.Sink(n) for n in apart), *([Op.Sink(*rest)] if rest else [])]


def _copies(sink: UOp) -> tuple[dict[UOp, None], dict[UOp, UOp]]:
    """The nests that pack, and the storage of each place that comes after one."""
    copies: dict[UOp, None] = {}
    plain: dict[UOp, UOp] = {}
    for node in under(sink):
        if node.op is Op.After and all(s.op is Op.End for s in node.src[1:]):
            copies |= dict.fromkeys(node.src[1:])
            plain[node] = node.src[0]
    return copies, plain


def _is_dealt_out(nest: UOp) -> bool:
    return nest.op is Op.End and any(r.arg.type is AxisType.THREAD for r in nest_of(nest)[0])


def without_single(nest: UOp) -> UOp:
    """A nest in which no Range has one iteration; sums and products of indices are reduced on the way."""
    zero_ = arithmetic.number(0)
    single = {n for n in under(nest) if n.op is Op.Range and arithmetic.is_number(n.src[0], 1)}

    def made(node: UOp, src: tuple[UOp, ...]) -> UOp:
        if node in single:
            return zero_
        if node.op is Op.End and node.src[1] in single:
            return src[0]
        if node.op is Op.Reduce and any(r in single for r in node.src[1:]):
            left = tuple(r for r in src[1:] if r is not zero_)
            return UOp(Op.Reduce, (src[0], *left), node.arg) if left or node.arg.axes else src[0]
        if (
            node.shape == ()
            and src != node.src
            and node.op in (Op.Add, Op.Mul)
            and src[0].dtype is zero_.dtype
        ):
            return arithmetic.add(*src) if node.op is Op.Add else arithmetic.mul(*src)
        return _over(node, src)

    return _rebuilt(nest, made) if single else nest


# Rebuilding -------------------------------------------------------------------------------------------------------


def _rebuilt(root: UOp, made: Callable[[UOp, tuple[UOp, ...]], UOp]) -> UOp:
    """A graph in which every node is what `made` gives for it and its new sources."""
    new: dict[UOp, UOp] = {}
    for node in under(root):
        new[node] = made(node, tuple(new[s] for s in node.src))
    return new[root]


def _over(node: UOp, src: tuple[UOp, ...]) -> UOp:
    """A node over other sources."""
    return node if src == node.src else UOp(node.op, src, node.arg, node.tag)


def _with_axis(sink: UOp, axis: UOp, value: UOp, ranges: tuple[UOp, ...]) -> UOp:
    """The kernel with a value for an axis, and Ranges, outermost first, closed where it was closed."""

    def made(node: UOp, src: tuple[UOp, ...]) -> UOp:
        if node is axis:
            return value
        if node.op is Op.End and node.src[1] is axis:
            return closed(src[0], ranges)
        if node.op is Op.Reduce and axis in node.src[1:]:
            own = [q for r in node.src[1:] for q in (ranges if r is axis else (r,))]
            return UOp(Op.Reduce, (src[0], *own), node.arg)
        return _over(node, src)

    return _rebuilt(sink, made)


def _grouped(sink: UOp, axis: UOp, value: UOp, rest: UOp, group: UOp) -> UOp:
    """Reductions that the members of a group do apart, and one of what they found."""

    def made(node: UOp, src: tuple[UOp, ...]) -> UOp:
        if node is axis:
            return value
        if node.op is not Op.Reduce or axis not in node.src[1:]:
            return _over(node, src)
        own = [rest if r is axis else r for r in node.src[1:]]
        groups = [r for r in own if r.arg.type is GROUP]
        inner = UOp(Op.Reduce, (src[0], *(r for r in own if r not in groups)), node.arg)
        return UOp(Op.Reduce, (inner, *groups, group), ReduceArg(node.arg.op))

    return _rebuilt(sink, made)


def _ranges_of_nests(sink: UOp, axis: UOp) -> list[UOp]:
    """The Ranges of the nests that have an axis, and of their reductions; not those of what packs for them."""
    with_it = [nest for nest in sink.src if axis in nest_of(nest)[0]]
    found = {r for nest in with_it for r in nest_of(nest)[0]}
    found |= {r for n in toposort(*with_it) if n.op is Op.Reduce for r in n.src[1:]}
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
    new: dict[UOp, UOp] = {}
    for node in under(sink):
        src = tuple(new[s] for s in node.src)
        made = UOp(node.op, src, node.arg, node.tag) if src != node.src else node
        if node.op is Op.Reduce and axis in node.src[1:]:
            parts = (
                substitute(made, {axis: first}),
                UOp(
                    Op.Reduce,
                    (substitute(src[0], {axis: shifted}), *(rest if r is axis else r for r in node.src[1:])),
                    node.arg,
                ),
            )
            made = UOp(node.arg.op, parts)
        new[node] = made
    return new[sink]


def _padded(sink: UOp, axis: UOp, longer: UOp) -> UOp:
    """The kernel with a longer axis: in the added iterations nothing is loaded, stored or reduced."""
    valid = Op.CmpLt(longer, axis.src[0])
    depends = {n for n in under(sink) if axis in arithmetic.ranges_of(n)}
    ends = [n for n in under(sink) if n.op is Op.End and n.src[1] is axis]
    stores = {s for e in ends for s in _stores_in(e, depends)}
    new: dict[UOp, UOp] = {axis: longer}
    for node in under(sink):
        if node in new:
            continue
        src = tuple(new[s] for s in node.src)
        if node.op is Op.Load and node in depends:
            alternative = src[1] if len(src) > 1 else zero(node.dtype)
            src = (src[0], alternative, Op.And(valid, src[2]) if len(src) > 2 else valid)
        elif node.op is Op.Store and node in stores:
            src = (*src[:2], Op.And(valid, src[2]) if len(src) > 2 else valid)
        elif node.op is Op.Reduce and axis in node.src[1:]:
            identity = neutral(node.arg.op, node.dtype)
            assert identity is not None  # the law has been asked
            src = (Op.Where(valid, src[0], identity), *src[1:])
        new[node] = UOp(node.op, src, node.arg, node.tag) if src else node
    return new[sink]


def _stores_in(end: UOp, depends: Collection[UOp]) -> Iterator[UOp]:
    """The Stores that an End repeats."""
    chain = [end.src[0]]
    while chain:
        node = chain.pop()
        if node.op is Op.Store:
            yield node
        elif node.op in (Op.End, Op.Group):
            chain.extend(node.src[:1] if node.op is Op.End else node.src)
    yield from (n for n in under(end) if n.op is Op.Store and n in depends)


def _of_a_copy(r: UOp) -> AxisType:
    return AxisType.UPCAST if r.arg.type is AxisType.UPCAST else AxisType.LOOP
