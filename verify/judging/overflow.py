"""
No-overflow conditions
======================

A rule that holds for the mathematical integers may fail at a fixed width, where an operation wraps. What is missing
then is `fits`. `derived` tries the rule's own integer expressions as such conditions and returns a weakest set: under
it the layer is proved, and without any one of its operations it is not.

Fewer hypotheses never prove more, so it is enough to begin with all operations and to leave out one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from soundline.spec.dtypes import DType
from soundline.spec.errors import IllFormed, RuleError
from soundline.spec.ops.node import Op
from soundline.spec.rules.instances import build, goals
from soundline.spec.rules.language import Rule, fits
from soundline.spec.rules.terms import Term, Value, show, subterms
from soundline.verify.smt.goals.obligations import may_wrap
from soundline.verify.smt.goals.trial import failure, is_pointwise

MOST = 12
"""Rules with more operations that can wrap are not asked about."""

Holds = Callable[[Rule], bool]
"""Whether a rule is proved at the layer in question."""


def derived(stated: Rule, dtype: DType, holds: Holds) -> tuple[Value, ...]:
    """The `fits` that make the rule proved at this dtype, and no more of them than needed; none where none do."""
    wrapping = {show(e): e for e in wrapping_expressions(stated, dtype)}
    if not 0 < len(wrapping) <= MOST:
        return ()
    holds = _unless_a_point_shows(holds, dtype)
    kept = _outermost((stated.left, stated.right), wrapping)
    if not holds(_under(stated, kept)):
        return ()
    settled: set[str] = set()
    while True:
        tried = next((e for e in reversed(kept) if show(e) not in settled), None)
        if tried is None:
            return tuple(fits(e) for e in kept)
        fewer = _without(kept, tried, wrapping)
        if fewer and holds(_under(stated, fewer)):
            kept = fewer
        else:
            settled.add(show(tried))


def _unless_a_point_shows(holds: Holds, dtype: DType) -> Holds:
    """The same question, asked of points first."""
    return lambda r: not (is_pointwise(r) and failure(r, [dtype]) is not None) and holds(r)


def _under(stated: Rule, expressions: Iterable[Value]) -> Rule:
    """The rule with these no-overflow conditions added."""
    return replace(stated, given=(*stated.given, *(fits(e) for e in expressions)))


def wrapping_expressions(stated: Rule, dtype: DType) -> tuple[Value, ...]:
    """The expressions of both sides whose own operation can wrap at this dtype, each once."""
    goal = next(goals(stated, dtype), None)
    if goal is None:
        return ()
    found: dict[str, Value] = {}
    for term in (*subterms(stated.left), *subterms(stated.right)):
        if isinstance(term, Value) and isinstance(term.head, Op) and show(term) not in found:
            try:
                node = build(term, goal.env)
            except (IllFormed, RuleError, AssertionError):
                continue  # an expression that needs its neighbours to be read
            if may_wrap(node):
                found[show(term)] = term
    return tuple(found.values())


def _outermost(terms: Iterable[Term], wrapping: dict[str, Value]) -> tuple[Value, ...]:
    """The expressions among `wrapping` that stand in these terms and inside no other of them."""
    found: dict[str, Value] = {}
    for term in terms:
        for inner in _first(term, wrapping):
            found.setdefault(show(inner), inner)
    inside = {show(t) for e in found.values() for a in e.args if isinstance(a, Term) for t in subterms(a)}
    return tuple(e for text, e in found.items() if text not in inside)


def _first(term: Term, wrapping: dict[str, Value]) -> Iterator[Value]:
    if show(term) in wrapping:
        yield wrapping[show(term)]
        return
    for part in term.args:
        if isinstance(part, Term):
            yield from _first(part, wrapping)


def _without(kept: tuple[Value, ...], dropped: Value, wrapping: dict[str, Value]) -> tuple[Value, ...]:
    """These expressions but for one operation; those inside it stay."""
    rest = [e for e in kept if e is not dropped]
    parts = [a for a in dropped.args if isinstance(a, Term)]
    return _outermost((*rest, *parts), wrapping)


def operations_inside(expression: Value) -> tuple[Value, ...]:
    """The outermost operations of arithmetic below the root of an expression."""
    return tuple(a for a in expression.args if isinstance(a, Value) and isinstance(a.head, Op))
