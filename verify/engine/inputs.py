"""
Inputs for a program
====================

Values for everything that a program leaves open: its Params within their bounds, its loops, its buffers. The first
inputs are the simplest, the others are drawn from the values at which laws have special cases and from any bit pattern;
some hold invalid elements (U-01).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from soundline.spec.arrays.arrays import INVALID, Array, Cell
from soundline.spec.dtypes import DType, Element, bool_, from_bits, index, order, round_to
from soundline.spec.errors import EvaluationError, SoundlineError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.bodies import free_by_node, free_ranges, own_nodes
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.table import group_of
from soundline.verify.smt.goals.sampling import directed

WEIGHTS = {Op.Exp2: 30, Op.Log2: 30, Op.Sin: 60, Op.Pow: 90}
_TIMES = frozenset((*group_of("elementwise", "decomposed", "movement"), Op.Reduce))


@dataclass(frozen=True)
class Inputs:
    """Values by slot of Params, by slot of Buffers, and by id of loops."""

    params: dict[int, Array]
    buffers: dict[int, Array]
    ranges: dict[int | str, int]


@dataclass(frozen=True)
class Difference:
    """Inputs on which two programs differ, and what the evaluator says of each; None for one that has no value."""

    inputs: Inputs
    before: Array
    after: Array | None
    refusal: str = ""


def work(*roots: UOp) -> int:
    """How many elements the evaluator makes, those of long programs counted as what they are."""
    total = 0
    for node in own_nodes(*roots):
        if node.shape is not None and node.op in _TIMES:
            sizes = [s if isinstance(s, int) else 8 for s in node.shape]
            times = (
                math.prod(int(r.src[0].arg.value) if r.src[0].op is Op.Const else 8 for r in node.src[1:])
                if (node.op is Op.Reduce)
                else 1
            )
            total += math.prod(sizes) * WEIGHTS.get(node.op, 1) * times
    return total


def kernel_work(root: UOp) -> int:
    """How many elements the evaluator makes when it runs a kernel: each node once for each turn of the loops around."""
    total, largest = 0, 0
    for node, free in free_by_node(root).items():
        turns = [int(r.src[0].arg.value) if r.src[0].op is Op.Const else 8 for r in free]
        total += math.prod(turns)
        if node.op is Op.Buffer:
            largest = max(largest, int(node.arg.size))
    return total * (1 + largest // 32)


def open_inputs(root: UOp, seed: str, count: int, *, first: int = 0) -> Iterator[Inputs]:
    """So many inputs for a program; the same for the same seed. The simple ones come first, and may be left out."""
    source = Random(seed)  # noqa: S311  # repeatable, and no secret
    nodes = own_nodes(root)
    params = {n.arg.slot: n for n in nodes if n.op is Op.Param}
    buffers = {n.arg.slot: n for n in nodes if n.op is Op.Buffer}
    free = free_ranges(root)
    loops = [n for n in nodes if n in free]
    for k in range(first, first + count):
        yield Inputs(
            {slot: drawn(n, source, k) for slot, n in params.items()},
            {slot: drawn(n, source, k) for slot, n in buffers.items()},
            {_name(r): _turn(r, source, k) for r in loops},
        )


SIMPLE = 3
"""The first inputs, whose arrays have one simple element everywhere."""


def _name(loop: UOp) -> int | str:
    found: int | str = loop.arg if loop.op is Op.Special else loop.arg.id
    return found


def _turn(loop: UOp, source: Random, k: int) -> int:
    times = int(loop.src[0].arg.value) if loop.src[0].op is Op.Const else 1
    return min(k, times - 1) if k < 2 else source.randrange(max(1, times))


def drawn(node: UOp, source: Random, k: int) -> Array:
    """An array for a Param or Buffer; for small k all elements are alike and simple."""
    shape = tuple(int(s) for s in node.shape or () if isinstance(s, int))
    bounds = node.arg.bounds if node.op is Op.Param else None
    low, high = (None, None) if bounds is None else (b.value for b in bounds)
    simple = _within(directed(node.dtype, 12)[k % 12 if node.dtype is not bool_ else k % 2], low, high)
    holes = 0.3 if k % 5 == 4 else 0.0
    cells: tuple[Cell, ...] = tuple(
        simple
        if k < SIMPLE
        else INVALID
        if source.random() < holes
        else _within(element(source, node.dtype), low, high)
        for _ in range(math.prod(shape))
    )
    return Array(node.dtype, shape, cells)


def _within(value: Element, low: Element | None, high: Element | None) -> Element:
    if low is None or high is None:
        return value
    if value != value or order(value) < order(low):
        return low
    return high if order(value) > order(high) else value


def element(source: Random, dtype: DType) -> Element:
    """One element: simple, at an end, or any bit pattern."""
    kind = source.random()
    if dtype is bool_ or kind < 0.6:
        return source.choice(directed(dtype, 40 if dtype is not bool_ else 2))
    if dtype is index:
        return source.randrange(-40, 100)
    if dtype.is_float and kind < 0.8:
        return round_to(dtype, source.randrange(-64, 65) / source.choice((1, 2, 4, 8)))
    return from_bits(dtype, source.getrandbits(dtype.bits))


def difference(before: UOp, after: UOp, inputs: Inputs) -> Difference | bool | None:
    """How two programs differ on these inputs: None where they do not, False where the first has no value there."""
    try:
        first = evaluate(before, inputs.params, inputs.buffers, inputs.ranges)
    except EvaluationError:
        return False
    try:
        second = evaluate(after, inputs.params, inputs.buffers, inputs.ranges)
    except SoundlineError as refusal:
        return Difference(inputs, first, None, f"{type(refusal).__name__}: {refusal}")
    return None if first == second else Difference(inputs, first, second)


def search(before: UOp, after: UOp, seed: str, count: int) -> tuple[int, Difference | None]:
    """On how many inputs two programs were found to agree, and the first difference."""
    agreed = 0
    for inputs in open_inputs(Op.Tuple(before, after), seed, count):
        found = difference(before, after, inputs)
        if isinstance(found, Difference):
            return agreed, found
        agreed += found is None
    return agreed, None
