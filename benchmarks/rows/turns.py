"""
Taking turns
============

Runs the candidates of a row in turns, so that a machine that does other things disturbs all alike. Candidates share a
process but for those that need another environment, or whose calls may take too long: these have one of their own,
which is asked at its turn and waits otherwise.
"""

from __future__ import annotations

import json
import math
import os
import random
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rows.row import ENVIRONMENTS, EXACT, FAST, Row, Taken

HERE = Path(__file__).resolve().parents[1]
_TURN = 0.02
_LIMIT = {"tinygrad-beam": 30.0, "tinygrad": 60.0}
"""Seconds in which a candidate must be built and warm; the shared process has 240."""


class Worker:
    """A process with an environment."""

    def __init__(self, environment: str, threads: int, python: str) -> None:
        self.environment = environment
        self.threads = threads
        self.python = python
        self.process: subprocess.Popen[str] | None = None

    def ask(self, limit: float = 240.0, **request: Any) -> dict[str, Any]:
        """The answer to a request; an error where it takes longer, or the process ends: it is then started anew."""
        process = self.process or self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            self.stop()
            return {"error": "the process has ended"}
        ready, _, _ = select.select([process.stdout], [], [], limit)
        line = process.stdout.readline() if ready else ""
        if not line:
            self.stop()
            return {"error": "the process has ended" if ready else f"not done within {limit:.0f} s"}
        return dict(json.loads(line))

    def start(self) -> subprocess.Popen[str]:
        """Start the process with its environment."""
        count = str(self.threads)
        limits = (
            "OMP_NUM_THREADS",
            "OPENBLAS_NUM_THREADS",
            "MKL_NUM_THREADS",
            "SOUNDLINE_THREADS",
            "CPU_COUNT",
        )
        environment = {**os.environ, **dict.fromkeys(limits, count), "TF_CPP_MIN_LOG_LEVEL": "3"}
        environment["PYTHONPATH"] = os.pathsep.join(
            (str(HERE), *os.environ.get("PYTHONPATH", "").split(os.pathsep))
        )
        if self.threads == 1:
            environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
        if self.environment == "openblas-512":
            environment["OPENBLAS_CORETYPE"] = "SkylakeX"
        if self.environment.startswith("tinygrad"):
            environment |= {"DEV": "CPU", "BEAM": "2" if self.environment == "tinygrad-beam" else "0"}
        self.process = subprocess.Popen(
            (self.python, "-m", "rows.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            cwd=HERE,
        )
        return self.process

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class Workers:
    """The processes of one number of threads."""

    def __init__(self, threads: int, python: str = sys.executable) -> None:
        self.threads = threads
        self.python = python
        self.known: dict[str, Worker] = {}

    def of(self, candidate: str) -> Worker:
        """The process that a candidate runs in."""
        environment = ENVIRONMENTS.get(candidate, "shared")
        if environment not in self.known:
            self.known[environment] = Worker(environment, self.threads, self.python)
        return self.known[environment]

    def stop(self) -> None:
        """End them all."""
        for worker in self.known.values():
            worker.stop()


def measured(row: Row, workers: Workers, wanted: list[str], repeats: int, budget: float) -> dict[str, Taken]:
    """The turns of each candidate; as many as `repeats`, fewer where they would take longer than `budget` seconds.

    Each round has an order of its own: in one that is always the same, who came after another process was slower.
    """
    found = {c: Taken() for c in wanted}
    expected: list[float] = []
    counts: dict[str, int] = {}
    seconds: dict[str, float] = {}
    for c in wanted:
        worker = workers.of(c)
        answer = worker.ask(_LIMIT.get(worker.environment, 240.0), do="build", row=row.name, candidate=c)
        if "error" in answer:
            found[c].why = answer["error"]
            continue
        expected = expected or answer["sample"]
        found[c].off, seconds[c] = distance(answer["sample"], expected), answer["seconds"]
        counts[c] = max(1, int(_TURN / max(seconds[c], 1e-7)))
    each = {c: seconds[c] * counts[c] for c in counts}
    began = time.perf_counter()
    for k in range(repeats):
        for c, count in random.Random(k).sample([*counts.items()], len(counts)):
            slow = each[c] > budget / 6
            if slow and k:
                continue
            answer = workers.of(c).ask(do="turn", row=row.name, candidate=c, count=count)
            if "error" in answer:
                found[c].why = answer["error"]
            else:
                found[c].wall.append(answer["wall"])
                found[c].cpu.append(answer["cpu"])
        if k >= 2 and time.perf_counter() - began > budget:
            break
    return found


def distance(found: list[float], expected: list[float]) -> float:
    """How far a sample is from another, relative to its greatest element; infinite where the shapes differ."""
    if len(found) != len(expected):
        return math.inf
    largest = max(abs(x) for x in expected)
    return max(abs(a - b) for a, b in zip(found, expected, strict=True)) / (largest or 1.0)


def order(row: Row) -> list[str]:
    """The candidates in the order in which they are built: what the others are compared with comes first."""
    ours = [c for c in (EXACT, FAST) if c in row.candidates]
    return [*ours, *(c for c in row.candidates if c not in ours)]
