"""
What reductions denote
======================

A Reduce binds an index along each axis, or for each range, that it reduces, and reduces the elements at these indices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from soundline.spec.dtypes import index
from soundline.spec.ops.node import Op, UOp
from soundline.verify.smt.elements.elements import Bottom, Element, Number, Unsupported
from soundline.verify.smt.elements.indexing import Index, Path
from soundline.verify.smt.integers.polynomials import ZERO, Poly

if TYPE_CHECKING:
    from soundline.verify.smt.elements.reader import Reader


def _reduce(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    """A reduction over axes in row-major order, or over ranges, the first of which is the outermost (U-10)."""
    with reader.inside_reduction():
        indices, sizes, inside = (_bound_ranges if len(node.src) > 1 else _bound_axes)(reader, node, path)
        if ZERO in sizes:
            body: Element = Bottom(node.dtype)
        else:
            own = dict(zip(sorted(node.arg.axes), indices, strict=False))
            body = reader.element(node.src[0], tuple(own.get(k, i) for k, i in enumerate(at)), inside)
    return reader.reduced(node.arg.op, node.dtype, indices, sizes, body, path)


def _bound_axes(reader: Reader, node: UOp, path: Path) -> tuple[Index, Index, Path]:
    """Indices along the reduced axes, their sizes, and the path on which they lie inside."""
    shape = reader.shape(node.src[0])
    sizes = tuple(shape[k] for k in sorted(node.arg.axes))
    indices: list[Poly] = []
    for number, size in enumerate(sizes):
        found, path = reader.bind(number, size, path)
        indices.append(found)
    return tuple(indices), sizes, path


def _bound_ranges(reader: Reader, node: UOp, path: Path) -> tuple[Index, Index, Path]:
    """The same of ranges; the bound of one may depend on those before it."""
    indices: list[Poly] = []
    sizes: list[Poly] = []
    for number, loop in enumerate(node.src[1:]):
        sizes.append(reader.space.equations.reduce(reader.size(loop.src[0])))
        reader.ranges[loop], path = reader.bind(number, sizes[-1], path)
        indices.append(reader.ranges[loop])
    return tuple(indices), tuple(sizes), path


def _range(reader: Reader, node: UOp, at: Index, path: Path) -> Element:
    if node not in reader.ranges:
        raise Unsupported("a Range that no Reduce closes has no meaning for the prover")
    return Number(index, reader.ranges[node])


FOLD_LAWS: Final = {Op.Reduce: _reduce, Op.Range: _range}
"""The denotation of a reduction, and of a range inside it."""
