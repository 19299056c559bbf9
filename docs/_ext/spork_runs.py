"""Programs of Spork on these pages: reading one, and what the law and the abstract machine say of it at some sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from soundline.impl.spork import proc_from_text
from soundline.impl.spork.program import SporkProc
from soundline.spec.abstract_machine import check
from soundline.spec.construct_schema import Construct
from soundline.spec.constructs import CONSTRUCTS
from soundline.spec.errors import ProgramError
from soundline.spec.program_types import Control
from soundline.spec.visibility import Policy


class Judged(NamedTuple):
    """What is said of a program."""

    rules: tuple[str, ...]
    """The ids that it breaks: of the error, or of the hazards; none where it is right."""
    text: str
    """The error or the verdict, as it is shown to a user."""
    program: SporkProc | None
    """None where it is not well formed."""


def judged(
    text: str,
    sizes: Mapping[str, int] | None = None,
    policy: Policy = Policy.temporal,
    names: Mapping[str, object] | None = None,
) -> Judged:
    """What is said of a program at given sizes; those that it has no argument for are left out."""
    program = None
    try:
        program = proc_from_text(text, names, file="program")
        wanted = {a.name for a in program.arguments if isinstance(a.type, Control)}
        verdict = check(
            program, {n: value for n, value in (sizes or {}).items() if n in wanted}, policy=policy
        )
    except ProgramError as error:
        return Judged((error.rule or "",), str(error), program)
    return Judged(tuple(f.id for f in verdict.findings), verdict.text(), program)


def example(construct: Construct, text: str) -> Judged:
    """What is said of the example of a construct, or of its twin."""
    names: dict[str, object] = {}
    if construct.calls:
        called = proc_from_text(CONSTRUCTS[construct.calls].example, file="program")
        names[called.name] = called
    return judged(text, construct.sizes, names=names)
