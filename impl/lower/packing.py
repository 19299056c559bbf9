"""
Packing
=======

What the tiles of a reduction read again and again from far apart is copied, once, into storage of the kernel's own, in
the order in which they read it: steps outside, then the loops of the reduction, then the lanes side by side. The gate
of a load is decided while copying, so that a padded matrix is packed with its zeros.

*Invariant*: a packed element is what the load would have given, so no value changes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from soundline.impl.lower import arith
from soundline.impl.lower.loops import closed
from soundline.impl.lower.views import trip_count
from soundline.spec.uop import AxisType, Op, UOp, buffer, loop, substitute

FAR = 1 << 17
"""From so many bytes between the first and the last element that one tile reads on, packing pays."""


@dataclass(slots=True)
class Packing:
    """The copies that the tiles of one kernel want, as kernels that come before it."""

    numbers: Iterator[int]
    slots: Iterator[int]
    kernels: list[UOp] = field(default_factory=list)

    def pays(self, load: UOp, ranges: Collection[UOp]) -> bool:
        """Whether a load, of which one tile needs what these ranges reach, is better packed."""
        return len(load.src) > 1 or _span(load, ranges) > FAR

    def packed(self, load: UOp, order: Sequence[UOp]) -> UOp:
        """A load from storage in which the ranges that it depends on stand in this order."""
        ranges = [r for r in order if r in arith.ranges_of(load)]
        sizes = [trip_count(r) for r in ranges]
        storage = buffer(next(self.slots), math.prod(sizes), load.dtype)
        own = {r: loop(trip_count(r), next(self.numbers), _copied(r)) for r in ranges}
        at = arith.flatten(ranges, sizes)
        copy = Op.Store(Op.Index(storage, substitute(at, own)), substitute(load, own))
        self.kernels.append(Op.Sink(closed(copy, [own[r] for r in ranges])))
        return Op.Load(Op.Index(storage, at))


def _copied(r: UOp) -> AxisType:
    return AxisType.UPCAST if r.arg.type is AxisType.UPCAST else AxisType.LOOP


def _span(load: UOp, ranges: Collection[UOp]) -> int:
    """The bytes between the first and the last element that a load reads as these ranges run; 0 if it is not known."""
    still = {r: arith.number(0) for r in arith.ranges_of(load) if r not in ranges}
    known = arith.bounds(substitute(load.src[0].src[1], still))
    return 0 if known is None else int(known.hi - known.lo + 1) * load.dtype.itemsize
