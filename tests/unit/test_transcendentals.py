"""Sin, Pow and Threefry by their programs: the constants, the reduction, every special case, and exact results."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import (
    DType,
    all_dtypes,
    bfloat16,
    exponent_range,
    float16,
    float32,
    float64,
    ieee_floats,
    largest_finite,
    round_to,
    same_value,
    to_numpy,
    uint32,
    uint64,
)
from soundline.spec.errors import IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.table import Op
from soundline.spec.uop import UOp, param, toposort
from soundline.spec.values.decompositions import DECOMPOSITIONS, PROGRAMS
from soundline.spec.values.double_word import constant, product, total, two_parts, two_product, two_sum
from soundline.spec.values.elementwise import run, scalar
from soundline.spec.values.power import POW
from soundline.spec.values.sine import HALF_PI, SIN, scaled_pi, scaled_turns
from soundline.spec.values.threefry import THREEFRY
from soundline.verify.accuracy.decompositions import error_in_ulp, greatest_error, run_vector, ulp_of
from soundline.verify.accuracy.points import every_number, nearest_to_quadrants

NAN, INF = math.nan, math.inf
PRECISE = mpmath.mp.clone()
PRECISE.prec = 1400


def near(dtype: DType, x: float, count: int = 2) -> list[float]:
    """The numbers of a format around x."""
    ulp = ulp_of(dtype, abs(x))
    return sorted({round_to(dtype, x + k * ulp) for k in range(-count, count + 1)})


# Double words -----------------------------------------------------------------------------------------------------


def drawn_pairs(count: int) -> list[tuple[float, float]]:
    rng = random.Random(1)
    return [
        tuple(rng.uniform(-1, 1) * 2.0 ** rng.randint(-60, 60) for _ in range(2))  # type: ignore[misc]
        for _ in range(count)
    ]


@pytest.mark.parametrize("dtype", [float32, float64])
def test_sums_and_products_of_two_floats_are_exact(dtype: DType) -> None:
    a, b = param(0, dtype), param(1, dtype)
    for x, y in drawn_pairs(100):
        x, y = round_to(dtype, x), round_to(dtype, y)
        for words, exact in (
            (two_sum(a, b), Fraction(x) + Fraction(y)),
            (two_product(a, b), Fraction(x) * Fraction(y)),
        ):
            if dtype is float32 and not 1e-20 < abs(x * y) < 1e30:
                continue
            high, low = (float(run(w, x, y)) for w in words)
            assert Fraction(high) + Fraction(low) == exact
            assert high == round_to(dtype, exact)


def test_sums_and_products_of_double_words_lose_little() -> None:
    a, b = param(0, float64), param(1, float64)
    third = Fraction(1, 3)
    for x, y in drawn_pairs(60):
        x, y = max(x, y, key=abs), min(x, y, key=abs)
        wide = (
            product((a, b), constant(a, third))
            if abs(x) > 2.0**53 * abs(y)
            else product(two_sum(a, b), constant(a, third))
        )
        exact = (Fraction(x) + Fraction(y)) * third
        found = sum(Fraction(float(run(w, x, y))) for w in wide)
        assert abs(found - exact) <= abs(exact) * Fraction(1, 2**98)
        if x > 0 and y > 0:
            wide = total(constant(a, third * 2**70), two_sum(a, b))
            exact = third * 2**70 + Fraction(x) + Fraction(y)
            found = sum(Fraction(float(run(w, x, y))) for w in wide)
            assert abs(found - exact) <= abs(exact) * Fraction(1, 2**100)


def test_a_constant_in_two_parts_has_twice_the_digits() -> None:
    high, low = two_parts(float64, HALF_PI)
    assert high == math.pi / 2
    assert abs(Fraction(high) + Fraction(low) - HALF_PI) < Fraction(1, 2**106)
    assert low == float(PRECISE.mpf(PRECISE.pi) / 2 - PRECISE.mpf(high))


# Sin: the constants and the reduction -----------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [10, 300, 1300])
def test_the_digits_of_the_circle_are_those_of_mpmath(scale: int) -> None:
    context = mpmath.mp.clone()
    context.prec = 2 * scale + 200
    assert scaled_turns(scale) == int(context.floor(context.mpf(2) ** scale / (2 * context.pi)))
    assert abs(scaled_pi(scale) - int(context.pi * context.mpf(2) ** scale)) < scale
    assert abs(PRECISE.mpf(HALF_PI.numerator) / HALF_PI.denominator - PRECISE.pi / 2) < 2.0**-240


@pytest.mark.parametrize(("dtype", "least"), [(float32, 2.0**-31), (float64, 2.0**-62)])
def test_no_number_is_nearer_to_a_multiple_of_a_quadrant_than_the_window_allows(
    dtype: DType, least: float
) -> None:
    worst = nearest_to_quadrants(dtype)
    assert least < worst[0][0] < 16 * least
    assert len(worst) > exponent_range(dtype)[1] / 2
    for _, x in worst[:40]:
        for y in (x, -x):
            exact = PRECISE.sin(PRECISE.mpf(y))
            assert error_in_ulp(dtype, float(scalar(Op.Sin, dtype, y)), exact) < 0.85, y


@pytest.mark.parametrize("dtype", ieee_floats)
def test_sin_at_special_values(dtype: DType) -> None:
    least = math.ldexp(1.0, exponent_range(dtype)[0] - dtype.mantissa_bits)
    for x, wanted in [
        (0.0, 0.0),
        (-0.0, -0.0),
        (INF, NAN),
        (-INF, NAN),
        (NAN, NAN),
        (least, least),
        (-least, -least),
    ]:
        assert same_value(dtype, scalar(Op.Sin, dtype, x), wanted), x


@pytest.mark.parametrize("dtype", ieee_floats)
def test_sin_around_multiples_of_a_quadrant_and_at_huge_arguments(dtype: DType) -> None:
    bound = 0.85 if dtype is float64 else 0.51
    top = largest_finite(dtype)
    quadrants = [1, 2, 3, 4, 5, 7, 100, 101, 4095, 10**6, 10**9, 2**40 + 1, 10**15]
    centres = [k * math.pi / 2 for k in quadrants] + [
        math.pi / 4,
        0.5,
        1e-3,
        top,
        top / 3,
        2.0 ** exponent_range(dtype)[1],
    ]
    for x in sorted({y for c in centres if c <= top for y in near(dtype, c) if math.isfinite(y)}):
        found = float(scalar(Op.Sin, dtype, x))
        assert error_in_ulp(dtype, found, PRECISE.sin(PRECISE.mpf(x))) < bound, x
        assert same_value(dtype, scalar(Op.Sin, dtype, -x), -found)
        assert abs(found) <= 1.0


@pytest.mark.parametrize("dtype", [float16, bfloat16])
def test_every_sine_of_a_short_format_is_odd_and_at_most_one(dtype: DType) -> None:
    x = every_number(dtype)
    values = run_vector(SIN[dtype], x).astype(np.float64)
    turned = run_vector(SIN[dtype], -x).astype(np.float64)
    with np.errstate(invalid="ignore"):
        finite = np.isfinite(x.astype(np.float64))
    assert np.array_equal(np.isnan(values), ~finite)
    assert np.all(np.abs(values[finite]) <= 1.0)
    assert np.array_equal(values[finite], -turned[finite])
    assert values[finite].max() == 1.0


def test_the_cosine_near_its_top_is_nearly_rounded_correctly() -> None:
    """1 - h²/2 in two words: with the square in one word alone the error would be 0.64 ulp."""
    points = np.random.default_rng(1).uniform(0.786, 2.35, 40_000)
    assert greatest_error(Op.Sin, float64, (points,)).error < 0.6


# Pow --------------------------------------------------------------------------------------------------------------


def powers_by_the_standard(x: float, y: float) -> float | None:
    """pow of IEEE 754-2019, section 9.2.1, read line by line; None where it says nothing special."""
    odd = math.isfinite(y) and y == int(y) and int(y) % 2 == 1
    if y == 0 or x == 1:
        return 1.0
    if math.isnan(x) or math.isnan(y):
        return NAN
    if x == 0:
        if y < 0:
            return math.copysign(INF, x) if odd else INF
        return x if odd else 0.0
    if math.isinf(y):
        if abs(x) == 1:
            return 1.0
        return INF if (abs(x) > 1) == (y > 0) else 0.0
    if math.isinf(x):
        magnitude = INF if y > 0 else 0.0
        return -magnitude if x < 0 and odd else magnitude
    if x < 0 and y != int(y):
        return NAN
    return None


@pytest.mark.parametrize("dtype", ieee_floats)
def test_pow_at_every_special_case_of_the_standard(dtype: DType) -> None:
    e_min, m = exponent_range(dtype)[0], dtype.mantissa_bits
    bases = [
        0.0,
        INF,
        NAN,
        1.0,
        1 + 2.0**-m,
        1 - 2.0 ** (-m - 1),
        2.0,
        0.5,
        3.0,
        2.0 ** (e_min - m),
        largest_finite(dtype),
    ]
    exponents = [
        0.0,
        INF,
        NAN,
        1.0,
        2.0,
        3.0,
        0.5,
        2.5,
        1.5,
        2.0 ** (e_min - m),
        2.0**m - 1,
        2.0**m + 1,
        2.0 ** (m + 1),
    ]
    exponents = [round_to(dtype, y) for y in exponents] + [largest_finite(dtype)]
    seen = 0
    for x, y in itertools.product(
        [s * x for x in bases for s in (1, -1)], [s * y for y in exponents for s in (1, -1)]
    ):
        wanted = powers_by_the_standard(x, y)
        found = scalar(Op.Pow, dtype, x, y)
        if wanted is not None:
            seen += 1
            assert same_value(dtype, found, wanted), (x, y, found, wanted)
        else:
            negative = x < 0 and y == int(y) and int(y) % 2 == 1
            assert math.copysign(1.0, float(found)) == (-1.0 if negative else 1.0), (x, y, found)
    assert seen > 300


@pytest.mark.parametrize("dtype", ieee_floats)
def test_powers_that_the_format_holds_are_exact(dtype: DType) -> None:
    e_min, e_max = exponent_range(dtype)
    seen = 0
    for base, exponent in itertools.product(
        (2, 3, 5, 7, 10, 0.5, 1.5, 0.75, 6.25), (*range(-40, 41), 0.5, 1.5, 0.25)
    ):
        whole = exponent == int(exponent)
        exact = Fraction(base) ** int(exponent) if whole else Fraction(float(base) ** exponent)
        root = whole or Fraction(float(base) ** exponent) ** 4 == Fraction(base) ** int(4 * exponent)
        if (
            root
            and float(Fraction(base)) == base
            and round_to(dtype, exact) == exact
            and abs(exponent) <= 2.0 ** (e_max)
        ):
            assert scalar(Op.Pow, dtype, float(base), float(exponent)) == float(exact), (base, exponent)
            sign = -1 if whole and int(exponent) % 2 else 1
            if whole:
                assert scalar(Op.Pow, dtype, -float(base), float(exponent)) == sign * float(exact)
            seen += 1
    assert seen > 60
    for n in range(e_min - dtype.mantissa_bits, e_max + 1, 7):
        if round_to(dtype, float(n)) == n:
            assert scalar(Op.Pow, dtype, 2.0, float(n)) == math.ldexp(1.0, n)


def test_a_power_in_double_words_differs_from_the_power_of_the_source_where_digits_are_lost() -> None:
    base, exponent = 1.0000001, 7.0e9
    exact = PRECISE.mpf(base) ** PRECISE.mpf(exponent)
    by_source = run(Op.Exp2(Op.Mul(Op.Log2(param(0, float64)), param(1, float64))), base, exponent)
    assert error_in_ulp(float64, float(scalar(Op.Pow, float64, base, exponent)), exact) < 0.8
    assert error_in_ulp(float64, float(by_source), exact) > 20


@pytest.mark.parametrize("dtype", ieee_floats)
def test_a_power_that_leaves_the_range_is_infinite_or_zero(dtype: DType) -> None:
    e_min, e_max = exponent_range(dtype)
    top = largest_finite(dtype)
    for x, y, wanted in [
        (top, 2.0, INF),
        (top, -2.0, 0.0),
        (-top, 3.0, -INF),
        (-top, -3.0, -0.0),
        (1 + 2.0**-dtype.mantissa_bits, top, INF),
        (1 + 2.0**-dtype.mantissa_bits, -top, 0.0),
        (1 - 2.0**-dtype.mantissa_bits, top, 0.0),
        (2.0, float(e_max + 1), INF),
        (2.0, float(e_min - dtype.mantissa_bits - 2), 0.0),
        (-2.0, float(e_max), -math.ldexp(1.0, e_max)),
        (top, 1.0, top),
        (math.ldexp(1.0, e_min - dtype.mantissa_bits), 1.0, math.ldexp(1.0, e_min - dtype.mantissa_bits)),
    ]:
        if round_to(dtype, y) == y:
            sign = -1.0 if x < 0 and y == int(y) and int(y) % 2 else 1.0
            assert same_value(dtype, scalar(Op.Pow, dtype, x, y), math.copysign(wanted, sign)), (x, y)


def test_a_power_far_out_of_range_has_no_use_for_its_low_word() -> None:
    rng = np.random.default_rng(2)
    bases = rng.uniform(1.1, 1e3, 2000)
    exponents = rng.uniform(1.0, 2.0, 2000) * 2.0 ** rng.integers(14, 80, 2000)
    assert np.all(run_vector(POW[float64], bases, exponents) == INF)
    assert np.all(run_vector(POW[float64], bases, -exponents) == 0.0)
    assert np.all(run_vector(POW[float64], 1 / bases, exponents) == 0.0)
    assert np.all(run_vector(POW[float64], 1 / bases, -exponents) == INF)


# Threefry ---------------------------------------------------------------------------------------------------------


def threefry_in_integers(counter: int, key: int) -> int:
    """The function again, as its authors describe it."""
    mask = 2**32 - 1
    x = [counter & mask, counter >> 32]
    k = [key & mask, key >> 32]
    k.append(0x1BD11BDA ^ k[0] ^ k[1])
    rotations = [13, 15, 26, 6, 17, 29, 16, 24]
    for round_number in range(20):
        if round_number % 4 == 0:
            s = round_number // 4
            x = [(x[0] + k[s % 3]) & mask, (x[1] + k[(s + 1) % 3] + s) & mask]
        r = rotations[round_number % 8]
        x[0] = (x[0] + x[1]) & mask
        x[1] = ((x[1] << r | x[1] >> (32 - r)) & mask) ^ x[0]
    return ((x[0] + k[2]) & mask) | ((x[1] + k[0] + 5) & mask) << 32


def test_threefry_is_the_function_of_its_authors() -> None:
    rng = random.Random(3)
    counters = [rng.getrandbits(64) for _ in range(60)] + [0, 1, 2**32, 2**64 - 1]
    found = set()
    for counter, key in zip(counters, [rng.getrandbits(64) for _ in counters], strict=True):
        value = scalar(Op.Threefry, uint64, counter, key)
        assert value == threefry_in_integers(counter, key)
        found.add(value)
    assert len(found) == len(counters)
    assert scalar(Op.Threefry, uint64, 1, 0) != scalar(Op.Threefry, uint64, 2**32, 0)
    assert scalar(Op.Threefry, uint64, 0, 1) != scalar(Op.Threefry, uint64, 1, 0)


# Programs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", [Op.Sin, Op.Pow, Op.Threefry])
def test_there_is_a_program_for_each_dtype_that_the_op_admits_and_for_no_other(op: Op) -> None:
    programs: dict[DType, UOp] = {Op.Sin: SIN, Op.Pow: POW, Op.Threefry: THREEFRY}[op]
    assert PROGRAMS[op] is programs
    operands = 1 if op is Op.Sin else 2
    for dtype in all_dtypes:
        leaves = [param(k, dtype) for k in range(operands)]
        if dtype in programs:
            assert programs[dtype].dtype is op(*leaves).dtype is dtype
            nodes = list(toposort(programs[dtype]))
            assert {n for n in nodes if n.op is Op.Param} == set(leaves)
            assert not {n.op for n in nodes} & set(PROGRAMS)
            assert len(nodes) < 450
        else:
            with pytest.raises(IllFormed):
                op(*leaves)


@pytest.mark.parametrize("op", [Op.Sin, Op.Pow])
@pytest.mark.parametrize("dtype", ieee_floats)
def test_the_op_on_arrays_is_its_decomposition_on_arrays(op: Op, dtype: DType) -> None:
    points = np.array([[0.5, -3.0, 1e4], [NAN, INF, -0.0]]).astype(to_numpy(dtype))
    leaves = [param(k, dtype, (2, 3)) for k in range(1 if op is Op.Sin else 2)]
    values = {k: np.roll(points, k) for k in range(len(leaves))}
    found = evaluate(op(*leaves), values)
    assert found == evaluate(DECOMPOSITIONS[op](*leaves), values)
    fast = run_vector(PROGRAMS[op][dtype], *(values[k].ravel() for k in range(len(leaves))))
    assert Array.from_numpy(fast.reshape(2, 3)) == found


def test_threefry_of_arrays_wraps_in_words_of_32_bits() -> None:
    counters = np.array([2**64 - 1, 5, 2**33], dtype=np.uint64)
    keys = counters[::-1].copy()
    found = run_vector(THREEFRY[uint64], counters, keys)
    assert found.tolist() == [
        scalar(Op.Threefry, uint64, c, k) for c, k in zip(counters.tolist(), keys.tolist(), strict=True)
    ]
    words = {n.dtype for n in toposort(THREEFRY[uint64]) if n.op is Op.Add}
    assert words == {uint32}
