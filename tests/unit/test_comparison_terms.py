"""A comparison is the op that was written, whatever kinds stand on its sides."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from soundline.spec.ops.node import Op
from soundline.spec.rules.kinds import KINDS
from soundline.spec.rules.terms import Term, Value, Vector

OPS = {
    operator.lt: Op.CmpLt,
    operator.le: Op.CmpLe,
    operator.gt: Op.CmpGt,
    operator.ge: Op.CmpGe,
    operator.eq: Op.CmpEq,
    operator.ne: Op.CmpNe,
}
VALUES = ("Value", "Const", "Interval", "Bool", "Size", "Tensor")


def operands() -> list[Value]:
    plain: list[Value] = [KINDS[k]("var", (k,)) for k in VALUES]  # type: ignore[misc]
    return [*plain, plain[0] + plain[1], plain[1] * plain[1]]


@pytest.mark.parametrize("compare", OPS, ids=lambda f: f.__name__)
def test_the_sides_of_a_comparison_are_not_exchanged(compare: Any) -> None:
    for a in operands():
        for b in operands():
            made = compare(a, b)
            assert made.head is OPS[compare]
            assert made.args[0] is a
            assert made.args[1] is b


@pytest.mark.parametrize("compare", [c for c in OPS if c is not operator.ne], ids=lambda f: f.__name__)
def test_nor_are_those_of_vectors(compare: Any) -> None:
    vectors = [KINDS["Shape"]("var", ("s",)), KINDS["Offset"]("var", ("o",)), Vector("shape of", ())]
    sums: list[Term] = [vectors[0] + vectors[1]]  # type: ignore[operator]
    for a in [*vectors, *sums]:
        for b in [*vectors, *sums]:
            made = compare(a, b)
            assert made.head == "every axis"
            assert made.args[0] is OPS[compare]
            assert made.args[1] is a
            assert made.args[2] is b
