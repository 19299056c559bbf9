"""Runs the body of an instruction on numpy arrays, a statement after the other."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from soundline.spec.dtypes import DType, bfloat16
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Apply, Binary, Cast, Const, Expr, Index, Name, Unary
from soundline.spec.spork.language.statements import Assign, For, If, Reduce, Statement
from soundline.spec.spork.language.types import Control, Data
from soundline.spec.spork.library.schema import Instruction

OPS = {
    Op.Add: operator.add,
    Op.Sub: operator.sub,
    Op.Mul: operator.mul,
    Op.Idiv: operator.floordiv,
    Op.Mod: operator.mod,
    Op.Max: max,
    Op.Exp2: lambda a: type(a)(2) ** a,
    Op.Recip: lambda a: type(a)(1) / a,
    Op.CmpLt: operator.lt,
    Op.CmpLe: operator.le,
    Op.CmpGt: operator.gt,
    Op.CmpGe: operator.ge,
    Op.CmpEq: operator.eq,
    Op.And: lambda a, b: a and b,
    Op.Or: lambda a, b: a or b,
}


def numpy_dtype(dtype: DType) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if dtype is bfloat16 else dtype.name)


def value(expression: Expr, names: Mapping[str, Any]) -> Any:
    match expression:
        case Const(number):
            return number
        case Name(name):
            found = names[name]
            return found[()] if isinstance(found, np.ndarray) else found
        case Index(name, indices):
            at = tuple(value(i, names) for i in indices)
            assert all(0 <= i < n for i, n in zip(at, names[name].shape, strict=True)), f"{name}{at}"
            return names[name][at]
        case Unary(Op.Neg, operand):
            return -value(operand, names)
        case Cast(dtype, operand):
            return numpy_dtype(dtype).type(value(operand, names))
        case Binary(op, left, right):
            return OPS[op](value(left, names), value(right, names))
        case Apply(op, operands):
            return OPS[op](*(value(o, names) for o in operands))
    raise AssertionError(expression)


def execute(body: tuple[Statement, ...], names: Mapping[str, Any]) -> None:
    for statement in body:
        match statement:
            case Assign(place, source) | Reduce(place, source):
                indices = place.indices if isinstance(place, Index) else ()
                at = tuple(value(i, names) for i in indices)
                assert all(0 <= i < n for i, n in zip(at, names[place.name].shape, strict=True))
                found = value(source, names)
                names[place.name][at] = (
                    names[place.name][at] + found if isinstance(statement, Reduce) else found
                )
            case For(iterator, _, lo, hi, inner):
                for i in range(value(lo, names), value(hi, names)):
                    execute(inner, {**names, iterator: i})
            case If(condition, inner, orelse):
                execute(inner if value(condition, names) else orelse, names)
            case _:
                raise AssertionError(statement)


def allowed(instruction: Instruction, **sizes: int) -> bool:
    """Whether the assertions hold."""
    return all(value(c, sizes) for c in instruction.preconditions)


def shapes(instruction: Instruction, **sizes: int) -> dict[str, tuple[int, ...]]:
    """The sizes of its arguments of data."""
    return {
        a.name: tuple(value(s, sizes) for s in a.type.sizes)
        for a in instruction.arguments
        if isinstance(a.type, Data)
    }


def run(instruction: Instruction, seed: int = 0, **sizes: int) -> dict[str, np.ndarray]:
    """The arrays before and after, of small integers: ``src`` and ``src_before`` …"""
    assert {a.name for a in instruction.arguments if isinstance(a.type, Control)} == set(sizes)
    assert allowed(instruction, **sizes)
    random = np.random.default_rng(seed)
    before = {}
    for argument in instruction.arguments:
        if isinstance(argument.type, Data):
            shape = shapes(instruction, **sizes)[argument.name]
            whole = random.integers(0, 5, shape)
            before[argument.name] = np.asarray(whole).astype(numpy_dtype(argument.type.dtype))
    after = {name: array.copy() for name, array in before.items()}
    execute(instruction.body, {**after, **sizes})
    for name in set(before) - instruction.written:
        assert np.array_equal(before[name], after[name])
    return {**after, **{f"{name}_before": array for name, array in before.items()}}
