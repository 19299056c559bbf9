"""
Accuracy of functions
=====================

How far the functions of Tensor are from the real functions, and their derivatives from the real derivatives, in units
in the last place (ulp): `MEASURED` has the greatest error found on some fifty thousand points for each function and
dtype, which are numbers of every exponent, places where a program changes its way or the function vanishes or leaves
the range, and random ones. `bound` is what the tests hold. Narrower floats are computed in float32 and rounded once,
which adds half a unit of theirs.

Where a function crosses 0 as a sum of terms that cancel, the error is counted in ulp of the greatest term: that is so
for the derivatives of `silu`, `gelu` and `mish`, for `hardsigmoid` and `hardswish` near -3, and for `logaddexp` near 0.
Derivatives count where the value is finite and x is no subnormal number. What is not in the table is exact or rounded
once: `abs`, `neg`, `floor`, `ceil`, `round`, `trunc`, `sign`, `relu`, `relu6`, `clip`, `hardtanh`, `hardshrink`,
`threshold`, `nan_to_num`, `fmod`, `copysign`.

``python -m soundline.verify.accuracy.functions`` repeats the measurement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """The greatest errors found of a function and of its derivative (by the first of two numbers), in ulp."""

    value32: float
    slope32: float | None
    """None where the derivative is that of a line, and for `pow`: y·x^(y-1) of a rounded y - 1."""
    value64: float
    slope64: float | None


MEASURED: dict[str, Measured] = {
    "exp": Measured(1.06, 1.06, 1.04, 1.04),
    "exp2": Measured(0.73, 1.28, 0.58, 1.54),
    "log": Measured(1.19, 0.5, 1.19, 0.5),
    "log2": Measured(0.5, 1.52, 0.51, 1.69),
    "log10": Measured(2.01, 1.26, 2.56, 1.87),
    "log1p": Measured(2.78, 1.48, 2.55, 1.48),
    "expm1": Measured(1.97, 1.19, 1.96, 1.04),
    "sqrt": Measured(0.5, 1.45, 0.5, 1.48),
    "rsqrt": Measured(1.42, 4.25, 1.48, 4.24),
    "reciprocal": Measured(0.5, 1.82, 0.5, 1.81),
    "sin": Measured(0.5, 2.11, 0.69, 2.17),
    "cos": Measured(0.68, 0.5, 2.98, 3.7),
    "tan": Measured(1.82, 3.29, 3.86, 6.65),
    "asin": Measured(5.12, 1.87, 5.12, 1.7),
    "acos": Measured(4.94, 1.87, 3.94, 1.7),
    "atan": Measured(3.63, 4.19, 3.77, 3.66),
    "sinh": Measured(4.0, 3.17, 3.79, 3.12),
    "cosh": Measured(3.17, 4.0, 3.12, 3.79),
    "tanh": Measured(3.68, 4.04, 3.61, 3.89),
    "asinh": Measured(2.75, 2.22, 2.8, 2.13),
    "acosh": Measured(2.84, 2.7, 2.66, 2.68),
    "atanh": Measured(2.75, 1.84, 3.05, 1.82),
    "erf": Measured(3.26, 4.55, 2.72, 4.87),
    "sigmoid": Measured(2.22, 3.35, 2.35, 3.51),
    "softplus": Measured(2.75, 2.42, 3.02, 2.77),
    "logsigmoid": Measured(2.84, 2.55, 3.0, 2.44),
    "silu": Measured(4.44, 5.86, 4.15, 5.47),
    "gelu": Measured(8.19, 6.58, 7.65, 7.22),
    "gelu_tanh": Measured(5.13, 7.19, 4.53, 6.77),
    "elu": Measured(1.38, 1.06, 1.39, 1.03),
    "celu": Measured(1.38, 1.21, 1.34, 1.01),
    "selu": Measured(2.52, 2.19, 2.34, 2.35),
    "mish": Measured(4.34, 7.38, 4.72, 6.5),
    "softsign": Measured(1.48, 3.42, 1.47, 3.37),
    "tanhshrink": Measured(3.05, 7.11, 3.27, 7.06),
    "square": Measured(0.5, 0.0, 0.5, 0.0),
    "leaky_relu": Measured(0.84, None, 0.5, None),
    "softshrink": Measured(0.5, None, 0.5, None),
    "hardsigmoid": Measured(0.67, None, 0.67, None),
    "hardswish": Measured(1.4, None, 1.37, None),
    "pow": Measured(0.5, None, 0.59, None),
    "atan2": Measured(4.23, 2.95, 4.23, 2.56),
    "hypot": Measured(1.94, 2.56, 1.9, 2.13),
    "logaddexp": Measured(2.89, 2.66, 3.45, 2.4),
}
"""By method; `gelu_tanh` is ``gelu("tanh")``."""


def bound(measured: float) -> float:
    """The error that is promised: a quarter more than was measured, as a number of half ulps."""
    return 0.5 if measured <= 0.5 else math.ceil(measured * 1.25 * 2) / 2
