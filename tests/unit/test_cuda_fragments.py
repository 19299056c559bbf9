"""Where the CUDA of tensor cores finds elements: fragments in registers, rows for ``ldmatrix``, descriptors for wgmma.

What a text does is seen by running it on the CPU (`cuda_runs`). What it should do is the body of the instruction in the
law, on matrices that lie in fragments as `spec.spork.library.fragments` says.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from soundline.impl.codegen.cuda.instructions.table import text_of
from soundline.impl.codegen.cuda.memories import register_storage, swizzle_of
from soundline.spec.dtypes import DType, bfloat16, float16, float32
from soundline.spec.spork.library import sm80, sm90
from soundline.spec.spork.library.fragments import ptx_place
from soundline.spec.spork.library.memories import (
    CudaGmemLinear,
    CudaSmemLinear,
    Memory,
    Sm80_RmemMatrixA,
    Sm80_RmemMatrixB,
    Sm80_RmemMatrixD,
    Sm90_RmemMatrixA,
    Sm90_RmemMatrixD,
    Sm90_SmemSwizzled,
)
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.library.table import STANDARD

from .cuda_runs import Case, Layout, Result, numbers, physical, ran
from .cuda_sites import place, shape_of, site, sites, sizes_of
from .instruction_runs import execute, numpy_dtype

ON_DEVICE = [i for i in STANDARD.values() if i.unit is not None]

# Fragments --------------------------------------------------------------------------------------------------------


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
        yield Layout(CudaGmemLinear, (rows + 1, columns + 4), (1, 1))
        yield Layout(CudaGmemLinear, (columns + 3, rows + 2), (1, 2), turned=True)
        yield Layout(CudaGmemLinear, (rows, columns, 2), (0, 0, 0))
        yield Layout(CudaGmemLinear, (columns, rows, 2), (0, 0, 0), turned=True)


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


Loads = list[tuple[Case, Instruction, dict[str, int], Layout, np.ndarray]]


def loaded_wrongly(cases: Loads, results: list[Result]) -> list[str]:
    """The loads whose fragments are not what the body of the instruction says."""
    wrong = []
    for (_, instruction, sizes, layout, array), (_, (registers,)) in zip(cases, results, strict=True):
        name, memory = registers_of(instruction)
        shape, window = (shape_of(instruction, n, sizes) for n in (name, "src"))
        expected = np.zeros(shape, array.dtype)
        execute(instruction.body, {name: expected, "src": layout.window(array, window), **sizes})
        dtype = next(a.type.dtype for a in instruction.arguments if a.name == "src")  # type: ignore[union-attr]
        if not np.array_equal(gathered(memory, dtype, shape, registers), expected):
            wrong.append(f"{instruction} {sizes} {layout}")
    return wrong


def stored_wrongly(cases: Loads, results: list[Result]) -> list[str]:
    wrong = []
    for (_, instruction, sizes, layout, matrix), (memory, _) in zip(cases, results, strict=True):
        name, _ = registers_of(instruction)
        window = shape_of(instruction, "dst", sizes)
        expected = np.full(layout.shape, -1, np.float32)
        execute(instruction.body, {name: matrix, "dst": layout.window(expected, window), **sizes})
        if not np.array_equal(layout.array(memory, float32), expected):
            wrong.append(f"{instruction} {sizes} {layout}")
    return wrong


def test_loads_fill_fragments_as_the_law_says(tmp_path: Path) -> None:
    cases = list(load_cases())
    assert len(cases) > 100
    assert loaded_wrongly(cases, ran([case for case, *_ in cases], tmp_path)) == []


def test_stores_write_what_is_in_fragments(tmp_path: Path) -> None:
    cases = list(store_cases())
    assert len(cases) > 20
    assert stored_wrongly(cases, ran([case for case, *_ in cases], tmp_path)) == []


# Descriptors of wgmma ---------------------------------------------------------------------------------------------


def element_of(descriptor: int, itemsize: int, mn: int, k: int, *, mn_major: bool) -> int:
    """Where the hardware reads an element in shared memory: PTX ISA, "Matrix Descriptor Format", "Canonical Layouts".

    In units of T elements, which are 16 bytes: K-major ((8, m), (T, 2k)) : ((ST, SBO), (1, T)), MN-major
    ((T, S, m), (8, k)) : ((1, T, LBO), (ST, SBO)), where S is the bytes of the swizzle over 16.
    """
    start, leading, stride = ((descriptor >> at & 0x3FFF) << 4 for at in (0, 16, 32))
    swizzle = {0: 16, 1: 128, 2: 64, 3: 32}[descriptor >> 62]
    base = descriptor >> 49 & 7
    unused = descriptor & (0b11 << 14 | 0b11 << 30 | 0b111 << 46 | ((1 << 10) - 1) << 52)
    if base or unused or (not mn_major and leading != 16):
        return -1  # 1, which are 16 bytes, is assumed where the leading dimension is not used
    t, s = 16 // itemsize, swizzle // 16
    if mn_major:
        offset = (mn % t + t * (mn // t % s)) * itemsize + mn // (t * s) * leading
        offset += k % 8 * s * 16 + k // 8 * stride
    else:
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
        found = re.search(
            r"soundline::smem_descriptor<\d+>\(\(\(soundline::\w+ \*\)memory[^)]*\)[^)]*\)", first
        )
        found = found or re.search(
            r"soundline::smem_descriptor<\d+>\(\(\(float \*\)memory[^)]*\)[^)]*\)", first
        )
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
                    yield Described(instruction, "B", (blocks, 16, 64), 128, (blocks + 1, 32, 64), (1, k0, 0))


def described_wrongly(directory: Path, header: Callable[[str], str] = lambda s: s) -> list[Described]:
    found = [
        d for d in described() if all(s + n <= t for s, n, t in zip(d.start, _whole(d), d.shape, strict=True))
    ]
    # The 32 bits of an address in shared memory are those of the buffer, which is aligned as shared memory is.
    variables = [
        "uint64_t word; uint64_t base = uint64_t(reinterpret_cast<uintptr_t>(memory)) & 0x3FFF0;"
    ] * len(found)
    cases = [
        Case((f"word = {d.text()};",), b"", v, ("word", "base"), 1)
        for d, v in zip(found, variables, strict=True)
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
    # The buffer may lie across a multiple of 2¹⁸, which no shared memory does.
    return address >= 0 and (address - origin - physical(d.swizzle, offset)) % (1 << 18) == 0


def test_descriptors_name_the_elements_of_windows(tmp_path: Path) -> None:
    assert described_wrongly(tmp_path) == []


# Mistakes ---------------------------------------------------------------------------------------------------------

MISTAKES: dict[str, tuple[str, str, str]] = {
    "rows of A are swapped": (
        "load_a",
        "return lane / 4 + 8 * (word % 2)",
        "return lane / 4 + 8 * (1 - word % 2)",
    ),
    "halves of A are swapped": ("load_a", "(lane % 4 + 4 * (word / 2))", "(lane % 4 + 4 * (1 - word / 2))"),
    "B by columns": ("load_b", "(int lane) { return lane / 4; }", "(int lane) { return lane % 8; }"),
    "rows of D are swapped": ("_d", "8 * (e / 2 % 2)", "8 * (1 - e / 2 % 2)"),
    "pairs of D are swapped": ("_d", "2 * (lane % 4) + e % 2", "2 * (lane % 4) + 1 - e % 2"),
    "blocks of D are too near": ("write_d", "return 8 * (e / 4) +", "return 4 * (e / 4) +"),
    "all warps have the first rows": ("Sm90", "16 * warp_in_group() + fragment_a_row", "fragment_a_row"),
    "the second half first": ("load_a", "uint32_t(low.bits) |", "uint32_t(low.bits) << 8 |"),
    "no swizzle": ("store_d", "((linear & rows) >> 3)", "((linear & rows) & 0)"),
    "a swizzle by other bits": (
        "store_d",
        "uintptr_t(BYTES / 16 - 1) << 7",
        "uintptr_t(BYTES / 16 - 1) << 8",
    ),
    "rows for ldmatrix": ("ldmatrix", "from.at(l % 16, 8 * (l / 16))", "from.at(l % 8, 8 * (l / 8))"),
    "rows for ldmatrix across": ("ldmatrix", "l % 8 + 8 * (l / 16), 8 * (l / 8 % 2)", "l % 16, 8 * (l / 16)"),
    "pairs that are not aligned": (
        "store_d",
        "column_step == 1 && row_step % 2 == 0 &&",
        "column_step == 1 &&",
    ),
    "pairs that are not neighbours": ("store_d", "return column_step == 1 &&", "return"),
    "transposed pairs": ("load_b_", "return row_step == 1 &&", "return"),
    "alignment that is not asked": ("store_d", "reinterpret_cast<uintptr_t>(address) % BYTES == 0", "true"),
    "a sum that is not there": ("write_d", "accumulates ? d[e] : 0.0f", "accumulates ? 0.0f : d[e]"),
}
"""Mistakes of the header: in which instructions, a text, and the one that stands in its place."""

IN_DESCRIPTORS: dict[str, tuple[str, str]] = {
    "another swizzle": ("SWIZZLE == 128 ? 1 : SWIZZLE == 64 ? 2", "SWIZZLE == 128 ? 2 : SWIZZLE == 64 ? 1"),
    "the start in bytes": (
        "& 0x3FFFF) >> 4;\n    uint64_t const leading",
        "& 0x3FFFF);\n    uint64_t const leading",
    ),
    "offsets exchanged": ("leading << 16 | stride << 32", "stride << 16 | leading << 32"),
    "the stride in bytes": ("(stride_bytes & 0x3FFFF) >> 4", "(stride_bytes & 0x3FFFF) >> 3"),
    "the swizzle elsewhere": ("mode << 62", "mode << 61"),
    "no swizzle": ("mode << 62", "mode"),
}


def changed(old: str, new: str) -> Callable[[str], str]:
    """A change of the header."""

    def header(text: str) -> str:
        assert old in text, old
        return text.replace(old, new)

    return header


def is_seen(where: str, old: str, new: str, directory: Path) -> bool:
    """Whether values are wrong, or an access that is not aligned stops the program."""
    loads = [case for case in load_cases() if where in case[1].name]
    stores = [case for case in store_cases() if where in case[1].name]
    try:
        results = ran([c[0] for c in (*loads, *stores)], directory, header=changed(old, new))
    except subprocess.CalledProcessError:
        return True
    return bool(loaded_wrongly(loads, results[: len(loads)]) or stored_wrongly(stores, results[len(loads) :]))


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_fragments_is_seen(mistake: str, tmp_path: Path) -> None:
    assert is_seen(*MISTAKES[mistake], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("mistake", IN_DESCRIPTORS)
def test_a_mistake_in_descriptors_is_seen(mistake: str, tmp_path: Path) -> None:
    assert described_wrongly(tmp_path, changed(*IN_DESCRIPTORS[mistake])) != []
