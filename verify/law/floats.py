"""
Intervals of floats
===================

A float op is an exact function of real numbers, rounded once. Its row is sound because both parts keep order: the exact
function takes its extremes at the ends of the intervals, and rounding to nearest never exchanges two numbers. So each
op has one lemma, that its rounded result is monotone in each operand. It is asked of Z3 at 8 bits, tried on all pairs
of both 8-bit formats of the language, and at float16 on all numbers against chosen ones. That the extremes of the exact
functions lie at the ends is proved over the reals, where formats make no difference. What is left are infinities, NaN
and the signs of zeros, which behave alike in every format: they are in the floats of 4 bits, of which every interval is
tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import z3

from soundline.spec.dtypes import DType, float8_e4m3fn, float8_e5m2, float16, order
from soundline.spec.ops.bounds import Bounds
from soundline.spec.ops.node import Op
from soundline.spec.values.elementwise import ELEMENTWISE
from soundline.verify.law.replays import Operand, contains, refutation
from soundline.verify.law.schema import Outcome
from soundline.verify.law.small import all_intervals, row_of, values_of
from soundline.verify.smt.goals.solving import Budget, check

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Monotone:
    """An op of floats whose rounded result is monotone in each operand.

    `senses` says of each operand whether the result grows with it (1), falls with it (-1), or does so by the sign of
    the other operand (0).
    """

    senses: tuple[int, ...]
    solver: Callable[..., Any]
    half: Callable[..., Any]
    """The same at float16, by numpy, which rounds as the law does."""


def _z3(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *operands: function(z3.RNE(), *operands)


MONOTONE: dict[Op, Monotone] = {
    Op.Add: Monotone((1, 1), _z3(z3.fpAdd), np.add),
    Op.Sub: Monotone((1, -1), _z3(z3.fpSub), np.subtract),
    Op.Mul: Monotone((0, 0), _z3(z3.fpMul), np.multiply),
    Op.Neg: Monotone((-1,), z3.fpNeg, np.negative),
    Op.Trunc: Monotone((1,), lambda x: z3.fpRoundToIntegral(z3.RTZ(), x), np.trunc),
    Op.Sqrt: Monotone((1,), _z3(z3.fpSqrt), np.sqrt),
}
"""The ops whose rows round their corners. A Mulacc is two of them, one after the other."""


def _le(x: Any, y: Any) -> Any:
    """The order of floats with -0 below +0."""
    return z3.Or(z3.fpLT(x, y), z3.And(z3.fpEQ(x, y), z3.Or(z3.fpIsNegative(x), z3.fpIsPositive(y))))


def by_solver(op: Op, budget: Budget) -> Outcome:
    """Monotone at 8 bits: of two operands in order, no results that are numbers are out of order.

    The format is that of IEEE 754 with 4 bits of exponent and 3 of fraction: Z3 adds in no format with more bits of
    exponent than of significand, so not in E5M2, and has no format without infinities, so not E4M3FN.
    """
    lemma, sort = MONOTONE[op], z3.FPSort(4, 4)
    x, w, y = (z3.FP(name, sort) for name in "xwy")
    for place, sense in enumerate(lemma.senses):
        first, second = [x, y][: len(lemma.senses)], [w, y][: len(lemma.senses)]
        if place == 1:
            first, second = [y, x], [y, w]
        a, b = lemma.solver(*first), lemma.solver(*second)
        numbers = [z3.Not(z3.fpIsNaN(t)) for t in (x, w, y, a, b)]
        grows, falls = _le(a, b), _le(b, a)
        if sense == 0:
            claim = z3.If(z3.fpIsPositive(y), grows, falls)
        else:
            claim = grows if sense > 0 else falls
        answer = check([*numbers, _le(x, w), z3.Not(claim)], None, budget)
        if answer.status == "unknown":
            return Outcome("unknown", "", detail=answer.reason)
        if answer.status == "sat":
            return Outcome("unknown", "", detail=f"operand {place + 1} is not monotone at {answer.model}")
    return Outcome("proved", "all operands of the IEEE format with 4 + 3 bits, by floating-point terms")


def on_all_of_eight_bits(op: Op, dtype: DType) -> Outcome:
    """Monotone on all operands of an 8-bit format, by the scalar law."""
    lemma = MONOTONE[op]
    domain = all_intervals(dtype)
    table = values_of(op, (domain,) * len(lemma.senses), None)
    count = len(domain.values)
    ranks = np.where(table.nan, -1, table.ranks)[(slice(count),) * len(lemma.senses)]
    positive = np.array([order(v) >= order(0.0) for v in domain.values])
    bad = _out_of_order(ranks, lemma.senses, positive)
    if bad:
        return Outcome("unknown", "", detail=f"not monotone at {dtype}: {bad}")
    noun = "numbers" if len(lemma.senses) == 1 else "pairs of numbers"
    return Outcome("exhaustive", f"all {count ** len(lemma.senses):,} {noun} of {dtype}, by the scalar law")


def _out_of_order(ranks: Array, senses: tuple[int, ...], positive: Array) -> str:
    """Where results are out of order; a result of -1 is NaN and has none. Columns are operands in their order."""
    for axis, sense in enumerate(senses):
        lines = np.moveaxis(ranks, axis, 0).reshape(ranks.shape[axis], -1)
        for k in range(lines.shape[1]):
            line = lines[:, k][lines[:, k] >= 0]
            grows = sense or (1 if positive[k] else -1)
            if np.any(np.diff(line.astype(np.int64)) * grows < 0):
                return f"operand {axis + 1}, line {k}"
    return ""


def at_half_precision(op: Op) -> Outcome:
    """Monotone at float16: all numbers in one operand, against chosen numbers in the other."""
    lemma = MONOTONE[op]
    numbers = _numbers_of_float16()
    if not _numpy_agrees(op, numbers):
        return Outcome("unknown", "", detail="numpy does not round as the law does")
    with np.errstate(all="ignore"):
        if len(lemma.senses) == 1:
            ranks = _ranks(lemma.half(numbers))
            bad = _out_of_order(ranks, lemma.senses, np.array([True]))
            return _half(bad, f"all {len(numbers):,} numbers of float16")
        others = numbers[np.unique(np.r_[0 : len(numbers) : 1021, _specials(numbers)])]
        positive = ~np.signbit(others)
        for axis, sense in enumerate(lemma.senses):
            pair = (numbers[:, None], others[None, :])
            ranks = _ranks(lemma.half(*(pair if axis == 0 else pair[::-1])))
            bad = _out_of_order_columns(ranks, sense, positive)
            if bad:
                return _half(bad, "")
    return _half("", f"all {len(numbers):,} numbers of float16 against {len(others)} chosen ones, each way")


def _half(bad: str, covered: str) -> Outcome:
    return (
        Outcome("unknown", "", detail=f"not monotone at float16: {bad}")
        if bad
        else Outcome("exhaustive", covered)
    )


def _numbers_of_float16() -> Array:
    """All numbers of float16 in their order."""
    every = np.arange(1 << 16, dtype=np.uint16)
    found = every[_ranks(every.view(np.float16)) > 0]
    return found[np.argsort(_ranks(found.view(np.float16)))].view(np.float16)


def _ranks(x: Array) -> Array:
    """Integers in the order of float16, -0 below +0; of NaN 0, below all."""
    bits: Array = x.view(np.uint16).astype(np.int32)
    places = np.where(bits >> 15, 0xFFFF - bits, 0x8000 + bits) + 1
    ranked: Array = np.where(np.isnan(x), 0, places)
    return ranked


def _specials(numbers: Array) -> Array:
    """The places of the ends, of the numbers around 0, and of ±1."""
    zero = int(np.flatnonzero(numbers == 0)[0])
    ones = np.flatnonzero(np.abs(numbers) == 1)
    places: Array = np.r_[0, 1, zero - 2 : zero + 4, ones, len(numbers) - 2, len(numbers) - 1]
    return places


def _out_of_order_columns(ranks: Array, sense: int, positive: Array) -> str:
    """As `_out_of_order`, for whole columns at once: NaN takes the place of its neighbour, which breaks no order."""
    grows = np.full(len(positive), sense) if sense else np.where(positive, 1, -1)
    upward = ranks * grows
    filled = np.maximum.accumulate(np.where(ranks == 0, np.iinfo(np.int32).min, upward), axis=0)
    wrong = (ranks != 0) & (upward < filled)
    return f"column {int(np.argwhere(wrong)[0][1])}" if wrong.any() else ""


def _numpy_agrees(op: Op, numbers: Array) -> bool:
    """Whether numpy's float16 gives what the scalar law gives, on a spread of operands."""
    lemma = MONOTONE[op]
    picked = numbers[:: 1021 if len(lemma.senses) == 2 else 61]
    law = ELEMENTWISE[op]
    with np.errstate(all="ignore"):
        if len(lemma.senses) == 1:
            found = lemma.half(picked)
            wanted = [law(float16, float(x)) for x in picked]
        else:
            found = lemma.half(picked[:, None], picked[None, :]).ravel()
            wanted = [law(float16, float(x), float(y)) for x in picked for y in picked]
    return bool(np.array_equal(_ranks(found), _ranks(np.array(wanted, np.float16))))


def points_at_half_precision(op: Op, run: Callable[[Array], Array]) -> Outcome:
    """The row of a function of one float on every number of float16, whose values `run` computes at once."""
    numbers = _numbers_of_float16()
    values = run(numbers).astype(np.float64).tolist()
    row = row_of(op, (float16,), float16)
    for x, value in zip(numbers.astype(np.float64).tolist(), values, strict=True):
        ends = Bounds(x, x)
        if not contains(row((ends,)), value):
            shown = refutation(op, [Operand(float16, ends, x)])
            if shown is not None:
                return Outcome("refuted", "a counterexample, evaluated", counterexample=shown)
            return Outcome("unknown", "", detail=f"internal: replay disagrees at {x!r}")
    return Outcome("exhaustive", f"all {len(numbers):,} numbers of float16, each an interval")


EIGHT_BIT_FLOATS = (float8_e4m3fn, float8_e5m2)


# Lemmas over the reals --------------------------------------------------------------------------------------------


def rounding_is_monotone(budget: Budget) -> Outcome:
    """Two reals in order, each rounded to a nearest member of any set, the same real to the same member."""
    x, y, p, q = z3.Reals("x y p q")

    def nearer(real: Any, one: Any, other: Any) -> Any:
        return z3.Abs(real - one) <= z3.Abs(real - other)

    asked = [x <= y, nearer(x, p, q), nearer(y, q, p), z3.Implies(x == y, p == q), p > q]
    return _lemma([asked], "every format, all reals", budget)


def corners(op: Op, budget: Budget) -> Outcome:
    """The exact result on two intervals of reals lies between its results at their ends."""
    x, a, c, y, b, d = z3.Reals("x a c y b d")
    inside = [a <= x, x <= c, b <= y, y <= d]
    if op is Op.Mul:
        values = [a * b, a * d, c * b, c * d]
        outside = [[x * y < v for v in values], [x * y > v for v in values]]
    else:
        sign = -1 if op is Op.Sub else 1
        low, high = (a - d, c - b) if sign < 0 else (a + b, c + d)
        outside = [[x + sign * y < low], [x + sign * y > high]]
    return _lemma([[*inside, *o] for o in outside], "all intervals of reals", budget)


def roots_are_monotone(budget: Budget) -> Outcome:
    """√ keeps the order of the reals ≥ 0."""
    x, y, p, q = z3.Reals("x y p q")
    asked = [x >= 0, x <= y, p * p == x, q * q == y, p >= 0, q >= 0, p > q]
    return _lemma([asked], "all reals", budget)


def truncation_is_monotone(budget: Budget) -> Outcome:
    """Truncation keeps the order of the reals, and so does clamping after it."""
    x, y = z3.Reals("x y")
    low, high = z3.Ints("low high")

    def trunc(r: Any) -> Any:
        return z3.If(r >= 0, z3.ToInt(r), -z3.ToInt(-r))

    def clamped(n: Any) -> Any:
        return z3.If(n < low, low, z3.If(n > high, high, n))

    asked = [x <= y, low <= high, z3.Or(trunc(x) > trunc(y), clamped(trunc(x)) > clamped(trunc(y)))]
    return _lemma([asked], "all reals, all ranges of integers", budget)


def _lemma(denials: list[list[Any]], covered: str, budget: Budget) -> Outcome:
    for denial in denials:
        answer = check(denial, None, budget)
        if answer.status != "unsat":
            return Outcome("unknown", "", detail=answer.reason or f"not so at {answer.model}")
    return Outcome("proved", covered)
