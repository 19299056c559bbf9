"""
Accuracy of the functions of Tensor
===================================

How far the functions of real numbers that Tensor has are from the real functions, and their derivatives from the real
derivatives, in units in the last place (ulp). The functions are compiled and run on points of the whole range: numbers
of every exponent, the neighbours of points where programs change their method or where the functions vanish or leave
the range, and random numbers from the interesting intervals. mpmath judges each.

``python -m soundline.verify.accuracy.functions`` measures everything that the table in
`soundline.impl.tensors.core.accuracy` states. With names of functions and dtypes it measures those, and
``--points N`` says on how many random points.
"""

from __future__ import annotations

import argparse
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soundline.impl.tensors.methods.activations import SELU_ALPHA, SELU_SCALE
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import DType, exponent_range, float32, float64, largest_finite, to_numpy
from soundline.verify.accuracy.decompositions import error_in_ulp, ulp_of
from soundline.verify.accuracy.points import nearest_to_quadrants

Vector = npt.NDArray[Any]
Real = Callable[..., Any]
PAIRS = frozenset({"pow", "atan2", "hypot", "logaddexp"})
"""The functions of two numbers."""
VALUES_ALONE = frozenset({"leaky_relu", "softshrink", "hardsigmoid", "hardswish", "pow"})
"""Functions whose derivatives are not measured: those of lines (`soundline.impl.tensors.core.kinks` has the kinks), and
y·x^(y-1), in which the rounding of y - 1 counts |ln x| times."""
PRECISION = 240
"""The bits that mpmath computes with; where more are lost, the functions below avoid the loss."""


# Real functions ---------------------------------------------------------------------------------------------------


@functools.cache
def precise() -> Any:
    """mpmath with enough digits."""
    import mpmath

    context = mpmath.mp.clone()
    context.prec = PRECISION
    return context


@functools.cache
def real_functions() -> dict[str, tuple[Real, Real]]:
    """Each function as mpmath computes it, and its derivative; of two arguments the derivative by the first."""
    c = precise()
    one, half, root = c.mpf(1), c.mpf(1) / 2, c.sqrt(c.mpf(2) / c.pi)

    def bell(x: Any) -> Any:
        return c.exp(-x * x / 2) / c.sqrt(2 * c.pi)

    def below(x: Any) -> Any:
        """The share of the normal distribution below x."""
        return bell(x) / -x if x < -1e4 else c.erfc(-x / c.sqrt(2)) / 2

    def logistic(x: Any) -> Any:
        return 1 / (1 + c.exp(-x))

    def soft(x: Any) -> Any:
        return c.log1p(c.exp(x))

    def inner(x: Any) -> Any:
        return 2 * root * (x + c.mpf("0.044715") * x**3)

    def by_tanh(x: Any) -> Any:
        slope = 2 * root * (1 + 3 * c.mpf("0.044715") * x * x)
        return logistic(inner(x)) + x * logistic(inner(x)) * logistic(-inner(x)) * slope

    def mish(x: Any) -> Any:
        e = c.exp(x)
        return c.tanh(soft(x)) + x * c.sech(soft(x)) ** 2 * e / (1 + e)

    def shrink(x: Any) -> Any:
        return x**3 / 3 * (1 - 2 * x * x / 5 + 17 * x**4 / 105) if abs(x) < 1e-9 else x - c.tanh(x)

    def ramp(x: Any) -> Any:
        return max(0 * one, min(one, x / 6 + half))

    alpha, scale = c.mpf(SELU_ALPHA), c.mpf(SELU_SCALE)
    ln2, ln10 = c.ln2, c.ln10
    return {
        "exp": (c.exp, c.exp),
        "exp2": (lambda x: c.power(2, x), lambda x: c.power(2, x) * ln2),
        "log": (c.log, lambda x: 1 / x),
        "log2": (lambda x: c.log(x) / ln2, lambda x: 1 / (x * ln2)),
        "log10": (lambda x: c.log(x) / ln10, lambda x: 1 / (x * ln10)),
        "log1p": (c.log1p, lambda x: 1 / (1 + x)),
        "expm1": (c.expm1, c.exp),
        "sqrt": (c.sqrt, lambda x: half / c.sqrt(x)),
        "rsqrt": (lambda x: 1 / c.sqrt(x), lambda x: -half / (x * c.sqrt(x))),
        "reciprocal": (lambda x: 1 / x, lambda x: -1 / (x * x)),
        "sin": (c.sin, c.cos),
        "cos": (c.cos, lambda x: -c.sin(x)),
        "tan": (c.tan, lambda x: c.sec(x) ** 2),
        "asin": (c.asin, lambda x: 1 / c.sqrt((1 - x) * (1 + x))),
        "acos": (c.acos, lambda x: -1 / c.sqrt((1 - x) * (1 + x))),
        "atan": (c.atan, lambda x: 1 / (1 + x * x)),
        "sinh": (c.sinh, c.cosh),
        "cosh": (c.cosh, c.sinh),
        "tanh": (c.tanh, lambda x: c.sech(x) ** 2),
        "asinh": (c.asinh, lambda x: 1 / c.sqrt(1 + x * x)),
        "acosh": (c.acosh, lambda x: 1 / c.sqrt((x - 1) * (x + 1))),
        "atanh": (c.atanh, lambda x: 1 / ((1 - x) * (1 + x))),
        "erf": (c.erf, lambda x: 2 / c.sqrt(c.pi) * c.exp(-x * x)),
        "sigmoid": (logistic, lambda x: logistic(x) * logistic(-x)),
        "softplus": (soft, logistic),
        "logsigmoid": (lambda x: -soft(-x), lambda x: logistic(-x)),
        "silu": (lambda x: x * logistic(x), lambda x: logistic(x) * (1 + x * logistic(-x))),
        "gelu": (lambda x: x * below(x), lambda x: below(x) + x * bell(x)),
        "gelu_tanh": (lambda x: x * logistic(inner(x)), by_tanh),
        "elu": (lambda x: x if x > 0 else c.expm1(x), lambda x: one if x > 0 else c.exp(x)),
        "celu": (lambda x: x if x > 0 else c.expm1(x), lambda x: one if x > 0 else c.exp(x)),
        "selu": (
            lambda x: scale * (x if x > 0 else alpha * c.expm1(x)),
            lambda x: scale * (one if x > 0 else alpha * c.exp(x)),
        ),
        "mish": (lambda x: x * c.tanh(soft(x)), mish),
        "softsign": (lambda x: x / (1 + abs(x)), lambda x: 1 / (1 + abs(x)) ** 2),
        "tanhshrink": (shrink, lambda x: c.tanh(x) ** 2),
        "square": (lambda x: x * x, lambda x: 2 * x),
        "leaky_relu": (lambda x: x if x > 0 else x * c.mpf(0.01), _no_derivative),
        "softshrink": (lambda x: x - max(-half, min(half, x)), _no_derivative),
        "hardsigmoid": (ramp, _no_derivative),
        "hardswish": (lambda x: x * ramp(x), _no_derivative),
        "pow": (c.power, _no_derivative),
        "atan2": (c.atan2, lambda y, x: x / (x * x + y * y)),
        "hypot": (lambda x, y: c.sqrt(x * x + y * y), lambda x, y: x / c.sqrt(x * x + y * y)),
        "logaddexp": (lambda x, y: max(x, y) + soft(-abs(x - y)), lambda x, y: logistic(x - y)),
    }


def _no_derivative(x: Any, *_: Any) -> Any:
    raise ValueError(x)


def terms() -> dict[tuple[str, bool], Real]:
    """Where a function (or its derivative) crosses 0 as a sum of terms that cancel: the size of the greatest of them.

    There the error is counted in ulp of that, because no program without a search for the zero has it relative.
    """
    real = real_functions()
    half = precise().mpf(1) / 2
    logistic, below, soft = real["sigmoid"][0], real["gelu"][0], real["softplus"][0]
    return {
        ("hardsigmoid", False): lambda x: half if abs(x) < 3 else real["hardsigmoid"][0](x),
        ("hardswish", False): lambda x: x / 2,
        ("silu", True): logistic,
        ("gelu", True): lambda x: below(x) / x if x else 0.5,
        ("gelu_tanh", True): lambda x: below(x) / x if x else 0.5,
        ("mish", True): lambda x: real["tanh"][0](soft(x)),
        ("logaddexp", False): lambda x, y: max(abs(x), abs(y)),
    }


# Points -----------------------------------------------------------------------------------------------------------

# fmt: off
_PLACES = (
    0.25, 0.5, 0.6931471805599453, 0.7071067811865476, 0.8, 1.0, 1.2337, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0,
    9.0, 10.0, 14.0, 17.0, 18.4, 20.0, 27.0, 36.7, 38.0, 40.0, 87.3, 88.7, 103.9, 104.0, 128.0, 150.0, 256.0,
    708.4, 709.8, 710.47, 745.1, 1022.0, 1024.0, 1075.0, 2048.0, 4096.0, 2.0**26, 2.0**28, 2.0**54,
)
# fmt: on
"""The points where programs change their method, or functions leave the range of a format."""


def points(name: str, dtype: DType, count: int, seed: int) -> tuple[Vector, ...]:
    """Points of the whole range, of both signs, in no order; `count` of them are random."""
    source = np.random.default_rng([seed, len(name), dtype.bits])
    if name not in PAIRS:
        return (_line(name, dtype, count, source),)
    x, y = (source.permutation(_line(name, dtype, count, source)) for _ in range(2))
    size = min(len(x), len(y))
    x, y = x[:size], y[:size]
    near = source.normal(size=(2, count)).astype(x.dtype) * source.choice([0.1, 1.0, 30.0], count).astype(
        x.dtype
    )
    x, y = np.concatenate([x, near[0]]), np.concatenate([y, near[1]])
    return x + 0.0, y + 0.0  # mpmath has no -0, at which an angle is another


def _line(name: str, dtype: DType, count: int, source: np.random.Generator) -> Vector:
    own = to_numpy(dtype).type
    e_min, e_max = exponent_range(dtype)
    exponents = np.arange(e_min - dtype.mantissa_bits, e_max + 1)
    with np.errstate(over="ignore"):
        spread = np.ldexp(source.uniform(1, 2, len(exponents)), exponents)
        most = 2.0 * min(largest_finite(dtype) / 2, 1e300)
        parts = [
            spread,
            np.ldexp(1.0, exponents),
            1.0
            + np.ldexp(
                source.choice([-1.0, 1.0], 2 * dtype.mantissa_bits), -np.arange(2 * dtype.mantissa_bits)
            ),
            *(np.nextafter(own(p), own(math.inf * s)) for p in _PLACES for s in (1, -1)),
            np.array(_PLACES),
            np.array([most, largest_finite(dtype)]),
            source.uniform(0, 1, count),
            source.normal(size=count),
            source.uniform(0, 30, count),
            source.uniform(0, 800 if dtype is float64 else 110, count),
            np.exp(source.uniform(math.log(1e-6), math.log(1e6), count)),
        ]
    if name in ("sin", "cos", "tan"):
        parts.append(np.array([x for _, x in nearest_to_quadrants(dtype)[: max(8, count // 8)]]))
        parts.append(np.arange(1, 40) * (math.pi / 4))
    x = np.concatenate([np.atleast_1d(np.asarray(p)).astype(own) for p in parts])
    return np.concatenate([x, -x])


# The measure ------------------------------------------------------------------------------------------------------


class Worst(NamedTuple):
    """The greatest error among some points, one of them where it occurs, and how many they are."""

    error: float
    where: tuple[float, ...]
    points: int


def function(name: str) -> Callable[..., Tensor]:
    """The function of Tensors."""
    if name == "gelu_tanh":
        return lambda x: x.gelu("tanh")
    return lambda x, *more: getattr(x, name)(*more)


def computed(name: str, at: tuple[Vector, ...], derivative: bool) -> Vector:
    """The function, or its derivative by the first argument, at points."""
    xs = [Tensor(x) for x in at]
    found = function(name)(*xs)
    if derivative:
        (found,) = found.gradient(xs[0], gradient=found.ones_like())
    return np.asarray(found.numpy())


def exact_value(real: Real, place: tuple[float, ...]) -> Any:
    """The real value; None where there is none."""
    c = precise()
    try:
        found = real(*map(c.mpf, place))
    except (ZeroDivisionError, ValueError):
        return None
    return found if isinstance(found, c.mpf) and c.isfinite(found) else None


def greatest_error(name: str, dtype: DType, at: tuple[Vector, ...], derivative: bool = False) -> Worst:
    """The greatest error over the points where the real function has a value."""
    functions, size = real_functions()[name], terms().get((name, derivative))
    limit, least = largest_finite(dtype), 2.0 ** exponent_range(dtype)[0]
    worst, seen = Worst(0.0, (), 0), 0
    for result, *place in zip(
        computed(name, at, derivative).tolist(), *(x.tolist() for x in at), strict=True
    ):
        where = tuple(place)
        if derivative and any(0 < abs(v) < least for v in where):
            continue
        exact = exact_value(functions[derivative], where)
        value = exact_value(functions[0], where) if derivative else exact
        if exact is None or value is None or (derivative and abs(value) > limit):
            continue
        seen += 1
        error = error_in_ulp(dtype, result, exact)
        if size is not None and math.isfinite(result):
            greatest = float(max(abs(exact), abs(exact_value(size, where) or 0)))
            error = float(abs(result - exact) / ulp_of(dtype, greatest))
        if error > worst.error:
            worst = Worst(error, where, 0)
    return worst._replace(points=seen)


def measure(name: str, dtype: DType, count: int, seed: int = 1, derivative: bool = False) -> Worst:
    """The greatest error over points of the whole range."""
    return greatest_error(name, dtype, points(name, dtype, count, seed), derivative)


def main(argv: list[str] | None = None) -> None:
    """Measure every row of the table, or those of some functions and dtypes."""
    parser = argparse.ArgumentParser(prog="python -m soundline.verify.accuracy.functions")
    parser.add_argument("names", nargs="*", help="functions and dtypes")
    parser.add_argument("--points", type=int, default=4000, help="how many random points of each kind")
    options = parser.parse_args(argv)
    dtypes = [d for d in (float32, float64) if d.name in options.names] or [float32, float64]
    functions = [f for f in real_functions() if f in options.names] or list(real_functions())
    for name in functions:
        for dtype in dtypes:
            for derivative in (False,) if name in VALUES_ALONE else (False, True):
                worst = measure(name, dtype, options.points, derivative=derivative)
                row = f"{name:11} {dtype.name} {'derivative' if derivative else 'value':10}"
                print(f"{row} {worst.error:.4g} ulp at {worst.where}; {worst.points} points", flush=True)


if __name__ == "__main__":
    main()
