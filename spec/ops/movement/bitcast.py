"""
Bitcast
=======

The same bytes, read as another dtype (U-23).
"""

from __future__ import annotations

from soundline.spec.dtypes import DType, index
from soundline.spec.ops.adjoints import Parts, routes
from soundline.spec.ops.building import const
from soundline.spec.ops.laws import DTYPE_RANGE, INHERITED
from soundline.spec.ops.movement.shared import T
from soundline.spec.ops.node import Op, Shape, Size, UOp
from soundline.spec.ops.schema import Law, Sources, entry
from soundline.spec.ops.shards import bitcast_keeps_parts
from soundline.spec.ops.sizes import Condition, as_size, divides, multiply, shape_of


def last_axis_divides(src: Sources, arg: DType) -> Condition:
    """The bytes of the last axis are a whole number of items."""
    if src[0].dtype.itemsize == arg.itemsize:
        return True
    shape = shape_of(src[0])
    return bool(shape) and divides(arg.itemsize, multiply(shape[-1], src[0].dtype.itemsize))


def scaled_shape(src: Sources, arg: DType) -> Shape:
    """The last axis has as many items as its bytes make."""
    shape = shape_of(src[0])
    if src[0].dtype.itemsize == arg.itemsize:
        return shape
    return (*shape[:-1], _scaled(shape[-1], src[0].dtype.itemsize, arg.itemsize))


def _scaled(size: Size, old: int, new: int) -> Size:
    """The number of items of `new` bytes in `size` items of `old` bytes."""
    if isinstance(size, int):
        return size * old // new
    if old % new == 0:
        return multiply(size, old // new)
    return as_size(Op.Idiv(size, const(new // old, index)))


def adjoint(node: UOp, g: UOp) -> Parts:
    """g, if nothing is reinterpreted."""
    return (g if node.dtype is node.src[0].dtype else None,)


BITCAST = entry(
    Op.Bitcast,
    "movement",
    "Reinterpret the stored bytes, little endian. The last axis scales by the ratio of the item sizes.",
    sources=(T,),
    arg="dtype",
    arg_types=(DType,),
    constraints=(
        (
            "both dtypes are integers of fixed width or floats",
            lambda src, arg: all(d.is_int or d.is_float for d in (src[0].dtype, arg)),
        ),
        (
            "the item sizes are equal, or T has a last axis whose bytes the new item size divides",
            last_axis_divides,
        ),
        (
            "where the last axis is the shard axis, so do the bytes of each of its n parts",
            lambda src, arg: bitcast_keeps_parts(src[0], arg),
        ),
    ),
    typing=INHERITED.but(
        dtype=Law("from arg", lambda src, arg: arg),
        shape=Law("s with the last axis scaled", scaled_shape),
    ),
    bounds=DTYPE_RANGE,
    adjoint=routes("to T of the same dtype: g. To any other: nothing, bits have no derivative", adjoint),
    example=">>> evaluate(Op.Bitcast(const(1.0, float32), arg=uint32)).elements\n(1065353216,)",
    decisions=("U-05", "U-23", "U-35"),
)
