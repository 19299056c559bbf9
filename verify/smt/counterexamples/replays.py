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

from soundline.spec.arrays.arrays import Array, Cell, same_cell
from soundline.spec.dtypes import Element, index
from soundline.spec.errors import IllFormed, SoundlineError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.bodies import free_ranges
from soundline.spec.ops.node import Op, ReduceArg, Size, UOp, toposort
from soundline.spec.rules.instances import Goal
from soundline.spec.values.elementwise import ELEMENTWISE
from soundline.verify.smt.goals.obligations import wrapping_nodes
from soundline.verify.smt.goals.points import wraps
from soundline.verify.verdicts.layers import ROUNDING
from soundline.verify.verdicts.verdict import EVALUATOR, Replay

CONFIRMED = Replay(EVALUATOR, "confirmed")
"""What every counterexample has been through before it is shown."""

LEAST_PLAIN, MOST_PLAIN = 2.0**-6, 64.0
"""Magnitudes of floats of which a few may be added and multiplied without overflow, and lose few bits."""

Inputs = Mapping[str, Array]
"""An array for each variable of an instance, by name; sizes and other scalars have shape ()."""


@dataclass(frozen=True)
class Shown:
    """The evaluator's results for both sides of an instance whose conditions hold."""

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


def shapes_at(goal: Goal, given: Inputs, most: int) -> dict[str, tuple[int, ...]] | None:
    """The shapes of all tensors where the sizes are these; None where there are none, or more elements than `most`."""
    try:
        shapes = {
            n: concrete(node.shape, goal, given) for n, node in goal.variables.items() if n not in given
        }
    except SoundlineError:
        return None
    is_one = all(n >= 0 for shape in shapes.values() for n in shape)
    return shapes if is_one and sum(map(math.prod, shapes.values())) <= most else None


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
    return licences if goal.left.dtype.is_float else licences - set(ROUNDING)


def _agree(goal: Goal, left: Array, right: Array, bound: Mapping[int, Array]) -> bool:
    """Whether two values are the same, as far as the rule's licences tell values apart (U-09)."""
    if left == right:
        return True
    licences = licences_of(goal)
    if "no_nan" in licences and any(_has_nan(node, bound) for node in toposort(goal.left)):
        return True
    if (left.dtype, left.shape) != (right.dtype, right.shape):
        return False
    ignored = "no_signed_zero" in licences
    rows = list(zip(left.elements, right.elements, strict=True))
    if _are_idle(goal, licences) or _rounds_nothing(goal, bound):
        return all(same_cell(left.dtype, a, b) or (ignored and a == b == 0) for a, b in rows)
    return not _are_plain(bound) or all(map(_near, *zip(*rows, strict=True)))


def _are_idle(goal: Goal, licences: frozenset[str]) -> bool:
    """Whether no licence admits another rounding of what is in the sides."""
    sides = [goal.left] if isinstance(goal.right, IllFormed) else [goal.left, goal.right]
    made = {n.arg.op if n.op is Op.Reduce else n.op for n in toposort(*sides) if n.dtype.is_float}
    fuses = (
        "contract" in licences
        and bool(made & {Op.Mulacc, Op.Mul})
        and bool(made & {Op.Add, Op.Sub, Op.Mulacc})
    )
    divides = "reciprocal" in licences and bool(made & {Op.Div, Op.Recip})
    return not (fuses or divides or licences & (set(ROUNDING) - {"contract", "reciprocal"}))


EXACT = frozenset((Op.Add, Op.Sub, Op.Mul, Op.Mulacc, Op.Neg, Op.Max, Op.Where, Op.CmpLt, Op.CmpEq, Op.CmpNe))
"""Ops on floats of which small whole numbers are computed without rounding."""
MOST_EXACT, FEW = 3.0, 12
"""So small must the numbers be, and so few, that whatever is made of them is small as well."""


def _rounds_nothing(goal: Goal, bound: Mapping[int, Array]) -> bool:
    """Whether nothing is rounded on these inputs, in whatever order it is computed: licences change no bit then."""
    floats = [a for a in bound.values() if a.dtype.is_float]
    if any(a.dtype.mantissa_bits < 10 or len(a.elements) > FEW for a in floats):
        return False
    if not all(
        isinstance(e, float) and abs(e) <= MOST_EXACT and e == int(e) for a in floats for e in a.elements
    ):
        return False
    sides = [goal.left] if isinstance(goal.right, IllFormed) else [goal.left, goal.right]
    made = [n for n in toposort(*sides) if n.dtype.is_float and n.op in ELEMENTWISE]
    products = sum(n.op in (Op.Mul, Op.Mulacc) for n in made)
    return products <= MOST_PRODUCTS and all(n.op in EXACT for n in made)


MOST_PRODUCTS = 3


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
    """Whether no number among the inputs is so great that arithmetic may overflow."""
    floats = (e for a in bound.values() if a.dtype.is_float for e in a.elements if isinstance(e, float))
    return all(e == 0 or LEAST_PLAIN <= abs(e) <= MOST_PLAIN or not math.isfinite(e) for e in floats)


def _near(a: Cell, b: Cell) -> bool:
    """Whether rounding may be all that lies between two floats."""
    if not isinstance(a, float) or not isinstance(b, float):
        return a == b
    if not math.isfinite(a) or not math.isfinite(b):
        return a == b or (math.isnan(a) and math.isnan(b))
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
