"""The CUDA of instructions: which there is, what it does in each lane, and what is refused.

What a text does is seen by running it: it is compiled for the CPU with the header that the generated code includes,
where a warpgroup is a loop (``cuda_warps.h``). What it should do is the body of the instruction in the law, on matrices
that lie in fragments as `spec.spork.library.fragments` says.
"""

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

HERE = Path(__file__).parent
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
    "cuda_copy_f32": ("soundline::copy<4>(soundline::window<128>(dst_at, 1), soundline::window<128>(src_at, 1));",),
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


# Running texts ----------------------------------------------------------------------------------------------------

BUFFER = 1 << 16


def physical(swizzle: int, offset: int) -> int:
    """Where a byte of a swizzled array lies: the piece of 16 bytes is permuted by the number of the line of 128."""
    line, within = divmod(offset, 128)
    piece, byte = divmod(within, 16)
    return 128 * line + 16 * (piece ^ line % max(swizzle // 16, 1)) + byte


@dataclass(frozen=True)
class Case:
    """Statements that some threads run, with bytes of memory before, and variables whose bytes are asked for."""

    lines: tuple[str, ...]
    memory: bytes = b""
    variables: str = ""
    outputs: tuple[str, ...] = ()
    threads: int = 32


Result = tuple[bytes, list[bytes]]
"""Memory after, and the bytes of the outputs."""


def ran(cases: list[Case], directory: Path, *, header: Callable[[str], str] = lambda s: s) -> list[Result]:
    """What cases leave; one program for all of them. `header` may change the header that they include."""
    (directory / "soundline_device.cuh").write_text(header((HEADERS / "soundline_device.cuh").read_text()))
    (directory / "soundline_ptx.cuh").write_text('#include "cuda_warps.h"\n')
    (directory / "cuda_runtime.h").write_text('#include "cuda_warps.h"\n')
    shutil.copy(HERE / "cuda_warps.h", directory)
    functions = "\n".join(
        f"static void case_{k}() {{\n{c.variables}\nwarps::run({c.threads}, [&] {{\n"
        + "\n".join(c.lines)
        + "\n});\n"
        + "".join(f"told({o}, sizeof({o}));\n" for o in c.outputs)
        + "told(memory, sizeof(memory));\n}"
        for k, c in enumerate(cases)
    )
    (directory / "cases.cpp").write_text(
        '#include "soundline_device.cuh"\n'
        f"alignas(1024) static unsigned char memory[{BUFFER}];\n"
        "template <typename T> static void told(T const &x, size_t n) {"
        " uint64_t size = n; fwrite(&size, 8, 1, stdout); fwrite(&x, 1, n, stdout); }\n"
        f"{functions}\nint main() {{\n"
        + "".join(f"fread(memory, 1, {BUFFER}, stdin) == {BUFFER} ? case_{k}() : void();\n" for k in range(len(cases)))
        + "}\n"
    )
    command = ["g++", "-I.", "-std=c++17", "-O1", "-w", "-fsanitize=alignment,signed-integer-overflow,float-cast-overflow"]
    command += ["-fno-sanitize-recover=all", "-ffp-contract=off", "cases.cpp", "-o", "cases"]
    compiled = subprocess.run(command, cwd=directory, check=False, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr[:3000]
    images = b"".join(c.memory.ljust(BUFFER, b"\0") for c in cases)
    out = subprocess.run([directory / "cases"], input=images, check=True, capture_output=True).stdout
    return list(_parsed(out, cases))


def _parsed(out: bytes, cases: list[Case]) -> Iterator[Result]:
    at = 0
    for case in cases:
        found = []
        for _ in (*case.outputs, "memory"):
            size = int.from_bytes(out[at : at + 8], "little")
            found.append(out[at + 8 : at + 8 + size])
            at += 8 + size
        yield found[-1], found[:-1]


# Fragments --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """A window of an array in memory."""

    memory: Memory
    shape: tuple[int, ...]
    """Of the array."""
    start: tuple[int, ...]
    alignment: int = 0
    turned: bool = False
    """Whether the window is the transpose of one of the array."""

    def image(self, array: np.ndarray) -> bytes:
        """The bytes of the array where they lie."""
        found = bytearray(BUFFER)
        for k, byte in enumerate(array.tobytes()):
            found[physical(swizzle_of(self.memory), k)] = byte
        return bytes(found)

    def array(self, image: bytes, dtype: DType) -> np.ndarray:
        """The array that lies in bytes."""
        size = int(np.prod(self.shape)) * dtype.itemsize
        found = bytes(image[physical(swizzle_of(self.memory), k)] for k in range(size))
        return np.frombuffer(found, numpy_dtype(dtype)).reshape(self.shape).copy()

    def window(self, array: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
        given = sizes[::-1] if self.turned else sizes
        found = array[tuple(slice(s, s + n) for s, n in zip(self.start, given, strict=True))]
        return found.T if self.turned else found

    def place(self, argument: str, dtype: DType, sizes: tuple[int, ...]) -> Place:
        strides = tuple(int(np.prod(self.shape[d + 1 :])) for d in range(len(self.shape)))
        first = sum(s * t for s, t in zip(self.start, strides, strict=True))
        address = f"(({CUDA.type_of(dtype)} *)memory + {first})"
        given = strides[::-1] if self.turned else strides
        more = {"address": address, "alignment": self.alignment}
        return place(argument, dtype, self.memory, sizes, given, **more)


def layouts(dtype: DType, sizes: tuple[int, ...], *, loads_rows: bool) -> Iterator[Layout]:
    """Windows in every memory: aligned and known to be, aligned, misaligned, and transposed."""
    rows, columns = sizes
    piece = 16 // dtype.itemsize
    yield Layout(CudaSmemLinear, (rows, columns), (0, 0), 16)
    yield Layout(CudaSmemLinear, (rows + 5, columns + piece), (3, piece))
    for swizzle in (32, 64, 128):
        row = swizzle // dtype.itemsize
        if columns <= row:
            yield Layout(Sm90_SmemSwizzled(swizzle), (rows + 16, row), (8, row - columns), 16)
    if not loads_rows:
        yield Layout(CudaGmemLinear, (rows + 1, columns + 3), (1, 1))
        yield Layout(CudaGmemLinear, (columns + 3, rows + 2), (1, 2), turned=True)


SHAPES = {"tf32": 32, "f16": 16, "bf16": 16}
FRAGMENT_OF = {Sm80_RmemMatrixA.name: "A", Sm80_RmemMatrixB.name: "B", Sm80_RmemMatrixD.name: "C"}


def position(memory: Memory, shape: tuple[int, int], itemsize: int, thread: int, e: int) -> tuple[int, int]:
    """The row and column of element `e` of a thread, as the instruction set writes it."""
    warp, lane = divmod(thread, 32)
    if memory.name == Sm90_RmemMatrixD.name:
        row, column = lane // 4 + 8 * (e // 2 % 2), 8 * (e // 4) + 2 * (lane % 4) + e % 2
        return 16 * warp + row, column
    if memory.name == Sm90_RmemMatrixA.name:
        row, column = ptx_place((16, 8, shape[1], 8 * itemsize), "A", lane, e)
        return 16 * warp + row, column
    operand = FRAGMENT_OF[memory.name]
    k = {"A": shape[1], "B": shape[0], "C": 8}[operand]
    bits = 8 * itemsize if operand != "C" else 16
    return ptx_place((16, 8, k, bits), operand, lane, e)


def gathered(memory: Memory, dtype: DType, shape: tuple[int, ...], registers: bytes) -> np.ndarray:
    """The matrix that lies in registers: [thread][tile][element]."""
    threads = 128 if memory.name.startswith("Sm90") else 32
    tiles = int(np.prod(shape[:-2]))
    held = np.frombuffer(registers, numpy_dtype(dtype)).reshape(128, tiles, -1)
    found = np.zeros((tiles, *shape[-2:]), held.dtype)
    seen = np.zeros(found.shape, int)
    for thread in range(threads):
        for t in range(tiles):
            for e in range(held.shape[2]):
                at = position(memory, shape[-2:], dtype.itemsize, thread, e)  # type: ignore[arg-type]
                found[t][at] = held[thread, t, e]
                seen[t][at] += 1
    assert (seen == 1).all()
    return found.reshape(shape)


def spread(memory: Memory, matrix: np.ndarray) -> np.ndarray:
    """Registers that hold a matrix."""
    threads = 128 if memory.name.startswith("Sm90") else 32
    each = matrix.size // threads
    found = np.zeros((128, 1, each), matrix.dtype)
    for thread in range(threads):
        for e in range(each):
            at = position(memory, matrix.shape, matrix.itemsize, thread, e)  # type: ignore[arg-type]
            found[thread, 0, e] = matrix[at]
    return found


def numbers(shape: tuple[int, ...], dtype: DType) -> np.ndarray:
    """Different numbers, as far as a dtype has them."""
    return np.arange(int(np.prod(shape))).reshape(shape).astype(numpy_dtype(dtype))


def registers_of(instruction: Instruction) -> tuple[str, Memory]:
    """The argument of an instruction that is a fragment."""
    for name in instruction.data:
        memory = instruction.operand(name).memories[0]
        if isinstance(memory, Memory) and memory.space == "registers":
            return name, memory
    raise AssertionError(instruction)


LOADS = [i for i in ON_DEVICE if isinstance(i, sm80.MmaLoad | sm80.LdMatrix | sm90.WgmmaLoadA)]
STORES = [i for i in ON_DEVICE if isinstance(i, sm80.MmaStoreD | sm90.WgmmaWriteD)]


def load_cases() -> Iterator[tuple[Case, Instruction, dict[str, int], Layout, np.ndarray]]:
    for instruction in LOADS:
        name, memory = registers_of(instruction)
        dtype = next(a.type.dtype for a in instruction.arguments if a.name == "src")  # type: ignore[union-attr]
        for sizes in sizes_of(instruction):
            shape, window = (shape_of(instruction, n, sizes) for n in (name, "src"))
            for layout in layouts(dtype, window, loads_rows=isinstance(instruction, sm80.LdMatrix)):
                kind, words, _ = register_storage(memory, dtype, shape)
                tiles = int(np.prod(shape[:-2]))
                registers = place(name, dtype, memory, shape, (1,) * len(shape), storage="R[threadIdx.x][0]")
                given = site(instruction, sizes, {name: registers, "src": layout.place("src", dtype, window)})
                array = numbers(layout.shape, dtype)
                case = Case(
                    text_of(given),
                    layout.image(array),
                    f"static {kind} R[128][{tiles}][{words}];",
                    ("R",),
                    128 if isinstance(instruction, sm90.WgmmaLoadA) else 32,
                )
                yield case, instruction, sizes, layout, array


def store_cases() -> Iterator[tuple[Case, Instruction, dict[str, int], Layout, np.ndarray]]:
    for instruction in STORES:
        name, memory = registers_of(instruction)
        for sizes in sizes_of(instruction):
            shape, window = (shape_of(instruction, n, sizes) for n in (name, "dst"))
            if window[-1] > 64 or window[0] > 64:
                continue
            for layout in layouts(float32, window, loads_rows=False):
                matrix = numbers(shape, float32)
                registers = place(
                    name, float32, memory, shape, storage="R[threadIdx.x][0]", accumulates="accumulates"
                )
                to = layout.place("dst", float32, window)
                held = spread(memory, matrix)
                initial = ", ".join(f"{float(x)}f" for x in held.ravel())
                case = Case(
                    text_of(site(instruction, sizes, {name: registers, "dst": to})),
                    layout.image(np.full(layout.shape, -1, np.float32)),
                    f"static float R[128][1][{held.shape[2]}] = {{{initial}}}; int accumulates = 1;",
                    (),
                    128 if isinstance(instruction, sm90.WgmmaWriteD) else 32,
                )
                yield case, instruction, sizes, layout, matrix


def loaded_wrongly(results: list[Result]) -> list[str]:
    """The loads whose fragments are not what the body of the instruction says."""
    wrong = []
    for (_, instruction, sizes, layout, array), (_, (registers,)) in zip(load_cases(), results, strict=True):
        name, memory = registers_of(instruction)
        shape, window = (shape_of(instruction, n, sizes) for n in (name, "src"))
        expected = np.zeros(shape, array.dtype)
        execute(instruction.body, {name: expected, "src": layout.window(array, window), **sizes})
        dtype = next(a.type.dtype for a in instruction.arguments if a.name == "src")  # type: ignore[union-attr]
        if not np.array_equal(gathered(memory, dtype, shape, registers), expected):
            wrong.append(f"{instruction} {sizes} {layout}")
    return wrong


def stored_wrongly(results: list[Result]) -> list[str]:
    wrong = []
    for (_, instruction, sizes, layout, matrix), (memory, _) in zip(store_cases(), results, strict=True):
        name, _ = registers_of(instruction)
        window = shape_of(instruction, "dst", sizes)
        expected = np.full(layout.shape, -1, np.float32)
        execute(instruction.body, {name: matrix, "dst": layout.window(expected, window), **sizes})
        if not np.array_equal(layout.array(memory, float32), expected):
            wrong.append(f"{instruction} {sizes} {layout}")
    return wrong


def test_loads_fill_fragments_as_the_law_says(tmp_path: Path) -> None:
    cases = [case for case, *_ in load_cases()]
    assert len(cases) > 100
    assert loaded_wrongly(ran(cases, tmp_path)) == []


def test_stores_write_what_is_in_fragments(tmp_path: Path) -> None:
    assert stored_wrongly(ran([case for case, *_ in store_cases()], tmp_path)) == []
