"""
Windows on the CPU
==================

An argument of data is a pointer with strides, and so is a window of it. A window that a tensor map is made of becomes a
descriptor: the device of the run encodes it, from the sizes and strides of the window and the box of the memory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from soundline.impl.codegen.cuda.host.lines import Lines
from soundline.impl.codegen.cuda.host.names import Map, Names, Number, Storage, bare, c_type, times
from soundline.spec.dtypes import (
    DType,
    bfloat16,
    bool_,
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
from soundline.spec.errors import CompileError
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Const, Expr, Index, Name, Span
from soundline.spec.spork.language.statements import WindowOf
from soundline.spec.spork.language.text import expression as text_of
from soundline.spec.spork.language.text import lines as lines_of
from soundline.spec.spork.library.memories import Memory

TENSOR_TYPES: Final[dict[DType, str]] = {
    bool_: "UINT8",
    uint8: "UINT8",
    int8: "UINT8",
    uint16: "UINT16",
    int16: "UINT16",
    uint32: "UINT32",
    int32: "INT32",
    uint64: "UINT64",
    int64: "INT64",
    float16: "FLOAT16",
    float32: "FLOAT32",
    float64: "FLOAT64",
    bfloat16: "BFLOAT16",
}
"""The types of the elements of tensor maps. There is none of a signed byte, which is copied like one without a sign."""


def known_place(place: Name | Index, names: Names, out: Lines) -> Name | Index:
    """A place with indices of C names."""
    if isinstance(place, Name):
        return place

    def part(i: Expr | Span) -> Expr | Span:
        if not isinstance(i, Span):
            return out.values.control(i, names).known
        lo, hi = (None if e is None else out.values.control(e, names).known for e in (i.lo, i.hi))
        return Span(lo, hi)

    return Index(place.name, tuple(part(i) for i in place.indices))


def window(place: Name | Index, names: Names, out: Lines) -> Storage:
    """The storage that a place is: all of an array, a window of it, or an element."""
    whole = names.storage(place.name)
    if isinstance(place, Name):
        return whole
    sizes: list[Number] = []
    strides: list[str] = []
    for i, size, stride in zip(place.indices, whole.sizes, whole.strides, strict=True):
        if isinstance(i, Span):
            sizes.append(_extent(i, size, names, out))
            strides.append(stride)
    offset = out.values.offset(place, whole, names)
    if sizes:
        found = whole.place if offset == "0" else f"({whole.place} + {bare(offset)})"
    else:
        found = f"{whole.place}[{bare(offset)}]"
    view = whole.window.at(known_place(place, names, out))
    return replace(whole, place=found, sizes=tuple(sizes), strides=tuple(strides), window=view)


def _extent(span: Span, size: Number, names: Names, out: Lines) -> Number:
    """How long an interval is."""
    if span.lo is None and span.hi is None:
        return size
    if span.lo is None or span.lo == Const(0):
        assert span.hi is not None or span.lo is not None
        return size if span.hi is None else out.values.control(span.hi, names)
    lo = out.values.control(span.lo, names)
    hi = size if span.hi is None else out.values.control(span.hi, names)
    return out.values.binary(Op.Sub, hi, lo)


def pointer(name: str, found: Storage, out: Lines) -> Storage:
    """A variable that points to some storage, which then is the name of it."""
    variable = out.spellings.take(name)
    address = bare(found.place) if found.sizes else f"&{found.place}"
    const = " const" if found.constant else ""
    out.line(f"{c_type(found.dtype)}{const} *const {variable} = {address};")
    return replace(found, place=variable if found.sizes else f"(*{variable})")


def bind(statement: WindowOf, names: Names, out: Lines) -> Names:
    """A name for a window."""
    out.comment(statement)
    base = names[statement.window.name]
    if isinstance(base, Map):  # a window of a map is known by its coordinates, and needs nothing of the CPU
        view = base.window.at(known_place(statement.window, names, out))
        return names.with_(statement.name, replace(base, window=view, part=True))
    found = window(statement.window, names, out)
    if statement.memory is None:
        return names.with_(statement.name, pointer(statement.name, found, out))
    memory = statement.memory.value
    assert isinstance(memory, Memory)
    return names.with_(statement.name, _tensor_map(statement, found, memory, out))


def _tensor_map(statement: WindowOf, found: Storage, memory: Memory, out: Lines) -> Map:
    """Ask for a tensor map of a window."""
    dtype, last = found.dtype, found.window.indices[-1]
    if not isinstance(last, Span):
        raise CompileError(
            f"{lines_of(statement)[0]}: a tensor map is of a window whose last dimension is the last one of "
            f"{found.window.of.name}; got: the index {text_of(last)} there",
            where=statement.name,
            hint="let the window end with an interval",
        )
    if found.strides[-1] != "1":
        out.refuse(f"{found.strides[-1]} != 1", "SOUNDLINE_GAPS")
    variable, rank = out.spellings.take(statement.name), len(found.sizes)
    sizes, strides, box = (out.spellings.take(f"{statement.name}_{w}") for w in ("sizes", "strides", "box"))
    inner_first = list(reversed(found.sizes))
    out.line(f"uint64_t const {sizes}[] = {{{', '.join(bare(s.text) for s in inner_first)}}};")
    if rank > 1:
        item = str(dtype.itemsize)
        steps = [bare(times(s, item)) for s in reversed(found.strides[:-1])]
        out.line(f"uint64_t const {strides}[] = {{{', '.join(steps)}}}; // bytes")
    out.line(f"uint32_t const {box}[] = {{{', '.join(map(str, reversed(memory.box)))}}};")
    out.line(f"struct soundline_tensor_map {variable};")
    address = f"(void *){found.place}" if found.constant else bare(found.place)
    out.attempt(
        f"soundline_map(device, &{variable}, SOUNDLINE_TENSOR_{TENSOR_TYPES[dtype]}, {rank}, "
        f"{address}, {sizes}, {strides if rank > 1 else '0'}, {box}, {memory.swizzle})"
    )
    return Map(variable, dtype, memory, found.window)
