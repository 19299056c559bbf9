"""A variable that stands on the right side alone: judged for any value of it, and applied by nobody."""

from __future__ import annotations

import pytest

from soundline.impl.matching.matcher import patterns_of
from soundline.spec.errors import RuleError
from soundline.verify import Value, int32, rule
from soundline.verify.judging.judge import prove


@rule(dtypes=[int32])
def adds_and_takes_away(x: Value, y: Value):
    return x + 0, x + y - y


@rule(dtypes=[int32])
def adds(x: Value, y: Value):
    return x + 0, x + y


def test_it_is_judged_for_any_value() -> None:
    assert prove(adds_and_takes_away).verdict == "proved"
    assert prove(adds).verdict == "refuted"


def test_the_engine_refuses_it_by_name() -> None:
    with pytest.raises(RuleError, match="does not determine y"):
        patterns_of(adds_and_takes_away)
