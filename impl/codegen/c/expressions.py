"""
C expressions
=============

The C form of every elementwise op, total as the law is: integers wrap in unsigned arithmetic, floats round once per op,
and nothing is left to the compiler's idea of overflow. ``index`` is ``idx``, a signed type in which each kernel's index
expressions are proved to fit, with plain operators. What else an expression names is asked for (`helpers`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import ClassVar

from soundline.impl.codegen.c.helpers import NARROW, SHORT, Helpers
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


SIGNS = {
    Op.Add: "+",
    Op.Sub: "-",
    Op.Mul: "*",
    Op.Div: "/",
    Op.And: "&",
    Op.Or: "|",
    Op.Xor: "^",
    Op.CmpLt: "<",
    Op.CmpGt: ">",
    Op.CmpLe: "<=",
    Op.CmpGe: ">=",
    Op.CmpEq: "==",
    Op.CmpNe: "!=",
}
"""The operators of C."""


def storage_type(dtype: DType) -> str:
    """The C type that stores an element of a dtype in memory."""
    return f"uint{dtype.bits}_t" if dtype in NARROW or dtype is bool_ else _number_type(dtype)


def _number_type(dtype: DType) -> str:
    if dtype in NARROW or dtype is float32:
        return "float"
    if dtype is float64:
        return "double"
    return "idx" if dtype is index else f"{dtype.name}_t"


def _unsigned(dtype: DType) -> str:
    """The unsigned type that integer arithmetic is done in, wide enough that C promotes it no further."""
    return f"uint{max(dtype.bits, 32)}_t"


def _places(node: UOp) -> int:
    """The count of a shift of index, which is a constant, or made of constants."""
    count = node.src[1]
    return int(count.arg.value if count.op is Op.Const else evaluate(count).item())


class Expressions:
    """The C of scalars: of types, constants, and of each op on operands that are names or expressions in
    parentheses.
    """

    def __init__(self, use: Helpers) -> None:
        self.use = use

    def called(self, name: str, *operands: str) -> str:
        """A call of a function that C does not have without being asked."""
        return f"{self.use(name)}({', '.join(operands)})"

    def expression(self, node: UOp, operands: Operands) -> str:
        """The C form of one op; raises `CompileError` for one that has none."""
        if node.op not in RENDER:
            raise CompileError(f"{node.op.name} has no C form", where=node.op.name)
        return RENDER[node.op](self, node, operands)

    def value_type(self, dtype: DType) -> str:
        """The C type that holds a value of a dtype in a register."""
        return self.use("bool") if dtype is bool_ else _number_type(dtype)

    def loaded(self, dtype: DType, place: str) -> str:
        """The value of an element in memory."""
        if dtype in NARROW:
            return self.called(f"sl_from_{SHORT[dtype]}", place)
        return f"({place} != 0)" if dtype is bool_ else place

    def stored(self, dtype: DType, value: str) -> str:
        """An element for memory."""
        return self.called(f"sl_to_{SHORT[dtype]}", value) if dtype in NARROW else value

    def literal(self, value: Element, dtype: DType) -> str:
        """A constant."""
        if dtype is bool_:
            return self.use("true" if value else "false")
        if dtype.is_float:
            return self._float_literal(float(value), "" if dtype is float64 else "f")
        number = int(value)
        if dtype is uint64:
            return f"UINT64_C({number})"
        if number == int64.min:
            return "INT64_MIN"
        text = f"INT64_C({number})" if abs(number) >= 1 << 31 else str(number)
        text = f"({text})" if number < 0 else text
        return (
            text if dtype is index or dtype.name in ("int32", "int64") else f"({_number_type(dtype)}){text}"
        )

    def _float_literal(self, value: float, suffix: str) -> str:
        if math.isnan(value):
            return self.use("NAN")
        if math.isinf(value):
            return self.use("INFINITY") if value > 0 else f"(-{self.use('INFINITY')})"
        whole = value == int(value) and abs(value) < 1e6
        text = f"{value:.1f}{suffix}" if whole else f"{_TRAILING_ZEROS.sub('p', value.hex())}{suffix}"
        return f"({text})" if text.startswith("-") else text

    def rounded(self, dtype: DType, wide: str) -> str:
        """A result computed in double, rounded into a narrow format."""
        return self.called(f"sl_round_{SHORT[dtype]}", wide)

    def _arithmetic(self, node: UOp, v: Operands) -> str:
        """Add, Sub, Mul, and Div of floats."""
        d, sign = node.dtype, SIGNS[node.op]
        if d is bool_:
            return f"({v[0]} & {v[1]})"
        if d is index or d in (float32, float64):
            return f"({v[0]} {sign} {v[1]})"
        if d in NARROW:
            return self.rounded(d, f"(double){v[0]} {sign} (double){v[1]}")
        u = _unsigned(d)
        return f"(({_number_type(d)})(({u}){v[0]} {sign} ({u}){v[1]}))"

    def _negated(self, node: UOp, v: Operands) -> str:
        d = node.dtype
        if d.is_float or d is index:
            return f"(-{v[0]})"
        return f"(({_number_type(d)})(0u - ({_unsigned(d)}){v[0]}))"

    def _maximum(self, node: UOp, v: Operands) -> str:
        if node.dtype is bool_:
            return f"({v[0]} | {v[1]})"
        if node.dtype.is_float:
            return self.called(f"sl_max_{'f64' if node.dtype is float64 else 'f32'}", *v)
        return f"({v[0]} > {v[1]} ? {v[0]} : {v[1]})"

    def _division(self, node: UOp, v: Operands) -> str:
        """Idiv, Mod, CDiv, CMod: a helper that is total, or C's operator where the divisor is a harmless constant."""
        d, divisor = node.dtype, node.src[1]
        if node.op in (Op.CDiv, Op.CMod) and divisor.op is Op.Const and divisor.arg.value not in (0, -1):
            whole = f"({v[0]} {'/' if node.op in (Op.Idiv, Op.CDiv) else '%'} {v[1]})"
            return whole if d is index or d.bits >= 32 else f"(({_number_type(d)}){whole})"
        return self.called(f"sl_{node.op.name.lower()}_{SHORT[int64 if d is index else d]}", *v)

    def _compared(self, node: UOp, v: Operands) -> str:
        return f"({v[0]} {SIGNS[node.op]} {v[1]})"

    def _bitwise(self, node: UOp, v: Operands) -> str:
        return f"(({self.value_type(node.dtype)}){self._compared(node, v)})"

    def _inverted(self, _: UOp, v: Operands) -> str:
        return f"(!{v[0]})"

    def _shifted_left(self, node: UOp, v: Operands) -> str:
        d = node.dtype
        if d is index:
            return f"({v[0]} * {self.literal(1 << _places(node), index)})"
        t = _number_type(d)
        moved = f"({t})(({_unsigned(d)}){v[0]} << (u{d.name.lstrip('u')}_t){v[1]})"
        return self._guarded(node, v, moved, f"({t})0")

    def _shifted_right(self, node: UOp, v: Operands) -> str:
        d = node.dtype
        if d is index:
            return f"({v[0]} >> {min(_places(node), 63)})"
        t = _number_type(d)
        moved = f"({t})({v[0]} >> (u{d.name.lstrip('u')}_t){v[1]})"
        return self._guarded(node, v, moved, f"({t})({v[0]} >> {d.bits - 1})" if d.signed else f"({t})0")

    def _guarded(self, node: UOp, v: Operands, moved: str, beyond: str) -> str:
        """A shift, or what a count of at least the width gives (U-04); a constant count decides now."""
        d, count = node.dtype, node.src[1]
        if count.op is Op.Const:
            return f"({moved})" if 0 <= count.arg.value < d.bits else f"({beyond})"
        return f"((u{d.name.lstrip('u')}_t){v[1]} < {d.bits} ? {moved} : {beyond})"

    def _function_of_float(self, node: UOp, v: Operands) -> str:
        """Sqrt and Trunc, a C function of one float; an exact one needs no rounding back into a narrow format."""
        d, name = node.dtype, node.op.name.lower()
        if d in NARROW and node.op is not Op.Trunc:
            return self.rounded(d, self.called(name, f"(double){v[0]}"))
        return self.called(name if d is float64 else f"{name}f", v[0])

    def _reciprocal(self, node: UOp, v: Operands) -> str:
        d = node.dtype
        if d in NARROW:
            return self.rounded(d, f"1.0 / (double){v[0]}")
        return f"({'1.0' if d is float64 else '1.0f'} / {v[0]})"

    def _chosen(self, _: UOp, v: Operands) -> str:
        return f"({v[0]} ? {v[1]} : {v[2]})"

    def _cast(self, node: UOp, v: Operands) -> str:
        source, target, x = node.src[0].dtype, node.dtype, v[0]
        if source is target:
            return x
        if target is bool_:
            return f"({x} != 0)"
        if target in NARROW:
            wide = source in (int64, uint64)
            exact = self.called(f"sl_sticky_{SHORT[source]}", x) if wide else f"(double){x}"
            return self.rounded(target, exact)
        if source.is_float and not target.is_float:
            return self.called(f"sl_sat_{SHORT[target]}", x)
        return f"(({_number_type(target)}){x})"

    def _bitcast(self, node: UOp, v: Operands) -> str:
        source, target, x = node.src[0].dtype, node.dtype, v[0]
        if source is target:  # a NaN reads as the canonical one, which no one can tell from another
            return x
        bits = self._bits_of(source, x)
        if target in NARROW:
            return self.called(f"sl_from_{SHORT[target]}", bits)
        if target in (float32, float64):
            return self.called(f"sl_from_bits_{SHORT[target]}", bits)
        return f"(({_number_type(target)}){bits})"

    def _bits_of(self, dtype: DType, x: str) -> str:
        if dtype.is_float:
            return self.called(f"sl_{'to' if dtype in NARROW else 'bits'}_{SHORT[dtype]}", x)
        return f"(uint{dtype.bits}_t){x}"

    def _fused(self, node: UOp, v: Operands) -> str:
        """A Mulacc that selection has left: it is rounded once where the machine can (`contract`, U-09)."""
        if node.dtype not in (float32, float64):
            raise CompileError(f"Mulacc of {node.dtype} has no C form", where="Mulacc")
        return self.called(f"SL_FMA{node.dtype.bits}", *v)

    OPS: ClassVar = {
        _arithmetic: (Op.Add, Op.Sub, Op.Mul, Op.Div),
        _negated: (Op.Neg,),
        _maximum: (Op.Max,),
        _division: (Op.Idiv, Op.Mod, Op.CDiv, Op.CMod),
        _compared: (Op.CmpLt, Op.CmpGt, Op.CmpLe, Op.CmpGe, Op.CmpEq, Op.CmpNe),
        _inverted: (Op.Not,),
        _bitwise: (Op.And, Op.Or, Op.Xor),
        _shifted_left: (Op.Shl,),
        _shifted_right: (Op.Shr,),
        _fused: (Op.Mulacc,),
        _chosen: (Op.Where,),
        _reciprocal: (Op.Recip,),
        _function_of_float: (Op.Sqrt, Op.Trunc),
        _cast: (Op.Cast,),
        _bitcast: (Op.Bitcast,),
    }
    """The ops that each method writes."""


RENDER: dict[Op, Callable[[Expressions, UOp, Operands], str]] = {
    op: written for written, ops in Expressions.OPS.items() for op in ops
}
"""What writes each op."""
