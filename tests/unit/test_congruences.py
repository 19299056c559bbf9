"""Dividends that are congruent: the lemma holds of all small numbers, decides what it should, and nothing else."""

from __future__ import annotations

from itertools import product

import pytest
import z3

from soundline.spec.dtypes import index, int8
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op, UOp
from soundline.spec.uop import const, param
from soundline.verify.smt.goals.obligations import Obligation
from soundline.verify.smt.integers.congruences import congruent
from soundline.verify.smt.integers.division import Lemmas
from soundline.verify.smt.integers.residue_classes import Integers

X, C, D = param(0, index), param(1, index), param(2, index)


def emod(a: UOp, b: UOp) -> UOp:
    """The remainder that is never negative."""
    zero, r = const(0, a.dtype), Op.Mod(a, b)
    return Op.Where(Op.And(Op.CmpLt(b, zero), Op.CmpLt(r, zero)), Op.Sub(r, b), r)


SQUARE = Op.Mul(emod(X, C), emod(X, C))
DIVIDED = {
    "of a remainder by a multiple": Op.Mod(Op.Mod(X, Op.Mul(C, D)), C),
    "of a Euclidean remainder by a multiple": Op.Mod(emod(X, Op.Mul(C, D)), C),
    "of a truncated remainder": Op.Mod(Op.CMod(X, C), C),
    "of a product of remainders": Op.Mod(SQUARE, C),
    "of a remainder by what does not divide": Op.Mod(Op.Mod(X, D), C),
    "of a choice that is not congruent": Op.Mod(Op.Where(Op.CmpLt(X, D), X, Op.Add(X, D)), C),
    "of a choice that is": Op.Mod(Op.Where(Op.CmpLt(X, D), X, Op.Add(X, Op.Mul(C, D))), C),
    "of a choice of choices": Op.Mod(Op.Where(Op.CmpLt(X, D), SQUARE, Op.Mul(X, Op.Sub(emod(X, C), C))), C),
    "by a multiple": Op.Mod(Op.Mod(X, C), Op.Mul(C, D)),
    "by a sum": Op.Mod(emod(X, Op.Add(C, D)), Op.Add(D, C)),
    "by a number": Op.Mod(Op.Mul(Op.Mod(X, const(-6, index)), C), const(3, index)),
}
SILENT = {
    "of a remainder by what does not divide",
    "of a choice that is not congruent",
    "by a multiple",
}


def translated(node: UOp) -> tuple[Integers, list[z3.ExprRef]]:
    """A node among the integers, and what is said of congruent dividends in it."""
    algebra = Integers(Obligation("", {"x": X, "c": C, "d": D}, frozenset(), (), (), node, node))
    for v in (X, C, D, node):
        algebra.term(v)
    lemmas = Lemmas(algebra)
    for quotient in algebra.quotients:
        lemmas.poly(quotient.a)
    given = list(algebra.quotients)
    return algebra, [claim for quotient in given for claim in congruent(lemmas, quotient, given)]


@pytest.mark.parametrize("name", DIVIDED)
def test_the_lemma_holds_of_all_small_numbers(name: str) -> None:
    """With numbers for its variables each instance follows from what division is; and the value is the evaluator's."""
    node = DIVIDED[name]
    algebra, claims = translated(node)
    assert (not claims) is (name in SILENT)
    solver = z3.SimpleSolver(ctx=algebra.ctx)
    solver.add(*algebra.facts)
    x, c, d = (algebra.value(v) for v in (X, C, D))
    for point in product((-7, -2, 0, 5), (-3, -1, 0, 2), (-2, 0, 1, 3)):
        solver.push()
        solver.add(*(v == n for v, n in zip((x, c, d), point, strict=True)))
        (value,) = evaluate(node, dict(enumerate(point))).elements
        assert solver.check(algebra.value(node) != int(value)) == z3.unsat, (name, point)
        for claim in claims:
            assert solver.check(z3.Not(claim)) == z3.unsat, (name, point, claim)
        solver.pop()


def test_what_wraps_is_not_replaced_without_a_premise() -> None:
    """Of int8, a remainder less its divisor is what it was before it wrapped only where it does not wrap."""
    x, c = param(0, int8), param(1, int8)
    sums = Op.Mod(Op.Add(Op.Mod(x, c), c), c)
    algebra = Integers(Obligation("", {"x": x, "c": c}, frozenset(), (), (), sums, sums))
    algebra.term(sums)
    given = list(algebra.quotients)
    lemmas = Lemmas(algebra)
    claims = [claim for quotient in given for claim in congruent(lemmas, quotient, given)]
    assert claims
    ((before, after),) = algebra.wrapped
    solver = z3.SimpleSolver(ctx=algebra.ctx)
    solver.add(*algebra.facts)
    met = 0
    for a, b in product((-128, -100, -1, 0, 90, 127), (-128, -3, 0, 100, 127)):
        solver.push()
        solver.add(algebra.value(x) == a, algebra.value(c) == b)
        for claim in claims:
            assert solver.check(z3.Not(claim)) == z3.unsat, (a, b, claim)
        met += solver.check(before != after) == z3.sat
        solver.pop()
    assert met, "some of these sums wrap"
