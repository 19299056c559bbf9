"""Which tests cite an id or use an op: read from the text of the tests, so that it cannot be claimed by hand."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rst import bullets, reduced

ROOT = Path(__file__).resolve().parents[2]
_SPORK = "prog|mem|instr|coll|dist|fence|bar|tl|mach|seq|static"
_CITED = re.compile(
    rf"\b(?:[US]-\d{{2}}|uop-[a-z0-9]+-[a-z0-9-]*[a-z0-9]|(?:{_SPORK})-[a-z0-9-]*[a-z0-9]|Op\.[A-Za-z0-9]+)\b"
)
_IN_NAME = re.compile(r"(?:^|_)([us])_?(\d{2})(?=_|$)")


@dataclass(frozen=True, order=True)
class Test:
    """A test function and where it stands."""

    path: str
    line: int
    name: str


@cache
def tests_by_citation() -> dict[str, list[Test]]:
    """For every id and every `Op.X`: the test functions whose text (or whose class or decorators) mentions it."""
    found: dict[str, set[Test]] = defaultdict(set)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text()
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                body = "\n".join(lines[first - 1 : node.end_lineno])
                test = Test(str(path.relative_to(ROOT)), node.lineno, node.name)
                for cited in _CITED.findall(body):
                    found[cited].add(test)
                for letter, number in _IN_NAME.findall(node.name):
                    found[f"{letter.upper()}-{number}"].add(test)
    return {key: sorted(tests) for key, tests in found.items()}


def listed(tests: Iterable[Test], said: str) -> str:
    """Tests behind one line that counts them: `said` follows the number, as in "cite U-07"."""
    found = list(tests)
    links = bullets(f":source:`{t.name} <{t.path}:{t.line}>`" for t in found)
    return reduced(f"{len(found)} {'tests' if len(found) > 1 else 'test'} {said}", links)
