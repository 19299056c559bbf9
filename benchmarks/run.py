"""
What soundline costs, measured
==============================

``make bench`` runs this. Four subjects: what it costs to judge the shipped rules, cold and from the cache; what it
costs to compile a program, cold and from the cache; what it costs to run the examples of Spork on the abstract machine;
and how fast the program gemm + bias + softmax runs, as a ratio to numpy in the same process. Times are medians of
interleaved repeats, so that a busy machine disturbs both sides alike; the ratio is what can be compared between
machines. Peers that are not installed are named as absent, never guessed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import soundline as sl
from soundline.spec.abstract_machine import judge

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
SIZES = ((64, 64, 64), (256, 256, 256), (512, 512, 512), (1024, 1024, 1024))
Arrays = tuple[np.ndarray[Any, Any], ...]


def main() -> int:
    """Measure, show, and write the result."""
    options = _options()
    result: dict[str, Any] = {"schema": 1, "machine": machine(), "repeats": options.repeats}
    if not options.kernels_only:
        result["prover"] = shown("prover", prover())
        result["abstract_machine"] = [shown(row["program"], row) for row in abstract_machine()]
    result["compile"] = shown("compile", compiling())
    result["kernels"] = [
        shown(f"gemm+bias+softmax {s} {profile}", kernel(*s, profile, options.repeats))
        for s in SIZES
        for profile in ("exact", "fast")
    ]
    result["absent"] = [peer for peer in ("torch", "jax", "tinygrad") if not importlib.util.find_spec(peer)]
    RESULTS.mkdir(parents=True, exist_ok=True)
    target = RESULTS / f"{options.name}.json"
    target.write_text(json.dumps(result, indent=2) + "\n")
    print(f"written: {target.relative_to(ROOT)}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure prover, compiler and kernels.")
    parser.add_argument("--repeats", type=int, default=15, help="of each kernel (default: 15)")
    parser.add_argument("--kernels-only", action="store_true", help="leave out the prover")
    parser.add_argument("--name", default="latest", help="of the result's file (default: latest)")
    return parser.parse_args()


def shown(subject: str, found: Any) -> Any:
    """Print a result as it falls, and pass it on."""
    print(f"{subject}: {json.dumps(found)}", flush=True)
    return found


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    cpu = Path("/proc/cpuinfo")
    models = (
        [line for line in cpu.read_text().splitlines() if line.startswith("model name")]
        if cpu.exists()
        else []
    )
    return {
        "processor": models[0].partition(": ")[2] if models else platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("soundline", "numpy", "z3-solver")},
    }


# the prover -------------------------------------------------------------------------------------------------------


def prover() -> dict[str, Any]:
    """Judging the shipped rules in a fresh cache, then from it."""
    with tempfile.TemporaryDirectory() as cache:
        cold, report = _verify(cache)
        cached, again = _verify(cache)
    rules = len(report["rules"])
    if again["summary"]["cached"] < rules:
        print("note: not every verdict was reused; did a file change during the run?", file=sys.stderr)
    return {
        "rules": rules,
        "layers": sum(len(r["layers"]) for r in report["rules"]),
        "verdicts": {v: report["summary"][v] for v in ("proved", "refuted", "unknown", "vacuous")},
        "cold_seconds": round(cold, 2),
        "cold_seconds_per_rule": round(cold / rules, 4),
        "cached_seconds": round(cached, 2),
        "cached_seconds_per_rule": round(cached / rules, 4),
        "from_cache": again["summary"]["cached"],
        "goals": {k: v for k, v in report["times"]["goals"].items() if k != "slowest"},
        "slowest_goals": report["times"]["goals"]["slowest"][:5],
    }


def _verify(cache: str) -> tuple[float, dict[str, Any]]:
    command = [sys.executable, "-m", "soundline", "verify", "--format", "json", "--quiet"]
    began = time.perf_counter()
    environment = {**os.environ, "SOUNDLINE_CACHE_DIR": cache}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if ran.returncode not in (0, 1, 3):
        raise SystemExit(f"soundline verify ended with {ran.returncode}:\n{ran.stderr}")
    return seconds, json.loads(ran.stdout)


# the compiler -----------------------------------------------------------------------------------------------------


def layer(x: sl.Tensor, weight: sl.Tensor, bias: sl.Tensor) -> sl.Tensor:
    """The program that is measured."""
    return (x @ weight + bias).softmax(-1)


def inputs(m: int, n: int, k: int) -> Arrays:
    """Its arguments, the same in every run."""
    random = np.random.default_rng(0)
    return tuple(random.standard_normal(shape, np.float32) for shape in ((m, k), (k, n), (n,)))


COMPILE_ONCE = """
import sys, time
import numpy as np
import soundline as sl
x, w, b = np.ones((256, 256), np.float32), np.ones((256, 256), np.float32), np.ones(256, np.float32)
sl.compile  # what importing costs is no part of compiling
began = time.perf_counter()
sl.compile(lambda x, w, b: (x @ w + b).softmax(-1), x, w, b)
print(time.perf_counter() - began)
"""


def compiling() -> dict[str, float]:
    """Seconds to compile in a fresh process: with nothing cached, and with the C library cached."""
    with tempfile.TemporaryDirectory() as cache:
        cold = _compile_once(cache)
        cached = statistics.median(_compile_once(cache) for _ in range(3))
    return {"cold_seconds": round(cold, 3), "cached_seconds": round(cached, 3)}


def _compile_once(cache: str) -> float:
    environment = {**os.environ, "SOUNDLINE_CACHE_DIR": cache}
    command = [sys.executable, "-c", COMPILE_ONCE]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


# the abstract machine ---------------------------------------------------------------------------------------------


def abstract_machine() -> Iterator[dict[str, Any]]:
    """Seconds to unfold each example of Spork at its test size, and to run it on the machine."""
    for path in sorted((ROOT / "examples" / "spork").glob("*.py")):
        module = runpy.run_path(str(path))
        for name, program in module.items():
            if isinstance(program, sl.spork.SporkProc):
                taken = {a.name for a in program.arguments}
                sizes = {n: size for n, size in module.get("SIZES", {}).items() if n in taken}
                began = time.perf_counter()
                events = list(program.events(**sizes))
                unfolded = time.perf_counter()
                verdict = judge(events)
                ended = time.perf_counter()
                yield {
                    "program": f"{path.stem}:{name}",
                    "events": verdict.events,
                    "accesses": verdict.accesses,
                    "hazards": len(verdict.findings),
                    "unfold_seconds": round(unfolded - began, 2),
                    "machine_seconds": round(ended - unfolded, 2),
                }


# the kernels ------------------------------------------------------------------------------------------------------


def by_numpy(x: Any, weight: Any, bias: Any) -> Any:
    """The same program in numpy, as people write it."""
    y = x @ weight + bias
    e = np.exp(y - y.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def kernel(m: int, n: int, k: int, profile: str, repeats: int) -> dict[str, Any]:
    """Seconds per call of both, interleaved, and the largest difference of the results."""
    given = inputs(m, n, k)
    program = sl.compile(layer, *given, profile=profile)
    ours, theirs = program(*given), by_numpy(*given)
    times = interleaved([lambda: program(*given), lambda: by_numpy(*given)], repeats)
    return {
        "m": m,
        "n": n,
        "k": k,
        "profile": profile,
        "soundline_seconds": float(f"{times[0]:.4g}"),
        "numpy_seconds": float(f"{times[1]:.4g}"),
        "speed_relative_to_numpy": round(times[1] / times[0], 3),
        "largest_difference": float(f"{np.abs(np.asarray(ours) - theirs).max():.3g}"),
    }


def interleaved(calls: list[Callable[[], object]], repeats: int) -> list[float]:
    """The median seconds of each call, taken in turns; short calls are repeated within a turn."""
    inner = [max(1, int(0.005 / _seconds(call, 1))) for call in calls]
    taken: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for times, call, count in zip(taken, calls, inner, strict=True):
            times.append(_seconds(call, count))
    return [statistics.median(times) for times in taken]


def _seconds(call: Callable[[], object], count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - began) / count


if __name__ == "__main__":
    sys.exit(main())
