"""The CUDA of instructions: which there is, how it is written, and what is refused."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soundline.impl.codegen.cuda import memories as memories_in_cuda
from soundline.impl.codegen.cuda.dialects import CUDA
from soundline.impl.codegen.cuda.instructions.table import TEXTS, text_of
from soundline.impl.codegen.cuda.instructions.tma import bytes_of
from soundline.impl.codegen.cuda.instructions.user import CudaInstruction, include_lines
from soundline.impl.codegen.cuda.memories import register_storage, swizzle_of
from soundline.impl.codegen.cuda.operands import CallSite, Place, Value
from soundline.impl.spork import instr, instr_from_text
from soundline.spec.dtypes import DType, bfloat16, bool_, float16, float32, float64, int8, int32, int64, uint8
from soundline.spec.errors import CompileError, UsageError
from soundline.spec.ops.elementwise.conversion import cast
from soundline.spec.ops.elementwise.selection import maximum
from soundline.spec.spork.language.nodes import DTYPES
from soundline.spec.spork.library import copies, sm80, sm90, tma, warps
from soundline.spec.spork.library.fragments import ptx_place
from soundline.spec.spork.library.memories import (
    CudaGmemLinear,
    CudaRmem,
    CudaSmemLinear,
    Memory,
    Sm80_RmemMatrixA,
    Sm80_RmemMatrixB,
    Sm80_RmemMatrixD,
    Sm90_RmemMatrixA,
    Sm90_RmemMatrixD,
    Sm90_SmemSwizzled,
    Sm90_tensorMap,
)
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.library.table import STANDARD
from soundline.spec.spork.library.text import references, text
from soundline.spec.spork.synchronization.timelines import SyncTl
from soundline.spec.spork.threads.units import cuda_thread

from .cuda_sites import place, shape_of, site, sites, sizes_of
from .instruction_runs import execute, numpy_dtype

HEADERS = Path(memories_in_cuda.__file__).parent
ON_DEVICE = [i for i in STANDARD.values() if i.unit is not None]


# Which there is ---------------------------------------------------------------------------------------------------


def test_every_family_of_the_device_has_a_text_and_nothing_else_has() -> None:
    assert {*TEXTS} - {CudaInstruction} == {type(i) for i in ON_DEVICE}
    assert copies.CpuCopy not in TEXTS


@pytest.mark.parametrize("family", sorted({type(i) for i in ON_DEVICE}, key=lambda f: f.__name__))
def test_every_instruction_has_a_text_with_every_memory(family: type[Instruction]) -> None:
    header = (HEADERS / "soundline_device.cuh").read_text() + (HEADERS / "soundline_ptx.cuh").read_text()
    for instruction in (i for i in ON_DEVICE if type(i) is family):
        found = [text_of(s) for s in sites(instruction)]
        assert found
        for lines in found:
            assert all(line.endswith((";", "{", "}")) for line in lines)
            assert "None" not in "".join(lines)
            for name in re.findall(r"soundline::(\w+)", "".join(lines)):
                assert re.search(rf"\b{name}\b", header), name


GOLDEN: dict[str, tuple[str, ...]] = {
    "cuda_copy_f32": (
        "soundline::copy<4>(soundline::window<128>(dst_at, 1), soundline::window<128>(src_at, 1));",
    ),
    "cuda_atomic_add_bf16": ("ptx::red_shared_add_bf16(&(dst_at)->bits, (value_rmem).bits);",),
    "cuda_shfl_up_f32": (
        "dst_rmem = soundline::bit_cast<float>(ptx::shfl_sync_up_b32("
        "soundline::ALL_LANES, soundline::bit_cast<uint32_t>(src_rmem), 3));",
    ),
    "Sm80_mma_bf16": ("ptx::mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32(D_rmem, A_rmem, B_rmem);",),
    "Sm80_mma_load_b_col_f16": ("soundline::mma_load_b(B_rmem, soundline::window<128>(src_at, 1, 64));",),
    "Sm80_ldmatrix_x4_trans_a_f16": (
        "ptx::ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16("
        "A_rmem, soundline::ldmatrix_row_across<4>(soundline::window<128>(src_at, 64, 1)));",
    ),
    "Sm90_multicast_tensor_to_smem_2d_f32": (
        "if (ptx::elect_sync()) ptx::cp_async_bulk_tensor_2d_shared_cluster_global_multicast_cluster("
        "dst_at, &args.src_map, bar, dst_ctas, src_1, src_0);",
    ),
    "Sm90_reduce_tensor_to_gmem_3d_bf16": (
        "ptx::cp_reduce_async_bulk_tensor_3d_global_shared_cta_add(&args.dst_map, dst_2, dst_1, dst_0, src_at);",
    ),
    "Sm90_bulk_copy_to_smem_i32": (
        "if (ptx::elect_sync()) ptx::cp_async_bulk_shared_cluster_global(dst_at, src_at, 64, bar);",
    ),
    "Sm90_zero_scale_d_f32": ("D_accumulates = 0;",),
    "Sm90_mma_async_kn_bf16": (
        "ptx::wgmma_mma_async_sync_aligned_m64k16_f32_bf16_bf16<256, 1>(D_rmem, "
        "soundline::smem_descriptor<128>(A_at, 16, 1024), soundline::smem_descriptor<128>(B_at, 2048, 1024), "
        "D_accumulates);",
        "D_accumulates = 1;",
    ),
    "Sm90_mma_async_ra_tf32": (
        "ptx::wgmma_mma_async_sync_aligned_m64k8_f32_tf32_tf32<256>(D_rmem, A_rmem, "
        "soundline::smem_descriptor<128>(B_at, 16, 1024), D_accumulates);",
        "D_accumulates = 1;",
    ),
    "Sm90_mma_write_d_col_major_f32": (
        "soundline::wgmma_write_d(soundline::window(dst_at, 1, 64), D_rmem, D_accumulates);",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_texts_are_these(name: str) -> None:
    assert GOLDEN[name] in {text_of(s) for s in sites(STANDARD[name])}


def test_a_size_that_is_no_number_is_chosen_at_run_time() -> None:
    instruction = STANDARD["Sm80_cp_async_f32"]
    known = next(sites(instruction))
    unknown = replace(known, sizes={}, texts={"size": "n"})
    assert [line.partition(" sound")[0] for line in text_of(unknown)] == [
        "if (n == 1)",
        "else if (n == 2)",
        "else if (n == 4)",
    ]


def test_known_alignment_leaves_nothing_to_ask() -> None:
    instruction = STANDARD["Sm80_cp_async_bf16"]
    to = place("dst", bfloat16, Sm90_SmemSwizzled(64), (8,), alignment=16)
    from_ = place("src", bfloat16, CudaGmemLinear, (8,), alignment=32)
    direct = "ptx::cp_async_cg_shared_global(soundline::swizzle<64>(dst_at), src_at);"
    assert text_of(site(instruction, {"size": 8}, {"dst": to, "src": from_})) == (direct,)
    asked = site(instruction, {"size": 8}, {"dst": to, "src": replace(from_, alignment=8)})
    assert text_of(asked) == (
        "soundline::cp_async<8>(soundline::window<64, 16>(dst_at, 1), soundline::window<0, 8>(src_at, 1));",
    )


@pytest.mark.parametrize("instruction", [i for i in ON_DEVICE if "tma_to_smem" in str(i.instr_tl)], ids=str)
def test_a_load_counts_the_bytes_that_each_cta_receives(instruction: Instruction) -> None:
    for given in sites(instruction):
        shape = shape_of(instruction, "dst", given.sizes)
        itemsize = instruction.arguments[0].type.dtype.itemsize  # type: ignore[union-attr]
        assert bytes_of(given) == int(np.prod(shape)) * itemsize
    if isinstance(instruction, tma.BulkLoad):
        assert bytes_of(replace(given, sizes={}, texts={"size": "n"})) == f"uint32_t({itemsize} * (n))"


def test_what_counts_no_bytes_has_none() -> None:
    with pytest.raises(CompileError) as caught:
        bytes_of(next(sites(STANDARD["Sm80_mma_tf32"])))
    assert caught.value.rule == "cuda-instruction"


# Registers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory", "dtype", "sizes", "type_", "words"),
    [
        (Sm80_RmemMatrixA, float32, (2, 16, 4), "uint32_t", 2),
        (Sm80_RmemMatrixA, float32, (16, 8), "uint32_t", 4),
        (Sm80_RmemMatrixA, bfloat16, (16, 8), "uint32_t", 2),
        (Sm80_RmemMatrixA, float16, (16, 16), "uint32_t", 4),
        (Sm80_RmemMatrixB, float32, (4, 8), "uint32_t", 1),
        (Sm80_RmemMatrixB, float32, (8, 8), "uint32_t", 2),
        (Sm80_RmemMatrixB, bfloat16, (8, 8), "uint32_t", 1),
        (Sm80_RmemMatrixB, bfloat16, (3, 16, 8), "uint32_t", 2),
        (Sm80_RmemMatrixD, float32, (16, 8), "float", 4),
        (Sm90_RmemMatrixD, float32, (64, 24), "float", 12),
        (Sm90_RmemMatrixA, float32, (64, 8), "uint32_t", 4),
        (Sm90_RmemMatrixA, bfloat16, (64, 16), "uint32_t", 4),
        (CudaRmem, float64, (3, 5), "double", 1),
        (CudaRmem, bfloat16, (), "soundline::bf16", 1),
    ],
)
def test_registers_of_a_memory(
    memory: Memory, dtype: DType, sizes: tuple[int, ...], type_: str, words: int
) -> None:
    assert register_storage(memory, dtype, sizes) == (type_, words, 0 if memory is CudaRmem else 2)


@pytest.mark.parametrize(
    ("memory", "dtype", "sizes"),
    [
        (CudaSmemLinear, float32, (4,)),
        (Sm80_RmemMatrixB, int8, (4, 8)),
        (replace(Sm80_RmemMatrixD, tiles=()), float32, (16, 8)),
        (replace(Sm80_RmemMatrixD, native=None), float32, (16, 8)),
    ],
)
def test_registers_that_cannot_be_declared(memory: Memory, dtype: DType, sizes: tuple[int, ...]) -> None:
    with pytest.raises(CompileError) as caught:
        register_storage(memory, dtype, sizes)
    assert caught.value.rule == "cuda-memory"


# What is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "strides", "memory", "more"),
    [
        ("A", ("32", "2"), Sm90_SmemSwizzled(128), {}),
        ("A", ("16", "1"), Sm90_SmemSwizzled(128), {}),
        ("A", ("2048", "1"), Sm90_SmemSwizzled(128), {}),
        ("A", ("s", "1"), Sm90_SmemSwizzled(128), {}),
        ("B", ("32", "1"), Sm90_SmemSwizzled(128), {"alignment": 8}),
    ],
)
def test_rows_that_no_descriptor_names_are_refused(
    argument: str, strides: tuple[str, ...], memory: Memory, more: dict[str, Any]
) -> None:
    given = next(sites(STANDARD["Sm90_mma_async_tf32"]))
    own = replace(given.places[argument], strides=strides, memory=memory, **more)
    with pytest.raises(CompileError) as caught:
        text_of(replace(given, places={**given.places, argument: own}))
    assert caught.value.rule == "cuda-instruction"


@pytest.mark.parametrize(
    ("strides", "swizzle", "alignment"),
    [
        (("1024", "32", "1"), 128, 0),
        (("1024", "64", "1"), 64, 0),
        (("s", "64", "1"), 128, 0),
        (("1024", "64", "1"), 128, 64),
    ],
)
def test_blocks_that_no_descriptor_names_are_refused(
    strides: tuple[str, ...], swizzle: int, alignment: int
) -> None:
    given = next(sites(STANDARD["Sm90_mma_async_kn_bf16"]))
    own = replace(given.places["B"], strides=strides, memory=Sm90_SmemSwizzled(swizzle), alignment=alignment)
    with pytest.raises(CompileError):
        text_of(replace(given, places={**given.places, "B": own}))
