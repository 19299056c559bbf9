"""The project's texts speak of the project alone: no paths of a machine, and one version everywhere."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import soundline

ROOT = Path(__file__).resolve().parents[2]
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|work|Users|mnt|workspace)/[\w.-]+|[A-Z]:\\Users\\")
GENERATED = {".git", ".venv", "build", "dist", "_build", "generated", "__pycache__"}


def _tracked_texts() -> list[Path]:
    """Files under version control; in an unpacked sdist, where there is no git, every file that is not generated."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        paths = [p for p in ROOT.rglob("*") if not GENERATED & set(p.relative_to(ROOT).parts)]
    return [p for p in paths if p.is_file() and not p.is_symlink()]


def machine_paths(text: str) -> list[str]:
    return [m.group() for m in MACHINE_PATH.finditer(text)]


def test_no_text_mentions_a_path_of_a_machine() -> None:
    found = []
    for path in _tracked_texts():
        text = path.read_bytes().decode(errors="ignore")
        found += [f"{path.relative_to(ROOT)}: {hit}" for hit in machine_paths(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "planted",
    ["see " + "/ro" + "ot/notes.txt", "'/ho" + "me/someone/src'", "C:\\Us" + "ers\\x", "/wo" + "rk/a"],
)
def test_planted_path_is_found(planted: str) -> None:
    assert machine_paths(planted)


def test_ordinary_paths_are_not_taken_for_a_machine() -> None:
    assert machine_paths("docs/work/notes, /usr/bin/cc, ~/.cache, ./home/index") == []


def test_one_version_everywhere() -> None:
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert citation is not None
    assert citation.group(1) == soundline.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text()
    released_or_coming = rf"^## \[({re.escape(soundline.__version__)}|Unreleased)\]"
    assert re.search(released_or_coming, changelog, re.MULTILINE)


def test_package_has_the_doors_that_it_promises() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) == {
        "cuda",
        "docs",
        "dev",
        "conformance",
        "bench",
        "cluster",
        "examples",
        "nvrtc",
        "solvers",
    }
    assert project["scripts"]["soundline"] == "soundline.__main__:main"
    assert "soundline" in project["entry-points"]["pytest11"]
    assert "soundline" in project["entry-points"]["soundline.rules"]


def test_what_tests_import_is_in_the_dev_extra_for_the_same_pythons() -> None:
    dev = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["dev"]
    markers = {re.split(r"[><=;]", d)[0]: d.partition(";")[2].strip() for d in dev}
    assert markers["mpmath"] == ""
    assert markers["softfloatpy"] == "python_version < '3.14'"
    using = (ROOT / "tests/conformance/test_softfloat.py").read_text()
    assert "WITH_SOFTFLOAT = sys.version_info < (3, 14)" in using


def test_no_test_is_skipped_for_want_of_a_package() -> None:
    asked = "importor" + "skip"
    skipping = [str(p.relative_to(ROOT)) for p in (ROOT / "tests").rglob("*.py") if asked in p.read_text()]
    assert skipping == []


@pytest.mark.parametrize(
    "target",
    ["help", "verify", "verify-deep", "test", "test-rest", "test-all", "lint", "docs", "bench", "clean"],
)
def test_makefile_has_and_lists_every_target(target: str) -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"make {target} " in shown
