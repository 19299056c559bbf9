"""
Reductions that are one at every rank
=====================================

A rule whose reductions have several ops is not written out as terms of one (`verify.smt.ranks.reductions`). But often a
reduction inside the left side and one inside the right side are equal, or are so once they are moved, and that is a
rule by itself, under the same conditions, whose reductions have one op. Where it is shown at every rank, an input
stands for both reductions in what is left to show: what holds of any tensor of that shape and dtype holds of them.

A reduction that may be invalid is no such part: an input never is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from soundline.spec.dtypes import DType, index
from soundline.spec.ops.node import Op
from soundline.spec.rules.instances import goals
from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import Tensor, Value, Variable, Vector, show, subterms
from soundline.verify.smt.elements.elements import Unsupported
from soundline.verify.smt.proving.instances import Court, Instance
from soundline.verify.smt.ranks.counts import NotPerAxis, axes_needed
from soundline.verify.smt.ranks.reductions import NotWritten, axes_of_reductions
from soundline.verify.smt.ranks.shapes import SHIFT, Classes, class_of, dtype_inside, replaced, shape_made

MOST_PARTS = 3
"""The most pairs that are named, one after another."""

MOST_AXES = 3
"""A pair that needs instances of higher ranks is not tried."""


def with_equal_reductions_named(
    rule: Rule, classes: Classes, dtypes: tuple[DType, ...], court: Court
) -> Iterator[tuple[Rule, Classes]]:
    """The rule with an input for two reductions that are one, then for two more, and so on, the smallest first.

    The identity stands for every permutation.
    """
    court, refused = court.without_refutations(), set[tuple[str, str]]()
    for _ in range(MOST_PARTS):
        pairs = (p for p in _pairs(rule, classes, dtypes) if (show(p[0]), show(p[1])) not in refused)
        for left, right in pairs:
            if _are_one(replace(rule, left=left, right=right), classes, dtypes, court):
                rule, classes = _named(rule, classes, left, right)
                yield rule, classes
                break
            refused.add((show(left), show(right)))
        else:
            return


def _pairs(rule: Rule, classes: Classes, dtypes: tuple[DType, ...]) -> list[tuple[Value, Value]]:
    """A part of the left side with each of the right side that might be equal to it, the smallest first."""
    pairs = [
        (a, b)
        for a in _parts(rule.left, rule, dtypes)
        for b in _parts(rule.right, rule, dtypes)
        if show(a) != show(b) and _alike(a, b, rule, classes) and not (a is rule.left and b is rule.right)
    ]
    return sorted(pairs, key=lambda pair: sum(len(list(subterms(t))) for t in pair))


def _parts(side: Value, rule: Rule, dtypes: tuple[DType, ...]) -> list[Value]:
    """The reductions in a side, and the greatest values whose reductions have one op; those that are valid whatever
    they reduce.
    """
    found: dict[str, Value] = {}

    def walk(term: Value, *, alone: bool) -> None:
        single = len(_ops(term)) == 1
        if single and (alone or term.head is Op.Reduce) and not _may_be_invalid(term, rule, dtypes):
            found.setdefault(show(term), term)
        for arg in term.args:
            if isinstance(arg, Value):
                walk(arg, alone=not single)

    walk(side, alone=True)
    return list(found.values())


def _ops(term: Value) -> set[str]:
    return {show(t.args[1]) for t in subterms(term) if t.head is Op.Reduce}


def _may_be_invalid(term: Value, rule: Rule, dtypes: tuple[DType, ...]) -> bool:
    """Whether some element may be read outside, or be the greatest of no indices."""
    for part in subterms(term):
        if part.head in (Op.Index, Op.Stack, "body", "over", "invalid"):
            return True
        if part.head is Op.Reduce and show(part.args[1]) not in _TOTAL:
            inside = dtype_inside(part, rule)
            if inside is None or index in (inside or dtypes):
                return True
    return False


_TOTAL = tuple(map(show, (Op.Add, Op.Mul)))
"""The ops of reductions that have a value for nothing at every dtype."""


def _alike(a: Value, b: Value, rule: Rule, classes: Classes) -> bool:
    """Whether two parts reduce by one op, and are of one dtype and one class of ranks."""
    inside, rank_class = dtype_inside(a, rule), class_of(a, classes)
    if inside is None or inside != dtype_inside(b, rule) or rank_class != class_of(b, classes):
        return False
    return _ops(a) == _ops(b) and isinstance(rank_class, str) and SHIFT not in rank_class


def _are_one(part: Rule, classes: Classes, dtypes: tuple[DType, ...], court: Court) -> bool:
    """Whether the sides of a rule about reductions are shown to be equal at every rank."""
    try:
        needed = axes_needed(part, classes, dtypes, court, axes_of_reductions(part, dtypes))
        return needed <= MOST_AXES and all(_is_shown(part, d, needed, court) for d in dtypes)
    except (NotWritten, NotPerAxis, Unsupported):
        return False


def _is_shown(part: Rule, dtype: DType, highest: int, court: Court) -> bool:
    permutations = [n for n, k in part.kinds.items() if k.kind == "Perm"]

    def skip(chosen: dict[str, Any]) -> bool:
        return any(chosen[p] != tuple(range(len(chosen[p]))) for p in permutations)

    return all(
        Instance(goal, court).judge().verdict == "proved" for goal in goals(part, dtype, highest, skip)
    )


def _named(rule: Rule, classes: Classes, left: Value, right: Value) -> tuple[Rule, Classes]:
    """The rule with an input in the place of two reductions."""
    input_ = Tensor("var", (f"<{show(left)}>",))
    named = {show(left): input_, show(right): input_}
    shape = shape_made(left) if left.head is Op.Reduce else Vector("shape of", (left,))
    shaped = Value("every axis", (Op.CmpEq, Vector("shape of", (input_,)), shape))
    rank_class = class_of(left, classes)
    assert isinstance(rank_class, str)
    made = replace(
        rule,
        left=replaced(rule.left, named),
        right=replaced(rule.right, named),
        given=(*rule.given, shaped),
        kinds={**rule.kinds, input_.args[0]: Variable("Tensor", dtype_inside(left, rule) or ())},
    )
    return made, {**classes, input_.args[0]: rank_class}
