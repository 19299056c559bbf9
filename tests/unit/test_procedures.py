"""Procedural rules: how they are declared, what the engine does with them, and those that are shipped."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from soundline.impl import evidence
from soundline.impl.analysis.linear import linear, order_key
from soundline.impl.compilation.derivation import rules_of
from soundline.impl.evidence import Ruling
from soundline.impl.lower.graphs.simplify import RULES, Applied
from soundline.impl.rewriting.applications import WrongApplication
from soundline.impl.rewriting.engine import FOLDING, Step, rewrite
from soundline.impl.rules import SIMPLIFY
from soundline.impl.rules.procedural import (
    PROCEDURES,
    collect_terms,
    fold_common_factor,
    fold_comparison,
    fold_gates,
    isolate_folded_range,
)
from soundline.spec.dtypes import DType, bool_, float32, index, int8, int32, uint8
from soundline.spec.errors import RuleError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import AxisType, Op, UOp
from soundline.spec.rules.procedures import Knowledge, Procedure, procedure
from soundline.spec.uop import broadcast_to, buffer, const, loop, param
from soundline.verify.engine.applications import ruled

X, Y, Z = loop(4, 0), loop(5, 1), loop(3, 2)
TRUE, FALSE = const(True, bool_), const(False, bool_)


def c(number: int, dtype: DType = index) -> UOp:
    return const(number, dtype)


def times(x: UOp, number: int) -> UOp:
    return Op.Mul(x, c(number))  # type: ignore[no-any-return]


def plus(*terms: UOp) -> UOp:
    total = terms[0]
    for term in terms[1:]:
        total = Op.Add(total, term)
    return total


class FixedCourt:
    """A court that says the same of everything, and remembers what it was asked."""

    def __init__(self, verdict: str) -> None:
        self.verdict = verdict
        self.asked: list[tuple[UOp, UOp]] = []

    def ruling(self, rule_id: str) -> Ruling:
        return Ruling(self.verdict)

    def application(self, before: UOp, after: UOp) -> Ruling:
        self.asked.append((before, after))
        return Ruling(self.verdict)


class RealCourt(FixedCourt):
    def application(self, before: UOp, after: UOp) -> Ruling:
        self.asked.append((before, after))
        return ruled(before, after)


@pytest.fixture
def court() -> Iterator[RealCourt]:
    found = RealCourt("")
    evidence.plug_in(found)
    yield found
    import soundline

    evidence.plug_in(soundline._Court())


def plugged(verdict: str) -> FixedCourt:
    found = FixedCourt(verdict)
    evidence.plug_in(found)
    return found


def applied(node: UOp, *steps: Procedure) -> UOp:
    return rewrite(node, steps).uop


# Declaring ----------------------------------------------------------------------------------------------------------


@procedure(Op.Add)
def swap(node: UOp, known: Knowledge) -> UOp | None:
    """The operands of a sum, the other way round, once."""
    first, second = node.src
    return Op.Add(second, first) if order_key(second) < order_key(first) else None


def test_a_procedure_says_what_it_is_and_where() -> None:
    assert isinstance(swap, Procedure)
    assert (swap.id, swap.ops, swap.licences) == ("swap", frozenset((Op.Add,)), ())
    assert swap.doc.startswith("The operands")
    assert swap.file == __file__
    assert swap.line > 0
    assert repr(swap) == "Procedure(swap: Add)"


def test_what_is_no_procedure_is_refused() -> None:
    with pytest.raises(RuleError, match="names the ops") as error:

        @procedure()
        def nothing(node: UOp, known: Knowledge) -> UOp | None:
            return None

    assert error.value.rule == "nothing"
    with pytest.raises(RuleError, match="takes a node and what is known"):
        procedure(Op.Add)(lambda node: None)  # type: ignore[arg-type, misc]
    with pytest.raises(RuleError, match="no licence 'magic'"):
        procedure(Op.Add, licences="magic")(lambda node, known: None)


def test_the_vocabulary_has_it() -> None:
    from soundline import verify

    assert verify.procedure is procedure


# In the engine ------------------------------------------------------------------------------------------------------


def test_it_is_applied_beside_rules_in_its_place(court: RealCourt) -> None:
    program = Op.Add(Op.Mul(Y, c(1)), X)
    done = rewrite(program, [*SIMPLIFY, swap])
    assert done.uop is Op.Add(X, Y)
    assert dict(done.applied) == {"mul_one": 1, "swap": 1}
    (one,) = done.applications
    assert (one.procedure, one.before, one.after) == ("swap", Op.Add(Y, X), Op.Add(X, Y))
    assert one.ruling.verdict == "proved"
    assert court.asked == [(Op.Add(Y, X), Op.Add(X, Y))]


def test_a_watcher_sees_it_and_the_reducing_of_constants(court: RealCourt) -> None:
    seen: list[Step] = []
    rewrite(plus(Op.Add(Y, X), Op.Add(c(1), c(2))), [swap], watch=lambda step, *_: seen.append(step))
    assert seen[:2] == [swap, FOLDING]


def test_a_refuted_application_stops_the_engine_and_names_the_procedure(court: RealCourt) -> None:
    @procedure(Op.Add)
    def forgets(node: UOp, known: Knowledge) -> UOp | None:
        return node.src[0]

    with pytest.raises(WrongApplication, match="forgets makes") as error:
        rewrite(Op.Add(X, Y), [forgets])
    assert error.value.rule == "forgets"
    assert error.value.before is Op.Add(X, Y)
    assert error.value.after is X


def test_an_undecided_application_is_not_kept_and_without_a_court_it_is_not_checked(court: RealCourt) -> None:
    plugged("unknown")
    done = rewrite(Op.Add(Y, X), [swap])
    assert done.uop is Op.Add(Y, X)
    assert [a.kept for a in done.applications] == [False]
    assert done.applied == ()
    evidence.plug_in(None)
    done = rewrite(Op.Add(Y, X), [swap])
    assert done.uop is Op.Add(X, Y)
    assert done.applications[0].ruling.verdict == evidence.NOT_CHECKED


def test_the_court_can_be_left_out(court: RealCourt) -> None:
    assert rewrite(Op.Add(Y, X), [swap], validate=False).uop is Op.Add(X, Y)
    assert court.asked == []


def test_another_dtype_is_the_procedure_s_mistake(court: RealCourt) -> None:
    @procedure(Op.Add)
    def widens(node: UOp, known: Knowledge) -> UOp | None:
        return Op.Cast(node, arg=int32)

    with pytest.raises(WrongApplication, match="int32"):
        rewrite(Op.Add(param(0, int8), param(1, int8)), [widens])


def test_ill_formed_results_are_no_results(court: RealCourt) -> None:
    @procedure(Op.Add)
    def mixes(node: UOp, known: Knowledge) -> UOp | None:
        return Op.Add(node.src[0], TRUE)

    assert rewrite(Op.Add(X, Y), [mixes]).applied == ()


def test_licences_are_granted_or_not(court: RealCourt) -> None:
    @procedure(Op.Add, licences="reassociate")
    def licensed(node: UOp, known: Knowledge) -> UOp | None:
        return swap(node, known)

    assert rewrite(Op.Add(Y, X), [licensed]).applied == ()
    assert rewrite(Op.Add(Y, X), [licensed], licences=["reassociate"]).uop is Op.Add(X, Y)


def test_nothing_is_used_that_was_not(court: RealCourt) -> None:
    @procedure(Op.Where)
    def as_and(node: UOp, known: Knowledge) -> UOp | None:
        gate, chosen, _ = node.src
        return Op.And(gate, chosen)

    gate, unsure = param(0, bool_), param(1, bool_)
    assert rewrite(Op.Where(gate, unsure, FALSE), [as_and]).applied == ()
    sure = Op.CmpLt(X, c(2))
    assert rewrite(Op.Where(gate, sure, FALSE), [as_and]).uop is Op.And(gate, sure)


def test_no_effect_is_dropped(court: RealCourt) -> None:
    place = buffer(0, 1, int32)
    stored = Op.Load(Op.After(place, Op.Store(place, broadcast_to(c(7, int32), (1,)))))

    @procedure(Op.Sub)
    def nothing(node: UOp, known: Knowledge) -> UOp | None:
        return broadcast_to(c(0, int32), (1,))

    assert rewrite(Op.Sub(stored, stored), [nothing]).applied == ()


# Those that are shipped ---------------------------------------------------------------------------------------------


def test_shipped_procedures_have_ids_of_their_own_and_say_what_they_are_good_for() -> None:
    names = [p.id for p in PROCEDURES]
    assert len(set(names)) == len(names)
    assert not set(names) & {r.id for r in SIMPLIFY}
    assert all(p.doc for p in PROCEDURES)


P, Q = param(0, int8), param(1, int8)

COLLECTED = [
    (plus(times(X, 2), Y, times(X, 3)), plus(times(X, 5), Y)),
    (plus(Y, X), plus(X, Y)),
    (Op.Sub(plus(X, Y), plus(Y, X)), c(0)),
    (Op.Sub(plus(X, c(5)), plus(X, Y)), plus(Op.Neg(Y), c(5))),
    (plus(c(3), X, c(4)), plus(X, c(7))),
    (Op.Mul(plus(Op.Neg(X), X, Y), c(3)), times(Y, 3)),
    (plus(P, Q, P), plus(Op.Mul(P, c(2, int8)), Q)),
    (plus(Op.Mul(P, c(100, int8)), Q, Op.Mul(P, c(100, int8))), plus(Op.Mul(P, c(-56, int8)), Q)),
]


@pytest.mark.parametrize(("before", "after"), COLLECTED, ids=str)
def test_terms_are_collected(court: RealCourt, before: UOp, after: UOp) -> None:
    assert applied(before, collect_terms) is after
    assert {a.ruling.verdict for a in rewrite(before, [collect_terms]).applications} == {"proved"}


def test_terms_that_are_collected_stay_so(court: RealCourt) -> None:
    for before, after in COLLECTED:
        done = rewrite(before, [*SIMPLIFY, *PROCEDURES])
        assert rewrite(done.uop, [*SIMPLIFY, *PROCEDURES]).uop is done.uop
        assert applied(after, collect_terms) is after


def test_float_sums_are_not_touched(court: RealCourt) -> None:
    f, g = param(0, float32), param(1, float32)
    program = Op.Sub(Op.Add(Op.Add(f, g), f), g)
    assert applied(program, collect_terms) is program


def test_a_product_of_sums_is_not_spread_out_where_that_costs_more(court: RealCourt) -> None:
    program = Op.Mul(plus(X, Y, Z), c(3))
    assert applied(program, collect_terms) is program


def test_sums_of_any_shape(court: RealCourt) -> None:
    t, u = param(0, uint8, (2, 3)), param(1, uint8, (2, 3))
    two = broadcast_to(c(2, uint8), (2, 3))
    found = rewrite(Op.Sub(Op.Add(Op.Mul(t, two), u), t), [collect_terms])
    assert found.uop is Op.Add(t, u)
    assert found.applications[0].ruling.verdict == "proved"


def test_order_does_not_depend_on_how_a_sum_was_made() -> None:
    a, b = Op.Mod(X, c(3)), Op.Idiv(Y, c(2))
    assert linear(plus(a, b, X)).node() is linear(plus(X, b, a)).node()


FACTORS = [
    (Op.Idiv(plus(times(X, 12), times(Y, 6), c(5)), c(6)), plus(times(X, 2), Y)),
    (Op.Mod(plus(times(X, 12), times(Y, 6), c(5)), c(6)), c(5)),
    (Op.Idiv(plus(times(X, 4), times(Y, 2), c(1)), c(6)), Op.Idiv(plus(times(X, 2), Y), c(3))),
    (
        Op.Mod(plus(times(X, 4), times(Y, 2), c(1)), c(6)),
        plus(times(Op.Mod(plus(times(X, 2), Y), c(3)), 2), c(1)),
    ),
    (Op.Idiv(plus(times(Y, 6), Z), c(12)), Op.Idiv(Y, c(2))),
    (Op.Mod(plus(times(Y, 6), Z), c(12)), plus(Z, times(Op.Mod(Y, c(2)), 6))),
    (Op.Idiv(plus(times(X, -6), c(7)), c(3)), plus(times(X, -2), c(2))),
    (Op.Mod(plus(times(X, 20), Y), c(19)), Op.Mod(plus(X, Y), c(19))),
    (Op.Mod(plus(times(X, -20), Y), c(19)), Op.Mod(Op.Sub(Y, X), c(19))),
    (Op.Idiv(plus(times(X, 20), Y), c(19)), plus(X, Op.Idiv(plus(X, Y), c(19)))),
    (Op.Idiv(plus(times(X, -20), Y), c(19)), Op.Sub(Op.Idiv(Op.Sub(Y, X), c(19)), X)),
    (Op.Mod(plus(times(X, 9), Op.Mod(X, c(3))), c(27)), times(Op.Mod(X, c(3)), 10)),
]


@pytest.mark.parametrize(("before", "after"), FACTORS, ids=str)
def test_common_factors_are_reduced(court: RealCourt, before: UOp, after: UOp) -> None:
    assert applied(before, fold_common_factor) is after
    assert {a.ruling.verdict for a in rewrite(before, [fold_common_factor]).applications} == {"proved"}


def test_what_is_not_known_to_stay_within_a_step_is_kept(court: RealCourt) -> None:
    wide = loop(7, 3)
    for program in (
        Op.Idiv(plus(times(Y, 6), wide), c(12)),
        Op.Idiv(plus(times(X, 5), Y), c(7)),
        Op.Idiv(X, c(-2)),
        Op.Idiv(P, c(2, int8)),
    ):
        assert applied(program, fold_common_factor) is program


K, L = loop(6, 3, AxisType.REDUCE), loop(6, 4, AxisType.REDUCE)
BOUNDS = [
    (Op.CmpLe(c(0), plus(X, K, c(-3))), Op.CmpLe(plus(Op.Neg(X), c(3)), K)),
    (Op.CmpLt(c(0), plus(X, K)), Op.CmpLe(plus(Op.Neg(X), c(1)), K)),
    (Op.CmpLt(K, plus(X, Y)), Op.CmpLt(K, plus(X, Y))),
    (Op.CmpLe(K, X), Op.CmpLt(K, plus(X, c(1)))),
    (Op.CmpGe(X, K), Op.CmpLt(K, plus(X, c(1)))),
    (Op.CmpGt(X, K), Op.CmpLt(K, X)),
    (Op.CmpGe(plus(K, X), c(4)), Op.CmpLe(plus(Op.Neg(X), c(4)), K)),
    (Op.CmpGt(plus(K, X), c(4)), Op.CmpLe(plus(Op.Neg(X), c(5)), K)),
    (Op.CmpLt(Op.Sub(X, K), c(2)), Op.CmpLe(plus(X, c(-1)), K)),
    (Op.CmpLe(K, plus(L, X)), Op.CmpLe(Op.Sub(K, X), L)),
    (Op.CmpLe(times(K, 2), X), Op.CmpLe(times(K, 2), X)),
    (Op.CmpLe(Op.Mod(K, c(3)), X), Op.CmpLe(Op.Mod(K, c(3)), X)),
    (Op.CmpLe(X, Y), Op.CmpLe(X, Y)),
]


@pytest.mark.parametrize(("before", "after"), BOUNDS, ids=str)
def test_reduced_range_stands_alone(court: RealCourt, before: UOp, after: UOp) -> None:
    assert applied(before, isolate_folded_range) is after
    rulings = {a.ruling.verdict for a in rewrite(before, [isolate_folded_range]).applications}
    assert rulings <= {"proved"}


GATES = [
    (Op.CmpLt(plus(X, Y), plus(Y, c(7))), TRUE, fold_comparison),
    (Op.CmpLe(plus(X, Y), plus(Y, c(-1))), FALSE, fold_comparison),
    (Op.CmpEq(plus(X, Y), plus(Y, X)), TRUE, fold_comparison),
    (Op.And(Op.CmpLt(X, c(3)), Op.CmpLt(X, c(2))), Op.CmpLt(X, c(2)), fold_gates),
    (Op.And(Op.CmpLt(X, c(1)), Op.CmpLt(c(1), X)), FALSE, fold_gates),
    (
        Op.And(Op.And(Op.CmpLe(c(1), X), Op.CmpLt(Y, c(3))), Op.CmpGt(X, c(-1))),
        Op.And(Op.CmpLe(c(1), X), Op.CmpLt(Y, c(3))),
        fold_gates,
    ),
]


@pytest.mark.parametrize(("before", "after", "step"), GATES, ids=str)
def test_gates_are_reduced(court: RealCourt, before: UOp, after: UOp, step: Procedure) -> None:
    assert applied(before, step) is after
    assert {a.ruling.verdict for a in rewrite(before, [step]).applications} == {"proved"}


def test_gates_that_say_different_things_are_kept(court: RealCourt) -> None:
    for program in (
        Op.And(Op.CmpLt(X, c(3)), Op.CmpLt(Y, c(2))),
        Op.And(Op.CmpLt(X, c(3)), Op.CmpLt(c(1), X)),
        Op.CmpLt(plus(X, Y), plus(Y, c(3))),
    ):
        assert applied(program, fold_gates, fold_comparison) is program


@pytest.mark.parametrize("before", [b for b, *_ in (*COLLECTED[:6], *FACTORS, *GATES)], ids=str)
def test_values_are_kept(court: RealCourt, before: UOp) -> None:
    after = rewrite(before, [*SIMPLIFY, *PROCEDURES]).uop
    for x, y, z in product(range(4), range(5), range(3)):
        ranges: dict[int | str, int] = {0: x, 1: y, 2: z}
        assert evaluate(before, ranges=ranges) == evaluate(after, ranges=ranges)


# On the road ----------------------------------------------------------------------------------------------------------


def test_a_certificate_says_that_a_procedure_was_checked_at_each_application(court: RealCourt) -> None:
    done = rewrite(plus(times(X, 2), Y, times(X, 3)), PROCEDURES)
    applied = Applied()
    applied.note(done)
    (row,) = rules_of(applied)
    assert row.procedural
    assert str(row) == "collect_terms × 1: proved, procedural, checked at each application"


def test_without_a_court_a_certificate_says_not_checked() -> None:
    evidence.plug_in(None)
    try:
        done = rewrite(plus(times(X, 2), Y, times(X, 3)), PROCEDURES)
    finally:
        import soundline

        evidence.plug_in(soundline._Court())
    applied = Applied()
    applied.note(done)
    assert rules_of(applied)[0].ruling.verdict == evidence.NOT_CHECKED


def test_lowering_applies_procedures() -> None:
    assert set(PROCEDURES) < set(RULES)
