"""
Scatters
========

A reduction that is gated to one place of an output is a scatter: for every place k, over all d, what goes to ``e(d) =
k``. Of K · D steps only D do anything. By the rule `fold_without_last` the reduction is a chain of steps, and by those
of a step behind a gate one that fails its gate leaves what is there. So all places are set to what the reduction does
not notice; then, for each d ascending, the one place ``e(d)`` takes its step; and last what is made of the reduction is
stored.

Linearizing writes that; until then the program is the reduction, and no loop of its nest is split, exchanged or dealt
out.

*Invariant*: every place takes the steps that its reduction takes, in their order, but for those that change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.effects import closed, nest_of
from soundline.impl.lower.graphs.rebuilding import under
from soundline.impl.lower.graphs.scalars import identity_of
from soundline.impl.lower.graphs.simplify import Applied
from soundline.impl.lower.graphs.single_rule import applied_to
from soundline.impl.lower.graphs.views import trip_count
from soundline.impl.rules.tensors import scans
from soundline.spec.dtypes import bool_, index
from soundline.spec.uop import AxisType, Op, UOp, buffer, const, substitute

STEPS = (scans.step_behind_gate, scans.sum_step_behind_gate, scans.max_step_behind_gate)
"""The rules for a step that fails its gate."""
WORTH = 32
"""So many times fewer steps make up for lanes, and for a place that is not known before."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """A nest that stores, at every place, what is made of a reduction that only some of its steps change."""

    ranges: tuple[UOp, ...]
    store: UOp
    reduction: UOp
    slot: UOp
    """The loop over the places."""
    target: UOp
    """Which place a step goes to, an index."""
    gate: UOp | None
    """What else must hold for a step."""
    value: UOp


def scatter_of(effect: UOp) -> Scatter | None:
    """A nest as a scatter that is worth it; None for any other nest."""
    ranges, store = nest_of(effect)
    if store.op is not Op.Store or len(store.src) > 2 or any(r.arg.type is not AxisType.LOOP for r in ranges):
        return None
    reductions = [n for n in under(store.src[1]) if n.op is Op.Reduce]
    if len(reductions) != 1 or len(reductions[0].src) != 2 or reductions[0].dtype is not store.src[0].dtype:
        return None
    (reduction,) = reductions
    step = reduction.src[1]
    if reduction.shape != () or reduction.dtype in (bool_, index) or step.src[0].op is not Op.Const:
        return None
    gates, value = _gated(reduction)
    for r in ranges:
        chosen = [g for g in gates if (t := _target(g, r)) is not None and step in arithmetic.ranges_of(t)]
        rest = [g for g in gates if g not in chosen]
        if len(chosen) != 1 or any(r in arithmetic.ranges_of(n) for n in (*rest, value)):
            continue
        places, steps = trip_count(r), trip_count(step)
        target = _target(chosen[0], r)
        if target is None or places * steps < WORTH * (places + steps):
            return None
        gate: UOp | None = None
        for g in rest:
            gate = arithmetic.both(gate, g)
        return Scatter(tuple(ranges), store, reduction, r, target, gate, value)
    return None


def _gated(reduction: UOp) -> tuple[list[UOp], UOp]:
    """The conditions on which a reduction's step does anything, and what it reduces then."""
    nothing, value, gates = identity_of(reduction.arg.op, reduction.dtype), reduction.src[0], list[UOp]()
    while value.op is Op.Where and value.src[2] is nothing:
        gates += _conjuncts(value.src[0])
        value = value.src[1]
    return gates, value


def _conjuncts(gate: UOp) -> Iterator[UOp]:
    if gate.op is Op.And:
        for part in gate.src:
            yield from _conjuncts(part)
    else:
        yield gate


def _target(gate: UOp, r: UOp) -> UOp | None:
    """What a condition says is equal to a loop's index, and does not depend on it."""
    if gate.op is not Op.CmpEq or gate.src[0].dtype is not index or r not in gate.src:
        return None
    other = gate.src[1] if gate.src[0] is r else gate.src[0]
    return other if r not in arithmetic.ranges_of(other) else None


def is_scatter(effect: UOp, applied: Applied) -> bool:
    """Whether a nest is a scatter by the rules, which are asked for one step."""
    found = scatter_of(effect)
    if found is None:
        return False
    reduction = found.reduction
    chain = applied_to(scans.fold_without_last, reduction)
    if chain is None or chain.op is not reduction.arg.op:
        return False
    so_far = Op.Load(Op.Index(buffer(0, 1, reduction.dtype), arithmetic.number(0)))
    gate = Op.CmpEq(found.slot, found.target)
    one = UOp(
        reduction.arg.op,
        (so_far, Op.Where(gate, found.value, identity_of(reduction.arg.op, reduction.dtype))),
    )
    after = Op.Where(gate, UOp(reduction.arg.op, (so_far, found.value)), so_far)
    by = next((s for s in STEPS if applied_to(s, one) is after), None)
    if by is not None:
        applied.update((scans.fold_without_last.id, by.id))
    return by is not None


def parts(effect: UOp) -> Sequence[UOp]:
    """A nest that is a scatter as nests one after the other, each of which reads what the one before has stored."""
    s = scatter_of(effect)
    if s is None:
        return (effect,)
    place, made = s.store.src
    storage, at = place.src
    nothing = identity_of(s.reduction.arg.op, s.reduction.dtype)
    start = closed(Op.Store(place, nothing), s.ranges)
    step, others = s.reduction.src[1], [r for r in s.ranges if r is not s.slot]
    # a step's place is within the storage even where its gate is closed
    near = _nearest(s.target, trip_count(s.slot))
    there = substitute(at, {s.slot: near})
    gate = arithmetic.both(arithmetic.inside(s.target, trip_count(s.slot)), s.gate)
    so_far = Op.Load(Op.Index(Op.After(storage, start, step, *others), there))
    done = Op.Store(
        Op.Index(storage, there), UOp(s.reduction.arg.op, (so_far, s.value)), *([gate] if gate else [])
    )
    steps = closed(done, [step, *others])
    if made is s.reduction:
        return start, steps
    total = Op.Load(Op.Index(Op.After(storage, steps, *s.ranges), at))
    return start, steps, closed(Op.Store(place, substitute(made, {s.reduction: total})), s.ranges)


def _nearest(target: UOp, count: int) -> UOp:
    """The place that is nearest to an index."""
    if arithmetic.inside(target, count) is None:
        return target
    above = Op.Max(target, arithmetic.number(0))
    return Op.Neg(Op.Max(Op.Neg(above), const(1 - count, index)))
