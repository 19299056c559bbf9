"""
Schedules
=========

What `optimize` does to a kernel is a list of OptOps, the *schedule*: the heuristics make one, a search may find a
better one, and a user may give one. Its steps are the law's own (:mod:`soundline.spec.kernels.optops`), and the three
of `EXTENSIONS`, which a CPU needs and the source's table does not have. Axes are named by their position in the kernel,
as the law counts them: the loops of the nests, outermost first, then those of the reductions.

A schedule has a textual form, one step after the other, which reads back to the same steps:

>>> text = "Split 1 64 UPCAST; Swap 0 1; Split 0 8 THREAD top; Padto 2 16; Cut 3 960; Pack 2 1"
>>> schedule_text(parsed(text)) == text
True
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from soundline.impl.lower.schedule.extensions import EXTENSIONS
from soundline.spec.errors import ScheduleError
from soundline.spec.kernels.opt import OptOp
from soundline.spec.kernels.optops import OPTOPS, OptEntry
from soundline.spec.uop import AxisType

Schedule = tuple[OptOp, ...]
"""Steps, the first applied first."""

STEPS: Final[dict[str, OptEntry]] = {**OPTOPS, **EXTENSIONS}
"""Every step of a schedule, by name."""


@dataclass(frozen=True, slots=True)
class Given:
    """A schedule that the heuristics are not asked for."""

    steps: Schedule
    origin: str = "given"
    """Who chose it: ``given`` by a user, or found by ``search``."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What was done to a kernel of Rangeify."""

    kernel: int
    """Its number after Rangeify, from 0."""
    axes: str
    """Its axes before the first step, as letters and sizes."""
    steps: Schedule
    origin: str
    """Who chose the steps: ``heuristics``, ``given`` or ``search``; with ``by rows`` they are those of its parts, one
    after the other, in loops over rows that it may share with other kernels (`rows`)."""
    launches: int
    """The kernels that it has become: packing, and nests that are dealt out to cores, run by themselves; none where it
    shares the rows of another one."""
    beside: tuple[Schedule, ...] = ()
    """The steps of kernels that were made beside it: of what runs before it, and of the loops over rows that are first
    its own."""
    refused: str = ""
    """Why the heuristics' schedule was not carried out: the law's refusal of one of its steps."""

    def __str__(self) -> str:
        return f"kernel {self.kernel} ({self.axes}), {self.origin}: {schedule_text(self.steps) or 'as it is'}"

    @property
    def all_steps(self) -> Schedule:
        """Every step, those beside it too."""
        return tuple(step for steps in (*self.beside, self.steps) for step in steps)


Numbered = tuple[tuple[int, Given], ...]
"""Schedules by the number of the kernel."""
Wanted = str | Sequence[OptOp] | Mapping[int, str | Sequence[OptOp]]
"""Schedules as users give them: for kernel 0 as text or as steps, or for several kernels by number."""


def given_by(wanted: Wanted | None) -> Numbered:
    """The schedules that a user gives, by the number of the kernel."""
    if wanted is None:
        return ()
    each = wanted if isinstance(wanted, Mapping) else {0: wanted}
    return tuple((k, Given(parsed(s) if isinstance(s, str) else tuple(s))) for k, s in sorted(each.items()))


def schedule_text(steps: Iterable[OptOp]) -> str:
    """A schedule as text."""
    return "; ".join(map(str, steps))


def parsed(text: str) -> Schedule:
    """The schedule that a text is; raises `ScheduleError` where it is none."""
    return tuple(_step(part.split()) for part in text.replace("\n", ";").split(";") if part.strip())


def _step(words: list[str]) -> OptOp:
    """One step: its name, its axis, and what its entry says."""
    name, rest = words[0], words[1:]
    if name not in STEPS:
        raise ScheduleError(name, "U-50", given=" ".join(words), wants=f"one of {', '.join(STEPS)}")
    try:
        return _read(name, rest)
    except (ValueError, KeyError):
        entry = STEPS[name]
        wants = f"axis: {entry.axis}; arg: {entry.arg}"
        raise ScheduleError(name, entry.form, given=" ".join(words), wants=wants) from None


def _read(name: str, rest: list[str]) -> OptOp:
    if name == "Nolocals":
        () = rest
        return OptOp(name)
    if name == "TC":
        n, m, k, core = rest
        return OptOp(name, (int(n), int(m), int(k)), core)
    if name == "Split":
        axis, factor, target, *top = rest
        if top not in ([], ["top"]):
            raise ValueError(name)
        return OptOp(name, int(axis), (int(factor), AxisType[target], *(True for _ in top)))
    axis, arg = rest
    return OptOp(name, int(axis), int(arg))
