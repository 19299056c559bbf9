"""
Leaves as scalar obligations
============================

Where the elements of two sides are not equal terms, they may still be equal by the laws of their dtype. Such a leaf
becomes a scalar obligation: each read is a variable, and reads of one input at positions that are shown to be equal are
the same variable. Its proof says nothing of positions, so it serves every size.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations

from soundline.spec.dtypes import DType, bool_, index
from soundline.spec.ops.node import Op, UOp
from soundline.spec.ops.sizes import add, as_node, multiply
from soundline.spec.uop import const, param
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import (
    Apply,
    Bottom,
    Constant,
    Element,
    Number,
    Read,
    Reduction,
    Truth,
    Unsupported,
    may_be_invalid,
)
from soundline.verify.smt.elements.indexing import Path
from soundline.verify.smt.goals.obligations import Obligation
from soundline.verify.smt.integers.formulas import Formula, conjunction, conjuncts, negation
from soundline.verify.smt.integers.polynomials import Poly
from soundline.verify.smt.proving.comparison import Leaf, proved


@dataclass
class Scalars:
    """Turns elements without choices into scalar programs over variables that stand for reads."""

    reader: Denotation
    path: Path
    variables: dict[str, UOp] = field(default_factory=dict)
    reads: dict[str, Read] = field(default_factory=dict)
    reductions: list[Reduction] = field(default_factory=list)
    strict: bool = False
    """Whether it must be known of what is met that it is valid: it is, of the left side."""

    def node(self, element: Element) -> UOp:
        """The program of an element."""
        match element:
            case Read():
                return self._read(element)
            case Constant():
                return const(element.value, element.dtype)
            case Number():
                return self.number(element.poly)
            case Truth():
                return self.condition(element.formula)
            case Apply():
                arg = element.dtype if element.op in (Op.Cast, Op.Bitcast) else None
                return UOp(element.op, tuple(self.node(o) for o in element.operands), arg)
            case Reduction():
                return self._reduction(element)
            case Bottom():
                raise Unsupported("an invalid element is not a scalar")
            case _:
                raise Unsupported("an element with a choice is not a scalar")

    def _read(self, read: Read) -> UOp:
        for name, other in self.reads.items():
            if other.name == read.name and self._same(other, read):
                return self.variables[name]
        self.reads[read.key] = read
        return self._variable(read.key, read.dtype)

    def _reduction(self, reduction: Reduction) -> UOp:
        """A variable for a reduction; reductions that are shown to be equal are one."""
        for other in self.reductions:
            if other.dtype is reduction.dtype and proved(self.reader, other, reduction, self.path):
                return self.variables[other.key]
        if self.strict and may_be_invalid(reduction):
            raise Unsupported("a reduction of elements that may be invalid is not a scalar")
        self.reductions.append(reduction)
        return self._variable(reduction.key, reduction.dtype)

    def _same(self, a: Read, b: Read) -> bool:
        space = self.reader.space
        return a == b or space.shows(self.path, space.same(a.at, b.at, a.shape, self.path))

    def apart(self) -> Formula:
        """That no two variables stand for one element: reads of one input are at different positions."""
        pairs = [(a, b) for a, b in combinations(self.reads.values(), 2) if a.name == b.name]
        same = (self.reader.space.same(a.at, b.at, a.shape, self.path) for a, b in pairs)
        return conjunction(map(negation, same))

    def _variable(self, name: str, dtype: DType) -> UOp:
        if name not in self.variables:
            self.variables[name] = param(len(self.variables), dtype)
        return self.variables[name]

    def number(self, poly: Poly) -> UOp:
        """The program of a polynomial."""
        total: int | UOp = 0
        for monomial, n in poly.terms.items():
            term: int | UOp = n
            for atom in monomial:
                term = multiply(term, self._variable(atom, index))
            total = add(total, term)
        return as_node(total)

    def condition(self, formula: Formula) -> UOp:
        """The program of a condition."""
        match formula.kind:
            case "true" | "false":
                return const(formula.kind == "true", bool_)
            case "opaque":
                return self.node(self.reader.bools.elements[formula.name])
            case "not opaque":
                return UOp(Op.Not, (self.node(self.reader.bools.elements[formula.name]),))
            case "and" | "or":
                first, *rest = (self.condition(p) for p in formula.parts)
                for part in rest:
                    first = UOp(Op.And if formula.kind == "and" else Op.Or, (first, part))
                return first
        assert formula.poly is not None
        op = {"ge": Op.CmpGe, "eq": Op.CmpEq, "ne": Op.CmpNe}[formula.kind]
        return UOp(op, (self.number(formula.poly), const(0, index)))


def obligation(
    reader: Denotation, leaf: Leaf, fits: Iterable[Element], label: str, licences: frozenset[str]
) -> tuple[Obligation, Scalars]:
    """The obligation that the elements of a leaf are equal, where the conditions on elements hold."""
    scalars = Scalars(reader, leaf.path)
    left = scalars.node(leaf.left)
    scalars.strict = True
    right = scalars.node(leaf.right)
    known = [c for c in reader.space.known(leaf.path) if is_about_elements(c)]
    hypotheses = tuple(scalars.condition(c) for c in known)
    unwrapped = tuple(scalars.node(f) for f in fits)
    made = Obligation(
        label=label,
        variables=scalars.variables,
        leading=frozenset(
            n for n in scalars.variables if n not in (*scalars.reads, *(f.key for f in scalars.reductions))
        ),
        hypotheses=hypotheses,
        fits=unwrapped,
        left=left,
        right=right,
        licences=licences,
    )
    return made, scalars


def is_about_elements(condition: Formula) -> bool:
    """Whether a condition speaks of elements that are not indices: only such conditions matter to a scalar proof."""
    return any("opaque" in part.kind or is_about_elements(part) for part in condition.parts) or any(
        "opaque" in part.kind for part in conjuncts(condition)
    )
