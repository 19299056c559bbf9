"""The profile `fast` stays within the bounds of the law on random and adversarial numbers, and promises are said."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.program.promises import SAME, promises
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import DType, bfloat16, float16, float32, float64
from soundline.spec.uop import Op
from soundline.spec.values.error_bounds import dot_bound, gamma, overflows, product_bound, sum_bound, unit

from .tensor_cases import law

RANDOM = np.random.default_rng(11)
LENGTH = 517


def spread(decades: int) -> np.ndarray:
    """Numbers of all magnitudes, over so many decades on both sides of 1."""
    return RANDOM.choice((-1, 1), LENGTH) * 10.0 ** RANDOM.uniform(-decades, decades, LENGTH)


def cancelling(scale: float) -> np.ndarray:
    """Great numbers that cancel, and small ones that are left."""
    great = RANDOM.standard_normal(LENGTH // 2) * scale
    return RANDOM.permutation([*great, *-great, 1.0])


ROWS: dict[str, np.ndarray] = {
    "normal": RANDOM.standard_normal(LENGTH),
    "positive": RANDOM.uniform(0.5, 1, LENGTH),
    "all alike": np.full(LENGTH, 0.1),
    "alternating": np.tile([1e7, -1e7 + 1], LENGTH)[:LENGTH],
    "cancelling": cancelling(1e6),
    "cancelling far": cancelling(1e25),
    "six decades": spread(6),
    "thirty decades": spread(30),
    "subnormal": RANDOM.standard_normal(LENGTH) * 1e-41,
    "one great": np.r_[np.full(LENGTH - 1, 1.0), 2.0**24],
}
SUMS = sl.compile(lambda x: x.sum(1), np.zeros((len(ROWS), LENGTH), np.float32), profile="fast")
DOTS = sl.compile(
    lambda a, b: a @ b,
    np.zeros((len(ROWS), LENGTH), np.float32),
    np.zeros((LENGTH, 40), np.float32),
    profile="fast",
)


def rows() -> np.ndarray:
    return np.array(list(ROWS.values())).astype(np.float32)


def test_sums_in_any_order_are_within_the_bound() -> None:
    given = rows()
    for name, row, found in zip(ROWS, given, SUMS(given), strict=True):
        terms = row.tolist()
        bound = sum_bound(terms, float32)
        assert bound is not None
        assert not overflows(terms, float32)
        assert abs(Fraction(float(found)) - sum(map(Fraction, terms))) <= bound, name


def test_fused_dot_products_are_within_the_bound() -> None:
    left, right = rows(), RANDOM.standard_normal((LENGTH, 40)).astype(np.float32)
    right[:, 1] = 1.0
    right[:, 2] = np.tile([1, -1], LENGTH)[:LENGTH]
    found = DOTS(left, right)
    for k, name in enumerate(ROWS):
        if name == "subnormal":
            continue  # products underflow, of which the bound says nothing
        for column in (0, 1, 2, 39):
            a, b = left[k].tolist(), right[:, column].tolist()
            exact = sum(Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True))
            bound = dot_bound(a, b, float32)
            assert bound is not None
            assert abs(Fraction(float(found[k, column])) - exact) <= bound, (name, column)


def test_products_in_any_order_are_within_the_bound() -> None:
    x = RANDOM.uniform(0.7, 1.4, (3, 300)).astype(np.float32)
    found = sl.compile(lambda x: x.prod(1), x, profile="fast")(x)
    for row, product in zip(x.tolist(), found.tolist(), strict=True):
        bound = product_bound(row, float32)
        assert bound is not None
        assert abs(Fraction(product) - math.prod(map(Fraction, row))) <= bound


def test_whole_numbers_are_exact_in_any_order() -> None:
    given = RANDOM.integers(-9, 10, (len(ROWS), LENGTH)).astype(np.float32)
    other = RANDOM.integers(-9, 10, (LENGTH, 40)).astype(np.float32)
    assert np.array_equal(SUMS(given), given.sum(1))
    assert np.array_equal(DOTS(given, other), given @ other)


def test_where_every_order_agrees_so_does_the_result() -> None:
    """NaN, one infinity, both infinities, zeros of one sign: as the evaluator has them."""
    given = RANDOM.standard_normal((len(ROWS), LENGTH)).astype(np.float32)
    given[0, 100] = np.nan
    given[1, [3, 500]] = np.inf
    given[2, [3, 500]] = -np.inf
    given[3, [3, 500]] = np.inf, -np.inf
    given[4] = -0.0
    given[5] = 0.0
    lawful: list[Any] = list(law(Tensor(given[:6]).sum(1).uop).elements)
    found = SUMS(given)[:6].tolist()
    for mine, other in zip(found, lawful, strict=True):
        same = mine == other and math.copysign(1, mine) == math.copysign(1, other)
        assert same or (math.isnan(mine) and math.isnan(other))


def test_the_exact_profile_is_the_law_on_the_same_numbers() -> None:
    given = rows()
    root = Tensor(given).sum(1)
    found = sl.compile(lambda x: x.sum(1), given)(given)
    assert found.tolist() == list(law(root.uop).elements)


# Bounds -----------------------------------------------------------------------------------------------------------


def test_gamma() -> None:
    assert [unit(d) for d in (float16, bfloat16, float32, float64)] == [
        Fraction(1, 2**k) for k in (11, 8, 24, 53)
    ]
    assert gamma(0, float32) == 0
    assert gamma(2, float16) == Fraction(2, 2046)
    assert gamma(255, bfloat16) == 255
    assert gamma(256, bfloat16) is None
    assert sum_bound([1.0] * 256, bfloat16) is None
    assert dot_bound([1.0] * 255, [1.0] * 255, bfloat16) is None
    assert product_bound([1.0] * 256, bfloat16) is None


def test_bounds_by_hand() -> None:
    assert sum_bound([1.0, -2.0], float16) == Fraction(2, 2046) * 3
    assert dot_bound([1.0, -2.0], [3.0, 0.5], float16) == Fraction(3, 2045) * 4
    assert product_bound([-2.0, 4.0], float16) == Fraction(2, 2046) * 8
    assert sum_bound([], float32) == 0


@pytest.mark.parametrize("dtype", [float16, float32])
def test_an_overflow_of_some_order_is_foreseen(dtype: DType) -> None:
    most = float(np.finfo(dtype.name).max)
    assert overflows([most, most, -most, -most], dtype)
    assert overflows([-most, -most / 4], dtype)
    assert not overflows([most / 2, -most / 2, most / 4], dtype)
    assert not overflows([], dtype)
    assert overflows([1.0] * 4096, float16) is True  # nothing is known of so many


def test_the_bound_is_tight_enough_to_notice_a_narrower_sum() -> None:
    """Summed in float16 and given as float32, the row is outside."""
    row = ROWS["positive"].astype(np.float32)
    narrow = float(np.cumsum(row.astype(np.float16), dtype=np.float16)[-1])
    bound = sum_bound(row.tolist(), float32)
    assert bound is not None
    assert abs(Fraction(narrow) - sum(map(Fraction, row.tolist()))) > bound


# What is promised -------------------------------------------------------------------------------------------------


def test_the_certificate_says_what_is_promised() -> None:
    x = np.zeros((4, 300), np.float32)
    w = np.zeros((300, 5), np.float32)
    exact, fast = (
        sl.compile(lambda x, w: (x @ w).sum(0).exp2() * x.prod(1).sum(), x, w, profile=p).certificate
        for p in ("exact", "fast")
    )
    assert exact.promised == (SAME, "Exp2 of float32: within 0.8 ulp (U-11)")
    text = str(fast)
    assert "profile fast, licences: approx, contract, reassociate, tensor_core" in text
    for promise in (
        "a dot product of 300 float32, in any order: within γ_301·Σ|a·b|, γ_301 = 1.8e-05 (U-10)",
        "a sum of 4 float32, in any order: within γ_4·Σ|x|, γ_4 = 2.4e-07 (U-10)",
        "a product of 300 float32, in any order: within γ_300·∏|x|",
        "may be rounded once with the sum (contract)",
        "Exp2 of float32: within 0.8 ulp (U-11); e^x within 1.25 ulp (approx)",
    ):
        assert promise in text
    assert SAME not in text


def test_a_narrow_reduction_of_many_has_no_bound_and_one_term_no_reduction() -> None:
    many = Tensor(np.zeros((1, 400), np.float32)).cast(bfloat16)
    from soundline.spec.uop import ReduceArg

    long, short = (Op.Reduce(many.uop, arg=ReduceArg(Op.Add, (axis,))) for axis in (1, 0))
    assert promises(long, ("reassociate",)) == ("a sum of 400 bfloat16, in any order: no bound (U-10)",)
    assert promises(short, ("reassociate",)) == ()
    assert promises(long, ("contract",)) == (
        "a product that is added may be rounded once with the sum (contract)",
    )
