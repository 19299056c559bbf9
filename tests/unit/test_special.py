"""Special functions and roundings: against mpmath, at special values, and in every float format."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from soundline.impl.tensors.numerics import normal, special
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import DType, bfloat16, float16, float32, float64, int8, to_numpy, uint8

POINTS = np.concatenate(
    [
        [0.0, 1e-30, 1e-8, 1e-4, 0.01],
        np.linspace(0.05, 3.0, 40),
        [3.99, 4.01, 5.5, 6.5, 10.0, 19.0, 50.0, 80.0],
    ]
)
LINE = np.concatenate([-POINTS[::-1], POINTS])
INSIDE = np.concatenate([np.linspace(-1, 1, 41), [1e-9, -1e-9, 0.999999, -0.999999]])
ABOVE = 1 + POINTS[:-1]


def logistic(x: mpmath.mpf) -> mpmath.mpf:
    return 1 / (1 + mpmath.exp(-x))


EVERYWHERE: dict[str, tuple[Callable[..., Tensor], Callable[..., object], np.ndarray, float]] = {
    "log1p": (special.log1p, mpmath.log1p, POINTS, 4),
    "expm1": (special.expm1, mpmath.expm1, LINE, 4),
    "sinh": (special.sinh, mpmath.sinh, LINE, 4),
    "cosh": (special.cosh, mpmath.cosh, LINE, 4),
    "tanh": (special.tanh, mpmath.tanh, LINE, 6),
    "asinh": (special.asinh, mpmath.asinh, LINE, 6),
    "acosh": (special.acosh, mpmath.acosh, ABOVE, 6),
    "atanh": (special.atanh, mpmath.atanh, INSIDE[1:-5], 6),
    "atan": (special.atan, mpmath.atan, LINE, 6),
    "asin": (special.asin, mpmath.asin, INSIDE, 8),
    "erf": (normal.erf, mpmath.erf, LINE, 12),
    "logistic": (special.logistic, logistic, LINE, 8),
    "softplus": (special.softplus, lambda x: mpmath.log1p(mpmath.exp(x)), LINE, 8),
}
"""Our function, the real one, where they are compared, and how many units in the last place they may differ."""


@pytest.mark.parametrize("dtype", [float32, float64, float16, bfloat16])
@pytest.mark.parametrize("name", EVERYWHERE)
def test_a_function_is_near_the_real_one(name: str, dtype: DType) -> None:
    ours, real, points, ulps = EVERYWHERE[name]
    x = points.astype(to_numpy(dtype))
    found = ours(Tensor(x)).numpy().astype(np.float64)
    with mpmath.workdps(40):
        exact = np.array([float(mpmath.mpf(real(mpmath.mpf(float(v))))) for v in x])
    limit = 2.0 ** -(dtype.mantissa_bits + 1) * 2 * (ulps if dtype.bits >= 32 else 1)
    with np.errstate(over="ignore"):
        seen = exact.astype(to_numpy(dtype)).astype(np.float64)
    least = float(np.finfo(np.float64).smallest_normal if dtype is float64 else 2.0**-126)
    least = 2.0**-24 if dtype is float16 else least
    finite = np.isfinite(seen) & (abs(seen) > 4 * least)
    np.testing.assert_array_less(abs(found - exact)[finite], abs(exact)[finite] * limit + least)
    np.testing.assert_array_equal(np.isinf(found), np.isinf(seen))


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "acos"])
def test_an_angle_s_function_is_absolutely_near_the_real_one(name: str) -> None:
    x = (INSIDE if name == "acos" else LINE).astype(np.float64)
    found = getattr(special, name)(Tensor(x)).numpy()
    with mpmath.workdps(40):
        exact = np.array([float(getattr(mpmath, name)(mpmath.mpf(float(v)))) for v in x])
    assert (abs(found - exact) <= 1e-14 * np.maximum(1, exact**2)).all()


@pytest.mark.parametrize(
    ("name", "x", "y"),
    [
        ("log1p", [-1.0, math.inf, -0.0, -2.0], [-math.inf, math.inf, -0.0, math.nan]),
        ("expm1", [-math.inf, math.inf, -0.0], [-1.0, math.inf, -0.0]),
        ("sinh", [-math.inf, math.inf, -0.0], [-math.inf, math.inf, -0.0]),
        ("cosh", [-math.inf, math.inf, -0.0], [math.inf, math.inf, 1.0]),
        ("tanh", [-math.inf, math.inf, -0.0], [-1.0, 1.0, -0.0]),
        ("asinh", [-math.inf, math.inf, -0.0], [-math.inf, math.inf, -0.0]),
        ("acosh", [1.0, math.inf, 0.5], [0.0, math.inf, math.nan]),
        ("atanh", [-1.0, 1.0, -0.0, 2.0], [-math.inf, math.inf, -0.0, math.nan]),
        ("atan", [-math.inf, math.inf, -0.0], [-math.pi / 2, math.pi / 2, -0.0]),
        ("asin", [-1.0, 1.0, -0.0, 2.0], [-math.pi / 2, math.pi / 2, -0.0, math.nan]),
        ("acos", [-1.0, 1.0, 2.0], [math.pi, 0.0, math.nan]),
        ("erf", [-math.inf, math.inf, -0.0], [-1.0, 1.0, -0.0]),
        ("logistic", [-math.inf, math.inf, 0.0], [0.0, 1.0, 0.5]),
        ("softplus", [-math.inf, math.inf], [0.0, math.inf]),
        ("floor", [-0.5, 0.5, -0.0, math.inf, 2.0, -2.5], [-1.0, 0.0, -0.0, math.inf, 2.0, -3.0]),
        ("ceil", [-0.5, 0.5, -0.0, -math.inf, 2.0, -2.5], [-0.0, 1.0, -0.0, -math.inf, 2.0, -2.0]),
        ("sign", [-3.0, 3.0, -0.0, 0.0], [-1.0, 1.0, -0.0, 0.0]),
    ],
)
def test_special_values(name: str, x: list[float], y: list[float]) -> None:
    for dtype in (np.float32, np.float64):
        found = getattr(normal if name == "erf" else special, name)(
            Tensor(np.array([*x, math.nan], dtype))
        ).numpy()
        expected = np.array([*y, math.nan], dtype)
        np.testing.assert_array_equal(found, expected)
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rounding_is_to_even_and_keeps_the_sign_of_zero(dtype: type) -> None:
    halves = np.arange(-8, 8.25, 0.25)
    x = np.concatenate([halves, [-0.0, np.inf, -np.inf, np.nan, 2.0**10 + 1]]).astype(dtype)
    found = special.round_half_even(Tensor(x)).numpy()
    np.testing.assert_array_equal(found, np.round(x))
    np.testing.assert_array_equal(np.signbit(found[:-2]), np.signbit(np.round(x)[:-2]))


@pytest.mark.parametrize("name", ["floor", "ceil", "round_half_even"])
def test_an_integer_is_rounded_already(name: str) -> None:
    x = Tensor(np.array([-3, 5], np.int8))
    assert getattr(special, name)(x) is x


@pytest.mark.parametrize(("dtype", "signs"), [(int8, [-1, 0, 1]), (uint8, [1, 0, 1])])
def test_signs_of_integers(dtype: DType, signs: list[int]) -> None:
    x = np.array([-7, 0, 7]).astype(to_numpy(dtype))
    assert special.sign(Tensor(x)).tolist() == signs


def test_the_truncated_remainder_is_that_of_c() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.standard_normal(500) * 100, [0.0, -0.0, 5.0, -5.0, 6.0, -6.0, 1.0, 3.5]])
    y = np.concatenate([rng.standard_normal(500), [2.0, 2.0, np.inf, -np.inf, 3.0, -3.0, 0.1, -0.5]])
    for dtype in (np.float32, np.float16):
        a, b = x.astype(dtype), y.astype(dtype)
        with np.errstate(invalid="ignore"):
            expected = np.fmod(a, b)
        found = special.remainder_truncated(Tensor(a), Tensor(b)).numpy()
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_the_truncated_remainder_of_integers_has_the_sign_of_the_dividend() -> None:
    a, b = np.array([7, -7, 7, -7], np.int8), np.array([3, 3, -3, -3], np.int8)
    assert special.remainder_truncated(Tensor(a), Tensor(b)).tolist() == [1, -1, 1, -1]
