"""
Facts about one rounded operation
=================================

What is known of a rounded sum, product, quotient or root from its operands alone: NaN, infinities, zeros and signs,
bounds, small literals as sums, and powers of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import z3

from soundline.spec.dtypes import DType, exponent_range, round_to
from soundline.spec.ops.node import Op
from soundline.verify.smt.values import ieee

if TYPE_CHECKING:
    from soundline.verify.smt.values.rounded import RoundedArithmetic


def _spoilt(algebra: RoundedArithmetic, dtype: DType, invalid: Any, result: Any) -> Any:
    """NaN where the operation is invalid; only there, unless overflow makes NaN too."""
    return algebra.nan(result) == invalid if dtype.has_infinity else z3.Implies(invalid, algebra.nan(result))


def of_sum(a: RoundedArithmetic, dtype: DType, x: Any, y: Any, r: Any) -> list[Any]:
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


def of_product(a: RoundedArithmetic, dtype: DType, x: Any, y: Any, r: Any) -> list[Any]:
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


def _moderate(a: RoundedArithmetic, dtype: DType, x: Any, y: Any, r: Any) -> list[Any]:
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


def _by_literal(a: RoundedArithmetic, dtype: DType, x: Any, c: Any, r: Any) -> list[Any]:
    """Products by small literals as sums: doubling is exact or overflows, so a sum of it is rounded once.

    Half of a number is exact unless it is so small that it has no more bits to lose.
    """
    if z3.eq(c, a.number(dtype, 0.5)):
        return [z3.Or(tiny(a, dtype, x), a.same(a.apply(Op.Add, dtype, r, r), x))]
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


def tiny(a: RoundedArithmetic, dtype: DType, x: Any) -> Any:
    """That x is a multiple of the least subnormal, and so small that every smaller multiple is a number too."""
    return a.le(a.size(x), a.number(dtype, 2.0 ** (exponent_range(dtype)[0] + 1)))


def of_quotient(a: RoundedArithmetic, dtype: DType, x: Any, y: Any, r: Any) -> list[Any]:
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


def of_root(a: RoundedArithmetic, dtype: DType, x: Any, _: Any, r: Any) -> list[Any]:
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


def of_square(a: RoundedArithmetic, dtype: DType, x: Any, square: Any, root: Any) -> Any:
    """√(x·x) = |x| where the rounded square is finite and normal: in radix two the root undoes the rounding."""
    normal = a.le(a.number(dtype, math.ldexp(1.0, exponent_range(dtype)[0])), square)
    return z3.Implies(z3.And(normal, z3.Not(a.infinite(square))), a.same(root, a.size(x)))


FACTS: dict[Op, Callable[[RoundedArithmetic, DType, Any, Any, Any], list[Any]]] = {
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


def power_of_two(a: RoundedArithmetic, dtype: DType, x: Any) -> Any:
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
