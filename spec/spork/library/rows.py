"""
Rows of an accumulator
======================

What is done to an accumulator of wgmma between two products, in the registers where it lies. Of each row of 64 by N,
four lanes that follow each other, a *quad*, have the columns: lane t of them has columns 8·b + 2·t and 8·b + 2·t + 1
for every b. So a value of a row is held four times, once by each lane of its quad: 64 by 4 in `Sm90_RmemRows`.

Maxima and sums along rows are taken in two steps: each lane over the columns that it has, in ascending order, and then
the four lanes of a quad by two butterfly shuffles. Between the steps the values of a quad differ, and the order of a
sum is that which the body states. A maximum with NaN is NaN, and a zero with a sign is less than one without.

Powers of two are those of `ex2.approx`, and hardware may differ from the body by its `tolerance`; before it, the
difference and the product are rounded as the law has it. Everything here is in order: between it and wgmma, which has
the accumulator on a timeline of its own, stands a ``wgmma.fence`` (S-11), and behind wgmma the await of its group.

An accumulator in f32 becomes a left operand of 16 bits without moving between threads: the fragment of 64 by 16 of the
one is that of the other.
"""

from __future__ import annotations

from typing import Final

from soundline.spec.dtypes import DType, bfloat16, float16, float32
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Apply, Cast, Expr, Name
from soundline.spec.spork.language.statements import Assign, Reduce, Statement
from soundline.spec.spork.language.types import Argument
from soundline.spec.spork.library.memories import Memory, Sm90_RmemMatrixA, Sm90_RmemMatrixD, Sm90_RmemRows
from soundline.spec.spork.library.parts import (
    Part,
    at,
    between,
    binary,
    multiple,
    nest,
    plus,
    scalar,
    size,
    spelled,
    times,
    window,
)
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.library.sm90 import COLUMNS, ROWS, depth
from soundline.spec.spork.synchronization.timelines import InstrTl
from soundline.spec.spork.threads.units import cuda_warpgroup

QUAD: Final = 4
"""The lanes that hold a row."""

PAIR: Final = 8
"""The columns after which a quad begins again: two for each lane."""


class RowsElementwise(Instruction):
    """Arithmetic on values of rows, by each lane on its own."""

    __slots__ = ()


class RowsReduction(Instruction):
    """Each lane takes the maximum or the sum over the columns of an accumulator that it has."""

    __slots__ = ()


class RowsQuad(Instruction):
    """The lanes of a quad take the maximum or the sum of what the four of them have, by two butterfly shuffles."""

    __slots__ = ()


class AccumulatorByRows(Instruction):
    """Arithmetic on an accumulator, of which each row has a value of its own."""

    __slots__ = ()


class AccumulatorToA(Instruction):
    """An accumulator is rounded to a left operand of 16 bits."""

    __slots__ = ()


_MEMORIES: Final[dict[str, Memory]] = {"D": Sm90_RmemMatrixD, "A": Sm90_RmemMatrixA}
_N: Final[tuple[Expr, ...]] = (between(PAIR, "N", COLUMNS), multiple("N", PAIR))
_LANES: Final[dict[str, Part]] = {"i": ROWS, "t": QUAD}
_COLUMNS: Final[dict[str, Part]] = {
    "i": ROWS,
    "b": binary(Op.Idiv, "N", PAIR),
    "t": QUAD,
    "e": 2,
}
_D: Final = window("D", float32, ROWS, "N")
_OF_D: Final = at("D", "i", plus(plus(times(PAIR, "b"), times(2, "t")), "e"))
"""The element of the accumulator that lane t has in columns b, the first or the second."""


def _rows(name: str) -> Argument:
    return window(name, float32, ROWS, QUAD)


def _own(name: str) -> Expr:
    return at(name, "i", "t")


def _made(
    family: type[Instruction],
    name: str,
    arguments: tuple[Argument, ...],
    body: tuple[Statement, ...],
    ptx: str,
    doc: str,
    preconditions: tuple[Expr, ...] = (),
) -> Instruction:
    windows = [a.name for a in arguments if a.name in ("dst", "src", "a", "b", "rows", *_MEMORIES)]
    return family(
        name=name,
        arguments=arguments,
        preconditions=preconditions,
        body=body,
        unit=cuda_warpgroup,
        instr_tl=InstrTl.cuda_in_order,
        operands={w: Operand(memories=(_MEMORIES.get(w, Sm90_RmemRows),)) for w in windows},
        ptx=ptx,
        doc=doc,
    )


def _elementwise(
    name: str, arguments: tuple[Argument, ...], value: Expr, ptx: str, doc: str
) -> RowsElementwise:
    body = nest(_LANES, Assign(at("dst", "i", "t"), value))
    made = _made(RowsElementwise, f"Sm90_rows_{name}_f32", (_rows("dst"), *arguments), body, ptx, doc)
    assert isinstance(made, RowsElementwise)
    return made


def _exp2_of_difference(left: Expr, right: Expr) -> Expr:
    """exp2((left - right) * scale)."""
    return Apply(Op.Exp2, (times(binary(Op.Sub, left, right), "scale"),))


def _reduction(name: str, step: Statement, ptx: str, doc: str) -> Instruction:
    arguments = (_rows("dst"), _D, size("N"))
    return _made(RowsReduction, f"Sm90_rows_{name}_d_f32", arguments, nest(_COLUMNS, step), ptx, doc, _N)


def _quad(name: str, op: Op, doc: str) -> Instruction:
    lanes = [at("src", "i", lane) for lane in range(QUAD)]
    low, high = (_combined(op, *lanes[k : k + 2]) for k in (0, 2))
    body = nest(_LANES, Assign(at("dst", "i", "t"), _combined(op, low, high)))
    arguments = (_rows("dst"), _rows("src"))
    ptx = "shfl.sync.bfly.b32, max.NaN.f32" if op is Op.Max else "shfl.sync.bfly.b32"
    return _made(RowsQuad, f"Sm90_rows_quad_{name}_f32", arguments, body, ptx, doc)


def _combined(op: Op, left: Expr, right: Expr) -> Expr:
    return Apply(op, (left, right)) if op is Op.Max else binary(op, left, right)


def _by_rows(name: str, extra: tuple[Argument, ...], value: Expr, ptx: str, doc: str) -> Instruction:
    arguments = (_D, _rows("rows"), *extra, size("N"))
    body = nest(_COLUMNS, Assign(_OF_D, value))
    return _made(AccumulatorByRows, f"Sm90_d_{name}_rows_f32", arguments, body, ptx, doc, _N)


def _to_a(dtype: DType) -> Instruction:
    k = depth(dtype)
    loops: dict[str, Part] = {"block": binary(Op.Idiv, "N", k), "i": ROWS, "j": k}
    taken = Cast(dtype, at("D", "i", plus(times(k, "block"), "j")))
    return _made(
        AccumulatorToA,
        f"Sm90_mma_a_from_d_{spelled(dtype)}",
        (window("A", dtype, binary(Op.Idiv, "N", k), ROWS, k), _D, size("N")),
        nest(loops, Assign(at("A", "block", "i", "j"), taken)),
        f"cvt.rn.{spelled(dtype)}x2.f32",
        f"Round an accumulator to left operands of 64 by {k}, one after the other.",
        (between(k, "N", COLUMNS), multiple("N", k)),
    )


INSTRUCTIONS: Final[tuple[Instruction, ...]] = (
    _elementwise("fill", (scalar("value", float32),), Name("value"), "mov.f32", "All rows have one value."),
    _elementwise("copy", (_rows("src"),), _own("src"), "mov.f32", "Copy the values of rows."),
    _elementwise(
        "multiply",
        (_rows("src"),),
        times(_own("dst"), _own("src")),
        "mul.rn.f32",
        "Multiply the values of rows by others.",
    ),
    _elementwise(
        "recip", (_rows("src"),), Apply(Op.Recip, (_own("src"),)), "rcp.rn.f32", "The reciprocals of rows."
    ),
    _elementwise(
        "exp2_difference",
        (_rows("a"), _rows("b"), scalar("scale", float32)),
        _exp2_of_difference(_own("a"), _own("b")),
        "sub.rn.f32, mul.rn.f32, ex2.approx.f32",
        "exp2((a - b) * scale) of the values of rows.",
    ),
    _reduction(
        "max",
        Assign(at("dst", "i", "t"), Apply(Op.Max, (_own("dst"), _OF_D))),
        "max.NaN.f32",
        "Each lane takes the maximum of its value of a row and of the columns that it has.",
    ),
    _reduction(
        "add",
        Reduce(at("dst", "i", "t"), _OF_D),
        "add.rn.f32",
        "Each lane adds the columns that it has to its value of a row, in ascending order.",
    ),
    _quad("max", Op.Max, "The four lanes of a row take the maximum of their values."),
    _quad("sum", Op.Add, "The four lanes of a row take the sum of their values."),
    _by_rows("multiply", (), times(_OF_D, _own("rows")), "mul.rn.f32", "Multiply each row by its value."),
    _by_rows(
        "exp2",
        (scalar("scale", float32),),
        _exp2_of_difference(_OF_D, _own("rows")),
        "sub.rn.f32, mul.rn.f32, ex2.approx.f32",
        "exp2((D - the value of the row) * scale).",
    ),
    *(_to_a(dtype) for dtype in (float16, bfloat16)),
)
"""What a warpgroup does to an accumulator in its registers."""
