"""
Instructions that copy
======================

Copies between the CPU and the device, copies of a few bytes by one thread, and additions to memory that all threads
share. A thread copies 4, 8 or 16 bytes at a time; the number of elements is that over the size of one.
"""

from __future__ import annotations

from typing import Final

from soundline.spec.dtypes import (
    DType,
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from soundline.spec.spork.language.expressions import Name
from soundline.spec.spork.language.statements import Reduce
from soundline.spec.spork.library.memories import (
    DRAM,
    CudaGmemLinear,
    CudaRmem,
    CudaSmemLinear,
    Sm90_SmemSwizzled,
)
from soundline.spec.spork.library.parts import copied, one_of, scalar, size, spelled, window
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.synchronization.timelines import InstrTl
from soundline.spec.spork.threads.units import cuda_thread

COPIED: Final = (
    *(float32, float16, bfloat16, float64, int8, int16, int32, int64),
    *(uint8, uint16, uint32, uint64),
)
"""The dtypes that copies know."""

SHARED: Final = (CudaSmemLinear, Sm90_SmemSwizzled)
"""Shared memory, in C order or with its rows permuted."""


class CpuCopy(Instruction):
    """``cudaMemcpyAsync`` and ``cudaMemcpy2DAsync``: a copy that the CPU starts, and that is done when it goes on."""

    __slots__ = ()


class VectorCopy(Instruction):
    """A copy of 4, 8 or 16 bytes by a thread, in one load and one store."""

    __slots__ = ()


class CpAsync(Instruction):
    """``cp.async``: a copy of 4, 8 or 16 bytes from global to shared memory, which a thread does not wait for."""

    __slots__ = ()


class AtomicAdd(Instruction):
    """``red.add``: an addition to one element that no other atomic addition disturbs (S-13)."""

    __slots__ = ()


def pieces(dtype: DType) -> tuple[int, ...]:
    """How many elements a thread copies at a time."""
    return tuple(b // dtype.itemsize for b in (4, 8, 16) if b >= dtype.itemsize)


def _cpu_copy(dtype: DType, rank: int, to_device: bool) -> CpuCopy:
    sizes = [f"n{d}" for d in range(rank)] if rank > 1 else ["n"]
    way = "htod" if to_device else "dtoh"
    there, here = Operand(memories=(CudaGmemLinear,)), Operand(memories=(DRAM,))
    places = ("the CPU", "the device") if to_device else ("the device", "the CPU")
    return CpuCopy(
        name=f"cudaMemcpyAsync_{way}_{rank}d_{spelled(dtype)}",
        arguments=(window("dst", dtype, *sizes), window("src", dtype, *sizes), *(size(s) for s in sizes)),
        body=copied("dst", "src", sizes),
        unit=None,
        instr_tl=InstrTl.cpu_in_order,
        operands={"dst": there, "src": here} if to_device else {"dst": here, "src": there},
        ptx="cudaMemcpyAsync" if rank == 1 else "cudaMemcpy2DAsync",
        doc=f"Copy {'rows' if rank > 1 else 'elements'} from {places[0]} to {places[1]}.",
    )


def _vector_copy(dtype: DType) -> VectorCopy:
    anywhere = Operand(memories=(CudaGmemLinear, *SHARED, CudaRmem))
    return VectorCopy(
        name=f"cuda_copy_{spelled(dtype)}",
        arguments=(window("dst", dtype, "size"), window("src", dtype, "size"), size("size")),
        preconditions=(one_of("size", pieces(dtype)),),
        body=copied("dst", "src", ["size"]),
        unit=cuda_thread,
        instr_tl=InstrTl.cuda_in_order,
        operands={"dst": anywhere, "src": anywhere},
        ptx="ld, st",
        doc="Copy 4, 8 or 16 bytes between global memory, shared memory and the registers of a thread.",
    )


def _cp_async(dtype: DType) -> CpAsync:
    return CpAsync(
        name=f"Sm80_cp_async_{spelled(dtype)}",
        arguments=(window("dst", dtype, "size"), window("src", dtype, "size"), size("size")),
        preconditions=(one_of("size", pieces(dtype)),),
        body=copied("dst", "src", ["size"]),
        unit=cuda_thread,
        instr_tl=InstrTl.Sm80_cp_async,
        operands={
            "dst": Operand(memories=SHARED, out_of_order=True),
            "src": Operand(memories=(CudaGmemLinear,), out_of_order=True),
        },
        ptx="cp.async.ca.shared.global; cp.async.cg.shared.global for 16 bytes",
        doc="Copy 4, 8 or 16 bytes from global to shared memory, asynchronously.",
    )


def _atomic_add(dtype: DType) -> AtomicAdd:
    # Numbers of 16 bits below the normal ones are kept, and i32 is called s32 there.
    kind = {"f16": "noftz.f16", "bf16": "noftz.bf16", "i32": "s32"}.get(spelled(dtype), spelled(dtype))
    return AtomicAdd(
        name=f"cuda_atomic_add_{spelled(dtype)}",
        arguments=(scalar("dst", dtype), scalar("value", dtype)),
        body=(Reduce(Name("dst"), Name("value")),),
        unit=cuda_thread,
        instr_tl=InstrTl.cuda_in_order,
        operands={"dst": Operand(memories=(CudaGmemLinear, CudaSmemLinear), atomic=True)},
        ptx=f"red.global.add.{kind}, red.shared.add.{kind}",
        doc="Add a value to an element of global or shared memory, undisturbed by other atomic additions.",
    )


INSTRUCTIONS: Final[tuple[Instruction, ...]] = (
    *(_cpu_copy(dtype, rank, way) for dtype in COPIED for rank in (1, 2) for way in (True, False)),
    *(_vector_copy(dtype) for dtype in COPIED),
    *(_cp_async(dtype) for dtype in COPIED),
    *(_atomic_add(dtype) for dtype in (float32, float64, float16, bfloat16, int32, uint32, uint64)),
)
"""The copies and atomic additions."""
