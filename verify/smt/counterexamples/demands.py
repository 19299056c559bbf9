"""
The demands of a right side
===========================

A right side that shifts an index has a value only where the counts of its shifts are not negative. Where the left side
has a value, each of these conditions has to hold, whatever the sides are there; and what was shown before may be used
for the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from soundline.spec.dtypes import bool_
from soundline.spec.ops.node import substitute
from soundline.spec.uop import const
from soundline.verify.smt.counterexamples.scalars import value_of
from soundline.verify.smt.goals.obligations import Obligation
from soundline.verify.smt.goals.points import Point
from soundline.verify.smt.goals.steps import element_text
from soundline.verify.verdicts.verdict import Counterexample, Difference


def demanded(obligation: Obligation) -> Iterator[tuple[str, Obligation]]:
    """The conditions of the right side, each as an obligation of its own, with the constraint that demands it."""
    for number, (rule, condition) in enumerate(obligation.demands):
        known = (c for _, c in obligation.demands[:number])
        yield (
            rule,
            replace(
                obligation,
                hypotheses=(*obligation.hypotheses, *known),
                left=condition,
                right=const(True, bool_),
                demands=(),
                licences=frozenset(),
                goal=None,
            ),
        )


def with_demands_met(obligation: Obligation) -> Obligation:
    """The obligation where all that the right side demands holds."""
    met = tuple(condition for _, condition in obligation.demands)
    return replace(obligation, hypotheses=(*obligation.hypotheses, *met), demands=())


def as_ill_formed(obligation: Obligation, point: Point, shown: Counterexample, rule: str) -> Counterexample:
    """A counterexample to a demand, as one to the obligation: the left side has a value, and the right side none."""
    constants = {
        v: const(value, v.dtype) for v, value in zip(obligation.variables.values(), point, strict=True)
    }
    left = element_text(obligation.left.dtype, value_of(substitute(obligation.left, constants)))
    right = f"ill-formed [{rule}]: an index is shifted by a negative count"
    return replace(shown, left=left, right=right, differences=(Difference((), left, right),))
