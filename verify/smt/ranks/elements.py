"""
Rules about single elements
===========================

Where all ops of a rule are elementwise, and all its tensors are known to have one shape, an element of a side is made
of the elements of the tensors at the same position and of nothing else. So the rule is the same rule about scalars, at
every rank and for all sizes: what is proved of any scalars is proved of the elements at each position. Conditions on
scalars are kept, and ``fits``, which speaks of every element; those on shapes and axes are dropped, by which the rule
says more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from soundline.spec.ops.table import group_of
from soundline.spec.rules.language import Rule, variables_in
from soundline.spec.rules.ranks import rank_classes
from soundline.spec.rules.terms import Tensor, Term, Value, Variable, Vector, rebuilt, subterms
from soundline.verify.smt.ranks.conditions import stated
from soundline.verify.smt.ranks.shapes import Shapes, changes_items, class_of, is_elementwise

_PLAIN = ("var", "literal", "identity", *group_of("marker"))
_SCALARS = ("Value", "Const", "Interval", "Bool", "Size", "DTypeVar", "Tensor")


def about_elements(rule: Rule) -> Rule | None:
    """The rule about scalars of which this one is a consequence; None where it is not about single elements."""
    kinds = {n: rule.kinds[n] for t in (rule.left, rule.right) for n in variables_in(t)}
    if any(k.kind not in _SCALARS for k in kinds.values()) or not any(
        k.kind == "Tensor" for k in kinds.values()
    ):
        return None
    values = [t for side in (rule.left, rule.right) for t in subterms(side) if isinstance(t, Value)]
    if not all(map(_is_plain, values)) or any(changes_items(t, rule) for t in values):
        return None
    tensors = [Tensor("var", (n,)) for n, k in kinds.items() if k.kind == "Tensor"]
    shapes = Shapes(rule, rank_classes(rule))
    alone = [t for t in (rule.left, rule.right) if class_of(t, shapes.classes) is None]
    if alone or not shapes.one_shape(tensors):
        return None
    given = tuple(map(_of_elements, _kept(rule, kinds)))
    met = {n for t in given for n in variables_in(t)} | set(kinds)
    scalars = {n: _of_one(k) for n, k in rule.kinds.items() if n in met}
    left, right = map(_of_elements, (rule.left, rule.right))
    return replace(rule, kinds=scalars, given=given, left=left, right=right)


def _is_plain(term: Term) -> bool:
    return isinstance(term, Value) and (term.head in _PLAIN or is_elementwise(term))


def _kept(rule: Rule, met: Collection[str]) -> Iterator[Term]:
    """The conditions that speak of scalars, and of every element of the tensors that stand in the sides."""
    for condition in stated(rule):
        names = variables_in(condition)
        if all(rule.kinds[n].kind in _SCALARS[:-1] for n in names):
            yield condition
        elif condition.head == "fits" and all(n in met or rule.kinds[n].kind != "Tensor" for n in names):
            parts = [t for t in subterms(condition) if isinstance(t, Value | Vector) and t is not condition]
            if all(map(_is_plain, parts)):
                yield condition


def _of_one(kind: Variable) -> Variable:
    """The kind of an element of a tensor."""
    if kind.kind != "Tensor":
        return kind
    return Variable("Value", tuple(n for n in kind.inside if not isinstance(n, str | int)))


def _of_elements(term: Term) -> Any:
    """A term in which tensors are scalars."""
    if isinstance(term, Tensor) and term.head == "var":
        return Value("var", term.args)
    return rebuilt(term, _of_elements)
