"""
Pages that compute
==================

The examples of a page written with ``>>>`` are one session, as doctest reads them. `.. graph:: NAME` draws the program
that a name of that session holds at that place; the directive stands in `graph_directive`, so that a session can be
run without Sphinx.
"""

from __future__ import annotations

import doctest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from soundline.spec.uop import UOp


class Session:
    """The examples of a page, run in order and each of them once."""

    def __init__(self, path: Path) -> None:
        examples = doctest.DocTestParser().get_examples(path.read_text(), str(path))
        self.path, self.left = path, examples
        self.names: dict[str, Any] = {"__name__": path.stem}
        self.differences: list[str] = []

    def run_to(self, line: int) -> None:
        """Run the examples that begin before a line, counted from 1."""
        here = [e for e in self.left if e.lineno < line - 1]
        self.left = self.left[len(here) :]
        if here:
            test = doctest.DocTest(here, self.names, self.path.name, str(self.path), 0, None)
            runner = doctest.DocTestRunner(verbose=False)
            runner.run(test, out=self.differences.append, clear_globs=False)
            self.names = test.globs

    def program(self, name: str) -> Sequence[UOp]:
        """The results of the program that an expression stands for: a node, several, or a Tensor."""
        value = eval(name, self.names)
        found = value if isinstance(value, tuple) else (getattr(value, "uop", value),)
        assert all(isinstance(n, UOp) for n in found), f"{name} is no program"
        return found
