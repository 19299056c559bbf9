"""Second opinions on rules that shift an `index`: its count is a constant, which an array of points is not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from soundline.spec.rules.instances import goals
from soundline.spec.rules.language import Rule
from soundline.verify import Value, given, index, int32, rule
from soundline.verify.cli.main import main
from soundline.verify.judging.judge import prove_layer
from soundline.verify.second import batches, operands
from soundline.verify.second.opinions import ASKERS, available
from soundline.verify.smt.goals.obligations import obligation_of
from soundline.verify.smt.goals.points import FAILS, HOLDS, OUT, Points
from soundline.verify.smt.goals.solving import Budget


@rule(dtypes=[index, int32])
def low_bits_cleared(x: Value):
    given(x >= 0, x < 1000, (x >> 1) % 2 == 0)
    return (x >> 2) << 2, x - x % 2


@rule(dtypes=[index, int32])
def low_bits_cleared_wrong(x: Value):
    given(x >= 0, x < 1000)
    return (x >> 2) << 2, x - x % 2


@rule(dtypes=[index])
def shift_twice(x: Value):
    return (x >> 2) >> 3, x >> 5


@rule(dtypes=[index])
def never_shifted(x: Value):
    given(x < 0, (x >> 1) > 0)
    return x, x + 1


@pytest.mark.parametrize(
    ("stated", "verdict"),
    [
        (low_bits_cleared, "proved"),
        (low_bits_cleared_wrong, "refuted"),
        (shift_twice, "proved"),
        (never_shifted, "vacuous"),
    ],
    ids=lambda x: getattr(x, "id", x),
)
def test_everyone_can_be_asked_about_them(stated: Rule, verdict: str) -> None:
    found = prove_layer(stated, index, Budget(opinions=available()))
    assert (found.verdict, found.bugs) == (verdict, ())
    assert replace(found, opinions=()) == prove_layer(stated, index)
    small = next(o for o in found.opinions if o.by == operands.BY)
    assert small.answer == "agrees", small


@pytest.mark.parametrize("stated", [low_bits_cleared, low_bits_cleared_wrong, shift_twice, never_shifted])
def test_points_in_arrays_are_points_one_by_one(stated: Rule) -> None:
    obligation = obligation_of(next(goals(stated, index)))
    points = [(k,) for k in range(-40, 40)]
    one_by_one = Points(obligation)
    found = list(batches.outcomes(obligation, points))
    assert found == [(p, one_by_one.at(p)) for p in points]
    assert {o for _, o in found} & {HOLDS, FAILS, OUT}


def test_whoever_fails_has_no_answer_and_changes_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(asked: object) -> object:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setitem(ASKERS, "operands", failing)
    found = prove_layer(shift_twice, index, Budget(opinions=("operands", "floats")))
    assert found.verdict == "proved"
    assert [(o.by, o.answer) for o in found.opinions] == [(operands.BY, "open"), ("directed floats", "open")]
    assert found.opinions[0].detail == "it failed: ZeroDivisionError: a mistake of ours"


FILE = """
from soundline.verify import *

@rule(dtypes=[index])
def shift_twice(x: Value):
    return (x >> 2) >> 3, x >> 5

@rule(dtypes=[index])
def shift_twice_wrong(x: Value):
    return (x >> 2) >> 3, x >> 6
"""


def test_the_command_proves_and_refutes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "shifts.py"
    file.write_text(FILE)
    assert main(["verify", "--jobs", "1", "--second", "--format", "json", str(file)]) == 1
    data = json.loads(capfd.readouterr().out)
    assert {r["id"]: r["verdict"] for r in data["rules"]} == {
        "shift_twice": "proved",
        "shift_twice_wrong": "refuted",
    }
    assert data["summary"]["opinions"]["small operands"] == {"agrees": 2, "contradicts": 0, "open": 0}
