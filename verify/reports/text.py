"""
The report for people
=====================

What is wrong comes first, each finding with its evidence; then one table of all rules; then one line. Nothing is cut:
long lines are wrapped, and a test begins at the left margin, ready to be pasted.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from soundline.verify.advice.results import Advice
from soundline.verify.advice.text import lines_about, lines_about_order
from soundline.verify.files.problems import Problem, visible
from soundline.verify.reports.cases import INTERRUPTED
from soundline.verify.reports.report import Report
from soundline.verify.verdicts.verdict import Counterexample, LayerResult, RuleReport

STYLES = {"proved": "green", "refuted": "bold red", "unknown": "yellow", "vacuous": "magenta"}
MARKS = {"proved": "✓", "refuted": "✗", "unknown": "?", "vacuous": "∅"}
PLAIN_MARKS = {"proved": "+", "refuted": "x", "unknown": "?", "vacuous": "0"}
WIDTH = 110
"""The width of a report that goes to a file."""
BINDINGS_LIMIT = 36
"""How much of a counterexample the table repeats."""


def render(report: Report) -> str:
    """The report as plain text."""
    text = io.StringIO()
    show(report, Console(file=text, width=WIDTH, color_system=None, highlight=False))
    return text.getvalue()


def show(report: Report, console: Console, *, table: bool = True) -> None:
    """Print the report; without the table, only what a reader must act on and the last line.

    Of an interrupted campaign, what was decided by then.
    """
    for problem in report.problems:
        _show_problem(problem, console)
    rules = [rule for rule in report.rules if not _is_undecided(rule)]
    for rule in rules:
        if rule.verdict != "proved" or rule.bugs:
            _show_finding(rule, console)
    if table and rules:
        _show_table(rules, console)
    elif report.exit_code:
        console.print()
    if report.advice is not None:
        _show_advice(report.advice, console)
    if opinions := opinions_line(report):
        console.print(Text(visible(opinions)), soft_wrap=True)
    console.print(Text(last_line(report), style="bold"), soft_wrap=True)


def _show_advice(advice: Advice, console: Console) -> None:
    """What is advised: rule by rule, then about all of them."""
    told = [(a.id, f"{a.file}:{a.line}", lines_about(a)) for a in advice.rules if not a.is_empty]
    together = [] if advice.order is None else lines_about_order(advice.order)
    console.print(Text("advice", style="bold"))
    for name, place, lines in [*told, *([("all rules", "", together)] if together else [])]:
        head = Text.assemble("  ", (visible(name), "bold"), "  ", (visible(place), "dim"))
        head.rstrip()
        console.print(head, soft_wrap=True)
        for line in lines:
            _indented(line, console)
    if not told and not together:
        _indented("nothing to say", console)
    console.print()


def _is_undecided(rule: RuleReport) -> bool:
    """Whether the campaign was interrupted before it could say anything of the rule."""
    return rule.verdict == "unknown" and any(x.detail == INTERRUPTED for x in rule.layers)


def last_line(report: Report) -> str:
    """The whole campaign in one line."""
    counts = ", ".join(f"{report.count(v)} {v}" for v in ("proved", "refuted", "unknown", "vacuous"))
    line = f"{counts} in {report.seconds:.1f} s ({report.cached} from cache)"
    if report.procedures:
        line += f"; {counted(len(report.procedures), 'procedure')} for --engine"
    if report.bugs:
        line += f"; soundline contradicts itself about {counted(report.bugs, 'rule')}: a bug of ours"
    if report.problems:
        line += f"; {counted(len(report.problems), 'error')} in the input"
    return f"interrupted: {line}" if report.interrupted else line


def opinions_line(report: Report) -> str:
    """The second opinions on all layers, in one line; empty where none were requested."""
    if not report.opinions:
        return ""
    layers = sum(bool(x.opinions) for r in report.rules for x in r.layers)
    parts = [f"{by} agrees on {said['agrees']}" for by, said in report.opinions.items()]
    against = sum(said["contradicts"] for said in report.opinions.values())
    return f"second opinions on {counted(layers, 'layer')}: {', '.join(parts)}; {counted(against, 'contradiction')}"


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
    """A line under a heading, wrapped to the width; its indentation is kept."""
    inner = len(line) - len(line.lstrip())
    pad = " " * (4 + inner)
    for part in Text(visible(line.strip()), style=style).wrap(console, max(20, console.width - len(pad))):
        part.rstrip()
        console.print(Text(pad if part else "").append_text(part), soft_wrap=True)


def explanation(rule: RuleReport) -> list[str]:
    """Why a rule is not proved, line by line, without the test that shows it."""
    lines = _told_bugs(rule)
    found = rule.counterexample
    if found is not None:
        layer = next(x.layer for x in rule.layers if x.counterexample is found)
        chosen = f" ({found.instance})" if found.instance and found.instance not in layer else ""
        lines += ["", f"at {layer}{chosen}"]
        width = max((len(name) for name, _ in found.bindings), default=0)
        lines += [f"  {name:<{width}} = {text}" for name, text in found.bindings]
        lines += [f"  {expression} = {value}" for expression, value in found.steps]
        lines += [f"  left  → {found.left}", f"  right → {found.right}"]
        lines += [f"  {found.note}"] if found.note else []
        lines += [f"  {line}" for line in (*told_differences(found), *told_replays(found))]
    rest = [x for x in rule.layers if x.settled != "proved"]
    for (verdict, detail), layers in _grouped(rest, lambda x: (x.settled, x.detail)):
        if detail or len(layers) > 1 or layers[0].counterexample is not found or found is None:
            lines += [
                "",
                f"{verdict} at {in_families(x.layer for x in layers)}{f': {detail}' if detail else ''}",
            ]
    for condition, layers in _grouped_by_condition(rest):
        lines += [f"{in_families(x.layer for x in layers)}: holds under {condition}, which is proved"]
    proved = [x for x in rule.layers if x.settled == "proved"]
    return lines + ([f"proved at {in_families(x.layer for x in proved)}"] if proved else [])


def _told_bugs(rule: RuleReport) -> list[str]:
    """That soundline contradicts itself, which is no finding about the rule."""
    if not rule.bugs:
        return []
    return ["", "a bug in soundline, not in the rule; please report it with this text:", *rule.bugs]


def told_differences(found: Counterexample) -> list[str]:
    """Where two sides with the same shape differ, one line for each of the first elements."""
    marked = [d for d in found.differences if d.position]
    width = max((len(str(list(d.position))) for d in marked), default=0)
    lines = [f"at {list(d.position)!s:<{width}}  left «{d.left}»  right «{d.right}»" for d in marked]
    rest = found.differing - len(marked)
    return [*lines, f"and at {counted(rest, 'more position')}"] if marked and rest > 0 else lines


def told_replays(found: Counterexample) -> list[str]:
    """Who computed both sides again, and what came of it."""
    parts = [f"{r.by}: {r.result}{f' ({r.detail})' if r.detail else ''}" for r in found.replays]
    return [f"replayed by {'; by '.join(parts)}"] if parts else []


def _grouped_by_condition(layers: Iterable[LayerResult]) -> Iterable[tuple[str, list[LayerResult]]]:
    """The refuted layers that hold where something does not overflow, together where it is the same."""
    found = [x for x in layers if x.holds_when]
    return [
        (condition, same)
        for (condition, _), same in _grouped(found, lambda x: (f"given({', '.join(x.holds_when)})", ""))
    ]


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


def _show_table(rules: Sequence[RuleReport], console: Console) -> None:
    """One row for each rule, below the name of its file."""
    rows = [_row(rule, console) for rule in rules]
    head = _heading("rule", "verdict", "layers", "covered")
    several = len({rule.file for rule in rules}) > 1
    widths = _widths([head, *rows], console.width)
    console.print()
    _show_row(head, widths, console)
    console.print(Text("─" * sum((*widths, 2 * len(widths) - 2)), style="dim"), soft_wrap=True)
    for file, members in groupby(zip(rules, rows, strict=True), key=lambda pair: pair[0].file):
        if several:
            console.print(Text(visible(file), style="dim italic"), soft_wrap=True)
        for _, row in members:
            _show_row(row, widths, console)
    console.print()


Row = tuple[Text, Text, Text, Text]


def _heading(*words: str) -> Row:
    first, second, third, fourth = (Text(word, style="bold") for word in words)
    return first, second, third, fourth


def _row(rule: RuleReport, console: Console) -> Row:
    return (
        Text(visible(rule.id)),
        mark(rule.verdict, console),
        _layers(rule),
        Text(covered(rule), style="dim"),
    )


def _widths(rows: Sequence[Row], width: int) -> list[int]:
    """The widths of the columns: names and verdicts get what they need, the others share what is left."""
    needed = [
        max(cell.cell_len if n != 2 else _longest_line(cell) for cell in column)
        for n, column in enumerate(zip(*rows, strict=True))
    ]
    name = min(needed[0], max(16, width // 3))
    left = max(24, width - name - needed[1] - 6)
    layers = min(needed[2], max(left * 2 // 3, left - needed[3]))
    return [name, needed[1], layers, min(needed[3], left - layers)]


def _longest_line(cell: Text) -> int:
    return max((line.cell_len for line in cell.split()), default=0)


def _show_row(row: Row, widths: Sequence[int], console: Console) -> None:
    """A row, over several lines where a cell is wider than its column."""
    columns = [list(cell.wrap(console, width)) for cell, width in zip(row, widths, strict=True)]
    for n in range(max(map(len, columns))):
        line = Text()
        for lines, width in zip(columns, widths, strict=True):
            cell = lines[n] if n < len(lines) else Text()
            cell.rstrip()
            line.append_text(cell)
            line.append(" " * (width - cell.cell_len + 2))
        line.rstrip()
        console.print(line, soft_wrap=True)


def _layers(rule: RuleReport) -> Text:
    """The layers of a rule in few words; those that are not proved stand out."""
    parts = []
    for (verdict, _), layers in _grouped(rule.layers, lambda x: (x.settled, "")):
        words = visible(_counted_families(x.layer for x in layers))
        parts.append(Text(words if verdict == "proved" else f"{verdict}: {words}", style=_other(verdict)))
    return Text("\n").join(parts)


def _other(verdict: str) -> str:
    return "" if verdict == "proved" else STYLES[verdict]


def _counted_families(layers: Iterable[str]) -> str:
    """Layers with their families counted: ``unbounded, bit-precise ×8``."""
    words = []
    for family, members in groupby(layers, key=_family):
        names = [m.removeprefix(family).strip() for m in members]
        shown = names[0] if len(names) == 1 else f"×{len(names)}"
        words.append(f"{family} {shown}".strip())
    return ", ".join(words)


def covered(rule: RuleReport) -> str:
    """What all layers cover alike; a layer whose inputs were all tried covers all values, too."""
    texts = list(dict.fromkeys(x.covered for x in rule.layers if x.covered))
    if len(texts) <= 1:
        return visible(texts[0]) if texts else ""
    clauses = [[_ALL_INPUTS.sub("all values", c) for c in text.split(", ")] for text in texts]
    return visible(", ".join(c for c in clauses[0] if all(c in other for other in clauses[1:])))


_ALL_INPUTS = re.compile(r"^([\d,]+ instances?: )?all ([\d,]+ inputs|values)$")
