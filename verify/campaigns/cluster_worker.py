"""
On a worker of a cluster
========================

What a Dask worker does for a campaign elsewhere. It shares no disk with the campaign, so that an order carries the text
of the rule file and of the modules beside it that the file imports. The goal itself is solved in a process of its own,
as in a campaign on one machine: it may be killed when its time is up or when nobody waits for it any more, and a solver
that crashes ends that process and not the worker.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from soundline.verify.campaigns.workers import Job, Outcome, Pool
from soundline.verify.verdicts.sameness import digest, fingerprint

ATTENTION = 1.0
"""After how many seconds a task that nobody waits for is noticed."""


@dataclass(frozen=True, slots=True)
class Order:
    """One layer of one rule, with all that solving it takes."""

    request: Mapping[str, Any]
    files: Mapping[str, bytes]
    """The texts, by their paths below the folder that imports are looked up in."""
    main: str
    """The path of the rule file among them."""
    reading_seconds: float
    solving_seconds: float
    prover: str
    rests_on: str
    """The fingerprint of law, prover and solver where the campaign runs."""


def solve(order: Order) -> dict[str, Any]:
    """How the goal ended, as JSON data; ``{"other": …}`` where law, prover or solver are not those of the campaign."""
    if fingerprint() != order.rests_on:
        return {"other": fingerprint()}
    file = _HERE.unpacked(order.files) / order.main
    job = Job({**order.request, "file": str(file)}, order.reading_seconds, order.solving_seconds, None)
    pool = _HERE.pool(order.prover)
    try:
        outcome = _outcome(pool, job, _wanted())
    except BaseException:
        pool.close()
        raise
    if outcome is None:
        pool.close()
        return {"unwanted": True}
    _HERE.give_back(pool)
    return _as_json(outcome, str(file), str(order.request["file"]))


def _outcome(pool: Pool, job: Job, wanted: Callable[[], bool]) -> Outcome | None:
    """The end of the job; None where the campaign gave it up before."""
    pool.submit(job)
    while (outcome := pool.ended_within(ATTENTION)) is None:
        if not wanted():
            return None
    return outcome


def _wanted() -> Callable[[], bool]:
    """A function that tells whether the scheduler still wants the task that this thread works on."""
    from distributed.worker import get_worker

    worker = get_worker()
    state, key = worker.state, worker.get_current_task()

    def wanted() -> bool:
        task = state.tasks.get(key)
        return task is not None and task.state not in ("cancelled", "released", "forgotten")

    return wanted


def _as_json(outcome: Outcome, here: str, there: str) -> dict[str, Any]:
    answer = dict(outcome.answer)
    if "problem" in answer:
        problem = answer["problem"]
        answer["problem"] = {**problem, "file": there if problem["file"] == here else problem["file"]}
    return {
        "end": outcome.end,
        "answer": answer,
        "reached": outcome.reached,
        "solving": outcome.solving,
        "seconds": outcome.seconds,
        "status": outcome.status,
    }


@dataclass(eq=False)
class _Station:
    """What this process keeps between tasks: pools of one process that no thread uses now, and unpacked texts."""

    guard: Lock = field(default_factory=Lock)
    pools: list[Pool] = field(default_factory=list)
    folders: dict[str, Path] = field(default_factory=dict)
    depot: Path | None = None

    def pool(self, prover: str) -> Pool:
        """A pool of one process, for the thread that asks."""
        with self.guard:
            for pool in [p for p in self.pools if p.prover == prover]:
                self.pools.remove(pool)
                return pool
        return Pool(1, prover)

    def give_back(self, pool: Pool) -> None:
        """Keep a pool for whoever asks next."""
        with self.guard:
            self.pools.append(pool)

    def unpacked(self, files: Mapping[str, bytes]) -> Path:
        """The folder with these texts; each set of texts is written once."""
        name = digest("\n".join(f"{path} {digest(data)}" for path, data in sorted(files.items())))
        with self.guard:
            if self.depot is None or not self.depot.is_dir():
                self.depot = _own_folder()
                self.folders.clear()
                atexit.register(self.leave, os.getpid())
            if name not in self.folders:
                folder = self.depot / name[:16]
                for path, data in files.items():
                    target = folder / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(data)
                self.folders[name] = folder
            return self.folders[name]

    def leave(self, owner: int) -> None:
        """Leave nothing behind when this process ends; when a fork of it does, touch nothing."""
        if os.getpid() != owner or self.depot is None:
            return
        for pool in self.pools:
            with contextlib.suppress(OSError):
                pool.close()
        shutil.rmtree(self.depot, ignore_errors=True)


_HERE = _Station()


def _own_folder() -> Path:
    """A folder inside that of the worker, which Dask removes even after a worker that was killed."""
    from distributed.worker import get_worker

    return Path(tempfile.mkdtemp(prefix="soundline-", dir=get_worker().local_directory))
