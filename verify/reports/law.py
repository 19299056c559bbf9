"""
The report of the law
=====================

What became of the obligations: as data, as text for people, as JSON, and as the report of rules that the formats for
machines are made from. A subject is reported as one rule whose layers are its obligations. What was only tried at
chosen points is no layer: it would look like a proof.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

import soundline.spec
from soundline.verify.files.problems import Problem
from soundline.verify.law.schema import KINDS, MET, Obligation, Outcome
from soundline.verify.reports.report import Report
from soundline.verify.reports.text import WIDTH, explanation, mark
from soundline.verify.verdicts.verdict import Counterexample, LayerResult, RuleReport

NOT_REACHED = "interrupted"
"""The detail of an obligation that was not met because the run was interrupted."""

THE_SOURCE = "the source's row"
"""The name of the obligation that holds the source's row of an op against the law's."""


@dataclass(frozen=True, slots=True)
class Judged:
    """An obligation and its outcome."""

    obligation: Obligation
    outcome: Outcome

    @property
    def reached(self) -> bool:
        """Whether its check ended before the run was interrupted."""
        return self.outcome.detail != NOT_REACHED


@dataclass(frozen=True, slots=True)
class LawReport:
    """All that was found, in the order of the catalogue."""

    judged: tuple[Judged, ...]
    seconds: float
    interrupted: bool = False

    def count(self, kind: str) -> int:
        """How many of the obligations that were reached stand so."""
        return sum(j.outcome.kind == kind and j.reached for j in self.judged)

    @property
    def subjects(self) -> dict[str, list[Judged]]:
        """The obligations by subject."""
        found: dict[str, list[Judged]] = {}
        for j in self.judged:
            found.setdefault(j.obligation.subject, []).append(j)
        return found

    def as_report(self, problems: tuple[Problem, ...] = ()) -> Report:
        """The subjects as a report of rules."""
        rules = tuple(of_subject(group) for group in self.subjects.values())
        return Report(rules, problems, self.seconds, self.interrupted)


def last_line(report: LawReport) -> str:
    """Everything in one line."""
    counts = ", ".join(f"{report.count(kind)} {kind}" for kind in KINDS)
    line = f"law: {len(report.judged)} obligations: {counts} in {report.seconds:.1f} s"
    if not report.interrupted:
        return line
    return f"interrupted: {line}; {sum(not j.reached for j in report.judged)} not reached"


# As rules ---------------------------------------------------------------------------------------------------------


def of_subject(group: Sequence[Judged]) -> RuleReport:
    """The obligations of one subject as the layers of one rule."""
    subject = group[0].obligation.subject
    solid = [j for j in group if j.outcome.kind != "sampled"] or list(group)
    file, line = place(subject)
    return RuleReport(subject, file, line, group[0].obligation.statement, tuple(map(_layer, solid)))


def _layer(judged: Judged) -> LayerResult:
    outcome, name = judged.outcome, judged.obligation.name
    if outcome.kind in MET:
        return LayerResult(name, "proved", f"{outcome.kind}: {outcome.covered}")
    verdict: Any = outcome.kind
    return LayerResult(name, verdict, outcome.covered, outcome.counterexample, outcome.detail)


@cache
def place(subject: str) -> tuple[str, int]:
    """The file and line that a subject is about: of a row, the entry of its op."""
    kind, _, name = subject.partition(" ")
    if kind != "min_max":
        return {
            "finding": "verify/findings/tensors.py",
            "decomposition": "spec/values/decompositions.py",
        }.get(kind, "verify/law/catalogue.py"), 1
    for path in sorted((Path(soundline.spec.__path__[0]) / "ops").glob("*/*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        if f"    Op.{name}," in lines:
            return f"spec/ops/{path.parent.name}/{path.name}", lines.index(f"    Op.{name},") + 1
    raise LookupError(f"no entry of {name}")


# JSON -------------------------------------------------------------------------------------------------------------


def as_json(report: LawReport) -> dict[str, Any]:
    """The obligations as data: `kind` says how each is met. Seconds are those of the whole run."""
    return {
        "obligations": [_obligation(j) for j in report.judged],
        "summary": {
            **{kind: report.count(kind) for kind in KINDS},
            "obligations": len(report.judged),
            "interrupted": report.interrupted,
            "seconds": round(report.seconds, 3),
        },
    }


def _obligation(judged: Judged) -> dict[str, Any]:
    o, outcome = judged.obligation, judged.outcome
    return {
        "subject": o.subject,
        "name": o.name,
        "statement": o.statement,
        "kind": outcome.kind,
        "covered": outcome.covered,
        "tightness": outcome.tightness,
        "witness": outcome.witness,
        "detail": outcome.detail,
        "counterexample": _counterexample(outcome.counterexample),
    }


def _counterexample(found: Counterexample | None) -> dict[str, Any] | None:
    if found is None:
        return None
    names = ("instance", "left", "right", "test", "note")
    return {"bindings": dict(found.bindings), **{name: getattr(found, name) for name in names}}


# Text -------------------------------------------------------------------------------------------------------------


def render(report: LawReport) -> str:
    """The report as plain text."""
    text = io.StringIO()
    show(report, Console(file=text, width=WIDTH, color_system=None, highlight=False))
    return text.getvalue()


def show(report: LawReport, console: Console, *, table: bool = True) -> None:
    """Print the report: what is not met first, then a table of subjects, then one line."""
    for members in report.subjects.values():
        group = [j for j in members if j.reached]
        if group and (rule := of_subject(group)).verdict != "proved":
            console.print()
            console.print(Text.assemble(mark(rule.verdict, console), " ", (rule.id, "bold")), soft_wrap=True)
            for line in (rule.statement, *explanation(rule)):
                console.print(Text(f"    {line}"), soft_wrap=True)
            if rule.counterexample is not None and rule.counterexample.test:
                console.print(Text(f"\n{rule.counterexample.test}", style="dim"), soft_wrap=True)
    if table:
        console.print(_table(report))
    console.print(Text(last_line(report), style="bold"), soft_wrap=True)


def _table(report: LawReport) -> Table:
    found = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("subject", "obligations", "interval", THE_SOURCE):
        found.add_column(heading, overflow="fold")
    for subject, members in report.subjects.items():
        group = [j for j in members if j.reached]
        own = [j for j in group if j.obligation.name != THE_SOURCE]
        if not group:
            continue
        found.add_row(*map(Text, (subject, counted(own), tightness(own), of_the_source(group))))
    return found


def counted(group: Sequence[Judged]) -> str:
    """How many obligations are met in which way."""
    kinds = Counter(j.outcome.kind for j in group)
    return ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS if kinds[kind])


def tightness(group: Sequence[Judged]) -> str:
    """Optimal if every check that could tell says so; empty where none could."""
    found = {j.outcome.tightness for j in group} - {""}
    return "sound only" if "sound only" in found else "optimal" if found else ""


def of_the_source(group: Sequence[Judged]) -> str:
    """The verdict on the source's row, in a word."""
    found = next((j.outcome for j in group if j.obligation.name == THE_SOURCE), None)
    return "" if found is None else "unsound" if found.kind == "shown" else "sound"
