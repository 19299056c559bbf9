"""A rule that is proved stays proved, or says nothing, where a condition is replaced by a stronger one."""

# ruff: noqa: F821

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from soundline.impl.rules import LIBRARY
from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import DType, index, int8, int32
from soundline.spec.errors import RuleError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op
from soundline.spec.rules.instances import goals
from soundline.spec.rules.language import Rule, fresh
from soundline.spec.rules.notation import show
from soundline.spec.rules.ranges import Body
from soundline.spec.rules.terms import Value as ValueTerm
from soundline.spec.rules.terms import subterms
from soundline.verify import Const, Range, Size, Tensor, Value, float32, floats, given, rule, sum_over
from soundline.verify.judging.judge import prove, prove_layer
from soundline.verify.judging.weaker import with_divisors, with_less
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.verdicts.layers import layers_of

SMALL = Budget(rlimit=5_000_000)
RULES = {r.id: r for r in LIBRARY}


def variables(stated: Rule, *kinds: str) -> dict[str, ValueTerm]:
    """The variables of these kinds that stand in a rule, as terms."""
    found: dict[str, ValueTerm] = {}
    for term in (t for top in (stated.left, stated.right, *stated.given) for t in subterms(top)):
        if isinstance(term, ValueTerm) and len(term.args) == 1 and isinstance(term.args[0], str):
            name = term.args[0]
            if name in stated.kinds and stated.kinds[name].kind in kinds:
                found[name] = term
    return found


def strengthened(stated: Rule) -> Iterator[Rule]:
    """The rule with one condition more, and with one of its own made stronger."""
    numbers = list(variables(stated, "Const", "Size").values())
    for n, v in enumerate(numbers):
        for more in (v == 0, v == 1, v == 8, v % 4 == 0, v % 6 == 0, v > 3):
            yield replace(stated, given=(*stated.given, more))
        for w in numbers[n + 1 :]:
            for more in (v == w, v == 2 * w, v % w == 0):
                yield replace(stated, given=(*stated.given, more))
    for v in variables(stated, "Value", "Interval").values():
        yield replace(stated, given=(*stated.given, v > 3))
    for n, condition in enumerate(stated.given):
        for stronger in instead(condition):
            yield replace(stated, given=(*stated.given[:n], stronger, *stated.given[n + 1 :]))


def instead(condition: ValueTerm) -> Iterator[ValueTerm]:
    """Conditions that imply this one."""
    if condition.head in (Op.CmpGe, Op.CmpLe):
        yield condition.args[0] == condition.args[1]
    if condition.head is Op.CmpLt:
        yield condition.args[0] + 1 == condition.args[1]
    if condition.head is Op.CmpGt:
        yield condition.args[0] == condition.args[1] + 1
    if condition.head is Op.CmpEq and condition.args[0].head is Op.Mod:
        a, b = condition.args[0].args
        yield from (a % (b * 2) == 0, a % (b * 3) == 0, a == b, a == b * 2)


def dtype_for(stated: Rule) -> DType:
    dtypes = [dtype for _, dtype in layers_of(stated)]
    return next((d for d in (index, int32) if d in dtypes), dtypes[0])


def verdict(stated: Rule) -> str:
    try:
        return prove_layer(stated, dtype_for(stated), SMALL, derive=False).verdict
    except RuleError:  # a condition that compares numbers, of a rule that speaks of bool as well
        return "ill-typed"


UNDECIDED_ONCE = {
    "mod_mod_divides": ["(c == (d * 2))"],
    "any_at_one": ["(n == 1)", "(n == (0 + 1))"],
    "sum_up_to_among_zeros": ["(n == 8)", "(c == (0 + 1))"],
    "sum_from_among_zeros": ["((c + 1) == n)"],
    "sum_from_or_none_among_zeros": ["(c == n)", "(n == (0 + 1))"],
    "sum_up_to_or_none_of_floats": ["(c == 0)", "(n == 1)"],
    "product_from_or_none_of_floats": ["(c == n)"],
}
"""By rule, conditions under which it was not proved though it is without them."""


@pytest.mark.parametrize("name", UNDECIDED_ONCE)
def test_what_was_undecided_is_proved(name: str) -> None:
    wanted = UNDECIDED_ONCE[name]
    found = {show(c): s for s in strengthened(RULES[name]) for c in s.given if show(c) in wanted}
    assert set(found) == set(wanted)
    assert {text: verdict(s) for text, s in found.items()} == dict.fromkeys(wanted, "proved")


QUICK = [
    r
    for r in LIBRARY
    if r.given and layers_of(r) and variables(r, "Const", "Size") and "recombine" not in r.id
]


@pytest.mark.thorough
def test_rules_of_the_library_are_proved_or_vacuous_under_stronger_conditions() -> None:
    cases = [s for r in QUICK for s in strengthened(r)][::14]
    assert len(cases) > 30
    found = {f"{s.id} given {', '.join(map(show, s.given))}": verdict(s) for s in cases}
    assert {text: v for text, v in found.items() if v not in ("proved", "vacuous", "ill-typed")} == {}
    assert list(found.values()).count("proved") > len(cases) // 2


# wrong twins ------------------------------------------------------------------------------------------------------


@rule(dtypes=[int32])
def needs_the_divisibility(x: Tensor["n"], n: Size):
    given(n % 4 == 0, n > 0)
    return x.reshape((n // 4, 4)).sum(1).sum(0), x.reshape((n // 4, 4)).sum(0).sum(0) + 1


@rule(dtypes=[index])
def needs_more_than_the_bounds(x: Value, c: Const):
    given(c % 4 == 0)
    return (x * c) // 8, x * (c // 8)


@rule(dtypes=floats)
def needs_another_end(f: Value, c: Size, n: Size, k: Range["n"]):
    given(c == n, n > 0)
    return sum_over(k, f), sum_over(k, f) * 2


@pytest.mark.parametrize("stated", [needs_the_divisibility, needs_more_than_the_bounds, needs_another_end])
def test_a_wrong_rule_is_refuted_all_the_same(stated: Rule) -> None:
    assert prove(stated, budget=SMALL).verdict == "refuted"


# the weaker conditions follow -------------------------------------------------------------------------------------


def conditions_on(a: Any, b: Any, c: Any) -> list[Any]:
    return [
        a == b * c,
        b * c == a,
        a == b,
        a == b * 2,
        a == 0,
        a == 12,
        a % 12 == 0,
        a % (b * c) == 0,
        a % (b * 2) == 0,
        (a == b) & (a % c == 0),
        a < b,
    ]


@rule(dtypes=[index, int8])
def of_three(a: Const, b: Const, c: Const):
    given(a < b)
    return a + b + c, a + b - c


@pytest.mark.parametrize("dtype", [index, int8], ids=str)
def test_weaker_conditions_follow_from_those_that_are_given(dtype: DType) -> None:
    values = (-4, 0, 1, 2, 12, *((-128,) if dtype is int8 else ()))
    points = list(product(values, repeat=3))
    every = conditions_on(*(of_three.variables[n] for n in "abc"))

    def holding(stated: Rule) -> set[int]:
        goal = next(goals(stated, dtype))
        slots = [goal.variables[n].arg.slot for n in "abc"]
        found = set(range(len(points)))
        for condition in goal.hypotheses:
            values_at = [
                evaluate(condition, {s: Array(dtype, (), (v,)) for s, v in zip(slots, p, strict=True)}).item()
                for p in points
            ]
            found &= {n for n, holds in enumerate(values_at) if holds}
        return found

    seen = 0
    for one, other in [(c, None) for c in every] + [(c, every[6]) for c in every[:4]]:
        stated = replace(of_three, given=(one,) if other is None else (one, other))
        wanted = holding(stated)
        for less, said in (*with_divisors(stated, dtype), *with_less(stated)):
            seen += 1
            assert wanted <= holding(less), (show(one), said)
    assert seen > 20


def test_what_may_overflow_says_nothing_of_divisors() -> None:
    a, b = (of_three.variables[n] for n in "ab")
    stated = replace(of_three, given=(a == b * 2, a % 12 == 0))
    assert [said for _, said in with_divisors(stated, index)] == [
        "already where ((a % b) == 0) in the place of (a == (b * 2))",
        "already where ((a % 2) == 0) in the place of (a == (b * 2))",
        "already where (((b * 2) % a) == 0) in the place of (a == (b * 2))",
        "already where ((a % 2) == 0) in the place of ((a % 12) == 0)",
        "already where ((a % 3) == 0) in the place of ((a % 12) == 0)",
    ]
    assert list(with_divisors(stated, int8)) == []
    assert [said for _, said in with_less(stated)] == [
        "already by the bounds of (a == (b * 2)), ((a % 12) == 0)",
        "already by the bounds of (a == (b * 2))",
        "already by the bounds of ((a % 12) == 0)",
        "already without (a == (b * 2))",
        "already without ((a % 12) == 0)",
    ]


# sizes ------------------------------------------------------------------------------------------------------------


@rule(dtypes=[int32])
def pairs(r: Range["n"], f: Body["r"], n: Size):
    given(n % 2 == 0)
    return sum_over(r, f(r)), sum_over(k := fresh(n // 2), f(2 * k) + f(2 * k + 1))


@rule(dtypes=[int32])
def blocks(r: Range["n"], f: Body["r"], n: Size, c: Size):
    given(n % c == 0, c > 0)
    return sum_over(r, f(r)), sum_over(k := fresh(n // c), sum_over(m := fresh(c), f(c * k + m)))


@rule(dtypes=[float32])
def regrouped(x: Tensor["n"], n: Size):
    given(n % 2 == 0)
    return x.reshape((n // 2, 2)).reshape((n,)), x


def under(stated: Rule, *conditions: Any) -> str:
    return verdict(replace(stated, given=conditions))


def test_a_divisor_of_a_divisor_is_enough() -> None:
    for stated in (pairs, regrouped):
        n = stated.variables["n"]
        for stronger in (n % 2 == 0, n % 4 == 0, n % 6 == 0, n == 8, n == 12):
            assert under(stated, stronger) == "proved", show(stronger)
    n, c = blocks.variables["n"], blocks.variables["c"]
    for more in (
        (n % (2 * c) == 0, c > 0),
        (n == 2 * c, c > 0),
        (n % c == 0, c == 4),
        (n == 8, n % c == 0, c > 0),
    ):
        assert under(blocks, *more) == "proved", [show(m) for m in more]


def test_what_does_not_follow_is_not_proved() -> None:
    """The wrong twins: odd sizes, and conditions that exclude everything."""
    n = pairs.variables["n"]
    for wrong in (n % 3 == 0, n == 7, n % 5 == 0):
        assert under(pairs, wrong) == "refuted", show(wrong)
    for nothing in ((n % 4 == 0, n == 6), (n == 8, n == 12), (n % 2 == 0, n < 0)):
        assert under(pairs, *nothing) == "vacuous", [show(m) for m in nothing]
