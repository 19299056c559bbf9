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


# Copies -----------------------------------------------------------------------------------------------------------

COPIES = [i for i in ON_DEVICE if isinstance(i, copies.VectorCopy | copies.CpAsync)]
SECOND = BUFFER // 2
"""Where the destination begins."""


def in_memory(memory: Memory, dtype: DType, argument: str, base: int, first: int, step: int, known: int) -> Place:
    address = f"(({CUDA.type_of(dtype)} *)(memory + {base}) + {first})"
    return place(argument, dtype, memory, (0,), (step,), address=address, alignment=known)


def in_thread(dtype: DType, argument: str, step: int) -> Place:
    return place(argument, dtype, CudaRmem, (0,), (step,), address=f"{argument}_rmem + 1")


@dataclass(frozen=True)
class Copied:
    """A copy of `count` elements; where both are, as first elements and steps, -1 for registers."""

    instruction: Instruction
    count: int
    to: tuple[Memory, int, int]
    from_: tuple[Memory, int, int]

    @property
    def dtype(self) -> DType:
        return self.instruction.arguments[0].type.dtype  # type: ignore[union-attr]

    def places(self) -> dict[str, Place]:
        found = {}
        for name, base, (memory, first, step) in (("dst", SECOND, self.to), ("src", 0, self.from_)):
            if memory is CudaRmem:
                found[name] = in_thread(self.dtype, name, step)
            else:
                size = self.count * self.dtype.itemsize
                known = 16 if first * self.dtype.itemsize % 16 == 0 and size == 16 and first else 0
                found[name] = in_memory(memory, self.dtype, name, base, first, step, known)
        return found

    def case(self) -> Case:
        given = site(self.instruction, {"size": self.count}, self.places())
        own = CUDA.type_of(self.dtype)
        values = numbers((64,), self.dtype).tobytes()
        image = bytearray(BUFFER)
        for k, byte in enumerate(values):
            image[physical(swizzle_of(self.from_[0]), k)] = byte
        before = f"{own} src_rmem[64], dst_rmem[64]; memcpy(src_rmem, memory, {len(values)});"
        before += "memset(dst_rmem, 0, sizeof dst_rmem); warps::vectors = warps::scalars = 0;"
        return Case(text_of(given), bytes(image), before, ("dst_rmem", "warps::vectors", "warps::scalars"), 1)

    def expected(self) -> np.ndarray:
        source = numbers((64,), self.dtype)
        found = np.zeros(64, source.dtype)
        (_, to, to_step), (memory, from_, from_step) = self.to, self.from_
        for k in range(self.count):
            at = (1 if self.to[0] is CudaRmem else to) + k * to_step
            found[at] = source[(1 if memory is CudaRmem else from_) + k * from_step]
        return found

    def found(self, result: Result) -> np.ndarray:
        memory, (registers, *_) = result
        if self.to[0] is CudaRmem:
            return np.frombuffer(registers, numpy_dtype(self.dtype))
        size = 64 * self.dtype.itemsize
        held = bytes(memory[SECOND + physical(swizzle_of(self.to[0]), k)] for k in range(size))
        return np.frombuffer(held, numpy_dtype(self.dtype))


def copies_of(instruction: Instruction) -> Iterator[Copied]:
    ways = [(CudaSmemLinear, 0, 1), (CudaSmemLinear, 16, 1), (CudaSmemLinear, 3, 1), (CudaSmemLinear, 1, 2)]
    ways += [(Sm90_SmemSwizzled(32), 24, 1), (Sm90_SmemSwizzled(128), 32, 1), (Sm90_SmemSwizzled(64), 17, 1)]
    if isinstance(instruction, copies.VectorCopy):
        ways += [(CudaRmem, 0, 1), (CudaRmem, 0, 3)]
    for position, sizes in enumerate(sizes_of(instruction)):
        for to in ways[position % 2 :: 2]:
            for from_ in ways:
                async_ = isinstance(instruction, copies.CpAsync)
                if not (async_ and from_[0] is not CudaSmemLinear):
                    yield Copied(instruction, sizes["size"], to, from_)


SOME = [i for i in COPIES if i.arguments[0].type.dtype in (float32, bfloat16, float64)]  # type: ignore[union-attr]


def test_copies_move_elements_wherever_they_lie(tmp_path: Path) -> None:
    found = [c for instruction in SOME for c in copies_of(instruction)]
    results = ran([c.case() for c in found], tmp_path)
    for copied, result in zip(found, results, strict=True):
        assert copied.found(result).tobytes() == copied.expected().tobytes(), copied
        if isinstance(copied.instruction, copies.CpAsync):
            _, (_, vectors, scalars) = result
            size = copied.count * copied.dtype.itemsize
            whole = all(
                step == 1 and first * copied.dtype.itemsize % size == 0
                for _, first, step in (copied.to, copied.from_)
            )
            count = int.from_bytes(vectors, "little") + int.from_bytes(scalars, "little")
            passes = 9  # the loop over passes runs each statement again
            assert count == passes * (1 if whole else copied.count if copied.dtype.itemsize >= 4 else 0), copied


# Registers of a warp ----------------------------------------------------------------------------------------------


def test_shuffles_and_reductions_are_those_of_the_law(tmp_path: Path) -> None:
    found = [
        (instruction, sizes)
        for instruction in ON_DEVICE
        if isinstance(instruction, warps.Shuffle | warps.WarpReduction)
        for sizes in sizes_of(instruction)
    ]
    random = np.random.default_rng(0)
    cases, before = [], []
    for instruction, sizes in found:
        dtype = instruction.arguments[0].type.dtype  # type: ignore[union-attr]
        src = np.array(random.integers(-(2**30), 2**30, 32) / 3).astype(numpy_dtype(dtype))
        if dtype is float32 and "_max_" in instruction.name:
            src = np.where(src > 0, np.float32(-0.0), src)
            src[7] = 0.0
        places = {n: place(n, dtype, CudaRmem, (), storage=f"{n}_all[threadIdx.x]") for n in ("dst", "src")}
        own = CUDA.type_of(dtype)
        cases.append(
            Case(
                text_of(site(instruction, sizes, places)),
                src.tobytes(),
                f"{own} src_all[32], dst_all[32]; memcpy(src_all, memory, 128);",
                ("dst_all",),
            )
        )
        before.append(src)
    for (instruction, sizes), src, (_, (after,)) in zip(found, before, ran(cases, tmp_path), strict=True):
        expected = np.zeros_like(src)
        if "_max_" in instruction.name:
            dtype = instruction.arguments[0].type.dtype  # type: ignore[union-attr]
            most = src[0].item()
            for x in src:
                most = maximum(dtype, most, x.item())
            expected[:] = most
        else:
            with np.errstate(over="ignore"):
                execute(instruction.body, {"dst": expected, "src": src, **sizes})
        assert after == expected.tobytes(), (instruction.name, sizes)


# Descriptors of wgmma ---------------------------------------------------------------------------------------------


def element_of(descriptor: int, itemsize: int, mn: int, k: int, *, mn_major: bool) -> int:
    """Where in shared memory the hardware reads an element: PTX ISA, "Matrix Descriptor Format" and "Canonical Layouts".

    In units of T elements, which are 16 bytes: K-major ((8, m), (T, 2k)) : ((ST, SBO), (1, T)), MN-major
    ((T, S, m), (8, k)) : ((1, T, LBO), (ST, SBO)), where S is the bytes of the swizzle over 16.
    """
    start, leading, stride = ((descriptor >> at & 0x3FFF) << 4 for at in (0, 16, 32))
    swizzle = {1: 128, 2: 64, 3: 32}[descriptor >> 62]
    assert descriptor >> 49 & 7 == 0
    assert descriptor & (0b11 << 14 | 0b11 << 30 | 0b111 << 46 | ((1 << 10) - 1) << 52) == 0
    t, s = 16 // itemsize, swizzle // 16
    if mn_major:
        offset = (mn % t + t * (mn // t % s)) * itemsize + mn // (t * s) * leading
        offset += k % 8 * s * 16 + k // 8 * stride
    else:
        assert leading == 16, "PTX assumes 1 where the leading dimension is not used"
        offset = mn % 8 * s * 16 + mn // 8 * stride + k * itemsize
    address = start + offset
    return address ^ (address >> 7 & s - 1) << 4


@dataclass(frozen=True)
class Described:
    """An operand of wgmma in an array of shared memory."""

    instruction: Instruction
    argument: str
    sizes: tuple[int, ...]
    swizzle: int
    shape: tuple[int, ...]
    start: tuple[int, ...]

    @property
    def dtype(self) -> DType:
        return next(a.type.dtype for a in self.instruction.arguments if a.name == self.argument)  # type: ignore[union-attr]

    def text(self) -> str:
        layout = Layout(Sm90_SmemSwizzled(self.swizzle), self.shape, self.start)
        given = next(
            s
            for s in sites(self.instruction)
            if s.sizes["N"] == 64 and all(swizzle_of(p.memory) in (0, 128) for p in s.places.values())  # type: ignore[union-attr]
        )
        own = replace(layout.place(self.argument, self.dtype, self.sizes), strides=self.strides())
        first, *_ = text_of(replace(given, places={**given.places, self.argument: own}))
        found = re.search(r"soundline::smem_descriptor<\d+>\(\(\(soundline::\w+ \*\)memory[^)]*\)[^)]*\)", first)
        found = found or re.search(r"soundline::smem_descriptor<\d+>\(\(\(float \*\)memory[^)]*\)[^)]*\)", first)
        assert found is not None, first
        return found[0]

    def strides(self) -> tuple[str, ...]:
        every = tuple(int(np.prod(self.shape[d + 1 :])) for d in range(len(self.shape)))
        return tuple(map(str, every[-len(self.sizes) :]))


def described() -> Iterator[Described]:
    for kind, dtype in (("tf32", float32), ("bf16", bfloat16), ("f16", float16)):
        k = sm90.depth(dtype)
        for swizzle in (32, 64, 128):
            row = swizzle // dtype.itemsize
            for within in range(0, row, k):
                for argument, rows in (("A", 64), ("B", 64), ("B", 8)):
                    instruction = STANDARD[f"Sm90_mma_async_{kind}"]
                    shape, start = (2, rows + 16, row), (1, 8, within)
                    yield Described(instruction, argument, (rows, k), swizzle, shape, start)
        if kind != "tf32":
            for blocks in (1, 4):
                for k0 in (0, 16, 8):
                    instruction = STANDARD[f"Sm90_mma_async_kn_{kind}"]
                    yield Described(
                        instruction, "B", (blocks, 16, 64), 128, (blocks + 1, 32, 64), (1, k0, 0)
                    )


def described_wrongly(directory: Path, header: Callable[[str], str] = lambda s: s) -> list[Described]:
    found = [d for d in described() if all(s + n <= t for s, n, t in zip(d.start, _whole(d), d.shape, strict=True))]
    # The 32 bits of an address in shared memory are those of the buffer, which is aligned as shared memory is.
    variables = ["uint64_t word; uint64_t base = uint64_t(reinterpret_cast<uintptr_t>(memory)) & 0x3FFF0;"] * len(found)
    cases = [
        Case((f"word = {d.text()};",), b"", v, ("word", "base"), 1) for d, v in zip(found, variables, strict=True)
    ]
    wrong = []
    for d, (_, (word, base)) in zip(found, ran(cases, directory, header=header), strict=True):
        number, origin = int.from_bytes(word, "little"), int.from_bytes(base, "little")
        if not all(_is_element(d, number, origin, at) for at in np.ndindex(*d.sizes)):
            wrong.append(d)
    return wrong


def _whole(d: Described) -> tuple[int, ...]:
    return (*(1,) * (len(d.shape) - len(d.sizes)), *d.sizes)


def _is_element(d: Described, descriptor: int, origin: int, at: tuple[int, ...]) -> bool:
    """Whether the hardware reads an element where the array has it."""
    whole = tuple(s + i for s, i in zip(d.start, (*(0,) * (len(d.shape) - len(at)), *at), strict=True))
    offset = int(np.ravel_multi_index(whole, d.shape)) * d.dtype.itemsize
    blocks = len(at) == 3
    mn, k = (64 * at[0] + at[2], at[1]) if blocks else at
    address = element_of(descriptor, d.dtype.itemsize, mn, k, mn_major=blocks)
    return address == (origin + physical(d.swizzle, offset)) % (1 << 18)


def test_descriptors_name_the_elements_of_windows(tmp_path: Path) -> None:
    assert described_wrongly(tmp_path) == []


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
    [(("1024", "32", "1"), 128, 0), (("1024", "64", "1"), 64, 0), (("s", "64", "1"), 128, 0), (("1024", "64", "1"), 128, 64)],
)
def test_blocks_that_no_descriptor_names_are_refused(strides: tuple[str, ...], swizzle: int, alignment: int) -> None:
    given = next(sites(STANDARD["Sm90_mma_async_kn_bf16"]))
    own = replace(given.places["B"], strides=strides, memory=Sm90_SmemSwizzled(swizzle), alignment=alignment)
    with pytest.raises(CompileError):
        text_of(replace(given, places={**given.places, "B": own}))
