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
    "static-object": (
        "a memory, barrier type, timeline, unit, proc or instruction is an object, not only a name"
    ),
    "static-cluster": "clusterDim is a power of two",
    "static-task-bounds": "the bounds of a cuda_tasks loop do not depend on enclosing cuda_tasks loops",
    "static-par": "no CudaDeviceFunction is in a par loop",
    "static-fence-cpu": "a fence on the CPU is from cpu_in_order to cpu_in_order",
    "mem-none": "an allocation on the device names a memory",
    "mem-argument": (
        "data passed to a proc lies in the memory that it declares for the argument, by default DRAM"
    ),
    "mem-view": (
        "a memory that makes windows makes them of storage in its space that its instructions may access"
    ),
    "mem-box": "a window of a memory with a box has as many dimensions as the box",
    "mem-read-only": "an instruction does not write memory that its timeline may only read",
    "bar-alloc": "a CudaCommitGroup and a CudaMbarrier are allocated in a task, on cuda_in_order",
    "bar-place": "arrives and awaits are in a task",
    "bar-awaited": "every barrier with an await has an arrive",
    "bar-group-owner": "a commit group is awaited by the collective that arrives at it",
    "bar-mbarrier-cta": "the threads that arrive at an mbarrier, or await it, belong to one CTA",
    "bar-mbarrier-home": "an index of an mbarrier counts CTAs in the same way in all of its statements",
    "bar-turns": (
        "the threads that await one side of an mbarrier with two sides arrive at the other side in turn: "
        "in each block, awaits are followed by as many such arrives, or follow them"
    ),
    "bar-turns-loop": "there is no seq loop between an await and the arrive that takes turns with it",
    "bar-turns-if": (
        "an if contains both the await and its arrive; after an await, an if may contain only the arrive"
    ),
    "bar-multicast-between": (
        "between the loop over CTAs that a colon replaces and the arrive there is no seq loop, and no if "
        "whose condition names an iterator of a cuda_threads loop"
    ),
    "bar-multicast-copies": (
        "an arrive from Sm80_cp_async is at one mbarrier, because cp.async.mbarrier.arrive reaches only "
        "those of its own CTA"
    ),
    "bar-trailing": (
        "the CudaAsync block of an instruction with trailing barriers ends with an Arrive of its "
        "timeline at these barriers, and possibly others"
    ),
    "bar-trailing-ctas": (
        "the trailing barriers of an instruction lie in the CTAs whose shared memory it writes: TMA counts the bytes "
        "that arrive in a CTA at the mbarrier of that CTA, and at no other"
    ),
    "dist-interval": (
        "an interval among the indices that select the shard is only for an operand of an instruction "
        "with a unit of its own"
    ),
    "dist-interval-whole": "an interval among the indices that select the shard covers its whole dimension",
    "dist-interval-first": "the first interval of an operand with a unit of its own counts shards",
    "dist-interval-unit": (
        "the shards that an operand with a unit of its own accesses belong to one collective of that unit"
    ),
    "dist-interval-alone": (
        "an array that is used by intervals of shards is also used by single shards, which determine the "
        "owners"
    ),
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
    """Refusals that a chapter of the law raises in this block get this place."""
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
