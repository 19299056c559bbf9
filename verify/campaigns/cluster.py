"""
A campaign on a cluster
=======================

With ``--executor dask://HOST:PORT`` files are read here, and each layer of each rule is a task of a Dask cluster that
runs already. Verdicts come back as they are reached and are kept in the cache of this machine. A worker that dies costs
nothing but the time: the scheduler gives its tasks to another. A goal on which several workers have died is tried once
more, alone, so that no goal is blamed for its neighbour; if a worker dies again, the goal is reported as undecided.
Where the scheduler is lost, or every worker for good, what was decided by then is reported, and the next run goes on
from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from soundline.spec.errors import UsageError
from soundline.verify.campaigns.cluster_worker import Order, solve
from soundline.verify.campaigns.workers import Job, Outcome, Pool
from soundline.verify.verdicts.sameness import fingerprint

SCHEME = "dask://"
CONNECTING = 10.0
"""Seconds within which a scheduler answers and has a worker."""
PATIENCE = 30.0
"""Seconds after which a cluster that has lost all its workers is given up."""
GLANCE = 2.0
"""Seconds between two looks at the cluster."""
GIVEN_UP = 20
"""How many tasks a scheduler that answers may give up, with a worker that dies for example; each is sent again."""
AHEAD = 4
"""How many tasks the cluster holds for each of its threads."""
_FINGERPRINT = "__import__('soundline.verify.verdicts.sameness', fromlist=['_']).fingerprint()"


class ClusterLost(Exception):
    """The scheduler of a campaign, or all its workers, went away while it ran."""

    hint = "what was decided is cached: run again, and it goes on from there"


def address_of(executor: str) -> str:
    """The address that Dask knows for ``dask://HOST:PORT``. Raises ``UsageError`` for anything else."""
    host, colon, port = executor.removeprefix(SCHEME).rpartition(":")
    right = executor.startswith(SCHEME) and host and colon and not set(host) & set("/ @?#")
    if not (right and port.isascii() and port.isdecimal() and 0 < int(port) < 1 << 16):
        raise UsageError(f"{executor!r} is not an executor", hint=f"it is written {SCHEME}HOST:PORT")
    return f"tcp://{host}:{int(port)}"


class ClusterPool(Pool):
    """A pool whose proofs are tasks of a Dask cluster; files are read by processes of this machine."""

    def __init__(self, size: int, prover: str, executor: str) -> None:
        super().__init__(size, prover)
        self.executor = executor
        self.proofs: deque[Job] = deque()
        """Proofs that have not begun."""
        self.suspects: deque[Job] = deque()
        """Proofs of which a worker died: each is tried alone."""
        self._tasks: dict[Any, Job] = {}
        self._given_up = 0
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._texts: dict[tuple[str, ...], tuple[dict[str, bytes], str]] = {}
        self._client = _connected(executor)
        self._threads, self._seen, self._looked = 1, time.monotonic(), 0.0
        self._bell, self._ring = os.pipe()
        self._selector.register(self._bell, 1, None)

    def submit(self, job: Job, *, first: bool = False) -> None:
        """Queue a job."""
        if job.request["do"] != "prove":
            super().submit(job, first=first)
        elif job.deaths:
            self.suspects.append(job)
        elif first:
            self.proofs.appendleft(job)
        else:
            self.proofs.append(job)

    def drop(self, unwanted: Callable[[Job], bool]) -> None:
        """Forget jobs that have not begun."""
        super().drop(unwanted)
        self.proofs = deque(j for j in self.proofs if not unwanted(j))
        self.suspects = deque(j for j in self.suspects if not unwanted(j))

    @property
    def idle(self) -> bool:
        """Whether nothing is waiting, running or to be reported."""
        return super().idle and not (self.proofs or self.suspects or self._tasks)

    @property
    def running(self) -> list[Job]:
        """The jobs at hand, oldest first."""
        return [*super().running, *list(self._tasks.values())[: self._threads]]

    def close(self) -> None:
        """End the local workers and give up what the cluster has not done."""
        with contextlib.suppress(Exception):
            self._client.cancel(list(self._tasks), force=True)
        with contextlib.suppress(Exception):
            self._client.close(timeout=2)
        super().close()
        for end in (self._bell, self._ring):
            os.close(end)

    # the turns --------------------------------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        super()._hand_out()
        self._look()
        while self.proofs and len(self._tasks) < AHEAD * self._threads:
            self._send(self.proofs.popleft())
        if self.suspects and not self._tasks:
            self._send(self.suspects.popleft())

    def _listen(self, seconds: float) -> None:
        super()._listen(min(seconds, GLANCE))
        while not self._ended.empty():
            self._collect(self._ended.get())

    def _hear(self, worker: Any) -> None:
        if worker is None:
            os.read(self._bell, 1 << 12)
        else:
            super()._hear(worker)

    def _look(self) -> None:
        """How many threads there are now. Raises ``ClusterLost`` where there have been none for too long."""
        now = time.monotonic()
        if self._client.status != "running":
            raise self._lost("the scheduler no longer answers")
        if now - self._looked < GLANCE:
            return
        try:
            threads = sum(self._client.nthreads().values())
        except (OSError, RuntimeError, TypeError, AttributeError) as error:
            raise self._lost("the scheduler no longer answers") from error
        self._looked = now
        if threads:
            self._threads, self._seen = threads, now
        elif now - self._seen > PATIENCE:
            raise self._lost(f"it has had no worker for {PATIENCE:.0f} s")

    def _lost(self, why: str) -> ClusterLost:
        return ClusterLost(f"the cluster was lost: {why}")

    # tasks ------------------------------------------------------------------------------------------------------------

    def _send(self, job: Job) -> None:
        texts, main = self._bundle(job.request)
        request = {k: v for k, v in job.request.items() if k != "helpers"}
        order = Order(request, texts, main, job.reading_seconds, job.allowed(), self.prover, fingerprint())
        future = self._client.submit(solve, order, pure=False)
        self._tasks[future] = job
        future.add_done_callback(self._done)

    def _done(self, future: Any) -> None:
        """Called by a thread of the client."""
        self._ended.put(future)
        with contextlib.suppress(OSError):  # the pool may be closed by now
            os.write(self._ring, b"!")

    def _bundle(self, request: Mapping[str, Any]) -> tuple[dict[str, bytes], str]:
        """The texts that a file needs, read once, and which of them is the file."""
        file, helpers = str(request["file"]), tuple(request["helpers"])
        key = (file, *helpers)
        if key not in self._texts:
            root = os.path.commonpath([str(Path(f).parent) for f in key])
            texts = {os.path.relpath(f, root): Path(f).read_bytes() for f in key}
            self._texts[key] = texts, os.path.relpath(file, root)
        return self._texts[key]

    def _collect(self, future: Any) -> None:
        """Take the end of a task in."""
        job = self._tasks.pop(future)
        if future.status in ("cancelled", "lost"):
            self._again(job)
            return
        if future.status == "error":
            self._ready.append(self._failed(job, future.exception()))
            return
        said = future.result()
        if "other" in said:
            raise _other_version(self.executor, 1)
        if "unwanted" in said:
            self._again(job)
            return
        self._ready.append(Outcome(job, **said))

    def _again(self, job: Job) -> None:
        """Send a proof again that the scheduler gave up. Raises ``ClusterLost`` where it does so without end."""
        self._given_up += 1
        if self._client.status != "running" or self._given_up > GIVEN_UP:
            raise self._lost("its scheduler gave up on the tasks")
        self.submit(job, first=True)

    def _failed(self, job: Job, error: BaseException | None) -> Outcome:
        from distributed.scheduler import KilledWorker

        if isinstance(error, ImportError):
            raise _not_installed(self.executor, str(error)) from None
        deaths = error.allowed_failures + 1 if isinstance(error, KilledWorker) else 1
        status = (
            "and with it a worker of the cluster"
            if isinstance(error, KilledWorker)
            else f"{type(error).__name__}: {error}"
        )
        return Outcome(job, "crashed", {}, None, True, 0.0, status, deaths)


# connecting -----------------------------------------------------------------------------------------------------------


def _connected(executor: str) -> Any:
    """A client of the scheduler, whose workers have the same law, prover and solver. Raises ``UsageError`` else."""
    address = address_of(executor)
    try:
        from distributed import Client
    except ImportError:
        raise UsageError(
            "--executor needs Dask, which is not installed here", hint="pip install 'soundline[cluster]'"
        ) from None
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what is to be said, we say
    try:
        asyncio.run(asyncio.wait_for(_greeting(address), CONNECTING))
        client = Client(address, timeout=CONNECTING, set_as_default=False)
    except Exception as error:  # noqa: BLE001  # whatever stands at that address may answer anything
        raise UsageError(
            f"no Dask scheduler answers at {executor} ({_first_line(error)})",
            hint="is it running? dask scheduler --port 8786",
        ) from None
    try:
        _look_over(client, executor)
    except BaseException:
        client.close(timeout=2)
        raise
    return client


async def _greeting(address: str) -> None:
    """Hear a scheduler say that it is one; a client would wait without end for what answers nothing."""
    from distributed.core import rpc

    async with rpc(address) as server:
        found = (await server.identity())["type"]
    if found != "Scheduler":
        raise UsageError(f"it is a {found}")


def _look_over(client: Any, executor: str) -> None:
    """Raise ``UsageError`` unless there are workers and each can do the work."""
    try:
        client.wait_for_workers(1, timeout=CONNECTING)
    except TimeoutError:
        raise UsageError(
            f"the cluster {executor} has no worker",
            hint=f"start some: dask worker {executor.removeprefix(SCHEME)}",
        ) from None
    found = client.run(eval, _FINGERPRINT, on_error="return")
    for said in found.values():
        if isinstance(said, ImportError):
            raise _not_installed(executor, str(said))
        if isinstance(said, BaseException):
            raise UsageError(f"a worker of {executor} does not answer ({_first_line(said)})")
    others = sum(said != fingerprint() for said in found.values())
    if others:
        raise _other_version(executor, others, len(found))


def _other_version(executor: str, others: int, known: int | None = None) -> UsageError:
    many = f"{others} of {known} workers" if known else "a worker"
    return UsageError(
        f"{many} of {executor} would judge by another law, prover or solver than this machine",
        hint="install the same version of soundline and of z3-solver there, and restart the workers",
    )


def _not_installed(executor: str, why: str) -> UsageError:
    return UsageError(
        f"a worker of {executor} cannot judge rules ({why})",
        hint="install soundline where the workers run: pip install 'soundline[cluster]'",
    )


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).split("\n", 1)[0][:200]
