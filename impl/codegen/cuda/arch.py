"""
Architectures
=============

For which GPUs code is generated. A program that uses what Hopper brought, such as TMA, wgmma or clusters, wants
``sm_90a``; every other one runs on ``sm_80`` and what came after.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from soundline.spec.errors import CompileError, UsageError
from soundline.spec.spork.language.expressions import walk
from soundline.spec.spork.language.nodes import Ref
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import CudaDeviceFunction
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.synchronization.timelines import InstrTl, SyncTl


@dataclass(frozen=True, slots=True)
class Arch:
    """An architecture: its name, and its number in the texts of instructions."""

    name: str
    number: int


ARCHS: Final = {"sm_80": Arch("sm_80", 80), "sm_90a": Arch("sm_90a", 90)}
"""The architectures by name, the least first."""

HOPPER: Final = frozenset({InstrTl.tma_to_smem_async, InstrTl.tma_to_gmem_async, InstrTl.wgmma_async})
"""The timelines of instructions that only Hopper has."""


def arch_of(proc: Proc, wanted: str | None) -> Arch:
    """The architecture of a name, or the least one that has what a program uses.

    Raises `UsageError` for a name that is none, and `CompileError` where the program uses what it has not.
    """
    if wanted is not None and wanted not in ARCHS:
        raise UsageError(f"there is no architecture {wanted}", hint=f"one of {', '.join(ARCHS)}")
    reason = next(_reasons(proc), None)
    least = ARCHS["sm_80" if reason is None else "sm_90a"]
    if wanted is None:
        return least
    if ARCHS[wanted].number < least.number:
        raise CompileError(
            f"{wanted} has no {reason}, which {proc.name} uses",
            where=proc.name,
            hint=f"compile for {least.name}",
        )
    return ARCHS[wanted]


def _reasons(proc: Proc) -> Iterator[str]:
    """What a program uses that only Hopper has."""
    for node in walk(proc):
        if isinstance(node, CudaDeviceFunction):
            if node.cluster_dim > 1:
                yield "clusters"
            if any(w.setmaxnreg_dec or w.setmaxnreg_inc for w in node.warp_config):
                yield "setmaxnreg"
        elif isinstance(node, Ref):
            yield from _reasons_of(node)


def _reasons_of(ref: Ref) -> Iterator[str]:
    match ref.value:
        case Proc() as callee:
            yield from _reasons(callee)
        case Instruction(instr_tl=timeline) if timeline in HOPPER:
            yield ref.name
        case Memory(window=True):
            yield "tensor maps"
        case SyncTl() as timeline if any(pair.instr in HOPPER for pair in timeline.full):
            yield f"timeline {ref.name}"
        case _:
            return
