"""The law's own obligations are met, and a wrong row of min_max is refuted by a program that escapes from it."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import z3

from soundline.spec.derived_props import MIN_MAX
from soundline.spec.dtypes import bool_, float8_e5m2, float16, float32, from_bits, index, int8, order, uint8
from soundline.spec.errors import UsageError
from soundline.spec.ops import bounds
from soundline.spec.ops.bounds import Bounds, dtype_range, min_max
from soundline.spec.ops.elementwise.selection import bounds_of_max
from soundline.spec.ops.table import TABLE, Op
from soundline.spec.values.elementwise import scalar
from soundline.verify.campaigns.law import LawSettings, check_law
from soundline.verify.cli.main import main
from soundline.verify.findings.tensors import FINDINGS
from soundline.verify.law import (
    catalogue,
    exact,
    floats,
    inclusion,
    integers,
    lemmas,
    small,
    source_rows,
    words,
)
from soundline.verify.law.catalogue import obligations
from soundline.verify.law.replays import Operand, contains, node_of, refutation
from soundline.verify.law.schema import MET, Obligation, Outcome
from soundline.verify.law.symbols import Number, Paths, TooManyPaths
from soundline.verify.reports import law
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.verdicts.effort import BUDGETS

BUDGET = Budget()
INF, NAN = math.inf, math.nan
ROOT = Path(__file__).resolve().parents[2]


def by_id(name: str) -> Obligation:
    (found,) = [o for o in obligations() if o.id == name]
    return found


# The catalogue ----------------------------------------------------------------------------------------------------


def test_obligations_have_names_of_their_own() -> None:
    names = [o.id for o in obligations()]
    assert len(set(names)) == len(names) > 500


def test_every_row_of_min_max_has_obligations() -> None:
    subjects = {o.subject for o in obligations()}
    assert {s for s in subjects if s.startswith("min_max")} == {f"min_max {op.name}" for op in MIN_MAX}
    assert not [o.id for o in obligations() if o.name == "soundness"]


def test_a_row_that_nothing_holds_is_an_obligation_that_is_not_met(monkeypatch) -> None:
    monkeypatch.delitem(inclusion.MOVED, Op.Detach)
    (alone,) = catalogue._row(Op.Detach)
    assert alone.check(BUDGET).kind == "unknown"


def test_every_finding_and_every_exact_decomposition_is_an_obligation() -> None:
    found = [o for o in obligations() if o.subject.startswith("finding")]
    assert [o.subject for o in found] == [f"finding {f.decision}" for f in FINDINGS]
    decomposed = {o.subject.removeprefix("decomposition ") for o in exact.decompositions()}
    assert decomposed == {op.name for op in exact.EXACT if op not in exact.DEFINED_SO}


def test_the_committed_report_is_about_these_obligations() -> None:
    committed = json.loads((ROOT / "benchmarks" / "results" / "law.json").read_text())["law"]["obligations"]
    rows = [f"{o['subject']}: {o['name']}" for o in committed if o["subject"].startswith("min_max")]
    assert rows == [o.id for o in obligations() if o.subject.startswith("min_max")]
    assert all(o["kind"] in MET for o in committed)


QUICK = [
    o
    for o in obligations()
    if o.name in ("moved", "dtype range", "every bound", "rounding is monotone", "truncation is monotone")
    or o.subject.startswith(("lemma", "finding"))
    or (o.subject.startswith("decomposition") and o.name in ("int8", "float32", "index", "bool"))
    or (o.name.endswith("any width") and o.subject.split()[1] not in ("Mul", "Mulacc", "Idiv"))
    or (o.name in ("uint4", "bool", "corners, over ℝ") and o.subject.split()[1] != "Mulacc")
]


@pytest.mark.parametrize("obligation", QUICK, ids=lambda o: o.id)
def test_a_quick_obligation_is_met(obligation: Obligation) -> None:
    outcome = obligation.check(BUDGET)
    assert outcome.kind in MET, outcome


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("min_max Mul: int, any width", "proved"),
        ("min_max Idiv: index", "proved"),
        ("min_max And: uint64", "proved"),
        ("min_max Sqrt: monotone, by solver", "proved"),
        ("min_max Mul: monotone, float8_e5m2", "exhaustive"),
        ("min_max Sub: monotone, float16", "exhaustive"),
        ("min_max Max: float4_e2m1", "exhaustive"),
        ("min_max Cast: float8_e5m2 to int8", "exhaustive"),
        ("min_max Cast: index to all", "sampled"),
        ("min_max Const: float8_e4m3fn", "exhaustive"),
        ("min_max Param: int8", "exhaustive"),
        ("min_max Exp2: float32", "sampled"),
    ],
)
def test_an_obligation_is_met_in_the_way_that_it_says(name: str, kind: str) -> None:
    assert by_id(name).check(BUDGET).kind == kind


@pytest.mark.parametrize(
    ("op", "dtype", "tight"),
    [
        (Op.Max, small.INT4, "optimal"),
        (Op.CmpLt, small.INT4, "optimal"),
        (Op.CmpNe, small.UINT4, "optimal"),
        (Op.Trunc, small.FLOAT4, "optimal"),
        (Op.Neg, small.FLOAT4, "optimal"),
        (Op.Add, small.INT4, "sound only"),
        (Op.Shl, small.UINT4, "sound only"),
        (Op.Sqrt, small.FLOAT4, "sound only"),
    ],
)
def test_tightness(op: Op, dtype, tight: str) -> None:
    found = catalogue._on_all(op, dtype, nan=dtype.is_float)
    assert found.tightness == tight
    assert bool(found.witness) == (tight == "sound only")


def test_tightness_of_rows_that_only_move() -> None:
    told = {op: inclusion.moved(op).tightness for op in inclusion.MOVED}
    assert {op for op, tight in told.items() if tight == "sound only"} == {Op.Pad, Op.Load}
    assert {op for op in inclusion.ANYTHING if inclusion.anything(op).tightness == "optimal"} == {Op.Buffer}
    assert integers.of_loops(Op.Range, BUDGET).tightness == "optimal"
    assert inclusion.constants(int8).tightness == inclusion.parameters().tightness == "optimal"


def test_a_row_wider_than_its_values_is_sound_only(monkeypatch) -> None:
    changed(monkeypatch, Op.Flip, lambda b: Bounds(b.lo - 1, b.hi))
    assert inclusion.moved(Op.Flip).tightness == "sound only"
    changed(monkeypatch, Op.Range, lambda b: Bounds(b.lo, b.hi + 1))
    assert integers.of_loops(Op.Range, BUDGET).tightness == "sound only"
    changed(monkeypatch, Op.Const, lambda b: Bounds(b.lo - 1, b.hi))
    assert inclusion.constants(int8).tightness == "sound only"


def test_the_interval_of_values_at_8_bits_covers_all_where_the_row_is_isotone() -> None:
    assert "isotone" in catalogue._points(Op.Max, uint8, BUDGET).covered
    assert "isotone" not in catalogue._points(Op.Xor, uint8, BUDGET).covered


# Wrong rows -------------------------------------------------------------------------------------------------------


def replayed(outcome: Outcome) -> None:
    """A refutation stands, and its test fails as long as the row is wrong."""
    assert outcome.kind == "refuted", outcome
    assert outcome.counterexample is not None
    if outcome.counterexample.test:
        space: dict[str, Any] = {}
        exec(compile(outcome.counterexample.test, "counterexample", "exec"), space)
        (test,) = [f for name, f in space.items() if name.startswith("test_")]
        with pytest.raises(AssertionError):
            test()


def without_fit(monkeypatch) -> None:
    def spans(ends, dtype, *, nan):
        if dtype.is_float:
            return bounds.rounded([float(e) for e in ends], dtype, nan=nan)
        return Bounds(bounds.least(ends), bounds.greatest(ends))

    monkeypatch.setattr(bounds, "spans", spans)


@pytest.mark.parametrize("op", [Op.Add, Op.Sub, Op.Neg, Op.Mul, Op.Mulacc])
def test_a_row_that_forgets_wrapping_is_refuted_over_the_integers(op: Op, monkeypatch) -> None:
    without_fit(monkeypatch)
    replayed(integers.at_any_width(op, [True], BUDGET))
    assert integers.on_index(op, BUDGET).kind == "proved"


def test_a_row_that_forgets_wrapping_is_refuted_at_small_widths(monkeypatch) -> None:
    without_fit(monkeypatch)
    replayed(catalogue._on_all(Op.Add, small.INT4))
    replayed(small.try_points(Op.Add, int8))
    replayed(catalogue._on_directed(Op.Mul, uint8))
    replayed(integers.at_any_width(Op.Cast, [True, False], BUDGET))


def changed(monkeypatch, op: Op, change: Callable[[Bounds], Bounds | None]) -> None:
    right = MIN_MAX[op]

    def wrong(node: Any, at: Any) -> Any:
        found = right(node, at)
        return None if found is None else change(found)

    monkeypatch.setitem(MIN_MAX, op, wrong)


def swapped(b: Bounds) -> Bounds:
    return Bounds(b.hi, b.lo, b.maybe_nan)


def no_nan(b: Bounds) -> Bounds:
    return dataclasses.replace(b, maybe_nan=False)


@pytest.mark.parametrize("op", [Op.Add, Op.Max, Op.Mod, Op.Idiv, Op.CmpLt, Op.CmpEq, Op.Where])
def test_swapped_ends_are_refuted(op: Op, monkeypatch) -> None:
    changed(monkeypatch, op, swapped)
    replayed(integers.at_any_width(op, [True], BUDGET))
    replayed(catalogue._on_all(op, small.INT4))


@pytest.mark.parametrize("op", [Op.Add, Op.Sub, Op.Mul, Op.Max, Op.Neg, Op.Trunc, Op.Sqrt, Op.Recip, Op.Div])
def test_a_row_without_its_flag_for_nan_is_refuted(op: Op, monkeypatch) -> None:
    changed(monkeypatch, op, no_nan)
    replayed(catalogue._on_all(op, small.FLOAT4, nan=True))


@pytest.mark.parametrize("op", [Op.Add, Op.Mul])
def test_nan_of_operands_that_are_numbers_is_refuted_at_real_formats(op: Op, monkeypatch) -> None:
    changed(monkeypatch, op, no_nan)
    replayed(catalogue._on_chosen(op, float32))


@pytest.mark.parametrize("op", [Op.Exp2, Op.Log2, Op.Sin, Op.Pow])
def test_the_rows_of_programs_are_tried(op: Op, monkeypatch) -> None:
    changed(monkeypatch, op, lambda b: Bounds(1.0, 1.0, b.maybe_nan))
    replayed(catalogue._on_chosen(op, float16))


def test_a_row_for_every_number_of_float16_is_refuted(monkeypatch) -> None:
    changed(monkeypatch, Op.Exp2, lambda b: Bounds(2.0**-23, b.hi, b.maybe_nan))
    replayed(catalogue._run_at_once(Op.Exp2))


def test_a_pad_that_forgets_its_zeros_is_refuted(monkeypatch) -> None:
    monkeypatch.setitem(MIN_MAX, Op.Pad, lambda node, at: at(node.src[0]))
    replayed(integers.at_any_width(Op.Pad, [True], BUDGET))
    replayed(inclusion.moved(Op.Pad))


def test_a_stack_that_forgets_a_source_is_refuted(monkeypatch) -> None:
    monkeypatch.setitem(MIN_MAX, Op.Stack, lambda node, at: at(node.src[0]) if node.src else None)
    replayed(integers.at_any_width(Op.Stack, [False], BUDGET))
    replayed(integers.on_index(Op.Stack, BUDGET))


@pytest.mark.parametrize("op", list(inclusion.MOVED))
def test_a_moving_row_that_loses_the_greatest_is_refuted(op: Op, monkeypatch) -> None:
    changed(monkeypatch, op, lambda b: Bounds(b.lo, b.hi - 1))
    replayed(inclusion.moved(op))


@pytest.mark.parametrize("op", list(inclusion.ANYTHING))
def test_a_row_narrower_than_the_dtype_is_not_met(op: Op, monkeypatch) -> None:
    changed(monkeypatch, op, lambda b: Bounds(b.lo, b.lo, b.maybe_nan))
    assert inclusion.anything(op).kind == "unknown"


@pytest.mark.parametrize("op", [Op.Range, Op.Special])
def test_a_loop_that_stops_early_is_not_met(op: Op, monkeypatch) -> None:
    changed(monkeypatch, op, lambda b: Bounds(b.lo, b.hi - 1))
    assert integers.of_loops(op, BUDGET).kind == "unknown"


def test_a_clamped_cast_is_refuted(monkeypatch) -> None:
    def clamped(ends, dtype, *, nan):
        low, high = bounds.least(ends), bounds.greatest(ends)
        return Bounds(max(low, dtype.min), min(high, dtype.max))

    monkeypatch.setattr(bounds, "spans", clamped)
    replayed(catalogue._casts_from(int8))


def test_a_wrong_constant_and_a_wrong_param_are_refuted(monkeypatch) -> None:
    monkeypatch.setitem(MIN_MAX, Op.Const, lambda node, at: Bounds(node.arg.value, node.arg.value))
    assert inclusion.constants(float8_e5m2).kind == "refuted"
    monkeypatch.setitem(MIN_MAX, Op.Param, lambda node, at: dtype_range(node.dtype))
    assert inclusion.parameters().kind == "unknown"


@pytest.mark.parametrize("op", [Op.And, Op.Or, Op.Xor])
def test_a_wrong_bitwise_row_is_refuted(op: Op, monkeypatch) -> None:
    changed(monkeypatch, op, lambda b: Bounds(b.lo, b.lo))
    replayed(words.bitwise(op, int8, BUDGET))
    replayed(words.bitwise(op, uint8, BUDGET))


def test_mod_by_one_less_is_refuted(monkeypatch) -> None:
    def mod(a, b, dtype):
        return Bounds(0, b.hi - 2) if b.lo >= 2 else dtype_range(dtype)

    monkeypatch.setitem(MIN_MAX, Op.Mod, bounds.of_sources(mod))
    replayed(integers.at_any_width(Op.Mod, [False], BUDGET))
    replayed(integers.on_index(Op.Mod, BUDGET))


def test_a_quotient_that_forgets_zero_is_refuted(monkeypatch) -> None:
    def idiv(a, b, dtype):
        return bounds.spans([a.lo, a.hi], dtype, nan=False) if b.lo >= 0 else dtype_range(dtype)

    monkeypatch.setitem(MIN_MAX, Op.Idiv, bounds.of_sources(idiv))
    replayed(integers.at_any_width(Op.Idiv, [False], BUDGET))


def test_a_row_that_is_not_isotone_is_seen(monkeypatch) -> None:
    def odd(a, b, dtype):
        return dtype_range(dtype) if a.lo == a.hi else bounds_of_max(a, b, dtype)

    monkeypatch.setitem(MIN_MAX, Op.Max, bounds.of_sources(odd))
    assert integers.isotone(Op.Max, signed=True, budget=BUDGET)
    assert not integers.isotone(Op.Add, signed=True, budget=BUDGET)


# Lemmas -----------------------------------------------------------------------------------------------------------


def test_a_lemma_that_is_false_is_not_proved(monkeypatch) -> None:
    monkeypatch.setattr(lemmas, "monotone_product", lambda p, q, a, c, b: z3.Implies(a <= c, p <= q))
    assert lemmas.products_are_monotone(BUDGET).kind == "unknown"
    monkeypatch.setattr(lemmas, "monotone_divisor", lambda p, q, a, b, d: z3.Implies(b <= d, p >= q))
    assert lemmas.quotients_are_monotone(BUDGET).kind == "unknown"


@pytest.mark.parametrize(("op", "senses"), [(Op.Sqrt, (-1,)), (Op.Sub, (1, 1)), (Op.Mul, (1, 1))])
def test_a_wrong_sense_of_growth_is_seen(op: Op, senses, monkeypatch) -> None:
    right = floats.MONOTONE[op]
    monkeypatch.setitem(floats.MONOTONE, op, dataclasses.replace(right, senses=senses))
    assert floats.on_all_of_eight_bits(op, float8_e5m2).kind == "unknown"
    assert floats.at_half_precision(op).kind == "unknown"
    if op is not Op.Sub:
        assert floats.by_solver(op, BUDGET).kind == "unknown"


def test_a_numpy_that_rounds_otherwise_is_seen(monkeypatch) -> None:
    right = floats.MONOTONE[Op.Sqrt]
    other = dataclasses.replace(right, half=lambda x: right.half(x) * x)
    monkeypatch.setitem(floats.MONOTONE, Op.Sqrt, other)
    assert "numpy" in floats.at_half_precision(Op.Sqrt).detail


# Symbols ----------------------------------------------------------------------------------------------------------


def test_both_ways_through_a_branch_are_followed() -> None:
    x = z3.Int("x")
    paths = Paths([x >= 0], BUDGET)
    number = Number(x, paths)

    def sign() -> str:
        return "negative" if number < 0 else "zero" if number == 0 else "positive"

    assert sorted(p.result for p in paths.run(sign)) == ["positive", "zero"]


def test_a_function_with_too_many_ways_is_given_up(monkeypatch) -> None:
    from soundline.verify.law import symbols

    monkeypatch.setattr(symbols, "MOST_PATHS", 3)
    paths = Paths([], BUDGET)
    numbers = [Number(z3.Int(f"x{k}"), paths) for k in range(3)]
    with pytest.raises(TooManyPaths):
        list(paths.run(lambda: [n > 0 and 1 for n in numbers]))


def test_an_infinite_end_compares_as_it_should() -> None:
    number = Number(z3.Int("x"), Paths([], BUDGET))
    assert all((number < INF, number <= INF, number > -INF, number >= -INF, number != INF))
    assert not any((number > INF, number >= INF, number < -INF, number <= -INF, number == INF))
    assert order(number) == order(number)  # type: ignore[arg-type]


# Replays ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "ends"),
    [
        (int8, Bounds(-3, 5)),
        (bool_, Bounds(False, True)),
        (index, Bounds(3, INF)),
        (index, Bounds(-INF, 3)),
        (index, Bounds(-INF, INF)),
        (float32, Bounds(-1.0, 2.0)),
        (float32, Bounds(-1.0, 2.0, maybe_nan=True)),
        (float32, Bounds(-INF, 2.0, maybe_nan=True)),
        (float32, Bounds(-INF, INF, maybe_nan=True)),
    ],
)
def test_an_operand_has_the_interval_that_is_asked_for(dtype, ends: Bounds) -> None:
    found = min_max(node_of(0, Operand(dtype, ends, 0)))
    assert found is not None
    assert (order(found.lo), order(found.hi)) == (order(ends.lo), order(ends.hi))
    assert found.maybe_nan == ends.maybe_nan


def test_what_lies_inside_is_no_refutation() -> None:
    one = Operand(int8, Bounds(0, 5), 3)
    assert refutation(Op.Add, [one, one]) is None
    assert contains(Bounds(0.0, 1.0, maybe_nan=True), NAN)
    assert not contains(Bounds(0.0, 1.0), -0.0)
    assert not contains(None, 0)


def test_the_small_floats_are_formats_with_and_without_infinity() -> None:
    assert small.numbers(small.FLOAT4)[-2:] == (3.0, INF)
    assert small.numbers(small.FLOAT4FN)[-2:] == (3.0, 4.0)
    assert len(small.numbers(small.FLOAT4)) == 14
    assert scalar(Op.Add, small.FLOAT4, 3.0, 0.5) == INF
    assert scalar(Op.Add, small.FLOAT4FN, 3.0, 0.5) == 4.0
    for dtype in (small.FLOAT4, small.FLOAT4FN):
        assert sum(v != v for v in (from_bits(dtype, p) for p in range(16))) == 2


# The source's rows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", source_rows.UNSOUND_ON_INTEGERS)
def test_an_unsound_row_of_the_source_is_refuted(op: Op) -> None:
    found = source_rows.verdict(op)
    assert found.kind == "shown"
    assert found.detail.startswith("refuted: ")


@pytest.mark.parametrize("op", [Op.CmpLt, Op.Xor, Op.Trunc, Op.Permute, Op.Buffer])
def test_a_sound_row_of_the_source_is_not(op: Op) -> None:
    assert source_rows.verdict(op).detail == "sound"


def test_a_row_that_turns_out_otherwise_is_told(monkeypatch) -> None:
    monkeypatch.setitem(source_rows.STATED, Op.Trunc, ("[0, 0]", lambda ends, dtype: Bounds(0.0, 0.0)))
    assert source_rows.of_floats(Op.Trunc)[0] is not None
    monkeypatch.setitem(source_rows.STATED, Op.Xor, ("[0, 0]", lambda ends, dtype: Bounds(0, 0)))
    assert source_rows.verdict(Op.Xor).kind == "unknown"


def test_the_rows_of_the_source_are_quoted_for_ops_that_there_are() -> None:
    assert {op for op in TABLE if source_rows.text_of(op)} <= set(MIN_MAX)
    assert source_rows.text_of(Op.Sin) == ""


# The run ----------------------------------------------------------------------------------------------------------


def settings(*filters: str, jobs: int = 1) -> LawSettings:
    return LawSettings(jobs, BUDGETS["normal"], filters)


def test_processes_find_what_one_finds() -> None:
    chosen = ("lemma", "finding U-4", "min_max Max: int")
    one, two = check_law(settings(*chosen)), check_law(settings(*chosen, jobs=2))
    assert one.judged == tuple(one.judged)
    assert [(j.obligation.id, j.outcome) for j in one.judged] == [
        (j.obligation.id, j.outcome) for j in two.judged
    ]


def test_a_filter_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="no obligation of the specification matches nonsense"):
        check_law(settings("nonsense"))


def test_a_check_that_fails_decides_nothing(monkeypatch) -> None:
    monkeypatch.setattr(inclusion, "parameters", lambda: 1 / 0)
    monkeypatch.setattr("soundline.verify.campaigns.law.obligations", obligations.__wrapped__)
    (judged,) = check_law(settings("min_max Param: int8")).judged
    assert judged.outcome.kind == "unknown"
    assert "ZeroDivisionError" in judged.outcome.detail


def test_an_interruption_reports_what_is_known(monkeypatch) -> None:
    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("soundline.verify.campaigns.law._timed", stop)
    found = check_law(settings("lemma"))
    assert found.interrupted
    assert {j.outcome.detail for j in found.judged} == {"interrupted"}
    line = law.last_line(found)
    assert line.startswith("interrupted: law: 4 obligations: 0 proved")
    assert ", 0 unknown" in line
    assert line.endswith("; 4 not reached")
    assert "lemma" not in law.render(found)


def test_the_command_says_everything_in_its_last_line(capsys) -> None:
    assert main(["verify", "--law", "--jobs", "1", "--filter", "lemma", "--filter", "finding U-41"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(
        r"law: 6 obligations: 4 proved, 0 exhaustive, 0 inclusion, 0 sampled, 2 shown, 0 refuted, 0 unknown "
        r"in \d+\.\d s",
        lines[-1],
    )
    assert any(re.match(r"lemma +4 proved", line) for line in lines)


def test_the_command_with_a_wrong_row(capsys, monkeypatch) -> None:
    changed(monkeypatch, Op.Max, swapped)
    options = ["verify", "--law", "--jobs", "1", "--filter", "min_max Max: int, any width"]
    assert main(options) == 1
    text = capsys.readouterr().out
    assert "✗ refuted" in text
    assert "def test_the_interval_of_max_holds_its_value" in text
    assert main([*options, "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["rules"] == []
    assert found["summary"]["exit_code"] == 1
    (only,) = found["law"]["obligations"]
    assert only["kind"] == "refuted"
    assert only["counterexample"]["test"]
    assert main([*options, "--format", "junit"]) == 1
    assert ElementTree.fromstring(capsys.readouterr().out).get("failures") == "1"
    assert main([*options, "--format", "sarif"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert result["ruleId"] == "min_max Max"
    place = result["locations"][0]["physicalLocation"]
    line = (
        (ROOT / place["artifactLocation"]["uri"]).read_text().splitlines()[place["region"]["startLine"] - 1]
    )
    assert "Op.Max" in line


def test_rules_and_the_law_together(capsys, tmp_path) -> None:
    text = "from soundline.verify import Value, ints, rule\n\n\n@rule(dtypes=[*ints])\n"
    file = tmp_path / "mine.py"
    file.write_text(f"{text}def twice(x: Value):\n    return x + x, x * 2\n")
    options = ["verify", str(file), "--law", "--filter", "twice", "--filter", "lemma", "--jobs", "1"]
    assert main(options) == 0
    told = capsys.readouterr().out
    assert "1 proved, 0 refuted" in told
    assert any(line.startswith("law: 4 obligations: 4 proved") for line in told.splitlines()[-2:])
    assert main([*options, "--format", "junit", "--no-cache"]) == 0
    suites = ElementTree.fromstring(capsys.readouterr().out)
    assert suites.get("tests") == "2"


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--offline"], "--offline cannot be combined with --law"), (["--filter", "nonsense"], "no obligation")],
)
def test_wrong_use_is_refused(options: list[str], said: str, capsys) -> None:
    assert main(["verify", "--law", "--jobs", "1", *options]) == 2
    assert said in capsys.readouterr().err


def test_what_was_only_sampled_is_no_layer() -> None:
    group = [
        law.Judged(by_id(f"min_max Add: {name}"), Outcome(kind, "some"))  # type: ignore[arg-type]
        for name, kind in (("int4", "exhaustive"), ("float32", "sampled"))
    ]
    assert [x.layer for x in law.of_subject(group).layers] == ["int4"]
    assert [x.layer for x in law.of_subject(group[1:]).layers] == ["float32"]
