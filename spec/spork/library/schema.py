"""
What an instruction is
======================

An instruction is called by a program like a proc, and is one: arguments, assertions about sizes, and a body, which is
its *sequential* meaning. Beside that it says by whom it is executed (its collective unit), on which timeline (its
instr-tl), and of each argument of data how it is used. Everything that the readings of a program need to know of an
instruction is here; the text of its CUDA is registered elsewhere, by the name or the class of the instruction.

What an instruction reads and writes is what its body does: nothing is declared twice. In which order the hardware reads
and writes is its own affair, so that what it writes through one operand overlaps no other (``seq-overlap``).

An instruction is checked when it is made: it is well formed as a proc is, its body does nothing but assign and reduce
its arguments, and what it says of its operands and its executor agrees with that and with their memories.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Literal, TypeVar

from soundline.spec.errors import ProgramError, UsageError
from soundline.spec.spork.language.expressions import Expr, Index, Name, walk
from soundline.spec.spork.language.nodes import Node
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import SEQ, Assign, For, If, Reduce, Statement, statements
from soundline.spec.spork.language.types import Argument, Data
from soundline.spec.spork.language.well_formedness import check
from soundline.spec.spork.library.memories import Memory, examples
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.timelines import InstrTl, Pair, UsageTl, pair
from soundline.spec.spork.threads.units import CollUnit

_Tl = TypeVar("_Tl", InstrTl, UsageTl)

INSTRUCTION_CONSTRAINTS: Final[dict[str, str]] = {
    "instr-timeline": "an instruction is called on its instr-tl",
    "instr-unit": "an instruction is executed by a collective of its unit",
    "instr-memory": "data passed to an instruction lies in a memory that the operand accepts",
    "instr-size": "sizes passed to an instruction satisfy its argument types and assertions",
    "instr-trailing": (
        "a trailing barrier follows only an instruction that takes one, always one that requires it, and "
        "has the required type"
    ),
    "instr-scalar-unit": "single threads execute assignments and reductions of elements",
    "instr-async-scalar": "in a CudaAsync block only instructions read and write memory",
    "instr-body": (
        "the body of an instruction contains only seq loops, ifs, and assignments and reductions to its "
        "arguments"
    ),
}
"""What is asked of instructions and of direct accesses on the device, by id."""

DEFINITION_CONSTRAINTS: Final[dict[str, str]] = {
    "instr-operand": "every operand description is for an argument of data",
    "instr-atomic": "an operand with atomic reductions is reduced and not assigned",
    "instr-executor": "an instruction of the device has a unit, and one of the CPU has none",
    "instr-completion": (
        "only an asynchronous instruction takes a trailing barrier, and a required one has a type"
    ),
    "instr-convergent": "an asynchronous copy is not convergent: an unspecified single thread issues it",
    "instr-touch": "instructions of the instr-tl may access every memory that an operand accepts",
}
"""What is asked of an instruction beside `instr-body` when it is made, by id; its pairs have to be legal as well."""


COPIES: Final = frozenset({InstrTl.Sm80_cp_async, InstrTl.tma_to_smem_async, InstrTl.tma_to_gmem_async})
"""The timelines of asynchronous copies."""


def timeline_named(table: type[_Tl], name: str) -> _Tl:
    """The timeline of a name; raises `UsageError`.

    >>> timeline_named(UsageTl, "cuda_ram") is UsageTl.cuda_ram
    True
    """
    if name not in list(table):
        raise UsageError(f"{str(name)!r} is not a {table.__name__}", hint=f"one of {', '.join(table)}")
    return table(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """How an instruction uses an argument of data."""

    memories: tuple[Memory | Callable[..., Any], ...] = ()
    """The memories that it takes: one, or any made by a function of the table of memories; nothing stands for all."""
    usage: UsageTl | None = None
    """Its usage-tl; None for that of the memory, or on the CPU for that of the CPU."""
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

    def __post_init__(self) -> None:
        # Timelines may be given by their names, and what there are several of in any collection.
        pairs = frozenset(
            pair(timeline_named(InstrTl, a), timeline_named(UsageTl, b)) for a, b in self.extended
        )
        object.__setattr__(self, "memories", tuple(self.memories))
        object.__setattr__(self, "extended", pairs)
        if self.usage is not None:
            object.__setattr__(self, "usage", timeline_named(UsageTl, self.usage))

    def takes(self, memory: Memory) -> bool:
        """Whether data may lie in a memory."""
        made = memory.name.split("(")[0]
        return not self.memories or any(
            m == memory if isinstance(m, Memory) else m.__name__ == made for m in self.memories
        )


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
    ptx: str = ""
    """The instructions of PTX, or the function of CUDA, that it becomes."""
    doc: str = field(default="", compare=False)
    """What it does, in a sentence; no part of what it is."""

    spork_sort: ClassVar[Literal["instruction"]] = "instruction"

    def __post_init__(self) -> None:
        check_instruction(self)

    def operand(self, name: str) -> Operand:
        """How it uses an argument. Where nothing is said of memories it takes the one that the argument declares."""
        found = self.operands.get(name, Operand())
        declared = next((a.memory for a in self.arguments if a.name == name), None)
        return found if found.memories or declared is None else replace(found, memories=(declared.value,))

    def disagreement(
        self,
        memories: Mapping[str, Memory],  # noqa: ARG002
        sizes: Mapping[str, int],  # noqa: ARG002
    ) -> str | None:
        """What is wrong with the memories of operands and the values of sizes together, where each alone is right.

        A family can state more than a list of memories can; a violation breaks `instr-memory`.
        """
        return None

    def pair(self, name: str, memory: Memory) -> Pair:
        """The pair of an access through an argument whose data lies in a memory; the CPU has one usage-tl for all."""
        usual = UsageTl.cpu if self.instr_tl is InstrTl.cpu_in_order else memory.usage
        return pair(self.instr_tl, self.operand(name).usage or usual)

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


def check_instruction(instruction: Instruction) -> None:
    """Refuse an instruction that breaks a law of its definition; `Instruction` itself calls this."""
    check(Proc(instruction.name, instruction.arguments, instruction.preconditions, instruction.body))
    for statement in statements(instruction.body):
        if not isinstance(statement, Assign | Reduce | If) and not (
            isinstance(statement, For) and statement.mode == SEQ
        ):
            given = f"{type(statement).__name__} in the body of {instruction.name}"
            raise _refused("instr-body", INSTRUCTION_CONSTRAINTS["instr-body"], given, statement)
    _check_executor(instruction)
    for name in instruction.operands:
        if name not in instruction.data:
            raise _broken(
                "instr-operand", instruction, f"{name}, among {', '.join(instruction.data) or 'none'}"
            )
    for name in instruction.data:
        _check_operand(instruction, name)


def _check_executor(instruction: Instruction) -> None:
    on_cpu = instruction.instr_tl is InstrTl.cpu_in_order
    if on_cpu != (instruction.unit is None):
        given = f"{instruction.unit or 'no unit'} with {instruction.instr_tl}"
        raise _broken("instr-executor", instruction, given)
    in_order = instruction.instr_tl in (InstrTl.cpu_in_order, InstrTl.cuda_in_order)
    if instruction.trailing is None and instruction.trailing_required:
        raise _broken("instr-completion", instruction, "one that must follow and has no type")
    if instruction.trailing is not None and in_order:
        given = f"{instruction.trailing} after {instruction.instr_tl}"
        raise _broken("instr-completion", instruction, given)


def _check_operand(instruction: Instruction, name: str) -> None:
    operand = instruction.operand(name)
    if operand.atomic:
        assigned = any(isinstance(s, Assign) and s.place.name == name for s in statements(instruction.body))
        if assigned or name not in instruction.written:
            raise _broken(
                "instr-atomic", instruction, f"{name}, which is {'assigned' if assigned else 'read'}"
            )
    if operand.convergent and instruction.instr_tl in COPIES:
        raise _broken("instr-convergent", instruction, f"{name} on {instruction.instr_tl}")
    if operand.usage is not None:
        pair(instruction.instr_tl, operand.usage)
    for memory in examples(operand.memories):
        if instruction.instr_tl not in memory.instructions:
            raise _broken("instr-touch", instruction, f"{name} in {memory} with {instruction.instr_tl}")
        instruction.pair(name, memory)


def _broken(rule: str, instruction: Instruction, given: str) -> ProgramError:
    return _refused(rule, DEFINITION_CONSTRAINTS[rule], f"{given}, in {instruction.name}", None)


def _refused(rule: str, wants: str, given: str, at: Node | None) -> ProgramError:
    position = at.position if at is not None else None
    message = f"{wants}; got: {given}"
    if position is None:
        return ProgramError(message, rule=rule)
    return ProgramError(
        message,
        rule=rule,
        file=position.file,
        line=position.line,
        column=position.column,
        excerpt=position.text,
    )
