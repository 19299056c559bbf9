"""
The report of the engine
========================

What became of every rewrite that the engine made: as data, as text for people, as JSON, and as the report of rules that
the formats for machines are made from. A rewrite that was only evaluated is never called proved.
"""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from soundline.impl.rewriting.engine import FOLDING
from soundline.spec.rules.language import Rule
from soundline.spec.rules.procedures import Procedure
from soundline.verify.engine.campaign import Run
from soundline.verify.engine.corpus import has_onnx
from soundline.verify.engine.watching import Finding, Seen, Tally
from soundline.verify.reports.report import ALL_GOOD, FINDINGS, INTERRUPTED, ONLY_UNKNOWN, Report
from soundline.verify.reports.text import WIDTH, mark
from soundline.verify.verdicts.verdict import Counterexample, LayerResult, RuleReport, Verdict

SCHEMA = 1


def exit_code(run: Run) -> int:
    """How the run went, as a process says it: undecided are the rewrites that were neither proved nor evaluated."""
    if run.interrupted:
        return INTERRUPTED
    whole = run.whole
    if whole.findings or any(t.wrong for t in whole.tallies.values()):
        return FINDINGS
    return ONLY_UNKNOWN if any(t.undecided for t in whole.tallies.values()) else ALL_GOOD


def never_fired(run: Run) -> list[Rule | Procedure]:
    """The rules and procedures that were not applied once."""
    tallies = run.whole.tallies
    return [s for s in run.steps if s.id not in tallies]


# JSON -------------------------------------------------------------------------------------------------------------


def as_json(run: Run) -> dict[str, Any]:
    """The run as data."""
    whole, settings = run.whole, run.settings
    procedures = {s.id for s in run.steps if isinstance(s, Procedure)}
    return {
        "schema": SCHEMA,
        "engine": {
            "seed": settings.seed,
            "random graphs": settings.graphs,
            "onnx installed": has_onnx(),
            "sources": {name: _source(seen) for name, seen in run.seen.items()},
            "steps": {
                name: {"kind": _kind(name, procedures), **_tally(t)}
                for name, t in sorted(whole.tallies.items())
            },
            "never fired": [s.id for s in never_fired(run)],
            "findings": [_finding(f) for f in whole.findings],
        },
        "summary": {
            **_source(whole),
            **{name: getattr(_total(whole), name) for name in ("proved", "evaluated", "undecided", "wrong")},
            "obligations": whole.obligations,
            "views": whole.views,
            "findings": len(whole.findings),
            "interrupted": run.interrupted,
            "jobs": settings.jobs,
            "seconds": round(run.seconds, 1),
            "exit_code": exit_code(run),
        },
    }


def _kind(name: str, procedures: set[str]) -> str:
    return (
        "constants"
        if name == FOLDING.id
        else "procedure, checked at each application"
        if name in procedures
        else "rule"
    )


def _source(seen: Seen) -> dict[str, Any]:
    return {
        "graphs": seen.graphs,
        "rewritten": seen.rewritten,
        "rewrites": seen.rewrites,
        "compared whole": seen.compared,
        "inputs": seen.inputs,
    }


def _total(seen: Seen) -> Tally:
    total = Tally()
    for tally in seen.tallies.values():
        total.add(tally)
    return total


def _tally(tally: Tally) -> dict[str, Any]:
    names = ("fired", "proved", "evaluated", "undecided", "wrong", "inputs")
    return {**{name: getattr(tally, name) for name in names}, "reasons": dict(sorted(tally.reasons.items()))}


def _finding(found: Finding) -> dict[str, Any]:
    names = (
        "step",
        "kind",
        "where",
        "statement",
        "graph",
        "message",
        "before",
        "after",
        "left",
        "right",
        "test",
    )
    return {**{name: getattr(found, name) for name in names}, "bindings": dict(found.bindings)}


# As rules ---------------------------------------------------------------------------------------------------------


def as_report(run: Run) -> Report:
    """Each step that fired as a rule with one layer, its applications."""
    whole = run.whole
    by_id = {s.id: s for s in run.steps}
    rules = [
        _as_rule(name, tally, by_id.get(name), whole.findings)
        for name, tally in sorted(whole.tallies.items())
    ]
    blamed = {f.step for f in whole.findings if f.step not in whole.tallies}
    rules += [_as_rule(name, Tally(), None, whole.findings) for name in sorted(blamed)]
    return Report(tuple(rules), (), run.seconds, run.interrupted)


def _as_rule(name: str, tally: Tally, step: Rule | Procedure | None, findings: list[Finding]) -> RuleReport:
    found = next((f for f in findings if f.step == name), None)
    verdict: Verdict = "refuted" if tally.wrong or found else "unknown" if tally.undecided else "proved"
    layer = LayerResult("applications", verdict, told(tally), _counterexample(found), _why(tally))
    file, line = (step.file, step.line) if step is not None else ("impl/rewriting/engine.py", 1)
    statement = str(step) if isinstance(step, Rule) else step.doc if step is not None else name
    return RuleReport(name, file, line, statement, (layer,))


def _counterexample(found: Finding | None) -> Counterexample | None:
    if found is None:
        return None
    note = f"first seen in {found.graph}"
    return Counterexample("", found.bindings, found.left, found.right, found.test, note)


def _why(tally: Tally) -> str:
    return "; ".join(f"{n} times: {reason}" for reason, n in sorted(tally.reasons.items()))


def told(tally: Tally) -> str:
    """What became of the uses of a step, in words."""
    parts = [f"{tally.proved:,} of {tally.fired:,} proved"]
    if tally.evaluated:
        parts.append(f"{tally.evaluated:,} evaluated on {tally.inputs:,} inputs")
    parts += [f"{getattr(tally, n):,} {n}" for n in ("undecided", "wrong") if getattr(tally, n)]
    return ", ".join(parts)


# Text -------------------------------------------------------------------------------------------------------------


def render(run: Run) -> str:
    """The report as plain text."""
    text = io.StringIO()
    show(run, Console(file=text, width=WIDTH, color_system=None, highlight=False))
    return text.getvalue()


def show(run: Run, console: Console, *, table: bool = True) -> None:
    """Print the report: what is wrong first, then what was applied and how it was judged, then one line."""
    for found in run.whole.findings:
        _show_finding(found, console)
    if table:
        console.print(_steps(run))
        console.print(_sources(run))
        silent = never_fired(run)
        if silent:
            names = ", ".join(s.id for s in silent)
            console.print(Text(f"never fired ({len(silent)} of {len(run.steps)}): {names}\n"))
    console.print(Text(last_line(run), style="bold"), soft_wrap=True)


def _show_finding(found: Finding, console: Console) -> None:
    kind = "" if found.kind == "rule" else f" ({found.kind})"
    head = Text.assemble(
        mark("refuted", console), " ", (found.step + kind, "bold"), "  ", (found.where, "dim")
    )
    console.print(head, soft_wrap=True)
    lines = [found.statement, f"{found.message}, first seen in {found.graph}", "", "before:"]
    lines += [f"  {line}" for line in found.before.splitlines()]
    lines += ["after:", *(f"  {line}" for line in found.after.splitlines())] if found.after else []
    lines += [f"{name} = {text}" for name, text in found.bindings]
    lines += [f"before → {found.left}", f"after  → {found.right}"] if found.left else []
    for line in lines:
        console.print(Text(f"    {line}" if line else ""), soft_wrap=True)
    if found.test:
        console.print(Text(f"\n{found.test}", style="dim"), soft_wrap=True)
    console.print()


def _steps(run: Run) -> Table:
    procedures = {s.id for s in run.steps if isinstance(s, Procedure)}
    found = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    found.add_column("rule", overflow="fold")
    for heading in ("applied", "proved", "evaluated", "undecided", "wrong"):
        found.add_column(heading, justify="right")
    found.add_column("", overflow="fold")
    for name, t in sorted(run.whole.tallies.items()):
        cells = (str(n) if n else "" for n in (t.proved, t.evaluated, t.undecided, t.wrong))
        note = "procedure, checked at each application" if name in procedures else ""
        note = f"evaluated on {t.inputs:,} inputs" if t.evaluated else note
        found.add_row(*map(Text, (name, f"{t.fired:,}", *cells, note)))
    return found


def _sources(run: Run) -> Table:
    found = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    found.add_column("corpus")
    for heading in ("graphs", "rewritten", "rewrites", "compared whole", "on inputs"):
        found.add_column(heading, justify="right")
    for name, seen in run.seen.items():
        numbers = (seen.graphs, seen.rewritten, seen.rewrites, seen.compared, seen.inputs)
        found.add_row(name, *(f"{n:,}" for n in numbers))
    return found


def last_line(run: Run) -> str:
    """The run in one line."""
    whole = run.whole
    total = _total(whole)
    line = (
        f"engine: {whole.rewrites:,} rewrites in {whole.graphs:,} graphs: {told(total)}; "
        f"{whole.compared:,} graphs evaluated before and after; {len(whole.findings)} findings in {run.seconds:.1f} s"
    )
    return f"interrupted: {line}" if run.interrupted else line
