"""
Judging one instance of a rule about shapes
===========================================

An instance is right when, under its conditions and wherever the left side is valid, the right side is valid, has the
same shape and dtype, and at every position the same element. Validity and shape are demanded on their own, not only
where a position exists, so that empty tensors count.

Each of these is proved from what comes before it. Where a proof fails, a refutation is tried: sizes from the solver,
inputs that tell the elements apart, and a replay by the evaluator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from soundline.spec.dtypes import bool_
from soundline.spec.errors import IllFormed
from soundline.spec.ops.node import Op, UOp, toposort
from soundline.spec.rules.instances import Goal
from soundline.spec.uop import obligations
from soundline.verify.smt.counterexamples.first_inputs import differing_sizes, is_worth_trying
from soundline.verify.smt.counterexamples.replays import licences_of
from soundline.verify.smt.counterexamples.sizes import small_sizes, smallest
from soundline.verify.smt.counterexamples.tensors import Hint, Tries, show_difference
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import (
    Constant,
    Element,
    Read,
    Unsupported,
    assuming,
    reads,
    valid_where,
)
from soundline.verify.smt.elements.indexing import ALWAYS, Index, Space
from soundline.verify.smt.elements.text import equation
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.integers.arithmetic import Arithmetic, Question, Solution
from soundline.verify.smt.integers.formulas import (
    FALSE,
    TRUE,
    Formula,
    conjunction,
    disjunction,
    equal,
    less,
    negation,
)
from soundline.verify.smt.integers.polynomials import ONE, ZERO, Poly, product
from soundline.verify.smt.proving import leaves, scalars
from soundline.verify.smt.proving.comparison import Leaf, differences, learn_of_indices
from soundline.verify.smt.proving.digit_products import learn_of_products
from soundline.verify.smt.reductions.validity import holds_in_loops, is_in_loops, reductions_are_valid
from soundline.verify.verdicts.layers import OF_SIDES
from soundline.verify.verdicts.verdict import Counterexample, Verdict

MOST_REPLAYS = 1500
"""Inputs tried by evaluation for all instances of a rule, where the solver cannot decide."""

MOST_FIRST = 6
"""The number of instances of a rule that are tried at first inputs before a proof."""

FEW_FILLS = 6
"""How many inputs are tried for each choice of small sizes then."""


OF_COUNTS = ("uop-shl-c3", "uop-shr-c3")
"""The constraints that the counts of shifts of index meet."""


@dataclass(frozen=True)
class Outcome:
    """What became of one instance."""

    verdict: Verdict
    detail: str = ""
    counterexample: Counterexample | None = None
    by_law: bool = False
    """Whether the laws of the dtype were used, so that the proof says nothing of other dtypes."""


PROVED = Outcome("proved")


@dataclass
class Court:
    """What the instances of a rule share: the budget, and answers to questions that several of them ask."""

    budget: Budget
    arithmetic: Arithmetic = field(init=False)
    findings: dict[tuple[object, ...], scalars.Finding] = field(default_factory=dict)
    tries: Tries = field(default_factory=Tries)
    refutes: bool = True
    """Whether a counterexample is looked for where there is no proof."""
    tried_first: int = 0
    """How many instances were tried at first inputs."""
    evaluations: int = 0
    """How many inputs of small sizes were evaluated where the solver could not decide."""

    def __post_init__(self) -> None:
        self.arithmetic = Arithmetic(self.budget)

    def without_refutations(self) -> Court:
        """A court that shares its answers, and only proves."""
        other = Court(self.budget, findings=self.findings, refutes=False)
        other.arithmetic = self.arithmetic
        return other

    def scalar(self, reader: Denotation, leaf: Leaf, fits: Sequence[Element], goal: Goal) -> _Scalar:
        """Whether the laws of the dtype make the elements of a leaf equal."""
        licences = licences_of(goal) if leaf.outer else licences_of(goal) - set(OF_SIDES)
        obligation, made = leaves.obligation(reader, leaf, fits, goal.label, licences)
        question = (obligation.left, obligation.right, obligation.hypotheses, obligation.fits, licences)
        if question not in self.findings:
            self.findings[question] = scalars.decide(obligation, self.budget)
        return _Scalar(self.findings[question], made)


@dataclass(frozen=True)
class _Scalar:
    finding: scalars.Finding
    made: leaves.Scalars


@dataclass(frozen=True)
class _Missed:
    """A leaf that is not shown: what denies it, how to say so, and what the laws of the dtype say of its elements."""

    denial: Formula
    why: str
    scalar: _Scalar | None = None


class Instance:
    """One instance before the court."""

    def __init__(self, goal: Goal, court: Court) -> None:
        self.goal = goal
        self.court = court
        self.space = Space(court.arithmetic)
        self.reader = Denotation(self.space, {node: name for name, node in goal.variables.items()})
        self.reader.licences = licences_of(goal)
        self.reader.settled = lambda leaf: self._missed(leaf) is None
        stated = [
            (rule, c) for node in (*goal.hypotheses, *goal.fits, goal.left) for rule, c in obligations(node)
        ]
        counts = dict.fromkeys(c for rule, c in stated if rule in OF_COUNTS)
        others = (*goal.hypotheses, *(c for rule, c in stated if rule not in OF_COUNTS))
        self.premises = []
        for conditions in (counts, others):  # a power is told apart by what is known of its exponent
            more = [self.reader.condition(c) for c in conditions if not is_in_loops(c)]
            self.premises += more
            self.space.assume(more)
        self.at: Index = ()

    # satisfiability ---------------------------------------------------------------------------------------------

    def applies(self) -> bool:
        """Whether some sizes and elements meet the conditions and make the left side valid."""
        if self.court.arithmetic.satisfiable([*self.premises, *self.space.known(ALWAYS)]) == "unsat":
            return False
        if not any(leaves.is_about_elements(f) for f in self.space.known(ALWAYS)):
            return True
        question = Leaf(ALWAYS, Constant(bool_, False), Constant(bool_, True), FALSE, outer=True)
        return self.court.scalar(self.reader, question, (), self.goal).finding.verdict != "vacuous"

    def applies_to_elements(self) -> bool:
        """Whether some sizes meet the conditions with a left side that has elements."""
        shape = self.reader.shape(self.goal.left)
        filled = [less(ZERO, size) for size in (*shape, product(shape))]
        facts = [*self.premises, *self.space.known(ALWAYS), *map(self.space.reduced, filled)]
        return self.court.arithmetic.satisfiable(facts) != "unsat"

    def is_valid_somewhere(self) -> bool:
        """Whether some element of the left side can be valid; use an instance that proves nothing else."""
        if not any(node.op is Op.Index for node in toposort(self.goal.left)):
            return True
        shape = self.reader.shape(self.goal.left)
        if ZERO in shape:
            return False
        at = tuple(ZERO if size == ONE else Poly.of(f"@{k}") for k, size in enumerate(shape))
        self.space.inside(ALWAYS, at, shape)
        valid = self.space.reduced(valid_where(self.reader.element(self.goal.left, at, ALWAYS)))
        return self.court.arithmetic.satisfiable([*self.space.known(ALWAYS), valid]) != "unsat"

    # judgement --------------------------------------------------------------------------------------------------

    def judge(self) -> Outcome:
        """Decide the instance."""
        right = self.goal.right
        if isinstance(right, IllFormed):
            return self._refused("the right side is ill-formed")
        left = self.goal.left
        for what, same in (
            ("dtypes", left.dtype is right.dtype),
            ("ranks", len(left.shape or ()) == len(right.shape or ())),
            ("devices", left.device == right.device),
            ("shard axes", left.axis == right.axis),
        ):
            if not same:
                return self._refused(f"the sides have different {what}")
        return self._form(right) or self._at_first_inputs() or self._values(right)

    def _refused(self, why: str) -> Outcome:
        """An instance whose right side is wrong whatever the sizes; right only where the left side does not exist."""
        if not self.applies():
            return Outcome("proved", by_law=True)
        return self._refute([], why)

    def _form(self, right: UOp) -> Outcome | None:
        """The right side is valid and has the shape of the left side; None where that is so."""
        shapes = zip(self.reader.shape(self.goal.left), self.reader.shape(right), strict=True)
        wanted = [("the shapes are equal", equal(a, b)) for a, b in shapes]
        needed = [(f"the right side meets {name}", c) for name, c in obligations(right)]
        wanted += [(what, self.reader.condition(c)) for what, c in needed if not is_in_loops(c)]
        for what, condition in needed:
            if is_in_loops(condition) and not holds_in_loops(self.reader, condition):
                return self._refute([], f"not shown: {what} at every iteration")
        open_goals = [(what, f) for what, f in wanted if not self.space.plainly(ALWAYS, f)]
        if not open_goals or self.space.shows(ALWAYS, conjunction(f for _, f in open_goals)):
            return None
        missed = [(w, f) for w, f in open_goals if not self.space.shows_with_equations(ALWAYS, f)]
        if not missed:
            return None
        return self._refute([disjunction(negation(f) for _, f in missed)], f"not shown: {missed[0][0]}")

    def _at_first_inputs(self) -> Outcome | None:
        """The result of a few small inputs for sides with reductions; None where they show no difference."""
        if self.court.tried_first >= MOST_FIRST or not is_worth_trying(self.goal):
            return None
        self.court.tried_first += 1
        chosen = differing_sizes(self.goal)
        if chosen is None:
            return None
        why = "the sides differ at small inputs"
        if not self.court.refutes:
            return Outcome("unknown", why)
        shown = show_difference(self.goal, chosen, (), self.court.budget, self.court.tries, FEW_FILLS)
        return None if shown is None else Outcome("refuted", why, shown)

    def _values(self, right: UOp) -> Outcome:
        """At every position of the shape, the elements are equal, and nothing invalid is reduced."""
        if not reductions_are_valid(self.reader, self.goal.left, right):
            return self._refute([], "not shown: no invalid element reaches a Reduce on the right side")
        shape = self.reader.shape(self.goal.left)
        if ZERO in shape:
            return PROVED
        self.at = tuple(ZERO if size == ONE else Poly.of(f"@{k}") for k, size in enumerate(shape))
        self.space.inside(ALWAYS, self.at, shape)
        left = self.reader.element(self.goal.left, self.at, ALWAYS)
        found = differences(self.reader, left, self.reader.element(right, self.at, ALWAYS), ALWAYS)
        for leaf in found:
            learn_of_products(self.reader, leaf)
        if not found or self._all_follow(found):
            return Outcome("proved", by_law=self.reader.by_law)
        missed: list[_Missed] = []
        for leaf in found:
            with self.court.arithmetic.brief(bool(missed)):  # one leaf that is missed leaves nothing to prove
                missed += [m] if (m := self._missed(leaf)) is not None else []
        if not missed:
            return Outcome("proved", by_law=True)
        return self._refute([disjunction(m.denial for m in missed)], missed[0].why, missed)

    def _all_follow(self, found: Sequence[Leaf]) -> bool:
        """Whether the conditions of all leaves follow, asked at once."""
        denials = [self._denial(leaf) for leaf in found]
        question = [*self.space.known(ALWAYS), disjunction(denials)]
        return self.court.arithmetic.satisfiable(question) == "unsat"

    def _denial(self, leaf: Leaf) -> Formula:
        """That a leaf is reached and its condition fails, with what is known along its path."""
        always = {f.key for f in self.space.known(ALWAYS)}
        own = [f for f in self.space.known(leaf.path) if f.key not in always]
        return conjunction((*own, *leaf.path, negation(leaf.required)))

    def _fits(self, leaf: Leaf) -> list[Element]:
        """The expressions of `fits`, at every position of their shape at which something is read in the leaf."""
        positions = {read.at: read.shape for side in (leaf.left, leaf.right) for read in reads(side)}
        return [
            assuming(self.reader.element(node, at, leaf.path), leaf.path)
            for node in self.goal.fits
            for at, shape in {(): (), **positions}.items()
            if self.reader.shape(node) == shape
        ]

    def _missed(self, leaf: Leaf) -> _Missed | None:
        """What is not shown about a leaf; None where it is proved."""
        if learn_of_products(self.reader, leaf) and self.space.shows(leaf.path, leaf.required):
            return None
        if self.space.shows_with_equations(leaf.path, leaf.required):
            return None
        if learn_of_indices(self.reader, leaf) and self.space.shows(leaf.path, leaf.required):
            return None
        denial, why = self._denial(leaf), f"not shown: {equation(leaf.left, leaf.right)}"
        if isinstance(leaf.left, Constant) and isinstance(leaf.right, Constant):  # they differ
            return _Missed(denial, why)
        try:
            scalar = self.court.scalar(self.reader, leaf, self._fits(leaf), self.goal)
        except Unsupported:
            return _Missed(denial, why)
        if scalar.finding.verdict in ("proved", "vacuous"):
            return None
        detail = f"{why}; {scalar.finding.detail}" if scalar.finding.verdict == "unknown" else why
        return _Missed(denial, detail, scalar)

    # refutation -------------------------------------------------------------------------------------------------

    def _refute(self, denials: Sequence[Formula], why: str, missed: Sequence[_Missed] = ()) -> Outcome:
        """A counterexample to one of the things wanted, else *unknown*."""
        if not self.court.refutes:
            return Outcome("unknown", why.replace("@", "i"))
        facts = [*self.premises, *self.space.known(ALWAYS), *denials]
        why = why.replace("@", "i")
        for more in dict.fromkeys((TRUE, self._apart(missed))):
            chosen = smallest(Question([*facts, more], self.court.budget), self.goal)
            if chosen is None:
                break
            hints = [*self._hints(chosen, missed)]
            shown = show_difference(self.goal, chosen.ints, hints, self.court.budget, self.court.tries)
            if shown is not None:
                return Outcome("refuted", _denied(why), shown)
        for small in small_sizes(self.goal):
            if self.court.evaluations >= MOST_REPLAYS:
                break
            self.court.evaluations += FEW_FILLS
            shown = show_difference(self.goal, small, (), self.court.budget, self.court.tries, FEW_FILLS)
            if shown is not None:
                return Outcome("refuted", _denied(why), shown)
        return Outcome("unknown", why)

    def _apart(self, missed: Sequence[_Missed]) -> Formula:
        """That the elements at which the laws of the dtype see a difference are at different positions."""
        refuted = [m for m in missed if m.scalar is not None and m.scalar.finding.verdict == "refuted"]
        told = [conjunction((m.denial, m.scalar.made.apart())) for m in refuted if m.scalar is not None]
        return disjunction(told) if told else TRUE

    def _hints(self, chosen: Solution, missed: Sequence[_Missed]) -> Iterator[Hint]:
        """The elements of a counterexample, at the positions where the solver's solution reads them."""
        for atom, read in self.reader.numbers.items():
            if atom in chosen.ints:
                yield read.name, _position(read, chosen), chosen.ints[atom]
        for scalar in (m.scalar for m in missed if m.scalar is not None and chosen.meets(m.denial)):
            values = dict(zip(scalar.made.variables, scalar.finding.point or (), strict=False))
            for key, read in scalar.made.reads.items():
                if key in values:
                    yield read.name, _position(read, chosen), values[key]


def _denied(why: str) -> str:
    """What was not shown, where a counterexample shows that it is not so."""
    return why.replace("not shown: ", "does not hold: ", 1)


def _position(read: Read, chosen: Solution) -> tuple[int, ...]:
    return tuple(p.value({a: chosen.ints.get(a, 0) for a in p.atoms}) for p in read.at)
