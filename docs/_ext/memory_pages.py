"""The memories: what each is for, who owns a shard, and which timelines allocate, read, write and touch it."""

from __future__ import annotations

from collections.abc import Iterable

import generated_cuda
import shown_programs
from generated_cuda import Beside
from rst import code, fields, label, table, title
from spork_pages import rich

from soundline.spec.spork.language.nodes import Node, Ref
from soundline.spec.spork.language.statements import Alloc, WindowOf
from soundline.spec.spork.library import memories as law
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.synchronization.timelines import InstrTl
from soundline.verify.cli.spork import documented


def memories() -> str:
    """Every memory of the table, then the types of barriers."""
    said = documented(law)
    parts = []
    for name, made in law.STANDARD.items():
        (one,) = law.examples([made])  # type: ignore[list-item]
        parts.append(
            "\n".join(
                (
                    label(f"memory-{name.lower().replace('_', '-')}"),
                    title(name, "-"),
                    f"{rich(said[name])}\n",
                    fields(_facts(one)),
                    "In CUDA:\n",
                    generated_cuda.shown(in_cuda(name)),
                )
            )
        )
    return "\n".join(parts)


def in_cuda(name: str) -> Beside:
    """Data in a memory of this name, declared in one of the programs, beside what it becomes."""

    def holds(node: Node) -> bool:
        lies = node.memory if isinstance(node, Alloc | WindowOf) else None
        return isinstance(lies, Ref) and isinstance(lies.value, Memory) and _is_called(lies.value, name)

    return shown_programs.shown(holds)


def _is_called(memory: Memory, name: str) -> bool:
    """Whether a memory is the one of this name; two of them take parameters."""
    made = law.STANDARD[name]
    return memory == made if isinstance(made, Memory) else memory.name.startswith(f"{name}(")


def summary() -> str:
    """Every memory in a row."""
    rows = []
    for name, made in law.STANDARD.items():
        (one,) = law.examples([made])  # type: ignore[list-item]
        owner = code(str(one.native)) if one.native else "not shared out"
        rows.append(
            (f":ref:`memory-{name.lower().replace('_', '-')}`", law.SPACES[one.space], owner, code(one.usage))
        )
    return table(("memory", "lies in", "native unit", "usage-tl"), rows, widths=(26, 30, 24, 20))


def _facts(one: Memory) -> list[tuple[str, str]]:
    scalars = "scalars and arrays" if one.scalars else "arrays only"
    sizes = ", of constant sizes" if one.constant else ""
    return [
        ("lies in", law.SPACES[one.space]),
        (
            "a shard is owned by",
            code(str(one.native)) if one.native else "none: it is not divided into shards",
        ),
        ("usage-tl of an access", code(one.usage)),
        ("allocated on", "nowhere: windows are of it" if one.window else code(one.allocated)),
        ("read directly on", _timelines(one.reads)),
        ("written directly on", _timelines(one.writes)),
        ("touched by instructions of", _timelines(one.instructions)),
        ("holds", scalars + sizes + _shape(one)),
        *([("begins at multiples of", _alignment(one))] if one.space == "shared" else []),
        (
            "an access by a collective is",
            "a single access of all its threads" if one.convergent else "an access by each of its threads",
        ),
    ]


def _alignment(one: Memory) -> str:
    """Where its arrays begin."""
    return f"{one.alignment} bytes" if one.row_bytes is None else "8 rows, the bytes of 8 times the swizzle"


def _shape(one: Memory) -> str:
    """What is asked of the last sizes."""
    found = ""
    if one.tiles:
        tiles = " or ".join(
            "(" + ", ".join("any" if s is None else str(s) for s in t) + ")" for t in one.tiles
        )
        found += f"; the last sizes are {tiles}"
    if one.row_bytes is not None:
        found += "; a row has as many bytes as the swizzle"
    if one.box:
        found += "; as many dimensions as its box"
    return found


def _timelines(found: Iterable[InstrTl]) -> str:
    ordered = [t for t in InstrTl if t in set(found)]
    return ", ".join(code(t) for t in ordered) or "none"
