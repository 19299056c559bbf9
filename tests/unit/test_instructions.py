"""The library of instructions: what each does, by whom and when; and what an instruction is refused for."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from instruction_runs import allowed, execute, numpy_dtype, run, shapes

from soundline.spec.dtypes import bfloat16, float16, float32, int32
from soundline.spec.errors import ProgramError, SoundlineError, SynchronizationError, UsageError
from soundline.spec.spork.language.expressions import Const, Name
from soundline.spec.spork.language.nodes import Position, Ref
from soundline.spec.spork.language.statements import PAR, SEQ, Alloc, Assign, For, If, Pass, Reduce
from soundline.spec.spork.language.types import Argument
from soundline.spec.spork.library import copies, tma
from soundline.spec.spork.library.fragments import ptx_place
from soundline.spec.spork.library.memories import (
    DRAM,
    CudaGmemLinear,
    CudaRmem,
    CudaSmemLinear,
    Memory,
    Sm80_RmemMatrixA,
    Sm80_RmemMatrixD,
    Sm90_RmemMatrixD,
    Sm90_SmemSwizzled,
    Sm90_tensorMap,
    examples,
)
from soundline.spec.spork.library.parts import at, copied, nest, scalar, size, window
from soundline.spec.spork.library.schema import (
    DEFINITION_CONSTRAINTS,
    INSTRUCTION_CONSTRAINTS,
    Instruction,
    Operand,
    check_instruction,
)
from soundline.spec.spork.library.table import CHAPTERS, STANDARD
from soundline.spec.spork.library.text import memory_name
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.timelines import LEGAL_PAIRS, WG_A, WG_D, WG_RAM, InstrTl, UsageTl
from soundline.spec.spork.threads.units import cuda_cluster, cuda_thread, cuda_warp, cuda_warpgroup
from soundline.spec.values.tensor_cores import core_named, multiply_accumulate

ALL = list(STANDARD.values())


def of(family: type[Instruction]) -> list[Any]:
    found = [pytest.param(i, id=i.name) for i in ALL if type(i) is family]
    assert found
    return found


# What each does ---------------------------------------------------------------------------------------------------


def bytes_of(instruction: Instruction) -> int:
    return instruction.arguments[0].type.dtype.itemsize


@pytest.mark.parametrize("instruction", of(copies.CpuCopy))
def test_copies_by_the_cpu(instruction: Instruction) -> None:
    sizes = {"n": 5} if "_1d_" in instruction.name else {"n0": 3, "n1": 4}
    done = run(instruction, **sizes)
    assert np.array_equal(done["dst"], done["src"])
    assert (instruction.unit, instruction.instr_tl) == (None, InstrTl.cpu_in_order)
    to_device = "_htod_" in instruction.name
    there, here = ("dst", "src") if to_device else ("src", "dst")
    assert instruction.operand(there).takes(CudaGmemLinear)
    assert instruction.operand(here).takes(DRAM)
    assert not instruction.operand(here).takes(CudaGmemLinear)


@pytest.mark.parametrize("instruction", [*of(copies.VectorCopy), *of(copies.CpAsync)])
def test_copies_of_four_to_sixteen_bytes(instruction: Instruction) -> None:
    for n in range(40):
        assert allowed(instruction, size=n) is (n * bytes_of(instruction) in (4, 8, 16))
        if allowed(instruction, size=n):
            done = run(instruction, size=n)
            assert np.array_equal(done["dst"], done["src"])
    asynchronous = isinstance(instruction, copies.CpAsync)
    assert instruction.unit == cuda_thread
    assert instruction.instr_tl is (InstrTl.Sm80_cp_async if asynchronous else InstrTl.cuda_in_order)
    for name in ("dst", "src"):
        assert instruction.operand(name).out_of_order is asynchronous
    assert instruction.operand("dst").takes(CudaSmemLinear)
    assert instruction.operand("dst").takes(CudaRmem) is not asynchronous
    assert instruction.operand("src").takes(CudaSmemLinear) is not asynchronous
    assert instruction.operand("src").takes(CudaGmemLinear)


def test_the_copy_of_the_guide_moves_sixteen_bytes() -> None:
    assert [a.name for a in STANDARD["Sm80_cp_async_f32"].arguments] == ["dst", "src", "size"]
    assert allowed(STANDARD["Sm80_cp_async_f32"], size=4)
    assert allowed(STANDARD["Sm80_cp_async_f16"], size=8)
    assert not allowed(STANDARD["Sm80_cp_async_f16"], size=1)


@pytest.mark.parametrize("instruction", of(copies.AtomicAdd))
def test_atomic_addition(instruction: Instruction) -> None:
    done = run(instruction)
    assert done["dst"] == done["dst_before"] + done["value"]
    assert instruction.operand("dst").atomic
    assert not instruction.operand("value").atomic
    assert (instruction.written, instruction.read) == ({"dst"}, {"value"})


KINDS = {"tf32": (float32, (4, 8)), "f16": (float16, (8, 16)), "bf16": (bfloat16, (8, 16))}


@pytest.mark.parametrize("kind", KINDS)
def test_mma_and_its_fragments(kind: str) -> None:
    dtype, depths = KINDS[kind]
    for k in range(40):
        assert allowed(STANDARD[f"Sm80_mma_{kind}"], K=k) is (k in depths)
    for k in depths:
        done = run(STANDARD[f"Sm80_mma_{kind}"], K=k)
        wide = [done[n].astype(np.float64) for n in ("D_before", "A", "B")]
        assert np.array_equal(done["D"], wide[0] + wide[1] @ wide[2])
        assert done["A"].dtype == numpy_dtype(dtype)
        a = run(STANDARD[f"Sm80_mma_load_a_{kind}"], K=k)
        assert np.array_equal(a["A"], a["src"])
        b = run(STANDARD[f"Sm80_mma_load_b_{kind}"], K=k)
        assert np.array_equal(b["B"], b["src"])
        column = run(STANDARD[f"Sm80_mma_load_b_col_{kind}"], K=k)
        assert np.array_equal(column["B"], column["src"].T)
        assert (a["A"].shape, b["B"].shape) == ((16, k), (k, 8))
    assert not run(STANDARD[f"Sm80_mma_zero_d_{kind}"])["D"].any()
    load, store = run(STANDARD[f"Sm80_mma_load_d_{kind}"]), run(STANDARD[f"Sm80_mma_store_d_{kind}"])
    assert np.array_equal(load["D"], load["src"])
    assert np.array_equal(store["dst"], store["D"])
    assert load["D"].shape == (16, 8)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_mma_rounds_as_the_tensor_core_does(kind: str) -> None:
    core = core_named(f"m16n8k16.{kind}.f32")
    assert core is not None
    random = np.random.default_rng(5)
    dtype = numpy_dtype(core.input)
    a, b = random.normal(size=(16, 16)).astype(dtype), random.normal(size=(16, 8)).astype(dtype)
    d = random.normal(size=(16, 8)).astype(np.float32)
    expected = multiply_accumulate(core, *(x.astype(np.float64).tolist() for x in (a, b, d)))
    execute(STANDARD[f"Sm80_mma_{kind}"].body, {"D": d, "A": a, "B": b, "K": 16})
    assert d.tolist() == expected


# From the name of an ldmatrix: for each 8x8 matrix, the registers of the fragment that a thread gets of it, and where
# in the fragment the matrix begins.
FRAGMENTS = {
    "x2_a": ("A", 8, [(0, 0, 0), (2, 8, 0)]),
    "x4_a": ("A", 16, [(0, 0, 0), (2, 8, 0), (4, 0, 8), (6, 8, 8)]),
    "x1_b": ("B", 8, [(0, 0, 0)]),
    "x2_b": ("B", 16, [(0, 0, 0), (2, 8, 0)]),
}


@pytest.mark.parametrize("suffix", ["f16", "bf16"])
@pytest.mark.parametrize("shape", FRAGMENTS)
@pytest.mark.parametrize("turned", [False, True])
def test_ldmatrix_gives_a_thread_its_registers(shape: str, turned: bool, suffix: str) -> None:
    """ldmatrix gives thread t elements 2(t % 4) and 2(t % 4) + 1 of row t // 4 of each matrix, or of its transpose."""
    letter, k, matrices = FRAGMENTS[shape]
    count, operand = shape.split("_")
    instruction = STANDARD[f"Sm80_ldmatrix_{count}_{'trans_' if turned else ''}{operand}_{suffix}"]
    assert f".{count}{'.trans' if turned else ''}." in instruction.ptx
    done = run(instruction)
    fragment, memory = done[letter], done["src"]
    # Without transposition the rows in memory are rows of A, and columns of B.
    plain = memory.T if (letter == "B") is not turned else memory
    assert np.array_equal(fragment, plain)
    for register, row, column in matrices:
        for thread in range(32):
            for e in (0, 1):
                i, j = ptx_place((16, 8, k, 16), letter, thread, register + e)
                low, pair = thread // 4, 2 * (thread % 4) + e
                inside = (low, pair) if letter == "A" else (pair, low)
                assert (i, j) == (row + inside[0], column + inside[1])
    assert len(matrices) == int(count[1])


@pytest.mark.parametrize("suffix", ["f16", "bf16"])
def test_ldmatrix_of_two_right_operands(suffix: str) -> None:
    plain = run(STANDARD[f"Sm80_ldmatrix_x4_trans_b_{suffix}"])
    turned = run(STANDARD[f"Sm80_ldmatrix_x4_b_{suffix}"])
    for p in (0, 1):
        assert np.array_equal(plain["B"][p], plain["src"][:, 8 * p : 8 * p + 8])
        assert np.array_equal(turned["B"][p], turned["src"].T[:, 8 * p : 8 * p + 8])


SHUFFLES: dict[str, tuple[str, list[int], list[int], Callable[[int, int], int]]] = {
    "broadcast": ("source", [0, 1, 17, 31], [-1, 32], lambda lane, s: s),
    "xor": ("mask", [1, 2, 4, 8, 16], [0, 3, 32], lambda lane, m: lane ^ m),
    "down": ("delta", [0, 1, 5, 31], [-1, 32], lambda lane, d: lane + d if lane + d < 32 else lane),
    "up": ("delta", [0, 1, 5, 31], [-1, 32], lambda lane, d: lane - d if lane >= d else lane),
}


@pytest.mark.parametrize("dtype", ["f32", "i32", "u32"])
@pytest.mark.parametrize("mode", SHUFFLES)
def test_shuffles(mode: str, dtype: str) -> None:
    argument, right, wrong, source = SHUFFLES[mode]
    instruction = STANDARD[f"cuda_shfl_{mode}_{dtype}"]
    for given in right:
        done = run(instruction, seed=given, **{argument: given})
        assert done["dst"].tolist() == [done["src"][source(lane, given)] for lane in range(32)]
    assert not any(allowed(instruction, **{argument: given}) for given in wrong)
    for name in ("dst", "src"):
        assert instruction.operand(name).unit == cuda_warp
        assert CudaRmem.native == cuda_thread


@pytest.mark.parametrize("dtype", ["f32", "i32", "u32"])
def test_reductions_of_a_warp(dtype: str) -> None:
    done = run(STANDARD[f"cuda_warp_sum_{dtype}"])
    assert (done["dst"] == done["src"].sum()).all()
    done = run(STANDARD[f"cuda_warp_max_{dtype}"])
    assert (done["dst"] == done["src"].max()).all()


def test_a_warp_adds_in_the_order_of_its_shuffles() -> None:
    scale = np.float32(7) ** np.arange(32, dtype=np.float32)
    src = np.random.default_rng(3).normal(size=32).astype(np.float32) * scale
    dst = np.zeros(32, np.float32)
    execute(STANDARD["cuda_warp_sum_f32"].body, {"dst": dst, "src": src})
    lanes = src
    for mask in (16, 8, 4, 2, 1):
        lanes = lanes + lanes[np.arange(32) ^ mask]
    assert dst.tolist() == lanes.tolist()
    in_order = np.float32(0)
    for x in src:
        in_order = in_order + x
    assert dst[0] != in_order


TENSORS = (
    tma.TensorLoad,
    tma.TensorMulticast,
    tma.TensorStore,
    tma.TensorReduce,
)


@pytest.mark.parametrize("instruction", [p for family in TENSORS for p in of(family)])
def test_boxes_of_tma(instruction: Instruction) -> None:
    rank = int(instruction.name.split("_")[-2][0])
    piece = 16 // bytes_of(instruction)
    sizes = {f"n{d}": 2 + d % 2 for d in range(rank - 1)} | {f"n{rank - 1}": piece}
    ctas = {"ctas": 3} if isinstance(instruction, tma.TensorMulticast) else {}
    done = run(instruction, **ctas, **sizes)
    assert done["src"].shape == tuple(sizes.values())
    if isinstance(instruction, tma.TensorReduce):
        assert np.array_equal(done["dst"], done["dst_before"] + done["src"])
    else:
        assert np.array_equal(done["dst"], np.broadcast_to(done["src"], done["dst"].shape))
    assert done["dst"].shape == (*ctas.values(), *sizes.values())
    last = f"n{rank - 1}"
    for wrong in (
        {last: piece + 1},
        {"n0": 0},
        {"n0": 256 + piece},
        *([{"ctas": 17}, {"ctas": 0}] if ctas else []),
    ):
        assert not allowed(instruction, **{**ctas, **sizes, **wrong})
    assert allowed(instruction, **{**ctas, **sizes, "n0": 256})
    assert all(allowed(instruction, **{**sizes, "ctas": n}) for n in ((1, 16) if ctas else ()))


@pytest.mark.parametrize("instruction", [p for family in TENSORS for p in of(family)])
def test_who_executes_tma(instruction: Instruction) -> None:
    load = isinstance(instruction, tma.TensorLoad | tma.TensorMulticast)
    assert instruction.unit == (cuda_warp if load else cuda_thread)
    assert instruction.trailing is (BarrierType.CudaMbarrier if load else None)
    assert instruction.trailing_required is load
    assert instruction.instr_tl is (InstrTl.tma_to_smem_async if load else InstrTl.tma_to_gmem_async)
    view, shared = ("src", "dst") if load else ("dst", "src")
    assert all(instruction.operand(n).out_of_order for n in ("dst", "src"))
    assert instruction.operand(view).takes(Sm90_tensorMap(32, 8, 8))
    assert not instruction.operand(view).takes(CudaGmemLinear)
    assert instruction.operand(shared).takes(CudaSmemLinear)
    assert instruction.operand(shared).takes(Sm90_SmemSwizzled(32))
    multicast = isinstance(instruction, tma.TensorMulticast)
    assert instruction.operand("dst").unit == (cuda_cluster if multicast else None)
    reduces = isinstance(instruction, tma.TensorReduce)
    assert instruction.operand("dst").atomic is reduces


def test_box_and_swizzle_agree_with_the_tensor_map() -> None:
    load = STANDARD["Sm90_copy_tensor_to_smem_2d_f32"]
    multicast = STANDARD["Sm90_multicast_tensor_to_smem_2d_f32"]
    store = STANDARD["Sm90_copy_tensor_to_gmem_2d_f32"]
    view, smem, sizes = Sm90_tensorMap(128, 64, 32), Sm90_SmemSwizzled(128), {"n0": 64, "n1": 32}
    assert load.disagreement({"dst": smem, "src": view}, sizes) is None
    assert store.disagreement({"dst": view, "src": smem}, sizes) is None
    assert multicast.disagreement({"dst": smem, "src": view}, {"ctas": 2, **sizes}) is None
    linear = Sm90_tensorMap(0, 64, 32)
    assert load.disagreement({"dst": CudaSmemLinear, "src": linear}, sizes) is None
    for memories in (
        {"dst": CudaSmemLinear, "src": view},
        {"dst": Sm90_SmemSwizzled(64), "src": view},
        {"dst": smem, "src": linear},
    ):
        assert load.disagreement(memories, sizes)
    for wrong in ({"n0": 32, "n1": 32}, {"n0": 32, "n1": 64}):
        assert load.disagreement({"dst": smem, "src": view}, wrong)
    assert load.disagreement({"dst": smem}, sizes) is None
    assert STANDARD["Sm80_mma_tf32"].disagreement({"dst": smem, "src": view}, {"n0": 1}) is None


@pytest.mark.parametrize("instruction", [*of(tma.BulkLoad), *of(tma.BulkStore)])
def test_bulk_copies(instruction: Instruction) -> None:
    piece = 16 // bytes_of(instruction)
    done = run(instruction, size=3 * piece)
    assert np.array_equal(done["dst"], done["src"])
    assert not allowed(instruction, size=3 * piece + 1)
    load = isinstance(instruction, tma.BulkLoad)
    assert instruction.trailing_required is load
    assert instruction.unit == (cuda_warp if load else cuda_thread)
    smem = "dst" if load else "src"
    assert not instruction.operand(smem).takes(Sm90_SmemSwizzled(128))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [8, 16])
def test_wgmma(kind: str, n: int) -> None:
    k = 8 if kind == "tf32" else 16
    for name in (f"Sm90_mma_async_{kind}", f"Sm90_mma_async_ra_{kind}"):
        done = run(STANDARD[name], N=n)
        assert (done["A"].shape, done["B"].shape, done["D"].shape) == ((64, k), (n, k), (64, n))
        wide = [done[x].astype(np.float64) for x in ("D_before", "A", "B")]
        assert np.array_equal(done["D"], wide[0] + wide[1] @ wide[2].T)
        assert f"k{k}." in STANDARD[name].ptx
    load = run(STANDARD[f"Sm90_mma_load_a_{kind}"])
    assert np.array_equal(load["A"], load["src"])
    assert load["A"].shape == (64, k)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_wgmma_with_b_as_it_is(kind: str) -> None:
    instruction = STANDARD[f"Sm90_mma_async_kn_{kind}"]
    done = run(instruction, N=128)
    assert done["B"].shape == (2, 16, 64)
    wide = [done[x].astype(np.float64) for x in ("D_before", "A", "B")]
    assert np.array_equal(done["D"], wide[0] + wide[1] @ np.concatenate(wide[2], axis=1))
    assert {n for n in range(300) if allowed(instruction, N=n)} == {64, 128, 192, 256}
    assert [instruction.operand(x).out_of_order for x in "DAB"] == [False, True, True]
    assert instruction.pair("D", Sm90_RmemMatrixD) == WG_D
    assert instruction.pair("B", Sm90_SmemSwizzled(128)) == WG_RAM


def test_the_accumulator_of_wgmma() -> None:
    assert not run(STANDARD["Sm90_zero_scale_d_f32"], N=24)["D"].any()
    row, column = (STANDARD[f"Sm90_mma_write_d_{x}_major_f32"] for x in ("row", "col"))
    done = run(row, N=16)
    assert np.array_equal(done["dst"], done["D"])
    done = run(column, N=16)
    assert np.array_equal(done["dst"], done["D"].T)
    for instruction in (i for i in ALL if any(a.name == "N" for a in i.arguments) and "_kn_" not in i.name):
        part = {"first": 0, "columns": 8} if "_columns_" in instruction.name else {}
        right = {n for n in range(300) if allowed(instruction, N=n, **part)}
        step = 16 if "_a_from_d_" in instruction.name else 8
        assert right == set(range(step, 257, step))


def test_columns_of_the_accumulator_of_wgmma() -> None:
    for kind in ("f32", "f16", "bf16"):
        instruction = STANDARD[f"Sm90_mma_write_d_columns_{kind}"]
        done = run(instruction, N=32, first=8, columns=16)
        assert np.array_equal(done["dst"], done["D"][:, 8:24].astype(done["dst"].dtype))
        given = [(first, columns) for first in range(-8, 33, 4) for columns in range(4, 41, 4)]
        right = {(f, c) for f, c in given if allowed(instruction, N=32, first=f, columns=c)}
        assert right == {(f, c) for f, c in given if f >= 0 and f + c <= 32 and f % 8 == c % 8 == 0}


def test_rows_of_the_accumulator_of_wgmma() -> None:
    """Each of the four lanes of a row has two of every eight columns."""
    done = run(STANDARD["Sm90_rows_max_d_f32"], N=32)
    columns = done["D"].reshape(64, 4, 4, 2)
    assert (done["dst"] >= columns.max(axis=(1, 3))).all()
    for name, whole in (("max", np.max), ("sum", np.sum)):
        done = run(STANDARD[f"Sm90_rows_quad_{name}_f32"])
        assert np.allclose(done["dst"], whole(done["src"], axis=1, keepdims=True), rtol=1e-6)
    done = run(STANDARD["Sm90_mma_a_from_d_bf16"], N=32)
    assert np.array_equal(done["A"], done["D"].reshape(64, 2, 16).swapaxes(0, 1).astype(done["A"].dtype))


def test_the_timelines_of_wgmma() -> None:
    """What is read completes out of order; the accumulator does not, and zeroing it is on its timeline (S-11)."""
    swizzled = Sm90_SmemSwizzled(128)
    for kind in KINDS:
        both, registers = STANDARD[f"Sm90_mma_async_{kind}"], STANDARD[f"Sm90_mma_async_ra_{kind}"]
        for mma in (both, registers):
            assert mma.unit == cuda_warpgroup
            assert mma.pair("D", Sm90_RmemMatrixD) == WG_D
            assert mma.pair("B", swizzled) == WG_RAM
            assert [mma.operand(x).out_of_order for x in "DAB"] == [False, True, True]
            assert not mma.operand("B").takes(CudaSmemLinear)
        assert both.pair("A", swizzled) == WG_RAM
        (a,) = examples(registers.operand("A").memories)
        assert registers.pair("A", a) == WG_A
    zero = STANDARD["Sm90_zero_scale_d_f32"]
    assert zero.pair("D", Sm90_RmemMatrixD) == WG_D
    assert not zero.operand("D").out_of_order
    write = STANDARD["Sm90_mma_write_d_row_major_f32"]
    assert write.pair("D", Sm90_RmemMatrixD).usage is UsageTl.cuda_sync_rmem


# The library as a whole -------------------------------------------------------------------------------------------


SMEM = "CudaSmemLinear Sm90_SmemSwizzled"
RAM = f"CudaGmemLinear {SMEM}"

# family: what it writes, what else it is given, and the memories that these may lie in
TAKEN = {
    "VectorCopy": {"dst": f"{RAM} CudaRmem", "src": f"{RAM} CudaRmem"},
    "CpAsync": {"dst": SMEM, "src": "CudaGmemLinear"},
    "AtomicAdd": {"dst": "CudaGmemLinear CudaSmemLinear", "value": ""},
    "Shuffle": {"dst": "CudaRmem", "src": "CudaRmem"},
    "WarpReduction": {"dst": "CudaRmem", "src": "CudaRmem"},
    "MmaZeroD": {"D": "Sm80_RmemMatrixD"},
    "MmaStoreD": {"dst": RAM, "D": "Sm80_RmemMatrixD"},
    "Mma": {"D": "Sm80_RmemMatrixD", "A": "Sm80_RmemMatrixA", "B": "Sm80_RmemMatrixB"},
    "TensorLoad": {"dst": SMEM, "src": "Sm90_tensorMap"},
    "TensorMulticast": {"dst": SMEM, "src": "Sm90_tensorMap"},
    "TensorStore": {"dst": "Sm90_tensorMap", "src": SMEM},
    "TensorReduce": {"dst": "Sm90_tensorMap", "src": SMEM},
    "BulkLoad": {"dst": "CudaSmemLinear", "src": "CudaGmemLinear"},
    "BulkStore": {"dst": "CudaGmemLinear", "src": "CudaSmemLinear"},
    "WgmmaZeroD": {"D": "Sm90_RmemMatrixD"},
    "Wgmma": {"D": "Sm90_RmemMatrixD", "A": "Sm90_SmemSwizzled", "B": "Sm90_SmemSwizzled"},
    "WgmmaFromRegisters": {"D": "Sm90_RmemMatrixD", "A": "Sm90_RmemMatrixA", "B": "Sm90_SmemSwizzled"},
    "WgmmaLoadA": {"A": "Sm90_RmemMatrixA", "src": RAM},
    "WgmmaWriteD": {"dst": RAM, "D": "Sm90_RmemMatrixD"},
    "WgmmaWriteColumns": {"dst": RAM, "D": "Sm90_RmemMatrixD"},
    "RowsReduction": {"dst": "Sm90_RmemRows", "D": "Sm90_RmemMatrixD"},
    "RowsQuad": {"dst": "Sm90_RmemRows", "src": "Sm90_RmemRows"},
    "AccumulatorToA": {"A": "Sm90_RmemMatrixA", "D": "Sm90_RmemMatrixD"},
    "ApproximateExp2": {"dst": "CudaRmem", "value": ""},
}


@pytest.mark.parametrize("instruction", ALL, ids=str)
def test_where_operands_lie(instruction: Instruction) -> None:
    family = type(instruction).__name__
    if family in ("MmaLoad", "LdMatrix"):
        fragment = next(n for n in instruction.data if n != "src")
        wanted = {fragment: f"Sm80_RmemMatrix{fragment}", "src": RAM if family == "MmaLoad" else SMEM}
    elif family == "CpuCopy":
        places = ("CudaGmemLinear", "DRAM")
        wanted = dict(
            zip(("dst", "src"), places if "_htod_" in instruction.name else places[::-1], strict=True)
        )
    elif family in ("RowsElementwise", "AccumulatorByRows"):
        given = {"D": "Sm90_RmemMatrixD", "value": "", "scale": ""}
        wanted = {name: given.get(name, "Sm90_RmemRows") for name in instruction.data}
    else:
        wanted = TAKEN[family]
    found = {n: {memory_name(m) for m in instruction.operand(n).memories} for n in instruction.data}
    assert found == {name: set(memories.split()) for name, memories in wanted.items()}


def test_the_library_is_the_sum_of_its_chapters() -> None:
    assert sum(len(chapter) for chapter in CHAPTERS.values()) == len(STANDARD)
    assert all(name == i.name == str(i) for name, i in STANDARD.items())
    families = {type(i) for i in ALL}
    assert Instruction not in families
    assert all(inspect.getdoc(f) != inspect.getdoc(Instruction) for f in families)


@pytest.mark.parametrize("instruction", ALL, ids=str)
def test_every_instruction_is_told_and_has_legal_pairs(instruction: Instruction) -> None:
    check_instruction(instruction)
    assert instruction.doc.endswith(".")
    assert instruction.ptx
    assert instruction.spork_sort == "instruction"
    used = instruction.written | instruction.read
    assert used == set(instruction.data)
    for name in instruction.data:
        operand = instruction.operand(name)
        for memory in examples(operand.memories):
            assert instruction.pair(name, memory) in LEGAL_PAIRS
            assert operand.takes(memory)
        if instruction.instr_tl in (InstrTl.cpu_in_order, InstrTl.cuda_in_order):
            assert not operand.out_of_order


@pytest.mark.parametrize("name", ["Sm80_mma_tf32", "Sm80_mma_zero_d_tf32", "Sm80_mma_load_a_tf32"])
def test_a_fragment_is_a_tile_of_its_memory(name: str) -> None:
    instruction = STANDARD[name]
    given = {"K": 8} if any(a.name == "K" for a in instruction.arguments) else {}
    for operand, shape in shapes(instruction, **given).items():
        for memory in instruction.operand(operand).memories:
            assert not getattr(memory, "tiles", ()) or shape in memory.tiles


# What an instruction is refused for -------------------------------------------------------------------------------


def made(**changes: Any) -> Instruction:
    """A copy by a thread, with changes."""
    whole = {
        "name": "mine",
        "arguments": (window("dst", float32, "size"), window("src", float32, "size"), size("size")),
        "body": copied("dst", "src", ["size"]),
        "unit": cuda_thread,
        "instr_tl": InstrTl.cuda_in_order,
    }
    return Instruction(**{**whole, **changes})


ELEMENT = Assign(at("dst", 0), at("src", 0))
ADDED = nest({"i": "size"}, Reduce(at("dst", "i"), at("src", "i")))

# rule, changes that are accepted, changes that are refused
TWINS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("instr-body", {"body": (ELEMENT,)}, {"body": (Pass(),)}),
    ("instr-body", {"body": ADDED}, {"body": (Alloc("x", float32), ELEMENT)}),
    (
        "instr-body",
        {"body": (For("i", SEQ, Const(0), Name("size"), (ELEMENT,)),)},
        {"body": (For("i", PAR, Const(0), Name("size"), (ELEMENT,)),)},
    ),
    (
        "instr-body",
        {"body": (If(Const(True), (ELEMENT,), (ELEMENT,)),)},
        {"body": (If(Const(True), (ELEMENT,), (Pass(),)),)},
    ),
    ("instr-operand", {"operands": {"dst": Operand()}}, {"operands": {"dest": Operand()}}),
    ("instr-operand", {"operands": {"src": Operand()}}, {"operands": {"size": Operand()}}),
    (
        "instr-atomic",
        {"body": ADDED, "operands": {"dst": Operand(atomic=True)}},
        {"operands": {"dst": Operand(atomic=True)}},
    ),
    (
        "instr-atomic",
        {"body": ADDED, "operands": {"dst": Operand(atomic=True)}},
        {"body": ADDED, "operands": {"src": Operand(atomic=True)}},
    ),
    ("instr-executor", {}, {"unit": None}),
    (
        "instr-executor",
        {"unit": None, "instr_tl": InstrTl.cpu_in_order},
        {"instr_tl": InstrTl.cpu_in_order},
    ),
    (
        "instr-completion",
        {"instr_tl": InstrTl.tma_to_smem_async, "trailing": BarrierType.CudaMbarrier},
        {"trailing": BarrierType.CudaMbarrier},
    ),
    (
        "instr-completion",
        {"instr_tl": InstrTl.cpu_in_order, "unit": None},
        {"instr_tl": InstrTl.cpu_in_order, "unit": None, "trailing": BarrierType.CudaMbarrier},
    ),
    (
        "instr-completion",
        {
            "instr_tl": InstrTl.tma_to_smem_async,
            "trailing": BarrierType.CudaMbarrier,
            "trailing_required": True,
        },
        {"instr_tl": InstrTl.tma_to_smem_async, "trailing_required": True},
    ),
    (
        "instr-convergent",
        {"operands": {"dst": Operand(convergent=True)}},
        {"operands": {"dst": Operand(convergent=True)}, "instr_tl": InstrTl.Sm80_cp_async},
    ),
    (
        "instr-touch",
        {"operands": {"dst": Operand(memories=(CudaRmem,))}},
        {"operands": {"dst": Operand(memories=(CudaSmemLinear, DRAM))}},
    ),
    (
        "instr-touch",
        {"operands": {"dst": Operand(memories=(Sm90_SmemSwizzled,))}},
        {"operands": {"dst": Operand(memories=(Sm90_tensorMap,))}},
    ),
    (
        "tl-pair",
        {"operands": {"dst": Operand(usage=UsageTl.cuda_ram)}},
        {"operands": {"dst": Operand(usage=UsageTl.cuda_async_d_rmem)}},
    ),
    (
        "tl-pair",
        {
            "instr_tl": InstrTl.wgmma_async,
            "operands": {"dst": Operand(memories=(Sm90_RmemMatrixD,), usage=UsageTl.cuda_async_d_rmem)},
        },
        {"instr_tl": InstrTl.wgmma_async, "operands": {"dst": Operand(memories=(Sm90_RmemMatrixD,))}},
    ),
    ("prog-rank", {"body": (ELEMENT,)}, {"body": (Assign(at("dst", 0, 0), at("src", 0)),)}),
    ("prog-kind", {"body": (ELEMENT,)}, {"body": (Assign(Name("size"), Const(1)),)}),
    ("prog-bound", {"body": (ELEMENT,)}, {"body": (Assign(at("elsewhere", 0), at("src", 0)),)}),
    ("prog-body", {"body": (ELEMENT,)}, {"body": ()}),
    ("prog-identifier", {"name": "yours"}, {"name": "seq"}),
]


@pytest.mark.parametrize(("rule", "kept", "broken"), TWINS, ids=[f"{n}-{t[0]}" for n, t in enumerate(TWINS)])
def test_twins(rule: str, kept: dict[str, Any], broken: dict[str, Any]) -> None:
    accepted = made(**kept)
    check_instruction(accepted)
    with pytest.raises(SoundlineError) as caught:
        made(**broken)
    assert caught.value.rule == rule
    tables = {**DEFINITION_CONSTRAINTS, **INSTRUCTION_CONSTRAINTS}
    if rule in tables:
        assert isinstance(caught.value, ProgramError)
        assert tables[rule] in str(caught.value)
    with pytest.raises(SoundlineError):
        replace(made(), **broken)


def test_every_law_of_a_definition_has_twins() -> None:
    asked = {rule for rule, _, _ in TWINS}
    assert {"instr-body", *DEFINITION_CONSTRAINTS} <= asked
    assert not set(DEFINITION_CONSTRAINTS) & set(INSTRUCTION_CONSTRAINTS)


def test_a_broken_body_is_shown_where_it_stands() -> None:
    here = Position("mine.py", 3, 5, "    pass")
    with pytest.raises(ProgramError) as caught:
        made(body=(Pass(position=here),))
    error = caught.value
    assert (error.file, error.line, error.column) == ("mine.py", 3, 5)
    assert str(error).endswith("\n      pass\n      ^")


def test_timelines_may_be_given_by_name() -> None:
    operand = Operand(memories=[CudaRmem], usage="cuda_ram", extended=[("cuda_in_order", "cuda_ram")])
    assert operand == Operand(
        memories=(CudaRmem,), usage=UsageTl.cuda_ram, extended=frozenset({LEGAL_PAIRS[2]})
    )
    assert hash(operand)
    with pytest.raises(SynchronizationError) as caught:
        Operand(extended=[("cuda_in_order", "cuda_async_a_rmem")])
    assert caught.value.rule == "tl-pair"
    for wrong in ({"usage": "ram"}, {"extended": [("cuda", "cuda_ram")]}):
        with pytest.raises(UsageError):
            Operand(**wrong)


def test_which_memories_an_operand_takes() -> None:
    assert Operand().takes(CudaRmem)
    one = Operand(memories=(Sm90_SmemSwizzled(64),))
    assert one.takes(Sm90_SmemSwizzled(64))
    assert not one.takes(Sm90_SmemSwizzled(128))
    assert not one.takes(CudaSmemLinear)
    several = Operand(memories=(Sm90_SmemSwizzled, CudaRmem))
    assert several.takes(Sm90_SmemSwizzled(128))
    assert several.takes(CudaRmem)
    assert not several.takes(Sm90_tensorMap(0, 8))
    assert not several.takes(replace(CudaRmem, scalars=False))


def test_an_argument_says_its_memory() -> None:
    arguments = (
        Argument("dst", window("dst", float32, 4).type, Ref("CudaSmemLinear", CudaSmemLinear)),
        window("src", float32, 4),
    )
    mine = made(
        arguments=arguments, body=copied("dst", "src", [4]), operands={"dst": Operand(out_of_order=True)}
    )
    assert mine.operand("dst") == Operand(memories=(CudaSmemLinear,), out_of_order=True)
    assert mine.operand("src") == Operand()
    other = Operand(memories=(CudaRmem,))
    assert (
        made(arguments=arguments, body=copied("dst", "src", [4]), operands={"dst": other}).operand("dst")
        == other
    )


def test_what_is_read_and_written() -> None:
    mma = STANDARD["Sm80_mma_tf32"]
    assert (mma.written, mma.read) == ({"D"}, {"A", "B"})
    assert mma.data == ("D", "A", "B")
    swap = made(
        arguments=(scalar("a", int32), scalar("b", int32)),
        body=(Assign(Name("a"), Name("b")), Assign(Name("b"), Name("a"))),
    )
    assert (swap.written, swap.read) == ({"a", "b"}, {"a", "b"})


def test_the_cpu_uses_all_memory_in_one_way() -> None:
    copy = STANDARD["cudaMemcpyAsync_htod_1d_f32"]
    assert copy.pair("dst", CudaGmemLinear) == copy.pair("src", DRAM)
    assert copy.pair("dst", CudaGmemLinear).usage is UsageTl.cpu


def test_instructions_are_compared_by_what_they_are() -> None:
    assert made() == made(doc="another text")
    assert made() != made(ptx="another")
    assert made() != made(unit=cuda_warp)
    assert made() != copies.VectorCopy(
        **{f: getattr(made(), f) for f in ("name", "arguments", "body", "unit", "instr_tl")}
    )
    assert hash(made()) == hash(made(operands={"dst": Operand(out_of_order=False)}))


def test_a_readers_own_memory_and_family() -> None:
    mine = Memory(
        name="MyFragments",
        space="registers",
        native=cuda_warp,
        usage=UsageTl.cuda_sync_rmem,
        allocated=InstrTl.cuda_in_order,
        instructions=frozenset({InstrTl.cuda_in_order}),
        tiles=((8, 4),),
    )

    class MyLoad(Instruction):
        """Loads what a warp has."""

    load = MyLoad(
        name="my_load",
        arguments=(window("dst", float32, 8, 4), window("src", float32, 8, 4)),
        body=copied("dst", "src", (8, 4)),
        unit=cuda_warp,
        instr_tl=InstrTl.cuda_in_order,
        operands={"dst": Operand(memories=(mine,)), "src": Operand(memories=(CudaSmemLinear,))},
    )
    assert load.operand("dst").takes(mine)
    assert not load.operand("dst").takes(Sm80_RmemMatrixA)
    assert load.pair("dst", mine).usage is UsageTl.cuda_sync_rmem
    with pytest.raises(ProgramError) as caught:
        replace(load, instr_tl=InstrTl.wgmma_async)
    assert caught.value.rule == "instr-touch"
    assert Sm80_RmemMatrixD.native == mine.native
