"""Timelines, fences, barriers and hazards: the table of timelines, and the ids of what is refused."""

from __future__ import annotations

from rst import code, prose, table, title

from soundline.spec.barriers import BARRIER_CONSTRAINTS, COUNTER_CONSTRAINTS
from soundline.spec.fences import FENCE_CONSTRAINTS
from soundline.spec.timelines import DEVICE, LEGAL_PAIRS, SYNC_TLS, TIMELINE_CONSTRAINTS, Pair
from soundline.spec.visibility import HAZARDS

CHAPTERS: dict[str, dict[str, str]] = {
    "Timelines": TIMELINE_CONSTRAINTS,
    "Fences": FENCE_CONSTRAINTS,
    "Split barriers": BARRIER_CONSTRAINTS,
    "Counters": COUNTER_CONSTRAINTS,
    "Hazards": HAZARDS,
}


def constraints() -> dict[str, tuple[str, str]]:
    """Every id, with what it belongs to and its text."""
    return {i: (name.lower(), text) for name, ids in CHAPTERS.items() for i, text in ids.items()}


def _pairs(pairs: frozenset[Pair]) -> str:
    if pairs == DEVICE:
        return "all of the device"
    ordered = [p for p in LEGAL_PAIRS if p in pairs]
    return "\n\n".join(f"{code(p.instr)} {code(p.usage)}" for p in ordered) or "none"


def timelines() -> str:
    """The table of sync-tls."""
    rows = [
        (
            code(row.name),
            _pairs(row.full),
            "the same" if row.temporal == row.full else _pairs(row.temporal),
            "yes" if row.transitive else "no",
        )
        for row in SYNC_TLS.values()
    ]
    header = ("sync-tl", "full set", "temporal set", "transitive")
    return table(header, rows, widths=(28, 42, 18, 12))


def conditions() -> str:
    """What is refused, chapter by chapter."""
    parts = []
    for name, ids in CHAPTERS.items():
        rows = [(f":anchor:`{i}`", prose(text)) for i, text in ids.items()]
        parts += [title(name, "-"), table(("id", "what must hold"), rows, widths=(26, 74))]
    return "\n".join(parts)
