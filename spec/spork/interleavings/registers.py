"""
The order of registers
======================

Registers belong to the threads that use them, so what is done to one in order is done in program order, even where a
collective executes it and the parallel reading does not know which of its threads holds which register. Instructions
of wgmma keep their order among themselves on accumulators (operands that are not out of order).

Between the two only a ``wgmma.fence`` makes order. Without one PTX leaves these undefined: an ordinary write that a
wgmma then reads or overwrites, and an ordinary read of what a wgmma then overwrites, are *doubtful*, and may give
anything. Registers that are allocated were used for something else before, so the first wgmma asks for a fence as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from soundline.spec.spork.interleavings.jobs import ElementUse, Job
from soundline.spec.spork.synchronization.timelines import InstrTl
from soundline.spec.spork.synchronization.visibility import Thread

Before = tuple[int, int]
"""A job, and the number of one of its parts or ~the number of one of its reads."""


@dataclass(slots=True)
class _Register:
    """The uses of a register so far."""

    written: Before | None = None
    """The last write that has an order."""
    read: list[Before] = field(default_factory=list)
    """The reads since."""
    unfenced_write: bool = False
    unfenced_reads: list[ElementUse] = field(default_factory=list)
    threads: set[Thread] = field(default_factory=set)
    """Who did what is unfenced."""


class RegisterOrder:
    """Follows the registers of a program through its events."""

    def __init__(self, jobs: list[Job]) -> None:
        self.jobs = jobs
        self.ordinary: dict[int, _Register] = defaultdict(_Register)
        self.wgmma: dict[int, _Register] = defaultdict(_Register)

    def add(self, job: Job) -> None:
        """Order the uses of registers by a job, and find what is doubtful."""
        if not any(use.in_registers for use in job.uses()):
            return
        if job.in_order:
            self._ordinary(job)
        elif job.instr_tl is InstrTl.wgmma_async:
            self._wgmma(job)

    def allocated(self, cells: Iterable[int], owner: frozenset[Thread]) -> None:
        """Registers were used for something else before, in order."""
        for cell in cells:
            self.ordinary[cell].unfenced_write = True
            self.ordinary[cell].threads |= owner

    def fence(self, threads: frozenset[Thread]) -> None:
        """A wgmma.fence by these threads."""
        for register in self.ordinary.values():
            if not register.threads.isdisjoint(threads):
                register.unfenced_write, register.unfenced_reads, register.threads = False, [], set()

    def _ordinary(self, job: Job) -> None:
        for number, part in enumerate(job.parts):
            reads = [job.reads[n] for n in part.reads]
            part.after += self._order(self.ordinary, (job.number, number), reads, part.target)
        for read in job.reads:
            for cell in read.cells if read.in_registers else ():
                self.ordinary[cell].unfenced_reads.append(read)
                self.ordinary[cell].threads |= job.threads
        for part in job.parts:
            for cell in part.target.cells if part.target.in_registers else ():
                self.ordinary[cell].unfenced_write = True
                self.ordinary[cell].threads |= job.threads

    def _wgmma(self, job: Job) -> None:
        for use in job.uses():
            for cell in use.cells if use.in_registers else ():
                use.doubtful |= self.ordinary[cell].unfenced_write
        for part in job.parts:
            for cell in part.target.cells if part.target.in_registers else ():
                for read in self.ordinary[cell].unfenced_reads:
                    read.doubtful = True
        for number, read in enumerate(job.reads):
            if not read.free:
                job.after[number] += self._order(self.wgmma, (job.number, ~number), [read], None)
        for number, part in enumerate(job.parts):
            if not part.target.free:
                part.after += self._order(self.wgmma, (job.number, number), [], part.target)

    def _order(
        self,
        registers: dict[int, _Register],
        this: Before,
        reads: Iterable[ElementUse],
        target: ElementUse | None,
    ) -> list[Before]:
        """What comes before a part or a read; it is then the last one itself."""
        before: set[Before | None] = set()
        for use in reads:
            for cell in use.cells if use.in_registers else ():
                before.add(registers[cell].written)
                registers[cell].read.append(this)
        for cell in target.cells if target is not None and target.in_registers else ():
            register = registers[cell]
            before |= {*register.read, register.written}
            register.written, register.read = this, []
        return sorted(b for b in before if b is not None and self._matters(b[0], this[0]))

    def _matters(self, first: int, then: int) -> bool:
        """Whether the order is not that of the parts of one job, or of one thread, anyway."""
        both = self.jobs[first], self.jobs[then]
        return first != then and (not both[0].in_order or any(len(job.threads) > 1 for job in both))
