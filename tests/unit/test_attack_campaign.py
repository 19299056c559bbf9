"""The campaign against the prover: one that lies is caught, one that dawdles is left, and nothing is done twice."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rich.console import Console
from trials.attack import campaign as trial
from trials.attack.campaign import (
    LATE,
    MISSED,
    NO_RULE,
    WRONGLY_PROVED,
    campaign,
    main,
    totals,
    tried,
)
from trials.attack.inputs import difference
from trials.attack.random_rules import random_rule
from trials.ledger import Entry, Ledger

from soundline.spec.dtypes import float16, int8
from soundline.spec.errors import RuleError
from soundline.spec.rules.language import Rule, fits, forall, given, rule
from soundline.spec.rules.terms import Const, Value
from soundline.verify.judging.judge import prove_layer
from soundline.verify.verdicts.verdict import LayerResult


def lying(stated: Rule, dtype: Any) -> LayerResult:
    return replace(prove_layer(stated, dtype, derive=False), verdict="proved")


def giving_up(stated: Rule, dtype: Any) -> LayerResult:
    return replace(prove_layer(stated, dtype, derive=False), verdict="unknown")


def dawdling(_stated: Rule, _dtype: Any) -> LayerResult:
    while True:
        pass


@pytest.fixture(scope="module")
def refuted() -> int:
    return next(n for n in range(2004, 2040) if tried(n).outcome == "refuted")


def test_what_is_wrongly_proved_is_shown_with_its_inputs(refuted: int) -> None:
    entry = tried(refuted, lying)
    assert entry.outcome == WRONGLY_PROVED
    assert str(random_rule(refuted)) in entry.reason
    assert tried(refuted, giving_up).outcome == MISSED


def test_a_prover_that_does_not_end_is_left(refuted: int) -> None:
    assert tried(refuted, dawdling, patience=0.2).outcome == LATE


def test_a_prover_that_catches_every_mistake_is_left_too(refuted: int) -> None:
    def catching(stated: Rule, dtype: Any) -> LayerResult:
        try:
            return dawdling(stated, dtype)
        except Exception:  # as a prover does that tells its mistakes as unknown
            return giving_up(stated, dtype)

    assert tried(refuted, catching, patience=0.2).outcome == LATE


def test_a_prover_in_which_a_mistake_is_lost_is_left_too(refuted: int) -> None:
    def losing(stated: Rule, dtype: Any) -> LayerResult:
        try:
            return dawdling(stated, dtype)
        except BaseException:  # as Python does where an object dies
            return dawdling(stated, dtype)

    assert tried(refuted, losing, patience=0.2).outcome == LATE


def test_a_rule_of_which_no_instance_is_found_in_time_is_none(
    refuted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "layers_of", lambda stated: dawdling(stated, None))
    assert tried(refuted, giving_up, patience=0.2).outcome == NO_RULE


def test_inputs_for_which_an_op_wraps_are_none_where_that_is_excluded() -> None:
    def stated(*conditions: Callable[[Any, Any], Any]) -> Rule:
        def sides() -> Any:
            x, c = forall(Value, "x"), forall(Const, "c")
            given(c > 0, *(condition(x, c) for condition in conditions))
            return (x * c) // c, x

        return rule(dtypes=[int8], id="drawn")(sides)

    assert difference(stated(), int8, Random(1))
    assert not difference(stated(lambda x, c: fits(x * c)), int8, Random(1))
    assert not difference(stated(lambda x, c: fits(x * c + 1 - 1)), int8, Random(1))


@pytest.mark.parametrize(
    ("licences", "zero", "differs"),
    [((), 0.0, True), ("no_signed_zero", 0.0, False), ("no_signed_zero", 1.0, True), ("no_nan", 0.0, True)],
)
def test_what_a_licence_tells_apart_is_told_apart(licences: Any, zero: float, differs: bool) -> None:
    def sides() -> Any:
        x = forall(Value, "x")
        return x, x + zero

    assert (
        bool(difference(rule(dtypes=[float16], licences=licences, id="drawn")(sides), float16, Random(1)))
        == differs
    )


def test_what_is_invalid_and_not_chosen_stops_no_campaign() -> None:
    entry = tried(92)  # a gather in a choice, where NaN is promised not to be
    assert entry.outcome in ("proved", "refuted", "unknown")


def test_a_rule_of_which_a_later_instance_is_ill_typed_is_no_rule(refuted: int) -> None:
    def refusing(stated: Rule, dtype: Any) -> LayerResult:
        raise RuleError("ill-typed at some rank")

    assert tried(refuted, refusing).outcome == NO_RULE


def test_what_is_no_rule_is_not_asked_about() -> None:
    number = next(n for n in range(500) if random_rule(n) is None)
    assert tried(number, dawdling, patience=0.2).outcome == NO_RULE


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    kept = Ledger(tmp_path / "ledger.sqlite")
    yield kept
    kept.close()


def test_no_rule_is_tried_twice(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def noted(number: int) -> Entry:
        asked.append(number)
        return Entry(number, "rule", outcome=WRONGLY_PROVED if number == 3 else "proved", reason="shown")

    monkeypatch.setattr(trial, "tried", noted)
    silent = Console(quiet=True)
    assert [e.seed for e in campaign(ledger, 1.0, silent, most=25)] == [3]
    assert campaign(ledger, 1.0, silent, most=5) == []
    assert asked == list(range(30))
    found = totals(ledger)
    assert found["rules"] == {"total": 30, "proved": 29, WRONGLY_PROVED: 1}
    assert found["wrongly_proved"] == [{"number": 3, "shown": "shown"}]


def test_the_exit_code_says_whether_a_rule_was_wrongly_proved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOUNDLINE_CACHE_DIR", str(tmp_path / "cache"))
    outcome = "proved"
    monkeypatch.setattr(trial, "tried", lambda number: Entry(number, "rule", outcome=outcome))
    kept = tmp_path / "attack.json"
    assert main(["--minutes", "0.001", "--output", str(kept)]) == 0
    outcome = WRONGLY_PROVED
    assert main(["--minutes", "0.001", "--output", str(kept)]) == 1
    assert json.loads(kept.read_text())["wrongly_proved"]
    assert main(["--number", "5"]) == 1
    assert str(random_rule(5)) in capsys.readouterr().out


def test_the_page_shows_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "docs" / "_ext"))
    pages = importlib.import_module("attack_pages")
    kept = tmp_path / "attack.json"
    monkeypatch.setattr(pages, "RESULT", kept)
    assert "No result" in pages.attack()
    wrong = [{"number": 3, "shown": "x → y at int8: x = 1"}]
    kept.write_text(
        json.dumps(
            {"rules": {"total": 5, "proved": 4, WRONGLY_PROVED: 1}, "wrongly_proved": wrong, "missed": []}
        )
    )
    text = pages.attack()
    assert "Of 5 random rules 4 were proved, and inputs against 1 of these were found" in text
    assert "``x → y at int8: x = 1``" in text
    kept.write_text(json.dumps({"rules": {"total": 5, "proved": 5}, "wrongly_proved": [], "missed": []}))
    assert "against none of these" in pages.attack()
