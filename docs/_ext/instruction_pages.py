"""The library of instructions, one entry for each family: its members differ in their dtype and rank."""

from __future__ import annotations

import re

import generated_cuda
import shown_programs
from generated_cuda import Beside
from rst import block, code, escape, fields, label, table, title
from spork_pages import rich

from soundline.spec.spork.language.nodes import SPELLING
from soundline.spec.spork.language.statements import Call
from soundline.spec.spork.library.memories import examples
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.library.table import CHAPTERS
from soundline.spec.spork.library.text import memory_name, text

_DTYPE = re.compile(rf"_(?:tf32|{'|'.join(SPELLING.values())})$")
_RANK = re.compile(r"_\d+d(?=_|$)")


def families(members: tuple[Instruction, ...]) -> dict[str, list[Instruction]]:
    """The instructions by their names without rank and dtype."""
    found: dict[str, list[Instruction]] = {}
    for instruction in members:
        found.setdefault(_RANK.sub("", _DTYPE.sub("", instruction.name)), []).append(instruction)
    return found


def instructions() -> str:
    """Every chapter, family by family."""
    parts = []
    for name, members in CHAPTERS.items():
        parts.append(title(name, "-"))
        parts += [_family(n, found) for n, found in families(members).items()]
    return "\n".join(parts)


def summary() -> str:
    """Every family in a row."""
    rows = []
    for members in CHAPTERS.values():
        for name, found in families(members).items():
            one = found[0]
            unit = code(str(one.unit)) if one.unit else "the CPU"
            rows.append((f":ref:`{name} <{_label(name)}>`", unit, code(one.instr_tl), rich(one.doc)))
    return table(("family", "unit", "instr-tl", "what it does"), rows, widths=(30, 16, 18, 36))


def _label(name: str) -> str:
    return f"instr-{name.lower().replace('_', '-')}"


def _family(name: str, members: list[Instruction]) -> str:
    """A family by its first member."""
    one = members[0]
    facts = [
        ("unit", code(str(one.unit)) if one.unit else "the CPU"),
        ("instr-tl", code(one.instr_tl)),
        ("trailing barrier", _trailing(one)),
        ("becomes", code(one.ptx)),
        ("members", ", ".join(code(m.name) for m in members)),
    ]
    return "\n".join(
        (
            label(_label(name)),
            title(name, "~"),
            f"{rich(one.doc)}\n",
            fields(facts),
            table(
                ("operand", "does", "lies in", "usage-tl", "order", "records"),
                [_operand(one, n) for n in one.data],
                widths=(10, 14, 30, 20, 12, 14),
            ),
            block("python", text(one)),
            "In CUDA:\n",
            generated_cuda.shown(in_cuda(members)),
        )
    )


def in_cuda(members: list[Instruction]) -> Beside:
    """A call of a member in one of the programs, beside what it becomes."""
    names = {m.name for m in members}
    return shown_programs.shown(
        lambda n: (
            isinstance(n, Call) and isinstance(n.callee.value, Instruction) and n.callee.value.name in names
        )
    )


def _trailing(one: Instruction) -> str:
    if one.trailing is None:
        return "none"
    return f"{code(one.trailing)}, {'always' if one.trailing_required else 'where there is one'}"


def _operand(one: Instruction, name: str) -> tuple[str, ...]:
    """How an argument of data is used."""
    operand = one.operand(name)
    return (
        code(name),
        _does(one, operand, name),
        ", ".join(code(memory_name(m)) for m in operand.memories) or "anywhere",
        _usage(one, operand, name),
        "out of order" if operand.out_of_order else "in order",
        _records(operand),
    )


def _does(one: Instruction, operand: Operand, name: str) -> str:
    does = [word for word, names in (("read", one.read), ("written", one.written)) if name in names]
    return ("atomically " if operand.atomic else "") + " and ".join(does)


def _usage(one: Instruction, operand: Operand, name: str) -> str:
    """Its usage-tl: what it says, else that of the memories that it takes."""
    usages = {one.pair(name, memory).usage for memory in examples(operand.memories)}
    said = ", ".join(code(u) for u in sorted(usages)) or "that of the memory"
    if operand.extended:
        said += (
            " (sees by "
            + ", ".join(f"{code(p.instr)} {code(p.usage)}" for p in sorted(operand.extended))
            + ")"
        )
    return said


def _records(operand: Operand) -> str:
    """Whether its threads make one record together (S-04)."""
    joint = (
        {m.convergent for m in examples(operand.memories)}
        if operand.convergent is None
        else {operand.convergent}
    )
    word = (
        "one for all" if joint == {True} else "one for each thread" if joint == {False} else "as the memory"
    )
    return word if operand.unit is None else f"{word}; shards of {escape(str(operand.unit))}"
