"""
What an instruction is
======================

An instruction is called by a program like a proc, and is one: arguments, assertions about sizes, and a body, which is
its *sequential* meaning. Beside that it says by whom it is executed (its collective unit), on which timeline (its
instr-tl), and of each argument of data how it is used. Everything that the readings of a program need to know of an
instruction is here; the text of its CUDA is registered elsewhere, by the name or the class of the instruction.

What an instruction reads and writes is what its body does: nothing is declared twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

from soundline.spec.barriers import BarrierType
from soundline.spec.collective_units import CollUnit
from soundline.spec.expressions import Expr, Index, Name, walk
from soundline.spec.memories import Memory
from soundline.spec.program_types import Argument, Data
from soundline.spec.programs import Assign, Reduce, Statement, statements
from soundline.spec.timelines import InstrTl, Pair, UsageTl, pair

INSTRUCTION_CONSTRAINTS: Final[dict[str, str]] = {
    "instr-timeline": "an instruction is called where statements are on its instr-tl",
    "instr-unit": "an instruction is executed by a collective of its unit",
    "instr-memory": "data that an instruction is given lies in a memory that the operand takes",
    "instr-size": "the sizes that an instruction is given are those that its arguments and assertions ask for",
    "instr-trailing": "a trailing barrier follows an instruction that takes one, always where it must, and is of its "
    "type",
    "instr-scalar-unit": "elements are assigned and reduced by single threads",
    "instr-async-scalar": "in a CudaAsync block nothing is read or written but by instructions",
    "instr-body": "the body of an instruction assigns and reduces its arguments in seq loops and ifs, and nothing else",
}
"""What is asked of instructions and of direct accesses on the device, by id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """How an instruction uses an argument of data."""

    memories: tuple[Memory | Callable[..., Any], ...] = ()
    """The memories that it takes: one, or any made by a function of the table of memories; nothing stands for all."""
    usage: UsageTl | None = None
    """Its usage-tl; None for that of the memory."""
    out_of_order: bool = False
    """Whether an access completes only when it is waited for."""
    convergent: bool | None = None
    """Whether its threads do one access together (S-04); None for what the memory says."""
    extended: frozenset[Pair] = frozenset()
    """Further pairs by which an access sees."""
    atomic: bool = False
    """Whether its reductions are atomic (S-13)."""
    unit: CollUnit | None = None
    """Which collective owns the shards that one execution touches, where that is more than one shard: intervals may
    then stand among the distributed indices. None where it is the native collective of the memory.
    """

    def takes(self, memory: Memory) -> bool:
        """Whether data may lie in a memory."""
        names = {getattr(m, "name", getattr(m, "__name__", "")) for m in self.memories}
        return not names or memory.name in names or memory.name.split("(")[0] in names


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """An instruction; a subclass is a family of them."""

    name: str
    arguments: tuple[Argument, ...]
    body: tuple[Statement, ...]
    unit: CollUnit | None
    """Who executes it; None for the CPU."""
    instr_tl: InstrTl
    operands: Mapping[str, Operand] = field(default_factory=dict, hash=False)
    """By the name of an argument of data; what is not named is a plain `Operand`."""
    preconditions: tuple[Expr, ...] = ()
    trailing: BarrierType | None = None
    """The type of the barrier that may follow it."""
    trailing_required: bool = False
    """Whether that barrier must follow it: nothing else could tell of its completion."""

    spork_sort: ClassVar[Literal["instruction"]] = "instruction"

    def operand(self, name: str) -> Operand:
        """How it uses an argument."""
        return self.operands.get(name, Operand())

    def pair(self, name: str, memory: Memory) -> Pair:
        """The pair of an access through an argument whose data lies in a memory."""
        usage = self.operand(name).usage
        return pair(self.instr_tl, memory.usage if usage is None else usage)

    @property
    def data(self) -> tuple[str, ...]:
        """The names of its arguments of data."""
        return tuple(a.name for a in self.arguments if isinstance(a.type, Data))

    @property
    def written(self) -> frozenset[str]:
        """The arguments that the body assigns or reduces."""
        return frozenset(s.place.name for s in statements(self.body) if isinstance(s, Assign | Reduce))

    @property
    def read(self) -> frozenset[str]:
        """The arguments whose elements the body reads; what it only reduces is not among them."""
        values = [s.value for s in statements(self.body) if isinstance(s, Assign | Reduce)]
        used = {n.name for v in values for n in walk(v) if isinstance(n, Name | Index)}
        return frozenset(used & set(self.data))

    def __str__(self) -> str:
        return self.name
