"""The weakest condition: the library's own guards come back, nothing unproved or vacuous is proposed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from soundline.impl.rules import LIBRARY
from soundline.spec.dtypes import all_dtypes, bool_, floats, index, int8, int32, ints, sints, uint8
from soundline.spec.rules.instances import Goal, dtypes_of, goals
from soundline.spec.rules.language import Rule, given, lossless, maximum, rule
from soundline.spec.rules.terms import Const, DTypeVar, Interval, Size, Static, Tensor, Term, Value, show
from soundline.verify.advice import weakest as searching
from soundline.verify.advice.grammar import is_decidable, literals
from soundline.verify.advice.implication import follows
from soundline.verify.advice.search import Choice, conjunctions, useful
from soundline.verify.advice.table import Table
from soundline.verify.advice.weakest import is_proved, weakest, with_conditions
from soundline.verify.judging.judge import prove
from soundline.verify.judging.wording import condition_text
from soundline.verify.smt.goals.solving import Budget

from ..representative import one_in  # noqa: TID252

BY_ID = {stated.id: stated for stated in LIBRARY}
QUICK = Budget().share(0.3)

GUARDED = (
    *("idiv_self", "single_value", "mod_of_reduced", "idiv_to_zero", "mod_in_one_row", "unflatten_mod"),
    *("lt_is_true", "lt_is_false", "le_is_true", "le_is_false", "eq_is_false", "ne_is_true", "max_is_left"),
    *("cmod_to_mod", "lt_add_same", "lt_sub_zero", "mul_mod_cancel", "mul_div_cancel"),
    *("mod_mod_divides", "idiv_idiv", "mul_idiv_multiple", "add_mul_mod_common", "lt_mul_constants"),
    *("lt_idiv_constants", "permute_identity", "flip_nothing"),
)
"""Guarded rules whose guard is dropped and looked for again: those that take little time."""


def texts(found: tuple[tuple[Term, ...], ...]) -> list[str]:
    return [", ".join(map(condition_text, ts)) for ts in found]


def some_instances(stated: Rule) -> Iterator[Goal]:
    """Instances of one dtype of each sort."""
    chosen = [d for d in dtypes_of(stated) if d in (bool_, index, int8, uint8, int32)] or dtypes_of(stated)[
        :1
    ]
    for dtype in chosen:
        yield from goals(stated, dtype, max_rank=2)


def is_as_weak(stated: Rule, found: tuple[Term, ...]) -> bool:
    """Whether a condition holds, by proof, wherever the rule's own guard does."""
    return all(follows(g, found, QUICK).verdict in ("proved", "vacuous") for g in some_instances(stated))


def test_there_are_at_least_twenty_guarded_rules() -> None:
    assert len(set(GUARDED)) >= 25
    assert all(BY_ID[name].given for name in GUARDED)


@pytest.mark.parametrize("name", one_in(4, GUARDED))
def test_a_dropped_guard_comes_back_equivalent_or_weaker(name: str) -> None:
    stated = BY_ID[name]
    bare = replace(stated, given=())
    found, missing = weakest(bare, QUICK)
    assert found, missing
    assert len(missing.weakest) == len(found)
    assert any(is_as_weak(stated, conditions) for conditions in found), (texts(found), stated.given)


def test_a_stronger_condition_would_not_count_as_the_guard() -> None:
    stated = BY_ID["idiv_self"]
    x = stated.variables["x"]
    assert isinstance(x, Value)
    assert is_as_weak(stated, (x != 0,))
    assert not is_as_weak(stated, (x > 0,))


# what is proposed ---------------------------------------------------------------------------------------------------


@rule(dtypes=[index, int8, uint8])
def cancel(x: Value, c: Const):
    return (x * c) // c, x


@rule(dtypes=[int8, uint8])
def no_way(x: Value):
    return x, x + 1


@rule(dtypes=[index])
def half(x: Value, c: Const):
    return (x * 2) // c, x * (2 // c)


@rule(dtypes=[index])
def either(x: Value, c: Const, d: Const):
    return maximum(c, d) * x, maximum(c * x, d * x)


@rule(dtypes=floats)
def times_zero(x: Value):
    return x * 0, x - x


@rule(dtypes=[*ints, index], s=[*ints, index])
def there_and_back(x: Value, s: DTypeVar):
    return x.cast(s).cast(x.dtype), x


@rule
def sums(x: Tensor, y: Tensor, m: Size):
    return x.reshape((m,)), y.reshape((m,))


@rule(dtypes=[index])
def half_said(x: Interval, c: Const):
    given(x.lo >= 0)
    return x % c, x


@pytest.mark.parametrize("stated", [cancel, half, either, there_and_back, half_said])
def test_whatever_is_proposed_is_proved_by_the_ordinary_prover(stated: Rule) -> None:
    found, missing = weakest(stated, QUICK)
    assert found, missing
    for conditions in found:
        assert prove(with_conditions(stated, conditions)).verdict == "proved"


@pytest.mark.parametrize("stated", [cancel, half_said])
def test_none_of_several_conditions_implies_another(stated: Rule) -> None:
    found, _ = weakest(stated, QUICK)
    for one in found:
        for other in found:
            if one is not other:
                assert not is_as_weak(with_conditions(stated, one), other)


def test_the_integers_and_the_words_need_different_things_and_get_both() -> None:
    _, missing = weakest(cancel, QUICK)
    assert missing.weakest[0] == "c != 0, fits(x * c)"


def test_a_condition_that_is_there_already_is_kept() -> None:
    _, missing = weakest(half_said, QUICK)
    assert missing.weakest[0] in ("x.hi < c", "c > x.hi")


def test_dtypes_are_conditions_too() -> None:
    _, missing = weakest(there_and_back, QUICK)
    assert set(missing.weakest) & {"bits_at_most(x.dtype, s)", "fits(x.cast(s))", "lossless(x.dtype, s)"}


def test_where_nothing_helps_nothing_is_proposed_and_the_grammar_is_counted() -> None:
    found, missing = weakest(no_way, QUICK)
    assert (found, missing.weakest) == ((), ())
    assert missing.literals == len(literals(no_way, dtypes_of(no_way))) > 5
    assert missing.points > 0
    assert "agree at no point" in missing.note


def test_nothing_vacuous_is_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition that no value meets makes every rule true; the points know better."""
    x = no_way.variables["x"]
    assert isinstance(x, Value)
    monkeypatch.setattr(searching, "literals", lambda *_: (x < 0, x > 0, (x < 0) & (x > 0), x != x))
    assert weakest(no_way, QUICK)[0] == ()


def test_a_prover_that_decides_nothing_leads_to_no_proposal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_verdict", lambda rule, budget: ("unknown", None))
    found, missing = weakest(cancel, QUICK)
    assert found == ()
    assert missing.tried == searching.MOST_UNKNOWN


def test_a_rule_whose_fault_no_point_shows_needs_a_condition_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Rule] = []

    def wrong(rule: Rule, _budget: Budget) -> tuple[str, None]:
        asked.append(rule)
        return "refuted", None

    monkeypatch.setattr(searching, "_verdict", wrong)
    stated = replace(BY_ID["mul_div_cancel"], dtypes=(index,))
    assert weakest(stated, QUICK)[0] == ()
    assert asked
    assert all(len(r.given) > len(stated.given) for r in asked)


def test_a_layer_that_refutes_is_enough_to_drop_a_proposal() -> None:
    x, c = (cancel.variables[n] for n in "xc")
    assert isinstance(x, Value)
    assert isinstance(c, Value)
    assert not is_proved(with_conditions(cancel, (c != 0,)), QUICK)  # right over index alone
    assert not is_proved(with_conditions(cancel, (c < 0, c > 0)), QUICK)  # vacuous
    assert is_proved(with_conditions(cancel, (c == 1,)), QUICK)


def test_the_search_is_the_same_each_time() -> None:
    assert weakest(cancel, QUICK)[1] == weakest(cancel, QUICK)[1]


# points ---------------------------------------------------------------------------------------------------------------


def table_of(stated: Rule) -> Table:
    return Table([g for d in dtypes_of(stated) for g in goals(stated, d)])


def test_points_are_sorted_as_the_law_has_it() -> None:
    table = table_of(cancel)
    zero = table.says(cancel.variables["c"] == 0)
    assert zero is not None
    assert table.good & table.bad == 0
    assert table.bad & zero  # x * 0 // 0 is 0, which is x only at 0
    x_is_zero = table.says(cancel.variables["x"] == 0)
    assert x_is_zero is not None
    assert zero & x_is_zero & table.bad == 0


def test_points_that_no_premise_admits_are_left_out() -> None:
    table = table_of(half_said)
    low = half_said.variables["x"]
    assert isinstance(low, Interval)
    assert table.says(low.lo >= 0) == table.good | table.bad
    assert table.says(low <= low.hi) == table.good | table.bad


def test_one_more_point_is_sorted_too() -> None:
    table = table_of(cancel)
    (goal,) = goals(cancel, int32) if int32 in dtypes_of(cancel) else goals(cancel, int8)
    before = table.bad.bit_count()
    table.add(goal, (77, 99))
    assert table.bad.bit_count() == before + 1


def test_a_condition_that_does_not_exist_at_some_dtype_is_none() -> None:
    stated = replace(BY_ID["lt_of_max"])
    c, d = stated.variables["c"], stated.variables["d"]
    assert isinstance(c, Value)
    assert (
        table_of(replace(stated, dtypes=all_dtypes[:3])).says(c % d == 0) is None
        or bool_ not in all_dtypes[:3]
    )
    assert table_of(replace(stated, dtypes=(bool_, int8))).says(c % d == 0) is None


# the grammar and the search -------------------------------------------------------------------------------------------


def grammar(stated: Rule) -> set[str]:
    return {show(c) for c in literals(stated, dtypes_of(stated))}


def test_the_grammar_speaks_of_bounds_and_not_of_the_values_between() -> None:
    said = grammar(half_said)
    assert {"(x.lo >= 0)", "(x.hi <= 0)", "(c != 0)"} <= said
    assert not any("(x " in text or " x)" in text for text in said)


def test_the_grammar_has_divisibility_for_integers_only() -> None:
    assert "((x % c) == 0)" in grammar(half)
    assert not any("%" in text for text in grammar(times_zero))
    assert "(x == x)" in grammar(times_zero)


def test_the_grammar_speaks_of_axes_where_there_are_any() -> None:
    assert "x.shape == y.shape" in grammar(sums)
    assert "x.shape >= 1" in grammar(sums)
    assert not any(".shape" in text for text in grammar(cancel))


def test_what_is_known_when_a_rule_is_applied() -> None:
    x, c = cancel.variables["x"], cancel.variables["c"]
    assert isinstance(x, Value)
    assert isinstance(c, Value)
    assert is_decidable(c > 0, cancel)
    assert not is_decidable(x > 0, cancel)
    assert not is_decidable(x < c, cancel)
    assert isinstance(lossless(x.dtype, int8), Static)
    assert is_decidable(lossless(x.dtype, int8), cancel)


def choice(name: str, holds: int) -> Choice:
    return Choice(Value("var", (name,)), holds, (0, 0, len(name), name))


def names(found) -> list[set[str]]:
    return [{c.cost[3] for c in conjunction.choices} for conjunction in found]


def test_the_weakest_conjunction_comes_first() -> None:
    good, bad = 0b00001111, 0b11110000
    a, b, c = choice("a", 0b00111111), choice("b", 0b11001111), choice("c", 0b00000001)
    assert names(conjunctions([c, a, b], good, bad)) == [{"a", "b"}]


def test_incomparable_conjunctions_are_all_found() -> None:
    found = conjunctions([choice("a", 0b0011), choice("b", 0b0101)], 0b0111, 0b1000)
    assert names(found) == [{"a"}, {"b"}]


def test_a_literal_that_keeps_nothing_good_or_excludes_nothing_bad_is_useless() -> None:
    assert useful([choice("all", 0b11), choice("bad", 0b10), choice("none", 0b00)], 0b01, 0b10) == []
    assert [c.cost[3] for c in useful([choice("long", 0b01), choice("a", 0b01)], 0b01, 0b10)] == ["a"]


def test_a_conjunction_that_is_known_to_be_wrong_is_made_stronger() -> None:
    a, b = choice("a", 0b0111), choice("b", 0b1011)
    assert names(conjunctions([a, b], 0b0111, 0b1000)) == [{"a"}]
    wrong = [frozenset({"a"})]
    assert names(conjunctions([a, b], 0b0111, 0b1000, wrong)) == [{"a", "b"}]


def test_one_literal_takes_the_place_of_two_that_say_the_same() -> None:
    below, above, equal = choice("x <= 0", 0b0011), choice("x >= 0", 0b0101), choice("x = 0", 0b0001)
    found = conjunctions([below, above, equal], 0b0001, 0b1110)
    assert names(found) == [{"x = 0"}]


def test_signed_integers_may_be_what_is_missing() -> None:
    @rule(dtypes=ints)
    def below_zero(x: Value):
        return (x < 0) | (x >= 0), (x - 1 < x) | (x == x)

    @rule(dtypes=ints)
    def sign(x: Value):
        return x >> 7, (x >> 7) - (x & 0)

    assert prove(replace(below_zero, dtypes=sints)).verdict == "proved"
    assert prove(replace(sign, dtypes=(int8,))).verdict == "proved"
