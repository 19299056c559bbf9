"""
Accuracy of Exp2 and Log2
=========================

How far the programs that define `Exp2` and `Log2` are from the real functions, in units in the last place (ulp).

The programs are run on numpy arrays, one numpy operation for each node. Every operation that they use is exact or
correctly rounded in numpy too, so the results are those of the evaluator; a test compares the two. The real functions
come from mpmath.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from soundline.spec.decompositions import EXP2, LOG2
from soundline.spec.dtypes import (
    DType,
    exponent_range,
    float64,
    from_bits,
    largest_finite,
    round_to,
    to_bits,
    to_numpy,
)
from soundline.spec.node import UOp, toposort
from soundline.spec.op_schema import Op

Vector = npt.NDArray[Any]

_STEPS: dict[Op, Callable[..., Any]] = {
    Op.Add: np.add,
    Op.Sub: np.subtract,
    Op.Mul: np.multiply,
    Op.Div: np.divide,
    Op.CmpLt: np.less,
    Op.CmpNe: np.not_equal,
    Op.Where: np.where,
    Op.Shl: np.left_shift,
    Op.Shr: np.right_shift,
}


def run_vector(program: UOp, x: Vector) -> Vector:
    """A scalar program of one Param on every element of `x`."""
    found: dict[UOp, Any] = {}
    with np.errstate(all="ignore"):
        for node in toposort(program):
            operands = [found[s] for s in node.src if s in found]
            if node.op is Op.Const:
                found[node] = np.array(node.arg.value, dtype=to_numpy(node.dtype))
            elif node.op is Op.Param:
                found[node] = x
            elif node.op is Op.Bitcast:
                found[node] = operands[0].view(to_numpy(node.arg))
            elif node.op is Op.Cast:
                found[node] = operands[0].astype(to_numpy(node.arg))
            elif node.op in _STEPS:
                found[node] = _STEPS[node.op](*operands)
    return np.asarray(found[program])


def program_of(op: Op, dtype: DType) -> UOp:
    """The program that defines Exp2 or Log2 at a dtype."""
    return {Op.Exp2: EXP2, Op.Log2: LOG2}[op][dtype]


def real_function(op: Op) -> Callable[[float], Any]:
    """The real function as mpmath computes it, to far more digits than any format here holds."""
    import mpmath

    context = mpmath.mp.clone()
    context.prec = 160
    return (lambda x: context.power(2, x)) if op is Op.Exp2 else (lambda x: context.log(x) / context.ln2)


def ulp_of(dtype: DType, magnitude: float) -> float:
    """The distance of neighbouring numbers of a format near a magnitude."""
    e_min, e_max = exponent_range(dtype)
    e = math.frexp(magnitude)[1] - 1 if magnitude else e_min
    return math.ldexp(1.0, min(max(e, e_min), e_max) - dtype.mantissa_bits)


def error_in_ulp(dtype: DType, result: float, exact: Any) -> float:
    r"""\\|result - exact\\| in ulp of the exact value; what must overflow has no error if it does."""
    if math.isnan(result):
        return math.inf
    limit = largest_finite(dtype)
    if math.isinf(result):
        return 0.0 if abs(exact) - limit >= ulp_of(dtype, limit) / 2 else math.inf
    top = min(abs(exact), limit)
    return float(abs(result - exact) / ulp_of(dtype, float(top)))


def greatest_error(op: Op, dtype: DType, points: Vector) -> tuple[float, float]:
    """The greatest error over finite points of the function's domain, and a point where it occurs."""
    function = real_function(op)
    results = run_vector(program_of(op, dtype), points)
    worst, where = 0.0, 0.0
    for x, result in zip(
        points.astype(np.float64).tolist(), results.astype(np.float64).tolist(), strict=True
    ):
        error = error_in_ulp(dtype, result, function(x))
        if error > worst:
            worst, where = error, x
    return worst, where


def in_domain(op: Op, dtype: DType, points: Vector) -> Vector:
    """The finite points where the function is defined; for Exp2, those where the result is not far out of range."""
    with np.errstate(invalid="ignore"):
        wide = points.astype(np.float64)
    if op is Op.Log2:
        return points[np.isfinite(wide) & (wide > 0)]
    e_min, e_max = exponent_range(dtype)
    return points[(wide > e_min - dtype.mantissa_bits - 3) & (wide < e_max + 3)]


def every_number(dtype: DType) -> Vector:
    """All numbers of a format of 16 bits."""
    return np.arange(1 << dtype.bits, dtype=np.uint16).view(to_numpy(dtype))


def directed_points(op: Op, dtype: DType) -> Vector:
    """Points where such programs go wrong: near integers, halves, powers of two, the ends of the range, √½."""
    return np.array(sorted({round_to(dtype, x) for x in _directed(op, dtype)}), dtype=to_numpy(dtype))


def _directed(op: Op, dtype: DType) -> Iterator[float]:
    e_min, e_max = exponent_range(dtype)
    if op is Op.Exp2:
        centres = [n / 2 for n in range(2 * (e_min - dtype.mantissa_bits - 2), 2 * (e_max + 2))]
        centres += [math.ldexp(s, e) for e in range(-dtype.mantissa_bits - 3, 0) for s in (1.0, -1.0)]
    else:
        centres = [
            math.ldexp(s, e) for e in range(e_min, e_max + 1) for s in (1.0, math.sqrt(0.5), math.sqrt(2.0))
        ]
        centres = [c for c in centres if c <= largest_finite(dtype)]
        centres += [math.ldexp(1.0, e) for e in range(e_min - dtype.mantissa_bits, e_min)]
    for centre in centres:
        yield from _neighbours(dtype, round_to(dtype, centre), 3)


def _neighbours(dtype: DType, x: float, count: int) -> Iterator[float]:
    """x and the numbers around it."""
    pattern = to_bits(dtype, x)
    for k in range(-count, count + 1):
        if 0 <= pattern + k < 1 << dtype.bits:
            near = float(from_bits(dtype, pattern + k))
            if math.isfinite(near):
                yield near


def random_points(op: Op, dtype: DType, count: int, seed: int) -> Vector:
    """Random points, half of them spread over the range and half where the error is greatest."""
    rng = np.random.default_rng(seed)
    e_min, e_max = exponent_range(dtype)
    half = count // 2
    if op is Op.Exp2:
        spread = rng.uniform(e_min - dtype.mantissa_bits, e_max + 1, half)
        near = rng.uniform(-1.0, 1.0, count - half)
        near[::2] = rng.uniform(e_min - dtype.mantissa_bits, e_min, len(near[::2]))  # subnormal results
    else:
        exponents = rng.integers(e_min - dtype.mantissa_bits, e_max + 1, half)
        spread = np.ldexp(rng.uniform(1.0, 2.0, half), exponents)
        near = rng.uniform(0.5, 2.0, count - half)
    points = np.concatenate([spread, near])
    return in_domain(op, dtype, points if dtype is float64 else points.astype(to_numpy(dtype)))
