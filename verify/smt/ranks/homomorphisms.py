"""
Ops that go into reductions at every rank
=========================================

What is done to reductions can be done to each of their elements instead where it is a *homomorphism*: if ⊕ reduces
inside, ⊗ outside, and h(a ⊕ b, a' ⊕ b') = h(a, a') ⊗ h(b, b') for all elements, then h(⊕ xᵢ, ⊕ yᵢ) = ⊗ h(xᵢ, yᵢ), where
x and y are reduced along the same axes and have one shape: by induction over the number of elements, in whatever order
they are reduced. A cast of a maximum, the sum of two sums, a choice between two products by a scalar are of this kind.
Operands that are scalars are the same at every element.

This is a law of two scalars, which the court decides at each dtype of the rule; it has nothing to do with ranks, and it
makes both sides of a rule reductions of one sort (`verify.smt.ranks.reductions`). Where a reduction is of no element at
all, h must take what ⊕ makes of nothing to what ⊗ makes of nothing, else it has to be known that no reduced axis is
empty: by conditions that say so of each axis, which one axis shows. Where ⊕ and ⊗ are both the maximum of ``index``,
nothing is valid there on either side; where only ⊕ is, a left side that is valid has elements.

A choice between reductions reduces both. Where one of them may reduce what is invalid, the choice is left as it is on
the right side: with the choice inside, what is invalid could be left out.

The elements of a maximum are elements of what is reduced, and so are the maxima of some of them. So what ``fits`` says
of these elements it says of both operands of the law. Likewise a product or a maximum of zeros and ones is zero or one,
and a sum of them that does not wrap is not negative: of such operands alone the law has to hold, as it is for *any* and
*all*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from soundline.spec.arrays.arrays import Invalid
from soundline.spec.dtypes import DType, bool_, index
from soundline.spec.errors import SoundlineError
from soundline.spec.evaluation.values import identity
from soundline.spec.ops.node import Op
from soundline.spec.rules.instances import goals, is_about_shapes
from soundline.spec.rules.language import Rule, variables_in
from soundline.spec.rules.terms import Term, UnaryOp, Value, Variable, Vector, rebuilt, show, subterms, value
from soundline.verify.smt.elements.elements import Unsupported
from soundline.verify.smt.goals.trial import failure, is_pointwise
from soundline.verify.smt.proving import scalars
from soundline.verify.smt.proving.instances import Court, Instance
from soundline.verify.smt.ranks.conditions import stated
from soundline.verify.smt.ranks.counts import is_of_each_axis
from soundline.verify.smt.ranks.leading_axes import Leading, NotLeading
from soundline.verify.smt.ranks.shapes import (
    Classes,
    Shapes,
    class_of,
    dtype_inside,
    is_elementwise,
    replaced,
)
from soundline.verify.verdicts.layers import OF_SIDES

OPS = (Op.Add, Op.Max, Op.Mul)

NAMES = "<first>", "<second>"
"""The names of the two elements of which a law speaks, before the number of the operand."""

SHARE = 0.2
"""The part of the budget for a law of elements."""


def with_ops_inside(rule: Rule, classes: Classes, dtypes: tuple[DType, ...], court: Court) -> Rule:
    """The rule with ops on reductions done to their elements; the rule itself where there are none."""
    moves = _Moves(rule, classes, dtypes, court.without_refutations())
    left, right = moves.inside(rule.left, left=True), moves.inside(rule.right, left=False)
    return rule if left is rule.left and right is rule.right else replace(rule, left=left, right=right)


class _Moves:
    def __init__(self, rule: Rule, classes: Classes, dtypes: tuple[DType, ...], court: Court) -> None:
        self.rule = rule
        self.classes = classes
        self.dtypes = dtypes
        self.court = court
        self.shapes = Shapes(rule, classes)
        self._laws: dict[str, bool] = {}

    def inside(self, term: Value, *, left: bool) -> Value:
        """A value with what is done to reductions done to their elements, the innermost first."""
        term = rebuilt(term, lambda a: self.inside(a, left=left) if isinstance(a, Value) else a)
        reductions = self._reductions(term)
        if not reductions or (not left and self._may_leave_out(term, reductions)):
            return term
        inner, axes = reductions[0].args[1:]
        into = self._with(term, [f.args[0] for f in reductions])
        for outer in (inner, *(op for op in OPS if op is not inner)) if isinstance(inner, Op) else (inner,):
            if self._holds(term, reductions, outer, left=left):
                return Value(Op.Reduce, (into, outer, axes))
        return term

    def _reductions(self, term: Value) -> list[Value]:
        """The operands with axes of an elementwise op, if they are reductions by one op along the same axes."""
        if not is_elementwise(term) or isinstance(term.args[0], UnaryOp):
            return []
        tensors = [a for a in term.args if self._has_axes(a)]
        if not tensors or any(t.head is not Op.Reduce for t in tensors):
            return []
        same = len({(show(t.args[1]), show(t.args[2])) for t in tensors}) == 1
        return tensors if same and self.shapes.one_shape([t.args[0] for t in tensors]) else []

    def _may_leave_out(self, term: Value, reductions: list[Value]) -> bool:
        """Whether an op may leave out a reduction of invalid elements, which makes the right side
        invalid all the same.
        """
        if term.head is not Op.Where:
            return False
        heads = {t.head for f in reductions for t in subterms(f.args[0])}
        return bool(heads & {Op.Index, Op.Reduce, "body", "over", "invalid"})

    def _has_axes(self, arg: Any) -> bool:
        return isinstance(arg, Value) and class_of(arg, self.classes) is not None

    def _with(self, term: Value, new: Sequence[Value]) -> Value:
        """An op with other operands in the place of those that have axes."""
        operands = iter(new)
        return Value(term.head, tuple(next(operands) if self._has_axes(a) else a for a in term.args))

    # laws -------------------------------------------------------------------------------------------------------

    def _holds(self, term: Value, reductions: list[Value], outer: Any, *, left: bool) -> bool:
        """Whether what is done to reductions may be done to their elements, which the other op reduces then."""
        inner = reductions[0].args[1]
        inside = [dtype_inside(f.args[0], self.rule) for f in reductions]
        if any(i is None for i in inside) or not self._is_proved(self._law(term, reductions, outer)):
            return False
        nowhere = [_has_none(inner, d) for i in inside for d in i or self.dtypes]
        if all(nowhere) and (left or all(_has_none(outer, d) for d in self.dtypes)):
            return True
        return self._is_proved(self._of_nothing(term, reductions, outer)) or self._has_elements(reductions[0])

    def _law(self, term: Value, reductions: list[Value], outer: Any) -> Rule:
        """That the op is a homomorphism, as a rule about elements."""
        inner = reductions[0].args[1]
        firsts, seconds = ([Value("var", (f"{name}{k}",)) for k in range(len(reductions))] for name in NAMES)
        joined = [_joined(inner, a, b) for a, b in zip(firsts, seconds, strict=True)]
        given = [*self._of_scalars(), *self._fitting(reductions, (firsts, seconds))]
        for reduction, *elements in zip(reductions, firsts, seconds, strict=True):
            given += [said for element in elements for said in self._of_ones(reduction, element)]
        right = _joined(outer, self._with(term, firsts), self._with(term, seconds))
        return self._about(reductions, self._with(term, joined), right, given)

    def _of_nothing(self, term: Value, reductions: list[Value], outer: Any) -> Rule:
        """That the op maps the values of the empty reductions inside to the value of the empty reduction outside."""
        made = Value("identity", (reductions[0].args[1],))
        operands = [Value("var", (f"{NAMES[0]}{k}",)) for k in range(len(reductions))]
        nothing = [Value(Op.Where, (value(True), made, v)) for v in operands]  # which has the dtype of v
        right = Value("identity", (outer,))
        return self._about(reductions, self._with(term, nothing), right, [*self._of_scalars()])

    def _about(self, reductions: list[Value], left: Value, right: Value, given: list[Term]) -> Rule:
        """A rule about the elements of reductions."""
        kinds = dict(self.rule.kinds)
        for k, reduction in enumerate(reductions):
            inside = dtype_inside(reduction.args[0], self.rule) or ()
            kinds |= {f"{name}{k}": Variable("Value", inside) for name in NAMES}
        left, right, *given = (self._of_dtypes(t, kinds) for t in (left, right, *given))
        met = {n for term in (left, right, *given) for n in variables_in(term)}
        kinds = {n: k for n, k in kinds.items() if n in met}
        licences = tuple(n for n in self.rule.licences if n not in OF_SIDES)
        return replace(self.rule, kinds=kinds, given=tuple(given), left=left, right=right, licences=licences)

    def _of_dtypes(self, term: Term, kinds: dict[str, Variable]) -> Any:
        """A term that names no tensor to speak of its dtype; the scalars that it names instead are added to `kinds`."""
        if term.head == "dtype of" and (inside := dtype_inside(term.args[0], self.rule)) is not None:
            name = f"<of {show(term.args[0])}>"
            kinds[name] = Variable("Value", inside)
            return type(term)(term.head, (Value("var", (name,)),))
        return rebuilt(term, lambda a: self._of_dtypes(a, kinds))

    def _of_scalars(self) -> Iterator[Term]:
        """The conditions that speak of no axes."""
        for condition in stated(self.rule):
            if condition.head != "fits" and not any(n in self.classes for n in variables_in(condition)):
                yield condition

    def _fitting(self, reductions: list[Value], elements: Iterable[list[Value]]) -> Iterator[Term]:
        """What fits of what is reduced by a maximum, said of each of the two elements."""
        if reductions[0].args[1] is not Op.Max:
            return
        for condition in (c for c in stated(self.rule) if c.head == "fits"):
            for these in elements:
                said = condition
                for reduction, element in zip(reductions, these, strict=True):
                    said = replaced(said, {show(reduction.args[0]): element})
                if not any(n in self.classes for n in variables_in(said)):
                    yield said

    def _of_ones(self, reduction: Value, element: Value) -> Iterator[Term]:
        """The facts about the elements, and about reductions of them, where all elements are 0 or 1."""
        if not self._is_one_or_zero(reduction.args[0]):
            return
        if reduction.args[1] in (Op.Mul, Op.Max):
            ends = (Value(Op.CmpEq, (element, value(n))) for n in (0, 1))
            yield Value(Op.Or, tuple(ends))
        elif reduction.args[1] is Op.Add and dtype_inside(reduction.args[0], self.rule) == (index,):
            yield Value(Op.CmpGe, (element, value(0)))

    def _is_one_or_zero(self, term: Any) -> bool:
        """Whether a value is 0 or 1 at every element: a cast of a bool, a choice of such numbers, or a product."""
        if not isinstance(term, Value):
            return False
        if term.head == "literal":
            return term.args[0] in (0, 1)
        if term.head is Op.Where:
            return all(map(self._is_one_or_zero, term.args[1:]))
        if term.head is Op.Mul:
            return all(map(self._is_one_or_zero, term.args))
        return term.head is Op.Cast and dtype_inside(term.args[0], self.rule) == (bool_,)

    def _is_proved(self, law: Rule) -> bool:
        """Whether a rule about elements is proved at every dtype."""
        if show(law.left) == show(law.right):
            return True
        question = str(law)
        if question not in self._laws:
            self._laws[question] = all(self._is_proved_at(law, d) for d in self.dtypes)
        return self._laws[question]

    def _is_proved_at(self, law: Rule, dtype: DType) -> bool:
        if any(n in self.classes for n in law.kinds) or is_about_shapes(law):
            return False
        try:
            if is_pointwise(law) and failure(law, [dtype]) is not None:
                return False
            found = scalars.prove_goals(goals(law, dtype), "", self.court.budget.share(SHARE))
        except (SoundlineError, Unsupported):
            return False
        return found.verdict == "proved"

    # axes -------------------------------------------------------------------------------------------------------

    def _has_elements(self, reduction: Value) -> bool:
        """Whether no axis that is reduced is empty, by conditions that are about one axis."""
        one = Vector("everywhere", (value(1),))
        sizes = Vector("where", (reduction.args[2], Vector("shape of", (reduction.args[0],)), one))
        given = tuple(c for c in stated(self.rule) if is_of_each_axis(c, self.classes))
        filled = Value("every axis", (Op.CmpGe, sizes, one))
        question = replace(self.rule, left=filled, right=value(True), given=given)
        return not self._leads() and all(self._is_so_of_one_axis(question, d) for d in self.dtypes)

    def _leads(self) -> bool:
        try:
            return bool(Leading(self.rule, self.classes).found)
        except NotLeading:
            return True

    def _is_so_of_one_axis(self, rule: Rule, dtype: DType) -> bool:
        free = [n for n, c in self.classes.items() if isinstance(c, str) and n in rule.kinds]
        met = False
        for goal in goals(rule, dtype, 1, lambda chosen: any(chosen["rank of"][n] != 1 for n in free)):
            met = True
            try:
                if Instance(goal, self.court).judge().verdict != "proved":
                    return False
            except Unsupported:
                return False
        return met


def _joined(op: Any, a: Value, b: Value) -> Value:
    return Value("op", (op, a, b)) if isinstance(op, Term) else Value(op, (a, b))


def _has_none(op: Any, dtype: DType) -> bool:
    """Whether there is no value of reducing nothing."""
    return isinstance(op, Op) and isinstance(identity(op, dtype), Invalid)
