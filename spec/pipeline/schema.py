"""
The entry of a lowering stage
=============================

The form of a stage and of its invariant: predicates on what the stage made, each with an id (``stage-rangeify-c1`` is
the first of Rangeify), and the id of its value, ``stage-rangeify-value``. A predicate is given the program before and
after the stage and what the target has, and says what breaks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from soundline.spec.dtypes import DType, int64
from soundline.spec.ops.node import Op, UOp


@dataclass(frozen=True, slots=True)
class Target:
    """What the later stages lower to: instructions, the integer that holds an index, and the names of the source."""

    ops: frozenset[Op]
    """The ops that the target has an instruction for."""
    lacks: frozenset[tuple[Op, DType]] = frozenset()
    """The dtypes of operands at which it has none all the same."""
    routines: frozenset[Op] = frozenset()
    """The ops of these that are a routine, of several instructions."""
    index: DType = int64
    """The integer in which it holds an index."""
    entry: str = "main"
    """The name of the entry of a rendered program."""
    kernel: str = "kernel_{}"
    """The name of a rendered kernel, by its number."""
    slot: str = "slot[{}]"
    """How the entry names the storage of a GLOBAL Buffer, by its slot."""

    def has(self, op: Op, dtype: DType) -> bool:
        """Whether there is an instruction for an op on operands of a dtype."""
        return op in self.ops and (op, dtype) not in self.lacks


@dataclass(frozen=True, slots=True)
class Lowering:
    """A program before and after a stage, and what is known of it: how many arguments and outputs the function has.

    GLOBAL Buffers are numbered: the arguments first, then the outputs, then temporaries.
    """

    before: UOp | None
    after: UOp
    target: Target
    arguments: int
    outputs: int
    source: str = field(default="", repr=False)
    """The text, after Render."""


Predicate = Callable[[Lowering], Iterator[str]]
"""What breaks an invariant, one text for each place."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """One condition of a stage: its id, what it says, and the predicate."""

    id: str
    text: str
    broken: Predicate


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of the source's pipeline: its name, what it does, and its invariant."""

    name: str
    title: str
    semantics: str
    invariants: tuple[Invariant, ...]
    value: str | None
    """The invariant on values; None where the evaluator cannot read the result of the stage."""

    @property
    def value_id(self) -> str:
        """The id of the condition on values."""
        return f"stage-{self.name}-value"


@dataclass(frozen=True, slots=True)
class Violation:
    """A condition that a stage broke: its id, and where."""

    rule: str
    what: str


def stage(
    name: str, title: str, semantics: str, conditions: Mapping[str, Predicate], value: str | None
) -> Stage:
    """A stage; its conditions are numbered in the order given."""
    numbered = tuple(
        Invariant(f"stage-{name}-c{k}", text, broken)
        for k, (text, broken) in enumerate(conditions.items(), 1)
    )
    return Stage(name, title, semantics, numbered, value)
