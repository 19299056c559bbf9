"""The header of the generated CUDA: casts and arithmetic, copies of a thread, registers of a warp; run on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from soundline.impl.codegen.cuda.dialects import CUDA
from soundline.impl.codegen.cuda.instructions.table import text_of
from soundline.impl.codegen.cuda.memories import swizzle_of
from soundline.impl.codegen.cuda.operands import Place
from soundline.spec.dtypes import DType, bfloat16, float32, float64
from soundline.spec.ops.elementwise.selection import maximum
from soundline.spec.spork.library import copies, warps
from soundline.spec.spork.library.memories import CudaRmem, CudaSmemLinear, Memory, Sm90_SmemSwizzled
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.library.table import STANDARD

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
