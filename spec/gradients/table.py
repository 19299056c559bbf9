"""
The table of adjoints
=====================

What the sources of every op receive in reverse mode, or why they receive nothing, or why a derivative that reaches it
is an error: as the entry of the op says. Ids are ``uop-mul-adjoint`` and the like. The chapter `backward` composes
them.
"""

from __future__ import annotations

from soundline.spec.ops.adjoints import Adjoint, Nothing, Passes, Refused, Through
from soundline.spec.ops.node import Op
from soundline.spec.ops.table.entries import TABLE

__all__ = ["ADJOINTS", "Adjoint", "Nothing", "Passes", "Refused", "Through"]

ADJOINTS: dict[Op, Adjoint] = {op: entry.adjoint for op, entry in TABLE.items()}
"""The adjoint of every op."""
