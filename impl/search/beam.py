"""
Search
======

BEAM search for the schedule of each kernel of a program. The search begins with the heuristics' schedule and with the
empty one. In each round it extends every schedule by one move (`impl.search.steps`), measures the results
(`impl.search.trials`), and keeps the few that are fastest. It ends when no schedule becomes faster. The best schedule
is kept beside the compile cache, under the hash of everything that it depends on, so that one process searches and all
others read.

``sl.compile(..., beam=2)`` asks for it, or the environment variable ``SOUNDLINE_BEAM``. The search depends on nothing
but the kernel, the machine, and measured times.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from soundline.impl.compilation.stages import PROFILES, lower
from soundline.impl.cores import cores
from soundline.impl.logs import logger
from soundline.impl.lower.graphs.simplify import Applied, simplified
from soundline.impl.lower.optimize import prepared_nest
from soundline.impl.lower.schedule.schedules import Given, Numbered, Schedule, parsed, schedule_text
from soundline.impl.lower.schedule.target import Target
from soundline.impl.lower.schedule.tiles import this_machine
from soundline.impl.runtime import cache
from soundline.impl.search.steps import fresh, neighbours, seeds, under
from soundline.impl.search.trials import Clock, Trial, a_worker, apart
from soundline.impl.toolchain import find_compiler
from soundline.spec.errors import ScheduleError
from soundline.spec.kernels.opt import OptOp
from soundline.spec.ops.textual_form import program_text
from soundline.spec.uop import Op, UOp, rebuilt, toposort

VERSION: Final = 1
"""The version of the search: results of another version are not used."""
DEPTH: Final = 6
"""The most moves after the initial schedules."""
MOST: Final = 96
"""The most candidates of one round."""
SECONDS: Final = 120.0
"""The time after which no further round begins."""
GAIN: Final = 0.98
"""The search ends with a round that does not reduce the best time to less than this share of it."""
_LOG = logger("search")


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search: a schedule, its seconds, and the seconds of the heuristics' schedule."""

    steps: Schedule
    seconds: float
    heuristics: float
    tried: int
    """How many candidates were measured; 0 where the result was kept from an earlier search."""


def beam_search(
    sink: UOp,
    licences: Collection[str],
    target: Target,
    width: int,
    clock: Clock,
    told: Callable[[int, int, float], None] = lambda done, count, best: None,
) -> Found:
    """The fastest schedule that a beam of `width` finds for a kernel, by a clock."""
    began = time.monotonic()
    first = seeds(sink, target, licences)
    known: dict[Schedule, float | None] = {}
    programs: set[UOp] = set()

    def measure(candidates: Sequence[Schedule]) -> None:
        new = []
        for c in candidates:
            kernel = under(sink, c, licences)
            if c not in known and kernel is not None and (form := _form(kernel.sink)) not in programs:
                programs.add(form)
                new.append(c)
        for k in range(0, len(new), 24):
            part = new[k : k + 24]
            known.update(zip(part, clock(part), strict=True))
            told(len(known), len(known) + len(new) - k - len(part), min(_times(known), default=math.inf))

    measure(first)
    heuristics = next((s for s in (known.get(c) for c in first[1:]) if s is not None), math.inf)
    for _ in range(DEPTH):
        ranked = _ranked(known)[:width]
        before = ranked[0][0] if ranked else math.inf
        near = [n for _, steps in ranked for n in neighbours(sink, steps, licences) if n not in known]
        measure(list(dict.fromkeys(near))[:MOST])
        if min(_times(known), default=math.inf) > GAIN * before or time.monotonic() - began > SECONDS:
            break
    ranked = _ranked(known)
    if not ranked:
        raise ScheduleError("search", "U-50", given="no candidate that runs", wants="one that does")
    seconds, steps = ranked[0]
    return Found(steps, seconds, heuristics, len(known))


def _times(known: dict[Schedule, float | None]) -> Iterator[float]:
    return (s for s in known.values() if s is not None)


def _ranked(known: dict[Schedule, float | None]) -> list[tuple[float, Schedule]]:
    """The candidates that run, the fastest first; of equally fast ones the shortest, then the first by its text."""
    found = [(s, steps) for steps, s in known.items() if s is not None]
    return sorted(found, key=lambda f: (f[0], len(f[1]), schedule_text(f[1])))


def _form(sink: UOp) -> UOp:
    """A kernel with its Ranges and temporaries numbered in the order in which they stand."""
    ranges, slots = itertools.count(), itertools.count()

    def change(node: UOp, src: tuple[UOp, ...]) -> UOp | None:
        if node.op is Op.Range:
            return UOp(Op.Range, src, replace(node.arg, id=next(ranges)), node.tag)
        if node.op is Op.Buffer:
            return UOp(Op.Buffer, src, replace(node.arg, slot=next(slots)), node.tag)
        return None

    return rebuilt(sink, change)


# Results that are kept --------------------------------------------------------------------------------------------


def key_of(sink: UOp, licences: Collection[str], target: Target, width: int) -> str:
    """The hash of everything that the result of a search depends on, except the times."""
    parts = (program_text(sink), *sorted(licences), repr(target), str(width), str(VERSION), str(cores()))
    return cache.key_of("\0".join(parts), find_compiler())


def kept(key: str) -> Found | None:
    """The result of an earlier search; None where there is none that can be read."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, ScheduleError):
        held: dict[str, Any] = json.loads(_place(key).read_text(encoding="utf-8"))
        if held["sum"] == _sum(held["steps"]):
            return Found(parsed(held["steps"]), float(held["seconds"]), float(held["heuristics"]), 0)
    return None


def keep(key: str, found: Found) -> None:
    """Keep a result; the entry appears whole, or, where it cannot be written, not at all."""
    steps = schedule_text(found.steps)
    entry = {"steps": steps, "seconds": found.seconds, "heuristics": found.heuristics, "sum": _sum(steps)}
    place = _place(key)
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=place.parent, prefix="build-", delete=False
        ) as scratch:
            json.dump(entry, scratch)
        Path(scratch.name).replace(place)


def _place(key: str) -> Path:
    return cache.cache_folder() / f"{key}.schedule"


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@contextlib.contextmanager
def _alone(key: str) -> Iterator[None]:
    """Only one process of this machine at a time, where the platform has locks on files."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            cache.cache_folder().mkdir(parents=True, exist_ok=True)
            held = stack.enter_context(_place(key).with_suffix(".lock").open("w"))
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


# Programs ---------------------------------------------------------------------------------------------------------


def schedules_for(units: Collection[UOp], profile: str, width: int, leave: Collection[int] = ()) -> Numbered:
    """The schedules that a search finds for the kernels of a program, by number; those in `leave` are given already."""
    lowered = [lower(unit, profile) for unit in dict.fromkeys(units)]
    kernels = [k for one in lowered for k in one.stages["rangeify"].src]
    by_rule = {
        k for k, s in enumerate(s for one in lowered for s in one.schedules) if s.origin != "heuristics"
    }
    licences = PROFILES[profile]
    found: list[tuple[int, Given]] = []
    with contextlib.ExitStack() as stack:
        worker = stack.enter_context(a_worker())
        shown = stack.enter_context(_progress())
        for k, sink in enumerate(kernels):
            if k in leave or k in by_rule or not searchable(before_its_schedule(sink, licences), licences):
                continue

            def clock(sink: UOp) -> Clock:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="soundline-search-"))
                return Trial(sink, licences, Path(folder), worker)

            best = best_of(sink, licences, width, clock, shown(f"kernel {k} of {len(kernels)}"))
            found.append((k, Given(best.steps, "search")))
    return tuple(found)


def searchable(sink: UOp, licences: Collection[str]) -> bool:
    """Whether a kernel is one that schedules are made for: its sizes are numbers, and it has no storage of its own."""
    if any(n.op is Op.Range and n.src[0].op is not Op.Const for n in toposort(sink)):
        return False
    own = any(n.op is Op.Buffer and n.arg.addrspace != "GLOBAL" for n in toposort(sink))
    return not own and bool(fresh(sink, licences).axes)


def before_its_schedule(sink: UOp, licences: Collection[str]) -> UOp:
    """A kernel of Rangeify as the first step of its schedule finds it."""
    applied = Applied()
    simple = simplified(sink, licences, applied)
    numbers = itertools.count(1 + max((n.arg.id for n in toposort(simple) if n.op is Op.Range), default=-1))
    return Op.Sink(*(n for nest in simple.src for n in prepared_nest(nest, numbers, licences, applied)))


def best_of(
    sink: UOp,
    licences: Collection[str],
    width: int,
    clock: Callable[[UOp], Clock],
    told: Callable[[int, int, float], None] = lambda done, count, best: None,
) -> Found:
    """The best schedule of a kernel, from an earlier search or from one that is made now."""
    plain, buffers, target = *apart(before_its_schedule(sink, licences)), this_machine()
    key = key_of(plain, licences, target, width)
    with _alone(key):
        found = kept(key)
        if found is None or under(plain, found.steps, licences) is None:
            found = beam_search(plain, licences, target, width, clock(plain), told)
            keep(key, found)
            _LOG.info(
                "tried %d candidates: %.4g s, by heuristics %.4g s: %s",
                *(found.tried, found.seconds, found.heuristics, schedule_text(found.steps)),
            )
    back = {k: slot for k, (_, _, slot) in enumerate(buffers)}
    return replace(found, steps=tuple(_over(step, back) for step in found.steps))


def _over(step: OptOp, slots: Mapping[int, int]) -> OptOp:
    """A step over the Buffers of the program."""
    return replace(step, arg=slots[step.arg]) if step.op == "Pack" else step


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str], Callable[[int, int, float], None]]]:
    """A bar on standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        yield (
            lambda name: lambda done, count, best: _LOG.debug("%s: %d of %d, %.4g s", name, done, count, best)
        )
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:

        def shown(name: str) -> Callable[[int, int, float], None]:
            task = bar.add_task(name, total=None)
            return lambda done, count, best: bar.update(
                task, completed=done, total=count, description=f"{name}: {best:.3g} s"
            )

        yield shown
