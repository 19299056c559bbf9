"""
Vectors in C
============

A value that is one vector of the machine (`impl.lower.schedule.vectors`) is a variable of a vector type, with C's own
operators; so is a register that holds one. Neighbours in memory are read and written through a type that asks for no
alignment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from soundline.impl.codegen.c.masks import COMPARED, NUMBERS, choice, comparison, masks
from soundline.impl.codegen.c.streams import FETCH, storage_of, stream
from soundline.impl.codegen.c.transpositions import transpositions_for
from soundline.impl.lower.graphs.views import shape_of
from soundline.impl.lower.linear.linearize import is_global
from soundline.impl.lower.schedule.vectors import COMPARISONS, computes, first_of, is_vector, lane_size
from soundline.spec.dtypes import DType, bool_, float32
from soundline.spec.uop import Op, UOp

if TYPE_CHECKING:
    from soundline.impl.codegen.c.kernel import Kernel

_TYPE = re.compile(r"(?:\b|_)(f32|f64|u32|u64|i32|i64)x(\d+)(u?)\b")
_MASK = re.compile(r"(?:\b|_)m(32|64)x(\d+)\b")
_COMPARISON = re.compile(r"\bsl_(lt|gt|le|ge|eq|ne)_(\w+)x(\d+)\b")
_WORD = re.compile(r"\w+")
_ALL = re.compile(r"\bSL_ALL(\d+)\b")
_FMA = re.compile(r"\bsl_fma_(f32|f64)x(\d+)\b")
_STREAM = re.compile(r"\bsl_stream_(\w+)x(\d+)\b")
_HELPER = re.compile(r"\bsl_(choose|max|bits)_(\w+)x(\d+)\b")
_SIGNS = {Op.Add: "+", Op.Sub: "-", Op.Mul: "*", Op.Div: "/", Op.And: "&", Op.Or: "|", Op.Xor: "^"}
_ELEMENT = {
    "f32": "float",
    "f64": "double",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "i32": "int32_t",
    "i64": "int64_t",
}


def type_of(node: UOp, unaligned: bool = False) -> str:
    """The C type of a vector; in memory it need not be aligned."""
    lanes = f"x{shape_of(node)[0]}{'u' if unaligned else ''}"
    if node.dtype is bool_:
        return f"m{8 * (lane_size(node) or 0)}{lanes}"
    return _short(node.dtype) + lanes


def _short(dtype: DType) -> str:
    """Signed integers are computed as unsigned ones, which wrap."""
    return f"{'f' if dtype.is_float else 'u'}{dtype.bits}"


def declarations_for(text: str) -> str:
    """The vector types and fills that a text uses."""
    fetch = [FETCH] if "SL_FETCH(" in text else []
    text = " ".join(sorted(set(_WORD.findall(text))))  # a text says the same words again and again
    helpers = [comparison(*found) for found in sorted(set(_COMPARISON.findall(text)))]
    helpers += [_helper(*found) for found in sorted(set(_HELPER.findall(text)))]
    helpers.insert(0, masks(set(_MASK.findall(" ".join((text, *helpers))))))
    helpers.append(transpositions_for(text))
    whole = " ".join((text, *helpers))
    loose = (f"{kind}x{width}u" for kind, width in _STREAM.findall(text))
    found = sorted(set(_TYPE.findall(" ".join((whole, *loose)))))
    types = (_typedef(_ELEMENT[kind], kind, int(width), unaligned) for kind, width, unaligned in found)
    widths = sorted({int(w) for w in _ALL.findall(whole)})
    fills = (f"#define SL_ALL{width}(x) {{{', '.join(['(x)'] * width)}}}\n" for width in widths)
    fused = [_fused(kind, width) for kind, width in sorted(set(_FMA.findall(text)))]
    stores = (_stream(kind, int(width)) for kind, width in sorted(set(_STREAM.findall(text))))
    return "".join((*types, *fills, *([_ELEMENTWISE, *fused] if fused else []), *helpers, *stores, *fetch))


def _stream(kind: str, width: int) -> str:
    return stream(f"{kind}x{width}", width * int(kind[1:]) // 8, _ELEMENT[kind])


def _helper(what: str, kind: str, width: str) -> str:
    """A choice by masks, the law's maximum, or the bits of floats with one NaN."""
    if what == "choose":
        return choice(kind, width)
    if what == "max" and kind[0] != "f":
        what = "max of integers"
    nan = "UINT32_C(0x7fc00000)" if kind == "f32" else "UINT64_C(0x7ff8000000000000)"
    t, u = f"{kind}x{width}", f"u{kind[1:]}x{width}"
    feature, maximum = _MAXIMA.get(t, ("SL_NONE", "a"))
    return _HELPERS[what].format(t=t, u=u, nan=nan, feature=feature, maximum=maximum.format(t=t, u=u))


def _maximum_512(kind: str, bits: str) -> str:
    both = f"{{u}})__builtin_ia32_max{kind}512_mask"
    ends = f"a, ({bits})-1, 4)"
    larger = f"({{t}})(({both}(a, b, {ends} & ({both}(b, a, {ends})"
    unordered = f"__builtin_ia32_cmp{kind}512_mask(a, b, 3, ({bits})-1, 4)"
    return f"__builtin_ia32_add{kind}512_mask(a, b, {larger}, {unordered}, 4)"


_MAXIMA = {
    "f32x16": ("__AVX512F__", _maximum_512("ps", "unsigned short")),
    "f64x8": ("__AVX512F__", _maximum_512("pd", "unsigned char")),
}


_HELPERS = {
    "bits": """static inline {u} sl_bits_{t}({t} x) {{ /* of any NaN those of one */
    const {u} wrong = ({u})(x != x);
    return (~wrong & ({u})x) | (wrong & {nan});
}}
""",
    "max of integers": """static inline {t} sl_max_{t}({t} a, {t} b) {{
    const {u} more = ({u})(a > b);
    return ({t})((more & ({u})a) | (~more & ({u})b));
}}
""",
    "max": """static inline {t} sl_max_{t}({t} a, {t} b) {{ /* of equal zeros the positive one; NaN where either is */
#if defined {feature} && !defined __clang__ /* x86 gives the second operand for equal zeros and where either is NaN */
    return {maximum};
#endif
    const {u} more = ({u})(a > b), less = ({u})(a < b), same = ({u})(a == b);
    return ({t})((more & ({u})a) | (less & ({u})b) | (same & ({u})a & ({u})b) | (~(more | less | same) & ({u})(a + b)));
}}
""",
}


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
    if not node.shape:
        return False
    if is_fill(node):
        return node.dtype is bool_ or is_vector(node)
    if not is_vector(node):
        return False
    if node.op is Op.Load:
        return len(node.src) == 1 and _is_whole(node.src[0])
    return computes(node)


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
    if not is_fill(node) and computes(node) and not all(s in found for s in node.src):
        return False
    return is_fill(node) or all(u in found or _looks_on(u) for u in users.get(node, ()))


def _looks_on(user: UOp) -> bool:
    """Whether a user only orders: it reads no element."""
    return user.op in (Op.End, Op.Range, Op.Linear, Op.Group)


# text -------------------------------------------------------------------------------------------------------------


def register(kernel: Kernel, node: UOp) -> None:
    """Declare a register that holds one vector."""
    kernel.line(f"{type_of(node)} acc{node.arg.slot};")


def store(kernel: Kernel, node: UOp) -> None:
    """Write a vector to a register or to memory."""
    place, value = node.src
    if place.op is Op.Index and storage_of(place) in kernel.streamed:
        at = _address(kernel, place)
        kernel.line(f"sl_stream_{type_of(value)}({at}, {operand(kernel, value)});")
        return
    kernel.line(f"{_place(kernel, place, value, to_write=True)} = {operand(kernel, value)};")


def value(kernel: Kernel, node: UOp) -> None:
    """Compute a vector at its place in the sequence."""
    if is_fill(node):
        return
    if node.op is Op.Load:
        text = _place(kernel, node.src[0], node, to_write=False)
        if node in kernel.ahead:
            address = _address(kernel, node.src[0])
            kernel.line(f"SL_FETCH({address}, {kernel.ahead[node]});")
    else:
        lane = next((n for n in map(lane_size, (*node.src, node)) if n is not None), 0)
        text = _expression(node, [operand(kernel, s, lane) for s in node.src])
    if node.op is not Op.Load and kernel.uses[node] <= 1 and len(text) <= _INLINE:
        kernel.texts[node] = text
    else:
        kernel.line(f"const {type_of(node)} {kernel.named(node)} = {text};")


def _expression(node: UOp, operands: list[str]) -> str:
    t = type_of(node)
    if node.op is Op.Mulacc:
        return f"sl_fma_{t}({', '.join(operands)})"
    if node.op is Op.Where and node.dtype is bool_:
        gate, a, b = operands
        return f"(({gate} & {a}) | (~{gate} & {b}))"
    if node.op is Op.Where and _is_there(node.src[1]) and not _is_there(node.src[2]):
        return f"sl_choose_{t}({operands[2]}, {operands[1]}, ~{operands[0]})"  # one instruction with a mask
    if node.op is Op.Where:
        return f"sl_choose_{t}({operands[1]}, {operands[2]}, {operands[0]})"
    if node.op is Op.Max:
        a, b = (_signed(o, s) for o, s in zip(operands, node.src, strict=True))
        found = f"sl_max_{_type_signed(node)}({a}, {b})"
        return f"(({t}){found})" if node.dtype.is_int and node.dtype.signed else found
    if node.op in COMPARISONS:
        a, b = (_signed(o, s) for o, s in zip(operands, node.src, strict=True))
        return f"sl_{COMPARED[node.op]}_{_type_signed(node.src[0])}({a}, {b})"
    if node.op is Op.Shr:
        return f"(({t})({_signed(operands[0], node)} >> {_count(node)}))"
    if node.op is Op.Shl:
        return f"({operands[0]} << {_count(node)})"
    if node.op is Op.Bitcast:
        bits = f"sl_bits_{type_of(node.src[0])}({operands[0]})" if node.src[0].dtype.is_float else operands[0]
        return f"(({t}){bits})"
    if node.op is Op.Recip:
        return f"({'1.0f' if node.dtype is float32 else '1.0'} / {operands[0]})"
    if node.op in _PREFIXED:
        return f"({_PREFIXED[node.op]}{operands[0]})"
    return f"({operands[0]} {_SIGNS[node.op]} {operands[1]})"


def _is_there(value: UOp) -> bool:
    """Whether a value is no result of an instruction that could leave it where a mask is closed."""
    return is_fill(value) or value.op is Op.Load


_PREFIXED = {Op.Neg: "-", Op.Not: "~"}
_INLINE = 120
"""A vector that is used once and whose text is no longer than this is written where it is used."""


def _count(shift: UOp) -> int:
    count = shift.src[1]
    while count.op in (Op.Expand, Op.Reshape):
        count = count.src[0]
    return int(count.arg.value)


def _type_signed(node: UOp) -> str:
    found = type_of(node)
    return "i" + found[1:] if node.dtype.is_int and node.dtype.signed else found


def _signed(text: str, node: UOp) -> str:
    """A vector of signed integers as what it stands for."""
    return f"(({_type_signed(node)}){text})" if node.dtype.is_int and node.dtype.signed else text


def operand(kernel: Kernel, node: UOp, lane: int = 0) -> str:
    """A vector that was computed, or a scalar repeated; bools are as many bytes wide as the other lanes."""
    if is_fill(node) and node.dtype is bool_:
        return _repeated_bool(kernel, node.src[0].src[0], lane, shape_of(node)[0])
    if is_fill(node):
        scalar = kernel.operand(node.src[0].src[0])
        return f"({type_of(node)})SL_ALL{shape_of(node)[0]}({scalar})"
    return kernel.texts[node]


def _repeated_bool(kernel: Kernel, scalar: UOp, lane: int, width: int) -> str:
    """A scalar as a mask. One that compares floats is better compared in all lanes: that is one instruction."""
    mask = f"m{8 * lane}x{width}"
    if mask in NUMBERS and scalar.op in COMPARISONS:
        compared = scalar.src[0].dtype
        if compared.is_float and compared.itemsize == lane:
            t = f"{_short(compared)}x{width}"
            a, b = (f"({t})SL_ALL{width}({kernel.operand(s)})" for s in scalar.src)
            return f"sl_{COMPARED[scalar.op]}_{t}({a}, {b})"
    return f"SL_EVERY_{mask}({kernel.operand(scalar)})"


def _place(kernel: Kernel, place: UOp, moved: UOp, *, to_write: bool) -> str:
    while place.op is Op.After:
        place = place.src[0]
    if place.op is Op.Buffer and not is_global(place):
        return f"acc{place.arg.slot}"
    qualifier = "" if to_write else "const "
    return f"*({qualifier}{type_of(moved, unaligned=True)} *)({_address(kernel, place)})"


def _address(kernel: Kernel, place: UOp) -> str:
    """Where the first of neighbours lies."""
    first = first_of(place.src[1])
    assert first is not None
    return f"{kernel.storage_name(place)} + {kernel.operand(first)}"
