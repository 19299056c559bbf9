"""Collective units: extents, the standard units, N times a unit, and numbers for the symbols."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from soundline.spec.errors import CollectiveError
from soundline.spec.spork.threads import distributed_memory, domains, tilings, units, warps
from soundline.spec.spork.threads.units import (
    BLOCK_DIM,
    CLUSTER_DIM,
    CONSTRAINTS,
    STANDARD,
    CollUnit,
    Concrete,
    Extent,
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
    substituted,
)


def refused(rule: str, build: Callable[[], object]) -> CollectiveError:
    with pytest.raises(CollectiveError) as caught:
        build()
    assert caught.value.rule == rule
    assert caught.value.wants == CONSTRAINTS[rule]
    return caught.value


def at(unit: CollUnit, block_dim: int = 256, cluster_dim: int = 4) -> tuple[object, object]:
    numbers = substituted(unit, block_dim=block_dim, cluster_dim=cluster_dim)
    return numbers.domain, numbers.box


# Extents ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "value", "text"),
    [
        (BLOCK_DIM, 96, "blockDim"),
        (CLUSTER_DIM, 6, "clusterDim"),
        (BLOCK_DIM * CLUSTER_DIM, 576, "clusterDim*blockDim"),
        (3 * BLOCK_DIM, 288, "3*blockDim"),
        (BLOCK_DIM * 3, 288, "3*blockDim"),
        (BLOCK_DIM / 64, Fraction(3, 2), "blockDim/64"),
        (BLOCK_DIM / CLUSTER_DIM, 16, "blockDim/clusterDim"),
        (CLUSTER_DIM / BLOCK_DIM / 2, Fraction(1, 32), "clusterDim/2/blockDim"),
        (BLOCK_DIM / BLOCK_DIM, 1, "1"),
        (BLOCK_DIM * BLOCK_DIM, 9216, "blockDim*blockDim"),
        (Extent(Fraction(5)), 5, "5"),
        (2 * BLOCK_DIM / 3, 64, "2*blockDim/3"),
    ],
)
def test_an_extent_is_a_rational_times_powers_of_the_symbols(
    size: Extent, value: Fraction, text: str
) -> None:
    assert size.at(96, 6) == value
    assert str(size) == text


# Standard units ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "domain", "box"),
    [
        (cuda_thread, (256,), (1,)),
        (cuda_warp, (256,), (32,)),
        (cuda_warpgroup, (256,), (128,)),
        (cuda_quadpair, (16, 16), (2, 4)),
        (cuda_cta_in_cluster, (1024,), (256,)),
        (cuda_cluster, (1024,), (1024,)),
        (cuda_agnostic_sub_cta, (4, 256), (1, None)),
        (cuda_agnostic_intact_cta, (4, 256), (None, 256)),
        (cuda_warp_in_cluster, (4, 256), (1, 32)),
        (cuda_cta_in_cluster_strided(2), (2, 2, 256), (1, 1, 256)),
        (cuda_threads_strided(3, 8), (32, 8), (1, 3)),
        (2 * cuda_cta_in_cluster, (1024,), (512,)),
        (2 * cuda_cta_in_cluster_strided(2), (2, 2, 256), (2, 1, 256)),
        (4 * cuda_threads_strided(3, 8), (32, 8), (4, 3)),
        (2 * cuda_warp_in_cluster, (4, 256), (1, 64)),
        (coll_unit((BLOCK_DIM / 64, 64), (1, 8), name="own"), (4, 64), (1, 8)),
    ],
    ids=lambda u: u.name if isinstance(u, CollUnit) else "",
)
def test_units_in_a_device_function(unit: CollUnit, domain: tuple[int, ...], box: tuple[int, ...]) -> None:
    assert at(unit) == (domain, box)


def test_a_unit_has_the_name_of_its_definition() -> None:
    assert [str(u) for u in STANDARD.values()] == list(STANDARD)
    assert str(4 * (8 * cuda_thread)) == "4 * 8 * cuda_thread"
    assert cuda_threads_strided(3, 8).name == "cuda_threads_strided(3, 8)"
    assert cuda_cta_in_cluster_strided(2).name == "cuda_cta_in_cluster_strided(2)"


def test_units_are_equal_by_what_they_say() -> None:
    assert 32 * cuda_thread == cuda_warp
    assert 4 * cuda_warp == 2 * (2 * cuda_warp) == cuda_warpgroup
    assert cuda_warp != cuda_warpgroup
    assert cuda_warp != coll_unit((BLOCK_DIM,), (32,))  # of which there is no multiple


# Refusals ---------------------------------------------------------------------------------------------------------


def test_domain_and_box_have_the_same_dimensions() -> None:
    assert coll_unit((2, 4), (1, None)).box[1] is None
    assert refused("coll-unit-c1", lambda: coll_unit((2, 4), (1,))).subject == "CollUnit"
    refused("coll-unit-c1", lambda: coll_unit((), ()))


@pytest.mark.parametrize("size", [0, -1, BLOCK_DIM * -1])
def test_extents_are_positive(size: int | Extent) -> None:
    assert coll_unit((1,), (1,)).domain == (Extent(Fraction(1)),)
    refused("coll-unit-c2", lambda: coll_unit((size,), (1,)))
    refused("coll-unit-c2", lambda: coll_unit((1,), (size,)))


@pytest.mark.parametrize("count", [0, -2, True, 1.5, "2", None])
def test_a_unit_is_taken_a_positive_number_of_times(count: object) -> None:
    assert at(1 * cuda_thread) == at(cuda_thread)
    assert repr(count) in refused("coll-unit-c3", lambda: count * cuda_thread).given  # type: ignore[operator]


@pytest.mark.parametrize(
    "unit", [cuda_quadpair, cuda_cluster, cuda_agnostic_sub_cta, cuda_agnostic_intact_cta]
)
def test_some_units_have_no_multiple(unit: CollUnit) -> None:
    refused("coll-unit-c4", lambda: 2 * unit)


def test_an_agnostic_coordinate_has_no_multiple() -> None:
    refused("coll-unit-c4", lambda: 2 * coll_unit((BLOCK_DIM,), (None,), scaled=0))


def test_extents_become_integers() -> None:
    unit = coll_unit((BLOCK_DIM / 64, 64), (1, 64))
    assert at(unit, 128) == ((2, 64), (1, 64))
    error = refused("coll-unit-c5", lambda: at(unit, 96))
    assert error.given == "blockDim/64 = 3/2 for blockDim 96, clusterDim 4"
    refused("coll-unit-c5", lambda: at(coll_unit((BLOCK_DIM,), (BLOCK_DIM / 5,)), 96))
    refused("coll-unit-c5", lambda: at(cuda_cta_in_cluster_strided(3)))


@pytest.mark.parametrize("size", [0, -32, 1.5, True, None])
def test_sizes_are_positive_integers(size: object) -> None:
    assert at(cuda_thread, 1, 1) == ((1,), (1,))
    refused("coll-unit-c6", lambda: substituted(cuda_thread, block_dim=size, cluster_dim=1))  # type: ignore[arg-type]
    refused("coll-unit-c6", lambda: substituted(cuda_thread, block_dim=32, cluster_dim=size))  # type: ignore[arg-type]


def test_a_box_may_stick_out_of_the_domain() -> None:
    assert substituted(cuda_warpgroup, block_dim=64, cluster_dim=1).oversized
    assert not substituted(cuda_warpgroup, block_dim=128, cluster_dim=1).oversized
    assert not Concrete((4, 8), (None, 8)).oversized
    assert Concrete((4, 8), (None, 8)).threads == 32


# Ids --------------------------------------------------------------------------------------------------------------

CHAPTERS = (units, domains, tilings, warps, distributed_memory)


def test_every_id_that_the_chapters_cite_is_one_of_their_tables_and_raised_somewhere() -> None:
    known = [identifier for chapter in CHAPTERS for identifier in chapter.CONSTRAINTS]
    assert len(set(known)) == len(known)
    texts = [inspect.getsource(chapter) for chapter in CHAPTERS]
    cited = Counter(i for text in texts for i in re.findall(r"\"((?:coll|dist)-[a-z0-9-]+)\"", text))
    assert set(cited) == set(known)
    assert min(cited.values()) > 1


def test_the_documentation_states_every_id() -> None:
    folder = str(Path(__file__).resolve().parents[2] / "docs" / "_ext")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    names = ("collective_pages", "error_pages", "spork_laws")
    pages, errors, laws = map(importlib.import_module, names)
    known = {identifier for chapter in CHAPTERS for identifier in chapter.CONSTRAINTS}
    assert set(laws.constraints("collective_units")) == known
    assert known <= set(errors.anchors())
    stated = laws.conditions("collective_units")
    assert all(f":anchor:`{identifier}`" in stated for identifier in known)
    assert all(f"``{name}``" in pages.units() for name in STANDARD)
