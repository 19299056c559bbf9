"""Rules about tensors of symbolic shapes: exact verdicts, what they cover, and the counterexamples that are shown."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from soundline.spec.errors import RuleError
from soundline.spec.rules.instances import goals
from soundline.spec.rules.language import Rule, collecting
from soundline.spec.rules.ranks import rank_classes
from soundline.spec.uop import Op
from soundline.verify import (
    BinaryOp,
    Bool,
    Const,
    Flags,
    Offset,
    Perm,
    Shape,
    Size,
    Tensor,
    UnaryOp,
    Value,
    all_dtypes,
    bool_,
    compose,
    float32,
    float64,
    given,
    index,
    int8,
    int16,
    int32,
    rule,
    where,
)
from soundline.verify.judging.judge import prove
from soundline.verify.smt import tensors
from soundline.verify.smt.counterexamples import tensors as counterexamples_tensors
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.verdicts.verdict import Counterexample, LayerResult, RuleReport

HERE = Path(__file__).parent


def module(name: str) -> tuple[ModuleType, list[Rule]]:
    """The rules of a file beside this one."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    with collecting() as found:
        spec.loader.exec_module(made)
    assert not found.errors, found.errors
    return made, found.rules


RIGHT = module("movement_right")[1] + module("movement_of_elements_right")[1]
WRONG = module("movement_wrong")[1]
VACUOUS = module("movement_vacuous")[1]


def named(rules: list[Rule]) -> dict[str, object]:
    return {"argvalues": rules, "ids": [r.id for r in rules]}


def only(report: RuleReport) -> LayerResult:
    (layer,) = report.layers
    return layer


def run_test_of(shown: Counterexample) -> None:
    """Run the test that a counterexample brings; it must hold, and say what was wrong."""
    names: dict[str, object] = {}
    exec(compile(shown.test, "<counterexample>", "exec"), names)
    (test,) = [f for n, f in names.items() if n.startswith("test_")]
    test()


# Verdicts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stated", **named(RIGHT))
def test_a_right_rule_is_proved(stated: Rule) -> None:
    report = prove(stated)
    assert report.verdict == "proved", report
    ranks = rank_classes(stated).values()
    covers = "every rank" if any(isinstance(r, str) for r in ranks) else f"rank {max(ranks)}, "
    assert all(layer.covered.startswith(covers) for layer in report.layers)


@pytest.mark.parametrize("stated", **named(WRONG))
def test_a_wrong_rule_is_refuted_by_inputs_that_show_it(stated: Rule) -> None:
    report = prove(stated)
    assert report.verdict == "refuted", report
    for layer in report.layers:
        if layer.counterexample is not None:
            run_test_of(layer.counterexample)
    assert report.counterexample is not None
    assert "(0," not in report.counterexample.left, "no axis is empty"


@pytest.mark.parametrize("stated", **named(VACUOUS))
def test_a_rule_that_says_nothing_is_vacuous(stated: Rule) -> None:
    report = prove(stated)
    assert report.verdict == "vacuous", report
    assert all(layer.detail for layer in report.layers)


def test_there_are_many_rules_of_each_sort() -> None:
    assert len(RIGHT) >= 90
    assert len(WRONG) >= 55


def test_the_reason_of_a_vacuous_rule() -> None:
    details = {stated.id: prove(stated).layers[0].detail for stated in VACUOUS}
    assert details["both_sides_alike"] == details["inverse_of_inverse"] == "both sides are the same term"
    assert details["negative_size"] == "the condition excludes every input"
    assert details["negative_axes"] == "the condition excludes every input beyond rank 0"
    for name in ("no_elements", "no_elements_in_a_row", "no_elements_in_a_reshape"):
        assert details[name] == "the rule matches only empty tensors"
    assert details["no_such_permutation"].startswith("the rule has no instance")


# Coverage ---------------------------------------------------------------------------------------------------------


@rule
def turned(x: Tensor, p: Perm, q: Perm):
    return x.permute(p).permute(q), x.permute(compose(p, q))


@rule
def pair(x: Tensor["m", "n"]):  # noqa: F821
    return x.permute((1, 0)).permute((1, 0)), x


@rule
def times_minus_one(x: Tensor, p: Perm):
    return (-x).permute(p), x.permute(p) * -1


def test_a_proof_says_what_it_covers() -> None:
    assert only(prove(turned)).layer == "symbolic shapes"
    covered = only(prove(turned)).covered
    assert covered == "every rank, all sizes, all dtypes (elements uninterpreted), 2 instances"
    assert only(prove(pair)).covered == "rank 2, all sizes, all dtypes (elements uninterpreted)"
    assert "every dtype, by its laws" in only(prove(times_minus_one)).covered


def test_every_rank_and_permutation_is_an_instance() -> None:
    seen = [(len(g.env.bound["p"]), g.env.bound["p"], g.env.bound["q"]) for g in goals(turned, int32)]
    assert len(set(seen)) == sum(n * n for n in (1, 1, 2, 6, 24))


def test_a_rule_named_for_dtypes_has_a_layer_for_each() -> None:
    @rule(dtypes=[int8, float32, index])
    def moved_sum(x: Tensor, y: Tensor, p: Perm):
        return (x + y).permute(p), x.permute(p) + y.permute(p)

    found = {layer.layer: layer for layer in prove(moved_sum).layers}
    assert set(found) == {"bit-precise int8", "IEEE float32", "unbounded"}
    assert all(layer.verdict == "proved" for layer in found.values())
    assert "int8" in found["bit-precise int8"].covered


# Elements at all dtypes -------------------------------------------------------------------------------------------


def refuted_at(stated: Rule) -> str:
    """The dtype of the counterexample."""
    shown = prove(stated).counterexample
    assert shown is not None, prove(stated)
    return shown.instance.split(",")[0]


def test_a_law_of_one_dtype_proves_nothing_at_another() -> None:
    @rule
    def through_float64(x: Tensor, p: Perm):
        return x.cast(float64).permute(p).cast(x.dtype), x.permute(p)

    assert refuted_at(through_float64) == "dtype int64"  # int32, float32 and bool lie inside float64

    @rule
    def moved_zero(x: Tensor, p: Perm):
        return (x + 0).permute(p), x.permute(p)

    assert refuted_at(moved_zero) == "dtype float32"  # int32 came first


def test_the_arithmetic_of_indices_proves_nothing_about_floats() -> None:
    """Sums commute as polynomials do at ``index``, and by the laws of other dtypes elsewhere."""

    @rule
    def moved_commuted(f: BinaryOp, x: Tensor, y: Tensor, p: Perm):
        return f(x, y).permute(p), f(y.permute(p), x.permute(p))

    one, *_ = goals(moved_commuted, index)
    add_only = [g for g in goals(moved_commuted, index) if g.env.bound["f"] is Op.Sub]
    assert one.env.dtype is index
    assert add_only
    result = tensors.prove_goals(moved_commuted, [*add_only[:1]], "unbounded", Budget())
    assert result.verdict == "refuted"

    @rule
    def moved_difference(x: Tensor, y: Tensor, p: Perm):
        return (x + y - y).permute(p), x.permute(p)

    at = {d: list(goals(moved_difference, d))[:1] for d in (index, float32)}
    assert tensors.prove_goals(moved_difference, at[index], "symbolic shapes", Budget()).verdict == "proved"
    both = [*at[index], *at[float32]]
    assert tensors.prove_goals(moved_difference, both, "symbolic shapes", Budget()).verdict == "refuted"


def test_a_cast_to_the_own_dtype_is_no_cast_elsewhere() -> None:
    @rule
    def cast_to_int32(x: Tensor, p: Perm):
        return x.cast(int32).permute(p), x.permute(p).cast(int32)

    @rule
    def cast_is_nothing(x: Tensor[int32], p: Perm):
        return x.cast(int32).permute(p), x.permute(p)

    @rule
    def cast_away(x: Tensor, p: Perm):
        return x.cast(int32).permute(p).cast(x.dtype), x.permute(p)

    assert prove(cast_to_int32).verdict == "proved"
    assert prove(cast_is_nothing).verdict == "proved"
    assert refuted_at(cast_away) == "dtype float32"


def test_a_condition_that_only_nan_meets_is_no_vacuous_one() -> None:
    @rule
    def nan_beside(x: Tensor, c: Const, p: Perm):
        given(c != c)
        return (x + c).permute(p), x.permute(p) + c

    @rule
    def nan_times(x: Tensor, c: Const, p: Perm):
        given(c != c)
        return (x * c).permute(p), x.permute(p)

    assert prove(nan_beside).verdict == "proved"
    assert refuted_at(nan_times) == "dtype float32"


def test_every_dtype_is_seen_where_elements_matter() -> None:
    @rule
    def moved_op(f: UnaryOp, x: Tensor, g: Flags):
        return f(x).flip(g), f(x.flip(g))

    record = only(prove(moved_op))
    assert record.verdict == "proved"
    ops = {g.env.bound["f"] for d in all_dtypes for g in goals(moved_op, d, max_rank=0)}
    assert f", {len(ops) * 3} instances" in record.covered


# Counterexamples --------------------------------------------------------------------------------------------------


def counterexample(name: str) -> Counterexample:
    (stated,) = [r for r in WRONG if r.id == name]
    shown = prove(stated).counterexample
    assert shown is not None
    return shown


SMALLEST = {
    "identity_forgotten": {"x": "int32 (1, 2): [[1, 2]]", "p": "(1, 0)"},
    "inverse_forgotten": {"x": "int32 (1, 1, 2): [[[1, 2]]]", "p": "(1, 2, 0)"},
    "flip_dropped": {"x": "int32 (2,): [1, 2]", "f": "(True,)"},
    "shrink_then_pad": {"x": "int32 (2,): [1, 2]", "a": "(0,)", "s": "(1,)"},
    "pad_flip_same_offset": {"x": "int32 (1,): [1]", "o": "(0,)", "s": "(2,)", "f": "(True,)"},
    "pad_offsets_dropped": {"x": "int32 (1,): [1]", "a": "(0,)", "s": "(1,)", "b": "(1,)", "t": "(2,)"},
    "reshape_is_transpose": {"m": "2", "n": "2", "x": "int32 (2, 2): [[1, 2], [3, 4]]"},
    "ill_formed_right": {"m": "1", "x": "int32 (1,): [1]"},
    "reshape_dropped": {"x": "int32 (1,): [1]", "s": "()"},
    "zero_without_its_sign": {},
    "add_positive_zero": {"x": "float32 (): -0.0", "p": "()"},
    "division_by_zero": {"x": "index (): 1", "c": "0", "p": "()"},
    "split_wrong": {"m": "4", "x": "int32 (4,): [1, 2, 3, 4]"},
}


@pytest.mark.parametrize("name", [n for n, wanted in SMALLEST.items() if wanted])
def test_a_counterexample_is_the_smallest(name: str) -> None:
    assert dict(counterexample(name).bindings) == SMALLEST[name]


def test_the_element_that_differs_is_marked() -> None:
    shown = counterexample("shrink_then_pad")
    assert (shown.left, shown.right) == ("int32 (2,): [1, «0»]", "int32 (2,): [1, «2»]")


def test_a_shape_that_differs_is_shown() -> None:
    shown = counterexample("identity_forgotten")
    assert (shown.left, shown.right) == ("int32 (2, 1): [[1], [2]]", "int32 (1, 2): [[1, 2]]")


def test_an_ill_formed_right_side_is_shown_with_the_law_that_refuses_it() -> None:
    assert "[uop-reshape-c2]" in counterexample("ill_formed_right").right
    shown = counterexample("shrink_in_pad_unconditional")
    assert "[uop-shrink-c2]" in shown.right
    assert "IllFormed" in shown.test


def test_empty_tensors_count() -> None:
    """A shape must be right even where no element exists."""

    @rule
    def flip_as_nothing(x: Tensor, o: Offset, s: Shape):
        given(s == 0)
        return x.shrink(o, s), x.shrink(o + 1, s)

    shown = prove(flip_as_nothing).counterexample
    assert shown is not None
    assert dict(shown.bindings)["s"] == "(0,)"
    run_test_of(shown)


def test_a_scalar_beside_tensors_has_its_place_in_a_counterexample() -> None:
    @rule
    def chosen(c: Bool, x: Tensor, y: Tensor):
        return where(c, x, y), x

    shown = prove(chosen).counterexample
    assert shown is not None
    assert dict(shown.bindings) == {"c": "False", "x": "int32 (): 0", "y": "int32 (): 1"}
    run_test_of(shown)


# Not decided ------------------------------------------------------------------------------------------------------


def test_what_the_evaluator_does_not_confirm_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counterexamples_tensors, "replay", lambda goal, inputs: None)
    for name in ("identity_forgotten", "flip_dropped", "ill_formed_right"):
        (stated,) = [r for r in WRONG if r.id == name]
        result = only(prove(stated))
        assert (result.verdict, result.counterexample) == ("unknown", None)
        assert result.detail


def test_a_budget_that_is_too_small_leaves_a_rule_unknown() -> None:
    (stated,) = [r for r in RIGHT if r.id == "pad_merge"]
    result = only(prove(stated, budget=Budget(rlimit=1)))
    assert result.verdict == "unknown"
    assert "not shown" in result.detail


def test_known_ranks_that_clash_are_an_error_at_the_rule() -> None:
    @rule
    def pair_and_row(x: Tensor["m", "n"], y: Tensor["k"]):  # noqa: F821
        return x + y, y + x

    @rule(dtypes=[int32])
    def one_axis_of_two(x: Tensor["m", "n"]):  # noqa: F821
        return x.flip((True,)), x

    @rule
    def condition_of_three(x: Tensor["m", "n"], o: Offset, s: Shape):  # noqa: F821
        given(o <= (1, 2, 3))
        return x.pad(o, s).shrink(o, x.shape), x

    for stated in (pair_and_row, one_axis_of_two, condition_of_three):
        with pytest.raises(RuleError, match="joins rank 2 with rank") as clash:
            prove(stated)
        assert (clash.value.file, clash.value.line) == (__file__, stated.line)
        assert clash.value.where == f"{__file__}:{stated.line}"
        assert clash.value.rule == stated.id

    @rule
    def two_axes_of_two(x: Tensor["m", "n"]):  # noqa: F821
        return x.flip((True, False)).flip((True, False)), x

    assert prove(two_axes_of_two).verdict == "proved"


def test_bytes_that_a_bitcast_takes_together_must_be_known_to_suffice() -> None:
    """The elements of neither side are asked for, because there are none: the form alone decides."""

    def none(x: Value) -> Value:
        return x.shrink((0,), (0,))

    @rule
    def fours_of_any(m: Size, x: Tensor[int8, "m"]):  # noqa: F821
        return none(x), none(x.bitcast(int32).bitcast(int8))

    @rule
    def fours_of_twos(m: Size, x: Tensor[int8, "m"]):  # noqa: F821
        return none(x.bitcast(int16).bitcast(int8)), none(x.bitcast(int32).bitcast(int8))

    for stated, smallest in ((fours_of_any, "1"), (fours_of_twos, "2")):
        report = prove(stated)
        assert report.verdict == "refuted", report
        assert report.counterexample is not None
        assert dict(report.counterexample.bindings)["m"] == smallest
        assert "uop-bitcast-c2" in report.counterexample.right
        run_test_of(report.counterexample)

    @rule
    def fours_of_fours(m: Size, x: Tensor[int8, "m"]):  # noqa: F821
        given(m % 4 == 0)
        return none(x), none(x.bitcast(int32).bitcast(int8))

    @rule
    def twos_of_fours(m: Size, x: Tensor[int8, "m"]):  # noqa: F821
        return none(x.bitcast(int32).bitcast(int8)), none(x.bitcast(int16).bitcast(int8))

    for stated in (fours_of_fours, twos_of_fours):
        assert only(prove(stated)).detail == "the rule matches only empty tensors"


def test_a_bitcast_of_items_of_one_size_moves_like_any_op() -> None:
    @rule
    def bits_moved(x: Tensor[float32], p: Perm):
        return x.permute(p).bitcast(int32), x.bitcast(int32).permute(p)

    @rule
    def bits_stay(x: Tensor[float32], f: Flags):
        return x.flip(f).bitcast(int32), x.bitcast(int32)

    assert prove(bits_moved).verdict == "proved"
    assert prove(bits_stay).verdict == "refuted"


def test_verdicts_do_not_depend_on_what_was_asked_before() -> None:
    first = [prove(r).layers for r in WRONG[:12]]
    again = [prove(r).layers for r in reversed(WRONG[:12])]
    assert first == list(reversed(again))


def test_bools_are_elements_like_others() -> None:
    @rule
    def negated(x: Tensor[bool_], o: Offset, s: Shape):
        return (~x).pad(o, s), ~(x.pad(o, s))

    shown = prove(negated).counterexample
    assert shown is not None
    assert "«False»" in shown.left
    assert "«True»" in shown.right
