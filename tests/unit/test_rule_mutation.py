"""Every mutant of the shipped rules: the runner outlives its mutants, goes on where it ended, and counts right."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from trials.child import Child
from trials.ledger import Ledger
from trials.mutation import rule_campaign, rules
from trials.mutation.rule_campaign import RuleCampaign, judgement, main
from trials.mutation.rules import RuleMutant
from trials.mutation.trial import difference

from soundline.spec.dtypes import bool_, index, int8, int16
from soundline.spec.rules.choices import Axes
from soundline.spec.rules.instances import dtypes_of
from soundline.spec.rules.language import given, rule
from soundline.spec.rules.ranges import Body, Range, max_over, sum_over
from soundline.spec.rules.terms import Bool, DTypeVar, Size, Tensor, Value

SAMPLE = {
    "soundline.impl.rules.scalars.absorption": ("idiv_self", "mod_self"),
    "soundline.impl.rules.scalars.booleans": ("not_and_not",),
    "soundline.impl.rules.scalars.shifts": ("shl_to_mul",),
}


def described(names: list[str]) -> list[dict[str, Any]]:
    return [
        {"module": "m", "rule": name, "number": 0, "line": 1, "before": "x", "after": "y", "identity": name}
        for name in names
    ]


@pytest.fixture
def obedient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants that do what the name of their rule says."""

    def judged(mutant: RuleMutant) -> dict[str, str]:
        match str(mutant):
            case "spins":
                while True:
                    pass
            case "dies":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "fails":
                raise AssertionError("a mistake")
            case "wrong":
                return {"verdict": rules.WRONGLY_PROVED, "why": "here"}
            case "true":
                return {"verdict": "proved", "why": rules.ANOTHER}
        return {"verdict": f"{mutant} at boolean"}

    monkeypatch.setattr(rules, "judged", judged)
    monkeypatch.setattr(rule_campaign, "_mutants", lambda module, name: [name])


NAMES = ["refuted", "spins", "refused", "dies", "fails", "vacuous", "unknown", "true", "wrong", "refuted"]


@pytest.mark.usefixtures("obedient")
def test_a_mutant_that_hangs_or_kills_costs_itself_alone() -> None:
    with Child(rule_campaign.judged) as child:
        found = [judgement(mutant, child, patience=0.5) for mutant in described(NAMES)]
    assert [found[n].status for n in range(len(NAMES))] == [
        *("killed", "survived", "killed", "survived", "survived"),
        *("killed", "survived", "true", "survived", "killed"),
    ]
    assert found[1].killer == rule_campaign.NO_VERDICT
    assert found[3].killer == rule_campaign.ENDED
    assert "AssertionError: a mistake" in found[4].killer
    assert found[8].killer == "wrongly proved: here"


@pytest.mark.usefixtures("obedient")
def test_what_is_known_is_not_asked_again_and_the_score_counts_what_could_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    original = judgement

    def noted(mutant: dict[str, Any], child: Child, patience: float) -> Any:
        asked.append(mutant["rule"])
        return original(mutant, child, patience)

    monkeypatch.setattr(rules, "describe", lambda module: described(NAMES[:1] + NAMES[5:9]))
    monkeypatch.setattr(rule_campaign, "judgement", noted)
    ledger = Ledger(tmp_path / "ledger.sqlite")
    for _ in range(2):
        campaign = RuleCampaign(["soundline.impl.rules.some"], ledger, Console(quiet=True))
        campaign.run(1.0)
    ledger.close()
    assert asked == ["refuted", "vacuous", "unknown", "true", "wrong"]
    result = campaign.as_json()
    counts = {
        "possible": 5,
        "tried": 5,
        "refuted": 1,
        "says_nothing": 1,
        "no_rule": 0,
        "as_true": 1,
        "undecided": 1,
        "wrongly_proved": 1,
        "score": 0.5,
    }
    assert result["total"] == result["files"]["impl/rules/some.py"] == counts
    assert [s["rule"] for s in result["survivors"]] == ["unknown", "wrong"]
    assert result["equivalent"] == [{"rule": "true", "before": "x", "after": "y", "why": rules.ANOTHER}]


@pytest.mark.usefixtures("obedient")
def test_what_takes_long_comes_last_and_is_asked_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[float, str]] = []
    original = judgement

    def counted(mutant: dict[str, Any], child: Child, patience: float) -> Any:
        asked.append((patience, mutant["rule"]))
        return original(mutant, child, patience)

    monkeypatch.setattr(rules, "describe", lambda module: described(["spins", "refuted"]))
    monkeypatch.setattr(rule_campaign, "judgement", counted)
    monkeypatch.setattr(rule_campaign, "HASTE", 0.2)
    monkeypatch.setattr(rule_campaign, "PATIENCE", 0.4)
    ledger = Ledger(tmp_path / "ledger.sqlite")
    campaign = RuleCampaign(["soundline.impl.rules.some"], ledger, Console(quiet=True))
    campaign.run(0.0)  # no time is left for anything
    assert asked == []
    for _ in range(2):
        campaign = RuleCampaign(["soundline.impl.rules.some"], ledger, Console(quiet=True))
        campaign.run(1.0)
    ledger.close()
    assert asked == [(0.2, "spins"), (0.2, "refuted"), (0.4, "spins")]
    assert campaign.as_json()["total"]["undecided"] == 1


@pytest.mark.parametrize(("module", "names"), SAMPLE.items())
def test_no_mutant_of_these_rules_survives(module: str, names: tuple[str, ...]) -> None:
    mutants = [m for m in rules.describe(module) if m["rule"] in names]
    assert len({m["rule"] for m in mutants}) == len(names)
    with Child(rule_campaign.judged) as child:
        found = [judgement(mutant, child) for mutant in mutants]
    assert [o for o in found if o.status == "survived"] == []
    assert sum(o.status == "killed" for o in found) >= len(found) / 2


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rules, "describe", lambda module: described(["true", "refuted"]))
    monkeypatch.setattr(RuleCampaign, "run", lambda campaign, minutes: None)
    output = tmp_path / "result.json"
    assert main(["--only", "shifts", "--fresh", "--output", str(output)]) == 1
    result = json.loads(output.read_text())
    assert (result["total"]["possible"], result["total"]["tried"], result["total"]["score"]) == (2, 0, None)
    assert str(output) in capsys.readouterr().out


def test_every_shipped_rule_is_mutated() -> None:
    from soundline.impl.rules import LIBRARY

    names = {m["rule"] for module in rule_campaign.modules() for m in rules.describe(module)}
    assert names == {r.id for r in LIBRARY}


# the new forms ----------------------------------------------------------------------------------------------------


def shown(stated: Any) -> set[tuple[str, str]]:
    return {(m.before, m.after) for m in rules.rule_mutants(stated)}


def test_reductions_sets_of_axes_and_parts_of_conditions_are_changed() -> None:
    @rule
    def reduced(x: Tensor, a: Axes, b: Axes):  # type: ignore[no-untyped-def]
        return x.sum(a - b), x.sum(a - b)

    changes = {after for _, after in shown(reduced)}
    assert {"x.max((a - b))", "x.prod((a - b))", "x.sum((b - a))", "x.sum((a & b))", "x.sum(a)"} <= changes

    @rule(dtypes=[bool_])
    def both(p: Bool, q: Bool):  # type: ignore[no-untyped-def]
        given(p & q)
        return p | q, p

    assert {("(p & q)", "p"), ("(p & q)", "q"), ("(p & q)", "(p | q)")} <= shown(both)


def test_classes_of_dtype_variables_are_widened() -> None:
    @rule(dtypes=[int8], s=[int16])
    def cast(x: Value, s: DTypeVar):  # type: ignore[no-untyped-def]
        return x.cast(s).cast(int8), x

    assert ("s as declared", "s and float32") in shown(cast)


# the trial of what was proved ---------------------------------------------------------------------------------------


@rule(dtypes=[index])
def greatest_of_shifted(r: Range["n"], n: Size, f: Body["r"], c: Value):  # type: ignore[no-untyped-def, type-arg, valid-type]  # noqa: F821, UP037
    return max_over(r, f(r) + c), max_over(r, f(r)) + c


@rule(dtypes=[index])
def greatest_of_scaled(r: Range["n"], n: Size, f: Body["r"], c: Value):  # type: ignore[no-untyped-def, type-arg, valid-type]  # noqa: F821, UP037
    return max_over(r, f(r) * c), max_over(r, f(r)) * c


@rule(dtypes=[int8])
def sum_of_same(r: Range["n"], n: Size, x: Value):  # type: ignore[no-untyped-def, type-arg, valid-type]  # noqa: F821, UP037
    return sum_over(r, x), x


@rule
def greatest_of_same(r: Range["n"], n: Size, x: Value):  # type: ignore[no-untyped-def, type-arg, valid-type]  # noqa: F821, UP037
    given(n > 1)
    return max_over(r, x), x


def test_a_trial_chooses_sizes_that_there_are() -> None:
    """Also those of ranges whose sizes no tensor has: a loop of 2^60 iterations would never end."""
    assert difference(greatest_of_same, dtypes_of(greatest_of_same)) is None
    assert difference(sum_of_same, (int8,)) is not None
    assert difference(greatest_of_shifted, (index,)) is None
    shown = difference(greatest_of_scaled, (index,))
    assert shown is not None
    assert "'n': (1,)" in shown or "'n': (2,)" in shown or "'n': (3,)" in shown
