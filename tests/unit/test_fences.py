"""Which fences are legal, and what they become: a twin for each constraint, and the whole table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundline.spec.errors import SynchronizationError
from soundline.spec.spork.synchronization.fences import FENCE_CONSTRAINTS, Collective, fence_pieces
from soundline.spec.spork.synchronization.timelines import SYNC_TLS, sync_tl


def of(threads: Iterable[int], block_dim: int = 256, cluster_dim: int = 1) -> Collective:
    return Collective(frozenset(threads), block_dim, cluster_dim)


THREAD = of([37])
WARP = of(range(64, 96))
TWO_WARPS = of(range(64, 128))
WARPGROUP = of(range(128, 256))
CTA = of(range(256))
CLUSTER = of(range(512), cluster_dim=2)
CTA_OF_CLUSTER = of(range(256, 512), cluster_dim=2)
HALF_WARP = of(range(16))
SKEWED = of(range(16, 48))


def pieces(first: str, second: str, by: Collective, opens: bool = False) -> tuple[str, ...]:
    return fence_pieces(sync_tl(first), sync_tl(second), by, opens_wgmma_block=opens)


ACCEPTED = [
    ("cuda_in_order", "cuda_in_order", THREAD, ()),
    ("cuda_in_order", "cuda_in_order", WARP, ("syncwarp",)),
    ("cuda_in_order", "cuda_in_order", CTA, ("barrier.cta.sync",)),
    ("cuda_in_order", "cuda_in_order", CTA_OF_CLUSTER, ("barrier.cta.sync",)),
    ("cuda_in_order", "cuda_in_order", CLUSTER, ("barrier.cluster",)),
    ("Sm80_cp_async", "cuda_in_order", CTA, ("cp.async.wait_all", "barrier.cta.sync")),
    ("Sm80_generic", "Sm80_generic", THREAD, ("cp.async.wait_all",)),
    ("cuda_in_order", "cuda_generic_and_async_proxy", WARP, ("syncwarp", "fence.proxy.async")),
    ("cuda_in_order", "cuda_async_proxy", THREAD, ("fence.proxy.async",)),
    (
        "Sm80_generic",
        "cuda_async_proxy",
        CTA,
        ("cp.async.wait_all", "barrier.cta.sync", "fence.proxy.async"),
    ),
    ("cuda_temporal", "Sm80_cp_async", CTA, ("barrier.cta.sync",)),
    ("empty", "empty", WARP, ("syncwarp",)),
]


@pytest.mark.parametrize(("first", "second", "by", "made"), ACCEPTED, ids=lambda x: str(x)[:32])
def test_accepted(first: str, second: str, by: Collective, made: tuple[str, ...]) -> None:
    assert pieces(first, second, by) == made


def test_a_wgmma_fence_is_one_piece() -> None:
    assert pieces("wgmma_fence_1", "wgmma_fence_2", WARPGROUP, opens=True) == ("wgmma.fence",)


REFUSED = {
    "fence-c1": ("wgmma_fence_1", "cuda_in_order", WARPGROUP, True),
    "fence-c2": ("wgmma_fence_1", "wgmma_fence_2", of(range(32, 160)), True),
    "fence-c3": ("wgmma_fence_1", "wgmma_fence_2", WARPGROUP, False),
    "fence-c4": ("tma_to_smem_async", "cuda_in_order", CTA, False),
    "fence-c5": ("cuda_in_order", "cuda_in_order", SKEWED, False),
    "fence-c6": ("cuda_in_order", "cuda_in_order", TWO_WARPS, False),
    "fence-c7": ("cuda_in_order", "wgmma_fence_2", CTA, False),
}


@pytest.mark.parametrize("rule", FENCE_CONSTRAINTS)
def test_refused(rule: str) -> None:
    first, second, by, opens = REFUSED[rule]
    with pytest.raises(SynchronizationError) as caught:
        pieces(first, second, by, opens)
    assert caught.value.rule == rule
    assert caught.value.where == f"Fence({first}, {second})"
    assert caught.value.wants == FENCE_CONSTRAINTS[rule]


MORE_REFUSED = [
    ("fence-c1", "wgmma_fence_1", "wgmma_fence_1", WARPGROUP, True),
    ("fence-c2", "wgmma_fence_1", "wgmma_fence_2", WARP, True),
    ("fence-c2", "wgmma_fence_1", "wgmma_fence_2", CTA, True),
    ("fence-c4", "wgmma_fence_2", "wgmma_fence_2", WARPGROUP, True),
    ("fence-c4", "cuda_generic_and_async_proxy", "cuda_in_order", CTA, False),
    ("fence-c4", "cpu_in_order", "cpu_in_order", CTA, False),
    ("fence-c5", "cuda_in_order", "cuda_in_order", HALF_WARP, False),
    ("fence-c6", "cuda_in_order", "cuda_in_order", WARPGROUP, False),
    ("fence-c6", "cuda_in_order", "cuda_in_order", of(range(256, 512), cluster_dim=4, block_dim=128), False),
    ("fence-c7", "cuda_in_order", "cpu_in_order", CTA, False),
    ("fence-c7", "cuda_in_order", "cuda_async_proxy_wgmma", CTA, False),
]


@pytest.mark.parametrize(("rule", "first", "second", "by", "opens"), MORE_REFUSED)
def test_refused_too(rule: str, first: str, second: str, by: Collective, opens: bool) -> None:
    with pytest.raises(SynchronizationError) as caught:
        pieces(first, second, by, opens)
    assert caught.value.rule == rule


def test_what_is_given_is_told() -> None:
    for rule, given_ in [
        ("fence-c1", "cuda_in_order"),
        ("fence-c2", "128 threads"),
        ("fence-c5", "32 threads"),
    ]:
        first, second, by, opens = REFUSED[rule]
        with pytest.raises(SynchronizationError) as caught:
            pieces(first, second, by, opens)
        assert caught.value.given == given_
    assert str(THREAD) == "1 thread"


def test_only_what_is_asynchronous_is_sent_to_a_split_barrier() -> None:
    for first, hinted in [("tma_to_smem_async", True), ("wgmma_async", True), ("cpu_in_order", False)]:
        with pytest.raises(SynchronizationError) as caught:
            pieces(first, "cuda_in_order", CTA)
        assert (caught.value.hint is not None) == hinted


@given(st.sampled_from(list(SYNC_TLS)), st.sampled_from(list(SYNC_TLS)))
def test_legality_is_of_the_timelines_and_the_collective_apart(first: str, second: str) -> None:
    """Where a CTA may fence, a thread may, and its pieces are those without the barrier."""

    def outcome(by: Collective) -> tuple[str, ...] | str | None:
        try:
            return pieces(first, second, by)
        except SynchronizationError as error:
            return error.rule

    alone, whole = outcome(THREAD), outcome(CTA)
    if isinstance(whole, tuple):
        assert alone == tuple(p for p in whole if p != "barrier.cta.sync")
    else:
        assert alone == whole


def test_the_whole_table_for_a_cta() -> None:
    before = {
        "cuda_in_order": (),
        "cuda_temporal": (),
        "empty": (),
        "Sm80_cp_async": ("cp.async.wait_all",),
        "Sm80_generic": ("cp.async.wait_all",),
    }
    after = {
        **dict.fromkeys(("cuda_in_order", "cuda_temporal", "empty", "Sm80_cp_async", "Sm80_generic"), ()),
        **dict.fromkeys(
            (
                "tma_to_smem_async",
                "tma_to_gmem_async",
                "wgmma_async_smem",
                "cuda_async_proxy",
                "cuda_generic_and_async_proxy",
            ),
            ("fence.proxy.async",),
        ),
    }
    for first, second in product(SYNC_TLS, SYNC_TLS):
        if first in before and second in after:
            expected = (*before[first], "barrier.cta.sync", *after[second])
            assert pieces(first, second, CTA) == expected
        else:
            with pytest.raises(SynchronizationError) as caught:
                pieces(first, second, CTA)
            assert caught.value.rule == (
                "fence-c1"
                if first == "wgmma_fence_1" and second != "wgmma_fence_2"
                else "fence-c2"
                if first == "wgmma_fence_1"
                else "fence-c4"
                if first not in before
                else "fence-c7"
            )


def test_constraints_are_numbered_in_order() -> None:
    assert [int(re.findall(r"\d+", c)[0]) for c in FENCE_CONSTRAINTS] == [1, 2, 3, 4, 5, 6, 7]


# Collectives ------------------------------------------------------------------------------------------------------


def said(c: Collective) -> set[str]:
    kinds = ("thread", "warp", "warpgroup", "cta", "cluster", "aligned")
    return {kind for kind in kinds if getattr(c, f"is_{kind}")} | ({"warps"} if c.has_whole_warps else set())


@pytest.mark.parametrize(
    ("collective", "kinds"),
    [
        (THREAD, {"thread", "aligned"}),
        (WARP, {"warp", "warps", "aligned"}),
        (TWO_WARPS, {"warps", "aligned"}),
        (WARPGROUP, {"warpgroup", "warps", "aligned"}),
        (CTA, {"cta", "cluster", "warps", "aligned"}),
        (CTA_OF_CLUSTER, {"cta", "warps", "aligned"}),
        (CLUSTER, {"cluster", "warps", "aligned"}),
        (HALF_WARP, set()),
        (SKEWED, set()),
        (of(range(0, 256, 2)), set()),
        (of(range(32), 32), {"warp", "warps", "cta", "cluster", "aligned"}),
        (of(range(128), 128), {"warpgroup", "warps", "cta", "cluster", "aligned"}),
        (of([*range(32), *range(64, 96)]), {"warps", "aligned"}),
        (of(range(32, 160)), {"warps", "aligned"}),
        # four warps over two CTAs are no warpgroup, though they begin at a multiple of 128 of the first
        (of(range(128, 256), 160, 2), {"warps", "aligned"}),
        # the second CTA begins at 160: its first warpgroup is aligned in the CTA, not in the cluster
        (of(range(160, 288), 160, 2), {"warpgroup", "warps", "aligned"}),
        (of(range(160, 192), 160, 2), {"warp", "warps", "aligned"}),
        (of([]), set()),
        (of([0], 32), {"thread", "aligned"}),
        # two warps, one in each CTA of a cluster
        (of([*range(32), *range(64, 96)], 64, 2), {"warps", "aligned"}),
    ],
    ids=lambda x: " ".join(sorted(x)) or "none" if isinstance(x, set) else str(x)[:40],
)
def test_kinds_of_collectives(collective: Collective, kinds: set[str]) -> None:
    assert said(collective) == kinds
