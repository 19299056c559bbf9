"""
The report as a page
====================

One HTML file, which needs nothing else and no network: a table of what was found, then each hazard with its timeline,
both accesses, what is known after each event, the nearest synchronization and the fix. It is light or dark as the
reader has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from soundline import __version__
from soundline.spec.abstract_machine import Verdict
from soundline.spec.spork.diagnosis.reports import (
    SHORT,
    Around,
    Deed,
    Finding,
    iteration_text,
    pair_text,
    position_text,
    signatures_text,
    statement_text,
    threads_text,
)
from soundline.spec.spork.synchronization.visibility import MACHINE
from soundline.verify.files.problems import displayed
from soundline.verify.reports.hazards.checked import Checked, error_text
from soundline.verify.reports.hazards.timeline import timeline

STYLE: Final = """
:root{color-scheme:light dark;--page:#fff;--text:#1f2328;--dim:#59636e;--edge:#d1d9e0;--block:#f6f8fa;--red:#c62828;
--green:#1a7f37;--blue:#1a5fb4}
@media(prefers-color-scheme:dark){:root{--page:#12171e;--text:#e6edf3;--dim:#9aa5b1;--edge:#3d444d;--block:#1b222b;
--red:#ff7b72;--green:#56d364;--blue:#79b8ff}}
body{background:var(--page);color:var(--text);font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:1180px;
padding:1.2em 1.6em 4em}
h1{font-size:1.5em}h2{font-size:1.25em;margin-top:2em;border-bottom:1px solid var(--edge)}
h3{font-size:1.05em;margin-top:2em}
code{font-family:ui-monospace,monospace;font-size:.9em}a{color:var(--blue)}.dim{color:var(--dim)}.bad{color:var(--red)}
.good{color:var(--green)}table{border-collapse:collapse;font-size:.9em;width:100%}
th,td{text-align:left;vertical-align:top;padding:.3em .6em;border-bottom:1px solid var(--edge)}th{color:var(--dim)}
.wide{overflow-x:auto}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.3em 1em}dt{color:var(--dim)}dd{margin:0}
pre{background:var(--block);padding:.7em 1em;overflow-x:auto;font-size:.9em}tr.own td:first-child{color:var(--red);
font-weight:600}summary{cursor:pointer;color:var(--dim)}.fix{background:var(--block);padding:.6em 1em}
"""


def render(checked: Sequence[Checked], machine: str, policy: str) -> str:
    """The report as the text of an HTML file."""
    head = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Hazards: {escape(', '.join(c.name for c in checked))}</title>\n<style>{STYLE}</style>\n</head>"
    )
    said = f"soundline {__version__}, {machine} machine, policy {policy}"
    parts = [
        head,
        "<body>",
        "<h1>Hazard report</h1>",
        f'<p class="dim">{escape(said)}</p>',
        *_overview(checked),
    ]
    for number, program in enumerate(checked):
        parts += _program(program, number)
    return "\n".join([*parts, "</body>", "</html>", ""])


def _overview(checked: Sequence[Checked]) -> Iterator[str]:
    """A table of all findings."""
    rows = [
        (program, number, at, found)
        for number, program in enumerate(checked)
        if isinstance(program.result, Verdict)
        for at, found in enumerate(program.result.findings)
    ]
    if not rows:
        return
    yield '<div class="wide"><table><thead><tr><th>Program</th><th>Hazard</th><th>At</th><th>First</th>'
    yield "<th>Second</th><th>Times</th></tr></thead><tbody>"
    for program, number, at, found in rows:
        link = f'<a href="#hazard-{number}-{at}">{escape(SHORT[found.id])}</a>'
        first = _short(found.earlier) if found.earlier is not None else "–"
        yield (
            f"<tr><td>{escape(program.title)}</td><td>{link}<br><code>{found.id}</code></td>"
            f"<td><code>{escape(found.later.target)}</code></td><td>{first}</td><td>{_short(found.later)}</td>"
            f"<td>{found.count}</td></tr>"
        )
    yield "</tbody></table></div>"


def _short(deed: Deed) -> str:
    return f"<code>{escape(statement_text(deed.place))}</code><br>{_at(deed)}"


def _at(deed: Deed) -> str:
    return f'<span class="dim">{escape(position_text(deed.place, displayed))}</span>'


def _program(program: Checked, number: int) -> Iterator[str]:
    """What became of a program."""
    yield f"<h2>{escape(program.title)}</h2>"
    verdict = program.result
    if not isinstance(verdict, Verdict):
        yield f'<p class="bad">refused</p><pre>{escape(error_text(verdict))}</pre>'
        return
    run = f"{verdict.events} events, {verdict.accesses} accesses, policy {verdict.policy}"
    count = len(verdict.findings)
    said = "no hazards" if verdict.ok else "1 hazard" if count == 1 else f"{count} hazards"
    yield f'<p><strong class="{"good" if verdict.ok else "bad"}">{said}</strong> <span class="dim">({run})</span></p>'
    for at, found in enumerate(verdict.findings):
        yield from _finding(found, f"hazard-{number}-{at}")
    if program.redundant:
        yield "<h3>Redundant synchronizations</h3>"
        yield "<p>Without any one of these the program has no hazards either, at these sizes.</p><ul>"
        for note in program.redundant:
            where = "" if note.file is None else f"{displayed(note.file)}:{note.line}"
            said = f'{escape(note.what)}: <code>{escape(note.text)}</code> <span class="dim">{escape(where)}</span>'
            yield f"<li>{said}</li>"
        yield "</ul>"


def _finding(found: Finding, anchor: str) -> Iterator[str]:
    """All about a hazard."""
    yield f'<section id="{anchor}"><h3>{escape(SHORT[found.id])} at <code>{escape(found.later.target)}</code></h3>'
    times = "" if found.count == 1 else f" It was found {found.count} times; this is the first."
    yield f"<p><code>{found.id}</code>: {escape(MACHINE[found.id])}.{times}</p>"
    picture = timeline(found)
    if picture:
        yield f'<div class="wide">{picture}</div>'
    yield "<dl>"
    if found.earlier is not None:
        yield f"<dt>1. First access</dt><dd>{_deed(found.earlier)}</dd>"
    name = "2. Second access" if found.earlier is not None else "Statement"
    yield f"<dt>{name}</dt><dd>{_deed(found.later)}</dd>"
    if found.given:
        yield f"<dt>Given</dt><dd>{escape(found.given)}</dd>"
    if found.earlier is not None:
        yield f"<dt>Who may not see it</dt><dd>{escape(threads_text(found.blind))}</dd>"
        yield f"<dt>V<sub>S</sub>, complete for</dt><dd>{escape(signatures_text(found.sync_set))}</dd>"
        yield f"<dt>V<sub>A</sub></dt><dd>{escape(signatures_text(found.async_set))}</dd>"
    yield "</dl>"
    if found.nearest is not None:
        text = found.nearest.text(displayed)
        yield f"<p>Nearest synchronization:</p><pre>{escape(text)}</pre>"
    if found.fix is not None:
        tried = " (tried: it removes this hazard)" if found.fix.tried else ""
        yield f'<p class="fix"><strong>Fix:</strong> {escape(found.fix.text)}{tried}</p>'
    if found.around:
        yield from _events(found)
    yield "</section>"


def _deed(deed: Deed) -> str:
    on = f" on {pair_text(deed.pair)}" if deed.pair is not None else ""
    at = iteration_text(deed.place)
    said = f"{deed.verb} {deed.target}{on}{f', {at}' if at else ''}, by {threads_text(deed.threads)}"
    return f"<code>{escape(statement_text(deed.place))}</code> {_at(deed)}<br>{escape(said)}"


def _events(found: Finding) -> Iterator[str]:
    """The events of the timeline, with what is known after each."""
    name = "The events, and what is known of the first access after each" if found.earlier else "The events"
    yield f'<details><summary>{name}</summary><div class="wide"><table>'
    yield "<thead><tr><th>Event</th><th>Statement</th><th>By</th><th>V<sub>A</sub></th><th>V<sub>S</sub></th></tr>"
    yield "</thead><tbody>"
    for event in found.around:
        if event.skipped:
            yield f'<tr><td colspan="5" class="dim">⋯ {event.skipped} left out</td></tr>'
        yield _event(event)
    yield "</tbody></table></div></details>"


def _event(event: Around) -> str:
    known = bool(event.async_set)
    cells = (
        f"{event.number}",
        f"{_short(event.deed)}<br>{escape(f'{event.deed.verb} {event.deed.target}')}",
        escape(threads_text(event.deed.threads)),
        escape(signatures_text(event.async_set)) if known else "–",
        escape(signatures_text(event.sync_set)) if known else "–",
    )
    own = ' class="own"' if event.role else ""
    return f"<tr{own}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
