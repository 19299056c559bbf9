"""
Instructions of users
=====================

A reader's own instruction brings its CUDA as a template, in which names in braces stand for what a call gives:

- ``{dst}``: of a window the address of its first element (a pointer; in swizzled shared memory before the swizzle is
  applied), of a fragment of a matrix the array of its words, of a scalar its value or lvalue;
- ``{dst.address}`` the address, ``{dst.stride0}`` by how many elements the neighbours of dimension 0 are apart,
  ``{dst.size0}`` its size, ``{dst.swizzle}`` the bytes of its swizzle, 0 where there is none;
- ``{src.map}`` and ``{src.coordinate0}``: of a window of a tensor map a pointer to the map, and where the box starts;
- ``{dst.ctas}``: of the destination of a multicast the mask of the CTAs;
- ``{n}``: a control argument;
- ``{barrier}``: a pointer to the trailing mbarrier.

``{{`` and ``}}`` are braces. The headers that the text needs are its `CudaInstruction.includes`. A load by TMA says
in `CudaInstruction.expect_tx` how many bytes its mbarrier has to expect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from string import Formatter

from soundline.impl.codegen.cuda.instructions.places import refused, scalar
from soundline.impl.codegen.cuda.memories import swizzle_of
from soundline.impl.codegen.cuda.operands import CallSite, Place, Value
from soundline.spec.errors import UsageError
from soundline.spec.spork.language.types import Control, Data
from soundline.spec.spork.library.schema import Instruction

_PART = re.compile(r"(address|map|ctas|swizzle|storage)|(stride|size|coordinate)(\d+)")
"""What may follow the name of an argument of data."""

BARRIER = "barrier"
"""The name of the trailing mbarrier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaInstruction(Instruction):
    """An instruction that brings its own CUDA."""

    cuda: str
    """The template of its text."""
    includes: tuple[str, ...] = ()
    """The headers that the text needs: ``"mine.cuh"``, or ``"<cooperative_groups.h>"``."""
    expect_tx: str = ""
    """For a load by TMA the bytes that it brings to each CTA that it writes to, a template of control arguments."""

    def __post_init__(self) -> None:
        # The class that has slots is another than the one which `super` would know.
        Instruction.__post_init__(self)
        object.__setattr__(self, "includes", tuple(self.includes))
        check_template(self)


def include_lines(instruction: Instruction) -> tuple[str, ...]:
    """The lines that include the headers of an instruction.

    >>> from soundline.spec.spork.library.table import STANDARD
    >>> include_lines(STANDARD["Sm80_mma_tf32"])
    ()
    """
    headers = instruction.includes if isinstance(instruction, CudaInstruction) else ()
    return tuple(f"#include {h}" if h.startswith("<") else f'#include "{h}"' for h in headers)


# The template -----------------------------------------------------------------------------------------------------


def _pieces(instruction: CudaInstruction, template: str) -> list[tuple[str, str | None]]:
    """The text before each name in braces, and the name."""
    try:
        parsed = list(Formatter().parse(template))
    except ValueError as error:
        raise _broken(instruction, str(error), "write {{ and }} for braces of C++") from error
    for _, name, form, conversion in parsed:
        if name is not None and (form or conversion or not name):
            raise _broken(
                instruction, f"{{{name}{'!' if conversion else ''}{conversion or ''}:{form or ''}}}"
            )
    return [(before, name) for before, name, _, _ in parsed]


def _broken(instruction: CudaInstruction, given: str, hint: str | None = None) -> UsageError:
    names = ", ".join(a.name for a in instruction.arguments)
    wants = f"a text in which braces hold one of {names}, {BARRIER}, or a part of one such as x.stride0"
    message = f"the CUDA of {instruction.name}: expected: {wants}; got: {given}"
    return UsageError(message, rule="cuda-template", hint=hint or "write {{ and }} for braces of C++")


def check_template(instruction: CudaInstruction) -> None:
    """Refuse a template with names that the instruction does not have; `CudaInstruction` itself calls this."""
    arguments = {a.name: a for a in instruction.arguments}
    for header in instruction.includes:
        if not header or header.startswith("<") != header.endswith(">") or '"' in header or "\n" in header:
            raise _broken(instruction, f"the header {header!r}", 'write "mine.cuh" or "<system.h>"')
    controls = {a.name for a in instruction.arguments if isinstance(a.type, Control)}
    for _, name in _pieces(instruction, instruction.expect_tx):
        if name is not None and name not in controls:
            raise _broken(instruction, f"{{{name}}} in expect_tx", "its bytes follow from control arguments")
    for _, name in _pieces(instruction, instruction.cuda):
        if name is None or (name == BARRIER and instruction.trailing is not None and name not in arguments):
            continue
        argument, dot, part = name.partition(".")
        if argument not in arguments:
            raise _broken(instruction, f"{{{name}}}")
        kind = arguments[argument].type
        if isinstance(kind, Control) and not dot:
            continue
        if not isinstance(kind, Data) or (dot and not _has(part, len(kind.sizes))):
            raise _broken(instruction, f"{{{name}}}")


def _has(part: str, rank: int) -> bool:
    found = _PART.fullmatch(part)
    return found is not None and (found[3] is None or int(found[3]) < rank)


# The text of a call -----------------------------------------------------------------------------------------------


def text(site: CallSite) -> Iterator[str]:
    """The template with what a call gives."""
    instruction = site.instruction
    assert isinstance(instruction, CudaInstruction), "the table has this text for no other family"
    yield from _with(site, instruction, instruction.cuda).strip("\n").splitlines()


def expected_bytes(site: CallSite) -> str:
    """What `CudaInstruction.expect_tx` says of a call."""
    instruction = site.instruction
    if not isinstance(instruction, CudaInstruction) or not instruction.expect_tx:
        hint = 'say how many bytes it brings: @instr(..., cuda="...", expect_tx="4 * {n}")'
        raise refused(site, "a load by TMA", f"{type(instruction).__name__} without expect_tx", hint)
    return f"uint32_t({_with(site, instruction, instruction.expect_tx)})"


def _with(site: CallSite, instruction: CudaInstruction, template: str) -> str:
    """A template with what a call gives; in parentheses where what stands around it could take it apart."""
    pieces = _pieces(instruction, template)
    found = ""
    for number, (before, name) in enumerate(pieces):
        found += before
        if name is not None:
            after = pieces[number + 1][0] if number + 1 < len(pieces) else ""
            text = _filled(site, name)
            alone = _stands_alone(found, after) or _PRIMARY.fullmatch(text)
            found += text if alone else f"({text})"
    return found


_PRIMARY = re.compile(r"\w+(::\w+|\.\w+|\[[^][]*\])*")
"""Expressions that no operator takes apart."""


def _stands_alone(before: str, after: str) -> bool:
    """Whether a name in braces is all of an argument, or of what brackets hold."""
    return before.rstrip()[-1:] in tuple("(,[") and after.lstrip()[:1] in tuple("),]")


def _filled(site: CallSite, name: str) -> str:
    argument, _, part = name.partition(".")
    if argument in site.texts:
        return site.texts[argument]
    if argument == BARRIER and argument not in site.places:
        if site.trailing is None:
            raise refused(site, "a trailing barrier, which its CUDA names", "none")
        return site.trailing.barrier
    given = site.places[argument]
    if not part:
        return _whole(site, argument, given)
    if isinstance(given, Value):
        raise refused(
            site, f"a place of memory for {argument}, whose {part} its CUDA names", f"the value {given.text}"
        )
    return _part(site, given, part)


def _whole(site: CallSite, argument: str, given: Place | Value) -> str:
    declared = next(a.type for a in site.instruction.arguments if a.name == argument)
    if isinstance(given, Value) or (isinstance(declared, Data) and not declared.sizes):
        return scalar(given)
    return given.address or given.storage


def _part(site: CallSite, given: Place, part: str) -> str:
    found = _PART.fullmatch(part)
    assert found is not None, "the template was checked"
    single = {
        "address": given.address,
        "map": given.tensor_map,
        "ctas": given.ctas,
        "swizzle": str(swizzle_of(given.memory)),
        "storage": given.storage,
    }
    several = {"stride": given.strides, "size": given.sizes, "coordinate": given.coordinates}
    if found[1]:
        value = single[found[1]]
    else:
        values, index = several[found[2]], int(found[3])
        value = values[index] if index < len(values) else ""
    if not value:
        raise refused(
            site, f"a {part} of {given.argument}, which its CUDA names", f"a place in {given.memory}"
        )
    return value
