"""
Tensor cores of Sm80
====================

``mma.sync`` multiplies matrices that lie in the registers of a warp: D, 16 by 8, gains A, 16 by K, times B, K by 8.
Fragments are loaded by plain loads or by ``ldmatrix``, and an accumulator is zeroed, loaded and stored.

Operands are f16, bf16 or *tf32*, accumulators are f32. Data of tf32 is f32 of which the hardware keeps ten bits of
mantissa; the sequential body keeps all of them, and adds in ascending order, each product and sum rounded to f32. Which
bits are kept, and how sums are ordered and rounded, is not specified; `tensor_cores.tolerance` bounds the difference.
"""

from __future__ import annotations

from typing import Final

from soundline.spec.dtypes import DType, bfloat16, float16, float32
from soundline.spec.spork.language.expressions import Cast, Const, Expr
from soundline.spec.spork.language.statements import Assign, Reduce, Statement
from soundline.spec.spork.language.types import Argument
from soundline.spec.spork.library.copies import SHARED
from soundline.spec.spork.library.memories import (
    CudaGmemLinear,
    Memory,
    Sm80_RmemMatrixA,
    Sm80_RmemMatrixB,
    Sm80_RmemMatrixD,
)
from soundline.spec.spork.library.parts import at, copied, nest, one_of, plus, size, times, window
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.synchronization.timelines import InstrTl
from soundline.spec.spork.threads.units import cuda_warp

KINDS: Final[dict[str, tuple[DType, tuple[int, ...]]]] = {
    "tf32": (float32, (4, 8)),
    "f16": (float16, (8, 16)),
    "bf16": (bfloat16, (8, 16)),
}
"""How operands are spelled, with their dtype and the sizes K that there are."""


class MmaZeroD(Instruction):
    """The accumulator of a warp becomes zero."""

    __slots__ = ()


class MmaLoad(Instruction):
    """A fragment is loaded from memory by the loads of its threads."""

    __slots__ = ()


class MmaStoreD(Instruction):
    """The accumulator of a warp is stored by the stores of its threads."""

    __slots__ = ()


class Mma(Instruction):
    """``mma.sync.aligned.m16n8k*.row.col.f32``: D gains A times B."""

    __slots__ = ()


class LdMatrix(Instruction):
    """``ldmatrix``: fragments are loaded from shared memory, 8 by 8 elements of 16 bits at a time."""

    __slots__ = ()


_D: Final = Operand(memories=(Sm80_RmemMatrixD,))
_A: Final = Operand(memories=(Sm80_RmemMatrixA,))
_B: Final = Operand(memories=(Sm80_RmemMatrixB,))
_MEMORY: Final = Operand(memories=(CudaGmemLinear, *SHARED))


def _zero_d(kind: str) -> MmaZeroD:
    return MmaZeroD(
        name=f"Sm80_mma_zero_d_{kind}",
        arguments=(window("D", float32, 16, 8),),
        body=nest({"i": 16, "j": 8}, Assign(at("D", "i", "j"), Const(0))),
        unit=cuda_warp,
        instr_tl=InstrTl.cuda_in_order,
        operands={"D": _D},
        ptx="mov.f32",
        doc="Zero an accumulator.",
    )


def _store_d(kind: str) -> MmaStoreD:
    return MmaStoreD(
        name=f"Sm80_mma_store_d_{kind}",
        arguments=(window("dst", float32, 16, 8), window("D", float32, 16, 8)),
        body=copied("dst", "D", (16, 8)),
        unit=cuda_warp,
        instr_tl=InstrTl.cuda_in_order,
        operands={"dst": _MEMORY, "D": _D},
        ptx="st.v2.f32",
        doc="Store an accumulator to global or shared memory.",
    )


def _load(
    name: str,
    fragment: Argument,
    src: Argument,
    operand: Operand,
    body: tuple[Statement, ...],
    doc: str,
    *k: int,
) -> MmaLoad:
    return MmaLoad(
        name=name,
        arguments=(fragment, src, *((size("K"),) if k else ())),
        preconditions=(one_of("K", k),) if k else (),
        body=body,
        unit=cuda_warp,
        instr_tl=InstrTl.cuda_in_order,
        operands={fragment.name: operand, "src": _MEMORY},
        ptx="ld",
        doc=doc,
    )


def _loads(kind: str) -> tuple[MmaLoad, ...]:
    dtype, k = KINDS[kind]
    turned = nest({"i": "K", "j": 8}, Assign(at("B", "i", "j"), at("src", "j", "i")))
    a, b, d = window("A", dtype, 16, "K"), window("B", dtype, "K", 8), window("D", float32, 16, 8)
    return (
        _load(
            f"Sm80_mma_load_a_{kind}",
            a,
            window("src", dtype, 16, "K"),
            _A,
            copied("A", "src", (16, "K")),
            "Load a left operand, 16 rows by K.",
            *k,
        ),
        _load(
            f"Sm80_mma_load_b_{kind}",
            b,
            window("src", dtype, "K", 8),
            _B,
            copied("B", "src", ("K", 8)),
            "Load a right operand, K rows by 8.",
            *k,
        ),
        _load(
            f"Sm80_mma_load_b_col_{kind}",
            b,
            window("src", dtype, 8, "K"),
            _B,
            turned,
            "Load a right operand from memory that holds its columns as rows, 8 by K.",
            *k,
        ),
        _load(
            f"Sm80_mma_load_d_{kind}",
            d,
            window("src", float32, 16, 8),
            _D,
            copied("D", "src", (16, 8)),
            "Load an accumulator.",
        ),
    )


def product(kind: str, left: Expr, right: Expr) -> Expr:
    """The product of two operands, in f32."""
    if KINDS[kind][0] is float32:
        return times(left, right)
    return times(Cast(float32, left), Cast(float32, right))


def _mma(kind: str) -> Mma:
    dtype, k = KINDS[kind]
    gain = Reduce(at("D", "i", "j"), product(kind, at("A", "i", "k"), at("B", "k", "j")))
    shapes = " or ".join(f"m16n8k{n}" for n in k)
    return Mma(
        name=f"Sm80_mma_{kind}",
        arguments=(
            window("D", float32, 16, 8),
            window("A", dtype, 16, "K"),
            window("B", dtype, "K", 8),
            size("K"),
        ),
        preconditions=(one_of("K", k),),
        body=nest({"i": 16, "j": 8, "k": "K"}, gain),
        unit=cuda_warp,
        instr_tl=InstrTl.cuda_in_order,
        operands={"D": _D, "A": _A, "B": _B},
        ptx=f"mma.sync.aligned.m16n8k*.row.col.f32.{kind}.{kind}.f32",
        doc=f"Add the product of two operands to an accumulator: {shapes}.",
    )


# ldmatrix ---------------------------------------------------------------------------------------------------------


def _ldmatrix(
    name: str,
    dtype: DType,
    count: int,
    fragment: Argument,
    src: tuple[int, int],
    body: tuple[Statement, ...],
    doc: str,
) -> LdMatrix:
    taken: dict[str, Memory] = {"A": Sm80_RmemMatrixA, "B": Sm80_RmemMatrixB}
    suffix = "bf16" if dtype is bfloat16 else "f16"
    turned = ".trans" if "_trans_" in name else ""
    return LdMatrix(
        name=f"Sm80_ldmatrix_{name}_{suffix}",
        arguments=(fragment, window("src", dtype, *src)),
        body=body,
        unit=cuda_warp,
        instr_tl=InstrTl.cuda_in_order,
        operands={
            fragment.name: Operand(memories=(taken[fragment.name],)),
            "src": Operand(memories=SHARED),
        },
        ptx=f"ldmatrix.sync.aligned.m8n8.x{count}{turned}.shared.b16",
        doc=doc,
    )


def _ldmatrices(dtype: DType) -> tuple[LdMatrix, ...]:
    """The ways to load fragments. Fragments of A are rows of what is loaded and those of B are columns, so that it is B
    which takes the transposing form from memory that holds B as it is.
    """
    found: list[LdMatrix] = []
    for k, count in ((8, 2), (16, 4)):
        a = window("A", dtype, 16, k)
        turned = nest({"i": 16, "j": k}, Assign(at("A", "i", "j"), at("src", "j", "i")))
        rows, columns = (
            f"Load a left operand, 16 by {k}",
            f"from memory that holds its columns as rows, {k} by 16.",
        )
        found += [
            _ldmatrix(f"x{count}_a", dtype, count, a, (16, k), copied("A", "src", (16, k)), f"{rows}."),
            _ldmatrix(f"x{count}_trans_a", dtype, count, a, (k, 16), turned, f"{rows}, {columns}"),
        ]
    for k, count in ((8, 1), (16, 2)):
        b = window("B", dtype, k, 8)
        turned = nest({"i": k, "j": 8}, Assign(at("B", "i", "j"), at("src", "j", "i")))
        rows, columns = (
            f"Load a right operand, {k} by 8",
            f"from memory that holds its columns as rows, 8 by {k}.",
        )
        found += [
            _ldmatrix(f"x{count}_b", dtype, count, b, (8, k), turned, f"{rows}, {columns}"),
            _ldmatrix(f"x{count}_trans_b", dtype, count, b, (k, 8), copied("B", "src", (k, 8)), f"{rows}."),
        ]
    return (*found, *_pairs(dtype))


def _pairs(dtype: DType) -> tuple[LdMatrix, LdMatrix]:
    """Two right operands of 16 by 8 that stand side by side."""
    b = window("B", dtype, 2, 16, 8)
    column = _column("p", "j")
    loops = {"p": 2, "i": 16, "j": 8}
    turned = nest(loops, Assign(at("B", "p", "i", "j"), at("src", column, "i")))
    plain = nest(loops, Assign(at("B", "p", "i", "j"), at("src", "i", column)))
    doc = "Load two right operands, 16 by 8 each, that stand side by side"
    return (
        _ldmatrix(
            "x4_b", dtype, 4, b, (16, 16), turned, f"{doc}, from memory that holds their columns as rows."
        ),
        _ldmatrix("x4_trans_b", dtype, 4, b, (16, 16), plain, f"{doc}."),
    )


def _column(pair: str, column: str) -> Expr:
    return plus(times(8, pair), column)


INSTRUCTIONS: Final[tuple[Instruction, ...]] = (
    *(_zero_d(kind) for kind in KINDS),
    *(load for kind in KINDS for load in _loads(kind)),
    *(_mma(kind) for kind in KINDS),
    *(_store_d(kind) for kind in KINDS),
    *(load for dtype in (float16, bfloat16) for load in _ldmatrices(dtype)),
)
"""The instructions of tensor cores that a warp executes."""
