"""
Premises
========

Some folds are cheap if something holds that nobody knows before the program runs, as that all elements of a table are
finite. The rules of ``impl/rules/premises`` have such a premise on their right side. Here they are asked, when it is
decided which values are stored, for a fold that then needs no loop: a gather that is written as a product with a
one-hot mask, and a sum.

The premise is a fold by itself, which depends on fewer loops than what it decides about: so it gets a kernel and
storage of its own, and is computed once. What was there before stays for tables where the premise does not hold; its
loop runs up to a bound that is 0 where it does.

*Invariant*: what stands for a fold has its value, bit for bit, whatever the premise turns out to be; the kernel of a
premise comes before the kernel that reads it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from soundline.impl.lower import arith
from soundline.impl.lower.closed_forms import closed_form, may_have_one
from soundline.impl.lower.effects import closed
from soundline.impl.lower.matched import LoweredFacts, applied_to
from soundline.impl.lower.simplify import Applied, simplified
from soundline.impl.lower.views import trip_count
from soundline.impl.rules import premises
from soundline.spec.node import RangeArg
from soundline.spec.uop import AxisType, Op, UOp, buffer, loop, substitute, toposort

RULES = (premises.masked_sum, premises.masked_sum_of_cast)
"""The rules whose right side is a choice by a premise."""
WORTH = 4
"""So many times more often than its premise must a fold be computed."""
LEAST = 32
"""A fold of fewer elements is soon done."""


@dataclass(slots=True)
class _Numbers:
    """What is not taken yet."""

    loops: Iterator[int]
    slots: Iterator[int]


def with_premises(kernels: UOp, taken: int, applied: Applied) -> UOp:
    """The kernels with choices by premises in the place of folds where that saves loops; slots below `taken` are taken.

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
    for kernel, folds in zip(kernels.src, candidates, strict=True):
        new: dict[UOp, UOp] = {}
        for fold in folds:
            decided = _decided(fold, numbers, applied)
            if decided is not None:
                before, new[fold] = decided
                found.append(before)
        found.append(substitute(kernel, new) if new else kernel)
    return Op.Linear(*found)


def _candidates(kernel: UOp) -> list[UOp]:
    """The folds of a kernel that add up products, of which a factor is made of a comparison of positions."""
    return [
        n
        for n in toposort(kernel)
        if n.op is Op.Reduce
        and n.arg.op is Op.Add
        and n.dtype.is_float
        and len(n.src) == 2
        and _product(n.src[0]).op is Op.Mul
        and any(map(may_have_one, _product(n.src[0]).src))
    ]


def _product(value: UOp) -> UOp:
    return value.src[0] if value.op is Op.Cast else value


def _converted_first(fold: UOp, applied: Applied) -> UOp:
    """A fold of products with a mask that are made wider, as one of products of what is made wider."""
    if fold.op is not Op.Reduce or fold.src[0].op is not Op.Cast:
        return fold
    made = applied_to(premises.cast_of_masked, fold.src[0], LoweredFacts())
    if made is None:
        return fold
    applied.update((premises.cast_of_masked.id,))
    return Op.Reduce(made, *fold.src[1:], arg=fold.arg)


def _decided(fold: UOp, numbers: _Numbers, applied: Applied) -> tuple[UOp, UOp] | None:
    """The kernel of the premise of a fold, and the fold as a choice by it; None where no rule makes it cheaper."""
    noted, facts = Applied(), LoweredFacts()
    plain = _converted_first(simplified(fold, (), noted), noted)
    if plain.op is not Op.Reduce or len(plain.src) != 2 or trip_count(plain.src[1]) < LEAST:
        return None
    for stated in RULES:
        choice = applied_to(stated, plain, facts)
        if choice is None or choice.op is not Op.Where:
            continue
        premise, joined, _ = choice.src
        (zeros,) = (s for s in premise.src if s.op is Op.Reduce)
        (chosen,) = (s for s in joined.src if s is not zeros)
        cheap = closed_form(chosen, noted)
        if cheap is None or _times(plain) < WORTH * _times(zeros):
            return None
        noted.update((stated.id,))
        before, stored = _stored(zeros, numbers)
        made = substitute(choice, {zeros: stored, chosen: cheap})
        lazy = applied_to(premises.fold_not_chosen, made, facts)
        if lazy is not None:
            noted.update((premises.fold_not_chosen.id,))
            made = Op.Where(*lazy.src[:2], _anew(lazy.src[2], numbers))
        applied.take(noted)
        return before, made
    return None


def _times(fold: UOp) -> int:
    """How often a fold is computed."""
    return math.prod(map(trip_count, arith.ranges_of(fold)))


def _stored(fold: UOp, numbers: _Numbers) -> tuple[UOp, UOp]:
    """A kernel that stores a fold for all loops that it depends on, and the load of it inside these loops."""
    around = sorted(arith.ranges_of(fold), key=lambda r: r.arg.id)
    counts = [trip_count(r) for r in around]
    own = {r: loop(trip_count(r), next(numbers.loops), AxisType.LOOP) for r in around}
    storage = buffer(next(numbers.slots), math.prod(counts), fold.dtype)
    place = Op.Index(storage, arith.flatten(list(own.values()), counts))
    kernel = Op.Sink(closed(Op.Store(place, _anew(substitute(fold, own), numbers)), list(own.values())))
    return kernel, Op.Load(Op.Index(storage, arith.flatten(around, counts)))


def _anew(fold: UOp, numbers: _Numbers) -> UOp:
    """A fold over a range that nothing else has."""
    inner, old = fold.src
    own = UOp(Op.Range, old.src, RangeArg(next(numbers.loops), AxisType.REDUCE))
    return Op.Reduce(substitute(inner, {old: own}), own, arg=fold.arg)
