"""Small builders of reStructuredText: escaping, links to ids, tables, titles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from textwrap import indent

ID = re.compile(r"\b(?:[US]-\d{2}|uop-[a-z0-9]+-[a-z0-9-]*[a-z0-9])\b")
_MARKUP = re.compile(r"([\\*`|_<>])")


def escape(text: str) -> str:
    """`text` so that it reads as itself."""
    return _MARKUP.sub(r"\\\1", text)


def prose(text: str) -> str:
    """Escaped text in which every id of a law or decision is a link."""
    pieces, at = [], 0
    for match in ID.finditer(text):
        pieces += [escape(text[at : match.start()]), law(match.group())]
        at = match.end()
    return "".join([*pieces, escape(text[at:])])


def law(identifier: str) -> str:
    """A link to the place where this id is stated; the build fails where there is none."""
    return f":law:`{identifier}`"


def code(text: str) -> str:
    """Inline code."""
    return f"``{text}``" if text.strip() else ""


def title(text: str, under: str = "=") -> str:
    """A section title."""
    return f"{text}\n{under * max(4, len(text))}\n"


def label(name: str) -> str:
    """An explicit label; a title must follow."""
    return f".. _{name}:\n"


def block(language: str, text: str) -> str:
    """A block of code."""
    body = "\n".join(f"   {line}".rstrip() for line in text.strip("\n").splitlines())
    return f".. code-block:: {language}\n\n{body}\n"


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, widths: Sequence[int] = (), css: str = ""
) -> str:
    """A list-table. Cells are reStructuredText already."""
    lines = [".. list-table::", "   :header-rows: 1"]
    if widths:
        lines.append(f"   :widths: {' '.join(map(str, widths))}")
    if css:
        lines.append(f"   :class: {css}")
    lines.append("")
    for row in (header, *rows):
        for n, cell in enumerate(row):
            first, *rest = (cell or "\\ ").split("\n")
            lines.append(f"   {'* - ' if n == 0 else '  - '}{first}")
            lines += [f"       {line}".rstrip() for line in rest]
    return "\n".join(lines) + "\n"


def bullets(items: Iterable[str]) -> str:
    """A bullet list."""
    return "\n".join(f"* {item}" for item in items) + "\n"


def fields(rows: Iterable[tuple[str, str]]) -> str:
    """A list of named facts. What they say is reStructuredText already."""
    return "".join(f":{name}: {text}\n" for name, text in rows)


def reduced(summary: str, body: str) -> str:
    """One line that opens on `body`, for lists that few readers want."""
    return f".. reduced:: {summary}\n\n{indent(body, '   ')}\n"
