"""min_max: the exact interval of every row, and that every value lies in it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from soundline.spec.derived_props import MIN_MAX
from soundline.spec.dtypes import (
    DType,
    Element,
    all_dtypes,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float16,
    float32,
    float64,
    floats,
    from_bits,
    index,
    int8,
    int16,
    int32,
    int64,
    ints,
    largest_finite,
    order,
    round_to,
    same_value,
    uint8,
    uint32,
    uint64,
)
from soundline.spec.errors import IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.bounds import (
    Bounds,
    dtype_range,
    greatest,
    hull,
    is_constant,
    least,
    min_max,
)
from soundline.spec.ops.table import TABLE, Op
from soundline.spec.uop import (
    ReduceArg,
    SliceArg,
    UOp,
    WmmaArg,
    buffer,
    const,
    expand,
    loop,
    pad,
    param,
    reshape,
    shrink,
    tensor,
)
from soundline.spec.values.decompositions import PROGRAMS, SIN
from soundline.spec.values.elementwise import ELEMENTWISE, scalar
from soundline.verify.accuracy.decompositions import run_vector
from soundline.verify.accuracy.points import every_number

INF, NAN = math.inf, math.nan
Interval = tuple[Element, Element]


def within(dtype: DType, lo: Element, hi: Element, slot: int = 0, shape: tuple[int, ...] = ()) -> UOp:
    return param(slot, dtype, shape, bounds=(lo, hi))


def anything(dtype: DType, slot: int = 0) -> UOp:
    return param(slot, dtype)


def same_bounds(dtype: DType, a: Bounds | None, b: Bounds | None) -> bool:
    if a is None or b is None:
        return a is b
    ends = ((a.lo, b.lo), (a.hi, b.hi))
    alike = all(type(x) is type(y) and (x == y and order(x) == order(y)) for x, y in ends)
    return alike and a.maybe_nan == b.maybe_nan


WHOLE = dtype_range

# One row: what is bounded, and exactly which bounds come of it.
EXACT: list[tuple[str, Callable[[], UOp], Bounds | None]] = [
    # sources
    ("Const", lambda: const(7, int8), Bounds(7, 7)),
    ("Const -0.0", lambda: const(-0.0, float32), Bounds(-0.0, -0.0)),
    ("Const NaN", lambda: const(NAN, float32), WHOLE(float32)),
    ("Param", lambda: within(int32, -3, 5), Bounds(-3, 5)),
    ("Param of a float", lambda: within(float32, -1.0, 1.0), Bounds(-1.0, 1.0, maybe_nan=False)),
    ("Param unbounded", lambda: anything(uint8), Bounds(0, 255)),
    ("Param unbounded float", lambda: anything(float32), Bounds(-INF, INF, maybe_nan=True)),
    ("Param unbounded index", lambda: anything(index), Bounds(-INF, INF)),
    ("Param unbounded bool", lambda: anything(bool_), Bounds(False, True)),
    ("Buffer", lambda: buffer(0, 2, int8), Bounds(-128, 127)),
    ("Binary", lambda: Op.Binary(arg=b"a"), Bounds(0, 255)),
    ("BinaryCode", lambda: Op.BinaryCode(arg=b"a"), Bounds(0, 255)),
    # movement
    ("Permute", lambda: Op.Permute(within(int8, 1, 2, 0, (2, 2)), arg=(1, 0)), Bounds(1, 2)),
    ("Flip", lambda: Op.Flip(within(int8, 1, 2, 0, (2,)), arg=(True,)), Bounds(1, 2)),
    ("Reshape", lambda: reshape(within(int8, 1, 2, 0, (2,)), (2, 1)), Bounds(1, 2)),
    ("Expand", lambda: expand(within(int8, 1, 2, 0, (1,)), (4,)), Bounds(1, 2)),
    ("Shrink", lambda: shrink(within(int8, 1, 2, 0, (3,)), (1,), (1,)), Bounds(1, 2)),
    ("Index", lambda: Op.Index(within(int8, 1, 2, 0, (3,)), const(0, index)), Bounds(1, 2)),
    ("Replicated", lambda: Op.Replicated(within(int8, 1, 2, 0, (3,)), arg=(0,)), Bounds(1, 2)),
    ("Pad above 0", lambda: pad(within(int8, 5, 7, 0, (2,)), (1,), (4,)), Bounds(0, 7)),
    ("Pad below 0", lambda: pad(within(int8, -7, -5, 0, (2,)), (1,), (4,)), Bounds(-7, 0)),
    ("Pad of floats", lambda: pad(within(float32, -2.0, -0.0, 0, (2,)), (1,), (4,)), Bounds(-2.0, 0.0)),
    ("Pad of bools", lambda: pad(within(bool_, True, True, 0, (2,)), (1,), (4,)), Bounds(False, True)),
    ("Stack", lambda: Op.Stack(within(int8, 1, 2), within(int8, -9, 0, 1), const(5, int8)), Bounds(-9, 5)),
    ("Stack with NaN", lambda: Op.Stack(const(1.0, float32), const(NAN, float32)), WHOLE(float32)),
    ("empty Stack", Op.Stack, None),
    (
        "Slice",
        lambda: Op.Slice(within(int8, 1, 2, 0, (4,)), const(0, index), arg=SliceArg(1, int8)),
        WHOLE(int8),
    ),
    ("Bitcast", lambda: Op.Bitcast(within(int32, 1, 2), arg=float32), WHOLE(float32)),
    # reduce
    ("Reduce Max", lambda: Op.Reduce(within(int8, 1, 2, 0, (3,)), arg=ReduceArg(Op.Max, (0,))), Bounds(1, 2)),
    (
        "Reduce Max of one",
        lambda: Op.Reduce(within(int8, 1, 2, 0, (1,)), arg=ReduceArg(Op.Max, (0,))),
        Bounds(1, 2),
    ),
    (
        "Reduce Max of none",
        lambda: Op.Reduce(within(int8, 1, 2, 0, (0,)), arg=ReduceArg(Op.Max, (0,))),
        WHOLE(int8),
    ),
    (
        "Reduce Max of no axis",
        lambda: Op.Reduce(within(int8, 1, 2, 0, (0,)), arg=ReduceArg(Op.Max)),
        Bounds(1, 2),
    ),
    (
        "Reduce Max of n",
        lambda: Op.Reduce(param(0, int8, (param(1, index),), bounds=(1, 2)), arg=ReduceArg(Op.Max, (0,))),
        WHOLE(int8),
    ),
    ("Reduce Add", lambda: Op.Reduce(within(int8, 1, 2, 0, (1,)), arg=ReduceArg(Op.Add, (0,))), WHOLE(int8)),
    ("Reduce Mul", lambda: Op.Reduce(within(int8, 1, 2, 0, (1,)), arg=ReduceArg(Op.Mul, (0,))), WHOLE(int8)),
    (
        "Reduce Max over r",
        lambda: Op.Reduce(within(int8, 1, 2), loop(1, 0), arg=ReduceArg(Op.Max)),
        Bounds(1, 2),
    ),
    (
        "Reduce Max over none",
        lambda: Op.Reduce(within(int8, 1, 2), loop(0, 0), arg=ReduceArg(Op.Max)),
        WHOLE(int8),
    ),
    (
        "Reduce Max over r < n",
        lambda: Op.Reduce(within(int8, 1, 2), loop(within(index, 0, 9, 1), 0), arg=ReduceArg(Op.Max)),
        WHOLE(int8),
    ),
    # call, load, ordering
    (
        "GetTuple of a Tuple",
        lambda: Op.GetTuple(Op.Tuple(const(1, int8), const(9, int32)), arg=1),
        Bounds(9, 9),
    ),
    (
        "GetTuple of a Function",
        lambda: Op.GetTuple(Op.Function(Op.Tuple(anything(int8)), const(1, int8)), arg=0),
        WHOLE(int8),
    ),
    ("Load", lambda: Op.Load(within(int8, 1, 2)), Bounds(1, 2)),
    ("Load with alt", lambda: Op.Load(within(int8, 1, 2), const(9, int8), const(True, bool_)), Bounds(1, 9)),
    ("Load of a Buffer", lambda: Op.Load(buffer(0, 1, uint8)), Bounds(0, 255)),
    ("After", lambda: Op.After(within(int8, 1, 2), Op.Group()), Bounds(1, 2)),
    ("Range", lambda: loop(10, 0), Bounds(0, 9)),
    ("Range of 1", lambda: loop(1, 0), Bounds(0, 0)),
    ("Range of 0", lambda: loop(0, 0), None),
    ("Range of n", lambda: loop(within(index, 0, 7), 0), Bounds(0, 6)),
    ("Range of any n", lambda: loop(anything(index), 0), Bounds(0, INF)),
    ("Range in an empty Range", lambda: loop(loop(0, 0), 1), None),
    ("Special", lambda: Op.Special(const(8, index), arg="gidx0"), Bounds(0, 7)),
    ("of an empty Range", lambda: Op.Add(loop(0, 0), const(1, index)), None),
    ("Cast of an empty Range", lambda: Op.Cast(loop(0, 0), arg=int8), None),
    ("Contiguous", lambda: Op.Contiguous(within(int8, 1, 2)), Bounds(1, 2)),
    ("ContiguousBackward", lambda: Op.ContiguousBackward(within(int8, 1, 2)), Bounds(1, 2)),
    ("Detach", lambda: Op.Detach(within(int8, 1, 2)), Bounds(1, 2)),
    (
        "Wmma",
        lambda: Op.Wmma(
            *[within(float16, 0.0, 1.0, 0, (4,))] * 2,
            within(float32, 0.0, 1.0, 1, (4,)),
            arg=WmmaArg((8, 16, 16), float16, float32),
        ),
        WHOLE(float32),
    ),
]


def row(
    name: str, op: Op, dtype: DType, *parts: Interval | DType | float, to: Bounds, arg: object = None
) -> None:
    """An elementwise row: each operand an interval, a constant, or (its dtype) anything."""

    def build() -> UOp:
        operands = []
        for slot, part in enumerate(parts):
            if isinstance(part, DType):
                operands.append(anything(part, slot))
            elif isinstance(part, tuple):
                operands.append(within(dtype, *part, slot))
            else:
                operands.append(const(part, dtype))
        return op(*operands, arg=arg)  # type: ignore[no-any-return]

    EXACT.append((f"{op.name} {name}", build, to))


NO, YES, BOTH = Bounds(False, False), Bounds(True, True), Bounds(False, True)

# Add and Sub
row("fits", Op.Add, int8, (-3, 5), (10, 20), to=Bounds(7, 25))
row("reaches the ends", Op.Add, int8, (-100, 100), (-28, 27), to=Bounds(-128, 127))
row("past the end", Op.Add, int8, (0, 100), (0, 28), to=WHOLE(int8))
row("past the low end", Op.Add, int8, (-100, 0), (-29, 0), to=WHOLE(int8))
row("of index", Op.Add, index, (10**400, 10**401), index, to=WHOLE(index))
row("of half lines", Op.Add, index, (1, 10**400), (2, 3), to=Bounds(3, 10**400 + 3))
row("of floats", Op.Add, float32, (-1.0, 2.0), (0.5, 0.75), to=Bounds(-0.5, 2.75))
row("rounds", Op.Add, float32, (1.0, 1.0), (2.0**-25, 2.0**-24 + 2.0**-40), to=Bounds(1.0, 1.0 + 2.0**-23))
row("overflows", Op.Add, float32, (0.0, largest_finite(float32)), (0.0, 2.0**104), to=Bounds(0.0, INF))
row("∞ - ∞", Op.Add, float32, (0.0, INF), (-INF, 0.0), to=Bounds(-INF, INF, maybe_nan=True))
row("-∞ + ∞", Op.Add, float32, (-INF, 0.0), (0.0, INF), to=Bounds(-INF, INF, maybe_nan=True))
row("∞ + ∞", Op.Add, float32, (0.0, INF), (0.0, INF), to=Bounds(0.0, INF))
row("-∞ + -∞", Op.Add, float32, (-INF, 0.0), (-INF, 0.0), to=Bounds(-INF, 0.0))
row("∞ - ∞ alone", Op.Add, float32, (INF, INF), (-INF, -INF), to=WHOLE(float32))
row("of zeros", Op.Add, float32, (-0.0, 0.0), (-0.0, -0.0), to=Bounds(-0.0, 0.0))
row("with NaN", Op.Add, float32, (0.0, 1.0), float32, to=WHOLE(float32))
row("E4M3 overflow is NaN", Op.Add, float8_e4m3fn, (0.0, 448.0), (0.0, 32.0), to=WHOLE(float8_e4m3fn))
row("fits", Op.Sub, int8, (-3, 5), (10, 20), to=Bounds(-23, -5))
row("reaches the ends", Op.Sub, int8, (-100, 100), (-27, 28), to=Bounds(-128, 127))
row("past the end", Op.Sub, int8, (0, 100), (-28, 0), to=WHOLE(int8))
row("below zero", Op.Sub, uint8, (0, 5), (0, 1), to=WHOLE(uint8))
row("above zero", Op.Sub, uint8, (1, 5), (0, 1), to=Bounds(0, 5))
row("of floats", Op.Sub, float32, (1.0, 2.0), (0.5, 0.75), to=Bounds(0.25, 1.5))
row("∞ - ∞", Op.Sub, float32, (0.0, INF), (0.0, INF), to=Bounds(-INF, INF, maybe_nan=True))
row("fits", Op.Neg, int8, (-3, 5), to=Bounds(-5, 3))
row("of the least", Op.Neg, int8, (-128, 5), to=WHOLE(int8))
row("of all but the least", Op.Neg, int8, (-127, 5), to=Bounds(-5, 127))
row("unsigned", Op.Neg, uint8, (0, 1), to=WHOLE(uint8))
row("of index", Op.Neg, index, index, to=WHOLE(index))
row("of floats", Op.Neg, float32, (-0.0, INF), to=Bounds(-INF, 0.0))
row("of anything", Op.Neg, float32, float32, to=WHOLE(float32))
# Mul and Mulacc
row("of signs", Op.Mul, int8, (-3, 5), (-7, 2), to=Bounds(-35, 21))
row("of negatives", Op.Mul, int8, (-5, -3), (-7, -2), to=Bounds(6, 35))
row("reaches the ends", Op.Mul, int8, (-64, 63), (1, 2), to=Bounds(-128, 126))
row("past the end", Op.Mul, int8, (0, 64), (1, 2), to=WHOLE(int8))
row("past the low end", Op.Mul, int8, (-65, 0), (1, 2), to=WHOLE(int8))
row("by 0 of index", Op.Mul, index, index, (0, 0), to=Bounds(0, 0))
row("0 by index", Op.Mul, index, (0, 0), index, to=Bounds(0, 0))
row("by -2 of index", Op.Mul, index, index, (-2, 3), to=WHOLE(index))
row("of huge indices", Op.Mul, index, (10**400, 10**401), (2, 3), to=Bounds(2 * 10**400, 3 * 10**401))
row("of floats", Op.Mul, float32, (-1.0, 2.0), (0.5, 3.0), to=Bounds(-3.0, 6.0))
row("0·∞", Op.Mul, float32, (-1.0, 1.0), (INF, INF), to=Bounds(-INF, INF, maybe_nan=True))
row("∞·0", Op.Mul, float32, (1.0, INF), (0.0, 1.0), to=WHOLE(float32))
row("-∞·0", Op.Mul, float32, (-INF, -1.0), (-1.0, 1.0), to=Bounds(-INF, INF, maybe_nan=True))
row("0·-∞", Op.Mul, float32, (-1.0, 1.0), (-INF, -1.0), to=Bounds(-INF, INF, maybe_nan=True))
row("1·∞", Op.Mul, float32, (1.0, 2.0), (1.0, INF), to=Bounds(1.0, INF))
row("-1·∞", Op.Mul, float32, (-2.0, -1.0), (1.0, INF), to=Bounds(-INF, -1.0))
row("of zeros", Op.Mul, float32, (-1.0, 1.0), (0.0, 0.0), to=Bounds(-0.0, 0.0))
row("with NaN", Op.Mul, float32, float32, (1.0, 2.0), to=WHOLE(float32))
row("E4M3 overflow is NaN", Op.Mul, float8_e4m3fn, (0.0, 448.0), (0.0, 2.0), to=WHOLE(float8_e4m3fn))
row("of bools", Op.Mul, bool_, (False, True), (False, False), to=NO)
row("of bools", Op.Mul, bool_, (True, True), (False, True), to=BOTH)
row("of bools", Op.Mul, bool_, (True, True), (True, True), to=YES)
row("fits", Op.Mulacc, int8, (-3, 5), (-7, 2), (1, 2), to=Bounds(-34, 23))
row("past the end", Op.Mulacc, int8, (0, 64), (1, 2), (0, 0), to=WHOLE(int8))
row("past the end in the sum", Op.Mulacc, int8, (0, 63), (1, 2), (0, 2), to=WHOLE(int8))
row("of floats", Op.Mulacc, float32, (1.0, 2.0), (1.0, 2.0), (-1.0, 1.0), to=Bounds(0.0, 5.0))
# Max
row("of integers", Op.Max, int8, (-3, 5), (1, 2), to=Bounds(1, 5))
row("of zeros", Op.Max, float32, (-0.0, 0.0), (-1.0, -0.0), to=Bounds(-0.0, 0.0))
row("with NaN", Op.Max, float32, float32, (1.0, 2.0), to=Bounds(1.0, INF, maybe_nan=True))
row("with NaN on the right", Op.Max, float32, (1.0, 2.0), float32, to=Bounds(1.0, INF, maybe_nan=True))
row("of bools", Op.Max, bool_, (False, True), (True, True), to=YES)
# Idiv, Mod, CDiv, CMod
row("of signs", Op.Idiv, int8, (-7, 9), (2, 3), to=Bounds(-4, 4))
row("by negatives", Op.Idiv, int8, (-7, 9), (-3, -2), to=Bounds(-5, 3))
row("by anything with 0", Op.Idiv, int8, (1, 9), (0, 3), to=WHOLE(int8))
row("by anything up to 0", Op.Idiv, int8, (1, 9), (-3, 0), to=WHOLE(int8))
row("of the least by -1", Op.Idiv, int8, (-128, 0), (-1, -1), to=WHOLE(int8))
row("of more by -1", Op.Idiv, int8, (-127, 0), (-1, -1), to=Bounds(0, 127))
row("of index", Op.Idiv, index, index, (2, 3), to=WHOLE(index))
row("of index by -2", Op.Idiv, index, index, (-2, -2), to=WHOLE(index))
row("of any index by any", Op.Idiv, index, index, (1, 10**400), to=WHOLE(index))
row("of huge indices", Op.Idiv, index, (10**400, 10**401), (10, 10), to=Bounds(10**399, 10**400))
row("by b ≥ 1", Op.Mod, int8, (-7, 9), (2, 3), to=Bounds(0, 2))
row("by b ≤ -1", Op.Mod, int8, (-7, 9), (-3, -2), to=Bounds(-2, 0))
row("reduced", Op.Mod, int8, (1, 4), (5, 9), to=Bounds(1, 4))
row("reduced from 0 on", Op.Mod, int8, (0, 4), (5, 9), to=Bounds(0, 4))
row("not quite reduced", Op.Mod, int8, (1, 5), (5, 9), to=Bounds(0, 8))
row("not quite reduced below", Op.Mod, int8, (-1, 4), (5, 9), to=Bounds(0, 8))
row("reduced below", Op.Mod, int8, (-4, -1), (-9, -5), to=Bounds(-4, -1))
row("reduced up to 0", Op.Mod, int8, (-4, 0), (-9, -5), to=Bounds(-4, 0))
row("not quite reduced by -5", Op.Mod, int8, (-5, -1), (-9, -5), to=Bounds(-8, 0))
row("not quite reduced above", Op.Mod, int8, (-4, 1), (-9, -5), to=Bounds(-8, 0))
row("by 1", Op.Mod, int8, int8, 1, to=Bounds(0, 0))
row("by -1", Op.Mod, int8, int8, -1, to=Bounds(0, 0))
row("by 0 or more", Op.Mod, int8, (1, 4), (0, 9), to=WHOLE(int8))
row("by 0 or less", Op.Mod, int8, (1, 4), (-9, 0), to=WHOLE(int8))
row("of anything", Op.CDiv, int8, (1, 4), (2, 2), to=WHOLE(int8))
row("of anything", Op.CMod, int8, (1, 4), (2, 2), to=WHOLE(int8))
# comparisons
for _low, _high, _op, _mirror in (
    ((1, 2), (3, 4), Op.CmpLt, Op.CmpGt),
    ((1, 3), (3, 4), Op.CmpLe, Op.CmpGe),
):
    row("decided", _op, int8, _low, _high, to=YES)
    row("decided", _mirror, int8, _high, _low, to=YES)
row("never", Op.CmpLt, int8, (3, 4), (1, 3), to=NO)
row("never", Op.CmpGt, int8, (1, 3), (3, 4), to=NO)
row("never", Op.CmpLe, int8, (4, 5), (1, 3), to=NO)
row("never", Op.CmpGe, int8, (1, 3), (4, 5), to=NO)
row("undecided by one", Op.CmpLt, int8, (1, 3), (3, 4), to=BOTH)
row("undecided by one", Op.CmpLe, int8, (3, 4), (1, 3), to=BOTH)
row("undecided by one", Op.CmpGt, int8, (3, 4), (1, 3), to=BOTH)
row("undecided by one", Op.CmpGe, int8, (1, 3), (3, 4), to=BOTH)
row("apart", Op.CmpNe, int8, (1, 2), (3, 4), to=YES)
row("apart", Op.CmpNe, int8, (3, 4), (1, 2), to=YES)
row("touching", Op.CmpNe, int8, (1, 3), (3, 4), to=BOTH)
row("equal", Op.CmpNe, int8, (3, 3), (3, 3), to=NO)
row("one wide", Op.CmpNe, int8, (3, 3), (3, 4), to=BOTH)
row("apart", Op.CmpEq, int8, (1, 2), (3, 4), to=NO)
row("equal", Op.CmpEq, int8, (3, 3), (3, 3), to=YES)
row("touching", Op.CmpEq, int8, (1, 3), (3, 4), to=BOTH)
row("zeros", Op.CmpEq, float32, (-0.0, -0.0), (0.0, 0.0), to=YES)
row("zeros", Op.CmpLt, float32, (-0.0, -0.0), (0.0, 0.0), to=NO)
row("decided floats", Op.CmpLt, float32, (1.0, 2.0), (3.0, 4.0), to=YES)
row("of index", Op.CmpLt, index, (1, 2), (10**400, 10**401), to=YES)
row("of bools", Op.CmpLt, bool_, (False, False), (True, True), to=YES)
for _op in (Op.CmpLt, Op.CmpNe, Op.CmpGt, Op.CmpGe, Op.CmpLe, Op.CmpEq):
    row("with NaN", _op, float32, float32, (1.0, 1.0), to=BOTH)
    row("with NaN on the right", _op, float32, (1.0, 1.0), float32, to=BOTH)
    row("of any index", _op, index, index, (1, 1), to=BOTH)
row("of True", Op.Not, bool_, (True, True), to=NO)
row("of False", Op.Not, bool_, (False, False), to=YES)
row("of both", Op.Not, bool_, (False, True), to=BOTH)
# bits
for _op, _value in ((Op.Xor, 5), (Op.Or, 7), (Op.And, 2)):
    row("of constants", _op, int8, 6, 3, to=Bounds(_value, _value))
    row("of ranges", _op, int8, (6, 7), (-3, 3), to=WHOLE(int8))
    row("of a constant and a range", _op, int8, (6, 6), (-3, 3), to=WHOLE(int8))
row("of bools", Op.Xor, bool_, True, True, to=NO)
row("of bools", Op.Or, bool_, True, False, to=YES)
row("of bools", Op.And, bool_, (False, True), (False, True), to=BOTH)
row("of non-negatives", Op.And, int8, (5, 100), (0, 7), to=Bounds(0, 7))
row("of non-negatives", Op.And, int8, (0, 7), (5, 100), to=Bounds(0, 7))
row("with a negative", Op.And, int8, (-1, 7), (0, 7), to=WHOLE(int8))
row("with a negative on the right", Op.And, int8, (0, 7), (-1, 7), to=WHOLE(int8))
row("of non-negatives", Op.Or, int8, (0, 7), (0, 7), to=WHOLE(int8))
row("of constants", Op.Shl, int8, 1, 2, to=WHOLE(int8))
row("of constants", Op.Shr, int8, 8, 2, to=WHOLE(int8))
# floats
row("of signs", Op.Trunc, float32, (-2.5, 2.5), to=Bounds(-2.0, 2.0))
row("keeps the zero's sign", Op.Trunc, float32, (-0.5, 0.5), to=Bounds(-0.0, 0.0))
row("of anything", Op.Trunc, float32, float32, to=WHOLE(float32))
row("of one", Op.Recip, float32, (1.0, 2.0), to=WHOLE(float32))
row("of one", Op.Div, float32, (1.0, 2.0), (1.0, 2.0), to=WHOLE(float32))
row("of anything", Op.Exp2, float32, float32, to=Bounds(0.0, INF, maybe_nan=True))
row("without NaN", Op.Exp2, float32, (0.0, 1.0), to=Bounds(0.0, INF))
row("of one", Op.Log2, float32, (1.0, 2.0), to=WHOLE(float32))
row("of one", Op.Pow, float32, (1.0, 2.0), (1.0, 2.0), to=WHOLE(float32))
row("of anything", Op.Sin, float32, float32, to=Bounds(-1.0, 1.0, maybe_nan=True))
row("without ∞", Op.Sin, float32, (0.0, 9.0), to=Bounds(-1.0, 1.0))
row("of ∞", Op.Sin, float32, (0.0, INF), to=Bounds(-1.0, 1.0, maybe_nan=True))
row("of -∞", Op.Sin, float32, (-INF, 0.0), to=Bounds(-1.0, 1.0, maybe_nan=True))
row("from 0 on", Op.Sqrt, float32, (4.0, 9.0), to=Bounds(2.0, 3.0))
row("from -0 on", Op.Sqrt, float32, (-0.0, INF), to=Bounds(-0.0, INF))
row("rounds", Op.Sqrt, float32, (2.0, 2.0), to=Bounds(*[round_to(float32, math.sqrt(2.0))] * 2))
row("of negatives", Op.Sqrt, float32, (-1.0, 9.0), to=Bounds(-0.0, INF, maybe_nan=True))
row("of anything", Op.Threefry, uint64, 1, 2, to=WHOLE(uint64))
# Cast
row("fits", Op.Cast, int32, (-128, 127), to=Bounds(-128, 127), arg=int8)
row("does not fit above", Op.Cast, int32, (0, 128), to=WHOLE(int8), arg=int8)
row("does not fit below", Op.Cast, int32, (-129, 0), to=WHOLE(int8), arg=int8)
row("negative to unsigned", Op.Cast, int8, (-1, 5), to=WHOLE(uint32), arg=uint32)
row("to index", Op.Cast, uint64, (0, 2**64 - 1), to=Bounds(0, 2**64 - 1), arg=index)
row("from index", Op.Cast, index, (0, 100), to=Bounds(0, 100), arg=int8)
row("from any index", Op.Cast, index, index, to=WHOLE(int64), arg=int64)
row("from bool", Op.Cast, bool_, (False, True), to=Bounds(0, 1), arg=int8)
row("from bool to float", Op.Cast, bool_, (True, True), to=Bounds(1.0, 1.0), arg=float16)
row("to float rounds", Op.Cast, int32, (2**24 + 1, 2**24 + 3), to=Bounds(2.0**24, 2.0**24 + 4), arg=float32)
row(
    "to float rounds once",
    Op.Cast,
    int64,
    (0, 2**60 + 2**36 + 1),
    to=Bounds(0.0, 2.0**60 + 2.0**37),
    arg=float32,
)
row("to float16 overflows", Op.Cast, int32, (0, 65520), to=Bounds(0.0, INF), arg=float16)
row("to E4M3 overflows to NaN", Op.Cast, int32, (0, 465), to=WHOLE(float8_e4m3fn), arg=float8_e4m3fn)
row("to E4M3 fits", Op.Cast, int32, (0, 464), to=Bounds(0.0, 448.0), arg=float8_e4m3fn)
row(
    "between floats",
    Op.Cast,
    float64,
    (0.1, 0.3),
    to=Bounds(round_to(float16, 0.1), round_to(float16, 0.3)),
    arg=float16,
)
row("between floats with NaN", Op.Cast, float64, float64, to=WHOLE(float16), arg=float16)
row("∞ to E4M3 is NaN", Op.Cast, float32, (0.0, INF), to=WHOLE(float8_e4m3fn), arg=float8_e4m3fn)
row("to int truncates", Op.Cast, float32, (-2.5, 2.5), to=Bounds(-2, 2), arg=int8)
row("to int saturates", Op.Cast, float32, (-200.0, 1e9), to=Bounds(-128, 127), arg=int8)
row("∞ to int", Op.Cast, float32, (5.0, INF), to=Bounds(5, 127), arg=int8)
row("-∞ to uint", Op.Cast, float32, (-INF, 5.5), to=Bounds(0, 5), arg=uint8)
row("NaN to int is 0", Op.Cast, float32, float32, to=WHOLE(int8), arg=int8)
row("to bool", Op.Cast, int8, (1, 5), to=YES, arg=bool_)
row("to bool", Op.Cast, int8, (-5, -1), to=YES, arg=bool_)
row("to bool", Op.Cast, int8, (0, 0), to=NO, arg=bool_)
row("to bool", Op.Cast, int8, (0, 1), to=BOTH, arg=bool_)
row("to bool", Op.Cast, float32, (-0.0, 0.0), to=NO, arg=bool_)
row("to bool", Op.Cast, float32, float32, to=BOTH, arg=bool_)
EXACT.append(
    (
        "Cast of what may be NaN, else at least 5",
        lambda: Op.Cast(Op.Max(anything(float32), const(5.0, float32)), arg=int8),
        Bounds(0, 127),
    )
)


def from_on(low: int) -> UOp:
    """An index that is at least `low`."""
    return Op.Max(anything(index, 8), const(low, index))  # type: ignore[no-any-return]


for _name, _build, _bounds in (
    ("Mul of a half line", lambda: Op.Mul(from_on(1), within(index, 2, 3)), Bounds(2, INF)),
    ("Mul of a half line by negatives", lambda: Op.Mul(within(index, -3, -2), from_on(1)), Bounds(-INF, -2)),
    ("Mul of a half line by signs", lambda: Op.Mul(from_on(-1), within(index, -3, 2)), Bounds(-INF, INF)),
    ("Mul of a half line by 0 or more", lambda: Op.Mul(from_on(5), within(index, 0, 2)), Bounds(0, INF)),
    ("Mul of two half lines", lambda: Op.Mul(from_on(2), Op.Neg(from_on(3))), Bounds(-INF, -6)),
    ("Add of a half line", lambda: Op.Add(from_on(1), within(index, 2, 10**400)), Bounds(3, INF)),
    ("Idiv by a half line", lambda: Op.Idiv(within(index, -5, 7), from_on(2)), Bounds(-3, 3)),
    ("Idiv of positives by a half line", lambda: Op.Idiv(within(index, 5, 7), from_on(2)), Bounds(0, 3)),
    ("Idiv of 0 by a half line", lambda: Op.Idiv(within(index, 0, 0), from_on(2)), Bounds(0, 0)),
    ("Idiv of negatives by a half line", lambda: Op.Idiv(within(index, -7, -5), from_on(2)), Bounds(-4, -1)),
    (
        "Idiv by a negative half line",
        lambda: Op.Idiv(within(index, 5, 7), Op.Neg(from_on(2))),
        Bounds(-4, -1),
    ),
    ("Idiv of 0 or more by one", lambda: Op.Idiv(within(index, 0, 7), Op.Neg(from_on(2))), Bounds(-4, 0)),
    ("Idiv of a half line", lambda: Op.Idiv(from_on(5), within(index, 2, 3)), Bounds(1, INF)),
    (
        "Idiv of a half line by negatives",
        lambda: Op.Idiv(from_on(5), within(index, -3, -2)),
        Bounds(-INF, -2),
    ),
    ("Mod by a half line", lambda: Op.Mod(anything(index), from_on(2)), Bounds(0, INF)),
):
    EXACT.append((_name, _build, _bounds))
EXACT.append(
    (
        "Where",
        lambda: Op.Where(anything(bool_), within(int8, 1, 2, 1), within(int8, -5, 0, 2)),
        Bounds(-5, 2),
    )
)


@pytest.mark.parametrize(("name", "build", "wanted"), EXACT, ids=[name for name, _, _ in EXACT])
def test_the_exact_bounds_of_a_row(name: str, build: Callable[[], UOp], wanted: Bounds | None) -> None:
    node = build()
    assert same_bounds(node.dtype, min_max(node), wanted), (min_max(node), wanted)


def test_every_op_with_a_value_has_a_law() -> None:
    values = {op for op, e in TABLE.items() if e.laws["dtype"] != "void"}
    assert set(MIN_MAX) == values
    rows = {build().op for _, build, _ in EXACT}
    assert rows == values


# Soundness --------------------------------------------------------------------------------------------------------


def contains(dtype: DType, bounds: Bounds | None, value: Element) -> bool:
    if bounds is None:
        return False
    if value != value:
        return bounds.maybe_nan
    return order(bounds.lo) <= order(value) <= order(bounds.hi)


def operands_of(op: Op) -> int:
    return len(TABLE[op].sources)


INTERVALS: dict[str, list[Interval]] = {
    "int": [
        (-128, -128),
        (-128, 127),
        (-128, -1),
        (-7, -2),
        (-1, -1),
        (-1, 1),
        (0, 0),
        (0, 5),
        (1, 127),
        (3, 3),
        (64, 127),
    ],
    "uint": [(0, 0), (0, 255), (1, 255), (0, 5), (3, 3), (128, 200), (255, 255)],
    "bool": [(False, False), (False, True), (True, True)],
    "index": [(-9, -2), (-1, 1), (0, 0), (0, 7), (3, 3), (2, 10**400)],
}
FLOAT_ENDS = [-INF, -3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 2.0, INF]


def float_intervals(dtype: DType) -> list[Interval]:
    top = largest_finite(dtype)
    ends = [e for e in FLOAT_ENDS if math.isfinite(e) or dtype.has_infinity] + [-top, top]
    return [(a, b) for a, b in itertools.product(sorted(ends, key=order), repeat=2) if order(a) <= order(b)]


def members(dtype: DType, interval: Interval) -> list[Element]:
    """The ends of an interval, what is next to them, and the special numbers inside."""
    lo, hi = interval
    if dtype.is_float:
        pool: list[Element] = [lo, hi, -0.0, 0.0, 1.0, -1.0, 0.25, -0.25, 1.5]
    elif dtype is bool_:
        pool = [lo, hi]
    else:
        pool = [lo, hi, lo + 1, hi - 1, 0, 1, -1, 2, (lo + hi) // 2]
    unique = {(v, order(v)): v for v in pool if order(lo) <= order(v) <= order(hi)}
    return list(unique.values())


def intervals_of(dtype: DType) -> list[Interval]:
    if dtype.is_float:
        found = float_intervals(dtype)
        return found[:: max(1, len(found) // 14)]
    if dtype is bool_:
        return INTERVALS["bool"]
    if dtype is index:
        return INTERVALS["index"]
    scale = 1 << (dtype.bits - 8)
    source = INTERVALS["int" if dtype.signed else "uint"]
    return [
        tuple(int(dtype.max) if e in (127, 255) else e * scale if abs(e) > 63 else e for e in pair)  # type: ignore[misc]
        for pair in source
    ]


def node_over(op: Op, operands: list[UOp], target: DType | None) -> UOp | None:
    try:
        return op(*operands, arg=target)  # type: ignore[no-any-return]
    except IllFormed:
        return None


def check_sound(op: Op, dtype: DType, target: DType | None = None) -> int:
    """Every value of an op over corner values of many intervals lies in the bounds; the number of nodes checked."""
    seen = 0
    count = operands_of(op) - (op is Op.Where)
    pool = intervals_of(dtype)
    for row_of in itertools.product(pool if count < 3 else pool[::3], repeat=count):
        operands = [within(dtype, *pair, slot) for slot, pair in enumerate(row_of)]
        if op in (Op.Shl, Op.Shr) and dtype is index:
            operands[1:] = [const(max(row_of[1][0], 0), index)]
        node = node_over(op, operands, target)
        if node is None:
            return seen
        known = min_max(node)
        seen += 1
        choices = [members(dtype, pair) for pair in row_of]
        if op in (Op.Shl, Op.Shr) and dtype is index:
            choices[1:] = [[operands[1].arg.value]]
        for values in itertools.product(*choices):
            value = scalar(op, dtype, *values, arg=target)
            assert contains(node.dtype, known, value), (op, dtype, row_of, values, value, known)
    return seen


BOUNDED = [op for op in ELEMENTWISE if op not in (Op.Where, Op.Cast, *PROGRAMS)]


@pytest.mark.parametrize("op", BOUNDED)
def test_every_value_of_an_elementwise_op_lies_in_its_bounds(op: Op) -> None:
    assert (
        sum(check_sound(op, d) for d in (int8, uint8, index, bool_, float16, float32, float8_e4m3fn, int64))
        > 2
    )


@pytest.mark.parametrize("op", [Op.Exp2, Op.Log2, Op.Sin, Op.Pow])
def test_every_value_of_a_transcendental_lies_in_its_bounds(op: Op) -> None:
    numbers = (-INF, -200.0, -1.0, -0.0, 0.0, 0.5, 3.0, 200.0, INF, NAN)
    for given in itertools.product(numbers, repeat=operands_of(op)):
        node = op(*(within(float32, x, x, k) if x == x else anything(float32) for k, x in enumerate(given)))
        assert contains(float32, min_max(node), scalar(op, float32, *given))


def test_every_value_of_threefry_lies_in_its_bounds() -> None:
    node = Op.Threefry(within(uint64, 0, 1, 0), within(uint64, 5, 5, 1))
    assert all(contains(uint64, min_max(node), scalar(Op.Threefry, uint64, x, 5)) for x in (0, 1))


@pytest.mark.parametrize("dtype", [float16, bfloat16])
def test_no_sine_of_a_short_format_leaves_its_bounds(dtype: DType) -> None:
    """The greatest sines are 1 exactly, so the interval is tight; NaN comes from the infinities only."""
    values = run_vector(SIN[dtype], every_number(dtype)).astype(np.float64)
    assert (np.nanmin(values), np.nanmax(values)) == (-1.0, 1.0)
    finite = min_max(Op.Sin(within(dtype, -largest_finite(dtype), largest_finite(dtype))))
    assert finite == Bounds(-1.0, 1.0)
    infinite = [
        x for x, y in zip(every_number(dtype).tolist(), values.tolist(), strict=True) if math.isnan(y)
    ]
    assert {x for x in infinite if not math.isnan(x)} == {INF, -INF}


@pytest.mark.parametrize("source", all_dtypes)
def test_every_cast_lies_in_its_bounds(source: DType) -> None:
    seen = sum(check_sound(Op.Cast, source, target) for target in all_dtypes)
    assert seen > 20 if source is not index else seen > 10


def test_every_pair_of_int8_intervals_with_small_ends() -> None:
    ends = (-128, -2, -1, 0, 1, 3, 127)
    pairs = [(a, b) for a, b in itertools.product(ends, repeat=2) if a <= b]
    table = {
        op: {(x, y): scalar(op, int8, x, y) for x in range(-128, 128) for y in (*ends, 2, -3)}
        for op in (Op.Add, Op.Sub, Op.Mul, Op.Idiv, Op.Mod, Op.CmpLt, Op.CmpGe, Op.And, Op.Max)
    }
    for op, values in table.items():
        for (a, b), (c, d) in itertools.product(pairs, repeat=2):
            node = op(within(int8, a, b), within(int8, c, d, 1))
            known = min_max(node)
            assert known is not None
            for y in (c, d, *(e for e in (*ends, 2, -3) if c <= e <= d)):
                for x in {a, b, (a + b) // 2, min(a + 1, b), max(b - 1, a)}:
                    assert known.lo <= values[x, y] <= known.hi, (op, (a, b), (c, d), x, y, known)


@pytest.mark.parametrize("dtype", [bfloat16, float16, float64])
def test_random_expressions_lie_in_their_bounds(dtype: DType) -> None:
    rng = np.random.default_rng(11)
    binary = [Op.Add, Op.Sub, Op.Mul, Op.Max]
    for _ in range(150):
        values = [round_to(dtype, float(v)) for v in rng.normal(scale=100, size=3)]
        leaves = []
        for slot, v in enumerate(values):
            lo, hi = round_to(dtype, v - abs(rng.normal())), round_to(dtype, v + abs(rng.normal()))
            leaves.append(within(dtype, lo, hi, slot))
        node = leaves[0]
        for leaf in leaves[1:]:
            node = binary[rng.integers(0, 4)](node, leaf)
        node = [Op.Neg, Op.Trunc, Op.Sqrt][rng.integers(0, 3)](node)
        value = evaluate(node, dict(enumerate(values))).item()
        assert contains(dtype, min_max(node), value)


def test_movement_and_reduce_lie_in_their_bounds() -> None:
    x = within(int8, 3, 9, 0, (2, 3))
    values = [[3, 9, 4], [5, 6, 7]]
    nodes = [
        pad(x, (1, 0), (4, 3)),
        Op.Permute(x, arg=(1, 0)),
        Op.Reduce(x, arg=ReduceArg(Op.Max, (1,))),
        Op.Reduce(x, arg=ReduceArg(Op.Add, (0, 1))),
        Op.Stack(x, x),
        shrink(x, (0, 1), (1, 2)),
        Op.Flip(x, arg=(True, True)),
    ]
    for node in nodes:
        for value in evaluate(node, {0: values}).elements:
            assert contains(node.dtype, min_max(node), value)  # type: ignore[arg-type]


# Tools ------------------------------------------------------------------------------------------------------------


def test_hull_and_ends() -> None:
    assert hull([]) is None
    assert hull([None, Bounds(1, 2), None]) == Bounds(1, 2)
    assert hull([Bounds(1, 2), Bounds(5, 6)]) == Bounds(1, 6)
    assert hull([Bounds(5, 6), Bounds(1, 2)]) == Bounds(1, 6)
    joined = hull([Bounds(0.0, 1.0, maybe_nan=True), Bounds(-0.0, 0.5)])
    assert joined is not None
    assert same_bounds(float32, joined, Bounds(-0.0, 1.0, maybe_nan=True))
    assert math.copysign(1, least([0.0, -0.0])) == -1
    assert math.copysign(1, greatest([-0.0, 0.0])) == 1


def test_the_dtype_range_says_whether_nan_is_possible() -> None:
    for dtype in all_dtypes:
        known = dtype_range(dtype)
        assert (known.lo, known.hi, known.maybe_nan) == (dtype.min, dtype.max, dtype in floats)
        assert known.maybe_nan or dtype in (*ints, bool_, index)


def test_a_constant_is_one_bit_pattern_without_nan() -> None:
    assert is_constant(const(3, int8))
    assert is_constant(const(-0.0, float32))
    assert is_constant(loop(1, 0))
    assert is_constant(within(index, 4, 4))
    assert not is_constant(loop(0, 0))
    assert not is_constant(loop(2, 0))
    assert not is_constant(const(NAN, float32))
    assert not is_constant(within(float32, -0.0, 0.0))
    assert not is_constant(Op.Max(anything(float32), const(INF, float32)))


def test_bounds_of_a_deep_node_use_each_source_once() -> None:
    node = within(int64, 0, 1)
    for _ in range(200):
        node = Op.Max(node, node)
    assert min_max(node) == Bounds(0, 1)


def test_bitcast_may_give_anything() -> None:
    assert same_value(float32, from_bits(float32, 1), 2.0**-149)
    assert contains(float32, min_max(Op.Bitcast(const(1, int32), arg=float32)), 2.0**-149)
    assert min_max(tensor([1, 5, -2], int16)) == Bounds(-2, 5)
