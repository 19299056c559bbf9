"""
Periods of loops
================

Between two neighbouring cuts, iterations i and i + period of a loop of `seq` do the same: all nodes below are reached
with the same values of all terms, where the iterators of inner loops are the same. It is enough to ask each term of the
body by itself, since what a node does is given by its terms, and which nodes are reached by those of the nodes above.
So each term gives a period and cuts, and the loop has the least common multiple of the periods and all of the cuts:

- without the iterator of the loop: any period;
- ``(a·i + r) mod D``: D / gcd(a, D), whatever r is, for ``a · D / gcd(a, D)`` is a multiple of D;
- a comparison of which one side minus the other is ``a·i + r``: where r has inner iterators, it is within an interval,
  and outside of the iterations in which the sign of the sum depends on them, the comparison has one value before and
  one after. The ends of these iterations are cuts, and so is each of them, if they are not too many;
- ``(a·i + r) div D``, where r has no inner iterators: it changes at known iterations, which are cuts, if they are not
  too many;
- anything else: what its operands give. A sum in which the iterator has a factor has none.

What this says is about the plan, so about what is kept: windows of arrays that are left out may move.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import gcd, lcm

from soundline.impl.spork.checker.planning.plan import (
    Applied,
    Array,
    Block,
    For,
    If,
    Launch,
    Node,
    Tasks,
    Term,
    Var,
)
from soundline.impl.spork.checker.planning.terms import (
    Interval,
    Known,
    Sum,
    applied,
    as_number,
    as_sum,
    variables,
)
from soundline.impl.spork.checker.reducing.ranges import Around, as_term, branches, inside, is_mod
from soundline.impl.spork.checker.reducing.values import terms_of
from soundline.spec.ops.node import Op

MOST = 1 << 12
"""The longest period."""
MOST_CUTS = 64
"""How many cuts a term may have."""

ORDERED = {Op.CmpLt, Op.CmpLe, Op.CmpGt, Op.CmpGe, Op.CmpEq, Op.CmpNe}


def with_periods(root: Block, arrays: tuple[Array, ...]) -> Block:
    """A plan whose loops say their periods."""
    return _Periods(arrays).block(root, Around(), [])


class NoPeriod(Exception):
    """Nothing of the kind was shown."""


@dataclass(slots=True)
class _Loop:
    """A loop of which the period is looked for."""

    var: Var
    range: Interval
    period: int = 1
    cuts: dict[Term, None] = field(default_factory=dict)
    inner: set[int] = field(default_factory=set)
    """The iterators of loops in it."""
    seen: set[Term] = field(default_factory=set)
    none: bool = False

    def add(self, term: Term, known: Known) -> None:
        """A term of its body."""
        if self.none or term in self.seen:
            return
        try:
            self.of(term, known)
        except NoPeriod:
            self.none = True
        else:
            if not _bound_to(
                term, self.inner
            ):  # else what is known of them may be another interval elsewhere
                self.seen.add(term)

    def of(self, term: Term, known: Known) -> None:
        """What a term asks for."""
        if self.var not in variables(term):
            return
        if isinstance(term, Applied) and term.op in ORDERED:
            self.compared(term, known)
            return
        found = as_sum(term)
        if self.var in found.parts:
            raise NoPeriod
        if set(found.parts) != {term}:
            for part in found.parts:
                self.of(part, known)
            return
        assert isinstance(term, Applied)
        own = as_sum(term.operands[0])
        divisor = term.operands[1] if len(term.operands) == 2 else None
        if is_mod(term) and isinstance(divisor, int):
            self.rest(own, divisor, known)
        elif term.op is Op.Idiv and isinstance(divisor, int) and divisor > 0 and self.var in own.parts:
            self.quotient(own, divisor, known)
        else:
            for operand in term.operands:
                self.of(operand, known)

    def takes(self, period: int) -> None:
        """A period is a multiple of this one."""
        self.period = lcm(self.period, period)
        if self.period > MOST:
            raise NoPeriod

    def rest(self, of: Sum, divisor: int, known: Known) -> None:
        """A rest by a number."""
        for part, factor in of.parts.items():
            if part == self.var:
                self.takes(divisor // gcd(factor, divisor))
            else:
                self.of(part, known)

    def parted(self, of: Sum, known: Known) -> tuple[int, Sum, Interval]:
        """A sum as the factor of the iterator, what is the same in all of the loop, and bounds of what is not."""
        factor = of.parts[self.var]
        same, other = Sum(of.number, {}), Sum(0, {})
        for part, times in of.parts.items():
            if part == self.var:
                continue
            if self.var in variables(part):
                raise NoPeriod
            alone = Sum(0, {part: times})
            if _bound_to(part, self.inner):
                other = other.plus(alone)
            else:
                same = same.plus(alone)
        bounds = known.interval(as_term(other))
        if bounds is None:
            raise NoPeriod
        return factor, same, bounds

    def compared(self, term: Applied, known: Known) -> None:
        """A comparison of two numbers."""
        x, y = term.operands
        if known.interval(x) is None or known.interval(y) is None:
            raise NoPeriod
        difference = as_sum(x).plus(as_sum(y), -1)
        if self.var not in difference.parts:
            for part in difference.parts:
                self.of(part, known)
            return
        factor, same, bounds = self.parted(difference, known)
        if factor < 0:
            factor, same, bounds = -factor, Sum(0, {}).plus(same, -1), (-bounds[1], -bounds[0])
        # The sum is negative for all inner iterations before the first cut. From the last on it is positive: after
        # `bounds[1] - bounds[0]` more the least of it is where the greatest was, and one more is no longer 0.
        most = as_term(same.plus(Sum(bounds[1], {})))
        first = _ceiling(applied(Op.Neg, most), factor)
        width = (bounds[1] - bounds[0]) // factor + 2
        if width > MOST_CUTS:
            raise NoPeriod
        for k in range(width):
            self.cut(applied(Op.Add, first, k))

    def quotient(self, of: Sum, divisor: int, known: Known) -> None:
        """A quotient by a number."""
        factor, same, bounds = self.parted(of, known)
        number = as_number(as_term(same))
        if number is None or bounds != (0, 0):
            raise NoPeriod
        ends = [(factor * end + number) // divisor for end in self.range]
        if abs(ends[1] - ends[0]) > MOST_CUTS:
            raise NoPeriod
        low, high = min(ends), max(ends)
        for k in range(low + 1, high + 1):
            # Where the sum reaches k · divisor, from below or from above.
            reached = k * divisor - number
            self.cut(-(-reached // factor) if factor > 0 else reached // factor + 1)

    def cut(self, at: Term) -> None:
        """Another behaviour begins at an iteration."""
        number = as_number(at)
        if number is not None:
            if not self.range[0] < number <= self.range[1]:
                return
            at = number
        self.cuts[at] = None
        if len(self.cuts) > 4 * MOST_CUTS:
            raise NoPeriod


def _ceiling(term: Term, divisor: int) -> Term:
    """A quotient, rounded up."""
    return applied(Op.Idiv, applied(Op.Add, term, divisor - 1), divisor)


def _bound_to(term: Term, numbers: set[int]) -> bool:
    return any(v.number in numbers for v in variables(term))


@dataclass(slots=True)
class _Periods:
    """Goes through a plan, with the loops around."""

    arrays: tuple[Array, ...]

    def block(self, block: Block, around: Around, loops: list[_Loop]) -> Block:
        """The nodes of a block."""
        return Block(tuple(self.node(n, around, loops) for n in block.nodes))

    def node(self, node: Node, around: Around, loops: list[_Loop]) -> Node:
        """What a node asks of the loops around it."""
        match node:
            case Block():
                return self.block(node, around, loops)
            case For(kind="seq"):
                return self.loop(node, around, loops)
            case For(body=body) | Tasks(body=body):
                self.terms(node, around, loops)
                for var in (node.var,) if isinstance(node, For) else node.vars:
                    for loop in loops:
                        loop.inner.add(var.number)
                inner = inside(node, around)
                return node if inner is None else replace(node, body=self.block(body, inner, loops))
            case If(condition, body, orelse):
                self.terms(node, around, loops)
                yes, no = branches(node, around)
                return If(condition, self.block(body, yes, loops), self.block(orelse, no, loops))
            case Launch(body=body):
                self.terms(node, around, loops)
                return replace(node, body=self.block(body, around, loops))
        self.terms(node, around, loops)
        return node

    def terms(self, node: Node, around: Around, loops: list[_Loop]) -> None:
        for term in terms_of(node, self.arrays):
            for loop in loops:
                loop.add(term, around.known)

    def loop(self, node: For, around: Around, loops: list[_Loop]) -> For:
        """A loop whose iterations may repeat."""
        self.terms(node, around, loops)
        inner = inside(node, around)
        if inner is None:
            return node
        bounds = inner.known.ranges.get(node.var.number)
        for outer in loops:
            outer.inner.add(node.var.number)
        own = _Loop(node.var, bounds or (0, 0), none=bounds is None)
        body = self.block(node.body, inner, [*loops, own])
        made = replace(node, body=body)
        if own.none or bounds is None or bounds[1] - bounds[0] < 2 * own.period:
            return made
        return replace(made, period=own.period, cuts=tuple(own.cuts))
