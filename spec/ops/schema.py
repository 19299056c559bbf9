"""
What an entry of the op table says
==================================

The shape of the entries of the op table. The entries themselves stand in `tensor`, `elementwise` and `program`; `table`
collects them.

Ids are stable: ``uop-reshape-c1`` is the first constraint of Reshape, ``uop-reshape-shape`` its shape law,
``uop-reshape-sem`` its meaning. The same id is in error objects, tests and documentation anchors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from soundline.spec.ops.node import Op

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


@dataclass(frozen=True, slots=True)
class Source:
    """One source position: its name, what it must be, and whether it repeats or may be absent."""

    name: str
    doc: str
    variadic: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Constraint:
    """One numbered condition of well-formedness; its predicate stands in `constraints` under the same id."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """Everything the table says about one op."""

    op: Op
    title: str
    group: Group
    sources: tuple[Source, ...]
    arg: str
    constraints: tuple[Constraint, ...]
    semantics: str
    laws: dict[str, str]
    decomposition: str | None
    licences: tuple[str, ...]
    """What a program must grant before the decomposition may replace the op; empty where it is exact."""
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

_VOID_LAWS = {
    "dtype": "void",
    "shape": "none",
    "device": "the device that all sources share, else null",
    "min_max": "none",
    "axis": "none",
}
_INHERITED = {
    "dtype": "src[0].dtype",
    "shape": "src[0].shape",
    "device": "src[0].device",
    "min_max": "src[0]",
    "axis": "src[0].axis",
}
_ALU = {
    "dtype": "src[0].dtype",
    "shape": "the shape that all sources share",
    "device": "the one non-null device that all sources agree on (U-29)",
    "min_max": "dtype range",
    "axis": "the one non-null axis that all sources agree on (U-29)",
}


def source(name: str, doc: str, *, variadic: bool = False, optional: bool = False) -> Source:
    """A source position of an entry."""
    return Source(name, doc, variadic, optional)


def entry(
    op: Op,
    group: Group,
    sources: tuple[Source, ...],
    semantics: str,
    *,
    laws: dict[str, str],
    example: str,
    arg: str = "none",
    constraints: tuple[str, ...] = (),
    decomposition: str | None = None,
    licences: tuple[str, ...] = (),
    decisions: tuple[str, ...] = (),
    title: str | None = None,
) -> Entry:
    """The entry of `op`; its constraints are numbered in the order given."""
    slug = op.name.lower()
    numbered = tuple(Constraint(f"uop-{slug}-c{n}", text) for n, text in enumerate(constraints, 1))
    return Entry(
        op=op,
        title=title or op.name,
        group=group,
        sources=sources,
        arg=arg,
        constraints=numbered,
        semantics=semantics,
        laws=laws,
        decomposition=decomposition,
        licences=licences,
        example=example,
        section=_SECTIONS[group],
        decisions=decisions,
    )


def void_laws(**changed: str) -> dict[str, str]:
    """The five laws of a node without a value."""
    return {**_VOID_LAWS, **changed}


def inherited_laws(**changed: str) -> dict[str, str]:
    """The five laws of a node that passes its first source on, with the given rows replaced."""
    return {**_INHERITED, **changed}


def alu_laws(**changed: str) -> dict[str, str]:
    """The five laws of an elementwise node, with the given rows replaced."""
    return {**_ALU, **changed}
