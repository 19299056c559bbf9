"""
Ranges and reductions over them
===============================

A `Range` counts from 0 up to its size. A reduction over a range, written ``sum_over(r, e)``, closes it, as Reduce does
in the range form; outside of the reduction the range has no value. A `Body` is an expression that may depend on ranges:
``f(r)`` under a reduction over r matches any expression, and ``f(e)`` is the same expression at another index. Every
other variable is the same for all iterations.

To a proof, a Body is an unknown table with one element for each value of its ranges; ``f(e)`` reads it at e, and what
reads outside of the table is invalid (U-01). So a rule that moves a Body must keep its index within the range, and the
proof has to show it.
"""

from __future__ import annotations

from collections.abc import Iterator

from soundline.spec.errors import RuleError
from soundline.spec.ops.node import Op
from soundline.spec.rules.notation import Term, Variable, show, shown
from soundline.spec.rules.terms import Monoid, Value, reduction_op, subterms, value


class Range(Value):
    """An index that counts from 0: ``Range["n"]`` up to the Size n, ``Range[4]`` up to 4."""

    __slots__ = ()
    __hash__ = object.__hash__


class Body(Term):
    """An expression that may depend on ranges: ``Body["r"]``, ``Body["r", "s"]``, with a dtype ``Body["r", int32]``."""

    __slots__ = ()

    def __class_getitem__(cls, item: object) -> Variable:
        """The ranges that the expression may depend on, and its dtype if it is not the rule's."""
        return Variable(cls.__name__, item if isinstance(item, tuple) else (item,))

    def __call__(self, *indices: object) -> Value:
        """The expression with these indices for its ranges."""
        return Value("body", (self, *map(value, indices)))


def reduce_over(op: Monoid | Op, over: Range | tuple[Range, ...], expression: object) -> Value:
    """The reduction of an expression with `op` over a range, or over several of which the first is the outermost."""
    ranges = over if isinstance(over, tuple) else (over,)
    for r in ranges:
        if not isinstance(r, Range):
            raise RuleError(
                f"a reduction is over ranges, not over {shown(r)}",
                hint='annotate the variable Range["n"], or make one for the right side by fresh(size)',
            )
    return Value("over", (reduction_op(op), value(expression), *ranges))


def sum_over(over: Range | tuple[Range, ...], expression: object) -> Value:
    """The sum of an expression over a range."""
    return reduce_over(Op.Add, over, expression)


def max_over(over: Range | tuple[Range, ...], expression: object) -> Value:
    """The greatest value of an expression over a range."""
    return reduce_over(Op.Max, over, expression)


def prod_over(over: Range | tuple[Range, ...], expression: object) -> Value:
    """The product of an expression over a range."""
    return reduce_over(Op.Mul, over, expression)


# scopes -----------------------------------------------------------------------------------------------------------


def range_key(r: Term) -> object:
    """What tells ranges apart: the name of a variable, the number of a fresh one."""
    return r.args[0] if r.head == "var" else r.args[1]


def reduced_ranges(term: Term) -> set[object]:
    """The ranges that reduces in a term close."""
    return {range_key(r) for t in subterms(term) if t.head == "over" for r in t.args[2:]}


def free_in(term: Term) -> list[Term]:
    """The ranges that stand in a term outside of any reduction over them. Raises ``RuleError`` where a reduction closes
    twice.
    """
    return list(_free(term, frozenset(), set()))


def _free(term: Term, closed: frozenset[object], met: set[tuple[int, frozenset[object]]]) -> Iterator[Term]:
    """The free ranges of a term inside reductions over the closed ones; a shared term is looked at once."""
    if (id(term), closed) in met:
        return
    met.add((id(term), closed))
    if isinstance(term, Range) and range_key(term) not in closed:
        yield term
    inside, parts = closed, term.args
    if term.head == "over":
        parts = (term.args[1], *(r.args[0] for r in term.args[2:] if r.head == "fresh"))
        for r in term.args[2:]:
            if range_key(r) in inside:
                raise RuleError(
                    f"{show(r)} is reduced over inside another reduction over it", hint="use another range"
                )
            inside |= {range_key(r)}
    for part in parts:
        if isinstance(part, Term):
            yield from _free(part, inside, met)


def check_ranges(left: Term, right: Term, conditions: tuple[Term, ...]) -> None:
    """Refuse a rule in which a range stands where it has no value."""
    folded, free = reduced_ranges(left), {range_key(r) for r in free_in(left)}
    fresh = [t for t in subterms(left) if t.head == "fresh"]
    if fresh:
        raise RuleError(
            f"{show(fresh[0])} is on the left side",
            hint='a range on the left is a variable, r: Range["n"]',
        )
    _check_side(left, folded & free)
    for term in (right, *conditions):
        _check_side(term, folded)
        for r in _reduced_variables(term):
            if range_key(r) not in folded:
                raise RuleError(
                    f"{show(r)} is reduced over, but not on the left side",
                    hint="make a range for the right side by fresh(size)",
                )


def _check_side(term: Term, without_value: set[object]) -> None:
    for r in free_in(term):
        if r.head == "fresh" or range_key(r) in without_value:
            raise RuleError(
                f"{show(r)} is used outside of the reduction over it", hint="use another range there"
            )


def _reduced_variables(term: Term) -> Iterator[Term]:
    for t in subterms(term):
        if t.head == "over":
            yield from (r for r in t.args[2:] if r.head == "var")
