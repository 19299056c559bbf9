"""Gradients of random programs of exact ops: over fractions they equal the derivative by dual numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import bool_, float64, index
from soundline.spec.evaluate import evaluate
from soundline.spec.gradients.backward import gradient
from soundline.spec.ops import bodies
from soundline.spec.ops.table import Op
from soundline.spec.uop import (
    LoadArg,
    ReduceArg,
    UOp,
    broadcast_to,
    const,
    expand,
    pad,
    param,
    reshape,
    shrink,
    tensor,
)

from .exact_numbers import fractions, read, slopes

QUICK = settings(max_examples=80, deadline=None)
MOST_ELEMENTS = 12
NUMBERS = st.integers(-6, 6).map(lambda n: n / 4)
Draw = Callable[[Any], Any]


def shape_of(x: UOp) -> tuple[int, ...]:
    return tuple(n for n in x.shape or () if isinstance(n, int))


@dataclass(frozen=True)
class Program:
    """A program of exact ops, and the values of its Params."""

    y: UOp
    leaves: tuple[UOp, ...]
    values: dict[int, Array]
    seed: Array


def _axes(draw: Draw, rank: int) -> tuple[int, ...]:
    return tuple(draw(st.lists(st.integers(0, rank - 1), unique=True))) if rank else ()


def _like(draw: Draw, x: UOp, nodes: list[UOp]) -> UOp:
    """A node of the shape of x."""
    return draw(st.sampled_from([n for n in nodes if n.shape == x.shape]))


def _reduction(op: Op) -> Callable[[Draw, UOp, list[UOp]], UOp]:
    return lambda draw, x, nodes: Op.Reduce(x, arg=ReduceArg(op, _axes(draw, len(shape_of(x)))))


def _padded(draw: Draw, x: UOp, nodes: list[UOp]) -> UOp:
    before = [draw(st.integers(0, 1)) for _ in shape_of(x)]
    after = [draw(st.integers(0, 1)) for _ in shape_of(x)]
    return pad(x, tuple(before), tuple(sum(t) for t in zip(before, shape_of(x), after, strict=True)))


def _shrunk(draw: Draw, x: UOp, nodes: list[UOp]) -> UOp:
    starts = [draw(st.integers(0, n)) for n in shape_of(x)]
    return shrink(
        x, tuple(starts), tuple(draw(st.integers(0, n - s)) for n, s in zip(shape_of(x), starts, strict=True))
    )


def _expanded(draw: Draw, x: UOp, nodes: list[UOp]) -> UOp:
    return expand(x, tuple(draw(st.integers(0, 3)) if n == 1 else n for n in shape_of(x)))


def _indexed(draw: Draw, x: UOp, nodes: list[UOp]) -> UOp:
    indices = []
    for n in shape_of(x)[: draw(st.integers(0, len(shape_of(x))))]:
        if n == 0:
            break
        at = st.integers(0, n - 1)
        many = draw(st.booleans())
        indices.append(tensor(draw(st.lists(at, max_size=3)) if many else draw(at), index))
    return Op.Index(x, *indices)


def _selected(draw: Draw, x: UOp, nodes: list[UOp]) -> UOp:
    flags = [draw(st.booleans()) for _ in range(math.prod(shape_of(x)))]
    return Op.Where(_mask(flags, shape_of(x)), x, _like(draw, x, nodes))


def _mask(flags: list[bool], shape: tuple[int, ...]) -> UOp:
    if not flags:
        return broadcast_to(const(True, bool_), shape)
    return reshape(tensor(flags, bool_), shape)


def _called(draw: Draw, x: UOp, nodes: list[UOp]) -> UOp:
    other = _like(draw, x, nodes)
    p, q = param(0, float64, shape_of(x)), param(1, float64, shape_of(x))
    body = draw(st.sampled_from([Op.Mul(p, q), Op.Add(Op.Mul(p, p), q), q, Op.Sub(p, p)]))
    return Op.GetTuple(Op.Function(Op.Tuple(body), x, other), arg=0)


STEPS: dict[str, Callable[[Draw, UOp, list[UOp]], UOp]] = {
    "Neg": lambda draw, x, nodes: Op.Neg(x),
    "Add": lambda draw, x, nodes: Op.Add(x, _like(draw, x, nodes)),
    "Sub": lambda draw, x, nodes: Op.Sub(x, _like(draw, x, nodes)),
    "Mul": lambda draw, x, nodes: Op.Mul(x, _like(draw, x, nodes)),
    "Mulacc": lambda draw, x, nodes: Op.Mulacc(x, _like(draw, x, nodes), _like(draw, x, nodes)),
    "Permute": lambda draw, x, nodes: Op.Permute(
        x, arg=tuple(draw(st.permutations(range(len(shape_of(x))))))
    ),
    "Flip": lambda draw, x, nodes: Op.Flip(x, arg=tuple(draw(st.booleans()) for _ in shape_of(x))),
    "Reshape": lambda draw, x, nodes: reshape(
        x, draw(st.sampled_from([(math.prod(shape_of(x)),), (1, *shape_of(x)), (*shape_of(x), 1)]))
    ),
    "Expand": _expanded,
    "Pad": _padded,
    "Shrink": _shrunk,
    "Index": _indexed,
    "Stack": lambda draw, x, nodes: Op.Stack(x, _like(draw, x, nodes)),
    "Sum": _reduction(Op.Add),
    "Product": _reduction(Op.Mul),
    "Where": _selected,
    "Function": _called,
    "Load": lambda draw, x, nodes: Op.Load(x, arg=LoadArg(device="CUDA")),
    "Contiguous": lambda draw, x, nodes: Op.ContiguousBackward(Op.Contiguous(x)),
}


def _array(draw: Draw, shape: tuple[int, ...]) -> Array:
    count = math.prod(shape)
    return Array(float64, shape, tuple(draw(st.lists(NUMBERS, min_size=count, max_size=count))))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Two Params and up to seven steps, each on nodes made before."""
    shapes = [tuple(draw(st.lists(st.integers(0, 3), max_size=2))) for _ in range(2)]
    leaves = tuple(param(k, float64, s) for k, s in enumerate(shapes))
    nodes: list[UOp] = list(leaves)
    for _ in range(draw(st.integers(1, 7))):
        step = draw(st.sampled_from(sorted(STEPS)))
        made = STEPS[step](draw, draw(st.sampled_from(nodes)), nodes)
        if math.prod(shape_of(made)) <= MOST_ELEMENTS and len(shape_of(made)) <= 3:
            nodes.append(made)
    values = {k: _array(draw, s) for k, s in enumerate(shapes)}
    return Program(nodes[-1], leaves, values, _array(draw, shape_of(nodes[-1])))


def exactly(program: Program, y: UOp) -> list[tuple[Any, ...]]:
    """The gradients of Σ seed·y over fractions."""
    seed = param(9, float64, program.seed.shape)
    bound = {**{k: fractions(a) for k, a in program.values.items()}, 9: fractions(program.seed)}
    return [read(g, bound, lambda x: x).elements for g in gradient(y, list(program.leaves), seed)]


@QUICK
@given(programs())
def test_the_gradient_is_the_derivative_exactly(program: Program) -> None:
    params = {k: fractions(a) for k, a in program.values.items()}
    for slot, found in enumerate(exactly(program, program.y)):
        assert found == slopes(program.y, params, slot, program.seed)


@QUICK
@given(programs())
def test_over_floats_the_reading_is_that_of_the_evaluator(program: Program) -> None:
    """What is read over fractions above is the program that the evaluator computes: over floats both are one."""
    seed = param(9, float64, program.seed.shape)
    bound = {**program.values, 9: program.seed}
    for root in (program.y, *gradient(program.y, list(program.leaves), seed)):
        pairs = zip(evaluate(root, bound).elements, read(root, bound, float).elements, strict=True)
        assert all(a == b or (a != a and b != b) for a, b in pairs)


@QUICK
@given(programs())
def test_a_function_has_the_gradient_of_its_body(program: Program) -> None:
    binders = {leaf: param(1 - leaf.arg.slot, float64, shape_of(leaf)) for leaf in program.leaves}
    body = bodies.bind(program.y, binders)
    called = Op.GetTuple(Op.Function(Op.Tuple(body), program.leaves[1], program.leaves[0]), arg=0)
    assert exactly(program, called) == exactly(program, program.y)


@QUICK
@given(programs(), st.data(), st.sampled_from([math.nan, math.inf]))
def test_what_is_not_selected_changes_nothing(program: Program, data: st.DataObject, bad: float) -> None:
    """Where y is not selected, it may be multiplied by anything."""
    shape = shape_of(program.y)
    flags = [data.draw(st.booleans()) for _ in range(math.prod(shape))]
    mask = _mask(flags, shape)
    zero = broadcast_to(const(0.0, float64), shape)
    factor = Op.Where(
        mask, broadcast_to(const(1.0, float64), shape), broadcast_to(const(bad, float64), shape)
    )
    seed = param(9, float64, program.seed.shape)
    bound = {**program.values, 9: program.seed}
    leaves = list(program.leaves)
    plain = gradient(Op.Where(mask, program.y, zero), leaves, seed)
    poisoned = gradient(Op.Where(mask, Op.Mul(program.y, factor), zero), leaves, seed)
    for a, b in zip(plain, poisoned, strict=True):
        pairs = zip(evaluate(a, bound).elements, evaluate(b, bound).elements, strict=True)
        assert all(x == y for x, y in pairs)


@QUICK
@given(programs())
def test_a_gradient_is_one_program(program: Program) -> None:
    """The same program has the same gradient, node for node: the order of its sums is fixed."""
    seed = param(9, float64, program.seed.shape)
    leaves = list(program.leaves)
    assert gradient(program.y, leaves, seed) == gradient(program.y, leaves, seed)
    assert gradient(program.y, leaves[::-1], seed) == gradient(program.y, leaves, seed)[::-1]
