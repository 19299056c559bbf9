"""
The cost of goals
=================

While a layer is judged, a meter notes for each goal, that is, each instance of the rule, how much processor time it
took, which a busy machine does not lengthen, and how much of the solver's own work. Nothing that decides a verdict
reads the meter.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

SLOWEST = 10
"""How many of the slowest goals are named."""


@dataclass(frozen=True, slots=True)
class GoalCost:
    """What judging one instance took."""

    label: str
    seconds: float
    """Of processor time."""
    work: int
    """In the solver's own count, which is the same on every machine."""


@dataclass(frozen=True, slots=True)
class LayerCost:
    """What judging one layer of a rule took by the clock, and goal by goal. Reading the rule is no part of it."""

    rule: str
    layer: str
    seconds: float
    goals: tuple[GoalCost, ...]


@dataclass
class Meter:
    """The goals of one layer, and the work of the solver so far."""

    work: int = 0
    goals: list[GoalCost] = field(default_factory=list)
    gave_up: int = 0
    """How many questions the solver left open because their budget was spent."""


class Labelled(Protocol):
    """A goal, as far as a meter is concerned."""

    @property
    def label(self) -> str:
        """Which instance it is."""
        ...


G = TypeVar("G", bound=Labelled)

_running: list[Meter] = []


@contextlib.contextmanager
def measuring() -> Iterator[Meter]:
    """A meter that runs inside of this context."""
    meter = Meter()
    _running.append(meter)
    try:
        yield meter
    finally:
        _running.pop()


def metered(goals: Iterable[G]) -> Iterator[G]:
    """The same goals; what passes between one and the next is what the first has cost."""
    for goal in goals:
        meter = _running[-1] if _running else Meter()
        began, before = time.process_time(), meter.work
        try:
            yield goal
        finally:
            meter.goals.append(GoalCost(goal.label, time.process_time() - began, meter.work - before))


def worked(solver: Any) -> None:
    """Note what the last question to a Z3 solver has cost; of several to one solver, the sum is kept by the solver."""
    if not _running:
        return
    found = solver.statistics()
    count = next((found.get_key_value(k) for k in found.keys() if k == "rlimit count"), 0)  # noqa: SIM118
    _running[-1].work += int(count)


def gave_up() -> None:
    """Note that the budget of a question was spent."""
    if _running:
        _running[-1].gave_up += 1


# as data ----------------------------------------------------------------------------------------------------------


def to_json(meter: Meter) -> list[list[Any]]:
    """The goals of a meter as JSON data."""
    return [[g.label, round(g.seconds, 6), g.work] for g in meter.goals]


def from_json(rule: str, layer: str, seconds: float, goals: Sequence[Sequence[Any]]) -> LayerCost:
    """The cost of a layer, from what `to_json` wrote."""
    return LayerCost(rule, layer, seconds, tuple(GoalCost(str(n), float(s), int(w)) for n, s, w in goals))


def summary(costs: Sequence[LayerCost]) -> dict[str, Any]:
    """All goals in a few numbers, and the slowest by name."""
    goals = sorted(((c, g) for c in costs for g in c.goals), key=lambda x: -x[1].seconds)
    if not goals:
        return {"count": 0}
    seconds = [g.seconds for _, g in goals]
    return {
        "count": len(goals),
        "median_seconds": round(statistics.median(seconds), 6),
        "p95_seconds": round(seconds[int(0.05 * len(seconds))], 6),
        "slowest_seconds": round(seconds[0], 6),
        "seconds": round(sum(seconds), 3),
        "work": sum(g.work for _, g in goals),
        "slowest": [
            {
                "rule": c.rule,
                "layer": c.layer,
                "goal": g.label,
                "seconds": round(g.seconds, 6),
                "work": g.work,
            }
            for c, g in goals[:SLOWEST]
        ],
    }


def in_words(costs: Sequence[LayerCost]) -> str:
    """One line about what the goals took; empty where none was judged."""
    found = summary(costs)
    if not found["count"]:
        return ""
    slowest = found["slowest"][0]
    return (
        f"{found['count']:,} goals judged: median {_short(found['median_seconds'])}, 95 % within "
        f"{_short(found['p95_seconds'])}, slowest {_short(slowest['seconds'])} "
        f"({slowest['rule']} at {slowest['layer']})"
    )


def _short(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
