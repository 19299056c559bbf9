"""
Nests of rows
=============

A nest of rows is loops over rows around a Group of *parts*, each a nest by itself, that run one after the other in
every row. The stages work on its parts: `opened` gives them as they were, without what orders them, and `rowwise` puts
them together again.

*Invariant*: every part comes after those whose results it reads, so no value changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from soundline.impl.lower.graphs.loops import closed
from soundline.impl.lower.graphs.rebuilding import rebuilt, under
from soundline.impl.lower.linear.linearize import is_global, nest_of
from soundline.spec.uop import Op, UOp, over, substitute


def opened(nest: UOp) -> tuple[list[UOp], list[UOp]]:
    """The loops over rows, and the parts without what orders them; no loops, and the nest itself, where it has none."""
    ranges, body = nest_of(nest)
    if body.op is not Op.Group or not _is_ordered(body):
        return [], [nest]
    return ranges, list(rebuilt(body, lambda node, src: src[0] if _orders(over(node, src)) else None).src)


def _is_ordered(body: UOp) -> bool:
    parts = set(body.src)
    return any(n.op is Op.After and not parts.isdisjoint(n.src[1:]) for n in under(body))


def _orders(node: UOp) -> bool:
    return node.op is Op.After and any(s.op in (Op.End, Op.Store, Op.Group) for s in node.src[1:])


def assembled(rows: Sequence[UOp], parts: Sequence[UOp]) -> UOp:
    """Loops over rows around parts, each after those that store what it reads."""
    if not rows:
        (nest,) = parts
        return nest
    done: list[UOp] = []
    stored: dict[UOp, list[UOp]] = {}
    for part in parts:
        own = _stored_by(part)
        before = {b: Op.After(b, *effects) for b, effects in stored.items() if b not in own}
        done.append(substitute(part, before))
        for b in own:
            stored.setdefault(b, []).append(done[-1])
    return closed(Op.Group(*done), rows)


def rowwise(nest: UOp, change: Callable[[UOp], Iterable[UOp]]) -> list[UOp]:
    """A nest of which each part is changed, or a nest without rows that is."""
    rows, parts = opened(nest)
    found = [new for part in parts for new in change(part)]
    return [assembled(rows, found)] if rows else found


def _stored_by(part: UOp) -> set[UOp]:
    return {n.src[0].src[0] for n in under(part) if n.op is Op.Store}


def is_row(storage: UOp) -> bool:
    """Whether storage is a row, which belongs to one kernel."""
    return storage.op is Op.Buffer and not is_global(storage)
