"""
The ops that the solver supports
================================

The registry that the status matrix reads: for each op, the algebras that have a law for it.
"""

from __future__ import annotations

from soundline.spec.ops.node import Op
from soundline.verify.smt.goals.algebra import BOOL_LAWS
from soundline.verify.smt.integers.laws import INTEGER_LAWS
from soundline.verify.smt.values.bit_vectors import BIT_LAWS
from soundline.verify.smt.values.ieee import FLOAT_LAWS, uninterpreted

FAMILIES = {"bool": BOOL_LAWS, "Int": INTEGER_LAWS, "bit vectors": BIT_LAWS, "IEEE": FLOAT_LAWS}
"""The laws of each algebra, by the sort of Z3 that it uses."""

ANY_BITS: dict[Op, tuple[str, ...]] = {
    Op.Bitcast: ("Int", "bit vectors", "IEEE"),
    Op.Threefry: ("bit vectors",),
    Op.Param: ("all",),
    Op.Const: ("all",),
}
"""Ops whose law does not depend on the kind of their operands; leaves are variables and literals."""

UNINTERPRETED = (*(op for op, law in FLOAT_LAWS.items() if law is uninterpreted), Op.Threefry)
"""Ops of which the solver knows only that equal operands give equal results."""


def families(op: Op) -> tuple[str, ...]:
    """The names of the algebras that have a law for an op."""
    if op in ANY_BITS:
        return ANY_BITS[op]
    return tuple(name for name, laws in FAMILIES.items() if op in laws)


SMT: dict[Op, tuple[str, ...]] = {op: families(op) for op in Op if families(op)}
"""Every op that has a translation, and the algebras that have it."""
