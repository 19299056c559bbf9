"""Reductions that need no loop: counted positions, elements chosen by position, and what is no such reduction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.lower.graphs.simplify import Applied
from soundline.impl.lower.reductions.closed_forms import closed_form, may_have_one
from soundline.spec.compositions import tensors
from soundline.spec.dtypes import float32, index, int32, int64
from soundline.spec.uop import AxisType, Op, ReduceArg, UOp, buffer, const, loop, param, toposort

TABLE = np.array([1.5, -0.0, np.inf, np.nan, 0.0, -np.inf, 7.0, -2.0], np.float32)
PLACES = np.array([0, 7, 3, 3, -1, 8, 1, 2, 5, 4, 6, -9, 1 << 40], np.int64)


def reductions(program: sl.Program) -> list[UOp]:
    return [n for n in toposort(*program.kernels) if n.op is Op.Reduce]


def chosen(table: np.ndarray, places: np.ndarray) -> np.ndarray:
    inside = (places >= 0) & (places < len(table))
    found = table[np.where(inside, places, 0)]
    return np.where(inside.reshape(-1, *(1,) * (table.ndim - 1)), found, np.zeros((), table.dtype))


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == np.ascontiguousarray(b).tobytes()


def compiled(fn: Callable[..., sl.Tensor], *examples: Any, profile: str = "exact") -> sl.Program:
    return sl.compile(fn, *examples, profile=profile)


# Positions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [sl.int64, sl.int32, sl.float32, sl.float64], ids=str)
@pytest.mark.parametrize("n", [1, 2, 20, 300])
def test_an_arange_of_the_law_has_no_loop_of_its_own(n: int, dtype: sl.DType) -> None:
    program = compiled(lambda: sl.Tensor.of(tensors.arange(n, dtype)))
    assert reductions(program) == []
    assert len(program.kernels) == 1
    assert np.array_equal(program(), np.arange(n))


@pytest.mark.parametrize("dtype", [sl.int8, sl.int32, sl.uint8, sl.int64], ids=str)
def test_a_prefix_sum_of_one_number_has_no_loop(dtype: sl.DType) -> None:
    """It wraps where the dtype does."""
    n = 300
    program = compiled(
        lambda x: sl.Tensor.of(tensors.prefix_sum((sl.Tensor.ones(n, dtype=dtype) * 3).uop)) + x,
        np.zeros(n, np.dtype(str(dtype))),
    )
    assert reductions(program) == []
    expected = np.cumsum(np.full(n, 3, np.dtype(str(dtype))), dtype=np.dtype(str(dtype)))
    assert same_bits(program(np.zeros(n, np.dtype(str(dtype)))), expected)


def test_positions_of_the_tensor_layer_are_ranges() -> None:
    program = compiled(lambda: sl.Tensor.arange(5000))
    assert not any(n.op in (Op.Mod, Op.Idiv) for n in toposort(*program.kernels))
    assert np.array_equal(program(), np.arange(5000))


def test_sums_of_floats_are_no_closed_form() -> None:
    """Ones added in float32 stop at 2^24, so n ones are not n."""
    program = compiled(lambda: sl.Tensor.of(tensors.prefix_sum(sl.Tensor.ones(9).uop)))
    assert np.array_equal(program(), np.arange(1, 10))
    assert reductions(program) != []


# Choices ----------------------------------------------------------------------------------------------------------

GATHERS: dict[str, tuple[Callable[..., sl.Tensor], np.ndarray]] = {
    "of the law": (lambda t, i: sl.Tensor.of(tensors.gather(t.uop, i.uop)), TABLE),
    "of the source, in whole numbers": (
        lambda t, i: sl.Tensor.of(tensors.gather_of_the_source(t.uop, i.uop)),
        np.arange(8, dtype=np.int32) * 5 - 3,
    ),
    "by a product with a one-hot matrix": (
        lambda t, i: i.one_hot(8, sl.int32) @ t,
        np.arange(24, dtype=np.int32).reshape(8, 3) - 7,
    ),
    "by a mask": (
        lambda t, i: (sl.Tensor.arange(8).unsqueeze(1) == i.unsqueeze(0)).where(t.unsqueeze(1), -0.0).sum(0),
        TABLE,
    ),
    "of bools": (
        lambda t, i: sl.Tensor.of(tensors.gather(t.uop, i.uop)),
        np.array([True, False, True, True, False, False, True, False]),
    ),
}


@pytest.mark.parametrize("name", GATHERS)
@pytest.mark.parametrize("profile", ["exact", "fast"])
def test_a_choice_by_position_is_a_load(name: str, profile: str) -> None:
    made, table = GATHERS[name]
    places = PLACES if name != "of the source, in whole numbers" else PLACES[:-1].astype(np.int32)
    program = compiled(made, table, places, profile=profile)
    assert reductions(program) == []
    assert len(program.kernels) == 1
    expected = chosen(table, places)
    got = program(table, places)
    if name == "by a mask":  # where nothing is chosen, the sum is the -0.0 that was asked for
        inside = (places >= 0) & (places < 8)
        assert same_bits(got[inside], expected[inside])
        assert same_bits(got[~inside], np.full((~inside).sum(), -0.0, np.float32))
    else:
        assert same_bits(got, expected)


def test_zeros_beside_the_chosen_one_are_added_to_it() -> None:
    def made(t: sl.Tensor, i: sl.Tensor) -> sl.Tensor:
        return (sl.Tensor.arange(8).unsqueeze(1) == i.unsqueeze(0)).where(t.unsqueeze(1), 0.0).sum(0)

    program = compiled(made, TABLE, PLACES)
    assert reductions(program) == []
    assert same_bits(program(TABLE, PLACES), chosen(TABLE, PLACES) + np.float32(0.0))


def test_a_short_product_with_a_mask_of_floats_stays_a_sum() -> None:
    """0 · ∞ is NaN in every element: the source's listing means that, and no load by itself does (`test_premises`)."""
    made = lambda t, i: i.one_hot(8, sl.float32) @ t.reshape(8, 1)  # noqa: E731
    program = compiled(made, TABLE, PLACES)
    assert reductions(program) != []
    assert np.isnan(program(TABLE, PLACES)).all()


def test_what_is_chosen_from_is_computed_once() -> None:
    places = np.arange(100) % 8
    program = compiled(lambda t, i: sl.Tensor.of(tensors.gather(t.exp().uop, i.uop)), TABLE[:3], places[:50])
    assert reductions(program) == []
    assert len(program.kernels) == 2


def test_a_gather_along_an_axis_and_its_gradient() -> None:
    x = np.random.default_rng(3).normal(size=(5, 7)).astype(np.float32)
    at = np.random.default_rng(4).integers(0, 5, (3, 7))
    program = compiled(lambda t, i: t.gather(0, i), x, at)
    assert reductions(program) == []
    assert same_bits(program(x, at), np.take_along_axis(x, at, 0))


def test_two_readers_of_a_choice_read_it_from_storage() -> None:
    def both(t: sl.Tensor, i: sl.Tensor) -> sl.Tensor:
        found = sl.Tensor.of(tensors.gather(t.uop, i.uop))
        return found + found.flip(0)

    program = compiled(both, TABLE, PLACES[:4])
    assert reductions(program) == []
    found = chosen(TABLE, PLACES[:4])
    with np.errstate(invalid="ignore"):
        assert same_bits(program(TABLE, PLACES[:4]), found + found[::-1])


# By hand ----------------------------------------------------------------------------------------------------------

SOURCE = buffer(0, 64, float32)
R = loop(8, 0, AxisType.REDUCE)
PLACE = param(3, index)


def reduced(value: UOp, op: Op = Op.Add) -> UOp:
    return Op.Reduce(value, R, arg=ReduceArg(op))  # type: ignore[no-any-return]


def read(at: UOp) -> UOp:
    return Op.Load(Op.Index(SOURCE, at))  # type: ignore[no-any-return]


def number(value: float) -> UOp:
    return const(value, float32)


@pytest.mark.parametrize(
    "reduction",
    [
        reduced(Op.Where(Op.CmpEq(R, PLACE), read(R), number(1.0))),  # what is left out is noticed
        reduced(Op.Where(Op.CmpNe(R, PLACE), read(R), number(-0.0))),
        reduced(Op.Where(Op.CmpEq(R, PLACE), read(R), number(1.0)), Op.Max),
        reduced(Op.Where(Op.CmpEq(Op.Mul(R, const(2, index)), PLACE), read(R), number(-0.0))),
        reduced(Op.Mul(Op.Cast(Op.CmpEq(R, PLACE), arg=float32), read(R))),
        reduced(read(R)),
    ],
    ids=["+1.0", "all but one", "max and 1", "2r", "a mask that multiplies", "a sum"],
)
def test_what_is_no_choice_stays_a_reduction(reduction: UOp) -> None:
    applied = Applied()
    assert closed_form(reduction, applied) is None
    assert applied == {}


def test_a_choice_reads_within_its_storage_whatever_the_index() -> None:
    place = Op.Cast(param(4, int64), arg=index)
    found = closed_form(reduced(Op.Where(Op.CmpEq(R, place), read(R), number(-0.0))), Applied())
    assert found is not None
    (load,) = (n for n in toposort(found) if n.op is Op.Load)
    assert len(load.src) == 3
    assert {Op.CmpLe, Op.CmpLt} >= {
        n.op for n in toposort(load.src[2]) if n.op in (Op.CmpLe, Op.CmpLt, Op.CmpGe)
    }


def test_a_choice_puts_only_what_it_chooses_behind_its_gate_and_keeps_the_gate_that_was_there() -> None:
    place = Op.Cast(param(4, int32), arg=index)
    padded = Op.Load(Op.Index(SOURCE, Op.Sub(R, const(1, index))), number(5.0), Op.CmpLe(const(1, index), R))
    product = Op.Mul(padded, read(const(2, index)))
    found = closed_form(reduced(Op.Where(Op.CmpEq(R, place), product, number(-0.0))), Applied())
    assert found is not None
    loads = [n for n in toposort(found) if n.op is Op.Load]
    assert sorted(len(n.src) for n in loads) == [1, 3]
    (gated,) = (n for n in loads if len(n.src) == 3)
    assert gated.src[1] is number(5.0)
    bounds = {(n.op, *n.src) for n in toposort(gated.src[2]) if n.op in (Op.CmpLe, Op.CmpLt)}
    assert bounds == {(Op.CmpLe, const(1, index), place), (Op.CmpLt, place, const(8, index))}


def test_an_index_that_may_need_more_than_64_bits_is_brought_near_first() -> None:
    wide = Op.Cast(param(4, int64), arg=index)
    at = Op.Add(Op.Mul(R, const(8, index)), const(3, index))
    found = closed_form(reduced(Op.Where(Op.CmpEq(R, wide), read(at), number(-0.0))), Applied())
    assert found is not None
    (load,) = (n for n in toposort(found) if n.op is Op.Load)
    assert len(load.src) == 1
    assert any(n.op is Op.Max for n in toposort(load))


def test_the_first_question_is_cheap() -> None:
    x, y = param(0, float32, (8, 4)), param(1, float32, (8, 4))
    assert not may_have_one(Op.Mul(x, y))
    assert not may_have_one(Op.Where(Op.CmpLt(x, y), x, y))
    places = param(2, int32, (8, 4))
    assert may_have_one(Op.Where(Op.CmpEq(places, places), x, y))
