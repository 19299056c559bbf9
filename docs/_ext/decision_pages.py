"""The chapter Errata and decisions, from the table of decisions and the programs that show the findings."""

from __future__ import annotations

import findings_pages
from citations import listed, tests_by_citation
from rst import escape, label, prose, title

from soundline.spec.decisions.table import CHAPTERS, Decision, ops_under
from soundline.spec.ops.table import TABLE
from soundline.spec.rules.licences import LICENCES


def decisions() -> str:
    """Every decision, by chapter."""
    parts = [title("The findings", "-"), findings_pages.findings()]
    for chapter, rows in CHAPTERS.items():
        parts.append(title(escape(chapter), "-"))
        parts += [_decision(d) for d in rows]
    return "\n".join(parts)


def licences() -> str:
    """What each licence permits."""
    return "".join(f"``{name}``\n   {prose(text)}\n\n" for name, text in LICENCES.items())


def _decision(decision: Decision) -> str:
    mark = " — finding" if decision.is_finding else ""
    lines = [label(decision.anchor), title(f"{decision.id} {escape(decision.title)}{mark}", "~")]
    if decision.source:
        lines.append(f"**As the source is written:** {prose(decision.source)}\n")
    lines.append(f"**Law:** {prose(decision.law)}\n")
    lines += findings_pages.shown_under(decision.id)
    lines.append(_fields(decision))
    return "\n".join(lines)


def _fields(decision: Decision) -> str:
    ops = ", ".join(f":ref:`{TABLE[op].title} <op-{TABLE[op].slug}>`" for op in ops_under(decision))
    tests = tests_by_citation().get(decision.id, [])
    fields = f":Ops: {ops}\n" if ops else ""
    return f"{fields}\n{listed(tests, f'of {decision.id}') if tests else 'No test cites this id yet.'}\n"
