"""A CTA whose warps are no whole number of warpgroups still has those that are whole (S-17)."""

from __future__ import annotations

import re
from itertools import combinations, product
from pathlib import Path

import pytest

from soundline.impl.spork import proc_from_text
from soundline.spec.abstract_machine import check
from soundline.spec.errors import CollectiveError, StaticError
from soundline.spec.spork.synchronization.fences import Collective
from soundline.spec.spork.threads.tilings import Tiling, choose_warps, matches, threads, tile, top_level
from soundline.spec.spork.threads.units import cuda_cta_in_cluster, cuda_thread, cuda_warp, cuda_warpgroup

from ..representative import thorough  # noqa: TID252

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "spork"


def is_warpgroup(tiling: Tiling) -> bool:
    """Whether every iteration has the threads of an aligned warpgroup, asked of the threads themselves."""
    places = product(*(range(i.count) for i in tiling.iterators))
    sizes = tiling.block_dim, tiling.cluster_dim
    return all(Collective(threads(tiling, at), *sizes).is_warpgroup for at in places)


@pytest.mark.parametrize("block_dim", [128, 160, 192, 288, 576])
def test_every_choice_of_warps_is_a_warpgroup_where_its_threads_are(block_dim: int) -> None:
    for lo, hi in combinations(range(block_dim // 32 + 1), 2):
        tiling = choose_warps(top_level(block_dim), lo, hi)
        assert matches(tiling, cuda_warpgroup) == is_warpgroup(tiling), (lo, hi)


@pytest.mark.parametrize("block_dim", [160, 576])
def test_loops_over_warpgroups_and_what_is_inside(block_dim: int) -> None:
    whole = block_dim // 128
    loop = tile(top_level(block_dim), "w", whole, cuda_warpgroup)
    assert matches(loop, cuda_warpgroup)
    assert is_warpgroup(loop)
    with pytest.raises(CollectiveError) as caught:
        tile(top_level(block_dim), "w", whole + 1, cuda_warpgroup)
    assert caught.value.rule == "coll-tile-c5"
    warps = tile(loop, "v", 4, cuda_warp)
    assert matches(warps, cuda_warp)
    assert not matches(warps, cuda_warpgroup)
    assert not matches(top_level(block_dim), cuda_warpgroup)


def test_ctas_of_a_cluster_each_have_their_warpgroups() -> None:
    cta = tile(top_level(160, 2), "c", 2, cuda_cta_in_cluster)
    assert matches(choose_warps(cta, 0, 4), cuda_warpgroup)
    assert not matches(choose_warps(cta, 1, 5), cuda_warpgroup)
    assert not matches(choose_warps(top_level(160, 2), 0, 4), cuda_warpgroup), "one of each CTA"


def test_units_that_are_no_warps_still_divide_the_cta() -> None:
    with pytest.raises(CollectiveError):
        tile(tile(top_level(160), "a", 3, 48 * cuda_thread), "b", 1, cuda_warpgroup)
    assert not matches(tile(top_level(160), "a", 3, 48 * cuda_thread), 48 * cuda_thread)


# Programs ---------------------------------------------------------------------------------------------------------


def kernel(name: str, warps: str, **constants: str) -> tuple[str, dict[str, object]]:
    """An example with other warps and constants: its proc as text, and its names."""
    source = (EXAMPLES / f"{name}.py").read_text()
    source = re.sub(r"WARPS = \[.*?\n\]", f"WARPS = [{warps}]", source, flags=re.DOTALL)
    for constant, value in constants.items():
        source = re.sub(rf"^{constant} = .*$", f"{constant} = {value}", source, flags=re.MULTILINE)
    names: dict[str, object] = {"__name__": "kernel"}
    head, rest = source.split("@sl.spork.proc\n", 1)
    exec(compile(head, name, "exec"), names)
    body = rest.split("\n\n\ndef ", 1)[0]
    return body, names


CONSUMER = 'sl.spork.CudaWarpConfig("consumer", {}), sl.spork.CudaWarpConfig("producer", {})'


def checked(name: str, warps: str, **constants: str) -> tuple[bool, int]:
    body, names = kernel(name, warps, **constants)
    proc = proc_from_text(body, names)
    sizes = names["SIZES"]
    assert isinstance(sizes, dict)
    verdict = check(proc, sizes)
    return verdict.ok, max(t.number for e in proc.events(**sizes) for t in e.place.threads) + 1


@pytest.mark.parametrize("name", ["gemm_sm90_ring", thorough("gemm_sm90_multicast")])
def test_four_warps_that_multiply_and_one_that_loads(name: str) -> None:
    ok, count = checked(name, CONSUMER.format("4 * GROUPS", 1))
    assert ok
    assert count == (160 if name == "gemm_sm90_ring" else 320)


@pytest.mark.thorough
def test_four_warpgroups_and_two_more_warps() -> None:
    body, names = kernel("gemm_sm90_ring", CONSUMER.format("4 * GROUPS", 2))
    names["GROUPS"], names["M1"] = 4, 256
    names["WARPS"] = [w.__class__(w.name, n) for w, n in zip(names["WARPS"], (16, 2), strict=True)]  # type: ignore[call-overload]
    body = body.replace('CudaWarps(name="producer")', 'CudaWarps(0, 1, name="producer")')
    assert check(proc_from_text(body, names), {"M": 256, "N": 8, "K": 16}).ok


def test_a_warpgroup_that_begins_at_another_warp_is_refused() -> None:
    swapped = 'sl.spork.CudaWarpConfig("producer", 1), sl.spork.CudaWarpConfig("consumer", 4 * GROUPS)'
    with pytest.raises(StaticError):
        checked("gemm_sm90_ring", swapped)
