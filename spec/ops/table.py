"""
The op table
============

One entry for every op of the language. All else about an op hangs on its entry: the checks of the constructor
(`constraints`), the five derived properties (`derived_props`), its values (`evaluate`), its meaning for the prover,
its page in the documentation and its row in the status matrix.
"""

from __future__ import annotations

from soundline.spec.ops import elementwise, program, tensor
from soundline.spec.ops.node import Op
from soundline.spec.ops.schema import PROPERTIES, Constraint, Entry, Group, Source

__all__ = [
    "PROPERTIES",
    "TABLE",
    "Constraint",
    "Entry",
    "Group",
    "Op",
    "Source",
    "constraint_text",
    "group_of",
]

TABLE: dict[Op, Entry] = {e.op: e for e in (*tensor.ENTRIES, *elementwise.ENTRIES, *program.ENTRIES)}


def group_of(*groups: Group) -> tuple[Op, ...]:
    """The ops of these groups, in table order."""
    return tuple(op for op, e in TABLE.items() if e.group in groups)


def constraint_text(constraint_id: str) -> str:
    """The sentence of a constraint id; raises ``KeyError`` for an id that no entry has."""
    return {c.id: c.text for e in TABLE.values() for c in e.constraints}[constraint_id]
