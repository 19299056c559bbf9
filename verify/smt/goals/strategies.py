"""
Strategies
==========

The Z3 tactics that simplify a question before the core solver. Z3's own choice of tactics cannot be used: it depends on
how much memory the whole process holds, so that any other live context changes the answer, and on the clock, so that a
slow machine changes it too. (With 20 MB in use it no longer takes choices apart in nonlinear goals; for real numbers it
has one strategy below 30 MB and another above; nonlinear integers get two seconds.) These strategies have the same
steps without such limits: only the solver's own count of work ends them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import z3

LOCAL = {"local_ctx": True, "local_ctx_limit": 10_000_000}
"""Simplify under the conditions that hold at a place."""

DEEP = {"max_depth": 30, "max_steps": 5_000_000}
"""How far a simplification under all conditions goes."""

WIDTH = 64
"""The widest bit vectors that stand for integers where a model of small numbers is looked for."""

CONFLICTS = 500
"""So long a model of small numbers is looked for."""


class Strategies:
    """The steps for each kind of question, in one context."""

    def __init__(self, ctx: Any) -> None:
        self.ctx = ctx

    def solver(self, formulas: Sequence[Any]) -> Any:
        """A solver for a question, by what kind of question it is."""
        goal = z3.Goal(ctx=self.ctx)
        goal.add(*formulas)
        (simple,) = self.tactic("simplify")(goal)
        return self.then(self.tactic("simplify"), self.strategy(simple)).solver()

    def strategy(self, goal: Any) -> Any:
        """The steps for a goal that is simplified."""
        kinds = (
            ("is-propositional", self.any),
            ("is-qfbv", self.bits),
            ("is-qflia", self.any),
            ("is-qfnra", self.reals),
            ("is-qfnia", self.integers),
            ("is-qffp", self.floats),
        )
        return next((kind for probe, kind in kinds if z3.Probe(probe, self.ctx)(goal)), self.any)()

    # kinds of questions -------------------------------------------------------------------------------------------

    def any(self) -> Any:
        """Whatever has no strategy of its own."""
        t = self.tactic
        return self.then(self.preamble(), t("solve-eqs"), t("elim-uncnstr"), t("smt"))

    def floats(self) -> Any:
        """Floats, down to single bits."""
        return self.tactic("qffp")

    def integers(self) -> Any:
        """Products of integers: a model of small numbers, else the core."""
        t = self.tactic
        prepared = self.then(
            self.preamble(), t("elim-uncnstr"), t("lia2card"), t("card2bv"), t("cofactor-term-ite")
        )
        core = self.then(t("simplify", som=True), t("smt"))
        return self.then(prepared, z3.OrElse(self.small_numbers(), core, ctx=self.ctx))

    def small_numbers(self) -> Any:
        """A model in which every integer has few bits; fails where there is none."""
        t = self.tactic
        plain = {"flat": False, "elim_and": True, "blast_distinct": True}
        blasted = self.then(
            t("simplify", **plain),
            t("propagate-values"),
            t("simplify", **plain, **LOCAL),
            t("max-bv-sharing"),
            t("bit-blast"),
            t("sat", max_conflicts=CONFLICTS),
        )
        found = z3.OrElse(blasted, t("skip"), ctx=self.ctx)
        return self.then(
            t("simplify", hoist_mul=True),
            t("nla2bv", nla2bv_max_bv_size=WIDTH),
            found,
            t("fail-if-undecided"),
        )

    def reals(self) -> Any:
        """Products of real numbers."""
        t = self.tactic
        return self.then(
            t("simplify"),
            t("propagate-values"),
            z3.OrElse(self.then(t("qfnra-nlsat"), t("fail-if-undecided")), t("smt"), ctx=self.ctx),
        )

    def bits(self) -> Any:
        """Bit vectors, down to single bits."""
        t = self.tactic
        main = {"elim_and": True, "push_ite_bv": True, "blast_distinct": True}
        sums = {"som": True, "pull_cheap_ite": True, "push_ite_bv": False, "flat": True, "hoist_mul": False}
        prepared = self.then(
            t("simplify", **main),
            t("propagate-values"),
            t("solve-eqs", solve_eqs_max_occs=2),
            t("elim-uncnstr"),
            t("reduce-bv-size"),
            t("simplify", **(main | sums | LOCAL)),
            t("simplify", **(main | {"hoist_mul": True, "som": False})),
            t("max-bv-sharing"),
            t("ackermannize_bv"),
        )
        blasted = self.then(
            t("bit-blast"),
            t("simplify", **(main | LOCAL)),
            t("solve-eqs"),
            t("aig"),
            t("sat"),
        )
        equations = self.then(t("bv1-blast"), t("smt"))
        is_eq, is_bits = z3.Probe("is-qfbv-eq", self.ctx), z3.Probe("is-qfbv", self.ctx)
        rest = z3.Cond(is_bits, blasted, t("smt"), self.ctx)
        return self.then(prepared, z3.Cond(is_eq, equations, rest, self.ctx))

    # steps --------------------------------------------------------------------------------------------------------

    def preamble(self) -> Any:
        """What is done to most questions."""
        t = self.tactic
        return self.then(
            t("simplify"),
            t("propagate-values"),
            t("ctx-simplify", **DEEP),
            t("simplify", pull_cheap_ite=True, **LOCAL),
        )

    def tactic(self, name: str, **options: Any) -> Any:
        """One of Z3's tactics."""
        found = z3.Tactic(name, self.ctx)
        return z3.With(found, **options) if options else found

    def then(self, *tactics: Any) -> Any:
        """One after the other."""
        return z3.Then(*tactics, ctx=self.ctx)
