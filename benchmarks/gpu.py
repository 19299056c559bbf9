"""
Kernels on a GPU, beside cuBLAS and torch
=========================================

``make gpu-bench`` runs this on a machine with an NVIDIA GPU, torch, and the package of a driver: every flagship kernel
at its size, on fresh random data. Its values are compared first. Then kernel and peer take turns, each timed by events
of CUDA; medians and every turn are written to ``benchmarks/results/gpu-<name of the card>.json``, from which the
documentation's table is made::

    python benchmarks/gpu.py --row softmax --turns 30
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from gpu_rows import ROWS, Row, shared

from soundline.impl.runtime.cuda import Gpu, Replay
from soundline.impl.spork.devices import gpu

RESULTS = Path(__file__).resolve().parent / "results"
WARM_UPS = 3


def main() -> int:
    """Measure what is asked for, and put it in the place of what the result said of it."""
    options = _options()
    card = torch.cuda.get_device_name()
    path = options.output or RESULTS / f"gpu-{card.lower().replace(' ', '-')}.json"
    rows: dict[str, Any] = json.loads(path.read_text())["rows"] if path.exists() and options.row else {}
    random = torch.Generator("cuda")
    random.manual_seed(options.seed or time.time_ns() % (1 << 31))
    failed = False
    for row in ROWS:
        if options.row and row.name not in options.row:
            continue
        found = measured(row, random, options.turns)
        rows[row.name] = found
        failed |= found["error"] > row.error
        print(line(row, found), flush=True)
        result = {"schema": 1, "machine": machine(), "seed": random.initial_seed(), "rows": rows}
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        torch.cuda.empty_cache()
    print(f"written: {path}")
    return 1 if failed else 0


def measured(row: Row, random: torch.Generator, turns: int) -> dict[str, Any]:
    """The error of a kernel, and the times of kernel and peer in turns."""
    program = gpu(row.proc(), contract=row.contract)
    given = row.make(row.sizes, random)
    peer = row.peer(row.sizes, given)
    arrays = {name: shared(tensor) for name, tensor in given.items()}
    torch.cuda.synchronize()
    replay = program.graph(row.sizes, arrays)
    program.run(row.sizes, arrays)
    error = max(apart(given[name], want) for name, want in row.wanted(row.sizes, given).items())
    torch.cuda.empty_cache()
    ours, theirs = _turns(program, replay, peer, turns)
    took, beside = statistics.median(ours), statistics.median(theirs)
    return {
        "sizes": dict(row.sizes),
        "error": error,
        "most": row.error,
        "goal": row.goal,
        "ratio": beside / took,
        "seconds": took,
        "peer_seconds": beside,
        **_rates(row, took, beside),
        "turns": ours,
        "peer_turns": theirs,
    }


def _turns(program: Gpu, replay: Replay, peer: Any, turns: int) -> tuple[list[float], list[float]]:
    """Both, in turns, after some that are not counted."""
    ours: list[float] = []
    theirs: list[float] = []
    for turn in range(WARM_UPS + turns):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        peer()
        last.record()
        last.synchronize()
        took = replay.seconds()
        program.driver.wait()
        if turn >= WARM_UPS:
            theirs.append(first.elapsed_time(last) / 1e3)
            ours.append(took)
    return ours, theirs


def _rates(row: Row, took: float, beside: float) -> dict[str, float]:
    found = {}
    if row.operations is not None:
        count = row.operations(row.sizes)
        found |= {"tflops": count / took / 1e12, "peer_tflops": count / beside / 1e12}
    if row.moved is not None:
        found |= {"terabytes_per_second": row.moved(row.sizes) / took / 1e12}
    return found


def apart(found: Any, wanted: Any) -> float:
    """‖found − wanted‖ / ‖wanted‖; infinite where something was not written."""
    difference = found.double() - wanted
    if not bool(torch.isfinite(difference).all()):
        return float("inf")
    return float(difference.norm() / wanted.norm().clamp_min(1e-30))


def line(row: Row, found: Mapping[str, Any]) -> str:
    """A row for a reader."""
    rate = (
        f"{found['tflops']:7.1f} TFLOP/s, peer {found['peer_tflops']:7.1f}"
        if "tflops" in found
        else f"{found['terabytes_per_second']:7.3f} TB/s"
    )
    met = "met" if found["ratio"] >= row.goal else f"goal {row.goal}"
    wrong = "" if found["error"] <= row.error else "  WRONG"
    return f"{row.name:26} {found['ratio']:6.3f} of peer ({met}) {rate}, error {found['error']:.1e}{wrong}"


def machine() -> dict[str, Any]:
    """What the numbers were taken on."""
    properties = torch.cuda.get_device_properties(0)
    return {
        "card": properties.name,
        "multiprocessors": properties.multi_processor_count,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "date": time.strftime("%Y-%m-%d"),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--row", action="append", choices=[row.name for row in ROWS], help="only these")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument(
        "--seed", type=int, default=0, help="of the random numbers; another one each time if 0"
    )
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
