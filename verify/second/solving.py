"""
The same questions to another solver
====================================

For a rule about scalars, the obligation of each instance is translated anew for the other solver, independently of the
prover. For a rule about shapes, the other solver gets every question that Z3 answered on the way to the verdict, as
text.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import z3

from soundline.verify.second.asked import EXCLUDED, Asked, Opinion, instances
from soundline.verify.second.batches import can_evaluate, outcomes, told
from soundline.verify.second.solvers import Reply, Solver, point_of, solver
from soundline.verify.smt.counterexamples.scalars import replay
from soundline.verify.smt.goals.algebra import Algebra, Outside
from soundline.verify.smt.goals.obligations import Obligation
from soundline.verify.smt.goals.points import FAILS, Point
from soundline.verify.smt.integers.residue_classes import Integers
from soundline.verify.smt.values.machine_numbers import Machine
from soundline.verify.verdicts.verdict import LayerResult

LAYER_SECONDS = 30.0
"""The time for one layer after which the rest of its instances or questions is left open."""


def bitwuzla_opinion(asked: Asked) -> Opinion:
    """What Bitwuzla says of a layer."""
    return opinion(asked, solver("bitwuzla"))


def cvc5_opinion(asked: Asked) -> Opinion:
    """What cvc5 says of a layer."""
    return opinion(asked, solver("cvc5"))


def opinion(asked: Asked, other: Solver) -> Opinion:
    """What another solver says of a layer."""
    if asked.why_not:
        return _about_questions(asked, other)
    match asked.found.verdict:
        case "proved" | "unknown":
            return _about_all(asked, other)
        case "refuted":
            return _about_the_refuted(asked, other)
        case _:
            return _about_the_vacuous(asked, other)


# scalars ----------------------------------------------------------------------------------------------------------


def _text(algebra: Algebra, formulas: list[Any]) -> str:
    writer = z3.Solver(ctx=algebra.ctx)
    writer.add(*formulas)
    return str(writer.to_smt2())


def _algebras(obligation: Obligation, other: Solver) -> tuple[type[Algebra], ...]:
    if other.NAME == "bitwuzla" or any(n.dtype.is_float for n in obligation.nodes()):
        return (Machine,)
    return (Integers, Machine)


def _denied(obligation: Obligation, other: Solver) -> tuple[Reply, bool]:
    """What the solver says of the denial of an obligation, and whether a model of it may be none."""
    if obligation.licensed:
        return Reply("unknown", why="under a licence of rounding sides are equal by its theory"), False
    reply, spurious = Reply("unknown", why="no algebra has a term for it"), False
    for kind in _algebras(obligation, other):
        try:
            algebra = kind(obligation)
            formulas = algebra.denial()
        except Outside as outside:
            reply = Reply("unknown", why=f"{kind.NAME} cannot say {outside}")
            continue
        reply, spurious = other.ask(_text(algebra, formulas)), algebra.spurious
        if reply.said != "unknown":
            break
    return reply, spurious


def _about_all(asked: Asked, other: Solver) -> Opinion:
    """Whether the denial of every instance is refused."""
    began, counted, why = time.monotonic(), Counter[str](), ""
    for obligation in asked.obligations:
        if time.monotonic() - began > LAYER_SECONDS:
            counted["open"] += 1
            why = why or "the time for one layer was spent"
            continue
        reply, spurious = _denied(obligation, other)
        if reply.said == "sat" and not spurious:
            return _with_a_model(asked, other, obligation, reply)
        counted["agrees" if reply.said == "unsat" else "open"] += 1
        why = why or reply.why or ("a model that may be none" if reply.said == "sat" else "")
    if not counted:
        return Opinion(other.label, "open", "there is nothing to ask")
    if counted["open"]:
        return Opinion(other.label, "open", f"{counted['agrees']} of {instances(counted.total())}: {why}")
    if asked.found.verdict == "unknown" and any(_can_be_met(o, other) for o in asked.obligations):
        asked.settled = LayerResult(asked.found.layer, "proved", f"all values, by {other.label} alone")
    return Opinion(
        other.label,
        "agrees" if asked.found.verdict == "proved" else "open",
        f"{instances(counted.total())} hold",
    )


def _with_a_model(asked: Asked, other: Solver, obligation: Obligation, reply: Reply) -> Opinion:
    """The other solver has values at which an instance fails."""
    point = _point(obligation, reply)
    shown = point is not None and can_evaluate(obligation) and next(outcomes(obligation, [point]))[1] == FAILS
    where = f"the sides differ at {told(obligation, point)}" if point is not None else "it has a model"
    held = "as the evaluator confirms" if shown else "which the evaluator does not confirm"
    confirmed = f"{where} ({obligation.label}), {held}"
    if asked.found.verdict == "unknown":
        found = replay(obligation, point) if shown and point is not None else None
        if found is not None:
            asked.settle(found, other.label)
        return Opinion(other.label, "open" if shown else "contradicts", confirmed)
    return Opinion(other.label, "contradicts", confirmed)


def _point(obligation: Obligation, reply: Reply) -> Point | None:
    try:
        return point_of(obligation.variables, reply.model)
    except (ValueError, ArithmeticError):
        return None


def _can_be_met(obligation: Obligation, other: Solver) -> bool:
    """Whether the solver finds values that meet the premises of an instance."""
    return any(
        other.ask(text).said == "sat" for text, spurious in _premises(obligation, other) if not spurious
    )


def _premises(obligation: Obligation, other: Solver) -> Iterator[tuple[str, bool]]:
    for kind in _algebras(obligation, other):
        try:
            algebra = kind(obligation)
            formulas = [*algebra.premises(), *algebra.facts]
        except Outside:
            continue
        yield _text(algebra, formulas), algebra.spurious


def _about_the_refuted(asked: Asked, other: Solver) -> Opinion:
    """Whether the solver finds values as well at which the refuted instance fails."""
    shown = asked.found.counterexample
    wrong = [o for o in asked.obligations if shown is not None and o.label == shown.instance]
    if not wrong:
        return Opinion(other.label, "open", "the instance is not among the first")
    reply, _ = _denied(wrong[0], other)
    if reply.said == "sat":
        return Opinion(other.label, "agrees", f"it finds values, too ({wrong[0].label})")
    if reply.said == "unsat":
        return Opinion(other.label, "contradicts", f"it proves the instance ({wrong[0].label})")
    return Opinion(other.label, "open", reply.why)


def _about_the_vacuous(asked: Asked, other: Solver) -> Opinion:
    """Whether the solver, too, finds nothing that meets the conditions."""
    if EXCLUDED not in asked.found.detail:
        return Opinion(other.label, "open", "there is nothing to ask")
    undecided = ""
    for obligation in asked.obligations:
        replies = [other.ask(text) for text, spurious in _premises(obligation, other) if not spurious]
        said = {r.said for r in replies}
        if "sat" in said and "unsat" not in said:
            return Opinion(
                other.label, "contradicts", f"it finds values that meet the condition ({obligation.label})"
            )
        if "unsat" not in said:
            undecided = next((r.why for r in replies if r.why), "no algebra has a term for it")
    return Opinion(other.label, "open", undecided) if undecided else Opinion(other.label, "agrees", EXCLUDED)


# shapes -----------------------------------------------------------------------------------------------------------


def _about_questions(asked: Asked, other: Solver) -> Opinion:
    """Whether the solver answers as Z3 did."""
    began, counted, why = time.monotonic(), Counter[str](), ""
    for text, said in asked.questions:
        if said == "unknown":
            continue
        if time.monotonic() - began > LAYER_SECONDS:
            counted["open"] += 1
            why = why or "the time for one layer was spent"
            continue
        reply = other.ask(text)
        if reply.said == "unknown":
            counted["open"] += 1
            why = why or reply.why
        elif reply.said == said:
            counted["agrees"] += 1
        else:
            return Opinion(
                other.label, "contradicts", f"Z3 says {said} and {other.NAME} {reply.said} of: {_short(text)}"
            )
    if not counted:
        return Opinion(other.label, "open", "no question was asked of Z3")
    told_counts = f"{counted['agrees']} of {counted.total()} questions answered alike"
    if not counted["agrees"]:
        return Opinion(other.label, "open", f"{told_counts}: {why}")
    return Opinion(
        other.label, "agrees", told_counts + (f"; {counted['open']} open: {why}" if counted["open"] else "")
    )


def _short(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines() if not line.startswith(";"))[:2000]
