"""Where storage lies and who owns it, against enumerations of threads and of bytes."""

from __future__ import annotations

from collections import defaultdict

import pytest

from soundline.spec.dtypes import float16, float32, float64
from soundline.spec.spork.language.nodes import ref
from soundline.spec.spork.language.scopes import Scope
from soundline.spec.spork.language.statements import Alloc, CudaDeviceFunction
from soundline.spec.spork.library.memories import CudaRmem, CudaSmemLinear, Sm90_SmemSwizzled
from soundline.spec.spork.machine.addresses import (
    Shard,
    SharedStacks,
    grain_of,
    native_collective,
    own_elements,
    shards,
    shared_elements,
)
from soundline.spec.spork.threads.distributed_memory import Deduction, deduce
from soundline.spec.spork.threads.tilings import Tiling, choose_warps, threads, tile, top_level
from soundline.spec.spork.threads.units import (
    CollUnit,
    cuda_cluster,
    cuda_cta_in_cluster,
    cuda_cta_in_cluster_strided,
    cuda_quadpair,
    cuda_thread,
    cuda_warp,
    cuda_warp_in_cluster,
    cuda_warpgroup,
    substituted,
)
from soundline.spec.spork.threads.warps import DeviceShape

# Collectives ------------------------------------------------------------------------------------------------------


def coordinates(unit: CollUnit, thread: int, block_dim: int, cluster_dim: int) -> tuple[int, ...]:
    """Which collective of a unit a thread is in, counted dimension by dimension."""
    numbers = substituted(unit, block_dim=block_dim, cluster_dim=cluster_dim)
    found = []
    for extent, size in zip(reversed(numbers.domain), reversed(numbers.box), strict=True):
        found.append(0 if size is None else thread % extent // size)
        thread //= extent
    return (thread, *reversed(found))


@pytest.mark.parametrize(
    "unit",
    [
        cuda_thread,
        cuda_warp,
        cuda_warpgroup,
        cuda_quadpair,
        cuda_cta_in_cluster,
        cuda_cluster,
        cuda_warp_in_cluster,
        2 * cuda_cta_in_cluster_strided(2),
        3 * cuda_thread,
    ],
    ids=str,
)
@pytest.mark.parametrize("cluster_dim", [1, 2, 4])
def test_the_collective_of_a_thread_is_all_threads_with_its_coordinates(
    unit: CollUnit, cluster_dim: int
) -> None:
    block_dim = 384
    if unit.name.startswith("2 *") and cluster_dim < 4:
        cluster_dim = 4
    groups = defaultdict(set)
    for thread in range(block_dim * cluster_dim):
        groups[coordinates(unit, thread, block_dim, cluster_dim)].add(thread)
    for group in groups.values():
        for thread in (min(group), max(group)):
            assert native_collective(unit, thread, block_dim, cluster_dim) == group


# Shards -----------------------------------------------------------------------------------------------------------


def scope(tiling: Tiling) -> Scope:
    return Scope(DeviceShape(block_dim=tiling.block_dim, cluster_dim=tiling.cluster_dim), tiling)


def owners(
    allocation: Tiling, use: Tiling, names: tuple[str, ...], shape: tuple[int, ...], *values: int
) -> list[Shard]:
    found = deduce(allocation, cuda_thread, use, names, shape)
    return list(shards(CudaRmem, shape, found, scope(allocation), values))


def test_the_owner_of_a_shard_is_who_uses_it() -> None:
    cta = top_level(128)
    warp = tile(cta, "w", 4, cuda_warp)
    use = tile(tile(warp, "a", 8, 4 * cuda_thread), "b", 4, cuda_thread)
    inside = tile(tile(choose_warps(cta, 1, 3), "w", 2, cuda_warp), "t", 32, cuda_thread)
    for w in range(4):
        for number, shard in enumerate(owners(warp, use, ("b", "a", "k"), (4, 8, 3), w)):
            b, a = divmod(number, 8)
            assert shard == Shard(threads(use, (w, a, b)), number * 3, (3,))
    for number, shard in enumerate(owners(cta, inside, ("t", "w"), (32, 2))):
        t, w = divmod(number, 2)
        assert shard == Shard(threads(inside, (w, t)), number, ())


def test_one_shard_belongs_to_one_thread_though_all_allocate_it() -> None:
    cta = top_level(64)
    use = tile(cta, "t", 1, cuda_thread)
    assert owners(cta, use, ("k",), (5,)) == [Shard(frozenset({0}), 0, (5,))]


def test_without_uses_all_belongs_to_who_allocates() -> None:
    warp = tile(top_level(64), "w", 2, cuda_warp)
    (only,) = shards(CudaRmem, (2, 3), None, scope(warp), (1,))
    assert only == Shard(frozenset(range(32, 64)), 0, (2, 3))
    nobody = Deduction((), (), (), 0, ())
    shared_out = list(shards(CudaSmemLinear, (2, 3), nobody, scope(top_level(64)), ()))
    assert shared_out == [Shard(frozenset(range(64)), 0, (2, 3))]


def test_shared_memory_in_a_loop_over_ctas_is_that_of_the_cta() -> None:
    cta = tile(top_level(32, 4), "c", 4, cuda_cta_in_cluster)
    found = deduce(cta, cuda_cta_in_cluster, cta, ("k",), (8,))
    for c in range(4):
        (shard,) = shards(CudaSmemLinear, (8,), found, scope(cta), (c,))
        assert shard.owner == frozenset(range(32 * c, 32 * c + 32))
        stacks = SharedStacks((0, 0), 4)
        (first, *_) = shared_elements("s", float32, (8,), [shard], stacks, 32, 128)
        assert first.cells[0] == (("shared", (0, 0), c), 0)
        assert stacks.tops == {c: 32}


# Cells ------------------------------------------------------------------------------------------------------------


def test_arrays_of_a_stack_begin_at_boundaries_and_live_ones_do_not_overlap() -> None:
    stacks = SharedStacks((0, 0), 2)
    whole = [Shard(frozenset(range(32)), 0, (5,))]
    made = [
        shared_elements(name, dtype, (5,), whole, stacks, 32, 128)
        for name, dtype in (("a", float16), ("b", float64), ("c", float32))
    ]
    seen: set[object] = set()
    for elements in made:
        assert elements[0].cells[0].address * 2 % 128 == 0
        for element in elements:
            assert len(element.cells) * 2 == element.dtype.itemsize
            assert seen.isdisjoint(element.cells)
            seen.update(element.cells)
    addresses = [[e.cells[0].address for e in elements] for elements in made]
    assert addresses == [[0, 1, 2, 3, 4], [64, 68, 72, 76, 80], [128, 130, 132, 134, 136]]


def test_shards_of_one_array_lie_at_one_address_in_their_stacks() -> None:
    stacks = SharedStacks((0, 0), 4)
    parts = [Shard(frozenset(range(32 * c, 32 * c + 32)), 3 * c, (3,)) for c in range(2)]
    elements = shared_elements("s", float32, (2, 3), parts, stacks, 32, 128)
    assert [(e.cells[0].space[2], e.cells[0].address) for e in elements] == [
        (c, k) for c in range(2) for k in range(3)
    ]
    assert [e.index for e in elements] == [(c, k) for c in range(2) for k in range(3)]


def test_an_array_begins_where_its_memory_asks_for() -> None:
    stacks = SharedStacks((0, 0), 4)
    sizes = [(CudaSmemLinear, 4), *((Sm90_SmemSwizzled(b), 4) for b in (32, 64, 128)), (CudaSmemLinear, 4)]
    assert [stacks.take(0, size, memory.alignment) for memory, size in sizes] == [0, 256, 512, 1024, 1152]
    assert stacks.take(1, 4, 1024) == 0


def test_the_grain_divides_every_element_of_shared_memory_and_no_other() -> None:
    def block(*dtypes: object) -> CudaDeviceFunction:
        shared = tuple(Alloc(f"s{k}", d, (), ref(CudaSmemLinear)) for k, d in enumerate(dtypes))
        return CudaDeviceFunction((*shared, Alloc("r", float16, (), ref(CudaRmem))), 32)

    assert grain_of(block(float32, float64)) == 4
    assert grain_of(block(float64, float16)) == 2
    assert grain_of(block(float64)) == 8
    assert grain_of(block()) == 1


def test_an_array_with_a_space_of_its_own_counts_its_elements() -> None:
    elements = own_elements("x", 3, float64, (2, 2))
    assert [e.cells for e in elements] == [((("x", 3), k),) for k in range(4)]
    assert [e.index for e in elements] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    (scalar,) = own_elements("y", 0, float64, ())
    assert (scalar.index, scalar.cells) == ((), ((("y", 0), 0),))
    assert own_elements("z", 0, float64, (2, 0)) == ()
