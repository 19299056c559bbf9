"""The change history and the citation, from CHANGELOG.md and CITATION.cff: neither is written twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rst import ID, block, escape, law

ROOT = Path(__file__).resolve().parents[2]
_SPAN = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)]+)\)|\[([^\]]+)\]")
_UNDER = {2: "-", 3: "~"}


def changes(text: str | None = None) -> str:
    """CHANGELOG.md without its title, as reStructuredText."""
    markdown = (ROOT / "CHANGELOG.md").read_text() if text is None else text
    return "\n".join(_lines(markdown))


def _lines(markdown: str) -> Iterator[str]:
    """Headings, lists and paragraphs, which are what a changelog has."""
    for line in markdown.splitlines():
        heading = re.match(r"(#+) (.*)", line)
        if heading is None:
            yield re.sub(r"^- ", "* ", _inline(line))
        elif len(heading.group(1)) > 1:
            name = _inline(heading.group(2))
            yield from ("", name, _UNDER[len(heading.group(1))] * max(4, len(name)), "")


def _inline(line: str) -> str:
    pieces, at = [], 0
    for match in _SPAN.finditer(line):
        literal, strong, text, link, bracketed = match.groups()
        shown = (
            (law(literal) if ID.fullmatch(literal) else f"``{literal}``")
            if literal
            else f"**{escape(strong)}**"
            if strong
            else f"`{escape(text)} <{link}>`__"
            if text
            else escape(bracketed)
        )
        pieces += [escape(line[at : match.start()]), shown]
        at = match.end()
    return "".join([*pieces, escape(line[at:])])


def citation() -> dict[str, str]:
    """The fields of CITATION.cff that stand on a line of their own, and the first author."""
    text = (ROOT / "CITATION.cff").read_text()
    found = {
        key: value.strip('"')
        for key, value in re.findall(r"^([\w-]+): *(\S.*)$", text, re.MULTILINE)
        if value != ">-"
    }
    name = re.search(r'^authors:\n\s*- name: "?([^"\n]+)"?', text, re.MULTILINE)
    assert name is not None, "CITATION.cff names no author"
    return {**found, "author": name.group(1)}


def bibtex() -> str:
    """The entry to copy: version and date are those of CITATION.cff."""
    said = citation()
    fields = {
        "author": f"{{{said['author']}}}",
        "title": f"{{soundline}}{said['title'].removeprefix('soundline')}",
        "version": said["version"],
    }
    year, _, rest = said.get("date-released", "").partition("-")
    if year:
        fields |= {"year": year, "month": rest.partition("-")[0]}
    else:
        fields["note"] = "Not yet released"
    if "repository-code" in said:
        fields["url"] = said["repository-code"]
    width = max(map(len, fields))
    lines = [f"  {name:{width}} = {{{value}}}" for name, value in fields.items()]
    return "@software{soundline,\n" + ",\n".join(lines) + "\n}\n"


def citation_blocks() -> str:
    """How to cite the project and one law, with the version of the day."""
    version = citation()["version"]
    sentence = (
        "Cite the project by version, and a single law by its id and version: "
        f"*soundline {version}, uop-reshape-c2*. Ids are never reused, so such a citation keeps its meaning; the text "
        "of the law at that version is in the release.\n"
    )
    return f"{sentence}\n{block('bibtex', bibtex())}"
