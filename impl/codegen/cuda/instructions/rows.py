"""
Rows of an accumulator
======================

The CUDA of what is done to an accumulator of wgmma in its registers, and of approximate functions. A thread has values
of two rows: that of row lane / 4 of its warp, and that of the row 8 below, in two floats.

Who reads an accumulator takes zeros while nothing was added to it (`soundline::sum_of`); who changes it sets its flag.
"""

from __future__ import annotations

from collections.abc import Iterator

from soundline.impl.codegen.cuda.dialects import CUDA
from soundline.impl.codegen.cuda.instructions.places import constant, place, scalar, tile, window
from soundline.impl.codegen.cuda.operands import CallSite
from soundline.spec.spork.library.sm90 import depth

ROWS_OF_A_THREAD = 2
"""The rows of an accumulator of which a thread has columns."""


def exp2_approximate(site: CallSite) -> Iterator[str]:
    """``ex2.approx``."""
    yield f"{scalar(place(site, 'dst'))} = ptx::ex2_approx_f32({scalar(site.places['value'])});"


def elementwise(site: CallSite) -> Iterator[str]:
    """A line for each of the two rows."""
    for row in range(ROWS_OF_A_THREAD):
        yield f"{tile(place(site, 'dst'))}[{row}] = {_value(site, row)};"


def _value(site: CallSite, row: int) -> str:
    def of(name: str) -> str:
        return f"{tile(place(site, name))}[{row}]"

    operation = site.instruction.name.removeprefix("Sm90_rows_").removesuffix("_f32")
    match operation:
        case "fill":
            return scalar(site.places["value"])
        case "multiply":
            return f"{of('dst')} * {of('src')}"
        case "recip":
            return f"1.0f / {of('src')}"
        case "exp2_difference":
            return f"ptx::ex2_approx_f32(({of('a')} - {of('b')}) * {scalar(site.places['scale'])})"
        case _:
            return of("src")


def reduction(site: CallSite) -> Iterator[str]:
    """The columns that a lane has, in ascending order."""
    operation = "max" if "_max_" in site.instruction.name else "add"
    d = place(site, "D")
    yield f"soundline::rows_{operation}({tile(place(site, 'dst'))}, {tile(d)}, {d.accumulates});"


def quad(site: CallSite) -> Iterator[str]:
    """Two butterfly shuffles for each of the two rows."""
    operation = "max" if "_max_" in site.instruction.name else "sum"
    to, from_ = tile(place(site, "dst")), tile(place(site, "src"))
    for row in range(ROWS_OF_A_THREAD):
        yield f"{to}[{row}] = soundline::quad_{operation}({from_}[{row}]);"


def by_rows(site: CallSite) -> Iterator[str]:
    """Each element with the value of its row."""
    d, rows = place(site, "D"), tile(place(site, "rows"))
    if "scale" in site.places:
        scale = scalar(site.places["scale"])
        yield f"soundline::exp2_by_rows({tile(d)}, {rows}, {scale}, {d.accumulates});"
    else:
        yield f"soundline::multiply_by_rows({tile(d)}, {rows}, {d.accumulates});"
    yield f"{d.accumulates} = 1;"


def to_a(site: CallSite) -> Iterator[str]:
    """The words of each left operand are pairs of the accumulator, in its order."""
    a, d = place(site, "A"), place(site, "D")
    for block in range(constant(site, d, -1) // depth(a.dtype)):
        parameters = f"<{CUDA.type_of(a.dtype)}, {block}>"
        yield f"soundline::wgmma_a_from_d{parameters}({tile(a, block)}, {tile(d)}, {d.accumulates});"


def write_columns(site: CallSite) -> Iterator[str]:
    """Some columns by the stores of the threads that have them."""
    d, to = place(site, "D"), place(site, "dst")
    given = f"{tile(d)}, {d.accumulates}, {site.texts['first']}"
    yield f"soundline::wgmma_write_columns<{constant(site, to, -1)}>({window(to)}, {given});"
