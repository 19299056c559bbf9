"""Stronger conditions: what is proved under some conditions is proved under all that imply them."""

# ruff: noqa: F821, UP037

from __future__ import annotations

from dataclasses import replace

import pytest

from soundline.spec.dtypes import float32, index, int32
from soundline.spec.notation import show
from soundline.spec.ranges import Body, Range
from soundline.spec.rules import Rule, fresh, given, rule, sum_over
from soundline.spec.terms import Const, Size, Tensor, Value
from soundline.verify.court import shipped
from soundline.verify.layers import layers_of
from soundline.verify.rules import prove_layer
from soundline.verify.smt.solving import Budget
from soundline.verify.weaker import with_divisors, with_fewer

BUDGET = Budget(3_000_000, 10.0)


@rule(dtypes=[int32])
def pairs(r: Range["n"], f: Body["r"], n: Size):
    given(n % 2 == 0)
    return sum_over(r, f(r)), sum_over(k := fresh(n // 2), f(2 * k) + f(2 * k + 1))


@rule(dtypes=[int32])
def blocks(r: Range["n"], f: Body["r"], n: Size, c: Size):
    given(n % c == 0, c > 0)
    return sum_over(r, f(r)), sum_over(k := fresh(n // c), sum_over(m := fresh(c), f(c * k + m)))


@rule(dtypes=[int32])
def cut(r: Range["n"], f: Body["r"], n: Size, c: Size):
    given(c >= 0, c <= n)
    return sum_over(r, f(r)), sum_over(k := fresh(c), f(k)) + sum_over(m := fresh(n - c), f(m + c))


@rule(dtypes=[float32])
def folded(x: Tensor["n"], n: Size):
    given(n % 2 == 0)
    return x.reshape((n // 2, 2)).reshape((n,)), x


@rule(dtypes=[index])
def halves(x: Value, c: Const):
    given(c > 0)
    return (x * c) // c, x


def verdict(stated: Rule, *more: Value, instead: bool = False) -> str:
    other = replace(stated, given=more if instead else (*stated.given, *more))
    return prove_layer(other, layers_of(stated)[0][1], BUDGET).verdict


def test_a_divisor_of_a_divisor_is_enough() -> None:
    n, c = pairs.variables["n"], blocks.variables["c"]
    assert isinstance(n, Value)
    assert isinstance(c, Value)
    for stated in (pairs, folded):
        n = stated.variables["n"]
        assert verdict(stated) == "proved"
        for stronger in (n % 4 == 0, n % 6 == 0, n == 8, n == 12):
            assert verdict(stated, stronger, instead=True) == "proved", show(stronger)
    n, c = blocks.variables["n"], blocks.variables["c"]
    for more in (
        (n % (2 * c) == 0, c > 0),
        (n == 2 * c, c > 0),
        (n % c == 0, c == 4),
        (n == 8, n % c == 0, c > 0),
    ):
        assert verdict(blocks, *more, instead=True) == "proved", [show(m) for m in more]


def test_what_does_not_follow_is_not_proved() -> None:
    """The wrong twins: odd sizes, and conditions that exclude everything."""
    n = pairs.variables["n"]
    for wrong in (n % 3 == 0, n == 7, n % 5 == 0):
        assert verdict(pairs, wrong, instead=True) == "refuted", show(wrong)
    for nothing in ((n % 4 == 0, n == 6), (n == 8, n == 12), (n % 2 == 0, n < 0)):
        assert verdict(pairs, *nothing, instead=True) == "vacuous", [show(m) for m in nothing]


@pytest.mark.parametrize("stated", [pairs, blocks, cut, folded, halves], ids=lambda r: r.id)
def test_more_conditions_leave_a_proof_a_proof(stated: Rule) -> None:
    for name, variable in stated.variables.items():
        if stated.kinds[name].kind not in ("Size", "Const", "Value"):
            continue
        for more in (
            (variable == 2,),
            (variable % 4 == 0,),
            (variable >= 3, variable <= 5),
            (variable == 0,),
        ):
            assert verdict(stated, *more) in ("proved", "vacuous"), (name, [show(m) for m in more])


def test_rules_of_the_library_stay_proved_under_more_conditions() -> None:
    """Those that resisted when a size was given, or a condition that spends the budget."""
    found = shipped()
    chosen = [
        ("sum_from_among_zeros", "n", 2),
        ("sum_up_to_among_zeros", "n", 2),
        ("fold_without_last", "n", 2),
    ]
    for name, variable, number in chosen:
        stated = found[name]
        assert verdict(stated, stated.variables[variable] == number) == "proved", name


def test_the_weaker_forms_of_a_rule() -> None:
    n, c = blocks.variables["n"], blocks.variables["c"]
    stated = replace(blocks, given=((n % (2 * c) == 0) & (c > 0), n == 12, c >= 2))
    assert [said for _, said in with_divisors(stated)] == [
        "already where ((n % 2) == 0) in the place of ((n % (2 * c)) == 0)",
        "already where ((n % c) == 0) in the place of ((n % (2 * c)) == 0)",
        "already where ((n % 2) == 0) in the place of (n == 12)",
        "already where ((n % 3) == 0) in the place of (n == 12)",
    ]
    assert [said for _, said in with_fewer(stated)] == [
        "already without ((n % (2 * c)) == 0)",
        "already without (c > 0)",
        "already without (n == 12)",
        "already without (c >= 2)",
        "already without (c > 0), (c >= 2)",
    ]
    assert all(len(r.given) in (2, 3, 4) for r, _ in (*with_divisors(stated), *with_fewer(stated)))
    wrapping = replace(halves, given=(halves.variables["c"] % 4 == 0,))
    assert list(with_divisors(wrapping)) == []  # of a Const, which may overflow, nothing is said
