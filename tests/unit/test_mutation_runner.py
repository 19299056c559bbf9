"""The mutation runner itself: what it changes, what it leaves alone, what it calls noticed, and that it repeats."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from trials import harness
from trials.harness import USAGE, Bar
from trials.ledger import Ledger
from trials.mutation import judged as mutation_judged
from trials.mutation import main, report, rule_campaign
from trials.mutation import rules as mutation_rules
from trials.mutation import targets as mutation_targets
from trials.mutation.campaign import MutantCampaign, Plan, Tally, _rule_files
from trials.mutation.copy import Copy
from trials.mutation.operators import changed_lines, mutants_of, mutated
from trials.mutation.outcomes import Outcome
from trials.mutation.targets import Target, chosen

from soundline.spec.dtypes import index, int8
from soundline.spec.errors import UsageError
from soundline.spec.rules.language import compose, given, inverse, rule
from soundline.spec.rules.terms import Const, Offset, Perm, Shape, Tensor, Value
from soundline.verify.verdicts.verdict import LayerResult

from ..representative import thorough  # noqa: TID252

ROOT = Path(__file__).resolve().parents[2]


def changes_of(source: str) -> set[str]:
    """Every mutant of a small module, by its text."""
    source += "\n"
    texts = (mutated(source, m) for m in mutants_of(source))
    return {" ".join(t.split()) for t in texts if t is not None}


# what is changed --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("y = a + b", "y = a - b"),
        ("y = a // b", "y = a % b"),
        ("y = a < b", "y = a <= b"),
        ("y = a == b", "y = a != b"),
        ("y = a == b", "y = a <= b"),
        ("y = -a", "y = a"),
        ("y = a[3]", "y = a[ 4]"),
        ("y = a[3]", "y = a[ 2]"),
        ("y = a and b", "y = a or b"),
        ("y = a and b and c", "y = a and c"),
        ("y = a and b and c", "y = a and b"),
        ("y = a or b", "y = b"),
        ("y = True", "y = False"),
        ("y = f(a.lo, b.hi)", "y = f(a.hi, b.hi)"),
        ("y = min(a)", "y = max(a)"),
        ("y = Op.CmpLt", "y = Op.CmpLe"),
        ("y = f(a, b, c)", "y = f(b, a, c)"),
        ("y = a if c else b", "y = a if True else b"),
        ("y = a if c else b", "y = a if False else b"),
        ("y = [x for x in a if c]", "y = [x for x in a if True]"),
        ("if a:\n    b()\nelif c:\n    d()", "if a: b() elif False: d()"),
        ("while a:\n    b()", "while False: b()"),
        ("f(x)", "pass"),
        ("x += 1", "pass"),
        ("for x in a:\n    f(x)", "for x in []: f(x)"),
    ],
)
def test_a_change_is_made(source: str, changed: str) -> None:
    assert changed in changes_of(source)


@pytest.mark.parametrize(
    "source",
    [
        "def f(a: int | None) -> str | bytes: ...",
        "x: dict[int, int] | None",
        "Known = Bounds | None",
        "y = isinstance(x, int | float)",
        "assert a < b",
        "y = f'{a + b}'",
        "@dataclass(frozen=True)\nclass A: ...",
        "def __repr__(self):\n    return a + b",
        "__all__ = [a + b]",
        "LIMIT = 30_000_000",
        "import min\nfrom a.lo import hi",
        "f = g(lo=x)",
        "y = zip(a, b, strict=True)",
        "lo = x",
        "y = {**a, **b}",
        "'''a < b'''",
    ],
)
def test_what_means_nothing_is_left_alone(source: str) -> None:
    assert changes_of(source) == set()


def test_the_first_item_is_not_taken_for_the_last() -> None:
    """Where there is one item, the last is the first; the second is another slip."""
    assert changes_of("y = a[0]") == {"y = a[ 1]"}
    assert changes_of("y = a[0:]") == {"y = a[ 1:]", "y = a[ -1:]"}


def test_columns_are_characters() -> None:
    """After a letter of several bytes a silent part is still found, and its neighbour is still changed."""
    assert changes_of("'ééé'; y = f'{a + b}'") == set()
    assert changes_of("y = 'ééé' + f'{a + b}'") == {"y = 'ééé' - f'{a + b}'"}


def test_every_mutant_is_another_program_and_says_where() -> None:
    source = (ROOT / "spec/ops/shards.py").read_text()
    found = mutants_of(source)
    assert len(found) > 10
    assert len(set(found)) == len(found)
    for mutant in found:
        changed = mutated(source, mutant)
        if changed is not None:
            assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))
            line, before, after = changed_lines(source, changed)
            assert line <= mutant.line
            assert before != after


# what is noticed --------------------------------------------------------------------------------------------------

TOY = '''\
"""A toy."""


def clamp(x, lo, hi):
    """Held by the tests, apart from the upper end."""
    if x < lo:
        return lo
    return min(x, hi)


def countdown(n):
    """Ends."""
    while n > 0:
        n -= 1
    return n
'''
TEST = """\
import toy

def test_clamp():
    assert toy.clamp(1, 2, 3) == 2
    assert toy.clamp(3, 2, 3) == 3

def test_countdown():
    assert toy.countdown(3) == 0
"""


class Heard:
    """A listener that keeps what it hears."""

    def __init__(self) -> None:
        self.tried: list[str] = []

    def says(self, text: str) -> None: ...

    def begins(self, tallies: list[Tally]) -> None: ...

    def works_on(self, worker: int, path: str) -> None:
        self.tried.append(path)

    def ended(self, tally: Tally, outcome: Outcome) -> None: ...

    def broke(self, tally: Tally) -> None: ...


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    root = tmp_path / "toy"
    for name, text in (("src/toy.py", TOY), ("tests/test_toy.py", TEST), ("pyproject.toml", "")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def run(root: Path, ledger: Ledger, **options: object) -> tuple[Tally, Heard]:
    plan = Plan(root, (Target("src/toy.py", ("tests/test_toy.py",)),), None, 5, patience=0.2, **options)  # type: ignore[arg-type]
    heard = Heard()
    (tally,) = MutantCampaign(plan, ledger, heard).run(Bar(Console(quiet=True), 5))
    return tally, heard


def state(root: Path) -> dict[str, bytes]:
    return {str(f.relative_to(root)): f.read_bytes() for f in root.rglob("*") if f.is_file()}


@pytest.mark.slow
@pytest.mark.thorough
def test_noticed_unnoticed_and_endless(toy: Path, tmp_path: Path) -> None:
    before = state(toy)
    ledger = Ledger(tmp_path / "ledger.sqlite")
    tally, heard = run(toy, ledger, workers=2)
    assert state(toy) == before, "the checkout was touched"
    found = {(o.line, o.after): o for o in tally.outcomes}
    assert found[8, "return max(x, hi)"].status == "survived"
    assert found[6, "if x <= lo:"].status == "survived"  # the same function
    assert found[6, "if x > lo:"].status == "killed"
    assert found[6, "if x > lo:"].killer == "tests/test_toy.py::test_clamp"
    assert found[7, "return hi"].status == "killed"
    assert found[14, "pass"].status == "timeout"
    assert len(found) == tally.possible == len(heard.tried)

    again, heard = run(toy, ledger)
    assert heard.tried == [], "what the ledger knows was tried again"
    assert {(o.line, o.after): o for o in again.outcomes} == found

    (toy / "tests/test_toy.py").write_text(TEST + "    assert toy.clamp(9, 2, 3) == 3\n")
    better, heard = run(toy, ledger)
    assert {(o.line, o.after): o for o in better.outcomes}[8, "return max(x, hi)"].status == "killed"
    assert heard.tried, "a changed test must be asked again"


@pytest.mark.slow
@pytest.mark.thorough
def test_a_changed_module_or_a_changed_seed_is_another_run(toy: Path) -> None:
    ledger = Ledger(None)
    first, _ = run(toy, ledger, sample=2)
    assert len(first.outcomes) == 2
    other, _ = run(toy, ledger, sample=2, seed=1)
    assert [(o.line, o.after) for o in first.outcomes] != [(o.line, o.after) for o in other.outcomes]
    (toy / "src/toy.py").write_text(TOY + "\n")
    _, heard = run(toy, ledger, sample=2)
    assert len(heard.tried) == 2


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("test", "why"),
    [
        ("def test_wrong():\n    assert False\n", "test_wrong"),
        ("import nothing_of_this_name\n", "test_toy.py"),
    ],
)
def test_tests_that_fail_without_a_mutant_measure_nothing(toy: Path, test: str, why: str) -> None:
    (toy / "tests/test_toy.py").write_text(test)
    tally, _ = run(toy, Ledger(None))
    assert tally.outcomes == []
    assert "fails on the unchanged project" in tally.broken
    assert why in tally.broken
    assert not report.succeeds([tally, full()], 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, thorough(signal.SIGTERM)])
def test_an_interrupted_run_leaves_nothing_behind(how: signal.Signals, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [
        sys.executable,
        "-m",
        "trials.mutation.main",
        "--only",
        "shards",
        "--fresh",
        "--workers",
        "1",
    ]
    environment = os.environ | {"TMPDIR": str(scratch), "PYTHONPATH": str(ROOT / "tests")}
    runner = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  (background jobs ignore it)
    )
    (copy,) = eventually(lambda: list(scratch.glob("soundline-mutants-*/tree/.mutation-log.txt")))
    runner.send_signal(how)
    _, said = runner.communicate(timeout=180)
    assert runner.returncode == harness.INTERRUPTED
    assert said == "interrupted; the next run goes on from here\n"
    assert not copy.exists()
    assert list(scratch.glob("soundline-mutants-*")) == []


def eventually(find: Callable[[], list[Path]]) -> list[Path]:
    """What is found within a minute."""
    deadline = time.monotonic() + 60
    while not (found := find()):
        assert time.monotonic() < deadline, "nothing was found"
        time.sleep(0.1)
    return found


# the score --------------------------------------------------------------------------------------------------------


def full(*statuses: str, path: str = "a.py") -> Tally:
    """A tally with these outcomes."""
    outcomes = [Outcome(s, n + 1, f"old {n}", f"new {n}") for n, s in enumerate(statuses or ("killed",))]  # type: ignore[arg-type]
    return Tally(path, 100, outcomes)


def test_the_score_counts_kills_and_timeouts_against_survivors() -> None:
    score = report.score_of(full("killed", "timeout", "survived", "true"), full("killed"))
    assert (score.tried, score.killed, score.timeout, score.survived, score.excused) == (5, 2, 1, 1, 1)
    assert score.share == pytest.approx(3 / 4)
    assert score.possible == 200


@pytest.mark.parametrize(("threshold", "expected"), [(0.5, True), (2 / 3, True), (0.67, False), (1.0, False)])
def test_the_run_succeeds_from_the_threshold_on(threshold: float, expected: bool) -> None:
    assert report.succeeds([full(*["killed", "killed", "survived"] * 7)], threshold) is expected


def test_nothing_tried_is_no_success() -> None:
    assert not report.succeeds([Tally("a.py", 3)], 0.0)


def test_a_handful_of_many_shows_nothing_either_way() -> None:
    assert report.succeeds([full("survived", "survived")], 0.9)
    assert not report.succeeds([full(*["survived"] * 20)], 0.9)


def test_a_judged_survivor_is_excused_until_its_line_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = (mutation_judged.Judged("a.py", "old 0", "new 0", "the same program"),)
    monkeypatch.setattr(mutation_judged, "JUDGED", judged)
    assert report.score_of(full("survived")).excused == 1
    assert report.score_of(full("survived", path="b.py")).excused == 0
    assert report.score_of(full("killed", "survived")).survived == 1


def test_the_result_holds_every_survivor_and_no_date() -> None:
    tallies = [full("killed", "survived"), Tally("b.py", 9, [], "its tests fail")]
    result = report.as_json(tallies, threshold=0.9, command="make verify-deep", seed=3)
    assert result["total"] == {
        "possible": 109,
        "tried": 2,
        "killed": 1,
        "timeout": 0,
        "survived": 1,
        "excused": 0,
        "score": 0.5,
    }
    assert result["survivors"] == [{"file": "a.py", "line": 2, "before": "old 1", "after": "new 1"}]
    assert result["targets"]["b.py"]["broken"] == "its tests fail"
    assert set(result) == {"schema", "command", "seed", "threshold", "total", "targets", "survivors"}


def test_the_report_shows_the_difference() -> None:
    console = Console(width=110, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    report.show([full("killed", "survived")], console, threshold=0.9)
    text = console.export_text()
    assert "a.py:2: not noticed\n  - old 1\n  + new 1\n" in text
    assert "50.0 % of 2 mutants noticed, 90 % are asked for" in text


# what is mutated --------------------------------------------------------------------------------------------------


def test_every_module_of_the_law_and_the_prover_is_a_target_or_says_why_not() -> None:
    modules = {str(f.relative_to(ROOT)) for d in ("spec", "verify/smt") for f in (ROOT / d).rglob("[!_]*.py")}
    modules |= {"verify/judging/judge.py", "verify/verdicts/layers.py"}
    targets = {t.path for t in mutation_targets.TARGETS}
    left_out = set(mutation_targets.LEFT_OUT)
    assert targets & left_out == set()
    assert modules - targets - left_out == set(), "place these in tests/trials/mutation/targets.py"
    assert (targets | left_out) - modules == set(), "these do not exist"
    assert all(len(why) > 20 for why in mutation_targets.LEFT_OUT.values())


def test_every_module_that_declares_rules_is_a_target() -> None:
    declaring = {f"{m.removeprefix('soundline.').replace('.', '/')}.py" for m in rule_campaign.modules()}
    assert declaring <= set(_rule_files(ROOT, mutation_targets.RULES))


@pytest.mark.slow
def test_the_trials_of_a_copy_can_be_called(toy: Path) -> None:
    for name, text in (("__init__", ""), ("own", "def twice(n):\n    return [n, __file__]\n")):
        (toy / "tests/trials").mkdir(exist_ok=True)
        (toy / f"tests/trials/{name}.py").write_text(text)
    with Copy(toy) as copy:
        assert copy.call("trials.own:twice", 3) == [3, str(copy.tree / "tests/trials/own.py")]


@pytest.mark.parametrize("target", mutation_targets.TARGETS, ids=lambda t: t.path)
def test_a_target_names_tests_that_exist(target: Target) -> None:
    assert target.tests
    assert [t for t in target.tests if not (ROOT / t).is_file()] == []
    assert len(set(target.tests)) == len(target.tests)


@pytest.mark.parametrize("entry", mutation_judged.JUDGED, ids=lambda e: f"{e.path} {e.after}"[:60])
def test_a_judgement_is_about_a_line_that_stands(entry: mutation_judged.Judged) -> None:
    assert entry.before != entry.after
    assert len(entry.why) > 15
    if not entry.path.startswith(mutation_targets.RULES):
        assert entry.before in " ".join((ROOT / entry.path).read_text().split())


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ([], ("spec/ops/bounds.py", "verify/smt/values/bit_vectors.py", "verify/smt/values/ieee.py")),
        (["bounds"], ("spec/ops/bounds.py",)),
        (["spec/ops/bounds.py"], ("spec/ops/bounds.py",)),
        (["soundline.spec.ops.bounds"], ("spec/ops/bounds.py",)),
        (["verify/smt"], ("verify/smt/values/bit_vectors.py", "verify/smt/values/ieee.py")),
        (["ieee", "bit_vectors"], ("verify/smt/values/ieee.py", "verify/smt/values/bit_vectors.py")),
    ],
)
def test_targets_by_name(names: list[str], found: tuple[str, ...]) -> None:
    assert (
        chosen(names, ("spec/ops/bounds.py", "verify/smt/values/bit_vectors.py", "verify/smt/values/ieee.py"))
        == found
    )


def test_an_unknown_target_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError) as refused:
        chosen(["bound"], ("spec/ops/bounds.py",))
    assert "bounds" in (refused.value.hint or "")


@pytest.mark.parametrize("options", [["--minutes", "0"], ["--minutes", "x"], ["--workers", "3"], ["--no"]])
def test_wrong_options_are_wrong_use(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(options) == USAGE
    assert "Traceback" not in capsys.readouterr().err


def test_the_command_of_a_result_repeats_it() -> None:
    plan = Plan(ROOT, (), None, 7.5, ("bounds", "ieee"), 3)
    assert main._command(plan) == 'make verify-deep MINUTES=7.5 ARGS="--seed 3 --only bounds ieee"'


# rules ------------------------------------------------------------------------------------------------------------


@rule(dtypes=[index])
def halves(x: Value, c: Const):
    """A rule whose condition is needed."""
    given(c > 0)
    return (x * c) // c, x


@rule(dtypes=[int8])
def careful(x: Value, c: Const):
    """A rule whose condition is not needed."""
    given(c != 3)
    return x * c, c * x


def shown(stated) -> list[tuple[str, str]]:
    return [(m.before, m.after) for m in mutation_rules.rule_mutants(stated)]


def test_the_mutants_of_a_rule() -> None:
    assert shown(halves) == [
        ("given((c > 0))", "no such condition"),
        ("(c > 0)", "(0 > c)"),
        ("(c > 0)", "(c >= 0)"),
        ("(c > 0)", "(c > 1)"),
        ("(c > 0)", "(c > -1)"),
        ("((x * c) // c)", "(c // (x * c))"),
        ("((x * c) // c)", "cdiv((x * c), c)"),
        ("((x * c) // c)", "((x + c) // c)"),
        ("dtypes as declared", "dtypes and float32"),
        ("dtypes as declared", "dtypes and int8"),
    ]


def verdicts(stated, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, str]]:
    monkeypatch.setattr(mutation_rules, "rules_of", lambda module: [stated])
    return {
        f"{m['before']} => {m['after']}": mutation_rules.judge("here", stated.id, m["number"])
        for m in mutation_rules.describe("here")
    }


def test_mutants_of_a_rule_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdicts(halves, monkeypatch)
    assert found["given((c > 0)) => no such condition"]["verdict"] == "refuted at unbounded"
    assert found["(c > 0) => (c >= 0)"]["verdict"] == "refuted at unbounded"
    assert found["((x * c) // c) => ((x + c) // c)"]["verdict"] == "refuted at unbounded"
    assert found["dtypes as declared => dtypes and int8"]["verdict"] == "refuted at bit-precise int8"
    assert found["dtypes as declared => dtypes and float32"]["verdict"] == "refused"
    other = {"verdict": "proved", "why": mutation_rules.ANOTHER}
    assert found["(c > 0) => (0 > c)"] == found["(c > 0) => (c > 1)"] == other


def test_a_condition_that_is_not_needed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdicts(careful, monkeypatch)["given((c != 3)) => no such condition"]
    assert found == {"verdict": "proved", "why": mutation_rules.UNNEEDED}


def test_a_prover_that_proves_too_much_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from soundline.verify.judging import judge

    def gullible(stated, dtype, budget, **_):
        return LayerResult("any", "proved", "")

    monkeypatch.setattr(judge, "prove_layer", gullible)
    found = verdicts(halves, monkeypatch)
    wrong = {name for name, judged in found.items() if judged["verdict"] == mutation_rules.WRONGLY_PROVED}
    assert "given((c > 0)) => no such condition" in wrong
    assert "((x * c) // c) => ((x + c) // c)" in wrong
    assert "(c > 0) => (c > 1)" not in wrong


def test_rules_of_every_kind_have_mutants() -> None:
    """A tensor rule's permutations and offsets are changed too."""

    @rule
    def twice(x: Tensor, p: Perm, q: Perm):
        return x.permute(p).permute(inverse(q)), x.permute(compose(p, inverse(q)))

    @rule
    def inside(x: Tensor, a: Offset, s: Shape):
        given(a >= 0)
        return x.shrink(a, s), x.shrink(a, s).contiguous()

    texts = {after for _, after in shown(twice)}
    assert "x.permute(compose(inverse(q), p))" in texts
    assert "x.permute(compose(p, q))" in texts
    assert "x.permute(q).permute(inverse(q))" in texts
    assert ("a >= 0", "a > 0") in shown(inside)
    assert ("given(a >= 0)", "no such condition") in shown(inside)
