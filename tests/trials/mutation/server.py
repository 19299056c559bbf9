"""
The server that tries mutants
=============================

A process that lives in a throw-away copy of the project. It has loaded what every test needs and nothing of soundline,
so that each mutant is tried in a fork that reads the changed module within a fraction of a second. It is started by
path, reads one request per line and answers each with one line; it uses the standard library alone, apart from what
it loads in advance.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

PRELOADED = ("numpy", "ml_dtypes", "z3", "cffi", "rich.console", "pytest", "hypothesis")
MEMORY = 6 << 30
"""Bytes of address space for one mutant: a change may make a program ask for everything."""
RESULT, LOG, CHILD = ".mutation-result.json", ".mutation-log.txt", ".mutation-child.txt"
TAIL = 4000
"""How much of what the tests printed is given back, from the end."""


running: list[int] = []
"""The child that tries a mutant now, if any."""


def main() -> None:
    """Answer requests until the input ends."""
    signal.signal(signal.SIGTERM, _stop)
    for name in PRELOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


def _stop(_signal: int, _frame: object) -> None:
    """End at once, and the child too: it has a session of its own."""
    for child in running:
        os.kill(child, signal.SIGKILL)
        _end_group(child)
    os._exit(0)


def _end_group(leader: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Put the mutant in place, try it in a child, and put the module back."""
    path = Path(request["file"]) if request.get("file") else None
    original = path.read_bytes() if path else b""
    try:
        if path:
            path.write_text(request["source"], encoding="utf-8")
        return _tried(request)
    finally:
        if path:
            path.write_bytes(original)


def _tried(request: dict[str, Any]) -> dict[str, Any]:
    Path(RESULT).unlink(missing_ok=True)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _child(request)
    running.append(child)
    code = _outcome(child, began + request["wall"])
    running.clear()
    _end_group(child)  # what the tests started and left behind
    Path(CHILD).unlink(missing_ok=True)
    found: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        found = json.loads(Path(RESULT).read_text())
    log = Path(LOG).read_bytes()[-TAIL:].decode(errors="replace")
    return {"code": code, "seconds": time.monotonic() - began, "log": log, **found}


def _outcome(child: int, deadline: float) -> int | str:
    """The exit code of the child, or "timeout" where its time, or its processor time, was up."""
    pause = 0.002
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            return "timeout" if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


# in the child -----------------------------------------------------------------------------------------------------


def _child(request: dict[str, Any]) -> None:
    """Try the mutant and end the process, whatever happens."""
    code = 70
    try:
        os.setsid()
        Path(CHILD).write_text(str(os.getpid()))  # for whoever must end this process if the server is ended
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(log, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for limit, value in ((resource.RLIMIT_CPU, int(request["cpu"]) + 1), (resource.RLIMIT_AS, MEMORY)):
            with suppress(OSError, ValueError):
                resource.setrlimit(limit, (value, value))
        sys.dont_write_bytecode = not request.get("baseline", False)
        code = _call(request["call"]) if "call" in request else _run_tests(request)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _call(call: list[Any]) -> int:
    """Call a function of the copy, named as `module:function`, and keep what it returns as the result."""
    where, *arguments = call
    module, _, function = where.partition(":")
    found = getattr(importlib.import_module(module), function)(*arguments)
    Path(RESULT).write_text(json.dumps({"found": found}))
    return 0


def _run_tests(request: dict[str, Any]) -> int:
    import pytest

    observer = Observer(request.get("killers", []), request.get("durations", {}), request.get("enough"))
    options = [
        "-q",
        "--no-header",
        "--tb=short",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-m",
        "not slow",
    ]
    stop = [] if request.get("baseline") else ["-x"]
    code = pytest.main([*options, *stop, *request["tests"]], plugins=[observer])
    observer.write()
    return int(code)


class Observer:
    """A pytest plugin that tries the likeliest killers first, stops at so many seconds, and keeps what was seen."""

    def __init__(self, killers: list[str], durations: dict[str, float], enough: float | None = None) -> None:
        self.rank = {test: n for n, test in enumerate(killers)}
        self.known = durations
        self.enough = enough
        self.durations: dict[str, float] = {}
        self.killer = ""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Tests that killed mutants before come first, then the fast ones."""
        last = len(self.rank)
        items.sort(key=lambda i: (self.rank.get(i.nodeid, last), round(self.known.get(i.nodeid, 0.0), 1)))
        seconds = 0.0
        for n, item in enumerate(items):
            seconds += self.known.get(item.nodeid, 0.0)
            if self.enough is not None and seconds > self.enough and n > 0:
                del items[n:]
                break

    def pytest_collectreport(self, report: Any) -> None:
        """A test file that cannot even be read has noticed the change."""
        if report.failed and not self.killer:
            self.killer = str(report.nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep how long each test took, and the first that failed."""
        self.durations[report.nodeid] = self.durations.get(report.nodeid, 0.0) + report.duration
        if report.failed and not self.killer:
            self.killer = str(report.nodeid)

    def write(self) -> None:
        """Leave the result for the server."""
        Path(RESULT).write_text(json.dumps({"killer": self.killer, "durations": self.durations}))


if __name__ == "__main__":
    main()
