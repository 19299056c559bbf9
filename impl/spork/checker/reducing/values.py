"""
Values of terms
===============

The terms of a node, and their values for many iterations at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from soundline.impl.spork.checker.planning.plan import (
    Action,
    Alloc,
    Apart,
    Applied,
    Array,
    Arrive,
    Await,
    Check,
    Counted,
    For,
    Free,
    If,
    Node,
    Queue,
    Term,
    Threads,
    Var,
)
from soundline.spec.dtypes import index
from soundline.spec.ops.node import Op
from soundline.spec.values.elementwise import ELEMENTWISE

_MANY: dict[Op, Any] = {
    Op.Add: np.add,
    Op.Sub: np.subtract,
    Op.Mul: np.multiply,
    Op.Neg: np.negative,
    Op.Max: np.maximum,
    Op.CmpLt: np.less,
    Op.CmpLe: np.less_equal,
    Op.CmpGt: np.greater,
    Op.CmpGe: np.greater_equal,
    Op.CmpEq: np.equal,
    Op.CmpNe: np.not_equal,
}
"""Ops that are the same for many numbers, which all fit the dtype ``index``."""


def value(term: Term, at: Mapping[Var, np.ndarray]) -> np.ndarray:
    """The values of a term where its iterators have these."""
    match term:
        case Var():
            return at[term]
        case Applied(op, operands):
            parts = [value(operand, at) for operand in operands]
            if op in _MANY:
                return np.asarray(_MANY[op](*parts), np.int64)
            if op in {Op.Idiv, Op.Mod} and np.all(parts[1] > 0):
                return np.asarray((np.floor_divide if op is Op.Idiv else np.mod)(*parts), np.int64)
            one = np.frompyfunc(lambda *own: int(ELEMENTWISE[op](index, *map(int, own))), len(parts), 1)
            return np.asarray(one(*parts), np.int64)
        case _:
            return np.array(int(term))


def queues_of(node: Node) -> tuple[Queue, ...]:
    """The queues that a node has to do with."""
    match node:
        case Action(trailing=queues) | Arrive(queues=queues):
            return queues
        case Await(queue=queue):
            return (queue,)
    return ()


def terms_of(node: Node, arrays: tuple[Array, ...]) -> Iterator[Term]:
    """All terms by which what a node does differs between iterations, those of nodes below it left out."""
    match node:
        case For(lo=lo, hi=hi):  # its cuts say how it is run, not what it does
            yield from (lo, hi)
        case If(condition=condition) | Check(condition=condition):
            yield condition
        case Apart(one=one, other=other):
            yield from (region.first for region in (*one, *other))
        case Action(touches=touches):
            for touch in touches:
                yield from (region.first for region in touch.regions)
                yield from _shifts(touch.seen_by, touch.by)
        case Alloc(array=number) | Free(array=number):
            yield from _shifts(*arrays[number].owners)
    for queue in queues_of(node):
        yield from queue.at
    if not isinstance(node, If | Counted) and hasattr(node, "place"):
        yield from _shifts(node.place.threads)


def _shifts(*threads: Threads | None) -> Iterator[Term]:
    yield from (t.shift for t in threads if t is not None and t.shift != 0)
