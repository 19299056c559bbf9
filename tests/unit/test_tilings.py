"""Tilings: loops over threads, choices of warps, common domains, matching, and the threads of an iteration."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from soundline.spec.errors import CollectiveError
from soundline.spec.spork.threads import domains, tilings
from soundline.spec.spork.threads.domains import RANK, THREAD, ZERO, Coordinate, Dim, complete, pitches, split
from soundline.spec.spork.threads.tilings import (
    Tiling,
    aligned,
    choose_warps,
    iteration,
    match,
    matches,
    threads,
    tile,
    top_level,
)
from soundline.spec.spork.threads.units import (
    BLOCK_DIM,
    CollUnit,
    Concrete,
    coll_unit,
    cuda_agnostic_intact_cta,
    cuda_agnostic_sub_cta,
    cuda_cluster,
    cuda_cta_in_cluster,
    cuda_cta_in_cluster_strided,
    cuda_quadpair,
    cuda_thread,
    cuda_threads_strided,
    cuda_warp,
    cuda_warp_in_cluster,
    cuda_warpgroup,
)

SENTENCES = tilings.CONSTRAINTS | domains.CONSTRAINTS
CTA = top_level(128)
CLUSTER = top_level(128, 4)
STRIDED = coll_unit((BLOCK_DIM / 8, 8), (BLOCK_DIM / 8, 1))
"""The threads with the same remainder by 8."""


def refused(rule: str, build: Callable[[], object]) -> CollectiveError:
    with pytest.raises(CollectiveError) as caught:
        build()
    assert caught.value.rule == rule, caught.value
    assert caught.value.wants == SENTENCES[rule]
    return caught.value


def said(tiling: Tiling) -> tuple[list[str], list[str]]:
    return [str(i.value) for i in tiling.iterators], [str(g) for g in tiling.guards]


def span(first: int, end: int) -> frozenset[int]:
    return frozenset(range(first, end))


# The top level ----------------------------------------------------------------------------------------------------


def test_a_task_starts_with_all_threads() -> None:
    assert (CTA.domain, CTA.tile, CTA.box, CTA.offset) == ((128,),) * 3 + ((0,),)
    assert (CLUSTER.domain, CLUSTER.box, CLUSTER.pitches) == ((4, 128), (4, 128), (128, 1))
    assert [d.coordinate.base for d in CLUSTER.dims] == [RANK, THREAD]
    assert (CTA.iterators, CTA.guards, CTA.warps, CTA.tile_count, CTA.parent) == ((), (), None, 1, None)
    assert threads(CLUSTER, ()) == span(0, 512)
    assert iteration(CLUSTER, 511) == ()


# Loops ------------------------------------------------------------------------------------------------------------


def test_loops_of_the_guide() -> None:
    rows = tile(top_level(256), "m", 8, 16 * cuda_thread)
    one = tile(rows, "n", 16, cuda_thread)
    assert said(one) == (["threadIdx.x / 16", "threadIdx.x % 16"], ["threadIdx.x / 16 < 8"])
    assert [(i.name, i.count, i.pitch) for i in one.iterators] == [("m", 8, 16), ("n", 16, 1)]
    assert (rows.tile, rows.box, rows.offset, rows.tile_count) == ((16,), (16,), (0,), 8)
    assert threads(rows, (2,)) == span(32, 48)
    assert threads(one, (2, 15)) == {47}
    assert iteration(one, 47) == (2, 15)
    assert iteration(one, 127) == (7, 15)
    assert iteration(one, 128) is None
    assert one.parent == rows
    assert rows.parent == top_level(256)


@pytest.mark.parametrize(("count", "guards"), [(4, []), (3, ["threadIdx.x / 32 < 3"])])
def test_a_loop_has_a_guard_where_threads_are_left(count: int, guards: list[str]) -> None:
    assert said(tile(CTA, "w", count, cuda_warp)) == (["threadIdx.x / 32"], guards)


@pytest.mark.parametrize(
    ("scope", "count", "unit", "most"),
    [
        (tile(CTA, "w", 4, cuda_warp), 10, 4 * cuda_thread, 8),
        (CTA, 4, 40 * cuda_thread, 3),
        (tile(CTA, "w", 4, cuda_warp), 1, cuda_warpgroup, None),
        (tile(CTA, "w", 4, cuda_warp), 2, 33 * cuda_thread, 0),
        (CTA, 5, cuda_warp, 4),
        (top_level(64), 1, cuda_warpgroup, 0),
    ],
)
def test_there_are_enough_threads(scope: Tiling, count: int, unit: CollUnit, most: int | None) -> None:
    if most is None:  # a unit of all threads divides nothing
        assert tile(scope, "i", count, unit).box == scope.box
        return
    assert refused("coll-tile-c5", lambda: tile(scope, "i", count, unit)).most == most
    if most:
        assert tile(scope, "i", most, unit).tile_count == most


def test_a_loop_starts_at_zero_and_has_iterations() -> None:
    refused("coll-tile-c1", lambda: tile(CTA, "i", 4, cuda_warp, lo=1))
    assert tile(CTA, "i", 1, cuda_warp, lo=0).iterators[0].pitch == 0
    for count in (0, -1, True, None, 1.0):
        refused("coll-tile-c2", lambda count=count: tile(CTA, "i", count, cuda_warp))


def test_iterators_have_names_of_their_own() -> None:
    outer = tile(CTA, "i", 4, cuda_warp)
    assert refused("coll-tile-c3", lambda: tile(outer, "i", 2, cuda_thread)).given == "i"
    assert len(tile(outer, "j", 2, cuda_thread).iterators) == 2


def test_a_unit_divides_one_dimension() -> None:
    square = coll_unit((16, 8), (4, 4))
    error = refused("coll-tile-c4", lambda: tile(CTA, "i", 2, square))
    assert error.given == "a unit of (4, 4) where (16, 8) of (16, 8) threads run"
    rows = tile(CTA, "i", 4, coll_unit((16, 8), (4, 8)))
    assert (rows.box, rows.iterators[0].pitch) == ((4, 8), 32)
    cells = tile(rows, "j", 2, square)
    assert (cells.box, cells.iterators[1].pitch) == ((4, 4), 4)
    assert threads(cells, (1, 1)) == {32 + 8 * r + c for r in range(4) for c in range(4, 8)}
    assert said(cells)[0] == ["threadIdx.x / 8 / 4", "threadIdx.x % 8 / 4"]


def test_a_unit_that_divides_nothing_makes_one_iteration() -> None:
    whole = tile(CTA, "i", 1, cuda_warpgroup)
    assert (whole.box, whole.guards, said(whole)[0]) == ((128,), (), [ZERO])
    assert whole.iterators[0].pitch == 0
    assert refused("coll-tile-c6", lambda: tile(CTA, "i", 2, cuda_warpgroup)).most == 1
    assert tile(CLUSTER, "i", 1, cuda_agnostic_intact_cta).box == (4, 128)


def test_threads_with_one_remainder() -> None:
    column = tile(CTA, "i", 8, STRIDED)
    assert (column.domain, column.box) == ((16, 8), (16, 1))
    assert threads(column, (3,)) == set(range(3, 128, 8))
    assert said(column) == (["threadIdx.x % 8"], [])
    one = tile(column, "j", 16, cuda_thread)
    assert said(one)[0] == ["threadIdx.x % 8", "threadIdx.x / 8"]
    assert threads(one, (3, 2)) == {19}


def test_loops_over_a_cluster() -> None:
    warps = tile(CLUSTER, "w", 4, cuda_warp)  # a warp from each CTA
    assert (warps.box, threads(warps, (1,))) == (
        (4, 32),
        {128 * c + t for c in range(4) for t in range(32, 64)},
    )
    ctas = tile(CLUSTER, "c", 4, cuda_cta_in_cluster)
    assert (ctas.box, threads(ctas, (2,)), ctas.iterators[0].pitch) == ((1, 128), span(256, 384), 128)
    assert said(ctas)[0] == [RANK]
    pairs = tile(CLUSTER, "p", 2, 2 * cuda_cta_in_cluster)
    assert said(pairs)[0] == [f"({RANK}) / 2"]
    assert said(tile(pairs, "c", 2, cuda_cta_in_cluster))[0][1] == f"({RANK}) % 2"
    strided = tile(CLUSTER, "s", 2, 2 * cuda_cta_in_cluster_strided(2))
    assert (strided.domain, strided.box) == ((2, 2, 128), (2, 1, 128))
    assert threads(strided, (1,)) == span(128, 256) | span(384, 512)
    refused("coll-tile-c4", lambda: tile(CLUSTER, "w", 4, cuda_warp_in_cluster))
    assert tile(ctas, "w", 4, cuda_warp_in_cluster).box == (1, 32)


def test_tiles_need_not_be_warps() -> None:
    odd = tile(top_level(256), "i", 10, 23 * cuda_thread)
    one = tile(odd, "j", 23, cuda_thread)
    assert threads(odd, (9,)) == span(207, 230)
    assert iteration(one, 229) == (9, 22)
    assert iteration(one, 230) is None
    match(one, cuda_thread)
    refused("coll-match-c2", lambda: match(odd, cuda_thread))
    refused("coll-domain-c4", lambda: match(odd, cuda_warp))


# Common domains ---------------------------------------------------------------------------------------------------


def test_domains_need_thread_counts_that_divide() -> None:
    assert tile(top_level(96), "i", 3, coll_unit((192,), (32,))).box == (1, 32)
    refused("coll-domain-c1", lambda: tile(top_level(96), "i", 3, coll_unit((128,), (32,))))
    refused("coll-domain-c1", lambda: match(top_level(96), coll_unit((64,), (32,))))


def test_a_domain_may_be_that_of_more_threads() -> None:
    half = tile(top_level(64), "i", 2, coll_unit((128,), (32,)))
    assert (half.domain, half.box, half.offset) == ((2, 64), (1, 32), (0, 0))
    assert threads(half, (1,)) == span(32, 64)
    assert matches(half, coll_unit((128,), (32,)))
    assert not matches(half, coll_unit((128,), (64,)))


def test_domains_need_pitches_that_divide() -> None:
    by_three = tile(top_level(96), "i", 8, coll_unit((8, 12), (1, 12)))
    refused("coll-domain-c2", lambda: tile(by_three, "j", 2, coll_unit((3, 32), (1, 32))))
    assert tile(by_three, "j", 2, coll_unit((16, 6), (1, 6))).box == (1, 1, 6)


def test_a_box_of_the_unit_consists_of_pieces() -> None:
    rows = tile(CTA, "i", 4, coll_unit((4, 32), (1, 32)))
    refused("coll-domain-c3", lambda: tile(rows, "j", 1, 48 * cuda_thread))
    assert tile(rows, "j", 1, 24 * cuda_thread).box == (1, 24)
    assert tile(tile(CTA, "i", 2, coll_unit((4, 32), (2, 32))), "j", 2, cuda_warp).box == (1, 32)


def test_collectives_do_not_straddle_a_split() -> None:
    within = coll_unit((4, 32), (1, 1))
    refused("coll-domain-c4", lambda: tile(tile(CTA, "i", 3, 40 * cuda_thread), "j", 2, within))
    assert tile(tile(CTA, "i", 2, 16 * cuda_thread), "j", 2, within).box == (1, 1)
    shifted = tile(choose_warps(top_level(256), 1, 5), "i", 2, 16 * cuda_thread)
    assert tile(shifted, "j", 2, coll_unit((2, 128), (1, 1))).offset == (0, 32)
    error = refused("coll-domain-c4", lambda: tile(tile(CTA, "i", 2, 48 * cuda_thread), "j", 2, within))
    assert error.given == "a collective of 48 that starts at 0, split by 32"


def test_a_split_keeps_first_start_apart_from_least() -> None:
    dim = Dim(256, 16, 16, 48, frozenset({48, 64}), Coordinate(THREAD))
    left, right = split(dim, 64, "here")
    assert (left.extent, left.tile, left.box, left.offset, left.starts) == (4, 1, 1, 0, {0, 1})
    assert (right.extent, right.tile, right.box, right.offset, right.starts) == (64, 16, 16, 48, {48, 0})
    assert (left.coordinate, right.coordinate) == (Coordinate(ZERO), dim.coordinate)
    left, right = split(Dim(256, 192, 128, 64, frozenset({64}), Coordinate(THREAD)), 64, "here")
    assert (left.tile, left.box, left.offset) == (3, 2, 1)
    assert (right.tile, right.box, right.offset) == (64, 64, 0)
    assert (str(left.coordinate), str(right.coordinate)) == (f"{THREAD} / 64", f"{THREAD} % 64")
    assert split(Dim(96, 48, 32, 0, frozenset({0}), Coordinate(THREAD)), 32, "here")[0].tile == 2


def test_the_example_of_a_common_domain() -> None:
    state = [Dim(n, n, n, 0, frozenset({0}), Coordinate(THREAD)) for n in (1, 64, 16)]
    dims, box = complete(state, Concrete((16, 128), (None, 64)), None, "here")
    assert [d.extent for d in dims] == [2, 8, 8, 16]
    assert box == (None, None, 4, 16)
    assert pitches([2, 8, 8, 16]) == (1024, 128, 16, 1)


# Warps ------------------------------------------------------------------------------------------------------------


def test_the_last_warp_of_each_warpgroup() -> None:
    last = choose_warps(tile(top_level(256), "wg", 2, cuda_warpgroup), 3, 4)
    assert threads(last, (0,)) | threads(last, (1,)) == span(96, 128) | span(224, 256)
    assert (last.tile, last.box, last.offset) == ((128,), (32,), (96,))
    assert said(last) == (["threadIdx.x / 128"], ["96 <= threadIdx.x % 128 < 128"])
    assert iteration(last, 95) is None
    assert iteration(last, 96) == (0,)
    match(last, cuda_warp)


def test_warps_of_warps_count_from_their_first() -> None:
    third = choose_warps(choose_warps(CTA, 2, 4), 1, 2)
    assert threads(third, ()) == span(96, 128)
    assert [str(g) for g in third.guards] == ["64 <= threadIdx.x < 128", "32 <= threadIdx.x - 64 < 64"]
    four = tile(choose_warps(CTA, 1, 3), "i", 16, 4 * cuda_thread)
    assert said(four)[0] == ["(threadIdx.x - 32) / 4"]
    assert (four.tile_count, third.tile_count) == (16, 1)
    assert threads(four, (15,)) == span(92, 96)


def test_all_warps_are_chosen_without_a_guard() -> None:
    assert choose_warps(CTA, 0, 4).guards == ()
    assert choose_warps(CTA, 0, 3).guards[0].hi == 96
    one = tile(CTA, "w", 4, cuda_warp)
    assert choose_warps(one, 0, 1).box == one.box
    assert threads(choose_warps(CLUSTER, 1, 2), ()) == {128 * c + t for c in range(4) for t in range(32, 64)}


def test_warps_are_chosen_in_other_domains() -> None:
    rows = tile(CTA, "i", 2, coll_unit((8, 16), (4, 16)))
    assert threads(choose_warps(rows, 1, 2), (1,)) == span(96, 128)


@pytest.mark.parametrize(("lo", "hi"), [(1, 1), (2, 1), (-1, 1), (True, 2), (0, True), (0.0, 1), (None, 1)])
def test_a_range_of_warps_is_not_empty(lo: object, hi: object) -> None:
    assert choose_warps(CTA, 0, 1).box == (32,)
    refused("coll-warps-c1", lambda: choose_warps(CTA, lo, hi))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scope", "there"),
    [
        (CTA, 4),
        (choose_warps(CTA, 1, 3), 2),
        (tile(CTA, "w", 4, cuda_warp), 1),
        (tile(CTA, "w", 2, 48 * cuda_thread), 1),
        (tile(CTA, "t", 8, 16 * cuda_thread), 0),
        (top_level(16), 0),
        (top_level(32), 1),
    ],
)
def test_warps_are_there(scope: Tiling, there: int) -> None:
    assert refused("coll-warps-c2", lambda: choose_warps(scope, 0, there + 1)).most == there
    if there:
        assert choose_warps(scope, there - 1, there).box[-1] == 32


# Matching ---------------------------------------------------------------------------------------------------------


def test_the_aligned_form_of_a_unit() -> None:
    assert aligned(Concrete((128, 6), (32, None)), "here") == Concrete((4, 32, 6), (1, 32, None))
    assert refused("coll-match-c1", lambda: aligned(Concrete((128,), (48,)), "here")).given == "48 of 128"
    refused("coll-match-c1", lambda: match(top_level(64), cuda_warpgroup))


@pytest.mark.parametrize(
    ("scope", "unit"),
    [
        (CTA, cuda_warpgroup),
        (CTA, cuda_cta_in_cluster),
        (CTA, cuda_agnostic_sub_cta),
        (tile(CTA, "w", 3, cuda_warp), cuda_warp),
        (tile(CTA, "w", 3, cuda_warp), 32 * cuda_thread),
        (tile(CTA, "w", 3, cuda_warp), cuda_warp_in_cluster),
        (choose_warps(CTA, 1, 2), cuda_warp),
        (choose_warps(top_level(256), 4, 8), cuda_warpgroup),
        (tile(tile(CTA, "w", 4, cuda_warp), "t", 5, cuda_thread), cuda_thread),
        (CLUSTER, cuda_cluster),
        (CLUSTER, cuda_agnostic_intact_cta),
        (tile(CLUSTER, "c", 4, cuda_cta_in_cluster), cuda_cta_in_cluster),
        (tile(CLUSTER, "c", 4, cuda_cta_in_cluster), cuda_agnostic_sub_cta),
        (tile(tile(CTA, "w", 4, cuda_warp), "q", 4, 4 * cuda_thread), cuda_threads_strided(4, 16)),
        (tile(tile(CTA, "w", 4, coll_unit((8, 16), (2, 16))), "q", 4, cuda_quadpair), cuda_quadpair),
    ],
)
def test_a_statement_runs_on_its_unit(scope: Tiling, unit: CollUnit) -> None:
    match(scope, unit)
    assert matches(scope, unit)


@pytest.mark.parametrize(
    ("scope", "unit", "rule"),
    [
        (CTA, cuda_warp, "coll-match-c2"),
        (CTA, cuda_thread, "coll-match-c2"),
        (tile(CTA, "w", 4, cuda_warp), cuda_warpgroup, "coll-match-c2"),
        (choose_warps(top_level(256), 1, 5), cuda_warpgroup, "coll-domain-c4"),
        (choose_warps(top_level(256), 0, 2), cuda_warpgroup, "coll-match-c2"),
        (choose_warps(tile(top_level(96), "i", 2, 48 * cuda_thread), 0, 1), cuda_warp, "coll-domain-c4"),
        (CLUSTER, cuda_cta_in_cluster, "coll-match-c2"),
        (CLUSTER, cuda_agnostic_sub_cta, "coll-match-c2"),
        (tile(CLUSTER, "w", 4, cuda_warp), cuda_warp, "coll-match-c2"),
        (tile(CLUSTER, "w", 4, cuda_warp), cuda_agnostic_intact_cta, "coll-match-c2"),
        (tile(tile(CTA, "w", 4, cuda_warp), "q", 4, 8 * cuda_thread), cuda_quadpair, "coll-match-c2"),
    ],
)
def test_a_statement_on_other_threads_is_refused(scope: Tiling, unit: CollUnit, rule: str) -> None:
    refused(rule, lambda: match(scope, unit))
    assert not matches(scope, unit)


def test_coordinates_are_computed_from_left_to_right() -> None:
    here = Coordinate(THREAD).then("%", 64).then("-", 32).then("/", 4).then("/", 1).then("-", 0)
    assert (str(here), here.of(128 + 50, 128)) == ("(threadIdx.x % 64 - 32) / 4", 4)
    assert Coordinate(RANK).of(300, 128) == 2
    assert str(Coordinate(RANK)) == RANK
    assert Coordinate(THREAD).then("%", 1) == Coordinate(ZERO)
    assert Coordinate(ZERO).then("-", 3) == Coordinate(ZERO)
    assert Coordinate(ZERO).of(77, 128) == 0
