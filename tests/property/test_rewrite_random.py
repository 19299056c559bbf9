"""
Rewriting random programs
=========================

A random program and what the engine makes of it with the whole library have the same value on random inputs: NaN,
infinities, both zeros, ends of dtypes, empty shapes and invalid elements among them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from soundline.impl.rewriting.engine import rewrite
from soundline.impl.rules import SIMPLIFY
from soundline.spec.arrays.arrays import Array, Cell
from soundline.spec.dtypes import (
    DType,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float16,
    float32,
    index,
    int8,
    int32,
    round_to,
    uint8,
)
from soundline.spec.errors import EvaluationError, IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.bounds import order
from soundline.spec.ops.node import Op, UOp, toposort
from soundline.spec.rules.language import Rule, Sides, rule
from soundline.spec.rules.terms import Flags, Tensor, Value
from soundline.spec.uop import broadcast_to, const, element_of, expand, loop, pad, param, reshape, shrink
from soundline.spec.values.elementwise import ELEMENTWISE

DTYPES = (bool_, int8, uint8, int32, index, index, float16, bfloat16, float32, float8_e4m3fn)
SHAPES = ((), (3,), (2, 2), (1, 3), (0,), (2, 1, 2))
UNARY = (Op.Neg, Op.Not, Op.Recip, Op.Trunc, Op.Sqrt)
BINARY = (
    *(Op.Add, Op.Sub, Op.Mul, Op.Max, Op.Idiv, Op.Mod, Op.CDiv, Op.CMod, Op.Div, Op.And, Op.Or, Op.Xor),
    *(Op.Shl, Op.Shr, Op.CmpLt, Op.CmpLe, Op.CmpGt, Op.CmpGe, Op.CmpEq, Op.CmpNe),
)
FLOATS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    0.5,
    3.0,
    -2.5,
    1e-7,
    448.0,
    65504.0,
    1e-45,
    math.inf,
    -math.inf,
    math.nan,
)
WHOLE = (0, 1, 2, 3, 4, 6, 8, 12, -1, -2, -3, -5, 127, -128, 255, 1 << 31)

assert set(UNARY) | set(BINARY) < set(ELEMENTWISE)


def numbers(dtype: DType) -> st.SearchStrategy[Any]:
    """Elements at which laws bend."""
    if dtype is bool_:
        return st.booleans()
    if dtype.is_float:
        return st.sampled_from(FLOATS).map(lambda x: round_to(dtype, x))
    return st.sampled_from(WHOLE).map(lambda n: element_of(n, dtype))


Case = tuple[UOp, dict[int, Array], dict[int, int]]
"""A program, values for its Params and for its Ranges."""

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def _admits(op: Op, dtype: DType, operands: int) -> bool:
    try:
        UOp(op, (const(element_of(1, dtype), dtype),) * operands)
    except IllFormed:
        return False
    return True


ADMITTED = {
    (count, dtype): [op for op in ops if _admits(op, dtype, count)]
    for count, ops in ((1, UNARY), (2, BINARY))
    for dtype in DTYPES
}


class Grower:
    """Grows a program from its leaves; remembers its Params and Ranges."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.dtypes = st.sampled_from(draw(st.lists(st.sampled_from(DTYPES), min_size=1, max_size=2)))
        self.shapes = st.sampled_from(draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=2)))
        self.params: list[UOp] = []
        self.pool: list[UOp] = []

    def leaf(self) -> UOp:
        kind = self.draw(
            st.sampled_from(("param", "param", "bounded", "const", "const", "range", "gathered"))
        )
        dtype, shape = self.draw(self.dtypes), self.draw(self.shapes)
        if kind == "const":
            return broadcast_to(const(self.draw(numbers(dtype)), dtype), shape)
        if kind == "range":
            return loop(self.draw(st.sampled_from((1, 2, 4, 6))), self.draw(st.integers(0, 2)))
        if kind == "gathered" and dtype is not index:
            table = self._param(dtype, (4,), None)
            return Op.Index(table, self._param(index, (), None))
        ends = sorted(self.draw(st.tuples(*[numbers(dtype)] * 2)), key=order)
        bounds = tuple(ends) if kind == "bounded" and all(e == e for e in ends) else None
        return self._param(dtype, shape, bounds)

    def _param(self, dtype: DType, shape: tuple[int, ...], bounds: Any) -> UOp:
        self.params.append(param(len(self.params), dtype, shape, bounds=bounds))
        return self.params[-1]

    def some(self, dtype: DType | None = None) -> UOp:
        fitting = [n for n in self.pool if dtype is None or n.dtype is dtype][-4:]
        return (
            self.draw(st.sampled_from(fitting))
            if fitting
            else const(self.draw(numbers(dtype or int8)), dtype or int8)
        )

    def like(self, node: UOp) -> UOp:
        """Another operand for an op on `node`: of its dtype, brought to its shape."""
        same = [n for n in self.pool if n.dtype is node.dtype and n.shape == node.shape]
        if same and self.draw(st.integers(0, 2)):
            return self.draw(st.sampled_from(same))
        return broadcast_to(const(self.draw(numbers(node.dtype)), node.dtype), node.shape or ())

    def grow(self) -> UOp:
        x = self.some()
        kind = self.draw(
            st.sampled_from(
                ("unary", "binary", "binary", "binary", "binary", "where", "cast", "move", "move")
            )
        )
        if kind == "unary":
            return UOp(self.draw(st.sampled_from(ADMITTED[1, x.dtype])), (x,))
        if kind == "binary":
            pair = (x, self.like(x))
            return UOp(
                self.draw(st.sampled_from(ADMITTED[2, x.dtype])),
                pair if self.draw(st.booleans()) else pair[::-1],
            )
        if kind == "where":
            condition = broadcast_to(self.some(bool_), x.shape or ()) if x.shape else self.some(bool_)
            return Op.Where(condition, x, self.like(x))
        if kind == "cast":
            return Op.Cast(x, arg=self.draw(st.sampled_from(DTYPES)))
        return self.move(x)

    def move(self, x: UOp) -> UOp:
        shape = tuple(int(s) for s in x.shape or () if isinstance(s, int))
        rank = len(shape)
        match self.draw(st.sampled_from(("permute", "flip", "reshape", "expand", "pad", "shrink"))):
            case "permute":
                return Op.Permute(x, arg=tuple(self.draw(st.permutations(range(rank)))))
            case "flip":
                return Op.Flip(x, arg=tuple(self.draw(st.tuples(*[st.booleans()] * rank))))
            case "reshape":
                total = math.prod(shape)
                options = [s for s in (shape[::-1], (total,), (1, *shape), (*shape, 1)) if len(s) <= 3]
                return reshape(x, self.draw(st.sampled_from(options)))
            case "expand":
                return expand(x, tuple(self.draw(st.sampled_from((1, 2, 3))) if s == 1 else s for s in shape))
            case "pad":
                offset = tuple(self.draw(st.integers(0, 1)) for _ in shape)
                return pad(
                    x,
                    offset,
                    tuple(s + o + self.draw(st.integers(0, 1)) for s, o in zip(shape, offset, strict=True)),
                )
            case _:
                offset = tuple(self.draw(st.integers(0, s)) for s in shape)
                sizes = tuple(self.draw(st.integers(0, s - o)) for s, o in zip(shape, offset, strict=True))
                return shrink(x, offset, sizes)


@st.composite
def programs(draw: st.DrawFn) -> Case:
    """A program, values for its Params and for its Ranges."""
    grower = Grower(draw)
    grower.pool = [grower.leaf() for _ in range(draw(st.integers(1, 4)))]
    for _ in range(draw(st.integers(3, 16))):
        try:
            node = grower.grow()
        except IllFormed:
            continue
        if math.prod(s for s in node.shape or () if isinstance(s, int)) <= 64:
            grower.pool.append(node)
    root = max(grower.pool, key=lambda n: sum(1 for _ in toposort(n)))
    values = {p.arg.slot: _values(draw, p) for p in grower.params}
    loops = {n.arg.id: int(n.src[0].arg.value) for n in toposort(root) if n.op is Op.Range}
    return root, values, {k: draw(st.integers(0, n - 1)) for k, n in loops.items()}


def _values(draw: st.DrawFn, node: UOp) -> Array:
    count = math.prod(s for s in node.shape or () if isinstance(s, int))
    value = numbers(node.dtype)
    if node.arg.bounds is not None:
        low, high = (b.value for b in node.arg.bounds)
        inside = [v for v in (FLOATS if node.dtype.is_float else WHOLE) if low < v < high]
        value = st.sampled_from([low, high, *(element_of(v, node.dtype) for v in inside)])
    elements: tuple[Cell, ...] = tuple(draw(value) for _ in range(count))
    return Array(node.dtype, tuple(s for s in node.shape or () if isinstance(s, int)), elements)


def difference(case: Case, rules: Sequence[Rule]) -> str | None:
    """What the engine makes wrong of a program with these rules; None also where the program has no value."""
    root, values, ranges = case
    try:
        before = evaluate(root, values, ranges=ranges)
    except EvaluationError:
        return None
    rewritten = rewrite(root, rules)
    after = evaluate(rewritten.uop, values, ranges=ranges)
    if before != after:
        return f"{root}\nis {before}\n{rewritten.uop}\nis {after}\nby {rewritten.applied}"
    if (rewritten.uop.dtype, rewritten.uop.shape) != (root.dtype, root.shape):
        return f"{rewritten.uop} has another type than {root}"
    return (
        None if rewrite(rewritten.uop, rules).uop is rewritten.uop else f"{rewritten.uop} is no normal form"
    )


@settings(max_examples=400, deadline=None, suppress_health_check=SLOW)
@given(programs())
def test_rewriting_keeps_the_value(case: Case) -> None:
    assert difference(case, SIMPLIFY) is None


@rule
def lt_to_le(x: Value, y: Value) -> Sides:
    return x < y, x <= y


@rule
def flip_forgotten(x: Tensor, f: Flags) -> Sides:
    return x.flip(f), x


@pytest.mark.parametrize("planted", [lt_to_le, flip_forgotten], ids=lambda r: r.id)
def test_a_planted_wrong_rule_is_found(planted: Rule) -> None:
    found = find(
        programs(),
        lambda case: difference(case, [planted]) is not None,
        settings=settings(
            max_examples=20_000, deadline=None, suppress_health_check=SLOW, phases=[Phase.generate]
        ),
        random=Random(0),
    )
    assert difference(found, [planted]) is not None
