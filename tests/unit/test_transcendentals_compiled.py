"""Exp2, Log2, Sin, Pow and Threefry in compiled C: bit for bit what the law's programs give."""

from __future__ import annotations

import math

import numpy as np
import pytest

from soundline.impl.arrays.storage import keep
from soundline.impl.executables.building import computed
from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import DType, exponent_range, ieee_floats, largest_finite, to_numpy, uint64
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.table import Op
from soundline.spec.uop import param
from soundline.verify.accuracy.decompositions import program_of, run_vector
from soundline.verify.accuracy.points import Points, directed, drawn

NAN, INF = math.nan, math.inf


def ends(dtype: DType, operands: int) -> Points:
    """Every combination of numbers where a format ends, and of bases and exponents with special cases."""
    e_min, _ = exponent_range(dtype)
    m = dtype.mantissa_bits
    numbers = [
        0.0,
        1.0,
        2.0,
        3.0,
        0.5,
        2.5,
        INF,
        largest_finite(dtype),
        2.0 ** (e_min - m),
        2.0**e_min,
        2.0**m + 1,
        1 + 2.0**-m,
    ]
    values = np.array([s * x for x in numbers for s in (1, -1)] + [NAN]).astype(to_numpy(dtype))
    return tuple(grid.ravel() for grid in np.meshgrid(*[values] * operands))


@pytest.mark.parametrize("op", [Op.Exp2, Op.Log2, Op.Sin, Op.Pow])
@pytest.mark.parametrize("dtype", ieee_floats)
def test_the_compiled_function_is_the_law_bit_for_bit(op: Op, dtype: DType) -> None:
    sets = [ends(dtype, 2 if op is Op.Pow else 1), directed(op, dtype), drawn(op, dtype, 60_000, 7)]
    points = tuple(np.concatenate(parts) for parts in zip(*sets, strict=True))
    (found,) = computed([op(*map(keep, points))])
    wanted = run_vector(program_of(op, dtype), *points)
    same = (found == wanted) & (np.signbit(found) == np.signbit(wanted)) | (
        np.isnan(found) & np.isnan(wanted)
    )
    assert len(points[0]) > 30_000 or dtype.bits == 16
    assert np.all(same), [tuple(p[k] for p in points) for k in np.flatnonzero(~same)[:5]]
    some = {k: p[:: len(p) // 150] for k, p in enumerate(points)}
    leaves = [param(k, dtype, p.shape) for k, p in some.items()]
    assert Array.from_numpy(found[:: len(found) // 150]) == evaluate(op(*leaves), some)


def test_compiled_threefry_is_the_law() -> None:
    rng = np.random.default_rng(5)
    counters, keys = (rng.integers(0, 2**64, 50_000, dtype=np.uint64) for _ in range(2))
    counters[:100] = np.arange(100)
    (found,) = computed([Op.Threefry(keep(counters), keep(keys))])
    assert np.array_equal(found, run_vector(program_of(Op.Threefry, uint64), counters, keys))
    assert len(set(found.tolist())) == len(found)
