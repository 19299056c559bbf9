"""
Replaying an instance
=====================

An instance of a rule about tensors with numbers for its sizes and arrays for its inputs, evaluated by the
specification. Nothing is shown as a counterexample that this has not confirmed: the conditions hold, the left side has
a value, and the right side has another one or none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from soundline.spec.arrays import Array, Cell, same_cell
from soundline.spec.closed import free_ranges
from soundline.spec.dtypes import Element, index
from soundline.spec.errors import IllFormed, SoundlineError
from soundline.spec.evaluate import evaluate
from soundline.spec.instances import Goal
from soundline.spec.node import ReduceArg, Size, UOp, toposort
from soundline.spec.op_schema import Op
from soundline.verify.layers import OVER_REALS
from soundline.verify.smt.obligations import wrapping_nodes
from soundline.verify.smt.points import wraps
from soundline.verify.verdicts import EVALUATOR, Replay

CONFIRMED = Replay(EVALUATOR, "confirmed")
"""What every counterexample has been through before it is shown."""

MOST_PLAIN = 1024.0
"""The greatest magnitude of floats of which a few may be added and multiplied without overflow."""

Inputs = Mapping[str, Array]
"""An array for each variable of an instance, by name; sizes and other scalars have shape ()."""


@dataclass(frozen=True)
class Shown:
    """What the evaluator says of both sides of an instance whose conditions hold."""

    left: Array
    right: Array | SoundlineError
    differs: bool
    """Whether the right side is refused, or has another value."""


def sizes(goal: Goal) -> list[str]:
    """The variables of an instance that are ``index`` scalars: sizes, offsets and the like."""
    return [name for name, node in goal.variables.items() if node.dtype is index and node.shape == ()]


def number(value: int) -> Array:
    """An ``index`` scalar."""
    return Array(index, (), (value,))


def slots(goal: Goal, inputs: Inputs) -> dict[int, Array]:
    """The inputs by the slots of the Params."""
    return {node.arg.slot: inputs[name] for name, node in goal.variables.items() if name in inputs}


def concrete(shape: tuple[Size, ...] | None, goal: Goal, inputs: Inputs) -> tuple[int, ...]:
    """A shape with the sizes that the inputs give it. A negative size raises ``IllFormed`` where a node has it."""
    bound = slots(goal, inputs)
    return tuple(s if isinstance(s, int) else int(evaluate(s, bound).item()) for s in shape or ())


def replay(goal: Goal, inputs: Inputs) -> Shown | None:
    """Both sides as evaluated; None where a condition does not hold or the left side has no value."""
    bound = slots(goal, inputs)
    try:
        if not all(evaluate(h, bound).item() for h in goal.hypotheses):
            return None
        left = evaluate(goal.left, bound)
        if not _fits(goal, bound):
            return None
    except SoundlineError:
        return None
    if isinstance(goal.right, IllFormed):
        return Shown(left, goal.right, differs=True)
    try:
        right = evaluate(goal.right, bound)
    except SoundlineError as refusal:
        return Shown(left, refusal, differs=True)
    return Shown(left, right, differs=not _agree(goal, left, right, bound))


def licences_of(goal: Goal) -> frozenset[str]:
    """The licences under which an instance is judged: those that admit another rounding speak of floats only."""
    licences = frozenset(goal.rule.licences)
    return licences if goal.left.dtype.is_float else licences - set(OVER_REALS)


def _agree(goal: Goal, left: Array, right: Array, bound: Mapping[int, Array]) -> bool:
    """Whether two values are the same, as far as the rule's licences tell values apart (U-09)."""
    if left == right:
        return True
    licences = licences_of(goal)
    if "no_nan" in licences and any(_has_nan(node, bound) for node in toposort(goal.left)):
        return True
    if (left.dtype, left.shape) != (right.dtype, right.shape):
        return False
    rows = list(zip(left.elements, right.elements, strict=True))
    if not licences.isdisjoint(OVER_REALS):
        least = _are_plain(bound) and any((a == -math.inf) != (b == -math.inf) for a, b in rows)
        return all(_near(a, b) for a, b in rows) and not (least and _has_empty_maximum(goal, bound))
    ignored = "no_signed_zero" in licences
    return all(same_cell(left.dtype, a, b) or (ignored and a == b == 0) for a, b in rows)


def _has_nan(node: UOp, bound: Mapping[int, Array]) -> bool:
    """Whether a value has a NaN, in a loop at any iteration; what has no value at some, may have one."""
    if not node.dtype.is_float:
        return False
    open_loops = sorted(free_ranges(node), key=lambda r: (len(free_ranges(r.src[0])), r.arg.id))
    if not open_loops:
        return any(isinstance(e, float) and math.isnan(e) for e in evaluate(node, bound).elements)
    differs = UOp(Op.CmpNe, (node, node))
    try:
        return any(evaluate(UOp(Op.Reduce, (differs, *open_loops), ReduceArg(Op.Max)), bound).elements)
    except SoundlineError:
        return True


def _are_plain(bound: Mapping[int, Array]) -> bool:
    """Whether no float among the inputs is so great that arithmetic may overflow."""
    floats = (e for a in bound.values() if a.dtype.is_float for e in a.elements if isinstance(e, float))
    return all(abs(e) <= MOST_PLAIN for e in floats)


def _has_empty_maximum(goal: Goal, bound: Mapping[int, Array]) -> bool:
    """Whether a side takes the maximum of no floats, which is -∞ though every input is a number."""
    sides = [goal.left] if isinstance(goal.right, IllFormed) else [goal.left, goal.right]
    nodes = dict.fromkeys(n for side in sides for n in toposort(side))
    found = (n for n in nodes if n.op is Op.Reduce and n.arg.op is Op.Max and not free_ranges(n))
    return any(_folds_nothing(n, bound) for n in found)


def _folds_nothing(node: UOp, bound: Mapping[int, Array]) -> bool:
    source, *ranges = node.src
    if any(not free_ranges(r.src[0]) and evaluate(r.src[0], bound).item() == 0 for r in ranges):
        return True
    return not ranges and 0 in evaluate(source, bound).shape and evaluate(node, bound).elements != ()


def _near(a: Cell, b: Cell) -> bool:
    """Whether rounding may be all that lies between two floats; of what is no number, nothing is said."""
    if not isinstance(a, float) or not isinstance(b, float) or not math.isfinite(a) or not math.isfinite(b):
        return True
    return math.isclose(a, b, rel_tol=0.1, abs_tol=1e-6)


def _fits(goal: Goal, bound: Mapping[int, Array]) -> bool:
    """Whether no operation inside the expressions of `fits` wraps, at any position."""
    for node in wrapping_nodes(goal.fits):
        parts = (node, *node.src)
        rows = zip(*(evaluate(p, bound).elements for p in parts), strict=True)
        if any(wraps(node, _elements(parts, row)) for row in rows):
            return False
    return True


def _elements(parts: tuple[UOp, ...], row: tuple[Cell, ...]) -> dict[UOp, Element]:
    return {p: e for p, e in zip(parts, row, strict=True) if isinstance(e, bool | int | float)}
