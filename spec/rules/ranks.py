"""
Ranks of a rule
===============

Which variables of a rule must have one rank. Movement ops other than Reshape, elementwise ops and per-axis arithmetic
join the ranks of what they touch; each class that remains is instantiated at every rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from soundline.spec.errors import RuleError
from soundline.spec.ops.node import Op
from soundline.spec.rules.choices import Static
from soundline.spec.rules.language import Rule
from soundline.spec.rules.notation import Term, named_sizes, show

RANKED = ("Tensor", "Shape", "Offset", "Perm", "Flags", "Axes")

Class = str | int | None
"""A variable that stands for its class, a known rank, or nothing that has a rank of its own."""


class _Classes:
    """A union-find over the variables of a rule and known ranks."""

    def __init__(self, stated: Rule) -> None:
        self.stated = stated
        self.parent: dict[str | int, str | int] = {}

    def find(self, x: str | int) -> str | int:
        while self.parent.setdefault(x, x) != x:
            x = self.parent[x]
        return x

    def join(self, a: Class, b: Class, where: Term) -> Class:
        if a is None or b is None:
            return b if a is None else a
        a, b = self.find(a), self.find(b)
        if isinstance(a, int) and isinstance(b, int) and a != b:
            raise RuleError(
                f"{show(where)} joins rank {a} with rank {b}",
                file=self.stated.file,
                line=self.stated.line,
                rule=self.stated.id,
            )
        if isinstance(a, int):
            a, b = b, a
        self.parent[a] = b
        return b


def rank_classes(stated: Rule) -> dict[str, str | int]:
    """The class of every variable that has a rank: a variable's name that stands for it, or a known rank.

    Raises ``RuleError``, with file and line, where the rule joins two known ranks.
    """
    classes = _Classes(stated)
    for name, kind in stated.kinds.items():
        if kind.kind == "Tensor" and named_sizes(kind):
            classes.join(name, len(named_sizes(kind)), stated.left)
    for term in (stated.left, stated.right, *stated.given):
        _rank(term, classes, stated)
    return {name: classes.find(name) for name, kind in stated.kinds.items() if kind.kind in RANKED}


def assignments(classes: dict[str, str | int], max_rank: int) -> Iterator[dict[str, int]]:
    """Every choice of ranks for the classes, smallest total first."""
    free = sorted({c for c in classes.values() if isinstance(c, str)})
    for chosen in sorted(product(range(max_rank + 1), repeat=len(free)), key=lambda r: (sum(r), r)):
        rank_of = dict(zip(free, chosen, strict=True))
        yield {name: c if isinstance(c, int) else rank_of[c] for name, c in classes.items()}


def _rank(term: Any, classes: _Classes, stated: Rule) -> Class:
    """The class of a term; every join that the term demands is made on the way."""
    if not isinstance(term, Term):
        return len(term) if isinstance(term, tuple) else None
    head, args = term.head, term.args
    if head == "var":
        return args[0] if stated.kinds[args[0]].kind in RANKED else None
    inside = [_rank(a, classes, stated) for a in args]
    if head == "entries":
        return len(args)
    if head in ("entry", "product", "axes", Op.Index):  # Index removes the axes that scalars index
        return None
    if head is Op.Reshape:
        return inside[1]
    total: Class = None
    for rank in inside:
        total = classes.join(total, rank, term)
    return None if head in _WITHOUT_RANK or isinstance(term, Static) else total


_WITHOUT_RANK = ("every axis", "body", Op.Stack)
"""Terms that join the ranks of what is in them, but have another rank or none."""
