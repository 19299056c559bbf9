"""The same verdicts in every run: whatever the hash seed, the order, the processes, and however slow it is."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from soundline.verify.verdicts.effort import BUDGETS, SLACK
from soundline.verify.verdicts.metering import (
    GoalCost,
    LayerCost,
    Meter,
    in_words,
    measuring,
    metered,
    summary,
    worked,
)

from ..representative import thorough  # noqa: TID252

SCALARS = """from soundline.verify import *

@rule(dtypes=[index, int8, int32])
def mul_div(x: Value, c: Const):
    given(c != 0, fits(x * c))
    return (x * c) // c, x

@rule(dtypes=[index, int8, int32])
def mul_div_wrong(x: Value, c: Const):
    given(c != 0)
    return (x * c) // c, x

@rule(dtypes=[int16, uint16])
def halves(x: Value):
    given(x >= 0)
    return x >> 1, x // 2

@rule(dtypes=[float16, float32])
def plus_zero(x: Value):
    return x + 0.0, x

@rule(dtypes=[float16])
def twice(x: Value):
    return x + x, x * 2
"""
SHAPES = """from soundline.verify import *

@rule
def pad_then_flip(x: Tensor, f: Flags, g: Flags):
    return x.flip(f).flip(g), x.flip(f ^ g)

@rule
def permute_twice(x: Tensor, p: Perm, q: Perm):
    return x.permute(p).permute(q), x.permute(compose(p, q))

@rule
def permute_twice_wrong(x: Tensor, p: Perm, q: Perm):
    return x.permute(p).permute(q), x.permute(compose(q, p))

@rule
def shrink_nothing(x: Tensor, a: Offset, s: Shape):
    given(a >= 0, a + s <= x.shape)
    return x.shrink(a, s), x
"""


def report(files: list[Path], *, hash_seed: str, jobs: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "soundline", "verify", "--no-cache", "--format", "json", "--quiet"]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    ran = subprocess.run(
        [*command, "--jobs", str(jobs), *map(str, files)], env=environment, capture_output=True, check=False
    )
    assert ran.returncode == 1, ran.stderr.decode()
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def without_times(found: dict[str, Any]) -> str:
    """The report byte for byte, but for what it took; files in one order."""
    found = {**found, "summary": {**found["summary"]}}
    del found["times"], found["summary"]["seconds"]
    found["rules"] = sorted(found["rules"], key=lambda r: (r["file"], r["line"]))
    return json.dumps(found, indent=1)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("rules")
    found = []
    for name, text in (("scalars.py", SCALARS), ("shapes.py", SHAPES)):
        (folder / name).write_text(text)
        found.append(folder / name)
    return found


@pytest.fixture(scope="module")
def first(files: list[Path]) -> dict[str, Any]:
    return report(files, hash_seed="0", jobs=1)


def test_the_sample_has_both_verdicts(first: dict[str, Any]) -> None:
    assert {r["id"]: r["verdict"] for r in first["rules"]} == {
        "mul_div": "proved",
        "mul_div_wrong": "refuted",
        "halves": "proved",
        "plus_zero": "refuted",
        "twice": "proved",
        "pad_then_flip": "proved",
        "permute_twice": "proved",
        "permute_twice_wrong": "refuted",
        "shrink_nothing": "refuted",
    }


@pytest.mark.parametrize(("hash_seed", "jobs", "backwards"), [("1", 2, False), thorough("random", 3, True)])
def test_hash_seed_order_and_processes_decide_nothing(
    files: list[Path], first: dict[str, Any], hash_seed: str, jobs: int, backwards: bool
) -> None:
    again = report(files[::-1] if backwards else files, hash_seed=hash_seed, jobs=jobs)
    assert without_times(again) == without_times(first)


def test_what_goals_cost_stands_apart_from_the_verdicts(first: dict[str, Any]) -> None:
    goals, layers = first["times"]["goals"], first["times"]["layers"]
    assert goals["count"] == sum(x["goals"] for x in layers) > 15
    assert 0 < goals["median_seconds"] <= goals["p95_seconds"] <= goals["slowest_seconds"]
    assert goals["work"] == sum(x["work"] for x in layers) > 0
    assert {(x["rule"], x["layer"]) for x in layers} == {
        (r["id"], name) for r in first["rules"] for name in r["layers"]
    }
    assert not any("seconds" in r for r in first["rules"])


# slow machines ----------------------------------------------------------------------------------------------------

PROVING = """
import json, sys
sys.path.insert(0, sys.argv[1])
import scalars
from soundline.spec.dtypes import int16, int32
from soundline.verify.judging.judge import prove_layer
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.verdicts.as_json import layer_to_json
prove_layer(scalars.halves, int16, Budget(1000, 1.0))
print("ready", flush=True)
found = [prove_layer(scalars.mul_div, int32, Budget()), prove_layer(scalars.halves, int16, Budget())]
print(json.dumps([layer_to_json(f) for f in found]))
"""


def proved(folder: Path, *, share: float) -> tuple[str, float]:
    """Some verdicts of a process that runs this share of the time, and the seconds that it took."""
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    process = subprocess.Popen(
        [sys.executable, "-c", PROVING, str(folder)], stdout=subprocess.PIPE, env=environment, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    over = threading.Event()
    throttle = threading.Thread(target=_throttled, args=(process.pid, share, over))
    began = time.monotonic()
    if share < 1:
        throttle.start()
    text = process.stdout.read()
    took = time.monotonic() - began
    over.set()
    if share < 1:
        throttle.join()
    assert process.wait() == 0
    return text, took


def _throttled(pid: int, share: float, over: threading.Event) -> None:
    with contextlib.suppress(ProcessLookupError):
        while not over.is_set():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.02 * (1 - share))
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.02 * share)


def test_a_machine_that_is_much_slower_finds_the_same(files: list[Path]) -> None:
    quick, _ = proved(files[0].parent, share=1.0)
    slow, _ = proved(files[0].parent, share=0.1)
    assert slow == quick
    assert [x["verdict"] for x in json.loads(quick)] == ["proved", "proved"]


def test_the_clock_is_far_from_what_goals_take(first: dict[str, Any]) -> None:
    """The clock is there for a solver that does not count; the count of work ends everything else."""
    assert first["times"]["goals"]["work"] < BUDGETS["normal"].rlimit
    assert SLACK * BUDGETS["normal"].seconds >= 100


# the meter --------------------------------------------------------------------------------------------------------


class Goal:
    def __init__(self, label: str) -> None:
        self.label = label


class Statistics:
    def keys(self) -> list[str]:
        return ["conflicts", "rlimit count"]

    def get_key_value(self, key: str) -> int:
        return {"conflicts": 3, "rlimit count": 70}[key]


class Solver:
    def statistics(self) -> Statistics:
        return Statistics()


def test_a_meter_gives_each_goal_what_passed_until_the_next() -> None:
    with measuring() as meter:
        for goal in metered([Goal("a"), Goal("b"), Goal("c")]):
            if goal.label == "b":
                worked(Solver())
                worked(Solver())
            if goal.label == "c":
                break
    assert [(g.label, g.work) for g in meter.goals] == [("a", 0), ("b", 140), ("c", 0)]
    assert all(g.seconds >= 0 for g in meter.goals)
    worked(Solver())
    assert [g.label for g in metered([Goal("x")])] == ["x"]
    assert (len(meter.goals), meter.work) == (3, 140)


def test_goals_in_a_few_numbers() -> None:
    assert summary([]) == {"count": 0}
    assert in_words([]) == in_words([LayerCost("r", "boolean", 1.0, ())]) == ""
    goals = tuple(GoalCost(f"g{n}", n / 1000, n) for n in range(1, 101))
    found = summary(
        [LayerCost("r", "boolean", 1.0, goals[:60]), LayerCost("s", "unbounded", 9.0, goals[60:])]
    )
    assert (found["count"], found["median_seconds"], found["p95_seconds"]) == (100, 0.0505, 0.095)
    assert (found["slowest_seconds"], found["work"]) == (0.1, 5050)
    assert found["slowest"][0] == {
        "rule": "s",
        "layer": "unbounded",
        "goal": "g100",
        "seconds": 0.1,
        "work": 100,
    }
    assert in_words([LayerCost("s", "unbounded", 9.0, goals)]) == (
        "100 goals judged: median 50.5 ms, 95 % within 95.0 ms, slowest 100.0 ms (s at unbounded)"
    )
    assert Meter().goals == []
