"""
Copies between the CPU and the device
=====================================

``cudaMemcpyAsync`` in the program asks the device for a copy: of bytes where both sides lie without gaps, else of rows,
and where not even rows lie without gaps, of rows of one element. A copy to the CPU has arrived when the call returns
(S-21), so that nothing else waits.
"""

from __future__ import annotations

from soundline.impl.codegen.cuda.host.lines import Lines
from soundline.impl.codegen.cuda.host.names import Storage, bare, times
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.synchronization.timelines import InstrTl


def on_device(memory: Memory) -> bool:
    """Whether memory lies where the CPU cannot reach it.

    >>> from soundline.spec.spork.library.memories import DRAM, CudaGmemLinear, CudaGridConstant
    >>> [on_device(m) for m in (DRAM, CudaGmemLinear, CudaGridConstant)]
    [False, True, False]
    """
    return InstrTl.cpu_in_order not in memory.writes


def copy(dst: Storage, src: Storage, out: Lines) -> None:
    """A copy of all of `src` to `dst`, which has the same sizes."""
    kind = "SOUNDLINE_HOST_TO_DEVICE" if on_device(dst.memory) else "SOUNDLINE_DEVICE_TO_HOST"
    item, sizes = str(dst.dtype.itemsize), [s.text for s in dst.sizes]
    dense = [s.strides[-1:] == ("1",) for s in (dst, src)]
    if len(sizes) == 1 and all(dense):
        out.attempt(
            f"device->copy(device->state, {bare(dst.place)}, {bare(src.place)}, {bare(_bytes(sizes[0], item))}, {kind})"
        )
    elif len(sizes) == 1:
        _rows(dst.place, dst.strides[0], src.place, src.strides[0], item, sizes[0], item, kind, out)
    elif all(dense):
        width = _bytes(sizes[1], item)
        _rows(dst.place, dst.strides[0], src.place, src.strides[0], width, sizes[0], item, kind, out)
    else:
        row = out.spellings.take("row")
        with out.block(f"for (int64_t {row} = 0; {row} < {bare(sizes[0])}; {row}++)"):
            to, origin = (f"{s.place} + {times(row, s.strides[0])}" for s in (dst, src))
            _rows(to, dst.strides[1], origin, src.strides[1], item, sizes[1], item, kind, out)
        out.spellings.release([row])


def _bytes(count: str, item: str) -> str:
    return times(f"(size_t){count}", item) if not count.isdecimal() else times(count, item)


def _rows(
    to: str,
    to_stride: str,
    origin: str,
    from_stride: str,
    width: str,
    rows: str,
    item: str,
    kind: str,
    out: Lines,
) -> None:
    pitches = [bare(_bytes(s, item)) for s in (to_stride, from_stride)]
    out.attempt(
        f"device->copy_rows(device->state, {bare(to)}, {pitches[0]}, {bare(origin)}, {pitches[1]}, {bare(width)}, "
        f"(size_t){rows}, {kind})"
    )
