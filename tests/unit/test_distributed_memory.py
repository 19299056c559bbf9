"""Distributed memory: which indices lead, what refuses a use, and when two uses agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from soundline.spec.errors import CollectiveError
from soundline.spec.spork.threads.distributed_memory import (
    CONSTRAINTS,
    Deduction,
    agree,
    agree_on_queue,
    agree_on_side,
    deduce,
    deduce_barrier,
)
from soundline.spec.spork.threads.tilings import Tiling, choose_warps, tile, top_level
from soundline.spec.spork.threads.units import (
    BLOCK_DIM,
    CollUnit,
    coll_unit,
    cuda_agnostic_sub_cta,
    cuda_cta_in_cluster,
    cuda_cta_in_cluster_strided,
    cuda_thread,
    cuda_warp,
    cuda_warpgroup,
)

CTA = top_level(512)
CLUSTER = top_level(128, 2)
STRIDED = coll_unit((BLOCK_DIM / 32, 32), (BLOCK_DIM / 32, 1), name="lane")

Loop = tuple[str, int, CollUnit]


def nest(scope: Tiling, *loops: Loop) -> Tiling:
    for name, count, unit in loops:
        scope = tile(scope, name, count, unit)
    return scope


M, N = ("m", 16, cuda_warp), ("n", 32, cuda_thread)
USE = nest(CTA, M, N)


def use(
    at: Tiling,
    indices: Sequence[str],
    extents: Sequence[int | None],
    *,
    native: CollUnit = cuda_thread,
    allocation: Tiling = CTA,
) -> Deduction:
    return deduce(allocation, native, at, indices, extents, name="vals")


def refused(rule: str, build: Callable[[], object]) -> str:
    with pytest.raises(CollectiveError) as caught:
        build()
    assert caught.value.rule == rule, caught.value
    assert caught.value.wants == CONSTRAINTS[rule]
    return caught.value.given


# What leads -------------------------------------------------------------------------------------------------------


def test_the_example_of_the_guide() -> None:
    found = use(USE, ("m", "n", "i", "j + 1"), (16, 32, 8, 4))
    assert found == Deduction(("m", "n"), (16, 32), (32, 1), 0, ("i", "j + 1"))


def test_indices_lead_in_any_order() -> None:
    three = nest(CTA, ("b", 4, cuda_warpgroup), ("m", 16, 8 * cuda_thread), ("n", 8, cuda_thread))
    assert use(three, ("m", "n", "b"), (16, 8, 4)).pitches == (8, 1, 128)
    assert use(three, ("n", "b", "m", "m"), (8, 4, 16, 9)).ordinary == ("m",)


def test_the_same_shape_by_a_strided_unit_in_the_other_order() -> None:
    other = nest(CTA, ("n", 32, STRIDED), ("m", 16, cuda_thread))
    agree(use(USE, ("m", "n"), (16, 32)), use(other, ("m", "n"), (16, 32)))
    refused("dist-c13", lambda: agree(use(USE, ("m", "n"), (16, 32)), use(other, ("n", "m"), (32, 16))))


def test_a_variable_of_one_shard_has_no_distributed_index() -> None:
    assert use(USE, ("i",), (8,), allocation=USE).distributed == ()
    assert use(CTA, ("m",), (8,), native=cuda_cta_in_cluster).ordinary == ("m",)
    one = nest(CTA, ("w", 1, cuda_warp))
    assert use(one, ("w",), (1,), native=cuda_warp).ordinary == ("w",)


def test_an_iterator_that_is_always_zero_may_stand_anywhere() -> None:
    three = nest(CTA, M, ("z", 1, 32 * cuda_thread), N)
    assert use(three, ("m", "z", "n"), (16, 1, 32)).pitches == (32, 0, 1)
    assert use(three, ("m", "n", "z"), (16, 32, 1)).ordinary == ("z",)
    refused("dist-c11", lambda: use(three, ("z", "m", "n"), (16, 16, 32)))
    refused("dist-c9", lambda: use(three, ("z", "z", "m", "n"), (1, 1, 16, 32)))


def test_shards_of_a_warp_may_be_used_by_its_threads() -> None:
    assert use(USE, ("m", "n"), (16, 8), native=cuda_warp) == Deduction(("m",), (16,), (32,), 0, ("n",))


def test_shards_of_a_cta() -> None:
    inside = nest(CLUSTER, ("c", 2, cuda_cta_in_cluster), ("t", 128, cuda_thread))
    found = use(inside, ("c", "t"), (2, 128), native=cuda_cta_in_cluster, allocation=CLUSTER)
    assert found == Deduction(("c",), (2,), (128,), 0, ("t",))
    found = use(inside, ("c", "t"), (2, 128), native=cuda_agnostic_sub_cta, allocation=CLUSTER)
    assert found.distributed == ("c",)


def test_chosen_warps_move_the_first_shard() -> None:
    some = tile(choose_warps(CTA, 4, 8), "w", 4, cuda_warp)
    assert use(some, ("w",), (4,), native=cuda_warp).first == 128
    part = tile(choose_warps(some, 0, 1), "t", 4, 8 * cuda_thread)
    assert use(part, ("w", "t"), (4, 4), native=cuda_warp).first == 128


# What is refused --------------------------------------------------------------------------------------------------


def test_a_use_is_in_scope() -> None:
    refused("dist-c1", lambda: use(CTA, ("m",), (16,), allocation=nest(CTA, M)))
    refused("dist-c1", lambda: use(top_level(256), (), ()))
    assert use(USE, ("n",), (32,), allocation=nest(CTA, M)).pitches == (1,)


def test_all_threads_are_there_at_the_allocation() -> None:
    warp = nest(CTA, M)
    assert refused("dist-c2", lambda: use(warp, (), (), native=cuda_cta_in_cluster, allocation=warp)) == (
        "32 of 512 threads of a cuda_cta_in_cluster"
    )
    chosen = choose_warps(CTA, 0, 15)
    refused("dist-c2", lambda: use(chosen, (), (), native=cuda_cta_in_cluster, allocation=chosen))
    refused("dist-c2", lambda: use(USE, (), (), native=cuda_warp, allocation=USE))
    assert use(warp, (), (), native=cuda_warp, allocation=warp).first == 0


def test_one_native_collective_is_there_at_a_use() -> None:
    assert refused("dist-c3", lambda: use(nest(CTA, M), ("m",), (16,))) == ("32 of 512 collectives")
    refused("dist-c3", lambda: use(CTA, ("m",), (16,)))
    refused("dist-c3", lambda: use(CTA, (), (), native=cuda_warp))
    at = nest(CLUSTER, N)
    refused("dist-c3", lambda: use(at, (), (), native=cuda_agnostic_sub_cta, allocation=CLUSTER))
    assert use(nest(CTA, M), ("m",), (16,), native=cuda_warp).extents == (16,)


@pytest.mark.parametrize(
    "at",
    [
        nest(CTA, ("t", 64, cuda_thread)),
        nest(CTA, ("t", 512, cuda_thread)),
        nest(CTA, ("u", 8, 48 * cuda_thread), ("t", 2, cuda_thread)),
        nest(choose_warps(CTA, 3, 7), ("t", 128, cuda_thread)),
        nest(CTA, ("u", 2, 24 * cuda_thread), ("t", 24, cuda_thread)),
    ],
    ids=["two warps", "all", "half warps", "shifted", "outer"],
)
def test_no_iterator_counts_within_a_collective_and_beyond(at: Tiling) -> None:
    native = cuda_warpgroup if at.offset[0] else cuda_warp
    refused("dist-c4", lambda: use(at, [i.name for i in at.iterators], (1, 1), native=native))
    assert use(at, ("x",), (1,), native=cuda_cta_in_cluster).distributed == ()


def test_an_iterator_that_just_fits_a_collective_counts_within_it() -> None:
    assert use(nest(CTA, ("t", 32, cuda_thread)), ("t",), (32,), native=cuda_warp).distributed == ()
    refused("dist-c4", lambda: use(nest(CTA, ("t", 33, cuda_thread)), ("t",), (33,), native=cuda_warp))
    shifted = choose_warps(CTA, 1, 5)
    three = nest(shifted, ("t", 96, cuda_thread))
    assert use(three, ("t",), (96,), native=cuda_warpgroup).distributed == ()
    refused("dist-c4", lambda: use(nest(shifted, ("t", 97, cuda_thread)), (), (), native=cuda_warpgroup))


def test_an_iterator_may_count_across_dimensions_of_one_kind() -> None:
    eight = nest(CTA, ("w", 16, cuda_warp), ("t", 16, 2 * cuda_thread))
    split_inside = tile(eight, "r", 2, coll_unit((BLOCK_DIM / 8, 8), (1, 1)))
    assert split_inside.domain == (64, 8)
    assert use(split_inside, ("w", "t"), (16, 16), native=cuda_warp).distributed == ("w",)
    ctas = nest(top_level(32, 4), ("c", 4, cuda_cta_in_cluster))
    by_rows = cuda_cta_in_cluster_strided(2)
    assert use(ctas, ("c",), (4,), native=by_rows, allocation=top_level(32, 4)).distributed == ("c",)


def test_there_are_enough_indices() -> None:
    assert refused("dist-c5", lambda: use(USE, ("m",), (16,))) == "no index for n"
    assert refused("dist-c5", lambda: use(USE, (), ())) == "no index for m, n"


@pytest.mark.parametrize("index", ["m + 1", "0", "0:16", "m.x", ""])
def test_an_index_is_a_bare_name(index: str) -> None:
    refused("dist-c6", lambda: use(USE, (index, "n"), (16, 32)))
    assert use(USE, ("m", "n", index), (16, 32, 4)).ordinary == (index,)


def test_an_index_is_an_iterator_of_threads() -> None:
    assert refused("dist-c7", lambda: use(USE, ("m", "s", "n"), (16, 4, 32))) == "index 1 is s"


def test_an_index_tells_shards_apart() -> None:
    warp = nest(CTA, M)
    refused("dist-c8", lambda: use(USE, ("m", "n"), (16, 32), allocation=warp))
    refused("dist-c8", lambda: use(USE, ("n", "m"), (32, 16), native=cuda_warp))
    assert use(USE, ("n", "m"), (32, 16), allocation=warp).ordinary == ("m",)


def test_an_iterator_leads_once() -> None:
    assert refused("dist-c9", lambda: use(USE, ("m", "m", "n"), (16, 16, 32))) == "m once more at 1"
    assert use(USE, ("n", "m", "m"), (32, 16, 16)).ordinary == ("m",)


def test_extents_are_the_counts_of_loops() -> None:
    refused("dist-c10", lambda: use(USE, ("m", "n"), (16, None)))
    refused("dist-c10", lambda: use(USE, ("m", "n"), (16,)))
    assert refused("dist-c11", lambda: use(USE, ("m", "n"), (16, 33))) == (
        "dimension 1 of 33 for n of 32 iterations"
    )
    refused("dist-c11", lambda: use(USE, ("n", "m"), (16, 32)))
    assert use(USE, ("n", "m", "k"), (32, 16, None)).extents == (32, 16)


# Agreement --------------------------------------------------------------------------------------------------------


def test_uses_agree() -> None:
    warps = use(nest(CTA, ("w", 16, cuda_warp)), ("w",), (16,), native=cuda_warp)
    agree(warps, use(USE, ("m",), (16,), native=cuda_warp))
    pairs = nest(CTA, ("p", 8, 2 * cuda_warp), ("w", 2, cuda_warp))
    refused("dist-c12", lambda: agree(warps, use(pairs, ("p", "w"), (8, 2), native=cuda_warp)))
    two = use(pairs, ("p", "w"), (8, 2), native=cuda_warp)
    halves = use(
        nest(CTA, ("p", 2, 8 * cuda_warp), ("w", 8, cuda_warp)), ("w", "p"), (8, 2), native=cuda_warp
    )
    refused("dist-c13", lambda: agree(two, halves))


def test_uses_by_other_warps_do_not_agree() -> None:
    def of(first: int) -> Deduction:
        return use(
            nest(choose_warps(CTA, first, first + 2), ("w", 2, cuda_warp)), ("w",), (2,), native=cuda_warp
        )

    agree(of(0), of(0))
    refused("dist-c14", lambda: agree(of(0), of(2)))
    single = [use(choose_warps(CTA, k, k + 1), (), (), native=cuda_warp) for k in (0, 1)]
    refused("dist-c14", lambda: agree(*single))
    inside = nest(choose_warps(CTA, 4, 8), ("t", 8, cuda_thread))
    agree(  # the part of a warpgroup that runs does not matter
        use(inside, (), (), native=cuda_warpgroup),
        use(choose_warps(CTA, 5, 6), (), (), native=cuda_warpgroup),
    )


def test_registers_that_are_implicitly_per_thread_are_refused() -> None:
    """The guide's reason for explicit indices: one x for all threads would be two variables in two threads."""
    two = nest(CTA, ("tid", 2, cuda_thread))
    refused("dist-c5", lambda: use(two, (), ()))
    assert use(two, ("tid",), (2,)).distributed == ("tid",)


# Barriers ---------------------------------------------------------------------------------------------------------


def test_every_index_of_a_barrier_is_distributed() -> None:
    warp = nest(CTA, M)
    assert deduce_barrier(CTA, warp, ("m",), (16,)) == Deduction(("m",), (16,), (32,), 0, ())
    assert deduce_barrier(CTA, CTA, (), ()).distributed == ()
    assert (
        refused("dist-barrier-c1", lambda: deduce_barrier(CTA, warp, ("m", "0"), (16, 2))) == "index 1 is 0"
    )
    refused("dist-barrier-c1", lambda: deduce_barrier(CTA, warp, ("m", "m"), (16, 16)))
    refused("dist-barrier-c1", lambda: deduce_barrier(warp, USE, ("n", "m"), (32, 16)))
    zero = nest(warp, ("z", 1, cuda_thread))
    assert deduce_barrier(CTA, zero, ("m", "z"), (16, 1)).pitches == (32, 0)
    refused("dist-c11", lambda: deduce_barrier(CTA, zero, ("m", "z"), (16, 2)))


def test_threads_that_would_share_a_barrier_are_refused() -> None:
    refused("dist-c5", lambda: deduce_barrier(CTA, nest(CTA, M), (), ()))
    refused("dist-c5", lambda: deduce_barrier(CTA, USE, ("m",), (16,)))
    refused("dist-c1", lambda: deduce_barrier(USE, CTA, (), ()))


def test_one_side_of_a_barrier_runs_on_the_same_threads() -> None:
    half = choose_warps(CTA, 8, 16)
    assert deduce_barrier(CTA, half, (), ()).first == 256
    agree_on_side(half, choose_warps(CTA, 8, 16))
    for other in (CTA, choose_warps(CTA, 0, 8), nest(CTA, ("h", 2, 8 * cuda_warp))):
        refused("dist-barrier-c2", lambda other=other: agree_on_side(half, other))


def test_a_thread_uses_one_barrier_of_a_side() -> None:
    grid = nest(CTA, ("m", 4, 4 * cuda_warp), ("n", 4, cuda_warp))
    own = deduce_barrier(CTA, grid, ("m", "n"), (4, 4))
    agree_on_queue(own, deduce_barrier(CTA, grid, ("m", "n"), (4, 4)))
    other = deduce_barrier(CTA, grid, ("n", "m"), (4, 4))
    assert refused("dist-barrier-c3", lambda: agree_on_queue(own, other)).startswith(
        "indices (128, 32) threads"
    )
