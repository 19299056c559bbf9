"""The search of the parallel reading finds what trying every order finds, with fewer runs; random runs find no more."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from trials.machine.generator import drawn

from soundline.spec.errors import SoundlineError
from soundline.spec.spork.interleavings import threads
from soundline.spec.spork.interleavings.jobs import Job
from soundline.spec.spork.interleavings.memory import ParallelState, sequential
from soundline.spec.spork.interleavings.search import moves
from soundline.spec.spork.interleavings.threads import elections, script
from soundline.spec.spork.interleavings.values import joined, text
from soundline.spec.spork.machine.algebras import Tokens
from soundline.spec.spork.machine.events import Event
from soundline.spec.spork.readings.parallel import outcomes, replay, sample
from soundline.spec.spork.readings.sequential import reduction

from ..representative import one_in  # noqa: TID252
from .parallel_programs import TINY, program, racing

Ending = tuple[tuple[str, ...], bool, bool]
"""What the results hold, whether junk was read, whether it is a deadlock."""

WIDE = 1_500
"""The most moments of a program that is tried in every order."""


def every_ending(events: tuple[Event, ...]) -> set[Ending] | None:
    """How runs can end, by every order of all moves; None where that is too much."""
    found: set[Ending] = set()
    for election in elections(events):
        start = ParallelState(script(events, election), Tokens())
        seen, stack = set(), [start]
        while stack:
            state = stack.pop()
            possible = [c for move in moves(state.control) for c in state.choices(move)]
            if not possible:
                found.add(ending(state))
            for move in possible:
                after = state.copy()
                after.apply(move)
                if after.key() not in seen:
                    seen.add(after.key())
                    stack.append(after)
            if len(seen) > WIDE:
                return None
    return found


def ending(state: ParallelState) -> Ending:
    of, cells = state.control.script, state.cells
    elements = [e for e in (*of.arguments, *of.reused) if e.cells[0] in of.cells]
    values = [joined([cells[of.cells[c]] for c in e.cells], state.tokens) for e in elements]
    return tuple(map(text, values)), state.junk, not state.control.ended


def found_by_search(events: tuple[Event, ...]) -> set[Ending]:
    found = outcomes(events)
    assert found.complete
    return {(tuple(v for _, v in o.result), o.junk, bool(o.deadlock)) for o in found.outcomes}


def lawful(seed: int) -> tuple[Event, ...] | None:
    """The events of a random program, where it is one."""
    try:
        events = tuple(drawn(seed).proc.events())  # type: ignore[attr-defined]
        tokens = Tokens()
        reduction(events, tokens, lambda buffer: [tokens.unknown(str(e)) for e in buffer.elements])
    except SoundlineError:
        return None
    return events


@pytest.mark.parametrize("first", one_in(4, range(0, 96, 24)))
def test_the_search_leaves_out_no_ending(first: int) -> None:
    compared = 0
    for seed in range(first, first + 24):
        events = lawful(seed)
        every = every_ending(events) if events is not None else None
        if events is not None and every is not None:
            assert found_by_search(events) == every, seed
            compared += 1
    assert compared >= 8


def racing_events(seed: int) -> tuple[Event, ...] | None:
    """The events of a random program of reductions, swaps and copies that race, where it is one."""
    try:
        return program(racing(seed), arguments=TINY, shape="blockDim=64")
    except SoundlineError:
        return None


@pytest.mark.parametrize("first", one_in(4, range(0, 80, 20)))
def test_the_search_leaves_out_no_ending_of_races(first: int) -> None:
    compared = several = 0
    for seed in range(first, first + 20):
        events = racing_events(seed)
        every = every_ending(events) if events is not None else None
        if events is not None and every is not None:
            assert found_by_search(events) == every, seed
            compared += 1
            several += len(every) > 1
    assert compared >= 10
    assert several >= 5


def halve_all(jobs: list[Job]) -> None:
    for job in jobs:
        for part in job.parts if job.in_order and not (job.together or job.waits_for_all) else ():
            part.halved = bool(part.reads) and not part.atomic


@pytest.mark.parametrize("events", [racing_events, lawful])
def test_what_reads_and_writes_at_once_might_as_well_not(
    events: Callable[[int], tuple[Event, ...] | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = [p for seed in range(30) if (p := events(seed)) is not None and every_ending(p) is not None]
    assert len(programs) >= 10
    found = [found_by_search(p) for p in programs]
    monkeypatch.setattr(threads, "halve", halve_all)
    assert [found_by_search(p) for p in programs] == found


def test_a_program_without_races_has_one_run() -> None:
    body = """
s: i32[4] @ CudaSmemLinear
for k in seq(0, 2):
    for t in cuda_threads(0, 4, unit=cuda_thread):
        s[t] = x[t]
    Fence(cuda_in_order, cuda_in_order)
    for t in cuda_threads(0, 4, unit=cuda_thread):
        y[t] = s[3 - t]
    Fence(cuda_in_order, cuda_in_order)
"""
    found = outcomes(program(body, arguments=TINY))
    assert (found.complete, found.schedules, len(found.outcomes)) == (True, 1, 1)


RACE = """
for w in cuda_threads(0, 2, unit=cuda_warp):
    for t in cuda_threads(0, 2, unit=cuda_thread):
        y[0] = x[2 * w + t]
Fence(cuda_in_order, cuda_in_order)
"""


def test_a_race_has_every_winner() -> None:
    found = outcomes(program(RACE, arguments=TINY, shape="blockDim=64"))
    assert found.complete
    assert {dict(o.result)["y[0]"] for o in found.outcomes} == {f"x[{k}]" for k in range(4)}
    assert len(found.wrong) == 3


def test_what_is_limited_is_not_complete() -> None:
    events = program(RACE, arguments=TINY, shape="blockDim=64")
    assert not outcomes(events, limit=2).complete
    stopped = outcomes(events, stop=True)
    assert stopped.wrong
    assert not stopped.complete
    assert not sample(events).complete


def test_the_same_seed_makes_the_same_runs() -> None:
    events = program(RACE, arguments=TINY, shape="blockDim=64")
    one, two = sample(events, 5, 20), sample(events, 5, 20)
    assert one == two
    assert [o.witness for o in one.outcomes] == [o.witness for o in two.outcomes]
    assert sample(events, 5, 20, stop=True).schedules <= 20


def test_a_witness_can_be_repeated_and_read() -> None:
    events = program(RACE, arguments=TINY, shape="blockDim=64")
    for outcome in (*outcomes(events).outcomes, *sample(events, 2, 30).outcomes):
        assert replay(events, outcome.witness) == outcome
        steps = str(outcome.witness).splitlines()
        assert len(steps) == len(outcome.witness.schedule)
        assert dict(outcome.result)["y[0]"] in steps[-1]
        assert "thread 32 of task (0, 0): y[0] = x[2], action at 0.0.0.0.0 (task = 0, w = 1, t = 0)" in str(
            outcome.witness
        )


@pytest.mark.parametrize("seed", range(40))
def test_the_expected_result_is_that_of_the_sequential_reading(seed: int) -> None:
    events = lawful(seed)
    if events is None:
        return
    tokens = Tokens()
    program_script = script(events)
    cells = sequential(program_script, tokens)
    read = reduction(events, tokens, lambda buffer: [tokens.unknown(str(e)) for e in buffer.elements])
    held = {f"{e.name}{e.index}": v for e, v in _pairs(events, read)}
    for element in program_script.arguments:
        if element.cells[0] in program_script.cells:
            value = joined([cells[program_script.cells[c]] for c in element.cells], tokens)
            assert value is held[f"{element.name}{element.index}"]


def _pairs(events, read):
    for event in events:
        if getattr(event, "is_argument", False):
            yield from zip(event.buffer.elements, read[event.buffer.name], strict=True)
