"""
What a program must satisfy before it runs
==========================================

The conditions on threads, memory and synchronization that no other chapter states, by id, and how the error of any
chapter gets its place in the program. `static_law` decides them all without running anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from soundline.spec.errors import CollectiveError, StaticError, SynchronizationError
from soundline.spec.spork.language.nodes import Node
from soundline.spec.spork.library.memories import MEMORY_CONSTRAINTS
from soundline.spec.spork.library.schema import INSTRUCTION_CONSTRAINTS
from soundline.spec.spork.synchronization.barriers import BARRIER_CONSTRAINTS

STATIC_CONSTRAINTS: Final[dict[str, str]] = {
    "static-object": "a memory, barrier type, timeline, unit, proc or instruction is an object of the law, and no mere "
    "name",
    "static-cluster": "clusterDim is a power of two",
    "static-task-bounds": "the bounds of a cuda_tasks loop do not depend on the cuda_tasks loops around it",
    "static-par": "no CudaDeviceFunction runs in a par loop",
    "static-fence-cpu": "a fence on the CPU is from cpu_in_order to cpu_in_order",
    "mem-none": "what is allocated on the device names a memory",
    "mem-argument": "data that a proc is given lies in the memory that it declares for the argument, by default DRAM",
    "mem-view": "a memory that makes windows makes them of storage in its space, which its instructions may touch",
    "mem-box": "a window of a memory with a box has as many dimensions as the box",
    "mem-read-only": "an instruction does not write to memory that its timeline may read and not write",
    "bar-alloc": "a CudaCommitGroup and a CudaMbarrier are allocated in a task, on cuda_in_order",
    "bar-place": "arrives and awaits stand in a task",
    "bar-awaited": "what is awaited is arrived at",
    "bar-group-owner": "a commit group is awaited by the collective that arrives at it",
    "bar-mbarrier-cta": "the threads that arrive at an mbarrier or await it are of one CTA",
    "bar-mbarrier-home": "an index of an mbarrier counts CTAs in all of its statements alike",
    "bar-turns": "who awaits one side of an mbarrier that has two arrives at the other in turn: each await is followed "
    "in its block by such an arrive, several by as many, or comes after one",
    "bar-turns-loop": "no seq loop stands between an await and the arrive that it takes turns with",
    "bar-turns-if": "an if stands around both; after an await, one may hold nothing of the barrier but the arrive",
    "bar-multicast-between": "between the loop over CTAs for which a colon stands and the arrive is no seq loop, and "
    "no if but one that all CTAs decide alike: its condition names no iterator of a cuda_threads loop",
    "bar-multicast-copies": "an arrive from Sm80_cp_async is at one mbarrier: cp.async.mbarrier.arrive reaches only "
    "those of its own CTA",
    "bar-trailing": "the CudaAsync block of an instruction with trailing barriers ends with an Arrive of its timeline, "
    "at these barriers among others",
    "dist-interval": "an interval stands among the indices that tell the shards apart only where an operand of an "
    "instruction has a unit of its own",
    "dist-interval-whole": "an interval among the indices that tell the shards apart is all of its dimension",
    "dist-interval-first": "the first interval of an operand with a unit of its own counts shards",
    "dist-interval-unit": "the shards that an operand with a unit of its own touches belong to one collective of it",
    "dist-interval-alone": "what is used by intervals of shards is used by single shards too, which says who owns them",
}
"""The conditions that stand in no other chapter."""

SENTENCES: Final = {
    **BARRIER_CONSTRAINTS,
    **MEMORY_CONSTRAINTS,
    **INSTRUCTION_CONSTRAINTS,
    **STATIC_CONSTRAINTS,
}
"""What is asked of barriers, of memory, of instructions, and here."""


def static_refusal(
    rule: str, at: Node, subject: object, given: str, *, within: Node | None = None, hint: str | None = None
) -> StaticError:
    """The error of a part of a program; where the part has no place, it is that of what it stands in."""
    return _placed_error(str(subject), rule, (at, within), given=given, wants=SENTENCES[rule], hint=hint)


@contextmanager
def placed(at: Node, within: Node | None = None) -> Iterator[None]:
    """What a chapter of the law refuses in this block is refused at this place."""
    try:
        yield
    except CollectiveError as error:
        found = error.subject, error.rule or ""
        raise _placed_error(
            *found, (at, within), given=error.given, wants=error.wants, most=error.most, hint=error.hint
        ) from error
    except StaticError as error:
        if error.line is not None:
            raise
        raise _placed_error(
            error.subject, error.rule or "", (at, within), given=error.given, wants=error.wants
        ) from error
    except SynchronizationError as error:
        found = error.where or "", error.rule or ""
        raise _placed_error(
            *found, (at, within), given=error.given, wants=error.wants, hint=error.hint
        ) from error


def _placed_error(
    subject: str,
    rule: str,
    nodes: tuple[Node | None, ...],
    *,
    given: str,
    wants: str,
    most: int | None = None,
    hint: str | None = None,
) -> StaticError:
    position = next((n.position for n in nodes if n is not None and n.position is not None), None)
    if position is None:
        return StaticError(subject, rule, given=given, wants=wants, most=most, hint=hint)
    return StaticError(
        subject,
        rule,
        given=given,
        wants=wants,
        file=position.file,
        line=position.line,
        column=position.column,
        excerpt=position.text,
        most=most,
        hint=hint,
    )
