"""
Integers and their residues
===========================

``index`` is Z3's Int. An integer of fixed width w is an integer modulo 2^w: sums and products stay unreduced, and are
brought into the range of the dtype, as e - 2^w·k with a fresh k, only where an op looks at the value itself: a
comparison, a division, a widening cast. So polynomial identities hold by algebra, whatever the width, and nonlinear
division is never bit-blasted.

Each quotient ⌊a/b⌋ is a pair of fresh integers q and r with a = q·b + r and r between 0 and b, shared by all quotients
and remainders of the same a and b; a div 0 = 0 and a mod 0 = a (U-03).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import z3

from soundline.spec.dtypes import DType, Element, bool_, index
from soundline.spec.node import UOp
from soundline.spec.op_schema import Op
from soundline.verify.smt.algebra import Algebra, Law, Outside
from soundline.verify.smt.divisibility import (
    divisible,
    mask_of,
    odd,
    polynomial,
    powers_of_two,
    without_common_bits,
    without_odd_factors,
)
from soundline.verify.smt.obligations import Obligation, is_whole, wrapping_nodes
from soundline.verify.smt.truncation import Truncations


@dataclass(frozen=True, slots=True)
class Residue:
    """An Int term and whether it is the element itself, not just congruent to it."""

    term: Any
    exact: bool


@dataclass(frozen=True, slots=True)
class Quotient:
    """a = q·b + r, the floor division."""

    a: Any
    b: Any
    q: Any
    r: Any


class Integers(Algebra):
    """Whole numbers as Int, fixed widths as residues, bools as Bool."""

    NAME: ClassVar[str] = "integers"

    def __init__(self, obligation: Obligation) -> None:
        super().__init__(obligation)
        self.quotients: list[Quotient] = []
        self.variables: list[Any] = []
        self.exact: list[Quotient] = []
        """The quotients whose remainder the hypotheses say to be 0."""
        self.truncated = Truncations(self)
        self._quotients: dict[tuple[int, int], Quotient] = {}
        self._fitting = frozenset(wrapping_nodes(obligation.fits))
        self._lower = dict(map(_lower_bound, obligation.hypotheses))
        self.divisible = divisible(obligation.hypotheses)
        self._odd = odd(obligation.hypotheses)
        self.powers = powers_of_two(obligation.hypotheses)
        self.without_common_bits = without_common_bits(obligation.hypotheses)

    # elements -----------------------------------------------------------------------------------------------------

    def constant(self, dtype: DType, value: Element) -> Any:
        """A number, or a truth value."""
        if dtype is bool_:
            return self.truth(bool(value))
        if dtype.is_float:
            raise Outside("floats among the integers")
        return Residue(self.int(int(value)), True)

    def variable(self, name: str, dtype: DType) -> Any:
        """An Int in the range of its dtype, or a Bool."""
        if dtype is bool_:
            return z3.Bool(name, self.ctx)
        if dtype.is_float:
            raise Outside("floats among the integers")
        x = z3.Int(name, self.ctx)
        self.variables.append(x)
        self._in_range(dtype, x)
        return Residue(x, True)

    def int(self, value: int) -> Any:
        """A number."""
        return z3.IntVal(value, self.ctx)

    def fresh(self, stem: str) -> Any:
        """A fresh Int."""
        return z3.Int(self.fresh_name(stem), self.ctx)

    def _in_range(self, dtype: DType, x: Any) -> None:
        if dtype is not index:
            self.facts += [int(dtype.min) <= x, x <= int(dtype.max)]

    def residue(self, node: UOp) -> Any:
        """Some Int congruent to a whole node that is already translated; a Bool as it is."""
        found = self._terms[node]
        return found.term if isinstance(found, Residue) else found

    def value(self, node: UOp) -> Any:
        """The element of a node that is already translated."""
        found = self._terms[node]
        if not isinstance(found, Residue):
            return found
        if not found.exact:
            found = self._terms[node] = Residue(self._reduced(node.dtype, found.term), True)
        return found.term

    def found(self, node: UOp) -> Any:
        """What stands for a node that is already translated: a residue or a Bool."""
        return self._terms[node]

    def choice(self, p: Any, a: Any, b: Any) -> Any:
        """a where p, else b."""
        if not isinstance(a, Residue):
            return z3.If(p, a, b)
        return Residue(z3.If(p, a.term, b.term), a.exact and b.exact)

    def _reduced(self, dtype: DType, e: Any) -> Any:
        """The integer congruent to e in the range of the dtype."""
        literal = _literal(e)
        if literal is not None:
            low = int(dtype.min)
            return self.int((literal - low) % (1 << dtype.bits) + low)
        x, k = self.fresh("wrapped"), self.fresh("wraps")
        self.facts.append(e == x + k * (1 << dtype.bits))
        self._in_range(dtype, x)
        return x

    def element(self, model: Any, node: UOp) -> Element:
        """The element of a variable in a model."""
        term = self.value(node)
        if node.dtype is bool_:
            return self.bool_element(model, term)
        return int(model.eval(term, model_completion=True).as_long())

    # conditions ---------------------------------------------------------------------------------------------------

    def premises(self) -> list[Any]:
        """The hypotheses, those that say what divides what before the others use it."""
        for remainder in self.obligation.nodes():
            if remainder in self.divisible:
                self.term(remainder)
        return super().premises()

    def equal(self, left: UOp, right: UOp) -> Any:
        """Equality of elements; of residues, that their difference is a multiple of 2^w."""
        a, b = self._terms[left], self._terms[right]
        if not isinstance(a, Residue):
            return a == b
        if a.exact and b.exact:
            return a.term == b.term
        atoms: dict[str, Any] = {}
        whole = polynomial(a.term - b.term, atoms)
        odd_names = {name for name, atom in atoms.items() if any(self._is(node, atom) for node in self._odd)}
        gap = without_odd_factors(whole, odd_names.__contains__).z3(atoms.__getitem__, self.int)
        k, r, modulus = self.fresh("wraps"), self.fresh("apart"), 1 << left.dtype.bits
        self.facts += [gap == k * modulus + r, r >= 0, r < modulus]
        return r == 0

    def _is(self, node: UOp, term: Any) -> bool:
        """Whether a term is the element of a node that has been translated."""
        found = self._terms.get(node)
        return isinstance(found, Residue) and z3.eq(found.term, term)

    def no_wrap(self, node: UOp) -> Any:
        """That the exact result lies in the range of the dtype."""
        low, high = int(node.dtype.min), int(node.dtype.max)
        exact = self._exact(node)
        within = [low <= exact, exact <= high]
        if node.op is Op.Mulacc:
            a, b, _ = (self.value(s) for s in node.src)
            within += [low <= a * b, a * b <= high]
        return z3.And(*within)

    def _exact(self, node: UOp) -> Any:
        """The exact result of an operation that is assumed not to wrap."""
        if node not in self._terms:
            self.term(node)
        found = self._terms[node]
        assert isinstance(found, Residue)
        return found.term

    def law(self, node: UOp) -> Law | None:
        """The law of a node; inside `fits`, its exact result."""
        if node in self._fitting:
            return lambda algebra, n: Residue(EXACT[n.op](algebra, n), True)
        return INTEGER_LAWS.get(node.op)

    def least(self, node: UOp) -> Any:
        """A number that a node is at least, as the hypotheses say it in so many words."""
        if node.op is Op.Const:
            return node.arg.value
        if node in self._lower:
            return self._lower[node]
        if node.op is Op.Mul and (node in self._fitting or node.dtype is index):
            factors = [self.least(s) for s in node.src]
            if min(factors) >= 0:
                return math.prod(factors)
        return node.dtype.min

    # division -----------------------------------------------------------------------------------------------------

    def divide(self, a: Any, b: Any) -> Quotient:
        """The floor quotient and remainder of two Ints."""
        key = (a.get_id(), b.get_id())
        if key not in self._quotients:
            self._quotients[key] = self._remainder_divided(a, b) or self._divided(a, b)
        return self._quotients[key]

    def _remainder_divided(self, a: Any, b: Any) -> Quotient | None:
        """Of a = x mod m·b: a mod b is x mod b, and a div b is x div b - m·(x div m·b); also where b is 0."""
        for whole in self.quotients:
            if not z3.eq(whole.r, a):
                continue
            for multiple in self.exact:
                if z3.eq(multiple.a, whole.b) and z3.eq(multiple.b, b):
                    part = self.divide(whole.a, b)
                    return Quotient(a, b, part.q - multiple.q * whole.q, part.r)
        return None

    def divide_exactly(self, a: Any, b: Any, q: Any = None) -> Quotient:
        """The quotient of two Ints of which the second divides the first; no fact of its own says so."""
        key = (a.get_id(), b.get_id())
        if key not in self._quotients:
            q = self.fresh("multiple") if q is None else q
            found = self._quotients[key] = Quotient(a, b, q, self.int(0))
            self.facts += [a == q * b, z3.Implies(b == 0, q == 0)]
            self.quotients.append(found)
            self.exact.append(found)
            self.truncated.is_exact(found)
        return self._quotients[key]

    def _divided(self, a: Any, b: Any) -> Quotient:
        number = _literal(b)
        if number == 0:
            return Quotient(a, b, self.int(0), a)
        found = Quotient(a, b, self.fresh("quotient"), self.fresh("remainder"))
        q, r = found.q, found.r
        self.quotients.append(found)
        if number is not None:
            below = z3.And(r >= 0, r < b) if number > 0 else z3.And(b < r, r <= 0)
            self.facts += [a == q * b + r, below]
            return found
        self.facts += [
            a == q * b + r,
            z3.Implies(b > 0, z3.And(r >= 0, r < b)),
            z3.Implies(b < 0, z3.And(b < r, r <= 0)),
            z3.Implies(b == 0, q == 0),
        ]
        return found


def _lower_bound(hypothesis: UOp) -> tuple[UOp, Any]:
    """The node that a hypothesis such as 0 < x bounds below, and the bound; else itself and 0, being a bool."""
    if hypothesis.op in (Op.CmpLt, Op.CmpLe, Op.CmpGt, Op.CmpGe) and is_whole(hypothesis.src[0].dtype):
        low, x = hypothesis.src if hypothesis.op in (Op.CmpLt, Op.CmpLe) else hypothesis.src[::-1]
        if low.op is Op.Const:
            return x, low.arg.value + (hypothesis.op in (Op.CmpLt, Op.CmpGt))
    return hypothesis, False


def _literal(term: Any) -> int | None:
    """The number that an Int term is."""
    return int(term.as_long()) if z3.is_int_value(term) else None


# Laws -------------------------------------------------------------------------------------------------------------


def _ring(function: Callable[..., Any]) -> Law:
    """A sum or product: of residues where the dtype wraps."""

    def law(algebra: Integers, node: UOp) -> Residue:
        if node.dtype is index:
            return Residue(function(*(algebra.value(s) for s in node.src)), True)
        return Residue(function(*(algebra.residue(s) for s in node.src)), False)

    return law


def _exactly(function: Callable[..., Any]) -> Callable[[Integers, UOp], Any]:
    """The exact result, from the elements of the operands."""
    return lambda algebra, node: function(*(algebra.value(s) for s in node.src))


def _comparison(function: Callable[..., Any]) -> Law:
    return lambda algebra, node: function(*(algebra.value(s) for s in node.src))


def _maximum(algebra: Integers, node: UOp) -> Residue:
    a, b = (algebra.value(s) for s in node.src)
    return Residue(z3.If(a > b, a, b), True)


def _where(algebra: Integers, node: UOp) -> Any:
    return algebra.choice(algebra.value(node.src[0]), *(algebra.found(s) for s in node.src[1:]))


def _idiv(algebra: Integers, node: UOp) -> Residue:
    return _quotient(algebra, node, algebra.divide(*(algebra.value(s) for s in node.src)).q)


def _cdiv(algebra: Integers, node: UOp) -> Residue:
    return _quotient(algebra, node, _truncated(algebra, node)[0])


def _truncated(algebra: Integers, node: UOp) -> tuple[Any, Any]:
    """The truncating quotient of the sources of a node, and its remainder."""
    for source in node.src:
        if algebra.least(source) >= 0:
            algebra.truncated.is_natural(algebra.value(source))
    return algebra.truncated(*(algebra.value(s) for s in node.src))


def _quotient(algebra: Integers, node: UOp, q: Any) -> Residue:
    """A quotient leaves the range only as the least value by -1."""
    divisor = node.src[1]
    literal = divisor.op is Op.Const and divisor.arg.value != -1
    return Residue(q, not node.dtype.signed or node.dtype is index or literal or algebra.least(divisor) >= 0)


def _mod(algebra: Integers, node: UOp) -> Residue:
    a, b = (algebra.value(s) for s in node.src)
    if node in algebra.divisible:
        algebra.divide_exactly(a, b)
    return Residue(algebra.divide(a, b).r, True)


def _cmod(algebra: Integers, node: UOp) -> Residue:
    a, b = (algebra.value(s) for s in node.src)
    if node in algebra.divisible:
        algebra.divide_exactly(a, b)
    return Residue(_truncated(algebra, node)[1], True)


def _shift_count(node: UOp) -> int:
    """The constant count of a shift, read as unsigned and at most the width."""
    count = node.src[1]
    if count.op is not Op.Const:
        raise Outside("a shift by a variable among the integers")
    n = int(count.arg.value)
    return n if node.dtype is index else min(n % (1 << node.dtype.bits), node.dtype.bits)


def _shl(algebra: Integers, node: UOp) -> Residue:
    if node.src[1].op is not Op.Const and node.dtype is not index:
        return Residue(algebra.residue(node.src[0]) * _power(algebra, node), False)
    scale = algebra.int(1 << _shift_count(node))
    if node.dtype is index:
        return Residue(algebra.value(node.src[0]) * scale, True)
    return Residue(algebra.residue(node.src[0]) * scale, False)


def _power(algebra: Integers, node: UOp) -> Any:
    """By what a shift of a variable count multiplies: a number that depends on the count alone, 0 from the width on.

    That it is a power of two is not said, so that a model of this may have one that is none.
    """
    algebra.spurious = True
    count, width = algebra.value(node.src[1]), node.dtype.bits
    power = z3.Function(f"power:{node.dtype}", z3.IntSort(algebra.ctx), z3.IntSort(algebra.ctx))(count)
    algebra.facts += [power >= 0, power <= 1 << (width - 1), z3.Implies(count == 0, power == 1)]
    return power


def _exact_shl(algebra: Integers, node: UOp) -> Any:
    return algebra.value(node.src[0]) * algebra.int(1 << _shift_count(node))


def _shr(algebra: Integers, node: UOp) -> Residue:
    scale = algebra.int(1 << _shift_count(node))
    return Residue(algebra.divide(algebra.value(node.src[0]), scale).q, True)


def _and(algebra: Integers, node: UOp) -> Residue:
    """A mask of low bits is a remainder; also of a power of two that is not known, less one.

    What the hypotheses say to be 0 is so, and that is all that is said of its operands here.
    """
    for mask, other in (node.src, node.src[::-1]):
        power = mask_of(mask)
        if power is not None and power[0] in algebra.powers:
            return _masked(algebra, algebra.value(other), node.dtype, *power)
    for mask, other in (node.src, node.src[::-1]):
        if mask.op is Op.Const:
            bits = int(mask.arg.value) % (1 << node.dtype.bits) + 1
            if bits & (bits - 1) == 0 and bits.bit_length() <= node.dtype.bits + (not node.dtype.signed):
                return Residue(algebra.divide(algebra.value(other), algebra.int(bits)).r, True)
    if node in algebra.without_common_bits:
        algebra.spurious = True
        return Residue(algebra.int(0), True)
    raise Outside("And of variables among the integers")


def _masked(algebra: Integers, x: Any, dtype: DType, power: UOp, is_low: bool) -> Residue:
    """x under p - 1, or under -p, for a p that the hypotheses say to be 0, a power of two, or the least value.

    Nothing else is said of p here, so that a model of this may have a p that is none.
    """
    algebra.spurious = True
    p, span = algebra.value(power), 1 << (dtype.bits - 1)
    low = algebra.divide(x, p).r
    if dtype.signed:
        low = z3.If(p == -span, z3.If(x < 0, x + span, x), low)
    return Residue(low, True) if is_low else Residue(x - low, True)


def _cast(algebra: Integers, node: UOp) -> Any:
    (source,) = node.src
    if node.arg is bool_:
        return algebra.value(source) != 0
    if node.arg.is_float or not is_whole(source.dtype):
        raise Outside("casts of floats among the integers")
    if _contains(node.arg, source.dtype):
        return Residue(algebra.value(source), True)
    if source.dtype is not index and node.arg.bits > source.dtype.bits:
        return Residue(algebra.value(source), False)
    return Residue(algebra.residue(source), False)


def _contains(target: DType, source: DType) -> bool:
    if target is index:
        return True
    return source is not index and target.min <= source.min and source.max <= target.max


def _bitcast(algebra: Integers, node: UOp) -> Residue:
    (source,) = node.src
    if not (source.dtype.is_int and node.arg.is_int):
        raise Outside("bitcasts of floats among the integers")
    return Residue(algebra.residue(source), False)


def _mulacc(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


INTEGER_LAWS: dict[Op, Law] = {
    Op.Add: _ring(lambda a, b: a + b),
    Op.Sub: _ring(lambda a, b: a - b),
    Op.Mul: _ring(lambda a, b: a * b),
    Op.Neg: _ring(lambda x: -x),
    Op.Mulacc: _ring(_mulacc),
    Op.Max: _maximum,
    Op.Idiv: _idiv,
    Op.Mod: _mod,
    Op.CDiv: _cdiv,
    Op.CMod: _cmod,
    Op.Shl: _shl,
    Op.Shr: _shr,
    Op.And: _and,
    Op.CmpLt: _comparison(lambda a, b: a < b),
    Op.CmpGt: _comparison(lambda a, b: a > b),
    Op.CmpLe: _comparison(lambda a, b: a <= b),
    Op.CmpGe: _comparison(lambda a, b: a >= b),
    Op.CmpEq: lambda algebra, node: algebra.equal(*node.src),
    Op.CmpNe: lambda algebra, node: z3.Not(algebra.equal(*node.src)),
    Op.Where: _where,
    Op.Cast: _cast,
    Op.Bitcast: _bitcast,
}

EXACT: dict[Op, Callable[[Integers, UOp], Any]] = {
    Op.Add: _exactly(lambda a, b: a + b),
    Op.Sub: _exactly(lambda a, b: a - b),
    Op.Mul: _exactly(lambda a, b: a * b),
    Op.Neg: _exactly(lambda x: -x),
    Op.Mulacc: _exactly(_mulacc),
    Op.Shl: _exact_shl,
    Op.Idiv: lambda algebra, node: algebra.divide(*(algebra.value(s) for s in node.src)).q,
    Op.CDiv: lambda algebra, node: _truncated(algebra, node)[0],
    Op.Cast: _exactly(lambda x: x),
}
"""The exact result of every operation that may wrap; inside `fits` it is the element."""
