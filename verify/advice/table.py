"""
Good and bad points
===================

The values at which a rule is right and those at which it is wrong, side by side with the value of every candidate
condition there. Each value is computed by the law's own scalar functions, a column at a time: one element for every
point of an instance. Sets of points are integers, one bit for each.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from math import prod
from typing import Any

from soundline.spec.dtypes import DType, Element, bool_, index
from soundline.spec.errors import EvaluationError, RuleError, SoundlineError
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.walks import filled
from soundline.spec.rules.building import build
from soundline.spec.rules.deciding import decide
from soundline.spec.rules.instances import Goal, is_about_shapes
from soundline.spec.rules.terms import Static, Term
from soundline.spec.values.elementwise import ELEMENTWISE, bitcast, operand_dtype
from soundline.verify.advice.shape_points import ShapeInstance, shape_instance
from soundline.verify.smt.goals import sampling
from soundline.verify.smt.goals.obligations import (
    Obligation,
    obligation_of,
    scalar_sources,
    wrapping_nodes,
)
from soundline.verify.smt.goals.points import Point, Points, not_nan, overflows

MOST = 4000
"""How many points all instances of a rule have together, about."""

LEAST = 24
"""How many points an instance has at least, where it has so many."""

MOST_OF_SHAPES = 60
"""How many points an instance of a rule about shapes has at most: each is a run of the evaluator."""

Column = Sequence[Any]


@dataclass(eq=False)
class Instance:
    """One instance of a rule with its points."""

    goal: Goal
    obligation: Obligation
    trial: Points
    points: list[Point] = field(default_factory=list)
    columns: dict[UOp, Column] = field(default_factory=dict)

    def set_points(self, points: Iterable[Point]) -> None:
        """These points; what was computed for others is forgotten."""
        self.points = list(dict.fromkeys(points))
        variables = self.obligation.variables.values()
        self.columns = {v: [p[k] for p in self.points] for k, v in enumerate(variables)}

    def column(self, root: UOp) -> Column:
        """The value of a scalar node at every point."""
        return filled(self.columns, root, scalar_sources, self._computed)

    def _computed(self, node: UOp) -> Column:
        if node.op is Op.Const:
            return [node.arg.value] * len(self.points)
        dtype = node.src[0].dtype if node.op is Op.Bitcast else operand_dtype(node)
        law: Callable[..., Any] = bitcast if node.op is Op.Bitcast else ELEMENTWISE[node.op]
        extra = (node.arg,) if node.op in (Op.Cast, Op.Bitcast) else ()
        rows = zip(*(self.columns[s] for s in node.src), strict=True)
        return [_value(law, dtype, row, extra) for row in rows]

    def fitting(self, expression: UOp) -> Column:
        """Whether no operation of an expression wraps, at every point."""
        found: Column = [True] * len(self.points)
        for node in wrapping_nodes([expression]):
            sources, own = [self.column(s) for s in node.src], self.column(node)
            rows = zip(found, own, zip(*sources, strict=True), strict=True)
            found = [f and v is not None and not overflows(node.op, node.dtype, row, v) for f, v, row in rows]
        return found

    def says(self, condition: Term) -> Column:
        """What a condition says at every point. Raises ``IllFormed`` or ``RuleError`` where it does not exist."""
        if isinstance(condition, Static):
            return [decide(condition, self.goal.env)] * len(self.points)
        if condition.head == "fits":
            return self.fitting(build(condition.args[0], self.goal.env))
        node = build(condition, self.goal.env)
        if node.dtype is not bool_ or node.shape != ():
            raise RuleError("no bool scalar")
        return self.column(node)

    def outcomes(self) -> Iterator[bool | None]:
        """At every point: None where a premise fails, else whether the sides agree."""
        obligation, count = self.obligation, len(self.points)
        premises = [self.column(h) for h in obligation.hypotheses] + [
            self.fitting(e) for e in obligation.fits
        ]
        left, right = self.column(obligation.left), self.column(obligation.right)
        numbers = {n: self.column(n) for n in not_nan(obligation)}
        for k in range(count):
            values = {obligation.left: left[k], obligation.right: right[k]}
            values |= {n: c[k] for n, c in numbers.items()}
            if not all(p[k] for p in premises) or left[k] is None or not self.trial.is_valid(values):
                yield None
            elif right[k] is None:
                yield False
            else:
                yield self.trial.agree({**values, obligation.left: left[k], obligation.right: right[k]})


def _value(law: Callable[..., Any], dtype: DType, operands: Sequence[Any], extra: tuple[Any, ...]) -> Any:
    """The value of an op; None where it has none, as a shift of index by a negative count, or an operand has none."""
    if any(x is None for x in operands):
        return None
    try:
        return law(dtype, *operands, *extra)
    except EvaluationError:
        return None


class Table:
    """All points of a rule that meet its premises, which of them are good and which are bad."""

    def __init__(self, goals: Sequence[Goal], seed: int = 0) -> None:
        self.instances: list[Instance | ShapeInstance] = []
        self.seed = seed
        self.good = self.bad = 0
        self._said: dict[Term, int | None] = {}
        each = max(LEAST, MOST // max(1, len(goals)))
        for goal in goals:
            self._take(goal, each)
        self._sort()

    def _take(self, goal: Goal, most: int) -> None:
        """One more instance, with its points."""
        if is_about_shapes(goal.rule):
            self.instances.append(shape_instance(goal, min(most, MOST_OF_SHAPES), self.seed))
            return
        obligation = obligation_of(goal)
        trial = Points(obligation)
        if trial.evaluable:
            instance = Instance(goal, obligation, trial)
            instance.set_points(_points(obligation, most, self.seed))
            rows = zip(instance.points, instance.outcomes(), strict=True)
            instance.set_points([p for p, outcome in rows if outcome is not None])
            self.instances.append(instance)

    def _sort(self) -> None:
        outcomes = [outcome for i in self.instances for outcome in i.outcomes()]
        self.good = _as_set(outcome is True for outcome in outcomes)
        self.bad = _as_set(outcome is False for outcome in outcomes)
        self._said.clear()

    def add(self, goal: Goal, point: Point) -> None:
        """Take up one more point of an instance about single elements, which the table may not have yet."""
        known = (i for i in self.instances if isinstance(i, Instance) and i.goal.label == goal.label)
        instance = next(known, None)
        if instance is None:
            instance = Instance(goal, obligation_of(goal), Points(obligation_of(goal)))
            self.instances.append(instance)
        instance.set_points([*instance.points, point])
        self._sort()

    def says(self, condition: Term) -> int | None:
        """The points at which a condition holds; None where some instance has no such condition."""
        if condition not in self._said:
            try:
                self._said[condition] = _as_set(v for i in self.instances for v in i.says(condition))
            except (SoundlineError, KeyError, AssertionError):
                self._said[condition] = None
        return self._said[condition]

    @property
    def size(self) -> int:
        """How many points there are."""
        return (self.good | self.bad).bit_count()


def _as_set(members: Iterable[Any]) -> int:
    """A bit for each truth value, the first one the lowest."""
    digits = "".join("1" if m else "0" for m in members)
    return int(digits[::-1], 2) if digits else 0


# points -----------------------------------------------------------------------------------------------------------


def _points(obligation: Obligation, most: int, seed: int) -> Iterator[Point]:
    """Points of an instance: small ones, close together, and directed ones."""
    variables = list(obligation.variables.values())
    tied = sum(name.endswith(".lo") for name in obligation.variables)
    wanted = most * 5**tied  # about as many of them do not lie within their bounds
    yield from islice(_small(variables, wanted, seed), wanted)
    if len(variables) <= 10:
        yield from islice(sampling.points(obligation, seed), most // 2)


def _small(variables: Sequence[UOp], most: int, seed: int) -> Iterator[Point]:
    """Every choice among the simplest values, as many of each variable as the limit allows."""
    count = 12
    while count > 2 and prod(min(count, len(_values(v, count))) for v in variables) > most:
        count -= 1
    lists = [_values(v, count) for v in variables]
    if prod(map(len, lists)) <= most:
        yield from product(*lists)
        return
    source = random.Random(seed)  # noqa: S311  # repeatable, and no secret
    for _ in range(most):
        yield tuple(source.choice(values) for values in lists)


def _values(variable: UOp, count: int) -> tuple[Element, ...]:
    dtype = variable.dtype
    if dtype is index:
        return tuple(range(-(count // 2), count - count // 2))
    return sampling.directed(dtype, count)
