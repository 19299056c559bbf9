"""
Loops on threads of the CPU
===========================

Which ``par`` loops become loops of OpenMP, that those share nothing in runs of the law, and that they compute what the
law says.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soundline.impl.spork.front_end import proc_from_text
from soundline.impl.spork.program import SporkProc

from .fake_device import FakeDevice, c_text, compiled, parsed

OK = 0

APART = {
    "an element each": "x[i, 0] = x[i, 1] + 1.0",
    "a row each": "for j in seq(0, m):\n            x[i, j] += x[i, m - 1 - j]",
    "a tile each": "for j in seq(0, 4):\n            v[4 * i + j] = v[4 * i + 3 - j]",
    "a tile of a size each": "for j in seq(0, m):\n            v[m * i + j] = 1.0",
    "a variable of its own": "r: f32\n        r = x[i, 0]\n        r += 1.0\n        v[i] = r",
    "a window of a row": "for j in seq(1, m):\n            for k in seq(0, j):\n                x[i, k] = v[m * i + k]",
    "reads of what none writes": "v[i] = x[0, 0] + x[n - 1 - i, 1]",
}
TOGETHER = {
    "every iteration writes s": "s = 1.0",
    "different elements of v": "v[i // 2] = 1.0",
    "of v (reads)": "v[i] = v[i + 1]",
    "of v (overlap)": "for j in seq(0, 5):\n            v[4 * i + j] = 1.0",
    "of v (size)": "for j in seq(0, m + 1):\n            v[m * i + j] = 1.0",
    "of v (backwards)": "v[n - i] = 1.0",
    "of v (mixed)": "v[2 * i] = v[i]",
    "of v (squares)": "v[i * i] = 1.0",
    "of v (remainder)": "v[i - i % 2] = 1.0",
    "of v (remainder inside)": "for j in seq(0, 4):\n            v[i + j % 2] = 1.0",
    "of x": "x[i % 2, 0] = x[i, 1]",
    "may fail at t: f32": "t: f32[n]\n        t[0] = 1.0",
}


def par_of(body: str) -> SporkProc:
    return proc_from_text(
        f"def f(n: size, m: size, x: f32[n, m], v: f32[n * m * 4], s: f32):\n    for i in par(0, n):\n        {body}"
    )


@pytest.mark.parametrize("body", APART.values(), ids=APART)
def test_iterations_that_share_nothing_run_on_threads(body: str) -> None:
    assert "#pragma omp parallel for" in c_text(par_of(body))


@pytest.mark.parametrize(("reason", "body"), TOGETHER.items(), ids=TOGETHER)
def test_iterations_that_may_share_something_run_in_order(reason: str, body: str) -> None:
    text = c_text(par_of(body))
    assert "#pragma omp" not in text
    said = next(line for line in text.splitlines() if "// in order: " in line)
    assert reason.partition(" (")[0] in said


def test_loops_on_threads_compute_what_the_law_says(tmp_path: Path) -> None:
    proc = parsed("""
    def f(n: size, m: size, x: f32[n, m], v: f32[n * m]):
        for i in par(0, n):
            total: f32
            total = 0.0
            for j in par(0, m):
                v[m * i + j] = x[i, m - 1 - j]
            for j in seq(0, m):
                total += x[i, j]
            for j in seq(0, m):
                x[i, j] = total
    """)
    assert c_text(proc).count("#pragma omp") == 1, "a loop in a loop on threads is no other one"
    run = compiled(proc, tmp_path, options=["-fopenmp"])
    x = np.random.default_rng(0).normal(size=(40, 7)).astype(np.float32)
    law, ours = (x.copy(), np.zeros(280, np.float32)), (x.copy(), np.zeros(280, np.float32))
    proc.run(n=40, m=7, x=law[0], v=law[1])
    assert run(FakeDevice(), 40, 7, *ours) == OK
    assert all(np.array_equal(a, b) for a, b in zip(ours, law, strict=True))


def overlaps(body: str, n: int, m: int) -> bool:
    """Whether two iterations touch one element that one of them writes: by the run of the law itself."""
    touched: dict[Any, dict[int, bool]] = {}
    for event in par_of(body).events(n=n, m=m):
        for touch in getattr(event, "touches", ()):
            iteration = dict(event.place.iteration).get("i")
            for element in touch.elements:
                if element.name not in ("x", "v") or iteration is None:
                    continue
                seen = touched.setdefault(element.cells[0], {})
                seen[iteration] = seen.get(iteration, False) or str(touch.kind) != "read"
    return any(len(seen) > 1 and any(seen.values()) for seen in touched.values())


@pytest.mark.parametrize("body", APART.values(), ids=APART)
def test_what_is_shown_to_share_nothing_does_not_in_runs_of_the_law(body: str) -> None:
    assert not any(overlaps(body, n, m) for n, m in ((4, 4), (5, 3), (3, 2)))


def test_the_law_finds_what_is_shared() -> None:
    assert overlaps(TOGETHER["of v (overlap)"], 3, 8)
    assert overlaps(TOGETHER["of v (reads)"], 3, 8)
