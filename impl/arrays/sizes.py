"""
Symbolic sizes
==============

A `Variable` is a size that is known when a program is called, and not when it is compiled: a name and the least and
greatest value that it may have. Sums, products and quotients of sizes are sizes. What is asked of a size is answered
where the answer is one for all values that it may have, and is otherwise a `UsageError`, so that no program is compiled
for one value by mistake. Only ``==`` is always answered: two sizes that need not be equal are taken for different, and
the program is made for the general case.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from soundline.impl.analysis import arithmetic
from soundline.impl.analysis.linear import COMPARED
from soundline.spec.dtypes import index, int32
from soundline.spec.errors import UsageError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.sizes import SizePolynomial, as_size, polynomial
from soundline.spec.uop import Op, UOp, param, toposort

FIRST: Final = 1 << 20
"""The slots of Variables begin here, so that they are no arguments of a function."""
_SLOTS = itertools.count(FIRST)
_NAMES: Final[dict[int, str]] = {}
Bounds = tuple[int, int]


class Size:
    """A size that is not one number: an expression over Variables."""

    __slots__ = ("as_uop",)

    def __init__(self, node: UOp) -> None:
        self.as_uop = node

    def __repr__(self) -> str:
        return described(self.as_uop)

    # Arithmetic ---------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return _made(Op.Add, self, other)

    def __radd__(self, other: Any) -> Any:
        return _made(Op.Add, other, self)

    def __sub__(self, other: Any) -> Any:
        return _made(Op.Sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _made(Op.Sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return _made(Op.Mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _made(Op.Mul, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _made(Op.Idiv, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _made(Op.Idiv, other, self)

    def __mod__(self, other: Any) -> Any:
        return _made(Op.Mod, self, other)

    def __rmod__(self, other: Any) -> Any:
        return _made(Op.Mod, other, self)

    def __neg__(self) -> Any:
        return 0 - self

    # Questions ----------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Size | int | UOp):
            return NotImplemented
        return interval(polynomial(as_node(self - other))) == (0, 0)

    def __hash__(self) -> int:
        return hash(polynomial(self.as_uop))

    def __bool__(self) -> bool:
        return True

    def __lt__(self, other: Any) -> bool:
        return self._decided(other, "<", Op.CmpLt)

    def __le__(self, other: Any) -> bool:
        return self._decided(other, "≤", Op.CmpLe)

    def __gt__(self, other: Any) -> bool:
        return self._decided(other, ">", Op.CmpGt)

    def __ge__(self, other: Any) -> bool:
        return self._decided(other, "≥", Op.CmpGe)

    def _decided(self, other: Any, sign: str, op: Op) -> bool:
        found = COMPARED[op](*interval(polynomial(as_node(self - other))))
        if found is None:
            raise _unknown(f"whether {self} {sign} {other} depends on the size")
        return found

    def __index__(self) -> int:
        raise _unknown(f"the size {self} is not one number")

    __int__ = __index__

    def __float__(self) -> float:
        raise _unknown(f"the size {self} is not one number")


class Variable(Size):
    """A named size between `lo` and `hi`, inclusive.

    >>> n = Variable("n", 1, 64)
    >>> n + 1 > 1, n * 2, n.bind(5)
    (True, n * 2, 5)
    """

    __slots__ = ("hi", "lo", "name")

    def __init__(self, name: str, lo: int, hi: int) -> None:
        if not str(name).isidentifier() or not 1 <= lo <= hi <= int32.max:
            raise UsageError(f"expected a name and 1 ≤ lo ≤ hi; got {name!r}, {lo}, {hi}", where="Variable")
        self.name, self.lo, self.hi = name, int(lo), int(hi)
        slot = next(_SLOTS)
        _NAMES[slot] = name
        super().__init__(param(slot, index, bounds=(self.lo, self.hi)))

    @property
    def slot(self) -> int:
        """The slot of its Param."""
        return int(self.as_uop.arg.slot)

    def bind(self, value: Any) -> int:
        """The value, if it is one that the variable may have; raises `UsageError` otherwise."""
        if (type(value) is not int and not isinstance(value, np.integer)) or not self.lo <= value <= self.hi:
            raise UsageError(f"the size {self.name} is {value!r}, not one of {self.lo} … {self.hi}")
        return int(value)


def _unknown(what: str) -> UsageError:
    return UsageError(what, hint="compile for numbers, or for a narrower range of sizes")


def as_node(size: Any) -> UOp:
    """A size as an index scalar."""
    return (
        size.as_uop
        if isinstance(size, Size)
        else size
        if isinstance(size, UOp)
        else arithmetic.number(int(size))
    )


def is_size(value: Any) -> bool:
    """Whether this is a size that is not one number."""
    return isinstance(value, Size)


def size_of(value: Any) -> Any:
    """A size of the law as one of the Tensor layer: a number, or a `Size`."""
    found = as_size(value) if isinstance(value, UOp) else value
    return Size(found) if isinstance(found, UOp) else found


def _made(op: Op, a: Any, b: Any) -> Any:
    if not isinstance(a, Size | int | UOp) or not isinstance(b, Size | int | UOp):
        return NotImplemented
    left, right = as_node(a), as_node(b)
    if op in (Op.Idiv, Op.Mod):
        terms = polynomial(left).terms
        if isinstance(b, int) and b > 0 and all(n % b == 0 for n in terms.values()):
            return 0 if op is Op.Mod else size_of(_summed({m: n // b for m, n in terms.items()}))
    return size_of(UOp(op, (left, right)))


def _summed(terms: Mapping[tuple[UOp, ...], int]) -> UOp:
    total = arithmetic.number(0)
    for atoms, n in terms.items():
        term = arithmetic.number(n)
        for atom in atoms:
            term = arithmetic.mul(atom, term)
        total = arithmetic.add(total, term)
    return total


def interval(size: SizePolynomial) -> Bounds:
    """The least and greatest value that a polynomial may have, each monomial by itself."""
    lo = hi = 0
    for atoms, n in size.terms.items():
        low, high = 1, 1
        for atom in atoms:
            known = arithmetic.bounds(atom)
            assert known is not None
            ends = [a * b for a in (low, high) for b in (int(known.lo), int(known.hi))]
            low, high = min(ends), max(ends)
        lo, hi = lo + min(n * low, n * high), hi + max(n * low, n * high)
    return lo, hi


def capacity(shape: Any) -> int:
    """The most elements that a shape may have."""
    return interval(polynomial(as_node(math.prod(map(size_of, shape)))))[1]


def is_variable(node: UOp) -> bool:
    """Whether a node is the Param of a Variable."""
    return node.op is Op.Param and node.arg.slot >= FIRST and node.dtype is index


def is_known(size: Any) -> bool:
    """Whether a size of the law is a number, or an expression over Variables alone."""
    if isinstance(size, int):
        return True
    return all(is_variable(n) for n in toposort(size) if n.op in (Op.Param, Op.Load, Op.Buffer, Op.Range))


def variables(*roots: UOp) -> list[UOp]:
    """The Variables that graphs depend on, in the order in which they were made."""
    return sorted((n for n in toposort(*roots) if is_variable(n)), key=lambda n: n.arg.slot)


def name_of(node: UOp) -> str:
    """The name of a Variable."""
    return _NAMES[node.arg.slot]


def bound(size: Any, values: Mapping[UOp, int]) -> int:
    """The number that a size is where its Variables have these values."""
    if isinstance(size, int):
        return size
    total = 0
    for atoms, factor in polynomial(as_node(size)).terms.items():
        for atom in atoms:
            known = values.get(atom)
            factor *= known if known is not None else _evaluated(atom, values)
        total += factor
    return total


def _evaluated(node: UOp, values: Mapping[UOp, int]) -> int:
    """The number that a quotient or another size is which is no Variable."""
    return int(evaluate(node, {known.arg.slot: value for known, value in values.items()}).item())


def described(node: UOp) -> str:
    """A size for a reader: ``n * 2 + 1``."""
    parts = []
    for atoms, n in polynomial(node).terms.items():
        names = [name_of(a) if is_variable(a) else f"({a.op.name})" for a in atoms]
        parts.append(" * ".join([*names, *([str(n)] if n != 1 or not names else [])]))
    return " + ".join(parts) or "0"
