"""
Linear execution
================

A Linear is read as a machine would: one instruction after the other, on one memory that is overwritten. It gives the
meaning of the last form of a program without the notion of a version, so that comparing it with the meaning of the
Sink that it came from checks the order that linearization chose.

A listed value is computed once, at its place in the list; a value that is not listed is computed where it is used, and
a listed place is only a name. A Range begins a block that its End closes, an If one that its Endif closes. The chapter
`workgroups` says how the iterations of an unordered axis run.
"""

from __future__ import annotations

from collections.abc import Sequence

from soundline.spec.errors import EvaluationError
from soundline.spec.evaluation.frames import Frame, is_effect
from soundline.spec.evaluation.loops import grid
from soundline.spec.evaluation.memory import Bytes
from soundline.spec.evaluation.memory_effects import in_memory, writes
from soundline.spec.evaluation.workgroups import Running, run_alone, run_threads
from soundline.spec.ops.axes import ORDERED, axis_type
from soundline.spec.ops.node import Op, UOp

Steps = Sequence[UOp]


def run_linear(frame: Frame, linear: UOp) -> Bytes:
    """The memory that the instructions leave, run by every thread of the grid that the Specials count."""
    frame.program.learn(linear)
    machine = Frame(frame.program, Bytes(frame.memory), sequential=True)
    machine.listed = frozenset(linear.src)
    groups, threads = grid(frame, linear)
    run_alone(_launch(machine, [*groups, *threads], linear.src))
    return machine.memory


def _launch(frame: Frame, specials: Sequence[UOp], steps: Steps) -> Running:
    """The block, run for every value of the Specials."""
    if not specials:
        return _run(frame, steps)
    first, rest = specials[0], specials[1:]
    return run_threads(frame, first, lambda thread: _launch(thread, rest, steps))


def _run(frame: Frame, steps: Steps) -> Running:
    """Run a block, waiting at every step that threads take together."""
    at = 0
    while at < len(steps):
        step = steps[at]
        if step.op in (Op.Range, Op.If):
            close = _closing(steps, at)
            yield from (_loop if step.op is Op.Range else _branch)(frame, step, steps[at + 1 : close])
            frame.happened |= {steps[close]}
            at = close
        elif step.op in (Op.Barrier, Op.Wmma):
            yield step, frame
            frame.happened |= {step}
            frame.forget()
        else:
            _one(frame, step)
        at += 1


def _closing(steps: Steps, at: int) -> int:
    """Where the block that a Range or If opens is closed."""
    opened = steps[at]
    for k in range(at + 1, len(steps)):
        step = steps[k]
        if (step.op is Op.End and step.src[1] is opened) or (step.op is Op.Endif and step.src[0] is opened):
            return k
    raise EvaluationError(f"{opened!r} is never closed", rule="uop-linear-sem", where="Linear")


def _one(frame: Frame, step: UOp) -> None:
    """One instruction outside control: an effect changes memory, a value is remembered."""
    if step.op in (Op.End, Op.Endif):
        raise EvaluationError(f"{step!r} closes no block", rule="uop-linear-sem", where="Linear")
    if is_effect(step):
        for write in writes(frame, step):
            frame.memory.put(write)
            for journal in frame.program.journals:
                journal.append(write)
        frame.happened |= {step}
        frame.forget()
    elif step.shape is not None and not in_memory(frame, step):
        frame.values[step] = frame.compute(step)


def _loop(frame: Frame, loop: UOp, block: Steps) -> Running:
    """All iterations of a block, one after the other where the axis is ordered."""
    if axis_type(loop) not in ORDERED:
        yield from run_threads(frame, loop, lambda thread: _run(thread, block))
        return
    for at in range(frame.number(loop.src[0])):
        yield from _run(frame.iteration(loop, at), block)


def _branch(frame: Frame, opened: UOp, block: Steps) -> Running:
    """A block under a gate; where the gate is False it counts as done without having been run."""
    gate = frame.value(opened.src[0]).item()
    frame.happened |= {opened}
    if gate:
        yield from _run(frame, block)
    else:
        frame.happened |= {s for s in block if is_effect(s)}
