"""
Classes that are one axis
=========================

A rank class is treated *as a whole* where nothing in the rule asks for one of its axes: its tensors are reshaped, taken
elementwise, reversed on all axes or on none, repeated from a shape of ones, reduced along all axes, and all these ops
meet with shapes that are known to be one vector. Such a class acts as one axis.

For a position in a shape is the same as its flat position, a number below the product of the sizes. A reshape keeps the
flat position, an elementwise op reads its operands at the same one, a reversal of all axes makes N - 1 - i of i, and a
reduction along all axes goes through the flat positions in order. So an instance of any rank with the sizes d₁ … dₙ of
such a class says what the instance of rank 1 with the size d₁ · … · dₙ says: values that refute one give values that
refute the other. What is assumed stays true in passing from rank n to rank 1, for if vectors are equal so are their
products. What must be shown comes back: where an op asks for two equal shapes, or the sides for one, they are known to
be one vector at every rank (`verify.smt.ranks.shapes`), not only to have one product.

This breaks as soon as something tells two axes of the class apart: an offset, a permutation of axes whose size is not
1, flags that may be set on some axes only, an entry of the shape, a comparison of sizes other than equality; and where
something counts the axes, as the number 2 does on each of them.
"""

from __future__ import annotations

from typing import Any

from soundline.spec.ops.node import Op
from soundline.spec.ops.table import group_of
from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import Flags, Term, Value, Vector, show, subterms
from soundline.verify.smt.ranks.conditions import Uniform, stated
from soundline.verify.smt.ranks.shapes import (
    ONES,
    Class,
    Shapes,
    class_of,
    is_elementwise,
    of_one_element,
)

_AT_SAME = frozenset(group_of("marker"))


class Mixed(Exception):
    """A class whose axes are mixed by a reshape is also treated axis by axis."""


def act_whole(rule: Rule, shapes: Shapes, classes: frozenset[Class]) -> None:
    """Check that each of these classes acts as one axis. Raises ``Mixed``, with the reason."""
    check = _Check(rule, shapes, classes)
    for side in (rule.left, rule.right):
        for term in subterms(side):
            check.term(term)
    for condition in stated(rule):
        check.condition(condition)
    if check.concerns(rule.left) and not shapes.one_shape((rule.left, rule.right)):
        raise Mixed("a reshape decides whether the sides have one shape")


class _Check:
    def __init__(self, rule: Rule, shapes: Shapes, classes: frozenset[Class]) -> None:
        self.shapes = shapes
        self.classes = classes
        self.uniform = Uniform(rule)

    def _uniform(self, flags: Any) -> bool:
        """Whether flags are known to be set everywhere or nowhere."""
        return self.uniform.of(flags) is not None

    def concerns(self, term: Term) -> bool:
        """Whether a term is of one of the classes."""
        return class_of(term, self.shapes.classes) in self.classes

    def term(self, term: Term) -> None:
        """Check one term of a side."""
        if isinstance(term, Value) and self.concerns(term) and not self._value(term):
            raise Mixed(f"{show(term)} acts on axes that a reshape or a product mixes")
        if isinstance(term, Vector) and self.concerns(term) and not self._vector(term):
            raise Mixed(f"{show(term)} tells axes apart that a reshape or a product mixes")
        if term.head == "entry" and self.concerns(term.args[0]):
            raise Mixed(f"{show(term)} is one of the axes that a reshape or a product mixes")

    def _value(self, term: Term) -> bool:
        head, args, shapes = term.head, term.args, self.shapes
        if head == "var" or head is Op.Reshape or head in _AT_SAME:
            return True
        if is_elementwise(term):
            return shapes.one_shape([a for a in args if isinstance(a, Value) and self.concerns(a)])
        if head is Op.Flip:
            return self._uniform(args[1]) or self._is_ones(args[0])
        if head is Op.Expand:
            return shapes.is_shape_of(args[1], args[0]) or (self._is_ones(args[0]) and self._vector(args[1]))
        return (head is Op.Permute and self._is_ones(args[0])) or (
            head is Op.Reduce and self._uniform(args[2])
        )

    def _is_ones(self, value: Term) -> bool:
        return self.shapes.same(self.shapes.shape(value), ONES)

    def _vector(self, term: Term) -> bool:
        return (
            term.head == "shape of"
            or type(term).__name__ == "Shape"
            or self.shapes.same(self.shapes.key(term), ONES)
        )

    def condition(self, condition: Term) -> None:
        """Check a condition: equal vectors, sizes that are not 0, flags everywhere or nowhere, products."""
        if of_one_element(condition) is not None or self._is_uniform(condition) or self._is_kept(condition):
            return
        for term in subterms(condition):
            asked = [a for a in term.args if isinstance(a, Vector | Flags) and self.concerns(a)]
            if term.head in ("every axis", "no_flags", "one_axis", "same") and asked:
                raise Mixed(f"{show(condition)} tells axes apart that a reshape or a product mixes")
            self.term(term)

    def _is_uniform(self, condition: Term) -> bool:
        """Whether a condition says of a variable of flags that they are set everywhere, or nowhere."""
        flags = condition.args[0] if condition.head == "no_flags" else condition
        while flags.head == "not":
            flags = flags.args[0]
        return condition.head == "no_flags" and flags.head == "var"

    def _is_kept(self, condition: Term) -> bool:
        """Whether a comparison of all axes stays true when they become one."""
        if condition.head != "every axis":
            return False
        sides = [v for v in condition.args[1:] if self.concerns(v)]
        if condition.args[0] is Op.CmpEq:
            return all(map(self._vector, condition.args[1:]))
        return show(condition) in {f"{show(v)} {sign}" for v in sides for sign in ("> 0", ">= 1")}
