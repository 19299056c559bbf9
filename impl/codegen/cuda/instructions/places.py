"""
Places as text
==============

The parts of which the texts of instructions are made: windows of memory, registers, scalars, descriptors of shared
memory. Where something cannot be written because hardware asks for more than the law does, a `CompileError` says so.

Of alignment the law says where arrays begin (S-29), and asks nothing of windows. Where it is known (`Place.alignment`)
it goes into the text, and accesses of 4, 8 and 16 bytes are one instruction; where it is not, the functions of
``soundline_device.cuh`` ask the address, and access elements one by one if it is not aligned. TMA, bulk copies and
wgmma have no other form: what is known to be misaligned is refused, and the hardware reports the rest.
"""

from __future__ import annotations

from math import prod

from soundline.impl.codegen.cuda.memories import swizzle_of
from soundline.impl.codegen.cuda.operands import CallSite, Place, Value
from soundline.spec.errors import CompileError


def refused(site: CallSite, wants: str, given: str, hint: str | None = None) -> CompileError:
    """The error of a call that has no text."""
    position = site.call.position
    where = f"{position.file}:{position.line}" if position is not None else str(site.instruction)
    message = f"{site.instruction}: expected: {wants}; got: {given}"
    return CompileError(message, rule="cuda-instruction", where=where, hint=hint)


def place(site: CallSite, argument: str) -> Place:
    """The place that an argument is given."""
    found = site.places[argument]
    if not isinstance(found, Place):
        raise refused(site, f"a place of memory for {argument}", f"the value {found.text}")
    return found


def in_registers(at: Place) -> bool:
    """Whether data are in registers."""
    return at.memory.space == "registers"


def number(text: str) -> int | None:
    """The number that a text is, if it is one."""
    return int(text) if text.lstrip("-").isdigit() else None


def window(at: Place, *, turned: bool = False) -> str:
    """A window of memory or of the registers of a thread; `turned` exchanges rows and columns."""
    strides = ", ".join(reversed(at.strides) if turned else at.strides)
    if in_registers(at):
        return f"soundline::registers({at.address}, {strides})"
    return f"soundline::window{_parameters(at)}({at.address}, {strides})"


def _parameters(at: Place) -> str:
    """The template arguments of a window: the swizzle and the alignment, where they are not the usual."""
    swizzle = swizzle_of(at.memory)
    alignment = at.row_alignment if at.row_alignment and len(at.strides) > 1 else at.alignment
    if alignment > at.dtype.itemsize:
        return f"<{swizzle}, {alignment}>"
    return f"<{swizzle}>" if swizzle else ""


def pointer(at: Place) -> str:
    """The address of the first element, where it lies."""
    swizzle = swizzle_of(at.memory)
    return f"soundline::swizzle<{swizzle}>({at.address})" if swizzle else at.address


def scalar(given: Place | Value) -> str:
    """A scalar, whether it is given by value or by its place."""
    if isinstance(given, Value):
        return given.text
    return given.storage if in_registers(given) else f"*({pointer(given)})"


def tile(at: Place, index: int = 0) -> str:
    """The words of a tile in registers; of a window of several tiles, that of an index.

    The first stride of such a window counts tiles.
    """
    if index == 0:
        return at.storage
    step = number(at.strides[0]) if at.strides else 1
    moved = str(index * step) if step is not None else f"{index} * ({at.strides[0]})"
    return f"(&{at.storage})[{moved}]"


def constant(site: CallSite, at: Place, dimension: int) -> int:
    """The size of a dimension, which has to be a number."""
    found = at.constants[dimension]
    if found is None:
        given = f"{at.sizes[dimension]} for dimension {dimension % len(at.sizes)} of {at.argument}"
        raise refused(site, "a size that is a number", given)
    return found


# What hardware asks for -------------------------------------------------------------------------------------------


def check_alignment(site: CallSite, at: Place, wanted: int) -> None:
    """Refuse an address that is known not to be a multiple of some bytes."""
    if at.alignment and at.alignment % wanted:
        given = f"{at.argument} at a multiple of {at.alignment}"
        raise refused(site, f"an address that is a multiple of {wanted} bytes", given)


def check_dense(site: CallSite, at: Place) -> None:
    """Refuse a window whose elements do not follow each other in C order."""
    for dimension in range(len(at.sizes)):
        inner = [constant(site, at, d) for d in range(dimension + 1, len(at.sizes))]
        if at.constants[dimension] != 1 and number(at.strides[dimension]) != prod(inner):
            given = f"{at.argument}, whose dimension {dimension} has the stride {at.strides[dimension]}"
            hint = "pass whole rows, or a window that is a whole array of its own"
            raise refused(site, "a window whose elements follow each other without gaps", given, hint)


def check_architecture(site: CallSite, wanted: int) -> None:
    """Refuse an architecture that does not have the instruction."""
    if site.arch < wanted:
        raise refused(site, f"sm_{wanted} or later", f"sm_{site.arch}", "generate for sm_90a")
