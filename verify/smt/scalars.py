"""
Deciding scalar obligations
===========================

First what needs no solver: both sides are one term; all values, where there are few; a few hundred directed points.
Then the algebras, cheapest first, each with a share of the budget. An algebra that is exact may refute, and what it
refutes is evaluated again; one that forgets something may only prove.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from soundline.spec.bounds import min_max
from soundline.spec.dtypes import DType, bool_, index
from soundline.spec.errors import UsageError
from soundline.spec.instances import Goal
from soundline.spec.node import UOp
from soundline.spec.op_schema import Op
from soundline.spec.uop import const
from soundline.verify.smt import counterexamples, exhaustive, sampling
from soundline.verify.smt.algebra import Algebra, Outside
from soundline.verify.smt.integers import Integers
from soundline.verify.smt.machine import Machine, Structure
from soundline.verify.smt.obligations import SCALAR_OPS, Obligation, obligation_of, scalar_nodes
from soundline.verify.smt.points import FAILS, OUT, Point, Points
from soundline.verify.smt.solving import Answer, Budget, check
from soundline.verify.verdicts import Counterexample, LayerResult, Verdict

SAMPLES = 20_000
"""Points tried at random before an obligation is called unknown."""


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
    for goal in goals:
        obligation = obligation_of(goal)
        finding = decide(obligation, budget)
        if finding.verdict == "refuted":
            return LayerResult(layer, "refuted", finding.how, finding.counterexample, finding.detail)
        findings.append((obligation, finding))
    return _joined(layer, findings)


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
    state = _Attempt(obligation, budget, Points(obligation))
    return _by_exhaustion(state, upfront=True) or _by_points(state) or _by_solver(state) or _give_up(state)


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


# With the solver --------------------------------------------------------------------------------------------------


def algebras(obligation: Obligation) -> Iterator[tuple[type[Algebra], float]]:
    """The algebras to ask, in this order, each with its share of the work."""
    dtypes = {n.dtype for n in obligation.nodes()}
    if any(d.is_float for d in dtypes):
        yield Structure, 0.05
        yield Machine, 1.0
        return
    whole = [d for d in dtypes if d.is_int or d is index]
    if index in dtypes or not whole:
        yield Integers, 1.0
        return
    yield Integers, 0.05
    yield Machine, 0.05
    yield Integers, 0.5
    yield Machine, 0.5


def _by_solver(state: _Attempt) -> Finding | None:
    for algebra, share in algebras(state.obligation):
        finding = _ask(state, algebra, state.budget.share(share))
        if finding is not None:
            return finding
    return None


def _ask(state: _Attempt, kind: type[Algebra], budget: Budget) -> Finding | None:
    try:
        algebra = kind(state.obligation)
        answer = check(algebra.denial(), algebra.ctx, budget)
    except Outside as outside:
        state.notes.append(f"{kind.NAME} cannot say {outside}")
        return None
    if answer.status == "unsat":
        return _proved(state, kind, budget)
    if answer.status == "unknown":
        state.notes.append(f"{kind.NAME}: {answer.reason}")
        return None
    return _candidate(state, algebra, answer)


def _proved(state: _Attempt, kind: type[Algebra], budget: Budget) -> Finding:
    """A proof, if the premises can be met at all."""
    if not state.applies:
        premises = kind(state.obligation)
        conditions = premises.premises()
        answer = check([*conditions, *premises.facts], premises.ctx, budget)
        if answer.status == "unsat":
            return Finding("vacuous", "", detail="the condition excludes every input")
    return Finding("proved", f"all values, by {kind.NAME}")


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
    return Finding("unknown", "", detail="internal: replay disagrees with the solver's model")


def _any_element(dtype: DType) -> Any:
    return sampling.directed(dtype, 1)[0]


# Endings ----------------------------------------------------------------------------------------------------------


def _refuted(state: _Attempt, point: Point, *, smallest: bool) -> Finding:
    """A refutation, made small and replayed by the evaluator first."""
    if not smallest:
        point = counterexamples.shrink(state.obligation, state.trial, point, state.budget)
    shown = counterexamples.replay(state.obligation, point)
    if shown is None:
        return Finding("unknown", "", detail="internal: replay disagrees")
    return Finding("refuted", "a counterexample, evaluated", shown, point=point)


def _give_up(state: _Attempt) -> Finding:
    """All values if they are not too many, else a longer search, and what resisted."""
    finding = _by_exhaustion(state, upfront=False)
    if finding is not None:
        return finding
    detail = "; ".join(dict.fromkeys(state.notes)) or "no algebra has a term for it"
    if not state.trial.evaluable:
        return Finding("unknown", "nothing: an op has no value yet", detail=detail)
    for point in sampling.random_points(state.obligation, SAMPLES, state.budget.seed):
        if state.trial.at(point) == FAILS:
            return _refuted(state, point, smallest=False)
    return Finding("unknown", f"{SAMPLES:,} samples", detail=detail)


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
    whole = leaf.dtype is index or leaf.dtype.is_int
    ends = ((Op.CmpLe, known.lo, True), (Op.CmpLe, known.hi, False)) if whole else ()
    conditions = []
    for op, end, is_low in ends:
        if end not in (leaf.dtype.min, leaf.dtype.max):
            number = const(end, leaf.dtype)
            conditions.append(UOp(op, (number, leaf) if is_low else (leaf, number)))
    return conditions
