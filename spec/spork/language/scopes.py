"""
Where a statement stands
========================

What the loops and blocks around a statement determine: the device function it belongs to, the threads that execute it
(its `Tiling`), its instr-tl, and its place in a ``CudaAsync`` block. Every reading of a program descends through it
with `inside`, so that all of them mean the same threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from soundline.spec.spork.language.expressions import number
from soundline.spec.spork.language.nodes import Ref
from soundline.spec.spork.language.statements import (
    CUDA_TASKS,
    CudaAsync,
    CudaDeviceFunction,
    CudaThreads,
    CudaWarps,
    For,
    If,
    Statement,
)
from soundline.spec.spork.synchronization.fences import Collective
from soundline.spec.spork.synchronization.timelines import InstrTl, block_instr_tl
from soundline.spec.spork.threads.tilings import Tiling, threads, tile
from soundline.spec.spork.threads.warps import DeviceShape, NamedWarps, choose_named_warps


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a statement stands; without a tiling on the CPU, or among the task loops of a device function."""

    shape: DeviceShape | None = None
    tiling: Tiling | None = None
    """The threads that execute the statement; None outside of tasks."""
    instr_tl: InstrTl = InstrTl.cpu_in_order
    block: Ref | None = None
    """The timeline of the CudaAsync block around."""
    opens: bool = False
    """Whether the statement is the first of that block, and stands directly in it."""
    closes: bool = False
    """Whether it is the last one, and stands directly in it."""

    @property
    def on_device(self) -> bool:
        """Whether the statement belongs to a task."""
        return self.tiling is not None

    def collective(self, values: Sequence[int]) -> Collective:
        """The threads that execute the statement where the cuda_threads iterators around it have these values."""
        assert self.tiling is not None
        sizes = self.tiling.block_dim, self.tiling.cluster_dim
        return Collective(threads(self.tiling, values), *sizes)

    def at(self, index: int, count: int) -> Scope:
        """The scope of one of the statements of a block that this scope is the inside of."""
        directly = self.block is not None and self.opens and self.closes
        return replace(self, opens=directly and index == 0, closes=directly and index == count - 1)


HOST = Scope()
"""The top level of a proc."""


def device_shape(block: CudaDeviceFunction) -> DeviceShape:
    """The sizes of a device function, as its law reads them."""
    warps = [NamedWarps(w.name, w.count, w.setmaxnreg_inc, w.setmaxnreg_dec) for w in block.warp_config]
    return DeviceShape(
        block_dim=block.block_dim,
        warps=warps,
        cluster_dim=block.cluster_dim,
        blocks_per_sm=block.blocks_per_sm,
    )


def inside(scope: Scope, statement: Statement) -> Scope:
    """The scope of the body of a loop or block; `Scope.at` gives that of each statement there.

    Raises `CollectiveError` where the threads do not allow it, and `SynchronizationError` for a block of a timeline
    that opens none.
    """
    match statement:
        case CudaDeviceFunction():
            return Scope(shape=device_shape(statement), instr_tl=InstrTl.cuda_in_order)
        case For(mode=CudaThreads(unit), iterator=iterator, hi=hi):
            assert scope.tiling is not None
            count = number(hi)
            assert count is not None, "checked by program_laws"
            return replace(
                scope, tiling=tile(scope.tiling, iterator, count, unit.value), opens=False, closes=False
            )
        case For(mode=mode) if mode == CUDA_TASKS:
            return task(scope) if is_task_nest(statement) else scope
        case CudaWarps():
            assert scope.shape is not None
            assert scope.tiling is not None
            chosen = choose_named_warps(
                scope.shape, scope.tiling, statement.lo, statement.hi, name=statement.name
            )
            return replace(scope, tiling=chosen, opens=False, closes=False)
        case CudaAsync(timeline):
            instr_tl = block_instr_tl(timeline.value)
            return replace(scope, instr_tl=instr_tl, block=timeline, opens=True, closes=True)
        case For() | If():
            return replace(scope, opens=False, closes=False)
        case _:
            return scope


def task(scope: Scope) -> Scope:
    """The scope of a task, the body of the innermost cuda_tasks loop: all threads of the CTA or cluster."""
    assert scope.shape is not None
    return replace(scope, tiling=scope.shape.tiling())


def is_task_nest(statement: Statement) -> bool:
    """Whether a statement is a cuda_tasks loop whose body is no further one: its body is a task."""
    if not (isinstance(statement, For) and statement.mode == CUDA_TASKS):
        return False
    inner = statement.body
    return not (len(inner) == 1 and isinstance(inner[0], For) and inner[0].mode == CUDA_TASKS)
