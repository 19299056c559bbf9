"""
The house
=========

The rooms of the project, what imports what, and the drawing of it that CONTRIBUTING shows. Everything is read from
syntax trees, so that imports inside functions and under TYPE_CHECKING count.

``python docs/_ext/house.py`` writes the drawings into CONTRIBUTING.md again.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("spec", "impl", "verify")
PAGE = ROOT / "CONTRIBUTING.md"
_BLOCK = re.compile(r"(<!-- imports of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

Graph = Mapping[str, frozenset[str]]


@cache
def modules() -> dict[str, Path]:
    """Every module of the project by its dotted name below ``soundline``; a package has the name of its folder."""
    found = {}
    for path in sorted(p for layer in LAYERS for p in (ROOT / layer).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(source: str) -> Iterable[str]:
    """The dotted names below ``soundline`` that a source imports, at any depth; a name may be that of an attribute."""
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names = [
                a.value for a in node.args[:1] if isinstance(a, ast.Constant) and isinstance(a.value, str)
            ]
        yield from (name.removeprefix("soundline.") for name in names if name.startswith("soundline."))


@cache
def imports() -> Graph:
    """For every module the modules that it imports."""
    return graph_of({name: path.read_text(encoding="utf-8") for name, path in modules().items()})


def graph_of(sources: Mapping[str, str]) -> Graph:
    """For every source, by the name of its module, which of the others it imports."""
    found = {}
    for name, source in sources.items():
        targets = {
            next((n for n in (t, t.rpartition(".")[0]) if n in sources), None) for t in imported(source)
        }
        found[name] = frozenset(t for t in targets if t is not None and t != name)
    return found


def room_of(module: str) -> str:
    """The room of a module: its folder. What stands at the root of a layer is a room by itself."""
    folder = module.rpartition(".")[0]
    return module if folder in ("", *LAYERS) else folder


def by_room(graph: Graph) -> Graph:
    """For every room the rooms that it imports; the text of a package is told apart from what it holds."""
    found: dict[str, set[str]] = {}
    for module, targets in graph.items():
        if module in rooms():
            continue  # a package gathers its modules
        found.setdefault(room_of(module), set()).update(room_of(t) for t in targets if t not in rooms())
    return {room: frozenset(targets - {room}) for room, targets in found.items()}


@cache
def rooms() -> frozenset[str]:
    """The packages."""
    return frozenset(name for name, path in modules().items() if path.name == "__init__.py")


def cycle(graph: Graph) -> list[str]:
    """Modules of which each imports the next and the last is the first; none where there is no cycle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def doors(room: str) -> frozenset[str]:
    """The doors that the text of a room names."""
    text = ast.get_docstring(ast.parse(modules()[room].read_text(encoding="utf-8"))) or ""
    _, _, named = text.partition("Doors:")
    return frozenset(re.findall(r"`(\w+)`", named))


# The drawing ------------------------------------------------------------------------------------------------------


def _part(module: str, layer: str) -> str | None:
    """The part of a layer that a module belongs to, for a drawing: the first folder, or the module at the root."""
    head, *rest = module.split(".")
    return rest[0] if head == layer and rest else None


def drawn(layer: str) -> Graph:
    """The parts of a layer and what they import, without the arrows that others imply."""
    if layer == "root":
        graph = {
            head: frozenset(
                t.split(".")[0] for m, ts in imports().items() if m.split(".")[0] == head for t in ts
            )
            for head in LAYERS
        }
    else:
        found: dict[str, set[str]] = {}
        for module, targets in imports().items():
            part = _part(module, layer)
            if part is not None and module not in rooms():
                others = {_part(t, layer) for t in targets if t not in rooms()}
                found.setdefault(part, set()).update(p for p in others if p is not None)
        graph = {part: frozenset(targets) for part, targets in found.items()}
    graph = {part: targets - {part} for part, targets in graph.items()}
    return {
        part: frozenset(t for t in targets if not _implied(graph, part, t)) for part, targets in graph.items()
    }


def _implied(graph: Graph, part: str, target: str) -> bool:
    """Whether a longer way leads from a part to one that it imports."""
    stack, seen = [t for t in graph[part] if t != target], set()
    while stack:
        here = stack.pop()
        if here == target:
            return True
        if here not in seen:
            seen.add(here)
            stack += graph.get(here, ())
    return False


def drawing(layer: str) -> str:
    """A drawing as text in Mermaid: an arrow leads from what imports to what is imported."""
    graph = drawn(layer)
    lines = [f"  {part} --> {target}" for part in sorted(graph) for target in sorted(graph[part])]
    met = {word for line in lines for word in line.split(" --> ")}
    alone = [f"  {part}" for part in sorted(graph) if f"  {part}" not in met and part not in met]
    return "\n".join(["```mermaid", "flowchart TD", *lines, *alone, "```"])


def redrawn(page: str) -> str:
    """The page with every drawing made again."""
    return _BLOCK.sub(lambda found: f"{found[1]}{drawing(found[2])}\n{found[3]}", page)


if __name__ == "__main__":
    PAGE.write_text(redrawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
