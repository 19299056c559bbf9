"""
What compilers of CUDA say
==========================

The log of NVRTC or nvcc has messages about lines of the text, and what the assembler tells of each kernel: registers,
spills, and whether it had to give up something. Here it is read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from soundline.impl.codegen.cuda.source import CudaSource
from soundline.spec.errors import GeneratedCodeError
from soundline.spec.spork.language.nodes import Node


@dataclass(frozen=True, slots=True)
class Message:
    """What a compiler says: about a line of a file, or about a kernel."""

    severity: str
    """``error`` or ``warning``."""
    text: str
    file: str = ""
    line: int = 0
    """Counted from 1; 0 where none is named."""
    kernel: str = ""
    shown: str = ""
    """The text of the line."""
    statement: Node | None = None
    """The statement of the program that the line came from."""

    @property
    def origin(self) -> str:
        """File and line of the statement, and its text; empty where it is not known."""
        position = None if self.statement is None else self.statement.position
        return "" if position is None else f"{position.file}:{position.line}: {position.text.strip()}"

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.file else f"{self.kernel}: " if self.kernel else ""
        parts = [f"{where}{self.severity}: {self.text}"]
        if self.shown:
            parts.append(f"  {self.shown.strip()}")
        if self.origin:
            parts.append(f"  from {self.origin}")
        return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a kernel takes of a multiprocessor, as the assembler says."""

    registers: int
    """Registers of a thread."""
    spill_stores: int = 0
    """Bytes that a thread stores because it has no register for them."""
    spill_loads: int = 0
    """Bytes that it loads again."""
    stack: int = 0
    """Bytes of its stack."""
    shared: int = 0
    """Bytes of static shared memory of a block; the dynamic ones are named at the launch."""
    barriers: int = 0
    """Named barriers of a block."""


_SPOKEN: Final = re.compile(
    r'^"?(?P<file>[^\s"(:]+)"?(?:\((?P<line>\d+)\)|, line (?P<other>\d+)): '
    r"(?P<kind>catastrophic error|fatal error|error|warning)(?: #[\w-]+)?: (?P<text>.*)$"
)
_HOST: Final = re.compile(
    r"^(?P<file>[^\s:]+):(?P<line>\d+):(?:\d+:)? (?P<kind>fatal error|error|warning): (?P<text>.*)$"
)
_ASSEMBLED: Final = re.compile(
    r"^ptxas (?P<file>[^,]*), line (?P<line>\d+); (?P<kind>error|warning)\s*: (?P<text>.*)$"
)
_ASSEMBLER: Final = re.compile(r"^ptxas (?P<kind>fatal|error|warning|info)\s*: (?P<text>.*)$")
_LOSS: Final = re.compile(r"\(C\d+\)|Potential Performance Loss|setmaxnreg")
_ABOUT: Final = re.compile(
    r"in (?:the )?function '(?P<kernel>\w+)'|Compiling entry function '(?P<entry>\w+)'"
)
_AROUND: Final = re.compile(r"around line (\d+)")
_INSTANTIATED: Final = re.compile(r'at line (?P<line>\d+) of "?(?P<file>[^\s"]+)"?')

Place = tuple[str, int]
"""A file, and a line counted from 1; an empty name and 0 where none is known."""
NOWHERE: Final[Place] = ("", 0)


def messages(log: str, source: CudaSource, ptx: str = "") -> tuple[Message, ...]:
    """The errors and warnings of a log, in its order. With the PTX, lines of it are led back to those of the source."""
    found: list[Message] = []
    kernel = source.kernels[0].name if len(source.kernels) == 1 else ""
    lines = log.splitlines()
    for number, line in enumerate(lines):
        about = _ABOUT.search(line)
        if about is not None and about["entry"]:
            kernel = about["entry"]
        named = about["kernel"] if about is not None and about["kernel"] else kernel
        if (spoken := _SPOKEN.match(line) or _HOST.match(line)) is not None:
            place = _place(spoken, source)
            if place[0] not in source.files:
                place = _instantiated(lines[number + 1 :], source) or place
            found.append(_located(spoken["kind"], spoken["text"], place, source))
        elif (assembled := _ASSEMBLED.match(line)) is not None:
            place = line_of_ptx(ptx, int(assembled["line"]), source.files)
            found.append(_located(assembled["kind"], assembled["text"], place, source, named))
        elif (said := _ASSEMBLER.match(line)) is not None and _matters(said["kind"], said["text"]):
            severity = "error" if said["kind"] in ("fatal", "error") else "warning"
            around = _AROUND.search(said["text"])
            place = line_of_ptx(ptx, int(around[1]), source.files) if around is not None else NOWHERE
            found.append(_located(severity, said["text"], place, source, named))
    return tuple(dict.fromkeys(found))


def _matters(kind: str, text: str) -> bool:
    return kind != "info" or _LOSS.search(text) is not None


def _place(spoken: re.Match[str], source: CudaSource) -> Place:
    groups = spoken.groupdict()
    return _named(groups["file"], source), int(groups["line"] or groups.get("other") or 0)


def _named(file: str, source: CudaSource) -> str:
    """The name of a file of the source, where a compiler has it with the folder; else only what the compiler says."""
    return next((n for n in source.files if file == n or file.endswith(f"/{n}")), file.rpartition("/")[2])


def _instantiated(lines: Sequence[str], source: CudaSource) -> Place | None:
    """Where the source uses what an error in a header is about: it follows the message, before the next one."""
    for line in lines:
        if _SPOKEN.match(line) is not None:
            return None
        if (at := _INSTANTIATED.search(line)) is not None and _named(at["file"], source) in source.files:
            return _named(at["file"], source), int(at["line"])
    return None


def _located(kind: str, text: str, place: Place, source: CudaSource, kernel: str = "") -> Message:
    severity = "warning" if kind == "warning" else "error"
    name, line = place
    lines = source.files.get(name, "").splitlines()
    origins = source.origins.get(name, ())
    shown = lines[line - 1] if 0 < line <= len(lines) else ""
    statement = origins[line - 1] if 0 < line <= len(origins) else None
    return Message(severity, text.strip(), name, line, kernel, shown, statement)


_FILE: Final = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"')
_PLACES: Final = re.compile(r"(?:^\s*\.loc|inlined_at)\s+(\d+)\s+(\d+)")


def line_of_ptx(ptx: str, line: int, files: Collection[str]) -> Place:
    """Which line of one of the files a line of PTX came from, by the ``.loc`` before it; where that is in a function of
    another file, the line that calls it.
    """
    lines = ptx.splitlines()
    names = {m[1]: m[2].rpartition("/")[2] for m in map(_FILE.match, lines) if m is not None}
    for text in reversed(lines[:line]):
        for number, at in _PLACES.findall(text):
            if names.get(number) in files:
                return names[number], int(at)
    return NOWHERE


_ENTRY: Final = re.compile(r"Compiling entry function '(\w+)'")
_STACK: Final = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED: Final = re.compile(r"Used (\d+) registers(?:, used (\d+) barriers)?")
_SHARED: Final = re.compile(r"(\d+) bytes smem")


def usages(log: str) -> dict[str, Usage]:
    """What the assembler says of each kernel, by its name.

    >>> usages('''ptxas info    : Compiling entry function 'k' for 'sm_80'
    ... ptxas info    : Function properties for k
    ... ptxas         .     8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
    ... ptxas info    : Used 40 registers, used 1 barriers, 8 bytes cumulative stack size, 512 bytes smem''')
    {'k': Usage(registers=40, spill_stores=4, spill_loads=12, stack=8, shared=512, barriers=1)}
    """
    found: dict[str, Usage] = {}
    for part in re.split(r"(?=ptxas info\s*: Compiling entry function)", log):
        entry, used, stack = _ENTRY.search(part), _USED.search(part), _STACK.search(part)
        if entry is None or used is None:
            continue
        shared = _SHARED.search(part)
        frame, stores, loads = (int(n) for n in stack.groups()) if stack is not None else (0, 0, 0)
        found[entry[1]] = Usage(
            registers=int(used[1]),
            spill_stores=stores,
            spill_loads=loads,
            stack=frame,
            shared=int(shared[1]) if shared is not None else 0,
            barriers=int(used[2] or 0),
        )
    return found


def refusal(said: Sequence[Message], log: str, source: CudaSource) -> GeneratedCodeError:
    """The error that a failed compilation is: its first error with a known statement, or else its first one."""
    errors = [m for m in said if m.severity == "error"]
    first = next((m for m in errors if m.statement is not None), errors[0])
    position = None if first.statement is None else first.statement.position
    return GeneratedCodeError(
        first.text,
        file=first.file or f"{source.name}.cu",
        line=first.line or None,
        text=first.shown,
        kernel=first.kernel or None,
        statement="" if position is None else position.text.strip(),
        statement_file=None if position is None else position.file,
        statement_line=None if position is None else position.line,
        log=log,
        others=len(errors) - 1,
    )
