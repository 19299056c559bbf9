"""`soundline verify` end to end, with a prover that obeys the ids of rules: verdicts, mistakes, hangs, crashes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from soundline.verify.campaigns import campaign
from soundline.verify.cli.main import COMMANDS, main

HEAD = "from soundline.verify import *\n\n"
HERE = Path(__file__).parent


def rule(name: str, dtypes: str = "[index]", doc: str = "") -> str:
    """A rule whose id tells the double of the prover what to say; no two have the same structure."""
    rule.count += 1  # type: ignore[attr-defined]
    body = f"    return x + {rule.count}, x"  # type: ignore[attr-defined]
    return f"@rule(dtypes={dtypes})\ndef {name}(x: Value):\n    {doc!r}\n{body}\n\n"


rule.count = 0  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(campaign, "PROVER", "prover_double")
    monkeypatch.syspath_prepend(str(HERE))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def write(name: str, *rules: str) -> Path:
    file = Path(name)
    file.write_text(HEAD + "".join(rules))
    return file


def run_json(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    capfd.readouterr()
    code = main(["verify", "--jobs", "2", "--format", "json", *arguments])
    out, _ = capfd.readouterr()
    data: dict[str, Any] = json.loads(out)
    assert data["summary"]["exit_code"] == code
    return code, data


def verdicts(data: dict[str, Any]) -> dict[str, str]:
    return {r["id"]: r["verdict"] for r in data["rules"]}


# verdicts, exit codes ---------------------------------------------------------------------------------------------


def test_exit_codes(capfd: pytest.CaptureFixture[str]) -> None:
    good, hard = write("good.py", rule("fine")), write("hard.py", rule("hard_rule"))
    broken = write("broken.py", rule("fine_after"), "(\n")
    assert run_json(capfd, str(good))[0] == 0
    assert run_json(capfd, str(good), str(hard))[0] == 3
    assert run_json(capfd, str(hard), str(broken), str(write("wrong.py", rule("wrong_rule"))))[0] == 2


def test_verdict_of_a_rule_is_that_of_its_layers(capfd: pytest.CaptureFixture[str]) -> None:
    file = write("r.py", rule("wrongint8_only", "ints"), rule("fine", "[index, int8]"), rule("empty_one"))
    code, data = run_json(capfd, str(file))
    assert code == 1
    assert verdicts(data) == {"wrongint8_only": "refuted", "fine": "proved", "empty_one": "vacuous"}
    layers = data["rules"][0]["layers"]
    assert list(layers) == [f"layer of {d}int{n}" for d in ("", "u") for n in (8, 16, 32, 64)]
    assert [v for v in layers.values() if v != "proved"] == ["refuted"]
    assert layers["layer of int8"] == "refuted"
    assert data["rules"][0]["counterexample"]["bindings"] == {"x": "-128"}


def test_report_keeps_the_order_of_files_and_lines(capfd: pytest.CaptureFixture[str]) -> None:
    late = write("b.py", rule("slow_first"), rule("fine_second"))
    soon = write("a.py", rule("fine_third"), rule("slow_fourth"), rule("fine_fifth"))
    _, data = run_json(capfd, str(late), str(soon))
    assert list(verdicts(data)) == ["slow_first", "fine_second", "fine_third", "slow_fourth", "fine_fifth"]
    assert [(r["file"], r["line"]) for r in data["rules"][:3]] == [("b.py", 3), ("b.py", 8), ("a.py", 3)]


def test_filters(capfd: pytest.CaptureFixture[str]) -> None:
    file = str(write("r.py", rule("fine_pad"), rule("fine_flip"), rule("wrong_pad_flip")))
    assert list(verdicts(run_json(capfd, file, "--filter", "flip*", "--filter", "*_pad")[1])) == ["fine_pad"]
    code, data = run_json(capfd, file, "--filter", "nothing")
    assert code == 2
    assert data["errors"][0]["kind"] == "no-rules"
    assert "nothing" in data["errors"][0]["message"]


# mistakes in the input --------------------------------------------------------------------------------------------


def test_mistakes_are_reported_and_the_other_rules_judged(capfd: pytest.CaptureFixture[str]) -> None:
    file = write(
        "r.py", rule("fine_first"), "nothing\n\n", rule("illtyped_one", "[index, int8]"), rule("wrong_last")
    )
    write("empty.py")
    Path("notes.txt").write_text("")
    Path("binary.py").write_bytes(b"\0\1")
    code, data = run_json(capfd, str(file), "none.py", "empty.py", "notes.txt", "binary.py")
    assert code == 2
    assert verdicts(data) == {"fine_first": "proved", "wrong_last": "refuted"}
    told = [(e["file"], e["line"], e["kind"], e["rule"]) for e in data["errors"]]
    assert sorted(told, key=str) == sorted(
        [
            ("none.py", None, "missing-file", None),
            ("notes.txt", None, "not-python", None),
            ("r.py", 8, "unknown-name", None),
            ("r.py", 10, "ill-typed", "illtyped_one"),
            ("empty.py", None, "no-rules", None),
            ("binary.py", None, "unreadable-file", None),
        ],
        key=str,
    )


def test_duplicate_ids_are_named_with_both_places_and_both_judged(capfd: pytest.CaptureFixture[str]) -> None:
    one = write("one.py", rule("wrong_same"), rule("fine_other"))
    two = write("two.py", rule("wrong_same"))
    code, data = run_json(capfd, str(one), str(two))
    assert code == 2
    assert [r["id"] for r in data["rules"]] == ["wrong_same", "fine_other", "wrong_same"]
    (error,) = data["errors"]
    assert (error["kind"], error["file"], error["line"], error["rule"]) == (
        "duplicate",
        "two.py",
        3,
        "wrong_same",
    )
    assert "one.py:3" in error["message"]


def test_a_file_that_hangs_is_left_at_that_line(capfd: pytest.CaptureFixture[str]) -> None:
    hang = "while True:\n    pass\n\n"
    file = write("r.py", rule("fine_before"), hang, "import time\ntime.sleep(1000)\n", rule("wrong_after"))
    began = time.monotonic()
    code, data = run_json(capfd, str(file), "--reading-time", "5")
    assert time.monotonic() - began < 20
    assert code == 2
    assert verdicts(data) == {"fine_before": "proved", "wrong_after": "refuted"}
    assert [(e["kind"], e["line"]) for e in data["errors"]] == [("timeout", 8), ("timeout", 12)]


def test_a_rule_that_hangs_while_it_is_stated_is_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    hang = "@rule\ndef endless(x: Value):\n    while True: pass\n\n"
    code, data = run_json(capfd, str(write("r.py", hang, rule("fine"))), "--reading-time", "5")
    assert (code, verdicts(data)) == (2, {"fine": "proved"})
    assert [(e["kind"], e["line"]) for e in data["errors"]] == [("timeout", 3)]


def test_a_file_that_kills_its_process_is_left_at_that_line(capfd: pytest.CaptureFixture[str]) -> None:
    crash = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\nos._exit(3)\n"
    code, data = run_json(capfd, str(write("r.py", rule("fine_before"), crash, rule("fine_after"))))
    assert (code, verdicts(data)) == (2, {"fine_before": "proved", "fine_after": "proved"})
    assert [(e["kind"], e["line"]) for e in data["errors"]] == [("crash", 9), ("crash", 10)]
    assert "SIGSEGV" in data["errors"][0]["message"]
    assert "exit status 3" in data["errors"][1]["message"]


def test_a_file_that_changes_under_way_is_noticed(capfd: pytest.CaptureFixture[str]) -> None:
    grow = "import pathlib\np = pathlib.Path(__file__)\np.write_text(p.read_text() + '# more\\n')\n"
    write("s.py", *(rule(f"slow_{n}") for n in range(4)), grow)
    code, data = run_json(capfd, "s.py")
    assert code == 2
    assert {e["kind"] for e in data["errors"]} == {"changed-file"}


def test_a_rule_nested_too_deeply_is_a_mistake(capfd: pytest.CaptureFixture[str]) -> None:
    body = "    y = x\n    for _ in range(5000): y = y + x\n    return y, x\n"
    deep = f"@rule(dtypes=[index])\ndef deep(x: Value):\n{body}"
    code, data = run_json(capfd, str(write("r.py", deep, rule("fine"))))
    assert (code, verdicts(data)) == (2, {"fine": "proved"})
    assert [(e["kind"], e["line"], e["rule"]) for e in data["errors"]] == [("not-a-rule", 3, "deep")]


@pytest.mark.parametrize("dtypes", ["", "(dtypes=[int32])"])
def test_known_ranks_that_clash_cost_no_other_rule(capfd: pytest.CaptureFixture[str], dtypes: str) -> None:
    head = f'@rule{dtypes}\ndef clash(x: Tensor["m", "n"], y: Tensor["k"]):\n'
    file = write("r.py", rule("before"), head + "    return x + y, y + x\n\n", rule("after"))
    code, data = run_json(capfd, str(file))
    assert (code, verdicts(data)) == (2, {"before": "proved", "after": "proved"})
    (error,) = data["errors"]
    line = 1 + file.read_text().split(f"@rule{dtypes}\ndef clash")[0].count("\n")
    assert (error["kind"], error["line"], error["rule"]) == ("ill-typed", line, "clash")
    assert error["file"].endswith("r.py")
    assert "joins rank 2 with rank 1" in error["message"]


def test_a_file_that_hangs_only_when_it_is_read_again(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    mark = str(tmp_path / "mark")
    once = f"import pathlib, time\nm = pathlib.Path({mark!r})\nif m.exists(): time.sleep(1000)\nm.touch()\n"
    file = write("r.py", once, *(rule(f"slow_{n}") for n in range(4)))
    code, data = run_json(capfd, str(file), "--reading-time", "5")
    assert code == 3
    assert {"proved", "unknown"} == set(verdicts(data).values())
    details = [text for r in data["rules"] for text in r["detail"].values()]
    assert all("again" in text for text in details)


# hangs and crashes of the prover ----------------------------------------------------------------------------------


def test_a_goal_that_hangs_is_stopped(capfd: pytest.CaptureFixture[str]) -> None:
    file = write("r.py", rule("hangs_here", "[index, int8]"), rule("spins_here"), rule("fine"))
    began = time.monotonic()
    code, data = run_json(capfd, str(file), "--budget", "0.1")
    assert time.monotonic() - began < 30
    assert code == 3
    assert verdicts(data) == {"hangs_here": "unknown", "spins_here": "unknown", "fine": "proved"}
    assert all("budget exhausted" in text for r in data["rules"][:2] for text in r["detail"].values())


def test_a_crash_costs_one_retry(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    once = rule("crashesonce_here", doc=str(tmp_path / "was_here"))
    code, data = run_json(
        capfd, str(write("r.py", rule("crashes_here"), rule("exits_here"), once, rule("fine")))
    )
    assert code == 3
    assert verdicts(data) == {
        "crashes_here": "unknown",
        "exits_here": "unknown",
        "crashesonce_here": "proved",
        "fine": "proved",
    }
    assert "SIGSEGV" in data["rules"][0]["detail"]["unbounded"]
    assert "exit status 7" in data["rules"][1]["detail"]["unbounded"]


def test_a_mistake_of_ours_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    code, data = run_json(capfd, str(write("r.py", rule("fails_here"), rule("fine"))))
    assert code == 3
    detail = data["rules"][0]["detail"]["unbounded"]
    assert "AssertionError" in detail
    assert "a mistake of ours" in detail
    assert "\n" not in detail
    assert "Traceback" not in detail


def test_what_workers_print_never_reaches_the_report(capfd: pytest.CaptureFixture[str]) -> None:
    file = write("r.py", "import os\nprint('from the file')\nos.write(1, b'raw')\n", rule("prints_much"))
    code = main(["verify", "--format", "json", str(file)])
    out, err = capfd.readouterr()
    assert code == 0
    assert json.loads(out)["summary"]["proved"] == 1
    assert "from the file" in err
    assert "prover prints" not in out + err


# cache ------------------------------------------------------------------------------------------------------------


def log_lines(file: Path) -> int:
    return len(file.read_text().splitlines()) if file.exists() else 0


def test_a_rule_ends_when_its_time_is_spent(capfd: pytest.CaptureFixture[str]) -> None:
    """Three layers of 0.3 s each: the first two run at once, and spend it."""
    file = str(write("slow.py", rule("slow_one", "[int8, int16, int32]"), rule("good")))
    code, data = run_json(capfd, file, "--rule-time", "0.2", "--jobs", "1")
    assert code == 3
    slow, good = data["rules"]
    assert good["verdict"] == "proved"
    assert slow["verdict"] == "unknown"
    assert set(slow["detail"].values()) == {
        "not begun: the 0.2 s of a rule were spent; --rule-time 2 gives it more"
    }
    assert len(slow["detail"]) == 2
    code, data = run_json(capfd, file, "--rule-time", "60")
    assert code == 0
    assert main(["verify", file, "--rule-time", "soon"]) == 2


def test_a_layer_is_stopped_when_the_time_of_its_rule_is_spent(capfd: pytest.CaptureFixture[str]) -> None:
    code, data = run_json(capfd, str(write("hangs.py", rule("hangs"))), "--rule-time", "1")
    assert code == 3
    (detail,) = data["rules"][0]["detail"].values()
    assert "stopped after 1 s, when the 1 s of a rule were spent; --rule-time 10" in detail


def test_an_undecided_layer_says_whether_more_budget_helps(capfd: pytest.CaptureFixture[str]) -> None:
    file = str(write("hard.py", rule("hard"), rule("starved")))
    _, data = run_json(capfd, file)
    told = [next(iter(r["detail"].values())) for r in data["rules"]]
    assert told == [
        "x * y resisted; a larger budget decides nothing more: none was spent",
        "x * y resisted; --budget deep may decide it",
    ]
    _, data = run_json(capfd, file, "--budget", "deep")
    assert "--budget 3000 may decide it" in next(iter(data["rules"][1]["detail"].values()))


def test_cache_offline_and_no_cache(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "log"
    text = rule("counts_proofs", "[index, int8]", doc=str(log))
    file = str(write("r.py", text))
    code, data = run_json(capfd, file, "--offline")
    assert (code, log_lines(log)) == (3, 0)
    assert set(data["rules"][0]["detail"].values()) == {"not in the cache (offline)"}
    assert run_json(capfd, file)[0] == 0
    assert log_lines(log) == 2
    code, data = run_json(capfd, file, "--offline")
    assert (code, log_lines(log), data["summary"]["cached"], data["rules"][0]["cached"]) == (0, 2, 1, True)
    assert run_json(capfd, file, "--no-cache")[1]["summary"]["cached"] == 0
    assert log_lines(log) == 4
    # another name, place and docstring, the same rule
    moved = write(
        "moved.py", "\n\n", text.replace("counts_proofs", "fine_renamed").replace(repr(str(log)), "'doc'")
    )
    assert run_json(capfd, str(moved), "--offline")[0] == 0
    # another seed, another rule
    assert run_json(capfd, file, "--offline", "--seed", "1")[0] == 3
    assert run_json(capfd, str(write("other.py", rule("counts_proofs", doc=str(log)))), "--offline")[0] == 3
    assert log_lines(log) == 4


def test_offline_reports_findings_and_mistakes_as_usual(capfd: pytest.CaptureFixture[str]) -> None:
    file = str(write("r.py", rule("wrong_one"), rule("fine")))
    run_json(capfd, file)
    unseen = str(write("s.py", rule("fine_unseen")))
    assert run_json(capfd, file, "--offline")[0] == 1
    code, data = run_json(capfd, file, unseen, "--offline")
    assert (code, verdicts(data)["fine_unseen"]) == (1, "unknown")
    assert run_json(capfd, unseen, "none.py", "--offline")[0] == 2


def test_budget_and_seed_reach_the_prover(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "log"
    file = str(write("r.py", rule("counts_it", doc=str(log))))
    for arguments in (["--budget", "2.5s"], ["--budget", "quick", "--seed", "7"], ["--budget", "deep"]):
        run_json(capfd, file, "--no-cache", *arguments)
    assert log.read_text().splitlines() == [
        "index 2500000 12.5 0",
        "index 5000000 25.0 7",
        "index 300000000 1500.0 0",
    ]


def test_a_cache_that_cannot_be_written_costs_no_verdict(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path / "file"))
    code = main(["verify", str(write("r.py", rule("fine")))])
    assert code == 0
    assert "could not be cached" in capfd.readouterr().err


def test_the_real_prover_behind_the_command_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example of the documentation, right and wrong; the printed test passes as it stands."""
    monkeypatch.setattr(campaign, "PROVER", "soundline.verify.judging.judge")
    stated = "@rule(dtypes=[index, int8])\ndef {}(x: Value, c: Const):\n    given({})\n    return (x * c) // c, x\n\n"
    right, wrong = stated.format("cancel", "c != 0, fits(x * c)"), stated.format("overflow", "c != 0")
    code, data = run_json(capfd, str(write("r.py", right, wrong)))
    assert (code, verdicts(data)) == (1, {"cancel": "proved", "overflow": "refuted"})
    assert data["rules"][1]["layers"] == {"unbounded": "proved", "bit-precise int8": "refuted"}
    namespace: dict[str, Any] = {}
    exec(data["rules"][1]["counterexample"]["test"], namespace)
    tests = [value for name, value in namespace.items() if name.startswith("test_")]
    assert len(tests) == 1
    tests[0]()


# formats, output, wrong use ---------------------------------------------------------------------------------------


def test_text_tells_findings_then_a_table_then_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    file = write("r.py", rule("fine_sum"), rule("wrong_sum"), rule("hard_sum"), rule("empty_sum"), "nope\n")
    assert main(["verify", str(file)]) == 2
    out, err = capfd.readouterr()
    lines = out.splitlines()
    assert err == ""
    assert any(x.startswith("✓ proved   fine_sum") for x in lines)
    for part in (
        "x = 1",
        "left  → 2",
        "right → 3",
        "def test_wrong() -> None:",
        "x * y resisted",
        "excludes",
    ):
        assert part in out
    assert out.index("error  r.py:23") < out.index("x = 1") < out.index("covered")
    last = "1 proved, 1 refuted, 1 unknown, 1 vacuous in "
    assert lines[-1].startswith(last)
    assert lines[-1].endswith("(0 from cache); 1 error in the input")
    assert not any(x != x.rstrip() for x in lines)
    assert "\x1b" not in out
    assert "Traceback" not in out


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit"])
def test_output_goes_to_a_file(form: str, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "report"
    assert (
        main(["verify", str(write("r.py", rule("wrong_one"))), "--format", form, "--output", str(target)])
        == 1
    )
    out, err = capfd.readouterr()
    assert out == ""
    assert "0 proved, 1 refuted" in err
    assert "wrong_one" in target.read_text()


def test_quiet_leaves_findings_and_the_last_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "-q", str(write("r.py", rule("fine"), rule("fine_too")))]) == 0
    out, _ = capfd.readouterr()
    assert len(out.splitlines()) == 1
    assert out.startswith("2 proved")


def test_options_may_stand_between_files(capfd: pytest.CaptureFixture[str]) -> None:
    one, two = str(write("one.py", rule("fine_one"))), str(write("two.py", rule("fine_two")))
    assert set(verdicts(run_json(capfd, one, "--seed", "3", two)[1])) == {"fine_one", "fine_two"}


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["verfy"], ["verfy", "did you mean verify?"]),
        (["--verbose"], ["--verbose"]),
        (["verify", "--fromat", "json"], ["--fromat", "did you mean --format?"]),
        (["verify", "--format", "yaml"], ["yaml", "json"]),
        (["verify", "--jobs", "0"], ["'0'"]),
        (["verify", "--jobs", "two"], ["'two'"]),
        (["verify", "--jobs", "²"], ["'²'"]),
        (["verify", "--budget", "huge"], ["'huge'", "normal"]),
        (["verify", "--budget", "-1"], ["--budget"]),
        (["verify", "--budget", "nan"], ["'nan'"]),
        (["verify", "--budget", "inf"], ["'inf'"]),
        (["verify", "--seed", "-3"], ["--seed"]),
        (["verify", "--seed", "x"], ["'x'"]),
        (["verify", "--reading-time", "0"], ["'0'"]),
        (["verify", "--output"], ["--output"]),
        (["verify", "--output", "no/such/folder/f.json"], ["no/such/folder"]),
        (["verify", "--output", "."], ["directory"]),
        (["verify", "--offline", "--no-cache"], ["--no-cache"]),
        (["explain"], ["ID"]),
        (["explain", "Reshpae"], ["Reshpae", "did you mean Reshape?"]),
        (["explain", "a", "b"], ["b"]),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(
    arguments: list[str], parts: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("soundline: error: ")
    assert len(err.splitlines()) == 1
    for part in parts:
        assert part in err


def test_help_teaches(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out, _ = capfd.readouterr()
    assert all(name in out for name in COMMANDS)
    for name in COMMANDS:
        assert main([name, "-h"]) == 0
        out, err = capfd.readouterr()
        assert f"usage: soundline {name}" in out
        assert err == ""
    assert main(["verify", "-h"]) == 0
    out, _ = capfd.readouterr()
    for word in ("exit codes", "--offline", "vacuous", "my_rules.py", "@rule"):
        assert word in out
    assert main([]) == 2


def test_version_by_both_doors() -> None:
    from soundline import __version__

    script = Path(sys.executable).parent / "soundline"
    for door in ([sys.executable, "-m", "soundline"], [str(script)]):
        shown = subprocess.run([*door, "--version"], capture_output=True, text=True, check=True)
        assert shown.stdout == f"soundline {__version__}\n"


# the process ------------------------------------------------------------------------------------------------------

DOORWAY = (
    "import sys; sys.path.insert(0, {here!r}); from soundline.verify.campaigns import campaign; "
    "campaign.PROVER = 'prover_double'; from soundline.__main__ import main; sys.exit(main())"
)


def started(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", DOORWAY.format(here=str(HERE)), "verify", *arguments]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  (background jobs ignore it)
    )


def children(pid: int) -> list[int]:
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(p) for p in found.stdout.split()]


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
    except OSError:
        return True


def test_interrupt_reports_what_is_known_and_leaves_no_process() -> None:
    file = write("r.py", rule("wrong_quick"), rule("fine_quick"), rule("hangs_long"), rule("spins_long"))
    process = started(str(file), "--jobs", "2", "--budget", "200")
    assert process.stdout is not None
    for _ in range(2):
        process.stdout.readline()
    workers = children(process.pid)
    assert len(workers) == 2
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=180)
    assert process.returncode == 130
    assert "x = 1" in out
    assert out.splitlines()[-1].startswith("interrupted: 1 proved, 1 refuted, 2 unknown")
    assert "Traceback" not in out + err
    time.sleep(0.2)
    assert all(gone(w) for w in workers)


def test_workers_end_with_a_campaign_that_is_killed() -> None:
    process = started(
        str(write("r.py", rule("fine_quick"), rule("hangs_long"), rule("spins_long"))), "--jobs", "2"
    )
    assert process.stdout is not None
    process.stdout.readline()
    workers = children(process.pid)
    assert workers
    process.kill()
    process.communicate(timeout=180)
    until = time.monotonic() + 10
    while not all(gone(w) for w in workers) and time.monotonic() < until:
        time.sleep(0.1)
    assert all(gone(w) for w in workers)


def test_a_reader_that_leaves_hears_no_complaint() -> None:
    process = started(str(write("r.py", *(rule(f"slow_{n}") for n in range(3)))), "--jobs", "1")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(timeout=180) == 141


def test_output_that_cannot_show_our_signs_is_still_readable() -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    shown = subprocess.run(
        [
            sys.executable,
            "-c",
            DOORWAY.format(here=str(HERE)),
            "verify",
            str(write("r.py", rule("wrong_one"))),
        ],
        capture_output=True,
        env=env,
        check=False,
    )
    assert shown.returncode == 1
    assert shown.stderr == b""
    assert b"refuted" in shown.stdout


def test_a_folder_with_names_of_the_library_does_not_confuse_us(capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("random", "types", "json", "ast", "soundline"):
        Path(f"{name}.py").write_text("raise RuntimeError('imported by mistake')\n")
    assert run_json(capfd, str(write("r.py", rule("fine"))))[0] == 0


def test_procedures_alone_prove_nothing_and_the_report_says_who_checks_them(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        "from soundline.spec.ops.node import Op\nfrom soundline.verify import procedure\n"
        "@procedure(Op.Add)\ndef idle(node, known):\n    return None\n"
    )
    assert main(["verify", str(file)]) == 2
    assert "states no rule; it declares procedures" in capfd.readouterr().out
    file.write_text(
        file.read_text()
        + "from soundline.verify import *\n@rule(dtypes=[index])\ndef r(x: Value):\n    return x + 0, x\n"
    )
    assert main(["verify", str(file)]) == 0
    assert "1 proved" in (out := capfd.readouterr().out)
    assert "1 procedure for --engine" in out
