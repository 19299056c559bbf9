"""Rules and bugs that compilers have a history with: each right one is proved, each wrong one refuted, none unknown.

They are stated in `rule_histories`, by subject, from what the guide for users says of the language alone.
"""

from __future__ import annotations

from importlib import import_module

import pytest

from soundline.verify.judging.judge import prove_layer
from soundline.verify.verdicts.layers import layers_of

from ..representative import of_each_family, words_of  # noqa: TID252
from .rule_histories import SUBJECTS
from .rule_histories.form import Histories, History

FOUND: dict[str, Histories] = {
    subject: import_module(f".rule_histories.{subject}", __package__).HISTORIES for subject in SUBJECTS
}
SUBJECT_OF = {h: subject for subject, stated in FOUND.items() for h in stated}
COSTLY = (
    "logarithm_of_an_exponential",
    "exponential_of_a_logarithm",
    "exponential_of_a_logarithm_backwards",
    "hyperbolic_tangent",
    "quotient_by_a_wrapped_product",
    "wrapped_multiple_leaves_the_remainder",
)
"""Rules that take a third of the whole corpus's time."""
CASES = of_each_family(
    [pytest.param(h, id=f"{subject}:{h.rule.id}") for h, subject in SUBJECT_OF.items()],
    lambda h: {(word, h.verdict, bool(h.but)) for word in (SUBJECT_OF[h], *words_of(h.rule))},
    costly=lambda h: h.rule.id in COSTLY,
)
"""One of every verdict in each subject, and with each op, is in `make test`."""


def test_counts():
    """Of every subject there are right rules, wrong ones, and rules that say nothing; and no name twice."""
    for stated in FOUND.values():
        assert {h.verdict for h in stated} == {"proved", "refuted", "vacuous"}
        assert len({h.rule.id for h in stated}) == len(stated)
        assert all(h.rule.doc for h in stated)
    assert sum(map(len, FOUND.values())) >= 400


@pytest.mark.parametrize("history", CASES)
def test_verdicts(history: History):
    expected = history.verdicts
    found = {name: prove_layer(history.rule, dtype, derive=False) for name, dtype in layers_of(history.rule)}
    assert {name: layer.verdict for name, layer in found.items()} == expected
    for layer in found.values():
        assert (layer.counterexample is not None) == (layer.verdict == "refuted")
