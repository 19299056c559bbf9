"""
cuda-bindings
=============

The driver through the Python package of NVIDIA, whose functions are those of the driver: each returns its result, and
then what it has to tell.

Memory comes from the driver's own pool, in the order of the stream.
"""

from __future__ import annotations

from typing import Any

from soundline.impl.runtime.drivers.interface import TO_DEVICE, DeviceFacts, Failure, TensorMap
from soundline.impl.runtime.drivers.libcuda import PROMOTION_256, SWIZZLES


class BindingsDriver:
    """The first device, in its primary context."""

    provider = "cuda-bindings"

    def __init__(self, number: int = 0) -> None:
        from cuda.bindings import driver as cuda

        self._cuda = cuda
        self._call("cuInit", 0)
        self._device = self._call("cuDeviceGet", number)
        context = self._call("cuDevicePrimaryCtxRetain", self._device)
        self._call("cuCtxSetCurrent", context)
        name = self._call("cuDeviceGetName", 256, self._device)
        self.facts = DeviceFacts(
            bytes(name).split(b"\0")[0].decode(),
            (
                self._attribute("COMPUTE_CAPABILITY_MAJOR"),
                self._attribute("COMPUTE_CAPABILITY_MINOR"),
            ),
            self._attribute("MULTIPROCESSOR_COUNT"),
            self._attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
            int(self._call("cuDeviceTotalMem", self._device)),
        )
        self._stream = self._call("cuStreamCreate", 0)

    def _call(self, name: str, *arguments: Any) -> Any:
        status, *found = getattr(self._cuda, name)(*arguments)
        if int(status) != 0:
            raise Failure(name, str(getattr(status, "name", status)))
        return found[0] if len(found) == 1 else tuple(found) or None

    def _attribute(self, name: str) -> int:
        wanted = getattr(self._cuda.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self._call("cuDeviceGetAttribute", wanted, self._device))

    def load(self, cubin: bytes) -> Any:
        """Load machine code."""
        return self._call("cuModuleLoadData", cubin)

    def kernel(self, module: Any, name: str, shared_bytes: int) -> Any:
        """A kernel of a module."""
        kernel = self._call("cuModuleGetFunction", module, name.encode())
        attribute = self._cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._call("cuFuncSetAttribute", kernel, attribute, shared_bytes)
        return kernel

    def launch(
        self, kernel: Any, *, grid: int, block: int, cluster: int, shared_bytes: int, arguments: bytes
    ) -> None:
        """Launch a kernel."""
        del cluster  # the kernel says it itself
        import ctypes

        held = ctypes.create_string_buffer(arguments, len(arguments))
        places = (ctypes.c_void_p * 1)(ctypes.addressof(held))
        sizes = (grid, 1, 1, block, 1, 1)
        self._call("cuLaunchKernel", kernel, *sizes, shared_bytes, self._stream, ctypes.addressof(places), 0)

    def allocate(self, size: int) -> int:
        """Memory of the driver's pool."""
        return int(self._call("cuMemAllocAsync", max(size, 1), self._stream))

    def release(self, address: int) -> None:
        """Give memory back to the pool."""
        self._call("cuMemFreeAsync", address, self._stream)

    def copy(self, to: int, source: int, size: int, direction: int) -> None:
        """Copy bytes."""
        if not size:
            return
        name = "cuMemcpyHtoDAsync" if direction == TO_DEVICE else "cuMemcpyDtoHAsync"
        self._call(name, to, source, size, self._stream)
        self.wait()

    def copy_rows(
        self, to: int, to_pitch: int, source: int, source_pitch: int, width: int, rows: int, direction: int
    ) -> None:
        """Copy rows of bytes."""
        if not width * rows:
            return
        kinds = self._cuda.CUmemorytype
        copy = self._cuda.CUDA_MEMCPY2D()
        if direction == TO_DEVICE:
            copy.srcMemoryType, copy.srcHost = kinds.CU_MEMORYTYPE_HOST, source
            copy.dstMemoryType, copy.dstDevice = kinds.CU_MEMORYTYPE_DEVICE, to
        else:
            copy.srcMemoryType, copy.srcDevice = kinds.CU_MEMORYTYPE_DEVICE, source
            copy.dstMemoryType, copy.dstHost = kinds.CU_MEMORYTYPE_HOST, to
        copy.srcPitch, copy.dstPitch = source_pitch, to_pitch
        copy.WidthInBytes, copy.Height = width, rows
        self._call("cuMemcpy2DAsync", copy, self._stream)
        self.wait()

    def tensor_map(self, wanted: TensorMap) -> bytes:
        """Encode a tensor map."""
        cuda, rank = self._cuda, len(wanted.sizes)
        found = self._call(
            "cuTensorMapEncodeTiled",
            cuda.CUtensorMapDataType(wanted.element),
            rank,
            wanted.address,
            [cuda.cuuint64_t(n) for n in wanted.sizes],
            [cuda.cuuint64_t(n) for n in wanted.strides],
            [cuda.cuuint32_t(n) for n in wanted.box],
            [cuda.cuuint32_t(1)] * rank,
            cuda.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            cuda.CUtensorMapSwizzle(SWIZZLES[wanted.swizzle]),
            cuda.CUtensorMapL2promotion(PROMOTION_256),
            cuda.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
        return b"".join(int(word).to_bytes(8, "little") for word in found.opaque)

    def wait(self) -> None:
        """Wait for all of the stream."""
        self._call("cuStreamSynchronize", self._stream)

    def event(self) -> Any:
        """Mark this place in the stream."""
        event = self._call("cuEventCreate", 0)
        self._call("cuEventRecord", event, self._stream)
        return event

    def seconds(self, first: Any, last: Any) -> float:
        """The time between two marks."""
        self._call("cuEventSynchronize", last)
        return float(self._call("cuEventElapsedTime", first, last)) / 1e3

    def begin_graph(self) -> None:
        """Gather what follows."""
        mode = self._cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        self._call("cuStreamBeginCapture", self._stream, mode)

    def end_graph(self) -> Any:
        """The graph of what was gathered."""
        graph = self._call("cuStreamEndCapture", self._stream)
        return self._call("cuGraphInstantiate", graph, 0)

    def replay(self, graph: Any) -> None:
        """Do all of a graph."""
        self._call("cuGraphLaunch", graph, self._stream)
