"""
Errors of importers
===================

A model that cannot be imported is refused once, with everything that stands in the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from soundline.spec.errors import SoundlineError, UsageError


class ExtraMissing(UsageError):
    """A package that an importer needs is not installed."""


@dataclass(frozen=True, slots=True, order=True)
class UnsupportedOperator:
    """An operator that has no translation, and how many nodes of the model use it."""

    op_type: str
    domain: str
    opset: int
    count: int

    def __str__(self) -> str:
        name = f"{self.domain}.{self.op_type}" if self.domain else self.op_type
        return f"operator {name} (opset {self.opset}), {self.count} nodes"


@dataclass(frozen=True, slots=True)
class UnsupportedNode:
    """A node, input or initializer of a kind that is known, but not in this form: a dtype, an attribute, a mode."""

    name: str
    op_type: str
    reason: str

    def __str__(self) -> str:
        return f"{self.op_type} {self.name!r}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ValueNeeded(UnsupportedNode):
    """A node whose result has a shape that depends on values which only a call would bring."""

    inputs: tuple[str, ...]
    """The graph inputs whose values are needed."""


class UnsupportedModel(SoundlineError):
    """A model uses features that the importer does not support; lists all of them."""

    def __init__(self, operators: Sequence[UnsupportedOperator], nodes: Sequence[UnsupportedNode]) -> None:
        self.operators = tuple(operators)
        self.nodes = tuple(nodes)
        self.needed = tuple(dict.fromkeys(i for n in nodes if isinstance(n, ValueNeeded) for i in n.inputs))
        lines = [*map(str, self.operators), *map(str, self.nodes)]
        hint = f"give constants={{...}} with the values of {', '.join(self.needed)}" if self.needed else None
        super().__init__("this model is not supported:\n  " + "\n  ".join(lines), hint=hint)


class UnsupportedGraph(SoundlineError):
    """A graph uses what is not translated; carries all of it."""

    def __init__(self, ops: Mapping[str, int], nodes: Sequence[tuple[str, str]]) -> None:
        self.ops = dict(sorted(ops.items()))
        """The ops that have no translation, with how many nodes there are of each."""
        self.nodes = tuple(nodes)
        """Nodes of an op that is known, but not in this form: the op and the reason."""
        lines = [f"op {name}, {count} nodes" for name, count in self.ops.items()]
        lines += [f"{name}: {reason}" for name, reason in self.nodes]
        super().__init__("this graph is not supported:\n  " + "\n  ".join(lines))
