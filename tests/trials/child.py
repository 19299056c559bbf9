"""
A child that may be ended
=========================

A fork of this process that judges one case after the other. A case may spend so much processor time and memory, and
may end its process; that costs the case, and the next one gets a new child.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

MEMORY = 6 << 30
"""Bytes of address space: a case may make a program ask for everything."""
WAITING = 20
"""How many times longer than its processor time the clock may take, on a busy machine."""


class Ended(Exception):
    """The child ended before it answered."""

    def __init__(self, *, late: bool) -> None:
        super().__init__("it took too long" if late else "its process died")
        self.late = late


class Child:
    """Judges cases that have a form in JSON, as are the answers. Use it as a context: leaving it ends the process."""

    def __init__(self, judge: Callable[[Any], Any], memory: int | None = MEMORY) -> None:
        self.judge = judge
        self.memory = memory
        self._process: tuple[int, IO[bytes], int] | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, case: Any, seconds: float) -> Any:
        """What the child says of a case. Raises ``Ended`` where it says nothing within so many seconds."""
        if self._process is None:
            self._process = self._forked()
        _, questions, answers = self._process
        with suppress(BrokenPipeError):  # one that is dead is noticed when its answers end
            questions.write(json.dumps([case, seconds]).encode() + b"\n")
            questions.flush()
        line, until = b"", time.monotonic() + WAITING * seconds
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([answers], [], [], max(0.0, until - time.monotonic()))
            data = os.read(answers, 1 << 16) if ready else b""
            if not data:
                status = self.close()
                raise Ended(late=status in (-signal.SIGPROF, -signal.SIGKILL))
            line += data
        return json.loads(line)

    def close(self) -> int | None:
        """End the process, if there is one; its exit code, that of its own end where it is dead already."""
        if self._process is None:
            return None
        (pid, questions, answers), self._process = self._process, None
        with suppress(OSError):
            questions.close()
        os.close(answers)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def _forked(self) -> tuple[int, IO[bytes], int]:
        asked, asking = os.pipe()
        answers, answering = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(asking)
            os.close(answers)
            self._serve(asked, answering)
        os.close(asked)
        os.close(answering)
        return pid, os.fdopen(asking, "wb"), answers

    def _serve(self, asked: int, answering: int) -> None:
        """Answer until the questions end, and end the process then."""
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGPROF, signal.SIG_DFL)  # which ends the process
            if self.memory is not None:
                with suppress(OSError, ValueError):
                    resource.setrlimit(resource.RLIMIT_AS, (self.memory, self.memory))
            for line in os.fdopen(asked, "rb"):
                case, seconds = json.loads(line)
                signal.setitimer(signal.ITIMER_PROF, seconds)
                answer = json.dumps(self.judge(case)).encode() + b"\n"
                signal.setitimer(signal.ITIMER_PROF, 0)
                with os.fdopen(os.dup(answering), "wb") as file:
                    file.write(answer)
        finally:
            os._exit(1)
