"""
pycuda
======

The driver through pycuda. What it lacks, tensor maps and graphs, is asked of the library of the driver itself.

Memory comes from a pool, so that a program that runs again takes the blocks that it gave back. A kernel with clusters
says their size itself (``__cluster_dims__``), so that an ordinary launch does.
"""

from __future__ import annotations

import atexit
import ctypes
from typing import Any

import numpy as np

from soundline.impl.runtime.drivers.interface import TO_DEVICE, DeviceFacts, Failure, TensorMap
from soundline.impl.runtime.drivers.libcuda import LibCuda, library


class PycudaDriver:
    """The first device, in its primary context: the one that other libraries of the process use as well."""

    provider = "pycuda"

    def __init__(self, number: int = 0) -> None:
        import pycuda.driver as cuda
        from pycuda.tools import DeviceMemoryPool, clear_context_caches

        self._cuda = cuda
        self._library = LibCuda(library())
        self._do("cuInit", cuda.init)
        device = self._do("cuDeviceGet", cuda.Device, number)
        self._context = self._do("cuDevicePrimaryCtxRetain", device.retain_primary_context)
        self._context.push()
        self._clear_caches = clear_context_caches
        atexit.register(self._leave)
        attribute = cuda.device_attribute
        self.facts = DeviceFacts(
            device.name(),
            tuple(device.compute_capability()),
            device.get_attribute(attribute.MULTIPROCESSOR_COUNT),
            device.get_attribute(attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
            device.total_memory(),
        )
        self._stream = cuda.Stream()
        self._pool = DeviceMemoryPool()
        self._held: dict[int, Any] = {}

    def _do(self, name: str, function: Any, *arguments: Any, **options: Any) -> Any:
        """Call pycuda, whose exceptions begin with the function and the meaning of its result."""
        try:
            return function(*arguments, **options)
        except self._cuda.Error as error:
            raise Failure(name, _result(error)) from error

    def _leave(self) -> None:
        """Leave the context at the end of the process: pycuda aborts where one is still entered."""
        self._context.pop()
        self._clear_caches()

    def load(self, cubin: bytes) -> Any:
        """Load machine code."""
        return self._do("cuModuleLoadDataEx", self._cuda.module_from_buffer, cubin)

    def kernel(self, module: Any, name: str, shared_bytes: int) -> Any:
        """A kernel of a module."""
        kernel = self._do("cuModuleGetFunction", module.get_function, name)
        attribute = self._cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._do("cuFuncSetAttribute", kernel.set_attribute, attribute, shared_bytes)
        return kernel

    def launch(
        self, kernel: Any, *, grid: int, block: int, cluster: int, shared_bytes: int, arguments: bytes
    ) -> None:
        """Launch a kernel."""
        del cluster
        given = np.frombuffer(arguments, np.uint8)
        self._do(
            "cuLaunchKernel",
            kernel,
            given,
            grid=(grid, 1, 1),
            block=(block, 1, 1),
            shared=shared_bytes,
            stream=self._stream,
        )

    def allocate(self, size: int) -> int:
        """Memory of the pool."""
        held = self._do("cuMemAlloc", self._pool.allocate, max(size, 1))
        self._held[int(held)] = held
        return int(held)

    def release(self, address: int) -> None:
        """Give memory back to the pool."""
        self._held.pop(address).free()

    def copy(self, to: int, source: int, size: int, direction: int) -> None:
        """Copy bytes."""
        if not size:
            return
        if direction == TO_DEVICE:
            self._do(
                "cuMemcpyHtoDAsync", self._cuda.memcpy_htod_async, to, _bytes(source, size), self._stream
            )
        else:
            self._do(
                "cuMemcpyDtoHAsync", self._cuda.memcpy_dtoh_async, _bytes(to, size), source, self._stream
            )
        self.wait()

    def copy_rows(
        self, to: int, to_pitch: int, source: int, source_pitch: int, width: int, rows: int, direction: int
    ) -> None:
        """Copy rows of bytes."""
        if not width * rows:
            return
        copy = self._cuda.Memcpy2D()
        if direction == TO_DEVICE:
            copy.set_src_host(_bytes(source, (rows - 1) * source_pitch + width))
            copy.set_dst_device(to)
        else:
            copy.set_src_device(source)
            copy.set_dst_host(_bytes(to, (rows - 1) * to_pitch + width))
        copy.src_pitch, copy.dst_pitch = source_pitch, to_pitch
        copy.width_in_bytes, copy.height = width, rows
        self._do("cuMemcpy2DAsync", copy, self._stream)
        self.wait()

    def tensor_map(self, wanted: TensorMap) -> bytes:
        """Encode a tensor map."""
        return self._library.tensor_map(wanted)

    def wait(self) -> None:
        """Wait for all of the stream."""
        self._do("cuStreamSynchronize", self._stream.synchronize)

    def event(self) -> Any:
        """Mark this place in the stream."""
        event = self._cuda.Event()
        self._do("cuEventRecord", event.record, self._stream)
        return event

    def seconds(self, first: Any, last: Any) -> float:
        """The time between two marks."""
        self._do("cuEventSynchronize", last.synchronize)
        return float(first.time_till(last)) / 1e3

    def begin_graph(self) -> None:
        """Gather what follows."""
        self._library.begin_graph(int(self._stream.handle))

    def end_graph(self) -> Any:
        """The graph of what was gathered."""
        return self._library.end_graph(int(self._stream.handle))

    def replay(self, graph: Any) -> None:
        """Do all of a graph."""
        self._library.replay(graph, int(self._stream.handle))


def _bytes(address: int, size: int) -> Any:
    """Memory of the CPU as a buffer."""
    return (ctypes.c_char * size).from_address(address)


_RESULTS = {
    "out of memory": "CUDA_ERROR_OUT_OF_MEMORY",
    "no CUDA-capable device is detected": "CUDA_ERROR_NO_DEVICE",
    "invalid device ordinal": "CUDA_ERROR_INVALID_DEVICE",
    "no kernel image is available for execution on the device": "CUDA_ERROR_NO_BINARY_FOR_GPU",
    "device kernel image is invalid": "CUDA_ERROR_INVALID_IMAGE",
    "invalid argument": "CUDA_ERROR_INVALID_VALUE",
    "invalid cluster size": "CUDA_ERROR_INVALID_CLUSTER_SIZE",
    "too many resources requested for launch": "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    "unspecified launch failure": "CUDA_ERROR_LAUNCH_FAILED",
    "an illegal memory access was encountered": "CUDA_ERROR_ILLEGAL_ADDRESS",
    "misaligned address": "CUDA_ERROR_MISALIGNED_ADDRESS",
    "an illegal instruction was encountered": "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "the launch timed out and was terminated": "CUDA_ERROR_LAUNCH_TIMEOUT",
    "CUDA driver version is insufficient for CUDA runtime version": "CUDA_ERROR_INSUFFICIENT_DRIVER",
    "system has unsupported display driver / cuda driver combination": "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
}
"""The results of the driver by the words that pycuda has for them, which are those of ``cuGetErrorString``."""


def _result(error: Exception) -> str:
    """The name of the result that an exception of pycuda tells of."""
    text = str(error)
    return next((name for words, name in _RESULTS.items() if words in text), text)
