"""
Asking the solver
=================

One question, one answer. Each question stands in a Z3 context of its own, with a fixed seed and a limit on Z3's own
count of work, and nothing that Z3 does looks at the memory of the process or at the clock (`strategies`), so that the
answer does not depend on the machine or on what was asked before. Wall-clock time is only an outer safety: it is set
far above what the work limit takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import z3

from soundline.verify.smt.goals.strategies import Strategies
from soundline.verify.verdicts.metering import gave_up, worked

Search = Literal["plain", "tactics"]
"""How Z3 searches: its core alone, or what its tactics make of the question first. Neither is always the better one."""

Status = Literal["sat", "unsat", "unknown"]


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a proof: Z3 work units per goal, seconds as an outer safety, and the seed of every choice."""

    rlimit: int = 30_000_000
    seconds: float = 30.0
    seed: int = 0
    opinions: tuple[str, ...] = ()
    """Who else is asked about each layer (`second.opinions`)."""

    def share(self, part: float) -> Budget:
        """A part of the work; the outer safety stays."""
        return replace(self, rlimit=max(1, int(self.rlimit * part)))


@dataclass(frozen=True, slots=True)
class Answer:
    """What the solver said: a model where the formulas can be satisfied, the reason where it gave up."""

    status: Status
    model: Any = None
    reason: str = ""


def check(formulas: Sequence[Any], ctx: Any, budget: Budget, search: Search = "tactics") -> Answer:
    """Whether all formulas can hold at once."""
    solver = limited(
        z3.SimpleSolver(ctx=ctx) if search == "plain" else Strategies(ctx).solver(formulas), budget
    )
    try:
        solver.add(*formulas)
        status = asked(solver)
        if status == "unknown":
            return Answer(status, reason=_reason(solver.reason_unknown()))
        return Answer(status, solver.model() if status == "sat" else None)
    except z3.Z3Exception as error:  # a limit that is met inside preprocessing surfaces as an exception
        return Answer("unknown", reason=_reason(str(error)))


def limited(solver: Any, budget: Budget) -> Any:
    """A Z3 solver, which keeps to a budget from now on."""
    solver.set("random_seed", budget.seed)
    solver.set("rlimit", budget.rlimit)
    solver.set("timeout", max(1, int(budget.seconds * 1000)))
    return solver


def asked(solver: Any) -> Status:
    """The answer of a Z3 solver to its formulas; the meter and the listeners record the question."""
    found = solver.check()
    worked(solver)
    status: Status = "unsat" if found == z3.unsat else "sat" if found == z3.sat else "unknown"
    if _LISTENERS:
        text = solver.to_smt2()
        for hear in _LISTENERS:
            hear(text, status)
    return status


SPENT = "the budget was spent"
"""Why a question is open that a larger budget may answer."""


# Who listens ------------------------------------------------------------------------------------------------------

_LISTENERS: list[Callable[[str, Status], None]] = []


@contextmanager
def listening(hear: Callable[[str, Status], None]) -> Iterator[None]:
    """Hear every question that is asked meanwhile, as SMT-LIB 2 text, and its answer."""
    _LISTENERS.append(hear)
    try:
        yield
    finally:
        _LISTENERS.remove(hear)


def _reason(text: str) -> str:
    if any(word in text for word in ("resource", "max.", "rlimit", "timeout", "canceled")):
        gave_up()
        return SPENT
    return f"the solver gave up ({text})"
