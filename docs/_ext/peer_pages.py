"""The comparison with peers, from the result that `make bench-peers` wrote."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

from measurement_pages import RESULTS
from rst import code, table

OURS = ("soundline fast", "soundline exact")


def peers() -> str:
    """What is wanted and what is reached, and then what every candidate takes."""
    path = RESULTS / "peers.json"
    if not path.exists():
        return "No result is committed; ``make bench-peers`` makes one.\n"
    result = json.loads(path.read_text(encoding="utf-8"))
    machine, rows = result["machine"], list(result["rows"].values())
    loads = [load for row in rows for load in row["load"]]
    taken = (
        f"Taken on {_processors(rows, machine)}, {machine['cores']} cores, Python {machine['python']}, "
        f"{', '.join(f'{p} {v}' for p, v in result['versions'].items())}; load {min(loads)} to {max(loads)}. "
        f"Peers that were not installed: {', '.join(result['absent']) or 'none'}.\n"
    )
    judged = table(
        ("work", "threads", "soundline", "beside", "ratio", "wanted", ""),
        _judged(rows),
        widths=(30, 8, 18, 18, 8, 8, 10),
    )
    timed = table(
        ("work", "threads", "by whom", "ms", "per second", "times as fast as numpy or torch"),
        _timed(rows),
        widths=(28, 8, 20, 12, 16, 16),
    )
    return "\n".join([taken, judged, ".. rubric:: Every candidate\n", timed])


def _processors(rows: list[dict[str, Any]], machine: dict[str, Any]) -> str:
    """The processors on which rows were taken; where there are several, with the rows of all but the first."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row.get("processor", machine["processor"]), []).append(row["row"])
    first, *others = sorted(found, key=lambda p: -len(found[p]))
    return " and ".join([first, *(f"{p} ({', '.join(dict.fromkeys(found[p]))})" for p in others)])


def _judged(rows: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """A line for each ratio that is wanted."""
    return [
        (
            row["title"],
            str(row.get("threads", "")),
            target["candidate"],
            target["peer"] or "—",
            "—" if target["ratio"] is None else f"{target['ratio']:.3g}",
            f"≥ {target['least']:g}" if "least" in target else f"≤ {target['most']:g}",
            verdict(target),
        )
        for row in rows
        for target in row["targets"]
    ]


def verdict(target: dict[str, Any]) -> str:
    """Whether a ratio is what is wanted."""
    ratio = target["ratio"]
    if ratio is None:
        return "not measured"
    met = ratio >= target["least"] if "least" in target else ratio <= target["most"]
    return "met" if met else "**missed**"


def _timed(rows: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """A line for each candidate: the median that is compared, and the work in a second."""
    lines = []
    for row in rows:
        found = {c: compared(row, f) for c, f in row.get("candidates", {}).items()}
        base = found.get("numpy", found.get("torch"))
        for c in sorted(found, key=lambda c: found[c]):
            name = f"**{c}**" if c in OURS else c
            beside = "—" if base is None else f"{base / found[c]:.2f}"
            rate = f"{row['work'] / found[c]:.3g} {row['unit']}"
            lines.append((row["title"], str(row["threads"]), name, f"{found[c] * 1e3:.4g}", rate, beside))
        for c, why in row.get("absent", {}).items():
            lines.append((row["title"], str(row["threads"]), c, "—", code(why[:80]), "—"))
    return lines


def compared(row: dict[str, Any], figures: dict[str, Any]) -> float:
    """The median of processor time with one thread, of time by the clock with more."""
    return float(median(figures["cpu" if row["threads"] == 1 else "wall"]))
