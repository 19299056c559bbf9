"""The generated synchronization of a program, executed in sequential order and held against the law.

Every statement that concerns an mbarrier becomes a function of C++ with its generated lines. The events of the program
are executed one by one, a warp lane by lane, on a model of mbarriers (``mbarrier_model.h``) that logs what arrives and
what is waited for. The law says for each event which arrive of which queue it is; from that follow slot and phase.
"""

from __future__ import annotations

import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path as File
from typing import Any

from soundline.impl.codegen.cuda.barriers.synchronization import Synchronization
from soundline.impl.codegen.cuda.names import Names
from soundline.impl.codegen.cuda.writing import Writer
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.scopes import HOST, Scope, device_shape, inside, is_task_nest
from soundline.spec.spork.language.statements import (
    Arrive,
    Await,
    Call,
    CudaAsync,
    CudaDeviceFunction,
    Fence,
    For,
    Statement,
    bodies,
)
from soundline.spec.spork.language.text import lines as lines_of
from soundline.spec.spork.machine.events import (
    Action,
    Arrived,
    Awaited,
    BarrierAllocated,
    Event,
    TaskEnded,
)
from soundline.spec.spork.machine.unfolding import unfold
from soundline.spec.spork.static.law import static_law
from soundline.spec.spork.synchronization.barriers import BarrierType, QueueId

HERE = File(__file__).resolve().parent
Path = tuple[int, ...]
Key = tuple[Any, ...]


@dataclass
class Listing:
    """The generated lines of one device function, by the paths of statements."""

    synchronization: Synchronization
    function: CudaDeviceFunction
    lines: dict[Path, list[str]] = field(default_factory=dict)
    statements: dict[Path, Statement] = field(default_factory=dict)
    pointers: dict[Path, str] = field(default_factory=dict)
    names: dict[Path, tuple[str, ...]] = field(default_factory=dict)
    last: Statement | None = None

    def of(self, beginning: str) -> list[str]:
        """The lines of the first statement whose text begins like that."""
        path = next(p for p, s in self.statements.items() if lines_of(s)[0].startswith(beginning))
        return self.lines[path]

    def part(self, name: str) -> list[str]:
        """The lines that `declare`, `setup`, `shutdown` or `boundary` writes."""
        out = Writer()
        if name == "boundary":
            self.synchronization.task_boundary(out, self.last)
        else:
            getattr(self.synchronization, name)(out)
        assert len(out.origins) == len(out.text.splitlines())
        return out.text.splitlines()


def listing(proc: Proc, arch: int = 90, which: int = 0) -> Listing:
    """The lines of one of the device functions of a proc."""
    facts = static_law(proc)
    function, path = list(device_functions(proc.body))[which]
    found = Listing(Synchronization(facts, function, path, arch), function)
    _read(function.body, inside(HOST, function), path, Names(), found)
    return found


def device_functions(
    body: Sequence[Statement], around: Path = ()
) -> Iterator[tuple[CudaDeviceFunction, Path]]:
    """The device functions in a block, with their paths."""
    for k, statement in enumerate(body):
        if isinstance(statement, CudaDeviceFunction):
            yield statement, (*around, k)
            continue
        start = 0
        for inner in bodies(statement):
            for function, path in device_functions(inner, (*around, k)):
                yield function, (*around, k, path[len(around) + 1] + start, *path[len(around) + 2 :])
            start += len(inner)


def _read(
    body: Sequence[Statement], scope: Scope, path: Path, names: Names, found: Listing, start: int = 0
) -> None:
    for k, statement in enumerate(body):
        at, here = scope.at(k, len(body)), (*path, start + k)
        out = Writer()
        found.statements[here], found.names[here] = statement, tuple(names.texts)
        if is_task_nest(statement):
            found.last = statement.body[-1]
        match statement:
            case Fence():
                found.synchronization.fence(out, statement, here, at, names)
            case Arrive():
                found.synchronization.arrive(out, statement, here, at, names)
            case Await():
                found.synchronization.await_(out, statement, here, at, names)
            case Call() if statement.trailing:
                trailing, counted = found.synchronization.trailing(statement, here, at, "BYTES", names)
                found.pointers[here] = trailing.barrier
                out.lines(counted)
            case CudaAsync():
                found.synchronization.async_block(out, statement, here, at)
            case _:
                pass
        found.lines[here] = out.text.splitlines()
        inner = names.with_control(statement.iterator) if isinstance(statement, For) else names
        first = 0
        for block in bodies(statement):
            _read(block, inside(at, statement), here, inner, found, first)
            first += len(block)


# Execution --------------------------------------------------------------------------------------------------------


@dataclass
class Run:
    """A run of the generated lines, and what is wrong with it."""

    listing: Listing
    block_dim: int
    cluster_dim: int
    commands: list[str] = field(default_factory=list)
    checks: list[Callable[[list[list[str]]], None]] = field(default_factory=list)
    base: Counter[Key] = field(default_factory=Counter)
    arrives: Counter[Key] = field(default_factory=Counter)
    awaits: Counter[Key] = field(default_factory=Counter)
    places: dict[Key, tuple[int, int]] = field(default_factory=dict)
    rounds: dict[tuple[int, int], set[int]] = field(default_factory=lambda: defaultdict(set))
    barriers: dict[Any, Key] = field(default_factory=dict)
    depths: dict[Key, int] = field(default_factory=dict)
    homes: dict[Key, int] = field(default_factory=dict)

    def key(self, queue: QueueId) -> Key:
        """A queue, the same one in all tasks."""
        return (*self.barriers[queue.barrier], queue.at, queue.reverse)

    def placed(self, queue: Key, number: int, at: tuple[int, int]) -> None:
        """The mbarrier of an arrive is always the same for a queue and slot, and no other one has it."""
        slot = (*queue, number % self.depths[queue[:2]])
        assert self.places.setdefault(slot, at) == at, f"{slot} is at {self.places[slot]}, and at {at}"
        assert [s for s, there in self.places.items() if there == at] == [slot], f"{at} is of several"

    def event(self, event: Event) -> None:
        """Execute an event."""
        match event:
            case BarrierAllocated():
                key = event.place.path, frozenset(t.number for t in event.place.threads)
                self.barriers[event.barrier] = key
                self.depths[key] = event.depth or 1
            case Action() if event.trailing:
                ranks: Counter[int] = Counter()
                for step in event.steps:
                    space = step.target.cells[0].space
                    assert isinstance(space, tuple)
                    ranks[space[2]] += step.target.dtype.itemsize
                ((size, _),) = Counter(ranks.values()).most_common()
                self._command(event, [sum(1 << r for r in ranks), size])
                self.checks.append(_nothing)
            case Arrived(type=BarrierType.CudaMbarrier):
                self._arrived(event)
            case Awaited(type=BarrierType.CudaMbarrier):
                self._awaited(event)
            case TaskEnded():
                self.commands.append(_said(BOUNDARY, sorted(t.number for t in event.place.threads)))
                self.checks.append(_nothing)
                for queue, number in self.arrives.items():
                    self.base[queue] += number
                self.arrives.clear()
                self.awaits.clear()
            case _:
                pass

    def _arrived(self, event: Arrived) -> None:
        home = self.key(event.queues[0])
        number = self.base[home] + self.arrives[home]
        self.arrives[home] += 1
        queues = [self.key(queue) for queue in event.queues]
        warps = {t.number // 32 for t in event.place.threads}
        each = 1 if len(event.place.threads) == 1 else len(warps)
        self._command(event)

        def check(log: list[list[str]]) -> None:
            per = len(event.place.threads) if log and log[0][0] == "noinc" else each
            found = Counter((int(c), int(k)) for _, c, k, _ in log)
            assert set(found.values()) == {per}, f"{found} arrivals of {per}"
            own = {t.number // self.block_dim for t in event.place.threads}
            at = dict(iter(found))
            assert len(at) == len(queues), "one mbarrier for each queue, in different CTAs"
            for queue in queues:
                cta = self._rank(queue, own)
                self.placed(queue, number, (cta, at[cta]))
                self.rounds[cta, at[cta]].add(number)

        self.checks.append(check)

    def _rank(self, queue: Key, own: set[int]) -> int:
        """The CTA of a queue is that of those who await it."""
        known = {self.homes[queue]} if queue in self.homes else own
        (rank,) = known
        return rank

    def _awaited(self, event: Awaited) -> None:
        queue = self.key(event.queue)
        number = self.awaits[queue] - ~event.n
        self.awaits[queue] += 1
        number += self.base[queue] if number >= 0 else 0
        due, depth = number >= 0, self.depths[queue[:2]]
        self._command(event)

        def check(log: list[list[str]]) -> None:
            assert len(log) == (len(event.place.threads) if due else 0), f"{len(log)} waits"
            for what, cta, k, parity in log:
                assert what == "wait"
                self.placed(queue, number, (int(cta), int(k)))
                assert int(parity) == number // depth % 2, f"parity {parity} of arrive {number}"

        self.checks.append(check)

    def _command(self, event: Action | Arrived | Awaited, extra: Sequence[int] = ()) -> None:
        path = event.place.path
        values = dict(event.place.iteration)
        number = list(self.listing.lines).index(path) + 1
        given = [values[name] for name in self.listing.names[path]]
        threads = sorted(t.number for t in event.place.threads)
        self.commands.append(_said(number, threads, [*given, *extra]))


SETUP, SHUTDOWN, BOUNDARY = -1, -2, 0


def _said(number: int, threads: Sequence[int], given: Sequence[int] = ()) -> str:
    """The command that threads execute a statement, with the values of its iterators."""
    return " ".join(map(str, ["s", number, len(threads), *threads, len(given), *given]))


@cache
def _events(proc: Proc, sizes: tuple[tuple[str, int], ...]) -> list[Event]:
    return list(unfold(proc, dict(sizes)))


def _nothing(log: list[list[str]]) -> None:
    assert not log


def execute(proc: Proc, sizes: dict[str, int], directory: File, change: Callable[[str], str] = str) -> Run:
    """Execute the generated lines of a program; an AssertionError says what is wrong. `change` is a mutation."""
    found = listing(proc)
    shape = device_shape(found.function)
    run = Run(found, shape.block_dim, shape.cluster_dim)
    events = _events(proc, tuple(sizes.items()))
    run.homes = _homes(run, events)
    for event in events:
        run.event(event)
    source = directory / "run.cpp"
    source.write_text(change(_program(found)))
    subprocess.run(["g++", "-std=c++17", "-w", "-I", HERE, source, "-o", directory / "run"], check=True)
    everybody = range(run.block_dim * run.cluster_dim)
    commands = "\n".join([_said(SETUP, everybody), *run.commands, _said(SHUTDOWN, everybody)])
    text = subprocess.run(
        [directory / "run"], input=commands, capture_output=True, text=True, check=True
    ).stdout
    _judge(run, text)
    return run


def _homes(run: Run, events: Sequence[Event]) -> dict[Key, int]:
    """The CTA of each queue: that of those who await it."""
    found: dict[Key, int] = {}
    for event in events:
        if isinstance(event, BarrierAllocated):
            key = event.place.path, frozenset(t.number for t in event.place.threads)
            run.barriers[event.barrier] = key
        if isinstance(event, Awaited):
            (found[run.key(event.queue)],) = {t.number // run.block_dim for t in event.place.threads}
    return found


def _judge(run: Run, text: str) -> None:
    logs: list[list[list[str]]] = [[]]
    for line in text.splitlines():
        assert not line.startswith("!"), line
        if line == ".":
            logs.append([])
        else:
            logs[-1].append(line.split())
    assert len(logs) == len(run.checks) + 3, "the run ends early"
    for check, log in zip(run.checks, logs[1:], strict=False):
        check(log)
    phases = {(int(c), int(k)): int(n) for _, c, k, n in logs[-2]}
    by_copies = {line[3] for log in logs for line in log if line[0] == "noinc"}
    for at, numbers in run.rounds.items():
        if at not in phases:  # mbarriers at which copies arrive are not invalidated
            assert by_copies
            continue
        assert phases[at] == len(numbers), f"{phases[at]} phases of mbarrier {at}, of {len(numbers)} arrives"


def _program(found: Listing) -> str:
    declared = "\n".join(found.part("declare"))
    cases = [
        _case(SETUP, found.part("setup")),
        _case(SHUTDOWN, found.part("shutdown")),
        _case(BOUNDARY, found.part("boundary")),
    ]
    for number, (path, lines) in enumerate(found.lines.items(), 1):
        given = [f"int {name} = v[{k}];" for k, name in enumerate(found.names[path])]
        extra = len(given)
        if path in found.pointers:
            given += [f"int CTAS_WRITTEN = v[{extra}], BYTES = v[{extra + 1}];"]
            lines = [*lines, f"if (ptx::elect_sync()) copied({found.pointers[path]}, CTAS_WRITTEN, BYTES);"]
        if isinstance(found.statements[path], Arrive):
            block = found.lines.get(path[:-1], [])
            lines = [*lines, *(line for line in block if line.endswith(" = 0;"))]
        if isinstance(found.statements[path], Arrive | Await | Call) and any(
            "sync" in line for line in lines
        ):
            cases.append(_case(number, [*given, *lines]))
    shape = device_shape(found.function)
    return f"""#include "mbarrier_model.h"
{declared}
static SyncState states[{shape.block_dim * shape.cluster_dim}];
static void execute(int number, SyncState &sync, int const *v) {{
    switch (number) {{
{chr(10).join(cases)}
    }}
}}
int main() {{
    int number, count;
    static int threads[65536], v[64];
    while (std::scanf(" s %d %d", &number, &count) == 2) {{
        for (int i = 0; i < count; ++i) std::scanf("%d", &threads[i]);
        int given;
        std::scanf("%d", &given);
        for (int i = 0; i < given; ++i) std::scanf("%d", &v[i]);
        for (int i = 0; i < count; ++i) {{
            rank_of_cta = threads[i] / {shape.block_dim};
            threadIdx.x = threads[i] % {shape.block_dim};
            execute(number, states[threads[i]], v);
        }}
        std::printf(".\\n");
    }}
}}
"""


def _case(number: int, lines: Sequence[str]) -> str:
    return "\n".join([f"    case {number}: {{", *lines, "    break; }"])
