"""`soundline explain REPORT`: what the reports of the other commands say, and what is no report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from soundline.impl.compilation.stages import PROFILES
from soundline.impl.inspect import profile
from soundline.impl.inspect.peaks import Peaks
from soundline.impl.lower.schedule.schedules import STEPS
from soundline.spec.errors import UsageError
from soundline.spec.pipeline.stages import STAGES
from soundline.verify.cli.explain import explanation
from soundline.verify.cli.main import main

MODEL = """
def layer(x: "float32[6, 5]", w: "float32[5, 4]"):
    return (x @ w).softmax(-1)
"""
RULES = """
from soundline.verify import *

@rule(dtypes=[int8])
def wrong(x: Value):
    return x * 2 // 2, x

@rule(dtypes=[int8])
def right(x: Value):
    return x + 0, x
"""

REVERSE = """\
# reverse.py
from __future__ import annotations

import soundline as sl


@sl.spork.proc
def reverse(x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            s: f32[64] @ CudaSmemLinear
            for i in cuda_threads(0, 16, unit=cuda_thread):
                with CudaAsync(Sm80_cp_async):
                    Sm80_cp_async_f32(s[4 * i : 4 * i + 4], x[4 * i : 4 * i + 4], size=4)
            Fence(cuda_in_order, cuda_in_order)  # a plain __syncthreads(), which waits for no copy
            for i in cuda_threads(0, 64, unit=cuda_thread):
                y[i] = s[63 - i]
            Fence(cuda_in_order, cuda_in_order)
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "my_rules.py").write_text(RULES)
    peak = Peaks(1, {"float32": 1e9, "float64": 1e9}, {"float32": 1e9, "float64": 1e9}, ((1 << 20, 1e9),))
    monkeypatch.setattr(profile.machine, "of_this_machine", lambda cores=None, again=False: peak)


def report(capfd: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> None:
    assert main([*arguments, "--format", "json"]) == code
    Path("report.json").write_text(capfd.readouterr().out)


def test_a_compiled_program_is_explained(capfd: pytest.CaptureFixture[str]) -> None:
    report(capfd, "compile", "model.py")
    text = explanation("report.json")
    assert "kernel 0 computes sum 6×4 over 5" in text
    assert "because it is an output" in text
    assert "bit for bit" in text
    one = explanation("report.json::kernel 0")
    assert one.startswith("kernel 0 computes")
    assert "kernel 1" not in one
    assert "bytes are in use" in explanation("report.json::memory")
    with pytest.raises(UsageError) as refused:
        explanation("report.json::kernel 77")
    assert "kernel 1" in (refused.value.hint or "")


def test_a_run_is_explained(capfd: pytest.CaptureFixture[str]) -> None:
    report(capfd, "run", "model.py", "--check")
    assert "output 0 is what the law says, bit for bit, in all 24 elements" in explanation("report.json")
    report(capfd, "run", "model.py")
    assert "nothing was compared" in explanation("report.json")
    told = json.loads(Path("report.json").read_text())
    wrong = {
        "output": 0,
        "elements": 4,
        "differing": 1,
        "first": [0, 1],
        "computed": "1.5",
        "law": "1.0",
        "ulp": 2.0,
    }
    Path("wrong.json").write_text(json.dumps({**told, "check": [wrong]}))
    assert "a mistake of soundline's" in explanation("wrong.json::output 0")
    Path("open.json").write_text(json.dumps({**told, "check": None}))
    assert "unknown" in explanation("open.json")


def test_a_bench_is_explained(capfd: pytest.CaptureFixture[str]) -> None:
    report(capfd, "bench", "model.py", "--repeats", "2")
    text = explanation("report.json")
    assert "a call takes" in text
    assert "of the measured peak" in text
    assert explanation("report.json::kernel 0") in text


def test_verdicts_and_counterexamples_are_explained(capfd: pytest.CaptureFixture[str]) -> None:
    report(capfd, "verify", "my_rules.py", code=1)
    text = explanation("report.json")
    assert "2 rules were judged: 1 proved, 1 refuted" in text
    one = explanation("report.json::wrong")
    assert "counterexample" in one
    assert "left →" in one
    assert "replayed by the evaluator" in one
    assert "right is proved" not in one
    assert "right is proved" in explanation("report.json::right")
    result = {"ruleId": "wrong", "message": {"text": "refuted at int8"}}
    Path("report.sarif").write_text(json.dumps({"version": "2.1.0", "runs": [{"results": [result]}]}))
    assert explanation("report.sarif") == "1 finding\nwrong: refuted at int8"


def test_hazards_are_explained(capfd: pytest.CaptureFixture[str]) -> None:
    Path("reverse.py").write_text(REVERSE)
    report(capfd, "check", "reverse.py", code=1)
    text = explanation("report.json")
    assert "reverse has 2 hazards" in text
    assert "read after write [mach-read-raw], 64 times: line 17: y[i] = s[63 - i], after line 14" in text
    assert explanation("report.json::reverse") in text
    Path("reverse.py").write_text(REVERSE.replace("f32[64] @ CudaSmemLinear", "f32[64] @ Nowhere"))
    report(capfd, "check", "reverse.py", code=1)
    assert "is refused [" in explanation("report.json")


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("[1]", "not a report"),
        ("{}", "not a report"),
        ("{", "cannot be read"),
        ('{"kind": "compile"}', "damaged"),
        ('{"kind": "bench", "program": "", "call": 3}', "damaged"),
        ('{"kind": "run", "program": "", "profile": "exact", "check": [3]}', "damaged"),
        ('{"rules": [{}], "summary": {}, "errors": []}', "damaged"),
    ],
    ids=["list", "empty", "cut", "compile", "bench", "run", "verify"],
)
def test_what_is_no_report_is_refused(content: str, part: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("report.json").write_text(content)
    assert main(["explain", "report.json"]) == 2
    err = capfd.readouterr().err
    assert part in err
    assert len(err.splitlines()) == 1
    assert main(["explain", "none.json"]) == 2
    assert "no file none.json" in capfd.readouterr().err


@pytest.mark.parametrize("stage", STAGES.values(), ids=lambda s: s.name)
def test_every_stage_and_its_law(stage) -> None:  # type: ignore[no-untyped-def]
    text = explanation(f"stage-{stage.name}")
    if stage.name == "expand":  # so is an op
        assert "soundline explain stage-expand" in explanation("expand")
    else:
        assert text == explanation(stage.name) == explanation(stage.title)
    for invariant in stage.invariants:
        assert invariant.id in text
        assert "".join(invariant.text.split()) in "".join(explanation(invariant.id).split())
    assert (stage.value_id in text) == (stage.value is not None)


def test_profiles_and_licences() -> None:
    assert "no licence" in explanation("exact")
    for licence in PROFILES["fast"]:
        assert licence in explanation("fast")
        assert "granted by the profile fast" in explanation(licence)


def test_ulp_is_the_distance_between_neighbours() -> None:
    from soundline.verify.programs.replaying import _ulp

    one = np.float32(1)
    assert _ulp(np.dtype(np.float32), (float(np.nextafter(one, np.float32(2))), 1.0)) == 1
    assert _ulp(np.dtype(np.float32), (1.0, 1.0)) == 0
    assert _ulp(np.dtype(np.float64), (0.0, 5e-324)) == 1
    assert _ulp(np.dtype(np.float16), (0.0, 0.0)) == 0
    assert _ulp(np.dtype(np.float32), (float("nan"), 1.0)) == float("inf")


@pytest.mark.parametrize("step", STEPS.values(), ids=lambda s: s.op)
def test_every_step_of_a_schedule(step) -> None:  # type: ignore[no-untyped-def]
    text = explanation(step.op)
    for constraint in step.constraints:
        assert constraint.id in text
        assert "".join(constraint.text.split()) in "".join(explanation(constraint.id).split())
