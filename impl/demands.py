"""
What a rule demands
===================

An element may be invalid, and every op but Where is strict in that (U-01). A rule is proved for valid elements; applied
to an element that may be invalid, it must not use what the left side left unused. `where(p, a, False)` needs `a` only
where p holds, `p & a` needs it always: that rewrite is right only for an `a` that is never invalid.

`extra_demands` names the variables that the right side may use where the left side does not. It tries every way in
which the conditions of both sides can come out; conditions are told apart by their text and by the views under which
they stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from soundline.spec.op_schema import Op
from soundline.spec.ops import group_of
from soundline.spec.rules import Rule
from soundline.spec.terms import Term, Value, show

Views = tuple[str, ...]
"""The movement ops between the root and a term, outermost first."""

_MOVEMENT = frozenset(group_of("movement")) - {Op.Bitcast, Op.Index, Op.Stack}


def extra_demands(stated: Rule) -> frozenset[str]:
    """The variables that the right side may use where the left side does not."""
    conditions = sorted({*_conditions(stated.left, ()), *_conditions(stated.right, ())})
    extra: set[str] = set()
    for outcome in product((False, True), repeat=len(conditions)):
        truth = dict(zip(conditions, outcome, strict=True))
        extra |= set(_used(stated.right, (), truth)) - set(_used(stated.left, (), truth))
    return frozenset(extra)


def _used(term: object, views: Views, truth: Mapping[str, bool]) -> Iterator[str]:
    """The value variables that a term uses, if its conditions come out like this."""
    if not isinstance(term, Value) or term.head in ("literal", "lo", "hi", "entry", "product"):
        return
    if term.head == "var":
        yield term.args[0]
    elif term.head is Op.Where:
        condition, kept, otherwise = term.args
        yield from _used(condition, views, truth)
        yield from _used(kept if _holds(condition, views, truth) else otherwise, views, truth)
    else:
        for arg in term.args:
            yield from _used(arg, _under(term, views), truth)


def _holds(condition: Term, views: Views, truth: Mapping[str, bool]) -> bool:
    match condition.head:
        case "literal":
            return bool(condition.args[0])
        case Op.Not:
            return not _holds(condition.args[0], views, truth)
        case Op.And:
            return all(_holds(c, views, truth) for c in condition.args)
        case Op.Or:
            return any(_holds(c, views, truth) for c in condition.args)
    return truth[_text(condition, views)]


def _conditions(term: object, views: Views) -> Iterator[str]:
    """The texts of the conditions on which what a term uses depends."""
    if not isinstance(term, Value):
        return
    if term.head is Op.Where:
        yield from _atoms(term.args[0], views)
    for arg in term.args:
        yield from _conditions(arg, _under(term, views))


def _atoms(condition: Term, views: Views) -> Iterator[str]:
    if condition.head in (Op.Not, Op.And, Op.Or):
        for inner in condition.args:
            yield from _atoms(inner, views)
    elif condition.head != "literal":
        yield _text(condition, views)


def _under(term: Term, views: Views) -> Views:
    return (*views, _view(term)) if term.head in _MOVEMENT else views


def _view(term: Term) -> str:
    assert isinstance(term.head, Op)
    return f"{term.head.name} {', '.join(map(show, term.args[1:]))}"


def _text(condition: Term, views: Views) -> str:
    """A condition with the views under which each of its variables stands."""
    if condition.head in _MOVEMENT:
        return _text(condition.args[0], (*views, _view(condition)))
    if condition.head == "var":
        return " ".join((*views, show(condition)))
    if isinstance(condition.head, Op) and all(isinstance(a, Value) for a in condition.args):
        return f"{condition.head.name}({', '.join(_text(a, views) for a in condition.args)})"
    return " ".join((*views, show(condition)))
