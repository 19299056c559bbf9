"""
Pages that compute
==================

The examples of a page written with ``>>>`` are one session, as doctest reads them. `.. graph:: NAME` draws the program
that a name of that session holds at that place. What an example prints is compared with what the page says: a
difference is a warning, which stops the build.
"""

from __future__ import annotations

import doctest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from soundline.impl.drawing import svg
from soundline.spec.uop import UOp

logger = logging.getLogger(__name__)


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


_SESSIONS: dict[str, Session] = {}


class Graph(SphinxDirective):
    """`.. graph:: NAME` draws the program of that name; what stands below is its caption."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """The picture, and a warning for each example before it that printed something else."""
        self.env.note_reread()
        path, line = self.get_source_info()
        session = _SESSIONS.setdefault(self.env.docname, Session(Path(path)))
        session.run_to(line)
        for said in session.differences:
            logger.warning("%s", said, location=(path, line))
        session.differences.clear()
        picture = svg(*session.program(self.arguments[0]))
        figure = nodes.container(classes=["graph"])
        figure += nodes.raw("", picture, format="html")
        if self.content:
            figure += self.parse_content_to_nodes()
        return [figure]


def forget(app: Sphinx, env: Any, docname: str) -> None:
    """A page that is read again begins a new session."""
    _SESSIONS.pop(docname, None)


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("graph", Graph)
    app.connect("env-purge-doc", forget)
