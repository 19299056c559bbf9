"""Counterexamples computed once more by compiled C: confirmed, not run and why, or a mistake of ours that is told."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from soundline.impl import toolchain
from soundline.spec.dtypes import float8_e4m3fn, float32, from_bits, index, ints, round_to, to_bits
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.table.parsing import parse
from soundline.spec.rules.language import Rule
from soundline.spec.uop import Op
from soundline.verify import (
    Bool,
    Const,
    Flags,
    Offset,
    Shape,
    Tensor,
    Value,
    bfloat16,
    float16,
    float64,
    given,
    int8,
    rule,
    uint64,
)
from soundline.verify.cli.main import main
from soundline.verify.judging.judge import prove, prove_layer
from soundline.verify.processes import serving
from soundline.verify.reports import opinions
from soundline.verify.reports.report import Report
from soundline.verify.second import compiled
from soundline.verify.verdicts.as_json import case_from_json, layer_from_json, layer_to_json
from soundline.verify.verdicts.verdict import COMPILED, EVALUATOR, Case, Counterexample, Replay

MACHINE = (*ints, float16, bfloat16, float32, float64, float8_e4m3fn)


@rule(dtypes=MACHINE)
def doubled(x: Value):
    return x + x, x


@rule
def shifted(x: Tensor, o: Offset, s: Shape):
    return x.shrink(o, s).pad(o, x.shape), x


@rule
def turned(x: Tensor, f: Flags):
    return x.flip(f), x


@rule
def refused(x: Tensor):
    given(x.shape[0] == 2)
    return x, x.reshape((3,))


def shown(stated: Rule, dtype: Any = None) -> Counterexample:
    found = prove(stated).counterexample if dtype is None else prove_layer(stated, dtype).counterexample
    assert found is not None
    assert found.case is not None
    return found


def case_of(stated: Rule, dtype: Any = None) -> Case:
    found = shown(stated, dtype).case
    assert found is not None
    return found


@pytest.mark.parametrize("dtype", MACHINE, ids=str)
def test_scalars_of_each_dtype_are_confirmed(dtype: Any) -> None:
    case = case_of(doubled, dtype)
    ((_, name, shape, bits),) = case.inputs
    assert (name, shape) == (dtype.name, ())
    assert compiled.replayed(case) == Replay(COMPILED, "confirmed")
    x = from_bits(dtype, *bits)
    assert evaluate(*parse(case.left), compiled.arrays_of(case)).item() == (
        round_to(dtype, x + x) if dtype.is_float else x + x
    )


@rule
def inverted(x: Bool):
    return ~x, x


@pytest.mark.parametrize("stated", [shifted, turned, inverted], ids=lambda r: r.id)
def test_tensors_are_confirmed(stated: Rule) -> None:
    assert compiled.replayed(case_of(stated)) == Replay(COMPILED, "confirmed")


def test_a_reduce_is_confirmed() -> None:
    text = "%0 = Param([2, 2]; slot=0, dtype=int32)\n%1 = Reduce(%0; op={}, axes=(0,))\nreturn %1"
    inputs = ((0, "int32", (2, 2), (1, 2, 3, 4)),)
    case = Case(text.format("Add"), text.format("Max"), inputs)
    assert compiled.replayed(case).result == "confirmed"
    same = Case(text.format("Add"), text.format("Add"), inputs)
    assert compiled.replayed(same).result == "disagrees"


@rule(dtypes=[index])
def successor(x: Value):
    return x + 1, x


def test_numbers_without_bounds_have_no_c() -> None:
    found = compiled.replayed(case_of(successor))
    assert found == Replay(COMPILED, "not run", "numbers without bounds have no C")


def test_of_a_right_side_that_is_refused_the_left_side_is_run() -> None:
    case = case_of(refused)
    assert case.right == ""
    found = compiled.replayed(case)
    assert found.result == "confirmed"
    assert "left side" in found.detail


def test_without_a_compiler_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    case = case_of(turned)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    found = compiled.replayed(case)
    assert found.result == "not run"
    assert "no C compiler found" in found.detail


def test_what_the_road_refuses_is_said() -> None:
    """An index that needs more than 64 bits has no C."""
    text = "%0 = Param([1]; slot=0, dtype=int32)\n%1 = Cast(%0; index)\n%2 = Mul(%1, %1)\n%3 = Mul(%2, %2)\n"
    text += "%4 = CmpLt(%1, %3)\nreturn %4"
    other = "%0 = Param([1]; slot=0, dtype=int32)\n%1 = CmpNe(%0, %0)\nreturn %1"
    found = compiled.replayed(Case(text, other, ((0, "int32", (1,), (5,)),)))
    assert found.result == "not run"
    assert "64 bits" in found.detail


# a road that is wrong ---------------------------------------------------------------------------------------------


def test_c_that_computes_something_else_is_told_with_both_values(monkeypatch: pytest.MonkeyPatch) -> None:
    true = compiled.run

    def lying(sides: Any, inputs: Any) -> Any:
        first, *rest = true(sides, inputs)
        changed = tuple(e + 1 for e in first.elements)
        return [replace(first, elements=changed), *rest]

    monkeypatch.setattr(compiled, "run", lying)
    found = compiled.replayed(case_of(turned))
    assert found.result == "disagrees"
    assert "the left side at [0] is " in found.detail
    assert found.detail.count(" by the evaluator") == 1


def test_c_of_another_shape_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    true = compiled.run
    flat = lambda a: replace(a, shape=(1, len(a.elements)))  # noqa: E731
    monkeypatch.setattr(compiled, "run", lambda *given: [flat(a) for a in true(*given)])
    assert "has the shape" in compiled.replayed(case_of(turned)).detail


def test_a_slip_in_the_generated_c_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The C of 2 written as that of 3."""
    from soundline.impl.compilation import stages as road

    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path))
    road.lower.cache_clear()
    true = road.render
    monkeypatch.setattr(road, "render", lambda program: true(program).replace(" * 2.0f", " * 3.0f"))
    case = case_of(doubled, float32)
    found = compiled.replayed(case)
    road.lower.cache_clear()
    assert found.result == "disagrees"
    assert "the left side is " in found.detail


def test_c_that_does_not_compile_is_a_mistake_of_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from soundline.impl.compilation import stages as road

    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path))
    road.lower.cache_clear()
    monkeypatch.setattr(road, "render", lambda program: "this is no C")
    found = compiled.replayed(case_of(doubled, float64))
    road.lower.cache_clear()
    assert found.result == "disagrees"
    assert "does not compile" in found.detail


# processes of their own -------------------------------------------------------------------------------------------


def report_of(*rules: Rule) -> Report:
    return Report(tuple(prove(r) for r in rules), (), 0.1)


def test_every_counterexample_that_is_shown_is_replayed() -> None:
    first = report_of(turned, shifted, refused)
    found = opinions.replayed_in_c(first, jobs=2)
    assert [r.id for r in found.rules] == [r.id for r in first.rules]
    for one in found.rules:
        assert one.counterexample is not None
        assert [(r.by, r.result) for r in one.counterexample.replays] == [
            (EVALUATOR, "confirmed"),
            (COMPILED, "confirmed"),
        ]
    assert found.exit_code == 1
    assert opinions.replayed_in_c(found) == found, "what was replayed is not replayed again"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import os, signal, sys; sys.stdin.readline(); os.kill(os.getpid(), signal.SIGSEGV)", "status -11"),
        ("import sys; sys.stdin.readline(); sys.exit(3)", "status 3"),
        ("import sys, time; sys.stdin.readline(); time.sleep(1000)", "did not end within 1 s"),
    ],
    ids=["crash", "exit", "hang"],
)
def test_native_code_that_ends_its_process_is_a_mistake_of_ours(
    body: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = report_of(turned)
    (tmp_path / "mistaken.py").write_text(f"def main():\n    {body}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(opinions, "serving", lambda _, **options: serving("mistaken", **options))
    monkeypatch.setattr(opinions, "SECONDS", 1.0 if "hang" in said or "within" in said else 60.0)
    found = opinions.replayed_in_c(first)
    (bug,) = found.rules[0].bugs
    assert said in bug
    assert found.rules[0].verdict == "unknown"
    assert found.exit_code == 4


def test_a_replay_that_raises_is_a_mistake_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import io

    broken = Case("no program", "", ())
    lines = json.dumps(asdict(broken)) + "\n" + json.dumps(asdict(case_of(turned))) + "\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    compiled.main()
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["result"] == "disagrees"
    assert "TextError" in first["detail"]
    assert second["result"] == "confirmed"


def test_a_counterexample_without_a_program_is_not_run() -> None:
    report = prove(turned)
    assert report.counterexample is not None
    bare = replace(report.layers[0], counterexample=replace(report.counterexample, case=None))
    found = opinions.replayed(replace(report, layers=(bare,)))
    assert found.counterexample is not None
    assert found.counterexample.replays[-1].result == "not run"


def test_cases_survive_the_journey_between_processes() -> None:
    for dtype in (int8, uint64, float16):
        layer = prove_layer(doubled, dtype)
        assert layer_from_json(json.loads(json.dumps(layer_to_json(layer)))) == layer
    case = case_of(shifted)
    assert case_from_json(json.loads(json.dumps(asdict(case)))) == case


def test_bit_patterns_keep_what_a_decimal_would_lose() -> None:
    @rule(dtypes=[float32])
    def halves(x: Value, c: Const):
        given(c != 0)
        return (x / c) * c, x

    case = case_of(halves, float32)
    for slot, array in compiled.arrays_of(case).items():
        bits = next(b for s, _, _, b in case.inputs if s == slot)
        assert [to_bits(array.dtype, e) for e in array.elements if not isinstance(e, Op)] == list(bits)
    assert compiled.replayed(case).result == "confirmed"


# the command ------------------------------------------------------------------------------------------------------

FILE = """
from soundline.verify import *

@rule(dtypes=[int32])
def wrong_here(x: Value):
    return x + 1, x
"""


def test_the_command_says_which_replays_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "r.py"
    file.write_text(FILE)
    assert main(["verify", "-q", "--jobs", "1", str(file)]) == 1
    assert "replayed by the evaluator: confirmed; by compiled C: confirmed" in capfd.readouterr().out
    monkeypatch.setattr(
        opinions._Replayer,
        "ask",
        lambda self, case: Replay(COMPILED, "disagrees", "the left side is 7 in C"),
    )
    assert main(["verify", "-q", "--jobs", "1", str(file)]) == 4
    told = capfd.readouterr().out
    assert "a bug in soundline, not in the rule" in told
    assert "compiled C disagrees: the left side is 7 in C" in told
    assert "0 refuted, 1 unknown" in told
