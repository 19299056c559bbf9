"""
Reductions that must be valid
=============================

An invalid element that reaches a Reduce is an error of the whole program, even if its result is not used (U-01). So of
the right side it has to be shown that no Reduce meets one, even where a Where does not select it, or a Shrink or an
Index leaves it out, and where an op may lose it: ``s - s`` and ``0 · s`` are 0 and ``s == s`` is True whatever s is,
but not if s is invalid. Where every element of a reduction is part of the result, and is taken there by movement, by
reductions and by ops of one operand, the comparison of elements has shown it.

What the left side reduces too is valid where that is valid, unless it stands in a loop, which may never be run.
"""

from __future__ import annotations

from collections.abc import Iterator

from soundline.spec.dtypes import bool_, index
from soundline.spec.ops import bodies
from soundline.spec.ops.node import Op, UOp, toposort
from soundline.spec.ops.table import group_of
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import Apply, Bottom, Choice, Element, Reduction, may_be_invalid
from soundline.verify.smt.elements.indexing import Path
from soundline.verify.smt.elements.substitution import within
from soundline.verify.smt.integers.formulas import FALSE, negation
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly
from soundline.verify.smt.reductions.pieces import opened

_WHOLE = frozenset(
    (Op.Permute, Op.Flip, Op.Reshape, Op.Expand, Op.Pad, Op.Stack, Op.Reduce, *group_of("marker"))
)
"""The ops that take every element of their sources into what they make."""


def reductions_are_valid(reader: Denotation, left: UOp, right: UOp) -> bool:
    """Whether the right side reduces no invalid element that it does not need, wherever the left side is valid."""
    own = set(_always_met(left))
    return all(_is_valid(reader, node) for node in _unneeded(right) if node not in own)


def _always_met(root: UOp) -> Iterator[UOp]:
    """The nodes that have a value wherever the root has one: not those that are met in a loop alone."""
    return toposort(root, below=lambda n: n.src[1:] if n.op is Op.Reduce and len(n.src) > 1 else n.src)


def _unneeded(root: UOp) -> Iterator[UOp]:
    """The Reduce nodes below an op that may not need every element, or does not show that it had it."""
    seen: set[tuple[UOp, bool]] = set()
    stack = [(root, False)]
    while stack:
        node, partial = stack.pop()
        if (node, partial) in seen:
            continue
        seen.add((node, partial))
        if partial and node.op is Op.Reduce:
            yield node
        stack += [(s, partial or not _takes_all(node)) for s in node.src]


def _takes_all(node: UOp) -> bool:
    """Whether what an op makes shows every element of its sources; nothing else does that of a bool."""
    return node.op in _WHOLE or (len(node.src) == 1 and bool_ not in (node.dtype, node.src[0].dtype))


def _is_valid(reader: Denotation, node: UOp) -> bool:
    if not any(_may_be_invalid(n) for n in toposort(node) if n is not node):
        return True
    with reader.inside_reduction():
        path = _loops_around(reader, node)
        shape = reader.shape(node)
        places = tuple((f"~axis {k}", size) for k, size in enumerate(shape))
        path |= within(places)
        at = tuple(ZERO if size == ONE else Poly.of(name) for name, size in places)
        found = _folded(reader.element(node, at, path), reader, node)
        return is_valid(reader, found, path)


def _loops_around(reader: Denotation, node: UOp) -> Path:
    """That the loops run in which a node stands, whose indices get names."""
    path: Path = frozenset()
    for loop in toposort(node):
        if loop.op is Op.Range and loop in bodies.free_ranges(node):
            name = f"~loop {loop.arg.id}"
            size = reader.space.equations.reduce(reader.size(loop.src[0]))
            reader.ranges[loop] = Poly.of(name)
            path |= within(((name, size),))
    return path


def is_in_loops(condition: UOp) -> bool:
    """Whether a condition depends on the indices of loops, so that it is one at every iteration."""
    return bool(bodies.free_ranges(condition))


def holds_in_loops(reader: Denotation, condition: UOp) -> bool:
    """Whether a condition is shown at every iteration of the loops in which it stands."""
    with reader.inside_reduction():
        path = _loops_around(reader, condition)
        return reader.space.shows(path, reader.condition(condition))


def is_valid(reader: Denotation, element: Element, path: Path) -> bool:
    """Whether an element, and all that is reduced for it, is shown to be valid along a path."""
    return all(reader.space.shows(p, FALSE) for p in _invalid(reader, element, path))


def _folded(element: Element, reader: Denotation, node: UOp) -> Element:
    """The element of a reduction without the case that it has none: what is invalid then has not met a Reduce yet."""
    loops = [loop.src[0] for loop in node.src[1:]]
    if not all(bodies.free_ranges(size) <= reader.ranges.keys() for size in loops):
        return element
    source = reader.shape(node.src[0])
    sizes = [*(source[k] for k in node.arg.axes), *map(reader.size, loops)]
    if all(reader.space.equations.reduce(size) == ONE for size in sizes):
        return element  # which is the only one that is reduced
    if (
        isinstance(element, Choice)
        and isinstance(element.then, Reduction)
        and isinstance(element.otherwise, Bottom)
    ):
        return element.then
    return element


def _may_be_invalid(node: UOp) -> bool:
    """Whether an op makes an invalid element of valid ones: what it reads lies outside, or there is no greatest."""
    if node.op is Op.Reduce:
        return node.dtype is index and node.arg.op is Op.Max
    return node.op in (Op.Index, Op.Stack)


def _invalid(reader: Denotation, element: Element, path: Path) -> Iterator[Path]:
    """Under which conditions an element, or one that is reduced for it, is invalid."""
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
        case Reduction():
            _, body, inside = opened(reader, element, path)
            yield from _invalid(reader, body, inside)
