"""
The Sphinx extension
====================

Pages are generated from the tables and registries of the code: `generated` splices a computed part into a page,
`law` links to the place where an id is stated, `anchor` states one, `here` is an anchor that is not a label (the error
index repeats ids that the pages of the ops state). An id that is referenced and stated nowhere fails the build, and so
does a registered id that no page states.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import subprocess
import sys
import tempfile
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import chapter_pages
import error_pages
import graph_directive
import inference
import machine_directive
import mathml
import op_pages
import rule_pages
import source_pages
import spork_pages
from docutils import nodes
from docutils.statemachine import StringList
from parts import PARTS
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

logger = logging.getLogger(__name__)


class Generated(SphinxDirective):
    """`.. generated:: NAME` splices in what the named part computes."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse the computed text as if it stood here."""
        name = self.arguments[0]
        text = PARTS[name]()
        lines = StringList(text.splitlines(), source=f"<generated {name}>")
        self.env.note_reread()
        return list(self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True))


class Rules(SphinxDirective):
    """`.. rules:: VERDICT` shows a rule file and the verdict of each rule in it, which the tests hold to."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """The code under a line that says its verdict."""
        verdict = self.arguments[0]
        said = nodes.paragraph("", "", classes=["verdict", verdict])
        said += nodes.Text(f"verdict: {verdict}")
        code = nodes.literal_block("\n".join(self.content), "\n".join(self.content), language="python")
        return [nodes.container("", code, said, classes=["rules"])]


class Example(SphinxDirective):
    """`.. example::` shows a program and what it printed when these pages were built. A failure stops the build."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """The program, then its output."""
        program = "\n".join(self.content)
        self.env.note_reread()
        source, line = self.get_source_info()
        # The rule language reads the source of a rule, so the program is a file with a name.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "example.py"
            path.write_text(program)
            ran = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
        if ran.returncode:
            logger.warning("the example failed:\n%s", ran.stderr, location=(source, line))
        shown = nodes.literal_block(program, program, language="python")
        printed = nodes.literal_block(ran.stdout, ran.stdout, language="text", classes=["printed"])
        return [nodes.container("", shown, printed, classes=["example"])]


class Reductioned(SphinxDirective):
    """`.. reduced:: SUMMARY` shows one line that opens on what stands under it."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """The content between the tags of HTML; other writers show it open."""
        opening = f'<details class="reduced"><summary>{escape(self.arguments[0])}</summary>'
        return [
            nodes.raw("", opening, format="html"),
            *self.parse_content_to_nodes(),
            nodes.raw("", "</details>", format="html"),
        ]


class Law(SphinxRole):
    """A link to an id of the law, shown as the id."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Leave the resolution to the standard domain, which knows every label."""
        target = self.text.lower()
        reference = pending_xref(
            "",
            nodes.literal("", self.text, classes=["law"]),
            refdomain="std",
            reftype="ref",
            reftarget=target,
            refexplicit=True,
            refwarn=True,
            refdoc=self.env.docname,
        )
        return [reference], []


class Anchor(SphinxRole):
    """States an id: a label that other pages reach, shown as a link to itself."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Register the label and show it."""
        identifier = self.text.lower()
        target = nodes.target("", "", ids=[identifier], names=[identifier])
        self.inliner.document.note_explicit_target(target)
        return [target, _self_link(identifier, self.text)], []


class Here(SphinxRole):
    """An HTML anchor only: the label of this id is stated on another page."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Show the id with its anchor, without a label."""
        identifier = self.text.lower()
        return [nodes.target("", "", ids=[identifier]), _self_link(identifier, self.text)], []


class Colored(SphinxRole):
    """Text with a class of the style sheet."""

    def __init__(self, css: str) -> None:
        super().__init__()
        self.css = css

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """An inline of that class."""
        return [nodes.inline("", self.text, classes=[self.css])], []


def _self_link(identifier: str, text: str) -> nodes.reference:
    link = nodes.reference("", "", internal=True, refid=identifier, classes=["law"])
    link += nodes.literal("", text, classes=["law"])
    return link


def write_pages(app: Sphinx) -> None:
    """Judge the shipped rules first, because certificates cite their verdicts; then write the page of every op, module
    and construct of Spork, where its text changed.
    """
    rule_pages.report()
    generated = {"ops": op_pages.pages(), "chapters": chapter_pages.pages(), "spork": spork_pages.pages()}
    for name, pages in generated.items():
        folder = Path(app.srcdir) / name
        folder.mkdir(exist_ok=True)
        for old in folder.glob("*.rst"):
            if old.stem not in pages:
                old.unlink()
        for page, text in pages.items():
            path = folder / f"{page}.rst"
            if not path.exists() or path.read_text() != text:
                path.write_text(text)


class OwnNames(SphinxPostTransform):
    """A name in an annotation is looked up in the module that has the annotation, since classes may share a name."""

    default_priority = 5  # before references are resolved

    def run(self, **kwargs: Any) -> None:
        """Write the full name where it is documented. A name of Python, such as `type`, is no attribute of ours."""
        known = self.env.domains.python_domain.objects
        for reference in list(self.document.findall(pending_xref)):
            target = reference.get("reftarget", "")
            if reference.get("refdomain") == "py" and "." not in target:
                full = f"{_home(reference.get('py:module') or '', target)}.{target}"
                if full in known:
                    reference["reftarget"] = full
                elif hasattr(builtins, target):
                    reference["reftype"] = "obj"
                    reference["refspecific"] = False
                    reference["reftarget"] = f"builtins.{target}"


@cache
def _home(module: str, name: str) -> str:
    """The module that defines a name in an annotation of this one: imported, for type checkers alone, or inherited."""
    found = sys.modules.get(module)
    if found is None or not module.startswith("soundline."):
        return ""
    if hasattr(found, name):
        return str(getattr(getattr(found, name), "__module__", ""))
    for node in ast.walk(ast.parse(inspect.getsource(found))):
        if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
            return _home(node.module or "", name) or (node.module or "")
    inherited = {b.__module__ for c in vars(found).values() if inspect.isclass(c) for b in c.__mro__[1:]}
    return next(filter(None, (_home(m, name) for m in sorted(inherited - {module}))), "")


def plain_docstrings(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Docstrings are written to be read in the code: a bar is the sign of an absolute value, never a substitution, a
    star before a name is Python's, and a cited decision is a link."""
    lines[:] = [re.sub(r"\(([US]-\d\d)\)", r"(:law:`\1`)", line) for line in lines]
    lines[:] = [re.sub(r"(?<![\w*\\`])\*(?=\w+[,)\]])", r"\\*", line) for line in lines]
    lines[:] = [re.sub(r"\|([^|`\s]+(?: [^|`\s]+)*)\|", r"\\|\1\\|", line) for line in lines]


def check_every_id_is_stated(app: Sphinx, env: Any) -> None:
    """A registered id that no page states fails the build."""
    stated = env.domains.standard_domain.anonlabels
    for identifier in op_pages.registered_ids():
        if identifier.lower() not in stated:
            logger.warning("id %s is registered and no page states it", identifier)
    for problem in inference.problems():
        logger.warning("docs/_ext/formal.py: %s", problem)


def check_error_anchors(app: Sphinx, exception: Exception | None) -> None:
    """`error.url` of every error must lead to an anchor of errors.html."""
    if exception is not None or app.builder.name != "html":
        return
    html = (Path(app.outdir) / "errors.html").read_text()
    for identifier in error_pages.anchors():
        if not re.search(rf'id="{re.escape(identifier)}"', html):
            logger.warning("errors.html has no anchor %s, which error.url leads to", identifier)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register everything."""
    app.add_directive("generated", Generated)
    app.add_directive("rules", Rules)
    app.add_directive("example", Example)
    app.add_directive("reduced", Reductioned)
    app.add_role("law", Law())
    app.add_role("anchor", Anchor())
    app.add_role("here", Here())
    for word in ("yes", "no"):
        app.add_role(word, Colored(word))
    for part in (graph_directive, machine_directive, mathml, source_pages):
        part.setup(app)
    app.add_post_transform(OwnNames)
    app.connect("autodoc-process-docstring", plain_docstrings)
    app.connect("builder-inited", write_pages)
    app.connect("env-check-consistency", check_every_id_is_stated)
    app.connect("build-finished", check_error_anchors)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
