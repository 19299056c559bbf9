"""
Invariants of instruction sequences
===================================

The predicates of the stages from linearization on, where a program is a Linear of Linears, one for each kernel, and
then a text. An operand that is not listed (a constant, a place) is computed where it is used.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass

from soundline.spec.ops import bodies
from soundline.spec.ops.node import Op, UOp, toposort
from soundline.spec.pipeline.programs import shown
from soundline.spec.pipeline.schema import Lowering

# Linearize --------------------------------------------------------------------------------------------------------


def is_list_of_sequences(given: Lowering) -> Iterator[str]:
    """A Linear of Linears, with no Sink and no loop inside a value."""
    if given.after.op is not Op.Linear:
        yield f"the program is {shown(given.after)}"
    for number, kernel in enumerate(given.after.src):
        if kernel.op is not Op.Linear:
            yield f"kernel {number} is {shown(kernel)}"
        for node in toposort(kernel):
            if node.op is Op.Sink or (node.op is Op.Reduce and len(node.src) > 1):
                yield f"kernel {number} has {shown(node)}"


def operands_precede(given: Lowering) -> Iterator[str]:
    """Every instruction comes after those whose results it uses; what a loop computed goes with it."""
    for number, kernel in enumerate(given.after.src):
        listed, free = frozenset(kernel.src), bodies.free_by_node(*kernel.src)
        done: set[UOp] = set()
        for step in kernel.src:
            if step in done:
                yield f"kernel {number} lists {shown(step)} again"
            for used in _used(step, listed):
                if used not in done:
                    yield f"kernel {number}: {shown(step)} uses {shown(used)} before its turn"
            done.add(step)
            if step.op is Op.End:
                done = {s for s in done if step.src[1] not in free[s]}


def _used(step: UOp, listed: Set[UOp]) -> Iterator[UOp]:
    """The listed instructions that an instruction uses, itself or through operands that are not listed."""
    met = toposort(*step.src, below=lambda node: () if node in listed else node.src)
    return (node for node in met if node in listed)


def blocks_nest(given: Lowering) -> Iterator[str]:
    """Every Range is closed by its End and every If by its Endif, the last opened first."""
    for number, kernel in enumerate(given.after.src):
        opened: list[UOp] = []
        for step in kernel.src:
            if step.op in (Op.Range, Op.If):
                opened.append(step)
            elif step.op in (Op.End, Op.Endif):
                closes = step.src[1] if step.op is Op.End else step.src[0]
                if not opened or opened[-1] is not closes:
                    yield f"kernel {number}: {shown(step)} closes what is not the innermost block"
                else:
                    opened.pop()
        for block in opened:
            yield f"kernel {number}: {shown(block)} is never closed"


def stands_inside_its_loops(given: Lowering) -> Iterator[str]:
    """An instruction stands inside every loop whose index it depends on."""
    for number, kernel in enumerate(given.after.src):
        free = bodies.free_by_node(*kernel.src)
        opened: set[UOp] = set()
        for step in kernel.src:
            if step.op is Op.Range:
                opened.add(step)
            elif step.op is Op.End:
                opened.discard(step.src[1])
            missing = {r for r in free[step] if r.op is Op.Range} - opened
            if missing:
                yield f"kernel {number}: {shown(step)} stands outside of {shown(next(iter(missing)))}"


# Register/Memory Plan ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """Where a temporary lies after the plan: its storage there, its bytes, and its first and last kernel."""

    temporary: UOp
    storage: UOp
    first_byte: int
    end_byte: int
    first: int
    last: int

    @property
    def arena(self) -> UOp:
        """The Buffer that it lies in."""
        return self.storage.src[0] if self.storage.op is Op.Slice else self.storage

    def meets(self, other: Place) -> bool:
        """Whether two temporaries share bytes while both live."""
        bytes_ = self.first_byte < other.end_byte and other.first_byte < self.end_byte
        lives = self.first <= other.last and other.first <= self.last
        return self.arena is other.arena and bytes_ and lives


def replaced_storage(before: UOp, after: UOp) -> dict[UOp, UOp] | None:
    """The storage that replaces each GLOBAL Buffer of a program in the plan; None where anything else differs."""
    found: dict[UOp, UOp] = {}
    seen: set[tuple[UOp, UOp]] = set()
    waiting = [(before, after)]
    while waiting:
        old, new = waiting.pop()
        if (old, new) in seen:
            continue
        seen.add((old, new))
        if old.op is Op.Buffer and old.arg.addrspace == "GLOBAL":
            if found.setdefault(old, new) is not new:
                return None
        elif (old.op, old.arg, len(old.src)) != (new.op, new.arg, len(new.src)):
            return None
        else:
            waiting.extend(zip(old.src, new.src, strict=True))
    return found


def replaces_storage_only(given: Lowering) -> Iterator[str]:
    """The instructions are those of before, with other storage for the same elements."""
    if given.before is None:
        return
    found = replaced_storage(given.before, given.after)
    if found is None:
        yield "the instructions are not those of before with other storage"
        return
    for old, new in found.items():
        if (old.dtype, old.shape) != (new.dtype, new.shape):
            yield f"{shown(old)} is {shown(new)}"


def keeps_arguments_and_outputs(given: Lowering) -> Iterator[str]:
    """Arguments and outputs have the storage that they had."""
    found = replaced_storage(given.before, given.after) if given.before is not None else None
    for old, new in (found or {}).items():
        if old.arg.slot < given.arguments + given.outputs and new is not old:
            yield f"buffer {old.arg.slot} is {shown(new)}"


def places(before: UOp, after: UOp, first_temporary: int) -> list[Place]:
    """Where the temporaries of a program lie, and from which kernel to which they live."""
    storage = replaced_storage(before, after) or {}
    lives: dict[UOp, list[int]] = {}
    for number, kernel in enumerate(before.src):
        for node in toposort(kernel):
            if node in storage and node.arg.slot >= first_temporary:
                lives.setdefault(node, []).append(number)
    found = []
    for temporary, numbers in lives.items():
        where = storage[temporary]
        start = int(where.src[1].arg.value) * where.src[0].dtype.itemsize if where.op is Op.Slice else 0
        end = start + temporary.arg.size * temporary.dtype.itemsize
        found.append(Place(temporary, where, start, end, min(numbers), max(numbers)))
    return found


def lifetimes_are_apart(given: Lowering) -> Iterator[str]:
    """Temporaries that share bytes do not live at once: from the first kernel that names one to the last."""
    if given.before is None:
        return
    found = places(given.before, given.after, given.arguments + given.outputs)
    for a, b in itertools.combinations(found, 2):
        if a.meets(b):
            yield f"buffers {a.temporary.arg.slot} and {b.temporary.arg.slot} share bytes and live at once"


# Render -----------------------------------------------------------------------------------------------------------


def defines_every_kernel(given: Lowering) -> Iterator[str]:
    """The text defines each kernel, and its entry, once."""
    entry = [m.start() for m in re.finditer(rf"\b{re.escape(given.target.entry)}\(", given.source)]
    if len(entry) != 1:
        yield f"the entry {given.target.entry} is named {len(entry)} times"
        return
    before = given.source[: entry[0]]
    for number in range(len(given.after.src)):
        name = given.target.kernel.format(number)
        count = len(re.findall(rf"\b{re.escape(name)}\(", before))
        if count != 1:
            yield f"{name} is defined {count} times"


def runs_the_kernels_in_order(given: Lowering) -> Iterator[str]:
    """The entry runs every kernel once, in the order of the program."""
    _, _, body = given.source.partition(f"{given.target.entry}(")
    pattern = re.escape(given.target.kernel).replace(r"\{\}", r"(\d+)")
    called = [int(n) for n in re.findall(rf"\b{pattern}\(", body)]
    if called != list(range(len(given.after.src))):
        yield f"the entry runs the kernels {called}"


def names_its_storage(given: Lowering) -> Iterator[str]:
    """The entry names the slot of every GLOBAL Buffer of the program."""
    _, _, body = given.source.partition(f"{given.target.entry}(")
    for node in toposort(given.after):
        if node.op is Op.Buffer and node.arg.addrspace == "GLOBAL":
            name = given.target.slot.format(node.arg.slot)
            if name not in body:
                yield f"the entry does not name {name}"
