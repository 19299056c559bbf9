"""
Rows about costs
================

What compiling, calling and rewriting cost, each beside what it is held to.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import runtime

from rows import rewriting

NODES = 50_000


@dataclass(frozen=True)
class Cost:
    """A figure, measured by a function that says its targets."""

    title: str
    measure: Callable[[], dict[str, Any]]


def _target(what: str, value: float, limit: float, *, at_least: bool = False, of: str = "") -> dict[str, Any]:
    """A figure beside its limit, from above or from below."""
    return {"candidate": what, "peer": of, "ratio": round(value, 3), "least" if at_least else "most": limit}


def cold() -> dict[str, Any]:
    """One small kernel, from the function to the loaded library, beside the compiler alone on the same text."""
    found = runtime.cold(7)
    by_processor = found["processor_ratio"]
    return {
        "found": found,
        "targets": [_target("processor time", by_processor, 1.4, of="the compiler alone")],
    }


def batch() -> dict[str, Any]:
    """Sixteen kernels in one file."""
    found = runtime.batch(3)
    each = found["processor_milliseconds_per_kernel"]
    return {"found": found, "targets": [_target("milliseconds of processor per kernel", each, 15)]}


def calls() -> dict[str, Any]:
    """A warm call of three arguments."""
    found = runtime.warm(3, 9)
    return {"found": found, "targets": [_target("microseconds", found["least_microseconds"], 2)]}


def further() -> dict[str, Any]:
    """A thousand commands more in the buffer."""
    found = runtime.further(9)
    return {"found": found, "targets": [_target("nanoseconds", found["nanoseconds_per_further_command"], 10)]}


def rewriting_graphs() -> dict[str, Any]:
    """The same graphs under the same rules; processor time, in turns."""
    theirs: Any = None
    if importlib.util.find_spec("tinygrad") is not None:
        from rows import rewriting_tinygrad as theirs
    times: dict[str, list[float]] = {"soundline": [], "tinygrad": []}
    sizes: dict[str, int] = {}
    rewriting.rewritten(rewriting.ours(rewriting.program(NODES // 10, seed=99)))
    for seed in range(5):
        drawn = rewriting.program(NODES, seed)
        graph = rewriting.ours(drawn)
        spent, result = _timed(lambda g=graph: rewriting.rewritten(g))
        times["soundline"].append(spent / rewriting.size(graph))
        sizes["soundline"] = rewriting.size(result)
        if theirs is not None:
            given = theirs.graph(drawn)
            spent, result = _timed(lambda g=given: theirs.rewritten(g))
            times["tinygrad"].append(spent / theirs.size(given))
            sizes["tinygrad"] = theirs.size(result)
    per_second = {peer: round(1 / statistics.median(t)) for peer, t in times.items() if t}
    ratio = per_second["soundline"] / per_second["tinygrad"] if "tinygrad" in per_second else None
    target = {"candidate": "nodes per second", "peer": "tinygrad", "least": 5.0}
    return {
        "found": {
            "operations": NODES,
            "nodes_per_second": per_second,
            "operations_left": sizes,
            "seconds": times,
        },
        "targets": [target | {"ratio": None if ratio is None else round(ratio, 2)}],
    }


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds of processor that a call takes, and its result, which outlives the measurement."""
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


ROWS = {
    "cold-compile": Cost("cold compile, one small kernel", cold),
    "batch-of-16": Cost("cold compile, each of a batch of 16", batch),
    "warm-call": Cost("a warm call", calls),
    "further-command": Cost("each further command in the buffer", further),
    "rewriting": Cost("graph rewriting", rewriting_graphs),
}
