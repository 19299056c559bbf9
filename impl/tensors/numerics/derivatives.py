"""
Stated derivatives
==================

The derivatives of elementary and special functions, which are programs of many steps (`elementary`, `special`). What
follows from the steps is another rounding of the same number, computed by as many steps again and, where the program
chooses between two ways, behind masks. So the functions state their derivatives (U-33), by which a gradient multiplies.

A node is known to be such a function of something by its program: it is what the function makes of a place, with a
value in that place.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from soundline.impl.analysis import elementary
from soundline.impl.analysis.elementary import like
from soundline.impl.tensors.core.arithmetic import Arithmetic
from soundline.impl.tensors.numerics import gates, normal, pairs, special
from soundline.spec.dtypes import DType, float32, float64
from soundline.spec.ops.adjoints import Stated
from soundline.spec.uop import Op, UOp, param

_PLACE = 1 << 30
"""The slot of the Param that stands for the argument of a function."""
_PLAIN = frozenset((Op.Const, Op.Expand, Op.Reshape, Op.Param))
"""The ops of constants, whose form depends on the shape, and of the place."""


@dataclass(frozen=True, slots=True)
class _Function:
    """A function, as UOps, and what it passes on: (operands, value, g) → the adjoint of each operand."""

    program: Callable[..., UOp]
    passes: Callable[[tuple[UOp, ...], UOp, UOp], tuple[UOp, ...]]
    operands: int = 1


def _of(made: Callable[..., Any]) -> Callable[..., UOp]:
    """A function of Tensors on UOps."""
    return lambda *xs: _of_several(made)(*xs)[0]


def _of_several(made: Callable[..., Any]) -> Callable[..., tuple[UOp, ...]]:
    """A function of Tensors on UOps that gives several, or one."""

    def program(*xs: UOp) -> tuple[UOp, ...]:
        found: Any = made(*map(Arithmetic.of, xs))
        return tuple(t.uop for t in (found if isinstance(found, tuple) else (found,)))

    return program


def _with(made: Callable[..., Any], slope: Callable[..., Any], operands: int = 1) -> _Function:
    """A function of Tensors, and one that gives its derivatives."""
    slopes = _of_several(slope)
    return _Function(_of(made), lambda xs, value, g: tuple(Op.Mul(g, d) for d in slopes(*xs)), operands)


def _one(slope: Callable[[UOp, UOp, UOp], UOp]) -> Callable[..., tuple[UOp, ...]]:
    """What passes to the one operand."""
    return lambda xs, value, g: (slope(xs[0], value, g),)


def _of_log(x: UOp, value: UOp, g: UOp) -> UOp:
    """g/x, as the law has it of Log2: NaN where there is no logarithm."""
    return Op.Where(Op.CmpLt(x, like(x, 0.0)), like(x, math.nan), Op.Div(g, x))


def _of_log1p(x: UOp, value: UOp, g: UOp) -> UOp:
    return _of_log(Op.Add(x, like(x, 1.0)), value, g)


_FUNCTIONS = (
    _Function(elementary.exp, _one(lambda x, value, g: Op.Mul(g, value))),
    _Function(elementary.log, _one(_of_log)),
    _Function(_of(special.expm1), _one(lambda x, value, g: Op.Mul(g, elementary.exp(x)))),
    _Function(_of(special.log1p), _one(_of_log1p)),
    _with(special.logistic, special.logistic_slope),
    _with(special.tanh, special.tanh_slope),
    _with(special.sinh, special.cosh),
    _with(special.cosh, special.sinh),
    # asin and acos before atan, by which they are computed
    _with(special.asinh, special.asinh_slope),
    _with(special.acosh, special.acosh_slope),
    _with(special.atanh, special.atanh_slope),
    _with(special.asin, special.asin_slope),
    _with(special.acos, special.acos_slope),
    _with(special.atan, special.atan_slope),
    _with(normal.erf, normal.erf_slope),
    _with(normal.gelu, normal.gelu_slope),
    _with(gates.silu, gates.silu_slope),
    _with(gates.gelu_by_tanh, gates.gelu_by_tanh_slope),
    _with(gates.mish, gates.mish_slope),
    _with(gates.softsign, gates.softsign_slope),
    _with(gates.tanhshrink, gates.tanhshrink_slope),
    _with(pairs.atan2, pairs.atan2_slopes, 2),
    _with(pairs.hypot, pairs.hypot_slopes, 2),
    _with(pairs.logaddexp, pairs.logaddexp_slopes, 2),
)


def stated(node: UOp) -> Stated | None:
    """The adjoint of a node that is one of the functions of something; None of any other."""
    if node.dtype not in (float32, float64) or node.shape is None:
        return None
    for function in _FUNCTIONS:
        root, _ = _template(function, node.dtype, (1,))
        if _may_be(root, node):
            root, places = _template(function, node.dtype, node.shape)
            xs = arguments(root, places, node)
            if xs is not None:
                return _stated(function, xs)
    return None


def _stated(function: _Function, xs: tuple[UOp, ...]) -> Stated:
    return Stated(xs, lambda value, g: function.passes(xs, value, g))


@functools.lru_cache(maxsize=512)
def _template(function: _Function, dtype: DType, shape: Any) -> tuple[UOp, tuple[UOp, ...]]:
    """What a function makes of places, and the places."""
    places = tuple(param(_PLACE + k, dtype, shape) for k in range(function.operands))
    return function.program(*places), places


def _may_be(root: UOp, node: UOp, levels: int = 5) -> bool:
    """Whether the ops of the last levels agree."""
    if root.op in _PLAIN:
        return True
    return node.op is root.op and (
        levels == 0 or all(_may_be(t, s, levels - 1) for s, t in zip(node.src, root.src, strict=True))
    )


def argument(root: UOp, own: UOp, node: UOp) -> UOp | None:
    """What stands in a node in the place of `own` in `root`; None where the node is no such thing."""
    found = arguments(root, (own,), node)
    return None if found is None else found[0]


def arguments(root: UOp, places: tuple[UOp, ...], node: UOp) -> tuple[UOp, ...] | None:
    """What stands in a node in the places of `root`; None where the node is no such thing."""
    found: dict[UOp, UOp] = {}
    stack = [(root, node)]
    while stack:
        template, here = stack.pop()
        if template in found:
            if found[template] is not here:
                return None
            continue
        found[template] = here
        if template in places:
            continue
        if template.op is not here.op or template.arg != here.arg or len(template.src) != len(here.src):
            return None
        stack += zip(template.src, here.src, strict=True)
    return tuple(found[p] for p in places) if all(p in found for p in places) else None
