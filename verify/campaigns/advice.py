"""
The campaign's advice
=====================

After the verdicts: advice on every rule that is proved or refuted, each in a job of its own that may be killed when it
takes too long, and one job about all rules as a set. Advice that could not be found is reported as missing, and affects
nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from soundline.verify.advice.advising import with_subsumed
from soundline.verify.advice.results import (
    Advice,
    Order,
    RuleAdvice,
    Subsumed,
    order_from_json,
    rule_from_json,
)
from soundline.verify.campaigns.workers import Job, Outcome, Pool
from soundline.verify.files.problems import displayed
from soundline.verify.reports.cases import Case
from soundline.verify.reports.report import Listener
from soundline.verify.verdicts.effort import Effort

TOGETHER = "all rules together"
"""How the job about all rules is named while it runs."""

ROUNDS = 6
"""Advice on one rule may take as long as so many goals; on all of them, twice as long."""


def advise_cases(
    cases: Sequence[Case],
    *,
    jobs: int,
    prover: str,
    effort: Effort,
    reading_seconds: float,
    listener: Listener,
) -> Advice:
    """Advice on the rules of a campaign that has judged them."""
    judged = [c for c in sorted(cases, key=lambda c: c.order) if c.complete and not c.problem]
    found: dict[int, RuleAdvice] = {}
    together: tuple[dict[str, tuple[Subsumed, ...]], Order | None] = ({}, None)
    with Pool(jobs, prover) as pool:
        for request, owner in _requests(judged, effort):
            share = ROUNDS * (2 if owner is None else 1)
            pool.submit(Job(request, reading_seconds, 2 + share * effort.seconds, owner))
        while not pool.idle:
            listener.works_on(
                [TOGETHER if j.owner is None else f"advice on {judged[j.owner].id}" for j in pool.running]
            )
            outcome = pool.next()
            if outcome.job.owner is None:
                together = _as_a_set(outcome)
            else:
                place = outcome.job.owner
                found[place] = _as_advice(outcome, judged[place])
    each = [found.get(n, _about(c)) for n, c in enumerate(judged)]
    return Advice(with_subsumed(each, together[0]), together[1])


def _requests(judged: Sequence[Case], effort: Effort) -> list[tuple[dict[str, Any], int | None]]:
    """The requests to the workers, each with its rule; None stands for all rules."""
    budget = {"rlimit": effort.rlimit, "seconds": effort.seconds, "seed": effort.seed}
    verdicts = [c.report().verdict for c in judged]
    asked: list[tuple[dict[str, Any], int | None]] = []
    if judged:
        proved = [c.id for c, verdict in zip(judged, verdicts, strict=True) if verdict == "proved"]
        everything = {"do": "advise together", "files": _files(judged), "proved": proved, "budget": budget}
        asked.append((everything, None))
    for place, (case, verdict) in enumerate(zip(judged, verdicts, strict=True)):
        if verdict in ("proved", "refuted"):
            one = {"do": "advise", "files": _files([case]), "verdict": verdict, "budget": budget}
            asked.append((one, place))
    return asked


def _files(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """The files of these rules, each with the places of its rules."""
    files: dict[int, dict[str, Any]] = {}
    for case in cases:
        reading = case.reading
        file = files.setdefault(
            reading.place, {**reading.request("list"), "digest": reading.digest, "ordinals": []}
        )
        file["ordinals"].append(case.said["ordinal"])
    return list(files.values())


def _about(case: Case) -> RuleAdvice:
    return RuleAdvice(case.id, displayed(case.said["file"]), case.said["line"])


def _as_advice(outcome: Outcome, case: Case) -> RuleAdvice:
    if "advice" in outcome.answer:
        return replace(rule_from_json(outcome.answer["advice"]), file=displayed(case.said["file"]))
    return replace(_about(case), note=_why_not(outcome))


def _as_a_set(outcome: Outcome) -> tuple[dict[str, tuple[Subsumed, ...]], Order | None]:
    if "order" not in outcome.answer:
        return {}, Order((), 0, note=_why_not(outcome))
    said = outcome.answer
    covered = {name: tuple(Subsumed(**x) for x in those) for name, those in said["subsumed"].items()}
    return covered, order_from_json(said["order"])


def _why_not(outcome: Outcome) -> str:
    if outcome.end == "overran":
        return f"no advice within {outcome.seconds:.0f} s"
    if outcome.end == "crashed":
        return f"no advice: the process that looked for it died ({outcome.status})"
    return f"no advice: {outcome.answer.get('failure', 'nothing was answered')}"
