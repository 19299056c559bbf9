"""
The abstract machine on pages
=============================

`.. machine:: ELEMENT` shows a program, the records of an element as they grow, and what the machine finds. The ids that
it must find stand in the option `breaks`; anything else is a warning, which stops the build. Further options: `sizes`,
such as ``n=4``, `policy`, `rows`, which ends the picture after so many statements, and the flags `hidden`, without the
program, and `report`, with the text of the verdict.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import spork_runs
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from soundline.impl.drawing_machine import svg
from soundline.impl.machine_growth import growth
from soundline.spec.visibility import Policy

logger = logging.getLogger(__name__)


class Shown(NamedTuple):
    """What a page asks for."""

    element: str
    program: str
    sizes: dict[str, int]
    policy: Policy
    rows: int | None
    breaks: tuple[str, ...]

    @staticmethod
    def of(element: str, program: str, options: dict[str, Any]) -> Shown:
        """What stands in the directive."""
        pairs = [pair.split("=") for pair in options.get("sizes", "").split()]
        return Shown(
            element,
            program,
            {name: int(value) for name, value in pairs},
            Policy(options.get("policy", "temporal")),
            int(options["rows"]) if "rows" in options else None,
            tuple(options.get("breaks", "").split()),
        )

    def judged(self) -> spork_runs.Judged:
        """What the machine says."""
        return spork_runs.judged(self.program, self.sizes, self.policy)

    def picture(self) -> str:
        """The picture of the records."""
        program = self.judged().program
        assert program is not None
        return svg(growth(program.events(**self.sizes), self.element, self.policy), rows=self.rows)


OPTIONS = ("sizes", "policy", "rows", "breaks")


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
