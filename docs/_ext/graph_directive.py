"""
Graphs on pages
===============

`.. graph:: NAME` draws the program that a name of the page's session holds at that place. What an example prints is
compared with what the page says: a difference is a warning, which stops the build.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sessions import Session
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from soundline.impl.inspect.graphs import svg

logger = logging.getLogger(__name__)

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
