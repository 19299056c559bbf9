"""
Expressions in C++
==================

Integers and conditions of control, and values of data. The device computes control in ``int``, the CPU in ``int64_t``.
Floor division and its remainder are those of the law: a shift or a mask where the divisor is a power of two, the
operator of C where the dividend is shown to be non-negative and the divisor positive, else a function.
"""

from __future__ import annotations

from soundline.impl.codegen.cuda.arithmetic import asked_for, cast, literal, operation
from soundline.impl.codegen.cuda.names import Names
from soundline.impl.codegen.cuda.operators import UNARY, Written, call, choice, operator, plus, unary
from soundline.spec.dtypes import DType, bool_, float64, index
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import (
    COMPARISONS,
    Apply,
    Binary,
    Cast,
    Const,
    Expr,
    Index,
    Name,
    Unary,
)
from soundline.spec.spork.language.names import typed
from soundline.spec.spork.static.sizes import value as number_of

__all__ = ["Names", "control", "control_text", "data", "data_text"]

_OPERATORS = {
    Op.Sub: "-",
    Op.Mul: "*",
    Op.And: "&&",
    Op.Or: "||",
    Op.Xor: "!=",
    Op.CmpLt: "<",
    Op.CmpLe: "<=",
    Op.CmpGt: ">",
    Op.CmpGe: ">=",
    Op.CmpEq: "==",
    Op.CmpNe: "!=",
}


def control_text(expression: Expr, names: Names, *, within: int = 0) -> str:
    """An integer or a condition of control, with parentheses if it stands in an operator of the level `within`."""
    return control(expression, names).within(within)


def data_text(expression: Expr, dtype: DType, names: Names) -> str:
    """A value of data; literals in it take the dtype that is wanted of them."""
    return data(expression, dtype, names).text


# Control ----------------------------------------------------------------------------------------------------------


def control(expression: Expr, names: Names) -> Written:
    """An integer or a condition of control."""
    known = None if _is_bool(expression) else number_of(expression)
    if known is not None:
        return Written(str(known)) if known >= 0 else Written(str(known), UNARY)
    match expression:
        case Const(value):
            return Written("true" if value else "false")
        case Name(name):
            return Written(names.texts[name])
        case Unary(op, operand):
            return unary("!" if op is Op.Not else "-", control(operand, names))
        case Binary(Op.Idiv, left, right):
            return _quotient(left, right, names)
        case Binary(Op.Mod, left, right):
            return _remainder(left, right, names)
        case Binary(Op.Add, left, right):
            return plus(control(left, names), control(right, names))
        case Binary(op, left, right):
            return operator(_OPERATORS[op], control(left, names), control(right, names))
        case Apply(Op.Where, (condition, left, right)):
            return choice(control(condition, names), control(left, names), control(right, names))
        case Apply(Op.Max, (left, right)):
            function = asked_for(Op.Max, names.dialect.control, names)
            return call(function, control(left, names), control(right, names))
    raise AssertionError("the law of programs lets nothing else be control")


def _is_bool(expression: Expr) -> bool:
    return isinstance(expression, Const) and isinstance(expression.value, bool)


def _quotient(left: Expr, right: Expr, names: Names) -> Written:
    a, b = control(left, names), control(right, names)
    divisor = number_of(right)
    if divisor == 1:
        return a
    if divisor is not None and _is_power_of_two(divisor):
        return operator(">>", a, Written(str(divisor.bit_length() - 1)))
    if _is_plain(left, right, names):
        return operator("/", a, b)
    return call(f"{names.dialect.scope}floor_div", a, b)


def _remainder(left: Expr, right: Expr, names: Names) -> Written:
    a, b = control(left, names), control(right, names)
    divisor = number_of(right)
    if divisor == 1:
        return Written("0")
    if divisor is not None and _is_power_of_two(divisor):
        return operator("&", a, Written(str(divisor - 1)))
    if _is_plain(left, right, names):
        return operator("%", a, b)
    return call(f"{names.dialect.scope}floor_mod", a, b)


def _is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def _is_plain(left: Expr, right: Expr, names: Names) -> bool:
    """Whether the division of C is that of the law: it rounds toward zero, and by 0 it has no value."""
    least = names.interval(right)[0]
    return names.is_non_negative(left) and least is not None and least >= 1


# Data -------------------------------------------------------------------------------------------------------------


def data(expression: Expr, wanted: DType, names: Names) -> Written:
    """A value of data, whose literals have the dtype that is wanted."""
    match expression:
        case Index():
            return Written(names.element(expression))
        case Name(name):
            return control(expression, names) if name in names.texts else Written(names.element(expression))
        case Const(value):
            return literal(value, wanted, names)
        case Unary(op, operand):
            return operation(op, wanted, [data(operand, wanted, names)], names)
        case Binary(op, left, right):
            met = _met(left, right, names) if op in COMPARISONS else wanted
            if met is index:
                return control(expression, names)
            return operation(op, met, [data(left, met, names), data(right, met, names)], names)
        case Cast(dtype, operand):
            return _cast(dtype, operand, names)
        case Apply(Op.Where, (condition, left, right)):
            return choice(
                data(condition, bool_, names), data(left, wanted, names), data(right, wanted, names)
            )
        case Apply(op, operands):
            return operation(op, wanted, [data(o, wanted, names) for o in operands], names)


def _cast(dtype: DType, operand: Expr, names: Names) -> Written:
    own = _met(operand, operand, names)
    if own is not index:
        return cast(own, dtype, data(operand, own, names), names)
    return cast(names.dialect.control, dtype, control(operand, names), names)


def _met(left: Expr, right: Expr, names: Names) -> DType:
    """The dtype that two operands have together."""
    both = typed(left, names.bindings).dtype, typed(right, names.bindings).dtype
    known = [dtype for dtype in both if isinstance(dtype, DType)]
    return known[0] if known else float64 if float in both else index
