"""
What values are computed of
===========================

The steps of a run say what is computed, not of what. An `Algebra` gives numbers, ops and conversions a meaning:

- `Numbers` is the law of the ops itself, so that the sequential reading of a program computes what UOps compute;
- `Tokens` keeps what was computed as a term. Two runs that end in equal terms compute the same, whatever is in memory;
  so an interleaving of threads is compared with the sequential reading for all inputs at once.

An atomic addition has no place among others (S-13): as a term, it is one of a multiset of contributions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from soundline.spec.dtypes import DType, to_bits
from soundline.spec.dtypes import Element as Scalar
from soundline.spec.ops.elementwise.arithmetic import add
from soundline.spec.ops.elementwise.conversion import cast
from soundline.spec.ops.node import Op
from soundline.spec.spork.machine.events import Computed, Converted, Element, Load, Number, Step, Value
from soundline.spec.values.elementwise import scalar

V = TypeVar("V")


class Algebra(Protocol[V]):
    """What values are, and how they are computed."""

    def number(self, value: Scalar, dtype: DType) -> V:
        """A number of a dtype."""

    def compute(self, op: Op, dtype: DType, operands: Sequence[V]) -> V:
        """An op on operands of a dtype; the first one of Where is a bool."""

    def convert(self, value: V, source: DType, target: DType) -> V:
        """A value in another dtype."""

    def add(self, dtype: DType, old: V, new: V, *, atomic: bool) -> V:
        """What a reduction leaves: the old contents and a value that is added."""


def evaluated(value: Value, algebra: Algebra[V], load: Callable[[Element], V]) -> V:
    """A value, with what memory holds given by element."""
    match value:
        case Load(element):
            return load(element)
        case Number(number, dtype):
            return algebra.number(number, dtype)
        case Computed(op, operands):
            found = [evaluated(operand, algebra, load) for operand in operands]
            return algebra.compute(op, operands[1 if op is Op.Where else 0].dtype, found)
        case Converted(operand, dtype):
            return algebra.convert(evaluated(operand, algebra, load), operand.dtype, dtype)


def stepped(step: Step, algebra: Algebra[V], load: Callable[[Element], V]) -> V:
    """What a step leaves in its target; a reduction loads that first."""
    old = load(step.target) if step.reduce else None
    value = evaluated(step.value, algebra, load)
    return value if old is None else algebra.add(step.target.dtype, old, value, atomic=step.atomic)


class Numbers:
    """The law of the ops on numbers."""

    def number(self, value: Scalar, dtype: DType) -> Scalar:  # noqa: ARG002  # a number knows its dtype
        """The number itself."""
        return value

    def compute(self, op: Op, dtype: DType, operands: Sequence[Scalar]) -> Scalar:
        """The scalar law of the op."""
        return scalar(op, dtype, *operands)

    def convert(self, value: Scalar, source: DType, target: DType) -> Scalar:
        """The law of Cast."""
        return cast(source, value, target)

    def add(self, dtype: DType, old: Scalar, new: Scalar, *, atomic: bool) -> Scalar:  # noqa: ARG002
        """The law of Add, for an atomic addition too."""
        return add(dtype, old, new)


# Terms ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class ValueToken:
    """A term; equal terms of one `Tokens` are one object."""

    head: Hashable
    """What is done: an op, a conversion, an atomic sum; or what is a number or unknown."""
    operands: tuple[ValueToken, ...]
    number: int
    """Counts the terms as they are made."""

    def __str__(self) -> str:
        return f"{self.head}({', '.join(map(str, self.operands))})" if self.operands else str(self.head)


@dataclass(frozen=True, slots=True)
class Atomics:
    """The head of a sum whose first operand is the old contents, and whose others were added in any order."""

    dtype: DType

    def __str__(self) -> str:
        return "atomics"


@dataclass(frozen=True, slots=True)
class Tokens:
    """The algebra of terms."""

    made: dict[tuple[Hashable, tuple[ValueToken, ...]], ValueToken] = field(default_factory=dict)

    def unknown(self, what: Hashable) -> ValueToken:
        """The value of something that nothing is known of, such as an element of an argument before the run."""
        return self._term(("unknown", what))

    def number(self, value: Scalar, dtype: DType) -> ValueToken:
        """A number; two are the same where they are observably so (U-05)."""
        return self._term(("number", dtype, to_bits(dtype, value)))

    def compute(self, op: Op, dtype: DType, operands: Sequence[ValueToken]) -> ValueToken:
        """An op on terms."""
        return self._term((op, dtype), *operands)

    def convert(self, value: ValueToken, source: DType, target: DType) -> ValueToken:
        """A conversion of a term."""
        return self._term((Op.Cast, source, target), value)

    def add(self, dtype: DType, old: ValueToken, new: ValueToken, *, atomic: bool) -> ValueToken:
        """An addition; an atomic one joins those before it."""
        if not atomic:
            return self.compute(Op.Add, dtype, (old, new))
        head = Atomics(dtype)
        base, *others = old.operands if old.head == head else (old,)
        return self._term(head, base, *sorted((*others, new), key=lambda token: token.number))

    def _term(self, head: Hashable, *operands: ValueToken) -> ValueToken:
        return self.made.setdefault((head, operands), ValueToken(head, operands, len(self.made)))
