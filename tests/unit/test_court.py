"""The road learns what has been proved, and nothing that has not."""

from __future__ import annotations

import pytest

import soundline as sl
from soundline.impl import evidence
from soundline.spec.dtypes import int8, int16, int32
from soundline.verify import Value, rule
from soundline.verify.engine.evidence import CachedCourt, keys_of, shipped
from soundline.verify.verdicts.cache import Cache, Key
from soundline.verify.verdicts.effort import BUDGETS
from soundline.verify.verdicts.layers import layers_of
from soundline.verify.verdicts.sameness import structure
from soundline.verify.verdicts.verdict import LayerResult


@rule(dtypes=[int8, int16])
def add_zero_for_the_court(x: Value):
    return x + 0, x


STATED = add_zero_for_the_court
KEYS = tuple(
    (name, Key(structure(STATED), name, dtype.name, STATED.id, 0)) for name, dtype in layers_of(STATED)
)


@pytest.fixture
def court(tmp_path):
    return CachedCourt(Cache(tmp_path), lambda rule_id: {STATED.id: KEYS}[rule_id])


def judge(court: CachedCourt, *verdicts: str) -> evidence.Ruling:
    for (name, key), verdict in zip(KEYS, verdicts, strict=False):
        court.cached.put(key, BUDGETS["normal"], LayerResult(name, verdict, "everything"))
    return court.ruling(STATED.id)


def test_a_rule_that_was_never_judged_is_not_checked(court) -> None:
    assert court.ruling(STATED.id).verdict == evidence.NOT_CHECKED


def test_an_unknown_rule_is_not_checked(court) -> None:
    assert court.ruling("no such rule").verdict == evidence.NOT_CHECKED


def test_one_open_layer_keeps_a_rule_from_being_proved(court) -> None:
    ruling = judge(court, "proved")
    assert ruling.verdict == evidence.NOT_CHECKED
    assert dict(ruling.layers) == {"bit-precise int8": "proved", "bit-precise int16": evidence.NOT_CHECKED}


@pytest.mark.parametrize(
    ("verdicts", "ruling"),
    [
        (("proved", "proved"), "proved"),
        (("proved", "unknown"), "unknown"),
        (("proved", "vacuous"), "vacuous"),
        (("refuted",), "refuted"),
        (("proved", "refuted"), "refuted"),
    ],
)
def test_the_ruling_is_the_verdict_of_all_layers(court, verdicts, ruling: str) -> None:
    assert judge(court, *verdicts).verdict == ruling


def test_every_shipped_rule_has_layers_to_judge() -> None:
    assert len(shipped()) >= 60
    for rule_id in list(shipped())[::20]:
        assert keys_of(rule_id)


def test_the_front_door_plugs_the_court_in() -> None:
    """A certificate says what the cache says of each rule; the front door alone brings the two together."""
    some = next(iter(shipped()))
    assert evidence.ruling(some) == CachedCourt().ruling(some)
    assert dict(evidence.ruling(some).layers).keys() == dict(keys_of(some)).keys()
    program = sl.compile(lambda x: x + 0, sl.Tensor([1, 2], dtype=int32))
    assert program.certificate.rules
    assert all(r.ruling == CachedCourt().ruling(r.id) for r in program.certificate.rules)
