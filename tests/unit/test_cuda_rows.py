"""What is done to accumulators of wgmma in their registers, run as C++ and held to the bodies of the law."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from soundline.impl.codegen.cuda.instructions.table import text_of
from soundline.impl.codegen.cuda.operands import Place, Value
from soundline.spec.dtypes import float32
from soundline.spec.spork.language.types import Data
from soundline.spec.spork.library import rows
from soundline.spec.spork.library.memories import Memory, Sm90_RmemMatrixA, Sm90_RmemRows
from soundline.spec.spork.library.schema import Instruction

from .cuda_runs import Case, ran
from .cuda_sites import place, site
from .instruction_runs import allowed, execute, numpy_dtype
from .test_cuda_fragments import gathered, spread

THREADS = 128
SCALARS = {"value": np.float32(2.5), "scale": np.float32(0.25)}


def sizes_named(instruction: Instruction) -> set[str]:
    return {a.name for a in instruction.arguments if not isinstance(a.type, Data)}


def cases() -> Iterator[tuple[Instruction, dict[str, int]]]:
    for instruction in rows.INSTRUCTIONS:
        named = "N" in sizes_named(instruction)
        yield from (
            (instruction, {"N": n} if named else {})
            for n in ((8, 16, 48) if named else (0,))
            if not named or allowed(instruction, N=n)
        )


def held(memory: Memory, array: np.ndarray) -> np.ndarray:
    """What each thread has of an array: of rows, that of rows lane / 4 and 8 below in its quad."""
    if memory.name != Sm90_RmemRows.name:
        return spread(memory, array)
    found = np.zeros((THREADS, 1, 2), array.dtype)
    for thread in range(THREADS):
        warp, lane = divmod(thread, 32)
        for e in range(2):
            found[thread, 0, e] = array[16 * warp + lane // 4 + 8 * e, lane % 4]
    return found


def arrays_of(instruction: Instruction, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    random = np.random.default_rng(len(instruction.name))
    n = sizes.get("N", 0)
    shapes: dict[str, tuple[int, ...]] = {"D": (64, n), "A": (n // 16, 64, 16)}
    found = {}
    for argument in instruction.arguments:
        if not isinstance(argument.type, Data) or argument.name in SCALARS:
            continue
        array = random.standard_normal(shapes.get(argument.name, (64, 4)))
        found[argument.name] = array.astype(numpy_dtype(argument.type.dtype))
    return found


def case_of(
    instruction: Instruction, sizes: dict[str, int], arrays: dict[str, np.ndarray], flag: int
) -> Case:
    """A call whose registers hold the arrays; with a flag of 0 nothing was added to the accumulator yet."""
    places: dict[str, Place | Value] = {}
    variables = [f"static int flags[{THREADS}];"]
    begun = [f"flags[threadIdx.x] = {flag};"]  # of which the runner may take some steps again
    for argument in instruction.arguments:
        if argument.name in SCALARS:
            places[argument.name] = Value(f"{SCALARS[argument.name]}f", float32)
        elif isinstance(argument.type, Data):
            name = argument.name
            (memory,) = instruction.operand(name).memories
            assert isinstance(memory, Memory)
            array = arrays[name]
            more: dict[str, str] = {"accumulates": "flags[threadIdx.x]"} if name == "D" else {}
            strides = (1,) * array.ndim
            places[name] = place(
                name,
                argument.type.dtype,
                memory,
                array.shape,
                strides,
                storage=f"{name}[threadIdx.x][0]",
                **more,
            )
            if memory == Sm90_RmemMatrixA:
                variables.append(f"static uint32_t {name}[{THREADS}][{array.shape[0]}][4];")
            else:
                own = held(memory, array)
                initial = ", ".join(f"{float(x)!r}f" for x in own.ravel())
                variables.append(
                    f"static float const {name}_before[{THREADS}][1][{own.shape[2]}] = {{{initial}}};"
                )
                variables.append(f"static float {name}[{THREADS}][1][{own.shape[2]}];")
                begun.append(f"memcpy({name}[threadIdx.x], {name}_before[threadIdx.x], sizeof {name}[0]);")
    lines = (*begun, *text_of(site(instruction, sizes, places)))
    written = sorted(instruction.written)
    return Case(lines, variables="\n".join(variables), outputs=tuple(written), threads=THREADS)


def test_rows_are_those_of_the_law(tmp_path: Path) -> None:
    """Whether an accumulator holds a sum, or nothing yet and so zeros."""
    given = [(i, sizes, flag) for i, sizes in cases() for flag in (1, 0)]
    arrays = [arrays_of(i, sizes) for i, sizes, _ in given]
    made = [case_of(i, sizes, a, flag) for (i, sizes, flag), a in zip(given, arrays, strict=True)]
    for (instruction, sizes, flag), own, (_, found) in zip(given, arrays, ran(made, tmp_path), strict=True):
        if not flag and "D" in own:
            own["D"][...] = 0
        execute(instruction.body, {**own, **SCALARS, **sizes})
        for name, registers in zip(sorted(instruction.written), found, strict=True):
            (memory,) = instruction.operand(name).memories
            assert isinstance(memory, Memory)
            dtype = next(
                a.type.dtype for a in instruction.arguments if a.name == name and isinstance(a.type, Data)
            )
            what = f"{instruction} {sizes} {flag}"
            if memory == Sm90_RmemMatrixA:
                np.testing.assert_array_equal(
                    gathered(memory, dtype, own[name].shape, registers), own[name], what
                )
            else:
                values = np.frombuffer(registers, np.float32).reshape(THREADS, 1, -1)
                np.testing.assert_allclose(values, held(memory, own[name]), rtol=1e-6, err_msg=what)
