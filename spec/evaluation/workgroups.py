"""
Workgroups
==========

How the iterations of an unordered axis run in a Linear (U-26, U-51). Each is a thread with its own view of memory: it
sees what it has written itself, and of the others what they had written when they last met. The iterations of LOCAL,
WARP and GROUP_REDUCE axes are the threads of one workgroup: they meet at every Barrier, which all of them reach or
none, and the lanes of a warp meet at every Wmma. Those of the other unordered axes meet only at the end, and so do
workgroups.

Between two meetings no thread touches what another writes, AtomicAdds apart. What a thread keeps in its own copy of a
storage stays its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from soundline.spec.errors import EvaluationError
from soundline.spec.evaluation.frames import Frame
from soundline.spec.evaluation.lanes import lane_axis, product
from soundline.spec.evaluation.loops import Step, check_unordered, recorded
from soundline.spec.evaluation.memory import Bytes
from soundline.spec.ops.axes import THREADS, axis_type, is_private
from soundline.spec.ops.node import Op, UOp

Waiting = tuple[UOp, Frame]
"""A step that threads take together, a Barrier or a Wmma, and the frame in which a thread has come to it."""

Running = Generator[Waiting, None, None]
"""A thread that runs from one such step to the next."""


@dataclass(slots=True)
class Thread:
    """One iteration, where it runs, and the step at which it waits; None where it has ended."""

    frame: Frame
    running: Running
    waits: Waiting | None = None

    def advance(self) -> Step:
        """Run to the next meeting or the end, and return what was read and written on the way."""
        with recorded(self.frame.program) as step:
            self.waits = next(self.running, None)
        return step

    def finish(self) -> Step:
        """Run to the end, through Barriers at which nobody else is waited for."""
        with recorded(self.frame.program) as step:
            run_alone(self.running)
        return step


def run_alone(running: Running) -> None:
    """Run a thread, or a workgroup, that has nobody to wait for."""
    for step, _ in running:
        if step.op is Op.Wmma:
            raise EvaluationError("a Wmma needs the lanes of a warp", rule="uop-wmma-sem", where="Wmma")


def run_threads(frame: Frame, loop: UOp, block: Callable[[Frame], Running]) -> Running:
    """Run a block once for each value of an unordered loop index, from meeting to meeting."""
    kind = axis_type(loop)
    frames = [frame.iteration(loop, at, Bytes(frame.memory)) for at in range(frame.number(loop.src[0]))]
    threads = [Thread(inner, block(inner)) for inner in frames]
    if kind not in THREADS:
        _meet(frame, loop, threads, [t.finish() for t in threads])
        return
    while True:
        _meet(frame, loop, threads, [t.advance() for t in threads])
        waiting = [t.waits for t in threads if t.waits is not None]
        if not waiting:
            return
        step = _common(waiting, len(threads))
        if step.op is Op.Wmma:
            _multiply(loop, step, [there for _, there in waiting])
        else:
            yield step, frame  # the workgroup may have further axes, whose threads meet here too


def _common(waiting: Sequence[Waiting], count: int) -> UOp:
    """The step at which all threads wait."""
    step = waiting[0][0]
    if len(waiting) < count or any(other is not step for other, _ in waiting):
        raise EvaluationError(
            f"{len(waiting)} of {count} threads wait for the others, but not all at the same step",
            rule="U-51",
            where=step.op.name,
        )
    return step


def _multiply(loop: UOp, step: UOp, frames: Sequence[Frame]) -> None:
    """Give every lane of a warp its part of a matrix product."""
    if lane_axis(frames[0], step) is not loop:
        raise EvaluationError(
            "the lanes of a Wmma must be the innermost threads", rule="uop-wmma-sem", where="Wmma"
        )
    operands = [[there.value(source) for source in step.src] for there in frames]
    for there, result in zip(frames, product(step, operands), strict=True):
        there.values[step] = result


def _meet(frame: Frame, loop: UOp, threads: list[Thread], steps: list[Step]) -> None:
    """Let every thread see what the others wrote; each keeps its own copies of private storage."""
    kind, program = axis_type(loop), frame.program
    for write in check_unordered(steps, program, kind):
        frame.memory.put(write)
    own = {a for s in program.storage.values() if is_private(s.space, kind) for a in s.addresses}
    for thread in threads:
        kept = {address: byte for address, byte in thread.frame.memory.changes.items() if address in own}
        thread.frame.memory.changes = kept
        thread.frame.forget()
