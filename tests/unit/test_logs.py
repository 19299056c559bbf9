"""Logging: who says what, that nothing is printed unless it is asked for, and what asks for it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import soundline as sl
from soundline.impl import logs
from soundline.impl.program.compile import STAGES, lower

PROGRAM = "import numpy as np, soundline as sl; sl.compile(lambda x: x * {factor}, np.ones(3))(np.ones(3))"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    names = [logs.ROOT, *(f"{logs.ROOT}.{n}" for n in ("compile", "runtime"))]
    before = [(logging.getLogger(n), logging.getLogger(n).level) for n in names]
    handlers = list(logging.getLogger(logs.ROOT).handlers)
    yield
    for found, level in before:
        found.setLevel(level)
    logging.getLogger(logs.ROOT).handlers[:] = handlers


def test_stages_are_logged_with_what_they_leave(caplog: pytest.LogCaptureFixture) -> None:
    lower.cache_clear()
    with caplog.at_level(logging.DEBUG, logger="soundline.compile"):
        sl.compile(lambda x: x * 41, np.ones(3))
    told = [r.getMessage() for r in caplog.records if r.name == "soundline.compile"]
    assert [m.partition(":")[0] for m in told if m.partition(":")[0] in STAGES] == list(STAGES)
    assert any("nodes" in m for m in told)
    assert any("lowered to 1 kernels" in m for m in told)


def run(factor: int, cache: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SOUNDLINE_CACHE_DIR": str(cache), **variables}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(factor=factor)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


def test_nothing_is_printed_unless_it_is_asked_for(tmp_path: Path) -> None:
    first = run(44, tmp_path, SOUNDLINE_LOG="runtime=debug")
    assert "soundline.runtime: compiled " in first.stderr
    assert "not in the compile cache" in first.stderr
    assert " -O3 " in first.stderr  # the command
    assert "soundline.compile" not in first.stderr
    quiet = run(44, tmp_path, SOUNDLINE_LOG="")
    assert (quiet.stdout, quiet.stderr, quiet.returncode) == ("", "", 0)


def test_a_level_that_is_none_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(logs.VARIABLE, "loud")
    with pytest.warns(RuntimeWarning, match="'loud'"):
        logs.show_what_is_asked_for()


def test_a_level_is_that_of_one_subject_or_of_all() -> None:
    assert list(logs.levels("info")) == [("soundline", logging.INFO)]
    assert list(logs.levels("compile=debug, runtime=warning")) == [
        ("soundline.compile", logging.DEBUG),
        ("soundline.runtime", logging.WARNING),
    ]
    assert list(logs.levels("soundline.compile=ERROR")) == [("soundline.compile", logging.ERROR)]
    assert list(logs.levels(" ,")) == []
    with pytest.raises(sl.UsageError, match="loud"):
        list(logs.levels("compile=loud"))


def test_it_is_shown_once_however_often_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    logs.show("compile=info")
    logs.show("compile=info")
    logs.logger("compile").info("a word")
    logs.logger("compile").debug("another")
    assert capsys.readouterr().err == "soundline.compile: a word\n"
