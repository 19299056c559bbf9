"""
Fences
======

Which ``Fence(first, second)`` a collective may execute, and which pieces of CUDA it becomes. Pieces are classes of
instructions, in the order in which they run:

- before: ``cp.async.wait_all``, where the first side has copies to wait for;
- the barrier: nothing for one thread, ``syncwarp`` for a warp, ``barrier.cta.sync`` for a CTA, ``barrier.cluster``
  (arrive and wait) for a cluster;
- after: ``fence.proxy.async``, where the second side reaches memory through the asynchronous proxy.

``Fence(wgmma_fence_1, wgmma_fence_2)`` stands apart: it is ``wgmma.fence``, and opens a block of wgmma.

On the first side the question whether `cuda_in_order` suffices comes first, because it is transitive and so lies within
no other. What a fence *means* stands in `visibility`; the pieces here must do at least that much.
"""

from __future__ import annotations

from dataclasses import dataclass

from soundline.spec.errors import SynchronizationError
from soundline.spec.spork.synchronization.timelines import (
    GENERIC,
    SyncTl,
    sync_tl,
    within_first,
    within_second,
)

WARP = 32
"""Threads of a warp."""
WARPGROUP = 128
"""Threads of a warpgroup."""

FENCE_CONSTRAINTS: dict[str, str] = {
    "fence-c1": "a fence from wgmma_fence_1 leads to wgmma_fence_2",
    "fence-c2": "a wgmma fence is executed by one aligned warpgroup",
    "fence-c3": "a wgmma fence is the first statement of a CudaAsync block of wgmma_async",
    "fence-c4": "the first timeline of any other fence is within cuda_in_order or Sm80_generic",
    "fence-c5": "a fence is executed by one thread or by whole aligned warps",
    "fence-c6": "a fence of several warps is executed by a whole CTA or a whole cluster",
    "fence-c7": "the second timeline of any other fence is within Sm80_generic or cuda_generic_and_async_proxy",
}
"""What is asked of a fence, by id; the laws are read in this order."""


@dataclass(frozen=True, slots=True)
class Collective:
    """The threads that execute a statement, by their index in the cluster: rank of the CTA · blockDim + threadIdx.

    >>> quarter = Collective(frozenset(range(32, 64)), block_dim=128)
    >>> quarter.is_warp, quarter.is_warpgroup, quarter.is_cta
    (True, False, False)
    """

    threads: frozenset[int]
    block_dim: int
    cluster_dim: int = 1

    @property
    def is_thread(self) -> bool:
        """Whether it is one thread."""
        return len(self.threads) == 1

    @property
    def has_whole_warps(self) -> bool:
        """Whether it has all threads of every aligned warp that it has any of."""
        starts = {t - t % self.block_dim % WARP for t in self.threads}
        return bool(starts) and self.threads == {s + k for s in starts for k in range(WARP)}

    @property
    def is_warp(self) -> bool:
        """Whether it is one aligned warp."""
        return len(self.threads) == WARP and self.has_whole_warps

    @property
    def is_warpgroup(self) -> bool:
        """Whether it is four warps of one CTA that begin at a multiple of 128."""
        start = min(self.threads, default=0)
        aligned = start % self.block_dim % WARPGROUP == 0
        inside = start % self.block_dim + WARPGROUP <= self.block_dim
        return aligned and inside and self._is_run(start, WARPGROUP)

    @property
    def is_cta(self) -> bool:
        """Whether it is one whole CTA."""
        start = min(self.threads, default=0)
        return start % self.block_dim == 0 and self._is_run(start, self.block_dim)

    @property
    def is_cluster(self) -> bool:
        """Whether it is the whole cluster."""
        return self._is_run(0, self.block_dim * self.cluster_dim)

    @property
    def is_aligned(self) -> bool:
        """Whether it is one thread or whole aligned warps."""
        return self.is_thread or self.has_whole_warps

    def _is_run(self, start: int, count: int) -> bool:
        return self.threads == frozenset(range(start, start + count))

    def __str__(self) -> str:
        return "1 thread" if self.is_thread else f"{len(self.threads)} threads"


def fence_pieces(
    first: SyncTl, second: SyncTl, by: Collective, *, opens_wgmma_block: bool = False
) -> tuple[str, ...]:
    """The pieces that a fence becomes, in order; refused with the first constraint that it breaks.

    >>> cta = Collective(frozenset(range(128)), block_dim=128)
    >>> fence_pieces(sync_tl("Sm80_cp_async"), sync_tl("cuda_in_order"), cta)
    ('cp.async.wait_all', 'barrier.cta.sync')
    """
    if first.name == "wgmma_fence_1":
        return _wgmma_fence(first, second, by, opens_wgmma_block)
    return (*_before(first, second), *_barrier(first, second, by), *_after(first, second))


def _wgmma_fence(first: SyncTl, second: SyncTl, by: Collective, opens_wgmma_block: bool) -> tuple[str, ...]:
    if second.name != "wgmma_fence_2":
        raise _refused("fence-c1", first, second, str(second))
    if not by.is_warpgroup:
        raise _refused("fence-c2", first, second, str(by))
    if not opens_wgmma_block:
        raise _refused("fence-c3", first, second, "another place")
    return ("wgmma.fence",)


def _before(first: SyncTl, second: SyncTl) -> tuple[str, ...]:
    if within_first(first, sync_tl("cuda_in_order")):
        return ()
    if within_first(first, sync_tl("Sm80_generic")):
        return ("cp.async.wait_all",)
    hint = None if first.full <= GENERIC else "what is asynchronous is awaited by a split barrier"
    raise _refused("fence-c4", first, second, str(first), hint)


def _barrier(first: SyncTl, second: SyncTl, by: Collective) -> tuple[str, ...]:
    if by.is_thread:
        return ()
    if not by.has_whole_warps:
        raise _refused("fence-c5", first, second, str(by))
    if by.is_warp:
        return ("syncwarp",)
    if by.is_cta:
        return ("barrier.cta.sync",)
    if by.is_cluster:
        return ("barrier.cluster",)
    raise _refused("fence-c6", first, second, str(by))


def _after(first: SyncTl, second: SyncTl) -> tuple[str, ...]:
    if within_second(second, sync_tl("Sm80_generic")):
        return ()
    if within_second(second, sync_tl("cuda_generic_and_async_proxy")):
        return ("fence.proxy.async",)
    raise _refused("fence-c7", first, second, str(second))


def _refused(
    rule: str, first: SyncTl, second: SyncTl, given: str, hint: str | None = None
) -> SynchronizationError:
    return SynchronizationError(
        f"Fence({first}, {second})", rule, given=given, wants=FENCE_CONSTRAINTS[rule], hint=hint
    )
