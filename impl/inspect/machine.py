"""
Drawing the abstract machine
============================

The records of one location as SVG, statement by statement from top to bottom (`machine_growth`). A record is a row of
cells, one for each pair of timelines and each group of threads: a full cell is in V_S, a half one in V_A alone, and a
dot marks what the statement above it has added. Where the statement accesses the location, a ring marks what has to be
in V_S: it is red where it is not there, which is a hazard. A bar over a group says that it executes the statement.

The picture needs no script, no font and no network, and follows a dark page, since lines and text have the colour of
what stands around them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from soundline.impl.inspect.machine_growth import Growth, Line, Row, Threads
from soundline.spec.spork.diagnosis.reports import SHORT, intervals, statement_text
from soundline.spec.spork.machine.events import Allocated, Freed
from soundline.spec.spork.synchronization.barriers import Stamp
from soundline.spec.spork.synchronization.timelines import LEGAL_PAIRS, Pair
from soundline.spec.spork.synchronization.visibility import Hazard, Signature, Thread

SEEN, KNOWN, WRONG = "#2E7D32", "#F9A825", "#E53935"
"""The colours of V_S, of V_A without V_S, and of what is missing."""

SIDE, STEP, GAP = 13.0, 16.0, 14.0
"""A cell, from one cell to the next, and between groups, in pixels."""
CHARACTER, LINE, MARGIN = 6.7, 19.0, 10.0
LABEL = 284.0

SHORT_INSTR = {
    "cpu_in_order": "cpu",
    "cuda_in_order": "in order",
    "Sm80_cp_async": "cp.async",
    "tma_to_smem_async": "TMA load",
    "tma_to_gmem_async": "TMA store",
    "wgmma_async": "wgmma",
}
SHORT_USAGE = {
    "cpu": "",
    "cuda_ram": "ram",
    "cuda_sync_rmem": "rmem",
    "cuda_async_a_rmem": "a",
    "cuda_async_d_rmem": "d",
}


def pair_name(pair: Pair) -> str:
    """A pair in few letters."""
    return f"{SHORT_INSTR[pair.instr]} {SHORT_USAGE[pair.usage]}".strip()


@dataclass(slots=True)
class _Sheet:
    """The drawing so far, and where the next line stands."""

    grown: Growth
    parts: list[str]
    y: float = MARGIN

    def text(
        self, x: float, said: str, *, weight: int = 400, opacity: float = 1.0, fill: str = "currentColor"
    ) -> None:
        """A text on the present line."""
        bold = f' font-weight="{weight}"' if weight != 400 else ""
        faint = f' fill-opacity="{opacity}"' if opacity != 1.0 else ""
        self.parts.append(
            f'<text x="{x:.1f}" y="{self.y + LINE - 6:.1f}" fill="{fill}"{bold}{faint}>{escape(said)}</text>'
        )

    def column(self, group: int, pair: int) -> float:
        """The left side of a cell."""
        return self.start(group) + pair * STEP

    def start(self, group: int) -> float:
        """The left side of a group."""
        return MARGIN + LABEL + group * (len(self.grown.pairs) * STEP + GAP)

    @property
    def right(self) -> float:
        """Where the groups end."""
        return self.start(len(self.grown.groups)) - GAP


def svg(grown: Growth, *, rows: int | None = None) -> str:
    """The picture of the records of a location: of all statements, or of the first few."""
    sheet = _Sheet(grown, [])
    shown = grown.rows[:rows]
    _heads(sheet)
    for row in shown:
        _row(sheet, row)
    _legend(sheet)
    stamped = any(line.stamps for row in shown for line in row.lines)
    longest = (
        max((len(_title(row)) + len(_iteration(row)) + 2 for row in shown), default=0) * CHARACTER + MARGIN
    )
    width = max(sheet.right + (96 if stamped else 0), longest, 560.0) + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="machine" role="img" '
        f'viewBox="0 0 {width:.0f} {sheet.y + MARGIN:.0f}" width="{width:.0f}" height="{sheet.y + MARGIN:.0f}" '
        f'font-family="ui-monospace, monospace" font-size="11">'
    )
    title = "<title>Visibility records of a location, statement by statement</title>"
    return "\n".join([head, title, *sheet.parts, "</svg>"])


# Heads ------------------------------------------------------------------------------------------------------------


def _heads(sheet: _Sheet) -> None:
    """The groups of threads, and under each the pairs, from top to bottom."""
    for number, group in enumerate(sheet.grown.groups):
        sheet.text(sheet.start(number), group_name(group, len(sheet.grown.pairs) * STEP + GAP), weight=600)
    sheet.y += LINE
    deep = max((len(pair_name(p)) for p in sheet.grown.pairs), default=0) * CHARACTER + 4
    for number in range(len(sheet.grown.groups)):
        for place, pair in enumerate(sheet.grown.pairs):
            x, y = sheet.column(number, place) + SIDE - 3, sheet.y + deep
            sheet.parts.append(
                f'<text x="{x:.1f}" y="{y:.1f}" transform="rotate(-90 {x:.1f} {y:.1f})" fill="currentColor" '
                f'fill-opacity="0.8">{escape(pair_name(pair))}</text>'
            )
    sheet.y += deep + 6


def group_name(group: Threads, width: float = float("inf")) -> str:
    """The threads of a group, or how many they are where that is too long.

    >>> group_name(frozenset(Thread("task", n) for n in range(32)))
    'threads 0-31'
    """
    return next((name for name in _names(group) if len(name) * CHARACTER <= width), str(len(group)))


def _names(group: Threads) -> list[str]:
    if {t.task for t in group} == {None}:
        return ["CPU"]
    runs = intervals(t.number for t in group)
    spans = ", ".join(str(lo) if lo == hi else f"{lo}-{hi}" for lo, hi in runs)
    word = "thread" if len(group) == 1 else "threads"
    return [f"{word} {spans}", spans, f"{len(group)} {word}"]


# Rows -------------------------------------------------------------------------------------------------------------


def _title(row: Row) -> str:
    """The statement of a row."""
    said = statement_text(row.place)
    if isinstance(row.event, Freed):
        said = f"{row.event.buffer.name} is freed"
    elif isinstance(row.event, Allocated) and row.event.is_argument:
        said = f"{row.event.buffer.name} is an argument"
    return said


def _iteration(row: Row) -> str:
    return ", ".join(f"{name} = {value}" for name, value in row.place.iteration)


def _row(sheet: _Sheet, row: Row) -> None:
    """The statement, who executes it, the records after it, and its hazards."""
    sheet.parts.append(
        f'<path d="M{MARGIN} {sheet.y:.1f}H{sheet.right:.1f}" stroke="currentColor" stroke-opacity="0.18"/>'
    )
    said = _title(row)
    sheet.text(MARGIN, said, weight=600)
    sheet.text(MARGIN + (len(said) + 2) * CHARACTER, _iteration(row), opacity=0.7)
    sheet.y += LINE + 2
    for number, group in enumerate(sheet.grown.groups):
        if not group.isdisjoint(row.place.threads):
            start = sheet.start(number)
            end = start + len(sheet.grown.pairs) * STEP - (STEP - SIDE)
            sheet.parts.append(
                f'<path d="M{start:.1f} {sheet.y:.1f}H{end:.1f}" stroke="currentColor" stroke-width="2"/>'
            )
    sheet.y += 3
    for line in row.lines:
        _line(sheet, line)
    for hazard in row.hazards:
        sheet.text(MARGIN, f"✗ {_said(hazard)}  [{hazard.id}]", weight=600, fill=WRONG)
        sheet.y += LINE
    sheet.y += 5


def _said(hazard: Hazard) -> str:
    """What is wrong: who does not see which access, or what is there instead of what should be."""
    if hazard.record is None:
        return f"{SHORT[hazard.id]}: {hazard.given}" if hazard.given else SHORT[hazard.id]
    verb = "does" if len(hazard.threads) == 1 else "do"
    what = "read" if hazard.id in {"mach-write-war", "mach-free-read"} else "write"
    return f"{SHORT[hazard.id]}: {group_name(hazard.threads)} {verb} not see the {what}"


def _line(sheet: _Sheet, line: Line) -> None:
    """A record: what it is of, its cells, and the arrives that it has just been given to."""
    faint = 0.45 if line.age == "gone" else 1.0
    aged = {"new": "new ", "gone": "past ", "old": ""}[line.age]
    sheet.text(
        MARGIN + 8,
        f"{aged}{line.kind} by {group_name(line.threads, 110)}, {pair_name(line.origin)}",
        opacity=faint,
    )
    cells = [part for cell in _cells(sheet, line) for part in cell]
    sheet.parts += [f'<g opacity="{faint}">', *cells, "</g>"] if faint != 1.0 else cells
    sheet.parts += _rings(sheet, line)
    if line.stamps:
        names = dict.fromkeys(
            map(stamp_name, sorted(line.stamps, key=str))
        )  # one of each warp, where warps wait apart
        sheet.text(sheet.right + 8, ", ".join(names), opacity=0.8)
    sheet.y += LINE


def stamp_name(stamp: Stamp) -> str:
    """A stamp: the queue, and the number of the arrive."""
    barrier = stamp.queue.barrier
    name = barrier[0] if isinstance(barrier, tuple) else barrier
    index = f"[{', '.join(map(str, stamp.queue.at))}]" if stamp.queue.at else ""
    return f"{'−' if stamp.queue.reverse else '+'}{name}{index} #{stamp.arrive}"


def _cells(sheet: _Sheet, line: Line) -> Iterator[list[str]]:
    for number, group in enumerate(sheet.grown.groups):
        one = next(iter(group))
        for place, pair in enumerate(sheet.grown.pairs):
            signature = Signature(*pair, one)
            x, y = sheet.column(number, place), sheet.y + (LINE - SIDE) / 2
            yield _cell(x, y, signature, line)


def _cell(x: float, y: float, signature: Signature, line: Line) -> list[str]:
    frame = f'<rect x="{x:.1f}" y="{y:.1f}" width="{SIDE}" height="{SIDE}" rx="2"'
    if signature in line.sync_set:
        drawn = [f'{frame} fill="{SEEN}" fill-opacity="0.75" stroke="{SEEN}"/>']
        if signature in line.gained and line.age == "old":
            middle = f'cx="{x + SIDE / 2:.1f}" cy="{y + SIDE / 2:.1f}"'
            drawn.append(f'<circle {middle} r="2.4" fill="#fff"/>')
        return drawn
    if signature in line.async_set:
        half = f"M{x:.1f} {y + SIDE:.1f}h{SIDE}L{x:.1f} {y:.1f}z"
        return [f'{frame} fill="none" stroke="{KNOWN}"/>', f'<path d="{half}" fill="{KNOWN}"/>']
    return [f'{frame} fill="none" stroke="currentColor" stroke-opacity="0.25"/>']


def _rings(sheet: _Sheet, line: Line) -> list[str]:
    """What the access asked of the record; red where a thread of the group did not find it."""
    found = []
    for number, group in enumerate(sheet.grown.groups):
        for place, pair in enumerate(sheet.grown.pairs):
            asked = [seen for s, seen in line.asked if s.thread in group and (s.instr, s.usage) == pair]
            if asked:
                x, y = sheet.column(number, place), sheet.y + (LINE - SIDE) / 2
                found.append(_ring(x, y, all(asked)))
    return found


def _ring(x: float, y: float, seen: bool) -> str:
    colour = "currentColor" if seen else WRONG
    return (
        f'<rect x="{x - 2.5:.1f}" y="{y - 2.5:.1f}" width="{SIDE + 5}" height="{SIDE + 5}" rx="4" fill="none" '
        f'stroke="{colour}" stroke-width="2"/>'
    )


# Legend -----------------------------------------------------------------------------------------------------------


def _legend(sheet: _Sheet) -> None:
    """What the cells and rings mean, said by cells and rings."""
    sheet.y += 4
    x = MARGIN
    for said, line in _samples():
        y = sheet.y + (LINE - SIDE) / 2
        sheet.parts += _cell(x, y, _ANY, line)
        sheet.parts += [_ring(x, y, seen) for _, seen in line.asked]
        sheet.text(x + SIDE + 6, said, opacity=0.85)
        x += SIDE + 22 + len(said) * CHARACTER
    sheet.y += LINE


_ANY = Signature(*LEGAL_PAIRS[0], Thread("any"))


def _samples() -> Iterator[tuple[str, Line]]:
    """A line for each thing that a cell of the signature `_ANY` can be."""
    nothing, held = frozenset[Signature](), frozenset({_ANY})

    def line(known: bool, seen: bool, gained: bool = False, asked: bool = False) -> Line:
        return Line(
            *("write", "old", LEGAL_PAIRS[0], frozenset()),
            held if known else nothing,
            held if seen else nothing,
            held if gained else nothing,
            frozenset(),
            frozenset({(_ANY, seen)}) if asked else frozenset(),
        )

    yield "in V_S", line(True, True)
    yield "just gained", line(True, True, gained=True)
    yield "in V_A only", line(True, False)
    yield "asked, there", line(True, True, asked=True)
    yield "asked, missing", line(False, False, asked=True)
