"""Timelines, fences and barriers as tables: what each timeline means, and what every statement becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import generated_cuda
import shown_programs
from rst import code, law, prose, table, title

from soundline.spec.errors import SynchronizationError
from soundline.spec.spork.synchronization.barriers import BarrierType, arrive_pieces, await_pieces
from soundline.spec.spork.synchronization.fences import Collective, fence_pieces
from soundline.spec.spork.synchronization.timelines import (
    ASYNC_BLOCKS,
    ASYNC_PROXY,
    CPU,
    DEVICE,
    LEGAL_PAIRS,
    SYNC_TLS,
    Pair,
    SyncTl,
)

PAIR_WORDS: dict[str, str] = {
    "cpu_in_order cpu": "whatever the CPU does",
    "cuda_in_order cuda_sync_rmem": "ordinary instructions on registers, mma and shuffles among them",
    "cuda_in_order cuda_ram": "ordinary loads and stores of shared and global memory",
    "Sm80_cp_async cuda_ram": "cp.async: copies from global to shared memory",
    "tma_to_smem_async cuda_ram": "TMA, copying to shared memory",
    "tma_to_gmem_async cuda_ram": "TMA, copying or adding to global memory",
    "wgmma_async cuda_async_a_rmem": "wgmma, reading its left operand from registers",
    "wgmma_async cuda_async_d_rmem": "wgmma, on its accumulator",
    "wgmma_async cuda_ram": "wgmma, reading operands from shared memory",
}
"""What the accesses of a pair are."""

WORDS: dict[str, str] = {
    "cpu_in_order": "Accesses of the CPU. Fences of the CPU have it on both sides.",
    "cuda_in_order": "Ordinary instructions. As a first side it passes on everything that these threads "
    "know, including accesses of others that an earlier synchronization ordered before them. As a second "
    "side, ordinary instructions see everything, and no timeline of the device overwrites what was read "
    "before.",
    "cuda_temporal": "Order without visibility. As a second side: later writes come after earlier reads, "
    "but nothing that was written becomes visible. As a first side it waits for nothing.",
    "Sm80_cp_async": "The cp.async copies of these threads: earlier ones on a first side, later ones on a "
    "second side.",
    "Sm80_generic": "Ordinary instructions and cp.async together: the generic proxy. As a first side it "
    "waits for accesses on these timelines, and passes on nothing else.",
    "tma_to_smem_async": "TMA copies to shared memory. A trailing mbarrier signals their completion.",
    "tma_to_gmem_async": "TMA copies and additions to global memory. A commit group signals their completion.",
    "wgmma_async_smem": "The operands that wgmma reads from shared memory.",
    "wgmma_fence_1": "The first side of wgmma.fence: registers, whatever used them.",
    "wgmma_fence_2": "The second side of wgmma.fence: registers, as wgmma uses them.",
    "wgmma_async": "All accesses of wgmma, to registers and shared memory.",
    "cuda_async_proxy": "Memory as TMA and wgmma access it: the asynchronous proxy.",
    "cuda_async_proxy_wgmma": "The asynchronous proxy and the registers of wgmma.",
    "cuda_generic_and_async_proxy": "All memory, through both proxies, and ordinary registers.",
    "empty": "Nothing.",
}
"""What each sync-tl means."""

COLLECTIVES: dict[str, Collective] = {
    "a thread": Collective(frozenset({0}), block_dim=256, cluster_dim=2),
    "half a warp": Collective(frozenset(range(16)), block_dim=256, cluster_dim=2),
    "a warp": Collective(frozenset(range(32)), block_dim=256, cluster_dim=2),
    "a warpgroup": Collective(frozenset(range(128)), block_dim=256, cluster_dim=2),
    "a CTA": Collective(frozenset(range(256)), block_dim=256, cluster_dim=2),
    "a cluster": Collective(frozenset(range(512)), block_dim=256, cluster_dim=2),
}
"""Who might execute a statement, in a cluster of two CTAs of 256 threads."""

EVERYONE = tuple(COLLECTIVES.values())


def pairs() -> str:
    """The nine pairs."""
    rows = [
        (code(p.instr), code(p.usage), prose(PAIR_WORDS[f"{p.instr} {p.usage}"]), _proxy(p))
        for p in LEGAL_PAIRS
    ]
    return table(("instr-tl", "usage-tl", "what it is", "proxy"), rows, widths=(24, 24, 38, 14))


def _proxy(pair: Pair) -> str:
    if pair == CPU:
        return "CPU"
    return (
        "async" if pair in ASYNC_PROXY else "generic" if "ram" in pair.usage.split("_")[-1:] else "registers"
    )


def _pairs(pairs: frozenset[Pair]) -> str:
    if pairs == DEVICE:
        return "all of the device"
    ordered = [p for p in LEGAL_PAIRS if p in pairs]
    return "\n\n".join(f"{code(p.instr)} {code(p.usage)}" for p in ordered) or "none"


def timelines() -> str:
    """The table of sync-tls."""
    rows = [
        (
            f"{code(row.name)}\n\n{prose(WORDS[row.name])}",
            _pairs(row.full),
            "the same" if row.temporal == row.full else _pairs(row.temporal),
            "yes" if row.transitive else "no",
            "yes" if row.name in ASYNC_BLOCKS else "no",
        )
        for row in SYNC_TLS.values()
    ]
    header = ("sync-tl", "full set", "temporal set", "transitive", "opens CudaAsync")
    return table(header, rows, widths=(38, 30, 12, 10, 10))


# Pieces -----------------------------------------------------------------------------------------------------------


def all_pieces() -> list[str]:
    """Every piece that some fence, arrive or await becomes, in the order in which the tables show them."""
    found: dict[str, None] = {}
    for first in SYNC_TLS.values():
        for second in SYNC_TLS.values():
            for by in EVERYONE:
                found |= dict.fromkeys(_fence(first, second, by))
    for kind in BarrierType:
        for first in SYNC_TLS.values():
            found |= dict.fromkeys(p for made in _arrives(kind, first) for p in made)
            for second in SYNC_TLS.values():
                found |= dict.fromkeys(_await(kind, first, second))
    return [piece for piece in found if not piece.startswith(".")]


def spelled() -> str:
    """Every piece with a statement that becomes it, and the CUDA C++ of that statement."""
    parts = []
    for piece in all_pieces():
        parts += [f"{code(piece)}\n", generated_cuda.shown(shown_programs.shown_piece(piece))]
    return "\n".join(parts)


# What statements become -------------------------------------------------------------------------------------------

Outcome = tuple[str, ...]
"""The pieces of a statement, or the id under which it is refused, in one entry that begins with a stop."""


def outcome(made: Callable[[], tuple[str, ...]]) -> Outcome:
    """The pieces, or the id of the refusal."""
    try:
        return made()
    except SynchronizationError as error:
        return (f".{error.rule}",)


def _said(found: Outcome) -> str:
    if not found:
        return "nothing"
    return f"refused, {law(found[0][1:])}" if found[0].startswith(".") else ", ".join(map(code, found))


def _names(group: Sequence[SyncTl]) -> str:
    return ", ".join(code(t.name) for t in group)


def _groups(alike: Callable[[SyncTl], object]) -> list[list[SyncTl]]:
    """The sync-tls, those together of which something is the same."""
    found: dict[object, list[SyncTl]] = {}
    for timeline in SYNC_TLS.values():
        found.setdefault(alike(timeline), []).append(timeline)
    return list(found.values())


def _fence(first: SyncTl, second: SyncTl, by: Collective) -> Outcome:
    return outcome(lambda: fence_pieces(first, second, by, opens_wgmma_block=True))


def fences() -> str:
    """What a fence becomes, for every two timelines and every collective."""
    firsts = _groups(lambda a: tuple(_fence(a, b, by) for b in SYNC_TLS.values() for by in EVERYONE))
    rows = []
    for group in firsts:
        one = group[0]
        seconds = _groups(lambda b, one=one: tuple(_fence(one, b, by) for by in EVERYONE))  # type: ignore[misc]
        for others in seconds:
            made = {name: _fence(one, others[0], by) for name, by in COLLECTIVES.items()}
            rows.append((_names(group), _names(others) if len(seconds) > 1 else "any", by_collective(made)))
    return table(("first", "second", "executed by, becomes"), rows, widths=(26, 30, 44), css="lowering")


def by_collective(made: dict[str, Outcome]) -> str:
    """What a statement becomes: those together for whom it is the same."""
    found: dict[Outcome, list[str]] = {}
    for name, outcome_ in made.items():
        found.setdefault(outcome_, []).append(name)
    if len(found) == 1:
        return f"whoever executes it: {_said(next(iter(found)))}"
    return "\n\n".join(f"{' or '.join(names)}: {_said(pieces)}" for pieces, names in found.items())


def barriers() -> str:
    """What arrives and awaits become, for every type, timeline and collective."""
    header = ("arrive from", "becomes", "await to", "becomes")
    return "\n".join(
        title(kind, "~") + "\n" + table(header, _barrier(kind), widths=(28, 24, 28, 20), css="lowering")
        for kind in BarrierType
    )


def _barrier(kind: BarrierType) -> Iterator[tuple[str, ...]]:
    """The rows of a type."""
    for group in _groups(lambda t: _arrives(kind, t)):
        one = group[0]
        arrive = _said(_arrive(kind, one))
        users = _units(kind, one)
        if not users:
            yield _names(group), arrive, "", ""
            continue
        for others in _groups(lambda s, one=one: _await(kind, one, s)):  # type: ignore[misc]
            wait = _said(_await(kind, one, others[0]))
            yield _names(group), f"{arrive}, by {users}", _names(others), wait


def _arrives(kind: BarrierType, first: SyncTl) -> tuple[Outcome, ...]:
    return tuple(
        outcome(lambda by=by: arrive_pieces(kind, first, by, closes_block=True))  # type: ignore[misc]
        for by in COLLECTIVES.values()
    )


def _users(kind: BarrierType, first: SyncTl) -> list[str]:
    """The collectives that may arrive."""
    found = zip(COLLECTIVES, _arrives(kind, first), strict=True)
    return [name for name, made in found if not made[0].startswith(".")]


def _arrive(kind: BarrierType, first: SyncTl) -> Outcome:
    """What an arrive becomes by whoever may execute it."""
    users = _users(kind, first) or ["a thread"]
    return outcome(lambda: arrive_pieces(kind, first, COLLECTIVES[users[0]], closes_block=True))


def _await(kind: BarrierType, first: SyncTl, second: SyncTl) -> Outcome:
    users = _users(kind, first) or ["a thread"]
    n = 0 if kind is BarrierType.CudaCommitGroup else ~0
    return outcome(lambda: await_pieces(kind, first, second, COLLECTIVES[users[0]], n=n))


def _units(kind: BarrierType, first: SyncTl) -> str:
    users = _users(kind, first)
    return "a thread, or whole warps" if len(users) > 2 else " or ".join(users)
