"""
What a Bitcast denotes
======================

Elements of the same size correspond one to one. Where the size changes, the last axis does (U-23): an item that is
smaller is cut out of the bits of one element, at the quotient of its position by the ratio of the sizes, and the
remainder says which bits; an item that is greater is put together from as many neighbouring elements, the lowest bits
first. Both are said in ops on integers without a sign, so the scalar laws know all about them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from soundline.spec.dtypes import DType, index, uints
from soundline.spec.ops.node import Op, UOp, toposort
from soundline.verify.smt.elements.elements import Element, choice, constant
from soundline.verify.smt.elements.indexing import Index, Path
from soundline.verify.smt.elements.numbers import quotient
from soundline.verify.smt.integers.formulas import equal
from soundline.verify.smt.integers.polynomials import Poly

if TYPE_CHECKING:
    from soundline.verify.smt.elements.reader import Reader

BITS = {dtype.itemsize: dtype for dtype in uints}
"""The integers without a sign, by their size in bytes."""


def _bitcast(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    """How the axes change depends on the dtype, so nothing is said of other dtypes."""
    reader.by_law = True
    source = _stored(node.src[0])
    if source.dtype.itemsize > node.arg.itemsize:
        return _cut(reader, source, node.arg, at, path)
    if source.dtype.itemsize < node.arg.itemsize:
        return _joined(reader, source, node.arg, at, path)
    operands = (reader.element(source, at, path),)
    return reader.strict(node.arg, operands, path, lambda valid, _: _as(reader, node.arg, valid[0]))


def _stored(node: UOp) -> UOp:
    """What holds the bytes of a value: an integer in between keeps them, where nothing below it can be invalid.

    A float does not, which makes all NaN one; nor does an item of which some bytes alone are invalid.
    """
    while node.op is Op.Bitcast and node.dtype.is_int:
        if any(n.op is Op.Index or (n.op is Op.Reduce and n.dtype is index) for n in toposort(node)):
            break
        node = node.src[0]
    return node


def _cut(reader: Reader, source: UOp, target: DType, at: Index, path: Path) -> Element:
    """An item of fewer bytes than the element in which it lies."""
    ratio = source.dtype.itemsize // target.itemsize
    whole = quotient(reader, at[-1], Poly.of(ratio), path)
    place = reader.space.equations.reduce(at[-1] - whole * ratio)
    moved = (*at[:-1], whole)
    reader.space.inside(path, moved, reader.shape(source))
    operands = (reader.element(source, moved, path),)
    return reader.strict(target, operands, path, partial(_item, reader, target, place, ratio))


def _item(
    reader: Reader, target: DType, place: Poly, ratio: int, operands: tuple[Element, ...], path: Path
) -> Element:
    """The item at a place, from 0 up to the ratio, in the bits of an element."""
    (element,) = operands
    held, cut = BITS[element.dtype.itemsize], BITS[target.itemsize]
    bits = _as(reader, held, element)

    def item(k: int) -> Element:
        shifted = reader.operation(Op.Shr, held, (bits, constant(held, 8 * cut.itemsize * k))) if k else bits
        return _as(reader, target, reader.operation(Op.Cast, cut, (shifted,)))

    if place.constant is not None:
        return item(place.constant)
    found = item(ratio - 1)
    for k in reversed(range(ratio - 1)):
        condition, _ = reader.guarded(equal(place, Poly.of(k)), path)
        found = choice(condition, item(k), found)
    return found


def _joined(reader: Reader, source: UOp, target: DType, at: Index, path: Path) -> Element:
    """An item of the bytes of several neighbouring elements."""
    ratio = target.itemsize // source.dtype.itemsize
    places = [(*at[:-1], at[-1] * ratio + k) for k in range(ratio)]
    for place in places:
        reader.space.inside(path, place, reader.shape(source))
    operands = tuple(reader.element(source, place, path) for place in places)
    return reader.strict(target, operands, path, lambda valid, _: _join(reader, target, valid))


def _join(reader: Reader, target: DType, elements: tuple[Element, ...]) -> Element:
    """The bits of elements as one element, the first one lowest."""
    held = BITS[target.itemsize]
    found: Element | None = None
    for k, element in enumerate(elements):
        size = element.dtype.itemsize
        bits = reader.operation(Op.Cast, held, (_as(reader, BITS[size], element),))
        if k:
            bits = reader.operation(Op.Shl, held, (bits, constant(held, 8 * size * k)))
        found = bits if found is None else reader.operation(Op.Or, held, (found, bits))
    assert found is not None
    return _as(reader, target, found)


def _as(reader: Reader, dtype: DType, element: Element) -> Element:
    """The bits of an element as another dtype of its size."""
    return element if element.dtype is dtype else reader.operation(Op.Bitcast, dtype, (element,))


BIT_LAWS: Final = {Op.Bitcast: _bitcast}
"""The denotation of a Bitcast."""
