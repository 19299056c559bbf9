"""
Two machines, one verdict
=========================

The fast checker and the literal machine on the same program: the same error, or the same events, accesses and findings
in the same order, each with its count, its statements, its places and what was known of the earlier access. What is
skipped makes no difference to that. It does to what is advised: of a run of which repetitions were counted there are
fewer synchronizations between two accesses, and another one may be the nearest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from soundline.impl.spork.checker.checking import check as fast
from soundline.spec.abstract_machine import Verdict
from soundline.spec.abstract_machine import check as literal
from soundline.spec.errors import SoundlineError
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.synchronization.visibility import Policy

Said = Verdict | str


def said(checker: Any, proc: Proc, sizes: Mapping[str, int], **how: Any) -> Said:
    """What a checker says: a verdict without advice and what is shown around hazards, or an error as text."""
    try:
        verdict: Verdict = checker(proc, sizes, **how)
    except SoundlineError as error:
        return f"{type(error).__name__} {error}"
    bare = (replace(f, around=(), nearest=None, fix=None) for f in verdict.findings)
    return replace(verdict, findings=tuple(bare))


def differences(
    proc: Proc, sizes: Mapping[str, int], policy: Policy = Policy.temporal, *, run_out: bool = True
) -> list[str]:
    """What the fast checker says otherwise than the literal machine: with what it skips, and, to `run_out`, without."""
    return compared(proc, sizes, policy, run_out=run_out)[1]


def compared(
    proc: Proc, sizes: Mapping[str, int], policy: Policy, *, run_out: bool
) -> tuple[Said, list[str]]:
    """What the literal machine says, and what the fast checker says otherwise."""
    wanted = said(literal, proc, sizes, policy=policy)
    found = []
    for skips in (True, False) if run_out else (True,):
        told = said(fast, proc, sizes, policy=policy, skips=skips)
        if told != wanted:
            how = "with skips" if skips else "run out"
            found.append(f"{how}: {_text(wanted)}\n-- is said to be --\n{_text(told)}")
    return wanted, found


def _text(said: Said) -> str:
    return said if isinstance(said, str) else said.text()
