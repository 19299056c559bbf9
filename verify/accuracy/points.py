"""
Points to measure accuracy at
=============================

The operands at which the programs of `Exp2`, `Log2`, `Sin` and `Pow` are compared with the real functions: every number
of a short format, every number of a binade of binary32, points where such programs go wrong, and random ones. Points
are arrays, one for each operand of the op.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.spec.dtypes import (
    DType,
    exponent_range,
    float32,
    from_bits,
    largest_finite,
    round_to,
    to_bits,
    to_numpy,
)
from soundline.spec.ops.node import Op
from soundline.spec.values.sine import scaled_turns

Vector = npt.NDArray[Any]
Points = tuple[Vector, ...]

EXPONENTS = (
    1 / 3,
    0.5,
    2 / 3,
    1.0,
    1.5,
    2.0,
    2.5,
    3.0,
    5.0,
    7.25,
    10.0,
    17.0,
    31.5,
    63.7,
    100.0,
    126.3,
    0.01,
    1e-3,
)
"""Exponents of Pow, which are taken with both signs."""

BINADE_EXPONENTS = (0.5, -1.0, 1 / 3, 2.5, 63.7, -126.3)
"""The exponents at which every base of a binade is raised."""


def _array(dtype: DType, values: Iterable[float]) -> Vector:
    return np.array(sorted({round_to(dtype, x) for x in values}), dtype=to_numpy(dtype))


def in_domain(op: Op, dtype: DType, points: Points) -> Points:
    """The finite points where the function is real and its result is not far out of the range of the format."""
    e_min, e_max = exponent_range(dtype)
    low, high = e_min - dtype.mantissa_bits - 3, e_max + 3
    with np.errstate(all="ignore"):
        wide = [p.astype(np.float64) for p in points]
        inside = np.all([np.isfinite(w) for w in wide], axis=0)
        if op in (Op.Log2, Op.Pow):
            inside &= wide[0] > 0
        if op in (Op.Exp2, Op.Pow):
            exponent = wide[0] if op is Op.Exp2 else np.log2(np.abs(wide[0])) * wide[1]
            inside &= (exponent > low) & (exponent < high)
    return tuple(p[inside] for p in points)


def _crossed(bases: Vector, exponents: Vector) -> Points:
    return np.repeat(bases, len(exponents)), np.tile(exponents, len(bases))


# Every number -----------------------------------------------------------------------------------------------------


def every_number(dtype: DType) -> Vector:
    """All numbers of a format of 16 bits."""
    return np.arange(1 << dtype.bits, dtype=np.uint16).view(to_numpy(dtype))


def exhaustive(op: Op, dtype: DType) -> Iterator[Points]:
    """All numbers of a format of 16 bits; of Pow all bases at some exponents, and some bases at all exponents."""
    numbers = every_number(dtype)
    if op is not Op.Pow:
        yield in_domain(op, dtype, (numbers,))
        return
    for exponent in (s * y for y in EXPONENTS for s in (1, -1)):
        yield in_domain(op, dtype, (numbers, np.full_like(numbers, exponent)))
    for base in _bases(dtype):
        yield in_domain(op, dtype, (np.full_like(numbers, base), numbers))


def binade(op: Op) -> Iterator[Points]:
    """All numbers of binary32 in [1, 2), in pieces; of Exp2 also those whose results are subnormal."""
    for numbers in _between(1.0, 2.0):
        if op is not Op.Pow:
            yield (numbers,)
        else:
            yield from ((numbers, np.full_like(numbers, y)) for y in BINADE_EXPONENTS)
    if op is Op.Exp2:
        yield from ((-numbers,) for numbers in _between(126.0, 150.0))


def _between(low: float, high: float) -> Iterator[Vector]:
    """All numbers of binary32 in [low, high), for low > 0."""
    first, last, size = to_bits(float32, low), to_bits(float32, high), 1 << 20
    for start in range(first, last, size):
        yield np.arange(start, min(start + size, last), dtype=np.uint32).view(np.float32)


# Directed points --------------------------------------------------------------------------------------------------


def directed(op: Op, dtype: DType) -> Points:
    """Points where such programs go wrong: see the functions below."""
    if op is Op.Pow:
        exponents = _array(dtype, (s * y for y in (*EXPONENTS, 1e-10, 1e4, 1e8) for s in (1, -1)))
        return in_domain(op, dtype, _crossed(_bases(dtype), exponents))
    centres = {Op.Exp2: _steps, Op.Log2: _seams, Op.Sin: _quadrants}[op](dtype)
    around = (y for c in centres for y in _neighbours(dtype, round_to(dtype, c), 3))
    return in_domain(op, dtype, (_array(dtype, around),))


def _steps(dtype: DType) -> list[float]:
    """Integers, halves, and powers of two below 1: where Exp2 changes its integer part, or has little to do."""
    e_min, e_max = exponent_range(dtype)
    centres = [n / 2 for n in range(2 * (e_min - dtype.mantissa_bits - 2), 2 * (e_max + 2))]
    return centres + [math.ldexp(s, e) for e in range(-dtype.mantissa_bits - 3, 0) for s in (1.0, -1.0)]


def _seams(dtype: DType) -> list[float]:
    """Powers of two and √½ times them: where a significand begins, and where Log2 changes its exponent."""
    e_min, e_max = exponent_range(dtype)
    roots = (1.0, math.sqrt(0.5), math.sqrt(2.0))
    centres = [math.ldexp(s, e) for e in range(e_min, e_max + 1) for s in roots]
    subnormal = [math.ldexp(1.0, e) for e in range(e_min - dtype.mantissa_bits, e_min)]
    return [c for c in centres if c <= largest_finite(dtype)] + subnormal


def _quadrants(dtype: DType) -> list[float]:
    """Multiples of π/4, the numbers nearest to a multiple of π/2 at each exponent, powers of two, and small numbers."""
    e_min, e_max = exponent_range(dtype)
    multiples = [*range(1, 400), *((1 << j) + d for j in range(9, 60) for d in (-1, 0, 1, 2))]
    centres = [k * math.pi / 4 for k in multiples] + [x for _, x in nearest_to_quadrants(dtype)]
    centres += [math.ldexp(s, e) for e in range(max(e_min, -60), e_max + 1) for s in (1.0, 1.2345)]
    return [c for c in centres if c <= largest_finite(dtype)]


def nearest_to_quadrants(dtype: DType) -> list[tuple[Fraction, float]]:
    """For each exponent, the number that is nearest to a multiple of π/2, and how near, in quadrants; nearest first.

    Among M < 2^p the least distance of M·a from an integer is that of the denominator of a convergent of a.
    """
    scale, found = 3000, []
    quadrants = Fraction(4 * scaled_turns(scale), 1 << scale)
    for e in range(-dtype.mantissa_bits - 1, exponent_range(dtype)[1] - dtype.mantissa_bits + 1):
        turned = quadrants * Fraction(2) ** e % 1
        best = _greatest_denominator(turned, 2 << dtype.mantissa_bits)
        distance = best * turned % 1
        if math.ldexp(best, e) >= 0.5:
            found.append((min(distance, 1 - distance), math.ldexp(best, e)))
    return sorted(found)


def _greatest_denominator(a: Fraction, limit: int) -> int:
    """The greatest denominator below a limit of the convergents of a number between 0 and 1."""
    before, denominator, rest = 0, 1, a
    while rest:
        whole = math.floor(1 / rest)
        if whole * denominator + before >= limit:
            break
        before, denominator, rest = denominator, whole * denominator + before, 1 / rest - whole
    return denominator


def _bases(dtype: DType) -> Vector:
    """Bases of Pow: near 1, near powers of two and √½ times them, and the ends of the range."""
    e_min, e_max = exponent_range(dtype)
    exponents = {0, 1, -1, 2, 5, -5, e_min, e_min // 2, e_max // 2, e_max - 1}
    centres = [math.ldexp(s, e) for e in exponents for s in (1.0, math.sqrt(0.5), 1.1, 1.3, 1.7)]
    centres += [3.0, 10.0, math.e, largest_finite(dtype), math.ldexp(1.0, e_min - dtype.mantissa_bits)]
    around = (y for c in centres for y in _neighbours(dtype, round_to(dtype, c), 2))
    return _array(dtype, (y for y in around if y > 0))


def _neighbours(dtype: DType, x: float, count: int) -> Iterator[float]:
    """x and the numbers around it."""
    pattern = to_bits(dtype, x)
    for k in range(-count, count + 1):
        if 0 <= pattern + k < 1 << dtype.bits:
            near = float(from_bits(dtype, pattern + k))
            if math.isfinite(near):
                yield near


# Random points ----------------------------------------------------------------------------------------------------


def drawn(op: Op, dtype: DType, count: int, seed: int) -> Points:
    """Random points, half of them spread over the range and half where the error is greatest."""
    rng = np.random.default_rng(seed)
    half = count // 2
    if op is Op.Pow:
        bases = np.concatenate([_spread(dtype, half, rng), rng.uniform(0.5, 2.0, count - half)])
        exponents = _exponents_of(dtype, np.log2(bases), rng)
        operands: list[Vector] = [bases, exponents]
    else:
        sides = {Op.Exp2: _drawn_exp2, Op.Log2: _drawn_log2, Op.Sin: _drawn_sin}[op](dtype, half, rng)
        operands = [np.concatenate(sides)]
    with np.errstate(over="ignore"):
        return in_domain(op, dtype, tuple(x.astype(to_numpy(dtype)) for x in operands))


def _spread(dtype: DType, count: int, rng: np.random.Generator) -> Vector:
    """Positive numbers of every exponent."""
    e_min, e_max = exponent_range(dtype)
    exponents = rng.integers(e_min - dtype.mantissa_bits, e_max + 1, count)
    return np.asarray(np.ldexp(rng.uniform(1.0, 2.0, count), exponents))


def _exponents_of(dtype: DType, logarithms: Vector, rng: np.random.Generator) -> Vector:
    """Exponents that spread the powers over the range, a third of them over its subnormal end, most at its top."""
    e_min, e_max = exponent_range(dtype)
    least = e_min - dtype.mantissa_bits
    wanted = rng.uniform(least, e_max + 1, len(logarithms))
    wanted[::3] = rng.uniform(e_min - 1, e_min, len(wanted[::3]))
    wanted[::9] = rng.uniform(least, e_min, len(wanted[::9]))
    return np.asarray(wanted / np.where(logarithms == 0, 1.0, logarithms))


def _drawn_exp2(dtype: DType, half: int, rng: np.random.Generator) -> list[Vector]:
    e_min, e_max = exponent_range(dtype)
    least = e_min - dtype.mantissa_bits
    near, subnormal = rng.uniform(-1.0, 1.0, half // 2), rng.uniform(e_min - 1, e_min, half // 2)
    return [rng.uniform(least, e_max + 1, half), near, subnormal]


def _drawn_log2(dtype: DType, half: int, rng: np.random.Generator) -> list[Vector]:
    return [_spread(dtype, half, rng), rng.uniform(0.5, 2.0, half)]


def _drawn_sin(dtype: DType, half: int, rng: np.random.Generator) -> list[Vector]:
    return [_spread(dtype, half, rng), rng.uniform(-8.0, 8.0, half)]


def pieces(points: Points, size: int = 1 << 18) -> Iterator[Points]:
    """Points in pieces of at most a size, so that a program on arrays needs little memory."""
    for start in itertools.takewhile(lambda s: s < len(points[0]), itertools.count(0, size)):
        yield tuple(p[start : start + size] for p in points)
