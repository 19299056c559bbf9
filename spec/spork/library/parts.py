"""
Parts of instructions
=====================

Short ways to write the arguments, assertions and bodies of the instructions of the library. In all of them a text
stands for a name, and an integer for a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from soundline.spec.dtypes import DType
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Binary, Const, Expr, Index, Name
from soundline.spec.spork.language.nodes import SPELLING
from soundline.spec.spork.language.statements import SEQ, Assign, For, Reduce, Statement
from soundline.spec.spork.language.types import Argument, Control, Data

Part = Expr | str | int
"""An expression, the name of one, or a number."""


def part(value: Part) -> Expr:
    """The expression that a part stands for."""
    if isinstance(value, str):
        return Name(value)
    return Const(value) if isinstance(value, int) else value


def size(name: str) -> Argument:
    """An argument that is a size."""
    return Argument(name, Control("size"))


def index(name: str) -> Argument:
    """An argument that is an index."""
    return Argument(name, Control("index"))


def window(name: str, dtype: DType, *sizes: Part) -> Argument:
    """An argument that is a window of data."""
    return Argument(name, Data(dtype, tuple(part(s) for s in sizes), window=True))


def scalar(name: str, dtype: DType) -> Argument:
    """An argument that is one element."""
    return Argument(name, Data(dtype))


def at(name: str, *indices: Part) -> Index:
    """An element of a window."""
    return Index(name, tuple(part(i) for i in indices))


def binary(op: Op, left: Part, right: Part) -> Expr:
    """An op between two parts."""
    return Binary(op, part(left), part(right))


def plus(left: Part, right: Part) -> Expr:
    """left + right."""
    return binary(Op.Add, left, right)


def times(left: Part, right: Part) -> Expr:
    """left · right."""
    return binary(Op.Mul, left, right)


def nest(bounds: Mapping[str, Part], *body: Statement) -> tuple[Statement, ...]:
    """Sequential loops from 0 around statements, the outermost first."""
    found = body
    for iterator, bound in reversed(list(bounds.items())):
        found = (For(iterator, SEQ, Const(0), part(bound), found),)
    return found


def iterators(sizes: Sequence[Part]) -> dict[str, Part]:
    """A loop for each size: i0, i1, …"""
    return {f"i{position}": bound for position, bound in enumerate(sizes)}


def copied(dst: str, src: str, sizes: Sequence[Part]) -> tuple[Statement, ...]:
    """The body of a copy of all of a window."""
    loops = iterators(sizes)
    return nest(loops, Assign(at(dst, *loops), at(src, *loops)))


def added(dst: str, src: str, sizes: Sequence[Part]) -> tuple[Statement, ...]:
    """The body of an addition of all of a window."""
    loops = iterators(sizes)
    return nest(loops, Reduce(at(dst, *loops), at(src, *loops)))


def one_of(value: Part, numbers: Sequence[int]) -> Expr:
    """The assertion that a size is one of some numbers."""
    return reduce(lambda a, b: Binary(Op.Or, a, b), [binary(Op.CmpEq, value, n) for n in numbers])


def between(lo: int, value: Part, hi: int) -> Expr:
    """The assertion that a size is not less than `lo` and not more than `hi`."""
    return binary(Op.And, binary(Op.CmpLe, lo, value), binary(Op.CmpLe, value, hi))


def multiple(value: Part, of: int) -> Expr:
    """The assertion that a size is a multiple of a number."""
    return binary(Op.CmpEq, binary(Op.Mod, value, of), 0)


def spelled(dtype: DType) -> str:
    """The end of the name of an instruction for a dtype."""
    return SPELLING[dtype]
