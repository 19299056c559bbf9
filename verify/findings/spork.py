"""
Findings about Spork
====================

Where the guide of Spork is wrong or unsound as written: the result of the guide's version of the law for a small
program, and the result of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from soundline.impl.spork import proc_from_text
from soundline.spec.abstract_machine import check, judge
from soundline.spec.errors import StaticError, SynchronizationError
from soundline.spec.spork.machine.events import Awaited
from soundline.spec.spork.machine.storage import Locations
from soundline.spec.spork.machine.unfolding import unfold
from soundline.spec.spork.readings.parallel import outcomes
from soundline.spec.spork.static.law import static_law
from soundline.spec.spork.synchronization.barriers import Queue, QueueId, Stamp
from soundline.spec.spork.synchronization.timelines import (
    IO_RAM,
    IO_RMEM,
    WG_D,
    WG_RAM,
    Pair,
    SyncTl,
    sync_tl,
)
from soundline.spec.spork.synchronization.visibility import Access, Hazard, Kind, Thread
from soundline.verify.findings.instructions import NAMES

IN_ORDER = sync_tl("cuda_in_order")
WARP = frozenset(Thread("task", lane) for lane in range(32))
WRITER, READER = frozenset({Thread("task", 0)}), frozenset({Thread("task", 1)})
QUEUE = QueueId("bar")


@dataclass(frozen=True, slots=True)
class Row:
    """A finding as it is shown: on what, and what each version of the law gives."""

    decision: str
    title: str
    inputs: str
    by_the_source: Callable[[], str]
    by_the_law: Callable[[], str]


def _said(hazards: list[Hazard]) -> str:
    return ", ".join(dict.fromkeys(hazard.id for hazard in hazards)) or "no hazards"


def _written(by: frozenset[Thread], *, convergent: bool = False) -> Locations:
    """A location that some threads wrote."""
    memory = Locations()
    memory.allocate(["s"], WARP)
    memory.access(["s"], Access(Kind.write, IO_RAM, by, convergent=convergent))
    return memory


def _read(memory: Locations, by: frozenset[Thread]) -> str:
    return _said(memory.access(["s"], Access(Kind.read, IO_RAM, by)))


def _passed_on(arrives: frozenset[Thread], awaits: frozenset[Thread]) -> str:
    """A write before the arrive, and a read after the await, with these threads on the two sides."""
    memory = _written(WRITER)
    memory.arrive(IN_ORDER, arrives, frozenset({Stamp(QUEUE, 0)}))
    memory.release(QUEUE, 1, IN_ORDER, awaits)
    return _read(memory, READER)


def _accumulated(given: frozenset[Pair] | None) -> str:
    """wgmma overwrites an accumulator that was read in order, after an ordinary fence which gives the read these pairs;
    None for what the law gives.
    """
    memory = Locations()
    memory.allocate(["d"], WARP)
    memory.access(["d"], Access(Kind.read, IO_RMEM, WARP, convergent=True))
    second = IN_ORDER if given is None else SyncTl("cuda_in_order", given, given, transitive=True)
    memory.fence(IN_ORDER, second, WARP)
    return _said(memory.access(["d"], Access(Kind.write, WG_D, WARP, convergent=True)))


def _overwritten() -> str:
    """The hazard of a write after a read."""
    memory = Locations()
    memory.allocate(["s"], WARP)
    memory.access(["s"], Access(Kind.read, IO_RAM, READER))
    return _said(memory.access(["s"], Access(Kind.write, IO_RAM, WRITER)))


def _counting_from_one() -> str:
    """Q2 with the await itself, which then pairs with arrive Q2 - lag."""
    awaits, lag = 1, 0
    number = awaits - lag
    return f"waits for arrive {number}, of 1: for ever"


def _counting_from_zero() -> str:
    try:
        bound, _ = Queue(QUEUE).arrived().awaited(~0)
    except SynchronizationError as error:
        return error.given
    return f"waits for arrive {bound - 1}, of 1"


ROUNDS = """
def rounds():
    with CudaDeviceFunction(blockDim=64):
        for t in cuda_tasks(0, 1):
            bar: barrier @ CudaMbarrier
            for k in seq(0, 2):
                with CudaWarps(0, 1):
                    for i in cuda_threads(0, 1, unit=cuda_thread):
                        Arrive(cuda_in_order, 1) >> bar
                with CudaWarps(1, 2):
                    for i in cuda_threads(0, 1, unit=cuda_thread):
                        Await(bar, cuda_in_order, ~0)
"""
"""One thread arrives twice, and another awaits twice."""


def _unguarded() -> str:
    """What the rest of the law says, and what the threads do."""
    program = proc_from_text(ROUNDS)
    others = [f.id for f in check(program, {}).findings if f.id != "mach-arrive-overrun"]
    found = outcomes(unfold(program, {}))
    return f"{', '.join(others) or 'no hazards'}; {len(found.deadlocks)} outcome of {len(found.outcomes)} is a deadlock"


def _guarded() -> str:
    return ", ".join(finding.id for finding in check(proc_from_text(ROUNDS), {}).findings)


OVERWRITTEN = tuple(
    unfold(
        proc_from_text(
            """
def overwritten(x: i32[8] @ CudaGmemLinear, y: i32[2] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=128):
        for t in cuda_tasks(0, 1):
            s: i32[3] @ CudaSmemLinear
            d: i32[2] @ TinyRegisters
            group: barrier @ CudaCommitGroup
            for i in cuda_threads(0, 3, unit=cuda_thread):
                s[i] = x[i]
            Fence(cuda_in_order, cuda_generic_and_async_proxy)
            with CudaAsync(wgmma_async):
                Fence(wgmma_fence_1, wgmma_fence_2)
                wg_zero_rows(d[0:2])
                wg_mma_rows(d[0:2], s[0:2], s[2:3])
                Arrive(wgmma_async, 1) >> group
            Await(group, cuda_in_order, 0)
            with CudaWarps(0, 1):
                for i in cuda_threads(0, 1, unit=cuda_thread):
                    s[2] = x[3]
            wg_read_rows(y[0:2], d[0:2])
            Fence(cuda_in_order, cuda_in_order)
""",
            NAMES,
        ),
        {},
    )
)
"""Warp 0 overwrites what the wgmma of warp 1 reads, when the warpgroup has awaited its group."""


def _group(by_warp: bool) -> str:
    """Thread 0 overwrites what wgmma read by the other warps, after the await of its group by the warpgroup."""
    group = frozenset(Thread("task", n) for n in range(128))
    memory = Locations()
    memory.allocate(["s"], group)
    memory.access(["s"], Access(Kind.read, WG_RAM, group, out_of_order=True))
    warps = {n: frozenset(t for t in group if t.number // 32 == n) for n in range(4)}
    for warp, threads in warps.items() if by_warp else [(None, group)]:
        memory.arrive(sync_tl("wgmma_async"), threads, frozenset({Stamp(QUEUE, 0, warp)}))
        memory.release(QUEUE, 1, IN_ORDER, threads, warp)
    return _said(memory.access(["s"], Access(Kind.write, IO_RAM, WRITER)))


def _of_warpgroups() -> str:
    """What an await for the whole warpgroup would give, and what the threads do."""
    found = outcomes(OVERWRITTEN)
    return f"{_group(by_warp=False)}; {len(found.wrong)} outcome of {len(found.outcomes)} is wrong"


GROUPS = """
def groups(x: f32[8] @ CudaGmemLinear, y: f32[2, 2] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for t in cuda_tasks(0, 1):
            s: f32[2, 2] @ CudaSmemLinear
            group: barrier[2, 2] @ CudaCommitGroup
            for m in cuda_threads(0, 2, unit=2 * cuda_thread):
                for n in cuda_threads(0, 2, unit=cuda_thread):
                    with CudaAsync(Sm80_cp_async):
                        Sm80_cp_async_f32(s[m, n : n + 1], x[2 * m + n : 2 * m + n + 1], size=1)
                    Arrive(Sm80_cp_async, 1) >> group[m, n]
            for m in cuda_threads(0, 2, unit=2 * cuda_thread):
                for n in cuda_threads(0, 2, unit=cuda_thread):
                    Await(group[m, n], cuda_in_order, 0)
                    y[m, n] = s[n, m]
            Fence(cuda_in_order, cuda_in_order)
"""
"""Four threads copy an element each, and read that of another one."""


def _by_index_alone() -> str:
    """What the machine would say of an await at ``group[n, m]``, and what the threads do."""
    events = [
        replace(event, queue=event.queue._replace(at=event.queue.at[::-1]))
        if isinstance(event, Awaited)
        else event
        for event in unfold(proc_from_text(GROUPS), {})
    ]
    found = outcomes(events)
    hazards = ", ".join(finding.id for finding in judge(events).findings)
    return f"{hazards or 'no hazards'}; {len(found.wrong)} outcomes of {len(found.outcomes)} are wrong"


def _by_the_index_of_the_thread() -> str:
    try:
        static_law(proc_from_text(GROUPS.replace("Await(group[m, n]", "Await(group[n, m]")))
    except StaticError as error:
        return f"{error.rule}: {error.given}"
    return "no hazards"


ROWS: tuple[Row, ...] = (
    Row(
        "S-01",
        "Arrive and Await, with their sides swapped",
        "thread 0 writes and arrives, thread 1 awaits and reads",
        lambda: _passed_on(arrives=READER, awaits=WRITER),
        lambda: _passed_on(arrives=WRITER, awaits=READER),
    ),
    Row(
        "S-02",
        "the hazard of a write, called RAW",
        "thread 1 reads, thread 0 writes",
        lambda: "mach-read-raw",
        _overwritten,
    ),
    Row(
        "S-04",
        "one record for all threads of an access",
        "a warp writes together, lane 1 reads without a fence",
        lambda: _read(_written(WARP, convergent=True), READER),
        lambda: _read(_written(WARP), READER),
    ),
    Row(
        "S-05",
        "Await with N < 0, counting from one",
        "one arrive, then Await(bar, cuda_in_order, ~0)",
        _counting_from_one,
        _counting_from_zero,
    ),
    Row(
        "S-11",
        "an ordinary fence between registers and wgmma",
        "an accumulator is read, Fence(cuda_in_order, cuda_in_order), wgmma writes it",
        lambda: _accumulated(IN_ORDER.temporal),
        lambda: _accumulated(None),
    ),
    Row(
        "S-14",
        "a ring of mbarriers without a reverse side",
        "two arrives by one thread, two awaits by another, a ring of 1",
        _unguarded,
        _guarded,
    ),
    Row(
        "S-15",
        "an await of wgmma that completes it for the whole warpgroup",
        "a warpgroup awaits its wgmma, then warp 0 overwrites an operand that all warps read",
        _of_warpgroups,
        lambda: _group(by_warp=True),
    ),
    Row(
        "S-25",
        "a queue that is known by its index alone",
        "thread (m, n) commits group[m, n] and awaits group[n, m]",
        _by_index_alone,
        _by_the_index_of_the_thread,
    ),
)
"""The findings, by the decision that they show."""
