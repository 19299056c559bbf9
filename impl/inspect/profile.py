"""
Profiles
========

Where the time of a program goes: for each kernel the time, the operations and bytes per second, and the share of the
measured peak of this machine (`impl.inspect.peaks`). Operations and bytes are counted from the UOps of the kernel
(`impl.lower.linear.counts`). At the peak, the operations and the bytes of a kernel each take a minimal time; the share
is the greater of these two times, divided by the measured time.
"""

from __future__ import annotations

import io
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from soundline.impl.compilation.linking import Linked
from soundline.impl.executables.assembly import pieces
from soundline.impl.inspect import peaks as machine
from soundline.impl.inspect.kernels import kernel_stories
from soundline.impl.inspect.peaks import Peaks
from soundline.impl.logs import logger
from soundline.impl.lower.linear.counts import Work, at_sizes, work_of
from soundline.impl.lower.steps import Copy, Embedded, Foreign
from soundline.impl.runtime.commands import CommandBuffer
from soundline.impl.runtime.host import host
from soundline.spec.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table

Arrays = npt.NDArray[Any]

COLUMNS: Final = (
    "kernel",
    "computes",
    "runs",
    "time",
    "share of time",
    "GFLOP/s",
    "GB/s",
    "of peak",
    "bound by",
)
MOST: Final = 1_000_000
"""The most repeats."""


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel of a program, or what else it runs, measured."""

    kernel: int | None
    """Its number; None of a copy between devices and of a function that is not soundline's."""
    name: str
    seconds: float
    """The time of all its runs in one call: the median of the repeats."""
    best: float
    cores: int
    """Over how many cores it may be spread."""
    work: Work
    at_peak: float
    """The seconds that the machine needs at its peak."""
    bound: str
    """The limiting resource: ``operations`` or ``memory``; ``-`` where there is neither."""
    runs: int = 1
    """How often it runs in one call."""

    @property
    def flops(self) -> float:
        """Floating-point operations in a second."""
        return self.work.operations / self.seconds

    @property
    def bandwidth(self) -> float:
        """Bytes in a second, of those that must be moved."""
        return self.work.moved / self.seconds

    @property
    def share(self) -> float:
        """The share of the peak."""
        return self.at_peak / self.seconds


@dataclass(frozen=True, slots=True)
class Profile:
    """The kernels of a program, measured. ``print``, rich and notebooks show a table; `as_json` has all values."""

    program: str
    rows: tuple[Row, ...]
    repeats: int
    peaks: tuple[Peaks, ...]

    @property
    def seconds(self) -> float:
        """The time of all kernels."""
        return sum(row.seconds for row in self.rows)

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(file=io.StringIO(), width=120, color_system=None)
        console.print(self.__rich__())
        file = console.file
        assert isinstance(file, io.StringIO)
        return "\n".join(line.rstrip() for line in file.getvalue().splitlines())

    __repr__ = __str__

    def __rich__(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        title, caption = Text(self.program), Text(self._caption())  # in which brackets are no markup
        table = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
        for column in COLUMNS:
            table.add_column(column, justify="left" if column in ("computes", "bound by") else "right")
        for row in self._cells():
            table.add_row(*map(Text, row))
        return table

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(c)}</th>" for c in COLUMNS)
        rows = "".join(f"<tr>{''.join(f'<td>{escape(c)}</td>' for c in row)}</tr>" for row in self._cells())
        caption = f"<caption><code>{escape(self.program)}</code></caption>"
        return (
            f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f"<p>{escape(self._caption())}</p>"
        )

    def _cells(self) -> Iterator[tuple[str, ...]]:
        total = self.seconds
        for row in self.rows:
            yield (
                "" if row.kernel is None else str(row.kernel),
                row.name,
                str(row.runs),
                duration(row.seconds),
                f"{row.seconds / total:.0%}",
                f"{row.flops / 1e9:.2f}" if row.work.operations else "–",
                f"{row.bandwidth / 1e9:.2f}" if row.work.moved else "–",
                f"{row.share:.0%}" if row.at_peak else "–",
                row.bound,
            )
        if len(self.rows) > 1:
            flops, moved = (sum(getattr(r.work, n) for r in self.rows) for n in ("operations", "moved"))
            peak = sum(row.at_peak for row in self.rows)
            yield (
                "all",
                "",
                str(sum(row.runs for row in self.rows)),
                duration(total),
                "100%",
                f"{flops / total / 1e9:.2f}",
                f"{moved / total / 1e9:.2f}",
                f"{peak / total:.0%}",
                "",
            )

    def _caption(self) -> str:
        runs = f"medians of {self.repeats} runs" if self.repeats > 1 else "one run"
        return "\n".join([runs, *map(_peak_line, self.peaks)])

    def as_json(self) -> dict[str, Any]:
        """The same in lists, strings and numbers; times in seconds, rates in a second."""
        return {
            "program": self.program,
            "repeats": self.repeats,
            "seconds": self.seconds,
            "kernels": [
                {
                    "kernel": row.kernel,
                    "name": row.name,
                    "runs": row.runs,
                    "seconds": row.seconds,
                    "best_seconds": row.best,
                    "cores": row.cores,
                    "flops": row.work.operations,
                    "bytes_read": row.work.read,
                    "bytes_written": row.work.written,
                    "flops_per_second": row.flops,
                    "bytes_per_second": row.bandwidth,
                    "share_of_peak": row.share,
                    "bound": row.bound,
                }
                for row in self.rows
            ],
            "peaks": [
                {"cores": p.cores, "fused": p.fused, "apart": p.apart, "reads": [list(r) for r in p.reads]}
                for p in self.peaks
            ],
        }


def duration(seconds: float) -> str:
    """A time with a unit: ``1.50 ms``."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def _peak_line(peaks: Peaks) -> str:
    cores = f"{peaks.cores} core{'s' * (peaks.cores != 1)}"
    fused = ", ".join(f"{rate / 1e9:.0f} GFLOP/s {name}" for name, rate in peaks.fused.items())
    (small, fast), (large, slow) = peaks.reads[0], peaks.reads[-1]
    reads = f"{fast / 1e9:.0f} GB/s from {small >> 10} KiB to {slow / 1e9:.0f} GB/s from {large >> 20} MiB"
    return f"measured peak of {cores}: {fused} (a sum and a product apart: {_apart(peaks)}); reads {reads}"


def _apart(peaks: Peaks) -> str:
    return " and ".join(f"{rate / 1e9:.0f}" for rate in peaks.apart.values())


def at_peak(work: Work, peaks: Peaks) -> tuple[float, str]:
    """How long some work takes at the peak, and which resource is the limit."""
    computing = sum(count / peaks.operations(dtype) for dtype, count in work.flops.items())
    moving = work.moved / peaks.bandwidth(work.moved) if work.moved else 0.0
    if not computing and not moving:
        return 0.0, "-"
    return (computing, "operations") if computing >= moving else (moving, "memory")


def profiled(
    program: str,
    linked: Linked,
    commands: CommandBuffer,
    arguments: Sequence[Arrays],
    repeats: int,
    sizes: Mapping[int, int] = MappingProxyType({}),
) -> Profile:
    """Run a program once to warm up and then several times, and return the times of each kernel; `sizes` are in the
    Buffers of slots.
    """
    if not 1 <= repeats <= MOST:
        raise UsageError(f"a program can be repeated 1 to {MOST} times, not {repeats}", where="profile")
    commands.measured(arguments)
    runs = np.array([commands.measured(arguments)[1] for _ in range(repeats)], np.float64) / 1e9
    told = list(_told(linked, sizes))
    found: dict[int, Peaks] = {}
    rows = []
    for key in dict.fromkeys(told):
        where = [k for k, other in enumerate(told) if other == key]
        number, name, work = key[0], key[1], _times(key[2], len(where))
        cores = max(1, min(commands.cores[where[0]], host().limit))
        if cores not in found:
            found[cores] = machine.of_this_machine(cores)
        taken = np.maximum(runs[:, where].sum(axis=1), 1e-9)
        least, bound = at_peak(key[2], found[cores])
        median, best = statistics.median(taken.tolist()), float(taken.min())
        rows.append(Row(number, name, median, best, cores, work, least * len(where), bound, len(where)))
    logger("profile").info("%s: %d kernels, %d repeats", program, len(rows), repeats)
    return Profile(program, tuple(rows), repeats, tuple(sorted(found.values(), key=lambda p: p.cores)))


def _told(
    linked: Linked, sizes: Mapping[int, int] = MappingProxyType({})
) -> Iterator[tuple[int | None, str, Work]]:
    """A description of each command, in order: the number of its kernel, what it does, and how much work that is."""
    stories = kernel_stories(linked)
    if sizes and len(linked.units) == 1:
        works = (work_of(at_sizes(k, sizes)) for k in linked.units[0].stages["plan"].src)
        stories = tuple(replace(s, work=work) for s, work in zip(stories, works, strict=True))
    for site in linked.sites:
        if isinstance(site.step, Copy):
            nbytes = linked.steps.places[site.step.takes[0]].nbytes
            yield from ((None, "copy between devices", Work({}, n, n)) for n, _ in pieces(nbytes))
        elif isinstance(site.step, Foreign):
            yield None, f"custom function {site.step.function.arg}", Work()
        elif isinstance(site.step, Embedded):
            called = site.step.program.program
            yield from (
                (None, f"{called.name}: {title}", work) for _, title, work in _told(called.loaded.program)
            )
        elif site.unit is not None:
            first = linked.first_kernels[site.unit]
            last = first + len(linked.units[site.unit].stages["plan"].src)
            yield from ((s.number, s.title, s.work) for s in stories[first:last])


def _times(work: Work, runs: int) -> Work:
    flops = {dtype: count * runs for dtype, count in work.flops.items()}
    return Work(flops, work.read * runs, work.written * runs)
