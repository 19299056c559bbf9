"""Whether any or all is true: reductions of bools go in vectors of whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.lower.graphs.simplify import Applied
from soundline.impl.lower.schedule.any_reductions import with_whole_numbers
from soundline.spec.dtypes import bool_, float32, float64, int8, int32, int64
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import AxisType, Op, ReduceArg, UOp, buffer, const, loop, toposort

PLACES = [None, 0, 36, 69]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int8, np.bool_])
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("place", PLACES)
def test_any_and_all_are_numpy_s(dtype: Any, axis: int | None, place: int | None) -> None:
    x = np.zeros((7, 10), dtype)
    if place is not None:
        x.flat[place] = 1

    def f(t: Any) -> Any:
        return (t != 0).any(axis), (t == 0).all(axis), (~(t == 0)).any(axis)

    for got, wanted in zip(sl.compile(f, x)(x), f(x), strict=True):
        assert np.array_equal(got, wanted)


def test_nan_is_not_equal_to_itself() -> None:
    x = np.array([[1.0, np.nan], [2.0, 3.0]] * 40, np.float32)
    program = sl.compile(lambda t: ((t != t).any(1), t.eq(t).all(1), (t < np.inf).all()), x)
    some, every, small = program(x)
    assert np.array_equal(some, np.isnan(x).any(1))
    assert np.array_equal(every, ~np.isnan(x).any(1))
    assert not small


def reduction(op: Op, dtype: Any, size: int = 8, compared: Callable[[UOp], UOp] | None = None) -> UOp:
    """The store of a reduction of comparisons."""
    r = loop(size, 0, AxisType.REDUCE)
    load = Op.Load(Op.Index(buffer(0, 8, dtype), r))
    body = Op.CmpLt(load, const(1, dtype)) if compared is None else compared(load)
    found = Op.Reduce(body, r, arg=ReduceArg(op))
    return Op.Store(Op.Index(buffer(1, 1, bool_), const(0, r.dtype)), found)


@pytest.mark.parametrize(("dtype", "wide"), [(float32, int32), (int32, int32), (float64, int64)])
@pytest.mark.parametrize("op", [Op.Max, Op.Mul])
def test_the_numbers_are_as_wide_as_what_was_compared(op: Op, dtype: Any, wide: Any) -> None:
    reductions = [
        n for n in toposort(with_whole_numbers(reduction(op, dtype), Applied())) if n.op is Op.Reduce
    ]
    assert [(n.dtype, n.arg.op) for n in reductions] == [(wide, Op.Max)]


@pytest.mark.parametrize(
    "nest",
    [
        pytest.param(reduction(Op.Max, int8), id="no vectors"),
        pytest.param(reduction(Op.Max, bool_, compared=Op.Not), id="nothing was compared"),
    ],
)
def test_other_reductions_stay(nest: UOp) -> None:
    made = with_whole_numbers(nest, Applied())
    assert sum(n.op is Op.Reduce and n.dtype is bool_ for n in toposort(made)) >= 1


@pytest.mark.parametrize(("op", "wanted"), [(Op.Max, False), (Op.Mul, True)])
def test_a_reduction_of_nothing_keeps_its_value(op: Op, wanted: bool) -> None:
    for nest in (
        reduction(op, float32, size=0),
        with_whole_numbers(reduction(op, float32, size=0), Applied()),
    ):
        assert evaluate(nest.src[1]).elements == (wanted,)


def test_what_is_compared_after_a_reduction_is_stored_as_bools() -> None:
    x = np.random.default_rng(6).standard_normal((7, 10)).astype(np.float32)
    for f in (lambda t: t.sum(0) > 0, lambda t: t.max(0) > 1):
        assert np.array_equal(sl.compile(f, x)(x), f(x))


def test_they_go_in_vectors() -> None:
    for axis in (1, None, (0, 1)):
        program = sl.compile(lambda t, axis=axis: (t > 0).any(axis), np.zeros((4, 512), np.float32))
        assert "bool acc" not in program.source
        assert {"any_in_32_bits", "mask_as_choice"} <= {r.id for r in program.certificate.rules}
