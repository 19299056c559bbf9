"""
A throw-away copy
=================

Mutants are made in a copy of the working tree, in a temporary folder, never in the checkout. A copy has a server in it
that tries one mutant at a time.
"""

from __future__ import annotations

import compileall
import contextlib
import json
import os
import py_compile
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from soundline.verify import mutation_server

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


class Copy:
    """A copy of the project at `root`, with its server. Use it as a context."""

    def __init__(self, root: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="soundline-mutants-"))
        self.tree = self.folder / "tree"
        shutil.copytree(root, self.tree, symlinks=True, ignore=_LEFT_OUT)
        # Compiled modules that are found stale by their content: a mutant may have the size and second of the original.
        for part in ("src", "spec", "impl", "verify"):
            compileall.compile_dir(
                self.tree / part, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH
            )
        self.server = self._start()

    def _start(self) -> subprocess.Popen[str]:
        environment = os.environ | {
            "PYTHONPATH": str(self.tree / "src"),
            "PYTHONHASHSEED": "0",
            "SOUNDLINE_CACHE_DIR": str(self.folder / "cache"),
            "CI": "true",  # Hypothesis then draws the same examples every time and keeps no database
        }
        environment.pop("PYTEST_ADDOPTS", None)
        server = subprocess.Popen(
            [sys.executable, "-P", mutation_server.__file__],
            cwd=self.tree,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert server.stdout is not None
        server.stdout.readline()
        return server

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The server's answer to one request."""
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.write(json.dumps(request) + "\n")
        self.server.stdin.flush()
        answer: dict[str, Any] = json.loads(self.server.stdout.readline())
        return answer

    def call(self, function: str, *arguments: Any, seconds: float = 120.0) -> Any:
        """What a function of the copied project returns, named as `module:function`."""
        answer = self.ask({"call": [function, *arguments], "wall": seconds, "cpu": seconds})
        if answer["code"] != 0:
            raise RuntimeError(f"{function} in the copy: {answer['code']}\n{answer['log']}")
        return answer["found"]

    def stop(self) -> None:
        """End the server, and what it is trying."""
        self.server.terminate()
        try:
            self.server.wait(10)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
        for stream in (self.server.stdin, self.server.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def __enter__(self) -> Copy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server and remove the folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
