"""Advice on rules with reductions, sets of axes, bodies and claims. Annotations are objects here: they hold texts."""

# ruff: noqa: F821

import pytest

from soundline.spec.dtypes import index, int32
from soundline.spec.rules.language import Rule, claim, rule, sum_over
from soundline.spec.rules.ranges import Body, Range
from soundline.spec.rules.terms import Axes, Const, Size, Tensor, Value
from soundline.verify.advice.grammar import literals
from soundline.verify.advice.termination import order_of
from soundline.verify.advice.weakest import weakest, with_conditions
from soundline.verify.judging.judge import prove
from soundline.verify.judging.wording import condition_text
from soundline.verify.smt.goals.solving import Budget

QUICK = Budget().share(0.3)


@rule(dtypes=[int32])
def reduced_twice(x: Tensor, a: Axes, b: Axes):
    return x.sum(a).sum(b), x.sum(a ^ b)


@rule(dtypes=[index])
def reduced_constant(r: Range["n"], n: Size, c: Value):
    return sum_over(r, c), c


@rule(dtypes=[index])
def in_its_row(x: Value, c: Const):
    return claim(x % c >= 0, x % c < c)


@rule(dtypes=[index])
def pull(r: Range["n"], n: Size, f: Body["r"], c: Value):
    return sum_over(r, f(r) * c), sum_over(r, f(r)) * c


@rule(dtypes=[index])
def mul_one(x: Value):
    return x * 1, x


@pytest.mark.parametrize(
    ("stated", "wanted"),
    [
        (reduced_twice, {"no_flags(a & b)", "disjoint(a, b)"}),
        (reduced_constant, {"n == 1", "c == 0"}),
        (in_its_row, {"c > 0"}),
    ],
    ids=lambda x: x.id if isinstance(x, Rule) else "",
)
def test_reductions_axes_and_claims_have_conditions_too(stated: Rule, wanted: set[str]) -> None:
    found, missing = weakest(stated, QUICK)
    assert set(missing.weakest) & wanted
    assert all(prove(with_conditions(stated, conditions)).verdict == "proved" for conditions in found)


def test_the_grammar_speaks_of_sets_of_axes_and_not_of_ranges() -> None:
    said = {condition_text(c) for c in literals(reduced_twice, (int32,))}
    assert {"no_flags(a & b)", "a == b"} <= said
    assert not any("r " in condition_text(c) for c in literals(reduced_constant, (index,)))


def test_rules_with_bodies_are_left_out_of_the_order_and_named() -> None:
    order = order_of((pull, mul_one))
    assert (order.unread, order.loops, order.rules) == (("pull",), (), 1)
