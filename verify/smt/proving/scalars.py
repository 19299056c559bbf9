"""
Deciding scalar obligations
===========================

First the methods that need no solver: both sides are one term; all values, where there are few; a few hundred directed
points. Then the algebras, in the order of `verify.smt.proving.strategies`, each with a share of the budget. What an
algebra refutes is evaluated again. A proof counts only if the condition is met by some input.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from soundline.spec.dtypes import DType, bool_, index
from soundline.spec.errors import UsageError
from soundline.spec.ops.bounds import min_max
from soundline.spec.ops.node import Op, UOp
from soundline.spec.rules.instances import Goal
from soundline.spec.rules.licences import LICENCES
from soundline.spec.uop import const
from soundline.verify.smt.counterexamples import exhaustive, minimal, scalars
from soundline.verify.smt.counterexamples.demands import as_ill_formed, demanded, with_demands_met
from soundline.verify.smt.goals import sampling
from soundline.verify.smt.goals.algebra import Algebra, Outside
from soundline.verify.smt.goals.obligations import SCALAR_OPS, Obligation, obligation_of, scalar_nodes
from soundline.verify.smt.goals.points import FAILS, OUT, Point, Points
from soundline.verify.smt.goals.solving import Answer, Budget, check
from soundline.verify.smt.integers.residues import Cases, cases
from soundline.verify.smt.proving.strategies import Way, can_be_met, ways, with_lemmas
from soundline.verify.smt.values.licensed_values import LicensedPoints
from soundline.verify.smt.values.reals import RealPoints, Reals
from soundline.verify.smt.values.rounding import Rounded
from soundline.verify.smt.values.special_values import overflowing_points, special_points
from soundline.verify.smt.values.theories import derived
from soundline.verify.verdicts.layers import ROUNDING
from soundline.verify.verdicts.metering import metered
from soundline.verify.verdicts.verdict import INTERNAL, Counterexample, LayerResult, Verdict

SAMPLES = 20_000
"""Points tried at random before an obligation is called unknown."""


AFTER_UNKNOWN = 0.1
"""Once one instance is unknown the layer is not proved; the others get this part of the budget, to be refuted in."""


@dataclass(slots=True)
class Finding:
    """What became of one obligation."""

    verdict: Verdict
    how: str
    """What was done, for the line that says what is covered."""
    counterexample: Counterexample | None = None
    detail: str = ""
    point: Point | None = None
    """The values at which the sides differ, where the verdict is refuted."""


@dataclass(slots=True)
class _Attempt:
    """The state of deciding one obligation."""

    obligation: Obligation
    budget: Budget
    trial: Points
    applies: bool = False
    """Whether a point that meets the premises is known."""
    notes: list[str] = field(default_factory=list)


def prove_goals(goals: Iterable[Goal], layer: str, budget: Budget) -> LayerResult:
    """The verdict of one layer: proved if every instance is."""
    findings: list[tuple[Obligation, Finding]] = []
    for goal in metered(goals):
        obligation = obligation_of(goal)
        finding = decide(obligation, budget)
        if finding.verdict == "refuted":
            return LayerResult(layer, "refuted", finding.how, finding.counterexample, finding.detail)
        if finding.verdict == "unknown" and all(f.verdict != "unknown" for _, f in findings):
            budget = budget.share(AFTER_UNKNOWN)
        findings.append((obligation, finding))
    return _joined(layer, findings)


def applies(goals: Iterable[Goal], budget: Budget) -> bool:
    """Whether some instance is known to have an input that meets its premises."""
    return any(can_be_met(obligation_of(goal), budget) for goal in goals)


def _joined(layer: str, findings: list[tuple[Obligation, Finding]]) -> LayerResult:
    """The result of a layer whose instances are all decided and none refuted."""
    if not findings:
        return LayerResult(layer, "vacuous", "", None, "the rule has no instance here")
    unknown = [(o, f) for o, f in findings if f.verdict == "unknown"]
    if unknown:
        obligation, finding = unknown[0]
        detail = f"{finding.detail}, at {obligation.label}"
        if len(unknown) > 1:
            detail += f", and {len(unknown) - 1} more of {len(findings)} instances"
        return LayerResult(layer, "unknown", finding.how, None, detail)
    proved = [f for _, f in findings if f.verdict == "proved"]
    if not proved:
        return LayerResult(layer, "vacuous", "", None, findings[0][1].detail)
    count = f"{len(findings)} instances: " if len(findings) > 1 else ""
    return LayerResult(layer, "proved", count + "; ".join(dict.fromkeys(f.how for f in proved)))


def decide(obligation: Obligation, budget: Budget) -> Finding:
    """Whether one obligation is met."""
    if obligation.is_trivial:
        return Finding("vacuous", "", detail="both sides are the same term")
    if obligation.licensed:
        return _licensed(obligation, budget)
    for rule, demand in demanded(obligation):
        needed = decide(demand, budget)
        if needed.verdict in ("refuted", "unknown"):
            return _without_value(obligation, needed, rule)
    obligation = with_demands_met(obligation)
    state = _Attempt(obligation, budget, Points(obligation))
    return _by_exhaustion(state, upfront=True) or _by_points(state) or _by_solver(state) or _give_up(state)


def _without_value(obligation: Obligation, needed: Finding, rule: str) -> Finding:
    """What it says of an obligation that its right side is not shown to have a value."""
    if needed.counterexample is None or needed.point is None:
        return replace(needed, detail=f"not shown that the right side meets {rule}: {needed.detail}")
    shown = as_ill_formed(obligation, needed.point, needed.counterexample, rule)
    return replace(needed, counterexample=shown)


# Without the solver -----------------------------------------------------------------------------------------------


def _by_exhaustion(state: _Attempt, *, upfront: bool) -> Finding | None:
    """All values, where they are few; before the solver only where that is quicker than asking it."""
    tabular = exhaustive.is_tabular(state.obligation)
    most = (
        (exhaustive.FEW if tabular else 256) if upfront else (exhaustive.MANY if tabular else exhaustive.FEW)
    )
    found = exhaustive.exhaust(state.obligation, most)
    if found is None:
        return None
    if found.failing is not None:
        return _refuted(state, found.failing, smallest=True)
    if not found.applies:
        return Finding("vacuous", "", detail="the condition excludes every input")
    return Finding("proved", f"all {found.points:,} inputs")


def _by_points(state: _Attempt) -> Finding | None:
    """A directed search for a counterexample."""
    if not state.trial.evaluable:
        return None
    for point in sampling.points(state.obligation, state.budget.seed):
        outcome = state.trial.at(point)
        if outcome == FAILS:
            return _refuted(state, point, smallest=False)
        state.applies |= outcome != OUT
    return None


def _by_special_points(state: _Attempt) -> Finding | None:
    """Every combination of special floats."""
    for point in special_points(state.obligation) if state.trial.evaluable else ():
        if state.trial.at(point) == FAILS:
            return _refuted(state, point, smallest=False)
    return None


# With the solver --------------------------------------------------------------------------------------------------


def _by_solver(state: _Attempt) -> Finding | None:
    for way in ways(state.obligation):
        finding = _by_residues(state, way) if way.algebra is Cases else _ask(state, way)
        if finding is not None:
            return finding
    return None


def _ask(state: _Attempt, way: Way) -> Finding | None:
    kind, budget = way.algebra, state.budget.share(way.share)
    if kind is Rounded:
        finding = _by_special_points(state)
        if finding is not None:
            return finding
    try:
        algebra = kind(state.obligation)
        denial = with_lemmas(algebra, algebra.denial(), way)
    except Outside as outside:
        state.notes.append(f"{kind.NAME} cannot say {outside}")
        return None
    if denial is None:
        return None
    answer = check(denial, algebra.ctx, budget, way.search)
    if answer.status == "unsat":
        return _proved(state, kind.NAME)
    if answer.status == "unknown":
        state.notes.append(f"{kind.NAME}: {answer.reason}")
        return None
    return _candidate(state, algebra, answer)


def _by_residues(state: _Attempt, way: Way) -> Finding | None:
    """A proof case by case, by the remainders of the variables."""
    every = cases(state.obligation)
    if every is None:
        return None
    budget = state.budget.share(way.share)
    try:
        for algebra in every:
            denial = algebra.denial()
            formulas = with_lemmas(algebra, denial, way) or denial
            if check(formulas, algebra.ctx, budget, way.search).status != "unsat":
                return None
    except Outside:
        return None
    return _proved(state, Cases.NAME)


def _proved(state: _Attempt, means: str) -> Finding:
    """A proof, if the premises can be met at all."""
    met = state.applies or can_be_met(state.obligation, state.budget)
    if met is None:
        return Finding(
            "unknown", "", detail="right where the condition holds, but whether it ever does is not known"
        )
    if not met:
        return Finding("vacuous", "", detail="the condition excludes every input")
    return Finding("proved", f"all values{_but(state.obligation)}, by {means}")


def _but(obligation: Obligation) -> str:
    """What the licences exclude of all values, and what they let differ."""
    if not obligation.left.dtype.is_float:
        return ""
    promised = " where no float of the left side is NaN" if "no_nan" in obligation.licences else ""
    return promised + (" up to the sign of zero" if "no_signed_zero" in obligation.licences else "")


def _candidate(state: _Attempt, algebra: Algebra, answer: Answer) -> Finding | None:
    """A model of the denial: a refutation where evaluation confirms it."""
    point: Point = tuple(
        algebra.element(answer.model, v) if v in algebra.known else _any_element(v.dtype)
        for v in state.obligation.variables.values()
    )
    if state.trial.evaluable and state.trial.at(point) == FAILS:
        return _refuted(state, point, smallest=False)
    if algebra.spurious or not state.trial.evaluable:
        state.notes.append(f"{algebra.NAME}: a model that may be none of the real functions")
        return None
    detail = f"{INTERNAL}replay disagrees with the solver's model, {_told(state.obligation, point)}"
    return Finding("unknown", "", detail=detail)


def _any_element(dtype: DType) -> Any:
    return sampling.directed(dtype, 1)[0]


# Under licences ---------------------------------------------------------------------------------------------------


def _licensed(obligation: Obligation, budget: Budget) -> Finding:
    """Whether the sides are equal in the theory of the licences; refuted where no choice of what they admit makes the
    sides equal at some point.
    """
    state = _Attempt(obligation, budget, LicensedPoints(obligation))
    exact = exhaustive.exhaust(
        replace(obligation, licences=obligation.licences - set(ROUNDING)), exhaustive.FEW
    )
    if exact is not None and exact.failing is None:
        means = f"all {exact.points:,} inputs, bit for bit"
        return Finding("proved", means) if exact.applies else _by_no_input()
    finding = _by_points(state)
    if finding is None and derived(obligation, lambda goal: _shown(goal, budget.share(GOAL_SHARE))):
        finding = _proved(state, f"the theory of {_named(obligation)}")
    finding = finding or _by_special_points(state) or _by_overflow(state)
    if finding is not None:
        return finding
    if not state.applies and can_be_met(obligation, budget) is False:
        return _by_no_input()
    detail = f"not derived in the theory of {_named(obligation)}"
    if _is_real_equality(obligation, budget.share(REAL_SHARE)):
        detail += ", though equal over the real numbers"
    return Finding("unknown", "directed points", detail=detail)


def _by_overflow(state: _Attempt) -> Finding | None:
    for point in overflowing_points(state.obligation) if state.trial.evaluable else ():
        if state.trial.at(point) == FAILS:
            return _refuted(state, point, smallest=False)
    return None


GOAL_SHARE = 0.2
"""The part of the budget for what is left over of an obligation under licences."""
REAL_SHARE = 0.05
"""The part for saying whether such a rule holds over the real numbers."""


def _by_no_input() -> Finding:
    return Finding("vacuous", "", detail="the condition excludes every input")


def _named(obligation: Obligation) -> str:
    return ", ".join(name for name in LICENCES if name in obligation.licences and name in ROUNDING)


def _shown(goal: Obligation, budget: Budget) -> bool:
    return goal.is_trivial or decide(goal, budget).verdict == "proved"


def _is_real_equality(obligation: Obligation, budget: Budget) -> bool:
    """Whether the sides are equal by exact arithmetic, which no licence grants."""
    exact = _Attempt(obligation, budget, RealPoints(obligation))
    try:
        algebra = Reals(obligation)
        denial = algebra.denial()
    except Outside:
        return False
    return exact.trial.evaluable and check(denial, algebra.ctx, budget, "tactics").status == "unsat"


# Endings ----------------------------------------------------------------------------------------------------------


def _refuted(state: _Attempt, point: Point, *, smallest: bool) -> Finding:
    """A refutation, made small and replayed by the evaluator first."""
    if not smallest:
        point = minimal.smallest(state.obligation, state.trial, point, state.budget)
    shown = scalars.replay(state.obligation, point)
    if shown is None:
        detail = f"{INTERNAL}replay disagrees with the scalar functions, {_told(state.obligation, point)}"
        return Finding("unknown", "", detail=detail)
    return Finding("refuted", "a counterexample, evaluated", shown, point=point)


def _told(obligation: Obligation, point: Point) -> str:
    """A point, as its variables have it."""
    return ", ".join(f"{name} = {value!r}" for name, value in zip(obligation.variables, point, strict=True))


def _give_up(state: _Attempt) -> Finding:
    """All values if they are not too many, else a longer search, and what resisted."""
    finding = _by_exhaustion(state, upfront=False)
    if finding is not None:
        return finding
    detail = "; ".join(dict.fromkeys(state.notes)) or "no algebra has a term for it"
    if not state.trial.evaluable:
        return Finding("unknown", "nothing: an op has no value yet", detail=detail)
    count = sampling.FEW_POINTS if sampling.is_slow(state.obligation) else SAMPLES
    for point in sampling.random_points(state.obligation, count, state.budget.seed):
        if state.trial.at(point) == FAILS:
            return _refuted(state, point, smallest=False)
    return Finding("unknown", f"{count:,} samples", detail=detail)


# Two programs -----------------------------------------------------------------------------------------------------


def equivalent(left: UOp, right: UOp, hypotheses: tuple[UOp, ...], budget: Budget) -> LayerResult:
    """Whether two scalar programs agree wherever the hypotheses hold, for all values of their leaves."""
    obligation = pair(left, right, hypotheses)
    finding = decide(obligation, budget)
    return LayerResult(obligation.label, finding.verdict, finding.how, finding.counterexample, finding.detail)


def pair(left: UOp, right: UOp, hypotheses: tuple[UOp, ...]) -> Obligation:
    """The obligation that two scalar programs are equal; their leaves lie within their bounds."""
    if left.dtype is not right.dtype or left.shape != () or right.shape != ():
        raise UsageError(
            f"two scalars of one dtype are compared, not {left.dtype}{left.shape} and {right.dtype}{right.shape}"
        )
    leaves = [
        n for n in scalar_nodes(*hypotheses, left, right) if n.op not in SCALAR_OPS and n.op is not Op.Const
    ]
    stem = {
        n: f"p{n.arg.slot}" if n.op is Op.Param else f"{n.op.name.lower()}{k}" for k, n in enumerate(leaves)
    }
    variables = {stem[n]: n for n in leaves}
    return Obligation(
        name="equivalence",
        label=f"equivalence at {left.dtype}",
        variables=variables,
        leading=frozenset(),
        hypotheses=(*(c for n in leaves for c in within_bounds(n)), *hypotheses),
        fits=(),
        left=left,
        right=right,
    )


def within_bounds(leaf: UOp) -> list[UOp]:
    """What the bounds of a leaf say of it, as conditions."""
    known = min_max(leaf)
    if known is None:
        return [const(False, bool_)]
    conditions = []
    if leaf.dtype is index or leaf.dtype.is_int:
        if known.lo != leaf.dtype.min:
            conditions.append(UOp(Op.CmpLe, (const(known.lo, leaf.dtype), leaf)))
        if known.hi != leaf.dtype.max:
            conditions.append(UOp(Op.CmpLe, (leaf, const(known.hi, leaf.dtype))))
    return conditions
