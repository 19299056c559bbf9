"""Rules as tests: what the plugin collects, how failures read, and that it costs nothing where it is not used."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HEAD = "from soundline.verify import *\n\n"
CONFTEST = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from soundline.verify.campaigns import campaign
campaign.PROVER = "prover_double"
"""


NUMBERS = itertools.count()


def rule(name: str, doc: str = "") -> str:
    """A rule whose id tells the double of the prover what to say; no two have the same structure."""
    body = f"    return x + {next(NUMBERS)}, x"
    return f"@rule(dtypes=[index])\ndef {name}(x: Value):\n    {doc!r}\n{body}\n\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of a user, whose rules are judged by the double of the prover."""
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\nsoundline_rules = ["rules/*.py"]\n')
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "sums.py").write_text(
        HEAD + rule("fine_sum") + rule("wrong_sum") + rule("hard_sum") + rule("empty_sum")
    )
    (tmp_path / "test_usual.py").write_text("def test_usual():\n    pass\n")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    env |= {"SOUNDLINE_CACHE_DIR": str(folder / "cache"), "COLUMNS": "200"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
        *arguments,
    ]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_each_rule_is_a_test(repository: Path) -> None:
    shown = run(repository, "--junitxml=report.xml", "-rA")
    assert shown.returncode == 1, shown.stderr
    for line in (
        "PASSED rules/sums.py::fine_sum",
        "PASSED test_usual.py::test_usual",
        "FAILED rules/sums.py::wrong_sum - refuted by x = 1",
        "FAILED rules/sums.py::hard_sum - unknown",
        "FAILED rules/sums.py::empty_sum - vacuous",
        "3 failed, 2 passed",
        "left  → 2",
        "assert 1 + 1 == 3",
        "x * y resisted",
        "the condition excludes every input",
    ):
        assert line in shown.stdout, line
    assert "Traceback" not in shown.stdout
    assert "pytest_plugin.py" not in shown.stdout
    cases = {c.get("name"): c for c in ET.parse(repository / "report.xml").iter("testcase")}
    assert {"fine_sum", "wrong_sum", "hard_sum", "empty_sum", "test_usual"} == set(cases)
    assert cases["wrong_sum"].find("failure") is not None
    assert cases["fine_sum"].find("failure") is None


def test_mistakes_are_tests_that_fail(repository: Path) -> None:
    text = (
        HEAD
        + rule("fine_one")
        + "nothing\n\n"
        + rule("illtyped_one")
        + rule("fine_one")
        + "@rule\ndef cut(:\n"
    )
    (repository / "rules" / "sums.py").write_text(text)
    (repository / "rules" / "none.py").write_text("x = 1\n")
    (repository / "rules" / "ends.py").write_text(HEAD + "import os\nos._exit(1)\n" + rule("fine_other"))
    shown = run(repository, "-rA", "rules")
    for line in (
        "PASSED rules/sums.py::fine_one",
        "PASSED rules/sums.py::fine_one[line 15]",
        "FAILED rules/sums.py::line 8 - rules/sums.py:8: unknown name: nothing",
        "FAILED rules/sums.py::illtyped_one - rules/sums.py:10: the right side is no rule",
        "FAILED rules/sums.py::cut - rules/sums.py:21: syntax error",
        "used twice: here and at rules/sums.py:3",
        "FAILED rules/none.py::line 1 - rules/none.py: states no rule",
        "FAILED rules/ends.py::line 4 - rules/ends.py:4: reading ended the process (exit status 1)",
        "PASSED rules/ends.py::fine_other",
    ):
        assert line in shown.stdout, line
    assert "Traceback" not in shown.stdout


def test_rules_are_chosen_as_tests_are(repository: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    (repository / "rules" / "sums.py").write_text(HEAD + rule("counts_a", str(log)) + rule("wrong_b"))
    assert "1 passed" in run(repository, "rules/sums.py::counts_a").stdout
    assert len(log.read_text().splitlines()) == 1
    assert "1 passed, 2 deselected" in run(repository, "-k", "counts").stdout  # from the cache
    assert len(log.read_text().splitlines()) == 1
    assert "1 failed, 1 passed, 1 deselected" in run(repository, "-m", "soundline", "--strict-markers").stdout
    listed = run(repository, "--collect-only", "-q").stdout.splitlines()
    assert listed[:3] == ["rules/sums.py::counts_a", "rules/sums.py::wrong_b", "test_usual.py::test_usual"]


def test_a_goal_that_hangs_costs_its_budget(repository: Path) -> None:
    (repository / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nsoundline_rules = "**/sums.py"\nsoundline_budget = "0.1"\nsoundline_jobs = "1"\n'
    )
    (repository / "rules" / "sums.py").write_text(
        HEAD + rule("hangs_here") + rule("crashes_here") + rule("fine")
    )
    shown = run(repository).stdout
    assert "2 failed, 2 passed" in shown
    assert "budget exhausted" in shown
    assert "SIGSEGV" in shown


def test_wrong_options_are_said_plainly(repository: Path) -> None:
    (repository / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nsoundline_rules = "rules/*.py"\nsoundline_budget = "huge"\n'
    )
    shown = run(repository)
    assert shown.returncode == 2
    assert "soundline: 'huge' is not a budget" in shown.stdout + shown.stderr
    assert "pytest_plugin.py" not in shown.stdout + shown.stderr


def test_runs_that_do_not_use_it_are_left_alone(tmp_path: Path) -> None:
    """No file is collected, nothing of the law is imported, and no process is started."""
    (tmp_path / "rules.py").write_text("raise RuntimeError('never import me')\n")
    (tmp_path / "test_usual.py").write_text(
        "import sys\n"
        "def test_usual():\n"
        "    heavy = {'numpy', 'z3', 'rich', 'ml_dtypes', 'soundline.spec', 'soundline.verify.campaigns.campaign'}\n"
        "    assert 'soundline.verify.pytest_plugin' in sys.modules\n"
        "    assert not heavy & set(sys.modules)\n"
    )
    shown = run(tmp_path, "--strict-markers", "--strict-config", "-W", "error")
    assert "1 passed" in shown.stdout, shown.stdout + shown.stderr


def test_a_package_of_rules_may_begin_with_an_empty_file(repository: Path) -> None:
    (repository / "rules" / "sums.py").write_text(HEAD + rule("fine_sum"))
    (repository / "rules" / "__init__.py").write_text('"""Rules."""\n')
    ran = run(repository, "-q")
    assert ran.returncode == 0, ran.stdout
    assert "2 passed" in ran.stdout
