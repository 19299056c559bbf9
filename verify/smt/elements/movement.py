"""
What movement denotes
=====================

A movement op maps each position of its result to a position of its source; outside of what is padded stands a zero, and
outside of what is indexed nothing valid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from soundline.spec.dtypes import zero_of
from soundline.spec.ops.node import Op, UOp
from soundline.verify.smt.elements.elements import Bottom, Element, choice, constant
from soundline.verify.smt.elements.indexing import Index, Path
from soundline.verify.smt.integers.formulas import at_least_zero, conjunction, equal, less
from soundline.verify.smt.integers.polynomials import Poly

if TYPE_CHECKING:
    from soundline.verify.smt.elements.reader import Reader


def _permute(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    return reader.element(node.src[0], tuple(at[node.arg.index(k)] for k in range(len(at))), path)


def _flip(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    rows = zip(at, reader.shape(node), node.arg, strict=True)
    return reader.element(node.src[0], tuple(size - 1 - i if flag else i for i, size, flag in rows), path)


def _reshape(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    source = node.src[0]
    moved = reader.space.unflatten(at, reader.shape(node), reader.shape(source), path)
    return reader.element(source, moved, path)


def _expand(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    source = node.src[0]
    sizes = reader.shape(source)
    rows = zip(at, sizes, reader.shape(node), strict=True)
    moved = tuple(reader.space.chosen(i, size, new, path) for i, size, new in rows)
    reader.space.inside(path, moved, sizes)
    return reader.element(source, moved, path)


def _pad(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    source = node.src[0]
    moved = tuple(i - o for i, o in zip(at, reader.named(node.src[1]), strict=True))
    rows = zip(moved, reader.shape(source), strict=True)
    inside = conjunction(c for i, size in rows for c in (at_least_zero(i), less(i, size)))
    condition, within = reader.guarded(inside, path)
    return choice(condition, reader.element(source, moved, within), constant(node.dtype, zero_of(node.dtype)))


def _shrink(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    source = node.src[0]
    moved = tuple(i + o for i, o in zip(at, reader.named(node.src[1]), strict=True))
    reader.space.inside(path, moved, reader.shape(source))
    return reader.element(source, moved, path)


def _index(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    source, indices = node.src[0], node.src[1:]
    sizes = reader.shape(source)
    elements: list[Element] = []
    rest = at
    for i in indices:
        here, rest = rest[: len(i.shape or ())], rest[len(i.shape or ()) :]
        elements.append(reader.element(i, here, path))

    def chosen(valid: tuple[Element, ...], path: Path) -> Element:
        place = tuple(map(reader.number, valid))
        rows = zip(place, sizes, strict=False)
        inside = conjunction(c for i, size in rows for c in (at_least_zero(i), less(i, size)))
        condition, within = reader.guarded(inside, path)
        return choice(condition, reader.element(source, (*place, *rest), within), Bottom(node.dtype))

    return reader.strict(node.dtype, tuple(elements), path, chosen)


def _stack(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    first = reader.space.equations.reduce(at[0])
    if first.constant is not None and 0 <= first.constant < len(node.src):
        return reader.element(node.src[first.constant], at[1:], path)
    if first.constant is not None or not node.src:
        return Bottom(node.dtype)
    found = reader.element(node.src[-1], at[1:], path)  # a position that is read lies inside
    for k in reversed(range(len(node.src) - 1)):
        condition, within = reader.guarded(equal(first, Poly.of(k)), path)
        found = choice(condition, reader.element(node.src[k], at[1:], within), found)
    return found


MOVEMENT_LAWS: Final = {
    Op.Permute: _permute,
    Op.Flip: _flip,
    Op.Reshape: _reshape,
    Op.Expand: _expand,
    Op.Pad: _pad,
    Op.Shrink: _shrink,
    Op.Index: _index,
    Op.Stack: _stack,
}
"""The denotation of the ops that move elements."""
