"""What the mutation runner does when something ends its servers, or itself, and the result that was kept."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from trials.harness import Bar
from trials.ledger import Ledger
from trials.mutation import copy as mutation_copy
from trials.mutation import server as mutation_server
from trials.mutation.campaign import MutantCampaign, Plan, Tally
from trials.mutation.copy import Copy, Stopped
from trials.mutation.outcomes import Outcome
from trials.mutation.report import SCHEMA
from trials.mutation.targets import RULES, TARGETS, THRESHOLD, Target

from soundline.spec.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "benchmarks/results/mutation.json"

TOY = "def three():\n    return 3\n"
TEST = (
    "import pytest\nimport toy\n\n\n@pytest.mark.thorough\ndef test_three():\n    assert toy.three() == 3\n"
)
"""A campaign runs whole files: tests that `make test` leaves out are among them."""
ENDS_ITS_SERVER = """\
import os, signal, time
from pathlib import Path

seen = Path({seen!r})
with seen.open("a") as file:
    file.write(f"{{os.getpid()}}\\n")
if len(seen.read_text().split()) <= {times}:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)


def three():
    return {answer}
"""
"""A mutant whose server is ended the first so many times, while the mutant is in place and its child is at work."""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    root = tmp_path / "toy"
    for name, text in (("src/toy.py", TOY), ("tests/test_toy.py", TEST), ("pyproject.toml", "")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def copy(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Copy]:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    with Copy(toy) as made:
        yield made
    assert list(scratch.iterdir()) == [], "the copy was left behind"


def trying(source: str) -> dict[str, Any]:
    """The request to try a mutant of the toy."""
    return {"file": "src/toy.py", "source": source, "tests": ["tests/test_toy.py"], "cpu": 60, "wall": 60.0}


def ended(process: int) -> bool:
    """Whether a process ends within ten seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if not is_running(process):
            return True
        time.sleep(0.05)
    return False


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # no such folder on this system, or gone meanwhile
        return not Path("/proc/self").exists()
    return state != "Z"  # ended, and nobody has asked for its exit code yet


# servers ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_server_that_is_ended_from_outside_is_replaced(copy: Copy) -> None:
    first = copy.server.pid
    assert copy.ask(trying(TOY))["code"] == 0
    os.kill(first, signal.SIGKILL)
    assert copy.ask(trying(TOY.replace("3", "4")))["code"] == 1
    assert copy.server.pid != first
    assert ended(first)
    assert (copy.tree / "src/toy.py").read_text() == TOY
    assert copy.ask(trying(TOY))["code"] == 0, "the new server answers as the old one did"


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(("answer", "code"), [(3, 0), (4, 1)])
def test_a_server_that_is_ended_while_a_mutant_is_in_place_leaves_nothing(
    answer: int, code: int, copy: Copy, tmp_path: Path
) -> None:
    """Its child is ended too, the module is put back, and the answer is that of the next server."""
    seen = tmp_path / "seen"
    source = ENDS_ITS_SERVER.format(seen=str(seen), times=2, answer=answer)
    assert copy.ask(trying(source))["code"] == code
    children = [int(line) for line in seen.read_text().split()]
    assert len(children) == 3
    assert all(ended(child) for child in children)
    assert (copy.tree / "src/toy.py").read_text() == TOY
    assert not (copy.tree / mutation_server.CHILD).exists()


@pytest.mark.slow
@pytest.mark.thorough
def test_servers_that_are_ended_again_and_again_are_wrong_use(copy: Copy, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    with pytest.raises(UsageError) as refused:
        copy.ask(trying(ENDS_ITS_SERVER.format(seen=str(seen), times=99, answer=3)))
    assert refused.value.where == "src/toy.py"
    assert refused.value.hint is not None
    assert len(seen.read_text().split()) == 1 + mutation_copy.AGAIN
    assert (copy.tree / "src/toy.py").read_text() == TOY
    assert copy.ask(trying(TOY))["code"] == 0, "the copy is of use still"


@pytest.mark.slow
def test_a_copy_that_was_stopped_stays_stopped(copy: Copy) -> None:
    server = copy.server
    copy.stop()
    with pytest.raises(Stopped):
        copy.ask(trying(TOY))
    assert copy.server is server
    assert server.returncode is not None


@pytest.mark.slow
def test_a_copy_that_is_stopped_at_work_gives_up(copy: Copy, tmp_path: Path) -> None:
    seen, heard = tmp_path / "seen", []

    def ask() -> None:
        try:
            copy.ask(trying(f"import pathlib\npathlib.Path({str(seen)!r}).touch()\nwhile True:\n    pass\n"))
        except Stopped as stopped:
            heard.append(stopped)

    asking = threading.Thread(target=ask)
    asking.start()
    while not seen.exists():
        time.sleep(0.05)
    child = int((copy.tree / mutation_server.CHILD).read_text())
    copy.stop()
    asking.join(10)
    assert len(heard) == 1
    assert ended(child)


def test_a_copy_that_cannot_be_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(FileNotFoundError):
        Copy(tmp_path / "nothing")
    assert list(tmp_path.iterdir()) == []


# campaigns --------------------------------------------------------------------------------------------------------


class Disturbing:
    """A listener that does something when a mutant is about to be tried."""

    def __init__(self, disturb: Any) -> None:
        self.disturb = disturb
        self.tried = 0

    def says(self, text: str) -> None: ...

    def begins(self, tallies: list[Tally]) -> None: ...

    def works_on(self, worker: int, path: str) -> None:
        self.tried += 1
        self.disturb()

    def ended(self, tally: Tally, outcome: Outcome) -> None: ...

    def broke(self, tally: Tally) -> None: ...


def campaign(toy: Path, disturb: Any = lambda: None, workers: int = 2) -> MutantCampaign:
    plan = Plan(toy, (Target("src/toy.py", ("tests/test_toy.py",)),), None, 5, workers=workers)
    return MutantCampaign(plan, Ledger(None), Disturbing(disturb))


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def interruptible() -> Iterator[None]:
    former = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job would not hear it
    yield
    signal.signal(signal.SIGINT, former)


@pytest.mark.slow
def test_an_interrupted_campaign_waits_for_its_workers(toy: Path, scratch: Path, interruptible: None) -> None:
    before = set(threading.enumerate())
    acts = iter([interrupt])

    def disturb() -> None:
        next(acts, lambda: None)()
        time.sleep(1)  # the worker is at work still when the interruption is heard

    with pytest.raises(KeyboardInterrupt):
        campaign(toy, disturb).run(Bar(Console(quiet=True), 5))
    assert set(threading.enumerate()) == before
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
@pytest.mark.thorough
def test_an_interrupted_campaign_gives_up_what_it_tries(
    toy: Path, scratch: Path, tmp_path: Path, interruptible: None
) -> None:
    begun, done = tmp_path / "begun", tmp_path / "done"
    (toy / "tests/test_toy.py").write_text(
        "import time\nfrom pathlib import Path\n"
        f"{TEST.replace('assert', 'took = time_of(toy.three()); assert')}\n\n"
        "def time_of(answer):\n"
        "    if answer != 3:\n"
        f"        Path({str(begun)!r}).touch()\n"
        "        time.sleep(5)\n"
        f"        Path({str(done)!r}).touch()\n"
    )

    def watch() -> None:
        while not begun.exists():
            time.sleep(0.05)
        interrupt()

    watching = threading.Thread(target=watch)
    watching.start()
    with pytest.raises(KeyboardInterrupt):
        campaign(toy).run(Bar(Console(quiet=True), 5))
    watching.join()
    assert not done.exists()
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
@pytest.mark.thorough
def test_an_error_of_one_worker_ends_the_others(toy: Path, scratch: Path) -> None:
    before = set(threading.enumerate())

    def fail() -> None:
        raise UsageError("no more")

    with pytest.raises(UsageError):
        campaign(toy, fail).run(Bar(Console(quiet=True), 5))
    assert set(threading.enumerate()) == before
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
@pytest.mark.thorough
def test_a_campaign_goes_on_when_a_server_is_ended(
    toy: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outcomes are those of a run that nothing disturbed."""
    undisturbed = campaign(toy, workers=1).run(Bar(Console(quiet=True), 5))
    copies: list[Copy] = []
    start = Copy._start

    def kept(self: Copy) -> Any:
        copies.append(self)
        return start(self)

    monkeypatch.setattr(Copy, "_start", kept)
    run = campaign(toy, lambda: os.kill(copies[-1].server.pid, signal.SIGKILL), workers=1)
    (disturbed,) = run.run(Bar(Console(quiet=True), 5))
    assert run.listener.tried == disturbed.possible > 0  # type: ignore[attr-defined]
    assert [(o.line, o.status) for o in disturbed.outcomes] == [
        (o.line, o.status) for o in undisturbed[0].outcomes
    ]
    assert len(copies) == 1 + disturbed.possible
    assert list(scratch.iterdir()) == []


# the result that is kept ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


COUNTS = {"possible", "tried", "killed", "timeout", "survived", "excused"}


def test_the_kept_result_has_its_fields(result: dict[str, Any]) -> None:
    assert set(result) == {"schema", "command", "seed", "threshold", "total", "targets", "survivors"}
    assert result["schema"] == SCHEMA
    assert result["command"].startswith("make verify-deep MINUTES=")
    assert "--only" not in result["command"], "a part of the targets is no score of the whole"
    assert result["threshold"] == THRESHOLD
    assert set(result["total"]) == COUNTS | {"score"}
    assert all(set(found) - {"broken"} == COUNTS | {"score"} for found in result["targets"].values())
    assert all(set(s) == {"file", "line", "before", "after"} for s in result["survivors"])


def test_the_scores_of_the_kept_result_are_those_of_its_counts(result: dict[str, Any]) -> None:
    for name, found in [("total", result["total"]), *result["targets"].items()]:
        noticed, counted = found["killed"] + found["timeout"], found["tried"] - found["excused"]
        assert noticed + found["survived"] == counted, name
        assert found["tried"] <= found["possible"], name
        assert found["score"] == (round(noticed / counted, 4) if counted else None), name


def test_the_total_of_the_kept_result_is_the_sum_of_its_targets(result: dict[str, Any]) -> None:
    for count in COUNTS - {"possible"}:
        assert result["total"][count] == sum(t[count] for t in result["targets"].values()), count
    assert result["total"]["possible"] >= sum(t["possible"] for t in result["targets"].values())


def test_the_survivors_of_the_kept_result_are_counted_and_stand_in_targets(result: dict[str, Any]) -> None:
    for path, found in result["targets"].items():
        assert sum(s["file"] == path for s in result["survivors"]) == found["survived"], path
    assert {s["file"] for s in result["survivors"]} <= set(result["targets"])
    modules = {t.path for t in TARGETS}
    assert all(path in modules or Path(RULES) in Path(path).parents for path in result["targets"])


def test_every_target_of_the_kept_result_could_be_measured(result: dict[str, Any]) -> None:
    assert not any("broken" in found for found in result["targets"].values())
    assert all(found["tried"] for found in result["targets"].values())
