"""The findings, computed: each runs the source's version and the law's, and shows both results."""

from __future__ import annotations

from rst import code, escape, law, prose, table

from soundline.spec.decisions.table import DECISIONS
from soundline.verify.findings.tensors import FINDINGS, Shown, show


def shown_under(decision_id: str) -> list[str]:
    """The counterexamples to show under a decision, as reStructuredText."""
    return [_shown(show(finding)) for finding in FINDINGS if finding.decision == decision_id]


def _shown(shown: Shown) -> str:
    rows = [
        ("on", code(shown.inputs)),
        ("the source's version gives", code(shown.by_the_source)),
        ("the law gives", code(shown.by_the_law)),
    ]
    header = (escape(shown.title), "computed when these pages were built")
    return table(header, rows, widths=(35, 65), css="finding")


def findings() -> str:
    """All findings in one table: what the source says, and where it fails."""
    rows = [(law(d.id), prose(d.source), prose(d.title)) for d in DECISIONS.values() if d.source]
    return table(("id", "as the source is written", "instead"), rows, widths=(10, 55, 35))
