"""
Tensor cores of Sm80
====================

The CUDA of ``mma.sync`` and ``ldmatrix``. Which lane has which element of a fragment is written in
``soundline_device.cuh``.
"""

from __future__ import annotations

from collections.abc import Iterator

from soundline.impl.codegen.cuda.instructions.places import (
    check_alignment,
    constant,
    number,
    place,
    refused,
    tile,
    window,
)
from soundline.impl.codegen.cuda.operands import CallSite, Place
from soundline.spec.dtypes import DType, bfloat16, float16, float32

KINDS: dict[DType, str] = {float32: "tf32", float16: "f16", bfloat16: "bf16"}
"""How PTX spells an operand of a tensor core."""

ROW = 16
"""Bytes of a row that ``ldmatrix`` loads."""


def zero_d(site: CallSite) -> Iterator[str]:
    """An accumulator becomes zero."""
    yield f"soundline::mma_zero_d({tile(place(site, 'D'))});"


def load(site: CallSite) -> Iterator[str]:
    """A fragment by the loads of its threads; from memory that holds columns as rows, with strides exchanged."""
    (name,) = (n for n in site.places if n != "src")
    turned = "_load_b_col_" in site.instruction.name
    yield f"soundline::mma_load_{name.lower()}({tile(place(site, name))}, {window(place(site, 'src'), turned=turned)});"


def store_d(site: CallSite) -> Iterator[str]:
    """An accumulator by the stores of its threads."""
    yield f"soundline::mma_store_d({window(place(site, 'dst'))}, {tile(place(site, 'D'))});"


def mma(site: CallSite) -> Iterator[str]:
    """``mma.sync``: D gains A times B."""
    a = place(site, "A")
    kind, k = KINDS[a.dtype], constant(site, a, -1)
    operands = ", ".join(tile(place(site, n)) for n in "DAB")
    yield f"ptx::mma_sync_aligned_m16n8k{k}_row_col_f32_{kind}_{kind}_f32({operands});"


# ldmatrix ---------------------------------------------------------------------------------------------------------

_ACROSS = ("_x4_trans_a_", "_x2_trans_a_", "_x2_b_", "_x4_b_")
"""The forms in which the second matrix of the source lies beside the first, and not below it. In a word of a fragment
the second matrix is that of the lower rows of A, or of the later rows of B: transposed, it is beside.
"""


def ldmatrix(site: CallSite) -> Iterator[str]:
    """``ldmatrix``: each lane gives the address of a row of 16 bytes."""
    (name,) = (n for n in site.places if n != "src")
    fragment, src = place(site, name), place(site, "src")
    count = int(site.instruction.name.split("_x")[1][0])
    direction = "across" if any(form in site.instruction.name for form in _ACROSS) else "down"
    _check_rows(site, src)
    row = f"soundline::ldmatrix_row_{direction}<{count}>({window(src)})"
    turned = "_trans" if "_trans_" in site.instruction.name else ""
    function = f"ptx::ldmatrix_sync_aligned_m8n8_x{count}{turned}_shared_b16"
    if len(fragment.sizes) == 2:
        yield f"{function}({tile(fragment)}, {row});"
    else:
        yield from _pair(fragment, function, row)


def _check_rows(site: CallSite, src: Place) -> None:
    """``ldmatrix`` loads rows of 16 contiguous bytes at multiples of 16."""
    if number(src.strides[1]) != 1:
        given = f"{src.argument} with {src.strides[1]} elements from one column to the next"
        raise refused(
            site, "rows whose elements follow each other", given, "load the fragment by Sm80_mma_load"
        )
    step = number(src.strides[0])
    if step is not None and step * src.dtype.itemsize % ROW:
        given = f"{src.argument} with {step * src.dtype.itemsize} bytes from one row to the next"
        raise refused(
            site, "rows at multiples of 16 bytes", given, "add elements to the rows, or use Sm80_mma_load"
        )
    check_alignment(site, src, ROW)


def _pair(fragment: Place, function: str, row: str) -> Iterator[str]:
    """Two right operands at once; the names of the block are none of a program, whose names have no two underscores."""
    yield "{"
    yield "    uint32_t words__[4];"
    yield f"    {function}(words__, {row});"
    for index in range(2):
        for word in range(2):
            yield f"    {tile(fragment, index)}[{word}] = words__[{2 * index + word}];"
    yield "}"
