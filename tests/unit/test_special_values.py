"""Values and derivatives of methods where they are easily wrong: special values, kinks, ties, great quotients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import soundline as sl

from ..representative import thorough  # noqa: TID252

INF, NAN = math.inf, math.nan
Arrays = np.ndarray[Any, Any]


def same(found: Any, wanted: Any) -> bool:
    """Equal bit for bit, but that all NaN are one."""
    a, b = np.asarray(found), np.asarray(wanted)
    signs = np.signbit(a) == np.signbit(b)
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True) and bool(np.all(signs | np.isnan(a)))


def of(fn: Callable[..., sl.Tensor], *arrays: Any) -> Arrays:
    return np.asarray(fn(*(sl.Tensor(a) for a in arrays)).numpy())


# Values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_acosh_is_nan_below_one(dtype: Any) -> None:
    x = np.array([-1e30, -1e4, -1.0, 0.0, 0.5, 1.0, INF, -INF, NAN], dtype)
    with np.errstate(invalid="ignore"):
        assert same(of(lambda t: t.acosh(), x), np.arccosh(x))


def remainders(dtype: Any) -> tuple[Arrays, Arrays]:
    special = [0.0, -0.0, 1.0, -1.0, 0.1, 3.0, -7.5, 1e20, INF, -INF, NAN, np.finfo(dtype).max]
    special += [
        np.finfo(dtype).tiny,
        np.finfo(dtype).smallest_subnormal,
        5 * np.finfo(dtype).smallest_subnormal,
    ]
    x, y = (a.ravel() for a in np.meshgrid(np.array(special, dtype), np.array(special, dtype)))
    source = np.random.default_rng(0)
    integer = np.uint64 if dtype is np.float64 else np.uint32
    drawn = source.integers(0, np.iinfo(integer).max, (2, 3000), integer, endpoint=True).view(dtype)
    near = source.normal(size=(2, 500)).astype(dtype)
    return np.concatenate([x, drawn[0], near[0] * 100]), np.concatenate([y, drawn[1], near[1]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fmod_is_exact_however_large_the_quotient_is(dtype: Any) -> None:
    x, y = remainders(dtype)
    with np.errstate(invalid="ignore"):
        wanted = np.fmod(x, y)
    assert same(of(lambda a, b: a.fmod(b), x, y), wanted)


def test_cos_is_precise_near_its_zeros() -> None:
    """In units in the last place of the result, at the floats nearest to multiples of π/2 and at drawn ones."""
    mpmath.mp.prec = 1200
    for dtype, bound in ((np.float32, 1.0), (np.float64, 6.0)):
        source = np.random.default_rng(1)
        near = [dtype(k * mpmath.pi / 2) for k in (1, 3, 5, 7, 101, 10_001, 12_345_677)]
        great = dtype(2.0) ** dtype(100) * dtype(1.2345)
        drawn = [*source.normal(size=40).astype(dtype), *(source.normal(size=40) * 1e6).astype(dtype)]
        x = np.array([*near, *(-v for v in near), *drawn, great, np.finfo(dtype).max, 0.0, 1e-30], dtype)
        found = of(lambda t: t.cos(), x)
        exact = [mpmath.cos(mpmath.mpf(float(v))) for v in x]
        ulps = [
            abs(mpmath.mpf(float(f)) - e) / float(np.spacing(abs(dtype(e))))
            for f, e in zip(found, exact, strict=True)
        ]
        assert max(ulps) <= bound, (dtype, max(ulps))
    assert same(
        of(lambda t: t.cos(), np.array([INF, -INF, NAN, 0.0, -0.0])), np.array([NAN, NAN, NAN, 1.0, 1.0])
    )


def test_the_median_of_infinities_is_one_of_them() -> None:
    for row, wanted in (
        ([1, INF, INF, INF], INF),
        ([-INF, -INF, 0, 1], -INF),
        ([1, 2, NAN, 3], NAN),
        ([1, 2, 3, 4], 2.5),
    ):
        found = of(lambda t: t.median(), np.array(row, np.float32))
        assert same(found, np.float32(np.median(row)) if not math.isinf(wanted) else np.float32(wanted))
    assert math.isnan(
        float(of(lambda t: t.median(), np.array([-INF, INF], np.float32)))
    )  # nothing is between


def test_an_integer_to_the_power_of_a_float_is_a_float() -> None:
    x = np.array([-2, 0, 1, 3], np.int32)
    for exponent in (1.0, 2.0, 3.0, 4.0):
        found = of(lambda t, e=exponent: t**e, x)
        assert found.dtype == np.dtype((sl.Tensor(x) * 1.0).numpy().dtype)
        assert found.tolist() == (x**exponent).tolist()
    assert of(lambda t: t**2, x).dtype == np.int32


def test_nan_stands_above_everything_in_searchsorted() -> None:
    rows, values = (
        np.array([1.0, 2.0, 3.0, NAN], np.float32),
        np.array([NAN, 0, 2, 2.5, 3, INF, -INF], np.float32),
    )
    for right, side in ((False, "left"), (True, "right")):
        found = of(lambda a, b, r=right: a.searchsorted(b, right=r), rows, values)
        assert found.tolist() == np.searchsorted(rows, values, side=side).tolist()


@pytest.mark.parametrize(
    "shape", [thorough((4, 3, 5)), thorough((2, 3, 4)), thorough((3, 2, 2, 3)), (6, 4), (5,)]
)
def test_indices_of_a_scatter_may_be_shorter_on_any_axis(shape: tuple[int, ...]) -> None:
    source = np.random.default_rng(len(shape))
    for axis in range(len(shape)):
        for _ in range(3):
            own = tuple(int(source.integers(1, 6 if k == axis else s + 1)) for k, s in enumerate(shape))
            x, values = (source.integers(-9, 9, s).astype(np.float32) for s in (shape, own))
            index = source.integers(0, shape[axis], own).astype(np.int32)
            last, total = x.copy(), x.copy()
            for place in np.ndindex(own):
                to = tuple(int(index[place]) if k == axis else p for k, p in enumerate(place))
                last[to] = values[place]
                total[to] += values[place]
            assert of(lambda t, i, v, a=axis: t.scatter(a, i, v), x, index, values).tolist() == last.tolist()
            assert (
                of(lambda t, i, v, a=axis: t.scatter_add(a, i, v), x, index, values).tolist()
                == total.tolist()
            )


# Derivatives ------------------------------------------------------------------------------------------------------


def slopes(fn: Callable[..., sl.Tensor], *arrays: Any) -> list[list[float]]:
    tensors = [sl.Tensor(np.array(a, np.float64)) for a in arrays]
    return [g.numpy().tolist() for g in fn(*tensors).sum().gradient(*tensors)]


def test_atan2_has_its_derivatives_on_the_axes() -> None:
    y, x = np.array([0.0, 1.0, 0.0, -1.0, -0.0, 2.0]), np.array([1.0, 0.0, -1.0, 0.0, 3.0, -0.0])
    square = x * x + y * y
    found = slopes(lambda a, b: a.atan2(b), y, x)
    assert np.allclose(found, [x / square, -y / square], rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("elu", 1.0),
        ("celu", 1.0),
        ("selu", 1.7580993408473766),
        ("sign", 0.0),
        ("relu", 0.5),
        ("abs", 0.0),
        ("softplus", 0.5),
        ("tanh", 1.0),
        ("gelu", 0.5),
    ],
)
def test_at_zero_a_derivative_lies_between_the_one_sided_ones(name: str, wanted: float) -> None:
    for zero in (0.0, -0.0):
        ((found,),) = slopes(lambda t: getattr(t, name)(), [zero])
        assert found == pytest.approx(wanted, rel=1e-12), zero
    step = 1e-7
    left, middle, right = of(lambda t: getattr(t, name)(), np.array([-step, 0.0, step]))
    if name != "sign":
        one_sided = sorted([(middle - left) / step, (right - middle) / step])
        assert one_sided[0] - 1e-5 <= wanted <= one_sided[1] + 1e-5


def test_logaddexp_shares_at_a_tie() -> None:
    assert slopes(lambda a, b: a.logaddexp(b), [1.0, 2.0], [1.0, 2.0]) == [[0.5, 0.5], [0.5, 0.5]]
    assert of(
        lambda a, b: a.logaddexp(b), np.array([INF, -INF, 0.0]), np.array([INF, -INF, -INF])
    ).tolist() == [INF, -INF, 0]


def test_fmod_has_the_derivatives_of_its_expression() -> None:
    x, y = [7.5, -7.5, 0.0, 1e10 + 0.25, 2.0], [2.0, 2.0, 3.0, 1.0, 5.0]
    by_x, by_y = slopes(lambda a, b: a.fmod(b), x, y)
    assert by_x == [1.0] * 5
    assert by_y == [-3.0, 3.0, 0.0, -1e10, 0.0]


def test_the_derivative_of_cos_is_minus_the_sine() -> None:
    x = np.array([0.0, 0.5, math.pi / 2, 2.0, math.pi, -4.0, 1e6])
    assert np.allclose(slopes(lambda t: t.cos(), x)[0], -np.sin(x), rtol=1e-9, atol=1e-15)
