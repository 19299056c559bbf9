"""
The machine's numbers
=====================

The exact algebra of everything that has bits: integers as bit vectors, floats as floating-point terms, bools. A second
one, `Structure`, forgets what the arithmetic of floats computes and keeps only that equal operands give equal results:
rules that move operations around without changing them need no more, and multiplication is never bit-blasted for them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import z3

from soundline.spec.dtypes import DType, Element, index
from soundline.spec.ops.node import Op, UOp
from soundline.spec.values.elementwise import operand_dtype
from soundline.verify.smt.goals.algebra import Law
from soundline.verify.smt.goals.points import not_nan
from soundline.verify.smt.integers.laws import INTEGER_LAWS
from soundline.verify.smt.integers.residue_classes import Integers
from soundline.verify.smt.integers.terms import Residue
from soundline.verify.smt.values import bit_vectors, ieee


class Machine(Integers):
    """Bit vectors and floating-point terms; ``index`` is Int here too."""

    NAME: ClassVar[str] = "bit vectors and floats"

    def constant(self, dtype: DType, value: Element) -> Any:
        """A literal."""
        if dtype.is_float:
            return ieee.number(self, dtype, float(value))
        if dtype.is_int:
            return z3.BitVecVal(int(value), dtype.bits, self.ctx)
        return super().constant(dtype, value)

    def variable(self, name: str, dtype: DType) -> Any:
        """A variable of the sort of its dtype."""
        if dtype.is_float:
            return ieee.variable(self, name, dtype)
        if dtype.is_int:
            return z3.BitVec(name, dtype.bits, self.ctx)
        return super().variable(name, dtype)

    def element(self, model: Any, node: UOp) -> Element:
        """The element of a variable in a model."""
        term, dtype = self.value(node), node.dtype
        if dtype.is_float:
            return ieee.element(self, model, dtype, term)
        if dtype.is_int:
            found = model.eval(term, model_completion=True)
            return int(found.as_signed_long() if dtype.signed else found.as_long())
        return super().element(model, node)

    def equal(self, left: UOp, right: UOp) -> Any:
        """The same observable value, up to the sign of a zero where that is licensed."""
        a, b = self.value(left), self.value(right)
        if not left.dtype.is_float:
            return a == b
        same = ieee.same(self, a, b)
        if "no_signed_zero" in self.obligation.licences:
            same = z3.Or(same, z3.And(z3.fpIsZero(a, self.ctx), z3.fpIsZero(b, self.ctx)))
        return same

    def no_wrap(self, node: UOp) -> Any:
        """That this operation does not wrap."""
        return bit_vectors.no_wrap(self, node)

    def premises(self) -> list[Any]:
        """The hypotheses, that nothing of `fits` wraps, and under `no_nan` that the left side meets no NaN."""
        numbers = not_nan(self.obligation)
        return super().premises() + [z3.Not(z3.fpIsNaN(self.term(n), self.ctx)) for n in numbers]

    def law(self, node: UOp) -> Law | None:
        """The law of a node, by the kind of its operands."""
        if node.op is Op.Bitcast:
            return ieee.bitcast
        if node.op is Op.Threefry:
            return ieee.uninterpreted
        dtype = operand_dtype(node)
        if node.op is Op.Cast and (laws := CASTS.get((_kind(dtype), _kind(node.arg)))):
            return laws
        if dtype is index:
            return INTEGER_LAWS.get(node.op)
        laws_of_kind = ieee.FLOAT_LAWS if dtype.is_float else bit_vectors.BIT_LAWS if dtype.is_int else {}
        return laws_of_kind.get(node.op)


def _kind(dtype: DType) -> str:
    return "float" if dtype.is_float else "bits" if dtype.is_int else dtype.name


def _from_index(algebra: Machine, node: UOp) -> Any:
    return z3.Int2BV(algebra.value(node.src[0]), node.arg.bits)


def _to_index(algebra: Machine, node: UOp) -> Residue:
    (source,) = node.src
    return Residue(z3.BV2Int(algebra.value(source), is_signed=source.dtype.signed), True)


CASTS: dict[tuple[str, str], Law] = {
    ("bits", "float"): ieee.cast_from_bits,
    ("index", "bits"): _from_index,
    ("bits", "index"): _to_index,
}
"""The casts between sorts of Z3."""


class Structure(Machine):
    """As `Machine`, but float arithmetic and casts between floats and integers are uninterpreted.

    What is unsatisfiable here is so there.
    """

    NAME: ClassVar[str] = "uninterpreted float arithmetic"

    FORGOTTEN: ClassVar[frozenset[Op]] = frozenset(
        (Op.Add, Op.Sub, Op.Mul, Op.Div, Op.Recip, Op.Sqrt, Op.Mulacc)
    )

    def law(self, node: UOp) -> Law | None:
        """The law of a node; none of float arithmetic."""
        if is_conversion(node):
            return _unknown_conversion
        forgotten = node.op in self.FORGOTTEN and node.dtype.is_float
        return ieee.uninterpreted if forgotten else super().law(node)


def is_conversion(node: UOp) -> bool:
    """Whether a node makes a float of an integer of fixed width, or the other way round."""
    if node.op is not Op.Cast:
        return False
    kinds = _kind(node.src[0].dtype), _kind(node.arg)
    return kinds in (("bits", "float"), ("float", "bits"))


def _unknown_conversion(algebra: Structure, node: UOp) -> Any:
    """An unknown function, one for each pair of dtypes."""
    algebra.spurious = True
    source, target = node.src[0].dtype, node.arg
    result = z3.BitVecSort(target.bits, algebra.ctx) if target.is_int else ieee.sort(algebra, target)
    x = algebra.value(node.src[0])
    return z3.Function(f"Cast:{source}:{target}", x.sort(), result)(x)


class Opaque(Structure):
    """As `Structure`, and the costly operations on integers are uninterpreted too: for rules that only choose."""

    NAME: ClassVar[str] = "uninterpreted operations"

    COSTLY: ClassVar[frozenset[Op]] = frozenset(
        (Op.Mul, Op.Mulacc, Op.Idiv, Op.Mod, Op.CDiv, Op.CMod, Op.Shl, Op.Shr)
    )

    def law(self, node: UOp) -> Law | None:
        """The law of a node; none of the costly operations."""
        if node.op in self.COSTLY and node.dtype.is_int:
            return ieee.uninterpreted
        if node.op in self.COSTLY and node.dtype is index:
            return _opaque_index
        return super().law(node)


def _opaque_index(algebra: Opaque, node: UOp) -> Residue:
    """An unknown integer that depends on the operands alone."""
    algebra.spurious = True
    terms = algebra.sources(node)
    function = z3.Function(f"{node.op.name}:index", *(t.sort() for t in terms), z3.IntSort(algebra.ctx))
    return Residue(function(*terms), True)
