"""
Masks in C
==========

Bools in lanes. Where the processor keeps them in registers of their own, one bit for each lane (AVX-512), a vector of
bools is a number with that many bits, so that the compiler can make one instruction of an operation and of the choice
whether a lane takes part in it. Everywhere else it is a vector of integers, as wide as what was compared, each of them
zero or all ones.
"""

from __future__ import annotations

from collections.abc import Collection

from soundline.spec.uop import Op

COMPARED = {Op.CmpLt: "lt", Op.CmpGt: "gt", Op.CmpLe: "le", Op.CmpGe: "ge", Op.CmpEq: "eq", Op.CmpNe: "ne"}
"""The helper of each comparison."""
_SIGNS = {"lt": "<", "gt": ">", "le": "<=", "ge": ">=", "eq": "==", "ne": "!="}
_SWAPPED = {"gt": "lt", "ge": "le"}
_PREDICATES = {"eq": 0, "lt": 1, "le": 2, "ne": 4}
"""What the processor calls a comparison, the same for floats and integers; of floats only ne is true of NaN."""
_LONG = "(long long __attribute__((vector_size(64))))"
_BUILTINS = {
    "f32x16": ("cmpps512_mask", "blendmps_512_mask", "", ", 4"),
    "f64x8": ("cmppd512_mask", "blendmpd_512_mask", "", ", 4"),
    "i32x16": ("cmpd512_mask", "blendmd_512_mask", "(i32x16)", ""),
    "u32x16": ("ucmpd512_mask", "blendmd_512_mask", "(i32x16)", ""),
    "i64x8": ("cmpq512_mask", "blendmq_512_mask", _LONG, ""),
    "u64x8": ("ucmpq512_mask", "blendmq_512_mask", _LONG, ""),
}
"""What GCC calls the comparison and the choice of a vector, how its operands are cast, and the rounding that is set."""
NUMBERS = {"m32x16": "uint16_t", "m64x8": "uint8_t"}
"""The masks for which the processor may have registers, and the number that is as long."""
_HAVE = """#if defined __AVX512F__ && !defined __clang__
#define SL_MASKS
#endif
"""


def masks(found: Collection[tuple[str, str]]) -> str:
    """The types of these masks, by the bits of a lane and how many lanes there are, and how a bool is repeated."""
    texts = [_mask(f"m{bits}x{width}", bits, width) for bits, width in sorted(found)]
    return "".join((_HAVE, *texts)) if texts else ""


def _mask(name: str, bits: str, width: str) -> str:
    vector = f"""typedef u{bits}x{width} {name};
#define SL_EVERY_{name}(x) ((u{bits}x{width})SL_ALL{width}(-(uint{bits}_t)(x)))
"""
    if name not in NUMBERS:
        return vector
    number = NUMBERS[name]
    return f"""#if defined SL_MASKS
typedef {number} {name};
#define SL_EVERY_{name}(x) (({number})-(x))
#else
{vector}#endif
"""


def comparison(what: str, kind: str, width: str) -> str:
    """A function that compares two vectors."""
    t, m = f"{kind}x{width}", f"m{kind[1:]}x{width}"
    plain = f"    return ({m})(a {_SIGNS[what]} b);\n"
    if t in _BUILTINS:
        compare, _, cast, rounding = _BUILTINS[t]
        a, b = ("b", "a") if what in _SWAPPED else ("a", "b")
        number = _PREDICATES[_SWAPPED.get(what, what)]
        text = f"__builtin_ia32_{compare}({cast}{a}, {cast}{b}, {number}, ({NUMBERS[m]})-1{rounding})"
        plain = f"#if defined SL_MASKS\n    return {text};\n#else\n{plain}#endif\n"
    return f"static inline {m} sl_{what}_{t}({t} a, {t} b) {{\n{plain}}}\n"


def choice(kind: str, width: str) -> str:
    """A function that chooses lanes of two vectors."""
    t, u, m = f"{kind}x{width}", f"u{kind[1:]}x{width}", f"m{kind[1:]}x{width}"
    plain = f"    return ({t})((mask & ({u})chosen) | (~mask & ({u})other));\n"
    if t in _BUILTINS:
        _, blend, cast, _ = _BUILTINS[t]
        text = f"({t})__builtin_ia32_{blend}({cast}other, {cast}chosen, mask)"
        plain = f"#if defined SL_MASKS\n    return {text};\n#else\n{plain}#endif\n"
    return f"static inline {t} sl_choose_{t}({t} chosen, {t} other, {m} mask) {{\n{plain}}}\n"
