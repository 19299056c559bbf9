"""How a bug is written down.

A bug is one program, in its fixed form, whose comments say how it was before:

- ``STATEMENT  # was missing``: the statement was not there;
- ``STATEMENT  # was: OTHER``: another one stood in its place;
- ``# was here: STATEMENT``: this one stood there, and does no more;
- ``# mach-read-raw``, at the end of a line: here the program is flagged as it was, with this id.

The programs are our own, and are as small as the mistake allows: they say what went wrong, and not what the kernel did.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent, indent

from soundline.spec.spork.synchronization.visibility import Policy

_ID = re.compile(r"\s+# ([a-z]+(?:-[a-z0-9]+)+)$")
_WAS = re.compile(r"^( *)\S.*?  # was: (.*)$")
_HERE = re.compile(r"^( *)# was here: (.*)$")


@dataclass(frozen=True, kw_only=True)
class Bug:
    """A synchronization bug of a public kernel, and its fix."""

    where: str
    """The thread of the public tracker: owner/repository#number."""
    what: str
    """What went wrong, in a sentence."""
    text: str
    """The program, as described above."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    policy: Policy = Policy.temporal
    found: int = 0
    """How many random schedules suffice to see the bug; 0 where none is tried, `unseen` says why."""
    unseen: str = ""
    """Why no schedule is tried."""

    @property
    def fixed(self) -> str:
        """The program with its fix, without comments."""
        return "".join(f"{line.split('  #')[0].rstrip()}\n" for line in self.text.splitlines() if _code(line))

    @property
    def wrong(self) -> str:
        """The program as it was, without comments."""
        return "".join(f"{line}\n" for line, _ in self._wrong())

    @property
    def flagged(self) -> tuple[str, int]:
        """The id by which the program as it was is flagged, and the line."""
        (found,) = [(rule, n) for n, (_, rule) in enumerate(self._wrong(), 1) if rule]
        return found

    def _wrong(self) -> list[tuple[str, str]]:
        """The lines of the program as it was, each with the id by which it is flagged, if it is."""
        found = []
        for line in self.text.splitlines():
            rule = _ID.search(line)
            bare = line[: rule.start()] if rule else line
            if bare.endswith("# was missing"):
                continue
            was = _WAS.match(bare) or _HERE.match(bare)
            if was:
                bare = was[1] + was[2]
            if _code(bare):
                found.append((bare.split("  #")[0].rstrip(), rule[1] if rule else ""))
        return found


def _code(line: str) -> bool:
    """Whether a line is more than a comment."""
    return bool(line.strip()) and not line.lstrip().startswith("#")


def proc(text: str) -> str:
    """A whole program."""
    return dedent(text).strip("\n") + "\n"


def cta(arguments: str, body: str, *, threads: int = 64, tasks: int | str = 1, before: str = "") -> str:
    """A program of one device function; its tasks have the iterator t."""
    return (
        f"def f({arguments}):\n{indent(proc(before), '    ') if before else ''}"
        f"    with CudaDeviceFunction(blockDim={threads}):\n"
        f"        for t in cuda_tasks(0, {tasks}):\n{indent(proc(body), 12 * ' ')}"
    )
