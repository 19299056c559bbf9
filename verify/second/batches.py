"""
Many points at once
===================

A scalar obligation evaluated at many points by the specification's evaluator: each variable becomes an array of
elements, each constant an array of equals. No table and no algebra of the prover has a part in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import islice

from soundline.spec.arrays import Array, Cell, same_cell
from soundline.spec.dtypes import Element, index
from soundline.spec.evaluate import evaluate
from soundline.spec.node import UOp
from soundline.spec.op_schema import Op
from soundline.spec.uop import const, expand, param, reshape
from soundline.verify.smt.obligations import Obligation, scalar_nodes, wrapping_nodes
from soundline.verify.smt.points import FAILS, HOLDS, OUT, Point, not_nan, overflows
from soundline.verify.smt.reals import beyond_rounding

CHUNK = 1024
"""So many points make one array."""


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
        for node in scalar_nodes(root):
            if node not in self._made:
                self._made[node] = self._widened(node)
        return self._made[root]

    def _widened(self, node: UOp) -> UOp:
        if node.op is Op.Param:
            return param(node.arg.slot, node.dtype, (self.count,))
        if node.op is Op.Const:
            return expand(reshape(node, (1,)), (self.count,))
        if node.dtype is index and node.op in _SHIFTS:  # the count must be a Const, and no array of it
            power = expand(reshape(const(2 ** node.src[1].arg.value, index), (1,)), (self.count,))
            return _SHIFTS[node.op](self._made[node.src[0]], power)
        return UOp(node.op, tuple(self._made[s] for s in node.src), node.arg)


_SHIFTS = {Op.Shl: Op.Mul, Op.Shr: Op.Idiv}
"""What a shift of indices is, of a power of two."""


def told(obligation: Obligation, point: Point) -> str:
    """A point as its variables have it."""
    return ", ".join(f"{n} = {_text(v)}" for n, v in zip(obligation.variables, point, strict=True))


def _text(value: Element) -> str:
    exact = isinstance(value, float) and math.isfinite(value) and value != 0
    return float(value).hex() if exact and not 1e-4 <= abs(value) < 1e16 else repr(value)
