"""
Reductions at every rank
========================

A Reduce along a set of axes binds a position on each of them, so what it reduces is a product over axes: at rank n, how
often a reduction reads certain elements is the product, over the axes, of how often it does so along each one. Written
out, both sides of a rule are sums of such *terms*: one for each product of accesses in a reduction. What a proof of an
instance shows of reductions is that the same elements are reduced, each as often (`pieces`), so it is enough to bring
these numbers from low ranks to high ones.

**If T terms cancel at every rank up to T - 1, they cancel at every rank.** Let Nₜ(v) say how often term t reads the
elements in question along an axis with the sizes, flags and positions v, so that D(v₁ … vₙ) = Σₜ wₜ · Nₜ(v₁) ⋯ Nₜ(vₙ)
must be zero, where the weights wₜ belong to the terms alone. Number the terms from 1 to T. For n ≥ T, the product of
Nₜ(vₐ) - Nₐ(vₐ) over a = 1 … T is zero for every t, because its factor a = t is. Multiply it by the Nₜ(vₐ) of the other
axes, take the sum over t with the weights, and expand: the result is D(v₁ … vₙ) and integer multiples of D at fewer
axes, which are zero by induction. This holds in every ring, so it holds for integers that wrap.

Elements of one input may be read several times in one term; which of them is which can then be said in several ways,
each of which counts as a term, and an axis is kept for each two of them, so that different elements stay different. The
number of elements of a shape is a product over axes too, and a factor like others. A padding under an op that does not
keep zero makes three terms of one: inside, everywhere, and outside with the sign turned. Two paddings with one offset
and one shape, of what has one shape, at one position are one: those of a value and of the mask of where it is. Maxima
need no more: an element that is missing on one side is missing there in every term, and one axis shows that for each
term. A reduction of floats without a licence is a list: two are one list if their axes have one size and equal elements
stand at equal positions, and of this the count of accesses speaks (`verify.smt.ranks.counts`). A reduction of such
reductions is a list of lists; whether it is one list shows with two axes only, and of that nothing is said here.

A padding of a reduction adds zeros to its terms where a zero is nothing to the reduction: to a sum, and to a maximum of
a dtype without negative values. What a reduction is depends on its own dtype, which is not always that of the rule: a
reduction of floats is a list in a rule about integers too, and a licence speaks of it only if the rule makes floats.

A padded value with another one where it is not, as in a concatenation, is three terms under a sum: itself, the other
one, and the other one where the first is, with the sign turned. The last one is nothing where the other one begins
behind the first along an axis of a set that holds one axis, which is kept.

A sum, a difference, a product and a negation of sums is written out like that, as is a maximum of maxima and a product
of products. What else is done to reductions is done to their elements, where it is a homomorphism
(`verify.smt.ranks.homomorphisms`). Under any other op, the reductions of both sides must be the same terms, which then
stand for any input of their shape, or the same op must stand outside on both sides, which is then taken off.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from soundline.spec.dtypes import DType, bool_, index, zero_of
from soundline.spec.evaluation.values import identity
from soundline.spec.ops.node import Op
from soundline.spec.ops.table import group_of
from soundline.spec.rules.building import has_dtype
from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import Tensor, Term, Value, show, subterms
from soundline.verify.smt.ranks.conditions import stated
from soundline.verify.smt.ranks.shapes import (
    LEAVES_OUT,
    dtype_inside,
    is_elementwise,
    may_be_float,
    may_be_invalid,
)
from soundline.verify.verdicts.layers import OF_SIDES, ROUNDING

MOST_ALIKE = 3
"""How often a term may read one input."""

_MOVES = frozenset((Op.Permute, Op.Flip, Op.Expand, Op.Shrink, Op.Pad, *group_of("marker")))
_ON_BOOLS: dict[object, Op] = {Op.Max: Op.Or, Op.Mul: Op.And}


class NotWritten(Exception):
    """A reduction stands where it cannot be written out as terms."""


@dataclass(frozen=True)
class _Term:
    """A product of accesses under reductions: what is read, and how many terms its paddings make of it."""

    reads: frozenset[tuple[str, str]]
    """Inputs with the ops through which they are read: two readings of one input are at positions of their own."""
    paddings: frozenset[tuple[str, str, str]] = frozenset()
    """Which tests of a position stand in it: where, and whether it lies in what was padded, and of which shape."""
    pure: bool = True
    """Whether nothing else than a product is made of what is read."""

    def times(self, other: _Term) -> _Term:
        """The product with another."""
        return _Term(self.reads | other.reads, self.paddings | other.paddings, pure=self.pure and other.pure)

    @property
    def sort(self) -> tuple[str, ...]:
        """The inputs, each as often as it is read: products of different inputs cannot cancel."""
        return tuple(sorted(name for name, _ in self.reads))

    @property
    def weight(self) -> int:
        """How many terms this one counts for."""
        alike = Counter(self.sort).values()
        if max(alike, default=0) > MOST_ALIKE:
            raise NotWritten("a reduction multiplies too many elements of one input")
        return int(math.prod(map(math.factorial, alike)) * 3 ** len(self.paddings))


def has_reduction(term: Term) -> bool:
    """Whether a reduction along axes stands in a term."""
    return any(t.head is Op.Reduce for t in subterms(term))


@dataclass(frozen=True)
class Needs:
    """What says how many axes suffice."""

    terms: int = 0
    """How many axes it takes for the terms of reductions to cancel."""
    accesses: bool = True
    """Whether accesses and paddings are to be counted: where nothing is reduced, and where a reduction is a list."""


def axes_of_reductions(rule: Rule, dtypes: tuple[DType, ...]) -> Needs:
    """What the reductions of a rule need. Raises ``NotWritten``."""
    sides = rule.left, rule.right
    if not any(map(has_reduction, sides)):
        return Needs()
    if any(t.head == "fits" for condition in rule.given for t in subterms(condition)):
        raise NotWritten("what fits is not known of each term of a reduction")
    ops = {_op(t) for side in sides for t in subterms(side) if t.head is Op.Reduce}
    if len(ops) > 1:
        raise NotWritten(f"{show(rule.left)} and {show(rule.right)} reduce with several ops")
    (op,) = ops
    reductions = [t for side in sides for t in subterms(side) if t.head is Op.Reduce]
    free = not any(is_list(t, rule, dtypes) for t in reductions)
    written = _Written(op, free, rule, dtypes)
    terms = [t for side in sides for t in written.of(side)]
    sorts = {t.sort for t in terms} if all(t.pure for t in terms) else {None}
    needed = max(_needed([t for t in terms if sort in (None, t.sort)]) for sort in sorts)
    return Needs(needed, accesses=not free)


def is_list(reduction: Term, rule: Rule, dtypes: tuple[DType, ...]) -> bool:
    """Whether a reduction may be one of floats, in one order, that no licence frees."""
    if reduction.args[1] is Op.Max:
        return False
    licensed = "reassociate" in rule.licences
    return any(
        may_be_float(reduction, rule, [d]) and not (licensed and _makes_floats(rule, d)) for d in dtypes
    )


def _makes_floats(rule: Rule, dtype: DType) -> bool:
    """Whether a rule is one about floats at a dtype: a licence is one to compute these in another way."""
    inside = dtype_inside(rule.left, rule)
    return inside is not None and all(d.is_float for d in inside or (dtype,))


def without_idle_licences(rule: Rule, dtypes: tuple[DType, ...]) -> Rule:
    """The rule without licences to round in another way, if it makes no floats but has floats inside.

    Parts of it are proved by themselves, and there a licence must not say more than it said of the whole. So where
    something is reduced, those go as well that speak of the values of whole sides.
    """
    idle = set(ROUNDING) & set(rule.licences)
    values = [t for side in (rule.left, rule.right) for t in subterms(side) if isinstance(t, Value)]
    inside = [d for d in dtypes if not _makes_floats(rule, d)]
    if not any(may_be_float(t, rule, [d]) for d in inside for t in values if has_dtype(t)):
        idle = set()
    if any(map(has_reduction, (rule.left, rule.right))):
        idle |= set(OF_SIDES) & set(rule.licences)
    return replace(rule, licences=tuple(n for n in rule.licences if n not in idle)) if idle else rule


def _zero_is_nothing(op: object, value: Term, rule: Rule, dtypes: tuple[DType, ...]) -> bool:
    """Whether a zero among the elements of a reduction adds nothing: to any sum, to a maximum where none is less."""
    inside = dtype_inside(value, rule)
    if op is not Op.Max or inside is None:
        return op is Op.Add
    return all(d is not index and identity(Op.Max, d) == zero_of(d) for d in inside or dtypes)


def _op(reduction: Term) -> object:
    """The op of a reduction, or the name of the variable that stands for it."""
    return show(reduction.args[1]) if isinstance(reduction.args[1], Term) else reduction.args[1]


def _needed(terms: list[_Term]) -> int:
    """How many axes it takes for these terms to cancel at every rank."""
    often = {name: max(t.sort.count(name) for t in terms) for t in terms for name in t.sort}
    return sum(t.weight for t in terms) - 1 + sum(math.comb(n, 2) for n in often.values())


class _Written:
    """Writes a side out as terms of the reductions with one op."""

    def __init__(self, op: object, free: bool, rule: Rule, dtypes: tuple[DType, ...]) -> None:
        self.op = op
        self.free = free
        """Whether elements may be reduced in any order and arrangement."""
        self.rule = rule
        self.dtypes = dtypes
        self.reductions = 0
        self.joining = {op} | ({Op.Sub, Op.Neg} if op is Op.Add else set())

    def of(self, term: Value, trail: str = "") -> list[_Term]:
        """The terms of a value that is read through these ops."""
        head, args = term.head, term.args
        if head is Op.Reduce:
            if not self.free and has_reduction(args[0]):
                raise NotWritten(f"{show(term)} is a list of lists, whose axes are not independent")
            self.reductions += 1
            return self.of(args[0], f"{trail}.{self.reductions}")
        if self._moves(term):
            return self.of(args[0], _further(term, trail))
        if self.free and self._joins(term):
            return [t for a in args if isinstance(a, Value) for t in self.of(a, trail)]
        if self.free and self.op is Op.Add and head is Op.Mul:
            left, right = (self.of(a, trail) for a in args)
            return [a.times(b) for a, b in product(left, right)]
        if self.free and self.op is Op.Add and (placed := _placed(term)) is not None:
            return self._of_placed(*placed, trail)
        if has_reduction(term):
            raise NotWritten(f"{show(term)} asks for more of a reduction than its terms")
        if any(t.head == "product" for t in subterms(term)) and not _is_pure(term):
            raise NotWritten(f"{show(term)} asks for more of a product than that it is one")
        paddings = frozenset(_paddings(term, trail))
        return [_Term(frozenset(_reads(term, trail)), paddings, pure=_is_pure(term))]

    def _of_placed(self, inside: Value, behind: Value, trail: str) -> list[_Term]:
        """The terms of a padded value with another one behind it: both, less what the other one has where the first is.

        Nothing is to be taken off where the other one begins behind the first along an axis that is always there.
        """
        first, second = self.of(inside, trail), self.of(behind, trail)
        apart = _is_behind(inside, behind) and any(
            c.head == "one_axis" and show(c.args[0]) == show(behind.args[1].args[0])
            for c in stated(self.rule)
        )
        return [*first, *second] if apart else [*first, *second, *second]

    def _moves(self, term: Value) -> bool:
        """Whether an op moves elements, and adds none but zeros that are nothing to the reduction."""
        if term.head is not Op.Pad:
            return term.head in _MOVES
        return self.free and _zero_is_nothing(self.op, term, self.rule, self.dtypes)

    def _joins(self, term: Value) -> bool:
        """Whether an op joins what is reduced as the reduction does."""
        if term.head == "op":
            return show(term.args[0]) == self.op
        return term.head in self.joining or (term.head is _ON_BOOLS.get(self.op) and self._is_bool(term))

    def _is_bool(self, term: Value) -> bool:
        inside = dtype_inside(term, self.rule)
        return inside is not None and all(d is bool_ for d in inside or self.dtypes)


def _placed(term: Value) -> tuple[Value, Value] | None:
    """What is padded, and what stands where it is not: of a choice by whether a position is in what is padded."""
    if term.head is not Op.Where:
        return None
    there, inside, behind = term.args
    if there.head is not Op.Pad or inside.head is not Op.Pad or show(there.args[1:]) != show(inside.args[1:]):
        return None
    source = inside.args[0]
    everywhere = Value(Op.Or, (source == source, source != source))
    return (inside, behind) if show(there.args[0]) == show(everywhere) else None


def _is_behind(inside: Value, behind: Value) -> bool:
    """Whether one padded value begins where the other ends, along a set of axes."""
    if behind.head is not Op.Pad or len(behind.args) != 3 or len(inside.args) != 3:
        return False
    start, begin = behind.args[1], inside.args[1]
    zero = begin.head == "everywhere" and show(begin) == "0"
    return zero and start.head == "where" and show(start.args[1]) == show(inside.args[0].shape)


def _is_pure(term: Term) -> bool:
    """Whether a factor is an input or a number: of the scalars, or how many elements a shape has."""
    if term.head is Op.Cast:
        return bool(term.args[0].head == "product")
    return term.head in ("var", "literal", "product")


def _further(term: Term, trail: str) -> str:
    return f"{trail}.{term.head}({', '.join(map(show, term.args[1:]))})"


def _reads(term: Term, trail: str) -> Iterator[tuple[str, str]]:
    """The inputs that are read, with the ops through which."""
    if isinstance(term, Tensor) and term.head == "var":
        yield term.args[0], trail
    if term.head in _MOVES:
        trail = _further(term, trail)
    for arg in term.args:
        if isinstance(arg, Value):
            yield from _reads(arg, trail)


def _paddings(term: Value, trail: str) -> Iterator[tuple[str, str, str]]:
    """The paddings in a value, each by what its test of a position depends on; equal ones are one test.

    The test asks whether a position lies in what was padded: of the ops through which the position came, the offset,
    the shape and the stride, and the shape of what was padded.
    """
    if term.head is Op.Pad:
        yield trail, ", ".join(map(show, term.args[1:])), _shape_of(term.args[0])
    moves = not is_elementwise(term)
    for k, arg in enumerate(term.args):
        if isinstance(arg, Value):
            yield from _paddings(arg, f"{_further(term, trail)}.{k}" if moves else trail)


def _shape_of(value: Value) -> str:
    """What has the shape of a value: the one input of which it is made element by element, or the value itself."""
    if value.head in ("var", "literal") or not is_elementwise(value) or value.head is Op.Bitcast:
        return show(value)
    operands = (a for a in value.args if isinstance(a, Value))
    shaped = {_shape_of(a) for a in operands if any(isinstance(t, Tensor) for t in subterms(a))}
    return shaped.pop() if len(shaped) == 1 else show(value)


def peeled(rule: Rule) -> Rule | None:
    """The rule without an op that stands outside on both sides with equal operands but one; None where none does.

    An op that may leave out invalid elements stays: what the left side then has is not known to be valid.
    """
    left, right = rule.left, rule.right
    if left.head in LEAVES_OUT and any(may_be_invalid(side, rule) for side in (left, right)):
        return None
    if left.head != right.head or left.head in ("var", "literal") or len(left.args) != len(right.args):
        return None
    pairs = [(a, b) for a, b in zip(left.args, right.args, strict=True) if show(a) != show(b)]
    if len(pairs) != 1 or not all(isinstance(part, Value) for part in pairs[0]):
        return None
    return replace(rule, left=pairs[0][0], right=pairs[0][1])
