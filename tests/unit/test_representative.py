"""Which tests run where: `make test` has a part of every family of long corpora, and `make test-rest` the rest."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from ..conformance import (  # noqa: TID252
    test_onnx,
    test_rule_histories,
    test_spork_cases,
    test_sync_bugs,
    test_tensor_histories,
)
from ..representative import is_thorough, of_each_family, one_in, thorough, words_of  # noqa: TID252
from . import test_spork_examples

ROOT = Path(__file__).resolve().parents[2]


# The helpers ------------------------------------------------------------------------------------------------------


def kept(cases: Iterable[ParameterSet]) -> list[Any]:
    """The first parameter of each case that `make test` runs."""
    return [case.values[0] for case in cases if not is_thorough(case)]


@pytest.mark.parametrize(("n", "expected"), [(1, [1, 2]), (2, [1, 2, 3, 4]), (3, [1, 2, 3, 4, 5, 6])])
def test_the_first_of_each_family_are_kept(n: int, expected: list[int]) -> None:
    cases = of_each_family([1, 2, 3, 4, 5, 6, 7], lambda k: [k % 2], n=n)
    assert [case.values[0] for case in cases] == [1, 2, 3, 4, 5, 6, 7]
    assert kept(cases) == expected


def test_a_case_is_kept_for_any_of_its_families() -> None:
    assert kept(of_each_family(["ab", "a", "b", "bc", "cd", "d"], list)) == ["ab", "bc", "cd"]


def test_a_costly_case_is_kept_where_there_is_no_other() -> None:
    cases = of_each_family(
        ["a1", "a2", "b1", "b2"], lambda case: case[0], costly=lambda case: case in ("a1", "b1", "b2")
    )
    assert [case.values[0] for case in cases] == ["a1", "a2", "b1", "b2"]
    assert kept(cases) == ["a2", "b1"]


def test_a_case_of_no_family_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="of no family"):
        of_each_family([1], lambda k: [])


def test_cases_keep_their_parameters_ids_and_marks() -> None:
    slow = pytest.mark.slow
    given = [pytest.param(1, "a", id="first"), pytest.param(2, "a", id="second", marks=slow)]
    first, second = of_each_family(given, lambda number, family: [family])
    assert first == given[0]
    assert (second.values, second.id) == ((2, "a"), "second")
    assert [mark.name for mark in second.marks] == ["slow", "thorough"]


def test_one_in_so_many_is_kept() -> None:
    assert kept(one_in(3, range(8))) == [0, 3, 6]
    assert kept(one_in(1, range(3))) == [0, 1, 2]


def test_a_thorough_case_is_told_from_others() -> None:
    assert is_thorough(thorough(1))
    assert not is_thorough(pytest.param(1, marks=pytest.mark.slow))


# The corpora ------------------------------------------------------------------------------------------------------

Corpus = tuple[list[ParameterSet], Callable[..., Iterable[Hashable]]]


def of_history(subject_of: dict[Any, str], history: Any) -> set[Hashable]:
    return {(name, history.verdict) for name in (subject_of[history], *words_of(history.rule))}


CORPORA: dict[str, Corpus] = {
    "histories of rules": (
        test_rule_histories.CASES,
        partial(of_history, test_rule_histories.SUBJECT_OF),
    ),
    "histories of tensors": (
        test_tensor_histories.CASES,
        partial(of_history, test_tensor_histories.SUBJECT_OF),
    ),
    "node tests of ONNX": (
        test_onnx.of_each_operator([*test_onnx.BOTH]),
        lambda name: [test_onnx.LISTED["operators"][name]],
    ),
    "large node tests of ONNX": (
        test_onnx.of_each_operator([*test_onnx.COMPILED]),
        lambda name: [test_onnx.LISTED["operators"][name]],
    ),
    "synchronization bugs": (
        test_sync_bugs.of_each_kind(test_sync_bugs.BUGS),
        lambda bug: [bug.flagged[0], test_sync_bugs.SUBJECT_OF[bug.where]],
    ),
    "programs of Spork": (test_spork_cases.PARAMETERS, lambda case: [case.flagged[0]]),
    "twins of the examples": (
        test_spork_examples.of(test_spork_examples.ALL),
        lambda name, twin: [("example", name), ("id", twin.rule)],
    ),
}


@pytest.mark.parametrize("corpus", CORPORA)
def test_every_family_of_a_corpus_is_in_make_test(corpus: str) -> None:
    cases, families = CORPORA[corpus]
    everywhere = {name for case in cases for name in families(*case.values)}
    quick = [case for case in cases if not is_thorough(case)]
    assert {name for case in quick for name in families(*case.values)} == everywhere
    assert len(quick) < len(cases), "and the rest is not"
    assert len({case.id or str(case.values) for case in cases}) == len(cases), (
        "none is lost, and none is there twice"
    )


@pytest.mark.parametrize(
    ("made", "stated"),
    [
        (test_rule_histories.CASES, [h for found in test_rule_histories.FOUND.values() for h in found]),
        (test_tensor_histories.CASES, [h for found in test_tensor_histories.FOUND.values() for h in found]),
        (CORPORA["node tests of ONNX"][0], test_onnx.BOTH),
        (CORPORA["large node tests of ONNX"][0], test_onnx.COMPILED),
        (CORPORA["synchronization bugs"][0], test_sync_bugs.BUGS),
        (CORPORA["programs of Spork"][0], test_spork_cases.CASES),
        (CORPORA["twins of the examples"][0], [name for name, _ in test_spork_examples.ALL]),
    ],
    ids=CORPORA,
)
def test_a_corpus_is_divided_and_not_cut(made: list[ParameterSet], stated: list[Any]) -> None:
    assert [case.values[0] for case in made] == list(stated)


# The commands -----------------------------------------------------------------------------------------------------


def pytest_options(target: str) -> str:
    """What a target of the Makefile gives to pytest, beside how many processes there are."""
    shown = subprocess.run(
        ["make", "-n", target, "ARGS="], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    (command,) = [line for line in shown.splitlines() if "/bin/pytest" in line]
    found = re.fullmatch(r"\S+/bin/pytest -q -n \d+ --dist worksteal ?(.*?)\s*", command)
    assert found is not None, command
    return found[1]


def test_the_two_halves_are_all_tests() -> None:
    assert pytest_options("test") == '-m "not thorough"'
    assert pytest_options("test-rest") == "-m thorough"
    assert pytest_options("test-all") == ""


def test_the_marker_is_declared() -> None:
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert "thorough" in {marker.partition(":")[0] for marker in configured["markers"]}
    assert not any("thorough" in option for option in configured["addopts"]), "plain pytest runs all"


@pytest.mark.parametrize(
    ("failing", "code"), [("", 0), ("lint", 1), ("test", 2), ("test-rest", 3), ("lint test-rest", 1)]
)
def test_what_a_change_must_pass_is_all_of_it(failing: str, code: int, tmp_path: Path) -> None:
    """Each step runs whether or not one before it fails, and the exit code is that of the first that does."""
    log, make = tmp_path / "log", tmp_path / "make"
    codes = {"lint": 1, "test": 2, "test-rest": 3}
    cases = "".join(f"{step}) exit {codes[step]};; " for step in failing.split())
    make.write_text(f'#!/bin/sh\necho "$*" >> {log}\ncase "$*" in {cases}*) exit 0;; esac\n')
    make.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    ended = subprocess.run([str(ROOT / ".ci/run")], env=environment, capture_output=True, check=False)
    assert ended.returncode == code
    assert log.read_text().splitlines() == [*codes]


# Long tests -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "problem"), [("a.py::long", None), ("a.py::short", "a.py::long"), ("b.py::x", None)]
)
def test_a_listed_test_is_left_to_test_rest_and_must_exist(
    there: str, problem: str | None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of other files says nothing of it."""
    plugins = request.config.pluginmanager.get_plugins()
    (listing,) = (
        p for p in plugins if str(getattr(p, "__file__", "")) == str(ROOT / "tests" / "conftest.py")
    )
    monkeypatch.setattr(listing, "listed", lambda: {"a.py::long"})
    marked: list[Any] = []
    item = SimpleNamespace(nodeid=there, add_marker=marked.append)
    if problem is None:
        listing.pytest_collection_modifyitems(SimpleNamespace(args=["tests"]), [item])
    else:
        with pytest.raises(pytest.UsageError, match=problem):
            listing.pytest_collection_modifyitems(SimpleNamespace(args=["tests"]), [item])
    assert [m.name for m in marked] == (["thorough"] if there == "a.py::long" else [])
