"""
The opinion of Presburger sets
==============================

Of scalar rules of integers, decided from their nodes; of rules about shapes, every question that Z3 was asked, decided
from its text, as far as it is linear.
"""

from __future__ import annotations

import time
from collections import Counter

from soundline.verify.second.asked import EXCLUDED, Asked, Opinion, instances
from soundline.verify.second.batches import can_evaluate, outcomes, told
from soundline.verify.second.isl_planes import Outside
from soundline.verify.second.presburger import decide
from soundline.verify.second.presburger_questions import is_unsatisfiable
from soundline.verify.second.solvers import version_of
from soundline.verify.smt.counterexamples.scalars import replay
from soundline.verify.smt.goals.obligations import Obligation
from soundline.verify.smt.goals.points import FAILS, Point
from soundline.verify.verdicts.verdict import LayerResult

LAYER_SECONDS = 30.0
"""The time for one layer after which the rest of its questions is left open."""


def label() -> str:
    """The name and the version."""
    return f"islpy {version_of('islpy')}"


def opinion(asked: Asked) -> Opinion:
    """What Presburger sets say of a layer."""
    return _about_questions(asked) if asked.why_not else _about_scalars(asked)


def _about_scalars(asked: Asked) -> Opinion:
    began, counted, why, applies = time.monotonic(), Counter[str](), "", False
    for obligation in asked.obligations:
        try:
            if time.monotonic() - began > LAYER_SECONDS:
                raise Outside("the time for one layer was spent")
            decided = decide(obligation)
        except Outside as outside:
            counted["open"] += 1
            why = why or str(outside)
            continue
        if decided.failing is not None:
            return _with_a_point(asked, obligation, decided.failing)
        counted["holds"] += 1
        applies |= decided.applies
    return _all_hold(asked, counted, why, applies)


def _all_hold(asked: Asked, counted: Counter[str], why: str, applies: bool) -> Opinion:
    by, verdict = label(), asked.found.verdict
    if not counted["holds"]:
        return Opinion(by, "open", why or "there is nothing to ask")
    told_counts = f"{counted['holds']} of {instances(counted.total())} hold" + (f"; {why}" if why else "")
    if counted["open"]:
        return Opinion(by, "open", told_counts)
    if verdict == "refuted":
        return Opinion(by, "contradicts", told_counts)
    if verdict == "vacuous" and EXCLUDED in asked.found.detail:
        if applies:
            return Opinion(by, "contradicts", "some input meets the condition")
        return Opinion(by, "agrees", EXCLUDED)
    if verdict == "unknown" and applies:
        asked.settled = LayerResult(asked.found.layer, "proved", f"all values, by {by} alone")
    return Opinion(by, "agrees" if verdict == "proved" else "open", told_counts)


def _with_a_point(asked: Asked, obligation: Obligation, point: Point) -> Opinion:
    shown = can_evaluate(obligation) and next(outcomes(obligation, [point]))[1] == FAILS
    confirmed = "as the evaluator confirms" if shown else "which the evaluator does not confirm"
    detail = f"the sides differ at {told(obligation, point)} ({obligation.label}), {confirmed}"
    if asked.found.verdict == "refuted" and shown:
        return Opinion(label(), "agrees", detail)
    if asked.found.verdict == "unknown" and shown:
        found = replay(obligation, point)
        if found is not None:
            asked.settle(found, label())
        return Opinion(label(), "open", detail)
    return Opinion(label(), "contradicts", detail)


def _about_questions(asked: Asked) -> Opinion:
    began, counted, why = time.monotonic(), Counter[str](), ""
    for text, said in asked.questions:
        if said == "unknown":
            continue
        try:
            if time.monotonic() - began > LAYER_SECONDS:
                raise Outside("the time for one layer was spent")
            found = "unsat" if is_unsatisfiable(text) else "sat"
        except Outside as outside:
            counted["open"] += 1
            why = why or str(outside)
            continue
        if found != said:
            shown = " ".join(text.split())[:2000]
            return Opinion(label(), "contradicts", f"Z3 says {said} and isl {found} of: {shown}")
        counted["agrees"] += 1
    alike = f"{counted['agrees']} of {counted.total()} questions answered alike"
    if not counted["agrees"]:
        return Opinion(label(), "open", why or "no question was asked of Z3")
    return Opinion(label(), "agrees", alike + (f"; {counted['open']} open: {why}" if why else ""))
