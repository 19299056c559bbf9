"""
Calls
=====

What a call gives to a proc or to an instruction. Of a proc that is the memory of its arguments, of an instruction it is
all that is said of it in `spec.spork.library.schema`: who executes it, where, on which memory, of which sizes, and with
which trailing barrier.
"""

from __future__ import annotations

from collections.abc import Iterator

from soundline.spec.errors import CollectiveError
from soundline.spec.spork.language.expressions import Expr, Index, Name
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import Call
from soundline.spec.spork.language.text import expression as text_of
from soundline.spec.spork.language.types import Argument, Control, Data
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.static.conditions import placed, static_refusal
from soundline.spec.spork.static.memory import memory_of
from soundline.spec.spork.static.scope import Standing
from soundline.spec.spork.static.sizes import decided, difference, substituted, value
from soundline.spec.spork.static.windows import Window
from soundline.spec.spork.threads.tilings import Tiling, expected, match
from soundline.spec.spork.threads.units import CollUnit


def callee_of(call: Call) -> Proc | Instruction:
    """What is called."""
    found = call.callee.value
    if not isinstance(found, Proc | Instruction):
        raise static_refusal("static-object", call.callee, call.callee.name, "a mere name", within=call)
    return found


def given_to(call: Call) -> Iterator[tuple[Argument, Expr]]:
    """The arguments that the callee declares, with what they are given."""
    keywords = dict(call.keywords)
    for position, argument in enumerate(call.callee.value.arguments):
        yield (
            argument,
            call.arguments[position] if position < len(call.arguments) else keywords[argument.name],
        )


def place_given(argument: Argument, given: Expr, standing: Standing) -> Name | Index | None:
    """The place of data that an argument is given; None for control and for a value."""
    if not isinstance(argument.type, Data) or not isinstance(given, Name | Index):
        return None
    return given if standing.is_data(given.name) else None


def check_proc(call: Call, standing: Standing) -> None:
    """The memory of what a proc is given."""
    for argument, given in given_to(call):
        place = place_given(argument, given, standing)
        if place is None:
            continue
        wanted, memory = memory_of(argument.memory, argument), standing.window(place).memory
        if memory != wanted:
            text = f"{text_of(place)} in {memory} for {argument.name} in {wanted}"
            raise static_refusal("mem-argument", place, call.callee.name, text, within=call)


# Instructions -----------------------------------------------------------------------------------------------------


def check_instruction_call(call: Call, instruction: Instruction, standing: Standing) -> None:
    """All that is asked of the call of an instruction, but for its trailing barriers and for shards."""
    _check_executor(call, instruction, standing)
    memories: dict[str, Memory] = {}
    for argument, given in given_to(call):
        place = place_given(argument, given, standing)
        if place is not None:
            memories[argument.name] = standing.window(place).memory
            _check_operand(call, instruction, argument, place, standing)
    _check_sizes(call, instruction, standing)
    _check_together(call, instruction, memories)


def _check_executor(call: Call, instruction: Instruction, standing: Standing) -> None:
    scope = standing.scope
    if instruction.instr_tl is not scope.instr_tl:
        given = f"{instruction.instr_tl} on {scope.instr_tl}"
        raise static_refusal("instr-timeline", call, instruction, given)
    if instruction.unit is None or scope.tiling is None:
        return
    try:
        match(scope.tiling, instruction.unit)
    except CollectiveError as error:
        given = f"{error.given}, for {instruction.unit} ({error.rule})"
        hint = f"{_who_divides(scope.tiling, instruction.unit)} makes these collectives"
        if error.hint:
            hint = f"{hint}; {error.hint}"
        raise static_refusal("instr-unit", call, instruction, given, hint=hint) from error


def _who_divides(tiling: Tiling, unit: CollUnit) -> str:
    """Which loop or block of warps makes a statement miss a unit: the outermost that a unit cannot be compared with."""
    around = [tiling]
    while around[-1].parent is not None:
        around.append(around[-1].parent)
    found = next((t for t in reversed(around) if not _is_comparable(t, unit)), tiling)
    if found.parent is None:
        return "the device function"
    if len(found.iterators) > len(found.parent.iterators):
        return f"the loop over {found.iterators[-1].name}"
    return f"CudaWarps(name={found.warps!r})" if found.warps != found.parent.warps else "CudaWarps"


def _is_comparable(tiling: Tiling, unit: CollUnit) -> bool:
    try:
        expected(tiling, unit)
    except CollectiveError:
        return False
    return True


def _check_operand(
    call: Call, instruction: Instruction, argument: Argument, place: Name | Index, standing: Standing
) -> None:
    memory, instr_tl = standing.window(place).memory, standing.scope.instr_tl
    given = f"{text_of(place)} in {memory} for {argument.name}"
    if not instruction.operand(argument.name).takes(memory):
        raise static_refusal("instr-memory", place, instruction, given, within=call)
    if instr_tl not in memory.instructions:
        raise static_refusal("mem-instruction", place, instruction, f"{given} on {instr_tl}", within=call)
    only_read = instr_tl in memory.reads and instr_tl not in memory.writes
    if only_read and argument.name in instruction.written:
        raise static_refusal("mem-read-only", place, instruction, given, within=call)
    with placed(place, call):
        instruction.pair(argument.name, memory)


def _check_sizes(call: Call, instruction: Instruction, standing: Standing) -> None:
    """What is wrong whatever the names stand for; the rest is asked when the program runs."""
    control = {a.name: given for a, given in given_to(call) if isinstance(a.type, Control)}
    for argument, given in given_to(call):
        place = place_given(argument, given, standing)
        if place is not None:
            _check_operand_sizes(call, instruction, argument, place, standing.window(place), control)
    for condition in instruction.preconditions:
        if decided(substituted(condition, control)) is False:
            given_text = ", ".join(f"{n} = {text_of(v)}" for n, v in control.items())
            wanted = f"{given_text or 'sizes'} for {text_of(condition)}"
            raise static_refusal("instr-size", call, instruction, wanted)


def _check_operand_sizes(
    call: Call,
    instruction: Instruction,
    argument: Argument,
    place: Name | Index,
    window: Window,
    control: dict[str, Expr],
) -> None:
    assert isinstance(argument.type, Data)
    for k, (asked, size) in enumerate(zip(argument.type.sizes, window.sizes, strict=True)):
        if difference(size, substituted(asked, control)) not in (0, None):
            given = f"{text_of(size)} for dimension {k} of {argument.name}, which has {text_of(asked)}"
            raise static_refusal("instr-size", place, instruction, given, within=call)


def _check_together(call: Call, instruction: Instruction, memories: dict[str, Memory]) -> None:
    sizes = {a.name: value(given) for a, given in given_to(call) if isinstance(a.type, Control)}
    known = {name: size for name, size in sizes.items() if size is not None}
    if len(known) < len(sizes):
        return  # what depends on the sizes of a run is asked there
    wrong = instruction.disagreement(memories, known)
    if wrong is not None:
        raise static_refusal("instr-memory", call, instruction, wrong)
