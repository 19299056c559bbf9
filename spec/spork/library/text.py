"""
Instructions as text
====================

`text` writes an instruction in the syntax that it is read in: that of a proc, under a decorator that says all the rest.
Reading the text again in the namespace of `references` gives the same instruction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from soundline.spec.spork.language import programs
from soundline.spec.spork.language.expressions import walk
from soundline.spec.spork.language.nodes import Ref
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.library.schema import Instruction, Operand

_WIDE: Final = 100
"""A line of operands that is longer is broken."""


def proc_of(instruction: Instruction) -> Proc:
    """The sequential meaning of an instruction, as a proc."""
    return Proc(instruction.name, instruction.arguments, instruction.preconditions, instruction.body)


def text(instruction: Instruction) -> str:
    """The text of an instruction."""
    head, *rest = programs.text(proc_of(instruction)).splitlines()[1:]
    described = [f"    {_string(instruction.doc)}"] if instruction.doc else []
    return "\n".join(["@instr(", *_head(instruction), ")", head, *described, *rest]) + "\n"


def _string(doc: str) -> str:
    plain = doc.isprintable() and '"' not in doc and "\\" not in doc
    return f'"""{doc}"""' if plain else repr(doc)


def _head(instruction: Instruction) -> list[str]:
    """The arguments of the decorator, each with its comma; what a family says beside is written last."""
    given = {"unit": str(instruction.unit), "instr_tl": instruction.instr_tl.value}
    lines = [f"    {name}={value}," for name, value in given.items()]
    if instruction.operands:
        lines += ["    operands={", *(_entry(n, o) for n, o in instruction.operands.items()), "    },"]
    if instruction.trailing is not None:
        lines.append(f"    trailing={instruction.trailing.value},")
    if instruction.trailing_required:
        lines.append("    trailing_required=True,")
    if instruction.ptx:
        lines.append(f"    ptx={instruction.ptx!r},")
    own = {f.name for f in fields(Instruction)}
    lines += [
        f"    {f.name}={getattr(instruction, f.name)!r}," for f in fields(instruction) if f.name not in own
    ]
    if type(instruction) is not Instruction:
        lines.append(f"    family={type(instruction).__name__},")
    return lines


def _entry(name: str, operand: Operand) -> str:
    given = []
    if operand.memories:
        given.append(f"memories=[{', '.join(memory_name(m) for m in operand.memories)}]")
    if operand.usage is not None:
        given.append(f'usage="{operand.usage}"')
    given += [f"{flag}=True" for flag in ("out_of_order", "atomic") if getattr(operand, flag)]
    if operand.convergent is not None:
        given.append(f"convergent={operand.convergent}")
    if operand.extended:
        pairs = [f'("{p.instr}", "{p.usage}")' for p in sorted(operand.extended)]
        given.append(f"extended=[{', '.join(pairs)}]")
    if operand.unit is not None:
        given.append(f"unit={operand.unit}")
    line = f'        "{name}": Operand({", ".join(given)}),'
    if len(line) <= _WIDE:
        return line
    return "\n".join([f'        "{name}": Operand(', *(f"            {g}," for g in given), "        ),"])


def memory_name(memory: Memory | Any) -> str:
    """How a memory, or a function that makes memories, is spelled."""
    return memory.name if isinstance(memory, Memory) else str(memory.__name__)


def references(instruction: Instruction) -> Mapping[str, object]:
    """What the spellings in the text of an instruction stand for."""
    found = {node.name: node.value for node in walk(proc_of(instruction)) if isinstance(node, Ref)}
    units = [instruction.unit, *(operand.unit for operand in instruction.operands.values())]
    found |= {unit.name: unit for unit in units if unit is not None}
    found |= {memory_name(m): m for operand in instruction.operands.values() for m in operand.memories}
    return {**found, type(instruction).__name__: type(instruction)}
