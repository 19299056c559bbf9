"""`soundline compile` and `soundline run`: programs from files, and what can be wrong with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soundline.impl.compile import STAGES
from soundline.spec.parsing import parse
from soundline.spec.uop import Op, toposort
from soundline.verify.cli import main

MODEL = """
import soundline as sl
from helper_beside import TWO

def double(x):
    return x * TWO

def both(x, y=sl.Tensor([1, 2, 3])):
    return x + y, x * y

made = sl.compile(double, sl.Tensor([1, 2]))
value = sl.Tensor([1.5, 2.5]) * 2

def _private(x):
    return x

def fails(x):
    return x.nothing()

def returns_no_tensor(x):
    return 3
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "helper_beside.py").write_text("TWO = 2\n")
    (tmp_path / "single.py").write_text("def only(x):\n    return -x\n")
    (tmp_path / "cut.py").write_text("def only(x:\n    return -x\n")
    (tmp_path / "ends.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "notes.txt").write_text("")
    np.save(tmp_path / "x.npy", np.array([3, -4], np.int32))
    (tmp_path / "bad.npy").write_bytes(b"nothing")


def shown(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0, capfd.readouterr()
    out, err = capfd.readouterr()
    assert err == ""
    return out


def test_run_prints_what_the_program_returns(capfd: pytest.CaptureFixture[str]) -> None:
    assert shown(capfd, "run", "model.py:double", "--input", "x.npy") == "int32[2]\n[ 6 -8]\n"
    assert shown(capfd, "run", "model.py:made", "--input", "x.npy") == "int32[2]\n[ 6 -8]\n"
    assert shown(capfd, "run", "model.py:value") == "float32[2]\n[3. 5.]\n"
    both = shown(capfd, "run", "model.py:both", "--input", "int32[3]", "--seed", "1")
    assert both.count("int32[3]") == 2
    assert shown(capfd, "run", "single.py", "--input", "int8[]").startswith("int8[]\n")


def test_random_inputs_follow_the_seed(capfd: pytest.CaptureFixture[str]) -> None:
    def of(seed: str) -> str:
        return shown(capfd, "run", "model.py:double", "--input", "float32[2, 3]", "--seed", seed)

    assert of("1") == of("1")
    assert of("1") != of("2")


def test_compile_explains_and_shows_every_stage(capfd: pytest.CaptureFixture[str]) -> None:
    text = shown(capfd, "compile", "model.py:double", "--input", "int32[2]")
    assert "double: (int32[2]) -> (int32[2])" in text
    stages = {
        s: shown(capfd, "compile", "model.py:double", "--input", "int32[2]", "--stage", s) for s in STAGES
    }
    assert "void" in stages.pop("render")
    read = {s: {n.op for n in toposort(*parse(text))} for s, text in stages.items()}
    assert all(Op.Mul in found for found in read.values())
    assert [s for s in read if Op.Function in read[s]] == ["callify"]
    assert [s for s in read if Op.Range in read[s]] == list(stages)[1:]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["model.py"], ["double", "both", "FILE.py:NAME"]),
        (["model.py:nope"], ["nope", "double"]),
        (["model.py:double"], ["takes (x)", "0 inputs"]),
        (["model.py:double", "--input", "int8[2]", "--input", "int8[2]"], ["takes 1 inputs", "2"]),
        (["model.py:double", "--input", "int99[2]"], ["int99[2]", "float32"]),
        (["model.py:double", "--input", "int8"], ["'int8' is no input"]),
        (["model.py:double", "--input", "index[2]"], ["'index[2]' is no input"]),
        (["model.py:double", "--input", "none.npy"], ["none.npy"]),
        (["model.py:double", "--input", "bad.npy"], ["bad.npy"]),
        (["model.py:double", "--input", "int8[2]", "--seed", "x"], ["'x' is no seed"]),
        (["model.py:made", "--input", "x.npy", "--profile", "fast"], ["--profile"]),
        (["model.py:fails", "--input", "int8[2]"], ["model.py:18", "AttributeError"]),
        (["model.py:returns_no_tensor", "--input", "int8[2]"], ["must return Tensors"]),
        (["cut.py"], ["cut.py:1", "syntax error"]),
        (["ends.py"], ["ends.py:1", "SystemExit"]),
        (["none.py"], ["no file none.py"]),
        (["notes.txt"], ["not a Python file"]),
        ([], ["FILE"]),
    ],
)
@pytest.mark.parametrize("command", ["compile", "run"])
def test_what_is_wrong_is_one_line(
    command: str, arguments: list[str], parts: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([command, *arguments]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("soundline: error: ")
    assert len(err.splitlines()) == 1
    assert [p for p in parts if p not in err] == []


def test_a_stage_that_is_none_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "model.py:double", "--input", "int8[2]", "--stage", "nope"]) == 2
    assert "render" in capfd.readouterr().err
