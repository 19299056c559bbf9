"""
Ops that go into reductions
===========================

What is done to a reduction can be done to each of its elements instead where it is a homomorphism: h(a ⊕ b) = h(a) ⊗
h(b) for all a and b makes h(a ⊕ b ⊕ …) = h(a) ⊗ h(b) ⊗ …, in whatever order. Whether it is one is a question about two
scalars, which the court answers by the laws of the dtype: a cast of a maximum, a scaled maximum, 2 to the power of a
sum, the negation of *any*. Where the reduction may be empty, h must take the value of the empty reduction to that of
the other: maximum(max of nothing, c) is c, but the maximum of nothing is -∞, also where floats stand for real numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from soundline.spec.arrays.arrays import Invalid
from soundline.spec.dtypes import DType, bool_, ieee_floats, index
from soundline.spec.evaluation.values import identity
from soundline.spec.ops.node import Op
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import (
    Apply,
    Choice,
    Element,
    Read,
    Reduction,
    Unsupported,
    constant,
)
from soundline.verify.smt.elements.indexing import Path
from soundline.verify.smt.integers.formulas import conjunction, less
from soundline.verify.smt.integers.polynomials import ZERO
from soundline.verify.smt.reductions.bijections import Proves

OPS = (Op.Add, Op.Max, Op.Mul)


class Homomorphisms:
    """Moves what is done to a reduction to its elements."""

    def __init__(self, reader: Denotation, proves: Proves) -> None:
        self.reader = reader
        self.proves = proves

    def moved(self, element: Element, ops: set[Op], path: Path) -> Iterator[Reduction]:
        """An element with one reduction in it as a reduction by one of these ops."""
        if not isinstance(element, Apply):
            return
        inner = _only_reduction(element)
        if inner is None or index in (inner.dtype, element.dtype):
            return
        for op in OPS:
            if (
                op in ops
                and not (op is Op.Add and element.dtype is bool_)
                and self._holds(element, inner, op, path)
            ):
                self.reader.by_law = True
                yield Reduction(element.dtype, op, inner.bound, _with(element, inner, inner.body))

    def _holds(self, element: Apply, inner: Reduction, op: Op, path: Path) -> bool:
        """Whether what is done to the reduction is a homomorphism from its op to another."""
        a, b = (Read(inner.dtype, f"{name} of {inner.key}", (), ()) for name in ("first", "second"))
        joined = self._op(inner.op, inner.dtype, a, b)
        outside = self._op(op, element.dtype, _with(element, inner, a), _with(element, inner, b))
        known = _rounds_integers(element, inner) and inner.op is op is Op.Max
        if not known and not self.proves(_with(element, inner, joined), outside, path):
            return False
        filled = conjunction(less(ZERO, size) for _, size in inner.bound)
        if self.reader.space.shows(path, filled):
            return True
        empty, other = identity(inner.op, inner.dtype), identity(op, element.dtype)
        if isinstance(empty, Invalid) or isinstance(other, Invalid):
            return False
        nothing = _with(element, inner, constant(inner.dtype, empty))
        return self.proves(nothing, constant(element.dtype, other), path)

    def _op(self, op: Op, dtype: DType, a: Element, b: Element) -> Element:
        if dtype is bool_:
            joined = Apply(bool_, op, (a, b))
            return self.reader.bools.element(self.reader.bools.formula(joined))
        return self.reader.operation(op, dtype, (a, b))


def _rounds_integers(element: Apply, inner: Reduction) -> bool:
    """Whether an element is a cast of integers to floats with infinities: to round keeps what is greater."""
    return (
        element.op is Op.Cast
        and element.operands == (inner,)
        and inner.dtype.is_int
        and element.dtype in ieee_floats
    )


def _only_reduction(element: Element) -> Reduction | None:
    """The one reduction in an element of ops; None where there are none or several, or choices."""
    found: dict[str, Reduction] = {}

    def look(part: Element) -> None:
        if isinstance(part, Reduction):
            found[part.key] = part
        elif isinstance(part, Apply):
            for operand in part.operands:
                look(operand)
        elif isinstance(part, Choice):
            raise Unsupported("a choice beside a reduction")

    try:
        look(element)
    except Unsupported:
        return None
    return next(iter(found.values())) if len(found) == 1 else None


def _with(element: Element, reduction: Reduction, value: Element) -> Element:
    """An element with a value in the place of the reduction."""
    if element == reduction:
        return value
    if isinstance(element, Apply):
        return replace(element, operands=tuple(_with(o, reduction, value) for o in element.operands))
    return element
