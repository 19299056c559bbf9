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

from soundline.impl import elementary
from soundline.impl.elementary import like
from soundline.spec.adjoint_schema import Stated
from soundline.spec.dtypes import DType, float32, float64
from soundline.spec.uop import Op, UOp, param

_PLACE = 1 << 30
"""The slot of the Param that stands for the argument of a function."""
_PLAIN = frozenset((Op.Const, Op.Expand, Op.Reshape, Op.Param))
"""The ops of constants, whose form depends on the shape, and of the place."""


@dataclass(frozen=True, slots=True)
class _Function:
    """A function of one value, as UOps, and what it passes on: (x, value, g) → the adjoint of x."""

    program: Callable[[UOp], UOp]
    slope: Callable[[UOp, UOp, UOp], UOp]


def _special(name: str) -> Callable[[UOp], UOp]:
    """A function of `special` on UOps."""

    def program(x: UOp) -> UOp:
        from soundline.impl import special
        from soundline.impl.tensor import Tensor

        made: Any = getattr(special, name)
        found: UOp = made(Tensor.of(x)).uop
        return found

    return program


def _one_less(x: UOp) -> UOp:
    """1 - x."""
    return Op.Sub(like(x, 1.0), x)


def _of_log(x: UOp, value: UOp, g: UOp) -> UOp:
    """g/x, as the law has it of Log2: NaN where there is no logarithm."""
    return Op.Where(Op.CmpLt(x, like(x, 0.0)), like(x, math.nan), Op.Div(g, x))


def _of_log1p(x: UOp, value: UOp, g: UOp) -> UOp:
    return _of_log(Op.Add(x, like(x, 1.0)), value, g)


def _of_erf(x: UOp, value: UOp, g: UOp) -> UOp:
    bell = elementary.exp(Op.Neg(Op.Mul(x, x)))
    return Op.Mul(g, Op.Mul(bell, like(x, 2.0 / math.sqrt(math.pi))))


_FUNCTIONS = (
    _Function(elementary.exp, lambda x, value, g: Op.Mul(g, value)),
    _Function(elementary.log, _of_log),
    _Function(_special("expm1"), lambda x, value, g: Op.Mul(g, elementary.exp(x))),
    _Function(_special("log1p"), _of_log1p),
    _Function(_special("logistic"), lambda x, value, g: Op.Mul(g, Op.Mul(value, _one_less(value)))),
    _Function(_special("tanh"), lambda x, value, g: Op.Mul(g, _one_less(Op.Mul(value, value)))),
    _Function(_special("erf"), _of_erf),
)


def stated(node: UOp) -> Stated | None:
    """The adjoint of a node that is one of the functions of something; None of any other."""
    if node.dtype not in (float32, float64) or node.shape is None:
        return None
    for function in _FUNCTIONS:
        root, own = _template(function, node.dtype, (1,))
        if _may_be(root, node):
            root, own = _template(function, node.dtype, node.shape)
            x = argument(root, own, node)
            if x is not None:
                return _stated(function, x)
    return None


def _stated(function: _Function, x: UOp) -> Stated:
    return Stated((x,), lambda value, g: (function.slope(x, value, g),))


@functools.lru_cache(maxsize=256)
def _template(function: _Function, dtype: DType, shape: Any) -> tuple[UOp, UOp]:
    """What a function makes of a place, and the place."""
    own = param(_PLACE, dtype, shape)
    return function.program(own), own


def _may_be(root: UOp, node: UOp) -> bool:
    """Whether the first ops agree."""
    return node.op is root.op and all(
        s.op is t.op or t.op in _PLAIN for s, t in zip(node.src, root.src, strict=True)
    )


def argument(root: UOp, own: UOp, node: UOp) -> UOp | None:
    """What stands in a node in the place of `own` in `root`; None where the node is no such thing."""
    found: dict[UOp, UOp] = {}
    stack = [(root, node)]
    while stack:
        template, here = stack.pop()
        if template in found:
            if found[template] is not here:
                return None
            continue
        found[template] = here
        if template is own:
            continue
        if template.op is not here.op or template.arg != here.arg or len(template.src) != len(here.src):
            return None
        stack += zip(template.src, here.src, strict=True)
    return found.get(own)
