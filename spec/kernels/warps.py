"""
Warps
=====

A Wmma is one step of all lanes of a warp: what a lane gets depends on the fragments that the others hold. In a kernel
the lanes are the iterations of a WARP axis, and the fragments are scalars that depend on it, Stacked. So the kernel
says by index expressions which element of a matrix a lane holds: `spelled` writes a fragment map as such expressions,
of few operations because digits that follow each other in both spellings are taken at once.

>>> from soundline.spec.values.tensor_cores import Digits
>>> from soundline.spec.ops.textual_form import program_text
>>> from soundline.spec.uop import AxisType, loop
>>> row, column = spelled(Digits(("l2", "l3", "l4"), ("e0", "l0", "l1")), loop(32, 0, AxisType.WARP), loop(2, 1))
>>> print(program_text(row, column))
%0 = Range(32:index; id=0, type=WARP)  # index[]
%1 = Idiv(%0, 4:index)  # index[]
%2 = Range(2:index; id=1)  # index[]
%3 = Mod(%0, 4:index)  # index[]
%4 = Mul(%3, 2:index)  # index[]
%5 = Add(%2, %4)  # index[]
return %1, %5
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.sizes import as_node
from soundline.spec.values.tensor_cores import Digits


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
