"""
Promotion
=========

Which dtype an operation on two dtypes works in. The law is one sentence: the least dtype that holds every value of
both, and ``float64`` where there is none. On numpy's dtypes this is numpy's own table; it covers ``bfloat16`` and the
two 8-bit floats as well. The Tensor layer inserts the casts (U-14).

A Python number is weak: it takes the dtype of the tensor beside it, unless it is a float beside integers.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from soundline.spec.dtypes import (
    DType,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    from_numpy,
    index,
    int8,
    int16,
    int32,
    int64,
    lossless,
    uint8,
    uint16,
    uint32,
    uint64,
)
from soundline.spec.errors import UsageError, WrongType

_BY_SIZE = (
    bool_,
    uint8,
    int8,
    uint16,
    int16,
    uint32,
    int32,
    uint64,
    int64,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    bfloat16,
    float32,
    float64,
)
"""Candidates, the least first; an integer comes before a float."""


DTypeLike = DType | str | type[Any] | np.dtype[Any]
"""What users may write for a dtype, see `check_dtype`."""


@functools.cache
def promoted(a: DType, b: DType) -> DType:
    """The dtype in which a value of `a` and a value of `b` meet.

    >>> from soundline.spec.dtypes import float16, int8, int32, uint8
    >>> promoted(int8, uint8), promoted(int32, float16), promoted(float16, bfloat16)
    (int16, float64, float32)
    """
    if a is b:
        return a
    if index in (a, b):
        raise UsageError(f"{a} and {b} cannot be combined", hint="cast one of them")
    return next((d for d in _BY_SIZE if lossless(a, d) and lossless(b, d)), float64)


def floating(dtype: DType) -> DType:
    """The dtype in which a function of real numbers works on values of `dtype`: itself if it is a float."""
    return dtype if dtype.is_float else promoted(dtype, float32)


def weak(value: bool | int | float, beside: DType) -> DType:
    """The dtype of a Python number beside a tensor; raises `UsageError` for an int that does not fit."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, float):
        return floating(beside)
    if beside.is_float:
        return beside
    if beside is bool_:
        return default_dtype(value)
    if not beside.min <= value <= beside.max:
        raise UsageError(f"{value} is not a value of {beside}", hint="cast the tensor first")
    return beside


def default_dtype(value: bool | int | float) -> DType:
    """The dtype of a Python number alone: bool, int32 or int64, float32."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, float):
        return float32
    return int32 if int32.min <= value <= int32.max else int64


def summed(dtype: DType) -> DType:
    """The dtype of a sum or product: integers and bools widen to 64 bits, as numpy's do; floats stay."""
    if dtype.is_float:
        return dtype
    return uint64 if dtype.kind == "uint" else int64


def accumulated(dtype: DType) -> DType:
    """The dtype that a sum of products is accumulated in: a narrow float in float32, rounded once at the end."""
    return float32 if dtype.is_float and dtype.bits < 32 else dtype


def check_dtype(value: object) -> DType:
    """The dtype of a tensor that is named: a `DType`, its name, a dtype of numpy or ml_dtypes, or Python's ``bool``,
    ``int`` and ``float``, which are 64 bits wide as numpy's and torch's are. Raises `WrongType` for anything else.

    >>> import numpy as np
    >>> check_dtype("float32"), check_dtype(np.int8), check_dtype(int), check_dtype(np.dtype(bool))
    (float32, int8, int64, bool)
    """
    if isinstance(value, DType):
        found: DType | None = value
    else:
        found = _named(value)
    if found is None or found not in _BY_SIZE:
        raise WrongType(
            f"{value!r} is not a dtype of a tensor",
            hint='for example soundline.float32, "float32" or np.float32',
        )
    return found


_PYTHONS = {bool: bool_, int: int64, float: float64}


def _named(value: object) -> DType | None:
    """The dtype that a text or a type of Python or numpy names; None where it names none."""
    if isinstance(value, type) and value in _PYTHONS:
        return _PYTHONS[value]
    if isinstance(value, str):
        return next((d for d in _BY_SIZE if d.name == value), None)
    if value is None:
        return None
    try:
        return from_numpy(np.dtype(value).newbyteorder("="))  # type: ignore[call-overload]  # anything at all
    except (TypeError, ValueError, KeyError):
        return None
