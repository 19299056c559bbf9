"""
Linking
=======

From steps to a command buffer. Every unit is lowered once, and all kernels of all units are one C file; each step runs
the kernels of its unit over a window of slots of its own, which point to the places that it takes and gives.

Temporaries lie in one arena: the places between steps from the step that writes them to the last that reads them, and
the temporaries of a unit while it runs. Two places share bytes only if they are never live at the same time, so that a
unit that runs at twelve sites needs its memory once.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from soundline.impl.compilation.stages import STAGES, Lowered, lower, rendered
from soundline.impl.logs import Stopwatch
from soundline.impl.lower.graphs.obligations import Obligation
from soundline.impl.lower.graphs.simplify import Applied
from soundline.impl.lower.linear.plan import layout
from soundline.impl.lower.schedule.schedules import Numbered, Scheduled
from soundline.impl.lower.steps import Copy, Embedded, Foreign, Run, Step, Steps
from soundline.spec.errors import ScheduleError
from soundline.spec.uop import Op, UOp, toposort

Window = tuple[tuple[int, int], ...]
"""Where the slots of a step point: for each a place of the program, or -1 for the arena, and an offset in bytes."""


@dataclass(frozen=True, slots=True)
class Site:
    """One step: its unit (None of a copy, or of a function that is not ours), and its window of slots."""

    step: Step
    unit: int | None
    window: Window


@dataclass(frozen=True)
class Linked:
    """The steps of a program, over its units and one arena."""

    steps: Steps
    units: tuple[Lowered, ...]
    sites: tuple[Site, ...]
    arena: int
    """The number of bytes of temporaries."""
    foreign: Mapping[str, UOp | None]
    """The kernels of the custom functions that are called, by name; None of one in Python."""
    timed: Stopwatch = field(default_factory=lambda: Stopwatch("compile"))
    """How long it took to render the units together."""

    @property
    def seconds(self) -> Mapping[str, float]:
        """How long each stage took when the units were lowered."""
        total: Counter[str] = Counter()
        for unit in self.units:
            total.update(unit.timed.seconds)
        return {**total, **self.timed.seconds}

    @cached_property
    def kernels(self) -> tuple[UOp, ...]:
        """The kernels of all units, each once, as nests of loops over scalars."""
        return tuple(itertools.chain.from_iterable(u.stages["optimize"].src for u in self.units))

    @cached_property
    def stages(self) -> Mapping[str, UOp]:
        """The program after each stage: from Rangeify on the kernels of all units, one after the other."""
        if len(self.units) == 1:
            return self.units[0].stages
        return {name: self._stage(name) for name in STAGES[:-1]}

    def _stage(self, name: str) -> UOp:
        found = [u.stages[name] for u in self.units]
        return Op.Tuple(*found) if name == "callify" else Op.Linear(*(k for f in found for k in f.src))

    @cached_property
    def source(self) -> str:
        """The C text of all kernels."""
        texts = [kernel for kernel in self.foreign.values() if kernel is not None]
        if len(self.units) == 1 and not texts:
            return self.units[0].source
        kernels = (k for u in self.units for k in u.stages["plan"].src)
        return rendered(Op.Linear(*kernels, *texts), self.timed)

    @cached_property
    def applied(self) -> Applied:
        """The rules that rewrote the units."""
        total = Applied()
        for unit in self.units:
            total.take(unit.applied)
        return total

    @cached_property
    def discharged(self) -> tuple[Obligation, ...]:
        """The obligations of all units; kernels are numbered as in `kernels`."""
        return tuple(
            Obligation(first + o.kernel, o.access, o.slot, o.size, o.how, o.interval)
            for unit, first in zip(self.units, self.first_kernels, strict=True)
            for o in unit.discharged
        )

    @cached_property
    def schedules(self) -> tuple[Scheduled, ...]:
        """What Optimize has done to each kernel of Rangeify; they are numbered through all units."""
        told = itertools.chain.from_iterable(u.schedules for u in self.units)
        return tuple(replace(s, kernel=k) for k, s in enumerate(told))

    @cached_property
    def foreign_numbers(self) -> Mapping[str, int]:
        """The numbers of the custom functions in C among all kernels: they come last."""
        first = sum(len(u.stages["plan"].src) for u in self.units)
        texts = [name for name, kernel in self.foreign.items() if kernel is not None]
        return {name: first + k for k, name in enumerate(texts)}

    @cached_property
    def first_kernels(self) -> tuple[int, ...]:
        """The number of the first kernel of each unit among all kernels of the program."""
        counts = (len(u.stages["plan"].src) for u in self.units)
        return tuple(itertools.accumulate(counts, initial=0))[:-1]

    @property
    def slots(self) -> int:
        """The number of places that the caller gives, and the arena."""
        return self.steps.arguments + self.steps.results + 1

    @property
    def embedded(self) -> tuple[Any, ...]:
        """The compiled programs that are called, each once."""
        found = (s.step.program.program for s in self.sites if isinstance(s.step, Embedded))
        return tuple(dict.fromkeys(found))

    @property
    def copies(self) -> tuple[Copy, ...]:
        """The copies between devices, in order."""
        return tuple(s.step for s in self.sites if isinstance(s.step, Copy))


def linked(
    steps: Steps,
    profile: str,
    given: Numbered = (),
    foreign: Callable[[str], UOp | None] = lambda name: None,
) -> Linked:
    """Lower the units of a program, and lay out its memory. Schedules may be given for kernels of Rangeify, numbered
    through all units; `foreign` gives the kernels of custom functions.
    """
    units = {unit: lower(unit, profile) for unit in steps.units}
    units |= _scheduled(units, profile, given) if given else {}
    numbers = {unit: k for k, unit in enumerate(units)}
    arenas = {unit: arena_size(lowered) for unit, lowered in units.items()}
    lives = list(_lives(steps, arenas))
    offsets, size = layout([(nbytes, first, last) for _, nbytes, first, last in lives])
    where = {key: offset for (key, *_), offset in zip(lives, offsets, strict=True)}
    sites = []
    for at, step in enumerate(steps.steps):
        window = [_pointed(steps, where, place) for place in (*step.takes, *step.gives)]
        if isinstance(step, Run | Embedded):
            window.append((-1, where.get(("arena", at), 0)))
        sites.append(Site(step, numbers[step.unit] if isinstance(step, Run) else None, tuple(window)))
    names = dict.fromkeys(s.function.arg for s in steps.steps if isinstance(s, Foreign))
    kernels = {name: foreign(name) for name in names}
    return Linked(steps, tuple(units.values()), tuple(sites), size, kernels)


def _scheduled(units: Mapping[UOp, Lowered], profile: str, given: Numbered) -> dict[UOp, Lowered]:
    """The units for kernels of which schedules are given, lowered with them."""
    found: dict[UOp, Lowered] = {}
    first = 0
    for unit, lowered in units.items():
        end = first + len(lowered.schedules)
        own = tuple((k - first, s) for k, s in given if first <= k < end)
        if own:
            found[unit] = lower(unit, profile, own)
        first = end
    wrong = [k for k, _ in given if not 0 <= k < first]
    if wrong:
        wants = f"one of the {first} kernels, numbered from 0"
        raise ScheduleError("schedule", "U-50", given=f"kernel {wrong[0]}", wants=wants)
    return found


def arena_size(lowered: Lowered) -> int:
    """The bytes of temporaries of a unit."""
    function = lowered.stages["callify"]
    slot = len(function.src) - 1 + len(function.src[0].src)
    found = (n for n in toposort(lowered.stages["plan"]) if n.op is Op.Buffer and n.arg.slot == slot)
    return next((n.arg.size for n in found if n.arg.addrspace == "GLOBAL"), 0)


def _lives(steps: Steps, arenas: Mapping[UOp, int]) -> Iterator[tuple[tuple[str, int], int, int, int]]:
    """What lies in the arena: the size of each place, and the first and last step at which it is live."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for at, step in enumerate(steps.steps):
        own = arenas[step.unit] if isinstance(step, Run) else 0
        own = step.program.program.loaded.program.arena if isinstance(step, Embedded) else own
        if own:
            yield ("arena", at), own, at, at
        for place in (*step.gives, *step.takes):
            first.setdefault(place, at)
            last[place] = at
    for place, begin in first.items():
        if place >= steps.arguments + steps.results:
            yield ("place", place), steps.places[place].nbytes, begin, last[place]


def _pointed(steps: Steps, where: Mapping[tuple[str, int], int], place: int) -> tuple[int, int]:
    own = place < steps.arguments + steps.results
    return (place, 0) if own else (-1, where["place", place])
