"""Which cases of a long corpus `make test` runs.

A corpus has families: its cases of one operator, say, or those with one kind of mistake. `make test` runs a few of each
family. The others carry the marker `thorough`, and `make test-rest` runs them. A case may be of many families: it stays
in `make test` if one of them still wants it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import subterms

Families = Callable[..., Iterable[Hashable]]
"""The families of a case, from the values of its parameters."""


def of_each_family(
    cases: Iterable[Any], families: Families, *, n: int = 1, costly: Callable[..., bool] = lambda *case: False
) -> list[ParameterSet]:
    """The cases in their order; those beyond the first `n` of all of their families are marked as thorough.

    A case with several parameters, or with an id, is given as a ``pytest.param``. Costly ones come after the others.
    """
    found, kept = [_parameters(case) for case in cases], Counter[Hashable]()
    for k in sorted(range(len(found)), key=lambda k: costly(*found[k].values)):
        names = set(families(*found[k].values))
        assert names, f"{found[k].values} is of no family"
        if all(kept[name] >= n for name in names):
            found[k] = thorough(found[k])
        else:
            kept.update(names)
    return found


def words_of(rule: Rule) -> set[str]:
    """The ops and the words of the rule language that a rule uses: its families, where there are no others."""
    return {str(term.head) for side in (rule.left, rule.right, *rule.given) for term in subterms(side)}


def of_each_word(rules: Iterable[Rule], *, n: int = 1) -> list[ParameterSet]:
    """Rules under their ids, the first `n` with each op and each word for `make test`."""
    return of_each_family([pytest.param(rule, id=rule.id) for rule in rules], words_of, n=n)


def one_in(step: int, cases: Iterable[Any]) -> list[ParameterSet]:
    """The cases in their order; all but the first of every `step` are marked as thorough.

    For corpora without families: sizes, seeds, or parts of one weight.
    """
    return [thorough(c) if k % step else c for k, c in enumerate(map(_parameters, cases))]


def thorough(*case: Any) -> ParameterSet:
    """A case that is left to `make test-rest`, from the values of its parameters."""
    given = case[0] if isinstance(case[0], ParameterSet) else pytest.param(*case)
    return pytest.param(*given.values, id=given.id, marks=[*given.marks, pytest.mark.thorough])


def _parameters(case: Any) -> ParameterSet:
    return case if isinstance(case, ParameterSet) else pytest.param(case)


def is_thorough(case: ParameterSet) -> bool:
    """Whether a case is left to `make test-rest`."""
    return any(mark.name == "thorough" for mark in case.marks)
