"""
Accuracy of Exp2, Log2, Sin and Pow
===================================

How far the programs that define these ops are from the real functions, in units in the last place (ulp).

The programs are run on numpy arrays, one numpy operation for each node. Every operation that they use is exact or
correctly rounded in numpy too, so the results are those of the evaluator; a test compares the two. numpy's own
functions in its longest format choose the worst of many results, and mpmath judges those.

``python -m soundline.verify.accuracy.decompositions`` measures everything that the table in
`soundline.spec.values.accuracy` states; it takes some minutes. With names of ops and dtypes it measures those.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soundline.spec.dtypes import (
    DType,
    bfloat16,
    exponent_range,
    float32,
    float64,
    largest_finite,
    to_numpy,
)
from soundline.spec.ops.node import Op, UOp, toposort
from soundline.spec.values.accuracy import ACCURACY
from soundline.spec.values.decompositions import PROGRAMS
from soundline.verify.accuracy.points import Points, binade, directed, drawn, exhaustive, pieces

Vector = npt.NDArray[Any]


# Programs on arrays -----------------------------------------------------------------------------------------------

_STEPS: dict[Op, Callable[..., Any]] = {
    Op.Add: np.add,
    Op.Sub: np.subtract,
    Op.Mul: np.multiply,
    Op.Div: np.divide,
    Op.Trunc: np.trunc,
    Op.CmpLt: np.less,
    Op.CmpNe: np.not_equal,
    Op.Not: np.logical_not,
    Op.And: np.bitwise_and,
    Op.Or: np.bitwise_or,
    Op.Xor: np.bitwise_xor,
    Op.Where: np.where,
    Op.Shl: np.left_shift,
    Op.Shr: np.right_shift,
}


def run_vector(program: UOp, *operands: Vector) -> Vector:
    """A scalar program on every element of its operands, which stand for its Params by their slots."""
    found: dict[UOp, Any] = {}
    with np.errstate(all="ignore"):
        for node in toposort(program):
            sources = [found[s] for s in node.src if s in found]
            if node.op is Op.Const:
                found[node] = np.array(node.arg.value, dtype=to_numpy(node.dtype))
            elif node.op is Op.Param:
                found[node] = operands[node.arg.slot]
            elif node.op is Op.Bitcast:
                found[node] = sources[0].view(to_numpy(node.arg))
            elif node.op is Op.Cast:
                found[node] = _cast(sources[0], node.src[0].dtype, node.arg)
            elif node.op in _STEPS:
                found[node] = _STEPS[node.op](*sources)
    return np.asarray(found[program])


def _cast(x: Vector, source: DType, target: DType) -> Vector:
    """A conversion in one rounding; numpy's from binary64 to bfloat16 goes through binary32 and rounds twice."""
    if (source, target) == (float64, bfloat16):
        nearest = x.astype(np.float32)
        lower = np.where(np.abs(nearest) > np.abs(x), np.nextafter(nearest, np.float32(0)), nearest)
        odd = lower.view(np.uint32) | (lower != x).astype(
            np.uint32
        )  # a last bit of 1 stands for all that is lost
        x = np.where(np.isfinite(x), odd.view(np.float32), nearest)
    return np.asarray(x.astype(to_numpy(target)))


def program_of(op: Op, dtype: DType) -> UOp:
    """The program that defines an op at a dtype."""
    return PROGRAMS[op][dtype]


# The measure ------------------------------------------------------------------------------------------------------


def real_function(op: Op) -> Callable[..., Any]:
    """The real function as mpmath computes it, to far more digits than any format here holds."""
    import mpmath

    context = mpmath.mp.clone()
    context.prec = 200
    functions: dict[Op, Callable[..., Any]] = {
        Op.Exp2: lambda x: context.power(2, context.mpf(x)),
        Op.Log2: lambda x: context.log(context.mpf(x)) / context.ln2,
        Op.Sin: lambda x: context.sin(context.mpf(x)),
        Op.Pow: lambda a, b: context.exp(context.log(context.mpf(a)) * context.mpf(b)),
    }
    return functions[op]


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


_ROUGH: dict[Op, Callable[..., Any]] = {Op.Exp2: np.exp2, Op.Log2: np.log2, Op.Sin: np.sin, Op.Pow: np.power}


def _rough_errors(op: Op, dtype: DType, results: Vector, operands: Points) -> Vector:
    """The errors by numpy's function in the longest format it has; where it says nothing, infinite."""
    e_min, e_max = exponent_range(dtype)
    limit = largest_finite(dtype)
    with np.errstate(all="ignore"):
        exact = _ROUGH[op](*(x.astype(np.float64).astype(np.longdouble) for x in operands))
        exponents = np.clip(np.frexp(exact)[1] - 1, e_min, e_max) - dtype.mantissa_bits
        errors = np.abs(np.ldexp(results.astype(np.float64).astype(np.longdouble) - exact, -exponents))
        overflows = np.isinf(results) & (
            np.abs(exact) >= np.longdouble(limit) + np.longdouble(ulp_of(dtype, limit) / 2)
        )
    return np.where(overflows, 0.0, np.where(np.isnan(errors), np.inf, errors))


class Worst(NamedTuple):
    """The greatest error among some points, one of them where it occurs, and how many they are."""

    error: float
    where: tuple[float, ...]
    points: int


def greatest_error(op: Op, dtype: DType, points: Points, judged: int = 8) -> Worst:
    """The greatest error over points of the function's domain: the worst few of each piece, as mpmath finds them."""
    function, worst = real_function(op), Worst(0.0, (), len(points[0]))
    for operands in pieces(points):
        results = run_vector(program_of(op, dtype), *operands)
        rough = _rough_errors(op, dtype, results, operands)
        for k in np.argsort(rough)[::-1][:judged].tolist():
            at = tuple(float(x[k]) for x in operands)
            error = error_in_ulp(dtype, float(results[k]), function(*at))
            if error > worst.error:
                worst = worst._replace(error=error, where=at)
    return worst


def measured_points(op: Op, dtype: DType) -> Iterator[Points]:
    """All points of the statement in `soundline.spec.values.accuracy`."""
    if dtype.bits == 16:
        yield from exhaustive(op, dtype)
        return
    yield directed(op, dtype)
    yield drawn(op, dtype, 2_000_000, seed=1)
    if dtype is float32:
        yield from binade(op)


def measure(op: Op, dtype: DType) -> Worst:
    """The greatest error over all of them."""
    found = [greatest_error(op, dtype, points) for points in measured_points(op, dtype)]
    worst = max(found, key=lambda w: w.error)
    return worst._replace(points=sum(w.points for w in found))


def main(names: list[str]) -> None:
    """Measure every row of the table, or those of some ops and dtypes."""
    for op, dtype in ACCURACY:
        if all(name in (op.name, dtype.name) for name in names):
            worst = measure(op, dtype)
            where = ", ".join(x.hex() for x in worst.where)
            print(
                f"{op.name:5} {dtype.name:9} {worst.error:.6f} ulp at {where}; {worst.points} points",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
