"""
Asking for second opinions
==========================

Which programs can be asked about a layer, and how their answers are used. They never reverse a verdict of the prover: a
verdict that they contradict counts as unknown, and the contradiction is reported as a mistake in soundline. They may
settle a layer that the prover left unknown, and the report then names the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from soundline.spec.dtypes import DType
from soundline.spec.errors import UsageError
from soundline.spec.rules.language import Rule
from soundline.verify.second import floats, operands, presburger_opinion, solving
from soundline.verify.second.asked import Asked, Opinion
from soundline.verify.second.solvers import SOLVERS, is_installed, needed
from soundline.verify.smt.goals.solving import Budget, Status, listening
from soundline.verify.verdicts.verdict import LayerResult

ASKERS: dict[str, Callable[[Asked], Opinion]] = {
    "operands": operands.opinion,
    "floats": floats.opinion,
    "bitwuzla": solving.bitwuzla_opinion,
    "cvc5": solving.cvc5_opinion,
    "islpy": presburger_opinion.opinion,
}
"""Who can be asked, by the names that a budget carries."""

LABELS = {"operands": operands.BY, "floats": floats.BY}
"""How an opinion calls those who are no program of their own."""

OPTIONAL = (*SOLVERS, "islpy")
"""The programs that need an optional package."""


def available() -> tuple[str, ...]:
    """Who can be asked here."""
    return tuple(name for name in ASKERS if name not in OPTIONAL or is_installed(name))


def chosen(second: bool, solvers: Iterable[str]) -> tuple[str, ...]:
    """The programs that the options ask for: all that are installed, and those that are named, which must be
    installed.
    """
    named = list(solvers)
    for name in named:
        if name not in SOLVERS:
            raise UsageError(f"there is no solver {name!r}", hint=f"one of {', '.join(SOLVERS)}")
        needed(name)
    return tuple(name for name in ASKERS if name in named or (second and name in available()))


def with_opinions(rule: Rule, dtype: DType, budget: Budget, judge: Callable[[], LayerResult]) -> LayerResult:
    """The result of a layer, and what those whom the budget names say of it."""
    questions: list[tuple[str, Status]] = []
    with listening(lambda text, said: questions.append((text, said))):
        found = judge()
    asked = Asked(rule, dtype, found, replace(budget, opinions=()), questions)
    opinions = tuple(_of(name, asked) for name in budget.opinions)
    return replace(asked.settled or found, opinions=opinions)


def _of(name: str, asked: Asked) -> Opinion:
    """The answer of one program; an error in soundline on the way loses this answer, and not the verdict."""
    try:
        return ASKERS[name](asked)
    except Exception as error:  # noqa: BLE001
        message = str(error).split("\n", 1)[0][:200]
        return Opinion(LABELS.get(name, name), "open", f"it failed: {type(error).__name__}: {message}")


def attacked(rule: Rule, dtype: DType, found: LayerResult, budget: Budget) -> LayerResult:
    """An undecided layer of floats after a directed search: refuted where that finds a counterexample."""
    asked = Asked(rule, dtype, found, replace(budget, opinions=()))
    said = floats.opinion(asked)
    if asked.settled is not None:
        return asked.settled
    return replace(found, covered=f"{found.covered}; {said.detail}") if said.detail else found
