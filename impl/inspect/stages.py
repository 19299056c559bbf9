"""
Drawing stages
==============

A program after a stage as SVG. A Function is drawn as its graph (`impl.inspect.graphs`). A list of kernels is drawn one
kernel below the other, each as the graph of its values. Index arithmetic is written in the box that uses it, as a
reader would write it. The loops around a store, or inside a reduction, are lines of its box. A kernel that is a
sequence of instructions, and the rendered text, are drawn as listings (`impl.inspect.listings`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from soundline.impl.inspect.graphs import (
    LINE,
    MARGIN,
    MOST,
    Graph,
    Layers,
    cut,
    drawn_layers,
    laid_out,
    svg,
    whole,
    width_of,
)
from soundline.impl.inspect.listings import Listing, lines_of
from soundline.impl.inspect.texts import expression, is_index, loop_text, place_text
from soundline.impl.lower.linear.linearize import nest_of
from soundline.spec.ops.textual_form import arg_text
from soundline.spec.uop import Op, UOp, toposort

KERNELS = 12
"""The most kernels that are drawn; the number of the others is written below."""


def stage_picture(program: UOp, most: int = MOST) -> str:
    """The picture of a program after a stage."""
    if program.op is not Op.Linear:
        return svg(program, most=most)
    parts: list[str] = []
    y = widest = MARGIN
    for number, kernel in enumerate(program.src[:KERNELS]):
        parts.append(_heading(f"kernel {number}", y))
        y += LINE + MARGIN
        drawn, width, height = _kernel(kernel, y, most)
        parts.append(drawn)
        y, widest = y + height + 2 * LINE, max(widest, width)
    if len(program.src) > KERNELS:
        parts.append(_heading(f"and {len(program.src) - KERNELS} more kernels", y))
        y += LINE + MARGIN
    return whole("\n".join(parts), max(widest, 200.0), y, "The kernels of a program")


def _heading(text: str, y: float) -> str:
    return f'<text x="{MARGIN}" y="{y + LINE:.1f}" fill="currentColor" font-weight="600">{text}</text>'


def _kernel(kernel: UOp, y: float, most: int) -> tuple[str, float, float]:
    """A kernel below y, and its width and height."""
    if kernel.op is Op.Linear:
        listing = Listing(lines_of(kernel))
        return listing.drawn(y), listing.width, listing.height
    layers = laid_out(graph_of(kernel), most)
    boxes = [box for layer in layers for box in layer]
    height = max((b.y + b.height for b in boxes), default=0.0)
    _lower(layers, y)
    return drawn_layers(layers), width_of(layers), height


def _lower(layers: Layers, y: float) -> None:
    for layer in layers:
        for box in layer:
            box.y += y


# The graph of a kernel --------------------------------------------------------------------------------------------


def graph_of(kernel: UOp) -> Graph:
    """The values and effects of a Sink; places, loops and index arithmetic are no nodes of their own."""
    around: dict[UOp, list[UOp]] = {}
    for effect in kernel.src:
        ranges, body = nest_of(effect)
        for store in body.src if body.op is Op.Group else (body,):
            around[store] = ranges
    nodes = [n for n in toposort(kernel) if n is not kernel and _stands(n)]
    found = {n: tuple(_used_by(n)) for n in nodes}
    return Graph(
        nodes,
        lambda n: found.get(n, ()),
        lambda n: _label(n, around.get(n, [])),
        frozenset(),
    )


def _stands(node: UOp) -> bool:
    """Whether a node has a box: a value that is no index, or an effect."""
    if node.op in (Op.Load, Op.Reduce, Op.Wmma, Op.Custom, Op.AtomicAdd, Op.Barrier, Op.Call):
        return True
    if node.op is Op.Store:
        return True
    if node.shape is None or node.op in (
        Op.Const,
        Op.Buffer,
        Op.Param,
        Op.Index,
        Op.After,
        Op.Slice,
        Op.Range,
    ):
        return False
    return not is_index(node)


def _used_by(node: UOp) -> Iterator[UOp]:
    """The nearest nodes with boxes that a node uses, in their order."""
    met = toposort(*node.src, below=lambda source: () if _stands(source) else source.src)
    return (source for source in met if _stands(source))


def _label(node: UOp, around: Sequence[UOp]) -> tuple[str, ...]:
    """The label of a box: the op with the places and indices in it, its result, and the loops around it."""
    lines = [cut(_said(node))]
    if node.shape is not None:
        lines.append(f"{node.dtype}{list(node.shape)}")
    loops = [loop_text(r) for r in (node.src[1:] if node.op is Op.Reduce else around) if r.op is Op.Range]
    lines += [cut(("over " if node.op is Op.Reduce else "for ") + ", ".join(loops))] * bool(loops)
    return tuple(lines)


def _said(node: UOp) -> str:
    if node.op in (Op.Load, Op.Store):
        place, *rest = node.src
        gate = rest[-1] if len(rest) == 2 else None
        return f"{node.op.name} {place_text(place)}" + (f" if {expression(gate)}" if gate is not None else "")
    if node.op is Op.Reduce:
        axes = f", axes {', '.join(map(str, node.arg.axes))}" if node.arg.axes else ""
        return f"Reduce {node.arg.op.name}{axes}"
    operands = [expression(s) if not _stands(s) else "·" for s in node.src]
    arg = "" if node.arg is None else f" {arg_text(node.arg)}"
    shaped = any(o != "·" for o in operands) and node.op not in (Op.Reshape, Op.Expand)
    return f"{node.op.name}({', '.join(operands)}){arg}" if shaped else f"{node.op.name}{arg}"
