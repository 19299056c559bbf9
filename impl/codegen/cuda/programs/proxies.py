"""
Proxies and global memory
=========================

Whether a proxy fence has to say anything of global memory. TMA reaches it through the asynchronous proxy, and the
accesses of threads through the generic one. Where no array is reached through both, what threads did to one is nothing
to TMA, and a fence of shared memory alone is enough: on Hopper the fence of everything waits for all that the thread
has asked of the memory of the device, at each step of a ring. Between kernels, the start of the next one orders both.
"""

from __future__ import annotations

from collections.abc import Iterator

from soundline.impl.codegen.cuda.outside import Outside
from soundline.spec.spork.language.expressions import Index, Name, walk
from soundline.spec.spork.language.statements import (
    Call,
    CudaDeviceFunction,
    Statement,
    WindowOf,
    bodies,
    statements,
)
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.synchronization.timelines import InstrTl

TMA = frozenset({InstrTl.tma_to_smem_async, InstrTl.tma_to_gmem_async})


def arrays_are_apart(block: CudaDeviceFunction, outside: Outside) -> bool:
    """Whether no array of global memory is reached both by TMA and by threads.

    A cluster is not asked: a fence of shared memory is about that of the own CTA.
    """
    if block.cluster_dim > 1:
        return False
    # A name that is bound again keeps what it was bound to before, so that nothing is overlooked.
    arrays = {name: {outside.arrays.get(name, name)} for name in outside.views}
    reached: dict[bool, set[str]] = {False: set(), True: set()}
    for statement in statements(block.body):
        if isinstance(statement, WindowOf):
            arrays.setdefault(statement.name, set()).update(arrays.get(statement.window.name, ()))
            continue
        if isinstance(statement, Call) and not isinstance(statement.callee.value, Instruction):
            return False
        by_tma = isinstance(statement, Call) and statement.callee.value.instr_tl in TMA
        for name in _names(statement):
            reached[by_tma] |= arrays.get(name, set())
    return not reached[False] & reached[True]


def _names(statement: Statement) -> Iterator[str]:
    """What an assignment, a reduction or a call names; other statements name no data."""
    if not bodies(statement):
        yield from (node.name for node in walk(statement) if isinstance(node, Name | Index))
