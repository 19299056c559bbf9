"""Operands for the suites that compare the float laws with what others wrote, and how many cases a suite has."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from soundline.spec.dtypes import DType, Element, from_bits, ints, round_to

Operands = tuple[Element, ...]


class Counts(NamedTuple):
    """How many cases of a suite are compared, and how many are not because the laws differ there on purpose."""

    compared: int
    not_applicable: int


def directed(dtype: DType) -> list[float]:
    """Numbers at every seam of a format: subnormal and normal, near 1, where integers end, and at the top."""
    m, top = dtype.mantissa_bits, (1 << dtype.exponent_bits) - 1
    bias = top >> 1
    fields = {0, 1, 2, bias - 2, bias - 1, bias, bias + 1, bias + m, bias + m + 1, bias + m + 2, top - 1, top}
    ends = {0, 1, (1 << m - 1) - 1, 1 << m - 1, (1 << m - 1) + 1, (1 << m) - 1}
    patterns = {f << m | s for f in fields if 0 <= f <= top for s in ends if 0 <= s < 1 << m}
    numbers = [
        float(from_bits(dtype, p | sign)) for p in sorted(patterns) for sign in (0, 1 << dtype.bits - 1)
    ]
    return [x for x in numbers if not math.isnan(x)] + [math.nan]


def drawn(dtype: DType, count: int, seed: int) -> list[float]:
    """Numbers with random bits, and numbers near 1."""
    rng = np.random.default_rng(seed)
    patterns = rng.integers(0, 1 << dtype.bits, count - count // 2, dtype=np.uint64).tolist()
    near = [round_to(dtype, x) for x in rng.normal(size=count // 2).tolist()]
    return [float(from_bits(dtype, p)) for p in patterns] + near


def every(dtype: DType) -> list[float]:
    """Every number of a short format; NaN once for each of its patterns."""
    return [float(from_bits(dtype, p)) for p in range(1 << dtype.bits)]


def pairs(dtype: DType, count: int) -> Iterator[Operands]:
    """Every pair of directed numbers, and random ones."""
    yield from itertools.product(directed(dtype), repeat=2)
    yield from zip(drawn(dtype, count, 1), drawn(dtype, count, 2), strict=True)


def whole_numbers(dtype: DType, count: int) -> list[int]:
    """Integers at the seams of a width and where a float of any format begins to round, and random ones."""
    assert dtype in ints
    low, high = int(dtype.min), int(dtype.max)
    centres = {0, low, high} | {s << k for k in range(dtype.bits) for s in (1, 3, -1, -3)}
    near = {c + d for c in centres for d in range(-2, 3)}
    rng = np.random.default_rng(3)
    random = rng.integers(low, high, count, dtype=np.int64 if dtype.signed else np.uint64, endpoint=True)
    return sorted({*(n for n in near if low <= n <= high), *random.tolist()})


def truncates_into(x: float, target: DType) -> bool:
    """Whether a float, truncated, is an integer of the target: elsewhere only U-13 says what a cast gives."""
    return math.isfinite(x) and int(target.min) <= math.trunc(x) <= int(target.max)


def families(name: str) -> list[str | tuple[str, int, str]]:
    """Of a suite called "Add float16" or "Cast float16 to float32": its op, and its dtypes, which a cast has apart."""
    op, *dtypes = name.split()
    return [op, *(("cast" if op == "Cast" else "", k, dtype) for k, dtype in enumerate(dtypes))]
