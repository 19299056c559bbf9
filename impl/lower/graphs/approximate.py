"""
Approximate
===========

What the licence ``approx`` is used for: e^x of float32, which the Tensor layer writes with an argument in two words and
a power of two that is right to 0.8 ulp, in half the operations. The argument is reduced by multiples of ln 2, the rest
goes into a polynomial, and the power of two is multiplied in two steps, so that subnormal results are rounded once. The
greatest error that was found is 0.9 ulp where products are fused and 1.2 ulp where they are not (`BOUND`); 0, the
infinities and NaN are what they were.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import Final

from soundline.impl.analysis.elementary import exp
from soundline.impl.lower.graphs.rebuilding import rebuilt
from soundline.impl.lower.graphs.simplify import Applied, simplified
from soundline.spec.dtypes import DType, float32, int32
from soundline.spec.uop import Op, UOp, const, over, param, substitute, toposort

BOUND: Final = 1.25
"""In ulp, the error of e^x under the licence."""
_LEAST, _MOST = -105.0, 90.0
"""Beyond these e^x is 0 or infinity."""
_LOG2_E: Final = float.fromhex("0x1.715476p+0")
_LN2: Final = (float.fromhex("0x1.63p-1"), float.fromhex("-0x1.bd0106p-13"))
"""ln 2 in two words, of which the first has so few bits that its product with a small whole number is exact."""
_SHIFTER: Final = 1.5 * 2.0**23
"""A sum with this is rounded to a whole number, which stands in its last bits."""
_SERIES: Final = tuple(
    map(
        float.fromhex,
        ("0x1.6a21aap-10", "0x1.123b6ap-7", "0x1.5558fcp-5", "0x1.55549p-3", "0x1.fffffcp-2", "1", "1"),
    )
)
"""A polynomial near e^f for abs(f) ≤ ln 2/2, the coefficient of f⁶ first."""


def approximated(kernel: UOp, licences: Collection[str]) -> UOp:
    """A kernel of scalars in which e^x is cheaper, where that is licensed."""
    if "approx" not in licences:
        return kernel

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        x = _argument(over(node, src), frozenset(licences))
        return None if x is None else cheap_exp(x)

    return rebuilt(kernel, change)


@functools.cache
def _template(licences: frozenset[str]) -> tuple[UOp, UOp]:
    """e^x as the Tensor layer writes it and the rules leave it, and its x."""
    x = param(0, float32)
    return simplified(exp(x), licences, Applied()), x


def _argument(node: UOp, licences: frozenset[str]) -> UOp | None:
    """The x of which a node is e^x; None where it is something else."""
    if node.op is not Op.Where or node.dtype is not float32 or node.src[1].op is not Op.Exp2:
        return None
    template, own = _template(licences)
    for inner in toposort(node.src[1]):
        if inner.op is Op.Where and inner.src[0].op is Op.CmpLt and inner.src[0].src[0] is inner.src[2]:
            x = inner.src[2]
            if substitute(template, {own: x}) is node:
                return x
    return None


def _number(value: float, dtype: DType = float32) -> UOp:
    return const(value, dtype)


def cheap_exp(x: UOp) -> UOp:
    """e^x of a scalar: 2^n · e^(x - n·ln 2)."""
    x = Op.Where(Op.CmpLt(x, _number(_LEAST)), _number(_LEAST), x)
    x = Op.Where(Op.CmpLt(_number(_MOST), x), _number(_MOST), x)
    shifted = Op.Mulacc(x, _number(_LOG2_E), _number(_SHIFTER))
    n = Op.Sub(shifted, _number(_SHIFTER))
    f = x
    for part in _LN2:
        f = Op.Mulacc(n, _number(-part), f)
    power = _number(_SERIES[0])
    for coefficient in _SERIES[1:]:
        power = Op.Mulacc(power, f, _number(coefficient))
    bits = Op.Bitcast(shifted, arg=int32)
    half = Op.Shr(bits, _number(1, int32))
    for step in (half, Op.Sub(bits, half)):
        scale = Op.Add(Op.Shl(step, _number(23, int32)), _number(0x3F800000, int32))
        power = Op.Mul(power, Op.Bitcast(scale, arg=float32))
    return power
