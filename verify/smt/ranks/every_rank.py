"""
Every rank
==========

What has to be shown of a rule about shapes so that it is shown for every rank. There are infinitely many instances: a
rank for each class of variables, permutations of that rank, flags and sets of axes. Four steps make them few.

1. Both sides are simplified as far as equal shapes allow (`verify.smt.ranks.shapes`), and a condition that a product of
   sizes is 1 becomes one on each axis. What both sides reshape alike becomes an input of its own.
2. Permutations are a renaming of axes: where frames unify, the identity stands for all of them
   (`verify.smt.ranks.frames`).
3. A class that a reshape touches must act as one axis: ranks 0 and 1 stand for every rank (`verify.smt.ranks.blocks`).
4. In every other class all ops act per axis, and the ranks from 0 up to a number that is read off the rule stand for
   every rank (`verify.smt.ranks.counts`, and for reductions `verify.smt.ranks.reductions`).

What is proved then is a rule of which the stated one is a consequence. If it is not proved, that says nothing yet: the
stated rule itself is tried at the ranks from 0 to 4, which refutes it if it is wrong there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from soundline.spec.dtypes import DType
from soundline.spec.ops.node import Op
from soundline.spec.rules.language import Rule, variables_in
from soundline.spec.rules.ranks import rank_classes
from soundline.spec.rules.terms import Term, Value, Vector, rebuilt, show, subterms, value
from soundline.verify.smt.proving.instances import Court
from soundline.verify.smt.ranks.blocks import Mixed, act_whole
from soundline.verify.smt.ranks.counts import NotPerAxis, axes_needed, named_axes
from soundline.verify.smt.ranks.frames import NoFrame, unpermuted
from soundline.verify.smt.ranks.homomorphisms import with_ops_inside
from soundline.verify.smt.ranks.leading_axes import Leading, NotLeading
from soundline.verify.smt.ranks.parts import with_equal_reductions_named
from soundline.verify.smt.ranks.reductions import (
    Needs,
    NotWritten,
    axes_of_reductions,
    is_list,
    peeled,
    without_idle_licences,
)
from soundline.verify.smt.ranks.shapes import (
    Class,
    Classes,
    Shapes,
    changes_items,
    class_of,
    of_one_element,
    with_one_name,
)

__all__ = ["HIGHEST", "NotShown", "Plan", "free_classes", "named_in", "plan", "plans"]

HIGHEST = 6
"""The highest rank up to which instances are proved so that every rank follows."""


MOST_PEELED = 12
"""The most ops, outermost on both sides, that are taken off."""


@dataclass(frozen=True)
class Plan:
    """The instances that stand for a rule at every rank."""

    rule: Rule
    """The rule to prove, of which the stated one is a consequence."""
    stated: Rule
    highest: Mapping[str, int]
    """By variable, the rank up to which instances are to be proved, where that is not a known rank."""
    permutations: frozenset[str]
    """The permutations of which the identity stands for all."""
    apart: str = ""
    """A variable that stands for several here, each with its axes in another order; empty where there is none."""

    @property
    def is_exact(self) -> bool:
        """Whether an instance of the rule to prove is one of the stated rule."""
        return self.rule is self.stated

    @property
    def max_rank(self) -> int:
        """The highest rank of any instance."""
        return max(self.highest.values())

    def leaves_out(self, chosen: Mapping[str, Any]) -> bool:
        """Whether an instance with these choices needs no proof of its own."""
        ranks = chosen["rank of"]
        if any(ranks[n] > rank for n, rank in self.highest.items()):
            return True
        return any(chosen[p] != tuple(range(len(chosen[p]))) for p in self.permutations)


class NotShown(Exception):
    """The argument for every rank does not apply to a rule, and why."""


def free_classes(rule: Rule) -> frozenset[str]:
    """The rank classes of a rule that are not known ranks."""
    return frozenset(c for c in rank_classes(rule).values() if isinstance(c, str))


def named_in(rule: Rule) -> int:
    """How many axes a rule names by numbers, as far as that is known."""
    try:
        return named_axes(rule, rank_classes(rule))
    except NotLeading:
        return 0


def plan(rule: Rule, dtypes: Iterable[DType], court: Court) -> Plan:
    """What to prove so that the rule is shown at every rank. Raises ``NotShown``."""
    return next(plans(rule, dtypes, court))


def plans(rule: Rule, dtypes: Iterable[DType], court: Court) -> Iterator[Plan]:
    """The same in several ways, each of which suffices. Raises ``NotShown`` where there is none, or no further one."""
    try:
        yield from _plans(rule, tuple(dtypes), court)
    except (NoFrame, Mixed, NotLeading, NotPerAxis, NotWritten) as missing:
        raise NotShown(str(missing)) from None


def _plans(rule: Rule, dtypes: tuple[DType, ...], court: Court) -> Iterator[Plan]:
    classes: Classes = rank_classes(rule)
    _refuse_bitcasts(rule, classes, dtypes)
    shapes = Shapes(rule, classes)
    simple = _simplified(without_idle_licences(rule, dtypes), shapes)
    permutations = frozenset(
        n for n, k in rule.kinds.items() if k.kind == "Perm" and isinstance(classes[n], str)
    )
    apart = ""
    if permutations:
        frames = unpermuted(simple, classes, _asks_for_order(rule, dtypes))
        simple, classes, apart = frames.rule, frames.classes, frames.apart
        if _reshaped(simple, classes, dtypes):
            simple = _erased(simple, classes)
            shapes = Shapes(simple, classes)
            simple = _simplified(simple, shapes)
    whole = _reshaped(simple, classes, dtypes)
    if whole and Leading(simple, classes).found:
        raise NotShown("axes are both reshaped and indexed")
    if _reshaped(simple, classes, dtypes):
        simple, classes = with_one_name(simple, classes, Op.Reshape)
        shapes = Shapes(simple, classes)
    whole = _reshaped(simple, classes, dtypes)
    if whole:
        act_whole(simple, shapes, whole)
    if not _classes_in(simple, classes) - whole:
        yield Plan(simple, rule, _highest(simple, classes, whole, 0), permutations, apart)
        return
    for tried, more, reductions in _written_out(simple, classes, dtypes, court):
        needed = axes_needed(tried, more, dtypes, court, reductions)
        if needed > HIGHEST:
            raise NotShown(f"instances up to rank {needed} would be needed")
        yield Plan(tried, rule, _highest(tried, more, whole, needed), permutations, apart)


def _highest(rule: Rule, classes: Classes, whole: frozenset[Class], needed: int) -> dict[str, int]:
    """The rank up to which each variable with axes needs instances."""
    told = _classes_in(rule, classes)
    free = {n: c for n, c in classes.items() if isinstance(c, str)}
    return {n: 0 if c not in told else 1 if c in whole else needed for n, c in free.items()}


def _written_out(
    rule: Rule, classes: Classes, dtypes: tuple[DType, ...], court: Court
) -> Iterator[tuple[Rule, Classes, Needs]]:
    """Rules of which this one is a consequence, whose reductions are terms; their classes, and what they need."""
    try:
        yield rule, classes, axes_of_reductions(rule, dtypes)
        return
    except NotWritten as missing:
        reason = missing
    plain = _erased(rule, classes)
    moved = with_ops_inside(plain, classes, dtypes, court)
    named = [with_one_name(tried, classes, Op.Reduce) for tried in dict.fromkeys((moved, plain))]
    first = _first_written(
        [(simple, more, most) for most in (0, MOST_PEELED) for simple, more in named], dtypes
    )
    if first is not None:
        yield first
    for simple, more in with_equal_reductions_named(plain, classes, dtypes, court):
        found = _first_written([(simple, more, MOST_PEELED)], dtypes)
        if found is not None:
            first = found
            yield found
    if first is None:
        raise reason


def _first_written(
    rules: Iterable[tuple[Rule, Classes, int]], dtypes: tuple[DType, ...]
) -> tuple[Rule, Classes, Needs] | None:
    """The first of some rules that is written out, after as many ops as are said were taken off outside."""
    for simple, classes, most in rules:
        for tried in _peeled(simple, most):
            try:
                return tried, classes, axes_of_reductions(tried, dtypes)
            except NotWritten:
                continue
    return None


def _peeled(rule: Rule, most: int) -> Iterator[Rule]:
    """The rule, and what it is with one op after another taken off that stands outside on both sides."""
    simple: Rule | None = rule
    for _ in range(most + 1):
        if simple is not None:
            yield simple
            simple = peeled(simple)


def _classes_in(rule: Rule, classes: Classes) -> frozenset[Class]:
    """The rank classes of which a rule still says something."""
    names = (n for term in (rule.left, rule.right, *rule.given) for n in variables_in(term))
    return frozenset(classes[n] for n in names if n in classes)


def _asks_for_order(rule: Rule, dtypes: tuple[DType, ...]) -> Callable[[Term], bool]:
    """Which ops depend on the order of axes: a reshape, and a reduction of floats."""

    def asks(term: Term) -> bool:
        return term.head is Op.Reshape or (term.head is Op.Reduce and is_list(term, rule, dtypes))

    return asks


# the rule to prove ------------------------------------------------------------------------------------------------


def _simplified(rule: Rule, shapes: Shapes) -> Rule:
    """A rule with fewer reshapes of which this one is a consequence; the rule itself where there is nothing to do."""
    left = shapes.simplified(rule.left, left=True)
    right = shapes.simplified(rule.right, left=False)
    left, right = shapes.stripped(left, right)
    given = tuple(_of_each_axis(c) for c in rule.given)
    if all(a is b for a, b in zip((left, right, *given), (rule.left, rule.right, *rule.given), strict=True)):
        return rule
    return replace(rule, left=left, right=right, given=given)


def _of_each_axis(condition: Term) -> Term:
    """That a product of sizes is 1, said of each size."""
    vector = of_one_element(condition)
    if vector is None:
        return condition
    return Value("every axis", (Op.CmpEq, vector, Vector("everywhere", (value(1),))))


def _erased(rule: Rule, classes: Classes) -> Rule:
    """The rule with nothing in the place of permutations that are the identity."""

    def erased(term: Term) -> Any:
        made = rebuilt(term, erased)
        is_one = term.head in (Op.Permute, "permuted") and isinstance(class_of(term, classes), str)
        return made.args[0] if is_one else made

    left, right, *given = map(erased, (rule.left, rule.right, *rule.given))
    return replace(rule, left=left, right=right, given=tuple(given))


def _refuse_bitcasts(rule: Rule, classes: Classes, dtypes: tuple[DType, ...]) -> None:
    """A bitcast between item sizes treats the last axis apart, which must be the last one everywhere."""
    terms = [t for side in (rule.left, rule.right, *rule.given) for t in subterms(side)]
    changing = [t for t in terms if changes_items(t, rule, dtypes) and isinstance(class_of(t, classes), str)]
    if changing and (
        any(k.kind == "Perm" for k in rule.kinds.values())
        or any(t.head in (Op.Permute, Op.Reduce, Op.Index, Op.Stack) for t in terms)
        or _reshaped(rule, classes, dtypes)
    ):
        raise NotShown(f"{show(changing[0])} may change the last axis")


def _reshaped(rule: Rule, classes: Classes, dtypes: tuple[DType, ...]) -> frozenset[Class]:
    """The classes whose axes a reshape or a product mixes; a product of sizes may count what a reduction repeats."""
    found: set[Class] = set()
    counts = _are_counted(rule, dtypes)
    for top in (rule.left, rule.right, *rule.given):
        sides = top is rule.left or top is rule.right
        for term in subterms(top):
            if term.head is Op.Reshape or (term.head == "product" and not (sides and counts)):
                found |= {class_of(a, classes) for a in term.args}
    return frozenset(c for c in found if isinstance(c, str))


def _are_counted(rule: Rule, dtypes: tuple[DType, ...]) -> bool:
    """Whether both sides are written out as terms that cancel."""
    try:
        return not axes_of_reductions(rule, dtypes).accesses
    except NotWritten:
        return False
