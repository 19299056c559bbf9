"""The header of the generated CUDA: casts and arithmetic, copies of a thread, registers of a warp; run on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from soundline.impl.codegen.cuda.dialects import CUDA
from soundline.impl.codegen.cuda.instructions.table import text_of
from soundline.impl.codegen.cuda.memories import swizzle_of
from soundline.impl.codegen.cuda.operands import Place
from soundline.spec.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    from_bits,
    int32,
    int64,
    round_to,
    to_bits,
    uint32,
    wrap,
)
from soundline.spec.ops.elementwise.conversion import cast
from soundline.spec.ops.elementwise.selection import maximum
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.nodes import DTYPES
from soundline.spec.spork.library import copies, warps
from soundline.spec.spork.library.memories import CudaRmem, CudaSmemLinear, Memory, Sm90_SmemSwizzled
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.library.table import STANDARD
from soundline.spec.values.elementwise import scalar

from .cuda_runs import BUFFER, Case, Result, numbers, physical, ran
from .cuda_sites import place, site, sizes_of
from .instruction_runs import execute, numpy_dtype

ON_DEVICE = [i for i in STANDARD.values() if i.unit is not None]

# Copies -----------------------------------------------------------------------------------------------------------

COPIES = [i for i in ON_DEVICE if isinstance(i, copies.VectorCopy | copies.CpAsync)]
SECOND = BUFFER // 2
"""Where the destination begins."""


def in_memory(
    memory: Memory, dtype: DType, argument: str, base: int, first: int, step: int, known: int
) -> Place:
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
            for from_ in ways[position % 3 :: 2]:
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
            assert count == passes * (1 if whole else copied.count if copied.dtype.itemsize >= 4 else 0), (
                copied
            )


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


# Casts and arithmetic ---------------------------------------------------------------------------------------------


def bits_of(dtype: DType, count: int = 60) -> list[int]:
    """Bit patterns of a dtype: the ends, the neighbours of powers of two, and others at random."""
    if dtype is bool_:
        return [0, 1]
    if not dtype.is_float:
        near = {v + d for k in range(dtype.bits + 1) for v in (1 << k, -(1 << k), 3 << k) for d in (-1, 0, 1)}
        found = sorted(wrap(dtype, v) for v in near)
        return [int(v) & ((1 << dtype.bits) - 1) for v in dict.fromkeys(found)]
    whole = [
        float(v)
        for k in (*range(12), 15, 16, 31, 32, 53, 63, 64)
        for v in (1 << k, (1 << k) - 1, (1 << k) + 1)
    ]
    numbers = [
        0.0,
        0.5,
        1.5,
        2.5,
        0.1,
        1e-8,
        6e-8,
        1e-40,
        5e-324,
        65504.0,
        65519.9,
        65520.0,
        3.39e38,
        1e39,
        math.inf,
    ]
    numbers += [1 + 2.0**-9 + 2.0**-40, 1 + 2.0**-12 + 2.0**-50, 1 + 3 * 2.0**-12, 2.0**-133, 1.5 * 2.0**-134]
    signed = [s * round_to(dtype, x) for x in (*whole, *numbers) for s in (1.0, -1.0)]
    random = np.random.default_rng(1).integers(0, 1 << min(dtype.bits, 62), count)
    return [to_bits(dtype, x) for x in (*signed, math.nan)] + [int(x) for x in random]


def packed(dtype: DType, patterns: list[int]) -> bytes:
    return b"".join(p.to_bytes(dtype.itemsize, "little") for p in patterns)


def agrees(dtype: DType, wanted: Any, found: bytes) -> bool:
    """Whether bytes are a value; every NaN is one."""
    pattern = int.from_bytes(found, "little")
    if isinstance(wanted, float) and math.isnan(wanted):
        return math.isnan(from_bits(dtype, pattern))
    return pattern == to_bits(dtype, wanted)


EVERY = list(DTYPES.values())


def test_casts_are_those_of_the_law(tmp_path: Path) -> None:
    cases = []
    for source in EVERY:
        own, count = CUDA.type_of(source), len(bits_of(source))
        targets = [CUDA.type_of(t) for t in EVERY]
        declared = "".join(f"{t} to_{k}[{count}];" for k, t in enumerate(targets))
        lines = [
            f"for (int i = 0; i < {count}; ++i) to_{k}[i] = soundline::cast<{t}>((({own} *)memory)[i]);"
            for k, t in enumerate(targets)
        ]
        outputs = tuple(f"to_{k}" for k in range(len(targets)))
        cases.append(Case(tuple(lines), packed(source, bits_of(source)), declared, outputs, 1))
    for source, (_, outputs_) in zip(EVERY, ran(cases, tmp_path), strict=True):
        for target, found in zip(EVERY, outputs_, strict=True):
            for k, pattern in enumerate(bits_of(source)):
                value = from_bits(source, pattern)
                got = found[k * target.itemsize : (k + 1) * target.itemsize]
                wanted = cast(source, value, target)
                assert agrees(target, wanted, got), (source, value, target, wanted, got)


PAIRS: dict[str, Op] = {
    "a + b": Op.Add,
    "a - b": Op.Sub,
    "a * b": Op.Mul,
    "a / b": Op.Div,
    "soundline::maximum(a, b)": Op.Max,
    "a < b": Op.CmpLt,
    "a == b": Op.CmpEq,
    "a != b": Op.CmpNe,
    "a <= b": Op.CmpLe,
    "-a": Op.Neg,
}


def compared(
    directory: Path, dtypes: list[DType], table: dict[str, Op], patterns: Callable[[DType], list[int]]
) -> None:
    """Hold functions of two values to the ops of the law."""
    cases = []
    for dtype in dtypes:
        own, count = CUDA.type_of(dtype), len(patterns(dtype))
        declared, lines = "", []
        for k, (written, op) in enumerate(table.items()):
            result = "bool" if op.name.startswith("Cmp") else own
            declared += f"static {result} to_{k}[{count}][{count}];"
            lines.append(
                f"for (int i = 0; i < {count}; ++i) for (int j = 0; j < {count}; ++j) {{ "
                f"{own} a = (({own} *)memory)[i], b = (({own} *)memory)[j]; to_{k}[i][j] = {written}; }}"
            )
        outputs = tuple(f"to_{k}" for k in range(len(table)))
        cases.append(Case(tuple(lines), packed(dtype, patterns(dtype)), declared, outputs, 1))
    for dtype, (_, outputs_) in zip(dtypes, ran(cases, directory), strict=True):
        values = [from_bits(dtype, p) for p in patterns(dtype)]
        for (written, op), found in zip(table.items(), outputs_, strict=True):
            to = bool_ if op.name.startswith("Cmp") else dtype
            for k, (a, b) in enumerate(product(values, values)):
                wanted = scalar(op, dtype, a) if op is Op.Neg else scalar(op, dtype, a, b)
                got = found[k * to.itemsize : (k + 1) * to.itemsize]
                assert agrees(to, wanted, got), (dtype, written, a, b, wanted, got)


def test_half_precision_computes_as_the_law_does(tmp_path: Path) -> None:
    compared(tmp_path, [float16, bfloat16], PAIRS, lambda dtype: bits_of(dtype)[::4])


def test_floor_division_is_that_of_the_law(tmp_path: Path) -> None:
    table = {"soundline::floor_div(a, b)": Op.Idiv, "soundline::floor_mod(a, b)": Op.Mod}
    compared(tmp_path, [int32, int64, uint32], table, lambda dtype: [*bits_of(dtype)[::7], 0])


def test_maximum_is_that_of_the_law(tmp_path: Path) -> None:
    compared(
        tmp_path, [float32, float64, int32], {"soundline::maximum(a, b)": Op.Max}, lambda d: bits_of(d)[::6]
    )


def test_a_swizzle_permutes_pieces_of_lines(tmp_path: Path) -> None:
    swizzles = (0, 32, 64, 128)
    lines = [
        f"for (int i = 0; i < 1024; ++i) to_{s}[i] = soundline::swizzle<{s}>((float *)memory + i) - (float *)memory;"
        for s in swizzles
    ]
    case = Case(
        tuple(lines),
        b"",
        "".join(f"int to_{s}[1024];" for s in swizzles),
        tuple(f"to_{s}" for s in swizzles),
        1,
    )
    ((_, found),) = ran([case], tmp_path)
    for swizzle, held in zip(swizzles, found, strict=True):
        assert np.frombuffer(held, np.int32).tolist() == [physical(swizzle, 4 * i) // 4 for i in range(1024)]


def test_a_licence_to_contract_rounds_once(tmp_path: Path) -> None:
    lines = (
        "one = soundline::fma(1.0f + 0x1p-12f, 1.0f + 0x1p-12f, -1.0f - 0x1p-11f);",
        "two = soundline::fma(1.0 + 0x1p-27, 1.0 + 0x1p-27, -1.0 - 0x1p-26);",
        "half = float(soundline::fma(soundline::f16(3.0f), soundline::f16(5.0f), soundline::f16(0.5f)));",
    )
    case = Case(lines, b"", "float one, half; double two;", ("one", "two", "half"), 1)
    ((_, (one, two, half)),) = ran([case], tmp_path)
    assert np.frombuffer(one, np.float32)[0] == 2.0**-24
    assert np.frombuffer(two, np.float64)[0] == 2.0**-54
    assert np.frombuffer(half, np.float32)[0] == 15.5
