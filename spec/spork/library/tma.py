"""
Instructions of TMA
===================

TMA copies boxes of up to five dimensions between global and shared memory. Global memory is given as a window that
`Sm90_tensorMap` makes; that memory says the box and the swizzle, which the shared memory has to have as well.

*Loads* are executed by a warp, of which one lane is elected. They are complete when a trailing mbarrier has counted
their bytes, and in no other way. A multicast load writes the same box to the shared memory of several CTAs of the
cluster: the first index of its destination counts the CTAs, and it arrives at the mbarrier of each.

*Stores* are executed by one thread, for it is the thread that issues them which commits them to its group. A reducing
store adds to global memory, atomically (S-13).

Beside the boxes stand copies of contiguous bytes, which need no tensor map.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from soundline.spec.dtypes import DType, bfloat16, float16, float32, int32, uint32
from soundline.spec.spork.language.expressions import Expr
from soundline.spec.spork.language.statements import Assign
from soundline.spec.spork.library.copies import SHARED
from soundline.spec.spork.library.memories import CudaGmemLinear, CudaSmemLinear, Memory, Sm90_tensorMap
from soundline.spec.spork.library.parts import (
    Part,
    added,
    at,
    between,
    copied,
    iterators,
    multiple,
    nest,
    size,
    spelled,
    window,
)
from soundline.spec.spork.library.schema import Instruction, Operand
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.timelines import InstrTl
from soundline.spec.spork.threads.units import cuda_cluster, cuda_thread, cuda_warp

BOXED: Final = (float32, float16, bfloat16, int32, uint32)
"""The dtypes that TMA moves here."""

RANKS: Final = (1, 2, 3, 4, 5)
"""How many dimensions a box has."""

LARGEST_SIDE: Final = 256
"""The greatest size of a box."""

PIECE: Final = 16
"""Bytes of which the rows of a box, and bulk copies, have a multiple."""

LARGEST_CLUSTER: Final = 16
"""The most CTAs of a cluster."""


class Boxed(Instruction):
    """What copies a box of a tensor map."""

    __slots__ = ()

    def disagreement(self, memories: Mapping[str, Memory], sizes: Mapping[str, int]) -> str | None:
        """The box and the swizzle of the tensor map are those of the copy and of the shared memory."""
        view = next((m for m in memories.values() if m.window), None)
        shared = next((m for m in memories.values() if not m.window), None)
        if view is None or shared is None:
            return None
        box = tuple(sizes[a.name] for a in self.arguments if a.name in sizes and a.name != "ctas")
        if box != view.box:
            return f"a box of {box} by {view}"
        if (shared.row_bytes or 0) != view.swizzle:
            return f"{shared} by {view}"
        return None


class TensorLoad(Boxed):
    """``cp.async.bulk.tensor`` from global to shared memory."""

    __slots__ = ()


class TensorMulticast(Boxed):
    """``cp.async.bulk.tensor`` from global memory to the shared memory of several CTAs."""

    __slots__ = ()


class TensorStore(Boxed):
    """``cp.async.bulk.tensor`` from shared to global memory."""

    __slots__ = ()


class TensorReduce(Boxed):
    """``cp.reduce.async.bulk.tensor``: a box of shared memory is added to global memory."""

    __slots__ = ()


class BulkLoad(Instruction):
    """``cp.async.bulk`` from global to shared memory."""

    __slots__ = ()


class BulkStore(Instruction):
    """``cp.async.bulk`` from shared to global memory."""

    __slots__ = ()


_FROM: Final = Operand(memories=(Sm90_tensorMap,), out_of_order=True)
_TO: Final = Operand(memories=(Sm90_tensorMap,), out_of_order=True)
_SUM: Final = Operand(memories=(Sm90_tensorMap,), out_of_order=True, atomic=True)
_SHARED: Final = Operand(memories=SHARED, out_of_order=True)
_EVERYWHERE: Final = Operand(memories=SHARED, out_of_order=True, unit=cuda_cluster)


def _sizes(rank: int) -> list[str]:
    return [f"n{d}" for d in range(rank)]


def _asserted(dtype: DType, sizes: list[str]) -> tuple[Expr, ...]:
    sides = tuple(between(1, s, LARGEST_SIDE) for s in sizes)
    return (*sides, multiple(sizes[-1], PIECE // dtype.itemsize))


def _load(dtype: DType, rank: int) -> TensorLoad:
    sizes = _sizes(rank)
    return TensorLoad(
        name=f"Sm90_copy_tensor_to_smem_{rank}d_{spelled(dtype)}",
        arguments=(window("dst", dtype, *sizes), window("src", dtype, *sizes), *map(size, sizes)),
        preconditions=_asserted(dtype, sizes),
        body=copied("dst", "src", sizes),
        unit=cuda_warp,
        instr_tl=InstrTl.tma_to_smem_async,
        operands={"dst": _SHARED, "src": _FROM},
        trailing=BarrierType.CudaMbarrier,
        trailing_required=True,
        ptx=f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes",
        doc=f"Copy a box of {rank} dimensions from global to shared memory, asynchronously.",
    )


def _multicast(dtype: DType, rank: int) -> TensorMulticast:
    sizes = _sizes(rank)
    loops: dict[str, Part] = {"cta": "ctas", **iterators(sizes)}
    box = [i for i in loops if i != "cta"]
    return TensorMulticast(
        name=f"Sm90_multicast_tensor_to_smem_{rank}d_{spelled(dtype)}",
        arguments=(
            window("dst", dtype, "ctas", *sizes),
            window("src", dtype, *sizes),
            size("ctas"),
            *map(size, sizes),
        ),
        preconditions=(between(1, "ctas", LARGEST_CLUSTER), *_asserted(dtype, sizes)),
        body=nest(loops, Assign(at("dst", *loops), at("src", *box))),
        unit=cuda_warp,
        instr_tl=InstrTl.tma_to_smem_async,
        operands={"dst": _EVERYWHERE, "src": _FROM},
        trailing=BarrierType.CudaMbarrier,
        trailing_required=True,
        ptx=f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster",
        doc=f"Copy a box of {rank} dimensions to the shared memory of several CTAs, asynchronously.",
    )


def _store(dtype: DType, rank: int) -> TensorStore:
    sizes = _sizes(rank)
    return TensorStore(
        name=f"Sm90_copy_tensor_to_gmem_{rank}d_{spelled(dtype)}",
        arguments=(window("dst", dtype, *sizes), window("src", dtype, *sizes), *map(size, sizes)),
        preconditions=_asserted(dtype, sizes),
        body=copied("dst", "src", sizes),
        unit=cuda_thread,
        instr_tl=InstrTl.tma_to_gmem_async,
        operands={"dst": _TO, "src": _SHARED},
        ptx=f"cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group",
        doc=f"Copy a box of {rank} dimensions from shared to global memory, asynchronously.",
    )


def _reduce(dtype: DType, rank: int) -> TensorReduce:
    sizes = _sizes(rank)
    return TensorReduce(
        name=f"Sm90_reduce_tensor_to_gmem_{rank}d_{spelled(dtype)}",
        arguments=(window("dst", dtype, *sizes), window("src", dtype, *sizes), *map(size, sizes)),
        preconditions=_asserted(dtype, sizes),
        body=added("dst", "src", sizes),
        unit=cuda_thread,
        instr_tl=InstrTl.tma_to_gmem_async,
        operands={"dst": _SUM, "src": _SHARED},
        ptx=f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.add.bulk_group",
        doc=f"Add a box of {rank} dimensions of shared memory to global memory, asynchronously and atomically.",
    )


def _bulk_load(dtype: DType) -> BulkLoad:
    return BulkLoad(
        name=f"Sm90_bulk_copy_to_smem_{spelled(dtype)}",
        arguments=(window("dst", dtype, "size"), window("src", dtype, "size"), size("size")),
        preconditions=(multiple("size", PIECE // dtype.itemsize),),
        body=copied("dst", "src", ["size"]),
        unit=cuda_warp,
        instr_tl=InstrTl.tma_to_smem_async,
        operands={
            "dst": Operand(memories=(CudaSmemLinear,), out_of_order=True),
            "src": Operand(memories=(CudaGmemLinear,), out_of_order=True),
        },
        trailing=BarrierType.CudaMbarrier,
        trailing_required=True,
        ptx="cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
        doc="Copy contiguous bytes from global to shared memory, asynchronously.",
    )


def _bulk_store(dtype: DType) -> BulkStore:
    return BulkStore(
        name=f"Sm90_bulk_copy_to_gmem_{spelled(dtype)}",
        arguments=(window("dst", dtype, "size"), window("src", dtype, "size"), size("size")),
        preconditions=(multiple("size", PIECE // dtype.itemsize),),
        body=copied("dst", "src", ["size"]),
        unit=cuda_thread,
        instr_tl=InstrTl.tma_to_gmem_async,
        operands={
            "dst": Operand(memories=(CudaGmemLinear,), out_of_order=True),
            "src": Operand(memories=(CudaSmemLinear,), out_of_order=True),
        },
        ptx="cp.async.bulk.global.shared::cta.bulk_group",
        doc="Copy contiguous bytes from shared to global memory, asynchronously.",
    )


INSTRUCTIONS: Final[tuple[Instruction, ...]] = (
    *(
        make(dtype, rank)
        for make in (_load, _multicast, _store, _reduce)
        for dtype in BOXED
        for rank in RANKS
    ),
    *(make(dtype) for make in (_bulk_load, _bulk_store) for dtype in BOXED),
)
"""The copies of TMA."""
