"""
Lemmas of integers
==================

The assumptions about products and floor quotients of symbolic numbers, proved for Z3's integers.
"""

from __future__ import annotations

from typing import Any

import z3

from soundline.verify.law.schema import Outcome
from soundline.verify.law.symbols import (
    floor_quotient,
    monotone_dividend,
    monotone_divisor,
    monotone_product,
)
from soundline.verify.smt.goals.solving import Budget, check


def products_are_monotone(budget: Budget) -> Outcome:
    """What is assumed of products of symbolic numbers."""
    a, b, c = z3.Ints("a b c")
    return _proved([monotone_product(a * b, c * b, a, c, b)], [], "all integers", budget)


def quotients_are_monotone(budget: Budget) -> Outcome:
    """What is assumed of floor quotients of symbolic numbers."""
    a, b, c, d, p, q, back = z3.Ints("a b c d p q back")
    first, of_other_dividend, of_other_divisor = _is_floor(p, a, b), _is_floor(q, c, b), _is_floor(q, a, d)
    rest = [back == p * b]
    for claims, given in (
        ([monotone_dividend(p, q, a, c, b)], [first, of_other_dividend]),
        ([monotone_divisor(p, q, a, b, d)], [first, of_other_divisor]),
        (floor_quotient(p, a, b, back).children(), [first, *rest]),
    ):
        found = _proved(claims, given, "all integers", budget)
        if found.kind != "proved":
            return found
    return Outcome("proved", "all integers")


def _is_floor(p: Any, a: Any, b: Any) -> Any:
    above = z3.Implies(b > 0, z3.And(p * b <= a, a <= p * b + b - 1))
    below = z3.Implies(b < 0, z3.And(p * b >= a, a >= p * b + b + 1))
    return z3.And(b != 0, above, below)


def _proved(claims: list[Any], given: list[Any], covered: str, budget: Budget) -> Outcome:
    for claim in claims:
        answer = check([*given, z3.Not(claim)], None, budget, "plain")
        if answer.status != "unsat":
            return Outcome("unknown", "", detail=answer.reason or f"not so at {answer.model}")
    return Outcome("proved", covered)
