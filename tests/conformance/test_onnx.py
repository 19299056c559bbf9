"""ONNX's node tests: every case runs, or is listed with the reason why it does not apply."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
import onnx_cases as suite
from float_cases import Counts
from representative import of_each_family

LISTED = suite.listed()
BOTH = LISTED["evaluated and compiled"]
COMPILED = LISTED["compiled only"]
OMITTED = {name: (row["operator"], row["reason"]) for row in LISTED["omitted"] for name in row["cases"]}


def of_each_operator(names: list[str]) -> list[Any]:
    """The cases, the first of each operator for `make test`."""
    return of_each_family(names, lambda name: [LISTED["operators"][name]])


def counts() -> Counts:
    """The cases that pass, and those that do not apply."""
    found = suite.counts(LISTED)
    return Counts(found["passed"], found["not applicable"])


def test_onnx_every_case_of_the_suite_is_listed_once() -> None:
    names = [*BOTH, *COMPILED, *OMITTED]
    assert len(set(names)) == len(names)
    assert set(names) == set(suite.all_cases())
    operators = {name: suite.operator(suite.all_cases()[name]) for name in [*BOTH, *COMPILED]}
    assert LISTED["operators"] == operators


def test_onnx_counts() -> None:
    assert counts().compared >= 900
    assert sum(counts()) == len(suite.all_cases())
    assert len(COMPILED) < len(BOTH) / 20
    fixed = LISTED["with inputs fixed because their values decide a shape"]
    readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    said = f"{len(COMPILED)} large node tests run compiled alone; {len(fixed)} have inputs fixed"
    assert said in " ".join(readme.split())
    fast = len(suite.one_per_operator(BOTH))
    assert f"under the profile `fast` run {fast} node tests, one of each operator" in " ".join(readme.split())


@pytest.mark.parametrize("name", of_each_operator(BOTH))
def test_onnx_evaluated_and_compiled(name: str) -> None:
    suite.check(suite.all_cases()[name], by_law=True)


@pytest.mark.parametrize("part", range(6))
def test_onnx_compiled_with_licences(part: int) -> None:
    """One case of every operator that gives floats."""
    names = suite.in_groups(suite.one_per_operator(BOTH))
    assert len(names) == 6
    suite.check_together([suite.all_cases()[n] for n in names[part]], by_law=False, profile="fast")


def test_onnx_a_wrong_result_among_many_is_named() -> None:
    cases = [suite.all_cases()[n] for n in ("test_abs", "test_exp_example", "test_not_2d")]
    suite.check_together(cases, by_law=True)
    wrong = [cases[0], replace(cases[1], outputs=[cases[1].outputs[0] * np.float32(1.01)]), cases[2]]
    with pytest.raises(AssertionError, match=r"^test_exp_example: "):
        suite.check_together(wrong, by_law=True)


@pytest.mark.parametrize("name", of_each_operator(COMPILED))
def test_onnx_compiled(name: str) -> None:
    case = suite.all_cases()[name]
    assert suite.work(suite.imported(case)[0]) > suite.LIMIT
    suite.check(case, by_law=False)


@pytest.mark.parametrize("row", LISTED["omitted"], ids=lambda row: f"{row['operator']}-{row['reason'][:40]}")
def test_onnx_an_omitted_case_is_refused_for_the_reason_given(row: dict[str, object]) -> None:
    cases = row["cases"]
    assert isinstance(cases, list)
    for name in cases:
        assert suite.refusal(suite.all_cases()[name]) == (row["operator"], row["reason"])


@pytest.mark.parametrize("name", sorted(suite.DIFFERING))
def test_onnx_an_expected_output_that_is_off_is_near(name: str) -> None:
    case = suite.all_cases()[name]
    with pytest.raises(AssertionError):
        suite.check(case, by_law=True)
    suite.check(replace(case, atol=1e-6), by_law=True)


@pytest.mark.parametrize(
    "name", ["test_add", "test_argmax_no_keepdims_random", "test_cast_FLOAT_to_BFLOAT16"]
)
def test_onnx_a_wrong_result_is_noticed(name: str) -> None:
    case = suite.all_cases()[name]
    expected = np.asarray(case.outputs[0])
    wrong = expected.copy()
    wrong.reshape(-1)[0] += 1
    suite.check_close(expected, expected, case)
    with pytest.raises(AssertionError):
        suite.check_close(wrong, expected, case)
    with pytest.raises(AssertionError):
        suite.check_close(expected.reshape(1, *expected.shape), expected, case)
    with pytest.raises(AssertionError):
        suite.check_close(expected.astype(np.complex64), expected, case)


def test_a_row_of_narrow_floats_in_a_register_holds_values_and_not_their_bits() -> None:
    """A register of a kernel was written with the bits of a float16, and read as a number."""
    suite.check(suite.all_cases()["test_linear_attention_fp16"], by_law=True)
