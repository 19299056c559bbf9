"""The comparison with peers: turns, ratios and verdicts, told apart from what was not measured."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "_ext"))

import peer_pages
import peers
from rows import rewriting, turns
from rows.row import EXACT, FAST, Taken, Target
from rows.worker import ROWS, sample

from soundline.impl.matching.matcher import patterns_of
from soundline.impl.rules import LIBRARY

ROOT = Path(__file__).resolve().parents[2]


def taken(seconds: float) -> Taken:
    return Taken([seconds] * 3, [seconds] * 3)


def test_the_rows_of_the_table_are_there_once() -> None:
    names = [row.name for row in peers.ROWS]
    assert len(set(names)) == len(names) == len(ROWS)
    assert {f"gemm-{n}" for n in (512, 1024, 2048, 4096)} <= set(names)
    assert {"fused", "sum", "softmax", "layernorm", "cumsum", "gather"} <= set(names)
    assert {"conv", "attention", "mlp-step", "transformer-step"} <= set(names)
    assert {"onnx-conv", "conv-pool", "stem", "projected-product", "projected-attention"} <= set(names)
    assert {"cold-compile", "batch-of-16", "warm-call", "further-command", "rewriting"} == set(
        peers.costs.ROWS
    )
    assert all(row.targets and {EXACT, FAST} <= set(row.candidates) for row in peers.ROWS)
    assert all(
        p in row.candidates for row in peers.ROWS for t in row.targets for p in t.peers if p != "torch out="
    )


def test_a_ratio_is_to_the_fastest_peer_that_ran() -> None:
    times = {FAST: taken(1.0), "numpy": taken(3.0), "torch": taken(2.0), "jax": Taken(why="gone")}
    judged = peers._judged(Target(FAST, ("numpy", "torch", "jax"), 1.5), times, 1)
    assert (judged["peer"], judged["ratio"]) == ("torch", 2.0)
    assert peer_pages.verdict(judged) == "met"
    assert peer_pages.verdict(judged | {"ratio": 1.4}) == "**missed**"
    nobody = peers._judged(Target(FAST, ("jax", "tinygrad"), 1.0), times, 1)
    assert nobody["ratio"] is None
    assert peer_pages.verdict(nobody) == "not measured"
    assert peer_pages.verdict({"ratio": 3.0, "most": 2.0}) == "**missed**"


def test_one_thread_is_compared_by_processor_time_and_two_by_the_clock() -> None:
    uneven = Taken([5.0, 6.0, 7.0], [1.0, 2.0, 3.0])
    assert (peers.seconds(uneven, 1), peers.seconds(uneven, 2)) == (2.0, 6.0)


def test_results_are_compared_and_another_shape_is_no_result() -> None:
    assert turns.distance([1.0, -2.0], [1.0, -2.0]) == 0.0
    assert turns.distance([1.0, -1.0], [1.0, -2.0]) == 0.5
    assert turns.distance([1.0], [1.0, 2.0]) == math.inf
    assert sample(([[1.0, 2.0]], 3.0)) == sample([[1.0, 2.0]])


def test_a_worker_builds_and_takes_turns_and_says_what_it_cannot(tmp_path: Path) -> None:
    worker = turns.Worker("shared", 1, sys.executable)
    try:
        built = worker.ask(do="build", row="cumsum", candidate="numpy")
        assert len(built["sample"]) == 1000
        turn = worker.ask(do="turn", row="cumsum", candidate="numpy", count=1)
        assert turn["wall"] > 0
        assert "KeyError" in worker.ask(do="build", row="cumsum", candidate="nobody")["error"]
        assert worker.process is not None
        worker.process.kill()
        assert worker.ask(do="turn", row="cumsum", candidate="numpy", count=1) == {
            "error": "the process has ended"
        }
        assert "not done" in worker.ask(0.0, do="build", row="cumsum", candidate="numpy")["error"]
    finally:
        worker.stop()


def test_the_graphs_that_are_rewritten_use_proved_rules_and_shrink() -> None:
    assert len(rewriting.RULES) == 30
    assert set(rewriting.RULES) <= set(LIBRARY)
    assert all(patterns_of(r) for r in rewriting.RULES)
    graph = rewriting.ours(rewriting.program(1500, seed=3))
    assert rewriting.size(rewriting.rewritten(graph)) < rewriting.size(graph)


def test_a_row_says_where_it_was_taken() -> None:
    rows = [
        {"row": "a"},
        {"row": "b"},
        {"row": "c", "processor": "another"},
        {"row": "c", "processor": "another"},
    ]
    assert peer_pages._processors(rows, {"processor": "this"}) == "this and another (c)"
    assert peer_pages._processors(rows[:2], {"processor": "this"}) == "this"


def test_the_committed_result_has_the_rows_and_makes_a_page() -> None:
    committed = ROOT / "benchmarks" / "results" / "peers.json"
    if not committed.exists():
        pytest.fail("make bench-peers writes it")
    result = json.loads(committed.read_text(encoding="utf-8"))
    assert result["absent"] == []
    assert {row["row"] for row in result["rows"].values()} <= {*ROWS, *peers.costs.ROWS}
    page = peer_pages.peers()
    assert "soundline fast" in page
    assert "OpenBLAS-512" in page
