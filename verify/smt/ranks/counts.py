"""
How many axes suffice
=====================

In a rank class every op acts *per axis* but for what `verify.smt.ranks.blocks` treats: along one axis, what is valid,
where a position goes and whether it lies inside a padding depend on the sizes, offsets, flags and positions of that
axis alone, and on scalars that all axes share. So does every condition of the form ``s <= t``, which asks it of each
axis.

**A rule that is wrong at a high rank is wrong at one that is not higher than a number, which is read off the rule.**
Take values that refute it at some rank, and drop axes: a left side that was valid stays valid, and conditions stay
true. If the right side was not valid, or not of the same shape, some axis shows that; keep it alone. If an element
differs, then both elements are made, in the same way, from the truth of *paddings* (whether a position lies inside)
and from *accesses*, the elements of inputs at the positions to which the rule leads. A position lies inside a padding
if it does so on every axis; so to keep that as it is, keep all axes if it lies inside, and one on which it does not if
it lies outside. Two accesses of one input may read different elements only if they differ on some axis; keep one such
axis, and the smaller input can be given the same elements at both places. So that many axes suffice::

    max(1, distinct paddings + pairs of distinct accesses of one input) + other conditions

and every lower rank is shown too, 0 included. Other conditions are those of the rule that are negated or joined by or;
one that is demanded as it stands is simply true. Where a set is to hold one axis, that axis is kept besides. Two
paddings are one where, along one axis, each is shown to follow from the other; two accesses where they are shown to be
at one position. What is assumed for that may be only what holds on each axis by itself.

An axis that the rule names by a number (``s[0]``, ``x.sum(-1)``) is kept besides, and so are the axes before it, or,
where it is counted from the right, behind it. So is the last axis, where a Bitcast makes items of another size: to all
others it does nothing, so that what it takes together differs on the axis that is kept. The positions that a reduction
binds are positions like others, in what the reductions of both sides read at one of them; that they read the same
elements equally often is shown in `verify.smt.ranks.reductions`. ``fits`` speaks of all elements of its inputs at once,
so accesses of different inputs in it must be told apart as well, and one axis more is kept on which an empty input is
empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from soundline.spec.dtypes import DType, index
from soundline.spec.ops.node import Op
from soundline.spec.ops.table import group_of
from soundline.spec.rules.building import build, build_flags, build_vector
from soundline.spec.rules.instances import ARRANGEMENTS, Goal, goals
from soundline.spec.rules.language import Rule, variables_in
from soundline.spec.rules.terms import Flags, Tensor, Term, Value, Vector, show, subterms
from soundline.verify.smt.elements.indexing import ALWAYS, Index
from soundline.verify.smt.elements.numbers import quotient
from soundline.verify.smt.integers.formulas import Formula, at_least_zero, conjunction, equal, less, negation
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly
from soundline.verify.smt.proving.instances import Court, Instance
from soundline.verify.smt.proving.leaves import is_about_elements
from soundline.verify.smt.ranks.conditions import stated
from soundline.verify.smt.ranks.leading_axes import LEADING, Leading
from soundline.verify.smt.ranks.reductions import Needs
from soundline.verify.smt.ranks.shapes import Class, changes_items, class_of, is_elementwise


class NotPerAxis(Exception):
    """Something in a rule does not act axis by axis."""


_PER_AXIS = frozenset(
    (
        Op.Permute,
        Op.Flip,
        Op.Expand,
        Op.Pad,
        Op.Shrink,
        Op.Reduce,
        *group_of("marker"),
        "entry",
        "product",
        "fill",
    )
)


@dataclass(frozen=True)
class _Access:
    """An occurrence of an input in a side: where it stands, the ops above it, and the paddings among those."""

    place: str
    name: str
    trail: str
    paddings: tuple[str, ...]


@dataclass(frozen=True)
class _Padding:
    """An occurrence of a padding."""

    place: str
    rank_class: Class
    trail: str


def axes_needed(
    rule: Rule,
    classes: Mapping[str, str | int],
    dtypes: Iterable[DType],
    court: Court,
    reductions: Needs,
) -> int:
    """The number of axes up to which a rule is to be shown. Raises ``NotPerAxis``, with the reason.

    `rule` has the identity for every permutation, and no reshape in a class that is not treated as a whole.
    """
    found = _Occurrences(classes)
    for side, term in (("left", rule.left), ("right", rule.right)):
        found.walk(term, side, "", ())
    named = named_axes(rule, classes)
    more = _asked(rule, classes) + _fitting(rule, found, classes)
    counted = _count(found, _Alike(())) if reductions.accesses else 0
    if reductions.accesses and counted + more > 1 and not (named or found.reshaped or found.leading):
        counted = _count(found, _Alike(_axes(rule, found, dtypes, court)))
    return max(1, counted, reductions.terms) + more + named


# occurrences ------------------------------------------------------------------------------------------------------


class _Occurrences:
    """The accesses and paddings of a rule's sides."""

    def __init__(self, classes: Mapping[str, str | int]) -> None:
        self.classes = classes
        self.accesses: list[_Access] = []
        self.paddings: list[_Padding] = []
        self.reshaped = False
        self.leading = False
        self.together: set[str] = set()
        """Inputs of which a condition speaks together."""

    def walk(self, term: Term, place: str, trail: str, paddings: tuple[str, ...]) -> None:
        """Collect what occurs in a value."""
        if not any(isinstance(self.classes.get(n), str) for n in variables_in(term)):
            return
        head, args = term.head, term.args
        if isinstance(term, Tensor) and head == "var":
            self.accesses.append(_Access(place, args[0], trail, paddings))
            return
        if head is Op.Reshape:
            self.reshaped = True
        elif head not in _PER_AXIS and head not in LEADING and not is_elementwise(term):
            raise NotPerAxis(f"{show(term)} is not shown to act axis by axis")
        if head in LEADING:
            self.leading = True
        if head in (Op.Flip, Op.Expand, Op.Pad, Op.Shrink, Op.Reshape, Op.Index):
            trail += f".{head.name}({', '.join(map(show, args[1:]))})"
        if head is Op.Pad:
            self.paddings.append(_Padding(place, class_of(term, self.classes), f"{trail} of {show(args[0])}"))
            paddings = (*paddings, place)
        if head is Op.Stack:
            trail += ".Stack"
        if head is Op.Reduce:
            trail += f".{place}"  # its bound positions are its own
        self._below(term, place, trail, paddings)

    def _below(self, term: Term, place: str, trail: str, paddings: tuple[str, ...]) -> None:
        for k, arg in enumerate(term.args):
            if isinstance(arg, Value):
                self.walk(arg, f"{place}.{k}", trail, paddings)


def named_axes(rule: Rule, classes: Mapping[str, str | int]) -> int:
    """How many axes are named by a number, or lead, counted with those before and behind them."""
    leading = Leading(rule, classes)
    left, right = leading.kept(), 0
    for term in _all_terms(rule):
        numbers: tuple[int, ...] = ()
        if term.head == "entry" and isinstance(class_of(term.args[0], classes), str):
            numbers = (term.args[1],)
        elif term.head == "axes":
            numbers = term.args
        elif changes_items(term, rule) and isinstance(class_of(term, classes), str):
            numbers = (-1,)
        left = max([left, *(n + 1 + leading.depth for n in numbers if n >= 0)])
        right = max([right, *(-n for n in numbers if n < 0)])
    return left + right


def _all_terms(rule: Rule) -> Iterator[Term]:
    for term in (rule.left, rule.right, *rule.given):
        yield from subterms(term)


def _asked(rule: Rule, classes: Mapping[str, str | int]) -> int:
    """How many questions about all axes stand in conditions that are not simply demanded."""
    found: dict[str, int] = {}
    for condition in stated(rule):
        if condition.head in ("every axis", "no_flags") or _is_equality(condition):
            continue
        for term in subterms(condition):
            if term.head in ("every axis", "no_flags") or _is_equality(term):
                found[show(term)] = 1
            elif term.head == "one_axis":  # keep that axis; if there is not one, two that are in the set
                found[show(term)] = max(found.get(show(term), 0), 1 if term is condition else 2)
    return sum(found.values())


def _is_equality(term: Term) -> bool:
    """Whether a condition compares flags axis by axis."""
    return term.head == "same" and any(isinstance(a, Flags) for a in term.args)


def _fitting(rule: Rule, found: _Occurrences, classes: Mapping[str, str | int]) -> int:
    """How many axes ``fits`` asks for; the inputs of which it speaks are noted."""
    asked = 0
    for condition in stated(rule):
        inputs = [t for t in subterms(condition) if isinstance(t, Tensor) and t.args[0] in classes]
        if not inputs or condition.head != "fits":
            continue
        for term in subterms(condition):
            plain = term.head in ("fits", "var", "literal") or is_elementwise(term)
            if isinstance(term, Value) and class_of(term, classes) is not None and not plain:
                raise NotPerAxis(f"{show(condition)} speaks of elements that are moved")
        found.together |= {t.args[0] for t in inputs}
        asked = 1
    return asked


# one axis ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Axis:
    """What happens along one axis: facts, and by place the position of each access and the test of each padding."""

    court: Court
    facts: tuple[Formula, ...]
    positions: dict[str, Poly]
    tests: dict[str, Formula]

    def follows(self, assumed: Iterable[Formula], goal: Formula) -> bool:
        """Whether a goal follows on this axis."""
        return self.court.arithmetic.satisfiable([*self.facts, *assumed, negation(goal)]) == "unsat"


class _Alike:
    """Which occurrences are one: by the ops above them, or on every kind of axis."""

    def __init__(self, axes: Iterable[_Axis]) -> None:
        self.axes = tuple(axes)

    def accesses(self, a: _Access, b: _Access) -> bool:
        """Whether two accesses are at one position, wherever both are made."""
        if a.trail == b.trail and (a.name == b.name or "Flip" not in a.trail):
            return True
        return bool(self.axes) and all(self._one_position(axis, a, b) for axis in self.axes)

    def _one_position(self, axis: _Axis, a: _Access, b: _Access) -> bool:
        made = [axis.tests[place] for place in (*a.paddings, *b.paddings)]
        return axis.follows(made, equal(axis.positions[a.place], axis.positions[b.place]))

    def paddings(self, a: _Padding, b: _Padding) -> bool:
        """Whether two paddings leave the same positions inside."""
        if a.rank_class != b.rank_class or not self.axes:
            return a.rank_class == b.rank_class and a.trail == b.trail
        pairs = ((axis, axis.tests[a.place], axis.tests[b.place]) for axis in self.axes)
        return all(axis.follows([p], q) and axis.follows([q], p) for axis, p, q in pairs)


def _count(found: _Occurrences, alike: _Alike) -> int:
    """Conditions, and pairs of accesses, that are not one."""
    paddings: list[_Padding] = []
    for padding in found.paddings:
        if not any(alike.paddings(padding, other) for other in paddings):
            paddings.append(padding)
    places: dict[tuple[str, str], _Access] = {}
    for access in found.accesses:
        places.setdefault((access.name, access.trail), access)
    pairs = [
        (a, b)
        for a, b in combinations(places.values(), 2)
        if a.name == b.name or {a.name, b.name} <= found.together
    ]
    return len(paddings) + sum(not alike.accesses(a, b) for a, b in pairs)


def _axes(rule: Rule, found: _Occurrences, dtypes: Iterable[DType], court: Court) -> Iterator[_Axis]:
    """Every kind of axis: for each choice of flags, what the instances of rank 1 say of their axis."""
    alone = replace(rule, given=tuple(c for c in stated(rule) if is_of_each_axis(c, found.classes)))
    dtype = next((d for d in dtypes if d is not index), index)
    names = [n for n, k in rule.kinds.items() if k.kind in ARRANGEMENTS]
    seen: set[tuple[Any, ...]] = set()

    def skip(chosen: dict[str, Any]) -> bool:
        ranks = {chosen["rank of"][n] for n, c in found.classes.items() if isinstance(c, str)}
        return ranks != {1} or tuple(chosen[n] for n in names) in seen

    for goal in goals(alone, dtype, max_rank=1, skip=skip):
        seen.add(tuple(goal.env.bound[n] for n in names))
        yield _axis(goal, alone, found, court)


def is_of_each_axis(condition: Term, classes: Mapping[str, str | int]) -> bool:
    """Whether a condition says the same of each axis, or nothing of any."""
    if condition.head in ("every axis", "no_flags") or _is_equality(condition):
        return not any(t.head in ("product", "entry") for t in subterms(condition))
    return condition.head != "fits" and not any(n in classes for n in variables_in(condition))


def _axis(goal: Goal, rule: Rule, found: _Occurrences, court: Court) -> _Axis:
    instance = Instance(goal, court)
    reading = _Reading(instance, goal)
    shape = instance.reader.shape(goal.left)
    at = tuple(Poly.of(f"@{k}") for k in range(len(shape)))
    instance.space.inside(ALWAYS, at, shape)
    for side, term in (("left", rule.left), ("right", rule.right)):
        reading.walk(term, side, at)
    facts = (f for f in instance.space.known(ALWAYS) if not is_about_elements(f) and "opaque" not in f.kind)
    return _Axis(court, tuple(facts), reading.positions, reading.tests)


class _Reading:
    """Follows a position from a side of an instance to the inputs, as the denotation does.

    It says in its own words what each op does to a position, so that it is a second opinion of `spec.arrays.movement`.
    """

    def __init__(self, instance: Instance, goal: Goal) -> None:
        self.reader = instance.reader
        self.space = instance.space
        self.env = goal.env
        self.positions: dict[str, Poly] = {}
        self.tests: dict[str, Formula] = {}

    def shape(self, term: Term) -> Index:
        """The shape of a value of the instance."""
        return self.reader.shape(build(term, self.env))

    def _sizes(self, vector: Vector, rank: int) -> Index:
        reduce = self.space.equations.reduce
        return tuple(reduce(self.reader.size(s)) for s in build_vector(vector, self.env, rank))

    def walk(self, term: Term, place: str, at: Index) -> None:
        """Follow a position through a value."""
        if isinstance(term, Tensor) and term.head == "var":
            self.positions[place] = self.space.equations.reduce(at[0]) if at else ZERO
            return
        head, args = term.head, term.args
        if at and head in (Op.Flip, Op.Expand, Op.Pad, Op.Shrink, Op.Reduce):
            at = self._moved(term, place, at)
        for k, arg in enumerate(args):
            if isinstance(arg, Value):
                self.walk(arg, f"{place}.{k}", at)

    def _expanded(self, i: Poly, size: Poly, new: Poly) -> Poly:
        if size == ONE:
            return ZERO
        return i if size == new else self.space.chosen(size - 1, ZERO, i, ALWAYS)

    def _moved(self, term: Term, place: str, at: Index) -> Index:
        head, args = term.head, term.args
        source = self.shape(args[0])
        if head is Op.Flip:
            flags = build_flags(args[1], self.env, len(at))
            return tuple(n - 1 - i if f else i for i, n, f in zip(at, source, flags, strict=True))
        if head is Op.Expand:
            new = self._sizes(args[1], len(at))
            return tuple(self._expanded(*row) for row in zip(at, source, new, strict=True))
        if head is Op.Reduce:
            flags = build_flags(args[2], self.env, len(at))
            return tuple(Poly.of(f"@{place}") if f else i for i, f in zip(at, flags, strict=True))
        offset = self._sizes(args[1], len(at))
        stride = self._sizes(args[3], len(at)) if len(args) == 4 else (ONE,) * len(at)
        if head is Op.Shrink:
            return tuple(i * k + o for i, o, k in zip(at, offset, stride, strict=True))
        far = [i - o for i, o in zip(at, offset, strict=True)]
        pairs = list(zip(far, stride, strict=True))
        moved = tuple(i if k == ONE else quotient(self.reader, i, k, ALWAYS) for i, k in pairs)
        inside = (
            (at_least_zero(i), less(i, n), equal(i * k, f))
            for i, n, (f, k) in zip(moved, source, pairs, strict=True)
        )
        self.tests[place] = conjunction(c for each in inside for c in each)
        return moved
