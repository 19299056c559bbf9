"""
Conditions of a rule
====================

What the conditions of a rule say at every rank, taken apart: which of them are demanded as they stand, which flags are
set on every axis or on none, and which conditions speak of permutations alone.
"""

from __future__ import annotations

from typing import Any

from soundline.spec.rules.language import Rule
from soundline.spec.rules.terms import Perm, Term, conjuncts, show, subterms


def stated(rule: Rule) -> list[Term]:
    """The conditions of a rule, each of which must hold: what is joined by and is taken apart."""
    return list(conjuncts(*rule.given))


def compares_permutations(condition: Term) -> bool:
    """Whether a condition speaks of permutations as such."""
    return any(
        t.head == "is_identity" or (t.head == "same" and isinstance(t.args[0], Perm))
        for t in subterms(condition)
    )


class Uniform:
    """Which flags are known to be set on every axis, or on none."""

    def __init__(self, rule: Rule) -> None:
        self._known: dict[str, bool] = {}
        for condition in stated(rule):
            if condition.head == "no_flags":
                self._know(condition.args[0], False)

    def _know(self, flags: Term, value: bool) -> None:
        head, args = flags.head, flags.args
        if head == "not":
            self._know(args[0], not value)
            return
        self._known[show(flags)] = value
        is_of_each = head == ("and" if value else "or")
        if is_of_each or (head in ("and", "or") and show(args[0]) == show(args[1])):
            for part in args:
                self._know(part, value)

    def of(self, flags: Any) -> bool | None:
        """Whether flags are set everywhere or nowhere; None where that is not known."""
        if not isinstance(flags, Term):
            return None
        if flags.head == "not":
            inside = self.of(flags.args[0])
            return None if inside is None else not inside
        return self._known.get(show(flags))
