"""What programs become in CUDA: the lines that the generator makes of each statement, cut out and set beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from textwrap import dedent, indent
from typing import NamedTuple

from rst import block

from soundline.impl.codegen.cuda.programs.files import generate
from soundline.impl.codegen.cuda.source import CudaSource
from soundline.spec.spork.language.nodes import Node
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import Call, If, Statement
from soundline.spec.spork.language.text import lines as lines_of

_AT = re.compile(r"   [^\s:]+:\d+")
_COMMENT = re.compile(r"//.*")
_ASSERT = re.compile(r"\s*// (assert .*)")


FEW, WIDE = 12, 45
"""How many lines are few, and how many characters wide for one side."""


class Line(NamedTuple):
    """A line of generated text, and what it came from."""

    text: str
    origin: Node | None

    @property
    def depth(self) -> int:
        """How far it is indented."""
        return len(self.text) - len(self.text.lstrip())


class Beside(NamedTuple):
    """Spork and CUDA in as many lines each: what stands in one line belongs together."""

    spork: str
    cuda: str


@lru_cache(256)
def source(proc: Proc) -> CudaSource:
    """What the generator makes of a program."""
    return generate(proc)


def lines(proc: Proc, ending: str) -> list[Line]:
    """The lines of one of its files."""
    found = source(proc)
    name = f"{proc.name}{ending}"
    return [*map(Line, found.files[name].splitlines(), found.origins[name])]


def device(proc: Proc) -> str:
    """The file in which the body of a program is: of the device if it has kernels."""
    return ".cuh" if source(proc).kernels else ".c"


def of(proc: Proc, wanted: Callable[[Node], bool]) -> Beside:
    """The statements that are wanted, each with what stands in it, beside what they become, wherever that is."""
    found = dict.fromkeys(beside(part) for part in _extents(lines(proc, device(proc)), wanted))
    return joined(found)


def of_one(proc: Proc, node: Node) -> Beside:
    """One statement of a program beside what it becomes, wherever that is."""
    texts = [lines(proc, ending) for ending in (".cuh", ".c") if f"{proc.name}{ending}" in source(proc).files]
    found = [beside(part) for text in texts for part in _extents(text, lambda n: n is node)]
    return joined(dict.fromkeys(pair for pair in found if has_code(pair)))


def joined(parts: Iterable[Beside]) -> Beside:
    """Several pairs under each other; of no pairs two empty texts."""
    found = list(parts)
    return Beside("\n\n".join(p.spork for p in found), "\n\n".join(p.cuda for p in found))


def _extents(text: Sequence[Line], wanted: Callable[[Node], bool]) -> Iterator[list[Line]]:
    """The parts of a text that came from a statement that is wanted and what stands in it."""
    k = 0
    while k < len(text):
        origin = text[k].origin
        # The host's closing braces come from the last statement before them.
        if origin is None or not wanted(origin) or text[k].text.strip() == "}":
            k += 1
            continue
        last = k
        for later in range(k + 1, len(text)):
            within = _open(text[k:later])
            if within or (text[later].origin is origin and text[later].depth >= text[k].depth):
                last = later
            elif text[later].origin is not None or not text[later].text:
                break
        yield list(text[k : last + 1])
        k = last + 1


def _open(text: Iterable[Line]) -> bool:
    """Whether a brace is opened and not closed."""
    code = "".join(_COMMENT.sub("", line.text) for line in text)
    return code.count("{") > code.count("}")


def function(proc: Proc, head: str, ending: str = ".cuh") -> list[Line]:
    """A function or struct of a generated file: from the line that has `head` to that of its last brace."""
    text = lines(proc, ending)
    start = next(k for k, line in enumerate(text) if head in line.text and line.text.endswith("{"))
    end = next(
        k
        for k in range(start + 1, len(text))
        if text[k].text and text[k].depth == text[start].depth and text[k].text.strip().startswith("}")
    )
    return text[start : end + 1]


def code_of(text: Iterable[Line]) -> str:
    """The text alone."""
    return dedent("\n".join(line.text for line in text))


def beside(text: Sequence[Line]) -> Beside:
    """Each statement beside what it becomes. The comments that quote it are left away, being the other side."""
    margin = min((line.depth for line in text if line.text), default=0)
    seen: set[int] = set()
    left: list[str] = []
    right: list[str] = []
    waiting: str | None = None
    for line in text:
        shown = line.text[margin:].rstrip()
        if _quotes(line) and isinstance(line.origin, Call) and isinstance(line.origin.callee.value, Proc):
            seen.clear()  # the body of what is called may stand there again
        said = _said(line, margin, seen)
        if _quotes(line):
            if waiting is not None:
                left.append(waiting)
                right.append("")
            waiting = said
            if shown.endswith(": other warps"):
                left.append(waiting or "")
                right.append(f"{' ' * (line.depth - margin)}// other warps")
                waiting = None
            continue
        left.append(said if waiting is None else waiting)
        right.append(_AT.sub("", shown).split("// assert")[0].rstrip())
        waiting = None
    if waiting is not None:
        left.append(waiting)
        right.append("")
    return Beside("\n".join(left), "\n".join(right))


def _said(line: Line, margin: int, seen: set[int]) -> str:
    """The statement that a line came from, where it is the first one that did."""
    origin = line.origin
    asserted = _ASSERT.search(line.text)
    if asserted is not None:
        return f"{' ' * (line.depth - margin)}{_AT.sub('', asserted.group(1))}"
    if isinstance(origin, If) and line.text.strip() == "else {":
        return f"{' ' * (line.depth - margin)}else:"
    if not isinstance(origin, Statement) or id(origin) in seen:
        return ""
    seen.add(id(origin))
    return f"{' ' * (line.depth - margin)}{lines_of(origin)[0]}"


def _quotes(line: Line) -> bool:
    """Whether a line is a comment that quotes a statement."""
    return isinstance(line.origin, Statement) and line.text.strip().startswith("//")


def has_code(pair: Beside) -> bool:
    """Whether there is anything but comments on the side of CUDA."""
    return any(text and not text.startswith("//") for text in map(str.strip, pair.cuda.splitlines()))


def shown(pair: Beside) -> str:
    """Two blocks of code, which stand beside each other where there is room for their lines."""
    spork, cuda = _begun(pair.spork, "# (no statement)"), _begun(pair.cuda, "// (nothing)")
    blocks = f"{block('python', spork)}\n{block('cpp', cuda)}"
    css = "spork-cuda stacked" if _is_wide(pair) else "spork-cuda"
    return f".. container:: {css}\n\n{indent(blocks, '   ')}"


def _is_wide(pair: Beside) -> bool:
    """Whether a few lines are so long that they are better read under each other."""
    spork = pair.spork.split("\n")
    return len(spork) <= FEW and max(map(len, spork)) > WIDE


def _begun(text: str, comment: str) -> str:
    """A text that begins with a line which is not empty: one that is would be dropped, and the sides shifted."""
    first, separator, rest = text.partition("\n")
    return f"{first if first.strip() else comment}{separator}{rest}"


def whole(proc: Proc, ending: str, summary: str) -> str:
    """A generated file behind one line that opens on it."""
    text = source(proc).files[f"{proc.name}{ending}"]
    return f".. reduced:: {summary}\n\n{indent(block('cpp', text), '   ')}\n"
