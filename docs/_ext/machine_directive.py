"""
The abstract machine on pages
=============================

`.. machine:: ELEMENT` shows a program, the records of an element as they grow, and what the machine finds. The ids that
it must find stand in the option `breaks`; anything else is a warning, which stops the build. Further options: `sizes`,
such as ``n=4``, `policy`, `rows`, which ends the picture after so many statements, and the flags `hidden`, without the
program, and `report`, with the text of the verdict.
"""

from __future__ import annotations

from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from machine_shown import OPTIONS, Shown
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)


class Machine(SphinxDirective):
    """`.. machine:: ELEMENT`."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = {
        **dict.fromkeys(OPTIONS, directives.unchanged),
        "hidden": directives.flag,
        "report": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """The program, the picture and the verdict."""
        self.env.note_reread()
        shown = Shown.of(self.arguments[0], "\n".join(self.content), self.options)
        found = shown.judged()
        if set(found.rules) != set(shown.breaks):
            said = " ".join(found.rules) or "nothing"
            logger.warning("the machine finds %s", said, location=self.get_source_info())
        parts: list[nodes.Node] = []
        if "hidden" not in self.options:
            parts.append(nodes.literal_block(shown.program, shown.program, language="python"))
        figure = nodes.container(classes=["graph"])
        figure += nodes.raw("", shown.picture(), format="html")
        parts.append(figure)
        if "report" in self.options:
            parts.append(nodes.literal_block(found.text, found.text, language="text", classes=["printed"]))
        return [nodes.container("", *parts, classes=["example"])]


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("machine", Machine)
