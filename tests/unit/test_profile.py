"""Profiles: what is told of each kernel, and what share of the peak that is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.inspect import profile as profiles
from soundline.impl.inspect.peaks import Peaks
from soundline.impl.inspect.profile import Profile, Row, at_peak, duration
from soundline.impl.lower.linear.counts import Work
from soundline.spec.dtypes import float32, float64

PEAKS = Peaks(
    1, {"float32": 8e9, "float64": 4e9}, {"float32": 4e9, "float64": 2e9}, ((1000, 1e9), (10**6, 5e8))
)
X = np.ones((9, 20), np.float32)


@pytest.fixture(autouse=True)
def _peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles.machine, "of_this_machine", lambda cores: PEAKS)


def program() -> Any:
    return sl.compile(lambda x: ((x @ x.T).softmax(-1), x + 1), X)


def test_every_kernel_has_a_row() -> None:
    made = program()
    found = made.profile(X, repeats=3)
    assert [row.kernel for row in found.rows] == list(range(len(made.kernels)))
    assert all(row.seconds >= row.best > 0 for row in found.rows)
    assert found.repeats == 3
    assert found.seconds == sum(row.seconds for row in found.rows)
    works = [k.work for k in made.explain().kernels]
    assert [row.work for row in found.rows] == works


def test_the_table_says_the_same_everywhere() -> None:
    from rich.console import Console

    found = program().profile(X, repeats=1)
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(found)
    texts = (str(found), console.export_text(), found._repr_html_())
    for text in texts:
        assert "one run" in text
        assert all(row.name in text for row in found.rows)
        assert "measured peak of 1 core" in text
    assert "<table>" in texts[2]
    read = json.loads(json.dumps(found.as_json()))
    assert [k["name"] for k in read["kernels"]] == [row.name for row in found.rows]
    assert read["peaks"][0]["fused"] == PEAKS.fused


def test_markup_in_a_name_is_text() -> None:
    row = Row(0, "<b>", 1.0, 1.0, 1, Work(), 0.0, "-")
    shown = Profile("<script>", (row,), 1, (PEAKS,))._repr_html_()
    assert "<b>" not in shown
    assert "<script>" not in shown


def test_the_share_is_that_of_what_takes_longest_at_the_peak() -> None:
    assert at_peak(Work({float32: 8_000_000_000}, 10, 0), PEAKS) == (1.0, "operations")
    assert at_peak(Work({float32: 4_000_000_000, float64: 4_000_000_000}), PEAKS) == (1.5, "operations")
    assert at_peak(Work({float32: 8}, 600, 400), PEAKS) == (1e-6, "memory")
    assert at_peak(Work({}, 10_000, 0), PEAKS) == (2e-5, "memory")
    assert at_peak(Work(), PEAKS) == (0.0, "-")
    row = Row(0, "x", 4.0, 4.0, 1, Work({float32: 8_000_000_000}, 8, 8), 1.0, "operations")
    assert (row.share, row.flops, row.bandwidth) == (0.25, 2e9, 4.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2.5, "2.50 s"),
        (1.0, "1.00 s"),
        (0.0015, "1.50 ms"),
        (2.5e-6, "2.50 µs"),
        (8.4e-7, "840 ns"),
        (0, "0 ns"),
    ],
)
def test_durations_have_the_unit_that_suits_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_what_cannot_be_profiled_is_refused() -> None:
    made = program()
    with pytest.raises(sl.UsageError, match="takes 1 arguments, not 0"):
        made.profile()
    with pytest.raises(sl.UsageError, match="shape"):
        made.profile(X.T)
    for repeats in (0, -1, 10**9):
        with pytest.raises(sl.UsageError, match="repeated"):
            made.profile(X, repeats=repeats)


def test_a_program_without_arguments_is_profiled() -> None:
    weight = sl.Tensor(X)
    found = sl.compile(lambda: weight * 2).profile(repeats=1)
    assert [row.work.operations for row in found.rows] == [X.size]


def test_a_kernel_that_runs_at_several_places_has_one_row() -> None:
    layer = sl.function(inline=False)(lambda a: (a @ a).relu())
    made = sl.compile(lambda a: layer(layer(a)).sum(0), np.ones((6, 6), np.float32))
    found = made.profile(np.ones((6, 6), np.float32), repeats=2)
    assert sum(row.runs for row in found.rows) == made.command_count
    assert max(row.runs for row in found.rows) == 2
    twice = next(row for row in found.rows if row.runs == 2 and row.work.operations)
    once = made.explain().kernels[twice.kernel].work
    assert twice.work.operations == 2 * once.operations


def test_a_program_of_symbolic_sizes_is_measured_at_those_of_the_call() -> None:
    n = sl.Variable("n", 1, 64)
    made = sl.compile(lambda x: (x * 2).sum(1) + 1, sl.Signature(sl.float32, (n, 8)))
    for size in (5, 60):
        found = made.profile(np.ones((size, 8), np.float32), repeats=1)
        assert sum(row.work.operations for row in found.rows) == size * 8 * 2 + size
        assert sum(row.work.read for row in found.rows) >= size * 8 * 4
        assert sum(row.work.written for row in found.rows) == size * 4
        assert "(float32[n, 8]) -> (float32[n])" in str(found)
    with pytest.raises(sl.UsageError, match="not one of 1 … 64"):
        made.profile(np.ones((65, 8), np.float32))
