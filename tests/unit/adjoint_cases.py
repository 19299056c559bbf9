"""Programs of which each shows the adjoint of one op, the points to take it at, and the two checks of a gradient.

**Central differences.** (f(x+h) - f(x-h)) / 2h differs from f'(x) by h²/6·|f'''| for f itself, and by u·K·|f|/h
because each value is computed within K units of 2^-53 = u. The points and h = 2^-17 (near u^⅓, where the two are in
balance) are such that x ± h is exact, and the difference is taken over fractions, so nothing else is lost. A case
states the bound M of |f|, |f'| and |f'''| between its points, K is 16, and the adjoint itself is computed within K·u
of its size.

**Exact.** Over fractions, the gradient program equals the derivative that dual numbers give (`exact_numbers`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import bool_, float32, float64, index
from soundline.spec.evaluate import evaluate
from soundline.spec.gradients.backward import gradient
from soundline.spec.ops.table import Op
from soundline.spec.uop import (
    LoadArg,
    ReduceArg,
    SliceArg,
    UOp,
    broadcast_to,
    buffer,
    const,
    expand,
    pad,
    param,
    reshape,
    shrink,
    tensor,
)

sys.path.insert(0, str(Path(__file__).parent.parent / "property"))
from exact_numbers import fractions, read, slopes

INF = math.inf
STEP = 2.0**-17
UNIT = 2.0**-53
ROUNDINGS = 16


@dataclass(frozen=True, eq=False)
class Case:
    """A program of float Params and the values of them."""

    op: Op
    program: Callable[..., UOp]
    points: tuple[Any, ...]
    bound: float = 64.0
    """M: no |f|, |f'|, |f'''| at the points that move is greater."""
    exact: bool = False
    """Whether its ops are exact over fractions at its points."""
    name: str = ""

    def __repr__(self) -> str:
        return f"{self.op.name}{'-' if self.name else ''}{self.name}"

    @property
    def values(self) -> dict[int, Array]:
        return {k: Array.of(p, float64) for k, p in enumerate(self.points)}

    @property
    def leaves(self) -> list[UOp]:
        return [param(k, float64, a.shape) for k, a in self.values.items()]

    @property
    def y(self) -> UOp:
        return self.program(*self.leaves)


def number(value: int) -> UOp:
    return const(value, index)


def mask(*flags: bool) -> UOp:
    return tensor(list(flags), bool_)


def seed_of(y: UOp) -> Array:
    """Distinct numbers, of both signs, none of them 0."""
    shape = tuple(n for n in y.shape or () if isinstance(n, int))
    return Array(float64, shape, tuple((-1.0) ** k * (1 + k / 4) for k in range(math.prod(shape))))


def constant(array: Array) -> UOp:
    return reshape(tensor(list(array.elements), float64), array.shape)


# The checks -------------------------------------------------------------------------------------------------------


def check(case: Case) -> None:
    """Refuse a gradient that is not the derivative."""
    check_differences(case)
    if case.exact:
        check_exactly(case)


def check_differences(case: Case) -> None:
    y, leaves = case.y, case.leaves
    seed = seed_of(y)
    found = gradient(y, leaves, constant(seed))
    weight = sum(abs(float(s)) for s in seed.elements)  # type: ignore[arg-type]
    tolerance = weight * case.bound * (STEP**2 / 6 + ROUNDINGS * UNIT / STEP + ROUNDINGS * UNIT)
    for slot, (leaf, g) in enumerate(zip(leaves, found, strict=True)):
        assert (g.shape, g.dtype) == (leaf.shape, leaf.dtype)
        theirs = differences(case, slot)
        for ours, wanted in zip(evaluate(g, case.values).elements, theirs, strict=True):
            assert abs(float(ours) - wanted) <= tolerance, (case, slot, ours, wanted)  # type: ignore[arg-type]


@cache
def differences(case: Case, slot: int) -> tuple[float, ...]:
    """Central differences of Σ seed·y with respect to each element of a leaf."""
    y, values = case.y, case.values
    seed = seed_of(y)
    found = []
    for k, x in enumerate(values[slot].elements):
        ends = []
        for h in (STEP, -STEP):
            moved = list(values[slot].elements)
            moved[k] = float(x) + h  # type: ignore[arg-type]
            bound = {**values, slot: Array(float64, values[slot].shape, tuple(moved))}
            ends.append(evaluate(y, bound).elements)
        pairs = zip(seed.elements, *ends, strict=True)
        change = sum(Fraction(s) * _change(up, down) for s, up, down in pairs)  # type: ignore[arg-type]
        found.append(float(change / Fraction(2 * STEP)))
    return tuple(found)


def _change(up: Any, down: Any) -> Fraction:
    return Fraction(0) if up == down else Fraction(up) - Fraction(down)


def check_exactly(case: Case) -> None:
    y, leaves = case.y, case.leaves
    seed = seed_of(y)
    params = {k: fractions(a) for k, a in case.values.items()}
    binder = param(len(leaves), float64, seed.shape)
    bound = {**params, len(leaves): fractions(seed)}
    for slot, g in enumerate(gradient(y, leaves, binder)):
        assert read(g, bound, lambda x: x).elements == slopes(y, params, slot, seed)


# The cases --------------------------------------------------------------------------------------------------------


def reduced(op: Op, *axes: int) -> Callable[[UOp], UOp]:
    return lambda x: Op.Reduce(x, arg=ReduceArg(op, axes))


def unselected(op: Callable[[UOp], UOp]) -> Callable[[UOp], UOp]:
    """The op read at the first of two places only: at the second its derivative may be anything."""
    return lambda x: Op.Where(mask(True, False), op(x), x)


def read_by_two(x: UOp) -> UOp:
    """One product of which two selections read an element each."""
    square, zero = Op.Mul(x, x), tensor([0.0, 0.0], float64)
    first = mask(True, False)
    return Op.Add(Op.Where(first, square, zero), Op.Where(first, zero, square))


def in_a_function(body: Callable[..., UOp]) -> Callable[..., UOp]:
    """A Function whose second result is the body's, on its arguments in reverse order."""

    def program(a: UOp, b: UOp) -> UOp:
        p, q = param(0, float64, b.shape or ()), param(1, float64, a.shape or ())
        function = Op.Function(Op.Tuple(p, body(q, p), Op.Mul(p, p)), b, a)
        return Op.Add(Op.GetTuple(function, arg=1), Op.Mul(a, Op.GetTuple(function, arg=2)))

    return program


def magnified(x: UOp) -> UOp:
    """The product of x with two numbers, whose product is infinite in the second place."""
    rows = Op.Stack(x, tensor([1.5, 2.0**600], float64), tensor([0.5, 2.0**600], float64))
    return reshape(reduced(Op.Mul, 0)(rows), (2,))


def stored(x: UOp) -> UOp:
    """The value as it is after something else was written."""
    other = buffer(9, 2, float64)
    return Op.After(x, Op.Store(other, tensor([1.0, 2.0], float64)))


PAIR = ([1.5, -0.75], [0.5, 2.25])
GRID = [[1.5, -0.75, 0.5], [2.25, 0.125, -1.0]]
READ = tensor([2, 0, 2], index)

SMOOTH: tuple[Case, ...] = (
    Case(Op.Add, Op.Add, PAIR, exact=True),
    Case(Op.Sub, Op.Sub, PAIR, exact=True),
    Case(Op.Neg, Op.Neg, (PAIR[0],), exact=True),
    Case(Op.Mul, Op.Mul, PAIR, exact=True),
    Case(Op.Mul, lambda x: Op.Mul(x, x), PAIR[:1], exact=True, name="square"),
    Case(Op.Mul, read_by_two, PAIR[:1], exact=True, name="read by two"),
    Case(Op.Mulacc, Op.Mulacc, (*PAIR, [3.0, -0.5]), exact=True),
    Case(Op.Recip, Op.Recip, ([0.5, -1.25, 3.0],), bound=100.0, exact=True),
    Case(Op.Div, Op.Div, ([1.5, -2.0, 0.0], [0.5, -1.25, 3.0]), bound=150.0, exact=True),
    Case(Op.Sqrt, Op.Sqrt, ([0.25, 1.5, 4.0],), bound=15.0),
    Case(Op.Exp2, Op.Exp2, ([-2.5, 0.0, 3.25],), bound=10.0),
    Case(Op.Log2, Op.Log2, ([0.5, 1.0, 5.5],), bound=30.0),
    Case(Op.Sin, Op.Sin, ([-2.5, 0.0, 0.25, 1.5, 100.0],)),
    Case(Op.Pow, Op.Pow, ([0.5, 1.5, 3.0], [2.0, -1.25, 0.0])),
    Case(
        Op.Pow,
        lambda a: Op.Pow(a, tensor([2.0, 3.0, 1.0, 0.0], float64)),
        ([0.0, -1.5, -2.0, -1.0],),
        name="of b",
    ),
    Case(Op.Max, Op.Max, PAIR, exact=True),
    Case(Op.Max, lambda a: Op.Max(a, a), PAIR[:1], exact=True, name="of itself"),
    Case(Op.Where, lambda a, b: Op.Where(mask(True, False), a, b), PAIR, exact=True),
    Case(
        Op.Cast, lambda x: Op.Cast(Op.Cast(Op.Mul(x, x), arg=float32), arg=float64), (PAIR[0],), bound=2.0**31
    ),
)
"""Elementwise ops; M of the quotient 1/x and of log₂ x is that of the third derivative at the least |x|. A value that
is rounded to float32 is 2^29 units of float64 wrong, which its M takes up."""

MOVED: tuple[Case, ...] = (
    Case(Op.Permute, lambda x: Op.Permute(reshape(x, (1, 2, 3)), arg=(2, 0, 1)), (GRID,), exact=True),
    Case(Op.Flip, lambda x: Op.Flip(x, arg=(False, True)), (GRID,), exact=True),
    Case(Op.Reshape, lambda x: reshape(x, (3, 2)), (GRID,), exact=True),
    Case(Op.Expand, lambda x: expand(reshape(x, (2, 1, 3)), (2, 2, 3)), (GRID,), exact=True),
    Case(Op.Pad, lambda x: pad(x, (1, 0), (3, 5)), (GRID,), exact=True),
    Case(Op.Shrink, lambda x: shrink(x, (1, 1), (1, 2)), (GRID,), exact=True),
    Case(Op.Index, lambda x: Op.Index(x, number(1), number(2)), (GRID,), exact=True, name="element"),
    Case(Op.Index, lambda x: Op.Index(x, number(1)), (GRID,), exact=True, name="row"),
    Case(Op.Index, lambda x: Op.Index(x, number(0), READ), (GRID,), exact=True, name="row and columns"),
    Case(Op.Index, lambda x: Op.Index(x, tensor([1, 1], index), READ), (GRID,), exact=True, name="outer"),
    Case(Op.Index, Op.Index, (GRID,), exact=True, name="nothing"),
    Case(Op.Stack, lambda a, b: Op.Stack(a, b, a), PAIR, exact=True),
    Case(Op.Slice, lambda x: Op.Slice(x, number(1), arg=SliceArg(1, float64)), (PAIR[0],), exact=True),
    Case(Op.Bitcast, lambda x: Op.Bitcast(x, arg=float64), (PAIR[0],), exact=True),
    Case(
        Op.Replicated,
        lambda x: Op.Replicated(expand(reshape(x, (1, 2)), (3, 2)), arg=(0,)),
        (PAIR[0],),
    ),
    Case(
        Op.Replicated,
        lambda x: Op.Replicated(expand(reshape(x, (1, 2, 1)), (2, 2, 2)), arg=(0, 2)),
        (PAIR[0],),
        exact=True,
        name="two axes",
    ),
    Case(Op.Contiguous, Op.Contiguous, PAIR[:1], exact=True),
    Case(Op.ContiguousBackward, Op.ContiguousBackward, PAIR[:1], exact=True),
    Case(Op.Load, lambda x: Op.Load(x, arg=LoadArg(device="CUDA")), PAIR[:1], exact=True),
    Case(Op.Load, lambda a, b: Op.Load(a, b, mask(False, True)), PAIR, name="gated"),
    Case(Op.Load, lambda a, b: Op.Load(a, b, const(True, bool_)), PAIR, name="one gate"),
    Case(Op.After, stored, PAIR[:1]),
)

REDUCED: tuple[Case, ...] = (
    Case(Op.Reduce, reduced(Op.Add, 1), (GRID,), exact=True, name="sum"),
    Case(Op.Reduce, reduced(Op.Add), (GRID,), exact=True, name="sum of nothing"),
    Case(Op.Reduce, reduced(Op.Add, 1, 0), (GRID,), exact=True, name="sum of all"),
    Case(Op.Reduce, reduced(Op.Mul, 1), (GRID,), exact=True, name="product"),
    Case(Op.Reduce, reduced(Op.Mul, 0), (GRID,), exact=True, name="product of columns"),
    Case(Op.Reduce, reduced(Op.Mul, 1, 0), (GRID,), exact=True, name="product of all"),
    Case(Op.Reduce, reduced(Op.Mul), (GRID,), exact=True, name="product of nothing"),
    Case(Op.Reduce, reduced(Op.Mul, 1), ([[1.5, 0.0, 2.0]],), exact=True, name="one zero"),
    Case(Op.Reduce, reduced(Op.Mul, 1), ([[0.0, 0.0, 2.0]],), exact=True, name="two zeros"),
    Case(Op.Reduce, reduced(Op.Max, 1), (GRID,), exact=True, name="maximum"),
    Case(Op.Reduce, reduced(Op.Max, 0, 1), (GRID,), exact=True, name="maximum of all"),
)

CALLED: tuple[Case, ...] = (
    Case(Op.Function, in_a_function(Op.Mul), PAIR, exact=True),
    Case(Op.GetTuple, in_a_function(in_a_function(Op.Mul)), PAIR, exact=True, name="nested"),
    Case(Op.Tuple, lambda a, b: Op.GetTuple(Op.Tuple(a, Op.Mul(a, b)), arg=1), PAIR, exact=True),
)


def replicas_not_read(x: UOp) -> UOp:
    copies = expand(reshape(Op.Recip(x), (1, 2)), (3, 2))
    return shrink(Op.Replicated(copies, arg=(0,)), (0, 1), (1, 1))


def function_not_read(x: UOp) -> UOp:
    """A Function of 1/x, and inside it the product with it, of which one element is read afterwards."""
    p = param(0, float64, (2,))
    called = Op.GetTuple(Op.Function(Op.Tuple(Op.Mul(p, Op.Recip(p))), Op.Recip(x)), arg=0)
    return shrink(called, (0,), (1,))


OUTSIDE = Op.Index(tensor([1.25, 5.0], float64), tensor([0, 7], index))
NOWHERE = Op.Index(tensor([1, 5], index), tensor([0, 7], index))
"""A number and an index, each with an invalid one behind it."""


def two_functions_not_read(a: UOp, b: UOp) -> UOp:
    """A Function of two arguments, each with an infinite element, of which the finite elements are read."""
    p, q = param(0, float64, (2,)), param(1, float64, (2,))
    function = Op.Function(Op.Tuple(Op.Mul(Op.Mul(p, p), q)), Op.Recip(a), Op.Recip(b))
    return shrink(Op.GetTuple(function, arg=0), (0,), (1,))


def not_read_through(move: Callable[[UOp], UOp]) -> Callable[[UOp], UOp]:
    """1/x, moved and then read at the places at which x is not 0."""
    return lambda x: shrink(move(Op.Recip(x)), (1,), (2,))


NOT_READ: tuple[Case, ...] = (
    Case(Op.Recip, unselected(Op.Recip), ([2.0, 0.0],)),
    Case(Op.Div, unselected(lambda x: Op.Div(tensor([1.0, 1.0], float64), x)), ([2.0, 0.0],)),
    Case(Op.Sqrt, unselected(Op.Sqrt), ([2.0, -1.0],)),
    Case(Op.Log2, unselected(Op.Log2), ([2.0, -1.0],)),
    Case(Op.Exp2, unselected(Op.Exp2), ([2.0, 2048.0],)),
    Case(
        Op.Sin,
        lambda x: Op.Where(mask(True, False), Op.Sin(x), tensor([1.0, 2.0], float64)),
        ([0.5, INF],),
    ),
    Case(Op.Pow, unselected(lambda x: Op.Pow(x, tensor([2.0, -1.0], float64))), ([2.0, 0.0],)),
    Case(Op.Mul, unselected(lambda x: Op.Mul(x, tensor([2.0, INF], float64))), ([2.0, 1.0],)),
    Case(Op.Mulacc, unselected(lambda x: Op.Mulacc(x, tensor([2.0, INF], float64), x)), ([2.0, 1.0],)),
    Case(Op.Reduce, unselected(magnified), ([3.0, 2.0],), name="product"),
    Case(Op.Shrink, lambda x: shrink(Op.Recip(x), (1,), (2,)), ([0.0, 0.5, 2.0],), bound=100.0),
    Case(Op.Index, lambda x: Op.Index(Op.Recip(x), tensor([2, 1, 2], index)), ([0.0, 1.0, 2.0],)),
    Case(Op.Slice, lambda x: Op.Slice(Op.Recip(x), number(1), arg=SliceArg(1, float64)), ([0.0, 1.0],)),
    Case(Op.Max, lambda x, c: Op.Max(Op.Neg(Op.Recip(Op.Mul(x, x))), c), ([0.0, 1.0], [2.0, -3.0])),
    Case(
        Op.Reduce,
        lambda x: reduced(Op.Max, 0)(Op.Neg(Op.Recip(Op.Mul(x, x)))),
        ([0.0, 1.0, 0.5],),
        name="maximum",
    ),
    Case(Op.Where, lambda x: Op.Where(mask(True, False), x, Op.Recip(x)), ([0.0, 1.0],)),
    Case(Op.Load, lambda x: Op.Load(Op.Recip(x), x, mask(True, False)), ([2.0, 0.0],)),
    Case(Op.Permute, not_read_through(lambda r: Op.Permute(r, arg=(0,))), ([0.0, 1.0, 2.0],)),
    Case(Op.Flip, not_read_through(lambda r: Op.Flip(r, arg=(True,))), ([2.0, 1.0, 0.0],)),
    Case(Op.Reshape, not_read_through(lambda r: reshape(reshape(r, (3, 1)), (3,))), ([0.0, 1.0, 2.0],)),
    Case(
        Op.Expand,
        not_read_through(lambda r: reshape(shrink(expand(reshape(r, (3, 1)), (3, 4)), (0, 1), (3, 1)), (3,))),
        ([0.0, 1.0, 2.0],),
    ),
    Case(Op.Pad, lambda x: shrink(pad(Op.Recip(x), (1,), (5,)), (2,), (3,)), ([0.0, 1.0, 2.0],)),
    Case(Op.Stack, lambda x: Op.Index(Op.Stack(Op.Recip(x), x), number(1)), ([0.0, 1.0, 2.0],)),
    Case(Op.Replicated, replicas_not_read, ([0.0, 1.0],)),
    Case(Op.Bitcast, not_read_through(lambda r: Op.Bitcast(r, arg=float64)), ([0.0, 1.0, 2.0],)),
    Case(Op.Cast, not_read_through(lambda r: Op.Cast(r, arg=float64)), ([0.0, 1.0, 2.0],)),
    Case(Op.Contiguous, not_read_through(Op.Contiguous), ([0.0, 1.0, 2.0],)),
    Case(Op.ContiguousBackward, not_read_through(Op.ContiguousBackward), ([0.0, 1.0, 2.0],)),
    Case(Op.Load, not_read_through(Op.Load), ([0.0, 1.0, 2.0],), name="plain"),
    Case(Op.After, not_read_through(Op.After), ([0.0, 1.0, 2.0],)),
    Case(Op.Neg, not_read_through(Op.Neg), ([0.0, 1.0, 2.0],)),
    Case(Op.Add, not_read_through(lambda r: Op.Add(r, r)), ([0.0, 1.0, 2.0],)),
    Case(Op.Sub, not_read_through(lambda r: Op.Sub(Op.Neg(r), r)), ([0.0, 1.0, 2.0],)),
    Case(Op.Function, in_a_function(lambda a, b: unselected(Op.Recip)(b)), ([1.0, 1.0], [2.0, 0.0])),
    Case(Op.GetTuple, function_not_read, ([2.0, 0.0],)),
    Case(Op.GetTuple, two_functions_not_read, ([2.0, 0.0], [3.0, 0.0])),
    Case(Op.Index, unselected(lambda x: Op.Mul(x, OUTSIDE)), ([1.5, 2.5],), name="outside"),
    Case(Op.Max, unselected(lambda x: Op.Max(x, OUTSIDE)), ([1.5, 2.5],), name="invalid"),
    Case(
        Op.Where,
        unselected(lambda x: Op.Where(Op.CmpLt(OUTSIDE, x), x, Op.Neg(x))),
        ([1.5, 2.5],),
        name="invalid condition",
    ),
    Case(Op.Index, unselected(lambda x: Op.Index(x, NOWHERE)), ([1.5, 2.5],), name="invalid index"),
    Case(
        Op.Index,
        lambda x: Op.Where(mask(True, False), Op.Index(x, NOWHERE, number(1)), tensor([1.0, 1.0], float64)),
        ([[1.5, 2.5], [2.0, 3.0]],),
        name="invalid row",
    ),
    Case(
        Op.Index,
        lambda x: Op.Where(mask(True, False), Op.Index(x, number(1), NOWHERE), tensor([1.0, 1.0], float64)),
        ([[1.5, 2.5], [2.0, 3.0]],),
        name="invalid column",
    ),
    Case(
        Op.Index,
        lambda x: Op.Where(
            broadcast_to(const(False, bool_), (2,)),
            Op.Index(x, Op.Index(tensor([0], index), number(5))),
            Op.Index(x, number(1)),
        ),
        ([[1.5, 2.5], [2.0, 3.0]],),
        name="invalid number",
    ),
)
"""What is not read does not count: its derivative is infinite, not a number, or that of an invalid element."""
