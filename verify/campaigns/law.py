"""
Running the law's obligations
=============================

Every obligation, on several processes. Outcomes are reported as they arrive, subject by subject; the final report has
the order of the catalogue.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from soundline.spec.errors import UsageError
from soundline.verify.law.catalogue import obligations
from soundline.verify.law.schema import Obligation, Outcome
from soundline.verify.processes import shared_out
from soundline.verify.reports.cases import matches
from soundline.verify.reports.law import NOT_REACHED, Judged, LawReport, of_subject
from soundline.verify.reports.report import Listener, Silence
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.verdicts.effort import Effort


@dataclass(frozen=True, slots=True)
class LawSettings:
    """How the obligations are run."""

    jobs: int
    effort: Effort
    filters: tuple[str, ...] = ()

    @property
    def budget(self) -> Budget:
        """The limits of one question to the solver."""
        return Budget(self.effort.rlimit, self.effort.seconds, self.effort.seed)


def check_law(settings: LawSettings, listener: Listener | None = None) -> LawReport:
    """Meet the obligations that pass the filters; after Ctrl-C, report what is known by then."""
    chosen = [o for o in obligations() if matches(o.id, settings.filters)]
    if not chosen:
        wanted = " or ".join(settings.filters)
        raise UsageError(
            f"no obligation of the specification matches {wanted} (there are {len(obligations())})"
        )
    told = _Told(chosen, listener or Silence())
    began, interrupted = time.monotonic(), False
    run = _inline if settings.jobs == 1 else _on_processes
    try:
        for obligation, outcome, seconds in run(chosen, settings):
            told.add(obligation, outcome, seconds)
    except KeyboardInterrupt:
        interrupted = True
    judged = tuple(
        Judged(o, told.outcomes.get(o.id, Outcome("unknown", "", detail=NOT_REACHED))) for o in chosen
    )
    return LawReport(judged, time.monotonic() - began, interrupted)


class _Told:
    """What is known so far, and the listener, which hears of a subject once all of it is known."""

    def __init__(self, chosen: Sequence[Obligation], listener: Listener) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self.listener = listener
        self.waiting: dict[str, list[Obligation]] = {}
        self.seconds: dict[str, float] = {}
        self.chosen = chosen
        for o in chosen:
            self.waiting.setdefault(o.subject, []).append(o)
        listener.expects(list(self.waiting))
        listener.works_on(list(self.waiting)[:1])

    def add(self, obligation: Obligation, outcome: Outcome, seconds: float) -> None:
        """Note an outcome."""
        subject = obligation.subject
        self.outcomes[obligation.id] = outcome
        self.seconds[subject] = self.seconds.get(subject, 0.0) + seconds
        mine = self.waiting[subject]
        if all(o.id in self.outcomes for o in mine):
            judged = [Judged(o, self.outcomes[o.id]) for o in mine]
            self.listener.decided(of_subject(judged), self.seconds[subject])
            del self.waiting[subject]
            self.listener.works_on(list(self.waiting)[:1])


def _timed(obligation: Obligation, budget: Budget) -> tuple[Outcome, float]:
    """An outcome; a mistake of ours decides nothing and is not shown as a traceback."""
    began = time.monotonic()
    try:
        outcome = obligation.check(budget)
    except Exception as error:  # noqa: BLE001
        outcome = Outcome("unknown", "", detail=f"the check failed: {type(error).__name__}: {error}")
    return outcome, time.monotonic() - began


Result = tuple[Obligation, Outcome, float]


def _inline(chosen: Sequence[Obligation], settings: LawSettings) -> Iterator[Result]:
    for obligation in chosen:
        yield obligation, *_timed(obligation, settings.budget)


def _by_id(name: str, budget: Budget) -> tuple[Outcome, float]:
    """The outcome of an obligation by its name, in a process with the same catalogue."""
    return _timed(next(o for o in obligations() if o.id == name), budget)


def _on_processes(chosen: Sequence[Obligation], settings: LawSettings) -> Iterator[Result]:
    with shared_out(_by_id, ((o, (o.id, settings.budget)) for o in chosen), settings.jobs) as ended:
        for obligation, future in ended:
            try:
                outcome, seconds = future.result()
            except BrokenProcessPool:
                outcome, seconds = Outcome("unknown", "", detail="its process died"), 0.0
            yield obligation, outcome, seconds
