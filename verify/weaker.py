"""
Weaker conditions
=================

A rule that is proved under some conditions is proved under all that imply them. What does not decide a rule under its
own conditions may decide it under weaker ones: an equality unrolls one side and not the other, and a condition that has
nothing to do with the rule spends the budget. So an undecided rule is tried

- without one of its conditions,
- without those that speak of one variable alone,
- with ``a % p == 0`` in the place of ``a % n == 0`` or ``a == n``, for a prime divisor p of n, and with ``a % x == 0``
  in the place of ``a % (x * y) == 0``, of sizes and loop indices, which do not overflow. That is tried first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from soundline.spec.notation import Term, show
from soundline.spec.op_schema import Op
from soundline.spec.rules import Rule, variables_in
from soundline.spec.terms import Value, apply

MOST = 12
"""How many weaker forms of a rule are tried."""
_PRIMES = (2, 3, 5, 7)
_NO_OVERFLOW = ("Size", "Range")


def with_divisors(rule: Rule) -> Iterator[tuple[Rule, str]]:
    """Forms of a rule that ask for fewer divisors, and what is said of their conditions."""
    return _forms(rule, _divisors(rule, _all_conjuncts(rule)))


def with_fewer(rule: Rule) -> Iterator[tuple[Rule, str]]:
    """Forms of a rule with fewer conditions, and what is said of them."""
    return _forms(rule, _fewer(rule, _all_conjuncts(rule)))


def _forms(rule: Rule, found: Iterator[tuple[list[Term], str]]) -> Iterator[tuple[Rule, str]]:
    return ((replace(rule, given=tuple(kept)), said) for kept, said in islice(found, MOST))


def _all_conjuncts(rule: Rule) -> list[Term]:
    return [part for condition in rule.given for part in _conjuncts(condition)]


def _conjuncts(condition: Term) -> Iterator[Term]:
    """The conditions that are joined in one."""
    if condition.head in (Op.And, "and"):
        for part in condition.args:
            yield from _conjuncts(part)
    else:
        yield condition


def _fewer(rule: Rule, conditions: Sequence[Term]) -> Iterator[tuple[list[Term], str]]:
    """Without one condition, then without those about one variable."""
    for k, condition in enumerate(conditions):
        yield [*conditions[:k], *conditions[k + 1 :]], f"already without {show(condition)}"
    for name in rule.variables:
        own = [c for c in conditions if variables_in(c) == {name}]
        if len(own) > 1:
            said = f"already without {', '.join(map(show, own))}"
            yield [c for c in conditions if not any(c is o for o in own)], said


def _divisors(rule: Rule, conditions: Sequence[Term]) -> Iterator[tuple[list[Term], str]]:
    """With a divisor of what divides a size."""
    for k, condition in enumerate(conditions):
        if not all(rule.kinds[n].kind in _NO_OVERFLOW for n in variables_in(condition)):
            continue
        for implied in _implied(condition):
            kept = [*conditions[:k], implied, *conditions[k + 1 :]]
            yield kept, f"already where {show(implied)} in the place of {show(condition)}"


def _implied(condition: Term) -> Iterator[Value]:
    """What follows of an equality of sizes about divisibility."""
    match condition:
        case Value(head=Op.CmpEq, args=(Value(head=Op.Mod, args=(a, n)), Value(head="literal", args=(0,)))):
            if n.head is Op.Mul:
                yield from (apply(Op.Mod, a, part) == 0 for part in n.args)
            yield from (a % p == 0 for p in _prime_divisors(n) if n.args != (p,))
        case Value(head=Op.CmpEq, args=(Value() as a, n)) if a.head != "literal":
            yield from (a % p == 0 for p in _prime_divisors(n))


def _prime_divisors(of: Term) -> list[int]:
    """Those of a number above 0; none of any other term."""
    number = of.args[0] if of.head == "literal" else 0
    return [p for p in _PRIMES if type(number) is int and number > 0 and number % p == 0]
