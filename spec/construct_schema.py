"""
What is said of a construct
===========================

The form of an entry in the table of the constructs of Spork: how it is written, what it means in each of the four
readings of a program, the laws that it is under, and a program that uses it.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    """A program that passes the static law."""
