"""The rules that the documentation shows get the verdicts that it promises, and its README runs as printed."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from soundline.impl.spork import SporkProc
from soundline.spec.rules.language import Rule
from soundline.verify.files.loader import load
from soundline.verify.judging.judge import prove

from ..representative import thorough  # noqa: TID252

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "check_your_rules.rst"
README = ROOT / "README.md"
BLOCK = re.compile(r"^\.\. rules:: (\w+)\n\n((?:   .*\n|\n)+)", re.MULTILINE)


def rules_of(text: str, folder: Path) -> list[Rule]:
    file = folder / "shown.py"
    file.write_text(text)
    loaded = load(str(file))
    assert not loaded.problems, loaded.problems
    return loaded.rules


def shown_rules() -> list[tuple[str, str, str]]:
    """(verdict, rule id, text of its block) of every rule on the page."""
    blocks = [(verdict, textwrap.dedent(body)) for verdict, body in BLOCK.findall(PAGE.read_text())]
    return [(v, name, text) for v, text in blocks for name in re.findall(r"^def (\w+)\(", text, re.MULTILINE)]


SHOWN = shown_rules()


def test_the_page_shows_rules_of_every_verdict() -> None:
    assert {verdict for verdict, _, _ in SHOWN} == {"proved", "refuted", "vacuous"}
    assert len(SHOWN) >= 25


CASES = [thorough(*shown) if shown[1] == "cast_through_wider" else shown for shown in SHOWN]
"""The rule that takes most of the time, at every pair of integer dtypes, is not in `make test`."""


@pytest.mark.parametrize(("verdict", "name", "text"), CASES, ids=[name for _, name, _ in SHOWN])
def test_a_rule_on_the_page_gets_the_verdict_shown(verdict: str, name: str, text: str, tmp_path) -> None:
    (stated,) = [r for r in rules_of(text, tmp_path) if r.id == name]
    report = prove(stated)
    assert report.verdict == verdict, report
    assert (report.counterexample is not None) == (verdict == "refuted")


def python_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_the_rule_in_the_readme_is_proved_and_needs_its_condition(tmp_path) -> None:
    (text,) = [b for b in python_blocks() if "@rule" in b]
    (stated,) = rules_of(text, tmp_path)
    assert prove(stated).verdict == "proved"
    without = text.replace(", fits(x * c))", ")")
    assert without != text
    (weaker,) = rules_of(without, tmp_path)
    refuted = prove(weaker)
    assert refuted.verdict == "refuted"
    found = refuted.counterexample
    shown = [*(f"{name} = {value}" for name, value in found.bindings), f"left  → {found.left}"]
    assert all(line in README.read_text() for line in (*shown, f"right → {found.right}", str(weaker)))


@pytest.mark.parametrize("text", [b for b in python_blocks() if "@rule" not in b])
def test_the_programs_in_the_readme_run(text: str, tmp_path, capsys) -> None:
    file = tmp_path / "readme.py"  # a proc is read from the file that it stands in
    file.write_text(text)
    defined = runpy.run_path(str(file))
    assert capsys.readouterr().out.strip() or any(isinstance(v, SporkProc) for v in defined.values())


def test_the_json_that_the_documentation_shows_has_the_names_of_a_report(tmp_path) -> None:
    """The page of the command line and `--format json` name the same things, at every level."""
    page = (ROOT / "docs" / "cli.rst").read_text()
    blocks = re.findall(r"^\.\. code-block:: json\n\n((?:   .*\n|\n)+)", page, re.MULTILINE)
    (shown,) = [found for b in blocks if "rules" in (found := json.loads(textwrap.dedent(b)))]
    file = tmp_path / "mine.py"
    file.write_text(
        "from soundline.verify import *\n\n"
        "@rule(dtypes=[int8])\ndef wrong(x: Value):\n    return x + 1, x\n\n"
        "nothing_of_that_name\n"
    )
    command = [sys.executable, "-m", "soundline", "verify", str(file), "--format", "json", "--no-cache"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(ran.stdout)
    assert ran.returncode == report["summary"]["exit_code"] == 2
    assert shown.keys() == report.keys()
    assert shown["summary"].keys() == report["summary"].keys()
    for part in ("rules", "errors"):
        assert shown[part][0].keys() == report[part][0].keys()
    assert shown["rules"][0]["counterexample"].keys() == report["rules"][0]["counterexample"].keys()
    assert shown["errors"][0]["kind"] == report["errors"][0]["kind"]
