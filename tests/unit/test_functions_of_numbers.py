"""Functions of real numbers: measured errors, special values, derivatives at kinks, and what has no gradient."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.tensors.core.accuracy import MEASURED, bound
from soundline.impl.tensors.core.kinks import KINKS, Kink
from soundline.spec.dtypes import DType, float32, float64
from soundline.verify.accuracy import functions as judge

INF, NAN = math.inf, math.nan
SPECIAL = (-INF, -0.0, 0.0, INF, NAN)
PAIRS = judge.PAIRS

# Accuracy ---------------------------------------------------------------------------------------------------------

EXACT = frozenset(
    (
        *("abs", "neg", "floor", "ceil", "round", "trunc", "sign", "relu", "relu6", "hardtanh", "hardshrink"),
        *("nan_to_num", "logical_not", "isnan", "isinf", "isfinite", "ones_like", "zeros_like"),
        *(
            "contiguous",
            "contiguous_backward",
            "detach",
            "flatten",
            "realize",
            "requires_grad_",
            "squeeze",
            "tile",
        ),
    )
)
"""Methods of each element alone that are exact."""


def of_each_element(name: str) -> bool:
    """Whether a method gives a number for each number, by itself."""
    x, order = np.array([1.31, 0.77, 1.52, 1.18, 0.9]), [3, 1, 4, 0, 2]

    def at(values: np.ndarray[Any, Any]) -> Any:
        found = getattr(sl.Tensor(values), name)()
        return found.numpy() if isinstance(found, sl.Tensor) else None

    try:
        y, moved, fewer = at(x), at(x[order]), at(x[:3])
    except (sl.SoundlineError, TypeError, AttributeError):
        return False
    if y is None or y.shape != x.shape:
        return False
    return np.array_equal(moved, y[order], equal_nan=True) and np.array_equal(fewer, y[:3], equal_nan=True)


def test_the_table_has_every_function_of_one_number() -> None:
    methods = [
        n for n, m in inspect.getmembers_static(sl.Tensor, inspect.isfunction) if not n.startswith("_")
    ]
    found = {n for n in methods if of_each_element(n)}
    assert found - EXACT == set(MEASURED) - PAIRS - {"gelu_tanh"}
    assert set(judge.real_functions()) == set(MEASURED)


def some(name: str, dtype: DType, count: int = 120) -> tuple[np.ndarray[Any, Any], ...]:
    """A few of the points, and the neighbours of the places that the measurement found worst."""
    found = judge.points(name, dtype, 60, 7)
    keep = np.random.default_rng(3).choice(len(found[0]), count, replace=False)
    return tuple(x[keep] for x in found)


@pytest.mark.parametrize("dtype", [float32, float64])
@pytest.mark.parametrize("name", MEASURED)
def test_a_function_keeps_its_bound(name: str, dtype: DType) -> None:
    stated = MEASURED[name]
    value, slope = (stated.value32, stated.slope32) if dtype is float32 else (stated.value64, stated.slope64)
    at = some(name, dtype)
    for limit, derivative in ((value, False), (slope, True)):
        assert (limit is None) == (derivative and name in judge.VALUES_ALONE)
        if limit is not None:
            worst = judge.greatest_error(name, dtype, at, derivative)
            assert worst.points > 20
            assert worst.error <= bound(limit), worst


def test_a_function_that_is_off_by_a_little_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong twin of each: the results of another program, some ulps away."""
    right = judge.computed
    monkeypatch.setattr(judge, "computed", lambda *a: right(*a) * (1 + 2.0**-19))
    for name in ("exp", "tanh", "gelu", "atan2"):
        assert judge.greatest_error(name, float32, some(name, float32)).error > bound(MEASURED[name].value32)


# Special values ---------------------------------------------------------------------------------------------------

OF_NUMPY = {
    **{
        n: n
        for n in ("exp", "exp2", "log", "log2", "log10", "log1p", "expm1", "sqrt", "reciprocal", "square")
    },
    **{n: n for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil", "trunc", "abs")},
    **{n: n.replace("a", "arc", 1) for n in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
    "round": "rint",
    "neg": "negative",
}
"""Methods and the functions of numpy that they are."""

GIVEN: dict[str, tuple[float, ...]] = {
    "sign": (-1.0, -0.0, 0.0, 1.0, NAN),
    "rsqrt": (NAN, -INF, INF, 0.0, NAN),
    "erf": (-1.0, -0.0, 0.0, 1.0, NAN),
    "sigmoid": (0.0, 0.5, 0.5, 1.0, NAN),
    "softplus": (0.0, math.log(2), math.log(2), INF, NAN),
    "logsigmoid": (-INF, -math.log(2), -math.log(2), -0.0, NAN),
    "silu": (-0.0, -0.0, 0.0, INF, NAN),
    "mish": (-0.0, -0.0, 0.0, INF, NAN),
    "gelu": (0.0, -0.0, 0.0, INF, NAN),
    "gelu_tanh": (-0.0, -0.0, 0.0, INF, NAN),
    "hardswish": (-0.0, -0.0, 0.0, INF, NAN),
    "elu": (-1.0, -0.0, 0.0, INF, NAN),
    "celu": (-1.0, -0.0, 0.0, INF, NAN),
    "selu": (-1.7580993408473766, -0.0, 0.0, INF, NAN),
    "softsign": (-1.0, -0.0, 0.0, 1.0, NAN),
    "tanhshrink": (-INF, -0.0, 0.0, INF, NAN),
    "leaky_relu": (-INF, -0.0, 0.0, INF, NAN),
    "relu": (0.0, 0.0, 0.0, INF, NAN),
    "relu6": (0.0, 0.0, 0.0, 6.0, NAN),
    "hardtanh": (-1.0, -0.0, 0.0, 1.0, NAN),
    "hardsigmoid": (0.0, 0.5, 0.5, 1.0, NAN),
    "hardshrink": (-INF, 0.0, 0.0, INF, NAN),
    "softshrink": (-INF, 0.0, 0.0, INF, NAN),
}


def test_every_function_has_its_special_values() -> None:
    assert set(OF_NUMPY) | set(GIVEN) >= (set(MEASURED) - PAIRS)
    for dtype in (np.float32, np.float64):
        x = np.array(SPECIAL, dtype)
        for name in (*OF_NUMPY, *GIVEN):
            t = sl.Tensor(x)
            found = (t.gelu("tanh") if name == "gelu_tanh" else getattr(t, name)()).numpy()
            with np.errstate(all="ignore"):
                wanted = getattr(np, OF_NUMPY[name])(x) if name in OF_NUMPY else np.array(GIVEN[name], dtype)
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=0, err_msg=name)
            real = ~np.isnan(wanted)
            assert np.array_equal(np.signbit(found)[real], np.signbit(wanted)[real]), name


def test_functions_of_two_have_the_special_values_of_numpy() -> None:
    line = (-INF, -2.0, -1.0, -0.0, 0.0, 1.0, 2.5, INF, NAN)
    x, y = (a.ravel() for a in np.meshgrid(line, line))
    for name, like in (
        *((n, np.__dict__[n]) for n in ("hypot", "logaddexp", "copysign", "fmod")),
        *(
            ("pow", np.power),
            ("atan2", np.arctan2),
            ("__mod__", np.remainder),
            ("__floordiv__", np.floor_divide),
        ),
    ):
        found = getattr(sl.Tensor(x), name)(sl.Tensor(y)).numpy()
        with np.errstate(all="ignore"):
            wanted = like(x, y)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=0, err_msg=name)
        real = ~np.isnan(wanted)
        assert np.array_equal(np.signbit(found)[real], np.signbit(wanted)[real]), name


# Kinks ------------------------------------------------------------------------------------------------------------


def at(kink: Kink, place: tuple[float, ...]) -> tuple[sl.Tensor, list[sl.Tensor]]:
    given = [sl.Tensor(np.array([v])) for v in place]
    return eval(kink.use, {"sl": sl, **dict(zip("xy", given, strict=False))}).sum(), given


@pytest.mark.parametrize("kink", KINKS, ids=lambda k: k.use)
def test_derivatives_at_kinks_are_those_stated(kink: Kink) -> None:
    for place, slopes in zip(kink.places, kink.slopes, strict=True):
        y, given = at(kink, place)
        found = [float(g.item()) for g in y.gradient(*given)]
        assert found == pytest.approx(slopes, rel=1e-12, abs=1e-12), place


@pytest.mark.parametrize("kink", [k for k in KINKS if not k.jumps], ids=lambda k: k.use)
def test_a_derivative_at_a_kink_lies_between_the_two_sides(kink: Kink) -> None:
    step = 1e-6
    for place, slopes in zip(kink.places, kink.slopes, strict=True):
        here = at(kink, place)[0].item()
        for k, slope in enumerate(slopes):
            right, left = (
                at(kink, (*place[:k], place[k] + s, *place[k + 1 :]))[0].item() for s in (step, -step)
            )
            least, most = sorted(((right - here) / step, (here - left) / step))
            assert least - 1e-5 <= slope <= most + 1e-5, (place, k)


def test_remainders_have_the_same_derivatives_where_they_jump() -> None:
    x, y = np.array([4.0, 4.5, -4.0, -5.0, 1e30, 0.0]), np.array([2.0, 2.0, 2.0, -2.0, 3.0, 7.0])
    for use, rounded in (("fmod", np.trunc), ("__mod__", np.floor)):
        a, b = sl.Tensor(x), sl.Tensor(y)
        found = getattr(a, use)(b)
        by_x, by_y = found.gradient(a, b, gradient=found.ones_like())
        assert by_x.tolist() == [1.0] * 6
        assert by_y.tolist() == (-rounded(x / y)).tolist()


def test_norms_of_any_order_have_derivatives_at_zero() -> None:
    for order in (1, 2, 3, 2.5, INF):
        x = sl.Tensor(np.zeros(3))
        assert x.norm(ord=order).gradient(x)[0].tolist() == [0.0] * 3


# What has no gradient ---------------------------------------------------------------------------------------------


def test_a_gradient_of_a_value_without_graph_is_refused() -> None:
    x = sl.Tensor(np.array([1.0, 2.0]))
    y = (x * x).sum()
    y.item()
    with pytest.raises(sl.UsageError, match=r"gradient: .*requires_grad=True"):
        y.gradient(x)
    inner = x * 2.0
    inner.numpy()
    outer = (inner * inner).sum()
    with pytest.raises(sl.UsageError, match="was computed and stored"):
        outer.gradient(x)
    assert outer.gradient(inner)[0].tolist() == [4.0, 8.0]
    asks = sl.Tensor(np.array([1.0, 2.0]), requires_grad=True)
    kept = (asks * asks).sum()
    kept.item()
    assert kept.gradient(asks)[0].tolist() == [2.0, 4.0]


def test_what_a_tensor_does_not_depend_on_has_a_zero_gradient() -> None:
    x, other = (sl.Tensor(np.array([1.0, 2.0])) for _ in range(2))
    stored = (x * 3.0).realize()
    assert stored.sum().gradient(other)[0].tolist() == [0.0, 0.0]
    assert (stored * x).sum().gradient(x)[0].tolist() == [3.0, 6.0]  # a stored factor is a constant


def test_a_constant_is_no_target() -> None:
    """Its node is that of the constant of `relu`, so the derivative would count both."""
    for constant in (sl.Tensor(0.0), sl.Tensor.zeros(3), sl.Tensor.full((2,), 1.5)):
        with pytest.raises(sl.UsageError, match=r"same node.*requires_grad=True"):
            constant.relu().sum().gradient(constant)
    asks = sl.Tensor.zeros(3).requires_grad_()
    assert asks.relu().sum().gradient(asks)[0].tolist() == [0.5] * 3
