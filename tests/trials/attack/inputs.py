"""
Inputs against a rule
=====================

Inputs on which the sides of a rule differ, looked for by the law alone: at the dtype of a layer, at ranks up to five,
sizes from zero, and elements among which are the ends of the dtype, both zeros, infinities and NaN. What a proof has
looked at is not asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Any

from soundline.spec.arrays.arrays import Array, Cell
from soundline.spec.dtypes import DType, Element, bool_, index, largest_finite, round_to, same_value
from soundline.spec.errors import IllFormed, SoundlineError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops import bodies
from soundline.spec.ops.node import Op, UOp, toposort
from soundline.spec.rules.instances import Goal, goals
from soundline.spec.rules.language import Rule

RANKS = 5
"""Proved rules are tried at ranks up to this one, which is above those that a proof looks at one by one."""

CHOICES = 60_000
"""Where a rank has more instances than this, it is left out."""

MOST_ELEMENTS = 96


def difference(stated: Rule, dtype: DType, source: Random, instances: int = 12) -> str:
    """Inputs on which the sides of a rule differ, as text; nothing where none is found."""
    some = list(_some_goals(stated, dtype, source, instances))
    for goal in some:
        for _ in range(max(5, 60 // len(some))):
            bound = _inputs(goal, source)
            if bound is not None:
                shown = _differs(goal, bound)
                if shown:
                    return f"{goal.label}: {shown}"
    return ""


def _some_goals(stated: Rule, dtype: DType, source: Random, most: int) -> Iterator[Goal]:
    """Instances of all ranks: of each rank as many, as far as it has so many."""
    arranged = [k.kind for k in stated.kinds.values() if k.kind in ("Perm", "Flags", "Axes")]
    for rank in range(RANKS + 1):
        count = math.prod(math.factorial(rank) if kind == "Perm" else 2**rank for kind in arranged)
        if count > CHOICES:
            return
        part = min(1.0, 2 * most / count)

        def skip(chosen: dict[str, Any], rank: int = rank, part: float = part) -> bool:
            ranks = chosen["rank of"].values()
            return max(ranks, default=0) != rank or source.random() > part

        known = set(_known_ranks(stated))
        if known and rank not in known:
            continue
        yield from islice(goals(stated, dtype, max_rank=max(rank, *known, 0), skip=skip), most)


def _known_ranks(stated: Rule) -> Iterator[int]:
    tensors = [k for k in stated.kinds.values() if k.kind == "Tensor"]
    if not any(k.kind in ("Perm", "Flags", "Axes", "Shape", "Offset") for k in stated.kinds.values()):
        yield from (len([n for n in k.inside if not isinstance(n, DType)]) for k in tensors if k.inside)
        if not tensors:
            yield 0


def _inputs(goal: Goal, source: Random) -> dict[int, Array] | None:
    """Sizes for which the conditions hold, and tensors of these sizes; None where no sizes are found."""
    numbers = [v for v in goal.variables.values() if v.dtype is index and v.shape == ()]
    others = [v for v in goal.variables.values() if not (v.dtype is index and v.shape == ())]
    for _ in range(30):
        pool = source.choice(((1, 2), (2,), (1,), (0, 1, 2), (3, 1), (2, 3, 4), (4, 5, 6), (0, 1, -1)))
        bound = {v.arg.slot: Array(index, (), (source.choice(pool),)) for v in numbers}
        try:
            shapes = [
                tuple(s if isinstance(s, int) else int(evaluate(s, bound).item()) for s in v.shape or ())
                for v in others
            ]
        except SoundlineError:
            continue
        if any(s < 0 for shape in shapes for s in shape) or sum(map(math.prod, shapes)) > MOST_ELEMENTS:
            continue
        for v, shape in zip(others, shapes, strict=True):
            among = _among(v.dtype, shape, goal)
            bound[v.arg.slot] = Array(v.dtype, shape, _elements(among, math.prod(shape), source))
        try:
            if all(evaluate(h, bound).item() for h in goal.hypotheses) and fits(goal, bound):
                return bound
        except SoundlineError:
            continue
    return None


def fits(goal: Goal, bound: dict[int, Array]) -> bool:
    """Whether no op inside the expressions of `fits` wraps: at ``index`` it gives the same number."""
    for node in toposort(*goal.fits):
        if node.dtype.is_int and node.op in WRAPPING:
            own = evaluate(UOp(Op.Cast, (node,), index), bound)
            exact = UOp(node.op, tuple(UOp(Op.Cast, (s,), index) for s in node.src))
            if own != evaluate(exact, bound):
                return False
    return True


WRAPPING = (Op.Add, Op.Sub, Op.Mul, Op.Neg, Op.Idiv, Op.CDiv)


def _elements(among: list[Element], count: int, source: Random) -> tuple[Element, ...]:
    kept = source.sample(among, min(len(among), source.choice((2, 3, 5, 20))))
    return tuple(source.choice(kept) for _ in range(count))


def _among(dtype: DType, shape: tuple[int, ...], goal: Goal) -> list[Element]:
    """Elements to choose from: indices that often lie inside, and where floats stand for reals, such as are exact."""
    if dtype is index and shape:
        return [0, 1, 0, 1, 2, 3, -1]
    if dtype.is_float and _licensed(goal):
        return [round_to(dtype, v) for v in (0.0, 1.0, -1.0, 2.0)]
    if dtype.is_float and "no_nan" in goal.rule.licences:
        return [e for e in special(dtype) if abs(float(e)) <= 4.0]
    return special(dtype)


def _licensed(goal: Goal) -> bool:
    return "reassociate" in goal.rule.licences


def special(dtype: DType) -> list[Element]:
    """Elements at which ops go wrong, and some plain ones."""
    if dtype is bool_:
        return [False, True]
    if dtype.is_float:
        most = largest_finite(dtype)
        values = (0.0, -0.0, 1.0, -1.0, 2.0, 0.1, -3.5, most, -most, 6e-8, math.inf, -math.inf, math.nan)
        return [round_to(dtype, v) for v in values]
    if dtype is index:
        return [0, 1, -1, 2, 3, -7, 1 << 40]
    return sorted(
        {0, 1, 2, 3, 7, int(dtype.max), int(dtype.max) - 1, int(dtype.min), max(int(dtype.min), -1)}
    )


def _differs(goal: Goal, bound: dict[int, Array]) -> str:
    """How the sides differ on inputs; nothing where they agree, or the left side has no value."""
    try:
        left = evaluate(goal.left, bound)
    except SoundlineError:
        return ""
    said = ", ".join(f"{name} = {bound[node.arg.slot]}" for name, node in goal.variables.items())
    if isinstance(goal.right, IllFormed):
        return f"{said}: the right side is ill-formed: {goal.right}"
    try:
        right = evaluate(goal.right, bound)
    except SoundlineError as refusal:
        return f"{said}: {left}, but the right side has no value: {refusal}"
    alike = (left.dtype, left.shape) == (right.dtype, right.shape)
    if "no_nan" in goal.rule.licences and any(_has_nan(n, bound) for n in toposort(goal.left)):
        return ""  # as is promised of every float on the way to the left side
    rows = zip(left.elements, right.elements, strict=alike)
    if alike and all(_same(goal, left.dtype, a, b) for a, b in rows):
        return ""
    return f"{said}: {left} is not {right}"


def _has_nan(node: UOp, bound: dict[int, Array]) -> bool:
    """Whether a float on the way may be NaN: one in a loop counts as none, an invalid one, not chosen, as one."""
    if not node.dtype.is_float or bodies.free_ranges(node):
        return False
    try:
        return any(isinstance(e, float) and math.isnan(e) for e in evaluate(node, bound).elements)
    except SoundlineError:
        return True


def _same(goal: Goal, dtype: DType, a: Cell, b: Cell) -> bool:
    """Whether two elements are one, as far as the licences tell them apart."""
    licences = goal.rule.licences
    if dtype.is_float and a == b == 0 and ("no_signed_zero" in licences or _licensed(goal)):
        return True
    return same_value(dtype, a, b)  # type: ignore[arg-type]  # a value that was evaluated has no invalid element
