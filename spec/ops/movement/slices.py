"""
Slice
=====

Elements that begin at a byte, perhaps of another dtype (U-23).
"""

from __future__ import annotations

from soundline.spec.dtypes import bool_
from soundline.spec.ops.adjoints import Parts, Passes, always
from soundline.spec.ops.building import shape_source
from soundline.spec.ops.laws import AGREED_DEVICE, DTYPE_RANGE, INHERITED, is_index_scalar, is_stored
from soundline.spec.ops.movement.shared import T
from soundline.spec.ops.node import Op, SliceArg, UOp
from soundline.spec.ops.schema import Law, Sources, entry, source
from soundline.spec.ops.shards import slice_keeps_parts
from soundline.spec.ops.sizes import Condition, at_most, divides, every, multiply, shape_of


def aligned_and_inside(src: Sources, arg: SliceArg) -> Condition:
    """The slice begins where an item of its dtype may begin, and ends inside of T where its offset is a number."""
    start = multiply(src[1], src[0].dtype.itemsize)
    aligned = divides(arg.dtype.itemsize, start)
    if arg.size < 0:
        return False
    if not isinstance(start, int):
        return aligned
    length = multiply(shape_of(src[0])[0], src[0].dtype.itemsize)
    return every((aligned, at_most(0, start), at_most(start + arg.size * arg.dtype.itemsize, length)))


def other_dtype(src: Sources, arg: SliceArg) -> bool:
    """Whether the elements of T may be read as the dtype of the slice."""
    return arg.dtype is src[0].dtype or (is_stored(arg.dtype) and bool_ not in (arg.dtype, src[0].dtype))


def adjoint(node: UOp, g: UOp) -> Parts:
    """g where the slice stood, if it is of the same dtype."""
    value, offset = node.src
    if node.dtype is not value.dtype:
        return None, None
    return Op.Pad(g, shape_source((offset,)), shape_source(shape_of(value))), None


def live(node: UOp, g: UOp) -> Parts:
    """Which elements of T the slice reads."""
    return Op.Pad(g, shape_source((node.src[1],)), shape_source(shape_of(node.src[0]))), None


SLICE = entry(
    Op.Slice,
    "movement",
    "The size elements of dtype that begin at the byte where element offset of T begins (little endian).",
    sources=(T, source("offset", "an index scalar that counts elements of T")),
    arg="size, dtype",
    arg_types=(SliceArg,),
    constraints=(
        (
            "T has rank 1 and a stored dtype",
            lambda src, arg: len(shape_of(src[0])) == 1 and is_stored(src[0].dtype),
        ),
        ("offset is an index scalar", lambda src, arg: is_index_scalar(src[1])),
        ("the dtype is stored and is not bool, unless it is that of T", other_dtype),
        (
            "offset is byte-aligned to dtype, and where it is constant the slice lies inside T",
            aligned_and_inside,
        ),
        (
            "a multi-device value with a shard axis is sliced whole, into a size that n divides",
            lambda src, arg: slice_keeps_parts(src[0], src[1], arg),
        ),
    ),
    typing=INHERITED.but(
        dtype=Law("from arg", lambda src, arg: arg.dtype),
        shape=Law("(size,)", lambda src, arg: (arg.size,)),
        device=AGREED_DEVICE,
    ),
    bounds=DTYPE_RANGE,
    adjoint=Passes(
        "to T of the same dtype: g at offset in zeros. To T read as another dtype: nothing",
        adjoint,
        live=live,
        narrows=always,
        scales=False,
    ),
    example=">>> evaluate(Op.Slice(tensor([1, 2, 3]), const(1, index), arg=SliceArg(2, int32))).elements\n(2, 3)",
    decisions=("U-23", "U-35"),
)
