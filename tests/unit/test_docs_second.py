"""The page about counterexamples and second opinions shows what the command prints."""

import re
import textwrap
from pathlib import Path

import pytest

from soundline.verify.cli.main import main
from soundline.verify.second.operands import MOST_POINTS, NARROWEST, WIDEST
from soundline.verify.second.opinions import ASKERS, OPTIONAL
from soundline.verify.second.solvers import SECONDS, is_installed
from soundline.verify.verdicts.verdict import COMPILED, EVALUATOR

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "second_opinions.rst").read_text()


def block(name: str) -> str:
    """The block of code of this name, or the rules that stand on the page."""
    head = rf"\.\. code-block:: \w+\n   :name: {name}\n" if name else r"\.\. rules:: refuted\n"
    found = re.search(head + r"\n((?:   .*\n|\n)+)", PAGE)
    assert found is not None, name
    return textwrap.dedent(found[1]).strip("\n")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def printed(text: str, capfd: pytest.CaptureFixture[str], *options: str) -> str:
    Path("my_rules.py").write_text(text + "\n", encoding="utf-8")
    capfd.readouterr()
    main(["verify", "-q", "--jobs", "1", *options, "my_rules.py"])
    return capfd.readouterr().out


def test_the_counterexample_is_the_one_that_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    assert block("second-counterexample") in printed(block(""), capfd)


@pytest.mark.skipif(
    not all(map(is_installed, OPTIONAL)),
    reason=f"not installed: one of {', '.join(OPTIONAL)} (soundline[solvers])",
)
def test_the_line_about_others_is_the_one_that_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    out = printed(block("second-rules"), capfd, "--second")
    (line,) = [x for x in out.splitlines() if x.startswith("second opinions")]
    assert re.sub(r"(bitwuzla|cvc5|islpy) [\d.]+", r"\1", line) == block("second-line")


def test_what_the_page_says_of_those_who_are_asked_holds() -> None:
    names = {"operands": "small operands", "floats": "directed floats"}
    for name in ASKERS:
        assert f"   * - {names.get(name, name)}\n" in PAGE
    assert f"{MOST_POINTS:,} choices of {NARROWEST}-bit operands" in PAGE
    assert f"operands of {WIDEST} bits, or of as many bits from {NARROWEST} on" in PAGE
    assert {2.0: "two seconds"}[SECONDS] in PAGE
    for who in (EVALUATOR, COMPILED):
        assert f"``{who}``\n" in PAGE
