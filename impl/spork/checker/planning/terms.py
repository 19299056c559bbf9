"""
Terms
=====

Numbers of control as terms in iterators: they are folded where they are made, and `Known` says what is certain of them:
intervals of the iterators, and the conditions under which a statement is reached. What cannot be shown is said to be
unknown, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from soundline.impl.spork.checker.planning.plan import Applied, Term, Var
from soundline.spec.dtypes import index
from soundline.spec.ops.node import Op
from soundline.spec.values.elementwise import ELEMENTWISE

MOST: Final = 1 << 62
"""Numbers beyond it may not fit ``index``: nothing is said of them."""

_NEGATED: Final = {
    Op.CmpLt: Op.CmpGe,
    Op.CmpGe: Op.CmpLt,
    Op.CmpLe: Op.CmpGt,
    Op.CmpGt: Op.CmpLe,
    Op.CmpEq: Op.CmpNe,
    Op.CmpNe: Op.CmpEq,
}


def applied(op: Op, *operands: Term) -> Term:
    """An op on terms; of numbers it is a number."""
    if all(isinstance(o, int) for o in operands):
        found: int = ELEMENTWISE[op](index, *operands)
        return found
    match op, operands:
        case (Op.Add, (0, x)) | (Op.Add | Op.Sub, (x, 0)) | (Op.Mul, (1, x)) | (Op.Mul | Op.Idiv, (x, 1)):
            return x
        case (Op.Mul, (0, _)) | (Op.Mul, (_, 0)) | (Op.Mod, (_, 1)):
            return 0
    return Applied(op, operands)


def total(*terms: Term) -> Term:
    """The sum of terms."""
    found: Term = 0
    for term in terms:
        found = applied(Op.Add, found, term)
    return found


def variables(term: Term) -> Iterator[Var]:
    """The iterators in a term, each as often as it is there."""
    match term:
        case Var():
            yield term
        case Applied(_, operands):
            for operand in operands:
                yield from variables(operand)


# Sums -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sum:
    """A number, and factors of terms that are no sums themselves."""

    number: int
    parts: Mapping[Term, int]

    def plus(self, other: Sum, times: int = 1) -> Sum:
        """Another one added so many times."""
        parts = dict(self.parts)
        for term, factor in other.parts.items():
            parts[term] = parts.get(term, 0) + times * factor
        return Sum(self.number + times * other.number, {t: f for t, f in parts.items() if f})


def as_sum(term: Term) -> Sum:
    """A term as a sum."""
    match term:
        case Applied(Op.Add, (x, y)):
            return as_sum(x).plus(as_sum(y))
        case Applied(Op.Sub, (x, y)):
            return as_sum(x).plus(as_sum(y), -1)
        case Applied(Op.Neg, (x,)):
            return Sum(0, {}).plus(as_sum(x), -1)
        case Applied(Op.Mul, (x, y)):
            one, other = as_sum(x), as_sum(y)
            if not one.parts:
                one, other = other, one
            if not other.parts:
                return Sum(0, {}).plus(one, other.number)
        case int():
            return Sum(int(term), {})
    return Sum(0, {term: 1})


def as_number(term: Term) -> int | None:
    """The number that a term is in every iteration, where that is seen."""
    found = as_sum(term)
    return None if found.parts else found.number


# What is known ----------------------------------------------------------------------------------------------------

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Known:
    """What is certain where a statement is reached."""

    ranges: Mapping[int, Interval] = field(default_factory=dict)
    """The least and the greatest value of each iterator, by its number."""
    facts: tuple[Sum, ...] = ()
    """Sums that are not negative."""

    def looped(self, var: Var, lo: Term, hi: Term) -> Known | None:
        """Inside of a loop; None where it has no iteration."""
        first, last = self.interval(lo), self.interval(hi)
        if first is None or last is None:
            return self
        if last[1] <= first[0]:
            return None
        own = as_sum(var)
        bounds = (own.plus(as_sum(lo), -1), as_sum(hi).plus(own, -1).plus(Sum(-1, {})))
        said = tuple(b for b, of in zip(bounds, (lo, hi), strict=True) if not isinstance(of, int))
        return Known({**self.ranges, var.number: (first[0], last[1] - 1)}, (*self.facts, *said))

    def where(self, condition: Term, holds: bool = True) -> Known:
        """Where a condition holds, or does not."""
        match condition:
            case Applied(Op.Not, (x,)):
                return self.where(x, not holds)
            case Applied(Op.And, (x, y)) if holds and _is_condition(x) and _is_condition(y):
                return self.where(x).where(y)
            case Applied(Op.Or, (x, y)) if not holds and _is_condition(x) and _is_condition(y):
                return self.where(x, holds=False).where(y, holds=False)
            case Applied(op, (x, y)) if op in _NEGATED:
                return self.compared(op if holds else _NEGATED[op], as_sum(x), as_sum(y))
        return self

    def compared(self, op: Op, x: Sum, y: Sum) -> Known:
        """Where a comparison holds."""
        less, more, one = y.plus(x, -1), x.plus(y, -1), Sum(-1, {})
        said = {
            Op.CmpLt: (less.plus(one),),
            Op.CmpLe: (less,),
            Op.CmpGt: (more.plus(one),),
            Op.CmpGe: (more,),
            Op.CmpEq: (less, more),
            Op.CmpNe: (),
        }[op]
        return replace(self, facts=(*self.facts, *said))

    def interval(self, term: Term) -> Interval | None:
        """Bounds of a term; None where none is known."""
        found = self._interval(term)
        return found if found is not None and found[0] > -MOST and found[1] < MOST else None

    def _interval(self, term: Term) -> Interval | None:
        match term:
            case Var(number):
                return self.ranges.get(number)
            case Applied():
                found = as_sum(term)
                if set(found.parts) != {term}:
                    return self._of_sum(found)
                return self._of_op(term)
            case _:
                return int(term), int(term)

    def _of_sum(self, found: Sum) -> Interval | None:
        low = high = found.number
        for part, factor in found.parts.items():
            own = self.interval(part)
            if own is None:
                return None
            ends = factor * own[0], factor * own[1]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def _of_op(self, term: Applied) -> Interval | None:
        if term.op in _NEGATED or term.op is Op.Not:
            return 0, 1
        parts = [self.interval(operand) for operand in term.operands]
        if any(part is None for part in parts):
            return None
        ends = [part for part in parts if part is not None]
        match term.op:
            case Op.Mod if ends[1][0] > 0:
                low, high = ends[0]
                most = ends[1][1]
                if low >= 0 and high < ends[1][0]:
                    return low, high
                return 0, most - 1
            case Op.Idiv if ends[1][0] > 0:
                found = [x // y for x in ends[0] for y in ends[1]]
                return min(found), max(found)
            case Op.Mul:
                found = [x * y for x in ends[0] for y in ends[1]]
                return min(found), max(found)
            case Op.Max:
                return max(ends[0][0], ends[1][0]), max(ends[0][1], ends[1][1])
            case Op.Where:
                return min(ends[1][0], ends[2][0]), max(ends[1][1], ends[2][1])
            case Op.And | Op.Or if all(e >= (0, 0) and e[1] <= 1 for e in ends):
                return 0, 1
        return None

    def fits(self, term: Term) -> bool:
        """Whether a term and all that it is made of are shown to have a place in 64 bits."""
        inner = term.operands if isinstance(term, Applied) else ()
        return self.interval(term) is not None and all(map(self.fits, inner))

    def not_negative(self, term: Term | Sum, depth: int = 3) -> bool:
        """Whether a term is shown not to be negative: by intervals, after some facts were subtracted as often as
        cancels a part.
        """
        asked = term if isinstance(term, Sum) else as_sum(term)
        own = self._of_sum(asked)
        if own is not None and own[0] >= 0 and own[1] < MOST:
            return True
        if not depth:
            return False
        for fact in self.facts:
            for part, factor in fact.parts.items():
                wanted = asked.parts.get(part, 0)
                if wanted * factor <= 0:
                    continue
                times = Fraction(wanted, factor)
                rest = Sum(0, {}).plus(asked, times.denominator).plus(fact, -times.numerator)
                if self.not_negative(rest, depth - 1):
                    return True
        return False

    def holds(self, condition: Term) -> bool:
        """Whether a condition is shown to hold."""
        match condition:
            case Applied(Op.And, (x, y)) if _is_condition(x) and _is_condition(y):
                return self.holds(x) and self.holds(y)
            case Applied(op, (x, y)) if op in _NEGATED and op is not Op.CmpNe:
                met = Known().compared(op, as_sum(x), as_sum(y)).facts
                return all(self.not_negative(fact) for fact in met)
            case int():
                return bool(condition)
        return False


def _is_condition(term: Term) -> bool:
    """Whether a term is 0 or 1."""
    match term:
        case Applied(op, _) if op in _NEGATED or op is Op.Not:
            return True
        case Applied(Op.And | Op.Or, operands):
            return all(map(_is_condition, operands))
        case int():
            return term in (0, 1)
    return False
