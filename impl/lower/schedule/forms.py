"""
Forms
=====

In which form each value of a linear kernel is held, and how it is moved: what a renderer spells. What is not said here
is a scalar, or lanes that are computed one by one.

A value is a vector of the machine where its whole surroundings are: what it is made of, and all that reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from soundline.impl.lower.schedule import transfers
from soundline.impl.lower.schedule.transfers import Transposed
from soundline.impl.lower.schedule.vector_types import Vector, is_fill, is_whole, vector_of
from soundline.spec.uop import Op, UOp, toposort


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of one kernel."""

    vectors: Mapping[UOp, Vector]
    """The values and registers that are vectors, and the stores of such."""
    transposed: Mapping[UOp, Transposed]
    """The stores that go by blocks."""
    beside: Mapping[UOp, tuple[int, ...]]
    """Of each other store of lanes, the axes that come last."""
    past: frozenset[UOp]
    """The storage that is written past the caches."""
    ahead: Mapping[UOp, int]
    """The loads with which a place of the next row is fetched, and how many bytes further that is."""


def forms_of(program: UOp) -> list[Forms]:
    """The forms of every kernel of a planned Linear of Linears."""
    past = transfers.past(program)
    return [_forms(kernel, past) for kernel in program.src]


def _forms(kernel: UOp, past: frozenset[UOp]) -> Forms:
    vectors = _vectors(list(toposort(*kernel.src)))
    stores = [n for n in kernel.src if n.op is Op.Store and n.src[1].shape and n not in vectors]
    transposed = {n: found for n in stores if (found := transfers.transposed(n)) is not None}
    beside = {n: transfers.beside(n) for n in stores if n not in transposed}
    return Forms(vectors, transposed, beside, past, transfers.ahead(kernel, vectors))


def _vectors(nodes: Sequence[UOp]) -> dict[UOp, Vector]:
    """The vectors among the values, stores and registers of a kernel."""
    found = {n: v for n in nodes if not is_fill(n) and (v := _may_be(n)) is not None}
    users: dict[UOp, list[UOp]] = {}
    for node in nodes:
        for source in node.src:
            users.setdefault(source, []).append(node)
    while lost := [n for n in found if not _fits(n, found, users.get(n, ()))]:
        for node in lost:
            del found[node]
    return found


def _may_be(node: UOp) -> Vector | None:
    """The vector that a value is by itself, or that a store writes."""
    if node.op is not Op.Store:
        return vector_of(node)
    return vector_of(node.src[1]) if len(node.src) == 2 and is_whole(node.src[0]) else None


def _fits(node: UOp, found: Mapping[UOp, Vector], users: Sequence[UOp]) -> bool:
    """Whether what a node reads, and all that read it, are vectors too; a repeated scalar may be read in any way."""
    if not all(s in found or is_fill(s) for s in _read(node)):
        return False
    return node.op is Op.Store or all(u in found or _looks_on(u) for u in users)


def _read(node: UOp) -> Sequence[UOp]:
    """What a node is made of: not places in memory, nor what only comes before it."""
    if node.op is Op.After:
        return node.src[:1]
    return [s for s in node.src if s.op is not Op.Index] if node.op in (Op.Load, Op.Store) else node.src


def _looks_on(user: UOp) -> bool:
    """Whether a user only orders: it reads no element."""
    return user.op in (Op.End, Op.Range, Op.Linear, Op.Group)
