"""
Loops
=====

What a loop writes, and what the threads of a workgroup have written when they meet at a Barrier.

A loop starts when everything that it comes after has happened. The iterations of an ordered axis each see what those
before them wrote; those of an unordered axis see none of each other's writes, and it is an error if one touches what
another writes. Two AtomicAdds never conflict.

A Barrier stands for what all threads of the workgroup have done: it repeats its dependencies over the thread axes that
are free in them, so that what comes after it sees the writes of all (U-51).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from soundline.spec.evaluation.frames import Frame, Program
from soundline.spec.evaluation.memory import Bytes, Write
from soundline.spec.evaluation.memory_effects import conflict, happen, not_yet, version, writes
from soundline.spec.ops import bodies
from soundline.spec.ops.axes import ORDERED, axis_type, is_private, is_thread_axis
from soundline.spec.ops.node import AxisType, Op, UOp

Step = tuple[set[int], list[Write]]
"""One iteration: the addresses it read, and what it wrote."""


@contextmanager
def recorded(program: Program) -> Iterator[Step]:
    """What is read in the block of a ``with``, and what the instructions of a Linear write there."""
    step: Step = set(), []
    program.reads.append(step[0])
    program.journals.append(step[1])
    try:
        yield step
    finally:
        program.reads.pop()
        program.journals.pop()


def repeated(frame: Frame, effect: UOp) -> list[Write]:
    """The writes of all iterations of an End, or of all threads that meet at a Barrier."""
    before = tuple(e for e in frame.program.effects[effect] if e is not effect)
    start = version(frame, before)
    if effect.op is Op.Barrier:
        return _unordered(start, effect.src, bodies.closed_loops(effect, frame.program.free))
    body, loop = effect.src
    if axis_type(loop) in ORDERED:
        return _ordered(start, body, loop)
    return _unordered(start, (body,), (loop,))


def _iterate(frame: Frame, roots: Iterable[UOp]) -> list[Write]:
    """The writes of one iteration, laid over the memory of its frame."""
    return happen(frame, not_yet(frame, roots), Bytes(frame.memory))


def _ordered(start: Frame, body: UOp, loop: UOp) -> list[Write]:
    """Ascending iterations, each of which sees what those before it wrote."""
    memory = Bytes(start.memory)
    done: list[Write] = []
    for at in range(start.number(loop.src[0])):
        step = _iterate(start.iteration(loop, at, memory), (body,))
        for write in step:
            memory.put(write)
        done += step
    return done


def _iterations(frame: Frame, loops: Sequence[UOp]) -> Iterator[Frame]:
    """The frame of every iteration of nested unordered loops, the first outermost."""
    if not loops:
        yield frame
        return
    for at in range(frame.number(loops[0].src[0])):
        inner = frame.iteration(loops[0], at, Bytes(frame.memory))
        yield from _iterations(inner, loops[1:])


def _unordered(start: Frame, roots: Sequence[UOp], loops: Sequence[UOp]) -> list[Write]:
    """Iterations that all see the same memory; no iteration touches what another writes."""
    if not loops:
        return []
    steps: list[Step] = []
    for inner in _iterations(start, loops):
        with recorded(start.program) as (touched, _):
            found = _iterate(inner, roots)
        steps.append((touched, found))
    return check_unordered(steps, start.program, axis_type(loops[0]))


def check_unordered(steps: Sequence[Step], program: Program, axis: AxisType) -> list[Write]:
    """The writes of iterations, without those to their own copies of storage.

    Raises if one iteration reads or writes what another writes; AtomicAdds do not conflict.
    """
    own = {a for s in program.storage.values() if is_private(s.space, axis) for a in s.addresses}
    shared = [(touched - own, [w for w in found if w.address[0] not in own]) for touched, found in steps]
    writer: dict[int, tuple[int, bool]] = {}
    for at, (_, found) in enumerate(shared):
        for write in found:
            for address in write.address:
                other, added = writer.setdefault(address, (at, write.adds))
                if other != at and not (added and write.adds):
                    raise conflict("two iterations of an unordered loop write", write.storage)
    for at, (touched, _) in enumerate(shared):
        for address in touched & writer.keys():
            if writer[address][0] != at:
                owner = next(s for s in program.storage.values() if address in s.addresses)
                raise conflict("an iteration of an unordered loop reads what another writes:", owner)
    return [write for _, found in shared for write in found]


# The grid ---------------------------------------------------------------------------------------------------------


def grid(frame: Frame, root: UOp) -> tuple[list[UOp], list[UOp]]:
    """The Specials over which a program is launched: those that count workgroups, and those that count threads."""
    free = [n for n in bodies.own_nodes(root) if n.op is Op.Special and n in frame.program.free[root]]
    free.sort(key=lambda special: str(special.arg))
    return [s for s in free if not is_thread_axis(s)], [s for s in free if is_thread_axis(s)]


def launched(frame: Frame, root: UOp) -> Bytes:
    """The memory after every thread of the grid has run a program; there is one thread where it has no Special."""
    groups, threads = grid(frame, root)
    if not groups and not threads:
        return version(frame, (root,)).memory
    meetings = [e for e in frame.program.effects[root] if _is_meeting(frame, e, threads)]
    steps: list[Step] = []
    for group in _iterations(frame, groups):
        with recorded(frame.program) as (touched, _):
            met = [write for e in not_yet(group, meetings) for write in writes(group, e)]
            start = version(group, tuple(meetings))
            found = _unordered(start, (root,), threads) if threads else _iterate(start, (root,))
        steps.append((touched, met + found))
    memory = Bytes(frame.memory)
    for write in check_unordered(steps, frame.program, AxisType.GLOBAL):
        memory.put(write)
    return memory


def _is_meeting(frame: Frame, effect: UOp, threads: Sequence[UOp]) -> bool:
    """Whether an effect is a Barrier of the workgroup, which no single thread runs."""
    return effect.op is Op.Barrier and frame.program.free[effect].isdisjoint(threads)
