"""Random small programs: graphs over stored values, built op by op so that every one is well formed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from soundline.impl.arrays import storage
from soundline.spec.dtypes import (
    DType,
    bool_,
    floats,
    from_bits,
    ieee_floats,
    ints,
    to_numpy,
    uint64,
)
from soundline.spec.uop import (
    Op,
    ReduceArg,
    UOp,
    broadcast_to,
    const,
    element_of,
    expand,
    pad,
    reshape,
    shrink,
)

DTYPES = (bool_, *ints, *floats)
SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    3.0,
    math.inf,
    -math.inf,
    math.nan,
    1e-45,
    448.0,
    65504.0,
    1e-7,
    -2.5,
    3e38,
)


def elements(dtype: DType) -> st.SearchStrategy[Any]:
    """Elements of a dtype: ends and special values as often as arbitrary bit patterns."""
    if dtype is bool_:
        return st.booleans()
    patterns = st.integers(0, (1 << dtype.bits) - 1).map(lambda n: from_bits(dtype, n))
    if dtype.is_float:
        return st.one_of(st.sampled_from(SPECIAL).map(lambda x: element_of(x, dtype)), patterns)
    near = st.sampled_from((0, 1, 2, 3, 7, int(dtype.max), int(dtype.min), int(dtype.max) - 1))
    signs = near.map(lambda n: element_of(-n, dtype)) if dtype.signed else near
    return st.one_of(near, signs, patterns)


shapes = st.lists(st.sampled_from((0, 1, 1, 2, 2, 3, 3, 4, 5)), max_size=3).map(tuple)


@st.composite
def leaf(draw: st.DrawFn, dtype: DType, shape: tuple[int, ...]) -> UOp:
    """A stored value."""
    count = math.prod(shape)
    values = draw(st.lists(elements(dtype), min_size=count, max_size=count))
    return storage.keep(np.array(values, dtype=to_numpy(dtype)).reshape(shape))


def _rank(x: UOp) -> int:
    return len(x.shape or ())


@st.composite
def moved(draw: st.DrawFn, x: UOp) -> UOp:
    """A movement op on x."""
    shape = tuple(int(s) for s in x.shape or ())
    rank = len(shape)
    kind = draw(st.sampled_from(("permute", "flip", "reshape", "expand", "pad", "shrink", "stack", "flat")))
    if kind == "permute":
        return Op.Permute(x, arg=tuple(draw(st.permutations(range(rank)))))
    if kind == "flip":
        return Op.Flip(x, arg=tuple(draw(st.lists(st.booleans(), min_size=rank, max_size=rank))))
    if kind == "expand":
        return expand(x, tuple(draw(st.integers(0, 3)) if s == 1 else s for s in shape))
    if kind == "pad":
        rows = [(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in shape]
        return pad(
            x, tuple(a for a, _ in rows), tuple(a + s + b for (a, b), s in zip(rows, shape, strict=True))
        )
    if kind == "shrink":
        rows = []
        for s in shape:
            start = draw(st.integers(0, s))
            rows.append((start, draw(st.integers(0, s - start))))
        return shrink(x, tuple(a for a, _ in rows), tuple(n for _, n in rows))
    if kind == "stack":
        return Op.Stack(x, x) if draw(st.booleans()) else Op.Stack(x)
    if kind == "flat" or rank == 0:
        return reshape(x, (math.prod(shape),))
    return reshape(x, draw(st.sampled_from(_refactored(shape))))


def _refactored(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    count = math.prod(shape)
    found = [shape, (count,), (1, count), (*shape, 1)]
    found += [(k, count // k) for k in range(2, count) if count % k == 0]
    return found


_COMPARISONS = (Op.CmpLt, Op.CmpNe, Op.CmpEq, Op.CmpGe, Op.CmpLe, Op.CmpGt)
_BITS = (Op.And, Op.Or, Op.Xor, Op.Shl, Op.Shr)
_INTEGER = (Op.Add, Op.Sub, Op.Mul, Op.Max, Op.Idiv, Op.Mod, Op.CDiv, Op.CMod, *_BITS)
_BOTH = {
    "bool": (Op.And, Op.Or, Op.Xor, Op.Max, Op.Mul, *_COMPARISONS),
    "int": (*_INTEGER, *_COMPARISONS),
    "float": (Op.Add, Op.Sub, Op.Mul, Op.Max, Op.Div, *_COMPARISONS),
}
_ONE = {
    "bool": (Op.Not,),
    "int": (Op.Neg,),
    "float": (Op.Neg, Op.Recip, Op.Sqrt, Op.Trunc),
}


def kind_of(dtype: DType) -> str:
    """bool, int or float."""
    return "int" if dtype.is_int else dtype.kind


@st.composite
def unary(draw: st.DrawFn, x: UOp) -> UOp:
    """An elementwise op of one operand, a cast or a bit cast."""
    choices = [*_ONE[kind_of(x.dtype)], Op.Cast]
    if x.dtype in ieee_floats:
        choices += [Op.Exp2, Op.Log2, Op.Sin]
    if x.dtype is not bool_:
        choices.append(Op.Bitcast)
    op = draw(st.sampled_from(choices))
    if op is Op.Cast:
        return Op.Cast(x, arg=draw(st.sampled_from(DTYPES)))
    if op is Op.Bitcast:
        targets = [d for d in (*ints, *floats) if d.bits == x.dtype.bits or _divides(x, d)]
        return Op.Bitcast(x, arg=draw(st.sampled_from(targets)))
    return UOp(op, (x,))


def _divides(x: UOp, dtype: DType) -> bool:
    return bool(x.shape) and int(x.shape[-1]) * x.dtype.itemsize % dtype.itemsize == 0


@st.composite
def binary(draw: st.DrawFn, x: UOp, pool: list[UOp]) -> UOp:
    """An elementwise op of two operands: x, and a value of the pool, a constant or a fresh leaf brought to its type."""
    shape = tuple(int(s) for s in x.shape or ())
    partners = [p for p in pool if p.shape == x.shape]
    pick = draw(st.integers(0, 2))
    if pick == 0 and partners:
        other = draw(st.sampled_from(partners))
        other = other if other.dtype is x.dtype else Op.Cast(other, arg=x.dtype)
    elif pick == 1:
        other = broadcast_to(const(draw(elements(x.dtype)), x.dtype), shape)
    else:
        other = draw(leaf(x.dtype, shape))
    choices = [*_BOTH[kind_of(x.dtype)]]
    if x.dtype in ieee_floats:
        choices.append(Op.Pow)
    if x.dtype is uint64:
        choices.append(Op.Threefry)
    op = draw(st.sampled_from(choices))
    return UOp(op, (x, other) if draw(st.booleans()) else (other, x))


@st.composite
def ternary(draw: st.DrawFn, x: UOp, pool: list[UOp]) -> UOp:
    """Where on a comparison of x, or Mulacc."""
    shape = tuple(int(s) for s in x.shape or ())
    other = draw(leaf(x.dtype, shape))
    if x.dtype is not bool_ and draw(st.booleans()):
        return Op.Mulacc(x, other, draw(leaf(x.dtype, shape)))
    partners = [p for p in pool if p.shape == x.shape and p.dtype is bool_]
    chosen = draw(st.sampled_from(partners)) if partners else Op.CmpLt(x, other)
    return Op.Where(chosen, x, other)


@st.composite
def reduced(draw: st.DrawFn, x: UOp) -> UOp:
    """A reduction over some axes."""
    axes = tuple(k for k in range(_rank(x)) if draw(st.booleans()))
    ops = (Op.Max, Op.Mul) if x.dtype is bool_ else (Op.Add, Op.Max, Op.Mul)
    return Op.Reduce(x, arg=ReduceArg(draw(st.sampled_from(ops)), axes))


@st.composite
def programs(draw: st.DrawFn, steps: int = 6) -> list[UOp]:
    """One to three results of a random graph."""
    pool = [draw(leaf(draw(st.sampled_from(DTYPES)), draw(shapes)))]
    for _ in range(draw(st.integers(1, steps))):
        x = draw(st.sampled_from(pool[-3:]))
        kind = draw(
            st.sampled_from(("move", "move", "unary", "unary", "binary", "binary", "ternary", "reduce"))
        )
        made = {
            "move": lambda x=x: draw(moved(x)),
            "unary": lambda x=x: draw(unary(x)),
            "binary": lambda x=x: draw(binary(x, pool)),
            "ternary": lambda x=x: draw(ternary(x, pool)),
            "reduce": lambda x=x: draw(reduced(x)),
        }[kind]()
        if math.prod(int(s) for s in made.shape or ()) <= 200:
            pool.append(made)
    return pool[-draw(st.integers(1, 3)) :]
