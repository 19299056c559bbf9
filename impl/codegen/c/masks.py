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
"""The processor's names of comparisons, the same for floats and integers; for floats only ne is true of NaN."""
_LONG = "(long long __attribute__((vector_size(64))))"
_BUILTINS = {
    "f32x16": ("cmpps512_mask", "blendmps_512_mask", "", ", 4"),
    "f64x8": ("cmppd512_mask", "blendmpd_512_mask", "", ", 4"),
    "i32x16": ("cmpd512_mask", "blendmd_512_mask", "(i32x16)", ""),
    "u32x16": ("ucmpd512_mask", "blendmd_512_mask", "(i32x16)", ""),
    "i64x8": ("cmpq512_mask", "blendmq_512_mask", _LONG, ""),
    "u64x8": ("ucmpq512_mask", "blendmq_512_mask", _LONG, ""),
}
"""GCC's names of the comparison and the choice of a vector, the casts of its operands, and the rounding mode."""
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
    a, b = ("b", "a") if what in _SWAPPED else ("a", "b")
    number = _PREDICATES[_SWAPPED.get(what, what)]
    builtin = f"__builtin_ia32_{{compare}}({{cast}}{a}, {{cast}}{b}, {number}, ({NUMBERS.get(m.name)})-1{{rounding}})"
    name, head = f"sl_{what}_{t.name}", f"{t.name} a, {t.name} b"
    body, needs = _by_builtin(t, builtin, f"({m.name})(a {SIGNS[op]} b)")
    text = f"static inline {m.name} {name}({head}) {{\n{body}}}\n"
    return Helper(name, text, Part.COMPARISONS, (t, m, *needs), (what, lane, str(width)))


@functools.cache
def choice(lane: str, width: int) -> Helper:
    """A function that chooses lanes of two vectors."""
    bits = int(lane[1:])
    t, unsigned, m = vector(lane, width), vector(f"u{bits}", width), mask(bits, width)
    u, name, head = unsigned.name, f"sl_choose_{t.name}", f"{t.name} chosen, {t.name} other, {m.name} mask"
    builtin = f"({t.name})__builtin_ia32_{{blend}}({{cast}}other, {{cast}}chosen, mask)"
    body, needs = _by_builtin(t, builtin, f"({t.name})((mask & ({u})chosen) | (~mask & ({u})other))")
    text = f"static inline {t.name} {name}({head}) {{\n{body}}}\n"
    return Helper(name, text, Part.VALUES, (t, unsigned, m, *needs), ("choose", lane, str(width)))


def _by_builtin(t: Helper, builtin: str, plain: str) -> tuple[str, tuple[Helper, ...]]:
    """The builtin function for masks that computes a value, where a vector has one, and what its cast needs."""
    plain = f"    return {plain};\n"
    if t.name not in _BUILTINS:
        return plain, ()
    compare, blend, cast, rounding = _BUILTINS[t.name]
    found = builtin.format(compare=compare, blend=blend, cast=cast, rounding=rounding)
    needs = (vector("i32", 16),) if cast == "(i32x16)" else ()
    return f"#if defined SL_MASKS\n    return {found};\n#else\n{plain}#endif\n", needs
