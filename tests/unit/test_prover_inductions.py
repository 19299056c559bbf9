"""Rules whose condition is a reduction, proved by induction along the loop; and those that an
induction must not prove.
"""

# the brackets of annotations name sizes and ranges, not types
# mypy: disable-error-code="name-defined,type-arg,valid-type"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from soundline.impl.rules import premises
from soundline.spec.dtypes import bool_, float16, float32
from soundline.spec.ops.node import Op
from soundline.verify.judging.judge import prove_layer
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import Apply, Bottom, Constant, Element, Read, Reduction, choice
from soundline.verify.smt.elements.indexing import ALWAYS, Space
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.integers.arithmetic import Arithmetic
from soundline.verify.smt.integers.formulas import Formula, less
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly
from soundline.verify.smt.reductions.inductions import Inductions


def test_the_rules_with_premises_are_proved_by_it() -> None:
    assert prove_layer(premises.masked_sum, float16).verdict == "proved"


# By itself --------------------------------------------------------------------------------------------------------


class Bench:
    """Elements of float32 over one input, and the induction that compares them."""

    def __init__(self) -> None:
        self.reader = Denotation(Space(Arithmetic(Budget())), {})
        self.asked: list[tuple[Element, Element]] = []

    def read(self, at: str) -> Element:
        return Read(float32, "x", (Poly.of(at),), (Poly.of("n"),))

    def reduction(self, body: Element, size: Poly | None = None, op: Op = Op.Add) -> Reduction:
        return Reduction(float32, op, (("$1.0", size or Poly.of("n")),), body)

    def is_zero(self, element: Element) -> Formula:
        return self.reader.bools.formula(Apply(bool_, Op.CmpEq, (element, Constant(float32, 0.0))))

    def same(self, left: Element, right: Element, answer: Callable[[int], bool] = lambda _: True) -> bool:
        def proves(a: Element, b: Element, path: Any) -> bool:
            self.asked.append((a, b))
            return answer(len(self.asked))

        return Inductions(self.reader, proves).same(left, right, ALWAYS)

    def sides(self) -> tuple[Element, Element]:
        """A reduction, and a choice by another of the same elements."""
        total = self.reduction(self.read("$1.0"))
        other = self.reduction(Apply(float32, Op.Mul, (self.read("$1.0"), Constant(float32, 0.0))))
        return total, choice(self.is_zero(other), Apply(float32, Op.Add, (total, other)), total)


def test_none_one_and_one_more_are_asked_in_each_case() -> None:
    """Of no element; of one; of one more, where the premise held and where it did not."""
    bench = Bench()
    assert bench.same(*bench.sides())
    assert len(bench.asked) == 4
    none, one, held, failed = (str(a) for a, _ in bench.asked)
    assert none == "0.0:float32"
    assert one == "x[0]"
    assert held.startswith("Add(")
    assert "~so far" in held
    assert failed.startswith("Add(~so far")


@pytest.mark.parametrize("missed", [1, 2, 3, 4])
def test_each_of_them_is_needed(missed: int) -> None:
    bench = Bench()
    assert not bench.same(*bench.sides(), lambda number: number != missed)


def test_where_there_are_elements_none_is_not_asked() -> None:
    bench = Bench()
    bench.reader.space.assume([less(ZERO, Poly.of("n"))])
    assert bench.same(*bench.sides())
    assert len(bench.asked) == 3


def test_an_induction_inside_another_has_unknowns_of_its_own() -> None:
    bench = Bench()
    assert bench.same(*bench.sides())
    first = {str(a) for a, _ in bench.asked}
    bench.asked.clear()
    assert bench.same(*bench.sides())
    assert not {a for a in (str(a) for a, _ in bench.asked) if "~so far" in a} & first


def test_what_runs_over_other_places_is_not_compared() -> None:
    bench = Bench()
    total, _ = bench.sides()
    shorter = bench.reduction(bench.read("$1.0"), Poly.of("n") - ONE)
    assert not bench.same(total, choice(bench.is_zero(shorter), shorter, total))
    assert bench.asked == []


def test_what_may_be_invalid_is_not_compared() -> None:
    bench = Bench()
    total, _ = bench.sides()
    inside = less(Poly.of("$1.0"), Poly.of("m"))
    partial = bench.reduction(choice(inside, bench.read("$1.0"), Bottom(float32)))
    assert not bench.same(total, choice(bench.is_zero(partial), partial, total))
    assert bench.asked == []


def test_one_fold_alone_is_not_compared() -> None:
    bench = Bench()
    total, _ = bench.sides()
    assert not bench.same(total, choice(bench.is_zero(total), Constant(float32, 0.0), total))
    assert bench.asked == []
