"""
Calls
=====

Functions, opaque calls, and the tuples that hold their results (U-31).
"""

from __future__ import annotations

from typing import Any

from soundline.spec.dtypes import DType
from soundline.spec.ops import bodies
from soundline.spec.ops.adjoints import Refused, Through
from soundline.spec.ops.bounds import At, Known, dtype_range
from soundline.spec.ops.laws import NO_VALUE
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.schema import Law, Sources, Typing, entry, source
from soundline.spec.ops.sizes import Condition

# Function ---------------------------------------------------------------------------------------------------------


def binds_its_params(src: Sources, arg: Any = None) -> bool:
    """Whether every Param of the body has an argument."""
    return bodies.slots(src[0]) <= set(range(len(src) - 1))


FUNCTION = entry(
    Op.Function,
    "call",
    "Substitute argument k for Param k in the body. Differentiable.",
    sources=(source("body", "a Tuple"), source("a", "the argument of Param k", variadic=True)),
    constraints=(
        ("the body is a Tuple", lambda src, arg: src[0].op is Op.Tuple),
        ("the body is closed: no free Range, no Buffer, no Store", lambda src, arg: bodies.is_closed(src[0])),
        (
            "the slots of the Params outside nested Functions are among 0 … number of arguments-1",
            binds_its_params,
        ),
        (
            "each argument has the dtype and shape of its Param, agrees with its device and axis, and is in its bounds",
            lambda src, arg: bodies.arguments_match(src[0], src[1:], strict=True),
        ),
    ),
    typing=NO_VALUE,
    adjoint=Through(
        "to argument k, for each element that a GetTuple takes: an element of a Function, whose body is the gradient "
        "of the element with respect to Param k and whose arguments are those of the Function and g"
    ),
    example=">>> evaluate(Op.GetTuple(Op.Function(Op.Tuple(Op.Add(p, p)), const(3, int32)), arg=0)).elements\n(6,)",
    decisions=("U-31",),
)

# Call -------------------------------------------------------------------------------------------------------------


def matches_arguments(src: Sources, arg: Any) -> Condition:
    """Of a Tuple as body: whether every Param has an argument of its dtype and shape."""
    if src[0].op is not Op.Tuple:
        return True
    return binds_its_params(src) and bodies.arguments_match(src[0], src[1:], strict=False)


CALL = entry(
    Op.Call,
    "call",
    "An opaque invocation: the value of the body on the arguments, without looking inside.",
    sources=(
        source("body", "a Tuple, a Program or a CustomFunction"),
        source("a", "the argument of Param k", variadic=True),
    ),
    constraints=(
        (
            "the body is a Tuple, a Program or a CustomFunction",
            lambda src, arg: src[0].op in (Op.Tuple, Op.Program, Op.CustomFunction),
        ),
        ("each argument has the dtype and shape of its Param", matches_arguments),
        (
            "a Tuple as body is closed: no free Range, no Buffer, no Store",
            lambda src, arg: src[0].op is not Op.Tuple or bodies.is_closed(src[0]),
        ),
    ),
    typing=NO_VALUE,
    adjoint=Refused("an error: a Call is opaque. Of a CustomFunction whose adjoint is given: what that says"),
    example=">>> evaluate(Op.GetTuple(Op.Call(Op.Tuple(Op.Add(p, p)), const(3, int32)), arg=0)).elements\n(6,)",
    decisions=("U-31",),
)

# Tuples -----------------------------------------------------------------------------------------------------------


def dtype_of_element(src: Sources, arg: int) -> DType:
    """The dtype of the element, which no argument changes."""
    return (bodies.elements(src[0]) or ())[arg].dtype


def bounds_of_element(node: UOp, at: At) -> Known:
    """Those of the element of a Tuple."""
    called = node.src[0]
    return at(called.src[node.arg]) if called.op is Op.Tuple else dtype_range(node.dtype)


TUPLE = entry(
    Op.Tuple,
    "call",
    "Pack values; the body of every Function.",
    sources=(source("v", "values", variadic=True),),
    typing=NO_VALUE,
    adjoint=Through("to source k: the adjoint of its GetTuple of k"),
    example=">>> Op.Tuple(const(1, int32)).dtype\nvoid",
    decisions=("U-31",),
)

GET_TUPLE = entry(
    Op.GetTuple,
    "call",
    "Element idx of a tuple.",
    sources=(source("T", "a Tuple, or a Function or Call of one"),),
    arg="idx: int",
    arg_types=(int,),
    constraints=(
        (
            "T is a Tuple, a Function or a Call with known elements",
            lambda src, arg: bodies.elements(src[0]) is not None,
        ),
        ("idx is one of its positions", lambda src, arg: 0 <= arg < len(bodies.elements(src[0]) or ())),
    ),
    typing=Typing(
        dtype=Law("of the element", dtype_of_element),
        shape=Law(
            "of the element, with the arguments substituted",
            lambda src, arg: bodies.element(src[0], arg).shape,
        ),
        device=Law(
            "of the element, with the arguments substituted",
            lambda src, arg: bodies.element(src[0], arg).device,
        ),
        axis=Law(
            "of the element, with the arguments substituted",
            lambda src, arg: bodies.element(src[0], arg).axis,
        ),
    ),
    bounds=Law("of the element of a Tuple; dtype range of a Function or Call", bounds_of_element),
    adjoint=Through("of a Tuple: g, to the element. Of a Function: through its body"),
    example=">>> Op.GetTuple(Op.Tuple(const(1, int8), const(2, int32)), arg=1).dtype\nint32",
    decisions=("U-31",),
)
