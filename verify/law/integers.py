"""
Intervals over the integers
===========================

The rows of min_max for integers, for every width at once. The row runs on symbolic ends and the scalar law on symbolic
values, both the functions of the law themselves. A dtype of unknown width is two symbolic ends of its range; all that
is known of wrapping is that a result lies in that range, and is the exact one where that fits. A row that is sound
under so little is sound at every width.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import z3

from soundline.spec.derived_props import MIN_MAX
from soundline.spec.dtypes import DType, bool_, index, int8, uint8
from soundline.spec.ops import bounds
from soundline.spec.ops.bounds import Bounds
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.table import TABLE
from soundline.spec.uop import loop, param
from soundline.spec.values.elementwise import ELEMENTWISE
from soundline.verify.law.replays import Operand, interval, refutation
from soundline.verify.law.schema import Outcome, Tightness
from soundline.verify.law.symbols import (
    PRODUCT,
    QUOTIENT,
    Number,
    Path,
    Paths,
    TooManyPaths,
    Truth,
    between,
    term_of,
)
from soundline.verify.smt.goals.solving import Budget, check
from soundline.verify.verdicts.verdict import Counterexample

EIGHT_BITS = {True: int8, False: uint8}
"""Where a row that fails at an unknown width is tried for a counterexample, by whether it is signed."""


@dataclass(eq=False)
class AnyWidth:
    """What a row asks of an integer dtype, at an unknown width. It wraps nothing, so laws on it are exact."""

    min: Number
    max: Number
    signed: bool
    is_float: bool = False
    is_int: bool = False


@dataclass(eq=False)
class Question:
    """A row with symbolic operands: the row's own function, the value, and what is assumed."""

    op: Op
    paths: Paths
    dtypes: tuple[Any, ...]
    result: Any
    ends: tuple[Bounds, ...]
    values: tuple[Any, ...]
    arg: Any = None

    def asked(self) -> tuple[Any, Any]:
        """The interval of the row and the exact value."""
        return self.row(), self.value()

    def row(self) -> Any:
        """The interval of the row."""
        sources = [SimpleNamespace(dtype=d) for d in self.dtypes]
        known = dict(zip(map(id, sources), self.ends, strict=True))
        node = SimpleNamespace(op=self.op, src=tuple(sources), dtype=self.result, arg=self.arg)
        return MIN_MAX[self.op](node, lambda s: known[id(s)])  # type: ignore[arg-type]

    @property
    def either(self) -> Truth:
        """A choice of which nothing is known."""
        return Truth(z3.Bool("either"), self.paths)

    def value(self) -> Any:
        """The exact value; None where nothing is known of it but its dtype."""
        if self.op in ANY_VALUE:
            return None
        if self.op in (Op.Cast, Op.Range, Op.Special):
            return self.values[0]
        if self.op is Op.Pad:
            return 0 if self.either else self.values[0]
        if self.op is Op.Stack:
            return self.values[0] if self.either else self.values[1]
        dtype = self.dtypes[1] if self.op is Op.Where else self.dtypes[0]
        return ELEMENTWISE[self.op](dtype, *self.values)


ANY_VALUE = (Op.Shl, Op.Shr, Op.CDiv, Op.CMod)
"""Ops of which only the dtype of the value is used, since their rows give the dtype range."""


def width(paths_premises: list[Any], paths: Paths, name: str, *, signed: bool) -> AnyWidth:
    """A dtype of unknown width: -(top + 1) … top, or 0 … top."""
    top = z3.Int(f"{name}.max")
    paths_premises.append(top >= 1)
    low = -top - 1 if signed else z3.IntVal(0)
    return AnyWidth(Number(low, paths), Number(top, paths), signed)


def at_any_width(op: Op, signs: Sequence[bool], budget: Budget, *, target: str = "") -> Outcome:
    """The row of an op on integers of any width; for a cast, `signs` are those of the source and of the target."""
    question = _question(op, signs, budget, target)
    covered = "every width, all intervals, all values, over ℤ"
    refuted = _first_failure(question)
    if refuted is None:
        return Outcome("proved", covered)
    if isinstance(refuted, str):
        return Outcome("unknown", "", detail=refuted)
    shown = _at_eight_bits(question, refuted)
    if shown is None:
        return Outcome(
            "unknown", "", detail="over ℤ the row does not hold; no counterexample at 8 bits was met"
        )
    return Outcome("refuted", "a counterexample, evaluated", counterexample=shown)


def _question(op: Op, signs: Sequence[bool], budget: Budget, target: str) -> Question:
    premises: list[Any] = []
    paths = Paths(premises, budget)
    dtype = width(premises, paths, "dtype", signed=signs[0])
    dtypes: list[Any] = [dtype] * operands_of(op)
    ends: list[Bounds] = []
    values: list[Any] = []
    if op is Op.Where:
        dtypes[0] = bool_
    for k, d in enumerate(dtypes):
        x = z3.Int(f"x{k}")
        if d is bool_:
            ends.append(Bounds(False, True))
            values.append(Truth(x == 1, paths))
            continue
        lo, hi = z3.Int(f"lo{k}"), z3.Int(f"hi{k}")
        premises += [term_of(d.min) <= lo, lo <= x, x <= hi, hi <= term_of(d.max)]
        ends.append(between(Number(lo, paths), Number(hi, paths)))
        values.append(Number(x, paths))
    result: Any = dtype
    if op.name.startswith("Cmp"):
        result = bool_
    elif op is Op.Cast:
        named = {"index": index, "bool": bool_}
        result = named.get(target) or width(premises, paths, "target", signed=signs[1])
    arg = result if op is Op.Cast else None
    return Question(op, paths, tuple(dtypes), result, tuple(ends), tuple(values), arg)


def operands_of(op: Op) -> int:
    """How many operands with values an op has here; a Stack stands for all Stacks with two."""
    return {Op.Pad: 1, Op.Stack: 2}.get(op) or len(TABLE[op].sources)


def _first_failure(question: Question) -> Path | str | None:
    """A path on which a value may lie outside; a text where the solver did not answer; None where there is none."""
    paths = question.paths
    try:
        for path in paths.run(question.asked):
            status = paths.status(_denial(question, path))
            if status == "unknown":
                return "the solver gave up on a path"
            if status == "sat":
                return path
    except TooManyPaths as error:
        return str(error)
    return None


def _denial(question: Question, path: Path) -> list[Any]:
    """That the value lies outside of the interval."""
    known, exact = path.result
    asked = list(path.conditions)
    if known is None:
        return asked  # no value may exist, and one does
    if exact is not None and question.op is Op.Cast and question.result is bool_:
        exact = Truth(term_of(exact) != 0, question.paths)
    value = z3.Int("value")
    if isinstance(question.result, AnyWidth):
        low, high = term_of(question.result.min), term_of(question.result.max)
        asked += [low <= value, value <= high]
        if exact is not None:
            e = term_of(exact)
            asked.append(z3.Implies(z3.And(low <= e, e <= high), value == e))
    elif exact is not None:
        asked.append(value == term_of(exact))
    outside = []
    if not _is_infinite(known.lo):
        outside.append(value < term_of(known.lo))
    if not _is_infinite(known.hi):
        outside.append(value > term_of(known.hi))
    return [*asked, z3.Or(*outside)]


def _is_infinite(end: Any) -> bool:
    return isinstance(end, float) and math.isinf(end)


def _at_eight_bits(question: Question, path: Path) -> Counterexample | None:
    """The failing path with the width of 8 bits, as a program."""
    paths = question.paths
    widths = [d for d in (*question.dtypes[-1:], question.result) if isinstance(d, AnyWidth)]
    fixed = [term_of(d.max) == int(EIGHT_BITS[d.signed].max) for d in widths]
    target = question.result
    if question.op is not Op.Cast:
        chosen = None
    else:
        chosen = EIGHT_BITS[target.signed] if isinstance(target, AnyWidth) else target
    for exact_factors in (True, False):
        factors = _factors(paths) if exact_factors else []
        answer = check([*_assumed(paths), *_denial(question, path), *fixed, *factors], None, paths.budget)
        if answer.status == "sat":
            operands = [_operand(answer.model, d, k) for k, d in enumerate(question.dtypes)]
            shown = refutation(question.op, operands, chosen)
            if shown is not None:
                return shown
    return None


def _assumed(paths: Paths) -> list[Any]:
    return [*paths.premises, *paths.lemmas()]


def _factors(paths: Paths) -> list[Any]:
    """Products and quotients as they are, so that a model means what it says."""
    real = [PRODUCT(a, b) == a * b for a, b in paths.products.values()]
    for a, b in paths.quotients.values():
        real += [PRODUCT(b, QUOTIENT(a, b)) == b * QUOTIENT(a, b)]
    return real


def _operand(model: Any, dtype: Any, k: int) -> Operand:
    def number(name: str) -> int:
        return int(model.eval(z3.Int(name), model_completion=True).as_long())

    if dtype is bool_:
        return Operand(bool_, Bounds(False, True), number(f"x{k}") == 1)
    real: DType = EIGHT_BITS[dtype.signed] if isinstance(dtype, AnyWidth) else dtype
    return Operand(real, Bounds(number(f"lo{k}"), number(f"hi{k}")), number(f"x{k}"))


# isotone ---------------------------------------------------------------------------------------------------------


def isotone(op: Op, *, signed: bool, budget: Budget) -> str:
    """Empty where a wider operand never gives a narrower interval, at any width; else what is in the way.

    It is enough to move one end of one operand: from there any wider operands are reached step by step.
    """
    for k in range(operands_of(op)):
        for lower in (True, False):
            found = _isotone_in(_question(op, [signed], budget, ""), k, lower=lower)
            if found:
                return found
    return ""


def _isotone_in(question: Question, k: int, *, lower: bool) -> str:
    paths, ends, dtype = question.paths, question.ends[k], question.dtypes[k]
    if dtype is bool_:
        return ""
    end = z3.Int("wider")
    if lower:
        paths.premises += [term_of(dtype.min) <= end, end <= term_of(ends.lo)]
        wider = between(Number(end, paths), ends.hi)
    else:
        paths.premises += [end <= term_of(dtype.max), end >= term_of(ends.hi)]
        wider = between(ends.lo, Number(end, paths))
    moved = replace(question, ends=(*question.ends[:k], wider, *question.ends[k + 1 :]))
    for path in paths.run(lambda: (moved.row(), question.row())):
        wide, narrow = path.result
        lost = z3.Or(term_of(narrow.lo) < term_of(wide.lo), term_of(narrow.hi) > term_of(wide.hi))
        if paths.status([*path.conditions, lost]) != "unsat":
            return "the row is not known to be isotone"
    return ""


OPEN_OR_NOT = ((False, False), (False, True), (True, False), (True, True))
"""Whether the lower and the upper end of an interval are infinite."""

# index ------------------------------------------------------------------------------------------------------------


def on_index(op: Op, budget: Budget, *, signed: bool = True, target: str = "") -> Outcome:
    """The row of an op on index, whose ends may be infinite: each end is any integer or the infinity of its side."""
    operands = [k for k in range(operands_of(op)) if not (op is Op.Where and k == 0)]
    for open_ends in itertools.product(OPEN_OR_NOT, repeat=len(operands)):
        question = _index_question(op, dict(zip(operands, open_ends, strict=True)), budget, signed, target)
        refuted = _first_failure(question)
        if isinstance(refuted, str):
            return Outcome("unknown", "", detail=refuted)
        if refuted is not None:
            shown = _on_index(question, refuted)
            if shown is not None:
                return Outcome("refuted", "a counterexample, evaluated", counterexample=shown)
            return Outcome("unknown", "", detail="over ℤ the row does not hold; no counterexample was met")
    return Outcome("proved", "all intervals with finite or infinite ends, all integers")


def _index_question(
    op: Op, open_ends: dict[int, tuple[bool, bool]], budget: Budget, signed: bool, target: str
) -> Question:
    premises: list[Any] = []
    paths = Paths(premises, budget)
    ends: list[Bounds] = []
    values: list[Any] = []
    dtypes: list[Any] = []
    for k in range(operands_of(op)):
        x = z3.Int(f"x{k}")
        if k not in open_ends:
            dtypes.append(bool_)
            ends.append(Bounds(False, True))
            values.append(Truth(x == 1, paths))
            continue
        lo, hi = z3.Int(f"lo{k}"), z3.Int(f"hi{k}")
        no_low, no_high = open_ends[k]
        premises += [*([] if no_low else [lo <= x]), *([] if no_high else [x <= hi])]
        dtypes.append(index)
        ends.append(
            between(-math.inf if no_low else Number(lo, paths), math.inf if no_high else Number(hi, paths))
        )
        values.append(Number(x, paths))
    result: Any = bool_ if op.name.startswith("Cmp") or target == "bool" else index
    if target == "int":
        result = width(premises, paths, "target", signed=signed)
    arg = result if op is Op.Cast else None
    return Question(op, paths, tuple(dtypes), result, tuple(ends), tuple(values), arg)


def _on_index(question: Question, path: Path) -> Counterexample | None:
    paths = question.paths
    target = question.result
    fixed = (
        [term_of(target.max) == int(EIGHT_BITS[target.signed].max)] if isinstance(target, AnyWidth) else []
    )
    asked = [*_assumed(paths), *_denial(question, path), *fixed, *_factors(paths)]
    answer = check(asked, None, paths.budget)
    if answer.status != "sat":
        return None
    operands = []
    for k, dtype in enumerate(question.dtypes):
        found = _operand(answer.model, dtype, k)
        ends = question.ends[k]
        lo = ends.lo if _is_infinite(ends.lo) else found.bounds.lo
        hi = ends.hi if _is_infinite(ends.hi) else found.bounds.hi
        operands.append(Operand(dtype, Bounds(lo, hi), found.value))
    chosen = EIGHT_BITS[target.signed] if isinstance(target, AnyWidth) else target
    return refutation(question.op, operands, chosen if question.op is Op.Cast else None)


# Loops ------------------------------------------------------------------------------------------------------------


def of_loops(op: Op, budget: Budget) -> Outcome:
    """The row of Range and Special: of a bound n in any interval, every i with 0 ≤ i < n."""
    for no_high in (False, True):
        n, i, lo, hi = z3.Ints("n i lo hi")
        premises = [lo <= n, i >= 0, i < n, *([] if no_high else [n <= hi])]
        paths = Paths(premises, budget)
        ends = between(Number(lo, paths), math.inf if no_high else Number(hi, paths))
        question = Question(op, paths, (index,), index, (ends,), (Number(i, paths),))
        failed = _first_failure(question)
        if failed is not None:
            detail = failed if isinstance(failed, str) else "an iteration lies outside of the interval"
            return Outcome("unknown", "", detail=detail)
    return Outcome(
        "proved", "all bounds n with finite or infinite ends, all iterations", *_loop_tightness(op)
    )


def _loop_tightness(op: Op) -> tuple[Tightness, str]:
    """Optimal where the interval is the hull of the iterations, tried on all bounds n in [lo, hi] from 0 to 6."""
    for lo, hi in itertools.combinations_with_replacement(range(7), 2):
        bound = param(0, index, bounds=(lo, hi))
        known = bounds.min_max(loop(bound, 0) if op is Op.Range else UOp(op, (bound,), "gidx0"))
        wanted = Bounds(0, hi - 1) if hi else None
        if known != wanted:
            return (
                "sound only",
                f"n in [{lo}, {hi}]: {interval(known)}, where the values span {interval(wanted)}",
            )
    return "optimal", ""
