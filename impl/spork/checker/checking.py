"""
Checking
========

The verdict of the fast checker on a program at given sizes. It is that of `spec.abstract_machine.check`, which is the
law: the same hazards in the same order, found as often, between the same events, out of as many events and accesses.

A program that `spec` refuses in the middle of its run is refused with the same error (`refusals`). The literal machine
unfolds a whole run before it looks at it; so a refusal comes before all hazards, and one behind an await that never
returns counts as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from soundline.impl.spork.checker.engine import Engine, Progress, TasksDiffer
from soundline.impl.spork.checker.findings import Findings
from soundline.impl.spork.checker.planning.plan import (
    Apart,
    Block,
    Check,
    For,
    If,
    Launch,
    Node,
    Outcome,
    Plan,
    nodes,
)
from soundline.impl.spork.checker.planning.programs import plan_of
from soundline.impl.spork.checker.reducing.plans import reduced
from soundline.impl.spork.checker.refusals import refuse
from soundline.spec.abstract_machine import Verdict
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.synchronization.visibility import Policy

Sizes = Mapping[str, int | bool]


def check(
    proc: Proc,
    sizes: Sizes,
    *,
    policy: Policy = Policy.temporal,
    budget: int | None = None,
    progress: Progress | None = None,
    skips: bool = True,
) -> Verdict:
    """The verdict on a program at given sizes.

    `budget` is how many bytes of memory the check may need, `progress` is told how far it is; what it raises ends the
    check. Without `skips` every task and every iteration is run. Raises `SoundlineError` where the program breaks its
    law or the sizes do not fit it, and `OutOfMemoryError` where the check has no place.
    """
    whole = plan_of(proc, sizes)
    engine, out = outcome(whole, policy, budget, progress, skips)
    refuse_what_follows(engine.plan, whole, out, budget)
    found = Findings(engine, whole).of(out.sightings)
    return Verdict(found, out.events, out.accesses, policy)


def outcome(
    whole: Plan,
    policy: Policy,
    budget: int | None = None,
    progress: Progress | None = None,
    skips: bool = True,
) -> tuple[Engine, Outcome]:
    """What comes of a plan, and the engine that has run it. Where an await never returns in a task, how many events
    there were before is known only if all tasks before it were run.
    """
    engine = Engine(reduced(whole, tasks=skips, periods=skips), policy, budget=budget, progress=progress)
    try:
        return engine, engine.run()
    except TasksDiffer:
        engine = Engine(reduced(whole, tasks=False, periods=skips), policy, budget=budget, progress=progress)
        return engine, engine.run()


# Refusals ---------------------------------------------------------------------------------------------------------


def refuse_what_follows(plan: Plan, whole: Plan, out: Outcome, budget: int | None = None) -> None:
    """Raise the error of the law where the run of a plan is refused, be it behind an await that never returns."""
    if out.refused is not None:
        refuse(plan, out.refused)
    stopped = any(s.rule == "mach-await-progress" for s in out.sightings)
    if stopped and any(isinstance(node, Check | Apart) for node in nodes(whole.root)):
        asked = replace(whole, root=_conditions(whole.root))
        later = Engine(asked, budget=budget).run()
        if later.refused is not None:
            refuse(asked, later.refused)


def _conditions(node: Node) -> Block:
    """What a run asks under a node, without its events."""
    match node:
        case Check() | Apart():
            return Block((node,))
        case Block(inner):
            kept = (_conditions(part) for part in inner)
            return Block(tuple(part for block in kept for part in block.nodes))
        case If(condition, body, orelse):
            one, other = _conditions(body), _conditions(orelse)
            return Block((If(condition, one, other),)) if one.nodes or other.nodes else Block()
        case Launch(body=body):
            return _conditions(body)
        case For(body=body):
            asked = _conditions(body)
            return Block((replace(node, kind="seq", is_task=False, body=asked),)) if asked.nodes else Block()
        case _:
            return Block()
