"""
Special floats
==============

Where a rule over floats goes wrong at few points, it mostly does so among zeros, ones, infinities, NaN and the ends of
the format. Their combinations are tried before the exact algebra is asked, which may take long to find one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from soundline.spec.dtypes import DType, exponent_range, largest_finite, round_to
from soundline.verify.smt.goals.obligations import Obligation
from soundline.verify.smt.goals.points import Point
from soundline.verify.smt.goals.sampling import is_slow

SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 3.0)
"""The first of them are tried where there are many variables."""

MOST_POINTS = 5_000
"""So many combinations are tried."""


def special_points(obligation: Obligation) -> Iterator[Point]:
    """Combinations of special values, where all variables are floats."""
    dtypes = [v.dtype for v in obligation.variables.values()]
    if not all(d.is_float for d in dtypes) or is_slow(obligation):
        return
    count = len(SPECIAL) + 4
    while count and count ** len(dtypes) > MOST_POINTS:
        count -= 1
    yield from product(*([round_to(d, x) for x in (*SPECIAL, *_ends(d))[:count]] for d in dtypes))


FEW_POINTS = 150
"""So many combinations are tried where an op is a program of many steps."""


def overflowing_points(obligation: Obligation) -> Iterator[Point]:
    """Combinations of values of which the powers of two leave the format, and of the ends, where all are floats."""
    dtypes = [v.dtype for v in obligation.variables.values()]
    if not all(d.is_float for d in dtypes):
        return
    each = [(*_powers(d), *_ends(d)) for d in dtypes]
    count = len(each[0]) if each else 0
    while count and count ** len(dtypes) > FEW_POINTS:
        count -= 1
    yield from product(
        *([round_to(d, x) for x in values[:count]] for d, values in zip(dtypes, each, strict=True))
    )


def _powers(dtype: DType) -> tuple[float, ...]:
    most = exponent_range(dtype)[1] * 1.5
    return most, -most, 1.0, -1.0


def _ends(dtype: DType) -> tuple[float, ...]:
    """The greatest and least magnitudes of a format."""
    greatest, least = largest_finite(dtype), math.ldexp(1.0, exponent_range(dtype)[0] - dtype.mantissa_bits)
    return greatest, -greatest, least, -least
