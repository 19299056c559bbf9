"""Conditions that ask for too much, and rules that others cover: pointed out where proved, and only there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from soundline.impl.rules import LIBRARY
from soundline.spec.dtypes import all_dtypes, bool_, floats, index, int8, int16, int32, ints, uint8
from soundline.spec.rules.language import Rule, fits, given, is_identity, lossless, rule
from soundline.spec.rules.ranges import Range, max_over
from soundline.spec.rules.terms import (
    BinaryOp,
    Bool,
    Const,
    DTypeVar,
    Interval,
    Offset,
    Perm,
    Shape,
    Size,
    Tensor,
    UnaryOp,
    Value,
)
from soundline.verify.advice import strength
from soundline.verify.advice.advising import advise_together
from soundline.verify.advice.one_way import matches
from soundline.verify.advice.results import Subsumed, TooStrong
from soundline.verify.advice.strength import too_strong
from soundline.verify.advice.subsumption import subsumed
from soundline.verify.judging.judge import prove
from soundline.verify.smt.goals.solving import Budget

QUICK = Budget().share(0.3)
BY_ID = {stated.id: stated for stated in LIBRARY}
SHORT = (index, int8, uint8)


def said(stated: Rule) -> list[tuple[str, str]]:
    return [(x.condition, x.instead) for x in too_strong(stated, QUICK)]


# stronger than needed -------------------------------------------------------------------------------------------------


@rule(dtypes=[index])
def div_div(x: Value, a: Const, b: Const):
    given(a > 0, b > 0)
    return (x // a) // b, x // (a * b)


@rule(dtypes=SHORT)
def above(x: Value):
    given(x > 0)
    return x // x, (x * 0) + 1


@rule(dtypes=[uint8])
def above_in_words(x: Value):
    given(x > 0)
    return x // x, (x * 0) + 1


@rule(dtypes=SHORT)
def sum_fits(x: Value, c: Const):
    given(c != 0, fits(x * c + 1))
    return (x * c) // c, x


@rule(dtypes=SHORT)
def exact(x: Value, c: Const):
    given(c != 0, fits(x * c))
    return (x * c) // c, x


@rule(dtypes=SHORT)
def said_twice(x: Value, c: Const):
    given((c != 0) & (c >= 0))
    return c // c, (x * 0) + 1


@rule(dtypes=ints, s=ints)
def widened(x: Value, y: Value, s: DTypeVar):
    given(lossless(x.dtype, s))
    return (x.cast(s) + y.cast(s)).cast(x.dtype), x + y


@rule
def only_for_identity(x: Tensor, p: Perm):
    given(is_identity(p))
    return x.permute(p).permute(p), x


@rule
def permuted_alike(x: Tensor, y: Tensor, f: BinaryOp, p: Perm):
    given(is_identity(p))
    return f(x, y).permute(p), f(x.permute(p), y.permute(p))


def test_a_condition_that_is_not_needed_is_dropped_and_one_too_strong_weakened() -> None:
    assert said(div_div) == [("a > 0", ""), ("b > 0", "b >= 0")]


def test_greater_becomes_different_where_that_is_enough() -> None:
    assert said(above) == [("x > 0", "x != 0")]


def test_what_only_looks_weaker_is_not_pointed_out() -> None:
    """At unsigned integers x > 0 and x != 0 say the same."""
    assert said(above_in_words) == []


def test_a_condition_that_is_needed_in_full_is_left_alone() -> None:
    assert said(exact) == []


def test_less_needs_to_fit() -> None:
    assert said(sum_fits) == [("fits((x * c) + 1)", "fits(x * c)")]


def test_a_part_of_a_conjunction_is_enough() -> None:
    assert said(said_twice) == [("(c != 0) & (c >= 0)", "c != 0")]


def test_dtypes_may_be_asked_too_much_of() -> None:
    (found,) = too_strong(widened, QUICK)
    assert (found.condition, found.instead) == ("lossless(x.dtype, s)", "bits_at_most(x.dtype, s)")
    assert "dtype" in found.example


def test_conditions_of_rules_about_shapes_are_looked_at_too() -> None:
    assert said(replace(permuted_alike, dtypes=(int32,))) == [("is_identity(p)", "")]
    assert said(replace(only_for_identity, dtypes=(int32,))) == []


def test_the_library_knows_what_it_asks_for() -> None:
    assert said(BY_ID["cmod_to_mod"]) == []
    assert said(BY_ID["mul_div_cancel"]) == []
    assert said(BY_ID["cast_to_same"]) == []  # without it the sides have two dtypes
    assert said(BY_ID["unflatten_mod"]) == []
    assert said(BY_ID["eq_of_widened"]) == []  # bits_at_most would leave out index


@pytest.mark.parametrize("stated", [div_div, above, sum_fits, said_twice])
def test_the_weaker_rule_is_proved_and_its_example_is_one_it_gains(stated: Rule) -> None:
    found: tuple[TooStrong, ...] = too_strong(stated, QUICK)
    assert found
    assert all(x.example for x in found)


def test_a_prover_that_proves_nothing_points_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strength, "is_proved", lambda rule, budget: False)
    assert too_strong(div_div, QUICK) == ()


def test_each_proposal_is_put_before_the_prover(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Rule] = []
    monkeypatch.setattr(strength, "is_proved", lambda rule, budget: bool(asked.append(rule)) or True)
    found = too_strong(div_div, QUICK)
    assert [x.condition for x in found] == ["a > 0", "b > 0"]
    assert len(asked) == 2
    assert prove(asked[0]).verdict == "proved"
    assert prove(asked[1]).verdict == "refuted"  # so that only a prover that lies could have pointed it out


# subsumed -------------------------------------------------------------------------------------------------------------


@rule(dtypes=SHORT)
def add_zero(x: Value):
    return x + 0, x


@rule(dtypes=SHORT)
def add_zero_first(x: Value):
    return 0 + x, x


@rule(dtypes=[int8])
def add_zero_of_product(x: Value, y: Value):
    return x * y + 0, x * y


@rule(dtypes=[*SHORT, int16])
def add_zero_wider(x: Value):
    return x + 0, x


@rule(dtypes=SHORT)
def double(x: Value):
    return x + x, x * 2


@rule(dtypes=SHORT)
def double_by_shift(x: Value):
    return x + x, x << 1


@rule(dtypes=SHORT)
def sub_constant(x: Value, c: Const):
    return x - c, x + -c


@rule(dtypes=SHORT)
def sub_two_from_sum(x: Value, y: Value):
    return (x + y) - 2, (x + y) + -2


@rule(dtypes=SHORT)
def idiv_self(x: Value):
    given(x != 0)
    return x // x, 1


@rule(dtypes=SHORT)
def idiv_self_above(x: Value):
    given(x > 3)
    return x // x, 1


@rule(dtypes=SHORT)
def idiv_self_anyway(x: Value):
    return x // x, 1


@rule(dtypes=[index, int8])
def bounded(x: Interval, y: Interval):
    given(x.hi < y.lo)
    return x < y, True


@rule(dtypes=[int8])
def bounded_by_constant(x: Interval, c: Const):
    given(x.hi < c)
    return x < c, True


@rule
def unary_through(x: Tensor, f: UnaryOp, p: Perm):
    return f(x).permute(p), f(x.permute(p))


@rule(dtypes=[int32])
def negation_through(x: Tensor, p: Perm):
    return (-x).permute(p), -(x.permute(p))


@rule(dtypes=[int32])
def negation_turned(x: Tensor):
    return (-x).permute((1, 0)), -(x.permute((1, 0)))


@rule(dtypes=[bool_])
def and_self(x: Bool):
    return x & x, x


def covered(*rules: Rule, proved: bool = True) -> dict[str, Subsumed]:
    names = {r.id for r in rules} if proved else set()
    return {r.id: how for r, how in subsumed(rules, names, QUICK)}


def test_a_special_case_is_covered() -> None:
    found = covered(add_zero_of_product, add_zero)
    assert set(found) == {"add_zero_of_product"}
    assert found["add_zero_of_product"].by == "add_zero"
    assert found["add_zero_of_product"].how == "x = (x * y)"
    assert found["add_zero_of_product"].same


@rule
def greatest_of_copies(r: Range["n"], n: Size, x: Value):  # type: ignore[no-untyped-def, type-arg, valid-type]  # noqa: F821, UP037
    given(n > 0)
    return max_over(r, x), x


@rule(dtypes=[index])
def greatest_of_all(r: Range["n"], n: Size):  # type: ignore[no-untyped-def, type-arg, valid-type]  # noqa: F821, UP037
    given(n > 0)
    return max_over(r, r), n - 1


@rule
def cut_where_padded(x: Tensor, o: Offset, s: Shape):  # type: ignore[no-untyped-def]
    given(o >= 1)
    return x.pad(o, s).shrink(o, x.shape), x


def test_of_sizes_a_weaker_condition_gains_some() -> None:
    """A size is positive or 0, so n != 0 is no weaker than n > 0; what has no value without it is not asked for."""
    assert too_strong(greatest_of_copies, QUICK) == ()
    assert [(t.condition, t.instead, t.example) for t in too_strong(greatest_of_all, QUICK)] == [
        ("n > 0", "", "")
    ]
    (found,) = too_strong(cut_where_padded, QUICK)
    assert (found.condition, found.instead) == ("o >= 1", "")
    assert found.example.startswith("o[0] = 0, s[0] = 1, x.shape[0] = 1 at ")


def test_rules_that_the_engine_applies_apart_cover_nothing() -> None:
    """Every sum is one of two operands that may change places, and no rule of sums is superfluous for that."""
    names = (
        "add_commutative",
        "add_zero",
        "neg_as_mul",
        "neg_as_sub",
        "neg_neg",
        "mulacc_as_sum",
        "sub_zero",
    )
    named = [r for r in LIBRARY if r.id in names]
    found, _ = advise_together([*named, add_zero_of_product], [*names, "add_zero_of_product"], QUICK)
    assert set(found) == {"add_zero_of_product"}


def test_the_general_rule_is_not_covered_by_its_special_case() -> None:
    assert "add_zero" not in covered(add_zero_of_product, add_zero)


def test_operands_are_tried_in_both_orders() -> None:
    assert set(covered(add_zero, add_zero_first)) == {"add_zero_first"}


def test_every_dtype_must_be_covered() -> None:
    assert set(covered(add_zero, add_zero_wider)) == {"add_zero"}  # the wider one covers it


def test_a_constant_stands_for_numbers_and_not_for_values() -> None:
    assert set(covered(sub_constant, sub_two_from_sum)) == {"sub_two_from_sum"}


def test_conditions_must_follow() -> None:
    assert set(covered(idiv_self, idiv_self_above)) == {"idiv_self_above"}
    assert covered(idiv_self_above, replace(idiv_self, id="idiv_self")).keys() == {"idiv_self_above"}
    assert "idiv_self_anyway" not in covered(idiv_self, idiv_self_anyway)


def test_intervals_stand_for_constants() -> None:
    assert set(covered(bounded, bounded_by_constant)) == {"bounded_by_constant"}
    assert covered(bounded_by_constant, bounded, proved=False).keys() == {"bounded_by_constant"}


def test_another_form_of_the_same_value_counts_only_where_the_other_rule_comes_first() -> None:
    found = covered(double, double_by_shift)
    assert set(found) == {"double_by_shift"}
    assert not found["double_by_shift"].same
    assert set(covered(double_by_shift, double)) == {"double"}


def test_the_values_of_rules_that_are_not_proved_are_compared_by_proof() -> None:
    wrong = replace(double, id="wrong", right=double.left * 0)
    assert covered(double, double_by_shift, proved=False).keys() == {"double_by_shift"}
    assert covered(wrong, double, proved=False) == {}


def test_ops_and_permutations_are_matched() -> None:
    found = covered(unary_through, negation_through, negation_turned)
    assert found.keys() == {"negation_through", "negation_turned"}
    assert found["negation_turned"].how.endswith("p = (1, 0)")


def test_nothing_is_said_of_rules_that_have_nothing_to_do_with_each_other() -> None:
    assert covered(add_zero, double, and_self, idiv_self) == {}


def test_a_licence_that_the_special_rule_does_not_have_keeps_it_alive() -> None:
    assert covered(replace(add_zero, licences=("no_nan",)), add_zero_of_product) == {}


def test_one_way_matching_is_one_way() -> None:
    assert list(matches(add_zero, add_zero_of_product))
    assert not list(matches(add_zero_of_product, add_zero))
    assert not list(matches(sub_constant, replace(add_zero, left=double.left)))


def test_floats_are_no_integers() -> None:
    float_rule = replace(add_zero, id="f", dtypes=tuple(floats), right=add_zero.left * 1)
    assert "f" not in covered(add_zero, float_rule)
    assert all_dtypes
