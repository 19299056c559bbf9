"""BEAM search: it finds what is faster by its clock, nothing that is wrong, and looks for it once."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import soundline as sl
from soundline.impl.lower.optimize import optimized
from soundline.impl.lower.schedule.schedules import Schedule, parsed, schedule_text
from soundline.impl.runtime import cache
from soundline.impl.search import beam, trials
from soundline.impl.search import steps as search_steps
from soundline.impl.search.beam import Found, beam_search, best_of, kept, key_of
from soundline.impl.search.enabling import width_of
from soundline.impl.search.trials import Trial, Worker, a_worker, apart
from soundline.impl.search.worker import agree
from soundline.spec.errors import CompileError, ScheduleError, UsageError
from soundline.spec.uop import Op, UOp, toposort

from .processors import WIDE
from .test_schedules import product


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path / "cache"))


class FakeClock:
    """Seconds by a rule, and what was asked."""

    def __init__(self, seconds: Callable[[str], float | None]) -> None:
        self.seconds = seconds
        self.asked: list[Schedule] = []

    def __call__(self, candidates: Sequence[Schedule]) -> list[float | None]:
        self.asked += candidates
        return [self.seconds(schedule_text(c)) for c in candidates]


def planted(text: str) -> float:
    """The fewer seconds, the more of the planted steps are there; anything besides costs."""
    wanted = {"Split 1 8 UPCAST": 0.3, "Split 0 4 UPCAST": 0.2, "Pack 3 1": 0.2}
    steps = text.split("; ")
    return 1.0 - sum(gain for step, gain in wanted.items() if step in steps) + 0.01 * len(steps)


# The beam ---------------------------------------------------------------------------------------------------------


def test_the_planted_schedule_is_found() -> None:
    clock = FakeClock(planted)
    found = beam_search(product(8, 3, 16), (), WIDE, 2, clock)
    assert {schedule_text((s,)) for s in found.steps} == {"Split 1 8 UPCAST", "Split 0 4 UPCAST", "Pack 3 1"}
    assert found.seconds == pytest.approx(0.33)
    assert found.tried == len(clock.asked) == len(set(clock.asked))
    assert found.heuristics > found.seconds


def test_a_search_is_the_same_every_time() -> None:
    found = [beam_search(product(8, 3, 16), (), WIDE, 1, FakeClock(planted)) for _ in range(2)]
    assert found[0] == found[1]


def test_what_is_out_does_not_win_and_is_not_made_longer() -> None:
    clock = FakeClock(lambda text: None if "UPCAST" in text else planted(text))
    found = beam_search(product(8, 3, 16), (), WIDE, 2, clock)
    assert "UPCAST" not in schedule_text(found.steps)
    with pytest.raises(ScheduleError, match="no candidate that runs"):
        beam_search(product(8, 3, 16), (), WIDE, 2, FakeClock(lambda text: None))


def test_schedules_that_make_one_kernel_are_tried_once() -> None:
    clock = FakeClock(planted)
    beam_search(product(8, 3, 16), (), WIDE, 3, clock)
    forms = [beam._form(search_steps.under(product(8, 3, 16), c, ()).sink) for c in clock.asked]  # type: ignore[union-attr]
    assert len(forms) == len(set(forms))


def test_moves_are_lawful_and_of_every_kind() -> None:
    begun = parsed("Split 1 8 UPCAST")
    near = list(search_steps.neighbours(product(32, 20, 16), begun, ("reassociate",)))
    assert all(search_steps.under(product(32, 20, 16), n, ("reassociate",)) is not None for n in near)
    text = "\n".join(map(schedule_text, near))
    for wanted in ("Split 0 4 UPCAST", "Split 0 16 LOOP", "Split 0 32 THREAD top", "Swap 0 1", "Pack 2 1"):
        assert f"; {wanted}" in text
    assert "; Cut 3 16; Split 4 8 GROUP_REDUCE" in text
    exact = "\n".join(map(schedule_text, search_steps.neighbours(product(32, 20, 16), begun, ())))
    assert "GROUP_REDUCE" not in exact


def test_seeds_are_what_the_heuristics_do_for_several_tiles() -> None:
    seeds = search_steps.seeds(product(64, 5, 128), WIDE, ())
    assert seeds[0] == ()
    assert schedule_text(seeds[1]).startswith("Split 1 64 UPCAST")
    assert len(seeds) > 5


# Trials -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    with a_worker() as worker:
        yield Trial(product(6, 4, 32), (), tmp_path, worker)


LANES, ROWS, PACKED = (
    parsed(t) for t in ("Split 1 16 UPCAST", "Split 0 2 UPCAST", "Split 1 8 UPCAST; Pack 2 1")
)


def wrong_where(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An applier that has a bug: after some step, products are sums."""

    def broken(
        kernels: UOp, licences: object, applied: object, given: dict[int, object]
    ) -> tuple[UOp, object]:
        made, told = optimized(kernels, licences, applied, given)  # type: ignore[arg-type]
        if text not in schedule_text(told[0].steps):
            return made, told
        new: dict[UOp, UOp] = {}
        for n in toposort(made):
            src = tuple(new[s] for s in n.src)
            new[n] = UOp(Op.Add if n.op is Op.Mul and n.dtype.is_float else n.op, src, n.arg, n.tag)
        return new[made], told

    monkeypatch.setattr(trials, "optimized", broken)


def test_a_wrong_candidate_never_wins(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong_where("Split 1 16 UPCAST", monkeypatch)
    seconds = trial([LANES, ROWS, PACKED])
    assert seconds[0] is None
    assert all(s is not None and s > 0 for s in seconds[1:])
    assert trial.out == [(LANES, "it computes something else")]


def test_the_kernel_without_a_schedule_says_what_is_right(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mutant of every step, so that all candidates agree with each other: none of them is let through."""
    wrong_where("Split", monkeypatch)
    assert trial([LANES, ROWS]) == [None, None]


def test_what_hangs_crashes_or_does_not_compile_is_out(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "BATCH", 1)
    monkeypatch.setattr(trial, "_limit", lambda: 0.5)
    compiled = trials._compiled
    bodies = {11: 'for (;;) __asm__ volatile("");', 12: "__builtin_trap();", 13: "this is no C;"}

    def sabotaged(compiler: object, source: Path, library: Path) -> bool:
        at = int(source.stem.rpartition("-")[2])
        head, brace, rest = source.read_text().partition("kernel_0(")
        text = head + brace + rest.replace("{", "{" + bodies.get(at, ""), 1)
        source.write_text(text)
        return compiled(compiler, source, library)  # type: ignore[arg-type]

    trial([ROWS])  # files 0 and 1: the candidate, then the kernel without a schedule
    monkeypatch.setattr(trials, "_compiled", sabotaged)
    trial.files = iter((11, 12, 13, 14))  # type: ignore[assignment]
    candidates = [LANES, PACKED, parsed("Split 1 4 UPCAST"), parsed("Split 1 32 UPCAST")]
    monkeypatch.setattr(trials, "_cores", lambda: {0})
    first, second, third, fourth = trial(candidates)
    assert (first, second, third) == (None, None, None)
    assert fourth is not None
    assert [why for _, why in trial.out] == [
        "it does not compile",
        "it crashed, or did not end in time",
        "it crashed, or did not end in time",
    ]
    assert trial.worker.started == 3  # the process of this test has noticed nothing


def test_a_candidate_that_does_not_lower_is_out(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(
        kernels: UOp, licences: object, applied: object, given: dict[int, object]
    ) -> tuple[UOp, object]:
        made, told = optimized(kernels, licences, applied, given)  # type: ignore[arg-type]
        if told[0].steps == LANES:
            raise ValueError("a bug")
        return made, told

    monkeypatch.setattr(trials, "optimized", broken)
    first, second = trial([LANES, ROWS])
    assert first is None
    assert second is not None
    assert trial.out == [(LANES, "it does not lower")]


def test_a_worker_that_dies_is_no_answer() -> None:
    worker = Worker()
    assert worker.ask({"do": "open", "buffers": [], "arena": 0, "tolerance": 0.0}, 60) == {}
    assert worker.ask({"do": "no such thing"}, 60) is None
    assert not worker.alive
    worker.close()


def test_a_kernel_of_which_nothing_runs_is_an_error(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "_compiled", lambda *a: False)
    with pytest.raises(CompileError, match="no candidate"):
        trial([LANES])


@pytest.mark.parametrize(
    ("a", "b", "tolerance", "same"),
    [
        ([1.0, np.nan], [1.0, -np.nan], 0.0, True),
        ([0.0], [-0.0], 0.0, False),
        ([1.0], [np.nextafter(np.float32(1), np.float32(2))], 0.0, False),
        ([1.0], [np.nextafter(np.float32(1), np.float32(2))], 1e-6, True),
        ([1.0, np.inf], [1.0, 5.0], 1e-1, False),
        ([100.0, 0.0], [100.0, 0.2], 1e-3, False),
    ],
)
def test_results_agree_bit_for_bit_or_within_a_tolerance(
    a: list[float], b: list[float], tolerance: float, same: bool
) -> None:
    assert agree(np.array(a, np.float32), np.array(b, np.float32), tolerance) is same
    assert not agree(np.array([1], np.int32), np.array([2], np.int32), 1.0)


# What is kept -----------------------------------------------------------------------------------------------------


def test_a_result_is_looked_for_once() -> None:
    clocks: list[FakeClock] = []

    def clock(sink: UOp) -> FakeClock:
        clocks.append(FakeClock(planted))
        return clocks[-1]

    sink = product(8, 3, 16)
    first = best_of(sink, (), 2, clock)
    again = best_of(sink, (), 2, clock)
    assert len(clocks) == 1
    assert (again.steps, again.seconds, again.tried) == (first.steps, first.seconds, 0)
    best_of(sink, (), 1, clock)
    best_of(sink, ("contract",), 2, clock)
    assert len(clocks) == 3  # other keys
    for damage in ("{", '{"steps": "Split 1 8 UPCAST", "seconds": 1, "heuristics": 1, "sum": "?"}', "[]"):
        for entry in cache.cache_folder().glob("*.schedule"):
            entry.write_text(damage)
        assert best_of(sink, (), 2, clock).steps == first.steps
    assert len(clocks) == 6
    assert cache.clear() >= 3
    assert not list(cache.cache_folder().glob("*.schedule"))


def test_a_result_that_may_no_longer_be_done_is_looked_for_again() -> None:
    sink, _ = apart(product(8, 3, 16))
    key = key_of(sink, (), beam.this_machine(), 2)
    beam.keep(key, Found(parsed("Split 1 7 UPCAST"), 0.0, 1.0, 9))
    assert kept(key) is not None
    found = best_of(product(8, 3, 16), (), 2, lambda _: FakeClock(planted))
    assert found.seconds == pytest.approx(0.33)


def test_steps_name_the_buffers_of_the_program() -> None:
    from soundline.spec.uop import buffer, substitute

    sink = product(8, 3, 16)
    moved = {b: buffer(b.arg.slot + 5, b.arg.size, b.dtype) for b in toposort(sink) if b.op is Op.Buffer}
    found = best_of(substitute(sink, moved), (), 2, lambda _: FakeClock(planted))
    assert "Pack 3 6" in schedule_text(found.steps)


def test_candidates_that_differ_in_numbers_alone_are_one() -> None:
    from soundline.spec.uop import buffer, loop, substitute

    sink, other = product(8, 3, 16), product(8, 4, 16)
    slots = {b: buffer(b.arg.slot + 5, b.arg.size, b.dtype) for b in toposort(sink) if b.op is Op.Buffer}
    loops = {
        r: loop(int(r.src[0].arg.value), r.arg.id + 7, r.arg.type) for r in toposort(sink) if r.op is Op.Range
    }
    form = beam._form(sink)
    assert form is beam._form(substitute(sink, slots)) is beam._form(substitute(sink, loops))
    assert form is not beam._form(other)


TWO = """
    import sys
    from pathlib import Path
    from soundline.impl.search.beam import best_of
    sys.path.insert(0, {folder!r})
    from tests.unit.test_search import FakeClock, planted
    from tests.unit.test_schedules import product

    def clock(sink):
        with Path({log!r}).open("a") as log:
            log.write("searched\\n")
        return FakeClock(planted)

    print([str(s) for s in best_of(product(8, 3, 16), (), 2, clock).steps])
"""


def test_two_processes_at_one_key_search_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    folder = str(Path(__file__).parents[2])
    script = textwrap.dedent(TWO.format(folder=folder, log=str(log)))
    both = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    told = {p.communicate()[0] for p in both}
    assert all(p.returncode == 0 for p in both)
    assert len(told) == 1
    assert "Pack" in next(iter(told))
    if sys.platform != "win32":
        assert log.read_text().count("searched") == 1


# Programs ---------------------------------------------------------------------------------------------------------


def test_a_program_is_compiled_with_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beam, "DEPTH", 1)
    monkeypatch.setattr(beam, "MOST", 3)
    monkeypatch.setattr(beam, "seeds", lambda *a: [(), LANES])
    source = np.random.default_rng(5)
    a, b = source.standard_normal((6, 4), np.float32), source.standard_normal((4, 32), np.float32)
    program = sl.compile(lambda x, y: x @ y, a, b, beam=1)
    assert [s.origin for s in program.schedules] == ["search"]
    assert (
        np.asarray(program(a, b)).tobytes()
        == np.asarray(sl.compile(lambda x, y: x @ y, a, b)(a, b)).tobytes()
    )
    monkeypatch.setenv("SOUNDLINE_BEAM", "1")
    monkeypatch.setattr(beam, "beam_search", None)  # what is kept is enough
    assert sl.compile(lambda x, y: x @ y, a, b).schedules == program.schedules
    given = sl.compile(lambda x, y: x @ y, a, b, schedule="Split 0 3 UPCAST")
    assert [s.origin for s in given.schedules] == ["given"]


def test_kernels_that_rules_lay_out_are_left_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are handed on share loops, which no schedule of one kernel can say."""
    monkeypatch.setattr(beam, "best_of", lambda *a: pytest.fail("a search"))
    x = np.ones((64, 300), np.float32)
    program = sl.compile(lambda t: t.softmax(), x, beam=1)
    assert {s.origin for s in program.schedules} == {"heuristics, by rows"}


def test_how_wide_a_beam_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert width_of(None) == 0
    assert width_of(3) == 3
    monkeypatch.setenv("SOUNDLINE_BEAM", "2")
    assert (width_of(None), width_of(0)) == (2, 0)
    monkeypatch.setenv("SOUNDLINE_BEAM", "wide")
    with pytest.raises(UsageError, match="wide"):
        width_of(None)
    for wrong in (-1, 1.5, True):
        with pytest.raises(UsageError):
            width_of(wrong)  # type: ignore[arg-type]
