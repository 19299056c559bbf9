"""
Leaves
======

Placeholders, storage, constants and raw bytes.
"""

from __future__ import annotations

from typing import Any

from soundline.spec.dtypes import is_element, order
from soundline.spec.ops.adjoints import LEAF, Nothing
from soundline.spec.ops.bounds import At, Bounds, Known, dtype_range
from soundline.spec.ops.laws import BYTES, DTYPE_RANGE, NO_AXIS, NO_DEVICE, is_stored, no_negative
from soundline.spec.ops.node import BufferArg, ConstArg, Op, ParamArg, UOp
from soundline.spec.ops.schema import Law, Typing, entry, source
from soundline.spec.ops.shards import admits_axis, parts
from soundline.spec.ops.sizes import sizes_in

DTYPE_FROM_ARG: Law[Any] = Law("from arg", lambda src, arg: arg.dtype)
DEVICE_FROM_ARG: Law[Any] = Law("from arg", lambda src, arg: arg.device)

# Param ------------------------------------------------------------------------------------------------------------


def bounds_in_order(arg: ParamArg) -> bool:
    """Whether promised bounds are numbers of the dtype, the lower first."""
    if arg.bounds is None:
        return True
    lo, hi = arg.bounds
    if lo.dtype is not arg.dtype or hi.dtype is not arg.dtype:
        return False
    return not any(e.value != e.value for e in (lo, hi)) and order(lo.value) <= order(hi.value)


def promised(node: UOp, at: At) -> Known:
    """The bounds of the arg, if there are any."""
    if node.arg.bounds is None:
        return dtype_range(node.dtype)
    return Bounds(node.arg.bounds[0].value, node.arg.bounds[1].value)


PARAM = entry(
    Op.Param,
    "source",
    "A placeholder of shape s. A Function substitutes it; an evaluation binds it to a value by its slot.",
    sources=(source("s", "the shape: a Stack of index scalars"),),
    arg="slot, dtype, device?, addrspace?, axis?, bounds?",
    arg_types=(ParamArg,),
    constraints=(
        ("the slot is an int ≥ 0", lambda src, arg: type(arg.slot) is int and arg.slot >= 0),
        ("s is a Stack of index scalars, each ≥ 0", lambda src, arg: no_negative(src[0])),
        ("bounds, if given, are two values of the dtype with lo ≤ hi", lambda src, arg: bounds_in_order(arg)),
        (
            "axis, if given, is an axis of s that the number of devices divides; on one device there is none",
            lambda src, arg: admits_axis(arg, sizes_in(src[0])),
        ),
    ),
    typing=Typing(
        dtype=DTYPE_FROM_ARG,
        shape=Law("from src[0]", lambda src, arg: sizes_in(src[0])),
        device=DEVICE_FROM_ARG,
        axis=Law("from arg", lambda src, arg: arg.axis),
    ),
    bounds=Law("bounds from arg, else dtype range", promised),
    adjoint=Nothing("nothing: a leaf, by which gradients are taken; its source is a shape"),
    example=">>> param(0, float32, (2, 3)).shape\n(2, 3)",
    decisions=("U-22", "U-31"),
)

# Buffer -----------------------------------------------------------------------------------------------------------

BUFFER = entry(
    Op.Buffer,
    "source",
    "Storage of size elements on one device, or on each device of an n-tuple. Its slot is its identity.",
    arg="slot, size, dtype, device, addrspace (GLOBAL, LOCAL or REG)",
    arg_types=(BufferArg,),
    constraints=(
        ("size is an int ≥ 0", lambda src, arg: type(arg.size) is int and arg.size >= 0),
        (
            "the dtype can be stored: it is neither index nor void",
            lambda src, arg: is_stored(arg.dtype),
        ),
    ),
    typing=Typing(
        dtype=DTYPE_FROM_ARG,
        shape=Law(
            "(n·size,) on an n-tuple device, else (size,)", lambda src, arg: (arg.size * parts(arg.device),)
        ),
        device=DEVICE_FROM_ARG,
        axis=Law(
            "0 on an n-tuple device, else null", lambda src, arg: 0 if isinstance(arg.device, tuple) else None
        ),
    ),
    bounds=DTYPE_RANGE,
    adjoint=LEAF,
    example=">>> buffer(0, 4, float32).shape\n(4,)",
    decisions=("U-21", "U-32", "U-51"),
)

# Const ------------------------------------------------------------------------------------------------------------


def one_value(node: UOp, at: At) -> Known:
    """The value, which may be NaN."""
    value = node.arg.value
    return dtype_range(node.dtype) if value != value else Bounds(value, value)


CONST = entry(
    Op.Const,
    "source",
    "A scalar constant. Two constants are the same node when dtype and bit pattern agree.",
    arg="value, dtype",
    arg_types=(ConstArg,),
    constraints=(("the value is a value of the dtype", lambda src, arg: is_element(arg.dtype, arg.value)),),
    typing=Typing(
        dtype=DTYPE_FROM_ARG,
        shape=Law("()", lambda src, arg: ()),
        device=NO_DEVICE,
        axis=NO_AXIS,
    ),
    bounds=Law("[v, v]; dtype range of NaN", one_value),
    adjoint=LEAF,
    example=">>> const(-0.0, float32) is const(0.0, float32)\nFalse",
    decisions=("U-21",),
)

# Binary -----------------------------------------------------------------------------------------------------------

BINARY = entry(
    Op.Binary,
    "source",
    "Raw binary data.",
    arg="data: bytes",
    arg_types=(bytes,),
    constraints=(("data is bytes", lambda src, arg: type(arg) is bytes),),
    typing=Typing(
        dtype=BYTES,
        shape=Law("(len(data),)", lambda src, arg: (len(arg),)),
        device=NO_DEVICE,
        axis=NO_AXIS,
    ),
    bounds=DTYPE_RANGE,
    adjoint=LEAF,
    example=">>> evaluate(Op.Binary(arg=b'\\x01\\x02')).elements\n(1, 2)",
    decisions=("U-27",),
    title="Binary (data)",
)
