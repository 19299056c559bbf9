"""
Programs on a GPU
=================

A program whose kernels NVRTC has compiled, on a device of CUDA: the table of functions that its CPU part calls, over a
driver. The driver fails by exceptions, which cannot pass through C: the table keeps the first one, tells the CPU part a
code, and `Gpu.run` raises it when the function has returned.

Everything happens in one stream. `Gpu.graph` gathers the launches of a call in a CUDA graph, which `Replay` then does
with one call of the driver: its arguments have to lie on the device, and are the same each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np

from soundline.impl.runtime.cpu_part import CpuPart, DeviceArray, DeviceCode, is_global
from soundline.impl.runtime.drivers.choice import driver
from soundline.impl.runtime.drivers.interface import (
    FROM_DEVICE,
    TENSOR_MAP_BYTES,
    TO_DEVICE,
    Driver,
    Failure,
    TensorMap,
    check_arch,
    check_shared,
    refusal,
)
from soundline.spec.errors import UsageError
from soundline.spec.spork.language.programs import Proc

FAILED: Final = 2001
"""The code by which a function of the table says that it has kept an exception."""


class Kernel(Protocol):
    """What is known of a kernel before it is launched."""

    @property
    def name(self) -> str:
        """Its name in the machine code."""

    @property
    def shared_bytes(self) -> int:
        """The dynamic shared memory of a block."""


@dataclass(slots=True)
class _Table:
    """The functions that a CPU part calls, and the exception that one of them has kept."""

    gpu: Gpu
    kept: BaseException | None = None
    held: list[Any] = field(default_factory=list)

    def of(self, ffi: Any) -> Any:
        """The ``struct soundline_device``."""
        functions: dict[str, Callable[..., None]] = {
            "allocate": self._allocate,
            "release": self._release,
            "copy": self._copy,
            "copy_rows": self._copy_rows,
            "tensor_map": self._tensor_map,
            "launch": self._launch,
        }
        self.held = [ffi]
        made = ffi.new("struct soundline_device *")
        kinds = dict(ffi.typeof("struct soundline_device").fields)
        for name, function in functions.items():
            callback = ffi.callback(kinds[name].type, self._keeping(function))
            self.held.append(callback)
            setattr(made, name, callback)
        return made

    def _keeping(self, function: Callable[..., None]) -> Callable[..., int]:
        def called(_state: Any, *arguments: Any) -> int:
            try:
                function(*arguments)
            except BaseException as error:  # noqa: BLE001  what is kept is raised when C has returned
                if self.kept is None:
                    self.kept = error
                return FAILED
            return 0

        return called

    def _integer(self, pointer: Any) -> int:
        return int(self.held[0].cast("uintptr_t", pointer))

    def _allocate(self, to: Any, size: int) -> None:
        with self.gpu.doing(f"an array of {size:,} bytes"):
            to[0] = self.held[0].cast("void *", self.gpu.driver.allocate(size))

    def _release(self, at: Any) -> None:
        with self.gpu.doing("giving memory back"):
            self.gpu.driver.release(self._integer(at))

    def _copy(self, to: Any, source: Any, size: int, kind: int) -> None:
        with self.gpu.doing(f"a copy of {size:,} bytes"):
            self.gpu.driver.copy(self._integer(to), self._integer(source), size, kind)

    def _copy_rows(
        self, to: Any, to_pitch: int, source: Any, source_pitch: int, width: int, rows: int, kind: int
    ) -> None:
        with self.gpu.doing(f"a copy of {rows:,} rows of {width:,} bytes"):
            self.gpu.driver.copy_rows(
                self._integer(to), to_pitch, self._integer(source), source_pitch, width, rows, kind
            )

    def _tensor_map(
        self, to: Any, kind: int, rank: int, address: Any, sizes: Any, strides: Any, box: Any, swizzle: int
    ) -> None:
        wanted = TensorMap(
            kind,
            self._integer(address),
            tuple(sizes[k] for k in range(rank)),
            tuple(strides[k] for k in range(rank - 1)),
            tuple(box[k] for k in range(rank)),
            swizzle,
        )
        with self.gpu.doing(f"a tensor map of sizes {wanted.sizes} and boxes {wanted.box}"):
            encoded = self.gpu.driver.tensor_map(wanted)
        self.held[0].memmove(to, encoded, TENSOR_MAP_BYTES)

    def _launch(self, launch: Any) -> None:
        name = self.held[0].string(launch.kernel).decode()
        facts = self.gpu.driver.facts
        resident = max(1, facts.multiprocessors * launch.blocks_per_sm // launch.cluster_dim)
        grid = launch.cluster_dim * min(resident, launch.tasks)
        with self.gpu.doing(f"the kernel {name}, of {grid} blocks of {launch.block_dim} threads,"):
            self.gpu.driver.launch(
                self.gpu.kernels[name],
                grid=grid,
                block=launch.block_dim,
                cluster=launch.cluster_dim,
                shared_bytes=launch.shared_bytes,
                arguments=bytes(self.held[0].buffer(launch.args, launch.args_bytes)),
            )


class Gpu:
    """A program on a device."""

    def __init__(
        self,
        proc: Proc,
        arch: str,
        kernels: Sequence[Kernel],
        cubin: bytes,
        part: CpuPart,
        on: Driver | None = None,
    ) -> None:
        self.part = part
        self.driver = driver() if on is None else on
        facts = self.driver.facts
        check_arch(proc.name, arch, facts)
        for kernel in kernels:
            check_shared(kernel.name, kernel.shared_bytes, facts)
        with self.doing(f"loading {proc.name}"):
            module = self.driver.load(cubin) if kernels else None
            self.kernels = {k.name: self.driver.kernel(module, k.name, k.shared_bytes) for k in kernels}
        self._table = _Table(self)
        self._device = self._table.of(part.ffi)

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Something that is asked of the driver, whose failures are errors for the user."""
        try:
            yield
        except Failure as failure:
            raise refusal(failure, what, self.driver.facts) from failure

    def run(self, sizes: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Run the program, and wait until it is done."""
        self.start(sizes, arrays)
        with self.doing(self.part.proc.name):
            self.driver.wait()

    def start(self, sizes: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Run the program; its kernels may still be running when this returns."""
        try:
            self.part.run(self._device, sizes, arrays)
        except DeviceCode as error:
            kept, self._table.kept = self._table.kept, None
            if kept is not None:
                raise kept from None
            raise UsageError(f"{self.part.proc.name}: {error}", where=self.part.proc.name) from None

    def graph(self, sizes: Mapping[str, Any], arrays: Mapping[str, Any]) -> Replay:
        """The launches of a call as one graph; what is in global memory lies on the device already."""
        for argument in self.part.proc.arguments:
            if isinstance(arrays.get(argument.name), np.ndarray) and is_global(argument):
                raise UsageError(
                    f"{argument.name} is an array of the CPU, where a graph takes arrays of the device",
                    hint="copy it there with Gpu.array",
                )
        with self.doing(f"the graph of {self.part.proc.name}"):
            self.driver.begin_graph()
            try:
                self.start(sizes, arrays)
            finally:
                graph = self.driver.end_graph()
        return Replay(self, graph, dict(arrays))

    def seconds(self, sizes: Mapping[str, Any], arrays: Mapping[str, Any]) -> float:
        """The time that a call takes on the device."""
        first = self.driver.event()
        self.start(sizes, arrays)
        return self.driver.seconds(first, self.driver.event())

    # Arrays of the device

    def array(self, value: Any) -> DeviceArray:
        """A copy of an array of the CPU on the device; `free` gives its memory back."""
        host = np.ascontiguousarray(value)
        with self.doing(f"an array of {host.nbytes:,} bytes"):
            address = self.driver.allocate(host.nbytes)
            self.driver.copy(address, host.ctypes.data, host.nbytes, TO_DEVICE)
        return DeviceArray(address, host.shape, host.dtype)

    def numpy(self, array: DeviceArray) -> np.ndarray[Any, Any]:
        """A copy of an array of the device on the CPU."""
        host = np.empty(array.shape, array.dtype)
        with self.doing(f"an array of {host.nbytes:,} bytes"):
            self.driver.copy(host.ctypes.data, array.address, host.nbytes, FROM_DEVICE)
        return host

    def free(self, array: DeviceArray) -> None:
        """Give the memory of an array back."""
        with self.doing("giving memory back"):
            self.driver.release(array.address)


@dataclass(frozen=True, slots=True)
class Replay:
    """The launches of a call, to be done again."""

    gpu: Gpu
    graph: Any
    arrays: Mapping[str, Any]
    """What the graph reads and writes; kept, for the graph has their addresses."""

    def __call__(self) -> None:
        """Do them; they may still be under way when this returns."""
        with self.gpu.doing(f"the graph of {self.gpu.part.proc.name}"):
            self.gpu.driver.replay(self.graph)

    def seconds(self, times: int = 1) -> float:
        """The time of one replay, as the mean of several that follow each other."""
        first = self.gpu.driver.event()
        for _ in range(times):
            self()
        return self.gpu.driver.seconds(first, self.gpu.driver.event()) / times
