"""
Processes of our own
====================

Work that may take long, crash or never end is done in other processes, which can be killed. They import what this one
can import, leave interruptions to it, and do not outlive it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

A = TypeVar("A")
R = TypeVar("R")


def serving(module: str, *arguments: str, **options: Any) -> subprocess.Popen[Any]:
    """A process that serves requests by the `main` of a module: in at its standard input, out at its output."""
    program = (
        "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); "
        f"from {module} import main; main(*sys.argv[1:])"
    )
    return subprocess.Popen(
        [sys.executable, "-P", "-c", program, *arguments, json.dumps([p for p in sys.path if p])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        **options,
    )


@contextmanager
def shared_out(
    work: Callable[..., R], asked: Iterable[tuple[A, tuple[Any, ...]]], jobs: int
) -> Iterator[Iterator[tuple[A, Future[R]]]]:
    """The results of the work on each task's arguments, as they arrive; where the block ends early, all processes are
    killed.
    """
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_quietly)
    try:
        yield _ended({pool.submit(work, *given): one for one, given in asked})
    except BaseException:
        for process in list((pool._processes or {}).values()):  # noqa: SLF001  # nothing else stops work at hand
            process.kill()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _ended(waiting: dict[Future[R], A]) -> Iterator[tuple[A, Future[R]]]:
    while waiting:
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            yield waiting.pop(future), future


def _quietly() -> None:
    """Leave interruptions to the process that started this one, and end when that one does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
