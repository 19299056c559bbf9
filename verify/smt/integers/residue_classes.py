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
from typing import Any, ClassVar

import z3

from soundline.spec.dtypes import DType, Element, bool_, index
from soundline.spec.ops.node import Op, UOp
from soundline.verify.smt.goals.algebra import Algebra, Law, Outside
from soundline.verify.smt.goals.obligations import Obligation, is_whole, wrapping_nodes
from soundline.verify.smt.integers.divisibility import (
    divisible,
    odd,
    polynomial,
    powers_of_two,
    without_common_bits,
    without_odd_factors,
)
from soundline.verify.smt.integers.laws import EXACT, INTEGER_LAWS
from soundline.verify.smt.integers.powers import Powers
from soundline.verify.smt.integers.terms import Quotient, Residue, number_of
from soundline.verify.smt.integers.truncation import Truncations


class Integers(Algebra):
    """Whole numbers as Int, fixed widths as residues, bools as Bool."""

    NAME: ClassVar[str] = "integers"

    def __init__(self, obligation: Obligation) -> None:
        super().__init__(obligation)
        self.quotients: list[Quotient] = []
        self.variables: list[Any] = []
        self.exact: list[Quotient] = []
        """The quotients whose remainder the hypotheses say to be 0."""
        self.wrapped: list[tuple[Any, Any]] = []
        """The Ints that were brought into the range of a dtype, each after what it was before."""
        self.truncated = Truncations(self)
        self._quotients: dict[tuple[int, int], Quotient] = {}
        self._fitting = frozenset(wrapping_nodes(obligation.fits))
        self._lower = dict(map(_lower_bound, obligation.hypotheses))
        self.divisible = divisible(obligation.hypotheses)
        self._odd = odd(obligation.hypotheses)
        self.two_to = Powers(self)
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
        """The translation of a node that is already translated: a residue or a Bool."""
        return self._terms[node]

    def choice(self, p: Any, a: Any, b: Any) -> Any:
        """a where p, else b."""
        if not isinstance(a, Residue):
            return z3.If(p, a, b)
        return Residue(z3.If(p, a.term, b.term), a.exact and b.exact)

    def _reduced(self, dtype: DType, e: Any) -> Any:
        """The integer congruent to e in the range of the dtype."""
        literal = number_of(e)
        if literal is not None:
            low = int(dtype.min)
            return self.int((literal - low) % (1 << dtype.bits) + low)
        x, k = self.fresh("wrapped"), self.fresh("wraps")
        self.facts.append(e == x + k * (1 << dtype.bits))
        self._in_range(dtype, x)
        self.wrapped.append((e, x))
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
        number = number_of(b)
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
