"""
Drawing listings
================

A sequence of instructions as SVG, a line each, inside frames for the loops; many instructions that are alike and follow
each other are one line that says how many. The C text of a program is drawn in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from soundline.impl.inspect.graphs import CHARACTER, COLOURS, LINE, MARGIN, cut, whole
from soundline.impl.inspect.texts import expression, loop_text, place_text, storage_name
from soundline.spec.dtypes import index
from soundline.spec.ops.table import TABLE
from soundline.spec.uop import Op, UOp

WIDEST = 110
"""Characters in a line."""
LONGEST = 160
"""The most lines of a listing; the number of the others is written below."""
ALIKE = 3
"""The number of similar instructions that are shown; the others are counted."""
_INDENT = 2 * CHARACTER


@dataclass(frozen=True, slots=True)
class Line:
    """A line: how deep it stands, its text, and its colour; a loop begins with it if it `opens` one."""

    depth: int
    text: str
    colour: str = ""
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """Lines that are drawn below each other."""

    lines: Sequence[Line]

    @property
    def width(self) -> float:
        """Pixels from side to side."""
        longest = max((len(line.text) * CHARACTER + line.depth * _INDENT for line in self.lines), default=0.0)
        return longest + 4 * MARGIN + _INDENT

    @property
    def height(self) -> float:
        """Pixels from top to bottom."""
        return len(self.lines) * LINE + 2 * MARGIN

    def drawn(self, y: float) -> str:
        """The lines below y."""
        frames, texts = [], []
        for n, line in enumerate(self.lines):
            x, top = 2 * MARGIN + line.depth * _INDENT, y + n * LINE
            if line.opens:
                frames.append(self._frame(n, x, top))
            mark = self._mark(line.colour, x, top) if line.colour else ""
            weight = ' font-weight="600"' if line.opens else ""
            texts.append(
                f'{mark}<text x="{x:.1f}" y="{top + LINE - 2:.1f}" fill="currentColor"{weight} '
                f'xml:space="preserve">{escape(line.text)}</text>'
            )
        return "\n".join([*frames, *texts])

    def _mark(self, colour: str, x: float, top: float) -> str:
        """A bar before a line, in the colour of its op."""
        place = f'x="{x - 7:.1f}" y="{top + 4:.1f}" width="3" height="{LINE - 4:.1f}"'
        return f"<rect {place} fill={quoteattr(colour)}/>"

    def _frame(self, n: int, x: float, top: float) -> str:
        """The frame around a loop that begins with line n."""
        depth = self.lines[n].depth
        inside = next((k for k, line in enumerate(self.lines[n + 1 :]) if line.depth <= depth), None)
        count = 1 + (len(self.lines) - n - 1 if inside is None else inside)
        width = self.width - x - MARGIN - depth * 4
        return (
            f'<rect x="{x - 10:.1f}" y="{top + 1:.1f}" width="{width:.1f}" height="{count * LINE + 1:.1f}" rx="3" '
            f'fill="{COLOURS["ordering"]}" fill-opacity="0.06" stroke="{COLOURS["ordering"]}" stroke-opacity="0.5"/>'
        )


def lines_of(kernel: UOp) -> list[Line]:
    """The instructions of a linear kernel."""
    found = list(_instructions(kernel))
    return _limited([*_together(found)], "instructions")


def _limited(lines: list[Line], what: str) -> list[Line]:
    if len(lines) <= LONGEST:
        return lines
    return [*lines[:LONGEST], Line(0, f"… and {len(lines) - LONGEST} more {what}")]


def _instructions(kernel: UOp) -> Iterator[tuple[Line, object]]:
    """Each instruction as a line, with what it has in common with those that are alike."""
    names: dict[UOp, str] = {}
    depth = 0

    def operand(node: UOp) -> str:
        while node.op in (Op.Reshape, Op.Expand) and node not in names:
            node = node.src[0]
        return names.get(node) or expression(node)

    for node in kernel.src:
        colour = COLOURS[TABLE[node.op].group]
        if node.op is Op.Range:
            yield Line(depth, f"for {loop_text(node)}", colour, opens=True), None
            depth += 1
        elif node.op is Op.End:
            depth -= 1
        elif node.dtype is index and node.shape is not None and node.op is not Op.Load:
            continue  # written where it is used
        elif node.op is Op.Store:
            place, value, *gate = node.src
            only = f" if {operand(gate[0])}" if gate else ""
            text = f"{place_text(place)} = {operand(value)}{only}"
            yield Line(depth, cut(text, WIDEST), colour), (node.op, value.shape, depth)
        elif node.op is Op.Buffer:
            text = f"{storage_name(node)}: {node.dtype}[{node.arg.size}] in {node.arg.addrspace}"
            yield Line(depth, text, colour), (node.op, node.arg.size, depth)
        else:
            names.setdefault(node, f"v{len(names)}")
            made = f"  # {node.dtype}{list(node.shape)}" if node.shape else ""
            text = f"{names[node]} = {_value(node, operand, place_text)}{made}"
            yield Line(depth, cut(text, WIDEST), colour), (node.op, node.shape, depth)


def _value(node: UOp, operand: object, place_text: object) -> str:
    assert callable(operand)
    assert callable(place_text)
    if node.op is Op.Load:
        return f"{place_text(node.src[0])}" + (
            f" if {operand(node.src[2])} else {operand(node.src[1])}" if len(node.src) == 3 else ""
        )
    if node.op is Op.Reduce:
        return f"Reduce {node.arg.op.name}({operand(node.src[0])}), axes {list(node.arg.axes)}"
    return f"{node.op.name}({', '.join(map(operand, node.src))})"


def _together(lines: Sequence[tuple[Line, object]]) -> Iterator[Line]:
    """The lines, of which those that are alike and follow each other, or alternate with another kind, are counted."""
    k = 0
    while k < len(lines):
        period, times = _repeating(lines, k)
        if times <= ALIKE:
            yield lines[k][0]
            k += 1
            continue
        yield from (line for line, _ in lines[k : k + period * (ALIKE - 1)])
        left = period * (times - ALIKE + 1)
        first = lines[k][0]
        yield Line(first.depth, f"… {left} more like {'this' if period == 1 else 'these'}", first.colour)
        k += period * times


def _repeating(lines: Sequence[tuple[Line, object]], k: int) -> tuple[int, int]:
    """The shortest group of kinds with which the lines from k on go on repeating, and how often it stands there."""
    for period in (1, 2, 3, 4, 5, 6):
        kinds = [kind for _, kind in lines[k : k + period]]
        if None in kinds or len(kinds) < period:
            break
        times = 1
        while [kind for _, kind in lines[k + times * period : k + (times + 1) * period]] == kinds:
            times += 1
        if times > ALIKE:
            return period, times
    return 1, 1


def text_picture(text: str) -> str:
    """A text, drawn."""
    lines = [Line(0, cut(line.replace("\t", "    "), WIDEST)) for line in text.splitlines()]
    listing = Listing(_limited(lines, "lines"))
    return whole(listing.drawn(MARGIN), listing.width, listing.height + MARGIN, "The text of a program")
