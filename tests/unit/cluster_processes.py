"""A Dask scheduler and its workers as real processes on the loopback interface, for tests that may kill them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
SETTINGS = {
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
    "DASK_DISTRIBUTED__WORKER__DAEMON": "False",
}
PATIENCE = 60.0


class Cluster:
    """A scheduler and workers of one thread each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.scheduler = self._started("scheduler", "--port", "0", "--scheduler-file", str(self.file))
        self.workers: list[subprocess.Popen[bytes]] = []
        self.address = self._address()

    def _address(self) -> str:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with contextlib.suppress(OSError, ValueError, KeyError):
                return json.loads(self.file.read_text())["address"].replace("tcp://", "dask://")
            time.sleep(0.05)
        raise AssertionError((self.folder / "scheduler.log").read_text())

    def add(self, count: int, *, nanny: bool) -> Cluster:
        """Start workers; with a nanny, one that is killed is started again."""
        kind = "--nanny" if nanny else "--no-nanny"
        for _ in range(count):
            options = ("--nthreads", "1", "--local-directory", str(self.folder), kind)
            worker = self._started("worker", "--scheduler-file", str(self.file), *options)
            self.workers.append(worker)
        return self

    def _started(self, what: str, *options: str) -> subprocess.Popen[bytes]:
        paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, **SETTINGS, "PYTHONPATH": os.pathsep.join(paths)}
        command = [sys.executable, "-m", "dask", what, "--host", "127.0.0.1", "--no-dashboard", *options]
        with (self.folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)

    def wait(self) -> None:
        """Until every worker is there."""
        from distributed import Client

        with Client(self.address.replace("dask://", "tcp://"), timeout=PATIENCE) as client:
            client.wait_for_workers(len(self.workers), timeout=PATIENCE)

    def kill_scheduler(self) -> None:
        """As if its machine were gone."""
        self.scheduler.kill()
        self.scheduler.wait()

    def kill_worker(self) -> None:
        """As if the machine of one worker were gone."""
        worker = self.workers.pop()
        worker.kill()
        worker.wait()

    def end(self) -> None:
        """End everything that was started, and what that has started."""
        for process in (*self.workers, self.scheduler):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in (*self.workers, self.scheduler):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@contextlib.contextmanager
def running(folder: Path, workers: int, *, nanny: bool) -> Iterator[Cluster]:
    """A cluster for as long as the context lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(folder)
    try:
        yield cluster.add(workers, nanny=nanny)
    finally:
        cluster.end()
