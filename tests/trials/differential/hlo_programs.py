"""
Random programs for StableHLO
=============================

Small programs over the ops that StableHLO defines as we do, drawn from a seed alone. Their inputs favour the values
that tell definitions apart: zeros of both signs, infinities, NaN, subnormals, ends of ranges.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import (
    DType,
    Element,
    bfloat16,
    bool_,
    exponent_range,
    float16,
    float32,
    float64,
    ints,
    largest_finite,
    round_to,
    wrap,
)
from soundline.spec.uop import (
    Op,
    ReduceArg,
    UOp,
    broadcast_to,
    const,
    expand,
    pad,
    param,
    reshape,
    shrink,
)

FLOATS = (float16, bfloat16, float32, float64)
DTYPES = (bool_, *ints, *FLOATS)
KINDS = ("elementwise", "movement", "reduce", "dot", "select", "convert", "pad", "slice")
"""What a program may be drawn around; each is drawn as often."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A program, its Params, and the values to bind."""

    kind: str
    root: UOp
    params: tuple[UOp, ...]
    values: tuple[Array, ...]


def element(rng: random.Random, dtype: DType) -> Element:
    """An element: often a telling one, else any."""
    if dtype is bool_:
        return rng.random() < 0.5
    if dtype.is_int:
        telling = [0, 1, -1, 2, int(dtype.min), int(dtype.max), rng.randrange(-9, 10)]
        return wrap(dtype, rng.choice(telling) if rng.random() < 0.7 else rng.getrandbits(dtype.bits))
    tiny = 2.0 ** (exponent_range(dtype)[0] - dtype.mantissa_bits)
    telling_floats = [0.0, -0.0, math.inf, -math.inf, math.nan, tiny, -largest_finite(dtype), 1.0, 0.5]
    if rng.random() < 0.35:
        return round_to(dtype, rng.choice(telling_floats))
    return round_to(dtype, rng.gauss(0.0, 3.0))


class _Author:
    """One program under construction."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.params: list[UOp] = []

    def input(self, dtype: DType, shape: tuple[int, ...]) -> UOp:
        """A new Param."""
        made = param(len(self.params), dtype, shape)
        self.params.append(made)
        return made

    def shape(self) -> tuple[int, ...]:
        """A small shape."""
        return tuple(self.rng.choice((1, 2, 3, 4)) for _ in range(self.rng.randrange(0, 4)))

    def value(self, dtype: DType, shape: tuple[int, ...], depth: int) -> UOp:
        """A value of this dtype and shape."""
        choice = self.rng.random()
        if depth <= 0 or choice < 0.15:
            return self.leaf(dtype, shape)
        if choice < 0.55:
            return self.elementwise(dtype, shape, depth - 1)
        if choice < 0.7:
            return self.converted(dtype, shape, depth - 1)
        return self.moved(dtype, shape, depth - 1)

    def leaf(self, dtype: DType, shape: tuple[int, ...]) -> UOp:
        """An input, sometimes one that is there already, or a constant."""
        same = [p for p in self.params if p.dtype is dtype and p.shape == shape]
        if same and self.rng.random() < 0.5:
            return self.rng.choice(same)
        if self.rng.random() < 0.2:
            return broadcast_to(const(element(self.rng, dtype), dtype), shape)
        return self.input(dtype, shape)

    def elementwise(self, dtype: DType, shape: tuple[int, ...], depth: int) -> UOp:
        """An op on each element."""

        def operand(of: DType = dtype) -> UOp:
            return self.value(of, shape, depth)

        if dtype is bool_:
            if self.rng.random() < 0.5:
                return UOp(self.rng.choice((Op.And, Op.Or, Op.Xor)), (operand(), operand()))
            of = self.rng.choice(DTYPES[1:])
            compared = self.rng.choice((Op.CmpLt, Op.CmpNe, Op.CmpGt, Op.CmpGe, Op.CmpLe, Op.CmpEq))
            return UOp(compared, (operand(of), operand(of)))
        ops: tuple[Op, ...]
        if dtype.is_float:
            ops = (Op.Add, Op.Sub, Op.Mul, Op.Max, Op.Div, Op.Neg, Op.Sqrt, Op.Recip)
        else:
            ops = (Op.Add, Op.Sub, Op.Mul, Op.Max, Op.And, Op.Or, Op.Xor, Op.Neg, Op.Shl, Op.Shr)
        op = self.rng.choice(ops)
        count = 1 if op in (Op.Neg, Op.Sqrt, Op.Recip) else 2
        return UOp(op, tuple(operand() for _ in range(count)))

    def selected(self, dtype: DType, shape: tuple[int, ...], depth: int) -> UOp:
        """One of two values by a condition."""
        condition = self.value(bool_, shape, depth)
        return Op.Where(condition, self.value(dtype, shape, depth), self.value(dtype, shape, depth))

    def converted(self, dtype: DType, shape: tuple[int, ...], depth: int) -> UOp:
        """A value of another dtype, converted."""
        source = self.rng.choice([d for d in DTYPES if d is not dtype])
        return Op.Cast(self.value(source, shape, depth), arg=dtype)

    def moved(self, dtype: DType, shape: tuple[int, ...], depth: int) -> UOp:
        """A movement op whose result has this shape."""
        if not shape:
            return reshape(self.value(dtype, (1, 1), depth), ())
        kind = self.rng.choice(("permute", "flip", "expand", "reshape", "pad", "slice"))
        if kind == "permute":
            order = list(range(len(shape)))
            self.rng.shuffle(order)
            source = tuple(shape[order.index(k)] for k in range(len(shape)))
            return Op.Permute(self.value(dtype, source, depth), arg=tuple(order))
        if kind == "flip":
            return Op.Flip(self.value(dtype, shape, depth), arg=tuple(self.rng.random() < 0.5 for _ in shape))
        if kind == "expand":
            narrow = tuple(1 if self.rng.random() < 0.5 else s for s in shape)
            x = self.value(dtype, narrow, depth)
            return x if narrow == shape else expand(x, shape)
        if kind == "reshape":
            return reshape(self.value(dtype, (math.prod(shape),), depth), shape)
        return self.padded(dtype, shape, depth) if kind == "pad" else self.sliced(dtype, shape, depth)

    def padded(self, dtype: DType, shape: tuple[int, ...], depth: int) -> UOp:
        """A smaller value with zeros around it."""
        inner = tuple(self.rng.randrange(1, s + 1) for s in shape)
        offset = tuple(self.rng.randrange(0, s - n + 1) for s, n in zip(shape, inner, strict=True))
        return pad(self.value(dtype, inner, depth), offset, shape)

    def sliced(self, dtype: DType, shape: tuple[int, ...], depth: int) -> UOp:
        """A part of a larger value."""
        outer = tuple(s + self.rng.randrange(0, 3) for s in shape)
        offset = tuple(self.rng.randrange(0, o - s + 1) for o, s in zip(outer, shape, strict=True))
        return shrink(self.value(dtype, outer, depth), offset, shape)

    def reduced(self, dtype: DType, depth: int) -> UOp:
        """A reduction over some axes."""
        shape = self.shape() or (3,)
        axes = tuple(k for k in range(len(shape)) if self.rng.random() < 0.6) or (0,)
        ops = (Op.Mul, Op.Max) if dtype is bool_ else (Op.Add, Op.Mul, Op.Max)
        return Op.Reduce(self.value(dtype, shape, depth), arg=ReduceArg(self.rng.choice(ops), axes))

    def product(self, dtype: DType, depth: int) -> UOp:
        """A matrix product. StableHLO adds from +0.0 on, the law from the first product (U-10): of floats, plus 0.0."""
        m, k, n = (self.rng.randrange(1, 5) for _ in range(3))
        a = reshape(self.value(dtype, (m, k), depth), (m, k, 1))
        b = reshape(self.value(dtype, (k, n), depth), (1, k, n))
        products = Op.Mul(broadcast_to(a, (m, k, n)), broadcast_to(b, (m, k, n)))
        total = Op.Reduce(products, arg=ReduceArg(Op.Add, (1,)))
        return Op.Add(total, broadcast_to(const(0.0, dtype), (m, 1, n))) if dtype.is_float else total

    def program(self, kind: str) -> UOp:
        """A program around one kind of op."""
        dtype, depth = self.rng.choice(DTYPES), self.rng.randrange(0, 3)
        shape = self.shape()
        match kind:
            case "elementwise":
                return self.elementwise(dtype, shape, depth)
            case "movement":
                return self.moved(dtype, shape, depth + 1)
            case "reduce":
                return self.reduced(dtype, depth)
            case "dot":
                return self.product(self.rng.choice((*ints, *FLOATS)), depth)
            case "select":
                return self.selected(dtype, shape, depth)
            case "convert":
                return self.converted(dtype, shape, depth)
            case "pad":
                return self.padded(dtype, shape or (2,), depth)
            case _:
                return self.sliced(dtype, shape or (2,), depth)


def drawn(seed: int, number: int) -> Drawn:
    """Program `number` of a seed."""
    rng = random.Random(f"{seed}/{number}")  # no secret
    kind = KINDS[number % len(KINDS)]
    author = _Author(rng)
    root = author.program(kind)
    used = tuple(author.params)
    return Drawn(kind, root, used, tuple(_bound(rng, p) for p in used))


def _bound(rng: random.Random, p: UOp) -> Array:
    assert p.shape is not None
    shape = tuple(s for s in p.shape if isinstance(s, int))
    return Array(p.dtype, shape, tuple(element(rng, p.dtype) for _ in range(math.prod(shape))))
