"""
Text that does not parse
========================

One slip of syntax must not hide the other rules of a file. A Python file is a row of top-level blocks, each beginning
at the margin; where the parser stops, the block around that line is blanked, so that line numbers stay, and the rest
is parsed again.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from dataclasses import dataclass, field

from soundline.verify.files.problems import Problem

MISTAKES_LIMIT = 20
"""The number of mistakes in one file after which the rest is not read."""

_BLOCK = re.compile(r"[A-Za-z_@]")
_CONTINUES = re.compile(r"(else|elif|except|finally)\b")
_NAMED = re.compile(r"\s*(?:async\s+)?(?:def|class)\s+(\w+)")
_OPENED_AT = re.compile(r"on line (\d+)")


@dataclass
class Source:
    """What could be parsed of a file, what could not, and the names that the lost blocks would have bound."""

    tree: ast.Module | None
    problems: list[Problem] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=dict)


def parse(data: bytes, file: str) -> Source:
    """The statements of a file; each syntax error takes only its own top-level block with it."""
    source = Source(None)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        lines = io.StringIO(data.decode(encoding), newline=None).read().split("\n")
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        source.problems.append(_undecodable(error, data, file))
        return source
    while len(source.problems) < MISTAKES_LIMIT:
        try:
            source.tree = _parsed("\n".join(lines), file)
            return source
        except SyntaxError as error:
            _set_aside(error, lines, file, source)
        except (ValueError, RecursionError, MemoryError):
            source.problems.append(Problem("syntax", file, None, "the text is nested too deeply to be read"))
            return source
    return source


def _parsed(text: str, file: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, file)


def _undecodable(error: Exception, data: bytes, file: str) -> Problem:
    line = data.count(b"\n", 0, error.start) + 1 if isinstance(error, UnicodeDecodeError) else None
    return Problem(
        "unreadable-file", file, line, "is not text in UTF-8", "save it as UTF-8, or name its encoding"
    )


def _set_aside(error: SyntaxError, lines: list[str], file: str, source: Source) -> None:
    """Note the mistake and blank the block or blocks that it is in."""
    line = min(max(error.lineno or 1, 1), len(lines))
    told = [int(n) for n in _OPENED_AT.findall(error.msg or "") if int(n) <= len(lines)]
    named = next((name for n in (*told, line) if (name := _name_at(n, lines))), None)
    source.problems.append(Problem("syntax", file, line, syntax_message(error), rule=named))
    for place in (line, *told):
        start, end = _block(place, lines)
        for n in range(start, end):
            if found := _NAMED.match(lines[n]):
                source.lost.setdefault(found[1], line)
            lines[n] = ""
        lines[line - 1] = ""


def syntax_message(error: SyntaxError) -> str:
    """One sentence for a syntax error, in the words of the parser."""
    message = error.msg or "invalid syntax"
    return f"syntax error: {message[0].lower()}{message[1:]}"


def _name_at(line: int, lines: list[str]) -> str | None:
    start, end = _block(line, lines)
    return next((m[1] for n in range(start, end) if (m := _NAMED.match(lines[n]))), None)


def _block(line: int, lines: list[str]) -> tuple[int, int]:
    """The half-open range of indices of the top-level block around a line; decorators go with what they decorate."""
    starts = [n for n, text in enumerate(lines) if _BLOCK.match(text) and not _CONTINUES.match(text)]
    heads = [n for n in starts if not _follows_decorator(n, lines)]
    start = max((n for n in heads if n <= line - 1), default=0)
    end = min((n for n in heads if n > line - 1), default=len(lines))
    return start, end


def _follows_decorator(n: int, lines: list[str]) -> bool:
    """Whether the block that begins at index n is decorated by lines above it."""
    above = n - 1
    while above >= 0 and (not lines[above].strip() or lines[above][:1] in " \t#)]}"):
        above -= 1
    return above >= 0 and lines[above].startswith("@")
