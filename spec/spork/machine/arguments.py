"""
Arguments of a run
==================

What the arguments of a proc or instruction stand for: control that is given by value, data by the place that it has, a
scalar that is no place by the expression. Sizes have to be those that are declared, and the assertions have to hold.
"""

from __future__ import annotations

from collections.abc import Mapping

from soundline.spec.spork.language.expressions import Expr, Index, Name
from soundline.spec.spork.language.nodes import Node
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import Alloc, Call
from soundline.spec.spork.language.text import expression as text_of
from soundline.spec.spork.language.types import Argument, Control, Data
from soundline.spec.spork.library.schema import INSTRUCTION_CONSTRAINTS, Instruction
from soundline.spec.spork.machine.conditions import RUN_CONSTRAINTS, Iteration, failed, run_failed
from soundline.spec.spork.machine.names import Bound, Given, Names, View
from soundline.spec.spork.machine.values import given
from soundline.spec.spork.static.calls import given_to

Sizes = Mapping[str, int]
"""Values for the arguments of control, by name."""


# Of the program ---------------------------------------------------------------------------------------------------


def control_arguments(proc: Proc, sizes: Sizes) -> dict[str, Bound]:
    """The arguments of control at given sizes, which have to be all of them and no others."""
    wanted = [a for a in proc.arguments if isinstance(a.type, Control)]
    for name in sizes:
        if name not in {a.name for a in wanted}:
            known = ", ".join(a.name for a in wanted) or "none"
            raise run_failed("seq-argument", proc, f"{name}, where the arguments of control are: {known}")
    found: dict[str, Bound] = {}
    for argument in wanted:
        if argument.name not in sizes:
            raise run_failed("seq-argument", argument, f"nothing for {argument.name}")
        found[argument.name] = _control(argument, sizes[argument.name], argument, ())
    return found


def _control(argument: Argument, value: object, at: Node, iteration: Iteration) -> bool | int:
    """A value for an argument of control."""
    assert isinstance(argument.type, Control)
    flag = argument.type.name == "bool"
    if not isinstance(value, bool if flag else int) or (isinstance(value, bool) and not flag):
        given = f"{value!r} for {argument.name}: {argument.type.name}"
        raise run_failed("seq-argument", at, given, iteration)
    if argument.type.name == "size" and value < 0:
        raise run_failed("seq-size", at, f"{argument.name} = {value}", iteration)
    return value


def allocation_of(argument: Argument) -> Alloc:
    """The allocation that an argument of data is like."""
    assert isinstance(argument.type, Data)
    return Alloc(
        argument.name,
        argument.type.dtype,
        argument.type.sizes,
        argument.memory,
        position=argument.position,
    )


def check_assertions(proc: Proc, names: Names) -> None:
    """Refuse arguments of which an assertion does not hold."""
    for condition in proc.preconditions:
        if not names.control(condition):
            raise run_failed("seq-assert", condition, _shown(condition, names), names.iteration)


def _shown(condition: Expr, names: Names) -> str:
    """A condition that does not hold, and the control that it is about."""
    numbers = [
        f"{n} = {v}" for n, v in names.bound.items() if isinstance(v, int) and n not in dict(names.iteration)
    ]
    return f"{text_of(condition)}, with {', '.join(numbers)}" if numbers else text_of(condition)


# Of a call --------------------------------------------------------------------------------------------------------


def proc_arguments(call: Call, proc: Proc, names: Names) -> Names:
    """What the arguments of a proc stand for in it; the static law has seen that data lies where it declares."""
    inner = _bound(call, names, "seq-argument", RUN_CONSTRAINTS["seq-argument"])
    check_assertions(proc, inner)
    return inner


def instruction_arguments(call: Call, instruction: Instruction, names: Names) -> Names:
    """What the arguments of an instruction stand for in its body: data lies where it lies."""
    wants = INSTRUCTION_CONSTRAINTS["instr-size"]
    inner = _bound(call, names, "instr-size", wants)
    for condition in instruction.preconditions:
        if not inner.control(condition):
            raise failed("instr-size", wants, call, _shown(condition, inner), names.iteration)
    memories = {name: view.memory for name, view in inner.bound.items() if isinstance(view, View)}
    sizes = {name: number for name, number in inner.bound.items() if isinstance(number, int)}
    wrong = instruction.disagreement(memories, sizes)
    if wrong is not None:
        wants = INSTRUCTION_CONSTRAINTS["instr-memory"]
        raise failed("instr-memory", wants, call, wrong, names.iteration)
    return inner


def _bound(call: Call, names: Names, rule: str, wants: str) -> Names:
    inner = Names({}, names.iteration)
    given = tuple(given_to(call))
    for argument, value in given:
        if isinstance(argument.type, Control):
            inner.bound[argument.name] = _control(argument, names.control(value), call, names.iteration)
    for argument, value in given:
        if isinstance(argument.type, Data):
            found = _data(value, argument.type, names)
            wanted = tuple(inner.size(size) for size in argument.type.sizes)
            if isinstance(found, View) and found.sizes != wanted:
                text = f"{argument.name} of sizes {found.sizes} where {wanted} are declared"
                raise failed(rule, wants, call, text, names.iteration)
            inner.bound[argument.name] = found
    return inner


def _data(value: Expr, type_: Data, names: Names) -> View | Given:
    if isinstance(value, Index) or (isinstance(value, Name) and isinstance(names.bound[value.name], View)):
        return names.window(value)
    return given(value, type_.dtype, names)
