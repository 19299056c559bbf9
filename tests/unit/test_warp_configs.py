"""Device functions: their sizes, warps with names, numbers of registers, and choices by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from soundline.spec.errors import CollectiveError
from soundline.spec.spork.threads.tilings import threads, tile
from soundline.spec.spork.threads.units import cuda_cta_in_cluster, cuda_warpgroup
from soundline.spec.spork.threads.warps import CONSTRAINTS, DeviceShape, NamedWarps, choose_named_warps

GUIDE = DeviceShape(
    warps=(
        NamedWarps("producer", 1, dec=40),
        NamedWarps("unused", 3, dec=40),
        NamedWarps("consumer", 8, inc=232),
    )
)


def refused(rule: str, build: Callable[[], object]) -> None:
    with pytest.raises(CollectiveError) as caught:
        build()
    assert caught.value.rule == rule, caught.value
    assert caught.value.wants == CONSTRAINTS[rule]


def named(*counts: int, name: str = "w") -> list[NamedWarps]:
    return [NamedWarps(f"{name}{k}", n) for k, n in enumerate(counts)]


def test_the_config_of_the_guide() -> None:
    assert (GUIDE.block_dim, GUIDE.cluster_dim, GUIDE.blocks_per_sm) == (384, 1, 1)
    assert [GUIDE.range_of(w.name) for w in GUIDE.warps] == [(0, 1), (1, 4), (4, 12)]
    assert [w.registers for w in GUIDE.warps] == [40, 40, 232]
    assert GUIDE.tiling().box == (384,)


def test_threads_are_given_in_one_way() -> None:
    assert DeviceShape(block_dim=96, cluster_dim=2, blocks_per_sm=3).tiling().box == (2, 96)
    assert DeviceShape(warps=named(2, 1)).block_dim == 96
    refused("coll-device-c1", DeviceShape)
    refused("coll-device-c1", lambda: DeviceShape(block_dim=32, warps=named(1)))


@pytest.mark.parametrize("number", [0, -32, 48, True, 32.0])
def test_a_block_has_whole_warps(number: object) -> None:
    refused("coll-device-c2", lambda: DeviceShape(block_dim=number))  # type: ignore[arg-type]


def test_a_block_has_no_more_threads_than_a_cta_may_have() -> None:
    assert DeviceShape(block_dim=1024).block_dim == DeviceShape(warps=named(16, 16)).block_dim == 1024
    refused("coll-device-c7", lambda: DeviceShape(block_dim=1056))
    refused("coll-device-c7", lambda: DeviceShape(warps=named(16, 17)))


@pytest.mark.parametrize("number", [0, -1, True, 1.0, None])
def test_counts_are_positive(number: object) -> None:
    refused("coll-device-c3", lambda: DeviceShape(block_dim=32, cluster_dim=number))  # type: ignore[arg-type]
    refused("coll-device-c4", lambda: DeviceShape(block_dim=32, blocks_per_sm=number))  # type: ignore[arg-type]
    refused("coll-device-c6", lambda: NamedWarps("w", number))  # type: ignore[arg-type]


def test_names_differ() -> None:
    refused("coll-device-c5", lambda: DeviceShape(warps=(NamedWarps("w", 1), NamedWarps("w", 1))))


def test_registers_grow_or_shrink() -> None:
    assert NamedWarps("w", 4, inc=24).registers == 24
    assert NamedWarps("w", 4).registers is None
    refused("coll-maxnreg-c1", lambda: NamedWarps("w", 4, inc=40, dec=40))


@pytest.mark.parametrize("number", [16, 20, 41, 264, 0, -24, 40.0])
def test_the_number_of_registers(number: object) -> None:
    for good in (24, 256):
        assert NamedWarps("w", 4, dec=good).registers == good
    refused("coll-maxnreg-c2", lambda: NamedWarps("w", 4, dec=number))  # type: ignore[arg-type]
    refused("coll-maxnreg-c2", lambda: NamedWarps("w", 4, inc=number))  # type: ignore[arg-type]


def test_registers_belong_to_groups_of_four_warps() -> None:
    assert DeviceShape(warps=(NamedWarps("a", 4, dec=40), NamedWarps("b", 4))).block_dim == 256
    refused("coll-maxnreg-c3", lambda: DeviceShape(warps=(NamedWarps("a", 4, dec=40), NamedWarps("b", 2))))
    for other in (NamedWarps("b", 6), NamedWarps("b", 6, dec=48), NamedWarps("b", 6, inc=40)):
        refused(
            "coll-maxnreg-c4",
            lambda other=other: DeviceShape(warps=(NamedWarps("a", 2, dec=40), other)),
        )
    assert DeviceShape(warps=(NamedWarps("a", 2, dec=40), NamedWarps("b", 6, dec=40))).block_dim == 256


def test_a_name_chooses_its_warps() -> None:
    consumer = choose_named_warps(GUIDE, GUIDE.tiling(), name="consumer")
    assert (consumer.warps, threads(consumer, ())) == ("consumer", frozenset(range(128, 384)))
    part = choose_named_warps(GUIDE, GUIDE.tiling(), 2, 3, name="consumer")
    assert (part.warps, threads(part, ())) == ("consumer", frozenset(range(192, 224)))
    assert choose_named_warps(GUIDE, consumer, 2, 3) == part
    assert choose_named_warps(GUIDE, consumer, 2, 3, name="consumer") == part
    assert part.parent is not None
    assert part.parent.parent == GUIDE.tiling()


def test_several_names_ask_for_one() -> None:
    refused("coll-named-c1", lambda: choose_named_warps(GUIDE, GUIDE.tiling(), 0, 1))
    for shape in (DeviceShape(block_dim=128), DeviceShape(warps=named(4))):
        assert choose_named_warps(shape, shape.tiling(), 0, 1).warps is None


def test_a_name_is_known() -> None:
    refused("coll-named-c2", lambda: choose_named_warps(GUIDE, GUIDE.tiling(), name="nobody"))
    plain = DeviceShape(block_dim=128)
    refused("coll-named-c2", lambda: choose_named_warps(plain, plain.tiling(), name="consumer"))


def test_a_name_is_chosen_from_a_whole_cta() -> None:
    group = tile(GUIDE.tiling(), "wg", 3, cuda_warpgroup)
    refused("coll-named-c3", lambda: choose_named_warps(GUIDE, group, name="unused"))
    pair = DeviceShape(warps=named(1, 3), cluster_dim=2)
    both = choose_named_warps(pair, pair.tiling(), name="w1")
    assert threads(both, ()) == {128 * c + t for c in (0, 1) for t in range(32, 128)}
    one = choose_named_warps(pair, tile(pair.tiling(), "c", 2, cuda_cta_in_cluster), name="w0")
    assert threads(one, (1,)) == frozenset(range(128, 160))


def test_an_inner_choice_keeps_the_name_and_has_both_ends() -> None:
    consumer = choose_named_warps(GUIDE, GUIDE.tiling(), name="consumer")
    refused("coll-named-c4", lambda: choose_named_warps(GUIDE, consumer, 0, 1, name="producer"))
    refused("coll-named-c5", lambda: choose_named_warps(GUIDE, consumer, 0))
    refused("coll-named-c5", lambda: choose_named_warps(GUIDE, consumer, hi=1))
    refused("coll-named-c5", lambda: choose_named_warps(GUIDE, consumer, name="consumer"))
    refused("coll-named-c5", lambda: choose_named_warps(GUIDE, GUIDE.tiling(), 1, name="consumer"))
