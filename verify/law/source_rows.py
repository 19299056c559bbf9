"""
The intervals of the source
===========================

The source's table of derived properties states its own rows of min_max. Each stands here as it is written, and is tried
like the law's: on all intervals of integers of 4 bits, and on chosen intervals of real dtypes for a counterexample that
a program can show. The source has no flag for NaN, so a NaN that escapes from a float row is distinguished from a
number that does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from soundline.spec.dtypes import DType, Element, bool_, float32, index, int8, int32, order
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.bounds import Bounds, greatest, least, min_max
from soundline.spec.ops.node import Op
from soundline.spec.ops.table import group_of
from soundline.spec.uop import const, loop, pad, param
from soundline.spec.values.elementwise import ELEMENTWISE
from soundline.verify.law.replays import interval
from soundline.verify.law.schema import Outcome
from soundline.verify.law.small import INT4, UINT4, Domain, all_intervals, chosen, result_dtype
from soundline.verify.verdicts.verdict import Counterexample

Row = Callable[[Sequence[Bounds], DType], Bounds]


def _sum(ends: Sequence[Bounds], dtype: DType) -> Bounds:
    a, b = ends
    return Bounds(a.lo + b.lo, a.hi + b.hi)


def _products(ends: Sequence[Bounds], dtype: DType) -> Bounds:
    a, b = ends
    found = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return Bounds(min(found), max(found))


def _maximum(ends: Sequence[Bounds], dtype: DType) -> Bounds:
    a, b = ends
    return Bounds(greatest((a.lo, b.lo)), greatest((a.hi, b.hi)))


def _less(ends: Sequence[Bounds], dtype: DType) -> Bounds:
    a, b = ends
    return Bounds(a.hi < b.lo, a.lo < b.hi)


def _unequal(ends: Sequence[Bounds], dtype: DType) -> Bounds:
    a, b = ends
    apart = a.hi < b.lo or b.hi < a.lo
    return Bounds(apart, not a.lo == a.hi == b.lo == b.hi)


def _selected(ends: Sequence[Bounds], dtype: DType) -> Bounds:
    _, b, c = ends
    return Bounds(least((b.lo, c.lo)), greatest((b.hi, c.hi)))


def _clamped(ends: Sequence[Bounds], dtype: DType) -> Bounds:
    (a,) = ends
    return Bounds(
        least((greatest((a.lo, dtype.min)), dtype.max)), greatest((least((a.hi, dtype.max)), dtype.min))
    )


def _whole(ends: Sequence[Bounds], dtype: DType) -> Bounds:
    return Bounds(dtype.min, dtype.max)


STATED: dict[Op, tuple[str, Row]] = {
    Op.Add: ("[a+b, A+B]", _sum),
    Op.Mul: ("[min, max] of products", _products),
    Op.Max: ("[max(a,b), max(A,B)]", _maximum),
    Op.CmpLt: ("from intervals", _less),
    Op.CmpNe: ("from intervals", _unequal),
    Op.Where: ("[min(b,c), max(B,C)]", _selected),
    Op.Cast: ("clamped to dtype", _clamped),
    **dict.fromkeys((Op.Idiv, Op.Mod, Op.Xor, Op.Or, Op.And, Op.Shr, Op.Shl), ("dtype range", _whole)),
    **dict.fromkeys((Op.Recip, Op.Trunc), ("dtype range", _whole)),
}
"""The rows of the source for elementwise ops."""

OF_STRUCTURE: dict[Op, str] = {
    **dict.fromkeys((Op.Buffer, Op.Bitcast, Op.Reduce, Op.GetTuple), "dtype range"),
    Op.Const: "[v, v]",
    Op.Param: "from src or dtype range",
    **{op: "src[0]" for op in group_of("movement") if op not in (Op.Slice, Op.Bitcast)},
    Op.After: "src[0]",
    Op.Range: "[0, n-1]",
}
"""The rows of the source for the other ops, which are the law's rows except for `REFUTED_BY`."""


def text_of(op: Op) -> str:
    """What the source says of an op; empty where its table says nothing."""
    if op in STATED:
        return STATED[op][0]
    return OF_STRUCTURE.get(op, "")


@dataclass(frozen=True, slots=True)
class Escape:
    """A value that lies outside of the source's interval."""

    inputs: str
    stated: Bounds
    value: Element | None
    """None where no value exists, and the source's interval says that one does."""
    by_the_law: str

    @property
    def told(self) -> str:
        """The value as text."""
        return "no value" if self.value is None else f"value {self.value!r}"


def of_integers(op: Op) -> Escape | None:
    """Where the source's row of an elementwise op fails on integers, a program of int8; None where it never does."""
    if op in (Op.Recip, Op.Trunc):
        return None
    return _escape(op, (_domains(op, int8)), int8) or _escape(op, _domains(op, INT4), UINT4)


def of_floats(op: Op) -> tuple[Escape | None, Escape | None]:
    """Where a number escapes from the source's row on float32, and where a NaN does."""
    if op in (Op.Idiv, Op.Mod, Op.Xor, Op.Or, Op.And, Op.Shr, Op.Shl):
        return None, None
    domains = _domains(op, float32, few=True)
    return _escape(op, domains, float32), _escape(op, domains, float32, nan=True)


def _domains(op: Op, dtype: DType, *, few: bool = False) -> list[Domain]:
    known = chosen(dtype, few=few) if dtype in (int8, float32) else all_intervals(dtype)
    if op is Op.Where:
        return [all_intervals(bool_), known, known]
    if op is Op.Cast:
        return [chosen(int32)] if dtype is int8 else [known]
    return [known] * (1 if op in (Op.Recip, Op.Trunc) else 2)


def _escape(op: Op, domains: Sequence[Domain], target: DType, *, nan: bool = False) -> Escape | None:
    """The first escape, on the simplest intervals: a NaN where `nan` is set, else a number."""
    dtypes = [d.dtype for d in domains]
    result = result_dtype(op, dtypes, target if op is Op.Cast else None)
    dtype = dtypes[1] if op is Op.Where else dtypes[0]
    extra = (target,) if op is Op.Cast else ()
    row = STATED[op][1]
    for ends in itertools.product(*(d.bounds() for d in domains)):
        stated = row(ends, result)
        inside = [[e.lo, e.hi] for e in ends]
        for point in itertools.product(*inside):
            value = ELEMENTWISE[op](dtype, *point, *extra)
            escapes = value != value if nan else value == value and not _in(stated, value)
            if escapes:
                return Escape(
                    _shown(op, dtypes, ends, point, extra), stated, value, _law(op, dtypes, ends, extra)
                )
    return None


def _in(known: Bounds, value: Element) -> bool:
    if known.lo != known.lo or known.hi != known.hi:
        return True  # no interval at all: shown as a NaN that escapes
    return order(known.lo) <= order(value) <= order(known.hi)


def _shown(
    op: Op, dtypes: Sequence[DType], ends: Sequence[Bounds], point: Sequence[Element], extra: Sequence[DType]
) -> str:
    operands = ", ".join(f"{n} = {v!r} in {interval(e)}" for n, v, e in zip("abc", point, ends, strict=False))
    return f"{operands} in {dtypes[-1]}" + (f" to {extra[0]}" if extra else "")


def _law(op: Op, dtypes: Sequence[DType], ends: Sequence[Bounds], extra: Sequence[DType]) -> str:
    nodes = [param(k, d, bounds=(e.lo, e.hi)) for k, (d, e) in enumerate(zip(dtypes, ends, strict=True))]
    return interval(min_max(op(*nodes, arg=extra[0] if extra else None)))


# Rows that are no elementwise op's --------------------------------------------------------------------------------


def of_structure(op: Op) -> Escape | None:
    """Where a row of a movement op or loop fails: Pad's zeros, Stack's other sources, the loop that never runs."""
    if op is Op.Pad:
        node: Any = pad(param(0, int8, (2,), bounds=(5, 7)), (1,), (4,))
        value = evaluate(node, {0: [5, 7]}).elements[0]
        return Escape("T = [5, 7] in int8, padded by 1", Bounds(5, 7), value, interval(min_max(node)))  # type: ignore[arg-type]
    if op is Op.Stack:
        node = Op.Stack(const(1, int8), const(9, int8))
        value = evaluate(node).elements[1]
        return Escape("Stack(1, 9) in int8", Bounds(1, 1), value, interval(min_max(node)))  # type: ignore[arg-type]
    if op is Op.Range:
        node = loop(const(0, index), 0)
        return Escape("n = 0", Bounds(0, -1), None, interval(min_max(node)))
    return None


UNSOUND_ON_INTEGERS = (Op.Add, Op.Mul, Op.Cast, Op.Pad, Op.Stack, Op.Range)
"""The rows that the decisions call findings (U-40, U-41, U-42), and Range, whose interval is none at n = 0 (U-44)."""


def verdict(op: Op) -> Outcome:
    """The source's row of an op: refuted by a value that was computed, or sound wherever it was tried."""
    escape = of_integers(op) if op in STATED else of_structure(op)
    number, nan = of_floats(op) if op in STATED else (None, None)
    said = []
    if escape:
        said.append(f"refuted: {escape.inputs}: {interval(escape.stated)}, {escape.told}")
    if number:
        said.append(f"refuted: {number.inputs}: {interval(number.stated)}, {number.told}")
    if nan and not number:
        said.append(f"NaN escapes: {nan.inputs}")
    detail = "; ".join(said) or "sound"
    if (escape is not None) != (op in UNSOUND_ON_INTEGERS):
        return Outcome("unknown", "", detail=f"expected otherwise: {detail}")
    if not said:
        return Outcome(
            "sampled" if op in STATED else "inclusion",
            "the source's row, on the same intervals",
            detail=detail,
        )
    first = escape or number or nan
    assert first is not None
    shown = Counterexample(
        "",
        (("on", first.inputs),),
        f"the source's interval {interval(first.stated)}",
        f"{first.told}; the law's interval {first.by_the_law}",
        "",
    )
    return Outcome("shown", "evaluated", counterexample=shown, detail=detail)
