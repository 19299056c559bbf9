"""Corners of min_max that the rows of test_bounds leave open."""

from __future__ import annotations

import math

import pytest

from soundline.spec.dtypes import bool_, float32, index, int8, int32
from soundline.spec.ops.bounds import Bounds, min_max
from soundline.spec.ops.node import Op
from soundline.spec.uop import UOp, const, param

INF = math.inf


def within(dtype, lo, hi, slot: int = 0) -> UOp:
    return param(slot, dtype, bounds=(lo, hi))


HALF_LINE_UP = Op.Max(param(8, index), const(1, index))
HALF_LINE_DOWN = Op.Neg(HALF_LINE_UP)
SINE = Op.Sin(param(0, float32))
"""Between -1 and 1, or NaN."""


@pytest.mark.parametrize(
    ("node", "bounds"),
    [
        (Op.Mul(HALF_LINE_UP, within(index, -3, -2)), Bounds(-INF, -2)),
        (Op.Mul(within(index, -3, -2), HALF_LINE_UP), Bounds(-INF, -2)),
        (Op.Mul(HALF_LINE_DOWN, within(index, -3, -2)), Bounds(2, INF)),
        (Op.Mul(HALF_LINE_DOWN, within(index, 2, 3)), Bounds(-INF, -2)),
        (Op.Mul(HALF_LINE_UP, within(index, 0, 3)), Bounds(0, INF)),
        (Op.Mul(HALF_LINE_UP, const(0, index)), Bounds(0, 0)),
        (Op.Mod(within(int8, -2, 0), within(int8, -5, -3, 1)), Bounds(-2, 0)),
        (Op.Mod(within(int8, -2, 0), within(int8, -5, -2, 1)), Bounds(-4, 0)),
        (
            Op.Load(within(int32, 5, 7), const(9, int32), param(3, bool_)),
            Bounds(5, 9),
        ),
        (Op.Sin(Op.Sin(param(0, float32))), Bounds(-1.0, 1.0, maybe_nan=True)),
        (Op.CmpLt(const(-2.0, float32), SINE), Bounds(False, True)),
        (Op.CmpGt(SINE, const(-2.0, float32)), Bounds(False, True)),
        (Op.CmpNe(const(-2.0, float32), SINE), Bounds(False, True)),
        (Op.Cast(Op.Trunc(Op.Mul(SINE, const(0.5, float32))), arg=bool_), Bounds(False, True)),
        (Op.Idiv(HALF_LINE_UP, within(index, -3, -2)), Bounds(-INF, -1)),
        (Op.Idiv(HALF_LINE_DOWN, within(index, -3, -2)), Bounds(0, INF)),
        (Op.Idiv(within(index, 0, 9), HALF_LINE_UP), Bounds(0, 9)),
        (Op.Idiv(within(index, -9, 9), HALF_LINE_UP), Bounds(-9, 9)),
        (Op.Idiv(within(index, 1, 9), HALF_LINE_DOWN), Bounds(-9, -1)),
    ],
    ids=repr,
)
def test_the_exact_bounds(node: UOp, bounds: Bounds) -> None:
    found = min_max(node)
    assert found == bounds
    assert found is not None
    assert [type(e) for e in (found.lo, found.hi)] == [type(e) for e in (bounds.lo, bounds.hi)]
