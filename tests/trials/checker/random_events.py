"""
Random events
=============

Runs that no program has: events of all kinds in any order, with operands that declare anything. The literal machine and
the engine have to agree on them all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from soundline.spec.dtypes import DType, float16, float32
from soundline.spec.spork.language.expressions import Const, Name
from soundline.spec.spork.language.statements import Assign
from soundline.spec.spork.library.memories import (
    DRAM,
    CudaGmemLinear,
    CudaRmem,
    CudaSmemLinear,
    Memory,
    Sm90_RmemMatrixD,
)
from soundline.spec.spork.machine import events as e
from soundline.spec.spork.machine.addresses import SharedStacks, own_elements
from soundline.spec.spork.synchronization.barriers import BarrierType, QueueId
from soundline.spec.spork.synchronization.timelines import (
    CPU,
    IO_RMEM,
    LEGAL_PAIRS,
    SYNC_TLS,
    WG_A,
    WG_D,
    InstrTl,
    Pair,
    SyncTl,
)
from soundline.spec.spork.synchronization.visibility import CPU_THREAD, Kind, Thread

STATEMENT = Assign(Name("x"), Const(0))
DEVICE_PAIRS = LEGAL_PAIRS[1:]
BLOCK_DIM = 64
GRAIN = 2
COLLECTIVES = (
    *(
        range(1),
        range(1, 2),
        range(40, 41),
        range(2),
        range(30, 34),
        range(33, 35),
        range(64, 66),
        range(100, 102),
    ),
    *(range(0, 128, 33), range(0, 128, 64), range(4), range(1, 3)),
)
FEW = (range(1), range(2), range(1, 3), range(4))
LARGE = (range(32), range(64, 96), range(20, 70))
"""Those that cost the literal machine more, and show the engine nothing else."""


@dataclass(slots=True)
class Soup:
    """Makes the events of a run."""

    random: Random
    events: list[e.Event] = field(default_factory=list)
    live: list[e.Buffer] = field(default_factory=list)
    queues: list[QueueId] = field(default_factory=list)
    kinds: dict[object, BarrierType] = field(default_factory=dict)
    task: tuple[int, ...] = ()
    pairs: tuple[Pair, ...] = DEVICE_PAIRS
    sides: tuple[SyncTl, ...] = tuple(SYNC_TLS.values())
    paths: int = 9
    rings: bool = False
    """Whether it is about rings of mbarriers: who knows of which await."""
    ahead: dict[QueueId, int] = field(default_factory=dict)
    """How many more arrives than awaits a queue has had."""
    collective: range = COLLECTIVES[0]
    names: int = 0
    position: int = 0
    stacks: SharedStacks | None = None

    def place(self, who: frozenset[Thread], path: tuple[int, ...] | None = None) -> e.Place:
        if path is None:
            self.position += 1
            path = (
                (self.random.randrange(9), self.random.randrange(3))
                if self.random.random() < 0.6
                else (9, self.position)
            )
        return e.Place(STATEMENT, path, (), who, InstrTl.cuda_in_order)

    def who(self) -> frozenset[Thread]:
        """A collective, often the one before."""
        if self.random.random() < 0.6:
            among = FEW if self.rings else COLLECTIVES if self.random.random() < 0.97 else LARGE
            self.collective = self.random.choice(among)
        return frozenset(Thread(self.task, n) for n in self.collective)

    # Storage

    def allocate(
        self, memory: Memory, who: frozenset[Thread], dtype: DType = float32, size: int | None = None
    ) -> e.Buffer:
        self.names += 1
        name, size = f"x{self.names}", size or self.random.choice((1, 3, 6))
        if memory.space == "shared":
            assert self.stacks is not None
            rank = min(t.number for t in who) // BLOCK_DIM
            dtype = self.random.choice((float32, float16))
            first = 0
            for each in sorted({t.number // BLOCK_DIM for t in who}, reverse=True):
                first = self.stacks.take(each, size * dtype.itemsize, memory.alignment)
            elements = tuple(
                e.Element(self.stacks.cells(rank, first, dtype, k), dtype, name, (k,)) for k in range(size)
            )
        else:
            elements = own_elements(name, 0, dtype, (size,))
        buffer = e.Buffer(name, memory, dtype, (size,), elements, who)
        path = () if memory.space in {"host", "global"} and not self.task else None
        self.events.append(e.Allocated(self.place(who, path), buffer))
        return buffer

    def few(self) -> None:
        """Take few pairs and few timelines, so that they meet often."""
        wgmma = self.random.random() < 0.4
        self.pairs = (IO_RMEM, WG_A, WG_D) if wgmma else tuple(self.random.sample(DEVICE_PAIRS, 3))
        fitting = [s for s in SYNC_TLS.values() if s.temporal & frozenset(self.pairs)]
        self.sides = tuple(self.random.sample(fitting, 3))
        self.paths = self.random.choice((1, 2, 9))

    def touch(self) -> e.Touch:
        draw = self.random.random
        buffer = self.random.choice(self.live)
        size = len(buffer.elements)
        lo = self.random.randrange(size)
        step = self.random.choice((1, 1, 2))
        elements = buffer.elements[lo : self.random.randrange(lo, size) + 1 : step]
        kind = self.random.choice((Kind.read, Kind.read, Kind.write, Kind.write, Kind.atomic))
        extended = frozenset(self.random.sample(self.pairs, 1)) if draw() < 0.1 else frozenset()
        seen_by = self.who() if draw() < 0.1 else None
        by = self.who() if draw() < 0.1 else None
        flags = draw() < 0.3, draw() < 0.4
        return e.Touch("x", kind, self.random.choice(self.pairs), elements, *flags, extended, seen_by, by)

    def action(self, who: frozenset[Thread], *, device: bool = True) -> None:
        touches = [self.touch() for _ in range(self.random.choice((1, 1, 1, 2, 3)))]
        if not device:
            touches = [e.Touch("x", t.kind, CPU, t.elements) for t in touches]
        trailing: tuple[QueueId, ...] = ()
        if device and self.queues and self.random.random() < 0.2:
            trailing = tuple(self.random.choices(self.queues, k=self.random.choice((1, 1, 2))))
        self.events.append(e.Action(self.place(who), tuple(touches), (), trailing))

    # Runs

    def synchronization(self) -> None:
        who, draw = self.who(), self.random.random()
        sides = [self.random.choice(self.sides) for _ in range(2)]
        if self.rings and self.random.random() < 0.2:
            sides = [SYNC_TLS["wgmma_fence_1"], SYNC_TLS["wgmma_fence_2"]]
        if self.random.random() < 0.3:
            sides[0] = SYNC_TLS["cuda_in_order"]
        if draw < 0.4 or not self.queues:
            self.events.append(e.Fenced(self.place(who), *sides))
            return
        queue = self.random.choice(self.queues)
        kind = self.kinds[queue.barrier]
        if draw < 0.75:
            others = [q for q in self.queues if q.barrier == queue.barrier]
            queues = (queue, *self.random.sample(others, self.random.choice((0, 0, 0, 1))))
            self.events.append(e.Arrived(self.place(who), sides[0], queues, kind))
            self.ahead[queue] = self.ahead.get(queue, 0) + 1
        elif kind is BarrierType.CudaMbarrier and self.random.random() < 0.8:
            lag = self.random.choice((0, 0, 1, 2))
            if self.ahead.get(queue, 0) + lag <= 0 and self.random.random() < 0.95:
                return  # it would never return
            self.ahead[queue] = self.ahead.get(queue, 0) - 1
            self.events.append(e.Awaited(self.place(who), queue, sides[1], ~lag, kind))
        else:
            n = self.random.choice((0, 0, 1, 2))
            self.events.append(e.Awaited(self.place(who), queue, sides[1], n, kind))

    def run_task(self) -> None:
        """A task: memory, barriers, and whatever comes to mind."""
        every = frozenset(Thread(self.task, n) for n in range(0, 2 * BLOCK_DIM, 31))
        self.stacks = SharedStacks(self.task, GRAIN)
        self.events.append(e.TaskBegan(self.place(every), self.task))
        outer = len(self.live)
        self.queues = []
        made = []
        for k in range(self.random.randrange(4)):
            kind = self.random.choice((BarrierType.CudaMbarrier, BarrierType.CudaCommitGroup))
            depth = self.random.choice((None, 1, 2, 3)) if kind is BarrierType.CudaMbarrier else None
            if self.rings:
                kind, depth = BarrierType.CudaMbarrier, self.random.choice((1, 2))
            barrier = (f"bar{k}", *self.task)
            made.append(e.BarrierAllocated(self.place(every, (20, k)), barrier, f"bar{k}", kind, depth))
            self.kinds[barrier] = kind
            sides = range(1 if self.rings else 2)
            self.queues += [QueueId(barrier, (at,), side) for at in sides for side in (False, True)]
        self.events += made
        self.block(every, self.random.randrange(10, 45))
        for each in reversed(made):
            self.events.append(e.BarrierFreed(each.place, each.barrier, each.name, each.type))
        assert len(self.live) == outer
        self.events.append(e.TaskEnded(self.place(every), self.task))

    def block(self, every: frozenset[Thread], length: int, depth: int = 0) -> None:
        """A block, at the end of which its storage ends."""
        assert self.stacks is not None
        tops, outer = dict(self.stacks.tops), len(self.live)
        memories = (CudaRmem, CudaSmemLinear, CudaSmemLinear, Sm90_RmemMatrixD)
        mine: list[tuple[e.Place, e.Buffer]] = []
        for _ in range(self.random.randrange(1, 4)):
            buffer = self.allocate(self.random.choice(memories), self.who())
            mine.append((self.events[-1].place, buffer))
            self.live.append(buffer)
        for _ in range(length):
            draw = self.random.random()
            if draw < 0.05 and depth < 2:
                self.block(every, length // 4, depth + 1)
            elif draw < (0.2 if self.rings else 0.55):
                self.action(self.who())
            else:
                self.synchronization()
        for place, buffer in reversed(mine):
            self.events.append(e.Freed(place, buffer))
        del self.live[outer:]
        self.stacks.tops = tops

    def run(self) -> tuple[e.Event, ...]:
        """A run: the CPU, and some launches."""
        if self.random.random() < 0.8:
            self.few()
        self.rings = self.random.random() < 0.3
        cpu = frozenset({CPU_THREAD})
        self.live = [self.allocate(memory, cpu) for memory in (DRAM, CudaGmemLinear)]
        for number in range(self.random.randrange(1, 4)):
            self.on_cpu(cpu, 0)
            self.events.append(e.Launched(self.place(cpu), number, BLOCK_DIM, 2))
            for task in range(self.random.randrange(1, 4)):
                self.task = (number, task)
                self.run_task()
            self.task = ()
            self.events.append(e.Ended(self.place(cpu), number))
        self.on_cpu(cpu, 0)
        return tuple(self.events)

    def on_cpu(self, who: frozenset[Thread], depth: int) -> None:
        """Accesses by the CPU, and loops of par."""
        for _ in range(self.random.randrange(4)):
            if self.random.random() < 0.4 and depth < 3:
                children = tuple(
                    Thread(("par", len(self.events), k)) for k in range(self.random.randrange(4))
                )
                place = self.place(who)
                self.events.append(e.Forked(place, children))
                for child in children:
                    self.on_cpu(frozenset({child}), depth + 1)
                self.events.append(e.Joined(place, children))
            else:
                self.action(who, device=False)


def random_events(seed: int) -> tuple[e.Event, ...]:
    """The events of a seed."""
    return Soup(Random(f"events {seed}")).run()
