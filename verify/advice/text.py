"""
Advice for people and for programs
==================================

Advice in lines of text, as JSON, and as notes of a SARIF report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from soundline.verify.advice.results import (
    Advice,
    Loop,
    Missing,
    Order,
    RuleAdvice,
    Subsumed,
    TooStrong,
    UnderConvention,
)


def lines_about(advice: RuleAdvice) -> list[str]:
    """What is advised about one rule, line by line."""
    lines = [] if advice.missing is None else list(_missing(advice.missing))
    lines += [line for x in advice.too_strong for line in _too_strong(x)]
    lines += [_subsumed(x) for x in advice.subsumed]
    lines += [_conventions(advice.conventions)] if advice.conventions else []
    return lines + ([advice.note] if advice.note else [])


def _missing(missing: Missing) -> Iterator[str]:
    if not missing.weakest:
        why = f": {missing.note}" if missing.note else ""
        yield (
            f"no condition was found that makes it right{why} "
            f"({missing.literals} literals, {missing.points:,} points, {missing.tried} proposals judged)"
        )
        return
    first, *others = missing.weakest
    yield f"right, and proved, with given({first})"
    yield from (f"  or with given({other})" for other in others)
    if len(missing.weakest) == 1:
        yield "  the weakest that was found"
    else:
        yield "  the weakest that were found; none of them implies another"


def _too_strong(found: TooStrong) -> Iterator[str]:
    example = f"; it then applies to {found.example}" if found.example else ""
    if found.instead:
        yield f"given({found.condition}) asks for more than needed: given({found.instead}) is proved as well{example}"
    else:
        yield f"given({found.condition}) is not needed: the rule is proved without it{example}"


def _subsumed(found: Subsumed) -> str:
    result = "the same result" if found.same else "another form of the same value; it is tried first"
    return f"covered by {found.by} with {found.how}: {result}"


def _conventions(found: Sequence[UnderConvention]) -> str:
    parts = []
    holding = [x.name for x in found if x.verdict == "proved"]
    if holding:
        parts.append(f"holds under {listed(holding)} division")
    for x in found:
        where = f"under {x.name} division{', as stated,' if x.stated else ''}"
        if x.verdict == "refuted":
            parts.append(f"{where} refuted{f' at {x.at}' if x.at else ''}")
        elif x.verdict == "vacuous":
            parts.append(f"{where} it says nothing")
        elif x.verdict != "proved":
            parts.append(f"{where} not decided{f': {x.at}' if x.at else ''}")
    return "; ".join(parts)


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["floor"]), listed(["floor", "truncated", "Euclidean"])
    ('floor', 'floor, truncated and Euclidean')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def lines_about_order(order: Order) -> list[str]:
    """Whether rewriting ends, line by line."""
    if order.note:
        return [order.note]
    lines = []
    if order.rules:
        count, noun = len(order.measures), "rule" if order.rules == 1 else "rules"
        lowered = "a measure" if count == 1 else f"the first of {count} measures that it changes"
        lines.append(f"rewriting with {order.rules} {noun} ends: each application lowers {lowered}")
        lines += [f"  {n}. {text}" for n, text in enumerate(order.measures, 1)]
    for late, name, early in order.first:
        lines.append(f"  {name} of {late} is no constant: {early} comes first and takes those")
    for loop in order.loops:
        lines += _loop(loop)
    if order.unread:
        lines.append(f"no measure speaks of what stands in {', '.join(order.unread)}")
    return lines


def _loop(loop: Loop) -> Iterator[str]:
    yield f"no decreasing order was found for {', '.join(loop.rules)}"
    for term, rule in loop.steps:
        yield f"  {term}"
        yield f"    → by {rule}"
    yield f"  {loop.text}"


def as_json(advice: Advice) -> dict[str, Any]:
    """The advice as JSON data."""
    return {
        "rules": [asdict(a) for a in advice.rules if not a.is_empty],
        "order": None if advice.order is None else asdict(advice.order),
    }


def notes(advice: Advice) -> Iterator[tuple[str, str, int, str]]:
    """Advice as notes beside rules: (rule id, file, line, text)."""
    places = {a.id: a for a in advice.rules}
    for about in advice.rules:
        if not about.is_empty:
            yield about.id, about.file, about.line, "\n".join(lines_about(about))
    for loop in () if advice.order is None else advice.order.loops:
        first = next((places[name] for name in loop.rules if name in places), None)
        if first is not None:
            yield first.id, first.file, first.line, "\n".join(_loop(loop))
