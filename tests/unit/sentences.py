"""Files that hold the clauses of the law, each beside the tests that compute it."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent


def clauses(text: str) -> list[str]:
    """A text cut behind every semicolon, colon and full stop."""
    return re.split(r"(?<=[.;:]) (?=\S)", text)


def evidence(name: str) -> dict[str, list[tuple[str, list[str]]]]:
    """What a file of sentences says: of each heading its clauses in order, and the tests under each of them.

    A clause stands at an indent of four, a test at eight as ``file::test`` without the ``test_`` of both. A clause
    without a test says what something is called and states nothing that could be computed.
    """
    found: dict[str, list[tuple[str, list[str]]]] = {}
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        indent, text = len(line) - len(line.lstrip()), line.strip()
        if indent == 0:
            heading = found.setdefault(text, [])
        elif indent == 4:
            heading.append((text, []))
        else:
            heading[-1][1].append(text)
    return found


def stands(test: str) -> bool:
    """Whether a test that is named as evidence exists."""
    file, name = test.split("::")
    return f"def test_{name}(" in (HERE / f"test_{file}.py").read_text(encoding="utf-8")
