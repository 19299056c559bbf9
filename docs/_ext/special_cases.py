"""What an op gives at the edges, computed by the evaluator and named as a reader would ask for it: overflow, division
by zero, shift counts, NaN, infinities, signed zeros."""

from __future__ import annotations

import math
from collections.abc import Iterator

import structural_cases
from rst import code, table

from soundline.spec.dtypes import (
    DType,
    Element,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    index,
    int8,
    int32,
    uint8,
    uint64,
)
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.table import TABLE, Op
from soundline.spec.uop import UOp, const

Case = tuple[str, DType, tuple[Element, ...]]
"""What is asked, the dtype, the operands."""

NAN, INF = math.nan, math.inf
TINY, HUGE = 2.0**-149, float.fromhex("0x1.fffffep127")

ONE_FLOAT: tuple[Case, ...] = (
    ("NaN", float32, (NAN,)),
    ("infinity", float32, (INF,)),
    ("negative infinity", float32, (-INF,)),
    ("zero", float32, (0.0,)),
    ("negative zero", float32, (-0.0,)),
    ("least subnormal", float32, (TINY,)),
    ("greatest finite number", float32, (HUGE,)),
    ("a negative number", float32, (-2.5,)),
)
TWO_FLOATS: tuple[Case, ...] = (
    ("NaN and a number", float32, (NAN, 1.0)),
    ("a number and NaN", float32, (1.0, NAN)),
    ("NaN and NaN", float32, (NAN, NAN)),
    ("opposite infinities", float32, (INF, -INF)),
    ("equal infinities", float32, (INF, INF)),
    ("zero and infinity", float32, (0.0, INF)),
    ("signed zeros, -0 first", float32, (-0.0, 0.0)),
    ("signed zeros, +0 first", float32, (0.0, -0.0)),
    ("greatest finite numbers", float32, (HUGE, HUGE)),
    ("least subnormals", float32, (TINY, TINY)),
)
BY_ZERO: tuple[Case, ...] = (
    ("division by zero", float32, (1.0, 0.0)),
    ("division by negative zero", float32, (1.0, -0.0)),
    ("zero by zero", float32, (0.0, 0.0)),
)
QUOTIENTS: tuple[Case, ...] = (
    ("division by zero", int8, (7, 0)),
    ("division by zero, negative", int8, (-7, 0)),
    ("zero by zero", int8, (0, 0)),
    ("least value by -1: overflow", int8, (-128, -1)),
    ("negative dividend", int8, (-7, 2)),
    ("negative divisor", int8, (7, -2)),
    ("both negative", int8, (-7, -2)),
    ("division by zero, unsigned", uint8, (7, 0)),
    ("division by zero", index, (7, 0)),
    ("negative dividend", index, (-7, 2)),
)
SHIFTS: tuple[Case, ...] = (
    ("shift count one below the width", int8, (1, 7)),
    ("shift count equal to the width", int8, (1, 8)),
    ("shift count above the width", int8, (1, 100)),
    ("negative shift count, read as unsigned", int8, (1, -1)),
    ("negative value", int8, (-7, 1)),
    ("negative value, shift count above the width", int8, (-128, 9)),
    ("negative value, negative shift count", int8, (-128, -1)),
    ("unsigned value", uint8, (129, 1)),
    ("unsigned value, shift count above the width", uint8, (128, 9)),
    ("shift of index", index, (-7, 1)),
)
BOOLS: tuple[Case, ...] = (("bools", bool_, (True, True)), ("bools", bool_, (True, False)))
BITS: tuple[Case, ...] = (
    ("negative operand", int8, (-7, 12)),
    ("unsigned operands", uint8, (255, 15)),
    *BOOLS,
)
ORDER: tuple[Case, ...] = (
    *TWO_FLOATS[:8],
    ("signed integers", int8, (-1, 1)),
    ("unsigned integers", uint8, (255, 1)),
    ("equal integers", int8, (7, 7)),
    ("bools", bool_, (False, True)),
    ("equal bools", bool_, (True, True)),
)

OF: dict[Op, tuple[Case, ...]] = {
    **dict.fromkeys((Op.Recip, Op.Trunc, Op.Exp2, Op.Log2, Op.Sin, Op.Sqrt), ONE_FLOAT),
    **dict.fromkeys((Op.Idiv, Op.Mod, Op.CDiv, Op.CMod), QUOTIENTS),
    **dict.fromkeys((Op.Shl, Op.Shr), SHIFTS),
    **dict.fromkeys((Op.Xor, Op.Or, Op.And), BITS),
    **dict.fromkeys((Op.CmpLt, Op.CmpNe, Op.CmpGt, Op.CmpGe, Op.CmpLe, Op.CmpEq, Op.Max), ORDER),
    Op.Neg: (
        *ONE_FLOAT,
        ("least value: overflow", int8, (-128,)),
        ("unsigned: wraps", uint8, (1,)),
    ),
    Op.Not: (("bool", bool_, (False,)), ("bool", bool_, (True,))),
    Op.Add: (
        *TWO_FLOATS,
        ("overflow", int8, (127, 1)),
        ("overflow below", int8, (-128, -1)),
        ("overflow, unsigned", uint8, (255, 255)),
    ),
    Op.Sub: (
        *TWO_FLOATS,
        ("overflow", int8, (127, -1)),
        ("overflow below", int8, (-128, 1)),
        ("below zero, unsigned", uint8, (0, 1)),
    ),
    Op.Mul: (
        *TWO_FLOATS,
        ("overflow", int8, (127, 2)),
        ("least value times -1: overflow", int8, (-128, -1)),
        ("overflow, unsigned", uint8, (255, 255)),
        *BOOLS,
    ),
    Op.Div: (*BY_ZERO, *TWO_FLOATS),
    Op.Pow: (
        ("NaN to the 0", float32, (NAN, 0.0)),
        ("1 to the NaN", float32, (1.0, NAN)),
        ("NaN to another power", float32, (NAN, 1.0)),
        ("another number to the NaN", float32, (2.0, NAN)),
        ("-1 to an infinity", float32, (-1.0, INF)),
        ("negative, to a fraction", float32, (-8.0, 1.5)),
        ("negative, to an odd integer", float32, (-2.0, 3.0)),
        ("zero, to a negative power", float32, (0.0, -3.0)),
        ("negative zero, to a negative odd power", float32, (-0.0, -3.0)),
        ("negative zero, to a negative even power", float32, (-0.0, -2.0)),
        ("negative infinity, to an odd power", float32, (-INF, 3.0)),
        ("negative infinity, to a negative odd power", float32, (-INF, -3.0)),
        ("negative infinity, to a fraction", float32, (-INF, 2.5)),
        ("below 1, to infinity", float32, (0.5, INF)),
        ("below 1, to negative infinity", float32, (0.5, -INF)),
        ("least subnormal", float32, (2.0, -149.0)),
        ("overflow", float32, (2.0, 128.0)),
    ),
    Op.Mulacc: (
        ("infinity in between: the product is rounded", float32, (HUGE, 2.0, -INF)),
        ("zero times infinity", float32, (0.0, INF, 1.0)),
        ("NaN added", float32, (1.0, 1.0, NAN)),
        ("overflow of the product", int8, (64, 2, 127)),
    ),
    Op.Threefry: (
        ("known answer, zeros", uint64, (0, 0)),
        ("known answer, ones", uint64, (2**64 - 1, 2**64 - 1)),
        ("known answer, digits of pi", uint64, (0x85A308D3243F6A88, 0x0370734413198A2E)),
    ),
}
"""The cases of each op that are worth a row; that every elementwise op is here is a test."""
OF[Op.Sin] += (("a large argument", float64, (1e22,)), ("the double next to π", float64, (math.pi,)))

CASTS: tuple[tuple[str, DType, Element, DType], ...] = (
    ("too large for the integer: wraps", int32, 300, int8),
    ("negative to unsigned", int8, -1, uint8),
    ("negative to a wider unsigned", int8, -1, uint64),
    ("fraction: toward zero", float32, 2.75, int8),
    ("negative fraction: toward zero", float32, -2.75, int8),
    ("float too large: saturates", float32, 300.0, int8),
    ("negative float to unsigned: saturates", float32, -1.0, uint8),
    ("infinity to an integer", float32, INF, int8),
    ("NaN to an integer", float32, NAN, int8),
    ("NaN to bool", float32, NAN, bool_),
    ("negative zero to bool", float32, -0.0, bool_),
    ("integer between two floats: to even", int32, 16777217, float32),
    ("float too large for float16", float32, 65520.0, float16),
    ("half of the last place: to even", float32, 1.00390625, bfloat16),
    ("too large for float8_e4m3fn, which has no infinity", float32, 1000.0, float8_e4m3fn),
    ("too large for float8_e5m2", float32, 1e6, float8_e5m2),
)
WHERE: tuple[tuple[str, bool], ...] = (("NaN is not selected", True), ("NaN is selected", False))


def section(op: Op) -> str:
    """The table of special cases: of an elementwise op by operands, of others by programs, or a plain sentence."""
    rows = list(_rows(op))
    if not rows:
        plain = "None: the semantics also hold at rank 0 and for sizes 0 and 1.\n"
        return structural_cases.section(op) or plain
    operands = ", ".join(source.name for source in TABLE[op].sources)
    asked = f"scalar(Op.{op.name}, dtype, {operands}{', arg=dtype' if op is Op.Cast else ''})"
    note = "Computed by the evaluator when this page was built. For any other operands ask "
    note += f":py:func:`{asked} <soundline.spec.values.elementwise.scalar>`.\n"
    return f"{note}\n{table(('case', 'operands', 'dtype', 'value'), rows, widths=(38, 27, 17, 18))}"


def _rows(op: Op) -> Iterator[tuple[str, str, str, str]]:
    if op is Op.Cast:
        for asked, source, value, target in CASTS:
            node = Op.Cast(const(value, source), arg=target)
            yield asked, *_row((value,), f"{source} to {target}", node)
    if op is Op.Where:
        for asked, chosen in WHERE:
            sources = (const(chosen, bool_), const(1.0, float32), const(NAN, float32))
            yield asked, *_row((chosen, 1.0, NAN), "bool, float32", op(*sources))
    for asked, dtype, given in OF.get(op, ()):
        yield asked, *_row(given, dtype.name, op(*(const(v, dtype) for v in given)))


def _row(given: tuple[Element, ...], dtype: str, node: UOp) -> tuple[str, str, str]:
    (value,) = evaluate(node).elements
    return code(", ".join(map(_text, given))), code(dtype), code(_text(value))


def _text(value: object) -> str:
    named = {TINY: "2**-149", HUGE: "(2-2**-23)·2**127", -TINY: "-2**-149", -HUGE: "-(2-2**-23)·2**127"}
    if isinstance(value, float) and value in named:
        return named[value]
    return repr(value)
