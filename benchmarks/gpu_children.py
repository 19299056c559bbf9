"""
Work on a GPU in other processes
================================

After an invalid access a process can do nothing more with its GPU, and a kernel that waits for ever is only ended with
its process. So what is tried on a GPU is tried by a child, one thing after another. Where the child dies or is silent
for too long, what it was at has failed, and another child goes on with the rest.

A child is given the names of what it is to do, and says which are done with `done`, a line of its standard output each;
everything else that it writes is passed on.
"""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence

MARK = "\x1e"
"""How the lines begin that say what is done."""
ENDS = 20
"""Seconds that a child has to end when everything is done."""


def done(name: str) -> None:
    """In a child: this is done."""
    print(f"{MARK}{name}", flush=True)


def in_children(
    names: Sequence[str], command: Callable[[Sequence[str]], Sequence[str]], limit: float
) -> Iterator[tuple[str, str | None]]:
    """Each name, in order, with what went wrong if its child did not get to the end of it in `limit` seconds."""
    rest = list(names)
    while rest:
        finished = 0
        for name, complaint in _in_one(rest, command(rest), limit):
            finished += 1
            yield name, complaint
        rest = rest[finished:]


def _in_one(names: Sequence[str], command: Sequence[str], limit: float) -> Iterator[tuple[str, str | None]]:
    """The names that one child gets to, of which the last may have gone wrong."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines: queue.Queue[str | None] = queue.Queue()
    reader = threading.Thread(target=_read, args=(child, lines), daemon=True)
    reader.start()
    said: deque[str] = deque(maxlen=4)
    try:
        for name in names:
            complaint = _wait_for(name, lines, said, limit)
            if complaint == "":
                code = child.wait()
                complaint = f"the process ended with code {code}: {' | '.join(said)}"
            yield name, complaint
            if complaint is not None:
                return
            said.clear()
        child.wait(ENDS)
    except subprocess.TimeoutExpired:
        pass
    finally:
        child.kill()
        child.wait()


def _read(child: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        lines.put(line)
    lines.put(None)


def _wait_for(name: str, lines: queue.Queue[str | None], said: deque[str], limit: float) -> str | None:
    """None when it is done, a complaint when that took too long, and nothing but "" when the child has ended."""
    while True:
        try:
            line = lines.get(timeout=limit)
        except queue.Empty:
            return f"nothing was heard of it for {limit:.0f} s"
        if line is None:
            return ""
        if line.startswith(MARK):
            assert line[1:].rstrip("\n") == name
            return None
        said.append(line.strip()[:300])
        print(line, end="", file=sys.stdout, flush=True)
