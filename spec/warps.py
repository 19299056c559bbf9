"""
Warps
=====

A Wmma is one step of all lanes of a warp: what a lane gets depends on the fragments that the others hold. In a kernel
the lanes are the iterations of a WARP axis, and the fragments are scalars that depend on it, Stacked.

`written_out` reads a Wmma as the products that it stands for: in place of element e of lane l, which is the element of
the result at the row and column of the fragment map, it has the accumulator's element plus the products along k, in
ascending order, of what the lanes hold that the fragment maps of A and B name. It needs no notion of a warp, so that a
kernel with tensor cores has a meaning by the laws of the other ops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from soundline.spec import closed
from soundline.spec.dtypes import uint32
from soundline.spec.errors import EvaluationError
from soundline.spec.node import AxisType, ConstArg, UOp, substitute, toposort
from soundline.spec.op_schema import Op
from soundline.spec.sizes import as_node
from soundline.spec.tensor_cores import LANES, Digits, TensorCore, core_of


def total(parts: Sequence[UOp]) -> UOp:
    """The sum of index expressions; 0 for none."""
    zero = as_node(0)
    added = [part for part in parts if part is not zero]
    return reduce(Op.Add, added) if added else zero


def _run(of: UOp, first: int, count: int, bits: int) -> UOp:
    """`count` binary digits of an index of so many bits, from digit `first` on."""
    if of.op is Op.Const:
        return as_node((int(of.arg.value) >> first) % (1 << count))
    shifted = Op.Idiv(of, as_node(1 << first)) if first else of
    return shifted if first + count == bits else Op.Mod(shifted, as_node(1 << count))


def _runs(digits: Sequence[str]) -> Iterator[tuple[int, str, int, int]]:
    """Digits that follow each other in both spellings: (position, whose digit, its number, how many)."""
    start = 0
    for k in range(1, len(digits) + 1):
        follows = k < len(digits) and digits[k] == f"{digits[k - 1][0]}{int(digits[k - 1][1]) + 1}"
        if not follows:
            yield start, digits[start][0], int(digits[start][1]), k - start
            start = k


def _shifted(value: UOp, by: int) -> UOp:
    if value.op is Op.Const:
        return as_node(int(value.arg.value) << by)
    return Op.Mul(value, as_node(1 << by)) if by else value


def _bits(digits: Digits, held: str) -> int:
    """The bits of a lane, or of an element, in a fragment map."""
    return sum(d.startswith(held) for d in (*digits.row, *digits.column))


def spelled(digits: Digits, lane: UOp, element: UOp) -> tuple[UOp, UOp]:
    """The row and column of an element of a lane, as index expressions."""
    held = {"l": lane, "e": element}

    def number(names: Sequence[str]) -> UOp:
        runs = _runs(names)
        return total([_shifted(_run(held[h], d, n, _bits(digits, h)), at) for at, h, d, n in runs])

    return number(digits.row), number(digits.column)


def holder(digits: Digits, row: UOp, column: UOp) -> tuple[UOp, UOp]:
    """The lane and the element that hold a row and column: the inverse of a fragment map."""
    parts: dict[str, list[UOp]] = {"l": [], "e": []}
    for place, names in ((row, digits.row), (column, digits.column)):
        for at, held, digit, count in _runs(names):
            parts[held].append(_shifted(_run(place, at, count, len(names)), digit))
    return total(parts["l"]), total(parts["e"])


def warp_of(node: UOp) -> UOp:
    """The WARP axis that a Wmma depends on, by whose iterations its lanes are counted."""
    free = closed.free_ranges(node)
    found = [r for r in free if r.op is Op.Range and r.arg.type is AxisType.WARP]
    if len(found) != 1 or found[0].src[0] is not as_node(LANES):
        raise EvaluationError(
            f"a Wmma depends on one WARP axis of {LANES} lanes, this one on {len(found)} WARP axes",
            rule="uop-wmma-sem",
            where="Wmma",
            hint="the OptOp TC makes one",
        )
    return found[0]


def written_out(root: UOp) -> UOp:
    """A program in which every element that is taken of a Wmma is the sum of products that it stands for."""
    new: dict[UOp, UOp] = {}
    for node in toposort(root):
        src = tuple(new.get(s, s) for s in node.src)
        if node.op is Op.Index and node.src[0].op is Op.Wmma and len(node.src) == 2:
            new[node] = _element(
                UOp(Op.Wmma, tuple(new[s] for s in node.src[0].src), node.src[0].arg), src[1]
            )
        elif node.op is Op.Wmma:
            new[node] = node  # no value by itself: its elements are asked for
        else:
            new[node] = UOp(node.op, src, node.arg, node.tag) if node.src else node
    return new[root]


def _element(wmma: UOp, e: UOp) -> UOp:
    """Element e of this lane, as the fold that the law of `tensor_cores` says."""
    core, warp = core_of(wmma.arg), warp_of(wmma)
    a, b, found = wmma.src[0], wmma.src[1], Op.Index(wmma.src[2], e)
    row, column = spelled(core.c, warp, e)
    for k in range(core.dims[2]):
        x = held_at(core.a, a, warp, row, as_node(k))
        y = held_at(core.b, b, warp, as_node(k), column)
        p, q = (_operand(core, v) for v in (x, y))
        found = Op.Add(found, Op.Mul(p, q))
    return found


def held_at(digits: Digits, fragment: UOp, warp: UOp, row: UOp, column: UOp) -> UOp:
    """The element of the matrix at a row and column, from the lane that holds it."""
    lane, e = holder(digits, row, column)
    return Op.Index(substitute(fragment, {warp: lane}), e)


def _operand(core: TensorCore, value: UOp) -> UOp:
    """What the core sees of an operand, in the dtype of the accumulator."""
    if core.mantissa is not None:
        lost = core.input.mantissa_bits - core.mantissa
        bits = Op.Add(Op.Bitcast(value, arg=uint32), _word(1 << (lost - 1)))
        kept = Op.Shl(Op.Shr(bits, _word(lost)), _word(lost))
        finite = Op.CmpLt(Op.Mul(value, _like(value, 0.0)), _like(value, 1.0))  # false of NaN and infinities
        value = Op.Where(finite, Op.Bitcast(kept, arg=core.input), value)
    return value if core.input is core.accumulator else Op.Cast(value, arg=core.accumulator)


def _word(value: int) -> UOp:
    return UOp(Op.Const, (), ConstArg(value, uint32))


def _like(node: UOp, value: float) -> UOp:
    return UOp(Op.Const, (), ConstArg(value, node.dtype))
