"""Advice on the command line, in every report, and on the page that explains it."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

import pytest

from soundline.spec.dtypes import index
from soundline.spec.rules.language import given, rule
from soundline.spec.rules.terms import Const, Value
from soundline.verify import advise
from soundline.verify.advice.results import (
    Advice,
    Loop,
    Missing,
    Order,
    RuleAdvice,
    Subsumed,
    TooStrong,
    UnderConvention,
    order_from_json,
    rule_from_json,
    to_json,
)
from soundline.verify.advice.text import as_json, lines_about, lines_about_order, notes
from soundline.verify.cli.main import main
from soundline.verify.reports.as_json import as_json as report_as_json
from soundline.verify.reports.report import Report
from soundline.verify.reports.sarif import as_sarif
from soundline.verify.reports.text import render
from soundline.verify.verdicts.verdict import LayerResult, RuleReport

PAGE = Path(__file__).resolve().parents[2] / "docs" / "advice.rst"

MISSING = Missing(("c > 0", "c < 0, x == 0"), 12, 345, 6)
NONE = Missing((), 12, 345, 6, "the sides agree at no point that was tried")
ABOUT = RuleAdvice(
    "r",
    "f.py",
    3,
    missing=MISSING,
    too_strong=(TooStrong("a > 0", "a >= 0", "a = 0"), TooStrong("b > 0", "")),
    subsumed=(Subsumed("s", "x = 1", True),),
    conventions=(
        UnderConvention("floor", "proved", stated=True),
        UnderConvention("truncated", "refuted", "x = -1"),
    ),
)
LOOP = Loop(("r",), (("(x - y)", "r"),), "comes back: (x - y)")
ORDER = Order(("leaves 1, Add 2",), 2, ("add_commutative",), (LOOP,), first=(("r", "y", "s"),))


def test_advice_travels_between_processes() -> None:
    assert rule_from_json(json.loads(json.dumps(to_json(ABOUT)))) == ABOUT
    assert order_from_json(json.loads(json.dumps(to_json(ORDER)))) == ORDER


def test_advice_is_told_in_sentences() -> None:
    assert lines_about(ABOUT) == [
        "right, and proved, with given(c > 0)",
        "  or with given(c < 0, x == 0)",
        "  the weakest that were found; none of them implies another",
        "given(a > 0) asks for more than needed: given(a >= 0) is proved as well; it then applies to a = 0",
        "given(b > 0) is not needed: the rule is proved without it",
        "covered by s with x = 1: the same result",
        "holds under floor division; under truncated division refuted at x = -1",
    ]
    (none,) = lines_about(RuleAdvice("r", "f.py", 3, missing=NONE))
    assert none.startswith("no condition was found that makes it right: the sides agree at no point")
    assert "12 literals, 345 points, 6 proposals" in none
    told = lines_about_order(ORDER)
    assert told[0] == "rewriting with 2 rules ends: each application lowers a measure"
    assert "  y of r is no constant: s comes first and takes those" in told
    assert "no decreasing order was found for r" in told
    (first, *_) = lines_about_order(Order(("leaves 1", "leaves 1, Mul 2"), 1))
    assert (
        first == "rewriting with 1 rule ends: each application lowers the first of 2 measures that it changes"
    )
    assert lines_about_order(Order((), 0, note="no advice within 3 s")) == ["no advice within 3 s"]


def report(advice: Advice | None) -> Report:
    judged = RuleReport("r", "f.py", 3, "x → y", (LayerResult("unbounded", "proved", "all values"),))
    return Report((judged,), (), 0.0, advice=advice)


def test_advice_stands_in_every_report_and_only_where_it_was_asked_for() -> None:
    advised = report(Advice((ABOUT,), ORDER))
    assert report_as_json(advised)["advice"] == as_json(Advice((ABOUT,), ORDER))
    assert "given(a >= 0) is proved as well" in render(advised)
    results = as_sarif(advised)["runs"][0]["results"]
    assert [r["level"] for r in results] == ["note", "note"]
    assert {r["ruleId"] for r in results} == {"r"}
    assert results[0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}
    plain = report(None)
    assert "advice" not in report_as_json(plain)
    assert "advice" not in render(plain)
    assert as_sarif(plain)["runs"][0]["results"] == []
    assert advised.exit_code == plain.exit_code == 0


def test_nothing_to_say_is_said() -> None:
    assert "nothing to say" in render(report(Advice((RuleAdvice("r", "f.py", 3),), None)))
    assert list(notes(Advice((RuleAdvice("r", "f.py", 3),), None))) == []


@rule(dtypes=[index])
def div_div(x: Value, a: Const, b: Const):
    given(b > 0)
    return (x // a) // b, x // (a * b)


@rule(dtypes=[index])
def div_div_bare(x: Value, a: Const, b: Const):
    return (x // a) // b, x // (a * b)


def test_a_program_can_ask_for_advice() -> None:
    found = advise([div_div, div_div_bare])
    assert [(x.condition, x.instead) for x in found.of("div_div").too_strong] == [("b > 0", "b >= 0")]
    missing = found.of("div_div_bare").missing
    assert missing is not None
    assert missing.weakest[0] == "b >= 0"
    assert found.order is not None
    assert found.order.loops == ()
    with pytest.raises(KeyError):
        found.of("nothing")


# the command line and the page ----------------------------------------------------------------------------------------


def blocks(kind: str) -> list[str]:
    found = re.findall(rf"^\.\. code-block:: {kind}\n\n((?:   .*\n|\n)+)", PAGE.read_text(), re.MULTILINE)
    return [textwrap.dedent(block).strip() for block in found]


def words(text: str) -> list[str]:
    return text.split()


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(folder / "cache"))
    monkeypatch.chdir(folder)
    return main(["verify", "--advise", "--jobs", "2", *options])


def test_the_page_shows_what_the_command_says(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "my_rules.py").write_text(blocks("python")[0])
    assert run(tmp_path, monkeypatch, "-q", "my_rules.py") == 1
    said = capsys.readouterr().out
    assert words(blocks("text")[0]) == words(said[said.index("advice\n") : said.rindex("\n\n")])


def test_a_filter_and_json_go_with_it(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "my_rules.py").write_text(blocks("python")[0])
    assert run(tmp_path, monkeypatch, "--filter", "div_div_by_two", "--format", "json", "my_rules.py") == 0
    advice = json.loads(capsys.readouterr().out)["advice"]
    (about,) = advice["rules"]
    assert (about["missing"], about["too_strong"], about["subsumed"]) == (None, [], [])
    assert [x["verdict"] for x in about["conventions"]] == ["proved"] * 3
    assert advice["order"]["rules"] == 1


def test_a_broken_file_costs_only_itself(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "good.py").write_text(blocks("python")[0].replace("index, int32", "index"))
    (tmp_path / "bad.py").write_text("this is no Python\n")
    code = run(tmp_path, monkeypatch, "-q", "--filter", "*cancel", "good.py", "bad.py")
    assert code == 2
    assert "with given(c != 0)" in capsys.readouterr().out


def test_it_cannot_be_had_offline(tmp_path, monkeypatch, capsys) -> None:
    assert run(tmp_path, monkeypatch, "--offline", "x.py") == 2
    assert "--offline cannot be combined with --advise" in capsys.readouterr().err
