"""
Deciding conditions on sizes
============================

Questions over the integers for Z3, each in a context of its own and bounded by a resource limit, so that an answer
depends on the question alone. Questions are remembered by their text: the instances of a rule ask few different ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import z3

from soundline.verify.smt.goals.solving import Budget, Status, asked, limited
from soundline.verify.smt.integers.formulas import Formula, holds, negation, to_z3
from soundline.verify.verdicts.metering import gave_up

BRIEF = 0.05
"""The part of the budget for a question on which no proof depends."""


class Arithmetic:
    """Answers questions about integers within a budget."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.asked = 0
        self._answers: dict[tuple[str, ...], Status] = {}
        self._in_brief: dict[tuple[str, ...], Status] = {}
        self._brief = False

    def satisfiable(self, formulas: Iterable[Formula]) -> Status:
        """Whether some integers meet all conditions."""
        needed = {f.key: f for f in formulas if f.kind != "true"}
        question = tuple(sorted(needed))
        if question in self._answers:
            return self._answers[question]
        answers, budget = (
            (self._in_brief, self.budget.share(BRIEF)) if self._brief else (self._answers, self.budget)
        )
        if question not in answers:
            self.asked += 1
            answers[question] = Question(needed.values(), budget).check()
        return answers[question]

    @contextmanager
    def brief(self, is_so: bool = True) -> Iterator[None]:
        """Spend little on each question, where an answer is of use but none is needed."""
        before, self._brief = self._brief, is_so
        try:
            yield
        finally:
            self._brief = before

    def entails(self, facts: Iterable[Formula], goal: Formula) -> Status:
        """``unsat`` where the goal follows from the facts, ``sat`` where it does not."""
        return self.satisfiable([*facts, negation(goal)])


@dataclass(frozen=True)
class Solution:
    """Values of the atoms, and of the opaque elements; names that do not matter are left out."""

    ints: Mapping[str, int]
    truths: Mapping[str, bool]

    def meets(self, condition: Formula) -> bool:
        """Whether a condition holds here; what is left out counts as 0 and as false."""
        return holds(condition, defaultdict(int, self.ints), defaultdict(bool, self.truths))


class Question:
    """Conditions in one Z3 solver, to which bounds can be added; for counterexamples, which are minimised."""

    def __init__(self, formulas: Iterable[Formula], budget: Budget) -> None:
        self.context = z3.Context()
        self.solver = limited(z3.SimpleSolver(ctx=self.context), budget)
        self._ints: dict[str, Any] = {}
        self._bools: dict[str, Any] = {}
        for formula in sorted(formulas, key=lambda f: f.key):
            self.add(formula)

    def add(self, formula: Formula) -> None:
        """Demand one more condition."""
        self.solver.add(to_z3(formula, z3, self._int, self._number, self._bool, self.context))

    def check(self) -> Status:
        """Whether the conditions can be met."""
        status = asked(self.solver)
        if status == "unknown":
            gave_up()
        return status

    def solution(self, *more: Formula) -> Solution | None:
        """Integers and truths that meet the conditions, and these besides; None where none is found."""
        self.solver.push()
        for formula in more:
            self.add(formula)
        found = self._model() if self.solver.check() == z3.sat else None
        self.solver.pop()
        return found

    def _model(self) -> Solution:
        model = self.solver.model()
        ints = {name: model.eval(term, model_completion=True) for name, term in self._ints.items()}
        return Solution(
            {name: v.as_long() for name, v in ints.items()},
            {name: z3.is_true(model.eval(term)) for name, term in self._bools.items()},
        )

    def _int(self, name: str) -> Any:
        if name not in self._ints:
            self._ints[name] = z3.Int(name, self.context)
        return self._ints[name]

    def _bool(self, name: str) -> Any:
        if name not in self._bools:
            self._bools[name] = z3.Bool(name, self.context)
        return self._bools[name]

    def _number(self, value: int) -> Any:
        return z3.IntVal(value, self.context)
