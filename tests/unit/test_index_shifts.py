"""Shifts of an index by a count that is not known: in rules, proofs and counterexamples, and where they are applied."""

from itertools import product

import pytest
import z3

from soundline.impl.rewriting.engine import rewrite
from soundline.spec.dtypes import bool_, index
from soundline.spec.errors import EvaluationError, IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.elementwise.shifts import STANDS_FOR_A_CONSTANT
from soundline.spec.ops.node import Op, UOp, substitute
from soundline.spec.rules.instances import ops_for
from soundline.spec.rules.language import Rule, given, rule
from soundline.spec.rules.terms import Const, Size, Tensor, Value
from soundline.spec.uop import const, loop, param
from soundline.spec.values.elementwise import scalar
from soundline.verify.advice.advising import advise
from soundline.verify.judging.judge import prove, prove_layer
from soundline.verify.second.opinions import ASKERS
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import Number
from soundline.verify.smt.elements.indexing import ALWAYS, Space
from soundline.verify.smt.goals.obligations import Obligation
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.integers.formulas import holds
from soundline.verify.smt.integers.residue_classes import Integers
from soundline.verify.smt.proving.instances import Court

X = param(0, index)


def constant(slot: int) -> UOp:
    """A Param for which a constant stands."""
    node = param(slot, index)
    return UOp(node.op, node.src, node.arg, STANDS_FOR_A_CONSTANT)


C, D, E = constant(1), constant(2), constant(3)


def number(n: int) -> UOp:
    return const(n, index)


# The law ----------------------------------------------------------------------------------------------------------


def test_only_what_stands_for_a_constant_may_be_a_count() -> None:
    """In a program a count is a constant; the instance of a rule has what stands for one, and nothing else."""
    for op, count in product((Op.Shl, Op.Shr), (C, Op.Add(C, D), Op.Sub(number(8), C), Op.Shl(number(1), C))):
        assert op(X, count).dtype is index
    tagged_range = UOp(Op.Range, loop(4, 0).src, loop(4, 0).arg, STANDS_FOR_A_CONSTANT)
    cell = Op.Index(param(4, index, (3,)), number(0))
    for op, count in product((Op.Shl, Op.Shr), (X, Op.Add(C, X), tagged_range, cell, Op.Add(C, cell))):
        with pytest.raises(IllFormed, match="constant count"):
            op(X, count)


def test_a_negative_count_has_no_value() -> None:
    for op in (Op.Shl, Op.Shr):
        with pytest.raises(EvaluationError, match="-1 places"):
            scalar(op, index, 4, -1)
    assert not {Op.Shl, Op.Shr} & set(ops_for("BinaryOp", index)), "no op of two values"


# What proofs know of powers ---------------------------------------------------------------------------------------

NATURAL = [Op.CmpLe(number(0), c) for c in (C, D)]
POWERS = {
    "a sum": (Op.Shl(X, Op.Add(C, D)), NATURAL),
    "a difference": (Op.Shl(X, Op.Sub(C, D)), [*NATURAL, Op.CmpLe(D, C), Op.CmpLe(number(0), Op.Sub(C, D))]),
    "more than a difference": (Op.Shr(X, C), [*NATURAL, Op.CmpLt(D, C)]),
    "one and another": (Op.Add(Op.Shl(X, C), Op.Shr(X, D)), NATURAL),
    "a sum and a number": (Op.Shr(X, Op.Add(Op.Add(C, D), number(2))), NATURAL),
    "a product": (Op.Shl(X, Op.Mul(C, D)), NATURAL),
    "not said to be natural": (Op.Shl(X, Op.Add(C, D)), [Op.CmpLe(number(0), Op.Add(C, D))]),
    "what a quotient is": (Op.Shl(X, Op.Idiv(C, number(2))), [Op.CmpLe(number(0), Op.Idiv(C, number(2)))]),
    "a number less": (Op.Shl(X, Op.Sub(C, number(2))), [*NATURAL, Op.CmpLe(number(0), Op.Sub(C, number(2)))]),
    "said the other way": (Op.Shl(X, Op.Sub(D, C)), [Op.CmpGe(C, number(0)), NATURAL[1], Op.CmpLe(C, D)]),
    "any exponents": (Op.Add(Op.Shl(X, C), Op.Shr(X, D)), []),
    "0 and its negative": (Op.Shl(X, C), [Op.CmpLe(number(0), C), Op.CmpLe(C, number(0))]),
}


@pytest.mark.parametrize("name", POWERS)
def test_what_is_known_of_powers_is_true_of_them(name: str) -> None:
    """With numbers for the variables and for the powers all facts hold, and the node has the value of the law."""
    node, hypotheses = POWERS[name]
    variables = {"x": X, "c": C, "d": D}
    algebra = Integers(Obligation("", variables, frozenset(), tuple(hypotheses), (), node, node))
    for v in (*variables.values(), *hypotheses, node):
        algebra.term(v)
    assert algebra.spurious
    met = 0
    for point in product((-5, 0, 3), (-2, 0, 1, 4), (-1, 0, 2, 3)):
        numbers = {v: number(n) for v, n in zip(variables.values(), point, strict=True)}
        if not all(evaluate(substitute(h, numbers)).item() for h in hypotheses):
            continue
        met += 1
        solver = z3.SimpleSolver(ctx=algebra.ctx)
        solver.add(*algebra.facts, *(algebra.value(v) == n.arg.value for v, n in numbers.items()))
        for e, p in algebra.two_to.known():
            assert solver.check() == z3.sat
            exponent = solver.model().eval(e, model_completion=True).as_long()
            solver.add(p == (1 << exponent if exponent >= 0 else 7))
        assert solver.check() == z3.sat, (name, point)
        try:
            expected = int(evaluate(substitute(node, numbers)).item())
        except IllFormed:
            continue
        assert solver.check(algebra.value(node) != expected) == z3.unsat, (name, point)
    assert met > 2


def test_what_may_be_negative_is_not_taken_apart() -> None:
    """2^(c + d) is 2^c · 2^d only where c and d are known to be natural."""
    for hypotheses, parts in ((NATURAL, 2), (NATURAL[:1], 1), ((), 1)):
        node = Op.Shl(X, Op.Add(C, D))
        obligation = Obligation("", {"x": X, "c": C, "d": D}, frozenset(), tuple(hypotheses), (), node, node)
        algebra = Integers(obligation)
        algebra.term(node)
        assert len(list(algebra.two_to.known())) == parts


def test_what_is_known_of_powers_in_indices_is_true_of_them() -> None:
    """The same where tensors are read: whatever is learned holds, and what is no power is any number."""
    for hypotheses in ([], NATURAL, NATURAL[:1], [*NATURAL, Op.CmpLe(number(0), Op.Sub(C, D))]):
        space = Space(Court(Budget()).arithmetic)
        reader = Denotation(space, {X: "x", C: "c", D: "d"})
        space.assume([reader.condition(h) for h in hypotheses])
        counts = (C, D, Op.Add(C, D), Op.Sub(C, D), Op.Add(C, number(2)), Op.Sub(D, number(1)), number(3))
        shifted = [reader.element(Op.Shl(X, count), (), ALWAYS) for count in counts]
        for x, c, d in product((-3, 2), (-2, 0, 1, 4), (-1, 0, 2)):
            values = {"x": x, "c": c, "d": d}
            if not all(holds(reader.condition(h), values, {}) for h in hypotheses):
                continue
            for name, exponent in reader.powers.items():
                e = exponent.value(values)
                values[name] = 1 << e if e >= 0 else 7
            for fact in space.known(ALWAYS):
                assert holds(fact, values, {}), (hypotheses, values, fact)
            for count, element in zip((c, d, c + d, c - d, c + 2, d - 1, 3), shifted, strict=True):
                assert isinstance(element, Number)
                assert count < 0 or element.poly.value(values) == x << count


# Rules ------------------------------------------------------------------------------------------------------------


@rule(dtypes=[index])
def up_and_down(x: Value, c: Const):
    return (x << c) >> c, x


@rule(dtypes=[index])
def counts_added(x: Value, c: Const, d: Const):
    return (x << c) << d, x << (c + d)


@rule(dtypes=[index])
def counts_subtracted(x: Value, c: Const, d: Const):
    return (x << c) >> d, x << (c - d)


@rule(dtypes=[index])
def nested(x: Value, c: Const):
    return x << (1 << c), x * (1 << (1 << c))


@rule(dtypes=[index])
def in_a_condition(x: Value, y: Value, c: Const):
    given(y == (x << c))
    return y >> c, x


@rule(dtypes=[index])
def on_the_right_of_a_comparison(x: Value, c: Const):
    return x < 0, (x >> c) < 0


@rule
def of_a_size(x: Tensor["n"], n: Size, k: Size):  # noqa: F821
    given(n == (1 << k))
    return x.reshape((1 << k,)), x


@rule
def beyond_a_size(x: Tensor["n"], n: Size, k: Size):  # noqa: F821
    given(n == (1 << k))
    return x.reshape((1 << k,)), x.reshape((2 << (k - 1),))


@pytest.mark.parametrize(
    ("stated", "verdict"),
    [
        (nested, "proved"),
        (in_a_condition, "proved"),
        (of_a_size, "proved"),
        (on_the_right_of_a_comparison, "refuted"),
        (beyond_a_size, "refuted"),
    ],
    ids=lambda v: v.id if isinstance(v, Rule) else v,
)
def test_verdicts(stated: Rule, verdict: str) -> None:
    assert prove(stated).verdict == verdict


def test_a_right_side_without_a_value_is_shown() -> None:
    (layer,) = prove(counts_subtracted).layers
    shown = layer.counterexample
    assert shown is not None
    assert dict(shown.bindings) == {"x": "0", "c": "0", "d": "1"}
    assert (shown.left, shown.right.split(":")[0]) == ("0", "ill-formed [uop-shl-c3]")
    namespace: dict[str, object] = {}
    exec(shown.test, namespace)  # it is what a user pastes
    namespace["test_counts_subtracted_is_wrong"]()  # type: ignore[operator]


def test_advice_says_when_the_counts_may_be_subtracted() -> None:
    (advice,) = advise([counts_subtracted]).rules
    assert "d <= c" in str(advice)


@pytest.mark.parametrize("stated", [up_and_down, counts_added, counts_subtracted], ids=lambda r: r.id)
def test_small_operands_agree(stated: Rule) -> None:
    """A second opinion groups points by what stands for constants; a shift by a number is no fault of the prover."""
    name = next(iter(ASKERS))
    for each in (stated, by_a_number):
        found = prove_layer(each, index, budget=Budget(opinions=(name,)), derive=False)
        assert [o.answer for o in found.opinions] == ["agrees"], found.opinions
        assert found.verdict == ("refuted" if each is counts_subtracted else "proved")


@rule(dtypes=[index])
def by_a_number(x: Value):
    return x << 3, x * 8


def test_the_engine_applies_them_to_constants() -> None:
    up = Op.Shl(X, number(3))
    assert rewrite(Op.Shr(up, number(3)), [up_and_down]).uop is X
    assert rewrite(Op.Shr(up, number(2)), [up_and_down]).uop is Op.Shr(up, number(2))
    assert rewrite(Op.Shl(up, number(2)), [counts_added]).uop is Op.Shl(X, number(5))
    assert Op.CmpLe(number(0), C).dtype is bool_
