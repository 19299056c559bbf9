"""
Types of a pattern
==================

The data that the steps of a pattern pass to each other, and the paths from the root of a match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from soundline.impl.analysis.facts import Facts
from soundline.spec.dtypes import DType
from soundline.spec.ops.node import Shape, UOp
from soundline.spec.rules.building import Env
from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import Term

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
    """The step that compares nothing: its term is compared late."""
    return True


def every_step(steps: Sequence[Step], parts: Sequence[Any], bound: Binding) -> bool:
    """Whether there are as many parts as steps, and each is as its step has it."""
    return len(steps) == len(parts) and all(s(p, bound) for s, p in zip(steps, parts, strict=True))


class Compiler(Protocol):
    """The compiler of a left side into steps, as the modules for special forms see it."""

    stated: Rule
    most: float
    """The highest rank at which the rule is applied."""
    late: list[Late]
    binds: set[str]
    bodies: dict[str, tuple[str, ...]]
    """The bodies that are bound, each with its ranges."""
    reductions: list[Path]
    """Where reductions stand."""

    def value(self, term: Term, path: Path, *, typed: bool) -> Step:
        """The step for a value term at `path` below the root; `typed` if an operand beside it has a dtype."""

    def whole(self, term: Term, path: Path, *, typed: bool = False) -> Step:
        """The step for what is moved or reduced as a whole; where it is a scalar, no view may repeat it."""

    def dtype_of_variable(self, name: str) -> Step:
        """The step that compares a node's dtype with that of a variable."""

    def is_dtype_of_rule(self, dtype: DType, bound: Binding) -> bool:
        """Whether this is the rule's dtype, which it becomes if that is not bound yet."""

    def computed(self, term: Term, path: Path) -> Step:
        """The step for a scalar that the other variables determine: compared when they are bound."""

    def vector(self, term: Term, found: Callable[[UOp], Shape]) -> Step:
        """The step for a shape, an offset or a stride, which is `found` again from the root of a match."""

    def size(self, name: object) -> Step:
        """The step for a size: a number, or a variable."""
