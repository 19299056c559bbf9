"""
C helpers
=========

The functions that generated C calls where C's own operators do not have the law's meaning: floor division, totals of
division and shifts, IEEE maximum, saturating casts, and the narrow floats, which C computes in ``double`` and rounds
once. A program contains only the helpers that it uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from soundline.spec.dtypes import (
    DType,
    bfloat16,
    exponent_range,
    float8_e4m3fn,
    float8_e5m2,
    float16,
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
    """Total division and remainder, and the saturating cast from a float, for one integer dtype."""
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
    return x >= 0x1p{bits - 1} ? INT{bits}_MAX : x <= -0x1p{bits - 1} ? INT{bits}_MIN : x == x ? ({c})x : 0;
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

_BLOCKS: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
    (_BITS, ("sl_bits_f", "sl_from_bits_f"), ()),
    (_NARROW, ("sl_narrow", "sl_widen"), ()),
    *(
        (_narrow_format(d), tuple(f"sl_{verb}_{SHORT[d]}(" for verb in ("to", "from", "round")), (_NARROW,))
        for d in NARROW
    ),
    (_WIDE_INTEGERS, ("sl_sticky_",), ()),
    (_MAXIMUM, ("sl_max_",), ()),
    (_FUSED, ("SL_FMA32(", "SL_FMA64("), ()),
    *(
        (
            _integer_helpers(d),
            tuple(f"sl_{verb}_{SHORT[d]}(" for verb in ("cdiv", "cmod", "idiv", "mod", "sat")),
            (),
        )
        for d in ints
    ),
]
"""Each block of helpers, the calls that ask for it, and the blocks that it needs."""

ROLLED = "#pragma GCC unroll 1"
"""Before a loop that is not to be unrolled."""

_MATH = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax
    fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint
    nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc
"""
"""Functions that C has for double, and under names with one letter more for float and long double."""
_MATH_MACROS = """
    fpclassify isfinite isgreater isgreaterequal isinf isless islessequal islessgreater isnan isnormal isunordered
    signbit math_errhandling float_t double_t HUGE_VAL HUGE_VALF HUGE_VALL INFINITY NAN
"""
_STRING = """
    memchr memcmp memcpy memmove memset strcat strchr strcmp strcoll strcpy strcspn strerror strlen strncat strncmp
    strncpy strpbrk strrchr strspn strstr strtok strxfrm NULL size_t
"""
_FENV = """
    feclearexcept fegetexceptflag feraiseexcept fesetexceptflag fetestexcept fegetround fesetround fegetenv feholdexcept
    fesetenv feupdateenv fenv_t fexcept_t
"""
_HEADERS: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {
    "fenv": (frozenset(_FENV.split()), ("FE_",)),
    "math": (
        frozenset((*(name + end for name in _MATH.split() for end in ("", "f", "l")), *_MATH_MACROS.split())),
        ("FP_", "M_", "MATH_"),
    ),
    "stdbool": (frozenset(("bool", "true", "false")), ()),
    "stdint": (frozenset(), ("int", "uint", "INT", "UINT", "SIZE_MAX", "PTRDIFF_", "WCHAR_", "SIG_ATOMIC_")),
    "string": (frozenset(_STRING.split()), ()),
}
"""The headers of C with all names that they declare, and how other such names begin. To read one that is not needed
takes longer than to compile a small kernel.
"""


def headers_for(text: str) -> str:
    """The headers of whose names a program uses some."""
    words = set(re.findall(r"\w+", text))
    wanted = (
        header
        for header, (names, beginnings) in _HEADERS.items()
        if not names.isdisjoint(words) or any(w.startswith(beginnings) for w in words)
    )
    return "".join(f"#include <{h}.h>\n" for h in wanted)


def every_header() -> str:
    """All of them, for text that a user has written."""
    return "".join(f"#include <{h}.h>\n" for h in _HEADERS)


def helpers_for(body: str) -> str:
    """The text of the helpers that a program calls."""
    wanted: dict[str, None] = {}
    for text, calls, needs in _BLOCKS:
        if any(call in body for call in calls):
            wanted.update(dict.fromkeys((*needs, text)))
    return "".join(wanted)


def all_helpers() -> str:
    """The text of every helper, for tests."""
    return "".join(text for text, _, _ in _BLOCKS)


def names(blocks: Iterable[str]) -> list[str]:
    """The helper names that some texts define."""
    return re.findall(r"\b(sl_\w+)\(", "".join(blocks))
