"""
The catalogue of obligations
============================

All obligations of the law, in the order of its report: the lemmas, the rows of min_max with the source's rows beside
them, the findings, and the decompositions that are exact. Whoever adds a row of min_max adds nothing here: an
elementwise op brings its obligations by its operands, and a row that brings none is an obligation that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

from soundline.spec.derived_props import MIN_MAX
from soundline.spec.dtypes import (
    DType,
    all_dtypes,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    index,
    int8,
    ints,
    uint8,
    uint64,
)
from soundline.spec.errors import IllFormed
from soundline.spec.ops.node import Op
from soundline.spec.ops.table import TABLE
from soundline.spec.uop import UOp, param
from soundline.spec.values.elementwise import ELEMENTWISE
from soundline.verify.findings.tensors import FINDINGS, Finding, show
from soundline.verify.law import floats, inclusion, integers, lemmas, small, source_rows, words
from soundline.verify.law.schema import Obligation, Outcome
from soundline.verify.smt.goals.solving import Budget

WIDE_FLOATS = (float16, bfloat16, float32, float64)
BITWISE = (Op.Xor, Op.Or, Op.And)
BY_PROGRAM = (Op.Exp2, Op.Log2, Op.Sin, Op.Pow, Op.Threefry)
"""Ops whose value is that of a program at real dtypes: there is none at dtypes of 4 bits, nor over ℤ."""

SOUND = "every value lies in the interval of the row, and NaN occurs only where it is flagged"

Check = Callable[[Budget], Outcome]


def _plain(function: Callable[..., Outcome], *arguments: Any, **options: Any) -> Check:
    """A check that asks no solver."""
    return lambda budget: function(*arguments, **options)


def _admits(op: Op, dtype: DType, target: DType | None = None) -> bool:
    """Whether an elementwise op takes operands of this dtype."""
    count = integers.operands_of(op)
    dtypes = [bool_, dtype, dtype] if op is Op.Where else [dtype] * count
    try:
        UOp(op, tuple(param(k, d) for k, d in enumerate(dtypes)), target)
    except IllFormed:
        return op in (Op.Shl, Op.Shr) and dtype is index
    return True


# Rows of elementwise ops ------------------------------------------------------------------------------------------


def _of_integers(op: Op) -> Iterator[tuple[str, Check]]:
    """Over ℤ for every width, on index, on all intervals of 4 bits (3 for three operands), and at 8 bits."""
    count = integers.operands_of(op)
    if op in BITWISE:
        for dtype in ints:
            yield f"{dtype}", partial(words.bitwise, op, dtype)
    else:
        for signed, kind in ((True, "int"), (False, "uint")):
            yield f"{kind}, any width", partial(integers.at_any_width, op, [signed])
    if _admits(op, index) and op not in (Op.Shl, Op.Shr):
        yield "index", partial(integers.on_index, op)
    tiny = (small.INT3, small.UINT3) if count == 3 and op is not Op.Where else (small.INT4, small.UINT4)
    for dtype in tiny:
        yield f"{dtype}", _plain(_on_all, op, dtype)
    for dtype in (int8, uint8):
        if count == 1:
            yield f"{dtype}", _plain(_on_all, op, dtype)
            continue
        if count == 2:
            yield f"{dtype}, values", partial(_points, op, dtype)
        yield f"{dtype}, intervals", _plain(_on_directed, op, dtype)


def _domains(op: Op, domain: small.Domain) -> list[small.Domain]:
    count = integers.operands_of(op)
    return [small.all_intervals(bool_), domain, domain] if op is Op.Where else [domain] * count


def _on_all(op: Op, dtype: DType, *, nan: bool = False) -> Outcome:
    return small.try_intervals(op, _domains(op, small.all_intervals(dtype, nan=nan)))


def _on_directed(op: Op, dtype: DType) -> Outcome:
    """Intervals between chosen ends with all values in them; of three operands also the values are chosen."""
    three = integers.operands_of(op) == 3 and op is not Op.Where
    return small.try_intervals(op, _domains(op, small.chosen(dtype) if three else small.directed(dtype)))


def _points(op: Op, dtype: DType, budget: Budget) -> Outcome:
    """Every pair of values; where wider operands never give a narrower interval, that covers all intervals."""
    found = small.try_points(op, dtype)
    if found.kind != "exhaustive" or op in (Op.Mul, Op.Idiv, *BITWISE):
        return found
    isotone = not integers.isotone(op, signed=dtype.signed, budget=budget)
    return small.with_isotone(found) if isotone else found


def _of_bools(op: Op) -> Iterator[tuple[str, Check]]:
    yield "bool", _plain(_on_all, op, bool_)


def _of_floats(op: Op) -> Iterator[tuple[str, Check]]:
    """The lemma, its composition, all intervals of 4 bits with NaN and without, and chosen ones of real dtypes."""
    count = integers.operands_of(op)
    if op in floats.MONOTONE:
        yield "monotone, by solver", partial(floats.by_solver, op)
        for dtype in floats.EIGHT_BIT_FLOATS:
            yield f"monotone, {dtype}", _plain(floats.on_all_of_eight_bits, op, dtype)
        yield "monotone, float16", _plain(floats.at_half_precision, op)
    if op in (Op.Add, Op.Sub, Op.Mul):
        yield "corners, over ℝ", partial(floats.corners, op)
    for dtype in (small.FLOAT4, small.FLOAT4FN):
        if count < 3 or op is Op.Where:
            yield f"{dtype}", _plain(_on_all, op, dtype, nan=dtype is small.FLOAT4)
        else:
            yield f"{dtype}", _plain(_on_chosen, op, dtype)
    for dtype in (*floats.EIGHT_BIT_FLOATS, *WIDE_FLOATS):
        if count == 1 and dtype.bits == 8:
            yield f"{dtype}", _plain(_on_all, op, dtype)
        else:
            yield f"{dtype}", _plain(_on_chosen, op, dtype)


def _on_chosen(op: Op, dtype: DType) -> Outcome:
    count = integers.operands_of(op)
    known = small.chosen(dtype, nan=count == 1, few=count > 1)
    return small.try_intervals(op, _domains(op, known))


def _by_program(op: Op) -> Iterator[tuple[str, Check]]:
    """Ops with a program: every number of float16 where there is one operand, else chosen ones."""
    if op is Op.Threefry:
        yield f"{uint64}", _plain(_on_chosen, op, uint64)
        return
    if integers.operands_of(op) == 1 and _runs_at_once(op):
        yield "float16, values", _plain(_run_at_once, op)
    for dtype in WIDE_FLOATS:
        yield f"{dtype}", _plain(_on_chosen, op, dtype)


def _runs_at_once(op: Op) -> bool:
    return op in (Op.Exp2, Op.Log2)


def _run_at_once(op: Op) -> Outcome:
    from soundline.verify.accuracy.decompositions import program_of, run_vector

    return floats.points_at_half_precision(op, lambda x: run_vector(program_of(op, float16), x))


def _of_casts() -> Iterator[tuple[str, Check]]:
    """Casts between integers for every width, of floats by rounding and truncation, and between all dtypes."""
    for source, name in ((True, "int"), (False, "uint")):
        for target, other in ((True, "int"), (False, "uint")):
            yield f"{name} to {other}, any width", partial(integers.at_any_width, Op.Cast, [source, target])
        for other in ("index", "bool"):
            yield (
                f"{name} to {other}, any width",
                partial(integers.at_any_width, Op.Cast, [source], target=other),
            )
        yield f"index to {name}", partial(integers.on_index, Op.Cast, signed=source, target="int")
    yield "rounding is monotone", floats.rounding_is_monotone
    yield "truncation is monotone", floats.truncation_is_monotone
    pairs = [(small.INT4, small.FLOAT4), (small.INT4, small.FLOAT4FN), (small.FLOAT4, small.INT4)]
    pairs += [(small.FLOAT4, small.FLOAT4FN), (small.FLOAT4FN, small.FLOAT4), (small.FLOAT4, bool_)]
    pairs += [(float8_e5m2, float8_e4m3fn), (float8_e4m3fn, float8_e5m2), (float8_e5m2, int8)]
    pairs += [(float8_e4m3fn, uint8), (int8, float8_e4m3fn), (int8, uint8), (uint8, int8)]
    for narrow, wide in pairs:
        domain = small.all_intervals(narrow, nan=narrow in (small.FLOAT4, small.FLOAT4FN))
        yield f"{narrow} to {wide}", _plain(small.try_intervals, Op.Cast, [domain], wide)
    for dtype in all_dtypes:
        yield f"{dtype} to all", _plain(_casts_from, dtype)


def _casts_from(source: DType) -> Outcome:
    """Chosen intervals of one dtype, to every dtype that it can be cast to."""
    count, witness = 0, ""
    for target in all_dtypes:
        if not _admits(Op.Cast, source, target):
            continue
        found = small.try_intervals(Op.Cast, [small.chosen(source, nan=source.is_float)], target)
        if found.kind not in ("sampled", "exhaustive"):
            return found
        count, witness = count + 1, witness or found.witness
    tight: Any = "sound only" if witness else "optimal"
    return Outcome("sampled", f"chosen intervals, to {count} dtypes", tight, witness)


def _elementwise(op: Op) -> Iterator[tuple[str, Check]]:
    if op is Op.Cast:
        yield from _of_casts()
        return
    if op in BY_PROGRAM:
        yield from _by_program(op)
        return
    if _admits(op, int8):
        yield from _of_integers(op)
    if _admits(op, bool_):
        yield from _of_bools(op)
    if _admits(op, float32):
        yield from _of_floats(op)


# Rows of other ops ------------------------------------------------------------------------------------------------


def _structural(op: Op) -> Iterator[tuple[str, Check]]:
    if op in (Op.Range, Op.Special):
        yield "every bound", partial(integers.of_loops, op)
    if op in (Op.Pad, Op.Stack):
        for signed, kind in ((True, "int"), (False, "uint")):
            yield f"{kind}, any width", partial(integers.at_any_width, op, [signed])
        yield "index", partial(integers.on_index, op)
    if op is Op.Const:
        for dtype in (int8, uint8, bool_, float8_e4m3fn, float8_e5m2):
            yield f"{dtype}", _plain(inclusion.constants, dtype)
    if op is Op.Param:
        yield f"{int8}", _plain(inclusion.parameters)
    if op in inclusion.MOVED:
        yield "moved", _plain(inclusion.moved, op)
    if op in inclusion.ANYTHING:
        yield "dtype range", _plain(inclusion.anything, op)


def _row(op: Op) -> Iterator[Obligation]:
    subject = f"min_max {op.name}"
    found = list(_elementwise(op) if op in ELEMENTWISE else _structural(op))
    if not found:
        found = [("soundness", _plain(Outcome, "unknown", "", detail="nothing is known to hold this row"))]
    yield from (Obligation(subject, name, SOUND, check) for name, check in found)
    stated = source_rows.text_of(op)
    if stated:
        statement = f"the source's row, {stated}, is refuted or sound, as the decisions say"
        yield Obligation(subject, "the source's row", statement, _plain(source_rows.verdict, op))


# Everything -------------------------------------------------------------------------------------------------------


def _lemmas() -> Iterator[Obligation]:
    for name, statement, check in (
        ("products of integers", "a·b is monotone in a, by the sign of b", lemmas.products_are_monotone),
        ("floor quotients", "⌊a/b⌋ is monotone in a and in b", lemmas.quotients_are_monotone),
        ("rounding", "rounding to nearest keeps order", floats.rounding_is_monotone),
        ("roots", "√ keeps order", floats.roots_are_monotone),
    ):
        yield Obligation("lemma", name, statement, check)


def _findings() -> Iterator[Obligation]:
    seen: dict[str, int] = {}
    for finding in FINDINGS:
        number = seen[finding.decision] = seen.get(finding.decision, 0) + 1
        statement = "the source's version and the law's give different results"
        yield Obligation(
            f"finding {finding.decision}", f"counterexample {number}", statement, _plain(_shown, finding)
        )


def _shown(finding: Finding) -> Outcome:
    found = show(finding)
    told = f"{found.title}, on {found.inputs}: {found.by_the_source}, by the law {found.by_the_law}"
    if found.by_the_source == found.by_the_law:
        return Outcome("refuted", "", detail=f"no difference: {told}")
    return Outcome("shown", "evaluated", detail=told)


def _decompositions() -> Iterator[Obligation]:
    from soundline.verify.law.exact import decompositions

    yield from decompositions()


@cache
def obligations() -> tuple[Obligation, ...]:
    """All of them, in the order of the report."""
    rows = [o for op in TABLE if op in MIN_MAX for o in _row(op)]
    return (*_lemmas(), *rows, *_findings(), *_decompositions())
