"""The chapters of the law: one page per module of `spec/`, each before those that rest on it."""

from __future__ import annotations

import ast
from pathlib import Path

from rst import table

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "soundline.spec"


def _modules() -> dict[str, ast.Module]:
    paths = sorted((ROOT / "spec").glob("[!_]*.py"))
    return {path.stem: ast.parse(path.read_text()) for path in paths}


def _rests_on(tree: ast.Module) -> set[str]:
    """The modules of the law that a module imports at its top."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}."):
            found.add(str(node.module).removeprefix(f"{PACKAGE}."))
    return found


def order() -> list[str]:
    """The modules so that each stands after those it rests on."""
    trees = _modules()
    done: list[str] = []

    def visit(name: str) -> None:
        if name in trees and name not in done:
            for other in sorted(_rests_on(trees[name]) - {name}):
                visit(other)
            done.append(name)

    for name in sorted(trees):
        visit(name)
    return done


def pages() -> dict[str, str]:
    """The text of every chapter's page, by file name."""
    return {
        name: f".. automodule:: {PACKAGE}.{name}\n   :members:\n   :ignore-module-all:\n" for name in order()
    }


def index() -> str:
    """The chapters in reading order, each with the first sentence of its prose."""
    trees = _modules()
    rows = []
    for number, name in enumerate(order(), 1):
        prose = (ast.get_docstring(trees[name]) or "").split("\n\n")
        title = prose[0].splitlines()[0]
        rows.append((str(number), f":doc:`{title} <chapters/{name}>`", f":source:`spec/{name}.py`"))
    toctree = ".. toctree::\n   :hidden:\n\n" + "".join(f"   chapters/{name}\n" for name in order())
    return f"{table(('', 'chapter', 'module'), rows, widths=(6, 60, 34))}\n{toctree}"
