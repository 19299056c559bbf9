"""Calls of instructions as the generator of CUDA gives them to their texts, made without a program around."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

from soundline.impl.codegen.cuda.operands import CallSite, Place, Trailing, Value
from soundline.spec.dtypes import DType
from soundline.spec.spork.language.nodes import ref
from soundline.spec.spork.language.statements import Call
from soundline.spec.spork.language.types import Control, Data
from soundline.spec.spork.library import memories
from soundline.spec.spork.library.memories import Memory, Sm90_SmemSwizzled, Sm90_tensorMap
from soundline.spec.spork.library.schema import Instruction

from .instruction_runs import allowed, shapes

CHOICES = {
    "size": (1, 2, 4, 8, 16),
    "K": (4, 8, 16),
    "N": (8, 24, 64, 256),
    "ctas": (2,),
    "source": (0, 31),
    "mask": (1, 16),
    "delta": (0, 3),
}
"""Values of control arguments, of which those are taken that the instruction accepts."""


def sizes_of(instruction: Instruction) -> Iterator[dict[str, int]]:
    """Values of its control arguments that satisfy its assertions."""
    controls = [a.name for a in instruction.arguments if isinstance(a.type, Control)]
    for values in product(*(CHOICES.get(name, (8,)) for name in controls)):
        found = dict(zip(controls, values, strict=True))
        if allowed(instruction, **found):
            yield found


def memories_of(instruction: Instruction, argument: str) -> Iterator[Memory]:
    """The memories that an operand accepts: each, and each swizzle."""
    for memory in instruction.operand(argument).memories:
        if isinstance(memory, Memory):
            yield memory
        elif memory is Sm90_SmemSwizzled:
            yield from map(Sm90_SmemSwizzled, (32, 64, 128))
        else:
            yield Sm90_tensorMap(0, 8)
    if not instruction.operand(argument).memories:
        yield memories.CudaRmem


def place(
    argument: str,
    dtype: DType,
    memory: Memory,
    sizes: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
    **more: Any,
) -> Place:
    """A place; the rows of swizzled memory are as long as the swizzle."""
    if strides is None:
        shape = list(sizes)
        if memory.row_bytes and shape:
            shape[-1] = memory.row_bytes // dtype.itemsize
        strides = tuple(prod(shape[d + 1 :]) for d in range(len(shape)))
    said: dict[str, Any] = {
        "address": f"{argument}_at",
        "storage": f"{argument}_rmem",
        "tensor_map": f"&args.{argument}_map" if memory.window else "",
        "coordinates": tuple(f"{argument}_{d}" for d in range(len(sizes))) if memory.window else (),
        "ctas": f"{argument}_ctas",
        "accumulates": f"{argument}_accumulates" if memory.name == "Sm90_RmemMatrixD" else "",
    }
    said |= more
    return Place(argument, dtype, memory, tuple(map(str, sizes)), sizes, tuple(map(str, strides)), **said)


def site(
    instruction: Instruction,
    sizes: Mapping[str, int],
    places: Mapping[str, Place | Value],
    *,
    arch: int = 90,
    known: bool = True,
    whole_warp: bool = True,
) -> CallSite:
    """A call with these places."""
    trailing = Trailing("bar") if instruction.trailing is not None else None
    texts = {name: str(value) for name, value in sizes.items()} if known else {name: name for name in sizes}
    return CallSite(
        instruction,
        Call(ref(instruction), ()),
        arch,
        places,
        dict(sizes) if known else {},
        texts,
        trailing,
        whole_warp,
    )


def shape_of(instruction: Instruction, argument: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The sizes of an argument, without the dimensions that are distributed over threads or CTAs."""
    found = shapes(instruction, **sizes)[argument]
    return found[1:] if instruction.operand(argument).unit is not None else found


def dtype_of(instruction: Instruction, argument: str) -> DType:
    declared = next(a.type for a in instruction.arguments if a.name == argument)
    assert isinstance(declared, Data)
    return declared.dtype


def sites(instruction: Instruction) -> Iterator[CallSite]:
    """Calls of an instruction, with every choice of memories and several sizes."""
    for sizes in sizes_of(instruction):
        for chosen in product(*(memories_of(instruction, name) for name in instruction.data)):
            where = dict(zip(instruction.data, chosen, strict=True))
            if any(m.window for m in chosen):  # a box has whole rows
                row = next((m.row_bytes for m in chosen if m.row_bytes), 32)
                last = max(name for name in sizes if name.startswith("n"))
                sizes = {**sizes, last: row // dtype_of(instruction, "dst").itemsize}
            windows = {name: shape_of(instruction, name, sizes) for name in where}
            if not all(_fits(where[n], dtype_of(instruction, n), windows[n]) for n in where):
                continue
            if any(m.window for m in chosen):
                swizzle = next((m.row_bytes or 0 for m in chosen if not m.window), 0)
                box = next(windows[n] for n in where if where[n].window)
                where = {n: Sm90_tensorMap(swizzle, *box) if m.window else m for n, m in where.items()}
            yield site(
                instruction,
                sizes,
                {n: place(n, dtype_of(instruction, n), m, windows[n]) for n, m in where.items()},
            )


def _fits(memory: Memory, dtype: DType, shape: tuple[int, ...]) -> bool:
    """Whether a window is one of rows of the memory: no longer than the rows."""
    return not memory.row_bytes or (bool(shape) and shape[-1] * dtype.itemsize <= memory.row_bytes)
