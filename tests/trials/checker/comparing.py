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


def differences(proc: Proc, sizes: Mapping[str, int], policy: Policy = Policy.temporal) -> list[str]:
    """What the fast checker says otherwise than the literal machine, with and without what it skips."""
    wanted = said(literal, proc, sizes, policy=policy)
    found = []
    for skips in (True, False):
        told = said(fast, proc, sizes, policy=policy, skips=skips)
        if told != wanted:
            how = "with skips" if skips else "run out"
            found.append(f"{how}: {_text(wanted)}\n-- is said to be --\n{_text(told)}")
    return found


def _text(said: Said) -> str:
    return said if isinstance(said, str) else said.text()
