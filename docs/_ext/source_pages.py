"""
Source on the site itself
=========================

Every file of the law, the road, the court and the tests becomes a page with an anchor per line, so that links to source
work offline and always show the text that the documentation was built from. `:source:` links to them, and the links of
`linkcode` (`source:PATH#L-LINE`) are made relative.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("spec", "impl", "verify", "src/soundline", "tests", "examples", "benchmarks")


def files() -> list[Path]:
    """The files shown, relative to the root; links inside src/soundline are not followed a second time."""
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    relative = {path.relative_to(ROOT) for path in found}
    return sorted(p for p in relative if p.parts[:1] != ("src",) or len(p.parts) == 3)


class SourceLink(SphinxRole):
    """`:source:`spec/uop.py`` or `:source:`name <spec/uop.py:12>``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """A reference that `resolve` makes relative."""
        text, _, place = self.text.partition(" <")
        place = place.rstrip(">") or text
        path, _, line = place.partition(":")
        if not (ROOT / path).exists():
            message = self.inliner.reporter.warning(f"no such source file: {path}", line=self.lineno)
            return [], [message]
        uri = f"source:{path}" + (f"#L-{line}" if line else "")
        link = nodes.reference("", "", refuri=uri, internal=True)
        link += nodes.literal("", text)
        return [link], []


def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Make `source:` links relative to the page that they stand on."""
    for link in doctree.findall(nodes.reference):
        uri = link.get("refuri", "")
        if uri.startswith("source:"):
            path, _, anchor = uri.removeprefix("source:").partition("#")
            page = app.builder.get_relative_uri(docname, f"source/{path.removesuffix('.py')}")
            link["refuri"] = page + (f"#{anchor}" if anchor else "")


def collect(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """One page per file."""
    formatter = HtmlFormatter(lineanchors="L", linenos="inline", anchorlinenos=True, cssclass="highlight")
    for path in files():
        body = highlight((ROOT / path).read_text(), PythonLexer(), formatter)
        yield f"source/{path.with_suffix('')}", {"title": str(path), "body": body}, "source.html"


def setup(app: Sphinx) -> None:
    """Register the role, the pages and the resolution of links."""
    app.add_role("source", SourceLink())
    app.connect("doctree-resolved", resolve)
    app.connect("html-collect-pages", collect)
