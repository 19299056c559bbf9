"""
TMA
===

The CUDA of copies by TMA. A load is issued by one elected lane of the warp that executes it, a store by the thread that
executes it. Coordinates stand innermost first, as PTX wants them, while those of a program and of a place stand
outermost first.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from soundline.impl.codegen.cuda.instructions.places import (
    check_alignment,
    check_architecture,
    check_dense,
    number,
    place,
    refused,
)
from soundline.impl.codegen.cuda.instructions.user import expected_bytes
from soundline.impl.codegen.cuda.operands import CallSite, Place
from soundline.spec.spork.library.tma import PIECE, BulkLoad, TensorLoad, TensorMulticast

BOX_ALIGNMENT = 128
"""Bytes of which the shared memory of a box is a multiple."""

LOADS = (TensorLoad, TensorMulticast, BulkLoad)
"""The families whose bytes an mbarrier counts."""


def bytes_of(site: CallSite) -> int | str:
    """How many bytes a load brings to each CTA that it writes to: what ``expect_tx`` has to count.

    A box is counted whole, also where part of it lies outside of the tensor and is filled with zeros.
    """
    if not isinstance(site.instruction, LOADS):
        return expected_bytes(site)
    src = place(site, "src")
    if not isinstance(site.instruction, BulkLoad):
        return prod(src.memory.box) * src.dtype.itemsize
    if "size" in site.sizes:
        return site.sizes["size"] * src.dtype.itemsize
    return f"uint32_t({src.dtype.itemsize} * ({site.texts['size']}))"


def _shared(site: CallSite, argument: str) -> str:
    """The address of a box in shared memory, which is dense. The swizzle is applied by the hardware."""
    check_architecture(site, 90)
    at = place(site, argument)
    check_dense(site, at)
    check_alignment(site, at, BOX_ALIGNMENT)
    return at.address


def _box(at: Place) -> tuple[str, list[str]]:
    """The tensor map and the coordinates, innermost first."""
    return at.tensor_map, list(reversed(at.coordinates))


def _barrier(site: CallSite) -> str:
    if site.trailing is None:
        raise refused(site, "a trailing mbarrier", "none")
    return site.trailing.barrier


def _elected(site: CallSite, statement: str) -> Iterator[str]:
    """A statement of one lane; the other lanes go on."""
    yield f"if (ptx::elect_sync()) {statement}" if site.whole_warp else statement


def tensor_load(site: CallSite) -> Iterator[str]:
    """``cp.async.bulk.tensor`` to the shared memory of this CTA."""
    to = _shared(site, "dst")
    map_, coordinates = _box(place(site, "src"))
    given = ", ".join([to, map_, _barrier(site), *coordinates])
    yield from _elected(
        site, f"ptx::cp_async_bulk_tensor_{len(coordinates)}d_shared_cluster_global({given});"
    )


def tensor_multicast(site: CallSite) -> Iterator[str]:
    """The same to the same place in the shared memory of several CTAs, which a mask names."""
    to = _shared(site, "dst")
    map_, coordinates = _box(place(site, "src"))
    given = ", ".join([to, map_, _barrier(site), place(site, "dst").ctas, *coordinates])
    name = f"cp_async_bulk_tensor_{len(coordinates)}d_shared_cluster_global_multicast_cluster"
    yield from _elected(site, f"ptx::{name}({given});")


def tensor_store(site: CallSite) -> Iterator[str]:
    """``cp.async.bulk.tensor`` to global memory."""
    yield from _to_global(site, "cp_async_bulk_tensor_{}d_global_shared_cta")


def tensor_reduce(site: CallSite) -> Iterator[str]:
    """``cp.reduce.async.bulk.tensor``: an addition to global memory."""
    yield from _to_global(site, "cp_reduce_async_bulk_tensor_{}d_global_shared_cta_add")


def _to_global(site: CallSite, name: str) -> Iterator[str]:
    from_ = _shared(site, "src")
    map_, coordinates = _box(place(site, "dst"))
    given = ", ".join([map_, *coordinates, from_])
    yield f"ptx::{name.format(len(coordinates))}({given});"


# Contiguous bytes -------------------------------------------------------------------------------------------------


def _contiguous(site: CallSite, argument: str) -> str:
    check_architecture(site, 90)
    at = place(site, argument)
    if number(at.strides[0]) != 1:
        given = f"{argument} with {at.strides[0]} elements from one to the next"
        raise refused(site, "elements that follow each other", given)
    check_alignment(site, at, PIECE)
    return at.address


def _bytes(site: CallSite) -> str:
    itemsize = place(site, "src").dtype.itemsize
    size = site.sizes.get("size")
    return str(size * itemsize) if size is not None else f"{itemsize} * ({site.texts['size']})"


def bulk_load(site: CallSite) -> Iterator[str]:
    """``cp.async.bulk`` to shared memory."""
    given = f"{_contiguous(site, 'dst')}, {_contiguous(site, 'src')}, {_bytes(site)}, {_barrier(site)}"
    yield from _elected(site, f"ptx::cp_async_bulk_shared_cluster_global({given});")


def bulk_store(site: CallSite) -> Iterator[str]:
    """``cp.async.bulk`` to global memory."""
    given = f"{_contiguous(site, 'dst')}, {_contiguous(site, 'src')}, {_bytes(site)}"
    yield f"ptx::cp_async_bulk_global_shared_cta({given});"
