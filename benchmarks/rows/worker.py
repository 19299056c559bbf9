"""
A process that takes turns
==========================

It builds candidates and runs them when it is told to, one line of JSON for each request and each answer. The
environment that some peers need is set before it is started::

    python -m rows.worker
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from rows import arrays, chains, networks

ROWS = {row.name: row for row in (*arrays.ROWS, *networks.ROWS, *chains.ROWS)}
TURN = 0.02
"""A turn repeats short calls for so many seconds."""


class Workplace:
    """What the process holds between requests."""

    def __init__(self) -> None:
        self.inputs: dict[str, Any] = {}
        self.calls: dict[tuple[str, str], Callable[[], Any]] = {}

    def build(self, row: str, candidate: str) -> dict[str, Any]:
        """Build a candidate, run it until it is warm, and say how long one call takes and what came out."""
        chosen = ROWS[row]
        if row not in self.inputs:
            self.forget()
            self.inputs[row] = chosen.inputs()
        call = chosen.candidates[candidate](self.inputs[row])
        began = time.perf_counter()
        result = call()
        seconds = first = time.perf_counter() - began
        while (
            seconds > 0 and time.perf_counter() - began < 3 * first + 0.05 and first < 5
        ):  # compile, cache, pool
            last = time.perf_counter()
            result = call()
            seconds = time.perf_counter() - last
        self.calls[row, candidate] = call
        return {"seconds": seconds, "sample": sample(result)}

    def turn(self, row: str, candidate: str, count: int) -> dict[str, Any]:
        """Run a candidate some times."""
        call = self.calls[row, candidate]
        began, used = time.perf_counter(), time.process_time()
        for _ in range(count):
            call()
        wall, cpu = time.perf_counter() - began, time.process_time() - used
        return {"wall": wall / count, "cpu": cpu / count}

    def forget(self) -> None:
        """Let the row before go."""
        self.inputs.clear()
        self.calls.clear()
        gc.collect()


def sample(result: Any) -> list[float]:
    """Up to a thousand elements of a result, the same positions of each, by which results are compared."""
    flat = as_array(result).reshape(-1)
    positions = np.random.default_rng(1).integers(0, flat.size, min(flat.size, 1000))
    return [float(x) for x in flat[positions]]


def as_array(result: Any) -> Any:
    """A result, or the first of several, as a float64 array."""
    first = result[0] if isinstance(result, tuple | list) else result
    if hasattr(first, "detach"):
        first = first.detach()
    return np.asarray(first.numpy() if hasattr(first, "numpy") else first, dtype=np.float64)


def main() -> None:
    """Answer requests until the input ends. What a peer prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    if os.environ.get("OMP_NUM_THREADS") and importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    place = Workplace()
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = getattr(place, asked.pop("do"))(**asked)
        except Exception as error:  # noqa: BLE001  # whatever a peer raises is told, and the others go on
            answer = {
                "error": f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
            }
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
