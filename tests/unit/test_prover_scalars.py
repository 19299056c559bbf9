"""What the prover says of rules that are neither right nor wrong, of its budget, and of pairs of programs."""

from __future__ import annotations

import pytest

from soundline.spec.errors import RuleError, UsageError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op
from soundline.spec.uop import const, loop, param
from soundline.verify import (
    Bool,
    Const,
    DTypeVar,
    Value,
    fits,
    float32,
    given,
    index,
    int8,
    int16,
    int32,
    int64,
    ints,
    is_signed,
    lossless,
    rule,
    sints,
    uint8,
    uint32,
    uint64,
    uints,
    where,
)
from soundline.verify.judging.judge import equivalent, prove, prove_layer
from soundline.verify.smt.counterexamples import scalars as counterexamples
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.proving import scalars
from soundline.verify.verdicts.layers import layers_of

WIDTHS = (index, int8, int32, uint8, uint64)
FIXED = WIDTHS[1:]
SIGNED = (index, int8, int32)


def run(text):
    """Execute a paste-ready test."""
    scope = {}
    exec(compile(text, "counterexample", "exec"), scope)
    (test,) = (f for name, f in scope.items() if name.startswith("test_"))
    test()


# What is neither --------------------------------------------------------------------------------------------------


def verdicts(report):
    return [layer.verdict for layer in report.layers]


def test_the_same_term_on_both_sides_is_vacuous():
    @rule(dtypes=WIDTHS)
    def same(x: Value):
        return x + 1, x + 1

    report = prove(same)
    assert verdicts(report) == ["vacuous"] * 5
    assert report.verdict == "vacuous"
    assert all("same term" in layer.detail for layer in report.layers)


def test_one_trivial_instance_of_many_is_no_harm():
    @rule(dtypes=(int8,), s=(int8, int16))
    def same_at_one_dtype(x: Value, s: DTypeVar):
        return x.cast(s).cast(s), x.cast(s)

    (layer,) = prove(same_at_one_dtype).layers
    assert layer.verdict == "proved"
    assert layer.covered.startswith("2 instances")


def test_a_condition_that_excludes_every_input_is_vacuous():
    @rule(dtypes=WIDTHS)
    def contradiction(x: Value, c: Const):
        given(c < x, x < c)
        return x + c, x * c

    report = prove(contradiction)
    assert verdicts(report) == ["vacuous"] * 5
    assert all("excludes every input" in layer.detail for layer in report.layers)


def test_a_condition_may_exclude_every_input_of_one_dtype():
    @rule(dtypes=(int8, uint8, uint32))
    def negative(x: Value, c: Const):
        given(c < 0, fits(x * c))
        return (x * c) // c, x

    assert verdicts(prove(negative)) == ["proved", "vacuous", "vacuous"]


def test_fits_that_no_input_meets_is_vacuous():
    @rule(dtypes=(uint8, uint32, index))
    def never(x: Value, y: Value, z: Value):
        given(x < y, y >= 2, fits(x - y))
        return (x - y) + z, z

    assert verdicts(prove(never)) == ["refuted", "vacuous", "vacuous"]


def test_a_rare_witness_is_found_by_the_solver():
    @rule(dtypes=(index, int32))
    def rare(x: Value, y: Value, z: Value):
        given(x == 987654321, y == x + 5, z == 1)
        return y - x, z * 5

    assert verdicts(prove(rare)) == ["proved", "proved"]


def test_no_instance_is_vacuous():
    @rule(dtypes=ints)
    def unsigned_and_signed(x: Value):
        given(is_signed(x.dtype), ~is_signed(x.dtype))
        return x + 0, x

    report = prove(unsigned_and_signed)
    assert report.verdict == "vacuous"
    assert verdicts(report) == ["vacuous"]


def test_a_spent_budget_is_unknown_and_says_what_was_done():
    @rule(dtypes=(int8, int32))
    def right_but_hard(x: Value, y: Value):
        return (x // (y | 1)) * (y | 1) + x % (y | 1) + (x * y) // 7, (y * x) // 7 + x

    report = prove(right_but_hard, budget=Budget(rlimit=1_000))
    assert verdicts(report) == ["proved", "unknown"]
    assert report.verdict == "unknown"
    small, wide = report.layers
    assert small.covered == "all 65,536 inputs"
    assert "samples" in wide.covered
    assert "all 65,536 inputs at int8" in wide.covered
    assert "budget" in wide.detail
    assert wide.counterexample is None


def test_a_larger_budget_decides_what_a_small_one_left_open():
    @rule(dtypes=(index,))
    def nested(x: Value, c: Const, d: Const):
        given(c > 0, d > 0)
        return (x // c) // d, x // (c * d)

    assert verdicts(prove(nested, budget=Budget(rlimit=1_000))) == ["unknown"]
    assert verdicts(prove(nested)) == ["proved"]


def test_what_replay_does_not_confirm_is_no_refutation(monkeypatch):
    @rule(dtypes=(int8, int32, index))
    def wrong_rule(x: Value):
        return x + 1, x

    assert verdicts(prove(wrong_rule)) == ["refuted"] * 3
    monkeypatch.setattr(counterexamples, "value_of", lambda node: 0)
    report = prove(wrong_rule)
    assert verdicts(report) == ["unknown"] * 3
    assert all(layer.detail.startswith("internal: replay disagrees") for layer in report.layers)


def test_a_model_that_evaluation_does_not_confirm_is_no_refutation(monkeypatch):
    """As if the translation had a mistake: the sides always agree when they are evaluated."""

    @rule(dtypes=(int32,))
    def far_away(x: Value):
        return (x ^ 123456789) == 912281158, x != x

    monkeypatch.setattr(scalars.Points, "at", lambda self, point: scalars.FAILS - 1)
    (layer,) = prove(far_away).layers
    assert layer.verdict == "unknown"
    assert "replay disagrees" in layer.detail


def test_verdicts_do_not_depend_on_what_was_asked_before():
    @rule(dtypes=(index, int32))
    def flat(x: Value, y: Value, c: Const):
        given(c > 0, fits(x * c + y))
        return (x * c + y) // c, x + y // c

    first = prove(flat)
    prove(rule(dtypes=(int8,))(_successor))
    assert prove(flat) == first


def test_an_ill_typed_rule_is_an_error():
    @rule(dtypes=(int32, float32))
    def bitwise(x: Value):
        return x & x, x

    with pytest.raises(RuleError, match="ill-typed at dtype float32"):
        prove(bitwise)


def test_layers_are_named_and_simplest_first():
    @rule
    def anything(p: Bool, x: Value):
        return where(p, x, x), x

    names = [name for name, _ in layers_of(anything)]
    assert names[:3] == ["boolean", "unbounded", "bit-precise int8"]
    assert "bit-precise uint64" in names
    assert names[-1] == "IEEE float8_e5m2"
    assert len(names) == 16

    @rule
    def whole(x: Value, y: Value):
        return x % y, x % y + 0

    assert [name for name, _ in layers_of(whole)] == [
        "unbounded",
        *(f"bit-precise {d}" for d in (*sints, *uints)),
    ]
    assert prove_layer(whole, int8).verdict == "proved"


def test_a_rule_has_all_its_instances():
    @rule(dtypes=(int8,), s=ints)
    def one_bad_instance(x: Value, s: DTypeVar):
        return x.cast(s).cast(uint8).cast(int8), where(x == 5, x.cast(s).cast(int8), x)

    assert verdicts(prove(one_bad_instance)) == ["proved"]

    @rule(dtypes=(int16,), s=ints)
    def bad_only_at_int8(x: Value, s: DTypeVar):
        given(~lossless(s, uint8))
        return x.cast(s).cast(int16), x

    (layer,) = prove(bad_only_at_int8).layers
    assert layer.verdict == "refuted"
    assert layer.counterexample.instance == "dtype int16, s = int8"
    assert layer.counterexample.bindings == (("x", "128"),)


# Two programs -----------------------------------------------------------------------------------------------------


def test_equivalent_programs():
    x, y = param(0, int32), param(1, int32)
    assert equivalent(Op.Add(x, y), Op.Add(y, x)).verdict == "proved"
    assert equivalent(Op.Add(x, y), Op.Add(x, y)).verdict == "vacuous"
    wrong_pair = equivalent(Op.Idiv(x, const(2, int32)), Op.Shr(x, const(2, int32)))
    assert wrong_pair.verdict == "refuted"
    run(wrong_pair.counterexample.test)


def test_equivalence_under_hypotheses():
    x, y = param(0, int32), param(1, int32)
    natural = [Op.CmpGe(v, const(0, int32)) for v in (x, y)]
    assert equivalent(Op.Idiv(x, y), Op.CDiv(x, y)).verdict == "refuted"
    assert equivalent(Op.Idiv(x, y), Op.CDiv(x, y), natural).verdict == "proved"
    assert equivalent(x, y, [Op.CmpLt(x, x)]).verdict == "vacuous"


def test_equivalence_knows_the_bounds_of_leaves():
    i = loop(16, 0)
    assert equivalent(Op.Mod(i, const(16, index)), i).verdict == "proved"
    assert equivalent(Op.Mod(i, const(15, index)), i).verdict == "refuted"
    bounded = param(0, int32, bounds=(3, 9))
    assert (
        equivalent(Op.Idiv(bounded, const(10, int32)), Op.Mul(bounded, const(0, int32))).verdict == "proved"
    )
    assert (
        equivalent(Op.Idiv(bounded, const(9, int32)), Op.Mul(bounded, const(0, int32))).verdict == "refuted"
    )


def test_programs_of_different_dtypes_are_not_compared():
    with pytest.raises(UsageError):
        equivalent(param(0, int32), param(0, int64))


def test_the_test_of_a_counterexample_uses_the_evaluator_only():
    (layer,) = prove(rule(dtypes=(int8,))(_successor)).layers
    text = layer.counterexample.test
    assert "def test__successor_is_wrong():" in text
    assert "x = const(127, int8)" in text
    assert layer.counterexample.left == "False"
    assert evaluate(Op.CmpLt(const(127, int8), Op.Add(const(127, int8), const(1, int8)))).elements == (False,)
    run(text)
    with pytest.raises(AssertionError):
        run(text.replace("const(127, int8)", "const(126, int8)"))


def _successor(x: Value):
    return x < x + 1, x == x


def test_sides_of_two_dtypes_are_no_rule():
    """The dtype is part of equality (U-01)."""

    @rule(dtypes=[int8])
    def cast_away(x: Value, s: DTypeVar):
        return x.cast(s), x

    with pytest.raises(RuleError, match="the sides have different dtypes, bool and int8"):
        prove(cast_away)


@rule(dtypes=(index, int32))
def chosen_operands(c: Bool, x: Value, y: Value, u: Value, v: Value):
    return where(c, x, u) // where(c, y, v) + where(c, x, u) * where(c, v, y), where(
        c, x // y + x * v, u // v + u * y
    )


@rule(dtypes=(index, int32))
def chosen_operands_mixed(c: Bool, x: Value, y: Value, u: Value, v: Value):
    return where(c, x, u) // where(c, v, y), where(c, x // y, u // v)


def test_rules_that_only_choose_need_nothing_of_what_is_chosen():
    found = prove(chosen_operands).layers
    assert [layer.verdict for layer in found] == ["proved"] * 2
    assert {layer.covered for layer in found} == {"all values, by uninterpreted operations"}
    assert [layer.verdict for layer in prove(chosen_operands_mixed).layers] == ["refuted"] * 2
