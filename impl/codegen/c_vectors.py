"""
Vectors in C
============

A value that is one vector of the machine (`impl.lower.vectors`) is a variable of a vector type, with C's own operators;
so is a register that holds one. Neighbours in memory are read and written through a type that asks for no alignment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from soundline.impl.lower.linearize import is_global
from soundline.impl.lower.vectors import VECTOR_OPS, first_of, is_vector
from soundline.impl.lower.views import shape_of
from soundline.spec.dtypes import DType
from soundline.spec.uop import Op, UOp

if TYPE_CHECKING:
    from soundline.impl.codegen.c import Rendering

_TYPE = re.compile(r"\b(f32|f64|u32|u64)x(\d+)(u?)\b")
_ALL = re.compile(r"\bSL_ALL(\d+)\b")
_FMA = re.compile(r"\bsl_fma_(f32|f64)x(\d+)\b")
_SIGNS = {Op.Add: "+", Op.Sub: "-", Op.Mul: "*"}
_ELEMENT = {"f32": "float", "f64": "double", "u32": "uint32_t", "u64": "uint64_t"}


def type_of(node: UOp, unaligned: bool = False) -> str:
    """The C type of a vector; in memory it need not be aligned."""
    return f"{_short(node.dtype)}x{shape_of(node)[0]}{'u' if unaligned else ''}"


def _short(dtype: DType) -> str:
    """Signed integers are computed as unsigned ones, which wrap."""
    return f"{'f' if dtype.is_float else 'u'}{dtype.bits}"


def declarations_for(text: str) -> str:
    """The vector types and fills that a text uses."""
    found = sorted(set(_TYPE.findall(text)))
    types = (_typedef(_ELEMENT[kind], kind, int(width), unaligned) for kind, width, unaligned in found)
    widths = sorted({int(w) for w in _ALL.findall(text)})
    fills = (f"#define SL_ALL{width}(x) {{{', '.join(['(x)'] * width)}}}\n" for width in widths)
    fused = [_fused(kind, width) for kind, width in sorted(set(_FMA.findall(text)))]
    return "".join((*types, *fills, *([_ELEMENTWISE, *fused] if fused else [])))


_FUSED = """static inline {t} sl_fma_{t}({t} a, {t} b, {t} c) {{
#if defined SL_ELEMENTWISE_FMA
    return __builtin_elementwise_fma(a, b, c);
#elif defined {feature}
    return {builtin};
#else
    {t} r;
    for (int k = 0; k < {width}; k++)
        r[k] = SL_FMA{bits}(a[k], b[k], c[k]);
    return r;
#endif
}}
"""
_ELEMENTWISE = """#if defined __has_builtin
#if __has_builtin(__builtin_elementwise_fma)
#define SL_ELEMENTWISE_FMA
#endif
#endif
"""
_BUILTINS = {
    "f32x16": ("__AVX512F__", "__builtin_ia32_vfmaddps512_mask(a, b, c, (unsigned short)-1, 4)"),
    "f64x8": ("__AVX512F__", "__builtin_ia32_vfmaddpd512_mask(a, b, c, (unsigned char)-1, 4)"),
    "f32x8": ("__FMA__", "__builtin_ia32_vfmaddps256(a, b, c)"),
    "f64x4": ("__FMA__", "__builtin_ia32_vfmaddpd256(a, b, c)"),
    "f32x4": ("__FMA__", "__builtin_ia32_vfmaddps(a, b, c)"),
    "f64x2": ("__FMA__", "__builtin_ia32_vfmaddpd(a, b, c)"),
}
"""What gives GCC one instruction; 4 is the rounding that is set."""


def _fused(kind: str, width: str) -> str:
    name = f"{kind}x{width}"
    feature, builtin = _BUILTINS.get(name, ("SL_NONE", "c"))
    return _FUSED.format(t=name, width=width, bits=kind[1:], feature=feature, builtin=builtin)


def _typedef(element: str, kind: str, width: int, unaligned: str) -> str:
    size = width * int(kind[1:]) // 8
    loose = f", aligned({int(kind[1:]) // 8}), may_alias" if unaligned else ""
    return f"typedef {element} {kind}x{width}{unaligned} __attribute__((vector_size({size}){loose}));\n"


# which values are vectors -----------------------------------------------------------------------------------------


def vectors_in(nodes: Sequence[UOp]) -> frozenset[UOp]:
    """The values, stores and registers of a kernel that are written as vectors: those whose whole surroundings are."""
    found = {n for n in nodes if _may_be(n)}
    users: dict[UOp, list[UOp]] = {}
    for node in nodes:
        for source in node.src:
            users.setdefault(source, []).append(node)
    changed = True
    while changed:
        lost = {n for n in found if not _fits(n, found, users)}
        found -= lost
        changed = bool(lost)
    return frozenset(found)


def _may_be(node: UOp) -> bool:
    if node.op is Op.Store:
        return len(node.src) == 2 and is_vector(node.src[1]) and _is_whole(node.src[0])
    if node.op is Op.Buffer:
        return node.arg.addrspace == "REG" and is_vector(node)
    if node.op is Op.After:
        return is_vector(node)
    if not is_vector(node):
        return False
    if node.op is Op.Load:
        return len(node.src) == 1 and _is_whole(node.src[0])
    return is_fill(node) or node.op in VECTOR_OPS


def _is_whole(place: UOp) -> bool:
    """Whether a place is neighbours in memory, or all of a register."""
    if place.op is Op.Index:
        return first_of(place.src[1]) is not None
    return place.op in (Op.After, Op.Buffer)


def is_fill(node: UOp) -> bool:
    """Whether a vector is one scalar repeated."""
    return node.op is Op.Expand and node.src[0].op is Op.Reshape and not node.src[0].src[0].shape


def _fits(node: UOp, found: set[UOp], users: dict[UOp, list[UOp]]) -> bool:
    """Whether what a node reads, and all that read it, are vectors too; a repeated scalar may be read in any way."""
    if node.op is Op.Store:
        place, value = node.src
        return value in found and (place.op is Op.Index or place in found)
    if node.op is Op.After and node.src[0] not in found:
        return False
    if node.op is Op.Load and node.src[0].op is not Op.Index and node.src[0] not in found:
        return False
    if node.op in VECTOR_OPS and not all(s in found for s in node.src):
        return False
    return is_fill(node) or all(u in found or _looks_on(u) for u in users.get(node, ()))


def _looks_on(user: UOp) -> bool:
    """Whether a user only orders: it reads no element."""
    return user.op in (Op.End, Op.Range, Op.Linear, Op.Group)


# text -------------------------------------------------------------------------------------------------------------


def register(kernel: Rendering, node: UOp) -> None:
    """Declare a register that holds one vector."""
    kernel.line(f"{type_of(node)} acc{node.arg.slot};")


def store(kernel: Rendering, node: UOp) -> None:
    """Write a vector to a register or to memory."""
    place, value = node.src
    kernel.line(f"{_place(kernel, place, value, to_write=True)} = {operand(kernel, value)};")


def value(kernel: Rendering, node: UOp) -> None:
    """Compute a vector at its place in the sequence."""
    if is_fill(node):
        return
    if node.op is Op.Load:
        text = _place(kernel, node.src[0], node, to_write=False)
    else:
        text = _expression(node, [operand(kernel, s) for s in node.src])
    if node.op is not Op.Load and kernel.uses[node] <= 1:
        kernel.texts[node] = text
    else:
        kernel.line(f"const {type_of(node)} {kernel.named(node)} = {text};")


def _expression(node: UOp, operands: list[str]) -> str:
    if node.op is Op.Mulacc:
        return f"sl_fma_{type_of(node)}({', '.join(operands)})"
    return f"({operands[0]} {_SIGNS[node.op]} {operands[1]})"


def operand(kernel: Rendering, node: UOp) -> str:
    """A vector that was computed, or a scalar repeated."""
    if is_fill(node):
        scalar = kernel.operand(node.src[0].src[0])
        return f"({type_of(node)})SL_ALL{shape_of(node)[0]}({scalar})"
    return kernel.texts[node]


def _place(kernel: Rendering, place: UOp, moved: UOp, *, to_write: bool) -> str:
    while place.op is Op.After:
        place = place.src[0]
    if place.op is Op.Buffer and not is_global(place):
        return f"acc{place.arg.slot}"
    first = first_of(place.src[1])
    assert first is not None
    qualifier = "" if to_write else "const "
    storage, at = kernel.storage_name(place), kernel.operand(first)
    return f"*({qualifier}{type_of(moved, unaligned=True)} *)({storage} + {at})"
