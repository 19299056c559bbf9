"""The stages of the deep checks take turns: each gets its share, goes on where it ended, and tells what it found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from trials import deep
from trials.deep import STAGES, Stage, run
from trials.ledger import Ledger

MODULE = """
import json, sys, time
log, name, turn, minutes, seconds, code = sys.argv[1:]
with open(log, "a") as file:
    file.write(json.dumps([name, int(turn), float(minutes)]) + "\\n")
time.sleep(float(seconds))
sys.exit(int(code))
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "one_turn.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path / "log"


def stage(log: Path, name: str, *, seconds: float = 0.0, code: int = 0, **more: Any) -> Stage:
    def command(turn: int, minutes: float) -> list[str]:
        return ["one_turn", str(log), name, str(turn), f"{minutes:g}", str(seconds), str(code)]

    return Stage(name, command, lambda turns: f"{turns} of {name}", **more)


def turns(log: Path) -> list[list[Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def ran(stages: list[Stage], minutes: float, folder: Path) -> tuple[int, str]:
    console = Console(width=100, record=True, file=(folder / "out").open("w"))
    ledger = Ledger(folder / "ledger.sqlite")
    try:
        return run(stages, minutes, ledger, console), console.export_text()
    finally:
        ledger.close()


def test_every_stage_has_a_turn_however_few_the_minutes(log: Path, tmp_path: Path) -> None:
    code, text = ran([stage(log, "a"), stage(log, "b"), stage(log, "c", least=2.0)], 0.0001, tmp_path)
    assert code == 0
    assert turns(log) == [["a", 0, 0.25], ["b", 0, 0.25], ["c", 0, 2.0]]
    assert "a          1 turns in all: 1 of a" in text


def test_the_next_turn_is_that_of_the_stage_that_had_the_least_time(log: Path, tmp_path: Path) -> None:
    ran([stage(log, "long", seconds=2.0), stage(log, "short")], 0.1, tmp_path)
    assert [name for name, _, _ in turns(log)][:3] == ["long", "short", "short"]


def test_a_stage_goes_on_where_it_ended_and_a_turn_that_finds_something_is_taken_again(
    log: Path, tmp_path: Path
) -> None:
    stages = [stage(log, "good"), stage(log, "bad", code=3)]
    code, text = ran(stages, 0.0001, tmp_path)
    assert code == deep.FOUND
    assert "FOUND SOMETHING (exit codes [3])" in text
    ran(stages, 0.0001, tmp_path)
    assert [turn for name, turn, _ in turns(log) if name == "good"][:2] == [0, 1]
    assert {turn for name, turn, _ in turns(log) if name == "bad"} == {0}


def test_what_cannot_be_made_shorter_is_not_begun_at_the_end(log: Path, tmp_path: Path) -> None:
    ran([stage(log, "whole", seconds=1.0, settled=True)], 0.02, tmp_path)
    assert len(turns(log)) == 1


def test_an_interrupted_turn_interrupts_the_run(log: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        ran([stage(log, "a", code=130), stage(log, "b")], 1.0, tmp_path)
    assert len(turns(log)) == 1


def test_the_stages_are_modules_that_exist() -> None:
    from importlib.util import find_spec

    known_names = [
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
    assert [s.name for s in STAGES] == known_names
    for known in STAGES:
        words = known.command(0, 1.0)
        assert find_spec(words[0]) is not None
        assert all(isinstance(word, str) for word in words)
