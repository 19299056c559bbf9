"""What must not overflow so that a refuted integer layer holds: found, irreducible, proved, and told everywhere."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from soundline.spec.dtypes import float32, index, int8, int32, ints, uint8
from soundline.spec.rules.language import Rule, fits, given, rule, where
from soundline.spec.rules.terms import Const, Tensor, Value
from soundline.verify.judging import overflow
from soundline.verify.judging.judge import prove, prove_layer
from soundline.verify.judging.wording import bare, condition_text
from soundline.verify.reports.as_json import as_json
from soundline.verify.reports.report import Report
from soundline.verify.reports.sarif import as_sarif
from soundline.verify.reports.text import render
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.verdicts.as_json import layer_from_json, layer_to_json

whole = (index, *ints)


@rule(dtypes=whole)
def cancel(x: Value, c: Const):
    given(c != 0)
    return (x * c) // c, x


@rule(dtypes=whole)
def without_zero(x: Value, c: Const):
    return (x * c) // c, x


@rule(dtypes=whole)
def two_signs(x: Value, y: Value):
    return -x // -y, x // y


@rule(dtypes=whole)
def same_offset(x: Value, y: Value, z: Value):
    return x + z < y + z, x < y


@rule(dtypes=[index, int32])
def tensors(x: Tensor, y: Tensor, c: Const):
    return x + c < y + c, x < y


@rule(dtypes=[int8])
def inner_only(x: Value, y: Value):
    given(y > 0)
    return (x + 1) // y + 0 * y, (x + 1) // y + (x - x)


@rule(dtypes=[int8])
def needs_the_inner(x: Value):
    return (x + 1 > x) & (x * 2 == x + x), x * 2 == x + x


def holds_when(stated: Rule, dtype) -> tuple[str, ...]:
    return prove_layer(stated, dtype, Budget().share(0.2)).holds_when


def test_a_layer_that_only_wraps_says_what_must_fit() -> None:
    report = prove_layer(cancel, int8)
    assert report.verdict == "refuted"
    assert report.holds_when == ("fits(x * c)",)


def test_it_needs_each_of_two_operations_or_only_one() -> None:
    assert holds_when(two_signs, int8) == ("fits(-x)", "fits(-y)")
    assert holds_when(two_signs, uint8) == ("fits(-x)",)
    assert holds_when(same_offset, int8) == ("fits(x + z)", "fits(y + z)")


def test_an_outer_operation_that_may_wrap_is_left_out() -> None:
    assert holds_when(needs_the_inner, int8) == ("fits(x + 1)",)


def test_a_rule_about_tensors_has_one_too() -> None:
    assert holds_when(tensors, int32) == ("fits(x + c)", "fits(y + c)")


def test_no_fits_helps_against_zero() -> None:
    assert holds_when(without_zero, int8) == ()


def test_what_is_right_needs_none() -> None:
    assert prove_layer(inner_only, int8).verdict == "proved"
    assert holds_when(inner_only, int8) == ()


@rule(dtypes=[float32, index])
def chosen_by_a_narrow_one(x: Value, y: Value[int8]):
    return where(y + 1 > y, x, x + 1), x


@pytest.mark.parametrize("dtype", [float32, index])
def test_integers_beside_the_dtype_of_a_rule_wrap_as_well(dtype) -> None:
    assert holds_when(chosen_by_a_narrow_one, dtype) == ("fits(y + 1)",)


def test_the_mathematical_integers_never_wrap() -> None:
    assert prove_layer(without_zero, index).holds_when == ()


def test_nobody_derives_what_was_not_asked_for() -> None:
    assert prove_layer(cancel, int8, derive=False).holds_when == ()


@pytest.mark.parametrize("stated", [cancel, two_signs, same_offset])
def test_what_is_told_is_proved_and_irreducible(stated: Rule) -> None:
    def holds(candidate: Rule) -> bool:
        return prove_layer(candidate, int8, derive=False).verdict == "proved"

    found = overflow.derived(stated, int8, holds)
    assert found
    assert holds(replace(stated, given=(*stated.given, *found)))
    for n in range(len(found)):
        fewer = (*found[:n], *found[n + 1 :])
        assert not holds(replace(stated, given=(*stated.given, *fewer)))


def test_a_prover_that_proves_nothing_leads_to_no_condition() -> None:
    assert overflow.derived(cancel, int8, lambda _: False) == ()


def test_a_condition_that_points_refute_is_never_asked_about() -> None:
    asked: list[Rule] = []
    overflow.derived(without_zero, int8, lambda r: bool(asked.append(r)) or True)
    assert not asked


def test_it_stands_in_every_report_and_in_the_cache() -> None:
    short = replace(cancel, dtypes=(index, int8))
    report = Report((prove(short),), (), 0.0)
    (layer,) = [x for x in report.rules[0].layers if x.verdict == "refuted"]
    assert layer_from_json(json.loads(json.dumps(layer_to_json(layer)))) == layer
    assert as_json(report)["rules"][0]["holds_when"] == {"bit-precise int8": ["fits(x * c)"]}
    assert "holds under given(fits(x * c)), which is proved" in render(report)
    (result,) = as_sarif(report)["runs"][0]["results"]
    assert result["properties"]["holdsWhen"] == {"bit-precise int8": ["fits(x * c)"]}
    assert "fits(x * c)" in result["message"]["text"]


def test_conditions_are_written_as_they_are_pasted() -> None:
    x = Value("var", ("x",))
    assert condition_text(fits((x + 1) * 2)) == "fits((x + 1) * 2)"
    assert condition_text((x > 0) & (x < 5)) == "(x > 0) & (x < 5)"
    assert bare("(a) | (b)") == "(a) | (b)"
    assert bare("((a) | (b))") == "(a) | (b)"
