"""The court of the abstract machine: its programs, its judge, its ledger, and the slips that it is shown."""

from __future__ import annotations

import ast
import json
import textwrap
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rich.console import Console
from trials import deep
from trials.harness import write
from trials.ledger import Entry, Ledger, entries, meaning, version
from trials.machine import campaign, reasons, trial
from trials.machine import judge as machine_judge
from trials.machine import slips as machine_slips
from trials.machine.changes import CHANGES, changed, fresh
from trials.machine.generator import LEANER, Drawn, drawn, lean, skeleton
from trials.machine.judge import BAD, JUDGED, Outcome, communicates, judge
from trials.machine.mutants import EQUIVALENT, MUTATED, SLIPS, UNIT_TESTS
from trials.machine.report import totals
from trials.machine.shrinking import shrunk
from trials.machine.skeletons import SKELETONS
from trials.machine.slips import Case, Fate, by_hand, by_operators, summary
from trials.machine.verdicts import NoRun, accepts, hazards, lawful
from trials.machine.witnesses import WITNESSES, witness

from soundline.impl.spork import proc_from_text
from soundline.spec.errors import SoundlineError
from soundline.spec.spork.language.statements import Fence, statements
from soundline.spec.spork.language.well_formedness import check
from soundline.verify.findings.instructions import NAMES

ROOT = Path(__file__).resolve().parents[2]


# Programs ---------------------------------------------------------------------------------------------------------


def test_a_seed_always_makes_the_same_program() -> None:
    for seed in range(30):
        first, again = drawn(seed), drawn(seed)
        assert (first.proc, first.kind, first.changes) == (again.proc, again.kind, again.changes)
    assert len({str(drawn(seed).proc) for seed in range(30)}) == 30


@pytest.mark.parametrize("change", [c for c, _ in CHANGES], ids=lambda c: c.__name__)
def test_each_change_makes_another_program_of_some_skeleton(change: Any) -> None:
    made = 0
    for kind in SKELETONS:
        for seed in range(4):
            proc = skeleton(kind, seed).proc
            try:
                found = change(fresh(proc), Random(seed))
                made += found is not None and check(found) != proc
            except SoundlineError:
                continue
    assert made > 0


def test_changes_leave_programs_well_formed() -> None:
    names = set()
    for seed in range(60):
        found = changed(skeleton("ring", seed).proc, Random(seed))
        if found is not None:
            check(found[0])
            names.add(found[1])
    assert len(names) > 5


def test_a_lean_program_is_accepted_and_has_less() -> None:
    proc = skeleton("staged", 3).proc
    doubled = _with_double_fences(proc)
    assert accepts(doubled)
    spare = lean(doubled, Random(1))
    assert accepts(spare)
    assert _fences(spare) < _fences(doubled)


def test_what_the_machine_refuses_is_not_made_lean() -> None:
    proc = witness("mach-read-raw").proc
    assert lean(proc, Random(0)) is proc


def _fences(proc: Any) -> int:
    return sum(isinstance(s, Fence) for s in statements(proc.body))


def _with_double_fences(proc: Any) -> Any:
    from trials.machine.changes import edited

    return replace(proc, body=edited(proc.body, lambda s: (s, replace(s)) if isinstance(s, Fence) else None))


# The judge --------------------------------------------------------------------------------------------------------


def test_the_four_outcomes_of_a_judged_program(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, right = witness("mach-read-raw"), witness("mach-read-raw", mended=True)
    assert judge(wrong).outcome is Outcome.wrong
    assert judge(right).outcome is Outcome.right
    found = hazards(_events(wrong))
    monkeypatch.setattr(machine_judge, "hazards", lambda events: ())
    assert judge(wrong).outcome is Outcome.disagreement
    monkeypatch.setattr(machine_judge, "hazards", lambda events: found)
    assert judge(right).outcome is Outcome.refused
    changed = Drawn(0, right.kind, ("some",), right.proc)
    assert judge(changed).outcome is Outcome.unobserved
    assert judge(changed).entry.reason
    assert {Outcome.disagreement, Outcome.refused} == BAD
    assert len(JUDGED) == 5


def _events(program: Drawn) -> Any:
    events = lawful(program.proc)
    assert not isinstance(events, NoRun)
    return events


def test_a_wrong_interleaving_is_told() -> None:
    told = judge(witness("mach-read-raw")).schedule
    assert "s[" in told
    assert ", not " in told.splitlines()[-1] or "nobody wrote" in told
    waiting = judge(witness("mach-await-progress")).schedule
    assert "waits for ever" in waiting


def test_programs_without_a_run_are_told_apart() -> None:
    head = "def f(x: i32[8] @ CudaGmemLinear):\n    with CudaDeviceFunction(blockDim=32):\n"
    head += "        for task in cuda_tasks(0, 1):\n"
    late = proc_from_text(head + "            x[0] = 1\n", NAMES)
    assert lawful(late) is NoRun.unlawful, "single threads assign elements"
    unwritten = head + "            for t in cuda_threads(0, 1, unit=cuda_thread):\n"
    unwritten += "                r: i32 @ CudaRmem\n                x[0] = r\n"
    assert lawful(proc_from_text(unwritten, NAMES)) is NoRun.meaningless
    outside = unwritten.replace("r: i32 @ CudaRmem\n                x[0] = r", "x[8] = 1")
    assert lawful(proc_from_text(outside, NAMES)) is NoRun.meaningless


def test_communication_is_asynchronous_where_one_of_two_threads_is() -> None:
    assert communicates(_events(skeleton("bulk_both", 0)))
    assert not communicates(_events(skeleton("reduction", 0)))
    assert not communicates(_events(skeleton("overwritten", 0))), "one thread alone"


def test_the_shrinker_leaves_only_what_is_needed() -> None:
    start = skeleton("double_buffer", 1).proc
    broken = _without_fences(start)

    def keeps(proc: Any) -> bool:
        events = lawful(proc)
        return not isinstance(events, NoRun) and any(h.id == "mach-read-raw" for h in hazards(events))

    assert keeps(broken)
    small = shrunk(broken, keeps)
    assert keeps(small)
    assert len(list(statements(small.body))) < len(list(statements(broken.body)))


def _without_fences(proc: Any) -> Any:
    from trials.machine.changes import edited

    return replace(proc, body=edited(proc.body, lambda s: () if isinstance(s, Fence) else None))


def test_a_disagreement_is_made_small_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_judge, "hazards", lambda events: ())
    wrong = witness("mach-read-raw")
    monkeypatch.setattr(campaign, "drawn", lambda seed: wrong)
    told = campaign.explained(7)
    assert str(Outcome.disagreement) in told
    assert "seed 7" in told
    assert "s[" in told


# Reasons ----------------------------------------------------------------------------------------------------------

FIRST = "for e in cuda_threads(0, 1, unit=cuda_thread):"
FENCE = "Fence(cuda_in_order, cuda_in_order)"


def unobserved(body: str) -> Entry:
    """The entry of a program that is refused, though nothing is wrong with it."""
    head = """\
def f(x: i32[8] @ CudaGmemLinear, y: i32[8] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            s: i32[2] @ CudaSmemLinear
"""
    text = head + textwrap.indent(textwrap.dedent(body).strip("\n") + "\n", " " * 12)
    judged = judge(Drawn(0, "reason", ("given",), proc_from_text(text, NAMES)))
    assert judged.outcome is Outcome.unobserved, (judged.outcome, judged.entry.ids)
    return judged.entry


REFUSED = {
    reasons.MORE: f"""
        {FIRST}
            s[0] = x[0]
        Fence(Sm80_cp_async, cuda_temporal)
        with CudaWarps(1, 2):
            {FIRST}
                y[0] = s[0]
        {FENCE}
        """,
    reasons.ISSUED: f"""
        {FIRST}
            s[0] = x[0]
            with CudaAsync(Sm80_cp_async):
                cp_async_1(s[0:1], x[1:2])
        Fence(Sm80_cp_async, cuda_in_order)
        {FIRST}
            y[0] = s[0]
        {FENCE}
        """,
    reasons.WRITTEN: """
        for t in cuda_threads(0, 2, unit=cuda_thread):
            y[0] = x[0]
        """,
    reasons.READ: f"""
        {FIRST}
            s[0] = x[0]
        {FENCE}
        for t in cuda_threads(0, 2, unit=cuda_thread):
            if t == 0:
                s[0] = x[0]
            if t == 1:
                y[0] = s[0]
        {FENCE}
        """,
    reasons.OVERWRITTEN: f"""
        {FIRST}
            s[0] = x[0]
        {FENCE}
        with CudaWarps(1, 2):
            {FIRST}
                r: i32 @ CudaRmem
                r = s[0]
        {FIRST}
            s[0] = x[1]
            y[1] = s[0]
        {FENCE}
        """,
    reasons.FREED: f"""
        for k in seq(0, 1):
            r: i32[1] @ CudaSmemLinear
            with CudaWarps(1, 2):
                {FIRST}
                    r[0] = x[0]
                    y[0] = r[0]
        {FENCE}
        """,
}
"""By reason, a program that is refused for nothing that shows."""


@pytest.mark.parametrize("why", REFUSED)
def test_a_refusal_that_shows_nothing_has_a_reason(why: str) -> None:
    assert unobserved(REFUSED[why]).reason == why


def test_what_was_only_sampled_is_said_to_be() -> None:
    events = _events(witness("mach-read-raw"))
    assert reasons.reason(events, hazards(events), complete=False) == reasons.SAMPLED


def test_reasons_of_counts() -> None:
    events = _events(witness("mach-await-progress"))
    assert reasons.reason(events, hazards(events), complete=True) == reasons.LATE
    arrive = f"bar: barrier @ CudaMbarrier\n{FIRST}\n    Arrive(cuda_in_order, 1) >> bar\n"
    assert unobserved(arrive).reason == reasons.UNEQUAL


# Ledger and totals ------------------------------------------------------------------------------------------------


def test_the_ledger_keeps_entries_by_version(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    entry = Entry(
        3, "ring", ("move",), "wrong", ("mach-read-raw",), "", True, True, 9, ("mach-read-raw",), 12
    )
    ledger = Ledger(file)
    ledger.put("a", 10, asdict(replace(entry, seed=10)))
    ledger.put("a", 3, asdict(entry))
    ledger.put("notes", "k", ["x", 1])
    ledger.close()
    again = Ledger(file)
    assert list(entries(again, "a")) == [entry, replace(entry, seed=10)], "by number, not by text"
    assert list(entries(again, "b")) == []
    assert again.get("notes", "k") == ["x", 1]
    assert again.get("notes", "other") is again.get("other", "k") is None
    again.close()


def test_a_ledger_that_cannot_be_opened_costs_the_memory_only(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.put("a", 1, asdict(Entry(1, "soup")))
    assert [e.seed for e in entries(ledger, "a")] == [1]


def test_prose_is_no_part_of_a_version() -> None:
    code = 'x = 1\n"""What x is."""\n\n\ndef f():\n    """Twice."""\n    return 2  # two\n'
    assert meaning(code) == meaning("x = 1\n\ndef f():\n    return 2\n")
    assert meaning(code) != meaning(code.replace("2", "3"))
    assert version() == version()


def test_a_campaign_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def judged(program: int) -> Any:
        seen.append(program)
        return campaign.Judgement(Entry(program, "soup", outcome="disagreement" if program == 4 else "right"))

    monkeypatch.setattr(campaign, "drawn", lambda seed: seed)
    monkeypatch.setattr(campaign, "judge", judged)
    ledger, console = Ledger(None), Console(quiet=True)
    assert campaign.campaign(ledger, 1.0, console, most=3) == []
    assert campaign.campaign(ledger, 1.0, console, most=3) == [4]
    assert seen == [0, 1, 2, 3, 4, 5]
    found = totals(entries(ledger, version()))
    assert (found.judged, found.bad) == (6, [4])


def test_totals_add_up() -> None:
    entries = [
        Entry(0, "ring", (), "right", communicates=True, exhaustive=True, schedules=1),
        Entry(1, "ring", ("move",), "wrong", ("mach-read-raw",), "", True, False, 5, ("mach-read-raw",)),
        Entry(2, "soup", (), "unobserved", ("mach-free-read",), "why", False, True, 2),
        Entry(3, "soup", (), "unlawful"),
        Entry(4, "soup", (), "meaningless"),
        Entry(5, "soup", (), "disagreement", communicates=True),
    ]
    parts = totals(entries).as_json()
    found = parts["programs"]
    assert (found["judged"], found["accepted"], found["refused"]) == (4, 2, 2)
    assert (found["accepted_though_wrong"], found["hazardous_share"]) == (1, 0.5)
    assert found["communicating_asynchronously_share"] == 0.75
    assert found["unobservable_share_of_refusals"] == 0.5
    assert found["left_out_against_the_static_law"] == found["left_out_without_a_sequential_reading"] == 1
    assert parts["hazards"]["mach-read-raw"] == {"refused": 1, "shown_wrong": 1}
    assert parts["refusals_that_show_nothing"] == {"why": 1}
    assert parts["kinds_of_programs"] == {"ring": 2, "soup": 2}


def test_the_result_keeps_what_another_command_wrote(tmp_path: Path) -> None:
    file = tmp_path / "sub/adequacy.json"
    write(file, schema=1, programs={"judged": 1})
    write(file, schema=1, slips={"total": {}})
    write(file, schema=1, programs={"judged": 2})
    assert json.loads(file.read_text()) == {"schema": 1, "programs": {"judged": 2}, "slips": {"total": {}}}


def test_the_command_line_judges_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.json"
    assert campaign.main(["--fresh", "--most", "5", "--output", str(file)]) == 0
    assert json.loads(file.read_text())["programs"]["accepted_though_wrong"] == 0
    assert "0 disagreements" in capsys.readouterr().out
    assert campaign.main(["--program", "3"]) == 0
    assert "def f(" in capsys.readouterr().out


# Slips ------------------------------------------------------------------------------------------------------------


def test_there_are_many_slips_and_each_changes_the_machine() -> None:
    assert len(SLIPS) >= 40
    assert len({(s.path, s.before, s.after) for s in SLIPS}) == len(SLIPS)
    assert len({s.what for s in SLIPS}) == len(SLIPS)
    for case in by_hand():
        assert ast.dump(ast.parse(case.source)) != ast.dump(ast.parse((ROOT / case.path).read_text()))


def test_operators_change_every_module_of_the_machine() -> None:
    found: Iterator[Case] = by_operators()
    assert {next(found).path for _ in range(len(MUTATED))} == set(MUTATED)


def test_every_judged_slip_is_one() -> None:
    assert all(why for why in EQUIVALENT.values())
    assert all((ROOT / "tests/unit" / name).exists() for name in UNIT_TESTS)


def exhibited() -> list[tuple[int, str]]:
    return [(seed, trial.WRONG) for seed in range(len(WITNESSES))] + [(99, trial.CORRECT)]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The witnesses as programs of the first seeds, and a correct one."""

    def made(seed: int) -> Drawn:
        return skeleton("ring", 5) if seed == 99 else witness(list(WITNESSES)[seed])

    monkeypatch.setattr(trial, "drawn", made)


@pytest.mark.usefixtures("known")
def test_the_machine_itself_is_not_noticed() -> None:
    assert trial.noticed(exhibited()) == ""


@pytest.mark.usefixtures("known")
def test_a_machine_that_accepts_too_much_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "hazards", lambda events: ())
    assert "accepts what an interleaving gets wrong" in trial.noticed(exhibited())


@pytest.mark.usefixtures("known")
def test_a_machine_that_refuses_too_much_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "hazards", lambda events: ("any",))
    assert trial.noticed(exhibited()) == "99: refuses what is correct by construction"


@pytest.mark.usefixtures("known")
def test_a_machine_that_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(events: Any) -> Any:
        raise KeyError

    monkeypatch.setattr(trial, "hazards", fails)
    assert trial.noticed(exhibited()) == "0: the machine fails with KeyError"


def test_exhibits_are_of_every_kind_before_any_twice() -> None:
    entries = [Entry(n, "ring", ("x",), "wrong", ("mach-read-raw",)) for n in range(5)]
    entries += [
        Entry(10, "ring", (), "right"),
        Entry(11, "ring", ("x",), "right"),
        Entry(12, "soup", (), "right"),
    ]
    entries += [
        Entry(13, "ring", (LEANER,), "wrong", ("mach-write-waw",)),
        Entry(14, "soup", (), "unobserved"),
    ]
    entries += [
        Entry(20, "soup", (), "wrong", ("mach-read-raw",)),
        Entry(21, "ring", ("y",), "wrong", ("mach-read-raw",)),
    ]
    found = trial.exhibits(entries, 5)
    assert found[0] == (10, trial.CORRECT)
    assert found[1:] == [(seed, trial.WRONG) for seed in (0, 20, 21, 1)]
    assert len(trial.exhibits(entries, 100)) == 8


class FakeCopy:
    """Answers as a copy would, and keeps what it is asked."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(request)
        return self.answers.pop(0)


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        ([{"code": "timeout"}], "court"),
        ([{"code": 70}], "court"),
        ([{"code": 0, "found": "5: accepts"}], "court"),
        ([{"code": 0, "found": ""}, {"code": 1, "killer": "test_x"}], "unit"),
        ([{"code": 0, "found": ""}, {"code": 0}], "survived"),
    ],
)
def test_the_fate_of_a_slip(answers: list[dict[str, Any]], status: str) -> None:
    copy: Any = FakeCopy(*answers)
    case = Case("spec/spork/synchronization/visibility.py", "x = 1\n", "what", True)
    assert machine_slips.tried(case, copy, [(1, "wrong")]).status == status
    assert all(r["file"] == case.path and r["source"] == case.source for r in copy.asked)


def test_a_slip_that_was_judged_is_excused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EQUIVALENT, "what", "why")
    copy: Any = FakeCopy({"code": 0, "found": ""}, {"code": 0})
    assert machine_slips.tried(
        Case("spec/spork/synchronization/visibility.py", "", "what", True), copy, []
    ) == Fate("excused", "why")


def test_the_score_of_slips_leaves_out_what_is_excused() -> None:
    found = [
        (Case("p", "", "a", True), Fate("court")),
        (Case("p", "", "b", True), Fate("survived")),
        (Case("p", "", "c", False), Fate("unit")),
        (Case("p", "", "d", False), Fate("excused")),
    ]
    rows = summary(found)
    assert rows["thought_of"]["score"] == 0.5
    assert rows["by_operators"]["score"] == 1.0
    assert (rows["total"]["tried"], rows["total"]["score"]) == (4, round(2 / 3, 4))


def test_slips_wait_for_the_campaign(tmp_path: Path) -> None:
    assert machine_slips.slips(Ledger(None), 1.0, Console(quiet=True), tmp_path / "a.json") == 0
    assert not (tmp_path / "a.json").exists()


def test_slips_go_on_where_they_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hand = [Case("p", str(n), f"hand {n}", True) for n in range(2)]
    monkeypatch.setattr(machine_slips, "by_hand", lambda: hand)
    monkeypatch.setattr(machine_slips, "by_operators", lambda: iter([Case("p", "9", "operator", False)]))
    monkeypatch.setattr(machine_slips, "exhibits", lambda entries, most: [(n, "wrong") for n in range(500)])
    monkeypatch.setattr(machine_slips, "Copy", lambda root: nullcontext(object()))
    tried: list[str] = []

    def fate(case: Case, copy: Any, programs: Any) -> Fate:
        tried.append(case.what)
        return Fate("court", f"{case.source}: accepts")

    monkeypatch.setattr(machine_slips, "tried", fate)
    ledger, console, file = Ledger(None), Console(quiet=True), tmp_path / "a.json"
    assert machine_slips.slips(ledger, -1.0, console, file) == 0
    assert tried == []
    assert machine_slips.slips(ledger, 1.0, console, file) == 0
    assert machine_slips.slips(ledger, 1.0, console, file) == 0
    assert tried == ["hand 0", "hand 1", "operator"]
    assert json.loads(file.read_text())["slips"]["total"]["tried"] == 3


# Turns ------------------------------------------------------------------------------------------------------------


def stage(
    name: str, seconds: float, clock: list[float], log: list[str], *, settled: bool = False
) -> deep.Stage:
    def command(turn: int, minutes: float) -> list[str]:
        clock[0] += seconds if settled else 60 * minutes
        log.append(f"{name} {turn}")
        return [name]

    return deep.Stage(name, command, lambda turns: f"{turns} done", settled=settled)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that only stages advance, and processes that succeed, but for one of that name."""
    now = [0.0]

    monkeypatch.setattr(deep.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(deep, "started", lambda module: int(module == "bad"))
    return now


def test_stages_take_turns_by_the_time_they_had(clock: list[float]) -> None:
    log: list[str] = []
    stages = [stage("long", 240, clock, log, settled=True), stage("short", 0, clock, log)]
    assert deep.run(stages, 16.0, Ledger(None), Console(quiet=True)) == 0
    assert log == ["long 0", "short 0", "long 1", "short 1"]


def test_a_turn_that_does_not_fit_is_not_begun(clock: list[float]) -> None:
    log: list[str] = []
    stages = [stage("long", 240, clock, log, settled=True), stage("short", 0, clock, log)]
    deep.run(stages, 12.0, Ledger(None), Console(quiet=True))
    assert log == ["long 0", "short 0", "short 1", "short 2"]


def test_every_stage_has_a_turn_however_few_the_minutes_are(clock: list[float]) -> None:
    log: list[str] = []
    stages = [stage("long", 240, clock, log, settled=True), stage("short", 0, clock, log)]
    deep.run(stages, 0.01, Ledger(None), Console(quiet=True))
    assert log == ["long 0", "short 0"]


def test_turns_go_on_in_the_next_run_and_failures_are_told(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    log: list[str] = []
    stages = [stage("good", 60, clock, log, settled=True), stage("bad", 60, clock, log, settled=True)]
    ledger = Ledger(None)
    assert deep.run(stages, 0.01, ledger, Console()) == 1
    assert deep.run(stages, 0.01, ledger, Console()) == 1
    assert log == ["good 0", "bad 0", "good 1", "bad 0"], "a turn that found something is taken again"
    said = capsys.readouterr().out
    assert "2 done" in said
    assert "FOUND SOMETHING" in said


def test_options_of_the_mutation_stage_mean_that_stage_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def started(*command: str) -> int:
        ran.append([*command])
        return 3

    monkeypatch.setattr(deep, "started", started)
    assert deep.main(["--minutes", "2", "--only", "bounds", "--seed", "1"]) == 3
    assert ran == [["trials.mutation.main", "--minutes", "2", "--only", "bounds", "--seed", "1"]]


def test_make_verify_deep_takes_all_stages() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\nverify-deep:")[2].partition("\n\n")[0]
    assert "$(CONFORMANCE_STAMP)" in recipe.splitlines()[0]
    assert "trials.deep --minutes $(MINUTES)" in recipe
    assert [s.name for s in deep.STAGES] == [
        "stablehlo",
        "tinygrad",
        "checker",
        "machine",
        "slips",
        "waterline",
        "mistakes",
        "attack",
        "mutation",
    ]
    for found in deep.STAGES:
        module, *_ = found.command(0, 1.0)
        place = ROOT / "tests" / module.replace(".", "/")
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists()


# What is kept -----------------------------------------------------------------------------------------------------


def test_the_kept_result_says_that_nothing_disagrees() -> None:
    kept = json.loads((ROOT / "benchmarks/results/adequacy.json").read_text())
    programs = kept["programs"]
    assert programs["judged"] == programs["accepted"] + programs["refused"] >= 20_000
    assert programs["accepted_though_wrong"] == programs["refused_though_correct_by_construction"] == 0
    assert programs["hazardous_share"] >= 0.3
    assert programs["communicating_asynchronously_share"] >= 0.5
    slips = kept["slips"]["total"]
    assert slips["tried"] >= 40
    assert slips["score"] >= machine_slips.THRESHOLD
