"""
Weaker conditions
=================

A rule that is proved under some conditions is proved under all that imply them. A method that fails under the rule's
own conditions may succeed under weaker ones. For example, an equation rewrites every polynomial, so that a known size
may unroll only one side; and an irrelevant condition may use up the budget. So a rule is tried

- with ``a % d == 0`` in the place of ``a % n == 0``, ``a == n`` or ``a == d * b``, for the prime divisors of a number
  and the factors of a product, of what does not overflow;
- with ``a <= b`` and ``b <= a`` in the place of ``a == b``;
- without one of its conditions, and without those that speak of one variable alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from soundline.spec.dtypes import DType, index
from soundline.spec.ops.node import Op
from soundline.spec.rules.language import Rule, variables_in
from soundline.spec.rules.notation import Term, show
from soundline.spec.rules.terms import Value, apply, conjuncts, value

MOST = 8
"""How many weaker forms of a rule are tried."""
_PRIMES = (2, 3, 5, 7)

Forms = Iterator[tuple[Rule, str]]
"""Forms of a rule, and what is said of their conditions."""
_Changed = Iterator[tuple[list[Term], str]]


def with_divisors(rule: Rule, dtype: DType) -> Forms:
    """Forms of a rule that ask for fewer divisors, at the layer of a dtype."""
    return _forms(rule, _divisors(rule, list(conjuncts(*rule.given)), dtype))


def with_less(rule: Rule) -> Forms:
    """Forms of a rule with bounds for equations, and with fewer conditions."""
    conditions = list(conjuncts(*rule.given))
    return _forms(rule, iter([*_bounds(conditions), *_fewer(rule, conditions)]))


def _forms(rule: Rule, found: _Changed) -> Forms:
    return ((replace(rule, given=tuple(kept)), said) for kept, said in islice(found, MOST))


# Fewer conditions -------------------------------------------------------------------------------------------------


def _fewer(rule: Rule, conditions: Sequence[Term]) -> _Changed:
    """Without one condition, then without those about one variable."""
    for k, condition in enumerate(conditions):
        yield [*conditions[:k], *conditions[k + 1 :]], f"already without {show(condition)}"
    for name in rule.variables:
        own = [c for c in conditions if variables_in(c) == {name}]
        if len(own) > 1:
            said = f"already without {', '.join(map(show, own))}"
            yield [c for c in conditions if not any(c is o for o in own)], said


def _bounds(conditions: Sequence[Term]) -> _Changed:
    """With two inequalities for every equation, then for each."""
    pairs = {k: _two_bounds(c) for k, c in enumerate(conditions) if c.head is Op.CmpEq}
    chosen = [list(pairs)] if len(pairs) > 1 else []
    for several in (*chosen, *([k] for k in pairs)):
        kept = [q for k, p in enumerate(conditions) for q in (pairs[k] if k in several else (p,))]
        yield kept, f"already by the bounds of {', '.join(show(conditions[k]) for k in several)}"


def _two_bounds(equation: Term) -> tuple[Term, Term]:
    a, b = equation.args
    return apply(Op.CmpLe, a, b), apply(Op.CmpLe, b, a)


# Divisors ---------------------------------------------------------------------------------------------------------


def _divisors(rule: Rule, conditions: Sequence[Term], dtype: DType) -> _Changed:
    """With a divisor of what divides a size."""
    for k, condition in enumerate(conditions):
        if not all(_is_unbounded(rule, n, dtype) for n in variables_in(condition)):
            continue
        for implied in _implied(condition):
            kept = [*conditions[:k], implied, *conditions[k + 1 :]]
            yield kept, f"already where {show(implied)} in the place of {show(condition)}"


def _is_unbounded(rule: Rule, name: str, dtype: DType) -> bool:
    """Whether a variable is an index, whose arithmetic does not overflow."""
    kind = rule.kinds[name]
    return kind.kind in ("Size", "Range") or (
        dtype is index and kind.kind in ("Value", "Const", "Interval") and not kind.inside
    )


def _implied(condition: Term) -> Iterator[Value]:
    """What follows of an equation of indices about divisibility."""
    if condition.head is not Op.CmpEq:
        return
    left, right = condition.args
    if left.head is Op.Mod and right.head == "literal" and right.args[0] == 0:
        of, by = left.args
        yield from (of % factor == 0 for factor in _factors(by) if factor is not by)
        return
    for whole, other in ((left, right), (right, left)):
        if whole.head != "literal":
            yield from (whole % factor == 0 for factor in _factors(other))


def _factors(of: Value) -> list[Value]:
    """The prime divisors of a number above 0, the factors of a product, and anything else itself."""
    if of.head is Op.Mul:
        return [f for part in of.args for f in _factors(part)]
    if of.head != "literal":
        return [of]
    number = of.args[0]
    found = [p for p in _PRIMES if type(number) is int and number > 0 and number % p == 0]
    return [of if p == number else value(p) for p in found]
