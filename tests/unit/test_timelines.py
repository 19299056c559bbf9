"""The table of timelines: nine pairs, fifteen sync-tls, and the order that decides what a statement becomes."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundline.spec.errors import SynchronizationError
from soundline.spec.spork.synchronization.timelines import (
    ASYNC_BLOCKS,
    ASYNC_PROXY,
    CP_RAM,
    CPU,
    DEVICE,
    GENERIC,
    IO_RAM,
    IO_RMEM,
    LEGAL_PAIRS,
    SYNC_TLS,
    T2G_RAM,
    T2S_RAM,
    TIMELINE_CONSTRAINTS,
    WG_A,
    WG_D,
    WG_RAM,
    InstrTl,
    Pair,
    UsageTl,
    block_instr_tl,
    pair,
    sync_tl,
    within_first,
    within_second,
)

IO = {IO_RMEM, IO_RAM}
TMA = {T2S_RAM, T2G_RAM}

FULL = {
    "cpu_in_order": {CPU},
    "cuda_in_order": IO,
    "cuda_temporal": set(),
    "Sm80_cp_async": {CP_RAM},
    "Sm80_generic": IO | {CP_RAM},
    "tma_to_smem_async": {T2S_RAM},
    "tma_to_gmem_async": {T2G_RAM},
    "wgmma_async_smem": {WG_RAM},
    "wgmma_fence_1": {IO_RMEM, WG_A, WG_D},
    "wgmma_fence_2": {WG_A, WG_D},
    "wgmma_async": {WG_A, WG_D, WG_RAM},
    "cuda_async_proxy": TMA | {WG_RAM},
    "cuda_async_proxy_wgmma": TMA | {WG_RAM, WG_A, WG_D},
    "cuda_generic_and_async_proxy": IO | {CP_RAM, WG_RAM} | TMA,
    "empty": set(),
}


def test_every_sync_tl_has_the_full_set_of_its_row() -> None:
    assert {name: set(row.full) for name, row in SYNC_TLS.items()} == FULL


def test_the_temporal_set_is_all_of_the_device_or_nothing_more_than_the_full_one() -> None:
    wide = {"cuda_in_order", "cuda_temporal", "Sm80_generic", "cuda_generic_and_async_proxy"}
    for name, row in SYNC_TLS.items():
        assert row.temporal == (DEVICE if name in wide else row.full)
        assert row.full <= row.temporal
        assert str(row) == name


def test_only_what_is_in_order_is_transitive() -> None:
    assert {n for n, row in SYNC_TLS.items() if row.transitive} == {"cpu_in_order", "cuda_in_order"}


def test_nine_pairs_are_legal_and_all_others_are_refused() -> None:
    assert len(set(LEGAL_PAIRS)) == 9
    for instr, usage in product(InstrTl, UsageTl):
        if (instr, usage) in LEGAL_PAIRS:
            assert pair(instr, usage) == Pair(instr, usage)
            continue
        with pytest.raises(SynchronizationError) as caught:
            pair(instr, usage)
        assert caught.value.rule == "tl-pair"
        assert instr in caught.value.given


def test_pairs_by_instruction() -> None:
    usages = {i: {p.usage for p in LEGAL_PAIRS if p.instr is i} for i in InstrTl}
    assert usages.pop(InstrTl.cpu_in_order) == {UsageTl.cpu}
    assert usages.pop(InstrTl.cuda_in_order) == {UsageTl.cuda_sync_rmem, UsageTl.cuda_ram}
    assert usages.pop(InstrTl.wgmma_async) == {
        UsageTl.cuda_async_a_rmem,
        UsageTl.cuda_async_d_rmem,
        UsageTl.cuda_ram,
    }
    assert all(u == {UsageTl.cuda_ram} for u in usages.values())


def test_proxies_are_disjoint_and_registers_of_wgmma_belong_to_neither() -> None:
    assert frozenset(LEGAL_PAIRS) - GENERIC - ASYNC_PROXY == {WG_A, WG_D}
    assert set() == GENERIC & ASYNC_PROXY
    assert frozenset(LEGAL_PAIRS) - DEVICE == {CPU}
    assert IO | {CP_RAM, CPU} == GENERIC
    assert TMA | {WG_RAM} == ASYNC_PROXY


def test_an_unknown_sync_tl_is_refused_with_its_neighbour() -> None:
    assert sync_tl("cuda_in_order") is SYNC_TLS["cuda_in_order"]
    with pytest.raises(SynchronizationError) as caught:
        sync_tl("cuda_inorder")
    assert caught.value.rule == "tl-sync"
    assert caught.value.hint == "did you mean cuda_in_order?"
    with pytest.raises(SynchronizationError) as caught:
        sync_tl("zzz")
    assert caught.value.hint is None


@pytest.mark.parametrize("name", SYNC_TLS)
def test_async_blocks(name: str) -> None:
    blocks = {
        "Sm80_cp_async": InstrTl.Sm80_cp_async,
        "tma_to_smem_async": InstrTl.tma_to_smem_async,
        "tma_to_gmem_async": InstrTl.tma_to_gmem_async,
        "wgmma_async": InstrTl.wgmma_async,
    }
    if name in blocks:
        assert block_instr_tl(sync_tl(name)) is blocks[name]
        assert sync_tl(name).full == {p for p in LEGAL_PAIRS if p.instr is blocks[name]}
        return
    with pytest.raises(SynchronizationError) as caught:
        block_instr_tl(sync_tl(name))
    assert caught.value.rule == "tl-async-block"
    assert caught.value.where == f"CudaAsync({name})"


def test_every_constraint_of_timelines_was_broken_above() -> None:
    assert set(TIMELINE_CONSTRAINTS) == {"tl-pair", "tl-sync", "tl-async-block"}
    assert set(ASYNC_BLOCKS) < set(SYNC_TLS)


# The order --------------------------------------------------------------------------------------------------------

some = st.sampled_from(list(SYNC_TLS.values()))


@given(some, some, some)
def test_both_roles_are_partial_orders(x, y, z) -> None:
    for within in (within_first, within_second):
        assert within(x, x)
        if within(x, y) and within(y, z):
            assert within(x, z)
        if within(x, y) and within(y, x):
            assert (x.full, x.temporal) == (y.full, y.temporal)
    if within_first(x, y):
        assert within_second(x, y)


def test_no_two_rows_are_the_same_timeline() -> None:
    assert len({(r.full, r.temporal, r.transitive) for r in SYNC_TLS.values()}) == len(SYNC_TLS)


def test_in_order_is_transitive_and_so_not_within_generic_as_first_side() -> None:
    in_order, generic = sync_tl("cuda_in_order"), sync_tl("Sm80_generic")
    assert within_second(in_order, generic)
    assert not within_first(in_order, generic)
    assert within_first(sync_tl("Sm80_cp_async"), generic)
    assert within_first(sync_tl("cuda_temporal"), in_order)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ("Sm80_generic", "cuda_in_order"),
        ("cuda_temporal", "Sm80_cp_async"),
        ("cuda_in_order", "wgmma_fence_1"),
        ("cuda_in_order", "cpu_in_order"),
        ("wgmma_fence_2", "cuda_generic_and_async_proxy"),
    ],
)
def test_what_does_not_lie_within(x: str, y: str) -> None:
    assert not within_second(sync_tl(x), sync_tl(y))
    assert not within_first(sync_tl(x), sync_tl(y))


def test_a_larger_temporal_set_alone_is_not_within() -> None:
    """Both sets count: cuda_temporal has an empty full set, and is not within what orders less in time."""
    assert sync_tl("cuda_temporal").full <= sync_tl("cuda_async_proxy").full
    assert not within_second(sync_tl("cuda_temporal"), sync_tl("cuda_async_proxy"))
