"""
Copies
======

The CUDA of copies by one thread, and of atomic additions. Copies between the CPU and the device belong to the part of a
program that the CPU runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from soundline.impl.codegen.cuda.instructions.places import check_architecture, place, pointer, scalar, window
from soundline.impl.codegen.cuda.operands import CallSite, Place
from soundline.spec.dtypes import DType, bfloat16, float16, float32, float64, int32, uint32, uint64
from soundline.spec.spork.library.copies import pieces

_ADDED: dict[DType, str] = {
    float32: "f32",
    float64: "f64",
    float16: "f16",
    bfloat16: "bf16",
    int32: "s32",
    uint32: "u32",
    uint64: "u64",
}
"""How ``red`` spells a dtype."""


def by_size(site: CallSite, dtype: DType, text: Callable[[int], str]) -> Iterator[str]:
    """The text for the number of elements; where that is not a number, a choice among those that there are."""
    if "size" in site.sizes:
        yield text(site.sizes["size"])
        return
    for position, count in enumerate(pieces(dtype)):
        yield f"{'else ' if position else ''}if ({site.texts['size']} == {count}) {text(count)}"


def vector_copy(site: CallSite) -> Iterator[str]:
    """A load and a store of 4, 8 or 16 bytes."""
    to, from_ = place(site, "dst"), place(site, "src")
    yield from by_size(site, to.dtype, lambda n: f"soundline::copy<{n}>({window(to)}, {window(from_)});")


def cp_async(site: CallSite) -> Iterator[str]:
    """``cp.async``: past the first cache for 16 bytes. Directly where both addresses are known to be aligned."""
    to, from_ = place(site, "dst"), place(site, "src")
    yield from by_size(site, to.dtype, lambda count: _cp_async(to, from_, count))


def _cp_async(to: Place, from_: Place, count: int) -> str:
    size = count * to.dtype.itemsize
    if all(at.strides == ("1",) and at.alignment and at.alignment % size == 0 for at in (to, from_)):
        name = "cg_shared_global" if size == 16 else f"ca_shared_global<{size}>"
        return f"ptx::cp_async_{name}({pointer(to)}, {pointer(from_)});"
    return f"soundline::cp_async<{count}>({window(to)}, {window(from_)});"


def atomic_add(site: CallSite) -> Iterator[str]:
    """``red.add`` to global or shared memory; that of bf16 came with sm_90.

    The hardware flushes subnormal numbers of f32 that are added to global memory to zero, which the law does not.
    """
    to, value = place(site, "dst"), scalar(site.places["value"])
    if to.dtype is bfloat16:
        check_architecture(site, 90)
    at = pointer(to)
    if to.dtype in (float16, bfloat16):
        at, value = f"&({at})->bits", f"({value}).bits"
    space = "shared" if to.memory.space == "shared" else "global"
    yield f"ptx::red_{space}_add_{_ADDED[to.dtype]}({at}, {value});"
