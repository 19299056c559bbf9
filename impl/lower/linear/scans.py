"""
Scans
=====

A running reduction in as many steps as it has elements. Inside a loop over i, a reduction over everything behind a gate
that lets k ≤ i pass becomes a reduction over k < i + 1, by a rule of ``impl/rules/scans``; then, by the rule
`fold_without_last`, what iteration i + 1 reduces is what iteration i has reduced, and one step. So linearizing keeps
the reduction in a register around the loop, and does that step in each iteration.

The loop must stay a loop that runs upwards on one core; what is parallel is everything around it. A reduction that runs
from the end is one along the mirrored loop.

*Invariant*: every reduction has the elements that it had, in their order, but for those that it does not notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from soundline.impl.analysis import arithmetic
from soundline.impl.lower.graphs.loops import closed, in_lanes, stride
from soundline.impl.lower.graphs.rebuilding import under
from soundline.impl.lower.graphs.scalars import loaded_behind
from soundline.impl.lower.graphs.simplify import Applied, simplified
from soundline.impl.lower.graphs.single_rule import applied_to, first_applied, isolated
from soundline.impl.lower.graphs.views import trip_count
from soundline.impl.lower.linear.linearize import nest_of, runs_along
from soundline.impl.rules.tensors import scans
from soundline.spec.ops.node import RangeArg
from soundline.spec.uop import AxisType, Op, UOp, loop, substitute

ROWS = 4
"""So many rows are scanned side by side: a step waits for the one before, and other rows fill the wait."""
LANES = 256
"""Lanes across the loop of a scan that reads side by side."""
_LEAST = 4
"""A loop shorter than this is not worth splitting."""

BOUNDS = (
    scans.fold_from,
    scans.sum_from_of_floats,
    scans.sum_from_among_zeros,
    scans.product_from_of_floats,
    scans.max_from_of_floats,
    scans.fold_up_to,
    scans.sum_up_to_of_floats,
    scans.sum_up_to_among_zeros,
    scans.product_up_to_of_floats,
    scans.max_up_to_of_floats,
)
"""The rules that make a bound of a gate that something passes."""

OR_NONE = (
    scans.fold_from_or_none,
    scans.sum_from_or_none_of_floats,
    scans.sum_from_or_none_among_zeros,
    scans.product_from_or_none_of_floats,
    scans.max_from_or_none_of_floats,
    scans.fold_up_to_or_none,
    scans.sum_up_to_or_none_of_floats,
    scans.sum_up_to_or_none_among_zeros,
    scans.product_up_to_or_none_of_floats,
    scans.max_up_to_or_none_of_floats,
)
"""The same of a gate that perhaps nothing passes: there is one step more, which is not noticed."""


def scanned(nest: UOp, numbers: Iterator[int], applied: Applied) -> list[UOp] | None:
    """The nest with its running reductions as reductions up to a loop, and laid out for them; None
    where it has none.
    """
    ranges, body = nest_of(nest)
    loops = [r for r in ranges if r.arg.type is AxisType.LOOP]
    reductions = [n for n in under(body) if n.op is Op.Reduce and len(n.src) == 2 and _is_gated(n, loops)]
    if not reductions:
        return None
    noted = Applied()
    bounded = {f: b for f in reductions if (b := _bounded(f, numbers, noted)) is not None}
    for r in reversed(loops if bounded else []):
        for mirrored in (False, True):
            found = _along(body, r, bounded, numbers, noted, mirrored=mirrored)
            if found is not None:
                applied.take(noted)
                return _laid_out(found[0], [found[1] if q is r else q for q in ranges], found[1], numbers)
    return None


def _gate_of(value: UOp) -> UOp | None:
    value = value.src[0] if value.op is Op.Cast else value
    if value.op is Op.Load and len(value.src) == 3:
        return value.src[2]
    return value.src[0] if value.op is Op.Where else None


def _is_gated(reduction: UOp, loops: Sequence[UOp]) -> bool:
    """Whether what is reduced stands behind a gate that depends on the reduction and on a loop around it."""
    gate = _gate_of(reduction.src[0])
    if gate is None:
        return False
    ranges = arithmetic.ranges_of(gate)
    return reduction.src[1] in ranges and not ranges.isdisjoint(loops)


def _bounded(reduction: UOp, numbers: Iterator[int], applied: Applied) -> tuple[UOp, UOp] | None:
    """The reduction with its gate as the bound of a range of its own, and what it is made of that;
    None without a rule.
    """
    noted = Applied()
    by = first_applied((*BOUNDS, *OR_NONE), isolated(reduction, noted))
    if by is None:
        return None
    stated, found = by
    applied.take(noted)
    applied.update((stated.id,))
    (inner,) = (n for n in under(found) if n.op is Op.Reduce and n.src[1] is not reduction.src[1])
    made = _anew(_behind_gate(inner) if stated in OR_NONE else inner, {}, numbers, applied)
    return made, substitute(found, {inner: made})


def _behind_gate(reduction: UOp) -> UOp:
    """A reduction of a choice whose loads are behind the gate as well: before its first element there is nothing to
    read.
    """
    gate, chosen, other = reduction.src[0].src
    behind = Op.Where(gate, loaded_behind(gate, chosen, reduction.src[1]), other)
    return Op.Reduce(behind, *reduction.src[1:], arg=reduction.arg)


def _anew(reduction: UOp, replacements: dict[UOp, UOp], numbers: Iterator[int], applied: Applied) -> UOp:
    """A reduction over one range with replacements in it, simplified, over a range that nothing else has."""
    inner, old = reduction.src
    size = simplified(substitute(old.src[0], replacements), (), applied)
    own = UOp(Op.Range, (size,), RangeArg(next(numbers), AxisType.REDUCE))
    return Op.Reduce(
        simplified(substitute(inner, {**replacements, old: own}), (), applied), own, arg=reduction.arg
    )


def _along(
    body: UOp,
    r: UOp,
    bounded: dict[UOp, tuple[UOp, UOp]],
    numbers: Iterator[int],
    applied: Applied,
    *,
    mirrored: bool,
) -> tuple[UOp, UOp] | None:
    """The body with its reductions that run along r, or along r mirrored, and the loop; None where there is none."""
    along = loop(trip_count(r), next(numbers), AxisType.LOOP) if mirrored else r
    turned = (
        {r: Op.Add(Op.Mul(along, arithmetic.number(-1)), arithmetic.number(trip_count(r) - 1))}
        if mirrored
        else {}
    )
    new: dict[UOp, UOp] = {}
    for reduction, (bound, whole) in bounded.items():
        made = _anew(bound, turned, numbers, applied) if mirrored else bound
        if runs_along(made, along) and _continues(made, along, numbers, applied):
            new[reduction] = substitute(whole, {**turned, bound: made})
    if not new:
        return None
    return simplified(substitute(body, {**turned, **new}), (), applied), along


def _continues(reduction: UOp, r: UOp, numbers: Iterator[int], applied: Applied) -> bool:
    """Whether the rules say what is done by induction: the first reduction is one step, each next one step more."""
    inner, own = reduction.src
    before = loop(trip_count(r) - 1, next(numbers), AxisType.LOOP)
    now = arithmetic.add(before, arithmetic.number(1))
    first = Op.Reduce(inner, substitute(own, {own.src[0]: arithmetic.number(1)}), arg=reduction.arg)
    whole = Op.Reduce(
        inner, substitute(own, {own.src[0]: arithmetic.add(now, arithmetic.number(1))}), arg=reduction.arg
    )
    start = applied_to(scans.fold_of_one_iteration, _renamed(first, own))
    found = applied_to(scans.fold_without_last, _renamed(whole, own))
    if start is None or found is None or found.op is not reduction.arg.op:
        return False
    rest, step = found.src
    kept = (
        rest.op is Op.Reduce
        and simplified(rest.src[1].src[0], (), applied) is now
        and substitute(rest.src[0], {rest.src[1]: own}) is inner
        and simplified(step, (), applied) is simplified(substitute(inner, {own: now}), (), applied)
    )
    if kept:
        applied.update((scans.fold_of_one_iteration.id, scans.fold_without_last.id))
    return kept


def _renamed(reduction: UOp, own: UOp) -> UOp:
    """A reduction whose body names another range, with its own one there."""
    return Op.Reduce(
        substitute(reduction.src[0], {own: reduction.src[1]}), reduction.src[1], arg=reduction.arg
    )


# Layout -----------------------------------------------------------------------------------------------------------


def _laid_out(body: UOp, ranges: Sequence[UOp], r: UOp, numbers: Iterator[int]) -> list[UOp]:
    """The loop of the scans innermost, and across it lanes, or some rows side by side."""
    others = [q for q in ranges if q is not r]
    if not others or others[-1].arg.type is not AxisType.LOOP or trip_count(others[-1]) < _LEAST:
        return [closed(body, [*others, r])]
    *around, across = others
    if _side_by_side(body, across):
        return [
            closed(part, [*around, *steps, r, *lanes])
            for part, steps, lanes in in_lanes(body, across, LANES, numbers)
        ]
    count, rest = divmod(trip_count(across), ROWS)
    rows = loop(count, next(numbers), AxisType.LOOP) if count > 1 else arithmetic.number(0)
    found = [_rows(body, across, rows, 0, ROWS, [*around, *([rows] if count > 1 else []), r])]
    if rest:
        found.append(_rows(body, across, arithmetic.number(0), count * ROWS, rest, [*around, r]))
    return found


def _side_by_side(body: UOp, q: UOp) -> bool:
    """Whether all that a nest reads and writes lies side by side, or in one place, along a loop."""
    places = [n.src[1] for n in under(body) if n.op is Op.Index]
    strides = [stride(at, q) for at in places]
    written = [stride(n.src[0].src[1], q) for n in under(body) if n.op is Op.Store]
    return all(s in (0, 1) for s in strides) and all(s == 1 for s in written)


def _rows(body: UOp, across: UOp, step: UOp, first: int, count: int, loops: Sequence[UOp]) -> UOp:
    """A nest that does several rows in each iteration."""
    start = arithmetic.add(arithmetic.mul(step, arithmetic.number(ROWS)), arithmetic.number(first))
    rows = [substitute(body, {across: arithmetic.add(start, arithmetic.number(k))}) for k in range(count)]
    stores = [s for row in rows for s in (row.src if row.op is Op.Group else (row,))]
    return closed(Op.Group(*stores) if len(stores) > 1 else stores[0], loops)
