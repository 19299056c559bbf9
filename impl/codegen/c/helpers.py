"""
C helpers
=========

The declarations that generated C needs: headers, types, functions and macros. The code that writes a piece of C
requests the names that it uses. A program contains what was requested and, transitively, what that needs; the order
depends on nothing else.

The functions of this module replace C operators whose meaning differs from the law: floor division, totals of division
and shifts, IEEE maximum, saturating casts, and the narrow floats, which C computes in ``double`` and rounds once.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from soundline.spec.dtypes import (
    DType,
    bfloat16,
    exponent_range,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    ints,
    uint8,
    uint16,
    uint32,
    uint64,
)


class Part(enum.IntEnum):
    """The parts of what stands before the kernels; what a helper needs stands in a part before its own, or before it
    in the same one.
    """

    HEADERS = enum.auto()
    SCALARS = enum.auto()
    VECTORS = enum.auto()
    FILLS = enum.auto()
    FUSED = enum.auto()
    MASKS = enum.auto()
    COMPARISONS = enum.auto()
    VALUES = enum.auto()
    TRANSPOSITIONS = enum.auto()
    STREAMS = enum.auto()
    QUESTIONS = enum.auto()


@dataclass(frozen=True, eq=False)
class Helper:
    """A declaration that pieces of C ask for; there is one object for each."""

    name: str
    """What they write for it."""
    text: str
    part: Part
    needs: tuple[Helper, ...] = ()
    place: tuple[str, ...] = ()
    """Where it stands among those of its part."""


class Helpers:
    """The helpers that the pieces of a program have requested."""

    def __init__(self) -> None:
        self.wanted: dict[Helper, None] = {}

    def __call__(self, wanted: Helper | str) -> str:
        """Ask for a helper, or for a function or name of this module, and get its name."""
        helper = NAMED[wanted] if isinstance(wanted, str) else wanted
        self.wanted[helper] = None
        return helper.name

    def every_header(self) -> None:
        """Ask for all headers, for text that a user has written."""
        for header in _HEADERS:
            self(header)

    def text(self) -> str:
        """The declarations of all that was asked for and of what they need."""
        found: dict[Helper, None] = {}
        waiting = list(self.wanted)
        while waiting:
            helper = waiting.pop()
            if helper not in found:
                found[helper] = None
                waiting += helper.needs
        return "".join(h.text for h in sorted(found, key=lambda h: (h.part, h.place)))


NARROW = (float16, bfloat16, float8_e4m3fn, float8_e5m2)
"""The formats without a C type: held as ``float``, stored as bits."""

SHORT = {
    int8: "i8",
    int16: "i16",
    int32: "i32",
    int64: "i64",
    uint8: "u8",
    uint16: "u16",
    uint32: "u32",
    uint64: "u64",
    float64: "f64",
    float32: "f32",
    float16: "f16",
    bfloat16: "bf16",
    float8_e4m3fn: "e4m3",
    float8_e5m2: "e5m2",
}
"""The part of a helper's name that tells its dtype."""

_BITS = """
static inline uint64_t sl_bits_f64(double x) {
    uint64_t b;
    memcpy(&b, &x, 8);
    return x != x ? UINT64_C(0x7ff8000000000000) : b;
}
static inline double sl_from_bits_f64(uint64_t b) {
    double x;
    memcpy(&x, &b, 8);
    return x;
}
static inline uint32_t sl_bits_f32(float x) {
    uint32_t b;
    memcpy(&b, &x, 4);
    return x != x ? UINT32_C(0x7fc00000) : b;
}
static inline float sl_from_bits_f32(uint32_t b) {
    float x;
    memcpy(&x, &b, 4);
    return x;
}
"""

_NARROW = """
/* The bits of x in a format with m stored significand bits and least normal exponent e_min: one rounding, to nearest
   even. What rounds beyond `largest` becomes `beyond`. */
static inline uint32_t sl_narrow(double x, int bits, int m, int e_min, uint32_t largest, uint32_t beyond,
                                 uint32_t nan) {
    uint64_t b, magnitude;
    memcpy(&b, &x, 8);
    uint32_t sign = (uint32_t)(b >> 63) << (bits - 1);
    magnitude = b & UINT64_C(0x7fffffffffffffff);
    if (magnitude > UINT64_C(0x7ff0000000000000)) return nan;
    int e = (int)(magnitude >> 52) - 1023;
    int drop = 52 - m + (e < e_min ? e_min - e : 0);
    if (drop > 54) return sign;
    uint64_t significand = (magnitude & UINT64_C(0xfffffffffffff)) | UINT64_C(0x10000000000000);
    uint64_t kept = significand >> drop;
    uint64_t rest = significand & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1));
    uint64_t pattern = (e < e_min ? 0 : (uint64_t)(e - e_min) << m) + kept;
    if (pattern > largest) return beyond == nan ? nan : sign | beyond;
    return sign | (uint32_t)pattern;
}
/* The number that the bits of such a format store; `field` selects the exponent, `special` is the least NaN or
   infinity pattern. */
static inline float sl_widen(uint32_t b, int bits, int m, int e_min, uint32_t infinity, uint32_t nan_from) {
    uint32_t sign = b >> (bits - 1), pattern = b & ((UINT32_C(1) << (bits - 1)) - 1);
    if (pattern >= nan_from) return NAN;
    if (pattern == infinity) return sign ? -INFINITY : INFINITY;
    uint32_t field = pattern >> m, units = pattern & ((UINT32_C(1) << m) - 1);
    uint64_t scale = (uint64_t)(1023 + e_min - m + (field ? (int)field - 1 : 0)) << 52;
    double power, value;
    memcpy(&power, &scale, 8);
    value = (double)(units + (field ? UINT32_C(1) << m : 0)) * power;
    return (float)(sign ? -value : value);
}
"""

_WIDE_INTEGERS = """
/* A double that rounds to any format of at most 11 significant bits as the integer itself does: the bits that a double
   cannot hold are replaced by one that says whether any of them was set. */
static inline double sl_sticky_u64(uint64_t x) {
    if (x < (UINT64_C(1) << 53)) return (double)x;
    return (double)((x >> 32) | ((x & UINT64_C(0xffffffff)) != 0)) * 4294967296.0;
}
static inline double sl_sticky_i64(int64_t x) {
    return x < 0 ? -sl_sticky_u64(UINT64_C(0) - (uint64_t)x) : sl_sticky_u64((uint64_t)x);
}
"""

_MAXIMUM = """
static inline float sl_max_f32(float a, float b) {
    return a > b ? a : a < b ? b : (a == b && a != 0.0f) ? a : a + b;
}
static inline double sl_max_f64(double a, double b) {
    return a > b ? a : a < b ? b : (a == b && a != 0.0) ? a : a + b;
}
"""


def _narrow_format(dtype: DType) -> str:
    """Rounding into a narrow format, and its bits there and back."""
    name, m, bits = SHORT[dtype], dtype.mantissa_bits, dtype.bits
    e_min, _ = exponent_range(dtype)
    top = ((1 << dtype.exponent_bits) - 1) << m
    if dtype.has_infinity:
        nan, beyond, largest, infinity, nan_from = top | 1 << (m - 1), top, top - 1, top, top + 1
    else:
        nan = beyond = nan_from = top | (1 << m) - 1
        largest, infinity = nan - 1, 1 << 31
    store = f"uint{bits}_t"
    return f"""
static inline {store} sl_to_{name}(double x) {{
    return ({store})sl_narrow(x, {bits}, {m}, {e_min}, {largest:#x}, {beyond:#x}, {nan:#x});
}}
static inline float sl_from_{name}({store} b) {{
    return sl_widen(b, {bits}, {m}, {e_min}, {infinity:#x}, {nan_from:#x});
}}
static inline float sl_round_{name}(double x) {{ return sl_from_{name}(sl_to_{name}(x)); }}
"""


def _integer_helpers(dtype: DType) -> str:
    """Total division and remainder, and the saturating cast from a float, for one integer dtype.

    Compilers make ``trunc`` of a cast to an integer and back, and that would be -0 between -1 and 0: so no cast is done
    of what becomes 0. A NaN is among that.
    """
    name, bits, c = SHORT[dtype], dtype.bits, f"{'' if dtype.signed else 'u'}int{dtype.bits}_t"
    unsigned = f"uint{max(bits, 32)}_t"
    if not dtype.signed:
        return f"""
static inline {c} sl_cdiv_{name}({c} a, {c} b) {{ return b ? ({c})(a / b) : 0; }}
static inline {c} sl_cmod_{name}({c} a, {c} b) {{ return b ? ({c})(a % b) : a; }}
static inline {c} sl_sat_{name}(double x) {{
    return x >= 0x1p{bits} ? UINT{bits}_MAX : x > 0.0 ? ({c})x : 0;
}}
"""
    return f"""
static inline {c} sl_cdiv_{name}({c} a, {c} b) {{
    return b == 0 ? 0 : b == -1 ? ({c})(0u - ({unsigned})a) : ({c})(a / b);
}}
static inline {c} sl_cmod_{name}({c} a, {c} b) {{ return b == 0 ? a : b == -1 ? 0 : ({c})(a % b); }}
static inline {c} sl_idiv_{name}({c} a, {c} b) {{
    if (b == 0) return 0;
    if (b == -1) return ({c})(0u - ({unsigned})a);
    return ({c})(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}}
static inline {c} sl_mod_{name}({c} a, {c} b) {{
    if (b == 0) return a;
    if (b == -1) return 0;
    {c} r = ({c})(a % b);
    return r != 0 && (r < 0) != (b < 0) ? ({c})(r + b) : r;
}}
static inline {c} sl_sat_{name}(double x) {{
    if (x >= 0x1p{bits - 1}) return INT{bits}_MAX;
    if (x <= -0x1p{bits - 1}) return INT{bits}_MIN;
    return __builtin_fabs(x) >= 1.0 ? ({c})x : 0;
}}
"""


_FUSED = """
#ifdef __FP_FAST_FMAF /* where fusing is licensed, but slow, it is not done */
#define SL_FMA32(a, b, c) __builtin_fmaf(a, b, c)
#else
#define SL_FMA32(a, b, c) ((a) * (b) + (c))
#endif
#ifdef __FP_FAST_FMA
#define SL_FMA64(a, b, c) __builtin_fma(a, b, c)
#else
#define SL_FMA64(a, b, c) ((a) * (b) + (c))
#endif
"""

ROLLED = "#pragma GCC unroll 1"
"""Before a loop that is not to be unrolled."""

_HEADERS = {
    "fenv": (),
    "math": ("INFINITY", "NAN", "sqrt", "sqrtf", "trunc", "truncf"),
    "stdbool": ("bool", "false", "true"),
    "stdint": (),
    "string": ("memcpy",),
}
"""The headers of C, and the names in them that are asked for; those of ``stdint`` are in every program. Reading a
header that is not needed takes longer than compiling a small kernel.
"""


def _named() -> dict[str, Helper]:
    """The helpers of all names that headers and the blocks of this module declare."""
    found: dict[str, Helper] = {}

    def block(text: str, names: Iterable[str], needs: Iterable[str] = ()) -> None:
        place = (f"{len(found):04}",)
        whole = Helper("", text, Part.SCALARS, tuple(found[n] for n in needs), place)
        found.update((n, Helper(n, "", Part.SCALARS, (whole,))) for n in names)

    for header, names in _HEADERS.items():
        whole = Helper(header, f"#include <{header}.h>\n", Part.HEADERS, place=(header,))
        found[header] = whole
        found.update((n, Helper(n, "", Part.HEADERS, (whole,))) for n in names)
    bits = [f"sl_{verb}_f{width}" for verb in ("bits", "from_bits") for width in (32, 64)]
    block(_BITS, bits, ("memcpy",))
    block(_NARROW, ("sl_narrow", "sl_widen"), ("memcpy", "NAN"))
    for d in NARROW:
        block(
            _narrow_format(d), [f"sl_{verb}_{SHORT[d]}" for verb in ("to", "from", "round")], ("sl_narrow",)
        )
    block(_WIDE_INTEGERS, ("sl_sticky_u64", "sl_sticky_i64"))
    block(_MAXIMUM, ("sl_max_f32", "sl_max_f64"))
    block(_FUSED, ("SL_FMA32", "SL_FMA64"))
    for d in ints:
        verbs = ("cdiv", "cmod", "sat", *(("idiv", "mod") if d.signed else ()))
        block(_integer_helpers(d), [f"sl_{verb}_{SHORT[d]}" for verb in verbs])
    return found


NAMED = _named()
