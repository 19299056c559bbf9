"""
Walks
=====

The order in which graphs are traversed: each node once, after everything below it. There is no recursion, since
programs are deep. The caller says what lies below a node, so that a traversal may stop at leaves, stay in one body, or
follow a relation that is not an edge of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
V = TypeVar("V")


def postorder(roots: Iterable[T], below: Callable[[T], Sequence[T]]) -> list[T]:
    """All that the roots reach by way of `below`, once each, and after all that lies below it."""
    met: set[T] = set()
    order: list[T] = []
    stack: list[Any] = [*roots][::-1]
    while stack:
        node = stack.pop()
        if node is None:  # what lies below this mark comes after all that lies below it
            order.append(stack.pop())
        elif node not in met:
            met.add(node)
            inside = below(node)
            if inside:
                stack.append(node)
                stack.append(None)
                stack += inside[::-1]
            else:
                order.append(node)
    return order


def filled(
    found: MutableMapping[T, V], root: T, below: Callable[[T], Sequence[T]], law: Callable[[T], V]
) -> V:
    """The value of a law at a root, after its values at everything below; `found` memoizes these values."""
    for node in postorder((root,), lambda n: () if n in found else below(n)):
        if node not in found:
            found[node] = law(node)
    return found[root]
