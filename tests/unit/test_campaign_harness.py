"""The harness of campaigns: time, ledger, workers and children, whatever is judged."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from trials import harness
from trials.child import Child, Ended
from trials.harness import Bar, Campaign, command, parser, run, write

from soundline.spec.errors import UsageError


class Squares(Campaign[int, int]):
    """Squares of numbers; some are known, and some take no answer."""

    def __init__(self, count: int, known: dict[int, int] | None = None, *, endless: bool = False) -> None:
        self.count, self.ledger, self.endless = count, known or {}, endless
        self.asked: list[tuple[int, Any]] = []
        self.found: dict[int, int | None] = {}
        self.stopped = 0

    def cases(self) -> Iterable[int]:
        return range(1, self.count + 1)

    def known(self, case: int) -> int | None:
        return self.ledger.get(case)

    def judged(self, case: int, worker: Any) -> int | None:
        self.asked.append((case, worker))
        return None if case == 4 else case * case

    def heard(self, case: int, found: int | None) -> None:
        self.found[case] = found

    def goes_on(self, case: int) -> bool:
        return not self.endless

    def progress(self) -> str:
        return f"{len(self.found)} squares"

    def stop(self) -> None:
        self.stopped += 1


def bar() -> Bar:
    return Bar(Console(quiet=True), 1)


def test_what_is_known_is_heard_and_not_judged() -> None:
    squares = Squares(5, {2: 4, 5: 25})
    run(squares, 1, bar(), workers=["me"])
    assert squares.asked == [(1, "me"), (3, "me"), (4, "me")]
    assert squares.found == {1: 1, 2: 4, 3: 9, 4: None, 5: 25}
    assert squares.stopped == 1


def test_when_the_time_is_up_what_is_known_is_heard_still() -> None:
    squares = Squares(5, {2: 4, 5: 25})
    run(squares, 0, bar())
    assert squares.asked == []
    assert squares.found == {1: None, 2: 4, 3: None, 4: None, 5: 25}


def test_of_endless_cases_none_is_looked_at_when_the_time_is_up() -> None:
    squares = Squares(10**12, {1: 1, 2: 4}, endless=True)
    run(squares, 0, bar())
    assert squares.found == {1: 1, 2: 4, 3: None}


def test_at_most_so_many_are_judged() -> None:
    squares = Squares(9, {1: 1})
    run(squares, 1, bar(), most=2)
    assert [case for case, _ in squares.asked] == [2, 3]


@pytest.mark.parametrize("count", [0, 1, 50])
def test_several_workers_judge_each_case_once(count: int) -> None:
    squares = Squares(count)
    run(squares, 1, bar(), workers=["a", "b", "c"])
    assert sorted(case for case, _ in squares.asked) == list(range(1, count + 1))
    assert len(squares.found) == count


def test_an_error_of_one_worker_ends_the_others_and_is_raised() -> None:
    class Failing(Squares):
        def judged(self, case: int, worker: Any) -> int | None:
            if case == 3:
                raise ValueError("a mistake")
            while not self.stopped and worker == "b":
                time.sleep(0.01)  # until the campaign is told to give up
            return case

    before = set(threading.enumerate())
    with pytest.raises(ValueError, match="a mistake"):
        run(Failing(10**6), 1, bar(), workers=["a", "b"])
    assert set(threading.enumerate()) == before


def test_without_a_terminal_a_line_comes_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "EVERY", 0.0)
    out = io.StringIO()
    with Bar(Console(file=out), 1) as told:
        run(Squares(2), 1, told)
    assert out.getvalue().splitlines() == ["0 min: 1 squares", "0 min: 2 squares"]


# commands ---------------------------------------------------------------------------------------------------------


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    def raising(error: BaseException) -> Any:
        def body() -> int:
            raise error

        return body

    assert command("c", lambda: 7) == 7
    assert command("c", raising(UsageError("no", hint="say yes"))) == harness.USAGE
    assert capsys.readouterr().err.startswith("c: no")
    assert command("c", raising(KeyboardInterrupt())) == harness.INTERRUPTED
    assert capsys.readouterr().err == "interrupted; the next run goes on from here\n"


@pytest.mark.parametrize("minutes", ["0", "-1", "inf", "nan", "some"])
def test_minutes_are_a_positive_number(minutes: str) -> None:
    options = parser("m", "", "", minutes=3, output="o")
    assert options.parse_args([]).minutes == 3
    assert options.parse_args(["--minutes", "0.5"]).minutes == 0.5
    with pytest.raises(UsageError):
        options.parse_args(["--minutes", minutes])


def test_a_result_is_brought_up_to_date(tmp_path: Path) -> None:
    file = tmp_path / "new" / "result.json"
    write(file, schema=1, a=[1])
    write(file, schema=1, b="é")
    assert json.loads(file.read_text()) == {"schema": 1, "a": [1], "b": "é"}
    with pytest.raises(UsageError, match="cannot be written"):
        write(tmp_path, a=1)


def test_a_module_of_the_trials_is_found_wherever_one_stands(tmp_path: Path) -> None:
    code = "from trials.harness import started; raise SystemExit(started('trials.attack', '--help'))"
    path = harness.search_path(harness.ROOT)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path.split(os.pathsep)!r}; {code}"],
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "python -m trials.attack" in done.stdout


# children ---------------------------------------------------------------------------------------------------------


def obedient(case: str) -> Any:
    match case:
        case "spin":
            while True:
                pass
        case "sleep":
            time.sleep(60)
        case "crash":
            os.kill(os.getpid(), signal.SIGTERM)
        case "fail":
            raise ValueError
        case "fill":
            return len(bytearray(1 << 30))
    return [case, os.getpid()]


def test_a_child_answers_case_after_case() -> None:
    with Child(obedient) as child:
        (first, one), (second, other) = child.ask("a", 5), child.ask("b" * 100_000, 5)
    assert (first, second) == ("a", "b" * 100_000)
    assert one == other != os.getpid()
    with pytest.raises(ProcessLookupError):
        os.kill(one, 0)


@pytest.mark.parametrize(
    ("case", "late"), [("spin", True), ("sleep", True), ("crash", False), ("fail", False)]
)
def test_a_case_that_ends_its_child_costs_itself_alone(
    case: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trials.child.WAITING", 3)
    with Child(obedient) as child:
        _, one = child.ask("a", 5)
        with pytest.raises(Ended) as ended:
            child.ask(case, 0.2)
        assert ended.value.late is late
        _, other = child.ask("a", 5)
    assert one != other


def test_a_child_has_so_much_memory() -> None:
    with Child(obedient) as child, Child(obedient, memory=1 << 28) as small:
        assert child.ask("fill", 10) == 1 << 30
        with pytest.raises(Ended):
            small.ask("fill", 10)
