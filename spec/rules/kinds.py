"""
Kinds of variables
==================

What the annotation of a rule's variable may be.
"""

from __future__ import annotations

from soundline.spec.rules.choices import Axes, DTypeVar, Flags, Perm
from soundline.spec.rules.notation import Term, Variable
from soundline.spec.rules.ranges import Body, Range
from soundline.spec.rules.terms import (
    BinaryOp,
    Bool,
    Const,
    Interval,
    Monoid,
    Offset,
    Shape,
    Size,
    Tensor,
    UnaryOp,
    Value,
)

KINDS: dict[str, type[Term]] = {
    k.__name__: k
    for k in (
        Value,
        Const,
        Interval,
        Bool,
        Size,
        Range,
        Body,
        Tensor,
        Shape,
        Offset,
        Perm,
        Flags,
        Axes,
        DTypeVar,
        UnaryOp,
        BinaryOp,
        Monoid,
    )
}


SIZED = ("Tensor", "Range")
"""The kinds in whose brackets sizes stand."""


def ranges_of(kind: Variable, kinds: dict[str, Variable]) -> tuple[str, ...]:
    """The ranges on which a Body depends, in the order of its brackets."""
    return tuple(n for n in kind.inside if isinstance(n, str) and kinds[n].kind == "Range")
