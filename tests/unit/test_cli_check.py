"""`soundline check`: Spork programs from files, what is found in them, and what can be wrong with the request."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from time import monotonic, sleep

import pytest

from soundline.impl.spork.checker import engine
from soundline.spec.errors import ToolchainError
from soundline.verify.cli.explain import explanation
from soundline.verify.cli.machines import Shown
from soundline.verify.cli.main import main
from soundline.verify.cli.spork_tables import SPORK_TABLES

HEAD = """\
from __future__ import annotations
import soundline as sl
"""
KERNEL = """
@sl.spork.proc
def {name}({arguments}y: f32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            s: f32[64] @ CudaSmemLinear
            for t in cuda_threads(0, 64, unit=cuda_thread):
                s[t] = 1.0
            {fence}
            for t in cuda_threads(0, 64, unit=cuda_thread):
                y[t] = s[63 - t]
            Fence(cuda_in_order, cuda_in_order)
"""
FENCE = "Fence(cuda_in_order, cuda_in_order)"


def kernel(name: str = "kernel", fence: str = FENCE, arguments: str = "") -> str:
    return KERNEL.format(name=name, fence=fence, arguments=arguments)


ON_HOST = """
@sl.spork.proc
def fill(n: size, flag: bool, x: f32[n]):
    assert n > 2
    if flag:
        for i in par(0, n):
            x[{}] = 1.0
"""
LOOSE = """
@sl.spork.proc
def plain(x: f32):
    x = 1.0
"""
STRICT = """
@sl.spork.proc
def ring(x: f32[1, 8] @ CudaGmemLinear, y: f32[8] @ CudaGmemLinear):
    x_map = x[:, :] @ Sm90_tensorMap(0, 1, 8)
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            s: f32[1, 8] @ CudaSmemLinear
            bar: barrier @ CudaMbarrier
            for t in cuda_threads(0, 8, unit=cuda_thread):
                s[0, t] = 1.0
            Fence(cuda_in_order, cuda_generic_and_async_proxy)
            for t in cuda_threads(0, 8, unit=cuda_thread):
                y[t] = s[0, t]
            Fence(cuda_in_order, cuda_in_order)
            tile = x_map[0:1, 0:8]
            with CudaWarps(0, 1):
                with CudaAsync(tma_to_smem_async):
                    Sm90_copy_tensor_to_smem_2d_f32(s[:, :], tile, n0=1, n1=8) >> bar
                    Arrive(tma_to_smem_async, 1) >> bar
            Await(bar, cuda_in_order, ~0)
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = {
        "good.py": HEAD + kernel(),
        "bad.py": HEAD + kernel(fence="pass"),
        "both.py": HEAD + kernel("first", fence="pass") + kernel("second") + ON_HOST.format("i"),
        "sizes.py": HEAD + kernel(arguments="n: size, "),
        "host.py": HEAD + ON_HOST.format("0") + LOOSE,
        "only_sizes.py": HEAD + ON_HOST.format("i"),
        "static.py": HEAD + kernel(fence="Fence(wgmma_async, cuda_in_order)") + kernel("second"),
        "ill_formed.py": HEAD + kernel().replace("y[t] = s[63 - t]", "y[t] = nothing[t]"),
        "out_of_bounds.py": HEAD + kernel().replace("y[t] = s", "y[t + 1] = s"),
        "none.py": HEAD,
        "imports.py": HEAD + "from good import kernel\n",
        "raises.py": HEAD + "1 / 0\n",
        "cut.py": "def f(:\n",
        "prints.py": HEAD + "print('hello')\n" + kernel(),
        "strict.py": HEAD + STRICT,
        "notes.txt": "",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)


def checked(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["check", *arguments])
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    return code, out, err


def test_a_program_without_hazards(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = checked(capfd, "good.py")
    assert (code, err) == (0, "")
    assert out == "kernel(): no hazards (137 events, 192 accesses, policy temporal)\n"


def test_a_hazard_is_told_with_both_statements_and_relative_paths(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = checked(capfd, "bad.py")
    assert (code, err) == (1, "")
    assert "[mach-read-raw]" in out
    line = (HEAD + kernel(fence="pass")).split("\n").index("                y[t] = s[63 - t]") + 1
    assert f"\n  bad.py:{line}:17: y[t] = s[63 - t]\n" in out
    assert f"\n  bad.py:{line - 3}:17: s[t] = 1.0\n" in out
    assert "1 hazard (" in out


def test_all_procs_that_need_no_name_are_checked(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = checked(capfd, "both.py")
    assert code == 1
    assert out.index("first(): read after write") < out.index("second(): no hazards")
    assert "fill" not in out
    assert checked(capfd, "both.py:second")[0] == 0
    assert checked(capfd, "both.py:first")[0] == 1


def test_a_proc_without_sizes_needs_no_device_function(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = checked(capfd, "host.py")
    assert (code, out) == (0, "plain(): no hazards (2 events, 1 access, policy temporal)\n")


def test_sizes(capfd: pytest.CaptureFixture[str]) -> None:
    for flag, expected in [("true", 1), ("false", 0), ("True", 1), ("False", 0)]:
        code, out, _ = checked(capfd, "host.py:fill", "--size", "n=4", "--size", f"flag={flag}")
        assert code == expected
        assert out.startswith(f"fill(n=4, flag={flag.capitalize()}): ")


def test_policies(capfd: pytest.CaptureFixture[str]) -> None:
    for policy, expected in [("temporal", 0), ("strict", 1)]:
        code, out, _ = checked(capfd, "strict.py", "--policy", policy)
        assert code == expected
        assert f"policy {policy})" in out
        assert ("[mach-write-war]" in out) == bool(expected)


def test_json(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = checked(capfd, "both.py", "--format", "json")
    report = json.loads(out)
    assert code == 1
    assert (report["schema"], report["verdict"]) == (1, "hazards")
    said = [(p["proc"], p["verdict"], p["machine"], p["policy"]) for p in report["programs"]]
    assert said == [
        ("first", "hazards", "fast", "temporal"),
        ("second", "no hazards", "fast", "temporal"),
    ]
    (hazard,) = report["programs"][0]["hazards"]
    assert (hazard["id"], hazard["count"], hazard["location"]) == ("mach-read-raw", 64, "s[63]")
    assert hazard["first"]["statement"] == "s[t] = 1.0"
    assert hazard["second"]["statement"] == "y[t] = s[63 - t]"


def test_json_of_one_program_is_the_report_on_it(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = checked(capfd, "sizes.py", "--size", "n=3", "--format", "json")
    assert (code, json.loads(out)) == (
        0,
        {
            "schema": 1,
            "proc": "kernel",
            "sizes": {"n": 3},
            "verdict": "no hazards",
            "policy": "temporal",
            "events": 137,
            "accesses": 192,
            "errors": [],
            "hazards": [],
            "redundant": [],
            "machine": "fast",
        },
    )


def test_one_file_of_html(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = checked(capfd, "both.py", "--format", "html")
    assert (code, err) == (1, "")
    assert out.startswith("<!DOCTYPE html>")
    assert out.index("<h2>first()</h2>") < out.index("<svg") < out.index("<h2>second()</h2>")


def test_sarif(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = checked(capfd, "both.py", "--format", "sarif")
    assert (code, err) == (1, "")
    (result,) = json.loads(out)["runs"][0]["results"]
    assert result["ruleId"] == "mach-read-raw"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "both.py"


def test_what_the_static_law_refuses_is_a_finding(capfd: pytest.CaptureFixture[str]) -> None:
    """With the line and a caret; the other programs are checked all the same."""
    code, out, err = checked(capfd, "static.py")
    assert (code, err) == (1, "")
    line = next(i for i, text in enumerate(Path("static.py").read_text().split("\n"), 1) if "wgmma" in text)
    assert out.startswith("kernel(): static.py:")
    assert f"static.py:{line}: " in out
    assert "[fence-c4]" in out
    shown = out.split("\n")
    caret = next(i for i, text in enumerate(shown) if text.strip() == "^")
    assert shown[caret - 1].strip() == "Fence(wgmma_async, cuda_in_order)"
    assert shown[caret].index("^") == shown[caret - 1].index("Fence")
    assert "second(): no hazards" in out
    report = json.loads(checked(capfd, "static.py", "--format", "json")[1])
    refused = report["programs"][0]
    (error,) = refused["errors"]
    assert (error["id"], error["line"]) == ("fence-c4", line)
    assert (report["verdict"], refused["verdict"], refused["hazards"]) == ("refused", "refused", [])


@pytest.mark.parametrize(
    ("file", "rule"), [("ill_formed.py", "prog-bound"), ("out_of_bounds.py", "seq-bounds")]
)
def test_what_other_laws_refuse_is_a_finding(file: str, rule: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = checked(capfd, file)
    assert (code, err) == (1, "")
    assert f"[{rule}]" in out
    assert f" {file}:" in out
    code, out, _ = checked(capfd, file, "--format", "json")
    report = json.loads(out)
    assert (code, report["verdict"], report["errors"][0]["id"]) == (1, "refused", rule)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["missing.py"], ["there is no file missing.py"]),
        (["notes.txt"], ["notes.txt is not a Python file"]),
        (["good.py:other"], ["defines no proc other", "it defines kernel"]),
        (["none.py"], ["no proc", "@sl.spork.proc"]),
        (["none.py:other"], ["defines no proc other", "it defines none"]),
        (["imports.py"], ["no proc"]),
        (["only_sizes.py"], ["no proc", "of fill"]),
        (["sizes.py"], ["kernel takes sizes that are not given: n", "--size n=…"]),
        (
            ["host.py:fill", "--size", "n=4"],
            ["fill takes sizes that are not given: flag", "--size flag=true"],
        ),
        (["sizes.py", "--size", "n=1", "--size", "m=1"], ["no proc takes the size m", "the sizes are n"]),
        (["good.py", "--size", "m=1"], ["no proc takes the size m", "there are no sizes"]),
        (["sizes.py", "--size", "n"], ["--size n is not a size"]),
        (["sizes.py", "--size", "=3"], ["--size =3 is not a size"]),
        (["sizes.py", "--size", "n=many"], ["--size n=many is not a size", "many is not a number"]),
        (["sizes.py", "--size", "n=1", "--size", "n=1"], ["--size n is given twice"]),
        (["host.py:fill", "--size", "n=2", "--size", "flag=true"], ["[seq-assert]", "n > 2"]),
        (["sizes.py", "--size", "n=-1"], ["kernel: the size n is negative"]),
        (["sizes.py", "--size", "n=true"], ["kernel: ", "[seq-argument]"]),
        (["good.py", "--machine", "quantum"], ["quantum"]),
        (["good.py", "--policy", "none"], ["none"]),
        (["good.py", "--format", "xml"], ["xml"]),
        (["raises.py"], ["raises.py:3", "ZeroDivisionError"]),
        (["cut.py"], ["cut.py:1", "syntax error"]),
        ([], ["FILE[:PROC]"]),
    ],
)
def test_wrong_use(given: list[str], said: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = checked(capfd, *given)
    assert (code, out) == (2, "")
    for text in said:
        assert text in err


def test_an_imported_proc_can_be_named(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = checked(capfd, "imports.py:kernel")
    assert code == 0
    assert out.startswith("kernel(): no hazards")


def test_what_the_file_prints_is_not_in_the_report(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = checked(capfd, "prints.py", "--format", "json")
    assert (code, err) == (0, "hello\n")
    assert json.loads(out)["verdict"] == "no hazards"


# soundline explain ------------------------------------------------------------------------------------------------


def test_every_id_of_spork_is_explained() -> None:
    for table in SPORK_TABLES:
        for rule, text in table.ids.items():
            told = explanation(rule)
            assert told.startswith(f"{rule}    a condition of Spork: {table.name}")
            assert "".join(text.replace("``", "").split()) in "".join(told.split())


def test_no_two_tables_have_the_same_id() -> None:
    ids = Counter(rule for table in SPORK_TABLES for rule in table.ids)
    assert [rule for rule, count in ids.items() if count > 1] == []


def test_an_id_is_found_in_any_case_and_a_wrong_one_is_met_with_the_closest() -> None:
    assert explanation("MACH-WRITE-WAR") == explanation("mach-write-war")
    assert main(["explain", "mach-write-was"]) == 2


def test_words_of_spork_in_annotations_ask_for_the_future(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "reverse.py"
    file.write_text(
        "import soundline as sl\n\n@sl.spork.proc\ndef reverse(x: f32[64] @ CudaGmemLinear):\n    pass\n"
    )
    assert main(["check", str(file)]) == 2
    assert "begin the file with 'from __future__ import annotations'" in capsys.readouterr().err


def test_a_proc_that_misses_its_sizes_does_not_keep_the_others_from_being_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = (
        "    with CudaDeviceFunction(blockDim=64):\n        for task in cuda_tasks(0, 1):\n"
        "            for i in cuda_threads(0, 64, unit=cuda_thread):\n                y[i] = x[i]\n"
    )
    arguments = "x: f32[64] @ CudaGmemLinear, y: f32[64] @ CudaGmemLinear"
    file = tmp_path / "two.py"
    file.write_text(
        "from __future__ import annotations\nimport soundline as sl\n\n"
        f"@sl.spork.proc\ndef sized(n: size, {arguments}):\n{body}\n\n"
        f"@sl.spork.proc\ndef plain({arguments}):\n{body}"
    )
    assert main(["check", str(file)]) == 1
    out = capsys.readouterr().out
    assert "sized takes sizes that are not given: n" in out
    assert "plain(): no hazards" in out
    assert main(["check", str(file), "--size", "n=3"]) == 0


# Machines ---------------------------------------------------------------------------------------------------------


def test_both_machines_say_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    Path("one.py").write_text(HEAD + kernel(fence="Fence(cuda_in_order, empty)"))
    said = [checked(capfd, "one.py", "--machine", machine) for machine in ("fast", "literal")]
    assert said[0] == said[1]
    assert said[0][0] == 1


def test_without_a_compiler_the_literal_machine_checks_and_says_so(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("one.py").write_text(HEAD + kernel())

    def no_compiler() -> None:
        raise ToolchainError("there is no C compiler")

    monkeypatch.setattr(engine, "library", no_compiler)
    code, out, told = checked(capfd, "one.py")
    assert code == 0
    assert "no hazards" in out
    assert told == "soundline: note: the literal machine checks, which is slow: there is no C compiler\n"
    code, _, told = checked(capfd, "one.py", "--redundant")
    assert code == 2
    assert "there is no C compiler" in told


def test_a_check_that_has_no_place_says_what_needs_it(capfd: pytest.CaptureFixture[str]) -> None:
    Path("one.py").write_text(HEAD + kernel())
    code, out, told = checked(capfd, "one.py", "--budget", "100 B")
    assert (code, out) == (2, "")
    assert "there may be 100" in told
    assert checked(capfd, "one.py", "--budget", "1GB")[0] == 0
    assert checked(capfd, "one.py", "--budget", "much")[0] == 2
    assert checked(capfd, "one.py", "--budget", "1GB", "--machine", "literal")[0] == 2


def test_redundant_synchronizations_are_noted(capfd: pytest.CaptureFixture[str]) -> None:
    Path("one.py").write_text(HEAD + kernel(fence=f"{FENCE}\n            {FENCE}"))
    code, out, _ = checked(capfd, "one.py", "--redundant")
    assert code == 0
    assert out.count("note: redundant at these sizes: the fence") == 2
    report = json.loads(checked(capfd, "one.py", "--redundant", "--format", "json")[1])
    assert [note["what"] for note in report["redundant"]] == ["the fence", "the fence"]
    assert report["verdict"] == "no hazards"


LONG = """
@sl.spork.proc
def long(n: size, x: f32[n] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, 1):
            for t in cuda_threads(0, 2, unit=cuda_thread):
                for i in seq(0, n - 1):
                    for k in seq(0, n - 1):
                        x[i + k % 2] = 1.0
"""


def test_an_interrupt_ends_a_long_check() -> None:
    Path("long.py").write_text(HEAD + LONG)
    command = [sys.executable, "-m", "soundline", "check", "long.py:long", "--size", "n=200000"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, text=True) as process:
        sleep(3)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=10)[1].endswith("soundline: interrupted\n")
        assert process.returncode == 130


def test_a_terminal_sees_how_far_a_check_is(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Shown(monotonic() - 0.5) as shown:
        shown(100, 0.1)
        assert capfd.readouterr().err == ""
    with Shown(monotonic() - 2.0) as shown:
        shown(1000, 0.5)
        assert capfd.readouterr().err.startswith("\rchecking: 1,000 events, ")
    assert capfd.readouterr().err.strip(" \r") == ""
