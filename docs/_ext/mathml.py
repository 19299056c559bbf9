"""Formulas as MathML, made when the pages are: no script and no network."""

from __future__ import annotations

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

_BRACE = '<mo stretchy="true" fence="true" form="prefix">&#x0007B;</mo><mtable>'


def mathml(formula: str, display: str = "inline") -> str:
    """A formula as MathML.

    Words are identifiers, since beside plain text a sign has no space around it. The brace of cases is a line that the
    style sheet draws, since without a font for formulas a brace does not grow.
    """
    made = convert(formula, display=display)
    return made.replace("mtext>", "mi>").replace(_BRACE, '<mtable class="cases">')


def _inline(writer: HTML5Translator, node: nodes.math) -> None:
    writer.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def _block(writer: HTML5Translator, node: nodes.math_block) -> None:
    made = mathml(node.astext(), "block")
    writer.body.append(f'<div class="math">{made}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the renderer; `html_math_renderer` in conf.py chooses it."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
