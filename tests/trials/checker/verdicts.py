"""
Two verdicts on a program
=========================

What the fast checker and the literal machine say of a program, and where they differ: in anything that a verdict says.
Only of the events around a hazard of a queue the fast checker has no more than the last arrives and awaits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from soundline.impl.spork.checker.checking import check as fast
from soundline.spec.abstract_machine import Verdict
from soundline.spec.abstract_machine import check as literal
from soundline.spec.errors import SoundlineError
from soundline.spec.spork.diagnosis.reports import Finding
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.synchronization.visibility import Policy

Said = Verdict | SoundlineError


def verdicts(
    proc: Proc, sizes: Mapping[str, int | bool], policy: Policy = Policy.temporal
) -> tuple[Said, Said]:
    """What the fast checker says of a program, and what the literal machine does."""
    return _said(fast, proc, sizes, policy), _said(literal, proc, sizes, policy)


def _said(check: Callable[..., Verdict], proc: Proc, sizes: Mapping[str, int | bool], policy: Policy) -> Said:
    try:
        return check(proc, sizes, policy=policy)
    except SoundlineError as error:
        return error


def compare(proc: Proc, sizes: Mapping[str, int | bool], policy: Policy = Policy.temporal) -> list[str]:
    """Where the two differ."""
    return differences(*verdicts(proc, sizes, policy))


def differences(one: Said, other: Said) -> list[str]:
    """Where two verdicts differ."""
    if not isinstance(one, Verdict) or not isinstance(other, Verdict):
        same = type(one) is type(other) and str(one) == str(other)
        return [] if same else [f"{_short(one)} and {_short(other)}"]
    found = []
    if (one.events, one.accesses) != (other.events, other.accesses):
        found.append(f"{one.events}, {one.accesses} and {other.events}, {other.accesses} events and accesses")
    if len(one.findings) != len(other.findings):
        found.append(f"{_short(one)} and {_short(other)}")
    for a, b in zip(one.findings, other.findings, strict=False):
        found += _of_findings(a, b)
    return found


def _of_findings(one: Finding, other: Finding) -> list[str]:
    """Where two findings differ."""
    left_out = {"around"} if other.earlier is None else set()
    return [
        f"{other.id}: {f.name} is {_cut(getattr(one, f.name))} and {_cut(getattr(other, f.name))}"
        for f in fields(Finding)
        if f.name not in left_out and getattr(one, f.name) != getattr(other, f.name)
    ]


def _short(said: Said) -> str:
    return str([(f.id, f.count) for f in said.findings]) if isinstance(said, Verdict) else repr(said)


def _cut(said: Any) -> str:
    return repr(said)[:300]
