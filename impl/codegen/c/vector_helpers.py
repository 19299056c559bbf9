"""
Vector helpers
==============

The types of vectors in C, and the functions on them that are no operators of C: a product with a sum that is rounded
once, the law's maximum, and the bits of floats with one NaN. A vector is named by what a lane holds and how many lanes
there are, such as ``f32x16``; one in memory, which need not be aligned, has a ``u`` at its end. What the processor has
an instruction for goes by the builtin function that gives GCC that one instruction.
"""

from __future__ import annotations

import functools

from soundline.impl.codegen.c.helpers import NAMED, Helper, Part

ELEMENTS = {
    "f32": "float",
    "f64": "double",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "i32": "int32_t",
    "i64": "int64_t",
}
"""The C type of what a lane holds."""


@functools.cache
def vector(lane: str, width: int) -> Helper:
    """The type of a vector."""
    return _type(lane, width, "", "")


@functools.cache
def loose(lane: str, width: int) -> Helper:
    """The type of a vector in memory."""
    return _type(lane, width, "u", f", aligned({int(lane[1:]) // 8}), may_alias")


def _type(lane: str, width: int, end: str, more: str) -> Helper:
    name, size = f"{lane}x{width}{end}", width * int(lane[1:]) // 8
    text = f"typedef {ELEMENTS[lane]} {name} __attribute__((vector_size({size}){more}));\n"
    return Helper(name, text, Part.VECTORS, place=(lane, str(width), end))


@functools.cache
def fill(width: int) -> Helper:
    """The initializer of a vector whose lanes are one scalar."""
    text = f"#define SL_ALL{width}(x) {{{', '.join(['(x)'] * width)}}}\n"
    return Helper(f"SL_ALL{width}", text, Part.FILLS, place=(f"{width:04}",))


_ELEMENTWISE = Helper(
    "",
    """#if defined __has_builtin
#if __has_builtin(__builtin_elementwise_fma)
#define SL_ELEMENTWISE_FMA
#endif
#endif
""",
    Part.FUSED,
)
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
_FUSED_BUILTINS = {
    "f32x16": ("__AVX512F__", "__builtin_ia32_vfmaddps512_mask(a, b, c, (unsigned short)-1, 4)"),
    "f64x8": ("__AVX512F__", "__builtin_ia32_vfmaddpd512_mask(a, b, c, (unsigned char)-1, 4)"),
    "f32x8": ("__FMA__", "__builtin_ia32_vfmaddps256(a, b, c)"),
    "f64x4": ("__FMA__", "__builtin_ia32_vfmaddpd256(a, b, c)"),
    "f32x4": ("__FMA__", "__builtin_ia32_vfmaddps(a, b, c)"),
    "f64x2": ("__FMA__", "__builtin_ia32_vfmaddpd(a, b, c)"),
}
"""What gives GCC one instruction; 4 is the rounding that is set."""


@functools.cache
def fused(lane: str, width: int) -> Helper:
    """A product and a sum, rounded once where the machine can."""
    own = vector(lane, width)
    feature, builtin = _FUSED_BUILTINS.get(own.name, ("SL_NONE", "c"))
    text = _FUSED.format(t=own.name, width=width, bits=lane[1:], feature=feature, builtin=builtin)
    needs = (own, _ELEMENTWISE, NAMED[f"SL_FMA{lane[1:]}"])
    return Helper(f"sl_fma_{own.name}", text, Part.FUSED, needs, (lane, str(width)))


_BITS = """static inline {u} sl_bits_{t}({t} x) {{ /* of any NaN those of one */
    const {u} wrong = ({u})(x != x);
    return (~wrong & ({u})x) | (wrong & {nan});
}}
"""
_NAN = {"f32": "UINT32_C(0x7fc00000)", "f64": "UINT64_C(0x7ff8000000000000)"}


@functools.cache
def bits(lane: str, width: int) -> Helper:
    """The bits of floats."""
    own, unsigned = vector(lane, width), vector(f"u{lane[1:]}", width)
    text = _BITS.format(t=own.name, u=unsigned.name, nan=_NAN[lane])
    return Helper(f"sl_bits_{own.name}", text, Part.VALUES, (own, unsigned), ("bits", lane, str(width)))


_MAXIMUM_OF_INTEGERS = """static inline {t} sl_max_{t}({t} a, {t} b) {{
    const {u} more = ({u})(a > b);
    return ({t})((more & ({u})a) | (~more & ({u})b));
}}
"""
_MAXIMUM = """static inline {t} sl_max_{t}({t} a, {t} b) {{ /* of equal zeros the positive one; NaN where either is */
#if defined {feature} && !defined __clang__ /* x86 gives the second operand for equal zeros and where either is NaN */
    return {maximum};
#endif
    const {u} more = ({u})(a > b), less = ({u})(a < b), same = ({u})(a == b);
    return ({t})((more & ({u})a) | (less & ({u})b) | (same & ({u})a & ({u})b) | (~(more | less | same) & ({u})(a + b)));
}}
"""


def _maximum_512(kind: str, ones: str) -> str:
    both = f"{{u}})__builtin_ia32_max{kind}512_mask"
    ends = f"a, ({ones})-1, 4)"
    larger = f"({{t}})(({both}(a, b, {ends} & ({both}(b, a, {ends})"
    unordered = f"__builtin_ia32_cmp{kind}512_mask(a, b, 3, ({ones})-1, 4)"
    return f"__builtin_ia32_add{kind}512_mask(a, b, {larger}, {unordered}, 4)"


_MAXIMUM_BUILTINS = {
    "f32x16": ("__AVX512F__", _maximum_512("ps", "unsigned short")),
    "f64x8": ("__AVX512F__", _maximum_512("pd", "unsigned char")),
}


@functools.cache
def maximum(lane: str, width: int) -> Helper:
    """The law's maximum."""
    own, unsigned = vector(lane, width), vector(f"u{lane[1:]}", width)
    feature, builtin = _MAXIMUM_BUILTINS.get(own.name, ("SL_NONE", "a"))
    builtin = builtin.format(t=own.name, u=unsigned.name)
    text = _MAXIMUM if lane[0] == "f" else _MAXIMUM_OF_INTEGERS
    text = text.format(t=own.name, u=unsigned.name, feature=feature, maximum=builtin)
    return Helper(f"sl_max_{own.name}", text, Part.VALUES, (own, unsigned), ("max", lane, str(width)))
