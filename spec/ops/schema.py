"""
What an entry of the op table says
==================================

The names of the ops and the shape of their entries. The entries themselves stand in `ops_tensor`, `ops_elementwise`
and `ops_program`; `ops` collects them.

Ids are stable: ``uop-reshape-c1`` is the first constraint of Reshape, ``uop-reshape-shape`` its shape law,
``uop-reshape-sem`` its meaning. The same id is in error objects, tests and documentation anchors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from soundline.spec.ops.node import UOp

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


class Op(Enum):
    """The ops. Calling one builds a node: ``Op.Add(a, b)``, ``Op.Cast(x, arg=int8)``."""

    Param = "Param"
    Buffer = "Buffer"
    Const = "Const"
    Binary = "Binary"
    Permute = "Permute"
    Flip = "Flip"
    Reshape = "Reshape"
    Expand = "Expand"
    Pad = "Pad"
    Shrink = "Shrink"
    Index = "Index"
    Stack = "Stack"
    Replicated = "Replicated"
    Slice = "Slice"
    Bitcast = "Bitcast"
    Reduce = "Reduce"
    Function = "Function"
    Call = "Call"
    Tuple = "Tuple"
    GetTuple = "GetTuple"
    Load = "Load"
    Store = "Store"
    Range = "Range"
    End = "End"
    After = "After"
    Group = "Group"
    Sink = "Sink"
    Linear = "Linear"
    Recip = "Recip"
    Trunc = "Trunc"
    Cast = "Cast"
    Add = "Add"
    Mul = "Mul"
    Max = "Max"
    Mod = "Mod"
    Idiv = "Idiv"
    CmpLt = "CmpLt"
    CmpNe = "CmpNe"
    Xor = "Xor"
    Or = "Or"
    And = "And"
    Shr = "Shr"
    Shl = "Shl"
    Where = "Where"
    Neg = "Neg"
    Sub = "Sub"
    Div = "Div"
    CmpGt = "CmpGt"
    CmpGe = "CmpGe"
    CmpLe = "CmpLe"
    CmpEq = "CmpEq"
    Not = "Not"
    Exp2 = "Exp2"
    Log2 = "Log2"
    Sin = "Sin"
    Sqrt = "Sqrt"
    Pow = "Pow"
    Mulacc = "Mulacc"
    Threefry = "Threefry"
    Contiguous = "Contiguous"
    ContiguousBackward = "ContiguousBackward"
    Detach = "Detach"
    Barrier = "Barrier"
    Ins = "Ins"
    Special = "Special"
    If = "If"
    Endif = "Endif"
    Wmma = "Wmma"
    Custom = "Custom"
    AtomicAdd = "AtomicAdd"
    CustomFunction = "CustomFunction"
    Program = "Program"
    Source = "Source"
    BinaryCode = "BinaryCode"
    CDiv = "CDiv"
    CMod = "CMod"

    __hash__ = object.__hash__  # a member is one object, and is hashed wherever a node is made

    def __call__(self, *src: Any, arg: Any = None, tag: Any = None) -> UOp:
        """Build the node of this op with these sources; raises ``IllFormed`` where a constraint is broken."""
        return constructor.make(self, src, arg, tag)


class Constructor:
    """Makes the node of an op. `uop`, which defines nodes, sets it; it stands here so that an op can be called."""

    make: Callable[[Op, tuple[Any, ...], Any, Any], UOp]


constructor = Constructor()


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
