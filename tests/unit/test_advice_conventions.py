"""Division in three conventions: which of them a rule survives, and where it fails in the others."""

from __future__ import annotations

from itertools import product

import pytest

from soundline.impl.rules import LIBRARY
from soundline.spec.dtypes import index, int8, int32, ints, uint8, uint32
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import substitute
from soundline.spec.rules.instances import goals
from soundline.spec.rules.language import Rule, cdiv, cmod, ediv, fits, given, rule, where
from soundline.spec.rules.terms import Const, Size, Tensor, Value, show
from soundline.spec.uop import const
from soundline.verify import advise
from soundline.verify.advice.conventions import (
    CONVENTIONS,
    EUCLIDEAN,
    FLOOR,
    TRUNCATED,
    Convention,
    convention_of,
    in_convention,
    under_conventions,
)
from soundline.verify.advice.results import RuleAdvice, UnderConvention
from soundline.verify.advice.text import lines_about
from soundline.verify.judging.judge import prove
from soundline.verify.smt.goals.solving import Budget

BY_ID = {r.id: r for r in LIBRARY}
whole = (index, *ints)


@rule(dtypes=[index])
def row_floor(x: Value, y: Value, c: Const):
    given(c != 0)
    return (x * c + y) // c, x + y // c


@rule(dtypes=[index])
def row_truncated(x: Value, y: Value, c: Const):
    given(c != 0)
    return cdiv(x * c + y, c), x + cdiv(y, c)


@rule(dtypes=[index])
def row_euclidean(x: Value, y: Value, c: Const):
    given(c != 0)
    return ediv(x * c + y, c), x + ediv(y, c)


@rule(dtypes=[index])
def nested(x: Value, c: Const, d: Const):
    given(d >= 0)
    return (x // c) // d, x // (c * d)


@rule(dtypes=[index])
def remainder_of_even(x: Value, c: Const):
    given(c % 2 == 0)
    return (x * c) % 2, 0


@rule(dtypes=[int8, int32])
def sign_out(x: Value, c: Const):
    given(fits(-x))
    return -x // c, -(x // c)


@rule(dtypes=[index])
def cancelled_by_zero(x: Value, c: Const):
    return (x * c) // c, x


@rule(dtypes=whole)
def mixed(x: Value, y: Value):
    return x // y, cdiv(x, y) - where((cmod(x, y) != 0) & ((x < 0) != (y < 0)), 1, 0)


@rule(dtypes=[uint8, uint32])
def unsigned(x: Value, y: Value):
    return (x % y) // y, 0


@rule
def rows_of_four(x: Tensor["n"], n: Size):  # noqa: F821, UP037
    given(n % 4 == 0)
    return x.reshape((n // 4, 4)).reshape((n,)), x


@rule(dtypes=[index])
def a_choice(x: Value, y: Value):
    return where((y < 0) & (x < 0), x + 1, x), where((y < 0) & (x < 0), x + 1, x)


def verdicts(stated: Rule) -> dict[str, str]:
    found = under_conventions(stated, prove(stated).verdict, Budget())
    return {x.name: x.verdict for x in found}


ROW = {"floor": "proved", "truncated": "refuted", "Euclidean": "proved"}


@pytest.mark.parametrize(
    ("stated", "wanted"),
    [
        (row_floor, ROW),
        (row_truncated, ROW),
        (row_euclidean, ROW),
        (nested, {"floor": "proved", "truncated": "proved", "Euclidean": "refuted"}),
        (remainder_of_even, dict.fromkeys(ROW, "proved")),
        (BY_ID["mod_recombine"], dict.fromkeys(ROW, "proved")),
        (BY_ID["unflatten_mod"], ROW),
        (BY_ID["mod_as_mask"], ROW),
    ],
    ids=lambda x: x.id if isinstance(x, Rule) else "",
)
def test_a_rule_is_judged_in_each_convention(stated: Rule, wanted: dict[str, str]) -> None:
    assert verdicts(stated) == wanted


def test_what_is_stated_is_not_judged_again_and_says_so() -> None:
    found = under_conventions(sign_out, "refuted", Budget())
    assert [(x.name, x.verdict, x.stated) for x in found] == [
        ("floor", "refuted", True),
        ("truncated", "proved", False),
        ("Euclidean", "refuted", False),
    ]
    assert found[2].at == "x = 1, c = 2 (bit-precise int8)"


def test_nothing_is_said_of_a_rule_that_no_convention_saves() -> None:
    assert under_conventions(cancelled_by_zero, "refuted", Budget()) == ()


@pytest.mark.parametrize("stated", [mixed, unsigned, rows_of_four, a_choice], ids=lambda r: r.id)
def test_nothing_is_said_where_conventions_are_mixed_or_make_no_difference(stated: Rule) -> None:
    assert under_conventions(stated, "proved", Budget()) == ()


def test_each_convention_is_recognized() -> None:
    assert convention_of(row_floor) is FLOOR
    assert convention_of(row_truncated) is TRUNCATED
    assert convention_of(row_euclidean) is EUCLIDEAN
    for name in ("add_zero", "idiv_as_cdiv", "cdiv_to_idiv"):
        assert convention_of(BY_ID[name]) is None


def test_conditions_and_nested_divisions_are_exchanged_too() -> None:
    there = in_convention(remainder_of_even, TRUNCATED)
    assert show(there.given[0]) == "(cmod(c, 2) == 0)"
    there = in_convention(nested, TRUNCATED)
    assert show(there.left) == "cdiv(cdiv(x, c), d)"
    back = in_convention(in_convention(nested, EUCLIDEAN), FLOOR)
    assert (show(back.left), show(back.right)) == (show(nested.left), show(nested.right))


def quotient(a: int, b: int, convention: Convention) -> int:
    """The definition, in Python's integers: the remainder is never negative, or has the sign of a or of b."""
    if b == 0:
        return 0
    down = a // b
    left = a - down * b
    if convention is TRUNCATED:
        return down + (left != 0 and (a < 0) != (b < 0))
    return down + (convention is EUCLIDEAN and left < 0)


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda c: c.name)
def test_the_exchanged_rule_computes_what_the_convention_says(convention: Convention) -> None:
    @rule(dtypes=[index])
    def both(x: Value, y: Value):
        return x // y, x % y

    (goal,) = goals(in_convention(both, convention), index)
    for a, b in product(range(-7, 8), range(-4, 5)):
        values = {goal.variables["x"]: const(a, index), goal.variables["y"]: const(b, index)}
        q, r = (evaluate(substitute(side, values)).item() for side in (goal.left, goal.right))
        assert q == quotient(a, b, convention)
        assert r == a - b * q


def test_it_is_told_in_a_sentence() -> None:
    about = RuleAdvice("r", "f.py", 3)
    assert about.is_empty
    found = (
        UnderConvention("floor", "proved", stated=True),
        UnderConvention("truncated", "refuted", "x = -1, c = 2 (unbounded)"),
        UnderConvention("Euclidean", "proved"),
    )
    advice = RuleAdvice("r", "f.py", 3, conventions=found)
    assert not advice.is_empty
    assert lines_about(advice) == [
        "holds under floor and Euclidean division; under truncated division refuted at x = -1, c = 2 (unbounded)"
    ]
    told = [
        UnderConvention("floor", "refuted", stated=True),
        UnderConvention("truncated", "unknown"),
        UnderConvention("Euclidean", "vacuous"),
    ]
    (line,) = lines_about(RuleAdvice("r", "f.py", 3, conventions=tuple(told)))
    assert line.split("; ") == [
        "under floor division, as stated, refuted",
        "under truncated division not decided",
        "under Euclidean division it says nothing",
    ]


def test_a_program_that_asks_for_advice_is_told_where_a_rule_fails() -> None:
    (floor, truncated, euclidean) = advise([row_floor]).of("row_floor").conventions
    assert floor.stated
    assert truncated.at == "x = 1, y = -1, c = 2 (unbounded)"
    assert euclidean.at == ""


def test_the_counterexample_is_one() -> None:
    """What is shown for another convention is wrong by Python's own arithmetic."""
    x, y, c = 1, -1, 2
    assert quotient(x * c + y, c, TRUNCATED) != x + quotient(y, c, TRUNCATED)
    assert all(quotient(x * c + y, c, k) == x + quotient(y, c, k) for k in (FLOOR, EUCLIDEAN))
