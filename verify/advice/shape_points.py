"""
Points of a rule about shapes
=============================

An instance of a rule about tensors at small sizes: all sizes from 0 up, offsets on both sides of 0, and elements that
can be told apart. Both sides are evaluated by the specification; so is every condition.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from math import prod

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import DType, Element, bool_
from soundline.spec.errors import RuleError
from soundline.spec.evaluate import evaluate
from soundline.spec.rules.building import build
from soundline.spec.rules.deciding import decide
from soundline.spec.rules.instances import Goal
from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import Static, Term
from soundline.spec.uop import element_of
from soundline.verify.smt.counterexamples.replays import (
    Inputs,
    Shown,
    number,
    replay,
    shapes_at,
    sizes,
    slots,
)
from soundline.verify.smt.goals.sampling import directed

MOST_ELEMENTS = 64
"""Inputs with more elements are not tried."""

FILLS = 3
"""The number of inputs for each choice of sizes."""


@dataclass(eq=False)
class ShapeInstance:
    """One instance of a rule about shapes, with the inputs that meet its premises and what comes of them."""

    goal: Goal
    inputs: list[Inputs] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)

    def outcomes(self) -> Iterator[bool]:
        """At every point, whether the sides agree."""
        return (not s.differs for s in self.shown)

    def says(self, condition: Term) -> Sequence[bool]:
        """What a condition says at every point. Raises ``IllFormed`` or ``RuleError`` where it does not exist."""
        if isinstance(condition, Static):
            return [decide(condition, self.goal.env)] * len(self.inputs)
        if condition.head == "fits":
            fitting = replace(self.goal, fits=(*self.goal.fits, build(condition.args[0], self.goal.env)))
            return [replay(fitting, i) is not None for i in self.inputs]
        node = build(condition, self.goal.env)
        if node.dtype is not bool_ or node.shape != ():
            raise RuleError("no bool scalar")
        return [bool(evaluate(node, slots(self.goal, i)).item()) for i in self.inputs]


def shape_instance(goal: Goal, most: int, seed: int) -> ShapeInstance:
    """An instance with as many points as wanted."""
    instance = ShapeInstance(goal)
    for inputs in islice(_inputs(goal, seed), most * 8):
        shown = replay(goal, inputs)
        if shown is not None:
            instance.inputs.append(inputs)
            instance.shown.append(shown)
        if len(instance.inputs) >= most:
            break
    return instance


def is_small(stated: Rule, bound: Mapping[str, object]) -> bool:
    """Whether an instance has few axes: two, or one where ops are chosen as well."""
    ranks = bound["rank of"]
    assert isinstance(ranks, dict)
    has_ops = any(k.kind in ("UnaryOp", "BinaryOp", "DTypeVar") for k in stated.kinds.values())
    return max(ranks.values(), default=0) <= (1 if has_ops else 2)


def _inputs(goal: Goal, seed: int) -> Iterator[Inputs]:
    """Inputs with small sizes: every choice where there are few, else some of them."""
    source = random.Random(seed)  # noqa: S311  # repeatable, and no secret
    names = sizes(goal)
    choices = [_choices(goal, name) for name in names]
    count = prod(map(len, choices))
    if count <= 2000:
        chosen: Iterator[tuple[int, ...]] = iter(source.sample(list(product(*choices)), count))
    else:
        chosen = (tuple(source.choice(c) for c in choices) for _ in range(4000))
    for numbers in chosen:
        given = {name: number(n) for name, n in zip(names, numbers, strict=True)}
        yield from _filled(goal, given, source)


def _choices(goal: Goal, name: str) -> tuple[int, ...]:
    kind = goal.rule.kinds.get(name.partition("[")[0].partition(".")[0])
    return (-1, 0, 1, 2) if kind is not None and kind.kind not in _NATURAL else (0, 1, 2, 3)


_NATURAL = ("Size", "Shape", "Tensor")


def _filled(goal: Goal, given: dict[str, Array], source: random.Random) -> Iterator[Inputs]:
    """Elements for the tensors of these sizes: 1, 2, 3 … first, then directed ones."""
    shapes = shapes_at(goal, given, MOST_ELEMENTS)
    if shapes is None:
        return
    for fill in range(FILLS if any(map(prod, shapes.values())) else 1):
        made = {}
        start = 1
        for name, shape in shapes.items():
            dtype, count = goal.variables[name].dtype, prod(shape)
            made[name] = Array(dtype, shape, _elements(dtype, start, count, fill, source))
            start += count
        yield {**given, **made}


def _elements(dtype: DType, start: int, count: int, fill: int, source: random.Random) -> tuple[Element, ...]:
    if fill == 0 and dtype is not bool_:
        return tuple(element_of(start + k, dtype) for k in range(count))
    return tuple(source.choice(directed(dtype, 8 * fill + 4)) for _ in range(count))
