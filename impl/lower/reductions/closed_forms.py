"""
Reductions that need no loop
============================

What the source writes as a reduction and is none: a position that is counted by a prefix sum of ones, and an element
that is chosen by comparing its position. The rules of ``impl/rules/ranges`` say what such a reduction is; here they are
asked early, before it is decided which values are stored, because a reduction without a loop is computed where it is
read.

*Invariant*: what stands for a reduction has its value, and reads within every buffer whatever the index is.
"""

from __future__ import annotations

from collections import deque

from soundline.impl.analysis import arithmetic
from soundline.impl.analysis.facts import repeated_constant
from soundline.impl.lower.graphs.costs import is_position
from soundline.impl.lower.graphs.scalars import loaded_behind
from soundline.impl.lower.graphs.simplify import RULES as SIMPLIFYING
from soundline.impl.lower.graphs.simplify import Applied, simplified
from soundline.impl.lower.graphs.single_rule import first_applied, isolated
from soundline.impl.lower.graphs.views import MOVEMENT
from soundline.impl.rules.tensors import ranges, scans
from soundline.spec.dtypes import bool_, index, int64
from soundline.spec.uop import Op, UOp, substitute, toposort

RULES = (
    ranges.sum_of_same,
    ranges.max_of_same,
    ranges.sum_below,
    ranges.sum_not_below,
    ranges.fold_gated_to_one,
    ranges.sum_gated_to_one,
    ranges.sum_of_one_among_zeros,
    ranges.max_gated_to_one,
    ranges.any_at_one,
    ranges.any_is,
)
"""The rules that make an expression of a reduction."""

_BEFORE = tuple(r for r in SIMPLIFYING if r not in RULES)
"""What is done before these rules are asked, one by one."""
_LOOKED_AT = 100
"""So many nodes are looked at before the rules are asked."""
_COMPARED = (Op.CmpEq, Op.CmpNe, Op.CmpLt, Op.CmpLe, Op.CmpGt, Op.CmpGe)


def closed_form(reduction: UOp, applied: Applied) -> UOp | None:
    """A Reduce over ranges as an expression without loops, by the rules; None where they leave one."""
    noted = Applied()
    found = simplified(reduction, (), noted, _BEFORE)
    while found.op is Op.Reduce and len(found.src) == 2:
        gated = isolated(found, noted)
        by = first_applied(RULES, gated)
        if by is None:
            return None
        stated, made = by
        noted.update((stated.id,))
        found = simplified(_behind_its_gate(made, gated.src[1], noted), (), noted, _BEFORE)
    if any(n.op is Op.Reduce for n in toposort(found)):
        return None
    applied.take(noted)
    return found


def _behind_its_gate(choice: UOp, r: UOp, applied: Applied) -> UOp:
    """A choice by position that reads at the index itself, behind the gate, and not at what is nearest to it.

    Behind the gate the index is an iteration of the loop `r` that is gone, and so its own nearest. Where an index could
    need more than 64 bits if nothing is known of it, the nearest one stays.
    """
    if choice.op is not Op.Where or choice.src[0].op is not Op.And:
        return choice
    gate, chosen, other = choice.src
    k, noted = gate.src[1].src[0], Applied()
    inside = simplified(substitute(chosen, {k: r}), (), noted, (scans.nearest_of_inside,))
    itself = substitute(loaded_behind(gate, inside, r), {r: k})
    new = set(toposort(itself)) - set(toposort(chosen))
    if not new or not all(map(_fits, new)):
        return choice
    applied.take(noted)
    return Op.Where(gate, itself, other)


def _fits(node: UOp) -> bool:
    """Whether an index is known to fit 64 bits."""
    known = arithmetic.bounds(node) if node.dtype is index and node.shape is not None else None
    return known is None or (int64.min <= known.lo and known.hi <= int64.max)


def may_have_one(value: UOp) -> bool:
    """Whether what a Reduce along axes reduces compares positions, or pads a constant: a cheap first question."""
    queue, seen = deque((value,)), {value}
    while queue and len(seen) < _LOOKED_AT:
        node = queue.popleft()
        if node.op in _COMPARED and (node.src[0].dtype is index or node.src[0].dtype.is_int):
            return True
        if node.op is Op.Pad and _is_constant(node.src[0]):
            return True
        inside = node.src[:1] if node.op in MOVEMENT else () if node.op is Op.Reduce else node.src
        new = [s for s in inside if s not in seen]
        seen.update(new)
        queue.extend(new)
    return False


def names_a_place(node: UOp) -> bool:
    """Whether a value says of every position whether it is the one that an index names, as True or as a number.

    It is one comparison, and a reduction that knows of it may need no loop, or be a scatter; one that only finds it in
    storage must ask every element.
    """
    while node.op is Op.Cast or node.op in MOVEMENT:
        node = node.src[0]
    if node.op in (Op.And, Op.Mul):
        return any(map(names_a_place, node.src)) if node.dtype is bool_ else False
    if node.op is Op.Where:
        return all(map(_is_constant, node.src[1:])) and names_a_place(node.src[0])
    whole = node.op is Op.CmpEq and (node.src[0].dtype is index or node.src[0].dtype.is_int)
    return whole and any(map(is_position, node.src))


def _is_constant(node: UOp) -> bool:
    return repeated_constant(node) is not None
