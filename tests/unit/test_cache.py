"""The transcript cache: what is the same rule, what may be reused, and that a damaged entry is as good as none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from soundline.spec.rules.language import Rule, given, rule
from soundline.verify import *  # noqa: F403  # the vocabulary of rule files
from soundline.verify import Const, DTypeVar, Interval, Value, floats, index, int8, ints, sints, where
from soundline.verify.verdicts import sameness as sameness_module
from soundline.verify.verdicts.as_json import layer_from_json, layer_to_json
from soundline.verify.verdicts.cache import Cache, Key, default_folder, prune
from soundline.verify.verdicts.effort import BUDGETS, Effort, effort_of
from soundline.verify.verdicts.sameness import structure
from soundline.verify.verdicts.verdict import Counterexample, LayerResult, Verdict

NORMAL = Effort(30, 30.0)
FOUND = Counterexample("dtype int8", (("x", "64"), ("c", "2")), "-64", "64", "def test(): ...", "note")


def key(**changed: object) -> Key:
    parts = {"structure": "s", "layer": "unbounded", "dtype": "index", "rule": "r", "seed": 0} | changed
    return Key(**parts)  # type: ignore[arg-type]


def result(verdict: Verdict) -> LayerResult:
    return LayerResult("unbounded", verdict, "all", FOUND if verdict == "refuted" else None, "why")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path)


def entry(cache: Cache) -> Path:
    (file,) = cache.folder.rglob("*.json")
    return file


# reuse ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", ["proved", "refuted", "unknown", "vacuous"])
def test_a_result_comes_back_whole(cache: Cache, verdict: Verdict) -> None:
    assert cache.get(key(), NORMAL) is None
    cache.put(key(), NORMAL, result(verdict))
    assert cache.get(key(), NORMAL) == result(verdict)
    assert Cache(cache.folder.parent).get(key(), NORMAL) == result(verdict)


@pytest.mark.parametrize(
    "other",
    [{"structure": "t"}, {"layer": "boolean"}, {"dtype": "int8"}, {"seed": 1}],
    ids=lambda o: next(iter(o)),
)
def test_another_rule_layer_dtype_or_seed_is_another_entry(cache: Cache, other: dict[str, object]) -> None:
    cache.put(key(), NORMAL, result("proved"))
    assert cache.get(key(**other), NORMAL) is None


def test_another_law_prover_or_solver_is_another_entry(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put(key(), NORMAL, result("proved"))
    monkeypatch.setattr("soundline.verify.verdicts.cache.fingerprint", lambda: "of another law")
    assert cache.get(key(), NORMAL) is None


def test_the_fingerprint_covers_the_law_the_prover_and_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    original = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: read.append(self) or original(self))
    before = sameness_module.fingerprint.__wrapped__()
    names = {f"{p.parent.name}/{p.name}" for p in read}
    assert {
        "values/elementwise.py",
        "rules/language.py",
        "goals/solving.py",
        "judging/judge.py",
        "verdicts/layers.py",
    } <= names
    assert not {"cli/main.py", "reports/text.py", "machine/unfolding.py"} & names
    monkeypatch.setattr(sameness_module, "solver_version", lambda: "0.0")
    assert sameness_module.fingerprint.__wrapped__() != before


def test_a_proof_holds_under_any_budget(cache: Cache) -> None:
    for verdict in ("proved", "vacuous"):
        cache.put(key(), NORMAL, result(verdict))
        assert cache.get(key(), Effort(10**9, 10**6)) == result(verdict)


def test_what_more_effort_could_change_is_asked_again_with_more(cache: Cache) -> None:
    for verdict in ("unknown", "refuted"):
        cache.put(key(), NORMAL, result(verdict))
        assert cache.get(key(), Effort(30, 30.0)) is not None
        assert cache.get(key(), Effort(29, 2.0)) is not None
        assert cache.get(key(), Effort(31, 30.0)) is None
        assert cache.get(key(), Effort(30, 30.5)) is None


def test_a_counterexample_takes_the_name_of_each_rule(cache: Cache) -> None:
    """Equal rules share an entry, and the test of the counterexample carries the name of the rule."""
    text = "x = 1\n\n\ndef test_one_is_wrong():\n    test_one_is_wrong = 2"
    wrong = replace(result("refuted"), counterexample=Counterexample("", (), "1", "2", text))
    cache.put(key(), NORMAL, wrong)
    for other, name in (("two", "two"), ("a-b.c", "a_b_c")):
        found = cache.get(key(rule=other), NORMAL)
        assert found is not None
        assert found.counterexample is not None
        assert found.counterexample.test == text.replace("def test_one_is_wrong", f"def test_{name}_is_wrong")
    cache.put(key(), NORMAL, result("proved"))
    assert cache.get(key(rule="renamed"), NORMAL) == result("proved")


def test_equal_rules_are_both_known_offline(tmp_path: Path) -> None:
    """They share entries of the cache, and each counterexample has its own rule's name."""
    text = "from soundline.verify import Value, int8, rule\n"
    for name in ("one", "two"):
        text += f"\n@rule(dtypes=[int8])\ndef {name}(x: Value, y: Value):\n    return x - y, y - x\n"
    file = tmp_path / "equal.py"
    file.write_text(text)
    command = [sys.executable, "-m", "soundline", "verify", str(file), "--format=json"]
    for more in ((), ("--offline",)):
        done = subprocess.run(
            [*command, *more],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "SOUNDLINE_CACHE_DIR": str(tmp_path)},
        )
        assert done.returncode == 1, done.stderr
        rules = json.loads(done.stdout)["rules"]
        assert [r["verdict"] for r in rules] == ["refuted", "refuted"]
        assert all(f"def test_{r['id']}_is_wrong()" in json.dumps(r) for r in rules)


# damage -----------------------------------------------------------------------------------------------------------


def damaged(text: str) -> list[str]:
    """Many ways in which the text of an entry can be wrong."""
    data = json.loads(text)
    ways = ["", "{", "null", "[]", "3", text[: len(text) // 2], text + "x", "\x00" * 100, "[" * 100_000]
    ways.append(text.replace("proved", "refuted"))
    ways.append(text.replace("all", "ALL"))
    ways.append(json.dumps({**data, "checksum": "0" * 64}))
    ways.append(json.dumps({"content": data["content"]}))
    ways.append(json.dumps({"checksum": data["checksum"]}))
    return ways


def test_a_damaged_entry_is_as_good_as_none_and_is_rebuilt(cache: Cache) -> None:
    cache.put(key(), NORMAL, result("proved"))
    file = entry(cache)
    for text in damaged(file.read_text()):
        file.write_text(text)
        assert cache.get(key(), NORMAL) is None, text[:60]
        cache.put(key(), NORMAL, result("proved"))
        assert cache.get(key(), NORMAL) == result("proved")
    file.write_bytes(b"\xff\xfe\x00")
    assert cache.get(key(), NORMAL) is None
    file.unlink()
    file.mkdir()
    assert cache.get(key(), NORMAL) is None


def test_every_single_changed_byte_is_noticed(cache: Cache) -> None:
    cache.put(key(), NORMAL, result("proved"))
    file = entry(cache)
    data = file.read_bytes()
    for n in range(0, len(data), 7):
        file.write_bytes(data[:n] + bytes([data[n] ^ 1]) + data[n + 1 :])
        assert cache.get(key(), NORMAL) is None, f"byte {n}: {data[n - 5 : n + 5]!r}"


def test_nothing_but_whole_entries_is_left_behind(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    cache.put(key(), NORMAL, result("proved"))
    assert "No space left" in (cache.broken or "")
    assert [p for p in cache.folder.rglob("*") if p.is_file()] == []


def test_the_folder_is_the_users_choice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.delenv("SOUNDLINE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder().name == "soundline"
    assert default_folder().is_relative_to(tmp_path)


@pytest.mark.parametrize(
    "broken",
    [
        {"verdict": "certain"},
        {"layer": 3},
        {"covered": None},
        {"counterexample": {}},
        {"counterexample": {"bindings": [["x"]]}},
        {"counterexample": []},
    ],
)
def test_results_of_another_form_are_refused(broken: dict[str, object]) -> None:
    data = layer_to_json(result("proved"))
    assert layer_from_json(data) == result("proved")
    with pytest.raises((ValueError, KeyError, TypeError)):
        layer_from_json(data | broken)


# many at once, a full disk, and pruning -----------------------------------------------------------------------------

HAMMER = """
import sys
from pathlib import Path
from soundline.verify.verdicts.cache import Cache, Key, prune
from soundline.verify.verdicts.effort import Effort
from soundline.verify.verdicts.verdict import LayerResult
cache, effort = Cache(Path(sys.argv[1])), Effort(30, 30.0)
known = 0
for n in range(150):
    key = Key("s", "unbounded", "index", "r", n % 3)
    want = LayerResult("unbounded", "proved", f"all {n % 3}" + "x" * 20000)
    found = cache.get(key, effort)
    assert found in (None, want), found
    known += found is not None
    cache.put(key, effort, want)
    if n % 30 == 29:  # seldom: between two of them there is always something to be found
        for folder in cache.folder.iterdir():
            prune(folder, 0)
assert cache.broken is None, cache.broken
print(known)
"""


def test_processes_share_the_cache_and_none_reads_half_an_entry(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HAMMER, str(tmp_path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    for process in running:
        said, failed = process.communicate()
        assert process.returncode == 0, failed.decode()
        assert int(said) > 0
    assert list(tmp_path.rglob(".writing-*")) == []


FULL = """
import resource, sys
from pathlib import Path
from soundline.verify.verdicts.cache import Cache, Key
from soundline.verify.verdicts.effort import Effort
from soundline.verify.verdicts.verdict import LayerResult
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
cache, effort = Cache(Path(sys.argv[1])), Effort(30, 30.0)
small = Key("s", "unbounded", "index", "r", 0), LayerResult("unbounded", "proved", "all")
large = Key("t", "unbounded", "index", "r", 0), LayerResult("unbounded", "proved", "x" * 5000)
cache.put(small[0], effort, small[1])
assert cache.broken is None
cache.put(large[0], effort, large[1])
assert "large" in cache.broken, cache.broken
assert cache.get(large[0], effort) is None
assert cache.get(small[0], effort) == small[1]
"""


def test_a_disk_that_takes_no_more_costs_the_entry_alone(tmp_path: Path) -> None:
    """The limit of the file's size stands for the end of the disk: the write itself fails in the middle."""
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert len([p for p in tmp_path.rglob("*") if p.is_file()]) == 1


def aged(file: Path, days: float) -> Path:
    then = time.time() - 86400 * days
    os.utime(file, (then, then))
    return file


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    files = [tmp_path / f"{n}.json" for n in range(6)]
    for n, file in enumerate(files):
        file.write_text("{}")
        aged(file, 10 - n)
    dying = aged(Path(tempfile.mkstemp(dir=tmp_path, prefix=".writing-")[1]), 2)
    living = Path(tempfile.mkstemp(dir=tmp_path, prefix=".writing-")[1])
    (tmp_path / "folder.json").mkdir()
    assert prune(tmp_path, 4) == 3
    assert [f.exists() for f in files] == [False, False, True, True, True, True]
    assert (dying.exists(), living.exists(), (tmp_path / "folder.json").exists()) == (False, True, True)
    assert prune(tmp_path, 4) == 0
    assert prune(tmp_path / "nowhere") == 0


def test_a_use_is_noted_once_a_day(cache: Cache) -> None:
    cache.put(key(), NORMAL, result("proved"))
    for days, noted in ((0.5, False), (3, True)):
        before = aged(entry(cache), days).stat().st_mtime
        assert cache.get(key(), NORMAL) is not None
        assert (entry(cache).stat().st_mtime > before) is noted
    before = aged(entry(cache), 3).stat().st_mtime
    assert cache.get(key(rule="other", layer="none"), NORMAL) is None
    assert entry(cache).stat().st_mtime == before


def test_writing_keeps_the_cache_bounded(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soundline.verify.verdicts.cache.prune", lambda folder: prune(folder, 2))
    monkeypatch.setattr(Key, "name", property(lambda self: f"ab{self.seed:04}" + "0" * 10))
    for n in range(8):
        cache.put(key(seed=n), NORMAL, result("proved"))
        if n:
            aged(cache.folder / "ab" / f"{n - 1:04}{'0' * 10}.json", 9 - n)
    assert len(list(cache.folder.rglob("*.json"))) == 2
    assert cache.get(key(seed=7), NORMAL) is not None
    assert cache.get(key(seed=0), NORMAL) is None


# what is the same rule --------------------------------------------------------------------------------------------


def base(x: Value, c: Const):  # type: ignore[no-untyped-def]
    given(c != 0)
    return (x * c) // c, x


BASE = structure(rule(dtypes=ints)(base))


def test_name_place_and_docstring_are_no_part_of_a_rule() -> None:
    def other(x: Value, c: Const):  # type: ignore[no-untyped-def]
        """Says something."""
        given(c != 0)
        return (x * c) // c, x

    assert structure(rule(dtypes=ints, id="else")(other)) == BASE
    assert structure(rule(dtypes=list(ints))(base)) == BASE


def changed() -> dict[str, Rule]:
    """Rules that differ from the base in one thing each."""

    def left(x: Value, c: Const):  # type: ignore[no-untyped-def]
        given(c != 0)
        return (x * c) % c, x

    def right(x: Value, c: Const):  # type: ignore[no-untyped-def]
        given(c != 0)
        return (x * c) // c, c

    def swapped(x: Value, c: Const):  # type: ignore[no-untyped-def]
        given(c != 0)
        return (c * x) // c, x

    def condition(x: Value, c: Const):  # type: ignore[no-untyped-def]
        given(c != 1)
        return (x * c) // c, x

    def as_float(x: Value, c: Const):  # type: ignore[no-untyped-def]
        given(c != 0.0)
        return (x * c) // c, x

    def as_bool(x: Value, c: Const):  # type: ignore[no-untyped-def]
        given(c != False)  # noqa: E712
        return (x * c) // c, x

    def unconditional(x: Value, c: Const):  # type: ignore[no-untyped-def]
        return (x * c) // c, x

    def kind(x: Value, c: Value):  # type: ignore[no-untyped-def]
        given(c != 0)
        return (x * c) // c, x

    def interval(x: Interval, c: Const):  # type: ignore[no-untyped-def]
        given(c != 0)
        return (x * c) // c, x

    def named(y: Value, c: Const):  # type: ignore[no-untyped-def]
        given(c != 0)
        return (y * c) // c, y

    def of_dtype(x: Value[int8], c: Const):  # type: ignore[no-untyped-def, type-arg]
        given(c != 0)
        return (x * c) // c, x

    variants = (
        left,
        right,
        swapped,
        condition,
        as_float,
        as_bool,
        unconditional,
        kind,
        interval,
        named,
        of_dtype,
    )
    made = {f.__name__: rule(dtypes=ints)(f) for f in variants}
    made["dtypes"] = rule(dtypes=sints)(base)
    made["one more dtype"] = rule(dtypes=[index, *ints])(base)
    made["any dtype"] = rule(base)
    made["licence"] = rule(dtypes=ints, licences="reassociate")(base)
    return made


def test_every_part_of_a_rule_is_part_of_its_structure() -> None:
    digests = {name: structure(r) for name, r in changed().items()}
    assert BASE not in digests.values()
    assert len(set(digests.values())) == len(digests), digests


def test_classes_of_dtype_variables_and_signs_of_zero_count() -> None:
    def cast(x: Value, s: DTypeVar):  # type: ignore[no-untyped-def]
        return x.cast(s), x.cast(s)

    assert structure(rule(s=ints)(cast)) != structure(rule(s=floats)(cast))

    def plus(zero: float) -> str:
        def add(x: Value):  # type: ignore[no-untyped-def]
            return x + zero, x

        return structure(rule(dtypes=floats)(add))

    assert len({plus(0.0), plus(-0.0), plus(0), plus(float("nan"))}) == 4


def test_a_shared_term_costs_no_more_than_once() -> None:
    def deep(x: Value):  # type: ignore[no-untyped-def]
        y = x
        for _ in range(200):
            y = where(y < x, y, y + y)
        return y, x

    assert structure(rule(dtypes=ints)(deep)) == structure(rule(dtypes=ints)(deep))


# effort -----------------------------------------------------------------------------------------------------------


def test_budgets() -> None:
    assert effort_of("normal") is BUDGETS["normal"]
    assert effort_of("2.5") == effort_of("2.5s") == Effort(2_500_000, 2.5)
    assert effort_of("0.0000001").rlimit == 1
    assert BUDGETS["deep"].covers(BUDGETS["normal"])
    assert not BUDGETS["quick"].covers(BUDGETS["normal"])
