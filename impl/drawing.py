"""
Drawing programs
================

A graph as SVG: sources above users, in layers, one box a node, coloured by the group of its op. Constants, also those
repeated to a shape, and shapes and offsets are written in the box that uses them, and a dot stands for an operand that
an edge brings, in the order of the operands; a Param in a shape is named by its slot. The picture needs no script, no
font and no network, and follows a dark page, since lines and text have the colour of what stands around them.

The layers are those of the longest path, and what has no source stands just above its users; an edge that skips layers
runs through a gap in each, and within a layer the order is the one that the neighbours ask for on average, a few sweeps
up and down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from soundline.spec.ops import TABLE, Group
from soundline.spec.text import Names, arg_text, operand_text, program_text, stands_where_it_is_used
from soundline.spec.uop import Op, UOp, toposort

COLOURS: dict[Group, str] = {
    "source": "#607D8B",
    "movement": "#2E7D32",
    "reduce": "#C62828",
    "call": "#1565C0",
    "load": "#C08080",
    "store": "#7B1FA2",
    "ordering": "#795548",
    "elementwise": "#F9A825",
    "decomposed": "#F9A825",
    "marker": "#E65100",
    "codegen": "#455A64",
}
"""The colours of the source document, where it has one."""

CHARACTER, LINE, MARGIN = 7.3, 15.0, 8.0
"""Width of a character, height of a line, and the space around text, in pixels."""
GAP, LAYER_GAP, SWEEPS = 22.0, 34.0, 6
MOST = 150
"""More nodes than this are no picture that helps anybody."""


@dataclass(eq=False, slots=True)
class Box:
    """A node in its place; without a node, the gap through which an edge passes a layer."""

    node: UOp | None
    text: tuple[str, ...] = ()
    above: list[Box] = field(default_factory=list)
    below: list[Box] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0
    order: float = 0.0

    @property
    def width(self) -> float:
        """Pixels from side to side."""
        return 0.0 if self.node is None else max(map(len, self.text)) * CHARACTER + 2 * MARGIN

    @property
    def height(self) -> float:
        """Pixels from top to bottom."""
        return 0.0 if self.node is None else len(self.text) * LINE + MARGIN

    @property
    def middle(self) -> float:
        """Where edges begin and end."""
        return self.x + self.width / 2


Layers = list[list[Box]]


def svg(*roots: UOp) -> str:
    """The picture of the program with these results; its text where it is too large for a picture."""
    nodes = [n for n in toposort(*roots) if n in roots or not _is_inline(n)]
    if len(nodes) > MOST:
        return f"<pre>{escape(program_text(*roots))}</pre>"
    layers = _layers(nodes)
    _put_in_order(layers)
    _place(layers)
    return _drawn(layers)


def _is_inline(node: UOp) -> bool:
    """Whether a node is written where it is used."""
    return stands_where_it_is_used(node) or _constant(node) is not None


def _constant(node: UOp) -> UOp | None:
    """The constant that a node is, or repeats to a shape."""
    while node.op in (Op.Reshape, Op.Expand):
        node = node.src[0]
    return node if node.op is Op.Const else None


def _inside(node: UOp, names: Names) -> str:
    constant = _constant(node)
    return operand_text(node if constant is None else constant, names)


def _label(node: UOp) -> tuple[str, ...]:
    """The op with what stands in its box, and what it makes."""
    names = {
        n: f"n{n.arg.slot}" for n in toposort(node) if n.op is Op.Param and n.shape == () and n is not node
    }
    operands = ", ".join(_inside(s, names) if _is_inline(s) else "·" for s in node.src)
    said = [f"{node.op.name}({operands})" if any(map(_is_inline, node.src)) else node.op.name]
    if node.arg is not None:
        said.append(arg_text(node.arg))
    lines = [" ".join(said)]
    if node.shape is not None:
        sizes = ", ".join(str(s) if isinstance(s, int) else operand_text(s, names) for s in node.shape)
        lines.append(f"{node.dtype}[{sizes}]")
    return tuple(line if len(line) <= 48 else f"{line[:47]}…" for line in lines)


def _layers(nodes: Sequence[UOp]) -> Layers:
    """Every node one layer below the lowest of its sources, with a gap in each layer that an edge skips."""
    depth: dict[UOp, int] = {}
    for node in nodes:
        depth[node] = max((depth[s] + 1 for s in node.src if s in depth), default=0)
    for node in nodes:
        if depth[node] == 0:
            depth[node] = min((depth[user] - 1 for user in nodes if node in user.src), default=0)
    layers: Layers = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    boxes = {node: Box(node, _label(node)) for node in nodes}
    for node in nodes:
        layers[depth[node]].append(boxes[node])
    for node in nodes:
        for source in dict.fromkeys(s for s in node.src if s in boxes):
            last = boxes[source]
            for layer in range(depth[source] + 1, depth[node]):
                gap = Box(None)
                layers[layer].append(gap)
                _join(last, gap)
                last = gap
            _join(last, boxes[node])
    return layers


def _join(above: Box, below: Box) -> None:
    above.below.append(below)
    below.above.append(above)


def _put_in_order(layers: Layers) -> None:
    """Order each layer by where its neighbours stand, downwards and upwards in turn."""
    for layer in layers:
        for n, box in enumerate(layer):
            box.order = n
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            wanted = {id(box): _mean(box.above if down else box.below, box.order) for box in layer}
            layer.sort(key=lambda box: wanted[id(box)])
            for n, box in enumerate(layer):
                box.order = n


def _mean(boxes: Sequence[Box], alone: float) -> float:
    return sum(b.order for b in boxes) / len(boxes) if boxes else alone


def _place(layers: Layers) -> None:
    """Set the layers below each other, each in the middle."""
    widths = [sum(b.width for b in layer) + GAP * (len(layer) - 1) for layer in layers]
    widest, y = max(widths, default=0.0), MARGIN
    for layer, width in zip(layers, widths, strict=True):
        x = MARGIN + (widest - width) / 2
        tallest = max(b.height for b in layer)
        for box in layer:
            box.x, box.y = x, y + (tallest - box.height) / 2
            x += box.width + GAP
        y += tallest + LAYER_GAP


def _drawn(layers: Layers) -> str:
    boxes = [box for layer in layers for box in layer]
    width = max((b.x + b.width for b in boxes), default=0.0) + MARGIN
    height = max((b.y + b.height for b in boxes), default=0.0) + MARGIN
    edges = [_edge(box, below) for box in boxes for below in box.below]
    drawn = [_box(box, box.node) for box in boxes if box.node is not None]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="uops" role="img" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="ui-monospace, monospace" font-size="12">'
    )
    return "\n".join([head, "<title>A graph of UOps</title>", *edges, *drawn, "</svg>"])


def _edge(above: Box, below: Box) -> str:
    """A curve from the bottom of one box to the place of an operand at the top of another."""
    share = (below.above.index(above) + 1) / (len(below.above) + 1)
    x0, y0, x1, y1 = above.middle, above.y + above.height, below.x + below.width * share, below.y
    bend = (y0 + y1) / 2
    curve = f"M{x0:.1f} {y0:.1f}C{x0:.1f} {bend:.1f} {x1:.1f} {bend:.1f} {x1:.1f} {y1:.1f}"
    return f'<path d="{curve}" fill="none" stroke="currentColor" stroke-opacity="0.55"/>'


def _box(box: Box, node: UOp) -> str:
    colour = COLOURS[TABLE[node.op].group]
    lines = [
        f'<text x="{box.middle:.1f}" y="{box.y + LINE * (n + 1) - 1:.1f}" text-anchor="middle" fill="currentColor"'
        f"{_weight(n)}>{escape(line)}</text>"
        for n, line in enumerate(box.text)
    ]
    frame = (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="4" '
        f'fill={quoteattr(colour)} fill-opacity="0.18" stroke={quoteattr(colour)}/>'
    )
    return "\n".join([frame, *lines])


def _weight(line: int) -> str:
    return ' font-weight="600"' if line == 0 else ' fill-opacity="0.75"'
