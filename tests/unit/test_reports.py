"""The four formats of a report: each is valid in its own world, and tells of every rule and every mistake."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from soundline.verify.files.problems import Problem
from soundline.verify.reports import as_json, junit, sarif
from soundline.verify.reports import text as report_text
from soundline.verify.reports.cases import INTERRUPTED
from soundline.verify.reports.progress import Lines, Live
from soundline.verify.reports.report import Report
from soundline.verify.verdicts.verdict import (
    Counterexample,
    Difference,
    LayerResult,
    Opinion,
    Replay,
    RuleReport,
    Verdict,
)

EVIL = 'a <b> & "c" \x00\x1b[31m \udc80 ]]> [bold]x[/bold] \U0001f600'
TEST = "def test_it() -> None:\n    assert 'left' == 'right'\n"
FOUND = Counterexample(
    "dtype int8",
    (("x", "64"), ("c", "2")),
    "-64",
    "64",
    TEST,
    "the product wraps",
    differences=(Difference((1, 0), "-64", "64"),),
    differing=3,
    steps=(("x * c", "-128"),),
    replays=(Replay("the evaluator", "confirmed"), Replay("compiled C", "not run", "there is no compiler")),
)
INTS = [f"bit-precise {u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)]


def made(
    name: str, *layers: LayerResult, line: int = 3, file: str = "r.py", cached: bool = False
) -> RuleReport:
    return RuleReport(name, file, line, "(x * c) // c → x", layers, cached)


def layer(verdict: Verdict, name: str = "unbounded", **rest: Any) -> LayerResult:
    return LayerResult(name, verdict, rest.pop("covered", "all values"), **rest)


PROVED = made("fine", layer("proved"), *(layer("proved", n) for n in INTS), cached=True)
AGREES = Opinion("cvc5", "agrees")
REFUTED = made(
    "wrong", layer("proved"), layer("refuted", INTS[0], counterexample=FOUND, opinions=(AGREES,)), line=9
)
UNKNOWN = made(
    "hard", layer("unknown", covered="ranks 0 to 2", detail="x · y resisted"), file="s t.py", line=5
)
VACUOUS = made("empty", layer("vacuous", covered="", detail="the condition excludes every input"), line=12)
MISTAKES = (
    Problem("syntax", "r.py", 20, "syntax error: '(' was never closed", None, "bad"),
    Problem("missing-file", "none.py", None, "there is no such file", "name another"),
)
ALL = Report((PROVED, REFUTED, UNKNOWN, VACUOUS), MISTAKES, 41.24)


def report(*rules: RuleReport, problems: Sequence[Problem] = (), interrupted: bool = False) -> Report:
    return Report(rules, tuple(problems), 0.04, interrupted)


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (report(), 0),
        (report(PROVED), 0),
        (report(PROVED, REFUTED), 1),
        (report(PROVED, VACUOUS), 1),
        (report(PROVED, UNKNOWN), 3),
        (report(UNKNOWN, REFUTED), 1),
        (report(UNKNOWN, VACUOUS), 1),
        (report(PROVED, problems=MISTAKES), 2),
        (report(REFUTED, problems=MISTAKES), 2),
        (report(UNKNOWN, problems=MISTAKES), 2),
        (report(PROVED, interrupted=True), 130),
        (report(REFUTED, problems=MISTAKES, interrupted=True), 130),
    ],
)
def test_exit_codes(result: Report, code: int) -> None:
    assert result.exit_code == code
    assert as_json.as_json(result)["summary"]["exit_code"] == code


# JSON -------------------------------------------------------------------------------------------------------------


def test_json_has_its_schema() -> None:
    data = json.loads(as_json.render(ALL))
    assert set(data) == {"schema", "rules", "errors", "times", "summary"}
    assert data["schema"] == 1
    for rule in data["rules"]:
        promised = {"id", "file", "line", "verdict", "layers", "counterexample", "covered"}
        assert promised <= set(rule)
        assert isinstance(rule["line"], int)
    for error in data["errors"]:
        assert {"file", "line", "kind", "message", "hint"} <= set(error)
    assert data["rules"][0]["layers"] == {"unbounded": "proved", **dict.fromkeys(INTS, "proved")}
    assert [r["verdict"] for r in data["rules"]] == ["proved", "refuted", "unknown", "vacuous"]
    assert data["rules"][0]["counterexample"] is None
    assert data["rules"][1]["counterexample"] == {
        "bindings": {"x": "64", "c": "2"},
        "left": "-64",
        "right": "64",
        "instance": "dtype int8",
        "test": TEST,
        "note": "the product wraps",
        "differences": [{"position": [1, 0], "left": "-64", "right": "64"}],
        "differing": 3,
        "steps": [["x * c", "-128"]],
        "replays": [
            {"by": "the evaluator", "result": "confirmed", "detail": ""},
            {"by": "compiled C", "result": "not run", "detail": "there is no compiler"},
        ],
    }
    assert data["rules"][1]["opinions"] == {INTS[0]: [{"by": "cvc5", "answer": "agrees", "detail": ""}]}
    assert data["rules"][1]["bugs"] == []
    assert data["rules"][2]["detail"] == {"unbounded": "x · y resisted"}
    summary = {k: v for k, v in data["summary"].items() if k != "seconds"}
    assert summary == {
        "proved": 1,
        "refuted": 1,
        "unknown": 1,
        "vacuous": 1,
        "errors": 2,
        "cached": 1,
        "bugs": 0,
        "opinions": {"cvc5": {"agrees": 1, "contradicts": 0, "open": 0}},
        "interrupted": False,
        "exit_code": 2,
    }


# mistakes of ours -------------------------------------------------------------------------------------------------

LIED = replace(FOUND, replays=(Replay("compiled C", "disagrees", "it has 64 on the left"),))
OURS = (
    made("lied", layer("refuted", INTS[0], counterexample=LIED)),
    made("doubted", layer("proved", opinions=(Opinion("cvc5", "contradicts", "it has a model"),))),
    made("strange", layer("unknown", bug="the solver's model is no counterexample")),
)


@pytest.mark.parametrize("rule", OURS, ids=lambda r: str(r.id))
def test_a_contradiction_is_no_verdict_but_a_bug_of_ours(rule: RuleReport) -> None:
    found = report(rule, REFUTED, problems=MISTAKES)
    assert found.exit_code == 4
    assert rule.verdict == "unknown"
    told = report_text.render(found)
    assert "a bug in soundline, not in the rule" in told
    assert rule.bugs[0].partition(": ")[2].partition(":")[0] in told
    assert "soundline contradicts itself about 1 rule: a bug of ours" in report_text.last_line(found)
    data = as_json.as_json(found)
    assert data["rules"][0]["bugs"] == list(rule.bugs)
    assert data["summary"]["bugs"] == 1
    (run,) = sarif.as_sarif(found)["runs"]
    assert run["results"][0]["properties"]["bugs"] == list(rule.bugs)
    assert "a bug in soundline" in run["results"][0]["message"]["text"]


def test_what_holds_at_one_layer_is_not_lost_by_a_contradiction_at_another() -> None:
    both = made("both", layer("refuted", INTS[0], counterexample=FOUND), OURS[1].layers[0])
    assert both.verdict == "refuted"
    assert report(both).exit_code == 4


def test_the_text_marks_what_differs_and_says_who_replayed_it() -> None:
    told = report_text.render(ALL)
    assert "x * c = -128" in told
    assert "at [1, 0]  left «-64»  right «64»" in told
    assert "and at 2 more positions" in told
    assert "replayed by the evaluator: confirmed; by compiled C: not run (there is no compiler)" in told


# SARIF ------------------------------------------------------------------------------------------------------------


def test_sarif_tells_findings_as_results_and_mistakes_as_notifications() -> None:
    data = json.loads(sarif.render(ALL))
    assert data["version"] == "2.1.0"
    (run,) = data["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "soundline"
    assert [r["id"] for r in driver["rules"]] == ["fine", "wrong", "hard", "empty"]
    assert all(r["helpUri"].startswith("https://") for r in driver["rules"])
    assert [(r["ruleId"], r["level"]) for r in run["results"]] == [
        ("wrong", "error"),
        ("hard", "note"),
        ("empty", "warning"),
    ]
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "r.py"}, "region": {"startLine": 9}}
    assert "x = 64" in run["results"][0]["message"]["text"]
    assert run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "s%20t.py"
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    told = invocation["toolConfigurationNotifications"]
    assert [n["descriptor"]["id"] for n in told] == ["syntax", "missing-file"]
    assert "region" not in told[1]["locations"][0]["physicalLocation"]


def test_sarif_of_a_clean_run_is_successful_and_empty() -> None:
    (run,) = sarif.as_sarif(report(PROVED))["runs"]
    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is True


def test_sarif_of_an_absolute_path_is_an_address(tmp_path: Path) -> None:
    file = str(tmp_path / "my rules.py")
    (run,) = sarif.as_sarif(report(made("wrong", layer("refuted"), file=file)))["runs"]
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("file:///")
    assert uri.endswith("my%20rules.py")


# JUnit ------------------------------------------------------------------------------------------------------------


def test_junit_has_a_suite_per_file_and_counts_that_add_up() -> None:
    root = ET.fromstring(junit.render(ALL))
    assert [(s.get("name"), s.get("tests"), s.get("failures"), s.get("errors")) for s in root] == [
        ("r.py", "4", "2", "1"),
        ("s t.py", "1", "0", "1"),
        ("none.py", "1", "0", "1"),
    ]
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("6", "2", "3")
    for suite in root:
        assert len(suite.findall("testcase")) == int(suite.get("tests", ""))
        assert len(suite.findall("testcase/failure")) == int(suite.get("failures", ""))
        assert len(suite.findall("testcase/error")) == int(suite.get("errors", ""))
    cases = {c.get("name"): c for c in root.iter("testcase")}
    assert list(cases["fine"]) == []
    assert [(e.tag, e.get("type")) for e in cases["wrong"]] == [("failure", "refuted")]
    assert [(e.tag, e.get("type")) for e in cases["empty"]] == [("failure", "vacuous")]
    assert [(e.tag, e.get("type")) for e in cases["hard"]] == [("error", "unknown")]
    assert [(e.tag, e.get("type")) for e in cases["bad"]] == [("error", "syntax")]
    text = cases["wrong"][0].text or ""
    assert "x = 64" in text
    assert TEST.strip() in text


# evil texts -------------------------------------------------------------------------------------------------------


def test_texts_from_files_break_no_format() -> None:
    found = Counterexample(EVIL, ((EVIL, EVIL),), EVIL, EVIL, EVIL, EVIL)
    evil = RuleReport(EVIL, EVIL, 1, EVIL, (LayerResult(EVIL, "refuted", EVIL, found, EVIL),))
    result = report(evil, problems=[Problem("syntax", EVIL, 1, EVIL, EVIL, EVIL)])
    assert json.loads(as_json.render(result))["rules"][0]["id"] == EVIL
    assert json.loads(sarif.render(result))["runs"][0]["results"][0]["ruleId"] == EVIL
    root = ET.fromstring(junit.render(result))
    assert "\x00" not in "".join(root.itertext())
    text = report_text.render(result)
    assert "[bold]x[/bold]" in text
    assert "\x1b" not in text


# text -------------------------------------------------------------------------------------------------------------


def test_last_line() -> None:
    line = "1 proved, 1 refuted, 1 unknown, 1 vacuous in 41.2 s (1 from cache); 2 errors in the input"
    assert report_text.last_line(ALL) == line
    assert report_text.render(ALL).splitlines()[-1] == line
    assert (
        report_text.last_line(report(PROVED))
        == "1 proved, 0 refuted, 0 unknown, 0 vacuous in 0.0 s (1 from cache)"
    )
    assert report_text.last_line(report(UNKNOWN, interrupted=True)).startswith("interrupted: 0 proved")


def test_text_shows_findings_in_full_and_everything_in_the_table() -> None:
    text = report_text.render(ALL)
    assert text.index("error  r.py:20 (bad)") < text.index("✗ refuted  wrong  r.py:9") < text.index("covered")
    for part in (
        "syntax error: '(' was never closed",
        "hint: name another",
        "at bit-precise int8 (dtype int8)",
        "x = 64",
        "left  → -64",
        "the product wraps",
        "proved at unbounded",
        TEST,
        "unknown at unbounded: x · y resisted",
        "vacuous at unbounded: the condition excludes every input",
    ):
        assert part in text
    table = text[text.index("covered") :]
    assert [name in table for name in ("fine", "wrong", "hard", "empty")] == [True] * 4
    assert "unbounded, bit-precise ×8" in table
    assert "refuted: bit-precise int8" in table


def test_what_an_interrupted_campaign_did_not_reach_is_only_counted() -> None:
    open_rule = made("open_rule", layer("proved"), layer("unknown", "boolean", detail=INTERRUPTED))
    half = made(
        "half", layer("refuted", counterexample=FOUND), layer("unknown", "boolean", detail=INTERRUPTED)
    )
    text = report_text.render(report(PROVED, open_rule, half, interrupted=True))
    assert "open_rule" not in text
    assert "half  r.py:3" in text
    assert text.splitlines()[-1].startswith("interrupted: 1 proved, 1 refuted, 1 unknown")


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_the_table_fits_the_terminal(width: int) -> None:
    out = io.StringIO()
    report_text.show(ALL, Console(file=out, width=width, color_system=None, highlight=False))
    table = out.getvalue().split("rule ", 1)[1].splitlines()[1:-2]
    assert max(map(len, table)) <= max(width, 60)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["unbounded"], "unbounded"),
        (INTS[:2], "bit-precise int8, int16"),
        (["boolean", "unbounded", *INTS], "boolean, unbounded, bit-precise int8 … uint64 (8)"),
        ([*INTS[:1], "IEEE float16", "IEEE bfloat16"], "bit-precise int8, IEEE float16, bfloat16"),
        (["reals + reassociate"], "reals + reassociate"),
    ],
)
def test_layers_in_few_words(names: list[str], words: str) -> None:
    assert report_text.in_families(names) == words


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["all values"] * 9, "all values"),
        (["all 65,536 inputs"], "all 65,536 inputs"),
        (["all values, by integers", "all 65,536 inputs", "2 instances: all 4 inputs"], "all values"),
        (["ranks 0–4, int8, 5 instances", "ranks 0–4, int16, 5 instances"], "ranks 0–4, 5 instances"),
        (["all values", "20,000 samples"], ""),
        (["all 4 inputs", "all 3 of 4 inputs"], ""),
        (["", "all values"], "all values"),
    ],
)
def test_only_what_all_layers_cover_is_said_of_the_rule(texts: list[str], said: str) -> None:
    layers = [layer("proved", f"layer {n}", covered=text) for n, text in enumerate(texts)]
    assert report_text.covered(made("m", *layers)) == said


def test_a_narrow_terminal_loses_nothing() -> None:
    out = io.StringIO()
    report_text.show(
        ALL, Console(file=out, width=40, force_terminal=True, color_system=None, highlight=False)
    )
    shown = re.sub(r"\s+", "", re.sub("\x1b\\[[0-9;]*m", "", out.getvalue()))
    assert "theconditionexcludeseveryinput" in shown
    assert "'('wasneverclosed" in shown


def test_progress_on_a_pipe_is_lines_and_on_a_terminal_ends_clean() -> None:
    for kind, terminal in ((Lines, False), (Live, True)):
        out = io.StringIO()
        console = Console(file=out, width=80, force_terminal=terminal, color_system=None, highlight=False)
        with kind(console) as progress:
            progress.expects(["fine", "wrong"])
            progress.works_on(["fine", "fine", "wrong", "a", "b"])
            progress.decided(PROVED, 0.0)
            progress.printed("r.py", "one\ntwo [bold]")
            progress.decided(REFUTED, 1.25)
        shown = out.getvalue()
        assert "✗ refuted  wrong" in shown
        assert "fine" not in shown.replace("fine, wrong", "")  # it was cached
        assert "1.2 s" in shown
        assert "r.py says: two [bold]" in shown
        assert ("\x1b" in shown) is terminal
        if terminal:
            assert shown.rstrip("\n").endswith("\x1b[?25h") or "\x1b[2K" in shown.split("wrong")[-1]
