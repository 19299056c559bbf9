"""
Trying points
=============

An obligation evaluated at one choice of values, by the law's own scalar functions. A point that meets the premises and
at which the sides differ is a refutation; a point that meets them at all shows that the obligation is not vacuous.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from soundline.spec.dtypes import DType, Element, index, same_value
from soundline.spec.errors import EvaluationError
from soundline.spec.ops.node import Op, UOp
from soundline.spec.values.elementwise import ELEMENTWISE, bitcast, operand_dtype
from soundline.verify.smt.goals.obligations import Obligation, scalar_nodes, wrapping_nodes

OUT, HOLDS, FAILS = range(3)
"""What a point shows: the premises do not hold, the sides agree, the sides differ."""

SLOW = (Op.Exp2, Op.Log2, Op.Sin, Op.Pow, Op.Threefry)
"""Ops that are programs of many steps."""

Point = tuple[Element, ...]
"""One element for each variable of the obligation, in their order."""

Values = dict[UOp, Element]


@dataclass(frozen=True, slots=True)
class _Step:
    """One node to compute: law(dtype, *sources, *extra)."""

    node: UOp
    law: Callable[..., Any]
    dtype: DType
    sources: tuple[UOp, ...]
    extra: tuple[Any, ...]


class Points:
    """Evaluates an obligation at points. `evaluable` is False where an op has no scalar law or a leaf no value."""

    def __init__(self, obligation: Obligation, laws: Mapping[Op, Callable[..., Any]] = ELEMENTWISE) -> None:
        self.obligation = obligation
        self.laws = laws
        self.variables = tuple(obligation.variables.values())
        self._done: set[UOp] = set(self.variables)
        self._constants: Values = {}
        known = set(self.variables)
        self.evaluable = all(leaf in known for leaf in obligation.leaves()) and all(
            n.op in laws or n.op in (Op.Const, Op.Bitcast) or n in known for n in obligation.nodes()
        )
        if self.evaluable:
            self._hypotheses = [(h, self._steps(h)) for h in obligation.hypotheses]
            self._fits = [(n, self._steps(n)) for n in wrapping_nodes(obligation.fits)]
            self._left = self._steps(obligation.left)
            self._right = self._steps(obligation.right)
        self._not_nan = not_nan(obligation)

    def _steps(self, root: UOp) -> list[_Step]:
        """The steps to a node that no earlier steps have taken."""
        steps = []
        for node in scalar_nodes(root):
            if node in self._done:
                continue
            self._done.add(node)
            if node.op is Op.Const:
                self._constants[node] = node.arg.value
            else:
                steps.append(self._step(node))
        return steps

    def _step(self, node: UOp) -> _Step:
        if node.op is Op.Bitcast:
            return _Step(node, bitcast, node.src[0].dtype, node.src, (node.arg,))
        extra = (node.arg,) if node.op is Op.Cast else ()
        law = remembered(self.laws[node.op]) if node.op in SLOW else self.laws[node.op]
        return _Step(node, law, operand_dtype(node), node.src, extra)

    def at(self, point: Sequence[Element]) -> int:
        """What this point shows; nothing where a number is too large to compute."""
        try:
            return self._outcome(point)
        except EvaluationError:
            return OUT

    def _outcome(self, point: Sequence[Element]) -> int:
        values: Values = dict(zip(self.variables, point, strict=True))
        values.update(self._constants)
        for hypothesis, steps in self._hypotheses:
            _run(steps, values)
            if not values[hypothesis]:
                return OUT
        for node, steps in self._fits:
            _run(steps, values)
            if wraps(node, values):
                return OUT
        _run(self._left, values)
        if not self.is_valid(values):
            return OUT
        _run(self._right, values)
        return HOLDS if self.agree(values) else FAILS

    def sides(self, point: Sequence[Element]) -> tuple[Element, Element]:
        """The values of both sides."""
        values = {**dict(zip(self.variables, point, strict=True)), **self._constants}
        everything = [steps for _, steps in (*self._hypotheses, *self._fits)]
        for steps in (*everything, self._left, self._right):
            _run(steps, values)
        return values[self.obligation.left], values[self.obligation.right]

    def is_valid(self, values: Values) -> bool:
        """Whether the left side is what the licences promise."""
        return not any(math.isnan(values[n]) for n in self._not_nan)

    def agree(self, values: Values) -> bool:
        """Whether the sides are the same value, up to the sign of a zero where that is licensed."""
        left, right = values[self.obligation.left], values[self.obligation.right]
        if left == right and (left != 0 or "no_signed_zero" in self.obligation.licences):
            return True
        return same_value(self.obligation.left.dtype, left, right)


def remembered(law: Callable[..., Any]) -> Callable[..., Any]:
    """A law that computes each result once: few values are combined in many ways. Zeros differ by their sign."""

    @lru_cache(maxsize=4096)
    def result(dtype: DType, signs: tuple[float, ...], *operands: Any) -> Any:
        return law(dtype, *operands)

    return lambda dtype, *operands: result(dtype, tuple(math.copysign(1.0, x) for x in operands), *operands)


def _run(steps: list[_Step], values: Values) -> None:
    for step in steps:
        values[step.node] = step.law(step.dtype, *[values[s] for s in step.sources], *step.extra)


def not_nan(obligation: Obligation) -> list[UOp]:
    """The nodes that the licence `no_nan` promises to be numbers: all float values of the left side."""
    if "no_nan" not in obligation.licences:
        return []
    return [n for n in scalar_nodes(obligation.left) if n.dtype.is_float]


def wraps(node: UOp, values: Mapping[UOp, Element]) -> bool:
    """Whether the exact result of an operation lies outside its dtype."""
    return overflows(node.op, node.dtype, [values[s] for s in node.src], values[node])


def overflows(op: Op, dtype: DType, operands: Sequence[Any], result: Element) -> bool:
    """Whether the exact result of an op on these operands lies outside the dtype in which it is held."""
    if op is Op.Cast:
        return int(result) != int(operands[0])
    if op is Op.Shl:
        value, count = operands[0], operands[1] % (1 << dtype.bits)
        return value != 0 and (count >= dtype.bits or _outside(dtype, value << count))
    if op is Op.Mulacc and _outside(dtype, operands[0] * operands[1]):
        return True
    return _outside(dtype, ELEMENTWISE[op](index, *operands))


def _outside(dtype: DType, exact: Any) -> bool:
    return not dtype.min <= exact <= dtype.max
