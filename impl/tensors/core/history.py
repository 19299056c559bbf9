"""
Histories
=========

What gradients need to know about lazy tensors. A tensor with `requires_grad` is a *leaf*: its graph begins with a
``Detach`` that carries the number of the leaf as its tag, so that two leaves of equal value are two nodes and what made
the value is left behind. A value that was computed and stored keeps, if it depends on a leaf, the graph that made it:
it is used like any stored value, and a derivative passes through the graph. One that depends on no leaf forgets its
graph, and knows only from which values it came: a derivative by one of those is refused, since it would be 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from weakref import WeakKeyDictionary, WeakSet

from soundline.spec.ops.node import rebuilt_nodes
from soundline.spec.ops.walks import filled
from soundline.spec.uop import Op, UOp, toposort

_MADE_BY: WeakKeyDictionary[UOp, UOp] = WeakKeyDictionary()
_CAME_FROM: WeakKeyDictionary[UOp, WeakSet[UOp]] = WeakKeyDictionary()
"""The stored values that one came from whose graph was forgotten."""
_TRACKED: WeakKeyDictionary[UOp, bool] = WeakKeyDictionary()
_NUMBERS = itertools.count()
_PAUSED: ContextVar[bool] = ContextVar("paused", default=False)


@dataclass(frozen=True, slots=True)
class Leaf:
    """The tag of a leaf."""

    number: int


def leaf(value: UOp) -> UOp:
    """A fresh leaf of this value."""
    return Op.Detach(value, tag=Leaf(next(_NUMBERS)))


def is_leaf(node: UOp) -> bool:
    """Whether this is the node of a leaf."""
    return node.op is Op.Detach and isinstance(node.tag, Leaf)


def is_result(node: UOp) -> bool:
    """Whether this is a stored value that remembers the graph that made it."""
    return node in _MADE_BY


def without_marks(node: UOp) -> UOp:
    """The node below those that only say that no gradient passes."""
    while node.op is Op.Detach:
        node = node.src[0]
    return node


def tracked(root: UOp) -> bool:
    """Whether a value depends on a leaf in a way that a derivative may follow."""

    def before(node: UOp) -> tuple[UOp, ...]:
        return () if node.op is Op.Detach else node.src

    def law(node: UOp) -> bool:
        return is_leaf(node) or node in _MADE_BY or any(_TRACKED[s] for s in before(node))

    return filled(_TRACKED, root, before, law)


def kept(value: UOp, graph: UOp) -> UOp:
    """A stored value, which remembers the graph that made it if a derivative may pass there.

    A leaf is left what it is, under its number; nothing need remember how its value was made.
    """
    if is_leaf(graph):
        return Op.Detach(value, tag=graph.tag)
    if tracked(graph):
        _MADE_BY[value] = graph
        _TRACKED.pop(value, None)
    else:
        sources = beginnings(graph)
        for node in beginnings(value):
            _CAME_FROM[node] = WeakSet(sources)
    return value


def beginnings(graph: UOp) -> set[UOp]:
    """The stored values that a value depends on, and those that they came from."""
    own = {n for n in toposort(graph) if n.op is Op.Buffer}
    return own.union(*(_CAME_FROM[n] for n in own if n in _CAME_FROM))


def whole(roots: Sequence[UOp]) -> tuple[list[UOp], dict[UOp, UOp]]:
    """Graphs with every stored value replaced by the graph that made it; and the stored values by those graphs."""
    stored: dict[UOp, UOp] = {}

    def below(node: UOp) -> tuple[UOp, ...]:
        return (_MADE_BY[node],) if node in _MADE_BY else node.src

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node not in _MADE_BY:
            return None
        stored[src[0]] = node
        return src[0]

    new = rebuilt_nodes(toposort(*roots, below=below), change, below)
    return [new[r] for r in roots], stored


def leaves(root: UOp) -> dict[int, list[UOp]]:
    """The leaves that a whole graph depends on, by number; a derivative passes no mark above them.

    A leaf has two nodes where some graphs are older than its computed value.
    """
    found: dict[int, list[UOp]] = {}
    seen: set[UOp] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if is_leaf(node):
            found.setdefault(node.tag.number, []).append(node)
        elif node.op is not Op.Detach:
            stack.extend(node.src)
    return dict(sorted(found.items()))


def came_from(node: UOp) -> WeakSet[UOp] | None:
    """The stored values that one came from whose graph was forgotten; None where it was not."""
    return _CAME_FROM.get(node)


@contextmanager
def no_grad() -> Iterator[None]:
    """In this context every tensor is used as if it were detached.

    >>> from soundline.impl.tensors.tensor import Tensor
    >>> w = Tensor([1.0, 2.0], requires_grad=True)
    >>> with no_grad():
    ...     (w * 2.0).requires_grad
    False
    """
    token = _PAUSED.set(True)
    try:
        yield
    finally:
        _PAUSED.reset(token)


def seen(node: UOp) -> UOp:
    """A graph as an operation is to use it: detached, where gradients are paused."""
    if _PAUSED.get() and tracked(node):
        return node.src[0] if is_leaf(node) else Op.Detach(node)
    return node
