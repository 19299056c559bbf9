"""
The report for people
=====================

What is wrong comes first, each finding with its evidence; then one table of all rules; then one line. Nothing is cut:
what does not fit a line is folded, and a test stands at the margin, ready to be pasted.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from soundline.verify.problems import Problem, visible
from soundline.verify.report import Report
from soundline.verify.verdicts import LayerResult, RuleReport

STYLES = {"proved": "green", "refuted": "bold red", "unknown": "yellow", "vacuous": "magenta"}
MARKS = {"proved": "✓", "refuted": "✗", "unknown": "?", "vacuous": "∅"}
PLAIN_MARKS = {"proved": "+", "refuted": "x", "unknown": "?", "vacuous": "0"}
WIDTH = 110
"""The width of a report that goes to a file."""


def render(report: Report) -> str:
    """The report as plain text."""
    text = io.StringIO()
    show(report, Console(file=text, width=WIDTH, color_system=None, highlight=False))
    return text.getvalue()


def show(report: Report, console: Console, *, table: bool = True) -> None:
    """Print the report; without the table, only what a reader must act on and the last line."""
    for problem in report.problems:
        _show_problem(problem, console)
    for rule in report.rules:
        if rule.verdict != "proved":
            _show_finding(rule, console)
    if table and report.rules:
        _show_table(_table(report.rules, console), console)
    elif report.exit_code:
        console.print()
    console.print(Text(last_line(report), style="bold"), soft_wrap=True)


def last_line(report: Report) -> str:
    """The whole campaign in one line."""
    counts = ", ".join(f"{report.count(v)} {v}" for v in ("proved", "refuted", "unknown", "vacuous"))
    line = f"{counts} in {report.seconds:.1f} s ({report.cached} from cache)"
    if report.problems:
        line += f"; {counted(len(report.problems), 'error')} in the input"
    return f"interrupted: {line}" if report.interrupted else line


def counted(number: int, noun: str) -> str:
    """``1 rule``, ``2 rules``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def mark(verdict: str, console: Console) -> Text:
    """The sign and the word of a verdict, in its colour."""
    signs = PLAIN_MARKS if console.options.ascii_only else MARKS
    return Text(f"{signs[verdict]} {verdict:<8}", style=STYLES[verdict])


# findings ---------------------------------------------------------------------------------------------------------


def _show_problem(problem: Problem, console: Console) -> None:
    console.print()
    named = f" ({visible(problem.rule)})" if problem.rule and problem.rule not in problem.message else ""
    place = visible(problem.place)
    console.print(Text.assemble(("error", "bold red"), "  ", (place, "bold"), named), soft_wrap=True)
    _indented(problem.message, console)
    if problem.hint:
        _indented(f"hint: {problem.hint}", console, style="dim")


def _show_finding(rule: RuleReport, console: Console) -> None:
    console.print()
    head = Text.assemble(mark(rule.verdict, console), " ", (visible(rule.id), "bold"), "  ")
    console.print(head.append(visible(f"{rule.file}:{rule.line}"), style="dim"), soft_wrap=True)
    for line in (rule.statement, *explanation(rule)):
        _indented(line, console)
    if rule.counterexample is not None and rule.counterexample.test:
        console.print()
        console.print(Text(visible(rule.counterexample.test.strip("\n")), style="dim"), soft_wrap=True)


def _indented(line: str, console: Console, *, style: str = "") -> None:
    """A line under a heading, folded to the width; what was indented stays so."""
    inner = len(line) - len(line.lstrip())
    pad = " " * (4 + inner)
    for part in Text(visible(line.strip()), style=style).wrap(console, max(20, console.width - len(pad))):
        part.rstrip()
        console.print(Text(pad if part else "").append_text(part), soft_wrap=True)


def explanation(rule: RuleReport) -> list[str]:
    """Why a rule is not proved, line by line, without the test that shows it."""
    lines = []
    found = rule.counterexample
    if found is not None:
        layer = next(x.layer for x in rule.layers if x.counterexample is found)
        chosen = f" ({found.instance})" if found.instance and found.instance not in layer else ""
        lines += ["", f"at {layer}{chosen}"]
        width = max((len(name) for name, _ in found.bindings), default=0)
        lines += [f"  {name:<{width}} = {text}" for name, text in found.bindings]
        lines += [f"  left  → {found.left}", f"  right → {found.right}"]
        lines += [f"  {found.note}"] if found.note else []
    rest = [x for x in rule.layers if x.verdict != "proved"]
    for (verdict, detail), layers in _grouped(rest, lambda x: (x.verdict, x.detail)):
        if detail or len(layers) > 1 or layers[0].counterexample is not found or found is None:
            lines += [
                "",
                f"{verdict} at {in_families(x.layer for x in layers)}{f': {detail}' if detail else ''}",
            ]
    proved = [x for x in rule.layers if x.verdict == "proved"]
    return lines + ([f"proved at {in_families(x.layer for x in proved)}"] if proved else [])


def _grouped(
    layers: Iterable[LayerResult], key: Callable[[LayerResult], tuple[str, str]]
) -> Iterable[tuple[tuple[str, str], list[LayerResult]]]:
    """Layers with the same key together, in the order in which the keys first appear."""
    groups: dict[tuple[str, str], list[LayerResult]] = {}
    for layer in layers:
        groups.setdefault(key(layer), []).append(layer)
    return groups.items()


def in_families(layers: Iterable[str]) -> str:
    """The names of layers in a few words: ``unbounded, bit-precise int8 … uint64 (8)``."""
    words = []
    for family, members in groupby(layers, key=_family):
        names = [m.removeprefix(family).strip() for m in members]
        if len(names) > 3:
            words.append(f"{family} {names[0]} … {names[-1]} ({len(names)})")
        else:
            words.append(f"{family} {', '.join(names)}".strip())
    return ", ".join(words)


def _family(layer: str) -> str:
    return next((f for f in ("bit-precise", "IEEE") if layer.startswith(f"{f} ")), layer)


# the table --------------------------------------------------------------------------------------------------------


def _show_table(table: Table, console: Console) -> None:
    """Print the table; outside a terminal without the blanks that fill its last column."""
    if console.is_terminal:
        console.print(table)
        return
    text = io.StringIO()
    Console(file=text, width=console.width, color_system=None, highlight=False).print(table)
    for line in text.getvalue().splitlines():
        console.print(Text(line.rstrip()), soft_wrap=True)


def _table(rules: Sequence[RuleReport], console: Console) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, highlight=False, header_style="bold")
    table.add_column("rule", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("layers", overflow="fold")
    table.add_column("covered", overflow="fold", style="dim")
    several = len({r.file for r in rules}) > 1
    for file, members in groupby(rules, key=lambda r: r.file):
        if several:
            table.add_row(Text(visible(file), style="dim italic"), "", "", "")
        for rule in members:
            name = Text(("  " if several else "") + visible(rule.id))
            table.add_row(name, mark(rule.verdict, console), _layers(rule), Text(visible(covered(rule))))
    return table


def _layers(rule: RuleReport) -> Text:
    """The layers of a rule; those that are not proved stand out."""
    parts = []
    for (verdict, _), layers in _grouped(rule.layers, lambda x: (x.verdict, "")):
        words = in_families(x.layer for x in layers)
        shown = words if verdict == "proved" else f"{verdict}: {words}"
        parts.append(Text(visible(shown), style=STYLES[verdict] if verdict != "proved" else ""))
    return Text("\n").join(parts)


def covered(rule: RuleReport) -> str:
    """What the layers cover, each sentence once."""
    said = [(x.covered, x) for x in rule.layers if x.covered]
    if len({text for text, _ in said}) <= 1:
        return said[0][0] if said else ""
    groups = _grouped([x for _, x in said], lambda x: (x.covered, ""))
    return "\n".join(f"{in_families(x.layer for x in layers)}: {text}" for (text, _), layers in groups)
