"""Processes of our own: work shared out among them, and one that serves requests."""

from __future__ import annotations

import math
import os
import signal
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from soundline.verify.processes import serving, shared_out


def _run_by(parent: int) -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if int(fields[1]) == parent and fields[0] != "Z":
            found.add(int(stat.parent.name))
    return found


def test_everything_that_is_asked_is_answered_once() -> None:
    with shared_out(math.gcd, ((n, (n, 12)) for n in range(20)), 2) as ended:
        found = {n: future.result() for n, future in ended}
    assert found == {n: math.gcd(n, 12) for n in range(20)}


def test_a_mistake_in_the_work_is_that_of_its_future() -> None:
    with shared_out(math.sqrt, (("good", (4,)), ("bad", (-1,))), 1) as ended:
        futures = dict(ended)
    assert futures["good"].result() == 2
    with pytest.raises(ValueError, match="math domain"):
        futures["bad"].result()


def test_what_a_dead_process_had_is_broken() -> None:
    with shared_out(os._exit, [("all", (3,))], 1) as ended:
        ((one, future),) = ended
    assert one == "all"
    with pytest.raises(BrokenProcessPool):
        future.result()


def test_work_at_hand_is_killed_where_the_block_ends_early() -> None:
    before = _run_by(os.getpid())
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        _interrupted()
    while time.monotonic() - began < 60 and _sleepers(before):
        time.sleep(0.05)
    assert not _sleepers(before)
    assert time.monotonic() - began < 60


def _interrupted() -> None:
    with shared_out(time.sleep, ((n, (0.01 if n == 0 else 120,)) for n in range(3)), 2) as ended:
        assert next(ended)[0] == 0
        raise KeyboardInterrupt


def _sleepers(before: set[int]) -> list[int]:
    """New processes that run the work; the one that watches over resources stays."""
    names = {pid: Path(f"/proc/{pid}/cmdline") for pid in _run_by(os.getpid()) - before}
    return [pid for pid, file in names.items() if file.exists() and b"spawn_main" in file.read_bytes()]


def test_processes_leave_interruptions_to_us() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what is ignored here is ignored there
    try:
        with shared_out(signal.getsignal, [("it", (signal.SIGINT,))], 1) as ended:
            ((_, future),) = ended
    finally:
        signal.signal(signal.SIGINT, before)
    assert future.result() is signal.SIG_IGN


def test_a_server_gets_its_arguments_and_our_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["import sys", "def main(*given):", "    print(*given, sys.stdin.readline().strip())"]
    (tmp_path / "echoing.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(tmp_path))
    process = serving("echoing", "one", "two", text=True)
    assert process.communicate("three\n", timeout=60)[0] == "one two three\n"
