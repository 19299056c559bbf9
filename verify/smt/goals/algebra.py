"""
Algebras
========

An algebra says which Z3 terms stand for the elements of each dtype and which term each op makes of them. A law of an
algebra takes the algebra and a node whose sources are already translated. What an algebra has no law for is `Outside`
it, and another algebra is asked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import z3

from soundline.spec.dtypes import DType, Element, bool_
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.walks import filled
from soundline.spec.values.elementwise import operand_dtype
from soundline.verify.smt.goals.obligations import (
    SCALAR_OPS,
    Obligation,
    scalar_sources,
    wrapping_nodes,
)

Law = Callable[[Any, UOp], Any]
"""A law of an algebra: (the algebra, a node) → the Z3 term of the node."""


class Outside(Exception):
    """The algebra has no term for a node."""


class Algebra(ABC):
    """Translates nodes to Z3 terms in a context of its own; each node once."""

    NAME: ClassVar[str] = ""

    def __init__(self, obligation: Obligation) -> None:
        self.ctx = z3.Context()
        self.obligation = obligation
        self.facts: list[Any] = []
        """What defines the fresh variables of the translation; true for every value of the rule's variables."""
        self.spurious = False
        """Whether the translation weakened an op, so that a model may be no counterexample."""
        self._names = {node: name for name, node in obligation.variables.items()}
        self._terms: dict[UOp, Any] = {}
        self._fresh = 0

    # what each algebra says ---------------------------------------------------------------------------------------

    @abstractmethod
    def constant(self, dtype: DType, value: Element) -> Any:
        """The term of an element."""

    @abstractmethod
    def variable(self, name: str, dtype: DType) -> Any:
        """A variable of this dtype; facts say what it ranges over."""

    @abstractmethod
    def equal(self, left: UOp, right: UOp) -> Any:
        """That two nodes have the same observable value (U-05)."""

    @abstractmethod
    def element(self, model: Any, node: UOp) -> Element:
        """The element that a variable has in a model."""

    @abstractmethod
    def no_wrap(self, node: UOp) -> Any:
        """That this operation does not wrap."""

    # what all algebras share --------------------------------------------------------------------------------------

    def term(self, node: UOp) -> Any:
        """The term of a node."""
        return filled(self._terms, node, scalar_sources, self._translate)

    def _translate(self, node: UOp) -> Any:
        if node.op is Op.Const:
            return self.constant(node.dtype, node.arg.value)
        if node.op not in SCALAR_OPS:
            return self.variable(self._names.get(node) or self.fresh_name(node.op.name), node.dtype)
        if operand_dtype(node) is bool_ and node.op in BOOL_LAWS:
            return BOOL_LAWS[node.op](self, node)
        law = self.law(node)
        if law is None:
            raise Outside(f"{node.op.name} in {self.NAME}")
        return law(self, node)

    @property
    def known(self) -> set[UOp]:
        """The nodes that are translated."""
        return set(self._terms)

    @abstractmethod
    def law(self, node: UOp) -> Law | None:
        """The law of a node whose operands are not bools; None where the algebra has none."""

    def value(self, node: UOp) -> Any:
        """The Z3 term of the element of a node that is already translated."""
        return self._terms[node]

    def sources(self, node: UOp) -> list[Any]:
        """The elements of the sources."""
        return [self.value(s) for s in node.src]

    def fresh_name(self, stem: str) -> str:
        """A name that nothing else has."""
        self._fresh += 1
        return f"{stem}!{self._fresh}"

    def premises(self) -> list[Any]:
        """The hypotheses and that the expressions of `fits` do not wrap."""
        conditions = [self.term(h) for h in self.obligation.hypotheses]
        for root in self.obligation.fits:
            self.term(root)
        return conditions + [self.no_wrap(n) for n in wrapping_nodes(self.obligation.fits)]

    def denial(self) -> list[Any]:
        """That the premises hold and the sides differ; unsatisfiable exactly where the obligation is met."""
        ob = self.obligation
        premises = self.premises()
        self.term(ob.left), self.term(ob.right)
        same = self.equal(ob.left, ob.right)
        return [*premises, z3.Not(same), *self.facts]

    def choice(self, p: Any, a: Any, b: Any) -> Any:
        """a where p, else b."""
        return z3.If(p, a, b)

    def truth(self, value: bool) -> Any:
        """A truth value."""
        return z3.BoolVal(value, self.ctx)

    def bool_element(self, model: Any, term: Any) -> bool:
        """The truth value of a Bool term in a model."""
        return bool(z3.is_true(model.eval(term, model_completion=True)))


def _bool_law(function: Callable[..., Any]) -> Law:
    return lambda algebra, node: function(*algebra.sources(node))


def _cast_bool(algebra: Algebra, node: UOp) -> Any:
    (p,) = algebra.sources(node)
    if node.arg is bool_:
        return p
    one, zero = (1.0, 0.0) if node.arg.is_float else (1, 0)
    return algebra.choice(p, algebra.constant(node.arg, one), algebra.constant(node.arg, zero))


BOOL_LAWS: dict[Op, Law] = {
    Op.Mul: _bool_law(z3.And),
    Op.And: _bool_law(z3.And),
    Op.Max: _bool_law(z3.Or),
    Op.Or: _bool_law(z3.Or),
    Op.Xor: _bool_law(z3.Xor),
    Op.CmpNe: _bool_law(z3.Xor),
    Op.CmpEq: _bool_law(lambda a, b: a == b),
    Op.CmpLt: _bool_law(lambda a, b: z3.And(z3.Not(a), b)),
    Op.CmpGt: _bool_law(lambda a, b: z3.And(a, z3.Not(b))),
    Op.CmpLe: _bool_law(lambda a, b: z3.Or(z3.Not(a), b)),
    Op.CmpGe: _bool_law(lambda a, b: z3.Or(a, z3.Not(b))),
    Op.Not: _bool_law(z3.Not),
    Op.Where: _bool_law(z3.If),
    Op.Cast: _cast_bool,
}
"""The laws of ops whose operands are bools; every algebra has them."""
