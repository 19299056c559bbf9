"""
Trying a proved mutant
======================

A mutant of a rule that the prover proves is either another true rule or a fault of the prover. It is therefore tried on
many inputs with the specification's evaluator alone, without the solver and without any of the prover's search: corners
of the dtype, small numbers and random ones, small shapes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Any

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import DType, Element, bool_, from_bits, index
from soundline.spec.errors import IllFormed, SoundlineError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import UOp, toposort
from soundline.spec.rules.instances import Goal, goals
from soundline.spec.rules.language import Rule
from soundline.verify.smt.goals.obligations import wrapping_nodes
from soundline.verify.smt.goals.points import wraps

INSTANCES = 40
"""Instances of a rule that are tried at one dtype."""
INPUTS = 60
"""Inputs that are tried for one instance."""
ATTEMPTS = 2400
"""Inputs that are tried for all instances at all dtypes, but for the few that each has anyway."""
FEW = 10
LARGEST_ARRAY = 200

Inputs = dict[int, Array]


def difference(stated: Rule, dtypes: tuple[DType, ...], seed: int = 0) -> str | None:
    """An instance and inputs at which the sides of a rule differ, in words; None where none was found."""
    random = Random(seed)
    part = max(FEW, ATTEMPTS // len(dtypes)) if dtypes else 0
    for dtype in dtypes:
        tried = list(islice(_spread(stated, dtype, random), min(INSTANCES, part // FEW)))
        for goal in tried:
            for _ in range(min(INPUTS, part // len(tried))):
                inputs = _inputs(goal, random)
                if inputs is not None and _differs(goal, inputs):
                    values = {name: inputs[n.arg.slot].elements for name, n in goal.variables.items()}
                    return f"{goal.label}: {values}"
    return None


def _spread(stated: Rule, dtype: DType, random: Random) -> Iterator[Goal]:
    """The first instances, and of the many that follow a random few."""
    for number, goal in enumerate(goals(stated, dtype, max_rank=3)):
        if number < INSTANCES // 2 or random.random() < INSTANCES / (number + 1):
            yield goal


def _inputs(goal: Goal, random: Random) -> Inputs | None:
    """Inputs that meet the conditions, if this attempt found some."""
    found: Inputs = {}
    sizes = _sizes(goal) | {n for name, n in goal.variables.items() if _is_size(goal.rule, name)}
    for node in goal.variables.values():
        if node.shape == ():
            small = node in sizes or (node.dtype is index and "[" in "".join(goal.variables))
            value = random.randint(0, 3) if small else _element(node.dtype, random)
            found[node.arg.slot] = Array(node.dtype, (), (value,))
    try:
        for node in goal.variables.values():
            if node.arg.slot not in found:
                found[node.arg.slot] = _tensor(node, found, random)
        holds = all(evaluate(h, found).item() for h in goal.hypotheses) and _fits(goal, found)
    except (SoundlineError, OverflowError):
        return None
    return found if holds else None


def _is_size(stated: Rule, name: str) -> bool:
    """Whether a variable is a size by its kind: of a range, whose body no tensor need have."""
    return name in stated.kinds and stated.kinds[name].kind == "Size"


def _sizes(goal: Goal) -> set[UOp]:
    """The variables on which the shapes of others depend."""
    sizes = (s for node in goal.variables.values() for s in node.shape or () if isinstance(s, UOp))
    return {part for size in sizes for part in toposort(size)}


def _tensor(node: UOp, found: Inputs, random: Random) -> Array:
    assert node.shape is not None
    shape = tuple(s if isinstance(s, int) else int(evaluate(s, found).item()) for s in node.shape)
    count = 1
    for size in shape:
        count *= size
    if count > LARGEST_ARRAY or any(size < 0 for size in shape):
        raise OverflowError
    return Array(node.dtype, shape, tuple(_element(node.dtype, random) for _ in range(count)))


def _element(dtype: DType, random: Random) -> Element:
    if dtype is bool_:
        return random.random() < 0.5
    if dtype is index:
        return random.choice((random.randint(-4, 9), random.randint(-(1 << 70), 1 << 70)))
    near = random.randint(-4, 9)
    if dtype.is_int:
        corner = random.choice((dtype.min, dtype.max, dtype.min + 1, dtype.max - 1))
        anywhere = random.randint(int(dtype.min), int(dtype.max))
        return random.choice((max(near, int(dtype.min)), corner, anywhere))
    special = random.choice((0.0, -0.0, float(dtype.max), float(dtype.min), float("nan")))
    return random.choice((float(near), special, from_bits(dtype, random.getrandbits(dtype.bits))))


def _fits(goal: Goal, inputs: Inputs) -> bool:
    for expression in goal.fits:
        for node in wrapping_nodes([expression]):
            values: dict[UOp, Any] = {s: evaluate(s, inputs).item() for s in (*node.src, node)}
            if wraps(node, values):
                return False
    return True


def _differs(goal: Goal, inputs: Inputs) -> bool:
    try:
        left = evaluate(goal.left, inputs)
    except SoundlineError:
        return False  # the left side has no value here: the rule says nothing
    if isinstance(goal.right, IllFormed):
        return True
    try:
        return evaluate(goal.right, inputs) != left
    except SoundlineError:
        return True
