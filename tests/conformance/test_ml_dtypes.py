"""The float laws of bfloat16 and of the two fp8 formats against ml_dtypes: exhaustive, but for pairs of bfloat16."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soundline.spec.dtypes import (
    DType,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    same_value,
    to_numpy,
    uint8,
    uint16,
)
from soundline.spec.ops.table import Op
from soundline.spec.values.elementwise import scalar

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
from float_cases import (
    Counts,
    Operands,
    directed,
    drawn,
    every,
    families,
    pairs,
    truncates_into,
    whole_numbers,
)
from representative import of_each_family

SHORT = (bfloat16, float8_e4m3fn, float8_e5m2)
WHOLE = (int8, uint8, int16, uint16)
BINARY: dict[Op, Callable[..., Any]] = {
    Op.Add: np.add,
    Op.Sub: np.subtract,
    Op.Mul: np.multiply,
    Op.Div: np.divide,
    Op.Max: np.maximum,
}
COMPARISONS: dict[Op, Callable[..., Any]] = {
    Op.CmpLt: np.less,
    Op.CmpGt: np.greater,
    Op.CmpLe: np.less_equal,
    Op.CmpGe: np.greater_equal,
    Op.CmpEq: np.equal,
    Op.CmpNe: np.not_equal,
}
UNARY: dict[Op, Callable[..., Any]] = {
    Op.Neg: np.negative,
    Op.Sqrt: np.sqrt,
    Op.Trunc: np.trunc,
    Op.Recip: lambda x: np.divide(np.ones_like(x), x),
}


@dataclass(frozen=True)
class Suite:
    """One op at one dtype: what ml_dtypes computes, on which operands, and where the laws differ on purpose."""

    op: Op
    dtype: DType
    theirs: Callable[..., Any]
    operands: Callable[[], Iterator[Operands]]
    result: DType

    @property
    def name(self) -> str:
        return f"{self.op.name} {self.dtype}" + (f" to {self.result}" if self.op is Op.Cast else "")

    @property
    def target(self) -> DType | None:
        return self.result if self.op is Op.Cast else None

    def applies(self, operands: Operands) -> bool:
        """Of two zeros numpy's maximum is the first (U-06); an integer that does not fit is decided in U-13."""
        if self.op is Op.Max:
            return any(x != 0 for x in operands)
        if self.op is Op.Cast and self.dtype.is_float and self.result in WHOLE:
            return truncates_into(float(operands[0]), self.result)
        return True

    def counts(self) -> Counts:
        found = [self.applies(o) for o in self.operands()]
        return Counts(sum(found), len(found) - sum(found))


def _pairs(dtype: DType) -> Iterator[Operands]:
    return pairs(dtype, 3000) if dtype is bfloat16 else itertools.product(every(dtype), repeat=2)


def _numbers(dtype: DType) -> Iterator[Operands]:
    wide = dtype in (float32, float64)
    return ((x,) for x in ([*directed(dtype), *drawn(dtype, 3000, 4)] if wide else every(dtype)))


def suites() -> list[Suite]:
    """Every comparison."""
    found = []
    for d in SHORT:
        found += [Suite(op, d, f, lambda d=d: _pairs(d), d) for op, f in BINARY.items()]
        found += [Suite(op, d, f, lambda d=d: _pairs(d), bool_) for op, f in COMPARISONS.items()]
        found += [Suite(op, d, f, lambda d=d: _numbers(d), d) for op, f in UNARY.items()]
        for other in (*SHORT, float16, float32):
            if other is not d:
                found.append(_cast(d, other, lambda d=d: _numbers(d)))
            if other not in SHORT:
                found.append(_cast(other, d, lambda d=other: _numbers(d)))
        for whole in WHOLE:
            found.append(_cast(d, whole, lambda d=d: _numbers(d)))
            found.append(_cast(whole, d, lambda d=whole: ((n,) for n in whole_numbers(d, 2000))))
        found += [_cast(d, float64, lambda d=d: _numbers(d)), _cast(d, bool_, lambda d=d: _numbers(d))]
    return found


def _cast(source: DType, target: DType, operands: Callable[[], Iterator[Operands]]) -> Suite:
    return Suite(Op.Cast, source, lambda x: x.astype(to_numpy(target)), operands, target)


PARAMETERS = of_each_family(
    [pytest.param(suite, id=suite.name) for suite in suites()], lambda suite: families(suite.name)
)
"""Each op, each dtype of operands, and each dtype to cast from and to, is in `make test`."""


@pytest.mark.parametrize("suite", PARAMETERS)
def test_the_law_is_that_of_ml_dtypes(suite: Suite) -> None:
    rows = [o for o in suite.operands() if suite.applies(o)]
    columns = [np.array(column).astype(to_numpy(suite.dtype)) for column in zip(*rows, strict=True)]
    with np.errstate(all="ignore"):
        wanted = suite.theirs(*columns)
    for operands, value in zip(rows, _elements(wanted, suite.result), strict=True):
        found = scalar(suite.op, suite.dtype, *operands, arg=suite.target)
        assert type(found) is type(value), operands
        assert same_value(suite.result, found, value), (operands, found, value)
    assert len(rows) == suite.counts().compared > 0


def _elements(values: Any, dtype: DType) -> list[Any]:
    return values.astype(np.float64).tolist() if dtype.is_float else values.tolist()  # type: ignore[no-any-return]


def test_the_comparison_sees_an_error_of_one_bit() -> None:
    assert scalar(Op.Cast, float32, 1 + 2.0**-8 + 2.0**-20, arg=bfloat16) == 1 + 2.0**-7
    assert scalar(Op.Add, float8_e4m3fn, 448.0, 16.0) == 448.0
    assert math.isnan(float(scalar(Op.Add, float8_e4m3fn, 448.0, 32.0)))
    assert not same_value(bfloat16, 1.0, 1 + 2.0**-7)
    assert scalar(Op.Cast, int32, 257, arg=bfloat16) == 256.0


def counts() -> Counts:
    """The cases of all suites."""
    each = [suite.counts() for suite in suites()]
    return Counts(sum(c.compared for c in each), sum(c.not_applicable for c in each))
