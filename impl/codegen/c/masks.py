"""
Masks in C
==========

Bools in lanes. Where the processor keeps them in registers of their own, one bit for each lane (AVX-512), a vector of
bools is a number with that many bits, so that the compiler can make one instruction of an operation and of the choice
whether a lane takes part in it. Everywhere else it is a vector of integers, as wide as what was compared, each of them
zero or all ones.
"""

from __future__ import annotations

import functools

from soundline.impl.codegen.c.expressions import SIGNS
from soundline.impl.codegen.c.helpers import Helper, Part
from soundline.impl.codegen.c.vector_helpers import fill, vector
from soundline.spec.uop import Op

COMPARED = {Op.CmpLt: "lt", Op.CmpGt: "gt", Op.CmpLe: "le", Op.CmpGe: "ge", Op.CmpEq: "eq", Op.CmpNe: "ne"}
"""The helper of each comparison."""
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
_HAVE = Helper(
    "SL_MASKS",
    """#if defined __AVX512F__ && !defined __clang__
#define SL_MASKS
#endif
""",
    Part.MASKS,
)


@functools.cache
def mask(bits: int, width: int) -> Helper:
    """The type of a mask, by the bits of a lane of what was compared and how many lanes there are."""
    name, unsigned = f"m{bits}x{width}", vector(f"u{bits}", width)
    text = f"""typedef {unsigned.name} {name};
#define SL_EVERY_{name}(x) (({unsigned.name})SL_ALL{width}(-(uint{bits}_t)(x)))
"""
    if name in NUMBERS:
        number = NUMBERS[name]
        text = f"""#if defined SL_MASKS
typedef {number} {name};
#define SL_EVERY_{name}(x) (({number})-(x))
#else
{text}#endif
"""
    return Helper(name, text, Part.MASKS, (_HAVE, unsigned, fill(width)), (str(bits), str(width)))


@functools.cache
def every(bits: int, width: int) -> Helper:
    """A bool for all lanes."""
    own = mask(bits, width)
    return Helper(f"SL_EVERY_{own.name}", "", Part.MASKS, (own,))


@functools.cache
def comparison(op: Op, lane: str, width: int) -> Helper:
    """A function that compares two vectors."""
    what, t, m = COMPARED[op], vector(lane, width), mask(int(lane[1:]), width)
    plain = f"    return ({m.name})(a {SIGNS[op]} b);\n"
    name, place, needs = f"sl_{what}_{t.name}", (what, lane, str(width)), (t, m)
    if t.name in _BUILTINS:
        compare, _, cast, rounding = _BUILTINS[t.name]
        a, b = ("b", "a") if what in _SWAPPED else ("a", "b")
        number = _PREDICATES[_SWAPPED.get(what, what)]
        text = f"__builtin_ia32_{compare}({cast}{a}, {cast}{b}, {number}, ({NUMBERS[m.name]})-1{rounding})"
        plain = f"#if defined SL_MASKS\n    return {text};\n#else\n{plain}#endif\n"
        needs += _cast_of(t)
    text = f"static inline {m.name} {name}({t.name} a, {t.name} b) {{\n{plain}}}\n"
    return Helper(name, text, Part.COMPARISONS, needs, place)


@functools.cache
def choice(lane: str, width: int) -> Helper:
    """A function that chooses lanes of two vectors."""
    bits = int(lane[1:])
    helpers = vector(lane, width), vector(f"u{bits}", width), mask(bits, width)
    t, u, m = (h.name for h in helpers)
    name, plain = f"sl_choose_{t}", f"    return ({t})((mask & ({u})chosen) | (~mask & ({u})other));\n"
    if t in _BUILTINS:
        _, blend, cast, _ = _BUILTINS[t]
        text = f"({t})__builtin_ia32_{blend}({cast}other, {cast}chosen, mask)"
        plain = f"#if defined SL_MASKS\n    return {text};\n#else\n{plain}#endif\n"
        helpers += _cast_of(helpers[0])
    text = f"static inline {t} {name}({t} chosen, {t} other, {m} mask) {{\n{plain}}}\n"
    return Helper(name, text, Part.VALUES, helpers, ("choose", lane, str(width)))


def _cast_of(t: Helper) -> tuple[Helper, ...]:
    """The type to which the operands of a builtin function are cast, where it is one of ours."""
    return (vector("i32", 16),) if _BUILTINS[t.name][2] == "(i32x16)" else ()
