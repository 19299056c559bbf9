"""Memories: who allocates, reads and writes them, whose shards they are, and which there are."""

from __future__ import annotations

import pytest

from soundline.spec.errors import StaticError
from soundline.spec.spork.language.nodes import Ref, ref
from soundline.spec.spork.library.memories import (
    CPU_ONLY,
    DRAM,
    IN_ORDER,
    MEMORY_CONSTRAINTS,
    ON_DEVICE,
    STANDARD,
    CudaGmemLinear,
    CudaGridConstant,
    CudaRmem,
    CudaSmemLinear,
    Memory,
    Sm80_RmemMatrixA,
    Sm80_RmemMatrixB,
    Sm80_RmemMatrixD,
    Sm90_RmemMatrixA,
    Sm90_RmemMatrixD,
    Sm90_RmemRows,
    Sm90_SmemSwizzled,
    Sm90_tensorMap,
    examples,
)
from soundline.spec.spork.synchronization.timelines import LEGAL_PAIRS, InstrTl, UsageTl, pair
from soundline.spec.spork.threads.units import (
    cuda_cta_in_cluster,
    cuda_thread,
    cuda_warp,
    cuda_warpgroup,
)

NONE = frozenset[InstrTl]()
WGMMA = frozenset({InstrTl.wgmma_async})

# memory: space, native unit, allocated on, read directly by, written directly by, touched by instructions of
TABLE = {
    DRAM: ("host", None, InstrTl.cpu_in_order, CPU_ONLY, CPU_ONLY, CPU_ONLY),
    CudaGridConstant: (
        "global",
        None,
        InstrTl.cpu_in_order,
        CPU_ONLY | IN_ORDER,
        CPU_ONLY,
        CPU_ONLY | IN_ORDER,
    ),
    CudaGmemLinear: ("global", None, InstrTl.cpu_in_order, IN_ORDER, IN_ORDER, frozenset(InstrTl)),
    CudaSmemLinear: ("shared", cuda_cta_in_cluster, InstrTl.cuda_in_order, IN_ORDER, IN_ORDER, ON_DEVICE),
    Sm90_SmemSwizzled(64): (
        "shared",
        cuda_cta_in_cluster,
        InstrTl.cuda_in_order,
        IN_ORDER,
        IN_ORDER,
        ON_DEVICE,
    ),
    CudaRmem: ("registers", cuda_thread, InstrTl.cuda_in_order, IN_ORDER, IN_ORDER, IN_ORDER),
    Sm80_RmemMatrixA: ("registers", cuda_warp, InstrTl.cuda_in_order, NONE, NONE, IN_ORDER),
    Sm80_RmemMatrixB: ("registers", cuda_warp, InstrTl.cuda_in_order, NONE, NONE, IN_ORDER),
    Sm80_RmemMatrixD: ("registers", cuda_warp, InstrTl.cuda_in_order, NONE, NONE, IN_ORDER),
    Sm90_RmemMatrixA: ("registers", cuda_warpgroup, InstrTl.cuda_in_order, NONE, NONE, IN_ORDER | WGMMA),
    Sm90_RmemMatrixD: ("registers", cuda_warpgroup, InstrTl.cuda_in_order, NONE, NONE, IN_ORDER | WGMMA),
    Sm90_RmemRows: ("registers", cuda_warpgroup, InstrTl.cuda_in_order, NONE, NONE, IN_ORDER),
    Sm90_tensorMap(0, 8, 4): (
        "global",
        None,
        InstrTl.cpu_in_order,
        NONE,
        NONE,
        frozenset({InstrTl.tma_to_smem_async, InstrTl.tma_to_gmem_async}),
    ),
}


@pytest.mark.parametrize("memory", TABLE, ids=str)
def test_who_uses_a_memory(memory: Memory) -> None:
    space, native, allocated, reads, writes, instructions = TABLE[memory]
    assert (memory.space, memory.native, memory.allocated) == (space, native, allocated)
    assert (memory.reads, memory.writes, memory.instructions) == (reads, writes, instructions)
    assert memory.convergent is (space == "registers")
    assert memory.constant is (space in ("shared", "registers") or memory is CudaGridConstant)
    assert memory.scalars is (memory in (DRAM, CudaGridConstant, CudaSmemLinear, CudaRmem))
    assert memory.window is (memory.name.startswith("Sm90_tensorMap"))


def test_every_standard_memory_is_in_the_table() -> None:
    fixed = {name for name, value in STANDARD.items() if isinstance(value, Memory)}
    assert fixed | {"Sm90_SmemSwizzled(64)", "Sm90_tensorMap(0, 8, 4)"} == {m.name for m in TABLE}
    assert {"Sm90_SmemSwizzled", "Sm90_tensorMap"} == set(STANDARD) - fixed
    assert all(STANDARD[m.name] is m for m in TABLE if m.name in fixed)


@pytest.mark.parametrize("memory", TABLE, ids=str)
def test_a_direct_access_of_the_device_has_a_legal_pair(memory: Memory) -> None:
    for instr in (memory.reads | memory.writes) - CPU_ONLY:
        assert pair(instr, memory.usage) in LEGAL_PAIRS
    registers = memory.space == "registers"
    assert (memory.usage is UsageTl.cuda_sync_rmem) is registers
    assert (memory.usage is UsageTl.cpu) is (memory is DRAM)


def test_fragments_have_the_shapes_of_the_tensor_cores() -> None:
    assert Sm80_RmemMatrixA.tiles == ((16, 4), (16, 8), (16, 16))
    assert Sm80_RmemMatrixB.tiles == ((4, 8), (8, 8), (16, 8))
    assert Sm80_RmemMatrixD.tiles == ((16, 8),)
    assert Sm90_RmemMatrixA.tiles == ((64, 8), (64, 16), (64, 32))
    assert Sm90_RmemMatrixD.tiles == ((64, None),)
    assert all(not m.tiles for m in (DRAM, CudaGmemLinear, CudaSmemLinear, CudaRmem))


@pytest.mark.parametrize("swizzle", [32, 64, 128])
def test_swizzled_rows(swizzle: int) -> None:
    memory = Sm90_SmemSwizzled(swizzle)
    assert memory == Sm90_SmemSwizzled(swizzle)
    assert memory != Sm90_SmemSwizzled(96 - swizzle if swizzle != 128 else 32)
    assert (memory.row_bytes, memory.scalars) == (swizzle, False)
    # Pieces of 16 bytes are permuted by three bits of the address above those of a row of pieces, so in 8 rows.
    assert memory.alignment == 8 * swizzle
    assert CudaSmemLinear.alignment == 128
    assert CudaSmemLinear.row_bytes is None


@pytest.mark.parametrize("swizzle", [0, 1, 16, 256, -32, "128"])
def test_swizzles_that_there_are_not(swizzle: int) -> None:
    with pytest.raises(StaticError, match="mem-parameter"):
        Sm90_SmemSwizzled(swizzle)


def test_a_tensor_map_knows_its_box() -> None:
    view = Sm90_tensorMap(128, 64, 32)
    assert (view.swizzle, view.box, view.window) == (128, (64, 32), True)
    assert view != Sm90_tensorMap(64, 64, 32)
    assert view != Sm90_tensorMap(128, 32, 64)
    assert Sm90_tensorMap(0, 256).box == (256,)
    assert Sm90_tensorMap(0, 1, 1, 1, 1, 1).box == (1,) * 5


@pytest.mark.parametrize(
    "given", [(128,), (0, 1, 1, 1, 1, 1, 1), (0, 257), (0, 0), (0, 8, -1), (16, 8), (256, 8)]
)
def test_tensor_maps_that_there_are_not(given: tuple[int, ...]) -> None:
    with pytest.raises(StaticError, match="mem-parameter"):
        Sm90_tensorMap(*given)


def test_a_memory_is_referred_to_by_its_name() -> None:
    for memory in TABLE:
        reference = ref(memory)
        assert (reference.name, reference.sort) == (memory.name, "memory")
        assert str(memory) == memory.name
    assert Ref("x", Sm90_tensorMap).sort is None


def test_examples_stand_for_the_functions() -> None:
    def mine(depth: int) -> Memory:
        return CudaRmem if depth else CudaSmemLinear

    assert examples((CudaRmem, Sm90_SmemSwizzled, mine)) == (CudaRmem, Sm90_SmemSwizzled(128))
    (view,) = examples((Sm90_tensorMap,))
    assert view.window
    assert examples(()) == ()


def test_the_conditions_have_ids_of_their_own() -> None:
    assert all(identifier.startswith("mem-") for identifier in MEMORY_CONSTRAINTS)
    assert len(set(MEMORY_CONSTRAINTS.values())) == len(MEMORY_CONSTRAINTS)
