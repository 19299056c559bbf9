"""
Rounded arithmetic, by what is known of it
==========================================

Between forgetting what float arithmetic computes and bit-blasting it: each rounded operation is an unknown function of
which ground facts are given that hold of every format here, because rounding to nearest keeps order, keeps what is
representable, and looks at nothing but the exact result.

=============  =====================================================================================================
special        NaN, infinities, zeros and signs of each result, as IEEE 754 has them
bounds         |x| ≥ 1 ⇒ |x·y| ≥ |y|;  y ≥ 0 ⇒ x + y ≥ x;  |x| ≤ |y| ⇒ |x/y| ≤ 1;  x/x = 1;  and their mirror images;
               moderate operands have finite results
order          x ≤ y and u ≤ v ⇒ x + u ≤ y + v; products, quotients and roots likewise, by their signs
negation       (-x) + (-y) = -(x + y), but for the sign of a zero
powers of two  x/c = x·(1/c) where c and 1/c are powers of two of the format;  2x = x + x;  3x = (x + x) + x
exactness      (x - y) + y = x where y/2 ≤ x ≤ 2y (Sterbenz);  √(x·x) = |x|;  float(i) + float(j) = float(i + j)
narrowing      an operation of a format of p bits, done in one of 2p + 2 bits or more and rounded, is the operation
=============  =====================================================================================================

A format without infinities has NaN in their place, so of its results only the facts that survive are given. What is
unsatisfiable under these facts is so; a model of them may be none of the real arithmetic.
"""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any, ClassVar

import z3

from soundline.spec.dtypes import DType, exponent_range, int32, int64
from soundline.spec.ops.node import Op, UOp
from soundline.verify.smt.goals.algebra import Law
from soundline.verify.smt.goals.obligations import Obligation
from soundline.verify.smt.values import ieee
from soundline.verify.smt.values.machine_numbers import Machine, Structure, is_conversion
from soundline.verify.smt.values.narrowing import narrowed
from soundline.verify.smt.values.rounding_facts import FACTS, of_square, tiny
from soundline.verify.smt.values.rounding_pairs import PAIRS, undone

MOST_PAIRED = 8
"""Beyond so many operations of one kind, facts about pairs of them are left out."""


class Rounded(Structure):
    """As `Structure`, with facts about each rounded operation and about pairs of them."""

    NAME: ClassVar[str] = "facts about rounding"

    def __init__(self, obligation: Obligation) -> None:
        super().__init__(obligation)
        self.applied: dict[tuple[Op, DType, int, int], Any] = {}
        """The results by op, dtype and operands; of a root, the operand twice."""
        self.operands: dict[tuple[Op, DType], list[tuple[Any, Any, Any]]] = {}
        """The operands and result of every operation, by op and dtype, in the order in which they were met."""

    def law(self, node: UOp) -> Law | None:
        """The law of a node; of a rounded operation, an unknown function with facts about it."""
        if node.op is Op.Cast and narrowed(node) is not None:
            return lambda algebra, n: algebra.term(narrowed(n))
        if node.dtype.is_float and node.op in ROUNDED:
            return ROUNDED[node.op]
        return Machine.law(self, node) if is_conversion(node) else super().law(node)

    def denial(self) -> list[Any]:
        """With the facts about pairs, once every operation has been met."""
        formulas = super().denial()
        known = len(self.facts)
        for (op, dtype), found in list(self.operands.items()):
            if op is Op.Add and len(found) <= MOST_PAIRED:
                for one, other in permutations(list(found), 2):
                    self.facts += undone(self, dtype, one, other)
        for (op, _), found in self.operands.items():
            if len(found) <= MOST_PAIRED:
                for one, other in combinations(found, 2):
                    self.facts += PAIRS[op](self, one, other)
        return formulas + self.facts[known:]

    def apply(self, op: Op, dtype: DType, x: Any, y: Any) -> Any:
        """The unknown result of a sum, product, quotient or root, with the facts about it."""
        key = (op, dtype, x.get_id(), y.get_id())
        if key not in self.applied:
            self.spurious = True
            result = ieee.unknown(self, op, dtype, [x] if op is Op.Sqrt else [x, y])
            self.applied[key] = result
            self.facts += FACTS[op](self, dtype, x, y, result)
            if not dtype.has_infinity:
                self.facts.append(z3.Not(self.infinite(result)))
            self.operands.setdefault((op, dtype), []).append((x, y, result))
        return self.applied[key]

    # words --------------------------------------------------------------------------------------------------------

    def sum_is_exact(self, dtype: DType, x: Any, y: Any) -> Any:
        """That x + y is exact: of two signs, and neither more than twice the other, or both tiny."""
        double_x, double_y = (self.apply(Op.Add, dtype, v, v) for v in (self.size(x), self.size(y)))
        near = z3.And(self.le(self.size(x), double_y), self.le(self.size(y), double_x))
        small = z3.And(tiny(self, dtype, x), tiny(self, dtype, y))
        finite = z3.Not(z3.Or(self.infinite(x), self.infinite(y)))
        return z3.And(self.numbers(x, y), finite, self.minus(x) != self.minus(y), z3.Or(near, small))

    def number(self, dtype: DType, value: float) -> Any:
        """A literal."""
        return ieee.number(self, dtype, value)

    def nan(self, x: Any) -> Any:
        """That this is NaN."""
        return z3.fpIsNaN(x, self.ctx)

    def zero(self, x: Any) -> Any:
        """That this is a zero."""
        return z3.fpIsZero(x, self.ctx)

    def infinite(self, x: Any) -> Any:
        """That this is an infinity."""
        return z3.fpIsInf(x, self.ctx)

    def minus(self, x: Any) -> Any:
        """That this has its sign bit set, and is no NaN."""
        return z3.fpIsNegative(x, self.ctx)

    def negated(self, x: Any) -> Any:
        """-x."""
        return x.arg(0) if x.decl().kind() == z3.Z3_OP_FPA_NEG else z3.fpNeg(x, self.ctx)

    def size(self, x: Any) -> Any:
        """|x|."""
        return z3.fpAbs(x, self.ctx)

    def le(self, x: Any, y: Any) -> Any:
        """x ≤ y; False where either is NaN."""
        return z3.fpLEQ(x, y, self.ctx)

    def same(self, x: Any, y: Any) -> Any:
        """The same float."""
        return ieee.same(self, x, y)

    def numbers(self, *floats: Any) -> Any:
        """That none of these is NaN."""
        return z3.And(*(z3.Not(self.nan(x)) for x in floats))


# Laws -------------------------------------------------------------------------------------------------------------


def _add(algebra: Rounded, node: UOp) -> Any:
    result = algebra.apply(Op.Add, node.dtype, *algebra.sources(node))
    return _of_integers(algebra, node, result)


def _sub(algebra: Rounded, node: UOp) -> Any:
    x, y = algebra.sources(node)
    result = algebra.apply(Op.Add, node.dtype, x, algebra.negated(y))
    return _of_integers(algebra, node, result)


def _of_integers(algebra: Rounded, node: UOp, result: Any) -> Any:
    """The sum or difference of two integers as floats, with the fact that it is their sum where that is exact."""
    if all(s.op is Op.Cast and s.src[0].dtype.is_int for s in node.src):
        integers = [s.src[0] for s in node.src]
        bits = max(i.dtype.bits for i in integers)
        wide = int32 if bits <= 16 else int64
        if bits <= 32 and bits <= node.dtype.mantissa_bits and bits <= exponent_range(node.dtype)[1]:
            whole = UOp(node.op, tuple(UOp(Op.Cast, (i,), wide) for i in integers))
            algebra.facts.append(algebra.same(result, algebra.term(UOp(Op.Cast, (whole,), node.dtype))))
    return result


def _mul(algebra: Rounded, node: UOp) -> Any:
    return algebra.apply(Op.Mul, node.dtype, *algebra.sources(node))


def _div(algebra: Rounded, node: UOp) -> Any:
    return algebra.apply(Op.Div, node.dtype, *algebra.sources(node))


def _recip(algebra: Rounded, node: UOp) -> Any:
    (x,) = algebra.sources(node)
    return algebra.apply(Op.Div, node.dtype, algebra.number(node.dtype, 1.0), x)


def _sqrt(algebra: Rounded, node: UOp) -> Any:
    (x,) = algebra.sources(node)
    result = algebra.apply(Op.Sqrt, node.dtype, x, x)
    square = node.src[0]
    if square.op is Op.Mul and square.src[0] is square.src[1]:
        algebra.facts.append(of_square(algebra, node.dtype, algebra.value(square.src[0]), x, result))
    return result


def _mulacc(algebra: Rounded, node: UOp) -> Any:
    x, y, z = algebra.sources(node)
    return algebra.apply(Op.Add, node.dtype, algebra.apply(Op.Mul, node.dtype, x, y), z)


ROUNDED: dict[Op, Law] = {
    Op.Add: _add,
    Op.Sub: _sub,
    Op.Mul: _mul,
    Op.Div: _div,
    Op.Recip: _recip,
    Op.Sqrt: _sqrt,
    Op.Mulacc: _mulacc,
}
"""Every rounded operation as sums, products, quotients and roots."""
