"""
Two verdicts on a program
=========================

What the fast checker and the literal machine say of a program, and where they differ: in anything that a verdict says.
Only of the events around a hazard of a queue the fast checker has no more than the last arrives and awaits, and it
numbers the events around a hazard as they ran, without those that were only counted. Of a run of which repetitions were
counted there are fewer synchronizations between two accesses, so that another one may be the nearest: then what is
advised is not compared. Nor is what would mend a hazard where the second pass begins behind an await that the law would
move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import fields, replace
from typing import Any

from soundline.impl.spork.checker.checking import check as fast
from soundline.spec.abstract_machine import Verdict
from soundline.spec.abstract_machine import check as literal
from soundline.spec.errors import SoundlineError
from soundline.spec.spork.diagnosis.reports import Finding
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.synchronization.visibility import Policy

Said = Verdict | SoundlineError
ADVICE = frozenset({"around", "nearest", "fix"})
"""What a finding says beside the two accesses and what was known."""


def verdicts(
    proc: Proc, sizes: Mapping[str, int | bool], policy: Policy = Policy.temporal, *, skips: bool = True
) -> tuple[Said, Said]:
    """What the fast checker says of a program, and what the literal machine does."""
    return _said(fast, proc, sizes, policy=policy, skips=skips), _said(literal, proc, sizes, policy=policy)


def _said(check: Callable[..., Verdict], *given: Any, **how: Any) -> Said:
    try:
        return check(*given, **how)
    except SoundlineError as error:
        return error


def compare(proc: Proc, sizes: Mapping[str, int | bool], policy: Policy = Policy.temporal) -> list[str]:
    """Where the two differ."""
    return differences(*verdicts(proc, sizes, policy))


def compared(
    proc: Proc, sizes: Mapping[str, int | bool], policy: Policy, *, run_out: bool = True
) -> tuple[Said, list[str]]:
    """What the literal machine says, and where the fast checker differs: with what it skips, but for advice, and to
    `run_out` without, but for suggestions.
    """
    fast_says, wanted = verdicts(proc, sizes, policy)
    found = [f"with skips: {text}" for text in differences(fast_says, wanted, but=ADVICE)]
    if run_out:
        whole = _said(fast, proc, sizes, policy=policy, skips=False)
        found += [f"run out: {text}" for text in differences(whole, wanted, but={"fix"})]
    return wanted, found


def differences(one: Said, other: Said, *, but: Set[str] = frozenset()) -> list[str]:
    """Where two verdicts differ, but for some parts of findings."""
    if not isinstance(one, Verdict) or not isinstance(other, Verdict):
        same = type(one) is type(other) and str(one) == str(other)
        return [] if same else [f"{_short(one)} and {_short(other)}"]
    found = []
    if (one.events, one.accesses) != (other.events, other.accesses):
        found.append(f"{one.events}, {one.accesses} and {other.events}, {other.accesses} events and accesses")
    if len(one.findings) != len(other.findings):
        found.append(f"{_short(one)} and {_short(other)}")
    for a, b in zip(one.findings, other.findings, strict=False):
        found += _of_findings(a, b, but)
    return found


def _of_findings(one: Finding, other: Finding, but: Set[str]) -> list[str]:
    """Where two findings differ."""
    names = [f.name for f in fields(Finding) if f.name not in {"around", *but}]
    found = [
        f"{other.id}: {name} is {_cut(getattr(one, name))} and {_cut(getattr(other, name))}"
        for name in names
        if getattr(one, name) != getattr(other, name)
    ]
    if "around" not in but and other.earlier is not None and _around(one) != _around(other):
        found.append(f"{other.id}: around it is {_cut(_around(one))} and {_cut(_around(other))}")
    return found


def _around(finding: Finding) -> list[Any]:
    """The events around a hazard, numbered among themselves."""
    numbers = {event.number: k for k, event in enumerate(finding.around)}
    return [
        replace(event, number=k, waits_for=None if event.waits_for is None else numbers[event.waits_for])
        for k, event in enumerate(finding.around)
    ]


def _short(said: Said) -> str:
    return str([(f.id, f.count) for f in said.findings]) if isinstance(said, Verdict) else repr(said)


def _cut(said: Any) -> str:
    return repr(said)[:300]
