"""
Families of elementwise ops
===========================

What the entries of elementwise ops share: their operands, the dtypes that they admit, and their derived properties.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soundline.spec.dtypes import DType, Element, bool_, floats, ieee_floats, index, round_to, void, wrap
from soundline.spec.ops.laws import (
    AGREED_AXIS,
    AGREED_DEVICE,
    DTYPE_RANGE,
    FIRST_DTYPE,
    is_number,
    one_dtype,
    one_shape,
)
from soundline.spec.ops.node import Op
from soundline.spec.ops.schema import Entry, Group, Law, Predicate, Typing, entry, source

X = source("x", "the operand")
A, B, C = source("a", "left operand"), source("b", "right operand"), source("c", "addend")

ELEMENTWISE = Typing(
    dtype=FIRST_DTYPE,
    shape=Law("the shape that all sources share", lambda src, arg: src[0].shape),
    device=AGREED_DEVICE,
    axis=AGREED_AXIS,
)
ROUNDED = "float ends round to nearest, and one that becomes NaN leaves the dtype range"


# Constraints ------------------------------------------------------------------------------------------------------


def dtype_is(sentence: str, admits: Callable[[DType], bool]) -> tuple[str, Predicate]:
    """A constraint on the dtype of the first operand."""
    return sentence, lambda src, arg: admits(src[0].dtype)


SAME_SHAPE: tuple[str, Predicate] = ("all sources have one shape", one_shape)
SAME_DTYPE: tuple[str, Predicate] = ("both operands have one dtype", one_dtype)
NUMBER = dtype_is("the dtype is a number: an integer, index or float", is_number)
NUMBER_OR_BOOL = dtype_is("the dtype is bool, an integer, index or float", lambda d: d is not void)
WHOLE = dtype_is("the dtype is an integer or index", lambda d: d.is_int or d is index)
BITS = dtype_is("the dtype is bool or an integer of fixed width", lambda d: d.is_int or d is bool_)
FLOAT = dtype_is("the dtype is a float", lambda d: d in floats)
IEEE_FLOAT = dtype_is("the dtype is float16, bfloat16, float32 or float64", lambda d: d in ieee_floats)


# Entries ----------------------------------------------------------------------------------------------------------


def unary(op: Op, semantics: str, admits: tuple[str, Predicate], **said: Any) -> Entry:
    """The entry of an op of one operand, unless it says otherwise."""
    return _elementwise(op, semantics, sources=(X,), constraints=(admits,), **said)


def binary(op: Op, semantics: str, admits: tuple[str, Predicate], **said: Any) -> Entry:
    """The entry of an op of operands of one shape and dtype, two unless it says otherwise."""
    said = {"sources": (A, B), **said}
    return _elementwise(op, semantics, constraints=(SAME_SHAPE, SAME_DTYPE, admits), **said)


def _elementwise(op: Op, semantics: str, **said: Any) -> Entry:
    group: Group = "elementwise" if said.get("decomposition") is None else "decomposed"
    return entry(
        op, said.pop("group", group), semantics, **{"typing": ELEMENTWISE, "bounds": DTYPE_RANGE, **said}
    )


# Values -----------------------------------------------------------------------------------------------------------


def held(dtype: DType, exact: Any) -> Element:
    """A result of Python arithmetic as an element: floats round (U-05), integers wrap (U-02)."""
    return round_to(dtype, exact) if dtype.is_float else wrap(dtype, exact)
