"""
Timelines of hazards
====================

A hazard as a picture: time goes to the right, one column for each event; threads go down, one lane for those that do
and see the same. The background of a lane says what its threads know of the earlier access. An arc leads from an arrive
to the await that waits for it. What is known in full is shown where one points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from soundline.spec.spork.diagnosis.reports import (
    SHORT,
    Around,
    Finding,
    iteration_text,
    signatures_text,
    statement_text,
    threads_text,
)
from soundline.verify.reports.hazards.lanes import Lane, Sight, hidden, lanes

COLUMN: Final = 96
ROW: Final = 34
LABEL: Final = 16
"""How many characters of a label fit above a column."""

LIGHT = (
    "--ink:#1f2328;--soft:#59636e;--line:#d1d9e0;--paper:#fff;--bad:#c62828;--sync:#1a5fb4;--none:#f6f8fa;"
    "--asynchronous:#fdeec2;--otherwise:#d6e6fb;--complete:#cdeed3;"
)
DARK = (
    "--ink:#e6edf3;--soft:#9aa5b1;--line:#3d444d;--paper:#12171e;--bad:#ff7b72;--sync:#79b8ff;--none:#1b222b;"
    "--asynchronous:#4f4116;--otherwise:#1d3a5f;--complete:#1c4a2a;"
)
STYLE = (
    f"svg.timeline{{{LIGHT}font-family:system-ui,sans-serif;max-width:none}}"
    f'@media(prefers-color-scheme:dark){{body:not([data-theme="light"]) svg.timeline{{{DARK}}}}}'
    f'body[data-theme="dark"] svg.timeline{{{DARK}}}'
    "svg.timeline text{fill:var(--ink);font-size:11px}svg.timeline .soft{fill:var(--soft)}"
    "svg.timeline .bad,svg.timeline .bad text{fill:var(--bad)}svg.timeline .bad text{font-weight:600}"
    "svg.timeline .disc{fill:var(--paper);font-weight:700;text-anchor:middle}"
    "svg.timeline .none{fill:var(--none)}svg.timeline .asynchronous{fill:var(--asynchronous)}"
    "svg.timeline .otherwise{fill:var(--otherwise)}svg.timeline .complete{fill:var(--complete)}"
    "svg.timeline .mark{fill:var(--sync);stroke:var(--paper);stroke-width:1}"
    "svg.timeline .arc{fill:none;stroke:var(--sync);stroke-width:1.6}"
    "svg.timeline .rule{stroke:var(--line);stroke-width:1}"
    "svg.timeline .column:hover .hit{fill:var(--sync);fill-opacity:.12}svg.timeline .hit{fill:transparent}"
)
"""The colours, light and dark, of a page that has one or the other, or follows the reader."""

LEGEND: Final = (
    (Sight.none, "not seen"),
    (Sight.asynchronous, "in V_A alone"),
    (Sight.otherwise, "in V_S, on another timeline"),
    (Sight.complete, "in V_S on that of the later access"),
)


def timeline(found: Finding) -> str:
    """The picture of a finding, with its style; nothing where no events are known."""
    return _Picture(found, lanes(found)).svg() if found.around else ""


def event_text(event: Around) -> str:
    """All about an event."""
    at = iteration_text(event.deed.place)
    said = [
        statement_text(event.deed.place),
        f"{event.deed.verb} {event.deed.target}{f', {at}' if at else ''}",
        f"by {threads_text(event.deed.threads)}",
    ]
    if event.async_set:
        said += [f"V_A: {signatures_text(event.async_set)}", f"V_S: {signatures_text(event.sync_set)}"]
    return "\n".join(said)


class _Picture:
    def __init__(self, found: Finding, rows: Sequence[Lane]) -> None:
        self.found, self.events, self.rows = found, found.around, rows
        self.pair = found.earlier is not None
        self.arcs = [
            (i, n)
            for n, e in enumerate(self.events)
            for i, a in enumerate(self.events)
            if a.number == e.waits_for
        ]
        self.left = 16 + 6.2 * max(len(_short(lane.label)) for lane in rows)
        self.at: list[float] = []
        x = self.left
        for event in self.events:
            x += COLUMN * 0.6 if event.skipped else 0
            self.at.append(x + COLUMN / 2)
            x += COLUMN
        self.right = x
        self.width = max(x + 8, 640)
        self.high = 18 + (max(_rise(self.at[b] - self.at[a]) for a, b in self.arcs) if self.arcs else 0)
        self.top = self.high + 15 + 13 * max(len(_label(event)) for event in self.events)
        self.bottom = self.top + ROW * len(rows)

    def svg(self) -> str:
        """The picture."""
        others = hidden(self.found, self.rows)
        height = self.bottom + 46 + (16 if others else 0)
        title = f"{SHORT[self.found.id]} at {self.found.later.target}"
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="timeline" role="img" width="{self.width:.0f}" '
            f'height="{height:.0f}" viewBox="0 0 {self.width:.0f} {height:.0f}">'
        )
        parts = [head, f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>"]
        parts += [*self._lanes(), *self._arcs(), *self._gaps(), *self._columns(), *self._legend()]
        if others:
            text = f"not shown, no part in the accesses: {threads_text(others)}"
            parts.append(f'<text class="soft" x="8" y="{self.bottom + 52}">{escape(text)}</text>')
        return "\n".join([*parts, "</svg>"])

    def _lanes(self) -> Iterator[str]:
        """Who they are, and stretches of equal knowledge."""
        for number, lane in enumerate(self.rows):
            y = self.top + ROW * number
            yield f"<g><title>{escape(lane.label)}</title>"
            yield f'<text x="8" y="{y + ROW / 2 + 4}">{escape(_short(lane.label))}</text></g>'
            edges = [self.left, *self.at, self.right]
            sights = [Sight.none, *lane.sights]
            for sight, lo, hi in zip(sights, edges, edges[1:], strict=False):
                box = f'x="{lo:.1f}" y="{y + 2}" width="{hi - lo:.1f}" height="{ROW - 4}"'
                yield f'<rect class="{sight}" {box}/>'
            yield f'<line class="rule" x1="8" y1="{y + ROW}" x2="{self.right:.1f}" y2="{y + ROW}"/>'

    def _arcs(self) -> Iterator[str]:
        """From each arrive to the await that waits for it."""
        for one, two in self.arcs:
            a, b, y = self.at[one], self.at[two], self.high + 6
            rise = _rise(b - a)
            yield f'<path class="arc" d="M{a:.1f} {y}C{a:.1f} {y - rise:.1f} {b:.1f} {y - rise:.1f} {b:.1f} {y}"/>'
            tip = f"M{b - 4:.1f} {y - 7}L{b:.1f} {y}L{b + 4:.1f} {y - 7}z"
            yield f'<path class="mark" d="{tip}"/>'
            name = escape(_cut(self.events[two].deed.target, 24))
            middle = f'x="{(a + b) / 2:.1f}" y="{y - rise * 0.75 - 4:.1f}" text-anchor="middle"'
            yield f'<text class="soft" {middle}>{name}</text>'

    def _gaps(self) -> Iterator[str]:
        """How many events are left out."""
        for event, x in zip(self.events, self.at, strict=True):
            if event.skipped:
                at = f'x="{x - COLUMN * 0.8:.1f}" y="{self.top - 8}" text-anchor="middle"'
                yield f'<text class="soft" {at}>⋯ {event.skipped}</text>'

    def _columns(self) -> Iterator[str]:
        """The events."""
        for number, (event, x) in enumerate(zip(self.events, self.at, strict=True)):
            kind = "column bad" if event.role else "column"
            yield f'<g class="{kind}"><title>{escape(event_text(event))}</title>'
            hit = f'x="{x - COLUMN / 2:.1f}" y="{self.high + 10}" width="{COLUMN}"'
            yield f'<rect class="hit" {hit} height="{self.bottom - self.high - 10}"/>'
            for line, text in enumerate(_label(event)):
                at = f'x="{x:.1f}" y="{self.high + 22 + 13 * line}"'
                yield f'<text {at} text-anchor="middle">{escape(_cut(text, LABEL))}</text>'
            acting = [self.top + ROW * (i + 0.5) for i, lane in enumerate(self.rows) if lane.acts[number]]
            if len(acting) > 1:
                span = f'x1="{x:.1f}" y1="{acting[0]}" x2="{x:.1f}" y2="{acting[-1]}"'
                yield f'<line class="arc" {span}/>'
            own = "" if not event.role else "1" if event.role == "earlier" else "2" if self.pair else "!"
            yield from (_mark(event, x, y, own) for y in acting)
            yield "</g>"

    def _legend(self) -> Iterator[str]:
        """What the backgrounds mean."""
        x = 8.0
        if not self.pair:
            return
        for sight, text in LEGEND:
            y = self.bottom + 18
            yield f'<rect class="{sight}" x="{x:.0f}" y="{y}" width="14" height="12"/>'
            yield f'<text class="soft" x="{x + 19:.0f}" y="{y + 10}">{text}</text>'
            x += 34 + 5.9 * len(text)


def _mark(event: Around, x: float, y: float, own: str) -> str:
    """The sign of an event in a lane."""
    if own:
        disc = f'<circle class="bad" cx="{x:.1f}" cy="{y}" r="9"/>'
        return f'{disc}<text class="disc" style="fill:var(--paper)" x="{x:.1f}" y="{y + 4}">{own}</text>'
    match event.deed.verb:
        case "fences":
            return f'<rect class="mark" x="{x - 3:.1f}" y="{y - 13}" width="6" height="26"/>'
        case "arrives at":
            return f'<path class="mark" d="M{x - 7:.1f} {y + 6}L{x:.1f} {y - 8}L{x + 7:.1f} {y + 6}z"/>'
        case "awaits":
            return f'<path class="mark" d="M{x - 7:.1f} {y - 6}L{x:.1f} {y + 8}L{x + 7:.1f} {y - 6}z"/>'
        case _:
            return f'<circle class="mark" cx="{x:.1f}" cy="{y}" r="6"/>'


def _label(event: Around) -> list[str]:
    """What stands above a column: what is done, in which line, and to what."""
    position = event.deed.place.statement.position
    verb = f"{event.deed.verb.removesuffix(' at')}{f' · {position.line}' if position else ''}"
    return [verb, *event.deed.target.replace(" before ", "\n→ ").split("\n")]


def _rise(width: float) -> float:
    """How high an arc is."""
    return min(22 + width / 6, 90)


def _short(label: str) -> str:
    return _cut(label.replace(" of launch 0", ""), 44)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
