"""
Reductions in order
===================

Without a licence, Add and Mul on floats are neither associative nor is every zero neutral: a reduction is the ascending
reduction that starts at its first element, so two reductions are equal only if they run through equal elements in the
same order, and nested reductions are not joined. What may be left out is what the law of the scalars lets out: -0.0
where floats are added (not +0.0, since -0.0 + 0.0 = 0.0), and 1.0 where they are multiplied. The sum of nothing is +0.0
but that of several -0.0 is -0.0, so what is left out must not be all there is on one side alone.

Where the sign of a zero does not matter in the end, every zero is neutral in a sum, and what is left out may be all
there is: partial sums that differ in the sign of a zero alone do so after each further summand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

from soundline.spec.dtypes import same_value
from soundline.spec.ops.node import Op
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import (
    Apply,
    Choice,
    Constant,
    Element,
    Reduction,
    choice,
    constant,
)
from soundline.verify.smt.elements.indexing import Path, Space
from soundline.verify.smt.elements.substitution import Replacement, within
from soundline.verify.smt.integers.formulas import (
    FALSE,
    Formula,
    conjunction,
    disjunction,
    equal,
    implies,
    less,
    negation,
)
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly
from soundline.verify.smt.reductions.bijections import Bijections, Image, Proves
from soundline.verify.smt.reductions.pieces import Bound, Piece, Pieces, opened
from soundline.verify.smt.reductions.sums import speaks_of_elements
from soundline.verify.smt.reductions.zeros import chosen_outside, is_never_below_zero, is_plain_zero

NEUTRAL = {Op.Add: -0.0, Op.Mul: 1.0}
"""What may be left out of a reduction of floats, exactly."""

MOST_UNROLLED = 8
"""Up to how many elements a reduction of known length is written out."""

OF_NOTHING = {Op.Add: 0.0, Op.Mul: 1.0}
"""The reduction of nothing."""


@dataclass(frozen=True)
class Sequence:
    """A reduction as the elements that it runs through: one piece, and the indices it had before some were left out."""

    piece: Piece
    whole: Bound
    thinned: bool
    """Whether something neutral was left out."""
    zeros: bool = False
    """Whether +0.0 was left out among elements of which none is negative."""


class Orders:
    """Compares reductions of floats, exactly."""

    def __init__(self, reader: Denotation, op: Op, proves: Proves, *, signed: bool = True) -> None:
        self.reader = reader
        self.space = reader.space
        self.op = op
        self.signed = signed
        """Whether the sign of a zero matters in the end."""
        self.proves = proves
        self.pieces = Pieces(reader, counting=False, signed=False)
        self.maps = Bijections(reader, proves)

    # taking apart -----------------------------------------------------------------------------------------------

    def of(self, reduction: Element, path: Path, *, zeros: bool = False, unnoticed: bool = False) -> Sequence:
        """The elements that a reduction runs through; what is no reduction of this op is one element.

        `zeros`: +0.0 is left out, which a sum notices, and not what is neutral. `unnoticed`: it is left out where a
        sum does not notice it.
        """
        if not isinstance(reduction, Reduction) or reduction.op is not self.op:
            return Sequence(Piece(factors=(reduction,)), (), thinned=False)
        bound, body, inside = opened(self.reader, reduction, path)
        if unnoticed and (found := self._without_unnoticed(bound, body, path)) is not None:
            return found
        conditions: list[Formula] = []
        while isinstance(body, Choice) and not speaks_of_elements(body.condition):
            if self._is_left_out(body.otherwise, zeros):
                case, body = body.condition, body.then
            elif self._is_left_out(body.then, zeros):
                case, body = negation(body.condition), body.otherwise
            elif self.space.shows(path | inside, body.condition):  # of every element
                body = body.then
                continue
            else:
                break
            conditions.append(case)
            inside |= {case}
        piece = self._fixed(Piece(bound, factors=(body,)).under(conditions), path)
        return Sequence(piece, bound, thinned=bool(conditions))

    def _without_unnoticed(self, bound: Bound, body: Element, path: Path) -> Sequence | None:
        """A sum of what is never negative without the zeros that a gate leaves; None where it is none."""
        body = chosen_outside(self.reader, body)
        if self.op is not Op.Add or not isinstance(body, Choice) or speaks_of_elements(body.condition):
            return None
        for case, kept, left in (
            (body.condition, body.then, body.otherwise),
            (negation(body.condition), body.otherwise, body.then),
        ):
            if is_plain_zero(left) and is_never_below_zero(kept):
                piece = self._fixed(Piece(bound, factors=(kept,)).under([case]), path)
                return Sequence(piece, bound, thinned=False, zeros=True)
        return None

    def _is_left_out(self, element: Element, zeros: bool) -> bool:
        if zeros:
            return isinstance(element, Constant) and same_value(element.dtype, element.value, 0.0)
        return self._is_neutral(element)

    def _is_neutral(self, element: Element) -> bool:
        if not isinstance(element, Constant):
            return False
        if self.op is Op.Add and not self.signed:
            return element.value == 0
        return same_value(element.dtype, element.value, NEUTRAL[self.op])

    def _fixed(self, piece: Piece, path: Path) -> Piece:
        """The piece without the indices that equations fix."""
        while True:
            found = self.pieces.without_equation(piece, path)
            if found is None:
                return piece
            piece = found

    def single(self, element: Element, path: Path) -> Element | None:
        """A reduction of at most one element as a choice; None where there may be more."""
        sequence = self.of(element, path)
        piece = sequence.piece
        if not isinstance(element, Reduction) or piece.bound or not are_apart(self.space, sequence.whole):
            return None
        self.reader.by_law = True
        nothing, neutral = (constant(element.dtype, of[self.op]) for of in (OF_NOTHING, NEUTRAL))
        some = self.space.reduced(is_filled(sequence.whole))
        guard = conjunction(sorted(piece.guard, key=lambda f: f.key))
        return choice(guard, piece.factors[0], choice(some, neutral, nothing))

    def single_among_zeros(self, element: Element, path: Path) -> Element | None:
        """A sum of +0.0 and at most one other element as a choice; None where there may be more.

        If there is a zero at all, before the element or after it, the sum is the element + 0.0: the sum of zeros is
        +0.0, and what +0.0 was added to once does not change when it is added again.
        """
        if self.op is not Op.Add or not isinstance(element, Reduction) or len(element.bound) != 1:
            return None
        sequence = self.of(element, path, zeros=True)
        piece = sequence.piece
        if piece.bound or not sequence.thinned or len(sequence.whole) != 1:
            return None
        self.reader.by_law = True
        ((_, size),) = sequence.whole
        zero, (alone,) = constant(element.dtype, 0.0), piece.factors
        joined = self.reader.operation(Op.Add, element.dtype, (alone, zero))
        guard = conjunction(sorted(piece.guard, key=lambda f: f.key))
        return choice(guard, choice(self.space.reduced(less(ONE, size)), joined, alone), zero)

    def unrolled(self, element: Element, path: Path) -> Element | None:
        """A reduction of a few elements, whose number is known, written out; None for any other."""
        if not isinstance(element, Reduction) or element.op is not self.op:
            return None
        counts = [size.constant for _, size in element.bound]
        if any(n is None for n in counts) or math.prod(n or 0 for n in counts) > MOST_UNROLLED:
            return None
        found: Element | None = None
        for at in product(*(range(n or 0) for n in counts)):
            values = {name: Poly.of(i) for (name, _), i in zip(element.bound, at, strict=True)}
            each = Replacement(self.reader, values).element(element.body, path)
            found = each if found is None else self.reader.operation(self.op, element.dtype, (found, each))
        return found

    # comparing --------------------------------------------------------------------------------------------------

    def same(self, left: Element, right: Element, path: Path) -> bool:
        """Whether two elements are shown to be equal. Where the left one is invalid, nothing is to be shown."""
        if self._same_with_last(left, right, path) or self._same_with_zero(left, right, path):
            return True
        a, b = (self.of(side, path, unnoticed=True) for side in (left, right))
        if (a.zeros or b.zeros) and not (a.thinned or b.thinned) and self._run_alike(a, b, path):
            return True
        a, b = self.of(left, path), self.of(right, path)
        return self._run_alike(a, b, path)

    def _run_alike(self, a: Sequence, b: Sequence, path: Path) -> bool:
        """Whether two reductions run through equal elements in one order."""
        images = self.maps.common(a.piece, b.piece, path)
        if images is None or not all(
            self._is_whole(p, i, path) for p, i in zip((a.piece, b.piece), images, strict=True)
        ):
            return False
        return self._keeps_order(a.piece, b.piece, images[0], path) and self._as_empty(a, b, path)

    def _same_with_last(self, left: Element, right: Element, path: Path) -> bool:
        """Whether one side is a reduction, and the other the reduction of all but the last element, joined with the
        last.
        """
        for whole, parts in ((left, right), (right, left)):
            if not isinstance(whole, Reduction) or not isinstance(parts, Apply) or parts.op is not self.op:
                continue
            split = self._without_last(whole, path)
            for rest, last in (parts.operands, parts.operands[::-1]) if split is not None else ():
                if split is None or not isinstance(rest, Reduction):
                    continue
                pairs = ((split[0], rest), (split[1], last))
                (a, b), (x, y) = pairs if whole is left else [p[::-1] for p in pairs]
                if self.same(a, b, path) and self.proves(x, y, path):
                    return True
        return False

    def _same_with_zero(self, left: Element, right: Element, path: Path) -> bool:
        """Whether one side is a sum with some +0.0 in it, and the other the sum without these, joined with +0.0.

        Partial sums differ while the one without them is -0.0, and no longer once +0.0 is added.
        """
        for whole, parts in ((left, right), (right, left)):
            if self.op is not Op.Add or not isinstance(parts, Apply) or parts.op is not Op.Add:
                continue
            rest = self._without_zeros(whole, path)
            for zero, other in (parts.operands, parts.operands[::-1]) if rest is not None else ():
                if (
                    rest is None
                    or not isinstance(other, Reduction)
                    or not self._is_left_out(zero, zeros=True)
                ):
                    continue
                a, b = (rest, other) if whole is left else (other, rest)
                if self.same(a, b, path):
                    return True
        return False

    def _without_zeros(self, whole: Element, path: Path) -> Element | None:
        """A sum with -0.0 for the +0.0 that a gate leaves, if the first or the last element is one; else None."""
        if not isinstance(whole, Reduction) or whole.op is not Op.Add or len(whole.bound) != 1:
            return None
        body, ((name, size),) = whole.body, whole.bound
        if not isinstance(body, Choice) or speaks_of_elements(body.condition):
            return None
        if self._is_left_out(body.otherwise, zeros=True):
            passes, element = body.condition, body.then
        elif self._is_left_out(body.then, zeros=True):
            passes, element = negation(body.condition), body.otherwise
        else:
            return None
        if not any(self._fails_at(at, passes, name, size, path) for at in (ZERO, size - 1)):
            return None
        neutral = constant(whole.dtype, NEUTRAL[Op.Add])
        return Reduction(whole.dtype, whole.op, whole.bound, choice(passes, element, neutral))

    def _fails_at(self, at: Poly, passes: Formula, name: str, size: Poly, path: Path) -> bool:
        """Whether an element is there and fails a gate."""
        there = Replacement(self.reader, {name: self.space.equations.reduce(at)}).condition(passes, path)
        return self.space.shows(path, conjunction((less(ZERO, size), negation(there))))

    def _without_last(self, reduction: Reduction, path: Path) -> tuple[Element, Element] | None:
        """A reduction without its last element, and that; something must be left, since 0.0 + -0.0 is no -0.0."""
        if reduction.op is not self.op or len(reduction.bound) != 1:
            return None
        ((name, size),) = reduction.bound
        if not self.space.shows(path, less(ONE, size)):
            return None
        last = Replacement(self.reader, {name: size - 1}).element(reduction.body, path)
        return Reduction(
            reduction.dtype, reduction.op, ((name, self.space.equations.reduce(size - 1)),), reduction.body
        ), last

    def _is_whole(self, piece: Piece, image: Image, path: Path) -> bool:
        """Whether a map takes every element of a piece to one of the other."""
        return not image.conditions or self.space.shows(path | piece.region, conjunction(image.conditions))

    def _as_empty(self, a: Sequence, b: Sequence, path: Path) -> bool:
        """Whether what is left out does not matter: there was something on both sides, or on none."""
        if self.op is not Op.Add or not self.signed or not (a.thinned or b.thinned):
            return True
        if not (are_apart(self.space, a.whole) and are_apart(self.space, b.whole)):
            return False
        one, other = is_filled(a.whole), is_filled(b.whole)
        return self.space.shows(path, conjunction((implies(one, other), implies(other, one))))

    def _keeps_order(self, a: Piece, b: Piece, image: Image, path: Path) -> bool:
        """Whether a map takes what comes earlier to what comes earlier, in the order of the indices."""
        values = [image.map.values[name] for name, _ in b.bound]
        names = [Poly.of(name) for name, _ in a.bound]
        reduce = self.space.equations.reduce
        if len(values) == len(names):
            shifts = [reduce(v - n) for v, n in zip(values, names, strict=True)]
            if not any(self.pieces.depends((s,), name) for s in shifts for name, _ in a.bound):
                return True
        sizes = [tuple(size for _, size in p.bound) for p in (a, b)]
        flat = reduce(self.space.flat(tuple(values), sizes[1]) - self.space.flat(tuple(names), sizes[0]))
        if not any(self.pieces.depends((flat,), name) for name, _ in a.bound):
            return True
        return self._keeps_order_of_two(a, values, image, path)

    def _keeps_order_of_two(self, a: Piece, values: list[Poly], image: Image, path: Path) -> bool:
        """The same, asked of the solver for two arbitrary positions."""
        second = {name: Poly.of(f"{name}'") for name, _ in a.bound}
        change = Replacement(self.reader, second)
        bound = tuple((f"{name}'", change.poly(size, path)) for name, size in a.bound)
        inside = image.path | within(bound)
        inside |= {change.condition(g, inside) for g in a.guard}
        before = _is_before([Poly.of(name) for name, _ in a.bound], list(second.values()))
        after = _is_before(values, [change.poly(v, inside) for v in values])
        return self.space.shows(inside, implies(before, after))


def is_filled(bound: Bound) -> Formula:
    """That indices have values at all, where their sizes do not depend on each other."""
    return conjunction(less(ZERO, size) for _, size in bound)


def are_apart(space: Space, bound: Bound) -> bool:
    """Whether no size depends on another index."""
    below = frozenset[str]().union(*(space.base(a) for _, size in bound for a in size.atoms))
    return below.isdisjoint(name for name, _ in bound)


def _is_before(a: list[Poly], b: list[Poly]) -> Formula:
    """That a comes before b in the order of the first component, then the second …"""
    if not a:
        return FALSE
    rest = conjunction((equal(a[0], b[0]), _is_before(a[1:], b[1:])))
    return disjunction((less(a[0], b[0]), rest))
