"""Programs of Spork on these pages: reading one, and what the law and the abstract machine say of it at some sizes."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Mapping
from typing import NamedTuple

from citations import ROOT

from soundline.impl.spork import proc_from_text
from soundline.impl.spork.program import SporkProc
from soundline.spec.abstract_machine import check
from soundline.spec.errors import ProgramError
from soundline.spec.spork.constructs.schema import Construct
from soundline.spec.spork.constructs.table import CONSTRUCTS
from soundline.spec.spork.language.types import Control
from soundline.spec.spork.synchronization.visibility import Policy


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


KERNEL = ROOT / "examples" / "spork" / "gemm_sm90_ring.py"
CHANGES = {
    "Without the fence at the start of a block of wgmma, registers are read in order and then used by wgmma "
    "without synchronization.": ("Fence(wgmma_fence_1, wgmma_fence_2)", "pass"),
    "With a reverse lag that is too long by one, TMA overwrites a slot that is still being read.": (
        "~RING",
        "~(RING + 1)",
    ),
}
"""Twins of the kernel, by what is said of them: a text, and what takes its place."""


class Twin(NamedTuple):
    """A kernel that is changed in one place."""

    said: str
    old: str
    new: str
    judged: Judged


def kernel() -> tuple[str, Judged, list[Twin]]:
    """The text of an example, what is said of it, and its twins."""
    module = runpy.run_path(str(KERNEL))
    source = KERNEL.read_text()
    function = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == "gemm")
    text = ast.get_source_segment(source, function) or ""

    def said(program: str) -> Judged:
        return judged(program, module["SIZES"], names=module)

    twins = [Twin(why, *change, said(text.replace(*change))) for why, change in CHANGES.items()]
    return text, said(text), twins
