"""
The chapters: one page per module
=================================

Of the law, each chapter stands before those that rest on it; the modules of the road and of the court follow in the
same way.
"""

from __future__ import annotations

import ast
from pathlib import Path

from rst import table, title

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("spec", "impl", "verify")


def _modules(layer: str) -> dict[str, ast.Module]:
    """The syntax trees of a layer's modules by dotted name below soundline; rule libraries have a page of their own."""
    found = {}
    for path in sorted((ROOT / layer).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[:2] != ("impl", "rules") and path.name != "__init__.py":
            found[".".join(parts)] = ast.parse(path.read_text())
    return found


def _rests_on(tree: ast.Module) -> set[str]:
    """The modules below soundline that a module imports at its top."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("soundline."):
            base = str(node.module).removeprefix("soundline.")
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found


def order(layer: str) -> list[str]:
    """The modules of a layer so that each stands after those it rests on."""
    trees = _modules(layer)
    done: list[str] = []
    visiting: set[str] = set()

    def visit(name: str) -> None:
        if name in trees and name not in visiting:
            visiting.add(name)
            for other in sorted(_rests_on(trees[name]) - {name}):
                visit(other)
            done.append(name)

    for name in sorted(trees):
        visit(name)
    return done


def pages() -> dict[str, str]:
    """The text of every module's page, by file name."""
    found = {}
    for layer in LAYERS:
        trees = _modules(layer)
        for name in order(layer):
            orphan = ":orphan:\n\n" if layer != "spec" else ""
            body = f"{orphan}.. automodule:: soundline.{name}\n   :members:\n   :ignore-module-all:\n"
            found[name] = (
                body if _has_title(trees[name]) else f"{orphan}{title(name)}\n{body.removeprefix(orphan)}"
            )
    return found


def _has_title(tree: ast.Module) -> bool:
    """Whether the prose of a module begins with a title of its own."""
    lines = (ast.get_docstring(tree) or "").splitlines()
    return len(lines) > 1 and set(lines[1]) == {"="}


def index(layer: str) -> str:
    """The modules of a layer in reading order, each with the title of its prose."""
    trees = _modules(layer)
    rows = []
    for number, name in enumerate(order(layer), 1):
        heading = (ast.get_docstring(trees[name]) or name).splitlines()[0]
        path = f"{name.replace('.', '/')}.py"
        rows.append((str(number), f":doc:`{heading} <chapters/{name}>`", f":source:`{path}`"))
    if layer != "spec":  # a search away, but not in the navigation of every page
        return table(("", "chapter", "module"), rows, widths=(6, 54, 40))
    toctree = ".. toctree::\n   :hidden:\n\n" + "".join(f"   chapters/{name}\n" for name in order(layer))
    return f"{table(('', 'chapter', 'module'), rows, widths=(6, 54, 40))}\n{toctree}"
