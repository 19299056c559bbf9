"""
Effects together
================

Several effects as one, as the root of a program, in order, and under a condition.
"""

from __future__ import annotations

from typing import Any

from soundline.spec.dtypes import bool_
from soundline.spec.ops import bodies
from soundline.spec.ops.adjoints import NO_VALUE as NO_ADJOINT
from soundline.spec.ops.laws import NO_VALUE
from soundline.spec.ops.node import Op
from soundline.spec.ops.schema import Sources, entry, source

GROUP = entry(
    Op.Group,
    "ordering",
    "Several effects as one, unordered.",
    sources=(source("u", "effects", variadic=True),),
    typing=NO_VALUE,
    adjoint=NO_ADJOINT,
    example=">>> Op.Group().dtype\nvoid",
    decisions=("U-26",),
)


def closes_ranges(src: Sources, arg: Any) -> bool:
    """Whether no source depends on a Range that nothing below it closes."""
    free = bodies.free_by_node(*src)
    return not any(n.op is Op.Range for s in src for n in free[s])


SINK = entry(
    Op.Sink,
    "ordering",
    "The root that collects the effects of a program.",
    sources=(source("s", "effects", variadic=True),),
    constraints=(("no Range is free: an End or a Reduce closes each", closes_ranges),),
    typing=NO_VALUE,
    adjoint=NO_ADJOINT,
    example=">>> Op.Sink().shape is None\nTrue",
    decisions=("U-26",),
)

LINEAR = entry(
    Op.Linear,
    "ordering",
    "A sequence of instructions in execution order.",
    sources=(source("uops", "the instructions, in order", variadic=True),),
    typing=NO_VALUE,
    adjoint=NO_ADJOINT,
    example=">>> Op.Linear().dtype\nvoid",
)

IF = entry(
    Op.If,
    "codegen",
    "Begin a block that runs only where gate is True.",
    sources=(source("gate", "a bool scalar"),),
    constraints=(("gate is a bool scalar", lambda src, arg: src[0].dtype is bool_ and src[0].shape == ()),),
    typing=NO_VALUE,
    adjoint=NO_ADJOINT,
    example=">>> Op.If(const(True, bool_)).dtype\nvoid",
)

ENDIF = entry(
    Op.Endif,
    "codegen",
    "End the block of an If.",
    sources=(source("if", "the If to end"),),
    constraints=(("src[0] is an If", lambda src, arg: src[0].op is Op.If),),
    typing=NO_VALUE,
    adjoint=NO_ADJOINT,
    example=">>> Op.Endif(Op.If(const(True, bool_))).dtype\nvoid",
)
