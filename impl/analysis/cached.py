"""
Memoized properties of nodes
============================

A table of what is known of nodes, which keeps no node alive. Lookups in it are the most frequent operation of lowering.
So it is a dict of weak references, and an entry is dropped with its node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import ref

from soundline.spec.ops.node import UOp

T = TypeVar("T")


class Remembered(Generic[T]):
    """What is known of each node."""

    __slots__ = ("__weakref__", "data")

    def __init__(self) -> None:
        self.data: dict[ref[UOp], T] = {}

    def __getitem__(self, node: UOp) -> T:
        """What is known of a node; KeyError where nothing is."""
        return self.data[ref(node)]

    def __setitem__(self, node: UOp, value: T) -> None:
        """Remember it as long as the node lives."""
        self.data[ref(node, self.data.pop)] = value

    def __contains__(self, node: UOp) -> bool:
        """Whether anything is known of a node."""
        return ref(node) in self.data

    def __len__(self) -> int:
        """Of how many nodes something is known."""
        return len(self.data)

    def found(self, node: UOp, law: Callable[[UOp], T]) -> T:
        """The value of a law at a node; the law may look up the sources in this table. No node is computed twice."""
        data = self.data
        stack = [node]
        while stack:
            top = stack[-1]
            waiting = [s for s in top.src if ref(s) not in data]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            if ref(top) not in data:
                data[ref(top, data.pop)] = law(top)
        return data[ref(node)]
