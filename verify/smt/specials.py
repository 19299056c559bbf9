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
from soundline.verify.smt.obligations import Obligation
from soundline.verify.smt.points import Point
from soundline.verify.smt.sampling import is_slow

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


def _ends(dtype: DType) -> tuple[float, ...]:
    """The greatest and least magnitudes of a format."""
    greatest, least = largest_finite(dtype), math.ldexp(1.0, exponent_range(dtype)[0] - dtype.mantissa_bits)
    return greatest, -greatest, least, -least
