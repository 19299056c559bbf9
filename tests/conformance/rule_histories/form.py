"""How a history is stated: a rule, the verdict that it deserves, and in its docstring where it is known.

`right` is proved at every layer, `vacuous` says nothing at any, and `wrong` is refuted at every layer but those of the
dtypes in `but`, at which it is proved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from soundline.spec.dtypes import DType
from soundline.spec.rules.language import Rule
from soundline.verify import rule, where
from soundline.verify.verdicts.layers import layers_of


@dataclass(frozen=True)
class History:
    """A rule and what is to be said of it."""

    rule: Rule
    verdict: str
    but: tuple[DType, ...] = ()
    """The dtypes at which a wrong rule is proved nevertheless."""

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict of every layer, by its name."""
        return {name: "proved" if dtype in self.but else self.verdict for name, dtype in layers_of(self.rule)}


class Histories(list[History]):
    """The histories of one subject, in the order in which they are stated."""

    def right(self, **options: Any) -> Callable[[Any], Rule]:
        """A rule that holds wherever it has an instance."""
        return lambda f: self._stated(f, "proved", (), options)

    def wrong(self, *, but: Sequence[DType] = (), **options: Any) -> Callable[[Any], Rule]:
        """A rule that holds at the dtypes in `but` alone."""
        return lambda f: self._stated(f, "refuted", tuple(but), options)

    def vacuous(self, **options: Any) -> Callable[[Any], Rule]:
        """A rule that says nothing."""
        return lambda f: self._stated(f, "vacuous", (), options)

    def _stated(self, function: Any, verdict: str, but: tuple[DType, ...], options: dict[str, Any]) -> Rule:
        stated: Rule = rule(**options)(function)
        self.append(History(stated, verdict, but))
        return stated


def minimum(a: Any, b: Any) -> Any:
    """The lesser of two numbers, as a choice."""
    return where(a < b, a, b)


def absolute(x: Any) -> Any:
    """The magnitude of a number, as a choice."""
    return where(x < 0, -x, x)
