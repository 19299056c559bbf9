"""
Reductions of bools
===================

Whether any or all is true along a loop, as a reduction of whole numbers that are as wide as what was compared: such a
reduction has vectors, which one of bools has not. `expand` and `select` make of it what they make of every greatest
element.

*Invariant*: the values of all stores are unchanged, bit for bit. Where nothing is reduced not any is true, and all.
"""

from __future__ import annotations

from soundline.impl.lower.graphs.rebuilding import rebuilt
from soundline.impl.lower.schedule.vector_types import lane_size
from soundline.spec.dtypes import bool_, int32, int64
from soundline.spec.uop import Op, ReduceArg, UOp, const, over

_WHOLE = {4: int32, 8: int64}


def with_whole_numbers(nest: UOp) -> UOp:
    """The nest with its reductions of bools that were compared as reductions of 1 and 0."""
    return rebuilt(
        nest, lambda n, src: _counted(over(n, src)) if n.op is Op.Reduce and n.dtype is bool_ else None
    )


def _counted(reduction: UOp) -> UOp:
    """A reduction of bools as the greatest of whole numbers, 1 for what decides it: True of any, False of all."""
    body, *ranges = reduction.src
    dtype = _WHOLE.get(lane_size(body) or 0)
    if reduction.arg.op not in (Op.Max, Op.Mul) or reduction.arg.axes or dtype is None:
        return reduction
    zero, one = const(0, dtype), const(1, dtype)
    decides = (one, zero) if reduction.arg.op is Op.Max else (zero, one)
    greatest = Op.Reduce(Op.Where(body, *decides), *ranges, arg=ReduceArg(Op.Max))
    return Op.CmpLt(zero, greatest) if reduction.arg.op is Op.Max else Op.CmpLt(greatest, one)
