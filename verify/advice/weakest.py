"""
The weakest condition
=====================

What a refuted rule lacks. Points are sorted into good and bad ones, the search proposes the conjunctions that exclude
every bad one, weakest first, and each is put before the prover. A proposal that turns out to be wrong yields one more
bad point. What is left are conditions under which the ordinary prover proves the whole rule, at every layer, and of
which none keeps fewer good points than another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from soundline.spec.dtypes import DType, bool_, float16, index, int8, uint8
from soundline.spec.errors import RuleError
from soundline.spec.ops.node import Op
from soundline.spec.rules.instances import Goal, dtypes_of, goals, is_about_shapes, shape_dtypes
from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import Static, Term, Value, show
from soundline.verify.advice.grammar import cost, literals
from soundline.verify.advice.results import Missing
from soundline.verify.advice.search import Choice, Conjunction, conjunctions
from soundline.verify.advice.shape_points import is_small
from soundline.verify.advice.table import Table
from soundline.verify.judging.wording import condition_text
from soundline.verify.smt.goals.points import Point
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.goals.trial import failure, instances, is_pointwise
from soundline.verify.smt.proving import scalars
from soundline.verify.verdicts.layers import layers_of

MOST_ROUNDS = 60
"""The most conjunctions that are examined."""

MOST_PROOFS = 16
"""The most conjunctions that are given to the prover."""

MOST_UNKNOWN = 3
"""The number of undecided proofs after which the search ends."""

MOST_SHOWN = 3
"""The most incomparable conditions that are shown."""

GAIN = 8
"""A further condition is shown where it adds at least this part of the good points: one in so many."""

MOST_INSTANCES = 120
"""Points are taken of so many instances."""

PART = 0.1
"""The part of the budget that one layer of one proposal may cost at first; the whole where that decides nothing."""


@dataclass
class _Hunt:
    """The state of the search for one rule."""

    stated: Rule
    budget: Budget
    table: Table
    grammar: tuple[Term, ...]
    proved: list[Conjunction] = field(default_factory=list)
    seen: set[frozenset[str]] = field(default_factory=set)
    """The proposals that were tried, by the texts of their literals."""
    wrong: set[frozenset[str]] = field(default_factory=set)
    """Those among them that do not make the rule right."""
    tried: int = 0
    unknown: int = 0

    def proposals(self) -> Iterator[Conjunction]:
        """The weakest conjunctions that were not tried yet, after every new point anew."""
        for _ in range(MOST_ROUNDS):
            said = [(c, self.table.says(c)) for c in self.grammar]
            choices = [Choice(c, holds, cost(c, self.stated)) for c, holds in said if holds is not None]
            good = self.table.good & ~self._covered()
            # no condition at all does not help either, though no point may show it
            wrong = self.wrong if self.table.bad else {*self.wrong, frozenset[str]()}
            found = [
                c
                for c in conjunctions(choices, good, self.table.bad, wrong)
                if _key(c) not in self.seen and not self._gains_little(c)
            ]
            if not found or self.tried >= MOST_PROOFS or self.unknown >= MOST_UNKNOWN:
                return
            yield found[0]

    def _covered(self) -> int:
        """The good points that proved conditions keep."""
        return reduce(lambda a, b: a | b, (c.keeps for c in self.proved), 0)

    def _gains_little(self, proposal: Conjunction) -> bool:
        """Whether a further condition is not worth showing beside those that are proved."""
        if not self.proved:
            return False
        return (
            proposal.keeps.bit_count() * GAIN < self.table.good.bit_count() or len(self.proved) >= MOST_SHOWN
        )


def weakest(stated: Rule, budget: Budget) -> tuple[tuple[tuple[Term, ...], ...], Missing]:
    """The weakest conditions found that make a rule true, as terms and as a result; the plainest weak one first.

    Raises ``RuleError`` where the rule is ill-typed.
    """
    dtypes = dtypes_of(stated)
    goals_tried = list(_spread(stated, dtypes))
    table = Table(goals_tried, budget.seed)
    hunt = _Hunt(stated, budget, table, literals(stated, dtypes))
    for proposal in hunt.proposals():
        _try(hunt, proposal)
        # points are counted anew: what is proved stays proved
        hunt.proved = [replace(c, keeps=_keeps(table, c)) for c in hunt.proved]
    widest = [
        c for c in hunt.proved if not any(o is not c and c.keeps | o.keeps == o.keeps for o in hunt.proved)
    ]
    found = [c.literals for c in sorted(widest, key=lambda c: c.order)]
    texts = tuple(", ".join(condition_text(t) for t in ts) for ts in found)
    note = "" if found else _why_none(hunt)
    return tuple(found), Missing(texts, len(hunt.grammar), table.size, hunt.tried, note)


def _keeps(table: Table, conjunction: Conjunction) -> int:
    kept = table.good
    for literal in conjunction.literals:
        kept &= table.says(literal) or 0
    return kept


def _why_none(hunt: _Hunt) -> str:
    if not hunt.table.instances:
        return "some op has no value that could be computed"
    if not hunt.table.good:
        return "the sides agree at no point that was tried"
    return ""


def _key(proposal: Conjunction) -> frozenset[str]:
    return frozenset(map(show, proposal.literals))


def with_conditions(stated: Rule, conditions: Iterable[Term]) -> Rule:
    """The rule with more conditions."""
    return replace(stated, given=(*stated.given, *conditions))


def _try(hunt: _Hunt, proposal: Conjunction) -> None:
    """Put one proposal before the prover, points first."""
    hunt.seen.add(_key(proposal))
    rule = with_conditions(hunt.stated, proposal.literals)
    try:
        verdict, at = _verdict(rule, hunt.budget.share(PART))
        if verdict == "unknown" and hunt.unknown < MOST_UNKNOWN - 1:
            verdict, at = _verdict(rule, hunt.budget)
    except RuleError:
        verdict, at = "ill-typed", None
    hunt.tried += at is None or verdict != "refuted"
    hunt.unknown += verdict == "unknown"
    if verdict == "proved":
        hunt.proved.append(proposal)
    else:
        hunt.wrong |= {_key(proposal), frozenset(c.cost[3] for c in proposal.sought)}
    if at is not None:
        hunt.table.add(*at)


def _verdict(rule: Rule, budget: Budget) -> tuple[str, tuple[Goal, Point] | None]:
    """What the ordinary prover says of a rule as a whole, and where it fails if it does."""
    from soundline.verify.judging.judge import prove_layer

    if is_pointwise(rule):
        shown = failure(rule, dtypes_of(rule), budget.seed)
        if shown is not None:
            return "refuted", (shown.goal, shown.point)
    layers = layers_of(rule)
    if not layers:
        return "vacuous", None
    for _, dtype in layers:
        verdict = prove_layer(rule, dtype, budget, derive=False).verdict
        if verdict != "proved":
            return verdict, _point(rule, dtype, budget) if verdict == "refuted" else None
    return "proved", None


def is_proved(rule: Rule, budget: Budget) -> bool:
    """Whether the ordinary prover proves a rule at every layer. Raises ``RuleError`` where it is ill-typed."""
    return _verdict(rule, budget)[0] == "proved"


def _point(rule: Rule, dtype: DType, budget: Budget) -> tuple[Goal, Point] | None:
    """Where a rule fails that the prover refuted."""
    if not is_pointwise(rule):
        return None
    for goal, obligation in instances(rule, [dtype]):
        finding = scalars.decide(obligation, budget)
        if finding.verdict == "refuted" and finding.point is not None:
            return goal, finding.point
    return None


# instances --------------------------------------------------------------------------------------------------------

_FIRST = (bool_, index, int8, uint8, float16)


def _spread(stated: Rule, dtypes: Sequence[DType]) -> Iterator[Goal]:
    """Some instances of each dtype, so that all kinds of dtypes are among them."""
    several = any(k.kind == "DTypeVar" for k in stated.kinds.values())
    kinds = [d for d in dtypes if several or d in _FIRST or not _stands_for(d, dtypes)]
    if is_about_shapes(stated):
        kinds = [d for d in shape_dtypes(stated) if d in dtypes][:2]
    ordered = sorted(kinds, key=lambda d: (d not in _FIRST, kinds.index(d)))
    each = max(1, MOST_INSTANCES // max(1, len(ordered)))
    for dtype in ordered:
        found = list(goals(stated, dtype, skip=lambda bound: not is_small(stated, bound)))
        step = max(1, len(found) // each)
        yield from found[::step]


def _stands_for(dtype: DType, dtypes: Sequence[DType]) -> bool:
    """Whether a smaller dtype of the same sort is among those of the rule."""
    return any(
        d is not dtype and d.is_float == dtype.is_float and d.signed == dtype.signed and d in _FIRST
        for d in dtypes
        if d not in (bool_, index)
    )


def disjunction(parts: Sequence[Sequence[Term]]) -> Value | None:
    """Any of several conjunctions as one condition; None where they are not all made of values."""
    if not parts or any(isinstance(t, Static) or t.head == "fits" for ts in parts for t in ts):
        return None
    joined = [reduce(lambda a, b: Value(Op.And, (a, b)), ts) for ts in parts]
    found = reduce(lambda a, b: Value(Op.Or, (a, b)), joined)
    assert isinstance(found, Value)
    return found
