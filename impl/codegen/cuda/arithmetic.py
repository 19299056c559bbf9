"""
Arithmetic on data
==================

What an op of the language is in C, for each dtype: bit for bit what the law says (``spec.ops.elementwise``), if the
compiler contracts nothing. Integers wrap, and so are computed unsigned; half precision computes in float32 and rounds;
maximum, floor division, shifts and casts to integers are functions, because those of C mean something else. `Exp2`,
`Log2`, `Sin` and `Pow` are functions as well: the programs of `spec.values.decompositions`, step by step (U-11).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from soundline.impl.codegen.cuda.dialects import HALVES, Dialect
from soundline.impl.codegen.cuda.names import Names
from soundline.impl.codegen.cuda.operators import Written, call, choice, operator, unary
from soundline.spec.dtypes import DType, bool_, float32, float64, round_to, to_bits, uint32, uint64, wrap
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import COMPARISONS
from soundline.spec.spork.language.nodes import SPELLING
from soundline.spec.uop import UOp
from soundline.spec.values.decompositions import PROGRAMS

_SIGNS = {
    Op.Add: "+",
    Op.Sub: "-",
    Op.Mul: "*",
    Op.Div: "/",
    Op.And: "&",
    Op.Or: "|",
    Op.Xor: "^",
    Op.CmpLt: "<",
    Op.CmpLe: "<=",
    Op.CmpGt: ">",
    Op.CmpGe: ">=",
    Op.CmpEq: "==",
    Op.CmpNe: "!=",
}
_OF_BOOLS = {Op.And: "&&", Op.Or: "||", Op.Xor: "!="}
_FUNCTIONS = {Op.Sqrt: "sqrt", Op.Trunc: "trunc"}


def operation(op: Op, dtype: DType, operands: Sequence[Written], names: Names) -> Written:
    """An op on operands of a dtype; of `Where` the choice is the first of them."""
    if op is Op.Where:
        return choice(*operands)
    if op in PROGRAMS:
        return call(program(op, dtype, names), *operands)
    if op in (Op.Max, Op.Idiv, Op.Mod, Op.Shl, Op.Shr):
        return call(asked_for(op, dtype, names), *operands)
    if op is Op.Mulacc:
        return _multiply_add(dtype, operands, names)
    if dtype is bool_:
        return unary("!", *operands) if op is Op.Not else operator((_SIGNS | _OF_BOOLS)[op], *operands)
    if dtype in HALVES:
        return _in_float32(op, dtype, operands, names)
    return _of_floats(op, dtype, operands) if dtype.is_float else _of_integers(op, dtype, operands, names)


def _in_float32(op: Op, dtype: DType, operands: Sequence[Written], names: Names) -> Written:
    wide = [Written(names.dialect.widened(dtype, o.text)) for o in operands]
    found = operation(op, float32, wide, names)
    return found if op in COMPARISONS else Written(names.dialect.narrowed(dtype, found.text))


def _of_floats(op: Op, dtype: DType, operands: Sequence[Written]) -> Written:
    if op is Op.Neg:
        return unary("-", *operands)
    if op is Op.Recip:
        return operator("/", _finite(1.0, dtype), *operands)
    if op in _FUNCTIONS:
        return call(_FUNCTIONS[op] + ("f" if dtype is float32 else ""), *operands)
    return operator(_SIGNS[op], *operands)


def _of_integers(op: Op, dtype: DType, operands: Sequence[Written], names: Names) -> Written:
    if op in COMPARISONS or dtype in (uint32, uint64):
        return unary("-", *operands) if op is Op.Neg else operator(_SIGNS[op], *operands)
    own = names.dialect.type_of(dtype)
    wide = names.dialect.type_of(uint64 if dtype.bits > 32 else uint32)
    parts = [Written(names.dialect.cast(wide, o.text)) for o in operands]
    found = unary("-", *parts) if op is Op.Neg else operator(_SIGNS[op], *parts)
    return Written(names.dialect.cast(own, found.text))


def _multiply_add(dtype: DType, operands: Sequence[Written], names: Names) -> Written:
    """a · b + c in two roundings, or in one where the program may be contracted."""
    if names.contract and dtype in (float32, float64):
        return call(f"{names.dialect.scope}fma", *operands)
    a, b, c = operands
    return operation(Op.Add, dtype, (operation(Op.Mul, dtype, (a, b), names), c), names)


# Literals ---------------------------------------------------------------------------------------------------------


def literal(value: bool | int | float, dtype: DType, names: Names) -> Written:
    """A number of a dtype."""
    if dtype is bool_:
        return Written("true" if value else "false")
    if dtype in HALVES:
        number = _float(round_to(dtype, value), float32, names)
        return Written(names.dialect.narrowed(dtype, number.text))
    if dtype.is_float:
        return _float(round_to(dtype, value), dtype, names)
    return _integer(int(wrap(dtype, int(value))), dtype, names.dialect)


def _float(value: float, dtype: DType, names: Names) -> Written:
    if math.isfinite(value):
        return _finite(value, dtype)
    bits = uint32 if dtype is float32 else uint64
    return bitcast(bits, dtype, _integer(int(to_bits(dtype, value)), bits, names.dialect), names)


def _finite(value: float, dtype: DType) -> Written:
    text = f"{np.float32(value)!s}f" if dtype is float32 else repr(float(value))
    return unary("-", Written(text[1:])) if text.startswith("-") else Written(text)


def _integer(value: int, dtype: DType, dialect: Dialect) -> Written:
    suffix = "" if dtype.signed else "u"
    text = f"{value + 1} - 1" if dtype.signed and value == dtype.min else f"{value}{suffix}"
    if dtype.bits == 32 and value != dtype.min:
        return Written(text) if value >= 0 else unary("-", Written(text[1:]))
    return Written(dialect.cast(dialect.type_of(dtype), text))


# Casts ------------------------------------------------------------------------------------------------------------


def cast(source: DType, target: DType, operand: Written, names: Names) -> Written:
    """A value of one dtype as one of another (U-13)."""
    dialect = names.dialect
    if source is target:
        return operand
    if source in HALVES:
        return cast(float32, target, Written(dialect.widened(source, operand.text)), names)
    if target is bool_:
        return operator("!=", operand, literal(0, source, names))
    if target in HALVES:
        return _to_half(source, target, operand, names)
    if source.is_float and not target.is_float:
        return call(_saturating(source, target, names), operand)
    return Written(dialect.cast(dialect.type_of(target), operand.text))


def _to_half(source: DType, target: DType, operand: Written, names: Names) -> Written:
    """One rounding: what float32 does not hold exactly goes there with a bit that says that something is missing."""
    dialect = names.dialect
    if source is float32:
        return Written(dialect.narrowed(target, operand.text))
    if source is not float64 and source.bits > 32:
        return _to_half(float64, target, call(_sticky(source, names), operand), names)
    if source is float64 or (source is not bool_ and source.bits == 32):
        wide = operand if source is float64 else Written(dialect.cast("double", operand.text))
        return Written(dialect.narrowed(target, call(_odd(names), wide).text))
    return Written(dialect.narrowed(target, dialect.cast("float", operand.text)))


def bitcast(source: DType, target: DType, operand: Written, names: Names) -> Written:
    """The value with the same bits."""
    if source is target:
        return operand
    if source.is_float == target.is_float:
        return Written(names.dialect.cast(names.dialect.type_of(target), operand.text))
    return call(_bitcast(source, target, names), operand)


# Functions --------------------------------------------------------------------------------------------------------


def _function(name: str, result: str, arguments: str, body: str, names: Names) -> str:
    """Ask for a function, and get its name."""
    prefix = "" if names.dialect.functional else names.dialect.scope
    text = f"{names.dialect.qualifiers}{result} {prefix}{name}({arguments}) {{ {body} }}"
    names.helpers.add(prefix + name, text)
    return prefix + name


def asked_for(op: Op, dtype: DType, names: Names) -> str:
    """The function of an op on a dtype. The device has an instruction for the maximum of float32."""
    if op is Op.Max and dtype is float32 and names.dialect.functional:
        return f"{names.dialect.scope}maximum"
    own = names.dialect.type_of(dtype)
    arguments = f"{own} a, {own} b"
    name = f"{_NAMES[op]}_{SPELLING[dtype]}"
    return _function(name, own, arguments, _bodies(op, dtype, own, names), names)


_NAMES = {Op.Max: "max", Op.Idiv: "floor_div", Op.Mod: "floor_mod", Op.Shl: "shl", Op.Shr: "shr"}
HELPERS = (*_NAMES.values(), "exp2", "log2", "sin", "pow", "bits", "cast", "odd", "sticky")
"""How the names of functions begin; the rest is a dtype."""


def _bodies(op: Op, dtype: DType, own: str, names: Names) -> str:
    dialect = names.dialect
    unsigned = dialect.type_of(uint64 if dtype.bits > 32 else uint32)
    match op:
        case Op.Max if dtype in HALVES:
            wide = [Written(dialect.widened(dtype, x)) for x in "ab"]
            inner = call(asked_for(Op.Max, float32, names), *wide)
            return f"return {dialect.narrowed(dtype, inner.text)};"
        case Op.Max if dtype.is_float:
            # The sum is NaN where an operand is, and +0 of zeros with different signs.
            zero = _finite(0.0, dtype).text
            return f"return a > b ? a : a < b ? b : a == b && a != {zero} ? a : a + b;"
        case Op.Max:
            return "return a > b ? a : b;"
        case Op.Idiv if not dtype.signed:
            return "return b == 0 ? 0 : a / b;"
        case Op.Idiv:
            least = f"if (b == -1) return ({own})(-({unsigned})a);"
            return (
                f"if (b == 0) return 0; {least} return ({own})(a / b - (a % b != 0 && (a < 0) != (b < 0)));"
            )
        case Op.Mod:
            quotient = call(asked_for(Op.Idiv, dtype, names), Written("a"), Written("b")).text
            return f"return ({own})(({unsigned})a - ({unsigned})b * ({unsigned}){quotient});"
        case _:
            return _shift(op, dtype, own, unsigned)


def _shift(op: Op, dtype: DType, own: str, unsigned: str) -> str:
    """The count is read as unsigned, and nothing is left to move at the width (U-04)."""
    count = f"({unsigned})(uint{dtype.bits}_t)b"
    if op is Op.Shl:
        return f"return {count} >= {dtype.bits} ? 0 : ({own})(({unsigned})a << {count});"
    fill = "(a < 0 ? -1 : 0)" if dtype.signed else "0"
    return f"return {count} >= {dtype.bits} ? ({own}){fill} : ({own})(a >> {count});"


def _saturating(source: DType, target: DType, names: Names) -> str:
    """Truncated, then clamped; NaN is 0."""
    own, of = names.dialect.type_of(target), names.dialect.type_of(source)
    high = _finite(float(int(target.max) + 1), source).text
    low = _finite(float(int(target.min)), source).text
    most, least = (
        _integer(int(target.max), target, names.dialect),
        _integer(int(target.min), target, names.dialect),
    )
    body = f"return x != x ? 0 : x >= {high} ? {most.text} : x <= {low} ? {least.text} : ({own})x;"
    return _function(f"cast_{SPELLING[target]}_{SPELLING[source]}", own, f"{of} x", body, names)


def _bitcast(source: DType, target: DType, names: Names) -> str:
    own, of = names.dialect.type_of(target), names.dialect.type_of(source)
    body = f"union {{ {of} from; {own} to; }} u; u.from = x; return u.to;"
    return _function(f"bits_{SPELLING[target]}_{SPELLING[source]}", own, f"{of} x", body, names)


def _odd(names: Names) -> str:
    """A number of float64 in float32, rounded to odd: a second rounding to half precision is then the only one."""
    to_bits_, of_bits = _bitcast(float32, uint32, names), _bitcast(uint32, float32, names)
    body = (
        f"float f = (float)x; uint32_t b = {to_bits_}(f); "
        "if (x != x || (double)f == x || (b & 1)) return f; "
        f"return {of_bits}((x < 0 ? -x > -(double)f : x > (double)f) || f == 0 ? b + 1 : b - 1);"
    )
    return _function("odd_f32_f64", "float", "double x", body, names)


def _sticky(source: DType, names: Names) -> str:
    """An integer of 64 bits as a float64 that rounds to half precision as the integer does: the bits that it cannot
    hold are one, which says whether any of them was set.
    """
    of = names.dialect.type_of(source)
    whole = (
        "double d = m < ((uint64_t)1 << 53) ? (double)m : "
        "(double)((m >> 32) | ((m & 0xffffffffu) != 0)) * 4294967296.0;"
    )
    if source.signed:
        body = f"uint64_t m = x < 0 ? -(uint64_t)x : (uint64_t)x; {whole} return x < 0 ? -d : d;"
    else:
        body = f"uint64_t m = x; {whole} return d;"
    return _function(f"sticky_f64_{SPELLING[source]}", "double", f"{of} x", body, names)


# Programs ---------------------------------------------------------------------------------------------------------


def program(op: Op, dtype: DType, names: Names) -> str:
    """The function of an op whose value is that of a program."""
    root = PROGRAMS[op][dtype]
    texts: dict[UOp, Written] = {}
    lines: list[str] = []
    for node in _in_order(root):
        found = _step(node, texts, names)
        if node.op not in (Op.Const, Op.Param):
            name = f"t{len(lines)}"
            lines.append(f"{names.dialect.type_of(node.dtype)} {name} = {found.text};")
            found = Written(name)
        texts[node] = found
    own = names.dialect.type_of(dtype)
    arguments = ", ".join(f"{own} {name}" for name in "ab"[: 2 if op is Op.Pow else 1])
    body = "\n    ".join(["", *lines, f"return {texts[root].text};"])
    return _function(f"{op.name.lower()}_{SPELLING[dtype]}", own, arguments, f"{body}\n", names)


def _in_order(root: UOp) -> list[UOp]:
    """The nodes of a program with a value, sources first."""
    found: dict[UOp, None] = {}
    waiting = [root]
    while waiting:
        node = waiting[-1]
        before = [s for s in node.src if s not in found] if node.op is not Op.Param else []
        if before:
            waiting += reversed(before)
        else:
            found[waiting.pop()] = None
    return list(found)


def _step(node: UOp, texts: dict[UOp, Written], names: Names) -> Written:
    operands = [texts[s] for s in node.src] if node.op is not Op.Param else []
    match node.op:
        case Op.Const:
            return literal(node.arg.value, node.dtype, names)
        case Op.Param:
            return Written("ab"[node.arg.slot])
        case Op.Cast:
            return cast(node.src[0].dtype, node.dtype, operands[0], names)
        case Op.Bitcast:
            return bitcast(node.src[0].dtype, node.dtype, operands[0], names)
        case _:
            of = node.src[-1].dtype
            return operation(node.op, of, operands, names)
