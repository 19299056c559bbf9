"""
Folds that must be valid
========================

An invalid element that reaches a Reduce is an error of the whole program, though nobody looks at the result (U-01). So
of the right side it has to be shown that no Reduce meets one, even where a Where does not select it, or a Shrink or an
Index leaves it out. Where every element of a fold is part of the result, the comparison of elements has shown it.
"""

from __future__ import annotations

from collections.abc import Iterator

from soundline.spec import closed
from soundline.spec.node import UOp, toposort
from soundline.spec.op_schema import Op
from soundline.verify.smt.denotation import Reader
from soundline.verify.smt.elements import Apply, Bottom, Choice, Element, Fold, may_be_invalid
from soundline.verify.smt.formulas import FALSE, negation
from soundline.verify.smt.indexing import Path
from soundline.verify.smt.pieces import opened
from soundline.verify.smt.polynomials import ONE, ZERO, Poly
from soundline.verify.smt.replacing import within

PARTIAL = {Op.Where: (1, 2), Op.Shrink: (0,), Op.Index: (0,)}
"""The sources of which an op may not need every element."""


def folds_are_valid(reader: Reader, left: UOp, right: UOp) -> bool:
    """Whether the right side folds no invalid element that it does not need, wherever the left side is valid."""
    own = set(toposort(left))
    return all(_is_valid(reader, node) for node in _unneeded(right) if node not in own)


def _unneeded(root: UOp) -> Iterator[UOp]:
    """The Reduce nodes below a place from which not every element is needed."""
    seen: set[tuple[UOp, bool]] = set()
    stack = [(root, False)]
    while stack:
        node, partial = stack.pop()
        if (node, partial) in seen:
            continue
        seen.add((node, partial))
        if partial and node.op is Op.Reduce:
            yield node
        places = PARTIAL.get(node.op, ())
        stack += [(s, partial or k in places) for k, s in enumerate(node.src)]


def _is_valid(reader: Reader, node: UOp) -> bool:
    if not any(n.op in (Op.Index, Op.Stack) for n in toposort(node)):
        return True
    with reader.inside_fold():
        path: Path = frozenset()
        for loop in toposort(node):
            if loop.op is Op.Range and loop in closed.free_ranges(node):
                name = f"~loop {loop.arg.id}"
                size = reader.space.equations.reduce(reader.size(loop.src[0]))
                reader.ranges[loop] = Poly.of(name)
                path |= within(((name, size),))
        shape = reader.shape(node)
        places = tuple((f"~axis {k}", size) for k, size in enumerate(shape))
        path |= within(places)
        at = tuple(ZERO if size == ONE else Poly.of(name) for name, size in places)
        found = reader.element(node, at, path)
        return all(reader.space.shows(p, FALSE) for p in _invalid(reader, found, path))


def _invalid(reader: Reader, element: Element, path: Path) -> Iterator[Path]:
    """Under which conditions an element, or one that is folded for it, is invalid."""
    if not may_be_invalid(element):
        return
    match element:
        case Bottom():
            yield path
        case Apply():
            for operand in element.operands:
                yield from _invalid(reader, operand, path)
        case Choice():
            yield from _invalid(reader, element.then, path | {element.condition})
            yield from _invalid(reader, element.otherwise, path | {negation(element.condition)})
        case Fold():
            _, body, inside = opened(reader, element, path)
            yield from _invalid(reader, body, inside)
