"""
Conversions
===========

Casts between dtypes, and reading bits as another dtype. A cast to an 8-bit float saturates unless the node says
otherwise: what is too large, the infinities included, becomes the greatest finite number.
"""

from __future__ import annotations

from soundline.impl.importers.reading.node import Node, Refusal, operator
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import DType, bool_, float8_e4m3fn, float8_e5m2, float32, largest_finite, lossless
from soundline.spec.uop import Op


def converted(x: Tensor, dtype: DType, *, saturate: bool = True) -> Tensor:
    """x in another dtype."""
    if dtype in (float8_e4m3fn, float8_e5m2) and saturate and not lossless(x.dtype, dtype):
        end = largest_finite(dtype)
        wide = x if x.dtype.is_float and x.dtype.bits >= 16 else x.cast(float32)
        return wide.maximum(-end).minimum(end).cast(dtype)
    return x.cast(dtype)


@operator("Cast")
def cast(node: Node) -> Tensor:
    """Each element converted to the dtype that the node names."""
    node.ignore("round_mode")  # only for a dtype that is refused
    target = node.dtype("to", node[0].dtype)
    return converted(node[0], target, saturate=node.flag("saturate", True))


@operator("CastLike")
def cast_like(node: Node) -> Tensor:
    """Each element converted to the dtype of another tensor."""
    node.ignore("round_mode")
    return converted(node[0], node[1].dtype, saturate=node.flag("saturate", True))


@operator("BitCast")
def bit_cast(node: Node) -> Tensor:
    """The bits of each element read as another dtype of that width; a bool is stored as 0 or 1."""
    x, target = node[0], node.dtype("to", node[0].dtype)
    if x.dtype is bool_ and target.is_int and target.bits == 8:
        return x.cast(target)
    if x.dtype.bits != target.bits or bool_ in (x.dtype, target):
        raise Refusal(f"the bits of {x.dtype} are not read as {target}")
    return x if x.dtype is target else Tensor.of(Op.Bitcast(x.uop, arg=target))
