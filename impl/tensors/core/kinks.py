"""
Derivatives where there are several
===================================

What a derivative is where a function has a kink, a jump or an end. At a kink it lies between the one-sided derivatives:
the mean of them where the function is a maximum or a minimum, by the law of ties (U-33). At a jump it is what it is on
both sides. `KINKS` states it for every method that has such places; a test computes each, and compares it with the
differences on both sides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kink:
    """What derivatives are in certain places."""

    use: str
    """An expression of x, and of y where there are two."""
    places: tuple[tuple[float, ...], ...]
    """The values of x, or of x and y."""
    slopes: tuple[tuple[float, ...], ...]
    """For each place, the derivative by each of them."""
    why: str
    jumps: bool = False
    """Whether the function jumps in these places, so that differences say nothing."""


def _one(use: str, slopes: dict[float, float], why: str, jumps: bool = False) -> Kink:
    return Kink(use, tuple((p,) for p in slopes), tuple((s,) for s in slopes.values()), why, jumps)


def _two(
    use: str, slopes: dict[tuple[float, float], tuple[float, float]], why: str, jumps: bool = False
) -> Kink:
    return Kink(use, tuple(slopes), tuple(slopes.values()), why, jumps)


_TIE = "the mean of both sides, as of any maximum or minimum"
_RIGHT = "that of the branch from 0 on"
_STEP = "0 everywhere; a jump adds nothing"
_END = "the limit, at the end of where the function is defined"

KINKS: tuple[Kink, ...] = (
    _one("x.relu()", {0.0: 0.5}, _TIE),
    _one("x.relu6()", {0.0: 0.5, 6.0: 0.5}, _TIE),
    _one("x.clip(-1, 2)", {-1.0: 0.5, 2.0: 0.5}, _TIE),
    _one("x.hardtanh()", {-1.0: 0.5, 1.0: 0.5}, _TIE),
    _one("x.hardsigmoid()", {-3.0: 1 / 12, 3.0: 1 / 12}, _TIE),
    _one("x.hardswish()", {-3.0: -0.25, 3.0: 1.25}, _TIE),
    _one("x.softshrink()", {-0.5: 0.5, 0.5: 0.5}, _TIE),
    _two("x.maximum(y)", {(1.0, 1.0): (0.5, 0.5)}, _TIE),
    _two("x.minimum(y)", {(1.0, 1.0): (0.5, 0.5)}, _TIE),
    _one("x.abs()", {0.0: 0.0}, "the mean of both sides"),
    _one("x.leaky_relu(0.25)", {0.0: 1.0}, _RIGHT),
    _one("x.elu()", {0.0: 1.0}, "the same on both sides"),
    _one("x.elu(2.0)", {0.0: 2.0}, "that of the branch up to 0"),
    _one("x.celu()", {0.0: 1.0}, "the same on both sides"),
    _one("x.selu()", {0.0: 1.7580993408473766}, "that of the branch up to 0"),
    _one("x.threshold(1.0, 0.0)", {1.0: 0.0}, "that of the branch up to the bound", True),
    _one("x.hardshrink()", {-0.5: 0.0, 0.5: 0.0}, "that of the branch between the bounds", True),
    *(
        _one(f"x.{name}()", {-1.0: 0.0, 0.0: 0.0, 0.5: 0.0, 1.0: 0.0}, _STEP, True)
        for name in ("sign", "floor", "ceil", "round", "trunc")
    ),
    _two("x // y", {(4.0, 2.0): (0.0, 0.0), (5.0, 2.0): (0.0, 0.0)}, _STEP, True),
    _two(
        "x.fmod(y)",
        {(4.0, 2.0): (1.0, -2.0), (-5.0, 2.0): (1.0, 2.0)},
        "1 and -trunc(x/y), also where it jumps",
        True,
    ),
    _two(
        "x % y", {(4.0, 2.0): (1.0, -2.0), (-5.0, 2.0): (1.0, 3.0)}, "1 and -⌊x/y⌋, also where it jumps", True
    ),
    _two(
        "x.copysign(y)",
        {(0.0, 1.0): (0.0, 0.0), (2.0, 0.0): (1.0, 0.0)},
        "of x as of its magnitude; of y 0",
        True,
    ),
    _two("x.hypot(y)", {(0.0, 0.0): (0.0, 0.0)}, "0, the mean over all directions"),
    _two("x.atan2(y)", {(0.0, 0.0): (0.0, 0.0)}, "0: there is no angle", True),
    _two("x.logaddexp(y)", {(1.0, 1.0): (0.5, 0.5)}, "the same on both sides"),
    _two(
        "x.pow(y)",
        {(0.0, 1.0): (1.0, 0.0), (0.0, 0.0): (0.0, 0.0)},
        "of y 0 where x is 0; of x 0 where y is 0",
        True,
    ),
    _one("x.sqrt()", {0.0: math.inf}, _END, True),
    _one("x.log()", {0.0: math.inf}, _END, True),
    _one("x.rsqrt()", {0.0: -math.inf}, _END, True),
    _one("x.reciprocal()", {0.0: -math.inf}, "the limit", True),
    _one("x.asin()", {-1.0: math.inf, 1.0: math.inf}, _END, True),
    _one("x.acos()", {-1.0: -math.inf, 1.0: -math.inf}, _END, True),
    _one("x.acosh()", {1.0: math.inf}, _END, True),
    _one("x.atanh()", {-1.0: math.inf, 1.0: math.inf}, _END, True),
    _one("x.nan_to_num()", {math.nan: 0.0, math.inf: 0.0}, "0 where the number is replaced", True),
    _two("sl.Tensor.stack(x, y).max(0)", {(2.0, 2.0): (0.5, 0.5)}, "the greatest elements share equally"),
    _two("sl.Tensor.stack(x, y).min(0)", {(2.0, 2.0): (0.5, 0.5)}, "the least elements share equally"),
    _two(
        "sl.Tensor.stack(x, y).cummax(0)[1]",
        {(2.0, 2.0): (0.5, 0.5)},
        "the greatest elements so far share equally",
    ),
    _two(
        "sl.Tensor.stack(x, y).sort(0)[0][0]",
        {(2.0, 2.0): (1.0, 0.0)},
        "equal elements keep their order",
        True,
    ),
    _two("sl.Tensor.stack(x, y).median(0)", {(2.0, 2.0): (0.5, 0.5)}, "as sorted"),
    _two(
        "sl.Tensor.stack(x, y).prod(0)",
        {(0.0, 0.0): (0.0, 0.0), (0.0, 3.0): (3.0, 0.0)},
        "the product of the others",
    ),
    _two("sl.Tensor.stack(x, y).norm(0)", {(0.0, 0.0): (0.0, 0.0)}, "0, the mean over all directions"),
    _two("sl.Tensor.stack(x, y).std(0)", {(2.0, 2.0): (0.0, 0.0)}, "the mean of both sides"),
    _two("x.l1_loss(y)", {(2.0, 2.0): (0.0, 0.0)}, "the mean of both sides"),
)
"""By method. Elsewhere a derivative is the limit of differences; of NaN nothing is said."""
