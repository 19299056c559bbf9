"""
Premises
========

Some reductions are cheap under a condition that is known only when the program runs, for example that all elements of a
table are finite. The rules of ``impl/rules/premises`` have such a premise on their right side. This module applies them
when it is decided which values are stored. Under its premise, a reduction may need no loop, such as a gather that is
written as a product with a one-hot mask and a sum; or it may be a scatter, such as the gradient of that gather
(`scatters`).

The premise is itself a reduction, over fewer loops than the reduction that it decides about. So it gets a kernel and
storage of its own, and is computed once. The original reduction remains for tables where the premise does not hold; its
loop runs up to a bound that is 0 where the premise holds.

*Invariant*: the replacement of a reduction has its value, bit for bit, whether the premise holds or not; the kernel of
a premise comes before the kernel that reads it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.effects import closed, nest_of
from soundline.impl.lower.graphs.loops import in_lanes
from soundline.impl.lower.graphs.simplify import Applied, simplified
from soundline.impl.lower.graphs.single_rule import applied_to, first_applied
from soundline.impl.lower.graphs.views import trip_count
from soundline.impl.lower.reductions.closed_forms import closed_form, may_have_one
from soundline.impl.lower.reductions.scatters import is_scatter
from soundline.impl.rules import premises
from soundline.spec.dtypes import DType, bool_, uint8
from soundline.spec.kernels.iteration_spaces import is_optional
from soundline.spec.ops.node import RangeArg
from soundline.spec.uop import AxisType, Op, UOp, buffer, loop, substitute, toposort

RULES = (premises.masked_sum, premises.masked_sum_of_cast, premises.sum_among_zeros)
"""The rules whose right side is a choice by a premise."""
WORTH = 4
"""A reduction must be computed this many times more often than its premise."""
LANES = 1024
"""The number of places that test together whether a reduction is needed."""
LEAST = 32
"""A reduction of fewer elements is soon done."""


@dataclass(slots=True)
class _Numbers:
    """What is not taken yet."""

    loops: Iterator[int]
    slots: Iterator[int]


def with_premises(kernels: UOp, taken: int, applied: Applied) -> UOp:
    """The kernels with choices by premises in the place of reductions where that saves loops; slots below `taken` are
    taken.

    `applied` counts the rules.
    """
    candidates = [_candidates(kernel) for kernel in kernels.src]
    if not any(candidates):
        return kernels
    nodes = list(toposort(kernels))
    used = (n.arg.slot + 1 for n in nodes if n.op is Op.Buffer)
    numbers = _Numbers(
        itertools.count(1 + max(n.arg.id for n in nodes if n.op is Op.Range)),
        itertools.count(max((taken, *used))),
    )
    found: list[UOp] = []
    for kernel, reductions in zip(kernels.src, candidates, strict=True):
        new: dict[UOp, UOp] = {}
        for reduction in reductions:
            decided = _decided(reduction, numbers, applied)
            if decided is not None:
                before, new[reduction] = decided
                found += before
        found.append(substitute(kernel, new) if new else kernel)
    return Op.Linear(*found)


def _candidates(kernel: UOp) -> list[UOp]:
    """The reductions of a kernel that add up what a comparison of positions chooses, or products with it."""
    sums = (n for n in toposort(kernel) if n.op is Op.Reduce and n.arg.op is Op.Add and len(n.src) == 2)
    sums = (n for n in sums if all(r.src[0].op is Op.Const for r in (n.src[1], *arithmetic.ranges_of(n))))
    return [n for n in sums if n.dtype.is_float and any(map(may_have_one, _factors(n.src[0])))]


def _factors(value: UOp) -> Sequence[UOp]:
    """The factors of a product, or the condition of a choice; none of any other value."""
    value = value.src[0] if value.op is Op.Cast else value
    return value.src if value.op is Op.Mul else value.src[:1] if value.op is Op.Where else ()


def _converted_first(reduction: UOp, applied: Applied) -> UOp:
    """A reduction of products with a mask that are made wider, as one of products of what is made wider."""
    if reduction.op is not Op.Reduce or reduction.src[0].op is not Op.Cast:
        return reduction
    made = applied_to(premises.cast_of_masked, reduction.src[0])
    if made is None:
        return reduction
    applied.update((premises.cast_of_masked.id,))
    return Op.Reduce(made, *reduction.src[1:], arg=reduction.arg)


def _decided(reduction: UOp, numbers: _Numbers, applied: Applied) -> tuple[list[UOp], UOp] | None:
    """The kernels before a reduction, and the reduction as a choice by a premise; None where no
    rule makes it cheaper.
    """
    noted = Applied()
    plain = _converted_first(simplified(reduction, (), noted), noted)
    if plain.op is not Op.Reduce or len(plain.src) != 2 or trip_count(plain.src[1]) < LEAST:
        return None
    by = first_applied(RULES, plain)
    if by is None or by[1].op is not Op.Where:
        return None
    stated, choice = by
    noted.update((stated.id,))
    decide = _among_zeros if stated is premises.sum_among_zeros else _if_finite
    found = decide(plain, choice, numbers, noted)
    if found is not None:
        applied.take(noted)
    return found


def _if_finite(
    reduction: UOp, choice: UOp, numbers: _Numbers, applied: Applied
) -> tuple[list[UOp], UOp] | None:
    """A sum of products with a mask: chosen, or as it was if something is not finite, in as many steps as before."""
    premise, joined, _ = choice.src
    (zeros,) = (s for s in premise.src if s.op is Op.Reduce)
    (chosen,) = (s for s in joined.src if s is not zeros)
    if _times(reduction) < WORTH * _times(zeros):
        return None
    cheap = _cheap(chosen, numbers, applied)
    if cheap is None:
        return None
    before, stored = _stored(zeros, numbers)
    made = substitute(choice, {zeros: stored, chosen: cheap[1]})
    lazy = applied_to(premises.fold_not_chosen, made)
    if lazy is not None:
        applied.update((premises.fold_not_chosen.id,))
        made = Op.Where(*lazy.src[:2], _anew(lazy.src[2], numbers))
    return [before, *cheap[0]], made


def _among_zeros(
    reduction: UOp, choice: UOp, numbers: _Numbers, applied: Applied
) -> tuple[list[UOp], UOp] | None:
    """A sum of what goes to one place: as a scatter, and 0.0 where something goes elsewhere."""
    others, _, chosen = choice.src
    told = applied_to(premises.any_other, simplified(others, (), applied))
    if told is None or told.op is not Op.Or:
        return None
    (differ,) = (s for s in told.src if s.op is Op.Reduce)
    if _times(reduction) < WORTH * _times(differ):
        return None
    cheap = _cheap(chosen, numbers, applied)
    if cheap is None:
        return None
    applied.update((premises.any_other.id,))
    before, stored = _stored(differ, numbers)
    return [before, *cheap[0]], substitute(
        choice, {others: substitute(told, {differ: stored}), chosen: cheap[1]}
    )


def _cheap(chosen: UOp, numbers: _Numbers, applied: Applied) -> tuple[list[UOp], UOp] | None:
    """What a mask chooses without a loop, or from a kernel that is a scatter; None where it needs its loop."""
    form = closed_form(chosen, applied)
    if form is not None:
        return [], form
    before, stored = _stored(chosen, numbers)
    return ([before], stored) if is_scatter(before.src[0], applied) else None


def _times(reduction: UOp) -> int:
    """How often a reduction is computed."""
    return math.prod(map(trip_count, arithmetic.ranges_of(reduction)))


def _stored(reduction: UOp, numbers: _Numbers) -> tuple[UOp, UOp]:
    """A kernel that stores a reduction for all loops that it depends on, and the load of it inside these loops."""
    around = sorted(arithmetic.ranges_of(reduction), key=lambda r: r.arg.id)
    counts = [trip_count(r) for r in around]
    own = {r: loop(trip_count(r), next(numbers.loops), AxisType.LOOP) for r in around}
    dtype = uint8 if reduction.dtype is bool_ else reduction.dtype  # as other temporaries
    storage = buffer(next(numbers.slots), math.prod(counts), dtype)
    place = Op.Index(storage, arithmetic.flatten(list(own.values()), counts))
    value = _as(dtype, _anew(substitute(reduction, own), numbers))
    kernel = Op.Sink(closed(Op.Store(place, value), list(own.values())))
    return kernel, _as(reduction.dtype, Op.Load(Op.Index(storage, arithmetic.flatten(around, counts))))


def _as(dtype: DType, value: UOp) -> UOp:
    """A value, or its cast where the dtype is another one."""
    return value if value.dtype is dtype else Op.Cast(value, arg=dtype)


def _anew(reduction: UOp, numbers: _Numbers) -> UOp:
    """A reduction over a range that nothing else has."""
    inner, old = reduction.src
    own = UOp(Op.Range, old.src, RangeArg(next(numbers.loops), AxisType.REDUCE))
    return Op.Reduce(substitute(inner, {old: own}), own, arg=reduction.arg)


# Layout -----------------------------------------------------------------------------------------------------------


def side_by_side(nest: UOp, numbers: Iterator[int]) -> list[UOp] | None:
    """A nest whose reductions may not be needed, with lanes around them: asked once for many places, and, where they
    are needed, run for all of these at once. None where there is no such reduction, or each place asks by itself.
    """
    ranges, body = nest_of(nest)
    reductions = [n for n in toposort(body) if n.op is Op.Reduce]
    if not ranges or not reductions or not all(is_optional(f.src[1]) for f in reductions):
        return None
    *around, last = ranges
    asked = any(last in arithmetic.ranges_of(f.src[1].src[0]) for f in reductions)
    if asked or last.arg.type is not AxisType.LOOP:
        return None
    return [
        closed(part, [*around, *steps, *lanes]) for part, steps, lanes in in_lanes(body, last, LANES, numbers)
    ]
