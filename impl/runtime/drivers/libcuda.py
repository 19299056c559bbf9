"""
The library of the driver
=========================

The functions of ``libcuda`` that pycuda does not have: tensor maps, launches of clusters, and graphs. They are called
through ctypes, in the context that pycuda has made current.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from typing import Any, Final

from soundline.impl.runtime.drivers.interface import TENSOR_MAP_BYTES, Failure, TensorMap
from soundline.spec.errors import DeviceError

NAMES: Final = ("libcuda.so.1", "libcuda.so", "nvcuda.dll")
"""The file names of the library."""

SWIZZLES: Final = {0: 0, 32: 1, 64: 2, 128: 3}
"""``CUtensorMapSwizzle`` by the bytes of a row."""

PROMOTION_256: Final = 3
"""``CU_TENSOR_MAP_L2_PROMOTION_L2_256B``: how much of L2 a box brings in at once."""

RELAXED: Final = 2
"""``CU_STREAM_CAPTURE_MODE_RELAXED``: other threads may go on using the driver while work is gathered."""


def library() -> ctypes.CDLL:
    """The library of the installed driver."""
    for name in NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise DeviceError(
        f"there is no CUDA driver: none of {', '.join(NAMES)} can be loaded",
        where="CUDA",
        hint="install the driver of NVIDIA; without a GPU, device='CUDA-EMULATED' runs the same text",
    )


class LibCuda:
    """The functions by their names, whose failures are exceptions."""

    def __init__(self, loaded: Any) -> None:
        self.loaded = loaded

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the driver."""
        status = int(getattr(self.loaded, name)(*arguments))
        if status != 0:
            raise Failure(name, self.result(status))

    def result(self, status: int) -> str:
        """The name of a result."""
        text = ctypes.c_char_p()
        self.loaded.cuGetErrorName(ctypes.c_int(status), ctypes.byref(text))
        return text.value.decode() if text.value else f"error {status}"

    def tensor_map(self, wanted: TensorMap) -> bytes:
        """Encode a tensor map."""
        rank = len(wanted.sizes)
        room = ctypes.create_string_buffer(TENSOR_MAP_BYTES + 64)
        begin = -ctypes.addressof(room) % 64  # the driver asks for a multiple of 64
        self.call(
            "cuTensorMapEncodeTiled",
            ctypes.c_void_p(ctypes.addressof(room) + begin),
            ctypes.c_int(wanted.element),
            ctypes.c_uint32(rank),
            ctypes.c_void_p(wanted.address),
            (ctypes.c_uint64 * rank)(*wanted.sizes),
            (ctypes.c_uint64 * max(1, rank - 1))(*wanted.strides),
            (ctypes.c_uint32 * rank)(*wanted.box),
            (ctypes.c_uint32 * rank)(*(1,) * rank),
            ctypes.c_int(0),  # no interleaving
            ctypes.c_int(SWIZZLES[wanted.swizzle]),
            ctypes.c_int(PROMOTION_256),
            ctypes.c_int(0),  # what lies outside is zero
        )
        return room.raw[begin : begin + TENSOR_MAP_BYTES]

    def begin_graph(self, stream: int) -> None:
        """Gather what follows on a stream."""
        self.call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), ctypes.c_int(RELAXED))

    def end_graph(self, stream: int) -> int:
        """The executable graph of what was gathered."""
        graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
        try:
            self.call("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_uint64(0))
        finally:
            self.call("cuGraphDestroy", graph)
        assert ready.value is not None
        return ready.value

    def replay(self, graph: int, stream: int) -> None:
        """Do all of a graph."""
        self.call("cuGraphLaunch", ctypes.c_void_p(graph), ctypes.c_void_p(stream))
