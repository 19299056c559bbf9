"""
The demands of a rule
=====================

An element may be invalid, and every op but Where is strict in that (U-01). A rule is proved for valid elements; applied
to an element that may be invalid, it must not use what the left side left unused. `where(p, a, False)` needs `a` only
where p holds, `p & a` needs it always: that rewrite is right only for an `a` that is never invalid.

`extra_demands` names the variables that the right side may use where the left side does not. It tries every way in
which the conditions of both sides can come out; conditions are told apart by their text and by the views under which
they stand. A bound and its opposite are one condition: where there is no NaN, j ≤ i is the negation of i < j. Three
things are particular to reductions:

- A reduction that goes over nothing uses nothing, so its being empty is one more condition.
- What is invalid and reaches a reduction is an error, even if the reduction's result is not used. So a Where selects
  no reductions, and a tensor that the right side reduces must be reduced by the left side, without views that drop
  elements of it.
- A Body that the right side uses at an index is used by the left side in the iteration of that index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from soundline.spec.dtypes import DType, all_dtypes
from soundline.spec.ops.node import Op
from soundline.spec.ops.table import group_of
from soundline.spec.rules.kinds import SIZED, ranges_of
from soundline.spec.rules.language import Rule, variables_in
from soundline.spec.rules.notation import Variable
from soundline.spec.rules.ranges import Range, reduced_ranges
from soundline.spec.rules.terms import Tensor, Term, Value, rebuilt, show

Views = tuple[str, ...]
"""The movement ops and reductions between the root and a term, outermost first."""

Use = tuple[str, ...]
"""What is used: a variable, a Body with the texts of its indices, or, after `REDUCED`, a tensor of which a reduction
needs every element.
"""

REDUCED = "in a reduction"

_MOVEMENT = frozenset((*group_of("movement"), Op.Reduce)) - {Op.Bitcast}
_FOLDS = ("over", Op.Reduce)
_DROPPING = (Op.Shrink, Op.Index, Op.Expand)
"""Views that may leave elements of their source unused."""


@dataclass(frozen=True)
class _Reading:
    """How a side is read: the kinds of the variables, and how its conditions come out."""

    kinds: Mapping[str, Variable]
    truth: Mapping[str, bool]


def extra_demands(stated: Rule, *, reduces_something: bool = False) -> frozenset[str]:
    """The variables that the right side may use where the left side does not.

    `reduces_something`: the reductions of the left side are known not to be empty.
    """
    stated = replace(stated, left=_told_by_lt(stated.left, stated), right=_told_by_lt(stated.right, stated))
    calls = [t for t in _values(stated.right) if t.head == "body"]
    iterations = {_use_of(call): _iteration(stated, call) for call in calls}
    sides = (stated.left, stated.right, *(t for t in iterations.values() if t is not None))
    conditions = sorted({c for side in sides for c in _conditions(side, (), stated.kinds)})
    certain = set(_emptiness(stated.left, stated.kinds)) if reduces_something else set()
    open_conditions = [c for c in conditions if c not in certain]
    extra: set[str] = set()
    for outcome in product((False, True), repeat=len(open_conditions)):
        truth = dict.fromkeys(certain, True) | dict(zip(open_conditions, outcome, strict=True))
        reading = _Reading(stated.kinds, truth)
        known = set(_used(stated.left, (), reading))
        for use in set(_used(stated.right, (), reading, dropping=())) - known:
            iteration = iterations.get(use)
            if iteration is None or use not in set(_used(iteration, (), reading)):
                extra.add(use[1] if use[0] == REDUCED else use[0])
    return frozenset(extra) - _sizes(stated)


def _sizes(stated: Rule) -> set[str]:
    """The sizes of the tensors and ranges of the left side, without which these would be none."""
    shown = variables_in(stated.left)
    return {
        str(n)
        for name, kind in stated.kinds.items()
        if name in shown and kind.kind in SIZED
        for n in kind.inside
    }


def _values(term: object) -> Iterator[Value]:
    if isinstance(term, Value):
        yield term
        for arg in term.args:
            yield from _values(arg)


# uses -------------------------------------------------------------------------------------------------------------


def _use_of(call: Term) -> Use:
    return (call.args[0].args[0], *map(show, call.args[1:]))


def _used(
    term: object,
    views: Views,
    reading: _Reading,
    *,
    dropping: tuple[Op, ...] = _DROPPING,
    selected: bool = True,
    whole: bool = False,
) -> Iterator[Use]:
    """What a term uses, if its conditions come out like this.

    A term that is not `selected` uses what is in its reductions. `whole`: a reduction needs every element of the term.
    Of what stands under a view of `dropping`, it may need only some.
    """
    if not isinstance(term, Value) or term.head in ("literal", "lo", "hi", "entry", "product"):
        return
    head, args = term.head, term.args
    if head == "var" and selected:
        yield (args[0],)
        if whole and isinstance(term, Tensor):
            yield (REDUCED, args[0])
    if head == "body" and selected:
        yield _use_of(term)
    if head in _FOLDS:
        if not all(reading.truth[c] for c in _full(term, reading.kinds)):
            yield from _all_of(args[0], dropping) if head is Op.Reduce else ()
            return
        selected = whole = True
    needed = [selected] * len(args)
    if head is Op.Where:
        holds = _holds(args[0], views, reading)
        needed = [selected, selected and holds, selected and not holds]
    for arg, chosen in zip(args, needed, strict=True):
        inside, all_of_it = _under(term, views), whole and head not in dropping
        yield from _used(arg, inside, reading, dropping=dropping, selected=chosen, whole=all_of_it)


def _all_of(term: Term, dropping: tuple[Op, ...]) -> Iterator[Use]:
    """The tensors of which a reduction along axes needs every element: where it is empty, so are they."""
    if isinstance(term, Tensor) and term.head == "var":
        yield from ((term.args[0],), (REDUCED, term.args[0]))
    elif isinstance(term, Value) and term.head not in (*dropping, Op.Where):
        for arg in term.args:
            yield from _all_of(arg, dropping)


def _iteration(stated: Rule, call: Term) -> Term | None:
    """The left side in the iteration in which the ranges of a Body have these indices; None if it has no such one."""
    ranges = ranges_of(stated.kinds[call.args[0].args[0]], stated.kinds)
    if not set(ranges) <= reduced_ranges(stated.left):
        return None
    return _at(stated.left, dict(zip(ranges, call.args[1:], strict=True)))


def _at(term: Term, indices: Mapping[str, Term]) -> Term:
    """A term with indices for ranges; a reduction over such a range becomes what it reduces."""
    if term.head == "var":
        return indices.get(term.args[0], term)
    made = rebuilt(term, lambda a: _at(a, indices))
    if term.head == "over":
        left = tuple(r for r in term.args[2:] if r.args[0] not in indices)
        return Value("over", (*made.args[:2], *left)) if left else made.args[1]
    return made


# conditions -------------------------------------------------------------------------------------------------------


def _told_by_lt(term: Value, stated: Rule) -> Value:
    """A term in which every comparison for order is one by <, or the negation of one where there is no NaN."""
    made = rebuilt(term, lambda a: _told_by_lt(a, stated) if isinstance(a, Value) else a)
    args = made.args
    if term.head is Op.CmpGt:
        return Value(Op.CmpLt, args[::-1])
    if term.head in (Op.CmpLe, Op.CmpGe) and _is_without_nan(term, stated):
        return Value(Op.Not, (Value(Op.CmpLt, args[::-1] if term.head is Op.CmpLe else args),))
    return made


def _is_without_nan(comparison: Term, stated: Rule) -> bool:
    """Whether no variable of a comparison is a float, as far as its kind or the rule's dtypes say."""
    if any(t.head in (Op.Cast, Op.Bitcast) for t in _values(comparison)):
        return False
    declared = stated.dtypes or all_dtypes
    for name in variables_in(comparison):
        kind = stated.kinds[name]
        if kind.kind in ("Size", "Range"):
            continue
        named = [d for d in kind.inside if isinstance(d, DType)][:1]
        chosen = kind.kind != "Tensor" and any(isinstance(n, str) for n in kind.inside)  # by a DTypeVar
        if (chosen and not named) or any(d.is_float for d in named or declared):
            return False
    return True


def _holds(condition: Term, views: Views, reading: _Reading) -> bool:
    match condition.head:
        case "literal":
            return bool(condition.args[0])
        case Op.Not:
            return not _holds(condition.args[0], views, reading)
        case Op.And:
            return all(_holds(c, views, reading) for c in condition.args)
        case Op.Or:
            return any(_holds(c, views, reading) for c in condition.args)
    return _is_trivial(condition, reading.kinds) or reading.truth[_text(condition, views)]


def _is_trivial(condition: Term, kinds: Mapping[str, Variable]) -> bool:
    """Whether a condition says that a thing is itself, or that a range lies below its end."""
    if condition.head not in (Op.CmpEq, Op.CmpLt):
        return False
    low, high = condition.args
    if condition.head is not Op.CmpEq:
        return isinstance(low, Range) and show(_end(low, kinds)) == show(high)
    return show(low) == show(high)


def _end(r: Term, kinds: Mapping[str, Variable]) -> object:
    """The size of a range: a number, the name of a Size, or the term of a fresh one."""
    return r.args[0] if r.head == "fresh" else kinds[r.args[0]].inside[0]


def _conditions(term: object, views: Views, kinds: Mapping[str, Variable]) -> Iterator[str]:
    """The texts of the conditions on which what a term uses depends."""
    if not isinstance(term, Value):
        return
    if term.head is Op.Where:
        yield from _atoms(term.args[0], views, kinds)
    if term.head in _FOLDS:
        yield from _full(term, kinds)
    for arg in term.args:
        yield from _conditions(arg, _under(term, views), kinds)


def _atoms(condition: Term, views: Views, kinds: Mapping[str, Variable]) -> Iterator[str]:
    if condition.head in (Op.Not, Op.And, Op.Or):
        for inner in condition.args:
            yield from _atoms(inner, views, kinds)
    elif condition.head != "literal" and not _is_trivial(condition, kinds):
        yield _text(condition, views)


def _emptiness(term: Term, kinds: Mapping[str, Variable]) -> Iterator[str]:
    """The texts of the conditions that the reductions of a side are not empty."""
    for t in _values(term):
        if t.head in _FOLDS:
            yield from _full(t, kinds)


def _full(reduction: Term, kinds: Mapping[str, Variable]) -> Iterator[str]:
    """The texts of the conditions under which a reduction goes over something."""
    if reduction.head is Op.Reduce:
        yield f"{show(reduction.args[0])} is not empty along {show(reduction.args[2])}"
        return
    for r in reduction.args[2:]:
        size = _end(r, kinds)
        if isinstance(size, Term) and size.head == "literal":
            size = size.args[0]
        if not isinstance(size, int) or size == 0:
            yield f"0 < {show(size)}"


def _under(term: Term, views: Views) -> Views:
    return (*views, _view(term)) if term.head in _MOVEMENT else views


def _view(term: Term) -> str:
    assert isinstance(term.head, Op)
    return f"{term.head.name} {', '.join(map(show, term.args[1:]))}"


def _text(condition: Term, views: Views) -> str:
    """A condition with the views under which each of its variables stands."""
    if condition.head in _MOVEMENT and condition.head is not Op.Stack:
        return _text(condition.args[0], (*views, _view(condition)))
    if condition.head == "var":
        return " ".join((*views, show(condition)))
    if isinstance(condition.head, Op) and all(isinstance(a, Value) for a in condition.args):
        return f"{condition.head.name}({', '.join(_text(a, views) for a in condition.args)})"
    return " ".join((*views, show(condition)))
