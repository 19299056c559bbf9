"""
Many points at once
===================

A scalar obligation evaluated at many points by the specification's evaluator: each variable becomes an array of
elements, each constant an array of equals. No table and no algebra of the prover is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from soundline.spec.arrays.arrays import Array, Cell, same_cell
from soundline.spec.dtypes import Element, index
from soundline.spec.errors import IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.elementwise.shifts import STANDS_FOR_A_CONSTANT
from soundline.spec.ops.node import Op, UOp, substitute
from soundline.spec.ops.walks import filled
from soundline.spec.uop import const, expand, param, reshape
from soundline.verify.smt.counterexamples.scalars import value_of
from soundline.verify.smt.goals.obligations import Obligation, scalar_nodes, scalar_sources, wrapping_nodes
from soundline.verify.smt.goals.points import FAILS, HOLDS, OUT, Point, not_nan, overflows
from soundline.verify.smt.values.reals import beyond_rounding

CHUNK = 1024
"""The number of points in one array."""


def can_evaluate(obligation: Obligation) -> bool:
    """Whether the evaluator has a value for every node: each leaf is a variable of the rule."""
    variables = set(obligation.variables.values())
    return all(v.op is Op.Param for v in variables) and all(leaf in variables for leaf in obligation.leaves())


def outcomes(obligation: Obligation, points: Iterable[Point]) -> Iterator[tuple[Point, int]]:
    """Each point, and whether the premises do not hold there, the sides agree, or they differ."""
    left = iter(points)
    while chunk := list(islice(left, CHUNK)):
        yield from zip(chunk, _outcomes(obligation, chunk), strict=True)


def _outcomes(obligation: Obligation, points: list[Point]) -> list[int]:
    """What each point shows; those alike in what stands for constants are evaluated together."""
    constants = [k for k, v in enumerate(obligation.variables.values()) if v.tag == STANDS_FOR_A_CONSTANT]
    if not constants:
        return _alike(obligation, points)
    found = [OUT] * len(points)
    groups: dict[tuple[Element, ...], list[int]] = {}
    for number, point in enumerate(points):
        groups.setdefault(tuple(point[k] for k in constants), []).append(number)
    for chosen, numbers in groups.items():
        outcomes = _with_constants(
            obligation, dict(zip(constants, chosen, strict=True)), [points[n] for n in numbers]
        )
        for number, outcome in zip(numbers, outcomes, strict=True):
            found[number] = outcome
    return found


def _with_constants(obligation: Obligation, chosen: dict[int, Element], points: list[Point]) -> list[int]:
    """What points show that are alike in these variables: where the right side alone is ill-formed, sides differ."""
    variables = list(obligation.variables.values())
    numbers = {variables[k]: const(value, index) for k, value in chosen.items()}
    hypotheses, fits = (
        [_closed(n, numbers) for n in nodes] for nodes in (obligation.hypotheses, obligation.fits)
    )
    left, right = _closed(obligation.left, numbers), _closed(obligation.right, numbers)
    if left is None or None in hypotheses or None in fits:
        return [OUT] * len(points)
    closed = replace(
        obligation,
        hypotheses=tuple(h for h in hypotheses if h is not None),
        fits=tuple(n for n in fits if n is not None),
        left=left,
        right=right if right is not None else left,
    )
    outcomes = _alike(closed, points)
    return outcomes if right is not None else [FAILS if o == HOLDS else o for o in outcomes]


def _closed(node: UOp, numbers: dict[UOp, UOp]) -> UOp | None:
    """A node with numbers for what stands for constants; None where it shifts by a negative count."""
    try:
        closed = substitute(node, numbers)
    except IllFormed:
        return None
    shifts = (n for n in scalar_nodes(closed) if n.op in (Op.Shl, Op.Shr) and n.dtype is index)
    return closed if all(value_of(n.src[1]) >= 0 for n in shifts) else None


def _alike(obligation: Obligation, points: list[Point]) -> list[int]:
    count = len(points)
    columns = list(zip(*points, strict=True)) if obligation.variables else []
    variables = list(obligation.variables.values())
    bound = {
        v.arg.slot: Array(v.dtype, (count,), column) for v, column in zip(variables, columns, strict=True)
    }
    wide = _Widened(count)

    def values(node: UOp) -> tuple[Cell, ...]:
        return evaluate(wide.of(node), bound).elements

    applies = [True] * count
    for hypothesis in obligation.hypotheses:
        applies = [a and bool(h) for a, h in zip(applies, values(hypothesis), strict=True)]
    for node in wrapping_nodes(obligation.fits):
        rows = zip(values(node), *(values(s) for s in node.src), strict=True)
        wraps = [overflows(node.op, node.dtype, operands, result) for result, *operands in rows]
        applies = [a and not w for a, w in zip(applies, wraps, strict=True)]
    for node in not_nan(obligation):
        applies = [a and not math.isnan(e) for a, e in zip(applies, values(node), strict=True)]  # type: ignore[arg-type]
    rows_of_sides = zip(applies, values(obligation.left), values(obligation.right), strict=True)
    return [
        OUT if not a else FAILS if _differ(obligation, left, right) else HOLDS
        for a, left, right in rows_of_sides
    ]


def _differ(obligation: Obligation, left: Cell, right: Cell) -> bool:
    if obligation.licensed and isinstance(left, bool | int | float) and isinstance(right, bool | int | float):
        return beyond_rounding(obligation.left.dtype, left, right)
    if "no_signed_zero" in obligation.licences and left == right == 0:
        return False
    return not same_cell(obligation.left.dtype, left, right)


class _Widened:
    """Scalar programs as programs over arrays of one length."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._made: dict[UOp, UOp] = {}

    def of(self, root: UOp) -> UOp:
        """The program over arrays."""
        return filled(self._made, root, scalar_sources, self._widened)

    def _widened(self, node: UOp) -> UOp:
        if node.op is Op.Param:
            return param(node.arg.slot, node.dtype, (self.count,))
        if node.op is Op.Const:
            return self._equals(node)
        if node.op in (Op.Shl, Op.Shr) and node.dtype is index:
            return self._shifted(node)
        return UOp(node.op, tuple(self._made[s] for s in node.src), node.arg)

    def _equals(self, constant: UOp) -> UOp:
        return expand(reshape(constant, (1,)), (self.count,))

    def _shifted(self, node: UOp) -> UOp:
        """A shift of index, whose count is one number for all elements: what the law says that it is (U-02)."""
        power = self._equals(const(1 << int(value_of(node.src[1])), index))
        return UOp(Op.Mul if node.op is Op.Shl else Op.Idiv, (self._made[node.src[0]], power))


def told(obligation: Obligation, point: Point) -> str:
    """A point as its variables have it."""
    return ", ".join(f"{n} = {_text(v)}" for n, v in zip(obligation.variables, point, strict=True))


def _text(value: Element) -> str:
    exact = isinstance(value, float) and math.isfinite(value) and value != 0
    return float(value).hex() if exact and not 1e-4 <= abs(value) < 1e16 else repr(value)
