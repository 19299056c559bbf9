"""The chapter on intervals: each row of min_max, how it is held, and what became of the source's row.

How the obligations stood is read from the report that ``soundline verify --law`` wrote; a test holds that it is about
the rows that there are. Counterexamples are computed here and now.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from rst import code, escape, prose, table, title

from soundline.spec.ops.table import TABLE, Op
from soundline.verify.law import source_rows
from soundline.verify.law.replays import interval
from soundline.verify.law.schema import KINDS
from soundline.verify.reports.law import THE_SOURCE

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "benchmarks" / "results" / "law.json"


@cache
def _judged() -> dict[str, list[dict[str, Any]]]:
    """The obligations of the report by subject."""
    found: dict[str, list[dict[str, Any]]] = {}
    for obligation in json.loads(REPORT.read_text(encoding="utf-8"))["law"]["obligations"]:
        found.setdefault(obligation["subject"], []).append(obligation)
    return found


def summary() -> str:
    """How many obligations stand in which way."""
    counts = Counter(o["kind"] for group in _judged().values() for o in group)
    rows = [(kind, str(counts[kind]), MEANING[kind]) for kind in KINDS]
    return table(("", "obligations", "means"), rows, widths=(15, 15, 70))


MEANING = {
    "proved": "proved by the solver for all cases",
    "exhaustive": "tested on all cases",
    "inclusion": "values are only moved, or the interval is the range of the dtype; tested on programs",
    "sampled": "tested at chosen intervals and values; this is no proof",
    "shown": "the expected difference was computed",
    "refuted": "wrong, with a counterexample",
    "unknown": "undecided",
}


def rows() -> str:
    """One row for each op that has a value."""
    found = []
    for op in TABLE:
        group = _judged().get(f"min_max {op.name}")
        if group:
            own = [o for o in group if o["name"] != THE_SOURCE]
            found.append(
                (_link(op), prose(TABLE[op].laws["min_max"]), _how(own), _tight(own), _source(op, group))
            )
    header = ("op", "the row", "held by", "interval", "the source's row")
    return table(header, found, widths=(10, 25, 30, 12, 23))


def _link(op: Op) -> str:
    return f":ref:`{TABLE[op].title} <op-{TABLE[op].slug}>`"


def _how(group: list[dict[str, Any]]) -> str:
    """What was proved, tried on everything, and sampled."""
    parts = []
    for kind in KINDS:
        names = [o["name"] for o in group if o["kind"] == kind]
        if names:
            parts.append(f"*{kind}*: {escape('; '.join(names))}")
    return "\n\n".join(parts)


def _tight(group: list[dict[str, Any]]) -> str:
    told = {o["tightness"] for o in group} - {""}
    return "" if not told else "sound only" if "sound only" in told else "optimal"


def _source(op: Op, group: list[dict[str, Any]]) -> str:
    stated = next((o for o in group if o["name"] == THE_SOURCE), None)
    if stated is None:
        return ""
    verdict = "unsound" if stated["kind"] == "shown" else "sound"
    return f"{code(source_rows.text_of(op))}: {verdict}"


def witnesses() -> str:
    """For each row that is not optimal, the simplest operands where it is wider than its values."""
    found = []
    for op in TABLE:
        group = _judged().get(f"min_max {op.name}", [])
        witness = next((o["witness"] for o in group if o["witness"]), "")
        if witness:
            found.append((_link(op), code(witness)))
    return table(("op", "an example where the interval is wider than the values"), found, widths=(15, 85))


def refuted() -> str:
    """The rows of the source that are unsound, each with a value that escapes, computed now."""
    found = []
    for op in TABLE:
        stated = next((o for o in _judged().get(f"min_max {op.name}", []) if o["name"] == THE_SOURCE), None)
        if stated is not None and stated["kind"] == "shown":
            found += [(_link(op), code(source_rows.text_of(op)), *_escape(e)) for e in _escapes(op)]
    header = ("op", "as the source states it", "on", "the source gives", "the law gives")
    return table(header, found, widths=(10, 20, 30, 20, 20), css="finding")


def _escapes(op: Op) -> list[source_rows.Escape]:
    if op not in source_rows.STATED:
        one = source_rows.of_structure(op)
        return [] if one is None else [one]
    integer, (number, nan) = source_rows.of_integers(op), source_rows.of_floats(op)
    return [e for e in (integer, number, nan) if e is not None]


def _escape(found: source_rows.Escape) -> tuple[str, str, str]:
    return code(found.inputs), code(f"{interval(found.stated)}; {found.told}"), code(found.by_the_law)


def bounds() -> str:
    """The generated part of the chapter."""
    return "\n".join(
        [
            summary(),
            title("Every row", "-"),
            rows(),
            title("Rows of the source that are unsound", "-"),
            refuted(),
            title("Rows that could be tighter", "-"),
            witnesses(),
        ]
    )
