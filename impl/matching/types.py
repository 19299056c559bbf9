"""
Types of a pattern
==================

What the steps of a pattern hand to each other, and how they find their way from the root of a match.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soundline.impl.analysis.facts import Facts
from soundline.spec.ops.node import UOp
from soundline.spec.rules.building import Env

Binding = dict[str, Any]
"""What the variables are bound to so far, and under `DTYPE` the rule's dtype."""

Step = Callable[[Any, Binding], bool]
"""Compares a part of the program with a part of the left side; binds variables."""

Late = Callable[[UOp, Env, Facts], bool]
"""A comparison that needs all variables bound: the root of the match, the bindings, and what is known of nodes."""

DTYPE = "dtype of the rule"

Path = tuple[int, ...]
"""The way from the root of a match to a node: which source to take at each step."""


def node_at(root: UOp, path: Path) -> UOp:
    """The node at the end of a path."""
    for k in path:
        root = root.src[k]
    return root


def anything(part: Any, bound: Binding) -> bool:
    """The step that compares nothing: what it stands for is compared late."""
    return True
