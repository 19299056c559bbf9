"""
Problems with the input
=======================

What is wrong with a rule file or with a rule in it, as data: where it stands, what kind of mistake it is, what to say
and what to do about it. A problem never stops the other rules from being checked.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

Kind = Literal[
    "missing-file",
    "unreadable-file",
    "not-python",
    "changed-file",
    "no-rules",
    "syntax",
    "unknown-name",
    "import",
    "exception",
    "exit",
    "timeout",
    "crash",
    "not-a-rule",
    "ill-typed",
    "duplicate",
    "lost-cluster",
]

KINDS: dict[Kind, str] = {
    "missing-file": "A path was named at which there is nothing.",
    "unreadable-file": "A rule file is not text, or may not be read.",
    "not-python": "A path was named that does not end in .py.",
    "changed-file": "A rule file changed between the moment its rules were listed and the moment they were proved.",
    "no-rules": "A file, a folder or a filter was given that leaves no rule to judge.",
    "syntax": "Text that Python cannot parse. The top-level block around it is left out; the others are read.",
    "unknown-name": "A name that nothing defines. Rules are usually begun with: from soundline.verify import *",
    "import": "An import in a rule file failed, or a package publishes rules in a module that is not there.",
    "exception": "A statement of a rule file raised an exception. The statements after it were still run.",
    "exit": "A statement of a rule file ended the program. The statements after it were still run.",
    "timeout": "A statement of a rule file did not end in time (--reading-time). It was left out, the others were run.",
    "crash": "A statement of a rule file killed its process. It was left out, the others were run.",
    "not-a-rule": "A function decorated with @rule does not state one: its variables, conditions or sides are wrong.",
    "ill-typed": "A side or a condition of a rule does not exist at a dtype for which the rule was declared.",
    "duplicate": "Two rules of one run have the same id. Both are judged, but a verdict could not name its rule.",
    "lost-cluster": "The cluster of --executor went away. What was decided by then is reported and cached.",
}
"""The kinds of mistakes, and what each means; reports carry these words."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: `line` is None where the whole file is meant, `rule` where no single rule is."""

    kind: Kind
    file: str
    line: int | None
    message: str
    hint: str | None = None
    rule: str | None = None

    @property
    def place(self) -> str:
        """``file:line``, or the file."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def to_json(self) -> dict[str, Any]:
        """The problem as a JSON object."""
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Problem:
        """The problem that `to_json` wrote."""
        return Problem(**data)


def displayed(file: str) -> str:
    """A path as people read it: relative to the working directory where it lies below it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return file


_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Text that anyone may have written, safe to show: what would steer a terminal is shown as an escape.

    >>> print(visible("\x1b[31mred"))
    \x1b[31mred
    """
    return _UNSEEN.sub(lambda m: ascii(m[0])[1:-1], text)
