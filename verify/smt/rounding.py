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

import math
from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from typing import Any, ClassVar

import z3

from soundline.spec.dtypes import DType, exponent_range, int32, int64, round_to
from soundline.spec.node import UOp
from soundline.spec.op_schema import Op
from soundline.spec.uop import const
from soundline.verify.smt import ieee
from soundline.verify.smt.algebra import Law
from soundline.verify.smt.machine import Machine, Structure, is_conversion
from soundline.verify.smt.obligations import Obligation

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
        small = z3.And(_tiny(self, dtype, x), _tiny(self, dtype, y))
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


# One operation ----------------------------------------------------------------------------------------------------


def _spoilt(algebra: Rounded, dtype: DType, invalid: Any, result: Any) -> Any:
    """NaN where the operation is invalid; only there, unless overflow makes NaN too."""
    return algebra.nan(result) == invalid if dtype.has_infinity else z3.Implies(invalid, algebra.nan(result))


def of_sum(a: Rounded, dtype: DType, x: Any, y: Any, r: Any) -> list[Any]:
    """What is known of r = x + y. A sum that is not zero never rounds to zero."""
    opposed = z3.And(a.infinite(x), a.infinite(y), a.minus(x) != a.minus(y))
    nothing = a.number(dtype, 0.0)
    cancels = z3.And(z3.Not(a.infinite(x)), z3.fpEQ(x, a.negated(y), a.ctx))
    facts = [
        _spoilt(a, dtype, z3.Or(a.nan(x), a.nan(y), opposed), r),
        z3.Implies(z3.And(cancels, z3.Not(a.zero(x))), a.same(r, nothing)),
        z3.Implies(a.zero(r), cancels),
        z3.Implies(
            z3.And(a.zero(x), a.zero(y)), z3.And(a.zero(r), a.minus(r) == z3.And(a.minus(x), a.minus(y)))
        ),
    ]
    half = a.number(dtype, 2.0 ** (exponent_range(dtype)[1] - 1))
    small = z3.And(a.le(a.size(x), half), a.le(a.size(y), half))
    facts.append(z3.Implies(small, a.le(a.size(r), a.number(dtype, 2.0 ** exponent_range(dtype)[1]))))
    for u, v in ((x, y), (y, x)):
        facts += [
            z3.Implies(z3.And(a.infinite(u), a.numbers(r)), a.same(r, u)),
            z3.Implies(z3.And(a.zero(u), z3.Not(a.zero(v))), a.same(r, v)),
            z3.Implies(z3.And(a.le(nothing, u), a.numbers(r)), a.le(v, r)),
            z3.Implies(z3.And(a.le(u, nothing), a.numbers(r)), a.le(r, v)),
        ]
    return facts


def of_product(a: Rounded, dtype: DType, x: Any, y: Any, r: Any) -> list[Any]:
    """What is known of r = x·y."""
    one, real = a.number(dtype, 1.0), a.numbers(r)
    crossed = z3.Or(z3.And(a.infinite(x), a.zero(y)), z3.And(a.zero(x), a.infinite(y)))
    facts = [
        _spoilt(a, dtype, z3.Or(a.nan(x), a.nan(y), crossed), r),
        z3.Implies(real, a.minus(r) == z3.Xor(a.minus(x), a.minus(y), a.ctx)),
        z3.Implies(z3.And(real, z3.Or(a.zero(x), a.zero(y))), a.zero(r)),
        z3.Implies(z3.And(real, z3.Or(a.infinite(x), a.infinite(y))), a.infinite(r)),
    ]
    for u, v in ((x, y), (y, x)):
        facts += [
            z3.Implies(z3.And(real, a.le(a.size(u), one)), a.le(a.size(r), a.size(v))),
            z3.Implies(z3.And(real, a.le(one, a.size(u))), a.le(a.size(v), a.size(r))),
        ]
    facts += _moderate(a, dtype, x, y, r)
    return facts + _by_literal(a, dtype, x, y, r) + _by_literal(a, dtype, y, x, r)


def _moderate(a: Rounded, dtype: DType, x: Any, y: Any, r: Any) -> list[Any]:
    """Products of numbers of moderate size are finite, and not subnormal."""
    low, high = exponent_range(dtype)
    great, small = 2.0 ** (high // 2), 2.0 ** -(-low // 2)
    return [
        z3.Implies(
            z3.And(*(a.le(a.size(v), a.number(dtype, great)) for v in (x, y))),
            a.le(a.size(r), a.number(dtype, great * great)),
        ),
        z3.Implies(
            z3.And(a.numbers(r), *(a.le(a.number(dtype, small), a.size(v)) for v in (x, y))),
            a.le(a.number(dtype, small * small), a.size(r)),
        ),
    ]


def _by_literal(a: Rounded, dtype: DType, x: Any, c: Any, r: Any) -> list[Any]:
    """Products by small literals as sums: doubling is exact or overflows, so a sum of it is rounded once.

    Half of a number is exact unless it is so small that it has no more bits to lose.
    """
    if z3.eq(c, a.number(dtype, 0.5)):
        return [z3.Or(_tiny(a, dtype, x), a.same(a.apply(Op.Add, dtype, r, r), x))]
    for value in (1.0, 2.0, 3.0, 4.0, 8.0):
        if z3.eq(c, a.number(dtype, value)):
            if value == 1.0:
                return [a.same(r, x)]
            if value in (2.0, 3.0):
                double = a.apply(Op.Add, dtype, x, x)
                return [a.same(r, double if value == 2.0 else a.apply(Op.Add, dtype, double, x))]
            half = a.apply(Op.Mul, dtype, x, a.number(dtype, value / 2))
            return [a.same(r, a.apply(Op.Add, dtype, half, half))]
    return []


def _tiny(a: Rounded, dtype: DType, x: Any) -> Any:
    """That x is a multiple of the least subnormal, and so small that every smaller multiple is a number too."""
    return a.le(a.size(x), a.number(dtype, 2.0 ** (exponent_range(dtype)[0] + 1)))


def of_quotient(a: Rounded, dtype: DType, x: Any, y: Any, r: Any) -> list[Any]:
    """What is known of r = x/y."""
    one, real = a.number(dtype, 1.0), a.numbers(r)
    invalid = z3.Or(a.nan(x), a.nan(y), z3.And(a.zero(x), a.zero(y)), z3.And(a.infinite(x), a.infinite(y)))
    over_zero = a.infinite(r) if dtype.has_infinity else a.nan(r)
    ordinary = z3.Not(z3.Or(invalid, a.zero(y), a.infinite(x)))
    facts = [
        z3.Implies(invalid, a.nan(r)),
        z3.Implies(z3.And(z3.Not(invalid), a.zero(y)), over_zero),
        z3.Implies(real, a.minus(r) == z3.Xor(a.minus(x), a.minus(y), a.ctx)),
        z3.Implies(z3.And(z3.Not(invalid), z3.Or(a.zero(x), a.infinite(y))), a.zero(r)),
        z3.Implies(z3.And(z3.Not(invalid), a.infinite(x)), a.infinite(r)),
        z3.Implies(z3.And(ordinary, a.le(one, a.size(y))), a.le(a.size(r), a.size(x))),
        z3.Implies(z3.And(ordinary, real, a.le(a.size(y), one)), a.le(a.size(x), a.size(r))),
        z3.Implies(z3.And(ordinary, a.le(a.size(x), a.size(y))), a.le(a.size(r), one)),
        z3.Implies(z3.And(ordinary, real, a.le(a.size(y), a.size(x))), a.le(one, a.size(r))),
        z3.Implies(z3.And(ordinary, z3.fpEQ(a.size(x), a.size(y), a.ctx)), a.same(a.size(r), one)),
    ]
    if dtype.has_infinity:
        facts.append(z3.Implies(z3.Not(invalid), real))
    if not z3.eq(x, one):
        reciprocal = a.apply(Op.Div, dtype, one, y)
        facts.append(z3.Implies(power_of_two(a, dtype, y), a.same(r, a.apply(Op.Mul, dtype, x, reciprocal))))
    value = _literal(dtype, y)
    if value is not None and is_power_of_two(dtype, value):
        facts.append(a.same(r, a.apply(Op.Mul, dtype, x, a.number(dtype, 1.0 / value))))
    return facts


def of_root(a: Rounded, dtype: DType, x: Any, _: Any, r: Any) -> list[Any]:
    """What is known of r = √x."""
    one, nothing = a.number(dtype, 1.0), a.number(dtype, 0.0)
    kept = z3.Or(a.zero(x), z3.And(a.infinite(x), z3.Not(a.minus(x))), a.same(x, one))
    return [
        a.nan(r) == z3.Or(a.nan(x), z3.And(a.minus(x), z3.Not(a.zero(x)))),
        z3.Implies(kept, a.same(r, x)),
        z3.Implies(
            a.numbers(r), z3.And(a.le(nothing, r), a.zero(r) == a.zero(x), a.infinite(r) == a.infinite(x))
        ),
        z3.Implies(a.le(one, x), z3.And(a.le(one, r), a.le(r, x))),
        z3.Implies(z3.And(a.le(nothing, x), a.le(x, one)), z3.And(a.le(x, r), a.le(r, one))),
    ]


FACTS: dict[Op, Callable[[Rounded, DType, Any, Any, Any], list[Any]]] = {
    Op.Add: of_sum,
    Op.Mul: of_product,
    Op.Div: of_quotient,
    Op.Sqrt: of_root,
}
"""The facts about one operation and its result."""


# Powers of two ----------------------------------------------------------------------------------------------------


def is_power_of_two(dtype: DType, value: float) -> bool:
    """Whether a number is ± a power of two whose reciprocal is one of the dtype as well."""
    if value != value or value in (0.0, float("inf"), float("-inf")):
        return False
    numerator, denominator = abs(value).as_integer_ratio()
    whole = numerator & (numerator - 1) == 0 and denominator & (denominator - 1) == 0
    return whole and round_to(dtype, 1.0 / value) == 1.0 / value


def power_of_two(a: Rounded, dtype: DType, x: Any) -> Any:
    """That x is ± a power of two, and normal, and its reciprocal a number of the dtype."""
    least, most = exponent_range(dtype)
    low, high = a.number(dtype, 2.0 ** max(least, -most)), a.number(dtype, 2.0**most)
    pattern = z3.fpToIEEEBV(x, a.ctx)
    fraction = z3.Extract(ieee.carrier(dtype).mantissa_bits - 1, 0, pattern)
    return z3.And(fraction == 0, a.le(low, a.size(x)), a.le(a.size(x), high))


def _literal(dtype: DType, term: Any) -> float | None:
    """The number that a term is, if it is a literal of an exact power of two."""
    if not z3.is_fp_value(term) or term.isNaN() or term.isInf() or term.isZero() or term.isSubnormal():
        return None
    if term.significand_as_long() != 0:
        return None
    value = math.ldexp(1.0, term.exponent_as_long(biased=False))
    return -value if term.sign() else value


# Two operations ---------------------------------------------------------------------------------------------------

Operation = tuple[Any, Any, Any]
"""Two operands and a result."""


def of_sums(a: Rounded, one: Operation, other: Operation) -> Iterator[Any]:
    """Order, commutation and negation."""
    (x, y, r), (u, v, s) = one, other
    for p, q in ((u, v), (v, u)):
        yield z3.Implies(z3.And(a.numbers(r, s), a.le(x, p), a.le(y, q)), a.le(r, s))
        yield z3.Implies(z3.And(a.numbers(r, s), a.le(p, x), a.le(q, y)), a.le(s, r))
        yield z3.Implies(z3.And(a.same(x, p), a.same(y, q)), a.same(r, s))
        opposite = z3.Or(a.same(s, a.negated(r)), z3.And(a.zero(r), a.zero(s)))
        yield z3.Implies(z3.And(a.same(p, a.negated(x)), a.same(q, a.negated(y))), opposite)


def undone(a: Rounded, dtype: DType, one: Operation, other: Operation) -> Iterator[Any]:
    """(x + y) - y = x where x and -y are so near to each other that their sum is exact."""
    (x, y, r), (u, v, s) = one, other
    for p, q in ((u, v), (v, u)):
        if z3.eq(p, r):
            for kept, gone in ((x, y), (y, x)):
                if z3.eq(q, a.negated(gone)):
                    yield z3.Implies(
                        z3.And(a.sum_is_exact(dtype, x, y), z3.Not(a.zero(kept))), a.same(s, kept)
                    )


def of_products(a: Rounded, one: Operation, other: Operation) -> Iterator[Any]:
    """Order of magnitudes, and commutation; signs are known already."""
    (x, y, r), (u, v, s) = one, other
    for p, q in ((u, v), (v, u)):
        yield _by_size(a, (x, p), (y, q), (r, s))
        yield _by_size(a, (p, x), (q, y), (s, r))
        yield z3.Implies(z3.And(a.same(x, p), a.same(y, q)), a.same(r, s))


def _by_size(a: Rounded, first: tuple[Any, Any], second: tuple[Any, Any], results: tuple[Any, Any]) -> Any:
    """|x| ≤ |u| and |y| ≤ |v| ⇒ |r| ≤ |s|, where both are numbers."""
    smaller = [a.le(a.size(x), a.size(u)) for x, u in (first, second)]
    return z3.Implies(z3.And(a.numbers(*results), *smaller), a.le(a.size(results[0]), a.size(results[1])))


def of_quotients(a: Rounded, one: Operation, other: Operation) -> Iterator[Any]:
    """Order of magnitudes: a quotient grows with its dividend and falls with its divisor."""
    (x, y, r), (u, v, s) = one, other
    yield _by_size(a, (x, u), (v, y), (r, s))
    yield _by_size(a, (u, x), (y, v), (s, r))


def of_roots(a: Rounded, one: Operation, other: Operation) -> Iterator[Any]:
    """Order."""
    (x, _, r), (u, _, s) = one, other
    yield z3.Implies(z3.And(a.numbers(r, s), a.le(x, u)), a.le(r, s))
    yield z3.Implies(z3.And(a.numbers(r, s), a.le(u, x)), a.le(s, r))


PAIRS: dict[Op, Callable[[Rounded, Operation, Operation], Iterator[Any]]] = {
    Op.Add: of_sums,
    Op.Mul: of_products,
    Op.Div: of_quotients,
    Op.Sqrt: of_roots,
}
"""The facts about two operations of one kind."""


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


def of_square(a: Rounded, dtype: DType, x: Any, square: Any, root: Any) -> Any:
    """√(x·x) = |x| where the rounded square is finite and normal: in radix two the root undoes the rounding."""
    normal = a.le(a.number(dtype, math.ldexp(1.0, exponent_range(dtype)[0])), square)
    return z3.Implies(z3.And(normal, z3.Not(a.infinite(square))), a.same(root, a.size(x)))


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


# Narrowing --------------------------------------------------------------------------------------------------------

ONCE = (Op.Add, Op.Sub, Op.Mul, Op.Div, Op.Recip, Op.Sqrt)
"""Operations whose second rounding is innocuous from 2p + 2 bits on."""


def narrowed(node: UOp) -> UOp | None:
    """The operation of the narrow format that a cast of a wide one is, where both give the same result.

    The wide format must hold every number of the narrow one and be much finer (Figueroa, When is double rounding
    innocuous?), and the operands must be numbers of the narrow one.
    """
    (wide,), target = node.src, node.arg
    if wide.op not in ONCE or not wide.dtype.is_float or not target.is_float:
        return None
    if not _holds(wide.dtype, target) or not _much_finer(wide.dtype, target):
        return None
    operands = [_as_narrow(s, target) for s in wide.src]
    return None if None in operands else UOp(wide.op, tuple(s for s in operands if s is not None))


def _much_finer(wide: DType, narrow: DType) -> bool:
    """Whether a rounding into the wide format before one into the narrow one is innocuous.

    From 2p + 2 bits on it is among normal numbers; a product of p bits each that is subnormal in both must be exact.
    """
    p = narrow.mantissa_bits + 1
    (low, _), (least, _) = exponent_range(wide), exponent_range(narrow)
    return (
        wide.mantissa_bits + 1 >= 2 * p + 2
        and low - wide.mantissa_bits <= least - narrow.mantissa_bits - 2 * p
    )


def _as_narrow(node: UOp, target: DType) -> UOp | None:
    """The node of the target dtype that has the same value; None where there may be none."""
    if node.op is Op.Const:
        value = node.arg.value
        return const(value, target) if value == value and round_to(target, value) == value else None
    if node.op is Op.Neg:
        inner = _as_narrow(node.src[0], target)
        return None if inner is None else UOp(Op.Neg, (inner,))
    if node.op is not Op.Cast or not node.src[0].dtype.is_float:
        return None
    source = node.src[0]
    if source.dtype is target:
        return source
    return UOp(Op.Cast, (source,), target) if _holds(target, source.dtype) else None


def _holds(wide: DType, narrow: DType) -> bool:
    """Whether every number of the narrow format is one of the wide one, infinities included."""
    (low, high), (least, most) = exponent_range(wide), exponent_range(narrow)
    fine = low - wide.mantissa_bits <= least - narrow.mantissa_bits and most <= high
    return (
        fine and wide.mantissa_bits >= narrow.mantissa_bits and (wide.has_infinity or not narrow.has_infinity)
    )
