"""
Tensor cores of Sm90
====================

``wgmma`` multiplies asynchronously: D, 64 by N in the registers of a warpgroup, gains A, 64 by K from shared memory or
registers, times B from shared memory. K is 32 bytes: 8 elements of tf32, 16 of f16 or bf16. A and B both stand with K
along their rows, so that B is held transposed, N by K. B of 16 bits may also stand as it is, K by N, in blocks of 64
columns (``kn``). What it reads completes out of order. Its accumulator does not: products that are added to one
accumulator follow each other.

Each warp of the warpgroup has 16 rows of the accumulator, and of A where that is in registers. It issues its share by
itself: it reads its rows of A and all of B, and ``wgmma.wait_group`` makes it wait for that alone (S-15).

Zeroing an accumulator is an access of its own on the timeline of wgmma (S-11), although it costs nothing: it becomes
the ``scale-d`` of the product that follows, which then assigns where it would add.

The statements about tf32 and about the order of sums in `spec.spork.library.sm80` hold here too.
"""

from __future__ import annotations

from typing import Final

from soundline.spec.dtypes import DType, bfloat16, float16, float32
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Cast, Const, Expr
from soundline.spec.spork.language.statements import Assign, Reduce
from soundline.spec.spork.library.copies import SHARED
from soundline.spec.spork.library.memories import (
    CudaGmemLinear,
    Sm90_RmemMatrixA,
    Sm90_RmemMatrixD,
    Sm90_SmemSwizzled,
)
from soundline.spec.spork.library.parts import (
    at,
    between,
    binary,
    copied,
    index,
    multiple,
    nest,
    one_of,
    plus,
    size,
    spelled,
    times,
    window,
)
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.library.sm80 import KINDS, product
from soundline.spec.spork.synchronization.timelines import InstrTl, UsageTl
from soundline.spec.spork.threads.units import cuda_warpgroup

ROWS: Final = 64
"""The rows of an accumulator."""

COLUMNS: Final = 256
"""The most columns of an accumulator."""

BLOCK: Final = 64
"""The columns of a block of B that stands as it is: 128 bytes of 16 bits each."""


class WgmmaZeroD(Instruction):
    """The accumulator of a warpgroup becomes zero, by the ``scale-d`` of the product that follows."""

    __slots__ = ()


class Wgmma(Instruction):
    """``wgmma.mma_async`` with both operands in shared memory."""

    __slots__ = ()


class WgmmaFromRegisters(Instruction):
    """``wgmma.mma_async`` with the left operand in registers."""

    __slots__ = ()


class WgmmaLoadA(Instruction):
    """The left operand of wgmma is loaded to registers."""

    __slots__ = ()


class WgmmaWriteD(Instruction):
    """The accumulator of a warpgroup is written to memory."""

    __slots__ = ()


class WgmmaWriteColumns(Instruction):
    """Some columns of the accumulator of a warpgroup are written to memory, in f32 or rounded to 16 bits."""

    __slots__ = ()


_D: Final = Operand(memories=(Sm90_RmemMatrixD,), usage=UsageTl.cuda_async_d_rmem)
_A: Final = Operand(memories=(Sm90_RmemMatrixA,), usage=UsageTl.cuda_async_a_rmem, out_of_order=True)
_SHARED: Final = Operand(memories=(Sm90_SmemSwizzled,), usage=UsageTl.cuda_ram, out_of_order=True)
_N: Final[tuple[Expr, ...]] = (between(8, "N", COLUMNS), multiple("N", 8))


def depth(dtype: DType) -> int:
    """K: how many elements of a row one product takes, 32 bytes."""
    return 32 // dtype.itemsize


_ZERO_D: Final = WgmmaZeroD(
    name="Sm90_zero_scale_d_f32",
    arguments=(window("D", float32, ROWS, "N"), size("N")),
    preconditions=_N,
    body=nest({"i": ROWS, "j": "N"}, Assign(at("D", "i", "j"), Const(0))),
    unit=cuda_warpgroup,
    instr_tl=InstrTl.wgmma_async,
    operands={"D": _D},
    ptx="the operand scale-d of wgmma.mma_async",
    doc="Zero an accumulator.",
)


def _mma(kind: str, in_registers: bool) -> Instruction:
    dtype, _ = KINDS[kind]
    k = depth(dtype)
    gain = Reduce(at("D", "i", "j"), product(kind, at("A", "i", "k"), at("B", "j", "k")))
    family = WgmmaFromRegisters if in_registers else Wgmma
    return family(
        name=f"Sm90_mma_async_{'ra_' if in_registers else ''}{kind}",
        arguments=(
            window("D", float32, ROWS, "N"),
            window("A", dtype, ROWS, k),
            window("B", dtype, "N", k),
            size("N"),
        ),
        preconditions=_N,
        body=nest({"i": ROWS, "j": "N", "k": k}, gain),
        unit=cuda_warpgroup,
        instr_tl=InstrTl.wgmma_async,
        operands={"D": _D, "A": _A if in_registers else _SHARED, "B": _SHARED},
        ptx=f"wgmma.mma_async.sync.aligned.m64n*k{k}.f32.{kind}.{kind}",
        doc="Add the product of A and the transpose of B to an accumulator, asynchronously"
        f"{', with A in registers' if in_registers else ''}.",
    )


def _mma_kn(kind: str, in_registers: bool) -> Instruction:
    dtype, _ = KINDS[kind]
    k = depth(dtype)
    column = plus(times(BLOCK, "block"), "j")
    gain = Reduce(at("D", "i", column), product(kind, at("A", "i", "k"), at("B", "block", "k", "j")))
    blocks = binary(Op.Idiv, "N", BLOCK)
    family = WgmmaFromRegisters if in_registers else Wgmma
    return family(
        name=f"Sm90_mma_async_{'ra_' if in_registers else ''}kn_{kind}",
        arguments=(
            window("D", float32, ROWS, "N"),
            window("A", dtype, ROWS, k),
            window("B", dtype, blocks, k, BLOCK),
            size("N"),
        ),
        preconditions=(one_of("N", range(BLOCK, COLUMNS + 1, BLOCK)),),
        body=nest({"i": ROWS, "block": blocks, "j": BLOCK, "k": k}, gain),
        unit=cuda_warpgroup,
        instr_tl=InstrTl.wgmma_async,
        operands={"D": _D, "A": _A if in_registers else _SHARED, "B": _SHARED},
        ptx=f"wgmma.mma_async.sync.aligned.m64n*k{k}.f32.{kind}.{kind}",
        doc="Add the product of A and of B in blocks of 64 columns to an accumulator, asynchronously"
        f"{', with A in registers' if in_registers else ''}.",
    )


def _load_a(kind: str) -> WgmmaLoadA:
    dtype, _ = KINDS[kind]
    k = depth(dtype)
    return WgmmaLoadA(
        name=f"Sm90_mma_load_a_{kind}",
        arguments=(window("A", dtype, ROWS, k), window("src", dtype, ROWS, k)),
        body=copied("A", "src", (ROWS, k)),
        unit=cuda_warpgroup,
        instr_tl=InstrTl.cuda_in_order,
        operands={
            "A": Operand(memories=(Sm90_RmemMatrixA,)),
            "src": Operand(memories=(CudaGmemLinear, *SHARED)),
        },
        ptx="ld",
        doc="Load a left operand to registers from global or shared memory.",
    )


def _write_d(columns: bool) -> WgmmaWriteD:
    sizes = ("N", ROWS) if columns else (ROWS, "N")
    place = at("dst", "j", "i") if columns else at("dst", "i", "j")
    return WgmmaWriteD(
        name=f"Sm90_mma_write_d_{'col' if columns else 'row'}_major_f32",
        arguments=(window("dst", float32, *sizes), window("D", float32, ROWS, "N"), size("N")),
        preconditions=_N,
        body=nest({"i": ROWS, "j": "N"}, Assign(place, at("D", "i", "j"))),
        unit=cuda_warpgroup,
        instr_tl=InstrTl.cuda_in_order,
        operands={
            "dst": Operand(memories=(CudaGmemLinear, *SHARED)),
            "D": Operand(memories=(Sm90_RmemMatrixD,)),
        },
        ptx="st",
        doc=f"Write an accumulator to global or shared memory, {'transposed' if columns else 'row by row'}.",
    )


def _write_columns(dtype: DType) -> WgmmaWriteColumns:
    taken: Expr = at("D", "i", plus("first", "j"))
    if dtype is not float32:
        taken = Cast(dtype, taken)
    inside = binary(Op.And, binary(Op.CmpLe, 0, "first"), binary(Op.CmpLe, plus("first", "columns"), "N"))
    return WgmmaWriteColumns(
        name=f"Sm90_mma_write_d_columns_{spelled(dtype)}",
        arguments=(
            window("dst", dtype, ROWS, "columns"),
            window("D", float32, ROWS, "N"),
            index("first"),
            size("columns"),
            size("N"),
        ),
        preconditions=(*_N, multiple("first", 8), multiple("columns", 8), inside),
        body=nest({"i": ROWS, "j": "columns"}, Assign(at("dst", "i", "j"), taken)),
        unit=cuda_warpgroup,
        instr_tl=InstrTl.cuda_in_order,
        operands={
            "dst": Operand(memories=(CudaGmemLinear, *SHARED)),
            "D": Operand(memories=(Sm90_RmemMatrixD,)),
        },
        ptx="st" if dtype is float32 else f"cvt.rn.{spelled(dtype)}x2.f32, st",
        doc="Write columns of an accumulator to global or shared memory"
        f"{'' if dtype is float32 else f', rounded to {spelled(dtype)}'}.",
    )


INSTRUCTIONS: Final[tuple[Instruction, ...]] = (
    _ZERO_D,
    *(_mma(kind, in_registers) for in_registers in (False, True) for kind in KINDS),
    *(_mma_kn(kind, in_registers) for in_registers in (False, True) for kind in ("f16", "bf16")),
    *(_load_a(kind) for kind in KINDS),
    _write_d(columns=False),
    _write_d(columns=True),
    *(_write_columns(dtype) for dtype in (float32, float16, bfloat16)),
)
"""The instructions of tensor cores that a warpgroup executes."""
