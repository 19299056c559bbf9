"""
Instructions of a warp
======================

A warp passes the registers of its threads around. The windows have one element for each lane: their first index is
distributed over the threads of the warp, so that an interval stands there.
"""

from __future__ import annotations

from typing import Final

from soundline.spec.dtypes import DType, float32, int32, uint32
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Apply, Binary, Expr
from soundline.spec.spork.language.statements import Assign, If, Statement
from soundline.spec.spork.language.types import Argument
from soundline.spec.spork.library.memories import CudaRmem
from soundline.spec.spork.library.parts import (
    Part,
    at,
    binary,
    index,
    nest,
    one_of,
    plus,
    spelled,
    times,
    window,
)
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.synchronization.timelines import InstrTl
from soundline.spec.spork.threads.units import cuda_warp
from soundline.spec.values.tensor_cores import LANES

SHUFFLED: Final = (float32, int32, uint32)
"""The dtypes of 32 bits, which a shuffle moves."""


class Shuffle(Instruction):
    """``shfl.sync``: each lane takes the register of another lane."""

    __slots__ = ()


class WarpReduction(Instruction):
    """A reduction over the lanes of a warp by five butterfly shuffles, whose result every lane has."""

    __slots__ = ()


_LANES: Final = Operand(memories=(CudaRmem,), unit=cuda_warp)


def _shuffle(
    mode: str,
    dtype: DType,
    argument: Argument,
    asserted: Expr,
    body: tuple[Statement, ...],
    ptx: str,
    doc: str,
) -> Shuffle:
    return Shuffle(
        name=f"cuda_shfl_{mode}_{spelled(dtype)}",
        arguments=(window("dst", dtype, LANES), window("src", dtype, LANES), argument),
        preconditions=(asserted,),
        body=nest({"lane": LANES}, *body),
        unit=cuda_warp,
        instr_tl=InstrTl.cuda_in_order,
        operands={"dst": _LANES, "src": _LANES},
        ptx=f"shfl.sync.{ptx}.b32",
        doc=doc,
    )


def _taken(source: Part) -> Assign:
    return Assign(at("dst", "lane"), at("src", source))


def _shuffles(dtype: DType) -> tuple[Shuffle, ...]:
    bit = binary(Op.Mod, binary(Op.Idiv, "lane", "mask"), 2)
    other = binary(Op.Sub, plus("lane", "mask"), times(times(2, "mask"), bit))
    below = binary(Op.CmpLt, plus("lane", "delta"), LANES)
    above = binary(Op.CmpGe, "lane", "delta")
    far = binary(Op.CmpLt, "delta", LANES)
    return (
        _shuffle(
            "broadcast",
            dtype,
            index("source"),
            binary(Op.And, binary(Op.CmpLe, 0, "source"), binary(Op.CmpLt, "source", LANES)),
            (_taken("source"),),
            "idx",
            "Every lane takes the register of one lane.",
        ),
        _shuffle(
            "xor",
            dtype,
            index("mask"),
            one_of("mask", (1, 2, 4, 8, 16)),
            (_taken(other),),
            "bfly",
            "Every lane takes the register of the lane whose number differs in one bit.",
        ),
        _shuffle(
            "down",
            dtype,
            index("delta"),
            binary(Op.And, binary(Op.CmpLe, 0, "delta"), far),
            (If(below, (_taken(plus("lane", "delta")),), (_taken("lane"),)),),
            "down",
            "Every lane takes the register of a lane above it, or where there is none its own.",
        ),
        _shuffle(
            "up",
            dtype,
            index("delta"),
            binary(Op.And, binary(Op.CmpLe, 0, "delta"), far),
            (If(above, (_taken(binary(Op.Sub, "lane", "delta")),), (_taken("lane"),)),),
            "up",
            "Every lane takes the register of a lane below it, or where there is none its own.",
        ),
    )


def _butterfly(op: Op) -> Expr:
    """All 32 elements, in the order of shuffles by 16, 8, 4, 2 and 1: the same for each lane, for `op` commutes."""
    values: list[Expr] = [at("src", lane) for lane in range(LANES)]
    while len(values) > 1:
        half = len(values) // 2
        pairs = zip(values[:half], values[half:], strict=True)
        values = [Apply(op, (a, b)) if op is Op.Max else Binary(op, a, b) for a, b in pairs]
    return values[0]


def _reduction(name: str, dtype: DType, op: Op) -> WarpReduction:
    return WarpReduction(
        name=f"cuda_warp_{name}_{spelled(dtype)}",
        arguments=(window("dst", dtype, LANES), window("src", dtype, LANES)),
        body=nest({"lane": LANES}, Assign(at("dst", "lane"), _butterfly(op))),
        unit=cuda_warp,
        instr_tl=InstrTl.cuda_in_order,
        operands={"dst": _LANES, "src": _LANES},
        ptx="shfl.sync.bfly.b32, max.NaN.f32" if (op, dtype) == (Op.Max, float32) else "shfl.sync.bfly.b32",
        doc=f"Every lane takes the {'sum' if op is Op.Add else 'maximum'} of the registers of all lanes.",
    )


INSTRUCTIONS: Final[tuple[Instruction, ...]] = (
    *(shuffle for dtype in SHUFFLED for shuffle in _shuffles(dtype)),
    *(_reduction("sum", dtype, Op.Add) for dtype in SHUFFLED),
    *(_reduction("max", dtype, Op.Max) for dtype in SHUFFLED),
)
"""The shuffles and reductions of a warp."""
