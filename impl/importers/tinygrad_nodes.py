"""
Nodes of tinygrad
=================

What the translation reads from the objects of a tinygrad graph: names, dtypes, shapes, and which sources are values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from soundline.spec.dtypes import (
    DType,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from soundline.spec.ops.walks import postorder

DTYPES: dict[str, DType] = {
    "bool": bool_,
    "signed char": int8,
    "unsigned char": uint8,
    "short": int16,
    "unsigned short": uint16,
    "int": int32,
    "unsigned int": uint32,
    "long": int64,
    "unsigned long": uint64,
    "half": float16,
    "__bf16": bfloat16,
    "float": float32,
    "double": float64,
    "float8_e4m3": float8_e4m3fn,
    "float8_e5m2": float8_e5m2,
}
"""Our dtypes by the names that tinygrad gives its own."""

WEAK: dict[str, DType] = {"weakint": int32, "weakfloat": float32}
"""The dtype of a weak value that has nothing beside it."""


class Refusal(Exception):  # it is caught here and becomes part of an error
    """Why a node is not translated."""


def name_of(u: Any) -> str:
    """The name of the op."""
    return str(u.op.name)


def is_weak(u: Any) -> bool:
    """Whether a value takes the dtype of what stands beside it."""
    return u.dtype.name in WEAK


def sources_of(u: Any) -> tuple[Any, ...]:
    """The sources that are values; the others are shapes, which the attribute `shape` says as well."""
    name = name_of(u)
    if name in ("BUFFER", "CONST"):
        return ()
    if stored(u) is not None:
        return (stored(u),)
    return tuple(u.src[:1]) if name in ("RESHAPE", "EXPAND", "PAD", "SHRINK", "COPY") else tuple(u.src)


def unmoved(u: Any) -> Any:
    """The value that movement ops show in another shape."""
    while name_of(u) in ("RESHAPE", "EXPAND", "PERMUTE", "SHRINK", "FLIP"):
        u = u.src[0]
    return u


def stored(u: Any) -> Any | None:
    """The value that a node has because it was just stored into the whole of its place; None for any other node."""
    if name_of(u) != "AFTER" or len(u.src) != 2 or name_of(u.src[1]) != "STORE":
        return None
    place, store = u.src
    return store.src[1] if store.src[0] is place and len(store.src) == 2 else None


def ordered(root: Any) -> list[Any]:
    """Every node whose value is needed, sources before users."""
    return postorder((root,), sources_of)


def shape_of(u: Any) -> tuple[int, ...]:
    """The shape, which must be numbers."""
    shape = tuple(u.shape)
    if not all(isinstance(s, int) for s in shape):
        raise Refusal(f"the shape {shape} is not made of numbers")
    return shape


def numbers_of(source: Any) -> tuple[int, ...]:
    """The numbers of a shape source: a Stack of constants, or one constant."""
    parts = source.src if name_of(source) == "STACK" else (source,)
    if any(name_of(p) != "CONST" for p in parts):
        raise Refusal("an offset is not a number")
    return tuple(int(p.arg) for p in parts)


def dtype_of(u: Any, wanted: DType | None = None) -> DType:
    """The dtype of a node; that of a weak one is what is wanted, or its default."""
    name = str(u.dtype.name)
    if name in WEAK:
        if wanted is not None and name == "weakfloat" and not wanted.is_float:
            raise Refusal(f"a float stands for {wanted}")
        return wanted or WEAK[name]
    if name not in DTYPES:
        raise Refusal(f"the dtype {name} is not supported")
    return DTYPES[name]


def common_dtype(sources: Sequence[Any]) -> DType:
    """The dtype in which sources are compared: that of one that is not weak, unless a float stands beside integers."""
    strong = [dtype_of(s) for s in sources if not is_weak(s)]
    weak_float = any(s.dtype.name == "weakfloat" for s in sources)
    if strong and (strong[0].is_float or not weak_float):
        return strong[0]
    return float32 if weak_float else int32
