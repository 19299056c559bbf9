"""
Machines
========

Which machine gives the verdict on a program: the fast one, which is as good as the law and quick enough for real sizes,
or the literal one, which is the law. Without a C compiler there is only the literal one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from soundline.impl.collecting import collection_paused
from soundline.impl.spork.checker import checking, redundancy
from soundline.impl.spork.checker.checking import Sizes
from soundline.impl.spork.checker.engine import Progress
from soundline.spec import abstract_machine
from soundline.spec.abstract_machine import Verdict
from soundline.spec.errors import ToolchainError, UsageError
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.synchronization.visibility import Policy

MACHINES: Final = ("fast", "literal")

Told = Callable[[str], object]
"""Is told what is other than was asked for."""


def judged(
    proc: Proc,
    sizes: Sizes,
    *,
    machine: str = "fast",
    policy: Policy = Policy.temporal,
    redundant: bool = False,
    budget: int | None = None,
    progress: Progress | None = None,
    told: Told | None = None,
) -> Verdict:
    """The verdict on a program at given sizes, by the machine that is asked for. With `redundant` it says which
    synchronizations the program does not need (`redundancy`). `budget` and `progress` are the fast machine's
    (`checking.check`).
    """
    if machine not in MACHINES:
        raise UsageError(f"there is no machine {machine!r}", hint=f"one of {', '.join(MACHINES)}")
    with collection_paused():  # what threads see of each other is much, and in no cycles
        if machine == "literal":
            return _literal(proc, sizes, policy, redundant=redundant, budget=budget)
        try:
            found = checking.check(proc, sizes, policy=policy, budget=budget, progress=progress)
            if not redundant or not found.ok:
                return found
            notes = redundancy.redundant(proc, sizes, policy, budget=budget, progress=progress)
            return replace(found, redundant=notes)
        except ToolchainError as error:
            if redundant or budget is not None:
                raise
            if told is not None:
                told(f"the literal machine checks, which is slow: {error.message}")
            return _literal(proc, sizes, policy)


def _literal(
    proc: Proc, sizes: Sizes, policy: Policy, *, redundant: bool = False, budget: int | None = None
) -> Verdict:
    if redundant or budget is not None:
        what = "which synchronizations are redundant" if redundant else "how much memory a check needs"
        raise UsageError(f"only the fast machine says {what}", hint="leave out the literal machine")
    return abstract_machine.check(proc, sizes, policy=policy)
