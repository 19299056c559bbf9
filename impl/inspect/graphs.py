"""
Drawing programs
================

A graph as SVG: sources above users, in layers, one box a node, coloured by the group of its op. Constants, also those
repeated to a shape, and shapes and offsets are written in the box that uses them, and a dot stands for an operand that
an edge brings, in the order of the operands; a Param in a shape is named by its slot. The picture needs no script, no
font and no network, and follows a dark page, since lines and text have the colour of what stands around them.

A graph that is too large for a picture is *collapsed*: nodes that are alike and use the same nodes share a box, then
chains of movement and arithmetic do, and the nodes furthest from the results become one box with their number.

The layers are those of the longest path, and what has no source stands just above its users; an edge that skips layers
runs through a gap in each, and within a layer the order is the one that the neighbours ask for on average, a few sweeps
up and down.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from xml.sax.saxutils import escape, quoteattr

from soundline.spec.ops.table import TABLE, Group
from soundline.spec.ops.textual_form import Names, arg_text, operand_text, stands_where_it_is_used
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
"""A picture with more boxes than this is not readable."""
WIDEST = 1600.0
"""A graph whose picture is wider than this, in pixels, is collapsed."""
LONGEST = 48
"""A line is cut off after this many characters."""
_ALIKE = re.compile(r"[\[(]")
_CHAINED = frozenset(
    op for op, entry in TABLE.items() if entry.group in ("movement", "elementwise", "decomposed")
)


@dataclass(eq=False, slots=True)
class Box:
    """A node in its place; without a node, the gap through which an edge passes a layer."""

    node: UOp | None
    text: tuple[str, ...] = ()
    deep: bool = False
    """Whether it stands for several nodes."""
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


@dataclass(frozen=True, slots=True)
class Graph:
    """What is drawn: nodes with sources before users, what each uses, the lines in its box, and
    the results that keep boxes of their own.
    """

    nodes: Sequence[UOp]
    sources: Callable[[UOp], Iterable[UOp]]
    label: Callable[[UOp], tuple[str, ...]]
    roots: frozenset[UOp]


def svg(*roots: UOp, most: int = MOST) -> str:
    """The picture of the program with these results, collapsed where it has more than `most` nodes or is too wide."""
    shown = frozenset(roots)
    nodes = [n for n in toposort(*roots) if n in shown or not _is_inline(n)]
    return picture(Graph(nodes, lambda n: n.src, _label, shown), most)


def picture(graph: Graph, most: int = MOST) -> str:
    """The picture of a graph, collapsed where it has more than `most` nodes or is too wide."""
    return _drawn(laid_out(graph, most))


def laid_out(graph: Graph, most: int = MOST) -> Layers:
    """The boxes of a graph in their places, collapsed as far as a readable picture needs."""
    head = {node: node for node in graph.nodes}
    layers: Layers = []
    for reduction in (None, _alike, _chained, _cut):
        if reduction is not None:
            head = reduction(graph, head, most)
        elif len(head) > most:
            continue
        layers = _in_place(graph, head)
        if len({*head.values()}) <= most and width_of(layers) <= WIDEST:
            break
    return layers


def _in_place(graph: Graph, head: dict[UOp, UOp]) -> Layers:
    """The boxes of a graph, of which nodes with one head share one."""
    members: dict[UOp, list[UOp]] = {}
    for node in graph.nodes:
        members.setdefault(head[node], []).append(node)
    used = _used(graph, head)
    several = frozenset(box for box, nodes in members.items() if len(nodes) > 1)
    layers = _layers(list(used), used.__getitem__, lambda box: _reduced_label(members[box], graph), several)
    _put_in_order(layers)
    _place(layers)
    return layers


def width_of(layers: Layers) -> float:
    """Pixels from the left margin to the right one."""
    return max((b.x + b.width for layer in layers for b in layer), default=0.0) + MARGIN


# Folding ----------------------------------------------------------------------------------------------------------


def _used(graph: Graph, head: dict[UOp, UOp]) -> dict[UOp, tuple[UOp, ...]]:
    """What the boxes use, those that are used before those that use them."""
    found: dict[UOp, dict[UOp, None]] = {}
    for node in graph.nodes:
        own = found.setdefault(head[node], {})
        own.update((head[s], None) for s in graph.sources(node) if s in head and head[s] is not head[node])
    return {box: tuple(found[box]) for box in TopologicalSorter(found).static_order()}


def _alike(graph: Graph, head: dict[UOp, UOp], most: int) -> dict[UOp, UOp]:
    """The first node for each that does the same as it, to the same nodes."""
    head = {}
    first: dict[object, UOp] = {}
    for node in graph.nodes:
        sources = tuple(head[s] for s in graph.sources(node) if s in head)
        alone = node in graph.roots or node.op in (Op.Param, Op.Buffer)
        key: object = node if alone else (_ALIKE.split(graph.label(node)[0])[0], node.op, node.shape, sources)
        head[node] = first.setdefault(key, node)
    return head


def _chained(graph: Graph, head: dict[UOp, UOp], most: int) -> dict[UOp, UOp]:
    """Movement and arithmetic in the box of the only box that uses it, if that is movement or arithmetic too."""
    used = _used(graph, head)
    users: dict[UOp, list[UOp]] = {}
    for box, sources in used.items():
        for source in sources:
            users.setdefault(source, []).append(box)
    kept = {head[r] for r in graph.roots}
    to: dict[UOp, UOp] = {}
    for box in reversed(used):
        only = users[box][0] if len(users.get(box, ())) == 1 else box
        to[box] = to[only] if only is not box and {box.op, only.op} <= _CHAINED and box not in kept else box
    return {node: to[box] for node, box in head.items()}


def _cut(graph: Graph, head: dict[UOp, UOp], most: int) -> dict[UOp, UOp]:
    """All but the boxes nearest to the results in one box; near is what has no long way to a result."""
    used = _used(graph, head)
    if len(used) <= most:
        return head
    distance = dict.fromkeys(used, 0)
    for box in reversed(used):
        for source in used[box]:
            distance[source] = max(distance[source], distance[box] + 1)
    rest = sorted(used, key=distance.__getitem__)[most - 1 :]
    return {node: rest[0] if box in rest else box for node, box in head.items()}


def _reduced_label(nodes: Sequence[UOp], graph: Graph) -> tuple[str, ...]:
    """The ops that share a box, with how many there are of each."""
    if len(nodes) == 1:
        return graph.label(nodes[0])
    own = set(nodes)
    chained = any(s in own for n in nodes for s in graph.sources(n))
    counts = Counter(n.op.name for n in nodes)
    said = ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counts.most_common(4))
    more = "" if len(counts) <= 4 else ", …"
    if not chained and len(counts) == 1:
        return (*graph.label(nodes[0]), f"and {len(nodes) - 1} more like it")
    return (f"{len(nodes)} nodes", cut(said + more))


def cut(line: str, longest: int = LONGEST) -> str:
    """A line that is no longer than that."""
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


# Boxes ------------------------------------------------------------------------------------------------------------


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
    return tuple(map(cut, lines))


def _layers(
    nodes: Sequence[UOp],
    sources: Callable[[UOp], Iterable[UOp]] = lambda n: n.src,
    label: Callable[[UOp], tuple[str, ...]] = _label,
    several: frozenset[UOp] = frozenset(),
) -> Layers:
    """Every node one layer below the lowest of its sources, with a gap in each layer that an edge skips."""
    shown = set(nodes)
    used = {node: tuple(dict.fromkeys(s for s in sources(node) if s in shown)) for node in nodes}
    depth: dict[UOp, int] = {}
    for node in nodes:
        depth[node] = max((depth[s] + 1 for s in used[node]), default=0)
    for node in nodes:
        if depth[node] == 0:
            depth[node] = min((depth[user] - 1 for user in nodes if node in used[user]), default=0)
    layers: Layers = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    boxes = {node: Box(node, label(node), node in several) for node in nodes}
    for node in nodes:
        layers[depth[node]].append(boxes[node])
    for node in nodes:
        for source in used[node]:
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
    """Order each layer by the positions of its neighbours, downwards and upwards in turn."""
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
    height = max((b.y + b.height for b in boxes), default=0.0) + MARGIN
    return whole(drawn_layers(layers), width_of(layers), height, "A graph of UOps")


def drawn_layers(layers: Layers) -> str:
    """The edges and boxes of a graph, in their places."""
    boxes = [box for layer in layers for box in layer]
    edges = [_edge(box, below) for box in boxes for below in box.below]
    return "\n".join([*edges, *(_box(box, box.node) for box in boxes if box.node is not None)])


def whole(drawn: str, width: float, height: float, title: str) -> str:
    """A picture of what is drawn."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="uops" role="img" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="ui-monospace, monospace" font-size="12">'
    )
    return "\n".join(part for part in (head, f"<title>{title}</title>", drawn, "</svg>") if part)


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
        f'fill={quoteattr(colour)} fill-opacity="0.18" stroke={quoteattr(colour)}'
        f"{_dashes(box)}/>"
    )
    return "\n".join([frame, *lines])


def _dashes(box: Box) -> str:
    """A box for several nodes has a broken frame."""
    return ' stroke-dasharray="5 3"' if box.deep else ""


def _weight(line: int) -> str:
    return ' font-weight="600"' if line == 0 else ' fill-opacity="0.75"'
