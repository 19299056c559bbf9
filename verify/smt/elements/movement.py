"""
What movement denotes
=====================

A movement op maps each position of its result to a position of its source. The laws that say how
(`spec.arrays.movement`) are read here on symbolic positions, so what is proved of an op is proved of what the evaluator
does and lowering makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from soundline.spec.arrays.movement import LAWS, MOVES, Given, index_parts
from soundline.spec.ops.node import Op, UOp
from soundline.verify.smt.elements.elements import Bottom, Element, choice, constant
from soundline.verify.smt.elements.indexing import Index, Path, Positions
from soundline.verify.smt.integers.formulas import TRUE, equal
from soundline.verify.smt.integers.polynomials import Poly

if TYPE_CHECKING:
    from soundline.verify.smt.elements.reader import Reader


def _moved(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    given = Given((reader.shape(node.src[0]),), node.arg, tuple(map(reader.named, node.src[1:])))
    return _read(reader, node, given, at, path)


def _read(reader: Reader, node: UOp, given: Given[Poly], at: Index, path: Path) -> Element:
    """The element of the source where the law says that it is read, and elsewhere what the law says."""
    law, a = LAWS[node.op], Positions(reader.space, path)
    place = law.index(a, given, at)
    condition, within = reader.guarded(law.inside(a, given, place), path)
    if condition == TRUE:
        reader.space.inside(path, place, given.shape)
    other = Bottom(node.dtype) if law.fill is None else constant(node.dtype, law.fill(node.dtype))
    return choice(condition, reader.element(node.src[0], place, within), other)


def _index(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    shapes = tuple(map(reader.shape, node.src))
    parts = index_parts(Given(shapes), at)
    elements = tuple(reader.element(i, part, path) for i, part in zip(node.src[1:], parts, strict=True))

    def read(valid: tuple[Element, ...], path: Path) -> Element:
        held = tuple((reader.number(element),) for element in valid)
        return _read(reader, node, Given(shapes, numbers=held), at, path)

    return reader.strict(node.dtype, elements, path, read)


def _stack(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    first = reader.space.equations.reduce(at[0])
    rest = LAWS[Op.Stack].index(Positions(reader.space, path), Given(()), at)
    if first.constant is not None and 0 <= first.constant < len(node.src):
        return reader.element(node.src[first.constant], rest, path)
    if first.constant is not None or not node.src:
        return Bottom(node.dtype)
    found = reader.element(node.src[-1], rest, path)  # a position that is read lies inside
    for k in reversed(range(len(node.src) - 1)):
        condition, within = reader.guarded(equal(first, Poly.of(k)), path)
        found = choice(condition, reader.element(node.src[k], rest, within), found)
    return found


MOVEMENT_LAWS: Final = {**dict.fromkeys(MOVES, _moved), Op.Index: _index, Op.Stack: _stack}
"""The denotation of the ops that move elements."""
