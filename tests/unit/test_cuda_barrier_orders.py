"""
Rings of mbarriers in every order of warps
==========================================

Random programs of two groups of warps that arrive at both sides of a barrier and wait for them, over several tasks.
Where the abstract machine accepts one, its warps are run in every order on the counters that are generated: none waits
for ever, and nobody goes on before what it waits for. The counters are those of `SyncState`, written again in Python;
that they are the same is shown by `test_cuda_synchronization`, which executes the text.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import indent

import pytest

from soundline.spec.abstract_machine import check
from soundline.spec.errors import ProgramError, SoundlineError
from soundline.spec.spork.static.law import static_law

from .cuda_barrier_programs import program

TASKS = 3


@dataclass
class Turn:
    """The counter of a thread."""

    depth: int
    lag: int = 0
    slot: int = 0
    parity: int = 0
    early: int = 0

    def __post_init__(self) -> None:
        self.early = self.lag

    def is_due(self) -> bool:
        if self.early == 0:
            return True
        self.early -= 1
        return False

    def next(self) -> None:
        self.slot += 1
        if self.slot == self.depth:
            self.slot, self.parity = 0, self.parity ^ 1

    def restart(self) -> None:
        while self.early < self.lag:
            self.early += 1
            self.next()


@dataclass(frozen=True)
class Ring:
    """A random program: what is done in its order, with the lags and the warps of each group."""

    tokens: tuple[str, ...]
    lag: int
    back: int
    warps: int
    depth: int


STATEMENTS = {
    "arrive": (0, "Arrive(cuda_in_order, 1) >> bar"),
    "await": (1, "Await(bar, cuda_in_order, ~{lag})"),
    "reverse arrive": (1, "ReverseArrive(cuda_in_order, 1) >> bar"),
    "reverse await": (0, "ReverseAwait(bar, cuda_in_order, ~{back})"),
}


def rings(seed: int) -> Iterator[Ring]:
    """Random programs that the law accepts."""
    chosen = random.Random(seed)
    while True:
        lag, back, warps, count = (chosen.randrange(*bounds) for bounds in ((3,), (3,), (1, 3), (1, 5)))
        once = ["arrive", "await", *(["reverse arrive", "reverse await"] if chosen.random() < 0.4 else [])]
        tokens = once * count + ["fence"] * chosen.randrange(2)
        if chosen.random() < 0.7:
            chosen.shuffle(tokens)
        lines = ["bar: barrier @ CudaMbarrier"]
        for token in tokens:
            if token == "fence":
                lines.append("Fence(cuda_in_order, cuda_in_order)")
                continue
            group, text = STATEMENTS[token]
            head = f"with CudaWarps({warps * group}, {warps * (group + 1)}):"
            lines += [head, indent(text.format(lag=lag, back=back), "    ")]
        try:
            proc = program("\n".join(lines), device=f"blockDim={64 * warps}", tasks=TASKS)
            (facts,) = static_law(proc).barriers.values()
        except (ProgramError, SoundlineError):
            continue
        if check(proc, {}).ok:
            yield Ring(tuple(tokens), lag, back, warps, facts.depth or 1)


Op = tuple[str, bool, int, int, int]
"""What a warp does: at which side, which slot and parity, and which arrive of the law it is or waits for."""


def ops_of(ring: Ring, group: int, *, restarts: bool, meets: bool = True) -> list[Op]:
    """What a warp of a group does in all tasks, by its own counters, beside the numbers of the law."""
    arrives, awaits = Turn(ring.depth), Turn(ring.depth, ring.back if group == 0 else ring.lag)
    found: list[Op] = []
    base = 0
    for _ in range(TASKS):
        arrived = waited = 0
        for token in ring.tokens:
            if token == "fence":
                found.append(("meet", False, 0, 0, 0))
                continue
            if STATEMENTS[token][0] != group:
                continue
            reverse = token.startswith("reverse")
            if token.endswith("arrive"):
                found.append(("arrive", reverse, arrives.slot, 0, base + arrived))
                arrives.next()
                arrived += 1
                continue
            number = waited - awaits.lag
            waited += 1
            due = awaits.is_due()
            assert due == (number >= 0) or not restarts
            if due:
                found.append(("wait", reverse, awaits.slot, awaits.parity, base + number))
                awaits.next()
        base += max(arrived, waited)
        if meets:
            found.append(("meet", False, 0, 0, 0))
        if restarts:
            awaits.restart()
    return found


def stuck(ring: Ring, *, restarts: bool = True, meets: bool = True) -> str | None:
    """What goes wrong in some order of the warps, if anything does."""
    groups = [ops_of(ring, group, restarts=restarts, meets=meets) for group in (0, 1)]
    warps = [ops for ops in groups for _ in range(ring.warps)]
    seen, todo = set(), [(0,) * len(warps)]
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        phases = _phases(ring, warps, at)
        after, wrong = _steps(ring, warps, at, phases)
        if wrong:
            return wrong
        if not after and any(k < len(ops) for k, ops in zip(at, warps, strict=True)):
            return "all wait"
        todo += after
    return None


def _phases(ring: Ring, warps: Sequence[list[Op]], at: Sequence[int]) -> dict[tuple[bool, int], int]:
    """How many phases of each mbarrier are complete: of each, all warps of a group have arrived."""
    made: dict[tuple[bool, int], int] = {}
    for ops, end in zip(warps, at, strict=True):
        for kind, reverse, slot, _, _ in ops[:end]:
            if kind == "arrive":
                made[reverse, slot] = made.get((reverse, slot), 0) + 1
    return {key: count // ring.warps for key, count in made.items()}


def _steps(
    ring: Ring, warps: Sequence[list[Op]], at: tuple[int, ...], phases: dict[tuple[bool, int], int]
) -> tuple[list[tuple[int, ...]], str | None]:
    """Where the warps may be after one step, and what is wrong with a step."""
    found = []
    ahead = [ops[k] if k < len(ops) else None for k, ops in zip(at, warps, strict=True)]
    if all(op is not None and op[0] == "meet" for op in ahead):
        return [tuple(k + 1 for k in at)], None
    for who, op in enumerate(ahead):
        if op is None or op[0] == "meet":
            continue
        kind, reverse, slot, parity, number = op
        phase = phases.get((reverse, slot), 0)
        if kind == "wait":
            if phase % 2 == parity:
                continue
            if phase <= number // ring.depth or slot != number % ring.depth:
                return [], f"warp {who} goes on before arrive {number}"
        elif phase < number // ring.depth or slot != number % ring.depth:
            return [], f"warp {who} arrives too early, as arrive {number}"
        found.append((*at[:who], at[who] + 1, *at[who + 1 :]))
    return found, None


@pytest.mark.parametrize("seed", range(4))
def test_no_order_of_warps_goes_wrong(seed: int) -> None:
    for _, ring in zip(range(10), rings(seed), strict=False):
        assert stuck(ring) is None, ring


def test_a_task_that_begins_with_the_lag_of_the_last_goes_wrong_in_some_order() -> None:
    ahead = Ring(("arrive", "arrive", "await", "await"), lag=1, back=0, warps=1, depth=2)
    assert stuck(ahead) is None
    assert stuck(ahead, restarts=False) is not None


def test_tasks_whose_warps_do_not_meet_go_wrong_in_some_order() -> None:
    once = Ring(("arrive", "await"), lag=0, back=0, warps=1, depth=1)
    assert stuck(once) is None
    assert stuck(once, meets=False) is not None


def test_a_ring_that_is_too_short_goes_wrong_in_some_order() -> None:
    ring = Ring(("reverse await", "arrive", "await", "reverse arrive") * 3, lag=0, back=2, warps=1, depth=2)
    assert stuck(ring) is None
    short = Ring(ring.tokens, lag=0, back=2, warps=1, depth=1)
    assert stuck(short) is not None
