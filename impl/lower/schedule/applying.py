"""
Applying schedules
==================

Carry out the steps of a schedule, one after the other, whoever chose them: this is the one code path for heuristics,
search and users. Split, Swap, Padto and Nolocals are the law's functions (`optops.apply`), so that what is scheduled is
what the law has judged; the others are those of `extensions`.

On a CPU the types of axes are: THREAD is dealt out to cores, UPCAST, UNROLL and GROUP_REDUCE are lanes that are
computed at once (the sums of UNROLL are joined in their order, those of a group have reduced apart), the others are
loops.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.rebuilding import rebuilt, under
from soundline.impl.lower.linear.linearize import nest_of
from soundline.impl.lower.schedule.extensions import EXTENSIONS, extended
from soundline.impl.lower.schedule.kernels import CpuKernel
from soundline.impl.lower.schedule.legality import require_possible
from soundline.impl.lower.schedule.schedules import STEPS, Schedule
from soundline.spec.dtypes import index
from soundline.spec.errors import ScheduleError
from soundline.spec.kernels import optops
from soundline.spec.kernels.iteration_spaces import Kernel
from soundline.spec.kernels.opt import OptOp
from soundline.spec.uop import AxisType, Op, UOp, substitute


class Scheduling:
    """A kernel under scheduling. Each method is a step: it changes the kernel, and is recorded."""

    def __init__(
        self,
        sink: UOp,
        numbers: Iterator[int],
        slots: Iterator[int],
        licences: Collection[str] = (),
        sized: frozenset[UOp] | None = None,
    ) -> None:
        self.kernel = CpuKernel(sink, numbers=numbers, slots=slots)
        self.licences = licences
        self.sized = sized
        """Of a kernel inside of loops over symbolic sizes, the axes that stand for some: no step may name them, and
        nothing is packed before the loops. None of any other kernel.
        """

    def copy(self) -> Scheduling:
        """The same kernel, to go another way."""
        return copy.copy(self)

    # what there is ------------------------------------------------------------------------------------------------

    @property
    def sink(self) -> UOp:
        """The kernel as it is now."""
        return self.kernel.sink

    @property
    def steps(self) -> Schedule:
        """The steps that were done."""
        return self.kernel.opts

    @property
    def axes(self) -> tuple[UOp, ...]:
        """The axes, as the law counts them."""
        return self.kernel.axes

    def nest(self, at: int) -> tuple[list[UOp], UOp]:
        """The Ranges and the body of a nest, by its place among the effects."""
        return nest_of(self.sink.src[at])

    def packing(self) -> list[UOp]:
        """The nests that pack."""
        return list(_copies(self.sink)[0])

    def apply(self, step: OptOp) -> None:
        """Do one step by its record. Raises `ScheduleError` where it does not apply."""
        if step.op not in STEPS:
            raise ScheduleError(str(step), "U-50", given=step.op, wants=f"one of {', '.join(STEPS)}")
        if not self.steps:
            Kernel(self.sink)  # raises where it is none
        if any(
            r in (self.sized or ())
            for p in (step.axis, step.arg)
            if type(p) is int
            for r in self.axes[p : p + 1]
        ):
            raise ScheduleError(
                str(step), "U-50", given="an axis of symbolic size", wants="one of known size"
            )
        if step.op in EXTENSIONS:
            self.kernel = extended(self.kernel, step, self.licences)
            return
        made = optops.apply(self.kernel, step, self.licences)
        require_possible(self.kernel, step)
        self.kernel = made

    # the steps, by their axes -----------------------------------------------------------------------------------

    def split(self, axis: UOp, factor: int, target: AxisType, top: bool = False) -> None:
        """An axis as two; what is left of the old one, and the new one."""
        arg = (factor, target, True) if top else (factor, target)
        self.apply(OptOp("Split", self.axes.index(axis), arg))

    def swap(self, first: UOp, last: UOp) -> None:
        """Exchange two axes of one nest or of one Reduce."""
        self.apply(OptOp("Swap", self.axes.index(first), self.axes.index(last)))

    def cut(self, axis: UOp, at: int) -> UOp:
        """The iterations from `at` on apart; the axis of those before."""
        before = self.axes
        self.apply(OptOp("Cut", before.index(axis), at))
        return min(set(self.axes) - set(before), key=lambda r: int(r.arg.id))

    def merge(self, outer: UOp, inner: UOp) -> None:
        """One loop for two that every index walks as one."""
        self.apply(OptOp("Merge", self.axes.index(outer), self.axes.index(inner)))

    def pack(self, lanes: UOp, slot: int) -> None:
        """What reductions in these lanes load from a Buffer, copied before the nest that reads it."""
        self.apply(OptOp("Pack", self.axes.index(lanes), slot))


def scheduled(kernel: Scheduling, steps: Schedule) -> Scheduling:
    """A kernel after the steps of a schedule."""
    for step in steps:
        kernel.apply(step)
    return kernel


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

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node in single:
            return zero_
        if node.op is Op.End and node.src[1] in single:
            return src[0]
        if node.op is Op.Reduce and not single.isdisjoint(node.src[1:]):
            left = [r for r in node.src[1:] if r not in single]
            return UOp(Op.Reduce, (src[0], *left), node.arg) if left or node.arg.axes else src[0]
        if src != node.src and node.op in (Op.Add, Op.Mul) and node.shape == () and node.dtype is index:
            return arithmetic.add(*src) if node.op is Op.Add else arithmetic.mul(*src)
        return None

    return rebuilt(nest, change) if single else nest
