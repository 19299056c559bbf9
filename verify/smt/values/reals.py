"""
Real numbers
============

Under a licence that admits another rounding, floats stand for real numbers and every op is exact: what is proved here
holds up to rounding, of finite numbers. NaN, infinities and the sign of a zero have no place. A side is *defined* where
no divisor is zero, no root negative and no logarithm of what is not positive; where the left side is defined, the right
one must be, and equal.

Exp2 and Log2 are unknown functions of which ground instances of their laws are given: 2^x > 0, 2^(x+y) = 2^x·2^y,
2^(log₂ x) = x, log₂ 2^x = x, log₂ xy = log₂ x + log₂ y. Pow is 2^(b·log₂ a) of a positive a.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from typing import Any, ClassVar

import z3

from soundline.spec.dtypes import DType, Element, bool_
from soundline.spec.ops.node import Op, UOp
from soundline.spec.values.elementwise import EQUALITY, ORDER, RING, exactly
from soundline.verify.smt.goals.algebra import Algebra, Law, Outside
from soundline.verify.smt.goals.obligations import SCALAR_OPS, Obligation, scalar_nodes
from soundline.verify.smt.goals.points import OUT, Points, Values


class Reals(Algebra):
    """Floats as Real, bools as Bool."""

    NAME: ClassVar[str] = "real numbers"

    def __init__(self, obligation: Obligation) -> None:
        super().__init__(obligation)
        self.conditions: dict[UOp, Any] = {}
        """What an op needs of its operands, beside that they are defined."""
        self.exponents: list[tuple[Any, Any]] = []
        self.logarithms: list[tuple[Any, Any]] = []
        self.exp2 = z3.Function("exp2", z3.RealSort(self.ctx), z3.RealSort(self.ctx))
        self.log2 = z3.Function("log2", z3.RealSort(self.ctx), z3.RealSort(self.ctx))

    def constant(self, dtype: DType, value: Element) -> Any:
        """A rational number, or a truth value."""
        if dtype is bool_:
            return self.truth(bool(value))
        if not dtype.is_float or not math.isfinite(value):
            raise Outside(f"{value} among the reals")
        return self.real(Fraction(value))

    def real(self, value: Fraction | int) -> Any:
        """A rational number."""
        return z3.RealVal(str(value), self.ctx)

    def variable(self, name: str, dtype: DType) -> Any:
        """A real number, or a Bool."""
        if dtype is bool_:
            return z3.Bool(name, self.ctx)
        if not dtype.is_float:
            raise Outside("integers among the reals")
        return z3.Real(name, self.ctx)

    def law(self, node: UOp) -> Law | None:
        """The law of a node."""
        return REAL_LAWS.get(node.op)

    def element(self, model: Any, node: UOp) -> Element:
        """The float nearest to the value of a variable in a model."""
        term = self.value(node)
        if node.dtype is bool_:
            return self.bool_element(model, term)
        found = model.eval(term, model_completion=True)
        number = found if z3.is_rational_value(found) else found.approx(40)
        return float(number.as_fraction())

    def equal(self, left: UOp, right: UOp) -> Any:
        """That the right side is defined and equal."""
        return z3.And(self.defined(right), self.value(left) == self.value(right))

    def no_wrap(self, node: UOp) -> Any:
        """Nothing that may wrap has a place here."""
        raise Outside(f"fits of {node.op.name} among the reals")

    def premises(self) -> list[Any]:
        """The hypotheses, and that they and the left side are defined."""
        conditions = super().premises()
        self.term(self.obligation.left)
        return conditions + [self.defined(n) for n in (*self.obligation.hypotheses, self.obligation.left)]

    def denial(self) -> list[Any]:
        """With the instances of what is known of 2^x and log₂ x, once all of them have been met."""
        formulas = super().denial()
        return formulas + transcendental(self)

    def defined(self, root: UOp) -> Any:
        """Where a node that is already translated is a real number; of a Where, only what is selected matters."""
        known: dict[UOp, Any] = {}
        for node in scalar_nodes(root):
            if node.op is Op.Where:
                p, a, b = (known[s] for s in node.src)
                known[node] = z3.And(p, z3.If(self.value(node.src[0]), a, b))
            elif node.op in SCALAR_OPS:
                own = self.conditions.get(node, self.truth(True))
                known[node] = z3.And(own, *(known[s] for s in node.src))
            else:
                known[node] = self.truth(True)
        return known[root]


# Laws -------------------------------------------------------------------------------------------------------------


def _plain(function: Callable[..., Any]) -> Law:
    return lambda algebra, node: function(*algebra.sources(node))


def _div(algebra: Reals, node: UOp) -> Any:
    a, b = algebra.sources(node)
    algebra.conditions[node] = b != 0
    return a / b


def _recip(algebra: Reals, node: UOp) -> Any:
    (x,) = algebra.sources(node)
    algebra.conditions[node] = x != 0
    return algebra.real(1) / x


def _sqrt(algebra: Reals, node: UOp) -> Any:
    (x,) = algebra.sources(node)
    root = z3.Real(algebra.fresh_name("root"), algebra.ctx)
    algebra.conditions[node] = x >= 0
    algebra.facts.append(z3.Implies(x >= 0, z3.And(root >= 0, root * root == x)))
    return root


def _trunc(algebra: Reals, node: UOp) -> Any:
    (x,) = algebra.sources(node)
    return z3.If(x >= 0, z3.ToReal(z3.ToInt(x)), -z3.ToReal(z3.ToInt(-x)))


def _exp2_of(algebra: Reals, x: Any) -> Any:
    algebra.exponents.append((x, algebra.exp2(x)))
    return algebra.exp2(x)


def _log2_of(algebra: Reals, x: Any) -> Any:
    algebra.logarithms.append((x, algebra.log2(x)))
    return algebra.log2(x)


def _log2(algebra: Reals, node: UOp) -> Any:
    (x,) = algebra.sources(node)
    algebra.conditions[node] = x > 0
    return _log2_of(algebra, x)


def _pow(algebra: Reals, node: UOp) -> Any:
    a, b = algebra.sources(node)
    algebra.conditions[node] = a > 0
    return _exp2_of(algebra, b * _log2_of(algebra, a))


def _cast(algebra: Reals, node: UOp) -> Any:
    if not node.arg.is_float:
        raise Outside(f"casts to {node.arg} among the reals")
    return algebra.value(node.src[0])


REAL_LAWS: dict[Op, Law] = {
    **{op: _plain(exactly(op)) for op in (*RING, *ORDER, *EQUALITY)},
    Op.Div: _div,
    Op.Recip: _recip,
    Op.Sqrt: _sqrt,
    Op.Trunc: _trunc,
    Op.Exp2: lambda algebra, node: _exp2_of(algebra, algebra.value(node.src[0])),
    Op.Log2: _log2,
    Op.Pow: _pow,
    Op.Max: _plain(lambda a, b: z3.If(a > b, a, b)),
    Op.Where: _plain(z3.If),
    Op.Cast: _cast,
}
"""The laws of ops on reals."""


def transcendental(algebra: Reals) -> list[Any]:
    """Ground instances of the laws of 2^x and log₂ x, over the arguments that occur."""
    exp2, log2 = algebra.exp2, algebra.log2
    if not algebra.exponents and not algebra.logarithms:
        return []
    logarithms = [x for x, _ in algebra.logarithms]
    exponents = [x for x, _ in algebra.exponents] + [log2(x) for x in logarithms]
    arguments = logarithms + [exp2(y) for y, _ in algebra.exponents]
    known = [exp2(algebra.real(0)) == 1, exp2(algebra.real(1)) == 2, log2(algebra.real(1)) == 0]
    known += [log2(algebra.real(2)) == 1]
    known += [exp2(y) > 0 for y in exponents]
    known += [z3.Implies(x > 0, exp2(log2(x)) == x) for x in logarithms]
    known += [log2(exp2(y)) == y for y, _ in algebra.exponents]
    for y, z in combinations_with_replacement(exponents, 2):
        known += [z3.Implies(y + z == w, exp2(w) == exp2(y) * exp2(z)) for w in [*exponents, algebra.real(0)]]
    known += _equal_products(algebra, exponents[:MOST_EXPONENTS])
    for x, y in combinations_with_replacement(arguments, 2):
        both = z3.And(x > 0, y > 0)
        known += [z3.Implies(z3.And(both, x * y == w), log2(w) == log2(x) + log2(y)) for w in arguments]
    return known


MOST_EXPONENTS = 6
"""Of so many exponents the sums are compared."""


def _equal_products(algebra: Reals, exponents: Sequence[Any]) -> list[Any]:
    """2^x·2^y = 2^u·2^v for every two pairs of exponents with one sum."""
    exp2 = algebra.exp2
    pairs = list(combinations_with_replacement(exponents, 2))
    equal = [
        ((x, y), (u, v))
        for (x, y), (u, v) in combinations(pairs, 2)
        if z3.eq(z3.simplify(x + y - u - v, som=True), algebra.real(0))
    ]
    return [exp2(x) * exp2(y) == exp2(u) * exp2(v) for (x, y), (u, v) in equal]


# Points -----------------------------------------------------------------------------------------------------------


def _rational(function: Callable[..., Any]) -> Callable[..., Any]:
    """A law on fractions; None, which is undefined, gives None."""
    return lambda dtype, *operands: None if None in operands else function(*operands)


RATIONAL: dict[Op, Callable[..., Any]] = {
    **{op: _rational(exactly(op)) for op in (*RING, *ORDER, *EQUALITY)},
    Op.Mul: _rational(lambda a, b: (a and b) if isinstance(a, bool) else a * b),
    Op.Div: _rational(lambda a, b: a / b if b else None),
    Op.Recip: _rational(lambda x: 1 / x if x else None),
    Op.Trunc: _rational(lambda x: Fraction(math.trunc(x))),
    Op.Max: _rational(max),
    Op.And: _rational(lambda a, b: a and b),
    Op.Or: _rational(lambda a, b: a or b),
    Op.Xor: _rational(lambda a, b: a is not b),
    Op.Not: _rational(lambda x: not x),
    Op.Where: lambda dtype, p, a, b: None if p is None else a if p else b,
    Op.Cast: lambda dtype, x, target: x if dtype.is_float and target.is_float else None,
}
"""Laws over fractions: exact, and None where there is no number."""


def beyond_rounding(dtype: DType, left: Element, right: Element) -> bool:
    """Whether two results differ by more than a few roundings of simple numbers explain."""
    if not dtype.is_float:
        return left != right
    if not math.isfinite(left):
        return False
    if not math.isfinite(right):
        return True
    tolerance = math.ldexp(1.0, -(dtype.mantissa_bits // 2) - 1)
    return abs(left - right) > tolerance * max(abs(left), abs(right))


class NearPoints(Points):
    """Evaluates an obligation in floats: at simple numbers, sides that differ by more than rounding differ as reals."""

    def at(self, point: Sequence[Element]) -> int:
        """What this point shows."""
        if not all(isinstance(x, bool) or x == 0 or 2**-6 <= abs(x) <= 64 for x in point):
            return OUT
        return super().at(point)

    def is_valid(self, values: Values) -> bool:
        """Whether the left side is a number."""
        left = values[self.obligation.left]
        return isinstance(left, bool) or math.isfinite(left)

    def agree(self, values: Values) -> bool:
        """Whether the sides are equal up to rounding."""
        left, right = values[self.obligation.left], values[self.obligation.right]
        return not beyond_rounding(self.obligation.left.dtype, left, right)


class RealPoints(Points):
    """Evaluates an obligation over fractions. A point of floats that are not finite meets no premises."""

    def __init__(self, obligation: Obligation) -> None:
        super().__init__(obligation, RATIONAL)
        if self.evaluable:
            numbers = self._constants.items()
            self.evaluable = all(isinstance(v, bool) or math.isfinite(v) for _, v in numbers)
        if self.evaluable:
            self._constants = {n: _fraction(v) for n, v in self._constants.items()}

    def at(self, point: Sequence[Element]) -> int:
        """What this point shows."""
        if not all(isinstance(x, bool) or math.isfinite(x) for x in point):
            return OUT
        return super().at([_fraction(x) for x in point])

    def is_valid(self, values: Values) -> bool:
        """Whether the left side is a number."""
        return values[self.obligation.left] is not None

    def agree(self, values: Values) -> bool:
        """Whether the right side is the same number."""
        return values[self.obligation.left] == values[self.obligation.right]


def _fraction(x: Any) -> Any:
    return x if isinstance(x, bool) else Fraction(x)
