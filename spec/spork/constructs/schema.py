"""
The entry of a construct
========================

The form of an entry in the table of the constructs of Spork: how it is written, what it means in each of the four
readings of a program, the laws that apply to it, a program that uses it, and a variant of that program that is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Literal

Group = Literal["program", "statement", "loop", "block", "storage", "synchronization", "call"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Construct:
    """A construct of the language."""

    slug: str
    title: str
    group: Group
    section: str
    """The section of the guide that it comes from."""
    form: str
    """How it is written; names in capitals stand for parts."""
    prose: str
    sequential: str
    """What it does to values, in the sequential reading."""
    machine: str
    """What it does to visibility records, in the abstract machine."""
    parallel: str
    """What the threads do, in the parallel reading."""
    lowering: str
    """What it becomes in CUDA."""
    laws: tuple[str, ...]
    """Ids of the conditions that it is under."""
    example: str
    """A program that keeps the static law and has no hazards."""
    wrong: str
    """A twin that is refused, or has a hazard."""
    breaks: str
    """The id that the twin breaks."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """The sizes at which both are run on the abstract machine."""
    calls: str = ""
    """The construct whose example the example calls."""


def program(text: str) -> str:
    """The text of a program or form, without the indentation that it has in the table."""
    return dedent(text).strip("\n")
