"""
A throw-away copy
=================

Mutants are made in a copy of the working tree, in a temporary folder, never in the checkout. A copy has a server in it
that tries one mutant at a time. A server that something else ends, such as a machine that is short of memory, is
replaced, and asked again.
"""

from __future__ import annotations

import compileall
import contextlib
import json
import os
import py_compile
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

from soundline.spec.errors import UsageError
from trials.mutation import server as mutation_server

AGAIN = 3
"""How many times a request is asked again after something ended the server."""


_LEFT_OUT = shutil.ignore_patterns(
    ".git",
    ".venv*",
    "__pycache__",
    "*.pyc",
    ".*_cache",
    ".hypothesis",
    "_build",
    "build",
    "dist",
    "*.egg-info",
)


class Stopped(Exception):
    """A copy that was stopped on purpose answers nothing."""


class Copy:
    """A copy of the project at `root`, with its server. Use it as a context."""

    def __init__(self, root: Path) -> None:
        self.lock = Lock()
        self.stopped = False
        self.folder = Path(tempfile.mkdtemp(prefix="soundline-mutants-"))
        self.tree = self.folder / "tree"
        try:
            self._fill(root)
            self.server = self._start()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def _fill(self, root: Path) -> None:
        shutil.copytree(root, self.tree, symlinks=True, ignore=_LEFT_OUT)
        # Compiled modules that are found stale by their content: a mutant may have the size and second of the original.
        for part in ("src", "spec", "impl", "verify"):
            compileall.compile_dir(
                self.tree / part, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH
            )

    def _start(self) -> subprocess.Popen[str]:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(str(self.tree / part) for part in ("src", "tests")),
            "PYTHONHASHSEED": "0",
            "SOUNDLINE_CACHE_DIR": str(self.folder / "cache"),
            "CI": "true",  # Hypothesis then draws the same examples every time and keeps no database
        }
        environment.pop("PYTEST_ADDOPTS", None)
        try:
            server = subprocess.Popen(
                [sys.executable, "-P", mutation_server.__file__],
                cwd=self.tree,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(f"the server that tries mutants cannot be started: {error.strerror}") from None
        assert server.stdout is not None
        server.stdout.readline()
        return server

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The server's answer to one request. Raises ``UsageError`` if one server after the other is ended."""
        changed = self.tree / request["file"] if request.get("file") else None
        original = changed.read_bytes() if changed else b""
        for _ in range(1 + AGAIN):
            server = self.server
            answer = None if self.stopped else self._answer(server, request)
            if answer is not None:
                return answer
            self._end(server)
            if changed:
                changed.write_bytes(original)
            with self.lock:
                if self.stopped:
                    raise Stopped
                self.server = self._start()
        raise UsageError(
            f"something ended the server that tries mutants, {1 + AGAIN} times on the same request"
            f" (exit code {server.returncode})",
            where=request.get("file") or None,
            hint="is the machine short of memory? Try --workers 1",
        )

    @staticmethod
    def _answer(server: subprocess.Popen[str], request: dict[str, Any]) -> dict[str, Any] | None:
        """What a server answers; None if it is ended before it has."""
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            server.stdin.write(json.dumps(request) + "\n")
            server.stdin.flush()
            line = server.stdout.readline()
        except (OSError, ValueError):  # a pipe that is broken, or closed by `stop`
            return None
        answer: dict[str, Any] | None = json.loads(line) if line.endswith("\n") else None
        return answer

    def _end(self, server: subprocess.Popen[str]) -> None:
        """End a server, and what it was trying."""
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        child = self.tree / mutation_server.CHILD
        with contextlib.suppress(OSError, ValueError):  # there if the server could not end its child itself
            os.killpg(int(child.read_text()), signal.SIGKILL)
        child.unlink(missing_ok=True)
        for stream in (server.stdin, server.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def call(self, function: str, *arguments: Any, seconds: float = 120.0) -> Any:
        """What a function of the copied project returns, named as `module:function`."""
        answer = self.ask({"call": [function, *arguments], "wall": seconds, "cpu": seconds})
        if answer["code"] != 0:
            raise RuntimeError(f"{function} in the copy: {answer['code']}\n{answer['log']}")
        return answer["found"]

    def stop(self) -> None:
        """End the server for good, and what it is trying."""
        with self.lock:
            self.stopped = True
        self._end(self.server)

    def __enter__(self) -> Copy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server and remove the folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
