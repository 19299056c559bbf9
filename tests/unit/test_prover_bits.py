"""Division by a power of two is a shift and a mask for all bit vectors, at the edges of the dtype and beyond them."""

from __future__ import annotations

import pytest
import z3

from soundline.spec.dtypes import int8, int16, int32, uint8, uint32, uint64
from soundline.spec.ops.node import Op, UOp
from soundline.spec.uop import const, param
from soundline.verify import Const, Value, cdiv, cmod, fits, given, rule
from soundline.verify.judging.judge import prove, prove_layer
from soundline.verify.smt.proving.scalars import pair
from soundline.verify.smt.values.machine_numbers import Machine
from soundline.verify.verdicts.metering import measuring

DIVISIONS = (Op.Idiv, Op.Mod, Op.CDiv, Op.CMod)


def always(left: UOp, right: UOp, *where: UOp) -> bool:
    """Whether two nodes are equal wherever the conditions hold, as the exact algebra says it."""
    algebra = Machine(pair(left, right, where))
    solver = z3.SimpleSolver(ctx=algebra.ctx)
    solver.add(*algebra.denial())
    return solver.check() == z3.unsat


@pytest.mark.parametrize("op", DIVISIONS)
@pytest.mark.parametrize("dtype", [int8, uint8], ids=str)
@pytest.mark.parametrize("k", [0, 1, 3, 6, 7])
def test_a_shifted_power_divides_as_any_number_that_it_equals(op, dtype, k):
    x, count, d = (param(n, dtype, ()) for n in range(3))
    shifted = UOp(Op.Shl, (const(int(dtype.min) if dtype.signed and k == 7 else 1 << k, dtype), count))
    equal = UOp(Op.CmpEq, (shifted, d))
    assert always(UOp(op, (x, shifted)), UOp(op, (x, d)), equal)


@pytest.mark.parametrize("op", DIVISIONS)
@pytest.mark.parametrize("dtype", [int8, uint8, int16], ids=str)
def test_a_power_divides_as_any_number_that_it_equals(op, dtype):
    x, d = (param(n, dtype, ()) for n in range(2))
    every = [1 << k for k in range(dtype.bits - dtype.signed)] + [int(dtype.min)] * dtype.signed
    for n in every:
        power = const(n, dtype)
        assert always(UOp(op, (x, power)), UOp(op, (x, d)), UOp(Op.CmpEq, (power, d))), n


def test_another_number_than_the_power_divides_otherwise():
    x, count, d = (param(n, int8, ()) for n in range(3))
    shifted = UOp(Op.Shl, (const(1, int8), count))
    for op in DIVISIONS:
        assert not always(UOp(op, (x, shifted)), UOp(op, (x, d)), UOp(Op.CmpLe, (shifted, d)))


@rule(dtypes=[int32, uint32])
def shr_by_a_divisor_above_one(x: Value, c: Const):
    given((1 << c) > 1)
    return x >> c, x // (1 << c)


@rule(dtypes=[int32, uint32])
def shr_where_twice_the_divisor_fits(x: Value, c: Const):
    given((2 << c) > 0)
    return x >> c, x // (1 << c)


@rule(dtypes=[int32, uint32])
def mask_of_a_shifted_one(x: Value, c: Const):
    given((1 << c) > 0)
    return x % (1 << c), x & ((1 << c) - 1)


@rule(dtypes=[int32])
def shr_toward_zero(x: Value, c: Const):
    given((1 << c) > 0, x >= 0)
    return cdiv(x, 1 << c), x >> c


@rule(dtypes=[int32])
def remainder_toward_zero(x: Value, c: Const):
    given((1 << c) > 0)
    return cmod(x, 1 << c), x - (cdiv(x, 1 << c) << c)


@pytest.mark.parametrize(
    "stated",
    [
        shr_by_a_divisor_above_one,
        shr_where_twice_the_divisor_fits,
        mask_of_a_shifted_one,
        shr_toward_zero,
        remainder_toward_zero,
    ],
    ids=lambda r: r.id,
)
def test_shifts_and_divisions_by_shifted_ones(stated):
    with measuring() as meter:
        assert prove(stated).verdict == "proved"
    assert meter.work < 4_000_000


@rule(dtypes=[int32, uint32])
def shr_by_any_count(x: Value, c: Const):
    return x >> c, x // (1 << c)


@rule(dtypes=[int32])
def shr_of_a_negative_number_toward_zero(x: Value, c: Const):
    given((1 << c) > 0)
    return cdiv(x, 1 << c), x >> c


@rule(dtypes=[int32])
def mask_by_the_least_value(x: Value, c: Const):
    given((1 << c) != 0)
    return x % (1 << c), x & ((1 << c) - 1)


@rule(dtypes=[int32, uint64])
def sum_of_shifted(x: Value, y: Value, c: Value):
    return (x << c) + (y << c), (x + y) << c


@rule(dtypes=[uint64])
def shifted_twice(x: Value, c: Value, d: Value):
    return (x << c) << d, (x << d) << c


@rule(dtypes=[int32, uint64])
def product_by_a_shifted_one(x: Value, y: Value, c: Value):
    return (x << c) * y, x * ((1 << c) * y)


@rule(dtypes=[int32, uint64])
def shifted_by_the_sum(x: Value, c: Value, d: Value):
    return (x << c) << d, x << (c + d)


@rule(dtypes=[int32, uint64])
def product_by_the_count(x: Value, c: Value):
    return x << c, x * (c + c)


@rule(dtypes=[int32])
def sum_of_shifts_that_fit(x: Value, y: Value, c: Value):
    given(fits(x << c))
    return (x << c) // (1 << c), x


@pytest.mark.parametrize(
    "stated", [sum_of_shifted, shifted_twice, product_by_a_shifted_one], ids=lambda r: r.id
)
def test_a_shift_multiplies_by_what_its_count_says(stated):
    with measuring() as meter:
        assert prove(stated).verdict == "proved"
    assert meter.work < 100_000


@pytest.mark.parametrize(
    "stated", [shifted_by_the_sum, product_by_the_count, sum_of_shifts_that_fit], ids=lambda r: r.id
)
def test_a_shift_that_multiplies_by_something_else(stated):
    assert {layer.verdict for layer in prove(stated).layers} == {"refuted"}


def test_the_smallest_counterexample_of_a_shift_is_found_all_the_same():
    found = prove_layer(shifted_by_the_sum, int32).counterexample
    assert found is not None
    assert found.bindings == (("x", "1"), ("c", "1"), ("d", "-1"))


def test_shifts_that_no_division_is():
    assert (
        prove_layer(shr_by_any_count, int32).verdict == "refuted"
    )  # by -2^31 or 0, where a sign is what is left
    assert prove_layer(shr_by_any_count, uint32).verdict == "proved"
    assert prove(shr_of_a_negative_number_toward_zero).verdict == "refuted"
    assert prove(mask_by_the_least_value).verdict == "refuted"
