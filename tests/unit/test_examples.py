"""The examples do what their texts say."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from soundline.spec.rules.language import Rule
from soundline.verify.files.loader import load
from soundline.verify.judging.judge import prove

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def rules_in(name: str) -> list[Rule]:
    loaded = load(str(EXAMPLES / name))
    assert not loaded.problems, loaded.problems
    return loaded.rules


@pytest.mark.parametrize("stated", rules_in("rewrites.py"), ids=lambda r: r.id)
def test_a_right_rewrite_is_proved(stated: Rule) -> None:
    report = prove(stated)
    assert report.verdict == "proved", report


@pytest.mark.parametrize("stated", rules_in("wrong_rewrites.py"), ids=lambda r: r.id)
def test_a_wrong_rewrite_is_refuted(stated: Rule) -> None:
    report = prove(stated)
    assert report.verdict == "refuted", report
    assert report.counterexample is not None


@pytest.mark.parametrize("stated", rules_in("famous_wrong_rewrites.py"), ids=lambda r: r.id)
def test_a_famous_mistake_is_refuted_and_its_mended_form_proved(stated: Rule) -> None:
    report = prove(stated)
    assert report.verdict == {"wrong": "refuted", "right": "proved"}[stated.id.rpartition("_")[2]], report


def test_the_famous_mistakes_name_where_they_were_made() -> None:
    wrong = [r for r in rules_in("famous_wrong_rewrites.py") if r.id.endswith("_wrong")]
    assert len(wrong) >= 10
    for stated in wrong:
        assert any(sign in stated.doc for sign in ("#", "CVE-", "JDK-")), stated.id


def test_both_files_hold_rules() -> None:
    assert len(rules_in("rewrites.py")) >= 10
    assert len(rules_in("wrong_rewrites.py")) >= 9


def test_the_layer_runs_and_explains_itself(capsys) -> None:
    runpy.run_path(str(EXAMPLES / "layer.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.startswith("[[")
    assert "float32[4, 8], float32[8, 2], float32[2]" in printed
    assert "profile exact, licences: none" in printed


def test_the_law_prints_what_it_computes(capsys) -> None:
    runpy.run_path(str(EXAMPLES / "law.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "int8 (2,) Bounds(lo=0, hi=100, maybe_nan=False)",
        "(40, 100)",
        "(0, 1, 2, 0)",
    ]
    assert lines[3].startswith("uop-reshape-c2 - ")
