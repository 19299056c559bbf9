"""
Tensor cores of Sm90
====================

The CUDA of ``wgmma``. What lies in shared memory is named by a descriptor: where it starts, how its rows are swizzled,
and how far apart the groups of rows are that the hardware takes together (`descriptor`, `blocks_descriptor`; PTX ISA,
section 9.7.15.5.1.2, "Shared Memory Matrix Layout").

Beside the registers of an accumulator stands a flag: whether they hold a sum. Zeroing an accumulator resets the flag,
a product takes it as its ``scale-d`` and sets it, and who reads the accumulator takes zeros while it is not set.
"""

from __future__ import annotations

from collections.abc import Iterator

from soundline.impl.codegen.cuda.instructions.places import (
    check_alignment,
    check_architecture,
    constant,
    number,
    place,
    refused,
    tile,
    window,
)
from soundline.impl.codegen.cuda.instructions.sm80 import KINDS
from soundline.impl.codegen.cuda.memories import swizzle_of
from soundline.impl.codegen.cuda.operands import CallSite, Place
from soundline.spec.spork.library.sm90 import BLOCK, depth

GROUP = 8
"""Rows that a swizzle permutes, and that a descriptor counts together."""

UNIT = 16
"""Bytes of which an address in a descriptor is a multiple."""


def zero_d(site: CallSite) -> Iterator[str]:
    """The product that follows assigns where it would add."""
    yield f"{place(site, 'D').accumulates} = 0;"


def product(site: CallSite) -> Iterator[str]:
    """``wgmma.mma_async``, with A in shared memory."""
    yield from _product(site, descriptor(site, place(site, "A")))


def product_from_registers(site: CallSite) -> Iterator[str]:
    """``wgmma.mma_async``, with A in registers."""
    yield from _product(site, tile(place(site, "A")))


def _product(site: CallSite, a: str) -> Iterator[str]:
    check_architecture(site, 90)
    d, b = place(site, "D"), place(site, "B")
    kind, turned = KINDS[b.dtype], len(b.sizes) == 3
    right = blocks_descriptor(site, b) if turned else descriptor(site, b)
    columns = constant(site, d, -1)
    parameters = f"<{columns}>" if kind == "tf32" else f"<{columns}, {int(turned)}>"
    name = f"wgmma_mma_async_sync_aligned_m64k{depth(b.dtype)}_f32_{kind}_{kind}{parameters}"
    yield f"ptx::{name}({tile(d)}, {a}, {right}, {d.accumulates});"
    yield f"{d.accumulates} = 1;"


def descriptor(site: CallSite, at: Place) -> str:
    """The descriptor of rows that stand with K along them (K-major): 8 rows follow each other, and so do the groups.

    The window may start inside of a row, at a multiple of 16 bytes, and at any row: the swizzle goes by the bits of
    addresses, and the array begins where its pattern does. Swizzled, the leading dimension is not used; PTX assumes 1
    in its place.
    """
    swizzle = swizzle_of(at.memory)
    rows, columns = (number(s) for s in at.strides)
    if rows is None or rows * at.dtype.itemsize != swizzle or columns != 1:
        given = f"{at.argument} with {at.strides[0]} elements from row to row and {at.strides[1]} within it"
        hint = "pass rows of the last two dimensions of an array"
        raise refused(site, f"rows of {swizzle} bytes that follow each other", given, hint)
    check_alignment(site, at, UNIT)
    return f"soundline::smem_descriptor<{swizzle}>({at.address}, {UNIT}, {GROUP * swizzle})"


def blocks_descriptor(site: CallSite, at: Place) -> str:
    """The descriptor of B as it is (N-major): in blocks of 64 columns, whose rows follow each other.

    The leading dimension goes from block to block, the stride dimension from 8 values of K to the next 8.
    """
    swizzle = swizzle_of(at.memory)
    blocks, rows, columns = (number(s) for s in at.strides)
    row = BLOCK * at.dtype.itemsize
    if swizzle != row or rows != BLOCK or columns != 1 or blocks is None:
        given = f"{at.argument} in {at.memory} with the strides {', '.join(at.strides)}"
        raise refused(site, f"blocks of rows of {row} bytes that follow each other, swizzled", given)
    if blocks * at.dtype.itemsize % UNIT:
        raise refused(site, f"blocks that are multiples of {UNIT} bytes apart", f"{blocks} elements")
    check_alignment(site, at, row)
    leading = blocks * at.dtype.itemsize
    return f"soundline::smem_descriptor<{swizzle}>({at.address}, {leading}, {GROUP * row})"


def load_a(site: CallSite) -> Iterator[str]:
    """A fragment of A by the loads of its threads."""
    yield f"soundline::wgmma_load_a({tile(place(site, 'A'))}, {window(place(site, 'src'))});"


def write_d(site: CallSite) -> Iterator[str]:
    """An accumulator by the stores of its threads; transposed with strides exchanged."""
    d, to = place(site, "D"), place(site, "dst")
    turned = "_col_major_" in site.instruction.name
    yield f"soundline::wgmma_write_d({window(to, turned=turned)}, {tile(d)}, {d.accumulates});"
