"""
Conditions in words
===================

Conditions as they are written inside ``given(…)``, so that proposals can be pasted.
"""

from __future__ import annotations

from collections.abc import Iterable

from soundline.spec.rules.terms import Term, show


def condition_text(condition: Term) -> str:
    """A condition as it is written: without the parentheses that only separate it from neighbours.

    >>> from soundline.spec.rules.language import fits
    >>> from soundline.spec.rules.terms import Value
    >>> x = Value("var", ("x",))
    >>> condition_text(fits(x * 2)), condition_text(x > 0), condition_text((x > 0) | (x < -1))
    ('fits(x * 2)', 'x > 0', '(x > 0) | (x < -1)')
    """
    if condition.head in ("fits", "no_flags", "one_axis", "is_identity"):
        return f"{condition.head}({bare(show(condition.args[0]))})"
    return bare(show(condition))


def bare(text: str) -> str:
    """A text without a pair of parentheses around all of it."""
    if not text.startswith("(") or not text.endswith(")"):
        return text
    depth = 0
    for k, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and k < len(text) - 1:
            return text
    return text[1:-1]


def given_text(conditions: Iterable[Term]) -> str:
    """Conditions as the statement that adds them to a rule."""
    return f"given({', '.join(condition_text(c) for c in conditions)})"
