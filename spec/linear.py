"""
Linear execution
================

A Linear is read as a machine would: one instruction after the other, on one memory that is overwritten. It gives the
meaning of the last form of a program without the notion of a version, so that comparing it with the meaning of the
Sink that it came from checks the order that linearization chose.

A listed value is computed once, at its place in the list; a value that is not listed is computed where it is used, and
a listed place is only a name. A Range begins a block that its End closes, an If one that its Endif closes. The
iterations of an unordered axis run ascending, but none may touch what another writes.
"""

from __future__ import annotations

from collections.abc import Sequence

from soundline.spec.errors import EvaluationError
from soundline.spec.frames import Frame, is_effect
from soundline.spec.memory_effects import (
    ORDERED,
    Memory,
    Step,
    Write,
    check_unordered,
    in_memory,
    without_private,
    writes,
)
from soundline.spec.node import UOp
from soundline.spec.op_schema import Op

Steps = Sequence[UOp]


def run_linear(frame: Frame, linear: UOp) -> Memory:
    """The memory that the instructions leave."""
    frame.program.learn(linear)
    memory = Memory(frame.memory)
    machine = Frame(frame.program, memory, sequential=True)
    machine.listed = frozenset(linear.src)
    _run(machine, linear.src)
    return memory


def _run(frame: Frame, steps: Steps) -> list[Write]:
    """Run a block; its writes are returned, for the check of unordered loops."""
    done: list[Write] = []
    at = 0
    while at < len(steps):
        step = steps[at]
        if step.op in (Op.Range, Op.If):
            close = _closing(steps, at)
            run_block = _loop if step.op is Op.Range else _branch
            done += run_block(frame, step, steps[at + 1 : close])
            frame.happened |= {steps[close]}
            at = close
        else:
            done += _one(frame, step)
        at += 1
    return done


def _closing(steps: Steps, at: int) -> int:
    """Where the block that a Range or If opens is closed."""
    opened = steps[at]
    for k in range(at + 1, len(steps)):
        step = steps[k]
        if (step.op is Op.End and step.src[1] is opened) or (step.op is Op.Endif and step.src[0] is opened):
            return k
    raise EvaluationError(f"{opened!r} is never closed", rule="uop-linear-sem", where="Linear")


def _one(frame: Frame, step: UOp) -> list[Write]:
    """One instruction outside control: an effect changes memory, a value is remembered."""
    if step.op in (Op.End, Op.Endif):
        raise EvaluationError(f"{step!r} closes nothing", rule="uop-linear-sem", where="Linear")
    if is_effect(step):
        found = writes(frame, step)
        for write in found:
            frame.memory.put(write)
        frame.happened |= {step}
        frame.forget()
        return found
    if step.shape is not None and not in_memory(frame, step):
        frame.values[step] = frame.compute(step)
    return []


def _loop(frame: Frame, loop: UOp, block: Steps) -> list[Write]:
    """All iterations of a block, ascending."""
    steps: list[Step] = []
    for at in range(frame.number(loop.src[0])):
        touched: set[int] = set()
        frame.program.reads.append(touched)
        steps.append((touched, _run(frame.iteration(loop, at), block)))
        frame.program.reads.pop()
    if loop.arg.type not in ORDERED:
        check_unordered(without_private(steps, frame.program, loop.arg.type), frame.program)
    return [write for _, found in steps for write in found]


def _branch(frame: Frame, opened: UOp, block: Steps) -> list[Write]:
    """A block under a gate; where the gate is False it counts as done without having been run."""
    gate = frame.value(opened.src[0]).item()
    frame.happened |= {opened}
    if gate:
        return _run(frame, block)
    frame.happened |= {s for s in block if is_effect(s)}
    return []
