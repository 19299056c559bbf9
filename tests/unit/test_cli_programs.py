"""`soundline compile`, `run` and `bench`: programs from files, and what can be wrong with them."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import onnx
import pytest

from soundline.impl import toolchain
from soundline.impl.inspect import profile
from soundline.impl.inspect.peaks import Peaks
from soundline.impl.program.compile import STAGES, Program, lower
from soundline.spec.ops.table.parsing import parse
from soundline.spec.pipeline.stages import STAGES as LAW
from soundline.spec.uop import Op, toposort
from soundline.verify.cli.main import main

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


ODD = """
import numpy as np
import soundline as sl

def annotated(x: "float32[2, 3]", w: sl.Signature(sl.float32, (3, 4)), scale=2.0):
    return (x @ w) * scale

def by_example(x, y):
    return x + y, x * y

def listed(x):
    return x

def unreadable(x):
    return x

def several(*parts):
    return parts[0] + parts[1]

def many(x: "float32[2000, 2000]"):
    return x + 1

def total(x: "float32[4096]"):
    return (x * x).sum()

def total_numpy(x):
    return np.dot(x, x)

def wrong_numpy(x):
    return np.dot(x, x) * 2

def other_shape_numpy(x):
    return x

def raising_numpy(x):
    raise ValueError("never")

EXAMPLES = {"by_example": ("int32[3]", np.arange(3, dtype=np.int32)), "listed": "int32[3]", "unreadable": ["int99[3]"]}
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
    np.save(tmp_path / "y.npy", np.arange(3, dtype=np.int32))
    np.save(tmp_path / "wide.npy", np.ones((3, 2), np.int32))
    (tmp_path / "bad.npy").write_bytes(b"nothing")
    (tmp_path / "odd.py").write_text(ODD)
    (tmp_path / "cut.uops").write_text("%0 = Param(\n")
    (tmp_path / "lowered.uops").write_text("%0 = Sink()\nreturn %0\n")
    (tmp_path / "cut.onnx").write_bytes(b"\x08\x07 nothing")


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
        (["model.py:double", "--input", "int8"], ["'int8' is not an input"]),
        (["model.py:double", "--input", "index[2]"], ["'index[2]' is not an input"]),
        (["model.py:double", "--input", "none.npy"], ["none.npy"]),
        (["model.py:double", "--input", "bad.npy"], ["bad.npy"]),
        (["model.py:double", "--input", "int8[2]", "--seed", "x"], ["'x' is not a seed"]),
        (["model.py:made", "--input", "x.npy", "--profile", "fast"], ["--profile"]),
        (["model.py:fails", "--input", "int8[2]"], ["model.py:18", "AttributeError"]),
        (["model.py:returns_no_tensor", "--input", "int8[2]"], ["must return Tensors"]),
        (["cut.py"], ["cut.py:1", "syntax error"]),
        (["ends.py"], ["ends.py:1", "SystemExit"]),
        (["none.py"], ["no file none.py"]),
        (["notes.txt"], ["not a Python file"]),
        (["model.py:double", "--input", "int8[2]", "--device", "MOON"], ["no device 'MOON'"]),
        (["model.py:double", "--input", "float32[99999999, 99999999]"], ["not enough memory"]),
        (["model.py:made", "--input", "wide.npy"], ["argument 0", "shape (3, 2)"]),
        (["odd.py:listed"], ["EXAMPLES['listed'] is a tuple or list"]),
        (["odd.py:unreadable"], ["'int99[3]' is not an input"]),
        (["model.py:double", "--input", "int8[2]", "--schedule", "Fly 0"], ["Fly"]),
        (["model.py:double", "--input", "int8[2]", "--schedule", "x: Swap 0 1"], ["names no kernel"]),
        (
            ["model.py:double", "--input", "int8[2]", "--schedule", "0:", "--schedule", "0:"],
            ["two schedules"],
        ),
        (["model.py:double", "--input", "int8[2]", "--beam", "0"], ["not a number of candidates"]),
        (["model.py:made", "--input", "x.npy", "--schedule", "Swap 0 1"], ["--schedule"]),
        (["cut.uops"], ["cut.uops:"]),
        (["lowered.uops"], ["not a graph of tensors"]),
        (["lowered.uops:x"], ["without names"]),
        (["cut.onnx"], ["cut.onnx"]),
        ([], ["FILE"]),
    ],
)
@pytest.mark.parametrize("command", ["compile", "run", "bench"])
def test_what_is_wrong_is_one_line(
    command: str, arguments: list[str], parts: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    if command == "compile" and arguments[-1:] == ["wide.npy"]:
        return  # a program that is compiled already is shown whatever its inputs are
    assert main([command, *arguments]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("soundline: error: ")
    assert len(err.splitlines()) == 1
    assert [p for p in parts if p not in err] == []


def test_a_stage_that_is_none_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "model.py:double", "--input", "int8[2]", "--stage", "nope"]) == 2
    assert "render" in capfd.readouterr().err


def test_inputs_come_from_annotations_and_examples(capfd: pytest.CaptureFixture[str]) -> None:
    assert shown(capfd, "run", "odd.py:annotated").startswith("float32[2, 4]\n")
    assert shown(capfd, "run", "odd.py:annotated", "--input", "float32[5, 3]").startswith("float32[5, 4]\n")
    assert shown(capfd, "run", "odd.py:by_example").count("int32[3]") == 2
    assert (
        shown(capfd, "run", "odd.py:several", "--input", "x.npy", "--input", "x.npy") == "int32[2]\n[ 6 -8]\n"
    )


def test_results_go_to_a_file(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert shown(capfd, "run", "model.py:double", "--input", "x.npy", "-o", "r.npz") == "int32[2]\n"
    with np.load("r.npz") as found:
        np.testing.assert_array_equal(found["output_0"], [6, -8])
    shown(capfd, "run", "model.py:double", "--input", "x.npy", "-o", "r.npy")
    np.testing.assert_array_equal(np.load("r.npy"), [6, -8])
    for wrong in (["-o", "r.txt"], ["-o", "none/r.npz"], ["--tolerance", "-1"], ["--tolerance", "x"]):
        assert main(["run", "model.py:double", "--input", "x.npy", *wrong]) == 2
    assert main(["run", "odd.py:by_example", "-o", "r.npy"]) == 2
    assert main(["compile", "single.py", "--input", "x.npy", "-o", "none/r.txt"]) == 2
    assert len(capfd.readouterr().err.splitlines()) == 6


def test_check_compares_with_the_evaluator(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for program in ("odd.py:annotated", "odd.py:by_example", "model.py:value"):
        assert "the evaluator's, bit for bit" in shown(capfd, "run", program, "--check")
    assert "bit for bit" in shown(capfd, "run", "model.py:made", "--input", "x.npy", "--check")
    assert main(["run", "odd.py:many", "--check"]) == 3
    assert "not compared" in capfd.readouterr().out
    wrong = Program.__call__
    monkeypatch.setattr(Program, "__call__", lambda self, *a: wrong(self, *a) + 1)
    assert main(["run", "odd.py:total", "--check"]) == 1
    assert "1 of 1 elements differ" in capfd.readouterr().out


def test_under_fast_a_difference_needs_a_tolerance(capfd: pytest.CaptureFixture[str]) -> None:
    run = ["run", "odd.py:total", "--check", "--profile", "fast", "--format", "json"]
    code = main(run)
    (found,) = json.loads(capfd.readouterr().out)["check"]
    assert code == (3 if found["differing"] else 0)
    assert main([*run, "--tolerance", "100"]) == 0
    assert json.loads(capfd.readouterr().out)["exit_code"] == 0


def test_a_graph_in_the_textual_form_runs(capfd: pytest.CaptureFixture[str]) -> None:
    shown(capfd, "compile", "odd.py:by_example", "--stage", "callify", "-o", "graph.uops")
    assert shown(capfd, "run", "graph.uops").count("int32[3]") == 2
    text = shown(capfd, "run", "graph.uops", "--input", "y.npy", "--input", "y.npy", "--check")
    assert "[0 1 4]" in text
    assert text.count("bit for bit") == 2
    Path("plain.uops").write_text("%0 = Param([3]; slot=0, dtype=int32)\n%1 = Add(%0, %0)\nreturn %1, %0\n")
    assert "[0 2 4]" in shown(capfd, "run", "plain.uops", "--input", "y.npy")
    assert main(["run", "plain.uops", "--input", "x.npy"]) == 2
    assert main(["run", "plain.uops", "--input", "y.npy", "--input", "y.npy"]) == 2


def test_an_onnx_model_runs(capfd: pytest.CaptureFixture[str]) -> None:
    make = onnx.helper
    x, y = (make.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2, 3]) for n in "xy")
    graph = make.make_graph([make.make_node("Relu", ["x"], ["y"])], "rectified", [x], [y])
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 18)]), "model.onnx")
    assert "bit for bit" in shown(capfd, "run", "model.onnx", "--check")
    assert "Program(model: (float32[2, 3]) -> (float32[2, 3])" in shown(capfd, "compile", "model.onnx")


def test_every_form_of_every_stage(capfd: pytest.CaptureFixture[str]) -> None:
    layer = ["compile", "odd.py:annotated"]
    everything = shown(capfd, *layer, "--stage", "all")
    assert [line for line in everything.splitlines() if line.startswith("# ")] == [
        f"# {LAW[s].title}: {LAW[s].semantics}" for s in STAGES
    ]
    for stage in STAGES:
        assert shown(capfd, *layer, "--stage", LAW[stage].title, "--format", "svg").startswith("<svg ")
    assert shown(capfd, *layer, "--format", "svg").startswith("<svg ")
    told = json.loads(shown(capfd, *layer, "--format", "json", "--stage", "plan"))
    assert (told["kind"], told["schema"], list(told["text"])) == ("compile", 1, ["plan"])
    assert main([*layer, "--stage", "all", "--format", "svg"]) == 2


def test_a_schedule_is_carried_out(capfd: pytest.CaptureFixture[str]) -> None:
    given = ["single.py", "--input", "float32[64]", "--schedule", "0: Split 0 8 UPCAST"]
    assert "by whoever compiled it: Split 0 8 UPCAST" in shown(capfd, "compile", *given)
    assert "bit for bit" in shown(capfd, "run", *given, "--check")


def test_results_on_several_devices_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    text = 'def main(x: "float32[4, 2]"):\n    return x.shard(("CPU:0", "CPU:1"), 0) * 2\n'
    Path("sharded.py").write_text(text)
    assert "[[" in shown(capfd, "run", "sharded.py")


def test_verbose_says_what_happens(capfd: pytest.CaptureFixture[str]) -> None:
    lower.cache_clear()
    assert main(["compile", "single.py", "--input", "x.npy", "-v"]) == 0
    assert "soundline.compile: lowered to 1 kernels" in capfd.readouterr().err
    for name in ("", ".compile", ".runtime"):
        logging.getLogger(f"soundline{name}").setLevel(logging.NOTSET)


def test_a_missing_compiler_is_one_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    toolchain._version.cache_clear()
    (tmp_path / "fresh.py").write_text("def only(x):\n    return x * 12345 + 1\n")
    assert main(["run", "fresh.py", "--input", "x.npy"]) == 2
    err = capfd.readouterr().err
    assert err.startswith("soundline: error: C compiler: CC names no-such-compiler, which is not there")
    assert "Traceback" not in err


def test_bench_measures_and_compares(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    peak = Peaks(1, {"float32": 1e9, "float64": 1e9}, {"float32": 1e9, "float64": 1e9}, ((1 << 20, 1e9),))
    monkeypatch.setattr(profile.machine, "of_this_machine", lambda cores=None, again=False: peak)
    bench = ["bench", "odd.py:total", "--repeats", "3"]
    text = shown(capfd, *bench, "--measure-peaks")
    assert "a call takes" in text
    assert "times as long" in text
    assert "kernel" in text
    told = json.loads(shown(capfd, *bench, "--format", "json"))
    assert (told["kind"], told["calls"]) == ("bench", 3)
    assert told["reference"]["difference"] <= 1e-3
    assert told["kernels"][0]["flops"] >= 2 * 4096 - 1
    assert main([*bench, "--against", "wrong_numpy"]) == 1
    assert "computes something else" in capfd.readouterr().out
    for wrong in (["--against", "none"], ["--against", "other_shape_numpy"], ["--against", "raising_numpy"]):
        assert main([*bench, *wrong]) == 2
    for repeats in ("0", "-1", "x", "99999999999"):
        assert main(["bench", "odd.py:total", "--repeats", repeats]) == 2
    assert len(capfd.readouterr().err.splitlines()) == 7
    assert "reference" not in shown(capfd, "bench", "odd.py:annotated", "--repeats", "1")
