"""
C expressions
=============

The C form of every elementwise op, total as the law is: integers wrap in unsigned arithmetic, floats round once per op,
and nothing is left to the compiler's idea of overflow. ``index`` is ``idx``, a signed type in which each kernel's index
expressions are proved to fit, with plain operators.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from soundline.impl.codegen.c.helpers import NARROW, SHORT
from soundline.spec.dtypes import (
    DType,
    Element,
    bool_,
    float32,
    float64,
    index,
    int64,
    uint64,
)
from soundline.spec.errors import CompileError
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import Op, UOp

Operands = list[str]
_TRAILING_ZEROS = re.compile(r"\.?0*p")


def value_type(dtype: DType) -> str:
    """The C type that holds a value of a dtype in a register."""
    if dtype in NARROW or dtype is float32:
        return "float"
    if dtype is float64:
        return "double"
    if dtype is bool_:
        return "bool"
    return "idx" if dtype is index else f"{dtype.name}_t"


def storage_type(dtype: DType) -> str:
    """The C type that stores an element of a dtype in memory."""
    if dtype in NARROW or dtype is bool_:
        return f"uint{dtype.bits}_t"
    return value_type(dtype)


def loaded(dtype: DType, place: str) -> str:
    """The value of an element in memory."""
    if dtype in NARROW:
        return f"sl_from_{SHORT[dtype]}({place})"
    return f"({place} != 0)" if dtype is bool_ else place


def stored(dtype: DType, value: str) -> str:
    """An element for memory."""
    return f"sl_to_{SHORT[dtype]}({value})" if dtype in NARROW else value


def literal(value: Element, dtype: DType) -> str:
    """A constant."""
    if dtype is bool_:
        return "true" if value else "false"
    if dtype.is_float:
        return _float_literal(float(value), "" if dtype is float64 else "f")
    number = int(value)
    if dtype is uint64:
        return f"UINT64_C({number})"
    if number == int64.min:
        return "INT64_MIN"
    text = f"INT64_C({number})" if abs(number) >= 1 << 31 else str(number)
    text = f"({text})" if number < 0 else text
    return text if dtype is index or dtype.name in ("int32", "int64") else f"({value_type(dtype)}){text}"


def _float_literal(value: float, suffix: str) -> str:
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    whole = value == int(value) and abs(value) < 1e6
    text = f"{value:.1f}{suffix}" if whole else f"{_TRAILING_ZEROS.sub('p', value.hex())}{suffix}"
    return f"({text})" if text.startswith("-") else text


def _unsigned(dtype: DType) -> str:
    """The unsigned type that integer arithmetic is done in, wide enough that C promotes it no further."""
    return f"uint{max(dtype.bits, 32)}_t"


def rounded(dtype: DType, wide: str) -> str:
    """A result computed in double, rounded into a narrow format."""
    return f"sl_round_{SHORT[dtype]}({wide})"


def _arithmetic(sign: str) -> Callable[[UOp, Operands], str]:
    """Add, Sub, Mul, and Div of floats."""

    def render(node: UOp, v: Operands) -> str:
        d = node.dtype
        if d is bool_:
            return f"({v[0]} & {v[1]})"
        if d is index or d in (float32, float64):
            return f"({v[0]} {sign} {v[1]})"
        if d in NARROW:
            return rounded(d, f"(double){v[0]} {sign} (double){v[1]}")
        u = _unsigned(d)
        return f"(({value_type(d)})(({u}){v[0]} {sign} ({u}){v[1]}))"

    return render


def _negated(node: UOp, v: Operands) -> str:
    d = node.dtype
    if d.is_float or d is index:
        return f"(-{v[0]})"
    return f"(({value_type(d)})(0u - ({_unsigned(d)}){v[0]}))"


def _maximum(node: UOp, v: Operands) -> str:
    if node.dtype is bool_:
        return f"({v[0]} | {v[1]})"
    if node.dtype.is_float:
        return f"sl_max_{'f64' if node.dtype is float64 else 'f32'}({v[0]}, {v[1]})"
    return f"({v[0]} > {v[1]} ? {v[0]} : {v[1]})"


def _division(verb: str) -> Callable[[UOp, Operands], str]:
    """Idiv, Mod, CDiv, CMod: a helper that is total, or C's operator where the divisor is a harmless constant."""
    sign = "/" if verb.endswith("div") else "%"

    def render(node: UOp, v: Operands) -> str:
        d, divisor = node.dtype, node.src[1]
        if verb.startswith("c") and divisor.op is Op.Const and divisor.arg.value not in (0, -1):
            whole = f"({v[0]} {sign} {v[1]})"
            return whole if d is index or d.bits >= 32 else f"(({value_type(d)}){whole})"
        return f"sl_{verb}_{SHORT[int64 if d is index else d]}({v[0]}, {v[1]})"

    return render


def _comparison(sign: str) -> Callable[[UOp, Operands], str]:
    return lambda node, v: f"({v[0]} {sign} {v[1]})"


def _bitwise(sign: str) -> Callable[[UOp, Operands], str]:
    def render(node: UOp, v: Operands) -> str:
        return f"(({value_type(node.dtype)})({v[0]} {sign} {v[1]}))"

    return render


def _shift_left(node: UOp, v: Operands) -> str:
    d = node.dtype
    if d is index:
        return f"({v[0]} * {literal(1 << _places(node), index)})"
    moved = f"({value_type(d)})(({_unsigned(d)}){v[0]} << (u{d.name.lstrip('u')}_t){v[1]})"
    return _guarded(node, v, moved, f"({value_type(d)})0")


def _shift_right(node: UOp, v: Operands) -> str:
    d = node.dtype
    if d is index:
        return f"({v[0]} >> {min(_places(node), 63)})"
    moved = f"({value_type(d)})({v[0]} >> (u{d.name.lstrip('u')}_t){v[1]})"
    fill = f"({value_type(d)})({v[0]} >> {d.bits - 1})" if d.signed else f"({value_type(d)})0"
    return _guarded(node, v, moved, fill)


def _places(node: UOp) -> int:
    """The count of a shift of index, which is a constant, or made of constants."""
    count = node.src[1]
    return int(count.arg.value if count.op is Op.Const else evaluate(count).item())


def _guarded(node: UOp, v: Operands, moved: str, beyond: str) -> str:
    """A shift, or what a count of at least the width gives (U-04); a constant count decides now."""
    d, count = node.dtype, node.src[1]
    if count.op is Op.Const:
        return f"({moved})" if 0 <= count.arg.value < d.bits else f"({beyond})"
    return f"((u{d.name.lstrip('u')}_t){v[1]} < {d.bits} ? {moved} : {beyond})"


def _float_function(name: str, exact: bool) -> Callable[[UOp, Operands], str]:
    """A C function of one float; an exact one needs no rounding back into a narrow format."""

    def render(node: UOp, v: Operands) -> str:
        d = node.dtype
        if d in NARROW and not exact:
            return rounded(d, f"{name}((double){v[0]})")
        return f"{name}({v[0]})" if d is float64 else f"{name}f({v[0]})"

    return render


def _reciprocal(node: UOp, v: Operands) -> str:
    d = node.dtype
    if d in NARROW:
        return rounded(d, f"1.0 / (double){v[0]}")
    return f"({'1.0' if d is float64 else '1.0f'} / {v[0]})"


def _where(node: UOp, v: Operands) -> str:
    return f"({v[0]} ? {v[1]} : {v[2]})"


def _cast(node: UOp, v: Operands) -> str:
    source, target, x = node.src[0].dtype, node.dtype, v[0]
    if source is target:
        return x
    if target is bool_:
        return f"({x} != 0)"
    if target in NARROW:
        wide = f"sl_sticky_{SHORT[source]}({x})" if source in (int64, uint64) else f"(double){x}"
        return rounded(target, wide)
    if source.is_float and not target.is_float:
        return f"sl_sat_{SHORT[target]}({x})"
    return f"(({value_type(target)}){x})"


def _bitcast(node: UOp, v: Operands) -> str:
    source, target, x = node.src[0].dtype, node.dtype, v[0]
    if source is target:  # a NaN reads as the canonical one, which no one can tell from another
        return x
    bits = _bits_of(source, x)
    if target in NARROW:
        return f"sl_from_{SHORT[target]}({bits})"
    if target in (float32, float64):
        return f"sl_from_bits_f{target.bits}({bits})"
    return f"(({value_type(target)}){bits})"


def _bits_of(dtype: DType, x: str) -> str:
    if dtype in NARROW:
        return f"sl_to_{SHORT[dtype]}({x})"
    if dtype in (float32, float64):
        return f"sl_bits_f{dtype.bits}({x})"
    return f"(uint{dtype.bits}_t){x}"


def _fused(node: UOp, v: Operands) -> str:
    """A Mulacc that selection has left: it is rounded once where the machine can (`contract`, U-09)."""
    if node.dtype not in (float32, float64):
        raise CompileError(f"Mulacc of {node.dtype} has no C form", where="Mulacc")
    return f"SL_FMA{node.dtype.bits}({', '.join(v)})"


RENDER: dict[Op, Callable[[UOp, Operands], str]] = {
    Op.Add: _arithmetic("+"),
    Op.Sub: _arithmetic("-"),
    Op.Mul: _arithmetic("*"),
    Op.Div: _arithmetic("/"),
    Op.Neg: _negated,
    Op.Max: _maximum,
    Op.Idiv: _division("idiv"),
    Op.Mod: _division("mod"),
    Op.CDiv: _division("cdiv"),
    Op.CMod: _division("cmod"),
    Op.CmpLt: _comparison("<"),
    Op.CmpGt: _comparison(">"),
    Op.CmpLe: _comparison("<="),
    Op.CmpGe: _comparison(">="),
    Op.CmpEq: _comparison("=="),
    Op.CmpNe: _comparison("!="),
    Op.Not: lambda node, v: f"(!{v[0]})",
    Op.And: _bitwise("&"),
    Op.Or: _bitwise("|"),
    Op.Xor: _bitwise("^"),
    Op.Shl: _shift_left,
    Op.Shr: _shift_right,
    Op.Mulacc: _fused,
    Op.Where: _where,
    Op.Recip: _reciprocal,
    Op.Sqrt: _float_function("sqrt", exact=False),
    Op.Trunc: _float_function("trunc", exact=True),
    Op.Cast: _cast,
    Op.Bitcast: _bitcast,
}
"""The C form of each op on operands that are names or expressions in parentheses."""


def expression(node: UOp, operands: Operands) -> str:
    """The C form of one op; raises `CompileError` for one that has none."""
    if node.op not in RENDER:
        raise CompileError(f"{node.op.name} has no C form", where=node.op.name)
    return RENDER[node.op](node, operands)
