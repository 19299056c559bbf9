"""
Values under licences
=====================

Which values a side may have at one point, if it is computed as its licences admit: chains in every order, a product and
a sum in one rounding or two, quotients by reciprocals (U-53). Where no value of the one side is one of the other, the
point refutes the rule: no choice of what is licensed makes them equal.

Under `approx`, `tensor_core` and `tf32` an op may be replaced by an approximation. Values that are near each other then
count as one value; a number is never near NaN or an infinity.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from soundline.spec.dtypes import DType, exponent_range, round_to, same_value
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.walks import filled
from soundline.spec.values.elementwise import ELEMENTWISE, bitcast, operand_dtype
from soundline.verify.smt.goals.obligations import SCALAR_OPS, scalar_sources
from soundline.verify.smt.goals.points import Points, Values

MOST_VALUES: Final = 96
"""A node with more values than this may have any."""
MOST_MEMBERS: Final = 6
"""So may a chain of more members."""
REPLACING: Final = frozenset(("approx", "tensor_core", "tf32"))
"""Licences to compute something near."""


class TooMany(Exception):
    """There are more values than are listed."""


class LicensedPoints(Points):
    """Evaluates an obligation at points: its sides differ where no value of the one is one of the other."""

    def agree(self, values: Values) -> bool:
        """Whether the sides may have the same value."""
        if super().agree(values):
            return True
        licences = self.obligation.licences
        try:
            left, right = (
                _Sides(licences, values).of(s) for s in (self.obligation.left, self.obligation.right)
            )
        except TooMany:
            return True
        dtype = self.obligation.left.dtype
        near = not licences.isdisjoint(REPLACING)
        unsigned = "no_signed_zero" in licences
        return any(
            same_value(dtype, a, b) or (unsigned and a == b == 0) or (near and _near(dtype, a, b))
            for a in left
            for b in right
        )


def _near(dtype: DType, a: Any, b: Any) -> bool:
    """Whether two floats differ by no more than a replacement of an op may explain."""
    if not dtype.is_float or not math.isfinite(a) or not math.isfinite(b):
        return False
    tolerance = math.ldexp(1.0, -(dtype.mantissa_bits // 2) - 1)
    return bool(abs(a - b) <= tolerance * max(abs(a), abs(b)) + math.ldexp(1.0, exponent_range(dtype)[0]))


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of a chain: its values, and what it is made of, if it may be joined to the rest in one rounding."""

    values: tuple[Any, ...]
    made_of: tuple[tuple[Any, ...], ...] = ()
    """The values of the two factors of a product, or of a divisor whose reciprocal it is."""


Join = Callable[[_Member, Any], Iterator[Any]]
"""What a member and a value of the rest of its chain make, if they are joined in one rounding."""


class _Sides:
    """All values that nodes may have at one point."""

    def __init__(self, licences: frozenset[str], values: Values) -> None:
        self.any_order = "reassociate" in licences
        self.by_reciprocal = "reciprocal" in licences
        self.fused = "contract" in licences
        self.values = values
        self._known: dict[UOp, tuple[Any, ...]] = {}

    def of(self, root: UOp) -> tuple[Any, ...]:
        """The values of a node."""
        return filled(self._known, root, scalar_sources, lambda node: _distinct(self._of(node)))

    def _of(self, node: UOp) -> Iterable[Any]:
        if node.op is Op.Const:
            return (node.arg.value,)
        if node.op not in SCALAR_OPS:
            return (self.values[node],)
        if node.dtype.is_float and node.op in _SUMS:
            return self._chain(Op.Add, list(self._terms(node, False)), self._one_rounding)
        if node.dtype.is_float and (node.op is Op.Mul or (node.op is Op.Div and self.by_reciprocal)):
            return self._chain(Op.Mul, list(self._factors(node)), self._divided)
        if node.op is Op.Bitcast:
            return (bitcast(node.src[0].dtype, x, node.arg) for x in self._known[node.src[0]])
        extra = (node.arg,) if node.op is Op.Cast else ()
        operands = itertools.product(*(self._known[s] for s in node.src))
        return (ELEMENTWISE[node.op](operand_dtype(node), *own, *extra) for own in operands)

    def _chain(self, op: Op, members: Sequence[tuple[DType, _Member]], join: Join) -> tuple[Any, ...]:
        """The values of a chain in every order: those of each part joined with those of the rest."""
        if len(members) > MOST_MEMBERS:
            raise TooMany
        dtype = members[0][0]
        known: dict[int, tuple[Any, ...]] = {}
        for subset in range(1, 1 << len(members)):
            found: list[Any] = []
            if not subset & (subset - 1):
                found += members[subset.bit_length() - 1][1].values
            part = (subset - 1) & subset
            while part:
                rest = known[subset & ~part]
                found += [ELEMENTWISE[op](dtype, a, b) for a, b in itertools.product(known[part], rest)]
                if not part & (part - 1):
                    member = members[part.bit_length() - 1][1]
                    found += [x for b in rest for x in (join(member, b) if member.made_of else ())]
                part = (part - 1) & subset
            known[subset] = _distinct(found)
        return known[(1 << len(members)) - 1]

    # sums ---------------------------------------------------------------------------------------------------------

    def _terms(self, node: UOp, negated: bool) -> Iterator[tuple[DType, _Member]]:
        """The members of a sum; in any order those of sums inside of it too, also of negated ones."""
        sources = node.src if node.op is not Op.Mulacc else node.src[2:]
        if node.op is Op.Mulacc:
            yield node.dtype, self._product(node.src[0], node.src[1], negated)
        for k, s in enumerate(sources):
            turned = negated ^ (node.op is Op.Neg or (node.op is Op.Sub and k == 1))
            inside, own = s, turned
            while inside.op is Op.Neg and self.any_order:
                inside, own = inside.src[0], not own
            if self.any_order and inside.op in _SUMS:
                yield from self._terms(inside, own)
            elif inside.op is Op.Mul and self.fused:
                yield (
                    node.dtype,
                    replace(
                        self._product(inside.src[0], inside.src[1], own), values=self._signed(inside, own)
                    ),
                )
            else:
                yield node.dtype, _Member(self._signed(inside, own))

    def _signed(self, node: UOp, negated: bool) -> tuple[Any, ...]:
        return tuple(-x if negated else x for x in self._known[node])

    def _product(self, a: UOp, b: UOp, negated: bool) -> _Member:
        left = self._signed(a, negated)
        pairs = itertools.product(left, self._known[b])
        return _Member(
            tuple(ELEMENTWISE[Op.Mul](a.dtype, x, y) for x, y in pairs),
            ((a.dtype,), left, self._known[b]) if self.fused else (),
        )

    def _one_rounding(self, member: _Member, rest: Any) -> Iterator[Any]:
        (dtype,), left, right = member.made_of
        yield from (fused(dtype, x, y, rest) for x, y in itertools.product(left, right))

    # products -----------------------------------------------------------------------------------------------------

    def _factors(self, node: UOp) -> Iterator[tuple[DType, _Member]]:
        """The members of a product; in any order those of products inside of it too."""
        for k, s in enumerate(node.src):
            if node.op is Op.Div and k == 1:
                yield node.dtype, self._inverse(s)
            elif s.op is Op.Recip and self.by_reciprocal:
                yield node.dtype, self._inverse(s.src[0])
            elif self.any_order and (s.op is Op.Mul or (s.op is Op.Div and self.by_reciprocal)):
                yield from self._factors(s)
            else:
                yield node.dtype, _Member(self._known[s])

    def _inverse(self, divisor: UOp) -> _Member:
        own, dtype = self._known[divisor], divisor.dtype
        return _Member(tuple(ELEMENTWISE[Op.Recip](dtype, x) for x in own), ((dtype,), own))

    def _divided(self, member: _Member, rest: Any) -> Iterator[Any]:
        (dtype,), own = member.made_of
        yield from (ELEMENTWISE[Op.Div](dtype, rest, x) for x in own)


_SUMS = (Op.Add, Op.Sub, Op.Mulacc)


def _distinct(found: Iterable[Any]) -> tuple[Any, ...]:
    """Values, each once: all NaN are one, the zeros are two."""
    kept: dict[Any, Any] = {}
    for value in found:
        key = "nan" if value != value else (type(value), value, math.copysign(1.0, value))
        kept.setdefault(key, value)
        if len(kept) > MOST_VALUES:
            raise TooMany
    return tuple(kept.values())


def fused(dtype: DType, a: float, b: float, c: float) -> float:
    """``a·b + c`` in one rounding."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return ELEMENTWISE[Op.Mulacc](dtype, a, b, c)  # type: ignore[no-any-return]
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return math.copysign(0.0, a) * math.copysign(1.0, b) + c if c == 0 else 0.0
    return round_to(dtype, exact)
