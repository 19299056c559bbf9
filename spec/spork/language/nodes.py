"""
What programs are made of
=========================

The ground of the object language of Spork: where a node of a program stands in its source, the names of data types, and
references to what others define.

A program names memories, barrier types, instructions, timelines and collective units, and knows none of them by name:
each is an object of the Python namespace that the program was written in, and says in its attribute ``spork_sort``
which of the sorts it is. A `Ref` holds the object and the spelling that it was found by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

from soundline.spec import dtypes
from soundline.spec.dtypes import DType

Sort = Literal["memory", "barrier", "instruction", "proc", "timeline", "unit"]
"""What an object that a program refers to can be."""

SORTS: tuple[Sort, ...] = get_args(Sort)


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a source file: line and column are counted from 1, and the line is kept to be shown."""

    file: str
    line: int
    column: int
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A part of a program. Where it stands is no part of what it is."""

    position: Position | None = field(default=None, compare=False, repr=False)


class Reference(Protocol):
    """What an object needs so that a program can refer to it; a class serves as well as an instance of one."""

    spork_sort: Sort


@dataclass(frozen=True, slots=True)
class Ref(Node):
    """An object that others define: how the program spells it, and what the spelling stands for.

    >>> Ref("cuda_warp", Named("cuda_warp", "unit"))
    Ref(name='cuda_warp', value=Named(name='cuda_warp', spork_sort='unit'))
    """

    name: str
    value: Any = field(hash=False)

    @property
    def sort(self) -> Sort | None:
        """The sort that the object declares; None where it declares none."""
        found = getattr(self.value, "spork_sort", None)
        return found if found in SORTS else None


@dataclass(frozen=True, slots=True)
class Named:
    """A mere name of some sort, for programs that are only written, printed and compared.

    >>> 32 * Named("cuda_thread", "unit")
    Named(name='32 * cuda_thread', spork_sort='unit')
    """

    name: str
    spork_sort: Sort

    def __rmul__(self, factor: int) -> Named:
        return Named(f"{factor} * {self.name}", self.spork_sort)


def named(sort: Sort, names: str) -> dict[str, Named]:
    """A namespace of mere names of one sort, given as one string with blanks between them."""
    return {name: Named(name, sort) for name in names.split()}


def ref(value: Any) -> Ref:
    """A reference to an object by its own name: its ``name``, else the ``__name__`` of a class."""
    own = getattr(value, "name", None)
    return Ref(own if isinstance(own, str) else str(value.__name__), value)


DTYPES: Mapping[str, DType] = {
    "bool": dtypes.bool_,
    **{f"i{d.bits}": d for d in dtypes.sints},
    **{f"u{d.bits}": d for d in dtypes.uints},
    "bf16": dtypes.bfloat16,
    **{f"f{d.bits}": d for d in (dtypes.float16, dtypes.float32, dtypes.float64)},
}
"""The data types of programs, as programs spell them."""

SPELLING = {dtype: name for name, dtype in DTYPES.items()}
"""How programs spell a data type."""
