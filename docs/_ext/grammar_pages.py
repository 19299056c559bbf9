"""The grammar of the textual form, from the docstring of the reader, as productions that link to each other."""

from __future__ import annotations

import inspect
import re

from soundline.spec.ops.table import parsing
from soundline.spec.ops.table.parsing import TOKEN

_BLOCK = re.compile(r"::\n\n((?:    .*\n)+)")


def productions() -> dict[str, str]:
    """Each name of the grammar with what it stands for."""
    block = _BLOCK.search(inspect.getdoc(parsing) or "")
    assert block is not None, "the docstring of spec/ops/table/parsing.py has no grammar"
    found = {}
    for line in block.group(1).splitlines():
        name, _, text = line.partition("=")
        found[name.strip()] = text.strip()
    return found


def grammar() -> str:
    """A production list, in which every name that is a production is a link."""
    found = productions()
    width = max(map(len, found))
    lines = [".. productionlist:: textual"]
    for name, text in found.items():
        linked = re.sub(r'"[^"]*"|\w+', lambda m: f"`{m.group()}`" if m.group() in found else m.group(), text)
        lines.append(f"   {name:{width}}: {linked}")
    return "\n".join(lines) + "\n"


def rest() -> str:
    """What the docstring says besides the grammar: the words, numbers and comments."""
    text = inspect.getdoc(parsing) or ""
    block = _BLOCK.search(text)
    assert block is not None
    return text[block.end() :].strip() + "\n"


def kinds_of_token() -> tuple[str, ...]:
    """The kinds of token that the reader knows."""
    return tuple(TOKEN.groupindex)
