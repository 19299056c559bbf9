"""Collective units, tilings and distributed memory: the standard units, and the ids of the conditions."""

from __future__ import annotations

from types import ModuleType

from rst import code, prose, table, title

from soundline.spec import collective_units, distributed_memory, thread_domains, tilings, warp_configs

CHAPTERS: dict[str, ModuleType] = {
    "Collective units": collective_units,
    "Domains": thread_domains,
    "Loops, warps and matching": tilings,
    "Device functions and named warps": warp_configs,
    "Distributed memory": distributed_memory,
}


def constraints() -> dict[str, tuple[str, str]]:
    """Every id, with what it belongs to and its text."""
    return {
        i: (name.lower(), text) for name, module in CHAPTERS.items() for i, text in module.CONSTRAINTS.items()
    }


def units() -> str:
    """The standard units: domain, box, and whether N times the unit exists."""
    rows = [
        (
            code(name),
            code(_extents(unit.domain)),
            code(_extents(unit.box)),
            "no" if unit.scaled is None else "yes",
        )
        for name, unit in collective_units.STANDARD.items()
    ]
    return table(("unit", "domain", "box", "N * unit"), rows, widths=(30, 30, 25, 15))


def _extents(sizes: tuple[collective_units.Extent | None, ...]) -> str:
    return "(" + ", ".join("any" if s is None else str(s) for s in sizes) + ")"


def conditions() -> str:
    """What is refused, chapter by chapter."""
    parts = []
    for name, module in CHAPTERS.items():
        rows = [(f":anchor:`{i}`", prose(text)) for i, text in module.CONSTRAINTS.items()]
        parts += [title(name, "-"), table(("id", "what must hold"), rows, widths=(26, 74))]
    return "\n".join(parts)
