"""The folder for a user's own repository: it is copied, and works as its texts say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

TEMPLATE = Path(__file__).resolve().parents[2] / "examples" / "my_rules"
RULES = 8


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    copy = tmp_path / "my-compiler"
    shutil.copytree(TEMPLATE, copy, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    return copy


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    env |= {"SOUNDLINE_CACHE_DIR": str(folder.parent / "cache"), "COLUMNS": "200"}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_every_rule_of_the_template_is_a_test_that_passes(repository: Path) -> None:
    ran = run(repository, "pytest", "-q", "-p", "no:cacheprovider")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{RULES} passed" in ran.stdout


@pytest.mark.thorough
def test_a_condition_that_is_forgotten_fails_with_its_counterexample(repository: Path) -> None:
    words = repository / "rules" / "words.py"
    words.write_text(words.read_text().replace("given(c != 0, fits(x * c))", "given(c != 0)"))
    ran = run(repository, "pytest", "-q", "-p", "no:cacheprovider")
    assert ran.returncode == 1
    assert f"1 failed, {RULES - 1} passed" in ran.stdout
    assert "refuted by x = 64, c = 2" in ran.stdout


@pytest.mark.thorough
def test_the_report_of_the_workflow_names_the_line_of_the_finding(repository: Path) -> None:
    index = repository / "rules" / "index_arithmetic.py"
    text = index.read_text().replace("given(x.lo >= 0, x.hi < c)", "given(x.hi < c)")
    index.write_text(text)
    ran = run(repository, "soundline", "verify", "rules", "--format", "sarif", "--output", "rules.sarif")
    assert ran.returncode == 1, ran.stderr
    (found,) = json.loads((repository / "rules.sarif").read_text())["runs"][0]["results"]
    assert found["ruleId"] == "drop_remainder"
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "rules/index_arithmetic.py"
    assert text.splitlines()[place["region"]["startLine"] - 1] == "@rule(dtypes=[index])"


def test_the_texts_name_commands_that_exist() -> None:
    workflow = (TEMPLATE / ".github" / "workflows" / "rules.yml").read_text()
    guide = (TEMPLATE.parents[1] / "docs" / "rules_in_ci.rst").read_text()
    flags = set(
        re.findall(r"soundline verify[^\n`]*", workflow + guide + (TEMPLATE / "README.md").read_text())
    )
    helped = run(TEMPLATE, "soundline", "verify", "--help").stdout
    for option in {o for line in flags for o in re.findall(r"--[a-z]+", line)}:
        assert option in helped, option


def test_the_configuration_is_the_one_that_the_guide_shows() -> None:
    project = tomllib.loads((TEMPLATE / "pyproject.toml").read_text())
    assert project["tool"]["pytest"]["ini_options"]["soundline_rules"] == ["rules/*.py"]
    assert project["project"]["entry-points"]["soundline.rules"] == {"my_compiler": "rules"}
