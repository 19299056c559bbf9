# mypy: disable-error-code="misc, name-defined, no-any-return, no-untyped-call"
"""
What is drawn for a rule
========================

Variables, axes, reductions and choices: what the laws of random rules are made of.
"""

from __future__ import annotations

from random import Random
from typing import Any

from soundline.spec.dtypes import DType, bool_
from soundline.spec.ops.node import Op
from soundline.spec.rules.language import forall, given, inverse, maximum
from soundline.spec.rules.terms import Axes, Monoid, Perm, Tensor

Link = tuple[Any, Any]
"""What a law makes of both chains."""


MOST = {"p": 1, "f": 2, "a": 2, "m": 1, "y": 1, "b": 1, "c": 1}
"""So many variables of a kind has a rule; where there are as many, one of them is taken again."""


class Draw:
    """What is drawn for one rule."""

    def __init__(self, source: Random, dtype: DType) -> None:
        self.source = source
        self.dtype = dtype
        self.had: dict[str, list[Any]] = {}

    def any_of(self, *them: Any) -> Any:
        """One of them."""
        return self.source.choice(them)

    def near(self, right: Any, *others: Any) -> Any:
        """The first of them as often as all others."""
        return right if not others or self.source.random() < 0.72 else self.source.choice(others)

    def often(self, part: float) -> bool:
        """Whether, in this part of all cases."""
        return self.source.random() < part

    def new(self, kind: Any, stem: str) -> Any:
        """A variable of a kind, perhaps one that there is."""
        had = self.had.setdefault(stem, [])
        if len(had) >= MOST.get(stem, 3) or (had and self.often(0.3)):
            return self.source.choice(had)
        had.append(forall(kind, f"{stem}{len(had)}"))
        return had[-1]

    def perm(self) -> Any:
        """A permutation."""
        p = self.new(Perm, "p")
        return self.any_of(p, p, inverse(p))

    def axes(self) -> Any:
        """A set of axes."""
        a = self.new(Axes, "a")
        return self.any_of(a, a, a, ~a) if len(self.had["a"]) == 1 else a

    def reduction(self) -> Any:
        """What is reduced with."""
        if self.dtype is bool_:
            return self.any_of(Op.Max, Op.Mul)
        return self.any_of(Op.Add, Op.Add, Op.Max, Op.Mul, self.new(Monoid, "m"))

    def beside(self, e: Any) -> Any:
        """Another tensor of the shape of e."""
        y = self.new(Tensor, "y")
        given(y.shape == e.shape)
        return y

    def given(self, *conditions: Any) -> None:
        """A condition, or perhaps none."""
        if self.often(0.7):
            given(self.source.choice(conditions))


def applied(op: Any, x: Any, y: Any) -> Any:
    """An op of two operands, or a Monoid, on terms."""
    if not isinstance(op, Op):
        return op(x, y)
    return {Op.Add: lambda: x + y, Op.Mul: lambda: x * y, Op.Max: lambda: maximum(x, y)}[op]()
