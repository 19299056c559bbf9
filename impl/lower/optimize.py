"""
Optimize
========

Swap and split ranges, and determine which axes are parallel and which are serial.

Input and output: a Linear of Sinks of scalars; the output has Ranges of type THREAD, which are dealt out to cores, and
UPCAST, UNROLL and GROUP_REDUCE, the lanes that one core works on at once. What is done to a kernel is a *schedule*
(`schedule`): a list of steps that is kept, and that is all that is done to it but for the rules of the library, which
are applied before and after. The steps are those that a user gives, or that a search has found, or else those that the
heuristics choose (`heuristics`); the same code carries them out (`scheduling`).

A running fold along a loop (`scans`) takes one step in each iteration, by a rule, before anything is scheduled.

What packs for a kernel, and each nest that is dealt out to cores, becomes a kernel by itself, because cores meet again
only where a kernel ends.

*Invariant*: the values of all stores are unchanged; bit for bit without a licence.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping

from soundline.impl.lower import tiles
from soundline.impl.lower.heuristics import schedule_of
from soundline.impl.lower.scans import scanned
from soundline.impl.lower.schedule import Given, Scheduled, axis_text
from soundline.impl.lower.scheduling import Scheduling, launched, scheduled
from soundline.impl.lower.simplify import Applied, simplified
from soundline.spec.uop import Op, UOp, toposort


def optimize(kernels: UOp, licences: Collection[str], applied: Applied) -> UOp:
    """Simplify every kernel and do to it what the heuristics choose; `applied` counts the rules."""
    return optimized(kernels, licences, applied)[0]


def optimized(
    kernels: UOp, licences: Collection[str], applied: Applied, given: Mapping[int, Given] | None = None
) -> tuple[UOp, tuple[Scheduled, ...]]:
    """Simplify every kernel and carry out its schedule, the one that is given for its number or that of the heuristics.
    `applied` counts the rules. The schedules are told with the program.
    """
    given = given or {}
    numbers = itertools.count(1 + max((n.arg.id for n in toposort(kernels) if n.op is Op.Range), default=-1))
    slots = itertools.count(1 + max((n.arg.slot for n in toposort(kernels) if n.op is Op.Buffer), default=-1))
    found: list[UOp] = []
    told: list[Scheduled] = []
    for k, kernel in enumerate(kernels.src):
        kernel = simplified(kernel, licences, applied)
        nests = [n for nest in kernel.src for n in scanned(nest, numbers, applied) or [nest]]
        made = Scheduling(Op.Sink(*nests), numbers, slots, licences, k in given)
        axes = " ".join(map(axis_text, made.axes))
        if k in given:
            scheduled(made, given[k].steps)
        else:
            schedule_of(made, tiles.this_machine())
        launches = [simplified(s, licences, applied) for s in launched(made.sink)]
        origin = given[k].origin if k in given else "heuristics"
        told.append(Scheduled(k, axes, tuple(made.steps), origin, len(launches)))
        found += launches
    return Op.Linear(*found), tuple(told)
