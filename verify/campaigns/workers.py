"""
A pool of workers that may be killed
====================================

Each job runs in a process that can be stopped in the middle of anything: an import that never ends, a solver that does
not come back, a crash of native code. The pool hands out jobs in the order of submission, receives the answers as they
arrive, and reports how every job ended. The campaign decides what to do about a failed job.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from soundline.verify.processes import serving

END_OF_JOB = Literal["done", "crashed", "overran"]


@dataclass(eq=False)
class Job:
    """A request, how long its reading and its solving may take, and whose it is."""

    request: dict[str, Any]
    reading_seconds: float
    solving_seconds: float
    owner: Any
    attempt: int = 1
    deaths: int = 0
    """How many processes died of it before."""
    left: Callable[[], float] = lambda: float("inf")
    """The seconds that are left for it when it begins, where others share them."""

    def allowed(self) -> float:
        """How long solving it may take if it begins now."""
        return max(1.0, min(self.solving_seconds, self.left()))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended: with an answer, with the death of its worker, or by running over its limit."""

    job: Job
    end: END_OF_JOB
    answer: dict[str, Any]
    reached: int | None
    """The line of the rule file that was running last."""
    solving: bool
    """Whether the file had been read and the goal was being solved."""
    seconds: float
    status: str = ""
    """For a dead worker: what ended it."""
    deaths: int = 1
    """For a dead worker: how many died in turn."""


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    job: Job | None = None
    began: float = 0.0
    deadline: float = float("inf")
    reached: int | None = None
    solving: bool = False
    unread: bytearray = field(default_factory=bytearray)

    def give(self, job: Job) -> None:
        """Start a job."""
        self.job, self.reached, self.solving = job, None, False
        self.began = time.monotonic()
        self.deadline = self.began + job.reading_seconds
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # a dead worker is noticed when its answers end
            self.process.stdin.write(json.dumps(job.request).encode() + b"\n")
            self.process.stdin.flush()

    def ended(self, end: END_OF_JOB, answer: dict[str, Any] | None = None, status: str = "") -> Outcome:
        """The outcome of the job at hand, which the worker then no longer has."""
        assert self.job is not None
        job, self.job, self.deadline = self.job, None, float("inf")
        took = time.monotonic() - self.began
        return Outcome(job, end, answer or {}, self.reached, self.solving, took, status)

    def stop(self) -> int:
        """Kill the worker and everything that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        return self.process.wait()


class Pool:
    """Up to `size` workers, started when there is work for them. Use it as a context: leaving it kills them."""

    def __init__(self, size: int, prover: str) -> None:
        self.size = size
        self.prover = prover
        self.waiting: deque[Job] = deque()
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()
        self._ready: deque[Outcome] = deque()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, job: Job, *, first: bool = False) -> None:
        """Queue a job, behind the others or before them."""
        if first:
            self.waiting.appendleft(job)
        else:
            self.waiting.append(job)

    @property
    def idle(self) -> bool:
        """Whether nothing is waiting, running or to be reported."""
        return not (self.waiting or self._ready or any(w.job for w in self._workers))

    @property
    def running(self) -> list[Job]:
        """The jobs at hand, oldest first."""
        busy = sorted((w for w in self._workers if w.job), key=lambda w: w.began)
        return [w.job for w in busy if w.job]

    def next(self) -> Outcome:
        """Wait for the next job that ends. The pool must not be idle."""
        while (outcome := self.ended_within(float("inf"))) is None:
            pass
        return outcome

    def ended_within(self, seconds: float) -> Outcome | None:
        """The next job that ends, if one does so in this time. The pool must not be idle."""
        until = time.monotonic() + seconds
        while not self._ready and (now := time.monotonic()) <= until:
            self._hand_out()
            soonest = min((until, *(w.deadline for w in self._workers if w.job)))
            self._listen(max(0.0, soonest - now))
        return self._ready.popleft() if self._ready else None

    def drop(self, unwanted: Callable[[Job], bool]) -> None:
        """Forget jobs that have not begun."""
        kept = [job for job in self.waiting if not unwanted(job)]
        self.waiting.clear()
        self.waiting.extend(kept)

    def _listen(self, seconds: float) -> None:
        """Hear what workers say for at most so long, and stop those that are late."""
        for key, _ in self._selector.select(seconds if seconds < float("inf") else None):
            self._hear(key.data)
        now = time.monotonic()
        for worker in [w for w in self._workers if w.deadline <= now]:
            self._ready.append(worker.ended("overran"))
            self._discard(worker)

    def close(self) -> None:
        """Kill all workers; jobs that have not ended are dropped."""
        for worker in list(self._workers):
            self._discard(worker)
        self._selector.close()

    def _hand_out(self) -> None:
        for worker in self._workers:
            if self.waiting and worker.job is None:
                worker.give(self.waiting.popleft())
        while self.waiting and len(self._workers) < self.size:
            worker = self._started()
            worker.give(self.waiting.popleft())

    def _started(self) -> _Worker:
        process = serving(
            "soundline.verify.campaigns.worker",
            self.prover,
            # The same seed for hashes everywhere: the order of a set must not decide what a solver does.
            env={**os.environ, "PYTHONHASHSEED": "0"},
            process_group=0,
        )
        assert process.stdout is not None
        worker = _Worker(process)
        self._workers.append(worker)
        self._selector.register(process.stdout, selectors.EVENT_READ, worker)
        return worker

    def _discard(self, worker: _Worker) -> int:
        self._workers.remove(worker)
        assert worker.process.stdout is not None
        self._selector.unregister(worker.process.stdout)
        return worker.stop()

    def _hear(self, worker: _Worker) -> None:
        """Read what a worker says; when it says nothing more, it has died."""
        assert worker.process.stdout is not None
        data = os.read(worker.process.stdout.fileno(), 1 << 16)
        worker.unread += data
        while b"\n" in worker.unread:
            line, _, rest = bytes(worker.unread).partition(b"\n")
            worker.unread = bytearray(rest)
            self._understand(worker, json.loads(line))
        if not data:
            outcome = worker.ended("crashed") if worker.job else None
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.process.wait(1)  # so that its own status is known, not that of our kill
            status = _in_words(self._discard(worker))
            if outcome is not None:
                self._ready.append(replace(outcome, status=status))

    def _understand(self, worker: _Worker, message: dict[str, Any]) -> None:
        if "done" in message:
            self._ready.append(worker.ended("done", message["done"]))
        elif "started" in message:
            assert worker.job is not None
            worker.solving, worker.began = True, time.monotonic()
            worker.deadline = worker.began + worker.job.allowed()
        else:
            worker.reached = message["at"]


def _in_words(code: int) -> str:
    """What ended a process."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
