"""
What an entry of the op table says
==================================

One entry for each op says everything about it that does not need the whole program: its signature, its constraints, the
five derived properties, where each element comes from or what it computes of scalars, its adjoint, an example. Entries
stand in `movement`, `elementwise` and `programs`, each with the same labels in the same order; `table` collects them.

A law's sentence and the function that computes it are one object: a `Constraint` has a predicate, a `Law` a function.

Ids are stable: ``uop-reshape-c1`` is the first constraint of Reshape, ``uop-reshape-shape`` its shape law,
``uop-reshape-sem`` its meaning. The same id is in error objects, tests and documentation anchors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from soundline.spec.dtypes import DType
from soundline.spec.ops.adjoints import Adjoint
from soundline.spec.ops.algebra import Movement
from soundline.spec.ops.bounds import Row
from soundline.spec.ops.node import Device, Op, Shape, UOp
from soundline.spec.ops.sizes import Condition

Group = Literal[
    "source",
    "movement",
    "reduce",
    "call",
    "load",
    "store",
    "ordering",
    "elementwise",
    "decomposed",
    "marker",
    "codegen",
]
PROPERTIES = ("dtype", "shape", "device", "min_max", "axis")

Sources = tuple[UOp, ...]
F_co = TypeVar("F_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Source:
    """One source position: its name, what it must be, and whether it repeats or may be absent."""

    name: str
    doc: str
    variadic: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Constraint:
    """One numbered condition, as a sentence."""

    id: str
    text: str


Predicate = Callable[[Sources, Any], Condition]
"""(sources, arg) → True or False, or a bool node where the answer depends on symbolic sizes: an *obligation*, which is
checked when the sizes become known."""


@dataclass(frozen=True, slots=True)
class Checked(Constraint):
    """One numbered condition of well-formedness, as a sentence and as a predicate."""

    holds: Predicate
    """It may rely on the constraints before it."""


@dataclass(frozen=True, slots=True)
class Law(Generic[F_co]):
    """A derived property, in words and as a function."""

    text: str
    of: F_co


@dataclass(frozen=True, slots=True)
class Typing:
    """The four properties that are derived when a node is made."""

    dtype: Law[Callable[[Sources, Any], DType]]
    shape: Law[Callable[[Sources, Any], Shape | None]]
    device: Law[Callable[[Sources, Any], Device]]
    axis: Law[Callable[[Sources, Any], int | None]]

    def but(self, **laws: Any) -> Typing:
        """The same with some of the laws replaced."""
        return dataclasses.replace(self, **laws)


@dataclass(frozen=True, slots=True)
class Entry:
    """Everything the table says about one op."""

    op: Op
    title: str
    group: Group
    semantics: str
    sources: tuple[Source, ...]
    arg: str
    arg_types: tuple[type, ...]
    """What the arg may be; an op without one has None."""
    constraints: tuple[Checked, ...]
    typing: Typing
    bounds: Law[Row] | None
    """The row of min_max; None for a node without a value."""
    movement: Movement | None
    """Where each element comes from, for an op that only moves elements."""
    scalar: Callable[..., Any] | None
    """What an elementwise op computes: (dtype of the operands, *operands) → element; Cast takes its target last."""
    decomposition: str | None
    licences: tuple[str, ...]
    """What a program must grant before the decomposition may replace the op; empty where it is exact."""
    adjoint: Adjoint
    example: str
    section: str
    decisions: tuple[str, ...]

    @property
    def slug(self) -> str:
        """The part of every id of this op, for example ``reshape``."""
        return self.op.name.lower()

    def law_id(self, law: str) -> str:
        """The id of a derived property (``dtype`` … ``axis``) or of the meaning (``sem``)."""
        return f"uop-{self.slug}-{law.replace('_', '-')}"

    @property
    def laws(self) -> dict[str, str]:
        """The five derived properties in words."""
        bounds = "none" if self.bounds is None else self.bounds.text
        of = self.typing
        texts = (of.dtype.text, of.shape.text, of.device.text, bounds, of.axis.text)
        return dict(zip(PROPERTIES, texts, strict=True))


_SECTIONS: dict[Group, str] = {
    "source": "UOps, Source Ops",
    "movement": "UOps, Movement Ops",
    "reduce": "UOps, Reduce Ops",
    "call": "UOps, Call Ops",
    "load": "UOps, Load Ops",
    "store": "UOps, Store Ops",
    "ordering": "UOps, Ordering Ops",
    "elementwise": "UOps, Elementwise Ops",
    "decomposed": "UOps, Decomposed elementwise ops",
    "marker": "UOps, Marker Ops",
    "codegen": "UOps, Codegen Ops",
}


def source(name: str, doc: str, *, variadic: bool = False, optional: bool = False) -> Source:
    """A source position of an entry."""
    return Source(name, doc, variadic, optional)


def entry(
    op: Op,
    group: Group,
    semantics: str,
    *,
    sources: tuple[Source, ...] = (),
    arg: str = "none",
    arg_types: tuple[type, ...] = (type(None),),
    constraints: tuple[tuple[str, Predicate], ...] = (),
    typing: Typing,
    bounds: Law[Row] | None = None,
    movement: Movement | None = None,
    scalar: Callable[..., Any] | None = None,
    decomposition: str | None = None,
    licences: tuple[str, ...] = (),
    adjoint: Adjoint,
    example: str,
    decisions: tuple[str, ...] = (),
    title: str | None = None,
) -> Entry:
    """The entry of `op`; its constraints are numbered in the order given."""
    slug = op.name.lower()
    return Entry(
        op=op,
        title=title or op.name,
        group=group,
        semantics=semantics,
        sources=sources,
        arg=arg,
        arg_types=arg_types,
        constraints=tuple(
            Checked(f"uop-{slug}-c{n}", text, holds) for n, (text, holds) in enumerate(constraints, 1)
        ),
        typing=typing,
        bounds=bounds,
        movement=movement,
        scalar=scalar,
        decomposition=decomposition,
        licences=licences,
        adjoint=adjoint,
        example=example,
        section=_SECTIONS[group],
        decisions=decisions,
    )
