"""
Error bounds of reductions
==========================

How far a reduction of floats may be from the exact one where its order is free (U-10). With u half the distance from 1
to the next float, n terms and γ_n = n·u/(1 - n·u), every association and permutation of a sum is within γ_n·Σ|x| of the
exact sum, a dot product whose products may be fused within γ_{n+1}·Σ|a·b|, and a product within γ_n·∏|x| unless it
underflows on the way. Where n·u reaches 1, there is no bound. The bounds hold where no order overflows; `overflows`
says whether one may.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from soundline.spec.dtypes import DType, largest_finite

Numbers = Sequence[float]


def unit(dtype: DType) -> Fraction:
    """u, the greatest relative error of one rounding."""
    return Fraction(1, 2 << dtype.mantissa_bits)


def gamma(n: int, dtype: DType) -> Fraction | None:
    """γ_n, the greatest relative error of n roundings in a row; None where there is no bound."""
    error = n * unit(dtype)
    return error / (1 - error) if error < 1 else None


def sum_bound(terms: Numbers, dtype: DType) -> Fraction | None:
    """How far a sum in any order may be from the exact one.

    >>> from soundline.spec.dtypes import float32
    >>> float(sum_bound([1.0, -1.0, 2.0], float32)) <= 3.01 * 2.0**-24 * 4
    True
    """
    factor = gamma(len(terms), dtype)
    return None if factor is None else factor * sum(abs(Fraction(x)) for x in terms)


def dot_bound(left: Numbers, right: Numbers, dtype: DType) -> Fraction | None:
    """How far a dot product in any order, fused or not, may be from the exact one, unless a product underflows."""
    factor = gamma(len(left) + 1, dtype)
    products = (abs(Fraction(a) * Fraction(b)) for a, b in zip(left, right, strict=True))
    return None if factor is None else factor * sum(products)


def product_bound(factors: Numbers, dtype: DType) -> Fraction | None:
    """How far a product in any order may be from the exact one, unless it underflows on the way."""
    factor = gamma(len(factors), dtype)
    return None if factor is None else factor * math.prod(abs(Fraction(x)) for x in factors)


def overflows(terms: Numbers, dtype: DType) -> bool:
    """Whether some order of a sum may overflow: the positive or the negative terms alone reach beyond the finite."""
    most = Fraction(largest_finite(dtype))
    positive = sum(Fraction(x) for x in terms if x > 0)
    negative = -sum(Fraction(x) for x in terms if x < 0)
    factor = gamma(len(terms), dtype)
    return factor is None or (1 + factor) * max(positive, negative, Fraction(0)) > most
