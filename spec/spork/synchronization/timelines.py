"""
Timelines
=========

Every read and write of memory happens on a *timeline*: the instructions that do it (its instr-tl), and what kind of
use of memory it is (its usage-tl). Of their pairs nine are legal. With the thread that does it, a pair is the
*signature* of the access, see `visibility`.

Statements that synchronize do not name pairs but *sync-tls*. A sync-tl has

- a *full* set of pairs: on its first side the accesses that it waits for, on its second side those that then see all
  that was written and read before;
- a *temporal* set, which contains the full one: as a second side, the accesses that come after what was *read* before,
  though they need not see what was written;
- and whether it is *transitive* as a first side: whether it passes on what its threads only know of by an earlier
  synchronization, or only what was done on its own timelines (S-03).

All of that is data; the sets are written out, so that the table can be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import ClassVar, Literal, NamedTuple

from soundline.spec.errors import SynchronizationError


class InstrTl(StrEnum):
    """The timeline of an instruction: in order with its thread, or one of the asynchronous ones."""

    cpu_in_order = "cpu_in_order"
    cuda_in_order = "cuda_in_order"
    Sm80_cp_async = "Sm80_cp_async"
    tma_to_smem_async = "tma_to_smem_async"
    tma_to_gmem_async = "tma_to_gmem_async"
    wgmma_async = "wgmma_async"


class UsageTl(StrEnum):
    """How an instruction uses memory: RAM, or registers in one of three roles."""

    cpu = "cpu"
    cuda_ram = "cuda_ram"
    cuda_sync_rmem = "cuda_sync_rmem"
    cuda_async_a_rmem = "cuda_async_a_rmem"
    cuda_async_d_rmem = "cuda_async_d_rmem"


class Pair(NamedTuple):
    """An instr-tl with a usage-tl."""

    instr: InstrTl
    usage: UsageTl


CPU = Pair(InstrTl.cpu_in_order, UsageTl.cpu)
IO_RMEM = Pair(InstrTl.cuda_in_order, UsageTl.cuda_sync_rmem)
IO_RAM = Pair(InstrTl.cuda_in_order, UsageTl.cuda_ram)
CP_RAM = Pair(InstrTl.Sm80_cp_async, UsageTl.cuda_ram)
T2S_RAM = Pair(InstrTl.tma_to_smem_async, UsageTl.cuda_ram)
T2G_RAM = Pair(InstrTl.tma_to_gmem_async, UsageTl.cuda_ram)
WG_A = Pair(InstrTl.wgmma_async, UsageTl.cuda_async_a_rmem)
WG_D = Pair(InstrTl.wgmma_async, UsageTl.cuda_async_d_rmem)
WG_RAM = Pair(InstrTl.wgmma_async, UsageTl.cuda_ram)

LEGAL_PAIRS: tuple[Pair, ...] = (CPU, IO_RMEM, IO_RAM, CP_RAM, T2S_RAM, T2G_RAM, WG_A, WG_D, WG_RAM)
"""The nine pairs that an access can have."""

DEVICE: frozenset[Pair] = frozenset(LEGAL_PAIRS) - {CPU}
"""Every pair of the device."""

GENERIC: frozenset[Pair] = frozenset({CPU, IO_RMEM, IO_RAM, CP_RAM})
"""The pairs of the generic proxy; what they do needs no proxy fence among themselves (S-08)."""

ASYNC_PROXY: frozenset[Pair] = frozenset({T2S_RAM, T2G_RAM, WG_RAM})
"""The pairs that reach memory through the asynchronous proxy."""

TIMELINE_CONSTRAINTS: dict[str, str] = {
    "tl-pair": "the instr-tl and the usage-tl are one of the nine legal pairs",
    "tl-sync": "the sync-tl is one of those in the table",
    "tl-async-block": "a CudaAsync block has the sync-tl of one asynchronous instr-tl: Sm80_cp_async, "
    "tma_to_smem_async, tma_to_gmem_async or wgmma_async",
}
"""What is asked of timelines, by id."""


@dataclass(frozen=True, slots=True)
class SyncTl:
    """A timeline of synchronization."""

    name: str
    full: frozenset[Pair]
    temporal: frozenset[Pair]
    transitive: bool

    spork_sort: ClassVar[Literal["timeline"]] = "timeline"

    def __str__(self) -> str:
        return self.name


def _row(
    name: str, full: Iterable[Pair], temporal: Iterable[Pair] = (), *, transitive: bool = False
) -> SyncTl:
    """A row of the table; `temporal` is what that set has beyond the full one."""
    whole = frozenset(full)
    return SyncTl(name, whole, whole | frozenset(temporal), transitive)


SYNC_TLS: dict[str, SyncTl] = {
    row.name: row
    for row in (
        _row("cpu_in_order", (CPU,), transitive=True),
        _row("cuda_in_order", (IO_RMEM, IO_RAM), DEVICE, transitive=True),
        _row("cuda_temporal", (), DEVICE),
        _row("Sm80_cp_async", (CP_RAM,)),
        _row("Sm80_generic", (IO_RMEM, IO_RAM, CP_RAM), DEVICE),
        _row("tma_to_smem_async", (T2S_RAM,)),
        _row("tma_to_gmem_async", (T2G_RAM,)),
        _row("wgmma_async_smem", (WG_RAM,)),
        _row("wgmma_fence_1", (IO_RMEM, WG_A, WG_D)),
        _row("wgmma_fence_2", (WG_A, WG_D)),
        _row("wgmma_async", (WG_A, WG_D, WG_RAM)),
        _row("cuda_async_proxy", (T2S_RAM, T2G_RAM, WG_RAM)),
        _row("cuda_async_proxy_wgmma", (T2S_RAM, T2G_RAM, WG_RAM, WG_A, WG_D)),
        _row("cuda_generic_and_async_proxy", (IO_RMEM, IO_RAM, CP_RAM, T2S_RAM, T2G_RAM, WG_RAM), DEVICE),
        _row("empty", ()),
    )
}
"""Every sync-tl, by name."""

ASYNC_BLOCKS: dict[str, InstrTl] = {
    "Sm80_cp_async": InstrTl.Sm80_cp_async,
    "tma_to_smem_async": InstrTl.tma_to_smem_async,
    "tma_to_gmem_async": InstrTl.tma_to_gmem_async,
    "wgmma_async": InstrTl.wgmma_async,
}
"""The sync-tls that open a ``CudaAsync`` block, with the instr-tl of what stands inside."""


def sync_tl(name: str) -> SyncTl:
    """The sync-tl with this name.

    >>> sorted(pair.instr.value for pair in sync_tl("cuda_async_proxy").full)
    ['tma_to_gmem_async', 'tma_to_smem_async', 'wgmma_async']
    """
    if name not in SYNC_TLS:
        near = get_close_matches(name, SYNC_TLS, 1)
        hint = f"did you mean {near[0]}?" if near else None
        raise SynchronizationError(
            name, "tl-sync", given=name, wants=f"one of {', '.join(SYNC_TLS)}", hint=hint
        )
    return SYNC_TLS[name]


def pair(instr: InstrTl, usage: UsageTl) -> Pair:
    """The pair of an instr-tl and a usage-tl, where it is legal.

    >>> pair(InstrTl.wgmma_async, UsageTl.cuda_ram) in ASYNC_PROXY
    True
    """
    made = Pair(instr, usage)
    if made not in LEGAL_PAIRS:
        raise SynchronizationError(
            f"{instr}, {usage}",
            "tl-pair",
            given=f"({instr}, {usage})",
            wants=f"a usage-tl of {instr}: {', '.join(p.usage for p in LEGAL_PAIRS if p.instr is instr)}",
        )
    return made


def block_instr_tl(timeline: SyncTl) -> InstrTl:
    """The instr-tl inside ``CudaAsync(timeline)``."""
    if timeline.name not in ASYNC_BLOCKS:
        raise SynchronizationError(
            f"CudaAsync({timeline})",
            "tl-async-block",
            given=timeline.name,
            wants=f"one of {', '.join(ASYNC_BLOCKS)}",
        )
    return ASYNC_BLOCKS[timeline.name]


def within_second(x: SyncTl, y: SyncTl) -> bool:
    """x ⊑ y as second sides: whatever x makes visible, y does too."""
    return x.full <= y.full and x.temporal <= y.temporal


def within_first(x: SyncTl, y: SyncTl) -> bool:
    """x ⊑ y as first sides: whatever x waits for, y does too; so a transitive one only within a transitive one.

    >>> within_first(sync_tl("cuda_in_order"), sync_tl("Sm80_generic"))
    False
    >>> within_second(sync_tl("cuda_in_order"), sync_tl("Sm80_generic"))
    True
    """
    return within_second(x, y) and (y.transitive or not x.transitive)
