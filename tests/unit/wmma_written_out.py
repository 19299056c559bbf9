"""A second reading of Wmma, apart from that of the evaluator: the products that it stands for, written out.

In place of element e of lane l, which is the element of the result at the row and column of the fragment map, the
program has the accumulator's element plus the products along k, in ascending order, of what the lanes hold that the
maps of A and B name. It needs no notion of a warp: a kernel with tensor cores has a meaning by the laws of the other
ops. The maps are spelled digit by digit here, not by the expressions that the OptOp TC makes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from soundline.spec.dtypes import index, uint32
from soundline.spec.ops import bodies
from soundline.spec.uop import AxisType, Op, UOp, const, rebuilt, substitute, toposort
from soundline.spec.values.tensor_cores import LANES, Digits, TensorCore, core_of


def number(value: int) -> UOp:
    return const(value, index)


def digit(of: UOp, k: int) -> UOp:
    """The binary digit k of an index expression."""
    if of.op is Op.Const:
        return number(of.arg.value >> k & 1)
    return Op.Mod(Op.Idiv(of, number(1 << k)), number(2))  # type: ignore[no-any-return]


def joined(digits: Iterable[tuple[UOp, int]]) -> UOp:
    """The number with these digits, each with its position."""
    parts = [d if at == 0 else Op.Mul(d, number(1 << at)) for d, at in digits if d is not number(0)]
    return reduce(Op.Add, parts) if parts else number(0)


def place(digits: Digits, lane: UOp, element: UOp) -> tuple[UOp, UOp]:
    """The row and column of an element of a lane."""
    held = {"l": lane, "e": element}
    row, column = (
        joined((digit(held[name[0]], int(name[1:])), at) for at, name in enumerate(names))
        for names in (digits.row, digits.column)
    )
    return row, column


def holder(digits: Digits, row: UOp, column: UOp) -> tuple[UOp, UOp]:
    """The lane and the element that hold a row and column: the inverse of `place`."""
    parts: dict[str, list[tuple[UOp, int]]] = {"l": [], "e": []}
    for where, names in ((row, digits.row), (column, digits.column)):
        for at, name in enumerate(names):
            parts[name[0]].append((digit(where, at), int(name[1:])))
    return joined(parts["l"]), joined(parts["e"])


def warp_of(wmma: UOp) -> UOp:
    """The WARP axis that a Wmma depends on, by whose iterations its lanes are counted."""
    (warp,) = (r for r in bodies.free_ranges(wmma) if r.op is Op.Range and r.arg.type is AxisType.WARP)
    assert warp.src[0] is number(LANES)
    return warp


def written_out(root: UOp) -> UOp:
    """A program in which every element that is taken of a Wmma is the sum of products that it stands for."""

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        return summed(*src) if node.op is Op.Index and src[0].op is Op.Wmma else None

    made = rebuilt(root, change)
    assert all(n.op is not Op.Wmma for n in toposort(made))
    return made


def summed(wmma: UOp, e: UOp) -> UOp:
    """Element e of this lane, as the ascending reduction from the accumulator on."""
    core, warp = core_of(wmma.arg), warp_of(wmma)
    a, b, accumulator = wmma.src
    found = Op.Index(accumulator, e)
    row, column = place(core.c, warp, e)
    for k in range(core.dims[2]):
        x = held_at(core.a, a, warp, row, number(k))
        y = held_at(core.b, b, warp, number(k), column)
        found = Op.Add(found, Op.Mul(operand(core, x), operand(core, y)))
    return found  # type: ignore[no-any-return]


def held_at(digits: Digits, fragment: UOp, warp: UOp, row: UOp, column: UOp) -> UOp:
    """The element of the matrix at a row and column, from the lane that holds it."""
    lane, e = holder(digits, row, column)
    return Op.Index(substitute(fragment, {warp: lane}), e)  # type: ignore[no-any-return]


def operand(core: TensorCore, value: UOp) -> UOp:
    """What the core sees of an operand, in the dtype of the accumulator: of a tf32, the bits that it keeps."""
    if core.mantissa is not None:
        lost = core.input.mantissa_bits - core.mantissa
        bits = Op.Add(Op.Bitcast(value, arg=uint32), word(1 << (lost - 1)))
        kept = Op.Bitcast(Op.Shl(Op.Shr(bits, word(lost)), word(lost)), arg=core.input)
        zero, one = (const(v, core.input) for v in (0.0, 1.0))
        finite = Op.CmpLt(Op.Mul(value, zero), one)  # false of NaN and infinities
        value = Op.Where(finite, kept, value)
    return value if core.input is core.accumulator else Op.Cast(value, arg=core.accumulator)


def word(value: int) -> UOp:
    return const(value, uint32)
